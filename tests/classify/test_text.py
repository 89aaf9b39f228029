"""Text models: features equal to scikit-learn's, files that come back whole, reading in words."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from spinney.classify import LinearClassifier, LinearRegressor, TextFeatures, TextModel
from spinney.classify.readout import model_groups
from spinney.corpus import sample_documents, tokenize
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import write_model
from spinney.optim import ElasticNet, PenaltySpec
from spinney.structure import Groups

TEXTS = ["good fun", "great fun indeed", "dull film", "bad and dull", "Good film"]
LABELS = ["pos", "pos", "neg", "neg", "pos"]


def test_tfidf_equals_scikit_learns():
    texts = [document.text for document in sample_documents()]
    ours = TextFeatures(min_count=2, ngrams=2)
    peer = TfidfVectorizer(min_df=2, ngram_range=(1, 2))
    difference = ours.fit_transform(texts) - peer.fit_transform(texts)
    assert np.max(np.abs(difference.data), initial=0.0) < 1e-14
    assert ours.names == peer.get_feature_names_out().tolist()
    difference = ours.transform(texts[:3]) - peer.transform(texts[:3])
    assert np.max(np.abs(difference.data), initial=0.0) < 1e-14


@pytest.mark.parametrize("weighting", ["tfidf", "counts", "binary"])
@pytest.mark.parametrize(
    "labels", [LABELS, ["a", "b", "c", "c", "a"], [1, 2, 1, 2, 2], [True, False, True, True, False]]
)
def test_classifier_round_trip(tmp_path, weighting, labels):
    model = TextModel(LinearClassifier("l1", lam=0.01), TextFeatures(weighting, ngrams=2)).fit(TEXTS, labels)
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(back.predict(TEXTS), model.predict(TEXTS))
    np.testing.assert_array_equal(back.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert back.strongest() == model.strongest()
    assert back.facts == model.facts
    assert back.estimator.get_params()["lam"] == 0.01


def test_regressor_and_groups_round_trip(tmp_path):
    features = TextFeatures("counts")
    X = features.fit_transform(TEXTS)
    initials = sorted({name[0] for name in features.names})
    groups = Groups.from_labels([initials.index(name[0]) for name in features.names], names=initials)
    model = TextModel(LinearRegressor("group", lam=0.01, groups=groups), features)
    model.fit_matrix(X, [5.0, 4.5, 1.0, 1.5, 4.0])
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(back.predict(TEXTS), model.predict(TEXTS))
    assert model_groups(back) == model_groups(model)
    assert not back.is_classifier
    with pytest.raises(InputError, match="no class probabilities"):
        back.predict_proba(TEXTS)


def test_strongest_words_speak_for_their_class():
    model = TextModel(LinearClassifier("l1", lam=0.05), TextFeatures("counts")).fit(TEXTS, LABELS)
    assert model.strongest(2)["neg"][0][0] == "dull"
    assert all(weight > 0 for _, weight in model.strongest()["pos"])


def test_start_from_another_model(tmp_path):
    first = TextModel(LinearClassifier("l2", lam=0.1), TextFeatures("counts")).fit(TEXTS, LABELS)
    more_texts, more_labels = [*TEXTS, "a new word"], [*LABELS, "pos"]
    features = TextFeatures("counts")
    X = features.fit_transform(more_texts)
    second = TextModel(LinearClassifier("l2", lam=0.1, max_iter=0, tol=0.0), features)
    with pytest.warns(UserWarning, match="stopped"):
        second.fit_matrix(X, more_labels, init=first)
    carried = dict(zip(second.names, second.coef[0]))
    assert all(carried[name] == weight for name, weight in zip(first.names, first.coef[0]))
    with pytest.raises(InputError, match="classes"):
        TextModel(LinearClassifier(), TextFeatures()).fit_matrix(X, ["x", "y"] * 3, init=first)


def test_damaged_and_foreign_models(tmp_path):
    path = tmp_path / "m.spinney"
    write_model(path, "tag/Tagger", {}, {})
    with pytest.raises(ModelFileError, match="classify"):
        TextModel.load(path)
    write_model(path, "classify/LinearClassifier", {"text": False, "parameters": {}, "facts": {}}, {})
    with pytest.raises(ModelFileError, match="damaged"):
        TextModel.load(path)


def test_tokens(tmp_path):
    text = ["Mr. Pym (a cat) didn't 'go' well-fed, n'est pas?\tÉ\xa0x"]
    found = {}
    for tokens in ("words", "all", "spaces"):
        features = TextFeatures("counts", tokens=tokens)
        features.fit_transform(text)
        found[tokens] = set(features.names)
    assert found["words"] == {"mr", "pym", "cat", "didn", "go", "well", "fed", "est", "pas"}
    assert found["all"] == {token.lower() for token in tokenize(text[0])}
    assert {"mr.", "a", "did", "n't", "(", "well-fed"} <= found["all"]
    assert found["spaces"] == {
        "mr.", "pym", "(a", "cat)", "didn't", "'go'", "well-fed,", "n'est", "pas?", "é\xa0x",
    }  # fmt: skip
    cased = TextFeatures("counts", tokens="all", lowercase=False, ngrams=2)
    cased.fit_transform(text)
    assert {"Mr.", "Mr. Pym"} <= set(cased.names)


@pytest.mark.parametrize("tokens", ["words", "all", "spaces"])
def test_tokens_round_trip(tmp_path, tokens):
    texts = ["Good fun!", "a Great fun , indeed", "", "dull film ...", "Bad & dull", "Good film"]
    labels = ["pos", "pos", "pos", "neg", "neg", "pos"]
    features = TextFeatures(ngrams=2, tokens=tokens, stop_words="english")
    model = TextModel(LinearClassifier("l1", lam=0.01), features).fit(texts, labels)
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    assert back.features.tokens == tokens
    np.testing.assert_array_equal(back.predict_proba(texts), model.predict_proba(texts))


def test_files_from_before_the_choice_of_tokens(tmp_path, monkeypatch):
    model = TextModel(LinearClassifier("l1", lam=0.01), TextFeatures("counts")).fit(TEXTS, LABELS)
    parts = model.features.parts()
    del parts.header["tokens"]
    monkeypatch.setattr(model.features, "parts", lambda: parts)
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    assert back.features.tokens == "words"
    np.testing.assert_array_equal(back.predict(TEXTS), model.predict(TEXTS))


@pytest.mark.parametrize("weighting", ["tfidf", "counts"])
def test_occurrences_are_counts_whatever_the_weighting(weighting):
    features = TextFeatures(weighting, ngrams=2)
    features.fit_transform(TEXTS)
    counts = TextFeatures("counts", ngrams=2).fit_transform(TEXTS)
    assert (features.occurrences(TEXTS) != counts).nnz == 0
    features.transform(TEXTS)
    assert (features.occurrences(TEXTS) != counts).nnz == 0


def test_bad_features():
    with pytest.raises(OptionError, match="words, all, spaces or spacy:NAME"):
        TextFeatures(tokens="letters")
    with pytest.raises(OptionError, match="tfidf"):
        TextFeatures("tf")
    with pytest.raises(OptionError, match="min_count"):
        TextFeatures(min_count=0)
    with pytest.raises(OptionError, match="no word"):
        TextFeatures(min_count=9).fit_transform(TEXTS)


def test_a_penalty_object_comes_back_as_what_it_was(tmp_path):
    model = TextModel(LinearClassifier(ElasticNet(0.02, l2=0.1)), TextFeatures())
    model.fit(["good film", "bad film", "good plot", "bad plot"], ["pos", "neg", "pos", "neg"])
    model.save(tmp_path / "m")
    again = TextModel.load(tmp_path / "m")
    assert again.estimator.penalty == PenaltySpec("elasticnet", 0.02, l2=0.1)
