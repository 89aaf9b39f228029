"""The table of all commands: what each task can do, with the settings that it takes and the function that does it."""

from __future__ import annotations

from dataclasses import dataclass

from spinney.cli.verbs import Argument, Verb, option
from spinney.settings import Common, Methods, Settings
from spinney.settings import classes as class_settings
from spinney.settings import embed as embed_settings
from spinney.settings import lm as lm_settings

MODEL = Argument("model", "Model file.")
TRAIN = Argument("train", "Training files or folders; - is standard input.", several=True)
TEXT = Argument("data", "Text; - is standard input.", default="-")
MODEL_OUT = option("model", "Where to write the model.")
OUTPUT = option("output", "Where to write; - is standard output.", default="-")


@dataclass(frozen=True)
class Task:
    """A task: what it is about, and its verbs."""

    help: str
    verbs: dict[str, Verb]


def fit(help: str, settings: type[Settings] | Methods, uses: str, train: Argument = TRAIN) -> Verb:
    """A ``fit``: the recipe ``uses`` takes the training data and the settings, and gives a model."""
    return Verb(help, "spinney.cli.running:fit", settings, (train,), (MODEL_OUT,), uses)


def apply(help: str, settings: type[Settings], task: str, data: Argument = TEXT) -> Verb:
    """An ``apply``: the model does it."""
    return Verb(help, "spinney.cli.running:apply", settings, (MODEL, data), (OUTPUT,), task)


def evaluate(help: str, settings: type[Settings], task: str, *data: Argument) -> Verb:
    """An ``eval``: the model does it."""
    return Verb(help, "spinney.cli.running:evaluate", settings, (MODEL, *data), (), task)


def inspect(help: str, settings: type[Settings], task: str) -> Verb:
    """An ``inspect``: the views of the model."""
    return Verb(help, "spinney.cli.running:inspect", settings, (MODEL,), (), task)


def show(help: str, settings: type[Settings], uses: str, *arguments: Argument) -> Verb:
    """Another verb that shows views."""
    return Verb(help, "spinney.cli.running:show", settings, arguments, (), uses)


def make(help: str, settings: type[Settings], uses: str, *arguments: Argument) -> Verb:
    """Another verb that makes a model."""
    return Verb(help, "spinney.cli.running:make", settings, arguments, (MODEL_OUT,), uses)


_CLASSES, _EMBED, _LM = class_settings, embed_settings, lm_settings
_VECTORS = Argument("model", "Model file, or a file of vectors (word2vec).")
_OUT = Argument("output", "File to write; - is standard output.")
TASKS: dict[str, Task] = {
    "classes": Task(
        "Word classes: Brown and exchange clustering, hidden Markov chains and trees.",
        {
            "fit": fit("Learn word classes from text.", _CLASSES.FIT, "spinney.classes.recipes:fit"),
            "apply": apply(
                "Write each token on a line with its class in a column of its own; blank lines end sentences.",
                _CLASSES.Apply,
                "classes",
            ),
            "eval": evaluate(
                "Measure word similarity, categories, relations, composition, and the likelihood of text.",
                _CLASSES.Evaluate,
                "classes",
                Argument("data", "Held-out text; - is standard input.", default=None),
            ),
            "inspect": inspect(
                "Show classes with their words, what follows them, and words of several classes.",
                _CLASSES.Inspect,
                "classes",
            ),
            "neighbours": show(
                "Show the words most like a word, by similarity (1 is the same) or distance.",
                _CLASSES.Neighbours,
                "spinney.classes.recipes:neighbours",
                MODEL,
                Argument("word", "A word."),
            ),
            "plot": show(
                "Draw a map of words, or the transitions between classes.",
                _CLASSES.Plot,
                "spinney.classes.plots:plot",
                MODEL,
                Argument("output", "A .png, .svg or .pdf file; .tsv for the numbers of a map."),
            ),
            "export": show(
                "Write classes or vectors in a common format.",
                _CLASSES.Export,
                "spinney.classes.recipes:export",
                MODEL,
                _OUT,
            ),
            "place": make(
                "Give new words the classes where they fit best; the classes of old words stay.",
                _CLASSES.Place,
                "spinney.classes.recipes:place",
                Argument("classes", "Clustering of fit, or a Brown paths file."),
                TRAIN,
            ),
        },
    ),
    "embed": Task(
        "Embeddings: eigenwords and their kin, sparse codes, spectral HMMs, topics by moments.",
        {
            "fit": fit(
                "Learn vectors of words, hidden states or topics from text.",
                _EMBED.FIT,
                "spinney.embed.recipes:fit",
            ),
            "apply": apply(
                "Write the vector or state of each token, the log-probability of each sentence (hmm), or the "
                "topics of each document.",
                _EMBED.Apply,
                "embed",
            ),
            "eval": show(
                "Measure word similarity, analogies, categories, sentiment, and the perplexity of text.",
                _EMBED.Evaluate,
                "spinney.embed.recipes:evaluate",
                _VECTORS,
                Argument("data", "hmm, topics: held-out text; - is standard input.", default=None),
            ),
            "inspect": inspect(
                "Show how a model was learnt, its spectrum, and the strongest words of dimensions or topics.",
                _EMBED.Inspect,
                "embed",
            ),
            "neighbours": show(
                "Show the words most like each of some words, by the cosine of their vectors.",
                _EMBED.Neighbours,
                "spinney.embed.recipes:neighbours",
                _VECTORS,
                Argument("words", "Words.", several=True),
            ),
            "export": show(
                "Write vectors as word2vec text, or topics as a table of topic, word and probability.",
                Common,
                "spinney.embed.recipes:export",
                MODEL,
                _OUT,
            ),
            "cluster": make(
                "Make classes of words by k-means on their vectors.",
                _EMBED.Cluster,
                "spinney.embed.recipes:cluster",
                Argument("vectors", "Model file, or a file of vectors (word2vec)."),
            ),
        },
    ),
    "lm": Task(
        "Language models: smoothed n-grams, Pitman-Yor, log-linear, class-based and mixed models.",
        {
            "fit": fit(
                "Train a language model on text with one sentence per line.",
                _LM.FIT,
                "spinney.lm.recipes:fit",
            ),
            "apply": apply(
                "Give the log10 probability of each word and of the end of each sentence.", _LM.Apply, "lm"
            ),
            "eval": evaluate(
                "Measure the perplexity of a text. Words and ends of sentences count, as in KenLM.",
                _LM.Evaluate,
                "lm",
                Argument("data", "Files of text; - is standard input.", several=True),
            ),
            "inspect": inspect(
                "Show the size, discounts or weights, and strongest contexts of a model.", _LM.Inspect, "lm"
            ),
            "mix": make(
                "Mix several models, with the weights that make held-out text most likely.",
                _LM.Mix,
                "spinney.lm.recipes:mix",
                Argument("models", "Model files of one vocabulary.", several=True),
            ),
            "sample": show("Draw sentences from a model.", _LM.Sample, "spinney.lm.recipes:sample", MODEL),
            "export": Verb(
                "Write an ARPA file for KenLM, SRILM and others. The model must be a back-off model.",
                "spinney.cli.running:show",
                Common,
                (MODEL, Argument("output", "File to write: OUT.arpa or OUT.arpa.gz.")),
                uses="spinney.lm.recipes:export",
            ),
            "import": make(
                "Read an ARPA file of KenLM, SRILM or another program.",
                _LM.Import,
                "spinney.lm.recipes:import_arpa",
                Argument("arpa", "ARPA file, compressed or not."),
            ),
        },
    ),
}
