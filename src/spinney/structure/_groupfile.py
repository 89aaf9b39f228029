"""Groups as JSON, for people: one group per line, members by name where the features have names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spinney.files import FilePath
from spinney.structure._json import JsonObject, read_json, write_json

if TYPE_CHECKING:
    from spinney.structure.groups import Groups


class GroupLists(NamedTuple):
    """What a file says."""

    members: list[list[int]]
    weights: list[float]
    names: list[str] | None
    n_features: int


def read(path: FilePath, features: Sequence[str] | None) -> GroupLists:
    """Parse a file; the members' range and the weights are checked by the caller."""
    top = read_json(path)
    place = None if features is None else {name: j for j, name in enumerate(features)}
    n_features = top.get("n_features", int) if features is None else len(features)
    if top.optional("n_features", int) not in (None, n_features):
        top.refuse(f'"n_features" is {top.get("n_features", int)}, but there are {n_features} features')
    members: list[list[int]] = []
    weights: list[float] = []
    names: list[str] = []
    for group in top.objects("groups", "group"):
        name = group.optional("name", str)
        if name is not None:
            names.append(name)
            group.where += f" ({name!r})"
        members.append(_members(group, place))
        weight = group.optional("weight", float)
        weights.append(math.sqrt(len(members[-1])) if weight is None else weight)
    if names and len(names) < len(members):
        top.refuse('a "name" for some groups but not for others')
    return GroupLists(members, weights, names or None, n_features)


def _members(group: JsonObject, place: dict[str, int] | None) -> list[int]:
    indices = []
    for member in group.get("members", list):
        if isinstance(member, str):
            if place is None:
                remedy = "name the features, or use numbers as members"
                group.refuse(f"the member {member!r} is a name, but the features have none", remedy)
            if member not in place:
                group.refuse(f"{member!r} is not among the {len(place)} features", "remove it from the group")
            member = place[member]
        indices.append(member)
    return group.integers("members", indices)


def write(path: FilePath, groups: Groups, features: Sequence[str] | None) -> None:
    """Write a file that `read` reads."""
    write_json(path, {"n_features": groups.n_features}, "groups", _objects(groups, features))


def _objects(groups: Groups, features: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    for g in range(len(groups)):
        members = groups[g].tolist()
        yield {
            **({} if groups.names is None else {"name": groups.names[g]}),
            "weight": float(groups.weights[g]),
            "members": members if features is None else [features[j] for j in members],
        }
