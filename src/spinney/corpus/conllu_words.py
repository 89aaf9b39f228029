"""The words of many CoNLL-U sentences at once.

A block is split into fields in one go and checked column by column; nothing here loops over words in Python.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import compress, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.heads import tree_problem
from spinney.corpus.lines import Block
from spinney.errors import InputError

#: The columns of the format after ID, by name.
FIELDS: Final = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: Stands for ``_`` in a column of heads.
NO_HEAD: Final = -1

_BAD_HEAD = -2
_WIDTH = 1 + len(FIELDS)
_STRIDE = _WIDTH + 1
_EXTRA_ID = re.compile(r"([1-9]\d{0,9})-([1-9]\d{0,9})|(\d{1,10})\.[1-9]\d{0,9}", re.ASCII)


class Words:
    """The words of a block of whole sentences, checked.

    *Rows* are the lines that hold words, multiword tokens (``1-2``) or empty nodes (``1.1``).

    Attributes
    ----------
    lines : list of str
        All lines of the block.
    row_lines : array [rows]
        Which lines are rows.
    row_offsets : array [sentences + 1]
        Sentence ``s`` has the rows ``row_offsets[s]`` to ``row_offsets[s + 1] - 1``.
    is_word : array of bool [rows]
        Which rows are words.
    lengths : array [sentences]
        Words of each sentence.
    heads : array [words]
        As in the file, :data:`NO_HEAD` for ``_``.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.lines = block.decode().split("\n")
        text = np.frombuffer(block.text, np.uint8)
        starts = np.concatenate([[0], np.flatnonzero(text == ord("\n"))[:-1] + 1])
        first = text[starts]
        is_row = (first != ord("\n")) & (first != ord("#"))
        self.row_lines = np.flatnonzero(is_row)
        self._fields = self._split(list(compress(self.lines, is_row.tolist())))
        # A blank line between two rows separates two sentences.
        breaks = np.searchsorted(self.row_lines, np.flatnonzero(first == ord("\n")))
        self.row_offsets = np.unique(np.concatenate([[0], breaks, [len(self.row_lines)]]))
        ids = self._fields[::_STRIDE]
        self.is_word = np.fromiter(map(str.isdigit, ids), np.bool_, len(ids))
        self._words_before = np.concatenate([[0], np.cumsum(self.is_word)])
        self.lengths = np.diff(self._words_before[self.row_offsets])
        self._check_numbers()
        self._check_extras()
        forms = self.column("form")
        if "" in forms:
            raise self._error(forms.index(""), "a word without a form", "write _ for an empty field")
        self.heads = self._checked_heads()

    @cached_property
    def columns(self) -> list[list[str]]:
        """The columns of :data:`FIELDS`, of the words alone."""
        return [self.column(name) for name in FIELDS]

    def column(self, name: str) -> list[str]:
        """One such column."""
        return self._column(FIELDS.index(name) + 1)

    def refuse(self, bad: NDArray[np.bool_], what: str, remedy: str | None = None) -> None:
        """Raise an error at the first word that is ``bad``, if there is one."""
        if bad.any():
            raise self._error(int(np.argmax(bad)), what, remedy)

    def _split(self, rows: list[str]) -> list[str]:
        """The fields of all rows, ten a row, and a line end after each ten."""
        fields = "\t\n\t".join(rows).split("\t") if rows else []
        if fields[_WIDTH::_STRIDE].count("\n") != len(rows) - 1 or len(fields) != _STRIDE * len(rows) - 1:
            self._refuse_ragged(rows)
        return fields

    def _refuse_ragged(self, rows: list[str]) -> None:
        for number, row in enumerate(rows):
            n = row.count("\t") + 1
            if not row.strip():
                raise self._row_error(
                    number, "white space on a blank line", "leave the line between sentences empty"
                )
            if n != _WIDTH:
                raise self._row_error(
                    number, f"{n} columns where CoNLL-U has {_WIDTH}", "separate them with tabs"
                )

    def _column(self, number: int) -> list[str]:
        column = self._fields[number::_STRIDE]
        return column if self.is_word.all() else list(compress(column, self.is_word))

    def _row_error(self, row: int, what: str, remedy: str | None = None) -> InputError:
        return self.block.error(what, int(self.row_lines[row]), remedy)

    def _error(self, word: int, what: str, remedy: str | None = None) -> InputError:
        return self._row_error(int(np.flatnonzero(self.is_word)[word]), what, remedy)

    def _check_numbers(self) -> None:
        """Words are numbered 1, 2, ... in each sentence."""
        if not self.lengths.all():
            raise self._row_error(int(self.row_offsets[np.argmin(self.lengths)]), "a sentence without words")
        numbers = [str(i) for i in range(1, int(self.lengths.max(initial=0)) + 1)]
        expected = [number for n in self.lengths.tolist() for number in numbers[:n]]
        ids = self._column(0)
        if ids != expected:
            word = next(i for i, number in enumerate(expected) if ids[i] != number)
            raise self._error(word, f"word number {ids[word]} where {expected[word]} is expected")

    def _check_extras(self) -> None:
        """Multiword tokens stand before their first word, empty nodes after theirs."""
        for row in np.flatnonzero(~self.is_word).tolist():
            identifier = self._fields[row * _STRIDE]
            match = _EXTRA_ID.fullmatch(identifier)
            if not match:
                what = f"{identifier!r} is not a word number, a range (1-2) or an empty node (1.1)"
                raise self._row_error(row, what)
            sentence = int(np.searchsorted(self.row_offsets, row, side="right")) - 1
            before = int(self._words_before[row] - self._words_before[self.row_offsets[sentence]])
            first, last, after = (None if group is None else int(group) for group in match.groups())
            if first is None or last is None:
                in_place = after == before
            else:
                in_place = first == before + 1 <= last <= self.lengths[sentence]
            if not in_place:
                raise self._row_error(row, f"{identifier} is out of place after {before} words")

    def _checked_heads(self) -> NDArray[np.int32]:
        """The heads, which make a tree in each sentence that has any."""
        column = self.column("head")
        number = {str(i): i for i in range(int(self.lengths.max(initial=0)) + 1)} | {"_": NO_HEAD}
        try:
            heads = np.fromiter(map(number.__getitem__, column), np.int32, len(column))
        except KeyError:
            heads = np.fromiter(map(number.get, column, repeat(_BAD_HEAD)), np.int32, len(column))
        length = np.repeat(self.lengths, self.lengths)
        bad = (heads == _BAD_HEAD) | (heads > length)
        if bad.any():
            word = int(np.argmax(bad))
            if column[word].isdigit():
                raise self._error(word, f"head {column[word]} in a sentence of {length[word]} words")
            raise self._error(word, f"{column[word]!r} is not the number of a head")
        bare = heads == NO_HEAD
        first = np.cumsum(self.lengths) - self.lengths
        self.refuse(bare != np.repeat(bare[first], self.lengths), "only some words have a head")
        if problem := tree_problem(heads, self.lengths):
            raise self._error(*problem)
        return heads
