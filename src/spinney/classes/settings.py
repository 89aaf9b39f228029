"""What the options of a hidden Markov model may be: asked before a fit, and of every model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from spinney.corpus import TokenArrays
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.classes.hidden import HiddenMarkov


def check_settings(model: HiddenMarkov) -> None:
    """Refuse options of the wrong kind or out of their range.

    Examples
    --------
    >>> from spinney.classes import HiddenMarkov
    >>> check_settings(HiddenMarkov(8, gamma=2.0))
    Traceback (most recent call last):
    spinney.errors.OptionError: gamma is 'search' or a number above 0, at most 1, not 2.0
    """
    for name, choices in _CHOICES.items():
        if getattr(model, name) not in choices:
            raise unknown_choice(f"{name} is one of", getattr(model, name), choices)
    for name, least in _AT_LEAST.items():
        value = getattr(model, name)
        if not _is_whole(value, least) and not (value is None and name in _OPTIONAL):
            raise OptionError(f"{name} is a whole number, at least {least}, not {value!r}")
    for name, (low, high) in _BETWEEN.items():
        value = getattr(model, name)
        if not (_is_number(value) and low <= value < high) and not (value is None and name in _OPTIONAL):
            below = "" if high == math.inf else f" and below {high:g}"
            raise OptionError(f"{name} is at least {low:g}{below}, not {value!r}")
    if model.k_best not in (None, "auto") and not _is_whole(model.k_best, 1):
        raise OptionError(f"k_best is None, 'auto' or a whole number, at least 1, not {model.k_best!r}")
    if model.gamma != "search" and not (_is_number(model.gamma) and 0 < model.gamma <= 1):
        raise OptionError(f"gamma is 'search' or a number above 0, at most 1, not {model.gamma!r}")
    if not (_is_number(model.delay) and model.delay > 0):
        raise OptionError(f"delay is above 0, not {model.delay!r}")
    if not isinstance(model.finish, bool):
        raise OptionError(f"finish is True or False, not {model.finish!r}")
    _check_typed(model)
    if model.start is not None and model.start > model.n_classes:
        raise OptionError(f"start with 2 to {model.n_classes} classes, not {model.start}")


def check_sizes(model: HiddenMarkov, text: TokenArrays) -> None:
    """Refuse a text that is too small for the model, or lacks its trees."""
    if not text.n_tokens:
        raise InputError("no words to learn from")
    if model.n_classes > len(text.vocabulary):
        what = f"{model.n_classes} classes of {len(text.vocabulary)} words: there cannot be more classes than words"
        raise OptionError(what)


_CHOICES = {"structure": ("chain", "tree"), "method": ("online", "batch"), "dtype": ("float32", "float64")}
_AT_LEAST = {
    "n_classes": 2, "passes": 1, "batch_tokens": 1, "start": 2, "split_passes": 1, "patience": 1, "threads": 1,
    "random_state": 0,
}  # fmt: skip
_BETWEEN = {"smoothing": (0, 1), "epsilon": (0, 1), "noise": (0, 1), "backoff": (0, math.inf)}
_OPTIONAL = ("start", "patience", "threads", "epsilon")


def _check_typed(model: HiddenMarkov) -> None:
    typed = model.typed
    if isinstance(typed, Mapping):
        sound = all(isinstance(key, str) and isinstance(value, str) for key, value in typed.items())
    else:
        sound = _is_whole(typed, 0)
    if not sound:
        raise OptionError(f"typed is a whole number or maps relations to groups, not {typed!r}")
    if typed and model.structure == "chain":
        raise OptionError("typed edges are those of trees: a chain has none")


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
