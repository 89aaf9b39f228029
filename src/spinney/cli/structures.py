"""Structures for verbs that do not declare settings yet."""

from spinney.corpus.parsers import tree_parser  # noqa: F401
from spinney.errors import InputError, did_you_mean_file
from spinney.structure.reading import class_tree, is_model, word_classes, word_vectors  # noqa: F401
from spinney.structure.reading import topics as _topics


def topics(file):
    from spinney.classify import Topics, read_topics

    return Topics(*_topics(file)) if is_model(file) else read_topics(file)


def constituent_parser(file):
    import os

    from spinney.files import read_model
    from spinney.parsing import HeadAutomata, Parser

    if not os.path.isfile(file):
        meant = did_you_mean_file(file)
        raise InputError(
            "no such file", path=file, remedy=f"{meant} give a model of parse fit as --parser".strip()
        )
    if read_model(file).kind == HeadAutomata.kind:
        raise InputError(
            "head automata need tags, and plain text has none", path=file, remedy="give a grammar"
        )
    return Parser.load(file)
