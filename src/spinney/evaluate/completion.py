"""Sentence completion: which of a few words fits into the gap of a sentence (Yogatama 2015, §4.4.2)?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import tokenize
from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_lines
from spinney.errors import InputError
from spinney.evaluate.measures import Measure, similarity
from spinney.evaluate.wordsim import Find, lookup
from spinney.structure import WordVectors

GAP = "___"
ROUNDING = 1e-12  # relative: means that differ by less are the same


class Completion(NamedTuple):
    """The words of a sentence without the one that is missing, the right word, and the other candidates."""

    words: list[str]
    answer: str
    others: list[str]


@dataclass(frozen=True)
class CompletionResult:
    """What :func:`sentence_completion` found.

    Attributes
    ----------
    accuracy, accuracy_of_all : float
        The share of right choices among the sentences that can be judged, and among all of them.
    known : array of bool
        Whether a sentence can be judged: all candidates and one other word have vectors.
    choices : list of str or None
        The chosen word; None where a sentence cannot be judged.
    correct : array of bool
    """

    accuracy: float
    accuracy_of_all: float
    known: NDArray[np.bool_]
    choices: list[str | None]
    correct: NDArray[np.bool_]


def read_completions(path: FilePath, encoding: str = "utf-8") -> list[Completion]:
    """Sentences with a gap: ``___`` in the sentence, a tab, the right word, and the other candidates after a tab each.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "gaps.tsv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("They drank ___ with milk.\\ttea\\tsand\\tcars\\n")
    >>> read_completions(path)
    [Completion(words=['They', 'drank', 'with', 'milk', '.'], answer='tea', others=['sand', 'cars'])]
    """
    found = []
    for line, text in read_lines(path, encoding):
        sentence, *candidates = (part.strip() for part in text.split("\t"))
        wrong = ""
        if sentence.count(GAP) != 1:
            wrong = f"a sentence with {sentence.count(GAP)} gaps, not one"
        elif len(candidates) < 2 or not all(candidates):
            wrong = "fewer than two candidates, or an empty one"
        elif len(set(candidates)) < len(candidates):
            wrong = "a candidate stands twice"
        if wrong:
            remedy = "a line has a sentence with ___, the right word and other candidates, separated by tabs"
            raise InputError(wrong, path=os.fspath(path), line=line, remedy=remedy)
        before, _, after = sentence.partition(GAP)
        found.append(Completion([*tokenize(before), *tokenize(after)], candidates[0], candidates[1:]))
    if not found:
        raise InputError("the file is empty", path=os.fspath(path))
    return found


def sentence_completion(
    vectors: WordVectors,
    sentences: Sequence[Completion],
    measure: Measure = "cosine",
    *,
    find: Find | None = None,
) -> CompletionResult:
    """How often the candidate with the largest mean similarity to the other words of the sentence is the right one.

    Words without vectors do not count. A candidate that is as similar as the right one counts as a mistake.

    Examples
    --------
    >>> vectors = WordVectors(["tea", "sand", "drank", "milk"], [[1, 0], [0, 1], [0.9, 0.3], [0.8, 0.1]])
    >>> found = sentence_completion(vectors, [Completion(["They", "drank", "with", "milk"], "tea", ["sand"])])
    >>> found.accuracy, found.choices
    (1.0, ['tea'])
    """
    find = find or lookup(vectors)
    choices = [_choice(vectors, one, measure, find) for one in sentences]
    known = np.array([choice is not None for choice in choices], bool)
    correct = np.array([choice == one.answer for choice, one in zip(choices, sentences)], bool)
    right = int(correct.sum())
    return CompletionResult(
        right / max(int(known.sum()), 1), right / max(len(sentences), 1), known, choices, correct
    )


def _choice(vectors: WordVectors, one: Completion, measure: Measure, find: Find) -> str | None:
    # The right word comes last, so that it does not win ties, nor those that only rounding decides.
    candidates = [*one.others, one.answer]
    keys = [find(word) for word in candidates]
    context = [key for word in one.words if (key := find(word)) is not None]
    if not context or None in keys:
        return None
    known: list[Any] = keys
    left = vectors.rows([key for key in known for _ in context])
    right = vectors.rows(context * len(known))
    means = similarity(left, right, measure).reshape(len(known), len(context)).mean(axis=1)
    best = means.max()
    return candidates[int(np.argmax(means >= best - ROUNDING * abs(best)))]
