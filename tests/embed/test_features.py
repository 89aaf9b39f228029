"""Means of word vectors and proportions of topics, as transformers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from spinney.corpus import tokenize
from spinney.embed import MomentTopics, TopicFeatures, VectorFeatures, fit
from spinney.errors import InputError, OptionError
from spinney.structure import WordVectors

RNG = np.random.default_rng(0)
WORDS = ["ball", "game", "team", "goal", "vote", "law", "party", "bill"]
LABELS = [d % 2 for d in range(30)]
TEXTS = [" ".join(RNG.choice(WORDS[4 * label : 4 * label + 4], 8)) for label in LABELS]
VECTORS = WordVectors(WORDS, RNG.standard_normal((8, 3)))
HOW = {"stop_words": 0, "min_count": 1}


@pytest.fixture(scope="module")
def topics():
    return fit([text.split() for text in TEXTS], method="topics", topics=2, threads=1, **HOW)


def test_the_mean_is_that_of_a_loop():
    texts = [*TEXTS, "Ball and a game.", "nothing here"]
    found = VectorFeatures(VECTORS).fit_transform(texts)
    for text, row in zip(texts, found):
        known = [VECTORS[word] for word in tokenize(text) if word in VECTORS]
        np.testing.assert_allclose(row, np.mean(known, axis=0) if known else np.zeros(3), atol=1e-12)


def test_tfidf_weights_are_those_of_scikit_learn():
    new = ["ball ball law", "vote game unknown"]
    theirs = TfidfVectorizer(vocabulary=WORDS, norm=None).fit(TEXTS).transform(new).toarray()
    expected = theirs @ VECTORS.matrix / theirs.sum(axis=1, keepdims=True)
    found = VectorFeatures(VECTORS, weighting="tfidf").fit(TEXTS).transform(new)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sparse_vectors_give_dense_means():
    from scipy.sparse import csr_array

    sparse = WordVectors(WORDS, csr_array(np.asarray(VECTORS.matrix)))
    np.testing.assert_allclose(
        VectorFeatures(sparse).fit_transform(TEXTS), VectorFeatures(VECTORS).fit_transform(TEXTS)
    )


def test_proportions_are_those_of_the_model(topics):
    counts = CountVectorizer(vocabulary=topics.words_).transform(TEXTS)
    found = TopicFeatures(topics).fit(TEXTS).transform(TEXTS)
    np.testing.assert_allclose(found, topics.transform(counts))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert len(set(found[::2].argmax(axis=1))) == 1
    assert found[0].argmax() != found[1].argmax()


def test_a_fitted_model_stays_fitted_in_clones_and_files(tmp_path, topics):
    found = TopicFeatures(topics).fit_transform(TEXTS)
    np.testing.assert_array_equal(clone(TopicFeatures(topics)).fit_transform(TEXTS), found)
    topics.save(tmp_path / "t.spinney")
    np.testing.assert_allclose(TopicFeatures(tmp_path / "t.spinney").fit_transform(TEXTS), found)
    assert VectorFeatures(topics).fit_transform(TEXTS).shape == (30, 2)  # topics give vectors of words, too


@pytest.mark.parametrize(
    ("features", "space"),
    [
        (VectorFeatures(VECTORS), {"weighting": ["mean", "tfidf"]}),
        (VectorFeatures(dimensions=2, how={"min_count": 1}, threads=1), {"dimensions": [1, 2]}),
        (TopicFeatures(n_topics=2, how=HOW, threads=1), {"n_topics": [2, 3]}),
    ],
    ids=["given vectors", "learned vectors", "topics"],
)
def test_scikit_learn_takes_them(features, space):
    pd = pytest.importorskip("pandas")
    assert clone(features).get_params() == features.get_params()
    fitted = clone(features).fit(TEXTS)
    found = fitted.transform(TEXTS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(TEXTS), found)
    table = clone(features).set_output(transform="pandas").fit_transform(pd.Series(TEXTS, index=range(7, 37)))
    assert table.columns.tolist() == fitted.get_feature_names_out().tolist()
    assert table.index[0] == 7
    np.testing.assert_allclose(table, found)
    pipeline = make_pipeline(features, LogisticRegression(C=100.0))
    name = type(features).__name__.lower()
    search = GridSearchCV(
        pipeline, {f"{name}__{key}": of for key, of in space.items()}, cv=2, error_score="raise"
    )
    assert search.fit(TEXTS, LABELS).best_score_ > 0.9
    assert cross_val_score(pipeline, TEXTS, LABELS, cv=2, error_score="raise").mean() > 0.8


def test_mistakes_are_said():
    with pytest.raises(OptionError, match="weighting must be mean or tfidf"):
        VectorFeatures(VECTORS, weighting="idf").fit(TEXTS)
    with pytest.raises(InputError, match="has no topics"):
        TopicFeatures(fit([text.split() for text in TEXTS], dimensions=2, min_count=1)).fit(TEXTS)
    with pytest.raises(InputError, match="lower min_count"):
        VectorFeatures().fit(["a b"])


def test_topics_pass_the_checks_of_scikit_learn_that_give_counts():
    shares = "gives numbers whose sums are below 3, which are no counts of words"
    known = dict.fromkeys(
        [
            "check_fit_score_takes_y",
            "check_estimators_nan_inf",
            "check_estimator_sparse_tag",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
        ],
        shares,
    )
    check_estimator(MomentTopics(2), expected_failed_checks=known, on_skip=None)
