"""Saving taggers to files, and loading them.

A file holds the weights that are not zero, in the shortest type of numbers that loses nothing (a fit has rounded them
to its ``precision``), and how many zeros are before each. Files of formats 1 and 2 have the ``places`` of the weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney.files import ModelFile, room_for
from spinney.front_coding import smallest
from spinney.model import Contents
from spinney.optim import PenaltySpec
from spinney.settings import is_plain
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.encoding import Encoding
from spinney.tagging.extract import Extractor
from spinney.tagging.methods import METHODS
from spinney.tagging.sequences import Floats
from spinney.tagging.support import Shape
from spinney.tagging.weights import DTYPES, ChainWeights

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger


def contents_of(tagger: Tagger) -> Contents:
    """The contents of the file: parameters, facts, labels, weights and observations."""
    weights = tagger.weights_
    parameters = {name: value for name, value in tagger.get_params().items() if is_plain(value)}
    parameters["penalty"] = PenaltySpec.stored(tagger.penalty)
    header = {"parameters": parameters, "facts": tagger.facts_, "start": weights.shape.start}
    tensors = stored_weights(weights)
    parts = {"extractor": tagger.extractor_.parts()}
    if tagger.encoding_ is not None:
        parts["encoding"] = tagger.encoding_.parts()
    return Contents(header, tensors, {"labels": tagger.labels_}, parts)


def restore(tagger: Tagger, file: ModelFile) -> None:
    """Restore a tagger from its file."""
    own = tagger.get_params(deep=False)
    known = {name: value for name, value in file.fact("parameters", dict).items() if name in own}
    with file.checked():
        known["penalty"] = PenaltySpec.restored(known.get("penalty", "l2"))
    tagger.set_params(**known)
    if not isinstance(tagger.method, str) or tagger.method not in METHODS:
        raise file.error(f"unknown kind of tagger: {tagger.method!r}")
    tagger.extractor_ = Extractor.from_parts(file.part("extractor"))
    structures = tagger.extractor_.structures
    tagger.patterns = tagger.extractor_.patterns
    tagger.classes = _of_kind(structures, WordClasses)
    tagger.vectors = _of_kind(structures, WordVectors)
    tagger.labels_ = list(file.texts("labels"))
    tagger.facts_ = file.fact("facts", dict)
    encoded = "encoding" in file.part_headers
    tagger.encoding_ = Encoding.from_parts(file.part("encoding")) if encoded else None
    start = file.fact("start", bool)
    shape = Shape(tagger.extractor_.n_unigrams, tagger.extractor_.n_bigrams, len(tagger.labels_), start)
    tagger.weights_ = _weights(file, shape)


def _of_kind(structures: dict[str, Any], kind: type) -> Any:
    return {name: found for name, found in structures.items() if isinstance(found, kind)} or ()


def stored_weights(weights: ChainWeights) -> dict[str, NDArray[Any]]:
    """The tensors of some weights.

    Examples
    --------
    >>> shape = Shape(unigrams=3, bigrams=1, labels=2, start=False)
    >>> weights = ChainWeights.of(np.array([0, 0.5, 0, 0, 0, 0, 0, 0, 2, 0]), shape)
    >>> {name: (str(tensor.dtype), tensor.tolist()) for name, tensor in stored_weights(weights).items()}
    {'values': ('float16', [0.5, 2.0]), 'gaps.u': ('uint8', [1]), 'gaps.b': ('uint8', [2])}
    """
    shape, active = weights.shape, weights.values != 0
    places, values = weights.places[active], shortest(weights.values[active])
    if shape.n_params * values.itemsize <= len(values) * (
        values.itemsize + 1
    ):  # gaps would take more than zeros
        return {"values": shortest(weights.full())}
    cut = int(np.searchsorted(places, shape.n_mu))
    unigrams, bigrams = _gaps(places[:cut]), _gaps(places[cut:] - shape.n_mu)
    tensors = {"values": values, "gaps.u": smallest(unigrams), "gaps.b": smallest(bigrams)}
    return tensors | room_for("values", shape.n_params, tensors.values())


def _gaps(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many places are left out before each of these."""
    return np.asarray(np.diff(places, prepend=-1) - 1)


def shortest(values: Floats) -> NDArray[Any]:
    """Numbers in the shortest type that keeps them as they are.

    Examples
    --------
    >>> [str(shortest(np.array(numbers)).dtype) for numbers in ([0.5], [0.5, 2.0**-30], [0.1])]
    ['float16', 'float32', 'float64']
    """
    for dtype in DTYPES:
        with np.errstate(over="ignore"):
            shorter = values.astype(dtype)
        if np.array_equal(shorter, values):
            break
    return shorter


def _weights(file: ModelFile, shape: Shape) -> ChainWeights:
    stored = file.tensor("values")
    if "gaps.u" in file.tensors:
        gaps = file.tensor("gaps.u"), file.tensor("gaps.b")
        file.check_room("values", shape.n_params, [stored, *gaps])
        unigrams, bigrams = (np.cumsum(gap.astype(np.int64) + 1) - 1 for gap in gaps)
        places = np.concatenate([unigrams, shape.n_mu + bigrams])
        sound = not len(unigrams) or unigrams[-1] < shape.n_mu
    elif "places" in file.tensors:  # up to format 2
        places, sound = np.array(file.tensor("places", np.int64)), True
    else:
        sound = len(stored) == shape.n_params
        places = np.arange(len(stored))
    sound = sound and stored.dtype in DTYPES and len(places) == len(stored)
    sound = sound and bool(np.all(places[1:] > places[:-1]))
    if not sound or (len(places) and not 0 <= places[0] <= places[-1] < shape.n_params):
        raise file.error("damaged: the weights do not match the observations and labels")
    return ChainWeights.at(places, stored.astype(np.float64), shape)
