from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Tree
from spinney.errors import OptionError
from spinney.parsing.binarising import Binarisation, to_phrase
from spinney.parsing.cleaning import read_treebank
from spinney.parsing.headrules import COLLINS, HeadRule, HeadRules

SETTINGS = st.builds(
    Binarisation,
    horizontal=st.sampled_from([0, 1, 2, None]),
    vertical=st.integers(1, 4),
    unaries=st.sampled_from(["one", "collapse"]),
    branching=st.sampled_from(["head", "left", "right"]),
    heads=st.sampled_from([COLLINS, HeadRules.leftmost(), HeadRules.rightmost()]),
)
LABEL = st.one_of(
    st.sampled_from(["S", "NP", "VP", "NN", "CC", ","]), st.text("@+^|\\0A", max_size=4), st.text(max_size=3)
)


def trees(label):
    return st.recursive(
        st.builds(lambda label, word: Tree(label, word=word), label, st.text("ab", min_size=1, max_size=1)),
        lambda inner: st.builds(Tree, label, st.lists(inner, min_size=1, max_size=6)),
        max_leaves=20,
    )


def is_part(node: Tree) -> bool:
    return node.label.startswith("@")


@given(trees(LABEL), SETTINGS)
@settings(deadline=None, max_examples=300)
def test_every_tree_comes_back(tree, how):
    binary = how.binarise(tree)
    assert how.restore(binary) == tree
    assert Binarisation().restore(binary) == tree  # the labels say it all
    assert binary.leaves() == tree.leaves()
    assert all(node.label for node in binary.nodes())
    for node in binary.nodes():
        assert len(node.children) <= 2
        if len(node.children) == 1:
            assert how.unaries == "one"
            assert len(node.children[0].children) != 1
            assert not is_part(node)
            assert not is_part(node.children[0])
        if is_part(node):
            assert len(node.children) == 2


@given(trees(st.text("@+^|\\0AB", max_size=6)), SETTINGS)
@settings(deadline=None, max_examples=200)
def test_any_tree_of_such_labels_can_be_restored(tree, how):
    restored = how.restore(tree)
    assert restored.leaves() == tree.leaves()


@given(trees(st.sampled_from(["S", "NP", "VP", "NN"])), SETTINGS)
@settings(deadline=None)
def test_plain_labels_of_grammar_labels(tree, how):
    plain = {node.label for node in tree.nodes()}
    for node in how.binarise(tree).nodes():
        assert set(to_phrase(node.label).split("+")) <= plain


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, "(X (A a) (@X|E (@X|D (C c) (D d)) (E e)))"),
        ({"horizontal": 0}, "(X (A a) (@X (@X (C c) (D d)) (E e)))"),
        ({"horizontal": 2}, "(X (A a) (@X|E|D (@X|D (C c) (D d)) (E e)))"),
        ({"branching": "left"}, "(X (@X|D (@X|C (A a) (C c)) (D d)) (E e))"),
        ({"branching": "right", "horizontal": None}, "(X (A a) (@X|C|D (C c) (@X|D (D d) (E e))))"),
    ],
)
def test_siblings(how, expected):
    heads = HeadRules((HeadRule("X", "left", (("C",),)),))
    tree = Tree.parse("(X (A a) (C c) (D d) (E e))")
    assert str(Binarisation(heads=heads, **how).binarise(tree)) == expected


@pytest.mark.parametrize(
    ("vertical", "unaries", "expected"),
    [
        (1, "one", "(A+B (C (D (T t)) (E+F (U u))))"),
        (2, "one", "(A+B (C^B (D^C (T t)) (E+F^C (U u))))"),
        (3, "one", "(A+B (C^B^A (D^C^B (T t)) (E+F^C^B (U u))))"),
        (1, "collapse", "(A+B+C (D+T t) (E+F+U u))"),
        (3, "collapse", "(A+B+C (D+T t) (E+F+U u))"),
    ],
)
def test_chains_and_parents(vertical, unaries, expected):
    tree = Tree.parse("(A (B (C (D (T t)) (E (F (U u))))))")
    assert str(Binarisation(vertical=vertical, unaries=unaries).binarise(tree)) == expected


def test_parts_remember_what_is_above_the_phrase_itself():
    tree = Tree.parse("(S (V v) (A (B (C (T t) (T t) (T t)))))")
    how = Binarisation(horizontal=0, vertical=3, branching="right")
    assert str(how.binarise(tree)) == "(S (V v) (A+B^S (C^B^A (T t) (@C^B^A (T t) (T t)))))"
    collapsed = Binarisation(horizontal=0, vertical=3, unaries="collapse", branching="right").binarise(tree)
    assert str(collapsed) == "(S (V v) (A+B+C^S (T t) (@C^B^A (T t) (T t))))"


@pytest.mark.parametrize(
    ("grammar", "plain"),
    [
        ("(@NP|DT (DT a) (NN b))", "(NP (DT a) (NN b))"),
        ("(S (@NP (DT a) (NN b)))", "(S (DT a) (NN b))"),
        ("(S (@NP a) (NN b))", "(S (NP a) (NN b))"),
        ("(@S+NP^X (@A (@B (C c))))", "(S (NP (C c)))"),
        ("(S+^|x (NN a))", "(S ( (NN a)))"),
    ],
)
def test_odd_trees(grammar, plain):
    assert Binarisation().restore(Tree.parse(grammar)) == Tree.parse(plain)


def test_long_and_deep():
    wide = Tree("NP", [Tree("NN", word="a")] * 3_000)
    deep = Tree("NN", word="a")
    for i in range(5_000):
        deep = Tree(f"X{i % 3}", [deep] if i % 2 else [deep, Tree("NN", word="b"), Tree("NN", word="c")])
    chain = Tree("NN", word="a")
    for _ in range(5_000):
        chain = Tree("X", [chain])
    for tree in (wide, deep, chain):
        for unaries in ("one", "collapse"):
            how = Binarisation(vertical=2, unaries=unaries)
            assert how.restore(how.binarise(tree)) == tree


@pytest.mark.parametrize(
    "wrong", [{"horizontal": -1}, {"vertical": 0}, {"unaries": "all"}, {"branching": "middle"}]
)
def test_bad_options(wrong):
    with pytest.raises(OptionError, match=f"{next(iter(wrong))} must be"):
        Binarisation(**wrong)


@pytest.mark.slow
def test_the_penn_treebank_sample(tmp_path: Path):
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA is not set: no real corpora")
    with zipfile.ZipFile(Path(folder) / "nltk" / "treebank.zip") as archive:
        archive.extractall(tmp_path)
    trees = list(read_treebank(tmp_path / "treebank" / "combined"))
    raw = list(read_treebank(tmp_path / "treebank" / "combined", clean=False))
    for how in (
        Binarisation(),
        Binarisation(horizontal=0, vertical=2, unaries="collapse"),
        Binarisation(horizontal=None, vertical=3, branching="left"),
        Binarisation(horizontal=2, unaries="collapse", branching="right"),
    ):
        for tree in trees:
            assert how.restore(how.binarise(tree)) == tree
    for tree in raw:
        assert Binarisation().restore(Binarisation().binarise(tree)) == tree
