# mypy: ignore-errors
"""Kernels of composite norms: their prox, and the smallest subgradient.

The prox is of each group by itself (r = 1), or of all together, by two nested searches for a root.
"""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit

HALVINGS = 60  # of an interval: to the last bit or two of a float64
FAR = 4.0  # one end of an interval from the other: as many times as large
NARROW = 4e-16  # an interval, as a share of its end, that is not worth halving


@njit(cache=True, nogil=True)
def _block(z, q, tau):
    """Prox of τ‖·‖_q on a block of sizes ≥ 0."""
    if q == 1.0:
        for i in range(z.size):
            z[i] = max(z[i] - tau, 0.0)
    elif q == 2.0:
        norm = np.sqrt(np.sum(z * z))
        z *= 1.0 - tau / norm if norm > tau else 0.0
    else:  # z minus its projection onto the ℓ1 ball: everything above a cap is cut
        if np.sum(z) <= tau:
            z[:] = 0.0
            return
        cap, before = 0.0, -1.0
        while (
            cap > before
        ):  # each round raises the cap and drops those below it: as many rounds as sizes, at most
            total, count = 0.0, 0
            for value in z:
                if value > cap:
                    total += value
                    count += 1
            if count == 0:
                break
            before, cap = cap, max(cap, (total - tau) / count)
        for i in range(z.size):
            z[i] = min(z[i], cap)


@njit(cache=True, nogil=True)
def _above(z, level):
    total = 0.0
    for value in z:
        total += max(value - level, 0.0)
    return total


@njit(cache=True, nogil=True)
def _between(low, high, at_low, at_high, halve):
    """Where to look for the root next: where the chord meets 0, or the middle (of the logarithms, if they differ)."""
    middle = 0.5 * (low + high) if high < FAR * low or low == 0.0 else np.sqrt(low * high)
    if halve or not at_low < 0.0 < at_high < np.inf:
        return middle
    x = low - at_low * (high - low) / (at_high - at_low)
    return x if low < x < high else middle


@njit(cache=True, nogil=True)
def _narrowed(low, high, at_low, at_high, side, x, at):
    """The interval with ``x`` for one of its ends; the end that stays a second time counts for half (Illinois)."""
    if at < 0.0:
        return x, high, at, at_high * (0.5 if side == -1 else 1.0), -1
    return low, x, at_low * (0.5 if side == 1 else 1.0), at, 1


@njit(cache=True, nogil=True)
def _excess(z, q, c, r, norm, x):
    """What rises with x and is 0 where x tells the prox of a block; see :func:`_power_block`."""
    if q == 2.0:
        return x + c * x ** (r - 1.0) - norm
    if q == 1.0:  # here the unknown is the threshold τ = c·n^(r−1)
        return x - c * _above(z, x) ** (r - 1.0)
    return c * x ** (r - 1.0) - _above(z, x)  # and here the cap, which is the norm


@njit(cache=True, nogil=True)
def _power_block(z, q, c, r):
    """argmin_u ½‖u − z‖² + (c/r)‖u‖_q^r on a block of sizes ≥ 0, r > 1; and ‖u‖_q. ``z`` becomes u.

    The norm n solves n = ‖prox of c·n^(r−1)‖·‖_q‖_q, one side of which rises with n while the other falls. The root
    is found by regula falsi, which halves where a step did not.
    """
    norm, largest = np.sqrt(np.sum(z * z)), np.max(z)
    if largest == 0.0:
        return 0.0
    low, high = 0.0, norm if q == 2.0 else largest
    at_low, at_high = _excess(z, q, c, r, norm, low), _excess(z, q, c, r, norm, high)
    halve, side = False, 0
    for _ in range(2 * HALVINGS):
        width = high - low
        if width <= NARROW * high or at_high == 0.0:
            break
        x = _between(low, high, at_low, at_high, halve)
        at = _excess(z, q, c, r, norm, x)
        low, high, at_low, at_high, side = _narrowed(low, high, at_low, at_high, side, x, at)
        halve = high - low > 0.5 * width
    if q == 2.0:
        z *= high / norm
        return high
    for i in range(z.size):
        z[i] = max(z[i] - high, 0.0) if q == 1.0 else min(z[i], high)
    return np.sum(z) if q == 1.0 else high


@njit(cache=True, nogil=True)
def _all_blocks(sizes, ptr, weights, q, r, a, out):
    """argmin_u ½‖u − sizes‖² + (a/r)Σ_g weights_g‖u_g‖_q^r into ``out``; and (Σ_g weights_g‖u_g‖_q^r)^(1/r)."""
    total = 0.0
    for g in range(ptr.size - 1):
        start, stop = ptr[g], ptr[g + 1]
        if stop == start:
            continue
        out[start:stop] = sizes[start:stop]
        if weights[g] > 0.0:
            total += weights[g] * _power_block(out[start:stop], q, a * weights[g], r) ** r
    return total ** (1.0 / r)


@njit(cache=True, nogil=True)
def _outer_excess(sizes, ptr, weights, q, r, a, t, out):
    """a·Ω(u)^(r−1) − t, which rises with a to more than 0, however small u becomes; u goes into ``out``."""
    norm = _all_blocks(sizes, ptr, weights, q, r, a, out)
    return a * norm ** (r - 1.0) - t if norm > 0.0 else np.inf


@njit(cache=True, nogil=True)
def composite_prox(sizes, ptr, weights, q, r, norm, dual, t):
    """The prox of t(Σ_g weights_g‖·‖_q^r)^(1/r) at sizes ≥ 0, group after group, whose norm and dual norm are given.

    For r > 1 the answer also minimises ½‖u − z‖² + (a/r)Ω(u)^r for the a with a·Ω(u)^(r−1) = t, and that grows with a.
    """
    out = np.zeros_like(sizes)
    if r == 1.0:
        for g in range(ptr.size - 1):
            start, stop = ptr[g], ptr[g + 1]
            if stop > start:
                out[start:stop] = sizes[start:stop]
                _block(out[start:stop], q, t * weights[g])
        return out
    if t <= 0.0 or dual <= t:  # groups of weight 0 are not penalised
        for g in range(ptr.size - 1):
            if t <= 0.0 or weights[g] == 0.0:
                out[ptr[g] : ptr[g + 1]] = sizes[ptr[g] : ptr[g + 1]]
        return out
    low = t / norm ** (r - 1.0)  # Ω(u) ≤ Ω(z)
    high = 2.0 * low
    at_low, at_high = -t, 0.0
    for _ in range(500):
        at_high = _outer_excess(sizes, ptr, weights, q, r, high, t, out)
        if at_high >= 0.0:
            break
        low, high, at_low = high, FAR * high, at_high
    halve, side = False, 0
    for _ in range(2 * HALVINGS):
        width = high - low
        if width <= NARROW * high or at_high == 0.0:
            break
        a = _between(low, high, at_low, at_high, halve)
        at = _outer_excess(sizes, ptr, weights, q, r, a, t, out)
        low, high, at_low, at_high, side = _narrowed(low, high, at_low, at_high, side, a, at)
        halve = high - low > 0.5 * width
    _all_blocks(sizes, ptr, weights, q, r, high, out)
    return out


@njit(cache=True, nogil=True)
def _onto_simplex(z, total):
    """Replace z by the nearest point whose entries are ≥ 0 and add up to ``total``."""
    largest = np.sort(z)[::-1]
    above, cap = 0.0, 0.0
    for i in range(z.size):
        above += largest[i]
        lower = (above - total) / (i + 1.0)
        if largest[i] <= lower:
            break
        cap = lower
    for i in range(z.size):
        z[i] = max(z[i] - cap, 0.0)


@njit(cache=True, nogil=True)
def _settle_group(rest, w, q, slope):
    """Replace ``rest`` by the smallest element of rest + slope·∂‖w‖_q.

    Sizes that are exactly equal are so after the prox, too: for q = ∞ they share the slope.
    """
    largest = np.max(np.abs(w))
    if largest == 0.0:  # the prox of one group
        signs = np.sign(rest)
        rest[:] = np.abs(rest)
        _block(rest, q, slope)
        rest *= signs
    elif q == 2.0:
        rest += slope * w / np.sqrt(np.sum(w * w))
    elif q == 1.0:
        for i in range(w.size):
            if w[i] == 0.0:
                rest[i] = np.sign(rest[i]) * max(abs(rest[i]) - slope, 0.0)
            else:
                rest[i] += slope * np.sign(w[i])
    else:
        top = np.flatnonzero(np.abs(w) == largest)
        shares = -np.sign(w[top]) * rest[top]
        _onto_simplex(shares, slope)
        rest[top] += np.sign(w[top]) * shares


@njit(cache=True, nogil=True)
def settle(rest, parts, w, ptr, members, slopes, q, tol, max_sweeps):
    """Block descent to the smallest rest = grad + Σ parts_g with parts_g in slopes[g]·∂‖w_g‖_q.

    Exact for each group: one sweep does where groups are disjoint. After the first one the parts are subgradients,
    whatever they were before. Returns how far they moved in the last sweep.
    """
    moved = 0.0
    for _ in range(max_sweeps):
        moved = 0.0
        for g in range(ptr.size - 1):
            start, stop = ptr[g], ptr[g + 1]
            if stop == start or slopes[g] <= 0.0:
                continue
            inside = members[start:stop]
            without = rest[inside] - parts[start:stop]
            settled = without.copy()
            _settle_group(settled, w[inside], q, slopes[g])
            for i in range(settled.size):
                part = settled[i] - without[i]
                moved = max(moved, abs(part - parts[start + i]))
                parts[start + i] = part
                rest[inside[i]] = settled[i]
        if moved <= tol:
            break
    return moved
