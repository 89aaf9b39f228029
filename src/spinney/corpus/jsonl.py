"""JSON Lines: an object per line, whose fields are the columns of a table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import OnError, ReadReport, read_lines
from spinney.errors import InputError


def jsonl_rows(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a JSON Lines file; the first names the fields, which are those of the first object.

    Later objects may have further fields, which are left out, but must have these. A list becomes its items with spaces
    between them, null the empty text, and any other value its text in JSON.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.jsonl")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"text": "A joy.", "stars": 5}\\n{"stars": 1, "text": "A bore.", "id": "x"}\\n')
    >>> list(jsonl_rows(path))
    [(1, ['text', 'stars']), (1, ['A joy.', '5']), (2, ['A bore.', '1'])]
    """
    report = ReadReport() if report is None else report
    names: list[str] | None = None
    for number, line in read_lines(path, encoding, on_error=on_error, report=report):
        if not line.strip():
            continue
        try:
            found = _object(line, names)
        except ValueError as problem:
            error = InputError(
                str(problem), path=os.fspath(path), line=number, remedy="write one JSON object per line"
            )
            if on_error == "raise":
                raise error from None
            report.skip(error)
            continue
        if names is None:
            names = list(found)
            yield number, names
        yield number, [_text(found[name]) for name in names]


def _object(line: str, names: list[str] | None) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(found, dict) or not found:
        raise ValueError("not a JSON object with fields")
    missing = [name for name in names or () if name not in found]
    if missing:
        raise ValueError(f"no field {missing[0]!r}, which the first object has")
    return found


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return "" if value is None else json.dumps(value, ensure_ascii=False)
