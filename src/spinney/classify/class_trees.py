"""Trees of classes for a classifier along a tree: learned from the examples, made by rule, or read from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney.errors import InputError, SettingError, did_you_mean, did_you_mean_file
from spinney.settings.classify import CLASS_TREES, LEARNED_TREES
from spinney.structure import ClassTree
from spinney.structure.reading import class_tree


def check_tree(spec: Any) -> None:
    """Refuse a name that is neither a method nor a file."""
    if isinstance(spec, str) and spec not in CLASS_TREES and not os.path.isfile(spec):
        meant = (
            did_you_mean(spec, CLASS_TREES)
            or did_you_mean_file(spec)
            or f"there are {', '.join(CLASS_TREES)}"
        )
        what = "{class_tree}: {spec} is neither a file nor a method ({meant})"
        raise SettingError(what, spec=repr(spec), meant=meant)


def class_tree_for(spec: Any, X: Any, y: Any, seed: int = 0, **learning: Any) -> ClassTree | None:
    """The class tree that a name, a file or an object stands for, over the classes of ``y``; None for a single class.

    ``learning`` goes to :func:`spinney.taxonomy.learn_taxonomy`, for trees that are learned.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]]).repeat(3, axis=0)
    >>> class_tree_for("spec", X, np.array(["cat", "dog", "oak", "elm"]).repeat(3)).to_newick()
    '((cat,dog),(elm,oak));'
    """
    found, seen = np.unique(np.asarray(y), return_counts=True)
    names, counts = [str(label) for label in found], seen.tolist()
    if len(names) < 2:
        return None  # the classifier reports the error
    check_tree(spec)
    if spec == "huffman":
        return ClassTree.huffman(names, counts)
    if spec == "balanced":
        return ClassTree.balanced(names)
    if isinstance(spec, str) and spec in LEARNED_TREES:
        from spinney.taxonomy import learn_taxonomy

        method: Any = spec
        return learn_taxonomy(X, y, method, random_state=seed, **learning)
    tree = class_tree(spec, names, counts)
    leaves = set(tree.names)
    for name in names:
        if name not in leaves:
            raise InputError(
                f"the tree does not contain the class {name!r} of the documents",
                path=os.fspath(spec) if isinstance(spec, str | os.PathLike) else None,
                remedy="add it, or drop its documents with labels",
            )
    return tree


def restricted(tree: ClassTree, names: Sequence[str]) -> ClassTree:
    """The tree over some of its classes, in this order; nodes with a single remaining branch are removed.

    Inner nodes are numbered from the root down.

    Examples
    --------
    >>> restricted(ClassTree.from_newick("((cat,dog),(oak,elm));"), ["oak", "cat", "dog"]).to_newick()
    '((cat,dog),oak);'
    """
    place = {name: leaf for leaf, name in enumerate(tree.names)}
    for name in names:
        if name not in place:
            raise InputError(f"the class {name!r} is not in the tree", remedy="give a tree over all classes")
    number = {place[name]: k for k, name in enumerate(names)}  # of kept leaves
    alive = np.zeros(len(tree.parent) + 1, dtype=bool)
    alive[-1] = True  # stands for the parent of the root, which is -1
    for leaf in number:
        v = leaf
        while not alive[v]:
            alive[v] = True
            v = int(tree.parent[v])
    ptr, nodes = tree.children()
    parent, branch = [-1] * len(names), [0] * len(names)
    todo = [(int(np.argmin(tree.parent)), -1, 0)]
    for v, above, at in todo:  # grows while it is read: parents come before their children
        while v not in number:
            children = [int(child) for child in nodes[ptr[v] : ptr[v + 1]] if alive[child]]
            if len(children) > 1:
                todo += [(child, len(parent), i) for i, child in enumerate(children)]
                parent.append(above)
                branch.append(at)
                break
            v = children[0]
        else:
            parent[number[v]], branch[number[v]] = above, at
    return ClassTree(names, parent, branch)
