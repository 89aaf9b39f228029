"""Phrases of two words that people have compared, or found to make sense: sets for composition (Grave 2014, §3.4)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError
from spinney.evaluate._tables import is_number, to_number
from spinney.evaluate.composition import Structure, deviance, deviance_test
from spinney.evaluate.ellipsis import ClausePair, read_composition
from spinney.evaluate.expressions import Dependent
from spinney.evaluate.measures import l1_normalised
from spinney.evaluate.wordsim import lookup
from spinney.structure import WordVectors

PhraseKind = Literal["adjective-noun", "noun-noun", "verb-object"]

#: What Mitchell and Lapata call the kinds of phrases.
_KINDS: dict[str, PhraseKind] = {
    "adjectivenouns": "adjective-noun",
    "compoundnouns": "noun-noun",
    "verbobjects": "verb-object",
}
#: The part of speech of the head, and the dependent's part of speech, relation and place.
_PARTS: dict[PhraseKind, tuple[str, str, str, bool]] = {
    "adjective-noun": ("NOUN", "ADJ", "amod", True),
    "noun-noun": ("NOUN", "NOUN", "compound", True),
    "verb-object": ("VERB", "NOUN", "obj", False),
}
_DEVIANT = {"deviant": True, "acceptable": False}


class Phrase(NamedTuple):
    """A head with one dependent: *new law*, *tax credit*, *use knowledge*."""

    kind: PhraseKind
    head: str
    dependent: str

    @property
    def head_word(self) -> tuple[str, str]:
        """The head and its part of speech."""
        return self.head, _PARTS[self.kind][0]

    @property
    def dependents(self) -> list[Dependent]:
        """The other word."""
        return [Dependent(self.dependent, *_PARTS[self.kind][1:])]


class PhrasePair(NamedTuple):
    """Two phrases, their mean score, and the number of people it is of."""

    first: Phrase
    second: Phrase
    score: float
    raters: int = 1


class JudgedPhrase(NamedTuple):
    """An adjective with a noun, and whether people find that it makes no sense."""

    adjective: str
    noun: str
    deviant: bool


def read_phrase_pairs(path: FilePath) -> list[PhrasePair]:
    """The comparisons of Mitchell and Lapata 2010, with mean scores.

    A line is one person's score, from 1 to 7, of two phrases: the person, the kind of phrase (``adjectivenouns``,
    ``compoundnouns`` or ``verbobjects``), a number that is not used, two words, two words, and the score, between
    spaces. Objects stand before their verbs. The first line may be a header.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "ml.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("p1 verbobjects 2 knowledge use influence exercise 5\\n")
    ...     _ = file.write("p2 verbobjects 2 knowledge use influence exercise 2\\n")
    >>> read_phrase_pairs(path)
    [PhrasePair(first=Phrase(kind='verb-object', head='use', dependent='knowledge'), \
second=Phrase(kind='verb-object', head='exercise', dependent='influence'), score=3.5, raters=2)]
    """
    scores: dict[tuple[Phrase, Phrase], list[float]] = {}
    for number, (line, parts) in enumerate(_rows(path)):
        if number == 0 and not is_number(parts[-1]):
            continue
        if len(parts) != 8:
            what = f"{len(parts)} columns where person, kind, number, four words and a score are needed"
            raise InputError(what, path=os.fspath(path), line=line)
        if parts[1] not in _KINDS:
            what = f"{parts[1]!r} is not a kind of phrase"
            raise InputError(what, path=os.fspath(path), line=line, remedy=f"known are {', '.join(_KINDS)}")
        kind, words = _KINDS[parts[1]], parts[3:7]  # of all three kinds the head comes second
        pair = Phrase(kind, words[1], words[0]), Phrase(kind, words[3], words[2])
        scores.setdefault(pair, []).append(to_number(parts[7], path, line))
    return [PhrasePair(*pair, sum(given) / len(given), len(given)) for pair, given in scores.items()]


def read_comparisons(path: FilePath, *, second_subjects: bool = False) -> list[ClausePair] | list[PhrasePair]:
    """Comparisons for composition in any known layout: clauses (see :func:`read_composition`) or phrases.

    A file is one of clauses if its first line names columns of sentences or of landmarks, and else one of phrases, see
    :func:`read_phrase_pairs`.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "gs.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("participant verb subject object landmark input hilo\\n")
    ...     _ = file.write("p1 meet system criterion satisfy 7 HIGH\\n")
    >>> [pair] = read_comparisons(path)
    >>> pair.first.verb, pair.second.verb
    ('meet', 'satisfy')
    """
    _, first = next(_rows(path), (0, []))
    if {"sent1", "landmark"} & set(first):
        return read_composition(path, second_subjects=second_subjects)
    return read_phrase_pairs(path)


def read_deviance(path: FilePath) -> list[JudgedPhrase]:
    """Adjectives with nouns, and whether they make sense: a line has ``adjective noun acceptable`` or ``deviant``.

    This is how Grave 2014, table 3.15, shows the set of Vecchi, Baroni and Zamparelli 2011. Parts are separated by
    white space, the two words perhaps by an underscore; a first line without one of the two judgements is a header;
    words may end in ``-j`` and ``-n``.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "an.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("blind numbness acceptable\\nacademic-j_bladder-n deviant\\n")
    >>> read_deviance(path)[1]
    JudgedPhrase(adjective='academic', noun='bladder', deviant=True)
    """
    found = []
    for number, (line, parts) in enumerate(_rows(path)):
        if number == 0 and parts[-1] not in _DEVIANT:
            continue
        words = parts[0].split("_") if len(parts) == 2 else parts[:-1]
        if len(words) != 2 or parts[-1] not in _DEVIANT:
            what = "a line needs an adjective, a noun, and acceptable or deviant"
            raise InputError(what, path=os.fspath(path), line=line)
        found.append(
            JudgedPhrase(words[0].removesuffix("-j"), words[1].removesuffix("-n"), _DEVIANT[parts[-1]])
        )
    return found


def deviance_scores(
    vectors: WordVectors, phrases: Sequence[JudgedPhrase], T: ArrayLike, structure: Structure = "tree"
) -> dict[str, Any]:
    """Whether phrases that make no sense are less plausible to a model: Welch's test on their :func:`deviance`.

    Parameters
    ----------
    vectors
        Vectors of words; adjectives and nouns are looked up as such, see :func:`lookup`.
    phrases
        As :func:`read_deviance` gives them. Those with a word that has no vector are left out.
    T, structure
        Transitions (of adjectives below nouns, where relations have their own), see :func:`head_space`.

    Returns
    -------
    dict
        ``t``, ``df`` and ``p`` (see :func:`deviance_test`), the mean scores ``deviant`` and ``acceptable`` and how many
        phrases of each kind entered (``n_deviant``, ``n_acceptable``), ``phrases`` (all), ``coverage``.

    Examples
    --------
    >>> vectors = WordVectors(["old", "red", "dog", "idea"], [[0.9, 0.1], [0.8, 0.2], [0.9, 0.1], [0.1, 0.9]])
    >>> phrases = [JudgedPhrase("old", "dog", False), JudgedPhrase("red", "dog", False),
    ...            JudgedPhrase("old", "idea", True), JudgedPhrase("red", "idea", True)]
    >>> found = deviance_scores(vectors, phrases, [[0.9, 0.2], [0.1, 0.8]])
    >>> round(found["deviant"], 3), round(found["acceptable"], 3), round(found["t"], 2), found["coverage"]
    (0.339, 0.731, -9.75, 1.0)
    """
    known, rows = deviance_items(vectors, phrases, T, structure)
    scores, deviant = rows[known, 0], rows[known, 1] > 0
    if min(deviant.sum(), (~deviant).sum()) < 2:
        raise InputError(
            f"{deviant.sum()} deviant and {(~deviant).sum()} acceptable phrases have vectors: "
            "a test needs two of each"
        )
    return {
        **deviance_test(scores[deviant], scores[~deviant]),
        "deviant": float(scores[deviant].mean()),
        "acceptable": float(scores[~deviant].mean()),
        "n_deviant": int(deviant.sum()),
        "n_acceptable": int((~deviant).sum()),
        "phrases": len(phrases),
        "coverage": float(known.mean()),
    }


def deviance_items(
    vectors: WordVectors, phrases: Sequence[JudgedPhrase], T: ArrayLike, structure: Structure = "tree"
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """What :func:`deviance_scores` tests: whether both words are known, and plausibility beside deviance (1 or 0).

    Examples
    --------
    >>> vectors = WordVectors(["old", "dog"], [[0.9, 0.1], [0.9, 0.1]])
    >>> phrases = [JudgedPhrase("old", "dog", False), JudgedPhrase("old", "idea", True)]
    >>> known, rows = deviance_items(vectors, phrases, [[0.9, 0.2], [0.1, 0.8]])
    >>> known.tolist(), rows.round(3).tolist()
    ([True, False], [[0.764, 0.0], [0.0, 1.0]])
    """
    adjective, noun = lookup(vectors, "ADJ"), lookup(vectors, "NOUN")
    keys = [(adjective(one.adjective), noun(one.noun)) for one in phrases]
    known = np.array([None not in pair for pair in keys], bool)
    # A word that is not known has a vector of zeros.
    v, u = (_dense(vectors, [pair[side] or "" for pair in keys]) for side in (0, 1))
    plausible = deviance(u, v, T, structure) * known
    return known, np.column_stack([plausible, [float(one.deviant) for one in phrases]])


def _dense(vectors: WordVectors, keys: Sequence[str]) -> Any:
    rows = l1_normalised(vectors.rows(keys))
    return rows.toarray() if vectors.is_sparse else rows


def _rows(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not blank, in parts."""
    return ((line, parts) for line, text in read_lines(path) if (parts := fields(text)))
