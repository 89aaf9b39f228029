"""Small weights that are dropped after a fit, by what it costs the objective."""

import numpy as np
import pytest

from spinney.errors import SettingError
from spinney.tagging import Tagger, fit, labelled_columns
from spinney.tagging.pruning import LARGE, NEAR, allowed_rise, pruned
from spinney.tagging.selection import threshold

WORDS = ["the", "a", "dog", "cat", "fox", "eel", "sees", "hears", "old", "new", ".", ","]
LABELS = dict(zip(WORDS, "DDNNNNVVAAPP"))


@pytest.fixture(scope="module")
def sentences():
    rng = np.random.default_rng(0)
    X = [[str(word) for word in rng.choice(WORDS, 6)] for _ in range(60)]
    return X, [[LABELS[word] if rng.random() < 0.95 else "N" for word in sentence] for sentence in X]


@pytest.fixture(scope="module")
def fitted(sentences):
    tagger = Tagger("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB", lam=0.5, precision="double")
    problem = tagger.problem(labelled_columns(*sentences))
    tagger.fit(*sentences)
    return problem, tagger.weights_.full()


def objective(problem, w):
    return problem.loss.value_and_grad(w)[0] + problem.penalty.value(w)


@pytest.mark.parametrize("rise", [0.01, 0.2])
def test_as_many_as_the_objective_allows(fitted, rise):
    problem, w = fitted
    found = pruned(problem, w, rise)
    before = objective(problem, w)
    assert objective(problem, found.w) / before - 1 == pytest.approx(found.rise)
    assert found.rise <= rise
    # By brute force: the smallest number of weights for which the objective is still low enough.
    sizes = np.sort(np.abs(w))[::-1]
    fewest = next(
        k for k in range(len(w)) if objective(problem, threshold(w, sizes[k])) <= (1 + rise) * before
    )
    assert fewest <= np.count_nonzero(found.w) <= NEAR * fewest + 1
    np.testing.assert_array_equal(found.w[found.w != 0], w[np.abs(w) > found.threshold])
    assert found.dropped == len(w) - np.count_nonzero(found.w) > 0


def test_nothing_is_dropped_that_costs_too_much(fitted):
    problem, w = fitted
    large = np.where(np.abs(w) > 0.3, w, 0.0)
    found = pruned(problem, large, 0.0)
    assert found.rise <= 0


def test_an_interrupt_keeps_what_was_found(fitted):
    problem, w = fitted
    calls = []

    class Loss:
        def value_and_grad(self, w):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return problem.loss.value_and_grad(w)

    found = pruned(problem.__class__(**{**vars(problem), "loss": Loss()}), w, 0.9)
    assert found.interrupted
    assert found.dropped > 0


def test_what_is_pruned_by_default():
    class S:
        prune, penalty, solver = None, "l2", "auto"

    assert allowed_rise(S, LARGE) == 0.01
    assert allowed_rise(S, LARGE - 1) == 0.0
    S.penalty = "elasticnet"
    assert allowed_rise(S, LARGE) == 0.0
    S.penalty, S.solver = "l2", "perceptron"
    assert allowed_rise(S, LARGE) == 0.0
    S.prune = 0.3
    assert allowed_rise(S, 1) == 0.3


def test_fit_says_what_it_dropped(sentences):
    model = fit(sentences, patterns="U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB", lam=0.5, prune=0.05)
    assert model.facts["active"] == model.weights_.n_active < model.facts["parameters"]
    assert 0 < model.facts["rise"] <= 0.05
    assert model.facts["pruned"].startswith(
        f"{model.facts['parameters'] - model.facts['active']:,} weights of at most"
    )
    whole = fit(sentences, patterns="U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB", lam=0.5)
    assert "pruned" not in whole.facts
    same = [
        a == b for x, y in zip(model.predict(sentences[0]), whole.predict(sentences[0])) for a, b in zip(x, y)
    ]
    assert np.mean(same) > 0.99


def test_a_solver_without_an_objective_cannot_prune(sentences):
    with pytest.raises(SettingError, match="no objective to prune by"):
        fit(sentences, patterns="U:%x[0,0]\nB", solver="perceptron", prune=0.1)
