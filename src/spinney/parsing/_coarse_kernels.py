# mypy: ignore-errors
"""Compiled inside-outside of a PCFG over all spans of a sentence, and the edges among the items that it leaves.

Values of tops are kept twice: those of a label in spans that begin together lie side by side in ``lefts``, by where
the spans end, and those in spans that end together in ``rights``, by where they begin. All splits of a span for one
pair of children are then two runs of numbers: inside values are products of such runs, and outside ones sums of them,
which processors take several at a time. ``first`` and ``last`` say where the numbers of a run that are not 0 begin and
end: for tags, which are most of the labels, that is a single number.

Spans are numbered by width, then by where they begin (:func:`number`). Each has an exponent: true inside values are
``inside · 2**exponent[span]``. A split of a span therefore has the factor 2**(exponent of the left + of the right - of
the span), in inside and in outside sums alike; then the product of inside and outside values of an item, over that of
the root, is its posterior probability without any more ado.

``grammar`` is a :class:`spinney.parsing.coarse.PCFG`.
"""

import math

import numpy as np

from spinney.compiling import njit

NONE = -(2**30)  # the exponent of a span without items
TINY = 5e-324  # the least positive number: with threshold 0 whatever is possible stays
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def number(begin, width, n):
    """The number of a span."""
    return (width - 1) * n - (width - 1) * (width - 2) // 2 + begin


@njit(cache=True, nogil=True)
def left_run(begin, a, n, L):
    """Where the run of a label in spans from ``begin`` starts in ``lefts``, less the index of its first end."""
    return L * (begin * n - begin * (begin - 1) // 2) + a * (n - begin) - (begin + 1)


@njit(cache=True, nogil=True)
def right_run(end, a, L):
    """Where the run of a label in spans to ``end`` starts in ``rights``."""
    return L * (end * (end - 1) // 2) + a * end


@njit(cache=True, nogil=True)
def bit(k):
    """Bit k mod 64."""
    return np.uint64(1) << np.uint64(k & 63)


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(x, y):
    """x · y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def add_scaled_product(scale, x, y, out):
    """out += scale·x∘y."""
    for i in range(len(x)):
        out[i] += scale * x[i] * y[i]


@njit(cache=True, nogil=True)
def split_factors(begin, width, n, own, exponent, factor):
    """factor[k] = 2**(exponents of the two parts at split k - own)."""
    for w in range(1, width):
        e = exponent[number(begin, w, n)] + exponent[number(begin + w, width - w, n)] - own
        factor[begin + w] = math.ldexp(1.0, min(max(e, -1100), 1023))


@njit(cache=True, nogil=True)
def add_splits(begin, width, n, exponent, grammar, lefts, rights, splits, first, last, factor, scaled, here):
    """here(a) = Σ over splits and rules a → b c of p·top(b)·top(c); returns the exponent of these sums."""
    L, end, most = len(grammar.root), begin + width, NONE
    for w in range(1, width):
        most = max(most, exponent[number(begin, w, n)] + exponent[number(begin + w, width - w, n)])
    if most <= NONE // 2:
        return NONE
    split_factors(begin, width, n, most, exponent, factor)
    for b in range(L):
        if splits[0, begin, b] == 0 or grammar.pair_start[b] == grammar.pair_start[b + 1]:
            continue
        run, low, high = left_run(begin, b, n, L), first[0, begin, b], last[0, begin, b]
        for k in range(low, high + 1):
            scaled[k] = factor[k] * lefts[run + k]
        for pair in range(grammar.pair_start[b], grammar.pair_start[b + 1]):
            c = grammar.pair_c[pair]
            if splits[0, begin, b] & splits[1, end, c] == 0:
                continue
            at, past = max(low, first[1, end, c]), min(high, last[1, end, c]) + 1
            if at >= past:
                continue
            run = right_run(end, c, L)
            x = dot(scaled[at:past], rights[run + at : run + past])
            for r in range(grammar.pair_rule[pair], grammar.pair_rule[pair + 1]):
                here[grammar.left_a[r]] += grammar.left_p[r] * x
    return most


@njit(cache=True, nogil=True)
def inside(word_start, entry_label, entry_p, grammar, bottoms, lefts, rights, exponent, splits, first, last):
    """Inside values of all items: of bottoms in ``bottoms[span, label]``, of tops in ``lefts`` and ``rights``.

    These two must be 0 before. Spans are taken by where they end, so that the runs of one end stay in the processor's
    cache, shorter ones first.

    Bit k mod 64 of ``splits[0, begin, a]`` becomes 1 where a top of a may end at k, of ``splits[1, end, a]`` where one
    may begin there: with an ``and`` of two of them most rules are ruled out over a span, all its splits at once.
    """
    n, L = len(word_start) - 1, len(grammar.root)
    splits[:] = 0
    first[:], last[:] = n + 1, -1
    top, factor, scaled = np.empty(L), np.empty(n + 1), np.empty(n + 1)
    for end in range(1, n + 1):
        for begin in range(end - 1, -1, -1):
            width = end - begin
            span = number(begin, width, n)
            bottom = bottoms[span]
            for a in range(L):
                bottom[a] = 0.0
            e = 0
            if width == 1:
                for i in range(word_start[begin], word_start[begin + 1]):
                    bottom[entry_label[i]] += entry_p[i]
            else:
                e = add_splits(
                    begin,
                    width,
                    n,
                    exponent,
                    grammar,
                    lefts,
                    rights,
                    splits,
                    first,
                    last,
                    factor,
                    scaled,
                    bottom,
                )
            for a in range(L):
                top[a] = bottom[a]
            for r in range(len(grammar.unary_a)):
                top[grammar.unary_a[r]] += grammar.unary_p[r] * bottom[grammar.unary_b[r]]
            largest = 0.0
            for a in range(L):
                largest = max(largest, top[a])
            exponent[span] = NONE
            scale = 0.0
            if largest > 0.0:
                _, shift = math.frexp(largest)
                exponent[span] = e + shift
                scale = math.ldexp(1.0, -shift)
            for a in range(L):
                bottom[a] *= scale
                top[a] *= scale
                if top[a] > 0.0:
                    lefts[left_run(begin, a, n, L) + end] = top[a]
                    rights[right_run(end, a, L) + begin] = top[a]
                    splits[0, begin, a] |= bit(end)
                    splits[1, end, a] |= bit(begin)
                    first[0, begin, a], last[0, begin, a] = min(first[0, begin, a], end), end
                    first[1, end, a], last[1, end, a] = begin, max(last[1, end, a], begin)


@njit(cache=True, nogil=True)
def outside(
    grammar, bottoms, lefts, rights, exponent, splits, first, last, out_lefts, out_rights, threshold, n
):
    """What is kept of ``bottoms`` and of tops; returns Z of the root.

    ``out_lefts`` gets the posterior probabilities of tops, and ``bottoms[span, a]`` the outside value, or 0 where the
    posterior is below the threshold.

    Of an item that is a hundred times below the threshold nothing is passed down: that is most of them, and what its
    children lose by each is at most a hundredth of what they need to be kept. With threshold 0 nothing is lost.
    """
    L = len(grammar.root)
    least, passed = max(threshold, TINY), threshold * 1e-2
    out, own, factor, pair_x = np.empty(L), np.empty(L), np.empty(n + 1), np.zeros(len(grammar.pair_c))
    touched = np.empty(len(grammar.pair_c), np.int64)
    Z = 0.0
    for a in range(L):
        Z += grammar.root[a] * lefts[left_run(0, a, n, L) + n]
    if Z == 0.0:
        return Z
    out_lefts[:] = 0.0
    out_rights[:] = 0.0
    for a in range(L):
        out_lefts[left_run(0, a, n, L) + n] = grammar.root[a] / Z
    for end in range(n, 0, -1):
        for begin in range(end):
            width = end - begin
            span = number(begin, width, n)
            if exponent[span] == NONE:
                continue
            for a in range(L):
                at = left_run(begin, a, n, L) + end
                out[a] = out_lefts[at] + out_rights[right_run(end, a, L) + begin]
                own[a] = out[a]
                out_lefts[at] = out[a] * lefts[at]
            for r in range(len(grammar.unary_a)):
                own[grammar.unary_b[r]] += grammar.unary_p[r] * out[grammar.unary_a[r]]
            n_touched = 0
            for a in range(L):
                posterior = own[a] * bottoms[span, a]
                bottoms[span, a] = own[a] if posterior >= least else 0.0
                if posterior > passed:
                    for r in range(grammar.parent_start[a], grammar.parent_start[a + 1]):
                        pair = grammar.parent_pair[r]
                        if splits[0, begin, grammar.parent_b[r]] & splits[1, end, grammar.parent_c[r]] == 0:
                            continue
                        if pair_x[pair] == 0.0:
                            touched[n_touched] = pair
                            n_touched += 1
                        pair_x[pair] += own[a] * grammar.parent_p[r]
            split_factors(begin, width, n, exponent[span], exponent, factor)
            for i in range(n_touched):
                pair = touched[i]
                b, c, x = grammar.pair_b[pair], grammar.pair_c[pair], pair_x[pair]
                pair_x[pair] = 0.0
                at = max(first[0, begin, b], first[1, end, c], begin + 1)
                past = min(last[0, begin, b], last[1, end, c], end - 1) + 1
                if at >= past:
                    continue
                left, right = left_run(begin, b, n, L), right_run(end, c, L)
                some = factor[at:past]
                add_scaled_product(
                    x, some, rights[right + at : right + past], out_lefts[left + at : left + past]
                )
                add_scaled_product(
                    x, some, lefts[left + at : left + past], out_rights[right + at : right + past]
                )
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
def pack(
    threshold, grammar, word_start, labels, entries,
    bottoms, tops, lefts, rights, exponent, splits, first, last, index,
):  # fmt: skip
    """Items that reach the threshold and can be made of others that do, with those edges that reach it as well.

    ``bottoms`` and ``tops`` hold what :func:`outside` leaves there; ``index[span, label]`` becomes the number of a top
    or -1, ``splits`` what :func:`inside` says, of these tops. Returns rows of spans (begin, end, first item), items
    (span, label), groups (first edge, parent, rule), binary edges (left, right), unary edges (parent, child, rule) and
    words (parent, entry).
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
    factor = np.empty(n + 1)
    index[:] = -1
    splits[:] = 0
    for width in range(1, n + 1):
        for begin in range(n - width + 1):
            span, end, item = number(begin, width, n), begin + width, n_items
            if exponent[span] == NONE:
                continue
            split_factors(begin, width, n, exponent[span], exponent, factor)
            below[:] = -1
            for a in range(L):
                if bottoms[span, a] == 0.0:
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
                    left_at, right_at = left_run(begin, b, n, L), right_run(end, c, L)
                    x = bottoms[span, a] * grammar.parent_p[r]
                    low = max(first[0, begin, b], first[1, end, c], begin + 1)
                    high = min(last[0, begin, b], last[1, end, c], end - 1)
                    for k in range(low, high + 1):
                        left, right = index[number(begin, k - begin, n), b], index[number(k, end - k, n), c]
                        if left < 0 or right < 0:
                            continue
                        if x * factor[k] * lefts[left_at + k] * rights[right_at + k] >= threshold:
                            edges = put(edges, n_edges, left, right, 0)
                            n_edges += 1
                    if n_edges > start:
                        groups = put(groups, n_groups, start, n_items, r)
                        n_groups += 1
                if n_words + n_edges > before:
                    below[a] = n_items
                    items = put(items, n_items, n_spans, a, 0)
                    n_items += 1
            if n_items == item:
                continue
            for a in range(L):
                if tops[left_run(begin, a, n, L) + end] < least:
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
            spans = put(spans, n_spans, begin, end, item)
            n_spans += 1
    return (
        spans[:n_spans], items[:n_items], groups[:n_groups],
        edges[:n_edges], unaries[:n_unaries], words[:n_words],
    )  # fmt: skip
