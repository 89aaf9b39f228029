"""The pages of structure files: word classes, word vectors, groups of features, trees of classes."""

from __future__ import annotations

from collections import Counter

import numpy as np

from spinney.classes.model import GivenClasses
from spinney.report.classes_page import Classed, classes_page
from spinney.report.embed_page import dimension_sections, map_sections
from spinney.report.outline import Node, grown, outline
from spinney.report.page import Html, Page, Section, bars, paragraph, table
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors

_GROUPS = 2000  # in the table
_MEMBERS = 12  # of a group that are told


def word_classes_page(
    classes: WordClasses, title: str, tried: Classed | None = None, *, documents: int = 10, top: int = 20
) -> Page:
    """The page of word classes that come from anywhere.

    Examples
    --------
    >>> page = word_classes_page(WordClasses(["the", "a", "dog"], [0, 0, 1]), "some")
    >>> page.known, [section.title for section in page.sections]
    ({'words': 3, 'classes': 2, 'with a tree': False}, ['Classes', 'Map of words'])
    """
    page = classes_page(GivenClasses(classes), title, tried, documents=documents, top=top)
    known = {"words": len(classes), "classes": classes.n_classes, "with a tree": classes.paths is not None}
    return Page(title, page.about, known, page.sections)


def word_vectors_page(vectors: WordVectors, title: str, *, top: int = 20) -> Page:
    """The page of word vectors that come from anywhere.

    Examples
    --------
    >>> page = word_vectors_page(WordVectors(["tea", "car"], [[1.0, 0.0], [0.0, 1.0]]), "some")
    >>> [section.title for section in page.sections]
    ['Map of words', 'Dimensions']
    """
    known: dict[str, object] = {"words": len(vectors), "dimensions": vectors.dimension}
    if vectors.is_sparse:
        known["numbers that are not 0"] = f"{vectors.matrix.nnz / max(np.prod(vectors.matrix.shape), 1):.2%}"
    sections = [*map_sections(vectors), *dimension_sections(vectors, max(top // 2, 1))]
    return Page(title, "Vectors of words.", known, sections)


def class_tree_page(tree: ClassTree, title: str) -> Page:
    """The page of a tree of classes.

    Examples
    --------
    >>> page = class_tree_page(ClassTree.from_newick("((cat, dog), plant);"), "some")
    >>> page.known
    {'classes': 3, 'nodes': 5, 'depth': 2, 'mean depth of a class': 1.66...}
    """
    depths = tree.depths[: len(tree)]
    known = {
        "classes": len(tree), "nodes": len(tree.parent), "depth": tree.depth,
        "mean depth of a class": float(depths.mean()) if len(depths) else 0.0,
    }  # fmt: skip
    order = np.lexsort((tree.branch, tree.parent)).tolist()
    leaves = [Node(name) for name in tree.names]
    drawn = outline(grown(tree.parent.tolist(), leaves, order), leaves="classes")
    counted = sorted(Counter(depths.tolist()).items())
    levels = bars([(f"depth {depth}", float(n)) for depth, n in counted])
    sections = [Section("Tree", [drawn]), Section("Classes by depth", [levels])]
    return Page(
        title,
        "A tree whose leaves are classes: a choice at each branch, from the root down.",
        known,
        sections,
    )


def groups_page(groups: Groups, title: str) -> Page:
    """The page of groups of features.

    Examples
    --------
    >>> page = groups_page(Groups.from_lists([[0, 1, 2], [1, 2], [4]], n_features=5), "some")
    >>> page.known["nested"], [section.title for section in page.sections]
    (True, ['Groups', 'Sizes', 'Forest'])
    """
    sizes = groups.sizes
    known: dict[str, object] = {
        "groups": len(groups), "features": groups.n_features, "members": len(groups.members),
        "nested": groups.is_nested, "each feature in one group": groups.is_partition,
        "features in no group": len(groups.uncovered),
        "most groups of a feature": int(groups.overlap_counts.max(initial=0)),
    }  # fmt: skip
    sections = [Section("Groups", _table(groups)), Section("Sizes", [_size_bars(sizes.tolist())])]
    parent = groups.parent
    if parent is not None and bool(np.any(parent >= 0)):
        sections.append(Section("Forest", _forest(groups, parent.tolist())))
    return Page(title, "Groups of features: what a penalty keeps or drops together.", known, sections)


def _name(groups: Groups, g: int) -> str:
    return (groups.names[g] if groups.names is not None else "") or f"group {g}"


def _table(groups: Groups) -> list[Html]:
    largest = np.argsort(-groups.sizes, kind="stable")[:_GROUPS].tolist()
    rows = [
        [_name(groups, g), int(groups.sizes[g]), float(groups.weights[g]), _members(groups, g)]
        for g in largest
    ]
    about = (
        f"{len(rows):,} groups"
        if len(rows) == len(groups)
        else f"The {len(rows):,} largest of {len(groups):,} groups"
    )
    about += ", with the numbers of their features: the file does not name these."
    return [paragraph(about), table(["group", "size", "weight", "features"], rows)]


def _members(groups: Groups, g: int) -> str:
    some = groups[g].tolist()
    return ", ".join(map(str, some[:_MEMBERS])) + (", …" if len(some) > _MEMBERS else "")


def _size_bars(sizes: list[int]) -> Html:
    """How many groups have 1, 2, 3 to 4, 5 to 8, … members."""
    counted = Counter((size - 1).bit_length() for size in sizes if size)
    rows = []
    for bits in range(max(counted, default=-1) + 1):
        low, high = (1 << bits) // 2 + 1, 1 << bits
        rows.append((str(low) if low >= high else f"{low:,} to {high:,}", float(counted[bits])))
    return bars(rows)


def _forest(groups: Groups, parent: list[int]) -> list[Html]:
    nodes = [
        Node(_name(groups, g), f"{int(groups.sizes[g]):,} features: {_members(groups, g)}")
        for g in range(len(parent))
    ]
    about = "Groups that hold others, with what they hold below them."
    return [paragraph(about), outline(grown(parent, nodes, range(len(parent))), leaves="lowest groups")]
