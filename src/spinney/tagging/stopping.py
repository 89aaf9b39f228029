"""Early stopping: the token error on held-out sentences while a solver runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from spinney.errors import InputError
from spinney.inference.chains import Chains
from spinney.inference.decoding import viterbi
from spinney.optim.base import Step, Vector
from spinney.tagging.columns import Columns
from spinney.tagging.extract import Extractor
from spinney.tagging.sequences import Sequences


class DevSet:
    """Watches the token error on held-out sentences; remembers the best weights, and decides when to stop.

    Parameters
    ----------
    dev : Columns
        With labels in the last column.
    extractor : Extractor
    labels : sequence of str
        The names of the labels; others count as errors.
    chains : callable
        Returns the scores of sentences for given weights.
    every, patience : int
        Iterations between two checks, and the number of checks without improvement before stopping.
    threads : int, optional
    """

    def __init__(
        self,
        dev: Columns,
        extractor: Extractor,
        labels: Sequence[str],
        chains: Callable[[Vector, Sequences], Chains],
        *,
        every: int = 5,
        patience: int = 5,
        threads: int | None = None,
    ) -> None:
        if not dev.n_tokens:
            raise InputError("no held-out sentences")
        self.data = Sequences(dev.offsets, *extractor.observe(dev.without_last()))
        number = {name: i for i, name in enumerate(labels)}
        self.gold = np.array([number.get(text, -1) for text in dev.pool])[dev.symbols[-1]]
        self.chains, self.every, self.patience, self.threads = chains, every, patience, threads
        self.best: Vector | None = None
        self.lowest, self.since, self.stopped = np.inf, 0, False

    @property
    def labelled(self) -> Sequences:
        """The held-out sentences with their labels."""
        return replace(self.data, labels=self.gold.astype(np.int32))

    def __call__(self, step: Step, w: Vector) -> bool:
        if step.iteration % self.every and not np.isnan(step.objective):
            return False
        error = float(np.mean(viterbi(self.chains(w, self.data), threads=self.threads)[0] != self.gold))
        self.since += 1
        if error < self.lowest:
            self.lowest, self.best, self.since = error, w.copy(), 0
        self.stopped = self.since >= self.patience
        return self.stopped
