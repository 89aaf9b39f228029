"""BLESS: do related words come before random ones, and which relation comes first? (Baroni and Lenci 2011)"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_lines
from spinney.errors import InputError, OptionError
from spinney.evaluate._tables import read_columns_named
from spinney.evaluate.composition import Structure, head_space
from spinney.evaluate.measures import Measure, l1_normalised, similarity
from spinney.evaluate.wordsim import POS, POS_LETTERS, lookup
from spinney.structure import WordVectors

_POS_OF_RELATION = {"coord": "NOUN", "hyper": "NOUN", "mero": "NOUN", "attri": "ADJ", "event": "VERB"}
_POS_OF_RANDOM = ("NOUN", "ADJ", "VERB")
_RANDOM = {"NOUN": "random-n", "PROPN": "random-n", "ADJ": "random-j", "VERB": "random-v"}
_RECALL = np.linspace(0, 1, 11)


class Related(NamedTuple):
    """A concept (a noun), a word, how they are related, and the word's part of speech if known."""

    concept: str
    relatum: str
    relation: str
    pos: str | None = None


class Transform(NamedTuple):
    """A matrix M that takes a vector v to M v, and whose vector that is: the relatum's or the concept's."""

    matrix: NDArray[np.float64]
    side: Literal["relatum", "concept"] = "relatum"


class _Scored(NamedTuple):
    """The relata of one concept that have vectors: their relations, and how similar they are to it."""

    relations: list[str]
    scores: NDArray[np.float64]


def read_bless(path: FilePath) -> list[Related]:
    """The pairs of BLESS, each once, in either of two layouts.

    The original has four columns between tabs: ``alligator-n``, the concept's class, the relation, and
    ``aggressive-j``; its relations are coord, hyper, mero, attri, event, random-n, random-j and random-v. The other,
    known by the commas of its first line, is a table with the columns ``word1``, ``word2`` and ``relation``. It
    has one relation ``random`` and no parts of speech: these follow from the other five relations (attributes are
    adjectives, events verbs), and those of random words from the vocabulary when they are looked up: the most frequent
    of noun, adjective and verb, for BLESS has no others.
    Pairs of the relation ``?`` are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "bless.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("alligator-n\\treptile\\tattri\\taggressive-j\\n")
    >>> read_bless(path)
    [Related(concept='alligator', relatum='aggressive', relation='attri', pos='ADJ')]
    """
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty", path=os.fspath(path))
    if "\t" not in first:
        rows = read_columns_named(path, ["word1", "word2", "relation"])
        pairs = [Related(a, b, relation, _POS_OF_RELATION.get(relation)) for _, (a, b, relation) in rows]
    else:
        pairs = [_original(text, path, line) for line, text in read_lines(path) if text.strip()]
    return list(dict.fromkeys(pair for pair in pairs if pair.relation != "?"))


def cross_pos(
    T: ArrayLike, structure: Structure = "tree", *, verbs: ArrayLike | None = None
) -> dict[str, Transform]:
    """The transforms that make nouns comparable with adjectives and verbs (Grave 2014, chapter 3).

    Words of different parts of speech use different classes. A dependent is moved into the classes of its
    head: an adjective to that of the noun, but for a verb it is the noun, the concept, that moves. In a chain both
    precede their heads; verbs before their objects are ignored.

    Parameters
    ----------
    T, structure
        Transitions between classes, see :func:`head_space`.
    verbs
        Transitions below verbs, where relations have their own: then T is that of adjectives below nouns.

    Examples
    --------
    >>> transforms = cross_pos([[0.9, 0.2], [0.1, 0.8]])
    >>> [(pos, transform.side) for pos, transform in transforms.items()]
    [('ADJ', 'relatum'), ('VERB', 'concept')]
    """
    matrix = head_space(T, structure, precedes=True)
    below = matrix if verbs is None else head_space(verbs, structure, precedes=True)
    return {"ADJ": Transform(matrix), "VERB": Transform(below, "concept")}


def bless_boxes(
    vectors: WordVectors,
    pairs: Iterable[Related],
    measure: Measure = "hellinger",
    transform: Mapping[str, Transform] | None = None,
) -> dict[str, Any]:
    """Which relation's words come closest: for a box plot.

    For each concept and relation the similarity of the closest word is kept. The scores of a concept (eight, if
    random words are of known parts of speech; else six) are standardised: mean 0, variance 1.

    Parameters
    ----------
    vectors
        Vectors of words. Concepts are looked up as nouns and words by their part of speech, if known; see
        :func:`lookup`. A random word is random-n, random-j or random-v by the part of speech of what was found.
    pairs
        As :func:`read_bless` gives them.
    measure
        One of :data:`~spinney.evaluate.MEASURES`.
    transform
        For words of these parts of speech, what is done before comparing (the result is divided by its sum): see
        :func:`cross_pos`. By default nothing.

    Returns
    -------
    dict
        ``scores`` (for each relation an array, with a number for each concept that has such words), ``quartiles``
        (for each relation the least, first quartile, median, third quartile and greatest), ``concepts`` (those that
        were used: with at least two relations that differ), ``pairs`` (all), ``coverage`` (share with both vectors).

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog", "run", "law"], [[0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.0, 1.0]])
    >>> pairs = [Related("cat", "dog", "coord"), Related("cat", "run", "event"), Related("cat", "law", "random")]
    >>> boxes = bless_boxes(vectors, pairs)
    >>> {relation: scores.round(2).tolist() for relation, scores in boxes["scores"].items()}
    {'coord': [0.86], 'event': [0.54], 'random': [-1.4]}
    """
    pairs = list(pairs)
    standard: dict[str, list[float]] = {}
    concepts = known = 0
    for scored in _by_concept(vectors, pairs, measure, transform):
        known += len(scored.scores)
        best: dict[str, float] = {}
        for relation, score in zip(scored.relations, scored.scores.tolist()):
            best[relation] = max(score, best.get(relation, -np.inf))
        values = np.array(list(best.values()))
        if len(set(best.values())) < 2:
            continue
        concepts += 1
        for relation, z in zip(best, ((values - values.mean()) / values.std()).tolist()):
            standard.setdefault(relation, []).append(z)
    scores = {relation: np.array(standard[relation]) for relation in sorted(standard)}
    return {
        "scores": scores,
        "quartiles": {name: np.quantile(z, [0, 0.25, 0.5, 0.75, 1]).tolist() for name, z in scores.items()},
        "concepts": concepts,
        "pairs": len(pairs),
        "coverage": known / len(pairs) if pairs else 0.0,
    }


def bless_precision_recall(
    vectors: WordVectors,
    pairs: Iterable[Related],
    measure: Measure = "hellinger",
    transform: Mapping[str, Transform] | None = None,
) -> dict[str, Any]:
    """How well similarity ranks the words that are related to a concept before random ones.

    Parameters are those of :func:`bless_boxes`. A concept enters if it has words of both kinds.

    Returns
    -------
    dict
        ``average_precision`` (the mean over concepts), ``recall`` (0, 0.1, … 1) and ``precision`` (at each, the best
        at that recall or above, the mean over concepts); ``pooled``, with the same three for one ranking of the words
        of all concepts, where the curve has all its points and nothing is interpolated; ``concepts``, ``pairs``,
        ``coverage``.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog", "run", "law"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.5, 0.5]])
    >>> pairs = [Related("cat", "dog", "coord"), Related("cat", "run", "event"), Related("cat", "law", "random")]
    >>> curve = bless_precision_recall(vectors, pairs)
    >>> round(curve["average_precision"], 3), curve["precision"].round(2).tolist()[4:7]
    (0.833, [1.0, 1.0, 0.67])
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve

    pairs = list(pairs)
    averages, curves = [], []
    all_related: list[NDArray[np.bool_]] = []
    all_scores: list[NDArray[np.float64]] = []
    known = 0
    for scored in _by_concept(vectors, pairs, measure, transform):
        known += len(scored.scores)
        related = np.array([not relation.startswith("random") for relation in scored.relations])
        if not 0 < related.sum() < len(related):
            continue
        averages.append(average_precision_score(related, scored.scores))
        precision, recall, _ = precision_recall_curve(related, scored.scores)
        # As recall falls from 1 to 0 the running maximum is the best precision at that recall or above.
        best = np.maximum.accumulate(precision)
        curves.append(best[[np.flatnonzero(recall >= level - 1e-12)[-1] for level in _RECALL]])
        all_related.append(related)
        all_scores.append(scored.scores)
    if not averages:
        raise InputError("no concept has vectors for both related and random words")
    truth, ranking = np.concatenate(all_related), np.concatenate(all_scores)
    precision, recall, _ = precision_recall_curve(truth, ranking)
    return {
        "average_precision": float(np.mean(averages)),
        "recall": _RECALL.copy(),
        "precision": np.mean(curves, axis=0),
        "pooled": {
            "average_precision": float(average_precision_score(truth, ranking)),
            "recall": recall[::-1],
            "precision": precision[::-1],
        },
        "concepts": len(averages),
        "pairs": len(pairs),
        "coverage": known / len(pairs),
    }


def _by_concept(
    vectors: WordVectors,
    pairs: Sequence[Related],
    measure: Measure,
    transform: Mapping[str, Transform] | None,
) -> Iterator[_Scored]:
    """The concepts that have a vector and words with vectors."""
    groups: dict[str, list[Related]] = {}
    for pair in pairs:
        groups.setdefault(pair.concept, []).append(pair)
    noun = lookup(vectors, "NOUN")
    finders = {pos: lookup(vectors, pos or _POS_OF_RANDOM) for pos in {pair.pos for pair in pairs}}
    for concept, members in groups.items():
        concept_key = noun(concept)
        found = [(pair, key) for pair in members if (key := finders[pair.pos](pair.relatum)) is not None]
        if concept_key is None or not found:
            continue
        keys = [key for _, key in found]
        pos = [_pos_of(key) or pair.pos for pair, key in found]
        relations = [
            _RANDOM.get(tag or "", "random") if pair.relation == "random" else pair.relation
            for (pair, _), tag in zip(found, pos)
        ]
        sides = {"concept": vectors.rows([concept_key] * len(keys)), "relatum": vectors.rows(keys)}
        if transform:
            sides = _transformed(sides, pos, transform)
        yield _Scored(relations, similarity(sides["concept"], sides["relatum"], measure))


def _transformed(
    sides: dict[str, Any], pos: list[str | None], transform: Mapping[str, Transform]
) -> dict[str, Any]:
    moved = {}
    for side, rows in sides.items():
        rows = l1_normalised(rows)
        moved[side] = rows.toarray() if hasattr(rows, "toarray") else rows
    for tag, (matrix, side) in transform.items():
        if side not in moved:
            raise OptionError(
                f"a transform must be for 'relatum' or 'concept', not for {side!r}",
                given=side,
                known=("relatum", "concept"),
            )
        if np.shape(matrix)[1:] != moved[side].shape[1:]:
            raise OptionError(
                f"a transform of shape {np.shape(matrix)} cannot be applied to {moved[side].shape[1]} dimensions"
            )
        chosen = [other == tag for other in pos]
        moved[side][chosen] = moved[side][chosen] @ np.asarray(matrix).T
    return {side: l1_normalised(rows) for side, rows in moved.items()}


def _pos_of(key: str) -> str | None:
    pos = key.rpartition("|")[2]
    return pos if pos in POS and "|" in key else None


def _original(text: str, path: FilePath, line: int) -> Related:
    parts = [part.strip() for part in text.split("\t")]
    if len(parts) != 4:
        what = f"{len(parts)} columns where concept, class, relation and word are needed"
        raise InputError(what, path=os.fspath(path), line=line)
    concept, _, relation, relatum = parts
    word, _, letter = relatum.rpartition("-")
    if letter not in POS_LETTERS or not word:
        what = f"{relatum!r} does not end in a part of speech"
        raise InputError(what, path=os.fspath(path), line=line, remedy="such as -n, -j or -v")
    return Related(concept.removesuffix("-n"), word, relation, POS_LETTERS[letter])
