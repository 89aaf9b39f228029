"""Text in, forecasts out: words, covariates, times, the model that bundles them, and methods compared."""

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import read_model, write_model
from spinney.trend import (
    Documents,
    FrequentWords,
    TimeSeriesClassifier,
    TimeSeriesRegressor,
    TimeSeriesTextModel,
    TrendModel,
    built_in_grid,
    compare,
)
from spinney.trend import adaptive as solvers
from spinney.trend.covariates import Covariates
from spinney.trend.dates import UNITS, bin_label, binned, parse_time
from spinney.trend.newton import Newton

WORDS = ["war", "peace", "trade", "oil", "tax", "farm"]


@pytest.fixture(scope="module")
def speeches():
    """Six decades of speeches in which war fades, trade rises, and one party speaks of tax."""
    rng = np.random.default_rng(0)
    texts, times, party, cost = [], [], [], []
    for decade in range(190, 196):
        t = (decade - 190) / 5
        for n in range(8):
            side = "Right" if n % 2 else "Left"
            weights = np.array([3 - 2 * t, 1.0, 1 + 2 * t, 1.0, 3.0 if side == "Right" else 0.5, 1.0])
            drawn = rng.choice(WORDS, size=40, p=weights / weights.sum())
            texts.append(" ".join(drawn))
            times.append(decade)
            party.append(side)
            cost.append((1 + t) * np.count_nonzero(drawn == "oil") / 10 + 0.05 * rng.standard_normal())
    return Documents(texts, np.array(times), None, {"party": party}, None), np.array(party), np.array(cost)


@pytest.fixture(scope="module")
def models(speeches):
    documents, party, cost = speeches
    extra = np.arange(len(party), dtype=float)[:, None] % 3
    labelled = Documents(documents.texts, documents.times, party)
    numbered = Documents(documents.texts, documents.times, cost, {}, extra)
    regressor = TimeSeriesRegressor(noise_variance=0.0025, init="ridge-all")
    made = {
        "text": (TimeSeriesTextModel("ridge-ts"), FrequentWords(), {"covariates": ["party"]}, documents),
        "time": (TimeSeriesTextModel(init="ridge-one"), FrequentWords(), {}, documents),
        "value": (regressor, FrequentWords(), {"extra": ["thirds"]}, numbered),
        "label": (TimeSeriesClassifier("ridge-ts", lam=0.1), FrequentWords("tfidf"), {}, labelled),
    }
    return {
        name: (TrendModel(series, words, every=10, **how).fit(data), data)
        for name, (series, words, how, data) in made.items()
    }


# -------------------------------------------------------------------------------------- words, covariates


@pytest.mark.parametrize("weighting", ["counts", "binary", "tfidf"])
def test_words_are_scikit_learns(speeches, weighting):
    texts = speeches[0].texts
    ours = FrequentWords(weighting, ngrams=2).fit_transform(texts)
    how = {"ngram_range": (1, 2)}
    theirs = (
        TfidfVectorizer(**how)
        if weighting == "tfidf"
        else CountVectorizer(**how, binary=weighting == "binary")
    )
    assert np.allclose(ours.toarray(), theirs.fit_transform(texts).toarray())


def test_ranks_of_frequency():
    words = FrequentWords("binary", skip_top=1, max_features=2)
    X = words.fit_transform(["aa aa aa aa bb bb bb cc cc dd", "bb cc"])
    assert words.names == ["bb", "cc"]  # ranks 2 and 3, although aa is in fewer documents
    assert X.toarray().tolist() == [[1, 1], [1, 1]]
    assert words.transform(["aa dd cc cc"]).toarray().tolist() == [[0, 1]]
    with pytest.raises(InputError, match="lower skip_top"):
        FrequentWords(skip_top=9).fit_transform(["one two"])
    with pytest.raises(OptionError, match="there is no word to learn from"):
        FrequentWords(min_count=2).fit_transform(["one", "two"])
    with pytest.raises(OptionError):
        FrequentWords("loud")


def test_covariates():
    known = Covariates(["a", "b"])
    X = known.fit_transform({"a": ["x", "y", "x"], "b": ["1", "2", "3"]}, 3)
    assert known.names == ["a=x", "a=y", "b"]
    assert X[:, :2].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert X[:, 2].mean() == pytest.approx(0)
    assert X[:, 2].std() == pytest.approx(1)
    assert known.transform({"a": ["z"], "b": ["2"]}, 1).tolist() == [[0, 0, 0]]
    with pytest.raises(InputError, match="must have only numbers"):
        known.transform({"a": ["x"], "b": ["much"]}, 1)
    assert Covariates().fit_transform({}, 2).tolist() == [[1], [1]]


# ----------------------------------------------------------------------------------------------- times


def test_times():
    assert parse_time(" -44 ") == -44
    assert parse_time("2014-02") == date(2014, 2, 1)
    for bad in ("", "soon", "2014-13-01", "1945.5", "2014-05-033"):
        with pytest.raises(InputError, match="is not a time"):
            parse_time(bad)
    dates = [date(2013, 12, 31), date(2014, 1, 1), date(2014, 3, 1)]
    assert binned(dates).tolist() == ["2013-12-31", "2014-01-01", "2014-03-01"]
    assert np.diff(binned(dates, "month")).tolist() == [1, 2]
    assert binned(dates, 1).tolist() == [2013, 2014, 2014]
    with pytest.raises(InputError, match="some times are dates"):
        binned([2013, date(2014, 1, 1)])
    for unit in UNITS:
        with pytest.raises(OptionError, match=f"cannot be binned by {unit}"):
            binned([2013], unit)


@given(st.integers(-3000, 3000), st.integers(1, 100))
def test_a_bin_is_called_by_its_first_year(year, every):
    start = int(bin_label(binned([year], every)[0], every))
    assert start <= year < start + every


@given(st.dates())
def test_months(day):
    assert bin_label(binned([day], "month")[0], "month").zfill(7) == day.isoformat()[:7]


@given(st.dates())
def test_weeks_quarters_and_years(day):
    labels = {unit: bin_label(binned([day], unit)[0], unit) for unit in UNITS}
    monday = date.fromisoformat(labels["week"])
    assert monday.isocalendar()[:2] == day.isocalendar()[:2]
    assert monday.weekday() == 0
    assert labels["quarter"] == f"{day.year}-Q{(day.month + 2) // 3}"
    assert int(labels["year"]) == day.year
    after = day + timedelta(days=7) if day < date.max - timedelta(days=7) else day
    assert binned([after], "week")[0] - binned([day], "week")[0] == (after > day)


# -------------------------------------------------------------------------------------------- the model


def test_losses_at_each_time(models):
    model, documents = models["text"]
    counts, covariates = model.data(documents)
    series, expected = model.series, []
    for row in range(len(documents)):
        step = int(documents.times[row]) - 190
        scores = series.theta_[step] + series.coef_[step] @ covariates[row]
        expected.append(-float(counts[[row]].toarray()[0] @ log_softmax(scores)))
    assert np.allclose(model.losses(documents), expected)
    later = Documents(documents.texts, None, None, documents.columns)
    last = Documents(documents.texts, np.full(len(documents), 999), None, documents.columns)
    assert np.allclose(model.losses(later), model.losses(last))


def test_without_covariates_series_are_frequencies(speeches):
    """A free series over the pooled background gives each time its own frequencies."""
    documents = speeches[0]
    model = TrendModel(TimeSeriesTextModel("ridge-ts", lam=1e-4, alpha=0, tol=1e-9), FrequentWords()).fit(
        documents
    )
    counts = model.data(documents)[0].toarray()
    for step, decade in enumerate(range(190, 196)):
        there = counts[documents.times == decade].sum(axis=0)
        fitted = np.exp(log_softmax(model.series.theta_[step] + model.coef[step, :, 0]))
        assert np.allclose(fitted, there / there.sum(), atol=1e-4)
    rises = {strand.word: strand.values[-1] - strand.values[0] for strand in model.strongest(6)["(all)"]}
    assert rises["trade"] > 0.5
    assert rises["war"] < -0.5


@pytest.mark.parametrize("name", ["text", "time", "value", "label"])
def test_files(models, name, tmp_path):
    model, documents = models[name]
    model.save(tmp_path / "m")
    again = TrendModel.load(tmp_path / "m")
    assert again.facts == model.facts
    assert (again.labels, again.names, again.effects) == (model.labels, model.names, model.effects)
    assert np.array_equal(again.losses(documents), model.losses(documents))
    strands = [(s.word, s.score, s.next) for of in model.strongest(3).values() for s in of]
    assert strands == [(s.word, s.score, s.next) for of in again.strongest(3).values() for s in of]
    again.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize(
    "change",
    [{"task": "poetry"}, {"every": 0}, {"every": "day"}, {"every": "month"}, {"facts": 3}, {"task": "text"}],
)
def test_damaged_files(models, tmp_path, change):
    model, _ = models["value" if "task" in change else "text"]
    if change == {"every": "month"}:
        documents = Documents(
            ["war war", "oil war", "oil"], np.array(["2001-01-01", "2001-01-02", "2001-01-03"])
        )
        model = TrendModel(TimeSeriesTextModel("ridge-ts", lam=1.0), FrequentWords()).fit(documents)
    model.save(tmp_path / "m")
    file = read_model(tmp_path / "m")
    parts = {name: file.part(name) for name in file.part_headers}
    header = file.header | change
    write_model(tmp_path / "n", file.kind, header, {}, {"extra": file.texts("extra")}, parts)
    with pytest.raises(ModelFileError, match="damaged"):
        TrendModel.load(tmp_path / "n")


def test_read_outs(models):
    model, _ = models["value"]
    assert model.names == [*sorted(WORDS), "(thirds)"]
    assert model.strongest(1)["value"][0].word == "oil"
    counts, edges = model.stiffness(5)
    assert counts.sum() == model.series.n_active_
    assert len(edges) == 6
    strand = model.strongest(1)["value"][0]
    assert abs(strand.next) <= abs(strand.values[-1])
    assert models["text"][0].stiffness() is None
    text = models["text"][0].strongest(1)
    assert {effect: of[0].word for effect, of in text.items()} == {"party=Left": "tax", "party=Right": "tax"}
    assert text["party=Right"][0].values[-1] > 0 > text["party=Left"][0].values[-1]


def test_scores(models, speeches):
    model, documents = models["label"]
    scores = model.scores(documents)
    assert scores["accuracy"] > 0.8
    assert scores["log_loss"] == pytest.approx(model.losses(documents).mean())
    assert [row["time"] for row in scores["by_time"]] == [str(year) for year in range(1900, 1960, 10)]
    assert scores["not_later"] == len(documents)
    model, documents = models["value"]
    later = Documents(documents.texts, documents.times + 6, documents.targets, {}, documents.extra)
    scores = model.scores(later)
    assert scores["not_later"] == 0
    assert scores["mse"] == pytest.approx(((model.predict(later) - later.targets) ** 2).mean())
    model, documents = models["text"]
    scores = model.scores(documents)
    assert scores["words"] == 40 * len(documents)
    assert scores["perplexity"] == pytest.approx(np.exp(model.losses(documents).sum() / scores["words"]))


def test_what_cannot_be(speeches, models):
    documents = speeches[0]
    with pytest.raises(InputError, match="all documents are of the same time"):
        TrendModel(TimeSeriesTextModel(), FrequentWords()).fit(Documents(["a word"] * 2, np.array([1, 1])))
    with pytest.raises(OptionError, match="needs word counts"):
        TrendModel(TimeSeriesTextModel(), FrequentWords("tfidf"))
    with pytest.raises(OptionError, match="predicts words"):
        models["text"][0].predict(documents)
    with pytest.raises(OptionError, match="no classes"):
        models["value"][0].predict_proba(models["value"][1])
    with pytest.raises(InputError, match="additional features thirds"):
        models["value"][0].predict(documents)
    with pytest.raises(InputError, match="before the first time of the model"):
        models["time"][0].losses(Documents(["war"], np.array([180])))


@pytest.mark.parametrize("method", ["adaptive", "sparse", "ridge-ts", "lasso-all"])
def test_interrupted_it_keeps_what_it_has(speeches, monkeypatch, method):
    """Ctrl-C in the second iteration: there are coefficients, and they are those of the first."""
    documents = speeches[0]
    calls = []
    step = Newton.step

    def some_steps(self, *arguments):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return step(self, *arguments)

    model = TrendModel(TimeSeriesTextModel(method, lam=1.0, init="ridge-one", tol=1e-12), FrequentWords())
    if method == "lasso-all":
        monkeypatch.setattr("spinney.trend.fitting.solve", _interrupted())
    monkeypatch.setattr(Newton, "step", some_steps)
    with pytest.raises(KeyboardInterrupt):
        model.fit(documents)
    assert model.facts["converged"] is False
    assert model.losses(documents).sum() > 0
    assert solvers.stopping([]).__exit__(KeyboardInterrupt) is False  # nothing learnt: it goes up


def _interrupted():
    from dataclasses import replace

    from spinney.optim import solve

    return lambda *args, **kwargs: replace(solve(*args, **kwargs), interrupted=True, converged=False)


# ------------------------------------------------------------------------------------------- comparing


def test_compare(speeches):
    documents = speeches[0]
    model = TrendModel(TimeSeriesTextModel(), FrequentWords(), covariates=["party"], every=10)
    grids = {"ridge-ts": {"lam": [1.0, 10.0]}, "lasso-one": {"lam": [1.0]}, "lasso-all": {"lam": [1.0]}}
    found = compare(model, documents, grids, first_test=193, threads=2)
    assert [row.time for row in found.by_time] == ["1930", "1940", "1950"]
    assert found.overall.documents == 24
    assert found.without_first.time == "without 1930"
    assert found.without_first.words == 16 * 40
    # By hand, the last time with the settings chosen.
    train, test = documents.rows(np.flatnonzero(documents.times < 195)), documents.rows(np.arange(40, 48))
    known = TrendModel(
        TimeSeriesTextModel("ridge-ts", **found.chosen["ridge-ts"]), FrequentWords(), covariates=["party"]
    ).fit(train)
    assert found.by_time[2].scores["ridge-ts"] == pytest.approx(known.losses(test).sum() / 320, rel=1e-6)
    for method in grids:
        total = sum(row.scores[method] * row.words for row in found.by_time)
        assert found.overall.scores[method] == pytest.approx(total / found.overall.words)
    assert found.p.keys() == found.wins.keys() == {"lasso-one", "lasso-all"}
    assert all(0 <= p <= 1 for p in found.p.values())
    assert found.as_dict()["overall"]["documents"] == 24


def test_words_of_the_future_are_not_known(speeches):
    documents = speeches[0]
    texts = [
        text + (" atom" * 50 if time >= 194 else "") for text, time in zip(documents.texts, documents.times)
    ]
    model = TrendModel(TimeSeriesTextModel(), FrequentWords())
    found = compare(
        model, Documents(texts, documents.times), {"ridge-ts": {"lam": [1.0]}}, first_test=194, threads=1
    )
    assert found.overall.words == 16 * 40
    assert model.words.names == []  # it is not fitted


def test_compare_classes_and_numbers(speeches):
    documents, party, cost = speeches
    model = TrendModel(TimeSeriesClassifier(), FrequentWords(), every=10)
    data = Documents(documents.texts, documents.times, party)
    found = compare(model, data, {"ridge-all": {"lam": [1.0]}, "ridge-ts": {"lam": [1.0]}}, threads=1)
    assert [row.time for row in found.by_time] == ["1920", "1930", "1940", "1950"]
    assert found.overall.accuracy["ridge-all"] > 0.8
    empty = compare(model, data, {"adaptive": {"init": ["lasso-all"], "lam": [1e9]}}, threads=1)
    assert empty.overall.accuracy["adaptive"] == 0.5  # a tie is the first class, and that is half of them
    model = TrendModel(TimeSeriesRegressor(), FrequentWords(), every=10)
    found = compare(
        model, Documents(documents.texts, documents.times, cost), {"ridge-all": {}}, first_test=195
    )
    assert found.without_first is None
    assert found.overall.accuracy is None
    assert found.p == {}


def test_compare_mistakes(speeches):
    documents = speeches[0]
    model = TrendModel(TimeSeriesTextModel(), FrequentWords(), every=10)
    for first, what in [
        (190, "no documents before"),
        (191, "only one time before"),
        (999, "after the test time 9990"),
    ]:
        with pytest.raises(InputError, match=what):
            compare(model, documents, {"ridge-ts": {}}, first_test=first)
    with pytest.raises(OptionError, match="methods must be"):
        built_in_grid("text", "magic")
    for task in ("text", "classification", "regression"):
        for method in ("adaptive", "ridge-ts", "lasso-one"):
            assert built_in_grid(task, method)["lam"]
