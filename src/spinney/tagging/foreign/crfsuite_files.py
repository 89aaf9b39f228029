"""CRFsuite's model files.

A file (``lCRF``) is a header, a table of features (``FEAT``: kind, source, label, weight), two dictionaries of labels
and attributes (``CQDB``, see :mod:`spinney.tagging.foreign.cqdb`), and two tables of references (``LFRF``, ``AFRF``)
that tell the features of each label and attribute. All numbers are little-endian, all offsets count from the start of
the file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath, open_bytes
from spinney.corpus.opening import writing_bytes
from spinney.errors import InputError, ModelFileError
from spinney.tagging.classifier import PATTERNS, CRFClassifier, attribute_names
from spinney.tagging.foreign.assembling import Weighed, assembled
from spinney.tagging.foreign.cqdb import packed_strings, unpacked_strings
from spinney.tagging.patterns import parse_patterns
from spinney.tagging.summary import label_pairs
from spinney.tagging.tagger import Tagger

_HEADER = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4sII")
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
_LARGEST = 1 << 32  # offsets have 32 bits


def read_crfsuite_model(path: FilePath) -> CRFClassifier:
    """The tagger in a model file of CRFsuite; its tokens are dictionaries of features, or lists of attributes.

    Examples
    --------
    >>> import tempfile
    >>> crf = CRFClassifier(start_label=False).fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
    >>> path = tempfile.mkdtemp() + "/m.crfsuite"
    >>> write_crfsuite_model(crf, path)
    >>> again = read_crfsuite_model(path)
    >>> again.predict([[{"w": "the"}, {"w": "dog"}]]), again.state_features_ == crf.state_features_
    ([['D', 'N']], True)
    """
    with open_bytes(path) as file:
        data = file.read()
    try:
        labels, attributes, features = _parsed(data)
    except ValueError as error:
        raise ModelFileError(str(error), path=os.fspath(path), remedy="is it a model of CRFsuite?") from None
    state, pair = features[features["kind"] == _STATE], features[features["kind"] == _TRANSITION]
    pairs = pair["source"].astype(np.int64) * len(labels) + pair["label"]
    u = Weighed([(0, (name,)) for name in attributes], state["source"], state["label"], state["weight"])
    b = Weighed([(1, ())], np.zeros(len(pair), np.int64), pairs, pair["weight"])
    tagger = CRFClassifier()
    assembled(tagger, "CRFsuite", labels, parse_patterns(PATTERNS), u, b)
    return tagger


def _parsed(data: bytes) -> tuple[list[str], list[str], NDArray[np.void]]:
    """The labels, the attributes and the features of a file; ValueError says what is wrong."""
    if len(data) < _HEADER.size or data[:4] != b"lCRF":
        raise ValueError("no header of a CRFsuite model")
    _, size, kind, version, _, n_labels, n_attributes, *offsets = _HEADER.unpack_from(data)
    if kind != b"FOMC" or version != 100:
        raise ValueError(f"a CRFsuite model of an unknown kind ({kind!r}, version {version})")
    if size > len(data):
        raise ValueError(f"the file has {len(data):,} bytes of {size:,}: it is truncated")
    at_features, at_labels, at_attributes, *_ = offsets
    features = _features(data, at_features)
    labels = unpacked_strings(data, at_labels, n_labels)
    attributes = unpacked_strings(data, at_attributes, n_attributes)
    if not labels or len(set(labels)) < len(labels) or len(set(attributes)) < len(attributes):
        raise ValueError("damaged: there are no labels, or a name occurs twice")
    limit = np.where(features["kind"] == _STATE, len(attributes), len(labels))
    sound = (
        (features["kind"] <= _TRANSITION) & (features["source"] < limit) & (features["label"] < len(labels))
    )
    if not (sound.all() and np.isfinite(features["weight"]).all()):
        raise ValueError("damaged: a feature without its attribute or label, or a weight that is no number")
    return labels, attributes, features


def _features(data: bytes, start: int) -> NDArray[np.void]:
    if start + _CHUNK.size > len(data):
        raise ValueError("damaged: the features are beyond the end")
    chunk, _, n = _CHUNK.unpack_from(data, start)
    if chunk != b"FEAT" or start + _CHUNK.size + n * _FEATURE.itemsize > len(data):
        raise ValueError("damaged: the features are beyond the end")
    return np.frombuffer(data, _FEATURE, n, start + _CHUNK.size)


# ------------------------------------------------------------------------------------------------ writing


def write_crfsuite_model(tagger: Tagger, path: FilePath) -> None:
    """Write a tagger as a model of CRFsuite, whose attributes are the tagger's observations.

    For a :class:`~spinney.tagging.CRFClassifier` they are the attributes of its features; for patterns they are the
    strings that patterns make, such as ``U00:the``.
    """
    with writing_bytes(path) as file:
        file.write(crfsuite_bytes(tagger))


def crfsuite_bytes(tagger: Tagger) -> bytes:
    """The contents of the file that :func:`write_crfsuite_model` writes."""
    tagger.check_fitted()
    labels = tagger.labels_
    pairs = _plain_pairs(tagger)
    mu = tagger.weights_.shape.mu(tagger.weights_.full())
    attributes = _attributes(tagger)
    rows, columns = np.nonzero(mu)
    before, after = np.nonzero(pairs)
    features = np.empty(len(rows) + len(before), _FEATURE)
    features["kind"] = np.repeat([_STATE, _TRANSITION], [len(rows), len(before)])
    features["source"], features["label"] = np.concatenate([rows, before]), np.concatenate([columns, after])
    features["weight"] = np.concatenate([mu[rows, columns], pairs[before, after]])
    numbers = np.arange(len(features), dtype="<u4")
    # The two more labels are those before the start and after the end, which have no features.
    of_label = _split(numbers[len(rows) :], before, len(labels) + 2)
    of_attribute = _split(numbers[: len(rows)], rows, len(attributes))
    chunks = [
        _CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes(),
        packed_strings(labels),
        packed_strings(attributes),
    ]
    starts = [_HEADER.size]
    for chunk in chunks:
        starts.append(_aligned(starts[-1] + len(chunk)))
    chunks.append(_references(b"LFRF", of_label, starts[-1]))
    starts.append(_aligned(starts[-1] + len(chunks[-1])))
    chunks.append(_references(b"AFRF", of_attribute, starts[-1]))
    size = starts[-1] + len(chunks[-1])
    if size >= _LARGEST:
        raise InputError("the model is too large for CRFsuite's format, which ends at 4 GB")
    # The features are written last by CRFsuite, which leaves their number in this place at 0.
    header = _HEADER.pack(b"lCRF", size, b"FOMC", 100, 0, len(labels), len(attributes), *starts)
    found = bytearray(header)
    for start, chunk in zip(starts, chunks):
        found += bytes(start - len(found)) + chunk
    return bytes(found)


def _plain_pairs(tagger: Tagger) -> NDArray[np.float64]:
    """The weights of pairs of labels; an error where the tagger has what CRFsuite does not have."""
    shape = tagger.weights_.shape
    what = None
    if tagger.method != "crf":
        what = f"models of CRFsuite are conditional random fields, not {tagger.method}"
    elif tagger.encoding_ is not None or tagger.scheme is not None:
        what = "CRFsuite does not restrict label sequences to a scheme: train without encode and scheme"
    elif any(tagger.extractor_.patterns[p].fields for p in tagger.extractor_.pattern_of("b").tolist()):
        what = "CRFsuite has no bigram patterns with fields: train with the plain pattern B"
    if what is not None:
        raise InputError(what)
    pairs = label_pairs(tagger.weights_, tagger.extractor_)
    if pairs is None:
        return np.zeros((shape.labels, shape.labels))
    if pairs[shape.labels :].any():
        raise InputError("CRFsuite has no start label", remedy="train with start_label=False")
    return pairs[: shape.labels]


def _attributes(tagger: Tagger) -> list[str]:
    patterns = tagger.extractor_.patterns
    alone = [pattern.text for pattern in patterns if pattern.kind != "b"] == [PATTERNS.partition("\n")[0]]
    names = attribute_names(tagger) if alone else tagger.extractor_.names("u")
    wrong = next((name for name in (*names, *tagger.labels_) if "\0" in name), None)
    if wrong is not None:
        raise InputError(f"the name {wrong!r} cannot be written for CRFsuite")
    return names


def _split(numbers: NDArray[np.uint32], of: NDArray[np.int64], n: int) -> list[NDArray[np.uint32]]:
    """The numbers of each owner; owners are in order."""
    return np.split(numbers, np.searchsorted(of, np.arange(1, n))) if n else []


def _references(name: bytes, lists: Sequence[NDArray[np.uint32]], start: int) -> bytes:
    """A table of lists of features: where each list is, and the lists, each after its length."""
    lengths = np.array([4 + 4 * len(one) for one in lists], np.int64)
    places = start + _CHUNK.size + 4 * len(lists) + np.concatenate([[0], np.cumsum(lengths)])
    if places[-1] >= _LARGEST:
        raise InputError("the model is too large for CRFsuite's format, which ends at 4 GB")
    body = b"".join(struct.pack("<I", len(one)) + one.astype("<u4").tobytes() for one in lists)
    size = _CHUNK.size + 4 * len(lists) + len(body)
    return _CHUNK.pack(name, size, len(lists)) + places[:-1].astype("<u4").tobytes() + body


def _aligned(place: int) -> int:
    return -(-place // 4) * 4
