"""The contracts of the optimisation core: what a loss, a penalty and a solution are.

A problem is ``loss(w) + penalty(w)`` over a flat ``float64`` vector ``w``. The last ``loss.n_free``
coordinates (intercepts) are never penalised: :func:`spinney.optim.solve` hides them from the penalty, so a
penalty only ever sees the coordinates it governs. Losses are **sums** over examples, never averages.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError

Vector = NDArray[np.float64]


@runtime_checkable
class Loss(Protocol):
    """A smooth convex function of a flat vector.

    Solvers look for more by attribute, and say so when a loss lacks it: ``lipschitz()``, ``hess_diag(w)``,
    ``hess_vec(w)``, ``minibatches(...)``, ``null_point()`` (the optimum when every penalised coordinate is 0)
    and, for coordinate methods, the design matrix of :class:`spinney.optim.losses.LinearLoss`.
    """

    @property
    def n_params(self) -> int:
        """Length of the parameter vector."""
        ...

    @property
    def n_free(self) -> int:
        """How many of its last coordinates are never penalised."""
        ...

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient at ``w``."""
        ...


class Penalty:
    """λΩ(w), a convex function with a computable proximal operator.

    Subclasses give ``value``, ``prox``, ``residual`` and ``lambda_max``; all take the penalised coordinates only.
    """

    name: ClassVar[str] = "penalty"
    #: Ω is a norm (or a sum of them) for which clipping at 0 and then applying the prox is the prox under w ≥ 0.
    clips_to_nonnegative: ClassVar[bool] = True

    lam: float

    def value(self, w: Vector) -> float:
        """λΩ(w)."""
        raise NotImplementedError

    def prox(self, w: Vector, step: float) -> None:
        """Replace ``w`` by argmin_u ½‖u − w‖² + step·λΩ(u)."""
        raise NotImplementedError

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """The smallest element (Euclidean norm) of ``grad + ∂λΩ(w)``; zero exactly at an optimum."""
        raise NotImplementedError

    def violation(self, w: Vector, grad: Vector) -> float:
        """Distance from ``-grad`` to the subdifferential of λΩ at ``w``, in the ∞-norm: the certificate."""
        return float(np.max(np.abs(self.residual(w, grad)), initial=0.0))

    def lambda_max(self, grad: Vector) -> float:
        """The smallest λ for which ``w = 0`` is optimal, given the gradient of the loss there."""
        raise NotImplementedError

    def with_lam(self, lam: float) -> Self:
        """The same penalty at another strength (other knobs, such as ``l2``, stay)."""
        other = copy.copy(self)
        other.lam = checked_strength("lam", lam)
        return other

    def describe(self) -> str:
        """One line in words, for tables and reports."""
        return f"{self.name}, λ = {self.lam:g}"


class GroupArrays(Protocol):
    """Sets of coordinates as flat arrays: group ``g`` is ``members[ptr[g]:ptr[g+1]]`` with weight ``weights[g]``.

    :class:`spinney.structure.Groups` is one; so is any object with these four attributes.
    """

    @property
    def ptr(self) -> NDArray[np.int64]: ...
    @property
    def members(self) -> NDArray[np.int32]: ...
    @property
    def weights(self) -> Vector: ...
    @property
    def n_features(self) -> int: ...


class Step(NamedTuple):
    """One row of a solver's trace."""

    iteration: int
    seconds: float
    objective: float
    violation: float


@dataclass
class Solution:
    """What a solver found, with its certificate.

    ``violation`` is the distance from ``-grad`` to the subdifferential in the ∞-norm, divided by the ∞-norm of
    the gradient of the loss at the null model: a pure number that means the same for every solver and data set.
    ``grad`` is the gradient of the loss at ``w``.
    """

    w: Vector
    objective: float
    violation: float
    converged: bool
    n_iter: int
    solver: str
    seconds: float
    grad: Vector
    interrupted: bool = False
    trace: list[Step] = field(default_factory=list)


def checked_strength(name: str, value: float) -> float:
    """``value`` as a float, or an :class:`~spinney.errors.OptionError` when it is negative or not finite."""
    value = float(value)
    if not np.isfinite(value) or value < 0:
        raise OptionError(f"{name} must be a finite number ≥ 0, not {value:g}")
    return value
