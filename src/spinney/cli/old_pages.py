"""The page of a classifier, until it is made of views."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinney.cli.inputs import InputOptions, Inputs, check_kind, check_labels, labels_of, read_inputs
from spinney.errors import SpinneyError

if TYPE_CHECKING:
    from spinney.classify import TextModel
    from spinney.report.page import Page

_LABEL = "label"  # the column that holds labels unless another is named


def classify_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    from spinney.classify import TextModel
    from spinney.report.classify_page import classify_page as page_of
    from spinney.report.classify_page import evidence

    fitted = TextModel.load(wanted.model)
    tried = None
    if wanted.data is not None:
        read = _documents(wanted, wanted.data, fitted)
        tried = evidence(fitted, read.inputs, read.ids, read.labels)
    title = os.path.basename(wanted.model)
    page = page_of(fitted, title, tried, documents=wanted.documents, top=wanted.top)
    return page, {} if tried is None else {"documents": len(tried.ids), "scores": tried.scores}


def _documents(wanted: Any, data: str, fitted: TextModel) -> Inputs:
    """The documents, with their labels if they have any."""
    how = InputOptions(
        wanted.format,
        wanted.text,
        wanted.label or _LABEL,
        wanted.header,
        wanted.encoding,
        wanted.on_error,
        labels_of(fitted),
    )
    labelled = _has_labels(wanted, data, how.format_of(data))
    read = read_inputs(data, how, need_labels=labelled)
    check_kind(fitted, read, wanted.model, data)
    return check_labels(fitted, read, data, wanted.on_error) if labelled else read


def _has_labels(wanted: Any, data: str, format: str) -> bool:
    """Whether documents come with labels. What cannot be read is left for the reading to complain of."""
    from spinney.corpus import read_table

    if format == "folder":
        with suppress(OSError):
            return any(entry.is_dir() and not entry.name.startswith(".") for entry in Path(data).iterdir())
    if wanted.label is not None or format not in ("csv", "tsv") or data == "-":
        return wanted.label is not None or format in ("svmlight", "trees")
    with suppress(SpinneyError):
        rows = read_table(
            data,
            _LABEL,
            header=wanted.header,
            delimiter="\t" if format == "tsv" else ",",
            encoding=wanted.encoding,
        )
        return next(rows, None) is not None
    return False
