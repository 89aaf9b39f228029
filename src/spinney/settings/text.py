"""Settings that all readers of text share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spinney.formats import DOCUMENTS, TEXT
from spinney.settings import DATA, AtLeast, File, OneOf, Settings


@dataclass(frozen=True, kw_only=True)
class Decoding(Settings):
    """How bytes become text, and what happens to what cannot be read."""

    panel = DATA
    encoding: Annotated[str, "Character encoding of the files."] = "utf-8"
    on_error: Annotated[Literal["raise", "skip"], "What to do with bad input."] = "raise"


@dataclass(frozen=True, kw_only=True)
class TextFiles(Decoding):
    """Files of text."""

    panel = DATA
    format: Annotated[str, OneOf(("auto", *TEXT)), "Format; auto goes by the name of the file."] = "auto"
    text: Annotated[str | None, "Column of a table that holds the text."] = None
    header: Annotated[bool, "Whether the first line of a table names its columns."] = True


@dataclass(frozen=True, kw_only=True)
class WordsOf(TextFiles):
    """Text for a model that was fitted: it is read as the training text was, unless said otherwise."""

    panel = DATA
    words: Annotated[str | None, "Columns that make a word, if not those of fit."] = None
    parser: Annotated[str | None, File, "Parser for plain text, if not that of fit."] = None


@dataclass(frozen=True, kw_only=True)
class TrainingText(TextFiles):
    """Text to learn from: what a word is, and where it is kept."""

    panel = DATA
    words: Annotated[str, "What a word is: form, lemma, lemma+upos; of column files 0 or 0+1."] = "form"
    lowercase: Annotated[bool, "Fold words to lower case."] = False
    max_length: Annotated[int | None, AtLeast(1), "Cut longer sentences to this many words."] = None
    parser: Annotated[
        str | None, File, "Model of parse fit, or spaCy pipeline, that gives plain text trees and lemmas."
    ] = None
    cache: Annotated[str | None, File, "Folder that keeps the numbered text for the next run."] = None


@dataclass(frozen=True, kw_only=True)
class Documents(Decoding):
    """Documents, or a matrix of numbers."""

    panel = DATA
    format: Annotated[str, OneOf(("auto", *DOCUMENTS)), "Format; auto goes by the name of the file."] = "auto"
    text: Annotated[str, "Column of a table that holds the text."] = "text"
    header: Annotated[bool, "Whether the first line of a table names its columns."] = True


@dataclass(frozen=True, kw_only=True)
class LabelledDocuments(Documents):
    """Documents with their labels."""

    panel = DATA
    label: Annotated[str, "Column of a table that holds the label."] = "label"
    labels: Annotated[str | None, "New names of labels: 0=neg,4=pos; 2= drops such documents."] = None
