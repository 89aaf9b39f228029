"""A penalty on all but the last coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Penalty, PenaltySpec, Vector


class Partial(Penalty):
    """A penalty that leaves the last ``n_free`` coordinates (intercepts) alone.

    It offers the bare contract. What more the penalty can do (``grad``, ``l1_l2``) is to be asked of ``penalty``.

    Examples
    --------
    >>> from spinney.optim.penalties import L1
    >>> w = np.array([3.0, -0.5, 7.0])
    >>> Partial(L1(1.0), n_free=1).prox(w, step=1.0)
    >>> w.tolist()
    [2.0, 0.0, 7.0]
    """

    def __init__(self, penalty: Penalty, n_free: int) -> None:
        if n_free < 0:
            raise OptionError(f"n_free must be ≥ 0, not {n_free}")
        self.penalty, self.n_free = penalty, n_free

    @property
    def lam(self) -> float:  # type: ignore[override]
        """The strength of the penalty."""
        return self.penalty.lam

    def _held(self, w: Vector) -> Vector:
        return w[: w.size - self.n_free]

    def value(self, w: Vector) -> float:
        return self.penalty.value(self._held(w))

    def prox(self, w: Vector, step: float) -> None:
        self.penalty.prox(self._held(w), step)

    @property
    def takes_metric(self) -> bool:
        return self.penalty.takes_metric

    def prox_in_metric(self, metric: Vector) -> Callable[[Vector, Any], None]:
        prox = self.penalty.prox_in_metric(self._held(metric))
        return lambda w, step: prox(self._held(w), step)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        held = self.penalty.residual(self._held(w), self._held(grad))
        return np.concatenate([held, grad[grad.size - self.n_free :]])

    def lambda_max(self, grad: Vector) -> float:
        """That of the penalty, from the gradient of its own coordinates."""
        return self.penalty.lambda_max(self._held(grad))

    def with_lam(self, lam: float) -> Self:
        return type(self)(self.penalty.with_lam(lam), self.n_free)

    def describe(self) -> str:
        return self.penalty.describe()

    def spec(self) -> PenaltySpec:
        return self.penalty.spec()
