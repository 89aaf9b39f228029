"""Low-rank multi-view learning: word vectors from contexts that are themselves smoothed word vectors.

The context of a token is an exponentially fading sum of the vectors of the words before it, at several rates, and
another of the words after it. Its length does not depend on the vocabulary, so long contexts cost little; the vectors
and the contexts are learned in turn (Dhillon, Foster and Ungar 2011).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.embed.eigenwords import PIECE, Learned, sampled_pieces
from spinney.embed.states import SmoothedStates, smoothed
from spinney.embed.weighting import inverse_root
from spinney.errors import OptionError, unknown_choice
from spinney.linalg import inverse_sqrt, truncated_svd
from spinney.parallel import default_threads, map_reduce, one_blas_thread
from spinney.progress import task

Variant = Literal["I", "II"]


_SAMPLE = 1 << 20  # tokens that covariances are taken from


def lrmvl(
    text: TokenArrays,
    k: int,
    *,
    variant: Variant = "II",
    rates: Sequence[float] = (0.1, 0.5, 0.9),
    passes: int = 6,
    ridge: float = 1e-3,
    random_state: int = 0,
    threads: int | None = None,
) -> Learned:
    """Word vectors and the projections of their contexts.

    Parameters
    ----------
    text
        Sentences are taken one by one: the smoothing begins anew with each.
    k
        The length of a vector, even: half of a state comes from the left context and half from the right.
    variant
        ``"I"``: the vector of a word is the sum of the states of its tokens. ``"II"``: the canonical projection of
        the word against its states.
    rates
        How fast contexts fade: near 1, only the next word counts.
    ridge
        Added to the correlation matrices of the left and of the right contexts.

    Notes
    -----
    The covariances of contexts are taken from about a million tokens, evenly spread, and centred over these; the
    sums that make the vectors from all.
    """
    if variant not in ("I", "II"):
        raise unknown_choice("variant must be", variant, ("I", "II"))
    if k < 2 or k % 2:
        raise OptionError(f"the dimension must be even (half of a state for each side), not {k}")
    if passes < 1:
        raise OptionError(f"passes must be at least 1, not {passes}")
    steps = np.asarray(rates, np.float32)
    if not len(steps) or steps.min() <= 0 or steps.max() > 1:
        raise OptionError(f"rates must be above 0 and at most 1, not {list(rates)}")
    n_words = len(text.vocabulary)
    counts = np.bincount(text.ids, minlength=n_words).astype(float)
    rng = np.random.default_rng(random_state)
    dictionary = _unit_columns(rng.standard_normal((n_words, k)))
    with task("LR-MVL", passes) as bar:
        for _ in range(passes):
            mean, covariance = _moments(text, dictionary, steps, threads)
            left, right, correlations = _canonical_contexts(covariance, k // 2, ridge)
            states = SmoothedStates(dictionary, steps, left, right)
            learned = _words(
                _sums_by_word(text, states, threads),
                covariance + np.outer(mean, mean),
                states,
                counts,
                variant,
            )
            dictionary = _unit_columns(learned.vectors("canonical" if variant == "II" else "plain"))
            bar.update(1, note=f"correlations {correlations.sum():.4g}")
    return learned


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


def _canonical_contexts(
    covariance: NDArray[np.float64], half: int, ridge: float
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
    svd = truncated_svd(whiten_left.T @ covariance[:width, width:] @ whiten_right, half, "exact")
    return (whiten_left @ svd.U).astype(np.float32), (whiten_right @ svd.V).astype(np.float32), svd.s


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


def _words(
    sums: NDArray[np.float64],
    moment: NDArray[np.float64],
    states: SmoothedStates,
    counts: NDArray[np.float64],
    variant: Variant,
) -> Learned:
    """The vectors of words from the sums of their states."""
    k, width = states.dimension, len(states.left)
    if variant == "I":
        return Learned(_unit_columns(sums), np.ones(k), np.ones(len(counts)), (states,))
    projection = np.zeros((2 * width, k))
    projection[:width, : k // 2], projection[width:, k // 2 :] = states.left, states.right
    whiten_states = inverse_sqrt(projection.T @ moment @ projection * counts.sum(), cutoff=1e-6)
    whiten = inverse_root(counts)
    svd = truncated_svd(whiten[:, None] * sums @ whiten_states, k, "exact")
    return Learned(svd.U, svd.s, whiten, (states,))


def _unit_columns(vectors: NDArray[Any]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=0)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
