# mypy: ignore-errors
"""Sum-product and max-product on trees of hidden classes (Grave 2014, ch. 2).

Nodes come as in :class:`spinney.inference.forests.TokenForest`: fathers before their children. Class i of a node
emits word w with probability ``counts[w, i]·scale[i] + floor``; ``T[kind, i, j]`` is the probability of class i at a
node whose father has class j. Messages are scaled to sum 1, never logarithms; nothing is ever divided by a message.
"""

import numpy as np

from spinney.compiling import njit

FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def depths(offsets, heads, depth):
    """Steps from each token to its root; returns a token that never gets there, or -1."""
    for s in range(len(offsets) - 1):
        first, end = offsets[s], offsets[s + 1]
        depth[first:end] = -1
        for token in range(first, end):
            k, steps = token, 0
            while depth[k] < 0 and heads[k] >= 0:
                k = first + heads[k]
                steps += 1
                if steps > end - first:
                    return token
            if depth[k] < 0:
                depth[k] = 0
            d = depth[k] + steps
            k = token
            while depth[k] < 0:
                depth[k] = d
                d -= 1
                k = first + heads[k]
    return -1


@njit(cache=True, nogil=True, fastmath=FAST)
def _scaled(x):
    """Scale x to sum 1; returns the sum."""
    total = x.dtype.type(0)
    for i in range(len(x)):
        total += x[i]
    if total > 0:
        inverse = 1 / total
        for i in range(len(x)):
            x[i] *= inverse
    else:
        x[:] = x.dtype.type(1) / len(x)
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def _times(x, y):
    """x ← x·y, scaled to sum 1; returns the sum."""
    for i in range(len(x)):
        x[i] *= y[i]
    return _scaled(x)


@njit(cache=True, nogil=True, fastmath=FAST)
def lift(first, end, words, counts, scale, floor, child_ptr, children, message, emission, up):
    """u_k(i) = O[w_k, i] ∏_{children c} μ_{c→k}(i) at the nodes of a level; returns the logarithm of all scales."""
    log_scale = 0.0
    for k in range(first, end):
        o, row, u = emission[k], counts[words[k]], up[k]
        for i in range(len(o)):
            o[i] = row[i] * scale[i] + floor
            u[i] = o[i]
        log_scale += np.log(_scaled(u))
        for c in children[child_ptr[k] : child_ptr[k + 1]]:
            log_scale += np.log(_times(u, message[c]))
    return log_scale


@njit(cache=True, nogil=True, fastmath=FAST)
def _contexts(k, child_ptr, children, message, emission, down, context, rest):
    """v_c(j) = O[w_k, j] down_k(j) ∏_{siblings c' ≠ c} μ_{c'→k}(j) for the children c of node k, up to a factor."""
    first, end = child_ptr[k], child_ptr[k + 1]
    if first == end:
        return
    for j in range(len(rest)):
        rest[j] = emission[k, j] * down[k, j]
    _scaled(rest)
    for e in range(first, end):  # from the left: what is at k, and the siblings before
        for j in range(len(rest)):
            context[children[e], j] = rest[j]
        if e + 1 < end:
            _times(rest, message[children[e]])
    if first + 1 == end:
        return
    rest[:] = 1
    for e in range(end - 1, first - 1, -1):  # from the right: the siblings after
        _times(context[children[e]], rest)
        _times(rest, message[children[e]])


@njit(cache=True, nogil=True, fastmath=FAST)
def lower(first, end, child_ptr, children, message, emission, down, context):
    """The contexts of all children of the nodes of a level."""
    rest = np.empty(emission.shape[1], emission.dtype)
    for k in range(first, end):
        _contexts(k, child_ptr, children, message, emission, down, context, rest)


@njit(cache=True, nogil=True)
def _over_edges(first, end, kinds, matrices, x, out):
    """out_k = x_k·matrices[kind of k's edge] at the nodes of a level: one product for each stretch of one kind."""
    a = first
    while a < end:
        b = a + 1
        while b < end and kinds[b] == kinds[a]:
            b += 1
        np.dot(x[a:b], matrices[kinds[a]], out[a:b])
        a = b


@njit(cache=True, nogil=True)
def lift_all(levels, words, counts, scale, floor, kinds, child_ptr, children, T, message, emission, up):
    """From the leaves to the roots: u, and the messages μ = Tᵀu; returns the logarithm of all scales."""
    log_scale = 0.0
    for d in range(len(levels) - 2, -1, -1):
        first, end = levels[d], levels[d + 1]
        log_scale += lift(first, end, words, counts, scale, floor, child_ptr, children, message, emission, up)
        if d > 0:
            _over_edges(first, end, kinds, T, up, message)
    return log_scale


@njit(cache=True, nogil=True)
def lower_all(levels, kinds, child_ptr, children, transposed, message, emission, down, context):
    """From the roots, whose ``down`` is known, to the leaves: the contexts v, and down = Tv."""
    for d in range(1, len(levels) - 1):
        lower(levels[d - 1], levels[d], child_ptr, children, message, emission, down, context)
        _over_edges(levels[d], levels[d + 1], kinds, transposed, context, down)


@njit(cache=True, nogil=True, fastmath=FAST)
def beliefs(up, down, nodes):
    """P(C_k = i | words) ∝ u_k(i) down_k(i) into ``nodes``; u_k is divided by the normaliser, for the edges."""
    for k in range(len(up)):
        u, d, p = up[k], down[k], nodes[k]
        total = u.dtype.type(0)
        for i in range(len(u)):
            p[i] = u[i] * d[i]
            total += p[i]
        inverse = 1 / total if total > 0 else u.dtype.type(0)
        for i in range(len(u)):
            p[i] *= inverse
            u[i] *= inverse


@njit(cache=True, nogil=True, fastmath=FAST)
def column_sums(nodes, total):
    """Add up the rows, 256 at a time: single precision would not hold the sum of very many."""
    part = np.zeros(nodes.shape[1], nodes.dtype)
    for k in range(len(nodes)):
        p = nodes[k]
        for i in range(len(p)):
            part[i] += p[i]
        if k % 256 == 255 or k + 1 == len(nodes):
            for i in range(len(p)):
                total[i] += part[i]
                part[i] = 0


# ------------------------------------------------------------------------------------- sparse messages


@njit(cache=True, nogil=True, fastmath=FAST)
def _bounds(x, k, room):
    """A number that at least k entries of x reach, and the largest: the extremes of the maxima of k parts."""
    n = len(x)
    for j in range(k):
        room[j] = x[j]
    for first in range(k, n, k):
        for j in range(min(k, n - first)):
            y = x[first + j]
            room[j] = y if y > room[j] else room[j]
    least, largest = room[0], room[0]
    for j in range(1, k):
        least, largest = min(least, room[j]), max(largest, room[j])
    return least, largest


@njit(cache=True, nogil=True)
def _keep_largest(x, k, chosen, n):
    """Of the n places in ``chosen``, bring those of the k largest entries to the front, the least of them first."""
    for m in range(k // 2 - 1, -1, -1):
        _sift(x, chosen, m, k)
    for e in range(k, n):
        if x[chosen[e]] > x[chosen[0]]:
            chosen[0] = chosen[e]
            _sift(x, chosen, 0, k)


@njit(cache=True, nogil=True, fastmath=FAST)
def _n_reaching(x, bound):
    """How many entries are at least ``bound``; in floats, which processors compare and add up many at a time."""
    n = x.dtype.type(0)
    for i in range(len(x)):
        n += x.dtype.type(1) if x[i] >= bound else x.dtype.type(0)
    return n


@njit(cache=True, nogil=True, fastmath=FAST)
def k_largest(x, k, room, chosen):
    """The places of the k largest entries of x, in no order, into ``chosen``; ``room`` and ``chosen`` are as long as x.

    Counting is fast where sorting is not: a bound that k entries reach is found by bisection, and a heap is needed only
    if no number of steps parts the k-th entry from the next.
    """
    n, m = len(x), 0
    k = min(k, n)
    low = x.dtype.type(-1)
    parts = max(k, 16)  # as many as a processor compares at a time
    if 4 * parts <= n:
        low, high = _bounds(x, parts, room)
        reaching = _n_reaching(x, low)
        for _ in range(16):
            if reaching == k:
                break
            middle = np.sqrt(low) * np.sqrt(high) if low > 0 else x.dtype.type(0.5) * high
            if not low < middle < high:
                break
            above = _n_reaching(x, middle)
            if above >= k:
                low, reaching = middle, above
            else:
                high = middle
    for i in range(n):
        chosen[m] = i
        m += not x[i] < low
    if m > k:
        _keep_largest(x, k, chosen, m)
    return k


@njit(cache=True, nogil=True)
def _sift(x, heap, m, n):
    """Let entry m of a heap with the smallest on top sink to its place."""
    item = heap[m]
    while True:
        child = 2 * m + 1
        if child >= n:
            break
        if child + 1 < n and x[heap[child + 1]] < x[heap[child]]:
            child += 1
        if x[heap[child]] >= x[item]:
            break
        heap[m] = heap[child]
        m = child
    heap[m] = item


@njit(cache=True, nogil=True)
def most_of(x, epsilon, negated, chosen):
    """The places of the fewest entries of x that sum to more than 1 - ε of it, into ``chosen``; returns how many."""
    for i in range(len(x)):
        chosen[i] = i
    return _fewest_of(x, epsilon, negated, chosen, len(x))


@njit(cache=True, nogil=True)
def _fewest_of(x, epsilon, negated, chosen, n):
    """Of the n places in ``chosen``, bring the fewest whose entries sum to more than 1 - ε of x to the front.

    Returns how many; all n if their sum is less than that.
    """
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    for e in range(n):
        negated[chosen[e]] = -x[chosen[e]]
    for m in range(n // 2 - 1, -1, -1):
        _sift(negated, chosen, m, n)
    kept, size = 0.0, n
    while size > 0:  # the largest goes from the top of the heap to its end
        largest = chosen[0]
        kept += x[largest]
        size -= 1
        chosen[0] = chosen[size]
        chosen[size] = largest
        _sift(negated, chosen, 0, size)
        if kept > (1 - epsilon) * total:
            break
    for e in range(n // 2):  # they are at the end, the largest last
        chosen[e], chosen[n - 1 - e] = chosen[n - 1 - e], chosen[e]
    return n - size


@njit(cache=True, nogil=True)
def _project(x, k, epsilon, room, chosen):
    """k-best if k > 0, ε-best if ε > 0, the fewer of them if both are (Grave 2014, §2.2.2); with neither, all."""
    if k == 0:
        return most_of(x, epsilon, room, chosen)
    m = k_largest(x, k, room, chosen)
    return _fewest_of(x, epsilon, room, chosen, m) if epsilon > 0 else m


@njit(cache=True, nogil=True, fastmath=FAST)
def _send(x, chosen, m, rows, out):
    """out = Σ_{i kept} x_i rows[i]: a message from a sparse vector, O(kC)."""
    out[:] = 0
    four = m - m % 4
    for e in range(0, four, 4):  # four at a time: `out` is read and written less often
        a, b, c, d = x[chosen[e]], x[chosen[e + 1]], x[chosen[e + 2]], x[chosen[e + 3]]
        p, q, r, s = rows[chosen[e]], rows[chosen[e + 1]], rows[chosen[e + 2]], rows[chosen[e + 3]]
        for j in range(len(out)):
            out[j] += a * p[j] + b * q[j] + c * r[j] + d * s[j]
    for e in range(four, m):
        a, p = x[chosen[e]], rows[chosen[e]]
        for j in range(len(out)):
            out[j] += a * p[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def _count_edge(u, iu, mu, v, jv, mv, T, tau):
    """The kept block u_i T[i, j] v_j, scaled to sum 1, into tau; returns whether anything was there to count."""
    total = 0.0
    for e in range(mu):
        i = iu[e]
        row = T[i]
        part = u.dtype.type(0)
        for f in range(mv):
            part += row[jv[f]] * v[jv[f]]
        total += u[i] * part
    if not total > 0:
        return False
    inverse = u.dtype.type(1 / total)
    for e in range(mu):
        i = iu[e]
        weight, row, count = inverse * u[i], T[i], tau[i]
        for f in range(mv):
            count[jv[f]] += weight * row[jv[f]] * v[jv[f]]
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def sparse_sum_product(
    offsets, words, parents, kinds, child_ptr, children, counts, scale, floor, T, Tt, root, k, epsilon,
    nodes, tau, rho, support,
):  # fmt: skip
    """All sentences with projected messages: posteriors of nodes, expected edges, and a bound of the log-likelihood.

    The nodes of sentence s are offsets[s] up to offsets[s + 1], fathers first; ``parents`` and ``children`` count
    from the start of the sentence. The vectors u and v are projected before they meet T; the posterior of a node is
    that of its full product. ``support`` gains how many entries were kept, and how many times.
    """
    C = counts.shape[1]
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    emission = np.empty((longest, C), counts.dtype)
    up, message, down, context = emission.copy(), emission.copy(), emission.copy(), emission.copy()
    kept_up = np.empty((longest, C if k == 0 else min(k, C)), np.int32)
    n_up = np.empty(longest, np.int64)
    kept, room, rest = np.empty(C, np.int32), np.empty(C, counts.dtype), np.empty(C, counts.dtype)
    everything = np.arange(C).astype(np.int32)
    log_likelihood = 0.0
    for s in range(len(offsets) - 1):
        start, n = offsets[s], offsets[s + 1] - offsets[s]
        ptr = child_ptr[start : start + n + 1]
        for a in range(n - 1, -1, -1):
            log_likelihood += lift(
                a, a + 1, words[start:], counts, scale, floor, ptr, children, message, emission, up
            )
            if parents[start + a] >= 0:
                m = _project(up[a], k, epsilon, room, kept)
                n_up[a] = m
                for e in range(m):
                    kept_up[a, e] = kept[e]
                _send(up[a], kept, m, T[kinds[start + a]], message[a])
                support[0] += m
                support[1] += 1
        for a in range(n):
            u, p = up[a], nodes[start + a]
            if parents[start + a] < 0:
                total = 0.0
                for i in range(C):
                    down[a, i] = root[i]
                    total += u[i] * root[i]
                log_likelihood += np.log(total)
            else:
                kind, v = kinds[start + a], context[a]
                m = _project(v, k, epsilon, room, kept)
                _send(v, kept, m, Tt[kind], down[a])
                if not _count_edge(u, kept_up[a], n_up[a], v, kept, m, T[kind], tau[kind]):
                    _count_edge(u, everything, C, v, everything, C, T[kind], tau[kind])
            for i in range(C):
                p[i] = u[i] * down[a, i]
            _scaled(p)
            if parents[start + a] < 0:
                for i in range(C):
                    rho[i] += p[i]
            _contexts(a, ptr, children, message, emission, down, context, rest)
    return log_likelihood


# ----------------------------------------------------------------------------------------- max-product


@njit(cache=True, nogil=True, fastmath=FAST)
def most_probable(
    offsets, words, parents, kinds, child_ptr, children, counts, scale, floor, T, root, classes, scores
):
    """The jointly most probable classes of each sentence, and the logarithm of their probability with the words."""
    C = counts.shape[1]
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    up = np.empty((longest, C), np.float64)
    message = np.empty((longest, C), np.float64)
    best = np.empty((longest, C), np.int32)  # best[a, j]: the class of a if its father has class j
    for s in range(len(offsets) - 1):
        start, n = offsets[s], offsets[s + 1] - offsets[s]
        log_p = 0.0
        for a in range(n - 1, -1, -1):
            row, u = counts[words[start + a]], up[a]
            for i in range(C):
                u[i] = row[i] * scale[i] + floor
            log_p += np.log(_scaled(u))
            for e in range(child_ptr[start + a], child_ptr[start + a + 1]):
                log_p += np.log(_times(u, message[children[e]]))
            if parents[start + a] < 0:
                winner = 0
                for i in range(C):
                    u[i] *= root[i]
                    if u[i] > u[winner]:
                        winner = i
                classes[start + a] = winner
                log_p += np.log(u[winner])
                continue
            into, m, b = T[kinds[start + a]], message[a], best[a]
            m[:] = -1
            b[:] = 0
            for i in range(C):
                x, row_of_t = u[i], into[i]
                for j in range(C):
                    y = x * row_of_t[j]
                    if y > m[j]:
                        m[j] = y
                        b[j] = i
        scores[s] = log_p
        for a in range(n):
            if parents[start + a] >= 0:
                classes[start + a] = best[a, classes[start + parents[start + a]]]
