"""From a treebank and settings to a parser: what ``spinney parse fit`` does, for use in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from spinney.cluster import spread
from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError, about, shown
from spinney.files import FilePath
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.parser import Parser
from spinney.parsing.treebanks import dependency_trees, named, paths_of, phrase_trees
from spinney.parsing.treecrf import TreeParser
from spinney.settings import Settings, choose
from spinney.settings import parse as parse_settings


@spread
def fit(
    train: FilePath | Iterable[FilePath] | Iterable[Tree] | Iterable[Sentence],
    settings: Settings | None = None,
    **given: Any,
) -> Parser | HeadAutomata | TreeParser:
    """Learn a parser from a treebank.

    Parameters
    ----------
    train
        Files of bracketed trees, or folders of them; for head automata and tree CRFs, files of CoNLL-U. Or the trees
        themselves.
    settings
        Settings of :mod:`spinney.settings.parse`; or give them by name, ``method`` among them.

    Examples
    --------
    >>> trees = [Tree.parse("(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks)))")] * 3
    >>> parser = fit(trees, method="pcfg", rare=0)
    >>> print(parser.parse([["the", "dog", "barks"]])[0])
    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
    """
    s: Any = settings or choose(parse_settings.FIT, given)
    data: Any = train if isinstance(train, str) else list(train) if isinstance(train, Iterable) else [train]
    if not isinstance(data, str) and any(
        not isinstance(one, Tree | Sentence | str | os.PathLike) for one in data
    ):
        raise InputError(f"a treebank must be files or trees, not {shown(train)}")
    fitted = _parser
    if isinstance(s, parse_settings.AnyAutomata):
        fitted = _automata
    elif isinstance(s, parse_settings.TreeCrf):
        fitted = _tree_crf
    report = ReadReport()
    model: Any
    model, judged, held_out = fitted(data, s, report)
    model.facts |= {"train": paths_of(data), "skipped": report.skipped, "empty": report.empty}
    if held_out and not model.facts.get("interrupted"):
        try:
            model.facts[judged] = model.score(held_out)
        except KeyboardInterrupt:
            model.facts["interrupted"] = True  # what was learned is kept
    found: Parser | HeadAutomata | TreeParser = model
    return found


def _parser(data: Any, s: Any, report: ReadReport) -> tuple[Any, str, Any]:
    how = {"clean": s.clean, "functions": s.keep_functions}
    trees = phrase_trees(data, s, report, **how)
    dev = phrase_trees(s.dev, s, ReadReport(), **how) if s.dev else None
    with about(named(data)):
        return Parser(settings=s).fit(trees, dev=dev), "dev_f1", dev


def _automata(data: Any, s: Any, report: ReadReport) -> tuple[Any, str, Any]:
    trees = dependency_trees(data, s, report, column=s.column)
    dev = dependency_trees(s.dev, s, ReadReport(), column=s.column) if s.dev else None
    with about(named(data)):
        return HeadAutomata(settings=s).fit(trees, dev=dev), "dev_uas", dev


def _tree_crf(data: Any, s: Any, report: ReadReport) -> tuple[Any, str, Any]:
    trees = dependency_trees(data, s, report)
    dev = dependency_trees(s.dev, s, ReadReport()) if s.dev else None
    with about(named(data)):
        return TreeParser.train(trees, s, dev=dev), "dev_las", dev
