"""Tuning on a development set: choices against brute force, ties, chains, threads, searches, interrupts, errors."""

import itertools
import sys
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

from spinney.classify import LinearClassifier, LinearRegressor
from spinney.classify.tuning import THESIS_GRIDS, Grid, Tuned, tune
from spinney.errors import InputError, OptionError
from spinney.optim import ConvergenceWarning
from spinney.structure import Groups

DECADES = [1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]


def _split(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    train, dev = order[: len(y) // 2], order[len(y) // 2 :]
    return X[train], y[train], X[dev], y[dev]


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(200, 30, n_informative=5, flip_y=0.2, random_state=1)
    return _split(scale(X), y)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return _split(scale(X), y)


class Scripted(LinearClassifier):
    """A classifier whose fits are written down: (lam, l1) → (score, nonzero weights)."""

    SCRIPT = {}  # noqa: RUF012
    fitted = []  # noqa: RUF012
    interrupt_at = None

    def fit(self, X, y, sample_weight=None):
        cell = self.lam, self.l1
        if cell == self.interrupt_at:
            raise KeyboardInterrupt
        start = self.coef_.sum() if self.warm_start and hasattr(self, "coef_") else None
        self.fitted.append((*cell, start))
        score, active = self.SCRIPT[cell]
        self.score_, self.n_active_ = score, active
        self.coef_ = np.array([[self.lam]])
        self.violation_, self.converged_ = 0.0, True
        return self

    def score(self, X, y, sample_weight=None):
        return self.score_


def _scripted(script, interrupt_at=None):
    kind = type("Scripted", (Scripted,), {"SCRIPT": script, "fitted": [], "interrupt_at": interrupt_at})
    return kind()


ANY = np.eye(2), [0, 1], np.eye(2), [0, 1]


# Against brute force


@pytest.mark.parametrize("name", ["lasso", "ridge"])
@pytest.mark.parametrize("which", ["data", "cancer"])
def test_choice_of_a_scikit_learn_loop(name, which, request):
    X, y, X_dev, y_dev = request.getfixturevalue(which)
    # Without an intercept, which liblinear would penalise.
    tuned = tune(LinearClassifier(tol=1e-8, fit_intercept=False), name, X, y, X_dev, y_dev)
    ranks = []
    for lam in DECADES:
        strength = lam if name == "lasso" else 2 * lam  # the thesis's λ‖w‖² is scikit-learn's ½(2λ)‖w‖²
        how = {"l1_ratio": 1.0, "solver": "liblinear"} if name == "lasso" else {}
        peer = LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-8, max_iter=10_000, **how)
        peer.fit(X, y)
        accuracy, active = peer.score(X_dev, y_dev), np.count_nonzero(peer.coef_)
        ranks.append((accuracy, active > 0, -active, strength))
    best = max(ranks)
    assert tuned.best_score == best[0]
    assert tuned.best.active == -best[2]
    assert tuned.best_params == {"penalty": "l1" if name == "lasso" else "l2", "lam": best[3]}
    assert [trial.score for trial in tuned.trials] == [rank[0] for rank in ranks]
    assert [trial.active for trial in tuned.trials] == [-rank[2] for rank in ranks]


def test_best_estimator_is_the_fitted_one(cancer):
    X, y, X_dev, y_dev = cancer
    own = LinearClassifier(tol=1e-9)
    tuned = tune(own, {"penalty": ["l1"], "lam": DECADES}, X, y, X_dev, y_dev)
    assert not hasattr(own, "coef_")
    assert own.get_params() == LinearClassifier(tol=1e-9).get_params()
    assert tuned.estimator.score(X_dev, y_dev) == tuned.best_score
    assert not tuned.estimator.warm_start
    cold = LinearClassifier("l1", tuned.best_params["lam"], tol=1e-9).fit(X, y)
    np.testing.assert_allclose(tuned.estimator.coef_, cold.coef_, atol=1e-6)
    assert tuned.best.active == cold.n_active_ == tuned.estimator.n_active_


def test_warm_and_cold_chains_agree_at_convergence(cancer):
    grid = {"penalty": ["elasticnet"], "l2": [0.1, 10.0], "lam": DECADES}
    warm = tune(LinearClassifier(tol=1e-8), grid, *cancer)
    cold = tune(LinearClassifier(tol=1e-8), grid, *cancer, warm_start=False)
    assert [t[:3] for t in warm.trials] == [t[:3] for t in cold.trials]
    assert warm.best_params == cold.best_params


def test_sparse_input_and_several_classes():
    X, y = make_classification(150, 12, n_informative=6, n_classes=3, n_clusters_per_class=1, random_state=3)
    X, y, X_dev, y_dev = _split(X, np.array(["a", "b", "c"])[y])
    grid = {"penalty": ["l1"], "lam": [0.1, 1.0, 10.0]}
    dense = tune(LinearClassifier(), grid, X, y, X_dev, y_dev)
    thin = tune(LinearClassifier(), grid, sparse.csr_array(X), y, sparse.csr_array(X_dev), y_dev)
    assert thin.best_params == dense.best_params
    assert thin.best_score == dense.best_score > 0.5


def test_regressor_is_chosen_by_r2():
    X, y, X_dev, y_dev = _split(*load_diabetes(return_X_y=True))
    tuned = tune(LinearRegressor("l1"), {"lam": [1.0, 10.0, 100.0, 1000.0]}, X, y, X_dev, y_dev)
    scores = [LinearRegressor("l1", lam).fit(X, y).score(X_dev, y_dev) for lam in [1.0, 10.0, 100.0, 1000.0]]
    np.testing.assert_allclose([trial.score for trial in tuned.trials], scores, atol=1e-4)
    assert tuned.best_params["lam"] == [1.0, 10.0, 100.0, 1000.0][int(np.argmax(scores))]


@pytest.mark.parametrize("scoring", ["neg_log_loss", lambda m, X, y: -log_loss(y, m.predict_proba(X))])
def test_scoring(data, scoring):
    X, y, X_dev, y_dev = data
    tuned = tune(LinearClassifier("l2"), {"lam": DECADES}, X, y, X_dev, y_dev, scoring=scoring)
    assert tuned.best_score == max(trial.score for trial in tuned.trials) < 0
    assert tuned.best_score == pytest.approx(-log_loss(y_dev, tuned.estimator.predict_proba(X_dev)))


# Ties


def test_ties_go_to_the_fewest_nonzeros_then_to_the_larger_strength():
    script = {(1.0, 0.0): (0.9, 5), (2.0, 0.0): (0.9, 3), (4.0, 0.0): (0.9, 3), (8.0, 0.0): (0.8, 1)}
    tuned = tune(_scripted(script), {"lam": [1.0, 2.0, 4.0, 8.0]}, *ANY)
    assert tuned.best_params == {"lam": 4.0}
    assert tuned.estimator.lam == 4.0


@pytest.mark.parametrize(("min_active", "lam"), [(0, 8.0), (1, 4.0), (4, 1.0), (9, 8.0)])
def test_the_empty_model_and_ties(min_active, lam):
    script = {(1.0, 0.0): (0.5, 5), (4.0, 0.0): (0.5, 3), (8.0, 0.0): (0.5, 0)}
    tuned = tune(_scripted(script), {"lam": [1.0, 4.0, 8.0]}, *ANY, min_active=min_active)
    assert tuned.best_params == {"lam": lam}


def test_the_empty_model_wins_by_a_better_score():
    script = {(1.0, 0.0): (0.5, 5), (8.0, 0.0): (0.6, 0)}
    assert tune(_scripted(script), {"lam": [1.0, 8.0]}, *ANY).best_params == {"lam": 8.0}


def test_a_score_that_is_no_number_never_wins():
    script = {(1.0, 0.0): (float("nan"), 1), (8.0, 0.0): (0.1, 2)}
    tuned = tune(_scripted(script), {"lam": [1.0, 8.0]}, *ANY)
    assert tuned.best_params == {"lam": 8.0}
    assert np.isnan(tuned.trials[0].score)


@pytest.mark.parametrize("seed", range(5))
def test_rule_on_random_scripts(seed):
    rng = np.random.default_rng(seed)
    grid = {"l1": [0.0, 1.0, 2.0], "lam": [1.0, 2.0, 3.0, 4.0]}
    cells = list(itertools.product(grid["lam"], grid["l1"]))
    script = {cell: (float(rng.integers(2)), int(rng.integers(3))) for cell in cells}
    best = max(
        script, key=lambda c: (script[c][0], script[c][1] > 0, -script[c][1], c[0], -c[1])
    )  # the earlier cell of the grid has the smaller l1
    for threads in (1, 2):
        tuned = tune(_scripted(script), grid, *ANY, threads=threads)
        assert (tuned.best_params["lam"], tuned.best_params["l1"]) == best


# Chains


def test_chains_go_from_strong_to_weak():
    script = dict.fromkeys(itertools.product([1.0, 2.0, 4.0], [0.0, 3.0]), (0.5, 1))
    estimator = _scripted(script)
    tuned = tune(estimator, {"lam": [2.0, 1.0, 4.0], "l1": [0.0, 3.0]}, *ANY)
    assert estimator.fitted == [
        (4.0, 0.0, None),
        (2.0, 0.0, 4.0),
        (1.0, 0.0, 2.0),
        (4.0, 3.0, None),
        (2.0, 3.0, 4.0),
        (1.0, 3.0, 2.0),
    ]
    assert [trial.params["lam"] for trial in tuned.trials] == [2.0, 2.0, 1.0, 1.0, 4.0, 4.0]  # as in the grid
    estimator.fitted.clear()
    tune(estimator, {"lam": [2.0, 1.0, 4.0], "l1": [0.0]}, *ANY, warm_start=False)
    assert [(lam, start) for lam, _, start in estimator.fitted] == [(2.0, None), (1.0, None), (4.0, None)]
    estimator.fitted.clear()
    tune(estimator, {"lam": [1.0], "l1": [0.0, 3.0]}, *ANY, path="l1")
    assert estimator.fitted == [(1.0, 3.0, None), (1.0, 0.0, 1.0)]


def test_another_path_parameter(cancer):
    grid = {"penalty": ["l1"], "lam_ratio": [0.01, 0.1, 1.0]}
    tuned = tune(LinearClassifier(), grid, *cancer, path="lam_ratio")
    assert [trial.active for trial in tuned.trials] == sorted((t.active for t in tuned.trials), reverse=True)
    assert tuned.trials[-1].active == 0


def test_early_stop_leaves_a_chain():
    scores = {16.0: (0.5, 0), 8.0: (0.5, 0), 4.0: (0.7, 1), 2.0: (0.7, 2), 1.0: (0.6, 3), 0.5: (0.9, 4)}
    script = {(lam, 0.0): told for lam, told in scores.items()}
    for patience, tried in [(1, 4), (2, 5), (3, 6)]:
        tuned = tune(_scripted(script), {"lam": list(scores)}, *ANY, early_stop=patience)
        assert len(tuned.trials) == tried
        assert tuned.best_params["lam"] == (0.5 if patience == 3 else 4.0)


def test_groups_are_shared_not_copied(data):
    X = data[0]
    groups = Groups.from_labels(np.arange(X.shape[1]) // 5)
    estimator = LinearClassifier("group", groups=groups)
    tuned = tune(estimator, {"l1": [0.1], "lam": [1.0, 10.0]}, *data)
    assert tuned.estimator.groups is groups


# Threads


def _facts(tuned: Tuned):
    return [trial._replace(seconds=0.0) for trial in tuned.trials], tuned.best_params


@pytest.mark.parametrize("how", [{}, {"search": "random", "n_trials": 7}, {"early_stop": 2}])
def test_threads_change_nothing(data, how):
    grid = {"penalty": ["elasticnet"], "l2": [0.1, 1.0, 10.0], "lam": DECADES}
    one = tune(LinearClassifier(), grid, *data, threads=1, **how)
    two = tune(LinearClassifier(), grid, *data, threads=2, **how)
    assert _facts(one) == _facts(two)
    np.testing.assert_array_equal(one.estimator.coef_, two.estimator.coef_)
    assert one.estimator.lam == two.estimator.lam == one.best_params["lam"]


def test_threads_run_chains_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)

    class Meeting(Scripted):
        SCRIPT = {(1.0, 0.0): (0.5, 1), (1.0, 2.0): (0.6, 1)}  # noqa: RUF012

        def fit(self, X, y, sample_weight=None):
            meeting.wait()
            return super().fit(X, y)

    assert tune(Meeting(), {"l1": [0.0, 2.0], "lam": [1.0]}, *ANY, threads=2).best_score == 0.6


# Searches


def test_random_search_is_repeatable(data):
    space = {"penalty": ["l1", "l2"], "lam": (1e-2, 1e2)}
    first = tune(LinearClassifier(), space, *data, search="random", n_trials=8, random_state=3)
    again = tune(LinearClassifier(), space, *data, search="random", n_trials=8, random_state=3)
    other = tune(LinearClassifier(), space, *data, search="random", n_trials=8, random_state=4)
    assert _facts(first) == _facts(again)
    assert [t.params for t in first.trials] != [t.params for t in other.trials]
    assert len(first.trials) == 8
    assert all(1e-2 <= trial.params["lam"] <= 1e2 for trial in first.trials)
    assert {trial.params["penalty"] for trial in first.trials} == {"l1", "l2"}


def test_random_cells_are_all_different():
    grid = Grid({"a": [1, 2, 3], "b": ["x", "y"]})
    assert len({tuple(cell.values()) for cell in grid.sample(4, seed=0)}) == 4
    assert sorted(tuple(c.values()) for c in grid.sample(99, seed=0)) == sorted(
        tuple(c.values()) for c in grid.cells()
    )


def test_random_ranges_are_uniform_in_the_logarithm():
    drawn = np.log10([cell["lam"] for cell in Grid({"lam": (1e-3, 1e3)}).sample(4000, seed=0)])
    counts, _ = np.histogram(drawn, bins=6, range=(-3, 3))
    assert counts.sum() == 4000
    np.testing.assert_allclose(counts, 4000 / 6, rtol=0.15)  # four standard deviations


def test_optuna_finds_a_near_best_of_a_smooth_problem(data):
    pytest.importorskip("optuna", reason="needs optuna")
    space = {"lam": (1e-3, 1e4)}
    how = {"scoring": "neg_log_loss"}
    lams = np.logspace(-3, 4, 141)
    fine = tune(LinearClassifier("l2"), {"lam": lams}, *data, **how)
    one = tune(LinearClassifier("l2"), space, *data, search="optuna", n_trials=32, **how)
    two = tune(LinearClassifier("l2"), space, *data, search="optuna", n_trials=32, threads=2, **how)
    assert _facts(one) == _facts(two)
    scores = np.array([trial.score for trial in fine.trials])
    assert one.best_score > np.quantile(scores, 0.95)
    assert one.best_score > fine.best_score - 0.01 * np.ptp(scores)


def test_optuna_of_mixed_parameters_and_early_stop(data):
    optuna = pytest.importorskip("optuna", reason="needs optuna")
    space = {"penalty": ["l1", "l2"], "tol": [1e-5, 1e-4], "lam": (1e-1, 1e1)}
    before = optuna.logging.get_verbosity()
    full = tune(LinearClassifier(), space, *data, search="optuna", n_trials=10)
    assert optuna.logging.get_verbosity() == before
    assert len(full.trials) == 10
    assert {trial.params["penalty"] for trial in full.trials} == {"l1", "l2"}
    constant = _scripted({(lam, 0.0): (0.5, 1) for lam in (1.0, 2.0)})
    short = tune(constant, {"lam": [1.0, 2.0]}, *ANY, search="optuna", n_trials=100, early_stop=5)
    assert len(short.trials) == 8  # the end of the second batch


def test_optuna_survives_scores_that_are_no_numbers():
    pytest.importorskip("optuna", reason="needs optuna")
    script = _scripted({(1.0, 0.0): (float("nan"), 1), (2.0, 0.0): (0.5, 1)})
    tuned = tune(script, {"lam": [1.0, 2.0]}, *ANY, search="optuna", n_trials=12)
    assert tuned.best_params == {"lam": 2.0}


def test_absent_optuna_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(OptionError, match=r"pip install 'spinney\[tune\]'"):
        tune(LinearClassifier(), {"lam": (1.0, 2.0)}, *ANY, search="optuna", n_trials=3)


# Fits that fall short, and interrupts


@pytest.mark.parametrize("threads", [1, 2])
def test_one_warning_for_all_fits_that_fall_short(cancer, threads):
    estimator = LinearClassifier("l1", solver="fista", max_iter=3, tol=1e-9)
    with pytest.warns(ConvergenceWarning) as told:
        tuned = tune(estimator, {"fit_intercept": [True, False], "lam": DECADES}, *cancer, threads=threads)
    assert len(told) == 1
    short = [trial for trial in tuned.trials if not trial.converged]
    assert str(told[0].message).startswith(f"{len(short)} of 12 fits stopped before reaching their tolerance")
    assert told[0].filename == __file__
    assert len(tuned.trials) == 12
    assert all(trial.violation > 1e-9 for trial in short)


def test_no_warning_when_all_converge(cancer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune(LinearClassifier("l1"), {"lam": [1.0, 10.0]}, *cancer)


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_keeps_the_best_so_far(threads):
    script = {(lam, 0.0): (0.5 + lam / 100, 1) for lam in (1.0, 2.0, 4.0, 8.0)}
    tuned = tune(_scripted(script, (2.0, 0.0)), {"lam": [1.0, 2.0, 4.0, 8.0]}, *ANY, threads=threads)
    assert tuned.interrupted
    assert [trial.params["lam"] for trial in tuned.trials] == [4.0, 8.0]
    assert tuned.best_params == {"lam": 8.0}
    with pytest.raises(KeyboardInterrupt):
        tune(_scripted(script, (8.0, 0.0)), {"lam": [1.0, 2.0, 4.0, 8.0]}, *ANY, threads=threads)


def test_interrupt_in_a_real_fit(cancer, monkeypatch):
    real, calls = LinearClassifier.fit, []

    def fit(self, *args):
        calls.append(self.lam)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, *args)

    monkeypatch.setattr(LinearClassifier, "fit", fit)
    tuned = tune(LinearClassifier(), "lasso", *cancer)
    assert tuned.interrupted
    assert len(tuned.trials) == 2
    assert tuned.estimator.predict(cancer[2]).shape == cancer[3].shape


def test_an_interrupt_stops_the_other_chains():
    script = {(lam, l1): (0.5, 1) for lam in range(1, 2000) for l1 in (0.0, 1.0)}
    estimator = _scripted(script, (1999, 0.0))
    gate = threading.Event()

    class Slow(type(estimator)):
        def fit(self, X, y, sample_weight=None):
            if self.l1 == 0.0:
                gate.wait(30)
            elif self.lam < 1990:
                gate.set()
                threading.Event().wait(0.01)
            return super().fit(X, y)

    tuned = tune(Slow(), {"l1": [0.0, 1.0], "lam": list(range(1, 2000))}, *ANY, threads=2)
    assert tuned.interrupted
    assert 9 < len(tuned.trials) < 1900


# The thesis's grids


def test_thesis_grids():
    cells = {"lasso": 6, "ridge": 6, "elastic": 36, "sentence": 216, "lda": 216, "brown": 216, "parse": 180}
    assert {name: len(grid) for name, grid in THESIS_GRIDS.items()} == cells
    assert THESIS_GRIDS["ridge"].values["lam"] == [2e-2, 2e-1, 2.0, 2e1, 2e2, 2e3]
    assert THESIS_GRIDS["elastic"].values["l2"] == THESIS_GRIDS["ridge"].values["lam"]
    assert THESIS_GRIDS["parse"].values["lam"] == [1e-4, 1e-3, 1e-2, 1e-1, 10.0]
    assert THESIS_GRIDS["parse"].values["rho"] == DECADES


# Errors

GRID_ERRORS = [
    ({}, "the grid is empty"),
    ({"lam": []}, "at least one value of lam"),
    ({"lam": np.array([])}, "at least one value of lam"),
    ({"lam": 3.0}, "must be a list"),
    ({"penalty": "l1"}, "must be a list"),
    ({"lam": (1.0, 2.0, 3.0)}, "0 < low < high"),
    ({"lam": (0.0, 1.0)}, "0 < low < high"),
    ({"lam": (2.0, 1.0)}, "0 < low < high"),
    ({"lam": (1.0, float("inf"))}, "0 < low < high"),
    ({"lam": ("a", "b")}, "0 < low < high"),
    ({"lam": (1.0, 2.0)}, "is a range: give a list"),
    ({"lam": ["strong"]}, "must be numbers"),
    ({"alpha": [1.0]}, "no parameter 'alpha'; it has .*lam"),
    ("bridge", "space must be one of lasso, ridge"),
]


@pytest.mark.parametrize(("space", "said"), GRID_ERRORS)
def test_bad_grids(space, said):
    with pytest.raises(OptionError, match=said):
        tune(LinearClassifier(), space, *ANY)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"search": "genetic"}, "must be grid, random or optuna"),
        ({"n_trials": 3}, "tries every combination"),
        ({"search": "random"}, "needs n_trials"),
        ({"search": "optuna", "n_trials": 0}, "needs n_trials"),
        ({"early_stop": 0}, "early_stop"),
        ({"early_stop": 2, "warm_start": False}, "early_stop"),
        ({"min_active": -1}, "min_active"),
        ({"threads": 0}, "threads"),
        ({"path": "alpha"}, "no parameter 'alpha'"),
        ({"scoring": "beauty"}, "no scoring 'beauty'"),
    ],
)
def test_bad_options(how, said):
    with pytest.raises(OptionError, match=said):
        tune(LinearClassifier(), {"lam": [1.0]}, *ANY, **how)


def test_a_bad_value_is_told_as_it_is(data):
    for threads in (1, 2):
        with pytest.raises(OptionError, match="there is no penalty"):
            tune(LinearClassifier(), {"penalty": ["l1", "l9"]}, *data, threads=threads)


def test_foreign_estimators():
    with pytest.raises(OptionError, match="not for LogisticRegression"):
        tune(LogisticRegression(), {"C": [1.0]}, *ANY)


@pytest.mark.parametrize(
    ("dev", "said"),
    [
        ((np.eye(2), [1, 1]), "1 of the classes of the training set"),
        ((np.eye(2), ["0", "1"]), "0 of the classes of the training set"),
        ((np.ones((2, 3)), [0, 1]), "3 features, but the training set has 2"),
        ((np.eye(2), [0, 1, 1]), "development set has a matrix of shape"),
        ((np.zeros(2), [0, 1]), "development set has a matrix of shape"),
    ],
)
def test_bad_development_sets(dev, said):
    with pytest.raises(InputError, match=said):
        tune(LinearClassifier(), {"lam": [1.0]}, np.eye(2), [0, 1], *dev)
