"""Sparse coding of words by stochastic proximal steps on single entries, for very large matrices.

    minimise Σ_seen ω_vc (x_vc − x̂_vc)² + ω₀ Σ_unseen x̂_vc² + λ Σ_v Ω(a_v) + τ ‖D‖²,    x̂_vc = a_v·d_c + b_v + b_c

The ridge on the dictionary stands where `SparseCoding` bounds the norms of its atoms (Yogatama 2015, ch. 4). ω is 1, or
with sampling by |PMI| the size of an entry over the mean size. The thesis has neither the second sum nor the terms b:
then nothing holds the pairs down that were never seen, and what all entries have in common (seen pairs have a positive
mean) becomes a direction that all codes share. There is no guarantee of convergence: the error on held-out entries is
watched.
"""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.checking import random_numbers
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
    zeros
        How many unseen pairs are visited for each that was seen. They are drawn afresh in each epoch, uniformly among
        those where X is zero, with x = 0 and weight 1: ω₀ is ``zeros`` times the number of seen pairs over that of
        unseen ones, at most 1. With 0, as in the thesis, unseen pairs exert no pull.
    bias
        Learn the terms b_v and b_c, without a penalty. They are no part of the codes, and take the direction away that
        all codes share. By default, as in the thesis, they are zero: beside ``zeros`` they did not help in the mean.
    epochs
        An epoch has ``1 + zeros`` times as many steps as X has entries.
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
    word_bias_, context_bias_ : arrays [words], [contexts]
        b; zeros without ``bias``.
    objective_ : float
        The objective above without the held-out entries, with the full penalties.
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
    zeros: float = 1.0
    bias: bool = False
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
        rng = random_numbers(self.random_state)
        started = time.perf_counter()
        entries, watched = _split(X, self.held_out, self.sampling != "uniform", rng)
        threads = self.threads or default_threads()
        blocks = _blocks(entries, X.shape, threads, rng)
        learning = _Learning(self, forest, entries, X, rng)
        learning.epoch(
            [[_Block(*[np.empty(0, np.int64)] * 3)]], 1, threads=1
        )  # compiles, and does nothing else
        with task("sparse coding", self.epochs) as bar:
            for epoch in range(1, self.epochs + 1):
                error = learning.epoch(blocks, epoch, threads)
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
        self.word_bias_, self.context_bias_ = learning.of_word, learning.of_context
        ridge = self.tau * float(np.vdot(learning.D, learning.D))
        self.objective_ = (
            learning.loss(entries) + learning.loss_of_unseen() + self.lam * forest.value(learning.A) + ridge
        )
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
        for name, high in (("lam", np.inf), ("tau", np.inf), ("zeros", np.inf), ("held_out", 1.0)):
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

    def and_zeros(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Entries:
        """These, and pairs that were never seen, of weight 1."""
        more = (rows, columns, np.zeros(len(rows)), np.ones(len(rows)))
        return Entries(*(np.concatenate(pair) for pair in zip(self, more)))


class _Block(NamedTuple):
    """The work of one thread at a time: places of entries, and the words and contexts that are its own."""

    entries: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


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


def _blocks(entries: Entries, shape: tuple[int, int], n: int, rng: np.random.Generator) -> list[list[_Block]]:
    """The entries in n × n blocks: lists of n that share no row and no column (Gemulla et al. 2011)."""
    of_row, of_column = (rng.permutation(size) % n for size in shape)
    i, j = of_row[entries.rows], of_column[entries.columns]
    number = (j - i) % n * n + i
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(1, n * n))
    parts = np.split(order, ends)
    # Rows and columns without an entry have no code and no atom: nothing is drawn for them.
    rows = [np.flatnonzero((of_row == g) & _used(entries.rows, shape[0])) for g in range(n)]
    columns = [np.flatnonzero((of_column == g) & _used(entries.columns, shape[1])) for g in range(n)]
    return [[_Block(parts[k * n + i], rows[i], columns[(i + k) % n]) for i in range(n)] for k in range(n)]


def _used(numbers: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    return np.bincount(numbers, minlength=size) > 0


class Unseen:
    """The pairs of words and contexts where X is zero, as far as both have entries."""

    def __init__(self, X: Any, entries: Entries) -> None:
        from scipy.sparse import csr_array

        X = csr_array(X)
        X.eliminate_zeros()
        V, self.width = X.shape
        rows, columns = (_used(some, size) for some, size in zip(entries[:2], X.shape))
        row = np.repeat(np.arange(V), np.diff(X.indptr))
        self.keys = np.sort(row * self.width + X.indices)
        inside = rows[row] & columns[X.indices]
        self.of_row = np.where(rows, columns.sum() - np.bincount(row[inside], minlength=V), 0)
        seen = np.bincount(X.indices[inside], minlength=self.width)
        self.of_column = np.where(columns, rows.sum() - seen, 0)
        self.number = int(self.of_row.sum())

    def draw(
        self, n: int, rows: NDArray[np.int64], columns: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of some words and contexts, each unseen one as likely as any other; fewer than n as some are seen."""
        if not (n and len(rows) and len(columns)):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        row, column = rng.choice(rows, n), rng.choice(columns, n)
        key = row * self.width + column
        order = np.argsort(key)  # searches that follow each other find what they need in the caches
        place = np.empty(n, np.int64)
        place[order] = np.searchsorted(self.keys, key[order])
        free = self.keys[np.minimum(place, len(self.keys) - 1)] != key
        return row[free], column[free]


class _Learning:
    """A and D as they are learned, and what the steps need."""

    def __init__(
        self,
        settings: StochasticCoding,
        forest: CodeForest,
        entries: Entries,
        X: Any,
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.forest, self.entries = settings, forest, entries
        V, C = X.shape
        self.spread = 1 / np.sqrt(forest.n_codes)
        self.A = self.spread * rng.standard_normal((V, forest.n_codes))
        self.D = self.spread * rng.standard_normal((C, forest.n_codes))
        self.A[np.bincount(entries.rows, minlength=V) == 0] = 0.0  # nothing would ever move them
        self.D[np.bincount(entries.columns, minlength=C) == 0] = 0.0
        self.of_word, self.of_context = np.zeros(V), np.zeros(C)
        self.seen = [
            np.full(size, 1e-12) for size in (V, C, V, C)
        ]  # squared gradients of A, D and both biases
        self.unseen = Unseen(X, entries)
        # ω₀: how often an unseen pair is visited in an epoch
        self.rate = min(1.0, settings.zeros * len(entries.values) / max(self.unseen.number, 1))
        self.strength, self.tau = np.full(V, float(settings.lam)), np.full(C, float(settings.tau))
        self.by_pmi = settings.sampling == "pmi"
        # ω of the loss: drawn as often as that, or each once and scaled by it
        self.scales = np.ones(len(entries.values)) if self.by_pmi else entries.scales
        if settings.prox_scale == "unbiased":
            visits = entries.scales if self.by_pmi else np.ones(len(entries.values))
            of_row = np.bincount(entries.rows, visits, V) + self.rate * self.unseen.of_row
            of_column = np.bincount(entries.columns, visits, C) + self.rate * self.unseen.of_column
            self.strength /= np.maximum(of_row, 1e-12)
            self.tau /= np.maximum(of_column, 1e-12)

    def epoch(self, blocks: list[list[_Block]], epoch: int, threads: int) -> float:
        """One step an entry, and those of unseen pairs; the mean of the errors before them."""
        from spinney.embed._coding_kernels import visit_entries

        settings, forest, entries = self.settings, self.forest, self.entries
        adaptive = settings.steps == "adagrad"
        eta = settings.learning_rate if adaptive else settings.learning_rate / np.sqrt(epoch)

        def visit(numbered: tuple[int, _Block]) -> NDArray[np.float64]:
            number, block = numbered
            rng = np.random.default_rng((settings.random_state, epoch, number))
            some = scaled.take(block.entries[self._draw(block.entries, rng)])
            n_pairs = self.rate * len(block.rows) * len(block.columns)
            n_zeros = int(n_pairs + rng.random())  # in the mean over epochs, as many as are due
            if n_zeros:
                some = some.and_zeros(*self.unseen.draw(n_zeros, block.rows, block.columns, rng))
                some = some.take(rng.permutation(len(some.values)))
            seen_a, seen_d, seen_of_word, seen_of_context = self.seen
            error = visit_entries(
                some.rows, some.columns, some.values, some.scales, self.A, self.D, self.of_word, self.of_context,
                seen_a, seen_d, seen_of_word, seen_of_context, eta, adaptive, settings.bias, self.strength,
                settings.prox_scale != "paper", self.tau, forest.node, forest.parent, forest.weights,
            )  # fmt: skip
            return np.array([error, len(some.values)])

        scaled = entries._replace(scales=self.scales)
        found = [
            map_reduce(visit, enumerate(apart, k * len(apart)), threads=threads)
            for k, apart in enumerate(blocks)
        ]
        error, steps = np.sum(found, axis=0)
        return float(error / max(steps, 1))

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
        """Σ ω (x − x̂)² over some entries."""
        total, piece = 0.0, 1 << 16
        for first in range(0, len(entries.values), piece):
            some = slice(first, first + piece)
            fitted = self._fitted(entries.rows[some], entries.columns[some])
            total += float(entries.scales[some] @ (entries.values[some] - fitted) ** 2)
        return total

    def _fitted(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Matrix:
        together = np.einsum("ij,ij->i", self.A[rows], self.D[columns])
        return np.asarray(together + self.of_word[rows] + self.of_context[columns])

    def loss_of_unseen(self) -> float:
        """ω₀ Σ x̂² over the unseen pairs: that of all pairs, from the products of all rows, without the seen ones."""
        if not self.rate:
            return 0.0
        rows, columns = self.unseen.of_row > 0, self.unseen.of_column > 0
        A = np.column_stack([self.A, self.of_word, np.ones(len(self.A))])[rows]
        D = np.column_stack([self.D, np.ones(len(self.D)), self.of_context])[columns]
        total, piece = float(np.vdot(A.T @ A, D.T @ D)), 1 << 16
        row, column = np.divmod(self.unseen.keys, self.unseen.width)
        inside = rows[row] & columns[column]
        row, column = row[inside], column[inside]
        for first in range(0, len(row), piece):
            fitted = self._fitted(row[first : first + piece], column[first : first + piece])
            total -= float(fitted @ fitted)
        return self.rate * total

    def revive(self, rng: np.random.Generator) -> int:
        """New atoms for trees that are zero for every word: with A = D = 0 nothing would ever move them."""
        used = np.unique(self.forest.trees[self.A.any(axis=0)])
        dead = ~np.isin(self.forest.trees, used)
        self.D[:, dead] = self.spread * rng.standard_normal((len(self.D), int(dead.sum())))
        return len(np.unique(self.forest.trees[dead]))
