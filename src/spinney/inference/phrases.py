"""Phrases in chains: the probability of each, and the set of phrases with the best F1 to expect.

A phrase is a run of tokens of one kind: an entity, a chunk. Its probability is the sum over all labellings that contain
exactly this phrase, from its first token to its last, divided by the sum over all labellings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError
from spinney.inference.chains import Chains
from spinney.inference.decoding import Shard, check_possible, for_shards

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Phrases that are less probable are not considered for F1: none could be chosen unless the best F1 were below 0.002.
LEAST = 1e-3
_ROUNDS = 100  # of Dinkelbach's method, which needs about five


@dataclass(frozen=True, eq=False)
class PhraseRules:
    """How labels spell phrases: what two adjacent labels say of the place between them.

    Parameters
    ----------
    starts : bool array [Y+1, Y]
        Whether a phrase starts with the second label; the last row is the start of a sentence.
    breaks : bool array [Y, Y]
        Whether a phrase with the first label is over at the second.
    kind_of : int64 array [Y]
        The number of the kind of phrase of each label.
    inside : bool array [Y]
        The labels that a phrase may have.
    """

    starts: NDArray[np.bool_]
    breaks: NDArray[np.bool_]
    kind_of: Numbers
    inside: NDArray[np.bool_]

    def pairs(self) -> tuple[Numbers, Numbers, Numbers]:
        """The number of each pair of labels that continues a phrase (−1: none), and the two labels of each pair."""
        continues = ~self.breaks & self.inside[:, None]
        first, second = (np.ascontiguousarray(of, np.int64) for of in np.nonzero(continues))
        number = np.full(continues.shape, -1, np.int64)
        number[first, second] = np.arange(len(first))
        return number, first, second

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels take."""
        flat = (np.ascontiguousarray(self.starts), np.ascontiguousarray(self.breaks))
        return (*flat, np.ascontiguousarray(self.kind_of, np.int64), *self.pairs())


@dataclass(frozen=True, eq=False)
class Phrases:
    """Phrases of sentences, in the order of their starts: those of sentence i are ``bounds[i]`` up to ``bounds[i+1]``.

    ``start`` and ``stop`` count the tokens of the sentence. ``expected`` is the number of phrases to expect in each
    sentence, including the improbable ones that are not among these.
    """

    bounds: Numbers
    start: Numbers
    stop: Numbers
    kind: Numbers
    probability: Floats
    expected: Floats


def find_phrases(
    chains: Chains, rules: PhraseRules, *, least: float = LEAST, threads: int | None = 1
) -> Phrases:
    """All phrases whose probability is at least ``least`` and above 0, of any length.

    Examples
    --------
    Labels 0 (outside) and 1 (inside a phrase of the only kind), each token by itself:

    >>> starts, breaks = [[False, True], [False, False], [False, True]], [[False, True], [True, False]]
    >>> rules = PhraseRules(np.array(starts), np.array(breaks), np.array([0, 0]), np.array([False, True]))
    >>> found = find_phrases(Chains([0, 2], np.log([[1, 3], [1, 1]]), [0, 0], np.zeros((1, 3, 2))), rules)
    >>> list(zip(found.start.tolist(), found.stop.tolist(), found.probability.round(3).tolist()))
    [(0, 1, 0.375), (0, 2, 0.375), (1, 2, 0.125)]
    """
    from spinney.inference import _phrase_kernels as kernels

    of_rules = rules.arrays()
    counts, expected, log_z = np.zeros(len(chains), np.int64), np.empty(len(chains)), np.empty(len(chains))
    parts: dict[int, list[NDArray[Any]]] = {}

    def run(shard: Shard) -> None:
        i, t, offsets = shard
        room = 4 * int(offsets[-1]) + 16
        while True:
            made: list[NDArray[Any]] = [np.empty(room, np.int64) for _ in range(3)]
            made.append(np.empty(room))
            n = kernels.find(
                offsets, chains.scores[t], chains.kinds[t], chains.edges, *of_rules, float(least),
                counts[i], *made, expected[i], log_z[i],
            )  # fmt: skip
            if n <= room:
                break
            room = n
        parts[i.start] = [array[:n] for array in made]

    for_shards(run, chains, threads)
    check_possible(log_z, chains)
    start, stop, kind, chance = (np.concatenate(of) for of in zip(*(parts[i] for i in sorted(parts))))
    return Phrases(_bounds(counts), start, stop, kind, chance, expected)


def phrase_probabilities(
    chains: Chains,
    rules: PhraseRules,
    bounds: ArrayLike,
    start: ArrayLike,
    stop: ArrayLike,
    kind: ArrayLike,
    *,
    threads: int | None = 1,
) -> Floats:
    """The probabilities of given phrases, as arrays like those of :class:`Phrases`.

    Examples
    --------
    >>> starts, breaks = [[False, True], [False, False], [False, True]], [[False, True], [True, False]]
    >>> rules = PhraseRules(np.array(starts), np.array(breaks), np.array([0, 0]), np.array([False, True]))
    >>> chains = Chains([0, 2], np.log([[1, 3], [1, 1]]), [0, 0], np.zeros((1, 3, 2)))
    >>> phrase_probabilities(chains, rules, [0, 1], [0], [2], [0]).round(3)
    array([0.375])
    """
    from spinney.inference import _phrase_kernels as kernels

    of_rules = rules.arrays()
    b, first, end, k = (np.ascontiguousarray(of, np.int64) for of in (bounds, start, stop, kind))
    lengths = np.repeat(np.diff(chains.offsets), np.diff(b))
    if len(b) != len(chains) + 1 or np.any(first < 0) or np.any(end <= first) or np.any(end > lengths):
        raise OptionError("phrases must lie within their sentences, and have at least one token")
    chances, log_z = np.empty(len(first)), np.empty(len(chains))

    def run(shard: Shard) -> None:
        i, t, offsets = shard
        j = slice(b[i.start], b[i.stop])
        kernels.score(
            offsets, chains.scores[t], chains.kinds[t], chains.edges, *of_rules,
            b[i.start : i.stop + 1] - b[i.start], first[j], end[j], k[j], chances[j], log_z[i],
        )  # fmt: skip

    for_shards(run, chains, threads)
    check_possible(log_z, chains)
    return chances


def f1_choice(found: Phrases, lengths: ArrayLike) -> tuple[NDArray[np.bool_], float]:
    """Which phrases to give, so that F1 over all the sentences is the best to expect, and about how much that is.

    The criterion is 2 Σ p / (n + E), where p are the probabilities of the n phrases that are given, and E is the number
    of phrases to expect: the ratio of expectations, in place of the expectation of the ratio, to which it comes close
    where there are many phrases. Its maximum over all sets without overlap is found exactly by the method of
    Dinkelbach (1967): the set that maximises Σ (p − τ), by dynamic programming, with τ = F/2 of the set before.

    Parameters
    ----------
    found : Phrases
        The phrases to choose from.
    lengths : int array [N]
        The number of tokens of each sentence.

    Examples
    --------
    Two phrases overlap; a third is improbable:

    >>> where = [np.array(x) for x in ([0, 3], [0, 1, 4], [2, 3, 5], [0, 0, 0])]
    >>> found = Phrases(*where, np.array([0.4, 0.5, 0.05]), np.array([0.95]))
    >>> chosen, f1 = f1_choice(found, [5])
    >>> chosen, round(f1, 4)
    (array([False,  True, False]), 0.5128)
    """
    from spinney.inference import _phrase_kernels as kernels

    expected = float(found.expected.sum())
    of = (np.ascontiguousarray(lengths, np.int64), found.bounds, found.start, found.stop)
    best, f1 = np.zeros(len(found.start), np.bool_), 0.0
    for _ in range(_ROUNDS):
        chosen = np.zeros(len(found.start), np.bool_)
        kernels.best_sets(*of, found.probability - f1 / 2, chosen)
        n = int(chosen.sum())
        value = 2 * float(found.probability[chosen].sum()) / (n + expected) if n else 0.0
        if not value > f1:
            break
        best, f1 = chosen, value
    return best, f1


def _bounds(counts: Numbers) -> Numbers:
    return np.concatenate(([0], np.cumsum(counts)))
