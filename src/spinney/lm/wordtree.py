"""Trees over the words of a language model and the end of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spinney.corpus import Vocabulary
from spinney.errors import OptionError
from spinney.lm.stream import END
from spinney.structure import ClassTree, WordClasses


def outcome_counts(vocabulary: Vocabulary, n_sentences: int) -> list[int]:
    """How often each outcome was seen: the words and the end."""
    return [*vocabulary.counts.tolist(), n_sentences]


def huffman_tree(vocabulary: Vocabulary, n_sentences: int) -> ClassTree:
    """The binary tree with the fewest decisions a token.

    Examples
    --------
    >>> huffman_tree(Vocabulary.from_tokens("a a a b".split()), 2).to_newick()
    '(a,(b,</s>));'
    """
    return ClassTree.huffman([*vocabulary.words, END], outcome_counts(vocabulary, n_sentences))


def tree_of_classes(classes: WordClasses, vocabulary: Vocabulary, n_sentences: int) -> ClassTree:
    """A binary tree from word classes: Brown paths where there are some, and Huffman trees inside the classes.

    Classes without paths hang in a Huffman tree of their own. Words without a class form one more class, and so does
    the end of a sentence.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_tokens("the cat a dog the cat".split())
    >>> classes = WordClasses(["the", "a", "cat", "dog"], [0, 0, 1, 1], paths=["0", "1"])
    >>> tree_of_classes(classes, vocabulary, 2).to_newick()
    '(</s>,((a,the),(dog,cat)));'
    """
    counts = outcome_counts(vocabulary, n_sentences)
    members: dict[int, list[int]] = {}
    strangers: list[int] = []
    for number, word in enumerate(vocabulary.words):
        found = classes.get(word)
        (strangers if found is None else members.setdefault(found, [])).append(number)
    if not members:
        raise OptionError("no word of the text has a class")
    paths = classes.paths
    if paths is None:
        codes = _codes([sum(counts[i] for i in group) for group in members.values()])
        prefixes = dict(zip(members, codes))
    else:
        prefixes = {c: paths[c] for c in members}
    known = sum(counts[i] for group in members.values() for i in group)
    tops = _codes([known, counts[-1], *([sum(counts[i] for i in strangers)] if strangers else [])])
    path = [""] * len(counts)
    path[-1] = tops[1]
    for c, group in members.items():
        for i, code in zip(group, _codes([counts[i] for i in group])):
            path[i] = tops[0] + prefixes[c] + code
    for i, code in zip(strangers, _codes([counts[i] for i in strangers]) if strangers else []):
        path[i] = tops[2] + code
    return ClassTree.from_paths([*vocabulary.words, END], path)


def _codes(counts: Sequence[int]) -> list[str]:
    """Huffman codes; a single thing needs none."""
    if len(counts) == 1:
        return [""]
    codes = ClassTree.huffman([str(i) for i in range(len(counts))], np.array(counts)).paths()
    bits = "".join(map(str, codes.branches.tolist()))
    return [bits[start:stop] for start, stop in zip(codes.ptr[:-1].tolist(), codes.ptr[1:].tolist())]


def fitting(tree: ClassTree, vocabulary: Vocabulary) -> ClassTree:
    """The tree with its leaves in the order of the outcomes; every one must be there, and nothing else."""
    names = [*vocabulary.words, END]
    place = {name: i for i, name in enumerate(tree.names)}
    missing = next((name for name in names if name not in place), None)
    if missing is not None:
        raise OptionError(f"the tree has no leaf {missing!r}")
    if len(place) > len(names):
        extra = next(name for name in tree.names if name not in set(names))
        raise OptionError(f"the tree has a leaf {extra!r}, which is no word of the text")
    old = np.array([place[name] for name in names] + list(range(len(names), len(tree.parent))))
    return ClassTree(names, tree.parent[old], tree.branch[old])
