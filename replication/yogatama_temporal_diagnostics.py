"""What the fitted series look like: how stiff they are, how many are zero, which words they follow."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from grave_common import section, short, verdict
from scipy.stats import chi2
from sklearn.base import clone
from spectral_common import Setting
from yogatama_temporal_data import Texts, abstracts, in_titles
from yogatama_temporal_tasks import MONTHS, TEST_YEARS, of_abstracts, of_stocks

from spinney.optim import ConvergenceWarning
from spinney.trend import TimeSeriesRegressor, TimeSeriesTextModel, alpha_histogram

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
    z2, free = _evidence(X[:, :-1].toarray(), left, months, noise)
    z2_before = slope**2 * (before @ before) / noise
    report = (
        "\nUnder the prior (ε → 0) a series in a given direction, with an estimate ŵ of variance v along it, has an "
        "optimum other than zero only if (w − ŵ)/v + T/w = 0 has a root: if ŵ²/v ≥ 4T, whatever τ is. In the last "
        f"fold T = {T}, so 4T = {4 * T}. The volatility before has ŵ²/v = {z2_before:,.0f} (σ² = {noise:.3f}, what it "
        f"leaves); words, each taken alone after it: the strongest {z2.max():.0f} if the same at all times, "
        f"{free.max():.0f} if free to differ by month (the median word {np.median(z2):.1f} and {np.median(free):.0f}; "
        f"by chance 1 and {T}). {int((free >= 4 * T).sum())} of {len(z2):,} words have {4 * T} or more. With σ² = ½ "
        f"all of these are {0.5 / noise:.1f} times less; with σ² = 0.02, {noise / 0.02:.1f} times more: a σ² under the "
        "noise is how the development time can keep a word at all. The thesis had "
        f"{27159 / 9 / (len(y) / T):.0f} times as many documents a T (27,159 for 9, here {len(y):,} for {T}).\n"
    )
    return report + verdict([("no word has the evidence that the prior asks for", bool(free.max() < 4 * T))])


def _evidence(words: Any, left: Any, months: Any, noise: float) -> tuple[Any, Any]:
    """ŵ²/v of each word alone: of one coefficient for all times, and the sum over those of each time."""
    same, squares, free = (np.zeros(words.shape[1]) for _ in range(3))
    for month in np.unique(months):
        rows = np.flatnonzero(months == month)
        centred = words[rows] - words[rows].mean(axis=0)
        along, square = centred.T @ left[rows], (centred**2).sum(axis=0)
        free += along**2 / np.maximum(noise * square, 1e-12)
        same, squares = same + along, squares + square
    return same**2 / np.maximum(noise * squares, 1e-12), free


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
    zeros, at_start = {}, {}
    ways: dict[str, dict[str, Any]] = {
        "L-BFGS": {"solver": "lbfgs"},
        "alternating, no pruning": {"prune": False},
        "alternating": {},
        "sparse": {"method": "sparse"},
    }
    cases: list[tuple[str, Any, Any]] = [
        ("stocks", stocks, TimeSeriesRegressor(noise_variance=0.02, init="lasso-all")),
        ("abstracts", texts, TimeSeriesTextModel()),
    ]
    for task, data, default in cases:
        start, _ = _fitted(clone(default).set_params(method=default.init), *data)
        for name, how in ways.items():
            model, seconds = _fitted(clone(default).set_params(**how), *data)
            coef = model.coef_.reshape(len(model.coef_), -1)
            largest = np.abs(coef).max(axis=0)
            zero = int((largest == 0).sum())
            tiny = int(((largest > 0) & (largest < 1e-3 * largest.max())).sum())
            zeros[task, name], at_start[task] = zero, coef.shape[1] - start.n_active_
            cells = [f"{coef.shape[1]:,}", f"{at_start[task]:,}", f"{zero:,}", f"{tiny:,}"]
            end = f"{model.objective_:,.1f}" if name != "sparse" else f"({model.objective_:,.1f})"
            rows.append([f"{task}: {name}", *cells, end, model.n_iter_, f"{seconds:.1f}"])
    header = ["", "series", "zero at the start", "zero", "tiny", "objective", "iterations", "s"]
    claims = []
    for task in ("stocks", "abstracts"):
        claims.append((f"L-BFGS sets no series to zero ({task})", zeros[task, "L-BFGS"] == at_start[task]))
        claims.append((f"the sparse method does ({task})", zeros[task, "sparse"] > at_start[task]))
    return section("Diagnostics: exact zeros", note, header, rows) + verdict(claims)


def _stiffness(setting: Setting) -> str:
    """The histogram of E[α] (figure 3.2)."""
    bins = 10
    rows: list[list[object]] = []
    stocks, texts = _stocks_before_last(setting), _abstracts_before_last(setting)
    regressor = TimeSeriesRegressor(noise_variance=0.02, init="lasso-all")
    cases: list[tuple[str, Any, Any]] = [
        ("stocks, ε = 1e-8", stocks, regressor),
        ("stocks, ε = 1", stocks, clone(regressor).set_params(floor=1.0)),
        ("abstracts, ε = 1e-8", texts, TimeSeriesTextModel()),
        ("abstracts, ε = 1", texts, TimeSeriesTextModel(floor=1.0)),
        ("abstracts, ε = 1, quadrature", texts, TimeSeriesTextModel(floor=1.0, logdet="quadrature")),
    ]
    claims = []
    for name, data, model in cases:
        fitted, _ = _fitted(model, *data)
        e_alpha, coef = fitted.e_alpha_.ravel(), fitted.coef_.reshape(len(fitted.coef_), -1)
        counts, edges = alpha_histogram(e_alpha, coef, bins=bins)
        rows.append([name, f"{int(counts.sum()):,}", *(int(count) for count in counts)])
        differ = min(counts[0], counts[3:].sum()) >= 0.1 * counts.sum()
        claims.append((f"series differ in stiffness ({name})", bool(differ)))
    header = ["τ = 1", "series not zero", *(f"{edges[i]:.2f} to {edges[i + 1]:.2f}" for i in range(bins))]
    note = (
        "How many series have E[α] in each bin, in the last fold: −½ is stiff, 0 free of its past. The thesis has a "
        "histogram of the 10,002 features of 2005 (a picture, lost here). Here series “differ” where a tenth or more "
        "are under −.45, and another tenth over −.35."
    )
    return "\n" + section("Diagnostics: stiffness", note, header, rows) + verdict(claims)


# ------------------------------------------------------------------------------------------- words and years


def _words(setting: Setting) -> str:
    """Series of words over the years beside the titles of other papers."""
    # Words of all years, and frequent ones, because it is these words that are looked at.
    texts: Texts = abstracts(setting.data, 2019, 31, 1030 if setting.quick else 3030)
    everything = np.column_stack([np.ones(len(texts.times)), texts.covariates])
    seen, totals = in_titles(setting.data, texts.words)
    titles = np.log((seen + 0.5) / (totals + 1.0)[:, None])
    expected = totals[:, None] * seen.sum(axis=0) / totals.sum()
    surprise = ((seen - expected) ** 2 / np.maximum(expected, 1e-9)).sum(axis=0)
    changed = (expected.min(axis=0) >= 1) & (chi2.sf(surprise, len(totals) - 1) < 1e-3)
    rows: list[list[object]] = []
    likeness = {}
    years = np.unique(texts.times)
    models = {
        "ridge-ts": TimeSeriesTextModel("ridge-ts", background="all", lam=10.0, alpha=10.0),
        "adaptive": TimeSeriesTextModel(background="all", floor=1.0, init="ridge-ts"),
    }
    for method, unfitted in models.items():
        model, _ = _fitted(unfitted, texts.counts, everything, texts.times)
        series = model.coef_[:, :, 0]
        alike = np.array([_correlation(series[:, v], titles[:, v]) for v in range(len(texts.words))])
        likeness[method] = float(np.mean(alike[changed]))
        for word in SHOWN:
            if word in texts.words:
                v = texts.words.index(word)
                values = " ".join(f"{value:+.1f}" for value in series[::2, v])
                rows.append([f"{word}, {method}", values, short(float(alike[v]))])
        rows.append([f"mean of {int(changed.sum())} words, {method}", None, short(likeness[method])])
    rows.sort(key=lambda row: (str(row[0]).startswith("mean"), str(row[0])))
    note = (
        f"A model of all years whose first covariate is always 1, so that its series are how words come and go; the "
        f"background is that of all years. Every other year of {years[0]} to {years[-1]}, and the correlation over all "
        "years with the ln share of titles with the word among papers of the Anthology whose abstracts are not here "
        "(so another text). The words shown were picked by hand, known to have come or gone; the mean "
        "is over all words whose share of titles changed (χ², p < .001). The thesis: the "
        "series of “unemployment” tracks the rate of unemployment, others less clearly."
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
