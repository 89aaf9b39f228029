"""Classes for words that a clustering has not seen, from their contexts in a new text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.classes.clustering import Clustering
from spinney.classes.exchange import choose, two_sided
from spinney.classes.pairs import PairCounts, fixed_point
from spinney.corpus.vocabulary import Vocabulary
from spinney.errors import OptionError
from spinney.parallel import default_threads
from spinney.structure import WordClasses


def place(
    clustering: Clustering | WordClasses,
    pairs: PairCounts,
    vocabulary: Vocabulary,
    *,
    root: bool | None = None,
    threads: int | None = None,
) -> WordClasses:
    """Assign the new words of a text to the classes where they fit best; known words keep their classes.

    A new word goes where the likelihood of its pairs with words of known class is largest, given the
    counts of the clustering, if it has them, and of the pairs of known words in the new text. A word without such
    a pair gets the class of unknown words or, if there is none, is left out; the log reports how many.

    Parameters
    ----------
    clustering
        The classes to extend.
    pairs, vocabulary
        The new text: what :func:`pair_counts` counted, and its words, old and new.
    root
        Whether the start of a sentence, or the root of a tree, is also a parent. By default if the clustering was
        learned so; for classes alone, for trees only.

    Examples
    --------
    >>> from spinney.classes.brown import brown
    >>> from spinney.classes.pairs import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")])
    >>> clustering = brown(pair_counts(arrays), arrays.vocabulary, 2, root=True)
    >>> new = sentence_arrays([["the", "cow"], ["a", "dog"]])
    >>> place(clustering, pair_counts(new), new.vocabulary).words_of(clustering.classes["dog"])
    ['dog', 'cat', 'cow']
    """
    if len(vocabulary) != pairs.n_words:
        what = f"the pairs are of {pairs.n_words} words, but the vocabulary has {len(vocabulary)}: use the same text"
        raise OptionError(what)
    old = clustering.classes if isinstance(clustering, Clustering) else clustering
    n_classes = old.n_classes
    ids = old.encode(vocabulary.words)
    new = np.array([i for i, word in enumerate(vocabulary.words) if word not in old], dtype=np.int64)
    ids[new] = -1
    class_pairs, class_roots = pairs.of_classes(ids, n_classes), pairs.roots_of_classes(ids, n_classes)
    if isinstance(clustering, Clustering):
        class_pairs, class_roots = class_pairs + clustering.class_pairs, class_roots + clustering.class_roots
        root = bool(clustering.facts.get("root", pairs.tree)) if root is None else root
    root = pairs.tree if root is None else root
    total = int(class_pairs.sum() + class_roots.sum() + pairs.roots.sum()) + pairs.n_pairs
    visit = two_sided(pairs, ids, n_classes, root, fixed_point(total), (class_pairs, class_roots))
    found = np.full(len(new), -1 if old.unknown is None else old.unknown)
    near = _has_known_neighbour(pairs, ids)[new]
    if near.any():
        found[near] = choose(visit, new[near], default_threads() if threads is None else threads)
    if not near.all():
        where = "are left out" if old.unknown is None else "get the class of unknown words"
        alone = len(new) - int(near.sum())
        progress.log.info(
            "%d of %d new words have no neighbour with a known class: they %s", alone, len(new), where
        )
    kept = new[found >= 0]
    counts = None if old.counts is None else np.concatenate([old.counts, pairs.counts[kept]])
    return WordClasses(
        [*old.words, *vocabulary.decode(kept)],
        np.concatenate([old.ids, found[found >= 0]]),
        paths=old.paths,
        counts=counts,
        unknown=old.unknown,
        n_classes=n_classes,
        lowercase=old.lowercase,
    )


def _has_known_neighbour(pairs: PairCounts, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each word has a pair with a word that has a class."""
    has = np.zeros(pairs.n_words, dtype=bool)
    for indptr, indices, _ in (pairs.children, pairs.parents):
        words = np.repeat(np.arange(pairs.n_words), np.diff(indptr))
        has[words[ids[indices] >= 0]] = True
    return has
