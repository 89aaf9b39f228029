"""What classes of words look like to a person: their words and shares, their tree, and sentences in classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.structure.classtree import ClassTree
from spinney.structure.maps import COMPARED, label, map_points
from spinney.structure.vectorviews import these_words
from spinney.structure.wordclasses import WordClasses
from spinney.structure.words import largest, short
from spinney.structure.wordvectors import WordVectors
from spinney.views import (
    Extra,
    Node,
    Note,
    Outline,
    Section,
    Share,
    Table,
    Token,
    Tokens,
    View,
    WordMap,
    grown,
)

Floats = NDArray[np.float64]

_CLASSES = 1000  # in the table of a page
_TOKENS = 200  # of a sentence


@dataclass(frozen=True)
class ClassView:
    """A class: its share of all tokens, and its words with their probabilities in it, the first ones first."""

    number: int
    share: float
    words: list[tuple[str, float]]
    path: str | None = None
    unknown: str | None = None

    def named(self, n: int = 3) -> str:
        """Its first words, the unknown symbol left out: a name for what has none.

        Examples
        --------
        >>> ClassView(4, 0.1, [("win", 0.5), ("play", 0.3), ("lose", 0.1), ("beat", 0.1)]).named()
        'win, play, lose'
        """
        known = [word for word, _ in self.words if word != self.unknown]
        return ", ".join(map(short, known[:n])) or str(self.unknown)

    def listed(self) -> str:
        """All its words that are here."""
        return ", ".join(short(word) for word, _ in self.words)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        facts = {"class": self.number, "share": self.share, "words": self.words}
        return facts if self.path is None else facts | {"path": self.path}


def normalised(masses: NDArray[Any]) -> Floats:
    """Masses as shares; nothing has no shares.

    Examples
    --------
    >>> normalised(np.array([1, 3])), normalised(np.zeros(1))
    (array([0.25, 0.75]), array([0.]))
    """
    return np.asarray(masses / max(float(masses.sum()), np.finfo(np.float64).tiny), np.float64)


def class_shares(classes: WordClasses) -> Floats:
    """The share of each class in all tokens.

    Examples
    --------
    >>> class_shares(WordClasses(["the", "a", "dog"], [0, 0, 1], counts=[4, 2, 2]))
    array([0.75, 0.25])
    """
    return normalised(np.bincount(classes.ids, _counts(classes), minlength=classes.n_classes))


def class_words(classes: WordClasses, numbers: Iterable[int], top: int) -> list[list[tuple[str, float]]]:
    """The most frequent words of each of some classes, with the share of each in its class.

    Examples
    --------
    >>> class_words(WordClasses(["the", "a", "dog"], [0, 0, 1], counts=[3, 1, 2]), [0], 1)
    [[('the', 0.75)]]
    """
    counts = _counts(classes)
    found = []
    for number in numbers:
        members = np.flatnonzero(classes.ids == number)
        shares = normalised(counts[members])
        found.append([(classes.words[int(members[i])], float(shares[i])) for i in largest(shares, top)])
    return found


def _counts(classes: WordClasses) -> Floats:
    """How often each word was seen; once if that is not known."""
    return np.ones(len(classes)) if classes.counts is None else classes.counts.astype(np.float64)


def path_vectors(classes: WordClasses) -> WordVectors:
    """A vector for each word, so that words can be compared by their classes.

    It marks the nodes of the tree of classes that the word hangs below: the similarity of two words, by Hellinger and
    by cosine alike, is then the length of the path that they share, divided by the geometric mean of the lengths of
    both. In flat classes, it is 1 or 0.

    Examples
    --------
    >>> vectors = path_vectors(WordClasses(["dog", "cat", "the"], [0, 1, 2], paths=["00", "01", "1"]))
    >>> [(word, round(similarity, 2)) for word, similarity in vectors.neighbours("dog", 2, "hellinger")]
    [('cat', 0.5), ('the', 0.0)]
    """
    from scipy.sparse import csr_array

    paths = classes.paths or [str(i) for i in range(classes.n_classes)]
    nodes: dict[str, int] = {}
    lengths, columns = [], []
    for path in paths:
        prefixes = [path[:n] for n in range(1, len(path) + 1)] if classes.paths else [path]
        lengths.append(len(prefixes))
        columns += [nodes.setdefault(prefix, len(nodes)) for prefix in prefixes]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(paths), max(len(nodes), 1))
    of_classes = csr_array((np.ones(len(columns)), np.array(columns, np.int64), ends), shape=shape)
    return WordVectors(classes.words, of_classes[classes.ids], lowercase=classes.lowercase)


# ------------------------------------------------------------------------------------------ the views


def class_table(title: str, shown: Sequence[ClassView]) -> Table:
    """A line for each class: number, share, path if it has one, words."""
    paths = any(view.path is not None for view in shown)
    rows = [
        [view.number, f"{view.share:.1%}", *([view.path or ""] if paths else []), view.listed()]
        for view in shown
    ]
    return Table("", title, ["class", "share", *(["path"] if paths else []), "words"], rows)


def class_section(shown: Sequence[ClassView]) -> Section:
    """All classes that have words, as a page shows them."""
    used = [view for view in shown if view.words]
    about = f"{len(used):,} classes with their most frequent words."
    if len(used) < len(shown):
        about += f" {len(shown) - len(used):,} more have no words."
    if len(used) > _CLASSES:
        about = f"The {_CLASSES:,} largest of {len(used):,} classes with their most frequent words."
    paths = any(view.path is not None for view in used)
    rows = [
        [view.number, Share(view.share), *([view.path or ""] if paths else []), view.listed()]
        for view in used[:_CLASSES]
    ]
    header = ["class", "share of tokens", *(["path"] if paths else []), "words"]
    return Section("Classes", [Note(about), Table("", "", header, rows)])


def tree_sections(used: Sequence[ClassView]) -> list[View]:
    """The tree of classes that have paths."""
    if not used or any(view.path is None for view in used):
        return []
    try:
        tree = ClassTree.from_paths([str(view.number) for view in used], [view.path or "" for view in used])
    except OptionError:  # a path that begins another: no tree
        return []
    leaves = [
        Node(
            view.named(8), f"class {view.number} · {view.share:.2%} · {view.path}", examples=(view.named(1),)
        )
        for view in used
    ]
    order = np.lexsort((tree.branch, tree.parent)).tolist()
    about = "Classes that were merged late are far apart; classes next to each other predict nearly the same words."
    return [
        Section(
            "Tree of classes",
            [Note(about), Outline("tree", "", grown(tree.parent.tolist(), leaves, order), "classes")],
        )
    ]


def class_map(
    vectors: WordVectors,
    words: Sequence[str],
    counts: Sequence[int] | None,
    classes: Sequence[Sequence[tuple[int, float]]],
    named: Mapping[int, str],
    neighbours: str = "Neighbours share the most of their paths",
) -> list[View]:
    """A map of words in the colours of their classes, of which ``classes`` has the largest first."""
    if len(words) < 2:
        return []
    groups = [some[0][0] if some else 0 for some in classes]
    notes = [_note(None if counts is None else counts[i], some, named) for i, some in enumerate(classes)]
    points = map_points(vectors, words, groups=groups, notes=notes, metric="hellinger")
    about = (
        f"{these_words(len(words), len(vectors))} Words close together belong to similar classes; large distances "
        "and the axes have no meaning. Colours distinguish classes, but there are only eight. "
        f"{neighbours}"
    )
    about += f", among the {COMPARED:,} most frequent words." if len(vectors) > COMPARED else "."
    return [Section("Map of words", [Note(about), WordMap("map", "", points)])]


def _note(count: int | None, classes: Sequence[tuple[int, float]], named: Mapping[int, str]) -> str:
    notes = [f"seen {count:,} times"] if count is not None else []
    for number, share in classes[:3]:
        notes.append(f"class {number}{'' if share > 0.995 else f' ({share:.0%})'}: {named.get(number, '')}")
    return " · ".join(notes)


def sentence_section(
    words: Sequence[Sequence[str]],
    classes: Sequence[Sequence[int]],
    named: Mapping[int, str],
    chances: Sequence[Sequence[float]] | None = None,
) -> Section:
    """Sentences with the class of each token (-1: none), and its probability where there is one."""
    about = f"{len(words):,} sentence{'s' * (len(words) != 1)}. "
    about += "The number below a word is its class; point at it to see the words of that class."
    views: list[View] = [Note(about)]
    for i, (sentence, numbers) in enumerate(zip(words, classes)):
        tokens = []
        for t, (word, number) in enumerate(zip(sentence[:_TOKENS], numbers)):
            chance = None if chances is None else chances[i][t]
            note = f"class {number}: {named.get(number, '')}" if number >= 0 else "no class"
            note += "" if chance is None else f", probability {chance:.2f}"
            tokens.append(
                Token(
                    label(word),
                    str(number) if number >= 0 else "–",
                    number if number >= 0 else None,
                    note,
                    unsure=chance is not None and chance < 0.7,
                )
            )
        views.append(Tokens("", f"{i + 1:,}", tokens, more=len(sentence) - len(tokens)))
    return Section("Sentences", [*views, Extra("sentences", "", len(words))])
