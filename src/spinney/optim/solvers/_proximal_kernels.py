# mypy: ignore-errors
"""The vector steps of proximal gradient methods, in a diagonal metric, each in one pass."""

from __future__ import annotations

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def extrapolate(w, before, momentum, ahead):
    """ahead = w + momentum (w − before)."""
    for i in range(w.size):
        ahead[i] = w[i] + momentum * (w[i] - before[i])


@njit(cache=True, nogil=True)
def descend(ahead, grad, metric, L, w):
    """w = ahead − grad/(L·metric)."""
    for i in range(w.size):
        w[i] = ahead[i] - grad[i] / (L * metric[i])


@njit(cache=True, nogil=True)
def slope_and_square(ahead, w, grad, metric):
    """⟨grad, w − ahead⟩, ‖w − ahead‖² in the metric, and the largest |w_i − ahead_i|·metric_i."""
    slope = square = largest = 0.0
    for i in range(w.size):
        move = w[i] - ahead[i]
        slope += grad[i] * move
        square += metric[i] * move * move
        largest = max(largest, metric[i] * abs(move))
    return slope, square, largest


@njit(cache=True, nogil=True)
def goes_back(ahead, w, before, metric):
    """⟨ahead − w, w − before⟩ > 0: the momentum points away from where the step went (O'Donoghue & Candès)."""
    total = 0.0
    for i in range(w.size):
        total += (ahead[i] - w[i]) * metric[i] * (w[i] - before[i])
    return total > 0.0
