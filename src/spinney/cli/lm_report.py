"""The page of a language model, until pages are made of views."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spinney.corpus.text import Source
from spinney.errors import InputError, about

if TYPE_CHECKING:
    from spinney.report.page import Page


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of ``spinney report`` for a language model: with --data, a text that it reads."""
    from spinney.lm.model import load_language_model
    from spinney.lm.scoring import read_sentences
    from spinney.lm.text import reading_of
    from spinney.report.lm_page import ReadText, lm_page

    fitted = load_language_model(wanted.model)
    reading = reading_of(fitted)
    read = None
    if wanted.data is not None:
        sentences = read_sentences(_source(wanted), reading)
        with about(wanted.data):
            if not sentences:
                raise InputError("no sentences")
            read = ReadText.of(fitted, sentences)
    page = lm_page(
        fitted,
        os.path.basename(wanted.model),
        read,
        documents=wanted.documents,
        top=wanted.top,
        lowercase=reading.lowercase,
    )
    return page, {} if read is None else {"documents": len(read.sentences), "scores": read.scores.facts()}


def _source(wanted: Any) -> Source:
    """The text of --data; a column is read if its name was given."""
    text = None if wanted.text == "text" else wanted.text
    return Source([wanted.data], wanted.format, wanted.encoding, wanted.on_error, text, wanted.header)


#: The kinds of models that have this page.
KINDS = tuple(
    f"lm/{name}"
    for name in (
        "BackoffModel", "FlatModel", "SequenceMemoizer", "LogLinearModel", "HierarchicalModel", "ClassModel",
        "ClassTargetModel", "CacheModel", "LinearMixture", "LogLinearMixture",
    )
)  # fmt: skip
