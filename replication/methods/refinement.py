"""Refinement hidden Markov models: a tagger whose tags have hidden refinements, learnt by SVDs (Stratos et al. 2013).

Tags are seen in training, their refinements h never: ``p(a, x) = π(a₁, h₁) Π o(x_i | a_i, h_i) Π t(a_{i+1}, h_{i+1} |
a_i, h_i) f(stop | a_N, h_N)``, summed over h. Each place is cut twice, before its word and after it; at each cut the
past and the future are independent given tag and refinement, so the SVD of the moments of their features, a tag at
a time, finds the refinements up to a change of basis that cancels in every product. With one refinement it is the
supervised hidden Markov model of relative frequencies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus import TokenArrays
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.files import FilePath, ModelFile, read_model, write_model
from spinney.linalg import inverse_values, truncated_svd
from spinney.parallel import one_blas_thread

Floats = NDArray[np.float64]
Signs = Literal["abs", "clip", "signed"]
Sentence = tuple[Sequence[str], Sequence[str]]

KIND = "embed/RefinementHMM"
_UNKNOWN = "<unk>"


class PlaceFeatures(NamedTuple):
    """The features of one place of a sentence: of what follows each cut, and of what precedes it."""

    future_before: Iterable[Hashable]  # φ₁, of the word and all after it
    past_before: Iterable[Hashable]  # ψ₁, of all before the word
    future_after: Iterable[Hashable]  # φ₂, of all after the word
    past_after: Iterable[Hashable]  # ψ₂, of the word and all before it


Features = Callable[[Sequence[str], Sequence[str], int], PlaceFeatures]


def context_features(words: Sequence[str], tags: Sequence[str], i: int) -> PlaceFeatures:
    """Words and tags of the neighbours, with the ends of the sentence.

    Examples
    --------
    >>> found = context_features(["the", "dog", "barks"], ["D", "N", "V"], 2)
    >>> list(found.past_before)
    [('-a', 'N'), ('-x', 'dog'), ('-aa', 'N', 'D')]
    """
    x, a = words[i], tags[i]
    left, right = (words[i - 1], tags[i - 1]) if i else ("", ""), ("", "")
    if i + 1 < len(words):
        right = words[i + 1], tags[i + 1]
    before = tags[i - 2] if i > 1 else ""
    after = tags[i + 2] if i + 2 < len(words) else ""
    past = [("-a", left[1]), ("-x", left[0]), ("-aa", left[1], before)]
    future = [("+a", right[1]), ("+x", right[0]), ("+aa", right[1], after)]
    here = [("x", x), ("x-", x, left[1]), ("x+", x, right[1]), ("end", x[-2:], a)]
    return PlaceFeatures(
        [here[0], here[2], here[3], *future], past, future, [here[0], here[1], here[3], *past]
    )


def _constant(words: Sequence[str], tags: Sequence[str], i: int) -> PlaceFeatures:
    return PlaceFeatures(*([()] for _ in range(4)))


class RefinementHMM:
    """A tagger whose tags have hidden refinements.

    Parameters
    ----------
    n_refinements
        m, refinements of each tag, or fewer where a tag's moments have a smaller rank. With 1, the features are one
        constant, and this is the supervised hidden Markov model.
    features
        A function of words, tags and a place that gives the `PlaceFeatures` there.
    signs
        What to do with marginals, which may be negative: ``"abs"`` takes their magnitudes, ``"clip"`` sets negative
        ones to 0, ``"signed"`` divides by the signed sum.
    smoothing
        C: an operator that was seen n times is mixed, with the weight C / (n + C), with one of the same probability
        that does not look at the refinement.
    rare
        Words seen at most so often in training become the unknown word; so do new words.
    pseudo_count
        κ: features are divided by √(count + κ) before the SVD.
    cutoff
        Singular values at most ``cutoff`` times the largest of their tag are left out.

    Attributes
    ----------
    tags_ : list of str
    words_ : list of str
        Without those that are rare; the unknown word is the first.

    Examples
    --------
    >>> text = [("the dog barks".split(), "D N V".split()), ("a cat sleeps".split(), "D N V".split())]
    >>> tagger = RefinementHMM(2, rare=0).fit(text)
    >>> tagger.predict([["the", "cat", "barks"]])
    [['D', 'N', 'V']]
    """

    def __init__(
        self,
        n_refinements: int = 8,
        *,
        features: Features = context_features,
        signs: Signs = "clip",
        smoothing: float = 10.0,
        rare: int = 1,
        pseudo_count: float = 5.0,
        cutoff: float = 1e-3,
        random_state: int = 0,
    ) -> None:
        self.n_refinements = n_refinements
        self.features = features
        self.signs = signs
        self.smoothing = smoothing
        self.rare = rare
        self.pseudo_count = pseudo_count
        self.cutoff = cutoff
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Iterable[Sentence] | TokenArrays,
        *,
        column: str | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from pairs of words and tags, or from arrays whose label ``column`` has the tags."""
        self._check_options()
        pairs = list(_pairs(sentences, column))
        weights = np.ones(len(pairs)) if sample_weight is None else np.asarray(sample_weight, float)
        if weights.shape != (len(pairs),) or not np.all((weights >= 0) & (weights < np.inf)):
            raise OptionError("sample_weight has a number, at least 0, for each sentence")
        places = _Places.of(pairs, weights, self.rare)
        if not places.weight.any():
            raise InputError("no words to learn from")
        self.tags_, self.words_ = places.tags, places.words
        features = _constant if self.n_refinements == 1 else self.features
        with one_blas_thread():
            self._learn(places, *_cuts(pairs, features, places, self))
        self._number = {word: i for i, word in enumerate(self.words_)}
        return self

    def _learn(self, places: _Places, before: _Cut, after: _Cut) -> None:
        A, m = len(places.tags), before.Y.shape[1]
        w, tag = places.weight, places.tag
        mass = np.bincount(tag, w, A)
        place = w / np.maximum(mass[tag], 1e-300)  # averages over the places of a tag
        first, last = places.first, places.last
        self.start_ = _sums(tag[first], before.Y[first] * w[first, None], A) / w[first].sum()
        self.stop_ = _sums(tag[last], after.Z[last] * place[last, None], A)
        # S_{a,b} = E[1(a' = b) Z₂ Y₁'ᵀ]; its back-off t(b | a) E[Z₂] E[Y₁']ᵀ forgets the refinement.
        here = np.flatnonzero(~last)
        pair = tag[here] * A + tag[here + 1]
        moves = np.bincount(pair, w[here], A * A)
        S = _outer_sums(pair, after.Z[here] * place[here, None], before.Y[here + 1], A * A)
        mean_Z = _sums(tag, after.Z * place[:, None], A)
        mean_Y = _sums(tag, before.Y * place[:, None], A)
        blind = (moves / np.repeat(np.maximum(mass, 1e-300), A))[:, None, None] * (
            mean_Z[:, None, :, None] * mean_Y[None, :, None, :]
        ).reshape(A * A, m, m)
        S = _mixed(S, blind, moves, self.smoothing)
        self.S_ = np.ascontiguousarray(S.reshape(A, A, m, m).transpose(0, 2, 1, 3)).reshape(A * m, A * m)
        # D_{a,x} = E[1(x) Z₁ Y₂ᵀ]; its back-off o(x | a) E[Z₁ Y₂ᵀ] keeps the refinement but does not ask the word.
        V = len(places.words)
        known, which = np.unique(places.word.astype(np.int64) * A + tag, return_inverse=True)
        seen = np.bincount(which, w, len(known))
        D = _outer_sums(which, before.Z * place[:, None], after.Y, len(known))
        each = _outer_sums(tag, before.Z * place[:, None], after.Y, A)
        blind = (seen / np.maximum(mass[known % A], 1e-300))[:, None, None] * each[known % A]
        self.D_ = _mixed(D, blind, seen, self.smoothing)
        self.D_tag_ = (known % A).astype(np.int32)
        self.D_ptr_ = np.searchsorted(known // A, np.arange(V + 1))

    def _check_options(self) -> None:
        if not isinstance(self.n_refinements, int) or self.n_refinements < 1:
            raise OptionError(f"n_refinements is a whole number, at least 1, not {self.n_refinements!r}")
        if self.signs not in get_args(Signs):
            raise unknown_choice("signs is one of", self.signs, get_args(Signs))
        for name in ("smoothing", "rare", "pseudo_count", "cutoff"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < np.inf:
                raise OptionError(f"{name} is at least 0, not {value!r}")

    # -- tagging --------------------------------------------------------------------------------------

    def log_probability(self, words: Sequence[str], tags: Sequence[str]) -> tuple[float, float]:
        """The sign of p(a, x), and log ``|p(a, x)|``."""
        self._check_fitted()
        if len(words) != len(tags) or not words:
            raise InputError("a sentence has words, and as many tags")
        if not set(tags) <= set(self.tags_):
            return 0.0, -np.inf
        A, m = self.start_.shape
        S = self.S_.reshape(A, m, A, m)
        numbers, ids = [self.tags_.index(tag) for tag in tags], self._encode(words)
        v, log = self.start_[numbers[0]], 0.0
        for i, (a, x) in enumerate(zip(numbers, ids)):
            v = v @ self._emission(x)[a]
            v = v @ (S[a, :, numbers[i + 1]] if i + 1 < len(ids) else self.stop_[a][:, None])
            scale = float(np.abs(v).max())
            if not scale:
                return 0.0, -np.inf
            v, log = v / scale, log + float(np.log(scale))
        return float(np.sign(v[0])), log

    def marginals(self, words: Sequence[str]) -> Floats:
        """``[token, tag]``: the probability of each tag at each token, after ``signs``; rows sum to 1.

        A sentence that the model holds impossible gets the tags that its words have most often.
        """
        self._check_fitted()
        if not words:
            return np.empty((0, len(self.tags_)))
        A, m = self.start_.shape
        ids = self._encode(words)
        emissions = [self._emission(x) for x in ids]
        ahead = np.empty((len(ids), A, m))  # the past of each place, before its word
        behind = np.empty((len(ids), A, m))  # its future, after its word
        v = self.start_
        for i, D in enumerate(emissions):
            ahead[i] = v
            v = np.matmul(v[:, None, :], D)[:, 0]
            v = _unit((v.reshape(-1) @ self.S_).reshape(A, m))
        v = self.stop_
        for i in range(len(ids) - 1, -1, -1):
            behind[i] = v
            v = np.matmul(emissions[i], v[:, :, None])[:, :, 0]
            v = _unit((self.S_ @ v.reshape(-1)).reshape(A, m))
        mu = np.stack([np.einsum("am,amk,ak->a", f, D, g) for f, D, g in zip(ahead, emissions, behind)])
        return self._signed(mu, ids)

    def _signed(self, mu: Floats, ids: list[int]) -> Floats:
        if self.signs == "abs":
            mu = np.abs(mu)
        elif self.signs == "clip":
            # A sentence whose sum is negative is one with all signs turned.
            mu = np.maximum(mu * np.sign(mu.sum(axis=1, keepdims=True)), 0.0)
        total = mu.sum(axis=1, keepdims=True)
        lost = ~(np.abs(total[:, 0]) > 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            mu = mu / total
        for i in np.flatnonzero(lost | ~np.isfinite(mu).all(axis=1)).tolist():
            mu[i] = self._frequent(ids[i])
        return mu

    def _frequent(self, word: int) -> Floats:
        """How likely each tag emits the word, whatever is around it."""
        law = np.abs(np.einsum("am,amk,ak->a", self.start_, self._emission(word), self.stop_))
        if not law.sum() > 0:
            law = np.abs(self._emission(word)).sum(axis=(1, 2)) + 1e-300
        return np.asarray(law / law.sum())

    def predict(self, sentences: Iterable[Sequence[str]] | TokenArrays) -> list[list[str]]:
        """The tags of each sentence, each the best for its token (minimum Bayes risk)."""
        if isinstance(sentences, TokenArrays):
            decode = sentences.vocabulary.decode
            sentences = [decode(sentence) for sentence in sentences]
        return [[self.tags_[a] for a in self.marginals(words).argmax(axis=1)] for words in sentences]

    def score(self, sentences: Iterable[Sentence] | TokenArrays, *, column: str | int | None = None) -> float:
        """The share of tokens whose tag is right."""
        right = total = 0
        for words, tags in _pairs(sentences, column):
            right += sum(a == b for a, b in zip(self.predict([words])[0], tags))
            total += len(words)
        return right / max(total, 1)

    def _encode(self, words: Sequence[str]) -> list[int]:
        return [self._number.get(word, 0) for word in words]

    def _emission(self, word: int) -> Floats:
        """``[tag, m, m]``: D_{a,x} of all tags; of the unknown word if this one was never seen."""
        A, m = self.start_.shape
        found = np.zeros((A, m, m))
        first, end = self.D_ptr_[word], self.D_ptr_[word + 1]
        if first < end:
            found[self.D_tag_[first:end]] = self.D_[first:end]
        else:  # nothing was unknown in training: any tag emits it alike
            np.add.at(found, self.D_tag_, self.D_)
        return found

    def _check_fitted(self) -> None:
        if not hasattr(self, "S_"):
            raise NotFittedError("this model has learnt nothing yet: call fit")

    # -- files ----------------------------------------------------------------------------------------

    def save(self, path: FilePath) -> None:
        """Write a model file; the function that made the features is not in it, and not needed to tag."""
        self._check_fitted()
        header = {"settings": {name: getattr(self, name) for name in _SETTINGS}}
        tensors = {name: getattr(self, f"{name}_") for name in _ARRAYS}
        write_model(path, KIND, header, tensors, {"tags": self.tags_, "words": self.words_})

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what `save` wrote."""
        file = read_model(path, KIND)
        model = cls(**file.settings(_SETTINGS))
        with file.checked():
            model._check_options()
        model.tags_, model.words_ = file.texts("tags"), file.texts("words")
        for name, (dtype, ndim) in _ARRAYS.items():
            setattr(model, f"{name}_", file.tensor(name, dtype, ndim))
        model._check_arrays(file)
        model._number = {word: i for i, word in enumerate(model.words_)}
        return model

    def _check_arrays(self, file: ModelFile) -> None:
        A, V, (_, m), K = len(self.tags_), len(self.words_), self.start_.shape, len(self.D_)
        fits = (
            (self.start_.shape, self.stop_.shape, self.S_.shape) == ((A, m), (A, m), (A * m, A * m))
            and (self.D_.shape, self.D_tag_.shape, self.D_ptr_.shape) == ((K, m, m), (K,), (V + 1,))
            and min(A, V, m) > 0
        )
        if not fits or self.D_ptr_[0] != 0 or self.D_ptr_[-1] != K or np.any(np.diff(self.D_ptr_) < 0):
            raise file.error("damaged: its arrays do not fit together")
        if np.any((self.D_tag_ < 0) | (self.D_tag_ >= A)):
            raise file.error("damaged: a tag is none of its tags")
        if not all(np.isfinite(array).all() for array in (self.start_, self.stop_, self.S_, self.D_)):
            raise file.error("damaged: some of its numbers are not finite")


_SETTINGS = ("n_refinements", "signs", "smoothing", "rare", "pseudo_count", "cutoff", "random_state")
_ARRAYS: dict[str, tuple[Any, int]] = {
    "start": (np.float64, 2),
    "stop": (np.float64, 2),
    "S": (np.float64, 2),
    "D": (np.float64, 3),
    "D_tag": (np.int32, 1),
    "D_ptr": (np.int64, 1),
}


# ---------------------------------------------------------------------------------------------- moments


class _Places(NamedTuple):
    """All places of all sentences, one after the other."""

    tags: list[str]
    words: list[str]
    tag: NDArray[np.int64]  # [places]
    word: NDArray[np.int32]  # [places]
    weight: Floats  # [places], of their sentences
    first: NDArray[np.bool_]  # [places], whether a sentence begins there
    last: NDArray[np.bool_]  # [places], whether one ends there

    @classmethod
    def of(cls, pairs: Sequence[Sentence], weights: Floats, rare: int) -> _Places:
        lengths = np.array([len(words) for words, _ in pairs], np.int64)
        counts = Counter(word for words, _ in pairs for word in words)
        words = [_UNKNOWN, *(word for word, count in counts.items() if count > rare and word != _UNKNOWN)]
        number = {word: i for i, word in enumerate(words)}
        tags = sorted({tag for _, tags in pairs for tag in tags})
        place = {tag: i for i, tag in enumerate(tags)}
        ends = np.cumsum(lengths)[lengths > 0]
        first, last = np.zeros(lengths.sum(), bool), np.zeros(lengths.sum(), bool)
        first[ends - lengths[lengths > 0]] = True
        last[ends - 1] = True
        return cls(
            tags,
            words,
            np.fromiter((place[tag] for _, tags in pairs for tag in tags), np.int64),
            np.fromiter((number.get(word, 0) for words, _ in pairs for word in words), np.int32),
            np.repeat(weights, lengths),
            first,
            last,
        )


class _Cut(NamedTuple):
    """Of each place, the projections of its future and its past: ``E[Z Yᵀ | a] = I``."""

    Y: Floats  # [places, m]
    Z: Floats  # [places, m]


def _cuts(
    pairs: Sequence[Sentence], features: Features, places: _Places, model: RefinementHMM
) -> tuple[_Cut, _Cut]:
    """Both cuts of all places: Stratos et al. 2013, as :class:`RefinementHMM` says."""
    found = [features(words, tags, i) for words, tags in pairs for i in range(len(words))]
    phi1, psi1, phi2, psi2 = (
        _indicators([place[view] for place in found], places.weight, model.pseudo_count) for view in range(4)
    )
    return _cut(phi1, psi1, places, model), _cut(phi2, psi2, places, model)


def _indicators(rows: Sequence[Iterable[Hashable]], weight: Floats, pseudo_count: float) -> Any:
    """``[places, features]``, sparse: 1/√(count + κ) where a place has a feature (Cohen et al. 2013)."""
    from scipy.sparse import csr_array, diags_array

    number: dict[Hashable, int] = {}
    columns = [[number.setdefault(feature, len(number)) for feature in row] for row in rows]
    ptr = np.concatenate(([0], np.cumsum([len(row) for row in columns])))
    flat = np.fromiter((column for row in columns for column in row), np.int64, int(ptr[-1]))
    ones = csr_array((np.ones(len(flat)), flat, ptr), shape=(len(rows), len(number)))
    counts = ones.T @ weight
    scale = np.divide(1.0, np.sqrt(counts + pseudo_count), out=np.zeros(len(counts)), where=counts > 0)
    return (ones @ diags_array(scale)).tocsr()


def _cut(phi: Any, psi: Any, places: _Places, model: RefinementHMM) -> _Cut:
    """A tag at a time, the SVD of ``E[φ ψᵀ]``: Y = Uᵀ φ and Z = S⁻¹ Vᵀ ψ."""
    from scipy.sparse import diags_array

    m = model.n_refinements
    cut = _Cut(np.zeros((len(places.tag), m)), np.zeros((len(places.tag), m)))
    for a in range(len(places.tags)):
        rows = np.flatnonzero((places.tag == a) & (places.weight > 0))
        if not len(rows):
            continue
        weight = places.weight[rows] / places.weight[rows].sum()
        left, right = _present(phi[rows]), _present(psi[rows])
        moments = (left.T @ diags_array(weight) @ right).tocsr()
        U, s, V = truncated_svd(moments, m, random_state=model.random_state)
        inverse = inverse_values(s, model.cutoff)
        kept = np.flatnonzero(inverse)
        cut.Y[np.ix_(rows, kept)] = left @ U[:, kept]
        cut.Z[np.ix_(rows, kept)] = right @ (V[:, kept] * inverse[kept])
    return cut


def _present(indicators: Any) -> Any:
    """Without the features that no row has."""
    return indicators[:, np.unique(indicators.indices)]


def _outer_sums(group: NDArray[Any], left: Floats, right: Floats, n: int) -> Floats:
    """``Σ left[i] right[i]ᵀ`` over the members of each group, [n, m, m]."""
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n + 1))
    found = np.zeros((n, left.shape[1], right.shape[1]))
    for g in np.flatnonzero(np.diff(bounds)).tolist():
        members = order[bounds[g] : bounds[g + 1]]
        found[g] = left[members].T @ right[members]
    return found


def _sums(group: NDArray[Any], rows: Floats, n: int) -> Floats:
    found = np.zeros((n, rows.shape[1]))
    np.add.at(found, group, rows)
    return found


def _mixed(found: Floats, blind: Floats, seen: NDArray[Any], smoothing: float) -> Floats:
    weight = np.divide(seen, seen + smoothing, out=np.zeros(len(seen)), where=seen > 0)[:, None, None]
    return np.asarray(weight * found + (1.0 - weight) * blind)


def _unit(v: Floats) -> Floats:
    scale = np.abs(v).max()
    return v / scale if scale > 0 else v


def _pairs(sentences: Iterable[Sentence] | TokenArrays, column: str | int | None) -> Iterable[Sentence]:
    """Words and tags of each sentence."""
    if isinstance(sentences, TokenArrays):
        if column is None or column not in sentences.labels:
            raise OptionError(f"no label column {column!r} in these arrays")
        labels = sentences.labels[column]
        for ids, first, end in zip(sentences, sentences.offsets[:-1], sentences.offsets[1:]):
            yield sentences.vocabulary.decode(ids), labels.vocabulary.decode(labels.ids[first:end])
        return
    for i, (words, tags) in enumerate(sentences):
        if len(words) != len(tags):
            raise InputError(f"sentence {i + 1} has {len(words)} words but {len(tags)} tags")
        yield words, tags
