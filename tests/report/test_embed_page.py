"""The pages of vectors, states, topics, and of structure files."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from spinney.corpus import sentence_arrays
from spinney.embed import Embedding, MomentTopics, SpectralHMM
from spinney.report.html import view_page
from spinney.settings.report import Report
from spinney.structure import ClassTree, Groups, WordVectors

HOSTILE = '</script><img src=x onerror="alert(1)">'
TEXT = [
    [a, b, c, "."] for a in ("the", "a", HOSTILE) for b in ("dog", "cat", "\u0301") for c in ("barks", "שר")
]


@pytest.fixture(scope="module")
def text():
    return sentence_arrays(TEXT * 5, unknown="<unk>")


def check(page):
    html = page.html()
    assert html == page.html()
    assert "<img" not in html
    assert html.count("<script") == 1
    return html


def titles(page):
    return [section.title for section in page.sections]


def embed_page(model, title, data=None, **settings):
    return view_page(title, model.report_views(data, Report(**settings)))


def test_vectors(text):
    page = embed_page(Embedding("cca", dimensions=3).fit(text), HOSTILE)
    assert titles(page) == ["Map of words", "Dimensions", "Singular values"]
    assert page.known["dimensions"] == 3
    check(page)
    page = embed_page(Embedding("svd", dimensions=2).fit(text), "two numbers")
    assert titles(page)[-1] == "Singular values"
    check(page)


def test_sparse_codes_have_their_forest(text):
    model = Embedding("sparse", dimensions=13).fit(text)
    page = embed_page(model, "codes")
    assert titles(page) == ["Map of words", "Forest of dimensions", "Dimensions"]
    html = check(page)
    assert html.count("<li") == 13


def test_a_spectral_model_tells_what_comes_next(text):
    model = SpectralHMM(4, pseudo=1.0, interpolation=0.01).fit(text)
    page = embed_page(model, "states")
    assert titles(page) == ["What comes next", "Map of words", "States in words", "Singular values"]
    html = check(page)
    assert "(end)" in html
    assert 'class="heat"' in html


def test_topics_and_their_documents():
    X = np.repeat([[4, 4, 1, 0, 1], [0, 1, 4, 4, 1]], 6, axis=0)
    words = ["ball", "game", "vote", HOSTILE, "\u0301"]
    model = MomentTopics(2).fit(X, words=words)
    tried = [["ball", "unheard", "game"], [HOSTILE, "vote"]]
    page = embed_page(model, "topics", tried, documents=1)
    assert titles(page)[0] == "Documents"
    html = check(page)
    assert "1 document with" in html
    assert html.count("<mark") == 2  # what the model does not know is not marked
    assert "<mark" not in embed_page(model, "topics").html()


def test_files_of_vectors():
    sparse = csr_array(np.eye(4)[:, :3])
    page = embed_page(WordVectors(["a", "b", "c", "d"], sparse), "sparse")
    assert page.known["non-zero numbers"] == 0.25
    check(page)
    assert titles(embed_page(WordVectors(["a"], [[1.0, 2.0]]), "one")) == ["Dimensions"]
    assert titles(embed_page(WordVectors([], np.zeros((0, 2))), "none")) == []
    check(embed_page(WordVectors(["a", "b"], np.zeros((2, 2))), "zeros"))
    check(embed_page(WordVectors(["a", "b", "c"], [[1.0], [2.0], [-1.0]]), "one number"))


def test_files_of_groups_and_trees():
    page = embed_page(Groups.from_lists([[0, 1, 2], [1], [3]], 5, names=[HOSTILE, "b", ""]), "groups")
    html = check(page)
    assert "group 2" in html  # it has no name
    assert page.known["features in no group"] == 1
    assert "Forest" not in titles(embed_page(Groups.from_labels([0, 0, 1]), "flat"))
    check(embed_page(Groups.from_lists([], 3), "none"))
    check(embed_page(ClassTree.from_newick("((cat, dog), plant);"), HOSTILE))
    check(embed_page(ClassTree(["one"], [-1]), "one"))
    big = check(embed_page(ClassTree.huffman([f"w{i}" for i in range(20_000)], np.ones(20_000)), "big"))
    assert len(big) < 500_000
