from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import ReadReport, Tree, read_trees, write_trees
from spinney.errors import InputError, OptionError

PTB = """
( (S
    (NP-SBJ (NNP McDermott) (NNP Inc.) )
    (VP (VBD said)
      (SBAR (-NONE- 0)
        (S (-NONE- *T*-1) )))
    (. .) ))
( (X (Y z)))
"""

LABEL = st.text(
    st.characters(exclude_characters="()\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \0", exclude_categories=["Cs"])
)
TREE = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABEL.filter(bool), LABEL.filter(bool)),
    lambda inner: st.builds(Tree, LABEL, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=12,
)


@given(st.lists(TREE, max_size=4))
def test_round_trip(tmp_path_factory, trees):
    path = tmp_path_factory.mktemp("trees") / "a.txt"
    write_trees(path, trees)
    assert list(read_trees(path)) == trees
    assert [Tree.parse(str(tree)) for tree in trees] == trees


def test_penn_treebank(make, tmp_path):
    path = make(PTB)
    report = ReadReport()
    first, second = read_trees(path, report=report)
    assert report.read == 2
    assert first.label == ""
    assert first.leaves() == ["McDermott", "Inc.", "said", "0", "*T*-1", "."]
    assert first.tags() == ["NNP", "NNP", "VBD", "-NONE-", "-NONE-", "."]
    assert second == Tree("", [Tree("X", [Tree("Y", word="z")])])
    write_trees(tmp_path / "out.mrg", [first, second])
    squeezed = " ".join(PTB.split()).replace("( (", "((").replace(") )", "))").replace(") )", "))")
    written = " ".join((tmp_path / "out.mrg").read_text().split()).replace("( (", "((")
    assert written == squeezed


def test_several_trees_a_line_and_odd_spaces(make):
    path = make("(A (B x))(C\ty) ( D z )\n  (E (F v\xa0\x85w))\r\n")
    assert [str(tree) for tree in read_trees(path)] == ["(A (B x))", "(C y)", "(D z)", "(E (F v\xa0\x85w))"]


def test_spans():
    tree = Tree.parse("(S (NP (D the) (N dog)) (VP (V saw) (NP (N cats))))")
    assert [span for span in tree.spans() if span[0] in "SNPVP"] == [
        ("S", 0, 4), ("NP", 0, 2), ("N", 1, 2), ("VP", 2, 4), ("V", 2, 3), ("NP", 3, 4), ("N", 3, 4),
    ]  # fmt: skip


@given(TREE)
def test_spans_cover_the_leaves_below(tree):
    leaves = tree.leaves()
    for node, (label, start, stop) in zip(tree.nodes(), tree.spans(), strict=True):
        assert label == node.label
        assert leaves[start:stop] == node.leaves()


def test_deep_trees(tmp_path):
    depth = 100_000
    text = "(A " * depth + "(B x)" + ")" * depth
    tree = Tree.parse(text)
    assert str(tree) == text
    assert tree == Tree.parse(text)
    assert hash(tree) == hash(Tree.parse(text))
    assert sum(1 for _ in tree.nodes()) == depth + 1
    assert len(list(tree.spans())) == depth + 1
    write_trees(tmp_path / "deep.txt", [tree])
    assert list(read_trees(tmp_path / "deep.txt")) == [tree]
    del tree


GOOD = "(A (B x))\n"
BAD = [
    ("(A (B x)\n", 1, "1 brackets are not closed before the next tree"),
    ("(A (B\n  (C x)\n", 1, "2 brackets are not closed before the next tree"),
    ("(A (B x)))\n", 1, "a closing bracket without an opening one"),
    ("(A (B x))\n   )\n", 2, "a closing bracket without an opening one"),
    ("(A x) stray\n", 1, "text outside brackets: 'stray'"),
    ("(A x)\n*x*x*\n", 2, "text outside brackets: '*x*x*'"),
    ("(A (B x)\n  y)\n", 2, "a word next to other words or brackets"),
    ("(A y\n  (B x))\n", 1, "a word next to other words or brackets"),
    ("(A x y)\n", 1, "a word next to other words or brackets"),
    ("(A\n  ())\n", 2, "an empty pair of brackets"),
    ("(A)\n", 1, "an empty pair of brackets"),
]


@pytest.mark.parametrize(("text", "line", "message"), BAD)
def test_bad_trees(make, text, line, message):
    path = make(GOOD * 3 + text + GOOD * 2)
    with pytest.raises(InputError) as caught:
        list(read_trees(path))
    assert str(caught.value).startswith(f"{path}:{3 + line}: {message}")
    report = ReadReport()
    trees = list(read_trees(path, on_error="skip", report=report))
    assert {str(tree) for tree in trees} == {"(A (B x))"}
    assert (len(trees), report.read, report.skipped) == (5, 5, 1)
    assert report.errors == [str(caught.value)]


def test_bad_tree_at_the_end_and_bad_bytes(make):
    with pytest.raises(InputError, match=r":2: 1 brackets"):
        list(read_trees(make(GOOD + "(A (B x)")))
    path = make(GOOD.encode() + b"(A \xff)\n" + GOOD.encode())
    with pytest.raises(InputError, match=r":2: not UTF-8"):
        list(read_trees(path))
    assert len(list(read_trees(path, on_error="skip"))) == 2


def test_the_right_line_far_into_a_file(make):
    with pytest.raises(InputError, match=r":50001: a word next to"):
        list(read_trees(make(GOOD * 50_000 + "(A x y)\n" + GOOD * 1000)))


def test_wrong_trees_cannot_be_made_or_written(tmp_path):
    with pytest.raises(OptionError, match="either children or a word"):
        Tree("A")
    with pytest.raises(OptionError, match="either children or a word"):
        Tree("A", [Tree("B", word="x")], "y")
    for bad in ("(", "a b", "", "a)"):
        with pytest.raises(InputError, match="cannot be written in brackets"):
            write_trees(tmp_path / "a.txt", [Tree("A", word=bad)])
        with pytest.raises(InputError, match="cannot be written in brackets"):
            write_trees(tmp_path / "a.txt", [Tree(bad, word="x")])
    with pytest.raises(InputError, match="2 trees where one is expected"):
        Tree.parse("(A x) (B y)")
    assert Tree.parse("(A x)") != "(A x)"
    assert repr(Tree.parse("(A  x)")) == "Tree.parse('(A x)')"
