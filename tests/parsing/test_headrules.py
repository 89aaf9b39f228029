from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Tree
from spinney.errors import InputError, OptionError
from spinney.parsing.headrules import COLLINS, PUNCTUATION, HeadRule, HeadRules


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("NP", "DT NN POS", 2),
        ("NP", "NP POS", 1),
        ("NP", "NP NN NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NP , NP ,", 0),
        ("NP", "DT JJ", 1),
        ("NP", "QP $ CD", 1),
        ("NP", "DT CD JJ", 1),
        ("NP", "DT ADJP CD", 1),
        ("NP", "DT VBG", 1),
        ("NP", "PRP", 0),
        ("NP", "NN CC NN", 0),
        ("NP", "DT NN , NN CC NN", 3),
        ("NP", "NN , CC NN", 0),
        ("NP", "CC NN", 1),
        ("S", "NP VP .", 1),
        ("S", "S CC S", 0),
        ("S", "NP TO VP", 1),
        ("S-TPC-1", "NP-SBJ VP-X", 1),
        ("SBAR", "WHNP-1 S", 0),
        ("SBAR", "IN S", 0),
        ("VP", "MD VP", 0),
        ("VP", "TO VP", 0),
        ("VP", "ADVP VBD NP PP", 1),
        ("VP", "VBD NP CC VBD NP", 0),
        ("VP", "VP CC VP", 0),
        ("PP", "IN NP", 0),
        ("PP", "RB IN NP", 1),
        ("QP", "RB CD CD", 0),
        ("ADVP", "RB RB", 1),
        ("WHNP", "WP$ NN", 0),
        ("SINV", "`` S '' VBZ NP .", 3),
        ("FRAG", "NP : NP .", 2),
        ("PRN", ": S :", 1),
        ("NOSUCH", "A B .", 1),
        ("PRN", "-LRB- -RRB-", 0),
    ],
)
def test_collins(label, children, head):
    assert COLLINS.head_child(label, children.split()) == head
    assert COLLINS.head_child(label, children.split()) == head  # once more, from memory


def collins_np(children: list[str]) -> int:
    """The rules for NP in the words of Collins (1999), p. 238; then that for coordination."""
    n = len(children)
    backwards = range(n - 1, -1, -1)

    def head() -> int:
        if children[-1] == "POS":
            return n - 1
        for i in backwards:
            if children[i] in ("NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"):
                return i
        if "NP" in children:
            return children.index("NP")
        for several in (("$", "ADJP", "PRN"), ("CD",), ("JJ", "JJS", "RB", "QP")):
            for i in backwards:
                if children[i] in several:
                    return i
        return n - 1

    found = head()
    return found - 2 if found >= 2 and children[found - 1] == "CC" else found


IN_NOUN_PHRASES = [
    "NN",
    "NNP",
    "NX",
    "POS",
    "JJR",
    "NP",
    "$",
    "ADJP",
    "PRN",
    "CD",
    "JJ",
    "RB",
    "QP",
    "DT",
    "CC",
]


@given(st.lists(st.sampled_from(IN_NOUN_PHRASES), min_size=1))
@settings(deadline=None)
def test_noun_phrases(children):
    assert COLLINS.head_child("NP", children) == collins_np(children)


LABELS = st.sampled_from(["A", "B", "C", "CC", ",", "#", "$", "*"])
RULE = st.builds(
    HeadRule,
    st.sampled_from(["A", "B", "-X-"]),
    st.sampled_from(["left", "right"]),
    st.lists(st.lists(LABELS, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple),
)
RULES = st.builds(
    HeadRules,
    st.lists(RULE, max_size=4).map(tuple),
    st.sampled_from(["left", "right"]),
    st.frozensets(LABELS),
    st.sampled_from([PUNCTUATION, frozenset(), frozenset({"$", "-LRB-"})]),
)


@given(RULES, st.sampled_from("ABC"), st.lists(LABELS, min_size=1, max_size=6))
@settings(deadline=None, max_examples=200)
def test_any_rules(tmp_path_factory, rules, label, children):
    path = tmp_path_factory.mktemp("rules") / "rules.txt"
    rules.write(path)
    again = HeadRules.read(path)
    assert again == rules
    assert hash(again) == hash(rules)
    head = rules.head_child(label, children)
    assert again.head_child(label, children) == head
    assert 0 <= head < len(children)
    marks = rules.punctuation
    if set(children) - marks and not any(marks & set(group) for rule in rules.rules for group in rule.wanted):
        assert children[head] not in marks


def test_collins_survives_a_file(tmp_path):
    COLLINS.write(tmp_path / "collins.txt")
    assert HeadRules.read(tmp_path / "collins.txt") == COLLINS


def test_left_and_right():
    assert HeadRules.leftmost().head_child("X", [",", "A", "B"]) == 1
    assert HeadRules.rightmost().head_child("X", ["A", "B", "."]) == 1
    assert HeadRules.leftmost().head_child("X", [",", "."]) == 0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("NP", "'' where left or right is expected"),
        ("NP middle NN", "'middle' where left or right is expected"),
        ("NP conjunctions CC", "'conjunctions' where left or right is expected"),
        ("NP left (NN NNS", "an unmatched bracket"),
        ("NP left NN) NNS", "an unmatched bracket"),
        ("NP left () NNS", "brackets without a label"),
        ("* left NN", "takes no labels"),
        ("(NP left NN", "where the label of a phrase is expected"),
    ],
)
def test_bad_files(tmp_path, line, what):
    path = tmp_path / "rules.txt"
    path.write_text(f"# rules\n  # and more\n{line}\n")
    with pytest.raises(InputError, match=what) as error:
        HeadRules.read(path)
    assert error.value.line == 3


def test_bad_rules():
    with pytest.raises(OptionError, match="white space"):
        HeadRules((HeadRule("NP", "left", (("a b",),)),))
    with pytest.raises(OptionError, match="a special meaning in a file"):
        HeadRules((HeadRule("#", "left"),))
    with pytest.raises(OptionError, match="at the left or at the right"):
        dataclasses.replace(COLLINS, default="up")
    with pytest.raises(OptionError, match="without children"):
        COLLINS.head_child("NP", [])


def test_head_words():
    tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP$ its) (NN tail))) (. .))")
    assert COLLINS.head_words(tree) == [2, 1, 0, 1, 2, 2, 4, 3, 4, 5]
    leaf = Tree("NN", word="a")
    assert COLLINS.head_words(leaf) == [0]
    twice = Tree("X", [leaf, leaf])  # one object in two places
    assert HeadRules.rightmost().head_words(twice) == [1, 0, 1]


def test_depth():
    tree = Tree("NN", word="a")
    for _ in range(5_000):
        tree = Tree("NP", [Tree("NN", word="b"), tree])
    heads = HeadRules.rightmost().head_words(tree)
    assert heads[0] == 5_000
    assert len(heads) == 10_001
