"""Column files in the style of CoNLL-2000 and CoNLL-2003: one token per line, with blank lines between sentences.

Lines repeat: ``the DT B-NP`` comes thousands of times. So each *distinct* line is split, checked and numbered
once, and the work that is left for each line of the file is one look into a dictionary.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.batches import Batch, ColumnName, numbered
from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import Block, OnError, ReadReport, fields, parse_blocks, read_stanza_blocks
from spinney.corpus.opening import writing
from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError, OptionError

DocStart = Literal["drop", "keep"]
Row = tuple[str, ...]

_BLANK, _RAGGED = -1, -2
#: Maximum number of distinct lines to remember; after that the table is emptied.
_REMEMBERED = 1 << 20


def read_columns(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    docstart: DocStart = "drop",
) -> Iterator[list[Row]]:
    """The sentences of a column file, each a list of rows, each row a tuple of fields.

    Fields are separated by spaces or tabs in any mixture. All rows of a file must have as many fields as the
    first; any other row is an :class:`~spinney.errors.InputError`, or with ``on_error="skip"`` its
    sentence is dropped. Lines that begin with ``-DOCSTART-`` are taken as blank, unless
    ``docstart="keep"``.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> write_columns(path, [[("He", "PRP"), ("ran", "VBD")], [("Stop", "VB")]])
    >>> for sentence in read_columns(path):
    ...     words, tags = zip(*sentence)
    ...     print(words, tags)
    ('He', 'ran') ('PRP', 'VBD')
    ('Stop',) ('VB',)
    """
    report = ReadReport() if report is None else report
    rows = _Rows(docstart)
    blocks = read_stanza_blocks(path, encoding)
    for numbers in parse_blocks(blocks, rows.parse, Block.each_stanza, on_error, report):
        known = [rows.fields[i] for i in numbers[numbers != _BLANK].tolist()]
        offsets = _offsets(numbers)
        report.read += len(offsets) - 1
        for start, stop in pairwise(offsets.tolist()):
            yield known[start:stop]


def column_batches(
    path: FilePath,
    numberings: Mapping[ColumnName, Mapping[str, int]] | Callable[[], Numbering],
    *,
    width: int | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    docstart: DocStart = "drop",
    between: bool = False,
) -> Iterator[Batch]:
    """The columns of ``numberings`` as numbers, many sentences at a time; else as :func:`read_columns`.

    A function gives the one numbering of all columns; it is asked before each batch, so that an endless file
    can go on with a fresh one. With ``width``, the first row too must have as many fields. With ``between``,
    batches have the lines between sentences.
    """
    report = ReadReport() if report is None else report
    rows = _Rows(docstart, width)

    def parse(block: Block) -> Batch:
        if callable(numberings) and (pool := numberings()) is not rows.pool:
            rows.forget()
            rows.pool = pool
        lines = rows.parse(block)
        is_row = lines != _BLANK
        number_of: Mapping[ColumnName, Mapping[str, int]] = (
            dict.fromkeys(range(rows.width), rows.pool) if callable(numberings) else numberings
        )
        columns = {name: rows.numbers(name, number)[lines[is_row]] for name, number in number_of.items()}
        for name, column in columns.items():
            unknown = np.flatnonzero(column < 0)
            if unknown.size:
                line = int(np.flatnonzero(is_row)[unknown[0]])
                value = rows.fields[lines[line]][rows.column(name)]
                raise block.error(f"{value!r} (column {name}) is not in the vocabulary", line)
        return Batch(
            np.diff(_offsets(lines)), columns, between=_between(block, is_row.tolist()) if between else None
        )

    blocks = read_stanza_blocks(path, encoding)
    for batch in parse_blocks(blocks, parse, Block.each_stanza, on_error, report):
        report.read += len(batch.lengths)
        yield batch


def write_columns(path: FilePath, sentences: Iterable[Sequence[Sequence[str]]], separator: str = " ") -> None:
    """Write sentences of rows, so that :func:`read_columns` gives them back."""
    with writing(path) as file:
        for sentence in sentences:
            for row in sentence:
                line = separator.join(row)
                if fields(line) != list(row):
                    raise InputError(f"the row {row!r} has white space in a field", path=os.fspath(path))
                file.write(line + "\n")
            file.write("\n")


class _Rows(dict[str, int]):
    """Distinct lines: line to row number; and of each row its ``fields``, and by column their ``codes``."""

    def __init__(self, docstart: DocStart, wanted: int | None = None) -> None:
        if docstart not in ("drop", "keep"):
            raise OptionError(
                f"docstart must be 'drop' or 'keep', not {docstart!r}", given=docstart, known=("drop", "keep")
            )
        self.docstart = docstart
        self.wanted = wanted
        self.pool = Numbering()
        self.width = wanted or 0
        self.fields: list[Row] = []
        self.codes: dict[ColumnName, array[int]] = {}

    def __missing__(self, line: str) -> int:
        row = tuple(fields(line))
        if not row or (row[0] == "-DOCSTART-" and self.docstart == "drop"):
            number = _BLANK
        elif self.width and len(row) != self.width:
            number = _RAGGED
        else:
            self.width = len(row)
            number = len(self.fields)
            self.fields.append(row)
        self[line] = number
        return number

    def column(self, name: ColumnName) -> int:
        """The column of that number, if there is one."""
        if not isinstance(name, int) or (self.width and not -self.width <= name < self.width):
            raise OptionError(f"no column {name!r}: the columns are 0 to {self.width - 1}")
        return name

    def numbers(self, name: ColumnName, number: Mapping[str, int]) -> NDArray[np.int32]:
        """The number of the field of each row in that column."""
        codes = self.codes.setdefault(name, array("i"))
        column = self.column(name)
        new = [row[column] for row in self.fields[len(codes) :]]
        codes.frombytes(numbered(new, number).tobytes())
        return np.frombuffer(codes, np.int32)

    def forget(self) -> None:
        """Start afresh."""
        self.clear()
        self.fields.clear()
        self.codes.clear()

    def parse(self, block: Block) -> NDArray[np.int32]:
        """The row number of each line of a block."""
        if len(self) > _REMEMBERED:
            self.forget()
        lines = block.decode().split("\n")
        numbers = np.fromiter(map(self.__getitem__, lines), np.int32, len(lines))
        ragged = np.flatnonzero(numbers == _RAGGED)
        if ragged.size:
            line = int(ragged[0])
            others = (
                f"the lines before have {self.width}" if self.wanted is None else f"{self.width} are wanted"
            )
            what = f"{len(fields(lines[line]))} columns where {others}"
            raise block.error(what, line, "a field is missing, or contains white space")
        return numbers


def _between(block: Block, is_row: list[bool]) -> list[list[str]]:
    """The lines of a block that are not rows: before the first sentence, and after each."""
    found: list[list[str]] = [[]]
    after_row = False
    for line, row in zip(block.decode().split("\n")[:-1], is_row):
        if not row:
            if after_row:
                found.append([])
            found[-1].append(line.strip())
        after_row = row
    if after_row:  # the end of the file, or of a stanza that was read by itself
        found.append([""])
    return found


def _offsets(numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where sentences begin and end among the rows: those lines that are not blank."""
    is_row = numbers != _BLANK
    rows_before = np.concatenate([[0], np.cumsum(is_row)])
    ends = np.flatnonzero(is_row[:-1] & ~is_row[1:]) + 1  # the last line of a block is always blank
    return np.concatenate([[0], rows_before[ends]])
