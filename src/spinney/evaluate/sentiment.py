"""Sentiment by averaged word vectors: do the vectors distinguish praise from blame?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree, read_trees
from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError, OptionError
from spinney.structure import WordVectors

#: The values of C that are tried: the weight of the log loss beside half the squared norm of the coefficients.
STRENGTHS: tuple[float, ...] = tuple(float(2.0**power) for power in range(-14, 11, 2))


class LabelledSentence(NamedTuple):
    """The words of a sentence and its label."""

    label: str
    words: list[str]


@dataclass(frozen=True)
class SentimentResult:
    """What :func:`sentiment_accuracy` found.

    Attributes
    ----------
    accuracy, dev_accuracy : float
        On the test and on the development sentences.
    strength : float
        The C that was best on the development sentences.
    coverage : float
        The share of the words of the test sentences that have vectors.
    correct : array of bool
        Whether each test sentence was labelled right.
    """

    accuracy: float
    dev_accuracy: float
    strength: float
    coverage: float
    correct: NDArray[np.bool_]


def read_labelled_sentences(path: FilePath, encoding: str = "utf-8") -> list[LabelledSentence]:
    """Sentences with a label before the first word of each line.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 a joy .\\n0 a bore .\\n")
    >>> read_labelled_sentences(path)[1]
    LabelledSentence(label='0', words=['a', 'bore', '.'])
    """
    sentences = []
    for line, text in read_lines(path, encoding):
        label, *words = fields(text) or [""]
        if not words:
            what = "a label without words" if label else "an empty line"
            remedy = "a label and a sentence are needed on each line"
            raise InputError(what, path=os.fspath(path), line=line, remedy=remedy)
        sentences.append(LabelledSentence(label, words))
    if not sentences:
        raise InputError("the file is empty", path=os.fspath(path))
    return sentences


def read_sentiment_trees(path: FilePath, *, binary: bool = True) -> list[LabelledSentence]:
    """The sentences of the Stanford Sentiment Treebank, with the labels at the roots of their trees, 0 to 4.

    With ``binary``, 0 and 1 become ``"0"``, 3 and 4 become ``"1"``, and neutral sentences (2) are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "trees.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("(3 (2 A) (4 joy))\\n(2 (2 A) (2 day))\\n")
    >>> read_sentiment_trees(path)
    [LabelledSentence(label='1', words=['A', 'joy'])]
    """
    sentences = []
    for number, tree in enumerate(read_trees(path), 1):
        label = _sentiment(tree, number, path)
        if not binary:
            sentences.append(LabelledSentence(label, tree.leaves()))
        elif label != "2":
            sentences.append(LabelledSentence("1" if label > "2" else "0", tree.leaves()))
    if not sentences:
        raise InputError("no sentences with sentiment", path=os.fspath(path))
    return sentences


def mean_vectors(vectors: WordVectors, documents: Sequence[Sequence[str]]) -> NDArray[Any]:
    """The mean of the vectors of each document's words; words without one (see ``encode``) do not count.

    A document without any known word has a vector of zeros. The result is dense.

    Examples
    --------
    >>> vectors = WordVectors(["good", "film"], [[1.0, 0.0], [0.0, 1.0]])
    >>> mean_vectors(vectors, [["good", "good", "film", "!"], ["?"]])
    array([[0.66666667, 0.33333333],
           [0.        , 0.        ]])
    """
    from scipy.sparse import csr_array

    places = vectors.encode(list(chain.from_iterable(documents)))
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    document = np.repeat(np.arange(len(documents)), lengths)[places >= 0]
    counts = np.bincount(document, minlength=len(documents))
    shares = np.repeat(1 / np.maximum(counts, 1), counts).astype(vectors.matrix.dtype)
    ends = np.concatenate(([0], np.cumsum(counts)))
    means = (
        csr_array((shares, places[places >= 0], ends), shape=(len(documents), len(vectors))) @ vectors.matrix
    )
    return means.toarray() if vectors.is_sparse else means  # type: ignore[no-any-return]


def sentiment_accuracy(
    vectors: WordVectors,
    train: Sequence[LabelledSentence],
    dev: Sequence[LabelledSentence],
    test: Sequence[LabelledSentence],
    strengths: Sequence[float] = STRENGTHS,
) -> SentimentResult:
    """The accuracy of ℓ2-regularised logistic regression on the mean vectors of sentences (Yogatama 2015, §4.4.2).

    The strength is the one that does best on the development sentences, the strongest regularisation among equals;
    the model that labels the test sentences is trained on the training sentences alone. All features are first
    divided by one number, the root mean square of those of the training sentences, so that the same strengths suit
    vectors of any size.

    Examples
    --------
    >>> vectors = WordVectors(["joy", "bore"], [[0.1, 0.0], [0.0, 0.1]])
    >>> train = [LabelledSentence("1", ["a", "joy"]), LabelledSentence("0", ["a", "bore"])]
    >>> result = sentiment_accuracy(vectors, train, train, [LabelledSentence("1", ["what", "a", "joy"])])
    >>> result.accuracy, round(result.coverage, 2)
    (1.0, 0.33)
    """
    from sklearn.linear_model import LogisticRegression

    for name, sentences in (("train", train), ("dev", dev), ("test", test)):
        if not sentences:
            raise OptionError(f"no {name} sentences")
    if not strengths or min(strengths) <= 0:
        raise OptionError("strengths must be numbers above 0, and at least one is needed")
    if len({label for label, _ in train}) < 2:
        raise InputError("all training sentences have the same label")
    features = [mean_vectors(vectors, [words for _, words in part]) for part in (train, dev, test)]
    scale = float(np.sqrt(np.mean(features[0].astype(np.float64) ** 2))) or 1.0
    x_train, x_dev, x_test = (part.astype(np.float64) / scale for part in features)
    y_train, y_dev, y_test = (np.array([label for label, _ in part]) for part in (train, dev, test))
    best, best_accuracy = None, -1.0
    for strength in sorted(strengths):
        model = LogisticRegression(C=strength, solver="newton-cholesky").fit(x_train, y_train)
        found = float(np.mean(model.predict(x_dev) == y_dev))
        if found > best_accuracy:
            best, best_accuracy = model, found
    assert best is not None
    correct = best.predict(x_test) == y_test
    known = vectors.encode([word for _, words in test for word in words]) >= 0
    return SentimentResult(
        accuracy=float(correct.mean()),
        dev_accuracy=best_accuracy,
        strength=float(best.C),
        coverage=float(known.mean()),
        correct=correct,
    )


def _sentiment(tree: Tree, number: int, path: FilePath) -> str:
    if tree.label not in ("0", "1", "2", "3", "4"):
        what = f"the label {tree.label!r} of tree {number} is not one of 0 to 4"
        raise InputError(what, path=os.fspath(path))
    return tree.label
