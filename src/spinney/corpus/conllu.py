"""CoNLL-U, the format of Universal Dependencies (https://universaldependencies.org/format.html)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.batches import Batch, ColumnName, numbered
from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu_words import FIELDS, NO_HEAD, Words
from spinney.corpus.lines import Block, OnError, ReadReport, parse_blocks, read_stanza_blocks
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError
from spinney.views import Arcs, Token, Tokens, View


@dataclass(slots=True)
class Sentence:
    """A sentence of CoNLL-U, column by column; a column that is empty is written as ``_``.

    Attributes
    ----------
    heads : list of int
        The number of each word's head, from 1; 0 at the root. Empty if the sentence has no tree.
    comments : list of str
        The lines before the words, with their ``#``.
    extras : list of (int, str)
        Multiword tokens (``1-2``) and empty nodes (``1.1``): how many words come before, and the line as it
        is.

    Examples
    --------
    >>> print(Sentence(["Dogs", "bark"], upos=["NOUN", "VERB"], heads=[2, 0]))
    1	Dogs	_	NOUN	_	_	2	_	_	_
    2	bark	_	VERB	_	_	0	_	_	_
    """

    forms: list[str]
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    deprels: list[str] = field(default_factory=list)
    deps: list[str] = field(default_factory=list)
    misc: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    extras: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.forms)

    def view(self) -> View:
        """The sentence as people see it: its tree as arcs or, if it has none, its words with their tags."""
        tags = self.upos or self.xpos
        if self.heads:
            return Arcs("tree", "", self.forms, tags, self.heads)
        return Tokens(
            "sentence", "", [Token(word, tag, 0) for word, tag in zip_longest(self.forms, tags, fillvalue="")]
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.view()._repr_html_()

    def plot_arcs(self, ax: Any = None) -> Any:
        """Draw the tree as arcs with Matplotlib (extra ``plots``), into ``ax`` if it is given; returns the axes."""
        if not self.heads:
            raise OptionError("the sentence has no tree to draw")
        return self.view().plot(ax)

    def __str__(self) -> str:
        n = len(self.forms)
        blank = ["_"] * n
        columns = [self.forms, self.lemmas, self.upos, self.xpos, self.feats]
        columns += [[str(head) for head in self.heads], self.deprels, self.deps, self.misc]
        rows = zip(map(str, range(1, n + 1)), *(column or blank for column in columns), strict=True)
        lines = ["\t".join(row) for row in rows]
        for before, line in reversed(self.extras):
            lines.insert(before, line)
        return "\n".join(self.comments + lines)


def read_conllu(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file.

    Word numbers must run from 1, every line must have ten fields, and heads must form a tree with one root
    (or all be ``_``). A sentence that breaks a rule is an :class:`~spinney.errors.InputError` with its
    line, or with ``on_error="skip"`` is dropped. Comments on their own between blank lines belong to the
    next sentence.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.conllu")
    >>> write_conllu(path, [Sentence(["Dogs", "bark"], heads=[2, 0]), Sentence(["No"], comments=["# a"])])
    >>> [(sentence.forms, sentence.heads) for sentence in read_conllu(path)]
    [(['Dogs', 'bark'], [2, 0]), (['No'], [])]
    """
    report = ReadReport() if report is None else report
    blocks = read_stanza_blocks(path, encoding)
    for words in parse_blocks(blocks, Words, _stanzas, on_error, report):
        report.read += len(words.lengths)
        yield from _sentences(words)


def conllu_batches(
    path: FilePath,
    numberings: Mapping[ColumnName, Mapping[str, int]],
    *,
    heads: bool = True,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Batch]:
    """The columns of ``numberings`` (names of :data:`FIELDS`) as numbers; otherwise as :func:`read_conllu`.

    Multiword tokens and empty nodes are left out: what remains are the words of the tree.
    """
    for name in numberings:
        if name not in FIELDS or name == "head":
            raise OptionError(
                f"no column {name!r} in CoNLL-U: use {', '.join(FIELDS)}", given=name, known=FIELDS
            )
    report = ReadReport() if report is None else report

    def parse(block: Block) -> Batch:
        words = Words(block)
        if heads:
            words.refuse(words.heads == NO_HEAD, "no head", "parse the text first, or do not ask for heads")
        columns: dict[ColumnName, NDArray[np.int32]] = {}
        for name, number in numberings.items():
            values = words.column(str(name))
            columns[name] = numbered(values, number)
            unknown = columns[name] < 0
            if unknown.any():
                value = values[int(np.argmax(unknown))]
                words.refuse(unknown, f"{value!r} ({name}) is not in the vocabulary")
        return Batch(words.lengths, columns, words.heads - np.int32(1) if heads else None)

    blocks = read_stanza_blocks(path, encoding)
    for batch in parse_blocks(blocks, parse, _stanzas, on_error, report):
        report.read += len(batch.lengths)
        yield batch


def write_conllu(path: FilePath, sentences: Iterable[Sentence]) -> None:
    """Write sentences, so that :func:`read_conllu` gives them back and a valid file is reproduced exactly."""
    with writing(path) as file:
        for number, sentence in enumerate(sentences, start=1):
            try:
                text = str(sentence)
            except ValueError:
                raise InputError(
                    f"sentence {number} has columns of unequal length", path=os.fspath(path)
                ) from None
            rows = len(sentence) + len(sentence.extras)
            tabs = text.count("\t") - sum(comment.count("\t") for comment in sentence.comments)
            if tabs != 9 * rows or text.count("\n") != rows + len(sentence.comments) - 1:
                raise InputError(f"sentence {number} has a tab or line end in a field", path=os.fspath(path))
            if not all(comment.startswith("#") for comment in sentence.comments):
                raise InputError(f"sentence {number} has a comment without #", path=os.fspath(path))
            file.write(text + "\n\n")


def _stanzas(block: Block) -> Iterator[Block]:
    """Sentences by themselves, and each line of white space between them, which is dropped and counted."""
    return block.each_stanza(strict=True)


def _sentences(words: Words) -> Iterator[Sentence]:
    lines = words.lines
    row_lines = words.row_lines.tolist()
    heads = words.heads.tolist()
    is_word = words.is_word.tolist()
    n_rows = n_words = n_lines = 0
    for length, next_row in zip(words.lengths.tolist(), words.row_offsets[1:].tolist()):
        last_line = row_lines[next_row - 1]
        extras = []
        if next_row - n_rows > length:
            extra_rows = [row for row in range(n_rows, next_row) if not is_word[row]]
            extras = [(row - n_rows - i, lines[row_lines[row]]) for i, row in enumerate(extra_rows)]
        start, stop = n_words, n_words + length
        forms, lemmas, upos, xpos, feats, _, deprels, deps, misc = (
            column[start:stop] for column in words.columns
        )
        yield Sentence(
            forms,
            lemmas,
            upos,
            xpos,
            feats,
            [] if heads[start] == NO_HEAD else heads[start:stop],
            deprels,
            deps,
            misc,
            [line for line in lines[n_lines:last_line] if line.startswith("#")],
            extras,
        )
        n_rows, n_words, n_lines = next_row, stop, last_line + 1
