# mypy: ignore-errors
"""Stochastic training, a sentence at a time: only the weights of what a sentence shows are touched.

``simple`` says that every token has bigram observation 0 and no other (label bigrams), or that there are none at all,
so that one matrix of potentials serves the whole sentence; else each token has its own, ``M[t]``.
"""

import numpy as np

from spinney.compiling import njit
from spinney.inference._kernels import forward_backward


@njit(cache=True, nogil=True)
def sgd_pass(
    order, offsets, uptr, uids, uvalues, bptr, bids, bvalues, labels, sets, weights,
    W, L, row, column, open_L, received_W, received_L, state, l1, l2, start, simple, room,
):  # fmt: skip
    """One pass of stochastic gradient descent; weights are ``scale`` times W and L.

    With ``row`` the unigram weights are sparse: W[0, e] is that of label column[e], row[o] <= e < row[o+1]. A pair of
    labels whose ``open_L`` is 0 keeps the weight 0.

    ``state`` = (scale, steps taken, first step size, ℓ1 penalty due so far, decay). The ℓ2 penalty shrinks ``scale``;
    the ℓ1 penalty is cumulative (Tsuruoka, Tsujii & Ananiadou 2009): a weight is clipped by what it could have received
    so far minus what it did receive. After k sentences of n the step is τ₀ / (1 + decay·k/n).
    """
    psi, M, pairs, alpha, beta, kinds = room
    n = len(offsets) - 1
    scale, k, tau0, due, decay = state
    for i in order:
        first, end = offsets[i], offsets[i + 1]
        if first == end:
            continue
        tau = tau0 / (1.0 + decay * k / n)
        if len(row):
            _sparse_scores(first, end, uptr, uids, uvalues, W[0], row, column, scale, psi)
        else:
            _scores(first, end, uptr, uids, uvalues, W, scale, psi)
        _edges(first, end, bptr, bids, bvalues, L, scale, simple, M)
        residuals(first, end, labels, sets, weights[i], psi, M, simple, pairs, alpha, beta, kinds)
        scale /= 1.0 + tau * l2 / n  # the implicit step: 1 − τ l2/n would reach zero where l2 is large
        due += tau * l1 / n
        step = tau / scale
        for t in range(first, end):
            for e in range(uptr[t], uptr[t + 1]):
                value = uvalues[e] if len(uvalues) else 1.0
                if len(row):
                    for place in range(row[uids[e]], row[uids[e] + 1]):
                        W[0, place] -= step * value * psi[t - first, column[place]]
                        if l1 > 0.0:
                            W[0, place] = _clipped(W[0, place], due, scale, received_W, 0, place)
                else:
                    _descend(W[uids[e]], psi[t - first], step * value, l1, due, scale, received_W, uids[e])
            if not simple:
                for e in range(bptr[t], bptr[t + 1]):
                    value = bvalues[e] if len(bvalues) else 1.0
                    _descend_pairs(
                        L[bids[e]], pairs[t - first], open_L[bids[e]], step * value, t == first, start,
                        l1, due, scale, received_L, bids[e],
                    )  # fmt: skip
        if simple and len(L):
            first_row = np.int32(0)  # and no literal, for which Numba compiles a kernel by itself
            for at_start in (False, True):
                _descend_pairs(
                    L[0], pairs[0], open_L[0], step, at_start, start, l1, due, scale, received_L, first_row
                )
        k += 1.0
        if scale < 1e-6:
            W *= scale
            L *= scale
            scale = 1.0
    state[0], state[1], state[3] = scale, k, due


@njit(cache=True, nogil=True)
def _descend(w, g, step, l1, due, scale, received, row):
    for y in range(len(w)):
        w[y] -= step * g[y]
        if l1 > 0.0:
            w[y] = _clipped(w[y], due, scale, received, row, y)


@njit(cache=True, nogil=True)
def _descend_pairs(w, g, is_open, step, at_start, start, l1, due, scale, received, row):
    """Descend on the start row (at the first token) or on all others."""
    Y = w.shape[1]
    low, high = (Y, Y + 1) if at_start else (0, Y)
    if at_start and not start:
        return
    for z in range(low, high):
        for y in range(Y):
            w[z, y] -= step * g[z, y] * is_open[z, y]
            if l1 > 0.0:
                w[z, y] = _clipped(w[z, y], due, scale, received, row, z * Y + y)


@njit(cache=True, nogil=True)
def _clipped(w, due, scale, received, row, column):
    before = w * scale
    after = before
    if before > 0.0:
        after = max(0.0, before - (due + received[row, column]))
    elif before < 0.0:
        after = min(0.0, before + (due - received[row, column]))
    received[row, column] += after - before
    return after / scale


@njit(cache=True, nogil=True)
def adagrad_pass(
    order, offsets, uptr, uids, uvalues, bptr, bids, bvalues, labels, sets, weights,
    sum_W, sum_L, square_W, square_L, state, l1, l2, start, simple, room, W, L,
):  # fmt: skip
    """One pass of dual averaging with AdaGrad's steps (Duchi, Hazan & Singer 2011, eq. 24; Xiao 2010).

    A weight is a function of the sum G and of the sum of squares S of its gradients, after k sentences of n:
    w = −sign(G)·max(|G| − k·l1/n, 0) / (√S/η + k·l2/n); so it is computed when it is needed, and is sparse.
    """
    psi, M, pairs, alpha, beta, kinds = room
    n = len(offsets) - 1
    k, eta = state[0], state[1]
    for i in order:
        first, end = offsets[i], offsets[i + 1]
        if first == end:
            continue
        for t in range(first, end):
            for e in range(uptr[t], uptr[t + 1]):
                o = uids[e]
                averaged(sum_W[o], square_W[o], k * l1 / n, k * l2 / n, eta, W[o])
            for e in range(bptr[t], bptr[t + 1]):
                if not simple or t == first:
                    b = bids[e]
                    averaged(sum_L[b].ravel(), square_L[b].ravel(), k * l1 / n, k * l2 / n, eta, L[b].ravel())
        _scores(first, end, uptr, uids, uvalues, W, 1.0, psi)
        _edges(first, end, bptr, bids, bvalues, L, 1.0, simple, M)
        residuals(first, end, labels, sets, weights[i], psi, M, simple, pairs, alpha, beta, kinds)
        for t in range(first, end):
            for e in range(uptr[t], uptr[t + 1]):
                value = uvalues[e] if len(uvalues) else 1.0
                _accumulate(psi[t - first], value, sum_W[uids[e]], square_W[uids[e]])
            if not simple:
                for e in range(bptr[t], bptr[t + 1]):
                    value = bvalues[e] if len(bvalues) else 1.0
                    _accumulate_pairs(
                        pairs[t - first], value, t == first, start, sum_L[bids[e]], square_L[bids[e]]
                    )
        if simple and len(sum_L):
            _accumulate_pairs(pairs[0], 1.0, False, start, sum_L[0], square_L[0])
            _accumulate_pairs(pairs[0], 1.0, True, start, sum_L[0], square_L[0])
        k += 1.0
    state[0] = k


@njit(cache=True, nogil=True)
def averaged(G, S, l1, l2, eta, w):
    """The weights that their sums of gradients and squares stand for."""
    for j in range(len(w)):
        reach = abs(G[j]) - l1
        w[j] = -np.sign(G[j]) * reach / (np.sqrt(S[j]) / eta + l2) if reach > 0.0 and S[j] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _accumulate(g, value, total, square):
    for y in range(len(g)):
        total[y] += value * g[y]
        square[y] += (value * g[y]) ** 2


@njit(cache=True, nogil=True)
def _accumulate_pairs(g, value, at_start, start, total, square):
    Y = g.shape[1]
    if at_start:
        if start:
            _accumulate(g[Y], value, total[Y], square[Y])
        return
    for z in range(Y):
        _accumulate(g[z], value, total[z], square[z])


@njit(cache=True, nogil=True)
def _scores(first, end, ptr, ids, values, W, scale, scores):
    """Scores of the tokens of a sentence, in rows from 0."""
    Y = W.shape[1]
    for t in range(first, end):
        score = scores[t - first]
        for y in range(Y):
            score[y] = 0.0
        for e in range(ptr[t], ptr[t + 1]):
            row, value = W[ids[e]], scale * (values[e] if len(values) else 1.0)
            for y in range(Y):
                score[y] += value * row[y]


@njit(cache=True, nogil=True)
def _sparse_scores(first, end, ptr, ids, values, w, row, column, scale, scores):
    """The same with sparse rows of weights."""
    for t in range(first, end):
        score = scores[t - first]
        score[:] = 0.0
        for e in range(ptr[t], ptr[t + 1]):
            value = scale * (values[e] if len(values) else 1.0)
            for place in range(row[ids[e]], row[ids[e] + 1]):
                score[column[place]] += value * w[place]


@njit(cache=True, nogil=True)
def _edges(first, end, ptr, ids, values, L, scale, simple, M):
    """Scores of adjacent labels: one matrix for the sentence, or one a token."""
    Y = L.shape[2]
    for t in range(first, first + 1 if simple else end):
        into = M[t - first]
        into[:] = 0.0
        for e in range(ptr[t], ptr[t + 1]):
            matrix, value = L[ids[e]], scale * (values[e] if len(values) else 1.0)
            for z in range(Y + 1):
                for y in range(Y):
                    into[z, y] += value * matrix[z, y]


@njit(cache=True, nogil=True)
def _highest(matrix):
    """``matrix.max()``, NaN where one is inside; a loop, since Numba takes long to compile that."""
    highest = -np.inf
    for z in range(matrix.shape[0]):
        for y in range(matrix.shape[1]):
            if np.isnan(matrix[z, y]):
                return matrix[z, y]
            highest = max(highest, matrix[z, y])
    return highest


@njit(cache=True, nogil=True)
def residuals(first, end, labels, sets, weight, psi, M, simple, pairs, alpha, beta, kinds):
    """Turn scores into expected minus seen: ``psi[t]`` for labels, ``pairs`` for pairs of labels; both weighted.

    ``M`` holds scores on entry. A label below 0 is known only to lie in ``sets[-1 - label]``.
    """
    Y, T = psi.shape[1], end - first
    unsure = False
    for t in range(T):
        highest = _highest(psi[t : t + 1])
        for y in range(Y):
            psi[t, y] = np.exp(psi[t, y] - highest)
        kinds[t] = 0 if simple else t
        unsure = unsure or labels[first + t] < 0
    used = 1 if simple else T
    for k in range(used):
        highest = _highest(M[k])
        for z in range(Y + 1):
            for y in range(Y):
                M[k, z, y] = np.exp(M[k, z, y] - highest)
                pairs[k, z, y] = 0.0
    span, log_z = np.array([0, T]), np.empty(1)
    rows = psi[:T]
    numerator = np.empty((0, 0))
    if unsure:
        numerator = rows.copy()
        for t in range(T):
            label = labels[first + t]
            for y in range(Y):
                if (label >= 0 and y != label) or (label < 0 and not sets[-1 - label, y]):
                    numerator[t, y] = 0.0
    forward_backward(span, kinds, rows, M, np.full(1, weight), alpha, beta, pairs, log_z)
    if unsure:
        forward_backward(span, kinds, numerator, M, np.full(1, -weight), alpha, beta, pairs, log_z)
        rows += numerator
    for k in range(used):
        for z in range(Y + 1):
            for y in range(Y):
                pairs[k, z, y] *= M[k, z, y]
    if not unsure:
        before = Y
        for t in range(T):
            label = labels[first + t]
            rows[t, label] -= weight
            pairs[kinds[t], before, label] -= weight
            before = label
