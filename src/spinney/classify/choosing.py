"""How ``fit`` chooses the strength where none is given, and the line that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from spinney.classify.choice import Choice, Rows, choose, emptying, split
from spinney.classify.class_weight import class_weights
from spinney.classify.crossval import folds_of, solving
from spinney.classify.documents import Data
from spinney.classify.linear import LinearClassifier
from spinney.errors import SettingError
from spinney.optim import Penalty, PenaltySpec
from spinney.progress import log

FOLDS = 5
#: From so many non-zero entries times outputs on, a fifth of the documents is held out once instead of five times.
LARGE = 10_000_000
#: The same for groups of words, whose penalties are slower.
LARGE_GROUPED = 200_000
_FURTHEST = 16  # steps from λ = 1 at which the search for the λ of a tree ends
WITHOUT_CHOICE = 0.1  # λ as a share of the λ that empties the model, where nothing can be held out


class Chosen(NamedTuple):
    """How a strength was chosen: in one line, and as the facts of a model file."""

    line: str
    facts: dict[str, Any]


def chosen(s: Any, estimator: Any, tied: Mapping[str, float], data: Data, threads: int) -> Chosen | None:
    """Choose λ for an estimator, which gets it; None for penalties that have none, or bring their own."""
    if isinstance(estimator.penalty, Penalty | PenaltySpec) or estimator.penalty == "none":
        if data.dev_X is not None and s.unlabelled is None:
            what = "the penalty {name} has no strengths left to tune: leave out {dev}"
            raise SettingError(what, name=PenaltySpec.of(estimator.penalty).name)
        return None
    X, y = estimator._checked(data.X, data.y)
    loss, penalty = estimator._problem(X, y, None)
    penalty = penalty.tied(**tied) if tied else penalty
    weights = estimator._example_weights(X, y, None)
    if data.dev_X is not None:
        dev_y = np.searchsorted(estimator.classes_, data.dev_y) if _classifies(estimator) else data.dev_y
        train = folds_of(estimator, X, y, weights, [(np.arange(len(y)), np.arange(1))])[0]
        # Held-out documents count as those of their class do in training.
        given = estimator.class_weight
        counting = None if given is None else class_weights(given, estimator.classes_, y)[dev_y]
        judge = folds_of(estimator, data.dev_X, dev_y, counting, [(np.arange(1), np.arange(len(dev_y)))])[0]
        folds, by = [train._replace(held_out=judge.held_out, score=judge.score)], "on the held-out documents"
    else:
        parts, by = _parts(s, estimator, X, y, loss.n_outputs, len(y))
        folds = folds_of(estimator, X, y, weights, parts)
    if not any(emptying(fold.train, penalty) > 0 for fold in folds):
        return _without_choice(estimator, tied, emptying(loss, penalty))
    found = choose(
        folds,
        penalty,
        threads=threads,
        **solving(estimator),
    )
    _give(estimator, tied, found.best.lam)
    facts = {"by": by, **found.facts()}
    facts |= {} if data.dev_X is None else {"dev_documents": len(data.dev_y)}
    return Chosen(_line(found, by, _classifies(estimator)), facts)


def chosen_on_dev(estimator: Any, tied: Mapping[str, float], data: Data) -> Chosen:
    """Choose one λ for all nodes of a classifier along a tree, by its mean log-loss on held-out documents.

    From λ = 1, it goes up and down by factors of √10, each way until two strengths in a row are worse than the best.
    """
    if isinstance(estimator.penalty, Penalty | PenaltySpec) or estimator.penalty == "none":
        what = "the penalty {name} has no strengths left to tune: leave out {dev}"
        raise SettingError(what, name=PenaltySpec.of(estimator.penalty).name)
    losses: dict[int, float] = {}
    scores: dict[int, float] = {}

    def lam_of(step: int) -> float:
        return float(10 ** (step / 2))

    def loss_at(step: int) -> float:
        trial = clone(estimator)
        _give(trial, tied, lam_of(step))
        trial.fit(data.X, data.y)
        found = trial.predict_log_proba(data.dev_X)
        codes = np.searchsorted(trial.classes_, data.dev_y)
        losses[step] = float(-found[np.arange(len(codes)), codes].mean())
        scores[step] = float(np.mean(found.argmax(axis=1) == codes))
        return losses[step]

    loss_at(0)
    for direction in (1, -1):
        step, worse = 0, 0
        while worse < 2 and abs(step) < _FURTHEST:
            step += direction
            before = min(losses.values())
            worse = 0 if loss_at(step) < before else worse + 1
    best = min(losses, key=lambda step: (losses[step], -step))
    _give(estimator, tied, lam_of(best))
    tried = [{"lam": lam_of(k), "loss": losses[k], "score": scores[k]} for k in sorted(losses, reverse=True)]
    line = (
        f"λ = {lam_of(best):.4g} chosen on the held-out documents among {len(tried)} strengths from "
        f"{tried[0]['lam']:.3g} to {tried[-1]['lam']:.3g} (accuracy {scores[best]:.3f} there)"
    )
    facts = {"by": "on the held-out documents", "folds": 1, "score": scores[best], "loss": losses[best]}
    facts |= {"strengths": len(tried), "tried": tried, "dev_documents": len(data.dev_y)}
    return Chosen(line, facts)


def _classifies(estimator: Any) -> bool:
    return isinstance(estimator, LinearClassifier)


def _check_folds(folds: int, codes: Any, n: int, estimator: Any) -> None:
    """Refuse more folds than documents, and say where a class is not in all of them."""
    if folds > n:
        raise SettingError("{cv} must be at most {n}, the number of documents, not {folds}", n=n, folds=folds)
    if codes is None:
        return
    sizes = np.bincount(codes)
    least = int(sizes.argmin())
    if folds > sizes[least]:
        log.warning(
            "%d folds, but the class %r has only %d documents: some folds are judged without it",
            folds, str(estimator.classes_[least]), int(sizes[least]),
        )  # fmt: skip


def _parts(
    s: Any, estimator: Any, X: Any, y: Any, n_outputs: int, n: int
) -> tuple[list[tuple[Rows, Rows]], str]:
    """The folds, and what to call them."""
    if s.cv is not None:
        _check_folds(s.cv, y if _classifies(estimator) else None, n, estimator)
    parts = split(y if _classifies(estimator) else np.zeros(n, np.intp), s.cv or FOLDS, s.seed)
    entries = int(X.nnz) if hasattr(X, "nnz") else X.size
    large = LARGE if estimator.groups is None else LARGE_GROUPED
    if s.cv is None and entries * n_outputs > large and len(parts) == FOLDS:
        return parts[:1], "on a fifth of the documents, held out"
    return parts, f"by {len(parts)}-fold cross-validation"


def _give(estimator: Any, tied: Mapping[str, float], lam: float) -> None:
    estimator.set_params(lam=lam, **{name: times * lam for name, times in tied.items()})


def _line(found: Choice, by: str, classifier: bool) -> str:
    best, tried = found.best, found.tried
    score = f"accuracy {best.score:.3f}" if classifier else f"R² {best.score:.3f}"
    edge = ", the end of the path" if best.lam == tried[-1].lam else ""
    return (
        f"λ = {best.lam:.4g}{edge} chosen {by} among {len(tried)} strengths from {tried[0].lam:.3g} to "
        f"{tried[-1].lam:.3g} ({score} there)"
    )


def _without_choice(estimator: Any, tied: Mapping[str, float], largest: float) -> Chosen:
    lam = WITHOUT_CHOICE * largest if largest > 0 else 1.0
    _give(estimator, tied, lam)
    line = (
        f"λ = {lam:.4g}, a tenth of the λ that empties the model: there are too few documents to choose it on"
    )
    return Chosen(line, {"by": "nothing: too few documents", "folds": 0, "strengths": 0, "tried": []})
