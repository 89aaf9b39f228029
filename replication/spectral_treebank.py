"""The sample of the Penn Treebank in its three parts, and EM on it with a clock. The benchmarks use both, too."""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spinney.corpus import Tree
from spinney.parsing import read_treebank
from spinney.parsing.em import random_grammar, run_em
from spinney.parsing.grammar import Grammar
from spinney.parsing.methods import Best, Judge, TrainingTrees


class Treebank(NamedTuple):
    """Cleaned trees: to learn from, to choose by, to test on."""

    train: list[Tree]
    dev: list[Tree]
    test: list[Tree]


@cache
def sample_treebank() -> Treebank:
    """The 199 files of NLTK's sample in the order of their names: 80 %, 10 % and 10 % of them."""
    archive = Path(os.environ.get("SPINNEY_DATA", "")) / "nltk" / "treebank.zip"
    if not archive.is_file():
        raise SystemExit("the variable SPINNEY_DATA must name a folder with nltk/treebank.zip")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as packed:
        names = sorted(name for name in packed.namelist() if name.endswith(".mrg"))
        files = [Path(packed.extract(name, folder)) for name in names]
        first, second = int(0.8 * len(files)), int(0.9 * len(files))
        parts = files[:first], files[first:second], files[second:]
        return Treebank(*([tree for file in part for tree in read_treebank(file)] for part in parts))


class TimedEM(NamedTuple):
    """The best grammar of EM, its F1 by the judge, its iteration, and the seconds of every iteration."""

    grammar: Grammar
    f1: float
    iterations: int
    passes: list[float]

    @property
    def seconds(self) -> float:
        """Of the iterations up to the best, without the judging."""
        return sum(self.passes[: self.iterations])


def timed_em(training: TrainingTrees, states: int, judge: Judge, seed: int = 0) -> TimedEM:
    """EM from a random start, judged every tenth iteration, until F1 has not risen for two looks."""
    best = Best(judge, every=10, patience=2)
    passes: list[float] = []
    last = 0.0

    def watch(step: int, grammar: Grammar, log_likelihood: float) -> bool:
        nonlocal last
        passes.append(time.perf_counter() - last)
        done = best.watch(step, grammar)
        last = time.perf_counter()
        return done

    start = random_grammar(training.rules, training.pcfg, states, np.random.default_rng(seed))
    run_em(training.sample, start, 1)  # kernels are compiled here
    last = time.perf_counter()
    run_em(training.sample, start, 100, watch=watch)
    assert best.grammar is not None
    return TimedEM(best.grammar, max(row["f1"] for row in best.trace), best.at, passes)
