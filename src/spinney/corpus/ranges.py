"""Text of one sentence per line, read in ranges of bytes by the workers of a cluster.

A range is cut by the file, not by the number of workers: sixteen megabytes, and on to the end of its last line. A
worker reads its ranges where they lie, numbers the words of each in the order of their first occurrence, and gives the
numbers with the distinct words. Here the words of the ranges get their numbers in the order of the text, so that the
arrays and the vocabulary are those of a reader that goes through the text from the first byte to the last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.addresses import opened, size_of_file
from spinney.corpus.batches import Batch, sentence_batches
from spinney.corpus.compressed import FilePath, is_address, suffix
from spinney.corpus.lines import Block, OnError, ReadReport, parse_blocks
from spinney.corpus.raw import tokenized_lines
from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError
from spinney.parallel import Pure, in_order

RANGE = 1 << 24  # bytes
_STEP = 1 << 20  # bytes parsed at a time
_PACKED = (".gz", ".xz", ".bz2", ".zst")


class Range(NamedTuple):
    """Lines of a file: those that begin at the bytes ``start`` to ``stop - 1``."""

    path: str
    start: int
    stop: int


class Numbers(NamedTuple):
    """What a range holds: its words by number, the distinct words, and what went wrong."""

    lengths: NDArray[np.int64]
    ids: NDArray[np.int32]
    words: list[str]
    lines: int
    errors: list[tuple[str, int, str | None]]  # with the line in the range, from 1
    skipped: int


def can_be_cut(path: FilePath, encoding: str) -> bool:
    """Whether ranges of a file can be read by themselves: not if it is compressed, or not UTF-8, or a stream."""
    plain = isinstance(path, str | os.PathLike) and path != "-" and suffix(path) not in _PACKED
    return plain and encoding.lower().replace("-", "").replace("_", "") == "utf8"


def ranges_of(path: FilePath) -> list[Range]:
    """The ranges of a file.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a rose is a rose\\n")
    >>> [(one.start, one.stop) for one in ranges_of(path)]
    [(0, 17)]
    """
    size = size_of_file(path)
    name = os.fspath(path)
    if not is_address(name):  # the folder that a worker runs in is another
        name = os.path.abspath(name)
    return [Range(name, at, min(at + RANGE, size)) for at in range(0, size, RANGE)]


def range_batches(
    path: FilePath, number: Mapping[str, int], on_error: OnError, report: ReadReport
) -> Iterator[Batch]:
    """The sentences of a file, read elsewhere; ``number`` gives the words their numbers."""
    lines = 0
    found = in_order(Pure(numbered_range, on_error), ranges_of(path), 1)
    while True:
        try:
            one = next(found, None)
        except InputError as error:
            if error.line is None:
                raise
            raise InputError(error.what, path=path, line=lines + error.line, remedy=error.remedy) from None  # type: ignore[arg-type]
        if one is None:
            return
        for what, line, remedy in one.errors:
            report.errors.append(
                str(InputError(what, path=os.fspath(path), line=lines + line, remedy=remedy))
            )
            del report.errors[10:]
        report.skipped += one.skipped
        report.read += len(one.lengths)
        lines += one.lines
        numbers = np.fromiter(map(number.__getitem__, one.words), np.int32, len(one.words))
        if len(one.lengths):
            yield Batch(one.lengths, {0: numbers[one.ids]})


def numbered_range(on_error: OnError, where: Range) -> Numbers:
    """Read a range: a pure function of the file."""
    report, number, lines = ReadReport(), Numbering(), 0
    lengths, ids = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    errors: list[InputError] = []

    def blocks() -> Iterator[Block]:
        nonlocal lines
        for text in _texts(where):
            block = Block(text, lines + 1, where.path)
            lines += text.count(b"\n")
            yield block

    class Report(ReadReport):
        def skip(self, error: InputError) -> None:
            super().skip(error)
            if len(errors) < 10:
                errors.append(error)

    report = Report()
    sentences = (
        s for some in parse_blocks(blocks(), tokenized_lines, Block.each_line, on_error, report) for s in some
    )
    for batch in sentence_batches(sentences, number):
        lengths.append(batch.lengths)
        ids.append(batch.columns[0])
    told = [(error.what, error.line or 0, error.remedy) for error in errors]
    return Numbers(np.concatenate(lengths), np.concatenate(ids), list(number), lines, told, report.skipped)


def _texts(where: Range) -> Iterator[bytes]:
    """The bytes of a range, whole lines at a time, each line with its end."""
    with opened(where.path) as file:
        if where.start:  # the line before belongs to the range before
            file.seek(where.start - 1)
            at = where.start - 1 + len(file.readline())
        else:
            at = len(mark) if (mark := file.read(3)) == b"\xef\xbb\xbf" else 0
            file.seek(at)
        while at < where.stop:
            text = file.read(min(_STEP, where.stop - at))
            if not text:
                return
            text += file.readline() if not text.endswith(b"\n") else b""
            at += len(text)
            yield (text if text.endswith(b"\n") else text + b"\n").replace(b"\r\n", b"\n")
