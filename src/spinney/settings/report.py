"""Settings of ``report``: what a model's page shows."""

from __future__ import annotations

from typing import Annotated

from spinney.settings import COUNT, DATA, OUTPUT, AtLeast, Common, File
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.text import Decoding


@dataclass(frozen=True, kw_only=True)
class _Data(Decoding):
    """The data on which the page shows the model; they are read as the model's task reads them."""

    panel = DATA
    format: Annotated[str, "Format, one of those of the task's apply; auto infers it from the file name."] = (
        "auto"
    )
    text: Annotated[str | None, "Table column that holds the text."] = None
    label: Annotated[str | None, "Table column that holds the label (default: label, if there is one)."] = (
        None
    )
    header: Annotated[bool, "Whether a table has a header row."] = True
    parser: Annotated[str | None, File, "Parser for plain text (default: as in training)."] = None


@dataclass(frozen=True, kw_only=True)
class Report(_Data, Common):
    """``report``: a page about a model, with examples if data are given."""

    panel = OUTPUT
    documents: Annotated[int, AtLeast(0), COUNT, "Number of documents or sentences to show."] = 10
    top: Annotated[int, AtLeast(1), COUNT, "Number of words, contexts or weights to show for each class."] = (
        20
    )
