"""The moments of documents, and the topics that they determine.

How often two and three words of a document are which words determines the topics: A = E[x1 x2ᵀ] and
T = E[x1 ⊗ x2 ⊗ x3] are sums of a term for each topic, for documents of one topic each as well as, after a correction
by the mean, for latent Dirichlet allocation (Anandkumar, Foster, Hsu, Kakade and Liu 2012; Anandkumar et al. 2014).
Neither is formed: A is known by its products, T only where the whitening of A has made it K × K × K.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from spinney.embed.tensors import Matrix, pairs_with, tensor_power, whitening
from spinney.errors import InputError
from spinney.parallel import default_threads, map_reduce, one_blas_thread

_SHARD = 1024  # rows whose third moments are added up at a time


class DocumentMoments:
    """The moments of two and three words of a document, each document with the same weight.

    Of a document's l words, pairs and triples are drawn without replacement, so that the averages are unbiased
    whatever its length; documents of fewer than three words have no triples and are left out.

    Parameters
    ----------
    X : sparse matrix [documents, words]
        Counts.
    alpha0
        0 for one topic for each document, or the sum of the parameters of the Dirichlet distribution of the topics of a
        document.
    threads
        By default one for each processor. The sums do not depend on it.

    Examples
    --------
    >>> moments = DocumentMoments(sparse.csr_array([[2.0, 1.0], [0.0, 3.0]]))
    >>> moments.pairs() @ np.eye(2)
    array([[0.16666667, 0.16666667],
           [0.16666667, 0.5       ]])
    >>> moments.triples(np.eye(2))[0]
    array([[0.        , 0.16666667],
           [0.16666667, 0.        ]])
    """

    def __init__(self, X: Any, alpha0: float = 0.0, *, threads: int | None = None) -> None:
        lengths = np.asarray(X.sum(axis=1)).ravel()
        long_enough = lengths >= 3
        self.dropped = int(np.sum(~long_enough))
        if not long_enough.any():
            raise InputError(
                "all documents have fewer than 3 words, so there are no triples to learn from",
                remedy="give counts rather than relative frequencies",
            )
        self.counts = sparse.csr_array(X)[long_enough]
        n, l = self.counts.shape[0], lengths[long_enough]
        self.alpha0, self.threads = alpha0, threads
        self._pair_weight: Matrix = 1 / (n * l * (l - 1))
        self._triple_weight: Matrix = self._pair_weight / (l - 2)
        self._diagonal = self.counts.T @ self._pair_weight
        self.mean: Matrix = self.counts.T @ (1 / (n * l))

    def _raw_pairs(self, V: Matrix) -> Matrix:
        """E[x1 x2ᵀ] V = Σ_d (c cᵀ - diag c) V / (n l (l-1))."""
        weight, diagonal = self._pair_weight, self._diagonal
        if V.ndim == 2:
            weight, diagonal = weight[:, None], diagonal[:, None]
        return np.asarray(self.counts.T @ (weight * (self.counts @ V)) - diagonal * V)

    def pairs(self) -> LinearOperator:
        """A = E[x1 x2ᵀ] - α0/(α0+1) v vᵀ with v = E[x1], known by its products."""
        share, v = self.alpha0 / (self.alpha0 + 1), self.mean

        def product(V: Matrix) -> Matrix:
            return np.asarray(self._raw_pairs(V) - share * np.multiply.outer(v, v @ V))

        size = self.counts.shape[1]
        return LinearOperator((size, size), product, rmatvec=product, matmat=product, dtype=np.float64)

    def triples(self, W: Matrix) -> Matrix:
        """T(W, W, W), the third moments seen through ``W`` [words, K], without those of full size.

        With y = Wᵀc, and w_j the rows of W, a document gives y⊗y⊗y - Σ_j c_j (w_j⊗w_j⊗y in three orders)
        + 2 Σ_j c_j w_j⊗w_j⊗w_j; its last two sums are taken over words, once for all documents.
        """
        C, threads = self.counts, self.threads or default_threads()

        def of_documents(rows: slice) -> tuple[Matrix, Matrix]:
            Y = C[rows] @ W
            weighted = self._triple_weight[rows, None] * Y
            return pairs_with(Y, weighted), C[rows].T @ weighted

        def of_words(rows: slice) -> Matrix:
            return pairs_with(W[rows], Z[rows])

        with one_blas_thread():
            T, seen_with = map_reduce(of_documents, _slices(C.shape[0]), threads=threads, reduce=add_both)
            Z = (2 / 3) * (C.T @ self._triple_weight)[:, None] * W - seen_with
            T += _in_three_orders(map_reduce(of_words, _slices(len(W)), threads=threads))
        if self.alpha0:
            T = T + self._dirichlet_correction(W)
        return np.asarray(T)

    def _dirichlet_correction(self, W: Matrix) -> Matrix:
        alpha0, v = self.alpha0, W.T @ self.mean
        pairs = W.T @ self._raw_pairs(W)
        return np.asarray(
            2 * alpha0**2 / ((alpha0 + 2) * (alpha0 + 1)) * np.einsum("i,j,k", v, v, v)
            - alpha0 / (alpha0 + 2) * _in_three_orders(np.multiply.outer(pairs, v))
        )


def _slices(n: int) -> list[slice]:
    return [slice(start, start + _SHARD) for start in range(0, n, _SHARD)]


def add_both(one: tuple[Any, Matrix], other: tuple[Any, Matrix]) -> tuple[Any, Matrix]:
    """The sums of two pairs, for :func:`~spinney.parallel.map_reduce`."""
    return one[0] + other[0], one[1] + other[1]


def _in_three_orders(T: Matrix) -> Matrix:
    """T_ijk + T_ikj + T_kji of what is symmetric in its first two sides."""
    return T + T.transpose(0, 2, 1) + T.transpose(2, 1, 0)


class MomentSolution(NamedTuple):
    """What the moments say of the topics, the heaviest first."""

    topics: Matrix  # [K, words]; with samples they may have negative entries
    shares: Matrix  # [K]: E of a document's proportions; with samples their sum may differ from 1
    spectrum: Matrix  # [K]: the eigenvalues of the pairs


def topics_from_moments(
    pairs: Any,
    triples: Callable[[Matrix], Matrix],
    n_topics: int,
    alpha0: float = 0.0,
    *,
    restarts: int = 30,
    iterations: int = 30,
    random_state: int = 0,
) -> MomentSolution:
    """Topics from A and T(W, W, W) (Anandkumar et al. 2014, Theorem 3.5 and section 4).

    Parameters
    ----------
    pairs : array, sparse matrix or LinearOperator [words, words]
    triples
        A function of ``W`` [words, K] that gives T(W, W, W).
    alpha0
        With which the moments were corrected; 0 for one topic for each document.

    Examples
    --------
    >>> topics, w = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), np.array([0.75, 0.25])
    >>> A = topics.T * w @ topics
    >>> found = topics_from_moments(A, lambda W: np.einsum("h,hi,hj,hk", w, *[topics @ W] * 3), 2)
    >>> found.topics.round(8), found.shares.round(8)
    (array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), array([0.75, 0.25]))
    """
    W, back, spectrum = whitening(pairs, n_topics, random_state=random_state)
    values, vectors = tensor_power(
        triples(W), restarts=restarts, iterations=iterations, random_state=random_state
    )
    # α_i / α0, which becomes 1 / λ² for one topic for each document.
    shares = 4 * (alpha0 + 1) / ((alpha0 + 2) * values) ** 2
    topics = ((alpha0 + 2) / 2 * values * (back @ vectors)).T
    order = np.argsort(-shares, kind="stable")
    return MomentSolution(topics[order], shares[order], spectrum)
