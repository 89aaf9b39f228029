# mypy: ignore-errors
"""Compiled sums and maxima over all dependency trees of sentences that have one word below the root.

Sums follow the matrix-tree theorem (Koo et al. 2007), by elimination of one word after another. Let w[m, h] be the
weight of the arc from head h to word m, and w[m, 0] that of the arc from the root. Word k is eliminated by

    w[i, j] += w[i, k] w[k, j] / s_k,   s_k = Σ w[k, j] over the words j that are left,

which keeps Z / Π s. The weight of the root is not part of s_k, since only one word is below the root: the last word i
that is left gives Z = w[i, 0] Π s. Nothing is ever subtracted (as in Grassmann, Taksar and Heyman 1985), so that
cycles of strong arcs lose no digits, as they do in a determinant. Probabilities are the derivatives of log Z, by the
same steps backwards.

Maxima follow Chu and Liu (1965) and Edmonds (1967), with cycles found on a growing path and contracted in a dense table
(Tarjan 1977). Arcs from the root come second to all others: a word or cycle takes one only where no other word leads
into it. So the root has as few words below it as can be, and if that is one, no better tree has one.

The kernels take the arrays of a batch as those of projective trees do; ``second`` is False.
"""

import numpy as np

from spinney.compiling import njit
from spinney.inference._arc_kernels import LOG, SAFE, SUM, plus, sizes, weigh


@njit(cache=True, nogil=True)
def well_formed(n, ptr, head):
    """Whether the heads of each word ascend, within the sentence, and differ from the word."""
    for m in range(1, n + 1):
        before = -1
        for a in range(ptr[m - 1], ptr[m]):
            if head[a] <= before or head[a] > n or head[a] == m:
                return False
            before = head[a]
        if ptr[m] < ptr[m - 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def eliminate(n, mode, table, pivot, word):
    """Eliminate words n to 2; ``table[k, j]``, j < k, becomes w[k, j] / s_k, and w[i, k], i < k, stays. Returns Z.

    A word that no other word which is left is a head of can only be below the root: it changes places with the first,
    which ``word`` tells, and two such words admit no tree. The diagonal gathers numbers that nothing reads.
    """
    zero, product = (0.0, 1.0) if mode == SUM else (-np.inf, 0.0)
    for i in range(1, n + 1):
        word[i] = i
    for k in range(n, 1, -1):
        for _ in range(2):
            total = zero
            for j in range(1, k):
                total = plus(total, table[k, j], mode)
            if total > zero:
                break
            for j in range(n + 1):
                table[1, j], table[k, j] = table[k, j], table[1, j]
            for j in range(1, n + 1):
                table[j, 1], table[j, k] = table[j, k], table[j, 1]
            word[1], word[k] = word[k], word[1]
        if not total > zero:
            return zero
        pivot[k] = total
        product = product * total if mode == SUM else product + total
        factor = table[k, :k]
        for j in range(k):
            factor[j] = factor[j] / total if mode == SUM else factor[j] - total
        for i in range(1, k):
            by, into = table[i, k], table[i, :k]
            if by == zero:
                continue
            if mode == SUM:
                for j in range(k):
                    into[j] += by * factor[j]
            else:
                for j in range(k):
                    into[j] = plus(into[j], by + factor[j], mode)
    if mode == SUM:
        return product * table[1, 0] if product >= SAFE else 0.0
    return product + table[1, 0]


@njit(cache=True, nogil=True)
def differentiate(n, table, pivot, slope, into):
    """The derivatives of log Z by all weights, from what `eliminate` left. ``into[j]``: by w[k, j] / s_k."""
    slope[: n + 1, : n + 1] = 0.0
    slope[1, 0] = 1.0 / table[1, 0]
    for k in range(2, n + 1):
        factor = table[k, :k]
        into[:k] = 0.0
        for i in range(1, k):
            by, row = table[i, k], slope[i, :k]
            total = 0.0
            for j in range(k):
                into[j] += by * row[j]
                total += factor[j] * row[j]
            slope[i, k] = total
        mean = 0.0
        for j in range(k):
            mean += factor[j] * into[j]
        slope[k, 0] = into[0] / pivot[k]
        for j in range(1, k):
            slope[k, j] = max(1.0 + into[j] - mean, 0.0) / pivot[k]


@njit(cache=True, nogil=True)
def differentiate_logs(n, table, pivot, slope, into):
    """As `differentiate`, all in logs; ``into[j]``: how many arcs to expect of those that go to j by way of k.

    Each exp is the probability of such an arc, at most 1; so is what is subtracted, up to the number of words.
    """
    slope[: n + 1, : n + 1] = -np.inf
    slope[1, 0] = -table[1, 0]
    for k in range(2, n + 1):
        into[:k] = 0.0
        for i in range(1, k):
            total = 0.0
            if table[i, k] > -np.inf:
                for j in range(k):
                    by = slope[i, j] + table[i, k] + table[k, j]
                    if by > -np.inf:
                        part = np.exp(by)
                        into[j] += part
                        total += part
            if total > 0.0:
                slope[i, k] = np.log(total) - table[i, k]
        mean = 0.0
        for j in range(k):
            mean += into[j]
        for j in range(k):
            chance = into[j] + (np.exp(table[k, j]) * (1.0 - mean) if j > 0 else 0.0)
            if chance > 0.0 and table[k, j] > -np.inf:
                slope[k, j] = np.log(chance) - table[k, j] - pivot[k]


@njit(cache=True, nogil=True)
def marginals(start, stop, words, ptr, head, score, sib_ptr, sib, sib_score, second, log_z, arc_marginal):
    """log Z and the probabilities of arcs of sentences start up to stop. Returns a sentence with a mistake, or −1."""
    n, arcs, _ = sizes(start, stop, words, ptr, head, sib_ptr, sib, second)
    if n < 0:
        return start
    table, slope, weight = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1)), np.empty(arcs)
    pivot, into = np.empty(n + 1), np.empty(n + 1)
    word, position = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for s in range(start, stop):
        n = words[s + 1] - words[s]
        of_words = ptr[words[s] : words[s + 1] + 1]
        a0 = of_words[0]
        if not well_formed(n, of_words, head):
            return s
        arc_marginal[a0 : of_words[n]] = 0.0
        log_z[s] = 0.0 if n == 0 else -np.inf
        if n == 0:
            continue
        for mode in (SUM, LOG):
            scale = weigh(n, of_words, head, score, sib_ptr, sib, sib_score, second, mode, a0, weight)
            table[: n + 1, : n + 1] = 0.0 if mode == SUM else -np.inf
            for m in range(1, n + 1):
                for a in range(of_words[m - 1], of_words[m]):
                    table[m, head[a]] = weight[a - a0]
            total = eliminate(n, mode, table, pivot, word)
            if mode == SUM and not total >= SAFE:
                continue
            log_z[s] = scale + np.log(total) if mode == SUM else total
            if not log_z[s] > -np.inf:
                break
            if mode == SUM:
                differentiate(n, table, pivot, slope, into)
            else:
                differentiate_logs(n, table, pivot, slope, into)
            position[0] = 0
            for i in range(1, n + 1):
                position[word[i]] = i
            for m in range(1, n + 1):
                for a in range(of_words[m - 1], of_words[m]):
                    by = slope[position[m], position[head[a]]]
                    chance = by * weight[a - a0] if mode == SUM else np.exp(by + weight[a - a0])
                    arc_marginal[a] = min(chance, 1.0)
            break
    return -1


@njit(cache=True, nogil=True)
def contract(n, cycle, top, cost, into, via, root, root_via):
    """Make one of the words ``cycle[:top]``, in the place of its first: what leads into it replaces one of its arcs."""
    r = cycle[0]
    for x in range(1, n + 1):
        inward, inward_via, outward, outward_via = -np.inf, -1, -np.inf, -1
        for i in range(top):
            c = cycle[i]
            if into[c, x] - cost[c] > inward:
                inward, inward_via = into[c, x] - cost[c], via[c, x]
            if into[x, c] > outward:
                outward, outward_via = into[x, c], via[x, c]
            into[x, c] = -np.inf
        into[r, x], via[r, x], into[x, r], via[x, r] = inward, inward_via, outward, outward_via
    best, best_via = -np.inf, -1
    for i in range(top):
        c = cycle[i]
        if root[c] - cost[c] > best:
            best, best_via = root[c] - cost[c], root_via[c]
        into[r, c] = -np.inf
        into[c, r] = -np.inf
    root[r], root_via[r] = best, best_via


@njit(cache=True, nogil=True)
def choose(n, into, via, root, root_via, cost, state, path, node, parent, choice):
    """Choose an arc into each word and each contracted cycle; returns the number of nodes of both kinds, or −1.

    ``node[v]`` is the node that place v of the tables stands for now; ``parent`` the cycle that a node became part of.
    ``state``: 0 not yet seen, 1 on the path, 2 done: leads to the root.
    """
    nodes, rooted = n, False
    for v in range(1, n + 1):
        node[v], state[v] = v, 0
    parent[: 2 * n + 1] = 0
    for first in range(1, n + 1):
        if state[first] != 0:
            continue
        path[0], state[first], length = first, 1, 1
        while True:
            v = path[length - 1]
            best, u = -np.inf, 0
            for x in range(1, n + 1):
                if into[v, x] > best:
                    best, u = into[v, x], x
            if u == 0:
                if rooted or root[v] == -np.inf:
                    return -1
                rooted, choice[node[v]] = True, root_via[v]
                break
            choice[node[v]], cost[v] = via[v, u], best
            if state[u] == 2:
                break
            if state[u] == 0:
                path[length], state[u] = u, 1
                length += 1
                continue
            start = length - 1
            while path[start] != u:
                start -= 1
            nodes += 1
            for i in range(start, length):
                parent[node[path[i]]] = nodes
                state[path[i]] = 2  # the places of all but the first are empty from now on
            contract(n, path[start:], length - start, cost, into, via, root, root_via)
            node[u], state[u] = nodes, 1
            length = start + 1
        for i in range(length):
            state[path[i]] = 2
    return nodes


@njit(cache=True, nogil=True)
def best(start, stop, words, ptr, head, score, sib_ptr, sib, sib_score, second, value, chosen):
    """The best tree of sentences start up to stop. Returns a sentence with a mistake, or −1."""
    n, arcs, _ = sizes(start, stop, words, ptr, head, sib_ptr, sib, second)
    if n < 0:
        return start
    into, via, modifier = (
        np.empty((n + 1, n + 1)),
        np.empty((n + 1, n + 1), np.int64),
        np.empty(arcs, np.int64),
    )
    root, cost, root_via = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, np.int64)
    state, path, node = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    parent, choice = np.empty(2 * n + 1, np.int64), np.empty(2 * n + 1, np.int64)
    for s in range(start, stop):
        n, w0 = words[s + 1] - words[s], words[s]
        of_words = ptr[w0 : w0 + n + 1]
        a0 = of_words[0]
        if not well_formed(n, of_words, head):
            return s
        into[: n + 1, : n + 1] = -np.inf
        for m in range(1, n + 1):
            root[m] = -np.inf
            for a in range(of_words[m - 1], of_words[m]):
                modifier[a - a0] = m
                if head[a] == 0:
                    root[m], root_via[m] = score[a], a
                else:
                    into[m, head[a]], via[m, head[a]] = score[a], a
        chosen[w0 : w0 + n] = -1
        value[s] = 0.0
        nodes = choose(n, into, via, root, root_via, cost, state, path, node, parent, choice)
        if nodes < 0:
            value[s] = -np.inf
            continue
        # From the outermost cycle inwards: the arc into a cycle replaces that into the word, and cycles, where it ends.
        for v in range(nodes, 0, -1):
            if parent[v] < 0:  # done with a cycle around it
                continue
            y = modifier[choice[v] - a0]
            while y != v:
                choice[y] = choice[v]
                above = parent[y]
                parent[y] = -1
                y = above
        for m in range(1, n + 1):
            chosen[w0 + m - 1] = choice[m]
            value[s] += score[choice[m]]
    return -1
