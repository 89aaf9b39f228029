"""Options of text, for verbs that do not declare settings yet."""

from __future__ import annotations

from typing import Annotated

import typer

from spinney.corpus.text import *  # noqa: F403
from spinney.corpus.text import LARGE  # noqa: F401

FORMATS = "auto, lines, prose, columns, conllu, folder, csv or tsv"
Format = Annotated[
    str,
    typer.Option(
        help=f"{FORMATS}; auto goes by the file's name.",
    ),
]
TextColumn = Annotated[
    str | None, typer.Option("--text", help="The column of a CSV or TSV file that holds the text.")
]
Header = Annotated[bool, typer.Option(help="Whether a CSV or TSV file begins with the names of its columns.")]
WordsLike = Annotated[
    str | None,
    typer.Option("--words", help="The columns that make a word, if not those of fit: form, lemma+upos, 0+1."),
]
Parser = Annotated[
    str | None,
    typer.Option(
        help="What gives plain text its trees: a model of parse fit, or a spaCy pipeline such as en_core_web_sm (also "
        "lemmas; extra: parse)."
    ),
]
HeadRulesFile = Annotated[
    str | None,
    typer.Option(
        "--head-rules",
        help="Which child is the head of a phrase, for --parser of parse fit (default: Collins' rules).",
    ),
]
