"""Grave (2014), chapter 7: the trace Lasso against ridge, Lasso, elastic net and pairwise elastic net.

    python replication/trace_lasso.py [--runs N] [--quick] [--seed S] [--cache FOLDER] [--out FOLDER]

With ``--cache``, scores are kept there one by one, and a run that was stopped goes on.

Protocol. Support {1 … k}, weights uniform on [-1, 1]; rows of X normal with covariance (1) I, (2) blocks of eight with
correlation 0.8, (3) Toeplitz 0.95^|i-j|; y = Xw + noise with signal-to-noise ratio 11. The thesis leaves open, and we
choose: the ratio is one of powers; columns are scaled to unit norm; each estimator is taken at its best strength, best
for the very figure that is shown; the estimation error is ‖ŵ − w‖²/‖w‖²; a weight is in the estimated support if it
exceeds a hundredth of the largest. Of the thesis's figures only the orderings survive.

All estimators are searched alike, on a grid of the same number of strengths (of pairs of strengths for the elastic
net), which goes on while its best lies at its edge.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from methods.pairwise_descent import pairwise_descent, printed_pairs
from scipy.linalg import toeplitz
from studies import Kept

from spinney.optim import (
    L1,
    ElasticNet,
    PairwiseElasticNet,
    Penalty,
    SquaredLoss,
    TraceLasso,
    gradient_scale,
    lambda_max,
    path,
    solve,
)
from spinney.optim.base import Step, Vector
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers import SOLVERS
from spinney.optim.solvers.pulling import initial_rho

SNR = 11.0
IN_SUPPORT = 1e-2
DESIGNS = {1: "identity", 2: "blocks of 8, correlation 0.8", 3: "Toeplitz 0.95^|i-j|"}
TOLERANCE = 1e-4  # of each fit, relative to the gradient of the empty model; for the trace Lasso, to the largest weight
STRIDE = 2  # iterations between two looks at the weights of the trace Lasso
DECAY = 1e-3  # of its smoothing, so that it is at its end by the first look that may stop
MOST_EXTENSIONS = 12
#: Both solvers as the thesis has them, and with what makes them faster: the mixing of iterates; over-relaxation and a ρ
#: that follows the residuals. The plain ADMM has the ρ that the other starts from.
RACERS: dict[str, tuple[str, dict[str, Any]]] = {
    "IRLS": ("irls", {"memory": 0, "check_every": 1}),
    "IRLS, mixed": ("irls", {"check_every": 1}),
    "ADMM": ("admm", {"rho": None}),
    "ADMM, relaxed": ("admm", {}),
    "subgradient": ("subgradient", {}),
}
ESTIMATORS = ("ridge", "Lasso", "elastic net", "pairwise elastic net", "trace Lasso")
#: Two estimators read otherwise: λ₁ = λ₂, since the thesis speaks of one λ for each method; and P as it is printed
#: first, though it is not positive semi-definite.
ONE_STRENGTH, PRINTED = "elastic net, λ₁ = λ₂", "pairwise elastic net, θ = 0"
VARIANTS = (ONE_STRENGTH, PRINTED)
Score = Callable[..., float]


# ------------------------------------------------------------------------------------------------ data


def design(setting: int, n: int, p: int, rng: np.random.Generator) -> Vector:
    """Rows with the covariance of the setting, columns of unit norm."""
    X = rng.standard_normal((n, p))
    if setting == 2:
        block = np.linalg.cholesky(0.2 * np.eye(8) + 0.8)
        X = (X.reshape(n, p // 8, 8) @ block.T).reshape(n, p)
    if setting == 3:
        X = X @ np.linalg.cholesky(toeplitz(0.95 ** np.arange(p))).T
    return X / np.linalg.norm(X, axis=0)


def problem(setting: int, n: int, p: int, k: int, rng: np.random.Generator) -> tuple[Vector, Vector, Vector]:
    """X, y and the true weights."""
    X = design(setting, n, p, rng)
    w = np.zeros(p)
    w[:k] = rng.uniform(-1.0, 1.0, k)
    return X, noisy(X @ w, rng), w


def noisy(signal: Vector, rng: np.random.Generator) -> Vector:
    """The signal with noise of an eleventh of its power."""
    return signal + rng.standard_normal(len(signal)) * np.sqrt(np.mean(signal**2) / SNR)


def estimation_error(estimate: Vector, truth: Vector) -> float:
    """‖ŵ − w‖²/‖w‖²."""
    return float(np.sum((estimate - truth) ** 2) / np.sum(truth**2))


def support_distance(estimate: Vector, truth: Vector) -> float:
    """Hamming distance between the supports."""
    largest = np.max(np.abs(estimate), initial=0.0)
    return float(np.count_nonzero((np.abs(estimate) > IN_SUPPORT * largest) != (truth != 0)))


# ------------------------------------------------------------------------------------------ estimators


def trace_lasso_path(loss: SquaredLoss, lams: Vector) -> Iterator[Vector]:
    """Estimates along a falling grid of strengths, by warm-started IRLS."""
    w = np.zeros(loss.p)
    for lam in lams:
        watch = Weights(Problem(loss, TraceLasso(lam, loss.X)), 0.0, 300, 1.0)
        SOLVERS["irls"](watch.problem, w, watch, decay=DECAY, check_every=STRIDE)
        w = watch.w
        yield w


class Weights(Monitor):
    """A monitor that only looks at the weights: the certificate of the trace Lasso costs more than solving it.

    Stops when no weight changes by more than the tolerance, as a share of the largest, from one look to the next. By
    the first look that may stop, the smoothing is at its end.
    """

    wants_residuals = False

    def __call__(
        self, w: Vector, value: float, grad: Vector, residual: Any = None, iteration: Any = None
    ) -> bool:
        moved = np.max(np.abs(w - self.w)) if self.trace else np.inf
        self.trace.append(Step(iteration, 0.0, np.nan, np.nan))
        self.w = w.copy()
        return iteration >= 3 * STRIDE and bool(moved <= TOLERANCE * np.max(np.abs(w)))


def ridge_path(loss: SquaredLoss, lams: Vector) -> Iterator[Vector]:
    """Closed form for every strength, through one decomposition."""
    U, s, Vt = np.linalg.svd(loss.X, full_matrices=False)
    for lam in lams:
        yield Vt.T @ (s / (s**2 + lam) * (U.T @ loss.y))


def printed_path(loss: SquaredLoss, lams: Vector) -> Iterator[Vector]:
    """Estimates of the pairwise elastic net with θ = 0 along a falling grid of strengths, from zero on.

    The problem is not convex, and the support comes first in X: columns are visited in an order of their own.
    """
    order = np.random.default_rng(loss.p).permutation(loss.p)
    X, found = loss.X[:, order], np.zeros(loss.p)
    gram, products, P = X.T @ X, X.T @ loss.y, printed_pairs(X)
    for lam in lams:
        found[order] = pairwise_descent(gram, products, P, lam, found[order], tol=TOLERANCE)
        yield found.copy()


def penalised_path(loss: SquaredLoss, penalty: Penalty, lams: Vector) -> Iterator[Vector]:
    """Estimates along a falling grid of strengths."""
    for _, solution in path(loss, penalty, lams, tol=TOLERANCE, max_iter=10_000):
        if not solution.converged:
            raise RuntimeError(f"{penalty.describe()}: not optimal to {TOLERANCE:g}")
        yield solution.w


# ---------------------------------------------------------------------------------------------- search


class Search:
    """The scores of one estimator at the strengths that were tried, in logarithms (base 10) of λ and of ``l2``."""

    def __init__(self, name: str, loss: SquaredLoss, score: Callable[[Vector], float]) -> None:
        self.name, self.loss, self.score = name, loss, score
        self.scores: dict[tuple[float, float], float] = {}
        self.pairwise = (
            PairwiseElasticNet.from_design(1.0, loss.X) if name == "pairwise elastic net" else None
        )

    def look(self, l2s: Vector, lams: Vector) -> None:
        """Score all pairs, each λ warm-started at the next larger one."""
        for l2 in l2s:
            falling = np.sort(lams)[::-1]
            for lam, estimate in zip(falling, self.path(float(10.0**l2), 10.0**falling)):
                self.scores[round(float(l2), 9), round(float(lam), 9)] = self.score(estimate)

    def path(self, l2: float, lams: Vector) -> Iterator[Vector]:
        """The estimates at these strengths."""
        if self.name == "ridge":
            return ridge_path(self.loss, lams)
        if self.name == "trace Lasso":
            return trace_lasso_path(self.loss, lams)
        if self.name == PRINTED:
            return printed_path(self.loss, lams)
        if self.name == ONE_STRENGTH:
            return penalised_path(self.loss, ElasticNet(1.0, 1.0).tied(l2=1.0), lams)
        penalty = self.pairwise or (L1(1.0) if self.name == "Lasso" else ElasticNet(1.0, l2))
        return penalised_path(self.loss, penalty, lams)

    @property
    def best(self) -> tuple[float, float]:
        """The pair with the best score; of several, the one in the middle."""
        least = min(self.scores.values())
        pairs = sorted(pair for pair, score in self.scores.items() if score == least)
        return pairs[len(pairs) // 2]


def start_of(name: str, loss: SquaredLoss, points: int) -> tuple[Vector, Vector]:
    """The first grid: logarithms of ``l2`` and of λ, ``points`` in all."""
    if name == "ridge":
        return np.zeros(1), np.linspace(-4, 2, points)
    if name == "elastic net":
        largest = np.log10(lambda_max(loss, L1(1.0)))
        return np.linspace(-2, 1, 4), np.linspace(largest - 2.5, largest, points // 4)
    if name in ("pairwise elastic net", PRINTED):
        scale = np.log10(gradient_scale(loss))
        return np.zeros(1), np.linspace(scale - 3, scale + 3, points)
    penalty = TraceLasso(1.0, loss.X) if name == "trace Lasso" else L1(1.0)
    largest = np.log10(lambda_max(loss, penalty))
    return np.zeros(1), np.linspace(largest - 3, largest, points)


def searched(
    name: str, loss: SquaredLoss, score: Callable[[Vector], float], points: int
) -> tuple[float, int]:
    """The best score of an estimator, and how many strengths it took beyond ``points``."""
    search = Search(name, loss, score)
    axes = list(start_of(name, loss, points))
    search.look(*axes)
    strides = [float(axis[1] - axis[0]) if len(axis) > 1 else 0.0 for axis in axes]
    largest = axes[1][-1] if name in ("Lasso", "elastic net", ONE_STRENGTH, "trace Lasso") else np.inf
    for _ in range(MOST_EXTENSIONS):
        pushed = False
        for i, stride in enumerate(strides):
            for end, sign in ((0, -1.0), (-1, 1.0)):
                beyond = axes[i][end] + sign * stride
                at_edge = stride > 0 and abs(search.best[i] - axes[i][end]) < 1e-6
                if not at_edge or (i == 1 and beyond > largest + 1e-6):  # beyond λ_max all weights are 0
                    continue
                before = min(search.scores.values())
                search.look(*[np.array([beyond]) if j == i else axis for j, axis in enumerate(axes)])
                axes[i] = np.sort(np.append(axes[i], beyond))
                pushed |= min(search.scores.values()) < before
        if not pushed:
            break
    return min(search.scores.values()), len(search.scores) - points


# ------------------------------------------------------------------------------------------------ studies


def study(
    n: int,
    p: int,
    supports: list[int],
    runs: int,
    points: int,
    score: Score,
    seed: int,
    extra: dict[str, int],
    scores: Kept,
) -> dict[Any, Any]:
    """Mean and standard error of the score, for each (setting, k, estimator); ``extra`` adds up extensions of grids."""
    found: dict[Any, list[float]] = {}
    for run in range(runs):
        for setting in DESIGNS:
            for k in supports:
                rng = np.random.default_rng([seed, setting, k, run])
                X, y, w = problem(setting, n, p, k, rng)
                loss = SquaredLoss(X, y, intercept=False)
                for name in (*ESTIMATORS, *VARIANTS):
                    key = f"seed {seed}, {points} points, p = {p}, setting {setting}, k = {k}, run {run}, {name}"
                    best, more = scores.get(
                        key, partial(searched, name, loss, partial(score, truth=w), points)
                    )
                    found.setdefault((setting, k, name), []).append(best)
                    extra[name] = extra.get(name, 0) + more
                    print(f"{key}: {best:.4g}", flush=True)
    return {
        key: (
            float(np.mean(values)),
            float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0,
        )
        for key, values in found.items()
    }


def study_table(title: str, supports: list[int], found: dict[Any, Any], digits: int) -> str:
    """A Markdown table, the best of each column in bold, but for the variants at its foot."""
    columns = [(setting, k) for setting in DESIGNS for k in supports]
    lines = [
        f"### {title}",
        "",
        "| estimator | " + " | ".join(f"setting {setting}, k = {k}" for setting, k in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for name in (*ESTIMATORS, *VARIANTS):
        cells = []
        for setting, k in columns:
            mean, error = found[setting, k, name]
            best = min(found[setting, k, other][0] for other in ESTIMATORS)
            text = f"{mean:.{digits}f} ± {error:.{digits}f}"
            cells.append(f"**{text}**" if mean == best and name in ESTIMATORS else text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def convergence(runs: int, seed: int, seconds: float) -> dict[Any, list[tuple[Vector, Vector]]]:
    """Seconds and relative distance to the optimum, for each (setting, strength, solver) and run."""
    curves: dict[Any, list[tuple[Vector, Vector]]] = {}
    for setting in (1, 3):
        rng = np.random.default_rng([seed, setting])
        X, _, w = problem(setting, 128, 256, 16, rng)
        for strength, ratio in (("strong", 0.3), ("weak", 0.01)):
            for _ in range(runs):  # runs differ only in noise
                loss = SquaredLoss(X, noisy(X @ w, rng), intercept=False)
                penalty = TraceLasso(1.0, X)
                penalty = penalty.with_lam(ratio * lambda_max(loss, penalty))
                optimum = solve(loss, penalty, "irls", tol=1e-10)
                traces = {}
                for name, (solver, options) in RACERS.items():
                    options = {
                        key: initial_rho(loss, loss.p) if key == "rho" else o for key, o in options.items()
                    }
                    timed = Timed(
                        Problem(loss, penalty), 0.0, 10**9, gradient_scale(loss), seconds, optimum.objective
                    )
                    SOLVERS[solver](timed.problem, np.zeros(loss.p), timed, **options)
                    traces[name] = timed.trace
                best = min(
                    [optimum.objective, *(step.objective for trace in traces.values() for step in trace)]
                )
                for name, trace in traces.items():
                    gaps = np.array([max(step.objective - best, 0.0) / best for step in trace])
                    times = np.array([step.seconds for step in trace])
                    print(f"setting {setting}, {strength}, {name}: {np.min(gaps):.1e}", flush=True)
                    curves.setdefault((setting, strength, name), []).append(
                        (times, np.minimum.accumulate(gaps))
                    )
    return curves


class Timed(Monitor):
    """Stops within 1e-9 of the optimum, or after a time of the processor, without that of the looks."""

    wants_residuals = False

    def __init__(
        self, problem: Problem, tol: float, max_iter: int, scale: float, limit: float, optimum: float
    ) -> None:
        super().__init__(problem, tol, max_iter, scale)
        self.limit, self.enough = limit, optimum + 1e-9 * abs(optimum)
        self.absolute_tol = 1e-7 * scale  # what IRLS takes for rest, before it tells small weights from zeros
        self.looking, self.began = 0.0, time.process_time()

    def __call__(
        self, w: Vector, value: float, grad: Vector, residual: Any = None, iteration: Any = None
    ) -> bool:
        now = time.process_time()
        seconds = now - self.began - self.looking
        count = len(self.trace) if iteration is None else iteration
        self.trace.append(Step(count, seconds, value + self.penalty.value(w), np.nan))
        self.w, self.grad = w.copy(), grad
        self.looking += time.process_time() - now
        return seconds > self.limit or self.trace[-1].objective <= self.enough


def seconds_to(curves: list[tuple[Vector, Vector]], gap: float) -> float:
    """Median over runs of the time to come within ``gap`` of the optimum; infinite where most do not."""
    return float(
        np.median([times[gaps <= gap][0] if np.any(gaps <= gap) else np.inf for times, gaps in curves])
    )


def convergence_table(curves: dict[Any, list[tuple[Vector, Vector]]], runs: int, limit: float) -> str:
    """Seconds to several distances from the optimum."""
    gaps = (1e-2, 1e-4, 1e-6, 1e-8)
    lines = [
        "### Convergence: seconds to a relative distance from the optimum (p = 256, n = 128, k = 16)",
        "",
        "Seconds of the processor, without those of looking at the objective; the median of "
        f"{runs} draws of the noise. Each solver runs until it is within 1e-9 of the optimum, for {limit:g} seconds at "
        "most; the optimum is that of IRLS run to 1e-10, or what is below it. IRLS is looked at after every iteration, "
        "ADMM after 10 and then ever more rarely. Mixed: Anderson mixing of ten iterates. Relaxed: over-relaxation by "
        "1.6 and a ρ that follows the residuals.",
        "",
        "| setting | regularisation | solver | " + " | ".join(f"{gap:.0e}" for gap in gaps) + " |",
        "|---|---|---|" + "---:|" * len(gaps),
    ]
    for (setting, strength, name), curve in curves.items():
        cells = " | ".join(f"{s:.3f}" if np.isfinite(s := seconds_to(curve, gap)) else "–" for gap in gaps)
        lines.append(f"| {setting} | {strength} | {name} | {cells} |")
    return "\n".join(lines) + "\n"


def claims(
    error: dict[Any, Any], support: dict[Any, Any], curves: dict[Any, Any], supports: list[list[int]]
) -> list[str]:
    """The orderings of the thesis, each with whether it holds here."""
    lines = []
    for setting in (2, 3):
        for title, found, ks in (
            ("estimation error", error, supports[0]),
            ("support recovery", support, supports[1]),
        ):
            for rival in ("ridge", "Lasso", "elastic net"):
                mine = np.mean([found[setting, k, "trace Lasso"][0] for k in ks])
                theirs = np.mean([found[setting, k, rival][0] for k in ks])
                holds = "holds" if mine < theirs else "does not hold"
                lines.append(
                    f"- setting {setting}, {title}: trace Lasso ahead of {rival}: {holds} "
                    f"({mine:.3f} against {theirs:.3f})"
                )
    for title, found, ks in (
        ("estimation error", error, supports[0]),
        ("support recovery", support, supports[1]),
    ):
        cells = [(setting, k) for setting in DESIGNS for k in ks]
        for one in ("pairwise elastic net", PRINTED):
            for rival in ("Lasso", "elastic net", ONE_STRENGTH, "trace Lasso"):
                ahead = [cell for cell in cells if found[*cell, one][0] < found[*cell, rival][0]]
                where = ", ".join(f"{setting} (k = {k})" for setting, k in ahead)
                lines.append(
                    f"- {title}: {one} ahead of {rival} in {len(ahead)} of {len(cells)} cases"
                    + (f": settings {where}" if ahead else "")
                )
    k = supports[0][0]
    lasso, trace = error[1, k, "Lasso"][0], error[1, k, "trace Lasso"][0]
    holds = "holds" if lasso <= trace else "does not hold"
    lines.append(
        f"- setting 1, very sparse (k = {k}): Lasso ahead of trace Lasso: {holds} ({lasso:.3f} against {trace:.3f})"
    )
    slow = all(
        not np.isfinite(seconds_to(runs, 1e-6))
        for (_, _, name), runs in curves.items()
        if name == "subgradient"
    )
    lines.append(f"- subgradient descent never comes within 1e-6: {'holds' if slow else 'does not hold'}")
    for what, gap, first, second in (
        ("first, both plain", 1e-2, "ADMM", "IRLS"),
        ("first, both accelerated", 1e-2, "ADMM, relaxed", "IRLS, mixed"),
        ("high accuracy, both plain", 1e-8, "IRLS", "ADMM"),
        ("high accuracy, both accelerated", 1e-8, "IRLS, mixed", "ADMM, relaxed"),
    ):
        wins = sum(
            seconds_to(curves[setting, strength, first], gap)
            < seconds_to(curves[setting, strength, second], gap)
            for setting in (1, 3)
            for strength in ("strong", "weak")
        )
        lines.append(
            f"- {first.partition(',')[0]} faster than {second.partition(',')[0]} to {gap:.0e} ({what}): "
            f"in {wins} of 4 cases"
        )
    return lines


def plot(
    curves: dict[Any, list[tuple[Vector, Vector]]], error: dict[Any, Any], supports: list[int], out: Path
) -> str:
    """Draw both figures if matplotlib is there."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return "(no plots: install spinney[plots])"
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.6), sharey=True)
    for axis, setting in zip(axes, DESIGNS):
        for name in ESTIMATORS:
            means, errors = zip(*(error[setting, k, name] for k in supports))
            axis.errorbar(supports, means, errors, label=name, marker="o", markersize=3)
        axis.set(title=f"{setting}: {DESIGNS[setting]}", xlabel="support size k")
    axes[0].set_ylabel("estimation error")
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(out / "trace_lasso_error.png", dpi=120)
    figure, axes = pyplot.subplots(1, 4, figsize=(14, 3.4), sharey=True)
    cases = [(setting, strength) for setting in (1, 3) for strength in ("strong", "weak")]
    for axis, (setting, strength) in zip(axes, cases):
        for colour, name in enumerate(RACERS):
            for i, (times, gaps) in enumerate(curves[setting, strength, name]):
                axis.loglog(
                    times + 1e-3, gaps + 1e-16, f"C{colour}", label=name if i == 0 else None, linewidth=0.8
                )
        axis.set(title=f"setting {setting}, {strength}", xlabel="seconds", ylim=(1e-14, 10))
    axes[0].set_ylabel("relative distance to optimum")
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(out / "trace_lasso_convergence.png", dpi=120)
    return f"Plots: {out}/trace_lasso_error.png, {out}/trace_lasso_convergence.png"


def main() -> None:
    """Run the three parts, print and keep the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=2, help="draws of each problem (thesis: 20)")
    parser.add_argument("--quick", action="store_true", help="two draws, fewer support sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="a folder to keep scores in as they come")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    scores = Kept(arguments.cache and arguments.cache / "trace_lasso.json")
    runs = 2 if arguments.quick else arguments.runs
    large, small = ([64], [32]) if arguments.quick else ([16, 64, 192], [16, 64])
    started = time.perf_counter()
    points, coarse, again, limit = (20, 12, 1, 2.0) if arguments.quick else (80, 48, 2, 6.0)
    extra: dict[str, int] = {}
    support = study(128, 512, small, runs, points, support_distance, arguments.seed + 1, extra, scores)
    curves = convergence(again, arguments.seed + 2, limit)
    error = study(256, 1024, large, runs, coarse, estimation_error, arguments.seed, extra, scores)
    arguments.out.mkdir(parents=True, exist_ok=True)
    problems = len(large + small) * len(DESIGNS) * runs
    drawn = plot(curves, error, large, arguments.out)
    text = "\n".join(
        [
            "# Trace Lasso: Grave (2014), section 7.5, replicated\n",
            f"{runs} draws of each problem (thesis: 20); mean ± standard error; best in bold. The thesis reports: in "
            "setting 1 the Lasso is best for very sparse models and the trace Lasso a little behind; in settings 2 and "
            "3 the trace Lasso is best of all, the pairwise elastic net next, the elastic net ahead of the Lasso.\n",
            f"Each estimator is shown at its best of {coarse} strengths for the estimation error and {points} for "
            "support recovery (pairs of strengths for the elastic net). A grid whose best lay at its edge went on: by "
            + (", ".join(f"{n / problems:.1f} for {name}" for name, n in extra.items() if n) or "none")
            + f" strengths on average over the {problems} problems. All fits are to a tolerance of {TOLERANCE:g}: "
            "relative to the gradient of the empty model, and for the trace Lasso, whose certificate was not taken, to "
            "the largest weight. The two rows at the foot of each table read the thesis otherwise: it chooses “the "
            "best λ” of each method, and an elastic net has two; and θ of the pairwise elastic net must make its "
            "matrix positive semi-definite, which leaves 2 to 12 % of what the matrix has for pairs. θ = 0 leaves all; "
            "that problem is not convex, and coordinate descent from zero, in a random order, finds a point that no "
            "single weight betters.\n",
            study_table("Estimation error ‖ŵ − w‖²/‖w‖² (p = 1024, n = 256)", large, error, 3),
            study_table("Support recovery: Hamming distance (p = 512, n = 128)", small, support, 1),
            convergence_table(curves, again, limit),
            "### Claims\n",
            "\n".join(claims(error, support, curves, [large, small])),
            f"\n{time.perf_counter() - started:.0f} s, without those of scores that were kept from earlier.",
        ]
    )
    (arguments.out / "trace_lasso.md").write_text(text + "\n")
    print(text)
    print(drawn)


if __name__ == "__main__":
    main()
