"""Splitting and merging the states of a grammar (Petrov, Barrett, Thibaux and Klein 2006)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from spinney.parsing.em import Sample, Shard, beliefs, over_shards
from spinney.parsing.grammar import Floats, Grammar, Layout, RuleCounts, check_states


def split_states(
    counts: RuleCounts, n_states: NDArray[np.int32], rng: np.random.Generator, noise: float
) -> tuple[RuleCounts, NDArray[np.int64]]:
    """Counts for more states per label, each a copy of an old one with its share of the counts.

    Returns
    -------
    counts, source
        ``source`` has, for each new state, the number of the old one within its label. Copies are adjacent.
    """
    from spinney.parsing._grammar_kernels import seed_noise, split_numbers

    old = counts.layout
    new = Layout(old.rules, n_states)
    check_states(new)
    source = np.concatenate(
        [np.sort(np.arange(n) % m) for n, m in zip(n_states.tolist(), old.n_states.tolist(), strict=True)]
        or [np.empty(0, np.int64)]
    )
    label = np.repeat(np.arange(len(n_states)), n_states)
    key = old.state_start[label] + source
    copies = np.bincount(key, minlength=int(old.state_start[-1]))[key]
    larger = RuleCounts.zeros(new)
    seed_noise(int(rng.integers(2**31)))
    for rules, values, start, new_start, out in _parts(counts, larger):
        split_numbers(
            rules, values, start, old.state_start, source, new.state_start, copies, noise, new_start, out
        )
    return larger, source


def merge_states(counts: RuleCounts, target: NDArray[np.int64], n_states: NDArray[np.int32]) -> RuleCounts:
    """Counts for fewer states per label: states with the same target (numbered within the label) are added."""
    from spinney.parsing._grammar_kernels import merge_numbers

    old, new = counts.layout, Layout(counts.layout.rules, n_states)
    smaller = RuleCounts.zeros(new)
    for rules, values, start, new_start, out in _parts(counts, smaller):
        merge_numbers(rules, values, start, old.state_start, target, new.state_start, new_start, out)
    return smaller


def merge_losses(sample: Sample, grammar: Grammar, mass: Floats, threads: int | None = None) -> Floats:
    """What merging each state with its neighbour to the right would cost in log-likelihood: [states].

    States 2i and 2i + 1 of a label are neighbours; entries of odd states, and of a last one without a neighbour, are
    infinite. At a node, merging changes the probability of the tree from Σ in·out to the same with ``p1·in1 + p2·in2``
    and ``out1 + out2`` for the two, where p are the shares of the two states (Petrov et al. 2006, §2.3).
    """
    total, nodes = over_shards(partial(_losses_of_shard, mass), sample, grammar, threads, _both_added)
    return np.where(nodes > 0, total, np.inf)


def _losses_of_shard(
    mass: Floats, shard: Shard, grammar: Grammar, threads: int | None
) -> tuple[Floats, Floats]:
    """The losses of the nodes of a shard by state, and how many nodes there are."""
    found, layout, label = beliefs(shard, grammar, threads), grammar.layout, shard.trees.label
    total, seen = np.zeros((2, int(layout.state_start[-1])))
    # Padded tables of shares: states of a label in a row.
    first, m = layout.state_start[label], layout.n_states[label]
    floor = np.finfo(np.float64).tiny
    for h in range(0, int(layout.n_states.max(initial=1)) - 1, 2):
        nodes = np.flatnonzero(m > h + 1)
        state = first[nodes] + h
        share = mass[state] / np.maximum(mass[state] + mass[state + 1], floor)
        in1, in2 = found.inside[nodes, h], found.inside[nodes, h + 1]
        out1, out2 = found.outside[nodes, h], found.outside[nodes, h + 1]
        # The sum over all states is 1, as outside vectors are scaled.
        merged = 1.0 - in1 * out1 - in2 * out2 + (share * in1 + (1 - share) * in2) * (out1 + out2)
        total += np.bincount(state, -np.log(np.maximum(merged, floor)), len(total))
        seen += np.bincount(state, minlength=len(seen))
    return total, seen


def _both_added(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return one[0] + other[0], one[1] + other[1]


def cheapest_merges(
    losses: Floats, layout: Layout, share: float
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Merge the given share of all pairs, those that cost least: the target of each state, the states of each label."""
    pairs = np.flatnonzero(np.isfinite(losses))
    chosen = pairs[np.argsort(losses[pairs], kind="stable")[: int(share * len(pairs))]]
    kept = np.ones(len(losses), bool)
    kept[chosen + 1] = False  # the right state of a pair is merged into the left one
    label = np.repeat(np.arange(len(layout.n_states)), layout.n_states)
    place = np.cumsum(kept) - 1
    before = np.concatenate([[0], np.cumsum(kept)])[layout.state_start[:-1]]
    return place - before[label], np.bincount(label, kept, len(layout.n_states)).astype(np.int32)


_Part = tuple[NDArray[np.int32], Floats, NDArray[np.int64], NDArray[np.int64], Floats]


def _parts(old: RuleCounts, new: RuleCounts) -> Iterator[_Part]:
    """Of all kinds of rules: the labels of each, the old numbers, where the old and the new begin, the new numbers."""
    rules = old.layout.rules
    labels = np.arange(rules.n_labels, dtype=np.int32)[:, None]
    a, b = old.layout, new.layout
    yield labels, old.root, a.state_start, b.state_start, new.root
    yield rules.binary, old.binary, a.binary_start, b.binary_start, new.binary
    yield rules.unary, old.unary, a.unary_start, b.unary_start, new.unary
    yield rules.lexicon.tag[:, None], old.lexical, a.entry_start, b.entry_start, new.lexical
