"""The path of a document down a tree of classes: the branch at each node, its probability, and the words behind it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spinney.classify.hierarchical import TreeClassifier
from spinney.classify.model import TextModel, branch_rows
from spinney.errors import InputError


class Step(NamedTuple):
    """A node on the path: the classes below the chosen branch, its probability, and the contributions of words."""

    node: int
    classes: list[str]
    probability: float
    words: list[tuple[str, float]]


class Way(NamedTuple):
    """The predicted class, its probability, and the steps to it from the root down."""

    label: str
    probability: float
    steps: list[Step]


def tree_ways(model: TextModel, inputs: Any, words: int = 8) -> list[Way]:
    """The paths of some documents, with the contributions of the ``words`` that matter most at each node.

    Examples
    --------
    >>> from spinney.classify import TextFeatures
    >>> from spinney.structure import ClassTree
    >>> model = TextModel(TreeClassifier(ClassTree.from_newick("((cat,dog),oak);"), 0.1), TextFeatures("counts"))
    >>> _ = model.fit(["meow purr fur", "bark fur", "leaf", "leaf leaf"], ["cat", "dog", "oak", "oak"])
    >>> [way] = tree_ways(model, ["fur, and a meow"], 1)
    >>> way.label, [(step.classes, step.words[0][0]) for step in way.steps]
    ('cat', [(['cat', 'dog'], 'fur'), (['cat'], 'meow')])
    """
    estimator = model.estimator
    if not isinstance(estimator, TreeClassifier):
        raise InputError("only a classifier along a class tree has paths down it")
    from scipy.sparse import csr_array

    X = csr_array(model.matrix(inputs))
    codes, nodes, names, outputs = estimator.tree_.paths(), estimator._nodes(), model.names, model.outputs
    class_of = np.repeat(np.arange(len(outputs)), np.diff(codes.ptr))
    ways = []
    for d, label in enumerate(map(str, estimator.predict(X).tolist())):
        row, steps = X[[d]], []
        start, stop = codes.ptr[outputs.index(label) : outputs.index(label) + 2]
        for v, branch in zip(codes.nodes[start:stop].tolist(), codes.branches[start:stop].tolist()):
            chance = float(np.exp(estimator._branches(nodes[v], row)[0, branch]))
            added = row.data * branch_rows(model.coef[nodes[v].rows])[branch][row.indices]
            order = [i for i in np.argsort(-np.abs(added), kind="stable")[:words].tolist() if added[i]]
            below = class_of[(codes.nodes == v) & (codes.branches == branch)].tolist()
            words_here = [(names[row.indices[i]], float(added[i])) for i in order]
            steps.append(Step(v, [outputs[c] for c in below], chance, words_here))
        ways.append(Way(label, float(np.prod([step.probability for step in steps])), steps))
    return ways
