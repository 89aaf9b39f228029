"""Kinds of edges: which dependency relations share a transition matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from spinney.classes.learning import Corpus
from spinney.corpus import TokenArrays
from spinney.errors import OptionError

#: The kind of all relations that have no matrix of their own.
REST = "other"
#: What evaluations call a relation, and what treebanks call it: Universal Dependencies, Stanford dependencies.
NAMES_OF_RELATIONS = {
    "amod": ("amod",),
    "compound": ("compound", "nn"),
    "nsubj": ("nsubj",),
    "obj": ("obj", "dobj"),
}


def kinds_of(text: TokenArrays, typed: int | Mapping[str, str]) -> dict[str, list[str]]:
    """The kinds of edges by name, each with its relations; the first, ``"other"``, is that of all relations not named.

    Examples
    --------
    >>> from spinney.corpus import Labels, Vocabulary, sentence_arrays
    >>> from dataclasses import replace
    >>> text = sentence_arrays([["old", "dogs", "sleep"]])
    >>> relations = Labels(np.array([0, 1, 2], np.int32), Vocabulary(("amod", "nsubj", "root"), [1, 1, 1]))
    >>> text = replace(text, heads=np.array([1, 2, -1], np.int32), labels={"deprel": relations})
    >>> kinds_of(text, 1), kinds_of(text, {"nsubj": "subject", "csubj": "subject"})
    ({'other': [], 'amod': ['amod']}, {'other': [], 'subject': ['nsubj', 'csubj']})
    """
    if not typed:
        return {REST: []}
    if "deprel" not in text.labels or text.heads is None:
        raise OptionError("a typed tree model needs heads and relations: read CoNLL-U with both")
    if isinstance(typed, Mapping):
        kinds: dict[str, list[str]] = {REST: []}
        for relation, kind in typed.items():
            kinds.setdefault(kind, []).append(relation)
        return kinds
    column = text.labels["deprel"]
    counts = np.zeros(len(column.vocabulary), np.int64)
    for piece in Corpus(text).pieces(1 << 20):
        edges = np.asarray(piece.heads) >= 0
        counts += np.bincount(np.asarray(piece.labels["deprel"].ids)[edges], minlength=len(counts))
    order = np.argsort(-counts, kind="stable")[:typed]
    frequent = [column.vocabulary.words[i] for i in order.tolist() if counts[i]]
    return {REST: []} | {relation: [relation] for relation in frequent}


def kind_by_name(kinds: Mapping[str, list[str]]) -> dict[str, int]:
    """The number of each kind of edges, by its own name and by those of its relations.

    Examples
    --------
    >>> kind_by_name({"other": [], "subject": ["nsubj", "csubj"]})
    {'nsubj': 1, 'csubj': 1, 'other': 0, 'subject': 1}
    """
    of_relations = {relation: i for i, members in enumerate(kinds.values()) for relation in members}
    return of_relations | {kind: i for i, kind in enumerate(kinds) if kind not in of_relations}


def kind_numbers(text: TokenArrays, kinds: Mapping[str, list[str]]) -> NDArray[np.int32]:
    """The kind of each relation in the text's own numbering."""
    if "deprel" not in text.labels:
        raise OptionError("a typed tree model needs relations: read CoNLL-U with relations")
    kind_of = {relation: i for i, members in enumerate(kinds.values()) for relation in members}
    return np.array([kind_of.get(name, 0) for name in text.labels["deprel"].vocabulary.words], np.int32)


def class_edges(
    corpus: Corpus, classes: NDArray[np.int32], n_classes: int, n_kinds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How often classes meet: ``edges[kind, child, father]``, and how often each is a root.

    Tokens whose word has no class (-1) do not count.
    """
    C = n_classes
    edges, roots = np.zeros(n_kinds * C * C), np.zeros(C)
    for piece in corpus.pieces(1 << 20):
        trees = corpus.trees(piece)
        found = classes[trees.ids]
        start = np.repeat(trees.offsets[:-1], np.diff(trees.offsets))
        at = np.arange(len(found))
        father = np.where(at > start, at - 1, -1) if trees.heads is None else trees.heads.astype(np.int64)
        if trees.heads is not None:
            father = np.where(father >= 0, father + start, -1)
        known_root = (father < 0) & (found >= 0)
        roots += np.bincount(found[known_root], minlength=C)
        above = found[np.maximum(father, 0)]
        known = (father >= 0) & (found >= 0) & (above >= 0)
        kind = np.zeros(len(found), np.int64) if trees.kinds is None else trees.kinds.astype(np.int64)
        edges += np.bincount((kind[known] * C + found[known]) * C + above[known], minlength=len(edges))
    return edges.reshape(n_kinds, C, C), roots
