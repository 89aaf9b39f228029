"""Settings of language models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from spinney.errors import SettingError
from spinney.settings import (
    DATA,
    FEATURES,
    OUTPUT,
    PENALTY,
    TRAINING,
    Above,
    AtLeast,
    AtMost,
    Common,
    File,
    Repeated,
    methods,
)
from spinney.settings.text import TextFiles, TrainingText, WordsOf

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, kw_only=True)
class Vocabulary(TrainingText):
    """Which words there are."""

    panel = DATA
    dev: Annotated[str | None, File, "Held-out text: chooses strengths and weights, gives a perplexity."] = (
        None
    )
    min_count: Annotated[int, AtLeast(1), "Rarer words become the unknown word."] = 1
    max_words: Annotated[int | None, AtLeast(2), "Keep only this many of the most frequent words."] = None
    unknown: Annotated[str | None, "The unknown word (default: <unk>)."] = None
    closed: Annotated[bool, "No unknown word: unseen words have no probability."] = False
    vocabulary: Annotated[str | None, File, "Take the words of another model, or of a file of words."] = None

    def check(self) -> None:
        super().check()
        if self.closed and (self.min_count > 1 or self.max_words is not None):
            raise SettingError("{closed} keeps every word: {min_count} and {max_words} need an unknown word")
        if self.vocabulary is not None and (self.min_count > 1 or self.max_words is not None):
            raise SettingError(
                "{vocabulary} says which words there are: leave out {min_count} and {max_words}"
            )
        if self.closed and self.unknown is not None:
            raise SettingError("{closed} means that there is no unknown word: leave out {unknown}")
        word = self.unknown
        if word is not None and (word in ("<s>", "</s>") or not word or word.split() != [word]):
            raise SettingError("{unknown} must be a word of its own, not {word}", word=repr(word))


@dataclass(frozen=True, kw_only=True)
class Ngram(Vocabulary, Common):
    """Smoothed n-gram models."""

    panel = TRAINING
    method: Annotated[Literal["mkn", "wb", "katz", "good-turing"], "Smoothing or model."] = "mkn"
    order: Annotated[int, AtLeast(1), AtMost(10**6), "Length of the longest n-grams."] = 5
    memory: Annotated[str | None, "Count within this much memory, such as 2G, the rest on disk."] = None

    def check(self) -> None:
        super().check()
        self.bytes  # noqa: B018  refuses what is no number of bytes

    @property
    def bytes(self) -> int | None:
        """The memory in bytes."""
        if self.memory is None:
            return None
        number, unit = self.memory.strip().upper().removesuffix("B"), ""
        if number and number[-1] in _UNITS:
            number, unit = number[:-1], number[-1]
        try:
            found = int(float(number) * _UNITS[unit])
        except (ValueError, OverflowError):
            found = 0
        if found < 1:
            wrong = repr(self.memory)
            raise SettingError(
                "{memory} must be a number of bytes such as 500M or 2G, not {wrong}", wrong=wrong
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Discounted(Ngram):
    """Absolute discounting and Kneser-Ney with one discount."""

    method: Annotated[Literal["kn", "kn-backoff", "ad"], "Smoothing or model."] = "kn"
    discount: Annotated[
        float | None, AtLeast(0), AtMost(1), "Taken from every count (default: from the counts)."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Interpolated(Ngram):
    """Jelinek-Mercer interpolation, with weights fitted to held-out text if there is any."""

    method: Annotated[Literal["jm"], "Smoothing or model."] = "jm"


@dataclass(frozen=True, kw_only=True)
class Additive(Ngram):
    """Additive smoothing."""

    method: Annotated[Literal["additive"], "Smoothing or model."] = "additive"
    add: Annotated[float, Above(0), "Added to every count."] = 1.0


@dataclass(frozen=True, kw_only=True)
class PitmanYor(Vocabulary, Common):
    """A hierarchical Pitman-Yor process, by Gibbs sampling."""

    panel = TRAINING
    method: Annotated[Literal["pitman-yor"], "Smoothing or model."] = "pitman-yor"
    order: Annotated[int, AtLeast(1), AtMost(10**6), "Length of the longest n-grams."] = 5
    sweeps: Annotated[int, AtLeast(0), "Sweeps of the sampler; 0 gives each n-gram one table."] = 50


@dataclass(frozen=True, kw_only=True)
class Memoizer(Vocabulary, Common):
    """The sequence memoizer."""

    panel = TRAINING
    method: Annotated[Literal["memoizer"], "Smoothing or model."] = "memoizer"
    order: Annotated[
        int | Literal["unbounded"], AtLeast(1), AtMost(10**6), "Length of the longest n-grams."
    ] = "unbounded"
    sweeps: Annotated[int, AtLeast(0), "Sweeps of the sampler; 0 gives each n-gram one table."] = 50


@dataclass(frozen=True, kw_only=True)
class _Penalised(Vocabulary):
    """The penalty of log-linear models."""

    panel = PENALTY
    penalty: Annotated[
        Literal["tree-l2", "tree-linf", "l1", "l2", "slope", "none"] | str | Any | None,
        "Penalty (default: tree-l2; if the order is unbounded, tree-linf).",
    ] = None
    lam: Annotated[
        tuple[float, ...] | None, AtLeast(0), "Strength; the best of several is chosen on dev (default: 0.7)."
    ] = None
    alpha: Annotated[
        tuple[float, ...] | None,
        AtLeast(0),
        "A context of k words is a feature of value αᵏ (default: 1.1; unbounded: 1).",
    ] = None

    def check(self) -> None:
        super().check()
        if self.penalty == "none" and self.lam is not None:
            raise SettingError("{penalty} none has no strength: leave out {lam}")
        if self.dev is None and max(len(self.lam or ()), len(self.alpha or ())) > 1:
            raise SettingError(
                "the best of several values of {lam} or {alpha} is chosen on held-out text: give {dev}"
            )


@dataclass(frozen=True, kw_only=True)
class Loglinear(_Penalised, Common):
    """Log-linear models over the contexts of a suffix trie."""

    panel = TRAINING
    method: Annotated[Literal["loglinear"], "Smoothing or model."] = "loglinear"
    order: Annotated[
        int | Literal["unbounded"], AtLeast(1), AtMost(10**6), "Length of the longest n-grams."
    ] = 5
    solver: Annotated[Literal["words", "fista", "ista", "sage"] | None, "Solver (default: words)."] = None
    tol: Annotated[float | None, AtLeast(0), "Violation of optimality at which to stop."] = None
    max_iter: Annotated[int | None, AtLeast(1), "Greatest number of iterations."] = None
    collapse: Annotated[
        bool | None, "Contexts that always come together share a weight (default: where nothing is lost)."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Hierarchical(Loglinear):
    """Log-linear models that predict a word by going down a tree of words."""

    panel = FEATURES
    method: Annotated[Literal["hierarchical"], "Smoothing or model."] = "hierarchical"
    tree: Annotated[
        Literal["huffman", "classes", "taxonomy"] | str | Any, File, "Tree of words, or a file that has one."
    ] = "huffman"
    classes: Annotated[str | Any | None, File, "Brown paths, or a model of spinney classes."] = None

    def check(self) -> None:
        super().check()
        if self.tree == "classes" and self.classes is None:
            raise SettingError("{tree} classes needs {classes}: Brown paths, or a model of spinney classes")
        if self.classes is not None and self.tree not in ("huffman", "classes"):
            raise SettingError(
                "{classes} and {tree} {spec} both say what the tree is: give one", spec=self.tree
            )


@dataclass(frozen=True, kw_only=True)
class ClassBased(Vocabulary, Common):
    """A model of word classes, and of the words in each."""

    panel = FEATURES
    method: Annotated[Literal["class"], "Smoothing or model."] = "class"
    order: Annotated[int, AtLeast(1), AtMost(10**6), "Length of the longest n-grams."] = 5
    classes: Annotated[str | Any | None, File, "Brown paths, or a model of spinney classes."] = None

    def check(self) -> None:
        super().check()
        if self.classes is None:
            raise SettingError("{method} class needs {classes}: Brown paths, or a model of spinney classes")


FIT = methods(
    Ngram, Discounted, Interpolated, Additive, PitmanYor, Memoizer, Loglinear, Hierarchical, ClassBased
)


@dataclass(frozen=True, kw_only=True)
class Apply(WordsOf, Common):
    """``apply``: the log-probability of each word."""

    panel = OUTPUT
    sentences: Annotated[bool, "A line for each sentence: number, log10 total, words, perplexity."] = False


@dataclass(frozen=True, kw_only=True)
class Evaluate(WordsOf, Common):
    """``eval``: the perplexity of a text."""

    panel = OUTPUT
    ends: Annotated[bool, "Score the ends of sentences."] = True
    unknown: Annotated[bool, "Score unknown words, as the unknown word."] = True
    breakdown: Annotated[
        Literal["depth", "frequency"] | None, "Mean losses by matched context or by frequency in training."
    ] = None
    against: Annotated[tuple[str, ...], Repeated, File, "Another model: the difference, with a test."] = ()


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: what a language model holds."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), "Number of contexts, weights, classes or words to show."] = 10
    context: Annotated[str | None, "Show what comes after these words; <s> starts a sentence."] = None


@dataclass(frozen=True, kw_only=True)
class Mix(TextFiles, Common):
    """``mix``: several models as one."""

    panel = TRAINING
    dev: Annotated[str | None, File, "Held-out text that the weights are fitted to."] = None
    by: Annotated[
        Literal["all", "depth", "rule"],
        "One weight for each model, for each depth of matched context, or a rule.",
    ] = "all"
    log_linear: Annotated[bool, "A weighted product, normalised (slow), rather than a sum."] = False
    cache_words: Annotated[int | None, AtLeast(1), "Mix in a cache of the last words of the text."] = None
    cache_decay: Annotated[
        float | None, Above(0), AtMost(1), "Decay of the cache from word to word (default: 0.995)."
    ] = None
    cache_order: Annotated[
        int | None, AtLeast(1), AtMost(3), "Cache words, pairs or triples (default: 1)."
    ] = None

    def check(self) -> None:
        super().check()
        if self.log_linear and self.by != "all":
            raise SettingError("{log_linear} has one exponent for each model: {by} is for sums")
        if self.cache_words is None and (self.cache_decay is not None or self.cache_order is not None):
            raise SettingError("{cache_decay} and {cache_order} go with {cache_words}")
        if self.dev is None:
            raise SettingError("{dev} is missing: the weights are fitted to held-out text")


@dataclass(frozen=True, kw_only=True)
class Sample(Common):
    """``sample``: sentences drawn from a model."""

    panel = OUTPUT
    number: Annotated[int, AtLeast(1), "Number of sentences."] = 5
    context: Annotated[str, "The first words of each sentence."] = ""
    temperature: Annotated[float, Above(0), "Below 1, likely words become likelier; above 1, less so."] = 1.0
    max_words: Annotated[int, AtLeast(1), "Greatest length of a sentence."] = 100


@dataclass(frozen=True, kw_only=True)
class Import(Common):
    """``import``: an ARPA file as a model."""

    panel = DATA
    unknown: Annotated[str, "The word of the file that stands for all unknown words."] = "<unk>"
    lowercase: Annotated[bool, "Fold the text that the model will see to lower case."] = False
    encoding: Annotated[str, "Character encoding of the file."] = "utf-8"
