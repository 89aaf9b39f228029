"""Groups: against plain sets, for any family of them."""

from __future__ import annotations

import copy
import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, ModelFileError, OptionError
from spinney.structure import Groups, WordClasses

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)

N = 6
sets = st.lists(st.sets(st.integers(0, N - 1), min_size=1), max_size=6)


@st.composite
def nested_sets(draw):
    """Families that are nested by construction: subtrees of a random tree over the features' nodes."""
    n_nodes = draw(st.integers(1, 6))
    parent = [-1, *(draw(st.integers(-1, v - 1)) for v in range(1, n_nodes))]
    node_of = draw(st.lists(st.integers(-1, n_nodes - 1), min_size=N, max_size=N))
    family: list[set[int]] = [set() for _ in range(n_nodes)]
    for feature, node in enumerate(node_of):
        while node >= 0:
            family[node].add(feature)
            node = parent[node]
    return parent, node_of, family


def as_sets(groups: Groups) -> list[set[int]]:
    return [set(groups[g].tolist()) for g in range(len(groups))]


def crosses(a: set[int], b: set[int]) -> bool:
    return bool(a & b) and not a <= b and not b <= a


# -- nesting, against the definition ----------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(sets | nested_sets().map(lambda drawn: [members for members in drawn[2] if members]))
def test_nesting_by_brute_force(family):
    groups = Groups.from_lists([list(members) for members in family], n_features=N)
    assert as_sets(groups) == family
    nested = not any(crosses(a, b) for a, b in combinations(family, 2))
    assert groups.is_nested == nested
    if not nested:
        assert groups.parent is None
        with pytest.raises(OptionError, match=r"group \d+ and group \d+ overlap without") as caught:
            groups.to_forest()
        g, h = (int(word) for word in str(caught.value).split() if word.isdigit())
        assert crosses(family[g], family[h])
        return
    parent, node_of = groups.to_forest()
    np.testing.assert_array_equal(parent, groups.parent)
    for g, members in enumerate(family):
        around = [h for h, others in enumerate(family) if members < others or (members == others and h < g)]
        smallest = min((len(family[h]) for h in around), default=None)
        assert (parent[g] < 0) == (not around)
        if around:
            assert parent[g] == max(h for h in around if len(family[h]) == smallest)
    for feature in range(N):
        around = [h for h, others in enumerate(family) if feature in others]
        smallest = min((len(family[h]) for h in around), default=None)
        expected = max((h for h in around if len(family[h]) == smallest), default=-1)
        assert node_of[feature] == expected


@given(sets)
def test_coverage(family):
    groups = Groups.from_lists([list(members) for members in family], n_features=N)
    counts = [sum(feature in members for members in family) for feature in range(N)]
    assert groups.overlap_counts.tolist() == counts
    assert groups.uncovered.tolist() == [feature for feature in range(N) if counts[feature] == 0]
    assert groups.is_partition == (counts == [1] * N)
    assert groups.sizes.tolist() == [len(members) for members in family]


def test_a_long_chain_is_nested_quickly():
    n = 2000
    groups = Groups.from_lists([list(range(i)) for i in range(1, n)], n_features=n)
    parent, node_of = groups.to_forest()
    np.testing.assert_array_equal(parent, [*range(1, n - 1), -1])
    np.testing.assert_array_equal(node_of, [*range(n - 1), -1])


# -- builders ---------------------------------------------------------------------------------------------


@given(nested_sets())
def test_from_tree(drawn):
    parent, node_of, family = drawn
    groups = Groups.from_tree(parent, node_of, names=[str(v) for v in range(len(parent))])
    kept = [v for v, members in enumerate(family) if members]
    assert as_sets(groups) == [family[v] for v in kept]
    assert groups.names == [str(v) for v in kept]
    assert groups.is_nested


@given(st.lists(st.integers(-1, 4), max_size=12))
def test_from_labels(labels):
    groups = Groups.from_labels(np.array(labels, dtype=int))
    expected = [{j for j, label in enumerate(labels) if label == k} for k in range(5)]
    assert as_sets(groups) == [members for members in expected if members]
    assert groups.n_features == len(labels)
    assert Groups.from_labels(np.array(labels, dtype=int), names=list("abcde")).names == [
        name for name, members in zip("abcde", expected) if members
    ]


def test_rows_and_expand():
    groups = Groups.rows(3, 2)
    assert as_sets(groups) == [{0, 1}, {2, 3}, {4, 5}]
    assert groups.n_features == 6
    np.testing.assert_allclose(groups.weights, np.sqrt(2))
    words = Groups.from_lists([[0, 2], [1]], n_features=3, names=["x", "y"])
    wide = words.expand(2)
    assert as_sets(wide) == [{0, 1, 4, 5}, {2, 3}]
    assert (wide.names, wide.weights.tolist()) == (["x", "y"], words.weights.tolist())
    assert words.expand(2, weights="sqrt").weights.tolist() == [2.0, np.sqrt(2)]


def test_from_prefixes():
    classes = WordClasses(["a", "b", "c", "d"], [0, 1, 2, 2], paths=["00", "01", "1"])
    groups = Groups.from_prefixes(classes, ["d", "a", "zzz", "b", "c"])
    assert dict(zip(groups.names, as_sets(groups))) == {
        "": {0, 1, 3, 4},
        "0": {1, 3},
        "00": {1},
        "01": {3},
        "1": {0, 4},
    }
    assert groups.names[groups.parent[groups.names.index("01")]] == "0"
    assert groups.uncovered.tolist() == [2]
    some = Groups.from_prefixes(classes, ["a", "b", "c"], lengths=[1, 4])
    assert dict(zip(some.names, as_sets(some))) == {"0": {0, 1}, "00": {0}, "01": {1}, "1": {2}}
    adopted = WordClasses(classes.words, classes.ids, paths=classes.paths, unknown=2)
    assert Groups.from_prefixes(adopted, ["zzz"], lengths=[1]).names == ["1"]
    with pytest.raises(OptionError, match="these classes are flat"):
        Groups.from_prefixes(WordClasses(["a"], [0]), ["a"])
    with pytest.raises(OptionError, match="lengths of prefixes must be at least 0"):
        Groups.from_prefixes(classes, ["a"], lengths=[-1])


def test_combine():
    one = Groups.from_lists([[0, 1]], n_features=3, weights=[5.0], names=["x"])
    two = Groups.from_lists([[2], [1, 2]], n_features=3, weights="unit", names=["y", "z"])
    both = Groups.combine(one, two)
    assert as_sets(both) == [{0, 1}, {2}, {1, 2}]
    assert both.weights.tolist() == [5.0, 1.0, 1.0]
    assert both.names == ["x", "y", "z"]
    assert Groups.combine(one, Groups.from_labels([0, 0, 0])).names is None
    with pytest.raises(OptionError, match="only if they have the same features"):
        Groups.combine(one, Groups.from_labels([0]))
    with pytest.raises(OptionError, match="only if they have the same features"):
        Groups.combine()


def test_weights():
    lists = [[0, 1, 2, 3], [4]]
    assert Groups.from_lists(lists, 5).weights.tolist() == [2.0, 1.0]
    assert Groups.from_lists(lists, 5, weights="unit").weights.tolist() == [1.0, 1.0]
    assert Groups.from_lists(lists, 5, weights=[3, 0]).weights.tolist() == [3.0, 0.0]


def test_the_arrays_are_as_promised_and_do_not_change():
    groups = Groups.from_lists([[3, 1], [2]], n_features=4)
    assert (groups.ptr.dtype, groups.members.dtype, groups.weights.dtype) == (np.int64, np.int32, np.float64)
    assert groups.members.tolist() == [1, 3, 2]
    for array in (groups.ptr, groups.members, groups.weights):
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert copy.deepcopy(groups) is groups
    assert repr(groups) == "Groups(2 groups, 3 members, 4 features)"
    assert len(Groups.from_lists([], n_features=3)) == 0
    assert Groups.from_lists([], n_features=0).to_forest()[0].tolist() == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Groups.from_lists([[0], [5]], 5, names=["a", "b"]),
            "group 1 ('b'): feature 5 is not among the 5 (counted from 0)",
        ),
        (lambda: Groups.from_lists([[-1]], 5), "group 0: feature -1 is not among the 5 (counted from 0)"),
        (lambda: Groups.from_lists([[0], [4, 2, 4]], 5), "group 1 has feature 4 twice"),
        (lambda: Groups.from_lists([[0], []], 5), "group 1 has no members"),
        (
            lambda: Groups.from_lists([[0], []], 5, empty="keep"),
            "empty must be 'drop' or 'refuse', not 'keep'",
        ),
        (
            lambda: Groups.from_lists([[0]], 5, weights=[-2]),
            "group 0: a weight must be a finite number ≥ 0, not -2",
        ),
        (
            lambda: Groups.from_lists([[0]], 5, weights=[np.nan]),
            "group 0: a weight must be a finite number ≥ 0, not nan",
        ),
        (lambda: Groups.from_lists([[0]], 5, weights=[1, 2]), "1 groups but 2 weights"),
        (
            lambda: Groups.from_lists([[0]], 5, weights="log"),
            "weights must be 'sqrt', 'unit' or numbers, not 'log'",
        ),
        (lambda: Groups.from_lists([[0]], 5, names=["a", "b"]), "1 groups but 2 names"),
        (
            lambda: Groups.from_lists([[0.5]], 5),
            "members of groups: whole numbers up to 2147483647 are needed",
        ),
        (
            lambda: Groups([0, 2], [0], n_features=3),
            "ends of groups must increase from 0 to the number of members",
        ),
        (
            lambda: Groups([0, 2, 1, 3], [0, 1, 2], n_features=3),
            "ends of groups must increase from 0 to the number of members",
        ),
        (
            lambda: Groups([0], [], n_features=-1),
            "the number of features must be from 0 to 2147483647, not -1",
        ),
        (lambda: Groups.from_tree([1, 0], [0]), "node 0 is its own ancestor"),
        (lambda: Groups.from_tree([7], [0]), "a parent is not among the 1 nodes"),
        (lambda: Groups.from_tree([-1], [3]), "a feature sits at a node that is not among the 1"),
    ],
)
def test_bad_groups(make, message):
    with pytest.raises(OptionError) as caught:
        make()
    assert str(caught.value) == message


def test_empty_groups_can_be_dropped():
    groups = Groups.from_lists([[], [1], []], 2, weights=[1, 2, 3], names=["a", "b", "c"], empty="drop")
    assert (as_sets(groups), groups.names, groups.weights.tolist()) == ([{1}], ["b"], [2.0])


def test_crossing_groups_are_named():
    groups = Groups.from_lists([[0, 1, 2], [1, 2, 3], [5]], 6, names=["NP", "VP", "S"])
    with pytest.raises(OptionError) as caught:
        groups.to_forest()
    assert str(caught.value) == (
        "group 0 ('NP') and group 1 ('VP') overlap without being nested, so there is no tree: "
        "use a penalty for overlapping groups"
    )


# -- files ------------------------------------------------------------------------------------------------


def same(a: Groups, b: Groups) -> None:
    np.testing.assert_array_equal(a.ptr, b.ptr)
    np.testing.assert_array_equal(a.members, b.members)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert (a.n_features, a.names) == (b.n_features, b.names)


@files
@given(sets, st.floats(0, 1e300), st.booleans(), st.text(st.characters(exclude_categories=["Cs"])))
def test_round_trips(tmp_path, family, weight, named, name):
    features = [f"f{j} {name}" for j in range(N)]
    groups = Groups.from_lists(
        [list(members) for members in family],
        n_features=N,
        weights=[weight] * len(family),
        names=[f"{name}{g}" for g in range(len(family))] if named and family else None,
    )
    groups.save(tmp_path / "groups.spinney")
    same(Groups.load(tmp_path / "groups.spinney"), groups)
    groups.write_json(tmp_path / "groups.json.gz")
    same(Groups.read_json(tmp_path / "groups.json.gz"), groups)
    groups.write_json(tmp_path / "groups.json", features)
    same(Groups.read_json(tmp_path / "groups.json", features), groups)


def test_the_json_file_is_for_people(tmp_path):
    path = tmp_path / "groups.json"
    groups = Groups.from_lists([[0, 2], [1]], n_features=3, names=["é", "y"])
    groups.write_json(path, ["cat", "dog", "cow"])
    assert path.read_text() == (
        '{\n  "n_features": 3,\n  "groups": [\n'
        '    {"name": "é", "weight": 1.4142135623730951, "members": ["cat", "cow"]},\n'
        '    {"name": "y", "weight": 1.0, "members": ["dog"]}\n  ]\n}\n'
    )
    path.write_text('{"groups": [{"members": ["cat", 1]}]}')
    by_hand = Groups.read_json(path, ["cat", "dog"])
    assert (as_sets(by_hand), by_hand.weights.tolist(), by_hand.names) == ([{0, 1}], [np.sqrt(2)], None)


def test_write_json_checks_the_names(tmp_path):
    with pytest.raises(OptionError, match="3 features but 2 feature names"):
        Groups.from_lists([[0]], n_features=3).write_json(tmp_path / "x", ["a", "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"n_features": 3,\n "groups": [}', ":2: not JSON: expecting value in column 13"),
        ("[]", ": this must be an object in braces"),
        ('{"groups": []}', ': no "n_features"'),
        ('{"n_features": 3}', ': no "groups"'),
        ('{"n_features": "3", "groups": []}', ': "n_features" must be a whole number'),
        ('{"n_features": 3, "n_features": 4}', ': not JSON: "n_features" appears twice in one object'),
        ("[" * 100_000, ": brackets are nested too deeply"),
        ('{"n_features": 3, "groups": [[1]]}', ": group 0: this must be an object in braces"),
        ('{"n_features": 3, "groups": [{}]}', ': group 0: no "members"'),
        (
            '{"n_features": 3, "groups": [{"name": "x", "members": ["cat"]}]}',
            ": group 0 ('x'): the member 'cat' is a name, but the features have none"
            " (name the features, or use numbers as members)",
        ),
        (
            '{"n_features": 3, "groups": [{"members": [1.5]}]}',
            ': group 0: "members" must hold whole numbers only',
        ),
        (
            '{"n_features": 3, "groups": [{"members": [0], "weight": "big"}]}',
            ': group 0: "weight" must be a number',
        ),
        (
            '{"n_features": 3, "groups": [{"members": [0], "weight": -1}]}',
            ": group 0: a weight must be a finite number ≥ 0, not -1",
        ),
        (
            '{"n_features": 3, "groups": [{"members": [3]}]}',
            ": group 0: feature 3 is not among the 3 (counted from 0)",
        ),
        ('{"n_features": 3, "groups": [{"members": []}]}', ": group 0 has no members"),
        (
            '{"n_features": 3, "groups": [{"members": [0], "name": "x"}, {"members": [1]}]}',
            ': a "name" for some groups but not for others',
        ),
    ],
)
def test_bad_json(tmp_path, text, message):
    path = tmp_path / "groups.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Groups.read_json(path)
    assert str(caught.value) == f"{path}{message}"


def test_bad_json_with_names(tmp_path):
    path = tmp_path / "groups.json"
    path.write_text('{"groups": [{"members": ["cat", "elk"]}]}')
    with pytest.raises(InputError) as caught:
        Groups.read_json(path, ["cat", "dog"])
    assert str(caught.value) == (
        f"{path}: group 0: 'elk' is not among the 2 features (remove it from the group)"
    )
    path.write_text(json.dumps({"n_features": 5, "groups": []}))
    with pytest.raises(InputError, match='"n_features" is 5, but there are 2 features'):
        Groups.read_json(path, ["cat", "dog"])


def test_a_damaged_model_file(tmp_path):
    from spinney.files import write_model

    path = tmp_path / "groups.spinney"
    groups = Groups.from_lists([[0, 1]], n_features=2)
    header, tensors, strings = groups.parts()
    write_model(path, "structure/Groups", {"n_features": 1}, tensors, strings)
    with pytest.raises(ModelFileError, match="damaged: group 0: feature 1 is not among the 1"):
        Groups.load(path)
    write_model(path, "structure/ClassTree", header, tensors, strings)
    with pytest.raises(
        ModelFileError, match="a structure/ClassTree model where a structure/Groups is needed"
    ):
        Groups.load(path)
