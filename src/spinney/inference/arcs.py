"""Exact inference over the projective dependency trees of sentences, of which only some arcs are candidates.

A batch of sentences is a few flat arrays. The words of sentence s are ``words[s]`` up to ``words[s + 1]``; within the
sentence they count from 1, and 0 is the root. The candidate arcs into word w, of all words, are ``ptr[w]`` up to
``ptr[w + 1]``, by ascending heads; ``head`` is the head of each in its sentence, ``score`` its log potential, which may
be −inf. A tree has exactly one word below the root. Its score is the sum over its arcs and, where the model is of
second order, over its parts: an arc with the sibling before it, which is the next arc of the same head on the same side
towards the head, or none (McDonald and Pereira 2006). The parts of arc a are ``sib_ptr[a]`` up to ``sib_ptr[a + 1]``,
``sib`` is the arc of the sibling or −1, ``sib_score`` the log potential of the part.

Marginals and best trees take ``start`` and ``stop``, a range of sentences, and ``out``, arrays of the whole batch that
the results of these sentences are written into: so that threads can share a batch. The work is done without the GIL.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spinney.checking import whole
from spinney.errors import OptionError
from spinney.inference.arc_batch import (
    Batch,
    Floats,
    Heads,
    Numbers,
    check_offsets,
    check_out,
    check_sentence,
    read_only,
    scored,
    sentence_range,
    write_heads,
)
from spinney.inference.lazy import Derivations
from spinney.inference.projective_chart import TREE, ProjectiveChart


def sibling_parts(words: ArrayLike, ptr: ArrayLike, head: ArrayLike) -> tuple[Numbers, Heads]:
    """All second-order parts of the candidate arcs: each arc with each sibling that can come before it, or with none.

    Of an arc's parts, that without a sibling is the first; then come siblings, the nearest to the head first. An arc
    from the root has no siblings, since trees have one word below the root.

    Returns
    -------
    sib_ptr : int64 array [A+1]
        The parts of arc a are ``sib_ptr[a]`` up to ``sib_ptr[a + 1]``.
    sib : int32 array [P]
        The arc of the sibling before, or −1.

    Examples
    --------
    Two words that may both hang below the third:

    >>> sibling_parts([0, 3], [0, 1, 2, 3], [3, 3, 0])
    (array([0, 2, 3, 4]), array([-1,  1, -1, -1], dtype=int32))
    """
    from spinney.inference import _arc_kernels as kernels

    batch = tuple(read_only(of, dtype) for of, dtype in ((words, "i8"), (ptr, "i8"), (head, "i4")))
    check_offsets(*batch)
    sib_ptr = np.zeros(len(batch[2]) + 1, np.int64)
    check_sentence(kernels.siblings(*batch, False, sib_ptr, np.empty(0, np.int32)))
    sib = np.empty(int(sib_ptr[-1]), np.int32)
    kernels.siblings(*batch, True, sib_ptr, sib)
    return sib_ptr, sib


def projective_marginals(
    words: ArrayLike,
    ptr: ArrayLike,
    head: ArrayLike,
    score: ArrayLike,
    sib_ptr: ArrayLike | None = None,
    sib: ArrayLike | None = None,
    sib_score: ArrayLike | None = None,
    *,
    start: int = 0,
    stop: int | None = None,
    out: tuple[Floats, Floats, Floats | None] | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """The log of the sum over all projective trees of exp(score), and the probabilities of arcs and parts.

    Parameters
    ----------
    words, ptr, head, score, sib_ptr, sib, sib_score
        The sentences; without the last three, the model is of first order.
    start, stop
        The range of sentences to do.
    out
        Arrays like the result, to write into.

    Returns
    -------
    log_z : float64 array [S]
        −inf where the candidates admit no tree.
    arc_marginals : float64 array [A]
        The probability of each arc; 0 where there is no tree.
    sib_marginals : float64 array [P] or None
        The probability of each part.

    Examples
    --------
    Two words, each of which may be the root, and all scores 0 but one:

    >>> log_z, arcs, _ = projective_marginals([0, 2], [0, 2, 4], [0, 2, 0, 1], np.log([3.0, 1.0, 1.0, 1.0]))
    >>> np.exp(log_z).round(6), arcs.round(6)
    (array([4.]), array([0.75, 0.25, 0.25, 0.75]))
    """
    from spinney.inference import _projective_kernels as kernels

    batch, second = scored(words, ptr, head, score, sib_ptr, sib, sib_score)
    n_sentences, n_arcs, n_parts = len(batch[0]) - 1, len(batch[2]), len(batch[5])
    first, last = sentence_range(start, stop, n_sentences)
    log_z, arcs, parts = out or (
        np.zeros(n_sentences),
        np.zeros(n_arcs),
        np.zeros(n_parts) if second else None,
    )
    check_out(log_z=(log_z, n_sentences), arcs=(arcs, n_arcs), parts=(parts, n_parts) if second else None)
    room = parts if second and parts is not None else np.empty(0)
    check_sentence(kernels.marginals(first, last, *batch, second, log_z, arcs, room))
    return log_z, arcs, parts if second else None


def projective_best(
    words: ArrayLike,
    ptr: ArrayLike,
    head: ArrayLike,
    score: ArrayLike,
    sib_ptr: ArrayLike | None = None,
    sib: ArrayLike | None = None,
    sib_score: ArrayLike | None = None,
    *,
    start: int = 0,
    stop: int | None = None,
    out: tuple[Heads, Floats, Numbers] | None = None,
) -> tuple[Heads, Floats, Numbers]:
    """The projective tree with the highest score.

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
    >>> projective_best([0, 2], [0, 2, 4], [0, 2, 0, 1], [1.0, 0.0, 0.5, 2.0])
    (array([0, 1], dtype=int32), array([3.]), array([0, 3]))
    """
    from spinney.inference import _projective_kernels as kernels
    from spinney.inference._arc_kernels import MAX

    batch, second = scored(words, ptr, head, score, sib_ptr, sib, sib_score)
    n_sentences, n_words = len(batch[0]) - 1, len(batch[1]) - 1
    first, last = sentence_range(start, stop, n_sentences)
    heads, scores, arcs = out or (
        np.zeros(n_words, np.int32),
        np.zeros(n_sentences),
        np.zeros(n_words, np.int64),
    )
    check_out(heads=(heads, n_words), scores=(scores, n_sentences), arcs=(arcs, n_words))
    check_sentence(kernels.best(first, last, *batch, second, MAX, scores, arcs, *_tables(batch, first, last)))
    write_heads(heads, arcs, batch, first, last)
    return heads, scores, arcs


def projective_kbest(
    words: ArrayLike,
    ptr: ArrayLike,
    head: ArrayLike,
    score: ArrayLike,
    sib_ptr: ArrayLike | None = None,
    sib: ArrayLike | None = None,
    sib_score: ArrayLike | None = None,
    *,
    k: int,
    sentence: int = 0,
) -> tuple[Heads, Floats, Numbers]:
    """The k best projective trees of one sentence, all different, the best first.

    Returns
    -------
    heads : int32 array [K, n]
        The heads of the words of each tree; K is less than k where the candidates admit fewer trees.
    scores : float64 array [K]
        The scores of the trees.
    arcs : int64 array [K, n]
        The arcs of the trees.

    Examples
    --------
    >>> heads, scores, _ = projective_kbest([0, 2], [0, 2, 4], [0, 2, 0, 1], [1.0, 0.0, 0.5, 2.0], k=5)
    >>> heads.tolist(), scores.tolist()
    ([[0, 1], [2, 0]], [3.0, 0.5])
    """
    from spinney.inference import _projective_kernels as kernels
    from spinney.inference._arc_kernels import MAX

    whole("k", k, 1)
    batch, second = scored(words, ptr, head, score, sib_ptr, sib, sib_score)
    first, last = sentence_range(sentence, sentence + 1, len(batch[0]) - 1)
    best, arcs = np.zeros(len(batch[0]) - 1), np.zeros(len(batch[1]) - 1, np.int64)
    tables = _tables(batch, first, last)
    check_sentence(kernels.best(first, last, *batch, second, MAX, best, arcs, *tables))
    chart = ProjectiveChart(batch, second, first, float(best[first]), tables)
    derivations = Derivations(chart.edges, chart.best)
    scores: list[float] = []
    found: list[list[int]] = []
    while len(found) < k and (value := derivations.score(TREE, len(found))) > -np.inf:
        scores.append(value)
        found.append(sorted(derivations.labels(TREE, len(found))))  # arcs ascend with the words they lead to
    order = np.argsort(-np.array(scores), kind="stable")  # trees of equal scores may differ in the last digit
    chosen = np.array(found, np.int64).reshape(len(found), chart.n)[order]
    return batch[2][chosen], np.array(scores)[order], chosen


def minimum_risk(
    words: ArrayLike, ptr: ArrayLike, head: ArrayLike, marginals: ArrayLike, projective: bool
) -> tuple[Heads, Floats, Numbers]:
    """The tree with the largest number of right arcs to expect: the sum of its arcs' probabilities.

    An arc of probability 0, which no tree has, is taken only where there is no way around it.

    Parameters
    ----------
    words, ptr, head
        The sentences.
    marginals : float64 array [A]
        The probabilities of the arcs, by whichever model.
    projective
        Whether the tree must be projective.

    Returns
    -------
    heads, expected, arcs
        As those of :func:`projective_best`; ``expected`` is the number of right arcs to expect.

    Examples
    --------
    >>> minimum_risk([0, 2], [0, 2, 4], [0, 2, 0, 1], [0.6, 0.4, 0.4, 0.6], projective=True)
    (array([0, 1], dtype=int32), array([1.2]), array([0, 3]))
    """
    from spinney.inference.spanning import single_root_arborescence

    chances = np.asarray(marginals, np.float64)
    offsets = np.asarray(words, np.int64)
    longest = int(np.diff(offsets).max(initial=0))
    gain = np.where(chances > 0.0, chances, -1.0 - longest)  # one of these outweighs all that a tree can gain
    decode = projective_best if projective else single_root_arborescence
    heads, scores, arcs = decode(offsets, ptr, head, gain)
    right = np.append(chances, 0.0)[arcs]  # where there is no arc, −1, the last
    sentence = np.repeat(np.arange(len(scores)), np.diff(offsets))
    expected = np.where(scores > -np.inf, np.bincount(sentence, right, len(scores)), -np.inf)
    return heads, expected, arcs


def constrained(
    ptr: ArrayLike, head: ArrayLike, score: ArrayLike, given: ArrayLike
) -> tuple[Numbers, Numbers]:
    """The candidate arcs that agree with given heads: every function above then keeps to them.

    A word whose head is given keeps that arc only, unless the arc is not among its candidates or its score is −inf:
    then it keeps all of them.

    Parameters
    ----------
    given : int array [W]
        The head of each word in its sentence, or −1 where it is free.

    Returns
    -------
    new_ptr : int64 array [W+1]
        The kept arcs of word w are ``new_ptr[w]`` up to ``new_ptr[w + 1]``.
    kept : int64 array
        The kept arcs, ascending: ``head[kept]`` and ``score[kept]`` belong to ``new_ptr``. For second order,
        :func:`constrained_parts` finds the parts of these arcs.

    Examples
    --------
    >>> constrained([0, 2, 4], [0, 2, 0, 1], np.zeros(4), [-1, 1])
    (array([0, 2, 3]), array([0, 1, 3]))
    """
    starts, heads, wanted = np.asarray(ptr, np.int64), np.asarray(head), np.asarray(given)
    if len(wanted) != len(starts) - 1:
        raise OptionError(f"given must have one head for each word, {len(starts) - 1}, not {len(wanted)}")
    word = np.repeat(np.arange(len(wanted)), np.diff(starts))
    agrees = (heads == wanted[word]) & (np.asarray(score) > -np.inf)
    settled = np.zeros(len(wanted), np.bool_)
    settled[word[agrees]] = True
    keeps = agrees | ~settled[word]
    return np.concatenate(([0], np.cumsum(keeps)))[starts], np.flatnonzero(keeps)


def constrained_parts(kept: ArrayLike, sib_ptr: ArrayLike, sib: ArrayLike) -> tuple[Numbers, Heads, Numbers]:
    """The second-order parts of kept arcs: those with a kept sibling, or with none.

    Returns
    -------
    new_ptr, new_sib
        The parts of the kept arcs, which are numbered anew.
    kept_parts : int64 array
        The kept parts, ascending: ``sib_score[kept_parts]`` belongs to them.

    Examples
    --------
    Of the three arcs of a sentence, the middle one is not kept; so the first has no sibling before it any more:

    >>> constrained_parts([0, 2], [0, 2, 3, 4], [-1, 1, -1, -1])
    (array([0, 1, 2]), array([-1, -1], dtype=int32), array([0, 3]))
    """
    arcs, starts, siblings = np.asarray(kept, np.int64), np.asarray(sib_ptr, np.int64), np.asarray(sib)
    number = np.full(
        len(starts), -1, np.int64
    )  # of each arc among the kept; the last entry answers for no sibling
    number[arcs] = np.arange(len(arcs))
    of_kept = np.repeat(number[:-1] >= 0, np.diff(starts))
    keeps = of_kept & ((siblings < 0) | (number[siblings] >= 0))
    bounds = np.concatenate(([0], np.cumsum(keeps)))[starts]
    new_ptr = np.concatenate(([0], bounds[arcs + 1]))
    return new_ptr, number[siblings[keeps]].astype(np.int32), np.flatnonzero(keeps)


def _tables(batch: Batch, start: int, stop: int) -> tuple[Floats, Floats, Floats]:
    """Room for the charts of a range of sentences, one at a time."""
    bounds = batch[0][start : stop + 1]
    n = max(int(np.diff(bounds).max(initial=0)), 0) + 1
    arcs = np.diff(batch[1][np.clip(bounds, 0, len(batch[1]) - 1)]).max(initial=0)
    return np.empty((n, n)), np.empty((n, n)), np.empty(max(int(arcs), 0))
