"""Checks of what callers of the library give: the errors are ours, of one line, whatever a library below would say."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spinney.errors import InputError, OptionError, shown

if TYPE_CHECKING:
    import numpy as np


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A parameter that must be a whole number in a range.

    Examples
    --------
    >>> whole("order", 3, 1)
    3
    >>> whole("order", 2.5, 1)
    Traceback (most recent call last):
    spinney.errors.OptionError: order must be a whole number of at least 1, not 2.5
    """
    sound = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not sound or value < least or (most is not None and value > most):
        range_ = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"{name} must be a whole number {range_}, not {shown(value)}")
    return int(value)


def finite(name: str, value: Any, least: float = -math.inf) -> float:
    """A parameter that must be a finite number, at least so large.

    Examples
    --------
    >>> finite("tol", float("nan"), 0)
    Traceback (most recent call last):
    spinney.errors.OptionError: tol must be a finite number of at least 0, not nan
    """
    sound = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not sound or not math.isfinite(value) or value < least:
        range_ = "" if least == -math.inf else f" of at least {least:g}"
        raise OptionError(f"{name} must be a finite number{range_}, not {shown(value)}")
    return float(value)


def seed(value: Any, name: str = "random_state") -> int:
    """The seed of random numbers: a whole number from 0 to 2³² − 1, as everywhere."""
    return whole(name, value, 0, 2**32 - 1)


def random_numbers(value: Any) -> np.random.Generator:
    """The random numbers of a seed.

    Examples
    --------
    >>> random_numbers(-1)
    Traceback (most recent call last):
    spinney.errors.OptionError: random_state must be a whole number from 0 to 4294967295, not -1
    """
    import numpy as np

    return np.random.default_rng(seed(value))


def sentences(text: Any) -> Iterator[list[str]]:
    """Sentences that are lists of words.

    Examples
    --------
    >>> list(sentences([("a", "b"), []]))
    [['a', 'b'], []]
    >>> list(sentences([["a", None]]))
    Traceback (most recent call last):
    spinney.errors.InputError: sentence 1: a word must be text, not None
    """
    if isinstance(text, str | bytes) or not isinstance(text, Iterable):
        raise InputError(f"text must be files, or lists of words, not {shown(text)}")
    for number, sentence in enumerate(text, 1):
        if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
            raise InputError(f"sentence {number} must be a list of words, not {shown(sentence)}")
        words = list(sentence)
        for word in words:
            if not isinstance(word, str):
                raise InputError(f"sentence {number}: a word must be text, not {shown(word)}")
        yield words


@contextmanager
def our_errors() -> Iterator[None]:
    """Make what a library finds wrong with arrays (NaN, shapes, kinds) an error of ours, on one line."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from None


def validated(estimator: Any, *data: Any, **how: Any) -> Any:
    """Examples, and targets if there are some, as scikit-learn checks them, with errors of ours."""
    from sklearn.utils.validation import validate_data

    with our_errors():
        return validate_data(estimator, *data, **how)
