"""What the fitted series look like: how stiff they are, how many are zero, which words they follow."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from grave_common import section, short, table, verdict
from spectral_common import Setting
from yogatama_temporal_data import Texts, abstracts, shares_of_titles
from yogatama_temporal_tasks import MONTHS, TEST_YEARS, of_abstracts, of_stocks

from spinney.optim import ConvergenceWarning
from spinney.temporal import TimeSeriesRegressor, TimeSeriesTextModel, alpha_histogram

#: Words that came and went in 2006 to 2018, whose series are shown; others are summed up in a number.
SHOWN = (
    "neural",
    "embeddings",
    "attention",
    "deep",
    "twitter",
    "statistical",
    "grammar",
    "ontology",
    "phrase",
)


def _fitted(model: Any, *data: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table tells
        model.fit(*data)
    return model, time.perf_counter() - started


def _stocks_before_last(setting: Setting) -> tuple[Any, ...]:
    data = of_stocks(setting, relative=True)
    rows = np.flatnonzero(data.months < MONTHS[-1])
    return data.X[rows], data.y[rows], data.months[rows]


def _abstracts_before_last(setting: Setting) -> tuple[Any, ...]:
    data = of_abstracts(setting)
    rows = np.flatnonzero(data.times < TEST_YEARS[-1])
    return data.counts[rows], data.covariates[rows], data.times[rows]


# ------------------------------------------------------------------------------------------------- survival


def survival(setting: Setting) -> str:
    """Why so few words stay: what a series must bring, and what the strongest words have."""
    X, y, months = _stocks_before_last(setting)
    T = len(np.unique(months))
    before = X[:, [-1]].toarray().ravel()
    slope = before @ y / (before @ before)
    left = y - slope * before
    noise = float(left @ left) / len(y)
    words = X[:, :-1].toarray()
    words -= words.mean(axis=0)
    squares = (words**2).sum(axis=0)
    z2 = (words.T @ left) ** 2 / np.maximum(noise * squares, 1e-12)
    z2_before = slope**2 * (before @ before) / noise
    report = (
        f"\nA series that is the same at all T times, with an estimate ŵ of variance v, has an optimum other than zero "
        "under the prior only if h(w − ŵ) + T/w = 0 has a root, h = 1/v: if ŵ²/v ≥ 4T, whatever τ is. In the last "
        f"fold T = {T}, so 4T = {4 * T}. The volatility before has ŵ²/v = {z2_before:,.0f} (σ² = {noise:.3f}, what it "
        f"leaves); the strongest word, each taken alone after it, {z2.max():.0f}; the median word {np.median(z2):.1f}; "
        f"{int((z2 >= 4 * T).sum())} of {len(z2):,} words have {4 * T} or more. With σ² = ½ all of these are "
        f"{0.5 / noise:.0f} times less. The thesis had 340 times as many documents for each 4T (27,159 for T = 9 "
        f"against {len(y):,} for {T}).\n".replace("340", f"{27159 / 9 / (len(y) / T):.0f}")
    )
    return report + verdict([("no word has the evidence that the prior asks for", bool(z2.max() < 4 * T))])


# ---------------------------------------------------------------------------------------------- diagnostics


def diagnostics(setting: Setting) -> str:
    """Stiffness, zeros, and words over the years."""
    return _zeros(setting) + _stiffness(setting) + _words(setting)


def _zeros(setting: Setting) -> str:
    """Exact zeros: three ways to minimise (nearly) the same objective."""
    note = (
        "The last fold of “Volatility against the market's” (σ² = 0.02, start lasso-all) and of the abstracts. "
        "Series, how many are zero to the last bit where they start (lasso), and in the end; how many more have "
        "no coefficient over a thousandth of the largest; the objective. The sparse method has another floor, so "
        "another objective. The thesis: L-BFGS, “weak” sparsity."
    )
    stocks, texts = _stocks_before_last(setting), _abstracts_before_last(setting)
    rows: list[list[object]] = []
    counts = {}
    for task, of_task, data, make in (
        ("stocks", {"noise_variance": 0.02, "init": "lasso-all"}, stocks, TimeSeriesRegressor),
        ("abstracts", {}, texts, TimeSeriesTextModel),
    ):
        for name, how in (
            ("L-BFGS", {"method": "adaptive", "solver": "lbfgs"}),
            ("alternating, no pruning", {"method": "adaptive", "prune": False}),
            ("alternating", {"method": "adaptive"}),
            ("sparse", {"method": "sparse"}),
        ):
            start, _ = _fitted(make(of_task.get("init", "lasso-one")), *data)
            model, seconds = _fitted(make(**of_task, **how), *data)
            coef = model.coef_.reshape(len(model.coef_), -1)
            largest = np.abs(coef).max(axis=0)
            zero = int((largest == 0).sum())
            tiny = int(((largest > 0) & (largest < 1e-3 * largest.max())).sum())
            counts[task, name] = zero
            cells = [f"{coef.shape[1]:,}", f"{coef.shape[1] - start.n_active_:,}", f"{zero:,}", f"{tiny:,}"]
            end = f"{model.objective_:,.1f}" if name != "sparse" else f"({model.objective_:,.1f})"
            rows.append([f"{task}: {name}", *cells, end, model.n_iter_, f"{seconds:.1f}"])
    header = ["", "series", "zero at the start", "zero", "tiny", "objective", "iterations", "s"]
    claims = [
        (
            f"L-BFGS leaves no more zeros than it started with ({task})",
            int(str(rows[i][3]).replace(",", "")) <= int(str(rows[i][2]).replace(",", "")),
        )
        for i, task in ((0, "stocks"), (4, "abstracts"))
    ]
    claims += [
        (f"pruning or the sparse method zero more series than L-BFGS ({task})",
         max(counts[task, "alternating"], counts[task, "sparse"]) > counts[task, "L-BFGS"])
        for task in ("stocks", "abstracts")
    ]  # fmt: skip
    return section("Diagnostics: exact zeros", note, header, rows) + verdict(claims)


def _stiffness(setting: Setting) -> str:
    """The histogram of E[α] (figure 3.2)."""
    bins = 10
    rows: list[list[object]] = []
    of_all = {}
    for name, data, model in (
        ("stocks, ε = 1e-8", _stocks_before_last(setting), TimeSeriesRegressor(noise_variance=0.02, init="lasso-all")),
        ("stocks, ε = 1", _stocks_before_last(setting), TimeSeriesRegressor(noise_variance=0.02, init="lasso-all", floor=1.0)),
        ("abstracts, ε = 1e-8", _abstracts_before_last(setting), TimeSeriesTextModel()),
        ("abstracts, ε = 1", _abstracts_before_last(setting), TimeSeriesTextModel(floor=1.0)),
        ("abstracts, ε = 1, quadrature", _abstracts_before_last(setting), TimeSeriesTextModel(floor=1.0, logdet="quadrature")),
    ):  # fmt: skip
        fitted, _ = _fitted(model, *data)
        e_alpha, coef = fitted.e_alpha_.ravel(), fitted.coef_.reshape(len(fitted.coef_), -1)
        counts, edges = alpha_histogram(e_alpha, coef, bins=bins)
        of_all[name] = e_alpha[np.any(coef != 0, axis=0)]
        rows.append([name, int(counts.sum()), *(int(count) for count in counts)])
    header = ["τ = 1", "series not zero", *(f"{edges[i]:.2f} to {edges[i + 1]:.2f}" for i in range(bins))]
    note = (
        "How many series have E[α] in each bin, in the last fold: −½ is stiff, 0 free of its past. The thesis has a "
        "histogram of the 10,002 features of 2005 (a picture, lost here)."
    )
    stiff = of_all["abstracts, ε = 1e-8"]
    claims = [
        ("series of one model differ in stiffness (abstracts, ε = 1e-8: quartiles of E[α] more than .05 apart)",
         bool(len(stiff) and np.subtract(*np.percentile(stiff, [75, 25])) > 0.05)),
    ]  # fmt: skip
    return "\n" + section("Diagnostics: stiffness", note, header, rows) + verdict(claims)


# ------------------------------------------------------------------------------------------- words and years


def _words(setting: Setting) -> str:
    """Series of words over the years beside the titles of other papers."""
    # Words of all years, and frequent ones, because it is these words that are looked at.
    texts: Texts = abstracts(setting.data, 2019, 101, 1100 if setting.quick else 3100)
    everything = np.column_stack([np.ones(len(texts.times)), texts.covariates])
    titles = shares_of_titles(setting.data, texts.words)
    rows: list[list[object]] = []
    likeness = {}
    years = np.unique(texts.times)
    for method, options in (
        ("ridge-ts", {"lam": 10.0, "alpha": 10.0}),
        ("adaptive", {"floor": 1.0, "init": "ridge-ts"}),
    ):
        model, _ = _fitted(
            TimeSeriesTextModel(method, background="all", **options), texts.counts, everything, texts.times
        )
        series = model.coef_[:, :, 0]
        moves = (titles.std(axis=0) > 0.5) & (series.std(axis=0) > 0.05)
        alike = np.array([_correlation(series[:, v], titles[:, v]) for v in range(len(texts.words))])
        likeness[method] = float(np.mean(alike[moves]))
        for word in SHOWN:
            if word in texts.words:
                v = texts.words.index(word)
                values = " ".join(f"{value:+.1f}" for value in series[::2, v])
                rows.append([f"{word}, {method}", values, short(float(alike[v]))])
        rows.append([f"mean of {int(moves.sum())} words, {method}", None, short(likeness[method])])
    rows.sort(key=lambda row: (str(row[0]).startswith("mean"), str(row[0])))
    note = (
        f"A model of all years whose first covariate is always 1, so that its series are how words come and go; the "
        f"background is that of all years. Every other year of {years[0]} to {years[-1]}, and the correlation over all "
        "years with the ln share of titles with the word among papers of the Anthology whose abstracts are not here "
        "(so another text). The mean is over words whose series and titles both move. The thesis: the series of "
        "“unemployment” tracks the rate of unemployment, others less clearly."
    )
    report = "\n" + section("Diagnostics: words over the years", note, ["word", "series", "titles"], rows)
    return report + verdict(
        [
            (f"series follow the titles ({name}: mean over .5)", value > 0.5)
            for name, value in likeness.items()
        ]
    )


def _correlation(one: Any, other: Any) -> float:
    if not (one.std() > 0 and other.std() > 0):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
