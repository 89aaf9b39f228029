# mypy: ignore-errors
"""Compiled inside-outside of a PCFG over all spans of a sentence, and the edges among the items that it leaves.

The chart is dense: ``chart[span, label]``. Spans are numbered by width, then by where they begin (:func:`number`).
Each span has an exponent: true inside values are ``inside · 2**exponent[span]``. A split of a span therefore has the
factor 2**(exponent of the left + of the right - of the span), in inside and in outside sums alike; then the product of
inside and outside values of an item, over that of the root, is its posterior probability without any more ado.

``grammar`` is a :class:`spinney.parsing.coarse.PCFG`.
"""

import math

import numpy as np

from spinney.compiling import njit

NONE = -(2**30)  # the exponent of a span without items
TINY = 5e-324  # the least positive number: with threshold 0 whatever is possible stays


@njit(cache=True, nogil=True)
def number(begin, width, n):
    """The number of a span."""
    return (width - 1) * n - (width - 1) * (width - 2) // 2 + begin


@njit(cache=True, nogil=True)
def bit(k):
    """Bit k mod 64."""
    return np.uint64(1) << np.uint64(k & 63)


@njit(cache=True, nogil=True)
def add_splits(begin, width, n, exponent, grammar, tops, present, n_present, here):
    """here(a) = Σ over splits and rules a → b c of p·top(b)·top(c); returns the exponent of these sums."""
    most = NONE
    for w in range(1, width):
        most = max(most, exponent[number(begin, w, n)] + exponent[number(begin + w, width - w, n)])
    if most <= NONE // 2:
        return NONE
    for w in range(1, width):
        left, right = number(begin, w, n), number(begin + w, width - w, n)
        factor = math.ldexp(1.0, max(exponent[left] + exponent[right] - most, -1100))
        if factor == 0.0:
            continue
        beside = tops[right]
        for at in range(n_present[left]):
            b = present[left, at]
            x = factor * tops[left, b]
            for r in range(grammar.left_start[b], grammar.left_start[b + 1]):
                here[grammar.left_a[r]] += x * grammar.left_p[r] * beside[grammar.left_c[r]]
    return most


@njit(cache=True, nogil=True)
def inside(word_start, entry_label, entry_p, grammar, bottoms, tops, present, n_present, exponent, splits):
    """Inside values of all items.

    ``present[span]`` becomes the labels of its tops that may be left children. Bit k mod 64 of ``splits[0, begin, a]``
    says that a top of a may end at k, of ``splits[1, end, a]`` that one may begin there: with an ``and`` of two of them
    most rules are ruled out over a span, all its splits at once.
    """
    n, L = len(word_start) - 1, len(grammar.root)
    splits[:] = 0
    for width in range(1, n + 1):
        for begin in range(n - width + 1):
            span = number(begin, width, n)
            bottom, top = bottoms[span], tops[span]
            for a in range(L):
                bottom[a] = 0.0
            e = 0
            if width == 1:
                for i in range(word_start[begin], word_start[begin + 1]):
                    bottom[entry_label[i]] += entry_p[i]
            else:
                e = add_splits(begin, width, n, exponent, grammar, tops, present, n_present, bottom)
            for a in range(L):
                top[a] = bottom[a]
            for r in range(len(grammar.unary_a)):
                top[grammar.unary_a[r]] += grammar.unary_p[r] * bottom[grammar.unary_b[r]]
            largest = 0.0
            for a in range(L):
                largest = max(largest, top[a])
            exponent[span] = NONE
            n_present[span] = 0
            if largest == 0.0:
                continue
            _, shift = math.frexp(largest)
            exponent[span] = e + shift
            scale = math.ldexp(1.0, -shift)
            for a in range(L):
                bottom[a] *= scale
                top[a] *= scale
                if top[a] > 0.0:
                    splits[0, begin, a] |= bit(begin + width)
                    splits[1, begin + width, a] |= bit(begin)
                if top[a] > 0.0 and grammar.left_start[a + 1] > grammar.left_start[a]:
                    present[span, n_present[span]] = a
                    n_present[span] += 1


@njit(cache=True, nogil=True)
def outside(grammar, bottoms, tops, exponent, splits, outs, threshold, n):
    """Posterior probabilities, in place of the inside values of ``bottoms`` and in ``outs``; returns Z of the root.

    Of an item that is a hundred times below the threshold nothing is passed down: that is most of them, and what its
    children lose by each is at most a hundredth of what they need to be kept. With threshold 0 nothing is lost.
    """
    L = len(grammar.root)
    least = threshold * 1e-2
    own, factor = np.empty(L), np.empty(n + 1)
    active = np.empty(L, np.int64)
    whole = number(0, n, n)
    Z = 0.0
    for a in range(L):
        Z += grammar.root[a] * tops[whole, a]
    if Z == 0.0:
        return Z
    outs[:] = 0.0
    for a in range(L):
        outs[whole, a] = grammar.root[a] / Z
    for width in range(n, 0, -1):
        for begin in range(n - width + 1):
            span, end = number(begin, width, n), begin + width
            if exponent[span] == NONE:
                continue
            top, bottom, out = tops[span], bottoms[span], outs[span]
            for a in range(L):
                own[a] = out[a]
            for r in range(len(grammar.unary_a)):
                own[grammar.unary_b[r]] += grammar.unary_p[r] * out[grammar.unary_a[r]]
            n_active = 0
            for a in range(L):
                out[a] *= top[a]
                bottom[a] *= own[a]
                if bottom[a] > least:
                    active[n_active] = a
                    n_active += 1
            for k in range(begin + 1, end):
                e = exponent[number(begin, k - begin, n)] + exponent[number(k, end - k, n)] - exponent[span]
                factor[k] = math.ldexp(1.0, min(max(e, -1100), 1023))
            for at in range(n_active):
                a = active[at]
                for r in range(grammar.parent_start[a], grammar.parent_start[a + 1]):
                    b, c = grammar.parent_b[r], grammar.parent_c[r]
                    if splits[0, begin, b] & splits[1, end, c] == 0:
                        continue
                    x = own[a] * grammar.parent_p[r]
                    for k in range(begin + 1, end):
                        left, right = number(begin, k - begin, n), number(k, end - k, n)
                        y, z = tops[left, b], tops[right, c]
                        if y > 0.0 and z > 0.0:
                            outs[left, b] += x * factor[k] * z
                            outs[right, c] += x * factor[k] * y
    return Z


@njit("int32[:, ::1](int32[:, ::1], int64, int64, int64, int64)", cache=True, nogil=True)
def put(table, at, x, y, z):
    """Write a row; returns the table, or one that is twice as long where it was full."""
    if at == len(table):
        longer = np.empty((2 * at, 3), np.int32)
        for i in range(at):
            for j in range(3):
                longer[i, j] = table[i, j]
        table = longer
    table[at, 0], table[at, 1], table[at, 2] = x, y, z
    return table


@njit(cache=True, nogil=True)
def pack(threshold, grammar, word_start, labels, entries, bottoms, tops, index, splits):
    """Items that reach the threshold and can be made of others that do, with their edges.

    ``bottoms`` and ``tops`` hold posteriors; ``index[span, label]`` becomes the number of a top or -1, ``splits`` what
    :func:`inside` says, of these tops. Returns rows of spans (begin, end, first item), items (span, label), groups
    (first edge, parent, rule), binary edges (left, right), unary edges (parent, child, rule) and words (parent, entry).
    """
    n, L, least = len(word_start) - 1, len(grammar.root), max(threshold, TINY)
    spans, items, words = (
        np.empty((64, 3), np.int32),
        np.empty((64, 3), np.int32),
        np.empty((64, 3), np.int32),
    )
    groups, edges, unaries = (
        np.empty((64, 3), np.int32),
        np.empty((64, 3), np.int32),
        np.empty((64, 3), np.int32),
    )
    n_spans = n_items = n_groups = n_edges = n_unaries = n_words = 0
    below = np.empty(L, np.int64)  # the bottom of each label over the present span
    index[:] = -1
    splits[:] = 0
    for width in range(1, n + 1):
        for begin in range(n - width + 1):
            span, end, first = number(begin, width, n), begin + width, n_items
            below[:] = -1
            for a in range(L):
                if bottoms[span, a] < least:
                    continue
                before = n_words + n_edges
                if width == 1:
                    for i in range(word_start[begin], word_start[end]):
                        if labels[i] == a:
                            words = put(words, n_words, n_items, entries[i], 0)
                            n_words += 1
                for r in range(grammar.parent_start[a], grammar.parent_start[a + 1]):
                    b, c = grammar.parent_b[r], grammar.parent_c[r]
                    if splits[0, begin, b] & splits[1, end, c] == 0:
                        continue
                    start = n_edges
                    for k in range(begin + 1, end):
                        left, right = index[number(begin, k - begin, n), b], index[number(k, end - k, n), c]
                        if left >= 0 and right >= 0:
                            edges = put(edges, n_edges, left, right, 0)
                            n_edges += 1
                    if n_edges > start:
                        groups = put(groups, n_groups, start, n_items, r)
                        n_groups += 1
                if n_words + n_edges > before:
                    below[a] = n_items
                    items = put(items, n_items, n_spans, a, 0)
                    n_items += 1
            if n_items == first:
                continue
            for a in range(L):
                if tops[span, a] < least:
                    continue
                before = n_unaries
                if below[a] >= 0:
                    unaries = put(unaries, n_unaries, n_items, below[a], -1)
                    n_unaries += 1
                for r in range(grammar.unary_start[a], grammar.unary_start[a + 1]):
                    if below[grammar.unary_b[r]] >= 0:
                        unaries = put(unaries, n_unaries, n_items, below[grammar.unary_b[r]], r)
                        n_unaries += 1
                if n_unaries > before:
                    index[span, a] = n_items
                    splits[0, begin, a] |= bit(end)
                    splits[1, end, a] |= bit(begin)
                    items = put(items, n_items, n_spans, a, 0)
                    n_items += 1
            spans = put(spans, n_spans, begin, end, first)
            n_spans += 1
    return (
        spans[:n_spans], items[:n_items], groups[:n_groups],
        edges[:n_edges], unaries[:n_unaries], words[:n_words],
    )  # fmt: skip
