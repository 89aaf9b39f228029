"""Settings of word classes."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from spinney.errors import SettingError
from spinney.settings import (
    AMOUNT,
    COUNT,
    DATA,
    OUTPUT,
    ROUNDS,
    TRAINING,
    Above,
    AtLeast,
    AtMost,
    Below,
    Common,
    File,
    Repeated,
    Settings,
    Spread,
    methods,
)
from spinney.settings.declared import Hidden as SeldomNeeded
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import TextFiles, WordsOf
from spinney.settings.words import Comparing, KnownWords, Linkage, WordTests

Variant = Literal["two-sided", "predictive"]


@dataclass(frozen=True, kw_only=True)
class Words(KnownWords):
    """The vocabulary, and what a word depends on."""

    panel = DATA
    #: The function that learns by this method from the text, the settings, the reading and the initial classes.
    recipe: ClassVar[str]
    tree: Annotated[bool, "A word depends on its head, not on the word before it (CoNLL-U)."] = False
    head_rules: Annotated[str | None, File, "Head rules for a parser of parse fit."] = None

    def check(self) -> None:
        super().check()
        if self.head_rules is not None and self.parser is None:
            raise SettingError("{head_rules} needs a model of parse fit: give {parser}")


@dataclass(frozen=True, kw_only=True)
class Clusters(Words):
    """Classes of words that do not depend on the context."""

    panel = TRAINING
    classes: Annotated[
        int | None, AtLeast(2), COUNT, "Number of classes (default: by the size of the text, at most 256)."
    ] = None
    root: Annotated[bool | None, "Count the start of a sentence as a word (default: only in trees)."] = None


@dataclass(frozen=True, kw_only=True)
class Brown(Clusters, Spread):
    """Brown clustering: classes are merged while they predict each other well."""

    recipe = "spinney.classes.recipes:fit_brown"
    method: Annotated[Literal["brown"], "How classes are learned."] = "brown"
    refine: Annotated[int, AtLeast(0), ROUNDS, "Passes of the exchange algorithm at the end."] = 0


@dataclass(frozen=True, kw_only=True)
class Exchange(Clusters, Spread):
    """The exchange algorithm: words move from class to class while that helps."""

    recipe = "spinney.classes.recipes:fit_exchange"
    method: Annotated[Literal["exchange"], "How classes are learned."] = "exchange"
    variant: Annotated[Variant, "Which class bigrams the objective counts."] = "two-sided"
    init: Annotated[
        Literal["brown", "exchange", "random"] | str | Any | None,
        File,
        "Initial classes: a method, or a file of classes (default: by frequency).",
    ] = None
    passes: Annotated[int, AtLeast(1), ROUNDS, "Maximum number of passes over the words."] = 20

    def check(self) -> None:
        super().check()
        if self.init in ("uniform", "split"):
            raise SettingError(f"{{init}} {self.init} is a start of the method hmm: give random, or a method")


@dataclass(frozen=True, kw_only=True)
class Pairs(Words, Spread):
    """Soft classes: a mixture of pairs of words, by EM (aggregate bigrams)."""

    panel = TRAINING
    recipe = "spinney.classes.recipes:fit_mixture"
    method: Annotated[Literal["pairs"], "How classes are learned."] = "pairs"
    classes: Annotated[
        int | None, AtLeast(2), COUNT, "Number of classes (default: by the size of the text, at most 256)."
    ] = None
    passes: Annotated[int, AtLeast(1), ROUNDS, "Maximum number of passes from each start."] = 100
    tol: Annotated[
        float, AtLeast(0), Below(1), "Stop if a pass raises the log-likelihood by less than this share."
    ] = 1e-5
    restarts: Annotated[int, AtLeast(1), ROUNDS, "Random starts, of which the best is kept."] = 3
    interpolation: Annotated[
        float, AtLeast(0), Below(1), "Weight of word frequencies in the probability of text."
    ] = 0.05


@dataclass(frozen=True, kw_only=True)
class HiddenMarkovSettings(Settings):
    """How a :class:`spinney.classes.HiddenMarkov` model learns."""

    panel = TRAINING
    em: Annotated[Literal["online", "batch"], "Online or batch EM."] = "online"
    passes: Annotated[int, AtLeast(1), ROUNDS, "Passes after the last split."] = 5
    k_best: Annotated[
        int | Literal["auto", "none"], AtLeast(1), COUNT, "Entries of a message to keep; none keeps all."
    ] = "auto"
    epsilon: Annotated[
        float | None, AtLeast(0), Below(1), "Keep all but this share of a message, at most k_best entries."
    ] = None
    batch_tokens: Annotated[int, AtLeast(1), COUNT, "Online EM: tokens in a batch."] = 8192
    shuffle: Annotated[
        Literal["pieces", "sentences"],
        SeldomNeeded,
        "Online EM: what is put in random order, parts of the text or sentences.",
    ] = "pieces"
    gamma: Annotated[
        float | Literal["search"], Above(0), AtMost(1), "Online EM: the step size is 1/(delay + t)^gamma."
    ] = 0.6
    delay: Annotated[float, Above(0), AMOUNT, "Online EM: see gamma."] = 4.0
    finish: Annotated[bool, "Online EM: finish with a pass of batch EM."] = True
    start: Annotated[
        int | None, AtLeast(2), COUNT, "Start with this many classes and split them (default: all)."
    ] = None
    split_passes: Annotated[int, AtLeast(1), ROUNDS, "Passes before each split."] = 1
    noise: Annotated[float, AtLeast(0), Below(1), SeldomNeeded, "How much the halves of a split differ."] = (
        0.5
    )
    smoothing: Annotated[
        float,
        AtLeast(0),
        Below(1),
        "Share of the uniform distribution in each distribution that is learned.",
    ] = 1e-5
    backoff: Annotated[
        float, AtLeast(0), AMOUNT, SeldomNeeded, "With typed: weight of the matrix shared by all relations."
    ] = 0.1
    patience: Annotated[
        int | None,
        AtLeast(1),
        ROUNDS,
        "Stop after this many passes without progress on dev, and go back to the best.",
    ] = None
    dtype: Annotated[Literal["float32", "float64"], "Precision of the statistics."] = "float32"
    device: Annotated[str, "Where it learns: cpu, cuda, cuda:1."] = "auto"
    precision: Annotated[Literal["tf32", "float32", "bf16"], "Products on a card."] = "tf32"

    def check(self) -> None:
        super().check()
        if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3})?|torch:cpu", self.device):
            raise SettingError("{device} must be auto, cpu, cuda, or cuda: and a number")
        if self.device == "cpu":
            self.no_effect("precision", when="with {device} cpu")
        if self.dtype == "float64":
            self.no_effect("precision", when="with {dtype} float64")
        if self.device.startswith("cuda") and (
            self.epsilon is not None or self.k_best not in ("auto", "none")
        ):
            raise SettingError("on a card messages are exact: give no {k_best} or {epsilon}, or {device} cpu")
        if self.em == "batch":
            self.no_effect("batch_tokens", "shuffle", "gamma", "delay", "finish", when="with {em} batch")


@dataclass(frozen=True, kw_only=True)
class Hidden(HiddenMarkovSettings, Words, Spread):
    """A hidden Markov chain or tree: the class of a word depends on its context."""

    panel = TRAINING
    recipe = "spinney.classes.recipes:fit_hidden"
    method: Annotated[Literal["hmm"], "How classes are learned."] = "hmm"
    min_count: Annotated[int, AtLeast(1), COUNT, "Rarer words become the unknown word."] = 2
    classes: Annotated[
        int | None, AtLeast(2), COUNT, "Number of classes (default: by the text, or as in the initial model)."
    ] = None
    init: Annotated[
        Literal["brown", "exchange", "random", "uniform", "split"] | str | Any,
        File,
        "Initial classes: a method, a file of classes, or a model; uniform draws at random, as in Grave 2014.",
    ] = "brown"
    root: Annotated[bool | None, "Brown, exchange: count the start of a sentence as a word."] = None
    refine: Annotated[int, AtLeast(0), ROUNDS, "Brown: passes of the exchange algorithm at the end."] = 0
    variant: Annotated[Variant, "Exchange: which class bigrams the objective counts."] = "two-sided"
    typed: Annotated[
        int, AtLeast(0), COUNT, "In trees: how many relations have a transition matrix of their own."
    ] = 0
    relation_groups: Annotated[
        str | Any | None,
        File,
        'In trees: a JSON file such as {"subject": ["nsubj", "csubj"]}.',
    ] = None
    subtypes: Annotated[bool, SeldomNeeded, "Treat nsubj:pass and nsubj as different relations."] = True
    dev: Annotated[str | Any | None, File, "Held-out text, scored after each pass."] = None
    checkpoint: Annotated[str | None, File, "Model file to write after each pass."] = None
    resume: Annotated[bool, "Continue from the checkpoint, if it exists."] = False

    def check(self) -> None:
        super().check()
        if (self.typed or self.relation_groups) and not self.tree:
            raise SettingError("{typed} and {relation_groups} are for trees: give {tree}")
        if self.typed and self.relation_groups:
            raise SettingError(
                "{typed} and {relation_groups} both say which relations share a matrix: give only one of them"
            )
        if not self.typed and not self.relation_groups:
            self.no_effect("backoff", "subtypes", when="without {typed} or {relation_groups}")
        if self.init != "brown":
            self.no_effect("refine", when="unless {init} is brown")
        if self.init != "exchange":
            self.no_effect("variant", when="unless {init} is exchange")
        if self.init in ("random", "uniform", "split"):
            self.no_effect("root", when=f"with {{init}} {self.init}")
        given = self.init not in ("brown", "exchange", "random", "uniform", "split")
        if given:
            self.no_effect("start", when="with classes or a model in {init}")
        elif self.start is None and self.init != "split":
            self.no_effect("split_passes", "noise", when="without {start}")
        if self.patience and self.dev is None:
            raise SettingError("{patience} waits for progress on held-out text: give {dev}")
        if self.resume and self.checkpoint is None:
            raise SettingError("{resume} needs a file to continue from: give {checkpoint}")


#: The methods. To add one, write a settings class whose ``recipe`` names the function that learns, and list it here.
FIT = methods(Brown, Exchange, Hidden, Pairs)


@dataclass(frozen=True, kw_only=True)
class Apply(WordsOf, Common):
    """``apply``: the class of each token."""

    panel = OUTPUT
    what: Annotated[
        Literal["class", "path", "viterbi", "posterior", "type", "both"] | None,
        "What to write (default: viterbi if the classes depend on the context, otherwise class).",
    ] = None
    top: Annotated[int, AtLeast(1), COUNT, "Maximum number of classes per token, for posterior and type."] = (
        16
    )
    roots: Annotated[
        bool, "Write square roots of probabilities: linear models then have Hellinger kernels."
    ] = False
    before_label: Annotated[bool, "Put the new column before the last one."] = False

    def check(self) -> None:
        super().check()
        if self.what not in ("posterior", "type", "both"):
            self.no_effect("top", "roots", when="unless {what} is posterior, type or both")


@dataclass(frozen=True, kw_only=True)
class Evaluate(WordTests, WordsOf, Spread):
    """``eval``: word classes compared with human judgements and scored on held-out text."""

    panel = OUTPUT
    bless: Annotated[str | None, File, "File of concepts, words and their relations, such as BLESS."] = None
    composition: Annotated[
        tuple[str, ...],
        Repeated,
        File,
        "File of clause or phrase pairs with scores, such as GS2011, ELLDIS, ELLSIM or ML2010.",
    ] = ()
    deviance: Annotated[
        tuple[str, ...],
        Repeated,
        File,
        "File of adjectives with nouns, each pair acceptable or deviant: Welch's test of their plausibility.",
    ] = ()
    second_subjects: Annotated[bool, "Composition: keep second subjects (and fans do too)."] = False
    measure: Annotated[Comparing, "How two words are compared."] = "hellinger"
    clusters: Annotated[bool, "Categories: show the clusters, their confusions and the dendrogram."] = False
    against: Annotated[
        str | Any | None,
        File,
        "Another model to score on similarity, composition, deviance and text, with a test of the differences.",
    ] = None

    def check(self) -> None:
        super().check()
        if not self.categories:
            self.no_effect("clusters", when="without {categories}")
        if not self.composition:
            self.no_effect("second_subjects", when="without {composition}")


@dataclass(frozen=True, kw_only=True)
class Explain(WordsOf, Explained, Common):
    """``explain``: why tokens have their classes."""


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: the classes, their words, and which classes follow each other."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of words to show for each class."] = 10
    classes: Annotated[int, AtLeast(1), COUNT, "Number of classes to show, the largest ones."] = 20
    only: Annotated[int | None, AtLeast(0), COUNT, "Show only this class."] = None
    word: Annotated[str | None, "Show only the classes of this word."] = None
    relation: Annotated[
        str | None, "Show the transitions of this relation, if relations have their own (fit with typed)."
    ] = None
    homonyms: Annotated[bool, "Show words that belong to several classes."] = False


@dataclass(frozen=True, kw_only=True)
class Neighbours(Common):
    """``neighbours``: the words most similar to a word."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of words."] = 10
    min_count: Annotated[int, AtLeast(1), COUNT, "Consider only words seen at least this often."] = 1
    measure: Annotated[Comparing, "How two words are compared."] = "hellinger"


@dataclass(frozen=True, kw_only=True)
class Plot(TextFiles, Common):
    """``plot``: a map or a dendrogram of words, or the transitions between classes, as a picture."""

    panel = OUTPUT
    what: Annotated[Literal["map", "dendrogram", "transitions"], "What to draw."] = "map"
    words: Annotated[tuple[str, ...] | None, "Words to draw (default: the 60 most frequent)."] = None
    context: Annotated[
        str | Any | None, File, "Map: text from which tokens of chosen words are drawn, too."
    ] = None
    tokens: Annotated[tuple[str, ...] | None, "Map: the words whose tokens in that text are drawn."] = None
    top: Annotated[int, AtLeast(1), COUNT, "Map: maximum number of tokens of each such word."] = 20
    parser: Annotated[
        str | None, File, "Map: parser for that text if it is plain (default: as in training)."
    ] = None
    linkage: Annotated[Linkage, "Dendrogram: how far apart two clusters are."] = "complete"
    relation: Annotated[str | None, "Transitions: those of this relation, if relations have their own."] = (
        None
    )

    def check(self) -> None:
        super().check()
        if self.what == "transitions":
            self.no_effect("words", when="with {what} transitions")
        if (self.context is None) != (self.tokens is None):
            raise SettingError("tokens in context need a text and words: give {context} and {tokens}")
        if self.what != "map":
            self.no_effect("context", "tokens", when="unless {what} is map")
        if self.context is None:
            reading = ("format", "text", "header", "encoding", "on_error", "parser")
            self.no_effect("top", *reading, when="without {context}")
        if self.what != "dendrogram":
            self.no_effect("linkage", when="unless {what} is dendrogram")
        if self.what != "transitions":
            self.no_effect("relation", when="unless {what} is transitions")


@dataclass(frozen=True, kw_only=True)
class Export(Common):
    """``export``: classes or vectors in a common format."""

    panel = OUTPUT
    to: Annotated[
        Literal["paths", "word2vec", "json", "classes"],
        "Output format: Brown paths, vectors, JSON, or a structure file.",
    ] = "paths"


@dataclass(frozen=True, kw_only=True)
class Place(TextFiles, Spread):
    """``place``: assign classes to new words and keep those of known words."""

    panel = DATA
    words: Annotated[str | None, "Columns that form a word (default: as in training)."] = None
    parser: Annotated[str | None, File, "Parser for plain text (default: as in training)."] = None
    tree: Annotated[bool, "The classes were learned from trees (not needed if the model says so itself)."] = (
        False
    )
    min_count: Annotated[int, AtLeast(1), COUNT, "Place words seen at least this often."] = 1
    cache: Annotated[str | None, File, "Folder that keeps the indexed text for later runs."] = None
