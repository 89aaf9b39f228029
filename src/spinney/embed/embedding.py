"""One estimator for vectors of words: text in, a vector for each word and for each token in its context out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.embed.counts import ContextCounts, Weighting, Window, count_contexts, window
from spinney.embed.eigenwords import Decomposition, Learnt, one_step_cca, plain_svd, pmi_svd, two_step_cca
from spinney.embed.lrmvl import Variant, lrmvl
from spinney.embed.states import SmoothedStates, WindowStates
from spinney.embed.weighting import Transform, pmi
from spinney.errors import NotFittedError, OptionError, unknown_choice
from spinney.files import FilePath, ModelFile, csr_tensors, read_model, write_model
from spinney.linalg import Method as SvdMethod
from spinney.model import Structures
from spinney.structure import WordVectors

Method = Literal["cca", "tscca", "lrmvl", "svd", "rescaled", "pmi", "sparse", "lasso"]
METHODS: tuple[str, ...] = get_args(Method)
Rows = Literal["unit", "canonical", "plain"]
KIND = "embed/Embedding"

_CODES = ("sparse", "lasso")
_NEXT_WORD = ("svd", "rescaled")


@dataclass(eq=False, repr=False)
class Embedding:
    """Vectors of words, learnt from the words around them.

    Parameters
    ----------
    method
        ``"cca"``: canonical correlation of words and contexts, in one step (eigenwords); ``"tscca"``: in two;
        ``"lrmvl"``: with smoothed contexts; ``"svd"`` and ``"rescaled"``: singular vectors of the counts, as they are
        or divided by the roots of their sums; ``"pmi"``: of pointwise mutual information; ``"sparse"`` and
        ``"lasso"``: sparse codes of it, in forests or one by one.
    dimensions
        The length of a vector; by default 100, and 52 (four trees of 13) for sparse codes.
    window
        Words on each side that are the context, or (before, after). By default 5; for ``svd`` and ``rescaled`` the
        next word alone.
    weighting, positional, edges
        See :func:`~spinney.embed.counts.window` and :func:`~spinney.embed.counts.count_contexts`. By default
        contexts weigh 1/distance, except under PMI, where each weighs 1.
    n_contexts
        The most frequent so many words are contexts; all by default.
    transform, pseudo, context_exponent, center
        cca, tscca: see :func:`~spinney.embed.eigenwords.one_step_cca`.
    floor, shift, min_pair
        pmi and sparse codes: see :func:`~spinney.embed.weighting.pmi`. The floor is 0 for ``pmi`` (positive PMI), and
        there is none for codes.
    exponent, rows
        The vectors are rows of U·s^exponent, ``"plain"``, made ``"unit"`` length, or ``"canonical"``: times the
        whitening of the words.
    whitening
        tscca: of the states of tokens, ``"diagonal"`` or ``"full"``.
    variant, rates, passes
        lrmvl: see :func:`~spinney.embed.lrmvl.lrmvl`.
    coding
        sparse, lasso: ``"dictionary"``, see :class:`~spinney.embed.sparse_coding.SparseCoding`; or ``"stochastic"``,
        entry by entry: :class:`~spinney.embed.stochastic_coding.StochasticCoding`.
    lam, branching, epochs
        Of both, and of the second.
    svd, power
        How matrices are decomposed: see :func:`spinney.linalg.truncated_svd`.

    Attributes
    ----------
    vectors_ : array of float32 or CSR [words, dimensions]
    vocabulary_ : Vocabulary
    singular_values_ : array [dimensions]
        Canonical correlations in the methods of that family, if counts are raw and flat; empty for sparse codes.
    parent_ : array of int32 [dimensions], or None
        sparse: the forest of the dimensions, as the parent of each; -1 for a root.
    facts_ : dict
        What it was learnt from, and the seconds that it took.

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

    method: Method = "cca"
    dimensions: int | None = None
    _: KW_ONLY
    window: int | tuple[int, int] | None = None
    weighting: Weighting | None = None
    positional: bool = False
    edges: bool = False
    n_contexts: int | None = None
    transform: Transform = "sqrt"
    pseudo: float = 0.0
    context_exponent: float = 1.0
    center: bool = False
    floor: float | None = None
    shift: float = 0.0
    min_pair: float = 0.0
    exponent: float = 0.25
    rows: Rows = "unit"
    whitening: Literal["full", "diagonal"] = "diagonal"
    variant: Variant = "II"
    rates: Sequence[float] = (0.1, 0.5, 0.9)
    passes: int = 6
    lam: float = 0.1
    branching: Sequence[int] = (4, 2)
    coding: Literal["dictionary", "stochastic"] = "dictionary"
    epochs: int = 20
    svd: SvdMethod = "auto"
    power: int = 8
    random_state: int = 0
    threads: int | None = None

    def __repr__(self) -> str:
        fitted = f", {len(self.vocabulary_):,} words" if hasattr(self, "vectors_") else ""
        return f"Embedding({self.method!r}, {self._size} dimensions{fitted})"

    @property
    def _size(self) -> int:
        return self.dimensions or (52 if self.method in _CODES else 100)

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, text: TokenArrays, *, reading: Mapping[str, Any] | None = None) -> Self:
        """Learn from text; ``reading`` says how it was read, for those who will read more of it."""
        self._check()
        if not text.n_tokens:
            raise OptionError("there are no words to learn from")
        started = time.perf_counter()
        self.vocabulary_ = text.vocabulary
        self.singular_values_: NDArray[np.float64] = np.empty(0)
        self.parent_: NDArray[np.int32] | None = None
        self.states_: tuple[WindowStates | SmoothedStates, ...] = ()
        self.facts_: dict[str, Any] = {
            "method": self.method,
            "words": len(text.vocabulary),
            "tokens": text.n_tokens,
            "sentences": len(text),
            "reading": dict(reading or {}),
        }
        if self.method in _CODES:
            self._fit_codes(text)
        else:
            self._fit_spectral(text)
        self.facts_["dimensions"] = int(self.vectors_.shape[1])
        self.facts_["seconds"] = time.perf_counter() - started
        return self

    def _check(self) -> None:
        if self.method not in METHODS:
            raise unknown_choice("method is one of", self.method, METHODS)
        if self._size < 1:
            raise OptionError(f"dimensions must be at least 1, not {self._size}")
        if self.coding not in ("dictionary", "stochastic"):
            raise unknown_choice("coding is", self.coding, ("dictionary", "stochastic"))
        if self.method == "tscca" and (self.positional or self.edges or self.center):
            raise OptionError(
                "two-step CCA has bags of words on both sides: positional, edges and center are not for it"
            )

    def _places(self) -> Window:
        around = self.window
        if around is None:
            around = (0, 1) if self.method in _NEXT_WORD else 5
        left, right = (around, around) if isinstance(around, int) else around
        flat = self.method in _CODES or self.method in _NEXT_WORD or self.method == "pmi"
        weighting = self.weighting or ("flat" if flat else "harmonic")
        return window(left, right, positional=self.positional, weighting=weighting)

    def _counts(self, text: TokenArrays, places: Window) -> ContextCounts:
        started = time.perf_counter()
        counts = count_contexts(
            text, places, n_contexts=self.n_contexts, edges=self.edges, threads=self.threads
        )
        self.facts_["seconds_counting"] = time.perf_counter() - started
        self.facts_["pairs"] = int(counts.matrix.nnz)
        return counts

    def _fit_spectral(self, text: TokenArrays) -> None:
        size = min(self._size, len(text.vocabulary))
        decomposition = Decomposition(
            size, self.svd, power=self.power, random_state=self.random_state, threads=self.threads
        )
        places = self._places()
        learnt: Learnt
        if self.method == "lrmvl":
            learnt = lrmvl(
                text, self._size, variant=self.variant, rates=self.rates, passes=self.passes,
                random_state=self.random_state, threads=self.threads,
            )  # fmt: skip
        elif self.method == "tscca":
            learnt = two_step_cca(
                text, places, decomposition, transform=self.transform, pseudo=self.pseudo,
                whitening=self.whitening, n_contexts=self.n_contexts, threads=self.threads,
            )  # fmt: skip
        elif self.method == "cca":
            learnt = one_step_cca(
                self._counts(text, places), places, decomposition, transform=self.transform, pseudo=self.pseudo,
                context_exponent=self.context_exponent, center=self.center,
            )  # fmt: skip
        elif self.method == "pmi":
            learnt = pmi_svd(self._counts(text, places), places, decomposition, **self._pmi(0.0))
        else:
            learnt = plain_svd(
                self._counts(text, places), places, decomposition, rescaled=self.method == "rescaled"
            )
        self.vectors_: Any = learnt.vectors(self.rows, self.exponent)
        self.singular_values_, self.states_ = np.asarray(learnt.s, np.float64), learnt.states

    def _pmi(self, floor: float | None) -> dict[str, Any]:
        return {
            "floor": floor if self.floor is None else self.floor,
            "shift": self.shift,
            "context_exponent": self.context_exponent,
            "min_count": self.min_pair,
        }

    def _fit_codes(self, text: TokenArrays) -> None:
        import scipy.sparse

        from spinney.embed.code_trees import code_forest
        from spinney.embed.sparse_coding import SparseCoding
        from spinney.embed.stochastic_coding import StochasticCoding

        X = pmi(self._counts(text, self._places()).matrix, **self._pmi(None))
        penalty: Literal["forest", "lasso"] = "forest" if self.method == "sparse" else "lasso"
        common: dict[str, Any] = {"threads": self.threads, "random_state": self.random_state}
        if self.method == "sparse":
            common["branching"] = self.branching
        learner: SparseCoding | StochasticCoding
        if self.coding == "dictionary":
            learner = SparseCoding(self._size, penalty, self.lam, **common).fit(X)
            self.facts_["gap"] = float(learner.gap_)
        else:
            learner = StochasticCoding(self._size, penalty, self.lam, epochs=self.epochs, **common).fit(X)
        self.vectors_ = scipy.sparse.csr_array(learner.codes_.astype(np.float32))
        if self.method == "sparse":
            self.parent_ = code_forest(self._size // len(code_forest(1, self.branching)), self.branching)
        self.facts_ |= {
            "lam": self.lam,
            "objective": float(learner.objective_),
            "nonzero_share": float(learner.nonzero_share_),
        }

    # -- what was learnt ------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "vectors_"):
            raise NotFittedError("this embedding is not fitted yet: call fit first")

    def word_vectors(self) -> WordVectors:
        """The vectors of word types, as other models take them."""
        self._check_fitted()
        lowercase = self.facts_["reading"].get("lowercase") is True
        return WordVectors(self.vocabulary_.words, self.vectors_, lowercase=lowercase)

    def token_vectors(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, dimensions]``: the vector of each token's word, whatever stands around it."""
        self._check_fitted()
        rows = self.vectors_[self._ids(text)]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)

    def token_states(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, k]``: what the words around each token say of it, whatever word it is itself.

        The canonical projection of the context (``cca``), or those of the left and of the right context side by side
        (``tscca``, ``lrmvl``). Sparse codes have none.
        """
        self._check_fitted()
        if not self.states_:
            raise OptionError(f"{self.method} has vectors of words, and no states of tokens")
        self._ids(text)
        return np.hstack([states(text) for states in self.states_])

    def _ids(self, text: TokenArrays) -> NDArray[np.int32]:
        if text.vocabulary.words != self.vocabulary_.words:
            raise OptionError(
                "the text has another vocabulary: read it with vocabulary=embedding.vocabulary_"
            )
        return text.ids

    # -- files ----------------------------------------------------------------------------------------

    def structures(self) -> Structures:
        """What it gives to other models: its vectors."""
        return Structures(vectors=self.word_vectors)

    def save(self, path: FilePath) -> None:
        """Write a model file."""
        self._check_fitted()
        header: dict[str, Any] = {
            "settings": {name: getattr(self, name) for name in _SETTINGS},
            "facts": self.facts_,
            "unknown": self.vocabulary_.unknown,
            "states": [],
        }
        tensors: dict[str, NDArray[Any]] = {
            "counts": self.vocabulary_.counts,
            "singular_values": self.singular_values_,
        }
        if self.parent_ is not None:
            tensors["parent"] = self.parent_
        if hasattr(self.vectors_, "indptr"):
            tensors |= csr_tensors("vectors", self.vectors_)
        else:
            tensors["vectors"] = self.vectors_
        for i, states in enumerate(self.states_):
            described, arrays = _describe(states)
            header["states"].append(described)
            tensors |= {f"states{i}.{name}": array for name, array in arrays.items()}
        write_model(path, KIND, header, tensors, {"words": self.vocabulary_.words})

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what `save` wrote."""
        return cls.from_file(read_model(path, KIND))

    @classmethod
    def from_file(cls, model: ModelFile) -> Self:
        """The model that a file holds."""
        embedding = cls(**model.settings(_SETTINGS))
        words = model.texts("words")
        with model.checked():
            embedding._check()
            counts = model.tensor("counts", np.int64)
            embedding.vocabulary_ = Vocabulary(tuple(words), counts, model.header.get("unknown"))
            embedding.vectors_ = (
                model.csr("vectors")
                if "vectors.indptr" in model.tensors
                else model.tensor("vectors", np.float32, ndim=2)
            )
            WordVectors(words, embedding.vectors_)
        embedding.singular_values_ = model.tensor("singular_values", np.float64)
        embedding.parent_ = model.tensor("parent", np.int32) if "parent" in model.tensors else None
        embedding.facts_ = model.fact("facts", dict)
        if not isinstance(embedding.facts_.get("reading"), dict):
            raise model.error("damaged: it does not say how its text was read")
        described = model.fact("states", list)
        embedding.states_ = tuple(_states(model, i, one, len(words)) for i, one in enumerate(described))
        return embedding


_SETTINGS = tuple(field.name for field in fields(Embedding) if field.name != "threads")


def _describe(states: WindowStates | SmoothedStates) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """States as facts and arrays for a file."""
    if isinstance(states, SmoothedStates):
        arrays = {
            "dictionary": states.dictionary,
            "rates": states.rates,
            "left": states.left,
            "right": states.right,
        }
        return {"kind": "smoothed"}, arrays
    facts = {"kind": "window", "n_contexts": states.n_contexts, "edges": states.edges}
    offsets, blocks, weights = states.window
    return facts, {"offsets": offsets, "blocks": blocks, "weights": weights, "projection": states.projection}


def _states(model: ModelFile, number: int, facts: Any, n_words: int) -> WindowStates | SmoothedStates:
    """States out of a file, checked: kernels trust them."""

    def tensor(name: str, dtype: Any, ndim: int = 1) -> NDArray[Any]:
        # Copies: kernels are compiled for arrays that can be written to.
        return np.array(model.tensor(f"states{number}.{name}", dtype, ndim=ndim))

    kind = facts.get("kind") if isinstance(facts, dict) else None
    if kind == "smoothed":
        dictionary, rates = tensor("dictionary", np.float32, 2), tensor("rates", np.float32)
        left, right = tensor("left", np.float32, 2), tensor("right", np.float32, 2)
        if len(dictionary) != n_words or {len(left), len(right)} != {len(rates) * dictionary.shape[1]}:
            raise model.error("damaged: its smoothed states do not fit together")
        return SmoothedStates(dictionary, rates, left, right)
    n_contexts, edges = (facts.get("n_contexts"), facts.get("edges")) if kind == "window" else (None, None)
    if not isinstance(n_contexts, int) or not isinstance(edges, bool) or not 1 <= n_contexts <= n_words:
        raise model.error("damaged: it has states of no known kind")
    window = Window(tensor("offsets", np.int64), tensor("blocks", np.int64), tensor("weights", np.float64))
    projection = tensor("projection", np.float32, 2)
    same = len(window.offsets) == len(window.blocks) == len(window.weights) > 0
    if not same or window.blocks.min() < 0 or len(projection) != window.n_blocks * (n_contexts + edges):
        raise model.error("damaged: its windows do not fit together")
    return WindowStates(window, projection, n_contexts, edges)
