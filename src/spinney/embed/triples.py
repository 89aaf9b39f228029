"""Models of three views: mixtures and hidden Markov chains out of moments of triples of words.

Where three things are independent given a hidden class, their joint moments are sums of rank-one terms, one for each
class (Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014, section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.embed.recovery import HMMParameters
from spinney.embed.tensors import Matrix, symmetrised, tensor_power, to_simplex, whitening
from spinney.errors import OptionError
from spinney.linalg import truncated_svd

_CHUNK = 1 << 22  # numbers in a block of products of pairs

# E[(F1ᵀx1) ⊗ (F2ᵀx2) ⊗ (F3ᵀx3)] for maps F of shape [d, k]: all that is ever asked of a third moment.
Triple = Callable[[Matrix, Matrix, Matrix], Matrix]


class Mixture(NamedTuple):
    """A mixture of ``k`` classes, seen from three sides that are independent given the class."""

    weights: Matrix  # [k]: p(class), falling
    means: tuple[Matrix, Matrix, Matrix]  # each [d, k]: E[view | class]


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
) -> Mixture:
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
    >>> mixture = three_views(pair(A, B), pair(A, C), pair(B, C), T, 2)
    >>> mixture.weights.round(8), bool(np.allclose(mixture.means, [A, B, C]))
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
    return Mixture(weights[order] / weights.sum(), (first, second, third))


def _mapped(T: Matrix, F1: Matrix, F2: Matrix, F3: Matrix) -> Matrix:
    return np.asarray(np.einsum("abc,ai,bj,ck->ijk", T, F1, F2, F3, optimize=True))


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


def hidden_markov(mixture: Mixture) -> HMMParameters:
    """The chain behind three neighbouring words, given the class of the second (Anandkumar, Hsu and Kakade 2012).

    The means of the views are ``O P(h1 | h2)``, ``O`` and ``O T``: with words fewer than classes, or emissions that
    depend on each other, there is no way back, and the chain is not determined. The start is the law of the first of
    the three.

    Examples
    --------
    >>> O, T, start = np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([[0.7, 0.4], [0.3, 0.6]]), np.array([0.2, 0.8])
    >>> P = np.einsum("h,ah,gh,bg,fg,cf->abc", start, O, T, O, T, O)
    >>> chain = hidden_markov(three_views(P.sum(2), P.sum(1), P.sum(0), P, 2))
    >>> order = np.argsort(-chain.emission[0])  # classes come in no order
    >>> chain.transition[np.ix_(order, order)].round(8), chain.start[order].round(8)
    (array([[0.7, 0.4], [0.3, 0.6]]), array([0.2, 0.8]))
    """
    first, emission, third = mixture.means
    inverse = np.linalg.pinv(emission)
    start = to_simplex((inverse @ first @ mixture.weights)[None])[0]
    return HMMParameters(start, to_simplex((inverse @ third).T).T, emission)
