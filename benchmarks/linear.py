"""Sparse logistic and multinomial regression against celer, skglm, liblinear, saga and lbfgs; cross-validation."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison, fastest_peer, judge
from benchmarks.data import newsgroups, reuters
from benchmarks.harness import Contestant, Row, publish, race, table
from spinney.optim import (
    L1,
    L2,
    ElasticNet,
    LogisticLoss,
    MultinomialLoss,
    Penalty,
    lambda_grid,
    lambda_max,
    path,
    solve,
)

OURS = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-7]
RATIOS = (0.1, 0.03, 0.01, 0.003)
ACCURACY = 1e-6


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: the ends of the range of λ, and none of what has no peer."""
    X, labels = newsgroups()
    y = np.where(labels < 10, 1.0, -1.0)
    text = f"20 Newsgroups, {X.shape[0]:,} documents, {X.shape[1]:,} features"
    sections = [f"{text}, {X.nnz:,} entries; no intercept.\n"]
    comparisons: list[Comparison] = []

    def keep(title: str, task: str, what: str, rows: list[Row]) -> None:
        sections.append(table(title, rows, ACCURACY))
        comparisons.append(fastest_peer(rows, ACCURACY, task, what, text))

    loss = LogisticLoss(X, y, intercept=False)
    largest = lambda_max(loss, L1(1.0))
    for ratio in RATIOS[:: len(RATIOS) - 1] if quick else RATIOS:
        lam = ratio * largest
        rows = race(
            [
                _spinney(loss, L1(lam)),
                _celer(X, y, lam),
                _skglm(X, y, lam, 0.0),
                _liblinear(X, y, lam),
                _saga(X, y, lam, 0.0),
            ],
            _objective(loss, L1(lam)),
            accuracy=ACCURACY,
        )
        at = f"λ = {ratio} λ_max"
        keep(f"ℓ1 logistic, {at}", "Sparse classification", f"ℓ1 logistic regression, {at}", rows)
    for ratio in RATIOS[2:3] if quick else RATIOS[1:3]:
        penalty = ElasticNet(ratio * largest, ratio * largest)
        rows = race(
            [
                _spinney(loss, penalty),
                _skglm(X, y, penalty.lam, penalty.l2),
                _saga(X, y, penalty.lam, penalty.l2),
            ],
            _objective(loss, penalty),
            accuracy=ACCURACY,
        )
        at = f"λ = l2 = {ratio} λ_max"
        keep(
            f"Elastic-net logistic, {at}",
            "Sparse classification",
            f"elastic-net logistic regression, {at}",
            rows,
        )
    multinomial = MultinomialLoss(X, labels, intercept=False)
    for ratio in (0.03,) if quick else (0.03, 0.003):
        lam = ratio * lambda_max(multinomial, L1(1.0))
        rows = race(
            [_spinney(multinomial, L1(lam)), _saga(X, labels, lam, 0.0)],
            _objective(multinomial, L1(lam)),
            accuracy=ACCURACY,
            rounds=1,
        )
        what = f"ℓ1 multinomial, 20 classes, λ = {ratio} λ_max"
        keep(what, "Sparse classification", what, rows)
    for name, design, of in (("Reuters", *reuters()), ("20 Newsgroups", X, labels))[: 1 if quick else 2]:
        for lam in (1.0, 0.1):
            section, row = _ridge(name, design, of, lam)
            sections.append(section)
            comparisons.append(row)
    section, row = _cross_validation()
    sections.append(section)
    comparisons.append(row)
    if not quick:
        sections += [_path(X, y), _memory(), _first_call()]
    publish("linear", sections, comparisons, quick)


def _objective(loss: Any, penalty: Penalty) -> Any:
    return lambda w: loss.value_and_grad(np.ravel(w))[0] + penalty.value(np.ravel(w))


def _spinney(loss: Any, penalty: Penalty) -> Contestant:
    return Contestant("Spinney", lambda tol: solve(loss, penalty, tol=tol).w, OURS)


def _celer(X: Any, y: Any, lam: float) -> Contestant:
    from celer import LogisticRegression

    return Contestant(
        "celer",
        lambda tol: LogisticRegression(C=1 / lam, tol=tol).fit(X, y).coef_,
        [1e-2, 1e-3, 1e-4, 1e-5, 1e-6],
    )


def _skglm(X: Any, y: Any, lam: float, l2: float) -> Contestant:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1 as SkglmL1
    from skglm.penalties import L1_plus_L2
    from skglm.solvers import ProxNewton

    n = len(y)
    penalty = L1_plus_L2((lam + l2) / n, lam / (lam + l2)) if l2 else SkglmL1(lam / n)

    def run(tol: float) -> Any:
        solver = ProxNewton(tol=tol, fit_intercept=False)
        return GeneralizedLinearEstimator(Logistic(), penalty, solver).fit(X, y).coef_

    return Contestant("skglm", run, [1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7, 1e-8])


def _liblinear(X: Any, y: Any, lam: float) -> Contestant:
    from sklearn.linear_model import LogisticRegression

    def run(tol: float) -> Any:
        model = LogisticRegression(
            C=1 / lam, penalty="l1", solver="liblinear", tol=tol, fit_intercept=False, max_iter=10_000
        )
        return model.fit(X, y).coef_

    return Contestant("liblinear", run, [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])


def _saga(X: Any, y: Any, lam: float, l2: float) -> Contestant:
    from sklearn.linear_model import LogisticRegression

    rows = X.tocsr()

    def run(epochs: int) -> Any:
        model = LogisticRegression(
            C=1 / (lam + l2), penalty="elasticnet", l1_ratio=lam / (lam + l2), solver="saga", tol=0.0,
            max_iter=epochs, fit_intercept=False,
        )  # fmt: skip
        return model.fit(rows, y).coef_.T

    return Contestant("saga (epochs)", run, [30, 100], slow=True)


def _ridge(name: str, X: Any, labels: Any, lam: float) -> tuple[str, Comparison]:
    """A multinomial ridge against scikit-learn's lbfgs, to the same objective."""
    loss, K = MultinomialLoss(X, labels, intercept=False), int(labels.max()) + 1
    rows = race(
        [_spinney(loss, L2(lam)), _lbfgs(X, labels, lam)],
        _objective(loss, L2(lam)),
        accuracy=ACCURACY,
        rounds=2,
    )
    what = f"multinomial ridge, {K} classes, λ = {lam:g}"
    text = f"{name}, {X.shape[0]:,} documents, {X.shape[1]:,} features"
    return table(f"{what}: {text}", rows, ACCURACY), fastest_peer(
        rows, ACCURACY, "Classification", what, text
    )


def _lbfgs(X: Any, y: Any, lam: float) -> Contestant:
    from sklearn.linear_model import LogisticRegression

    rows = X.tocsr()

    def run(tol: float) -> Any:
        return (
            LogisticRegression(C=1 / lam, tol=tol, max_iter=10_000, fit_intercept=False).fit(rows, y).coef_.T
        )

    return Contestant("scikit-learn lbfgs", run, [1e-4, 1e-5, 1e-6, 1e-7, 1e-8])


def _cross_validation() -> tuple[str, Comparison]:
    """A ridge with λ chosen by five folds, and LogisticRegressionCV on the same folds and strengths; CPU seconds."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import StratifiedKFold

    from spinney.classify import LinearClassifierCV

    X, y = reuters()
    X = X.tocsr()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    LinearClassifierCV("l2", cv=2, per_decade=1).fit(X[:200], y[:200])  # compiles
    started = time.process_time()
    ours = LinearClassifierCV("l2", cv=folds).fit(X, y)
    seconds = time.process_time() - started
    started = time.process_time()
    theirs = LogisticRegressionCV(
        Cs=1 / ours.lams_,
        cv=folds,
        scoring="neg_log_loss",
        max_iter=10_000,
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
    ).fit(X, y)
    peer_seconds = time.process_time() - started
    least, peer_least = float(ours.losses_.min()), -float(np.mean(theirs.scores_, axis=0).max())
    text = f"Reuters, {X.shape[0]:,} documents, {X.shape[1]:,} features"
    what = f"multinomial ridge, 8 classes, λ chosen by 5 folds among {len(ours.lams_)}"
    told = f"held-out log-loss {least:.4f}, the peer {peer_least:.4f}"
    row = Comparison(
        "Classification", what, text, "scikit-learn LogisticRegressionCV", "s", seconds, peer_seconds,
        judge(least, peer_least, higher=False, tolerance=0.005), told,
    )  # fmt: skip
    section = (
        f"### {what}: {text}\n\n"
        f"The same folds and strengths; CPU seconds. Spinney {seconds:.1f} s (folds to the tolerance 1e-3), "
        f"LogisticRegressionCV {peer_seconds:.1f} s (1e-4, its default); {told}.\n"
    )
    return section, row


def _path(X: Any, y: Any) -> str:
    """50 strengths down to λ against the single fit at that λ, both to the tolerance 1e-4."""
    loss = LogisticLoss(X, y, intercept=False)
    grid = lambda_grid(lambda_max(loss, L1(1.0)), 50, 1e-2)
    single, whole = np.inf, np.inf
    for _ in range(3):
        started = time.perf_counter()
        solve(loss, L1(grid[-1]), tol=1e-4)
        single = min(single, time.perf_counter() - started)
        started = time.perf_counter()
        for _ in path(loss, L1(1.0), grid, tol=1e-4):
            pass
        whole = min(whole, time.perf_counter() - started)
    return (
        "### Path of 50 λ down to 0.01 λ_max\n\n"
        f"Single fit {single:.3f} s, path {whole:.3f} s: **{whole / single:.1f} times** the single fit.\n"
    )


_MEASURED = """
import sys
import numpy as np
from benchmarks.data import newsgroups
X, labels = newsgroups()
y = np.where(labels < 10, 1.0, -1.0)
np.savez(sys.argv[1], data=X.data, indices=X.indices, indptr=X.indptr, y=y)
"""
_FIT = """
import sys
import numpy as np
from scipy.sparse import csc_matrix
import spinney.optim.solvers.coordinate._kernels
from spinney.optim import L1, LogisticLoss, lambda_max, solve
tiny = LogisticLoss(csc_matrix(np.eye(4)), np.array([1.0, -1, 1, -1]), intercept=False)
solve(tiny, L1(0.01))
f = np.load(sys.argv[1])
X, y = csc_matrix((f["data"], f["indices"], f["indptr"])), f["y"]
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew from what is resident now
before = peak()
loss = LogisticLoss(X, y, intercept=False)
solve(loss, L1(0.01 * lambda_max(loss, L1(1.0))))
after = peak()
data = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
print(f"{data:.1f} {(after - before) / 1024:.1f}")
"""


def _memory() -> str:
    """Peak resident memory of a fit beyond the data, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, "newsgroups.npz")
        subprocess.run([sys.executable, "-c", _MEASURED, archive], check=True)
        out = subprocess.run(
            [sys.executable, "-c", _FIT, archive], check=True, capture_output=True, text=True
        ).stdout
    data, extra = map(float, out.split())
    return (
        "### Memory of a fit (λ = 0.01 λ_max)\n\n"
        f"Data {data:.1f} MiB, peak beyond it {extra:.1f} MiB: {(data + extra) / data:.2f} times the data in all.\n"
    )


def _first_call() -> str:
    """Seconds that compiling adds to the first fit on a machine (cold cache against warm)."""
    code = (
        "import numpy as np\nfrom spinney.classify import LinearClassifier\n"
        "LinearClassifier('l1', 0.1).fit(np.eye(9), np.arange(9) % {k})"
    )
    lines = []
    for kind, classes in (("two classes", 2), ("three classes", 3)):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            seconds = []
            for _ in range(2):
                started = time.perf_counter()
                subprocess.run([sys.executable, "-c", code.format(k=classes)], check=True, env=environment)
                seconds.append(time.perf_counter() - started)
        lines.append(
            f"{kind}: first {seconds[0]:.1f} s, then {seconds[1]:.1f} s: "
            f"compiling took {seconds[0] - seconds[1]:.1f} s."
        )
    return "### First call\n\n" + "\n".join(lines) + "\n"
