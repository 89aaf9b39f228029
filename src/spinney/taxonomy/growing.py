"""From splits or merges to a tree (Nelakanti 2014, Alg. 9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.structure import ClassTree
from spinney.taxonomy.pairing import Merges
from spinney.taxonomy.proximity import Array, merged_groups
from spinney.taxonomy.splitting import Sides

Classes = NDArray[np.intp]


def top_down(names: Sequence[str], split: Callable[[Classes], Sides], depth: int | None = None) -> ClassTree:
    """Split the classes in two, and each part again, ``depth`` times at most.

    What is then left together hangs under one node; so depth 0 is the flat tree. The side with the first class is
    branch 0.

    Examples
    --------
    >>> top_down(["a", "b", "c", "d"], lambda classes: classes % 2 == 0).to_newick()
    '((a,c),(b,d));'
    >>> top_down(["a", "b", "c", "d"], lambda classes: classes % 2 == 0, depth=0).to_newick()
    '(a,b,c,d);'
    """
    n_classes = len(names)
    parent, branch = [-1] * n_classes, [0] * n_classes
    todo = deque([(np.arange(n_classes), -1, 0, 0)])
    while todo:
        classes, above, place, level = todo.popleft()
        if len(classes) == 1:
            parent[classes[0]], branch[classes[0]] = above, place
            continue
        node = len(parent)
        parent.append(above)
        branch.append(place)
        if len(classes) == 2 or level == depth:
            parts = list(classes[:, None])
        else:
            sides = split(classes)
            sides = sides == sides[0]
            parts = [classes[sides], classes[~sides]]
        todo.extend((part, node, i, level + 1) for i, part in enumerate(parts))
    return ClassTree(names, parent, branch)


def bottom_up(
    names: Sequence[str], Q: Array, level: Callable[[Array], Merges], depth: int | None = None
) -> ClassTree:
    """Merge classes level by level, ``depth`` times at most; what is left hangs under one root.

    Depth 0 is the flat tree. A merge adds rows and columns of Q.

    Examples
    --------
    >>> from spinney.taxonomy.pairing import hung
    >>> Q = np.array([[9.0, 0.0, -3.0, 2.0], [0.0, 9.0, 1.0, -5.0], [-3.0, 1.0, 9.0, 2.0], [2.0, -5.0, 2.0, 9.0]])
    >>> bottom_up(["a", "b", "c", "d"], Q, hung).to_newick()
    '((a,c),(b,d));'
    """
    parent, active = [-1] * len(names), list(range(len(names)))
    levels = 0
    while len(active) > 2 and levels != depth:
        levels += 1
        n_active, above = len(active), {}
        for pair in level(Q):
            for place in pair:
                above[place] = len(active)
                parent[active[place]] = len(parent)
            active.append(len(parent))
            parent.append(-1)
        left = [place for place in range(len(active)) if place not in above]
        group = {place: i for i, place in enumerate(left)}
        for place in sorted(above, reverse=True):  # what a class was merged into stands after it
            group[place] = group[above[place]]
        Q = merged_groups(Q, np.array([group[place] for place in range(n_active)]))
        active = [active[place] for place in left]
    if len(active) > 1:
        for node in active:
            parent[node] = len(parent)
        parent.append(-1)
    return ClassTree(names, parent)
