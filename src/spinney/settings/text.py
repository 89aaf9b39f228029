"""Settings that all readers of text share."""

from __future__ import annotations

from typing import Annotated, Literal

from spinney.formats import DOCUMENTS, TEXT
from spinney.settings import COUNT, DATA, AtLeast, File, OneOf, Settings
from spinney.settings.declared import settings_dataclass as dataclass


@dataclass(frozen=True, kw_only=True)
class Decoding(Settings):
    """How bytes become text, and what happens to what cannot be read."""

    panel = DATA
    encoding: Annotated[str, "Character encoding of the files."] = "utf-8"
    on_error: Annotated[Literal["raise", "skip"], "What to do with bad input."] = "raise"


@dataclass(frozen=True, kw_only=True)
class TextFiles(Decoding):
    """Text files."""

    panel = DATA
    format: Annotated[str, OneOf(("auto", *TEXT)), "Format; auto infers it from the file name."] = "auto"
    text: Annotated[str | None, "Table column that holds the text."] = None
    header: Annotated[bool, "Whether a table has a header row."] = True


@dataclass(frozen=True, kw_only=True)
class WordsOf(TextFiles):
    """Text for a fitted model: it is read as the training text was, unless these settings say otherwise."""

    panel = DATA
    words: Annotated[str | None, "Columns that form a word (default: as in training)."] = None
    parser: Annotated[str | None, File, "Parser for plain text (default: as in training)."] = None


@dataclass(frozen=True, kw_only=True)
class TrainingText(TextFiles):
    """Text to learn from: what a word is, and where the indexed text is kept."""

    panel = DATA
    words: Annotated[str, "What a word is: form, lemma, lemma+upos; in column files 0 or 0+1."] = "form"
    lowercase: Annotated[bool, "Convert words to lower case."] = False
    tokens: Annotated[str | None, "Tokeniser of prose, such as spacy:en."] = None
    max_length: Annotated[int | None, AtLeast(1), COUNT, "Truncate longer sentences to this many words."] = (
        None
    )
    parser: Annotated[
        str | None, File, "Parser for plain text: a model of parse or pipeline fit, or a spaCy pipeline."
    ] = None
    cache: Annotated[str | None, File, "Folder that keeps the indexed text for later runs."] = None


@dataclass(frozen=True, kw_only=True)
class Documents(Decoding):
    """Documents, or a matrix of numbers."""

    panel = DATA
    format: Annotated[str, OneOf(("auto", *DOCUMENTS)), "Format; auto: by its name."] = "auto"
    text: Annotated[str, "Table column that holds the text."] = "text"
    header: Annotated[bool, "Whether a table has a header row."] = True


@dataclass(frozen=True, kw_only=True)
class LabelledDocuments(Documents):
    """Documents with their labels."""

    panel = DATA
    label: Annotated[str, "Table column that holds the label."] = "label"
    labels: Annotated[str | None, "New names for labels: 0=neg,4=pos; 2= drops label 2."] = None
