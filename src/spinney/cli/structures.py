"""Structures for verbs that do not declare settings yet."""

from spinney.corpus.parsers import tree_parser  # noqa: F401
from spinney.structure.reading import class_tree, is_model, word_classes, word_vectors  # noqa: F401
