"""One of several resolutions, chosen by forecasts of the same documents."""

import numpy as np
import pytest

import spinney
from spinney.errors import InputError, OptionError, SettingError
from spinney.trend import Documents, TimeSeriesRegressor, compare_methods, fit
from spinney.trend.dates import binned, parse_time

WORDS = np.array(["war", "peace", "trade", "oil", "tax", "farm"])
YEARS = np.arange(1900, 1960)


def costs(weights, per_year, noise, seed):
    """Documents of 60 years, whose cost is the weight of their words in that year."""
    rng = np.random.default_rng(seed)
    years = YEARS.repeat(per_year)
    has = rng.integers(0, 2, (len(years), len(WORDS)))
    numbers = np.sum(has * weights[years - YEARS[0]], axis=1) + noise * rng.normal(size=len(years))
    return Documents([" ".join(WORDS[row > 0]) for row in has], years, numbers)


def new_each_decade(seed):
    """Weights that change every ten years, and three noisy documents a year."""
    steps = 0.5 * np.random.default_rng(100 + seed).normal(size=(6, len(WORDS)))
    return costs(steps.cumsum(axis=0).repeat(10, axis=0), 3, 2.0, seed)


def new_each_year(seed):
    """Weights that rise or fall steadily, and twenty documents a year that tell them well."""
    slopes = np.random.default_rng(100 + seed).permutation([-0.3, -0.2, -0.1, 0.1, 0.2, 0.3])
    return costs(np.outer(YEARS - YEARS[0], slopes), 20, 0.1, seed)


def losses_of(model):
    return {one["every"]: one["loss"] for one in model.facts["choice"]["resolutions"]}


@pytest.fixture(scope="module")
def documents():
    return new_each_decade(0)


@pytest.mark.parametrize("seed", range(5))
def test_bins_are_wide_where_the_truth_is_steady_and_narrow_where_it_is_not(seed):
    how = {"method": "ridge-one", "every": (1, 5, 10), "min_count": 1}
    steady = fit(new_each_decade(seed), **how)
    assert steady.every in (5, 10)
    assert losses_of(steady)[1] > losses_of(steady)[steady.every]
    assert fit(new_each_year(seed), **how).every == 1


def test_all_resolutions_forecast_the_same_documents_with_their_last_weights_before(documents):
    """Bins of five years lie across the cut, the first year of the last seven; no document does."""
    model = fit(documents, method="ridge-ts", lam=1.0, alpha=1.0, every=(5, 7), min_count=1)
    choice = model.facts["choice"]
    assert (choice["held_out"], choice["documents"], choice["tried"]) == ("1953 to 1959", 21, 2)
    before = documents.times < 1953
    X = model.words.sparse(documents.texts)
    for every, loss in losses_of(model).items():
        alone = TimeSeriesRegressor("ridge-ts", lam=1.0, alpha=1.0)
        alone.fit(X[before], documents.targets[before], documents.times[before] // every)
        errors = documents.targets[~before] - X[~before] @ alone.coef_[-1] - alone.intercept_[-1]
        assert loss == pytest.approx(np.mean(errors**2), rel=1e-3)


@pytest.mark.parametrize("every", [(1, 5, 10), (10, 5, 1), (5, 1, 10, 1)])
def test_of_resolutions_that_are_as_good_the_coarsest_is_taken(documents, every):
    """A model of all times as one is the same at each, but for the tolerance."""
    model = fit(documents, method="ridge-all", every=every, min_count=1)
    assert model.every == 10
    assert list(losses_of(model)) == list(dict.fromkeys(every))


@pytest.mark.parametrize("every", [(10,), [10, 10]])
def test_a_single_resolution_is_no_choice(documents, every):
    steps = binned(documents.times.tolist(), 10)
    in_bins = Documents(documents.texts, steps, documents.targets)
    one, same = (fit(in_bins, method="ridge-ts", every=given, min_count=1) for given in (10, every))
    assert one.facts["choice"] == same.facts["choice"]
    assert "resolutions" not in one.facts["choice"]
    assert one.labels == same.labels == ["1900", "1910", "1920", "1930", "1940", "1950"]
    np.testing.assert_array_equal(one.coef, same.coef)


def test_all_documents_are_fitted_at_the_chosen_resolution_with_the_strengths_chosen_there(documents):
    several = fit(documents, method="ridge-ts", every=(1, 5, 10), min_count=1)
    steps = binned(documents.times.tolist(), several.every)
    in_bins = Documents(documents.texts, steps, documents.targets)
    chosen = several.facts["choice"]["settings"]
    alone = fit(in_bins, method="ridge-ts", every=several.every, min_count=1, **chosen)
    assert set(chosen) == {"lam", "alpha"}
    np.testing.assert_array_equal(several.coef, alone.coef)
    assert several.labels == alone.labels


def test_it_is_saved_and_made_again(documents, tmp_path):
    model = fit(documents, method="ridge-one", every=(1, 10), min_count=1)
    model.save(tmp_path / "m.spinney")
    again = spinney.load(tmp_path / "m.spinney")
    assert (again.every, again.settings, again.facts) == (10, model.settings, model.facts)
    assert again.settings.every == (1, 10)
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(fit(documents, again.settings).coef, model.coef)


def test_bins_of_dates_from_a_file_and_in_memory(tmp_path):
    dates = [f"{2010 + month // 12}-{month % 12 + 1:02d}-{day:02d}" for month in range(48) for day in (3, 20)]
    texts = ["oil oil war" if i % 24 < 12 else "war trade tax" for i in range(len(dates))]
    table = tmp_path / "news.csv"
    table.write_text("time,text\n" + "".join(f"{date},{text}\n" for date, text in zip(dates, texts)))
    how = {"method": "ridge-one", "every": ("month", "quarter", "year"), "min_count": 1}
    filed = fit(table, **how)
    given = fit(Documents(texts, binned([parse_time(date) for date in dates])), **how)
    assert filed.facts["choice"] == given.facts["choice"]
    assert filed.facts["choice"]["held_out"] == "2013-01-03 to 2013-12-20"
    assert (filed.every, filed.labels) == (given.every, given.labels)
    assert set(losses_of(filed)) == {"month", "quarter", "year"}


def test_resolutions_without_a_forecast_are_left_out_and_named(documents):
    model = fit(documents, method="ridge-one", lam=1.0, every=(10, 50, 1000), min_count=1)
    assert {every for every, loss in losses_of(model).items() if loss is None} == {50, 1000}
    assert "50 (no forecast) and 1000 (no forecast)" in str(model.summary())


def test_mistakes(documents):
    with pytest.raises(
        InputError, match=r"too few times to choose one of the resolutions 50 and 100 .*narrower"
    ):
        fit(documents, every=(50, 100))
    with pytest.raises(OptionError, match="cannot be binned by month: they are numbers"):
        fit(documents, every=(10, "month"))
    late = np.where(documents.times < 1950, "early", "late")
    one_class = Documents(documents.texts, documents.times, late)
    with pytest.raises(
        InputError, match=r"none of the resolutions 5 and 10 can forecast .*single resolution"
    ):
        fit(one_class, every=(5, 10))
    with pytest.raises(SettingError, match="every must be a single resolution, not 5,10"):
        compare_methods(documents, every=(5, 10))
    found = compare_methods(
        Documents(documents.texts, documents.times // 10, documents.targets),
        every=(10, 10), methods=("ridge-all",), lam=1.0, threads=1,
    )  # fmt: skip
    assert found.by_time[-1].time == "1950"
