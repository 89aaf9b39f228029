"""A classifier along a tree of classes, for people: the tree as indented text, and the words of its branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spinney.classify import TextModel
from spinney.classify.model import NodeWords
from spinney.classify.readout import ModelSize, model_size
from spinney.classify.ways import Way
from spinney.report.page import Html, Section, bars, columns, escape, heading, joined, paragraph
from spinney.report.tables import show_rows
from spinney.structure import ClassTree
from spinney.structure.words import short

_LINES = 200  # of the tree, at most
_CLASSES = 4  # below a branch that are named
_NODES = 30  # whose words a page shows


def tree_size(model: TextModel) -> ModelSize:
    """How large a model along a tree is: its weights are of branches, so none are counted by class.

    Examples
    --------
    >>> from spinney.classify import TextFeatures, TreeClassifier
    >>> model = TextModel(TreeClassifier(penalty="l1", lam=0.1), TextFeatures("counts"))
    >>> size = tree_size(model.fit(["fun fun", "dull", "long"], ["a", "b", "c"]))
    >>> size.parameters, size.features, size.by_class
    (6, 3, {})
    """
    return replace(model_size(model), by_class={})


def tree_lines(tree: ClassTree, most: int = _LINES) -> list[str]:
    """The tree as lines, each node further to the right than its parent; inner nodes by number.

    Examples
    --------
    >>> print("\\n".join(tree_lines(ClassTree.from_newick("((cat,dog),oak);"))))
    node 0
      node 1
        cat
        dog
      oak
    """
    ptr, nodes = tree.children()
    lines: list[str] = []
    todo = [(int(tree.parent.argmin()), 0)]
    while todo and len(lines) < most:
        v, depth = todo.pop()
        called = " ".join(short(tree.names[v]).split()) if v < len(tree) else f"node {v - len(tree)}"
        lines.append("  " * depth + called)
        todo += [(int(child), depth + 1) for child in nodes[ptr[v] : ptr[v + 1]][::-1]]
    left = len(tree.parent) - len(lines)
    return [*lines, f"… and {left:,} more nodes and classes"] if left else lines


def branch_name(classes: Sequence[str]) -> str:
    """The classes below a branch; of many the first, and their number.

    Examples
    --------
    >>> branch_name(["cat", "dog"]), branch_name(list("abcdefg"))
    ('cat, dog', 'a, b, c, d … (7 classes)')
    """
    named = ", ".join(short(name) for name in classes[:_CLASSES])
    return named if len(classes) <= _CLASSES else f"{named} … ({len(classes):,} classes)"


def show_tree(tree: ClassTree, by_node: Sequence[NodeWords]) -> None:
    """The tree, then the words that speak for each branch of some nodes."""
    inner = len(tree.parent) - len(tree)
    print(f"Tree: {len(tree):,} classes, {inner:,} inner nodes, depth {tree.depth:,}")
    print("\n".join(tree_lines(tree)))
    rows = [
        [
            str(found.node) if b == 0 else "",
            branch_name(branch.classes),
            "  ".join(f"{short(word)} {weight:+.2f}" for word, weight in branch.words) or "(none)",
        ]
        for found in by_node
        for b, branch in enumerate(found.branches)
    ]
    first = "" if len(by_node) == inner else f" at the first {len(by_node):,} of {inner:,} nodes"
    show_rows(f"Strongest features for each branch{first}", ["node", "branch to", "features (weight)"], rows)


def show_way(id: str, way: Way) -> None:
    """The way of a document down the tree."""
    title = f"Document {id}: {way.label}, with probability {way.probability:.3f}"
    show_rows(title, ["node", "branch to", "probability", "words that matter (what they add)"], way_rows(way))


def way_rows(way: Way) -> list[list[object]]:
    """The steps of a way as rows of a table.

    Examples
    --------
    >>> from spinney.classify.ways import Step
    >>> way_rows(Way("cat", 0.5, [Step(0, ["cat", "dog"], 0.5, [("fur", 0.25)])]))
    [[0, 'cat, dog', 0.5, 'fur +0.25']]
    """
    return [
        [
            step.node,
            branch_name(step.classes),
            step.probability,
            "  ".join(f"{short(word)} {added:+.2f}" for word, added in step.words) or "(none)",
        ]
        for step in way.steps
    ]


def tree_sections(model: TextModel, top: int) -> list[Section]:
    """The sections of a page: the tree, and the words of its branches."""
    tree = model.tree
    assert tree is not None
    inner = len(tree.parent) - len(tree)
    about = f"{len(tree):,} classes, {inner:,} inner nodes, depth {tree.depth:,}."
    text = Html(f"<pre>{escape(chr(10).join(tree_lines(tree)))}</pre>\n")
    blocks = []
    for found in model.words_by_node(top, nodes=_NODES):
        blocks.append(heading(f"Node {found.node}"))
        sides = [
            joined(
                [
                    paragraph(branch_name(branch.classes)),
                    bars(branch.words, colour_of=b) if branch.words else paragraph("No weights.", faint=True),
                ]
            )
            for b, branch in enumerate(found.branches[:_NODES])
        ]
        blocks.append(columns(sides))
        if len(found.branches) > len(sides):
            left = len(found.branches) - len(sides)
            blocks.append(paragraph(f"{left:,} more branches are not shown.", faint=True))
    if inner > _NODES:
        blocks.append(paragraph(f"{inner - _NODES:,} more nodes are not shown.", faint=True))
    said = paragraph("For each branch of a node, the features that speak most for it, from the root down.")
    return [Section("Tree", [paragraph(about), text]), Section("Words", [said, *blocks])]
