"""Saving taggers to files, and loading them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.files import ModelFile
from spinney.model import Contents
from spinney.optim import PenaltySpec
from spinney.settings import is_plain
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.encoding import Encoding
from spinney.tagging.extract import Extractor
from spinney.tagging.methods import METHODS
from spinney.tagging.support import Shape
from spinney.tagging.weights import ChainWeights

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger


def contents_of(tagger: Tagger) -> Contents:
    """The contents of the file: parameters, facts, labels, weights and observations."""
    weights = tagger.weights_
    parameters = {name: value for name, value in tagger.get_params().items() if is_plain(value)}
    parameters["penalty"] = PenaltySpec.stored(tagger.penalty)
    header = {"parameters": parameters, "facts": tagger.facts_, "start": weights.shape.start}
    tensors: dict[str, Any] = {"values": weights.values}
    if weights.support is not None:
        tensors["places"] = weights.places
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
    tagger.weights_ = ChainWeights.of(_weights(file, shape), shape)


def _of_kind(structures: dict[str, Any], kind: type) -> Any:
    return {name: found for name, found in structures.items() if isinstance(found, kind)} or ()


def _weights(file: ModelFile, shape: Shape) -> Any:
    values = np.array(file.tensor("values", np.float64, 1))
    if "places" in file.tensors:
        places = np.array(file.tensor("places", np.int64, 1))
        in_order = len(places) == len(values) and bool(np.all(np.diff(places) > 0))
        if not in_order or (len(places) and not 0 <= places[0] <= places[-1] < shape.n_params):
            raise file.error("damaged: the weights have wrong positions")
        w = np.zeros(shape.n_params)
        w[places] = values
        values = w
    if len(values) != shape.n_params:
        raise file.error("damaged: the number of weights does not match the observations and labels")
    return values
