"""Features of nodes, against what a reader would write down going through the tree."""

from __future__ import annotations

import numpy as np
import pytest

from spinney.corpus import Tree
from spinney.corpus.signatures import signature
from spinney.errors import OptionError
from spinney.parsing.binarising import to_phrase
from spinney.parsing.features import FEATURE_SETS, INSIDE, OUTSIDE, FeatureSet, node_features
from spinney.parsing.headrules import COLLINS, HeadRules
from spinney.parsing.treearrays import TreeArrays

LABELS = ("NP", "VP", "@NP|NN", "S+VP", "PP")
TAGS = ("NN", "VB", "IN", "NP")
WORDS = ("dog", "Dog", "barks", "running", "1997", "of", "well-known", "x")


def random_tree(rng: np.random.Generator, depth: int = 6) -> Tree:
    if depth == 0 or rng.random() < 0.3:
        return Tree(str(rng.choice(TAGS)), word=str(rng.choice(WORDS)))
    n = 1 if rng.random() < 0.2 else 2
    return Tree(str(rng.choice(LABELS)), [random_tree(rng, depth - 1) for _ in range(n)])


class Reader:
    """The definitions, one node at a time."""

    def __init__(self, trees: TreeArrays) -> None:
        self.trees = trees
        self.parent = {}
        for n in range(len(trees.label)):
            for child in self.children(n):
                self.parent[child] = n
        self.word = dict(zip(trees.leaves.tolist(), trees.tokens))
        self.length = dict(enumerate(np.diff(trees.token_start).tolist()))

    def label(self, n):
        return None if n is None else self.trees.labels[self.trees.label[n]]

    def children(self, n):
        return [int(c) for c in (self.trees.left[n], self.trees.right[n]) if c >= 0]

    def production(self, n):
        return (self.label(n), *([self.label(c) for c in self.children(n)] or [("word", self.word.get(n))]))

    def head(self, n):
        while self.children(n):
            children = self.children(n)
            if len(children) == 1:
                n = children[0]
                continue
            left, right = (self.label(c) for c in children)
            if left.startswith("@"):
                n = children[0]
            elif right.startswith("@"):
                n = children[1]
            else:
                plain = [to_phrase(x).split("+")[0] for x in (left, right)]
                n = children[COLLINS.head_child(to_phrase(self.label(n)).split("+")[-1], plain)]
        return n

    def above(self, n, levels):
        found = []
        while levels and (p := self.parent.get(n)) is not None:
            found.append((self.production(p), self.children(p).index(n)))
            n, levels = p, levels - 1
        return tuple(found) if not levels else (*found, "top")

    def other_head(self, n):
        own, p = self.head(n), self.parent.get(n)
        while p is not None and self.head(p) == own:
            p = self.parent.get(p)
        return None if p is None else self.head(p)

    def sibling(self, n):
        p = self.parent.get(n)
        return next((c for c in self.children(p) if c != n), None) if p is not None else None

    def neighbour(self, n, offset):
        tree = self.trees.tree[n]
        place = self.trees.begin[n] - 1 if offset < 0 else self.trees.end[n]
        if not 0 <= place < self.length[tree]:
            return "edge"
        return self.label(self.trees.leaves[self.trees.token_start[tree] + place])


def _child(r, n, i):
    children = r.children(n)
    return children[i] if len(children) > i else None


def _if(value, condition):
    return value() if condition else None


NAIVE = {
    "inside": {
        "constant": lambda r, n: 0,
        "left": lambda r, n: r.label(_child(r, n, 0)),
        "right": lambda r, n: r.label(_child(r, n, 1)),
        "rule": lambda r, n: r.production(n),
        "left_rule": lambda r, n: _if(
            lambda: (r.production(n), r.production(_child(r, n, 0))), r.children(n)
        ),
        "right_rule": lambda r, n: _if(
            lambda: (r.production(n), r.production(_child(r, n, 1))), len(r.children(n)) == 2
        ),
        "head_tag": lambda r, n: _if(lambda: r.label(r.head(n)), r.children(n)),
        "head_word": lambda r, n: _if(lambda: r.word[r.head(n)], r.children(n)),
        "width": lambda r, n: _if(lambda: r.trees.end[n] - r.trees.begin[n], r.children(n)),
        "lower": lambda r, n: _if(lambda: r.word[n].lower(), n in r.word),
        "suffix": lambda r, n: _if(lambda: r.word[n][-3:], n in r.word),
        "signature": lambda r, n: _if(lambda: signature(r.word[n], False), n in r.word),
    },
    "outside": {
        "constant": lambda r, n: 0,
        "above": lambda r, n: r.above(n, 1),
        "above2": lambda r, n: r.above(n, 2),
        "above3": lambda r, n: r.above(n, 3),
        "parent": lambda r, n: r.label(r.parent.get(n)),
        "grandparent": lambda r, n: _if(
            lambda: (r.label(r.parent[n]), r.label(r.parent.get(r.parent[n]))), n in r.parent
        ),
        "other_head": lambda r, n: r.label(r.other_head(n)),
        "words_left": lambda r, n: r.trees.begin[n],
        "words_right": lambda r, n: r.length[r.trees.tree[n]] - r.trees.end[n],
        "sibling_head": lambda r, n: _if(lambda: r.label(r.head(r.sibling(n))), r.sibling(n) is not None),
        "other_head_word": lambda r, n: r.word.get(r.other_head(n)),
        "tag_before": lambda r, n: r.neighbour(n, -1),
        "tag_after": lambda r, n: r.neighbour(n, 1),
    },
}


@pytest.fixture(scope="module")
def trees() -> TreeArrays:
    rng = np.random.default_rng(0)
    return TreeArrays.of([random_tree(rng) for _ in range(60)])


def test_every_template_has_a_definition_here():
    assert set(NAIVE["inside"]) == set(INSIDE)
    assert set(NAIVE["outside"]) == set(OUTSIDE)


@pytest.mark.parametrize(("view", "name"), [(view, name) for view in NAIVE for name in NAIVE[view]])
def test_templates_say_what_a_reader_sees(trees, view, name):
    """Two nodes of a label share a column if and only if the reader writes down the same."""
    inside, outside = ((name,), ("constant",)) if view == "inside" else (("constant",), (name,))
    found = node_features(trees, FeatureSet(inside, outside))
    reader = Reader(trees)
    for a in range(len(trees.labels)):
        matrix = found.matrices(a)[view == "outside"].toarray()
        nodes = found.node[found.start[a] : found.start[a + 1]]
        assert (trees.label[nodes] == a).all()
        values = [NAIVE[view][name](reader, int(n)) for n in nodes]
        columns = [int(row.argmax()) if row.any() else None for row in matrix]
        assert [v is None for v in values] == [c is None for c in columns]
        assert (matrix.sum(axis=1) <= 1).all()
        assert len(set(zip(values, columns))) == len(set(values)) == len(set(columns))


def test_templates_of_a_set_stand_side_by_side(trees):
    names = FEATURE_SETS["full"]
    together = node_features(trees, "full")
    for a in range(len(trees.labels)):
        for view, wanted in enumerate((names.inside, names.outside)):
            alone = []
            for name in wanted:
                one = FeatureSet((name,), ("constant",)) if view == 0 else FeatureSet(("constant",), (name,))
                alone.append(node_features(trees, one).matrices(a)[view].toarray())
            np.testing.assert_array_equal(together.matrices(a)[view].toarray(), np.hstack(alone))


def test_other_head_rules(trees):
    first, last = (
        node_features(trees, FeatureSet(("head_word",), ("constant",)), heads)
        for heads in (HeadRules.leftmost(), HeadRules.rightmost())
    )
    a = trees.labels.index("VP")
    assert not np.array_equal(first.matrices(a)[0].toarray(), last.matrices(a)[0].toarray())


def test_labels_without_nodes():
    trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))")], labels=("X", "N"))
    found = node_features(trees)
    assert [matrix.shape for matrix in found.matrices(0)] == [(0, 0), (0, 0)]
    assert found.matrices(1)[0].shape[0] == 1


def test_a_deep_tree_is_no_trouble():
    tree = Tree("N", word="dogs")
    for _ in range(3000):
        tree = Tree("S", [tree, Tree("N", word="x")])
    found = node_features(TreeArrays.of([tree]))
    assert len(found.node) == 6001


def test_unknown_names():
    with pytest.raises(OptionError, match="there is no outside feature 'rule'"):
        FeatureSet(("rule",), ("rule",))
    with pytest.raises(OptionError, match="no inside features"):
        FeatureSet((), ("above",))
