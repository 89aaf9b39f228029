"""TextFeatures where scikit-learn wants a transformer: pipelines, column transformers, clones, searches, pickles."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
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
