from __future__ import annotations

import itertools
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import read_columns
from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    Chunk,
    allowed_ends,
    allowed_transitions,
    chunks,
    confusions,
    conlleval_report,
    convert,
    tagging_scores,
)

SCHEMES = ("iob1", "iob2", "bioes")
IOB = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = [*IOB, "E-X", "S-X", "E-Y", "S-Y"]
BRACKETS = ["O", "[-X", "]-X", ".-X", "[-Y", "]-Y"]


def sentences(labels, max_size=8):
    return st.lists(st.lists(st.sampled_from(labels), max_size=max_size), max_size=6)


def pairs_of_sentences(labels):
    """Gold and predicted sentences of the same lengths."""
    pair = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    return st.lists(st.lists(pair, max_size=8), max_size=6).map(
        lambda drawn: ([[g for g, _ in s] for s in drawn], [[p for _, p in s] for s in drawn])
    )


# The rule as the script states it: the pairs (previous prefix, prefix) between which a phrase of one type ends
# or starts, one automaton that runs over gold and prediction at once, and a count of phrases that stay equal.
ENDS = "BB BO BS IB IO IS EE EI EO ES EB SE SI SO SS SB"
STARTS = "BB IB OB SB EB BS IS OS SS ES OI SI EI SE EE OE"


def naive_counts(gold, predicted):
    def parts(label):
        return (label[0], label[2:]) if "-" in label else (label, "")

    def boundary(pairs, forbidden_side, before, now):
        (tag0, kind0), (tag1, kind1) = before, now
        side = (tag0, tag1)[forbidden_side]
        return f"{tag0}{tag1}" in pairs.split() or (side not in "O." and kind0 != kind1) or side in "[]"

    phrases = found = correct = 0
    equal = False
    g0 = p0 = ("O", "")
    lines = [pair for g, p in zip(gold, predicted) for pair in [*zip(g, p), ("O", "O")]]
    for g, p in lines:
        g1, p1 = parts(g), parts(p)
        g_ends, p_ends = boundary(ENDS, 0, g0, g1), boundary(ENDS, 0, p0, p1)
        g_starts, p_starts = boundary(STARTS, 1, g0, g1), boundary(STARTS, 1, p0, p1)
        if equal and g_ends and p_ends and g0[1] == p0[1]:
            correct += 1
            equal = False
        elif equal and (g_ends != p_ends or g1[1] != p1[1]):
            equal = False
        equal = equal or (g_starts and p_starts and g1[1] == p1[1])
        phrases += g_starts
        found += p_starts
        g0, p0 = g1, p1
    return phrases, found, correct


@pytest.mark.parametrize("labels", [IOB, BIOES, ["O", "I-X", "E-X", "I-Y", "E-Y"], BRACKETS, ["B", "I", "O"]])
def test_counts_are_those_of_the_script(labels):
    @settings(max_examples=300, deadline=None)
    @given(pairs_of_sentences(labels))
    def check(drawn):
        gold, predicted = drawn
        scores = tagging_scores(gold, predicted)
        counts = tuple(scores.get(key, 0) for key in ("phrases", "found", "correct"))
        assert counts == naive_counts(gold, predicted)

    check()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("B-X I-X O B-Y", [("X", 0, 2), ("Y", 3, 4)]),
        ("I-X I-X B-X I-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 3, 4)]),
        ("O I-X O", [("X", 1, 2)]),
        ("B-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("B-X E-X B-X E-X S-X S-X", [("X", 0, 2), ("X", 2, 4), ("X", 4, 5), ("X", 5, 6)]),
        ("I-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
        ("[-X [-X .-X ]-Y", [("X", 0, 1), ("X", 1, 2), ("Y", 3, 4)]),
        ("B-MISC-2 I-MISC-2", [("MISC-2", 0, 2)]),
        ("B I O B B", [("", 0, 2), ("", 3, 4), ("", 4, 5)]),
        ("NN VB NN", []),
        ("", []),
    ],
)
def test_by_hand(labels, expected):
    assert chunks(labels.split()) == [Chunk(*chunk) for chunk in expected]


def test_the_published_report():
    """The sample output of the CoNLL-2000 site, from the counts that give its figures."""
    counts = {  # phrases, found, correct
        "ADJP": (2, 1, 0),
        "ADVP": (8, 11, 5),
        "NP": (262, 317, 206),
        "PP": (90, 107, 89),
        "SBAR": (6, 3, 2),
        "VP": (87, 100, 69),
    }
    types = {kind: dict(zip(("phrases", "found", "correct"), count)) for kind, count in counts.items()}
    scores = {
        "tokens": 961,
        "correct_tokens": 838,
        "phrases": 459,
        "found": 539,
        "correct": 371,
        "types": types,
    }
    assert conlleval_report(scores) == (
        "processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.\n"
        "accuracy:  87.20%; precision:  68.83%; recall:  80.83%; FB1:  74.35\n"
        "             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
        "             ADVP: precision:  45.45%; recall:  62.50%; FB1:  52.63  11\n"
        "               NP: precision:  64.98%; recall:  78.63%; FB1:  71.16  317\n"
        "               PP: precision:  83.18%; recall:  98.89%; FB1:  90.36  107\n"
        "             SBAR: precision:  66.67%; recall:  33.33%; FB1:  44.44  3\n"
        "               VP: precision:  69.00%; recall:  79.31%; FB1:  73.80  100\n"
    )


def test_scores_by_hand():
    gold = [["B-X", "I-X", "O", "B-Y"], ["O"], []]
    predicted = [["B-X", "I-X", "O", "B-X"], ["O"], []]
    scores = tagging_scores(iter(gold), iter(predicted))
    types = scores.pop("types")
    assert scores == {
        "tokens": 5,
        "sentences": 3,
        "correct_tokens": 4,
        "accuracy": 0.8,
        "token_error": 0.2,
        "sequence_error": 1 / 3,
        "phrases": 2,
        "found": 2,
        "correct": 1,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
    }
    assert types["X"] == {
        "phrases": 1,
        "found": 2,
        "correct": 1,
        "precision": 0.5,
        "recall": 1.0,
        "f1": 2 / 3,
    }
    assert types["Y"] == {"phrases": 1, "found": 0, "correct": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0}


@given(pairs_of_sentences(BIOES))
@settings(deadline=None)
def test_f1_is_symmetric_and_perfect_on_itself(drawn):
    gold, predicted = drawn
    one, other = tagging_scores(gold, predicted), tagging_scores(predicted, gold)
    assert one["f1"] == other["f1"]
    assert (one["precision"], one["recall"]) == (other["recall"], other["precision"])
    for kind, scores in one["types"].items():
        assert scores["f1"] == other["types"][kind]["f1"]
    itself = tagging_scores(gold, gold)
    assert itself["correct"] == itself["phrases"] == itself["found"]
    assert itself["token_error"] == itself["sequence_error"] == 0


@pytest.mark.parametrize(
    "labels", [["NN", "VB", "-LRB-"], ["E1", "x0", "-<"], ["E", "S", "k"], ["NN-TL", "FW-IN"]]
)
def test_labels_without_phrases(labels):
    scores = tagging_scores([labels], [labels])
    assert scores["accuracy"] == 1
    assert "f1" not in scores
    assert "types" not in scores
    assert "with 0 phrases" in conlleval_report(scores)


def test_no_data_and_no_phrases_are_zeros():
    assert conlleval_report(tagging_scores([], [])) == (
        "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
    )
    assert tagging_scores([["O"]], [["O"]])["f1"] == 0


@pytest.mark.parametrize(
    ("gold", "predicted", "what"),
    [
        ([["O"], ["O"]], [["O"], ["O", "O"]], "sentence 2 has 1 labels, its prediction 2"),
        ([["O"], ["O"]], [["O"]], "end before sentence 2"),
        ([["O"]], [["O"], ["O"]], "more predictions after the last sentence, number 1"),
    ],
)
def test_sentences_that_do_not_match(gold, predicted, what):
    with pytest.raises(InputError, match=what):
        tagging_scores(gold, predicted)


@given(pairs_of_sentences(IOB))
@settings(deadline=None)
def test_confusions_count_every_error(drawn):
    gold, predicted = drawn
    errors = confusions(gold, predicted, 100)
    scores = tagging_scores(gold, predicted)
    assert sum(n for _, _, n in errors) == scores["tokens"] - scores["correct_tokens"]
    assert all(truth != guess for truth, guess, _ in errors)
    assert [n for _, _, n in errors] == sorted((n for _, _, n in errors), reverse=True)
    assert confusions(gold, predicted, 1) == errors[:1]


@given(sentences(BIOES), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
@settings(deadline=None)
def test_conversion_keeps_phrases_and_goes_round(drawn, one, other):
    for labels in drawn:
        valid = convert(labels, one)
        assert chunks(valid) == chunks(labels)
        assert convert(convert(valid, other), one) == valid


@pytest.mark.parametrize(("scheme", "labels"), [("iob1", IOB), ("iob2", IOB), ("bioes", BIOES)])
def test_allowed_sequences_are_those_that_conversion_leaves_alone(scheme, labels):
    allowed, ends = allowed_transitions(labels, scheme), allowed_ends(labels, scheme)
    assert allowed.shape == (len(labels) + 1, len(labels))
    assert allowed.dtype == ends.dtype == np.bool_
    for length in (1, 2, 3, 4):
        for path in itertools.product(range(len(labels)), repeat=length):
            steps = zip((len(labels), *path), path)
            valid = ends[path[-1]] and all(allowed[i, j] for i, j in steps)
            sequence = [labels[i] for i in path]
            assert valid == (convert(sequence, scheme) == sequence)


def test_types_may_be_missing():
    assert convert(["B", "I", "B", "O"], "iob1") == ["I", "I", "B", "O"]
    assert convert(["B", "I", "B", "O"], "bioes") == ["B", "E", "S", "O"]
    assert allowed_transitions(["B", "I", "O"], "iob2")[2].tolist() == [True, False, True]
    report = conlleval_report(tagging_scores([["B", "I"]], [["B", "I"]]))
    assert report.count("\n") == 2


def test_what_is_no_phrase_label_is_refused():
    for label in ("NN", "-LRB-", "", "BI-X", "O-X"):
        with pytest.raises(InputError, match="not a phrase label"):
            convert(["O", label], "iob2")
        with pytest.raises(InputError, match="not a phrase label"):
            allowed_transitions(["O", label], "iob2")
    with pytest.raises(InputError, match="prefixes are B, I, O"):
        allowed_ends(["S-X"], "iob2")
    with pytest.raises(OptionError, match="iob1, iob2 or bioes"):
        convert(["O"], "bilou")


def test_published_counts_of_real_corpora(tmp_path, data):
    """The numbers of phrases that the shared tasks' own papers state."""
    gold = [[row[3] for row in sentence] for sentence in read_columns(data / "conll2003/eng.testb.xz")]
    scores = tagging_scores(gold, gold)
    # Tjong Kim Sang and De Meulder 2003, Table 2
    assert {kind: of_kind["phrases"] for kind, of_kind in scores["types"].items()} == {
        "LOC": 1668,
        "MISC": 702,
        "ORG": 1661,
        "PER": 1617,
    }
    with zipfile.ZipFile(data / "nltk/conll2000.zip") as archive:
        archive.extractall(tmp_path)
    gold = [[row[2] for row in sentence] for sentence in read_columns(tmp_path / "conll2000/test.txt")]
    scores = tagging_scores(gold, gold)
    assert (scores["tokens"], scores["phrases"]) == (47377, 23852)  # Tjong Kim Sang and Buchholz 2000
    for scheme in SCHEMES:
        assert tagging_scores([convert(labels, scheme) for labels in gold], gold)["f1"] == 1
