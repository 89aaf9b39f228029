"""Reading sentences as columns, from all formats that taggers accept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spinney.corpus import ReadReport, read_conllu, read_crfsuite, read_lines
from spinney.corpus.compressed import FilePath
from spinney.corpus.frames import frame_tokens, is_frame, series_list, tagged_frame
from spinney.corpus.lines import OnError
from spinney.corpus.reading import plain_sentences
from spinney.corpus.vocabulary import Numbering
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError, SettingError, shown, unknown_choice
from spinney.formats import giving, guess_format, reader
from spinney.tagging.attributes import attribute_cell
from spinney.tagging.columns import (
    Columns,
    labelled_columns,
    read_all,
    read_column_batches,
    unlabelled_columns,
)
from spinney.tagging.g2p import cmudict_sentences, nettalk_sentences

LABELLED = giving("tagged")
#: Formats in which what is the label can be chosen.
OF_SPACY = ("spacy", "spacy-jsonl")
FORMATS = (*LABELLED, "lines", "letters")
SENTENCES = 1000  # sentences per batch
TOKENS = 100_000  # tokens per batch, where sentences are long
POOL = 1 << 20  # strings remembered while streamed input is labelled

Rows = Sequence[tuple[str, ...]]


def read_columns_of(
    paths: FilePath | Sequence[FilePath],
    format: str = "columns",
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    docstart: Any = "drop",
    pool: Numbering | None = None,
    label: str | None = None,
) -> Columns:
    """All sentences of a file, or of several; the label of the format, if any, comes last.

    ``columns``: as they are. ``conllu``: form, then universal part of speech. ``crfsuite``: attributes as one cell,
    then the label. ``nettalk``, ``cmudict``: letter, then sound (``nettalk-stress``: sound and stress). ``lines``
    (tokens separated by spaces) and ``letters`` (words) have no labels. ``spacy`` and ``spacy-jsonl``: token, then the
    ``label`` (``ner``, ``tag``, ``pos``), if it is given.
    """
    if format == "columns":
        return read_all(paths, pool, encoding=encoding, on_error=on_error, report=report, docstart=docstart)
    files = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    rows = (row for path in files for row in _sentences(path, format, encoding, on_error, report, label))
    return Columns.from_sentences(rows, pool)


def read_batches_of(
    path: FilePath,
    format: str = "columns",
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    docstart: Any = "drop",
    label: str | None = None,
) -> Iterator[Columns]:
    """The same in batches of sentences, in bounded memory; columns come with the lines between sentences."""
    if format == "columns":
        yield from read_column_batches(
            path, Numbering(), pool_limit=POOL, encoding=encoding, on_error=on_error, report=report, docstart=docstart,
            between=True,
        )  # fmt: skip
        return
    sentences = iter(_sentences(path, format, encoding, on_error, report, label))
    pool = Numbering()
    for some in in_batches(sentences, SENTENCES, path, weigh=len, heaviest=TOKENS):
        pool = pool if len(pool) < POOL else Numbering()
        yield Columns.from_sentences(some, pool)


def read_conllu_batches(path: FilePath, **how: Any) -> Iterator[tuple[Columns, list[Any]]]:
    """Forms and universal parts of speech of CoNLL-U in batches, with the whole sentences."""
    sentences, pool = read_conllu(path, **how), Numbering()
    for some in in_batches(sentences, SENTENCES, path, weigh=len, heaviest=TOKENS):
        pool = pool if len(pool) < POOL else Numbering()
        yield Columns.from_sentences([list(zip(one.forms, one.upos)) for one in some], pool), some


def format_of(data: Any, s: Any) -> str:
    """The format of a file, or of several: the one that was asked for, or the one that the names suggest.

    Examples
    --------
    >>> from spinney.settings.tag import Evaluate
    >>> format_of("test.conllu.xz", Evaluate()), format_of(["a.txt", "b.txt"], Evaluate())
    ('conllu', 'columns')
    """
    if s.format != "auto":
        return str(s.format)
    files = [data] if isinstance(data, str | os.PathLike) else list(data)
    guessed = {guess_format(file, LABELLED, "columns"): file for file in files}
    if len(guessed) > 1:
        found = ", ".join(f"{file} ({format})" for format, file in guessed.items())
        raise SettingError("files of different formats by their names, {found}: give {format}", found=found)
    return next(iter(guessed))


def is_pair(data: Any) -> bool:
    """Whether data are sentences in memory with their labels, rather than files."""
    return isinstance(data, tuple) and len(data) == 2 and not isinstance(data[0], str)


def labelled_data(
    data: Any, s: Any, report: ReadReport | None = None, like: Columns | None = None
) -> Columns:
    """Sentences with labels: a file or several, a data frame, (sentences, labels), or columns as they are.

    ``s`` are the settings for reading files; with ``like``, the number of columns must be the same.
    """
    if isinstance(data, Columns):
        return data
    if is_frame(data):
        return labelled_columns(*tagged_frame(data, s.label), like)
    if is_pair(data):
        sentences, labels = map(series_list, data)
        return labelled_columns(sentences, labels, like)
    files = [data] if isinstance(data, str) else list(data) if isinstance(data, Iterable) else [data]
    if not files or not all(isinstance(file, str | os.PathLike) for file in files):
        what = f"data must be files, a data frame, or a pair of sentences and their labels, not {shown(data)}"
        raise InputError(what)
    columns = _read(files, s, report, s.label or "ner")
    if not columns.n_tokens:
        raise InputError("no sentences", path=", ".join(files))
    if columns.width < 2:
        what = "only one column, so there are no labels"
        raise InputError(what, path=files[0], remedy="put the labels into the last column")
    if like is not None and like.width != columns.width:
        what = f"{columns.width} columns, but the training data have {like.width}"
        raise InputError(what, path=files[0], remedy="use the same columns, with the labels last")
    return columns


def unlabelled_data(data: Any, s: Any, like: Columns | None = None) -> Columns:
    """Sentences without labels: a file, sentences in memory, or columns as they are."""
    if isinstance(data, Columns):
        return data
    if is_frame(data):
        return unlabelled_columns(frame_tokens(data), like)
    return _read([data], s) if isinstance(data, str) else unlabelled_columns(data, like)


def check_label(s: Any, format: str) -> None:
    """Refuse the choice of a label for files that have only one."""
    if s.label is not None and format not in OF_SPACY:
        raise SettingError("{label} is for files of spaCy and for data frames, not for {given}", given=format)


def _read(
    files: Sequence[str], s: Any, report: ReadReport | None = None, label: str | None = None
) -> Columns:
    format = format_of(files, s)
    check_label(s, format)
    how = {"encoding": s.encoding, "on_error": s.on_error, "docstart": s.docstart}
    return read_columns_of(files, format, report=report, label=label, **how)


def _sentences(
    path: FilePath,
    format: str,
    encoding: str,
    on_error: OnError,
    report: ReadReport | None,
    label: str | None = None,
) -> Iterable[Rows]:
    if format not in FORMATS:
        raise unknown_choice("format must be", format, FORMATS)
    how: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "report": report}
    if format in OF_SPACY:
        return _of_spacy(path, format, label, how)
    what = "tagged" if format in LABELLED else "sentences"
    sentences: Iterable[Rows] = reader(format, what)(path, **how)
    return sentences if what == "tagged" else ([(token,) for token in sentence] for sentence in sentences)  # type: ignore[misc]


def _of_spacy(path: FilePath, format: str, label: str | None, how: dict[str, Any]) -> Iterable[Rows]:
    """Tokens with their labels, or alone if no label is wanted."""
    if label is None:
        return ([(token,) for token in sentence] for sentence in plain_sentences(path, format, **how))
    if format == "spacy-jsonl" and label != "ner":
        raise SettingError("{label} must be ner in the format spacy-jsonl, not {given}", given=repr(label))
    chosen = {"label": label} if format == "spacy" else {}
    rows: Iterable[Rows] = reader(format, "tagged")(path, **chosen, **how)
    return rows


def conllu_rows(path: FilePath, **how: Any) -> Iterator[Rows]:
    """Forms and universal parts of speech of CoNLL-U."""
    return (list(zip(sentence.forms, sentence.upos)) for sentence in read_conllu(path, **how))


def crfsuite_rows(path: FilePath, **how: Any) -> Iterator[Rows]:
    """Attributes as one cell, then the label."""
    return (
        [(attribute_cell(seen.items()), label) for label, seen in sentence]
        for sentence in read_crfsuite(path, **how)
    )


def letters(path: FilePath, **how: Any) -> Iterator[str]:
    """Words, whose letters are the tokens."""
    for _, line in read_lines(path, **how):
        yield from line.split()


def nettalk_rows(path: FilePath, **how: Any) -> Iterable[Rows]:
    """Letters and sounds of NETtalk."""
    return nettalk_sentences(path)


def nettalk_stress_rows(path: FilePath, **how: Any) -> Iterable[Rows]:
    """Letters, and sounds with their stress, of NETtalk."""
    return nettalk_sentences(path, joint_stress=True)


def cmudict_rows(path: FilePath, **how: Any) -> Iterable[Rows]:
    """Letters and sounds of CMUdict."""
    return cmudict_sentences(path)
