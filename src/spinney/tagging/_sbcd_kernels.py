# mypy: ignore-errors
"""Blockwise coordinate descent of CRFs (Sokolovska 2010, Algorithms 8 and 9): sums over a block's sentences, updates.

The arguments are the named tuples of :mod:`spinney.tagging.sbcd`. Messages are scaled, each by its own sum, and cover
only what a block needs: α up to the last of its tokens in a sentence, β down to the first.
"""

import numpy as np

from spinney.compiling import njit

LOWEST, HIGHEST = -15.0, 30.0  # pair scores between which 1 + (exp(λ) − 1) keeps its digits
TINY = 1e-10  # second derivatives below are noise
PASSES, EXACT = 200, 1e-13  # of coordinate descent within a block

JOINT, ALTERNATE, FULL, COORDINATE = 0, 1, 2, 3
UNSCALED, EACH, WHOLE = 0, 1, 2


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _enter(k, last, a, edges):
    """a(y) = Σ_y' last(y') M_k(y', y), where Σ last = 1."""
    Y = len(a) - 1
    n = edges.active[k]
    if n >= 0:
        for y in range(Y):
            a[y] = 1.0
        for e in range(n):
            a[edges.here[k, e]] += last[edges.before[k, e]] * edges.excess[k, e]
    else:
        for y in range(Y):
            a[y] = 0.0
        for z in range(Y):
            c, row = last[z], edges.M[k, z]
            for y in range(Y):
                a[y] += c * row[y]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _leave(k, v, b, edges):
    """b(y') = Σ_y M_k(y', y) v(y), scaled to sum 1."""
    Y = len(b)
    n = edges.active[k]
    if n >= 0:
        total = 0.0
        for y in range(Y):
            total += v[y]
        for y in range(Y):
            b[y] = total
        for e in range(n):
            b[edges.before[k, e]] += edges.excess[k, e] * v[edges.here[k, e]]
    else:
        for z in range(Y):
            row, total = edges.M[k, z], 0.0
            for y in range(Y):
                total += row[y] * v[y]
            b[z] = total
    _normalise(b, Y)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _normalise(a, Y):
    """Scale a[:Y] to sum 1 and return what its sum was."""
    total = 0.0
    for y in range(Y):
        total += a[y]
    if total > 0.0:
        inverse = 1.0 / total
        for y in range(Y):
            a[y] *= inverse
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _forward(first, last, kinds, psi, edges, alpha):
    """α_t(y), scaled to sum 1, for t from first to last; the scale is in the last column."""
    Y = psi.shape[1]
    for t in range(first, last + 1):
        a, p = alpha[t - first], psi[t]
        if t == first:
            for y in range(Y):
                a[y] = edges.M[kinds[t], Y, y]
        else:
            _enter(kinds[t], alpha[t - first - 1], a, edges)
        for y in range(Y):
            a[y] *= p[y]
        a[Y] = _normalise(a, Y)


@njit(cache=True, nogil=True, error_model="numpy")
def block_sums(j, blocks, chains, edges, psi, block, room):
    """Gradient and second derivatives of the loss in block j, positions taken as independent (Algorithm 9)."""
    Y, P = psi.shape[1], (len(block.w) - psi.shape[1]) // psi.shape[1]
    block.g[:] = 0.0
    block.h[:] = 0.0
    block.H[:] = 0.0
    g_mu, h_mu = block.g[:Y], block.h[:Y]
    g_lam, h_lam = block.g[Y:].reshape(P, Y), block.h[Y:].reshape(P, Y)
    alpha, b, v, u = room.alpha, room.b, room.v, room.u
    start, end = blocks.ptr[j], blocks.ptr[j + 1]
    while start < end:
        i = chains.sentence[blocks.tokens[start]]
        stop = start + 1
        while stop < end and chains.sentence[blocks.tokens[stop]] == i:
            stop += 1
        first, lowest, highest = chains.offsets[i], blocks.tokens[start], blocks.tokens[stop - 1]
        _forward(first, highest, chains.kinds, psi, edges, alpha)
        b[:] = 1.0
        n = stop - 1
        for t in range(chains.offsets[i + 1] - 1, lowest - 1, -1):
            for y in range(Y):
                v[y] = psi[t, y] * b[y]
            if t == blocks.tokens[n]:
                value, pair_value = blocks.unigram_values[n], blocks.bigram_values[n]
                if t == first and P == Y:  # no start label
                    pair_value = 0.0
                for y in range(Y):
                    u[y] = alpha[t - first, y] * b[y]
                total = _normalise(u, Y)
                if total > 0.0:
                    scale, weight, label = (
                        1.0 / (total * alpha[t - first, Y]),
                        chains.weights[i],
                        chains.labels[t],
                    )
                    _add_unigrams(label, weight, value, g_mu, h_mu, u)
                    # The token before; at the first the start takes its place, and these are ignored.
                    old, before, M = chains.labels[t - 1], alpha[t - first - 1], edges.M[chains.kinds[t]]
                    if t == first:
                        old = -1
                    _add_bigrams(old, label, weight, pair_value, scale, before, M, g_lam, h_lam, u, v)
                    if len(block.H):
                        _expectations(old, value, pair_value, scale, before, M, u, v, room.q)
                        _add_covariance(weight, value, pair_value, Y, room.q, block.H)
                n = max(n - 1, start)
            if t > lowest:
                _leave(chains.kinds[t], v, b, edges)
        start = stop


@njit(cache=True, nogil=True, error_model="numpy")
def _add_unigrams(label, weight, value, g, h, u):
    """g_μ += u − 1{gold}, h_μ += u − u² at a token."""
    c = weight * value
    for y in range(len(u)):
        g[y] += c * u[y]
        h[y] += c * value * (u[y] - u[y] * u[y])
    g[label] -= c


@njit(cache=True, nogil=True, error_model="numpy")
def _add_bigrams(old, label, weight, value, scale, before, M, g, h, u, v):
    """g_λ += p − 1{gold pair}, h_λ += p − p² at a token, p(y', y) = scale·α(y') M(y', y) v(y); old = -1: at a start."""
    if value == 0.0:
        return
    Y, c, d = len(u), weight * value, weight * value * value
    if old < 0:
        for y in range(Y):
            g[Y, y] += c * u[y]
            h[Y, y] += d * (u[y] - u[y] * u[y])
        g[Y, label] -= c
        return
    for z in range(Y):
        s, row, g_row, h_row = scale * before[z], M[z], g[z], h[z]
        for y in range(Y):
            p = s * row[y] * v[y]
            g_row[y] += c * p
            h_row[y] += d * (p - p * p)
    g[old, label] -= c


@njit(cache=True, nogil=True, error_model="numpy")
def _expectations(old, value, pair_value, scale, before, M, u, v, q):
    """q: the expectations of the block's features, μ then λ, at a token."""
    Y = len(u)
    q[:] = 0.0
    for y in range(Y):
        q[y] = value * u[y]
    if pair_value == 0.0:
        return
    if old < 0:
        for y in range(Y):
            q[Y + Y * Y + y] = pair_value * u[y]
        return
    for z in range(Y):
        for y in range(Y):
            q[Y + z * Y + y] = pair_value * scale * before[z] * M[z, y] * v[y]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_covariance(weight, value, pair_value, Y, q, H):
    """H += weight·Cov(features of the block at one position) (Sokolovska 2010, App. D, with its signs mended).

    Of the features of one sort only one fires, so E f f' is diagonal but for μ(y) with λ(y', y).
    """
    n = len(q)
    for k in range(n):
        c = weight * q[k]
        H[k, k] += c * (value if k < Y else pair_value)
        if k >= Y:
            H[k, k % Y] += c * value
            H[k % Y, k] += c * value
        for m in range(n):
            H[k, m] -= c * q[m]


@njit(cache=True, nogil=True, error_model="numpy")
def _soft(x, threshold):
    if x > threshold:
        return x - threshold
    if x < -threshold:
        return x + threshold
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _stabilised(w, g, h, l1, factor, how):
    """The second derivative that the update takes: h, made larger (Sokolovska 2010, ch. 7).

    EACH is κ2·h·max(κ1, |g|/h), eq. 7.4: no step is longer than 1/κ2. Where h nearly vanishes the pull of the penalty
    could make one, so that counts as well as |g|; at an optimum the two are equal for every active weight.
    """
    if how.rule == EACH:
        return how.kappa2 * max(how.kappa1 * h, abs(g), l1 + how.l2 * abs(w), TINY)
    return factor * max(h, TINY)


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(first, last, block, how):
    """The factor of all second derivatives of a block: 1, or κ2·max(1, max |g|/h) (the thesis's French summary)."""
    if how.rule != WHOLE:
        return 1.0
    largest = 1.0
    for k in range(first, last):
        if block.live[k]:
            largest = max(largest, abs(block.g[k]) / max(block.h[k], TINY))
    return how.kappa2 * largest


@njit(cache=True, nogil=True, error_model="numpy")
def _update(first, last, block, how):
    """θ = S(θ·h − g, ρ1)/(h + ρ2) for these weights of the block, all at once. Returns whether any changed."""
    factor, changed = _factor(first, last, block, how), False
    for k in range(first, last):
        if block.live[k]:
            w, g, l1 = block.w[k], block.g[k], block.l1[k]
            h = _stabilised(w, g, block.h[k], l1, factor, how)
            block.w[k] = _soft(w * h - g, l1) / (h + how.l2)
            changed |= block.w[k] != w
    return changed


@njit(cache=True, nogil=True, error_model="numpy")
def _newton(block, how):
    """The minimum of the quadratic model of a block with its whole Hessian, by coordinate descent.

    The stabiliser makes the diagonal h larger, to d; the Hessian becomes √(d/h) H √(d/h), still positive.
    """
    w, g, h, H, n = block.w, block.g, block.h, block.H, len(block.w)
    factor, changed = _factor(0, n, block, how), False
    d, s = np.empty(n), np.zeros(n)
    for k in range(n):
        d[k] = _stabilised(w[k], g[k], h[k], block.l1[k], factor, how)
        if h[k] > TINY:
            s[k] = np.sqrt(d[k] / h[k])
    for k in range(n):
        for m in range(n):
            H[k, m] = d[k] if k == m else H[k, m] * s[k] * s[m]
    for _ in range(PASSES):
        farthest = 0.0
        for k in range(n):
            if block.live[k]:
                step = _soft(w[k] * d[k] - g[k], block.l1[k]) / (d[k] + how.l2) - w[k]
                if step != 0.0:
                    w[k] += step
                    farthest = max(farthest, abs(step) * d[k])
                    for m in range(n):
                        g[m] += step * H[k, m]
        if farthest < EXACT:
            break
        changed = True
    return changed


@njit(cache=True, nogil=True, error_model="numpy")
def refresh_kind(k, lam, edges):
    """The potentials of the pairs of labels of one kind of token, and the list of those that are not 1."""
    Y = edges.M.shape[2]
    M = edges.M[k]
    M[:] = 0.0
    for e in range(edges.ptr[k], edges.ptr[k + 1]):
        source = lam[edges.ids[e]]
        for z in range(len(source)):
            for y in range(Y):
                M[z, y] += edges.values[e] * source[z, y]
    highest, lowest, n, room = 0.0, 0.0, 0, edges.before.shape[1]
    for z in range(Y):
        for y in range(Y):
            score = M[z, y]
            highest, lowest = max(highest, score), min(lowest, score)
            if score != 0.0:
                if n < room:
                    edges.before[k, n], edges.here[k, n] = z, y
                    edges.excess[k, n] = np.expm1(min(score, HIGHEST))
                n += 1
    is_sparse = room > 0 and n <= room and lowest > LOWEST and highest < HIGHEST
    edges.active[k] = n if is_sparse else -1
    highest_start = -np.inf
    for y in range(Y):
        highest_start = max(highest_start, M[Y, y])
    for z in range(Y + 1):
        # The start stands alone: what is common to its row is of no account.
        shift = highest_start if z == Y else 0.0 if is_sparse else highest
        for y in range(Y):
            score = M[z, y] - shift
            M[z, y] = 1.0 if score == 0.0 else np.exp(score)


@njit(cache=True, nogil=True, error_model="numpy")
def refresh_kinds(lam, edges):
    """All of them."""
    for k in range(len(edges.M)):
        refresh_kind(k, lam, edges)


@njit(cache=True, nogil=True, error_model="numpy")
def _load(o, b, model, block):
    """Copy the weights of a block, μ then λ; an absent half has none that live."""
    Y = model.mu.shape[1]
    for y in range(Y):
        block.live[y] = o >= 0 and model.live_mu[o, y]
        if block.live[y]:
            block.w[y], block.l1[y] = model.mu[o, y], model.l1_mu[o, y]
    for k in range(Y, len(block.w)):
        z, y = (k - Y) // Y, k % Y
        block.live[k] = b >= 0 and model.live_lam[b, z, y]
        if block.live[k]:
            block.w[k], block.l1[k] = model.lam[b, z, y], model.l1_lam[b, z, y]


@njit(cache=True, nogil=True, error_model="numpy")
def _store(first, last, o, b, revisit, model, block):
    """Put weights of a block back; without ``revisit``, those that are 0 live no longer."""
    Y = model.mu.shape[1]
    for k in range(first, last):
        if block.live[k]:
            block.live[k] = revisit or block.w[k] != 0.0
            if k < Y:
                model.mu[o, k], model.live_mu[o, k] = block.w[k], block.live[k]
            else:
                z, y = (k - Y) // Y, k % Y
                model.lam[b, z, y], model.live_lam[b, z, y] = block.w[k], block.live[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _rescore(j, blocks, model, block, scores, psi):
    """Bring the scores and potentials of labels up to date before block j is stored."""
    Y = psi.shape[1]
    for n in range(blocks.ptr[j], blocks.ptr[j + 1]):
        score, p = scores[blocks.tokens[n]], psi[blocks.tokens[n]]
        highest = -np.inf
        for y in range(Y):
            if block.live[y]:
                score[y] += blocks.unigram_values[n] * (block.w[y] - model.mu[blocks.unigram[j], y])
            highest = max(highest, score[y])
        for y in range(Y):
            p[y] = np.exp(score[y] - highest)


@njit(cache=True, nogil=True, error_model="numpy")
def _range(part, Y, n, mode):
    """Which weights of a block are updated together."""
    if mode == COORDINATE:
        return part, part + 1
    if mode == ALTERNATE:
        return part * Y, n if part else Y
    return 0, n


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(blocks, chains, edges, scores, psi, model, block, how, room):
    """Visit every block once: whole, or μ then λ, or weight by weight."""
    Y, n = psi.shape[1], len(block.w)
    parts = n if how.mode == COORDINATE else 2 if how.mode == ALTERNATE else 1
    for j in range(len(blocks.unigram)):
        o, b = blocks.unigram[j], blocks.bigram[j]
        _load(o, b, model, block)
        for part in range(parts):
            first, last = _range(part, Y, n, how.mode)
            k = first
            while k < last and not block.live[k]:
                k += 1
            if k == last:
                continue
            block_sums(j, blocks, chains, edges, psi, block, room)
            changed = _newton(block, how) if how.mode == FULL else _update(first, last, block, how)
            if changed and o >= 0 and first < Y:
                _rescore(j, blocks, model, block, scores, psi)
            _store(first, last, o, b, how.revisit, model, block)
            if changed and b >= 0 and last > Y:
                for e in range(edges.holder_ptr[b], edges.holder_ptr[b + 1]):
                    refresh_kind(edges.holders[e], model.lam, edges)


@njit(cache=True, nogil=True, error_model="numpy")
def all_second_derivatives(blocks, chains, edges, psi, block, room, h_mu, h_lam):
    """Σ p − p² for every weight of every block."""
    Y = psi.shape[1]
    for j in range(len(blocks.unigram)):
        block_sums(j, blocks, chains, edges, psi, block, room)
        o, b = blocks.unigram[j], blocks.bigram[j]
        for k in range(len(block.h)):
            if k < Y and o >= 0:
                h_mu[o, k] = block.h[k]
            elif k >= Y and b >= 0:
                h_lam[b, (k - Y) // Y, k % Y] = block.h[k]
