"""Documents and bags of their words: the files of a folder, the rows of a table, paragraphs or lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from spinney.corpus import ReadReport, TokenArrays, read_tokenized
from spinney.corpus.frames import name_of
from spinney.corpus.lines import Block, parse_blocks, read_stanza_blocks
from spinney.corpus.reading import document_sentences
from spinney.corpus.text import Source, documents, training_files, training_sources
from spinney.corpus.tokenisers import tokeniser
from spinney.corpus.vocabulary import Folding, Numbering, Vocabulary
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError, OptionError

_DOCUMENTS = 1000  # worked on at a time
_WORDS = 1_000_000  # the same, where documents are long
_OTHER_TEXT = "is it in the same language and case, with the same kind of words, as the training text?"


class Bags(NamedTuple):
    """How often each document has each word, and the name of each document."""

    counts: Any  # CSR [documents, words]
    words: list[str]
    names: list[str]


def learn_bags(data: Any, s: Any, report: ReadReport) -> Bags:
    """The documents over the words that they have in common.

    Words seen fewer than ``s.min_count`` times, the ``s.stop_words`` most frequent, and of the others those beyond the
    ``s.max_words`` most frequent are left out.
    """
    numbering = Numbering()
    names, ids, ends = _numbered(data, s, s.lowercase, numbering, report)
    seen = np.bincount(ids, minlength=len(numbering)).tolist()
    frequent = Vocabulary.from_counts(dict(zip(numbering, seen)), min_count=s.min_count).words
    words = frequent[s.stop_words :][: s.max_words]
    if len(words) < 2:
        what = f"only {len(words)} of {len(numbering):,} words are left to learn from"
        raise InputError(what, path=_named(data), remedy="lower min_count or stop_words")
    return Bags(_table(ids, ends, list(numbering), words), list(words), names)


def read_bags(data: Any, s: Any, lowercase: bool, report: ReadReport, words: Sequence[str]) -> Bags:
    """The documents over given words; all others are left out."""
    numbering = Numbering()
    names, ids, ends = _numbered(data, s, lowercase, numbering, report)
    bags = Bags(_table(ids, ends, list(numbering), words), list(words), names)
    report.tokens += len(ids)
    report.unknown += len(ids) - int(bags.counts.sum())
    if not bags.counts.nnz:
        raise InputError("none of the words is in the vocabulary", path=_named(data), remedy=_OTHER_TEXT)
    return bags


def bag_batches(
    data: Any, s: Any, lowercase: bool, report: ReadReport, words: Sequence[str]
) -> Iterator[Bags]:
    """As :func:`read_bags`, some documents at a time."""
    files = training_files(data)  # a data frame is no file that could be standard input
    path = files[0] if files is not None and len(files) == 1 else None
    found = ((name, list(document)) for name, document in _all_documents(data, s, report))
    n = known = 0
    for some in in_batches(found, _DOCUMENTS, path, weigh=lambda one: len(one[1]), heaviest=_WORDS):
        documents = [[word.lower() for word in one] if lowercase else one for _, one in some]
        bags = Bags(table_of(documents, words), list(words), [name for name, _ in some])
        n += len(some)
        known += bags.counts.nnz
        report.tokens += sum(map(len, documents))
        yield bags
    if not n or not report.tokens:
        raise InputError("no documents" if not n else "no words", path=_named(data))
    if not known:
        raise InputError("none of the words is in the vocabulary", path=_named(data), remedy=_OTHER_TEXT)


def first_documents(
    data: Any, s: Any, lowercase: bool, n: int, report: ReadReport
) -> list[tuple[str, list[str]]]:
    """The first ``n`` documents: the name of each, and its words as a model sees them."""
    return [
        (name, [word.lower() for word in words] if lowercase else list(words))
        for name, words in islice(_all_documents(data, s, report), n)
    ]


def document_words(data: Any, s: Any, report: ReadReport) -> Iterator[list[str]]:
    """The words of each document, its sentences joined, for methods whose contexts may cross them.

    Examples
    --------
    >>> list(document_words([["a", "b"], ["c"]], None, ReadReport()))
    [['a', 'b'], ['c']]
    """
    if isinstance(data, TokenArrays):
        raise OptionError("reset: arrays of tokens have no documents (give their words, or files)")
    if getattr(s, "words", "form") != "form":
        raise OptionError("reset: in documents a word is its form")
    return (list(words) for _, words in _all_documents(data, s, report))


def _named(data: Any) -> str | None:
    files = training_sources(data)
    return None if files is None else ", ".join(map(name_of, files))


def _all_documents(data: Any, s: Any, report: ReadReport) -> Iterator[tuple[str, Iterator[str]]]:
    """The documents of files, read as settings say (see :class:`spinney.settings.text.TextFiles`), or of a list."""
    files = training_sources(data)
    if files is None:
        for number, words in enumerate(data, 1):
            yield str(number), iter(words)
        return
    source = Source(files, s.format, s.encoding, s.on_error, s.text, s.header)
    for path in files:
        yield from _documents(path, source, report, getattr(s, "tokens", None))


def table_of(documents: Sequence[Sequence[str]], words: Sequence[str]) -> Any:
    """How often each document has each of ``words``."""
    numbering = Numbering()
    ids = np.array([numbering[word] for document in documents for word in document], np.intc)
    ends = np.concatenate([[0], np.cumsum([len(document) for document in documents], dtype=np.int64)])
    return _table(ids, ends.tolist(), list(numbering), words)


def _numbered(
    data: Any, s: Any, lowercase: bool, numbering: Any, report: ReadReport
) -> tuple[list[str], Any, list[int]]:
    """The names of documents, the numbers of their words, and where each document ends in these."""
    number = Folding(str.lower, numbering) if lowercase else numbering
    ids, names, ends = array("i"), [], [0]
    for name, words in _all_documents(data, s, report):
        ids.extend(map(number.__getitem__, words))
        names.append(name)
        ends.append(len(ids))
    if not names or not ids:
        raise InputError("no documents" if not names else "no words", path=_named(data))
    return names, np.frombuffer(ids, np.intc), ends


def _table(ids: Any, ends: Sequence[int], seen: Sequence[str], words: Sequence[str]) -> Any:
    """Counts of ``words`` by document, out of the numbers of all words."""
    place = {word: i for i, word in enumerate(words)}
    column = np.array([place.get(word, -1) for word in seen], np.int32)[ids]
    kept = column >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[np.asarray(ends)]
    table = csr_array((np.ones(int(starts[-1])), column[kept], starts), shape=(len(ends) - 1, len(words)))
    table.sum_duplicates()
    return table


def _documents(
    path: Any, source: Source, report: ReadReport, tokens: str | None = None
) -> Iterator[tuple[str, Iterator[str]]]:
    """Each document: its name, or its number from 1, and its words."""
    how: dict[str, Any] = {"encoding": source.encoding, "on_error": source.on_error, "report": report}
    format = source.format_of(path)
    if format in ("columns", "conllu"):
        raise OptionError(f"there are no documents in {format} (give lines, prose, a folder or a table)")
    if format == "lines":
        for number, words in enumerate(read_tokenized(path, **how), 1):
            yield str(number), iter(words)
    elif format == "prose":
        blocks = read_stanza_blocks(path, source.encoding)
        paragraphs = (stanza for block in blocks for stanza in block.each_stanza())
        texts = parse_blocks(paragraphs, Block.decode, lambda one: iter([one]), how["on_error"], report)
        for number, text in enumerate(texts, 1):
            yield str(number), chain.from_iterable(tokeniser(tokens)(text))
    else:
        for document in documents(path, format, source, how):
            yield document.id, chain.from_iterable(document_sentences([document], tokens))
