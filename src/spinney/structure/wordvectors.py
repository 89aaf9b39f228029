"""Word vectors, dense or sparse, and their nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import content_suffix
from spinney.errors import InputError, OptionError, did_you_mean
from spinney.files import FilePath, ModelFile, Parts, csr_tensors
from spinney.settings import Settings, settings_or
from spinney.settings.report import Report
from spinney.structure import _fasttext, _word2vec
from spinney.structure._stored import OfWords, Words
from spinney.structure.subwords import Subwords
from spinney.structure.wordclasses import WordClasses
from spinney.views import Views

Metric = Literal["cosine", "dot", "hellinger"]

_SCORES_AT_ONCE = 1 << 24  # similarities held in memory at a time
_QUERIES_AT_ONCE = 256  # enough to make the product of matrices as fast as it gets
_CHUNK = 512  # scores in a chunk, whose maximum is looked at before the scores themselves


class WordVectors(OfWords):
    """A vector for each word; immutable.

    Parameters
    ----------
    words
        Distinct words.
    matrix
        One row per word: a NumPy array (kept as ``float32`` or ``float64``) or a SciPy sparse matrix. It is
        not copied, so do not change it afterwards.
    lowercase
        Whether a word that has no vector is looked up in lower case: for vectors of lower-cased text.
    subwords
        What gives vectors to other words, by their letters: that of fastText, or of ``embed fit --subwords``.

    Examples
    --------
    >>> vectors = WordVectors(["north", "east", "up"], [[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> vectors["up"]
    array([2., 1.])
    >>> vectors.neighbours("north", 1)
    [('up', 0.894427...)]
    >>> vectors.rows(["east", "down"])
    array([[0., 1.],
           [0., 0.]])
    """

    role = "vectors"

    def __init__(
        self, words: Sequence[str], matrix: Any, *, lowercase: bool = False, subwords: Subwords | None = None
    ) -> None:
        self.subwords = subwords
        self._words = Words(words, lowercase=lowercase)
        self.is_sparse = hasattr(matrix, "tocsr")
        self.matrix: Any = _checked_sparse(matrix) if self.is_sparse else _checked_dense(matrix)
        if self.matrix.shape[0] != len(self):
            raise OptionError(f"{len(self)} words but {self.matrix.shape[0]} vectors")
        if subwords is not None and (self.is_sparse or subwords.matrix.shape[1] != self.dimension):
            raise OptionError("the vectors of words and of n-grams must have the same dimensions")

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else str(self.matrix.dtype)
        return f"WordVectors({len(self)} words, {self.dimension} dimensions, {kind})"

    def __getitem__(self, word: str) -> NDArray[Any]:
        """The vector of ``word``, dense; KeyError if it has none."""
        place = self._words.find(word)
        if place is None:
            if self.subwords is None:
                raise KeyError(word)
            return self._by_letters([word])[0]  # type: ignore[no-any-return]
        return self._dense_row(place)

    def _by_letters(self, words: Sequence[str]) -> NDArray[Any]:
        assert self.subwords is not None
        return self.subwords.vectors([word.lower() for word in words] if self.lowercase else words)

    def gives(self, word: str) -> bool:
        """Whether ``word`` has a vector: its own, or one by its letters."""
        return self.subwords is not None or word in self

    def _dense_row(self, index: int) -> NDArray[Any]:
        if self.is_sparse:
            return self.matrix[[index]].toarray()[0]  # type: ignore[no-any-return]
        return self.matrix[index]  # type: ignore[no-any-return]

    def encode(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """The row of each token, -1 where it has none."""
        return self._words.encode(tokens)

    def rows(self, tokens: Sequence[str]) -> Any:
        """The vectors of tokens as a matrix, sparse if this one is; zeros where a token has none."""
        places = self.encode(tokens)
        known = places >= 0
        if self.is_sparse:
            from scipy.sparse import csr_array

            ptr = np.concatenate(([0], np.cumsum(known)))
            chosen = (np.ones(ptr[-1], dtype=self.matrix.dtype), places[known], ptr)
            return csr_array(chosen, shape=(len(places), len(self))) @ self.matrix
        rows = np.zeros((len(places), self.dimension), dtype=self.matrix.dtype)
        rows[known] = self.matrix[places[known]]
        if self.subwords is not None and not known.all():
            rows[~known] = self._by_letters([token for token, has in zip(tokens, known) if not has])
        return rows

    def normalised(self, rows: slice | NDArray[np.integer[Any]] = slice(None)) -> Any:
        """Some of the vectors, by default all, divided by their lengths; zeros stay. Sparse if they are.

        Examples
        --------
        >>> WordVectors(["a", "b"], [[3.0, 4.0], [0.0, 0.0]]).normalised()
        array([[0.6, 0.8],
               [0. , 0. ]])
        """
        block, lengths = self.matrix[rows], self._lengths[rows]
        if not self.is_sparse:
            return block / lengths[:, None]
        data = block.data / np.repeat(lengths, np.diff(block.indptr))
        return type(block)((data, block.indices, block.indptr), shape=block.shape)

    def neighbours(
        self, query: str | NDArray[Any], k: int = 10, metric: Metric = "cosine"
    ) -> list[tuple[str, float]]:
        """The ``k`` words most similar to a word (which is left out) or to a vector, best first."""
        if isinstance(query, str) and self.subwords is not None and query not in self:
            query = self[query]
        if not isinstance(query, str):
            indices, scores = self.nearest(np.asarray(query)[None], k, metric)
            skip = -1
        else:
            skip = self._known(query)
            indices, scores = self.nearest(self._dense_row(skip)[None], k + 1, metric)
        found = zip(indices[0].tolist(), scores[0].tolist())
        return [(self.words[i], score) for i, score in found if i != skip][:k]

    def nearest(
        self, queries: NDArray[Any], k: int, metric: Metric = "cosine"
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The rows most similar to each of many vectors, and how similar they are; equals by their order.

        Exact: products of matrices, for a block of queries and a block of words at a time. A vector of zeros
        has similarity 0 to all others by ``"cosine"`` and ``"hellinger"``.

        ``"hellinger"`` treats vectors as distributions (none may have negative numbers; each is divided by its
        sum) and gives the Bhattacharyya coefficient BC = Σ √(p q), from 0 to 1: the order is that of the
        Hellinger distance, which is 2 − 2 BC. The square roots of all vectors are kept for the next call.
        """
        if k < 1:
            raise OptionError(f"k must be at least 1, not {k}")
        if metric not in get_args(Metric):
            raise OptionError(
                f"metric must be 'cosine', 'dot' or 'hellinger', not {metric!r}",
                given=metric,
                known=("cosine", "dot", "hellinger"),
            )
        queries = np.asarray(queries, dtype=self.matrix.dtype)
        if queries.ndim != 2 or queries.shape[1] != self.dimension:
            raise OptionError(f"the vectors have {self.dimension} dimensions, not {queries.shape[-1]}")
        if metric == "cosine":
            inverse = _inverse(np.linalg.norm(queries.astype(np.float64), axis=1))
            queries = (queries * inverse[:, None]).astype(self.matrix.dtype)
        elif metric == "hellinger":
            queries = _roots(queries)
        k = min(k, len(self))
        indices = np.empty((len(queries), k), dtype=np.int64)
        scores = np.empty((len(queries), k), dtype=self.matrix.dtype)
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            block = slice(start, start + _QUERIES_AT_ONCE)
            indices[block], scores[block] = self._nearest(queries[block], k, metric)
        return indices, scores

    def _nearest(
        self, queries: NDArray[Any], k: int, metric: Metric
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The same for one block of queries: the best of the best of each block of words."""
        matrix = self._square_roots if metric == "hellinger" else self.matrix
        step = max(1, _SCORES_AT_ONCE // max(len(queries), 1))
        best = [np.empty((len(queries), 0), dtype=np.int64)]
        scores = [np.empty((len(queries), 0), dtype=self.matrix.dtype)]
        for start in range(0, len(self), step):
            products = np.ascontiguousarray(queries @ matrix[start : start + step].T)
            if metric == "cosine":
                # A copy of all vectors, divided once, would save less than it costs.
                products /= self._lengths[start : start + step]
            found = np.array([_top(row, k) for row in products], dtype=np.int64)
            best.append(found + start)
            scores.append(np.take_along_axis(products, found, axis=1))
        indices, values = np.concatenate(best, axis=1), np.concatenate(scores, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(indices, order, axis=1), np.take_along_axis(values, order, axis=1)

    def thesaurus(
        self, k: int = 10, metric: Metric = "hellinger", words: Sequence[str] | None = None
    ) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """Each word (or each of ``words``) with its ``k`` nearest neighbours, as :meth:`neighbours` finds them.

        Examples
        --------
        >>> vectors = WordVectors(["salt", "pepper", "win"], [[0.9, 0.1], [0.8, 0.2], [0.0, 1.0]])
        >>> for word, near in vectors.thesaurus(1):
        ...     print(word, [(other, round(score, 2)) for other, score in near])
        salt [('pepper', 0.99)]
        pepper [('salt', 0.99)]
        win [('pepper', 0.45)]
        """
        if k < 1:
            raise OptionError(f"k must be at least 1, not {k}")
        chosen = self.words if words is None else list(words)
        for word in chosen:
            self._known(word)
        for start in range(0, len(chosen), _QUERIES_AT_ONCE):
            block = chosen[start : start + _QUERIES_AT_ONCE]
            rows = self.rows(block)
            indices, scores = self.nearest(rows.toarray() if self.is_sparse else rows, k + 1, metric)
            for word, near, score in zip(block, indices.tolist(), scores.tolist()):
                skip = self._known(word)
                yield word, [(self.words[i], s) for i, s in zip(near, score) if i != skip][:k]

    def kmeans(self, n: int, random_state: int = 0) -> WordClasses:
        """Classes of words whose vectors point the same way, by k-means on vectors of length one.

        Each step sees a sample of the vectors (Sculley 2010), so that large vocabularies take seconds. Some classes
        may stay without words.

        Examples
        --------
        >>> vectors = WordVectors(["one", "two", "red", "blue"], [[5.0, 0.1], [1.0, 0.0], [0.1, 3.0], [0.0, 1.0]])
        >>> classes = vectors.kmeans(2)
        >>> [sorted(words) for words in sorted(classes.words_of(c) for c in range(2))]
        [['one', 'two'], ['blue', 'red']]
        """
        from sklearn.cluster import MiniBatchKMeans

        if not 1 <= n <= len(self):
            raise OptionError(f"{n} classes cannot be made of {len(self)} words")
        found = MiniBatchKMeans(n, random_state=random_state, batch_size=max(4096, 4 * n), n_init=3)
        ids = found.fit_predict(self.normalised())
        return WordClasses(self.words, ids, n_classes=n, lowercase=self.lowercase)

    def sign_classes(self, bits: int = 12) -> WordClasses:
        """Classes with paths: on which side of the median each word stands in the first so many dimensions.

        Words with the same path are one class, and the beginning of a path is a coarser class. So sparse models that
        look at word classes can look at vectors, whose first dimensions matter most where a decomposition made them.

        Examples
        --------
        >>> vectors = WordVectors(["one", "two", "red", "blue"], [[5.0, 0.1], [1.0, 0.0], [0.1, 3.0], [0.0, 1.0]])
        >>> classes = vectors.sign_classes(2)
        >>> classes.prefix("two", 1), classes.prefix("red", 1), classes.prefix("red", 2)
        ('1', '0', '01')
        """
        if bits < 1:
            raise OptionError(f"bits must be at least 1, not {bits}")
        first = self.matrix[:, :bits]
        dense = np.asarray(first.toarray() if self.is_sparse else first)
        above = dense > np.median(dense, axis=0) if len(dense) else dense > 0
        patterns, ids = np.unique(above, axis=0, return_inverse=True)
        paths = ["".join("01"[bit] for bit in row) for row in patterns.astype(int).tolist()]
        return WordClasses(self.words, ids.reshape(-1), paths=paths, lowercase=self.lowercase)

    def _known(self, word: str) -> int:
        place = self._words.find(word)
        if place is None:
            meant = did_you_mean(word, self.words, most=3)
            raise InputError(f"{word!r} is not among the {len(self)} words", remedy=meant)
        return place

    @cached_property
    def _square_roots(self) -> Any:
        return _roots(self.matrix)

    @cached_property
    def _lengths(self) -> NDArray[Any]:
        """The length of each vector, in the vectors' own precision; infinite for a vector of zeros."""
        if self.is_sparse:
            from scipy.sparse.linalg import norm

            norms = norm(self.matrix.astype(np.float64), axis=1)
        else:
            norms = np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64))
        limits = np.finfo(self.matrix.dtype)
        if not np.all(norms <= limits.max):
            raise OptionError("some vectors contain numbers that are not finite")
        return np.where(norms > limits.tiny, norms, np.inf).astype(self.matrix.dtype)

    # -- files ----------------------------------------------------------------------------------------

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: a map of words, and the words at the ends of dimensions."""
        from spinney.structure.pages import vectors_page

        self._no_data(data)
        return Views(vectors_page(self, settings_or(Report, settings, given)))

    def plot_map(self, words: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw words such that those with similar vectors are close together, with Matplotlib (extra ``plots``).

        Parameters
        ----------
        words : sequence of str, optional
            The words to draw; by default the first hundred.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from spinney.structure.maps import PLOTTED, plot_words

        return plot_words(self, self.words[:PLOTTED] if words is None else words, ax=ax)

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """How many words and dimensions there are."""
        facts: dict[str, Any] = {"words": len(self), "dimensions": self.dimension}
        if self.is_sparse:
            facts["nonzero_share"] = self.matrix.nnz / max(len(self) * self.dimension, 1)
        return facts

    def parts(self) -> Parts:
        tensors = csr_tensors("matrix", self.matrix) if self.is_sparse else {"matrix": self.matrix}
        header: dict[str, Any] = {"sparse": self.is_sparse, "lowercase": self.lowercase}
        if self.subwords is not None:
            grams = self.subwords.parts()
            header["subwords"], tensors = dict(grams.header), {**tensors, **grams.tensors}
        return Parts(header, tensors, {"words": self.words})

    @classmethod
    def _rebuilt(cls, model: ModelFile) -> Self:
        sparse = model.fact("sparse", bool)
        matrix = model.csr("matrix") if sparse else model.tensor("matrix", ndim=2)
        grams = model.header.get("subwords")
        subwords = Subwords.from_parts(model, grams) if isinstance(grams, dict) else None
        lowercase = model.header.get("lowercase") is True
        return cls(model.texts("words"), matrix, lowercase=lowercase, subwords=subwords)

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Read the vectors of word2vec (text or binary), GloVe or fastText (``.vec`` or ``.bin``).

        A ``.bin`` file of fastText also gives vectors to words that it does not have, by their letters.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "glove.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("the 0.5 -1\\ncat 0.25 2\\n")
        >>> WordVectors.read(path)["cat"]
        array([0.25, 2.  ], dtype=float32)
        """
        if content_suffix(path) == ".bin" and _fasttext.is_fasttext(path):
            words, matrix, subwords = _fasttext.read(path)
            return cls(words, matrix, subwords=subwords)
        return cls.read_word2vec(path)

    @classmethod
    def read_word2vec(cls, path: FilePath, *, binary: bool | None = None) -> Self:
        """Read vectors as ``float32`` from word2vec's text, or its binary format.

        Text is an optional line with both sizes, then one word per line. By default a file is binary if its name
        ends in ``.bin`` (before a compression suffix).
        """
        if binary is None:
            binary = content_suffix(path) == ".bin"
        return cls(*(_word2vec.read_binary(path) if binary else _word2vec.read(path)))

    def write_word2vec(self, path: FilePath) -> None:
        """Write text that word2vec's readers understand, with enough digits to read the same numbers back."""
        _word2vec.write(path, self.words, self.matrix)

    def to_keyed_vectors(self) -> Any:
        """The vectors as gensim's ``KeyedVectors``; gensim must be installed.

        Vectors by letters are left out: gensim keeps them in another class.
        """
        try:
            from gensim.models import KeyedVectors
        except ImportError:
            raise InputError("gensim is not installed", remedy="pip install gensim") from None
        found = KeyedVectors(self.dimension, dtype=self.matrix.dtype)
        found.add_vectors(self.words, self.matrix.toarray() if self.is_sparse else self.matrix)
        return found

    @classmethod
    def from_keyed_vectors(cls, vectors: Any) -> Self:
        """The vectors of gensim's ``KeyedVectors``, or of a model that has some as its ``wv``."""
        given = getattr(vectors, "wv", vectors)
        words, matrix = getattr(given, "index_to_key", None), getattr(given, "vectors", None)
        if words is None or matrix is None:
            raise OptionError(f"KeyedVectors of gensim are needed, not {type(vectors).__name__}")
        return cls(list(words), np.array(matrix))


def _checked_dense(matrix: Any) -> NDArray[Any]:
    array = np.asarray(matrix)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiu":
        raise OptionError("word vectors must be a matrix of numbers with one row per word")
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _checked_sparse(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    if len(matrix.shape) != 2 or matrix.shape[1] == 0 or matrix.dtype.kind not in "fiu":
        raise OptionError("word vectors must be a matrix of numbers with one row per word")
    csr = matrix.tocsr()
    if (
        not csr.has_canonical_format
    ):  # SciPy would otherwise sort it in place at some later time, which read-only views do not allow
        csr = csr.copy()
        csr.sum_duplicates()
    data = csr.data if csr.dtype in (np.float32, np.float64) else csr.data.astype(np.float64)
    views = [array.view() for array in (data, csr.indices, csr.indptr)]
    for view in views:
        view.flags.writeable = False
    return csr_array(tuple(views), shape=csr.shape)


def _inverse(norms: NDArray[Any]) -> NDArray[np.float64]:
    if not np.all(np.isfinite(norms)):
        raise OptionError("some vectors contain numbers that are not finite")
    inverse = np.zeros(len(norms))
    np.divide(1, norms, out=inverse, where=norms > np.finfo(np.float64).tiny)
    return inverse


def _roots(matrix: Any) -> Any:
    """The square roots of rows divided by their sums, in the matrix's own precision; rows of zeros stay."""
    sparse = hasattr(matrix, "tocsr")
    numbers = matrix.data if sparse else matrix
    if numbers.size and numbers.min() < 0:
        raise OptionError("'hellinger' treats vectors as distributions, but some contain negative numbers")
    inverse = _inverse(matrix.sum(axis=1, dtype=np.float64))
    scale = np.repeat(inverse, np.diff(matrix.indptr)) if sparse else inverse[:, None]
    roots = np.multiply(numbers, scale, out=np.empty_like(numbers), casting="same_kind")
    np.sqrt(roots, out=roots)
    if not sparse:
        return roots
    return type(matrix)((roots, matrix.indices, matrix.indptr), shape=matrix.shape)


def _top(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """The indices of the ``k`` largest (all if there are fewer; at least one), best first, equals in their order."""
    # At least k scores are as large as the k-th largest of the chunks' maxima, which are found much faster.
    chunks = len(scores) // _CHUNK
    largest = scores[: chunks * _CHUNK].reshape(chunks, _CHUNK).max(axis=1) if chunks >= k else scores
    k = min(k, len(scores))
    least = np.partition(largest, len(largest) - k)[len(largest) - k]
    candidates = np.flatnonzero(scores >= least)
    if len(candidates) < k:
        raise OptionError("some vectors contain numbers that are not finite")
    return candidates[np.argsort(-scores[candidates], kind="stable")[:k]]
