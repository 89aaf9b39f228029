"""Hidden Markov models as chain models: their log probabilities are the weights."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from spinney import progress
from spinney.errors import OptionError
from spinney.optim import Solution
from spinney.tagging.em import Taught, Text, em, taught
from spinney.tagging.hmm import HMM
from spinney.tagging.problem import Problem
from spinney.tagging.sequences import Sequences

FLOOR = -50.0  # the log probability of events never seen


def counted(problem: Problem, s: Any = None, *, unlabelled: Taught | None = None, **_: Any) -> Solution:
    """The weights of a hidden Markov model: counted, and taught by unlabelled sentences if there are any.

    A token without an observation (an unknown word) must get log p(unknown|y). This is part of the weights of
    label pairs, which every token has, and is subtracted from the weights of the words.
    """
    started = time.perf_counter()
    data, shape = problem.data, problem.loss.shape
    text = _text(problem, data)
    assert text.labels is not None
    passes, interrupted = 0, False
    if unlabelled is None:
        hmm = HMM.fit(text.symbols, data.offsets, text.labels, shape.labels, shape.unigrams)
    else:
        models = em(text, unlabelled.unlabelled, shape.labels, shape.unigrams, weight=unlabelled.weight)
        hmm = next(models)
        try:
            with progress.task("EM", unlabelled.passes) as task:
                while passes < unlabelled.passes:
                    hmm, passes = next(models), passes + 1
                    task.update(1)
        except KeyboardInterrupt:
            interrupted = True
    assert hmm.unknown is not None
    w = np.zeros(shape.n_params)
    with np.errstate(divide="ignore"):
        unknown = np.maximum(np.log(hmm.unknown), FLOOR)
        shape.mu(w)[:] = np.maximum(np.log(hmm.emission.T), FLOOR) - unknown
        shape.lam(w)[0] = np.maximum(np.log(np.vstack([hmm.transition, hmm.initial])), FLOOR) + unknown
    value, grad = problem.loss.value_and_grad(w)
    solver, seconds = "em" if passes else "counts", time.perf_counter() - started
    return Solution(w, value, np.nan, True, passes, solver, seconds, grad, interrupted=interrupted)


def taught_by(problem: Problem, s: Any) -> Taught:
    """How the unlabelled sentences of a problem are used: the passes of EM over them, given or chosen."""
    assert problem.unlabelled is not None
    _text(problem, problem.data)  # one observation per token
    how = {"passes": s.passes, "weight": s.unlabelled_weight, "seed": s.seed}
    return taught(problem.data, problem.unlabelled, problem.loss.shape.labels, **how)


def _text(problem: Problem, data: Sequences) -> Text:
    seen, shape = data.unigrams, problem.loss.shape
    if seen.values is not None or np.any(np.diff(seen.ptr) > 1) or shape.bigrams != 1 or not shape.start:
        raise OptionError("an hmm has one observation per token: give patterns such as U:%x[0,0] and B")
    return Text.of(data)
