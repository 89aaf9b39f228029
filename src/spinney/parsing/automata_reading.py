"""Descriptions of head automata: what modifies each tag, on which side and how often.

Every number here is a sum over all sequences of modifiers, so it does not depend on the basis of the states and is
meaningful for moments as for probabilities. Moments from little data give sums that are slightly off, or even negative;
``total`` shows by how much.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from spinney.errors import InputError, did_you_mean
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.modifiers import LEFT, RIGHT, Floats, automaton_of

#: The artificial head of the words that have no other.
ROOT = "(root)"


class Modifier(NamedTuple):
    """A tag below a head: its mean number, and its probability of being next to the head."""

    tag: str
    expected: float
    nearest: float


class SideReading(NamedTuple):
    """The modifiers of a head on one side.

    Attributes
    ----------
    head : str
        A tag, or :data:`ROOT`.
    side : {"left", "right"}
    states : int
    total : float
        The sum of the probabilities of all sequences: 1 up to estimation error.
    mean : float
        The mean number of modifiers.
    none : float
        The probability of no modifier.
    modifiers : list of Modifier
        Most frequent first.
    """

    head: str
    side: Literal["left", "right"]
    states: int
    total: float
    mean: float
    none: float
    modifiers: list[Modifier]


def describe_heads(model: HeadAutomata, n: int = 10) -> list[SideReading]:
    """Both sides of every tag, most frequent tags first, and the root last.

    Parameters
    ----------
    model
        A fitted model.
    n
        Number of modifiers.

    Examples
    --------
    >>> from spinney.corpus.conllu import Sentence
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0])] * 3
    >>> for side in describe_heads(HeadAutomata(method="bigram", smoothing=0.0).fit(text)):
    ...     print(side.head, side.side, round(side.none, 2), [modifier.tag for modifier in side.modifiers])
    DET left 1.0 []
    DET right 1.0 []
    NOUN left 0.0 ['DET']
    NOUN right 1.0 []
    VERB left 0.0 ['NOUN']
    VERB right 1.0 []
    (root) right 0.0 ['VERB']
    """
    model._tags([])
    order = np.argsort(-model.unigram_[:-1], kind="stable").tolist()
    found = [side for tag in order for side in describe_head(model, model.tags_[tag], n)]
    return [*found, *describe_head(model, ROOT, n)]


def describe_head(model: HeadAutomata, head: str, n: int = 10) -> list[SideReading]:
    """Both sides of a tag, or the one side of the root.

    Examples
    --------
    >>> from spinney.corpus.conllu import Sentence
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0])] * 3
    >>> left, right = describe_head(HeadAutomata(method="bigram", smoothing=0.0).fit(text), "NOUN")
    >>> [(modifier.tag, round(modifier.expected, 3)) for modifier in left.modifiers]
    [('DET', 1.0)]
    """
    model._tags([])
    V = len(model.tags_)
    if head == ROOT:
        return [_side(model, head, "right", automaton_of(V + 1, LEFT), n)]
    if head not in model.tags_:
        meant = did_you_mean(head, model.tags_) or f"it has {', '.join(model.tags_)}"
        raise InputError(f"the model has no tag {head!r}", remedy=meant)
    tag = model.tags_.index(head)
    return [
        _side(model, head, "left", automaton_of(tag, LEFT), n),
        _side(model, head, "right", automaton_of(tag, RIGHT), n),
    ]


def _side(model: HeadAutomata, head: str, side: Literal["left", "right"], k: int, n: int) -> SideReading:
    # The last modifier is an unknown tag, the mean of the others: not part of the distribution.
    start, matrices, stop = (part[k] for part in model.automata_)
    matrices = matrices[:-1]
    used = (start != 0) | (stop != 0) | matrices.any(axis=(0, 1)) | matrices.any(axis=(0, 2))
    # All that may come before a modifier, and all that may come after it: A⁰ + A¹ + A² + …
    rest = np.eye(len(start)) - matrices.sum(axis=0)
    before: Floats = np.linalg.lstsq(rest, start, rcond=None)[0]
    after: Floats = np.linalg.lstsq(rest.T, stop, rcond=None)[0]
    total = float(after @ start)
    scale = 1.0 / total if abs(total) > 1e-12 else 0.0
    expected = scale * np.einsum("i,mij,j->m", after, matrices, before)
    nearest = scale * np.einsum("i,mij,j->m", after, matrices, start)
    modifiers = [
        Modifier(model.tags_[m], float(expected[m]), float(nearest[m]))
        for m in np.argsort(-expected, kind="stable")[:n].tolist()
        if expected[m] > 1e-6
    ]
    none = scale * float(stop @ start)
    return SideReading(head, side, int(used.sum()), total, float(expected.sum()), none, modifiers)
