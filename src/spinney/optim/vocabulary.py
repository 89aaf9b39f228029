"""The names of penalties: one table for all tasks, and how each penalty is made from what a task knows.

A task says what it knows of its weights (:class:`Structure`); :func:`penalty` makes the penalty of that name, or says
in one sentence what is missing. A new penalty is a module of :mod:`spinney.optim.penalties` and a line in
:data:`PENALTIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from spinney.errors import OptionError, SettingError
from spinney.optim import penalties as pen
from spinney.optim.base import GroupArrays, Penalty, PenaltySpec, Vector
from spinney.optim.penalties.composite import norms_of


class Tree(NamedTuple):
    """A forest of weights, as :class:`~spinney.optim.TreeL2` takes it; ``multiplicity`` is for ``tree-linf`` only."""

    parent: ArrayLike
    node_of: ArrayLike | None = None
    weights: ArrayLike | None = None
    multiplicity: ArrayLike | None = None


@dataclass(frozen=True)
class Structure:
    """What a task knows of the weights that a penalty governs; every part may be absent.

    Parameters
    ----------
    of
        What the weights belong to, for messages: ``"a tagger"``.
    groups
        Sets of features; with several outputs a group holds all the weights of its features.
    groupings
        Functions that make groups, by the name that follows a colon: ``group:pattern`` asks for ``"pattern"``.
    tree
        A function that makes a forest of weights. Without one, nested ``groups`` serve.
    output_tree
        A function that makes a tree of outputs: ``node_of`` is the node of each output.
    design
        The matrix of the data, examples × features.
    n_features, n_outputs
        The weights are a row-major matrix of this shape.
    weights
        A factor for each feature, for the penalties that can weigh coordinates.
    ordered
        Whether neighbouring weights belong together.
    n_times
        The weights are series of this length.
    remedies
        For what is needed but missing, what to do about it: ``{"groups": "give groups"}``.

    Examples
    --------
    >>> penalty("group", Structure(groups=pen.FlatGroups.of([[0, 1], [2]], 3)), lam=2.0).describe()
    'group ℓ1/ℓ2, 2 groups, λ = 2'
    """

    of: str = "this model"
    groups: GroupArrays | None = None
    groupings: Mapping[str, Callable[[], GroupArrays]] = field(default_factory=dict)
    tree: Callable[[], Tree] | None = None
    output_tree: Callable[[], Tree] | None = None
    design: Any = None
    n_features: int | None = None
    n_outputs: int = 1
    weights: Vector | None = None
    ordered: bool = False
    n_times: int | None = None
    remedies: Mapping[str, str] = field(default_factory=dict)

    @property
    def offers(self) -> set[str]:
        """The keys of :data:`NEEDS` that this structure can serve."""
        grouped = self.groups is not None
        there = {
            "groups": grouped or bool(self.groupings),
            "tree": grouped or self.tree is not None,
            "output-tree": self.output_tree is not None,
            "design": self.design is not None,
            "matrix": self.n_features is not None,
            "order": self.ordered,
            "times": self.n_times is not None,
        }
        return {need for need, have in there.items() if have}


#: What penalties need of a task, in words.
NEEDS = {
    "groups": "groups",
    "tree": "a tree of weights, or nested groups",
    "output-tree": "a tree of classes",
    "design": "a design matrix",
    "matrix": "a weight matrix, features × outputs",
    "order": "ordered weights",
    "times": "weights at several times",
}


class Kind(NamedTuple):
    """A penalty by name: how it is made, a line of help, what it needs of the task, and its strengths."""

    make: Callable[[PenaltySpec, Structure], Penalty]
    help: str
    needs: str | None = None
    knobs: tuple[str, ...] = ("lam",)


def _weights(at: Structure) -> Vector | None:
    return None if at.weights is None else np.repeat(np.asarray(at.weights, np.float64), at.n_outputs)


def _l2(spec: PenaltySpec, at: Structure) -> Penalty:
    weights = _weights(at)
    return pen.L2(spec.lam) if weights is None else pen.WeightedL2(spec.lam, weights)


def _groups(spec: PenaltySpec, at: Structure) -> GroupArrays:
    """The groups of features that are meant."""
    if spec.grouping is not None:
        return at.groupings[spec.grouping]()
    assert at.groups is not None
    if at.n_features is not None and at.groups.n_features != at.n_features:
        raise OptionError(
            f"the groups have {at.groups.n_features} features, but the data have {at.n_features}"
        )
    return at.groups


def _weight_groups(spec: PenaltySpec, at: Structure) -> Any:
    """The groups of weights that are meant: those of features, over all outputs."""
    groups: Any = _groups(spec, at)
    if at.n_outputs == 1:
        return groups
    if not hasattr(groups, "expand"):
        raise OptionError("with several classes, groups must be a spinney.structure.Groups")
    return groups.expand(at.n_outputs)


def _group(spec: PenaltySpec, at: Structure) -> Penalty:
    l1 = spec.lam if spec.name == "sparse-group" and spec.l1 == 0.0 else spec.l1
    return pen.GroupL2(spec.lam, _weight_groups(spec, at), l1=l1, l2=spec.l2)


def _composite(spec: PenaltySpec, at: Structure) -> Penalty:
    norms = norms_of(spec.name)
    assert norms is not None
    return pen.Composite(spec.lam, _weight_groups(spec, at), *norms)


def _overlap(spec: PenaltySpec, at: Structure) -> Penalty:
    return pen.OverlappingGroups(spec.lam, _groups(spec, at), l1=spec.l1, l2=spec.l2, n_outputs=at.n_outputs)


def _tree_l2(spec: PenaltySpec, at: Structure) -> Penalty:
    if at.tree is None or spec.grouping is not None:
        return pen.TreeL2.from_groups(spec.lam, _weight_groups(spec, at))
    parent, node_of, weights, copies = at.tree()
    if copies is not None:
        raise OptionError(
            "tree-l2 needs the whole tree: its prox does not keep the weights of collapsed nodes equal"
        )
    return pen.TreeL2(spec.lam, parent, node_of, weights)


def _tree_linf(spec: PenaltySpec, at: Structure) -> Penalty:
    if at.tree is None or spec.grouping is not None:
        return pen.TreeLinf.from_groups(spec.lam, _weight_groups(spec, at))
    return pen.TreeLinf(spec.lam, *at.tree())


def _tree_output(spec: PenaltySpec, at: Structure) -> Penalty:
    assert at.output_tree is not None
    parent, node_of, weights, _ = at.output_tree()
    assert node_of is not None
    assert at.n_features is not None
    return pen.OutputTree(spec.lam, parent, node_of, weights, n_features=at.n_features)


def _from_columns(spec: PenaltySpec, at: Structure) -> Penalty:
    """The trace Lasso and the pairwise elastic net of the columns of the design, at unit norm."""
    if at.n_outputs > 1:
        raise OptionError(
            f"the penalty {spec.name} is for regression and for two classes, not for {at.n_outputs} outputs"
        )
    X = at.design
    dense = np.asarray(X.todense()) if scipy.sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    norms = np.linalg.norm(dense, axis=0)
    unit = dense / np.where(norms > 0, norms, 1.0)
    if spec.name == "trace":
        return pen.TraceLasso(spec.lam, unit)
    return pen.PairwiseElasticNet.from_design(spec.lam, unit)


def _nuclear(spec: PenaltySpec, at: Structure) -> Penalty:
    assert at.n_features is not None
    return pen.Nuclear(spec.lam, (at.n_features, at.n_outputs))


def _timeseries(spec: PenaltySpec, at: Structure) -> Penalty:
    assert at.n_times is not None
    return pen.TimeSeries(spec.lam, at.n_times, spec.more.get("alpha", 0.0))


_BOTH, _ALL = ("lam", "l2"), ("lam", "l1", "l2")

#: All penalties, by the name that options, settings and model files use.
PENALTIES: dict[str, Kind] = {
    "none": Kind(lambda spec, at: pen.NoPenalty(), "no penalty", knobs=()),
    "l2": Kind(_l2, "ridge, ½λ‖w‖²"),
    "l1": Kind(lambda spec, at: pen.L1(spec.lam, _weights(at)), "the Lasso, λ‖w‖₁"),
    "elasticnet": Kind(
        lambda spec, at: pen.ElasticNet(spec.lam, spec.l2, _weights(at)), "λ‖w‖₁ + ½·l2·‖w‖²", None, _BOTH
    ),
    "l0": Kind(lambda spec, at: pen.L0(spec.lam), "λ times the number of non-zero weights (not convex)"),
    "slope": Kind(lambda spec, at: pen.Slope(spec.lam, **spec.more), "SLOPE, the sorted ℓ1 norm", None, ("lam", "q")),
    "group": Kind(_group, "group Lasso: a group is kept or dropped as a whole", "groups", _ALL),
    "sparse-group": Kind(_group, "group Lasso with zeros inside groups (l1 is lam by default)", "groups", _ALL),
    "group-linf": Kind(
        lambda spec, at: pen.GroupLinf(spec.lam, _weight_groups(spec, at)), "the largest weight of each group", "groups"
    ),
    "l2/l1": Kind(
        _composite, "the ℓ2 norm of the ℓ1 norms of groups; so are l1/l2, l1.5/linf, … (ℓr/ℓq, q = 1, 2, inf)", "groups"
    ),
    "tree-l2": Kind(_tree_l2, "a node of the tree is used only with its parent (ℓ2 norms)", "tree"),
    "tree-linf": Kind(_tree_linf, "a node of the tree is used only with its parent (ℓ∞ norms)", "tree"),
    "tree-output": Kind(
        _tree_output, "for each feature, related classes of a tree are kept or dropped together", "output-tree"
    ),
    "overlap": Kind(_overlap, "overlapping groups: the zero weights are a union of groups", "groups", _ALL),
    "latent": Kind(
        lambda spec, at: pen.LatentGroups(spec.lam, _weight_groups(spec, at)),
        "overlapping groups: the non-zero weights are a union of groups", "groups",
    ),
    "fused": Kind(
        lambda spec, at: pen.Fused(spec.lam, l1=spec.l1, l2=spec.l2), "neighbouring weights become equal", "order", _ALL
    ),
    "trace": Kind(_from_columns, "trace Lasso: between ℓ1 and ℓ2, depending on correlations", "design"),
    "pairwise": Kind(_from_columns, "pairwise elastic net: correlated columns share their weight", "design"),
    "nuclear": Kind(_nuclear, "a weight matrix of low rank", "matrix"),
    "timeseries": Kind(_timeseries, "weights of neighbouring times become similar", "times", ("lam", "alpha")),
}  # fmt: skip


def kind_named(name: str) -> Kind | None:
    """The entry of :data:`PENALTIES` for a name; every name such as ``l3/l2`` has that of ``l2/l1``.

    Examples
    --------
    >>> kind_named("l1.5/linf").needs, kind_named("lasso") is None
    ('groups', True)
    """
    return PENALTIES.get("l2/l1" if norms_of(name) else name)


def penalty(
    spec: str | PenaltySpec | Penalty,
    structure: Structure | None = None,
    *,
    lam: float = 1.0,
    l1: float = 0.0,
    l2: float = 0.0,
) -> Penalty:
    """The penalty that a name or a description stands for.

    Parameters
    ----------
    spec
        A name in :data:`PENALTIES`, or ``l3/l2`` and the like, with the strengths ``lam``, ``l1`` and ``l2``; after a
        colon it may say which of the task's groupings is meant (``"group:pattern"``). Or a
        :class:`~spinney.optim.PenaltySpec`, which brings its own strengths. A penalty is returned as it is.
    structure
        What the task knows of its weights.

    Examples
    --------
    >>> penalty("elasticnet", lam=2.0, l2=0.5).describe()
    'elastic net, λ = 2, ℓ2 = 0.5'
    >>> penalty(PenaltySpec("l1", 0.3, nonnegative=True)).describe()
    'ℓ1, λ = 0.3, w ≥ 0'
    >>> penalty("group")
    Traceback (most recent call last):
    spinney.errors.OptionError: the penalty group needs groups, which this model does not have
    """
    if isinstance(spec, Penalty):
        return spec
    at = Structure() if structure is None else structure
    spec = PenaltySpec.of(spec, lam, l1, l2)
    groupings = at.groupings if at.groups is None or spec.grouping else ()
    check_penalty(spec, at.offers, at.of, groupings, at.remedies)
    if at.weights is not None and spec.name not in ("l1", "l2", "elasticnet"):
        raise OptionError(f"feature weights need the penalty l1, l2 or elasticnet, not {spec.name}")
    kind = kind_named(spec.name)
    assert kind is not None
    made = kind.make(spec, at)
    return pen.NonNegative(made) if spec.nonnegative else made


def check_strengths(spec: str | PenaltySpec, l1: float | None, l2: float | None) -> None:
    """Refuse a strength that a penalty does not have.

    Examples
    --------
    >>> check_strengths("elasticnet", None, 0.5)
    >>> check_strengths("l1", None, 0.5)
    Traceback (most recent call last):
    spinney.errors.SettingError: l2 is not used by the penalty l1: leave it out
    """
    name = PenaltySpec.of(spec).name
    kind = kind_named(name)
    for knob, strength in (("l1", l1), ("l2", l2)):
        if strength and kind is not None and knob not in kind.knobs:
            raise SettingError(f"{{{knob}}} is not used by the penalty {{name}}: leave it out", name=name)


def check_penalty(
    spec: str | PenaltySpec,
    offers: Collection[str],
    of: str = "this model",
    groupings: Collection[str] = (),
    remedies: Mapping[str, str] | None = None,
) -> PenaltySpec:
    """The description of a penalty that a task can make; an OptionError if it cannot, before there are data.

    ``offers`` are the keys of :data:`NEEDS` that the task will be able to serve; the rest is as for :class:`Structure`.

    Examples
    --------
    >>> check_penalty("tree-l2", {"tree"}).name
    'tree-l2'
    >>> check_penalty("trace", {"tree"}, "a language model")
    Traceback (most recent call last):
    spinney.errors.OptionError: the penalty trace needs a design matrix, which a language model does not have
    """
    spec = PenaltySpec.of(spec)
    kind = kind_named(spec.name)
    if kind is None:
        raise OptionError(
            f"there is no penalty {spec.name!r}; there are {', '.join(PENALTIES)}",
            given=spec.name,
            known=PENALTIES,
        )
    if spec.own:
        raise OptionError(
            f"the penalty {spec.name} was an object with its own {spec.own}, which are not stored: give it again"
        )
    need = kind.needs
    if need is not None and need not in offers:
        remedy = (remedies or {}).get(need)
        rest = f": {remedy}" if remedy else f", which {of} does not have"
        raise OptionError(f"the penalty {spec.name} needs {NEEDS[need]}{rest}")
    known = groupings if need in ("groups", "tree") else ()
    if spec.grouping is None and need == "groups" and groupings:
        raise OptionError(
            f"the penalty {spec.name} needs a grouping: {', '.join(f'{spec.name}:{name}' for name in known)}"
        )
    if spec.grouping is not None and spec.grouping not in known:
        some = f"; there are {', '.join(known)}" if known else ""
        raise OptionError(
            f"the penalty {spec.name} has no grouping {spec.grouping!r} in {of}{some}",
            given=spec.grouping,
            known=known,
        )
    return spec
