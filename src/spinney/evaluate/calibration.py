"""How far probabilities can be trusted: of all answers given with probability 0.8, are eight in ten right?

Answers are sorted into bins by their probability; in each bin, the mean probability is compared with the share of right
answers. The expected calibration error is the mean of the differences, weighted by the number of answers (Naeini and
others 2015). Bins of equal width are usual; bins of equal mass have the same number of answers each, so that their
shares are equally reliable, and answers that are nearly all close to 1 do not fall into a single bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.checking import whole
from spinney.errors import InputError, unknown_choice
from spinney.views import Table

Bins = Literal["mass", "width"]
BINS = 10


class Bin(NamedTuple):
    """Some answers of similar probability: its range, how many there are, the mean, and the share of right ones."""

    low: float
    high: float
    answers: int
    probability: float
    right: float


def reliability(
    probabilities: ArrayLike, right: ArrayLike, *, bins: int = BINS, by: Bins = "mass"
) -> list[Bin]:
    """Answers by their probability, in bins of equal mass or equal width; empty bins are left out.

    Answers of equal probability are in the same bin, so bins of equal mass may differ where there are many of them.

    Parameters
    ----------
    probabilities : float array [N]
        The probability that each answer is right, as the model has it.
    right : bool array [N]
        Whether it is right.
    bins : int
        The number of bins.
    by : str
        ``"mass"`` or ``"width"``.

    Examples
    --------
    >>> for one in reliability([0.5, 0.6, 0.9, 1.0], [False, True, True, True], bins=2):
    ...     print(one.answers, round(one.probability, 2), one.right)
    2 0.55 0.5
    2 0.95 1.0
    """
    p, correct = _checked(probabilities, right)
    number = _bin_numbers(p, whole("bins", bins, 1), by)
    found = []
    for k in np.unique(number):
        inside = number == k
        of = p[inside]
        found.append(
            Bin(float(of.min()), float(of.max()), len(of), float(of.mean()), float(correct[inside].mean()))
        )
    return found


def calibration_error(
    probabilities: ArrayLike, right: ArrayLike, *, bins: int = BINS, by: Bins = "mass"
) -> float:
    """The expected calibration error: the mean difference between the probability and the share of right answers.

    Examples
    --------
    >>> round(calibration_error([0.5, 0.6, 0.9, 1.0], [False, True, True, True], bins=2), 3)
    0.05
    """
    found = reliability(probabilities, right, bins=bins, by=by)
    total = sum(one.answers for one in found)
    return sum(one.answers * abs(one.probability - one.right) for one in found) / total


def brier_score(probabilities: ArrayLike, right: ArrayLike) -> float:
    """The mean squared difference between the probability of an answer and 1 if it is right, 0 if it is wrong.

    For two classes, it is the Brier score of either of them.

    Examples
    --------
    >>> round(brier_score([0.8, 0.6], [True, False]), 4)
    0.2
    """
    p, correct = _checked(probabilities, right)
    return float(np.mean((p - correct) ** 2))


def confidence_scores(probabilities: ArrayLike, right: ArrayLike, before: str = "") -> dict[str, float]:
    """What ``eval`` tells of probabilities: ``calibration_error`` (by mass and by width) and ``brier``.

    Examples
    --------
    >>> confidence_scores([1.0, 0.5], [True, False], before="phrase_")["phrase_brier"]
    0.125
    """
    return {
        f"{before}calibration_error": calibration_error(probabilities, right),
        f"{before}calibration_error_width": calibration_error(probabilities, right, by="width"),
        f"{before}brier": brier_score(probabilities, right),
    }


def answered_scores(probabilities: ArrayLike, right: ArrayLike, abstain: float) -> dict[str, Any]:
    """How many answers are left without those less probable than ``abstain``, and how many of these are right.

    Examples
    --------
    >>> answered_scores([0.9, 0.4, 0.8], [True, False, False], 0.5)
    {'coverage': 0.666..., 'accuracy_answered': 0.5}
    """
    p, correct = _checked(probabilities, right)
    kept = p >= abstain
    return {
        "coverage": float(kept.mean()),
        "accuracy_answered": float(correct[kept].mean()) if kept.any() else None,
    }


def reliability_table(found: Sequence[Bin], key: str, title: str) -> Table:
    """Bins as a table: what the model says, and what is true."""
    header = ["probabilities", "answers", "mean", "right", "difference"]
    rows = [
        [
            f"{one.low:.3f}–{one.high:.3f}",
            one.answers,
            one.probability,
            one.right,
            one.right - one.probability,
        ]
        for one in found
    ]
    return Table(key, title, header, rows)


def _checked(probabilities: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, correct = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    if p.ndim != 1 or p.shape != correct.shape or not p.size:
        raise InputError("there must be one probability for each answer, and at least one answer")
    if not np.all((p >= 0) & (p <= 1 + 1e-9)):
        raise InputError("probabilities must be between 0 and 1")
    return np.minimum(p, 1.0), correct


def _bin_numbers(p: NDArray[np.float64], bins: int, by: Bins) -> NDArray[np.int64]:
    if by == "width":
        edges = np.linspace(0.0, 1.0, bins + 1)  # as scikit-learn's calibration_curve: right ends are inside
        return np.asarray(np.searchsorted(edges[1:-1], p), np.int64)
    if by != "mass":
        raise unknown_choice("by must be", by, ("mass", "width"))
    # The rank of the first of equal probabilities decides, so that no bin depends on the order of the data.
    ordered = np.sort(p)
    return np.asarray(np.searchsorted(ordered, p) * bins // len(p), np.int64)
