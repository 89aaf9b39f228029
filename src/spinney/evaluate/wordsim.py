"""Word similarity: how well the similarity of vectors agrees with human judgements."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError, OptionError
from spinney.evaluate._tables import read_columns_named, to_number
from spinney.evaluate.measures import Measure, similarity
from spinney.structure import WordVectors

WordPair = tuple[str, str, float]
Find = Callable[[str], str | None]

POS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")
#: Parts of speech as BLESS and MEN write them, after a hyphen.
POS_LETTERS = {"n": "NOUN", "v": "VERB", "j": "ADJ", "a": "ADJ", "r": "ADV"}


def read_word_pairs(path: FilePath) -> list[WordPair]:
    """Pairs of words with a score from a file, in either of two layouts.

    One has two words and a score per line, separated by tabs or, in lines without tabs, by white space. The other,
    recognised by the commas of its first line, is a table with a header that names ``word1``, ``word2`` and
    ``similarity``, in any order and beside other columns; rows with none of the three are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "pairs.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("tiger\\tcat\\t7.35\\n")
    >>> read_word_pairs(path)
    [('tiger', 'cat', 7.35)]
    """
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty", path=os.fspath(path))
    if "," in first and "\t" not in first:
        rows = read_columns_named(path, ["word1", "word2", "similarity"])
        return [(a, b, to_number(score, path, line)) for line, (a, b, score) in rows if a or b or score]
    pairs = []
    for line, text in read_lines(path):
        if not text.strip():
            continue
        parts = [part.strip() for part in text.split("\t")] if "\t" in text else fields(text)
        if len(parts) != 3:
            what = f"{len(parts)} columns where two words and a score are needed"
            raise InputError(what, path=os.fspath(path), line=line)
        pairs.append((parts[0], parts[1], to_number(parts[2], path, line)))
    return pairs


def lookup(vectors: WordVectors, pos: str | Sequence[str] | None = None) -> Find:
    """A function from a plain word to the word of the vocabulary that stands for it, or None.

    Vocabularies hold plain words or lemmas with their part of speech, such as ``attack|NOUN``. Tried in turn,
    as written and in lower case: the word with ``pos`` if that is given; the plain word; if ``pos`` is not given,
    the word with any of NOUN, VERB, ADJ, ADV and PROPN. Of several, the first in the vocabulary (the most frequent) is
    taken. A word that is known only as another part of speech than ``pos`` is not found: the verb *fly* does not
    stand for the insect. If all fail, an ending such as that of ``sun-n`` is taken for the part of speech.

    Examples
    --------
    >>> vectors = WordVectors(["attack|NOUN", "attack|VERB", "jerusalem|PROPN"], [[1.0], [2.0], [3.0]])
    >>> find = lookup(vectors)
    >>> find("attack"), find("Jerusalem"), find("attack-v"), find("defend")
    ('attack|NOUN', 'jerusalem|PROPN', 'attack|VERB', None)
    >>> lookup(vectors, "VERB")("attack"), lookup(vectors, "VERB")("Jerusalem")
    ('attack|VERB', None)
    """

    wanted = [pos] if isinstance(pos, str) else pos or []

    def find(word: str) -> str | None:
        forms = list(dict.fromkeys([word, word.lower()]))
        tried = [[f"{form}|{tag}" for tag in wanted] for form in forms]
        tried += [[form] for form in forms]
        tried += [] if wanted else [[f"{form}|{tag}" for form in forms for tag in POS]]
        for keys in tried:
            known = [(place, key) for place, key in zip(vectors.encode(keys).tolist(), keys) if place >= 0]
            if known:
                return min(known)[1]
        stem, _, letter = word.rpartition("-")
        if stem and letter in POS_LETTERS:
            return lookup(vectors, POS_LETTERS[letter])(stem)
        return word if vectors.gives(word) else None  # by its letters

    return find


def common_pos(vectors: WordVectors, words: Iterable[str]) -> str | None:
    """The part of speech under which the vocabulary has the most of some words; None if it has none with one.

    Examples
    --------
    >>> vectors = WordVectors(["fly|VERB", "fly|NOUN", "walk|VERB"], [[1.0], [2.0], [3.0]])
    >>> common_pos(vectors, ["fly", "walk", "swim"]), common_pos(vectors, ["swim"])
    ('VERB', None)
    """
    forms = {word.lower() for word in words}
    known = {pos: sum(f"{form}|{pos}" in vectors for form in forms) for pos in POS}
    most = max(POS, key=lambda pos: known[pos])  # among equals, the first: nouns before verbs
    return most if known[most] else None


def word_similarity(
    vectors: WordVectors,
    pairs: Iterable[WordPair],
    measure: Measure = "hellinger",
    *,
    find: Find | None = None,
    missing: Literal["skip", "zero"] = "skip",
) -> dict[str, Any]:
    """How well similarities follow the scores of people.

    Parameters
    ----------
    vectors
        Vectors of words.
    pairs
        Two words and their score, the larger the more similar, as :func:`read_word_pairs` gives them.
    measure
        One of :data:`~spinney.evaluate.MEASURES`. A distance counts with its sign turned, so that agreement is
        positive: the published figures for distances are absolute values.
    find
        How a word is looked up; by default :func:`lookup`.
    missing
        What becomes of a pair with a word that has no vector: it is left out, or that word has a vector of
        zeros (the least similar there is, by most measures).

    Returns
    -------
    dict
        ``pearson``, ``spearman`` (not a number if fewer than two pairs are left, or all are equal), ``n`` (the
        pairs that entered), ``pairs`` (all), ``coverage`` (the share with vectors for both).

    Examples
    --------
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> pairs = [("tea", "coffee", 9.0), ("coffee", "car", 2.0), ("tea", "car", 1.0), ("tea", "quark", 0.0)]
    >>> scores = word_similarity(vectors, pairs)
    >>> round(scores["pearson"], 2), scores["spearman"], scores["n"], scores["coverage"]
    (0.99, 1.0, 3, 0.75)
    """
    if missing not in ("skip", "zero"):
        raise OptionError(
            f"missing must be 'skip' or 'zero', not {missing!r}", given=missing, known=("skip", "zero")
        )
    find = find or lookup(vectors)
    keys = [(find(first), find(second), score) for first, second, score in pairs]
    found = [None not in (first, second) for first, second, _ in keys]
    used = [key for key, both in zip(keys, found) if both or missing == "zero"]
    # None is not a word, so its row is all zeros.
    first = vectors.rows(cast(list[str], [key[0] for key in used]))
    second = vectors.rows(cast(list[str], [key[1] for key in used]))
    return {
        **correlations(similarity(first, second, measure), [score for _, _, score in used]),
        "n": len(used),
        "pairs": len(keys),
        "coverage": float(np.mean(found)) if found else 0.0,
    }


def correlations(scores: ArrayLike, human: ArrayLike) -> dict[str, float]:
    """Pearson's and Spearman's coefficient; not a number where fewer than two differ.

    Examples
    --------
    >>> correlations([1.0, 2.0, 3.0], [1.0, 2.0, 30.0])
    {'pearson': 0.8808..., 'spearman': 1.0}
    """
    from scipy.stats import pearsonr, spearmanr

    if np.unique(scores).size < 2 or np.unique(human).size < 2:
        return {"pearson": float("nan"), "spearman": float("nan")}
    return {
        "pearson": float(pearsonr(scores, human).statistic),
        "spearman": float(spearmanr(scores, human).statistic),
    }
