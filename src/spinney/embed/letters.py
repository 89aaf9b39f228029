"""Vectors of letter n-grams, learned from the vectors of words that have them.

The vector of a word is approximated by the mean of the vectors of its n-grams, by least squares with a ridge (Zhao,
Mudgal and Liang 2018: bags of subwords). A word that was never seen then has a vector, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError
from spinney.structure.subwords import Subwords

#: Lengths of n-grams, as in fastText.
LENGTHS = (3, 6)
_RIDGES = (0.03, 0.1, 0.3, 1.0)
_HELD_OUT = 10  # of so many words, one is held out
_MOST = 2000  # words held out
_STEPS, _TOLERANCE = 50, 1e-3


class Learned(NamedTuple):
    """Vectors by letters, and how well they do on words that were held out.

    Attributes
    ----------
    cosine : float
        The mean cosine of the vectors of held-out words and those by their letters.
    nearer : float
        How often the vector by letters is nearer to that of its word than to that of another held-out word; 0.5 by
        chance.
    """

    subwords: Subwords
    ridge: float
    cosine: float
    nearer: float


def learn_subwords(
    words: Sequence[str], vectors: NDArray[Any], rows: int, *, random_state: int = 0
) -> Learned:
    """Vectors of the letter n-grams of words, hashed into ``rows``.

    The ridge is the one with which vectors of a tenth of the words, held out, are predicted best; with it, all words
    are learned from.

    Examples
    --------
    >>> words = [stem + end for stem in "walk talk jump play call help open cook".split() for end in ("ing", "ed", "s")]
    >>> vectors = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])[np.arange(24) % 3]  # by their endings
    >>> learned = learn_subwords(words, vectors, 500)
    >>> learned.subwords.vectors(["surfing", "surfed"]).argmax(axis=1)
    array([0, 1])
    """
    if len(words) < 4:
        raise InputError(
            f"{len(words)} words are too few to learn from their letters", remedy="give more text"
        )
    rng = np.random.default_rng(random_state)
    empty = Subwords(np.zeros((rows, 1), np.float32), *LENGTHS)
    shares = _shares(empty.rows_of(words))
    targets = np.asarray(vectors, np.float64)
    mean = targets.mean(axis=0)
    held_out = np.zeros(len(words), bool)
    held_out[rng.permutation(len(words))[: min(max(2, len(words) // _HELD_OUT), _MOST)]] = True
    true = _unit(targets[held_out])
    found = []
    for ridge in _RIDGES:
        matrix = _ridge(shares[~held_out], targets[~held_out] - mean, ridge)
        cosines = _unit(shares[held_out] @ matrix + mean) @ true.T
        found.append((float(np.mean(np.diag(cosines))), ridge, _nearer(cosines)))
    cosine, ridge, nearer = max(found)
    # The mean is added to every n-gram, and so to every mean of n-grams: where letters say nothing, a word is average.
    matrix = (_ridge(shares, targets - mean, ridge) + mean).astype(np.float32)
    return Learned(Subwords(matrix, *LENGTHS), ridge, cosine, nearer)


def _nearer(cosines: NDArray[np.float64]) -> float:
    own = np.diag(cosines)[:, None]
    others = ~np.eye(len(cosines), dtype=bool)
    return float(np.mean(((own > cosines) + 0.5 * (own == cosines))[others]))


def _shares(counts: Any) -> Any:
    """Rows that sum to 1: the vector of a word is a mean."""
    sums = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    return type(counts)(
        (counts.data / np.repeat(sums, np.diff(counts.indptr)), counts.indices, counts.indptr), counts.shape
    )


def _ridge(A: Any, V: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """argmin ‖A B − V‖² + ridge ‖B‖², as B = Aᵀ (A Aᵀ + ridge I)⁻¹ V by conjugate gradients, all columns at once."""
    adjoint = A.T.tocsr()
    alpha, residual = np.zeros_like(V), V.copy()
    direction, size = residual.copy(), np.einsum("ij,ij->j", residual, residual)
    enough = _TOLERANCE**2 * size
    for _ in range(_STEPS):
        if np.all(size <= enough):
            break
        image = A @ (adjoint @ direction) + ridge * direction
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        alpha += step * direction
        residual -= step * image
        before, size = size, np.einsum("ij,ij->j", residual, residual)
        direction = residual + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    return np.asarray(adjoint @ alpha)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
