# mypy: ignore-errors
"""The covariances of what happens at the tokens of chains, as sparse matrices."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def chain_covariances(
    offsets, kinds, psi, M, ptr, which, label, value, pair_ptr, pair_which, before, here, pair_value,
    weights, tiny, fade, rest,
):  # fmt: skip
    """The events of all sentences, which weights have them, and their covariances under the model.

    An *event* is a label at a token, or a pair of labels there, that some weight sees: token t has the unigram weights
    which[ptr[t]:ptr[t+1]] with their labels and values, and a token of kind k the weights of pairs pair_which[pair_ptr[k]
    :pair_ptr[k+1]]. Given x, the labels are a Markov chain. Its transitions P_t(y | y') = ψ_t(y) M_t(y', y) β_t(y) / Σ
    come out of one backward pass, and P(y_u = c | y_t = b) is a product of them. The covariance of events at t < u is

        P(event at t) · [P(event at u | y_t = b) − P(event at u)],    b the label with which the first event ends.

    Events as good as certain or impossible (up to ``tiny``) are left out, and ``rest`` gains their variance for each of
    their weights; so are covariances below ``tiny``, and those of tokens so far apart that y_t says less than ``fade``
    about y_u. Returns the number of events; weights, events and values of the incidence; and two events and the
    covariance for each pair of events, in one order only.
    """
    Y = psi.shape[1]
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    P, p = np.zeros((longest, Y + 1, Y)), np.zeros((longest, Y))
    slot, pair_slot = np.full(Y, -1), np.full((Y + 1) * Y, -1)  # the event of a label or pair at a token
    first = np.zeros(longest + 1, np.int64)  # event of each token
    end, begin, prob = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024)
    n_events, n_seen, n_covariances = 0, 0, 0
    seen = (np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024))
    found = (np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024))
    ahead, further, ends = np.zeros((Y, Y)), np.zeros((Y, Y)), np.zeros(Y, np.bool_)
    for i in range(len(offsets) - 1):
        a, T, c = offsets[i], offsets[i + 1] - offsets[i], weights[i]
        if c == 0.0:
            continue
        _transitions(a, T, kinds, psi, M, P, p)
        for t in range(T):
            first[t], k = n_events, kinds[a + t]
            here_too = ptr[a + t + 1] - ptr[a + t] + pair_ptr[k + 1] - pair_ptr[k]
            end, begin, prob = (
                _room(end, n_events + here_too),
                _room(begin, n_events + here_too),
                _room(prob, n_events + here_too),
            )
            seen = _rooms(seen, n_seen + here_too)
            for e in range(ptr[a + t], ptr[a + t + 1]):
                y, v = label[e], value[e]
                q = p[t, y]
                if q <= tiny or 1.0 - q <= tiny:
                    rest[which[e]] += c * v * v * q * (1.0 - q)
                    continue
                if slot[y] < 0:
                    slot[y], end[n_events], begin[n_events], prob[n_events] = n_events, y, -1, q
                    n_events += 1
                seen[0][n_seen], seen[1][n_seen], seen[2][n_seen] = which[e], slot[y], v
                n_seen += 1
            pairs = n_events
            for e in range(pair_ptr[k], pair_ptr[k + 1]):
                x, y, v = before[e], here[e], pair_value[e]
                if (x == Y) != (t == 0):
                    continue
                q = P[0, Y, y] if t == 0 else p[t - 1, x] * P[t, x, y]
                if q <= tiny or 1.0 - q <= tiny:
                    rest[pair_which[e]] += c * v * v * q * (1.0 - q)
                    continue
                s = x * Y + y
                if pair_slot[s] < 0:
                    pair_slot[s], end[n_events], begin[n_events], prob[n_events] = n_events, y, x, q
                    n_events += 1
                seen[0][n_seen], seen[1][n_seen], seen[2][n_seen] = pair_which[e], pair_slot[s], v
                n_seen += 1
            for e in range(first[t], pairs):
                slot[end[e]] = -1
            for e in range(pairs, n_events):
                pair_slot[begin[e] * Y + end[e]] = -1
        first[T] = n_events
        for t in range(T):
            own = first[t + 1] - first[t]
            if own == 0:
                continue
            found = _rooms(found, n_covariances + own * own)
            ends[:] = False
            for j in range(first[t], first[t + 1]):
                ends[end[j]] = True
                for k in range(first[t], j + 1):  # unigrams come first, so only j can be a pair where k is none
                    both = 0.0
                    if end[j] == end[k] and (begin[k] < 0 or begin[k] == begin[j]):
                        both = prob[j]
                    cov = c * (both - prob[j] * prob[k])
                    if j == k or abs(cov) > tiny:
                        found[0][n_covariances], found[1][n_covariances], found[2][n_covariances] = j, k, cov
                        n_covariances += 1
            for x in range(Y):
                for y in range(Y):
                    ahead[x, y] = 1.0 if x == y else 0.0
            for u in range(t + 1, T):
                known = 0.0  # what y_t still says about y_u
                for b in range(Y):
                    if not ends[b]:
                        continue
                    further[b] = 0.0
                    for x in range(Y):
                        if ahead[b, x] > 1e-9:
                            for y in range(Y):
                                further[b, y] += ahead[b, x] * P[u, x, y]
                    for y in range(Y):
                        known = max(known, p[t, b] * abs(further[b, y] - p[u, y]))
                found = _rooms(found, n_covariances + own * (first[u + 1] - first[u]))
                for j in range(first[t], first[t + 1]):
                    b = end[j]
                    for k in range(first[u], first[u + 1]):
                        given = further[b, end[k]]
                        if begin[k] >= 0:
                            given = ahead[b, begin[k]] * P[u, begin[k], end[k]]
                        cov = c * prob[j] * (given - prob[k])
                        if abs(cov) > tiny:
                            found[0][n_covariances], found[1][n_covariances] = j, k
                            found[2][n_covariances] = cov
                            n_covariances += 1
                if known < fade:
                    break
                for b in range(Y):
                    if ends[b]:
                        ahead[b] = further[b]
    n, m = n_seen, n_covariances
    return n_events, (seen[0][:n], seen[1][:n], seen[2][:n]), (found[0][:m], found[1][:m], found[2][:m])


@njit(cache=True, nogil=True)
def _transitions(a, T, kinds, psi, M, P, p):
    """P_t(y | y') and the probabilities p_t(y) of the sentence of T tokens from a on."""
    Y = psi.shape[1]
    beta, total = np.ones(Y), np.zeros(Y)
    for t in range(T - 1, -1, -1):
        matrix, highest = M[kinds[a + t]], 0.0
        for x in range(0 if t > 0 else Y, Y if t > 0 else Y + 1):
            z, into, row = 0.0, P[t, x], matrix[x]
            for y in range(Y):
                into[y] = psi[a + t, y] * row[y] * beta[y]
                z += into[y]
            if z > 0.0:
                for y in range(Y):
                    into[y] /= z
            if t > 0:
                total[x] = z
                highest = max(highest, z)
        if t > 0 and highest > 0.0:
            for y in range(Y):
                beta[y] = total[y] / highest
    for t in range(T):
        p[t] = P[0, Y]
        if t > 0:
            p[t] = 0.0
            for x in range(Y):
                for y in range(Y):
                    p[t, y] += p[t - 1, x] * P[t, x, y]


@njit(cache=True, nogil=True)
def _room(a, needed):
    """An array of at least this length with the same content."""
    if needed <= len(a):
        return a
    longer = np.empty(max(needed, 2 * len(a)), a.dtype)
    longer[: len(a)] = a
    return longer


@njit(cache=True, nogil=True)
def _rooms(arrays, needed):
    return _room(arrays[0], needed), _room(arrays[1], needed), _room(arrays[2], needed)
