"""Settings of ``report``: what the page of a model shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spinney.settings import DATA, OUTPUT, AtLeast, Common, File
from spinney.settings.text import Decoding


@dataclass(frozen=True, kw_only=True)
class _Data(Decoding):
    """The data that a model is shown on, which its task reads."""

    panel = DATA
    format: Annotated[str, "Format, as apply of the task has them; auto goes by the name of the file."] = (
        "auto"
    )
    text: Annotated[str | None, "Column of a table that holds the text."] = None
    label: Annotated[
        str | None, "Column of a table that holds the label (default: label, if there is one)."
    ] = None
    header: Annotated[bool, "Whether the first line of a table names its columns."] = True
    parser: Annotated[str | None, File, "Parser for plain text, if not that of fit."] = None


@dataclass(frozen=True, kw_only=True)
class Report(_Data, Common):
    """``report``: the page of a model, perhaps shown on data."""

    panel = OUTPUT
    documents: Annotated[int, AtLeast(0), "Number of documents or sentences to show."] = 10
    top: Annotated[int, AtLeast(1), "Number of words, contexts or weights to show of each class."] = 20
