"""Training with labelled and unlabelled sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spinney.errors import unknown_choice
from spinney.inference.decoding import marginals, viterbi
from spinney.optim import Solution, choose_solver, solve
from spinney.optim.base import Penalty, Vector
from spinney.tagging.entropy import EntropyLoss
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.training import Plan, Watch, train
from spinney.tagging.weighting import self_training, sequence_weights, shift_weights
from spinney.tagging.weights import ChainWeights

CRITERIA = ("weighted", "shift", "entropy", "self-training")


def train_with_unlabelled(
    criterion: str,
    loss: CRFLoss,
    penalty: Penalty,
    plan: Plan,
    unlabelled: Sequences,
    *,
    rho: float = 1e-3,
    threshold: float = 0.9,
    n_clusters: int = 10,
    w0: Vector | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Weights learned from labelled and unlabelled sentences.

    ``weighted``: labelled sentences are weighted by how common similar sentences are among all (Sokolovska 2010, ch. 4,
    extended to sequences by clusters of sentences). ``shift``: by the ratio of their densities in the unlabelled and in
    the labelled text (Shimodaira 2000). ``entropy``: the model should be confident on the unlabelled ones, at a cost of
    ``rho`` per nat, both sums being averaged (Grandvalet & Bengio 2004). ``self-training``: sentences that it labels
    with a probability of at least ``threshold`` are added.
    """
    if criterion not in CRITERIA:
        raise unknown_choice("criterion must be", criterion, CRITERIA)
    if criterion == "weighted":
        clusters = min(n_clusters, len(loss.data) + len(unlabelled))
        weights = sequence_weights(loss.data, unlabelled, n_clusters=clusters, random_state=plan.seed)
        return train(_reweighted(loss, weights), penalty, plan, w0, watch)
    if criterion == "shift":
        return train(
            _reweighted(loss, shift_weights(loss.data, unlabelled, strength=10.0)), penalty, plan, w0, watch
        )
    if criterion == "entropy":
        start = train(loss, penalty, plan, w0)
        share = len(loss.data) / max(len(unlabelled), 1)
        joint = EntropyLoss(loss, unlabelled, rho * share)
        solver = choose_solver(joint, penalty)
        return solve(joint, penalty, solver, tol=plan.tol, max_iter=plan.max_iter, w0=start.w, callback=watch)
    return _self_trained(loss, penalty, plan, unlabelled, threshold)


def _reweighted(loss: CRFLoss, weights: Floats) -> CRFLoss:
    old = loss.data.weights
    data = replace(loss.data, weights=weights if old is None else weights * old)
    return CRFLoss(
        data, loss.shape.labels, start=loss.shape.start, support=loss.support, threads=loss.threads
    )


def _self_trained(
    loss: CRFLoss, penalty: Penalty, plan: Plan, unlabelled: Sequences, threshold: float
) -> Solution:
    def fit(data: Sequences) -> Solution:
        return train(
            CRFLoss(
                data, loss.shape.labels, start=loss.shape.start, support=loss.support, threads=loss.threads
            ),
            penalty,
            plan,
        )

    def predict(solution: Solution, data: Sequences) -> tuple[NDArray[np.int32], Floats]:
        chains = ChainWeights(loss.shape, solution.w, loss.support).chains(data)
        labels, scores = viterbi(chains, threads=loss.threads)
        return labels, np.exp(scores - marginals(chains, threads=loss.threads)[1])

    return self_training(fit, predict, loss.data, unlabelled, threshold=threshold)
