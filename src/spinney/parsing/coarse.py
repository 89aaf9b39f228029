"""The coarse pass: which items and edges of a sentence a finer grammar has to consider.

A PCFG with the same rules scores all labels over all spans by inside-outside; items with a posterior probability below
a threshold are dropped (Charniak and Johnson 2005), and so are edges, the rules at their places. With 1e-4, F1 is not
lower than with less pruning. The result is a :class:`~spinney.parsing.forest.PackedForest`, on which the fine grammar,
at m³ per rule, is affordable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.errors import InputError, OptionError
from spinney.parsing.binarising import label_parts
from spinney.parsing.forest import Floats, ForestArrays, Ints, PackedForest, read_only
from spinney.parsing.grammar import Grammar

_LOOSER = 1e-4  # factor of the threshold when it leaves no derivation


class PCFG(NamedTuple):
    """The rules of a grammar with one state per label, by pair of children and by parent, as kernels take them."""

    root: Floats
    pair_start: Ints
    pair_b: Ints
    pair_c: Ints
    pair_rule: Ints
    left_a: Ints
    left_p: Floats
    parent_start: Ints
    parent_pair: Ints
    parent_b: Ints
    parent_c: Ints
    parent_p: Floats
    unary_start: Ints
    unary_a: Ints
    unary_b: Ints
    unary_p: Floats

    @classmethod
    def of(cls, grammar: Grammar) -> PCFG:
        """The rules of a grammar."""
        rules = grammar.rules
        if grammar.layout.n_states.max(initial=1) > 1 or grammar.signed:
            raise OptionError("a coarse grammar must have one state per label, and probabilities")
        a, b, c = rules.binary.T
        order = np.lexsort((a, c, b))
        children = rules.binary[order, 1:]
        new = np.append(True, (children[1:] != children[:-1]).any(axis=1))[: len(order)]
        pair_b, pair_c = children[new].T
        parent_pair = np.empty(len(order), np.int64)
        parent_pair[order] = np.cumsum(new) - 1
        bounds = np.arange(rules.n_labels + 1)
        parent_start, unary_start = (
            np.searchsorted(rule[:, 0], bounds) for rule in (rules.binary, rules.unary)
        )

        def ints(array: NDArray[Any]) -> Ints:
            return read_only(array, np.int32)

        def floats(array: Floats) -> Floats:
            return read_only(array, np.float64)

        return cls(
            root=floats(grammar.root),
            pair_start=ints(np.searchsorted(pair_b, bounds)),
            pair_b=ints(pair_b),
            pair_c=ints(pair_c),
            pair_rule=ints(np.append(np.flatnonzero(new), len(order))),
            left_a=ints(a[order]),
            left_p=floats(grammar.binary[order]),
            parent_start=ints(parent_start),
            parent_pair=ints(parent_pair),
            parent_b=ints(b),
            parent_c=ints(c),
            parent_p=floats(grammar.binary),
            unary_start=ints(unary_start),
            unary_a=ints(rules.unary[:, 0]),
            unary_b=ints(rules.unary[:, 1]),
            unary_p=floats(grammar.unary),
        )


class Pruner:
    """Makes forests of sentences: the items that a PCFG does not rule out.

    Parameters
    ----------
    coarse : Grammar
        One state per label.
    threshold : float
        The minimum posterior probability of an item and of an edge. 0 keeps everything possible.

    Examples
    --------
    >>> from spinney.parsing.grammar import Rules, pcfg_counts
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> texts = "(S (N dogs) (V bark))", "(S (N dogs) (S (N cats) (V bark)))"
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> pruner = Pruner(pcfg_counts(trees, Rules.of(trees, rare=0)).grammar())
    >>> forest = pruner.forest(["cats", "dogs", "bark"])
    >>> sorted({(forest.label(i), *forest.words_of(i)) for i in range(forest.n_items)}, key=len)[-2:]
    [('S', 'dogs', 'bark'), ('S', 'cats', 'dogs', 'bark')]
    >>> pruner.forest(["bark", "dogs"]) is None
    True
    >>> str(pruner.flat_tree(["bark", "dogs"]))
    '(S (V bark) (N dogs))'
    """

    def __init__(self, coarse: Grammar, threshold: float = 1e-4) -> None:
        if not 0.0 <= threshold < 1.0:
            raise OptionError(f"threshold must be at least 0 and less than 1, not {threshold}")
        self.coarse = coarse
        self.threshold = threshold
        self._grammar = PCFG.of(coarse)

    def forest(
        self, words: Sequence[str], *, tags: Sequence[str] | None = None, wide: bool = False
    ) -> PackedForest | None:
        """The forest of a sentence; None if the grammar has no derivation of it.

        With ``tags``, each word has only the given tag, if the grammar knows it. With ``wide``, every word may have,
        in addition to its own tags, every tag of some rare word. Where the threshold would leave no derivation at all,
        as may happen in long sentences, it is lowered. Takes 44 bytes for each label and span while it works: 90 MB
        for 200 words and 100 labels, 320 MB for 360 labels.
        """
        if not len(words):
            raise InputError("a sentence without words")
        entries = self._entries(words, wide) if tags is None else self._tagged_entries(words, tags)
        for threshold in (self.threshold, self.threshold * _LOOSER, 0.0):
            forest, possible = self._forest_at(threshold, words, entries)
            if forest is not None or not possible:
                break
        return forest

    def _forest_at(
        self, threshold: float, words: Sequence[str], lexical: tuple[Ints, Ints]
    ) -> tuple[PackedForest | None, bool]:
        """The forest, if the threshold leaves a derivation, and whether there is one at all."""
        from spinney.parsing._coarse_kernels import inside, outside, pack

        n, L, grammar = len(words), self.coarse.rules.n_labels, self._grammar
        word_start, entries = lexical
        labels = self.coarse.rules.lexicon.tag[entries]
        spans = n * (n + 1) // 2
        bottoms, index = np.empty((spans, L)), np.empty((spans, L), np.int32)
        lefts, rights = np.zeros(spans * L), np.zeros(spans * L)
        out_lefts, out_rights = np.empty(spans * L), np.empty(spans * L)
        exponent = np.empty(spans, np.int32)
        splits = np.empty((2, n + 1, L), np.uint64)
        first, last = (np.empty((2, n + 1, L), np.int32) for _ in range(2))
        tops = lefts, rights, exponent, splits, first, last
        inside(word_start, labels, self.coarse.lexical[entries], grammar, bottoms, *tops)
        if not outside(grammar, bottoms, *tops, out_lefts, out_rights, threshold, n):
            return None, False

        tables = pack(threshold, grammar, word_start, labels, entries, bottoms, out_lefts, *tops, index)
        root = index[-1][(index[-1] >= 0) & (grammar.root > 0)]
        if not len(root):
            return None, True
        return PackedForest(self.coarse.rules, tuple(words), _arrays(tables, root)), True

    @cached_property
    def tag_labels(self) -> dict[str, list[int]]:
        """The tags of trees, each with the grammar labels that end in it: NNS, NP+NNS."""
        found: dict[str, list[int]] = {}
        for label in np.unique(self.coarse.rules.lexicon.tag).tolist():
            found.setdefault(label_parts(self.coarse.rules.labels[label])[1][-1], []).append(label)
        return found

    def flat_tree(self, words: Sequence[str]) -> Tree:
        """A tree for a sentence that has no derivation: the most probable root over the most probable tags.

        The frequency of a tag, which the grammar does not have, is estimated by the number of words with it.
        """
        rules = self.coarse.rules
        words_of_tag = np.bincount(rules.lexicon.tag, minlength=rules.n_labels)
        start, entries = self._entries(words, wide=False)
        weight = self.coarse.lexical[entries] * words_of_tag[rules.lexicon.tag[entries]]
        best = [entries[a + weight[a:b].argmax()] for a, b in pairwise(start.tolist())]
        tags = [
            Tree(rules.labels[rules.lexicon.tag[entry]], word=word)
            for entry, word in zip(best, words, strict=True)
        ]
        return Tree(rules.labels[self.coarse.root.argmax()], tags)

    def _entries(self, words: Sequence[str], wide: bool) -> tuple[Ints, Ints]:
        """The entries of each word in the lexicon, and where they begin."""
        lexicon = self.coarse.rules.lexicon
        start, tag = lexicon.start, lexicon.tag
        any_tags = np.arange(start[-2], start[-1])
        found = []
        for row in lexicon.encode(words).tolist():
            own = np.arange(start[row], start[row + 1])
            found.append(np.concatenate([own, any_tags[~np.isin(tag[any_tags], tag[own])]]) if wide else own)
        return _joined(found)

    def _tagged_entries(self, words: Sequence[str], tags: Sequence[str]) -> tuple[Ints, Ints]:
        """The entries of each word with its tag; if a word never had it, those of the broadest row that has it."""
        lexicon = self.coarse.rules.lexicon
        if len(tags) != len(words):
            raise InputError(f"{len(words)} words, but {len(tags)} tags")
        start, wide = self._entries(words, wide=True)
        found: list[NDArray[np.integer]] = []
        for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
            rows = lexicon.row(word, i == 0), lexicon.unknown_row(word, i == 0), len(lexicon.rows) - 1
            labels = self.tag_labels.get(tag, ())
            own: list[NDArray[np.integer]] = []
            for label in labels:
                entries = lexicon.entries(np.array(rows), np.full(3, label))
                entries = entries[entries >= 0]
                # A tag that no rare word has, over a word that never had it: use any word with that tag.
                own.append((entries if len(entries) else np.flatnonzero(lexicon.tag == label))[:1])
            found.append(np.concatenate(own) if own else wide[start[i] : start[i + 1]])
        return _joined(found)


def _arrays(tables: tuple[Ints, ...], root: Ints) -> ForestArrays:
    """The columns of the tables that the kernel returns."""
    spans, items, groups, edges, unaries, words = tables
    begin, end, item_start = spans.T
    group_start, group_parent, group_rule = groups.T
    columns = (
        *(begin, end, np.append(item_start, len(items)), *items.T[:2]),
        *(np.append(group_start, len(edges)), group_parent, group_rule, *edges.T[:2]),
        *(*unaries.T, *words.T[:2], root),
    )
    return ForestArrays(*(read_only(column, np.int32) for column in columns))


def _joined(entries: list[NDArray[np.integer]]) -> tuple[Ints, Ints]:
    """Where the entries of each word begin, and all entries."""
    starts = np.cumsum([0, *map(len, entries)])
    return starts.astype(np.int32), np.concatenate(entries).astype(np.int32)
