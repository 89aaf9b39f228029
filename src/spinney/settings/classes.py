"""Settings of word classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from spinney.errors import SettingError
from spinney.settings import (
    DATA,
    OUTPUT,
    TRAINING,
    Above,
    AtLeast,
    AtMost,
    Below,
    Common,
    File,
    Repeated,
    Settings,
    methods,
)
from spinney.settings.text import TextFiles, WordsOf
from spinney.settings.words import Comparing, KnownWords, WordTests

Variant = Literal["two-sided", "predictive"]


@dataclass(frozen=True, kw_only=True)
class Words(KnownWords):
    """Which words there are, and what they depend on."""

    panel = DATA
    #: The function that learns by the method: of the text, the settings, how the text was read, and where to start.
    recipe: ClassVar[str]
    tree: Annotated[bool, "A word depends on its head, not on the word before it (CoNLL-U)."] = False
    head_rules: Annotated[
        str | None, File, "Head rules for a parser of parse fit (default: those of Collins)."
    ] = None

    def check(self) -> None:
        super().check()
        if self.head_rules is not None and self.parser is None:
            raise SettingError("{head_rules} goes with {parser}, a model of parse fit")


@dataclass(frozen=True, kw_only=True)
class Clusters(Words):
    """Classes of words whatever their context."""

    panel = TRAINING
    classes: Annotated[int, AtLeast(2), "Number of classes."] = 256
    root: Annotated[bool | None, "Count the start of a sentence as a word (default: in trees)."] = None


@dataclass(frozen=True, kw_only=True)
class Brown(Clusters, Common):
    """Brown clustering: classes are merged while they predict each other well."""

    recipe = "spinney.classes.recipes:fit_brown"
    method: Annotated[Literal["brown"], "How classes are learnt."] = "brown"
    refine: Annotated[int, AtLeast(0), "Passes of the exchange algorithm at the end."] = 0


@dataclass(frozen=True, kw_only=True)
class Exchange(Clusters, Common):
    """The exchange algorithm: words move from class to class while that helps."""

    recipe = "spinney.classes.recipes:fit_exchange"
    method: Annotated[Literal["exchange"], "How classes are learnt."] = "exchange"
    variant: Annotated[Variant, "Which pairs of classes count."] = "two-sided"
    init: Annotated[
        Literal["brown", "exchange", "random"] | str | Any | None,
        File,
        "Where to start, or a file of classes (default: by frequency).",
    ] = None
    passes: Annotated[int, AtLeast(1), "Greatest number of passes over the words."] = 20


@dataclass(frozen=True, kw_only=True)
class HiddenMarkovSettings(Settings):
    """How a :class:`spinney.classes.HiddenMarkov` model learns."""

    panel = TRAINING
    em: Annotated[Literal["online", "batch"], "Online or batch EM."] = "online"
    passes: Annotated[int, AtLeast(1), "Passes over the text, after the last split."] = 5
    k_best: Annotated[
        int | Literal["auto", "none"], AtLeast(1), "Entries of a message that are kept; none keeps all."
    ] = "auto"
    epsilon: Annotated[
        float | None, AtLeast(0), Below(1), "Keep all but this share of a message instead."
    ] = None
    batch_tokens: Annotated[int, AtLeast(1), "Online EM: tokens in a batch."] = 8192
    gamma: Annotated[
        float | Literal["search"], Above(0), AtMost(1), "Online EM: steps are 1/(delay + t)^gamma."
    ] = 0.6
    delay: Annotated[float, Above(0), "Online EM: see gamma."] = 4.0
    finish: Annotated[bool, "Online EM: end with a pass of batch EM."] = True
    start: Annotated[
        int | None, AtLeast(2), "Start with this many classes, and split them (default: all)."
    ] = None
    split_passes: Annotated[int, AtLeast(1), "Passes before each split."] = 1
    noise: Annotated[float, AtLeast(0), Below(1), "How much the halves of a split differ."] = 0.5
    smoothing: Annotated[float, AtLeast(0), Below(1), "Share of the uniform distribution in each."] = 1e-5
    backoff: Annotated[float, AtLeast(0), "With typed: weight of the matrix of all relations."] = 0.1
    patience: Annotated[int | None, AtLeast(1), "Stop after this many passes without progress on dev."] = None
    dtype: Annotated[Literal["float32", "float64"], "Precision of the statistics."] = "float32"


@dataclass(frozen=True, kw_only=True)
class Hidden(HiddenMarkovSettings, Words, Common):
    """A hidden Markov chain or tree: the class of a word depends on its context."""

    panel = TRAINING
    recipe = "spinney.classes.recipes:fit_hidden"
    method: Annotated[Literal["hmm"], "How classes are learnt."] = "hmm"
    min_count: Annotated[int, AtLeast(1), "Rarer words become the unknown word."] = 2
    classes: Annotated[
        int | None, AtLeast(2), "Number of classes (default: 256, or those of the model to start from)."
    ] = None
    init: Annotated[
        Literal["brown", "exchange", "random", "split"] | str | Any,
        File,
        "Where to start: or a file of classes, or a model.",
    ] = "brown"
    root: Annotated[bool | None, "Brown, exchange: count the start of a sentence as a word."] = None
    refine: Annotated[int, AtLeast(0), "Brown: passes of the exchange algorithm at the end."] = 0
    variant: Annotated[Variant, "Exchange: which pairs of classes count."] = "two-sided"
    typed: Annotated[int, AtLeast(0), "In trees: a matrix for each of this many relations."] = 0
    relation_groups: Annotated[
        str | Any | None, File, 'In trees: a JSON file such as {"subject": ["nsubj", "csubj"]}.'
    ] = None
    subtypes: Annotated[bool, "Whether nsubj:pass is another relation than nsubj."] = True
    dev: Annotated[str | Any | None, File, "Held-out text, scored after each pass."] = None
    checkpoint: Annotated[str | None, File, "Model file to write after each pass."] = None
    resume: Annotated[bool, "Go on from the checkpoint, if it is there."] = False

    def check(self) -> None:
        super().check()
        if (self.typed or self.relation_groups) and not self.tree:
            raise SettingError("{typed} and {relation_groups} are for trees: give {tree}")
        if self.typed and self.relation_groups:
            raise SettingError(
                "{typed} and {relation_groups} both say which relations share a matrix: give one"
            )
        if self.patience and self.dev is None:
            raise SettingError("{patience} waits for progress on held-out text: give {dev}")
        if self.resume and self.checkpoint is None:
            raise SettingError("{resume} goes on from a {checkpoint}: say which")


#: The methods. A new one is a settings class, whose ``recipe`` says what learns by it, and its place here.
FIT = methods(Brown, Exchange, Hidden)


@dataclass(frozen=True, kw_only=True)
class Apply(WordsOf, Common):
    """``apply``: the class of each token."""

    panel = OUTPUT
    what: Annotated[
        Literal["class", "path", "viterbi", "posterior"] | None,
        "What to write (default: viterbi if classes depend on the context, else class).",
    ] = None
    top: Annotated[int, AtLeast(1), "Greatest number of classes of a token, for posterior."] = 16
    before_label: Annotated[bool, "Put the new column before the last one."] = False


@dataclass(frozen=True, kw_only=True)
class Evaluate(WordTests, WordsOf, Common):
    """``eval``: word classes beside what people say about words, and on held-out text."""

    panel = OUTPUT
    bless: Annotated[str | None, File, "Concepts, words and their relations: BLESS."] = None
    composition: Annotated[
        tuple[str, ...], Repeated, File, "Pairs of clauses with scores: ELLDIS, ELLSIM."
    ] = ()
    measure: Annotated[Comparing, "How two words are compared."] = "hellinger"


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: classes with their words, and what follows what."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), "Number of words to show of each class."] = 10
    classes: Annotated[int, AtLeast(1), "Number of classes to show, the largest ones."] = 20
    only: Annotated[int | None, AtLeast(0), "Show this class only."] = None
    word: Annotated[str | None, "Show the classes of this word only."] = None
    homonyms: Annotated[bool, "Show words that belong to several classes."] = False


@dataclass(frozen=True, kw_only=True)
class Neighbours(Common):
    """``neighbours``: the words most like a word."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), "Number of words."] = 10
    min_count: Annotated[int, AtLeast(1), "Only words seen at least this often."] = 1
    measure: Annotated[Comparing, "How two words are compared."] = "hellinger"


@dataclass(frozen=True, kw_only=True)
class Plot(Common):
    """``plot``: a map of words, or the transitions between classes, as a picture."""

    panel = OUTPUT
    what: Annotated[Literal["map", "transitions"], "What to draw."] = "map"
    words: Annotated[tuple[str, ...] | None, "Words of the map (default: the 60 most frequent)."] = None


@dataclass(frozen=True, kw_only=True)
class Export(Common):
    """``export``: classes or vectors in a common format."""

    panel = OUTPUT
    to: Annotated[
        Literal["paths", "word2vec", "json", "classes"], "Brown paths, vectors, JSON, or a structure file."
    ] = "paths"


@dataclass(frozen=True, kw_only=True)
class Place(TextFiles, Common):
    """``place``: classes for new words; those of old words stay."""

    panel = DATA
    words: Annotated[str | None, "Columns that make a word, if not those of fit."] = None
    parser: Annotated[str | None, File, "Parser for plain text, if not that of fit."] = None
    tree: Annotated[bool, "The classes are those of trees (a clustering knows)."] = False
    min_count: Annotated[int, AtLeast(1), "Place words seen at least this often."] = 1
    cache: Annotated[str | None, File, "Folder that keeps the numbered text for the next run."] = None
