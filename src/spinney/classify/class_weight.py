"""Weights of classes: what an example counts by its label, where classes are of different size or importance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, OptionError, did_you_mean, listed
from spinney.optim.base import Vector

ClassWeight = Mapping[Any, float] | Literal["balanced"]


def class_weights(
    given: ClassWeight | str, classes: NDArray[Any], codes: NDArray[Any], sample_weight: Vector | None = None
) -> Vector:
    """The weight of each class, for examples with these codes (numbers of classes).

    ``"balanced"`` gives all classes the same total weight, n / (K · examples of the class), as scikit-learn does; where
    examples have weights, these are counted instead. A mapping names classes, by their labels or as text; those that it
    does not name weigh 1.

    Examples
    --------
    >>> class_weights("balanced", np.array(["ham", "spam"]), np.array([0, 0, 0, 1])).round(3).tolist()
    [0.667, 2.0]
    >>> class_weights({"spam": 5}, np.array(["ham", "spam"]), np.array([0, 0, 0, 1])).tolist()
    [1.0, 5.0]
    """
    if isinstance(given, str):
        if given != "balanced":
            raise OptionError(
                f"class_weight must be 'balanced' or a mapping of labels to numbers, not {given!r}",
                given=given,
                known=["balanced"],
            )
        totals = np.bincount(codes, sample_weight, minlength=len(classes)).astype(np.float64)
        # A class whose examples all weigh nothing stays at nothing, whatever it is multiplied by.
        return np.asarray(totals.sum() / (len(classes) * np.where(totals > 0, totals, 1.0)))
    if not isinstance(given, Mapping):
        raise OptionError(f"class_weight must be 'balanced' or a mapping of labels to numbers, not {given!r}")
    by_text = {str(label): value for label, value in given.items()}
    names = [str(label) for label in classes.tolist()]
    unknown = [label for label in by_text if label not in names]
    # Part of the data may lack a class; but a class without a weight beside a weight without a class is a slip.
    if unknown and any(name not in by_text for name in names):
        raise InputError(
            f"class_weight has {unknown[0]!r}, but the classes are {listed(names, 'and')}",
            remedy=did_you_mean(unknown[0], names) or None,
        )
    return np.array([_number(name, by_text.get(name, 1.0)) for name in names])


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number < np.inf:
        raise OptionError(f"class_weight: the weight of {name!r} must be a number ≥ 0, not {value!r}")
    return number
