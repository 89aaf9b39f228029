"""Structure from whatever file the user has: word classes and vectors, trees of classes, topics.

Every function also takes the structure itself, so that a setting may be a file or an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spinney.corpus.compressed import open_bytes
from spinney.corpus.opening import open_text
from spinney.errors import InputError, OptionError
from spinney.model import Model
from spinney.structure._fasttext import MAGIC
from spinney.structure.classtree import ClassTree
from spinney.structure.topics import Topics, read_topics
from spinney.structure.wordclasses import WordClasses
from spinney.structure.wordvectors import WordVectors


def is_model(file: str) -> bool:
    """Whether a file is a Spinney model rather than text: its first eight bytes are a length, followed by a brace."""
    with open_bytes(file) as stream:
        start = stream.read(9)
    if start.startswith(MAGIC):  # vectors of fastText with 123 dimensions have a brace in this place, too
        return False
    return len(start) == 9 and start[8:9] == b"{" and b"\0" in start[:8]


def word_classes(file: str | WordClasses | Model) -> WordClasses:
    """Word classes, from a model that has some (such as one of ``classes fit``), its file, or a Brown paths file."""
    if isinstance(file, WordClasses):
        return file
    if isinstance(file, Model):
        return _of_model(file, "classes")  # type: ignore[no-any-return]
    if not is_model(file):
        return WordClasses.read_paths(file)
    found: WordClasses = _given(file, "classes", "learn classes with classes fit")
    return found


def word_vectors(file: str | WordVectors | Model) -> WordVectors:
    """Word vectors, from a model that has some (as ``embed fit`` makes), its file, or word2vec, GloVe or fastText."""
    if isinstance(file, WordVectors):
        return file
    if isinstance(file, Model):
        return _of_model(file, "vectors")  # type: ignore[no-any-return]
    if not is_model(file):
        return WordVectors.read(file)
    found: WordVectors = _given(
        file, "vectors", "learn vectors with embed fit, or with classes fit and the method hmm"
    )
    return found


def class_tree(file: str | ClassTree, names: Sequence[str], counts: Sequence[int]) -> ClassTree:
    """A tree over words or labels, with how often each was seen.

    The file is a tree (a structure file, JSON, or Newick), or it has word classes (a model of ``classes fit``, a
    structure file, or Brown paths), whose paths become the tree.
    """
    if isinstance(file, ClassTree):
        return file
    if is_model(file):
        given = _structures(file)
        if "tree" in given:
            tree: ClassTree = given["tree"]
            return tree
    else:
        with open_text(file) as stream:
            start = stream.read(4096).lstrip()[:1]
        if start not in ("0", "1"):  # those that Brown paths begin with
            return ClassTree.read_json(file) if start == "{" else ClassTree.read_newick(file)
    try:
        return ClassTree.from_classes(word_classes(file), names, counts)
    except OptionError as error:
        raise InputError(
            str(error), path=file, remedy="are its words of the same kind as those of the data?"
        ) from None


def topics(file: str | Topics) -> Topics:
    """Topics, from a model of ``embed fit`` with the method ``topics``, or from a text with one topic per line."""
    if isinstance(file, Topics):
        return file
    if not is_model(file):
        return read_topics(file)
    return Topics(*_given(file, "topics", "learn topics with embed fit and the method topics"))


def _of_model(model: Model, role: str) -> Any:
    found = model.structures()
    if role not in found:
        raise InputError(
            f"a model of the kind {model.kind} has no word {role}", remedy=f"give one that has word {role}"
        )
    return found[role]


def _structures(file: str) -> Any:
    from spinney.kinds import load

    return load(file).structures()


def _given(file: str, role: str, remedy: str) -> Any:
    found = _structures(file)
    if role not in found:
        raise InputError(f"no word {role}" if role != "topics" else "no topics", path=file, remedy=remedy)
    return found[role]
