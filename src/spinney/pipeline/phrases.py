"""Phrases of dependency trees: a word with all that depends on it, for what groups words by phrases."""

from __future__ import annotations

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence


def phrase_tree(sentence: Sentence) -> Tree:
    """The phrases of a sentence as a bracketed tree; each has the relation of its head for a label, words their tags.

    A phrase is a word with everything between the first and the last word that depends on it, directly or not. Where
    arcs cross, phrases would overlap; a word then belongs to the smallest phrase around it that holds no half of
    another one, so that all words stay in their order.

    Examples
    --------
    >>> one = Sentence("the dog saw a cat".split(), upos="DET NOUN VERB DET NOUN".split(), heads=[2, 3, 0, 5, 3],
    ...                deprels=["det", "nsubj", "root", "det", "obj"])
    >>> print(phrase_tree(one))
    (root (nsubj (DET the) (NOUN dog)) (VERB saw) (obj (DET a) (NOUN cat)))
    """
    n = len(sentence)
    tags = sentence.upos or ["_"] * n
    relations = sentence.deprels or ["_"] * n
    leaves = [Tree(tag or "_", word=word) for tag, word in zip(tags, sentence.forms)]
    heads = sentence.heads or [0, *([1] * (n - 1))]
    root = heads.index(0)
    spans = _nested(_spans(heads, root), root)
    # Larger phrases come first, so that those inside them are made first when taken from the end.
    order = sorted(spans, key=lambda word: (spans[word][0] - spans[word][1], spans[word][0]))
    made: dict[int, tuple[int, Tree]] = {i: (i + 1, leaf) for i, leaf in enumerate(leaves)}
    for word in reversed(order):
        start, stop = spans[word]
        children, at = [], start
        while at < stop:
            end, child = made[at]
            children.append(child)
            at = end
        made[start] = (stop, Tree(relations[word], children))
    return made[0][1]


def _spans(heads: list[int], root: int) -> dict[int, tuple[int, int]]:
    """For the root, and each word with dependents, counted from 0, where its phrase begins and ends."""
    n = len(heads)
    first, last = list(range(n)), list(range(1, n + 1))
    for word in range(n):
        above, steps = heads[word], 0
        while above and steps < n:
            first[above - 1] = min(first[above - 1], first[word], word)
            last[above - 1] = max(last[above - 1], last[word], word + 1)
            above, steps = heads[above - 1], steps + 1
    first[root], last[root] = 0, n
    return {
        word: (first[word], last[word]) for word in range(n) if word == root or last[word] - first[word] > 1
    }


def _nested(spans: dict[int, tuple[int, int]], root: int) -> dict[int, tuple[int, int]]:
    """The spans without those that cross a larger one, and one of each extent."""
    kept: dict[int, tuple[int, int]] = {}
    for word, (start, stop) in sorted(spans.items(), key=lambda one: (one[1][0] - one[1][1], one[0] != root)):
        crossing = (start < a < stop < b or a < start < b < stop for a, b in kept.values())
        if (start, stop) not in kept.values() and not any(crossing):
            kept[word] = (start, stop)
    return kept
