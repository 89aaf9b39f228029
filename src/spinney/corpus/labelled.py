"""Labelled documents from whatever the user has: a folder, a table, bracketed trees, an svmlight file, or lines."""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spinney import formats
from spinney.corpus.frames import is_frame, name_of, text_column
from spinney.errors import (
    InputError,
    OptionError,
    SettingError,
    did_you_mean,
    did_you_mean_file,
    unknown_choice,
)
from spinney.formats import DOCUMENTS

if TYPE_CHECKING:
    from spinney.corpus import Document, ReadReport, Tree

_ON_LINES = ("csv", "tsv", "jsonl")  # formats whose documents are known by their lines
_START = 1 << 20  # bytes in which the first line of a file is looked for
_DOCUMENTS = 1000  # worked on at a time
_LETTERS = 10_000_000  # the same, where documents are long
#: Formats in which a label can be missing rather than empty.
_MISSING = ("frame", "spacy", "spacy-jsonl")
#: How a tree begins: a bracket, a label or none, and another bracket or a word and the end of its bracket.
_TREE = re.compile(rb"\s*\(\s*[^()\s]*\s*(\(|[^()\s]+\s*\))")


@dataclass(frozen=True)
class InputOptions:
    """How documents are read."""

    format: str = "auto"
    text: str = "text"
    label: str = "label"
    header: bool = True
    encoding: str = "utf-8"
    on_error: str = "raise"
    labels: Mapping[str, str] = field(default_factory=dict)  # other names of labels; none: dropped

    def __post_init__(self) -> None:
        if self.format not in ("auto", *DOCUMENTS):
            raise unknown_choice("format must be", self.format, ("auto", *DOCUMENTS))
        if self.on_error not in ("raise", "skip"):
            raise unknown_choice("on_error must be", self.on_error, ("raise", "skip"))

    def format_of(self, path: Any) -> str:
        """The format of a file or folder, or that of data frames."""
        if is_frame(path) and self.format != "auto":
            raise SettingError("{format} is for files, not for a data frame: leave it out")
        return guess_format(path) if self.format == "auto" else self.format


@dataclass
class Inputs:
    """Documents (or a matrix) with their labels, and what was skipped while reading them."""

    inputs: Any
    labels: list[str] | None
    ids: list[str]
    is_text: bool
    trees: list[Tree] | None = None
    skipped: int = 0
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, rows: Sequence[int]) -> Inputs:
        """The documents at these places."""
        return replace(
            self,
            inputs=[self.inputs[i] for i in rows] if self.is_text else self.inputs[rows],
            labels=None if self.labels is None else [self.labels[i] for i in rows],
            ids=[self.ids[i] for i in rows],
            trees=None if self.trees is None else [self.trees[i] for i in rows],
        )

    def only(self, wanted: Sequence[bool]) -> Inputs:
        """The documents that are wanted."""
        return self.part([i for i, yes in enumerate(wanted) if yes])


def guess_format(path: Any) -> str:
    """The format of documents that a path suggests, or else how the file begins."""
    return formats.guess_format(path, DOCUMENTS, "") or ("trees" if _begins_with_tree(path) else "lines")


def _begins_with_tree(path: str) -> bool:
    if path == "-" or not os.path.isfile(path):
        return False
    from spinney.corpus import open_bytes

    with open_bytes(path) as file:
        start = file.read(_START).removeprefix(codecs.BOM_UTF8)
    line = next((line for line in start.split(b"\n") if line.strip()), b"")
    balanced = line.count(b"(") == line.count(b")")  # a tree that ends on its line has nothing after it
    return bool(_TREE.match(line)) and (line.rstrip().endswith(b")") or not balanced)


def renaming(spec: str | None) -> dict[str, str]:
    """The new name of each label, from text such as ``old=new,old=``; it is empty for labels to drop."""
    names: dict[str, str] = {}
    for item in (spec or "").split(",") if spec else []:
        old, equals, new = (part.strip() for part in item.partition("="))
        if not equals or not old:
            raise OptionError(f"labels: {item.strip()!r} is not OLD=NEW (or OLD= to drop the label)")
        if old in names:
            raise OptionError(f"labels: {old!r} is given twice")
        names[old] = new
    return names


def read_inputs(path: Any, how: InputOptions, *, need_labels: bool) -> Inputs:
    """Read one file or folder, or a data frame.

    With ``need_labels``, documents without a label and empty documents are errors: nothing can be learned from them.
    """
    _check_path(path)
    format = how.format_of(path)
    if format == "svmlight":
        read = _svmlight(path)
    elif format == "trees":
        read = _bracketed(path, how, need_labels)
    else:
        read = _texts(path, format, how, need_labels)
    if need_labels:
        read = _renamed(read, how.labels)
    if not len(read):
        dropped = f": all were dropped because of their labels: {read.dropped}" if read.dropped else ""
        raise InputError(f"no documents{dropped}", path=name_of(path))
    return read


def _check_path(path: Any) -> None:
    if not is_frame(path) and path != "-" and not os.path.exists(path):
        raise InputError("no such file or folder", path=path, remedy=did_you_mean_file(path))


def input_batches(path: Any, how: InputOptions, report: ReadReport) -> Iterator[Inputs]:
    """The documents of a file or folder, or of a data frame, without labels, some at a time.

    Numbers come all at once: whether an svmlight file counts from 0 or from 1 is known at its end.
    """
    _check_path(path)
    format = how.format_of(path)
    if format == "svmlight":
        yield read_inputs(path, how, need_labels=False)
        return
    from spinney.corpus.waiting import in_batches

    found: Iterator[Any] = (_trees if format == "trees" else _each)(path, format, how, report)
    n = 0
    for some in in_batches(
        found,
        _DOCUMENTS,
        None if is_frame(path) else path,
        weigh=lambda document: len(document[1]),
        heaviest=_LETTERS,
    ):
        n += len(some)
        ids, texts, trees = map(list, zip(*some))
        yield Inputs(texts, None, ids, True, trees if format == "trees" else None)
    if not n:
        raise InputError("no documents", path=name_of(path))


def _each(path: Any, format: str, how: InputOptions, report: ReadReport) -> Iterator[tuple[str, str, None]]:
    for document in _document_reader(path, format, how, False, report):
        yield document.id, document.text, None


def _trees(path: str, format: str, how: InputOptions, report: ReadReport) -> Iterator[tuple[str, str, Tree]]:
    from spinney.corpus import read_trees

    on_error: Any = how.on_error
    trees = read_trees(path, encoding=how.encoding, on_error=on_error, report=report)
    for number, tree in enumerate(trees, 1):
        yield str(number), " ".join(tree.leaves()), tree


def _renamed(read: Inputs, names: Mapping[str, str]) -> Inputs:
    if not names or read.labels is None:
        return read
    labels = [names.get(label, label) for label in read.labels]
    wanted = [bool(label) or old not in names for label, old in zip(labels, read.labels)]
    return replace(replace(read, labels=labels).only(wanted), dropped=wanted.count(False))


def _texts(path: Any, format: str, how: InputOptions, need_labels: bool) -> Inputs:
    documents, skipped = _documents(path, format, how, need_labels)
    read = Inputs(
        [document.text for document in documents],
        [document.label or "" for document in documents] if need_labels else None,
        [document.id for document in documents],
        True,
        skipped=skipped,
    )
    if need_labels and format in _MISSING:
        read = _with_labels(read, how, path, format)
        skipped = read.skipped
    full = [bool(text.strip()) for text in read.inputs]
    if not need_labels or all(full):
        return read
    if how.on_error == "raise":
        id = read.ids[full.index(False)]
        line = int(id) if format in _ON_LINES else None
        raise InputError(
            f"document {id} is empty" if line is None else "the text is empty",
            path=name_of(path),
            line=line,
            remedy="remove it, or skip such documents with on_error='skip'",
        )
    return replace(read.only(full), skipped=skipped + full.count(False))


def _with_labels(read: Inputs, how: InputOptions, path: Any, format: str) -> Inputs:
    """The documents that have a label: a missing value is no class of its own."""
    assert read.labels is not None
    given = [bool(label) for label in read.labels]
    if all(given):
        return read
    if how.on_error == "raise":
        number = read.ids[given.index(False)]
        what = (
            f"no value in the column {how.label!r}"
            if format == "frame"
            else f"document {number} has no category"
        )
        line = int(number) if format == "frame" else None
        remedy = "leave it out, or skip such documents with on_error='skip'"
        raise InputError(what, path=name_of(path), line=line, remedy=remedy)
    return replace(read.only(given), skipped=read.skipped + given.count(False))


def _documents(path: Any, format: str, how: InputOptions, need_labels: bool) -> tuple[list[Any], int]:
    from spinney.corpus import ReadReport

    if format == "lines" and need_labels:
        raise InputError(
            "lines of text have no labels",
            path=path,
            remedy="give a folder, a table, bracketed trees or an svmlight file, or name the format",
        )
    report = ReadReport()
    documents = list(_document_reader(path, format, how, need_labels, report))
    if format == "folder" and need_labels and all(document.label is None for document in documents):
        raise InputError(
            "documents without labels",
            path=path,
            remedy="put the documents of each class into their own folder",
        )
    return documents, report.skipped


def _document_reader(
    path: Any, format: str, how: InputOptions, need_labels: bool, report: ReadReport
) -> Iterator[Document]:
    from spinney.corpus.documents import read_documents

    reading: dict[str, Any] = {"encoding": how.encoding, "on_error": how.on_error, "report": report}
    if formats.FORMATS[format].rows:
        text = text_column(path, None if how.text == "text" else how.text) if is_frame(path) else how.text
        reading |= {"text": text, "label": how.label if need_labels else None, "header": how.header}
    return read_documents(path, format, **reading)


def _bracketed(path: str, how: InputOptions, need_labels: bool) -> Inputs:
    """Trees: the text is their leaves, the label that of the root."""
    trees, skipped = read_parses(path, how)
    ids = [str(i) for i in range(1, len(trees) + 1)]
    bare = next((id for id, tree in zip(ids, trees) if not tree.label), None)
    if need_labels and bare is not None:
        raise InputError(
            f"tree {bare} has no label at its root",
            path=path,
            remedy="if these are parses of labelled documents, give the documents, and the trees as their parses",
        )
    texts = [" ".join(tree.leaves()) for tree in trees]
    labels = [tree.label for tree in trees] if need_labels else None
    return Inputs(texts, labels, ids, True, trees, skipped)


def read_parses(path: str, how: InputOptions) -> tuple[list[Tree], int]:
    """The bracketed trees of a file, and how many were skipped."""
    from spinney.corpus import ReadReport, read_trees

    report = ReadReport()
    on_error: Any = how.on_error
    return list(read_trees(path, encoding=how.encoding, on_error=on_error, report=report)), report.skipped


def _svmlight(path: str) -> Inputs:
    import numpy as np

    from spinney.corpus import read_svmlight

    X, y = read_svmlight(path)
    for name, values in (("feature value", X.data), ("target", y)):
        if not np.all(np.isfinite(values)):
            raise InputError(f"a {name} is not a finite number", path=path, remedy="remove NaN and inf")
    labels = [str(int(target)) if target.is_integer() else repr(target) for target in y.tolist()]
    return Inputs(X, labels, [str(i + 1) for i in range(len(labels))], False)


def unseen_labels(labels: Iterable[str], known: Iterable[str]) -> Counter[str]:
    """How often each label occurs that is not among the known ones.

    Examples
    --------
    >>> unseen_labels(["a", "b", "b"], ["a"])
    Counter({'b': 2})
    """
    seen = set(known)
    return Counter(label for label in labels if label not in seen)


def refuse_strange(read: Inputs, known: Sequence[str], path: str | None) -> None:
    """Documents none of which has a known label are not what the model is for."""
    unseen = unseen_labels(read.labels or (), known)
    if unseen and unseen.total() == len(read):
        some = next(iter(unseen))
        remedy = did_you_mean(some, known) or f"it was trained on {', '.join(map(repr, known[:3]))}"
        remedy += "" if len(known) <= 3 else " and others"
        raise InputError(f"no label was seen in training, {some!r} for one", path=path, remedy=remedy)


def refuse_unseen(read: Inputs, known: Sequence[str], path: str | None, on_error: str) -> Inputs:
    """Held-out labels that the training data do not have: an error, or skipped and counted."""
    unseen = unseen_labels(read.labels or (), known)
    if not unseen:
        return read
    if on_error == "raise":
        label, count = unseen.most_common(1)[0]
        raise InputError(
            f"label {label!r} ({count} documents) was never seen in training",
            path=path,
            remedy=did_you_mean(label, known)
            or "use the labels of the training data, or skip such documents with on_error='skip'",
        )
    if unseen.total() == len(read):
        raise InputError("no document has a label that was seen in training", path=path)
    left = read.only([label not in unseen for label in read.labels or ()])
    return replace(left, skipped=read.skipped + unseen.total())


def numbers(read: Inputs, path: str | None, remedy: str | None = None) -> Any:
    """Labels that are numbers, as an array."""
    import numpy as np

    assert read.labels is not None
    for id, label in zip(read.ids, read.labels):
        try:
            if not np.isfinite(float(label)):
                raise ValueError
        except ValueError:
            raise InputError(f"document {id}: {label!r} is not a number", path=path, remedy=remedy) from None
    return np.array(read.labels, dtype=np.float64)
