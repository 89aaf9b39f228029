"""Split-merge training: states are split in two, trained, and merged again where splitting does not help."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spinney.parsing.em import Sample, Smoothing, expectations, run_em
from spinney.parsing.grammar import Grammar, RuleCounts
from spinney.parsing.states import cheapest_merges, merge_losses, merge_states, split_states
from spinney.progress import log


class Schedule(NamedTuple):
    """Iterations of EM after a split, and after the merge that follows it; the share of pairs that are merged."""

    split: int = 20
    merge: int = 10
    share: float = 0.5
    noise: float = 0.01


def run_split_merge(
    sample: Sample,
    pcfg: RuleCounts,
    cycles: int,
    rng: np.random.Generator,
    *,
    schedule: Schedule = Schedule(),  # noqa: B008
    smoothing: Smoothing = Smoothing(),  # noqa: B008
    smallest: int = 0,
    threads: int | None = None,
    watch: Callable[[int, Grammar], bool] | None = None,
) -> Grammar:
    """Split and merge, starting from a PCFG (Petrov et al. 2006).

    Parameters
    ----------
    sample
        The trees.
    pcfg
        Their counts with one state per label.
    cycles
        The number of splits: a label has at most ``2**cycles`` states.
    rng
        For the noise that makes the halves of a state differ.
    schedule, smoothing
        Of EM.
    smallest
        Labels with fewer nodes than this keep one state.
    threads
        By default the number of cores.
    watch
        Called after each cycle with its number and the grammar; training ends when it returns true.
    """
    counts, grammar = pcfg, smoothing.grammar(pcfg)
    splits = pcfg.mass() >= smallest
    for cycle in range(1, cycles + 1):
        n_states = np.where(splits, 2 * counts.layout.n_states, counts.layout.n_states).astype(np.int32)
        halves, _ = split_states(counts, n_states, rng, schedule.noise)
        grammar, counts, _ = run_em(
            sample, halves.grammar(own=smoothing.own), schedule.split, smoothing, threads=threads
        )
        if schedule.share > 0:
            counts, _ = expectations(sample, grammar, threads)
            losses = merge_losses(sample, grammar, counts.mass(), threads)
            target, n_states = cheapest_merges(losses, counts.layout, schedule.share)
            counts = merge_states(counts, target, n_states)
            grammar, counts, trace = run_em(
                sample, smoothing.grammar(counts), schedule.merge, smoothing, threads=threads
            )
            log.info("cycle %d: %d states, log-likelihood %.0f", cycle, int(n_states.sum()), trace[-1])
        if watch is not None and watch(cycle, grammar):
            break
    return grammar
