"""A loss that also pulls its weights towards given points: the smooth part of an ADMM step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spinney.optim.base import Loss, Vector


class PulledLoss:
    """loss(w) + ½ Σ pullᵢ (wᵢ − centreᵢ)² over the penalised coordinates."""

    def __init__(self, loss: Loss, pull: Vector, centre: Vector) -> None:
        self.loss, self.pull, self.centre = loss, pull, centre
        self.n_params, self.n_free = loss.n_params, loss.n_free

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        value, grad = self.loss.value_and_grad(w)
        away = w[: len(self.pull)] - self.centre
        grad[: len(self.pull)] += self.pull * away
        return value + 0.5 * float(self.pull @ away**2), grad

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        """The map v ↦ ∇²·v."""
        of_loss = self.loss.hess_vec(w)  # type: ignore[attr-defined]

        def product(v: Vector) -> Vector:
            image: Vector = of_loss(v)
            image[: len(self.pull)] += self.pull * v[: len(self.pull)]
            return image

        return product


def initial_rho(loss: Loss, k: int) -> float:
    """A pull of the size of the loss's average curvature over its first ``k`` coordinates."""
    if hasattr(loss, "hess_diag"):
        return float(max(np.mean(loss.hess_diag(np.zeros(loss.n_params))[:k]), 1e-8))
    return 1.0
