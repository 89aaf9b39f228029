"""The kinds of chain models: what each minimises, how it is trained, and how its weights score sentences.

A new kind is one line in :data:`METHODS`, and its settings in :data:`spinney.settings.tag.FIT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from spinney.inference.chains import Chains
from spinney.optim import Solution
from spinney.optim.base import Vector
from spinney.settings.tag import BY_PASSES
from spinney.tagging.counting import counted
from spinney.tagging.loss import CRFLoss
from spinney.tagging.memm import MEMMLoss, memm_chains
from spinney.tagging.problem import Problem
from spinney.tagging.semisupervised import Use, train_with_unlabelled
from spinney.tagging.sequences import Sequences
from spinney.tagging.training import Plan, Watch, train
from spinney.tagging.weights import ChainWeights


class Method(NamedTuple):
    """A kind of chain model."""

    about: str
    loss: Callable[..., Any]
    learn: Callable[..., Solution]
    #: The scores of all labellings of some sentences.
    chains: Callable[[ChainWeights, Sequences], Chains] = ChainWeights.chains
    #: Whether the model has weights for what is only seen in unlabelled sentences.
    is_of_text: bool = False


def trained(
    problem: Problem,
    s: Any,
    *,
    w0: Vector | None = None,
    watch: Watch | None = None,
    unlabelled: tuple[Sequences, Use] | None = None,
) -> Solution:
    """The weights that minimise loss + penalty."""
    if unlabelled is None:
        return train(problem.loss, problem.penalty, plan_of(s), w0, watch)
    sentences, use = unlabelled
    return train_with_unlabelled(
        use.criterion,
        problem.loss,
        problem.penalty,
        plan_of(s),
        sentences,
        strength=use.strength,
        clusters=s.clusters,
        w0=w0,
        watch=watch,
    )


def plan_of(s: Any) -> Plan:
    """The training plan of the settings."""
    return Plan(
        s.solver,
        tolerance_of(s),
        s.max_iter or 500,
        getattr(s, "passes", None) or 10,
        getattr(s, "step", None),
        s.seed,
        options_of(s.solver_options),
    )


def tolerance_of(s: Any) -> float:
    """The given tolerance; by default a proof to 0.1 % with a smooth penalty, and to 1 % with a sparse one.

    Without curvature of the penalty the proof comes long after the weights: on 1,500 sentences of CoNLL-2000 under ℓ1
    with λ = 1, the objective is within 3e-6 of the optimum when 1 % is proven, and 0.1 % takes five times as long.
    """
    if s.tol is not None:
        return float(s.tol)
    return 1e-3 if s.penalty in ("l2", "none") or hasattr(s.penalty, "grad") else 1e-2


def ends_by_itself(s: Any) -> bool:
    """Whether training goes on until it has converged, rather than for a number of passes or not at all."""
    return getattr(s, "solver", BY_PASSES[0]) not in BY_PASSES


def options_of(given: Iterable[Any]) -> dict[str, Any] | None:
    """Options of a solver, from mappings or NAME=VALUE, where values are numbers, yes or no, or words.

    Examples
    --------
    >>> options_of(["kappa2=1.2", "accelerate=yes"])
    {'kappa2': 1.2, 'accelerate': True}
    """
    found: dict[str, Any] = {}
    for one in given:
        if isinstance(one, Mapping):
            found |= one
        else:
            name, _, text = one.partition("=")
            found[name] = _value(text)
    return found or None


def _value(text: str) -> Any:
    if text in ("yes", "true", "no", "false"):
        return text in ("yes", "true")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _memm_chains(weights: ChainWeights, data: Sequences) -> Chains:
    return memm_chains(weights.full(), weights.shape, data)


METHODS = {
    "crf": Method("conditional random field", CRFLoss, trained),
    "memm": Method("maximum-entropy Markov model", MEMMLoss, trained, _memm_chains),
    "hmm": Method("hidden Markov model", CRFLoss, counted, is_of_text=True),
}
