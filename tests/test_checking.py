"""Calls of the library with bad data or parameters: the errors are Spinney's, on one line."""

import numpy as np
import pytest
import scipy.sparse as sp

from spinney import checking, classes, classify, embed, lm, optim, parsing, tagging, trend
from spinney.corpus import sentence_arrays
from spinney.errors import SpinneyError

TEXT = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 4
ARRAYS = sentence_arrays(TEXT)
PAIRS = classes.pair_counts(ARRAYS)
RNG = np.random.default_rng(0)
X, COUNTS = RNG.standard_normal((30, 4)), sp.csr_array(RNG.integers(0, 5, (30, 8)))
Y = (X[:, 0] > 0).astype(int)
TIMES = np.repeat(np.arange(6), 5)
PATTERNS = "U:%x[0,0]\nB\n"
WORDS, LABELS = [["the", "dog"], ["a", "cat"]] * 3, [["D", "N"]] * 6

SEEDED = {
    "exchange": lambda s: classes.exchange(PAIRS, ARRAYS.vocabulary, 3, init="random", random_state=s),
    "HiddenMarkov": lambda s: classes.HiddenMarkov(3, random_state=s).fit(ARRAYS),
    "Embedding": lambda s: embed.Embedding(dimensions=2, random_state=s).fit(ARRAYS),
    "SpectralHMM": lambda s: embed.SpectralHMM(2, random_state=s).fit(ARRAYS),
    "CCA": lambda s: embed.CCA(2, random_state=s).fit(X, X),
    "SparseCoding": lambda s: embed.SparseCoding(2, "lasso", 0.1, random_state=s).fit(X),
    "StochasticCoding": lambda s: embed.StochasticCoding(2, "lasso", 0.1, random_state=s).fit(X),
    "MomentTopics": lambda s: embed.MomentTopics(2, random_state=s).fit(COUNTS),
    "Tagger": lambda s: tagging.Tagger(random_state=s, patterns=PATTERNS).fit(WORDS, LABELS),
    "pitman_yor": lambda s: lm.pitman_yor(ARRAYS, order=2, sweeps=1, random_state=s),
    "sequence_memoizer": lambda s: lm.sequence_memoizer(ARRAYS, sweeps=1, random_state=s),
    "classes.fit": lambda s: classes.fit(TEXT, seed=s),
    "classify.fit": lambda s: classify.fit((["a", "b"] * 3, [0, 1] * 3), seed=s),
    "trend.fit": lambda s: trend.fit("none.csv", seed=s),
    "parsing.fit": lambda s: parsing.fit("none.mrg", seed=s),
}


def refused(call):
    with pytest.raises(SpinneyError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "x", float("nan"), True])
def test_seeds(name, seed):
    refused(lambda: SEEDED[name](seed))


TEXTS = {
    "classes.fit": classes.fit,
    "embed.fit": embed.fit,
    "lm.fit": lm.fit,
    "HiddenMarkov": lambda e: classes.HiddenMarkov(2).fit(e),
    "Embedding": lambda e: embed.Embedding(dimensions=2).fit(e),
    "SpectralHMM": lambda e: embed.SpectralHMM(2).fit(e),
    "fit_ngram": lm.fit_ngram,
    "pitman_yor": lambda e: lm.pitman_yor(e, order=2),
    "sequence_memoizer": lm.sequence_memoizer,
    "pair_counts": classes.pair_counts,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("text", [None, 5, [None], [["a", None]], [3.5]], ids=str)
def test_texts(name, text):
    refused(lambda: TEXTS[name](text))


@pytest.mark.parametrize("name", ["classes.fit", "embed.fit", "lm.fit"])
@pytest.mark.parametrize("text", [[], [[]], [[], []], "", "nofile"], ids=str)
def test_texts_without_words(name, text):
    refused(lambda: TEXTS[name](text))


NAN, INF = X.copy(), X.copy()
NAN[3, 1], INF[3, 1] = np.nan, np.inf
BAD_EXAMPLES = {
    "NaN": (NAN, Y),
    "infinite": (INF, Y),
    "NaN targets": (X, np.where(Y == 1, np.nan, 0.0)),
    "infinite targets": (X, np.where(Y == 1, np.inf, 0.0)),
    "none": (np.empty((0, 4)), []),
    "flat": (X[:, 0], Y),
    "fewer targets": (X, Y[:3]),
    "words": (np.array([["a"] * 4] * 30), Y),
    "huge": (X * 1e200, Y),
}
ESTIMATORS = (
    classify.LinearClassifier,
    classify.LinearRegressor,
    classify.LinearClassifierCV,
    classify.TreeClassifier,
    classify.SemiSupervisedClassifier,
)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("examples", BAD_EXAMPLES)
def test_examples(estimator, examples):
    refused(lambda: estimator().fit(*BAD_EXAMPLES[examples]))


@pytest.mark.parametrize("estimator", [trend.TimeSeriesRegressor, trend.TimeSeriesClassifier])
@pytest.mark.parametrize("examples", [name for name in BAD_EXAMPLES if name != "huge"])
def test_dated_examples(estimator, examples):
    refused(lambda: estimator().fit(*BAD_EXAMPLES[examples], times=TIMES))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lam", -1), ("lam", np.nan), ("lam", "x"), ("lam", None), ("penalty", "x"), ("penalty", 3), ("penalty", None),
        ("solver", "x"), ("solver", None), ("tol", -1), ("tol", np.nan), ("max_iter", -1), ("max_iter", 1.5),
        ("l1", -1),
        ("l2", np.inf), ("loss", "x"), ("threads", -1), ("lam_ratio", 5), ("feature_weights", [1]),
        ("feature_weights", "x"),
    ],
)  # fmt: skip
def test_parameters_of_linear_models(name, value):
    refused(lambda: classify.LinearClassifier(**{name: value}).fit(X, Y))


OTHERS = {
    "cv": lambda: classify.LinearClassifierCV(cv=1).fit(X, Y),
    "cv text": lambda: classify.LinearClassifierCV(cv="x").fit(X, Y),
    "threads": lambda: classify.LinearClassifierCV(threads=-1).fit(X, Y),
    "predict": lambda: classify.LinearRegressor(lam=0.1).fit(X, X[:, 0]).predict(NAN),
    "texts": lambda: classify.TextFeatures().fit([None]),
    "no texts": lambda: classify.TextFeatures().fit(5),
    "ngrams": lambda: classify.TextFeatures(ngrams="x"),
    "documents": lambda: classify.fit(None),
    "a document": lambda: classify.fit(([None, "a"], [0, 1])),
    "brown": lambda: classes.brown(PAIRS, ARRAYS.vocabulary, "x"),
    "brown NaN": lambda: classes.brown(PAIRS, ARRAYS.vocabulary, np.nan),
    "pmi": lambda: embed.pmi(X),
    "pmi none": lambda: embed.pmi(sp.csr_array((0, 4))),
    "codes": lambda: embed.SparseCoding(2, "lasso", 0.1).fit([["a"]]),
    "topics": lambda: embed.MomentTopics(2).fit(NAN),
    "cca": lambda: embed.CCA(2.5).fit(X, X),
    "order": lambda: lm.fit_ngram(ARRAYS, order="x"),
    "tagger none": lambda: tagging.Tagger(patterns=PATTERNS).fit(None, None),
    "tagger label": lambda: tagging.Tagger(patterns=PATTERNS).fit(WORDS, [[None, None]] * 6),
    "tagger token": lambda: tagging.Tagger(patterns=PATTERNS).fit([[1, 2]] * 6, LABELS),
    "tagger parameter": lambda: tagging.Tagger(nonsense=1),
    "series parameter": lambda: trend.TimeSeriesRegressor(nonsense=1),
    "tagger files": lambda: tagging.fit(None, preset="pos"),
    "trees": lambda: parsing.fit(None, method="pcfg"),
    "dated": lambda: trend.fit([{}], value="value"),
    "grid": lambda: optim.lambda_grid(1.0, -1),
    "groups": lambda: optim.GroupL2(1.0, [[0, 99]]),
    "design": lambda: optim.SquaredLoss([["a"]], [1]),
    "start": lambda: optim.solve(optim.SquaredLoss(X, Y), optim.L1(0.1), w0=np.full(5, np.nan)),
    "shard": lambda: checking.whole("threads", True, 1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_calls(name):
    refused(OTHERS[name])
