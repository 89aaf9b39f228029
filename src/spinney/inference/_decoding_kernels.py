# mypy: ignore-errors
"""Compiled recursions over chains: max-product, k best, and sum-product scaled and in logs.

All take the sentences one after another: ``offsets`` [N+1], ``kinds`` [T], ``scores`` [T][Y]. Matrices are indexed
(label before, label here), so that the inner loops run along rows.
"""

import numpy as np

from spinney.compiling import njit

# The scaled recursion is exact as long as nothing underflows. Messages ≥ e⁻³⁴⁵, edges ≥ e⁻¹⁵⁰ and scores ≥ e⁻²⁰⁰
# cannot: their product, and that of two messages, stays above the smallest normal number, e⁻⁷⁰⁸.
LOW_MESSAGE = np.exp(-345.0)
LOW_SCORE = np.exp(-200.0)


@njit(cache=True, nogil=True)
def longest(offsets):
    """The length of the longest sentence."""
    length = 0
    for i in range(offsets.size - 1):
        length = max(length, offsets[i + 1] - offsets[i])
    return length


# ------------------------------------------------------------------------------------------- max-product


@njit(cache=True, nogil=True)
def max_step(before, matrix, after):
    """after(y) = max over y' of before(y') + matrix(y', y)."""
    after[:] = -np.inf
    for p in range(before.size):
        if before[p] > -np.inf:
            for y in range(after.size):
                s = before[p] + matrix[p, y]
                after[y] = s if s > after[y] else after[y]


@njit(cache=True, nogil=True)
def best_before(before, matrix, y):
    """The smallest y' at which ``max_step`` found its maximum for y."""
    best = 0
    for p in range(1, before.size):
        if before[p] + matrix[p, y] > before[best] + matrix[best, y]:
            best = p
    return best


@njit(cache=True, nogil=True)
def max_forward(a, b, scores, kinds, edges, delta):
    """delta(t - a, y): the best score of the paths from the start of the sentence that end in y at t."""
    Y = scores.shape[1]
    for y in range(Y):
        delta[0, y] = edges[kinds[a], Y, y] + scores[a, y]
    for t in range(a + 1, b):
        here = delta[t - a]
        max_step(delta[t - a - 1], edges[kinds[t]], here)
        for y in range(Y):
            here[y] += scores[t, y]


@njit(cache=True, nogil=True)
def viterbi(offsets, scores, kinds, edges, labels, path_scores):
    """Best labellings. The way back looks for the maximum again, one column per token: cheaper than pointers."""
    delta = np.empty((longest(offsets), scores.shape[1]))
    for i in range(offsets.size - 1):
        a, b = offsets[i], offsets[i + 1]
        if a == b:
            path_scores[i] = 0.0
            continue
        max_forward(a, b, scores, kinds, edges, delta)
        best = np.argmax(delta[b - a - 1])
        path_scores[i] = delta[b - a - 1, best]
        labels[b - 1] = best
        for t in range(b - 1, a, -1):
            best = best_before(delta[t - a - 1], edges[kinds[t]], best)
            labels[t - 1] = best


# ------------------------------------------------------------------------------------------------ k-best


@njit(cache=True, nogil=True)
def insert(loss, detour, losses, detours):
    """Put a loss below the last of a rising list, and its detour, into their place, after their equals."""
    j = losses.size - 1
    while j > 0 and loss < losses[j - 1]:
        losses[j] = losses[j - 1]
        detours[j] = detours[j - 1]
        j -= 1
    losses[j] = loss
    detours[j] = detour


@njit(cache=True, nogil=True)
def walk_back(t, a, r, kinds, transposed, delta, labels, losses, detours):
    """Complete path r before its label at t by the best way there, and list the detours from that way."""
    k, Y = losses.size, delta.shape[1]
    y = labels[t, r]
    while t > a:
        before, edge = delta[t - a - 1], transposed[kinds[t], y]
        best = 0
        for p in range(1, Y):
            if before[p] + edge[p] > before[best] + edge[best]:
                best = p
        top = before[best] + edge[best]
        t -= 1
        for p in range(Y):
            loss = losses[r] + (top - (before[p] + edge[p]))
            if loss < losses[k - 1] and p != best:
                insert(loss, (r, t, p), losses, detours)
        y = best
        labels[t, r] = y


@njit(cache=True, nogil=True)
def kbest(offsets, scores, kinds, edges, transposed, labels, path_scores):
    """The k best labellings, ``labels`` [T][k] and ``path_scores`` [N][k], the latter -inf where there are fewer.

    After a Viterbi pass, each path is the best one with some detours (Eppstein 1998): from the end backwards, it
    goes the best way to where it is, except that at some tokens it comes from a label p that is not the best, and
    loses by that. Path r plus one detour (r, t, p) before all of its own gives each other path once, and never
    gains: so a rising list of the k smallest losses, to which each path of it adds in its turn, ends complete.
    """
    Y, k = scores.shape[1], path_scores.shape[1]
    delta = np.empty((longest(offsets), Y))
    losses = np.empty(k)
    detours = [(0, 0, 0)] * k
    for i in range(offsets.size - 1):
        a, b = offsets[i], offsets[i + 1]
        path_scores[i] = -np.inf
        if a == b:
            path_scores[i, 0] = 0.0
            continue
        max_forward(a, b, scores, kinds, edges, delta)
        final = delta[b - a - 1]
        top = final.max()
        losses[:] = np.inf
        for y in range(Y):
            if top - final[y] < losses[k - 1]:
                insert(top - final[y], (0, b - 1, y), losses, detours)
        for r in range(k):
            if losses[r] == np.inf:
                break
            parent, t, p = detours[r]
            for after in range(t + 1, b):
                labels[after, r] = labels[after, parent]
            labels[t, r] = p
            walk_back(t, a, r, kinds, transposed, delta, labels, losses, detours)
            path_scores[i, r] = top - losses[r]


# ------------------------------------------------------------------------------------------- sum-product


@njit(cache=True, nogil=True)
def step(before, matrix, after):
    """after = before · matrix."""
    after[:] = 0.0
    for p in range(before.size):
        if before[p] > 0.0:
            for y in range(after.size):
                after[y] += before[p] * matrix[p, y]


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def normalise(message):
    """Scale to sum 1. Returns the sum and whether all went well: something left, and nothing near to underflow."""
    total = 0.0
    for y in range(message.size):
        total += message[y]
    if not total > 0.0:
        return total, False
    scale = 1.0 / total
    low = 0
    for y in range(message.size):
        message[y] *= scale
        low += (message[y] > 0.0) & (message[y] < LOW_MESSAGE)
    return total, low == 0


@njit(cache=True, nogil=True)
def has_low(potentials, scores):
    """Whether a label that is not forbidden has a potential near to underflow."""
    low = 0
    for y in range(potentials.size):
        low += (potentials[y] < LOW_SCORE) & (scores[y] > -np.inf)
    return low > 0


@njit(cache=True, nogil=True)
def forward(a, b, potentials, scores, kinds, starts, moves, alpha, sums):
    """α_t = (α_{t-1} M_t) ∘ ψ_t, scaled to sum 1; ``sums`` keeps what it summed to. False if that is not safe."""
    for t in range(a, b):
        if has_low(potentials[t], scores[t]):
            return False
        if t == a:
            # Not `alpha[t] = …`, which would compile its complaint about shapes, for a second.
            for y in range(alpha.shape[1]):
                alpha[t, y] = starts[kinds[t], y]
        else:
            step(alpha[t - 1], moves[kinds[t]], alpha[t])
        for y in range(alpha.shape[1]):
            alpha[t, y] *= potentials[t, y]
        sums[t], safe = normalise(alpha[t])
        if not safe:
            return False
    return True


@njit(cache=True, nogil=True)
def backward(a, b, potentials, kinds, transposed, marginals, beta, product):
    """β_t = M_{t+1} (ψ_{t+1} ∘ β_{t+1}), scaled; turns the α of ``marginals`` into α ∘ β / Σ. False as above."""
    beta[:] = 1.0
    for t in range(b - 1, a - 1, -1):
        for y in range(beta.size):
            marginals[t, y] *= beta[y]
            product[y] = potentials[t, y] * beta[y]
        normalise(marginals[t])
        if t > a:
            step(product, transposed[kinds[t]], beta)
            if not normalise(beta)[1]:
                return False
    return True


@njit(cache=True, nogil=True)
def scaled_marginals(
    offsets, potentials, scores, kinds, starts, moves, transposed, wide, marginals, sums, unsafe
):
    """Marginals with probabilities inside (Sokolovska 2010), and the ``sums`` whose logs add up to log Z.

    ``wide`` are the kinds with a potential near to underflow. Sentences ``unsafe`` are left to ``log_marginals``.
    """
    beta, product = np.empty(potentials.shape[1]), np.empty(potentials.shape[1])
    for i in range(offsets.size - 1):
        a, b = offsets[i], offsets[i + 1]
        safe = True
        for t in range(a, b):
            safe = safe and not wide[kinds[t]]
        safe = safe and forward(a, b, potentials, scores, kinds, starts, moves, marginals, sums)
        safe = safe and backward(a, b, potentials, kinds, transposed, marginals, beta, product)
        unsafe[i] = not safe


@njit(cache=True, nogil=True)
def log_step(before, matrix, after, top):
    """after(y) = log Σ over y' of exp(before(y') + matrix(y', y))."""
    max_step(before, matrix, top)
    after[:] = 0.0
    for p in range(before.size):
        for y in range(after.size):
            if before[p] + matrix[p, y] > -np.inf:
                after[y] += np.exp(before[p] + matrix[p, y] - top[y])
    for y in range(after.size):
        after[y] = top[y] + np.log(after[y]) if after[y] > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def log_marginals(sentences, offsets, scores, kinds, edges, transposed, marginals, log_z):
    """Marginals of some sentences with logs inside: for any scores, and slowly. -inf in ``log_z`` if all is forbidden.

    Messages are shifted to maximum 0, so that they keep their digits in a long sentence.
    """
    Y = scores.shape[1]
    beta, product, top = np.empty(Y), np.empty(Y), np.empty(Y)
    for i in sentences:
        a, b = offsets[i], offsets[i + 1]
        log_z[i] = 0.0
        for t in range(a, b):
            alpha = marginals[t]
            if t == a:
                alpha[:] = edges[kinds[t], Y]
            else:
                log_step(marginals[t - 1], edges[kinds[t]], alpha, top)
            alpha += scores[t]
            shift = alpha.max()
            log_z[i] += shift
            if shift == -np.inf:
                break
            alpha -= shift
        if log_z[i] == -np.inf:
            continue
        log_z[i] += np.log(np.exp(marginals[b - 1]).sum())
        beta[:] = 0.0
        for t in range(b - 1, a - 1, -1):
            product[:] = scores[t] + beta
            joint = marginals[t]
            joint += beta
            joint[:] = np.exp(joint - joint.max())
            joint /= joint.sum()
            if t > a:
                log_step(product, transposed[kinds[t]], beta, top)
                beta -= beta.max()
