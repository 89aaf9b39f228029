"""The pages of word classes."""

import numpy as np
import pytest

from spinney.classes import Clustering, HiddenMarkov, brown, exchange, pair_counts
from spinney.corpus import sentence_arrays
from spinney.report.html import view_page
from spinney.settings.report import Report
from spinney.structure import WordClasses

HOSTILE = '</script><img src=x onerror="alert(1)">'
TEXT = [
    [a, b, c, "."] for a in ("the", "a", HOSTILE) for b in ("dog", "cat", "\u0301") for c in ("barks", "שר")
]


@pytest.fixture(scope="module")
def text():
    return sentence_arrays(TEXT, unknown="<unk>")


def check(page):
    html = page.html()
    assert html == page.html()
    assert "<img" not in html
    assert html.count("<script") == 1
    assert "nan" not in html.lower().replace("nan'", "")
    return html


def titles(page):
    return [section.title for section in page.sections]


def classes_page(model, title, data=None, **settings):
    return view_page(title, model.report_views(data, Report(**settings)))


def test_a_clustering(text):
    model = brown(pair_counts(text), text.vocabulary, 4, root=True).noting({"unknown": "<unk>"})
    page = classes_page(model, HOSTILE, TEXT[:3], documents=2)
    assert titles(page) == [
        "Sentences",
        "Classes",
        "Map of words",
        "Tree of classes",
        "Which classes follow which",
    ]
    html = check(page)
    assert html.count('<p class="tokens">') == 2
    assert "4 classes with their most frequent words" in html
    assert page.known["words"] == 10
    again = brown(pair_counts(text), text.vocabulary, 4, root=True).noting({"unknown": "<unk>"})
    assert page.sections[2] == classes_page(again, "other").sections[1]  # the map


def test_flat_classes_have_no_tree(text):
    model = exchange(pair_counts(text), text.vocabulary, 3, root=True)
    assert "Tree of classes" in titles(classes_page(model, "in a tree"))
    classes = WordClasses(model.classes.words, model.classes.ids)
    page = classes_page(Clustering(classes, model.class_pairs, model.class_roots), "flat")
    assert titles(page) == ["Classes", "Map of words", "Which classes follow which"]
    check(page)


def test_a_hidden_markov_model(text):
    model = HiddenMarkov(4, em="batch", passes=5, random_state=1).fit(text)
    page = classes_page(model, "hidden", TEXT, documents=3)
    assert titles(page)[1:] == [
        "Classes", "Map of words", "Which classes follow which", "Words with several classes", "Passes",
    ]  # fmt: skip
    assert "probability 0." in check(page)


def test_one_word_and_no_words():
    for words in (["a"], []):
        page = classes_page(WordClasses(words, [0] * len(words), n_classes=3), "few")
        assert "Map of words" not in titles(page)
        assert "more have no words" in check(page)


def test_paths_that_are_no_tree_are_passed_over():
    classes = WordClasses(["a", "b", "c"], [0, 1, 2], paths=["0", "01", "1"])
    assert "Tree of classes" not in titles(classes_page(classes, "bad"))


def test_facts_that_are_no_facts():
    classes = WordClasses(["a", "b"], [0, 1], counts=[2, 1])
    facts = {"method": {"x": 1}, "words": [1], "reading": "none", "trace": 5, "unknown_share": "all"}
    check(classes_page(Clustering(classes, np.ones((2, 2), int), np.ones(2, int), facts), "odd"))


def test_many_classes_stay_small():
    n = 3000
    words = [f"word{i}" for i in range(2 * n)]
    page = classes_page(WordClasses(words, np.arange(2 * n) % n, counts=np.ones(2 * n, int)), "many")
    html = check(page)
    assert "The 1,000 largest of 3,000 classes" in html
    assert len(html) < 500_000
