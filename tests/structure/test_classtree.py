"""Class trees: codes against plain climbing, Huffman against a heap, files there, back and wrong."""

from __future__ import annotations

import heapq
import math
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import write_model
from spinney.structure import ClassTree, WordClasses

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)

names = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5), unique=True, min_size=1, max_size=9
)


@st.composite
def trees(draw, names=names):
    """Any tree: the leaves and inner nodes are hung one after the other on random inner nodes above them."""
    leaves = draw(names)
    k = len(leaves)
    n_inner = draw(st.integers(0 if k == 1 else 1, k))
    if n_inner == 0:
        return ClassTree(leaves, [-1])
    parent = [-1] * (k + n_inner)
    for v in range(1, n_inner):
        parent[k + v] = k + draw(st.integers(0, v - 1))
    childless = [k + v for v in range(n_inner) if k + v not in parent]
    for i, leaf in enumerate(draw(st.permutations(range(k)))):
        parent[leaf] = childless[i] if i < len(childless) else k + draw(st.integers(0, n_inner - 1))
    branch = [0] * len(parent)
    for v in set(parent) - {-1}:
        children = [c for c, above in enumerate(parent) if above == v]
        for place, child in enumerate(draw(st.permutations(children))):
            branch[child] = place
    return ClassTree(leaves, parent, branch)


def nested(tree: ClassTree, v: int | None = None) -> object:
    """The tree as tuples of names: what two equal trees have in common however their nodes are numbered."""
    if v is None:
        v = int(np.flatnonzero(tree.parent == -1)[0])
    if v < len(tree):
        return tree.names[v]
    children = np.flatnonzero(tree.parent == v)
    return tuple(nested(tree, int(c)) for c in children[np.argsort(tree.branch[children])])


# -- codes ------------------------------------------------------------------------------------------------


@given(trees())
def test_paths_by_climbing(tree):
    codes = tree.paths()
    assert (codes.ptr.dtype, codes.nodes.dtype, codes.branches.dtype) == (np.int64, np.int32, np.int32)
    for c in range(len(tree)):
        node, steps = c, []
        while tree.parent[node] >= 0:
            steps.append((tree.parent[node] - len(tree), tree.branch[node]))
            node = tree.parent[node]
        span = slice(codes.ptr[c], codes.ptr[c + 1])
        assert list(zip(codes.nodes[span], codes.branches[span])) == steps[::-1]
        assert tree.depths[c] == len(steps)
    assert tree.depth == max(tree.depths)


@given(trees(), st.integers(0, 2**32 - 1))
def test_codes_make_a_hierarchical_softmax(tree, seed):
    codes = tree.paths()
    scores = [np.random.default_rng(seed + v).standard_normal(n) for v, n in enumerate(codes.arity)]
    shares = [np.exp(s) / np.exp(s).sum() for s in scores]
    total = sum(
        math.prod(
            shares[v][b]
            for v, b in zip(codes.nodes[codes.ptr[c] : codes.ptr[c + 1]], codes.branches[codes.ptr[c] :])
        )
        for c in range(len(tree))
    )
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_very_deep_tree():
    n = 30_000
    parent = [n + min(i, n - 2) for i in range(n)] + [-1, *range(n, 2 * n - 2)]
    tree = ClassTree([str(i) for i in range(n)], parent)
    assert tree.depth == n - 1
    again = ClassTree.from_newick(tree.to_newick())
    assert again.depth == n - 1
    assert again.names == ["0", *again.names[1:]]


# -- builders ---------------------------------------------------------------------------------------------


def test_from_paths():
    tree = ClassTree.from_paths(["a", "b", "c"], ["00", "01", "1"])
    assert nested(tree) == (("a", "b"), "c")
    assert tree.parent[len(tree)] == -1  # the root is the first inner node
    assert nested(ClassTree.from_paths(["b", "a"], ["0011", "0010"])) == ("a", "b")  # idle bits are left out
    assert nested(ClassTree.from_paths(list("abc"), ["0", "1", "0"])) == (("a", "c"), "b")
    assert nested(ClassTree.from_paths(["a"], ["010"])) == "a"
    classes = WordClasses(["x", "y"], [0, 1], paths=["0", "1"])
    assert nested(ClassTree.from_paths(["0", "1"], classes.paths)) == ("0", "1")


@given(trees(), st.randoms())
def test_from_paths_rebuilds_binary_trees(tree, random_):
    binary = ClassTree.huffman(tree.names, [random_.random() for _ in tree.names])
    codes = binary.paths()
    bits = ["".join(map(str, codes.branches[a:b])) for a, b in zip(codes.ptr, codes.ptr[1:])]
    assert nested(ClassTree.from_paths(binary.names, bits)) == nested(binary)


@given(names)
def test_balanced(names):
    tree = ClassTree.balanced(names)
    shallow = math.floor(math.log2(len(names)))
    assert set(tree.depths) <= {shallow, math.ceil(math.log2(len(names)))}
    assert len(tree.parent) == 2 * len(names) - 1

    def leaves(node: object) -> list[object]:
        return [node] if isinstance(node, str) else [leaf for child in node for leaf in leaves(child)]

    assert leaves(nested(tree)) == names


@given(st.lists(st.integers(0, 50) | st.floats(0, 1e6), min_size=1, max_size=40))
def test_huffman_is_optimal(counts):
    tree = ClassTree.huffman([str(i) for i in range(len(counts))], counts)
    heap = [float(count) for count in counts]
    heapq.heapify(heap)
    cost = 0.0
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        cost += both
        heapq.heappush(heap, both)
    assert float(np.dot(tree.depths, counts)) == pytest.approx(cost, rel=1e-12)
    assert len(tree.parent) == 2 * len(counts) - 1


def test_huffman_by_hand():
    counts = {"a": 45, "b": 13, "c": 12, "d": 16, "e": 9, "f": 5}  # Cormen et al., Introduction to Algorithms
    tree = ClassTree.huffman(list(counts), list(counts.values()))
    assert dict(zip(tree.names, tree.depths.tolist())) == {"a": 1, "b": 3, "c": 3, "d": 3, "e": 4, "f": 4}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassTree([], []), "a tree needs at least one class"),
        (lambda: ClassTree.balanced([]), "a tree needs at least one class"),
        (lambda: ClassTree.huffman([], []), "a tree needs at least one class"),
        (lambda: ClassTree.from_paths([], []), "a tree needs at least one class"),
        (lambda: ClassTree(["a", "a"], [2, 2, -1]), "the class 'a' appears twice"),
        (lambda: ClassTree(["a", "b"], [-1]), "2 classes but 1 nodes"),
        (lambda: ClassTree(["a", "b"], [-1, -1]), "2 nodes without a parent: only the root has none"),
        (lambda: ClassTree(["a"], [1, 2, 1]), "node 0 is its own ancestor"),
        (lambda: ClassTree(["a"], [7]), "a parent is not among the 1 nodes"),
        (lambda: ClassTree(["a", "b"], [1, 2, -1]), "the class 'b' is not a leaf"),
        (lambda: ClassTree(["a"], [1, -1, 1]), "node 2 is a leaf without a class"),
        (lambda: ClassTree(["a", "b"], [2, 2, -1], [0, 1]), "3 nodes but 2 branches"),
        (
            lambda: ClassTree(["a", "b"], [2, 2, -1], [1, 1, 0]),
            "the branches of node 2 are not numbered from 0",
        ),
        (
            lambda: ClassTree(["a", "b"], [2, 2, -1], [0, 2, 0]),
            "the branches of node 2 are not numbered from 0",
        ),
        (lambda: ClassTree.from_paths(["a"], ["0", "1"]), "1 classes but 2 paths"),
        (
            lambda: ClassTree.from_paths(["a", "b"], ["0", "x"]),
            "the path 'x' has characters other than 0 and 1",
        ),
        (
            lambda: ClassTree.from_paths(["a", "b", "c"], ["01", "1", "010"]),
            "the path '01' of 'a' is a prefix of the path '010' of 'c'",
        ),
        (lambda: ClassTree.huffman(["a"], [1, 2]), "1 classes but 2 counts"),
        (lambda: ClassTree.huffman(["a"], [-1]), "counts of classes must be finite numbers ≥ 0"),
        (lambda: ClassTree.huffman(["a"], [np.nan]), "counts of classes must be finite numbers ≥ 0"),
    ],
)
def test_bad_trees(make, message):
    with pytest.raises(OptionError) as caught:
        make()
    assert str(caught.value) == message


def test_nothing_changes():
    tree = ClassTree.balanced(["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 1
    assert repr(tree) == "ClassTree(2 classes, 1 inner nodes, depth 1)"


# -- files ------------------------------------------------------------------------------------------------

tame_names = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=5),
    unique=True,
    min_size=1,
    max_size=9,
)


@files
@given(trees())
def test_round_trips(tmp_path, tree):
    tree.save(tmp_path / "tree.spinney")
    tree.write_json(tmp_path / "tree.json.bz2")
    for back in (ClassTree.load(tmp_path / "tree.spinney"), ClassTree.read_json(tmp_path / "tree.json.bz2")):
        assert back.names == tree.names
        np.testing.assert_array_equal(back.parent, tree.parent)
        np.testing.assert_array_equal(back.branch, tree.branch)
    assert nested(ClassTree.from_newick(tree.to_newick())) == nested(tree)


@files
@given(trees(tame_names))
def test_newick_file_round_trip(tmp_path, tree):
    tree.write_newick(tmp_path / "tree.nwk")
    assert nested(ClassTree.read_newick(tmp_path / "tree.nwk")) == nested(tree)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a,b);", ("a", "b")),
        ("a;", "a"),
        ("  ( a , b ) ;\n\n", ("a", "b")),
        ("((a:0.1,b:1e-3)ab:2,c)root;", (("a", "b"), "c")),
        ("('New York','it''s',\"x\"[a comment, (really)]);", ("New York", "it's", '"x"')),
        ("(a_b,c)'inner name':1;", ("a_b", "c")),
        ("((a));", (("a",),)),
        ("(a,'');", ("a", "")),
    ],
)
def test_newick(text, expected):
    assert nested(ClassTree.from_newick(text)) == expected


def test_newick_quotes_what_other_programs_would_change():
    tree = ClassTree.balanced(["a_b", "it's", "x y", "plain.1-2", "naïve"])
    assert tree.to_newick() == "(('a_b','it''s'),('x y',(plain.1-2,naïve)));"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: column 1: no ';' at the end of the tree"),
        (";", ":1: column 1: a leaf without a name"),
        ("(a,b)", ":1: column 6: no ';' at the end of the tree"),
        ("(a,\n b;", ":2: column 3: the tree ends, but 1 '(' are not closed"),
        ("(a,b));", ":1: column 6: ')' outside of parentheses"),
        ("a,b;", ":1: column 2: ',' outside of parentheses"),
        ("(a,,b);", ":1: column 4: a leaf without a name"),
        ("(a,());", ":1: column 5: a leaf without a name"),
        ("(a,b)(c);", ":1: column 6: '(' where ',' or ')' is needed"),
        (
            "(New York,b);",
            ":1: column 6: the name 'York' where ',' or ')' is needed; put names with spaces in quotes",
        ),
        ("(a,b); (c);", ":1: column 8: there is text after the end of the tree"),
        ("(a,'b);", ":1: column 4: a quote without its end"),
        ("(a,[b);", ":1: column 4: a comment without its end"),
        ("(a,b]);", ":1: column 5: ']' without its '['"),
        ("(a:x,b);", ":1: column 3: ':' without a length"),
        ("(:3,b);", ":1: column 2: a length without a node"),
        ("(a,b,a);", ": the class 'a' appears twice"),
    ],
)
def test_bad_newick(tmp_path, text, message):
    path = tmp_path / "tree.nwk"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        ClassTree.read_newick(path)
    assert str(caught.value) == f"{path}{message}"
    with pytest.raises(InputError, match=r"^<text>:"):
        ClassTree.from_newick(text)


@given(st.text("(),;:'[]ab \n1", max_size=30))
def test_any_text_is_a_tree_or_one_error(text):
    try:
        tree = ClassTree.from_newick(text)
    except InputError:
        return
    assert nested(ClassTree.from_newick(tree.to_newick())) == nested(tree)


def test_unclosed_quotes_take_no_time():
    rng = random.Random(0)
    text = "(" + "".join(rng.choice("a''") for _ in range(200_001))
    with pytest.raises(InputError):
        ClassTree.from_newick(text)


def test_names_that_a_text_file_cannot_hold(tmp_path):
    with pytest.raises(OptionError, match="cannot be written to a text file: write JSON instead"):
        ClassTree.balanced(["a\r", "b"]).write_newick(tmp_path / "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": [{"name": "a"}, {}', ":1: not JSON: expecting ',' delimiter in column 29"),
        ("{}", ': no "nodes"'),
        ('{"nodes": [{"name": 3}]}', ': node 0: "name" must be a string'),
        (
            '{"nodes": [{"parent": null}, {"name": "a", "parent": 0}]}',
            ": node 1: a named leaf after a node without a name (put the leaves first)",
        ),
        ('{"nodes": [{"name": "a", "parent": 5}]}', ": a parent is not among the 1 nodes"),
        ('{"nodes": [{"name": "a", "parent": 1, "branch": 0}, {}]}', ": 2 nodes but 1 branches"),
    ],
)
def test_bad_json(tmp_path, text, message):
    path = tmp_path / "tree.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        ClassTree.read_json(path)
    assert str(caught.value) == f"{path}{message}"


def test_json_by_hand(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text('{"nodes": [{"name": "a", "parent": 2}, {"name": "b", "parent": 2}, {"parent": null}]}')
    assert nested(ClassTree.read_json(path)) == ("a", "b")


def test_a_damaged_model_file(tmp_path):
    path = tmp_path / "tree.spinney"
    _, tensors, strings = ClassTree.balanced(["a", "b"]).parts()
    cyclic = {**tensors, "parent": np.array([2, 2, 2], dtype=np.int32)}
    write_model(path, "structure/ClassTree", {}, cyclic, strings)
    with pytest.raises(ModelFileError, match=r"tree\.spinney: damaged: node 0 is its own ancestor"):
        ClassTree.load(path)


# -- word classes as a tree -------------------------------------------------------------------------------


@st.composite
def classes_and_names(draw, paths=True):
    """Word classes of a few words, the names of outcomes (some of them no words), and counts."""
    words = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=8))
    depth = 3
    ids = draw(st.lists(st.integers(0, 2**depth - 1), min_size=len(words), max_size=len(words)))
    used = sorted(set(ids))
    codes = [f"{i:0{depth}b}" for i in used]
    classes = WordClasses(words, [used.index(i) for i in ids], paths=codes if paths else None)
    strangers = draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=3))
    known = draw(st.lists(st.sampled_from(words), unique=True, min_size=1))
    names = draw(st.permutations([*known, *strangers]))
    counts = draw(st.lists(st.integers(0, 9), min_size=len(names), max_size=len(names)))
    return classes, names, counts


@given(st.one_of(classes_and_names(), classes_and_names(paths=False)))
def test_every_name_hangs_once_in_a_tree_of_classes(case):
    classes, names, counts = case
    tree = ClassTree.from_classes(classes, names, counts)
    assert list(tree.names) == list(names)
    inner = range(len(names), len(tree.parent))
    assert all(np.count_nonzero(tree.parent == v) == 2 for v in inner)


@given(classes_and_names())
def test_a_tree_of_classes_keeps_their_paths(case):
    """With one known name a class, the tree is that of the paths, beside one of strangers; classes stay together."""
    classes, names, counts = case
    chosen = {}
    for name in names:
        if name in classes:
            chosen.setdefault(classes[name], name)
    alone = [name for name in names if chosen.get(classes.get(name)) == name]
    weights = [counts[names.index(name)] for name in alone]
    tree = ClassTree.from_classes(classes, alone, weights)
    paths = ClassTree.from_paths(alone, [classes.paths[classes[name]] for name in alone])
    assert nested(tree) == nested(paths)


def test_the_words_of_a_class_hang_in_a_huffman_tree():
    classes = WordClasses(["a", "b", "c", "d"], [0, 0, 0, 1], paths=["0", "1"])
    tree = ClassTree.from_classes(classes, ["a", "b", "c", "d"], [8, 1, 2, 1])
    inside, rest = nested(tree)
    assert rest == "d"
    assert inside == nested(ClassTree.huffman(["a", "b", "c"], [8, 1, 2]))


def test_classes_without_a_word_among_the_names_make_no_tree():
    classes = WordClasses(["a"], [0], paths=[""])
    with pytest.raises(OptionError, match="no word has a class"):
        ClassTree.from_classes(classes, ["x", "y"], [1, 1])
    with pytest.raises(OptionError, match="2 classes but 1 counts"):
        ClassTree.from_classes(classes, ["a", "y"], [1])
