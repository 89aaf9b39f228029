"""How good predicted labels and numbers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def classification_scores(
    truth: Sequence[Any],
    predicted: Sequence[Any],
    proba: ArrayLike | None = None,
    classes: Sequence[Any] = (),
) -> dict[str, Any]:
    """Accuracy, macro-averaged F1, precision, recall and F1 of each class and, given probabilities, the mean log loss.

    A true label that is not among the classes is an error, and has no probability: the log loss is None then.

    Examples
    --------
    >>> scores = classification_scores(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> scores["accuracy"], round(scores["f1"], 4)
    (0.75, 0.7333)
    """
    from sklearn.metrics import precision_recall_fscore_support

    truth_array, predicted_array = np.asarray(truth), np.asarray(predicted)
    labels = np.unique(np.concatenate([truth_array, predicted_array]))
    precision, recall, f1, support = precision_recall_fscore_support(
        truth_array, predicted_array, labels=labels, zero_division=0.0
    )
    scores: dict[str, Any] = {
        "accuracy": float(np.mean(truth_array == predicted_array)),
        "f1": float(f1.mean()),
        "documents": len(truth_array),
        "classes": {
            str(label): {"precision": float(p), "recall": float(r), "f1": float(f), "documents": int(s)}
            for label, p, r, f, s in zip(labels, precision, recall, f1, support)
        },
    }
    if proba is not None:
        column = {label: k for k, label in enumerate(classes)}
        scores["log_loss"] = None
        if all(label in column for label in truth):
            rows = np.asarray(proba)[np.arange(len(truth_array)), [column[label] for label in truth]]
            scores["log_loss"] = float(-np.mean(np.log(np.maximum(rows, 1e-300))))
    return scores


def regression_scores(truth: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """Mean squared and absolute error, and R².

    Examples
    --------
    >>> regression_scores([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    {'mse': 0.333..., 'mae': 0.333..., 'r2': 0.5, 'documents': 3}
    """
    t, p = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    spread = float(np.sum((t - t.mean()) ** 2))
    return {
        "mse": float(np.mean((t - p) ** 2)),
        "mae": float(np.mean(np.abs(t - p))),
        "r2": 1.0 - float(np.sum((t - p) ** 2)) / spread if spread > 0 else float("nan"),
        "documents": len(t),
    }
