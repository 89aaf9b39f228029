# mypy: ignore-errors
"""Moving words between classes, the likelihood kept in whole numbers.

The kernel of each variant has two modes. In one it finds the best class of each of some words, all against the same
tables, so that threads can share the words out; in the other it makes the moves, one by one, each only if it is
still a gain when its turn comes.
"""

from __future__ import annotations

import numpy as np

from spinney.classes._pairs_kernels import phi
from spinney.compiling import njit


@njit(cache=True, nogil=True)
def gather(word, ids, indptr, indices, counts, line, places):
    """Add up the word's counts with each class, and list the classes; pairs with itself are returned apart."""
    itself, n = 0, 0
    for k in range(indptr[word], indptr[word + 1]):
        other = indices[k]
        c = ids[other]
        if other == word:
            itself = counts[k]
        elif c >= 0:
            if line[c] == 0:
                places[n] = c
                n += 1
            line[c] += counts[k]
    return itself, n


@njit(cache=True, nogil=True)
def side_gain(b, a, N, x, x_places, y_b, table, scale):
    """What counts x of a word, that was in class a, add to Σφ in line b; the place (b, b) is not looked at."""
    gain = 0
    for c in x_places:
        if c == b:
            continue
        n = N[b, c]
        # The tables hold the word in class a: it is taken out here.
        if c == a:
            n -= y_b
        if b == a:
            n -= x[c]
        gain += phi(n + x[c], table, scale) - phi(n, table, scale)
    return gain


@njit(cache=True, nogil=True)
def joining_gain(b, a, N, NT, l, r, x, x_places, y, y_places, itself, total_x, total_y, table, scale):
    """What a word, taken out of class a, adds to L in class b: L = Σφ(N) − Σφ(l) − Σφ(r)."""
    gain = side_gain(b, a, N, x, x_places, y[b], table, scale)
    gain += side_gain(b, a, NT, y, y_places, x[b], table, scale)
    inside, parents, children = N[b, b], l[b], r[b]
    together = x[b] + y[b] + itself
    if b == a:
        inside, parents, children = inside - together, parents - total_x, children - total_y
    gain += phi(inside + together, table, scale) - phi(inside, table, scale)
    gain -= phi(parents + total_x, table, scale) - phi(parents, table, scale)
    gain -= phi(children + total_y, table, scale) - phi(children, table, scale)
    return gain


@njit(cache=True, nogil=True)
def visit(
    words, targets, choose, ids, sizes, c_indptr, c_indices, c_counts, p_indptr, p_indices, p_counts, roots,
    N, NT, l, r, table, scale,
):  # fmt: skip
    """Two-sided exchange. ``choose``: write the best class of each word into ``targets``, nothing else.

    Otherwise move each word to its target if that raises L, by the gain returned beside the number of moves. A class
    keeps its last word. Words of class -1 are in no table and count for nobody.
    ``roots`` may be empty, for no root.
    """
    n_classes, size = len(l), len(N)
    x, y = np.zeros(size, np.int64), np.zeros(size, np.int64)
    x_list, y_list = np.empty(size, np.int64), np.empty(size, np.int64)
    total_gain, moves = 0, 0
    for i in range(len(words)):
        word = words[i]
        a = np.int64(ids[word])
        if not choose and targets[i] == a:
            continue
        itself, n_x = gather(word, ids, c_indptr, c_indices, c_counts, x, x_list)
        itself, n_y = gather(word, ids, p_indptr, p_indices, p_counts, y, y_list)
        if len(roots) and roots[word] > 0:
            y[size - 1] = roots[word]
            y_list[n_y] = size - 1
            n_y += 1
        xs, ys = x_list[:n_x], y_list[:n_y]
        total_x, total_y = itself, itself
        for c in xs:
            total_x += x[c]
        for c in ys:
            total_y += y[c]

        stay = 0
        if a >= 0:
            stay = joining_gain(a, a, N, NT, l, r, x, xs, y, ys, itself, total_x, total_y, table, scale)
        first, last = (0, n_classes) if choose else (targets[i], targets[i] + 1)
        best, best_gain = a, stay
        for b in range(first, last):
            if b == a:
                continue
            gain = joining_gain(b, a, N, NT, l, r, x, xs, y, ys, itself, total_x, total_y, table, scale)
            if gain > best_gain or best < 0:
                best, best_gain = b, gain
        if choose:
            targets[i] = best
        elif best != a and sizes[a] > 1:
            move(word, a, best, N, NT, l, r, x, xs, y, ys, itself, total_x, total_y)
            ids[word] = best
            sizes[a] -= 1
            sizes[best] += 1
            total_gain += best_gain - stay
            moves += 1
        for c in xs:
            x[c] = 0
        for c in ys:
            y[c] = 0
    return moves, total_gain


@njit(cache=True, nogil=True)
def move(word, a, b, N, NT, l, r, x, xs, y, ys, itself, total_x, total_y):
    """Take the counts of a word out of the lines of class a, into those of b."""
    for sign, c in ((-1, a), (1, b)):
        for d in xs:
            N[c, d] += sign * x[d]
            NT[d, c] += sign * x[d]
        for d in ys:
            N[d, c] += sign * y[d]
            NT[c, d] += sign * y[d]
        N[c, c] += sign * itself
        NT[c, c] += sign * itself
        l[c] += sign * total_x
        r[c] += sign * total_y


# -- predictive: L = Σ_v Σ_c φ(n(v, c)) − Σ_c φ(n(c)), v a word before, c a class (Uszkoreit and Brants 2008) ------
# n(v, ·) is a list of the classes that follow v: ``classes`` and ``counts`` from ``start[v]`` on, ``length[v]`` long.


@njit(cache=True, nogil=True)
def add_to_row(v, c, count, start, length, classes, counts):
    """n(v, c) += count, which may be negative; a class without counts leaves the list."""
    begin, end = start[v], start[v] + length[v]
    for k in range(begin, end):
        if classes[k] == c:
            counts[k] += count
            if counts[k] == 0:
                classes[k] = classes[end - 1]
                counts[k] = counts[end - 1]
                length[v] -= 1
            return
    classes[end] = c
    counts[end] = count
    length[v] += 1


@njit(cache=True, nogil=True)
def fill_rows(ids, p_indptr, p_indices, p_counts, start, length, classes, counts):
    """n(v, c) from scratch."""
    for word in range(len(ids)):
        for k in range(p_indptr[word], p_indptr[word + 1]):
            add_to_row(p_indices[k], ids[word], p_counts[k], start, length, classes, counts)


@njit(cache=True, nogil=True)
def predictive_gains(a, only, parents, x, start, length, classes, counts, r, gains, table, scale):
    """What a word with these parents, taken out of class a, adds to L in each class, or in a and ``only``."""
    everywhere, total = 0, 0
    for i in range(len(parents)):
        everywhere += phi(x[i], table, scale)
        total += x[i]
    for c in range(len(gains)):
        n = r[c] - total if c == a else r[c]
        gains[c] = everywhere - phi(n + total, table, scale) + phi(n, table, scale)
    for i in range(len(parents)):
        v = parents[i]
        alone = phi(x[i], table, scale)
        for k in range(start[v], start[v] + length[v]):
            c, n = classes[k], counts[k]
            if only >= 0 and c != only and c != a:
                continue
            if c == a:
                n -= x[i]
            gains[c] += phi(n + x[i], table, scale) - phi(n, table, scale) - alone
    return total


@njit(cache=True, nogil=True)
def visit_predictive(
    words, targets, choose, ids, sizes, p_indptr, p_indices, p_counts,
    start, length, classes, counts, r, table, scale,
):  # fmt: skip
    """Predictive exchange; as `visit`."""
    gains = np.zeros(len(r), np.int64)
    total_gain, moves = 0, 0
    for i in range(len(words)):
        word = words[i]
        a = np.int64(ids[word])
        if not choose and (targets[i] == a or sizes[a] == 1):
            continue
        parents = p_indices[p_indptr[word] : p_indptr[word + 1]]
        x = p_counts[p_indptr[word] : p_indptr[word + 1]]
        only = np.int64(-1) if choose else targets[i]
        total = predictive_gains(a, only, parents, x, start, length, classes, counts, r, gains, table, scale)
        if choose:
            best = a
            for b in range(len(gains)):
                if gains[b] > gains[best]:
                    best = b
            targets[i] = best
            continue
        b = targets[i]
        if gains[b] > gains[a]:
            for k in range(len(parents)):
                add_to_row(parents[k], a, -x[k], start, length, classes, counts)
                add_to_row(parents[k], b, x[k], start, length, classes, counts)
            r[a] -= total
            r[b] += total
            ids[word] = b
            sizes[a] -= 1
            sizes[b] += 1
            total_gain += gains[b] - gains[a]
            moves += 1
    return moves, total_gain
