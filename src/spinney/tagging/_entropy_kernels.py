# mypy: ignore-errors
"""Entropies of chains and their derivatives, by one pass back and one forth.

Chains are as in ``spinney.inference._kernels``, but scores are logarithms: ``scores[t, y]`` of labels, and for each
kind of token ``L[kind, y', y]`` of adjacent labels (row Y is the start), with ``M = exp(L)``; max L = 0 for each kind.

Given x, the labels are a Markov chain: p(y_t = y | y_{t−1} = y') = M(y', y) x_t(y) / b_{t−1}(y'), where
x_t(y) = exp(score_t(y)) b_t(y). So the entropy is a sum of conditional entropies, none of which is below zero, rather
than the difference of the two large numbers log Z and E[score].
"""

import numpy as np

from spinney.compiling import njit

TINY = 1e-290  # a sum below it may have lost what underflowed


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def entropies(offsets, kinds, scores, L, M, weights, chain, rows, pairs, entropy):
    """The entropy H of each chain; ``scores`` becomes weight·∂H/∂score, and ``pairs[kind, y', y]`` gains weight·∂H/∂L.

    ∂H/∂score of an event = Cov(event, −log p(labels)) = E[event·G] − P(event)·H, where G = Σ_t −log p(y_t|y_{t−1}) adds
    up along the chain (an expectation semiring). ``chain[5, T + 1, Y + 1]`` and ``rows[7, Y + 1]`` are room to work in.
    """
    Y = scores.shape[1]
    # Row t of ahead, log_b and scale is of the labels before token t: ahead_t(y') = H(y_t, y_{t+1}, … | y_{t−1} = y').
    x, log_x, ahead, log_b, scale = chain[0], chain[1], chain[2], chain[3], chain[4]
    p, u = rows[0], rows[1]
    for i in range(len(offsets) - 1):
        first, T = offsets[i], offsets[i + 1] - offsets[i]
        ahead[T], log_b[T] = 0.0, 0.0
        for t in range(T - 1, -1, -1):
            score, k, highest = scores[first + t], kinds[first + t], -np.inf
            for y in range(Y):
                log_x[t, y] = score[y] + log_b[t + 1, y]
                highest = max(highest, log_x[t, y])
            for y in range(Y):
                log_x[t, y] -= highest
                x[t, y] = np.exp(log_x[t, y])
            _back(t, L[k], M[k], x[t], log_x[t], ahead, log_b, scale, rows)
        H = entropy[i] = ahead[0, Y] if T else 0.0
        p[Y], u[Y] = 1.0, 0.0
        for t in range(T):
            score, k = scores[first + t], kinds[first + t]
            here = x[t], log_x[t], ahead[t + 1], log_b[t], scale[t]
            _forth(t, L[k], M[k], *here, H, weights[i], score, rows, pairs[k])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _back(t, L, M, x, log_x, ahead, log_b, scale, rows):
    """For each y' before a token: ahead(y') = Σ_y p(y|y') (ahead(y) − log p(y|y')), log b(y') and 1 / b(y').

    b is needed up to a factor, so x comes scaled to maximum 1. Where 1 / b is no float, 0 stands for it.
    """
    Y, later = L.shape[1], rows[6]
    for y in range(Y):
        later[y] = ahead[t + 1, y] - log_x[y]
    for z in range(0 if t else Y, Y if t else Y + 1):  # the first token has the start before it
        total, sum_later = 0.0, 0.0
        for y in range(Y):
            joint = M[z, y] * x[y]
            total += joint
            sum_later += joint * (later[y] - L[z, y])
        scale[t, z], top = 1.0, 0.0
        if not total > TINY:  # y' is all but impossible before x, yet the tokens before may insist on it
            total, sum_later, scale[t, z], top = 0.0, 0.0, 0.0, -np.inf
            for y in range(Y):
                top = max(top, L[z, y] + log_x[y])
            for y in range(Y):
                joint = np.exp(L[z, y] + log_x[y] - top)
                total += joint
                sum_later += joint * (later[y] - L[z, y])
        scale[t, z] /= total
        log_b[t, z] = top + np.log(total)
        ahead[t, z] = max(log_b[t, z] + sum_later / total, 0.0)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _forth(t, L, M, x, log_x, ahead, log_b, scale, H, weight, score, rows, pairs):
    """Derivatives at a token; p_t(y), and u_t(y) = E[Σ_{s≤t} −log p(y_s|y_{s−1}); y_t = y], go on from t − 1 to t.

    The derivative by a pair (y', y) is p(y|y') [u_{t−1}(y') + p_{t−1}(y') (−log p(y|y') + ahead(y) − H)]; that by y is
    the sum of these over y'.
    """
    Y = L.shape[1]
    p, u, rest, event, p_new, by_score = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    for y in range(Y):
        rest[y] = ahead[y] - H - log_x[y]
        p_new[y], by_score[y] = 0.0, 0.0
    for z in range(0 if t else Y, Y if t else Y + 1):
        mass, past, b, inverse = p[z], u[z], log_b[z], scale[z]
        # Each loop writes to one array: such loops become vector instructions.
        if inverse > 0.0:
            for y in range(Y):
                event[y] = M[z, y] * x[y] * inverse
        else:
            for y in range(Y):
                event[y] = np.exp(L[z, y] + log_x[y] - b)
        for y in range(Y):
            p_new[y] += mass * event[y]
        past += mass * b
        for y in range(Y):
            event[y] *= past + mass * (rest[y] - L[z, y])
        for y in range(Y):
            by_score[y] += event[y]
        for y in range(Y):
            pairs[z, y] += weight * event[y]
    for y in range(Y):
        p[y] = p_new[y]
        u[y] = by_score[y] - p[y] * (ahead[y] - H)
        score[y] = weight * by_score[y]
