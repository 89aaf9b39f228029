"""Trees from files or from memory, according to the settings of a parser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from spinney.corpus.brackets import Tree
from spinney.corpus.compressed import content_suffix
from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError
from spinney.parsing.cleaning import clean_tree, read_treebank


def paths_of(data: Any) -> list[str] | None:
    """The files, or None if the data are trees or sentences in memory.

    Examples
    --------
    >>> paths_of("train.mrg"), paths_of([Tree.parse("(S (NN dogs))")])
    (['train.mrg'], None)
    """
    several = [data] if isinstance(data, str | os.PathLike) else list(data)
    return (
        [os.fspath(one) for one in several]
        if all(isinstance(one, str | os.PathLike) for one in several)
        else None
    )


def named(data: Any) -> str:
    """The name of data, for messages.

    Examples
    --------
    >>> named(["a.mrg", "b.mrg", "c.mrg", "d.mrg"])
    'a.mrg and 3 other files'
    """
    files = paths_of(data)
    if files is None:
        return "the trees"
    return ", ".join(files) if len(files) < 4 else f"{files[0]} and {len(files) - 1} other files"


def phrase_trees(data: Any, s: Any, report: ReadReport, *, clean: bool, functions: bool) -> list[Tree]:
    """The trees of files and folders, or those that are given, cleaned; an error if there are none.

    Parameters
    ----------
    data
        Files, or trees.
    s
        Settings with ``encoding`` and ``on_error``.
    """
    files = paths_of(data)
    if files is None:
        cleaned = [clean_tree(tree, functions=functions) if clean else tree for tree in data]
        trees = [tree for tree in cleaned if tree is not None]
        report.empty += len(cleaned) - len(trees)
    else:
        for file in files:
            if content_suffix(file) == ".conllu":
                what = "CoNLL-U has dependencies, but a grammar needs constituents"
                raise InputError(what, path=file, remedy="give bracketed trees, or use the method automata")
        how: dict[str, Any] = {"encoding": s.encoding, "on_error": s.on_error, "report": report}
        trees = [
            tree for file in files for tree in read_treebank(file, clean=clean, functions=functions, **how)
        ]
    if not trees:
        what = f"no trees with words, and {report.empty} without words" if report.empty else "no trees"
        raise InputError(what, path=named(data), remedy="give bracketed trees such as (S (NP (NN dogs)) ...)")
    return trees


def dependency_trees(data: Any, s: Any, report: ReadReport, *, column: str | None = None) -> list[Sentence]:
    """The sentences of CoNLL-U files, or those that are given, with heads, and tags in a column if one is named.

    Parameters
    ----------
    data
        Files, or sentences.
    s
        Settings with ``encoding`` and ``on_error``.
    """
    files = paths_of(data)
    how: dict[str, Any] = {"encoding": s.encoding, "on_error": s.on_error, "report": report}
    found: list[Sentence] = []
    for file in [None] if files is None else files:
        for number, sentence in enumerate(data if file is None else read_conllu(file, **how), 1):
            if not sentence.heads:
                what = f"sentence {number} has no heads"
                raise InputError(what, path=file, remedy="give dependency trees: parse the text first")
            found.append(sentence)
        if column is not None:
            check_column(found, column, file)
    if not found:
        raise InputError("no sentences", path=named(data), remedy="give dependency trees in CoNLL-U")
    return found


def check_column(sentences: Sequence[Sentence], column: str, path: str | None = None) -> None:
    """Refuse text whose tags are in another column, or missing."""
    if sentences and all(set(getattr(sentence, column)) <= {"_"} for sentence in sentences):
        other = "xpos" if column == "upos" else "upos"
        filled = any(set(getattr(sentence, other)) - {"_"} for sentence in sentences)
        remedy = f"the tags are in {other}: use the column {other}" if filled else "tag the text first"
        raise InputError(f"no tags in the column {column}", path=path, remedy=remedy)
