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
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary, writing
from spinney.corpus.lines import SPACE, fields, read_lines
from spinney.errors import InputError
from spinney.files import FilePath
from spinney.lm.backoff import BackoffModel
from spinney.lm.closing import GramList, distinct_rows, table_of_grams
from spinney.lm.model import Vector
from spinney.lm.stream import END, START

#: The unknown symbol in ARPA files.
UNKNOWN: Final = "<unk>"

_LOG10 = float(np.log(10.0))
_NEVER = -99.0  # stands for log 0, by convention
_STEP = 1 << 16  # lines written at a time


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
    table = model.table
    orders = range(1, table.order + 1)
    with writing(path) as file:
        if model.units.note:
            file.write(f"# {model.units.note}\n")  # KenLM and SRILM pass over what is before \data\
        file.write("\\data\\\n")
        for order in orders:
            grams = table.grams_of(order)
            file.write(f"ngram {order}={grams.stop - grams.start}\n")
        for order in orders:
            file.write(f"\n\\{order}-grams:\n")
            for lines in _entries(model, order, names):
                file.write(lines)
        file.write("\n\\end\\\n")


def _names(model: BackoffModel, path: FilePath) -> NDArray[Any]:
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
    return np.array(names, object)


def _entries(model: BackoffModel, order: int, names: NDArray[Any]) -> Iterator[str]:
    """The lines of an order, sorted by the numbers of the words, a piece at a time."""
    table = model.table
    symbols = table.strings(order)
    grams, following = table.grams_of(order), table.following[table.grams_of(order)]
    ordered = np.lexsort(symbols.T[::-1])
    logp = np.maximum(model.logp[grams] / _LOG10, _NEVER) + 0.0
    backoff = np.where(following >= 0, np.maximum(model.backoff[following] / _LOG10, _NEVER) + 0.0, 0.0)
    for start in range(0, len(ordered), _STEP):
        piece = ordered[start : start + _STEP]
        words = [" ".join(row) for row in names[symbols[piece]]]
        parts = zip(logp[piece].tolist(), words, following[piece].tolist(), backoff[piece].tolist())
        yield "".join(f"{p:.9g}\t{w}\n" if c < 0 else f"{p:.9g}\t{w}\t{b:.9g}\n" for p, w, c, b in parts)


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
    lists = []
    for order, count in enumerate(promised, 1):
        section = _section(lines, order, len(promised), count, words)
        if order == 1:
            words, grams = _unigrams(section, lines)
        else:
            grams = section.grams
            _check_grams(section, lines, len(words))
        lists.append(grams)
    lines.expect("\\end\\", "the file is truncated, or contains more orders than it announces")
    known = tuple(words)[:-2]
    table, logp, backoff = table_of_grams(lists, len(words))
    vocabulary = Vocabulary(known, np.zeros(len(known), np.int64), unknown if unknown in known else None)
    return BackoffModel(vocabulary, table, logp, backoff, {"method": "arpa", "order": len(promised)})


class _Lines:
    """The lines of a file, the present one without white space around it; at the end it is empty."""

    def __init__(self, path: FilePath, encoding: str) -> None:
        self.path = path
        self.rest = read_lines(path, encoding)
        self.number, self.line = 0, ""
        self.next()

    def next(self) -> None:
        """Go on to the next line that is not blank."""
        for number, line in self.rest:
            self.number, self.line = number, line.strip(SPACE)
            if self.line:
                return
        self.line = ""

    def entries(self) -> Iterator[tuple[int, list[str]]]:
        """The present line and those after it as parts, up to the next that begins with a backslash."""
        if self.line and not self.line.startswith("\\"):
            yield self.number, fields(self.line)
            for number, line in self.rest:
                if line.lstrip(SPACE).startswith("\\"):
                    self.number, self.line = number, line.strip(SPACE)
                    return
                self.number = number
                if parts := fields(line):
                    yield number, parts
            self.line = ""

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
    line: list[int]
    order: int


def _section(lines: _Lines, order: int, highest: int, count: int, words: Mapping[str, int]) -> _Section:
    """The grams of an order as they stand there."""
    header = lines.number
    lines.expect(f"\\{order}-grams:", f"the section of order {order} is missing or out of order")
    logp, backoff, where = [], [], []
    flat: list[Any] = []
    with_weight = order + 2 if order < highest else -1
    for number, parts in lines.entries():
        n = len(parts)
        if n != order + 1 and n != with_weight:
            weight = " and perhaps a back-off weight" if order < highest else ""
            what = f"not a number, {order} word{'s' * (order > 1)}{weight}"
            raise lines.error(what, "words cannot contain white space")
        try:
            logp.append(float(parts[0]))
            backoff.append(float(parts[-1]) if n == with_weight else 0.0)
            flat += parts[1:2] if order == 1 else [words[word] for word in parts[1 : order + 1]]
        except ValueError:
            raise lines.error("a logarithm that is not a number") from None
        except KeyError as error:
            raise lines.error(
                f"{error.args[0]!r} is not among the 1-grams", "list every word there"
            ) from None
        where.append(number)
    if len(where) != count:
        what = f"{len(where)} grams of order {order} where \\data\\ announces {count}"
        raise lines.error(what, "is the file truncated?", header)
    symbols = np.array([] if order == 1 else flat, np.int32).reshape(-1, order)
    section = _Section(
        flat if order == 1 else [], GramList(symbols, _natural(logp), _natural(backoff)), where, order
    )
    _check_numbers(section, lines)
    return section


def _natural(values: list[float]) -> Vector:
    """Natural logarithms; -99 is that of nothing, by convention."""
    logs = np.array(values, np.float64)
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
            raise lines.error(what, remedy, section.line[int(np.argmax(bad))])


def _unigrams(section: _Section, lines: _Lines) -> tuple[dict[str, int], GramList]:
    """The numbers of the words, end and start last; and the unigrams in that order."""
    place: dict[str, int] = {}
    for i, word in enumerate(section.words):
        if place.setdefault(word, i) != i:
            raise lines.error(f"the word {word!r} appears twice", "remove one", section.line[i])
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
            section.line[int(np.argmax(inside))],
        )
    _, place = distinct_rows(symbols, n_symbols)
    if len(place) < len(symbols):
        again = np.setdiff1d(np.arange(len(symbols)), place)[0]
        raise lines.error("this gram appears twice", "remove one", section.line[int(again)])
