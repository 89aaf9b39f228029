"""Read-outs against naive loops: log-odds of sentences, status of groups, places of words."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.classify import LinearClassifier, LinearRegressor, TextFeatures, TextModel
from spinney.classify.readout import (
    active_words,
    group_status,
    model_size,
    sentence_log_odds,
    weights_by_class,
    words_in,
)
from spinney.corpus import sample_documents, split_sentences
from spinney.errors import InputError, OptionError
from spinney.structure import Groups

DOCUMENTS = sample_documents()
LABELS = [document.label for document in DOCUMENTS]


@pytest.fixture(scope="module", params=["tfidf", "counts", "binary"])
def model(request):
    features = TextFeatures(request.param, ngrams=2, min_count=3)
    estimator = LinearClassifier("l2", lam=1.0, solver="lbfgs", tol=1e-3)
    return TextModel(estimator, features).fit([document.text for document in DOCUMENTS], LABELS)


def two_classes(**features):
    """Weights chosen, not learnt: fun and good speak for +, dull against it."""
    made = TextFeatures("counts", **features)
    made.fit_transform(["good fun dull and plain words", "fun dull"])
    estimator = LinearClassifier()
    estimator.classes_ = np.array(["-", "+"])
    weight = {"good": 0.5, "fun": 2.0, "dull": -1.0}
    estimator._store(np.array([[weight.get(name, 0.0) for name in made.names]]), np.array([0.25]))
    estimator.n_features_in_ = len(made.names)
    return TextModel(estimator, made)


# ------------------------------------------------------------------------------------- log-odds


@pytest.mark.parametrize("label", [None, "objects"])
def test_log_odds_are_those_of_a_naive_loop(model, label):
    text = next(document.text for document in DOCUMENTS if 4 < len(split_sentences(document.text)) < 30)
    odds = sentence_log_odds(model, text, label)
    y = model.outputs.index(odds.label)
    assert odds.label == (label or str(model.predict([text])[0]))
    whole = math.log(model.predict_proba([text])[0, y])
    assert odds.outcome == pytest.approx(whole, abs=1e-12)
    sentences = split_sentences(text)
    for s, score in enumerate(odds.scores):
        rest = " ".join(sentences[:s] + sentences[s + 1 :])
        expected = whole - math.log(model.predict_proba([rest])[0, y])
        assert score == pytest.approx(expected, abs=1e-12)
    assert odds.sentences == sentences


def test_sentences_may_be_given_and_limited(model):
    text = DOCUMENTS[0].text
    sentences = split_sentences(text)
    whole = sentence_log_odds(model, text)
    np.testing.assert_allclose(sentence_log_odds(model, sentences).scores, whole.scores, atol=1e-12)
    some = sentence_log_odds(model, text, limit=2)
    assert some.sentences == sentences[:2]
    np.testing.assert_allclose(some.scores, whole.scores[:2], atol=1e-12)


def test_log_odds_where_probabilities_are_0():
    model = two_classes()
    odds = sentence_log_odds(model, "fun " * 1000 + ". So dull.", "-")
    assert odds.outcome == pytest.approx(-2000 + 1 - 0.25)
    assert odds.scores == pytest.approx([-2000 + np.log1p(np.exp(-0.75)) + 1 - 0.25, 1.0])


def test_small_scores_are_hidden_and_empty_documents_have_none():
    model = two_classes()
    odds = sentence_log_odds(model, "Fun was had. These are plain words. Nothing.")
    assert odds.shown.tolist() == [True, False, False]
    assert len(sentence_log_odds(model, " \n ").scores) == 0


def test_log_odds_of_a_regressor_are_differences_of_numbers():
    model = TextModel(LinearRegressor("l2", lam=0.1, solver="lbfgs"), TextFeatures("counts"))
    model.fit(["good fun", "good", "dull", "dull dull"], [3.0, 2.0, 0.0, -1.0])
    odds = sentence_log_odds(model, "Good fun. It was dull.")
    whole, first, second = model.predict(["good fun it was dull", "it was dull", "good fun"])
    assert odds.scores == pytest.approx([whole - first, whole - second])
    assert odds.outcome == pytest.approx(whole)


def test_log_odds_refuse_what_is_no_class_and_no_text():
    with pytest.raises(OptionError, match=r"'x' is not a class of the model: -, \+"):
        sentence_log_odds(two_classes(), "fun", "x")
    with pytest.raises(InputError, match="has no sentences"):
        sentence_log_odds(TextModel(LinearClassifier()), "fun")


# ------------------------------------------------------------------------------------------ size


def test_size_and_weights_of_two_classes_and_of_more(model):
    size = model_size(model)
    assert size.parameters == model.coef.size
    assert sum(size.by_class.values()) == size.active == np.count_nonzero(model.coef)
    found = weights_by_class(model, 3)
    for k, label in enumerate(model.outputs):
        order = sorted(range(len(model.names)), key=lambda j: -abs(model.coef[k, j]))[:3]
        assert found[label] == [(model.names[j], model.coef[k, j]) for j in order]
    two = two_classes()
    assert model_size(two).by_class == {"-": 1, "+": 2}
    assert model_size(two).share == 3 / 6
    assert weights_by_class(two) == {"-": [("dull", 1.0)], "+": [("fun", 2.0), ("good", 0.5)]}


# ---------------------------------------------------------------------------------------- groups


def test_group_status_by_the_copies_of_admm():
    """Before the optimum, a group with v_g = 0 is removed though its weights are not 0 (Yogatama 2015)."""
    groups = Groups.from_lists([[0, 1], [1, 2]], 3)
    coef = np.array([[1.0, 0.1, 2.0]])
    status = group_status(coef, groups, list("uvw"), ["no", "yes"], copy_norms=np.array([0.0, 2.0]))
    assert (status.n_selected, status.n_removed) == (1, 1)
    assert status.removed[0].words[0].word == "u"
    assert group_status(coef, groups, list("uvw"), ["no", "yes"]).n_removed == 0
    with pytest.raises(OptionError, match="3 norms"):
        group_status(coef, groups, list("uvw"), ["no", "yes"], copy_norms=np.ones(3))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_group_status_is_that_of_a_naive_loop(data):
    p, n = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 6))
    member_lists = [
        data.draw(st.lists(st.integers(0, p - 1), min_size=1, max_size=p, unique=True)) for _ in range(n)
    ]
    rows = data.draw(st.integers(1, 3))
    values = st.sampled_from([0.0, 0.0, 1.0, -2.0, 1e-200])
    coef = np.array([[data.draw(values) for _ in range(p)] for _ in range(rows)])
    groups = Groups.from_lists(member_lists, p, names=[f"g{g}" for g in range(n)])
    outputs = ["a", "b"] if rows == 1 else list("abc")[:rows]
    names = [f"w{j}" for j in range(p)]
    status = group_status(coef, groups, names, outputs, top=n, words=p)
    kept = [f"g{g}" for g in range(n) if np.any(coef[:, groups[g]])]
    by_name = {view.name: view for view in status.selected + status.removed}
    assert len(by_name) == n
    assert sorted(view.name for view in status.selected) == kept
    for g in range(n):
        view = by_name[f"g{g}"]
        assert view.norm == pytest.approx(np.linalg.norm(coef[:, groups[g]]), abs=1e-150)
        assert view.size == len(member_lists[g])
        assert sorted(word.word for word in view.words) == sorted(names[j] for j in member_lists[g])
    norms = [view.norm for view in status.selected]
    assert norms == sorted(norms, reverse=True)
    weights = [(view.weight, view.size) for view in status.removed]
    assert weights == sorted(weights, reverse=True)


def test_groups_selected_and_removed():
    lists = [[0, 1], [2, 3], [2], [3, 4, 5]]
    names = ["topic: a", "topic: b", "sentence: c", "sentence: d"]
    groups = Groups.from_lists(lists, 6, weights=[1.0, 2.0, 9.0, 1.0], names=names)
    coef = np.array([[3.0, -4.0, 0.0, 0.0, 0.0, 0.5]])
    status = group_status(coef, groups, list("uvwxyz"), ["no", "yes"], top=1)
    assert (status.n_selected, status.n_removed) == (2, 2)
    assert status.families == {"sentence": (1, 1), "topic": (1, 1)}
    (selected,), (removed,) = status.selected, status.removed
    assert (selected.name, selected.norm, selected.active) == ("topic: a", 5.0, 2)
    assert selected.words == [("v", 4.0, "no"), ("u", 3.0, "yes")]
    assert (removed.name, removed.weight, removed.active) == ("sentence: c", 9.0, 0)


def test_words_of_groups_with_several_classes_and_without_families():
    groups = Groups.from_lists([[0, 1], [1]], 2, names=["with: colon", "without"])
    coef = np.array([[1.0, 0.0], [-3.0, 0.0], [0.5, 0.0]])
    status = group_status(coef, groups, ["u", "v"], ["a", "b", "c"])
    assert status.selected[0].words[0] == ("u", -3.0, "b")
    assert status.families == {}
    with pytest.raises(OptionError, match="groups over 2 features, but a model with 3"):
        group_status(np.zeros((1, 3)), groups, list("uvw"), ["a", "b"])


def test_group_status_of_many_groups():
    rng = np.random.default_rng(0)
    n, p = 30_000, 5_000
    ptr = np.arange(n + 1) * 6
    members = (rng.integers(0, p - 6, n)[:, None] + np.arange(6)).ravel()
    groups = Groups(ptr, members, n_features=p, names=[f"sentence: {g}" for g in range(n)])
    coef = np.where(rng.random((1, p)) < 0.02, rng.normal(size=(1, p)), 0.0)
    status = group_status(coef, groups, [str(j) for j in range(p)], ["a", "b"], top=5)
    kept = (coef[0, members.reshape(n, 6)] != 0).any(axis=1)
    assert status.families == {"sentence": (int(kept.sum()), int(n - kept.sum()))}
    assert len(status.selected) == len(status.removed) == 5


# ----------------------------------------------------------------------------------------- words


def test_words_are_found_where_they_stand():
    model = two_classes()
    text = "FUN! Not a dull film; fun-ny, dullish."
    spans = words_in(text, model)
    assert [text[span.start : span.stop] for span in spans] == ["FUN", "dull", "fun"]
    assert [span.label for span in spans] == ["+", "-", "+"]
    assert words_in(text, model, active_words(model)) == spans


def test_words_after_letters_whose_lower_case_is_longer():
    text = "İİ İstanbul was fun"
    assert [text[span.start : span.stop] for span in words_in(text, two_classes())] == ["fun"]


@pytest.mark.parametrize("tokens", ["words", "all", "spaces"])
def test_words_of_every_kind_of_tokens(tokens):
    text = "Good fun , and so dull"
    spans = words_in(text, two_classes(tokens=tokens))
    assert [text[span.start : span.stop] for span in spans] == ["Good", "fun", "dull"]


def test_ngrams_stand_at_their_first_word_and_pass_over_stop_words():
    model = TextModel(
        LinearClassifier("l2", solver="lbfgs"), TextFeatures("counts", ngrams=2, stop_words="english")
    )
    model.fit(["good fun", "good fun", "dull film", "dull film"], ["+", "+", "-", "-"])
    text = "Good and the fun"
    found = [(text[span.start : span.stop], span.word) for span in words_in(text, model)]
    assert found == [("Good", "good"), ("Good", "good fun"), ("fun", "fun")]


def test_words_in_text_agree_with_the_matrix(model):
    active = active_words(model)
    for document in DOCUMENTS[:3]:
        spans = words_in(document.text, model, active)
        row = model.features.occurrences([document.text]).tocsr()
        names = {model.names[j] for j in row.indices} & active.keys()
        assert {span.word for span in spans} == names
