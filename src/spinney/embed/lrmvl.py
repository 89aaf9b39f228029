"""Low-rank multi-view learning: word vectors from contexts that are themselves made of word vectors.

The context of a token is a sum of the vectors of the words before it, and another of the words after it. Its length
does not depend on the vocabulary, so long contexts cost little; the vectors and the contexts are learned in turn
(Dhillon, Foster and Ungar 2011, 2015). What is not in the papers is taken from the authors' program, SWELL.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.embed.counts import Window, count_contexts, window
from spinney.embed.eigenwords import PIECE, Learned, one_side, sampled_pieces, second_moment
from spinney.embed.states import SmoothedStates, WindowStates, smoothed
from spinney.embed.weighting import Transform, inverse_root, like, transformed
from spinney.errors import OptionError, unknown_choice
from spinney.linalg import inverse_sqrt, truncated_svd
from spinney.parallel import default_threads, map_reduce, one_blas_thread
from spinney.progress import task

Variant = Literal["I", "II", "mean"]
VARIANTS = ("I", "II", "mean")
_SAMPLE = 1 << 20  # tokens that covariances are taken from


def lrmvl(
    text: TokenArrays,
    k: int,
    *,
    variant: Variant = "II",
    rates: Sequence[float] = (0.1, 0.5, 0.9),
    places: Window | None = None,
    transform: Transform = "raw",
    pseudo: float = 0.0,
    passes: int = 6,
    ridge: float = 1e-3,
    random_state: int = 0,
    threads: int | None = None,
) -> Learned:
    """Word vectors and the projections of their contexts.

    Parameters
    ----------
    text
        Sentences are taken one by one: contexts begin anew with each. The authors begin anew with each document: give
        documents for sentences to do so.
    k
        The length of a vector. With contexts that fade even: half of a state comes from each side.
    variant
        ``"I"``: contexts are windows, and a word's vector is its canonical projection against its states (Dhillon et
        al. 2015, LR-MVL I). ``"II"``: the same with contexts that fade with distance (LR-MVL II). ``"mean"``: contexts
        that fade; a word's vector is the mean of the states of its tokens (Dhillon et al. 2011).
    rates
        How fast contexts fade: near 1, only the next word counts. Not for windows.
    places
        The window of variant I, by default five words on either side.
    transform
        Of counts, as in one-step CCA. Contexts that fade are sums of vectors and not counts: there, as in the authors'
        program, it is the counts that words are whitened by which are transformed. Not for ``"mean"``.
    pseudo
        Added to the counts, transformed, that words are whitened by. Not for ``"mean"``.
    ridge
        Added to the correlation matrices of the left and of the right contexts.

    Notes
    -----
    After each pass the vector of each word is divided by its largest absolute value, as in the authors' program:
    canonical projections are the longer the rarer a word is, and without that rare words would dominate all contexts.
    Three things differ from that program: canonical directions of contexts are not rescaled in the same manner, which
    would turn them; contexts that fade are centred before their correlations are taken; and the first token of a
    sentence has nothing before it, where there its own vector stands. Covariances of contexts are taken from about a
    million tokens, evenly spread; the sums that make the vectors from all.
    """
    if variant not in VARIANTS:
        raise unknown_choice("variant must be", variant, VARIANTS)
    if k < 1 or (k % 2 and variant != "I"):
        raise OptionError(f"the dimension must be even (half of a state for each side), not {k}")
    if passes < 1:
        raise OptionError(f"passes must be at least 1, not {passes}")
    steps = np.asarray(rates, np.float32)
    if not len(steps) or steps.min() <= 0 or steps.max() > 1:
        raise OptionError(f"rates must be above 0 and at most 1, not {list(rates)}")
    counts = np.bincount(text.ids, minlength=len(text.vocabulary)).astype(float)
    whiten = inverse_root(transformed(counts, transform), pseudo)
    sides = _Sides(text, places or window(5), transform, threads) if variant == "I" else None
    rng = np.random.default_rng(random_state)
    dictionary = largest_one(rng.standard_normal((len(counts), k)))
    with task("LR-MVL", passes) as bar:
        for _ in range(passes):
            if sides is not None:
                learned, correlations = sides.learned(dictionary, whiten, ridge)
            else:
                mean, covariance = _moments(text, dictionary, steps, threads)
                left, right, correlations = _canonical_contexts(covariance, k // 2, ridge)
                states = SmoothedStates(dictionary, steps, left, right)
                sums = _sums_by_word(text, states, threads)
                if variant == "mean":
                    means = sums * inverse_root(counts)[:, None] ** 2
                    learned = Learned(means, np.ones(k), np.ones(len(counts)), (states,))
                else:
                    projection = _beside(left, right)
                    moment = projection.T @ (covariance + np.outer(mean, mean)) @ projection * counts.sum()
                    learned = _against_states(sums, moment, whiten, k, (states,))
            dictionary = largest_one(learned.vectors("plain" if variant == "mean" else "canonical"))
            bar.update(1, note=f"correlations {correlations.sum():.4g}")
    return learned


def largest_one(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """The rows of a matrix, each divided by its largest absolute value.

    Examples
    --------
    >>> largest_one(np.array([[1.0, -2.0], [0.0, 0.0]])).tolist()
    [[0.5, -1.0], [0.0, 0.0]]
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return (vectors / np.where(largest > 0, largest, 1)).astype(np.float32)


def _against_states(
    sums: NDArray[np.float64],
    moment: NDArray[np.float64],
    whiten: NDArray[np.float64],
    k: int,
    states: tuple[WindowStates | SmoothedStates, ...],
) -> Learned:
    """Canonical correlation of words with their states, from W'S and S'S; nothing is centred."""
    svd = truncated_svd((whiten[:, None] * sums) @ inverse_sqrt(moment, cutoff=1e-6), k, "exact")
    return Learned(svd.U, svd.s, whiten, states)


def _canonical_contexts(
    covariance: NDArray[np.float64], kept: int, ridge: float
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
    """Φ_L and Φ_R, the directions of left and right contexts that correlate most, and how much they do.

    The ridge is added where all variances are 1: sums that fade slowly vary little, and would drown in it.
    """
    scale = inverse_root(np.diag(covariance))
    C = scale[:, None] * covariance * scale
    width = len(C) // 2
    whiten_left, whiten_right = (
        scale[side, None] * inverse_sqrt(C[side, side], ridge)
        for side in (slice(0, width), slice(width, None))
    )
    svd = truncated_svd(whiten_left.T @ covariance[:width, width:] @ whiten_right, kept, "exact")
    return (whiten_left @ svd.U).astype(np.float32), (whiten_right @ svd.V).astype(np.float32), svd.s


def _beside(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """[L, R] to [L Φ_L, R Φ_R] as one matrix."""
    width, kept = left.shape
    projection = np.zeros((2 * width, 2 * kept))
    projection[:width, :kept], projection[width:, kept:] = left, right
    return projection


# ------------------------------------------------------------------------------------------ windows (variant I)


class _Sides:
    """The words before and after each word of a text: which they are does not change from pass to pass."""

    def __init__(self, text: TokenArrays, places: Window, transform: Transform, threads: int | None) -> None:
        self.text, self.threads = text, threads
        self.windows = one_side(places, -1), one_side(places, +1)
        counted = [count_contexts(text, side, threads=threads).matrix for side in self.windows]
        self.counts = [like(one, transformed(one.data, transform)) for one in counted]

    def learned(
        self, dictionary: NDArray[np.float32], whiten: NDArray[np.float64], ridge: float
    ) -> tuple[Learned, NDArray[np.float64]]:
        """The words against the states that the dictionary gives their tokens."""
        k = dictionary.shape[1]
        contexts = self._states([dictionary, dictionary])
        moment = second_moment(self.text, contexts, self.threads, _SAMPLE)
        left, right, correlations = _canonical_contexts(moment, k, ridge)
        states = self._states([dictionary @ left, dictionary @ right])
        projection = _beside(left, right)
        sums = np.hstack([counts @ view.projection for counts, view in zip(self.counts, states)])
        return _against_states(sums, projection.T @ moment @ projection, whiten, k, states), correlations

    def _states(self, projections: Sequence[NDArray[Any]]) -> tuple[WindowStates, ...]:
        return tuple(
            WindowStates(side, np.asarray(projection, np.float32), len(projection))
            for side, projection in zip(self.windows, projections)
        )


# ------------------------------------------------------------------- contexts that fade (variant II and means)


def _moments(
    text: TokenArrays, dictionary: NDArray[np.float32], rates: NDArray[np.float32], threads: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the covariance of the contexts [L, R] of a token, over a sample of the text."""
    tables = np.stack([dictionary] * len(rates))

    def of_piece(piece: TokenArrays) -> NDArray[np.float64]:
        S = np.hstack([smoothed(piece, tables, rates, step, apart=True) for step in (1, -1)])
        return np.vstack([S.sum(axis=0, dtype=np.float64), S.T @ S])

    pieces = sampled_pieces(text, _SAMPLE)
    of_piece(text.part(0, 0))  # compiles, and does nothing else
    with one_blas_thread():
        sums = map_reduce(of_piece, pieces, threads=threads) / sum(piece.n_tokens for piece in pieces)
    return sums[0], sums[1:] - np.outer(sums[0], sums[0])


def _sums_by_word(text: TokenArrays, states: SmoothedStates, threads: int | None) -> NDArray[np.float64]:
    """W'S: the states of all tokens of each word, added up; each thread has a shard and sums of its own."""
    from spinney.embed._states_kernels import add_by_word

    def of_shard(shard: TokenArrays) -> NDArray[np.float64]:
        sums = np.zeros((len(states.dictionary), states.dimension))
        for piece in shard.shards(max(1, shard.n_tokens // PIECE)):
            add_by_word(np.ascontiguousarray(piece.ids), states(piece), sums)
        return sums

    threads = threads or default_threads()
    return map_reduce(of_shard, text.shards(threads), threads=threads, reduce=operator.iadd)
