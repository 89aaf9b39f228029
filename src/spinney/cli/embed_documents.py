"""Documents as bags of words, for topics: the files of a folder, the rows of a table, paragraphs or lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from spinney.cli.textfiles import Source, documents
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.corpus import ReadReport


class Bags(NamedTuple):
    """How often each document has each word, and the name of each document."""

    counts: Any  # CSR [documents, words]
    words: list[str]
    names: list[str]


def learn_bags(
    source: Source,
    lowercase: bool,
    report: ReadReport,
    *,
    min_count: int,
    max_words: int | None = None,
    stop_words: int = 0,
) -> Bags:
    """The documents over the words that they have in common.

    Words seen fewer than ``min_count`` times, the ``stop_words`` most frequent, and of the others those beyond the
    ``max_words`` most frequent are left out.
    """
    import numpy as np

    from spinney.corpus.vocabulary import Numbering, Vocabulary

    numbering = Numbering()
    names, ids, ends = _numbered(source, lowercase, numbering, report)
    seen = np.bincount(ids, minlength=len(numbering)).tolist()
    frequent = Vocabulary.from_counts(dict(zip(numbering, seen)), min_count=min_count).words
    words = frequent[stop_words:][:max_words]
    if len(words) < 2:
        what = f"of {len(numbering):,} words {len(words)} are left to learn from"
        raise InputError(what, path=source.name, remedy="lower --min-count or --stop-words")
    return Bags(_table(ids, ends, list(numbering), words), list(words), names)


def read_bags(source: Source, lowercase: bool, report: ReadReport, words: Sequence[str]) -> Bags:
    """The documents over given words; all others are passed over."""
    from spinney.corpus.vocabulary import Numbering

    numbering = Numbering()
    names, ids, ends = _numbered(source, lowercase, numbering, report)
    bags = Bags(_table(ids, ends, list(numbering), words), list(words), names)
    report.tokens += len(ids)
    report.unknown += len(ids) - int(bags.counts.sum())
    if not bags.counts.nnz:
        remedy = "is it of the same language, case and kind of words as the training text?"
        raise InputError("not one word is in the vocabulary", path=source.name, remedy=remedy)
    return bags


def first_documents(
    source: Source, lowercase: bool, n: int, report: ReadReport
) -> list[tuple[str, list[str]]]:
    """The first ``n`` documents: the name of each, and its words as a model sees them."""
    (path,) = source.files
    return [
        (name, [word.lower() for word in words] if lowercase else list(words))
        for name, words in islice(_documents(path, source, report), n)
    ]


def table_of(documents: Sequence[Sequence[str]], words: Sequence[str]) -> Any:
    """How often each document has each of ``words``."""
    import numpy as np

    from spinney.corpus.vocabulary import Numbering

    numbering = Numbering()
    ids = np.array([numbering[word] for document in documents for word in document], np.intc)
    ends = np.concatenate([[0], np.cumsum([len(document) for document in documents], dtype=np.int64)])
    return _table(ids, ends.tolist(), list(numbering), words)


def _numbered(
    source: Source, lowercase: bool, numbering: Any, report: ReadReport
) -> tuple[list[str], Any, list[int]]:
    """The names of documents, the numbers of their words, and where each document ends in these."""
    import numpy as np

    from spinney.corpus.vocabulary import Folding

    number = Folding(str.lower, numbering) if lowercase else numbering
    ids, names, ends = array("i"), [], [0]
    for path in source.files:
        for name, words in _documents(path, source, report):
            ids.extend(map(number.__getitem__, words))
            names.append(name)
            ends.append(len(ids))
    if not names or not ids:
        raise InputError("no documents" if not names else "no words", path=source.name)
    return names, np.frombuffer(ids, np.intc), ends


def _table(ids: Any, ends: Sequence[int], seen: Sequence[str], words: Sequence[str]) -> Any:
    """Counts of ``words`` by document, out of the numbers of all words."""
    import numpy as np
    from scipy.sparse import csr_array

    place = {word: i for i, word in enumerate(words)}
    column = np.array([place.get(word, -1) for word in seen], np.int32)[ids]
    kept = column >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[np.asarray(ends)]
    table = csr_array((np.ones(int(starts[-1])), column[kept], starts), shape=(len(ends) - 1, len(words)))
    table.sum_duplicates()
    return table


def _documents(path: str, source: Source, report: ReadReport) -> Iterator[tuple[str, Iterator[str]]]:
    """Each document: its name, or its number from 1, and its words."""
    from spinney.corpus import read_tokenized, tokenized_sentences
    from spinney.corpus.lines import Block, parse_blocks, read_stanza_blocks
    from spinney.corpus.reading import document_sentences
    from spinney.formats import guess_format

    how: dict[str, Any] = {"encoding": source.encoding, "on_error": source.on_error, "report": report}
    format = guess_format(path) if source.format == "auto" else source.format
    if format in ("columns", "conllu"):
        raise OptionError(
            f"--method topics: no documents in {format}; give lines, prose, a folder or a table"
        )
    if format == "lines":
        for number, words in enumerate(read_tokenized(path, **how), 1):
            yield str(number), iter(words)
    elif format == "prose":
        blocks = read_stanza_blocks(path, source.encoding)
        paragraphs = (stanza for block in blocks for stanza in block.each_stanza())
        texts = parse_blocks(paragraphs, Block.decode, lambda one: iter([one]), how["on_error"], report)
        for number, text in enumerate(texts, 1):
            yield str(number), chain.from_iterable(tokenized_sentences(text))
    else:
        for document in documents(path, format, source, how):
            yield document.id, chain.from_iterable(document_sentences([document]))
