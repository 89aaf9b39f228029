"""What of the prior does the work: strengths of their own, stiffness of their own, the bound, τ, the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grave_common import section, verdict
from spectral_common import Setting
from yogatama_temporal_tables import Rolled, rolled
from yogatama_temporal_tasks import MONTHS, TEST_YEARS, of_abstracts, of_stocks

from spinney.trend import TimeSeriesRegressor, TimeSeriesTextModel, candidates

#: A τ at which every series is as stiff as can be.
STIFF = 1e6
SINGLE, SINGLE_NONE = "ℓ1 on single times", "the same without ℓ1"
BOTH, STRENGTH, STIFFNESS, NEITHER = "strength and stiffness", "strength alone", "stiffness alone", "neither"


def ablations(setting: Setting) -> str:
    """The prior with parts of it held fast."""
    taus = [0.001, 1.0, 100.0] if setting.quick else [0.001, 0.1, 1.0, 10.0, 100.0, 1000.0]
    regressor, text = TimeSeriesRegressor(init="lasso-all"), TimeSeriesTextModel(init="lasso-all")
    even = TimeSeriesRegressor(init="ridge-ts", noise_variance=0.1)
    noise: dict[str, Any] = {"noise_variance": [0.1, 0.02]}
    stocks = {
        BOTH: candidates(regressor, floor=[1e-8, 1.0], tau=[1.0, 100.0], **noise),
        STRENGTH: candidates(regressor, floor=[1e-8, 1.0], tau=[STIFF], **noise),
        STIFFNESS: candidates(even, floor=[10.0, 100.0, 1000.0]),
        NEITHER: candidates(
            TimeSeriesRegressor("ridge-ts"), lam=[3.0, 10.0, 30.0], alpha=[10.0, 100.0, 1000.0]
        ),
        **_switches(regressor, taus, noise),
        "as the thesis": candidates(_as_printed(TimeSeriesRegressor), tau=[0.001, 1.0, 100.0]),
    }
    texts = {
        BOTH: candidates(text, floor=[1e-8, 1.0], tau=[1.0, 100.0]),
        STRENGTH: candidates(text, floor=[1e-8, 1.0], tau=[STIFF]),
        STIFFNESS: candidates(TimeSeriesTextModel(init="ridge-ts"), floor=[3.0, 10.0, 30.0]),
        NEITHER: candidates(TimeSeriesTextModel("ridge-ts"), lam=[1.0, 3.0], alpha=[1.0, 10.0, 100.0]),
        **_switches(TimeSeriesTextModel(init="lasso-all", floor=1.0), taus, {}),
        "as the thesis": candidates(_as_printed(TimeSeriesTextModel), tau=taus[:2]),
    }
    of_tweets, of_texts = of_stocks(setting, relative=True), of_abstracts(setting)
    found = {
        "stocks": rolled(stocks, (of_tweets.X, of_tweets.y), of_tweets.months, MONTHS),
        "abstracts": rolled(texts, (of_texts.counts, of_texts.covariates), of_texts.times, TEST_YEARS),
    }
    note = (
        "“Volatility against the market's” (mean squared error) and abstracts (nats a document), on the development "
        "time and on the others; what is not named is chosen there (σ² of 0.1 and 0.02, ε of 1e-8 and 1, τ of 1 and "
        "100). Strengths of their own without stiffness of their own: τ = 10⁶, at which all series are as stiff as can "
        "be. Stiffness without strength: ε three and more times the Q of most series, so that E[1/λ] is about the "
        "same for all, from ridge-ts, no series being zero. Neither: ridge-ts. Then τ, the bound, the sign of κ and "
        "the start one by one (start lasso-all and τ = 1 if not said; ε = 1e-8 for stocks, 1 for abstracts). ℓ1 on "
        "single times (§3.3.3): 0.3, 3 and 30 beside the prior, by OWL-QN, and the same by L-BFGS without it. Last, "
        "as the thesis: start lasso-one, 500 iterations of L-BFGS, κ > 0, ε = 1e-8, σ² = ½, and τ alone is chosen."
    )
    rows = [_row(name, found) for name in stocks]
    header = ["", "stocks: dev", "others", "abstracts: dev", "others"]
    report = section("Ablations", note, header, rows)
    return report + verdict([claim for task in found for claim in _claims(task, found[task])])


def _as_printed(make: Any) -> Any:
    return make(solver="lbfgs", kappa_sign="positive")


def _switches(model: Any, taus: Sequence[float], grid: dict[str, Any]) -> dict[str, Any]:
    """One setting changed, the others as they are."""
    rows = {f"τ = {tau:g}": candidates(model, tau=[tau], **grid) for tau in taus}
    rows["quadrature"] = candidates(model, logdet=["quadrature"], **grid)
    rows["κ > 0"] = candidates(model, kappa_sign=["positive"], **grid)
    for init in ("lasso-one", "ridge-ts"):
        rows[f"start {init}"] = candidates(model, init=[init], **grid)
    rows[SINGLE] = candidates(model, l1=[0.3, 3.0, 30.0], **grid)
    rows[SINGLE_NONE] = candidates(model, solver=["lbfgs"], **grid)
    return rows


def _row(name: str, found: dict[str, Rolled]) -> list[object]:
    cells: list[object] = [name]
    for task, results in found.items():
        form = "{:.4f}".format if task == "stocks" else "{:.2f}".format
        dev = next(row.mean for row in results.rows if row.method == name)
        cells += [form(dev), form(results.means(development=False)[name])]
    return cells


def _claims(task: str, found: Rolled) -> list[tuple[str, bool]]:
    means = found.means(development=False)
    taus = [value for name, value in means.items() if name.startswith("τ")]
    parts = (STRENGTH, STIFFNESS, NEITHER)
    return [
        *((f"both are ahead of {other} ({task})", found.ahead(BOTH, other)) for other in parts),
        (f"ℓ1 on single times does not help ({task})", not found.ahead(SINGLE, SINGLE_NONE)),
        (f"the honest bound is ahead of Jensen's ({task})", found.ahead("quadrature", "τ = 1")),
        (f"τ changes the loss by less than 1 % ({task})", max(taus) < 1.01 * min(taus)),
    ]
