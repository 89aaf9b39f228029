"""``spinney demo``: a tour on the manual, and the library, that every Python has on its disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spinney import progress
from spinney.cli.running import begin, emit, print_json
from spinney.cli.verbs import Call
from spinney.errors import InputError

if TYPE_CHECKING:
    from spinney.cli.tour import Tour

#: The models of the tour as its report shows them: file, title, and what they are tried on.
_SHOWN = (
    ("classifier.spinney", "Themes of the manual: a sparse classifier", "held-out.csv"),
    ("sentences.spinney", "Sentences as groups", None),
    ("letters.spinney", "Where words begin: a tagger", None),
    ("classes.spinney", "Word classes in context: a hidden Markov model", "texts/manual.txt"),
    ("vectors.spinney", "Eigenwords: vectors of words", None),
    ("roles.spinney", "Roles of words, with classes as features", "texts/code-test.col"),
    ("versions.spinney", "What the manual says of each version", None),
    ("language.spinney", "Which word comes next", None),
    ("parser.spinney", "The grammar of Python", "texts/code-test.mrg"),
)


def demo(call: Call) -> int:
    """The tour: sparse and structured models of Python's own manual, and what they learnt."""
    begin(call)
    folder, texts = call.arguments["folder"], call.settings.texts
    if texts is not None:
        from spinney.corpus.sample_files import write_sample_files
        from spinney.views import Extra, Lines

        written = write_sample_files(texts)
        lines = Lines("", "", [f"Wrote {texts}: {', '.join(written)}"])
        emit(call, [Extra("texts", "", texts), Extra("files", "", written), lines])
        return 0
    from spinney.cli.tour import Tour

    progress.log.setLevel("WARNING")  # the tour speaks for itself
    _make_folder(folder)
    tour = Tour(folder, call.settings.seed, talk=not call.json)
    facts = {
        "corpus": tour.corpus(),
        "classifier": tour.classifier(),
        "families": tour.word_families(),
        "tree": tour.phrases(),
        "solvers": tour.solvers(),
        "tagger": tour.tagger(),
        "classes": tour.word_classes(),
        "embedding": tour.word_vectors(),
        "structure": tour.structure_at_work(),
        "sentences": tour.sentences(),
        "versions": tour.versions(),
        "language": tour.language(),
        "syntax": tour.syntax(),
        "folder": folder,
    }
    report = _report(folder)
    if call.json:
        print_json(facts | {"report": report})
    else:
        _farewell(tour, report)
    return 0


def _make_folder(folder: str) -> None:
    """The folder, with the texts of the tour in it."""
    from spinney.corpus.sample_files import write_sample_files

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(str(error.strerror), path=folder, remedy="name another folder") from None
    write_sample_files(os.path.join(folder, "texts"))


def _report(folder: str) -> str:
    """Write what all models of the tour learnt on one page."""
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
    about = "What the models of the tour learnt from the manual and the library that every Python has on its disk."
    with writing(path) as file:
        file.write(combined_page("A tour of Spinney", about, pages))
    return path


def _farewell(tour: Tour, report: str) -> None:
    from shlex import quote

    names = ("classifier.spinney", "parser.spinney", "classes.spinney", "vectors.spinney", "language.spinney")
    classifier, parser, classes, vectors, language = (quote(tour.place(name)) for name in names)
    manual, code = quote(tour.place("texts/manual.txt")), quote(tour.place("texts/code.txt"))
    tour.say("")
    tour.say(f"[bold]All of it is on one page: open {report}[/bold]")
    tour.say("The models and the texts are beside it. Try next:")
    for line in (
        f"classify inspect {classifier} --top 20",
        f"classes neighbours {classes} returns",
        f"embed neighbours {vectors} list tuple",
        f"lm sample {language}",
        f"parse apply {parser} {code} | head -3",
        f"classes fit {manual} --model my.spinney --method hmm          (any text, one sentence per line)",
        "classify fit FOLDER --model my.spinney --penalty l1 --cv 5     (one folder per class)",
        "report my.spinney",
    ):
        tour.say(f"  spinney {line}")
