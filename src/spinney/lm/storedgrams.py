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
from spinney.lm.diskcolumns import Columns, HeldColumn, filled, in_pieces
from spinney.lm.narrow import count_tensors, stored_counts, stored_symbols, symbol_tensors
from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import Counts
from spinney.lm.tables import GramTable

_CODES = 256  # values that a byte can tell apart
_GRAMS = 1 << 20  # that are sorted at once
_SAMPLE = 2000  # values that tell mostly whether there are many different ones

Values = NDArray[np.float64]
Singles = NDArray[np.float32]


class Ordered(NamedTuple):
    """A table whose contexts are in the order of their grams, and what the grams and contexts were before."""

    table: GramTable
    grams: Counts
    contexts: Counts


def in_order(table: GramTable, column: Columns = HeldColumn) -> Ordered:
    """Number contexts by the grams that are the same strings, and grams by their contexts and symbols.

    ``column`` makes the arrays: where they are files, only a piece of each is in memory at a time.
    """
    gram, context = column("ordered_grams", np.int64), column("ordered_contexts", np.int64)
    gram.append(np.arange(table.n_symbols))
    context.append(np.zeros(1, np.int64))
    begin = 0
    for _ in range(1, table.order):
        end, known = len(gram), len(context)
        for start, stop in in_pieces(begin, end):
            following = table.following[gram.read(start, stop)]
            context.append(following[following >= 0])
        begin = end
        for start, stop in in_pieces(known, len(context)):
            level = context.read(start, stop).astype(np.int64)
            for part in np.split(level, _cuts(_sizes(table, level))):
                gram.append(_grams_of(table, part))
    n_links = 0
    symbol, links = column("ordered_symbols", np.int32), column("ordered_links", np.int32)
    for start, stop in in_pieces(0, len(gram)):
        here = gram.read(start, stop)
        symbol.append(table.symbol[here])
        numbers = np.cumsum(table.following[here] >= 0)
        links.append(np.where(table.following[here] >= 0, n_links + numbers, -1))
        n_links += int(numbers[-1])
    ptr, n_grams = column("ordered_ptr", np.int64), 0
    ptr.append(np.zeros(1, np.int64))
    for start, stop in in_pieces(0, len(context)):
        ends = n_grams + np.cumsum(_sizes(table, context.read(start, stop)))
        ptr.append(ends)
        n_grams = int(ends[-1])
    found = GramTable(table.n_symbols, table.levels, ptr.mapped(), symbol.mapped(), links.mapped())
    ordered = Ordered(found, gram.mapped(), context.mapped())
    for done in (gram, context, symbol, links, ptr):
        done.close()
    return ordered


def _sizes(table: GramTable, contexts: Counts) -> Counts:
    """How many grams these contexts have."""
    return np.asarray(table.gram_ptr[contexts + 1] - table.gram_ptr[contexts])


def _cuts(sizes: Counts) -> NDArray[np.intp]:
    """Where to cut contexts of these sizes, so that the parts have no more grams than are worked on at once."""
    return np.flatnonzero(np.diff(np.cumsum(sizes) // _GRAMS)) + 1


def _grams_of(table: GramTable, contexts: Counts) -> Counts:
    """The grams of these contexts, those of each by their symbols."""
    n = _sizes(table, contexts)
    place = np.arange(int(n.sum())) + np.repeat(table.gram_ptr[contexts] - np.cumsum(n) + n, n)
    of = np.repeat(np.arange(len(contexts)), n)
    return place[np.argsort(of * table.n_symbols + table.symbol[place], kind="stable")]


def gram_tensors(ordered: GramTable, column: Columns = HeldColumn) -> dict[str, NDArray[np.generic]]:
    """The arrays of a table that is in order."""
    links, ends = ordered.following[: ordered.grams_of(ordered.order).start], ordered.gram_ptr[1:]
    bits = column("linked", np.uint8)
    sizes = column("ordered_sizes", np.int64)
    return {
        "levels": ordered.levels,
        "linked": filled(bits, len(links), lambda a, b: np.packbits(links[a:b] >= 0, bitorder="little")),
        **count_tensors("sizes", filled(sizes, len(ends) - 1, lambda a, b: np.diff(ends[a : b + 1])), column),
        **symbol_tensors("symbol", ordered.symbol[ordered.n_symbols :], ordered.n_symbols, column),
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


def value_tensors(
    name: str, single: Singles, bounds: Counts, column: Columns = HeldColumn
) -> dict[str, NDArray[np.generic]]:
    """Numbers as they are, in single precision; or a byte for each, where those of every order have at most 256 values.

    The numbers of an order are ``single[bounds[k]:bounds[k + 1]]``. Those before ``bounds[0]`` belong to single words,
    and are always in single precision.
    """
    first, rest = single[: bounds[0]], single[bounds[0] :]
    orders = [single[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist())]
    found = [_distinct(order) for order in orders]
    book = np.zeros((len(orders), _CODES), np.float32)
    if any(distinct is None for distinct in found) or len(rest) + book.nbytes >= rest.nbytes:
        return {f"{name}.single": single}
    codes = column(f"{name}.code", np.uint8)
    for k, (order, distinct) in enumerate(zip(orders, found)):
        assert distinct is not None
        book[k, : len(distinct)] = distinct
        for start, stop in in_pieces(0, len(order)):
            codes.append(np.searchsorted(distinct, order[start:stop]))
    packed = codes.mapped()
    codes.close()
    return {f"{name}.single": first, f"{name}.code": packed, f"{name}.book": book}


def _distinct(values: Singles) -> Singles | None:
    """The numbers that occur, sorted; None if they are more than 256."""
    found = np.unique(values[:_SAMPLE])
    for start, stop in in_pieces(0, len(values)):
        if len(found) > _CODES:
            return None
        found = np.union1d(found, values[start:stop])
    return found if len(found) <= _CODES else None


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
