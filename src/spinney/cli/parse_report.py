"""The pages of ``spinney report`` for parsers."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

from spinney.cli.inputs import guess_format
from spinney.cli.parse_text import TreeReading, dependency_trees
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.corpus import Tree
    from spinney.parsing.parser import Parser
    from spinney.report.page import Page
    from spinney.report.parse_page import Tried


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of a parser: with --data, trees (or lines of words) that it is tried on."""
    from spinney.parsing.parser import Parser
    from spinney.report.parse_page import Tried, parse_page

    parser = Parser.load(wanted.model)
    tried = None
    if wanted.data is not None:
        format = guess_format(wanted.data) if wanted.format == "auto" else wanted.format
        if format not in ("trees", "folder", "lines"):
            raise OptionError(
                "--data: the page of a parser shows trees, a folder of trees, or lines of words"
            )
        tried = _lines(parser, wanted) if format == "lines" else Tried.of(parser, _trees(parser, wanted))
    page = parse_page(
        parser, os.path.basename(wanted.model), tried, documents=wanted.documents, top=wanted.top
    )
    if tried is None:
        return page, {}
    scores = tried.scores
    told = (
        None if scores is None else {"f1": scores.f1, "precision": scores.precision, "recall": scores.recall}
    )
    return page, {"documents": len(tried.guess), "scores": told}


def automata_report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of head automata: with --data, CoNLL-U that they are scored on."""
    from spinney.corpus import ReadReport
    from spinney.parsing.automata import HeadAutomata
    from spinney.report.parse_page import Attached, automata_page

    model = HeadAutomata.load(wanted.model)
    tried = None
    if wanted.data is not None:
        gold = dependency_trees([wanted.data], model.column, wanted.encoding, wanted.on_error, ReadReport())
        tried = Attached.of(model, gold)
    page = automata_page(
        model, os.path.basename(wanted.model), tried, documents=wanted.documents, top=wanted.top
    )
    if tried is None:
        return page, {}
    return page, {"documents": tried.scores.sentences, "scores": {"uas": tried.scores.uas}}


def _trees(parser: Parser, wanted: Any) -> list[Tree]:
    from spinney.corpus import ReadReport

    return TreeReading.of(parser).trees([wanted.data], wanted.encoding, wanted.on_error, ReadReport())


def _lines(parser: Parser, wanted: Any) -> Tried:
    """Sentences without trees: no more of them are parsed than are shown."""
    from spinney.corpus.lines import fields, read_lines
    from spinney.parsing.ptb import bracket_words
    from spinney.report.parse_page import LONGEST, Tried

    sentences = (bracket_words(fields(line)) for _, line in read_lines(wanted.data, wanted.encoding))
    fitting = (words for words in sentences if 0 < len(words) <= LONGEST)
    return Tried(parser.parse(islice(fitting, wanted.documents)))
