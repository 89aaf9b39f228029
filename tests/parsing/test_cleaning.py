from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import ReadReport, Tree
from spinney.errors import InputError, OptionError
from spinney.parsing.cleaning import clean_tree, plain_label, read_treebank

PTB = """
( (S
    (NP-SBJ-1 (NNP Ada) )
    (VP (VBD was)
      (VP (VBN seen)
        (NP (-NONE- *-1) )))
    (. .) ))

( (X-HLN
    (-NONE- *) ))
( (FRAG (NN tea) ))
"""

LABEL = st.sampled_from(
    ["S", "NP", "NP-SBJ", "NP=2", "NP-1", "-NONE-", "TOP", "", "-LRB-", "PRT|ADVP", "a|b-c"]
)
TREE = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABEL, st.sampled_from("ab")),
    lambda inner: st.builds(Tree, LABEL, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=1-3", "NP"),
        ("PRT|ADVP", "PRT"),
        ("ADVP|PRT-CLR", "ADVP"),
        *(
            (same, same)
            for same in ("-LRB-", "-RRB-", "-NONE-", ",", ":", "$", "#", "PRP$", "``", "''", "", "-", "=")
        ),
    ],
)
def test_labels(label, plain):
    assert plain_label(label) == plain


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("( (S (NP (NN a)) (VP (VB b))))", "(S (NP (NN a)) (VP (VB b)))"),
        ("(ROOT (S1 (TOP (NN a))))", "(NN a)"),
        ("(TOP a)", "(TOP a)"),
        ("( (S (NN a)) (S (NN b)))", "(TOP (S (NN a)) (S (NN b)))"),
        ("(ROOT (S (-NONE- a)) (S (NN b)))", "(S (NN b))"),
        ("(S (NP-SBJ (NP (NP-1 (NN a)))))", "(S (NP (NN a)))"),
        ("(S (NP (NP (NN a)) (SBAR (-NONE- 0) (S (-NONE- *T*)))))", "(S (NP (NN a)))"),
        ("(NP (NP (NN a)) (NP (NN b)))", "(NP (NP (NN a)) (NP (NN b)))"),
        ("(X (X a))", "(X a)"),
    ],
)
def test_what_is_taken_away(before, after):
    assert str(clean_tree(Tree.parse(before))) == after


def test_what_is_kept():
    tree = Tree.parse("( (S (NP-SBJ-1 (NP (NN a)) (-NONE- *)) (PRT|ADVP-CLR (RP up))))")
    assert str(clean_tree(tree, functions=True)) == "(S (NP-SBJ-1 (NN a)) (PRT-CLR (RP up)))"
    assert str(clean_tree(tree, empties=True)) == "(S (NP (NP (NN a)) (-NONE- *)) (PRT (RP up)))"
    assert str(clean_tree(tree, repeats=True)) == "(S (NP (NP (NN a))) (PRT (RP up)))"
    assert clean_tree(Tree.parse("( (S (-NONE- *)))")) is None


@given(TREE)
@settings(deadline=None)
def test_clean_trees_are_clean(tree):
    cleaned = clean_tree(tree)
    words = [node.word for node in tree.nodes() if node.word is not None and node.label != "-NONE-"]
    assert ([] if cleaned is None else cleaned.leaves()) == words
    if cleaned is not None:
        assert clean_tree(cleaned) == cleaned
        for node in cleaned.nodes():
            assert node.label == plain_label(node.label)
            assert not (len(node.children) == 1 and node.children[0].label == node.label)
    kept = clean_tree(tree, functions=True)
    assert (kept is None) == (cleaned is None)
    if kept is not None:
        assert clean_tree(kept) == cleaned
    everything = clean_tree(tree, functions=True, empties=True, repeats=True)
    assert everything is not None
    assert everything.leaves() == tree.leaves()


def test_depth():
    tree = Tree("NN", word="a")
    for i in range(5_000):
        tree = Tree(f"X{i % 2}-SBJ", [tree])
    cleaned = clean_tree(tree)
    assert cleaned is not None
    assert sum(1 for _ in cleaned.nodes()) == 5_001


def test_files(tmp_path: Path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.mrg").write_text(PTB)
    (tmp_path / "a.txt").write_text("(S (NP-SBJ (NN a)))\n")
    (tmp_path / "README").write_text("no tree\n")
    (tmp_path / ".hidden.mrg").write_text("no tree\n")
    report = ReadReport()
    trees = [str(tree) for tree in read_treebank(tmp_path, report=report)]
    assert trees == [
        "(S (NP (NN a)))",
        "(S (NP (NNP Ada)) (VP (VBD was) (VP (VBN seen))) (. .))",
        "(FRAG (NN tea))",
    ]
    assert (report.read, report.empty, report.skipped) == (3, 1, 0)
    raw = list(read_treebank(tmp_path, clean=False))
    assert [tree.label for tree in raw] == ["S", "", "", ""]
    assert next(read_treebank(tmp_path / "a.txt", functions=True)) == Tree.parse("(S (NP-SBJ (NN a)))")


def test_bad_files(tmp_path: Path):
    with pytest.raises(InputError, match="no tree files in this folder"):
        list(read_treebank(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        list(read_treebank(tmp_path / "none.mrg"))
    (tmp_path / "bad.mrg").write_text("(S (NN a))\n(S (NN b)\n(S (NN c))\n")
    with pytest.raises(InputError, match=r"bad\.mrg:2: 1 brackets are not closed"):
        list(read_treebank(tmp_path))
    report = ReadReport()
    assert len(list(read_treebank(tmp_path, on_error="skip", report=report))) == 2
    assert report.skipped == 1
    with pytest.raises(OptionError):
        list(read_treebank(tmp_path, on_error="ignore"))


def test_the_penn_treebank_sample(tmp_path: Path):
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA is not set: no real corpora")
    with zipfile.ZipFile(Path(folder) / "nltk" / "treebank.zip") as archive:
        archive.extractall(tmp_path)
    trees = list(read_treebank(tmp_path / "treebank" / "combined"))
    assert len(trees) == 3_914
    assert sum(len(tree.leaves()) for tree in trees) == 94_084  # as the dependency treebank of the same text
    labels = {node.label for tree in trees for node in tree.nodes() if node.word is None}
    assert len(labels) == 26
    assert not {label for label in labels if not label.isalpha()}
    assert {tree.label for tree in trees} >= {"S", "NP", "FRAG"}
    assert "" not in labels
    assert "TOP" not in labels
