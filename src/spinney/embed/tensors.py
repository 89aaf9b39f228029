"""Third moments: whitening, the decomposition of symmetric tensors, and models of three views.

Where three things are independent given a hidden class, their joint moments are sums of rank-one terms, one a class.
Pairs whiten the terms, so that those of the triples become orthogonal, and the tensor power method finds them one by
one (Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014). Only the small whitened tensor is ever formed.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError
from spinney.linalg import truncated_svd

Matrix = NDArray[np.float64]

_SMALL = 400  # operators no larger than this are decomposed exactly
_CHUNK = 1 << 22  # numbers in a block of products of pairs

# E[(F1ᵀx1) ⊗ (F2ᵀx2) ⊗ (F3ᵀx3)] for maps F of shape [d, k]: all that is ever asked of a third moment.
Triple = Callable[[Matrix, Matrix, Matrix], Matrix]


# -- whitening ----------------------------------------------------------------------------------------------------


class Whitening(NamedTuple):
    """``W.T @ A @ W`` is the identity, and ``back @ W.T`` the projection on the leading eigenvectors of A."""

    W: Matrix  # [d, k]: U D^(-1/2)
    back: Matrix  # [d, k]: U D^(1/2), the pseudo-inverse of W.T
    values: Matrix  # [k]: D, falling


def whitening(A: Any, k: int, *, cutoff: float = 1e-10, random_state: int = 0) -> Whitening:
    """The map that makes a symmetric matrix the identity on its ``k`` leading eigenvectors.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator [d, d]
        Symmetric; moments of samples need not be positive.
    k
        How many; directions whose eigenvalue is at most ``cutoff`` times the largest are left out, with a warning.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> W, _, values = whitening(A, 2)
    >>> values.round(6), bool(np.allclose(W.T @ A @ W, np.eye(2)))
    (array([3., 1.]), True)
    """
    d = A.shape[0]
    if not 1 <= k <= d:
        raise OptionError(f"k must lie in 1 … {d}, the size of the matrix, not {k}")
    values, U = _leading_eigenpairs(A, k, random_state)
    kept = int(np.sum(values > cutoff * max(values[0], np.finfo(float).tiny)))
    if kept == 0:
        raise InputError(
            "the matrix of second moments has no positive eigenvalue", remedy="more data is needed"
        )
    if kept < k:
        warnings.warn(
            f"only {kept} of {k} eigenvalues of the second moments are positive: {kept} components are sought",
            UserWarning,
            stacklevel=2,
        )
    values, U = values[:kept], U[:, :kept]
    roots = np.sqrt(values)
    return Whitening(U / roots, U * roots, values)


def _leading_eigenpairs(A: Any, k: int, random_state: int) -> tuple[Matrix, Matrix]:
    """The algebraically largest eigenvalues, falling, and their vectors with the largest entry positive."""
    import scipy.linalg
    from scipy.sparse.linalg import eigsh

    d = A.shape[0]
    if d <= _SMALL or k >= d - 1:
        dense = A.toarray() if hasattr(A, "toarray") else A if isinstance(A, np.ndarray) else A @ np.eye(d)
        values, U = scipy.linalg.eigh(dense, subset_by_index=(d - k, d - 1))
    else:
        # A fixed start vector: ARPACK's own differs from call to call.
        values, U = eigsh(A, k, which="LA", v0=np.random.default_rng(random_state).standard_normal(d))
    order = np.argsort(values)[::-1]
    values, U = values[order], U[:, order]
    signs = np.sign(U[np.argmax(np.abs(U), axis=0), np.arange(k)])
    return values, U * signs


# -- tensors ------------------------------------------------------------------------------------------------------


class Components(NamedTuple):
    """``Σᵢ values[i] · v ⊗ v ⊗ v`` with v = ``vectors[:, i]``, largest values first."""

    values: Matrix  # [r], positive
    vectors: Matrix  # [k, r], of length 1


def tensor_power(
    T: ArrayLike,
    n_components: int | None = None,
    *,
    restarts: int = 30,
    iterations: int = 30,
    tol: float = 1e-12,
    random_state: int = 0,
) -> Components:
    """The robust tensor power method: orthogonal components of a symmetric third-order tensor.

    For each component, ``v ← T(I, v, v) / ‖·‖`` from several random starts; the one with the largest λ = T(v, v, v)
    is iterated to a fixed point, and λ v⊗v⊗v is taken away. λ is positive: with an odd order, -v turns its sign.

    Parameters
    ----------
    T : array [k, k, k]
        Symmetric. If it is not quite orthogonally decomposable, the components are its robust eigenvectors.
    n_components
        By default k. Fewer come back, with a warning, if nothing is left of the tensor.
    restarts, iterations
        Starts for each component, and steps from each before the best is chosen.
    tol
        The change of v at which the best one has come to rest.

    Examples
    --------
    >>> basis = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    >>> T = np.einsum("r,ir,jr,kr", [3.0, 2.0, 1.0], basis, basis, basis)
    >>> values, vectors = tensor_power(T)
    >>> values.round(8), bool(np.allclose(vectors, basis))
    (array([3., 2., 1.]), True)
    """
    left = np.array(T, float)
    if left.ndim != 3 or len(set(left.shape)) != 1:
        raise OptionError(f"a tensor of three equal sides is needed, not {left.shape}")
    if min(restarts, iterations) < 1:
        raise OptionError("restarts and iterations must be at least 1")
    k = left.shape[0]
    n = k if n_components is None else n_components
    if not 1 <= n <= k:
        raise OptionError(f"n_components must lie in 1 … {k}, not {n}")
    rng = np.random.default_rng(random_state)
    nothing = 1e-12 * max(float(np.linalg.norm(left)), np.finfo(float).tiny)
    values, vectors = np.zeros(n), np.zeros((k, n))
    for i in range(n):
        V = _unit(rng.standard_normal((k, restarts)))
        for _ in range(iterations):
            V = _unit(_contracted(left, V))
        v = _at_rest(left, V[:, [np.argmax(_cubic(left, V))]], tol)
        value = float(_cubic(left, v)[0])
        if value <= nothing:
            warnings.warn(
                f"the tensor has only {i} components, not {n}: K is too large", UserWarning, stacklevel=2
            )
            values, vectors = values[:i], vectors[:, :i]
            break
        values[i], vectors[:, i] = value, v[:, 0]
        left -= value * np.einsum("i,j,k", v[:, 0], v[:, 0], v[:, 0])
    order = np.argsort(-values, kind="stable")
    return Components(values[order], np.ascontiguousarray(vectors[:, order]))


def _contracted(T: Matrix, V: Matrix) -> Matrix:
    """T(I, v, v) for each column v."""
    k, n = V.shape
    once = (T.reshape(k * k, k) @ V).reshape(k, k, n)
    return np.asarray(np.einsum("ijr,jr->ir", once, V))


def _cubic(T: Matrix, V: Matrix) -> Matrix:
    """T(v, v, v) for each column v."""
    return np.asarray(np.sum(_contracted(T, V) * V, axis=0))


def _unit(V: Matrix) -> Matrix:
    lengths = np.linalg.norm(V, axis=0)
    return np.asarray(V / np.where(lengths > 0, lengths, 1.0))


def _at_rest(T: Matrix, v: Matrix, tol: float, limit: int = 1000) -> Matrix:
    for _ in range(limit):
        old, v = v, _unit(_contracted(T, v))
        if np.abs(v - old).max() <= tol:
            break
    return v


def symmetrised(T: Matrix) -> Matrix:
    """The average over all orders of the three sides."""
    return np.asarray(sum(T.transpose(order) for order in itertools.permutations(range(3))) / 6)


def pairs_with(Y: Matrix, Z: Matrix) -> Matrix:
    """``Σ_d y_d ⊗ y_d ⊗ z_d`` over the rows of two matrices, [k, k, k]: each pair of columns is multiplied once."""
    k = Y.shape[1]
    i, j = np.triu_indices(k)
    packed = np.zeros((len(i), Z.shape[1]))
    step = max(1, _CHUNK // len(i))
    for start in range(0, len(Y), step):
        y = Y[start : start + step]
        packed += (y[:, i] * y[:, j]).T @ Z[start : start + step]
    T = np.empty((k, k, Z.shape[1]))
    T[i, j] = T[j, i] = packed
    return T


# -- three views --------------------------------------------------------------------------------------------------


class Views(NamedTuple):
    """A mixture of ``k`` classes, seen from three sides that are independent given the class."""

    weights: Matrix  # [k]: p(class), falling
    means: tuple[Matrix, Matrix, Matrix]  # each [d, k]: E[view | class]


class Chain(NamedTuple):
    """A hidden Markov chain, as three neighbouring words tell it; columns sum to 1."""

    start: Matrix  # [class], of the first of the three
    transition: Matrix  # [next class, class]
    emission: Matrix  # [word, class]


def three_views(
    P12: Any,
    P13: Any,
    P23: Any,
    triple: ArrayLike | Triple,
    k: int,
    *,
    probabilities: bool = True,
    restarts: int = 30,
    iterations: int = 30,
    random_state: int = 0,
) -> Views:
    """A mixture of classes from the pair and triple moments of three views (Anandkumar et al. 2014, section 4.3).

    Views 1 and 2 are mapped into the space of view 3, where all three have the same conditional means; there the
    moments are symmetric. Each view must have rank k: no class's mean is a combination of the others'.

    Parameters
    ----------
    P12, P13, P23 : array, sparse matrix or LinearOperator [d, d']
        E[x1 x2ᵀ] and so on.
    triple : array [d1, d2, d3], or function of three maps
        E[x1 ⊗ x2 ⊗ x3] itself, or a function that gives it mapped, never in full, as :func:`word_triples` does.
    probabilities
        Whether views are words, so that the means are distributions: negative entries are clipped, sums made 1.

    Examples
    --------
    >>> w = np.array([0.6, 0.4])
    >>> A, B, C = np.random.default_rng(0).dirichlet(np.ones(4), (3, 2)).transpose(0, 2, 1)
    >>> pair = lambda X, Y: X * w @ Y.T
    >>> T = np.einsum("h,ah,bh,ch", w, A, B, C)
    >>> views = three_views(pair(A, B), pair(A, C), pair(B, C), T, 2)
    >>> views.weights.round(8), bool(np.allclose(views.means, [A, B, C]))
    (array([0.6, 0.4]), True)
    """
    U1, s, U2 = truncated_svd(P12, k, random_state=random_state)
    U3 = truncated_svd(P13, k, random_state=random_state).V
    if len(s) < k or s[-1] <= 1e-12 * s[0]:
        raise OptionError(f"k={k} is more than the rank of the pairs: ask for fewer classes")
    P13_U3, P23_U3 = P13 @ U3, P23 @ U3
    # In the small spaces: Q12 = U1ᵀ P12 U2 is diag(s).
    Q13, Q23 = U1.T @ P13_U3, U2.T @ P23_U3
    to_third_from_1 = Q23.T / s  # Q32 Q12⁻¹
    to_third_from_2 = Q13.T / s  # Q31 Q21⁻¹
    pairs = to_third_from_1 @ Q13
    W, back, _ = whitening((pairs + pairs.T) / 2, k)
    maps = (U1 @ to_third_from_1.T @ W, U2 @ to_third_from_2.T @ W, U3 @ W)
    whitened = triple(*maps) if callable(triple) else _mapped(np.asarray(triple, float), *maps)
    values, vectors = tensor_power(
        symmetrised(whitened), restarts=restarts, iterations=iterations, random_state=random_state
    )
    weights, third = 1 / values**2, (back @ vectors) * values
    # P13 = M1 diag(w) M3ᵀ, and M3 = U3 third.
    others = np.linalg.pinv(third.T) / weights
    order = np.argsort(-weights, kind="stable")
    first, second, third = (
        to_simplex(M[:, order].T).T if probabilities else M[:, order]
        for M in (P13_U3 @ others, P23_U3 @ others, U3 @ third)
    )
    return Views(weights[order] / weights.sum(), (first, second, third))


def _mapped(T: Matrix, F1: Matrix, F2: Matrix, F3: Matrix) -> Matrix:
    return np.asarray(np.einsum("abc,ai,bj,ck->ijk", T, F1, F2, F3, optimize=True))


def to_simplex(rows: Matrix) -> Matrix:
    """Negative entries clipped, and rows made to sum to 1; one without a positive entry becomes uniform.

    Examples
    --------
    >>> to_simplex(np.array([[3.0, -1.0], [-1.0, 0.0]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    rows = np.maximum(rows, 0.0)
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1 / rows.shape[1])


class WordTriples(NamedTuple):
    """The moments of three words, as :func:`three_views` takes them."""

    P12: Any
    P13: Any
    P23: Any
    triple: Triple


def word_triples(words: ArrayLike, n_words: int) -> WordTriples:
    """The moments of triples of words, such as all windows of three of a text.

    Parameters
    ----------
    words : array of int [n, 3]
        A triple a row, words from 0 up.
    n_words
        The size of the vocabulary.

    Examples
    --------
    >>> triples = word_triples([[0, 1, 0], [1, 1, 0]], n_words=2)
    >>> triples.P12.toarray()
    array([[0. , 0.5],
           [0. , 0.5]])
    """
    from scipy.sparse import csr_array

    words = np.asarray(words)
    if words.ndim != 2 or words.shape[1] != 3 or words.dtype.kind not in "iu" or not len(words):
        raise OptionError(
            "triples of words are an array of whole numbers with three columns and at least one row"
        )
    if words.min() < 0 or words.max() >= n_words:
        raise OptionError(f"a word lies outside 0 … {n_words - 1}")
    n = len(words)
    x1, x2, x3 = np.ascontiguousarray(words.T)

    def pair(a: NDArray[Any], b: NDArray[Any]) -> Any:
        return csr_array((np.full(n, 1 / n), (a, b)), shape=(n_words, n_words))

    def triple(F1: Matrix, F2: Matrix, F3: Matrix) -> Matrix:
        k = F1.shape[1], F2.shape[1], F3.shape[1]
        T = np.zeros((k[0] * k[1], k[2]))
        step = max(1, _CHUNK // (k[0] * k[1]))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            products = F1[x1[rows], :, None] * F2[x2[rows], None, :]
            T += products.reshape(-1, k[0] * k[1]).T @ F3[x3[rows]]
        return T.reshape(k) / n

    return WordTriples(pair(x1, x2), pair(x1, x3), pair(x2, x3), triple)


def hidden_markov(views: Views) -> Chain:
    """The chain behind three neighbouring words, given the class of the second (Anandkumar, Hsu and Kakade 2012).

    The means of the views are ``O P(h1 | h2)``, ``O`` and ``O T``: with words fewer than classes, or emissions that
    depend on each other, there is no way back, and the chain is not determined.

    Examples
    --------
    >>> O, T, start = np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([[0.7, 0.4], [0.3, 0.6]]), np.array([0.2, 0.8])
    >>> P = np.einsum("h,ah,gh,bg,fg,cf->abc", start, O, T, O, T, O)
    >>> chain = hidden_markov(three_views(P.sum(2), P.sum(1), P.sum(0), P, 2))
    >>> order = np.argsort(-chain.emission[0])  # classes come in no order
    >>> chain.transition[np.ix_(order, order)].round(8), chain.start[order].round(8)
    (array([[0.7, 0.4], [0.3, 0.6]]), array([0.2, 0.8]))
    """
    first, emission, third = views.means
    inverse = np.linalg.pinv(emission)
    start = to_simplex((inverse @ first @ views.weights)[None])[0]
    return Chain(start, to_simplex((inverse @ third).T).T, emission)
