"""Topics for groups of words, learned by latent Dirichlet allocation."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice

Method = Literal["sklearn", "tomotopy"]

_ITERATIONS = {"sklearn": 5, "tomotopy": 100}
_WORD_PRIOR = 0.01


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
        Passes over the documents; default: 5 by scikit-learn, 100 by tomotopy.
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
    if min(n_topics, iterations, 1 if threads is None else threads) < 1:
        raise OptionError("n_topics, iterations and threads must be at least 1")
    counts = _checked_counts(X)
    document_prior = min(0.1, 50 / n_topics)
    learn = _by_scikit_learn if method == "sklearn" else _by_tomotopy
    weights = learn(counts, n_topics, document_prior, iterations, random_state, threads or 1)
    totals = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(totals > 0, totals, 1.0), dtype=np.float64)


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
    counts: Any, n_topics: int, document_prior: float, iterations: int, random_state: int, threads: int
) -> NDArray[np.float64]:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics,
        doc_topic_prior=document_prior,
        topic_word_prior=_WORD_PRIOR,
        learning_method="online",
        max_iter=iterations,
        batch_size=256,  # each batch costs a pass over all topics and words
        max_doc_update_iter=20,  # groups depend on the order of a topic's words, not on their exact weights
        n_jobs=threads,
        random_state=random_state,
    )
    return np.asarray(model.fit(counts).components_, dtype=np.float64)


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
