"""Which phrases and tags of two trees of a sentence differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from spinney.corpus.brackets import Tree
from spinney.evaluate.parseval import COLLINS, Conventions


def wrong_nodes(gold: Tree, guess: Tree, conventions: Conventions = COLLINS) -> tuple[list[bool], list[bool]]:
    """Which nodes of each tree the other lacks, in the order of ``nodes()``.

    Brackets are compared as :func:`~spinney.evaluate.parseval.parseval` does, so that punctuation does not count; tags
    as they are.

    Examples
    --------
    >>> gold = Tree.parse("(S (NP (NNS dogs)) (VP (VBP bark)) (. .))")
    >>> guess = Tree.parse("(S (NP (NNS dogs) (NN bark)) (. .))")
    >>> gold_wrong, guess_wrong = wrong_nodes(gold, guess)
    >>> [node.label for node, wrong in zip(gold.nodes(), gold_wrong) if wrong]
    ['NP', 'VP', 'VBP']
    >>> [node.label for node, wrong in zip(guess.nodes(), guess_wrong) if wrong]
    ['NP', 'NN']
    """
    tags = list(zip(gold.tags(), guess.tags(), strict=True))
    place = [0]  # of each word, and of the end, among those that count
    for pair in tags:
        place.append(place[-1] + (not conventions.deleted.issuperset(pair)))
    found = [_brackets(tree, place, conventions) for tree in (gold, guess)]
    both = Counter(filter(None, found[0])) & Counter(filter(None, found[1]))
    marks = []
    for tree, brackets in zip((gold, guess), found):
        left = both.copy()
        differ = iter([a != b for a, b in tags])
        wrong = []
        for node, bracket in zip(tree.nodes(), brackets):
            if bracket is None:
                wrong.append(node.word is not None and next(differ))
            else:
                wrong.append(not left[bracket])
                left[bracket] -= bool(left[bracket])
        marks.append(wrong)
    return marks[0], marks[1]


def _brackets(
    tree: Tree, place: Sequence[int], conventions: Conventions
) -> list[tuple[str, int, int] | None]:
    """The bracket of each node; None for words and for what does not count."""
    same = dict(conventions.equal)
    found: list[tuple[str, int, int] | None] = []
    for node, (label, start, stop) in zip(tree.nodes(), tree.spans()):
        label = re.split("[-=]", label, maxsplit=1)[0]
        counts = (
            node.word is None and label and label not in conventions.deleted and place[start] < place[stop]
        )
        found.append((same.get(label, label), place[start], place[stop]) if counts else None)
    return found
