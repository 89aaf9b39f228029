"""Back-off models with fewer grams: pruned by counts or by relative entropy, and with fewer distinct values.

A gram is only removed with all that it leads to: those that continue it, and those that it is the end of. So every gram
that is left can be reached, and what is left of a context has one weight more to share out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.lm.backoff import BackoffModel
from spinney.lm.model import Vector
from spinney.lm.suffixtrie import Counts
from spinney.lm.tables import GramTable, gram_bounds, longer_contexts

Flags = NDArray[np.bool_]

_ROUNDS, _STILL = 200, 1e-4  # at most so many words, until no more than this share of the contexts changes


class Pruned(NamedTuple):
    """A smaller model, and by how much it differs."""

    model: BackoffModel
    #: The sum of the relative entropies of removing each gram alone, in nats a word; None where it is not known.
    divergence: float | None


# ------------------------------------------------------------------------------------------------ entropy


def prune_entropy(model: BackoffModel, threshold: float) -> Pruned:
    """Remove the grams that change the perplexity of a model by less than a share (Stolcke 1998).

    What the removal of a gram x y costs is D = −P(x) {p(y|x) [log p(y|x') + log α'(x) − log p(y|x)] + [log α'(x) −
    log α(x)] (1 − Σ p(v|x))}, the sum over the grams x v. It is removed if e^D − 1 is below the threshold and nothing
    longer that is kept needs it. Longer grams are decided first, those of a context independently of each other.

    Parameters
    ----------
    threshold
        A share of the perplexity, such as 1e-7.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> model = fit_ngram(sentence_arrays(sample_sentences(), min_count=2, unknown="<unk>"), order=3)
    >>> small, divergence = prune_entropy(model, 1e-5)
    >>> small.table.n_grams < model.table.n_grams, divergence < 0.5
    (True, True)
    """
    if not 0 <= threshold < np.inf:
        raise OptionError(f"the threshold must be at least 0, not {threshold}")
    cost = removal_costs(model)
    wanted = ~(np.expm1(cost) < threshold)
    kept = closed(model.table, wanted)
    return Pruned(without(model, kept), float(cost[~kept].sum()))


def removal_costs(model: BackoffModel) -> Vector:
    """D of each gram, if it alone were removed; infinite for unigrams, which never are."""
    table, up = model.table, _suffixes(model.table)
    first = table.n_symbols
    p, low = np.exp(model.logp[first:]), np.exp(model.logp[up[first:]])
    context = table.context[first:]
    free, left = _unseen(model, p, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.log(left[context] + p) - np.log(free[context] + low)  # α' of the context without the gram
        change = p * (np.log(low) + weight - np.log(p))
        change += np.where(left[context] > 0, left[context] * (weight - model.backoff[context]), 0.0)
    cost = -context_probabilities(model)[context] * change
    cost[p == 0] = 0.0
    # Rounding may make the cost of what makes no difference negative; what is not a number is not touched.
    return np.concatenate((np.full(first, np.inf), np.maximum(np.where(np.isnan(cost), np.inf, cost), 0.0)))


def context_probabilities(model: BackoffModel) -> Vector:
    """P(x) of each context: how often running text that the model itself writes has it before a word.

    The chain rule, P(first word) P(second | first) …, would not do: in Kneser-Ney models, shorter contexts have
    probabilities that are meant for histories in which the longer ones are unknown (Chelba et al. 2010). So this
    follows the text from word to word, until what stands before a word is as it was a word earlier.
    """
    table, up = model.table, _suffixes(model.table)
    p, weight = np.exp(model.logp), np.exp(model.backoff)
    parent = np.zeros(table.n_contexts, np.int64)  # the context without its oldest symbol
    parent[table.levels[min(2, table.order)] :] = table.following[
        up[table.owner[table.levels[min(2, table.order)] :]]
    ]
    then = _contexts_after(table, up)
    longest = np.zeros(
        table.n_contexts
    )  # the probability that this is the longest known context before a word
    longest[then[table.n_symbols - 1]] = 1.0
    for _ in range(_ROUNDS):
        # How much each context has to say: as the longest, and of what longer ones leave to it.
        said, passed = longest.copy(), np.zeros(table.n_contexts)
        for level in _levels_down(table):
            passed[level] = said[level] * weight[level]
            said += np.bincount(parent[level], passed[level], minlength=table.n_contexts)
        # Of a gram, what longer contexts have with the same word does not come from here.
        longer = np.bincount(
            up[table.n_symbols :], passed[table.context[table.n_symbols :]], minlength=table.n_grams
        )
        flow = np.maximum(p * (said[table.context] - longer), 0.0)
        reached = np.bincount(then, flow, minlength=table.n_contexts)
        reached = 0.5 * (longest + reached / reached.sum())  # half of it, lest it swing to and fro
        change = np.abs(reached - longest).sum()
        longest = reached
        if change < _STILL:
            break
    for level in _levels_down(table):
        longest += np.bincount(parent[level], longest[level], minlength=table.n_contexts)
    return longest


def _contexts_after(table: GramTable, up: NDArray[np.int32]) -> NDArray[np.int64]:
    """The longest known context once a gram has been read; after the end of a sentence, the start of the next."""
    then = table.following.astype(np.int64)
    then[: table.n_symbols] = np.maximum(then[: table.n_symbols], 0)
    for order in range(2, table.order + 1):
        grams = table.grams_of(order)
        then[grams] = np.where(then[grams] >= 0, then[grams], then[up[grams]])
    then[table.symbol == table.n_symbols - 2] = then[table.n_symbols - 1]
    return then


def _levels_down(table: GramTable) -> list[slice]:
    """The contexts of each length, the longest first, without the empty one."""
    return [slice(int(table.levels[d]), int(table.levels[d + 1])) for d in range(table.order - 1, 0, -1)]


# ------------------------------------------------------------------------------------------------- counts


def prune_counts(
    model: BackoffModel, count: Counts, thresholds: Sequence[int], *, interpolated: bool = True
) -> BackoffModel:
    """Remove the grams that were seen too rarely, as KenLM's ``lmplz --prune`` does.

    Discounts are those of all counts. What a removed gram had of its own goes to the weight of its context.

    Parameters
    ----------
    count
        How often each gram of the model was seen.
    thresholds
        Grams of order 1, 2, … that were seen no more often than this are removed. The first must be 0, none may be
        lower than the one before, and the last applies to all longer grams.
    interpolated
        Whether the probability of a gram is a share of its own and that of the shorter gram times the weight.
    """
    checked = check_thresholds(thresholds)
    table = model.table
    limit = np.array([*checked, *[checked[-1]] * table.order])[: table.order]
    order = np.repeat(np.arange(table.order), np.diff(gram_bounds(table)))
    kept = count > limit[order]
    kept[: table.n_symbols] = True
    kept = closed(table, kept)
    if not interpolated:
        return without(model, kept)
    up, weight, p = _suffixes(table), np.exp(model.backoff), np.exp(model.logp)
    first = table.n_symbols
    context = table.context[first:]
    own = np.maximum(p[first:] - weight[context] * p[up[first:]], 0.0)
    weight += np.bincount(context, np.where(kept[first:], 0.0, own), minlength=table.n_contexts)
    weight[0] = np.exp(model.backoff[0])
    for k in range(2, table.order + 1):
        grams = table.grams_of(k)
        p[grams] = own[grams.start - first : grams.stop - first] + weight[table.context[grams]] * p[up[grams]]
    with np.errstate(divide="ignore"):
        return _rest(model, kept, np.minimum(np.log(p), 0.0), np.log(weight))


def check_thresholds(thresholds: Sequence[int]) -> list[int]:
    """The thresholds of count pruning, unless they make no sense."""
    found = list(thresholds)
    if not found or found[0] != 0 or any(b < a for a, b in pairwise(found)):
        raise OptionError(
            f"the counts to prune must begin with 0, for single words, and never fall, as 0, 1, 1 do; not {found}"
        )
    return found


# ---------------------------------------------------------------------------------------------- quantising


def quantised(model: BackoffModel, bits: int) -> BackoffModel:
    """A model whose log-probabilities and back-off weights of each order have at most 2^bits values.

    Each value becomes the mean of a bin, and all bins of an order hold equally many. Zero and minus infinity stay what
    they are, and so do all numbers of single words, which are few and matter most (all this as in KenLM). A file then
    takes a byte for each.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> model = fit_ngram(sentence_arrays(sample_sentences(), min_count=2, unknown="<unk>"), order=3)
    >>> len(set(quantised(model, 4).logp[model.table.grams_of(3)].tolist()))
    16
    """
    if not 2 <= bits <= 8:
        raise OptionError(f"bits must be between 2 and 8, not {bits}")
    table = model.table
    logp = _binned(model.logp, gram_bounds(table)[1:], 1 << bits)
    backoff = _binned(model.backoff, longer_contexts(table), 1 << bits)
    facts = {**model.facts, "quantised": bits}
    return _like(model, BackoffModel(model.vocabulary, table, np.minimum(logp, 0.0), backoff, facts))


def _binned(values: Vector, bounds: Counts, n_bins: int) -> Vector:
    """The means of bins that hold equally many values, for each order; 0 and −∞ have bins of their own."""
    binned = values.copy()
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
        own = binned[begin:end]
        ordinary = np.isfinite(own) & (own != 0.0)
        left = n_bins - len(np.unique(own[~ordinary]))
        distinct = np.unique(own[ordinary])
        if len(distinct) <= left:
            continue
        place = np.flatnonzero(ordinary)[np.argsort(own[ordinary], kind="stable")]
        edges = np.arange(left + 1) * len(place) // left
        means = np.add.reduceat(own[place], edges[:-1]) / np.diff(edges)
        own[place] = np.repeat(means, np.diff(edges))
    return binned


# ----------------------------------------------------------------------------------------- what they share


def closed(table: GramTable, wanted: Flags) -> Flags:
    """The grams that are wanted, and all that these need: what they begin with, and what they end with."""
    kept, up = wanted.copy(), _suffixes(table)
    kept[: table.n_symbols] = True
    for order in range(table.order, 1, -1):
        grams = np.arange(table.n_grams)[table.grams_of(order)][kept[table.grams_of(order)]]
        kept[up[grams]] = True
        kept[table.owner[table.context[grams]]] = True
    return kept


def without(model: BackoffModel, kept: Flags) -> BackoffModel:
    """A model of the grams that are kept, with their probabilities, and weights that make each sum one again."""
    table, up = model.table, _suffixes(model.table)
    first = table.n_symbols
    p, low = np.exp(model.logp[first:]), np.exp(model.logp[up[first:]])
    free, left = _unseen(model, p, low)
    gone = ~kept[first:]
    context = table.context[first:][gone]
    changed = np.bincount(context, minlength=table.n_contexts) > 0
    left += np.bincount(context, p[gone], minlength=table.n_contexts)
    free += np.bincount(context, low[gone], minlength=table.n_contexts)
    with np.errstate(divide="ignore", invalid="ignore"):
        backoff = np.where(changed, np.log(left) - np.log(free), model.backoff)
    return _rest(model, kept, model.logp, backoff)


def _unseen(model: BackoffModel, p: Vector, low: Vector) -> tuple[Vector, Vector]:
    """Of each context: what its grams leave of one after the shorter context, and after itself.

    The second is the first times the weight, which has more digits than what is left of a sum near one.
    """
    table = model.table
    context = table.context[table.n_symbols :]
    free = np.maximum(1.0 - np.bincount(context, low, minlength=table.n_contexts), 0.0)
    return free, free * np.exp(model.backoff)


def _suffixes(table: GramTable) -> NDArray[np.int32]:
    up = table.suffix
    if np.any(up[table.n_symbols :] < 0):
        raise OptionError(
            "the n-grams of the model are not complete: some have an end that is not among them"
        )
    return up


def _rest(model: BackoffModel, kept: Flags, logp: Vector, backoff: Vector) -> BackoffModel:
    """The model of the grams that are kept; contexts that nothing follows any more are no contexts."""
    table = model.table
    sizes = np.bincount(table.context[kept], minlength=table.n_contexts)
    contexts = sizes > 0
    levels = np.concatenate(
        ([0], np.cumsum([contexts[a:b].sum() for a, b in zip(table.levels, table.levels[1:])]))
    )
    n_orders = int(np.count_nonzero(np.diff(levels)))
    number = np.where(contexts, np.cumsum(contexts) - 1, -1).astype(np.int32)
    following = table.following[kept]
    smaller = GramTable(
        table.n_symbols,
        levels[: n_orders + 1].astype(np.int64),
        np.concatenate(([0], np.cumsum(sizes[contexts]))).astype(np.int64),
        table.symbol[kept],
        np.where(following >= 0, number[following], -1).astype(np.int32),
    )
    facts = {**model.facts, "order": n_orders} if n_orders < table.order else model.facts
    return _like(model, BackoffModel(model.vocabulary, smaller, logp[kept], backoff[contexts], facts))


def _like(model: BackoffModel, other: BackoffModel) -> BackoffModel:
    other.settings = model.settings
    return other
