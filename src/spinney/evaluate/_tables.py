"""Rows of the small tables that evaluation sets come in."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError, did_you_mean


def read_columns_named(
    path: FilePath, names: Sequence[str], delimiter: str | None = ","
) -> Iterator[tuple[int, list[str]]]:
    """The columns of those names in a table with a header, row by row with the line's number.

    With commas, fields may be quoted but not run over several lines. Without a delimiter, white space is one. Blank
    lines are skipped.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "t.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write(',category,word\\n0,"tree, fruit",apple\\n')
    >>> list(read_columns_named(path, ["word", "category"]))
    [(2, ['apple', 'tree, fruit'])]
    """
    header: list[str] | None = None
    places: list[int] = []
    for line, text in read_lines(path):
        if not text.strip():
            continue
        row = _split(text, delimiter, path, line)
        if header is None:
            header = row
            for name in names:
                if row.count(name) != 1:
                    raise InputError(
                        f"no column {name!r}: the columns are {', '.join(map(repr, row))}",
                        path=os.fspath(path),
                        line=line,
                        remedy=did_you_mean(name, row) or f"columns {', '.join(names)} are needed",
                    )
            places = [row.index(name) for name in names]
            continue
        if len(row) != len(header):
            what = f"{len(row)} columns where the first line has {len(header)}"
            raise InputError(what, path=os.fspath(path), line=line)
        yield line, [row[place].strip() for place in places]
    if header is None:
        raise InputError("the file is empty", path=os.fspath(path))


def is_number(text: str) -> bool:
    """Whether a text is a number.

    Examples
    --------
    >>> is_number("4.5"), is_number("score")
    (True, False)
    """
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def to_number(text: str, path: FilePath, line: int) -> float:
    """A finite number, or an error that says where there is none."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise InputError(f"{text!r} is not a number", path=os.fspath(path), line=line)
    return number


def _split(text: str, delimiter: str | None, path: FilePath, line: int) -> list[str]:
    if delimiter is None:
        return fields(text)
    if delimiter == "\t":
        return text.split("\t")
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error as problem:
        raise InputError(f"bad quoting: {problem}", path=os.fspath(path), line=line) from None
