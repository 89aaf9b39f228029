"""One estimator of word vectors: from text, a vector for each word and for each token in its context."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from spinney.checking import seed
from spinney.corpus import NgramCounts, TokenArrays, Vocabulary
from spinney.corpus.arrays import checked_text
from spinney.corpus.text import Reading
from spinney.embed.counts import ContextCounts, Window, count_contexts, count_ngrams, window
from spinney.embed.eigenwords import (
    Decomposition,
    Learned,
    Places,
    one_step_cca,
    plain_svd,
    pmi_svd,
    rescaled_svd,
    two_step_cca,
)
from spinney.embed.letters import learn_subwords
from spinney.embed.lrmvl import lrmvl
from spinney.embed.model import EmbedModel, Said, rows_of_tokens
from spinney.embed.states import SmoothedStates, WindowStates
from spinney.embed.trees import TreeContexts, TreeStates, count_trees, frequent_relations
from spinney.embed.weighting import pmi
from spinney.errors import NotFittedError, OptionError
from spinney.files import ModelFile, csr_tensors
from spinney.memory import check_memory
from spinney.model import Contents, Structures
from spinney.settings import Settings, choose, settings_class, settings_of, settings_or
from spinney.settings.embed import VECTORS
from spinney.settings.report import Report
from spinney.structure import WordVectors
from spinney.structure.subwords import Subwords
from spinney.views import Views

METHODS = tuple(VECTORS)
_CODES = ("sparse", "lasso")
_States = WindowStates | TreeStates | SmoothedStates
_RUNNING = ("tscca", "lrmvl")  # methods that see more of a text than pairs of words


class Embedding(EmbedModel):
    """Word vectors, learned from the words around each word.

    Parameters
    ----------
    method
        ``"cca"``: canonical correlation of words and contexts, in one step (eigenwords); ``"tscca"``: in two;
        ``"lrmvl"``: with smoothed contexts; ``"svd"`` and ``"rescaled"``: singular vectors of the counts, as they are
        or divided by the roots of their sums; ``"pmi"``: of pointwise mutual information; ``"sparse"`` and
        ``"lasso"``: sparse codes of it, in forests or one by one.
    dimensions
        The length of a vector; by default 100, and 52 (four trees of 13) for sparse codes.
    threads, random_state
        Threads (by default all), and the seed of everything random.
    **how
        The other settings of the method, which :data:`spinney.settings.embed.VECTORS` describes. They are those of
        :func:`~spinney.embed.counts.window` and :func:`~spinney.embed.counts.count_contexts` (``window``,
        ``weighting``, ``positional``, ``edges``, ``contexts``), of :func:`~spinney.embed.trees.count_trees` (``tree``,
        ``typed``), of :func:`~spinney.embed.eigenwords.one_step_cca`
        (``transform``, ``pseudo``, ``context_exponent``, ``center``), of :func:`~spinney.embed.weighting.pmi`
        (``floor``, ``shift``, ``min_pair``), of :func:`~spinney.embed.lrmvl.lrmvl` (``variant``, ``rates``,
        ``passes``), of :func:`spinney.linalg.truncated_svd` (``svd``, ``power``), of
        :func:`~spinney.embed.letters.learn_subwords` (``subwords``), and of
        :class:`~spinney.embed.sparse_coding.SparseCoding` or, with ``coding="stochastic"``,
        :class:`~spinney.embed.stochastic_coding.StochasticCoding` (``lam``, ``branching``, ``passes``,
        ``zeros``, ``bias``). The vectors
        are rows of U·s^exponent, ``"plain"``, made ``"unit"`` length, or ``"canonical"``: times the whitening of the
        words (``rows``); or codes with dimensions of ``"equal"`` mean square, or ``"plain"`` ones (``columns``).

    Attributes
    ----------
    vectors_ : array of float32 or CSR [words, dimensions]
    vocabulary_ : Vocabulary
    singular_values_ : array [dimensions]
        Canonical correlations in the methods of that family, if counts are raw and flat; empty for sparse codes.
    subwords_ : Subwords, or None
        What gives vectors to other words, by their letters, if asked for (``subwords``).
    parent_ : array of int32 [dimensions], or None
        sparse: the forest of the dimensions, as the parent of each; -1 for a root.
    facts : dict
        The size of the training text, and the seconds that learning took.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> text = sentence_arrays(sample_sentences(), min_count=5, unknown="<unk>")
    >>> embedding = Embedding(dimensions=20, random_state=0).fit(text)
    >>> vectors = embedding.word_vectors()
    >>> vectors.dimension
    20
    >>> embedding.token_states(text).shape == (text.n_tokens, 20)
    True
    """

    vectors_: Any
    singular_values_: NDArray[np.float64]
    parent_: NDArray[np.int32] | None
    subwords_: Subwords | None
    states_: tuple[_States, ...]

    kind = "embed/Embedding"

    def __init__(
        self,
        method: str = "cca",
        dimensions: int | None = None,
        *,
        threads: int | None = None,
        random_state: int = 0,
        **how: Any,
    ) -> None:
        size = {} if dimensions is None else {"dimensions": dimensions}
        self.how: Any = choose(VECTORS, {"method": method, **size, **how})
        self.method = method
        self.threads = threads
        self.random_state = random_state

    def __repr__(self) -> str:
        fitted = f", {len(self.vocabulary_):,} words" if hasattr(self, "vectors_") else ""
        return f"Embedding({self.method!r}, {self.how.dimensions} dimensions{fitted})"

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, text: TokenArrays | NgramCounts, *, reading: Mapping[str, Any] | None = None) -> Self:
        """Learn from text; ``reading`` records how it was read, so that other text can be read in the same way.

        Counts of n-grams (:func:`spinney.corpus.read_ngrams`) are text enough for ``svd``, ``rescaled``, ``cca``,
        ``pmi``, ``sparse`` and ``lasso``, which see only pairs of words.
        """
        seed(self.random_state)
        if isinstance(text, NgramCounts):
            if self.method in _RUNNING:
                raise OptionError(
                    f"{self.method} needs text: n-grams are for methods that count pairs of words"
                )
        elif not checked_text(text).n_tokens:
            raise OptionError("there are no words to learn from")
        started = time.perf_counter()
        self._check_size(len(text.vocabulary))
        self.vocabulary_ = text.vocabulary
        self.singular_values_, self.parent_, self.states_ = np.empty(0), None, ()
        self.subwords_ = None
        self.facts: dict[str, Any] = {
            "method": self.method,
            "words": len(text.vocabulary),
            "tokens": text.n_tokens,
            "ngrams" if isinstance(text, NgramCounts) else "sentences": len(text),
            **({"contexts": "heads and dependents"} if getattr(self.how, "tree", False) else {}),
            "reading": dict(reading or {}),
        }
        if self.method in _CODES:
            self._fit_codes(text)
        else:
            self._fit_spectral(text)
        self.facts["dimensions"] = int(self.vectors_.shape[1])
        self.facts["seconds"] = time.perf_counter() - started
        return self

    def _check_size(self, words: int) -> None:
        """Refuse more dimensions than memory can hold."""
        many = self.method in _CODES or self.method == "lrmvl"
        size = self.how.dimensions if many else min(self.how.dimensions, words)
        what = "{dimensions} {size} with {words} words"
        check_memory(24.0 * words * size, what, "ask for fewer {dimensions}", size=size, words=f"{words:,}")
        rows = getattr(self.how, "subwords", None)
        if rows is not None:
            what = "{subwords} {rows} with {dimensions} {size}"
            check_memory(20.0 * rows * size, what, "ask for fewer {subwords}", rows=f"{rows:,}", size=size)

    def _places(self, text: TokenArrays | NgramCounts) -> Places:
        how = self.how
        if getattr(how, "tree", False):
            if isinstance(text, NgramCounts):
                raise OptionError("n-grams have no trees: give text with heads")
            return TreeContexts(how.positional, frequent_relations(text, how.typed))
        return window(*how.sides, positional=how.positional, weighting=how.weighting)

    def _counts(self, text: TokenArrays | NgramCounts, places: Places) -> ContextCounts:
        started = time.perf_counter()
        which = {"n_contexts": self.how.contexts, "edges": self.how.edges}
        if isinstance(places, TreeContexts):
            assert isinstance(text, TokenArrays)
            counts = count_trees(text, places, **which, threads=self.threads)
        elif isinstance(text, NgramCounts):
            counts = count_ngrams(text, places, **which)
        else:
            counts = count_contexts(text, places, **which, threads=self.threads)
        self.facts["seconds_counting"] = time.perf_counter() - started
        self.facts["pairs"] = int(counts.matrix.nnz)
        return counts

    def _fit_spectral(self, text: TokenArrays | NgramCounts) -> None:
        how = self.how
        learned: Learned
        if self.method == "lrmvl":
            assert isinstance(text, TokenArrays)
            around = how.window or (5,)
            learned = lrmvl(
                text, how.dimensions, variant=how.variant, rates=how.rates or (0.1, 0.5, 0.9),
                places=window(around[0], around[-1], weighting=how.weighting or "harmonic"),
                transform=how.transform or ("sqrt" if how.variant == "I" else "raw"), passes=how.passes,
                pseudo=how.pseudo,
                random_state=self.random_state, threads=self.threads,
            )  # fmt: skip
        else:
            learned = self._decomposed(text)
        self.vectors_ = learned.vectors(how.rows, how.exponent)
        self.singular_values_, self.states_ = np.asarray(learned.s, np.float64), learned.states
        if how.subwords is not None:
            self._fit_subwords(how.subwords)

    def _fit_subwords(self, rows: int) -> None:
        """Learn what the letters of words say of their vectors."""
        known = [i for i, word in enumerate(self.vocabulary_) if word != self.vocabulary_.unknown]
        words = [self.vocabulary_.words[i] for i in known]
        found = learn_subwords(words, self.vectors_[known], rows, random_state=self.random_state)
        self.subwords_ = found.subwords
        self.facts |= {"subword_cosine": found.cosine, "subword_nearer": found.nearer}

    def _decomposed(self, text: TokenArrays | NgramCounts) -> Learned:
        how = self.how
        decomposition = Decomposition(
            min(how.dimensions, len(text.vocabulary)), how.svd, power=how.power,
            random_state=self.random_state, threads=self.threads,
        )  # fmt: skip
        places = self._places(text)
        if self.method == "tscca":
            assert isinstance(text, TokenArrays)
            assert isinstance(places, Window)
            return two_step_cca(
                text, places, decomposition, transform=how.transform, pseudo=how.pseudo,
                whitening=how.whitening, n_contexts=how.contexts, threads=self.threads,
            )  # fmt: skip
        counts = self._counts(text, places)
        if self.method == "cca":
            return one_step_cca(
                counts, places, decomposition, transform=how.transform, pseudo=how.pseudo,
                context_exponent=how.context_exponent, center=how.center,
            )  # fmt: skip
        if self.method == "pmi":
            return pmi_svd(counts, places, decomposition, **self._pmi())
        if self.method == "rescaled":
            return rescaled_svd(counts, places, decomposition, transform=how.transform, pseudo=how.pseudo)
        return plain_svd(counts, places, decomposition, transform=how.transform)

    def _pmi(self) -> dict[str, Any]:
        how = self.how
        return {
            "floor": how.floor,
            "shift": how.shift,
            "context_exponent": how.context_exponent,
            "min_count": how.min_pair,
        }

    def _fit_codes(self, text: TokenArrays | NgramCounts) -> None:
        import scipy.sparse

        from spinney.embed.code_trees import code_forest, tree_size
        from spinney.embed.sparse_coding import SparseCoding, equalised
        from spinney.embed.stochastic_coding import StochasticCoding
        from spinney.optim import warn_if_empty

        how = self.how
        X = pmi(self._counts(text, self._places(text)).matrix, **self._pmi())
        penalty: Literal["forest", "lasso"] = "forest" if self.method == "sparse" else "lasso"
        common: dict[str, Any] = {"threads": self.threads, "random_state": self.random_state}
        if self.method == "sparse":
            common["branching"] = how.branching
        learner: SparseCoding | StochasticCoding
        if how.coding == "dictionary":
            learner = SparseCoding(how.dimensions, penalty, how.lam, **common).fit(X)
            self.facts["gap"] = float(learner.gap_)
        else:
            given = {"epochs": how.passes, "zeros": how.zeros, "bias": how.bias}
            common |= {name: value for name, value in given.items() if value is not None}
            learner = StochasticCoding(how.dimensions, penalty, how.lam, **common).fit(X)
            self.facts["held_out_error"] = float(learner.trace_[-1]["held_out"])
        warn_if_empty(int(np.count_nonzero(learner.codes_)), "lower lam")
        codes = equalised(learner.codes_) if how.columns == "equal" else learner.codes_
        self.vectors_ = scipy.sparse.csr_array(codes.astype(np.float32))
        if self.method == "sparse":
            trees = how.dimensions // tree_size(how.branching)
            self.parent_ = code_forest(trees, how.branching)
        self.facts |= {
            "lam": how.lam,
            "objective": float(learner.objective_),
            "nonzero_share": float(learner.nonzero_share_),
        }

    # -- what was learned ------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "vectors_"):
            raise NotFittedError("this embedding is not fitted yet: call fit first")

    def word_vectors(self) -> WordVectors:
        """The vectors of word types, as other models take them."""
        self._check_fitted()
        lowercase = self.facts["reading"].get("lowercase") is True
        words = self.vocabulary_.words
        return WordVectors(words, self.vectors_, lowercase=lowercase, subwords=self.subwords_)

    def token_vectors(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, dimensions]``: the vector of each token's word, whatever its context.

        Numbers do not tell unknown words apart: for vectors by letters, ask :meth:`word_vectors`.
        """
        self._check_fitted()
        rows = self.vectors_[self._ids(text)]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)

    def token_states(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, k]``: the state of each token, computed from the words around it but not from the token itself.

        The canonical projection of the context (``cca``), or those of the left and of the right context side by side
        (``tscca``, ``lrmvl``). Sparse codes have none.
        """
        self._check_fitted()
        if not self.states_:
            raise OptionError(f"{self.method} gives vectors of words, but no states of tokens")
        self._ids(text)
        return np.hstack([states(text) for states in self.states_])

    def _ids(self, text: TokenArrays) -> NDArray[np.int32]:
        if text.vocabulary.words != self.vocabulary_.words:
            raise OptionError(
                "the text was read with another vocabulary: read it with vocabulary=embedding.vocabulary_"
            )
        return text.ids

    # -- what it says of text ----------------------------------------------------------------------------

    def said(self, what: str, reading: Reading) -> tuple[str, Said]:
        """The vector of each token of some sentences, or what the words around it say."""
        states = what == "states"
        if states and not self.states_:
            raise OptionError(f"states: {self.method} gives vectors of words, but no states of tokens")
        if self.subwords_ is not None and not states:
            vectors = self.word_vectors()
            return "vectors", lambda batch: (vectors.rows(tokens.words) for tokens in batch)
        numbers = self.token_states if states else self.token_vectors
        return "states" if states else "vectors", rows_of_tokens(numbers, self.vocabulary_, reading)

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: a map of words, dimensions in words, the spectrum."""
        from spinney.embed.report import vectors_report

        if data is not None:
            raise OptionError("the page of vectors and states cannot show a text")
        return Views(vectors_report(self, settings_or(Report, settings, given)))

    # -- files ----------------------------------------------------------------------------------------

    def structures(self) -> Structures:
        """What other models can use: its vectors."""
        return Structures(vectors=self.word_vectors)

    def contents(self) -> Contents:
        """What the model keeps in its file."""
        self._check_fitted()
        header: dict[str, Any] = {
            "settings": self.how.as_dict() | {"random_state": self.random_state},
            "facts": self.facts,
            "unknown": self.vocabulary_.unknown,
            "states": [],
        }
        tensors: dict[str, NDArray[Any]] = {
            "counts": self.vocabulary_.counts,
            "singular_values": self.singular_values_,
        }
        if self.parent_ is not None:
            tensors["parent"] = self.parent_
        if self.subwords_ is not None:
            grams = self.subwords_.parts()
            header["subwords"] = dict(grams.header)
            tensors |= grams.tensors
        if hasattr(self.vectors_, "indptr"):
            tensors |= csr_tensors("vectors", self.vectors_)
        else:
            tensors["vectors"] = self.vectors_
        for i, states in enumerate(self.states_):
            described, arrays = _describe(states)
            header["states"].append(described)
            tensors |= {f"states{i}.{name}": array for name, array in arrays.items()}
        return Contents(header, tensors, {"words": self.vocabulary_.words})

    @classmethod
    def from_file(cls, model: ModelFile) -> Self:
        """The model that a file holds."""
        method = str(model.fact("settings", dict).get("method"))
        with model.checked():
            names = {setting.name for setting in settings_of(settings_class(VECTORS, method))}
            before = {"columns": "plain"} if method in _CODES else {}
            embedding = cls(**model.settings({*names, "random_state"}, before))
        words = model.texts("words")
        with model.checked():
            counts = model.tensor("counts", np.int64)
            embedding.vocabulary_ = Vocabulary(tuple(words), counts, model.header.get("unknown"))
            embedding.vectors_ = (
                model.csr("vectors")
                if "vectors.indptr" in model.tensors
                else model.tensor("vectors", np.float32, ndim=2)
            )
            embedding.subwords_ = None
            if "subwords" in model.tensors:
                embedding.subwords_ = Subwords.from_parts(model, model.fact("subwords", dict))
            WordVectors(words, embedding.vectors_, subwords=embedding.subwords_)
        embedding.singular_values_ = model.tensor("singular_values", np.float64)
        embedding.parent_ = model.tensor("parent", np.int32) if "parent" in model.tensors else None
        embedding.facts = model.fact("facts", dict)
        if not isinstance(embedding.facts.get("reading"), dict):
            raise model.error("damaged: it does not record how its text was read")
        described = model.fact("states", list)
        embedding.states_ = tuple(_states(model, i, one, len(words)) for i, one in enumerate(described))
        return embedding


def _describe(states: _States) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """States as facts and arrays for a file."""
    if isinstance(states, SmoothedStates):
        arrays = {
            "dictionary": states.dictionary,
            "rates": states.rates,
            "left": states.left,
            "right": states.right,
        }
        return {"kind": "smoothed"}, arrays
    if isinstance(states, TreeStates):
        contexts = states.contexts
        described = {"kind": "tree", "directed": contexts.directed, "relations": list(contexts.relations)}
        described |= {"n_contexts": states.n_contexts, "edges": states.edges}
        return described, {"projection": states.projection}
    facts = {"kind": "window", "n_contexts": states.n_contexts, "edges": states.edges}
    offsets, blocks, weights = states.window
    return facts, {"offsets": offsets, "blocks": blocks, "weights": weights, "projection": states.projection}


def _states(model: ModelFile, number: int, facts: Any, n_words: int) -> _States:
    """States out of a file, checked: kernels trust them."""

    def tensor(name: str, dtype: Any, ndim: int = 1) -> NDArray[Any]:
        # Copies: kernels are compiled for arrays that can be written to.
        return np.array(model.tensor(f"states{number}.{name}", dtype, ndim=ndim))

    kind = facts.get("kind") if isinstance(facts, dict) else None
    if kind == "smoothed":
        dictionary, rates = tensor("dictionary", np.float32, 2), tensor("rates", np.float32)
        left, right = tensor("left", np.float32, 2), tensor("right", np.float32, 2)
        if len(dictionary) != n_words or {len(left), len(right)} != {len(rates) * dictionary.shape[1]}:
            raise model.error("damaged: the arrays of its smoothed states do not match")
        return SmoothedStates(dictionary, rates, left, right)
    known = kind in ("window", "tree")
    n_contexts, edges = (facts.get("n_contexts"), facts.get("edges")) if known else (None, None)
    if not isinstance(n_contexts, int) or not isinstance(edges, bool) or not 1 <= n_contexts <= n_words:
        raise model.error("damaged: its states are of an unknown kind")
    if kind == "tree":
        contexts, projection = _tree_contexts(model, facts), tensor("projection", np.float32, 2)
        if len(projection) != contexts.n_blocks * (n_contexts + edges):
            raise model.error("damaged: the arrays of its contexts do not match")
        return TreeStates(contexts, projection, n_contexts, edges)
    window = Window(tensor("offsets", np.int64), tensor("blocks", np.int64), tensor("weights", np.float64))
    projection = tensor("projection", np.float32, 2)
    same = len(window.offsets) == len(window.blocks) == len(window.weights) > 0
    if not same or window.blocks.min() < 0 or len(projection) != window.n_blocks * (n_contexts + edges):
        raise model.error("damaged: the arrays of its windows do not match")
    return WindowStates(window, projection, n_contexts, edges)


def _tree_contexts(model: ModelFile, facts: dict[str, Any]) -> TreeContexts:
    directed, relations = facts.get("directed"), facts.get("relations")
    names = relations if isinstance(relations, list) and all(isinstance(r, str) for r in relations) else None
    if not isinstance(directed, bool) or names is None or len(set(names)) < len(names):
        raise model.error("damaged: its states are of an unknown kind")
    return TreeContexts(directed, tuple(names))
