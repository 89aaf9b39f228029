"""Recipes: what the commands do, in Python, on files and in memory; and a further kind of chain model."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import pytest

import spinney
from spinney import tagging
from spinney.errors import OptionError, SettingError
from spinney.settings import tag as settings
from spinney.settings.tag import FIT, Hmm
from spinney.structure import WordClasses
from spinney.tagging import Tagger
from spinney.tagging.methods import METHODS
from spinney.views import as_json

X = [["the", "dog", "sees"], ["a", "cat", "sees"], ["the", "cat"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"]]
TEMPLATE = "U:%x[0,0]\nB"


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(
        "".join("".join(f"{w} {y}\n" for w, y in zip(*pair)) + "\n" for pair in zip(X, Y, strict=True))
    )
    return str(path)


@pytest.mark.parametrize("method", ["crf", "memm", "hmm"])
def test_a_file_and_memory_give_the_same_model(train, method, tmp_path):
    one = tagging.fit(train, method=method, patterns=TEMPLATE)
    other = tagging.fit((X, Y), method=method, patterns=TEMPLATE)
    estimator = Tagger(TEMPLATE, method=method).fit(X, Y)
    for model in (other, estimator):
        np.testing.assert_array_equal(one.weights_.full(), model.weights_.full())
    assert one.facts["train"] == [train]
    assert one.facts["method"] == method
    one.save(tmp_path / "m")
    loaded = spinney.load(tmp_path / "m")
    assert loaded.settings == one.settings
    assert loaded.predict(X) == Y


def test_a_config_gives_the_same_bits(train, tmp_path):
    import tomllib

    one = tagging.fit(
        train, preset="pos", penalty="elasticnet", l2=0.1, lam=0.2, solver_options=["memory=5"], seed=3
    )
    one.save(tmp_path / "m")
    given = tomllib.loads(spinney.load(tmp_path / "m").config())
    again = tagging.fit(given.pop("train"), **given)
    np.testing.assert_array_equal(one.weights_.full(), again.weights_.full())


def test_settings_with_objects_are_not_written_in_part(tmp_path):
    classes = WordClasses(["dog", "cat"], [0, 0])
    model = tagging.fit((X, Y), patterns="U:%class[0,0,c]\nB", classes={"c": classes}, dev=(X, Y), patience=2)
    assert model.settings.patience == 2
    model.save(tmp_path / "m")
    loaded = spinney.load(tmp_path / "m")
    assert loaded.settings is None
    assert loaded.predict(X) == model.predict(X)
    assert loaded.patience == 2


def test_applying_and_evaluating(train):
    model = tagging.fit(train, patterns=TEMPLATE, lam=0.1)
    for data in (X, train):
        assert [record["labels"] for record in model.apply(data)] == Y
    [first, *_] = model.apply(X, proba=True, decoding="posterior")
    assert first["columns"] == [["the", "dog", "sees"]]
    assert min(first["probabilities"]) > 0.5
    assert model.decoding == "viterbi"  # applying changes nothing
    for data in ((X, Y), train):
        assert as_json(model.evaluate(data))["token_error"] == 0.0


def test_dictionaries_of_features():
    features = [[{"word": word} for word in words] for words in X]
    model = tagging.CRFClassifier(lam=0.1).fit(features, Y, dev=(features, Y), unlabelled=features)
    assert [record["labels"] for record in model.apply(features)] == Y
    assert as_json(model.evaluate((features, Y)))["token_error"] == 0.0
    assert set(model.get_params()) == set(Tagger().get_params()) - {"patterns", "classes", "vectors"}


def test_a_path_and_its_best_model(tmp_path):
    found = tagging.path((X, Y), patterns=TEMPLATE, penalty="l1", lams=[2.0, 0.5, 0.1], dev=(X, Y))
    weights = []
    for point in found.points:
        tagger, here = point.tagger, {}
        full, shape = tagger.weights_.full(), tagger.weights_.shape
        for o, name in enumerate(tagger.extractor_.names("u")):
            here |= {f"{name} → {label}": shape.mu(full)[o, i] for i, label in enumerate(tagger.labels_)}
        for b, name in enumerate(tagger.extractor_.names("b")):
            for z, before in enumerate([*tagger.labels_, "(start)"]):
                pairs = enumerate(tagger.labels_)
                here |= {f"{name}: {before} → {label}": shape.lam(full)[b, z, i] for i, label in pairs}
        weights.append(here)
    path = found.curves()
    assert any(": " in name.removeprefix("U:") for name in path.weights)
    for name, line in path.weights.items():
        assert line == [here.get(name, 0.0) for here in weights]
    assert path.active[-1] == np.count_nonzero(list(weights[-1].values()))
    errors = path.scores["dev token error"]
    assert found.best is found.points[errors.index(min(errors))].tagger
    assert found.best.lam == path.lams[path.best]
    assert [row["lam"] for row in found.best.facts["tried"]] == [2.0, 0.5, 0.1]
    with pytest.raises(OptionError, match="held-out"):
        _ = tagging.path((X, Y), patterns=TEMPLATE, lams=[1.0]).best


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "hmm", "lam": 0.5}, "lam is a setting of the methods crf and memm, not of hmm"),
        ({"method": "memm", "weights": "observed"}, "weights is a setting of the method crf"),
        ({"penalty": "elasticnet", "l1": 0.1}, "l1 is not used by the penalty elasticnet"),
        ({"penalty": "l1", "l2": 0.1}, "l2 is not used by the penalty l1"),
        ({"criterion": "entropy"}, "criterion needs unlabelled"),
        ({"unlabelled": X, "criterion_strength": 0.1}, "criterion_strength needs criterion"),
        (
            {"unlabelled": X, "criterion": "shift", "criterion_strength": 1.5},
            "criterion_strength of shift must be at most 1, not 1.5",
        ),
        ({"partial": True, "format": "cmudict"}, "K|S"),
        ({"patience": 3}, "patience needs dev"),
        ({"passes": 3}, "passes is only for the solvers sgd"),
        ({"solver": "sgd", "max_iter": 3}, "leave out max_iter"),
        ({"solver": "owlqn", "penalty": "l1", "step": 0.1}, "takes no step"),
        ({"solver": "perceptron", "penalty": "l1"}, "has no penalty"),
        ({"preset": "pos", "patterns": TEMPLATE}, "give only one"),
        ({"encode": "bioes", "partial": True}, "leave out encode or partial"),
        ({"classes": "brown"}, "classes must be NAME=FILE"),
    ],
    ids=str,
)
def test_what_would_be_ignored_is_refused(given, message):
    with pytest.raises(SettingError, match=message):
        tagging.fit((X, Y), **({"patterns": TEMPLATE} | given))


def test_labelling_settings_that_do_not_go_together():
    model = Tagger(TEMPLATE).fit(X, Y)
    with pytest.raises(SettingError, match="leave out proba"):
        model.apply(X, nbest=2, proba=True)
    with pytest.raises(SettingError, match="leave out decoding"):
        model.apply(X, nbest=2, decoding="posterior")
    with pytest.raises(SettingError, match="leave out points"):
        tagging.path((X, Y), lams=[1.0], points=3)


def test_a_further_kind_of_model_is_its_settings_and_a_line(train, monkeypatch, tmp_path):
    """Here, one that is counted as an hmm is, and then doubles the weights of transitions."""

    @dataclass(frozen=True, kw_only=True)
    class Stubborn(Hmm):
        method: Annotated[Literal["stubborn"], "Kind of model."] = "stubborn"

    def chains(weights, data):
        found = weights.chains(data)
        return replace(found, edges=2 * found.edges)

    monkeypatch.setitem(FIT, "stubborn", Stubborn)
    monkeypatch.setitem(METHODS, "stubborn", METHODS["hmm"]._replace(about="stubborn tagger", chains=chains))
    model = tagging.fit(train, method="stubborn", patterns=TEMPLATE)
    model.save(tmp_path / "m")
    assert spinney.load(tmp_path / "m").predict([["the", "dog"]]) == [["D", "N"]]
    assert "stubborn tagger" in model.report_views()[0].text
    assert settings.FIT["stubborn"] is Stubborn
    assert Tagger(TEMPLATE, method="stubborn").fit(X, Y).score(X, Y) == 1.0


def test_a_built_in_set_leaves_out_columns_that_the_data_do_not_have():
    sentences = [["Ada", "left", "Oslo"], ["Hugo", "likes", "Riga"]] * 3
    labels = [["B-PER", "O", "B-LOC"]] * 6
    with pytest.warns(
        UserWarning, match="12 of the .* patterns of ner are left out: .* is 1 besides the label"
    ):
        tagger = tagging.fit((sentences, labels), preset="ner", lam=0.1)
    assert tagger.predict([["Ada", "likes", "Oslo"]]) == [["B-PER", "O", "B-LOC"]]
