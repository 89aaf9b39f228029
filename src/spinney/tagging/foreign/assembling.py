"""A tagger from weights that another program learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from spinney.memory import check_memory
from spinney.tagging import summary
from spinney.tagging.extract import Extractor, Which
from spinney.tagging.sequences import Floats
from spinney.tagging.support import Shape
from spinney.tagging.tagger import Tagger
from spinney.tagging.weights import ChainWeights

#: An observation: the index of its pattern, and what the fields of the pattern see.
Seen = tuple[int, tuple[str, ...]]


class Weighed(NamedTuple):
    """Weights by observation: the observations, and for each weight its observation and its label or pair of labels."""

    seen: Sequence[Seen]
    rows: Any
    columns: Any
    values: Floats


def assembled(
    tagger: Tagger, program: str, labels: Sequence[str], patterns: Iterable[Any], u: Weighed, b: Weighed
) -> Tagger:
    """Make an unfitted tagger the one with these weights; it has no start label, as in the other programs.

    A pair (y', y) of labels is number y'·Y + y. Weights of the same observation and label are added.
    """
    # Weights that are zero need no observation, and a model may have many of them.
    kept: dict[Which, tuple[list[Seen], Any, Any, Floats]] = {"u": _used(u), "b": _used(b)}
    extractor = Extractor.knowing(tuple(patterns), {which: seen for which, (seen, *_) in kept.items()})
    shape = Shape(len(kept["u"][0]), len(kept["b"][0]), len(labels), start=False)
    check_memory(
        16.0 * shape.n_params,
        "a model of {labels} labels and {observations} observations",
        "use a machine with more",
        labels=f"{len(labels):,}",
        observations=f"{shape.unigrams + shape.bigrams:,}",
    )
    w = np.zeros(shape.n_params)
    _, rows, columns, values = kept["u"]
    np.add.at(w, rows * shape.labels + columns, values)
    _, rows, columns, values = kept["b"]
    np.add.at(w, shape.n_mu + rows * shape.pairs + columns, values)
    tagger.set_params(start_label=False)
    tagger.patterns = extractor.patterns
    tagger.extractor_, tagger.weights_ = extractor, ChainWeights.of(w, shape)
    tagger.labels_, tagger.encoding_ = list(labels), None
    tagger.facts_ = {
        "method": "crf",
        "imported": program,
        "labels": len(labels),
        "label_scheme": None,
        "observations": shape.unigrams + shape.bigrams,
        "observations_by_pattern": summary.observations_by_pattern(extractor),
        "parameters": shape.n_params,
        "active": tagger.weights_.n_active,
    }
    return tagger


def _used(weighed: Weighed) -> tuple[list[Seen], Any, Any, Floats]:
    """The observations with weights other than zero, each once, and the weights with the new numbers."""
    active = np.asarray(weighed.values) != 0
    rows = np.asarray(weighed.rows, np.int64)[active]
    number: dict[Seen, int] = {}
    of_row = {row: number.setdefault(weighed.seen[row], len(number)) for row in np.unique(rows).tolist()}
    places = np.array([of_row[row] for row in rows.tolist()], np.int64)
    columns, values = np.asarray(weighed.columns, np.int64)[active], np.asarray(weighed.values)[active]
    return list(number), places, columns, values
