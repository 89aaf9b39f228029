# mypy: ignore-errors
"""Scores of parts, and gradients: sums over the features of arcs, their relations, and pairs of siblings."""

import math

import numpy as np

from spinney.compiling import njit

SMALL = 1e-7  # differences that no weight feels


@njit(cache=True, nogil=True)
def sum_weights(start, stop, ptr, ids, w, first, out):
    """``out[p]``: the weights, from ``first`` on, of the features of part p."""
    for p in range(start, stop):
        total = 0.0
        for i in range(ptr[p], ptr[p + 1]):
            total += w[first + ids[i]]
        out[p] = total


@njit(cache=True, nogil=True)
def relation_scores(start, stop, ptr, ids, row, label, w, first, out):
    """``out[a, l]``: the weights of relation l for the features of arc a.

    The relations of feature f are ``label[row[f]:row[f + 1]]``, and their weights stand at the same places after
    ``first``.
    """
    for a in range(start, stop):
        out[a, :] = 0.0
        for i in range(ptr[a], ptr[a + 1]):
            f = ids[i]
            for k in range(row[f], row[f + 1]):
                out[a, label[k]] += w[first + k]


@njit(cache=True, nogil=True)
def sum_relations(score, given):
    """Turn the scores of relations into probabilities, and add the log of their sum to that of the arc."""
    n = given.shape[1]
    for a in range(len(score)):
        top = given[a, 0]
        for l in range(1, n):
            top = max(top, given[a, l])
        total = 0.0
        for l in range(n):
            given[a, l] = math.exp(given[a, l] - top)
            total += given[a, l]
        for l in range(n):
            given[a, l] /= total
        score[a] += top + math.log(total)


@njit(cache=True, nogil=True)
def add_gradient(start, stop, ptr, ids, first, difference, g, touched, n_touched):
    """Add ``difference[p]`` to the gradient of each feature of part p; note the features that were 0."""
    n = n_touched[0]
    for p in range(start, stop):
        d = difference[p]
        if abs(d) < SMALL:
            continue
        for i in range(ptr[p], ptr[p + 1]):
            at = first + ids[i]
            if g[at] == 0.0 and n < len(touched):
                touched[n] = at
                n += 1
            g[at] += d
    n_touched[0] = n


@njit(cache=True, nogil=True)
def add_relation_gradient(
    start, stop, ptr, ids, row, label, first, marginal, given, gold, g, touched, n_touched
):
    """The same for relations: expected minus seen. ``gold[a]`` is the relation of a gold arc, else -1."""
    n = n_touched[0]
    for a in range(start, stop):
        d, right = marginal[a], gold[a]
        if d < SMALL and right < 0:
            continue
        p = given[a]
        for i in range(ptr[a], ptr[a + 1]):
            f = ids[i]
            for k in range(row[f], row[f + 1]):
                change = d * p[label[k]]
                if label[k] == right:
                    change -= 1.0
                if abs(change) < SMALL:
                    continue
                at = first + k
                if g[at] == 0.0 and n < len(touched):
                    touched[n] = at
                    n += 1
                g[at] += change
    n_touched[0] = n


@njit(cache=True, nogil=True)
def averaged_step(touched, n, g, sums, squares, w, l1, l2, step):
    """Dual averaging with AdaGrad's steps: take the gradient of the touched weights into their sums, and clear it.

    ``w = −step·soft(sums, l1)/(√squares + step·l2)``, where l1 and l2 are the strengths so far.
    """
    for i in range(n):
        at = touched[i]
        d = g[at]
        g[at] = 0.0
        if d != 0.0:
            sums[at] += d
            squares[at] += d * d
            w[at] = _averaged(sums[at], squares[at], l1, l2, step)


@njit(cache=True, nogil=True)
def _averaged(total, square, l1, l2, step):
    if abs(total) <= l1 or square == 0.0:
        return 0.0
    shrunk = total - l1 if total > 0.0 else total + l1
    return -step * shrunk / (math.sqrt(square) + step * l2)


@njit(cache=True, nogil=True)
def averaged_weights(sums, squares, l1, l2, step, w):
    """All weights with the strengths as they are now; those that were not touched for a while had smaller ones."""
    for i in range(len(w)):
        w[i] = _averaged(sums[i], squares[i], l1, l2, step)


@njit(cache=True, nogil=True)
def head_selection_pass(order, words, arc_ptr, gold, ptr, ids, w, squares, step, room):
    """One pass of AdaGrad for the model in which each word chooses its head by itself; returns the mean loss."""
    loss = 0.0
    n_words = 0
    for s in order:
        for word in range(words[s], words[s + 1]):
            first, last = arc_ptr[word], arc_ptr[word + 1]
            top = -np.inf
            for a in range(first, last):
                total = 0.0
                for i in range(ptr[a], ptr[a + 1]):
                    total += w[ids[i]]
                room[a - first] = total
                top = max(top, total)
            z = 0.0
            for a in range(first, last):
                room[a - first] = math.exp(room[a - first] - top)
                z += room[a - first]
            loss -= math.log(room[gold[word] - first] / z + 1e-300)
            n_words += 1
            for a in range(first, last):
                d = room[a - first] / z - (1.0 if a == gold[word] else 0.0)
                if abs(d) < 1e-4:
                    continue
                for i in range(ptr[a], ptr[a + 1]):
                    f = ids[i]
                    squares[f] += d * d
                    w[f] -= step * d / math.sqrt(squares[f] + 1e-2)
    return loss / max(n_words, 1)


@njit(cache=True, nogil=True)
def choose_heads(words, arc_ptr, head, score, share, most, must, keep, room):
    """Keep, for each word, the arcs with p(head | word) ≥ share times the largest, at most ``most`` of them.

    Of arcs that score alike, as those of unknown words do, the shortest are kept. Arcs marked in ``must`` are kept in
    any case.
    """
    for s in range(len(words) - 1):
        for word in range(words[s], words[s + 1]):
            first, last = arc_ptr[word], arc_ptr[word + 1]
            top = -np.inf
            for a in range(first, last):
                top = max(top, score[a])
            bar = top + math.log(share)
            n = 0
            for a in range(first, last):  # the largest scores so far, in falling order
                if score[a] >= bar and (n < most or score[a] > room[most - 1]):
                    k = min(n, most - 1)
                    while k > 0 and room[k - 1] < score[a]:
                        room[k] = room[k - 1]
                        k -= 1
                    room[k] = score[a]
                    n = min(n + 1, most)
            bar = room[n - 1]
            left = n
            for a in range(first, last):
                keep[a] = must[a] or score[a] > bar
                left -= score[a] > bar
            modifier = word - words[s] + 1
            for _ in range(left):
                near = np.int64(-1)
                for a in range(first, last):
                    if score[a] != bar or keep[a]:
                        continue
                    if near < 0 or abs(head[a] - modifier) < abs(head[near] - modifier):
                        near = a
                if near >= 0:
                    keep[near] = True
