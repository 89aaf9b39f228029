"""Counts of n-grams instead of text: the formats in which Google published those of the web and of books."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import OnError, ReadReport, check_on_error, read_lines
from spinney.corpus.vocabulary import Folding, Numbering, Vocabulary
from spinney.errors import InputError

#: What stands before and after a sentence in the n-grams of the web, of books, and of most programs.
EDGES = frozenset({"<S>", "</S>", "<s>", "</s>", "_START_", "_END_"})
_REMEDY = "a line is: n-gram TAB count, or n-gram TAB year TAB count TAB volumes"
_DIGITS = 18  # of a count: it fits 64 bits
_LOOKED_AT = 100  # lines


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """N-grams of one length as numbers, with their counts; an n-gram may come more than once.

    Attributes
    ----------
    ids : array of int32 [n-grams, length]
        The words; -1 where an n-gram reaches beyond its sentence.
    counts : array of int64 [n-grams]
    place : int
        Which word of an n-gram, from 0, the n-gram is about: ``vocabulary`` counts those.
    """

    ids: NDArray[np.int32]
    counts: NDArray[np.int64]
    vocabulary: Vocabulary
    place: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def length(self) -> int:
        """Words of an n-gram."""
        return int(self.ids.shape[1])

    @property
    def n_tokens(self) -> int:
        """The tokens of the text that was counted, as far as n-grams are about them."""
        return int(self.vocabulary.counts.sum())


def read_ngrams(
    paths: FilePath | Sequence[FilePath],
    *,
    place: int = 0,
    after: int = 0,
    lowercase: bool = False,
    min_count: int = 1,
    max_size: int | None = None,
    unknown: str | None = "<unk>",
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> NgramCounts:
    r"""Read files of n-gram counts, compressed or not.

    A line has the words of an n-gram, separated by spaces, and after a tab its count (Web 1T); or year, count and
    volumes (Google Books 2009 and 2012); or any number of ``year,count,volumes`` (2020). Counts of all years are added.
    ``<S>``, ``</S>``, ``_START_`` and ``_END_`` are places beyond the sentence, not words.

    Parameters
    ----------
    place
        The word that an n-gram is about, from 0: if every n-gram of a text is there, each token of the text is at this
        place once, so that counts at it are those of the text.
    after
        How many words there must be after it; shorter n-grams are an error.
    min_count, max_size, unknown
        How to truncate the vocabulary; see :meth:`Vocabulary.from_counts`. Words that are never
        at ``place`` are as rare as can be. Without an unknown symbol, rarer words are places beyond the sentence.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "2gm.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a rose\t5\na thorn\t1999\t2\t1\na thorn\t2000\t1\t1\nrose </S>\t4\nthorn </S>\t3\n")
    >>> ngrams = read_ngrams(path, unknown=None)
    >>> ngrams.vocabulary.words, ngrams.vocabulary.counts.tolist(), ngrams.ids.tolist()
    (('a', 'rose', 'thorn'), [8, 4, 3], [[0, 1], [0, 2], [0, 2], [1, -1], [2, -1]])
    """
    check_on_error(on_error)
    report = ReadReport() if report is None else report
    files = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    numbering = Numbering()
    known: Mapping[str, int] = numbering
    if lowercase:
        known = Folding(lambda word: word if word == unknown or word in EDGES else word.lower(), numbering)
    ids, counts, length = array("i"), array("q"), 0
    for file in files:
        for words, count, line in _lines(file, encoding, on_error, report):
            length = length or _fitting(len(words), place, after, file, line)
            if len(words) != length:
                what = f"an n-gram of {len(words)} words after those of {length}"
                raise InputError(what, path=os.fspath(file), line=line, remedy="give n-grams of one length")
            ids.extend([known[word] for word in words])
            counts.append(count)
    if not counts:
        raise InputError("there are no n-grams", path=os.fspath(files[0]) if files else None)
    grams = np.frombuffer(ids, np.int32).reshape(-1, length)
    return _cut(
        grams, np.frombuffer(counts, np.int64), numbering, place, report,
        {"min_count": min_count, "max_size": max_size, "unknown": unknown},
    )  # fmt: skip


def looks_like_ngrams(path: FilePath, encoding: str = "utf-8") -> bool:
    r"""Whether each of the first hundred lines of a file is an n-gram with its count.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "2gm.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a rose\t5\na thorn\t3\n")
    >>> looks_like_ngrams(path)
    True
    """
    lines = [
        line for _, line in islice(read_lines(path, encoding, on_error="skip"), _LOOKED_AT) if line.strip()
    ]
    return bool(lines) and all(_count(line.split("\t")[1:]) is not None for line in lines)


def _fitting(length: int, place: int, after: int, path: FilePath, line: int) -> int:
    """The length of n-grams, if a word has its context in them."""
    if not 0 <= place < length - after:
        what = f"n-grams of {length} words are too short for {place} words before a word and {after} after it"
        raise InputError(what, path=os.fspath(path), line=line, remedy="set a smaller window")
    return length


def _lines(
    path: FilePath, encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[tuple[list[str], int, int]]:
    """Words, count and line of each n-gram of a file."""
    for number, line in read_lines(path, encoding, on_error=on_error, report=report):
        if not line.strip():
            continue
        text, *cells = line.split("\t")
        words, count = text.split(" "), _count(cells)
        if count is None or not all(words):
            error = InputError(
                "not an n-gram with its count", path=os.fspath(path), line=number, remedy=_REMEDY
            )
            if on_error == "raise":
                raise error
            report.skipped += 1
            if len(report.errors) < 10:
                report.errors.append(str(error))
            continue
        report.read += 1
        yield words, count, number


def _count(cells: list[str]) -> int | None:
    """The count that the cells after an n-gram say, in any of the formats; None where they say none."""
    if cells and all("," in cell for cell in cells):
        years = [cell.split(",") for cell in cells]
        numbers = [year[1] for year in years if len(year) == 3]
        good = len(numbers) == len(years)
    else:
        good = len(cells) in (1, 3)
        numbers = cells[:1] if len(cells) == 1 else cells[1:2]
    if not good or not all(n.isascii() and n.isdigit() and len(n) <= _DIGITS for n in numbers):
        return None
    total = sum(map(int, numbers))
    return total if total < 10**_DIGITS else None


def _cut(
    grams: NDArray[np.int32],
    counts: NDArray[np.int64],
    numbering: Mapping[str, int],
    place: int,
    report: ReadReport,
    cut: dict[str, Any],
) -> NgramCounts:
    """N-grams in the numbers of a vocabulary that is sorted and truncated."""
    if counts.sum(dtype=np.float64) >= 2.0**63:
        raise InputError("the counts are too large to be added up")
    seen = np.zeros(len(numbering), np.int64)
    np.add.at(seen, grams[:, place], counts)
    totals = {word: int(seen[i]) for word, i in numbering.items() if word not in EDGES}
    if not any(totals.values()):
        raise InputError(f"no word is at place {place + 1} of an n-gram")
    vocabulary = Vocabulary.from_counts(totals, **cut)
    missing = -1 if vocabulary.unknown is None else vocabulary[vocabulary.unknown]
    index = {word: i for i, word in enumerate(vocabulary.words)}
    table = np.array([-1 if word in EDGES else index.get(word, missing) for word in numbering], np.int32)
    report.tokens = sum(totals.values())
    if vocabulary.unknown is not None:
        report.unknown = int(vocabulary.counts[missing])
    return NgramCounts(table[grams], counts, vocabulary, place)
