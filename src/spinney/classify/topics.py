"""Topics for groups of words: learnt by latent Dirichlet allocation, or read from a file."""

from __future__ import annotations

import os
import re
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.files import FilePath

Method = Literal["sklearn", "tomotopy"]

_ITERATIONS = {"sklearn": 5, "tomotopy": 100}
_WORD_PRIOR = 0.01


class Topics(NamedTuple):
    """What :func:`read_topics` found."""

    weights: Any  # sparse (topics, words)
    words: list[str]


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

    Yogatama (2015) takes 1,000 topics of as many documents, and the 10 most probable words of each as a group.

    Parameters
    ----------
    X : array or sparse matrix (documents, words)
        Counts, as ``TextFeatures("counts")`` gives them.
    method
        ``"sklearn"``: online variational Bayes by scikit-learn; its time grows with the number of topics (1,000 of
        1,000 documents take the better part of a minute). ``"tomotopy"``: Gibbs sampling by tomotopy (the extra
        ``topics``), faster and better where there are many. It may use fewer topics than asked for: rows of zeros.
    iterations
        Passes over the documents; default: 5 by scikit-learn, 100 by tomotopy.
    threads
        Processes of scikit-learn, or threads of tomotopy, which does not promise the same topics again from more
        than one. Default: 1.

    Examples
    --------
    >>> X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 20, axis=0)
    >>> topics = lda_topics(X, 2)
    >>> topics.shape, sorted(np.argsort(-row)[:2].tolist() for row in topics)
    ((2, 4), [[0, 1], [2, 3]])
    """
    if method not in _ITERATIONS:
        raise unknown_choice("topics are learnt by", method, ("sklearn", "tomotopy"))
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
        raise OptionError("no document has a word to learn topics from")
    if counts.data.min() < 0 or np.any(counts.data != np.floor(counts.data)):
        raise OptionError("topics are learnt from counts: take the features 'counts', not others")
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
        max_doc_update_iter=20,  # for groups the order of a topic's words matters, not their last digits
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
    for topic in range(n_topics):  # without the prior, in which words that were never drawn are all alike
        drawn = np.asarray(model.get_topic_word_dist(topic, normalize=False)) - _WORD_PRIOR
        weights[topic, columns] = np.rint(drawn)
    return weights


# -- files ----------------------------------------------------------------------------------------------------------

_WEIGHTED = re.compile(r"(.+):((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)", re.DOTALL)


def read_topics(path: FilePath) -> Topics:
    """Read topics: one a line, its words between white space, each with a weight as in ``orbit:0.03`` or none has one.

    Words without weights are in the order of their probability; their weights are 1, 1/2, 1/3 and so on. Blank lines
    are passed over.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "topics.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("space:0.5 orbit:0.25\\ngame team\\n")
    >>> topics = read_topics(path)
    >>> topics.words, topics.weights.toarray().tolist()
    (['space', 'orbit', 'game', 'team'], [[0.5, 0.25, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5]])
    """
    from scipy.sparse import csr_array

    place: dict[str, int] = {}
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for line, text in read_lines(path):
        if not (items := fields(text)):
            continue
        try:
            topic = _topic(items)
        except OptionError as error:
            raise InputError(str(error), path=os.fspath(path), line=line) from None
        columns += [place.setdefault(word, len(place)) for word in topic]
        values += topic.values()
        ends.append(len(columns))
    if len(ends) == 1:
        raise InputError("no topics", path=os.fspath(path), remedy="one topic a line is needed")
    table = csr_array(
        (np.array(values), np.array(columns), np.array(ends)), shape=(len(ends) - 1, len(place))
    )
    return Topics(table, list(place))


def _topic(items: list[str]) -> dict[str, float]:
    """Words and weights, from what stands on a line."""
    found = [_WEIGHTED.fullmatch(item) for item in items]
    weighted = [match for match in found if match]
    if weighted and len(weighted) < len(items):
        bare = next(item for item, match in zip(items, found) if not match)
        raise OptionError(
            f"{weighted[0][0]!r} has a weight and {bare!r} has none: give all words one, or none"
        )
    if weighted:
        pairs = [(match[1], float(match[2])) for match in weighted]
    else:
        pairs = [(item, 1 / (i + 1)) for i, item in enumerate(items)]
    topic = dict(pairs)
    if len(topic) < len(pairs):
        twice = next(word for i, (word, _) in enumerate(pairs) if word in dict(pairs[:i]))
        raise OptionError(f"the word {twice!r} twice in one topic")
    infinite = [word for word, weight in pairs if weight == np.inf]
    if infinite:
        raise OptionError(f"the weight of {infinite[0]!r} is too large")
    return topic
