"""``spinney classes``: classes of words, learnt from text without labels."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli import classes_apply, classes_eval, classes_inspect
from spinney.cli.inputs import check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.structures import is_model, word_classes
from spinney.cli.textfiles import (
    Format,
    Header,
    HeadRulesFile,
    Parser,
    Reading,
    Source,
    TextColumn,
    WordsLike,
    numbered,
    warn_of_unknown,
)
from spinney.errors import InputError, OptionError, did_you_mean, unknown_choice

if TYPE_CHECKING:
    from spinney.classes import Clustering, HiddenMarkov
    from spinney.corpus import ReadReport, TokenArrays
    from spinney.structure import WordClasses

app = typer.Typer(
    help="Word classes: Brown and exchange clustering, hidden Markov chains and trees.",
    no_args_is_help=True,
)

Train = Annotated[list[str], typer.Argument(help="Files of text, or folders; - is standard input.")]
ModelOut = Annotated[str, typer.Option("--model", help="Where to write the model.")]
Cache = Annotated[
    str | None,
    typer.Option(
        help="A folder to keep the numbered text in, for the next run. Large text goes to disk anyway."
    ),
]


@app.command()
def fit(
    train: Train,
    model: ModelOut,
    method: Annotated[str, typer.Option(help="brown, exchange or hmm (hidden Markov).")] = "brown",
    classes: Annotated[
        int | None, typer.Option(min=2, help="How many classes (default: 256).", show_default=False)
    ] = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="A word depends on its head, not on the word before (CoNLL-U).")
    ] = False,
    init: Annotated[
        str | None,
        typer.Option(help="Where to begin: brown, exchange, random, split, or a file of classes or a model."),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(min=1, help="Passes in all (default: hmm 5, exchange 20).", show_default=False),
    ] = None,
    variant: Annotated[str | None, typer.Option(help="exchange: two-sided (default) or predictive.")] = None,
    refine: Annotated[int | None, typer.Option(min=0, help="brown: passes of exchange at the end.")] = None,
    root: Annotated[
        bool | None,
        typer.Option(
            help="Clusterings: whether the start of a sentence counts as a word (default: in trees)."
        ),
    ] = None,
    typed: Annotated[
        int | None, typer.Option(min=1, help="hmm --tree: a transition matrix for each of so many relations.")
    ] = None,
    relation_groups: Annotated[
        str | None, typer.Option(help='hmm --tree: a JSON file {"subject": ["nsubj", "csubj"], …}.')
    ] = None,
    subtypes: Annotated[bool, typer.Option(help="Whether nsubj:pass is another relation than nsubj.")] = True,
    em: Annotated[str | None, typer.Option(help="hmm: online (default) or batch EM.")] = None,
    gamma: Annotated[
        str | None, typer.Option(help="hmm: steps of online EM are 1/(delay + t)^gamma; or search.")
    ] = None,
    delay: Annotated[float | None, typer.Option(min=0, help="hmm: see --gamma.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="hmm: tokens of a batch.")] = None,
    k_best: Annotated[
        str | None, typer.Option(help="hmm: entries kept of a message, none for all, or auto.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(min=0, max=1, help="hmm: or keep all but this share of a message.")
    ] = None,
    start: Annotated[
        int | None, typer.Option(min=2, help="hmm: begin with so many classes, and split them.")
    ] = None,
    split_passes: Annotated[int | None, typer.Option(min=1, help="hmm: passes before each split.")] = None,
    noise: Annotated[float | None, typer.Option(min=0, help="hmm: how much two halves differ.")] = None,
    smoothing: Annotated[
        float | None, typer.Option(min=0, max=1, help="hmm: the share of a uniform law in each.")
    ] = None,
    dev: Annotated[str | None, typer.Option(help="hmm: held-out text, scored after each pass.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="hmm: stop after so many passes that do not help on --dev.")
    ] = None,
    checkpoint: Annotated[
        bool, typer.Option("--checkpoint", help="hmm: write --model after each pass.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="hmm: go on from --model if it is there (as --init does).")
    ] = False,
    words: Annotated[
        str, typer.Option(help="What a word is: form, lemma, lemma+upos, form+upos; in column files 0, 0+1.")
    ] = "form",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Take The for the.")] = False,
    min_count: Annotated[
        int | None,
        typer.Option(
            min=1, help="Words seen fewer times become --unknown (default: 1; hmm: 2).", show_default=False
        ),
    ] = None,
    max_words: Annotated[
        int | None, typer.Option(min=2, help="Keep the most frequent words only, so many with --unknown.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Longer sentences are cut; trees are left out.")
    ] = None,
    unknown: Annotated[str, typer.Option(help="The word that stands for all others.")] = "<unk>",
    parser: Parser = None,
    head_rules: HeadRulesFile = None,
    cache: Cache = None,
    format: Format = "auto",
    text: TextColumn = None,
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Learn word classes from text and write them to --model."""
    begin(quiet)
    check_target(model)
    from spinney.classes import HiddenMarkov
    from spinney.corpus import ReadReport
    from spinney.report.classes import show_fit

    given = {
        "em": em, "gamma": gamma, "delay": delay, "batch_tokens": batch_tokens, "k_best": k_best, "epsilon": epsilon,
        "start": start, "split_passes": split_passes, "noise": noise, "smoothing": smoothing, "patience": patience,
        "typed": typed, "relation_groups": relation_groups, "dev": dev, "checkpoint": checkpoint or None,
        "resume": resume or None,
    }  # fmt: skip
    _check(method, init, tree, given, passes=passes, variant=variant, refine=refine)
    if head_rules is not None and parser is None:
        raise OptionError("--head-rules goes with --parser, a model of parse fit")
    settings = _settings(given, passes, seed, threads)
    origin = _origin(model if resume and os.path.exists(model) else init)
    typed_edges = bool(settings["typed"])
    reading = Reading(
        words, lowercase, unknown or None, tree, typed_edges, subtypes, max_length, parser, head_rules
    )
    reading.check_parser()
    vocabulary, size = None, classes or 256
    if isinstance(origin, HiddenMarkov) and method == "hmm":
        reading, vocabulary = Reading.of(origin.facts_), origin.vocabulary_
        size, tree = classes or origin.n_classes, tree or origin.structure == "tree"
    source = Source(train, format, encoding, on_error, text, header)
    cut = {"min_count": min_count or (2 if method == "hmm" else 1), "max_size": max_words}
    clusterer = _Clusterer(tree, variant or "two-sided", refine or 0, root, threads, seed)
    report, interrupted = ReadReport(), False
    fitted: Clustering | HiddenMarkov
    with numbered(source, reading, report, cache, vocabulary, **cut) as arrays:
        if method == "hmm":
            held_out = _held_out(replace(source, files=[dev]), arrays, reading) if dev else None
            if origin is None:
                origin = clusterer.beginning(init, arrays, start or size)
            if init == "split":
                settings.setdefault("start", max(2, size // 8))
            fitted = HiddenMarkov(size, "tree" if tree else "chain", **settings)
            target = model if checkpoint else None
            interrupted = _learn(fitted, arrays, reading, origin, held_out, target)
        else:
            fitted = clusterer.run(method, arrays, size, passes, init if origin is None else origin)
        fitted, facts = _with_facts(fitted, arrays, reading, report)
    fitted.save(model)
    emit(as_json, {"path": model, **facts}, lambda: show_fit(f"Wrote {model}", facts))
    return 130 if interrupted else 0


app.command()(classes_apply.apply)
app.command()(classes_eval.eval)
app.command()(classes_inspect.inspect)
app.command()(classes_inspect.neighbours)
app.command()(classes_inspect.export)


@app.command()
def place(
    classes: Annotated[str, typer.Argument(help="A clustering that fit wrote, or a Brown paths file.")],
    train: Train,
    model: ModelOut,
    tree: Annotated[
        bool, typer.Option("--tree", help="The classes are those of trees (known of a clustering).")
    ] = False,
    words: WordsLike = None,
    parser: Parser = None,
    min_count: Annotated[int, typer.Option(min=1, help="Place words seen at least so often.")] = 1,
    cache: Cache = None,
    format: Format = "auto",
    text: TextColumn = None,
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give the words of new text the classes where they fit best; the classes of old words stay."""
    begin(quiet)
    check_target(model)
    from spinney import classes as library
    from spinney.corpus import ReadReport
    from spinney.files import read_model
    from spinney.report.classes import show_fit

    old: Clustering | WordClasses
    if is_model(classes) and read_model(classes).kind == "classes/HiddenMarkov":
        raise InputError(
            "a hidden Markov model takes in no words", path=classes, remedy="fit it again, with --init"
        )
    if is_model(classes) and read_model(classes).kind == "classes/Clustering":
        old = library.Clustering.load(classes)
        reading = replace(Reading.of(old.facts, words, parser), max_length=None)
    else:
        old, reading = word_classes(classes), Reading(words or "form", tree=tree, parser=parser)
    before = len(old.classes if isinstance(old, library.Clustering) else old)
    source, report = Source(train, format, encoding, on_error, text, header), ReadReport()
    with numbered(source, reading, report, cache, min_count=min_count) as arrays:
        pairs = library.pair_counts(arrays, tree=reading.tree, threads=threads)
        extended = library.place(old, pairs, arrays.vocabulary, threads=threads)
    added = len(extended) - before
    facts = {
        "classes": extended.n_classes,
        "words": len(extended),
        "placed": added,
        "skipped": report.skipped,
    }
    if isinstance(old, library.Clustering):
        kept = dict(old.facts) | {"words": len(extended), "placed": added + old.facts.get("placed", 0)}
        replace(old, classes=extended, facts=kept).save(model)
    else:
        extended.save(model)
    emit(as_json, {"path": model, **facts}, lambda: show_fit(f"Wrote {model}", facts))


# ------------------------------------------------------------------------------------------- options


def _check(
    method: str, init: str | None, tree: bool, given: dict[str, Any], **of_clusterings: int | str | None
) -> None:
    """Refuse options that are not for this method, rather than pass over them."""
    if method not in ("brown", "exchange", "hmm"):
        raise unknown_choice("--method is", method, ("brown", "exchange", "hmm"))
    wrong = [name for name, value in given.items() if value is not None and method != "hmm"]
    others = {"brown": ("passes", "variant"), "exchange": ("refine",), "hmm": ()}[method]
    wrong += [name for name in others if of_clusterings[name] is not None]
    if wrong:
        raise OptionError(f"--{wrong[0].replace('_', '-')} is not for --method {method}")
    if method == "brown" and init is not None:
        raise OptionError("--method brown begins from nothing: use exchange to improve classes")
    if init == "split" and method != "hmm":
        raise OptionError("--init split is for --method hmm")
    for name, known in {"em": ("online", "batch"), "variant": ("two-sided", "predictive")}.items():
        value = given.get(name) or of_clusterings.get(name)
        if value is not None and value not in known:
            raise unknown_choice(f"--{name} is", value, known)
    if (given["typed"] or given["relation_groups"]) and not tree:
        raise OptionError("--typed and --relation-groups are for trees: give --tree")
    if given["typed"] and given["relation_groups"]:
        raise OptionError("--typed and --relation-groups both say which relations go together: give one")
    if given["patience"] and not given["dev"]:
        raise OptionError("--patience waits for progress on held-out text: give --dev")


def _settings(given: dict[str, Any], passes: int | None, seed: int, threads: int | None) -> dict[str, Any]:
    """The parameters of a hidden Markov model; what is not given keeps its default."""
    names = ("delay", "batch_tokens", "epsilon", "start", "split_passes", "noise", "smoothing", "patience")
    settings: dict[str, Any] = {name: given[name] for name in names if given[name] is not None}
    settings |= {"random_state": seed, "threads": threads, "typed": given["typed"] or 0}
    if given["relation_groups"]:
        settings["typed"] = _relation_groups(given["relation_groups"])
    if given["em"] is not None:
        settings["method"] = given["em"]
    if passes is not None:
        settings["passes"] = passes
    if given["k_best"] is not None:
        settings["k_best"] = _number_or(given["k_best"], int, {"none": None, "auto": "auto"}, "--k-best")
    if given["gamma"] is not None:
        settings["gamma"] = gamma = _number_or(given["gamma"], float, {"search": "search"}, "--gamma")
        if gamma != "search" and not 0 < gamma <= 1:
            raise OptionError(f"--gamma lies between 0 and 1, not {gamma}")
    return settings


def _number_or(text: str, kind: type, words: dict[str, Any], name: str) -> Any:
    if text in words:
        return words[text]
    try:
        return kind(text)
    except ValueError:
        raise OptionError(f"{name} is a number or {' or '.join(words)}, not {text!r}") from None


def _relation_groups(path: str) -> dict[str, str]:
    """Relation to group, from a JSON object of groups with their relations."""
    from spinney.corpus import open_text

    with open_text(path) as file:
        text = file.read()
    try:
        groups = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno) from None
    shape = isinstance(groups, dict) and all(isinstance(members, list) for members in groups.values())
    if not shape or not all(isinstance(name, str) for members in groups.values() for name in members):
        raise InputError(
            "no groups of relations", path=path, remedy='such as {"subject": ["nsubj", "csubj"]}'
        )
    kinds: dict[str, str] = {}
    for group, members in groups.items():
        for relation in members:
            if relation in kinds:
                what = f"the relation {relation!r} is in two groups, {kinds[relation]!r} and {group!r}"
                raise InputError(what, path=path)
            kinds[relation] = group
    return kinds


_BEGINNINGS = ("brown", "exchange", "random", "split")


def _origin(init: str | None) -> HiddenMarkov | WordClasses | None:
    """The model or the classes in the file that --init names, if it names one."""
    if init is None or init in _BEGINNINGS:
        return None
    if not os.path.exists(init):
        raise InputError(
            "no such file",
            path=init,
            remedy=did_you_mean(init, _BEGINNINGS) or f"--init is {', '.join(_BEGINNINGS)} or a file",
        )
    from spinney.classes import HiddenMarkov
    from spinney.files import read_model

    if is_model(init) and read_model(init).kind == "classes/HiddenMarkov":
        return HiddenMarkov.load(init)
    return word_classes(init)


# ------------------------------------------------------------------------------------------- learning


@dataclass(frozen=True)
class _Clusterer:
    """Brown and exchange clustering with the options of the command: as a method, or to begin with."""

    tree: bool
    variant: str
    refine: int
    root: bool | None
    threads: int | None
    seed: int

    def run(
        self,
        method: str,
        arrays: TokenArrays,
        n_classes: int,
        passes: int | None = None,
        init: str | WordClasses | HiddenMarkov | None = None,
    ) -> Clustering:
        from spinney.classes import HiddenMarkov, brown, exchange, pair_counts

        pairs = pair_counts(arrays, tree=self.tree, threads=self.threads)
        how: dict[str, Any] = {"root": self.root, "threads": self.threads}
        how |= {} if passes is None else {"passes": passes}
        if method == "brown":
            return brown(pairs, arrays.vocabulary, n_classes, refine=self.refine, **how)
        if isinstance(init, HiddenMarkov):
            init = init.word_classes()
        beginning: Any = init or "frequency"
        if beginning in ("brown", "exchange"):
            beginning = self.run("brown", arrays, n_classes).classes if init == "brown" else "frequency"
        return exchange(
            pairs, arrays.vocabulary, n_classes, variant=self.variant, init=beginning, random_state=self.seed,  # type: ignore[arg-type]
            **how,
        )  # fmt: skip

    def beginning(self, init: str | None, arrays: TokenArrays, n_classes: int) -> WordClasses | None:
        """The classes that a hidden Markov model begins with; none if by chance."""
        if init in ("random", "split"):
            return None
        return self.run(init or "brown", arrays, n_classes).classes


def _learn(
    model: HiddenMarkov,
    arrays: TokenArrays,
    reading: Reading,
    beginning: HiddenMarkov | WordClasses | None,
    held_out: TokenArrays | None,
    checkpoint: str | None,
) -> bool:
    """Fit the model; whether the user interrupted it when it had learnt something."""
    try:
        model.fit(arrays, dev=held_out, init=beginning, checkpoint=checkpoint, reading=reading.facts())
    except KeyboardInterrupt:
        if "method" not in getattr(model, "facts_", {}):
            raise
        return True
    return False


def _held_out(source: Source, arrays: TokenArrays, reading: Reading) -> TokenArrays:
    from spinney.corpus import ReadReport

    report = ReadReport()
    dev = source.read(reading, report, vocabulary=arrays.vocabulary)
    warn_of_unknown(source.name, report, arrays.vocabulary)
    return dev


def _with_facts(
    fitted: Clustering | HiddenMarkov, arrays: TokenArrays, reading: Reading, report: ReadReport
) -> tuple[Clustering | HiddenMarkov, dict[str, Any]]:
    """The model with what was read beside what it knows of its fit; and all of that."""
    from spinney.classes import HiddenMarkov

    read = {
        "sentences": len(arrays),
        "unknown_share": report.unknown / max(report.tokens, 1),
        "skipped": report.skipped,
        "long": report.long,
        "joined": report.joined,
        "flat": report.flat,
    }
    if isinstance(fitted, HiddenMarkov):
        facts = fitted.facts_
        facts |= read
        for name in ("log_likelihood", "dev_log_likelihood"):
            value = facts.get(name)
            perplexity = name.replace("log_likelihood", "perplexity")
            facts[perplexity] = None if value is None else math.exp(-value)
        return fitted, facts
    C, V = fitted.classes.n_classes, len(fitted.classes)
    fitted = fitted.noting(reading.facts())
    rest: dict[str, Any] = {"parameters": C * C + V}
    rest["tokens_per_second"] = arrays.n_tokens / max(fitted.facts["seconds"], 1e-9)
    facts = dict(fitted.facts) | read | rest
    return replace(fitted, facts=facts), facts
