"""What of the prior does the work: strengths of their own, stiffness of their own, the bound, τ, the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grave_common import section, verdict
from spectral_common import Setting
from yogatama_temporal_tables import Rolled, rolled
from yogatama_temporal_tasks import MONTHS, TEST_YEARS, of_abstracts, of_stocks

from spinney.temporal import TimeSeriesRegressor, TimeSeriesTextModel, candidates

#: A τ at which every series is as stiff as can be, and floors above which strengths are all but the same.
STIFF, EVEN = 1e6, [1e2, 1e3, 1e4]


def ablations(setting: Setting) -> str:
    """The prior with parts of it held fast."""
    noises: list[Any] = [0.5, 0.1, 0.02, "residual"]
    stocks = _parts(
        TimeSeriesRegressor(), {"noise_variance": noises}, "lasso-all", [1e-8, 1.0], [3.0, 30.0, 300.0]
    )
    texts = _parts(TimeSeriesTextModel(), {}, "lasso-one", [1e-8, 0.1, 1.0], [1.0, 3.0, 10.0])
    noise = {"noise_variance": noises[1:]}
    stocks |= _switches(TimeSeriesRegressor(init="lasso-all"), noise)
    texts |= _switches(TimeSeriesTextModel(floor=1.0), {})
    stocks["thesis: L-BFGS, σ² = ½"] = candidates(
        TimeSeriesRegressor(solver="lbfgs", kappa_sign="positive"), tau=[0.001, 1.0, 100.0]
    )
    texts["thesis: L-BFGS"] = candidates(
        TimeSeriesTextModel(solver="lbfgs", kappa_sign="positive"),
        tau=[0.001, 1.0] if setting.quick else [0.001, 1.0, 100.0],
    )
    of_tweets, of_texts = of_stocks(setting, relative=True), of_abstracts(setting)
    found = {
        "stocks": rolled(stocks, (of_tweets.X, of_tweets.y), of_tweets.months, MONTHS),
        "abstracts": rolled(texts, (of_texts.counts, of_texts.covariates), of_texts.times, TEST_YEARS),
    }
    note = (
        "“Volatility against the market's” (mean squared error) and abstracts (nats a document), on the development "
        "time and on the others; what is not named is chosen there from a grid (σ² for stocks, and the floor). Strengths "
        "of their own without stiffness of their own: τ = 10⁶, at which all series are as stiff as can be. Stiffness "
        "without strength: floors so high that E[1/λ] is all but the same for all, from ridge-ts, no series being "
        "zero. Neither: ridge-ts. Both: the adaptive prior, floors in the grid. Below them, τ, the bound, the sign of "
        "κ and the start one by one, at the floor 1e-8 (stocks) and 1 (abstracts), as well as L-BFGS with κ > 0, which "
        "is what the thesis describes."
    )
    rows = [_row(name, found) for name in dict.fromkeys([*stocks, *texts])]
    header = ["", "stocks: dev", "others", "abstracts: dev", "others"]
    report = section("Ablations", note, header, rows)
    return report + verdict([claim for task in found for claim in _claims(task, found[task])])


def _parts(
    model: Any, more: dict[str, Any], init: str, floors: Sequence[float], lams: Sequence[float]
) -> dict[str, Any]:
    """Both, one, the other, neither."""
    quiet = {**more, "noise_variance": [0.1, "residual"]} if more else {}
    return {
        "strength and stiffness": candidates(model, init=[init], floor=floors, tau=[1.0, 100.0], **more),
        "strength alone": candidates(model, init=[init], floor=floors, tau=[STIFF], **more),
        "stiffness alone": candidates(model, init=["ridge-ts"], floor=EVEN, **quiet),
        "neither": candidates(type(model)("ridge-ts"), lam=lams, alpha=[1.0, 10.0, 100.0]),
    }


def _switches(model: Any, grid: dict[str, Any]) -> dict[str, Any]:
    """One setting changed, the others as they are by default."""
    rows = {
        f"τ = {tau:g}": candidates(model, tau=[tau], **grid) for tau in (0.001, 0.1, 1.0, 10.0, 100.0, 1000.0)
    }
    rows["quadrature (τ = 1)"] = candidates(model, logdet=["quadrature"], **grid)
    rows["κ > 0 (τ = 1)"] = candidates(model, kappa_sign=["positive"], **grid)
    for init in ("lasso-one", "lasso-all", "ridge-ts"):
        rows[f"start {init} (τ = 1)"] = candidates(model, init=[init], **grid)
    return rows


def _row(name: str, found: dict[str, Rolled]) -> list[object]:
    cells: list[object] = [name]
    for task, results in found.items():
        form = "{:.4f}".format if task == "stocks" else "{:.2f}".format
        means = {development: results.means(development) for development in (False,)}[False]
        first = min(row.time for row in results.rows)
        dev = [row.mean for row in results.rows if row.method == name and row.time == first]
        cells += [form(dev[0]) if dev else None, form(means[name]) if dev else None]
    return cells


def _claims(task: str, found: Rolled) -> list[tuple[str, bool]]:
    both, neither = "strength and stiffness", "neither"
    means = found.means(development=False)
    taus = [value for name, value in means.items() if name.startswith("τ")]
    return [
        (f"both are ahead of strength alone ({task})", found.ahead(both, "strength alone")),
        (f"both are ahead of stiffness alone ({task})", found.ahead(both, "stiffness alone")),
        (f"both are ahead of neither ({task})", found.ahead(both, neither)),
        (f"the honest bound is ahead of Jensen's ({task})", found.ahead("quadrature (τ = 1)", "τ = 1")),
        (f"τ changes the loss by less than 1 % ({task})", max(taus) < 1.01 * min(taus)),
    ]
