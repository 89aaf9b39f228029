"""Small weights that are dropped after a fit, and what it costs the objective."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from spinney.tagging import Tagger, fit, labelled_columns, pruning
from spinney.tagging.pruning import LARGE, pruned
from spinney.tagging.selection import threshold

WORDS = ["the", "a", "dog", "cat", "fox", "eel", "sees", "hears", "old", "new", ".", ","]
LABELS = dict(zip(WORDS, "DDNNNNVVAAPP"))


@pytest.fixture(scope="module")
def sentences():
    rng = np.random.default_rng(0)
    X = [[str(word) for word in rng.choice(WORDS, 6)] for _ in range(60)]
    return X, [[LABELS[word] if rng.random() < 0.95 else "N" for word in sentence] for sentence in X]


def objective(problem, w):
    return problem.loss.value_and_grad(w)[0] + problem.penalty.value(w)


PATTERNS = "U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB"


@pytest.fixture(scope="module")
def fitted(sentences):
    tagger = Tagger(PATTERNS, lam=0.5, precision="double")
    problem = tagger.problem(labelled_columns(*sentences))
    return problem, tagger.fit(*sentences).weights_.full()


def test_a_given_threshold_is_used_as_it_is(fitted):
    problem, w = fitted
    found = pruned(problem, w, SimpleNamespace(min_weight=0.1))
    np.testing.assert_array_equal(found.w, np.where(np.abs(w) > 0.1, w, 0.0))
    assert found.dropped == np.sum(np.abs(w) <= 0.1) > 0
    assert found.rise == pytest.approx(objective(problem, found.w) / objective(problem, w) - 1)


def test_the_default_is_lowered_until_the_objective_hardly_rises(fitted, monkeypatch):
    problem, w = fitted
    monkeypatch.setattr(pruning, "LARGE", 0)
    monkeypatch.setattr(pruning, "SMALL", 8.0)  # all of them
    found = pruned(problem, w, SimpleNamespace(min_weight=None, penalty="l2", solver="auto"))
    before = objective(problem, w)
    rises = [objective(problem, threshold(w, 8.0 / 2**k)) / before - 1 for k in range(20)]
    first = next(k for k, rise in enumerate(rises) if rise <= 0.01)
    assert first > 0
    assert found.threshold == 8.0 / 2**first
    assert found.rise == pytest.approx(rises[first])


@pytest.mark.parametrize(
    ("given", "n", "is_pruned"),
    [
        ({}, LARGE, True),
        ({}, LARGE - 1, False),
        ({"penalty": "none"}, LARGE, True),
        ({"penalty": "elasticnet"}, LARGE, False),
        ({"solver": "perceptron"}, LARGE, False),
    ],
)
def test_what_is_pruned_by_default(given, n, is_pruned):
    class Loss:
        value_and_grad = staticmethod(lambda w: (1.0, w))

    problem = SimpleNamespace(loss=Loss, penalty=SimpleNamespace(value=lambda w: 1.0))
    settings = SimpleNamespace(**{"min_weight": None, "penalty": "l2", "solver": "auto", **given})
    assert (pruned(problem, np.full(n, 0.01), settings) is not None) == is_pruned


def test_an_interrupt_drops_nothing(fitted):
    problem, w = fitted

    class Loss:
        def value_and_grad(self, w):
            raise KeyboardInterrupt

    found = pruned(replace(problem, loss=Loss()), w, SimpleNamespace(min_weight=0.1))
    assert found.interrupted
    assert found.w is w


def test_fit_says_what_it_dropped(sentences):
    model = fit(sentences, patterns=PATTERNS, lam=0.5, min_weight=0.05)
    whole = fit(sentences, patterns=PATTERNS, lam=0.5)
    assert model.facts["active"] == model.weights_.n_active < whole.facts["active"]
    assert np.abs(model.weights_.values[model.weights_.values != 0]).min() > 0.05
    dropped = whole.facts["active"] - model.facts["active"]
    assert model.facts["pruned"].startswith(f"{dropped:,} weights of at most 0.05; the objective ")
    assert "pruned" not in whole.facts
    same = [
        a == b for x, y in zip(model.predict(sentences[0]), whole.predict(sentences[0])) for a, b in zip(x, y)
    ]
    assert np.mean(same) > 0.99
