"""A tree whose leaves are output classes."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.opening import open_text, writing
from spinney.errors import InputError, OptionError
from spinney.files import FilePath, ModelFile, Parts
from spinney.settings import Settings
from spinney.structure import _newick
from spinney.structure._forest import depths
from spinney.structure._json import read_json, write_json
from spinney.structure._stored import Stored, Words, frozen
from spinney.structure.wordclasses import WordClasses
from spinney.views import Views


class Codes(NamedTuple):
    """The way from the root to each class: what a hierarchical softmax multiplies.

    Class ``c`` takes, at inner node ``nodes[i]``, the branch ``branches[i]``, for ``i`` from ``ptr[c]`` up to
    ``ptr[c+1]``. Inner nodes are numbered from 0 here; node ``v`` has ``arity[v]`` branches.
    """

    ptr: NDArray[np.int64]
    nodes: NDArray[np.int32]
    branches: NDArray[np.int32]
    arity: NDArray[np.int32]


class ClassTree(Stored):
    """An immutable tree over classes.

    Nodes ``0 … K-1`` are the leaves, in the order of the classes; inner nodes follow.

    Parameters
    ----------
    names
        The classes.
    parent
        The parent of each node, -1 for the root.
    branch
        The place of each node among its siblings, from 0; by default, in the order of the nodes.

    Examples
    --------
    >>> tree = ClassTree.from_newick("((cat, dog), plant);")
    >>> tree.names, tree.depth
    (['cat', 'dog', 'plant'], 2)
    >>> tree.paths().nodes, tree.paths().branches
    (array([0, 1, 0, 1, 0], dtype=int32), array([0, 0, 0, 1, 1], dtype=int32))
    """

    role = "tree"

    def __init__(self, names: Sequence[str], parent: ArrayLike, branch: ArrayLike | None = None) -> None:
        self._classes = Words(names, "class")
        self.parent: NDArray[np.int32] = frozen(parent, np.int32, "parents of nodes")
        self._check_shape()
        if branch is None:
            order = np.argsort(self.parent, kind="stable")
            branch = np.empty_like(order)
            branch[order] = np.arange(len(order)) - np.searchsorted(self.parent[order], self.parent[order])
        self.branch: NDArray[np.int32] = frozen(branch, np.int32, "branches of nodes")
        self._check_branches()

    # -- constructors ---------------------------------------------------------------------------------

    @classmethod
    def from_paths(cls, names: Sequence[str], paths: Sequence[str]) -> Self:
        """The binary tree of bit strings, such as those of Brown clusters, one for each class.

        A bit that decides nothing, because no path has the other one there, is left out. Classes that share
        a path become the children of one node.

        Examples
        --------
        >>> ClassTree.from_paths(["a", "b", "c", "d"], ["00", "011", "010", "010"]).to_newick()
        '(a,((c,d),b));'
        """
        if len(names) != len(paths):
            raise OptionError(f"{len(names)} classes but {len(paths)} paths")
        for path in paths:
            if path.strip("01"):
                raise OptionError(f"the path {path!r} has characters other than 0 and 1")
        classes = sorted(range(len(paths)), key=paths.__getitem__)
        ordered = [paths[c] for c in classes]
        tree = _Growth(len(paths))
        todo = [(0, len(paths), -1, 0)] if paths else []
        while todo:
            start, stop, parent, branch = todo.pop()
            first, last = ordered[start], ordered[stop - 1]
            if stop - start == 1:
                tree.leaf(classes[start], parent, branch)
                continue
            node = tree.inner(parent, branch)
            shared = _shared(first, last)
            if shared == last:  # all are equal
                for i in range(start, stop):
                    tree.leaf(classes[i], node, i - start)
                continue
            if shared == first:
                a, b = names[classes[start]], names[classes[stop - 1]]
                raise OptionError(f"the path {first!r} of {a!r} is a prefix of the path {last!r} of {b!r}")
            middle = bisect_left(ordered, shared + "1", start, stop)
            todo += [(middle, stop, node, 1), (start, middle, node, 0)]
        return cls(names, tree.parent, tree.branch)

    @classmethod
    def from_classes(cls, classes: WordClasses, names: Sequence[str], counts: ArrayLike) -> Self:
        """A binary tree over words: Brown paths if the classes have any, and Huffman trees inside the classes.

        Classes without paths hang in a Huffman tree of their own; names without a class form one more class.

        Parameters
        ----------
        classes
            Word classes, such as Brown clusters.
        names
            The leaves: words of a text, or labels of documents.
        counts
            How often each was seen.

        Examples
        --------
        >>> from spinney.structure import WordClasses
        >>> classes = WordClasses(["the", "a", "cat", "dog"], [0, 0, 1, 1], paths=["0", "1"])
        >>> ClassTree.from_classes(classes, ["a", "the", "dog", "cat", "?"], [1, 2, 1, 2, 1]).to_newick()
        '(?,((a,the),(dog,cat)));'
        """
        weights = frozen(counts, np.float64, "counts of classes").tolist()
        if len(weights) != len(names):
            raise OptionError(f"{len(names)} classes but {len(weights)} counts")
        strangers: list[int] = []
        members: dict[int, list[int]] = {}
        for leaf, name in enumerate(names):
            found = classes.get(name)
            (strangers if found is None else members.setdefault(found, [])).append(leaf)
        if not members:
            raise OptionError("no word has a class")
        totals = [sum(weights[leaf] for leaf in group) for group in members.values()]
        codes = _huffman_codes(totals) if classes.paths is None else [classes.paths[c] for c in members]
        groups = dict(zip(codes, members.values()))
        if strangers:
            known, unknown = _huffman_codes([sum(totals), sum(weights[leaf] for leaf in strangers)])
            groups = {known + code: group for code, group in groups.items()} | {unknown: strangers}
        paths = [""] * len(names)
        for start, group in groups.items():
            for leaf, code in zip(group, _huffman_codes([weights[leaf] for leaf in group])):
                paths[leaf] = start + code
        return cls.from_paths(names, paths)

    @classmethod
    def balanced(cls, names: Sequence[str]) -> Self:
        """A binary tree of minimal depth, with the classes in their order from left to right.

        Examples
        --------
        >>> ClassTree.balanced(["a", "b", "c"]).to_newick()
        '(a,(b,c));'
        """
        tree = _Growth(len(names))
        todo = [(0, len(names), -1, 0)] if names else []
        while todo:
            start, stop, parent, branch = todo.pop()
            if stop - start == 1:
                tree.leaf(start, parent, branch)
            else:
                node, middle = tree.inner(parent, branch), (start + stop) // 2
                todo += [(middle, stop, node, 1), (start, middle, node, 0)]
        return cls(names, tree.parent, tree.branch)

    @classmethod
    def huffman(cls, names: Sequence[str], counts: ArrayLike) -> Self:
        """The binary tree of the least average depth, each class weighted by its count.

        Examples
        --------
        >>> ClassTree.huffman(["the", "of", "cat"], [7, 4, 1]).to_newick()
        '((cat,of),the);'
        """
        weights = frozen(counts, np.float64, "counts of classes")
        if len(weights) != len(names):
            raise OptionError(f"{len(names)} classes but {len(weights)} counts")
        if not np.all((weights >= 0) & (weights < np.inf)):
            raise OptionError("counts of classes must be finite numbers ≥ 0")
        # Both queues rise, so the two lightest nodes are always at their heads (van Leeuwen 1976).
        order = np.argsort(weights, kind="stable").tolist()
        leaves = deque(zip(weights[order].tolist(), order))
        merged: deque[tuple[float, int]] = deque()
        n_nodes = 2 * len(names) - 1
        parent, branch = [-1] * n_nodes, [0] * n_nodes
        for node in reversed(range(len(names), n_nodes)):  # the root comes last: it is the first inner node
            total = 0.0
            for side in (0, 1):
                queue = leaves if leaves and (not merged or leaves[0][0] <= merged[0][0]) else merged
                weight, child = queue.popleft()
                parent[child], branch[child] = node, side
                total += weight
            merged.append((total, node))
        return cls(names, parent, branch)

    # -- questions ------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The classes, in the order of the leaves."""
        return self._classes.list

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        inner = len(self.parent) - len(self)
        return f"ClassTree({len(self)} classes, {inner} inner nodes, depth {self.depth})"

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """The number of decisions on the way to each class."""
        return depths(self.parent)[: len(self)]

    @property
    def depth(self) -> int:
        """The number of decisions on the longest way."""
        return int(self.depths.max())

    def paths(self) -> Codes:
        """The decisions on the way to each class, root first, as flat arrays."""
        n_classes = len(self)
        ptr = np.concatenate(([0], np.cumsum(self.depths)))
        nodes = np.empty(ptr[-1], dtype=np.int32)
        branches = np.empty(ptr[-1], dtype=np.int32)
        node: NDArray[np.int32] = np.arange(n_classes, dtype=np.int32)
        slot = ptr[1:] - 1
        while True:  # all classes climb one step at a time
            climbs = self.parent[node] >= 0
            if not climbs.any():
                break
            node, slot = node[climbs], slot[climbs]
            branches[slot] = self.branch[node]
            node = self.parent[node]
            nodes[slot] = node - n_classes
            slot = slot - 1
        arity = np.bincount(self.parent[self.parent >= 0] - n_classes, minlength=len(self.parent) - n_classes)
        return Codes(ptr, nodes, branches, arity.astype(np.int32))

    def children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``ptr`` and ``nodes``: the children of ``v`` are ``nodes[ptr[v]:ptr[v+1]]``, in order of branch."""
        order = np.lexsort((self.branch, self.parent))
        return np.searchsorted(self.parent[order], np.arange(len(self.parent) + 1)), order

    # -- files ----------------------------------------------------------------------------------------

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: the tree, and the depths of the classes."""
        from spinney.structure.pages import tree_page

        self._no_data(data)
        return Views(tree_page(self))

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The size and the depth of the tree."""
        depths = self.depths[: len(self)]
        return {
            "classes": len(self),
            "nodes": len(self.parent),
            "depth": self.depth,
            "mean_depth": float(depths.mean()) if len(depths) else 0.0,
        }

    def parts(self) -> Parts:
        return Parts({}, {"parent": self.parent, "branch": self.branch}, {"names": self.names})

    @classmethod
    def _rebuilt(cls, model: ModelFile) -> Self:
        return cls(model.texts("names"), model.tensor("parent", np.int32), model.tensor("branch", np.int32))

    @classmethod
    def from_newick(cls, text: str, path: FilePath = "<text>") -> Self:
        """The tree of a Newick string; lengths and the names of inner nodes are ignored."""
        try:
            return cls(*_newick.parse(text, path))
        except OptionError as error:
            raise InputError(str(error), path=os.fspath(path)) from None

    def to_newick(self) -> str:
        """The tree as a Newick string."""
        return _newick.format_tree(self)

    @classmethod
    def read_newick(cls, path: FilePath) -> Self:
        """Read a file with one tree in Newick notation."""
        with open_text(path) as file:
            return cls.from_newick(file.read(), path)

    def write_newick(self, path: FilePath) -> None:
        """Write a file with the tree in Newick notation."""
        for name in self.names:
            if "\0" in name or "\r" in name:
                raise OptionError(f"the class {name!r} cannot be written to a text file: write JSON instead")
        with writing(path) as file:
            file.write(self.to_newick() + "\n")

    @classmethod
    def read_json(cls, path: FilePath) -> Self:
        """Read ``{"nodes": [{"name": "cat", "parent": 2}, …, {"parent": null}]}``, the named leaves first.

        ``"branch"`` gives a node its place among its siblings, on all nodes or on none.
        """
        top = read_json(path)
        names: list[str] = []
        parent: list[int] = []
        branch: list[int] = []
        for node in top.objects("nodes", "node"):
            name = node.optional("name", str)
            if name is not None:
                if len(names) < len(parent):
                    node.refuse("a named leaf after a node without a name", "put the leaves first")
                names.append(name)
            above, place = node.optional("parent", int), node.optional("branch", int)
            parent.append(-1 if above is None else above)
            branch += [] if place is None else [place]
        try:
            return cls(names, parent, branch or None)
        except OptionError as error:
            top.refuse(str(error))

    def write_json(self, path: FilePath) -> None:
        """Write a JSON file, one node per line."""

        def one(v: int) -> dict[str, Any]:
            above = int(self.parent[v])
            place = {"parent": None if above < 0 else above, "branch": int(self.branch[v])}
            return {"name": self.names[v], **place} if v < len(self) else place

        write_json(path, {}, "nodes", map(one, range(len(self.parent))))

    # -- checks ---------------------------------------------------------------------------------------

    def _check_shape(self) -> None:
        parent, n_classes = self.parent, len(self)
        if n_classes == 0:
            raise OptionError("a tree needs at least one class")
        if len(parent) < n_classes:
            raise OptionError(f"{n_classes} classes but {len(parent)} nodes")
        depths(parent)  # refuses a cycle
        n_roots = np.count_nonzero(parent < 0)
        if n_roots != 1:
            raise OptionError(f"{n_roots} nodes without a parent: only the root has none")
        n_children = np.bincount(parent[parent >= 0], minlength=len(parent))
        if n_children[:n_classes].any():
            raise OptionError(f"the class {self.names[int(np.argmax(n_children > 0))]!r} is not a leaf")
        if not n_children[n_classes:].all():
            childless = n_classes + int(np.argmin(n_children[n_classes:]))
            raise OptionError(f"node {childless} is a leaf without a class")

    def _check_branches(self) -> None:
        if len(self.branch) != len(self.parent):
            raise OptionError(f"{len(self.parent)} nodes but {len(self.branch)} branches")
        ptr, nodes = self.children()
        siblings = nodes[ptr[0] :]
        expected = np.arange(len(siblings)) + ptr[0] - ptr[self.parent[siblings]]
        if np.any(self.branch[siblings] != expected):
            v = siblings[np.argmax(self.branch[siblings] != expected)]
            raise OptionError(f"the branches of node {self.parent[v]} are not numbered from 0")


def _huffman_codes(weights: Sequence[float]) -> list[str]:
    """Huffman codes; a single thing needs none."""
    if len(weights) == 1:
        return [""]
    codes = ClassTree.huffman([str(i) for i in range(len(weights))], weights).paths()
    bits = "".join(map(str, codes.branches.tolist()))
    return [bits[start:stop] for start, stop in zip(codes.ptr[:-1].tolist(), codes.ptr[1:].tolist())]


def _shared(first: str, last: str) -> str:
    """The longest common beginning."""
    differs = (i for i, (a, b) in enumerate(zip(first, last)) if a != b)
    return first[: next(differs, min(len(first), len(last)))]


class _Growth:
    """A tree in the making: leaves are known from the start, inner nodes are numbered as they come."""

    def __init__(self, n_leaves: int) -> None:
        self.parent = [-1] * n_leaves
        self.branch = [0] * n_leaves

    def leaf(self, leaf: int, parent: int, branch: int) -> None:
        self.parent[leaf], self.branch[leaf] = parent, branch

    def inner(self, parent: int, branch: int) -> int:
        self.parent.append(parent)
        self.branch.append(branch)
        return len(self.parent) - 1
