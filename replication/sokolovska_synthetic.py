"""Sokolovska (2010), section 7.3.1: elastic-net CRFs on a synthetic hidden Markov model.

Six labels, five symbols: labels 5 and 6 emit the same symbol and only the label before tells them apart. All
transitions are uniform but two: label 1 goes to 5, and 2 to 6, nine times out of ten. The matrices of the thesis are
only drawn; ours are scaled to its Bayes error, 15 %. Errors in use are exact: sums over all 5⁵ inputs.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sokolovska_common import markdown

from spinney.inference.decoding import marginals, viterbi
from spinney.optim import L2, ElasticNet, solve
from spinney.optim.base import Penalty
from spinney.tagging.hmm import HMM
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sbcd import sbcd
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.weights import ChainWeights

Numbers = NDArray[np.integer[Any]]
Sample = tuple[Numbers, Numbers, Numbers]  # symbols, offsets, labels

LABELS, SYMBOLS, LENGTH, SENTENCES = 6, 5, 5, 10
BAYES = 0.15
PREFERRED = 0.9  # probability of the two transitions that are not uniform
RHO_2 = 0.001
INPUTS = np.indices((SYMBOLS,) * LENGTH).reshape(LENGTH, -1).T.ravel()
OFFSETS = np.arange(SYMBOLS**LENGTH + 1) * LENGTH

# Unigrams, bigrams, ρ₁, ρ₂; published: train %, test %, active unigrams, active bigrams.
MODELS: dict[str, tuple[bool, bool, float, float, tuple[float | None, ...]]] = {
    "M1 uni+bi, ℓ2": (True, True, 0.0, RHO_2, (6.4, 18.5, 30.0, 180.0)),
    "M2 bi, ℓ2": (False, True, 0.0, RHO_2, (None, None, 0.0, 180.0)),
    "M3 uni, ℓ2": (True, False, 0.0, RHO_2, (None, None, 30.0, 0.0)),
    "M4 ρ₁ = 0.001": (True, True, 0.001, RHO_2, (None, None, 28.5, 50.6)),
    "M5 ρ₁ = 0.01": (True, True, 0.01, RHO_2, (None, None, 15.0, 26.0)),
    "M6 ρ₁ = 0.1": (True, True, 0.1, RHO_2, (None, None, 10.9, 17.2)),
    "M7 ρ₁ = 1": (True, True, 1.0, RHO_2, (10.3, 17.9, 6.2, 4.9)),
    "M8 ρ₁ = 2.5": (True, True, 2.5, RHO_2, (None, None, 5.8, 1.3)),
}


class World:
    """The model that draws the sentences, and what it knows of all inputs."""

    def __init__(self) -> None:
        self.hmm = _hmm(brentq(lambda sure: _bayes_error(_hmm(sure)) - BAYES, 0.5, 0.9999))
        self.posteriors, log_p = marginals(self.hmm.chains(INPUTS, OFFSETS))
        self.p = np.repeat(np.exp(log_p), LENGTH) / LENGTH

    def error(self, labels: Numbers) -> float:
        """The probability that a token is labelled wrongly, of labels for all tokens of all inputs."""
        return float(self.p @ (1.0 - self.posteriors[np.arange(len(labels)), labels]))


def _hmm(sure: float) -> HMM:
    """``sure`` is the probability that a label emits its own symbol."""
    transition = np.full((LABELS, LABELS), 1.0 / LABELS)
    for before, label in ((0, 4), (1, 5)):
        transition[before] = (1.0 - PREFERRED) / (LABELS - 1)
        transition[before, label] = PREFERRED
    emission = np.full((LABELS, SYMBOLS), (1.0 - sure) / (SYMBOLS - 1))
    emission[np.arange(LABELS), np.minimum(np.arange(LABELS), SYMBOLS - 1)] = sure
    return HMM(np.full(LABELS, 1.0 / LABELS), transition, emission)


def _bayes_error(hmm: HMM) -> float:
    posteriors, log_p = marginals(hmm.chains(INPUTS, OFFSETS))
    return float(np.repeat(np.exp(log_p), LENGTH) @ (1.0 - posteriors.max(axis=1)) / LENGTH)


def _observed(symbols: Numbers, unigrams: bool, bigrams: bool) -> tuple[Observations, Observations]:
    seen = Observations(np.arange(len(symbols) + 1), symbols.astype(np.int32), n=SYMBOLS)
    none = Observations.none(len(symbols))
    return seen if unigrams else none, seen if bigrams else none


def _fit_and_score(
    world: World, sample: Sample, unigrams: bool, bigrams: bool, rho_1: float, rho_2: float
) -> list[float]:
    """Train error, error in use, active unigrams, active bigrams, seconds."""
    started = time.perf_counter()
    symbols, offsets, labels = sample
    seen = _observed(symbols, unigrams, bigrams)
    data = Sequences(offsets.astype(np.int64), *seen, labels=labels.astype(np.int32))
    loss = CRFLoss(data, LABELS, start=False, threads=1)
    penalty: Penalty = ElasticNet(rho_1, l2=rho_2) if rho_1 else L2(rho_2)
    w = solve(loss, penalty, sbcd if rho_1 else "lbfgs", tol=1e-3, max_iter=500).w
    seconds = time.perf_counter() - started
    weights = ChainWeights.of(w, loss.shape)
    train = np.mean(viterbi(weights.chains(data))[0] != labels)
    every = Sequences(OFFSETS, *_observed(INPUTS, unigrams, bigrams))
    use = world.error(viterbi(weights.chains(every))[0])
    mu, lam = np.count_nonzero(loss.shape.mu(w)), np.count_nonzero(loss.shape.lam(w))
    return [100.0 * float(train), 100.0 * use, float(mu), float(lam), seconds]


def synthetic(quick: bool, seed: int) -> str:
    """The eight models, means over samples."""
    world, runs = World(), 20 if quick else 100
    rng = np.random.default_rng(seed)
    samples = [world.hmm.sample(SENTENCES, LENGTH, rng) for _ in range(runs)]
    rows = []
    for name, (unigrams, bigrams, rho_1, rho_2, published) in MODELS.items():
        found = np.array(
            [_fit_and_score(world, sample, unigrams, bigrams, rho_1, rho_2) for sample in samples]
        )
        mean = found.mean(axis=0).tolist()
        spread = f"±{found[:, 1].std() / np.sqrt(runs):.1f}"
        pairs = [cell for pair in zip(published, mean) for cell in pair]
        rows.append([name, *pairs[:4], spread, *pairs[4:], found[:, 4].sum()])
    note = (
        f"{runs} samples of {SENTENCES} sentences of {LENGTH} tokens (thesis: 100); Bayes error {BAYES:.0%}; "
        f"ρ₂ = {RHO_2}; seconds are for all samples. No start label, as the counts of the thesis have it. M4 to M8 by "
        "blockwise descent to the optimum. The thesis: M7 at least as good as M1, M2 worse than M3, on the test set."
    )
    header = ["model", "train %, thesis", "ours", "test %, thesis", "ours", "", "μ ≠ 0, thesis", "ours"]
    header += ["λ ≠ 0, thesis", "ours", "s"]
    return markdown("Synthetic hidden Markov model (section 7.3.1)", note, header, rows)


SWEEPS = 10  # of the comparison of blocks with single weights
RHO_1_SHOWN = 0.8  # of the frequencies with which weights are selected (Figures 7.3 and 7.4)


def blocks(quick: bool, seed: int) -> str:
    """Figures 7.3 to 7.6: which weights are selected, and blocks against single weights."""
    world, runs = World(), 10 if quick else 50
    rng = np.random.default_rng(seed)
    samples = [world.hmm.sample(SENTENCES, LENGTH, rng) for _ in range(runs)]
    return _selected(samples) + "\n" + _visits(world, samples)


def _problem(sample: Sample) -> CRFLoss:
    symbols, offsets, labels = sample
    seen = _observed(symbols, True, True)
    data = Sequences(offsets.astype(np.int64), *seen, labels=labels.astype(np.int32))
    return CRFLoss(data, LABELS, start=False, threads=1)


def _selected(samples: list[Sample]) -> str:
    """How often the weights that the model of the data has are selected, and how often others are."""
    mu, lam = np.zeros((SYMBOLS, LABELS)), np.zeros((SYMBOLS, LABELS, LABELS))
    for sample in samples:
        loss = _problem(sample)
        w = solve(loss, ElasticNet(RHO_1_SHOWN, l2=RHO_2), sbcd, tol=1e-3, max_iter=500).w
        mu += loss.shape.mu(w) > 0
        lam += loss.shape.lam(w) > 0
    own, preferred = np.zeros_like(mu, np.bool_), np.zeros_like(lam, np.bool_)
    own[np.minimum(np.arange(LABELS), SYMBOLS - 1), np.arange(LABELS)] = True
    preferred[SYMBOLS - 1, [0, 1], [4, 5]] = True
    rows = []
    for name, counts, true in (
        ("unigrams: a label with its own symbol", mu, own),
        ("bigrams: the two frequent transitions, at their symbol", lam, preferred),
    ):
        often = counts / len(samples)
        rows.append([name, int(true.sum()), float(100 * often[true].mean()), int((~true).sum()),
                     float(100 * often[~true].mean()), float(100 * often[~true].max())])  # fmt: skip
    note = (
        f"How often a weight is selected with a positive value, in % of {len(samples)} samples; ρ₁ = {RHO_1_SHOWN}, "
        f"ρ₂ = {RHO_2}. The thesis (pictures): the weights selected are those of the model that made the data."
    )
    header = ["weights", "of the model", "selected %", "others", "selected %", "most of the others %"]
    return markdown("Synthetic sequences: what is selected (Figures 7.3 and 7.4)", note, header, rows)


def _visits(world: World, samples: list[Sample]) -> str:
    """Ten sweeps of blocks, of single weights, and of single weights that are left alone once they are zero."""
    ways: dict[str, tuple[dict[str, Any], float]] = {
        "blocks": ({}, 7.8),
        "single weights": ({"mode": "coordinate"}, 126.5),
        "single weights, none visited again once zero": ({"mode": "coordinate", "revisit": False}, 25.8),
    }
    penalty, rows = ElasticNet(1.0, l2=RHO_2), []
    for name, (how, published) in ways.items():
        solve(_problem(samples[0]), penalty, sbcd, max_iter=2, **how)  # compile
        found, returned, zeros = [], 0, 0
        for sample in samples:
            loss = _problem(sample)
            best = solve(loss, penalty, sbcd, tol=1e-8, max_iter=1000).objective
            iterates: list[NDArray[np.float64]] = []

            def watch(step: Any, w: Any, kept: list[NDArray[np.float64]] = iterates) -> None:
                kept.append(w.copy())

            started = time.perf_counter()
            solution = solve(loss, penalty, sbcd, tol=0.0, max_iter=SWEEPS, callback=watch, **how)
            seconds = time.perf_counter() - started
            for before, after in pairwise(iterates[1:]):  # the first iterate is all zeros
                zeros += int(np.sum(before == 0))
                returned += int(np.sum((before == 0) & (after != 0)))
            every = Sequences(OFFSETS, *_observed(INPUTS, True, True))
            wrong = world.error(viterbi(ChainWeights.of(solution.w, loss.shape).chains(every))[0])
            found.append([seconds, solution.objective / best - 1, wrong, np.count_nonzero(solution.w)])
        mean = np.mean(found, axis=0)
        rows.append([name, published, f"{1e3 * mean[0]:.1f}", f"{mean[1]:.1e}", float(100 * mean[2]),
                     float(mean[3]), f"{100 * returned / max(zeros, 1):.2f}"])  # fmt: skip
    note = (
        f"{SWEEPS} sweeps, ρ₁ = 1, ρ₂ = {RHO_2}, means over {len(samples)} samples. A zero that returns is counted for "
        "every sweep after the first. The thesis: the curves of loss and error are the same for all three."
    )
    header = ["what is visited", "s, thesis", "ms, ours", "above the optimum by", "test error %", "active",
              "zeros that return in a sweep %"]  # fmt: skip
    return markdown(
        "Synthetic sequences: blocks and single weights (Figures 7.5 and 7.6)", note, header, rows
    )
