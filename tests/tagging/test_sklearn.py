"""A tagger where scikit-learn wants an estimator: clones, searches, cross-validation, weights, pickles."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from spinney.errors import InputError, NotFittedError, OptionError
from spinney.evaluate import tagging_scores
from spinney.tagging import CRFClassifier, Tagger


def _sentences(n=30):
    rng = np.random.default_rng(0)
    words = {"D": ["the", "a"], "N": ["dog", "cat", "bird"], "V": ["barks", "sleeps", "sings"]}
    X, y = [], []
    for i in range(n):
        labels = ["N", "V"] if i % 3 == 0 else ["D", "N", "V"]
        X.append([str(rng.choice(words[label])) for label in labels])
        y.append(labels if i % 7 else [*labels[:-1], "N"])  # some labels are wrong
    return X, y


X, Y = _sentences()
WEIGHTS = np.random.default_rng(1).integers(1, 4, len(X))
ROWS = np.repeat(np.arange(len(X)), WEIGHTS)
TAGGER = Tagger("U:%x[0,0]\nB", lam=0.1, tol=1e-8, threads=1)


def test_cross_validation_search_pipeline_and_pickle():
    scores = cross_val_score(TAGGER, X, Y, cv=3, error_score="raise")
    folds = np.array_split(np.arange(len(X)), 3)
    train = np.concatenate(folds[1:])
    first = clone(TAGGER).fit([X[i] for i in train], [Y[i] for i in train])
    right = [
        a == b
        for i, labels in zip(folds[0], first.predict([X[i] for i in folds[0]]))
        for a, b in zip(labels, Y[i])
    ]
    assert scores[0] == pytest.approx(np.mean(right))
    space = {"lam": [0.1, 10.0], "penalty": ["l1", "l2"]}
    search = GridSearchCV(TAGGER, space, cv=2, error_score="raise").fit(X, Y, sample_weight=WEIGHTS)
    assert set(search.best_params_) == set(space)
    assert search.best_estimator_.lam == search.best_params_["lam"]
    phrases = make_scorer(lambda gold, found: tagging_scores(gold, found)["accuracy"])
    np.testing.assert_allclose(cross_val_score(TAGGER, X, Y, cv=3, scoring=phrases), scores)
    pipeline = make_pipeline(clone(TAGGER)).fit(X, Y)
    assert pickle.loads(pickle.dumps(pipeline)).predict(X) == pipeline.predict(X)
    assert pipeline[-1].classes_.tolist() == ["D", "N", "V"]


def test_a_clone_is_unfitted_with_the_same_parameters():
    fitted = clone(TAGGER).fit(X, Y)
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "classes_")
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)


def test_whole_weights_are_repeated_sentences():
    repeated = [X[i] for i in ROWS], [Y[i] for i in ROWS]
    one = clone(TAGGER).fit(X, Y, sample_weight=WEIGHTS)
    other = clone(TAGGER).fit(*repeated)
    np.testing.assert_allclose(one.weights_.full(), other.weights_.full(), atol=1e-5)
    assert np.abs(one.weights_.full() - clone(TAGGER).fit(X, Y).weights_.full()).max() > 0.01
    assert one.score(X, Y, sample_weight=WEIGHTS) == pytest.approx(other.score(*repeated))
    assert one.score(X, Y, sample_weight=np.ones(len(X))) == one.score(X, Y)


def test_weights_are_routed_through_cross_validation():
    with config_context(enable_metadata_routing=True):
        weighted = clone(TAGGER).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_val_score(weighted, X, Y, cv=3, params={"sample_weight": WEIGHTS}, error_score="raise")
    assert not np.allclose(found, cross_val_score(TAGGER, X, Y, cv=3))


def test_wrong_weights_are_refused():
    with pytest.raises(OptionError, match="give only one of them"):
        clone(TAGGER).fit(X, Y, sample_weight=WEIGHTS, sentence_weight=WEIGHTS)
    with pytest.raises(InputError, match="one weight per sentence"):
        clone(TAGGER).fit(X, Y, sample_weight=WEIGHTS[:3])
    fitted = clone(TAGGER).fit(X, Y)
    with pytest.raises(InputError, match="sample_weight must be 30 finite numbers"):
        fitted.score(X, Y, sample_weight=WEIGHTS[:3])


def test_dictionaries_of_features_cross_validate_too():
    features = [[{"word": word} for word in sentence] for sentence in X]
    assert cross_val_score(CRFClassifier(lam=0.1), features, Y, cv=3, error_score="raise").mean() > 0.8
