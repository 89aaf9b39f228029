"""What the commands do, in Python: files or documents in memory, and models made again from their configuration."""

import numpy as np
import pytest

import spinney
from spinney.cli.main import run
from spinney.errors import SettingError
from spinney.trend import Documents, TimeSeriesRegressor, TimeSeriesTextModel, compare_methods, fit
from spinney.views import as_json

TEXTS = ["war war peace", "war peace", "war trade peace", "trade peace", "trade trade", "trade peace tax"] * 3
YEARS = [1900, 1905, 1910, 1915, 1920, 1925] * 3
COSTS = [text.count("war") + 0.1 * i for i, text in enumerate(TEXTS)]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "speeches.csv"
    rows = [f"{year},{cost},{text}" for year, cost, text in zip(YEARS, COSTS, TEXTS)]
    path.write_text("\n".join(["time,cost,text", *rows]) + "\n")
    return path


@pytest.mark.parametrize("how", [{}, {"value": "cost"}])
def test_files_and_documents_in_memory_give_the_same(table, how):
    filed = fit(table, method="ridge-ts", every=10, **how)
    targets = np.array(COSTS) if how else None
    given = fit(Documents(TEXTS, np.array(YEARS) // 10, targets), method="ridge-ts", every=10)
    np.testing.assert_allclose(filed.coef, given.coef)
    assert (filed.task, filed.labels) == (given.task, given.labels)
    assert filed.facts["train"] == [str(table)]


def test_a_model_is_made_again_from_its_configuration(table, tmp_path):
    fit(table, value="cost", every=10, init="ridge-all", tau=0.5).save(tmp_path / "m.spinney")
    model = spinney.load(tmp_path / "m.spinney")
    (tmp_path / "c.toml").write_text(model.config())
    command = [
        "trend",
        "fit",
        "--config",
        str(tmp_path / "c.toml"),
        "--model",
        str(tmp_path / "again"),
        "--quiet",
    ]
    assert run(command) == 0
    again = spinney.load(tmp_path / "again")
    assert again.settings == model.settings
    np.testing.assert_array_equal(model.coef, again.coef)


@pytest.mark.parametrize("method", ["adaptive", "sparse"])
def test_the_settings_of_the_prior(table, method):
    how = {"method": method, "every": 10, "init": "ridge-ts", "lam": 0.1, "min_count": 1}
    own = fit(table, **how, floor=100.0)
    shared = fit(table, **how, floor=100.0, shared=True)
    assert (own.series.e_alpha_.ndim, shared.series.e_alpha_.ndim) == (2, 1)
    # A direct fit of the estimator, which tests of its own compare with finite differences, has the same series.
    X, steps = shared.words.sparse(TEXTS), np.array(YEARS) // 10
    alone = TimeSeriesTextModel(method, init="ridge-ts", lam=0.1, floor=100.0, shared=True, background="all")
    alone.fit(X, np.ones((len(TEXTS), 1)), steps)
    assert shared.series.shared
    np.testing.assert_allclose(shared.series.e_alpha_, alone.e_alpha_, rtol=1e-3)
    stiff = fit(table, **how, floor=100.0, shared=True, kappa_sign="positive").series
    assert (shared.series.kappa_sign, stiff.kappa_sign) == ("any", "positive")
    for wrong in ({"value": "cost"}, {"label": "cost"}):
        with pytest.raises(SettingError, match="shared is for models of words"):
            fit(table, shared=True, **wrong)
    with pytest.raises(SettingError, match="these documents have targets"):
        fit(Documents(TEXTS, np.array(YEARS) // 10, np.array(COSTS)), shared=True)


def test_models_do_what_the_verbs_do(table):
    model = fit(table, value="cost", method="ridge-ts", every=10)
    by_file, in_memory = model.apply(table, time="time"), model.apply(Documents(TEXTS, np.array(YEARS) // 10))
    assert [row["value"] for row in by_file] == pytest.approx([row["value"] for row in in_memory])
    scores = as_json(model.evaluate(table))
    assert scores["not_later"] == len(TEXTS)
    assert [row["time"] for row in scores["by_time"]] == ["1900", "1910", "1920"]
    found = compare_methods(table, every=10, methods=["ridge-ts", "lasso-all"], lam=1.0, threads=1)
    assert found.methods == ["ridge-ts", "lasso-all"]
    assert set(found.chosen["ridge-ts"]) == {"alpha"}  # the strength was given


@pytest.mark.parametrize("method", ["adaptive", "ridge-ts"])
def test_estimators_of_matrices_are_models(tmp_path, method):
    X, years = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([1, 2, 3], 20)
    model = TimeSeriesRegressor(method, init="ridge-all").fit(X, X[:, 0], years)
    model.save(tmp_path / "m", ["a", "b", "c"])
    again = spinney.load(tmp_path / "m")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert (again.names_, again.facts) == (["a", "b", "c"], model.facts)
    assert again.facts["method"] == method
    assert as_json(again.views())["active"] == model.n_active_
