"""CRF++'s model files: the text that ``crf_learn -t`` writes, and the binary file that ``crf_test`` reads.

Both have the labels, the templates, the first weight of each observation, and the weights. In the binary file the
observations are a double-array trie (Aoe 1989), whose units are a base and a check. The cost factor of the file is that
of training: ``crf_test`` has its own, which is 1 unless it is told otherwise.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath, open_bytes
from spinney.errors import InputError, ModelFileError
from spinney.tagging.foreign.assembling import Weighed, assembled
from spinney.tagging.foreign.splitting import expanded
from spinney.tagging.patterns import Pattern, parse_patterns
from spinney.tagging.tagger import Tagger

_HEADER = struct.Struct("<IidIII")  # version, type, cost factor, weights, columns, bytes of the trie
_LENGTH = struct.Struct("<I")
_LONGEST = 4096  # bytes of an observation
_ENTRY = re.compile(r"(\d{1,9}) (.+)")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)


class _Model(NamedTuple):
    """What a file holds."""

    labels: Sequence[str]
    templates: Sequence[str]
    #: The place of the first weight of each observation.
    first: Mapping[str, int]
    weights: Any


def read_crfpp(path: FilePath) -> Tagger:
    """The tagger in a model file of CRF++, text or binary, with its templates.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/m.txt"
    >>> with open(path, "w") as file:
    ...     _ = file.write("version: 100\\ncost-factor: 1\\nmaxid: 4\\nxsize: 1\\n\\nD\\nN\\n\\nU:%x[0,0]\\n\\n")
    ...     _ = file.write("2 U:dog\\n0 U:the\\n\\n1.0\\n0.0\\n0.0\\n1.5\\n")
    >>> read_crfpp(path).predict([["the", "dog"]])
    [['D', 'N']]
    """
    with open_bytes(path) as file:
        data = file.read()
    try:
        model = _text(data.decode()) if data.startswith(b"version:") else _binary(data)
        patterns = parse_patterns("\n".join(model.templates))
        u, b = _weighed(model, patterns)
    except UnicodeDecodeError:
        raise ModelFileError(
            "not UTF-8", path=os.fspath(path), remedy="only models of UTF-8 are read"
        ) from None
    except ValueError as error:
        what = error.what if isinstance(error, InputError) else str(error)
        raise ModelFileError(what, path=os.fspath(path), remedy="is it a model of CRF++?") from None
    return assembled(Tagger(), "CRF++", model.labels, patterns, u, b)


def _weighed(model: _Model, patterns: Sequence[Pattern]) -> tuple[Weighed, Weighed]:
    """The weights of each observation, from its first on: one for each label (U) or pair of labels (B)."""
    Y = len(model.labels)
    if not Y or len(set(model.labels)) < Y:
        raise ValueError("damaged: there are no labels, or a label occurs twice")
    with np.errstate(invalid="ignore"):  # what is not a number is refused below
        values = np.asarray(model.weights, np.float64)
    if not np.isfinite(values).all():
        raise ValueError("damaged: a weight is not a number")
    texts = list(model.first)
    starts = np.array(list(model.first.values()), np.int64)
    is_pair = np.array([text[:1] == "B" for text in texts], np.bool_)
    if not all(text[:1] in ("U", "B") for text in texts):
        raise ValueError("damaged: an observation is neither of labels nor of pairs")
    size = np.where(is_pair, Y * Y, Y)
    if len(starts) and not (starts >= 0).all() & (starts + size <= len(values)).all():
        raise ValueError("damaged: an observation without weights")
    # Shared weights would make a small file a large model.
    if size.sum() > len(values):
        raise ValueError("damaged: there are more observations than weights")
    found = []
    for which, chosen in (("u", ~is_pair), ("b", is_pair)):
        rows = np.repeat(np.flatnonzero(chosen), size[chosen])
        columns = np.tile(np.arange(Y if which == "u" else Y * Y), int(chosen.sum()))
        value = values[starts[rows] + columns]
        active = value != 0
        weights = rows[active], columns[active], value[active]
        found.append(expanded(patterns, "u" if which == "u" else "b", texts, weights))
    return found[0], found[1]


def _text(data: str) -> _Model:
    """The text: five blocks with blank lines between them."""
    lines = data.split("\n")
    blocks: list[list[str]] = [[]]
    for line in lines:
        line = line.removesuffix("\r")
        if line:
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    if len(blocks) < 5:
        raise ValueError("the file ends before its weights: it is truncated")
    header = dict(line.partition(":")[::2] for line in blocks[0])
    if header.get("version", "").strip() != "100":
        raise ValueError("a model of an unknown version of CRF++")
    entries = [_ENTRY.fullmatch(line) for line in blocks[3]]
    if None in entries:
        raise ValueError(f"damaged: {blocks[3][entries.index(None)][:40]!r} is not an observation")
    weights = [_number(line) for line in blocks[4]]
    if header.get("maxid", "").strip() != str(len(weights)):
        raise ValueError(
            f"the file has {len(weights)} weights of{header.get('maxid', ' ?')[:20]}: it is truncated"
        )
    first = {entry[2]: int(entry[1]) for entry in entries if entry is not None}
    return _Model(blocks[1], blocks[2], first, weights)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"damaged: {text[:40]!r} is not a number")
    return float(text)


def _binary(data: bytes) -> _Model:
    if len(data) < _HEADER.size + 8:
        raise ValueError("the file ends in its header: it is truncated")
    version, _, _, n_weights, _, trie_bytes = _HEADER.unpack_from(data)
    if version != 100:
        raise ValueError("a model of an unknown version of CRF++")
    labels, at = _strings(data, _HEADER.size)
    templates, at = _strings(data, at)
    if trie_bytes % 8 or at + trie_bytes + 4 * n_weights != len(data):
        raise ValueError("the file has not the size that its header tells: it is truncated or damaged")
    trie = np.frombuffer(data, np.dtype([("base", "<i4"), ("check", "<u4")]), trie_bytes // 8, at)
    weights = np.frombuffer(data, "<f4", n_weights, at + trie_bytes)
    return _Model(labels, templates, _keys(trie["base"], trie["check"]), weights)


def _strings(data: bytes, at: int) -> tuple[list[str], int]:
    """Strings with a NUL after each, all of them after their length."""
    if at + _LENGTH.size > len(data):
        raise ValueError("the file ends in its header: it is truncated")
    (length,) = _LENGTH.unpack_from(data, at)
    end = at + _LENGTH.size + length
    if end > len(data):
        raise ValueError("the file ends in its header: it is truncated")
    text = data[at + _LENGTH.size : end].decode()
    return [one for one in text.split("\0") if one], end


def _keys(base: NDArray[np.int32], check: NDArray[np.uint32]) -> dict[str, int]:
    """All strings of a double-array trie, with their numbers."""
    order = np.argsort(check, kind="stable")
    ordered = check[order]
    found: dict[str, int] = {}
    visited = np.zeros(len(base), np.bool_)
    waiting: list[tuple[int, bytes]] = [(0, b"")] if len(base) else []
    while waiting:
        node, key = waiting.pop()
        here = int(base[node])
        if here < 0 or len(key) > _LONGEST:
            raise ValueError("damaged: a string of the trie has no end")
        # The children of a node are the units whose check is its base; the one at the base itself ends a string.
        a, b = np.searchsorted(ordered, [here, here + 1])
        for child in order[a:b].tolist():
            sign = child - here - 1
            if child in (0, node) or not -1 <= sign <= 255:
                continue
            if visited[child]:
                raise ValueError("damaged: a part of the trie is reached in two ways")
            visited[child] = True
            if sign >= 0:
                waiting.append((child, key + bytes([sign])))
            elif base[child] < 0:
                found[key.decode()] = -int(base[child]) - 1
    return found
