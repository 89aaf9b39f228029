"""Sparse coding of words: each row of a word × context matrix as a sparse mix of few shared atoms.

    minimise ‖X − A D‖² + λ Σ_v Ω(a_v)    over codes A [V, M] and dictionaries D [M, C] with rows of norm ≤ 1

Ω is the sum over the nodes of a forest of code dimensions of the ℓ2 norm of a node with all its descendants
(Yogatama 2015, ch. 4), or the ℓ1 norm. Learning goes by mini-batches of words (Mairal et al. 2010), in the variant for
data that stay at hand: the new code of a word replaces its old one in the statistics AᵀA and AᵀX, so that each step
lowers the objective itself and nothing needs to be forgotten. X is touched by sparse products only.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.checking import our_errors, random_numbers
from spinney.embed.code_trees import CodeForest, as_code_forest, code_forest, tree_size
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.parallel import default_threads, map_reduce, one_blas_thread
from spinney.progress import task
from spinney.structure import Groups

Penalty = Literal["forest", "lasso"]
Matrix = NDArray[np.float64]
_CODES = 52  # the smallest of the thesis: four trees
_SWEEPS = 3  # of coordinate descent on the dictionary after each batch
_FEW = 4  # contexts for each code up to which atoms are updated as they are
_UNUSED = 1e-12  # an atom with less than this share of the largest squared weight is left where it is


@dataclass(eq=False, repr=False)
class CodingSettings:
    """The parameters of both learners of sparse codes."""

    n_codes: int | None = None
    penalty: Penalty = "forest"
    lam: float = 0.1
    _: KW_ONLY
    branching: Sequence[int] = (4, 2)
    forest: ArrayLike | Groups | None = None
    threads: int | None = None
    random_state: int = 0

    def _forest(self) -> CodeForest:
        return forest_of(self.n_codes, self.penalty, self.branching, self.forest)


@dataclass(eq=False, repr=False)
class SparseCoding(CodingSettings):
    """Codes of words and a dictionary of contexts, learned together.

    Parameters
    ----------
    n_codes
        The length M of a code; by default that of ``forest``, or 52.
    penalty
        ``"forest"``: a dimension may be non-zero only if its ancestors are; ``"lasso"``: ℓ1.
    lam
        λ, above 0. The thesis has 0.1.
    branching
        The shape of each tree, see `code_forest`; ``n_codes`` must be a multiple of its size (13 by default).
    forest
        Instead of equal trees: the parent of each code dimension (-1 for a root), or nested groups of dimensions
        with weights.
    rounds, passes, span_passes
        A round is ``passes`` passes over the words, which find the span of the dictionary, and then ``span_passes``
        over their projections on this span, M numbers per word. The second kind costs little whatever the number of
        contexts; it finds the basis in which the codes have the least norm, and that takes many more passes than the
        span itself.
    batch_size
        Words between two updates of the dictionary; by default 1024, or 8M if that is more.
    inner_iter
        Iterations of FISTA on each code of a batch, from where the last pass left it.
    tol, max_iter
        At the end all codes are solved for the final dictionary, until the step of the prox-gradient method is
        ``tol`` times its first step from zero, or for ``max_iter`` iterations.
    threads
        Default: all processors. Results are the same to the last bit in every run with the same number.

    Attributes
    ----------
    codes_ : array [words, M]
    dictionary_ : array [M, contexts]
    objective_ : float
        ‖X − AD‖² + λΣΩ.
    gap_ : float
        The certificate: by duality, no codes for this dictionary have an objective below ``objective_ - gap_``.
    nonzero_share_ : float
    trace_ : list of dict
        After each pass: ``round``, ``kind`` ("words" or "span"), ``objective``, ``nonzero_share``, ``seconds``.
    forest_ : CodeForest

    Notes
    -----
    The first dictionary is rows of X, drawn at random: it costs nothing, and ends lower than a truncated SVD does,
    which has the best span but spreads every word over all of it. An atom that no word uses is replaced by another row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.standard_normal((3, 20))
    >>> X = rng.standard_normal((200, 3)) * (rng.random((200, 3)) < 0.5) @ atoms
    >>> model = SparseCoding(3, "lasso", lam=0.1).fit(X)
    >>> model.codes_.shape, model.dictionary_.shape, model.gap_ < 1e-6 * model.objective_
    ((200, 3), (3, 20), True)
    """

    _: KW_ONLY
    rounds: int = 3
    passes: int = 5
    span_passes: int = 25
    batch_size: int | None = None
    inner_iter: int = 8
    tol: float = 1e-8
    max_iter: int = 1000

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from a matrix [words, contexts], sparse or dense; ``y`` is ignored."""
        X = checked_matrix(X)
        self._check()
        forest = self._forest()
        started = time.perf_counter()
        self.forest_, self.trace_ = forest, list[dict[str, Any]]()
        rng = random_numbers(self.random_state)
        order = rng.permutation(X.shape[0])
        rows = X[order]
        coder = self._coder(forest)
        size = self.batch_size or max(1024, 8 * forest.n_codes)
        batches = [coder.shards(rows, first, first + size) for first in range(0, len(order), size)]
        state = State.beginning(initial_dictionary(rows, forest.n_codes, rng), len(order))
        total = float(_squares(rows).sum())

        def note(state: State, number: int, kind: str) -> None:
            objective = total + state.change_of_loss() + self.lam * forest.value(state.codes)
            share = _share(state.codes)
            seconds = time.perf_counter() - started
            known = {"round": number, "kind": kind, "objective": objective, "nonzero_share": share}
            self.trace_.append(known | {"seconds": seconds})
            bar.update(1, note=f"objective {objective:.6g}")

        spanning = self.span_passes if X.shape[1] > forest.n_codes else 0
        coder.solve(rows[:1], state.codes[:1].copy(), state.D, state.gram, 1.0, 1)  # compiles
        with one_blas_thread(), task("sparse coding", self.rounds * (self.passes + spanning)) as bar:
            for number in range(1, self.rounds + 1):
                for _ in range(self.passes):
                    coder.learn(state, batches, self.inner_iter)
                    state.revive(rows, rng)
                    note(state, number, "words")
                if spanning:
                    inner, batches_within, basis = state.within_span(batches)
                    for _ in range(spanning):
                        coder.learn(inner, batches_within, self.inner_iter)
                        note(inner, number, "span")
                    state.D, state.gram = basis @ inner.D, inner.gram
                    state.count(rows)
            state.fit_atoms()
            loss, self.gap_ = coder.solve(rows, state.codes, state.D, state.gram, self.tol, self.max_iter)
        self.objective_ = loss + self.lam * forest.value(state.codes)
        self.codes_ = np.empty_like(state.codes)
        self.codes_[order] = state.codes
        self.dictionary_: Matrix = np.ascontiguousarray(state.D.T)
        self.nonzero_share_ = _share(self.codes_)
        return self

    def transform(self, X: Any) -> Matrix:
        """The codes of other words [words, M], in the contexts of the fit."""
        if not hasattr(self, "dictionary_"):
            raise NotFittedError("this model is not fitted yet: call fit")
        X = checked_matrix(X)
        if X.shape[1] != self.dictionary_.shape[1]:
            raise InputError(
                f"X has {X.shape[1]} contexts, but the dictionary has {self.dictionary_.shape[1]}"
            )
        codes = np.zeros((X.shape[0], self.forest_.n_codes))
        D = np.ascontiguousarray(self.dictionary_.T)
        self._coder(self.forest_).solve(X, codes, D, D.T @ D, self.tol, self.max_iter)
        return codes

    def _coder(self, forest: CodeForest) -> Coder:
        return Coder(forest, self.lam, self.threads or default_threads())

    def _check(self) -> None:
        whole = (
            "rounds",
            "passes",
            "inner_iter",
            "max_iter",
            "batch_size",
            "threads",
            "n_codes",
            "span_passes",
        )
        for name in whole:
            value, least = getattr(self, name), 0 if name in ("rounds", "span_passes") else 1
            if value is not None and (not isinstance(value, int | np.integer) or value < least):
                raise OptionError(f"{name} must be a whole number of at least {least}, not {value!r}")
        for name in ("lam", "tol"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0 < value < np.inf):
                raise OptionError(f"{name} must be above 0, not {value!r}")


def forest_of(
    n_codes: int | None,
    penalty: str,
    branching: Sequence[int],
    forest: ArrayLike | Groups | None,
) -> CodeForest:
    """The forest that the options of a learner mean.

    Examples
    --------
    >>> forest_of(6, "forest", (2,), None).n_codes, len(set(forest_of(6, "forest", (2,), None).trees))
    (6, 2)
    """
    if penalty not in get_args(Penalty):
        raise unknown_choice("penalty must be", penalty, get_args(Penalty))
    if penalty == "lasso":
        if forest is not None:
            raise OptionError("penalty 'lasso' has no forest")
        return as_code_forest(code_forest(n_codes or _CODES, ()))
    if forest is not None:
        found = as_code_forest(forest)
        if n_codes not in (None, found.n_codes):
            raise OptionError(f"n_codes is {n_codes}, but the forest has {found.n_codes} dimensions")
        return found
    if any(children < 1 for children in branching):
        raise OptionError(f"branching must be at least 1, not {tuple(branching)}")
    size = tree_size(branching)
    if (n_codes or _CODES) % size:
        raise OptionError(
            f"n_codes must be a multiple of {size}, the size of a tree, not {n_codes or _CODES}"
        )
    return as_code_forest(code_forest((n_codes or _CODES) // size, branching))


def checked_matrix(X: Any) -> Any:
    """A matrix as the learners want it, CSR or dense, float64; an InputError when there is no sense in it."""
    from scipy.sparse import issparse

    if issparse(X):
        X = X.tocsr().astype(np.float64)
        values = X.data
    else:
        with our_errors():
            X = values = np.ascontiguousarray(X, np.float64)
        if X.ndim != 2:
            raise InputError(f"a word × context matrix must have 2 dimensions, not {X.ndim}")
    if 0 in X.shape:
        raise InputError(
            f"a matrix of {X.shape[0]} words and {X.shape[1]} contexts has nothing to learn from"
        )
    if not np.all(np.isfinite(values)):
        raise InputError("some entries of the word × context matrix are not finite")
    return X


def equalised(codes: Matrix) -> Matrix:
    """Codes whose dimensions are divided by their root mean squares, so that all count alike in cosines and means.

    The roots of a forest are penalised least, and hold large numbers: as they are, they would decide every cosine.

    Examples
    --------
    >>> equalised(np.array([[8.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, -3.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [[2.0, 0.0, 0.0], [0.0, 1.4142135623730951, 0.0], [0.0, -1.4142135623730951, 0.0], [0.0, 0.0, 0.0]]
    """
    size = np.sqrt(np.mean(np.square(codes), axis=0))
    return codes / np.where(size > 0.0, size, 1.0)


def _share(codes: Matrix) -> float:
    return int(np.count_nonzero(codes)) / codes.size


def _squares(X: Any) -> Matrix:
    """‖x‖² of each row."""
    return np.asarray((X.multiply(X) if hasattr(X, "multiply") else X * X).sum(axis=1)).ravel()


def _row(X: Any, number: int) -> Matrix:
    """A row of norm 1, dense."""
    row = X[[number]]
    row = np.asarray(row.toarray() if hasattr(row, "toarray") else row)[0]
    return np.asarray(row / np.linalg.norm(row))


def initial_dictionary(X: Any, M: int, rng: np.random.Generator) -> Matrix:
    """Rows of ``X`` [C, M], without repetition; random directions where there are too few."""
    D = rng.standard_normal((X.shape[1], M))
    D /= np.linalg.norm(D, axis=0)
    for j, number in enumerate(rng.permutation(np.flatnonzero(_squares(X)))[:M]):
        D[:, j] = _row(X, number)
    return D


@dataclass
class State:
    """What is learned, and the statistics that an update of the dictionary needs; here an atom is a column of D."""

    codes: Matrix  # A [V, M]
    D: Matrix  # [C, M]
    gram: Matrix  # DᵀD
    G: Matrix  # AᵀA
    H: Matrix  # XᵀA

    @classmethod
    def beginning(cls, D: Matrix, words: int) -> Self:
        """No word has a code yet."""
        C, M = D.shape
        return cls(np.zeros((words, M)), D, D.T @ D, np.zeros((M, M)), np.zeros((C, M)))

    def count(self, X: Any) -> None:
        """The statistics afresh from all words."""
        self.G, self.H = self.codes.T @ self.codes, np.asarray(X.T @ self.codes)

    def within_span(self, batches: Sequence[Sequence[Shard]]) -> tuple[State, list[list[Shard]], Matrix]:
        """The same problem within the span of the atoms: also its words, and an orthonormal basis [C, M]."""
        basis = np.linalg.qr(self.D)[0]
        inside = [[Shard(shard.words, shard.X @ basis) for shard in shards] for shards in batches]
        return State(self.codes, basis.T @ self.D, self.gram, self.G, basis.T @ self.H), inside, basis

    def change_of_loss(self) -> float:
        """‖X − A Dᵀ‖² − ‖X‖²."""
        return float(np.vdot(self.gram, self.G) - 2 * np.vdot(self.D, self.H))

    def fit_atoms(self, sweeps: int = _SWEEPS) -> None:
        """Block coordinate descent on the atoms (Mairal et al. 2010, Alg. 2).

        d_j ← u/max(1, ‖u‖) with u = d_j + (h_j − D g_j)/G_jj.
        """
        weight = self.G.diagonal()
        used = np.flatnonzero(weight > _UNUSED * weight.max(initial=0.0)).tolist()
        C, M = self.D.shape
        sweep = self._swept if C <= _FEW * M else self._swept_in_span
        self.D = sweep(sweeps * used)
        self.D /= np.maximum(1.0, np.linalg.norm(self.D, axis=0))  # what rounding has left above 1
        self.gram = self.D.T @ self.D

    def _swept(self, atoms: Sequence[int]) -> Matrix:
        """The atoms after updates of some, one after the other."""
        D, H, weight = np.ascontiguousarray(self.D.T), np.ascontiguousarray(self.H.T), self.G.diagonal()
        for j in atoms:
            u = D[j] + (H[j] - self.G[j] @ D) / weight[j]
            D[j] = u / max(1.0, np.sqrt(u @ u))
        return np.ascontiguousarray(D.T)

    def _swept_in_span(self, atoms: Sequence[int]) -> Matrix:
        """The same where contexts are many.

        All atoms stay in the span of the columns of D and H: their coordinates P there and the products K of its
        generators are all that the updates need.
        """
        M, weight = len(self.G), self.G.diagonal()
        cross = self.D.T @ self.H
        K = np.block([[self.gram, cross], [cross.T, self.H.T @ self.H]])
        P = np.eye(M, 2 * M)
        for j in atoms:
            u = P[j] - self.G[j] @ P / weight[j]
            u[M + j] += 1 / weight[j]
            P[j] = u / max(1.0, np.sqrt(max(u @ K @ u, 0.0)))
        return self.D @ P[:, :M].T + self.H @ P[:, M:].T

    def revive(self, X: Any, rng: np.random.Generator) -> None:
        """Another start for atoms that no word uses: a row of ``X``."""
        dead = np.flatnonzero(~self.codes.any(axis=0))
        some = np.flatnonzero(_squares(X)) if len(dead) else dead
        if not len(some):
            return
        for j in dead:
            self.D[:, j] = _row(X, rng.choice(some))
        self.G[dead], self.G[:, dead], self.H[:, dead] = 0.0, 0.0, 0.0
        self.gram = self.D.T @ self.D


class Shard(NamedTuple):
    """Some words of a batch, the work of one thread."""

    words: slice
    X: Any  # their rows


class Coder:
    """Solves codes for a dictionary, on threads."""

    def __init__(self, forest: CodeForest, lam: float, threads: int) -> None:
        self.forest, self.lam, self.threads = forest, lam, threads

    def shards(self, X: Any, first: int, last: int) -> list[Shard]:
        """The words from ``first`` to ``last``, one shard a thread."""
        ends = np.unique(np.linspace(first, min(last, X.shape[0]), self.threads + 1).astype(int)).tolist()
        return [Shard(slice(i, j), X[i:j]) for i, j in itertools.pairwise(ends)]

    def learn(self, state: State, batches: Sequence[Sequence[Shard]], max_iter: int) -> None:
        """One pass: codes of a batch, then the dictionary, and so on."""
        for shards in batches:

            def found(shard: Shard, state: State = state) -> tuple[Matrix, Matrix]:
                codes = state.codes[shard.words]
                old = codes.copy()
                self._iterate(shard.X @ state.D, codes, state.gram, 1e-3, max_iter)
                return codes.T @ codes - old.T @ old, np.asarray(shard.X.T @ (codes - old))

            with one_blas_thread():
                G, H = map_reduce(found, shards, threads=self.threads, reduce=_add)
            state.G += G
            state.H += H
            state.fit_atoms()

    def solve(
        self, X: Any, codes: Matrix, D: Matrix, gram: Matrix, tol: float, max_iter: int
    ) -> tuple[float, float]:
        """The codes of all words, in place; returns the loss and the sum of the duality gaps."""
        from spinney.embed._coding_kernels import duality_gaps

        forest = self.forest

        def found(shard: Shard) -> tuple[float, float]:
            B, part = np.ascontiguousarray(shard.X @ D), codes[shard.words]
            self._iterate(B, part, gram, tol, max_iter)
            squares = _squares(shard.X)
            gaps = duality_gaps(gram, B, squares, part, forest.node, forest.parent, forest.weights, self.lam)
            return float(squares.sum() - 2 * np.vdot(B, part) + np.vdot(part @ gram, part)), float(gaps.sum())

        with one_blas_thread():
            return map_reduce(found, self.shards(X, 0, X.shape[0]), threads=self.threads, reduce=_add)

    def _iterate(self, B: Matrix, codes: Matrix, gram: Matrix, tol: float, max_iter: int) -> None:
        from spinney.embed._coding_kernels import solve_codes

        forest = self.forest
        step = 0.5 / max(np.linalg.eigvalsh(gram)[-1], 1e-12) * (1 - 1e-9)  # 1 over the Lipschitz constant
        radius = step * self.lam * forest.weights
        B = np.ascontiguousarray(B)
        solve_codes(gram, B, codes, forest.node, forest.parent, radius, step, tol, max_iter)


def _add(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    return one[0] + other[0], one[1] + other[1]
