"""Dated documents from files: tables with a column of times, folders of years, and lines without times."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Self

import numpy as np

from spinney.corpus import ReadReport, read_folder, read_lines
from spinney.corpus.documents import column_number, read_cells
from spinney.corpus.frames import is_frame, name_of
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError, SettingError, about, shown
from spinney.formats import FORMATS, guess_format
from spinney.settings.trend import DATED, named_columns
from spinney.trend.dates import Every, Time, binned, parse_time
from spinney.trend.model import Documents

_ROWS = 1000  # documents worked on at a time
_LETTERS = 10_000_000  # the same, where documents are long
_PREFIX = re.compile(r"\d{4}-\d{2}(-\d{2})?(?!\d)|\d+")


@dataclass(frozen=True)
class Columns:
    """The columns of a table; ``covariates`` and ``extra`` map the names that a model uses to columns."""

    text: str = "text"
    time: str | None = "time"
    target: str | None = None
    covariates: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    header: bool = True

    @classmethod
    def of(cls, s: Any) -> Self:
        """The columns named by the settings of a fit; without settings, the default ones."""
        if s is None:
            return cls()
        covariates, extra = named_columns("covariates", s.covariates), named_columns("extra", s.extra)
        return cls(s.text, s.time, s.label if s.value is None else s.value, covariates, extra, s.header)

    def other(self, s: Any, **given: Any) -> Self:
        """A copy with the columns that the settings of ``apply`` or ``eval`` name."""
        given |= {"text": s.text, "header": s.header}
        given |= {name: named_columns(name, getattr(s, name)) or None for name in ("covariates", "extra")}
        return replace(self, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class Read:
    """Dated documents, their ids, and the number of skipped ones."""

    documents: Documents
    ids: list[str]
    skipped: int = 0


@dataclass(frozen=True)
class _Row:
    id: str
    text: str
    time: Time | None
    target: str | None
    covariates: Sequence[str]
    extra: Sequence[float]


def paths_of(data: Any) -> list[str] | None:
    """The files, or None if the data are documents or a data frame in memory."""
    if isinstance(data, Documents) or is_frame(data):
        return None
    paths = [data] if isinstance(data, str | os.PathLike) or not isinstance(data, Iterable) else list(data)
    if not paths or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise InputError(f"data must be files, a data frame, or a Documents, not {shown(data)}")
    return [os.fspath(path) for path in paths]


def _sources(data: Any) -> list[Any] | None:
    """The files, or a data frame; None for documents in memory."""
    return [data] if is_frame(data) else paths_of(data)


def read_dated(
    data: Any,
    columns: Columns,
    s: Any,
    every: Every,
    *,
    numeric: bool = False,
    classes: Sequence[str] = (),
) -> Read:
    """All documents of some files or of a data frame; documents in memory are returned as they are.

    Parameters
    ----------
    data
        Files, folders, a data frame, or :class:`~spinney.trend.model.Documents`.
    columns
        The columns of tables.
    s
        Settings with ``format``, ``encoding`` and ``on_error``.
    every
        How times are binned.
    numeric
        Whether targets are numbers.
    classes
        The labels to keep; documents with other labels are dropped.
    """
    files = _sources(data)
    if files is None:
        return Read(data, [str(i + 1) for i in range(len(data))])
    checked = [_Checked(file, s, columns, numeric) for file in files]
    rows = [row for one in checked for row in one.rows() if not classes or row.target in classes]
    names = ", ".join(map(name_of, files))
    if not rows:
        raise InputError("no documents", path=names)
    read = _read(rows, columns, every, numeric, names)
    return replace(read, skipped=sum(one.skipped for one in checked))


def dated_batches(data: Any, columns: Columns, s: Any, every: Every, report: ReadReport) -> Iterator[Read]:
    """As :func:`read_dated`, some documents at a time; the report counts the skipped ones."""
    files = _sources(data)
    if files is None:
        yield read_dated(data, columns, s, every)
        return
    n = 0
    for file in files:
        one = _Checked(file, s, columns, False)
        place = None if is_frame(file) else file
        for rows in in_batches(one.rows(), _ROWS, place, weigh=lambda row: len(row.text), heaviest=_LETTERS):
            n += len(rows)
            yield _read(rows, columns, every, False, name_of(file))
        report.skipped += one.skipped
    if not n:
        raise InputError("no documents", path=", ".join(map(name_of, files)))


def _read(rows: Sequence[_Row], columns: Columns, every: Every, numeric: bool, name: str) -> Read:
    with about(name):
        times = binned([row.time for row in rows if row.time is not None], every)
    targets = np.array([row.target for row in rows], dtype=np.float64 if numeric else None)
    documents = Documents(
        [row.text for row in rows],
        times if columns.time is not None else None,
        targets if columns.target is not None else None,
        {name: [row.covariates[k] for row in rows] for k, name in enumerate(columns.covariates)},
        np.array([row.extra for row in rows]) if columns.extra else None,
    )
    return Read(documents, [row.id for row in rows])


class _Checked:
    """Rows with valid times and numbers; others are an error, or skipped and counted."""

    def __init__(self, path: Any, s: Any, columns: Columns, numeric: bool) -> None:
        self.path, self.s, self.columns, self.numeric = path, s, columns, numeric
        self.skipped = 0
        self._kind: type | None = None

    def rows(self) -> Iterator[_Row]:
        if is_frame(self.path) and self.s.format != "auto":
            raise SettingError("{format} is for files, not for a data frame: leave it out")
        format = guess_format(self.path, DATED) if self.s.format == "auto" else self.s.format
        if FORMATS[format].rows:
            return self._table(format)
        if self.columns.target is not None or self.columns.covariates or self.columns.extra:
            what = f"a {'folder' if format == 'folder' else 'file of lines'} has no columns"
            raise InputError(
                what,
                path=self.path,
                remedy="give a table, such as a CSV file, or set its format",
            )
        return self._folder() if format == "folder" else self._lines()

    @property
    def _how(self) -> Any:
        return {"encoding": self.s.encoding, "on_error": self.s.on_error}

    def _table(self, format: str) -> Iterator[_Row]:
        r, report = self.columns, ReadReport()
        names = [r.text, r.time, r.target, *r.covariates.values(), *r.extra.values()]
        wanted = [name if r.header else column_number(name) for name in names if name is not None]
        how = {**self._how, "header": r.header, "format": format}
        for line, cells in read_cells(self.path, wanted, **how, report=report):
            values = iter(cells)
            row = self._checked(
                str(line),
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
        report = ReadReport()
        for document in read_folder(self.path, **self._how, report=report):
            time = None
            if self.columns.time is not None:
                # The folder or, without folders, the beginning of the file name.
                begins = _PREFIX.match(PurePath(document.id).name)
                time = document.label if document.label is not None else begins[0] if begins else document.id
            row = self._checked(document.id, None, document.text, time, None, [], [])
            if row is not None:
                yield row
        self.skipped += report.skipped

    def _lines(self) -> Iterator[_Row]:
        if self.columns.time is not None:
            raise InputError(
                "lines of text have no times",
                path=self.path,
                remedy="give a folder of years or a table, such as a CSV file, or set its format",
            )
        report = ReadReport()
        for number, line in read_lines(self.path, **self._how, report=report):
            yield _Row(str(number), line.rstrip("\r"), None, None, [], [])
        self.skipped += report.skipped

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
            if self.s.on_error == "skip":
                self.skipped += 1
                return None
            path = name_of(self.path) if line is not None else f"{self.path}/{id}"
            raise InputError(error.what, path=path, line=line, remedy=error.remedy) from None

    def _time(self, text: str) -> Time:
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
