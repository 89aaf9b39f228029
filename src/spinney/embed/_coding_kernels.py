# mypy: ignore-errors
"""Compiled loops of sparse coding: the prox of the tree norm and FISTA, many words side by side.

A forest is a ``parent`` array sorted so that every parent comes before its children (-1 for a root); ``node[i]`` is
the node of code dimension ``i``, or -1 when no group holds it. Blocks of codes are ``[M, W]``, a column a
word: inner loops run over words, so that the processor works on several at once.
"""

import numpy as np

from spinney.compiling import njit
from spinney.optim.penalties._kernels import subtree_sums, tree_l2_dual, tree_l2_prox

SLOTS = 64  # words side by side: a block of them and the Gram matrix stay in the nearest caches
LOOK = 4  # iterations between two looks at which words are done


@njit(cache=True, nogil=True, error_model="numpy")
def tree_prox(w, node, parent, radius, eta):
    """Prox of Σ_v radius_v ‖w_subtree(v)‖₂ of every column of ``w [M, W]``; ``eta`` [nodes, W] is scratch.

    Leaves to roots, the squared norm of each subtree as its own nodes leave it and the factor of its node; then
    roots to leaves, the product of the factors (Nelakanti 2014, Alg. 6).
    """
    M, W = w.shape
    eta[:] = 0.0
    for i in range(M):
        if node[i] >= 0:
            for s in range(W):
                eta[node[i], s] += w[i, s] * w[i, s]
    for v in range(parent.size - 1, -1, -1):
        r, p = radius[v], parent[v]
        for s in range(W):
            square = eta[v, s]
            norm = np.sqrt(square)
            factor = 1.0 - r / norm if norm > r else 0.0
            eta[v, s] = factor
            if p >= 0:
                eta[p, s] += square * factor * factor
    for v in range(parent.size):
        p = parent[v]
        if p >= 0:
            for s in range(W):
                eta[v, s] *= eta[p, s]
    for i in range(M):
        if node[i] >= 0:
            for s in range(W):
                w[i, s] = w[i, s] * eta[node[i], s] + 0.0  # no negative zeros


@njit(cache=True, nogil=True, error_model="numpy")
def fista_step(gram, b, step, a, z, t, moved, node, parent, radius, grad, eta):
    """One iteration of FISTA on ‖x − Dᵀa‖² + Ω(a) for every column, from DDᵀ and b = Dx (Beck and Teboulle 2009).

    ``z`` is where the momentum has led; ``moved`` tells how far (∞-norm) the prox-gradient step went from there. A
    column whose momentum points uphill starts again without any (O'Donoghue and Candès 2015).
    """
    M, W = a.shape
    np.dot(gram, z, grad)
    for i in range(M):
        for s in range(W):
            grad[i, s] = z[i, s] - 2.0 * step * (grad[i, s] - b[i, s])
    tree_prox(grad, node, parent, radius, eta)  # grad holds the new codes from here on
    uphill, beta = np.zeros(W), np.empty(W)
    moved[:] = 0.0
    for i in range(M):
        for s in range(W):
            back = z[i, s] - grad[i, s]
            far = abs(back)
            moved[s] = far if far > moved[s] else moved[s]
            uphill[s] += back * (grad[i, s] - a[i, s])
    for s in range(W):
        last = 1.0 if uphill[s] > 0.0 else t[s]
        t[s] = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * last * last))
        beta[s] = (last - 1.0) / t[s]
    for i in range(M):
        for s in range(W):
            new = grad[i, s]
            z[i, s] = new + beta[s] * (new - a[i, s])
            a[i, s] = new


@njit(cache=True, nogil=True, error_model="numpy")
def solve_codes(gram, B, codes, node, parent, radius, step, tol, max_iter):
    """Codes of all words, in place, from where they are; returns the iterations spent on all of them together.

    ``B [words, M]`` holds Dx of each word, ``radius`` is step·λ·weights. Words stand side by side in SLOTS slots. A
    word that is done (its prox-gradient step is at most ``tol`` times the first step from zero, or it has had
    ``max_iter`` iterations) makes room for the next, so that nobody waits for the slowest.
    """
    n, M = codes.shape
    W = min(SLOTS, n)
    a, z, b, grad = np.zeros((M, W)), np.zeros((M, W)), np.zeros((M, W)), np.empty((M, W))
    eta, moved, t = np.empty((parent.size, W)), np.empty(W), np.empty(W)
    word, spent, enough = np.full(W, -1, np.int64), np.zeros(W, np.int64), np.empty(W)
    following, total = 0, 0
    while True:
        busy = False
        for s in range(W):
            if word[s] >= 0 and (moved[s] <= enough[s] or spent[s] >= max_iter):
                for i in range(M):
                    codes[word[s], i] = a[i, s]
                    a[i, s] = z[i, s] = b[i, s] = 0.0
                word[s] = -1
            if word[s] < 0 and following < n:
                largest = 0.0
                for i in range(M):
                    b[i, s] = B[following, i]
                    a[i, s] = z[i, s] = codes[following, i]
                    largest = max(largest, abs(B[following, i]))
                enough[s] = tol * 2.0 * step * largest
                word[s], t[s], spent[s] = following, 1.0, 0
                following += 1
            busy = busy or word[s] >= 0
        if not busy:
            return total
        for _ in range(LOOK):
            fista_step(gram, b, step, a, z, t, moved, node, parent, radius, grad, eta)
        for s in range(W):
            if word[s] >= 0:
                spent[s] += LOOK
                total += LOOK


@njit(cache=True, nogil=True, error_model="numpy")
def duality_gaps(gram, B, squares, codes, node, parent, weights, lam):
    """How far the objective of each word can at most be above its least, by the dual point 2s(x − Dᵀa).

    With g = 2(b − DDᵀa) and s ≤ 1 the largest factor for which sg is in λ times the dual ball of the norm Ω, the gap
    is λΩ(a) − s a·g + (1 − s)²‖x − Dᵀa‖². ``squares`` holds ‖x‖² of each word.
    """
    n, M = codes.shape
    gaps, own, slopes = np.empty(n), np.empty(M), np.empty(M)
    for word in range(n):
        a = codes[word]
        fitted = np.dot(gram, a)
        fit, inner, omega = squares[word], 0.0, 0.0
        for i in range(M):
            g = 2.0 * (B[word, i] - fitted[i])
            own[i], slopes[i] = a[i] * a[i], g * g
            inner += a[i] * g
            fit -= a[i] * (B[word, i] + 0.5 * g)
        sums = subtree_sums(own, node, parent)
        for v in range(parent.size):
            omega += weights[v] * np.sqrt(sums[v])
        needed = (
            0.0  # the dual norm of g: Newton's method from the left on a convex function never overshoots
        )
        while True:
            height, slope = tree_l2_dual(slopes, node, parent, weights, needed)
            further = needed - height / slope
            if not further > needed:
                break
            needed = further
        s = 1.0 if needed <= lam else lam / needed
        gaps[word] = lam * omega - s * inner + (1.0 - s) ** 2 * max(fit, 0.0)
    return gaps


@njit(cache=True, nogil=True, error_model="numpy")
def step_of(change, seen, row, eta, adaptive):
    """The step of a row: η, or η over the root of what it has seen of squared gradients (a mean over coordinates)."""
    if not adaptive:
        return eta
    seen[row] += np.dot(change, change) / change.size
    return eta / np.sqrt(seen[row])


@njit(cache=True, nogil=True, error_model="numpy")
def move(x, change, step):
    """A step along ``change``."""
    for i in range(x.size):
        x[i] += step * change[i]


@njit(cache=True, nogil=True, error_model="numpy")
def lift_bias(bias, seen, row, change, eta, adaptive):
    """A step of one bias along ``change``."""
    if adaptive:
        seen[row] += change * change
        bias[row] += eta / np.sqrt(seen[row]) * change
    else:
        bias[row] += eta * change


@njit(cache=True, nogil=True, error_model="numpy")
def visit_entries(
    rows, columns, values, scales, A, D, of_word, of_context, seen_a, seen_d, seen_of_word, seen_of_context, eta,
    adaptive, biased, strength, times_step, tau, node, parent, weights,
):  # fmt: skip
    """Stochastic proximal steps on single entries of X, one after the other (Yogatama 2015, ch. 4).

    Returns the sum of the scaled squared errors, each as it was before its step. ``strength`` is λ for each word,
    ``tau`` for each context. With ``adaptive`` each row has the step η over the root of its summed squared gradients,
    which ``seen_a`` and ``seen_d`` hold. With ``biased``, the terms ``of_word`` and ``of_context`` are learned too.
    """
    M = A.shape[1]
    radius, change = np.empty(parent.size), np.empty(M)
    error = 0.0
    for k in range(rows.size):
        word, context, scale = rows[k], columns[k], scales[k]
        a, d = A[word], D[context]
        r = values[k] - np.dot(d, a) - of_word[word] - of_context[context]
        error += scale * r * r
        for i in range(M):
            change[i] = 2.0 * (scale * r * a[i] - tau[context] * d[i])
        move(d, change, step_of(change, seen_d, context, eta, adaptive))
        if biased:
            lift_bias(of_context, seen_of_context, context, 2.0 * scale * r, eta, adaptive)
        r = values[k] - np.dot(d, a) - of_word[word] - of_context[context]  # the second step sees the first
        for i in range(M):
            change[i] = 2.0 * scale * r * d[i]
        step = step_of(change, seen_a, word, eta, adaptive)
        move(a, change, step)
        if biased:
            lift_bias(of_word, seen_of_word, word, 2.0 * scale * r, eta, adaptive)
        threshold = strength[word] * step if times_step else strength[word]
        for v in range(parent.size):
            radius[v] = threshold * weights[v]
        tree_l2_prox(a, node, parent, radius)
    return error
