"""Morphological taggers in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError
from spinney.files import ModelFile, Parts
from spinney.front_coding import smallest
from spinney.model import Contents
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.morphology.labels import Label, Labels
from spinney.tagging.morphology.observations import Observer
from spinney.tagging.morphology.weights import STORED, Weights

if TYPE_CHECKING:
    from spinney.tagging.morphology.tagger import MorphTagger

_COLUMNS = ("upos", "xpos", "feats")
_MOST_LABELS = 10_000  # the table of their transitions has the square of it


def contents_of(tagger: MorphTagger) -> Contents:
    """What a file holds: labels by column, observations by name in alphabetical order, and their weights."""
    names, weights = list(tagger.observer.number), tagger.weights
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    lengths = np.diff(weights.ptr)[order]
    start = np.repeat(weights.ptr[:-1][order] - (np.cumsum(lengths) - lengths), lengths)
    place = start + np.arange(len(start))
    pairs = np.flatnonzero(weights.transitions)
    tensors = {
        "lengths": smallest(lengths),
        "parts": smallest(weights.parts[place]),
        "weights": weights.w[place].astype(STORED),
        "transitions.places": smallest(pairs),
        "transitions.weights": weights.transitions[pairs].astype(STORED),
    }
    strings = {name: [label[i] for label in tagger.labels.all] for i, name in enumerate(_COLUMNS)}
    strings["observations"] = [names[i] for i in order.tolist()]
    strings["words"] = sorted(tagger.words)
    parts: dict[str, Parts] = {}
    given: dict[str, list[str]] = {}
    for role in ("classes", "vectors"):
        structures = getattr(tagger.observer, role)
        given[role] = list(structures)
        for i, structure in enumerate(structures.values()):
            parts[f"{role}{i}"] = structure.parts()
    return Contents({"facts": tagger.facts, "structures": given}, tensors, strings, parts)


def stored(file: ModelFile) -> tuple[Labels, Observer, Weights, frozenset[str], dict[str, Any]]:
    """What :func:`contents_of` wrote, checked."""
    columns = [file.texts(name) for name in _COLUMNS]
    every: list[Label] = list(zip(*columns))
    if not every or len({len(column) for column in columns}) > 1 or len(set(every)) < len(every):
        raise file.error("damaged: its labels are not distinct, or there are none")
    if len(every) > _MOST_LABELS:
        raise file.error(f"damaged: {len(every)} labels, more than {_MOST_LABELS}")
    labels = Labels(every)
    names = file.texts("observations")
    number = {name: i for i, name in enumerate(names)}
    if len(number) < len(names):
        raise file.error("damaged: its observations are not distinct")
    weights = Weights(*stored_rows(file, len(names), len(labels.parts)), _transitions(file, labels))
    observer = Observer(number, _structures(file, "classes"), _structures(file, "vectors"))
    return labels, observer, weights, frozenset(file.texts("words")), file.fact("facts", dict)


def stored_rows(
    file: ModelFile, n_observations: int, n_parts: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """The weights of observations: where those of each begin, their parts, and they themselves."""
    lengths, parts = whole_numbers(file, "lengths", n_parts + 1), whole_numbers(file, "parts", n_parts)
    w = file.tensor("weights", STORED)
    if (
        len(lengths) != n_observations
        or int(lengths.sum(dtype=np.int64)) != len(parts)
        or len(parts) != len(w)
    ):
        raise file.error("damaged: its weights do not belong to its observations")
    ptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    return ptr, parts.astype(np.int32), w.astype(np.float64)


def whole_numbers(file: ModelFile, name: str, below: int) -> NDArray[Any]:
    """A tensor of whole numbers from 0 that are all smaller than ``below``."""
    array = file.tensor(name, low=0, high=below - 1)
    if array.dtype.kind not in "iu":
        raise file.error(f"damaged: {name!r} does not hold whole numbers")
    return array


def _transitions(file: ModelFile, labels: Labels) -> NDArray[np.float64]:
    found = np.zeros(int(labels.facets.offsets[-1]))
    places = whole_numbers(file, "transitions.places", len(found))
    values = file.tensor("transitions.weights", STORED)
    if len(places) != len(values):
        raise file.error("damaged: its transitions have no places")
    found[places] = values
    return found


def _structures(file: ModelFile, role: str) -> dict[str, Any]:
    names = file.fact("structures", dict).get(role)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise file.error(f"damaged: no names of its {role}")
    of = WordClasses if role == "classes" else WordVectors
    with file.checked(InputError):
        return {name: of.from_parts(file.part(f"{role}{i}")) for i, name in enumerate(names)}
