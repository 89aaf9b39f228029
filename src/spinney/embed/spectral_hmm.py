"""Hidden Markov models by the method of moments: counts, one SVD, no iterations (Hsu, Kakade and Zhang 2009).

The model is a set of *observable operators*: the probability of a string is ``b∞ᵀ B_{x_T} ⋯ B_{x_1} b₀``. The matrices
are those of a hidden Markov model, ``A_x = T diag(O_x)``, in another basis: ``B_x = G A_x G⁻¹``. They come from the
laws of one, two and three words in a row; when these are exact, so are all probabilities. When they are counts, a
"probability" may be negative: `SpectralHMM.log_likelihood` reports how many are, prediction clips them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.checking import seed
from spinney.corpus import ReadReport, TokenArrays, Vocabulary
from spinney.corpus.arrays import checked_text
from spinney.corpus.text import Reading, Source, Tokens, batch_arrays, warn_of_unknown
from spinney.embed.model import EmbedModel, Said, rows_of_tokens, text_facts
from spinney.embed.operators import TINY, Floats, Operators, SignedLikelihood, steps, with_ends
from spinney.embed.recovery import HMMParameters, recover_parameters
from spinney.embed.trigrams import Trigrams, operator_sums
from spinney.embed.triples import hidden_markov, three_views, word_triples
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.files import ModelFile
from spinney.linalg import inverse_values, truncated_svd
from spinney.model import Contents, Structures
from spinney.parallel import default_threads, one_blas_thread
from spinney.progress import task
from spinney.settings import Settings, settings_of, settings_or
from spinney.settings.embed import SpectralSettings
from spinney.settings.report import Report
from spinney.structure import WordClasses, WordVectors
from spinney.views import View, Views

Variant = Literal["full", "reduced"]
Scaling = Literal["none", "sqrt"]

_PIECE = 1 << 16  # tokens that are filtered together
_ROWS = 512  # predictions held in memory together


class SpectralHMM(EmbedModel):
    """A hidden Markov model of text, learned in closed form from counts of two and three consecutive words.

    Every sentence ends with a mark that is a word like any other, and after which the next sentence begins: so the
    probabilities of all sentences sum to 1, and the text is one stream without an edge, whose moments are those of a
    stationary chain. The state at the beginning of a sentence is estimated from the first words of sentences.

    Parameters
    ----------
    n_states
        m. Where the counts have a smaller rank, as many as their singular values allow.
    variant
        ``"full"``: an m × m matrix for each word; ``"reduced"``: m of them, which all words combine with weights of
        their own, so that memory is m³ + nm (Foster, Rodu and Ungar 2012; their weights are the left singular vectors
        of the bigrams, these come from the words on both sides, which are as exact and on text far better).
    scaling
        ``"sqrt"``: the SVD is that of counts divided by √((n_i + κ)(n_j + κ)), as in CCA; ``"none"``: of plain counts.
        With exact moments the basis makes no difference; with counts frequent words drown the others in plain ones.
    pseudo
        κ. Without it the leading directions are pairs of rare words that always come together.
    shrinkage
        τ: the operator of a word that was seen c times gets the weight c / (c + τ), and one that forgets all before the
        word gets the rest. Full operators only; reduced ones share their strength anyway.
    interpolation
        λ: before each word the state becomes (1 - λ) b + λ b_stationary, and predictions gain as much of the unigram
        law, so that held-out perplexity is finite. With 0 prediction is that of the operators, clipped.
    cutoff, ridge
        Singular values at most ``cutoff`` times the largest are left out; others are inverted as s / (s² + ridge s₁²).
    power
        Passes of the randomized SVD.
    recover
        How :attr:`parameters_` are found, the probabilities of hidden states and of words in them: ``"operators"``,
        from the eigenvectors that the operators share (:func:`~spinney.embed.recovery.recover_parameters`);
        ``"tensor"``, from the moments of three words, views of the state of the second
        (:func:`~spinney.embed.three_views`). By default they are not.

    Attributes
    ----------
    operators_ : Operators
        ``b0``, ``b_inf`` and the matrices.
    singular_values_ : array [m]
    basis_ : array [n, m]
        U: the state is ``Uᵀ`` times the law of the next word.
    unigram_ : array [n]
        The law of words that predictions are interpolated with: counts plus a half; the end mark last.
    parameters_ : HMMParameters, or None
        π, T and O, if recovered; they describe the model, and have no part in its predictions.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays(line.split() for line in ["the dog barks", "the cat sleeps", "a dog sleeps"] * 20)
    >>> model = SpectralHMM(4, pseudo=1.0, interpolation=0.01).fit(text)
    >>> round(model.perplexity(text), 2)
    1.62
    >>> law = model.predict_next(model.filter(text)[:1])[0]  # after "the"
    >>> model.vocabulary_.words[law.argmax()] in ("dog", "cat")
    True
    """

    kind = "embed/SpectralHMM"
    parameters_: HMMParameters | None

    def __init__(
        self,
        n_states: int = 32,
        variant: Variant = "full",
        *,
        threads: int | None = None,
        random_state: int = 0,
        **how: Any,
    ) -> None:
        self.n_states = n_states
        self.how = SpectralSettings.of({"variant": variant, **how})
        self.threads = threads
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, text: TokenArrays, *, reading: Mapping[str, Any] | None = None) -> Self:
        """Learn from sentences; ``reading`` says how they were read, for those who will read more."""
        started = time.perf_counter()
        self._check_states()
        if not checked_text(text).n_tokens:
            raise InputError("there are no words to learn from")
        self.vocabulary_: Vocabulary = text.vocabulary
        # Tall, thin products: threads of BLAS would wait for each other longer than they work.
        with task("spectral HMM", total=3) as work, one_blas_thread():
            grams = Trigrams.of(text)
            work.update()
            self._learn(grams)
            work.update(2)
        self.facts = {
            "method": "hmm",
            "sentences": len(text),
            "tokens": text.n_tokens,
            "words": len(text.vocabulary),
            "states": len(self.singular_values_),
            "seconds": time.perf_counter() - started,
            "reading": dict(reading or {}),
        }
        if self.parameters_ is not None:
            self.facts["recovered_states"] = len(self.parameters_.start)
            if self.parameters_.clipped is not None:
                self.facts["clipped"] = self.parameters_.clipped
        return self

    def _learn(self, grams: Trigrams) -> None:
        counts = grams.counts.astype(float)
        n, end = len(counts), len(counts) - 1
        N = counts.sum()
        # Probabilities rather than counts, so that states and b∞ are of the order of 1.
        P21 = grams.bigrams() / N
        basis = self._basis(P21, (counts + self.how.pseudo) / N, (counts + self.how.pseudo) / N)
        starts = grams.starts()
        self.parameters_ = None
        sums = operator_sums(grams, basis.U, basis.V / N, basis.W, self.threads or default_threads())
        stationary = basis.U.T @ (counts / N)
        readout = P21 @ basis.V
        self.operators_ = Operators(
            basis.U.T @ (starts / starts.sum()),
            np.asarray(P21.sum(axis=0)) @ basis.V,
            stationary,
            readout,
            sums,
            basis.coordinates,
            end,
        )
        self.basis_, self.singular_values_ = basis.U, basis.s
        if (
            self.how.recover is not None
        ):  # before rare words are shrunk, whose operators then share no eigenvectors
            self.parameters_ = self._recovered(grams)
        if basis.W is None:
            _shrink(sums, stationary, readout, counts, self.how.shrinkage)
        self.unigram_ = (counts + 0.5) / (N + 0.5 * n)

    def _recovered(self, grams: Trigrams) -> HMMParameters:
        if self.how.recover == "operators":
            return recover_parameters(self.operators_, self.basis_, random_state=self.random_state)
        views = three_views(
            *word_triples(grams.triples(), grams.n_words), len(self.singular_values_),
            random_state=self.random_state,
        )  # fmt: skip
        chain = hidden_markov(views)
        # Sentences begin after an end mark: the state there is that of the end mark, one step later.
        after = chain.transition @ (views.weights * chain.emission[-1])
        return chain._replace(start=after / after.sum()) if after.sum() > 0 else chain

    @classmethod
    def from_moments(
        cls,
        P1: ArrayLike,
        P21: ArrayLike,
        P3x1: ArrayLike,
        n_states: int,
        variant: Variant = "full",
        *,
        scaling: Scaling = "none",
        cutoff: float = 1e-8,
        ridge: float = 0.0,
    ) -> Self:
        """A model of given moments: without end mark, interpolation or smoothing of any kind.

        Parameters
        ----------
        P1 : array [n]
            P(X₁ = i).
        P21 : array [n, n]
            P(X₂ = i, X₁ = j).
        P3x1 : array [n, n, n]
            ``P3x1[x, i, j] = P(X₃ = i, X₂ = x, X₁ = j)``.

        Examples
        --------
        A fair coin:

        >>> model = SpectralHMM.from_moments([0.5, 0.5], np.full((2, 2), 0.25), np.full((2, 2, 2), 0.125), 1)
        >>> from spinney.corpus import sentence_arrays
        >>> tosses = sentence_arrays([["0", "1", "1"]], vocabulary=model.vocabulary_)
        >>> np.exp(model.log_likelihood(tosses).log_magnitude).round(6)
        array([0.125])
        """
        model = cls(
            n_states, variant, scaling=scaling, pseudo=0.0, shrinkage=0.0, interpolation=0.0,
            cutoff=cutoff, ridge=ridge,
        )  # fmt: skip
        model._check_states()
        first, pairs, triples = (np.asarray(moment, float) for moment in (P1, P21, P3x1))
        n = len(first)
        if pairs.shape != (n, n) or triples.shape != (n, n, n):
            raise OptionError(f"moments of {n} words must be arrays of {n}, {n} × {n} and {n} × {n} × {n}")
        if not all(np.isfinite(moment).all() for moment in (first, pairs, triples)) or not pairs.any():
            raise OptionError("moments must be finite numbers, and not all 0")
        basis = model._basis(pairs, pairs.sum(axis=1), pairs.sum(axis=0))
        matrices = basis.U.T @ triples @ basis.V
        if basis.W is not None:
            matrices = np.tensordot(basis.W.T, matrices, 1)
        b0 = basis.U.T @ first
        b_inf, readout = pairs.sum(axis=0) @ basis.V, pairs @ basis.V
        model.operators_ = Operators(b0, b_inf, b0, readout, matrices, basis.coordinates)
        model.basis_, model.singular_values_, model.parameters_ = basis.U, basis.s, None
        model.unigram_ = np.maximum(first, 0.0) / np.maximum(first, 0.0).sum()
        model.vocabulary_ = Vocabulary(tuple(map(str, range(n))), np.zeros(n, np.int64))
        model.facts = {"method": "hmm", "states": len(basis.s), "words": n}
        return model

    def _basis(self, P21: Any, left: Floats, right: Floats) -> _Basis:
        """U and V with ``Uᵀ P21 V = I``; for reduced operators also the W and the weights of words.

        Any invertible change of the observations is allowed: with scales D, E and the SVD ``D P21 E = U' S V'ᵀ``, take
        ``U = D U'`` and ``V = E V' S⁻¹``. Then ``G = Uᵀ O`` as before. The columns of O are combinations of those of
        ``D⁻¹ W'`` if W' has the left singular vectors of ``D P21 E``, or of that beside ``D P21ᵀ D``: so with
        ``W = D W'`` a law o in their span is ``D⁻¹ W' Wᵀ o``, and operators, linear in the rows of O, combine alike.
        """
        import scipy.sparse

        if self.how.scaling == "none":
            left, right = np.ones_like(left), np.ones_like(right)
        D, E = (np.divide(1.0, np.sqrt(d), out=np.zeros(len(d)), where=d > 0) for d in (left, right))
        scaled = _scaled(D, P21, E)
        U, s, V = self._directions(scaled)
        inverse = inverse_values(s, 0.0, self.how.ridge * s[0] ** 2)
        basis = _Basis(D[:, None] * U, s, (E[:, None] * V) * inverse)
        if self.how.variant == "full":
            return basis
        blocks = [scaled, _scaled(D, P21.T, D)]
        both: Any = scipy.sparse.hstack(blocks, "csr") if scipy.sparse.issparse(P21) else np.hstack(blocks)
        W = self._directions(both)[0]
        return basis._replace(W=D[:, None] * W, coordinates=np.sqrt(left)[:, None] * W)

    def _directions(self, A: Any) -> Any:
        found = truncated_svd(A, self.n_states, power=self.how.power, random_state=self.random_state)
        k = int(np.count_nonzero(found.s > self.how.cutoff * found.s[0]))
        if not k:
            raise InputError(
                "no two words are next to each other", remedy="are the sentences split into words?"
            )
        return found.U[:, :k], found.s[:k], found.V[:, :k]

    def _check_states(self) -> None:
        if not isinstance(self.n_states, int) or self.n_states < 1:
            raise OptionError(f"n_states must be a whole number of at least 1, not {self.n_states!r}")
        seed(self.random_state)

    # -- strings --------------------------------------------------------------------------------------

    def log_likelihood(self, text: TokenArrays) -> SignedLikelihood:
        """What the operators say of each sentence (with its end mark, if the model has one): sign and log magnitude."""
        ops = self._fitted
        ids, offsets = self._padded(text)
        if ops.end < 0:  # the symbol at the end is not a word
            keep = np.ones(len(ids), bool)
            keep[offsets[1:] - 1] = False
            ids, offsets = ids[keep], text.offsets
        return ops.log_likelihood(ids, offsets)

    def filter(self, text: TokenArrays) -> Floats:
        """The state after each token, given the words up to it: token vectors [tokens, m].

        A word that the state, negative probabilities and all, holds impossible makes it start anew from that word.
        """
        found = [np.empty((0, len(self._fitted.b0)))]
        for piece in _pieces(text):
            ids, offsets = self._padded(piece)
            keep = np.ones(len(ids), bool)
            keep[offsets[:-1]] = False
            found.append(self._states_before(ids, offsets)[keep])
        return np.concatenate(found)

    def predict_next(self, states: ArrayLike) -> Floats:
        """The law of the next word after each state, [k, n]; the last column is the end mark, if the model has one.

        ``(1 - λ) max(0, R b) / Σ max(0, R b) + λ unigram``.
        """
        ops = self._fitted
        law = np.atleast_2d(np.asarray(states, float)) @ ops.readout.T
        np.maximum(law, 0.0, out=law)
        total = law.sum(axis=1, keepdims=True)
        nothing = total[:, 0] <= 0
        law[nothing], total[nothing] = self.unigram_, 1.0
        law *= (1.0 - self.how.interpolation) / total
        law += self.how.interpolation * self.unigram_
        return law

    def perplexity(self, text: TokenArrays) -> float:
        """Of a text, by `predict_next` along it; a model with an end mark is asked for the ends too."""
        ops = self._fitted
        total, n = 0.0, 0
        for piece in _pieces(text):
            ids, offsets = self._padded(piece)
            states = self._states_before(ids, offsets)
            asked = np.ones(len(ids), bool)
            if ops.end < 0:
                asked[offsets[1:] - 1] = False
            ids, states = ids[asked], states[asked]
            for first in range(0, len(ids), _ROWS):
                words = ids[first : first + _ROWS]
                law = self.predict_next(states[first : first + _ROWS])
                with np.errstate(divide="ignore"):
                    total += float(np.log(law[np.arange(len(words)), words]).sum())
            n += len(ids)
        if not n:
            raise InputError("there are no words to predict")
        return float(np.exp(-total / n))

    def _states_before(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> Floats:
        """The state before each token."""
        ops, share = self.operators_, self.how.interpolation
        found = np.empty((len(ids), len(ops.b0)))
        current = np.tile(ops.b0, (len(offsets) - 1, 1))
        for t, (rows, words) in enumerate(steps(ids, offsets)):
            before = current[rows]
            found[offsets[rows] + t] = before
            after = ops.apply(words, (1.0 - share) * before + share * ops.stationary)
            total = after @ ops.b_inf
            # At least a small part of what the stationary state alone would give, or else it is noise.
            lost = ~(total > 0.05 * max(share, 1e-9) * self.unigram_[words])
            if lost.any():
                after[lost] = ops.apply(words[lost], np.tile(ops.stationary, (int(lost.sum()), 1)))
                total[lost] = after[lost] @ ops.b_inf
                never = ~(total > TINY)
                after[never], total[never] = ops.stationary, 1.0
            current[rows] = after / total[:, None]
        return found

    def _padded(self, text: TokenArrays) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The tokens, with an end mark after each sentence (a place to stand, if the model has no end mark)."""
        if text.vocabulary.words != self.vocabulary_.words:
            raise OptionError("this text was read with another vocabulary")
        return with_ends(text, max(self.operators_.end, 0))

    # -- vectors --------------------------------------------------------------------------------------

    def word_vectors(self, kind: Literal["basis", "state"] = "basis") -> WordVectors:
        """A vector for each word: its row of U, or the state of the text after it, whatever came before."""
        ops = self._fitted
        n = len(self.vocabulary_)
        if kind == "basis":
            rows = self.basis_[:n]
        elif kind == "state":
            words = np.arange(n)
            rows = ops.apply(words, np.tile(ops.stationary, (n, 1)))
            total = rows @ ops.b_inf
            rows = np.divide(rows, total[:, None], out=np.zeros_like(rows), where=total[:, None] > TINY)
        else:
            raise unknown_choice("kind must be", kind, ("basis", "state"))
        return WordVectors(self.vocabulary_.words, rows.astype(np.float32))

    @property
    def _fitted(self) -> Operators:
        if not hasattr(self, "operators_"):
            raise NotFittedError("this model is not fitted yet: call fit")
        return self.operators_

    # -- files ----------------------------------------------------------------------------------------

    def structures(self) -> Structures:
        """What other models can use: as the vector of a word, the state after it, averaged over what came before.

        If probabilities were recovered, also classes: the likeliest state of each word.
        """

        def vectors() -> WordVectors:
            states = self.word_vectors("state")
            lowercase = self.facts.get("reading", {}).get("lowercase") is True
            return WordVectors(states.words, states.matrix, lowercase=lowercase)

        laws = self.parameters_
        if laws is None:
            return Structures(vectors=vectors)

        def classes() -> WordClasses:
            ids = (laws.emission[: len(self.vocabulary_)] * laws.shares).argmax(axis=1)
            lowercase = self.facts.get("reading", {}).get("lowercase") is True
            return WordClasses(self.vocabulary_.words, ids, n_classes=len(laws.start), lowercase=lowercase)

        return Structures(vectors=vectors, classes=classes)

    def strongest(self, n: int, words: int) -> list[View]:
        """The strongest words of the first dimensions, and the recovered states in words."""
        from spinney.embed.views import recovered

        return [*super().strongest(n, words), *recovered(self, n, words)]

    def said(self, what: str, reading: Reading) -> tuple[str, Said]:
        """The state after each token of some sentences, or the log-probability of each sentence."""
        if what == "states":
            return "states", rows_of_tokens(self.filter, self.vocabulary_, reading)

        def log_probabilities(batch: Sequence[Tokens]) -> Iterator[float]:
            arrays = batch_arrays(batch, self.vocabulary_, reading)
            for number, tokens in enumerate(batch):
                # The end of a sentence is predicted, too.
                perplexity = self.perplexity(arrays.part(number, number + 1))
                yield -(len(tokens.words) + 1) * float(np.log(perplexity))

        return "log_probability", log_probabilities

    def held_out(self, data: Any, s: Any) -> dict[str, Any]:
        """The perplexity of a text."""
        reading, report = self.reading(s.words, s.parser), ReadReport()
        source = Source([data], s.format, s.encoding, s.on_error, s.text, s.header)
        arrays = source.read(reading, report, vocabulary=self.vocabulary_)
        warn_of_unknown(source.name, report, self.vocabulary_)
        return text_facts({"perplexity": self.perplexity(arrays), "sentences": len(arrays)}, report)

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: what comes next, a map of words, states in words."""
        from spinney.embed.report import states_report

        if data is not None:
            raise OptionError("the page of vectors and states cannot show a text")
        return Views(states_report(self, settings_or(Report, settings, given)))

    def contents(self) -> Contents:
        """What the model keeps in its file."""
        ops = self._fitted
        header = {
            "settings": self.how.as_dict() | {"n_states": self.n_states, "random_state": self.random_state},
            "facts": self.facts,
            "end": ops.end,
            "unknown": self.vocabulary_.unknown,
        }
        tensors = {name: getattr(ops, name) for name in _ARRAYS}
        if ops.coordinates is not None:
            tensors["coordinates"] = ops.coordinates
        if self.parameters_ is not None:
            tensors |= {f"recovered.{name}": getattr(self.parameters_, name) for name in _LAWS}
        tensors |= {
            "basis": self.basis_,
            "singular_values": self.singular_values_,
            "unigram": self.unigram_,
            "counts": self.vocabulary_.counts,
        }
        return Contents(header, tensors, {"words": self.vocabulary_.words})

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The model that a file holds."""
        with file.checked():
            names = {setting.name for setting in settings_of(SpectralSettings)}
            model = cls(**file.settings({*names, "n_states", "random_state"}))
            model._check_states()
            model.vocabulary_ = Vocabulary(
                tuple(file.texts("words")), file.tensor("counts", np.int64), file.header.get("unknown")
            )
        model.facts = file.fact("facts", dict)
        model._take(file)
        return model

    def _take(self, file: ModelFile) -> None:
        found = {name: file.tensor(name, np.float64, ndim) for name, ndim in _ARRAYS.items()}
        reduced = self.how.variant == "reduced"
        coordinates = file.tensor("coordinates", np.float64, 2) if reduced else None
        basis, s, unigram = (
            file.tensor("basis", np.float64, 2),
            file.tensor("singular_values", np.float64),
            file.tensor("unigram", np.float64),
        )
        end, n, m = file.fact("end", int), len(unigram), len(s)
        if end != (n - 1 if n == len(self.vocabulary_) + 1 else -1) or n - (end >= 0) != len(
            self.vocabulary_
        ):
            raise file.error("damaged: its numbers of words do not match")
        k = n if coordinates is None else coordinates.shape[1]
        shapes = {"b0": (m,), "b_inf": (m,), "stationary": (m,), "readout": (n, m), "matrices": (k, m, m)}
        if any(found[name].shape != shape for name, shape in shapes.items()) or basis.shape != (n, m):
            raise file.error("damaged: the shapes of its arrays do not match")
        if coordinates is not None and len(coordinates) != n:
            raise file.error("damaged: the shapes of its arrays do not match")
        if not unigram.size or unigram.min() < 0 or abs(unigram.sum() - 1) > 1e-6:
            raise file.error("damaged: its unigram probabilities are not a distribution")
        self.parameters_ = None
        if "recovered.start" in file.tensors:
            laws = [
                file.tensor(f"recovered.{name}", np.float64, ndim, low=0.0) for name, ndim in _LAWS.items()
            ]
            k = len(laws[0])
            whole = all(np.allclose(law.sum(axis=0), 1.0, atol=1e-6) for law in laws)
            if [law.shape for law in laws] != [(k,), (k, k), (n, k)] or not k or not whole:
                raise file.error("damaged: its recovered probabilities are none")
            clipped = self.facts.get("clipped")
            clipped = clipped if isinstance(clipped, float) else None
            self.parameters_ = HMMParameters(laws[0], laws[1], laws[2], clipped)
        self.operators_ = Operators(**found, coordinates=coordinates, end=end)
        self.basis_, self.singular_values_, self.unigram_ = basis, s, unigram


_LAWS = {"start": 1, "transition": 2, "emission": 2}
_ARRAYS = {"b0": 1, "b_inf": 1, "stationary": 1, "readout": 2, "matrices": 3}


# ----------------------------------------------------------------------------------------------- counts


class _Basis(NamedTuple):
    """``Uᵀ P21 V = I`` on what was kept; W and the weights of words for reduced operators."""

    U: Floats
    s: Floats
    V: Floats
    W: Floats | None = None
    coordinates: Floats | None = None


def _scaled(left: Floats, A: Any, right: Floats) -> Any:
    import scipy.sparse

    if scipy.sparse.issparse(A):
        return (scipy.sparse.diags_array(left) @ A @ scipy.sparse.diags_array(right)).tocsr()
    return left[:, None] * A * right


def _shrink(sums: Floats, stationary: Floats, readout: Floats, counts: Floats, shrinkage: float) -> None:
    """Each operator, in place, closer to one with the same predictions that forgets what was before its word."""
    if not shrinkage:
        return
    weight = counts / (counts + shrinkage)
    after = sums @ stationary
    alone = np.divide(
        after, (counts / counts.sum())[:, None], out=np.zeros_like(after), where=counts[:, None] > 0
    )
    alone *= (1.0 - weight)[:, None]
    for first in range(0, len(sums), _ROWS):
        rows = slice(first, first + _ROWS)
        sums[rows] *= weight[rows, None, None]
        sums[rows] += alone[rows, :, None] * readout[rows, None, :]


def _pieces(text: TokenArrays) -> list[TokenArrays]:
    return text.shards(1 + text.n_tokens // _PIECE) if len(text) else []
