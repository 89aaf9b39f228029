"""``spinney parse fit``: parsers from treebanks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about, check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.parse_text import TreeReading, dependency_trees, named
from spinney.errors import OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.corpus import ReadReport

_STATES = ("em", "split-merge", "spectral", "clustering", "pivots")
_GRAMMARS = ("pcfg", *_STATES)
_METHODS = (*_GRAMMARS, "automata")
_AUTOMATA = ("spectral", "em", "bigram", "deterministic")
#: Options that not every method knows, with those that do.
_TAKEN_BY: dict[str, tuple[str, ...]] = {
    "states": (*_STATES, "automata"),
    "grammars": _STATES,
    **dict.fromkeys(
        ("horizontal", "vertical", "unaries", "branching", "rare", "prune", "decoder"), _GRAMMARS
    ),
    "max_iter": ("em", "automata"),
    "polish": ("clustering", "pivots"),
    **dict.fromkeys(("features", "kappa"), ("spectral", "clustering")),
    "compress": _STATES,
    "signs": ("spectral", "automata"),
    **dict.fromkeys(("automata", "column", "smoothing"), ("automata",)),
}


def fit(
    train: Annotated[
        list[str], typer.Argument(help="Files of bracketed trees, or folders; - is standard input.")
    ],
    model: Annotated[str, typer.Option("--model", help="Where to write the model.")],
    method: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(_METHODS)} (of dependencies, from CoNLL-U); or spectral+clustering and so on."
        ),
    ] = "clustering",
    dev: Annotated[
        list[str] | None,
        typer.Option(
            help="Held-out trees: the best iteration (em) or cycle (split-merge) on them is kept. May be repeated."
        ),
    ] = None,
    states: Annotated[
        int | None,
        typer.Option(
            min=1, help="Latent states of a label at most (default: 16; automata: 8).", show_default=False
        ),
    ] = None,
    grammars: Annotated[
        int | None, typer.Option(min=1, help="So many of each method, from different seeds, decide together.")
    ] = None,
    horizontal: Annotated[
        str | None,
        typer.Option(
            help="Siblings that a part of a long phrase remembers: a number, all, or auto (default: 0; pcfg 1)."
        ),
    ] = None,
    vertical: Annotated[
        int | None,
        typer.Option(min=1, help="1 (default): phrases as they are; 2: with the phrase above; 3 …"),
    ] = None,
    unaries: Annotated[
        str | None,
        typer.Option(help="one (default): a unary rule a span; collapse: none, chains are labels."),
    ] = None,
    branching: Annotated[
        str | None,
        typer.Option(
            help="Long phrases are made binary from the head, left or right, or auto (default: left; pcfg head)."
        ),
    ] = None,
    rare: Annotated[
        int | None,
        typer.Option(min=0, help="Words seen so often at most stand for unknown ones (default: 5)."),
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="em: iterations at most (default: 60; automata em: 30).")
    ] = None,
    polish: Annotated[
        int | None, typer.Option(min=0, help="clustering, pivots: iterations of EM afterwards (default: 5).")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="spectral, clustering: features of nodes: full (default), rule or fragments."),
    ] = None,
    kappa: Annotated[
        float | None, typer.Option(min=0, help="spectral, clustering: how features are scaled (default: 5).")
    ] = None,
    decoder: Annotated[
        str | None, typer.Option(help="max-rule (default), mbr, free, or viterbi (pcfg only).")
    ] = None,
    signs: Annotated[
        str | None,
        typer.Option(
            help="spectral, automata: negative marginals are abs (default), raw, normalise or clip."
        ),
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option(help="Labels over spans less probable in the PCFG are left out (default: 1e-5)."),
    ] = None,
    compress: Annotated[
        float | None,
        typer.Option(
            help="Replace tensors of rules by smaller ones with so large a relative error, such as 0.01."
        ),
    ] = None,
    automata: Annotated[
        str | None, typer.Option(help=f"automata: {', '.join(_AUTOMATA)} (default: spectral).")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="automata: the tags of CoNLL-U, upos (default) or xpos.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(min=0, help="automata: how strongly heads are taken alike (default: 10).")
    ] = None,
    keep_functions: Annotated[
        bool, typer.Option("--keep-functions", help="Keep function tags: NP-SBJ is a label of its own.")
    ] = False,
    clean: Annotated[
        bool, typer.Option(help="Whether traces, function tags and outer brackets are taken off the trees.")
    ] = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Learn a parser from a treebank and write it to --model."""
    begin(quiet)
    check_target(model)
    given = {
        "states": states, "grammars": grammars, "horizontal": horizontal, "vertical": vertical, "unaries": unaries,
        "branching": branching, "rare": rare, "max_iter": max_iter, "polish": polish, "features": features,
        "kappa": kappa, "decoder": decoder, "signs": signs, "prune": prune, "compress": compress,
        "automata": automata, "column": column, "smoothing": smoothing,
    }  # fmt: skip
    settings = _settings(method, given)
    from spinney.corpus import ReadReport

    report = ReadReport()
    if method == "automata":
        if keep_functions or not clean:
            raise OptionError(
                "--keep-functions and --no-clean are for trees: --method automata reads CoNLL-U"
            )
        facts = _fit_automata(train, dev, model, settings, encoding, on_error, report, seed)
    else:
        if keep_functions and not clean:
            raise OptionError("--no-clean keeps all of a tree: leave out --keep-functions")
        reading = TreeReading(clean, keep_functions)
        settings |= {"method": method, "random_state": seed, "threads": threads}
        facts = _fit_parser(train, dev, model, settings, reading, encoding, on_error, report)
    emit(as_json, {"path": model, **facts}, lambda: show_facts(f"Wrote {model}", facts))
    return 130 if facts.get("interrupted") else 0


def _settings(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that are given, as the estimators take them; those that are not for this method are refused."""
    methods = method.split("+")
    for one in methods:
        if one not in _METHODS or (one == "automata" and len(methods) > 1):
            raise OptionError(
                f"--method is one of {', '.join(_METHODS)}, or several of grammars with +, not {method!r}",
                given=one,
                known=_METHODS,
            )
    wanted = {name: value for name, value in given.items() if value is not None}
    for name in wanted:
        if not set(methods) & set(_TAKEN_BY[name]):
            raise OptionError(f"--{name.replace('_', '-')} is not for --method {method}")
    if method == "automata":
        kind = wanted.pop("automata", "spectral")
        if kind not in _AUTOMATA:
            raise unknown_choice("--automata is one of", kind, _AUTOMATA)
        if wanted.get("column", "upos") not in ("upos", "xpos"):
            raise unknown_choice("--column is", wanted["column"], ("upos", "xpos"))
        for name, kinds in {
            "max_iter": ("em",),
            "states": ("spectral", "em"),
            "signs": ("spectral",),
        }.items():
            if name in wanted and kind not in kinds:
                raise OptionError(f"--{name.replace('_', '-')} is not for --automata {kind}")
        return _renamed(wanted) | {"method": kind}
    if wanted.get("horizontal", "auto") != "auto":
        text = wanted["horizontal"]
        if text != "all" and not (text.isascii() and text.isdigit()):
            raise OptionError(f"--horizontal is a number from 0, all or auto, not {text!r}")
        wanted["horizontal"] = None if text == "all" else int(text)
    return _renamed(wanted)


def _renamed(settings: dict[str, Any]) -> dict[str, Any]:
    """The options by the names of the library's parameters."""
    return {"iterations" if name == "max_iter" else name: value for name, value in settings.items()}


def _fit_parser(
    files: list[str],
    dev: list[str] | None,
    model: str,
    settings: dict[str, Any],
    reading: TreeReading,
    encoding: str,
    on_error: str,
    report: ReadReport,
) -> dict[str, Any]:
    from spinney.corpus import ReadReport
    from spinney.parsing.parser import Parser

    trees = reading.trees(files, encoding, on_error, report)
    held_out = reading.trees(dev, encoding, on_error, ReadReport()) if dev else None
    parser, started = Parser(**settings), time.perf_counter()
    interrupted = False
    try:
        with about(named(files)):
            parser.fit(trees, dev=held_out, reading=reading.facts())
    except KeyboardInterrupt:
        if not hasattr(parser, "grammars_"):
            raise
        interrupted = True
    facts = parser.facts_
    facts |= {"trees_per_second": len(trees) / max(time.perf_counter() - started, 1e-9)}
    facts |= {"skipped": report.skipped, "empty": report.empty}
    if held_out is not None and not interrupted:
        _judge(facts, "dev_f1", lambda: parser.score(held_out))
    parser.save(model)
    return {"method": parser.method, "grammars": len(parser.grammars_), **facts}


def _judge(facts: dict[str, Any], name: str, score: Callable[[], float]) -> None:
    """Score what was learnt; if that is interrupted, it is saved all the same."""
    try:
        facts[name] = score()
    except KeyboardInterrupt:
        facts["interrupted"] = True


def _fit_automata(
    files: list[str],
    dev: list[str] | None,
    model: str,
    settings: dict[str, Any],
    encoding: str,
    on_error: str,
    report: ReadReport,
    seed: int,
) -> dict[str, Any]:
    from spinney.corpus import ReadReport
    from spinney.parsing.automata import HeadAutomata

    automata = HeadAutomata(**settings, random_state=seed)
    trees = dependency_trees(files, automata.column, encoding, on_error, report)
    held_out = dependency_trees(dev, automata.column, encoding, on_error, ReadReport()) if dev else None
    with about(named(files)):
        automata.fit(trees)
    facts = automata.facts_
    facts["parameters"] = sum(part.size for part in automata.automata_)
    facts["sentences_per_second"] = len(trees) / max(facts["seconds"], 1e-9)
    facts["skipped"] = report.skipped
    if held_out is not None:
        _judge(facts, "dev_uas", lambda: automata.score(held_out))
    automata.save(model)
    return {"method": f"automata, {automata.method}", "states": automata.automata_.start.shape[1], **facts}


#: What a person is told of a fit, in this order, and by what name.
_FACTS = {
    "method": "method", "trees": "trees", "sentences": "sentences", "words": "words", "known_words": "different words",
    "tags": "tags", "labels": "labels of the grammar", "rules": "rules", "states": "states", "grammars": "grammars",
    "parameters": "parameters", "nonprojective": "trees that are not projective", "seconds": "seconds",
    "trees_per_second": "trees per second", "sentences_per_second": "sentences per second",
    "dev_f1": "F1 on --dev, %", "dev_uas": "UAS on --dev, %", "skipped": "bad trees passed over",
    "without_words": "trees without words left out",
}  # fmt: skip


def show_facts(title: str, facts: dict[str, Any]) -> None:
    """What is known of a fit, for a person; a file may hold anything, so what is no number is not told."""
    from spinney.report.tables import tell

    texts = {"method": facts.get("method")}
    numbers = {name: value for name, value in facts.items() if isinstance(value, int | float)}
    told: dict[str, Any] = numbers | {
        name: 100 * numbers[name] for name in ("dev_f1", "dev_uas") if name in numbers
    }
    if isinstance(facts.get("states"), list):
        texts["states"] = ", ".join(f"{n:,}" for n in facts["states"] if isinstance(n, int))
    if {"binary_rules", "unary_rules"} <= set(numbers):
        texts["rules"] = f"{numbers['binary_rules']:,} binary, {numbers['unary_rules']:,} unary"
    told["without_words"] = numbers.get("empty")
    for name, least in {"grammars": 2, "nonprojective": 1, "without_words": 1}.items():
        if (told.get(name) or 0) < least:
            told[name] = None  # nothing to tell
    tell(title, told | texts, _FACTS)
