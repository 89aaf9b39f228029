"""A packed forest: all derivations of a sentence that a grammar considers, in flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.parsing.grammar import Rules

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
_Kind = TypeVar("_Kind", bound=np.generic)


class ForestArrays(NamedTuple):
    """The items and edges of a forest, as kernels take them; see :class:`PackedForest`."""

    begin: Ints
    end: Ints
    item_start: Ints
    span: Ints
    label: Ints
    group_start: Ints
    group_parent: Ints
    group_rule: Ints
    left: Ints
    right: Ints
    unary_parent: Ints
    unary_child: Ints
    unary_rule: Ints
    lexical_parent: Ints
    entry: Ints
    root: Ints


@dataclass(frozen=True, eq=False)
class PackedForest:
    """The derivations of a sentence: items, and edges from which items are built.

    An *item* is a label over a span of words. Each span has *bottom* items, made by binary rules or from its one word,
    and above them *top* items: a bottom item as it is, or a unary rule over one. Binary rules and the root take tops.
    Spans are ordered by width, the bottoms of a span before its tops, so an item comes after everything it is built
    from.

    Binary edges are ordered by parent, then by rule: those of one rule over one span, which differ in where they split
    it, are a *group*.

    Attributes
    ----------
    rules : Rules
    words : tuple of str
    arrays : ForestArrays
        read-only int32 arrays:

        * ``begin``, ``end`` [spans]: the words ``begin`` to ``end - 1``; ``item_start`` [spans + 1]
        * ``span``, ``label`` [items]
        * ``group_start`` [groups + 1], ``group_parent``, ``group_rule`` [groups]; ``left``, ``right`` [edges]: items
        * ``unary_parent`` (a top), ``unary_child`` (a bottom), ``unary_rule`` (-1: the bottom as it is) [unary edges]
        * ``lexical_parent`` (a bottom), ``entry`` (of the lexicon) [lexical edges]
        * ``root`` [roots]: the tops of the whole sentence

    Examples
    --------
    >>> from spinney.parsing.coarse import Pruner
    >>> from spinney.parsing.grammar import pcfg_counts
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> trees = TreeArrays.of([Tree.parse("(S (N old) (S (N dogs) (V bark)))")])
    >>> grammar = pcfg_counts(trees, Rules.of(trees)).grammar()
    >>> forest = Pruner(grammar).forest(["old", "dogs", "bark"])
    >>> forest.n_items, len(forest.arrays.left)
    (10, 2)
    >>> [(forest.label(i), *forest.words_of(i)) for i in forest.arrays.root]
    [('S', 'old', 'dogs', 'bark')]
    """

    rules: Rules
    words: tuple[str, ...]
    arrays: ForestArrays

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.arrays.label)

    @property
    def parent(self) -> NDArray[np.int32]:
        """The parent of each binary edge."""
        return np.repeat(self.arrays.group_parent, np.diff(self.arrays.group_start))

    @property
    def rule(self) -> NDArray[np.int32]:
        """The rule of each binary edge."""
        return np.repeat(self.arrays.group_rule, np.diff(self.arrays.group_start))

    @property
    def top(self) -> NDArray[np.bool_]:
        """Which items are tops."""
        top = np.zeros(self.n_items, bool)
        top[self.arrays.unary_parent] = True
        return top

    def label(self, item: int) -> str:
        """The label of an item."""
        return self.rules.labels[int(self.arrays.label[item])]

    def words_of(self, item: int) -> tuple[str, ...]:
        """The words below an item."""
        span = self.arrays.span[item]
        return self.words[self.arrays.begin[span] : self.arrays.end[span]]

    def tree(self, root: int, chosen: NDArray[np.integer]) -> Tree:
        """The tree below a root, given an edge for each item of it: unary for a top, otherwise binary or lexical."""
        arrays = self.arrays
        found: list[Tree] = []
        stack: list[tuple[int, bool]] = [(root, False)]
        top = self.top
        while stack:  # depth first: a node is made when its children lie on ``found``
            item, ready = stack.pop()
            edge = int(chosen[item])
            span = arrays.span[item]
            if top[item]:
                child = int(arrays.unary_child[edge])
                if arrays.unary_rule[edge] < 0:
                    stack.append((child, False))
                elif ready:
                    found[-1] = Tree(self.label(item), found[-1:])
                else:
                    stack += [(item, True), (child, False)]
            elif arrays.end[span] - arrays.begin[span] == 1:
                found.append(Tree(self.label(item), word=self.words[arrays.begin[span]]))
            elif ready:
                found[-2:] = [Tree(self.label(item), found[-2:])]
            else:
                stack += [(item, True), (int(arrays.right[edge]), False), (int(arrays.left[edge]), False)]
        return found[0]


def read_only(array: NDArray[Any], kind: type[_Kind]) -> NDArray[_Kind]:
    """A read-only view of any array: kernels are compiled for one type of array."""
    view = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view
