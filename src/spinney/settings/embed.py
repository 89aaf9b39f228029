"""Settings of embeddings: vectors of words, spectral hidden Markov models, and topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spinney.errors import SettingError
from spinney.settings import (
    DATA,
    FEATURES,
    OUTPUT,
    PENALTY,
    TRAINING,
    AtLeast,
    Below,
    Common,
    File,
    Settings,
    methods,
)
from spinney.settings.text import TextFiles, WordsOf
from spinney.settings.words import Comparing, KnownWords, WordTests

_METHOD = "How vectors, states or topics are learnt."
Weighting = Literal["flat", "harmonic", "linear"]


@dataclass(frozen=True, kw_only=True)
class Words(KnownWords):
    """Which words there are."""

    panel = DATA
    min_count: Annotated[int, AtLeast(1), "Rarer words become the unknown word."] = 5


# ----------------------------------------------------------------------------------------- word vectors


@dataclass(frozen=True, kw_only=True)
class _Window(Settings):
    """Which words around a word are its context."""

    panel = FEATURES
    window: Annotated[
        tuple[int, ...], AtLeast(0), "Words of context on each side, or before and after: N or N,M."
    ] = (5,)
    weighting: Annotated[Weighting, "Weight of a context; harmonic is 1/distance."] = "flat"
    contexts: Annotated[
        int | None, AtLeast(1), "Number of context words, the most frequent ones (default: all)."
    ] = None

    def check(self) -> None:
        super().check()
        if not 1 <= len(self.window) <= 2:
            raise SettingError("{window} must be one number, or two: words before and after")

    @property
    def sides(self) -> tuple[int, int]:
        """Words before and after."""
        return self.window[0], self.window[-1]


@dataclass(frozen=True, kw_only=True)
class _Places(_Window):
    """What else makes a context."""

    panel = FEATURES
    positional: Annotated[bool, "Each place in the window has contexts of its own."] = False
    edges: Annotated[bool, "The ends of a sentence are contexts, as words are."] = False


@dataclass(frozen=True, kw_only=True)
class _Pmi(Settings):
    """Pointwise mutual information of words and contexts."""

    panel = FEATURES
    context_exponent: Annotated[float, "Power to which counts of contexts are raised."] = 1.0
    floor: Annotated[float | None, "PMI below it becomes 0 (default: none)."] = None
    shift: Annotated[float, "Subtracted from PMI."] = 0.0
    min_pair: Annotated[float, AtLeast(0), "Pairs seen less often are left out."] = 0.0


@dataclass(frozen=True, kw_only=True)
class _Vectors(Settings):
    """The size of a vector."""

    panel = TRAINING
    method: Annotated[str, _METHOD] = "cca"
    dimensions: Annotated[int, AtLeast(1), "Length of a vector."] = 100


@dataclass(frozen=True, kw_only=True)
class _Spectral(_Vectors):
    """Vectors out of a decomposition."""

    panel = TRAINING
    exponent: Annotated[float, "Power p of the singular values in the vectors U·s^p."] = 0.25
    rows: Annotated[Literal["unit", "canonical", "plain"], "Length of the vectors."] = "unit"


@dataclass(frozen=True, kw_only=True)
class _Svd(_Spectral):
    """How a matrix is decomposed."""

    panel = TRAINING
    svd: Annotated[Literal["auto", "exact", "lanczos", "randomized"], "Decomposition."] = "auto"
    power: Annotated[int, AtLeast(1), "Passes of the randomized SVD."] = 8


@dataclass(frozen=True, kw_only=True)
class _Whitened(_Svd):
    """Counts for canonical correlation."""

    panel = FEATURES
    transform: Annotated[Literal["raw", "sqrt", "log", "two-thirds"], "Transformation of counts."] = "sqrt"
    pseudo: Annotated[float, AtLeast(0), "Added to the counts that divide."] = 0.0


@dataclass(frozen=True, kw_only=True)
class Cca(_Whitened, _Places):
    """Canonical correlation of words and contexts, in one step: eigenwords."""

    panel = FEATURES
    method: Annotated[Literal["cca"], _METHOD] = "cca"
    weighting: Annotated[Weighting, "Weight of a context; harmonic is 1/distance."] = "harmonic"
    context_exponent: Annotated[float, "Power to which counts of contexts are raised."] = 1.0
    center: Annotated[bool, "Subtract the means."] = False


@dataclass(frozen=True, kw_only=True)
class TwoStepCca(_Whitened, _Window):
    """Canonical correlation in two steps."""

    panel = FEATURES
    method: Annotated[Literal["tscca"], _METHOD] = "tscca"
    weighting: Annotated[Weighting, "Weight of a context; harmonic is 1/distance."] = "harmonic"
    whitening: Annotated[Literal["diagonal", "full"], "Whitening of states."] = "diagonal"


@dataclass(frozen=True, kw_only=True)
class LowRankMultiView(_Spectral):
    """Canonical correlation with smoothed contexts."""

    panel = TRAINING
    method: Annotated[Literal["lrmvl"], _METHOD] = "lrmvl"
    variant: Annotated[Literal["I", "II"], "Variant of the method."] = "II"
    rates: Annotated[tuple[float, ...], "How fast contexts fade."] = (0.1, 0.5, 0.9)
    passes: Annotated[int, AtLeast(1), "Passes over the text."] = 6


@dataclass(frozen=True, kw_only=True)
class PlainSvd(_Svd, _Places):
    """Singular vectors of counts, as they are or divided by the roots of their sums."""

    panel = FEATURES
    method: Annotated[Literal["svd", "rescaled"], _METHOD] = "svd"
    window: Annotated[
        tuple[int, ...], AtLeast(0), "Words of context on each side, or before and after: N or N,M."
    ] = (0, 1)


@dataclass(frozen=True, kw_only=True)
class PmiSvd(_Svd, _Places, _Pmi):
    """Singular vectors of pointwise mutual information."""

    panel = FEATURES
    method: Annotated[Literal["pmi"], _METHOD] = "pmi"
    floor: Annotated[float, "PMI below it becomes 0."] = 0.0


@dataclass(frozen=True, kw_only=True)
class _Codes(_Vectors, _Places, _Pmi):
    """Sparse codes of pointwise mutual information."""

    panel = PENALTY
    dimensions: Annotated[int, AtLeast(1), "Length of a vector."] = 52
    lam: Annotated[float, AtLeast(0), "Strength of the penalty."] = 0.1
    coding: Annotated[
        Literal["dictionary", "stochastic"], "Learn with the whole matrix, or entry by entry."
    ] = "dictionary"
    passes: Annotated[int | None, AtLeast(1), "Visits of each entry, for stochastic (default: 20)."] = None

    def check(self) -> None:
        super().check()
        if self.passes is not None and self.coding != "stochastic":
            raise SettingError("{passes} is for {coding} stochastic")


@dataclass(frozen=True, kw_only=True)
class Lasso(_Codes):
    """Sparse codes, whose numbers are penalised one by one."""

    method: Annotated[Literal["lasso"], _METHOD] = "lasso"


@dataclass(frozen=True, kw_only=True)
class Sparse(_Codes):
    """Sparse codes in which a dimension is used only below its parent."""

    panel = PENALTY
    method: Annotated[Literal["sparse"], _METHOD] = "sparse"  # type: ignore[assignment]
    branching: Annotated[tuple[int, ...], AtLeast(1), "Children of a root, of each of these, and so on."] = (
        4,
        2,
    )


#: What :class:`spinney.embed.Embedding` takes, by method.
VECTORS = methods(Cca, TwoStepCca, LowRankMultiView, PlainSvd, PmiSvd, Sparse, Lasso)


# ------------------------------------------------------------------------------------- states and topics


@dataclass(frozen=True, kw_only=True)
class SpectralSettings(Settings):
    """How :class:`spinney.embed.SpectralHMM` learns."""

    panel = TRAINING
    variant: Annotated[Literal["full", "reduced"], "A matrix for each word, or a few that all share."] = (
        "full"
    )
    scaling: Annotated[Literal["sqrt", "none"], "Counts divided by the roots of their sums, or plain."] = (
        "sqrt"
    )
    pseudo: Annotated[float, AtLeast(0), "Added to the counts that divide."] = 400.0
    shrinkage: Annotated[float, AtLeast(0), "Rare words forget what was before them; 0 for none."] = 50.0
    interpolation: Annotated[float, AtLeast(0), Below(1), "Share of the unigrams in predictions."] = 0.1
    cutoff: Annotated[float, AtLeast(0), Below(1), "Smaller singular values, as shares, are left out."] = 1e-8
    ridge: Annotated[float, AtLeast(0), "Ridge in the inverse of singular values."] = 0.0
    power: Annotated[int, AtLeast(1), "Passes of the randomized SVD."] = 5


@dataclass(frozen=True, kw_only=True)
class FitCca(Cca, Words, Common):
    """Fit ``cca`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitTwoStepCca(TwoStepCca, Words, Common):
    """Fit ``tscca`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitLowRankMultiView(LowRankMultiView, Words, Common):
    """Fit ``lrmvl`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitPlainSvd(PlainSvd, Words, Common):
    """Fit ``svd`` or ``rescaled`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitPmiSvd(PmiSvd, Words, Common):
    """Fit ``pmi`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitSparse(Sparse, Words, Common):
    """Fit ``sparse`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitLasso(Lasso, Words, Common):
    """Fit ``lasso`` to text."""


@dataclass(frozen=True, kw_only=True)
class SpectralHmm(SpectralSettings, Words, Common):
    """A hidden Markov model by the method of moments."""

    panel = TRAINING
    method: Annotated[Literal["hmm"], _METHOD] = "hmm"
    states: Annotated[int, AtLeast(1), "Number of states."] = 32


@dataclass(frozen=True, kw_only=True)
class Topics(TextFiles, Common):
    """Topics of documents by the method of moments."""

    panel = TRAINING
    method: Annotated[Literal["topics"], _METHOD] = "topics"
    topics: Annotated[int, AtLeast(1), "Number of topics."] = 10
    alpha0: Annotated[
        float | None, AtLeast(0), "Sum of the Dirichlet's α (default: one topic for each document)."
    ] = None
    smoothing: Annotated[float, AtLeast(0), "Count added to each word of each topic."] = 0.01
    polish: Annotated[int, AtLeast(0), "Passes of EM at the end."] = 0
    restarts: Annotated[int, AtLeast(1), "Tensor power method: random starts for each topic."] = 30
    iterations: Annotated[int, AtLeast(1), "Tensor power method: steps from each start."] = 30
    stop_words: Annotated[int, AtLeast(0), "Leave out this many of the most frequent words."] = 100
    lowercase: Annotated[bool, "Fold words to lower case."] = False
    min_count: Annotated[int, AtLeast(1), "Rarer words are left out."] = 5
    max_words: Annotated[int | None, AtLeast(2), "Keep only this many of the most frequent words."] = None


FIT = methods(
    FitCca,
    FitTwoStepCca,
    FitLowRankMultiView,
    FitPlainSvd,
    FitPmiSvd,
    FitSparse,
    FitLasso,
    SpectralHmm,
    Topics,
)


# ------------------------------------------------------------------------------------------ other verbs


@dataclass(frozen=True, kw_only=True)
class Apply(WordsOf, Common):
    """``apply``: vectors or states of tokens, probabilities of sentences, topics of documents."""

    panel = OUTPUT
    what: Annotated[
        Literal["auto", "states"], "Or states: what the words around each token (hmm: up to it) say."
    ] = "auto"


@dataclass(frozen=True, kw_only=True)
class Evaluate(WordTests, WordsOf, Common):
    """``eval``: vectors beside what people say about words, and the perplexity of held-out text."""

    panel = OUTPUT
    similarity_folder: Annotated[str | None, File, "Folder of files for similarity."] = None
    analogies: Annotated[
        str | None, File, "Questions: a is to b as c is to d (questions-words.txt, or CSV)."
    ] = None
    method: Annotated[Literal["3cosadd", "3cosmul"], "How analogies are answered."] = "3cosadd"
    sentiment: Annotated[
        tuple[str, ...], File, "Labelled sentences, three files: to train, to tune and to test."
    ] = ()
    against: Annotated[str | None, File, "Another model: its scores, and a test of the difference."] = None
    measure: Annotated[Comparing, "How two words are compared."] = "cosine"

    def check(self) -> None:
        super().check()
        if len(self.sentiment) not in (0, 3):
            raise SettingError("{sentiment} must be three files: to train, to tune and to test")


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: how a model was learnt, and the strongest words of its dimensions or topics."""

    panel = OUTPUT
    dimensions: Annotated[int, AtLeast(1), "Number of dimensions or topics to show."] = 10
    top: Annotated[int, AtLeast(1), "Number of words to show of each."] = 8


@dataclass(frozen=True, kw_only=True)
class Neighbours(Common):
    """``neighbours``: the words most like each of some words."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), "Number of neighbours."] = 10


@dataclass(frozen=True, kw_only=True)
class Cluster(Common):
    """``cluster``: classes of words by k-means."""

    panel = TRAINING
    classes: Annotated[int, AtLeast(1), "Number of classes."] = 256
