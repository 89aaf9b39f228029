"""Made-up labelled sentences whose tokens have random observations, and a look at them one by one."""

from __future__ import annotations

import numpy as np

from spinney.tagging.sequences import Observations, Sequences


def observations(rng, n_tokens, n):
    width = rng.integers(0, 4, n_tokens)
    ptr = np.concatenate([[0], np.cumsum(width)])
    return Observations(ptr, rng.integers(0, n, ptr[-1]).astype(np.int32), n)


def sentences(seed, lengths=(5, 0, 1, 12, 7), n_labels=3, unknown=0.0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(offsets[-1])
    labels = rng.integers(0, n_labels, T)
    labels = np.where(rng.random(T) < unknown, -1, labels).astype(np.int32)
    return Sequences(offsets, observations(rng, T, 4), observations(rng, T, 3), labels=labels)


def has(seen, t, o):
    return o in seen.ids[seen.ptr[t] : seen.ptr[t + 1]]


def labels_before(data, n_labels):
    before = [-1, *data.labels[:-1].tolist()]
    for a, b in zip(data.offsets[:-1], data.offsets[1:]):
        if b > a:
            before[a] = n_labels
    return before
