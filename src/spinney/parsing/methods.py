"""From trees to grammars: every method of learning behind one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import InputError
from spinney.parsing.binarising import Binarisation
from spinney.parsing.em import Sample, Smoothing, random_grammar, run_em
from spinney.parsing.grammar import Grammar, RuleCounts, Rules, pcfg_counts
from spinney.parsing.splitmerge import Schedule, run_split_merge
from spinney.parsing.treearrays import TreeArrays
from spinney.progress import log

Method = Literal["pcfg", "em", "split-merge", "spectral", "clustering", "pivots"]
METHODS: tuple[str, ...] = get_args(Method)

#: The F1 of a grammar on held-out trees.
Judge = Callable[[Grammar], float]


@dataclass(frozen=True)
class TrainingTrees:
    """Trees as learners take them.

    Attributes
    ----------
    sample : Sample
    pcfg : RuleCounts
        With one state a label.
    """

    sample: Sample
    pcfg: RuleCounts

    @classmethod
    def of(cls, trees: Sequence[Tree], binarisation: Binarisation, rare: int) -> TrainingTrees:
        """Binarise trees, number their labels and words, find their rules and count them."""
        if not trees:
            raise InputError("no trees to learn from")
        arrays = TreeArrays.of([binarisation.binarise(tree) for tree in trees])
        rules = Rules.of(arrays, rare)
        sample = Sample.of(arrays, rules)
        return cls(sample, pcfg_counts(arrays, rules, sample.uses))

    @property
    def rules(self) -> Rules:
        """The rules of the trees."""
        return self.sample.rules


@dataclass
class Best:
    """The best grammar that was judged so far; without a judge the last."""

    judge: Judge | None = None
    every: int = 1
    patience: int | None = None
    grammar: Grammar | None = None
    at: int = 0
    trace: list[dict[str, float]] = field(default_factory=list)

    def watch(self, step: int, grammar: Grammar, log_likelihood: float | None = None) -> bool:
        """Judge a grammar; whether patience is at its end."""
        if self.judge is None:
            self.grammar, self.at = grammar, step
            return False
        if step % self.every:
            return False
        f1 = self.judge(grammar)
        self.trace.append({"step": step, "f1": f1})
        log.info("step %d: F1 %.2f on held-out trees", step, 100 * f1)
        if self.grammar is None or f1 > max((row["f1"] for row in self.trace[:-1]), default=-1.0):
            self.grammar, self.at = grammar, step
        waited = (step - self.at) // self.every
        return self.patience is not None and waited >= self.patience


@dataclass(frozen=True)
class Options:
    """The options of all learners; each reads those that concern it.

    Attributes
    ----------
    states : int
        EM, spectral, clustering, pivots: the most states of a label.
    cycles : int
        split-merge: how often all states are split.
    iterations : int
        EM: how many at most.
    polish : int
        clustering, pivots: iterations of EM afterwards.
    features : str
        spectral, clustering: what is seen of a node (:func:`~spinney.parsing.features.node_features`).
    kappa : float
        spectral, clustering: how features are scaled (:func:`~spinney.parsing.projection.project`).
    smoothing : Smoothing
        EM, split-merge, clustering, pivots.
    schedule : Schedule
        split-merge.
    threads : int, optional
        By default as many as there are cores.
    """

    states: int = 16
    cycles: int = 4
    iterations: int = 60
    polish: int = 5
    features: str = "full"
    kappa: float = 5.0
    smoothing: Smoothing = field(default_factory=Smoothing)
    schedule: Schedule = field(default_factory=Schedule)
    threads: int | None = None


def learn(
    training: TrainingTrees,
    method: Method,
    options: Options,
    random_state: int = 0,
    judge: Judge | None = None,
) -> tuple[Grammar, dict[str, Any]]:
    """A grammar of some trees, and facts about how it was learnt.

    Parameters
    ----------
    training
        The trees.
    method
        ``"pcfg"``, ``"em"``, ``"split-merge"``, ``"spectral"``, ``"clustering"`` or ``"pivots"``.
    options
        For all methods.
    random_state
        Seed.
    judge
        The F1 of a grammar on held-out trees: EM keeps the best of every fifth iteration and split-merge the best
        cycle; otherwise they keep the last.
    """
    learner = {
        "pcfg": _pcfg,
        "em": _em,
        "split-merge": _split_merge,
        "spectral": _spectral,
        "clustering": _clustering,
        "pivots": _pivots,
    }[method]
    return learner(training, options, random_state, judge)


def _pcfg(
    training: TrainingTrees, options: Options, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    return training.pcfg.grammar(own=options.smoothing.own), {}


def _em(
    training: TrainingTrees, options: Options, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    start = random_grammar(training.rules, training.pcfg, options.states, np.random.default_rng(seed))
    grammar, facts = _polished(training, start, options, options.iterations, judge)
    if facts.get("interrupted") and not facts["iterations"]:
        raise KeyboardInterrupt  # a random beginning is worth nothing
    return grammar, facts


def _polished(
    training: TrainingTrees, start: Grammar, options: Options, iterations: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    """EM from a grammar on; an interrupt ends it early."""
    if not iterations:
        return start, {}
    best, facts = Best(judge, every=min(5, iterations), patience=3, grammar=start), dict[str, Any]()
    try:
        run_em(
            training.sample, start, iterations, options.smoothing, threads=options.threads, watch=best.watch
        )
    except KeyboardInterrupt:
        facts["interrupted"] = True
    assert best.grammar is not None
    return best.grammar, {"iterations": best.at, "trace": best.trace, **facts}


def _split_merge(
    training: TrainingTrees, options: Options, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    best, facts = Best(judge), dict[str, Any]()
    last = None
    try:
        last = run_split_merge(
            training.sample,
            training.pcfg,
            options.cycles,
            np.random.default_rng(seed),
            schedule=options.schedule,
            smoothing=options.smoothing,
            threads=options.threads,
            watch=best.watch,
        )
    except KeyboardInterrupt:
        if best.grammar is None:
            raise
        facts["interrupted"] = True
    found = best.grammar or last
    assert found is not None
    return found, {"cycles": best.at, "trace": best.trace, **facts}


def _spectral(
    training: TrainingTrees, options: Options, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    from spinney.parsing.spectral import fit_spectral

    how = _of_nodes(training, options, seed)
    found = fit_spectral(training.sample.trees, training.rules, options.states, **how)
    return found.grammar, {"seconds_by_step": found.seconds}


def _clustering(
    training: TrainingTrees, options: Options, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    from spinney.parsing.clustering import fit_clusters

    how = _of_nodes(training, options, seed)
    found = fit_clusters(training.sample.trees, training.rules, options.states, **how)
    return _polished(training, found.grammar, options, options.polish, judge)


def _of_nodes(training: TrainingTrees, options: Options, seed: int) -> dict[str, Any]:
    """The options of learners from vectors of nodes."""
    return {
        "features": options.features,
        "kappa": options.kappa,
        "uses": training.sample.uses,
        "random_state": seed,
        "threads": options.threads,
    }


def _pivots(
    training: TrainingTrees, options: Options, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    from spinney.parsing.pivots import fit_pivots

    found = fit_pivots(
        training.sample.trees, training.rules, options.states, uses=training.sample.uses, random_state=seed
    )
    return _polished(training, found, options, options.polish, judge)
