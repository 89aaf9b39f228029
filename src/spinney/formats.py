"""The file formats in one table: what each contains, which function reads it, and how it is recognised.

To add a format, write its reader and add a line here; every task that needs what the format contains can then read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from spinney.importing import imported

COMPRESSED = (".gz", ".xz", ".bz2", ".zst")


class Format(NamedTuple):
    """A format: for each kind of content, the reader as ``"module:function"``, or an empty string.

    All readers take a path and the keywords ``encoding``, ``on_error`` and ``report``, and are iterators.
    """

    help: str
    #: What names of files end in.
    suffixes: tuple[str, ...] = ()
    #: Sentences: lists of tokens, or for ``columns`` and ``conllu`` rows of more than forms.
    sentences: str = ""
    #: Documents, with labels where the format has some.
    documents: str = ""
    #: ``(line, cells)`` of a table, the first being the names of its columns; gives documents, labels and dates, too.
    rows: str = ""
    #: Bracketed trees.
    trees: str = ""
    #: Sentences of rows whose last cell is the label of the token, for taggers.
    tagged: str = ""
    #: Numbers: a matrix of features and targets.
    matrix: str = ""
    #: Sentences of words with lemmas, tags, heads and relations, as :class:`spinney.corpus.Sentence`.
    parsed: str = ""


FORMATS = {
    "lines": Format(
        "one sentence per line, with spaces between tokens",
        sentences="spinney.corpus.raw:read_tokenized",
        documents="spinney.corpus.documents:read_lines_as_documents",
    ),
    "prose": Format(
        "running text, which is split into sentences and tokens", sentences="spinney.corpus.raw:read_prose"
    ),
    "columns": Format(
        "one token per line, in columns, with blank lines between sentences",
        sentences="spinney.corpus.columns:read_columns",
        tagged="spinney.corpus.columns:read_columns",
    ),
    "conllu": Format(
        "CoNLL-U",
        (".conllu",),
        sentences="spinney.corpus.conllu:read_conllu",
        tagged="spinney.tagging.reading:conllu_rows",
    ),
    "folder": Format(
        "a folder of documents, with a subfolder for each class",
        documents="spinney.corpus.documents:read_folder",
    ),
    "csv": Format("a comma-separated table", (".csv",), rows="spinney.corpus.documents:csv_rows"),
    "tsv": Format("a tab-separated table", (".tsv", ".tab"), rows="spinney.corpus.documents:tsv_rows"),
    "jsonl": Format("JSON Lines", (".jsonl", ".ndjson"), rows="spinney.corpus.jsonl:jsonl_rows"),
    "spacy": Format(
        "spaCy's binary corpora (DocBin)",
        (".spacy",),
        sentences="spinney.corpus.spacy_files:spacy_sentences",
        documents="spinney.corpus.spacy_files:spacy_documents",
        tagged="spinney.corpus.spacy_files:spacy_tagged",
        parsed="spinney.corpus.spacy_files:spacy_trees",
    ),
    "spacy-jsonl": Format(
        "JSON Lines of spaCy and Prodigy: texts with spans or categories",
        documents="spinney.corpus.spacy_jsonl:spacy_jsonl_documents",
        tagged="spinney.corpus.spacy_jsonl:spacy_jsonl_tagged",
    ),
    "trees": Format("bracketed trees", (".mrg", ".ptb"), trees="spinney.corpus.brackets:read_trees"),
    "svmlight": Format(
        "numeric features, as in svmlight",
        (".svm", ".svmlight", ".libsvm"),
        matrix="spinney.corpus.svmlight:read_svmlight",
    ),
    "crfsuite": Format(
        "labels and attributes, as in CRFsuite", tagged="spinney.tagging.reading:crfsuite_rows"
    ),
    "nettalk": Format("letters and sounds, as in NETtalk", tagged="spinney.tagging.reading:nettalk_rows"),
    "nettalk-stress": Format(
        "letters, sounds and stress, as in NETtalk", tagged="spinney.tagging.reading:nettalk_stress_rows"
    ),
    "cmudict": Format("letters and sounds, as in CMUdict", tagged="spinney.tagging.reading:cmudict_rows"),
    "letters": Format("words, whose letters are the tokens", sentences="spinney.tagging.reading:letters"),
    "frame": Format("a data frame in memory", rows="spinney.corpus.frames:frame_rows"),
}
#: Formats that only taggers read.
_OF_TAGGERS = ("letters",)
#: What is no file, and has no name on a command line.
_IN_MEMORY = ("frame",)


def giving(*what: str) -> tuple[str, ...]:
    """The names of the formats of files that contain at least one of these kinds of content.

    Examples
    --------
    >>> giving("rows", "trees")
    ('csv', 'tsv', 'jsonl', 'trees')
    """
    return tuple(
        name
        for name, format in FORMATS.items()
        if name not in _IN_MEMORY and any(getattr(format, one) for one in what)
    )


#: What models of words read, and what models of documents do.
TEXT = tuple(name for name in giving("sentences", "documents", "rows") if name not in _OF_TAGGERS)
DOCUMENTS = tuple(name for name in giving("documents", "rows", "trees", "matrix"))


def reader(format: str, what: str) -> Callable[..., Any]:
    """The function that reads this kind of content from files of a format."""
    found: Callable[..., Any] = imported(getattr(FORMATS[format], what))
    return found


def guess_format(
    path: str | os.PathLike[str] | Any, known: Collection[str] = TEXT, otherwise: str = "lines"
) -> str:
    """The format that the name of a file suggests, compressed or not, among those that are ``known``.

    What is no path is a data frame.

    Examples
    --------
    >>> guess_format("train.conllu.xz"), guess_format("reviews.tsv"), guess_format("news.txt.gz")
    ('conllu', 'tsv', 'lines')
    """
    if not isinstance(path, str | os.PathLike):
        return "frame"
    if path != "-" and os.path.isdir(path) and "folder" in known:
        return "folder"
    name = Path(path)
    suffix = Path(name.stem).suffix if name.suffix in COMPRESSED else name.suffix
    found = (format for format in known if suffix.lower() in FORMATS[format].suffixes)
    return next(found, otherwise)
