"""Non-negativity, with any penalty that only looks at absolute values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Penalty, PenaltySpec, Vector


class NonNegative(Penalty):
    """A penalty plus the constraint w ≥ 0.

    For a penalty of ``|w|`` that grows with it, a negative coordinate is best put to 0 whatever the others are, so that
    the prox is to clip and then apply the penalty's own (Nelakanti 2014, §3.3.3). By the same argument at a point
    w ≥ 0, the residual is the penalty's own, once gradients that push a zero further down are set to 0.

    Examples
    --------
    >>> from spinney.optim.penalties import L1
    >>> penalty = NonNegative(L1(1.0))
    >>> w = np.array([3.0, -2.0])
    >>> penalty.prox(w, step=1.0)
    >>> w.tolist()
    [2.0, 0.0]
    """

    def __init__(self, penalty: Penalty) -> None:
        if not penalty.clips_to_nonnegative:
            raise OptionError(
                f"non-negativity does not go with {penalty.describe()}: clipping before its prox is not the prox "
                "under the constraint"
            )
        self.penalty = penalty
        self.makes_zeros = penalty.makes_zeros

    @property
    def ridge(self) -> float:
        return self.penalty.ridge

    @property
    def lam(self) -> float:  # type: ignore[override]
        """The strength of the penalty."""
        return self.penalty.lam

    def value(self, w: Vector) -> float:
        """λΩ(w), or infinity when some coordinate is negative."""
        return self.penalty.value(w) if np.all(w >= 0) else np.inf

    def prox(self, w: Vector, step: float) -> None:
        np.maximum(w, 0.0, out=w)
        self.penalty.prox(w, step)

    @property
    def takes_metric(self) -> bool:
        return self.penalty.takes_metric

    def prox_in_metric(self, metric: Vector) -> Callable[[Vector, Any], None]:
        prox = self.penalty.prox_in_metric(metric)

        def clipped(w: Vector, step: Any) -> None:
            np.maximum(w, 0.0, out=w)
            prox(w, step)

        return clipped

    def residual(self, w: Vector, grad: Vector) -> Vector:
        return self.penalty.residual(w, np.where(w == 0, np.minimum(grad, 0.0), grad))

    def gauge(self, x: Vector) -> float:
        """That of the penalty, for what pushes upwards."""
        return self.penalty.gauge(np.maximum(x, 0.0))

    def lambda_max(self, grad: Vector) -> float:
        """That of the penalty, for the gradients that push upwards."""
        return self.penalty.lambda_max(np.minimum(grad, 0.0))

    def with_lam(self, lam: float) -> Self:
        return type(self)(self.penalty.with_lam(lam))

    def describe(self) -> str:
        return f"{self.penalty.describe()}, w ≥ 0"

    def spec(self) -> PenaltySpec:
        return replace(self.penalty.spec(), nonnegative=True)
