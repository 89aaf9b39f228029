"""Brown clustering: greedy merging of word classes, within a window of the most frequent.

Words enter by decreasing frequency (Brown et al. 1992, section 3; Grave 2014, section 2.1). The first C are classes of
their own; each next one opens a class, and the two classes whose merging loses least likelihood become one. At
the end the C classes are merged down to one, which gives each its path in a binary tree.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.classes.clustering import Clustering, check_sizes, make_clustering
from spinney.classes.exchange import improve
from spinney.classes.merging import CHUNK, State, hierarchy, merge_down
from spinney.classes.pairs import Ints, PairCounts
from spinney.corpus.vocabulary import Vocabulary
from spinney.errors import OptionError


def brown(
    pairs: PairCounts,
    vocabulary: Vocabulary,
    n_classes: int,
    *,
    root: bool | None = None,
    refine: int = 0,
    threads: int | None = None,
) -> Clustering:
    """Cluster words by Brown's algorithm, with the hierarchy of the classes.

    The likelihood that is lost least is that of the classes' pairs among the words that have entered so far. Sums of
    x log x are kept in whole numbers, so the result is the same on every run and ties are decided by rule: a
    class is as old as its most frequent word, and of merges that cost the same, the one of the older
    class is taken, then the one whose other class is older.

    Parameters
    ----------
    pairs, vocabulary
        What :func:`pair_counts` counted, and the words.
    n_classes
        Number of classes. Time grows with words × classes² at worst, and with what changes in
        practice.
    root
        Whether the start of a sentence, or the root of a tree, is also a parent, which is never merged. By default
        for trees only.
    refine
        Number of passes of :func:`exchange` that improve the classes before their hierarchy is built.
    threads
        How many threads refine; the result does not depend on it. Merging runs on one.

    Examples
    --------
    >>> from spinney.classes.pairs import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> text = [[a, b, c] for a in ("the", "a") for b in ("dog", "cat") for c in ("barks", "sleeps")]
    >>> arrays = sentence_arrays(text)
    >>> classes = brown(pair_counts(arrays), arrays.vocabulary, 3, root=True).classes
    >>> for i, path in enumerate(classes.paths):
    ...     print(path, *classes.words_of(i))
    00 the a
    01 barks sleeps
    1 dog cat
    """
    root = pairs.tree if root is None else root
    check_sizes(pairs, vocabulary, n_classes, root)
    if refine < 0:
        raise OptionError(f"refine must be a number of passes, not {refine}")
    started = time.perf_counter()
    facts: dict[str, Any] = {"method": "brown", "root": root, "refine": refine}
    state = State.empty(n_classes + 1, root, pairs)
    ids, ranks = _grown(pairs, state, root)
    if refine:
        ids, gains = improve(pairs, ids, n_classes, root=root, passes=refine, threads=threads)
        facts["passes"] = len(gains)
        paths = hierarchy(pairs, ids, n_classes, root=root)
    else:
        paths = merge_down(state, ranks)
    facts["seconds"] = time.perf_counter() - started
    return make_clustering(pairs, vocabulary, ids, paths, n_classes, facts)


def _grown(pairs: PairCounts, state: State, root: bool) -> tuple[NDArray[np.int32], Ints]:
    """All words in their classes: the class of each word, and the rank of each class's first word."""
    from spinney.classes._brown_kernels import add_words

    n = pairs.n_words
    order = pairs.by_frequency()
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    leader, slot = np.zeros(n, np.int64), np.zeros(n, np.int64)
    roots = pairs.roots if root else np.zeros(0, np.int64)
    rest = (order, rank, leader, slot, *pairs.children, *pairs.parents, roots, *state)
    free = add_words(0, 0, 0, *rest)
    with progress.task("clustering words", n) as task:
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            free = add_words(start, stop, free, *rest)
            task.update(stop - start)
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    ranks, ids = np.unique(leader, return_inverse=True)
    return ids[rank].astype(np.int32), ranks
