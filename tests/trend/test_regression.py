"""The estimators: baselines against scikit-learn, times with gaps, degenerate data, files."""

import contextlib
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator

from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import write_model
from spinney.settings.trend import Method, Start
from spinney.trend import TimeSeriesClassifier, TimeSeriesRegressor, TrendModel
from spinney.trend.timeline import Timeline

METHODS = list(Method.__args__)


@pytest.mark.parametrize("which", ["one", "all"])
def test_baselines_are_scikit_learns(world, which):
    rows = np.flatnonzero(world.steps == world.steps.max()) if which == "one" else np.arange(len(world.y))
    X, y = world.X[rows], world.y[rows]
    how = {"lam": 3.0, "tol": 1e-9}
    lasso = TimeSeriesRegressor(f"lasso-{which}", **how).fit(world.X, world.y, world.steps)
    peer = Lasso(alpha=3.0 / len(y), tol=1e-12, max_iter=100_000).fit(X, y)
    assert lasso.coef_[-1] == pytest.approx(peer.coef_, abs=1e-6)
    assert lasso.intercept_[-1] == pytest.approx(peer.intercept_, abs=1e-6)
    ridge = TimeSeriesRegressor(f"ridge-{which}", **how).fit(world.X, world.y, world.steps)
    peer = Ridge(alpha=3.0).fit(X.toarray(), y)
    assert ridge.coef_[-1] == pytest.approx(peer.coef_, abs=1e-6)
    assert ridge.predict(world.X) == pytest.approx(peer.predict(world.X.toarray()), abs=1e-6)
    assert ridge.coef_.shape == (5, 40)
    assert np.array_equal(ridge.coef_[0], ridge.coef_[-1])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_and_predicts(world, method):
    model = TimeSeriesRegressor(method, noise_variance=0.1).fit(world.X, world.y, world.steps + 1996)
    assert model.converged_
    assert model.times_.tolist() == [1996, 1997, 1998, 1999, 2000]
    assert model.coef_.shape == (5, 40)
    at_times = model.predict(world.X, world.steps + 1996)
    assert np.mean((world.y - at_times) ** 2) < 0.6 * np.var(world.y)
    last = world.steps == 4
    assert model.predict(world.X[last]) == pytest.approx(at_times[last])
    assert model.losses(world.X[last], world.y[last]) == pytest.approx((world.y - at_times)[last] ** 2)
    if method in ("adaptive", "sparse"):
        assert model.e_alpha_.shape == model.shrinkage_.shape == (40,)
        assert np.all((model.e_alpha_ > -0.5) & (model.e_alpha_ < 0))
        assert 5 <= model.n_active_ < 30
        assert model.shrinkage_[0] < model.shrinkage_[-1]


@pytest.mark.parametrize("init", Start.__args__)
@pytest.mark.parametrize("method", ["adaptive", "sparse"])
def test_every_start(world, method, init):
    model = TimeSeriesRegressor(method, init=init, noise_variance="residual").fit(
        world.X, world.y, world.steps
    )
    assert model.noise_variance_ > 0
    assert np.all(np.isfinite(model.coef_))
    assert np.mean(model.losses(world.X, world.y)) < np.var(world.y)


def test_the_joint_solver_through_the_estimator(world):
    model = TimeSeriesRegressor(solver="lbfgs", noise_variance=0.1, max_iter=2000, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(world.X, world.y, world.steps)
    other = clone(model).set_params(solver="alternating").fit(world.X, world.y, world.steps)
    assert other.objective_ <= model.objective_ + 1e-2
    assert other.floor_ == model.floor_


@pytest.mark.parametrize("method", METHODS)
def test_a_year_without_documents(world, method):
    years = np.where(world.steps >= 2, world.steps + 2001, world.steps + 2000)
    model = TimeSeriesRegressor(method, noise_variance=0.1).fit(world.X, world.y, years)
    assert model.times_.tolist() == [2000, 2001, 2002, 2003, 2004, 2005]
    assert np.all(np.isfinite(model.coef_))
    if method in ("adaptive", "ridge-ts"):
        before, gap, after = model.intercept_[1:4]
        assert min(before, after) - 0.7 <= gap <= max(before, after) + 0.7  # not fallen to zero
    assert np.all(np.isfinite(model.predict(world.X[:2], [2002, 2010])))


def test_ridge_ts_fills_a_gap_between_the_neighbours():
    X, y = np.ones((4, 1)), np.array([1.0, 1.0, 3.0, 3.0])
    model = TimeSeriesRegressor("ridge-ts", lam=1e-3, alpha=1.0).fit(X, y, [1, 1, 3, 3])
    assert model.predict([[1.0]], [2])[0] == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_one_time_and_one_document_a_time(method):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = TimeSeriesRegressor(method).fit(X, y)
        many = TimeSeriesRegressor(method).fit(X, y, np.arange(12))
    assert single.coef_.shape == (1, 3)
    assert many.coef_.shape == (12, 3)
    assert np.all(np.isfinite(single.predict(X)))
    assert np.all(np.isfinite(many.predict(X)))


@pytest.mark.parametrize("solver", ["alternating", "lbfgs"])
@pytest.mark.parametrize("intercept", [True, False])
def test_an_empty_start(world, solver, intercept):
    model = TimeSeriesRegressor(lam=1e6, init="lasso-one", solver=solver, fit_intercept=intercept, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(world.X, world.y, world.steps)
    assert model.n_active_ == 0
    assert np.all(np.isfinite(model.e_alpha_))
    assert np.isfinite(model.objective_)
    if intercept:
        assert model.intercept_[-1] == pytest.approx(world.y.mean(), abs=1.0)
    else:
        assert not np.any(model.predict(world.X))


def test_dense_and_sparse_input_agree(world):
    how = {"noise_variance": 0.1, "tol": 1e-7}
    one = TimeSeriesRegressor(**how).fit(world.X, world.y, world.steps)
    other = TimeSeriesRegressor(**how).fit(world.X.toarray(), world.y, world.steps)
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-5)


def test_classification(make_world):
    rng, world = np.random.default_rng(1), make_world(N=1500)
    margins = world.y + 3.0
    y = np.where(rng.random(len(margins)) < 1 / (1 + np.exp(-4 * margins)), "up", "down")
    for method in METHODS:
        model = TimeSeriesClassifier(method).fit(world.X, y, world.steps)
        last = np.flatnonzero(world.steps == 4)
        assert model.score(world.X[last], y[last]) > 0.7
        proba = model.predict_proba(world.X, world.steps)
        assert proba.sum(axis=1) == pytest.approx(1.0)
        truth = (y == model.classes_[1]).astype(int)
        assert model.losses(world.X[last], y[last]) == pytest.approx(-np.log(proba[last, truth[last]]))
    ridge = TimeSeriesClassifier("ridge-all", lam=2.0, tol=1e-8).fit(world.X, y, world.steps)
    peer = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(world.X, y)
    assert ridge.coef_[-1] == pytest.approx(peer.coef_[0], abs=1e-4)


def test_labels_that_sort_are_times():
    line = Timeline.of(["2001-Q4", "2001-Q1", "2001-Q4"])
    assert line.labels.tolist() == ["2001-Q1", "2001-Q4"]
    assert line.steps(["2001-Q2", "2002-Q1"]).tolist() == [0, 1]
    assert len(Timeline.of(np.array(["2001-01", "2001-05"], dtype="datetime64[M]"))) == 2
    assert Timeline.of([2001.0, 2003.0]).labels.tolist() == [2001, 2002, 2003]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"method": "bayes"}, OptionError),
        ({"solver": "magic"}, OptionError),
        ({"init": "adaptive"}, OptionError),
        ({"noise_variance": 0.0}, OptionError),
        ({"noise_variance": "guess"}, OptionError),
        ({"floor": 0.0}, OptionError),
        ({"lam": -1.0}, OptionError),
        ({"tau": np.nan}, OptionError),
        ({"max_iter": 0}, OptionError),
    ],
)
def test_bad_options(world, change, error):
    with pytest.raises(error):
        TimeSeriesRegressor(**change).fit(world.X, world.y, world.steps)


def test_bad_data(world):
    model = TimeSeriesRegressor("ridge-all")
    with pytest.raises(InputError, match="3 times for 400"):
        model.fit(world.X, world.y, [1, 2, 3])
    with pytest.raises(InputError, match="spread over"):
        model.fit(world.X, world.y, np.where(world.steps > 2, 19991231, 20200101))
    with pytest.raises(InputError, match="finite"):
        model.fit(world.X, world.y, np.full(400, np.nan))
    model.fit(world.X, world.y, world.steps + 2000)
    with pytest.raises(InputError, match="before the first"):
        model.predict(world.X, np.full(400, 1990))
    with pytest.raises(InputError, match="times such as"):
        model.predict(world.X, ["a"] * 400)
    with pytest.raises(InputError, match="the same class"):
        TimeSeriesClassifier(init="lasso-one").fit(world.X, world.steps == 4, world.steps)
    with pytest.raises(InputError, match="two classes"):
        TimeSeriesClassifier().fit(world.X, world.steps, world.steps)


@pytest.mark.parametrize("method", ["adaptive", "sparse", "lasso-all"])
def test_files(world, method, tmp_path):
    names = [f"w{i}" for i in range(40)]
    model = TimeSeriesRegressor(method, noise_variance=0.1).fit(world.X, world.y, world.steps + 1990)
    model.save(tmp_path / "m", names)
    back = TimeSeriesRegressor.load(tmp_path / "m")
    assert np.array_equal(
        back.predict(world.X, world.steps + 1990), model.predict(world.X, world.steps + 1990)
    )
    assert back.get_params() == model.get_params()
    assert back.names_ == names
    assert (back.objective_, back.n_active_) == (model.objective_, model.n_active_)
    if method != "lasso-all":
        assert np.array_equal(back.e_alpha_, model.e_alpha_)
    with pytest.raises(ModelFileError):
        TimeSeriesClassifier.load(tmp_path / "m")
    with pytest.raises(ModelFileError, match="where a trend/TrendModel is needed"):
        TrendModel.load(tmp_path / "m")
    with pytest.raises(InputError, match="names"):
        model.save(tmp_path / "m", names[1:])


def test_files_of_classifiers(world, tmp_path):
    y = np.where(world.y > world.y.mean(), "up", "down")
    quarters = np.array([f"2001-Q{t}" for t in world.steps])
    model = TimeSeriesClassifier("ridge-ts").fit(world.X, y, quarters)
    model.save(tmp_path / "m")
    back = TimeSeriesClassifier.load(tmp_path / "m")
    assert np.array_equal(back.predict(world.X, quarters), model.predict(world.X, quarters))
    assert back.names_ is None


def test_files_from_before_the_package_was_called_trend(world, tmp_path):
    model = TimeSeriesClassifier("ridge-ts").fit(world.X, world.y > world.y.mean(), world.steps)
    header, tensors, strings = model.parts()
    write_model(tmp_path / "m", "temporal/TimeSeriesClassifier", header, tensors, strings)
    assert np.array_equal(TimeSeriesClassifier.load(tmp_path / "m").coef_, model.coef_)


def test_damaged_files_give_one_error(world, tmp_path):
    path = tmp_path / "m"
    TimeSeriesRegressor(noise_variance=0.1).fit(world.X, world.y, world.steps).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        raw = bytearray(whole)
        for place in rng.integers(0, len(raw) if rng.random() < 0.3 else 1500, 3):
            raw[place] = rng.integers(256)
        path.write_bytes(bytes(raw))
        with contextlib.suppress(ModelFileError):
            TimeSeriesRegressor.load(path)


def test_no_numba_at_import():
    code = "import sys, spinney.trend; print('numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"


def test_the_world_is_learnt_better_with_time(make_world):
    """Where coefficients drift, the prior over time beats one copy for all times and one for the last."""
    world = make_world(T=9, N=1800, seed=3)
    train, test = world.steps < 8, world.steps == 8
    error = {}
    for method in ("adaptive", "ridge-ts", "lasso-one", "lasso-all", "ridge-all"):
        model = TimeSeriesRegressor(method, noise_variance=0.1)
        model.fit(world.X[train], world.y[train], world.steps[train])
        error[method] = model.losses(world.X[test], world.y[test]).mean()
    assert error["adaptive"] == min(error.values())


@pytest.mark.parametrize("method", ["adaptive", "ridge-ts", "lasso-all", "ridge-one"])
def test_whole_weights_are_repeated_documents(method):
    rng = np.random.default_rng(0)
    X, times, weights = rng.standard_normal((45, 3)), np.repeat([1, 2, 3], 15), rng.integers(1, 4, 45)
    y, rows = X[:, 0] + 0.3 * rng.standard_normal(45), np.repeat(np.arange(45), weights)
    for kind, of in ((TimeSeriesRegressor, y), (TimeSeriesClassifier, y > 0)):
        how = {"noise_variance": "residual"} if kind is TimeSeriesRegressor else {}
        strength = {} if method == "adaptive" else {"lam": 0.5}
        one = kind(method, tol=1e-8, max_iter=3000, **how, **strength).fit(
            X, of, times, sample_weight=weights
        )
        other = kind(method, tol=1e-8, max_iter=3000, **how, **strength).fit(X[rows], of[rows], times[rows])
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    with pytest.raises(InputError, match="sample_weight"):
        TimeSeriesRegressor("ridge-all", lam=1.0).fit(X, y, times, sample_weight=weights[:3])


def test_scikit_learn_conventions():
    check_estimator(TimeSeriesRegressor("ridge-all", lam=1.0, tol=1e-9), on_skip=None)
    check_estimator(TimeSeriesClassifier("ridge-all", lam=1.0, tol=1e-9), on_skip=None)
