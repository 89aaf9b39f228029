"""The text model: words that deviate from their background, more under some covariates than under others."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax, softmax

from spinney.errors import InputError, ModelFileError
from spinney.settings.trend import Method
from spinney.trend import TimeSeriesTextModel

T, V, F = 4, 12, 3


def documents(seed=0, times=T):
    rng = np.random.default_rng(seed)
    W = np.zeros((times, V, F))
    W[:, :4, 0] = np.array([1.5, -1.5, 1.0, -1.0]) + 0.2 * rng.standard_normal((times, 4)).cumsum(axis=0)
    base = rng.standard_normal(V)
    steps = np.repeat(np.arange(times), 30)
    covariates = (rng.random((len(steps), F)) < 0.4).astype(float)
    counts = np.array([rng.multinomial(80, softmax(base + W[t] @ f)) for t, f in zip(steps, covariates)])
    return counts, covariates, steps, W


@pytest.mark.parametrize("method", Method.__args__)
def test_every_method_beats_the_background(method):
    counts, covariates, steps, W = documents(times=T + 1)
    train, test = steps < T, steps == T
    model = TimeSeriesTextModel(method).fit(
        sparse.csr_array(counts[train]), covariates[train], steps[train] + 1996
    )
    assert model.converged_
    assert model.coef_.shape == (T, V, F)
    found = model.log_likelihood(counts[test], covariates[test])
    nothing = float(np.sum(counts[test] * model.theta_[-1]))
    assert found > nothing + 50
    by_hand = sum(
        n @ log_softmax(model.theta_[-1] + model.coef_[-1] @ f)
        for n, f in zip(counts[test], covariates[test])
    )
    assert found == pytest.approx(by_hand)
    assert np.sign(model.coef_[-1, :4, 0]).tolist() == np.sign(W[-1, :4, 0]).tolist()


@pytest.mark.parametrize("method", ["adaptive", "sparse"])
@pytest.mark.parametrize("shared", [True, False])
def test_hyperparameters_shared_or_not(method, shared):
    counts, covariates, steps, _ = documents()
    model = TimeSeriesTextModel(method, shared=shared, init="lasso-all").fit(counts, covariates, steps)
    assert model.e_alpha_.shape == model.shrinkage_.shape == ((F,) if shared else (V, F))
    objectives = [step.objective for step in model.trace_]
    assert np.all(np.diff(objectives) <= 1e-9 * np.abs(objectives[0]))
    # The first covariate does something, the two others do not.
    strength = np.abs(model.coef_).sum(axis=(0, 1))
    assert strength[0] > 5 * strength[1:].max()
    if not shared:
        assert 3 <= model.n_active_ < V * F


def test_pooled_methods_have_the_background_of_all_times():
    counts, covariates, steps, _ = documents()
    pooled = TimeSeriesTextModel("lasso-all", smoothing=1.0).fit(counts, covariates, steps)
    totals = counts.sum(axis=0) + 1.0
    assert np.exp(pooled.theta_[-1]) == pytest.approx(totals / totals.sum())
    last = TimeSeriesTextModel("lasso-one", smoothing=1.0).fit(counts, covariates, steps)
    totals = counts[steps == T - 1].sum(axis=0) + 1.0
    assert np.exp(last.theta_[-1]) == pytest.approx(totals / totals.sum())


def test_lasso_one_satisfies_its_optimality_conditions():
    counts, covariates, steps, _ = documents()
    model = TimeSeriesTextModel("lasso-one", lam=5.0, tol=1e-7).fit(counts, covariates, steps)
    n, f, w = counts[steps == T - 1], covariates[steps == T - 1], model.coef_[-1]
    P = softmax(model.theta_[-1] + f @ w.T, axis=1)
    grad = (n.sum(axis=1, keepdims=True) * P - n).T @ f
    assert np.all(np.abs(grad) <= 5.0 + 1e-3)
    assert grad[w != 0] == pytest.approx(-5.0 * np.sign(w[w != 0]), abs=1e-3)


def test_gaps_one_time_and_words_never_seen():
    counts, covariates, steps, _ = documents()
    counts[:, 11] = 0
    model = TimeSeriesTextModel(init="lasso-all").fit(
        counts, covariates, np.where(steps > 1, steps + 1, steps)
    )
    assert len(model.times_) == T + 1
    seen = np.zeros((1, V))
    seen[0, 11] = 1  # a word that comes up only now
    assert np.isfinite(model.log_likelihood(seen, np.ones((1, F))))
    alone = TimeSeriesTextModel().fit(counts, covariates)
    assert alone.coef_.shape == (1, V, F)


@pytest.mark.parametrize("shared", [True, False])
def test_files(tmp_path, shared):
    counts, covariates, steps, _ = documents()
    model = TimeSeriesTextModel(shared=shared).fit(counts, covariates, steps)
    words = [f"word{v}" for v in range(V)]
    model.save(tmp_path / "m", words, ["economy", "north", "south"])
    back = TimeSeriesTextModel.load(tmp_path / "m")
    assert back.log_likelihood(counts, covariates) == model.log_likelihood(counts, covariates)
    assert (back.names_, back.effects_) == (words, ["economy", "north", "south"])
    assert np.array_equal(back.e_alpha_, model.e_alpha_)
    assert np.array_equal(back.times_, model.times_)
    raw = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(ModelFileError):
        TimeSeriesTextModel.load(tmp_path / "m")


def test_bad_data():
    counts, covariates, steps, _ = documents()
    model = TimeSeriesTextModel("ridge-all")
    with pytest.raises(InputError, match="have covariates"):
        model.fit(counts, covariates[1:], steps)
    with pytest.raises(InputError, match="negative"):
        model.fit(-counts, covariates, steps)
    with pytest.raises(InputError, match="times for"):
        model.fit(counts, covariates, steps[1:])
    model.fit(counts, covariates, steps)
    with pytest.raises(InputError, match="but the model has 12 and 3"):
        model.log_likelihood(counts[:, 1:], covariates)
