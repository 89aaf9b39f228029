"""Sparse coding of words by stochastic proximal steps on single entries, for very large matrices.

    minimise Σ ω_cv (x_vc − a_v·d_c)² + λ Σ_v Ω(a_v) + τ ‖D‖²    over the non-zero entries of X

The ridge on the dictionary stands where `SparseCoding` bounds the norms of its atoms (Yogatama 2015, ch. 4). Entries
that are zero exert no pull. ω is 1, or with sampling by |PMI| the size of an entry over the mean size. There is no
guarantee of convergence: the error on held-out entries is watched.
"""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.embed.code_trees import CodeForest
from spinney.embed.sparse_coding import CodingSettings, Matrix, checked_matrix
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.parallel import default_threads, map_reduce
from spinney.progress import log, task

Sampling = Literal["pmi", "scaled", "uniform"]
ProxScale = Literal["paper", "step", "unbiased"]
Steps = Literal["adagrad", "plain"]
_HELD_OUT = 100_000  # no more entries than this are held out
_DIVERGED = 100.0  # times the error of all-zero codes


@dataclass(eq=False, repr=False)
class StochasticCoding(CodingSettings):
    """Codes of words and a dictionary of contexts, learned entry by entry.

    Parameters
    ----------
    n_codes, penalty, lam, branching, forest
        As for `SparseCoding`.
    tau
        τ, the weight of the ridge on the dictionary.
    epochs
        An epoch has as many steps as X has entries.
    sampling
        ``"pmi"``: entries are drawn in proportion to ``|x|``; ``"scaled"``: each once an epoch, its gradient times
        ``|x|`` over the mean ``|x|`` (the same loss); ``"uniform"``: each once an epoch, all alike.
    prox_scale
        How much each step shrinks the code: ``"paper"`` by λ, as the thesis prints it; ``"step"`` by λ times the step,
        as a proximal step must; ``"unbiased"`` by that over the expected visits of the word in an epoch, so that an
        epoch applies the penalty once, and the objective above is what is minimised. For the others λ (and τ) are per
        visit: frequent words are shrunk more.
    steps
        ``"adagrad"``: the steps of a row of A or D fall with its own past gradients. This departs from the thesis,
        which does not give its steps; but plain ones diverge easily where entries differ much in size. A row has one
        step for all its coordinates, so that the prox stays exact. ``"plain"``: η/√epoch.
    learning_rate
        η.
    held_out
        The share of entries that are not learned from but watched (at most 100,000 of them).
    threads
        Words and contexts are dealt out to this many blocks each; blocks that share neither are visited at a time.
        Results are the same to the last bit in every run with the same number.

    Attributes
    ----------
    codes_ : array [words, M]
    dictionary_ : array [M, contexts]
    objective_ : float
        The objective above over the entries learned from, with the full penalties.
    nonzero_share_ : float
    trace_ : list of dict
        After each epoch: ``epoch``, ``error`` (mean over its steps), ``held_out`` (mean of ω times squared error),
        ``nonzero_share``, ``seconds``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
    >>> model = StochasticCoding(3, "lasso", tau=0.01, sampling="uniform", learning_rate=0.3, held_out=0.1).fit(X)
    >>> bool(model.trace_[-1]["held_out"] < 0.01 * np.mean(X**2))
    True
    """

    _: KW_ONLY
    tau: float = 0.1
    epochs: int = 20
    sampling: Sampling = "scaled"
    prox_scale: ProxScale = "unbiased"
    steps: Steps = "adagrad"
    learning_rate: float = 0.1
    held_out: float = 0.01

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from a matrix [words, contexts]; ``y`` is not looked at."""
        X = checked_matrix(X)
        self._check()
        self.forest_ = forest = self._forest()
        self.trace_ = list[dict[str, Any]]()
        rng = np.random.default_rng(self.random_state)
        started = time.perf_counter()
        entries, watched = _split(X, self.held_out, self.sampling != "uniform", rng)
        threads = self.threads or default_threads()
        blocks = _blocks(entries, X.shape, threads, rng)
        learning = _Learning(self, forest, entries, X.shape, rng)
        learning.epoch([[np.empty(0, np.int64)]], 1, threads=1)  # compiles, and does nothing else
        with task("sparse coding", self.epochs) as bar:
            for epoch in range(1, self.epochs + 1):
                error = learning.epoch(blocks, epoch, threads) / max(len(entries.values), 1)
                found = learning.loss(watched) / max(len(watched.values), 1)
                self._check_progress(epoch, error, found, watched if len(watched.values) else entries)
                revived = learning.revive(rng)
                if revived:
                    log.info("epoch %d: %d trees that no word used were restarted", epoch, revived)
                share = int(np.count_nonzero(learning.A)) / learning.A.size
                known = {"epoch": epoch, "error": error, "held_out": found, "nonzero_share": share}
                self.trace_.append(known | {"seconds": time.perf_counter() - started})
                bar.update(1, note=f"held-out error {found:.4g}")
        self.codes_: Matrix = learning.A
        self.dictionary_: Matrix = np.ascontiguousarray(learning.D.T)
        ridge = self.tau * float(np.vdot(learning.D, learning.D))
        self.objective_ = learning.loss(entries) + self.lam * forest.value(learning.A) + ridge
        self.nonzero_share_ = int(np.count_nonzero(self.codes_)) / self.codes_.size
        return self

    def _check_progress(self, epoch: int, error: float, found: float, entries: Entries) -> None:
        of_zero = float(np.mean(entries.scales * entries.values**2))
        if not max(error, found) <= _DIVERGED * of_zero:
            raise OptionError(
                f"learning diverged in epoch {epoch} (mean squared error {max(error, found):.3g}, all-zero codes have "
                f"{of_zero:.3g}): lower learning_rate, which is {self.learning_rate:g}"
            )

    def _check(self) -> None:
        for name, choices in (("sampling", Sampling), ("prox_scale", ProxScale), ("steps", Steps)):
            if getattr(self, name) not in get_args(choices):
                raise unknown_choice(f"{name} must be", getattr(self, name), get_args(choices))
        for name in ("epochs", "threads", "n_codes"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | np.integer) or value < 1):
                raise OptionError(f"{name} must be a whole number of at least 1, not {value!r}")
        for name, high in (("lam", np.inf), ("tau", np.inf), ("held_out", 1.0)):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0 <= value < high):
                raise OptionError(
                    f"{name} must be at least 0{'' if high == np.inf else ' and below 1'}, not {value!r}"
                )
        if not (isinstance(self.learning_rate, int | float) and 0 < self.learning_rate < np.inf):
            raise OptionError(f"learning_rate must be above 0, not {self.learning_rate!r}")


class Entries(NamedTuple):
    """Entries of X."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Matrix
    scales: Matrix  # ω of each

    def take(self, which: NDArray[Any]) -> Entries:
        """Some of them."""
        return Entries(*(np.ascontiguousarray(field[which]) for field in self))


def _split(X: Any, share: float, by_size: bool, rng: np.random.Generator) -> tuple[Entries, Entries]:
    """The entries to learn from, and those to watch."""
    from scipy.sparse import coo_array

    X = coo_array(X)
    X.eliminate_zeros()
    if not X.nnz:
        raise InputError("all entries of the word × context matrix are zero")
    size = np.abs(X.data)
    scales = size / size.mean() if by_size else np.ones(X.nnz)
    entries = Entries(X.row.astype(np.int64), X.col.astype(np.int64), X.data, scales)
    order = rng.permutation(X.nnz)
    n = min(int(share * X.nnz), _HELD_OUT)
    return entries.take(np.sort(order[n:])), entries.take(np.sort(order[:n]))


def _blocks(
    entries: Entries, shape: tuple[int, int], n: int, rng: np.random.Generator
) -> list[list[NDArray[np.int64]]]:
    """Places of entries in n × n blocks: lists of n that share no row and no column (Gemulla et al. 2011)."""
    of_row, of_column = (rng.permutation(size) % n for size in shape)
    i, j = of_row[entries.rows], of_column[entries.columns]
    number = (j - i) % n * n + i
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(1, n * n))
    parts = np.split(order, ends)
    return [parts[k * n : (k + 1) * n] for k in range(n)]


class _Learning:
    """A and D as they are learned, and what the steps need."""

    def __init__(
        self,
        settings: StochasticCoding,
        forest: CodeForest,
        entries: Entries,
        shape: tuple[int, int],
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.forest, self.entries = settings, forest, entries
        V, C = shape
        self.spread = 1 / np.sqrt(forest.n_codes)
        self.A = self.spread * rng.standard_normal((V, forest.n_codes))
        self.D = self.spread * rng.standard_normal((C, forest.n_codes))
        self.A[np.bincount(entries.rows, minlength=V) == 0] = 0.0  # nothing would ever move them
        self.D[np.bincount(entries.columns, minlength=C) == 0] = 0.0
        self.seen_a, self.seen_d = np.full(V, 1e-12), np.full(C, 1e-12)
        self.strength, self.tau = np.full(V, float(settings.lam)), np.full(C, float(settings.tau))
        self.by_pmi = settings.sampling == "pmi"
        # ω of the loss: drawn as often as that, or each once and scaled by it
        self.scales = np.ones(len(entries.values)) if self.by_pmi else entries.scales
        if settings.prox_scale == "unbiased":
            visits = entries.scales if self.by_pmi else np.ones(len(entries.values))
            self.strength /= np.maximum(np.bincount(entries.rows, visits, V), 1e-12)
            self.tau /= np.maximum(np.bincount(entries.columns, visits, C), 1e-12)

    def epoch(self, blocks: list[list[NDArray[np.int64]]], epoch: int, threads: int) -> float:
        """One step an entry; the sum of the errors before them."""
        from spinney.embed._coding_kernels import visit_entries

        settings, forest, entries = self.settings, self.forest, self.entries
        adaptive = settings.steps == "adagrad"
        eta = settings.learning_rate if adaptive else settings.learning_rate / np.sqrt(epoch)

        def visit(numbered: tuple[int, NDArray[np.int64]]) -> float:
            number, block = numbered
            rng = np.random.default_rng((settings.random_state, epoch, number))
            order = block[self._draw(block, rng)]
            return float(
                visit_entries(
                    order, entries.rows, entries.columns, entries.values, self.scales, self.A, self.D,
                    self.seen_a, self.seen_d, eta, adaptive, self.strength, settings.prox_scale != "paper", self.tau,
                    forest.node, forest.parent, forest.weights,
                )
            )  # fmt: skip

        return sum(
            map_reduce(visit, enumerate(apart, k * len(apart)), threads=threads)
            for k, apart in enumerate(blocks)
        )

    def _draw(self, block: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Places in the block to visit, in random order.

        By |PMI|, systematic sampling: an entry that is due 2.3 visits has 2 or 3, and 2.3 on average.
        """
        if not self.by_pmi:
            return rng.permutation(len(block))
        due = np.floor(np.cumsum(self.entries.scales[block]) + rng.random())
        visits = np.diff(due, prepend=0.0).astype(np.int64)
        return rng.permutation(np.repeat(np.arange(len(block)), visits))

    def loss(self, entries: Entries) -> float:
        """Σ ω (x − a·d)² over some entries."""
        total, piece = 0.0, 1 << 16
        for first in range(0, len(entries.values), piece):
            some = slice(first, first + piece)
            fitted = np.einsum("ij,ij->i", self.A[entries.rows[some]], self.D[entries.columns[some]])
            total += float(entries.scales[some] @ (entries.values[some] - fitted) ** 2)
        return total

    def revive(self, rng: np.random.Generator) -> int:
        """New atoms for trees that are zero for every word: with A = D = 0 nothing would ever move them."""
        used = np.unique(self.forest.trees[self.A.any(axis=0)])
        dead = ~np.isin(self.forest.trees, used)
        self.D[:, dead] = self.spread * rng.standard_normal((len(self.D), int(dead.sum())))
        return len(np.unique(self.forest.trees[dead]))
