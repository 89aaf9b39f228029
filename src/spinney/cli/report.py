"""``spinney report``: one HTML page for any model file."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli import lm_report, parse_report, tag_report, trend
from spinney.cli.inputs import (
    InputOptions,
    Inputs,
    check_kind,
    check_labels,
    check_target,
    labels_of,
    read_inputs,
)
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import Parser
from spinney.errors import OptionError, SpinneyError

if TYPE_CHECKING:
    from spinney.classify import TextModel
    from spinney.report.page import Page

_LABEL = "label"  # the column that holds labels unless another is named


@dataclass(frozen=True)
class _Wanted:
    """What the user asked for: the model's file, and documents to try it on."""

    model: str
    data: str | None
    documents: int
    top: int
    format: str
    text: str
    label: str | None
    header: bool
    encoding: str
    on_error: str
    parser: str | None = None


def report(
    model: Annotated[str, typer.Argument(help="A model file that any fit wrote.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="What to show the model on: documents, text, trees or columns, as its task reads them."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write the page; - is standard output.")
    ] = "report.html",
    documents: Annotated[int, typer.Option(min=0, help="How many documents of --data to show.")] = 10,
    top: Annotated[int, typer.Option(min=1, help="How many words a class.")] = 20,
    format: Annotated[
        str,
        typer.Option(
            help="Of --data: auto, folder, csv, tsv, trees, svmlight, lines; for taggers and words as in their apply."
        ),
    ] = "auto",
    text: Annotated[str, typer.Option(help="The column of the text in --data.")] = "text",
    label: Annotated[
        str | None, typer.Option(help="The column of the label.  [default: label, if there is one]")
    ] = None,
    header: Annotated[bool, typer.Option(help="Whether tables have a line of column names.")] = True,
    parser: Parser = None,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write what a model learnt on one HTML page that needs nothing else: no network, no other file."""
    begin(quiet)
    if output == "-" and as_json:
        raise OptionError("--output - and --json both write to standard output: give a file for the page")
    if output != "-":
        check_target(output)
        for source in (model, data):
            if source and os.path.exists(output) and os.path.realpath(source) == os.path.realpath(output):
                raise OptionError(f"--output {output} would replace what is to be read")
    from spinney.corpus import writing
    from spinney.files import read_model

    kind = read_model(model).kind
    wanted = _Wanted(model, data, documents, top, format, text, label, header, encoding, on_error, parser)
    page, facts = _PAGES.get(kind, _any_page)(wanted)
    with writing(output) as file:
        file.write(page.html())
    if output != "-":
        told = {"report": output, "kind": kind, **facts}
        emit(as_json, told, lambda: print(f"Wrote {output}"))


def page_of(model: str, data: str | None = None, *, documents: int = 10, top: int = 20) -> Page:
    """The page of a model file, tried on data in the format that their name suggests."""
    from spinney.files import read_model

    wanted = _Wanted(model, data, documents, top, "auto", "text", None, True, "utf-8", "raise")
    return _PAGES.get(read_model(model).kind, _any_page)(wanted)[0]


def _any_page(wanted: _Wanted) -> tuple[Page, dict[str, Any]]:
    from spinney.files import read_model
    from spinney.report.model_page import model_page

    file = read_model(wanted.model)
    if wanted.data is not None:
        task = file.kind.partition("/")[0]
        raise OptionError(f"--data: the page of {task} models shows no documents")
    return model_page(file, os.path.basename(wanted.model)), {}


def _classify_page(wanted: _Wanted) -> tuple[Page, dict[str, Any]]:
    from spinney.classify import TextModel
    from spinney.report.classify_page import classify_page, evidence

    fitted = TextModel.load(wanted.model)
    tried = None
    if wanted.data is not None:
        read = _documents(wanted, wanted.data, fitted)
        tried = evidence(fitted, read.inputs, read.ids, read.labels)
    title = os.path.basename(wanted.model)
    page = classify_page(fitted, title, tried, documents=wanted.documents, top=wanted.top)
    return page, {} if tried is None else {"documents": len(tried.ids), "scores": tried.scores}


def _view_page(wanted: _Wanted) -> tuple[Page, dict[str, Any]]:
    """The page of a model that says itself what its page shows."""
    from spinney.model import load
    from spinney.report.html import view_page
    from spinney.settings.report import Report

    names = ("documents", "top", "format", "text", "label", "header", "encoding", "on_error", "parser")
    settings = Report(**{name: getattr(wanted, name) for name in names})
    views = load(wanted.model).report_views(wanted.data, settings)
    return view_page(os.path.basename(wanted.model), views), {}


#: The pages of the kinds of models that have one of their own.
_PAGES: dict[str, Callable[[_Wanted], tuple[Page, dict[str, Any]]]] = {
    "classify/LinearClassifier": _classify_page,
    "classify/TreeClassifier": _classify_page,
    "classify/LinearRegressor": _classify_page,
    "tagging/Tagger": tag_report.report_page,
    "trend/TrendModel": trend.report_page,
    "parsing/Parser": parse_report.report_page,
    "parsing/automata": parse_report.automata_report_page,
    "classes/Clustering": _view_page,
    "classes/HiddenMarkov": _view_page,
    "embed/Embedding": _view_page,
    "embed/SpectralHMM": _view_page,
    "embed/MomentTopics": _view_page,
    "structure/WordClasses": _view_page,
    "structure/WordVectors": _view_page,
    "structure/Groups": _view_page,
    "structure/ClassTree": _view_page,
    **dict.fromkeys(lm_report.KINDS, lm_report.report_page),
}


def _documents(wanted: _Wanted, data: str, fitted: TextModel) -> Inputs:
    """The documents, with their labels if they have any."""
    how = InputOptions(
        wanted.format,
        wanted.text,
        wanted.label or _LABEL,
        wanted.header,
        wanted.encoding,
        wanted.on_error,
        labels_of(fitted),
    )
    labelled = _has_labels(wanted, data, how.format_of(data))
    read = read_inputs(data, how, need_labels=labelled)
    check_kind(fitted, read, wanted.model, data)
    return check_labels(fitted, read, data, wanted.on_error) if labelled else read


def _has_labels(wanted: _Wanted, data: str, format: str) -> bool:
    """Whether documents come with labels. What cannot be read is left for the reading to complain of."""
    from spinney.corpus import read_table

    if format == "folder":
        with suppress(OSError):
            return any(entry.is_dir() and not entry.name.startswith(".") for entry in Path(data).iterdir())
    if wanted.label is not None or format not in ("csv", "tsv") or data == "-":
        return wanted.label is not None or format in ("svmlight", "trees")
    with suppress(SpinneyError):
        rows = read_table(
            data,
            _LABEL,
            header=wanted.header,
            delimiter="\t" if format == "tsv" else ",",
            encoding=wanted.encoding,
        )
        return next(rows, None) is not None
    return False
