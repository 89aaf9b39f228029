"""The table of all commands: what each task can do, with the settings that it takes and the function that does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from spinney.cli.verbs import Argument, Verb, option
from spinney.settings import DATA, Common, Methods, Setting, Settings
from spinney.settings.commands import Demo, Doctor
from spinney.settings.report import Report
from spinney.settings.serve import Serve

MODEL = Argument("model", "Model file.")
TRAIN = Argument("train", "Training files or folders; - is standard input.", several=True)
TEXT = Argument("data", "Text; - is standard input.", default="-")
MODEL_OUT = option("model", "Where to write the model.")
OUTPUT = option("output", "Where to write; - is standard output.", default="-")
PAGE = option("report", "Write an HTML page as well.")


@dataclass(frozen=True)
class Task:
    """A task: its help, and what makes its verbs, which takes longer than most commands need for the rest."""

    name: str
    help: str
    make: Callable[[], dict[str, Verb]]

    @cached_property
    def verbs(self) -> dict[str, Verb]:
        """What the task can do."""
        verbs = self.make()
        return {**verbs, "init-config": init_config(self.name, verbs["fit"])}


def init_config(task: str, fit: Verb) -> Verb:
    """The verb that writes a configuration file for ``fit``."""
    methods = () if isinstance(fit.settings, type) else tuple(fit.settings)
    options = (
        [option("method", "Method whose settings to write.", choices=methods, default=methods[0])]
        if methods
        else []
    )
    return Verb(
        "Write a configuration file for fit --config: all settings with their defaults, or the settings of a model.",
        "spinney.cli.config:init_config",
        output=(*options, option("from", "Model whose configuration to write."), OUTPUT),
        uses=task,
    )


def fit(help: str, settings: type[Settings] | Methods, uses: str, train: Argument = TRAIN) -> Verb:
    """A ``fit``: the recipe ``uses`` makes a model from the training data and the settings."""
    return Verb(help, "spinney.cli.running:fit", settings, (train,), (MODEL_OUT,), uses)


def apply(help: str, settings: type[Settings], task: str, data: Argument = TEXT) -> Verb:
    """An ``apply``: it calls the model's method."""
    return Verb(help, "spinney.cli.running:apply", settings, (MODEL, data), (OUTPUT,), task)


def evaluate(help: str, settings: type[Settings], task: str, *data: Argument) -> Verb:
    """An ``eval``: it calls the model's method."""
    return Verb(help, "spinney.cli.running:evaluate", settings, (MODEL, *data), (), task)


def explain(help: str, settings: type[Settings], task: str, data: Argument = TEXT) -> Verb:
    """An ``explain``: it calls the model's method."""
    return Verb(help, "spinney.cli.running:explain", settings, (MODEL, data), (), task)


def inspect(help: str, settings: type[Settings], task: str) -> Verb:
    """An ``inspect``: the views of the model."""
    return Verb(help, "spinney.cli.running:inspect", settings, (MODEL,), (), task)


def show(
    help: str, settings: type[Settings], uses: str, *arguments: Argument, output: tuple[Setting, ...] = ()
) -> Verb:
    """Another verb that shows views, on a page as well if :data:`PAGE` is among its output."""
    return Verb(help, "spinney.cli.running:show", settings, arguments, output, uses)


def make(help: str, settings: type[Settings], uses: str, *arguments: Argument) -> Verb:
    """Another verb that makes a model."""
    return Verb(help, "spinney.cli.running:make", settings, arguments, (MODEL_OUT,), uses)


def path(help: str, settings: type[Settings], uses: str, *output: Setting) -> Verb:
    """A ``path``: the recipe ``uses`` makes models at decreasing strengths of the penalty."""
    return Verb(help, "spinney.cli.running:path", settings, (TRAIN,), (*output, PAGE), uses)


_VECTORS = Argument("model", "Model file, or vectors of word2vec, GloVe or fastText.")
_OUT = Argument("output", "File to write; - is standard output.")
_LABELLED = "Labelled documents: a folder, a table, trees or numbers."
_TAGGED = Argument("train", "Files of labelled sentences.", several=True)


def _classes() -> dict[str, Verb]:
    from spinney.settings import classes as settings

    return {
        "fit": fit("Learn word classes from text.", settings.FIT, "spinney.classes.recipes:fit"),
        "apply": apply(
            "Write one token per line with its class in a separate column; blank lines separate sentences.",
            settings.Apply,
            "classes",
        ),
        "eval": evaluate(
            "Evaluate word similarity, categories, relations, composition, and the likelihood of text.",
            settings.Evaluate,
            "classes",
            Argument("data", "Held-out text; - is standard input.", default=None),
        ),
        "inspect": inspect(
            "Show classes with their words, the classes that follow them, and ambiguous words.",
            settings.Inspect,
            "classes",
        ),
        "explain": explain(
            "Show why tokens have their classes: what the word says, and what its context says.",
            settings.Explain,
            "classes",
        ),
        "neighbours": show(
            "Show the nearest neighbours of a word, by similarity (1 is identical) or distance.",
            settings.Neighbours,
            "spinney.classes.recipes:neighbours",
            MODEL,
            Argument("word", "Word to look up."),
        ),
        "plot": show(
            "Draw a map or a dendrogram of words, tokens in context, or the transitions between classes.",
            settings.Plot,
            "spinney.classes.plots:plot",
            MODEL,
            Argument("output", "A .png, .svg or .pdf file; .tsv for the coordinates of a map."),
        ),
        "export": show(
            "Write classes or vectors in a common format.",
            settings.Export,
            "spinney.classes.recipes:export",
            MODEL,
            _OUT,
        ),
        "place": make(
            "Assign new words to the classes that fit them best; known words keep their classes.",
            settings.Place,
            "spinney.classes.recipes:place",
            Argument("classes", "Model made by classes fit, or a Brown paths file."),
            TRAIN,
        ),
    }


def _classify() -> dict[str, Verb]:
    from spinney.settings import classify as settings

    return {
        "fit": fit(
            "Train a document classifier or, with --regression, a regressor.",
            settings.FIT,
            "spinney.classify.recipes:fit",
            Argument("train", _LABELLED),
        ),
        "apply": apply(
            "Label documents: one line per document, with its id and its label or number.",
            settings.Apply,
            "classify",
            Argument("data", "Documents as for fit, or lines; - is standard input.", default="-"),
        ),
        "eval": evaluate(
            "Measure accuracy, F1 and log loss or, for a regressor, errors and R².",
            settings.Evaluate,
            "classify",
            Argument("data", _LABELLED),
        ),
        "inspect": inspect(
            "Show the size of a model, the words of each class, its groups or tree, and how it judges documents.",
            settings.Inspect,
            "classify",
        ),
        "explain": explain(
            "Show why documents have their labels: the contributions of words, groups and sentences.",
            settings.Explain,
            "classify",
            Argument("data", "Documents as for fit, or lines; - is standard input.", default="-"),
        ),
        "path": show(
            "Show the regularisation path: active weights, objective and score as the strength decreases.",
            settings.Path,
            "spinney.classify.recipes:path",
            Argument("train", _LABELLED),
            output=(PAGE,),
        ),
    }


def _embed() -> dict[str, Verb]:
    from spinney.settings import embed as settings

    return {
        "fit": fit(
            "Learn word vectors, hidden states or topics from text.",
            settings.FIT,
            "spinney.embed.recipes:fit",
        ),
        "apply": apply(
            "Write the vector or state of each token, the log-probability of each sentence (hmm), or the "
            "topics of each document.",
            settings.Apply,
            "embed",
        ),
        "eval": show(
            "Evaluate word similarity, analogies, categories, sentence completion, sentiment, and the "
            "perplexity of text.",
            settings.Evaluate,
            "spinney.embed.recipes:evaluate",
            _VECTORS,
            Argument("data", "Held-out text for hmm and topics; - is standard input.", default=None),
        ),
        "inspect": inspect(
            "Show how a model was learned, its spectrum, and the strongest words of dimensions or topics.",
            settings.Inspect,
            "embed",
        ),
        "explain": explain(
            "Show the nearest words of each token, or the topics of documents with the words of each.",
            settings.Explain,
            "embed",
        ),
        "neighbours": show(
            "Show the nearest neighbours of words, by the cosine of their vectors.",
            settings.Neighbours,
            "spinney.embed.recipes:neighbours",
            _VECTORS,
            Argument("words", "Words to look up.", several=True),
        ),
        "plot": show(
            "Draw words in the plane by t-SNE, or their numbers as a heat map.",
            settings.Plot,
            "spinney.embed.plots:plot",
            _VECTORS,
            Argument("output", "A .png, .svg or .pdf file; .tsv for places in the plane."),
        ),
        "export": show(
            "Write vectors in word2vec text format, or topics as a table of topic, word and probability.",
            Common,
            "spinney.embed.recipes:export",
            MODEL,
            _OUT,
        ),
        "cluster": make(
            "Make word classes by k-means clustering of word vectors.",
            settings.Cluster,
            "spinney.embed.recipes:cluster",
            Argument("vectors", "Model file, or vectors of word2vec, GloVe or fastText."),
        ),
    }


def _lm() -> dict[str, Verb]:
    from spinney.settings import lm as settings

    return {
        "fit": fit(
            "Train a language model on text with one sentence per line.",
            settings.FIT,
            "spinney.lm.recipes:fit",
        ),
        "apply": apply(
            "Write the log10 probability of each word and of the end of each sentence.", settings.Apply, "lm"
        ),
        "eval": evaluate(
            "Measure the perplexity of a text. Words and sentence ends are counted, as in KenLM.",
            settings.Evaluate,
            "lm",
            Argument("data", "Text files; - is standard input.", several=True),
        ),
        "inspect": inspect(
            "Show the size, discounts or weights, and strongest contexts of a model.", settings.Inspect, "lm"
        ),
        "explain": explain(
            "Show which part of the context gave how much of the probability of each word.",
            settings.Explain,
            "lm",
        ),
        "mix": make(
            "Mix several models, with weights that maximise the likelihood of held-out text.",
            settings.Mix,
            "spinney.lm.recipes:mix",
            Argument("models", "Model files with the same vocabulary.", several=True),
        ),
        "prune": make(
            "Make a back-off model smaller: fewer n-grams, or fewer bits for each, and show what is lost.",
            settings.Prune,
            "spinney.lm.deploying:prune",
            Argument("large", "Model file of a back-off model."),
        ),
        "sample": show("Draw sentences from a model.", settings.Sample, "spinney.lm.recipes:sample", MODEL),
        "export": Verb(
            "Write an ARPA file for KenLM, SRILM and others. The model must be a back-off model.",
            "spinney.cli.running:show",
            Common,
            (MODEL, Argument("output", "File to write: OUT.arpa or OUT.arpa.gz.")),
            uses="spinney.lm.recipes:export",
        ),
        "import": make(
            "Make a model from an ARPA file of KenLM, SRILM or another program.",
            settings.Import,
            "spinney.lm.recipes:import_arpa",
            Argument("arpa", "ARPA file, compressed or not."),
        ),
    }


def _parse() -> dict[str, Verb]:
    from spinney.settings import parse as settings

    return {
        "fit": fit(
            "Learn a parser from a treebank.",
            settings.FIT,
            "spinney.parsing.recipes:fit",
            Argument(
                "train",
                "Files or folders of trees (for head automata, CoNLL-U); - is standard input.",
                several=True,
            ),
        ),
        "apply": apply(
            "Parse sentences: one tree per line (empty for an empty line). Streams are parsed as they arrive.",
            settings.Apply,
            "parse",
        ),
        "eval": evaluate(
            "Measure bracket F1 as evalb does, tags and dependencies or, for head automata, heads.",
            settings.Evaluate,
            "parse",
            Argument("data", "Trees, in files or folders; - is standard input.", several=True),
        ),
        "explain": explain(
            "Show the rules of trees, or the arcs, with log-probabilities that add up to that of the tree.",
            settings.Explain,
            "parse",
        ),
        "inspect": inspect(
            "Show the labels of a grammar and what their states stand for, or the dependents of each tag.",
            settings.Inspect,
            "parse",
        ),
    }


def _pipeline() -> dict[str, Verb]:
    from spinney.settings import pipeline as settings

    return {
        "fit": fit(
            "Learn a tokeniser, a tagger, a lemmatiser and a parser from a treebank.",
            settings.FIT,
            "spinney.pipeline.recipes:fit",
            Argument("train", "Treebank: CoNLL-U files.", several=True),
        ),
        "apply": apply(
            "Turn raw or tokenised text into CoNLL-U with tags, lemmas and trees.",
            settings.Apply,
            "pipeline",
        ),
        "eval": evaluate(
            "Measure the metrics of the CoNLL 2018 shared task, from tokens or raw text.",
            settings.Evaluate,
            "pipeline",
            Argument("data", "Treebank: CoNLL-U files.", several=True),
        ),
        "explain": explain("Show why words have their heads or tags.", settings.Explain, "pipeline"),
        "inspect": inspect("Show what each part learned.", settings.Inspect, "pipeline"),
        "import": Verb(
            "Write CoNLL-U, for fit, from ELAN files, from plain columns, or from lines of word/TAG.",
            "spinney.cli.running:convert",
            settings.Import,
            (Argument("files", "Files, or folders of ELAN files.", several=True),),
            (OUTPUT,),
            "spinney.pipeline.importing:import_files",
        ),
    }


def _tag() -> dict[str, Verb]:
    from spinney.settings import tag as settings

    return {
        "fit": fit(
            "Train a tagger on sentences whose last column is the label.",
            settings.FIT,
            "spinney.tagging.recipes:fit",
            _TAGGED,
        ),
        "apply": apply(
            "Label sentences: each line is written with its label added. Streams are labelled as they arrive.",
            settings.Apply,
            "tag",
            Argument("data", "Sentences; - is standard input.", default="-"),
        ),
        "eval": evaluate(
            "Measure token and sentence error, and phrase scores.",
            settings.Evaluate,
            "tag",
            Argument("data", "Files of labelled sentences.", several=True),
        ),
        "inspect": inspect(
            "Show the strongest observations and transitions, and the active weights of each pattern.",
            settings.Inspect,
            "tag",
        ),
        "explain": explain(
            "Show why tokens have their labels: what speaks for each, and what for the next best label.",
            settings.Explain,
            "tag",
            Argument("data", "Sentences; - is standard input.", default="-"),
        ),
        "path": path(
            "Train taggers at decreasing strengths λ, each started from the last: errors, sizes and times.",
            settings.Path,
            "spinney.tagging.recipes:path",
            option("model", "Where to write the model with the lowest error on dev."),
        ),
        "prune": Verb(
            "Drop small weights at several thresholds: what is left, bigrams without unigrams, errors, margins.",
            "spinney.cli.running:smaller",
            settings.Prune,
            (
                Argument("large", "Model file of a tagger."),
                Argument("data", "Files of labelled sentences to score on.", several=True, default=()),
            ),
            (option("model", "Where to write the tagger of the last threshold."),),
            "spinney.tagging.thresholds:prune",
        ),
        "import": make(
            "Make a tagger from a model of CRFsuite, Wapiti or CRF++, which labels sentences as they do.",
            settings.Import,
            "spinney.tagging.recipes:import_model",
            Argument("foreign", "Model file of CRFsuite, Wapiti or CRF++."),
        ),
        "export": show(
            "Write a model file for CRFsuite. The tagger must have been trained with --no-start-label.",
            settings.Export,
            "spinney.tagging.recipes:export",
            MODEL,
            Argument("output", "File to write."),
        ),
    }


def _trend() -> dict[str, Verb]:
    from spinney.settings import trend as settings

    return {
        "fit": fit(
            "Fit series of weights to dated documents, to predict numbers, two classes, or the words themselves.",
            settings.FIT,
            "spinney.trend.recipes:fit",
            Argument(
                "train", "CSV or TSV files, or folders named by year; - is standard input.", several=True
            ),
        ),
        "apply": apply(
            "Forecast the number or class of each document, or how surprising its words are (nats: −ln p).",
            settings.Apply,
            "trend",
            Argument("data", "CSV or TSV file, folder, or lines; - is standard input.", default="-"),
        ),
        "eval": evaluate(
            "Score the forecasts of a model on later documents, overall and by time.",
            settings.Evaluate,
            "trend",
            Argument("data", "Dated documents; - is standard input."),
        ),
        "explain": explain(
            "Show what the words of documents add to their forecasts.",
            settings.Explain,
            "trend",
            Argument("data", "CSV or TSV file, folder, or lines; - is standard input.", default="-"),
        ),
        "compare": show(
            "Compare methods by rolling origin: each test time is forecast from strictly earlier ones. The first "
            "test time also chooses the settings, so the scores without it are the fair ones. A setting "
            "that is not at its default is not varied.",
            settings.Compare,
            "spinney.trend.recipes:comparison",
            Argument("data", "Dated documents; - is standard input."),
        ),
        "inspect": inspect(
            "Show the strongest series, those that changed most, how stiff they are, and what is expected next.",
            settings.Inspect,
            "trend",
        ),
    }


#: The tasks, in the order of help. What a verb takes is imported with the task that is called.
TASKS: dict[str, Task] = {
    "classes": Task(
        "classes",
        "Word classes: Brown and exchange clustering, mixtures of pairs, hidden Markov chains and trees.",
        _classes,
    ),
    "classify": Task(
        "classify",
        "Text classifiers and regressors: sparse linear models with any penalty.",
        _classify,
    ),
    "embed": Task(
        "embed",
        "Embeddings: eigenwords and related vectors, sparse codes, spectral HMMs, topics by moments.",
        _embed,
    ),
    "lm": Task(
        "lm",
        "Language models: smoothed n-grams, Pitman-Yor, log-linear, class-based and mixed models.",
        _lm,
    ),
    "parse": Task(
        "parse",
        "Parsers: grammars with latent states (EM, split and merge, spectral), and head automata.",
        _parse,
    ),
    "pipeline": Task(
        "pipeline",
        "Pipelines from raw text to tokens, tags, lemmas and trees, learned from one treebank.",
        _pipeline,
    ),
    "tag": Task(
        "tag",
        "Sequence taggers: conditional random fields with any penalty, sparse or structured.",
        _tag,
    ),
    "trend": Task(
        "trend",
        "Trends: weights of words that change over time, fitted, forecast and shown.",
        _trend,
    ),
}

SHELLS = ("bash", "zsh", "fish")
#: The commands that belong to no task.
COMMANDS: dict[str, Verb] = {
    "report": Verb(
        "Write an HTML page that shows what a model learned. It needs neither a network nor any other file.",
        "spinney.cli.report:report",
        Report,
        (Argument("model", "Model file of any task."),),
        (
            option("data", "Data to show the model on: documents, text, trees or columns.", panel=DATA),
            option("output", "Where to write the page; - is standard output.", default="report.html"),
        ),
    ),
    "serve": Verb(
        "Serve models by HTTP: JSON in and out, and a page to type into. Ctrl-C stops.",
        "spinney.cli.serving:serve",
        Serve,
        (Argument("models", "Model files of any task.", several=True),),
    ),
    "demo": Verb(
        "Take a tour: sparse and structured models of Python's own manual, and what they learned.",
        "spinney.cli.demo:demo",
        Demo,
        (Argument("folder", "Where to write the texts, the models and the report.", default="spinney-demo"),),
    ),
    "doctor": Verb(
        "Check the installation: versions, processors, kernels, extras, folders, and problems with their remedies.",
        "spinney.cli.doctor:doctor",
        Doctor,
    ),
    "completion": Verb(
        'Print a script for completion in the shell: eval "$(spinney completion bash)".',
        "spinney.cli.completion:completion",
        arguments=(Argument("shell", "Shell (default: the one in $SHELL).", default=None, choices=SHELLS),),
    ),
}


def every_verb() -> dict[tuple[str, ...], Verb]:
    """All verbs by their words: ``("lm", "fit")``, ``("report",)``."""
    verbs = {(task, name): verb for task, of in TASKS.items() for name, verb in of.verbs.items()}
    return verbs | {(name,): verb for name, verb in COMMANDS.items()}
