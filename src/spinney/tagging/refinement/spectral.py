"""Refinement hidden Markov models by moments: two SVDs for each label, no iterations (Stratos et al. 2013).

Labels are seen in training, their refinements h never: ``p(a, x) = π(a₁, h₁) Π o(x_i | a_i, h_i) Π t(a_{i+1}, h_{i+1} |
a_i, h_i) f(stop | a_N, h_N)``, summed over h. Each place is cut twice, before its word and after it; at each cut the
past and the future are independent given label and refinement, so the SVD of the moments of their features, one label
at a time, finds the refinements up to a change of basis that cancels in every product. With one refinement it is the
supervised hidden Markov model of relative frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.linalg import inverse_values, truncated_svd
from spinney.parallel import one_blas_thread
from spinney.tagging.refinement.operators import Operators
from spinney.tagging.refinement.places import Floats, Labelled, Places


class PlaceFeatures(NamedTuple):
    """The features of one place of a sentence: of what follows each cut, and of what precedes it."""

    future_before: Iterable[Hashable]  # φ₁, of the word and all after it
    past_before: Iterable[Hashable]  # ψ₁, of all before the word
    future_after: Iterable[Hashable]  # φ₂, of all after the word
    past_after: Iterable[Hashable]  # ψ₂, of the word and all before it


Features = Callable[[Sequence[str], Sequence[str], int], PlaceFeatures]


def context_features(words: Sequence[str], labels: Sequence[str], i: int) -> PlaceFeatures:
    """Words and labels of the neighbours, with the ends of the sentence.

    Examples
    --------
    >>> found = context_features(["the", "dog", "barks"], ["D", "N", "V"], 2)
    >>> list(found.past_before)
    [('-a', 'N'), ('-x', 'dog'), ('-aa', 'N', 'D')]
    """
    x, a = words[i], labels[i]
    left, right = (words[i - 1], labels[i - 1]) if i else ("", ""), ("", "")
    if i + 1 < len(words):
        right = words[i + 1], labels[i + 1]
    before = labels[i - 2] if i > 1 else ""
    after = labels[i + 2] if i + 2 < len(words) else ""
    past = [("-a", left[1]), ("-x", left[0]), ("-aa", left[1], before)]
    future = [("+a", right[1]), ("+x", right[0]), ("+aa", right[1], after)]
    here = [("x", x), ("x-", x, left[1]), ("x+", x, right[1]), ("end", x[-2:], a)]
    return PlaceFeatures(
        [here[0], here[2], here[3], *future], past, future, [here[0], here[1], here[3], *past]
    )


class Cut(NamedTuple):
    """Of each place, the projections of its future and its past: ``E[Z Yᵀ | a] = I``."""

    Y: Floats  # [places, m]
    Z: Floats  # [places, m]


def fit_spectral(
    sentences: Sequence[Labelled],
    places: Places,
    n_symbols: int,
    states: int,
    *,
    features: Features = context_features,
    smoothing: float = 10.0,
    kappa: float = 5.0,
    cutoff: float = 1e-3,
    random_state: int = 0,
) -> Operators:
    """The operators of labelled sentences.

    Parameters
    ----------
    sentences, places, n_symbols
        The sentences without empty ones, and :func:`~spinney.tagging.refinement.places.numbered` of them.
    states
        m, refinements of each label, or fewer where its moments have a smaller rank. With 1, features are one constant.
    features
        A function of words, labels and a place that gives the :class:`PlaceFeatures` there.
    smoothing
        C: an operator that was seen n times is mixed, with the weight C / (n + C), with one of the same probability
        that does not look at the refinement.
    kappa
        Features are divided by √(count + κ) before the SVD.
    cutoff
        Singular values at most this fraction of the largest of their label are left out.

    Examples
    --------
    >>> from spinney.tagging.refinement.places import numbered
    >>> text = [("the dog barks".split(), "D N V".split()), ("a cat sleeps".split(), "D N V".split())]
    >>> places, symbols, labels = numbered(text, 0)
    >>> found = fit_spectral(text, places, len(symbols), 2)
    >>> [labels[a] for a in found.marginals(symbols.encode(["a", "dog", "sleeps"]), "clip").argmax(axis=1)]
    ['D', 'N', 'V']
    """
    with one_blas_thread():
        which = _constant if states == 1 else features
        before, after = _cuts(sentences, which, places, states, kappa, cutoff, random_state)
        return _operators(places, n_symbols, before, after, smoothing)


def _constant(words: Sequence[str], labels: Sequence[str], i: int) -> PlaceFeatures:
    return PlaceFeatures(*([()] for _ in range(4)))


def _operators(places: Places, n_symbols: int, before: Cut, after: Cut, smoothing: float) -> Operators:
    label, w = places.label, places.weight
    A, m = int(label.max()) + 1, before.Y.shape[1]
    mass = np.bincount(label, w, A)
    place = w / np.maximum(mass[label], 1e-300)  # averages over the places of a label
    first, last, here = places.first, places.last, places.inner
    start = sums(label[first], before.Y[first] * w[first, None], A) / w[first].sum()
    stop = sums(label[last], after.Z[last] * place[last, None], A)
    # S_{a,b} = E[1(a' = b) Z₂ Y₁'ᵀ]; its back-off t(b | a) E[Z₂] E[Y₁']ᵀ forgets the refinement.
    pair = label[here] * A + label[here + 1]
    moves = np.bincount(pair, w[here], A * A)
    S = outer_sums(pair, after.Z[here] * place[here, None], before.Y[here + 1], A * A)
    mean_Z, mean_Y = (sums(label, X * place[:, None], A) for X in (after.Z, before.Y))
    law = transition_law(moves.reshape(A, A), mass, smoothing)[:, :, None, None]
    blind = (law * mean_Z[:, None, :, None] * mean_Y[None, :, None, :]).reshape(A * A, m, m)
    S = _mixed(S, blind, moves, smoothing).reshape(A, A, m, m).transpose(0, 2, 1, 3)
    # D_{a,x} = E[1(x) Z₁ Y₂ᵀ]; its back-off o(x | a) E[Z₁ Y₂ᵀ] keeps the refinement but does not ask the word.
    at, symbol = places.emitted
    known, which = np.unique(symbol * A + label[at], return_inverse=True)
    seen = np.bincount(which, w[at], len(known))
    D = outer_sums(which, (before.Z * place[:, None])[at], after.Y[at], len(known))
    each = outer_sums(label, before.Z * place[:, None], after.Y, A)
    blind = (seen / np.maximum(mass[known % A], 1e-300))[:, None, None] * each[known % A]
    return Operators(
        start,
        stop,
        np.ascontiguousarray(S).reshape(A * m, A * m),
        _mixed(D, blind, seen, smoothing),
        (known % A).astype(np.int32),
        np.searchsorted(known // A, np.arange(n_symbols + 1)),
        mean_Y,
        mean_Z,
        mass / mass.sum(),
    )


def transition_law(moves: NDArray[Any], mass: NDArray[Any], smoothing: float) -> Floats:
    """t(b | a) from counts; where there is smoothing, a pair of labels that was never seen is not impossible."""
    more = min(0.1, smoothing)
    return np.asarray((moves + more) / np.maximum(mass + more * (len(mass) + 1), 1e-300)[:, None])


def _cuts(
    sentences: Sequence[Labelled],
    features: Features,
    places: Places,
    m: int,
    kappa: float,
    cutoff: float,
    random_state: int,
) -> tuple[Cut, Cut]:
    """Both cuts of all places (Stratos et al. 2013)."""
    found = [features(words, labels, i) for words, labels in sentences for i in range(len(words))]
    phi1, psi1, phi2, psi2 = (
        _indicators([place[view] for place in found], places.weight, kappa) for view in range(4)
    )
    how = places, m, cutoff, random_state
    return _cut(phi1, psi1, *how), _cut(phi2, psi2, *how)


def _indicators(rows: Sequence[Iterable[Hashable]], weight: Floats, kappa: float) -> Any:
    """``[places, features]``, sparse: 1/√(count + κ) where a place has a feature (Cohen et al. 2013)."""
    from scipy.sparse import csr_array, diags_array

    number: dict[Hashable, int] = {}
    columns = [[number.setdefault(feature, len(number)) for feature in row] for row in rows]
    ptr = np.concatenate(([0], np.cumsum([len(row) for row in columns])))
    flat = np.fromiter((column for row in columns for column in row), np.int64, int(ptr[-1]))
    ones = csr_array((np.ones(len(flat)), flat, ptr), shape=(len(rows), len(number)))
    counts = ones.T @ weight
    scale = np.divide(1.0, np.sqrt(counts + kappa), out=np.zeros(len(counts)), where=counts > 0)
    return (ones @ diags_array(scale)).tocsr()


def _cut(phi: Any, psi: Any, places: Places, m: int, cutoff: float, random_state: int) -> Cut:
    """One label at a time, the SVD of ``E[φ ψᵀ]``: Y = Uᵀ φ and Z = S⁻¹ Vᵀ ψ."""
    from scipy.sparse import diags_array

    cut = Cut(np.zeros((len(places.label), m)), np.zeros((len(places.label), m)))
    for a in np.unique(places.label).tolist():
        rows = np.flatnonzero((places.label == a) & (places.weight > 0))
        if not len(rows):
            continue
        weight = places.weight[rows] / places.weight[rows].sum()
        left, right = _present(phi[rows]), _present(psi[rows])
        moments = (left.T @ diags_array(weight) @ right).tocsr()
        U, s, V = truncated_svd(moments, m, random_state=random_state)
        inverse = inverse_values(s, cutoff)
        kept = np.flatnonzero(inverse)
        cut.Y[np.ix_(rows, kept)] = left @ U[:, kept]
        cut.Z[np.ix_(rows, kept)] = right @ (V[:, kept] * inverse[kept])
    return cut


def _present(indicators: Any) -> Any:
    """Without the features that no row has."""
    return indicators[:, np.unique(indicators.indices)]


def outer_sums(group: NDArray[Any], left: Floats, right: Floats, n: int) -> Floats:
    """``Σ left[i] right[i]ᵀ`` over the members of each group, [n, m, m].

    Examples
    --------
    >>> outer_sums(np.array([1, 1]), np.eye(2), np.ones((2, 2)), 2).tolist()
    [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]]
    """
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n + 1))
    found = np.zeros((n, left.shape[1], right.shape[1]))
    for g in np.flatnonzero(np.diff(bounds)).tolist():
        members = order[bounds[g] : bounds[g + 1]]
        found[g] = left[members].T @ right[members]
    return found


def sums(group: NDArray[Any], rows: Floats, n: int) -> Floats:
    """The sum of the rows of each group.

    Examples
    --------
    >>> sums(np.array([1, 1]), np.eye(2), 2).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    return np.stack([np.bincount(group, column, n) for column in rows.T], axis=1)


def _mixed(found: Floats, blind: Floats, seen: NDArray[Any], smoothing: float) -> Floats:
    weight = np.divide(seen, seen + smoothing, out=np.zeros(len(seen)), where=seen > 0)[:, None, None]
    return np.asarray(weight * found + (1.0 - weight) * blind)
