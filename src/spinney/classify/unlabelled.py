"""How ``fit`` uses unlabelled documents: the use that does best on held-out labels, unless labels alone do as well.

The criteria are those of :class:`~spinney.classify.SemiSupervisedClassifier`. Most of them hurt as often as they help,
so supervised training is always among the candidates, and another must make fewer errors on held-out documents by more
than the standard error of the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney import progress
from spinney.classify.choice import ROUGH, split
from spinney.classify.documents import Data
from spinney.classify.semisupervised import STRENGTHS as DEFAULTS
from spinney.classify.semisupervised import SemiSupervisedClassifier
from spinney.evaluate.significance import clearly_best

SUPERVISED = "supervised"
#: The strengths to try of each criterion.
STRENGTHS: dict[str, tuple[float, ...]] = {
    "weighted": (0.5, 1.0),
    "shift": (0.5, 1.0),
    "entropy": (1e-3, 1e-2, 1e-1),
    "self-training": (0.9, 0.99),
}
PARTS = 5  # of the labelled documents; each in turn is held out
CLUSTERS = 10  # of documents, for the criterion weighted: no two documents are identical
FEW = 0.5  # of the labelled documents: a smaller effective sample is worth a warning


@dataclass(frozen=True)
class Use:
    """A way to use unlabelled documents; its effective sample, and the share of errors on held-out documents."""

    criterion: str
    strength: float | None = None
    effective_sample: float | None = None
    error: float | None = None


def chosen_use(
    estimator: Any,
    data: Data,
    unlabelled: Any,
    criterion: str | None,
    strength: float | None,
    seed: int,
    clusters: int | None = None,
) -> tuple[Use, list[Use]]:
    """The best use of unlabelled documents, and all that were tried; one that is fully given is taken as it is."""
    if criterion is not None and strength is not None:
        only = Use(criterion, strength)
        return only, [only]
    names = tuple(STRENGTHS) if criterion is None else (criterion,)
    ways = [Use(SUPERVISED), *(Use(name, s) for name in names for s in STRENGTHS[name])]
    rough = clone(estimator).set_params(tol=max(estimator.tol, ROUGH))
    wrong: list[list[NDArray[np.bool_]]] = [[] for _ in ways]
    for X, y, test_X, test_y in _held_out(data, seed):
        for k, use in enumerate(ways):
            with progress.task(f"trying {use.criterion}"):
                model = fitted(rough, use, X, y, unlabelled, seed, clusters)
            wrong[k].append(model.predict(test_X) != test_y)
    errors = np.array([np.concatenate(parts) for parts in wrong])
    tried = [replace(use, error=float(row.mean())) for use, row in zip(ways, errors)]
    return tried[clearly_best(errors)], tried


def fitted(
    estimator: Any, use: Use, X: Any, y: Any, unlabelled: Any, seed: int, clusters: int | None = None
) -> SemiSupervisedClassifier:
    """The classifier that a use of unlabelled documents gives; ``clusters`` are for the criterion weighted."""
    n = min(clusters or CLUSTERS, X.shape[0]) if use.criterion == "weighted" else None
    model = SemiSupervisedClassifier(
        estimator, use.criterion, strength=use.strength, n_clusters=n, random_state=seed
    )
    return model.fit(X, y, unlabelled)


def facts_of(use: Use, tried: Sequence[Use], n: int) -> dict[str, Any]:
    """What a model remembers of how it used unlabelled documents."""
    return {
        "criterion": use.criterion,
        "criterion_strength": DEFAULTS.get(use.criterion) if use.strength is None else use.strength,
        "effective_sample": use.effective_sample,
        "criterion_error": use.error,
        "criteria_tried": [asdict(one) for one in tried],
        "unlabelled": n,
    }


def said(use: Use, tried: Sequence[Use], labelled: int, unlabelled: int) -> str:
    """One line on what was chosen; weights that leave few documents are warned of."""
    if use.criterion == SUPERVISED:
        return (
            f"The {unlabelled:,} unlabelled documents are not used: none of {len(tried) - 1} ways is clearly better on "
            f"held-out documents (error {use.error:.3f} with labels alone)"
        )
    if use.effective_sample is not None and use.effective_sample < FEW * labelled:
        progress.log.warning(
            "the weights of the criterion %s leave an effective sample of %.0f of %d labelled documents: lower "
            "criterion_strength, or leave it out to have it chosen on held-out documents",
            use.criterion, use.effective_sample, labelled,
        )  # fmt: skip
    size = (
        "" if use.effective_sample is None else f"; effective sample {use.effective_sample:.0f} of {labelled}"
    )
    alone = (
        ""
        if len(tried) < 2
        else f", error {use.error:.3f} instead of {tried[0].error:.3f} on held-out documents"
    )
    return f"{unlabelled:,} unlabelled documents used by the criterion {use.criterion} at {use.strength:g}{alone}{size}"


def _held_out(data: Data, seed: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    if data.dev_X is not None:
        yield data.X, data.y, data.dev_X, data.dev_y
        return
    X, codes = data.X.tocsr(), np.unique(data.y, return_inverse=True)[1]
    for train, test in split(codes, PARTS, seed):
        yield X[train], data.y[train], X[test], data.y[test]
