"""Penalties for taggers by name, and the groups of weights that a tagger's structure suggests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spinney.errors import SettingError
from spinney.optim import Penalty, PenaltySpec, Structure, Tree, check_penalty, check_strengths, penalty
from spinney.structure import Groups
from spinney.tagging.support import Shape

Ints = NDArray[np.int32]

#: The structures of a tagger's weights that penalties can use, and its groupings: ``"group:pattern"``,
#: ``"group-linf:label"``, ….
OFFERS = ("groups", "tree")
GROUPINGS = ("pattern", "symbol", "label", "class")
#: Short names of a grouping with its penalty.
SHORT = {f"group-{grouping}": f"group:{grouping}" for grouping in GROUPINGS} | {"tree": "tree-l2"}


def penalty_spec(name: str | PenaltySpec | Penalty, lam: float, l1: float, l2: float) -> PenaltySpec:
    """The description of a tagger's penalty, checked that it suits a tagger.

    Examples
    --------
    >>> penalty_spec("group-pattern", 0.5, 0.0, 0.0).describe()
    'group by pattern, λ = 0.5'
    """
    if isinstance(name, Penalty):
        spec = name.spec()
    else:
        spec = PenaltySpec.of(SHORT.get(name, name) if isinstance(name, str) else name, lam, l1, l2)
        check_penalty(spec, OFFERS, "a tagger", GROUPINGS)
    if isinstance(name, str):
        check_strengths(spec, l1, l2)
    elif l1 or l2:
        raise SettingError("{l1} and {l2} are for penalties by name: this one has its own strengths")
    return spec


def make_penalty(
    name: str | PenaltySpec | Penalty,
    lam: float,
    l1: float,
    l2: float,
    shape: Shape,
    patterns: tuple[Ints, Ints],
    partners: NDArray[np.int64],
    class_of: Callable[[], Ints] | None = None,
) -> Penalty:
    """The penalty with this name over the weights of a full model.

    ``patterns`` are the patterns that made the unigram and the bigram observations; ``partners[b]`` is the unigram
    observation that sees what bigram observation ``b`` sees, or −1; ``class_of()[u]`` the class of the word that
    unigram observation ``u`` is, or −1 (needed for the grouping ``"class"``).
    """
    if isinstance(name, Penalty):
        return name
    groupings = {
        "pattern": lambda: by_pattern(shape, patterns),
        "symbol": lambda: by_symbol(shape, patterns),
        "label": lambda: by_label(shape, patterns),
    }
    if class_of is not None:
        groupings["class"] = lambda: by_class(shape, patterns, class_of())
    structure = Structure(
        "a tagger", groupings=groupings, tree=lambda: Tree(*unigram_before_bigram(shape, partners))
    )
    return penalty(penalty_spec(name, lam, l1, l2), structure)


def by_pattern(shape: Shape, patterns: tuple[Ints, Ints]) -> Groups:
    """One group for each pattern: whole patterns are kept or dropped."""
    return Groups.from_labels(np.concatenate(_spread(shape, patterns)))


def by_symbol(shape: Shape, patterns: tuple[Ints, Ints]) -> Groups:
    """One group for each observation: all its weights, of all labels or pairs of labels, are kept or dropped."""
    unigrams = np.repeat(np.arange(shape.unigrams), shape.labels)
    return Groups.from_labels(
        np.concatenate([unigrams, shape.unigrams + np.repeat(np.arange(shape.bigrams), shape.pairs)])
    )


def by_class(shape: Shape, patterns: tuple[Ints, Ints], class_of: Ints) -> Groups:
    """One group for each pattern and class of words; any other observation is a group of its own.

    The words of a class are kept or dropped together, separately for each pattern.
    """
    alone = class_of < 0
    classes = patterns[0].astype(np.int64) * (int(class_of.max(initial=0)) + 1) + class_of
    own = np.where(alone, classes.max(initial=0) + 1 + np.arange(shape.unigrams), classes)
    bigrams = own.max(initial=0) + 1 + np.arange(shape.bigrams)
    labels = np.concatenate([np.repeat(own, shape.labels), np.repeat(bigrams, shape.pairs)])
    return Groups.from_labels(np.unique(labels, return_inverse=True)[1])


def by_label(shape: Shape, patterns: tuple[Ints, Ints]) -> Groups:
    """One group for each pattern and label: a pattern may be kept for some labels only."""
    of_unigrams, of_bigrams = _spread(shape, patterns)
    label = np.arange(shape.labels)
    unigrams = of_unigrams * shape.labels + np.tile(label, shape.unigrams)
    pairs = np.tile(label, shape.bigrams * (shape.labels + shape.start))
    return Groups.from_labels(np.concatenate([unigrams, of_bigrams * shape.labels + pairs]))


def unigram_before_bigram(
    shape: Shape, partners: NDArray[np.int64]
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """A forest whose norm lets bigrams λ(·, y, x) in only after the unigram μ(y, x): parents, nodes, group weights.

    Node (x, y) holds μ(y, x); below it, a node holds the λ(y', y, x) of all y'. Sokolovska 2010 observed that
    bigrams survive under active unigrams, and left a penalty that enforces this to future work.
    """
    label = np.arange(shape.labels)
    below = np.where(partners[:, None] < 0, -1, partners[:, None] * shape.labels + label)
    parent = np.concatenate([np.full(shape.n_mu, -1), below.ravel()]).astype(np.int32)
    column = np.arange(shape.bigrams)[:, None, None] * shape.labels + label[None, None, :]
    rows = shape.labels + shape.start
    held = shape.n_mu + np.broadcast_to(column, (shape.bigrams, rows, shape.labels)).ravel()
    node = np.concatenate([np.arange(shape.n_mu), held]).astype(np.int32)
    size = np.ones(len(parent))
    size[shape.n_mu :] = rows
    np.add.at(size, below.ravel()[below.ravel() >= 0], rows)
    return parent, node, np.sqrt(size)


def _spread(shape: Shape, patterns: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """The pattern of each weight; those of bigrams are numbered separately from those of unigrams."""
    unigrams, bigrams = patterns
    apart = int(unigrams.max(initial=-1)) + 1
    return np.repeat(unigrams, shape.labels), np.repeat(bigrams + np.int32(apart), shape.pairs)
