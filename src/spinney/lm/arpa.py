r"""ARPA files: the text format in which SRILM, KenLM and others exchange back-off models.

::

    \data\
    ngram 1=4
    ngram 2=1

    \1-grams:
    -0.7	rose	-0.2
    …
    \2-grams:
    -0.3	a rose

    \end\

Numbers are logarithms to base 10: of the probability of the last word after the others, and of the back-off weight.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary
from spinney.corpus.lines import SPACE, fields, read_blocks
from spinney.corpus.opening import writing_bytes
from spinney.errors import InputError
from spinney.files import FilePath
from spinney.lm.backoff import BackoffModel
from spinney.lm.closing import GramList, distinct_rows, table_of_grams
from spinney.lm.model import Vector
from spinney.lm.storedgrams import Ordered, in_order
from spinney.lm.stream import END, START, Ids
from spinney.lm.wordtable import word_bytes, word_slots

#: The unknown symbol in ARPA files.
UNKNOWN: Final = "<unk>"

_LOG10 = float(np.log(10.0))
_NEVER = -99.0  # stands for log 0, by convention
_STEP = 1 << 16  # lines written at a time
_NUMBER = 20  # bytes that a number and what follows it take at most


def write_arpa(model: BackoffModel, path: FilePath) -> None:
    """Write an ARPA file, compressed if its name says so.

    The unknown symbol is written ``<unk>``, unless that is a word of its own. Nine digits are kept.

    Examples
    --------
    >>> import os, tempfile
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> path = os.path.join(tempfile.mkdtemp(), "rose.arpa")
    >>> model = fit_ngram(sentence_arrays([["a", "rose"]], unknown="<unk>"), "witten-bell", order=2)
    >>> write_arpa(model, path)
    >>> read_arpa(path)
    BackoffModel(order 2, 3 words, 7 grams)
    >>> with open(path) as file:
    ...     print(file.read(38))
    \\data\\
    ngram 1=5
    ngram 2=3
    <BLANKLINE>
    \\1-grams:
    """
    names = _names(model, path)
    ordered = in_order(model.table)
    table = ordered.table
    orders = range(1, table.order + 1)
    with writing_bytes(path) as file:
        if model.units.note:
            file.write(f"# {model.units.note}\n".encode())  # KenLM and SRILM pass over what is before \data\
        file.write(b"\\data\\\n")
        for order in orders:
            grams = table.grams_of(order)
            file.write(f"ngram {order}={grams.stop - grams.start}\n".encode())
        for order in orders:
            file.write(f"\n\\{order}-grams:\n".encode())
            for lines in _entries(model, ordered, order, names):
                file.write(lines)
        file.write(b"\n\\end\\\n")


def _names(model: BackoffModel, path: FilePath) -> list[str]:
    vocabulary = model.vocabulary
    rename = (
        {} if vocabulary.unknown is None or UNKNOWN in vocabulary.words else {vocabulary.unknown: UNKNOWN}
    )
    names = [*(rename.get(word, word) for word in vocabulary.words), END, START]
    for name in names:
        if fields(name) != [name]:
            raise InputError(f"the word {name!r} contains white space", path=os.fspath(path))
    if len(set(names)) < len(names):
        raise InputError(
            f"{START} or {END} is a word", path=os.fspath(path), remedy="they mark the ends of sentences"
        )
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        wrong = repr(error.object[error.start])
        raise InputError(f"{wrong} cannot be written as utf-8", path=os.fspath(path)) from None
    return names


def _entries(model: BackoffModel, ordered: Ordered, order: int, names: list[str]) -> Iterator[memoryview]:
    """The lines of an order, sorted by the numbers of the words, a piece at a time."""
    from spinney.lm._arpa_kernels import put_grams

    table = ordered.table
    utf8, offsets = word_bytes(names)
    symbols, grams = table.strings(order), table.grams_of(order)
    following = table.following[grams]
    logp = np.maximum(model.logp[ordered.grams[grams]] / _LOG10, _NEVER)
    weight = np.maximum(model.backoff[ordered.contexts[following]] / _LOG10, _NEVER)
    sizes = np.diff(offsets)[symbols].sum(axis=1)
    for start in range(0, len(symbols), _STEP):
        piece = slice(start, start + _STEP)
        room = int(sizes[piece].sum()) + (order + 2 * _NUMBER) * len(symbols[piece])
        out = np.empty(room, np.uint8)
        n = put_grams(symbols[piece], logp[piece], weight[piece], following[piece] >= 0, utf8, offsets, out)
        yield out[:n].data


def read_arpa(path: FilePath, *, unknown: str = UNKNOWN, encoding: str = "utf-8") -> BackoffModel:
    """Read an ARPA file, compressed or not.

    Parameters
    ----------
    unknown
        The unigram that stands for all words that are not listed, if the file has it.

    Raises
    ------
    InputError
        With file and line, if the file is not valid.
    """
    lines = _Lines(path, encoding)
    promised = _counts(lines)
    words: dict[str, int] = {}
    table: tuple[NDArray[np.int64], int] | None = None
    lists = []
    for order, count in enumerate(promised, 1):
        header = lines.number
        lines.expect(f"\\{order}-grams:", f"the section of order {order} is missing or out of order")
        section = _section(lines, order, len(promised), words, table)
        if len(section.line) != count:
            what = f"{len(section.line)} grams of order {order} where \\data\\ announces {count}"
            raise lines.error(what, "is the file truncated?", header)
        _check_numbers(section, lines)
        if order == 1:
            words, grams = _unigrams(section, lines)
            table = word_slots(tuple(words))
        else:
            grams = section.grams
            _check_grams(section, lines, len(words))
        lists.append(grams)
    lines.expect("\\end\\", "the file is truncated, or contains more orders than it announces")
    known = tuple(words)[:-2]
    closed, logp, backoff = table_of_grams(lists, len(words))
    vocabulary = Vocabulary(known, np.zeros(len(known), np.int64), unknown if unknown in known else None)
    return BackoffModel(vocabulary, closed, logp, backoff, {"method": "arpa", "order": len(promised)})


class _Lines:
    """The lines of a file, the present one without white space around it; at the end it is empty."""

    def __init__(self, path: FilePath, encoding: str) -> None:
        self.path = path
        self.blocks = read_blocks(path, encoding)
        self.text, self.place = b"", 0  # whole lines, and where the one after the present begins
        self.begin = 0  # of the present line
        self.number, self.line = 0, ""
        self.next()

    def next(self) -> bool:
        """Go on to the next line that is not blank; False at the end."""
        while True:
            if self.place == len(self.text) and not self.fill():
                self.line = ""
                return False
            self.begin, self.place = self.place, self.text.index(b"\n", self.place) + 1
            self.number += 1
            self.line = self.text[self.begin : self.place].decode().strip(SPACE)
            if self.line:
                return True

    def fill(self) -> bool:
        """Take the next block of lines, of which all are text; False if there is none."""
        block = next(self.blocks, None)
        if block is None:
            return False
        block.decode()
        self.text, self.place = block.text, 0
        return True

    def in_section(self) -> bool:
        """Whether the present line is one of a section: neither its end, nor that of the file."""
        return bool(self.line) and not self.line.startswith("\\")

    def expect(self, line: str, remedy: str) -> None:
        """Read a line that must come next."""
        if self.line != line:
            raise self.error(f"{line} is missing here", remedy)
        self.next()

    def error(self, what: str, remedy: str | None = None, line: int | None = None) -> InputError:
        return InputError(what, path=os.fspath(self.path), line=line or self.number, remedy=remedy)


def _counts(lines: _Lines) -> list[int]:
    """How many grams of each order the file promises."""
    while lines.line != "\\data\\":
        if not lines.line:
            raise lines.error("no \\data\\ in this file", "is it an ARPA file?")
        lines.next()
    lines.next()
    counts: list[int] = []
    while lines.line.startswith("ngram"):
        order, _, count = lines.line[len("ngram") :].replace(" ", "").partition("=")
        if order != str(len(counts) + 1) or not (count.isascii() and count.isdigit() and len(count) < 16):
            raise lines.error(f"not ngram {len(counts) + 1}=COUNT", "list the orders 1, 2, 3 and so on")
        counts.append(int(count))
        lines.next()
    if not counts:
        raise lines.error("there are no counts after \\data\\", "write lines such as ngram 1=1000")
    return counts


class _Section(NamedTuple):
    words: list[str]  # of unigrams
    grams: GramList
    line: NDArray[np.int64]
    order: int


class _Piece(NamedTuple):
    """Grams with logarithms to base 10, and their lines."""

    symbols: Ids
    logp: Vector
    backoff: Vector
    line: NDArray[np.int64]


def _section(
    lines: _Lines,
    order: int,
    highest: int,
    words: Mapping[str, int],
    table: tuple[NDArray[np.int64], int] | None,
) -> _Section:
    """The grams of an order as they stand there: lines of the usual form in bulk, any other by itself."""
    pieces = [_Piece(np.empty((0, order), np.int32), np.empty(0), np.empty(0), np.empty(0, np.int64))]
    single: list[tuple[list[int], float, float, int]] = []
    names: list[str] = []
    while lines.in_section():
        if table is not None:
            pieces.append(_bulk(lines, order, order < highest, *table))
            if not lines.in_section():
                break
        logp, strings, backoff = _entry(lines, order, highest)
        if order == 1:
            names += strings
            single.append(([0], logp, backoff, lines.number))
        else:
            single.append((_numbers(lines, strings, words), logp, backoff, lines.number))
        lines.next()
    if single:
        symbols, logps, backoffs, where = zip(*single)
        pieces.append(
            _Piece(np.array(symbols, np.int32), np.array(logps), np.array(backoffs), np.array(where))
        )
    found = _Piece(*(np.concatenate(column) for column in zip(*pieces)))
    if single and len(pieces) > 2:
        by_line = np.argsort(found.line, kind="stable")
        found = _Piece(
            found.symbols[by_line], found.logp[by_line], found.backoff[by_line], found.line[by_line]
        )
    grams = GramList(found.symbols, _natural(found.logp), _natural(found.backoff))
    return _Section(names, grams, found.line, order)


def _bulk(lines: _Lines, order: int, with_weight: bool, slots: NDArray[np.int64], seed: int) -> _Piece:
    """The lines from the present one on, to the end of its block or to a line that is not of the usual form."""
    from spinney.lm._arpa_kernels import END as AT_END
    from spinney.lm._arpa_kernels import parse_grams

    room = (len(lines.text) - lines.begin) // (2 * order + 2) + 1
    piece = _Piece(
        np.empty((room, order), np.int32), np.empty(room), np.empty(room), np.empty(room, np.int64)
    )
    n, place, number, why = parse_grams(
        lines.text, lines.begin, lines.number, order, with_weight, slots, seed, *piece
    )
    lines.place, lines.number = place, number - 1  # the line at this place has not been seen yet
    if why == AT_END:
        lines.place = len(lines.text)
    lines.next()
    return _Piece(piece.symbols[:n], piece.logp[:n], piece.backoff[:n], piece.line[:n])


def _entry(lines: _Lines, order: int, highest: int) -> tuple[float, list[str], float]:
    """The present line: log p, words, and the logarithm of the back-off weight."""
    parts = fields(lines.line)
    n = len(parts)
    with_weight = order + 2 if order < highest else -1
    if n != order + 1 and n != with_weight:
        weight = " and perhaps a back-off weight" if order < highest else ""
        what = f"not a number, {order} word{'s' * (order > 1)}{weight}"
        raise lines.error(what, "words cannot contain white space")
    try:
        return float(parts[0]), parts[1 : order + 1], float(parts[-1]) if n == with_weight else 0.0
    except ValueError:
        raise lines.error("a logarithm that is not a number") from None


def _numbers(lines: _Lines, strings: list[str], words: Mapping[str, int]) -> list[int]:
    try:
        return [words[word] for word in strings]
    except KeyError as error:
        raise lines.error(f"{error.args[0]!r} is not among the 1-grams", "list every word there") from None


def _natural(logs: Vector) -> Vector:
    """Natural logarithms; -99 is that of nothing, by convention."""
    with np.errstate(over="ignore"):  # what is not a number afterwards is refused
        return np.where(logs <= _NEVER, -np.inf, logs * _LOG10)


def _check_numbers(section: _Section, lines: _Lines) -> None:
    _, logp, backoff = section.grams
    checks = [
        (
            ~(logp <= 0),
            "a probability above 1: its logarithm is above 0",
            "ARPA files hold logarithms to base 10",
        ),
        (~(backoff < np.inf), "a back-off weight that is not a number", None),
    ]
    for bad, what, remedy in checks:
        if bad.any():
            raise lines.error(what, remedy, int(section.line[int(np.argmax(bad))]))


def _unigrams(section: _Section, lines: _Lines) -> tuple[dict[str, int], GramList]:
    """The numbers of the words, end and start last; and the unigrams in that order."""
    place: dict[str, int] = {}
    for i, word in enumerate(section.words):
        if place.setdefault(word, i) != i:
            raise lines.error(f"the word {word!r} appears twice", "remove one", int(section.line[i]))
    if END not in place:
        raise lines.error(f"{END} is not among the 1-grams", "the end of a sentence needs a probability")
    words = [word for word in section.words if word not in (START, END)]
    order = [place[word] for word in (*words, END)]
    _, logp, backoff = section.grams
    start = backoff[place[START]] if START in place else 0.0
    grams = GramList(
        np.arange(len(words) + 2, dtype=np.int32).reshape(-1, 1),
        np.append(logp[order], -np.inf),  # the start is never predicted
        np.append(backoff[order], start),
    )
    return {word: i for i, word in enumerate((*words, END, START))}, grams


def _check_grams(section: _Section, lines: _Lines, n_symbols: int) -> None:
    symbols = section.grams.symbols
    inside = np.any(symbols[:, 1:] == n_symbols - 1, axis=1) | np.any(
        symbols[:, :-1] == n_symbols - 2, axis=1
    )
    if inside.any():
        raise lines.error(
            f"{START} after, or {END} before another word",
            "n-grams do not cross the ends of sentences",
            int(section.line[int(np.argmax(inside))]),
        )
    _, place = distinct_rows(symbols, n_symbols)
    if len(place) < len(symbols):
        again = np.setdiff1d(np.arange(len(symbols)), place)[0]
        raise lines.error("this gram appears twice", "remove one", int(section.line[int(again)]))
