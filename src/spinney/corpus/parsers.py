"""Parsers that add dependency trees to plain text: a Spinney model file, or a spaCy pipeline by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spinney.errors import InputError, OptionError, did_you_mean_file

if TYPE_CHECKING:
    from spinney.corpus.dependencies import DependencyParser


def tree_parser(name: str, head_rules: str | None = None) -> str | DependencyParser:
    """The parser in a model file as a function; any other name is taken for a spaCy pipeline and returned.

    Examples
    --------
    >>> tree_parser("en_core_web_sm")
    'en_core_web_sm'
    """
    if not (os.path.isfile(name) or name.endswith(".spinney")):
        if head_rules is not None:
            raise OptionError(
                f"head rules need a model of parse fit as the parser, and there is no file {name}"
            )
        return name
    if not os.path.isfile(name):
        remedy = f"{did_you_mean_file(name)} give a model of parse fit or pipeline fit as the parser".strip()
        raise InputError("no such file", path=name, remedy=remedy)
    from spinney.kinds import load

    parser = load(name).structures().get("parser")
    if parser is None:
        raise InputError(
            "this model cannot parse plain text",
            path=name,
            remedy="give a grammar learned by parse fit, or a pipeline with a parser",
        )
    made: DependencyParser = parser(head_rules)
    return made
