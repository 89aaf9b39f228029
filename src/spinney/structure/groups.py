"""Groups of features: what a structured penalty keeps or drops together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, compress
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError
from spinney.files import Array, FilePath, ModelFile, Parts, room_for
from spinney.settings import Settings
from spinney.structure import _groupfile
from spinney.structure._forest import Nesting, depths, nesting
from spinney.structure._stored import Stored, frozen
from spinney.structure.wordclasses import WordClasses
from spinney.views import Views

Weights = Literal["sqrt", "unit"] | ArrayLike
Empty = Literal["drop", "refuse"]


class Groups(Stored):
    """Immutable sets of features with weights, flat, nested or overlapping.

    Group ``g`` is ``members[ptr[g]:ptr[g+1]]``, ascending, with weight ``weights[g]``.

    Parameters
    ----------
    ptr, members
        The groups as flat arrays, ``ptr`` from 0.
    n_features
        Members lie in ``0 … n_features-1``.
    weights
        ``"sqrt"`` for the square root of each group's size, ``"unit"`` for 1, or a number ≥ 0 for each group.
    names
        What to call the groups.
    empty
        Whether groups without members are dropped or refused.

    Attributes
    ----------
    ptr : int64 array, one longer than there are groups
    members : int32 array
    weights : float64 array
    n_features : int
    names : list of str, or None

    Examples
    --------
    >>> groups = Groups.from_lists([[0, 1, 2], [1, 2], [4]], n_features=5)
    >>> groups.is_nested, groups.is_partition, groups.parent
    (True, False, array([-1,  0, -1], dtype=int32))
    >>> groups.overlap_counts, groups.uncovered
    (array([1, 2, 2, 0, 1]), array([3]))
    """

    role = "groups"

    def __init__(
        self,
        ptr: ArrayLike,
        members: ArrayLike,
        *,
        n_features: int,
        weights: Weights = "sqrt",
        names: Sequence[str] | None = None,
        empty: Empty = "refuse",
    ) -> None:
        self.n_features = int(n_features)
        self.names = None if names is None else list(names)
        self.ptr: NDArray[np.int64] = frozen(ptr, np.int64, "ends of groups")
        self.members: NDArray[np.int32] = frozen(members, np.int32, "members of groups")
        self._check_ends()
        self._check_and_sort_members()
        self.weights: NDArray[np.float64] = self._weights(weights)
        self._settle_empty(empty)

    # -- constructors ---------------------------------------------------------------------------------

    @classmethod
    def from_lists(
        cls,
        lists: Iterable[Sequence[int]],
        n_features: int,
        weights: Weights = "sqrt",
        names: Sequence[str] | None = None,
        empty: Empty = "refuse",
    ) -> Self:
        """Groups from lists of their members."""
        lists = list(lists)
        ptr = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(members) for members in lists], out=ptr[1:])
        members = np.array(list(chain.from_iterable(lists)), dtype=None if ptr[-1] else np.int32)
        return cls(ptr, members, n_features=n_features, weights=weights, names=names, empty=empty)

    @classmethod
    def from_labels(
        cls, labels: ArrayLike, weights: Weights = "sqrt", names: Sequence[str] | None = None
    ) -> Self:
        """Disjoint groups: the features with label 0, those with label 1, and so on; -1 is in no group.

        Labels that no feature has give no group.

        Examples
        --------
        >>> Groups.from_labels([0, 3, -1, 0])
        Groups(2 groups, 3 members, 4 features)
        """
        labels = frozen(labels, np.int32, "labels of features")
        order = np.argsort(labels, kind="stable").astype(np.int32)
        grouped = order[np.searchsorted(labels[order], 0) :]
        sizes = np.bincount(labels[grouped], minlength=0 if names is None else len(names))
        ptr = np.concatenate(([0], np.cumsum(sizes)))
        return cls(ptr, grouped, n_features=len(labels), weights=weights, names=names, empty="drop")

    @classmethod
    def rows(cls, n_features: int, n_outputs: int, weights: Weights = "sqrt") -> Self:
        """One group per feature, for a flat ``(n_features, n_outputs)`` weight matrix: the whole row.

        Examples
        --------
        >>> Groups.rows(2, 3)[1]
        array([3, 4, 5], dtype=int32)
        """
        ptr = np.arange(n_features + 1, dtype=np.int64) * n_outputs
        members = np.arange(n_features * n_outputs)
        return cls(ptr, members, n_features=n_features * n_outputs, weights=weights)

    @classmethod
    def from_tree(
        cls,
        parent: ArrayLike,
        node_of: ArrayLike,
        weights: Weights = "sqrt",
        names: Sequence[str] | None = None,
    ) -> Self:
        """One group per node of a forest: the features at the node and at all its descendants.

        Parameters
        ----------
        parent
            The parent of each node, -1 for roots.
        node_of
            The node at which each feature sits, -1 for none. Nodes without features below give no group.

        Examples
        --------
        >>> groups = Groups.from_tree([-1, 0, 0], [1, 1, 2, 0])
        >>> [groups[g].tolist() for g in range(len(groups))]
        [[0, 1, 2, 3], [0, 1], [2]]
        """
        parent = frozen(parent, np.int64, "parents of nodes")
        depths(parent)  # refuses a cycle
        nodes = frozen(node_of, np.int64, "nodes of features")
        n_features = len(nodes)
        if n_features and (nodes.min() < -1 or nodes.max() >= len(parent)):
            raise OptionError(f"a feature sits at a node that is not among the {len(parent)}")
        features = np.arange(n_features)
        memberships = [np.empty(0, dtype=np.int64)]
        while len(features):  # all features climb one step at a time
            inside = nodes >= 0
            nodes, features = nodes[inside], features[inside]
            memberships.append(nodes * n_features + features)
            nodes = parent[nodes]
        node, members = np.divmod(np.sort(np.concatenate(memberships)), max(n_features, 1))
        ptr = np.concatenate(([0], np.cumsum(np.bincount(node, minlength=len(parent)))))
        return cls(ptr, members, n_features=n_features, weights=weights, names=names, empty="drop")

    @classmethod
    def from_prefixes(
        cls,
        classes: WordClasses,
        features: Sequence[str],
        lengths: Sequence[int] | None = None,
        weights: Weights = "sqrt",
    ) -> Self:
        """One group per node of a tree of word classes: the features (words) below it, named by its path.

        Parameters
        ----------
        classes
            Classes with paths, such as Brown clusters.
        features
            The word of each feature; a word that ``classes.encode`` gives no class is in no group.
        lengths
            Prefixes of these lengths only (a shorter path counts as a whole). Default: all.

        Examples
        --------
        >>> classes = WordClasses(["cat", "dog", "runs"], [0, 1, 2], paths=["00", "01", "1"])
        >>> groups = Groups.from_prefixes(classes, ["runs", "cat", "dog"], lengths=[0, 1])
        >>> {name: groups[g].tolist() for g, name in enumerate(groups.names)}
        {'': [0, 1, 2], '0': [1, 2], '1': [0]}
        """
        if classes.paths is None:
            raise OptionError("these classes are flat: they have no paths and so no prefixes")
        longest = max(map(len, classes.paths), default=0)
        wanted = sorted(range(longest + 1) if lengths is None else set(lengths))
        if not wanted or wanted[0] < 0:
            raise OptionError("lengths of prefixes must be at least 0")
        number: dict[str, int] = {}
        parent: list[int] = []
        node_of_class = np.empty(len(classes.paths), dtype=np.int32)
        for c, path in enumerate(classes.paths):
            node = -1
            for length in wanted:
                above, node = node, number.setdefault(path[:length], len(number))
                if node == len(parent):
                    parent.append(above)
                if length >= len(path):
                    break
            node_of_class[c] = node
        class_of = classes.encode(features)
        node_of = np.where(class_of >= 0, node_of_class[class_of], -1)
        return cls.from_tree(parent, node_of, weights=weights, names=list(number))

    @classmethod
    def combine(cls, *groups: Groups) -> Self:
        """All groups of several families over the same features; names survive if all have them.

        Examples
        --------
        >>> Groups.combine(Groups.from_labels([0, 0, 1]), Groups.from_lists([[1, 2]], n_features=3))
        Groups(3 groups, 5 members, 3 features)
        """
        if len({family.n_features for family in groups}) != 1:
            raise OptionError("groups can be combined only if they have the same features")
        ends = np.cumsum([0, *(len(family.members) for family in groups)])
        starts = [family.ptr[:-1] + end for family, end in zip(groups, ends)]
        named = all(family.names is not None for family in groups)
        return cls(
            np.concatenate([*starts, ends[-1:]]),
            np.concatenate([family.members for family in groups]),
            n_features=groups[0].n_features,
            weights=np.concatenate([family.weights for family in groups]),
            names=[name for family in groups for name in family.names or ()] if named else None,
        )

    def expand(self, n_outputs: int, weights: Weights | None = None) -> Groups:
        """The same groups over a flat ``(n_features, n_outputs)`` matrix: feature ``j`` becomes its row.

        The weights are kept, unless others are given.

        Examples
        --------
        >>> Groups.from_lists([[0, 2]], n_features=3).expand(2).members
        array([0, 1, 4, 5], dtype=int32)
        """
        members = self.members[:, None].astype(np.int64) * n_outputs + np.arange(n_outputs)
        return Groups(
            self.ptr * n_outputs,
            members.ravel(),
            n_features=self.n_features * n_outputs,
            weights=self.weights if weights is None else weights,
            names=self.names,
        )

    def subset(self, kept: ArrayLike) -> Groups:
        """The groups for which ``kept`` (a boolean for each) is true, in their order.

        Examples
        --------
        >>> groups = Groups.from_lists([[0, 1], [2]], n_features=3)
        >>> groups.subset(groups.sizes > 1)
        Groups(1 groups, 2 members, 3 features)
        """
        kept = np.asarray(kept, dtype=bool)
        if kept.shape != (len(self),):
            raise OptionError(f"{len(self)} groups but {kept.size} values that say which to keep")
        return Groups(
            np.concatenate(([0], np.cumsum(self.sizes[kept]))),
            self.members[np.repeat(kept, self.sizes)],
            n_features=self.n_features,
            weights=self.weights[kept],
            names=None if self.names is None else list(compress(self.names, kept)),
        )

    def merged(self) -> Groups:
        """One group for all that have the same members, with the sum of their weights: the same penalty.

        It takes the place of the first of them, and its name followed by their number.

        Examples
        --------
        >>> groups = Groups.from_lists([[0, 1], [2], [1, 0]], 3, weights="unit", names=["a", "b", "c"])
        >>> merged = groups.merged()
        >>> merged.names, merged.weights.tolist()
        (['a (×2)', 'b'], [2.0, 1.0])
        """
        first = _first_equal(self.ptr, self.members, self.n_features)
        times = np.bincount(first, minlength=len(self))
        kept = times > 0
        if kept.all():
            return self
        left = self.subset(kept)
        names = left.names
        if names is not None:
            names = [name if n == 1 else f"{name} (×{n})" for name, n in zip(names, times[kept].tolist())]
        weights = np.bincount(first, weights=self.weights, minlength=len(self))[kept]
        return Groups(left.ptr, left.members, n_features=self.n_features, weights=weights, names=names)

    # -- questions ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __repr__(self) -> str:
        return f"Groups({len(self)} groups, {len(self.members)} members, {self.n_features} features)"

    def __getitem__(self, g: int) -> NDArray[np.int32]:
        """The members of group ``g``."""
        g = range(len(self))[g]
        return self.members[self.ptr[g] : self.ptr[g + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of members of each group."""
        return np.diff(self.ptr)

    @cached_property
    def overlap_counts(self) -> NDArray[np.int64]:
        """The number of groups that each feature is in (the Nᵢ of ADMM)."""
        return frozen(np.bincount(self.members, minlength=self.n_features), np.int64, "")

    @property
    def uncovered(self) -> NDArray[np.int64]:
        """The features that are in no group."""
        return np.flatnonzero(self.overlap_counts == 0)

    @property
    def is_partition(self) -> bool:
        """Whether each feature is in exactly one group."""
        return bool(np.all(self.overlap_counts == 1))

    @property
    def is_nested(self) -> bool:
        """Whether any two groups are disjoint or one lies inside the other."""
        return self._nesting.crossing is None

    @property
    def parent(self) -> NDArray[np.int32] | None:
        """The smallest group around each group, -1 for none; None unless the groups are nested."""
        return self._nesting.parent if self.is_nested else None

    def to_forest(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The parent of each group, and the smallest group of each feature, -1 for none.

        Of groups with the same members, the first is the outermost.

        Raises
        ------
        OptionError
            If two groups overlap without being nested; the message names them.
        """
        if self._nesting.crossing is not None:
            g, h = (self._called(group) for group in self._nesting.crossing)
            raise OptionError(
                f"{g} and {h} overlap without being nested, so there is no tree: use a penalty for overlapping groups"
            )
        return self._nesting.parent, self._nesting.node_of

    @cached_property
    def _nesting(self) -> Nesting:
        return nesting(self.ptr, self.members, self.n_features)

    def _called(self, g: int) -> str:
        return f"group {g}" if self.names is None else f"group {g} ({self.names[g]!r})"

    # -- checks ---------------------------------------------------------------------------------------

    def _check_ends(self) -> None:
        ptr = self.ptr
        if not 0 <= self.n_features <= np.iinfo(np.int32).max:
            raise OptionError(f"the number of features must be from 0 to 2147483647, not {self.n_features}")
        if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != len(self.members) or np.any(ptr[1:] < ptr[:-1]):
            raise OptionError("ends of groups must increase from 0 to the number of members")
        if self.names is not None and len(self.names) != len(self):
            raise OptionError(f"{len(self)} groups but {len(self.names)} names")

    def _check_and_sort_members(self) -> None:
        members, n = self.members, self.n_features
        outside = np.flatnonzero((members < 0) | (members >= n))
        if len(outside):
            group, feature = self._holder(outside[0]), members[outside[0]]
            raise OptionError(f"{group}: feature {feature} is not among the {n} (counted from 0)")
        starts = self.ptr[1:-1]
        falls = members[1:] <= members[:-1]
        falls[starts[(starts > 0) & (starts < len(members))] - 1] = False
        if not falls.any():
            return
        offset = np.repeat(np.arange(len(self)), self.sizes) * n
        keys = np.sort(offset + members)
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if len(again):
            raise OptionError(f"{self._holder(again[0])} has feature {keys[again[0]] % n} twice")
        self.members = frozen(keys - offset, np.int32, "members of groups")

    def _holder(self, entry: int) -> str:
        return self._called(int(np.searchsorted(self.ptr, entry, side="right")) - 1)

    def _weights(self, weights: Weights) -> NDArray[np.float64]:
        if isinstance(weights, str):
            if weights not in ("sqrt", "unit"):
                raise OptionError(f"weights must be 'sqrt', 'unit' or numbers, not {weights!r}")
            return frozen(np.sqrt(self.sizes) if weights == "sqrt" else np.ones(len(self)), np.float64, "")
        values = frozen(weights, np.float64, "weights of groups")
        if len(values) != len(self):
            raise OptionError(f"{len(self)} groups but {len(values)} weights")
        wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if len(wrong):
            group, value = self._called(wrong[0]), values[wrong[0]]
            raise OptionError(f"{group}: a weight must be a finite number ≥ 0, not {value:g}")
        return values

    def _settle_empty(self, empty: Empty) -> None:
        full = self.sizes > 0
        if full.all():
            return
        if empty == "refuse":
            raise OptionError(f"{self._called(int(np.argmin(full)))} has no members")
        if empty != "drop":
            raise OptionError(
                f"empty must be 'drop' or 'refuse', not {empty!r}",
                given=empty,
                known=("drop", "refuse"),
            )
        self.ptr = frozen(np.append(self.ptr[:-1][full], self.ptr[-1]), np.int64, "")
        self.weights = frozen(self.weights[full], np.float64, "")
        if self.names is not None:
            self.names = [name for name, kept in zip(self.names, full) if kept]

    # -- files ----------------------------------------------------------------------------------------

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: the groups, their sizes, and how they are nested."""
        from spinney.structure.pages import groups_page

        self._no_data(data)
        return Views(groups_page(self))

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The number of groups, and how they are nested."""
        return {
            "groups": len(self),
            "features": self.n_features,
            "members": len(self.members),
            "nested": self.is_nested,
            "partition": self.is_partition,
            "uncovered": len(self.uncovered),
            "most_groups": int(self.overlap_counts.max(initial=0)),
        }

    def parts(self) -> Parts:
        tensors: dict[str, Array] = {"ptr": self.ptr, "members": self.members, "weights": self.weights}
        strings = {} if self.names is None else {"names": self.names}
        room = room_for("features", self.n_features, tensors.values())
        return Parts({"n_features": self.n_features}, tensors | room, strings)

    @classmethod
    def _rebuilt(cls, model: ModelFile) -> Self:
        ptr, members = model.tensor("ptr", np.int64), model.tensor("members", np.int32)
        weights, n_features = model.tensor("weights", np.float64), model.fact("n_features", int)
        model.check_room("features", n_features, [ptr, members, weights])
        return cls(
            ptr,
            members,
            n_features=n_features,
            weights=weights,
            names=model.texts("names") if "names" in model.strings else None,
        )

    @classmethod
    def read_json(cls, path: FilePath, features: Sequence[str] | None = None) -> Self:
        """Read ``{"n_features": 9, "groups": [{"name": "x", "weight": 1.5, "members": [0, 4]}, …]}``.

        Parameters
        ----------
        path
            The file. A group's name may be missing; a missing weight is the square root of its size.
        features
            The name of each feature; then members may be names, and ``n_features`` may be missing.
        """
        found = _groupfile.read(path, features)
        try:
            return cls.from_lists(found.members, found.n_features, found.weights, found.names)
        except OptionError as error:
            raise InputError(str(error), path=os.fspath(path)) from None

    def write_json(self, path: FilePath, features: Sequence[str] | None = None) -> None:
        """Write a JSON file that people can read and edit, with the names of ``features`` if given."""
        if features is not None and len(features) != self.n_features:
            raise OptionError(f"{self.n_features} features but {len(features)} feature names")
        _groupfile.write(path, self, features)


def _first_equal(ptr: NDArray[np.int64], members: NDArray[np.int32], n_features: int) -> NDArray[np.int64]:
    """For each group the first that has the same members; groups are ascending and none is empty."""
    codes = np.random.default_rng(0).integers(0, 2**64, size=n_features, dtype=np.uint64)
    hashes = np.add.reduceat(codes[members], ptr[:-1])  # overflow is wanted
    first = np.arange(len(ptr) - 1)
    left = first
    while len(left):  # once, unless different groups have the same hash
        _, index, inverse = np.unique(hashes[left], return_index=True, return_inverse=True)
        leaders = left[index][inverse]
        followers = leaders != left
        left, leaders = left[followers], leaders[followers]
        same = _equal(ptr, members, left, leaders)
        first[left[same]] = leaders[same]
        left = left[~same]
    return first


def _equal(
    ptr: NDArray[np.int64], members: NDArray[np.int32], g: NDArray[np.int64], h: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether groups ``g[i]`` and ``h[i]`` have the same members."""
    sizes = np.diff(ptr)
    equal: NDArray[np.bool_] = sizes[g] == sizes[h]
    g, h, sizes = g[equal], h[equal], sizes[g[equal]]
    starts = np.cumsum(sizes) - sizes
    place = np.arange(sizes.sum()) - np.repeat(starts, sizes)
    differ = members[np.repeat(ptr[g], sizes) + place] != members[np.repeat(ptr[h], sizes) + place]
    equal[equal] = ~np.logical_or.reduceat(differ, starts)
    return equal
