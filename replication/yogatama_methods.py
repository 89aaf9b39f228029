"""Groups, grids and fits of the classification studies: everything is chosen on the development documents alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from spectral_common import Setting
from yogatama_data import PAIRS, Task, task

from spinney.classes import Clustering, brown, pair_counts
from spinney.classify import (
    THESIS_GRIDS,
    LinearClassifier,
    Tuned,
    cluster_groups,
    combined,
    constituent_groups,
    document_groups,
    lda_topics,
    sentence_groups,
    topic_groups,
    tune,
)
from spinney.corpus import sentence_arrays
from spinney.structure import Groups

PLAIN = ("lasso", "ridge", "elastic")
SENTENCE, DOCUMENT, LDA, BROWN, ALL = "sentence", "document", "LDA", "Brown", "sentence + LDA + Brown"
BROWN_MANY = "Brown, 5,000 clusters"
TREE, NEUTRAL, SHUFFLED = "parse tree, all", "parse tree, neutral", "sentences shuffled"
TOP = 10  # words of a topic
TOLERANCE, SWEEPS = 1e-3, 30
#: Of the study to the letter: the tolerance of the w-step, which the thesis gives as 1e-5, and the relative change of
#: w at which to stop, which it does not give.
W_STEP, CHANGE = 1e-5, 1e-3
THREADS = 2
NEUTRAL_LABEL = "2"

_TENS = [1e-2, 1e-1, 1.0, 10.0, 100.0]
Values = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """A method on a task: the setting chosen, and what it does on both sets."""

    params: Mapping[str, Any]
    model: LinearClassifier
    dev: float
    dev_loss: float
    correct: NDArray[np.bool_]  # of each test document
    n_fits: int
    n_short: int  # fits that stopped before their tolerance
    seconds: float  # of all fits

    @property
    def test(self) -> float:
        """Accuracy in percent."""
        return 100 * float(self.correct.mean())

    @property
    def size(self) -> float:
        """Percentage of weights that are not 0."""
        return 100 * self.model.n_active_ / self.model.coef_.size

    @property
    def rank(self) -> tuple[float, float]:
        """The rule by which one of several methods is chosen: accuracy, then log-loss, on the development set."""
        return self.dev, -self.dev_loss

    @property
    def chosen(self) -> str:
        """The parameters in short."""
        signs = {"lam": "λ", "l1": "ℓ1", "l2": "ℓ2", "rho": "ρ"}
        return ", ".join(f"{signs[name]} {value:.2g}" for name, value in self.params.items() if name in signs)


# -- groups ---------------------------------------------------------------------------------------------------------


@cache
def topics(setting: Setting, name: str) -> NDArray[np.float64]:
    """Topics of the training documents: 1,000 as in the thesis, of a quick run 100 by fewer passes."""
    n, passes = (100, 50) if setting.quick else (1_000, 100)
    return lda_topics(
        task(setting, name).X, n, method="tomotopy", iterations=passes, random_state=setting.seed
    )


@cache
def clusters(setting: Setting, name: str, n: int = 1_000) -> Clustering:
    """Brown clusters of the training documents: the thesis has 5,000 or 1,000; a quick run has a fifth of them."""
    arrays = sentence_arrays(task(setting, name).words())
    return brown(pair_counts(arrays), arrays.vocabulary, n // 5 if setting.quick else n)


@cache
def family(setting: Setting, name: str, kind: str, merge: bool = True) -> Groups:
    """Groups of one kind, of the training documents of a task."""
    data = task(setting, name)
    if kind == LDA:
        return topic_groups(topics(setting, name), data.features.names, data.features, top=TOP, merge=merge)
    if kind in (BROWN, BROWN_MANY):
        found = clusters(setting, name) if kind == BROWN else clusters(setting, name, 5_000)
        return cluster_groups(found.classes, data.features, merge=merge)
    if kind != ALL:
        return of_documents(data, kind, merge)
    parts = {one: family(setting, name, one) for one in (SENTENCE, LDA, BROWN)}
    # No family shall drown the others: the weights of each add up to those of the sentences.
    whole = parts[SENTENCE].weights.sum()
    return combined(
        parts, strengths={one: whole / groups.weights.sum() for one, groups in parts.items()}
    ).groups


def of_documents(data: Task, kind: str, merge: bool = True) -> Groups:
    """Groups that are parts of the training documents, or such groups shuffled."""
    features, train = data.features, data.train
    if kind == DOCUMENT:
        return document_groups(data.X.tocsr(), features, merge=merge)
    if kind in (TREE, NEUTRAL):
        keep = {NEUTRAL_LABEL} if kind == NEUTRAL else None
        return constituent_groups(train.trees or (), features, keep=keep, merge=merge)
    groups = sentence_groups(train.documents, features, merge=merge and kind == SENTENCE)
    return groups if kind == SENTENCE else shuffled(groups)


def shuffled(groups: Groups) -> Groups:
    """As many groups and members, each word in about as many of them, but in any company."""
    members = np.random.default_rng(0).permutation(groups.members)
    lists = [np.unique(members[a:b]).tolist() for a, b in zip(groups.ptr[:-1], groups.ptr[1:])]
    return Groups.from_lists(lists, groups.n_features)


# -- grids ----------------------------------------------------------------------------------------------------------


def plain_grid(method: str, short: bool = False) -> Values:
    """Half decades, so that what has no groups is tuned no worse than what has; decades, if it is to be short."""
    step = 2 if short else 1
    halves = [10 ** (k / 2) for k in range(-6, 7)]
    return {
        "lasso": {"penalty": ["l1"], "lam": halves[2:10:step]},
        "ridge": {"penalty": ["l2"], "lam": halves[::step]},
        "elastic": {
            "penalty": ["elasticnet"],
            "l2": _TENS[::step],
            "lam": [3.0, 1.0, 0.3, 0.1, 0.03, 0.01][::step],
        },
    }[method]


def group_grid(kind: str, ridge: bool, quick: bool, short: bool) -> Values:
    """λ by how often words are in groups of the kind: thousands of times in sentences, a few times in topics."""
    lam = {
        LDA: [1.0, 0.3, 0.1, 0.03, 0.01],
        BROWN: [0.3, 0.1, 0.03, 0.01, 0.003],
        BROWN_MANY: [0.3, 0.1, 0.03, 0.01, 0.003],
        DOCUMENT: [0.1, 3e-2, 1e-2, 3e-3, 1e-3],
    }.get(kind, [3e-2, 1e-2, 3e-3, 1e-3, 1e-4])
    l2 = [1.0, 10.0] if short else [0.1, 1.0, 10.0]
    return {
        "penalty": ["overlap"],
        "l2": l2 if ridge else [0.0],
        "l1": [0.03] if short else [0.03, 0.3],
        "lam": lam[1:4] if quick else lam,
    }


# -- fits -----------------------------------------------------------------------------------------------------------


def by_accuracy_then_loss(model: LinearClassifier, X: Any, y: Any) -> float:
    """Accuracy; among equals, the smaller log-loss. A few hundred documents tie many settings."""
    return float(model.score(X, y)) - 1e-7 * min(float(log_loss(y, model.predict_proba(X))), 100.0)


def outcome(data: Task, tuned: Tuned, X: tuple[Any, Any] | None = None) -> Outcome:
    """What was chosen, tried on the test documents. ``X``: their matrices, if they are not the task's."""
    X_dev, X_test = X or (data.X_dev, data.X_test)
    model = tuned.estimator
    assert isinstance(model, LinearClassifier)
    return Outcome(
        tuned.best_params,
        model,
        100 * float(model.score(X_dev, data.dev.y)),
        float(log_loss(data.dev.y, model.predict_proba(X_dev))),
        model.predict(X_test) == data.test.y,
        len(tuned.trials),
        sum(not trial.converged for trial in tuned.trials),
        sum(trial.seconds for trial in tuned.trials),
    )


def searched(data: Task, estimator: LinearClassifier, grid: Any, **options: Any) -> Tuned:
    """All cells of a grid; the tables say how many fits stopped before their tolerance, not warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tune(estimator, grid, data.X, data.train.y, data.X_dev, data.dev.y, threads=THREADS, **options)


def unstructured() -> LinearClassifier:
    """For lasso, ridge and elastic net."""
    return LinearClassifier(tol=TOLERANCE)


def with_groups(groups: Groups) -> LinearClassifier:
    """For groups, solved to a violation of a thousandth, or as far as so many sweeps go."""
    return LinearClassifier("overlap", groups=groups, solver="cd", tol=TOLERANCE, max_iter=SWEEPS)


@cache
def plain(setting: Setting, name: str, method: str) -> Outcome:
    """Lasso, ridge or elastic net."""
    data = task(setting, name)
    return outcome(data, searched(data, unstructured(), plain_grid(method), scoring=by_accuracy_then_loss))


@cache
def structured(setting: Setting, name: str, kind: str, ridge: bool) -> Outcome:
    """Groups and lasso, with or without a ridge; tasks other than the pairs have the short grid in quick runs."""
    data, estimator = task(setting, name), with_groups(family(setting, name, kind))
    grid = group_grid(kind, ridge, setting.quick, short=setting.quick and name not in PAIRS)
    return outcome(data, searched(data, estimator, grid, scoring=by_accuracy_then_loss))


@cache
def letter(setting: Setting, name: str, kind: str) -> Outcome:
    """As the thesis did: ADMM, ρ from the grid, its stopping rule, 100 iterations, ties to the smaller model."""
    data, groups = task(setting, name), unmerged(setting, name, kind)
    estimator = LinearClassifier(
        "overlap", groups=groups, solver="admm", tol=W_STEP, change_tol=CHANGE, max_iter=100
    )
    return outcome(data, searched(data, estimator, letter_grid(kind, setting.quick), warm_start=False))


def letter_grid(kind: str, quick: bool) -> Any:
    """The grid of the thesis, or its middle: ρ, ℓ1 and λ by decades."""
    if not quick:
        return THESIS_GRIDS["parse" if kind in (TREE, NEUTRAL) else kind.lower()]
    lam = [0.1, 1.0] if kind == LDA else [1e-3, 1e-2] if kind in (TREE, NEUTRAL) else [0.01, 0.1]
    return {"penalty": ["overlap"], "rho": [10.0, 100.0, 1000.0], "l1": [0.01, 0.1, 1.0], "lam": lam}


def unmerged(setting: Setting, name: str, kind: str) -> Groups:
    """Every copy counts for ADMM; sentences all weigh the same, as the thesis has it “for simplicity”."""
    groups = family(setting, name, kind, merge=False)
    if kind != SENTENCE:
        return groups
    return Groups(
        groups.ptr, groups.members, n_features=groups.n_features, weights="unit", names=groups.names
    )
