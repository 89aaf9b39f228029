"""Topics: planted ones are found again, and files of topics say what is wrong with them."""

import sys

import numpy as np
import pytest
from scipy import sparse

from spinney.classify import lda_topics, read_topics
from spinney.errors import InputError, OptionError


def planted(n_topics=2, words_each=8, documents=200):
    """Counts of documents with one topic each, whose words no other topic has."""
    rng = np.random.default_rng(0)
    X = np.zeros((documents, n_topics * words_each))
    for d in range(documents):
        start = d % n_topics * words_each
        X[d, start : start + words_each] = rng.multinomial(40, np.full(words_each, 1 / words_each))
    return X


@pytest.mark.parametrize("method", ["sklearn", "tomotopy"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_planted_topics(method, container):
    if method == "tomotopy":
        pytest.importorskip("tomotopy", reason="the extra 'topics' is not installed")
    X = container(planted())
    topics = lda_topics(X, 2, method=method, iterations=20, random_state=3)
    assert topics.shape == (2, 16)
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    top = sorted(sorted(np.argsort(-row)[:8].tolist()) for row in topics)
    assert top == [list(range(8 * k, 8 * k + 8)) for k in range(2)]
    np.testing.assert_array_equal(topics, lda_topics(X, 2, method=method, iterations=20, random_state=3))


def test_words_never_drawn_have_no_weight():
    pytest.importorskip("tomotopy", reason="the extra 'topics' is not installed")
    X = np.hstack([planted(), np.zeros((200, 3))])
    topics = lda_topics(X, 50, method="tomotopy")
    assert np.all(topics[:, -3:] == 0)
    assert np.all(np.isclose(topics.sum(axis=1), 1) | (topics.sum(axis=1) == 0))


def test_without_tomotopy(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(OptionError, match=r"pip install 'spinney\[topics\]'"):
        lda_topics(planted(), 2, method="tomotopy")


def test_bad_options():
    X = planted()
    for wrong in ({"n_topics": 0}, {"n_topics": 2, "iterations": 0}, {"n_topics": 2, "threads": 0}):
        with pytest.raises(OptionError, match="at least 1"):
            lda_topics(X, **wrong)
    with pytest.raises(OptionError, match="sklearn or tomotopy"):
        lda_topics(X, 2, method="gensim")
    with pytest.raises(OptionError, match="counts"):
        lda_topics(X / 3, 2)
    with pytest.raises(OptionError, match="counts"):
        lda_topics(-X, 2)
    with pytest.raises(OptionError, match="no document"):
        lda_topics(np.zeros((3, 4)), 2)


def test_read_topics(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("space:0.5\torbit:2.5e-1  10:30:1\n\ngame team space\n", encoding="utf-8")
    topics = read_topics(path)
    assert topics.words == ["space", "orbit", "10:30", "game", "team"]
    np.testing.assert_allclose(topics.weights.toarray(), [[0.5, 0.25, 1, 0, 0], [1 / 3, 0, 0, 1, 1 / 2]])


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a b\nspace:0.5 orbit\n", 2, "'space:0.5' has a weight and 'orbit' has none"),
        ("a b\n\nc d c\n", 3, "the word 'c' appears twice"),
        ("c:0.5 c:0.1\n", 1, "the word 'c' appears twice"),
        ("a:1 b:1e999\n", 1, "the weight of 'b' is too large"),
        ("\n  \n", None, "no topics"),
    ],
)
def test_bad_files_of_topics(tmp_path, text, line, what):
    path = tmp_path / "topics.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=what) as caught:
        read_topics(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)
