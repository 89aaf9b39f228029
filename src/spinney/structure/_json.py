"""JSON files that people write by hand: strict on the way in, one item per line on the way out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from spinney.corpus.opening import open_text, writing
from spinney.errors import InputError
from spinney.files import FilePath

T = TypeVar("T")


class JsonObject:
    """A JSON object together with where it is, so that every complaint says so."""

    def __init__(self, values: object, path: FilePath, where: str = "") -> None:
        self.path, self.where = os.fspath(path), where
        if not isinstance(values, dict):
            self.refuse("this must be an object in braces")
        self.values: dict[str, Any] = values

    def refuse(self, what: str, remedy: str | None = None) -> NoReturn:
        """Raise an error that names the file and the place in it."""
        raise InputError(f"{self.where}: {what}" if self.where else what, path=self.path, remedy=remedy)

    def get(self, key: str, type_: type[T]) -> T:
        """The value of ``key``, which must be there and of that type (an int passes for a float)."""
        value = self.optional(key, type_)
        if value is None:
            self.refuse(f'no "{key}"')
        return value

    def optional(self, key: str, type_: type[T]) -> T | None:
        """The value of ``key``, or None if it is missing or null."""
        value: Any = self.values.get(key)
        if value is None:
            return None
        wanted: Any = (int, float) if type_ is float else type_
        if not isinstance(value, wanted) or (isinstance(value, bool) and type_ is not bool):
            self.refuse(f'"{key}" must be {_NAMES[type_]}')
        return value  # type: ignore[no-any-return]

    def strings(self, key: str) -> list[str]:
        """The list of strings ``key``."""
        values = self.get(key, list)
        if not all(isinstance(value, str) for value in values):
            self.refuse(f'"{key}" must hold strings only')
        return values

    def integers(self, key: str, values: list[Any] | None = None) -> list[int]:
        """The list of whole numbers ``key``, none of them larger than an array can hold."""
        values = self.get(key, list) if values is None else values
        if not all(type(value) is int and abs(value) < 1 << 63 for value in values):
            self.refuse(f'"{key}" must hold whole numbers only')
        return values

    def objects(self, key: str, what: str) -> list[JsonObject]:
        """The list of objects ``key``, each of which will be called ``what`` and its number."""
        return [JsonObject(value, self.path, f"{what} {i}") for i, value in enumerate(self.get(key, list))]


_NAMES: dict[type, str] = {
    int: "a whole number",
    bool: "true or false",
    float: "a number",
    str: "a string",
    list: "a list",
}


def read_json(path: FilePath) -> JsonObject:
    """The object that a JSON file holds."""
    with open_text(path) as file:
        text = file.read()
    name = os.fspath(path)
    try:
        values = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg[0].lower()}{error.msg[1:]} in column {error.colno}"
        raise InputError(what, path=name, line=error.lineno) from None
    except RecursionError:
        raise InputError("brackets are nested too deeply", path=name) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", path=name) from None
    return JsonObject(values, path)


def write_json(path: FilePath, fields: Mapping[str, object], key: str, items: Iterable[object]) -> None:
    """Write an object with ``fields`` and the list ``key`` of ``items``, each on a line of its own."""
    with writing(path) as file:
        file.write("{\n")
        for name, value in fields.items():
            file.write(f"  {json.dumps(name)}: {_dumped(value)},\n")
        file.write(f"  {json.dumps(key)}: [")
        separator = "\n    "
        for item in items:
            file.write(separator + _dumped(item))
            separator = ",\n    "
        file.write("\n  ]\n}\n")


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f'"{key}" appears twice in one object')
        values[key] = value
    return values
