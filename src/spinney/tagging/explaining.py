"""Why a tagger gives a token its label: the contributions of observations and of the labels beside it.

The label of a token is compared with its rival: the label that would be best there if all other labels stayed as they
are. The difference of the two scores is a sum over the weights of what is seen at the token, and of the transitions
into it and out of it. The contributions of a token add up to by how much its label is ahead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import ReadReport
from spinney.errors import InputError
from spinney.inference.chains import Chains
from spinney.inference.decoding import marginals, viterbi
from spinney.tagging.columns import Columns
from spinney.tagging.reading import format_of, read_batches_of
from spinney.tagging.sequences import Observations, Sequences
from spinney.views import Extra, Note, Table, View

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger

#: What is left of a difference once all weights are counted is shown if it is larger than this.
_ROUNDING = 1e-9


class Explanation(NamedTuple):
    """Why a token has its label: by how much it is ahead of its rival, and what each observation adds to that."""

    word: str
    label: str
    probability: float
    rival: str
    ahead: float
    contributions: list[tuple[str, float]]


def explained(tagger: Tagger, data: Any, s: Any) -> list[View]:
    """A table for each sentence: tokens, labels, and the observations that speak most for the label or against it."""
    views: list[View] = [
        Note(
            "Ahead: by how much the score of the label exceeds that of its rival, the next best label there."
        )
    ]
    found = []
    for number, sentence in enumerate(explanations(tagger, data, s), start=1):
        rows = [
            [one.word, one.label, one.probability, one.rival, one.ahead, said(one.contributions[: s.top])]
            for one in sentence
        ]
        header = ["token", "label", "probability", "rival", "ahead", "contributions"]
        views.append(Table("", f"Sentence {number}", header, rows))
        found.append([{**one._asdict(), "contributions": one.contributions[: s.top]} for one in sentence])
    if not found:
        raise InputError("no sentences to explain")
    return [*views, Extra("explained", "", found)]


def said(contributions: Sequence[tuple[str, float]]) -> str:
    """Contributions as text.

    Examples
    --------
    >>> said([("U:word=Ada", 1.25), ("O → B-PER", -0.5)])
    'U:word=Ada +1.25 · O → B-PER -0.5'
    """
    return " · ".join(f"{name} {value:+.3g}" for name, value in contributions)


class _Batch(NamedTuple):
    """Labelled sentences: their scores, what is seen at their tokens, and the weights of that."""

    words: Sequence[str]
    chains: Chains
    seen: Sequences
    labels: NDArray[np.int32]
    chances: NDArray[np.float64]


class _Weights(NamedTuple):
    """The weights of observations and of transitions, with the names of both and of the labels, the start last."""

    mu: NDArray[np.float64]
    lam: NDArray[np.float64]
    unigrams: Sequence[str]
    bigrams: Sequence[str]
    labels: Sequence[str]


def explanations(tagger: Tagger, data: Any, s: Any) -> Iterator[list[Explanation]]:
    """All contributions to the labels of the first ``s.documents`` sentences, the largest first."""
    left = s.documents
    full, shape, extractor = tagger.weights_.full(), tagger.weights_.shape, tagger.extractor_
    names = extractor.names("u"), extractor.names("b"), [*tagger.labels_, "(start)"]
    weights = _Weights(shape.mu(full), shape.lam(full), *names)
    for columns in _columns(tagger, data, s):
        n = min(left, len(columns))
        end = int(columns.offsets[n])
        part = Columns(columns.offsets[: n + 1], columns.symbols[:, :end], columns.pool)
        words, seen = part.strings(0), Sequences(part.offsets, *extractor.observe(part))
        for chains in tagger.chains_of(part):
            first, stop = chains.first, chains.first + len(chains)
            a, b = int(part.offsets[first]), int(part.offsets[stop])
            labels, chances = viterbi(chains, threads=tagger.threads)[0], marginals(chains)[0]
            batch = _Batch(words[a:b], chains, seen.part(first, stop), labels, chances)
            for i, j in pairwise(chains.offsets.tolist()):
                yield [_explained(batch, weights, t, i, j) for t in range(i, j)]
        left -= n
        if not left:
            return


def _columns(tagger: Tagger, data: Any, s: Any) -> Iterator[Columns]:
    if not isinstance(data, str):
        yield data if isinstance(data, Columns) else tagger.columns(data)
        return
    how = {"encoding": s.encoding, "on_error": s.on_error, "docstart": s.docstart}
    yield from read_batches_of(data, format_of(data, s), report=ReadReport(), **how)


def _explained(of: _Batch, weights: _Weights, t: int, first: int, end: int) -> Explanation:
    """Token ``t`` of the sentence of tokens ``first`` up to ``end``."""
    chains, labels, called = of.chains, of.labels, weights.labels
    Y, y = chains.n_labels, int(labels[t])
    left = int(labels[t - 1]) if t > first else Y
    scores = chains.scores[t] + chains.edges[chains.kinds[t], left]
    if t + 1 < end:
        scores = scores + chains.edges[chains.kinds[t + 1], :Y, labels[t + 1]]
    others = np.where(np.arange(Y) == y, -np.inf, scores)
    z = int(others.argmax())
    if not others[z] > -np.inf:  # no other label is possible
        return Explanation(of.words[t], called[y], float(of.chances[t, y]), "", np.inf, [])
    found: defaultdict[str, float] = defaultdict(float)
    for o, value in _row(of.seen.unigrams, t):
        found[weights.unigrams[o]] += value * float(weights.mu[o, y] - weights.mu[o, z])
    for o, value in _row(of.seen.bigrams, t):
        if left < weights.lam.shape[1]:  # a tagger may have no weights at the start
            change = weights.lam[o, left, y] - weights.lam[o, left, z]
            found[_pair(weights.bigrams[o], called[left], called[y])] += value * float(change)
    if t + 1 < end:
        after = int(labels[t + 1])
        for o, value in _row(of.seen.bigrams, t + 1):
            change = weights.lam[o, y, after] - weights.lam[o, z, after]
            found[_pair(weights.bigrams[o], called[y], called[after])] += value * float(change)
    ahead = float(scores[y] - scores[z])
    rest = ahead - sum(found.values())
    if abs(rest) > _ROUNDING * max(1.0, abs(ahead)):
        found["(normalisers)"] = (
            rest  # of a maximum-entropy Markov model, whose next label depends on this one
        )
    order = sorted(((name, value) for name, value in found.items() if value), key=lambda pair: -abs(pair[1]))
    return Explanation(of.words[t], called[y], float(of.chances[t, y]), called[z], ahead, order)


def _pair(name: str, left: str, right: str) -> str:
    """A transition; the plain pattern B says nothing more."""
    return f"{left} → {right}" + (f" with {name}" if len(name) > 1 else "")


def _row(observations: Observations, t: int) -> Iterator[tuple[int, float]]:
    part = slice(int(observations.ptr[t]), int(observations.ptr[t + 1]))
    ids = observations.ids[part].tolist()
    values = [1.0] * len(ids) if observations.values is None else observations.values[part].tolist()
    yield from zip(ids, values)
