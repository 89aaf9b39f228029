# mypy: ignore-errors
"""Compiled sums and maxima over the projective dependency trees of sentences (Eisner 1996; McDonald and Pereira 2006).

The tables of a sentence of n words, indices from 1:

- ``half[h, x]``: word h with all that hangs below it on the side of x, up to x; ``half[h, h]`` is the empty product;
- ``pair[i, j]``, i < j: what stands between words i and j, the left part below i and the rest below j;
- ``link[p]``: the arc at position p (see `arrange`) with all that is between its ends.

A first-order arc is its weight times the pair of its ends. A second-order arc continues the arc of the sibling before
it by the pair of the two siblings. The root takes one word, with its two halves.

The pass down needs no outside values: it hands the probability of each entry on to what the entry is made of. Those of
the tables are ``of_half``, ``of_pair`` and ``of_link``.
"""

import numpy as np

from spinney.compiling import njit
from spinney.inference._arc_kernels import LOG, MAX, SAFE, SUM, arrange, fill, plus, sizes, want_pairs, weigh


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def pair_of(half, i, j, mode):
    """The sum over all places between i and j where the words below i end."""
    left, right = half[i, i:j], half[j, i + 1 : j + 1]
    total = 0.0
    if mode == SUM:
        for x in range(j - i):
            total += left[x] * right[x]
        return total
    top = -np.inf
    for x in range(j - i):
        top = max(top, left[x] + right[x])
    if mode == MAX or top == -np.inf:
        return top
    for x in range(j - i):
        total += np.exp(left[x] + right[x] - top)
    return top + np.log(total)


@njit(cache=True, nogil=True)
def part_of(h, m, k, a0, mode, sib, place, modifier, half, pair, link):
    """What a part of arc (h, m) is made of: the sibling's arc (−1: none), its weight, and what is between.

    (i, j) is where ``between`` stands: in ``pair``, or without a sibling in ``half``.
    """
    if sib[k] < 0:
        i, j, one = m, h + 1 if h < m else h - 1, 1.0 if mode == SUM else 0.0
        return -1, one, half[i, j], i, j
    q = place[sib[k] - a0]
    s = modifier[q]
    i, j = min(s, m), max(s, m)
    return q, link[q], pair[i, j], i, j


@njit(cache=True, nogil=True)
def inside(
    n, a0, k0, mode, second, sib_ptr, sib, kids, middle, arc, modifier, place, at, wanted, weight, half, pair, link
):  # fmt: skip
    """Fill the tables from short spans to long ones, and return the total of all trees."""
    zero, one = (0.0, 1.0) if mode == SUM else (-np.inf, 0.0)
    for j in range(1, n + 1):
        half[j, j] = one
        for i in range(j - 1, 0, -1):
            if wanted[i, j]:
                pair[i, j] = pair_of(half, i, j, mode)
            for h, m in ((i, j), (j, i)):
                p = at[h, m]
                if p < 0:
                    continue
                a = arc[p]
                if not second:
                    link[p] = weight[a - k0] * pair[i, j] if mode == SUM else weight[a - k0] + pair[i, j]
                    continue
                total = zero
                for k in range(sib_ptr[a], sib_ptr[a + 1]):
                    _, before, between, _, _ = part_of(
                        h, m, k, a0, mode, sib, place, modifier, half, pair, link
                    )
                    if mode == SUM:
                        total += weight[k - k0] * before * between
                    else:
                        total = plus(total, weight[k - k0] + before + between, mode)
                link[p] = total
            right, left = zero, zero
            for p in range(middle[i], kids[i + 1]):
                u = modifier[p]
                if u > j:
                    break
                if mode == SUM:
                    right += link[p] * half[u, j]
                else:
                    right = plus(right, link[p] + half[u, j], mode)
            for p in range(middle[j] - 1, kids[j] - 1, -1):
                u = modifier[p]
                if u < i:
                    break
                if mode == SUM:
                    left += link[p] * half[u, i]
                else:
                    left = plus(left, link[p] + half[u, i], mode)
            half[i, j], half[j, i] = right, left
    total = zero
    for p in range(kids[0], kids[1]):
        a, m = arc[p], modifier[p]
        link[p] = zero if second else weight[a - k0]
        if second:
            for k in range(sib_ptr[a], sib_ptr[a + 1]):
                if sib[k] < 0:
                    link[p] = weight[k - k0]
        if mode == SUM:
            total += link[p] * half[m, 1] * half[m, n]
        else:
            total = plus(total, link[p] + half[m, 1] + half[m, n], mode)
    return total


@njit(cache=True, nogil=True)
def spread_half(h, x, first, last, step, mode, modifier, half, link, of_half, of_link):
    """Hand the probability of a half tree on to its outermost arc and what is beyond."""
    whole, of_whole = half[h, x], of_half[h, x]
    if of_whole <= 0.0:
        return
    ratio = of_whole / whole if mode == SUM else 0.0
    for p in range(first, last, step):
        u = modifier[p]
        if (u - x) * step > 0:
            break
        if mode == SUM:
            part = ratio * link[p] * half[u, x]
        else:
            part = of_whole * np.exp(link[p] + half[u, x] - whole)
        of_link[p] += part
        of_half[u, x] += part


@njit(cache=True, nogil=True)
def spread_pair(i, j, mode, whole, half, of_whole, of_half):
    """Hand the probability of a pair on to the two halves, for each place where they meet."""
    left, right = half[i, i:j], half[j, i + 1 : j + 1]
    of_left, of_right = of_half[i, i:j], of_half[j, i + 1 : j + 1]
    ratio = of_whole / whole if mode == SUM else 0.0
    for x in range(j - i):
        if mode == SUM:
            part = ratio * left[x] * right[x]
        else:
            part = of_whole * np.exp(left[x] + right[x] - whole)
        of_left[x] += part
        of_right[x] += part


@njit(cache=True, nogil=True)
def outside(
    n, a0, k0, mode, second, total, sib_ptr, sib, kids, middle, arc, modifier, place, at, weight, half, pair, link,
    of_half, of_pair, of_link, arc_marginal, sib_marginal,
):  # fmt: skip
    """The probabilities of all that is in the tables, from long spans to short ones; and so of arcs and parts."""
    fill(of_half, n + 1, 0.0)
    fill(of_pair, n + 1, 0.0)
    for p in range(kids[n + 1]):
        of_link[p] = 0.0
    for p in range(kids[0], kids[1]):
        m = modifier[p]
        if mode == SUM:
            part = link[p] * half[m, 1] * half[m, n] / total
        else:
            part = np.exp(link[p] + half[m, 1] + half[m, n] - total)
        of_link[p] = part
        of_half[m, 1] += part
        of_half[m, n] += part
        if second:
            a = arc[p]
            for k in range(sib_ptr[a], sib_ptr[a + 1]):
                if sib[k] < 0:
                    sib_marginal[k] = part
    for j in range(n, 1, -1):
        for i in range(1, j):
            spread_half(i, j, middle[i], kids[i + 1], 1, mode, modifier, half, link, of_half, of_link)
            spread_half(j, i, middle[j] - 1, kids[j] - 1, -1, mode, modifier, half, link, of_half, of_link)
            for h, m in ((i, j), (j, i)):
                p = at[h, m]
                if p < 0 or of_link[p] <= 0.0:
                    continue
                of_whole = of_link[p]
                if not second:
                    of_pair[i, j] += of_whole
                    continue
                a = arc[p]
                ratio = of_whole / link[p] if mode == SUM else 0.0
                for k in range(sib_ptr[a], sib_ptr[a + 1]):
                    q, before, between, x, y = part_of(
                        h, m, k, a0, mode, sib, place, modifier, half, pair, link
                    )
                    if mode == SUM:
                        part = ratio * weight[k - k0] * before * between
                    else:
                        part = of_whole * np.exp(weight[k - k0] + before + between - link[p])
                    sib_marginal[k] = part
                    if q < 0:
                        of_half[x, y] += part
                    else:
                        of_link[q] += part
                        of_pair[x, y] += part
            if of_pair[i, j] > 0.0:
                spread_pair(i, j, mode, pair[i, j], half, of_pair[i, j], of_half)
    for p in range(kids[n + 1]):
        arc_marginal[arc[p]] = of_link[p]


@njit(cache=True, nogil=True)
def marginals(
    start, stop, words, ptr, head, score, sib_ptr, sib, sib_score, second, log_z, arc_marginal, sib_marginal
):  # fmt: skip
    """log Z and all marginals of sentences start up to stop. Returns a sentence with a mistake, or −1."""
    n, arcs, parts = sizes(start, stop, words, ptr, head, sib_ptr, sib, second)
    if n < 0:
        return start
    kids, middle, at = (
        np.empty(n + 2, np.int64),
        np.empty(n + 1, np.int64),
        np.empty((n + 1, n + 1), np.int64),
    )
    arc, modifier, place = np.empty(arcs, np.int64), np.empty(arcs, np.int64), np.empty(arcs, np.int64)
    wanted, weight = np.empty((n + 1, n + 1), np.int64), np.empty(parts)
    half, pair, link = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1)), np.empty(arcs)
    of_half, of_pair, of_link = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1)), np.empty(arcs)
    for s in range(start, stop):
        n = words[s + 1] - words[s]
        of_words = ptr[words[s] : words[s + 1] + 1]
        a0 = of_words[0]
        k0, k1 = (sib_ptr[a0], sib_ptr[of_words[n]]) if second else (a0, a0)
        if not arrange(n, of_words, head, kids, middle, arc, modifier, place, at):
            return s
        if not want_pairs(n, a0, second, sib_ptr, sib, kids, arc, modifier, place, wanted):
            return s
        for a in range(a0, of_words[n]):
            arc_marginal[a] = 0.0
        for k in range(k0, k1):
            sib_marginal[k] = 0.0
        log_z[s] = 0.0 if n == 0 else -np.inf
        for mode in (SUM, LOG):
            if n == 0:
                break
            scale = weigh(n, of_words, head, score, sib_ptr, sib, sib_score, second, mode, k0, weight)
            total = inside(
                n, a0, k0, mode, second, sib_ptr, sib, kids, middle, arc, modifier, place, at, wanted, weight,
                half, pair, link,
            )  # fmt: skip
            if mode == SUM and not total >= SAFE:
                continue
            log_z[s] = scale + np.log(total) if mode == SUM else total
            if log_z[s] > -np.inf:
                outside(
                    n, a0, k0, mode, second, total, sib_ptr, sib, kids, middle, arc, modifier, place, at, weight,
                    half, pair, link, of_half, of_pair, of_link, arc_marginal, sib_marginal,
                )  # fmt: skip
            break
    return -1


@njit(cache=True, nogil=True)
def push(stack, top, kind, a, b):
    """Put what is still to be found on the stack; returns its new height."""
    stack[top, 0], stack[top, 1], stack[top, 2] = kind, a, b
    return top + 1


@njit(cache=True, nogil=True)
def trace(
    n, a0, k0, w0, mode, second, sib_ptr, sib, kids, middle, arc, modifier, place, at, weight, half, pair, link,
    stack, chosen,
):  # fmt: skip
    """The arcs of the best tree, from the tables that `inside` filled with maxima: each maximum is looked for again.

    The stack holds what is still to be found: half trees (h, x), kind 0; arcs (h, m), kind 1; pairs (i, j), kind 2.
    """
    best, where = -np.inf, -1
    for p in range(kids[0], kids[1]):
        found = link[p] + half[modifier[p], 1] + half[modifier[p], n]
        if found > best:
            best, where = found, p
    m = modifier[where]
    chosen[w0 + m - 1] = arc[where]
    top = push(stack, push(stack, 0, 0, m, 1), 0, m, n)
    while top:
        top -= 1
        kind, h, x = stack[top, 0], stack[top, 1], stack[top, 2]
        best, where = -np.inf, -1
        if kind == 0:  # its outermost arc, and the half tree beyond
            if h == x:
                continue
            first, last, step = middle[h], kids[h + 1], 1
            if x < h:
                first, last, step = first - 1, kids[h] - 1, -1
            for p in range(first, last, step):
                u = modifier[p]
                if (u - x) * step > 0:
                    break
                if link[p] + half[u, x] > best:
                    best, where = link[p] + half[u, x], p
            top = push(stack, top, 0, modifier[where], x)
            top = push(stack, top, 1, h, modifier[where])
        elif kind == 1:  # the sibling before it, if there is one, and what is between
            a = arc[at[h, x]]
            chosen[w0 + x - 1] = a
            if not second:
                top = push(stack, top, 2, min(h, x), max(h, x))
                continue
            for k in range(sib_ptr[a], sib_ptr[a + 1]):
                _, before, between, _, _ = part_of(h, x, k, a0, mode, sib, place, modifier, half, pair, link)
                if weight[k - k0] + before + between > best:
                    best, where = weight[k - k0] + before + between, k
            q, _, _, i, j = part_of(h, x, where, a0, mode, sib, place, modifier, half, pair, link)
            top = push(stack, top, 0 if q < 0 else 2, i, j)
            if q >= 0:
                top = push(stack, top, 1, h, modifier[q])
        else:  # where its two halves meet
            for u in range(h, x):
                if half[h, u] + half[x, u + 1] > best:
                    best, where = half[h, u] + half[x, u + 1], u
            top = push(stack, top, 0, h, where)
            top = push(stack, top, 0, x, where + 1)


@njit(cache=True, nogil=True)
def best(
    start, stop, words, ptr, head, score, sib_ptr, sib, sib_score, second, mode, value, chosen, half, pair, link
):  # fmt: skip
    """The best tree of sentences start up to stop (mode ``MAX``). Returns a sentence with a mistake, or −1.

    The tables, in which the last sentence stays, must have room for the longest.
    """
    n, arcs, parts = sizes(start, stop, words, ptr, head, sib_ptr, sib, second)
    if n < 0 or half.shape[0] <= n or half.shape[1] <= n or pair.shape != half.shape or link.size < arcs:
        return start
    kids, middle, at = (
        np.empty(n + 2, np.int64),
        np.empty(n + 1, np.int64),
        np.empty((n + 1, n + 1), np.int64),
    )
    arc, modifier, place = np.empty(arcs, np.int64), np.empty(arcs, np.int64), np.empty(arcs, np.int64)
    wanted, weight = np.empty((n + 1, n + 1), np.int64), np.empty(parts)
    stack = np.empty((4 * n + 4, 3), np.int64)  # a derivation has no more than that in all
    for s in range(start, stop):
        n, w0 = words[s + 1] - words[s], words[s]
        of_words = ptr[w0 : w0 + n + 1]
        a0 = of_words[0]
        k0 = sib_ptr[a0] if second else a0
        if not arrange(n, of_words, head, kids, middle, arc, modifier, place, at):
            return s
        if not want_pairs(n, a0, second, sib_ptr, sib, kids, arc, modifier, place, wanted):
            return s
        for w in range(w0, w0 + n):
            chosen[w] = -1
        value[s] = 0.0
        if n == 0:
            continue
        weigh(n, of_words, head, score, sib_ptr, sib, sib_score, second, mode, k0, weight)
        value[s] = inside(
            n, a0, k0, mode, second, sib_ptr, sib, kids, middle, arc, modifier, place, at, wanted, weight,
            half, pair, link,
        )  # fmt: skip
        if value[s] > -np.inf:
            trace(
                n, a0, k0, w0, mode, second, sib_ptr, sib, kids, middle, arc, modifier, place, at, weight,
                half, pair, link, stack, chosen,
            )  # fmt: skip
    return -1
