"""Hidden Markov models as chain models: their log probabilities are the weights."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from spinney.errors import OptionError
from spinney.optim import Solution
from spinney.tagging.hmm import HMM
from spinney.tagging.problem import Problem

FLOOR = -50.0  # the log probability of events never seen


def counted(problem: Problem, s: Any = None, **_: Any) -> Solution:
    """The weights of a hidden Markov model.

    A token without an observation (an unknown word) must get log p(unknown|y). This is part of the weights of
    label pairs, which every token has, and is subtracted from the weights of the words.
    """
    started = time.perf_counter()
    data, shape = problem.data, problem.loss.shape
    seen = data.unigrams
    if seen.values is not None or np.any(np.diff(seen.ptr) > 1) or shape.bigrams != 1 or not shape.start:
        raise OptionError("an hmm has one observation per token: give patterns such as U:%x[0,0] and B")
    symbols = np.full(data.n_tokens, -1, np.int32)
    symbols[np.diff(seen.ptr) == 1] = seen.ids
    assert data.labels is not None
    hmm = HMM.fit(symbols, data.offsets, data.labels, shape.labels, seen.n)
    assert hmm.unknown is not None
    w = np.zeros(shape.n_params)
    with np.errstate(divide="ignore"):
        unknown = np.maximum(np.log(hmm.unknown), FLOOR)
        shape.mu(w)[:] = np.maximum(np.log(hmm.emission.T), FLOOR) - unknown
        shape.lam(w)[0] = np.maximum(np.log(np.vstack([hmm.transition, hmm.initial])), FLOOR) + unknown
    value, grad = problem.loss.value_and_grad(w)
    return Solution(w, value, np.nan, True, 0, "counts", time.perf_counter() - started, grad)
