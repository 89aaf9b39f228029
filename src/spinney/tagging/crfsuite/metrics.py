"""Scores of labelled sequences, by their names in sklearn-crfsuite; those of phrases are in ``spinney.evaluate``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from spinney.errors import InputError

Labels = Iterable[Sequence[str]]


def _flat(y_true: Labels, y_pred: Labels) -> tuple[list[str], list[str]]:
    true, predicted = list(map(list, y_true)), list(map(list, y_pred))
    if list(map(len, true)) != list(map(len, predicted)):
        raise InputError(
            "the true and the predicted labels are not of the same sequences: their lengths differ"
        )
    return list(chain.from_iterable(true)), list(chain.from_iterable(predicted))


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of tokens with the correct label.

    Examples
    --------
    >>> flat_accuracy_score([["D", "N"], ["V", "N"]], [["D", "N"], ["V", "D"]])
    0.75
    """
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(*_flat(y_true, y_pred)))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """The precision over tokens; options are those of scikit-learn's ``precision_score``."""
    from sklearn.metrics import precision_score

    return precision_score(*_flat(y_true, y_pred), **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """The recall over tokens; options are those of scikit-learn's ``recall_score``."""
    from sklearn.metrics import recall_score

    return recall_score(*_flat(y_true, y_pred), **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """The F1 score over tokens; options are those of scikit-learn's ``f1_score``.

    Examples
    --------
    >>> round(flat_f1_score([["D", "N"], ["V", "N"]], [["D", "N"], ["V", "D"]], average="weighted"), 3)
    0.75
    """
    from sklearn.metrics import f1_score

    return f1_score(*_flat(y_true, y_pred), **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    """The F-beta score over tokens; options are those of scikit-learn's ``fbeta_score``."""
    from sklearn.metrics import fbeta_score

    return fbeta_score(*_flat(y_true, y_pred), beta=beta, **options)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[str] | None = None, **options: Any
) -> Any:
    """Scores of each label over tokens; options are those of scikit-learn's ``classification_report``."""
    from sklearn.metrics import classification_report

    return classification_report(*_flat(y_true, y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences without a wrong label; 0 if there are none.

    Examples
    --------
    >>> sequence_accuracy_score([["D", "N"], ["V", "N"]], [["D", "N"], ["V", "D"]])
    0.5
    """
    true, predicted = list(map(list, y_true)), list(map(list, y_pred))
    if len(true) != len(predicted):
        raise InputError(f"{len(true)} true sequences, but {len(predicted)} predicted ones")
    return sum(map(list.__eq__, true, predicted)) / len(true) if true else 0.0
