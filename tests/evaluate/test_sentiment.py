"""Sentiment: files there and wrong, means by hand, accuracy against scikit-learn's own search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    LabelledSentence,
    mean_vectors,
    read_labelled_sentences,
    read_sentiment_trees,
    sentiment_accuracy,
)
from spinney.structure import WordVectors

# -- files ------------------------------------------------------------------------------------------------


def test_sentences_with_labels(tmp_path):
    path = tmp_path / "train"
    path.write_bytes("1 a caf\xe9 .\r\n0 a\x85b\n".encode("latin-1"))
    found = read_labelled_sentences(path, "latin-1")
    assert found == [("1", ["a", "café", "."]), ("0", ["a\x85b"])]
    with pytest.raises(InputError, match=r"train:1: not UTF-8 \(try the encoding latin-1\)"):
        read_labelled_sentences(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        ("1 good\n0\n", ":2: a label without words (a label and a sentence are needed on each line)"),
        ("1 good\n\n0 bad\n", ":2: an empty line (a label and a sentence are needed on each line)"),
    ],
)
def test_bad_sentences(tmp_path, text, message):
    path = tmp_path / "train"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_labelled_sentences(path)
    assert str(caught.value) == f"{path}{message}"


def test_trees(tmp_path):
    path = tmp_path / "trees"
    path.write_text("(0 (2 so) (1 dull))\n(2 (2 a) (2 day))\n(4 (2 pure) (4 joy))\n")
    assert read_sentiment_trees(path) == [("0", ["so", "dull"]), ("1", ["pure", "joy"])]
    assert [label for label, _ in read_sentiment_trees(path, binary=False)] == ["0", "2", "4"]
    for text, message in (
        ("(0 (2 so) (1 dull))\n(S (2 so) (1 dull))\n", ": the label 'S' of tree 2 is not one of 0 to 4"),
        ("(2 (2 a) (2 day))\n", ": no sentences with sentiment"),
        ("(0 (2 so)\n(1 (2 a) (2 day))\n", ":1: 1 brackets are not closed before the next tree"),
    ):
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            read_sentiment_trees(path)
        assert str(caught.value).startswith(f"{path}{message}")


def test_the_treebank(data):
    for part, n in (("train", 6920), ("dev", 872), ("test", 1821)):
        plain = read_labelled_sentences(data / f"sentence_classification/stsa.binary.{part}.xz")
        trees = read_sentiment_trees(data / f"sst_trees/{part}.txt.xz")
        positive = [sum(label == "1" for label, _ in sentences) for sentences in (plain, trees)]
        assert (len(plain), len(trees)) == (n, n)
        assert positive[0] == positive[1]


# -- means ------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from(["a", "B", "c", "x"]), max_size=6), max_size=6),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_means_by_hand(documents, sparse, dtype):
    matrix = np.array([[1.0, 0.0], [2.0, -4.0], [0.5, 3.0]], dtype=dtype)
    vectors = WordVectors(["a", "b", "c"], sp.csr_array(matrix) if sparse else matrix, lowercase=True)
    found = mean_vectors(vectors, documents)
    assert found.shape == (len(documents), 2)
    assert found.dtype == dtype
    place = {"a": 0, "B": 1, "c": 2}
    for row, words in zip(found, documents):
        known = [matrix[place[word]] for word in words if word != "x"]
        expected = np.mean(known, axis=0) if known else np.zeros(2)
        np.testing.assert_allclose(row, expected, atol=1e-6 if dtype == np.float32 else 1e-14)


# -- accuracy ---------------------------------------------------------------------------------------------


def corpus(rng, n, words):
    """Sentences whose label is whether more of their words are from the first half than not, with noise."""
    sentences = []
    for _ in range(n):
        drawn = rng.integers(words, size=rng.integers(3, 9))
        vote = np.mean(drawn < words // 2) + rng.normal(scale=0.15) > 0.5
        sentences.append(LabelledSentence("good" if vote else "bad", [f"w{i}" for i in drawn]))
    return sentences


def test_accuracy_against_a_plain_search():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(60, 10))
    matrix[:, 0] += np.where(np.arange(60) < 32, 1, -1)
    vectors = WordVectors([f"w{i}" for i in range(60)], matrix * 1e-3)
    train, dev, test = (corpus(rng, n, 64) for n in (300, 150, 200))
    strengths = (0.001, 0.1, 10.0, 1000.0)
    found = sentiment_accuracy(vectors, train, dev, test, strengths)
    x = [mean_vectors(vectors, [words for _, words in part]) for part in (train, dev, test)]
    size = np.sqrt((x[0] ** 2).mean())
    scores = []
    for strength in strengths:
        # A C for features divided by their size is C/size² for the features themselves.
        model = LogisticRegression(C=strength / size**2, tol=1e-10, max_iter=10_000)
        model.fit(x[0], [label for label, _ in train])
        scores.append([model.score(part, [label for label, _ in s]) for part, s in zip(x[1:], (dev, test))])
    best = int(np.argmax([score[0] for score in scores]))
    assert found.strength == strengths[best]
    assert (found.dev_accuracy, found.accuracy) == pytest.approx(scores[best], abs=1e-12)
    assert found.correct.mean() == found.accuracy > 0.6
    known = [word in vectors for _, words in test for word in words]
    assert found.coverage == np.mean(known) < 1


def test_the_size_of_vectors_does_not_matter():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(40, 6))
    words = [f"w{i}" for i in range(40)]
    parts = [corpus(rng, n, 40) for n in (200, 80, 80)]
    small, large = (
        sentiment_accuracy(WordVectors(words, matrix * size), *parts) for size in (2.0**-20, 2.0**9)
    )
    assert (small.accuracy, small.strength) == (large.accuracy, large.strength)


def test_bad_options():
    vectors = WordVectors(["a"], [[1.0]])
    one = [LabelledSentence("1", ["a"])]
    two = [*one, LabelledSentence("0", ["b"])]
    with pytest.raises(OptionError, match="no dev sentences"):
        sentiment_accuracy(vectors, two, [], two)
    with pytest.raises(OptionError, match="strengths must be numbers above 0"):
        sentiment_accuracy(vectors, two, two, two, [0.0])
    with pytest.raises(InputError, match="all training sentences have the same label"):
        sentiment_accuracy(vectors, one, two, two)
    unknown = [LabelledSentence("1", ["x"]), LabelledSentence("0", ["y"])]
    assert sentiment_accuracy(vectors, unknown, unknown, unknown).accuracy == 0.5
