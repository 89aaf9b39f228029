"""Topics for groups of words, learned by latent Dirichlet allocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice

Method = Literal["sklearn", "tomotopy"]

_ITERATIONS: dict[str, int | None] = {"sklearn": None, "tomotopy": 100}
_WORD_PRIOR = 0.01
_MOST_PASSES, _SETTLED = 100, 1e-3  # until a pass improves the bound by less than this share
_JUDGES = 300  # held-out documents
_COMMON = 0.1


def lda_topics(
    X: Any,
    n_topics: int,
    *,
    method: Method = "sklearn",
    iterations: int | None = None,
    random_state: int = 0,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """The probability of each word in each topic, an array (topics, words), from a matrix of counts.

    Yogatama (2015) uses 1,000 topics from as many documents, and the 10 most probable words of each as a group.

    Parameters
    ----------
    X : array or sparse matrix (documents, words)
        Counts, as ``TextFeatures("counts")`` gives them.
    method
        ``"sklearn"``: online variational Bayes by scikit-learn; its time grows with the number of topics (1,000
        from 1,000 documents take most of a minute). ``"tomotopy"``: Gibbs sampling by tomotopy (the extra
        ``topics``), faster and better where there are many. It may use fewer topics than requested; the others are rows
        of zeros.
    iterations
        Passes over the documents; default: by scikit-learn, until a pass improves the bound on held-out documents
        (a tenth, at most 300) by less than a thousandth; by tomotopy, 100.
    threads
        Processes of scikit-learn, or threads of tomotopy, whose topics are reproducible only with
        one thread. Default: 1.

    Examples
    --------
    >>> X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 20, axis=0)
    >>> topics = lda_topics(X, 2)
    >>> topics.shape, sorted(np.argsort(-row)[:2].tolist() for row in topics)
    ((2, 4), [[0, 1], [2, 3]])
    """
    if method not in _ITERATIONS:
        raise unknown_choice("method must be", method, ("sklearn", "tomotopy"))
    iterations = _ITERATIONS[method] if iterations is None else iterations
    if min(n_topics, 1 if iterations is None else iterations, 1 if threads is None else threads) < 1:
        raise OptionError("n_topics, iterations and threads must be at least 1")
    counts = _checked_counts(X)
    document_prior = min(0.1, 50 / n_topics)
    learn: Any = _by_scikit_learn if method == "sklearn" else _by_tomotopy
    weights = learn(counts, n_topics, document_prior, iterations, random_state, threads or 1)
    totals = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(totals > 0, totals, 1.0), dtype=np.float64)


def topical(X: Any, words: Sequence[str] = (), share: float = _COMMON) -> NDArray[np.bool_]:
    """Which words may make up topics: those in at most a tenth of the documents, without English function words.

    More common words are function words too, or words that the whole collection is about; they would lead every topic.
    The function words are those of scikit-learn's list. If fewer than two words are left, all may.

    Examples
    --------
    >>> topical(np.eye(12)[:, :4] + [1, 0, 0, 0], ["film", "with", "fun", "plot"]).tolist()
    [False, False, True, True]
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    counts = _checked_counts(X)
    containing = np.bincount(counts.indices, minlength=counts.shape[1])
    some = containing <= max(share * counts.shape[0], 1)
    if len(words):
        some &= np.array([word.lower() not in ENGLISH_STOP_WORDS for word in words])
    return np.asarray(some if (some & (containing > 0)).sum() >= 2 else np.ones(len(some), dtype=bool))


def distinctive(topics: Any, X: Any) -> NDArray[np.float64]:
    """How much each word sets a topic apart, p(w|t)·log(p(w|t)/p(w)), 0 where it does not: words of all topics go down.

    Examples
    --------
    >>> found = distinctive(np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]), np.array([[2, 1, 1]]))
    >>> found.round(2).tolist()
    [[0.0, 0.35, 0.0], [0.0, 0.0, 0.35]]
    """
    rows = np.asarray(topics.toarray() if hasattr(topics, "toarray") else topics, dtype=np.float64)
    totals = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    overall = np.maximum(totals / max(totals.sum(), 1e-300), 1e-300)
    ratios = np.log(np.maximum(rows, 1e-300) / overall)
    return np.asarray(np.maximum(rows * ratios, 0.0))


def _checked_counts(X: Any) -> Any:
    from scipy.sparse import csr_array

    counts = csr_array(X, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if not counts.nnz:
        raise OptionError("topics cannot be learned: no document contains a word")
    if counts.data.min() < 0 or np.any(counts.data != np.floor(counts.data)):
        raise OptionError("topics are learned from counts: use the features 'counts'")
    return counts


def _by_scikit_learn(
    counts: Any, n_topics: int, document_prior: float, iterations: int | None, random_state: int, threads: int
) -> NDArray[np.float64]:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics,
        doc_topic_prior=document_prior,
        topic_word_prior=_WORD_PRIOR,
        learning_method="online",
        batch_size=256,  # each batch costs a pass over all topics and words
        max_doc_update_iter=20,  # groups depend on the order of a topic's words, not on their exact weights
        n_jobs=threads,
        random_state=random_state,
        total_samples=counts.shape[0],
    )
    train, judges = _parted(counts, random_state) if iterations is None else (counts, None)
    before = -np.inf
    for _ in range(iterations or _MOST_PASSES):
        model.partial_fit(train)
        if judges is None:
            continue
        bound = float(model.score(judges))
        if bound - before <= _SETTLED * abs(bound):
            break
        before = bound
    return np.asarray(model.components_, dtype=np.float64)


def _parted(counts: Any, random_state: int) -> tuple[Any, Any]:
    """Documents to learn from, and a tenth to judge by; both are all of them where there are few."""
    n = counts.shape[0]
    if n < 20:
        return counts, counts
    order = np.random.default_rng(random_state).permutation(n)
    judges = order[: min(n // 10, _JUDGES)]
    return counts[np.sort(order[len(judges) :])], counts[np.sort(judges)]


def _by_tomotopy(
    counts: Any, n_topics: int, document_prior: float, iterations: int, random_state: int, threads: int
) -> NDArray[np.float64]:
    try:
        from tomotopy import LDAModel  # type: ignore[import-untyped, import-not-found]
    except ImportError:
        raise OptionError("tomotopy is not installed: pip install 'spinney[topics]'") from None

    model = LDAModel(k=n_topics, alpha=document_prior, eta=_WORD_PRIOR, seed=random_state)
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:]):
        if stop > start:
            tokens = np.repeat(counts.indices[start:stop], counts.data[start:stop].astype(np.int64))
            model.add_doc(tokens.astype(str).tolist())
    model.train(iterations, workers=threads)
    weights = np.zeros((n_topics, counts.shape[1]))
    columns = np.array([int(word) for word in model.used_vocabs])
    for topic in range(n_topics):  # without the prior, which is the same for all words that were never drawn
        drawn = np.asarray(model.get_topic_word_dist(topic, normalize=False)) - _WORD_PRIOR
        weights[topic, columns] = np.rint(drawn)
    return weights
