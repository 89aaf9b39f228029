"""Word classes and hidden states of texts, as transformers: what they hold, and where scikit-learn takes them."""

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from spinney.classes import ClassFeatures, PosteriorFeatures, fit
from spinney.corpus import sentence_arrays, tokenized_sentences
from spinney.errors import InputError, OptionError, SettingError
from spinney.structure import WordClasses

CLASSES = WordClasses(["the", "dog", "cat", "barks"], [0, 1, 1, 2], paths=["0", "10", "11"], lowercase=True)
TEXTS = ["The dog barks. The cat sleeps.", "A cat.", "Dog, dog!", ""]
MANY = ["the dog barks", "a cat sleeps", "the cat barks. A dog sleeps.", "one dog sleeps and a cat barks"] * 5
LABELS = [0, 1, 0, 1] * 5


@pytest.fixture(scope="module")
def hidden():
    return fit([text.split() for text in MANY], method="hmm", classes=3, threads=1)


def test_counts_are_those_of_a_loop():
    expected = []
    for text in TEXTS:
        words = [word for sentence in tokenized_sentences(text) for word in sentence]
        seen = Counter(CLASSES.get(word.lower()) for word in words)
        expected.append([float(seen[c]) for c in range(3)])
    found = ClassFeatures(CLASSES, weighting="counts").fit_transform(TEXTS)
    assert (
        found.toarray().tolist() == expected == [[2.0, 2.0, 1.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0] * 3]
    )
    shares = ClassFeatures(CLASSES).fit_transform(TEXTS)
    np.testing.assert_allclose(shares.sum(axis=1), [1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(shares.toarray()[0], [0.4, 0.4, 0.2])
    binary = ClassFeatures(CLASSES, weighting="binary").fit_transform(TEXTS)
    assert binary.toarray().tolist() == (np.array(expected) > 0).astype(float).tolist()


def test_prefixes_of_paths():
    features = ClassFeatures(CLASSES, prefixes=(1, 2), weighting="counts")
    found = features.fit_transform(TEXTS).toarray()
    assert features.get_feature_names_out().tolist() == ["path0", "path1", "path10", "path11"]
    assert found[0].tolist() == [2.0, 3.0, 2.0, 1.0]  # a path of one bit counts once
    with pytest.raises(OptionError, match="flat"):
        ClassFeatures(WordClasses(["a"], [0]), prefixes=(1,)).fit(TEXTS)
    with pytest.raises(OptionError, match="at least 1"):
        ClassFeatures(CLASSES, prefixes=(0,)).fit(TEXTS)


def test_texts_token_lists_and_lists_of_sentences_are_the_same():
    tokens = [[word for sentence in tokenized_sentences(text) for word in sentence] for text in TEXTS]
    sentences = [list(tokenized_sentences(text)) for text in TEXTS]
    features = ClassFeatures(CLASSES).fit(TEXTS)
    for same in (tokens, sentences, np.array(TEXTS, dtype=object)[:, None]):
        np.testing.assert_array_equal(features.transform(same).toarray(), features.transform(TEXTS).toarray())


def test_posteriors_are_the_mean_over_the_tokens(hidden):
    found = PosteriorFeatures(hidden).fit(TEXTS).transform(MANY[:4])
    for text, row in zip(MANY, found):
        arrays = sentence_arrays(tokenized_sentences(text), vocabulary=hidden.vocabulary_)
        np.testing.assert_allclose(row, hidden.posteriors(arrays).mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)
    assert PosteriorFeatures(hidden).fit(MANY).transform([""]).tolist() == [[0.0] * 3]


def test_models_files_and_structures_give_the_same(tmp_path, hidden):
    hidden.save(tmp_path / "m.spinney")
    for features in (ClassFeatures, PosteriorFeatures):
        found = np.asarray(features(hidden).fit(MANY).transform(MANY).sum(axis=0))
        for given in (str(tmp_path / "m.spinney"), tmp_path / "m.spinney"):
            np.testing.assert_allclose(features(given).fit(MANY).transform(MANY).sum(axis=0), found)
    same = ClassFeatures(hidden.word_classes()).fit_transform(MANY)
    np.testing.assert_array_equal(same.toarray(), ClassFeatures(hidden).fit_transform(MANY).toarray())


@pytest.mark.parametrize(
    ("features", "space"),
    [
        (ClassFeatures(n_classes=3, threads=1), {"n_classes": [2, 3]}),
        (ClassFeatures(CLASSES), {"prefixes": [None, (1,)]}),
        (PosteriorFeatures(n_states=2, threads=1), {"n_states": [2, 3]}),
    ],
    ids=["learned classes", "given classes", "states"],
)
def test_scikit_learn_takes_them(features, space):
    pd = pytest.importorskip("pandas")
    assert clone(features).get_params() == features.get_params()
    with pytest.raises(NotFittedError, match="call fit"):
        clone(features).transform(MANY)
    fitted = clone(features).fit(MANY)
    rows = np.asarray(fitted.transform(MANY).sum(axis=1)).ravel()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(np.asarray(again.transform(MANY).sum(axis=1)).ravel(), rows)
    table = clone(features).set_output(transform="pandas").fit_transform(pd.Series(MANY, index=range(7, 27)))
    assert table.columns.tolist() == fitted.get_feature_names_out().tolist()
    assert table.index[0] == 7
    np.testing.assert_allclose(table.sum(axis=1), rows, atol=1e-6)
    frame = pd.DataFrame({"text": MANY, "n": 1.0})
    columns = ColumnTransformer([("f", features, "text")], remainder="passthrough")
    assert columns.fit_transform(frame).shape == (len(MANY), len(fitted.names_) + 1)
    pipeline = make_pipeline(features, LogisticRegression())
    name = type(features).__name__.lower()
    search = GridSearchCV(
        pipeline, {f"{name}__{key}": of for key, of in space.items()}, cv=2, error_score="raise"
    )
    assert len(search.fit(MANY, LABELS).cv_results_["params"]) == 2
    assert len(cross_val_score(pipeline, MANY, LABELS, cv=2, error_score="raise")) == 2


def test_polars_tables():
    pytest.importorskip("polars")
    assert ClassFeatures(CLASSES).set_output(transform="polars").fit_transform(TEXTS).columns[0] == "class0"


def test_mistakes_are_said(hidden):
    with pytest.raises(InputError, match="document 1 must be text, or lists of tokens, not 3"):
        ClassFeatures(CLASSES).fit([3])
    with pytest.raises(InputError, match="a list of documents, not 'abc'"):
        ClassFeatures(CLASSES).fit("abc")
    with pytest.raises(OptionError, match="weighting must be shares, counts or binary"):
        ClassFeatures(CLASSES, weighting="count").fit(TEXTS)
    with pytest.raises(InputError, match="/nowhere: no such file"):
        ClassFeatures("/nowhere").fit(TEXTS)
    with pytest.raises(InputError, match="has no hidden states"):
        PosteriorFeatures(fit([text.split() for text in MANY], method="brown", classes=3)).fit(MANY)
    with pytest.raises(SettingError, match="did you mean refine"):
        ClassFeatures(how={"refin": 1}).fit(MANY)
