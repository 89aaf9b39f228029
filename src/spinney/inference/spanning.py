"""Exact inference over all dependency trees of sentences, projective or not, with exactly one word below the root.

Sentences, candidate arcs, ranges and ``out`` are those of :mod:`spinney.inference.arcs`; models are of first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spinney.inference.arc_batch import (
    Floats,
    Heads,
    Numbers,
    check_out,
    check_sentence,
    scored,
    sentence_range,
    write_heads,
)


def matrix_tree_marginals(
    words: ArrayLike,
    ptr: ArrayLike,
    head: ArrayLike,
    score: ArrayLike,
    *,
    start: int = 0,
    stop: int | None = None,
    out: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """The log of the sum over all trees of exp(score), and the probabilities of arcs, by the matrix-tree theorem.

    Returns
    -------
    log_z : float64 array [S]
        −inf where the candidates admit no tree.
    arc_marginals : float64 array [A]
        The probability of each arc; 0 where there is no tree.

    Examples
    --------
    Three words, each with all others and the root as candidates: nine trees, and seven of them are projective.

    >>> from spinney.inference.arcs import projective_marginals
    >>> arcs = [0, 3], [0, 3, 6, 9], [0, 2, 3, 0, 1, 3, 0, 1, 2], np.zeros(9)
    >>> np.exp(matrix_tree_marginals(*arcs)[0]).round(6), np.exp(projective_marginals(*arcs)[0]).round(6)
    (array([9.]), array([7.]))
    """
    from spinney.inference import _spanning_kernels as kernels

    batch, second = scored(words, ptr, head, score)
    n_sentences, n_arcs = len(batch[0]) - 1, len(batch[2])
    first, last = sentence_range(start, stop, n_sentences)
    log_z, arcs = out or (np.zeros(n_sentences), np.zeros(n_arcs))
    check_out(log_z=(log_z, n_sentences), arcs=(arcs, n_arcs))
    check_sentence(kernels.marginals(first, last, *batch, second, log_z, arcs))
    return log_z, arcs


def single_root_arborescence(
    words: ArrayLike,
    ptr: ArrayLike,
    head: ArrayLike,
    score: ArrayLike,
    *,
    start: int = 0,
    stop: int | None = None,
    out: tuple[Heads, Floats, Numbers] | None = None,
) -> tuple[Heads, Floats, Numbers]:
    """The tree with the highest score: the maximum spanning arborescence with one arc from the root.

    Returns
    -------
    heads : int32 array [W]
        The head of each word, 0 for the root; −1 where the candidates admit no tree.
    scores : float64 array [S]
        The score of each tree; −inf where there is none.
    arcs : int64 array [W]
        The arc of each word, or −1.

    Examples
    --------
    Both words like to be below the root, but only one can be:

    >>> single_root_arborescence([0, 2], [0, 2, 4], [0, 2, 0, 1], [9.0, 0.0, 8.0, 0.0])
    (array([0, 1], dtype=int32), array([9.]), array([0, 3]))
    """
    from spinney.inference import _spanning_kernels as kernels

    batch, second = scored(words, ptr, head, score)
    n_sentences, n_words = len(batch[0]) - 1, len(batch[1]) - 1
    first, last = sentence_range(start, stop, n_sentences)
    heads, scores, arcs = out or (
        np.zeros(n_words, np.int32),
        np.zeros(n_sentences),
        np.zeros(n_words, np.int64),
    )
    check_out(heads=(heads, n_words), scores=(scores, n_sentences), arcs=(arcs, n_words))
    check_sentence(kernels.best(first, last, *batch, second, scores, arcs))
    write_heads(heads, arcs, batch, first, last)
    return heads, scores, arcs
