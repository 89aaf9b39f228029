"""Explanations of documents add up to margins; abstaining and calibration of classifiers."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier, LinearRegressor, TextFeatures, TreeClassifier
from spinney.classify.explaining import judgements
from spinney.classify.model import TextModel
from spinney.errors import InputError
from spinney.structure import ClassTree, Groups
from spinney.views import as_json

TEXTS = ["good fun film", "great fun", "dull film", "dull and bad", "a law", "law and act"]
LABELS = ["+", "+", "-", "-", "law", "law"]
NEW = ["fun law film", "dull dull fun", "unheard of"]


@pytest.fixture(scope="module", params=[2, 3])
def model(request):
    n = 4 if request.param == 2 else 6
    return TextModel(LinearClassifier("l2", lam=0.1), TextFeatures("counts")).fit(TEXTS[:n], LABELS[:n])


def test_contributions_add_up_to_the_log_odds(model):
    for text, one in zip(NEW, judgements(model, NEW)):
        chances = dict(zip(model.outputs, model.predict_proba([text])[0]))
        assert one.label == model.predict([text])[0] == max(chances, key=chances.get)
        assert one.rival == sorted(chances, key=chances.get)[-2]
        assert one.margin == pytest.approx(np.log(chances[one.label] / chances[one.rival]))
        assert one.intercept + sum(value for _, value in one.contributions) == pytest.approx(one.margin)
        assert {word for word, _ in one.contributions} <= set(text.split())


def test_contributions_of_a_regressor_add_up_to_its_number():
    model = TextModel(LinearRegressor("l2", lam=0.1), TextFeatures("counts")).fit(TEXTS, np.arange(6.0))
    for text, one in zip(NEW, judgements(model, NEW)):
        assert one.margin == pytest.approx(model.predict([text])[0])
        assert one.intercept + sum(value for _, value in one.contributions) == pytest.approx(one.margin)


def test_groups_have_the_sums_of_their_members():
    features = TextFeatures("counts")
    features.fit(TEXTS[:4])
    names = list(features.names)
    groups = Groups.from_lists(
        [[names.index("fun"), names.index("film")], [names.index("dull")]], len(names), names=["one", "two"]
    )
    model = TextModel(LinearClassifier("l2", lam=0.1), features).fit(TEXTS[:4], LABELS[:4])
    model.estimator.set_params(groups=groups)
    [found] = judgements(model, ["fun film dull"])
    words = dict(found.contributions)
    assert dict(found.groups) == pytest.approx({"one": words["fun"] + words["film"], "two": words["dull"]})


def test_explain_shows_words_sentences_and_paths(model):
    found = as_json(model.explain(NEW, documents=2, top=1))["explained"]
    assert [one["label"] for one in found] == [str(label) for label in model.predict(NEW[:2])]
    assert all(len(one["contributions"]) <= 1 for one in found)
    tree = TextModel(TreeClassifier(ClassTree.from_newick("((+,-),law);"), 0.1), TextFeatures("counts"))
    [way] = as_json(tree.fit(TEXTS, LABELS).explain(NEW[:1]))["ways"]
    assert way["probability"] == pytest.approx(np.prod([step["probability"] for step in way["steps"]]))


def test_abstaining_and_calibration(model):
    n = 4 if len(model.outputs) == 2 else 6
    texts, labels = [*TEXTS[:n], "fun dull"], [*LABELS[:n], "-"]
    chances = model.predict_proba(texts).max(axis=1)
    level = float(np.sort(chances)[2])
    given = [record["label"] for record in model.apply(texts, abstain=level)]
    assert given == [y if p >= level else "_" for y, p in zip(model.predict(texts).tolist(), chances)]
    scores = as_json(model.evaluate((texts, labels), abstain=level))
    right = model.predict(texts) == np.array(labels)
    assert scores["coverage"] == pytest.approx(np.mean(chances >= level))
    assert scores["accuracy_answered"] == pytest.approx(right[chances >= level].mean())
    assert scores["brier"] == pytest.approx(np.mean((chances - right) ** 2))
    assert sum(one["answers"] for one in scores["reliability"]) == len(texts)


def test_what_has_no_probabilities_cannot_abstain():
    hinge = TextModel(LinearClassifier("l2", lam=0.1, loss="squared-hinge"), TextFeatures("counts"))
    hinge.fit(TEXTS[:4], LABELS[:4])
    numbers = TextModel(LinearRegressor("l2", lam=0.1), TextFeatures("counts")).fit(TEXTS, np.arange(6.0))
    for model, truth in ((hinge, LABELS[:4]), (numbers, np.arange(4.0))):
        for asked in ({"abstain": 0.5}, {"proba": True}):
            with pytest.raises(InputError, match="no class probabilities"):
                model.apply(TEXTS[:4], **asked)
        with pytest.raises(InputError, match="no class probabilities"):
            model.evaluate((TEXTS[:4], truth), abstain=0.5)
    assert "brier" not in as_json(hinge.evaluate((TEXTS[:4], LABELS[:4])))
    assert not any("probability" in getattr(view, "title", "") for view in hinge.explain(TEXTS[:1]))
