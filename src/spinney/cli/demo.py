"""``spinney demo``: a tour with the manual and the library that come with every Python."""

from __future__ import annotations

import os
from typing import Any

from spinney import progress
from spinney.cli.running import begin, emit, print_json
from spinney.cli.verbs import Call
from spinney.errors import InputError
from spinney.views import Extra, Lines

#: The models of the tour in the order of its report: file, title, and the data that they are shown on.
_SHOWN = (
    ("classifier.spinney", "Themes of the manual: a sparse classifier", "held-out.csv"),
    ("sentences.spinney", "Sentences as groups", None),
    ("letters.spinney", "Where words begin: a tagger", None),
    ("classes.spinney", "Word classes in context: a hidden Markov model", "texts/manual.txt"),
    ("vectors.spinney", "Eigenwords: vectors of words", None),
    ("roles.spinney", "Roles of words, with classes as features", "texts/code-test.col"),
    ("versions.spinney", "What the manual says about each version", None),
    ("language.spinney", "Which word comes next?", None),
    ("parser.spinney", "The grammar of Python", "texts/code-test.mrg"),
    ("pipeline.spinney", "From raw text to trees: a pipeline", "texts/invented-test.conllu"),
)


def demo(call: Call) -> int:
    """Run the tour: sparse and structured models of Python's own manual, and what they learned."""
    begin(call)
    folder, texts = call.arguments["folder"], call.settings.texts
    if texts is not None:
        from spinney.corpus.sample_files import write_sample_files

        written = write_sample_files(texts)
        lines = Lines("", "", [f"Wrote {texts}: {', '.join(written)}"])
        emit(call, [Extra("texts", "", texts), Extra("files", "", written), lines])
        return 0
    from spinney.cli.tour import SCENES, Tour
    from spinney.report.terminal import show_views
    from spinney.views import Section, as_json

    progress.log.setLevel("WARNING")  # the tour prints its own text
    _make_folder(folder)
    tour = Tour(folder, call.settings.seed)
    facts: dict[str, Any] = {"folder": folder}
    for number, (name, (title, scene)) in enumerate(SCENES.items(), 1):
        views = scene(tour)
        facts[name] = as_json(views)
        if not call.json:
            show_views([Section(f"\n{number}. {title}", views)])
    facts["report"] = _report(folder)
    if call.json:
        print_json(facts)
    else:
        show_views([farewell(folder, facts["report"])])
    return 0


def _make_folder(folder: str) -> None:
    """Make the folder, with the sample texts in it."""
    from spinney.corpus.sample_files import write_sample_files

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(str(error.strerror), path=folder, remedy="name another folder") from None
    write_sample_files(os.path.join(folder, "texts"))


def _report(folder: str) -> str:
    """Write one page with what all models of the tour learned; its path."""
    from dataclasses import replace

    from spinney.cli.report import page_of
    from spinney.corpus import writing
    from spinney.report.page import combined_page
    from spinney.settings.report import Report

    pages = []
    for name, title, data in _SHOWN:
        tried = None if data is None else os.path.join(folder, *data.split("/"))
        page, _ = page_of(os.path.join(folder, name), tried, Report(documents=5))
        pages.append(replace(page, title=title))
    path = os.path.join(folder, "report.html")
    about = "What the models of the tour learned from the manual and the library that come with every Python."
    with writing(path) as file:
        file.write(combined_page("A tour of Spinney", about, pages))
    return path


def farewell(folder: str, report: str) -> Lines:
    """What to try next."""
    from shlex import quote

    def at(name: str) -> str:
        return quote(os.path.join(folder, name))

    commands = (
        f"classify inspect {at('classifier.spinney')} --top 20",
        f"classes neighbours {at('classes.spinney')} returns",
        f"embed neighbours {at('vectors.spinney')} list tuple",
        f"lm sample {at('language.spinney')}",
        f"parse apply {at('parser.spinney')} {at('texts/code.txt')} | head -3",
        f"pipeline apply {at('pipeline.spinney')} {at('texts/invented.txt')} | head -20",
        f"classes fit {at('texts/manual.txt')} --model my.spinney --method hmm   (any text, one sentence per line)",
        "classify fit FOLDER --model my.spinney --penalty l1 --cv 5   (one folder per class)",
        "report my.spinney",
    )
    return Lines(
        "",
        "",
        [
            "",
            f"The whole tour is on one page: open {report}",
            "The models and the texts are in the same folder. Try next:",
            *(f"  spinney {command}" for command in commands),
        ],
    )
