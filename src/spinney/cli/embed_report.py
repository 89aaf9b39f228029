"""The pages of ``spinney report`` for vectors, spectral hidden Markov models and topics, and for structure files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spinney.cli.embed_documents import first_documents, table_of
from spinney.cli.embed_models import load_model
from spinney.cli.textfiles import Reading, Source
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.embed import MomentTopics
    from spinney.report.embed_page import Topical
    from spinney.report.page import Page


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of a model of ``spinney embed``: with --data, the topics of documents."""
    from spinney.embed import MomentTopics
    from spinney.report.embed_page import embed_page

    model = load_model(wanted.model)
    tried = None
    if isinstance(model, MomentTopics) and wanted.data is not None:
        tried = _tried(model, wanted)
    else:
        _no_data(wanted, "of vectors and states")
    title = os.path.basename(wanted.model)
    page = embed_page(model, title, tried, documents=wanted.documents, top=wanted.top)
    return page, {} if tried is None else {"documents": len(tried.names)}


def structure_report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of a file of word vectors, of groups or of a tree of classes."""
    from spinney.files import read_model
    from spinney.report import structure_page as pages
    from spinney.structure import ClassTree, Groups, WordVectors

    kind, title = read_model(wanted.model).kind, os.path.basename(wanted.model)
    _no_data(wanted, "of this structure")
    if kind == "structure/WordVectors":
        return pages.word_vectors_page(WordVectors.load(wanted.model), title, top=wanted.top), {}
    if kind == "structure/Groups":
        return pages.groups_page(Groups.load(wanted.model), title), {}
    return pages.class_tree_page(ClassTree.load(wanted.model), title), {}


def _no_data(wanted: Any, what: str) -> None:
    if wanted.data is not None:
        raise OptionError(f"--data: the page {what} shows no text")


def _tried(model: MomentTopics, wanted: Any) -> Topical:
    from spinney.corpus import ReadReport
    from spinney.report.embed_page import Topical

    source = Source(
        [wanted.data], wanted.format, wanted.encoding, wanted.on_error, wanted.text, wanted.header
    )
    reading = Reading.of(model.facts_)
    some = first_documents(source, reading.lowercase, wanted.documents, ReadReport())
    if not some and wanted.documents:
        raise InputError("no documents", path=wanted.data)
    names, words = [name for name, _ in some], [words for _, words in some]
    return Topical(names, words, model.transform(table_of(words, model.words_)))
