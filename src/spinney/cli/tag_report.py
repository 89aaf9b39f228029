"""The page of ``spinney report`` for taggers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spinney.cli.inputs import about
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.report.page import Page

_BARE = ("lines", "letters")  # formats that hold no labels


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of a tagger: with --data, sentences that it labels, and scores if they are labelled."""
    from spinney.report.tag_page import Tagged, has_labels, tag_page
    from spinney.tagging import Tagger
    from spinney.tagging.reading import FORMATS, read_columns_of

    tagger = Tagger.load(wanted.model)
    tried = None
    if wanted.data is not None:
        format = _guessed(wanted.data) if wanted.format == "auto" else wanted.format
        if format not in FORMATS:
            raise OptionError(f"--format of a tagger's --data is one of {', '.join(FORMATS)}, not {format!r}")
        with about(wanted.data):
            data = read_columns_of(wanted.data, format, encoding=wanted.encoding, on_error=wanted.on_error)
            if not data.n_tokens:
                raise InputError("no sentences", path=wanted.data)
            labelled = format not in _BARE and has_labels(tagger, data)
            tried = Tagged.of(tagger, data, labelled=labelled)
    title = os.path.basename(wanted.model)
    page = tag_page(tagger, title, tried, documents=wanted.documents, top=wanted.top)
    if tried is None:
        return page, {}
    return page, {"documents": len(tried.words), "scores": tried.scores}


def _guessed(path: str) -> str:
    name = path.removesuffix(".gz").removesuffix(".xz").removesuffix(".bz2").removesuffix(".zst")
    return "conllu" if name.endswith(".conllu") else "columns"
