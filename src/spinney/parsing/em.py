"""Expectation-maximisation for grammars with latent states, on trees whose labels are known.

The E-step of many trees is a sum over shards of them, which stay where they are counted (on a cluster, with a worker):
the numbers of the grammar go out in every iteration, and expected counts come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spinney.parallel import Kept, Pure, default_threads, in_order, map_reduce
from spinney.parsing.grammar import Floats, Grammar, Layout, RuleCounts, Rules, Uses
from spinney.parsing.treearrays import TreeArrays
from spinney.progress import log, task

_PIECES = 16  # of a shard, for the threads
SHARD = (
    1 << 15
)  # nodes of a shard of trees: by the trees alone, so that sums are the same wherever they are taken

Statistics = TypeVar("Statistics")
NodesByRule = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Sample:
    """Trees and the rules at their nodes: the input of an E-step."""

    trees: TreeArrays
    uses: Uses
    rules: Rules

    @classmethod
    def of(cls, trees: TreeArrays, rules: Rules) -> Sample:
        """Trees with the rules at their nodes."""
        return cls(trees, rules.used(trees), rules)

    @cached_property
    def binary(self) -> NodesByRule:
        """The binary nodes, sorted by rule, and where those of each rule begin."""
        return self._by_rule(self.trees.right >= 0, len(self.rules.binary))

    @cached_property
    def unary(self) -> NodesByRule:
        """The unary nodes, sorted by rule, and where those of each rule begin."""
        return self._by_rule((self.trees.left >= 0) & (self.trees.right < 0), len(self.rules.unary))

    @cached_property
    def shards(self) -> list[Kept[Shard]]:
        """The trees in pieces of about :data:`SHARD` nodes; few trees are one piece."""
        trees = self.trees
        n = max(1, len(trees.label) // SHARD)
        cuts = np.searchsorted(trees.tree_start, np.linspace(0, len(trees.label), n + 1).astype(np.int64))
        parts = (self._part(a, b) for a, b in pairwise(np.unique(cuts).tolist())) if n > 1 else [self]
        return [Kept(Shard(part.trees, part.uses, part.binary, part.unary)) for part in parts]

    @cached_property
    def kept_rules(self) -> Kept[Rules]:
        """The rules, for whoever has the shards."""
        return Kept(self.rules)

    def _part(self, start: int, stop: int) -> Sample:
        """The trees ``start`` to ``stop - 1``."""
        trees = self.trees
        first, last = (int(trees.tree_start[at]) for at in (start, stop))
        nodes = slice(first, last)
        left, right = (
            np.where(one[nodes] >= 0, one[nodes] - np.int32(first), -1) for one in (trees.left, trees.right)
        )
        part = TreeArrays(
            labels=(),
            tokens=[],  # no E-step looks at the words themselves
            tree_start=trees.tree_start[start : stop + 1] - first,
            token_start=trees.token_start[start : stop + 1] - trees.token_start[start],
            label=trees.label[nodes],
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            begin=trees.begin[nodes],
            end=trees.end[nodes],
        )
        return Sample(part, Uses(self.uses.rule[nodes], self.uses.rare[nodes]), self.rules)

    def _by_rule(self, which: NDArray[np.bool_], n: int) -> NodesByRule:
        nodes = np.flatnonzero(which & (self.uses.rule >= 0))
        nodes = nodes[np.argsort(self.uses.rule[nodes], kind="stable")]
        return nodes, np.searchsorted(self.uses.rule[nodes], np.arange(n + 1)).astype(np.int64)


class Shard(NamedTuple):
    """Some of the trees of a sample, with what is looked up in every iteration: the nodes of each rule."""

    trees: TreeArrays
    uses: Uses
    binary: NodesByRule
    unary: NodesByRule


class Beliefs(NamedTuple):
    """Vectors of all nodes of a sample under a grammar; ``inside * outside`` are posteriors of the states."""

    inside: Floats  # [nodes, most states]
    outside: Floats
    scale: Floats  # [nodes]: the scale of the inside vectors
    log_probability: Floats  # [trees]


def beliefs(sample: Sample | Shard, grammar: Grammar, threads: int | None = None) -> Beliefs:
    """Inside and outside vectors of every node of the trees."""
    from spinney.parsing._em_kernels import trees_inside_outside

    trees, layout = sample.trees, grammar.layout
    n, most = len(trees.label), int(layout.n_states.max(initial=1))
    found = Beliefs(np.zeros((n, most)), np.zeros((n, most)), np.ones(n), np.empty(trees.n_trees))

    def shard(limits: tuple[int, int]) -> None:
        trees_inside_outside(
            *limits,
            trees.tree_start,
            trees.label,
            trees.left,
            trees.right,
            sample.uses.rule,
            layout.n_states,
            layout.state_start,
            grammar.root,
            layout.binary_start,
            grammar.binary,
            layout.unary_start,
            grammar.unary,
            layout.entry_start,
            grammar.lexical,
            *found,
        )

    edges = np.linspace(0, trees.n_trees, _PIECES + 1).astype(int).tolist()
    list(in_order(shard, pairwise(edges), threads or default_threads()))
    return found


def expected_counts(
    sample: Sample | Shard, grammar: Grammar, found: Beliefs, threads: int | None = None
) -> RuleCounts:
    """The E-step: the expected count of each rule with each combination of states in the trees."""
    from spinney.parsing._em_kernels import expected_binary, expected_unary

    trees, layout = sample.trees, grammar.layout
    counts = RuleCounts.zeros(layout)
    states = layout.n_states[trees.label]
    nodes, start = sample.binary

    def shard(limits: tuple[int, int]) -> None:
        parts = start, nodes, trees.left, trees.right, states, layout.binary_start, grammar.binary
        expected_binary(*limits, *parts, *found[:3], counts.binary)

    # Rules are divided so that the threads have about the same amount of work.
    work = layout.binary_start + start * 8
    edges = np.searchsorted(work, np.linspace(0, work[-1], _PIECES + 1)).tolist()
    edges[0], edges[-1] = 0, len(start) - 1
    list(in_order(shard, pairwise(edges), threads or default_threads()))
    nodes, start = sample.unary
    expected_unary(
        start, nodes, trees.left, states, layout.unary_start, grammar.unary, *found[:3], counts.unary
    )

    posterior = found.inside * found.outside
    leaves = trees.leaves
    for entries in (sample.uses.rule[leaves], sample.uses.rare[leaves]):
        add_rows(
            counts.lexical,
            layout.entry_start,
            layout.n_states[trees.label[leaves]],
            entries,
            posterior[leaves],
        )
    roots = trees.roots
    add_rows(counts.root, layout.state_start, states[roots], trees.label[roots], posterior[roots])
    return counts


class Expected(NamedTuple):
    """What an E-step finds: expected counts of the numbers of a grammar, and the log-likelihood of the trees."""

    root: Floats
    binary: Floats
    unary: Floats
    lexical: Floats
    log_likelihood: float

    def plus(self, other: Expected) -> Expected:
        """The sum of two."""
        return Expected(
            self.root + other.root,
            self.binary + other.binary,
            self.unary + other.unary,
            self.lexical + other.lexical,
            self.log_likelihood + other.log_likelihood,
        )


def expectations(sample: Sample, grammar: Grammar, threads: int | None = None) -> tuple[RuleCounts, float]:
    """The E-step over all shards: the expected counts, and the log-likelihood.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> from spinney.parsing.grammar import pcfg_counts
    >>> trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N dogs) (V meow))")])
    >>> grammar = pcfg_counts(trees, rules := Rules.of(trees, rare=0)).grammar()
    >>> counts, log_likelihood = expectations(Sample.of(trees, rules), grammar)
    >>> counts.binary, round(float(np.exp(log_likelihood)), 3)
    (array([2.]), 0.25)
    """
    found = over_shards(_expected, sample, grammar, threads, Expected.plus)
    return RuleCounts(grammar.layout, *found[:4]), float(found.log_likelihood)


def over_shards(
    function: Callable[[Shard, Grammar, int | None], Statistics],
    sample: Sample,
    grammar: Grammar,
    threads: int | None,
    reduce: Callable[[Statistics, Statistics], Statistics],
) -> Statistics:
    """The sum of what a function of a module finds in each shard under a grammar.

    Here, the shards come one after the other, and threads share the work of each: so only one has vectors of its nodes.
    """
    numbers = grammar.layout.n_states, grammar.root, grammar.binary, grammar.unary, grammar.lexical
    visit: Pure[Statistics] = Pure(_visited, function, threads, sample.kept_rules, *numbers)
    return map_reduce(visit, sample.shards, threads=1, reduce=reduce)


def _visited(
    function: Callable[[Shard, Grammar, int | None], Statistics],
    threads: int | None,
    rules: Rules,
    n_states: NDArray[np.int32],
    root: Floats,
    binary: Floats,
    unary: Floats,
    lexical: Floats,
    shard: Shard,
) -> Statistics:
    """What a function finds in a shard: pure, with a grammar put together where the shard is."""
    return function(shard, Grammar(Layout(rules, n_states), root, binary, unary, lexical), threads)


def _expected(shard: Shard, grammar: Grammar, threads: int | None) -> Expected:
    found = beliefs(shard, grammar, threads)
    counts = expected_counts(shard, grammar, found, threads)
    return Expected(
        counts.root, counts.binary, counts.unary, counts.lexical, float(found.log_probability.sum())
    )


def add_rows(
    flat: Floats,
    start: NDArray[np.int64],
    sizes: NDArray[np.integer],
    at: NDArray[np.integer],
    rows: Floats,
) -> None:
    """Add the first ``sizes[i]`` entries of each row to the numbers that begin at ``start[at[i]]``; none for -1."""
    columns = np.arange(rows.shape[1])
    wanted = (columns < sizes[:, None]) & (at >= 0)[:, None]
    places = start[np.maximum(at, 0)][:, None] + columns
    flat += np.bincount(places[wanted], rows[wanted], len(flat))


def tree_log_probabilities(trees: TreeArrays, grammar: Grammar) -> Floats:
    """The log probability of each tree, latent states summed out; -inf for trees with an unknown rule.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> from spinney.parsing.grammar import pcfg_counts
    >>> trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N dogs) (V meow))")])
    >>> grammar = pcfg_counts(trees, Rules.of(trees, rare=0)).grammar()
    >>> np.exp(tree_log_probabilities(trees, grammar)).round(3).tolist()
    [0.5, 0.5]
    """
    return beliefs(Sample.of(trees, grammar.rules), grammar).log_probability


class Smoothing(NamedTuple):
    """The smoothing of an M-step (:meth:`~spinney.parsing.grammar.RuleCounts.grammar`)."""

    own: float = 1.0
    rules: float = 0.01
    words: float = 0.1

    def grammar(self, counts: RuleCounts) -> Grammar:
        """The M-step."""
        return counts.grammar(own=self.own, alpha=(self.rules, self.words))


Watch = Callable[[int, Grammar, float], bool]


def run_em(
    sample: Sample,
    grammar: Grammar,
    iterations: int,
    smoothing: Smoothing = Smoothing(),  # noqa: B008
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> tuple[Grammar, RuleCounts, list[float]]:
    """EM, starting from a grammar.

    Parameters
    ----------
    sample
        The trees.
    grammar
        The initial grammar. States that are identical remain so.
    iterations
        Number of iterations.
    smoothing
        Smoothing of each M-step.
    threads
        By default the number of cores.
    watch
        Called after each iteration with its number, the new grammar and the log-likelihood of the one before; EM ends
        when it returns true.

    Returns
    -------
    grammar, counts, trace
        The last grammar, the counts that it was made of, the log-likelihood before each iteration.
    """
    trace: list[float] = []
    with task(f"EM, {int(grammar.layout.n_states.max(initial=1))} states", total=iterations) as work:
        for i in range(iterations):
            counts, log_likelihood = expectations(sample, grammar, threads)
            trace.append(log_likelihood)
            grammar = smoothing.grammar(counts)
            work.update(1)
            log.debug("EM iteration %d: log-likelihood %.1f", i + 1, trace[-1])
            if watch is not None and watch(i + 1, grammar, trace[-1]):
                break
    return grammar, counts, trace


def random_grammar(
    rules: Rules, pcfg: RuleCounts, states: int, rng: np.random.Generator, noise: float = 0.5
) -> Grammar:
    """The PCFG with each label copied ``states`` times and every number perturbed: a start for EM."""
    from spinney.parsing.states import split_states

    n_states = np.full(rules.n_labels, states, np.int32)
    return split_states(pcfg, n_states, rng, noise)[0].grammar()
