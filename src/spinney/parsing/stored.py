"""Grammars in model files, with checks of all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.files import ModelFile, room_for
from spinney.parsing.compression import CompressedGrammar, compressed_starts
from spinney.parsing.grammar import Grammar, Layout, Rules
from spinney.parsing.lexicon import ANY, Lexicon

_PARTS = ("root", "binary", "unary", "lexical")
#: Probabilities below this are not stored: no derivation with them would ever win.
_LEAST = 1e-12
_MOST_STATES = 1 << 15  # of a label; the sizes of all rules can then be added without overflow


def rule_tensors(rules: Rules) -> tuple[dict[str, NDArray[Any]], dict[str, Sequence[str]]]:
    """Rules as tensors and lists of strings."""
    lexicon = rules.lexicon
    tensors: dict[str, NDArray[Any]] = {
        "binary": rules.binary,
        "unary": rules.unary,
        "word_count": lexicon.count,
        "word_signature": lexicon.signature_row,
        "word_start": lexicon.start,
        "word_tag": lexicon.tag,
        "rare": np.array([lexicon.n_words, lexicon.rare], np.int64),
    }
    return tensors, {"labels": rules.labels, "rows": lexicon.rows}


def read_rules(model: ModelFile) -> Rules:
    """The rules of a model file."""
    labels, rows = tuple(model.texts("labels")), tuple(model.texts("rows"))
    L = len(labels)
    binary, unary = (np.array(model.tensor(name, np.int32, ndim=2)) for name in ("binary", "unary"))
    if binary.shape[1:] != (3,) or unary.shape[1:] != (2,):
        raise model.error("damaged: its rules do not have two or three labels")
    for rules in (binary, unary):
        _check_numbers(model, rules, L)
        if len(rules) > 1 and not np.all(np.any(np.diff(rules, axis=0) != 0, axis=1)):
            raise model.error("damaged: it has a duplicate rule")
    sizes = model.tensor("rare", np.int64)
    signatures, tag = (np.array(model.tensor(name, np.int32)) for name in ("word_signature", "word_tag"))
    count = np.array(model.tensor("word_count", np.int64, low=0))
    start = np.array(model.offsets("word_start", len(tag)))
    _check_numbers(model, tag, L)
    fits = (
        len(sizes) == 2
        and 0 <= sizes[0] < len(rows)
        and sizes[1] >= 0
        and rows[-1] == ANY
        and len(set(labels)) == L
        and (len(count), len(signatures), len(start)) == (len(rows), int(sizes[0]), len(rows) + 1)
        and np.all((signatures >= sizes[0]) & (signatures < len(rows)))
    )
    if not fits:
        raise model.error("damaged: its words and tags do not match")
    return Rules(
        labels, binary, unary, Lexicon(rows, int(sizes[0]), count, signatures, start, tag, int(sizes[1]))
    )


def grammar_tensors(grammar: Grammar | CompressedGrammar) -> dict[str, NDArray[Any]]:
    """The numbers of a grammar, in single precision without negligible ones."""
    tensors: dict[str, NDArray[Any]] = {"n_states": grammar.layout.n_states}
    if isinstance(grammar, CompressedGrammar):
        tensors |= {"rank": grammar.rank, "error": grammar.error.astype(np.float32)}
    for name in _PARTS:
        values = getattr(grammar, name)
        kept = np.flatnonzero(np.abs(values) >= _LEAST)
        if 2 * len(kept) < len(values):
            tensors[f"{name}_at"] = kept.astype(np.uint32)
            tensors |= room_for(name, len(values), [kept.astype(np.uint32), values[kept].astype(np.float32)])
            values = values[kept]
        tensors[name] = values.astype(np.float32)
    return tensors


def read_grammar(model: ModelFile, rules: Rules, *, signed: bool) -> Grammar | CompressedGrammar:
    """The grammar in a part of a model file."""
    n_states = np.array(model.tensor("n_states", np.int32, low=1, high=_MOST_STATES))
    if len(n_states) != rules.n_labels:
        raise model.error("damaged: its labels have no states")
    layout = Layout(rules, n_states)
    binary_start, rank = layout.binary_start, None
    if "rank" in model.tensors:
        rank = np.array(model.tensor("rank", np.int32, low=0, high=_MOST_STATES))
        error = np.array(model.tensor("error", np.float32))
        if not len(rank) == len(error) == len(rules.binary):
            raise model.error("damaged: its ranks do not match its rules")
        binary_start = compressed_starts(layout, rank)
    starts = layout.state_start, binary_start, layout.unary_start, layout.entry_start
    parts = []
    for name, start in zip(_PARTS, starts, strict=True):
        values, size = model.tensor(name, np.float32), int(start[-1])
        if f"{name}_at" in model.tensors:
            at = model.tensor(f"{name}_at", np.uint32)
            if len(at) != len(values) or at.max(initial=0) >= max(size, 1):
                raise model.error(f"damaged: the arrays of its {name} rules do not match")
            model.check_room(name, size, [at, values])
            full = np.zeros(size)
            full[at] = values
            values = full
        any_sign = signed or (name == "binary" and rank is not None)
        negative = not any_sign and values.min(initial=0.0) < 0
        if len(values) != size or negative:
            raise model.error(f"damaged: some numbers of its {name} rules are not probabilities")
        parts.append(values.astype(np.float64))
    root, binary, unary, lexical = parts
    if rank is not None:
        small = error.astype(np.float64)
        return CompressedGrammar(layout, root, binary, binary_start, rank, small, unary, lexical, signed)
    return Grammar(layout, root, binary, unary, lexical, signed)


def _check_numbers(model: ModelFile, labels: NDArray[Any], L: int) -> None:
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= L:
        raise model.error("damaged: a rule has an unknown label")
