"""What a chain model learned, in words: its strongest observations and transitions, and what is active."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.tagging.extract import Extractor
from spinney.tagging.selection import active_counts
from spinney.tagging.selection import orphans as count_orphans
from spinney.tagging.support import Shape
from spinney.tagging.weights import ChainWeights

Transition = tuple[str, str, str, float]  # what is seen, the label before, the label, the weight


def strongest(
    weights: ChainWeights,
    extractor: Extractor,
    labels: Sequence[str],
    k: int,
    by: str,
    against: bool = False,
) -> dict[str, list[tuple[str, float]]]:
    """The ``k`` observations with the largest weights for each label, or of each pattern; or those ``against`` it."""
    mu, names = weights.shape.mu(weights.full()), extractor.names("u")
    found = {}
    if by == "label":
        sign = -1.0 if against else 1.0
        for y, label in enumerate(labels):
            order = np.argsort(-sign * mu[:, y], kind="stable")[:k]
            found[label] = [(names[o], float(mu[o, y])) for o in order if sign * mu[o, y] > 0]
        return found
    if by != "pattern":
        raise unknown_choice("by must be", by, ("label", "pattern"))
    if against:
        raise OptionError("the strongest weights of a pattern have either sign: leave out against")
    pattern_of = extractor.pattern_of("u")
    best = np.abs(mu).max(axis=1, initial=0.0)
    for p, pattern in enumerate(extractor.patterns):
        inside = np.flatnonzero(pattern_of == p)
        order = inside[np.argsort(-best[inside], kind="stable")[:k]]
        rows = [(o, int(np.argmax(np.abs(mu[o])))) for o in order]
        if rows:
            found[pattern.text] = [(f"{names[o]} → {labels[y]}", float(mu[o, y])) for o, y in rows]
    return found


def transitions(
    weights: ChainWeights, extractor: Extractor, labels: Sequence[str], k: int
) -> tuple[list[Transition], list[Transition]]:
    """The ``k`` largest positive and the ``k`` largest negative bigram weights."""
    lam, names = weights.shape.lam(weights.full()), extractor.names("b")
    before = [*labels, "(start)"]
    order, flat = np.argsort(-lam, axis=None, kind="stable"), lam.ravel()

    def row(place: int) -> Transition:
        b, z, y = map(int, np.unravel_index(place, lam.shape))
        return names[b], before[z], labels[y], float(lam[b, z, y])

    return [row(i) for i in order[:k] if flat[i] > 0], [row(i) for i in order[::-1][:k] if flat[i] < 0]


def label_pairs(weights: ChainWeights, extractor: Extractor) -> NDArray[np.float64] | None:
    """The bigram weights of every token, whatever is seen: previous labels (the start last, if any) × labels.

    They belong to patterns without fields, such as the plain ``B``; None if there is no such pattern.
    """
    lam, blind = weights.shape.lam(weights.full()), [not pattern.fields for pattern in extractor.patterns]
    always = [b for b, p in enumerate(extractor.pattern_of("b").tolist()) if blind[p]]
    return lam[always].sum(axis=0) if always else None


def hmm_laws(weights: ChainWeights) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities of a counted model: of labels after labels (the start last), and of symbols given labels.

    Its weights are μ = log b(y, x) − log b(y, unknown) and λ = log a(y', y) + log b(y, unknown); the probabilities of
    all symbols and the unknown one sum to 1.
    """
    w, shape = weights.full(), weights.shape
    odds = np.exp(shape.mu(w))
    unknown = 1.0 / (1.0 + odds.sum(axis=0))
    return np.exp(shape.lam(w)[0]) / unknown, odds * unknown


def active_by_pattern(weights: ChainWeights, extractor: Extractor) -> dict[str, tuple[int, int]]:
    """For each pattern that has any, the numbers of non-zero unigram and bigram weights."""
    texts = [pattern.text for pattern in extractor.patterns]
    patterns = extractor.pattern_of("u"), extractor.pattern_of("b")
    counts = active_counts(weights.full(), weights.shape, *patterns, texts)
    return {text: (pair.unigrams, pair.bigrams) for text, pair in counts.items() if any(pair)}


def observations_by_pattern(extractor: Extractor) -> dict[str, int]:
    """For each pattern, how many different observations it makes; one made by several patterns counts for the first."""
    patterns = np.concatenate([extractor.pattern_of("u"), extractor.pattern_of("b")])
    counts = np.bincount(patterns, minlength=len(extractor.patterns))
    return {pattern.text: int(n) for pattern, n in zip(extractor.patterns, counts.tolist())}


def orphans(weights: ChainWeights, extractor: Extractor) -> tuple[int, int]:
    """Active bigram weights λ(y', y, x) that have a unigram μ(y, x) beside them; those of them where it is zero."""
    w, shape, parents = weights.full(), weights.shape, partners(extractor)
    # A unigram observation without any weight is not stored; it is recognised by its pattern. It becomes one more
    # observation, whose weights are zero.
    unigrams = {_seen(pattern.text) for pattern in extractor.patterns if pattern.kind != "b"}
    beside = np.array([_seen(p.text) in unigrams for p in extractor.patterns], np.bool_)[
        extractor.pattern_of("b")
    ]
    parents = np.where((parents < 0) & beside, shape.unigrams, parents)
    larger = Shape(shape.unigrams + 1, shape.bigrams, shape.labels, shape.start)
    padded = np.insert(w, shape.n_mu, np.zeros(shape.labels))
    counted = count_orphans(padded, larger, parents)
    return counted.active, counted.orphans


def partners(extractor: Extractor) -> NDArray[np.int64]:
    """For each bigram observation, the unigram observation with the same content, or −1."""
    number = {_seen(name): i for i, name in enumerate(extractor.names("u"))}
    return np.array([number.get(_seen(name), -1) for name in extractor.names("b")], np.int64)


def _seen(name: str) -> str:
    """The content of an observation, without the letter of its kind."""
    return name[1:]
