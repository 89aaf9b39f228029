"""The contracts of the optimisation core: what a loss, a penalty and a solution are.

A problem is ``loss(w) + penalty(w)`` over a flat ``float64`` vector ``w``. The last ``loss.n_free``
coordinates (intercepts) are never penalised: :func:`spinney.optim.solve` hides them from the penalty, so a
penalty only ever sees the coordinates it governs. Losses are **sums** over examples, never averages.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, shown
from spinney.views import Facts, Series, Views, notebook_html

Vector = NDArray[np.float64]

_HOPELESS = 1e12  # a gradient shrunk by more leaves no bound worth having: some weight has no penalty


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
        """The number of its last coordinates, which are never penalised."""
        ...

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient at ``w``."""
        ...


@dataclass(frozen=True)
class PenaltySpec:
    """A penalty as a small value: its name, its strengths, and which structure it is over. Goes to JSON and back.

    Parameters
    ----------
    name
        A name in :data:`spinney.optim.PENALTIES`.
    lam, l1, l2
        Strengths; which of them a penalty has is in :data:`spinney.optim.PENALTIES`.
    more
        Other parameters by name, such as ``alpha`` of ``timeseries``.
    grouping
        Which of the groupings that a task offers, such as ``"pattern"``.
    nonnegative
        Whether the weights must be ≥ 0, too.
    own
        What a penalty object had that this value does not hold (``"groups"``); such a description records
        what a model was trained with, but no penalty can be made from it.

    Examples
    --------
    >>> spec = PenaltySpec.of("group:pattern", lam=0.5)
    >>> spec.to_json()
    {'name': 'group', 'lam': 0.5, 'grouping': 'pattern'}
    >>> PenaltySpec.from_json(spec.to_json()) == spec
    True
    """

    name: str
    lam: float = 1.0
    l1: float = 0.0
    l2: float = 0.0
    more: Mapping[str, float] = field(default_factory=dict, hash=False)
    grouping: str | None = None
    nonnegative: bool = False
    own: str = ""

    @classmethod
    def of(
        cls, given: str | PenaltySpec | Penalty, lam: float = 1.0, l1: float = 0.0, l2: float = 0.0
    ) -> PenaltySpec:
        """The description of what is given: a name, with its strengths, or what knows its own."""
        if isinstance(given, PenaltySpec):
            return given
        if isinstance(given, Penalty):
            return given.spec()
        if not isinstance(given, str):
            raise OptionError(f"a penalty must be a name, a PenaltySpec or a Penalty, not {shown(given)}")
        name, _, grouping = given.partition(":")
        return cls(name, lam, l1, l2, grouping=grouping or None)

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults, and λ."""
        kept = {"name": self.name, "lam": self.lam}
        return kept | {
            f.name: value
            for f in fields(self)
            if f.name not in kept and (value := getattr(self, f.name)) not in (0.0, None, "", {})
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> PenaltySpec:
        """The value that :meth:`to_json` wrote; an OptionError if it is something else."""
        kinds = {"name": str, "more": dict, "grouping": str, "nonnegative": bool, "own": str}
        known = {f.name for f in fields(cls)}
        fits = isinstance(stored.get("name"), str) and all(
            name in known and isinstance(value, kinds.get(name, float | int))
            for name, value in stored.items()
        )
        more = stored.get("more", {})
        if not fits or not all(isinstance(value, float | int) for value in more.values()):
            raise OptionError("this does not describe a penalty")
        return cls(**stored)

    @classmethod
    def stored(cls, given: str | PenaltySpec | Penalty) -> str | dict[str, Any]:
        """The ``penalty`` of an estimator as its file keeps it: a name as it is, anything else by its description."""
        return given if isinstance(given, str) else cls.of(given).to_json()

    @classmethod
    def restored(cls, stored: Any) -> str | PenaltySpec:
        """What :meth:`stored` gave, out of a file."""
        return cls.from_json(stored) if isinstance(stored, dict) else str(stored)

    def describe(self) -> str:
        """One line in words."""
        of = f" by {self.grouping}" if self.grouping else ""
        extra = [("l1", self.l1), ("l2", self.l2), *self.more.items()]
        return f"{self.name}{of}, λ = {self.lam:g}" + "".join(f", {k} = {v:g}" for k, v in extra if v)


class Penalty:
    """λΩ(w), a convex function with a computable proximal operator.

    Subclasses give ``value``, ``prox``, ``residual`` and ``lambda_max``; all take the penalised coordinates only.
    """

    name: ClassVar[str] = "penalty"
    #: Its name in :data:`spinney.optim.PENALTIES`, and the attributes that are its strengths.
    key: ClassVar[str] = ""
    knobs: ClassVar[tuple[str, ...]] = ("lam",)
    #: Ω is a norm (or a sum of them) for which clipping at 0 and then applying the prox is the prox under w ≥ 0.
    clips_to_nonnegative: ClassVar[bool] = True
    #: Ω is a sum over coordinates, and ``prox`` also takes a step for each.
    separable: ClassVar[bool] = False
    #: Whether λΩ has a kink at 0, so that λ is a yardstick for gradients; a ridge has none.
    makes_zeros: bool = True
    convex: ClassVar[bool] = True

    lam: float
    #: Other strengths that are multiples of λ, and follow it along a path; see :meth:`tied`.
    times_lam: Mapping[str, float] = MappingProxyType({})

    def value(self, w: Vector) -> float:
        """λΩ(w)."""
        raise NotImplementedError

    def prox(self, w: Vector, step: float) -> None:
        """Replace ``w`` by argmin_u ½‖u − w‖² + step·λΩ(u)."""
        raise NotImplementedError

    @property
    def takes_metric(self) -> bool:
        """Whether there is a prox in a diagonal metric."""
        return self.separable

    def prox_in_metric(self, metric: Vector) -> Callable[[Vector, Any], None]:
        """The function (w, step) that replaces ``w`` by argmin_u ½Σ metric_i(u_i − w_i)² + step·λΩ(u).

        Examples
        --------
        >>> from spinney.optim import L1
        >>> w = np.array([3.0, 3.0])
        >>> L1(1.0).prox_in_metric(np.array([1.0, 2.0]))(w, 2.0)
        >>> w.tolist()
        [1.0, 2.0]
        """
        if not self.separable:
            raise OptionError(f"there is no prox in a metric for {self.describe()}: leave out the metric")
        inverse = 1.0 / metric
        return lambda w, step: self.prox(w, step * inverse)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """The smallest element (Euclidean norm) of ``grad + ∂λΩ(w)``; zero exactly at an optimum."""
        raise NotImplementedError

    def violation(self, w: Vector, grad: Vector) -> float:
        """Distance from ``-grad`` to the subdifferential of λΩ at ``w``, in the ∞-norm: the certificate."""
        return float(np.max(np.abs(self.residual(w, grad)), initial=0.0))

    def lambda_max(self, grad: Vector) -> float:
        """The smallest λ for which ``w = 0`` is optimal, given the gradient of the loss there."""
        raise NotImplementedError

    @property
    def ridge(self) -> float:
        """The strength of its squared ℓ2 part, over all coordinates."""
        return float(vars(self).get("l2", 0.0))

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        """A lower bound on ``max_s s·rest − (λΩ)*(−s·grad)``, 0 ≤ s ≤ 1; −∞ where none is known.

        With ``rest`` = L(w) − grad·w it bounds the optimum from below (:mod:`spinney.optim.certificate`). This one
        shrinks the gradient by its :meth:`gauge`, until 0 is optimal for it and the conjugate is 0. ``residual`` is
        that of the point.
        """
        if not self.convex:
            return -np.inf
        outside = self.gauge(-grad)
        return max(0.0, rest / max(outside, 1.0)) if np.isfinite(outside) else -np.inf

    def gauge(self, x: Vector) -> float:
        """A number D ≥ 1 for which w = 0 is optimal at x/D, ``x`` being minus the gradient; infinite if none is known.

        Where the prox of x/D is not 0, D is too small. A share of x that is nowhere longer than x/D − prox(x/D), the
        nearest point for which w = 0 is optimal, is then the next to be tried, and the rest is bisection, until D − 1
        is known to a twentieth.
        """
        above, below, D = np.inf, 1.0, 1.0
        for _ in range(60):
            shrunk = x / D
            beyond = shrunk.copy()
            self.prox(beyond, 1.0)
            if beyond.any():
                below = D
            else:
                above = D
            if above - 1.0 <= 1.05 * (below - 1.0) or above <= 1.0 + 1e-12 or below > _HOPELESS:
                break
            if np.isinf(above):
                held = np.flatnonzero(shrunk)
                share = (1.0 + self.ridge) * float(np.max(beyond[held] / shrunk[held], initial=0.0))
                D /= 1.0 - share if 0.0 < share < 0.9 else 0.1
                D *= 1.0 + 1e-12
            elif below > 1.0:
                D = 1.0 + float(np.sqrt((below - 1.0) * (above - 1.0)))
            else:
                D = 1.0 + 0.1 * (above - 1.0)
        return above

    def with_lam(self, lam: float) -> Self:
        """The same penalty at another strength (other parameters, such as ``l2``, stay, unless they are tied to λ)."""
        other = copy.copy(self)
        other.lam = checked_strength("lam", lam)
        for name, times in self.times_lam.items():
            setattr(other, name, times * other.lam)
        return other

    def tied(self, **times_lam: float) -> Self:
        """The same penalty with other strengths that are these multiples of λ, also after :meth:`with_lam`.

        Examples
        --------
        >>> from spinney.optim import ElasticNet
        >>> ElasticNet(1.0, 0.0).tied(l2=0.5).with_lam(3.0).describe()
        'elastic net, λ = 3, ℓ2 = 1.5'
        """
        for name in times_lam:
            if name == "lam" or name not in self.knobs:
                raise OptionError(f"{self.describe()} has no strength {name} to tie to λ")
        other = copy.copy(self)
        other.times_lam = MappingProxyType(times_lam)
        return other.with_lam(self.lam)

    def describe(self) -> str:
        """One line in words, for tables and reports."""
        return f"{self.name}, λ = {self.lam:g}"

    @property
    def own_structure(self) -> str:
        """What this object holds besides its strengths, in a word: ``"groups"``; nothing for plain penalties."""
        return ""

    def spec(self) -> PenaltySpec:
        """This penalty as a value for files: its name and strengths.

        Examples
        --------
        >>> from spinney.optim import ElasticNet
        >>> ElasticNet(0.5, l2=0.1).spec().to_json()
        {'name': 'elasticnet', 'lam': 0.5, 'l2': 0.1}
        """
        values = {knob: float(getattr(self, knob)) for knob in self.knobs}
        lam, l1, l2 = (values.pop(knob, 0.0) for knob in ("lam", "l1", "l2"))
        return PenaltySpec(self.key or type(self).__name__, lam, l1, l2, values, own=self.own_structure)


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


_SHOWN = 200  # iterations that a person sees


@dataclass
class Solution:
    """What a solver found, with its certificate.

    ``gap`` bounds how far the objective is above the optimum, relative to the objective: 0.01 means at most 1 %. It is
    infinite where no bound is known. ``violation`` is the distance from ``-grad`` to the subdifferential in the ∞-norm,
    relative to λ or, under a ridge or no penalty, to the gradient of the null model. Both are pure numbers that mean
    the same for every solver and data set. ``grad`` is the gradient of the loss at ``w``. ``primal_dual`` are the last
    relative residuals of ADMM, and ``copy_norms`` the norms of its copies v_g of each group, which are 0 exactly for
    groups that it removed. ``stalled`` says that the solver ended because nothing moved any more.
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
    primal_dual: tuple[float, float] | None = None
    gap: float = np.inf
    copy_norms: Vector | None = None
    stalled: bool = False

    def views(self) -> Views:
        """What a person sees of it: the certificate, and how the objective fell."""
        known = {"solver": self.solver, "objective": float(self.objective), "gap": self.proven_gap}
        known |= {"violation": float(self.violation), "converged": self.converged, "iterations": self.n_iter}
        known |= {"weights": len(self.w), "active": int(np.count_nonzero(self.w)), "seconds": self.seconds}
        known |= {"interrupted": self.interrupted}
        drawn = []
        if len(self.trace) > 1:
            every = -(-len(self.trace) // _SHOWN)
            shown = [*self.trace[:-1:every], self.trace[-1]]
            line = {"objective": [float(step.objective) for step in shown]}
            at = [str(step.iteration) for step in shown]
            drawn = [Series("trace", "Objective", line, at, "The objective by iteration")]
        return Views([Facts("facts", "", known), *drawn])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self.views())

    @property
    def proven_gap(self) -> float | None:
        """The gap, or None where no bound is known: for facts and files."""
        return float(self.gap) if np.isfinite(self.gap) else None


def checked_strength(name: str, value: float) -> float:
    """``value`` as a float, or an :class:`~spinney.errors.OptionError` when it is negative or not finite."""
    if not isinstance(value, numbers.Real) or not np.isfinite(value) or value < 0:
        told = f"{value:g}" if isinstance(value, numbers.Real) else shown(value)
        raise OptionError(f"{name} must be a finite number ≥ 0, not {told}")
    return float(value)
