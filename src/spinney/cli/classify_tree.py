"""``--tree``: the tree of classes that a classifier goes down, learnt, by rule or from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spinney.errors import InputError, OptionError, did_you_mean, did_you_mean_file

if TYPE_CHECKING:
    from spinney.classify import TreeClassifier
    from spinney.cli.classify_data import Data
    from spinney.structure import ClassTree

#: Trees that are learnt from the features of the training documents, and those that need no features.
LEARNT = ("spec", "canonical", "diff", "obyo", "hung", "conf", "rand")
METHODS = (*LEARNT, "huffman", "balanced")


def check_tree(spec: str, others: Mapping[str, object]) -> None:
    """Refuse what ``--tree`` cannot mean, and options that do not go with it, before anything is read."""
    for option, value in others.items():
        if value is not None and value is not False:
            raise OptionError(f"{option} does not go with --tree{_REASONS[option]}")
    if spec not in METHODS and not os.path.isfile(spec):
        meant = did_you_mean(spec, METHODS) or did_you_mean_file(spec) or f"there are {', '.join(METHODS)}"
        raise OptionError(f"--tree: neither a file nor a method: {spec!r} ({meant})")


_CHOOSE = ", whose nodes take one λ: give --lam"
_REASONS = {
    "--regression": ": its leaves are classes, not numbers",
    "--lam-ratio": _CHOOSE,
    "--cv": _CHOOSE,
    "--dev": _CHOOSE,
    "--tune": _CHOOSE,
    "--trials": _CHOOSE,
    "--space": _CHOOSE,
    "--rho": ", whose nodes are fitted without it",
    "--init": ", whose nodes are fitted from nothing",
}


def tree_classifier(spec: str, data: Data, seed: int, parameters: Mapping[str, Any]) -> TreeClassifier:
    """A classifier along the tree that was asked for."""
    from spinney.classify import TreeClassifier

    used = {name: value for name, value in parameters.items() if name not in ("lam_ratio", "rho")}
    for name, value in {"lam": 1.0, "l1": 0.0, "l2": 0.0}.items():
        used[name] = value if used[name] is None else used[name]
    return TreeClassifier(_tree(spec, data, seed), groups=data.groups, **used)


def _tree(spec: str, data: Data, seed: int) -> ClassTree | None:
    import numpy as np

    from spinney.structure import ClassTree

    labels, counts = np.unique(data.y, return_counts=True)
    names = [str(label) for label in labels]
    if len(names) < 2:
        return None  # the classifier says what is wrong
    if spec == "huffman":
        return ClassTree.huffman(names, counts)
    if spec == "balanced":
        return ClassTree.balanced(names)
    if spec not in METHODS:
        return _tree_file(spec, names, counts.tolist())
    from spinney.taxonomy import learn_taxonomy

    method: Any = spec
    return learn_taxonomy(data.X, data.y, method, random_state=seed)


def _tree_file(file: str, names: list[str], counts: list[int]) -> ClassTree:
    from spinney.cli.structures import class_tree

    tree = class_tree(file, names, counts)
    leaves = set(tree.names)
    for name in names:
        if name not in leaves:
            raise InputError(
                f"the tree lacks the class {name!r} of the documents",
                path=file,
                remedy="add it, or drop its documents by --labels",
            )
    return tree
