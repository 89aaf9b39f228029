"""The numbers of a grammar from vectors of the nodes of trees: moments, and the means that smooth them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.parallel import default_threads, in_order
from spinney.parsing.em import Sample, add_rows
from spinney.parsing.grammar import Floats, Grammar, Layout, RuleCounts, check_states, smoothed_words
from spinney.parsing.projection import Projection

_SHARDS = 16  # pieces of work for the threads


class Backoff(NamedTuple):
    """How moments are smoothed.

    Attributes
    ----------
    rules : float
        C: the moment of a rule that was seen n times has the weight λ = √n / (C + √n); the remainder goes to moments of
        lower order, then to means over the rule, each again with λ, and at last to means over the labels.
    words : float
        C of words: the mean over the n tokens of a word with a tag has the weight √n / (C + √n); the remainder goes to
        the mean over the tag. The paper's program has a weight that does not depend on n (ν = 0.6), which keeps an
        error however many trees there are; here all smoothing fades, and the estimate is consistent.
    own : float
        The number of tokens of its signature that are added to a rare word; see
        :class:`~spinney.parsing.grammar.RuleCounts`.
    """

    rules: float = 10.0
    words: float = 2.0
    own: float = 1.0


def grammar_of_moments(
    sample: Sample,
    projection: Projection,
    backoff: Backoff = Backoff(),  # noqa: B008
    *,
    weight: Floats | None = None,
    threads: int | None = None,
    done: Callable[[str], None] = lambda step: None,
) -> Grammar:
    """A grammar with signed numbers from vectors of inside (Y) and outside (Z) of each node.

    A rule a → b c gets ``P(rule | a) · E[Z ⊗ Y_b ⊗ Y_c]`` over its nodes, a → b ``P(rule | a) · E[Z ⊗ Y_b]``, a word
    ``P(word | a) · E[Z]`` and the root ``P(a) · E[Y]``. If features say enough about the hidden states these are the
    numbers of the grammar in an unknown basis, which cancels along every tree (Cohen et al. 2012, theorem 1).

    Parameters
    ----------
    sample
        The trees.
    projection
        Vectors of their nodes.
    backoff
        How to smooth.
    weight
        The count of each tree; 1 by default. With the probabilities of all trees, moments are exact.
    threads
        By default the number of cores.
    done
        Called when the binary rules, the unary rules and the words are done.
    """
    if min(backoff.rules, backoff.words) < 0:
        raise OptionError(
            f"smoothing of rules and of words must be at least 0, not {backoff.rules:g} and {backoff.words:g}"
        )
    trees, rules = sample.trees, sample.rules
    each = np.ones(len(trees.label)) if weight is None else weight[trees.tree]
    layout = Layout(rules, projection.n_states)
    check_states(layout)
    counts = RuleCounts.zeros(layout)
    count = np.bincount(trees.label, each, rules.n_labels).astype(np.float64)
    mean_Y, mean_Z = (_means(trees.label, each, count, X) for X in (projection.inside, projection.outside))
    vectors = _Vectors(
        layout.n_states,
        each,
        projection.outside,
        projection.inside,
        mean_Z,
        mean_Y,
        count,
        float(backoff.rules),
    )
    _binary(sample, layout, vectors, counts.binary, threads or default_threads())
    done("binary")
    _unary(sample, layout, vectors, counts.unary)
    done("unary")

    roots = trees.roots
    share = each[roots, None] / each[roots].sum()
    add_rows(
        counts.root, layout.state_start, layout.n_states[trees.label[roots]], trees.label[roots],
        share * projection.inside[roots],
    )  # fmt: skip
    leaves = trees.leaves
    tag = trees.label[leaves]
    for entries in (sample.uses.rule[leaves], sample.uses.rare[leaves]):
        own = _weights(entries, each[leaves], backoff.words)[:, None]
        Z = own * projection.outside[leaves] + (1 - own) * mean_Z[tag]
        add_rows(counts.lexical, layout.entry_start, layout.n_states[tag], entries, each[leaves, None] * Z)
    words = smoothed_words(counts, backoff.own)
    words /= np.repeat(count[rules.lexicon.tag], np.diff(layout.entry_start))
    done("words")
    return Grammar(layout, counts.root, counts.binary, counts.unary, words, signed=True)


def _weights(entries: NDArray[np.integer], weight: Floats, C: float) -> Floats:
    """√n / (C + √n) at each token, with n the count of its entry in the lexicon; entries of -1 are none."""
    seen = entries >= 0
    root = np.zeros(len(entries))
    root[seen] = np.sqrt(np.bincount(entries[seen], weight[seen]))[entries[seen]]
    return np.asarray(root / np.maximum(C + root, 1e-300))


class _Vectors(NamedTuple):
    """The vectors to average, as kernels need them."""

    n_states: NDArray[np.int32]
    weight: Floats
    Z: Floats
    Y: Floats
    mean_Z: Floats
    mean_Y: Floats
    seen: Floats
    C: float


def _means(label: NDArray[np.int32], weight: Floats, count: Floats, X: Floats) -> Floats:
    """Weighted means of the rows of each label."""
    from scipy.sparse import csr_array

    n = len(label)
    sums = csr_array((weight, (label, np.arange(n))), (len(count), n)) @ X
    return np.asarray(sums / np.where(count == 0, 1.0, count)[:, None])


def _binary(sample: Sample, layout: Layout, vectors: _Vectors, out: Floats, threads: int) -> None:
    from spinney.parsing._moments_kernels import binary_moments

    trees = sample.trees
    nodes, use_start = sample.binary

    def shard(limits: tuple[int, int]) -> None:
        sites = use_start, nodes, trees.label, trees.left, trees.right
        binary_moments(*limits, *sites, *vectors, layout.binary_start, out)

    # A node costs about as many operations as its rule has numbers.
    sizes = np.diff(layout.binary_start)
    work = np.concatenate([[0], np.cumsum(sizes * (2 + np.diff(use_start)))])
    edges = np.searchsorted(work, np.linspace(0, work[-1], _SHARDS + 1)).tolist()
    edges[0], edges[-1] = 0, len(sizes)
    shard((0, 0))  # compiles, and does nothing else
    list(in_order(shard, list(pairwise(edges)), threads))


def _unary(sample: Sample, layout: Layout, vectors: _Vectors, out: Floats) -> None:
    from spinney.parsing._moments_kernels import unary_moments

    nodes, use_start = sample.unary
    unary_moments(use_start, nodes, sample.trees.label, sample.trees.left, *vectors, layout.unary_start, out)
