"""Trees in flat arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import Tree
from spinney.errors import InputError
from spinney.parsing.treearrays import TreeArrays

leaf = st.builds(lambda label, word: Tree(label, word=word), st.sampled_from("NVD"), st.sampled_from("xyz"))
trees = st.recursive(
    leaf,
    lambda below: st.builds(Tree, st.sampled_from("ABC"), st.lists(below, min_size=1, max_size=2)),
    max_leaves=8,
)


def rebuilt(arrays: TreeArrays, node: int, tree: int) -> Tree:
    label = arrays.labels[arrays.label[node]]
    if arrays.left[node] < 0:
        return Tree(label, word=arrays.tokens[arrays.token_start[tree] + arrays.begin[node]])
    children = [int(child) for child in (arrays.left[node], arrays.right[node]) if child >= 0]
    return Tree(label, [rebuilt(arrays, child, tree) for child in children])


@given(st.lists(trees, min_size=1, max_size=4))
def test_trees_come_back(found):
    arrays = TreeArrays.of(found)
    assert [rebuilt(arrays, int(root), i) for i, root in enumerate(arrays.roots)] == found
    assert [
        arrays.tokens[a:b] for a, b in zip(arrays.token_start[:-1], arrays.token_start[1:], strict=True)
    ] == [tree.leaves() for tree in found]
    assert [arrays.labels[arrays.label[n]] for n in arrays.leaves] == [
        tag for tree in found for tag in tree.tags()
    ]
    spans = sorted(
        (arrays.labels[a], int(b), int(e))
        for a, b, e in zip(arrays.label, arrays.begin, arrays.end, strict=True)
    )
    assert spans == sorted(span for tree in found for span in tree.spans())


def test_a_subtree_may_stand_in_two_places():
    noun = Tree("N", word="dog")
    arrays = TreeArrays.of([Tree("A", [noun, Tree("B", [noun, noun])])])
    assert (arrays.end - arrays.begin).tolist() == [1, 1, 2, 1, 3]


def test_given_labels_come_first():
    arrays = TreeArrays.of([Tree.parse("(A (N x))")], ["S", "N"])
    assert arrays.labels == ("S", "N", "A")


def test_no_trees():
    arrays = TreeArrays.of([])
    assert arrays.n_trees == 0
    assert arrays.leaves.tolist() == arrays.roots.tolist() == []


def test_three_children_are_refused():
    with pytest.raises(InputError, match="'A' with 3 children"):
        TreeArrays.of([Tree.parse("(A (N x) (N y) (N z))")])


def test_deep_trees():
    tree = Tree("N", word="x")
    for _ in range(5000):
        tree = Tree("A", [tree])
    arrays = TreeArrays.of([tree])
    assert len(arrays.label) == 5001
    assert np.all(arrays.end == 1)
