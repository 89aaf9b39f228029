"""The page of a tagger: every kind of model, sentences with and without labels, and what is read off the weights."""

import random
import re

import numpy as np
import pytest

from spinney.report.html import view_page
from spinney.structure import WordClasses, WordVectors
from spinney.tagging import Tagger
from spinney.tagging.columns import Columns
from spinney.tagging.hmm import HMM
from spinney.tagging.report import Tagged, has_labels
from spinney.tagging.summary import hmm_laws, label_pairs

HOSTILE = "</script><img src=x onerror=alert(1)>"


def sentences(n, seed):
    """Words and chunks of a toy grammar."""
    rng = random.Random(seed)

    def phrase():
        return [(rng.choice(["the", "a"]), "B-NP"), (rng.choice(["dog", "cat", HOSTILE]), "I-NP")]

    return [[*phrase(), (rng.choice(["sees", "hears"]), "B-VP"), *phrase(), (".", "O")] for _ in range(n)]


def tag_page(tagger, title, tried=None, **how):
    return view_page(title, tagger.report_views(tried, **how))


def split(some):
    return [[word for word, _ in s] for s in some], [[label for _, label in s] for s in some]


@pytest.fixture(scope="module")
def taggers():
    X, y = split(sentences(20, 1))
    plain = "U:%x[0,0]\nB"
    return {
        "crf": Tagger(plain, lam=0.1).fit(X, y),
        "memm": Tagger(plain, method="memm", lam=0.1).fit(X, y),
        "hmm": Tagger(plain, method="hmm", precision="double").fit(X, y),
    }


@pytest.mark.parametrize("kind", ["crf", "memm", "hmm"])
def test_page(taggers, kind, tmp_path):
    path = tmp_path / "m"
    taggers[kind].save(path)
    tagger = Tagger.load(path)
    tried = Tagged.of(tagger, Columns.from_sentences(sentences(6, 2)), labelled=True)
    page = tag_page(tagger, HOSTILE, tried, documents=3)
    text = page.html()
    assert text == tag_page(tagger, HOSTILE, tried, documents=3).html()
    assert "<img" not in text
    assert text.count("<script") == 1
    assert [section.title for section in page.sections] == [
        "Scores", "Sentences", "Transitions", "Observations", "Labels", "Patterns",
    ]  # fmt: skip
    assert text.count('class="tokens"') == 3
    assert page.known["F1 on 6 sentences"] == "100.00%"
    assert page.known["tokens"] == 120
    assert "wrong" not in "".join(page.sections[1].blocks[1:])


def test_wrong_labels_are_marked_with_the_right_ones(taggers):
    data = [[("the", "B-NP"), ("dog", "I-NP")], [("the", "B-NP"), ("dog", "ODD")], [("a", "B-NP")]]
    tried = Tagged.of(taggers["crf"], Columns.from_sentences(data), labelled=True)
    assert tried.chosen(2) == [0, 1]
    shown = "".join(tag_page(taggers["crf"], "m", tried, documents=2).sections[1].blocks)
    assert shown.count(" wrong") == 1
    assert "<s>I-NP</s> <b>ODD</b>" in shown
    assert re.search(r"dog: I-NP, probability 0\.\d+; correct: ODD", shown)


def test_the_surest_errors_are_shown():
    tried = Tagged([["a"]] * 4, [["x"]] * 4, [[0.9], [0.6], [0.8], [0.5]], [["x"], ["y"], ["y"], ["y"]])
    assert tried.chosen(2) == [0, 2]
    assert tried.chosen(4) == [0, 1, 2, 3]
    assert Tagged([["a"]] * 4, [["x"]] * 4, [[0.9]] * 4).chosen(3) == [0, 1, 2]


def test_sentences_without_labels(taggers):
    data = Columns.from_sentences([[("the",), ("dog",)]])
    tagger = taggers["crf"]
    assert not has_labels(tagger, data)
    tried = Tagged.of(tagger, data, labelled=False)
    assert tried.scores is None
    page = tag_page(tagger, "m", tried)
    assert page.sections[0].title == "Sentences"
    assert tag_page(tagger, "m", tried, documents=0).sections[0].title == "Transitions"


def test_labels_are_told_from_other_columns(taggers):
    tagger = taggers["crf"]
    assert has_labels(tagger, Columns.from_sentences(sentences(3, 1)))
    assert not has_labels(tagger, Columns.from_sentences([[("the", "DT"), ("dog", "NN")]]))
    wide = Tagger("U:%x[0,1]\nB", lam=0.1).fit([[("a", "O"), ("b", "X")]], [["O", "X"]])
    assert not has_labels(
        wide, Columns.from_sentences([[("a", "O"), ("b", "X")]])
    )  # what its patterns look at


def test_probabilities_of_a_counted_model(taggers):
    """What is read off the weights are the probabilities that were counted."""
    X, y = split(sentences(20, 1))
    tagger = taggers["hmm"]
    transition, emission = hmm_laws(tagger.weights_)
    names = tagger.extractor_.names("u")
    number = {name: i for i, name in enumerate(names)}
    symbols = [number[f"U:{word}"] for words in X for word in words]
    labels = [tagger.labels_.index(label) for of in y for label in of]
    offsets = np.cumsum([0, *map(len, X)])
    hmm = HMM.fit(symbols, offsets, labels, len(tagger.labels_), len(names))
    np.testing.assert_allclose(transition, np.vstack([hmm.transition, hmm.initial]), atol=1e-12)
    np.testing.assert_allclose(emission, hmm.emission.T, atol=1e-12)


def test_pairs_of_labels(taggers):
    pairs = label_pairs(taggers["crf"].weights_, taggers["crf"].extractor_)
    assert pairs.shape == (5, 4)  # the start last
    for _, before, label, weight in taggers["crf"].transitions(30)[0]:
        row = [*taggers["crf"].labels_, "(start)"].index(before)
        assert pairs[row, taggers["crf"].labels_.index(label)] == weight
    X, y = split(sentences(5, 1))
    seeing = Tagger("U:%x[0,0]\nB:%x[0,0]", lam=0.1).fit(X, y)
    assert label_pairs(seeing.weights_, seeing.extractor_) is None
    assert "Strongest pairs" in tag_page(seeing, "m").html()


def test_structures_are_named():
    classes = WordClasses(["the", "a", "dog", "cat"], [0, 0, 1, 1])
    vectors = WordVectors(["the", "dog"], np.eye(2))
    X, y = split(sentences(5, 1))
    patterns = "U1:%class[0,0,brown]\nU2:%vector[0,0,cca]\nB"
    tagger = Tagger(patterns, classes={"brown": classes}, vectors={"cca": vectors}, lam=0.1).fit(X, y)
    text = tag_page(tagger, "m").html()
    assert "word classes: 4 words, 2 classes" in text
    assert "word vectors: 2 words, 2 numbers each" in text


def test_a_sparse_model_tells_what_it_left_out():
    X, y = split(sentences(10, 1))
    tagger = Tagger("U0:%x[0,0]\nU1:%x[-1,0]\nB", penalty="l1", lam=3.0).fit(X, y)
    seen = tagger.facts_["observations_by_pattern"]
    assert seen["U0:%x[0,0]"] == 8  # as many words as there are
    assert tagger.extractor_.n_unigrams < seen["U0:%x[0,0]"] + seen["U1:%x[-1,0]"]
    assert tagger.facts_["label_counts"] == {"B-NP": 20, "B-VP": 10, "I-NP": 20, "O": 10}
    empty = Tagger("U0:%x[0,0]\nB", penalty="l1", lam=1e9).fit(X, y)
    assert "No weights above 0." in tag_page(empty, "m").html()


def test_a_strange_file(taggers, tmp_path):
    taggers["crf"].save(tmp_path / "m")
    tagger = Tagger.load(tmp_path / "m")
    tagger.facts_ = {
        "label_counts": [1],
        "observations_by_pattern": {"U": "x"},
        "tried": 7,
        "tokens": [1],
        "seconds": {},
    }
    assert "tokens in training" not in tag_page(tagger, "m").html()


def test_a_partly_labelled_text():
    tagger = Tagger("U:%x[0,0]\nB", partial=True, lam=0.1).fit([["a", "b", "a"]], [["A", "B|A", "_"]])
    assert tagger.facts_["label_counts"] == {"A": 1, "B": 0}
    assert "<h2>Labels</h2>" in tag_page(tagger, "m").html()
