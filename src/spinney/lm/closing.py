"""A table from any list of grams: missing prefixes and suffixes are added, which changes no probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.lm.model import Vector
from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import Counts
from spinney.lm.tables import GramTable


class GramList(NamedTuple):
    """Grams of one order, in any order, none twice; logarithms are natural."""

    #: ``[gram, place]``, oldest first.
    symbols: Ids
    logp: Vector
    backoff: Vector


class _Closed(NamedTuple):
    """Grams of one order, sorted, with all that longer ones need."""

    symbols: Ids
    logp: Vector
    backoff: Vector
    given: NDArray[np.bool_]
    prefix: Ids  # among the grams of the order below, as is the suffix
    suffix: Ids


def table_of_grams(lists: Sequence[GramList], n_symbols: int) -> tuple[GramTable, Vector, Vector]:
    """The table of lists of grams of order 1, 2, …, with log p of its grams and the weights of its contexts.

    The unigrams are all symbols in their order. A gram that is put in has the probability that backing off gave it.
    """
    orders = _closed(lists, n_symbols)
    is_context = _contexts(orders)
    sizes = [1, *(int(flags.sum()) for flags in is_context)]
    while sizes[-1] == 0:  # no gram of the highest order is a context, and perhaps there is none
        sizes.pop()
    levels = np.cumsum([0, *sizes])
    following: list[Ids] = []
    of, logp, backoff = [np.zeros(n_symbols, np.int32)], [orders[0].logp], [np.zeros(1)]
    for k, (grams, flags) in enumerate(zip(orders, is_context), 1):
        if k > 1:
            of.append(following[-1][grams.prefix])
            backed_off = np.concatenate(backoff)[of[-1]] + logp[-1][grams.suffix]
            logp.append(np.where(grams.given, grams.logp, np.minimum(backed_off, 0.0)))
        first = levels[min(k, len(levels) - 1)]
        following.append(np.where(flags, first + np.cumsum(flags) - 1, -1).astype(np.int32))
        backoff.append(grams.backoff[flags])
    n_contexts = int(levels[-1])
    gram_ptr = np.concatenate(([0], np.cumsum(np.bincount(np.concatenate(of), minlength=n_contexts))))
    symbol = np.concatenate([grams.symbols[:, -1] for grams in orders])
    table = GramTable(n_symbols, levels, gram_ptr, np.ascontiguousarray(symbol), np.concatenate(following))
    return table, np.concatenate(logp), np.concatenate(backoff)


def distinct_rows(symbols: Ids, n_symbols: int) -> tuple[Ids, Counts]:
    """Number the distinct rows in their order; and the first place of each."""
    from spinney.lm._trie_kernels import number_keys

    number, n = np.zeros(len(symbols), np.int32), 1
    place = np.zeros(0, np.int64)
    for column in symbols.T:
        keys = number.astype(np.int64) * n_symbols + column
        number, place, _ = number_keys(keys, max(1, (n * n_symbols - 1).bit_length()))
        n = max(1, len(place))
    return number, place


def _closed(lists: Sequence[GramList], n_symbols: int) -> list[_Closed]:
    """Longest first: what an order needs of the one below is known when its turn comes."""
    nothing = np.empty(0, np.int32)
    orders: list[_Closed] = []
    for own in reversed(lists):
        n_own, wanted = len(own.symbols), [own.symbols]
        if orders:
            wanted += [orders[-1].symbols[:, :-1], orders[-1].symbols[:, 1:]]
        rows = np.concatenate(wanted)
        number, place = distinct_rows(rows, n_symbols)
        if orders:
            prefix, suffix = np.split(number[n_own:], 2)
            orders[-1] = orders[-1]._replace(prefix=prefix, suffix=suffix)
        given = place < n_own
        source = np.where(given, place, 0)
        logp = np.where(given, own.logp[source], np.nan) if n_own else np.full(len(place), np.nan)
        backoff = np.where(given, own.backoff[source], 0.0) if n_own else np.zeros(len(place))
        orders.append(_Closed(rows[place], logp, backoff, given, nothing, nothing))
    return orders[::-1]


def _contexts(orders: Sequence[_Closed]) -> list[NDArray[np.bool_]]:
    """Which grams are contexts: those with a weight or a continuation, and the suffixes of such."""
    flags: list[NDArray[np.bool_]] = []
    longer: _Closed | None = None
    for grams in reversed(orders):
        is_context = grams.backoff != 0
        if longer is not None:
            is_context[longer.prefix] = True
            is_context[longer.suffix[flags[-1]]] = True
        flags.append(is_context)
        longer = grams
    return flags[::-1]
