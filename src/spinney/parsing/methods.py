"""From trees to grammars: all learning methods behind one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import InputError
from spinney.parallel import Kept, Pure
from spinney.parsing.binarising import Binarisation
from spinney.parsing.choosing import Attempt, choose_each
from spinney.parsing.em import Sample, Smoothing, random_grammar, run_em
from spinney.parsing.grammar import Grammar, Layout, RuleCounts, Rules, pcfg_counts
from spinney.parsing.moments import Backoff
from spinney.parsing.splitmerge import Schedule, run_split_merge
from spinney.parsing.treearrays import TreeArrays
from spinney.progress import log

#: The F1 of a grammar on held-out trees.
Judge = Callable[[Grammar], float]

#: Iterations of EM after clusters and pivots, and how many trees they need: EM fits the frequencies of few trees too
#: closely. F1 of clusters with 0 and 5 on held-out trees: 79.2 and 74.7 from 300 trees, 82.6 and 82.1 from 1,000, 85.2
#: and 83.9 from 2,000, 86.9 and 87.3 from 3,396.
_POLISH, _ENOUGH = 5, 3000

#: Strengths of spectral learning: without held-out trees, and what is tried with them.
_STRENGTHS = {"rule_smoothing": Backoff().rules, "word_smoothing": Backoff().words, "cutoff": 1e-6}
_TRIED = {
    "rule_smoothing": (3.0, 10.0, 30.0),
    "word_smoothing": (0.5, 2.0, 8.0),
    "cutoff": (1e-6, 0.01, 0.05),
}


@dataclass(frozen=True)
class TrainingTrees:
    """Trees in the form that learning methods need.

    Attributes
    ----------
    sample : Sample
    pcfg : RuleCounts
        With one state per label.
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
    """The best grammar so far; without a judge, the last one."""

    judge: Judge | None = None
    every: int = 1
    patience: int | None = None
    grammar: Grammar | None = None
    at: int = 0
    trace: list[dict[str, float]] = field(default_factory=list)

    def watch(self, step: int, grammar: Grammar, log_likelihood: float | None = None) -> bool:
        """Judge a grammar; whether to stop."""
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


def learn(
    training: TrainingTrees,
    method: str,
    s: Any,
    random_state: int = 0,
    judge: Judge | None = None,
) -> tuple[Grammar, dict[str, Any]]:
    """A grammar of some trees, and facts about how it was learned.

    Parameters
    ----------
    training
        The trees.
    method
        ``"pcfg"``, ``"em"``, ``"split-merge"``, ``"spectral"``, ``"clustering"`` or ``"pivots"``.
    s
        Settings of the method (:mod:`spinney.settings.parse`), or of a product of methods.
    random_state
        Seed.
    judge
        The F1 of a grammar on held-out trees: EM keeps the best of every fifth iteration and split-merge the best
        cycle; otherwise they keep the last. Spectral learning chooses by it the strengths that settings leave open.
    """
    learner = {
        "pcfg": _pcfg,
        "em": _em,
        "split-merge": _split_merge,
        "spectral": _spectral,
        "clustering": _clustering,
        "pivots": _pivots,
    }[method]
    return learner(training, s, random_state, judge)


def _pcfg(training: TrainingTrees, s: Any, seed: int, judge: Judge | None) -> tuple[Grammar, dict[str, Any]]:
    return training.pcfg.grammar(own=Smoothing().own), {}


def _em(training: TrainingTrees, s: Any, seed: int, judge: Judge | None) -> tuple[Grammar, dict[str, Any]]:
    start = random_grammar(training.rules, training.pcfg, s.states, np.random.default_rng(seed))
    grammar, facts = _polished(training, start, s, s.max_iter, judge, judge_start=False)
    if facts.get("interrupted") and not facts["iterations"]:
        raise KeyboardInterrupt  # a random start is not worth keeping
    return grammar, facts


def _polished(
    training: TrainingTrees,
    start: Grammar,
    s: Any,
    iterations: int,
    judge: Judge | None,
    judge_start: bool = True,
) -> tuple[Grammar, dict[str, Any]]:
    """EM from a grammar, which is kept if held-out trees find it better; an interrupt ends EM early."""
    if not iterations:
        return start, {}
    best, facts = Best(judge, every=min(5, iterations), patience=3, grammar=start), dict[str, Any]()
    if judge is not None and judge_start:
        best.watch(0, start)
    try:
        run_em(training.sample, start, iterations, Smoothing(), threads=s.threads, watch=best.watch)
    except KeyboardInterrupt:
        facts["interrupted"] = True
    assert best.grammar is not None
    return best.grammar, {"iterations": best.at, "trace": best.trace, **facts}


def _split_merge(
    training: TrainingTrees, s: Any, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    best, facts = Best(judge), dict[str, Any]()
    last = None
    try:
        last = run_split_merge(
            training.sample,
            training.pcfg,
            (s.states - 1).bit_length(),
            np.random.default_rng(seed),
            schedule=Schedule(),
            smoothing=Smoothing(),
            threads=s.threads,
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
    training: TrainingTrees, s: Any, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    given = {name: getattr(s, name) for name in _STRENGTHS}
    values = {name: default if given[name] is None else given[name] for name, default in _STRENGTHS.items()}
    opened = {name: _TRIED[name] for name in values if judge is not None and given[name] is None}
    if not opened or judge is None:
        only = _spectral_fit(training, s, seed, values)
        return only.grammar, {"seconds_by_step": only.seconds}
    attempt: Pure[Attempt[_Learned]] = Pure(_spectral_attempt, Kept(_Choosing(training, s, seed, judge)))
    chosen = choose_each(values, opened, attempt)
    facts = {name: chosen.values[name] for name in opened}
    found = chosen.model.grammar  # which may come from another process, with rules of its own
    return replace(found, layout=Layout(training.rules, found.layout.n_states)), {
        "seconds_by_step": chosen.model.seconds, "chosen": facts, "trace": chosen.trace,
    }  # fmt: skip


class _Learned(NamedTuple):
    """A grammar, and the seconds that each step of learning took."""

    grammar: Grammar
    seconds: dict[str, float]


def _spectral_fit(training: TrainingTrees, s: Any, seed: int, values: dict[str, float]) -> _Learned:
    from spinney.parsing.spectral import fit_spectral

    backoff = Backoff(values["rule_smoothing"], values["word_smoothing"])
    how = {**_of_nodes(training, s, seed), "backoff": backoff, "cutoff": values["cutoff"]}
    found = fit_spectral(training.sample.trees, training.rules, s.states, **how)
    return _Learned(found.grammar, found.seconds)


class _Choosing(NamedTuple):
    """What all trials have in common. It travels as one value, so that the judge goes on to share its rules."""

    training: TrainingTrees
    settings: Any
    seed: int
    judge: Judge


def _spectral_attempt(common: _Choosing, values: dict[str, float]) -> Attempt[_Learned]:
    """A grammar with some strengths, and its score: a pure function."""
    found = _spectral_fit(common.training, common.settings, common.seed, values)
    return Attempt(found, common.judge(found.grammar))


def _clustering(
    training: TrainingTrees, s: Any, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    from spinney.parsing.clustering import CLUSTERS, fit_clusters

    usual = CLUSTERS
    backoff = usual._replace(
        rules=usual.rules if s.rule_smoothing is None else s.rule_smoothing,
        words=usual.words if s.word_smoothing is None else s.word_smoothing,
    )
    arguments = {**_of_nodes(training, s, seed), "backoff": backoff}
    found = fit_clusters(training.sample.trees, training.rules, s.states, **arguments)
    enough = judge is not None or training.sample.trees.n_trees >= _ENOUGH
    usual_polish = _POLISH if enough else 0
    return _polished(training, found.grammar, s, usual_polish if s.polish is None else s.polish, judge)


def _of_nodes(training: TrainingTrees, s: Any, seed: int) -> dict[str, Any]:
    """The arguments of learners from vectors of nodes."""
    return {
        "features": s.features,
        "kappa": s.kappa,
        "uses": training.sample.uses,
        "random_state": seed,
        "threads": s.threads,
    }


def _pivots(
    training: TrainingTrees, s: Any, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    from spinney.parsing.pivots import fit_pivots

    found = fit_pivots(
        training.sample.trees, training.rules, s.states, uses=training.sample.uses, random_state=seed
    )
    return _polished(training, found, s, _POLISH if s.polish is None else s.polish, judge)
