from __future__ import annotations

import zipfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Tree, read_trees
from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    COLLINS,
    Conventions,
    LabelCounts,
    bracket_counts,
    bracket_f1,
    f1_interval,
    paired_bootstrap,
    parseval,
)

EVALB = replace(COLLINS, failures="skip", mistagged="fail")


# The sample that comes with evalb (public domain), and what its authors' program lists for it.
SAMPLE_GOLD = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"
LONG = "(S " + " ".join(["(A (P this)) (B (Q is) (A (R a) (T test)))"] * 11) + ")"
SAMPLE = [  # the parser's tree; gold, guessed, matched, crossing, words, tags, status
    ("(S (A (P this)) (B (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4, 0)),
    ("(S (A (P this)) (B (Q is) (C (R a) (T test))))", (4, 4, 3, 0, 4, 4, 0)),
    ("(S (A (P this)) (B (Q is) (A (R a) (U test))))", (4, 4, 4, 0, 4, 3, 0)),
    ("(S (C (P this)) (B (Q is) (A (R a) (U test))))", (4, 4, 3, 0, 4, 3, 0)),
    ("(S (A (P this)) (B (Q is) (R a) (A (T test))))", (4, 4, 3, 0, 4, 4, 0)),
    ("(S (A (P this) (Q is)) (A (R a) (T test)))", (4, 3, 2, 1, 4, 4, 0)),
    ("(S (P this) (Q is) (R a) (T test))", (4, 1, 1, 0, 4, 4, 0)),
    ("( (P this) (Q is) (R a) (T test))", (4, 0, 0, 0, 4, 4, 0)),  # evalb reads four trees on the line
    ("(S (A (P this)) (B (Q is) (A (A (R a) (T test)))))", (4, 5, 4, 0, 4, 4, 0)),
    ("(S (A (P this)) (B (Q is) (A (A (A (A (A (R a) (T test))))))))", (4, 8, 4, 0, 4, 4, 0)),
    (None, (0, 0, 0, 0, 0, 0, 2)),
    ("(S (A (P this)) (B (Q was) (A (A (R a) (T test)))))", (0, 0, 0, 0, 0, 0, 1)),
    ("(S (A (P this)) (B (Q is) (U not) (A (A (R a) (T test)))))", (0, 0, 0, 0, 0, 0, 1)),
    (None, (0, 0, 0, 0, 0, 0, 2)),
    ("(TOP (S (A (P this)) (B (Q is) (A (R a) (T test)))))", (4, 4, 4, 0, 4, 4, 0)),
    ("(S (A (P this)) (NONE *) (B (Q is) (A (R a) (T test))))", (0, 0, 0, 0, 0, 0, 1)),
    ("(S (A (P this)) (S (NONE abc) (A (NONE *))) (B (Q is) (A (R a) (T test))))", (0, 0, 0, 0, 0, 0, 1)),
    ("(S (A (P this)) (B (Q is) (A (R a) (TT test))))", (4, 4, 4, 0, 4, 4, 0)),
    ("(S (A (P this)) (B (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4, 0)),  # there with This = this
    ("(S (A (P That)) (B (Q is) (A (R a) (T test))))", (0, 0, 0, 0, 0, 0, 1)),
    ("(S (A (P this)) (B (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4, 0)),
    (LONG, (34, 34, 34, 0, 44, 44, 0)),
    ("(S (A (P this)) (B (Q is) (A (R a) (T test))) (-NONE- *))", (4, 4, 4, 0, 4, 4, 0)),
    ("(S (A (P this)) (B (Q is) (A (R a) (T test))) (: *))", (4, 4, 4, 0, 4, 4, 0)),
]


def test_the_sample_of_evalb():
    conventions = replace(EVALB, equal=(("TT", "T"),))
    guess = [None if text is None else Tree.parse(text) for text, _ in SAMPLE]
    gold = [Tree.parse(LONG if text == LONG else SAMPLE_GOLD) for text, _ in SAMPLE]
    gold[22], gold[23] = (Tree.parse(f"{SAMPLE_GOLD[:-1]} ({tag} *))") for tag in ("-NONE-", ":"))
    assert bracket_counts(gold, guess, conventions).tolist() == [list(row) for _, row in SAMPLE]
    scores = parseval(gold, guess, conventions)
    rates = (scores.recall, scores.precision, scores.f1, scores.exact)
    assert [round(100 * rate, 2) for rate in rates] == [87.76, 90.53, 89.12, 52.94]
    rates = (scores.crossing, scores.no_crossing, scores.few_crossing, scores.tagging)
    assert [round(100 * rate, 2) for rate in rates] == [5.88, 94.12, 100, 98.15]
    assert (scores.sentences, scores.counted) == (24, 17)
    assert scores.failed == (11, 14)
    assert scores.mismatched == (12, 13, 16, 17, 20)


def counts(gold: str, guess: str | None, conventions: Conventions = COLLINS) -> list[int]:
    return bracket_counts(
        [Tree.parse(gold)], [None if guess is None else Tree.parse(guess)], conventions
    ).tolist()[0]


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        # a trace is no word, and a phrase of nothing but traces no bracket
        ("( (S (NP (-NONE- *)) (VP (VB go)) (. .)))", "(S (VP (VB go)) (. .))", [2, 2, 2, 0, 1, 1, 0]),
        # punctuation is taken out before spans are numbered: where it hangs makes no difference
        ("(S (NP (NN a) (, ,)) (VP (VB b)))", "(S (NP (NN a)) (VP (, ,) (VB b)))", [3, 3, 3, 0, 2, 2, 0]),
        # nor what mark it is
        ("(S (NP (NN a)) (. .))", "(S (NP (NN a)) (. ?))", [2, 2, 2, 0, 1, 1, 0]),
        # nor whether it is there at all
        ("(S (NP (NN a)) (. .))", "(S (NP (NN a)))", [2, 2, 2, 0, 1, 1, 0]),
        # function tags, indices and gaps; tags of words keep theirs
        ("(S-TPC-1 (NP=2 (NN-X a)))", "(S (NP-SBJ (NN a)))", [2, 2, 2, 0, 1, 0, 0]),
        # what is no index stays
        ("(S (PRT|ADVP (RB a)))", "(S (PRT (RB a)))", [2, 2, 1, 0, 1, 1, 0]),
        # a particle is an adverbial phrase
        ("(S (PRT (RB a)) (ADVP (RB b)))", "(S (ADVP (RB a)) (PRT (RB b)))", [3, 3, 3, 0, 2, 2, 0]),
        # chains of one label are as many brackets
        ("(NP (NP (NP (NN a))))", "(NP (NP (NN a)))", [3, 2, 2, 0, 1, 1, 0]),
        ("(NP (NP (NN a)))", "(NP (NP (NP (NN a))))", [2, 3, 2, 0, 1, 1, 0]),
        # the order in a chain is lost
        ("(S (VP (VB a)))", "(VP (S (VB a)))", [2, 2, 2, 0, 1, 1, 0]),
        # two guessed brackets cross, one of them two of gold's
        (
            "(S (A (X a) (X b)) (B (X c) (X d)))",
            "(S (C (X a) (C (X b) (X c))) (X d))",
            [3, 3, 1, 2, 4, 4, 0],
        ),
        # no parse, no words, other words
        ("(S (NP (NN a)))", None, [2, 0, 0, 0, 1, 0, 2]),
        ("(S (NP (NN a)))", "(S (. .))", [2, 0, 0, 0, 1, 0, 2]),
        ("(S (NP (NN a)))", "(S (NP (NN b)))", [2, 0, 0, 0, 1, 0, 1]),
        ("(S (NP (NN a)))", "(S (NP (NN a)) (NN b))", [2, 0, 0, 0, 1, 0, 1]),
        ("(S (. .))", "(S (. .))", [0, 0, 0, 0, 0, 0, 2]),
    ],
)
def test_by_hand(gold, guess, expected):
    assert counts(gold, guess) == expected
    if expected[-1] == 0:
        assert counts(gold, guess, EVALB) == expected
    else:
        assert counts(gold, guess, EVALB) == [0] * 6 + expected[-1:]


def test_words_that_one_tree_takes_for_punctuation_stay():
    gold = "(S (NP (NP (NNS dogs) (POS ')) (NNS tails)) (VP (VBP wag)) ('' ') (. .))"
    guess = "(S (NP (NNS dogs)) ('' ') (NP (NNS tails)) (VP (VBP wag)) ('' ') (. .))"
    # The possessive stays in both, the quote and the stop in neither: dogs ' tails wag.
    assert counts(gold, guess) == [4, 4, 2, 0, 4, 3, 0]
    assert counts(gold, guess, replace(COLLINS, mistagged="fail")) == [4, 0, 0, 0, 4, 0, 1]
    # Traces have no part in it.
    assert counts(gold.replace("(S ", "(S (NP (-NONE- *)) "), guess) == [4, 4, 2, 0, 4, 3, 0]
    # Other words are other words.
    assert counts(gold, guess.replace("wag", "wagged"))[-1] == 1


def test_labels_and_rates():
    gold = [Tree.parse("(S (NP (NN a)) (PRT (RB b)) (VP (VB c)))"), Tree.parse("(S (NP (NN a)))")]
    guess = [Tree.parse("(S (NP (NN a)) (ADVP (RB b)) (NP (NN c)))"), None]
    scores = parseval(gold, guess)
    assert scores.labels == {"NP": (2, 2, 1), "S": (2, 1, 1), "ADVP": (1, 1, 1), "VP": (1, 0, 0)}
    assert (scores.labels["NP"].precision, scores.labels["NP"].recall, scores.labels["NP"].f1) == (0.5,) * 3
    assert LabelCounts(0, 0, 0).f1 == 0
    assert (scores.precision, scores.recall, scores.f1) == (3 / 4, 3 / 6, 0.6)
    # A sentence without a parse is neither right nor free of crossing brackets.
    assert (scores.exact, scores.no_crossing, scores.few_crossing, scores.tagging) == (0, 0.5, 0.5, 0.5)
    assert (scores.counted, scores.failed, scores.mismatched) == (2, (2,), ())
    skipped = parseval(gold, guess, EVALB)
    assert (skipped.recall, skipped.no_crossing, skipped.tagging, skipped.counted) == (3 / 4, 1, 2 / 3, 1)
    assert skipped.failed == (2,)
    unlabelled = parseval(gold, guess, replace(COLLINS, labelled=False))
    assert (unlabelled.precision, unlabelled.recall) == (1, 4 / 6)


def test_nothing_to_score():
    scores = parseval([], [])
    assert (scores.f1, scores.exact, scores.sentences, scores.labels) == (0, 0, 0, {})
    assert bracket_counts([], []).shape == (0, 7)


def test_what_is_refused():
    tree = Tree.parse("(S (NN a))")
    with pytest.raises(InputError, match="2 trees of the treebank, but 1 of the parser"):
        parseval([tree, tree], [tree])
    with pytest.raises(OptionError, match="failures must be count or skip"):
        Conventions(failures="drop")
    with pytest.raises(OptionError, match="mistagged must be keep or fail"):
        Conventions(mistagged="drop")
    with pytest.raises(OptionError, match="empty, but not deleted: -NONE-"):
        Conventions(deleted=frozenset({"TOP"}))


def test_deep_trees():
    depth = 20_000
    tree = Tree.parse("(NP " * depth + "(NN a)" + ")" * depth)
    assert bracket_counts([tree], [tree])[0, :3].tolist() == [depth] * 3


LABELS = ["S", "NP", "VP", "NP-SBJ", "ADVP", "PRT", "TOP"]
TAGS = ["NN", "VB", ",", "."]


@st.composite
def trees(draw, words: list[tuple[str, str]]) -> Tree:
    """Some tree of these tags and words: brackets are put around neighbours until one is left."""
    parts = [Tree(tag, word=word) for tag, word in words]
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(parts) - 1))
        stop = draw(st.integers(start + 1, len(parts)))
        parts[start:stop] = [Tree(draw(st.sampled_from(LABELS)), parts[start:stop])]
    return Tree(draw(st.sampled_from(["S", "TOP", ""])), parts)


@st.composite
def pairs_of_trees(draw) -> tuple[Tree, Tree]:
    words = draw(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=6))
    tags = draw(st.lists(st.sampled_from(TAGS), min_size=len(words), max_size=len(words)))
    other = [tag if tag in COLLINS.deleted else draw(st.sampled_from(["NN", "VB"])) for tag in tags]
    return draw(trees(list(zip(tags, words)))), draw(trees(list(zip(other, words))))


def naive_brackets(tree: Tree, start: int, found: list[tuple[str, int, int]]) -> int:
    """By recursion, and numbering words while they are read, as evalb does; returns where the tree ends."""
    if tree.word is not None:
        return start + (tree.label not in COLLINS.deleted)
    stop = start
    for child in tree.children:
        stop = naive_brackets(child, stop, found)
    label = tree.label.split("-")[0].replace("PRT", "ADVP")
    if stop > start and label not in ("", "TOP"):
        found.append((label, start, stop))
    return stop


@settings(max_examples=300, deadline=None)
@given(pairs_of_trees())
def test_counts_are_those_of_brute_force(pair):
    gold, guess = pair
    in_gold: list[tuple[str, int, int]] = []
    in_guess: list[tuple[str, int, int]] = []
    length = naive_brackets(gold, 0, in_gold)
    naive_brackets(guess, 0, in_guess)
    unmatched = list(in_guess)
    for bracket in in_gold:
        if bracket in unmatched:
            unmatched.remove(bracket)
    crossing = sum(
        any(
            len({*range(a, b)} & {*range(c, d)}) not in (0, b - a, d - c)  # some in common, and neither whole
            for _, a, b in in_gold
        )
        for _, c, d in in_guess
    )
    expected = [len(in_gold), len(in_guess), len(in_guess) - len(unmatched), crossing, length]
    row = bracket_counts([gold], [guess])[0].tolist()
    assert row[:5] == (expected if length else [0] * 5)
    assert row[6] == (0 if length else 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(pairs_of_trees(), min_size=1, max_size=4))
def test_invariants(pairs):
    gold, guess = (list(side) for side in zip(*pairs))
    itself = parseval(gold, gold)
    assert itself.precision == itself.recall == itself.f1 == (1 if itself.labels else 0)
    if itself.counted:
        assert itself.exact == itself.no_crossing == itself.tagging == 1
    one, other = parseval(gold, guess), parseval(guess, gold)
    assert (one.precision, one.recall, one.f1) == (other.recall, other.precision, other.f1)
    assert (one.exact, one.tagging, one.no_crossing) == (other.exact, other.tagging, other.no_crossing)
    assert bracket_f1(bracket_counts(gold, guess)) == one.f1
    totals = np.array(list(one.labels.values()) or [(0, 0, 0)]).sum(axis=0)
    assert totals.tolist() == bracket_counts(gold, guess)[:, :3].sum(axis=0).tolist()
    # Other names for labels change nothing but names.
    names = {"S": "X", "NP": "Y", "VP": "S"}
    renamed = parseval([rename(tree, names) for tree in gold], [rename(tree, names) for tree in guess])
    assert renamed[:-1] == one[:-1]
    assert Counter(renamed.labels.values()) == Counter(one.labels.values())


def rename(tree: Tree, names: dict[str, str]) -> Tree:
    if tree.word is not None:
        return tree
    label, dash, rest = tree.label.partition("-")
    return Tree(names.get(label, label) + dash + rest, [rename(child, names) for child in tree.children])


def test_interval_and_comparison():
    rng = np.random.default_rng(0)
    gold = np.full(400, 10)
    right = rng.binomial(10, 0.8, 400)
    blank = np.zeros(400, dtype=np.int64)
    baseline = np.stack([gold, gold, right, blank, gold, gold, blank], axis=1)
    low, high = f1_interval(baseline, resamples=2000)
    # F1 is here the mean of 400 numbers of known spread, the normal interval of which is all but exact.
    half = 1.96 * np.std(right / 10) / 20
    assert low == pytest.approx(right.mean() / 10 - half, abs=half / 10)
    assert high == pytest.approx(right.mean() / 10 + half, abs=half / 10)
    system = baseline.copy()
    system[:, 2] = np.minimum(10, right + (rng.random(400) < 0.3))
    found = paired_bootstrap(baseline, system, bracket_f1, resamples=1000)
    assert found.low > 0
    assert found.p_value < 0.01
    assert paired_bootstrap(baseline, baseline, bracket_f1, resamples=100).p_value == 1


def test_the_treebank_without_traces_is_itself(data, tmp_path):
    with zipfile.ZipFile(data / "nltk/treebank.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".mrg"))[:20]
        archive.extractall(tmp_path, names)
    gold = [tree for name in names for tree in read_trees(tmp_path / name)]
    guess = [without_traces(tree) for tree in gold]
    scores = parseval(gold, guess, EVALB)
    assert len(gold) > 100
    assert scores.f1 == scores.exact == scores.tagging == 1
    assert scores.counted == scores.sentences
    assert not scores.labels.keys() & {"", "TOP", "PRT"}


def without_traces(tree: Tree) -> Tree | None:
    if tree.word is not None:
        return None if tree.label == "-NONE-" else tree
    children = [child for child in map(without_traces, tree.children) if child is not None]
    return Tree(tree.label, children) if children else None
