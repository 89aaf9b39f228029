"""Exchange clustering: words move, one at a time, to the class where the likelihood is largest.

Two-sided: the classes of both words of a pair count (Kneser and Ney 1993), as in Brown clustering. Predictive: the
class of the child given the parent word itself (Uszkoreit and Brants 2008), which is faster with many classes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.checking import random_numbers
from spinney.classes.clustering import Clustering, check_sizes, make_clustering
from spinney.classes.merging import hierarchy as paths_of
from spinney.classes.pairs import Ints, Neighbours, PairCounts, Phi, fixed_point
from spinney.corpus.vocabulary import Vocabulary
from spinney.errors import OptionError, unknown_choice
from spinney.parallel import default_threads, map_reduce
from spinney.structure import WordClasses

Variant = Literal["two-sided", "predictive"]
# words, targets, choose -> moves, gain
Visit = Callable[[Ints, Ints, bool], tuple[int, int]]

_BLOCK = 512  # words that choose their classes before any of them moves
_PART = 32  # of these, as many as a thread takes at a time: frequent words take longer


def exchange(
    pairs: PairCounts,
    vocabulary: Vocabulary,
    n_classes: int,
    *,
    variant: Variant = "two-sided",
    init: Literal["frequency", "random"] | WordClasses = "frequency",
    passes: int = 20,
    tol: float = 1e-5,
    hierarchy: bool = True,
    threads: int | None = None,
    random_state: int = 0,
    root: bool | None = None,
) -> Clustering:
    """Cluster words by moving each to its best class, again and again.

    Parameters
    ----------
    pairs, vocabulary
        What :func:`pair_counts` counted, and the words.
    n_classes
        Number of classes.
    variant
        ``"two-sided"`` maximises the likelihood that :func:`brown` maximises, ``"predictive"`` that of each class
        given the parent word.
    init
        The classes to start from: ``"frequency"`` assigns the words in turn by decreasing frequency, ``"random"``
        at random; given word classes are improved.
    passes, tol
        Stop after this many passes over the words, or when one moves no word or gains less than ``tol`` nats per pair.
    hierarchy
        Whether to merge the classes into a tree, as :func:`brown` does, which gives them their paths.
    threads
        How many threads choose classes. The result does not depend on it.
    root
        Whether the start of a sentence, or the root of a tree, is also a parent. By default only for trees.

    Examples
    --------
    >>> from spinney.classes.pairs import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> text = [[a, b, c] for a in ("the", "a") for b in ("dog", "cat") for c in ("barks", "sleeps")]
    >>> arrays = sentence_arrays(text)
    >>> classes = exchange(pair_counts(arrays), arrays.vocabulary, 3, root=True).classes
    >>> [classes.words_of(i) for i in range(3)]
    [['the', 'a'], ['barks', 'sleeps'], ['dog', 'cat']]
    """
    root = pairs.tree if root is None else root
    check_sizes(pairs, vocabulary, n_classes, root)
    if passes < 1:
        raise OptionError(f"passes must be at least 1, not {passes}")
    if tol < 0:
        raise OptionError(f"tol must be at least 0, not {tol}")
    started = time.perf_counter()
    ids = _initial(pairs, vocabulary, n_classes, init, random_state)
    ids, gains = improve(
        pairs, ids, n_classes, root=root, variant=variant, passes=passes, tol=tol, threads=threads
    )
    paths = paths_of(pairs, ids, n_classes, root=root) if hierarchy else None
    facts: dict[str, Any] = {
        "method": "exchange",
        "variant": variant,
        "root": root,
        "init": init if isinstance(init, str) else "classes",
        "passes": len(gains),
        "last_gain": gains[-1],
        "seconds": time.perf_counter() - started,
    }
    return make_clustering(pairs, vocabulary, ids, paths, n_classes, facts)


def improve(
    pairs: PairCounts,
    ids: NDArray[np.int32],
    n_classes: int,
    *,
    root: bool,
    variant: Variant = "two-sided",
    passes: int = 20,
    tol: float = 0.0,
    threads: int | None = None,
) -> tuple[NDArray[np.int32], list[float]]:
    """Better classes than ``ids``, and what each pass gained, in nats per pair.

    Examples
    --------
    >>> from spinney.classes.pairs import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> pairs = pair_counts(sentence_arrays([[a, b] for a in "ab" for b in "cd"]))
    >>> ids, gains = improve(pairs, np.array([0, 1, 0, 1], dtype=np.int32), 2, root=True)
    >>> ids, [round(gain, 4) for gain in gains]
    (array([1, 0, 0, 1], dtype=int32), [0.6931, 0.0])
    """
    if variant not in ("two-sided", "predictive"):
        raise unknown_choice("variant must be", variant, ("two-sided", "predictive"))
    threads = default_threads() if threads is None else threads
    ids = ids.astype(np.int32)  # a copy
    total = pairs.n_pairs + (int(pairs.roots.sum()) if root else 0)
    phi = fixed_point(total)
    visit = (two_sided if variant == "two-sided" else _predictive)(pairs, ids, n_classes, root, phi)
    visit(np.zeros(0, np.int64), np.zeros(0, np.int64), True)  # compiles, and does nothing else
    order = pairs.by_frequency()
    gains: list[float] = []
    with progress.task("moving words", passes * len(order)) as task:
        while len(gains) < passes:
            moves, gain = 0, 0
            for start in range(0, len(order), _BLOCK):
                words = order[start : start + _BLOCK]
                targets = choose(visit, words, threads)
                moved, gained = visit(words, targets, False)
                moves, gain = moves + moved, gain + gained
                task.update(len(words), note=f"{moves} moves in pass {len(gains) + 1}")
            gains.append(gain / phi.scale / total)
            progress.log.info("pass %d: %d words moved, %.6f nats per pair", len(gains), moves, gains[-1])
            if not moves or gains[-1] < tol:
                break
    return ids, gains


def choose(visit: Visit, words: Ints, threads: int) -> Ints:
    """The best class of each word, all against the same tables."""
    targets = np.empty(len(words), np.int64)

    def chosen(start: int) -> int:
        part = slice(start, start + _PART)
        return visit(words[part], targets[part], True)[0]

    map_reduce(chosen, range(0, len(words), _PART), threads=threads)
    return targets


def two_sided(
    pairs: PairCounts,
    ids: NDArray[np.int32],
    n_classes: int,
    root: bool,
    phi: Phi,
    tables: tuple[Ints, Ints] | None = None,
) -> Visit:
    """The kernel of two-sided exchange with its tables: counts of classes and of roots, of ``pairs`` by default."""
    from spinney.classes._exchange_kernels import visit

    size = n_classes + root
    N = np.zeros((size, size), np.int64)
    class_pairs, class_roots = tables or (
        pairs.of_classes(ids, n_classes),
        pairs.roots_of_classes(ids, n_classes),
    )
    N[:n_classes, :n_classes] = class_pairs
    if root:
        N[-1, :n_classes] = class_roots
    sizes = np.bincount(ids[ids >= 0], minlength=n_classes)
    l, r = N.sum(axis=1)[:n_classes].copy(), N.sum(axis=0)[:n_classes].copy()
    roots = pairs.roots if root else np.zeros(0, np.int64)
    rest = (ids, sizes, *pairs.children, *pairs.parents, roots, N, N.T.copy(), l, r, *phi)
    return lambda words, targets, choosing: visit(words, targets, choosing, *rest)


def _predictive(pairs: PairCounts, ids: NDArray[np.int32], n_classes: int, root: bool, phi: Phi) -> Visit:
    """The kernel of predictive exchange with its tables."""
    from spinney.classes._exchange_kernels import fill_rows, visit_predictive

    parents = _with_root(pairs) if root else pairs.parents
    room = np.minimum(np.bincount(parents.indices, minlength=pairs.n_words + root), n_classes)
    start = np.concatenate([[0], np.cumsum(room)])
    length = np.zeros(len(room), np.int64)
    classes, counts = np.empty(start[-1], np.int32), np.empty(start[-1], np.int64)
    fill_rows(ids, *parents, start, length, classes, counts)
    of_words = np.diff(np.concatenate([[0], np.cumsum(parents.counts)])[parents.indptr])
    r = np.bincount(ids, of_words, minlength=n_classes).astype(np.int64)
    sizes = np.bincount(ids, minlength=n_classes)
    rest = (ids, sizes, *parents, start, length, classes, counts, r, *phi)
    return lambda words, targets, choosing: visit_predictive(words, targets, choosing, *rest)


def _with_root(pairs: PairCounts) -> Neighbours:
    """The parents of each word, with the root as one word more."""
    indptr, indices, counts = pairs.parents
    has_root = pairs.roots > 0
    ends = indptr[1:][has_root]
    longer = indptr + np.concatenate([[0], np.cumsum(has_root)])
    return Neighbours(
        longer, np.insert(indices, ends, pairs.n_words), np.insert(counts, ends, pairs.roots[has_root])
    )


def _initial(
    pairs: PairCounts,
    vocabulary: Vocabulary,
    n_classes: int,
    init: Literal["frequency", "random"] | WordClasses,
    random_state: int,
) -> NDArray[np.int32]:
    if isinstance(init, WordClasses):
        if init.n_classes != n_classes:
            raise OptionError(f"init has {init.n_classes} classes, but {n_classes} are asked for")
        ids = init.encode(vocabulary.words)
        if np.any(ids < 0):
            word = vocabulary.words[int(np.argmin(ids))]
            raise OptionError(
                f"init has no class for {word!r}, nor one for unknown words: assign classes with place() first"
            )
        return ids
    if init not in ("frequency", "random"):
        raise unknown_choice("init must be word classes,", init, ("frequency", "random"))
    order = pairs.by_frequency()
    if init == "random":
        order = random_numbers(random_state).permutation(order)
    ids = np.empty(pairs.n_words, np.int32)
    ids[order] = np.arange(pairs.n_words) % n_classes
    return ids
