"""Dated documents from whatever the user has: a table with a column of times, or a folder of years."""

from __future__ import annotations

import math
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

from spinney.cli.inputs import about, guess_format
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.trend import Documents
    from spinney.trend.dates import Every, Time

FORMATS = ("auto", "csv", "tsv", "folder", "lines")
_PREFIX = re.compile(r"\d{4}-\d{2}(-\d{2})?(?!\d)|\d+")


@dataclass(frozen=True)
class Reading:
    """Which columns hold what. It is kept with a model (``facts["reading"]``), so that other tables are read alike.

    ``covariates`` and ``extra`` map the names that a model uses to columns.
    """

    text: str = "text"
    time: str | None = "time"
    target: str | None = None
    covariates: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    header: bool = True

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """That of a model."""
        kept = facts.get("reading", {})
        try:
            reading = cls(**kept)
        except TypeError:
            raise InputError("damaged: the model does not say how its text was read") from None
        maps, texts = [reading.covariates, reading.extra], [reading.text, reading.time, reading.target]
        for mapping in maps:
            texts += [*mapping, *mapping.values()] if isinstance(mapping, dict) else [0]  # type: ignore[list-item]
        if not isinstance(reading.header, bool) or not all(
            text is None or isinstance(text, str) for text in texts
        ):
            raise InputError("damaged: the model does not say rightly how its text was read")
        return reading

    def other(self, **given: Any) -> Self:
        """With other columns, where they are given."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    def facts(self) -> dict[str, Any]:
        """What a model keeps."""
        return asdict(self)


def named_columns(text: str | None) -> dict[str, str] | None:
    """``COLUMN,NAME=COLUMN`` as names and their columns."""
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in text.split(","):
        name, _, column = part.strip().partition("=")
        if not name or name in found:
            raise OptionError(f"columns are told as COLUMN,COLUMN or NAME=COLUMN, each once; not {text!r}")
        found[name] = column or name
    return found


@dataclass(frozen=True)
class Read:
    """Dated documents, what each is called, and how many were passed over."""

    documents: Documents
    ids: list[str]
    skipped: int


@dataclass(frozen=True)
class _Row:
    id: str
    text: str
    time: Time | None
    target: str | None
    covariates: Sequence[str]
    extra: Sequence[float]


@dataclass(frozen=True)
class Source:
    """A file or folder, and how to get dated documents out of it."""

    path: str
    format: str = "auto"
    encoding: str = "utf-8"
    on_error: str = "raise"

    def read(
        self, reading: Reading, every: Every, *, numeric: bool = False, classes: Sequence[str] | None = None
    ) -> Read:
        """All of it.

        Parameters
        ----------
        numeric
            Whether targets are numbers.
        classes
            The labels to keep; documents of others are passed over.
        """
        import numpy as np

        from spinney.trend import Documents
        from spinney.trend.dates import binned

        if self.format not in FORMATS:
            raise unknown_choice("--format is one of", self.format, FORMATS)
        if self.on_error not in ("raise", "skip"):
            raise unknown_choice("--on-error is", self.on_error, ("raise", "skip"))
        checked = _Checked(self, reading, numeric)
        rows = [row for row in checked.rows() if classes is None or row.target in classes]
        if not rows:
            raise InputError("no documents", path=self.path)
        with about(self.path):
            times = binned([row.time for row in rows if row.time is not None], every)
        targets = np.array([row.target for row in rows], dtype=np.float64 if numeric else None)
        documents = Documents(
            [row.text for row in rows],
            times if reading.time is not None else None,
            targets if reading.target is not None else None,
            {name: [row.covariates[k] for row in rows] for k, name in enumerate(reading.covariates)},
            np.array([row.extra for row in rows]) if reading.extra else None,
        )
        return Read(documents, [row.id for row in rows], checked.skipped)


class _Checked:
    """Rows whose times and numbers can be understood; others are an error, or passed over and counted."""

    def __init__(self, source: Source, reading: Reading, numeric: bool) -> None:
        self.source, self.reading, self.numeric = source, reading, numeric
        self.skipped = 0
        self._kind: type | None = None

    def rows(self) -> Iterator[_Row]:
        format = guess_format(self.source.path) if self.source.format == "auto" else self.source.format
        if format in ("csv", "tsv"):
            return self._table(format)
        columns = [self.reading.target, *self.reading.covariates, *self.reading.extra]
        if any(column is not None for column in columns):
            raise InputError(
                f"a {'folder' if format == 'folder' else 'file of lines'} has no columns",
                path=self.source.path,
                remedy="give a CSV or TSV file, or say which with --format",
            )
        return self._folder() if format == "folder" else self._lines()

    def _table(self, format: str) -> Iterator[_Row]:
        from spinney.corpus import ReadReport, read_table

        r, report = self.reading, ReadReport()
        names = [r.text, r.time, r.target, *r.covariates.values(), *r.extra.values()]
        wanted = [_column(name, r.header) for name in names if name is not None]
        how: dict[str, Any] = {
            "encoding": self.source.encoding,
            "on_error": self.source.on_error,
            "header": r.header,
        }
        how["delimiter"] = "\t" if format == "tsv" else ","
        with _readable(self.source.path) as path:
            # One reader a column, side by side: each passes over the same lines.
            readers = [
                read_table(path, column, **how, report=report if not k else None)
                for k, column in enumerate(wanted)
            ]
            for cells in zip(*readers):
                values = iter([cell.text for cell in cells])
                line = int(cells[0].id)
                row = self._checked(
                    cells[0].id,
                    line,
                    next(values),
                    next(values) if r.time is not None else None,
                    next(values) if r.target is not None else None,
                    [next(values) for _ in r.covariates],
                    list(values),
                )
                if row is not None:
                    yield row
        self.skipped += report.skipped

    def _folder(self) -> Iterator[_Row]:
        from spinney.corpus import ReadReport, read_folder

        report = ReadReport()
        how: Any = {"encoding": self.source.encoding, "on_error": self.source.on_error}
        for document in read_folder(self.source.path, **how, report=report):
            time = None
            if self.reading.time is not None:
                # The folder, or without folders what the file's name begins with.
                begins = _PREFIX.match(PurePath(document.id).name)
                time = document.label if document.label is not None else begins[0] if begins else document.id
            row = self._checked(document.id, None, document.text, time, None, [], [])
            if row is not None:
                yield row
        self.skipped += report.skipped

    def _lines(self) -> Iterator[_Row]:
        from spinney.corpus import open_text

        if self.reading.time is not None:
            raise InputError(
                "lines of text carry no times",
                path=self.source.path,
                remedy="give a folder of years, a CSV or TSV file, or --format",
            )
        with open_text(self.source.path, encoding=self.source.encoding) as lines:
            for number, line in enumerate(lines, 1):
                yield _Row(str(number), line.rstrip("\r\n"), None, None, [], [])

    def _checked(
        self,
        id: str,
        line: int | None,
        text: str,
        time: str | None,
        target: str | None,
        covariates: Sequence[str],
        extra: Sequence[str],
    ) -> _Row | None:
        try:
            if self.numeric and target is not None:
                _number(target)
            when = None if time is None else self._time(time)
            return _Row(id, text, when, target, covariates, [_number(value) for value in extra])
        except InputError as error:
            if self.source.on_error == "skip":
                self.skipped += 1
                return None
            path = self.source.path if line is not None else f"{self.source.path}/{id}"
            raise InputError(error.what, path=path, line=line, remedy=error.remedy) from None

    def _time(self, text: str) -> Time:
        from spinney.trend.dates import parse_time

        time = parse_time(text)
        self._kind = self._kind or type(time)
        if type(time) is not self._kind:
            raise InputError(f"{text!r} where other times are {'numbers' if self._kind is int else 'dates'}")
        return time


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{text!r} is not a number")
    return number


def _column(name: str, header: bool) -> str | int:
    return int(name) if not header and name.isdigit() else name


@contextmanager
def _readable(path: str) -> Iterator[str]:
    """A path that can be read several times: standard input is copied into a file."""
    if path != "-":
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="spinney-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        try:
            yield copy.name
        except InputError as error:
            told = "-" if error.path is not None and str(error.path) == copy.name else error.path
            raise InputError(error.what, path=told, line=error.line, remedy=error.remedy) from None
