# mypy: ignore-errors
"""Scores of labels out of the weights of observations, and gradients back.

Weights are rows over the labels: dense, ``W[o, y]``, or sparse, ``w[e]`` for the labels ``labels[e]``, row[o] <= e <
row[o+1]. ``values`` is empty where every observation counts 1.
"""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def add_scores(ptr, ids, values, W, scores):
    """scores[t, y] = Σ of W[o, y] over the observations o of token t."""
    Y = W.shape[1]
    for t in range(len(ptr) - 1):
        score = scores[t]
        for y in range(Y):
            score[y] = 0.0
        for k in range(ptr[t], ptr[t + 1]):
            row = W[ids[k]]
            if len(values):
                value = values[k]
                for y in range(Y):
                    score[y] += value * row[y]
            else:
                for y in range(Y):
                    score[y] += row[y]


@njit(cache=True, nogil=True)
def add_sparse_scores(ptr, ids, values, row, labels, w, scores):
    """The same with sparse rows."""
    for t in range(len(ptr) - 1):
        score = scores[t]
        for y in range(len(score)):
            score[y] = 0.0
        for k in range(ptr[t], ptr[t + 1]):
            o = ids[k]
            value = values[k] if len(values) else 1.0
            for e in range(row[o], row[o + 1]):
                score[labels[e]] += value * w[e]


@njit(cache=True, nogil=True)
def gather_gradient(first, last, ptr, tokens, values, residuals, bounds, gradient):
    """gradient[o, y] = Σ of residuals[t, y] over the tokens t with observation o, for o from first to last.

    Tokens from bounds[s] to bounds[s+1] are a shard. Each shard is summed by itself, and then the sums are: so a shard
    may as well be summed elsewhere, with the same bits.
    """
    Y = residuals.shape[1]
    own = np.empty(Y)
    for o in range(first, last):
        g = gradient[o]
        for y in range(Y):
            g[y] = 0.0
        total, several, shard = g, False, 0  # the first shard needs no sum of its own
        for k in range(ptr[o], ptr[o + 1]):
            if tokens[k] >= bounds[shard + 1]:
                if k > ptr[o]:
                    if several:
                        for y in range(Y):
                            g[y] += own[y]
                    total, several = own, True
                    for y in range(Y):
                        own[y] = 0.0
                while tokens[k] >= bounds[shard + 1]:
                    shard += 1
            residual = residuals[tokens[k]]
            if len(values):
                value = values[k]
                for y in range(Y):
                    total[y] += value * residual[y]
            else:
                for y in range(Y):
                    total[y] += residual[y]
        if several:
            for y in range(Y):
                g[y] += own[y]


@njit(cache=True, nogil=True)
def gather_sparse_gradient(first, last, ptr, tokens, values, residuals, bounds, row, labels, gradient):
    """The same with sparse rows."""
    for o in range(first, last):
        for e in range(row[o], row[o + 1]):
            y, total, own, shard = labels[e], 0.0, 0.0, 0
            for k in range(ptr[o], ptr[o + 1]):
                if tokens[k] >= bounds[shard + 1]:
                    total += own
                    own = 0.0
                    while tokens[k] >= bounds[shard + 1]:
                        shard += 1
                value = values[k] if len(values) else 1.0
                own += value * residuals[tokens[k], y]
            gradient[e] = total + own


@njit(cache=True, nogil=True)
def add_part(places, rows, out):
    """out[places[i]] += rows[i]: one sweep, where NumPy makes three."""
    for i in range(len(places)):
        here, row = out[places[i]], rows[i]
        for y in range(len(row)):
            here[y] += row[y]
