"""Eigenwords: vectors of word types by singular value decomposition of words against their contexts.

The family, from the plainest on (spectral tutorial 2013; Dhillon, Foster and Ungar 2015; Stratos et al. 2015): the
counts themselves; the counts rescaled; canonical correlation of words and contexts, in one step or in two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.embed.counts import ContextCounts, Window, count_contexts
from spinney.embed.states import SmoothedStates, WindowStates
from spinney.embed.trees import TreeContexts, TreeStates
from spinney.embed.weighting import Transform, correlations, inverse_root, like, margins, pmi, transformed
from spinney.errors import OptionError, unknown_choice
from spinney.linalg import SVD, Method, inverse_sqrt, truncated_svd
from spinney.parallel import map_reduce, one_blas_thread

Places = Window | TreeContexts  # where contexts stand
PIECE = 1 << 15  # tokens whose states are held at a time
SAMPLE = 1 << 22  # tokens that the second moments of states are taken from


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of a decomposition: a vector for each word, the correlations, and the states of tokens.

    Attributes
    ----------
    U : array [words, k]
        The left singular vectors: orthonormal columns.
    s : array [k]
        The singular values. Those of CCA are correlations only if counts were not transformed.
    whitening : array [words]
        C_WW^(-1/2), the factors that turn rows of U into canonical projections of words; ones elsewhere.
    states : tuple
        The projections of contexts that belong to it.
    """

    U: NDArray[Any]
    s: NDArray[Any]
    whitening: NDArray[Any]
    states: tuple[WindowStates | TreeStates | SmoothedStates, ...]

    def vectors(
        self, rows: Literal["unit", "canonical", "plain"] = "unit", exponent: float = 0.0
    ) -> NDArray[np.float32]:
        """The vectors of words: rows of U·s^exponent, of unit length, times the whitening, or as they are."""
        vectors = self.U * self.s**exponent
        if rows == "unit":
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.where(lengths > 0, lengths, 1)
        elif rows == "canonical":
            vectors = vectors * self.whitening[:, None]
        elif rows != "plain":
            raise unknown_choice("rows must be", rows, ("unit", "canonical", "plain"))
        return vectors.astype(np.float32)


@dataclass(frozen=True)
class Decomposition:
    """How a matrix is decomposed: see :func:`spinney.linalg.truncated_svd`."""

    k: int
    method: Method = "auto"
    oversampling: int = 20
    power: int = 8
    random_state: int = 0
    threads: int | None = None

    def __call__(self, A: Any) -> SVD:
        return truncated_svd(
            A, self.k, self.method,
            oversampling=self.oversampling, power=self.power, random_state=self.random_state, threads=self.threads,
        )  # fmt: skip


def plain_svd(
    counts: ContextCounts, places: Places, svd: Decomposition, *, transform: Transform = "raw"
) -> Learned:
    """Singular vectors of the counts as they are, or of a function of them.

    With a window of the one word after, that is latent semantic analysis with contexts for documents.
    """
    rows, columns = (np.ones(size) for size in counts.matrix.shape)
    matrix = like(counts.matrix, transformed(counts.matrix.data, transform))
    return _learned(svd(matrix), rows, columns, counts, places)


def rescaled_svd(
    counts: ContextCounts,
    places: Places,
    svd: Decomposition,
    *,
    transform: Transform = "raw",
    pseudo: float = 400.0,
) -> Learned:
    """Singular vectors of the counts with rows and columns divided by the roots of their sums.

    That reduces the weight of frequent words. Without a pseudo-count in the sums it goes too far: two rare words that
    only occur together have the largest value that there is, 1, and the first singular vectors are such pairs.
    """
    matrix, rows, columns = correlations(counts.matrix, transform=transform, pseudo=pseudo)
    return _learned(svd(matrix), rows, columns, counts, places)


def pmi_svd(counts: ContextCounts, places: Places, svd: Decomposition, **options: Any) -> Learned:
    """Singular vectors of pointwise mutual information: principal components of it, uncentred.

    ``options`` are those of :func:`spinney.embed.weighting.pmi`.
    """
    matrix = pmi(counts.matrix, **options)
    return _learned(svd(matrix), np.ones(matrix.shape[0]), np.ones(matrix.shape[1]), counts, places)


def one_step_cca(
    counts: ContextCounts,
    places: Places,
    svd: Decomposition,
    *,
    transform: Transform = "sqrt",
    pseudo: float = 0.0,
    context_exponent: float = 1.0,
    center: bool = False,
) -> Learned:
    """Canonical correlation of words and contexts, both whitened by their counts alone.

    Uncentred, the first triple only reflects how frequent words are (σ = 1 if nothing is transformed). Centring
    subtracts from the transformed counts G what their margins would give without any association, r cᵀ / n with the
    row sums r, the column sums c and the total n of G, before rows and columns are scaled; the matrix is never made
    dense.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> from spinney.embed.counts import window
    >>> arrays = sentence_arrays([["I", "ate", "ham"], ["You", "ate", "cheese"], ["You", "ate"]])
    >>> around = window(1)
    >>> learned = one_step_cca(count_contexts(arrays, around), around, Decomposition(2), transform="raw")
    >>> learned.s.round(3).tolist()
    [1.0, 1.0]
    """
    matrix, rows, columns = correlations(
        counts.matrix, transform=transform, pseudo=pseudo, context_exponent=context_exponent
    )
    operator = matrix
    if center:
        r, c = margins(like(counts.matrix, transformed(counts.matrix.data, transform)))
        operator = _deflated(matrix, rows * r, columns * c / max(r.sum(), 1e-300))
    return _learned(svd(operator), rows, columns, counts, places)


def two_step_cca(
    text: TokenArrays,
    window: Window,
    svd: Decomposition,
    *,
    transform: Transform = "sqrt",
    pseudo: float = 0.0,
    whitening: Literal["full", "diagonal"] = "full",
    n_words: int | None = None,
    n_contexts: int | None = None,
    threads: int | None = None,
) -> Learned:
    """First the left contexts against the right ones, then the words against the states that this gives them.

    The states of a token are k numbers from the words on its left and k from those on its right, so the second step is
    small and needs fewer observations (Dhillon, Rodu, Foster and Ungar 2012). Left and right are bags of words,
    weighted by distance; or, if each position of the window has its own columns, a word for each position.

    Parameters
    ----------
    whitening
        Of the states in the second step: by their full covariance, over a sample of the text, or its diagonal.
    """
    if not text.n_tokens:
        raise OptionError("there are no words to learn from")
    left, right = (one_side(window, sign, positional=True) for sign in (-1, +1))
    size = min(n_contexts or len(text.vocabulary), len(text.vocabulary))
    between = _left_against_right(text, left, right, size, threads)
    matrix, whiten_left, whiten_right = correlations(between, transform=transform, pseudo=pseudo)
    first = svd(matrix)
    states = tuple(
        WindowStates(side, (projection * factors[:, None]).astype(np.float32), size)
        for side, projection, factors in ((left, first.U, whiten_left), (right, first.V, whiten_right))
    )
    sums, counted = [], None  # W'S, one block a side
    for view in states:
        counted = count_contexts(text, view.window, n_words=n_words, n_contexts=n_contexts, threads=threads)
        sums.append(like(counted.matrix, transformed(counted.matrix.data, transform)) @ view.projection)
    assert counted is not None
    whiten_words = inverse_root(transformed(counted.word_counts, transform), pseudo)
    moment = second_moment(text, states, threads)
    if whitening == "diagonal":
        moment = np.diag(np.diag(moment))
    elif whitening != "full":
        raise unknown_choice("whitening must be", whitening, ("full", "diagonal"))
    second = svd((whiten_words[:, None] * np.hstack(sums)) @ inverse_sqrt(moment, cutoff=1e-6))
    return Learned(second.U, second.s, whiten_words, states)


def _learned(
    svd: SVD, rows: NDArray[Any], columns: NDArray[Any], counts: ContextCounts, places: Places
) -> Learned:
    projection = (svd.V * columns[:, None]).astype(np.float32)
    kept = (projection, counts.n_contexts, counts.edges)
    states = WindowStates(places, *kept) if isinstance(places, Window) else TreeStates(places, *kept)
    return Learned(svd.U, svd.s, rows, (states,))


def _deflated(matrix: Any, u: NDArray[Any], v: NDArray[Any]) -> Any:
    """matrix - u vᵀ, as an operator."""
    from scipy.sparse.linalg import LinearOperator

    u, v = u.astype(matrix.dtype), v.astype(matrix.dtype)
    adjoint = matrix.T.tocsr()
    return LinearOperator(
        matrix.shape,
        matvec=lambda x: matrix @ x - u * (v @ x),
        rmatvec=lambda y: adjoint @ y - v * (u @ y),
        matmat=lambda X: matrix @ X - u[:, None] * (v @ X),
        rmatmat=lambda Y: adjoint @ Y - v[:, None] * (u @ Y),
        dtype=matrix.dtype,
    )


def one_side(window: Window, sign: int, *, positional: bool = False) -> Window:
    """The places of a window on one side (-1: before), as one bag, or else in the blocks that they have."""
    kept = window.offsets * sign > 0
    if not kept.any():
        raise OptionError("the window must have words on both sides: left and right contexts are compared")
    blocks = np.unique(window.blocks[kept], return_inverse=True)[1] if positional else np.zeros(kept.sum())
    return Window(window.offsets[kept], blocks.astype(np.int64), window.weights[kept])


def _left_against_right(
    text: TokenArrays, left: Window, right: Window, size: int, threads: int | None
) -> Any:
    """L'R, how often each left context of a token meets each right one: CSR [left columns, right columns]."""
    from scipy.sparse import block_array

    def lagged(lags: Window) -> Any:
        return count_contexts(text, lags, n_words=size, n_contexts=size, threads=threads).matrix

    if left.n_blocks == right.n_blocks == 1:
        return lagged(_lags(left, right))
    sides = [
        [
            Window(side.offsets[kept], np.zeros(kept.sum(), np.int64), side.weights[kept])
            for kept in (side.blocks == block for block in range(side.n_blocks))
        ]
        for side in (left, right)
    ]
    return block_array([[lagged(_lags(a, b)) for b in sides[1]] for a in sides[0]], format="csr")


def _lags(left: Window, right: Window) -> Window:
    """Where the right contexts stand, seen from a left one: at i + j, if they are i before and j after the token."""
    weights = np.zeros(right.offsets.max() - left.offsets.min() + 1)
    for i, a in zip(left.offsets, left.weights):
        for j, b in zip(right.offsets, right.weights):
            weights[j - i] += a * b
    offsets = np.flatnonzero(weights)
    return Window(offsets, np.zeros(len(offsets), np.int64), weights[offsets])


def sampled_pieces(text: TokenArrays, limit: int) -> list[TokenArrays]:
    """Pieces of the text, all of it or as many as have ``limit`` tokens, evenly spaced."""
    pieces = text.shards(max(1, text.n_tokens // PIECE))
    n = max(1, min(len(pieces), len(pieces) * limit // max(text.n_tokens, 1)))
    return [pieces[i * len(pieces) // n] for i in range(n)]


def second_moment(
    text: TokenArrays, states: tuple[WindowStates, ...], threads: int | None, sample: int = SAMPLE
) -> NDArray[np.float64]:
    """S'S of the states of tokens, as if summed over the whole text; of ``sample`` tokens at most."""
    pieces = sampled_pieces(text, sample)

    def moment(piece: TokenArrays) -> NDArray[np.float64]:
        S = np.hstack([view(piece) for view in states])
        return np.asarray(S.T @ S, np.float64)

    with one_blas_thread():
        total = map_reduce(moment, pieces, threads=threads)
    return total * (text.n_tokens / sum(piece.n_tokens for piece in pieces))
