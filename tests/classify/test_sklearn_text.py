"""TextFeatures where scikit-learn wants a transformer: pipelines, column transformers, clones, searches, pickles."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from spinney.classify import LinearClassifier, TextFeatures
from spinney.errors import InputError, OptionError

TEXTS = ["good fun", "great fun indeed", "dull film", "bad and dull", "good film", "dull fun"] * 3
LABELS = ["pos", "pos", "neg", "neg", "pos", "neg"] * 3


def test_pipeline_search_and_pickle():
    pipeline = make_pipeline(TextFeatures(), LinearClassifier("l1", lam=0.01))
    pipeline.fit(TEXTS, LABELS)
    assert pipeline.predict(["great fun"]).tolist() == ["pos"]
    assert pipeline[:-1].get_feature_names_out().tolist() == pipeline[0].names
    back = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(back.predict_proba(TEXTS), pipeline.predict_proba(TEXTS))
    assert cross_val_score(pipeline, TEXTS, LABELS, cv=3).mean() == 1.0
    space = {"textfeatures__weighting": ["counts", "tfidf"], "textfeatures__ngrams": [1, 2]}
    search = GridSearchCV(pipeline, space, cv=3, error_score="raise").fit(TEXTS, LABELS)
    assert set(search.best_params_) == set(space)


def test_clone_keeps_settings_and_forgets_words():
    features = TextFeatures("counts", ngrams=2, tokens="all").fit(TEXTS)
    other = clone(features)
    assert other.get_params() == features.get_params()
    assert other.names == []
    with pytest.raises(NotFittedError, match="fit"):
        other.transform(TEXTS)
    assert (features.transform(TEXTS) != clone(features).fit_transform(TEXTS, LABELS)).nnz == 0


def test_settings_are_checked_when_they_change():
    features = TextFeatures().set_params(weighting="counts")
    features.fit(TEXTS)
    assert features.idf is None
    with pytest.raises(OptionError, match="ngrams"):
        features.set_params(ngrams=0).fit(TEXTS)


def test_fitting_again_forgets_the_idf():
    features = TextFeatures().fit(TEXTS)
    features.set_params(weighting="counts").fit(TEXTS)
    assert features.transform(["fun fun"]).max() == 2.0


@pytest.mark.parametrize("column", [0, [0]])
def test_column_transformer(column):
    table = np.array([[text, str(len(text))] for text in TEXTS], dtype=object)
    columns = ColumnTransformer([("words", TextFeatures(), column), ("length", StandardScaler(), [1])])
    model = make_pipeline(columns, LinearClassifier("l2", lam=0.1)).fit(table, LABELS)
    assert model.score(table, LABELS) == 1.0
    assert "words__fun" in columns.fit(table).get_feature_names_out()


def test_feature_union_and_two_columns():
    both = FeatureUnion([("words", TextFeatures()), ("pairs", TextFeatures("binary", ngrams=2))])
    assert both.fit_transform(TEXTS, LABELS).shape[0] == len(TEXTS)
    with pytest.raises(InputError, match="2 columns"):
        TextFeatures().fit(np.array([["a b", "c d"]], dtype=object))


def test_pandas_output_is_a_sparse_table_with_the_index_of_the_input():
    pd = pytest.importorskip("pandas")
    plain = TextFeatures(min_count=2).fit_transform(TEXTS)
    features = TextFeatures(min_count=2).set_output(transform="pandas")
    series = pd.Series(TEXTS, index=[f"d{i}" for i in range(len(TEXTS))])
    table = features.fit_transform(series)
    assert table.columns.tolist() == features.names
    assert table.index.equals(series.index)
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in table.dtypes)
    np.testing.assert_array_equal(table.sparse.to_coo().toarray(), plain.toarray())
    np.testing.assert_array_equal(features.transform(TEXTS[:2]).to_numpy(), plain[:2].toarray())
    assert clone(features).fit_transform(TEXTS).shape == table.shape  # a clone keeps the output
    model = LinearClassifier("l1", lam=0.01).fit(table, LABELS)
    np.testing.assert_allclose(model.coef_, LinearClassifier("l1", lam=0.01).fit(plain, LABELS).coef_)
    assert model.feature_names_in_.tolist() == features.names
    assert model.n_features_in_ == len(features.names)


def test_column_transformer_of_tables():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": TEXTS, "length": [float(len(text)) for text in TEXTS]})
    columns = ColumnTransformer(
        [("words", TextFeatures(), "text")], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    model = make_pipeline(columns, LinearClassifier("group", lam=0.01, groups="prefix:3"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns where a sparse table becomes dense
        model.fit(frame, LABELS)
    assert model.score(frame, LABELS) == 1.0
    assert model[-1].feature_names_in_.tolist()[-2:] == ["indeed", "length"]
    search = GridSearchCV(model, {"columntransformer__words__ngrams": [1, 2]}, cv=2, error_score="raise")
    assert search.fit(frame, LABELS).best_score_ == 1.0


@pytest.mark.parametrize("loss", ["log", "squared-hinge"])
def test_calibration_of_a_text_pipeline(loss):
    pipeline = make_pipeline(
        TextFeatures(), LinearClassifier("l2", lam=0.1, loss=loss, class_weight="balanced")
    )
    calibrated = CalibratedClassifierCV(pipeline, cv=3).fit(TEXTS, LABELS)
    chances = calibrated.predict_proba(TEXTS)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (calibrated.classes_[chances.argmax(axis=1)] == LABELS).all()
    scores = cross_val_score(pipeline, TEXTS, LABELS, cv=3, scoring="roc_auc", error_score="raise")
    assert scores.mean() == 1.0


def test_weights_of_examples_go_through_a_pipeline():
    weights = np.arange(1, len(TEXTS) + 1) % 3 + 1
    rows = np.repeat(np.arange(len(TEXTS)), weights)
    pipeline = make_pipeline(TextFeatures("counts"), LinearClassifier("l2", lam=0.1, tol=1e-9))
    coef = pipeline.fit(TEXTS, LABELS, linearclassifier__sample_weight=weights)[-1].coef_.copy()
    again = pipeline.fit([TEXTS[i] for i in rows], [LABELS[i] for i in rows])
    np.testing.assert_allclose(again[-1].coef_, coef, atol=1e-6)


def test_text_models_do_not_depend_on_the_output_that_is_set():
    pytest.importorskip("pandas")
    from sklearn import config_context

    from spinney.classify import fit

    with config_context(transform_output="pandas"):
        model = fit((TEXTS, LABELS), lam=0.1)
        assert model.predict(TEXTS).tolist() == LABELS
