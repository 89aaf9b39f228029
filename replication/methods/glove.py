"""GloVe (Pennington et al. 2014): products of vectors, with biases, that fit the logarithms of weighted counts.

    minimise Σ_ij f(n_ij) (w_i·c_j + b_i + b'_j − log n_ij)²    with f(n) = min(1, (n / ceiling)^power)

over the pairs with n_ij > 0. As in the authors' program: AdaGrad on half of each term, whose sums of squares begin at
1 and take in the steps' factor; pairs are shuffled once; and the vector of a word is the sum of both of its vectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.checking import random_numbers
from spinney.compiling import njit
from spinney.corpus import TokenArrays
from spinney.embed import count_contexts, window
from spinney.errors import OptionError

Matrix = NDArray[np.float64]


class GloVe(NamedTuple):
    """Vectors of words and of contexts, and how the fit went."""

    words: Matrix  # [V, M]
    contexts: Matrix  # [C, M]
    word_biases: Matrix  # [V]
    context_biases: Matrix  # [C]
    losses: list[float]  # of each epoch: the sum of the terms, each as it was before its step

    @property
    def vectors(self) -> Matrix:
        """The sum of the two vectors of each word, where contexts are words."""
        return self.words + self.contexts


def harmonic_counts(text: TokenArrays, reach: int, threads: int | None = None) -> Any:
    """How often each word stands near each other word: 1/distance for each time, up to ``reach``; CSR [V, V].

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> harmonic_counts(sentence_arrays([["one", "more", "rose"]]), 5).toarray()
    array([[0. , 1. , 0.5],
           [1. , 0. , 1. ],
           [0.5, 1. , 0. ]], dtype=float32)
    """
    return count_contexts(text, window(reach, weighting="harmonic"), threads=threads).matrix


def fit_glove(
    counts: Any,
    M: int,
    *,
    epochs: int = 50,
    ceiling: float = 100.0,
    power: float = 0.75,
    step: float = 0.05,
    random_state: int = 0,
) -> GloVe:
    """Learn vectors of a matrix of counts.

    Parameters
    ----------
    counts
        A sparse matrix [V, C], see :func:`harmonic_counts`.
    M
        The length of the vectors.
    epochs
        Visits of each pair. The paper has 50 for vectors of less than 300 numbers, the program 25 by default.
    ceiling, power
        From ``ceiling`` on, counts have the weight 1; below it, (count / ceiling)^power.
    step
        Of AdaGrad.
    random_state
        Of the first vectors and the order of the pairs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> counts = csr_array(np.exp(np.add.outer([1.0, 2.0, 3.0], [0.0, 2.0])))
    >>> model = fit_glove(counts, 1, epochs=2000, ceiling=1.0)
    >>> model.losses[-1] < 1e-6 * model.losses[0], model.words.shape
    (True, (3, 1))
    """
    for name, value in {"M": M, "epochs": epochs}.items():
        if value < 1:
            raise OptionError(f"{name} must be at least 1, not {value}")
    for name, strength in {"ceiling": ceiling, "step": step}.items():
        if not strength > 0:
            raise OptionError(f"{name} must be above 0, not {strength}")
    rng = random_numbers(random_state)
    pairs = counts.tocoo()
    order = rng.permutation(np.flatnonzero(pairs.data > 0))
    rows, columns = (np.ascontiguousarray(side[order], np.int64) for side in (pairs.row, pairs.col))
    seen = np.asarray(pairs.data[order], np.float64)
    logs, weights = np.log(seen), np.minimum(1.0, (seen / ceiling) ** power)
    # The last number of each row is its bias: one more coordinate, whose partner is always 1.
    W, C = ((rng.random((size, M + 1)) - 0.5) / (M + 1) for size in counts.shape)
    squares_w, squares_c = np.ones_like(W), np.ones_like(C)
    losses = [
        float(visit_pairs(rows, columns, logs, weights, W, C, squares_w, squares_c, step))
        for _ in range(epochs)
    ]
    return GloVe(W[:, :M].copy(), C[:, :M].copy(), W[:, M].copy(), C[:, M].copy(), losses)


@njit(cache=True, nogil=True, error_model="numpy")
def visit_pairs(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    logs: Matrix,
    weights: Matrix,
    W: Matrix,
    C: Matrix,
    squares_w: Matrix,
    squares_c: Matrix,
    step: float,
) -> float:
    """One step of AdaGrad for each pair, in place; returns the sum of the terms, each as it was before its step.

    Rows of ``W`` and ``C`` are a vector and, last, its bias. ``squares_w`` and ``squares_c`` sum the squares of
    step·slope for each number, which is then moved by step·slope over the root of the sum before.
    """
    M = W.shape[1] - 1
    total = 0.0
    for k in range(rows.size):
        w, c = W[rows[k]], C[columns[k]]
        sum_w, sum_c = squares_w[rows[k]], squares_c[columns[k]]
        error = w[M] + c[M] - logs[k]
        for i in range(M):
            error += w[i] * c[i]
        total += weights[k] * error * error
        slope = step * weights[k] * error
        for i in range(M):
            of_w, of_c = slope * c[i], slope * w[i]
            w[i] -= of_w / np.sqrt(sum_w[i])
            c[i] -= of_c / np.sqrt(sum_c[i])
            sum_w[i] += of_w * of_w
            sum_c[i] += of_c * of_c
        w[M] -= slope / np.sqrt(sum_w[M])
        c[M] -= slope / np.sqrt(sum_c[M])
        sum_w[M] += slope * slope
        sum_c[M] += slope * slope
    return total
