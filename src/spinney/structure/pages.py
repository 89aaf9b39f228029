"""What the page of a structure shows: word classes, word vectors, groups of features, trees of classes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from spinney.corpus.text import Reading, first_sentences
from spinney.structure import classviews, vectorviews
from spinney.structure.classtree import ClassTree
from spinney.structure.classviews import ClassView
from spinney.structure.groups import Groups
from spinney.structure.maps import SHOWN, by_count
from spinney.structure.wordclasses import WordClasses
from spinney.structure.wordvectors import WordVectors
from spinney.views import Bars, Facts, Node, Note, Outline, Section, Table, View, grown

_GROUPS = 2000  # in the table
_MEMBERS = 12  # of a group that are listed


def class_views(classes: WordClasses, top: int) -> list[ClassView]:
    """All classes by decreasing share."""
    shares, paths = classviews.class_shares(classes), classes.paths
    numbers = np.argsort(-shares, kind="stable").tolist()
    words = classviews.class_words(classes, numbers, top)
    return [
        ClassView(number, float(shares[number]), some, None if paths is None else paths[number])
        for number, some in zip(numbers, words)
    ]


def classes_page(classes: WordClasses, data: Any, s: Any) -> list[View]:
    """The page of word classes of any origin, perhaps with sentences labelled with their classes.

    Examples
    --------
    >>> from spinney.settings.report import Report
    >>> shown = classes_page(WordClasses(["the", "a", "dog"], [0, 0, 1]), None, Report())
    >>> [view.title for view in shown if isinstance(view, Section)]
    ['Classes', 'Map of words']
    """
    shown = class_views(classes, s.top)
    used = [view for view in shown if view.words]
    named = {view.number: view.named(3) for view in used}
    views: list[View] = [
        Note("Word classes: every word belongs to one class."),
        Facts("facts", "", classes.facts, _NAMES),
    ]
    if data is not None:
        some = [tokens.words for tokens in first_sentences(data, s, Reading(), s.documents)]
        views.append(classviews.sentence_section(some, [classes.encode(one).tolist() for one in some], named))
    views.append(classviews.class_section(shown))
    chosen = by_count(classes.words, classes.counts, SHOWN, None)
    words = [classes.words[i] for i in chosen]
    counts = None if classes.counts is None else classes.counts[chosen].tolist()
    of_words = [[(int(classes.ids[i]), 1.0)] for i in chosen]
    views += classviews.class_map(classviews.path_vectors(classes), words, counts, of_words, named)
    return [*views, *classviews.tree_sections(used)]


_NAMES = {
    "words": "words", "classes": "classes", "with_tree": "with a tree", "dimensions": "dimensions",
    "nonzero_share": "non-zero numbers", "nodes": "nodes", "depth": "depth",
    "mean_depth": "mean depth of a class", "groups": "groups", "features": "features", "members": "members",
    "nested": "nested", "partition": "each feature in one group", "uncovered": "features in no group",
    "most_groups": "most groups per feature",
}  # fmt: skip


def vectors_page(vectors: WordVectors, s: Any) -> list[View]:
    """The page of word vectors of any origin.

    Examples
    --------
    >>> from spinney.settings.report import Report
    >>> shown = vectors_page(WordVectors(["tea", "car"], [[1.0, 0.0], [0.0, 1.0]]), Report())
    >>> [view.title for view in shown if isinstance(view, Section)]
    ['Map of words', 'Dimensions']
    """
    head: list[View] = [Note("Word vectors."), Facts("facts", "", vectors.facts, _NAMES)]
    ends = max(s.top // 2, 1)
    return [*head, *vectorviews.map_sections(vectors), *vectorviews.dimension_sections(vectors, ends)]


def tree_page(tree: ClassTree) -> list[View]:
    """The page of a tree of classes.

    Examples
    --------
    >>> [view.title for view in tree_page(ClassTree.from_newick("((cat, dog), plant);"))]
    ['', '', 'Tree', 'Classes by depth']
    """
    order = np.lexsort((tree.branch, tree.parent)).tolist()
    leaves = [Node(name) for name in tree.names]
    counted = sorted(Counter(tree.depths[: len(tree)].tolist()).items())
    return [
        Note(
            "A tree whose leaves are classes; going down from the root, each node is a choice between branches."
        ),
        Facts("facts", "", tree.facts, _NAMES),
        Section("Tree", [Outline("tree", "", grown(tree.parent.tolist(), leaves, order), "classes")]),
        Section("Classes by depth", [Bars("depths", "", [(f"depth {d}", float(n)) for d, n in counted])]),
    ]


def groups_page(groups: Groups) -> list[View]:
    """The page of groups of features.

    Examples
    --------
    >>> [view.title for view in groups_page(Groups.from_lists([[0, 1, 2], [1, 2], [4]], n_features=5))]
    ['', '', 'Groups', 'Sizes', 'Forest']
    """
    views: list[View] = [
        Note("Groups of features that a penalty keeps or drops together."),
        Facts("facts", "", groups.facts, _NAMES),
        Section("Groups", _group_table(groups)),
        Section("Sizes", [_size_bars(groups.sizes.tolist())]),
    ]
    parent = groups.parent
    if parent is not None and bool(np.any(parent >= 0)):
        nodes = [
            Node(_name(groups, g), f"{int(groups.sizes[g]):,} features: {_members(groups, g)}")
            for g in range(len(parent))
        ]
        about = "Groups that contain others, with their subgroups below them."
        roots = grown(parent.tolist(), nodes, range(len(parent)))
        views.append(Section("Forest", [Note(about), Outline("forest", "", roots, "lowest groups")]))
    return views


def _name(groups: Groups, g: int) -> str:
    return (groups.names[g] if groups.names is not None else "") or f"group {g}"


def _group_table(groups: Groups) -> list[View]:
    largest = np.argsort(-groups.sizes, kind="stable")[:_GROUPS].tolist()
    rows = [
        [_name(groups, g), int(groups.sizes[g]), float(groups.weights[g]), _members(groups, g)]
        for g in largest
    ]
    whole = len(rows) == len(groups)
    about = f"{len(rows):,} groups" if whole else f"The {len(rows):,} largest of {len(groups):,} groups"
    about += ", with the numbers of their features, which the file does not name."
    return [Note(about), Table("groups", "", ["group", "size", "weight", "features"], rows)]


def _members(groups: Groups, g: int) -> str:
    some = groups[g].tolist()
    return ", ".join(map(str, some[:_MEMBERS])) + (", …" if len(some) > _MEMBERS else "")


def _size_bars(sizes: list[int]) -> Bars:
    """How many groups have 1, 2, 3 to 4, 5 to 8, … members."""
    counted = Counter((size - 1).bit_length() for size in sizes if size)
    rows = []
    for bits in range(max(counted, default=-1) + 1):
        low, high = (1 << bits) // 2 + 1, 1 << bits
        rows.append((str(low) if low >= high else f"{low:,} to {high:,}", float(counted[bits])))
    return Bars("sizes", "", rows)
