# mypy: ignore-errors
"""The prox of composite norms: of each group by itself (r = 1), or of all together, by two nested bisections."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit

HALVINGS = 60  # of an interval: to the last bit or two of a float64


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
def _power_block(z, q, c, r):
    """argmin_u ½‖u − z‖² + (c/r)‖u‖_q^r on a block of sizes ≥ 0, r > 1; and ‖u‖_q. ``z`` becomes u.

    The norm n solves n = ‖prox of c·n^(r−1)‖·‖_q‖_q, one side of which rises with n while the other falls.
    """
    norm, largest = np.sqrt(np.sum(z * z)), np.max(z)
    if largest == 0.0:
        return 0.0
    low, high = 0.0, norm if q == 2.0 else largest
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if q == 2.0:
            too_low = middle + c * middle ** (r - 1.0) < norm
        elif q == 1.0:  # here the unknown is the threshold τ = c·n^(r−1)
            too_low = middle < c * _above(z, middle) ** (r - 1.0)
        else:  # and here the cap, which is the norm
            too_low = c * middle ** (r - 1.0) < _above(z, middle)
        if too_low:
            low = middle
        else:
            high = middle
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
    for _ in range(1000):
        if high * _all_blocks(sizes, ptr, weights, q, r, high, out) ** (r - 1.0) >= t:
            break
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle * _all_blocks(sizes, ptr, weights, q, r, middle, out) ** (r - 1.0) < t:
            low = middle
        else:
            high = middle
    _all_blocks(sizes, ptr, weights, q, r, high, out)
    return out
