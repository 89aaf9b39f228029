"""Two models on the same tests: how sure the differences between them are."""

from __future__ import annotations

from os.path import basename
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.classes.heads import below_nouns, comparisons_in, operators_of, structure_of
from spinney.classes.model import WordClassModel
from spinney.corpus import TokenArrays
from spinney.errors import OptionError, SettingError, about
from spinney.evaluate import pearson_of_pairs, read_deviance, welch_t
from spinney.evaluate.composition import composition_items
from spinney.evaluate.phrases import deviance_items
from spinney.evaluate.significance import Statistic
from spinney.evaluate.wordtests import pair_items, paired_difference
from spinney.kinds import load_task
from spinney.settings.classes import Evaluate
from spinney.views import Extra, Table, View

#: Held-out text is drawn again in blocks of neighbouring sentences, at most so many.
_BLOCKS = 500


class Items(NamedTuple):
    """What a score is computed from: which items are known, a row for each, and how rows become a number."""

    known: NDArray[np.bool_]
    rows: NDArray[np.float64]
    statistic: Statistic


def per_token(items: NDArray[Any]) -> float:
    """The log-likelihood per token of blocks of text with their numbers of tokens.

    Examples
    --------
    >>> per_token(np.array([[-10.0, 2], [-20.0, 4]]))
    -5.0
    """
    return float(items[:, 0].sum() / items[:, 1].sum())


def against_views(model: WordClassModel, data: Any, s: Evaluate) -> list[View]:
    """A line for each test: both scores on what both models know, and a paired bootstrap of their difference."""
    if not (s.similarity or s.composition or s.deviance or data is not None):
        raise SettingError(
            "{against} compares two models on {similarity}, {composition}, {deviance} or held-out text: give one"
        )
    given: Any = s.against
    other: WordClassModel = load_task(given, "classes") if isinstance(given, str) else given
    if data is not None and set(other.vocabulary.words) != set(model.vocabulary.words):
        raise OptionError(
            "likelihoods of models with different vocabularies cannot be compared: "
            "fit both with the same words, or leave out the text"
        )
    mine, theirs = items_of_tests(model, data, s), items_of_tests(other, data, s)
    found = [
        {
            "test": name,
            "score": score,
            **paired_difference(theirs[name, score][:2], one[:2], one.statistic, s.seed),
        }
        for (name, score), one in mine.items()
        if (name, score) in theirs
    ]
    keys = ("system", "baseline", "difference", "low", "high", "p_value", "n")
    rows = [[row["test"], row["score"], *(row.get(key, "") for key in keys)] for row in found]
    header = ["test", "score", "this", "other", "difference", "low", "high", "p", "n"]
    return [Table("", f"Beside {_name(s.against)}", header, rows), Extra("against", "", found)]


def _name(against: Any) -> str:
    return basename(against) if isinstance(against, str) else "the other model"


def items_of_tests(model: WordClassModel, data: Any, s: Evaluate) -> dict[tuple[str, str], Items]:
    """What the tests of a model come from, by test and score."""
    measure: Any = s.measure.replace("-", "_")
    vectors, structure = model.comparable_vectors(), structure_of(model)
    found: dict[tuple[str, str], Items] = {}
    for file in s.similarity:
        with about(file):
            items = pair_items(vectors, file, measure)
        found[basename(file), "Pearson"] = Items(*items, pearson_of_pairs)
    for file in s.composition:
        with about(file):
            for kind, (some, second) in comparisons_in(file, s).items():
                name = f"{basename(file)}, {kind}" if kind else basename(file)
                for operator, (one, T) in operators_of(model).items():
                    items = composition_items(vectors, some, T, one, structure, measure, second=second)
                    found[name, f"Pearson, {operator}"] = Items(*items, pearson_of_pairs)
    for file in s.deviance:
        with about(file):
            items = deviance_items(vectors, read_deviance(file), below_nouns(model), structure)
        found[basename(file), "Welch's t"] = Items(*items, welch_t)
    if data is not None:
        found[basename(str(data)), "log-likelihood per token"] = _text_items(model, data, s)
    return found


def _text_items(model: WordClassModel, data: Any, s: Evaluate) -> Items:
    """The log-likelihood and the number of tokens of each block of a text."""
    from spinney.classes.scoring import held_out_text

    with about(str(data)):
        arrays, _ = held_out_text(model, data, s)
    blocks: list[TokenArrays] = arrays.shards(min(_BLOCKS, max(1, len(arrays))))
    rows = [[model.held_out(block, s.threads)["log_likelihood"], block.n_tokens] for block in blocks]
    return Items(np.ones(len(rows), bool), np.array(rows, np.float64), per_token)
