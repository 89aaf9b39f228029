"""Features as python-crfsuite takes them, and sklearn-crfsuite's estimator and scores."""

import random
import warnings
from collections import Counter

import numpy as np
import pytest
from foreign_sentences import features, sentences
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

from spinney.corpus.values import values_of
from spinney.errors import InputError, NotFittedError, OptionError
from spinney.tagging import CRFClassifier
from spinney.tagging import crfsuite as sklearn_crfsuite
from spinney.tagging.attributes import attribute_cell, attributes
from spinney.tagging.crfsuite import CRF, metrics, scorers

pycrfsuite = pytest.importorskip("pycrfsuite")

TEXT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6
)  # NUL ends a string of C
KEYS = TEXT | TEXT.map(str.encode)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000) | st.booleans()
LISTS = st.lists(KEYS, max_size=4) | st.sets(TEXT, max_size=4)
VALUES = st.recursive(
    NUMBERS | KEYS | LISTS, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
TOKENS = st.dictionaries(KEYS, VALUES, max_size=5) | LISTS

SENTENCES = sentences(random.Random(1), 40, noise=0.2)
X, y = [features(one) for one in SENTENCES], [[row[2] for row in one] for one in SENTENCES]


@given(TOKENS)
@settings(max_examples=80, deadline=None)
def test_attributes_are_those_of_python_crfsuite(token):
    found = attributes(token)
    assert dict(found) == pycrfsuite.ItemSequence([token]).items()[0]
    # The cell holds the same.
    assert values_of(attribute_cell(found)) == found


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("the", "a token is 'the'"),
        (3, "a token is 3"),
        ({"a": None}, "the feature 'a' is None"),
        ({"a": [1]}, "the name of a feature is 1"),
        ({"a": [["b"]]}, "the name of a feature is"),
        ({1: "b"}, "the name of a feature is 1"),
        ({"a": float("nan")}, "the feature 'a' is nan"),
        ({"a": b"\xff"}, "is not UTF-8"),
        ({"a": object}, "the feature 'a' is"),
        ({"a": np.zeros(3)}, "the feature 'a' is"),
    ],
)
def test_other_shapes_are_refused_in_one_line(token, told):
    with pytest.raises(InputError, match="sentence 1") as error:
        CRFClassifier().fit([[{"a": 1}], [token]], [["N"], ["N"]])
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_features_that_contain_themselves_are_refused():
    token: dict = {}
    token["again"] = token
    with pytest.raises(InputError, match="nested"):
        attributes(token)


def _peer(**params):
    trainer = pycrfsuite.Trainer(verbose=False, params={"epsilon": 1e-9, "delta": 1e-10, **params})
    for xs, ys in zip(X, y):
        trainer.append(xs, ys)
    return trainer


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        (
            {"c1": 0.1, "c2": 0.1, "all_possible_transitions": True},
            {"c1": 0.1, "c2": 0.1, "feature.possible_transitions": True},
        ),
        (
            {"c2": 0.3, "min_freq": 3, "all_possible_states": False},
            {"c2": 0.3, "feature.minfreq": 3},
        ),
        (
            {"c2": 0.2, "all_possible_states": True},
            {"c2": 0.2, "feature.possible_states": True},
        ),
    ],
)
def test_weights_are_those_of_crfsuite(tmp_path, ours, theirs):
    trainer = _peer(**theirs)
    trainer.train(str(tmp_path / "peer"))
    peer = pycrfsuite.Tagger()
    peer.open(str(tmp_path / "peer"))
    crf = CRF(delta=1e-8, **ours).fit(X, y)
    assert crf.model_.facts["objective"] == pytest.approx(trainer.logparser.last_iteration["loss"], rel=1e-5)
    for found, wanted in (
        (crf.state_features_, peer.info().state_features),
        (crf.transition_features_, peer.info().transitions),
    ):
        for key in found.keys() | wanted.keys():
            assert found.get(key, 0) == pytest.approx(wanted.get(key, 0), abs=1e-3), key
    assert sorted(crf.classes_) == sorted(peer.labels())


def test_the_tutorial_of_sklearn_crfsuite_runs():
    from scipy.stats import expon

    X_train, y_train, X_test, y_test = X[:20], y[:20], X[30:], y[30:]
    crf = sklearn_crfsuite.CRF(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
    )
    crf.fit(X_train, y_train)
    labels = list(crf.classes_)
    labels.remove("O")
    y_pred = crf.predict(X_test)
    assert metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels) > 0.6
    sorted_labels = sorted(labels, key=lambda name: (name[1:], name[0]))
    assert "B-NP" in metrics.flat_classification_report(y_test, y_pred, labels=sorted_labels, digits=3)

    crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=100, all_possible_transitions=True)
    params_space = {"c1": expon(scale=0.5), "c2": expon(scale=0.05)}
    f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels)
    rs = RandomizedSearchCV(crf, params_space, cv=2, n_iter=2, scoring=f1_scorer, random_state=0)
    rs.fit(X_train, y_train)
    assert set(rs.best_params_) == {"c1", "c2"}
    crf = rs.best_estimator_
    assert crf.size_ / 1_000_000 < 1
    assert crf.predict(X_test)[0] == crf.predict_single(X_test[0])
    trans_features = Counter(crf.transition_features_)
    (label_from, label_to), weight = trans_features.most_common(20)[0]
    assert label_from in crf.classes_
    assert label_to in crf.classes_
    assert weight > 0
    (attr, label), _ = Counter(crf.state_features_).most_common(30)[0]
    assert attr in crf.attributes_
    assert label in crf.classes_
    assert len(crf.attributes_) == crf.num_attributes_
    (chances, *_) = crf.predict_marginals_single(X_test[0])
    assert sum(chances.values()) == pytest.approx(1)
    assert list(chances) == crf.classes_
    assert crf.predict_marginals(X_test)[0][0] == chances
    assert cross_val_score(crf, X_train, y_train, scoring=scorers.sequence_accuracy, cv=2).shape == (2,)
    assert crf.score(X_test, y_test) == scorers.flat_accuracy(crf, X_test, y_test)


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap", "pa"])
def test_other_algorithms(algorithm):
    crf = CRF(algorithm, max_iterations=5).fit(X, y, X_dev=X[:3], y_dev=y[:3])
    assert crf.score(X, y) > 0.7
    assert 0 <= crf.dev_accuracy_ <= 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"algorithm": "arow"}, "no algorithm arow"),
        ({"algorithm": "lbgfs"}, "did you mean lbfgs"),
        ({"variance": 2}, "variance has no counterpart for the algorithm lbfgs"),
        ({"algorithm": "l2sgd", "c1": 0.1}, "c1 has no counterpart for the algorithm l2sgd"),
        ({"algorithm": "ap", "c2": 0.1}, "c2 has no counterpart"),
        ({"algorithm": "pa", "pa_type": 0}, "pa_type must be 1 or 2"),
        ({"algorithm": "pa", "min_freq": 2}, "leave out min_freq"),
        ({"trainer_cls": object}, "trainer_cls has no counterpart"),
        ({"c1": -1}, "c1 must be a number"),
        ({"c2": "much"}, "c2 must be a number"),
        ({"max_iterations": 0}, "max_iterations must be"),
    ],
)
def test_what_has_no_counterpart_is_refused(given, told):
    with pytest.raises(OptionError, match=told):
        CRF(**given).fit(X[:2], y[:2])


def test_what_changes_nothing_is_said():
    with pytest.warns(UserWarning, match="num_memories, linesearch, keep_tempfiles"):
        CRF(num_memories=3, linesearch="Backtracking", keep_tempfiles=True).fit(X[:3], y[:3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(c1=0.1, c2=0.1, delta=1e-3).fit(X[:3], y[:3])
        crf = CRF(c1=0.1, c2=0.1, max_iterations=2).fit(X, y)  # a limit that was asked for
    assert crf.model_.facts["iterations"] == 2
    assert not crf.model_.facts["converged"]


def test_all_parameters_of_sklearn_crfsuite_are_there():
    theirs = pytest.importorskip("sklearn_crfsuite").CRF()
    assert CRF().get_params() == {**theirs.get_params()}


def test_a_model_of_crfsuite_is_used_and_written(tmp_path):
    path = str(tmp_path / "m.crfsuite")
    crf = CRF(model_filename=path)
    with pytest.raises(NotFittedError):
        crf.predict(X)
    crf.fit(X, y)
    assert CRF(model_filename=path).predict(X) == crf.predict(X)
    peer = pycrfsuite.Tagger()
    peer.open(path)
    assert [peer.tag(one) for one in X] == crf.predict(X)
    with pytest.raises(OptionError, match="go together"):
        crf.fit(X, y, X_dev=X)


def test_scores_are_those_of_sklearn_crfsuite():
    theirs = pytest.importorskip("sklearn_crfsuite.metrics")
    other = [[rows[0], *rows[:-1]] for rows in y]
    options = {"average": "macro", "zero_division": 0}
    for name in ("precision", "recall", "f1"):
        ours = getattr(metrics, f"flat_{name}_score")(y, other, **options)
        assert ours == getattr(theirs, f"flat_{name}_score")(y, other, **options)
    assert metrics.flat_accuracy_score(y, other) == theirs.flat_accuracy_score(y, other)
    assert metrics.flat_fbeta_score(y, other, 2, **options) == theirs.flat_fbeta_score(y, other, 2, **options)
    assert metrics.sequence_accuracy_score(y[:3], [y[0], other[1], other[2]]) == pytest.approx(
        theirs.sequence_accuracy_score(y[:3], [y[0], other[1], other[2]])
    )
    with pytest.raises(InputError, match="lengths differ"):
        metrics.flat_f1_score(y, other[1:])
