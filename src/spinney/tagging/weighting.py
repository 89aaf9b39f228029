"""Weights of labelled sentences from unlabelled ones, and self-training: semi-supervised learning for any tagger.

A labelled sentence counts for more if sentences like it are rarer among the labelled ones than in the unlabelled text
(Sokolovska, Cappé & Yvon 2008; Sokolovska 2010 leaves the extension to sequences open).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, OptionError, unknown_choice
from spinney.tagging.sequences import Floats, Observations, Sequences

Model = TypeVar("Model")
Labelling = tuple[NDArray[np.int32], Floats]


def sequence_weights(
    labelled: Sequences,
    unlabelled: Sequences,
    *,
    n_clusters: int | None = 10,
    by: Literal["cluster", "exact"] = "cluster",
    random_state: Any = 0,
) -> Floats:
    """The weight q(stratum) / (labelled sentences in it) of each labelled sentence, scaled to mean 1.

    q is the share of a stratum among unlabelled sentences, which count by their weights if they have some (Sokolovska
    2010, §4.2 and §5.2). Existing weights of the labelled sentences are ignored.

    Parameters
    ----------
    labelled, unlabelled : Sequences
        With the same observations.
    n_clusters : int
        For ``cluster``: the number of clusters.
    by : str
        ``cluster``: a stratum is a cluster of a mixture of multinomials over bags of unigram observations, fitted to
        all sentences. ``exact``: it is all sentences with the same unigram observations in the same order.
    random_state : int, RandomState or None
        For the mixture.

    Returns
    -------
    array of shape (len(labelled),)
        0 for a sentence whose stratum has no unlabelled sentence.

    Examples
    --------
    >>> def one_word(*words):
    ...     n = len(words)
    ...     seen = Observations(np.arange(n + 1), np.array(words, np.int32), n=2)
    ...     return Sequences(np.arange(n + 1), seen, Observations.always(n))
    >>> sequence_weights(one_word(0, 0, 1), one_word(0, 1, 1, 1), by="exact").tolist()
    [0.375, 0.375, 2.25]
    """
    from spinney.inference.strata import stratum_weights

    _check_same_observations(labelled, unlabelled)
    if by == "exact":
        strata = _identical(labelled, unlabelled)
    elif by != "cluster":
        raise unknown_choice("by must be", by, ("cluster", "exact"))
    elif n_clusters is None:
        raise OptionError("by='cluster' needs a number of clusters")
    else:
        from spinney.inference.mixture import MultinomialMixture  # slow to import, seldom needed

        if any(np.any(part.unigrams.flat_values < 0) for part in (labelled, unlabelled)):
            raise InputError("clustering needs values ≥ 0, but an observation has a negative value")
        mixture = MultinomialMixture(n_clusters, random_state=random_state)
        strata = mixture.fit(_stacked_bags(labelled, unlabelled)).labels_
    n = len(labelled)
    population = np.bincount(strata[n:], unlabelled.weights, minlength=int(strata.max(initial=-1)) + 1)
    return _mean_one(stratum_weights(strata[:n], population))


def shift_weights(labelled: Sequences, unlabelled: Sequences, *, strength: float = 1.0) -> Floats:
    """Shimodaira's q_test(x) / q_train(x) at labelled sentences, scaled to mean 1, where neither distribution is known.

    A logistic regression over bags of unigram observations separates the unlabelled sentences (the test distribution)
    from the labelled ones; its odds are the ratio. Bags have unit length: with counts as they are, the log-odds grow
    with the length of a sentence, and a few long ones take all the weight.

    Parameters
    ----------
    labelled, unlabelled : Sequences
        With the same observations.
    strength : float
        Strength of the ℓ2 penalty of the logistic regression. The weaker it is, the more uneven the weights.

    Examples
    --------
    >>> def one_word(*words):
    ...     n = len(words)
    ...     seen = Observations(np.arange(n + 1), np.array(words, np.int32), n=2)
    ...     return Sequences(np.arange(n + 1), seen, Observations.always(n))
    >>> shift_weights(one_word(0, 0, 1), one_word(0, 1, 1, 1), strength=0.01).round(1).tolist()
    [0.4, 0.4, 2.2]
    """
    from scipy.sparse import diags_array

    from spinney.optim import L2, LogisticLoss, gradient_scale, solve, warn_unless_converged

    _check_same_observations(labelled, unlabelled)
    bags = _stacked_bags(labelled, unlabelled)
    n, m = len(labelled), len(unlabelled)
    sample_weight = None
    if unlabelled.weights is not None:
        sample_weight = np.concatenate([np.ones(n), unlabelled.weights])
    norms = np.sqrt(bags.multiply(bags).sum(axis=1))
    bags = diags_array(1.0 / np.where(norms > 0.0, norms, 1.0)) @ bags
    loss = LogisticLoss(bags.tocsr(), np.repeat([-1.0, 1.0], [n, m]), sample_weight)
    tol = 1e-4  # the weights are only rough estimates, and frequent observations slow convergence down
    scale = max(gradient_scale(loss), 1e-6 * (n + m))  # not 0 where both are alike
    solution = solve(loss, L2(strength), tol=tol, scale=scale)
    warn_unless_converged(solution, tol)
    odds = loss.margins(solution.w)[:n]
    return _mean_one(np.exp(odds - odds.max(initial=-np.inf)))


def self_training(
    fit: Callable[[Sequences], Model],
    predict: Callable[[Model, Sequences], Labelling],
    labelled: Sequences,
    unlabelled: Sequences,
    *,
    threshold: float = 0.9,
    rounds: int = 10,
) -> Model:
    """Fit a model, add the unlabelled sentences that it labels with confidence, and fit again.

    The baseline of semi-supervised learning. A sentence keeps the labels that it was given first.

    Parameters
    ----------
    fit : callable
        Fits a model to labelled sentences.
    predict : callable
        Given a model and sentences, returns a label for each token and, for each sentence, the confidence in all its
        labels.
    labelled, unlabelled : Sequences
        With the same observations.
    threshold : float
        Minimum confidence for a sentence to be added.
    rounds : int
        Maximum number of rounds; training ends earlier if no sentence is left to add.

    Returns
    -------
    The last model.

    Examples
    --------
    >>> seen = Observations(np.arange(4), np.array([0, 1, 2], np.int32), n=3)
    >>> data = Sequences(np.arange(4), seen, Observations.always(3), labels=np.array([0, 1, 1], np.int32))
    >>> def fit(data):  # a model that only remembers how many sentences it saw
    ...     return len(data)
    >>> def predict(model, data):
    ...     return np.zeros(data.n_tokens, np.int32), np.full(len(data), 0.95)
    >>> self_training(fit, predict, data.part(0, 1), data.part(1, 3))
    3
    """
    if rounds < 0 or not np.isfinite(threshold):
        raise OptionError("self-training needs rounds ≥ 0 and a finite threshold")
    _check_same_observations(labelled, unlabelled)
    model = fit(labelled)
    for _ in range(rounds):
        if not len(unlabelled):
            break
        labels, confidence = predict(model, unlabelled)
        sure = np.asarray(confidence) >= threshold
        if not sure.any():
            break
        guessed = replace(unlabelled, labels=np.asarray(labels, np.int32))
        labelled = concatenate(labelled, guessed.take(np.flatnonzero(sure)))
        unlabelled = unlabelled.take(np.flatnonzero(~sure))
        model = fit(labelled)
    return model


def concatenate(one: Sequences, other: Sequences) -> Sequences:
    """The sentences of one, then those of the other; both must have the same observations.

    Where only one has labels, those of the other are unknown; where only one has weights or values, they are 1 in the
    other.

    Examples
    --------
    >>> seen = Observations(np.array([0, 1]), np.array([0], np.int32), n=1)
    >>> unlabelled = Sequences(np.array([0, 1]), seen, Observations.always(1))
    >>> concatenate(replace(unlabelled, labels=np.array([2], np.int32)), unlabelled).labels
    array([ 2, -1], dtype=int32)
    """
    _check_same_observations(one, other)
    labels, label_sets = _joined_labels(one, other)
    weights = None
    if one.weights is not None or other.weights is not None:
        weights = np.concatenate(
            [np.ones(len(part)) if part.weights is None else part.weights for part in (one, other)]
        )
    return Sequences(
        np.concatenate([one.offsets, one.n_tokens + other.offsets[1:]]),
        _joined(one.unigrams, other.unigrams),
        _joined(one.bigrams, other.bigrams),
        labels,
        label_sets,
        weights,
    )


def _joined(one: Observations, other: Observations) -> Observations:
    values = None
    if one.values is not None or other.values is not None:
        values = np.concatenate(
            [np.ones(len(part.ids)) if part.values is None else part.values for part in (one, other)]
        )
    ptr = np.concatenate([one.ptr, one.ptr[-1] + other.ptr[1:]])
    return Observations(ptr, np.concatenate([one.ids, other.ids]), one.n, values)


def _joined_labels(one: Sequences, other: Sequences) -> tuple[NDArray[np.int32] | None, NDArray[np.bool_]]:
    """Labels, and one list of sets for both: first those of one, then those of the other but for its row 0 (all)."""
    widths = {sets.shape[1] for sets in (one.label_sets, other.label_sets)} - {0}
    if len(widths) > 1:
        raise InputError("label sets have different numbers of labels")
    width = max(widths, default=0)
    first, second = (
        part.label_sets if part.label_sets.shape[1] else np.ones((1, width), np.bool_)
        for part in (one, other)
    )
    sets = np.vstack([first, second[1:]])
    if one.labels is None and other.labels is None:
        return None, sets
    before, after = (
        np.full(part.n_tokens, -1, np.int32) if part.labels is None else part.labels for part in (one, other)
    )
    after = np.where(after < -1, after - (len(first) - 1), after).astype(np.int32)
    return np.concatenate([before, after]), sets


def _check_same_observations(one: Sequences, other: Sequences) -> None:
    sizes = [(part.unigrams.n, part.bigrams.n) for part in (one, other)]
    if sizes[0] != sizes[1]:
        (a, b), (c, d) = sizes
        raise InputError(
            f"sentences with {a} + {b} observations and with {c} + {d}",
            remedy="use the same extractor for both",
        )


def _stacked_bags(one: Sequences, other: Sequences) -> Any:
    """How often each sentence has each unigram observation, a sparse matrix."""
    from scipy.sparse import csr_array, vstack

    def bags(data: Sequences) -> Any:
        seen = data.unigrams
        values = np.ones(len(seen.ids)) if seen.values is None else seen.values
        rows = values, seen.ids, seen.ptr[data.offsets]
        counts = csr_array(rows, shape=(len(data), seen.n), copy=True)  # the next line sorts in place
        counts.sum_duplicates()
        return counts

    return vstack([bags(one), bags(other)], format="csr")


def _identical(*parts: Sequences) -> NDArray[np.intp]:
    """A number for each sentence, equal for sentences with the same unigram observations at each token."""
    number: dict[tuple[bytes, bytes, bytes], int] = {}

    def keys(data: Sequences) -> list[int]:
        seen, width, found = data.unigrams, np.diff(data.unigrams.ptr), []
        values = np.ones(len(seen.ids)) if seen.values is None else seen.values
        for a, b in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist()):
            ids = slice(int(seen.ptr[a]), int(seen.ptr[b]))
            key = width[a:b].tobytes(), seen.ids[ids].tobytes(), values[ids].tobytes()
            found.append(number.setdefault(key, len(number)))
        return found

    return np.array([place for part in parts for place in keys(part)], np.intp)


def _mean_one(weights: Floats) -> Floats:
    total = float(weights.sum())
    if total == 0.0:
        raise InputError(
            "no labelled sentence occurs among the unlabelled ones, so all weights are 0",
            remedy="compare clusters of sentences instead: by='cluster'",
        )
    return weights * (len(weights) / total)
