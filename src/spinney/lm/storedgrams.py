"""The grams of a table in a model file, in as few bytes as plain arrays allow.

Contexts are numbered in the order of the grams that are the same strings. So a bit for each gram says all that the
links from grams to contexts say, and a byte for each context says how many grams it has. A symbol takes two bytes, or
three if there are more than 65,536; the grams of the empty context are all symbols and take none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.files import ModelFile
from spinney.lm.narrow import count_tensors, stored_counts, stored_symbols, symbol_tensors
from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import Counts
from spinney.lm.tables import GramTable

_CODES = 256  # values that a byte can tell apart

Values = NDArray[np.float64]


class Ordered(NamedTuple):
    """A table whose contexts are in the order of their grams, and what the grams and contexts were before."""

    table: GramTable
    grams: Counts
    contexts: Counts


def in_order(table: GramTable) -> Ordered:
    """Number contexts by the grams that are the same strings, and grams by their contexts and symbols."""
    sizes = np.diff(table.gram_ptr)
    grams, contexts = [np.arange(table.n_symbols)], [np.zeros(1, np.int64)]
    for _ in range(1, table.order):
        following = table.following[grams[-1]]
        level = following[following >= 0].astype(np.int64)
        contexts.append(level)
        n = sizes[level]
        place = np.arange(int(n.sum())) + np.repeat(table.gram_ptr[level] - np.cumsum(n) + n, n)
        context = np.repeat(np.arange(len(level)), n)
        grams.append(place[np.argsort(context * table.n_symbols + table.symbol[place], kind="stable")])
    gram, context = np.concatenate(grams), np.concatenate(contexts)
    linked = table.following[gram] >= 0
    links = np.where(linked, np.cumsum(linked), -1).astype(np.int32)
    ptr = np.concatenate(([0], np.cumsum(sizes[context])))
    return Ordered(GramTable(table.n_symbols, table.levels, ptr, table.symbol[gram], links), gram, context)


def gram_tensors(ordered: GramTable) -> dict[str, NDArray[np.generic]]:
    """The arrays of a table that is in order."""
    links = ordered.following[: ordered.grams_of(ordered.order).start] >= 0
    return {
        "levels": ordered.levels,
        "linked": np.packbits(links, bitorder="little"),
        **count_tensors("sizes", np.diff(ordered.gram_ptr)[1:]),
        **symbol_tensors("symbol", ordered.symbol[ordered.n_symbols :], ordered.n_symbols),
    }


def stored_grams(file: ModelFile, n_words: int) -> GramTable:
    """The table that :func:`gram_tensors` put into a file; or that of an earlier version, which kept whole arrays."""
    if "following" in file.tensors:
        return GramTable.from_file(file, n_words)
    n_symbols = n_words + 2
    longer = stored_symbols(file, "symbol", n_symbols)
    symbol = np.concatenate((np.arange(n_symbols, dtype=np.int32), longer))
    sizes = np.concatenate(([n_symbols], stored_counts(file, "sizes", len(symbol))))
    levels = np.array(file.tensor("levels", np.int64, low=0, high=len(sizes)))
    gram_ptr = np.concatenate(([0], np.cumsum(sizes)))
    if len(levels) >= 2 and gram_ptr[-1] == len(symbol):
        links = _links(file, int(gram_ptr[levels[-2]]), len(symbol))
        if links is not None and np.count_nonzero(links >= 0) == len(sizes) - 1:
            table = GramTable(n_symbols, levels, gram_ptr, symbol, links)
            if table.is_sound():
                return table
    raise file.error("damaged: the arrays of its n-grams do not match")


def _links(file: ModelFile, n_below: int, n_grams: int) -> Ids | None:
    """The context of each gram, or -1; only grams below the highest order have any."""
    bits = file.tensor("linked", np.uint8)
    if len(bits) != -(-n_below // 8):
        return None
    linked = np.unpackbits(bits, count=n_below, bitorder="little").astype(bool)
    links = np.full(n_grams, -1, np.int32)
    links[:n_below][linked] = np.arange(1, np.count_nonzero(linked) + 1)
    return links


# ------------------------------------------------------------------------------------------------- values


def value_tensors(name: str, values: Values, bounds: Counts) -> dict[str, NDArray[np.generic]]:
    """Numbers in single precision; or a byte for each, where those of every order have at most 256 values.

    The numbers of an order are ``values[bounds[k]:bounds[k + 1]]``. Those before ``bounds[0]`` belong to single words,
    and are always in single precision.
    """
    single = values.astype(np.float32)
    first, rest = single[: bounds[0]], single[bounds[0] :]
    orders = [single[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist())]
    if all(_is_few(order) for order in orders):
        found = [np.unique(order, return_inverse=True) for order in orders]
        book = np.zeros((len(orders), _CODES), np.float32)
        for k, (distinct, _) in enumerate(found):
            book[k, : len(distinct)] = distinct
        if len(rest) + book.nbytes < rest.nbytes:
            codes = np.concatenate([code for _, code in found]).astype(np.uint8)
            return {f"{name}.single": first, f"{name}.code": codes, f"{name}.book": book}
    return {f"{name}.single": single}


def _is_few(values: NDArray[np.float32]) -> bool:
    """Whether these are at most 256 numbers, of which a sample tells most."""
    return len(np.unique(values[:2000])) <= _CODES and len(np.unique(values)) <= _CODES


def stored_values(file: ModelFile, name: str, bounds: Counts, high: float | None) -> Values:
    """The numbers that :func:`value_tensors` put into a file."""
    values = file.tensor(f"{name}.single", np.float32, low=-np.inf, high=high)
    if f"{name}.code" in file.tensors:
        codes = file.tensor(f"{name}.code", np.uint8)
        book = file.tensor(f"{name}.book", np.float32, 2, low=-np.inf, high=high)
        if len(codes) != bounds[-1] - bounds[0] or book.shape != (len(bounds) - 1, _CODES):
            raise file.error(f"damaged: the values of {name!r} do not match the n-grams")
        order = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        values = np.concatenate((values, book[order, codes]))
    if len(values) != bounds[-1]:
        raise file.error(f"damaged: the values of {name!r} do not match the n-grams")
    return values.astype(np.float64)
