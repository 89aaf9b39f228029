"""From trees to grammars: all learning methods behind one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.errors import InputError, SettingError
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

#: With ``states`` auto, the number of states is chosen for all labels, then doubled or halved for each of the most
#: frequent labels where that is better (Narayan and Cohen 2016 search for the numbers of all labels).
_LABELS, _FACTOR = 12, ", times"


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
        cycle; otherwise they keep the last. Spectral learning chooses by it the strengths that settings leave open, and
        with ``states`` auto the numbers of states.
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
    from spinney.parsing.spectral import proper_grammar

    if not iterations:
        return start, {}
    best, facts = Best(judge, every=min(5, iterations), patience=3, grammar=start), dict[str, Any]()
    if judge is not None and judge_start:
        best.watch(0, start)
    try:
        first = proper_grammar(start) if start.signed else start
        run_em(training.sample, first, iterations, Smoothing(), threads=s.threads, watch=best.watch)
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
    found, facts = _moments(training, s, seed, judge)
    polished, more = _polished(training, found, s, s.polish or 0, judge)
    return polished, {**facts, **more, "trace": facts.get("trace", []) + more.get("trace", [])}


def _moments(
    training: TrainingTrees, s: Any, seed: int, judge: Judge | None
) -> tuple[Grammar, dict[str, Any]]:
    """A spectral grammar; what settings leave open is chosen by the judge, if there is one."""
    if s.states == "auto" and judge is None:
        raise SettingError("{states} auto chooses on held-out trees: give {dev}")
    given = {name: getattr(s, name) for name in _STRENGTHS}
    values = {name: default if given[name] is None else given[name] for name, default in _STRENGTHS.items()}
    opened: dict[str, tuple[float, ...]] = {}
    opened |= {name: _TRIED[name] for name in values if judge is not None and given[name] is None}
    if s.states == "auto":
        labels = _frequent_labels(training)
        values = {"states": 16.0, **values}
        opened = {"states": (8.0, 16.0, 32.0), **opened, **dict.fromkeys(labels, (0.5, 2.0))}
    if not opened or judge is None:
        only = _spectral_fit(training, s, seed, values)
        return only.grammar, {"seconds_by_step": only.seconds}
    attempt: Pure[Attempt[_Learned]] = Pure(_spectral_attempt, Kept(_Choosing(training, s, seed, judge)))
    chosen = choose_each(values, opened, attempt)
    facts = {name: value for name, value in chosen.values.items() if name in opened}
    for name in [name for name in facts if name.endswith(_FACTOR)]:
        facts[name.removesuffix(_FACTOR)] = facts["states"] * facts.pop(name)
    found = chosen.model.grammar  # which may come from another process, with rules of its own
    return replace(found, layout=Layout(training.rules, found.layout.n_states)), {
        "seconds_by_step": chosen.model.seconds, "chosen": facts, "trace": chosen.trace,
    }  # fmt: skip


def _frequent_labels(training: TrainingTrees) -> list[str]:
    """What to choose for the labels with most nodes: by how much to multiply their number of states."""
    labels, trees = training.rules.labels, training.sample.trees
    order = np.argsort(-np.bincount(trees.label, minlength=len(labels)), kind="stable")
    return [_factor_of(labels[a]) for a in order[:_LABELS].tolist()]


def _factor_of(label: str) -> str:
    return f"states of {label}{_FACTOR}"


def _states_of(training: TrainingTrees, values: dict[str, float]) -> NDArray[np.int64]:
    """The number of states of each label."""
    factors = [values.get(_factor_of(label), 1.0) for label in training.rules.labels]
    return np.maximum(np.round(values["states"] * np.array(factors)), 1).astype(np.int64)


class _Learned(NamedTuple):
    """A grammar, and the seconds that each step of learning took."""

    grammar: Grammar
    seconds: dict[str, float]


def _spectral_fit(training: TrainingTrees, s: Any, seed: int, values: dict[str, float]) -> _Learned:
    from spinney.parsing.spectral import fit_spectral

    backoff = Backoff(values["rule_smoothing"], values["word_smoothing"])
    how = {**_of_nodes(training, s, seed), "backoff": backoff, "cutoff": values["cutoff"]}
    states = _states_of(training, values) if s.states == "auto" else s.states
    found = fit_spectral(training.sample.trees, training.rules, states, **how)
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
