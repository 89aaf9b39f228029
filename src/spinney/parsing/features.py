"""Inside and outside features of the nodes of a treebank: sparse indicators, label by label.

The *inside* of a node is the tree below it, the *outside* everything else. Given the label and the hidden state of the
node the two are independent, so their correlation reveals the state (Cohen, Stratos, Collins, Foster and Ungar
2013). A template gives each node at most one number; the numbers of one template at nodes of one label are a block of
indicator features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.signatures import signature
from spinney.errors import OptionError
from spinney.parsing.binarising import to_phrase
from spinney.parsing.headrules import COLLINS, HeadRules
from spinney.parsing.treearrays import TreeArrays

Ints = NDArray[np.int64]

_SUFFIX = 3  # letters


@dataclass(frozen=True)
class FeatureSet:
    """Names of templates (:data:`INSIDE`, :data:`OUTSIDE`) for the two views of a node."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]

    def __post_init__(self) -> None:
        for view, names, known in (("inside", self.inside, INSIDE), ("outside", self.outside, OUTSIDE)):
            if not names:
                raise OptionError(f"no {view} features: choose some of {', '.join(known)}")
            for name in names:
                if name not in known:
                    raise OptionError(
                        f"there is no {view} feature {name!r}; there are {', '.join(known)}",
                        given=name,
                        known=known,
                    )


@dataclass(frozen=True)
class View:
    """The features of all nodes on one side: rows sorted by label, columns numbered within a label.

    Attributes
    ----------
    indptr : int64 array [nodes + 1]
        Where the features of each row begin.
    column : int32 array [features of all nodes]
    width : int64 array [labels]
        The number of columns of each label.
    """

    indptr: Ints
    column: NDArray[np.int32]
    width: Ints


@dataclass(frozen=True)
class NodeFeatures:
    """Features of every node.

    Attributes
    ----------
    node : int64 array [nodes]
        The nodes sorted by label: what the rows of both views stand for.
    start : int64 array [labels + 1]
        Where the rows of each label begin.
    inside, outside : View
    """

    node: Ints
    start: Ints
    inside: View
    outside: View

    def matrices(self, label: int) -> tuple[Any, Any]:
        """Indicators of the nodes of a label, inside [nodes, d] and outside [nodes, d'], as CSR matrices."""
        from scipy.sparse import csr_array

        rows = slice(self.start[label], self.start[label + 1] + 1)

        def matrix(view: View) -> Any:
            indptr = view.indptr[rows]
            column = view.column[indptr[0] : indptr[-1]]
            shape = len(indptr) - 1, int(view.width[label])
            return csr_array((np.ones(len(column)), column, (indptr - indptr[0]).astype(np.int32)), shape)

        return matrix(self.inside), matrix(self.outside)


def node_features(
    trees: TreeArrays, features: FeatureSet | str = "full", heads: HeadRules = COLLINS
) -> NodeFeatures:
    """The features of every node of some trees.

    Parameters
    ----------
    features
        The templates, or the name of a set of them (:data:`FEATURE_SETS`).
    heads
        Finds the heads of phrases; a partial phrase (``@NP``) contains the head of the phrase.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N dogs) (V sleep))")])
    >>> found = node_features(trees, FeatureSet(("rule",), ("above",)))
    >>> inside, outside = found.matrices(trees.labels.index("V"))
    >>> inside.toarray()
    array([[1., 0.],
           [0., 1.]])
    >>> outside.toarray()
    array([[1.],
           [1.]])
    """
    chosen = feature_set(features)
    nodes = _Nodes(trees, heads)
    order = np.argsort(trees.label, kind="stable")
    label = trees.label[order].astype(np.int64)
    start = np.searchsorted(label, np.arange(len(trees.labels) + 1)).astype(np.int64)
    inside = _view(label, order, len(trees.labels), [INSIDE[name](nodes) for name in chosen.inside])
    outside = _view(label, order, len(trees.labels), [OUTSIDE[name](nodes) for name in chosen.outside])
    return NodeFeatures(order, start, inside, outside)


def feature_set(features: FeatureSet | str) -> FeatureSet:
    """A set of features, by its name or as it is."""
    if isinstance(features, FeatureSet):
        return features
    if features not in FEATURE_SETS:
        raise OptionError(
            f"there is no feature set {features!r}; there are {', '.join(FEATURE_SETS)}",
            given=features,
            known=FEATURE_SETS,
        )
    return FEATURE_SETS[features]


def _view(label: Ints, order: Ints, n_labels: int, keys: list[Ints]) -> View:
    """Keys of templates as columns: those of one label and template stand together, in the order of the keys."""
    width = np.zeros(n_labels, np.int64)
    columns = np.full((len(order), len(keys)), -1, np.int32)
    for template, of_node in enumerate(keys):
        key = of_node[order]
        there = np.flatnonzero(key >= 0)
        of_label = label[there]
        number, first = _numbered(_pair(of_label, key[there]))
        begin = np.searchsorted(of_label[first], np.arange(n_labels + 1))  # pairs rise with their labels
        columns[there, template] = width[of_label] + number - begin[of_label]
        width += np.diff(begin)
    present = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return View(indptr, columns[present], width)


# ------------------------------------------------------------------------------------- what templates look at


class _Nodes:
    """One number for each node, of many kinds, computed when a template asks for it; -1 where there is none."""

    def __init__(self, trees: TreeArrays, heads: HeadRules) -> None:
        self.trees, self.heads = trees, heads
        self.label = trees.label.astype(np.int64)
        self.left, self.right = trees.left.astype(np.int64), trees.right.astype(np.int64)
        self.leaf = self.left < 0
        self.inner = ~self.leaf
        self.size = len(self.label)

    @cached_property
    def parent(self) -> Ints:
        parent = np.full(self.size, -1, np.int64)
        for child in (self.left, self.right):
            above = np.flatnonzero(child >= 0)
            parent[child[above]] = above
        return parent

    @cached_property
    def right_child(self) -> NDArray[np.bool_]:
        side = np.zeros(self.size, bool)
        side[self.right[self.right >= 0]] = True
        return side

    @cached_property
    def sibling(self) -> Ints:
        sibling = np.full(self.size, -1, np.int64)
        two = np.flatnonzero(self.right >= 0)
        sibling[self.left[two]], sibling[self.right[two]] = self.right[two], self.left[two]
        return sibling

    @cached_property
    def words(self) -> dict[str, int]:
        """The number of each word."""
        return {word: i for i, word in enumerate(dict.fromkeys(self.trees.tokens))}

    @cached_property
    def leaves(self) -> Ints:
        return self.trees.leaves

    @cached_property
    def word(self) -> Ints:
        word = np.full(self.size, -1, np.int64)
        word[self.leaves] = [self.words[token] for token in self.trees.tokens]
        return word

    def word_class(self, name: Callable[[str], str]) -> Ints:
        """Named word classes, at the leaves."""
        names: dict[str, int] = {}
        of_word = np.array([names.setdefault(name(word), len(names)) for word in self.words], np.int64)
        return self.at(of_word, self.word)

    @cached_property
    def production(self) -> Ints:
        """The production at a node: rules first, then words."""
        number, _ = _numbered(self._rule_key[self.inner])
        production = np.empty(self.size, np.int64)
        production[self.inner] = number
        production[self.leaf] = self.word[self.leaf] + (number.max(initial=-1) + 1)
        return production

    @cached_property
    def _rule_key(self) -> Ints:
        L = len(self.trees.labels) + 1
        return (self.label * L + self.at(self.label, self.left) + 1) * L + self.at(self.label, self.right) + 1

    @cached_property
    def head_child(self) -> Ints:
        """The child that contains the head; a leaf is its own."""
        child = np.where(self.leaf, np.arange(self.size), self.left)
        two = np.flatnonzero(self.right >= 0)
        rule, first = _numbered(self._rule_key[two])
        names = self.trees.labels
        labels = (self.label[nodes[first]].tolist() for nodes in (two, self.left[two], self.right[two]))
        to_right = [
            _head_is_right(self.heads, names[a], names[b], names[c]) for a, b, c in zip(*labels, strict=True)
        ]
        at_right = two[np.array(to_right, bool)[rule]]
        child[at_right] = self.right[at_right]
        return child

    @cached_property
    def head(self) -> Ints:
        """The leaf that is the head of a node."""
        return _followed(self.head_child)

    @cached_property
    def head_tag(self) -> Ints:
        return self.label[self.head]

    @cached_property
    def other_head(self) -> Ints:
        """The nearest head above a node that is not its own."""
        same = (self.parent >= 0) & (self.at(self.head, self.parent) == self.head)
        up = np.where(same, self.parent, np.arange(self.size))
        return self.at(self.head, self.parent[_followed(up)])

    @cached_property
    def above(self) -> Ints:
        """The rule above a node, and which child of it the node is; one number for all roots."""
        return np.where(self.parent < 0, 0, 1 + 2 * self.at(self.production, self.parent) + self.right_child)

    @cached_property
    def above2(self) -> Ints:
        return _numbered(_pair(self.above, self.at(self.above, self.parent)))[0]

    @cached_property
    def above3(self) -> Ints:
        return _numbered(_pair(self.above, self.at(self.above2, self.parent)))[0]

    @cached_property
    def token(self) -> Ints:
        """The number of the first token of a node."""
        return self.trees.token_start[self.trees.tree] + self.trees.begin

    @cached_property
    def length(self) -> Ints:
        """The words of the sentence of a node."""
        return np.diff(self.trees.token_start)[self.trees.tree]

    def at(self, values: Ints, place: Ints) -> Ints:
        """``values[place]``, and -1 where the place is -1."""
        return np.where(place >= 0, values[place], -1)


def _head_is_right(heads: HeadRules, label: str, left: str, right: str) -> bool:
    if left.startswith("@") or right.startswith("@"):
        return not left.startswith("@")
    phrase, *children = (to_phrase(name).split("+") for name in (label, left, right))
    return heads.head_child(phrase[-1], [child[0] for child in children]) == 1


def _followed(link: Ints) -> Ints:
    """The end of the links of each node, at a node that links to itself: each round doubles the distance."""
    while True:
        further = link[link]
        if np.array_equal(further, link):
            return link
        link = further


def _pair(x: Ints, y: Ints) -> Ints:
    """One number for two (-1 or more), rising with the first, then the second."""
    below = int(y.max(initial=-1)) + 2
    if (int(x.max(initial=0)) + 2) * below >= 1 << 62:
        y, _ = _numbered(y)
        below = int(y.max(initial=-1)) + 2
    return x * below + (y + 1)


def _numbered(key: Ints) -> tuple[Ints, Ints]:
    """The rank of each key among those that occur, and a place where each occurs."""
    top = int(key.max(initial=-1)) + 1
    if top > 16 * len(key) + 1000:
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return number, first
    where = np.full(top, -1, np.int64)
    where[key] = np.arange(len(key))
    there = where >= 0
    return (np.cumsum(there) - 1)[key], where[there]


# ------------------------------------------------------------------------------------------------ templates

Template = Callable[[_Nodes], Ints]

#: Features of the tree below a node. At leaves: the word and its classes; elsewhere rules and heads.
INSIDE: Mapping[str, Template] = {
    "constant": lambda n: np.zeros(n.size, np.int64),
    "left": lambda n: n.at(n.label, n.left),
    "right": lambda n: n.at(n.label, n.right),
    "rule": lambda n: n.production,
    "left_rule": lambda n: np.where(n.inner, _pair(n.production, n.at(n.production, n.left)), -1),
    "right_rule": lambda n: np.where(n.right >= 0, _pair(n.production, n.at(n.production, n.right)), -1),
    "head_tag": lambda n: np.where(n.inner, n.head_tag, -1),
    "head_word": lambda n: np.where(n.inner, n.at(n.word, n.head), -1),
    "width": lambda n: np.where(n.inner, n.trees.end - n.trees.begin, -1),
    "lower": lambda n: n.word_class(str.lower),
    "suffix": lambda n: n.word_class(lambda word: word[-_SUFFIX:]),
    "signature": lambda n: n.word_class(lambda word: signature(word, False)),
}

#: Features of the rest of the tree.
OUTSIDE: Mapping[str, Template] = {
    "constant": lambda n: np.zeros(n.size, np.int64),
    "above": lambda n: n.above,
    "above2": lambda n: n.above2,
    "above3": lambda n: n.above3,
    "parent": lambda n: n.at(n.label, n.parent),
    "grandparent": lambda n: np.where(
        n.parent >= 0, _pair(n.at(n.label, n.parent), n.at(n.label, n.at(n.parent, n.parent))), -1
    ),
    "other_head": lambda n: n.at(n.label, n.other_head),
    "words_left": lambda n: n.trees.begin.astype(np.int64),
    "words_right": lambda n: n.length - n.trees.end,
    "sibling_head": lambda n: n.at(n.head_tag, n.sibling),
    "other_head_word": lambda n: n.at(n.word, n.other_head),
    "tag_before": lambda n: _neighbour(n, n.trees.begin > 0, n.token - 1),
    "tag_after": lambda n: _neighbour(n, n.trees.end < n.length, n.token + n.trees.end - n.trees.begin),
}


def _neighbour(n: _Nodes, there: NDArray[np.bool_], token: Ints) -> Ints:
    """The tag of a token beside a node, one more for the edge of the sentence."""
    return np.where(there, n.label[n.leaves[np.where(there, token, 0)]], len(n.trees.labels))


#: Sets of templates: those of Cohen et al. (2013); one rule above and one below; fragments alone (after Peng 2021).
FEATURE_SETS: Mapping[str, FeatureSet] = {
    "full": FeatureSet(
        (
            "left",
            "right",
            "rule",
            "left_rule",
            "right_rule",
            "head_tag",
            "width",
            "lower",
            "suffix",
            "signature",
        ),
        ("above", "above2", "above3", "parent", "grandparent", "other_head", "words_left", "words_right"),
    ),
    "rule": FeatureSet(("rule",), ("above",)),
    "fragments": FeatureSet(("rule", "left_rule", "right_rule"), ("above", "above2", "above3")),
}
