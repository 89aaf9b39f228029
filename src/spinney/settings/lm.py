"""Settings of language models."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

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
    Above,
    AtLeast,
    AtMost,
    Common,
    File,
    Repeated,
    Spread,
    methods,
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import TextFiles, TrainingText, WordsOf

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, kw_only=True)
class Vocabulary(TrainingText):
    """The vocabulary."""

    panel = DATA
    dev: Annotated[
        str | None, File, "Held-out text, to choose strengths and weights and to report the perplexity."
    ] = None
    min_count: Annotated[int, AtLeast(1), COUNT, "Rarer words become the unknown word."] = 1
    max_words: Annotated[int | None, AtLeast(2), COUNT, "Keep only this many of the most frequent words."] = (
        None
    )
    unknown: Annotated[str | None, "The unknown word (default: <unk>)."] = None
    closed: Annotated[bool, "Have no unknown word: unseen words get no probability."] = False
    vocabulary: Annotated[str | None, File, "Take the words from another model, or from a word list."] = None
    units: Annotated[
        Literal["word", "char", "bpe"], "What is predicted: words, characters, or pieces of words."
    ] = "word"
    vocab_size: Annotated[
        int | None, AtLeast(2), AtMost(10**6), "Number of pieces of words to learn (default: 8000)."
    ] = None

    def check(self) -> None:
        super().check()
        if self.closed and (self.min_count > 1 or self.max_words is not None):
            raise SettingError(
                "{closed} keeps every word, but {min_count} and {max_words} need an unknown word: leave them out"
            )
        if self.vocabulary is not None and (self.min_count > 1 or self.max_words is not None):
            raise SettingError("{vocabulary} already fixes the words: leave out {min_count} and {max_words}")
        if self.closed and self.unknown is not None:
            raise SettingError("{closed} means that there is no unknown word: leave out {unknown}")
        if self.vocab_size is not None and self.units != "bpe":
            raise SettingError(
                "{vocab_size} is the number of pieces of {units} bpe: give that, or leave it out"
            )
        if self.units != "word" and self.vocabulary is not None:
            raise SettingError(
                "{units} {found} finds its own units: leave out {vocabulary}", found=self.units
            )
        if self.units == "bpe" and self.closed:
            raise SettingError("{units} bpe needs an unknown piece for new characters: leave out {closed}")
        word = self.unknown
        if word is not None and (word in ("<s>", "</s>") or not word or word.split() != [word]):
            raise SettingError(
                "{unknown} must be a single word other than <s> and </s>, not {word}", word=repr(word)
            )


@dataclass(frozen=True, kw_only=True)
class _Counted(Vocabulary):
    """Smoothed n-gram models."""

    panel = TRAINING
    order: Annotated[int, AtLeast(1), AtMost(10**6), "Length of the longest n-grams."] = 5
    memory: Annotated[str | None, "Memory to use for counting, such as 2G; the rest is kept on disk."] = None
    prune_counts: Annotated[
        tuple[int, ...] | None,
        AtLeast(0),
        COUNT,
        "Remove n-grams seen no more often than this, by order: 0,1,1 removes all but words that were seen once.",
    ] = None
    scratch: Annotated[str | None, File, "Folder for temporary files when memory is bounded."] = None

    def check(self) -> None:
        super().check()
        self.bytes  # noqa: B018  refuses anything that is not a number of bytes
        pruned = self.prune_counts
        if pruned is not None and (pruned[:1] != (0,) or any(b < a for a, b in pairwise(pruned))):
            raise SettingError(
                "{prune_counts} must begin with 0, for single words, and never fall, as 0,1,1 does; not {wrong}",
                wrong=",".join(map(str, pruned)) or "empty",
            )
        if pruned is not None and getattr(self, "method", "") in ("good-turing", "additive"):
            raise SettingError("{method} has no shorter contexts to fall back on: leave out {prune_counts}")
        if self.scratch is not None and self.memory is None:
            raise SettingError("{scratch} is where {memory} keeps what does not fit: give {memory}")

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
class Ngram(_Counted, Spread):
    """Smoothing methods without further settings."""

    method: Annotated[Literal["mkn", "wb", "katz", "good-turing"], "Smoothing method or kind of model."] = (
        "mkn"
    )


@dataclass(frozen=True, kw_only=True)
class Discounted(_Counted, Spread):
    """Absolute discounting and Kneser-Ney with one discount."""

    method: Annotated[Literal["kn", "kn-backoff", "ad"], "Smoothing method or kind of model."] = "kn"
    discount: Annotated[
        tuple[float, ...] | None,
        AtLeast(0),
        AtMost(1),
        "Discount subtracted from every count, or one for each order (default: estimated from the counts).",
    ] = None

    def check(self) -> None:
        super().check()
        if self.discount is not None and len(self.discount) not in (1, self.order):
            raise SettingError(
                f"{{discount}} has {len(self.discount)} values and {{order}} is {self.order}: give one value, or one "
                f"for each order"
            )


@dataclass(frozen=True, kw_only=True)
class Interpolated(_Counted, Spread):
    """Jelinek-Mercer interpolation, with weights fitted to the held-out text if it is given."""

    method: Annotated[Literal["jm"], "Smoothing method or kind of model."] = "jm"


@dataclass(frozen=True, kw_only=True)
class Additive(_Counted, Spread):
    """Additive smoothing."""

    method: Annotated[Literal["additive"], "Smoothing method or kind of model."] = "additive"
    add: Annotated[float, Above(0), AMOUNT, "Added to every count."] = 1.0


@dataclass(frozen=True, kw_only=True)
class PitmanYor(Vocabulary, Spread):
    """A hierarchical Pitman-Yor process, by Gibbs sampling."""

    panel = TRAINING
    method: Annotated[Literal["pitman-yor"], "Smoothing method or kind of model."] = "pitman-yor"
    order: Annotated[int, AtLeast(1), AtMost(10**6), "Length of the longest n-grams."] = 5
    sweeps: Annotated[int, AtLeast(0), ROUNDS, "Sweeps of the sampler; 0 gives each n-gram one table."] = 50


@dataclass(frozen=True, kw_only=True)
class Memoizer(Vocabulary, Spread):
    """The sequence memoizer."""

    panel = TRAINING
    method: Annotated[Literal["memoizer"], "Smoothing method or kind of model."] = "memoizer"
    order: Annotated[
        int | Literal["unbounded"], AtLeast(1), AtMost(10**6), "Length of the longest n-grams."
    ] = "unbounded"
    sweeps: Annotated[int, AtLeast(0), ROUNDS, "Sweeps of the sampler; 0 gives each n-gram one table."] = 50


@dataclass(frozen=True, kw_only=True)
class _Penalised(Vocabulary):
    """The penalty of log-linear models."""

    panel = PENALTY
    penalty: Annotated[
        Literal["tree-l2", "tree-linf", "l1", "l2", "slope", "none"] | str | Any | None,
        "Penalty (default: tree-l2, or tree-linf if the order is unbounded).",
    ] = None
    lam: Annotated[
        tuple[float, ...] | None,
        AtLeast(0),
        AMOUNT,
        "Strength of the penalty; of several, the best on dev is chosen (default: 0.7).",
    ] = None
    alpha: Annotated[
        tuple[float, ...] | None,
        AtLeast(0),
        AtMost(1000),
        "A context of k words is a feature with the value αᵏ (default: 1.1, or 1 if unbounded).",
    ] = None
    law: Annotated[
        Literal["power", "linear", "log"],
        "How that value grows: αᵏ, 1 + (α − 1)·k, or 1 + (α − 1)·ln(1 + k).",
    ] = "power"
    group_factor: Annotated[
        float,
        Above(0),
        AtMost(1000),
        "Weight a group of k words before the predicted one by this to the power k.",
    ] = 1.0

    def check(self) -> None:
        super().check()
        if self.penalty == "none" and self.lam is not None:
            raise SettingError("{penalty} none has no strength: leave out {lam}")
        if self.dev is None and max(len(self.lam or ()), len(self.alpha or ())) > 1:
            raise SettingError(
                "the best of several values of {lam} or {alpha} is chosen on held-out text: give {dev}"
            )


@dataclass(frozen=True, kw_only=True)
class _OnTrie(_Penalised):
    """Log-linear models over the contexts of a suffix trie."""

    panel = TRAINING
    order: Annotated[
        int | Literal["unbounded"], AtLeast(1), AtMost(10**6), "Length of the longest n-grams."
    ] = 5
    start: Annotated[
        Literal["kneser-ney", "zero"], "Weights to start from: those of Kneser-Ney smoothing, or none."
    ] = "kneser-ney"
    solver: Annotated[Literal["words", "fista", "ista", "sage"] | None, "Solver (default: words)."] = None
    tol: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Stop when the optimality conditions are violated by no more than this.",
    ] = None
    max_iter: Annotated[int | None, AtLeast(1), ROUNDS, "Maximum number of iterations (default: 5000)."] = (
        None
    )
    collapse: Annotated[
        bool | None,
        "Let contexts that always occur together share a weight (default: if the model stays the same).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class Loglinear(_OnTrie, Spread):
    """Log-linear models over the contexts of a suffix trie."""

    method: Annotated[Literal["loglinear"], "Smoothing method or kind of model."] = "loglinear"


@dataclass(frozen=True, kw_only=True)
class Hierarchical(_OnTrie, Spread):
    """Log-linear models that predict a word by going down a tree of words."""

    panel = FEATURES
    method: Annotated[Literal["hierarchical"], "Smoothing method or kind of model."] = "hierarchical"
    tree: Annotated[
        Literal["huffman", "classes", "taxonomy"] | str | Any,
        File,
        "Tree of words, or a file that contains one.",
    ] = "huffman"
    classes: Annotated[str | Any | None, File, "Brown paths, or a model of classes fit."] = None

    def check(self) -> None:
        super().check()
        _check_words(self)
        if self.tree == "classes" and self.classes is None:
            raise SettingError("{tree} classes needs {classes}: Brown paths, or a model of classes fit")
        if self.classes is not None and self.tree not in ("huffman", "classes"):
            raise SettingError(
                "{classes} and {tree} {spec} both define the tree: give only one of them", spec=self.tree
            )


@dataclass(frozen=True, kw_only=True)
class ClassBased(Vocabulary, Spread):
    """A model of word classes, and of the words in each."""

    panel = FEATURES
    method: Annotated[Literal["class"], "Smoothing method or kind of model."] = "class"
    order: Annotated[int, AtLeast(1), AtMost(10**6), "Length of the longest n-grams."] = 5
    classes: Annotated[str | Any | None, File, "Brown paths, or a model of classes fit."] = None

    def check(self) -> None:
        super().check()
        _check_words(self)
        if self.classes is None:
            raise SettingError("{method} class needs {classes}: Brown paths, or a model of classes fit")


def _check_words(s: Hierarchical | ClassBased) -> None:
    if s.units != "word" and s.classes is not None:
        raise SettingError("{classes} are of words: leave out {units}, or {classes}")


FIT = methods(
    Ngram, Discounted, Interpolated, Additive, PitmanYor, Memoizer, Loglinear, Hierarchical, ClassBased
)


@dataclass(frozen=True, kw_only=True)
class Apply(WordsOf, Common):
    """``apply``: the log-probability of each word."""

    panel = OUTPUT
    sentences: Annotated[bool, "Write a line for each sentence: number, log10 total, words, perplexity."] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Evaluate(WordsOf, Spread):
    """``eval``: the perplexity of a text."""

    panel = OUTPUT
    ends: Annotated[bool, "Include the ends of sentences in the score."] = True
    unknown: Annotated[bool, "Include unknown words in the score, as the unknown word."] = True
    breakdown: Annotated[
        Literal["depth", "frequency"] | None,
        "Break the mean loss down by matched context or by training frequency.",
    ] = None
    against: Annotated[
        tuple[str, ...], Repeated, File, "Another model, to test the difference in perplexity."
    ] = ()


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: what a language model contains."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of contexts, weights, classes or words to show."] = 10
    context: Annotated[str | None, "Show what comes after these words; <s> is the start of a sentence."] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class Explain(WordsOf, Explained, Common):
    """``explain``: where the probability of each word comes from."""


@dataclass(frozen=True, kw_only=True)
class Mix(TextFiles, Common):
    """``mix``: combine several models into one."""

    panel = TRAINING
    dev: Annotated[str | None, File, "Held-out text to which the weights are fitted."] = None
    by: Annotated[
        Literal["all", "depth", "rule"],
        "One weight for each model, one for each depth of matched context, or weights given by a rule.",
    ] = "all"
    log_linear: Annotated[bool, "Use a normalised weighted product (slow) instead of a weighted sum."] = False
    cache_words: Annotated[
        int | None, AtLeast(1), COUNT, "Mix in a cache of this many of the most recent words."
    ] = None
    cache_decay: Annotated[
        float | None,
        Above(0),
        AtMost(1),
        "Factor by which cached words fade with each new word (default: 0.995).",
    ] = None
    cache_order: Annotated[
        int | None, AtLeast(1), AtMost(3), "Length of the cached word sequences: 1, 2 or 3 (default: 1)."
    ] = None

    def check(self) -> None:
        super().check()
        if self.log_linear and self.by != "all":
            raise SettingError(
                "{log_linear} has one exponent for each model, and {by} is for sums only: leave one of them out"
            )
        if self.cache_words is None and (self.cache_decay is not None or self.cache_order is not None):
            raise SettingError("{cache_decay} and {cache_order} need a cache: give {cache_words}")
        if self.dev is None:
            raise SettingError("the weights are fitted to held-out text: give {dev}")


@dataclass(frozen=True, kw_only=True)
class Prune(TextFiles, Common):
    """``prune``: make a back-off model smaller."""

    panel = TRAINING
    entropy: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Remove n-grams without which the perplexity rises by less than this share, such as 1e-7.",
    ] = None
    quantise: Annotated[
        int | None, AtLeast(2), AtMost(8), "Bits for each probability and back-off weight; 8 lose little."
    ] = None
    dev: Annotated[str | None, File, "Held-out text on which the loss is measured."] = None

    def check(self) -> None:
        super().check()
        if self.entropy is None and self.quantise is None:
            raise SettingError("nothing to do: give {entropy}, such as 1e-7, or {quantise}, such as 8")


@dataclass(frozen=True, kw_only=True)
class Sample(Common):
    """``sample``: sentences drawn from a model."""

    panel = OUTPUT
    number: Annotated[int, AtLeast(1), COUNT, "Number of sentences."] = 5
    context: Annotated[str, "The first words of each sentence."] = ""
    temperature: Annotated[
        float, Above(0), AMOUNT, "Below 1, likely words become likelier; above 1, less likely."
    ] = 1.0
    max_words: Annotated[int, AtLeast(1), COUNT, "Maximum length of a sentence in words."] = 100


@dataclass(frozen=True, kw_only=True)
class Import(Common):
    """``import``: turn an ARPA file into a model."""

    panel = DATA
    unknown: Annotated[str, "The word in the file that stands for unknown words."] = "<unk>"
    lowercase: Annotated[bool, "Convert the text given to the model to lower case."] = False
    encoding: Annotated[str, "Character encoding of the file."] = "utf-8"
