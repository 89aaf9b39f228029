# mypy: ignore-errors
"""Compiled work that projective trees and all trees have in common: the arcs of a sentence, sorted, and their weights.

Sums are made in three ways: of weights (``SUM``), of logs (``LOG``), or as maxima (``MAX``). For sums, the weights of
the arcs into a word sum to 1: then no sum over trees, or parts of trees, is above the number of words, what underflows
is below 1e-300 in absolute terms, and a total above ``SAFE`` is exact to the last digits. Only where it is below, a
sentence is done once more in logs.
"""

import numpy as np

from spinney.compiling import njit

SUM, LOG, MAX = 0, 1, 2
SAFE = 1e-200


@njit(cache=True, nogil=True)
def plus(a, b, mode):
    """The sum in the semiring of the mode."""
    if mode == SUM:
        return a + b
    if mode == MAX:
        return max(a, b)
    top = max(a, b)
    if top == -np.inf:
        return top
    return top + np.log1p(np.exp(min(a, b) - top))


@njit(cache=True, nogil=True)
def fill(table, n, value):
    """Write a value into the first n rows and columns."""
    for i in range(n):
        for j in range(n):
            table[i, j] = value


@njit(cache=True, nogil=True)
def sizes(start, stop, words, ptr, head, sib_ptr, sib, second):
    """The largest numbers of words, arcs and parts in a sentence; −1 where offsets decrease or lead astray."""
    n, arcs, parts = 0, 0, 0
    for s in range(start, stop):
        w, end = words[s], words[s + 1]
        if w < 0 or end < w or end >= ptr.size:
            return -1, 0, 0
        a, b = ptr[w], ptr[end]
        if a < 0 or b < a or b > head.size:
            return -1, 0, 0
        n, arcs = max(n, end - w), max(arcs, b - a)
        if second:
            a, b = sib_ptr[a], sib_ptr[b]
            if a < 0 or b < a or b > sib.size:
                return -1, 0, 0
        parts = max(parts, b - a)
    return n, arcs, parts


@njit(cache=True, nogil=True)
def arrange(n, ptr, head, kids, middle, arc, modifier, place, at):
    """Sort the arcs of a sentence by head, then by modifier: positions p. False if the arcs are not as they must be.

    The arcs of head h are ``kids[h]`` up to ``kids[h + 1]``, those to its right from ``middle[h]``; ``arc[p]`` and
    ``modifier[p]`` belong to position p; ``place`` and ``at[h, m]`` lead back to it, from an arc (less the first of the
    sentence) and from its ends.
    """
    for h in range(n + 2):
        kids[h] = 0
    fill(at, n + 1, -1)
    for m in range(1, n + 1):
        before = -1
        if ptr[m] < ptr[m - 1]:
            return False
        for a in range(ptr[m - 1], ptr[m]):
            h = head[a]
            if h <= before or h > n or h == m:
                return False
            before = h
            kids[h + 1] += 1
    for h in range(n + 1):
        kids[h + 1] += kids[h]
        middle[h] = kids[h]  # for now, where the next arc of the head goes
    for m in range(1, n + 1):
        for a in range(ptr[m - 1], ptr[m]):
            h = head[a]
            p = middle[h]
            middle[h] += 1
            arc[p], modifier[p], place[a - ptr[0]], at[h, m] = a, m, p, p
    for h in range(n + 1):
        middle[h] = kids[h]
        while middle[h] < kids[h + 1] and modifier[middle[h]] < h:
            middle[h] += 1
    return True


@njit(cache=True, nogil=True)
def want_pairs(n, a0, second, sib_ptr, sib, kids, arc, modifier, place, wanted):
    """Mark which words meet in a part: the ends of an arc, or two siblings. False if a sibling is not one."""
    fill(wanted, n + 1, 0)
    for h in range(n + 1):
        for p in range(kids[h], kids[h + 1]):
            a, m = arc[p], modifier[p]
            if not second:
                wanted[min(h, m), max(h, m)] = 1
                continue
            if sib_ptr[a + 1] < sib_ptr[a]:
                return False
            for k in range(sib_ptr[a], sib_ptr[a + 1]):
                if sib[k] < 0:
                    continue
                if sib[k] < a0 or sib[k] - a0 >= kids[n + 1]:
                    return False
                q = place[sib[k] - a0]
                s = modifier[q]
                if q < kids[h] or q >= kids[h + 1] or (s - h) * (m - h) <= 0 or abs(s - h) >= abs(m - h):
                    return False
                wanted[min(s, m), max(s, m)] = 1
    return True


@njit(cache=True, nogil=True)
def weigh(n, ptr, head, score, sib_ptr, sib, sib_score, second, mode, k0, weight):
    """The weight of each part: an arc with the sibling before it, or without siblings the arc. Returns its log scale.

    Those of one word's arcs from other words sum to 1; the arcs from the root, of which a tree has one, have the
    largest weight 1. In logs, weights are the scores as they are.
    """
    scale, top_root = 0.0, -np.inf
    for m in range(1, n + 1):
        top = -np.inf
        for a in range(ptr[m - 1], ptr[m]):
            first, last = (sib_ptr[a], sib_ptr[a + 1]) if second else (a, a + 1)
            for k in range(first, last):
                weight[k - k0] = score[a] + (sib_score[k] if second else 0.0)
                if head[a] > 0:
                    top = max(top, weight[k - k0])
        if mode != SUM:
            continue
        total, offset = 0.0, 0.0
        if top > -np.inf:
            for a in range(ptr[m - 1], ptr[m]):
                first, last = (sib_ptr[a], sib_ptr[a + 1]) if second else (a, a + 1)
                if head[a] > 0:
                    largest = 0.0
                    for k in range(first, last):
                        weight[k - k0] = np.exp(weight[k - k0] - top)
                        largest = max(largest, weight[k - k0])
                    total += largest
            offset = top + np.log(total)
            scale += offset
        for a in range(ptr[m - 1], ptr[m]):
            first, last = (sib_ptr[a], sib_ptr[a + 1]) if second else (a, a + 1)
            for k in range(first, last):
                if head[a] == 0:
                    weight[k - k0] -= offset
                    if not second or sib[k] < 0:
                        top_root = max(top_root, weight[k - k0])
                elif total > 0.0:
                    weight[k - k0] /= total
                else:
                    weight[k - k0] = 0.0
    if mode != SUM:
        return 0.0
    for m in range(1, n + 1):
        a = ptr[m - 1]
        if a < ptr[m] and head[a] == 0:
            first, last = (sib_ptr[a], sib_ptr[a + 1]) if second else (a, a + 1)
            for k in range(first, last):
                possible = top_root > -np.inf and (not second or sib[k] < 0)
                weight[k - k0] = np.exp(weight[k - k0] - top_root) if possible else 0.0
    return scale + (top_root if top_root > -np.inf else 0.0)


@njit(cache=True, nogil=True)
def siblings(words, ptr, head, writes, sib_ptr, sib):
    """Count the parts of each arc, into ``sib_ptr``; or write them. Returns a sentence with a mistake, or −1."""
    n, arcs, _ = sizes(0, words.size - 1, words, ptr, head, sib_ptr, sib, False)
    if n < 0:
        return 0
    kids, middle, at = (
        np.empty(n + 2, np.int64),
        np.empty(n + 1, np.int64),
        np.empty((n + 1, n + 1), np.int64),
    )
    arc, modifier, place = np.empty(arcs, np.int64), np.empty(arcs, np.int64), np.empty(arcs, np.int64)
    for s in range(words.size - 1):
        n, w0 = words[s + 1] - words[s], words[s]
        of_words = ptr[w0 : w0 + n + 1]
        a0 = of_words[0]
        if not arrange(n, of_words, head, kids, middle, arc, modifier, place, at):
            return s
        for a in range(a0, of_words[n]):
            p, h = place[a - a0], head[a]
            nearest, step = (middle[h], 1) if p >= middle[h] else (middle[h] - 1, -1)
            others = abs(p - nearest) if h > 0 else 0  # the root takes one word only
            if not writes:
                sib_ptr[a + 1] = sib_ptr[a] + 1 + others
                continue
            k = sib_ptr[a]
            sib[k] = -1
            for i in range(others):
                sib[k + 1 + i] = arc[nearest + i * step]
    return -1
