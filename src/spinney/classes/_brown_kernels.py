# mypy: ignore-errors
"""Greedy merging of clusters, every loss kept up to date in whole numbers.

Clusters live in slots. ``N[a, b]`` counts the pairs of parent cluster a and child cluster b, ``NT`` is its transpose;
lines beyond the slots are contexts that are never merged (the root). With f(x, y) = φ(x) + φ(y) − φ(x + y), merging a
and b costs

    loss(a, b) = Σ_c [f(N[a,c], N[b,c]) + f(N[c,a], N[c,b])] + own(a, b) − f(l_a, l_b) − f(r_a, r_b)

where the sum goes over all lines and ``own`` mends what it gets wrong where c is a or b. As f(x, 0) = 0, a change
of a few counts changes few terms of few losses, and only those are visited. Losses are kept at ``loss[i, j]``,
j < i; slots that are empty have the loss `NEVER`, which no update touches, as all their counts are zero.
"""

from __future__ import annotations

import numpy as np

from spinney.classes._pairs_kernels import phi
from spinney.compiling import njit

NEVER = np.iinfo(np.int64).max

# Constants in calls are wrapped in np.int64: Numba would compile the callee again for each plain one.


@njit(cache=True, nogil=True)
def add_line(lines, across, loss, s, y, t, table, scale):
    """Add the counts y to line s. They are moved there from line t, or are new if t is -1.

    With ``lines, across = N, NT`` the line is a row, with ``NT, N`` a column.
    """
    size, n = len(lines), len(loss)
    x = lines[s]
    # Lines with a change first, then those with a count in s only: a change needs one of the former.
    places = np.empty(size, np.int64)
    changed = 0
    for c in range(n):
        if y[c] > 0:
            places[changed] = c
            changed += 1
    present = changed
    for c in range(n):
        if y[c] == 0 and x[c] > 0:
            places[present] = c
            present += 1

    # Pairs (a, b) that have s as their context: f(x_a + y_a, x_b + y_b) − f(x_a, x_b), less f(y_a, y_b) if moved.
    alone = np.empty(present, np.int64)
    for i in range(present):
        c = places[i]
        alone[i] = phi(x[c] + y[c], table, scale) - phi(x[c], table, scale)
        if t >= 0:
            alone[i] -= phi(y[c], table, scale)
    for i in range(changed):
        a = places[i]
        for j in range(i + 1, present):
            b = places[j]
            xs, ys = x[a] + x[b], y[a] + y[b]
            change = alone[i] + alone[j] - phi(xs + ys, table, scale) + phi(xs, table, scale)
            if t >= 0:
                change += phi(ys, table, scale)
            if a > b:
                loss[a, b] += change
            else:
                loss[b, a] += change

    # Pairs (s, b): f(x + y, z) − f(x, z) for every context of theirs.
    total = np.zeros(n, np.int64)
    for c in range(size):
        if y[c] > 0:
            before, after = x[c], x[c] + y[c]
            step = phi(after, table, scale) - phi(before, table, scale)
            others = across[c]
            for b in range(n):
                z = others[b]
                if z > 0:
                    total[b] += step - phi(after + z, table, scale) + phi(before + z, table, scale)
    for b in range(n):
        if b < s:
            loss[s, b] += total[b]
        elif b > s:
            loss[b, s] += total[b]

    for c in range(size):
        x[c] += y[c]
        across[c, s] = x[c]
        if t >= 0:
            lines[t, c] = 0
            across[c, t] = 0


@njit(cache=True, nogil=True)
def add_beyond_contexts(sign, a, N, loss, l, r, table, scale):
    """Add to the losses of cluster a, or take away, what they have besides sums over contexts."""
    for b in range(len(loss)):
        aa, ab, ba, bb = N[a, a], N[a, b], N[b, a], N[b, b]
        own = phi(aa + ba, table, scale) + phi(ab + bb, table, scale)
        own += phi(aa + ab, table, scale) + phi(ba + bb, table, scale) - phi(aa + ab + ba + bb, table, scale)
        own -= phi(aa, table, scale) + phi(ab, table, scale) + phi(ba, table, scale) + phi(bb, table, scale)
        fl = phi(l[a], table, scale) + phi(l[b], table, scale) - phi(l[a] + l[b], table, scale)
        fr = phi(r[a], table, scale) + phi(r[b], table, scale) - phi(r[a] + r[b], table, scale)
        change = sign * (own - fl - fr)
        if b < a:
            loss[a, b] += change
        elif b > a:
            loss[b, a] += change


@njit(cache=True, nogil=True)
def add_to_margins(margin, y, loss, table, scale):
    """margin += y, and − f(margin_a, margin_b) in every loss."""
    n = len(loss)
    for a in range(n):
        if y[a] == 0:
            continue
        before, after = margin[a], margin[a] + y[a]
        step = phi(after, table, scale) - phi(before, table, scale)
        for b in range(n):
            z = margin[b]
            if z > 0 and b != a:
                change = step - phi(after + z, table, scale) + phi(before + z, table, scale)
                if a > b:
                    loss[a, b] -= change
                else:
                    loss[b, a] -= change
        margin[a] = after


@njit(cache=True, nogil=True)
def open_cluster(u, x, y, rank, N, NT, loss, l, r, first, table, scale):
    """Put a new cluster into the empty slot u: x are its counts as parent (with itself too), y as child."""
    n = len(loss)
    for b in range(n):
        value = 0 if first[b] >= 0 else NEVER
        if b < u:
            loss[u, b] = value
        elif b > u:
            loss[b, u] = value
    first[u] = rank
    itself = x[u]
    x[u] = 0
    add_to_margins(l, y, loss, table, scale)
    add_to_margins(r, x, loss, table, scale)
    x[u] = itself
    add_line(N, NT, loss, u, x, np.int64(-1), table, scale)
    add_line(NT, N, loss, u, y, np.int64(-1), table, scale)
    for c in range(len(x)):
        l[u] += N[u, c]
        r[u] += N[c, u]
    add_beyond_contexts(np.int64(1), u, N, loss, l, r, table, scale)


@njit(cache=True, nogil=True)
def merge_clusters(s, t, N, NT, loss, l, r, first, table, scale):
    """Merge the cluster in slot t into that in slot s; t is empty then."""
    n = len(loss)
    add_beyond_contexts(np.int64(-1), s, N, loss, l, r, table, scale)
    add_line(N, NT, loss, s, N[t].copy(), t, table, scale)
    add_line(NT, N, loss, s, NT[t].copy(), t, table, scale)
    l[s] += l[t]
    r[s] += r[t]
    l[t] = 0
    r[t] = 0
    first[s] = min(first[s], first[t])
    first[t] = -1
    add_beyond_contexts(np.int64(1), s, N, loss, l, r, table, scale)
    for b in range(n):
        if b < t:
            loss[t, b] = NEVER
        elif b > t:
            loss[b, t] = NEVER


@njit(cache=True, nogil=True)
def cheapest(loss, first):
    """The slots of the cheapest merge, the cluster with the more frequent first word before the other.

    Of merges that cost the same, the one of the earlier first cluster; then of the earlier second.
    """
    best, s, t = NEVER, -1, -1
    for i in range(1, len(loss)):
        row = loss[i, :i]
        least = NEVER
        for j in range(i):
            least = min(least, row[j])
        if least > best or least == NEVER:
            continue
        for j in range(i):
            if row[j] == least:
                a, b = (i, j) if first[i] < first[j] else (j, i)
                if least < best or first[a] < first[s] or (first[a] == first[s] and first[b] < first[t]):
                    best, s, t = least, a, b
    return s, t


@njit(cache=True, nogil=True)
def merge_cheapest(N, NT, loss, l, r, first, table, scale):
    """Merge the cheapest pair; returns the ranks of their first words, the slot it is in, the one that is empty."""
    s, t = cheapest(loss, first)
    kept, gone = first[s], first[t]
    # The one with fewer neighbours is moved: the work grows with what changes.
    few = 0
    for c in range(len(N)):
        few += (N[s, c] > 0) + (NT[s, c] > 0) - (N[t, c] > 0) - (NT[t, c] > 0)
    if few < 0:
        s, t = t, s
    merge_clusters(s, t, N, NT, loss, l, r, first, table, scale)
    return kept, gone, s, t


@njit(cache=True, nogil=True)
def leader_of(word, leader):
    """The first word of the word's cluster."""
    while leader[word] != word:
        leader[word] = leader[leader[word]]
        word = leader[word]
    return word


@njit(cache=True, nogil=True)
def neighbour_counts(word, limit, rank, leader, slot, indptr, indices, counts, line):
    """Add up the word's counts with each cluster; words of rank ``limit`` and beyond have none yet."""
    for k in range(indptr[word], indptr[word + 1]):
        other = rank[indices[k]]
        if other < limit:
            line[slot[leader_of(other, leader)]] += counts[k]


@njit(cache=True, nogil=True)
def add_words(
    start, stop, free, order, rank, leader, slot,
    c_indptr, c_indices, c_counts, p_indptr, p_indices, p_counts, roots,
    N, NT, loss, l, r, first, table, scale,
):  # fmt: skip
    """Open a cluster for each of the words of rank ``start`` to ``stop - 1``; where no slot stays free, merge.

    ``roots`` may be empty, for no root. Returns the free slot.
    """
    n, size = len(loss), len(N)
    x, y = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for w in range(start, stop):
        word = order[w]
        x[:] = 0
        y[:] = 0
        leader[w] = w
        slot[w] = free
        neighbour_counts(word, w + 1, rank, leader, slot, c_indptr, c_indices, c_counts, x)
        neighbour_counts(word, w, rank, leader, slot, p_indptr, p_indices, p_counts, y)
        if len(roots):
            y[size - 1] = roots[word]
        open_cluster(free, x, y, w, N, NT, loss, l, r, first, table, scale)
        free += 1
        if w >= n - 1:
            kept, gone, into, free = merge_cheapest(N, NT, loss, l, r, first, table, scale)
            leader[gone] = kept
            slot[kept] = into
    return free


@njit(cache=True, nogil=True)
def open_all(start, stop, counts, from_root, rank, N, NT, loss, l, r, first, table, scale):
    """Open a cluster in each of the slots ``start`` to ``stop - 1``, with the given counts between them."""
    n, size = len(loss), len(N)
    x, y = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for u in range(start, stop):
        for v in range(u):
            x[v], y[v] = counts[u, v], counts[v, u]
        x[u] = counts[u, u]
        if size > n:
            y[size - 1] = from_root[u]
        open_cluster(u, x, y, rank[u], N, NT, loss, l, r, first, table, scale)


@njit(cache=True, nogil=True)
def merge_all(start, merges, N, NT, loss, l, r, first, table, scale):
    """Fill ``merges[start:]`` by merging the cheapest pair again and again."""
    for i in range(start, len(merges)):
        kept, gone, _, _ = merge_cheapest(N, NT, loss, l, r, first, table, scale)
        merges[i, 0] = kept
        merges[i, 1] = gone
