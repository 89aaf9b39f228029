"""The contract of all models: what every fitted model of every task can do.

A model has a ``kind`` (``"lm/BackoffModel"``), the ``settings`` of its fit, and ``facts`` about the fit,
whose names are the same in all tasks (:data:`FACTS`). It is written by ``save`` and read by ``load``, it gives
``structures`` to other models and ``views`` to people, and it does in Python what ``apply`` and ``eval`` do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from spinney.errors import InputError, OptionError
from spinney.files import FilePath, ModelFile, Parts, read_model, write_model
from spinney.kinds import opened
from spinney.settings import Settings, toml_lines
from spinney.views import Facts, Views, notebook_html

#: What the same fact is called everywhere, with its name for people.
_NAMES = (
    "model", "method", "sentences", "documents", "tokens", "words", "skipped", "parameters", "active", "objective",
    "gap", "violation", "iterations", "converged", "interrupted", "seconds", "tokens_per_second",
)  # fmt: skip
FACTS = {**{name: name.replace("_", " ") for name in _NAMES}, "train": "training data"}


@dataclass
class Applied:
    """The result of ``apply``: a record for each sentence, document or word, computed on demand.

    ``text`` turns a record into lines of the output file, below the ``header``; ``facts`` is complete once all
    records have been read.
    """

    key: str
    records: Iterator[Any]
    text: Callable[[Any], str]
    facts: dict[str, Any] = field(default_factory=dict)
    header: str = ""

    def __iter__(self) -> Iterator[Any]:
        return self.records


class Structures(Mapping[str, Any]):
    """Structures by their role in other models; each is made on demand."""

    def __init__(self, **makers: Callable[[], Any]) -> None:
        self._makers = makers

    def __getitem__(self, role: str) -> Any:
        return self._makers[role]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Contents(NamedTuple):
    """What a model keeps in its file; see :func:`spinney.files.write_model`."""

    header: Mapping[str, Any]
    tensors: Mapping[str, Any]
    strings: Mapping[str, Any] = {}
    parts: Mapping[str, Parts] = {}


def _refuse_nan(path: FilePath, *tensors: Mapping[str, Any]) -> None:
    """A fit that went wrong must not replace a model that did not."""
    for of in tensors:
        for name, array in of.items():
            values = np.asarray(array)
            if values.dtype.kind == "f" and values.size and np.isnan(np.min(values)):
                what = f"the fit gave no numbers (NaN) for {name}, and is not saved"
                raise InputError(
                    what, path=os.fspath(path), remedy="scale the data, or choose less extreme settings"
                )


class Model:
    """A fitted model; ``kind`` is its task and class."""

    kind: ClassVar[str]
    facts: dict[str, Any]
    settings: Settings | None = None

    def contents(self) -> Contents:
        """What the model keeps in its file."""
        raise NotImplementedError

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The model that an open file holds: the inverse of :meth:`contents`."""
        raise NotImplementedError

    def save(self, path: FilePath) -> None:
        """Write the model file."""
        header, tensors, strings, parts = self.contents()
        fitted_with = {}
        if self.settings is not None:
            written = self.settings.as_dict()
            # What holds objects of Python cannot be written whole, and a part of it would be other settings.
            if len(written) == len(self.settings.lasting()):
                fitted_with = {"fit": written}
        _refuse_nan(path, tensors, *(part.tensors for part in parts.values()))
        write_model(path, self.kind, {**header, **fitted_with}, tensors, strings, parts)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read a model file of this kind."""
        model: Self = opened(cls, read_model(path, getattr(cls, "kind", None)))
        return model

    def summary(self) -> Views:
        """What ``fit`` prints: the facts, and anything else worth seeing at once."""
        return Views([Facts("facts", "", self.facts, FACTS)])

    def structures(self) -> Structures:
        """What the model gives to others: ``classes``, ``vectors``, ``groups``, ``tree``, ``topics`` or ``parser``."""
        return Structures()

    def views(self, settings: Settings | None = None) -> Views:
        """What a person sees of the model."""
        return Views([Facts("facts", self.kind, self.facts)])

    def report_views(self, data: Any = None, settings: Settings | None = None) -> Views:
        """What the model's page shows: a note that says what the model is, facts, and sections.

        With data, the page shows what the model makes of them; ``settings`` are of
        :class:`spinney.settings.report.Report`.
        """
        if data is not None:
            raise OptionError(f"the page of a model of the kind {self.kind} cannot show data")
        return Views(self.views())

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Apply the model to data: files, or the corresponding objects in memory."""
        raise OptionError(f"a model of the kind {self.kind} cannot be applied to data")

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Evaluate the model on data: files, or the corresponding objects in memory."""
        raise OptionError(f"a model of the kind {self.kind} cannot be evaluated")

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why the model says what it says of data: the contributions to each of its answers."""
        raise OptionError(f"a model of the kind {self.kind} cannot explain what it says of data")

    def config(self) -> str:
        """The configuration, as TOML, with which ``fit`` reproduces this model."""
        if self.settings is None:
            raise OptionError("the model does not record the settings with which it was fitted")
        train = {"train": self.facts["train"]} if "train" in self.facts else {}
        return "\n".join(toml_lines(train | self.settings.as_dict(), type(self.settings))) + "\n"

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the views of the model; none before it is fitted."""
        try:
            views = self.views()
        except AttributeError:  # what fit learns is not there yet
            return None
        return notebook_html(views)


class ShownEstimator:
    """An estimator of scikit-learn that a notebook shows by its views once it is fitted, and by its diagram before.

    It stands before ``BaseEstimator`` among the bases of a class that has ``views``.
    """

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        # The rule of scikit-learn: what ends in an underscore was learned. A path alone learns only the classes.
        if any(name.endswith("_") and not name.startswith("_") for name in vars(self)):
            with suppress(AttributeError):
                return notebook_html(self.views())  # type: ignore[attr-defined]
        from sklearn.utils import estimator_html_repr

        html: str = estimator_html_repr(self)
        return html

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What a notebook asks for first: only text, if scikit-learn is set to show text."""
        from sklearn import get_config

        html = {"text/html": self._repr_html_()} if get_config()["display"] == "diagram" else {}
        return {"text/plain": repr(self), **html}
