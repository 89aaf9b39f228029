# mypy: ignore-errors
"""Kernels of overlapping groups: their norms, what they pull, and the split of a vector among them."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def group_squares(ptr, members, squares):
    """The sum of ``squares`` over the members of each group."""
    out = np.empty(ptr.size - 1)
    for g in range(ptr.size - 1):
        total = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            total += squares[members[e]]
        out[g] = total
    return out


@njit(cache=True, nogil=True)
def group_pull(ptr, members, rate, n_features):
    """The sum of ``rate`` over the groups of each feature."""
    out = np.zeros(n_features)
    for g in range(ptr.size - 1):
        if rate[g] != 0.0:
            for e in range(ptr[g], ptr[g + 1]):
                out[members[e]] += rate[g]
    return out


@njit(cache=True, nogil=True)
def open_groups(ptr, members, radius, number, n_outputs):
    """The groups of positive radius, restricted to the coordinates that have a ``number`` ≥ 0, and without empty ones.

    Feature j has the coordinates j·n_outputs and following. Returns the ends of the groups, their members by number,
    the place of each among all memberships, and the group that each was.
    """
    sizes = np.zeros(ptr.size - 1, np.int64)
    for g in range(ptr.size - 1):
        if radius[g] > 0.0:
            for e in range(ptr[g], ptr[g + 1]):
                for k in range(n_outputs):
                    sizes[g] += number[members[e] * n_outputs + k] >= 0
    which = np.flatnonzero(sizes)
    ends = np.zeros(which.size + 1, np.int64)
    for i in range(which.size):
        ends[i + 1] = ends[i] + sizes[which[i]]
    numbers = np.empty(ends[-1], np.int32)
    places = np.empty(ends[-1], np.int64)
    at = 0
    for g in which:
        for e in range(ptr[g], ptr[g + 1]):
            for k in range(n_outputs):
                if number[members[e] * n_outputs + k] >= 0:
                    numbers[at] = number[members[e] * n_outputs + k]
                    places[at] = e * n_outputs + k
                    at += 1
    return ends, numbers, places, which


@njit(cache=True, nogil=True)
def group_sweeps(rest, parts, ptr, members, radius, latent, tol, max_sweeps):
    """Block coordinate descent, where ``rest`` is w − Σ parts_g; returns how far the parts moved in the last sweep.

    Exact for each group. Quick when groups are far from the edge between zero and not, however unevenly they overlap.
    """
    moved = np.inf
    for _ in range(max_sweeps):
        moved = 0.0
        for g in range(ptr.size - 1):
            square = 0.0
            for k in range(ptr[g], ptr[g + 1]):
                target = rest[members[k]] + parts[k]
                square += target * target
            norm = np.sqrt(square)
            outside = radius[g] / norm if norm > radius[g] else 1.0
            scale = 1.0 - outside if latent else outside
            for k in range(ptr[g], ptr[g + 1]):
                part = scale * (rest[members[k]] + parts[k])
                moved = max(moved, abs(part - parts[k]))
                rest[members[k]] += parts[k] - part
                parts[k] = part
        if moved <= tol:
            break
    return moved


@njit(cache=True, nogil=True)
def group_admm(w, parts, ptr, members, radius, latent, tol, max_iter):
    """ADMM on copies of u = w − Σ parts_g, one for each group, of which the parts are the multipliers.

    With over-relaxation, and a penalty rho that balances the two residuals. Slower than sweeps in easy cases; better
    where many groups are nearly but not quite zero. Returns how far the copies are from agreeing and standing still.
    """
    relax, rho = 1.6, 1.0
    u = w.copy()
    held_by = np.zeros(w.size)
    pull = np.zeros(w.size)  # Σ over the copies of a coordinate: copy − multiplier/rho
    copies = np.empty(members.size)
    for k in range(members.size):
        held_by[members[k]] += 1.0
        u[members[k]] -= parts[k]
    for k in range(members.size):
        copies[k] = u[members[k]]
        pull[members[k]] += copies[k] - parts[k]
    apart, moved = np.inf, np.inf
    balance_next, balance_after = 20, 20.0
    for iteration in range(1, max_iter + 1):
        for i in range(w.size):
            u[i] = (w[i] + rho * pull[i]) / (1.0 + rho * held_by[i])
            pull[i] = 0.0
        apart, moved = 0.0, 0.0
        for g in range(ptr.size - 1):
            square = 0.0
            for k in range(ptr[g], ptr[g + 1]):
                parts[k] += relax * u[members[k]] + (1.0 - relax) * copies[k]
                square += parts[k] * parts[k]
            norm = np.sqrt(square)
            if latent:
                scale = radius[g] / norm if norm > radius[g] else 1.0
            else:
                scale = 1.0 - radius[g] / (rho * norm) if rho * norm > radius[g] else 0.0
            for k in range(ptr[g], ptr[g + 1]):
                new = scale * parts[k]
                apart = max(apart, abs(u[members[k]] - new))
                moved = max(moved, rho * abs(new - copies[k]))
                copies[k] = new
                parts[k] -= new
                pull[members[k]] += new - parts[k]
        if apart <= tol and moved <= tol:
            break
        if iteration == balance_next:  # ever more rarely, so that ADMM converges
            balance_after *= 1.3
            balance_next += int(balance_after)
            change = min(max(np.sqrt(apart / max(moved, 1e-300)), 0.1), 10.0)
            rho *= change
            pull[:] = 0.0
            for k in range(members.size):
                parts[k] /= change
                pull[members[k]] += copies[k] - parts[k]
    for k in range(members.size):
        parts[k] *= rho
    return max(apart, moved)
