"""Rolling-origin evaluation: the future is never seen, the choice is made at the first test time."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from spinney.errors import InputError, OptionError
from spinney.trend import (
    TimeSeriesRegressor,
    TimeSeriesTextModel,
    candidates,
    overall,
    rolling_origin,
    signed_rank,
)


@pytest.fixture(scope="module")
def world(make_world):
    return make_world(T=7, N=500)


METHODS = {
    "adaptive": candidates(TimeSeriesRegressor(noise_variance=0.1), tau=[0.1, 1.0]),
    "ridge-ts": candidates(TimeSeriesRegressor("ridge-ts"), lam=[0.1, 3.0], alpha=[0.1, 10.0]),
    "lasso-all": TimeSeriesRegressor("lasso-all"),
}


def test_rows(world):
    rows = rolling_origin(METHODS, (world.X, world.y), world.steps, [4, 5, 6], threads=2)
    assert [(row.time, row.method) for row in rows] == [(t, m) for t in (4, 5, 6) for m in METHODS]
    for row in rows:
        assert row.n == np.count_nonzero(world.steps == row.time) == len(row.losses)
        assert row.n_train == np.count_nonzero(world.steps < row.time)
        assert row.mean == pytest.approx(row.losses.mean())
    # The choice: the best at the first time, kept later.
    tried = {}
    train, test = world.steps < 4, world.steps == 4
    for model in METHODS["ridge-ts"]:
        fitted = model.fit(world.X[train], world.y[train], world.steps[train])
        tried[model.lam, model.alpha] = fitted.losses(world.X[test], world.y[test]).mean()
    chosen = [row.chosen for row in rows if row.method == "ridge-ts"]
    assert chosen[0] == chosen[1] == chosen[2]
    assert (chosen[0]["lam"], chosen[0]["alpha"]) == min(tried, key=tried.get)
    assert rows[1].mean == pytest.approx(min(tried.values()))
    assert rows[2].chosen == {}


def test_the_future_is_never_seen(world):
    """Whatever comes after a test time, and what was right at it, changes nothing of what was predicted."""
    before = rolling_origin(METHODS, (world.X, world.y), world.steps, [4, 5], threads=1)
    X, y = world.X.copy(), world.y.copy()
    future = np.flatnonzero(world.steps > 5)
    y[future] = np.nan
    X = X.tolil()
    X[future] = 1e30
    after = rolling_origin(METHODS, (X.tocsr(), y), world.steps, [4, 5], threads=1)
    for one, other in zip(before, after):
        assert np.array_equal(one.losses, other.losses)
        assert one.chosen == other.chosen


def test_a_window(world):
    model = TimeSeriesRegressor("ridge-all", lam=1.0)
    (row,) = rolling_origin({"m": model}, (world.X, world.y), world.steps, [5], window=2, threads=1)
    inside = (world.steps >= 3) & (world.steps < 5)
    assert row.n_train == np.count_nonzero(inside)
    model.fit(world.X[inside], world.y[inside], world.steps[inside])
    test = world.steps == 5
    assert row.losses == pytest.approx(model.losses(world.X[test], world.y[test]))


def test_overall_and_the_signed_rank_test(world):
    rows = rolling_origin(METHODS, (world.X, world.y), world.steps, [4, 5, 6], threads=1)
    for row in overall(rows):
        parts = [one for one in rows if one.method == row.method]
        assert row.n == sum(one.n for one in parts)
        assert row.mean == pytest.approx(sum(one.n * one.mean for one in parts) / row.n)
    assert (
        overall(rows, development=False)[0].n
        == sum(row.n for row in rows if row.method == "adaptive") - rows[0].n
    )
    a, b = (np.concatenate([r.losses for r in rows if r.method == m]) for m in ("adaptive", "lasso-all"))
    assert signed_rank(rows, "adaptive", "lasso-all") == pytest.approx(wilcoxon(a, b).pvalue)
    assert signed_rank(rows, "adaptive", "adaptive") == 1.0


def test_text_models_roll_too():
    rng = np.random.default_rng(0)
    counts, f, times = rng.integers(0, 9, (40, 6)), rng.integers(0, 2, (40, 2)), np.repeat([1, 2, 3, 4], 10)
    grid = candidates(TimeSeriesTextModel("lasso-one"), lam=[1.0, 10.0])
    rows = rolling_origin({"lasso-one": grid}, (counts, f), times, [3, 4], threads=1)
    assert [row.n for row in rows] == [10, 10]
    assert all(row.mean > 0 for row in rows)


def test_bad_requests(world):
    data = (world.X, world.y)
    with pytest.raises(InputError, match="no documents before"):
        rolling_origin(METHODS, data, world.steps, [0])
    with pytest.raises(InputError, match="no documents at"):
        rolling_origin(METHODS, data, world.steps, [9])
    with pytest.raises(OptionError):
        rolling_origin({}, data, world.steps, [4])
    with pytest.raises(OptionError):
        rolling_origin(METHODS, data, world.steps, [4], window=0)
    rows = rolling_origin({"m": METHODS["lasso-all"]}, data, world.steps, [4], threads=1)
    with pytest.raises(OptionError):
        signed_rank(rows, "m", "other")
