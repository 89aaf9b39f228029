"""Labelled documents from whatever the user has: a folder, a table, an svmlight file, or lines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spinney.errors import InputError, OptionError

FORMATS = ("auto", "folder", "csv", "tsv", "svmlight", "lines")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")


@dataclass
class Inputs:
    """Documents (or a matrix) with their labels, and what was passed over while reading them."""

    inputs: Any
    labels: list[str] | None
    ids: list[str]
    is_text: bool
    skipped: int = 0
    empty: int = 0
    sources: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def keep(self, wanted: Sequence[bool]) -> None:
        """Drop the documents that are not wanted."""
        rows = [i for i, yes in enumerate(wanted) if yes]
        self.skipped += len(self.ids) - len(rows)
        self.inputs = [self.inputs[i] for i in rows] if self.is_text else self.inputs[rows]
        self.ids = [self.ids[i] for i in rows]
        if self.labels is not None:
            self.labels = [self.labels[i] for i in rows]


def guess_format(path: str) -> str:
    """The format that a path suggests."""
    if path != "-" and Path(path).is_dir():
        return "folder"
    name = Path(path)
    suffix = Path(name.stem).suffix if name.suffix in _COMPRESSED else name.suffix
    return _SUFFIXES.get(suffix.lower(), "lines")


def read_inputs(
    path: str,
    format: str,
    *,
    text: str,
    label: str,
    header: bool = True,
    need_labels: bool,
    encoding: str,
    on_error: str,
) -> Inputs:
    """Read one file or folder.

    With ``need_labels`` a document without label is an error, and so is an empty one: nothing can be learnt from it.
    """
    if format not in FORMATS:
        raise OptionError(f"--format is one of {', '.join(FORMATS)}, not {format!r}")
    if on_error not in ("raise", "skip"):
        raise OptionError(f"--on-error is raise or skip, not {on_error!r}")
    format = guess_format(path) if format == "auto" else format
    if format == "svmlight":
        return _svmlight(path)
    documents, skipped = _documents(path, format, text, label, header, need_labels, encoding, on_error)
    read = Inputs(
        [document.text for document in documents],
        [document.label or "" for document in documents] if need_labels else None,
        [document.id for document in documents],
        True,
        skipped=skipped,
        sources=[path],
    )
    full = [bool(text.strip()) for text in read.inputs]
    read.empty = full.count(False)
    if need_labels and read.empty:
        if on_error == "raise":
            where = read.ids[full.index(False)]
            raise InputError(
                f"document {where} is empty",
                path=path,
                remedy="remove it, or pass over such with --on-error skip",
            )
        read.keep(full)
    if not len(read):
        raise InputError("no documents", path=path)
    return read


def _documents(
    path: str,
    format: str,
    text: str,
    label: str,
    header: bool,
    need_labels: bool,
    encoding: str,
    on_error: Any,
) -> tuple[list[Any], int]:
    from spinney.corpus import Document, ReadReport, open_text, read_folder, read_table

    report = ReadReport()
    how: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "report": report}
    if format == "folder":
        documents = list(read_folder(path, **how))
        if need_labels and all(document.label is None for document in documents):
            raise InputError(
                "documents without labels", path=path, remedy="put each class into a folder of its own"
            )
    elif format in ("csv", "tsv"):
        columns: list[Any] = [int(name) if not header and name.isdigit() else name for name in (text, label)]
        documents = list(
            read_table(
                path,
                columns[0],
                columns[1] if need_labels else None,
                header=header,
                delimiter="\t" if format == "tsv" else ",",
                **how,
            )
        )
    else:
        if need_labels:
            raise InputError(
                "lines of text carry no labels",
                path=path,
                remedy="give a folder, a CSV, TSV or svmlight file, or --format",
            )
        with open_text(path, encoding=encoding) as lines:
            documents = [Document(line.rstrip("\r\n"), None, str(i)) for i, line in enumerate(lines, start=1)]
    return documents, report.skipped


def _svmlight(path: str) -> Inputs:
    import numpy as np

    from spinney.corpus import read_svmlight

    X, y = read_svmlight(path)
    for name, values in (("feature value", X.data), ("target", y)):
        if not np.all(np.isfinite(values)):
            raise InputError(f"a {name} is not a finite number", path=path, remedy="remove NaN and inf")
    labels = [str(int(target)) if target.is_integer() else repr(target) for target in y.tolist()]
    return Inputs(X, labels, [str(i + 1) for i in range(len(labels))], False, sources=[path])


def refuse_unseen(read: Inputs, known: Sequence[str], path: str, on_error: str) -> None:
    """Labels that the model never saw cannot be right: an error, or passed over and counted."""
    assert read.labels is not None
    seen = set(known)
    unseen = Counter(label for label in read.labels if label not in seen)
    if not unseen:
        return
    if on_error == "raise":
        label, count = unseen.most_common(1)[0]
        raise InputError(
            f"label {label!r} ({count} documents) was never seen in training",
            path=path,
            remedy="use the labels of training, or pass over such documents with --on-error skip",
        )
    read.keep([label in seen for label in read.labels])
    if not len(read):
        raise InputError("no document has a label that was seen in training", path=path)


def check_target(path: str) -> None:
    """Find out before hours of work that the model cannot be written."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise InputError("no such folder", path=folder, remedy="make it first")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise InputError("cannot be written", path=path)


@contextmanager
def about(path: str) -> Iterator[None]:
    """Name the file in errors that do not: a model knows sentences, not where they were read."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.what, path=path, line=error.line, remedy=error.remedy) from None
