"""Binarised trees in flat arrays, the input of all grammar estimators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.errors import InputError


@dataclass(frozen=True)
class TreeArrays:
    """Trees whose nodes have one word, one child or two.

    The nodes of a tree are contiguous, children before parents, so its root is the last one. A node is a *leaf* (a tag
    over a word), *unary* (one child) or *binary*.

    Attributes
    ----------
    labels : tuple of str
        The labels that occur; nodes have their numbers.
    tokens : list of str
        The words of all trees.
    tree_start, token_start : int64 arrays [trees + 1]
        Where the nodes and the words of each tree begin.
    label : int32 array [nodes]
    left, right : int32 arrays [nodes]
        The numbers of the children: -1 for both at a leaf, -1 to the right at a unary node.
    begin, end : int32 arrays [nodes]
        The words of its sentence that a node spans: ``begin`` to ``end - 1``.

    Examples
    --------
    >>> arrays = TreeArrays.of([Tree.parse("(S (NP (NN dogs)) (VB bark))")])
    >>> [arrays.labels[i] for i in arrays.label]
    ['VB', 'NN', 'NP', 'S']
    >>> arrays.left.tolist(), arrays.right.tolist()
    ([-1, -1, 1, 2], [-1, -1, -1, 0])
    """

    labels: tuple[str, ...]
    tokens: list[str]
    tree_start: NDArray[np.int64]
    token_start: NDArray[np.int64]
    label: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]

    @classmethod
    def of(cls, trees: Iterable[Tree], labels: Sequence[str] = ()) -> TreeArrays:
        """Trees as arrays; new labels are numbered after the given ones."""
        numbers = {label: i for i, label in enumerate(labels)}
        tokens: list[str] = []
        tree_start, token_start = [0], [0]
        label: list[int] = []
        left: list[int] = []
        right: list[int] = []
        begin: list[int] = []
        end: list[int] = []
        size: list[int] = []
        for tree in trees:
            nodes = list(tree.nodes())
            first = len(label)
            # Parents first, a node is followed by its left subtree, then the right one: here that runs backwards.
            label.extend(numbers.setdefault(node.label, len(numbers)) for node in reversed(nodes))
            position = sum(node.word is not None for node in nodes)
            length = position
            for node in reversed(nodes):
                this = len(left)
                if node.word is not None:
                    tokens.append(node.word)
                    position -= 1
                    left.append(-1)
                    right.append(-1)
                    begin.append(position)
                    end.append(position + 1)
                    size.append(1)
                    continue
                if len(node.children) > 2:
                    count = len(node.children)
                    raise InputError(f"a node {node.label!r} with {count} children: binarise trees first")
                left.append(this - 1)
                right.append(this - 1 - size[this - 1] if len(node.children) == 2 else -1)
                begin.append(begin[this - 1])
                end.append(end[right[this] if right[this] >= 0 else left[this]])
                size.append(1 + size[this - 1] + (size[right[this]] if right[this] >= 0 else 0))
            tokens[len(tokens) - length :] = tokens[len(tokens) - length :][::-1]
            tree_start.append(first + len(nodes))
            token_start.append(len(tokens))
        return cls(
            tuple(numbers),
            tokens,
            np.array(tree_start, np.int64),
            np.array(token_start, np.int64),
            *(np.array(column, np.int32) for column in (label, left, right, begin, end)),
        )

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.tree_start) - 1

    @property
    def tree(self) -> NDArray[np.int64]:
        """The number of the tree that each node belongs to."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The nodes over the words, in the order of ``tokens``."""
        nodes = np.flatnonzero(self.left < 0)
        token = self.token_start[self.tree[nodes]] + self.begin[nodes]
        return nodes[np.argsort(token)]

    @property
    def roots(self) -> NDArray[np.int64]:
        """The root of each tree."""
        return self.tree_start[1:] - 1
