"""Topics of documents by the method of moments: no local optima, one pass for pairs and one for triples."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma, gammaln, softmax
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney.checking import our_errors, seed
from spinney.corpus import ReadReport, writing_bytes
from spinney.embed.document_moments import DocumentMoments, add_both, topics_from_moments
from spinney.embed.documents import bag_batches, read_bags
from spinney.embed.model import EmbedModel, text_facts
from spinney.embed.tensors import Matrix, to_simplex
from spinney.errors import InputError, OptionError
from spinney.files import FilePath, ModelFile, replacing
from spinney.inference.mixture import expectations, log_joint
from spinney.model import Applied, Contents, ShownEstimator, Structures
from spinney.parallel import default_threads, map_reduce, one_blas_thread
from spinney.progress import task
from spinney.settings import Settings, settings_or
from spinney.settings.embed import Apply, Explain
from spinney.settings.report import Report
from spinney.structure import WordVectors
from spinney.structure.groups import Groups
from spinney.views import View, Views

_FOLD_STEPS, _FOLD_TOL = 100, 1e-6  # of the proportions of a new document
_FIRST_STEPS = 10  # of those that EM begins with


# -- held-out documents -------------------------------------------------------------------------------------------


def split_words(X: Any, random_state: int = 0) -> tuple[Any, Any]:
    """Each word of each document into one of two parts, by a fair coin.

    Examples
    --------
    >>> seen, unseen = split_words(sparse.csr_array([[4, 0, 9]]))
    >>> (seen + unseen).toarray()
    array([[4., 0., 9.]])
    """
    X = sparse.csr_array(X, dtype=np.float64)
    heads = np.random.default_rng(random_state).binomial(np.floor(X.data).astype(np.int64), 0.5)
    seen, unseen = X.copy(), X.copy()
    seen.data, unseen.data = heads.astype(np.float64), X.data - heads
    return seen, unseen


def completion_score(proportions: Matrix, topics: Matrix, unseen: Any) -> float:
    """The log-likelihood a word of the unseen parts of documents, Σ c log Σ_k θ_dk φ_kw / Σ c.

    ``proportions`` [documents, K] are those found in the seen parts (document completion: Wallach et al. 2009).

    Examples
    --------
    >>> theta, phi = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> round(float(np.exp(-completion_score(theta, phi, sparse.csr_array([[3, 4]])))), 6)
    2.0
    """
    table = sparse.coo_array(unseen)
    rows, columns = table.coords
    words = np.ascontiguousarray(topics.T)
    total = 0.0
    with np.errstate(divide="ignore"):
        for start in range(0, table.nnz, 1 << 16):
            part = slice(start, start + (1 << 16))
            c = table.data[part]
            p = np.einsum("ek,ek->e", proportions[rows[part]], words[columns[part]])
            total += float(c[c > 0] @ np.log(p[c > 0]))
    words_left = float(table.data.sum())
    return total / words_left if words_left else 0.0


# -- the estimator ------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class MomentTopics(
    ShownEstimator,
    EmbedModel,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Topics by moments: of documents with one topic each, or of latent Dirichlet allocation.

    Parameters
    ----------
    n_topics : int
        Fewer are found, with a warning, if the pairs of words have fewer positive eigenvalues.
    alpha0 : float or None
        None or 0: each document has one topic. Else the sum of the parameters of the Dirichlet distribution, which
        this method must know; a wrong one biases the topics. 1 is what others begin with.
    smoothing : float
        A count added to each word of each topic, so that no word is impossible. Topics straight from the moments have
        exact zeros where an estimate was negative.
    polish : int
        Passes of EM that begin at the moments' topics: for documents of one topic EM of the mixture of multinomials,
        else variational EM. They repair what few documents blur; on real documents, take 20.
    restarts, iterations : int
        Of the tensor power method: random starts for each topic, and steps from each.
    threads : int or None
    random_state : int

    Attributes
    ----------
    components_ : array [K, words]
        The topics, whose rows sum to 1; the heaviest first.
    weights_ : array [K]
        The probabilities of topics, which sum to 1; with ``alpha0`` the parameters α_k, which sum to ``alpha0``.
    spectrum_ : array [K]
        The eigenvalues of the pairs of words: a gap shows how many topics there are.
    clipped_ : array [K]
        The share of each topic's mass that was negative before it was clipped: much of it means few documents.
    trace_ : list of float
        The criterion before each pass of EM and after the last: the log-likelihood, or a lower bound of it, and that
        of the topics under the prior that ``smoothing`` stands for.
    words_ : list of str
    n_documents_, n_dropped_ : int
        Number of documents used for learning, and number of those with fewer than three words.
    facts : dict
        What else the file of the model keeps, such as ``reading``: how the documents were read.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topics = np.array([[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]])
    >>> X = np.array([rng.multinomial(20, topics[d % 2]) for d in range(100)])
    >>> model = MomentTopics(2).fit(X, words=["ball", "game", "vote", "law"])
    >>> sorted(model.topic_words(k, 1)[0][0] for k in range(2))
    ['ball', 'law']
    >>> model.transform([[3, 0, 0, 0]]).max().round(2)
    np.float64(1.0)
    """

    n_topics: int = 10
    _: KW_ONLY
    alpha0: float | None = None
    smoothing: float = 0.01
    polish: int = 0
    restarts: int = 30
    iterations: int = 30
    threads: int | None = None
    random_state: int = 0

    kind = "embed/MomentTopics"

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        words: Sequence[str] | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : array or sparse matrix [documents, words]
            Counts.
        words
            The word of each column, for reading; default: the names of the columns, or their numbers.
        reading
            How the documents were read, for those who will read more of them.
        """
        alpha0 = self._checked_settings()
        X = self._checked(X, reset=True)
        if self.n_topics > X.shape[1]:
            raise OptionError(f"{self.n_topics} topics need at least as many words: n_features={X.shape[1]}")
        moments = DocumentMoments(X, alpha0, threads=self.threads)
        self.n_documents_, self.n_dropped_ = moments.counts.shape[0], moments.dropped
        if self.n_topics > self.n_documents_:
            raise OptionError(
                f"{self.n_topics} topics need as many documents of at least 3 words: n_samples={self.n_documents_}"
            )
        self.words_ = self._names(words, X.shape[1])
        self._facts: dict[str, Any] = {"reading": dict(reading or {})}
        with one_blas_thread():
            found = topics_from_moments(
                moments.pairs(),
                moments.triples,
                self.n_topics,
                alpha0,
                restarts=self.restarts,
                iterations=self.iterations,
                random_state=self.random_state,
            )
        self.spectrum_ = found.spectrum
        negative = np.maximum(-found.topics, 0).sum(axis=1)
        self.clipped_ = negative / np.maximum(np.abs(found.topics).sum(axis=1), np.finfo(float).tiny)
        shares = found.shares / found.shares.sum()
        tokens = shares[:, None] * X.sum()
        self.components_: Matrix = to_simplex(to_simplex(found.topics) * tokens + self.smoothing)
        self.weights_: Matrix = alpha0 * shares if alpha0 else shares
        self._n_features_out = len(shares)
        self.trace_: list[float] = []
        if self.polish and alpha0:
            self._polish_proportions(X)
        elif self.polish:
            self._polish_mixture(X)
        return self

    # -- EM from there --------------------------------------------------------------------------------

    def _polish_mixture(self, X: Any) -> None:
        with task("polishing", total=self.polish) as polishing:
            for _ in range(self.polish):
                found = expectations(X, self.weights_, self.components_)
                self.trace_.append(found.log_likelihood + self._prior())
                self.weights_ = found.sizes / found.sizes.sum()
                self.components_ = to_simplex(found.counts + self.smoothing)
                polishing.update()
        self.trace_.append(expectations(X, self.weights_, self.components_).log_likelihood + self._prior())

    def _polish_proportions(self, X: Any) -> None:
        """Variational EM (Blei, Ng and Jordan 2003, section 5): θ_d ~ Dir(α), φ_k the mode under Dir(1 + smoothing).

        A document's proportions have the distribution Dir(γ); at the mode of θ, without it, many short documents
        would leave the topics blurred however many they are.
        """
        alpha = self.weights_
        gamma = alpha + X.sum(axis=1)[:, None] * self._fold_in(X, _FIRST_STEPS)
        with task("polishing", total=self.polish) as polishing:
            for _ in range(self.polish):
                log_likelihood, in_documents, of_words = self._expected(X, np.exp(_mean_log(gamma)))
                self.trace_.append(log_likelihood + self._prior() - _divergence(gamma, alpha))
                gamma = in_documents + alpha
                self.components_ = to_simplex(of_words + self.smoothing)
                polishing.update()
        log_likelihood = self._expected(X, np.exp(_mean_log(gamma)))[0]
        self.trace_.append(log_likelihood + self._prior() - _divergence(gamma, alpha))

    def _expected(self, X: Any, theta: Matrix) -> tuple[float, Matrix, Matrix]:
        """Σ c log Σ_k θ_dk φ_kw, how many words of each topic each document has, and how often each word is of each."""
        from spinney.inference._pair_kernels import expected_counts

        topics = np.ascontiguousarray(self.components_.T)
        in_documents = np.empty_like(theta)

        def of_shard(rows: slice) -> tuple[float, Matrix]:
            columns = np.zeros_like(topics)
            log_likelihood = expected_counts(
                *_flat(X, rows), theta[rows], topics, in_documents[rows], columns
            )
            return log_likelihood, columns

        shards = self._shards(X)
        log_likelihood, columns = map_reduce(of_shard, shards, threads=len(shards), reduce=add_both)
        return log_likelihood, in_documents, (columns * topics).T

    def _prior(self) -> float:
        return self.smoothing * float(np.log(self.components_).sum()) if self.smoothing else 0.0

    # -- documents ------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Matrix:
        """The proportions of topics in documents, [documents, K].

        For documents of one topic each the posterior of the topic. Else the fixed point, from the prior's mean, of
        θ_k ∝ α_k + Σ_w c_w q(k | w), q ∝ θ_k φ_kw: the mode of the posterior under Dir(α + 1), found by EM with the
        topics fixed.
        """
        check_is_fitted(self)
        X = self._checked(X)
        if not self.alpha0:
            return np.asarray(softmax(log_joint(X, self.weights_, self.components_), axis=1))
        return self._fold_in(X, _FOLD_STEPS)

    def _fold_in(self, X: Any, steps: int) -> Matrix:
        from spinney.embed._topics_kernels import fold_in

        topics = np.ascontiguousarray(self.components_.T)
        prior = np.ascontiguousarray(self.weights_)
        theta = np.tile(prior / prior.sum(), (X.shape[0], 1))

        def of_shard(rows: slice) -> int:
            fold_in(*_flat(X, rows), topics, prior, theta[rows], steps, _FOLD_TOL)
            return 0

        shards = self._shards(X)
        map_reduce(of_shard, shards, threads=len(shards))
        return theta

    def score(self, X: Any, y: None = None) -> float:
        """The log-likelihood a word by document completion, in nats.

        Half of the words of each document, drawn at random, are folded in (:meth:`transform`); the others are scored.
        """
        check_is_fitted(self)
        seen, unseen = split_words(self._checked(X), self.random_state)
        return completion_score(self.transform(seen), self.components_, unseen)

    def perplexity(self, X: Any) -> float:
        """exp of minus :meth:`score`."""
        return math.exp(-self.score(X))

    # -- reading --------------------------------------------------------------------------------------

    def topic_words(self, topic: int, n: int = 10) -> list[tuple[str, float]]:
        """The ``n`` most probable words of a topic, with their probabilities."""
        check_is_fitted(self)
        if not 0 <= topic < len(self.components_):
            raise OptionError(
                f"there is no topic {topic}: topics are numbered from 0 to {len(self.components_) - 1}"
            )
        return [(self.words_[w], float(self.components_[topic, w])) for w in self._top(topic, n)]

    def _top(self, topic: int, n: int) -> list[int]:
        """The most probable words; without smoothing, a topic may have fewer."""
        row = self.components_[topic]
        order = np.argsort(-row, kind="stable")[:n]
        return [int(w) for w in order if row[w] > 0]

    def topic_groups(self, words: int = 20) -> Groups:
        """One group for each topic: its most probable words. Groups overlap where topics share words.

        Examples
        --------
        >>> X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 5, axis=0)
        >>> groups = MomentTopics(2).fit(X).topic_groups(2)
        >>> groups.names, sorted(groups[g].tolist() for g in range(2))
        (['topic 0', 'topic 1'], [[0, 1], [2, 3]])
        """
        check_is_fitted(self)
        if words < 1:
            raise OptionError(f"words must be at least 1, not {words}")
        topics = range(len(self.components_))
        names = [f"topic {k}" for k in topics]
        return Groups.from_lists([sorted(self._top(k, words)) for k in topics], len(self.words_), names=names)

    def write_table(self, path: FilePath, words: int | None = None) -> None:
        """Write a tab-separated table of topic, word and probability, of the most probable words or of all."""
        check_is_fitted(self)
        unfit = [word for word in self.words_ if any(mark in word for mark in "\t\n\r")]
        if unfit:
            raise InputError(
                f"the word {unfit[0]!r} contains a tab or a line break, so it cannot be written to a table"
            )
        with replacing(path) as file:
            file.write(b"topic\tword\tprobability\n")
            for k, row in enumerate(self.components_):
                top = self._top(k, len(row) if words is None else words)
                file.writelines(f"{k}\t{self.words_[w]}\t{row[w]:.9g}\n".encode() for w in top)

    # -- files ----------------------------------------------------------------------------------------

    def structures(self) -> Structures:
        """What other models can use: its topics, and P(topic | word) as the vector of a word."""

        def vectors() -> WordVectors:
            joint = self.components_.T * (self.weights_ / self.weights_.sum())
            return WordVectors(self.words_, joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))

        return Structures(topics=lambda: (self.components_, list(self.words_)), vectors=vectors)

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """What is known about the fit: scikit-learn has no public attributes without a final underscore."""
        return self._facts

    @facts.setter
    def facts(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """The proportions of topics in each document of a file, a folder, or a list of documents in words."""
        s = settings_or(Apply, settings, given)
        if s.what == "states":
            raise OptionError("states: topics give proportions for documents, but no states of tokens")
        report = ReadReport()
        facts: dict[str, Any] = {}

        def records() -> Iterator[dict[str, Any]]:
            for bags in bag_batches(data, s, self.reading().lowercase, report, self.words_):
                for name, row in zip(bags.names, self.transform(bags.counts).tolist()):
                    yield {"id": name, "topics": row}
            facts["skipped"] = report.skipped

        def line(record: dict[str, Any]) -> str:
            return "\t".join([record["id"], *(f"{share:.6g}" for share in record["topics"])]) + "\n"

        return Applied("documents", records(), line, facts)

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """The topics of documents, and the words that each explains."""
        from spinney.embed.explaining import explained_topics

        return Views(explained_topics(self, data, settings_or(Explain, settings, given)))

    def held_out(self, data: Any, s: Any) -> dict[str, Any]:
        """The perplexity of documents, by document completion."""
        report = ReadReport()
        bags = read_bags(data, s, self.reading().lowercase, report, self.words_)
        return text_facts({"perplexity": self.perplexity(bags.counts), "documents": len(bags.names)}, report)

    def export(self, output: str) -> dict[str, Any]:
        """Write the topics as a table, compressed as the name says, or to standard output."""
        with tempfile.TemporaryDirectory(prefix="spinney-") as folder:
            passing = os.path.join(folder, "topics.tsv")
            self.write_table(passing)
            with open(passing, "rb") as table, writing_bytes(output) as file:
                shutil.copyfileobj(table, file)
        return {"words": len(self.words_), "topics": len(self.weights_)}

    def strongest(self, n: int, words: int) -> list[View]:
        """The heaviest topics with their most probable words."""
        from spinney.embed.views import topic_views

        return topic_views(self, n, words)

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: topics, a map of words; with data, documents with their topics."""
        from spinney.embed.report import topics_report

        return Views(topics_report(self, data, settings_or(Report, settings, given)))

    def contents(self) -> Contents:
        """What the model keeps in its file."""
        check_is_fitted(self)
        header = {
            "settings": {name: getattr(self, name) for name in _SETTINGS},
            "documents": self.n_documents_,
            "dropped": self.n_dropped_,
            "trace": self.trace_,
            "facts": self.facts,
        }
        tensors = {
            name: getattr(self, f"{name}_") for name in ("components", "weights", "spectrum", "clipped")
        }
        return Contents(header, tensors, {"words": self.words_})

    @classmethod
    def from_file(cls, model: ModelFile) -> Self:
        """The model that a file holds."""
        fitted = cls(**model.settings(_SETTINGS))
        with model.checked():
            alpha0 = fitted._checked_settings()
        if type(fitted.random_state) is not int or fitted.random_state < 0:
            raise model.error("damaged: its seed is not a whole number")
        topics = np.array(model.tensor("components", np.float64, ndim=2, low=0))
        weights, spectrum, clipped = (
            np.array(model.tensor(name, np.float64)) for name in ("weights", "spectrum", "clipped")
        )
        words = model.texts("words")
        K = len(weights)
        if K < 1 or topics.shape != (K, len(words)) or len(clipped) != K:
            raise model.error("damaged: its sizes do not match")
        if not np.allclose(topics.sum(axis=1), 1):
            raise model.error("damaged: its topics are not distributions")
        if not (np.all(weights >= 0) and np.isclose(weights.sum(), alpha0 or 1.0)):
            raise model.error("damaged: its weights are not a distribution")
        trace = model.fact("trace", list)
        if not all(isinstance(value, float | int) for value in trace):
            raise model.error("damaged: its trace is not valid")
        fitted.components_, fitted.weights_, fitted.words_ = topics, weights, words
        fitted.spectrum_, fitted.clipped_, fitted.trace_ = spectrum, clipped, trace
        fitted.n_documents_, fitted.n_dropped_ = model.fact("documents", int), model.fact("dropped", int)
        fitted.n_features_in_, fitted._n_features_out = len(words), K
        fitted._facts = model.fact("facts", dict)
        if not isinstance(fitted.facts.get("reading"), dict):
            raise model.error("damaged: it does not record how its documents were read")
        return fitted

    # -- checks ---------------------------------------------------------------------------------------

    def _checked_settings(self) -> float:
        """Refuse what makes no sense; α0 as a number comes back."""
        for name, least in (("n_topics", 1), ("polish", 0), ("restarts", 1), ("iterations", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise OptionError(f"{name} must be a whole number of at least {least}, not {value!r}")
        for name in ("smoothing", "alpha0"):
            value = getattr(self, name)
            if name == "alpha0" and value is None:
                continue
            if not isinstance(value, Real) or not 0 <= float(value) < math.inf:
                raise OptionError(f"{name} must be a number of at least 0, not {value!r}")
        if self.threads is not None and (not isinstance(self.threads, Integral) or self.threads < 1):
            raise OptionError(f"threads must be at least 1, not {self.threads!r}")
        seed(self.random_state)
        return float(self.alpha0 or 0.0)

    def _checked(self, X: Any, reset: bool = False) -> Any:
        with our_errors():
            X = sparse.csr_array(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset))
        if X.nnz and X.data.min() < 0:
            raise InputError(
                "Negative values in data passed to MomentTopics", remedy="word counts must be at least 0"
            )
        return X

    def _names(self, words: Sequence[str] | None, n_words: int) -> list[str]:
        names = getattr(self, "feature_names_in_", range(n_words)) if words is None else words
        if len(names) != n_words:
            raise OptionError(f"{len(names)} words but {n_words} columns")
        return [str(name) for name in names]

    def _shards(self, X: Any) -> list[slice]:
        """A run of documents for each thread, with about as many counts each."""
        threads = min(self.threads or default_threads(), X.shape[0])
        ends = np.searchsorted(X.indptr, np.linspace(0, X.nnz, threads + 1)[1:-1])
        return [slice(a, b) for a, b in pairwise([0, *ends.tolist(), X.shape[0]])]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


_SETTINGS = tuple(field.name for field in fields(MomentTopics))


def _mean_log(gamma: Matrix) -> Matrix:
    """E[log θ] of θ ~ Dir(γ), a row for each document."""
    return np.asarray(digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True)))


def _divergence(gamma: Matrix, alpha: Matrix) -> float:
    """Σ_d KL(Dir(γ_d) ‖ Dir(α))."""
    normaliser = (
        gammaln(gamma.sum(axis=1)) - gammaln(gamma).sum(axis=1) - gammaln(alpha.sum()) + gammaln(alpha).sum()
    )
    return float(normaliser.sum() + np.sum((gamma - alpha) * _mean_log(gamma)))


def _flat(X: Any, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], Matrix]:
    """Some rows of a sparse matrix as kernels want them."""
    return (
        X.indptr[rows.start : rows.stop + 1].astype(np.int64),
        X.indices.astype(np.int32, copy=False),
        X.data,
    )
