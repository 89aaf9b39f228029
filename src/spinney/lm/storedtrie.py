"""A suffix trie in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.files import ModelFile
from spinney.lm.narrow import count_tensors, stored_counts, stored_symbols, symbol_tensors
from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import SuffixTrie, hash_table

_NOTHING = np.empty(0, np.int32)
_DEEPEST = (1 << 31) - 1

_Arrays = dict[str, NDArray[Any]]


def trie_tensors(trie: SuffixTrie) -> dict[str, NDArray[Any]]:
    """The arrays of a trie, without its events and what follows from others; the sizes go into a header.

    Where no node is collapsed, all lengths are 1, and places in the text are not needed.
    """
    found: dict[str, NDArray[Any]] = {
        "trie.parent": trie.parent,
        **symbol_tensors("trie.older", trie.older + np.int32(1), trie.n_symbols + 1),
        **count_tensors("trie.depth", trie.depth),
        **count_tensors("trie.occurrences", trie.occurrences),
        **count_tensors("trie.sizes", np.diff(trie.gram_ptr)),
        **symbol_tensors("trie.symbol", trie.symbol, trie.n_outcomes),
        **count_tensors("trie.count", trie.count),
    }
    if trie.collapsed:
        found |= {**count_tensors("trie.length", trie.length), "trie.place": trie.place}
    return found


def trie_header(trie: SuffixTrie) -> dict[str, int]:
    """The sizes of a trie."""
    return {"n_outcomes": trie.n_outcomes, "n_symbols": trie.n_symbols}


def stored_trie(file: ModelFile, text: Ids) -> SuffixTrie:
    """The trie of a file, checked so that no kernel can go astray.

    ``text`` is the stream in which collapsed nodes are read; empty if there are none.
    """
    n_outcomes, n_symbols = file.fact("n_outcomes", int), file.fact("n_symbols", int)
    if not (0 < n_outcomes < 1 << 31 and 0 < n_symbols < (1 << 31) - 1):
        raise file.error("damaged: the contexts do not form a trie")
    ints, longs = _whole(file) if "trie.up" in file.tensors else _narrow(file, n_outcomes, n_symbols)
    trie = SuffixTrie(
        n_outcomes,
        n_symbols,
        ints["parent"],
        ints["older"],
        ints["depth"],
        ints["length"],
        longs["place"],
        longs["occurrences"],
        np.zeros(len(ints["parent"]), np.int64),
        longs["gram_ptr"],
        ints["symbol"],
        ints["up"],
        longs["count"],
        _NOTHING,
        _NOTHING,
    )
    if not _sound({**ints, **longs}, n_outcomes, n_symbols, text):
        raise file.error("damaged: the contexts do not form a trie")
    return trie


def _whole(file: ModelFile) -> tuple[_Arrays, _Arrays]:
    """The arrays as earlier versions kept them."""
    ints = {
        name: file.tensor(f"trie.{name}", np.int32)
        for name in ("parent", "older", "depth", "length", "symbol", "up")
    }
    longs = {name: file.tensor(f"trie.{name}", np.int64) for name in ("place", "occurrences", "count")}
    longs["gram_ptr"] = file.offsets("trie.gram_ptr", len(ints["symbol"]))
    return ints, longs


def _narrow(file: ModelFile, n_outcomes: int, n_symbols: int) -> tuple[_Arrays, _Arrays]:
    """The arrays that :func:`trie_tensors` made narrow, and what follows from them."""
    from spinney.lm._trie_kernels import parent_grams

    parent = np.array(file.tensor("trie.parent", np.int32, low=-1))
    n = len(parent)
    symbol = stored_symbols(file, "trie.symbol", n_outcomes)
    sizes = stored_counts(file, "trie.sizes", len(symbol))
    gram_ptr = np.concatenate(([0], np.cumsum(sizes)))
    if len(sizes) != n or gram_ptr[-1] != len(symbol) or np.any(parent >= np.arange(n)):
        raise file.error("damaged: the contexts do not form a trie")
    collapsed = "trie.place" in file.tensors
    keys = np.repeat(np.arange(n, dtype=np.int64), sizes) * n_outcomes + symbol
    ints = {
        "parent": parent,
        "older": stored_symbols(file, "trie.older", n_symbols + 1) - np.int32(1),
        "depth": stored_counts(file, "trie.depth", _DEEPEST).astype(np.int32),
        "length": stored_counts(file, "trie.length", _DEEPEST).astype(np.int32)
        if collapsed
        else np.ones(n, np.int32),
        "symbol": symbol,
        "up": parent_grams(parent, gram_ptr, symbol, n_outcomes, *hash_table(keys)),
    }
    longs = {
        "place": np.array(file.tensor("trie.place", np.int64)) if collapsed else np.zeros(n, np.int64),
        "occurrences": stored_counts(file, "trie.occurrences"),
        "count": stored_counts(file, "trie.count"),
        "gram_ptr": gram_ptr,
    }
    return ints, longs


def _sound(arrays: Mapping[str, NDArray[np.generic]], n_outcomes: int, n_symbols: int, text: Ids) -> bool:
    parent, older, depth, length, symbol, up = (
        np.asarray(arrays[name]) for name in ("parent", "older", "depth", "length", "symbol", "up")
    )
    place, ptr = np.asarray(arrays["place"]), np.asarray(arrays["gram_ptr"])
    n, grams = len(parent), len(symbol)
    same = all(len(arrays[name]) == n for name in ("older", "depth", "length", "place", "occurrences"))
    if not (n and same and len(ptr) == n + 1 and len(up) == grams == len(arrays["count"])):
        return False
    if not (0 < n_outcomes < 2**31 and 0 < n_symbols < 2**31 and ptr[0] == 0 and ptr[-1] == grams):
        return False
    if text.min(initial=0) < -1 or text.max(initial=0) >= n_symbols:
        return False
    if np.any(np.diff(ptr) < 0) or np.any(parent < -1) or np.any(parent >= np.arange(n)) or parent[0] >= 0:
        return False
    roots = parent < 0
    n_roots = int(np.count_nonzero(roots))
    if not roots[:n_roots].all() or np.any(older[~roots] < 0) or np.any(older >= n_symbols):
        return False
    if np.any(length < 1) or np.any(length[roots] != 1) or np.any(depth[roots] != 0):
        return False
    if np.any(depth[~roots] != depth[parent[~roots]].astype(np.int64) + length[~roots]):
        return False
    if np.any((length > 1) & ~roots & ((place < depth) | (place > len(text)))):
        return False
    context = np.repeat(np.arange(n), np.diff(ptr))
    inner = ~roots[context]
    if (
        np.any(symbol < 0)
        or np.any(symbol >= n_outcomes)
        or np.any(up[~inner] != -1)
        or np.any(up[inner] < 0)
    ):
        return False
    # A parent gram is the same symbol after the parent context, which comes before.
    return bool(
        np.all(up < np.arange(grams))
        and np.all(symbol[up[inner]] == symbol[inner])
        and np.all(context[up[inner]] == parent[context[inner]])
    )
