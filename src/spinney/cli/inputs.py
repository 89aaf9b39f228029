"""Documents for verbs that do not declare settings yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spinney.cli.running import check_target  # noqa: F401
from spinney.corpus.labelled import *  # noqa: F403
from spinney.corpus.labelled import Inputs, numbers, refuse_unseen
from spinney.errors import InputError, about  # noqa: F401

if TYPE_CHECKING:
    from spinney.classify import TextModel


def labels_of(fitted: TextModel) -> dict[str, str]:
    """How ``--labels`` renamed the labels that a model was trained on."""
    kept = fitted.facts.get("labels")
    return {str(old): str(new) for old, new in kept.items()} if isinstance(kept, dict) else {}


def check_kind(fitted: TextModel, read: Inputs, model: str, data: str) -> None:
    """A model of text is no use for numbers, nor one of numbers for text."""
    if (fitted.features is not None) != read.is_text:
        needs, has = ("text", "numbers") if fitted.features else ("svmlight numbers", "text")
        raise InputError(f"holds {has}, but {model} was trained on {needs}", path=data)


def check_labels(fitted: TextModel, read: Inputs, path: str, on_error: str) -> Inputs:
    """The documents whose labels mean something to a model: a class that it knows or, for a regressor, a number."""
    if fitted.is_classifier:
        return refuse_unseen(read, fitted.outputs, path, on_error)
    numbers(read, path)
    return read
