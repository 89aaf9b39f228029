"""Text to learn from: files of any kind as one run of numbered words, with trees if the file has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.arrays import TokenArrays
from spinney.corpus.batches import Batch, ColumnName, cut_long, drop_long, sentence_batches
from spinney.corpus.building import Cut, collected
from spinney.corpus.columns import column_batches
from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import Sentence, conllu_batches
from spinney.corpus.dependencies import (
    PARSED_COLUMNS,
    DependencyParser,
    load_pipeline,
    parse_dependencies,
    parsed_batches,
)
from spinney.corpus.documents import Document, read_documents
from spinney.corpus.frames import cell_text, column, name_of, text_column
from spinney.corpus.lines import OnError, ReadReport
from spinney.corpus.pairing import Pairing
from spinney.corpus.ranges import can_be_cut, range_batches
from spinney.corpus.tokenisers import tokeniser
from spinney.corpus.vocabulary import Folding, Numbering, Vocabulary
from spinney.errors import InputError, OptionError, SettingError, unknown_choice
from spinney.formats import FORMATS, TEXT, guess_format, reader
from spinney.parallel import elsewhere

_WORDS: Final = "words"
_RELATION: Final = "deprel"
_STEP = 1 << 22  # numbers looked at at a time
_RUNNING = ("prose",)  # formats of sentences that are found by a tokeniser
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|center|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|table|td|th|tr|u|ul)\b[^<>]*>",
    re.IGNORECASE,
)


def read_text(
    paths: FilePath | Sequence[FilePath],
    format: str = "auto",
    *,
    tree: bool = False,
    parser: str | DependencyParser | None = None,
    words: str = "form",
    relations: bool = False,
    subtypes: bool = True,
    lowercase: bool = False,
    tokens: str | None = None,
    vocabulary: Vocabulary | None = None,
    relation_names: Vocabulary | Sequence[str] | None = None,
    min_count: int = 1,
    max_size: int | None = None,
    unknown: str | None = "<unk>",
    max_length: int | None = None,
    require_known: bool = False,
    text: str | int | None = None,
    header: bool = True,
    folder: FilePath | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> TokenArrays:
    """Read files into flat arrays of words.

    Parameters
    ----------
    paths
        A file or a folder of documents, or several, read one after the other; or a data frame
        (:mod:`spinney.corpus.frames`), in which a cell of the text may also be a list of words, a sentence.
    format
        ``"lines"`` (one sentence per line), ``"prose"`` (to be split and tokenized), ``"columns"``, ``"conllu"``, or
        documents to be split and tokenized: ``"folder"`` of files, ``"csv"``, ``"tsv"``. By default as the name of
        each file says (``.conllu``, ``.csv``, ``.tsv``, ``.tab``), and else lines. HTML tags in documents, such as
        ``<br />``, count as white space.
    tree
        Whether to read the heads, too (CoNLL-U, or text that is parsed).
    parser
        The parser that gives lines, prose and documents the required trees, lemmas, tags and relations; CoNLL-U keeps
        its own. The name of a spaCy pipeline, such as ``"en_core_web_sm"`` (needs the extra ``parse``), or a function
        such as :func:`spinney.parsing.dependency_parser` makes from a Spinney parser.
    words
        What a word is: a column of CoNLL-U (``"form"``, ``"lemma"``) or two (``"lemma+upos"``: words such as
        ``attack|NOUN``). In column files, ``"0"`` or ``"0+1"``.
    relations
        Whether to read the relations, too (CoNLL-U, or text that is parsed), as the label column ``"deprel"``;
        without ``subtypes``, ``nsubj:pass`` is ``nsubj``.
    lowercase
        Whether ``The`` is ``the``.
    tokens
        What splits prose and documents into sentences and words: ``"spacy:NAME"``, the spaCy pipeline of a language
        (``"spacy:en"``) or of a package (needs the extra ``spacy``); by default our own rules.
    vocabulary, relation_names
        Those of a fitted model: words that it lacks become its unknown symbol; a relation that it lacks is an error.
    min_count, max_size, unknown
        How to truncate a new vocabulary: to the words seen at least ``min_count`` times, at most ``max_size`` with
        the unknown symbol. A word of the text that is spelt like this symbol is the same word.
    max_length
        Sentences of more words are left out (trees), or else cut into pieces; the report counts them.
    require_known
        Whether a file without a single word of the given vocabulary is an error.
    text, header
        The column of a table that holds the text, by name (by default ``"text"``), or by number from 0; and whether
        the table has a header row.
    folder
        Where to keep the arrays, memory-mapped; memory then holds the distinct words only.
    report
        What was read and dropped: bad sentences (``on_error="skip"``), long ones, tokens and unknown tokens.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("The rose is a rose\\na thorn is no rose\\n")
    >>> report = ReadReport()
    >>> arrays = read_text(path, lowercase=True, min_count=2, report=report)
    >>> [arrays.vocabulary.decode(sentence) for sentence in arrays]
    [['<unk>', 'rose', 'is', 'a', 'rose'], ['a', '<unk>', 'is', '<unk>', 'rose']]
    >>> report.tokens, report.unknown
    (10, 3)
    """
    report = ReadReport() if report is None else report
    files = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    if not files:
        raise OptionError("no files to read")
    formats = [guess_format(file) if format == "auto" else format for file in files]
    if max_length is not None and max_length < 1:
        raise OptionError(f"max_length must be at least 1, not {max_length}")
    if relation_names is not None and not isinstance(relation_names, Vocabulary):
        relation_names = Vocabulary(tuple(relation_names), np.zeros(len(relation_names), np.int64))
    relation_numbers = Numbering() if relation_names is None else relation_names.numbering()
    relation_tables: dict[ColumnName, Mapping[str, int]] = {}
    if relations:
        relation_tables[_RELATION] = (
            relation_numbers if subtypes else Folding(_without_subtype, relation_numbers)
        )
    reader = _Reader(
        _Words(words, lowercase, vocabulary, unknown if vocabulary is None else vocabulary.unknown),
        relation_tables,
        tree,
        max_length,
        vocabulary if require_known else None,
        text,
        header,
        {"encoding": encoding, "on_error": on_error, "report": report},
        report,
        parser,
        tokens,
    )
    for each in formats:
        reader.check(each)
    if any(map(reader.parses, formats)):
        reader = replace(reader, parser=load_pipeline(parser) if isinstance(parser, str) else parser)
    known: dict[ColumnName, Vocabulary | None] = {_WORDS: vocabulary}
    numberings: dict[ColumnName, Mapping[str, int]] = {_WORDS: reader.words.numbering}
    if relations:
        known[_RELATION], numberings[_RELATION] = relation_names, relation_numbers
    batches = reader.all_batches(list(zip(files, formats)))
    arrays = collected(batches, known, numberings, tree, Cut(min_count, max_size, unknown), folder)
    symbol = arrays.vocabulary.unknown
    report.tokens += arrays.n_tokens
    if symbol is not None:
        report.unknown += _count(arrays.ids, arrays.vocabulary[symbol])
    return arrays


class _Words:
    """Which column, or which two, are the words, and the tables that number them.

    ``tables`` number the columns as they are read, ``numbering`` the words that come of them.
    """

    def __init__(
        self, words: str, lowercase: bool, vocabulary: Vocabulary | None, unknown: str | None
    ) -> None:
        self.names = words.split("+")
        if len(self.names) > 2 or len(set(self.names)) < len(self.names):
            raise OptionError(f"words are one column, or two such as lemma+upos, not {words!r}")
        self.numbering = Numbering() if vocabulary is None else vocabulary.numbering()
        self.tables: list[Mapping[str, int]] = [self.numbering]
        self._pairing = None
        if len(self.names) == 2:
            first, second = Numbering(), Numbering()
            self.tables = [first, second]
            self._pairing = Pairing(first, second, self.numbering, unknown)
        if lowercase:
            self.tables[0] = Folding(lambda w: w if w == unknown else w.lower(), self.tables[0])

    def columns(self, format: str, parsed: bool) -> list[ColumnName]:
        """How a file of that format calls the columns."""
        if parsed and not set(self.names) <= set(PARSED_COLUMNS):
            raise OptionError(f"no {'+'.join(self.names)} in parsed text: only {', '.join(PARSED_COLUMNS)}")
        if format == "conllu" or parsed:
            return list(self.names)
        if format == "columns":
            names = ["0" if name == "form" else name for name in self.names]
            numbers = all(name.isascii() and name.isdigit() and len(name) < 10 for name in names)
            if not numbers or len(set(names)) < len(names):
                raise OptionError(f"columns of a column file are numbers from 0, not {'+'.join(names)}")
            return [int(name) for name in names]
        if self.names != ["form"]:
            raise OptionError(
                f"no {'+'.join(self.names)} in {format}: only conllu, columns and parsed text have more than forms"
            )
        return [0]

    def numbers(self, batch: Batch, columns: Sequence[ColumnName]) -> NDArray[np.int32]:
        """The words of a batch that has these columns."""
        if self._pairing is None:
            return batch.columns[columns[0]]
        return self._pairing(batch.columns[columns[0]], batch.columns[columns[1]])


@dataclass(frozen=True)
class _Reader:
    """Reads files of any format as batches with a column of words and, if wanted, one of relations."""

    words: _Words
    relations: dict[ColumnName, Mapping[str, int]]
    tree: bool
    max_length: int | None
    needed: Vocabulary | None  # some word of each file must be here
    text: str | int | None
    header: bool
    how: Mapping[str, Any]  # what all readers of files take
    report: ReadReport
    parser: Any  # a function, or the name of a spaCy pipeline, then the pipeline
    tokens: str | None = None

    def parses(self, format: str) -> bool:
        """Whether text of that format must be parsed to give what is wanted."""
        return (
            self.parser is not None
            and self._wants_more
            and format not in ("conllu", "columns")
            and not FORMATS[format].parsed
        )

    @property
    def _wants_more(self) -> bool:
        """Whether more than forms is wanted."""
        return self.tree or bool(self.relations) or self.words.names != ["form"]

    def _has_trees(self, format: str) -> bool:
        """Whether sentences of that format, other than CoNLL-U, come with what is wanted besides their forms."""
        return bool(FORMATS[format].parsed) and self._wants_more

    def check(self, format: str) -> None:
        """Refuse what the format does not have."""
        if format not in (*TEXT, "frame"):
            raise unknown_choice("format must be", format, ("auto", *TEXT))
        if self.tokens is not None:
            check_untokenised(format)
        has = format == "conllu" or self._has_trees(format)
        if (self.tree or self.relations) and not has and not self.parses(format):
            what = "heads" if self.tree else "relations"
            remedy = (
                "parse the text first" if format == "columns" else "parse the text first, or name a parser"
            )
            raise OptionError(f"no {what} in {format}: only conllu has them; {remedy}")
        if self.relations and _RELATION in self.words.names:
            raise OptionError("relations can be a separate column or part of the words, not both")
        if FORMATS[format].rows:
            self._text_column()
        self.words.columns(format, self.parses(format) or self._has_trees(format))

    def _text_column(self) -> str:
        if self.text is None and not self.header:
            raise OptionError("without a header row, say which column holds the text, by its number from 0")
        return "text" if self.text is None else str(self.text)

    def all_batches(self, files: Sequence[tuple[FilePath, str]]) -> Iterator[Batch]:
        """The batches of all files; an error if they hold no sentence."""
        n = 0
        for path, format in files:
            some_known, before = self.needed is None, n
            for batch in self._fitting(path, format):
                n += len(batch.lengths)
                some_known = some_known or self._has_known(batch.columns[_WORDS])
                yield batch
            if not some_known and n > before:
                remedy = (
                    "is it in the same language and case, with the same kind of words, as the training text?"
                )
                raise InputError("none of the words is in the vocabulary", path=name_of(path), remedy=remedy)
        where = ", ".join(name_of(path) for path, _ in files)
        if not n:
            raise InputError(self._why_empty(), path=where)
        for name, table in (*zip(self.words.names, self.words.tables), *self.relations.items()):
            if list(table) == ["_"] and name != "form":
                raise InputError(
                    f"the column {name} is empty",
                    path=where,
                    remedy="annotate the text, or use another column",
                )

    def _why_empty(self) -> str:
        if self.report.skipped:
            return f"no sentences: {self.report.skipped} were bad, the first: {self.report.errors[0]}"
        return f"no sentences of at most {self.max_length} words" if self.report.long else "no sentences"

    def _has_known(self, ids: NDArray[np.int32]) -> bool:
        assert self.needed is not None
        symbol = self.needed.unknown
        return symbol is None or bool(np.any(ids != self.needed[symbol]))

    def _fitting(self, path: FilePath, format: str) -> Iterator[Batch]:
        """The batches of a file, with sentences that are not too long."""
        columns = self.words.columns(format, self.parses(format) or self._has_trees(format))
        shorten = drop_long if self.tree else cut_long
        for batch in self._batches(path, format, dict(zip(columns, self.words.tables))):
            numbers: dict[ColumnName, NDArray[np.int32]] = {_WORDS: self.words.numbers(batch, columns)}
            numbers |= {name: batch.columns[name] for name in self.relations}
            batch = batch._replace(columns=numbers)
            if self.max_length is not None:
                batch, n = shorten(batch, self.max_length)
                self.report.long += n
            yield batch

    def _batches(
        self, path: FilePath, format: str, tables: dict[ColumnName, Mapping[str, int]]
    ) -> Iterator[Batch]:
        if format == "conllu":
            return conllu_batches(path, tables | self.relations, heads=self.tree, **self.how)
        if format == "columns":
            return column_batches(path, tables, **self.how)
        if self._has_trees(format):
            trees = reader(format, "parsed")(path, **self.how)
            trees = _with_heads(trees, path) if self.tree else trees
            how = {"on_error": self.how["on_error"], "report": self.report}
            return parsed_batches(trees, tables | self.relations, path=path, **how)
        if (
            format == "lines"
            and elsewhere()
            and not self.parses(format)
            and can_be_cut(path, self.how["encoding"])
        ):
            return range_batches(path, tables[0], self.how["on_error"], self.report)
        text = None if self.text is None else str(self.text)
        table: dict[str, Any] = {"text": text, "header": self.header, "tokens": self.tokens}
        sentences = plain_sentences(path, format, **table, **self.how)
        if self.parses(format):
            trees = parse_dependencies(sentences, self.parser, report=self.report)
            how = {"on_error": self.how["on_error"], "report": self.report}
            return parsed_batches(trees, tables | self.relations, path=name_of(path), **how)
        return sentence_batches(sentences, tables[0])


def _with_heads(sentences: Iterable[Sentence], path: FilePath) -> Iterator[Sentence]:
    for sentence in sentences:
        if not sentence.heads:
            raise InputError("a sentence without heads", path=name_of(path), remedy="parse the text first")
        yield sentence


def check_untokenised(format: str) -> None:
    """Refuse a tokeniser for text that is in tokens already.

    Examples
    --------
    >>> check_untokenised("lines")
    Traceback (most recent call last):
    ...
    spinney.errors.SettingError: tokens is for running text, but the words of lines are separate: leave it out, or ...
    """
    if FORMATS[format].sentences and format not in _RUNNING:
        raise SettingError(
            "{tokens} is for running text, but the words of {given} are separate: leave it out, or set {format} prose",
            given=format,
        )


def plain_sentences(
    path: FilePath | Any,
    format: str,
    *,
    text: str | None = None,
    header: bool = True,
    tokens: str | None = None,
    **how: Any,
) -> Iterator[list[str]]:
    """The sentences of a file in any format of text without annotation, or of a data frame, as tokens.

    ``how`` are the keywords that all readers take.

    Examples
    --------
    >>> import pandas
    >>> list(plain_sentences(pandas.DataFrame({"text": ["A joy. See it!"]}), "frame"))
    [['A', 'joy', '.'], ['See', 'it', '!']]
    """
    if format == "frame":
        return _frame_sentences(path, text, tokens)
    if FORMATS[format].sentences:
        by = {"tokeniser": tokeniser(tokens)} if format in _RUNNING else {}
        sentences: Iterator[list[str]] = reader(format, "sentences")(path, **by, **how)
        return sentences
    table: dict[str, Any] = {"text": text or "text", "header": header} if FORMATS[format].rows else {}
    return document_sentences(read_documents(path, format, **table, **how), tokens)


def _frame_sentences(frame: Any, text: str | None, tokens: str | None) -> Iterator[list[str]]:
    """Of the cells of a column; a list of words is a sentence as it is."""
    for cell in column(frame, text_column(frame, text)):
        if not isinstance(cell, list):
            yield from document_sentences([Document(cell_text(cell))], tokens)
        elif tokens is not None:
            raise SettingError("{tokens} is for running text, but the cells are lists of words: leave it out")
        elif cell:
            yield list(map(cell_text, cell))


def document_sentences(documents: Iterable[Document], tokens: str | None = None) -> Iterator[list[str]]:
    """The sentences of documents, as tokens; HTML tags count as white space.

    They are found by our own rules, or by another tokeniser (:func:`spinney.corpus.tokenisers.tokeniser`).

    Examples
    --------
    >>> list(document_sentences([Document("A <i>joy</i>.<br /><br />See it!")]))
    [['A', 'joy', '.'], ['See', 'it', '!']]
    """
    split = tokeniser(tokens)
    for document in documents:
        text = document.text
        yield from split(_TAG.sub(" ", text) if "<" in text else text)


def _without_subtype(relation: str) -> str:
    return relation.partition(":")[0]


def _count(ids: NDArray[np.int32], number: int) -> int:
    return sum(int(np.count_nonzero(ids[i : i + _STEP] == number)) for i in range(0, len(ids), _STEP))
