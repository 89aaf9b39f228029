# mypy: ignore-errors
"""Training on mistakes, a sentence at a time: decode, and move the weights of what the two labellings differ in.

Weights are the flat vector of :class:`spinney.tagging.support.Shape`: ``w[o·Y + y]`` for μ, then from ``n_mu`` on
λ, ``rows`` = Y or Y + 1 labels before (the last the start) by Y labels for each bigram observation.
"""

import numpy as np

from spinney.compiling import njit
from spinney.inference._decoding_kernels import best_before, max_forward

PERCEPTRON, PA_1, PA_2 = 0, 1, 2


@njit(cache=True, nogil=True)
def learning_pass(
    order, offsets, uptr, uids, uvalues, bptr, bids, bvalues, labels, sets, weights,
    n_mu, rows, simple, rule, C, w, lag, steps, room,
):  # fmt: skip
    """One pass; ``lag`` gains (steps so far)·change, so that w − lag / steps is the average. Returns the new steps.

    ``simple`` says that every token has bigram observation 0 and no other. A label below 0 is known only to lie in
    ``sets[-1 - label]``: what is learned then is the best labelling that agrees.
    """
    scores, edges, kinds, delta, gold, guess, difference, places, changes = room
    Y = scores.shape[1]
    for i in order:
        first, T = offsets[i], offsets[i + 1] - offsets[i]
        if T == 0 or weights[i] == 0.0:
            continue
        score_labels(first, T, uptr, uids, uvalues, w, scores)
        score_pairs(first, T, bptr, bids, bvalues, w, n_mu, rows, simple, edges, kinds)
        choose_gold(first, T, labels, sets, scores, kinds, edges, delta, gold)
        if rule != PERCEPTRON:  # the cost of a labelling, its Hamming distance, is added to its score
            for t in range(T):
                for y in range(Y):
                    scores[t, y] += 1.0 if y != gold[t] else 0.0
        decode(T, scores, kinds, edges, delta, guess)
        n = differences(
            first, T, uptr, uids, uvalues, bptr, bids, bvalues, n_mu, rows, Y, gold, guess, difference, places
        )  # fmt: skip
        square = collect(n, difference, places, changes)
        if square > 0.0:
            step = weights[i]
            if rule != PERCEPTRON:
                step = passive_aggressive_step(
                    n, T, gold, guess, w, places, changes, square, rule, C * weights[i]
                )
            for k in range(n):
                change = step * changes[k]
                w[places[k]] += change
                lag[places[k]] += steps * change
        steps += 1.0
    return steps


@njit(cache=True, nogil=True)
def passive_aggressive_step(n, T, gold, guess, w, places, changes, square, rule, C):
    """τ = min(C, ℓ/‖Δφ‖²), or ℓ/(‖Δφ‖² + 1/2C), with ℓ = ρ(y, ỹ) − w·Δφ (Crammer et al. 2006)."""
    loss = 0.0
    for t in range(T):
        loss += gold[t] != guess[t]
    for k in range(n):
        loss -= w[places[k]] * changes[k]
    loss = max(loss, 0.0)  # below 0 by rounding only: the guess is the labelling with the highest loss
    if rule == PA_1:
        return min(C, loss / square)
    return loss / (square + 0.5 / C)


@njit(cache=True, nogil=True)
def score_labels(first, T, ptr, ids, values, w, scores):
    """Scores of the tokens of a sentence, in rows from 0."""
    Y = scores.shape[1]
    for t in range(T):
        score = scores[t]
        for y in range(Y):
            score[y] = 0.0
        for e in range(ptr[first + t], ptr[first + t + 1]):
            value = values[e] if len(values) else 1.0
            row = w[ids[e] * Y : (ids[e] + 1) * Y]
            for y in range(Y):
                score[y] += value * row[y]


@njit(cache=True, nogil=True)
def score_pairs(first, T, ptr, ids, values, w, n_mu, rows, simple, edges, kinds):
    """Scores of adjacent labels: one matrix for the sentence, or one a token."""
    Y = edges.shape[2]
    for t in range(T):
        kinds[t] = 0 if simple else t
    for t in range(1 if simple else T):
        edges[t] = 0.0
        for e in range(ptr[first + t], ptr[first + t + 1]):
            value = values[e] if len(values) else 1.0
            at = n_mu + ids[e] * rows * Y
            for z in range(rows):
                for y in range(Y):
                    edges[t, z, y] += value * w[at + z * Y + y]


@njit(cache=True, nogil=True)
def decode(T, scores, kinds, edges, delta, labels):
    """The best labelling; of equal ones, that with the smaller labels from the end."""
    max_forward(0, T, scores, kinds, edges, delta)
    labels[T - 1] = np.argmax(delta[T - 1])
    for t in range(T - 1, 0, -1):
        labels[t - 1] = best_before(delta[t - 1], edges[kinds[t]], labels[t])


@njit(cache=True, nogil=True)
def choose_gold(first, T, labels, sets, scores, kinds, edges, delta, gold):
    """The labels seen or, where not all are known for sure, the best labelling that agrees with what is."""
    sure = True
    for t in range(T):
        gold[t] = labels[first + t]
        sure = sure and gold[t] >= 0
    if sure:
        return
    kept = scores[:T].copy()
    for t in range(T):
        for y in range(kept.shape[1]):
            allowed = y == gold[t] if gold[t] >= 0 else sets[-1 - gold[t], y]
            if not allowed:
                kept[t, y] = -np.inf
    decode(T, kept, kinds, edges, delta, gold)


@njit(cache=True, nogil=True)
def differences(
    first, T, uptr, uids, uvalues, bptr, bids, bvalues, n_mu, rows, Y, gold, guess, difference, places
):  # fmt: skip
    """Add Δφ = φ(gold) − φ(guess) to ``difference``; returns how many ``places`` were written to, with repetitions."""
    n = 0
    for t in range(T):
        y, guessed = gold[t], guess[t]
        z, guessed_before = (gold[t - 1], guess[t - 1]) if t else (Y, Y)
        if y != guessed:
            for e in range(uptr[first + t], uptr[first + t + 1]):
                value = uvalues[e] if len(uvalues) else 1.0
                places[n], places[n + 1] = uids[e] * Y + y, uids[e] * Y + guessed
                difference[places[n]] += value
                difference[places[n + 1]] -= value
                n += 2
        if (y != guessed or z != guessed_before) and z < rows:
            for e in range(bptr[first + t], bptr[first + t + 1]):
                value = bvalues[e] if len(bvalues) else 1.0
                at = n_mu + bids[e] * rows * Y
                places[n], places[n + 1] = at + z * Y + y, at + guessed_before * Y + guessed
                difference[places[n]] += value
                difference[places[n + 1]] -= value
                n += 2
    return n


@njit(cache=True, nogil=True)
def collect(n, difference, places, changes):
    """Move Δφ to ``changes``, each place once (0 where it comes again), and return ‖Δφ‖²."""
    square = 0.0
    for k in range(n):
        changes[k] = difference[places[k]]
        difference[places[k]] = 0.0
        square += changes[k] * changes[k]
    return square
