"""``spinney lm inspect``: what a language model holds; and its page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.lm_text import load_model
from spinney.cli.options import Json, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import Source
from spinney.errors import InputError

if TYPE_CHECKING:
    from spinney.cli.textfiles import Reading
    from spinney.lm.model import LanguageModel
    from spinney.report.page import Page

ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]


def inspect(
    model: ModelIn,
    top: Annotated[
        int, typer.Option(min=1, help="How many contexts, weights, classes or, of --context, words.")
    ] = 10,
    context: Annotated[
        str | None,
        typer.Option(help="What comes after these words; <s> before them is the start of a sentence."),
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Kind, size by order, discounts or weights, the strongest contexts; what comes after --context."""
    begin(quiet)
    from spinney.report import lm as tables
    from spinney.report.lm_views import size_view, strongest

    fitted, reading = load_model(model)
    if context is not None:
        words, start = context_words(context, reading)
        following = fitted.next_words(words, top, start=start)
        rows = [{"word": word, "probability": p} for word, p in following]
        emit(
            as_json,
            {"context": words, "start": start, "next": rows},
            lambda: tables.show_next(context, following),
        )
        return
    views = strongest(fitted, top)
    size = size_view(fitted)
    parts = dict(fitted.components())
    facts: dict[str, Any] = {
        **tables.model_facts(fitted),
        "sizes": [] if size is None else size.as_dicts(),
        "strongest": {view.title: view.as_dicts() for view in views},
        "parts": {name: _short_facts(part) for name, part in parts.items()},
    }

    def show() -> None:
        tables.show_model(model, fitted)
        for view in views:
            tables.show_view(view)
        for name, part in parts.items():
            print()
            tables.show_model(f"Part: {name}", part)

    emit(as_json, facts, show)


def _short_facts(model: LanguageModel) -> dict[str, Any]:
    from spinney.report.lm import model_facts

    facts = model_facts(model)
    return {name: facts[name] for name in ("kind", "parameters", "active")}


def context_words(text: str, reading: Reading) -> tuple[list[str], bool]:
    """The words of a context, and whether it begins a sentence.

    Examples
    --------
    >>> from spinney.cli.textfiles import Reading
    >>> context_words("<s> In the", Reading(lowercase=True))
    (['in', 'the'], True)
    """
    from spinney.corpus.lines import fields
    from spinney.lm.stream import START

    words = fields(text)
    start = words[:1] == [START]
    words = words[1:] if start else words
    if reading.lowercase:
        words = [word if word == reading.unknown else word.lower() for word in words]
    return words, start


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of ``spinney report`` for a language model: with --data, a text that it reads."""
    from spinney.cli.lm_apply import read_sentences
    from spinney.report.lm_page import ReadText, lm_page

    fitted, reading = load_model(wanted.model)
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
