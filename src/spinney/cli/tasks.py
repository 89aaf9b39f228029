"""The table of all commands: what each task can do, with the settings that it takes and the function that does it."""

from __future__ import annotations

from dataclasses import dataclass

from spinney.cli.verbs import Argument, Verb, option
from spinney.settings import DATA, Common, Methods, Setting, Settings
from spinney.settings import classes as class_settings
from spinney.settings import classify as classify_settings
from spinney.settings import embed as embed_settings
from spinney.settings import lm as lm_settings
from spinney.settings import parse as parse_settings
from spinney.settings import pipeline as pipeline_settings
from spinney.settings import tag as tag_settings
from spinney.settings import trend as trend_settings
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
    """A task: its help and its verbs."""

    help: str
    verbs: dict[str, Verb]


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


_CLASSES, _CLASSIFY, _EMBED = class_settings, classify_settings, embed_settings
_LM, _PARSE, _TAG, _TREND = lm_settings, parse_settings, tag_settings, trend_settings
_PIPELINE = pipeline_settings
_VECTORS = Argument("model", "Model file, or vectors of word2vec, GloVe or fastText.")
_OUT = Argument("output", "File to write; - is standard output.")
_LABELLED = "Labelled documents: a folder, a table, trees or numbers."
_TAGGED = Argument("train", "Files of labelled sentences.", several=True)
TASKS: dict[str, Task] = {
    "classes": Task(
        "Word classes: Brown and exchange clustering, mixtures of pairs, hidden Markov chains and trees.",
        {
            "fit": fit("Learn word classes from text.", _CLASSES.FIT, "spinney.classes.recipes:fit"),
            "apply": apply(
                "Write one token per line with its class in a separate column; blank lines separate sentences.",
                _CLASSES.Apply,
                "classes",
            ),
            "eval": evaluate(
                "Evaluate word similarity, categories, relations, composition, and the likelihood of text.",
                _CLASSES.Evaluate,
                "classes",
                Argument("data", "Held-out text; - is standard input.", default=None),
            ),
            "inspect": inspect(
                "Show classes with their words, the classes that follow them, and ambiguous words.",
                _CLASSES.Inspect,
                "classes",
            ),
            "explain": explain(
                "Show why tokens have their classes: what the word says, and what its context says.",
                _CLASSES.Explain,
                "classes",
            ),
            "neighbours": show(
                "Show the nearest neighbours of a word, by similarity (1 is identical) or distance.",
                _CLASSES.Neighbours,
                "spinney.classes.recipes:neighbours",
                MODEL,
                Argument("word", "Word to look up."),
            ),
            "plot": show(
                "Draw a map or a dendrogram of words, tokens in context, or the transitions between classes.",
                _CLASSES.Plot,
                "spinney.classes.plots:plot",
                MODEL,
                Argument("output", "A .png, .svg or .pdf file; .tsv for the coordinates of a map."),
            ),
            "export": show(
                "Write classes or vectors in a common format.",
                _CLASSES.Export,
                "spinney.classes.recipes:export",
                MODEL,
                _OUT,
            ),
            "place": make(
                "Assign new words to the classes that fit them best; known words keep their classes.",
                _CLASSES.Place,
                "spinney.classes.recipes:place",
                Argument("classes", "Model made by classes fit, or a Brown paths file."),
                TRAIN,
            ),
        },
    ),
    "classify": Task(
        "Text classifiers and regressors: sparse linear models with any penalty.",
        {
            "fit": fit(
                "Train a document classifier or, with --regression, a regressor.",
                _CLASSIFY.FIT,
                "spinney.classify.recipes:fit",
                Argument("train", _LABELLED),
            ),
            "apply": apply(
                "Label documents: one line per document, with its id and its label or number.",
                _CLASSIFY.Apply,
                "classify",
                Argument("data", "Documents as for fit, or lines; - is standard input.", default="-"),
            ),
            "eval": evaluate(
                "Measure accuracy, F1 and log loss or, for a regressor, errors and R².",
                _CLASSIFY.Evaluate,
                "classify",
                Argument("data", _LABELLED),
            ),
            "inspect": inspect(
                "Show the size of a model, the words of each class, its groups or tree, and how it judges documents.",
                _CLASSIFY.Inspect,
                "classify",
            ),
            "explain": explain(
                "Show why documents have their labels: the contributions of words, groups and sentences.",
                _CLASSIFY.Explain,
                "classify",
                Argument("data", "Documents as for fit, or lines; - is standard input.", default="-"),
            ),
            "path": show(
                "Show the regularisation path: active weights, objective and score as the strength decreases.",
                _CLASSIFY.Path,
                "spinney.classify.recipes:path",
                Argument("train", _LABELLED),
                output=(PAGE,),
            ),
        },
    ),
    "embed": Task(
        "Embeddings: eigenwords and related vectors, sparse codes, spectral HMMs, topics by moments.",
        {
            "fit": fit(
                "Learn word vectors, hidden states or topics from text.",
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
                "Evaluate word similarity, analogies, categories, sentence completion, sentiment, and the "
                "perplexity of text.",
                _EMBED.Evaluate,
                "spinney.embed.recipes:evaluate",
                _VECTORS,
                Argument("data", "Held-out text for hmm and topics; - is standard input.", default=None),
            ),
            "inspect": inspect(
                "Show how a model was learned, its spectrum, and the strongest words of dimensions or topics.",
                _EMBED.Inspect,
                "embed",
            ),
            "explain": explain(
                "Show the nearest words of each token, or the topics of documents with the words of each.",
                _EMBED.Explain,
                "embed",
            ),
            "neighbours": show(
                "Show the nearest neighbours of words, by the cosine of their vectors.",
                _EMBED.Neighbours,
                "spinney.embed.recipes:neighbours",
                _VECTORS,
                Argument("words", "Words to look up.", several=True),
            ),
            "plot": show(
                "Draw words in the plane by t-SNE, or their numbers as a heat map.",
                _EMBED.Plot,
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
                _EMBED.Cluster,
                "spinney.embed.recipes:cluster",
                Argument("vectors", "Model file, or vectors of word2vec, GloVe or fastText."),
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
                "Write the log10 probability of each word and of the end of each sentence.", _LM.Apply, "lm"
            ),
            "eval": evaluate(
                "Measure the perplexity of a text. Words and sentence ends are counted, as in KenLM.",
                _LM.Evaluate,
                "lm",
                Argument("data", "Text files; - is standard input.", several=True),
            ),
            "inspect": inspect(
                "Show the size, discounts or weights, and strongest contexts of a model.", _LM.Inspect, "lm"
            ),
            "explain": explain(
                "Show which part of the context gave how much of the probability of each word.",
                _LM.Explain,
                "lm",
            ),
            "mix": make(
                "Mix several models, with weights that maximise the likelihood of held-out text.",
                _LM.Mix,
                "spinney.lm.recipes:mix",
                Argument("models", "Model files with the same vocabulary.", several=True),
            ),
            "prune": make(
                "Make a back-off model smaller: fewer n-grams, or fewer bits for each, and show what is lost.",
                _LM.Prune,
                "spinney.lm.deploying:prune",
                Argument("large", "Model file of a back-off model."),
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
                "Make a model from an ARPA file of KenLM, SRILM or another program.",
                _LM.Import,
                "spinney.lm.recipes:import_arpa",
                Argument("arpa", "ARPA file, compressed or not."),
            ),
        },
    ),
    "parse": Task(
        "Parsers: grammars with latent states (EM, split and merge, spectral), and head automata.",
        {
            "fit": fit(
                "Learn a parser from a treebank.",
                _PARSE.FIT,
                "spinney.parsing.recipes:fit",
                Argument(
                    "train",
                    "Files or folders of trees (for head automata, CoNLL-U); - is standard input.",
                    several=True,
                ),
            ),
            "apply": apply(
                "Parse sentences: one tree per line (empty for an empty line). Streams are parsed as they arrive.",
                _PARSE.Apply,
                "parse",
            ),
            "eval": evaluate(
                "Measure bracket F1 as evalb does, tags and dependencies or, for head automata, heads.",
                _PARSE.Evaluate,
                "parse",
                Argument("data", "Trees, in files or folders; - is standard input.", several=True),
            ),
            "explain": explain(
                "Show the rules of trees, or the arcs, with log-probabilities that add up to that of the tree.",
                _PARSE.Explain,
                "parse",
            ),
            "inspect": inspect(
                "Show the labels of a grammar and what their states stand for, or the dependents of each tag.",
                _PARSE.Inspect,
                "parse",
            ),
        },
    ),
    "pipeline": Task(
        "Pipelines from raw text to tokens, tags, lemmas and trees, learned from one treebank.",
        {
            "fit": fit(
                "Learn a tokeniser, a tagger, a lemmatiser and a parser from a treebank.",
                _PIPELINE.FIT,
                "spinney.pipeline.recipes:fit",
                Argument("train", "Treebank: CoNLL-U files.", several=True),
            ),
            "apply": apply(
                "Turn raw or tokenised text into CoNLL-U with tags, lemmas and trees.",
                _PIPELINE.Apply,
                "pipeline",
            ),
            "eval": evaluate(
                "Measure the metrics of the CoNLL 2018 shared task, from tokens or raw text.",
                _PIPELINE.Evaluate,
                "pipeline",
                Argument("data", "Treebank: CoNLL-U files.", several=True),
            ),
            "explain": explain("Show why words have their heads or tags.", _PIPELINE.Explain, "pipeline"),
            "inspect": inspect("Show what each part learned.", _PIPELINE.Inspect, "pipeline"),
            "import": Verb(
                "Write CoNLL-U, for fit, from ELAN files, from plain columns, or from lines of word/TAG.",
                "spinney.cli.running:convert",
                _PIPELINE.Import,
                (Argument("files", "Files, or folders of ELAN files.", several=True),),
                (OUTPUT,),
                "spinney.pipeline.importing:import_files",
            ),
        },
    ),
    "tag": Task(
        "Sequence taggers: conditional random fields with any penalty, sparse or structured.",
        {
            "fit": fit(
                "Train a tagger on sentences whose last column is the label.",
                _TAG.FIT,
                "spinney.tagging.recipes:fit",
                _TAGGED,
            ),
            "apply": apply(
                "Label sentences: each line is written with its label added. Streams are labelled as they arrive.",
                _TAG.Apply,
                "tag",
                Argument("data", "Sentences; - is standard input.", default="-"),
            ),
            "eval": evaluate(
                "Measure token and sentence error, and phrase scores.",
                _TAG.Evaluate,
                "tag",
                Argument("data", "Files of labelled sentences.", several=True),
            ),
            "inspect": inspect(
                "Show the strongest observations and transitions, and the active weights of each pattern.",
                _TAG.Inspect,
                "tag",
            ),
            "explain": explain(
                "Show why tokens have their labels: what speaks for each, and what for the next best label.",
                _TAG.Explain,
                "tag",
                Argument("data", "Sentences; - is standard input.", default="-"),
            ),
            "path": path(
                "Train taggers at decreasing strengths λ, each started from the last: errors, sizes and times.",
                _TAG.Path,
                "spinney.tagging.recipes:path",
                option("model", "Where to write the model with the lowest error on dev."),
            ),
            "prune": Verb(
                "Drop small weights at several thresholds: what is left, bigrams without unigrams, errors, margins.",
                "spinney.cli.running:smaller",
                _TAG.Prune,
                (
                    Argument("large", "Model file of a tagger."),
                    Argument("data", "Files of labelled sentences to score on.", several=True, default=()),
                ),
                (option("model", "Where to write the tagger of the last threshold."),),
                "spinney.tagging.thresholds:prune",
            ),
            "import": make(
                "Make a tagger from a model of CRFsuite, Wapiti or CRF++, which labels sentences as they do.",
                _TAG.Import,
                "spinney.tagging.recipes:import_model",
                Argument("foreign", "Model file of CRFsuite, Wapiti or CRF++."),
            ),
            "export": show(
                "Write a model file for CRFsuite. The tagger must have been trained with --no-start-label.",
                _TAG.Export,
                "spinney.tagging.recipes:export",
                MODEL,
                Argument("output", "File to write."),
            ),
        },
    ),
    "trend": Task(
        "Trends: weights of words that change over time, fitted, forecast and shown.",
        {
            "fit": fit(
                "Fit series of weights to dated documents, to predict numbers, two classes, or the words themselves.",
                _TREND.FIT,
                "spinney.trend.recipes:fit",
                Argument(
                    "train", "CSV or TSV files, or folders named by year; - is standard input.", several=True
                ),
            ),
            "apply": apply(
                "Forecast the number or class of each document, or how surprising its words are (nats: −ln p).",
                _TREND.Apply,
                "trend",
                Argument("data", "CSV or TSV file, folder, or lines; - is standard input.", default="-"),
            ),
            "eval": evaluate(
                "Score the forecasts of a model on later documents, overall and by time.",
                _TREND.Evaluate,
                "trend",
                Argument("data", "Dated documents; - is standard input."),
            ),
            "explain": explain(
                "Show what the words of documents add to their forecasts.",
                _TREND.Explain,
                "trend",
                Argument("data", "CSV or TSV file, folder, or lines; - is standard input.", default="-"),
            ),
            "compare": show(
                "Compare methods by rolling origin: each test time is forecast from strictly earlier ones. The first "
                "test time also chooses the settings, so the scores without it are the fair ones. A setting "
                "that is not at its default is not varied.",
                _TREND.Compare,
                "spinney.trend.recipes:comparison",
                Argument("data", "Dated documents; - is standard input."),
            ),
            "inspect": inspect(
                "Show the strongest series, those that changed most, how stiff they are, and what is expected next.",
                _TREND.Inspect,
                "trend",
            ),
        },
    ),
}
for _name, _task in TASKS.items():
    _task.verbs["init-config"] = init_config(_name, _task.verbs["fit"])

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
