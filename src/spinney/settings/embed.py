"""Settings of embeddings: word vectors, spectral hidden Markov models, and topics."""

from __future__ import annotations

from typing import Annotated, Literal

from spinney.errors import SettingError
from spinney.settings import (
    AMOUNT,
    COUNT,
    DATA,
    FEATURES,
    OUTPUT,
    PENALTY,
    ROUNDS,
    TRAINING,
    AtLeast,
    AtMost,
    Below,
    Common,
    File,
    Hidden,
    Settings,
    Spread,
    methods,
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import TextFiles, WordsOf
from spinney.settings.words import Comparing, KnownWords, WordTests

_METHOD = "How vectors, states or topics are learned."
Weighting = Literal["flat", "harmonic", "linear"]


@dataclass(frozen=True, kw_only=True)
class Words(KnownWords):
    """The vocabulary."""

    panel = DATA
    min_count: Annotated[int, AtLeast(1), COUNT, "Rarer words become the unknown word."] = 5


@dataclass(frozen=True, kw_only=True)
class Counted(Words):
    """Text, or counts of its n-grams: all that methods need that see only pairs of words."""

    panel = DATA
    ngrams: Annotated[
        bool, "The files hold n-grams with their counts, as Google publishes them: N-GRAM TAB COUNT."
    ] = False
    head_rules: Annotated[str | None, File, Hidden, "Head rules for a parser of parse fit."] = None

    def check(self) -> None:
        super().check()
        if self.ngrams:
            self.no_effect(
                "format", "text", "header", "words", "tokens", "max_length", "parser", "cache", "tree", "head_rules",
                when="with {ngrams}, which are no text",
            )  # fmt: skip
        if self.head_rules is not None and self.parser is None:
            raise SettingError("{head_rules} needs a model of parse fit: give {parser}")


# ----------------------------------------------------------------------------------------- word vectors


@dataclass(frozen=True, kw_only=True)
class _Window(Settings):
    """Which words around a word are its context."""

    panel = FEATURES
    window: Annotated[
        tuple[int, ...],
        AtLeast(0),
        AtMost(10_000),
        "Words of context on each side (N), or before and after (N,M).",
    ] = (5,)
    weighting: Annotated[Weighting, "Weight of a context; harmonic is 1/distance."] = "flat"
    contexts: Annotated[
        int | None, AtLeast(1), COUNT, "Number of most frequent words used as contexts (default: all)."
    ] = None

    def check(self) -> None:
        super().check()
        if not 1 <= len(self.window) <= 2:
            raise SettingError("{window} must be one number, or two: the words before and after")

    @property
    def sides(self) -> tuple[int, int]:
        """Words before and after."""
        return self.window[0], self.window[-1]


@dataclass(frozen=True, kw_only=True)
class _Positions(_Window):
    """Whether it matters where in the window a word is."""

    panel = FEATURES
    positional: Annotated[
        bool, "Give each position in the window (in trees: heads and dependents) its own contexts."
    ] = False


@dataclass(frozen=True, kw_only=True)
class _Places(_Positions):
    """What else makes a context."""

    panel = FEATURES
    edges: Annotated[bool, "Use the start and the end of a sentence, or its root, as contexts."] = False
    tree: Annotated[bool, "The context of a word is its head and its dependents, not a window (CoNLL-U)."] = (
        False
    )
    typed: Annotated[
        int, AtLeast(0), COUNT, "In trees: separate contexts for each of this many frequent relations."
    ] = 0

    def check(self) -> None:
        super().check()
        if self.tree:
            self.no_effect("window", "weighting", when="with {tree}, where contexts have no distance")
        elif self.typed:
            raise SettingError("{typed} is for trees: give {tree}")


@dataclass(frozen=True, kw_only=True)
class _Pmi(Settings):
    """Pointwise mutual information of words and contexts."""

    panel = FEATURES
    context_exponent: Annotated[
        float, AtLeast(-10), AtMost(10), "Power to which context counts are raised."
    ] = 1.0
    floor: Annotated[
        float | None, AtLeast(-1e6), AtMost(1e6), "PMI values below this become 0 (default: no floor)."
    ] = None
    shift: Annotated[float, AtLeast(-1e6), AtMost(1e6), "Constant subtracted from PMI."] = 0.0
    min_pair: Annotated[float, AtLeast(0), AMOUNT, "Leave out pairs seen less often than this."] = 0.0


@dataclass(frozen=True, kw_only=True)
class _Vectors(Settings):
    """The size of the vectors."""

    panel = TRAINING
    method: Annotated[str, _METHOD] = "cca"
    dimensions: Annotated[int, AtLeast(1), COUNT, "Number of dimensions of the vectors."] = 100


@dataclass(frozen=True, kw_only=True)
class _Spectral(_Vectors):
    """Vectors from a matrix decomposition."""

    panel = TRAINING
    exponent: Annotated[
        float, AtLeast(-10), AtMost(10), "Power p of the singular values in the vectors U·s^p."
    ] = 0.25
    rows: Annotated[
        Literal["unit", "canonical", "plain"], "Scaling of the vectors: to unit length, canonical, or none."
    ] = "unit"
    subwords: Annotated[
        int | None,
        AtLeast(1),
        COUNT,
        "Learn vectors of letter n-grams, in this many rows, for words that are unknown (default: none).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Svd(_Spectral):
    """How a matrix is decomposed."""

    panel = TRAINING
    svd: Annotated[
        Literal["auto", "exact", "lanczos", "randomized"], "Algorithm for the singular value decomposition."
    ] = "auto"
    power: Annotated[int, AtLeast(1), AtMost(1000), "Passes of the randomized SVD."] = 8

    def check(self) -> None:
        super().check()
        if self.svd in ("exact", "lanczos"):
            self.no_effect("power", when=f"with {{svd}} {self.svd}")


@dataclass(frozen=True, kw_only=True)
class _Whitened(_Svd):
    """Counts for canonical correlation."""

    panel = FEATURES
    transform: Annotated[Literal["raw", "sqrt", "log", "two-thirds"], "Transformation of the counts."] = (
        "sqrt"
    )
    pseudo: Annotated[
        float, AtLeast(0), AMOUNT, "Pseudo-count added to the word counts that normalise the others."
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class Cca(_Whitened, _Places):
    """Canonical correlation of words and contexts, in one step: eigenwords."""

    panel = FEATURES
    method: Annotated[Literal["cca"], _METHOD] = "cca"
    weighting: Annotated[Weighting, "Weight of a context; harmonic is 1/distance."] = "harmonic"
    context_exponent: Annotated[
        float, AtLeast(-10), AtMost(10), "Power to which context counts are raised."
    ] = 1.0
    center: Annotated[bool, "Centre the data first."] = False


@dataclass(frozen=True, kw_only=True)
class TwoStepCca(_Whitened, _Positions):
    """Canonical correlation in two steps."""

    panel = FEATURES
    method: Annotated[Literal["tscca"], _METHOD] = "tscca"
    weighting: Annotated[Weighting, "Weight of a context; harmonic is 1/distance."] = "harmonic"
    whitening: Annotated[Literal["diagonal", "full"], "Whitening of the states."] = "diagonal"


@dataclass(frozen=True, kw_only=True)
class LowRankMultiView(_Spectral):
    """Canonical correlation with contexts made of vectors."""

    panel = TRAINING
    method: Annotated[Literal["lrmvl"], _METHOD] = "lrmvl"
    variant: Annotated[
        Literal["I", "II", "mean"],
        "Contexts: windows (I), fading with distance (II); mean: fading, vectors are means of states.",
    ] = "I"
    transform: Annotated[
        Literal["raw", "sqrt", "log", "two-thirds"] | None,
        "Transformation of the counts; II: of those that whiten words (default: sqrt; II: raw).",
    ] = None
    pseudo: Annotated[
        float, AtLeast(0), AMOUNT, "Pseudo-count added to the word counts that normalise the others."
    ] = 0.0
    window: Annotated[
        tuple[int, ...] | None,
        AtLeast(0),
        AtMost(10_000),
        "Variant I: words of context on each side (N), or before and after (N,M) (default: 5).",
    ] = None
    weighting: Annotated[Weighting | None, "Variant I: weight of a context (default: harmonic)."] = None
    rates: Annotated[
        tuple[float, ...] | None,
        AtLeast(0),
        AtMost(1),
        "II and mean: decay rates of the contexts (default: 0.1,0.5,0.9).",
    ] = None
    passes: Annotated[int, AtLeast(1), ROUNDS, "Passes over the text."] = 6

    def check(self) -> None:
        super().check()
        if self.window is not None and not 1 <= len(self.window) <= 2:
            raise SettingError("{window} must be one number, or two: the words before and after")
        for name in ("window", "weighting"):
            if getattr(self, name) is not None and self.variant != "I":
                raise SettingError(f"{{{name}}} needs {{variant}} I: the other contexts have no window")
        if self.rates is not None and self.variant == "I":
            raise SettingError("{rates} needs {variant} II or mean: windows do not fade")
        if self.transform is not None and self.variant == "mean":
            raise SettingError("{transform} needs {variant} I or II: means of states use no counts")
        if self.variant == "mean":
            self.no_effect("pseudo", when="with {variant} mean, whose words are not whitened")


@dataclass(frozen=True, kw_only=True)
class _NextWord(_Svd, _Places):
    """Counts of the next word."""

    panel = FEATURES
    transform: Annotated[Literal["raw", "sqrt", "log", "two-thirds"], "Transformation of the counts."] = "raw"
    window: Annotated[
        tuple[int, ...],
        AtLeast(0),
        AtMost(10_000),
        "Words of context on each side (N), or before and after (N,M).",
    ] = (0, 1)


@dataclass(frozen=True, kw_only=True)
class PlainSvd(_NextWord):
    """Singular vectors of counts."""

    panel = FEATURES
    method: Annotated[Literal["svd"], _METHOD] = "svd"


@dataclass(frozen=True, kw_only=True)
class Rescaled(_NextWord):
    """Singular vectors of counts divided by the square roots of their sums."""

    panel = FEATURES
    method: Annotated[Literal["rescaled"], _METHOD] = "rescaled"
    pseudo: Annotated[
        float, AtLeast(0), AMOUNT, "Pseudo-count added to the word counts that normalise the others."
    ] = 400.0


@dataclass(frozen=True, kw_only=True)
class PmiSvd(_Svd, _Places, _Pmi):
    """Singular vectors of pointwise mutual information."""

    panel = FEATURES
    method: Annotated[Literal["pmi"], _METHOD] = "pmi"
    floor: Annotated[float, AtLeast(-1e6), AtMost(1e6), "PMI values below this become 0."] = 0.0


@dataclass(frozen=True, kw_only=True)
class _Codes(_Vectors, _Places, _Pmi):
    """Sparse codes of pointwise mutual information."""

    panel = PENALTY
    dimensions: Annotated[int, AtLeast(1), COUNT, "Number of dimensions of the vectors."] = 52
    lam: Annotated[float, AtLeast(0), AMOUNT, "Strength of the penalty."] = 0.1
    columns: Annotated[
        Literal["equal", "plain"],
        "Divide each dimension by its root mean square, so that all count alike, or leave it as it is.",
    ] = "equal"
    coding: Annotated[
        Literal["dictionary", "stochastic"], "Learn with the whole matrix, or entry by entry."
    ] = "dictionary"
    passes: Annotated[
        int | None, AtLeast(1), ROUNDS, "With stochastic: visits to each entry (default: 20)."
    ] = None
    zeros: Annotated[
        float | None,
        AtLeast(0),
        AtMost(1000),
        "With stochastic: unseen pairs visited for each seen one (default: 1).",
    ] = None
    bias: Annotated[
        bool | None, "With stochastic: learn a constant for each word and context (default: no)."
    ] = None

    def check(self) -> None:
        super().check()
        for name in ("passes", "zeros", "bias"):
            if getattr(self, name) is not None and self.coding != "stochastic":
                raise SettingError(f"{{{name}}} needs {{coding}} stochastic")


@dataclass(frozen=True, kw_only=True)
class Lasso(_Codes):
    """Sparse codes with each entry penalised separately."""

    method: Annotated[Literal["lasso"], _METHOD] = "lasso"


@dataclass(frozen=True, kw_only=True)
class Sparse(_Codes):
    """Sparse codes in which a word uses a dimension only if it also uses its parent."""

    panel = PENALTY
    method: Annotated[Literal["sparse"], _METHOD] = "sparse"  # type: ignore[assignment]
    branching: Annotated[
        tuple[int, ...],
        AtLeast(1),
        AtMost(10_000),
        "Number of children of each node, level by level from the root.",
    ] = (
        4,
        2,
    )


#: The settings of :class:`spinney.embed.Embedding`, by method.
VECTORS = methods(Cca, TwoStepCca, LowRankMultiView, PlainSvd, Rescaled, PmiSvd, Sparse, Lasso)


# ------------------------------------------------------------------------------------- states and topics


@dataclass(frozen=True, kw_only=True)
class SpectralSettings(Settings):
    """How :class:`spinney.embed.SpectralHMM` learns."""

    panel = TRAINING
    variant: Annotated[
        Literal["full", "reduced"], "A matrix for each word, or a few that all words share."
    ] = "full"
    scaling: Annotated[
        Literal["sqrt", "none"], "Divide counts by the square roots of their sums, or use them as they are."
    ] = "sqrt"
    pseudo: Annotated[
        float, AtLeast(0), AMOUNT, "Pseudo-count added to the word counts that normalise the others."
    ] = 400.0
    shrinkage: Annotated[
        float,
        AtLeast(0),
        AMOUNT,
        "How strongly a rare word's operator is shrunk so as to ignore the words before it; 0 for not at all.",
    ] = 50.0
    interpolation: Annotated[
        float, AtLeast(0), Below(1), "Weight of unigram probabilities in predictions."
    ] = 0.1
    cutoff: Annotated[
        float, AtLeast(0), Below(1), "Drop singular values below this share of the largest."
    ] = 1e-8
    ridge: Annotated[float, AtLeast(0), AMOUNT, "Ridge added when singular values are inverted."] = 0.0
    power: Annotated[int, AtLeast(1), AtMost(1000), "Passes of the randomized SVD."] = 5
    recover: Annotated[
        Literal["operators", "tensor"] | None,
        "Recover the probabilities of states and words, from eigenvectors of the operators or three views.",
    ] = None


@dataclass(frozen=True, kw_only=True)
class FitCca(Cca, Counted, Spread):
    """Fit ``cca`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitTwoStepCca(TwoStepCca, Words, Spread):
    """Fit ``tscca`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitLowRankMultiView(LowRankMultiView, Words, Spread):
    """Fit ``lrmvl`` to text."""

    panel = DATA
    reset: Annotated[
        Literal["sentence", "document"], "Contexts begin anew with each sentence, or with each document."
    ] = "sentence"


@dataclass(frozen=True, kw_only=True)
class FitPlainSvd(PlainSvd, Counted, Spread):
    """Fit ``svd`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitRescaled(Rescaled, Counted, Spread):
    """Fit ``rescaled`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitPmiSvd(PmiSvd, Counted, Spread):
    """Fit ``pmi`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitSparse(Sparse, Counted, Spread):
    """Fit ``sparse`` to text."""


@dataclass(frozen=True, kw_only=True)
class FitLasso(Lasso, Counted, Spread):
    """Fit ``lasso`` to text."""


@dataclass(frozen=True, kw_only=True)
class SpectralHmm(SpectralSettings, Words, Spread):
    """A hidden Markov model by the method of moments."""

    panel = TRAINING
    method: Annotated[Literal["hmm"], _METHOD] = "hmm"
    states: Annotated[int, AtLeast(1), COUNT, "Number of states."] = 32


@dataclass(frozen=True, kw_only=True)
class Topics(TextFiles, Spread):
    """Topics of documents by the method of moments."""

    panel = TRAINING
    method: Annotated[Literal["topics"], _METHOD] = "topics"
    topics: Annotated[int, AtLeast(1), COUNT, "Number of topics."] = 10
    alpha0: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Sum of the Dirichlet parameters α (default: each document has one topic).",
    ] = None
    smoothing: Annotated[float, AtLeast(0), AMOUNT, "Pseudo-count added to each word of each topic."] = 0.01
    polish: Annotated[int, AtLeast(0), ROUNDS, "EM passes at the end."] = 0
    restarts: Annotated[int, AtLeast(1), ROUNDS, "Tensor power method: random starts for each topic."] = 30
    iterations: Annotated[int, AtLeast(1), ROUNDS, "Tensor power method: steps from each start."] = 30
    stop_words: Annotated[int, AtLeast(0), COUNT, "Leave out this many of the most frequent words."] = 100
    lowercase: Annotated[bool, "Convert words to lower case."] = False
    min_count: Annotated[int, AtLeast(1), COUNT, "Leave out rarer words."] = 5
    max_words: Annotated[int | None, AtLeast(2), COUNT, "Keep only this many of the most frequent words."] = (
        None
    )


FIT = methods(
    FitCca,
    FitTwoStepCca,
    FitLowRankMultiView,
    FitPlainSvd,
    FitRescaled,
    FitPmiSvd,
    FitSparse,
    FitLasso,
    SpectralHmm,
    Topics,
)


# ------------------------------------------------------------------------------------------ other verbs


@dataclass(frozen=True, kw_only=True)
class Apply(WordsOf, Common):
    """``apply``: vectors or states of tokens, probabilities of sentences, or topics of documents."""

    panel = OUTPUT
    what: Annotated[
        Literal["auto", "states"],
        "What to write; states are computed from the words around each token (hmm: up to the token).",
    ] = "auto"


@dataclass(frozen=True, kw_only=True)
class Evaluate(WordTests, WordsOf, Spread):
    """``eval``: vectors compared with human judgements, and the perplexity of held-out text."""

    panel = OUTPUT
    similarity_folder: Annotated[
        str | None, File, "Folder of files of word pairs, each as for similarity."
    ] = None
    analogies: Annotated[
        str | None, File, "Questions of the form a is to b as c is to d (questions-words.txt, or CSV)."
    ] = None
    method: Annotated[Literal["3cosadd", "3cosmul"], "How analogies are answered."] = "3cosadd"
    completion: Annotated[
        str | None, File, "Sentences with ___, the right word and other candidates, separated by tabs."
    ] = None
    sentiment: Annotated[
        tuple[str, ...], File, "Three files of labelled sentences, for training, tuning and testing."
    ] = ()
    against: Annotated[str | None, File, "Another model to score, with a test of the difference."] = None
    measure: Annotated[Comparing, "How two words are compared."] = "cosine"

    def check(self) -> None:
        super().check()
        if len(self.sentiment) not in (0, 3):
            raise SettingError("{sentiment} must be three files, for training, tuning and testing")
        if self.analogies is None:
            self.no_effect("method", when="without {analogies}")


@dataclass(frozen=True, kw_only=True)
class Explain(WordsOf, Explained, Common):
    """``explain``: the nearest words of tokens, or the topics of documents with their words."""


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: how a model was learned, and the strongest words of its dimensions or topics."""

    panel = OUTPUT
    dimensions: Annotated[int, AtLeast(1), COUNT, "Number of dimensions or topics to show."] = 10
    top: Annotated[int, AtLeast(1), COUNT, "Number of words to show for each."] = 8


@dataclass(frozen=True, kw_only=True)
class Neighbours(Common):
    """``neighbours``: the words most similar to each given word."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of neighbours."] = 10


@dataclass(frozen=True, kw_only=True)
class Plot(Common):
    """``plot``: words in the plane, or their numbers as a heat map, as a picture."""

    panel = OUTPUT
    what: Annotated[Literal["tsne", "heatmap"], "What to draw."] = "tsne"
    words: Annotated[tuple[str, ...] | None, "Words to draw (default: the first 60)."] = None
    runs: Annotated[int, AtLeast(1), AtMost(1000), "Runs of t-SNE, of which the best is drawn."] = 10

    def check(self) -> None:
        super().check()
        if self.what != "tsne":
            self.no_effect("runs", when="unless {what} is tsne")


@dataclass(frozen=True, kw_only=True)
class Cluster(Common):
    """``cluster``: group words into classes by k-means."""

    panel = TRAINING
    classes: Annotated[int, AtLeast(1), COUNT, "Number of classes."] = 256
