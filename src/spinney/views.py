"""Views: what a person sees of a model or of a result, before anyone decides where.

A command, a report and a notebook show the same views: a terminal by :mod:`spinney.report.terminal`, a page by
:mod:`spinney.report.page`, and JSON by :func:`as_json`. A view holds plain values and knows its ``key`` in
JSON and its ``title`` for people; it knows nothing about how it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class View:
    """Something to show; with an empty ``key`` it is for people only."""

    key: str
    title: str

    def data(self) -> Any:
        """The view as JSON has it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Facts(View):
    """Named values. In JSON all of them stand at the top level; people see those that ``names`` has, by these names."""

    values: Mapping[str, Any]
    names: Mapping[str, str] | None = None

    def data(self) -> dict[str, Any]:
        return dict(self.values)

    def shown(self) -> dict[str, Any]:
        """What people see: values by the names for people, in their order; what is unknown is left out."""
        names = {key: key.replace("_", " ") for key in self.values} if self.names is None else self.names
        found = {name: self.values.get(key) for key, name in names.items()}
        return {name: value for name, value in found.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping | list | tuple)


@dataclass(frozen=True)
class Table(View):
    """Rows of values below a header; ``keys`` are the names of the columns in JSON, where they differ from it."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    keys: Sequence[str] | None = None
    note: str = ""

    def data(self) -> list[dict[str, Any]]:
        keys = self.header if self.keys is None else self.keys
        return [dict(zip(keys, row)) for row in self.rows]


@dataclass(frozen=True)
class Lines(View):
    """Lines of text; ``values`` is what JSON has in their place."""

    lines: Sequence[str]
    values: Any = field(default=None)

    def data(self) -> Any:
        return list(self.lines) if self.values is None else self.values


@dataclass(frozen=True)
class Extra(View):
    """A value for JSON alone: people see it elsewhere, or not at all."""

    value: Any = None

    def data(self) -> Any:
        return self.value


def as_json(views: Iterable[View]) -> dict[str, Any]:
    """All views as one JSON object; a number that is not finite becomes null, which JSON has no other word for.

    Examples
    --------
    >>> as_json([Facts("facts", "Fit", {"active": 3}), Table("words", "Words", ["word", "p"], [["a", math.inf]])])
    {'active': 3, 'words': [{'word': 'a', 'p': None}]}
    """
    found: dict[str, Any] = {}
    for view in views:
        if isinstance(view, Facts):
            found |= view.data()
        elif view.key:
            found[view.key] = view.data()
    cleaned: dict[str, Any] = finite(found)
    return cleaned


def finite(value: Any) -> Any:
    """A value of plain Python types, without NumPy's, and with None for numbers that are not finite."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return finite(value._asdict())
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
