"""The phrases of a tagger's labels: entities or chunks, with their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spinney.errors import OptionError
from spinney.evaluate.chunks import are_of_phrases, boundaries, chunks
from spinney.inference.chains import Chains
from spinney.inference.phrases import PhraseRules, Phrases, f1_choice, find_phrases, phrase_probabilities


class Phrase(NamedTuple):
    """A phrase of that type from token ``start`` up to and without token ``end``, with its probability."""

    start: int
    end: int
    type: str
    probability: float


@lru_cache(maxsize=64)
def spelling(labels: tuple[str, ...]) -> tuple[PhraseRules, list[str]]:
    """How labels spell phrases, and the types of phrases.

    Examples
    --------
    >>> spelling(("B-LOC", "B-PER", "I-PER", "O"))[1]
    ['', 'LOC', 'PER']
    """
    if not are_of_phrases(labels):
        raise OptionError("the labels of this tagger do not mark phrases, as B-X, I-X and O would")
    starts, breaks, kinds = boundaries(labels)
    types = sorted(set(kinds))
    inside = np.asarray(starts.any(axis=0))
    inside |= np.any(~breaks & inside[:, None], axis=0)  # what only continues a phrase, as E after B in BIOES
    return PhraseRules(starts, breaks, np.array([types.index(kind) for kind in kinds]), inside), types


def probable_phrases(
    chains: Chains, labels: Sequence[str], least: float, threads: int | None
) -> list[list[Phrase]]:
    """All phrases of each sentence whose probability is at least ``least``, overlapping ones included."""
    rules, types = spelling(tuple(labels))
    return _by_sentence(find_phrases(chains, rules, least=least, threads=threads), types)


def phrases_of(
    chains: Chains, labels: Sequence[str], given: Iterable[Sequence[str]], threads: int | None
) -> list[list[Phrase]]:
    """The phrases of a labelling of each sentence, with their probabilities."""
    rules, types = spelling(tuple(labels))
    found = [chunks(names) for names in given]
    bounds = np.cumsum([0, *map(len, found)])
    rows = [(start, stop, types.index(kind)) for sentence in found for kind, start, stop in sentence]
    where = np.array(rows, np.int64).reshape(-1, 3).T
    chances = phrase_probabilities(chains, rules, bounds, *where, threads=threads).tolist()
    return [
        [Phrase(one.start, one.stop, one.kind, p) for one, p in zip(sentence, chances[a:b])]
        for sentence, (a, b) in zip(found, pairwise(bounds.tolist()))
    ]


def best_by_f1(chains: Chains, labels: Sequence[str], threads: int | None) -> list[list[Phrase]]:
    """The phrases of each sentence that together have the best F1 to expect."""
    rules, types = spelling(tuple(labels))
    found = find_phrases(chains, rules, threads=threads)
    chosen, _ = f1_choice(found, np.diff(chains.offsets))
    before = np.concatenate(([0], np.cumsum(chosen)))
    where = (found.start[chosen], found.stop[chosen], found.kind[chosen])
    kept = Phrases(before[found.bounds], *where, found.probability[chosen], found.expected)
    return _by_sentence(kept, types)


def spelled(phrases: Iterable[Phrase], n: int) -> list[str]:
    """The labels of a sentence of ``n`` tokens that has these phrases, in IOB2.

    Examples
    --------
    >>> spelled([Phrase(1, 3, "PER", 0.9)], 4)
    ['O', 'B-PER', 'I-PER', 'O']
    """
    labels = ["O"] * n
    for start, end, kind, _ in phrases:
        of = f"-{kind}" if kind else ""
        labels[start:end] = ["B" + of, *["I" + of] * (end - start - 1)]
    return labels


def _by_sentence(found: Phrases, types: Sequence[str]) -> list[list[Phrase]]:
    columns = (found.start, found.stop, found.kind, found.probability)
    rows = [Phrase(a, b, types[k], p) for a, b, k, p in zip(*(of.tolist() for of in columns))]
    return [rows[a:b] for a, b in pairwise(found.bounds.tolist())]
