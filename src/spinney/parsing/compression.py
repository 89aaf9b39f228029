"""Smaller tensors: each is replaced by a sum of r outer products, so that a rule costs r·m instead of m³.

T[h1, h2, h3] ≈ Σ_j U[h1, j]·V[h2, j]·W[h3, j] (a CP decomposition), hence T(y, z) = U((Vᵀ y) ∘ (Wᵀ z)) (Cohen, Satta
and Collins 2013). In spectral grammars most rules were seen a few times, and their tensors are sums of as many outer
products: then a small r is exact. Matrices are found by alternating least squares, many rules of one shape at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.parallel import one_blas_thread
from spinney.parsing.forest import Floats, Ints
from spinney.parsing.grammar import Grammar, Layout, Rules

_BATCH = 1 << 22  # tensors that are decomposed together


@dataclass(frozen=True, eq=False)
class CompressedGrammar:
    """A grammar for inference, with tensors as three matrices each, where that is smaller.

    Attributes
    ----------
    layout : Layout
    root, unary, lexical : float64 arrays
        As in :class:`~spinney.parsing.grammar.Grammar`.
    binary, binary_start : float64 and int64 arrays
        The numbers of each rule: U, V and W, or the tensor.
    rank : int32 array [rules]
        r; 0 for a rule whose tensor was left as it is.
    error : float64 array [rules]
        ‖T - T̂‖ / ‖T‖.
    signed : bool
    """

    layout: Layout
    root: Floats
    binary: Floats
    binary_start: NDArray[np.int64]
    rank: Ints
    error: Floats
    unary: Floats
    lexical: Floats
    signed: bool

    @property
    def rules(self) -> Rules:
        """What may be rewritten how."""
        return self.layout.rules

    @property
    def n_parameters(self) -> int:
        """The total number of parameters."""
        return sum(len(one) for one in (self.root, self.binary, self.unary, self.lexical))

    def expanded(self) -> Grammar:
        """The grammar with all its tensors, up to the error."""
        binary = np.empty(self.layout.binary_start[-1])
        shapes = self.layout.n_states.astype(np.int64)[self.rules.binary]
        for rule, (r, shape) in enumerate(zip(self.rank.tolist(), shapes.tolist(), strict=True)):
            numbers = self.binary[self.binary_start[rule] : self.binary_start[rule + 1]]
            if r:
                at = np.cumsum(shape)[:2] * r
                U, V, W = (part.reshape(-1, r) for part in np.split(numbers, at))
                numbers = np.einsum("ir,jr,kr->ijk", U, V, W).ravel()
            binary[self.layout.binary_start[rule] : self.layout.binary_start[rule + 1]] = numbers
        return Grammar(self.layout, self.root, binary, self.unary, self.lexical, self.signed)


def compressed_starts(layout: Layout, rank: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where the numbers of each rule begin, given their ranks: [rules + 1]."""
    shapes = layout.n_states.astype(np.int64)[layout.rules.binary]
    sizes = np.where(rank > 0, rank * shapes.sum(axis=1), shapes.prod(axis=1))
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def compressed(
    grammar: Grammar,
    rank: int | None = None,
    *,
    tolerance: float = 1e-3,
    restarts: int = 2,
    iterations: int = 100,
    random_state: int = 0,
) -> CompressedGrammar:
    """Decompose the tensors of a grammar.

    Parameters
    ----------
    grammar
    rank
        r for all rules; by default each rule gets the smallest of 1, 2, 4, 8, … whose relative error is within the
        tolerance. A rule for which r·(m1 + m2 + m3) numbers are no fewer than m1·m2·m3 keeps its tensor.
    tolerance
        The relative error at which to stop, and by which ranks are chosen.
    restarts
        Number of random starts per rule; the best result is kept.
    iterations
        Rounds of alternating least squares.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))")])
    >>> layout = Layout.uniform(Rules.of(trees), 8)
    >>> U, V, W = np.random.default_rng(0).random((3, 8, 2))
    >>> tensor = np.einsum("ir,jr,kr->ijk", U, V, W)
    >>> grammar = Grammar(layout, np.ones(24), tensor.ravel(), np.ones(0), np.ones(layout.entry_start[-1]))
    >>> small = compressed(grammar, tolerance=1e-4)
    >>> small.rank, len(grammar.binary), len(small.binary), bool(small.error[0] < 1e-4)
    (array([2], dtype=int32), 512, 48, True)
    """
    if rank is not None and rank < 1:
        raise OptionError(f"rank must be at least 1, not {rank}")
    layout, rules = grammar.layout, grammar.rules
    random = np.random.default_rng(random_state)
    shapes = layout.n_states.astype(np.int64)[rules.binary]
    size, width = shapes.prod(axis=1), shapes.sum(axis=1)
    found: list[Floats] = [np.empty(0)] * len(shapes)
    ranks, error = np.zeros(len(shapes), np.int32), np.zeros(len(shapes))
    with one_blas_thread():
        left = np.arange(len(shapes))
        r = 1 if rank is None else rank
        while len(left := left[width[left] * r < size[left]]):
            done = []
            for batch in _batches(shapes, left):
                tensors = np.stack([grammar.tensor(rule) for rule in batch.tolist()])
                matrices, errors = _decomposed(tensors, r, tolerance, restarts, iterations, random)
                good = np.flatnonzero((errors <= tolerance) | (rank is not None))
                for i in good.tolist():
                    found[batch[i]] = np.concatenate([matrix[i].ravel() for matrix in matrices])
                ranks[batch[good]], error[batch[good]] = r, errors[good]
                done.append(batch[good])
            left = np.setdiff1d(left, np.concatenate(done)) if rank is None else left[:0]
            r *= 2
    for rule in np.flatnonzero(ranks == 0).tolist():
        found[rule] = grammar.tensor(rule).ravel()
    return CompressedGrammar(
        layout,
        grammar.root,
        np.concatenate([np.empty(0), *found]),
        compressed_starts(layout, ranks),
        ranks,
        error,
        grammar.unary,
        grammar.lexical,
        grammar.signed,
    )


def _batches(shapes: NDArray[np.int64], rules: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Some rules, by shape, in batches."""
    kinds, kind = np.unique(shapes[rules], axis=0, return_inverse=True)
    for i, shape in enumerate(kinds):
        alike = rules[kind.ravel() == i]
        step = max(1, _BATCH // int(shape.prod()))
        yield from (alike[at : at + step] for at in range(0, len(alike), step))


def _decomposed(
    tensors: Floats, r: int, tolerance: float, restarts: int, iterations: int, random: np.random.Generator
) -> tuple[list[Floats], Floats]:
    """The best U, V, W [tensors, m, r] of several starts, and their relative errors."""
    best = [np.zeros((len(tensors), m, r)) for m in tensors.shape[1:]]
    errors = np.full(len(tensors), np.inf)
    for restart in range(restarts):
        todo = np.flatnonzero(errors > tolerance)
        if not len(todo):
            break
        begin = _diagonalised if restart == 0 and r <= min(tensors.shape[2:]) else _random
        V, W = begin(tensors[todo], r, random)
        matrices, new = _least_squares(tensors[todo], V, W, tolerance, iterations)
        better = new < errors[todo]
        for old, matrix in zip(best, matrices, strict=True):
            old[todo[better]] = matrix[better]
        errors[todo[better]] = new[better]
    return best, errors


def _random(tensors: Floats, r: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Random initial V and W."""
    V, W = (random.standard_normal((len(tensors), m, r)) for m in tensors.shape[2:])
    return V, W


def _diagonalised(tensors: Floats, r: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Initial V and W, which are exact if a tensor is the sum of r outer products (Leurgans et al. 1993).

    Two random mixtures of its slices are V D Wᵀ and V D' Wᵀ with diagonal D and D': V diagonalises one over the other.
    """
    V, W = (np.linalg.svd(_unfolded(tensors, axis), full_matrices=False)[0][:, :, :r] for axis in (1, 2))
    mixtures = np.einsum("xi,nijk->xnjk", random.standard_normal((2, tensors.shape[1])), tensors)
    one, other = V.transpose(0, 2, 1) @ mixtures @ W
    P = np.linalg.eig(one @ np.linalg.pinv(other))[1].real
    return V @ P, W @ (np.linalg.pinv(P) @ other).transpose(0, 2, 1)


def _unfolded(tensors: Floats, axis: int) -> Floats:
    """The tensors as matrices, one row per index of an axis."""
    return np.moveaxis(tensors, axis + 1, 1).reshape(len(tensors), tensors.shape[axis + 1], -1)


def _least_squares(
    tensors: Floats, V: Floats, W: Floats, tolerance: float, iterations: int
) -> tuple[list[Floats], Floats]:
    """Alternating least squares: each matrix in turn is optimal given the others; with relative errors."""
    n, r = len(tensors), V.shape[-1]
    norm = np.linalg.norm(tensors.reshape(n, -1), axis=1)
    norm = np.where(norm == 0, 1.0, norm)
    unfolded = [_unfolded(tensors, axis) for axis in range(3)]
    matrices = [np.zeros((n, tensors.shape[1], r)), V, W]
    error = np.full(n, np.inf)
    active = np.arange(n)
    for _ in range(iterations):
        for axis in range(3):
            one, other = (matrices[i][active] for i in range(3) if i != axis)
            pairs = np.einsum("njr,nkr->njkr", one, other).reshape(len(active), -1, r)
            gram = (one.transpose(0, 2, 1) @ one) * (other.transpose(0, 2, 1) @ other)
            solved = unfolded[axis][active] @ pairs @ np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
            if axis < 2:  # the last one keeps the scale
                length = np.linalg.norm(solved, axis=1, keepdims=True)
                solved /= np.where(length == 0, 1.0, length)
            matrices[axis][active] = solved
        rest = unfolded[2][active] - solved @ pairs.transpose(0, 2, 1)
        new = np.linalg.norm(rest.reshape(len(active), -1), axis=1) / norm[active]
        moving = (new > tolerance) & (error[active] - new > 1e-4 * new)
        error[active] = new
        active = active[moving]
        if not len(active):
            break
    return matrices, error
