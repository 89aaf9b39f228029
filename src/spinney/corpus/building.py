"""From text to flat arrays in one pass.

Words are numbered as they come. When the text has been read, the numbers are counted and changed for those
of a vocabulary sorted by frequency. With a folder, both steps go through files, and memory holds the
distinct words only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.arrays import INDEX, Labels, TokenArrays
from spinney.corpus.batches import Batch, ColumnName, sentence_batches
from spinney.corpus.columns import DocStart, column_batches
from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import conllu_batches
from spinney.corpus.gathering import gather
from spinney.corpus.lines import OnError, ReadReport
from spinney.corpus.opening import writing_folder
from spinney.corpus.raw import read_prose, read_tokenized
from spinney.corpus.vocabulary import Numbering, Vocabulary
from spinney.errors import InputError, OptionError, unknown_choice

Format = Literal["lines", "prose", "columns", "conllu"]

_STEP = 1 << 22  # numbers changed at a time


def read_arrays(
    paths: FilePath | Sequence[FilePath],
    format: Format,
    *,
    words: ColumnName | None = None,
    labels: Sequence[ColumnName] = (),
    heads: bool = False,
    vocabulary: Vocabulary | None = None,
    label_vocabularies: Mapping[ColumnName, Vocabulary] | None = None,
    min_count: int = 1,
    max_size: int | None = None,
    unknown: str | None = None,
    folder: FilePath | None = None,
    docstart: DocStart = "drop",
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> TokenArrays:
    """Read files into flat arrays.

    Parameters
    ----------
    paths
        A file or several, read one after the other.
    format
        ``"lines"`` (:func:`~spinney.corpus.read_tokenized`), ``"prose"``
        (:func:`~spinney.corpus.read_prose`), ``"columns"`` (:func:`~spinney.corpus.read_columns`) or
        ``"conllu"`` (:func:`~spinney.corpus.read_conllu`).
    words, labels
        Columns: numbers from 0 for ``"columns"`` (by default words are in 0), names such as ``"lemma"`` or
        ``"upos"`` for ``"conllu"`` (by default words are the ``"form"``).
    heads
        Whether to read the heads, too (``"conllu"`` only).
    vocabulary, label_vocabularies
        The vocabularies to use, for data that are meant for a fitted model. By default they are made from what is
        read.
    min_count, max_size, unknown
        How to truncate a new vocabulary; see :meth:`Vocabulary.from_counts`.
    folder
        Where to keep the arrays, memory-mapped; by default they are in memory.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("He PRP\\nran VBD\\n\\nHe PRP\\nsat VBD\\n")
    >>> arrays = read_arrays(path, "columns", labels=[1])
    >>> arrays, arrays.labels[1]
    (TokenArrays(2 sentences, 4 tokens, 3 words),
     Labels(ids=array([0, 1, 0, 1], dtype=int32), vocabulary=Vocabulary(2 words, 4 tokens)))
    """
    if format not in ("lines", "prose", "columns", "conllu"):
        raise unknown_choice("format must be", format, ("lines", "prose", "columns", "conllu"))
    if format in ("lines", "prose") and labels:
        raise OptionError(f"no label columns in {format}")
    if heads and format != "conllu":
        raise OptionError(f"no heads in {format}: only conllu has them")
    if words is None:
        words = "form" if format == "conllu" else 0
    if words in labels or len(set(labels)) < len(labels):
        raise OptionError("the columns of words and labels must differ")
    files: list[FilePath] = (
        [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    )
    known: dict[ColumnName, Vocabulary | None] = {words: vocabulary}
    known |= {name: (label_vocabularies or {}).get(name) for name in labels}
    numberings = {name: Numbering() if v is None else v.numbering() for name, v in known.items()}

    def batches(path: FilePath) -> Iterator[Batch]:
        if format == "columns":
            return column_batches(
                path, numberings, encoding=encoding, on_error=on_error, report=report, docstart=docstart
            )
        if format == "conllu":
            return conllu_batches(
                path, numberings, heads=heads, encoding=encoding, on_error=on_error, report=report
            )
        read = read_tokenized if format == "lines" else read_prose
        sentences = read(path, encoding=encoding, on_error=on_error, report=report)
        return sentence_batches(sentences, numberings[0])

    def all_batches() -> Iterator[Batch]:
        n = 0
        for batch in chain.from_iterable(map(batches, files)):
            n += len(batch.lengths)
            yield batch
        if not n:
            raise InputError("no sentences", path=", ".join(map(str, files)))

    return collected(all_batches(), known, numberings, heads, Cut(min_count, max_size, unknown), folder)


def sentence_arrays(
    sentences: Iterable[Sequence[str]],
    *,
    vocabulary: Vocabulary | None = None,
    min_count: int = 1,
    max_size: int | None = None,
    unknown: str | None = None,
    folder: FilePath | None = None,
) -> TokenArrays:
    """Number any stream of sentences; the options are those of :func:`read_arrays`.

    Examples
    --------
    >>> sentence_arrays([["a", "rose"], ["is", "a", "rose"]], min_count=2, unknown="?").ids
    array([1, 2, 0, 1, 2], dtype=int32)
    """
    numbering = Numbering() if vocabulary is None else vocabulary.numbering()
    batches = sentence_batches(sentences, numbering)
    cut = Cut(min_count, max_size, unknown)
    return collected(batches, {0: vocabulary}, {0: numbering}, False, cut, folder)


@dataclass(frozen=True)
class Cut:
    """How to cut a vocabulary; see :meth:`Vocabulary.from_counts`."""

    min_count: int = 1
    max_size: int | None = None
    unknown: str | None = None


def collected(
    batches: Iterable[Batch],
    known: Mapping[ColumnName, Vocabulary | None],
    numberings: Mapping[ColumnName, Mapping[str, int]],
    heads: bool,
    cut: Cut,
    folder: FilePath | None,
) -> TokenArrays:
    """Gather batches and renumber what was numbered on the way; the first column holds the words.

    A column whose vocabulary is ``known`` keeps its numbers. Of the others, ``numberings`` are the tables that
    gave them their numbers, in the order of these.
    """
    names = list(numberings)
    if cut.unknown is None and (cut.min_count > 1 or cut.max_size is not None) and known[names[0]] is None:
        raise OptionError(
            "min_count and max_size need an unknown symbol to replace the words that they remove"
        )
    with nullcontext() if folder is None else writing_folder(folder, INDEX) as temporary:
        offsets, columns, parents = gather(batches, names, heads, temporary)
        numbered: dict[ColumnName, Labels] = {}
        for name, ids in zip(names, columns):
            vocabulary = known[name]
            if vocabulary is None:
                vocabulary = _renumbered(ids, numberings[name], Cut() if numbered else cut)
            numbered[name] = Labels(ids, vocabulary)
        words = numbered.pop(names[0])
        arrays = TokenArrays(words.ids, offsets, words.vocabulary, parents, numbered)
        if temporary is not None:
            arrays.save_words(temporary)
    return arrays if folder is None else TokenArrays.load(folder)


def _renumbered(ids: NDArray[np.int32], numbering: Mapping[str, int], cut: Cut) -> Vocabulary:
    """A vocabulary of what ``ids`` count; they are changed, in place, into its numbers."""
    counts = np.zeros(len(numbering), np.int64)
    for start in range(0, len(ids), _STEP):
        counts += np.bincount(ids[start : start + _STEP], minlength=len(numbering))
    vocabulary = Vocabulary.from_counts(
        dict(zip(numbering, counts.tolist())),
        min_count=cut.min_count,
        max_size=cut.max_size,
        unknown=cut.unknown,
    )
    # A word that is in no sentence (its only one was skipped) has a number that no token has: any will do.
    new = vocabulary.encode(numbering, missing=0)
    for start in range(0, len(ids), _STEP):
        ids[start : start + _STEP] = new[ids[start : start + _STEP]]
    return vocabulary
