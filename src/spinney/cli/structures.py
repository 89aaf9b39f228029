"""Word classes, word vectors and trees of classes out of whatever file the user has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def class_tree(file: str) -> ClassTree:
    """A tree of words or other classes: a file of Spinney's structures, JSON, or Newick."""
    from spinney.corpus import open_text
    from spinney.structure import ClassTree

    if is_model(file):
        return ClassTree.load(file)
    with open_text(file) as stream:
        start = stream.read(4096).lstrip()[:1]
    return ClassTree.read_json(file) if start == "{" else ClassTree.read_newick(file)


def _task(file: str) -> str:
    from spinney.files import read_model

    return read_model(file).kind.partition("/")[0]
