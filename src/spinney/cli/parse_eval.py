"""``spinney parse eval``: how many brackets, heads and tags of a parser are those of a treebank."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.parse_text import (
    Decoder,
    ModelIn,
    Rules,
    TreeReading,
    dependency_trees,
    head_rules,
    load_model,
    named,
)
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spinney.corpus import Sentence, Tree
    from spinney.evaluate import Attachment, Parseval
    from spinney.evaluate.significance import Statistic
    from spinney.parsing.automata import HeadAutomata
    from spinney.parsing.headrules import HeadRules
    from spinney.parsing.parser import Parser


@dataclass(frozen=True)
class _Scores:
    """What a model reached on some trees: facts, and counts a sentence with what is made of them."""

    facts: dict[str, Any]
    counts: NDArray[np.int64]
    statistic: Statistic


@dataclass(frozen=True)
class _Gold:
    """The treebank, and how models are tried on it."""

    files: list[str]
    tags: bool
    max_length: int | None
    punctuation: bool
    rules: HeadRules
    encoding: str
    on_error: str
    seed: int

    @property
    def name(self) -> str:
        return named(self.files)


def eval(
    model: ModelIn,
    data: Annotated[
        list[str],
        typer.Argument(help="Trees, in files or folders (for head automata CoNLL-U); - is standard input."),
    ],
    gold_tags: Annotated[
        bool,
        typer.Option("--gold-tags", help="Give the parser the tags of the treebank as well as the words."),
    ] = False,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Only sentences of so many words at most.", show_default=False)
    ] = None,
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="UAS and LAS: punctuation counts, too.")
    ] = False,
    against: Annotated[
        list[str] | None, typer.Option(help="Another model: the difference, tested; may be repeated.")
    ] = None,
    decoder: Decoder = None,
    rules: Rules = None,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """F1 of brackets as evalb counts it, tags, dependencies by head rules; of head automata, heads."""
    begin(quiet)
    if against and "-" in data:
        raise OptionError("--against reads the trees again: give a file rather than standard input")
    from spinney.evaluate.significance import paired_bootstrap
    from spinney.parsing.parser import Parser

    gold = _Gold(data, gold_tags, max_length, punctuation, head_rules(rules), encoding, on_error, seed)
    fitted = load_model(model, threads, decoder)
    ours = _scores(fitted, gold)
    compared: list[dict[str, Any]] = []
    for path in against or []:
        other = load_model(path, threads, decoder)
        if isinstance(other, Parser) is not isinstance(fitted, Parser):
            raise InputError(
                f"a grammar and head automata cannot be compared, as {model} would be", path=path
            )
        theirs = _scores(other, gold)
        if len(theirs.counts) != len(ours.counts):
            raise InputError(
                "reads other trees than the model itself: one of them with --no-clean?", path=path
            )
        found = paired_bootstrap(theirs.counts, ours.counts, ours.statistic, random_state=seed)
        compared.append({"model": path, **found._asdict()})
    facts = ours.facts | ({"against": compared} if compared else {})
    emit(as_json, facts, lambda: _show(f"{model} on {gold.name}", facts))


def _scores(model: Parser | HeadAutomata, gold: _Gold) -> _Scores:
    from spinney.parsing.parser import Parser

    with about(gold.name):
        return _of_parser(model, gold) if isinstance(model, Parser) else _of_automata(model, gold)


# ------------------------------------------------------------------------------------------ trees


def _of_parser(parser: Parser, gold: _Gold) -> _Scores:
    import numpy as np

    from spinney.corpus import ReadReport
    from spinney.evaluate.parseval import COLUMNS, SCORED, bracket_counts, bracket_f1, f1_interval, parseval

    report = ReadReport()
    trees = TreeReading.of(parser).trees(gold.files, gold.encoding, gold.on_error, report)
    kept = [tree for tree in trees if gold.max_length is None or len(tree.leaves()) <= gold.max_length]
    if not kept:
        raise InputError(f"no sentence has at most {gold.max_length} words")
    started = time.perf_counter()
    found = parser.parse(
        [tree.leaves() for tree in kept], [tree.tags() for tree in kept] if gold.tags else None
    )
    seconds = time.perf_counter() - started
    scores, counts = parseval(kept, found), bracket_counts(kept, found)
    low, high = f1_interval(counts, random_state=gold.seed)
    words, status = (counts[:, COLUMNS.index(name)] for name in ("words", "status"))
    attached = _attachment(kept, found, gold)
    facts = {
        "sentences": scores.sentences,
        "words": sum(len(tree.leaves()) for tree in kept),
        "f1": scores.f1,
        "f1_low": low,
        "f1_high": high,
        "precision": scores.precision,
        "recall": scores.recall,
        "exact": scores.exact,
        "crossing": scores.crossing,
        "no_crossing": scores.no_crossing,
        "few_crossing": scores.few_crossing,
        "tagging_accuracy": scores.tagging,
        "uas": None if attached is None else attached.uas,
        "las": None if attached is None else attached.las,
        "failed": len(scores.failed),
        "mismatched": int(np.count_nonzero((status != SCORED) & (words > 0))) - len(scores.failed),
        "unseen_labels": _unseen(parser, kept),
        "labels": _by_label(scores),
        "seconds": seconds,
        "sentences_per_second": len(kept) / max(seconds, 1e-9),
        "long": len(trees) - len(kept),
        "skipped": report.skipped,
    }
    return _Scores(facts, counts, bracket_f1)


def _attachment(gold: list[Tree], found: list[Tree], how: _Gold) -> Attachment | None:
    """Heads by head rules; None where trees with traces in them have not the same words."""
    from spinney.evaluate.attachment import PTB_PUNCTUATION, attachment
    from spinney.parsing.dependencies import to_dependencies

    try:
        ours, theirs = ([to_dependencies(tree, how.rules) for tree in trees] for trees in (found, gold))
        tags = {tag for sentence in theirs for tag in sentence.xpos}
        marks = None if PTB_PUNCTUATION.isdisjoint(tags) else PTB_PUNCTUATION
        return attachment(theirs, ours, punctuation=how.punctuation, punctuation_tags=marks)
    except InputError:
        return None


def _unseen(parser: Parser, gold: list[Tree]) -> list[str]:
    """Labels and tags of the treebank that the parser never saw: what it cannot find."""
    from spinney.parsing.binarising import label_parts

    seen = {plain for label in parser.rules_.labels for plain in label_parts(label)[1]}
    return sorted({node.label for tree in gold for node in tree.nodes()} - seen)


def _by_label(scores: Parseval) -> dict[str, dict[str, Any]]:
    return {
        label: {**found._asdict(), "precision": found.precision, "recall": found.recall, "f1": found.f1}
        for label, found in scores.labels.items()
    }


# -------------------------------------------------------------------------------------- dependencies


def _of_automata(model: HeadAutomata, gold: _Gold) -> _Scores:
    from spinney.corpus import ReadReport
    from spinney.evaluate.attachment import attachment, attachment_counts, uas_of_counts

    report = ReadReport()
    trees = dependency_trees(gold.files, model.column, gold.encoding, gold.on_error, report)
    kept = [tree for tree in trees if gold.max_length is None or len(tree) <= gold.max_length]
    if not kept:
        raise InputError(f"no sentence has at most {gold.max_length} words")
    started = time.perf_counter()
    found: list[Sentence] = [
        replace(tree, heads=heads.tolist()) for tree, heads in zip(kept, model.predict(kept))
    ]
    seconds = time.perf_counter() - started
    scores = attachment(kept, found, punctuation=gold.punctuation)
    counts = attachment_counts(kept, found, punctuation=gold.punctuation)
    low, high = _interval(counts, uas_of_counts, gold.seed)
    facts = {
        "sentences": len(kept),
        "words": scores.words,
        "uas": scores.uas,
        "uas_low": low,
        "uas_high": high,
        "exact": scores.exact,
        "root": scores.root,
        "failed": 0,
        "unseen_labels": sorted(
            {tag for tree in kept for tag in getattr(tree, model.column)} - set(model.tags_)
        ),
        "seconds": seconds,
        "sentences_per_second": len(kept) / max(seconds, 1e-9),
        "long": len(trees) - len(kept),
        "skipped": report.skipped,
    }
    return _Scores(facts, counts, uas_of_counts)


def _interval(counts: NDArray[np.int64], statistic: Statistic, seed: int) -> tuple[float, float]:
    """The 95 % interval of a share, by drawing sentences again: its difference from that of a model with none right."""
    import numpy as np

    from spinney.evaluate.significance import paired_bootstrap

    none = np.zeros_like(counts)
    none[:, 0] = counts[:, 0]
    found = paired_bootstrap(none, counts, statistic, random_state=seed)
    return found.low, found.high


# ------------------------------------------------------------------------------------------ printing


_NAMES = {
    "sentences": "sentences", "words": "words", "f1": "F1", "precision": "precision", "recall": "recall",
    "exact": "exactly right", "crossing": "crossing brackets a sentence", "no_crossing": "without crossing brackets",
    "tagging_accuracy": "tags", "uas": "heads (UAS)", "las": "heads and relations (LAS)", "root": "roots",
    "failed": "sentences without a parse", "mismatched": "trees with other words (traces)",
    "sentences_per_second": "sentences per second", "long": "longer sentences left out",
    "skipped": "bad trees passed over",
}  # fmt: skip
_RATES = ("f1", "precision", "recall", "exact", "no_crossing", "tagging_accuracy", "uas", "las", "root")


def _show(title: str, facts: dict[str, Any]) -> None:
    from spinney.report.tables import show_rows, tell

    told = dict(facts)
    for name in _RATES:
        if facts.get(name) is not None:
            told[name] = f"{100 * facts[name]:.2f} %"
    main = "f1" if "f1" in facts else "uas"
    told[main] += f"  ({100 * facts[main + '_low']:.2f} to {100 * facts[main + '_high']:.2f}, 95 % of draws)"
    tell(title, told, _NAMES)
    if labels := facts.get("labels"):
        rows = [
            [
                label,
                row["gold"],
                row["guessed"],
                *(f"{100 * row[name]:.1f}" for name in ("precision", "recall", "f1")),
            ]
            for label, row in labels.items()
        ]
        show_rows("By label", ["label", "treebank", "parser", "precision", "recall", "F1"], rows)
    if facts["unseen_labels"]:
        print(f"Never seen in training: {', '.join(facts['unseen_labels'])}")
    if compared := facts.get("against"):
        names = ["baseline", "system", "difference", "low", "high"]
        rows = [
            [row["model"], *(f"{100 * row[name]:.2f}" for name in names), f"{row['p_value']:.4f}"]
            for row in compared
        ]
        head = ["against", f"its {main.upper()}", "ours", "difference", "from", "to", "p"]
        show_rows("95 % interval, bootstrap over sentences", head, rows)
