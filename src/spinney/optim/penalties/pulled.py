"""The elastic net of an ADMM step: every weight is pulled towards the mean of its copies."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinney.optim.base import Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import soft_threshold


class PulledElasticNet(Penalty):
    """λ‖w‖₁ + ½Σ pullᵢ(wᵢ − centreᵢ)² + ½·l2·‖w‖².

    Parameters
    ----------
    lam : float
        Strength of the ℓ1 part.
    l2 : float
    pull, centre : array
        How strongly each weight is drawn, and where to. A pull of 0 leaves the weight to the other terms.

    Examples
    --------
    >>> penalty = PulledElasticNet(0.5, 0.0, pull=np.array([1.0, 1.0]), centre=np.array([2.0, 0.1]))
    >>> w = np.array([2.0, 0.0])
    >>> penalty.prox(w, step=1.0)
    >>> w.tolist()
    [1.75, 0.0]
    """

    name: ClassVar[str] = "pulled elastic net"
    clips_to_nonnegative: ClassVar[bool] = False

    def __init__(self, lam: float, l2: float, pull: Vector, centre: Vector) -> None:
        self.lam = checked_strength("lam", lam)
        self.l2 = checked_strength("l2", l2)
        self.pull, self.centre = pull, centre

    @property
    def tilt(self) -> Vector:
        """The linear part of the pull."""
        return -self.pull * self.centre

    def value(self, w: Vector) -> float:
        away = w - self.centre
        return self.lam * float(np.abs(w).sum()) + 0.5 * float(self.pull @ away**2 + self.l2 * (w @ w))

    def prox(self, w: Vector, step: float) -> None:
        w[:] = soft_threshold(w + step * self.pull * self.centre, step * self.lam)
        w /= 1.0 + step * (self.pull + self.l2)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        smooth = grad + self.pull * (w - self.centre) + self.l2 * w
        return np.where(w == 0, soft_threshold(smooth, self.lam), smooth + self.lam * np.sign(w))

    def lambda_max(self, grad: Vector) -> float:
        """The ℓ1 strength that empties the model: ‖grad − pull·centre‖∞."""
        return float(np.max(np.abs(grad + self.tilt), initial=0.0))

    def l1_l2(self, n: int) -> tuple[float, Vector]:
        """(λ, pull + l2); the rest of the pull is ``tilt``."""
        return self.lam, self.pull + self.l2
