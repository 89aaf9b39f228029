"""Training with labelled and unlabelled sentences, and the choice of how to use the unlabelled ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.errors import unknown_choice
from spinney.evaluate.significance import clearly_best
from spinney.inference.decoding import marginals, viterbi
from spinney.inference.strata import effective_sample, flattened
from spinney.optim import Solution, choose_solver, solve
from spinney.optim.base import Penalty, Step, Vector
from spinney.tagging.entropy import EntropyLoss
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.training import Plan, Watch, train
from spinney.tagging.weighting import self_training, sequence_weights, shift_weights
from spinney.tagging.weights import ChainWeights

SUPERVISED = "supervised"
#: The strengths that are tried for each criterion, if none is given.
STRENGTHS: dict[str, tuple[float, ...]] = {
    "weighted": (0.5, 1.0),
    "shift": (0.5, 1.0),
    "entropy": (0.1, 0.3),
    "self-training": (0.9,),
}
CRITERIA = tuple(STRENGTHS)
Way = tuple[str, float | None]
PARTS = 5  # of the labelled sentences; each in turn is held out
CLUSTERS = 10  # of sentences, for the criterion weighted
ENOUGH = 300  # held-out sentences
FEW = 0.5  # of the labelled sentences: a smaller effective sample is worth a warning


@dataclass(frozen=True)
class Use:
    """A way to use unlabelled sentences; ``error`` is the token error on held-out sentences, if it was measured.

    ``effective_sample`` is the number of equally weighted sentences that would be worth as much as the weighted ones.
    """

    criterion: str
    strength: float | None = None
    effective_sample: float | None = None
    error: float | None = None


def train_with_unlabelled(
    criterion: str,
    loss: CRFLoss,
    penalty: Penalty,
    plan: Plan,
    unlabelled: Sequences,
    *,
    strength: float | None = None,
    clusters: int | None = None,
    weights: Floats | None = None,
    w0: Vector | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Weights learned from labelled and unlabelled sentences.

    - ``supervised``: without the unlabelled sentences.
    - ``weighted``: labelled sentences are weighted by how common similar sentences are among the unlabelled ones
      (Sokolovska 2010, ch. 4, extended to sequences by ``clusters`` of sentences, 10 by default).
    - ``shift``: they are weighted by the ratio of their densities in the unlabelled and the labelled text. Both kinds
      of weights are raised to the power ``strength``, from 0 (all equal) to 1: bias against variance (Shimodaira 2000).
    - ``entropy``: the model should be confident on the unlabelled sentences, at a cost of ``strength`` per nat, both
      sums being averaged (Grandvalet & Bengio 2004).
    - ``self-training``: sentences that it labels with a probability of at least ``strength`` are added.

    The default is the largest strength in :data:`STRENGTHS`. ``weights`` are those of :func:`criterion_weights`, if
    they are known already.
    """
    if criterion == SUPERVISED:
        return train(loss, penalty, plan, w0, watch)
    if criterion not in CRITERIA:
        raise unknown_choice("criterion must be", criterion, CRITERIA)
    strength = max(STRENGTHS[criterion]) if strength is None else strength
    if criterion in ("weighted", "shift"):
        if weights is None:
            weights = criterion_weights(criterion, loss.data, unlabelled, plan.seed, clusters)
        return train(_reweighted(loss, flattened(weights, strength)), penalty, plan, w0, watch)
    if criterion == "entropy":
        start = train(loss, penalty, plan, w0)
        share = len(loss.data) / max(len(unlabelled), 1)
        joint = EntropyLoss(loss, unlabelled, strength * share)
        solver = choose_solver(joint, penalty)
        return solve(joint, penalty, solver, tol=plan.tol, max_iter=plan.max_iter, w0=start.w, callback=watch)
    solution = _self_trained(loss, penalty, plan, unlabelled, strength, w0)
    if watch is not None:
        watch(Step(solution.n_iter, solution.seconds, np.nan, np.nan), solution.w)
    return solution


def criterion_weights(
    criterion: str, labelled: Sequences, unlabelled: Sequences, seed: int = 0, clusters: int | None = None
) -> Floats:
    """The weights of labelled sentences that the criterion ``weighted`` or ``shift`` gives, with mean 1."""
    if criterion == "shift":
        return shift_weights(labelled, unlabelled)
    n = min(clusters or CLUSTERS, len(labelled) + len(unlabelled))
    return sequence_weights(labelled, unlabelled, n_clusters=n, random_state=seed)


def chosen_use(
    loss: CRFLoss,
    penalty: Penalty,
    plan: Plan,
    unlabelled: Sequences,
    *,
    criterion: str | None = None,
    strength: float | None = None,
    clusters: int | None = None,
    dev: Sequences | None = None,
) -> tuple[Use, list[Use]]:
    """The best use of unlabelled sentences, and all that were tried.

    A criterion with its strength is taken as it is. Otherwise the strengths of the criterion, or of all criteria, are
    compared with supervised training on ``dev`` or, without it, on parts of the labelled sentences that are held out in
    turn. Supervised training is chosen unless another makes fewer errors, by more than the standard error of the
    difference: of several such, the one with the fewest.
    """
    if criterion is not None and strength is not None:
        [only] = _described([(criterion, strength)], loss.data, unlabelled, plan.seed, clusters)
        return only, [only]
    names = CRITERIA if criterion is None else (criterion,)
    if criterion is not None and criterion not in CRITERIA:
        raise unknown_choice("criterion must be", criterion, CRITERIA)
    ways: list[Way] = [(SUPERVISED, None), *((name, s) for name in names for s in STRENGTHS[name])]
    wrong: list[list[NDArray[np.int64]]] = [[] for _ in ways]
    tokens = 0
    for part, held_out in _held_out(loss, dev, plan.seed):
        assert held_out.labels is not None
        tokens += int(np.count_nonzero(held_out.labels >= 0))
        start = None
        weights = _all_weights(names, part.data, unlabelled, plan.seed, clusters)
        for k, (name, s) in enumerate(ways):
            with progress.task(f"trying {name}" + ("" if s is None else f" at {s:g}")):
                found = train_with_unlabelled(
                    name, part, penalty, plan, unlabelled, strength=s, weights=weights.get(name), w0=start
                )
            if found.interrupted:
                raise KeyboardInterrupt
            start = found.w if k == 0 else start
            wrong[k].append(_errors(part, found.w, held_out))
    errors = np.array([np.concatenate(parts) for parts in wrong])
    rates = errors.sum(axis=1) / max(tokens, 1)
    described = _described(ways, loss.data, unlabelled, plan.seed, clusters)
    tried = [replace(use, error=float(rate)) for use, rate in zip(described, rates)]
    return tried[clearly_best(errors)], tried


def facts_of(use: Use, tried: Sequence[Use]) -> dict[str, Any]:
    """What a model remembers of how it used unlabelled sentences."""
    facts: dict[str, Any] = {f"criterion_{name}": value for name, value in asdict(use).items()}
    facts["criterion"] = facts.pop("criterion_criterion")
    facts["effective_sample"] = facts.pop("criterion_effective_sample")
    return facts | {"criteria_tried": [asdict(one) for one in tried]}


def report_use(use: Use, tried: Sequence[Use], labelled: int) -> None:
    """Say what was chosen, and warn of weights that leave few sentences."""
    if use.criterion == SUPERVISED:
        progress.log.info(
            "the unlabelled sentences are not used: no criterion is clearly better on held-out sentences"
        )
    elif use.effective_sample is not None and use.effective_sample < FEW * labelled:
        progress.log.warning(
            "the weights of the criterion %s leave an effective sample of %.0f of %d labelled sentences: "
            "lower criterion_strength, or leave it out to have it chosen on held-out sentences",
            use.criterion, use.effective_sample, labelled,
        )  # fmt: skip


def _described(
    ways: Sequence[Way], labelled: Sequences, unlabelled: Sequences, seed: int, clusters: int | None
) -> list[Use]:
    weights = _all_weights({name for name, _ in ways}, labelled, unlabelled, seed, clusters)
    return [
        Use(name, s, effective_sample(flattened(weights[name], s or 0.0)) if name in weights else None)
        for name, s in ways
    ]


def _all_weights(
    names: Collection[str], labelled: Sequences, unlabelled: Sequences, seed: int, clusters: int | None
) -> dict[str, Floats]:
    weighing = [name for name in ("weighted", "shift") if name in names]
    return {name: criterion_weights(name, labelled, unlabelled, seed, clusters) for name in weighing}


def _held_out(loss: CRFLoss, dev: Sequences | None, seed: int) -> Iterator[tuple[CRFLoss, Sequences]]:
    """Sentences to train on, and sentences to measure errors on."""
    if dev is not None:
        yield loss, dev
        return
    n = len(loss.data)
    order = np.random.default_rng(seed).permutation(n)
    parts = np.array_split(order, min(PARTS, n))
    seen = 0
    for part in parts:
        if seen >= ENOUGH:
            return
        rest = np.sort(np.setdiff1d(order, part))
        if len(rest):
            yield _with(loss, loss.data.take(rest)), loss.data.take(np.sort(part))
        seen += len(part)


def _errors(loss: CRFLoss, w: Vector, data: Sequences) -> NDArray[np.int64]:
    """Wrong labels of each sentence; tokens without a known label do not count."""
    assert data.labels is not None
    labels, _ = viterbi(ChainWeights(loss.shape, w, loss.support).chains(data), threads=loss.threads)
    wrong = (labels != data.labels) & (data.labels >= 0)
    sentence = np.repeat(np.arange(len(data)), data.lengths)
    return np.bincount(sentence[wrong], minlength=len(data))


def _with(loss: CRFLoss, data: Sequences) -> CRFLoss:
    return CRFLoss(
        data, loss.shape.labels, start=loss.shape.start, support=loss.support, threads=loss.threads
    )


def _reweighted(loss: CRFLoss, weights: Floats) -> CRFLoss:
    old = loss.data.weights
    return _with(loss, replace(loss.data, weights=weights if old is None else weights * old))


def _self_trained(
    loss: CRFLoss, penalty: Penalty, plan: Plan, unlabelled: Sequences, threshold: float, w0: Vector | None
) -> Solution:
    def fit(data: Sequences) -> Solution:
        return train(_with(loss, data), penalty, plan, w0)

    def predict(solution: Solution, data: Sequences) -> tuple[NDArray[np.int32], Floats]:
        chains = ChainWeights(loss.shape, solution.w, loss.support).chains(data)
        labels, scores = viterbi(chains, threads=loss.threads)
        return labels, np.exp(scores - marginals(chains, threads=loss.threads)[1])

    return self_training(fit, predict, loss.data, unlabelled, threshold=threshold)
