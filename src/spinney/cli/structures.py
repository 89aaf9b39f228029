"""Structure out of whatever file the user has: word classes and vectors, trees of classes, topics, parsers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spinney.errors import InputError, OptionError, did_you_mean_file

if TYPE_CHECKING:
    from spinney.classify import Topics
    from spinney.corpus.dependencies import DependencyParser
    from spinney.parsing import Parser
    from spinney.structure import ClassTree, WordClasses, WordVectors


def is_model(file: str) -> bool:
    """Whether a file is one of ours rather than text: its first eight bytes are a length, then comes a brace."""
    from spinney.corpus import open_bytes

    with open_bytes(file) as stream:
        start = stream.read(9)
    return len(start) == 9 and start[8:9] == b"{" and b"\0" in start[:8]


def word_classes(file: str) -> WordClasses:
    """Word classes: a model of ``spinney classes``, a structure file, or a Brown paths file."""
    from spinney.structure import WordClasses

    if not is_model(file):
        return WordClasses.read_paths(file)
    if _task(file) != "classes":
        return WordClasses.load(file)
    from spinney.classes import load_classes

    return load_classes(file)


def word_vectors(file: str) -> WordVectors:
    """Word vectors: a model of ``spinney classes`` or ``embed``, a structure file, or word2vec text."""
    from spinney.structure import WordVectors

    if not is_model(file):
        return WordVectors.read_word2vec(file)
    if _task(file) == "embed":
        from spinney.cli.embed_models import load_model
        from spinney.report.embed import model_vectors

        return model_vectors(load_model(file))
    if _task(file) != "classes":
        return WordVectors.load(file)
    from spinney.classes import load_vectors

    return load_vectors(file)


def class_tree(file: str, names: Sequence[str], counts: Sequence[int]) -> ClassTree:
    """A tree over words or labels, with how often each was seen, from a file.

    The file is a tree (of Spinney's structures, JSON, or Newick); or it has word classes (a model of ``spinney
    classes``, a structure file, or Brown paths), whose paths become the tree.
    """
    from spinney.corpus import open_text
    from spinney.files import read_model
    from spinney.structure import ClassTree

    if is_model(file):
        kind = read_model(file).kind
        if not (kind.startswith("classes/") or kind == "structure/WordClasses"):
            return ClassTree.load(file)
    else:
        with open_text(file) as stream:
            start = stream.read(4096).lstrip()[:1]
        if start not in ("0", "1"):  # those that Brown paths begin with
            return ClassTree.read_json(file) if start == "{" else ClassTree.read_newick(file)
    try:
        return ClassTree.from_classes(word_classes(file), names, counts)
    except OptionError as error:
        raise InputError(str(error), path=file, remedy="is it of the same kind of words?") from None


def topics(file: str) -> Topics:
    """Topics: a model of ``spinney embed fit --method topics``, or text with one a line."""
    from spinney.classify import Topics, read_topics

    if not is_model(file):
        return read_topics(file)
    from spinney.cli.embed_models import load_model
    from spinney.embed import MomentTopics

    model = load_model(file)
    if not isinstance(model, MomentTopics):
        raise InputError("no topics", path=file, remedy="embed fit --method topics learns some")
    return Topics(model.components_, list(model.words_))


def tree_parser(name: str, head_rules: str | None = None) -> str | DependencyParser:
    """What gives plain text its dependency trees: of a model file, a function; else the name of a spaCy pipeline."""
    if not _is_path(name):
        if head_rules is not None:
            raise OptionError(
                f"--head-rules goes with a --parser of parse fit, and {name} is none: no such file"
            )
        return name
    from spinney.parsing import COLLINS, HeadRules, dependency_parser

    rules = COLLINS if head_rules is None else HeadRules.read(head_rules)
    return dependency_parser(constituent_parser(name), rules)


def constituent_parser(file: str) -> Parser:
    """A parser that needs nothing but words: a grammar of ``spinney parse fit``."""
    from spinney.files import read_model
    from spinney.parsing import Parser
    from spinney.parsing.automata import KIND

    if not os.path.isfile(file):
        meant = did_you_mean_file(file)
        raise InputError(
            "no such file", path=file, remedy=f"{meant} give a model of parse fit as --parser".strip()
        )
    if read_model(file).kind == KIND:
        raise InputError(
            "head automata need tags, and plain text has none", path=file, remedy="give a grammar"
        )
    return Parser.load(file)


def _is_path(name: str) -> bool:
    """Whether it can only be a file: it is there, or no pipeline is called so."""
    return os.path.isfile(name) or name.endswith(".spinney")


def _task(file: str) -> str:
    from spinney.files import read_model

    return read_model(file).kind.partition("/")[0]
