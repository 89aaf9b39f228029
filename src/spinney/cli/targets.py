"""What a command writes must be none of what it reads: the work would destroy its own input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from spinney.cli.verbs import Call
from spinney.errors import InputError, SettingError
from spinney.settings import settings_of

#: Options and arguments that name a file to write. A checkpoint may be continued, and become the model in the end.
_WRITTEN = ("model", "output", "report")
#: Settings that name a file or folder to write, so that they are no input.
_KEPT = ("checkpoint", "cache", "texts")


def check_targets(call: Call) -> None:
    """Refuse an output that is the same file as an input or another output, or a file in a folder of input."""
    inputs = [path for path in _inputs(call) if path != "-" and os.path.exists(path)]
    outputs = dict(_outputs(call))
    for name, path in outputs.items():
        for other in inputs:
            if _same(path, other) or (os.path.isdir(other) and _is_document(path, other)):
                raise SettingError(
                    f"{name} {{path}} would overwrite an input file: name another file", path=path
                )
        for second, elsewhere in outputs.items():
            if second < name and _same(path, elsewhere):
                raise SettingError(
                    f"{second} and {name} are the same file, {{path}}: name another", path=path
                )
    if any(map(_is_standard_output, inputs)):
        raise InputError("an input file is also the standard output", remedy="write to another file")


def _outputs(call: Call) -> Iterator[tuple[str, str]]:
    """What is written, each with its name in a message."""
    named = {name: (f"{{{name}}}", call.output.get(name)) for name in _WRITTEN}
    if "output" in call.arguments:
        named["output"] = ("OUTPUT", call.arguments["output"])
    named["checkpoint"] = ("{checkpoint}", getattr(call.settings, "checkpoint", None))
    if named["checkpoint"][1] == named["model"][1]:
        del named["checkpoint"]
    return ((shown, path) for shown, path in named.values() if path not in (None, "-"))


def _inputs(call: Call) -> Iterator[str]:
    """What is read: arguments, settings that name files, and a configuration."""
    yield from _strings(value for name, value in call.arguments.items() if name != "output")
    yield from _strings(value for name, value in call.output.items() if name not in _WRITTEN)
    files = [s.name for s in settings_of(type(call.settings)) if s.file and s.name not in _KEPT]
    for value in _strings(getattr(call.settings, name) for name in files):
        yield value
        yield value.partition("=")[2]  # NAME=FILE
    if call.config is not None:
        yield call.config


def _strings(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value and "\0" not in value:
            yield value
        elif isinstance(value, list | tuple):
            yield from _strings(value)


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # one does not exist yet
        return os.path.realpath(path) == os.path.realpath(other)


def _is_document(path: str, folder: str) -> bool:
    """Whether a path is a file within a folder that Spinney has not written."""
    inside = os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))
    if not inside or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            start = file.read(128).lower()
    except OSError:
        return True
    return b'"spinney"' not in start and not start.startswith(b"<!doctype html")


def _is_standard_output(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):  # standard output is no file
        return False
