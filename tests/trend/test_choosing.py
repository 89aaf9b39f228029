"""Strengths chosen by forecasts: the climb, the held-out times, and bare fits that used to be empty."""

import warnings

import numpy as np
import pytest

import spinney
from spinney.optim import EmptyModelWarning
from spinney.trend import Documents, fit
from spinney.trend.adaptive import alternate
from spinney.trend.choosing import choose_strengths, climb, held_out_times
from spinney.trend.likelihoods import gaussian
from spinney.trend.prior import AdaptivePrior
from spinney.views import Note


def drifting(n=120, seed=0):
    """Documents of six times; four in five tell their class by a word."""
    rng = np.random.default_rng(seed)
    texts, classes, times = [], [], []
    for time in range(6):
        for i in range(n // 6):
            good = i % 2 == 0
            words = [f"filler{rng.integers(8)}" for _ in range(4)]
            words += [("fine" if good else "poor") if rng.random() < 0.8 else "plain"]
            texts.append(" ".join(words))
            classes.append("good" if good else "bad")
            times.append(time)
    return Documents(texts, np.array(times), np.array(classes))


def test_the_climb_goes_on_at_the_edge_and_stops_inside():
    asked = []

    def score(x):
        asked.append(x)
        return abs(np.log10(x) - 4)

    assert climb(score, 1.0, 10.0) == pytest.approx(1e4)
    assert max(asked) == pytest.approx(1e5)  # one beyond the best
    assert climb(lambda x: 0.0, 3.0, 10.0) == 3.0  # a plateau does not move it
    assert climb(lambda x: 5.0 - 1e-5 * np.log(x), 3.0, 10.0) == 3.0  # nor does a slope that is nearly one


def test_the_last_times_with_a_share_of_the_documents_are_held_out():
    times = np.repeat([1, 2, 3, 4], [50, 40, 6, 4])
    assert held_out_times(times) == [3, 4]
    assert held_out_times(np.repeat([1, 2, 3], [5, 5, 90])) == [3]
    assert held_out_times(np.repeat([1, 2, 3, 4], [97, 1, 1, 1])) == [3, 4]  # two times must be left
    assert held_out_times(np.array([1, 1, 2])) == []


def test_a_bare_fit_forecasts_and_names_a_plain_method_that_is_better():
    documents = drifting()
    model = fit(documents)
    choice = model.facts["choice"]
    assert model.facts["active"] > 0
    assert choice["loss"] < 0.5 * np.log(2)  # half of what an empty model has
    best = min(choice["starts"], key=choice["starts"].get)
    assert choice["better"] == (best if choice["starts"][best] < 0.98 * choice["loss"] else None)
    assert {"init", "lam", "floor"} <= choice["settings"].keys()
    assert np.mean(model.predict(documents) == documents.targets) > 0.8
    assert any(isinstance(view, Note) and "held out" in view.text for view in model.summary())


def test_what_is_given_is_not_chosen():
    documents = drifting(60)
    model = fit(documents, init="ridge-ts", lam=1.0, floor=1.0)
    assert "choice" not in model.facts
    chosen = fit(documents, lam=2.0, init="ridge-all").facts["choice"]["settings"]
    assert (chosen["init"], chosen.get("lam", 2.0)) == ("ridge-all", 2.0)
    assert fit(documents, method="ridge-ts", lam=1.0).facts["choice"]["settings"].keys() == {"alpha"}
    assert choose_strengths(model, documents.rows(np.arange(20)), {}) is None  # a single time


def test_an_empty_model_says_so_with_a_remedy():
    with pytest.warns(EmptyModelWarning, match=r"empty: .*every"):
        fit(drifting(60), init="lasso-all", lam=1e6, floor=1e-8)


def test_a_time_for_each_document_is_remarked():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["war", "trade", "tax"], 9)) for _ in range(12)]
    with pytest.warns(UserWarning, match="12 documents in 12 times"):
        fit(Documents(texts, np.arange(12)), method="ridge-ts", lam=1.0, alpha=1.0)


def test_small_series_are_not_pruned_before_they_can_grow():
    """A floor above every Q, which makes the prior a ridge, used to empty the model in the first round."""
    rng = np.random.default_rng(0)
    X, steps = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    loss = gaussian(X, X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=60), steps, 3, bias=False)
    prior = AdaptivePrior(3, floor=100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pruned = alternate(loss, prior, np.full((3, 3), 1e-3), tol=1e-8)
        plain = alternate(loss, prior, np.full((3, 3), 1e-3), tol=1e-8, prune=False)
    np.testing.assert_allclose(pruned.W, plain.W, rtol=1e-6)
    assert np.all(np.any(pruned.W != 0, axis=0))


@pytest.mark.parametrize("method", ["lasso-all", "ridge-ts"])
def test_a_plain_model_of_numbers_can_be_opened_again(tmp_path, method):
    """Its noise variance was saved as the word "residual", and the file was refused as damaged."""
    documents = Documents(
        ["war war", "peace", "war", "peace peace"] * 3, np.repeat([1, 2, 3], 4), np.arange(12.0)
    )
    model = fit(documents, method=method, lam=0.1, min_count=1)
    model.save(tmp_path / "m.spinney")
    assert spinney.load(tmp_path / "m.spinney").facts["method"] == method
