"""Trees over the words of a language model and the end of a sentence."""

from __future__ import annotations

import numpy as np

from spinney.corpus import Vocabulary
from spinney.errors import OptionError
from spinney.lm.stream import END
from spinney.structure import ClassTree, WordClasses


def outcome_counts(vocabulary: Vocabulary, n_sentences: int) -> list[int]:
    """How often each outcome was seen: the words and the end."""
    return [*vocabulary.counts.tolist(), n_sentences]


def huffman_tree(vocabulary: Vocabulary, n_sentences: int) -> ClassTree:
    """The binary tree with the fewest decisions per token.

    Examples
    --------
    >>> huffman_tree(Vocabulary.from_tokens("a a a b".split()), 2).to_newick()
    '(a,(b,</s>));'
    """
    return ClassTree.huffman([*vocabulary.words, END], outcome_counts(vocabulary, n_sentences))


def tree_of_classes(classes: WordClasses, vocabulary: Vocabulary, n_sentences: int) -> ClassTree:
    """A binary tree from word classes: Brown paths where there are some, and Huffman trees inside the classes.

    Classes without paths hang in a Huffman tree of their own. Words without a class, and the end of a sentence, form
    one more class.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_tokens("the cat a dog the cat".split())
    >>> classes = WordClasses(["the", "a", "cat", "dog"], [0, 0, 1, 1], paths=["0", "1"])
    >>> tree_of_classes(classes, vocabulary, 2).to_newick()
    '(</s>,((a,the),(dog,cat)));'
    """
    names = [*vocabulary.words, END]
    return ClassTree.from_classes(classes, names, outcome_counts(vocabulary, n_sentences))


def fitting(tree: ClassTree, vocabulary: Vocabulary) -> ClassTree:
    """The tree with its leaves in the order of the outcomes; every one must be there, and nothing else."""
    names = [*vocabulary.words, END]
    place = {name: i for i, name in enumerate(tree.names)}
    missing = next((name for name in names if name not in place), None)
    if missing is not None:
        raise OptionError(f"the tree has no leaf {missing!r}")
    if len(place) > len(names):
        extra = next(name for name in tree.names if name not in set(names))
        raise OptionError(f"the tree has a leaf {extra!r}, which is not a word of the text")
    old = np.array([place[name] for name in names] + list(range(len(names), len(tree.parent))))
    return ClassTree(names, tree.parent[old], tree.branch[old])
