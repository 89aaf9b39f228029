"""``spinney parse apply``: trees for sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.parse_text import (
    Decoder,
    ModelIn,
    Rules,
    SentenceSource,
    Wanted,
    check_column,
    head_rules,
    load_model,
)
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.parallel import default_threads, in_order

if TYPE_CHECKING:
    from spinney.corpus import ReadReport, Sentence, Tree
    from spinney.parsing.automata import HeadAutomata
    from spinney.parsing.headrules import HeadRules
    from spinney.parsing.parser import Parser

_FORMATS = {"grammar": ("lines", "prose", "tagged"), "automata": ("conllu", "tagged")}
_OUTPUTS = {"grammar": ("trees", "conllu", "brackets"), "automata": ("conllu",)}


def apply(
    model: ModelIn,
    data: Annotated[str, typer.Argument(help="Text; - is standard input.")] = "-",
    format: Annotated[
        str | None,
        typer.Option(
            help="lines (default; a sentence a line, words parted by spaces), prose, tagged (word/TAG); for head "
            "automata conllu (default) or tagged.",
            show_default=False,
        ),
    ] = None,
    what: Annotated[
        str | None,
        typer.Option(
            help="trees (default; one a line), conllu (dependencies, by head rules), brackets (labels over words with "
            "their probabilities); of head automata conllu.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    nbest: Annotated[
        int,
        typer.Option(
            "--nbest",
            min=1,
            help="So many trees a sentence: its number, rank, score and tree, parted by tabs.",
        ),
    ] = 1,
    least: Annotated[float, typer.Option(min=0, max=1, help="brackets: those at least so probable.")] = 0.01,
    decoder: Decoder = None,
    rules: Rules = None,
    max_length: Annotated[int, typer.Option(min=1, help="Words of a sentence at most.")] = 200,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A tree for each sentence; an empty line for an empty one. Reads endless input as it comes."""
    begin(quiet)
    if as_json and output != "-":
        raise OptionError("--json goes to standard output: leave out --output")
    from spinney.corpus import ReadReport, writing

    fitted = load_model(model, threads, decoder)
    source = SentenceSource(
        data, _choice(fitted, "--format", format, _FORMATS), encoding, on_error, max_length
    )
    work = _Work(fitted, _choice(fitted, "--what", what, _OUTPUTS), nbest, least, head_rules(rules), threads)
    report = ReadReport()
    told: list[dict[str, Any]] = []
    with about(data), writing("-" if as_json else output) as file:
        for batch in source.batches(report, work.known_words):
            for wanted, found in work.done(batch):
                if as_json:
                    told.append(work.facts(wanted, found))
                else:
                    file.write(work.text(wanted, found))
            file.flush()
    if as_json:
        emit(True, {"sentences": told, "empty": report.empty, "skipped": report.skipped}, lambda: None)
    work.warn(report)


def _choice(
    model: Parser | HeadAutomata, name: str, value: str | None, known: dict[str, tuple[str, ...]]
) -> str:
    """What is wanted of those that there are for this kind of model; the first by default."""
    from spinney.parsing.parser import Parser

    choices = known["grammar" if isinstance(model, Parser) else "automata"]
    if value is None:
        return choices[0]
    if value in choices:
        return value
    of_whom = "" if isinstance(model, Parser) else " for head automata"
    raise unknown_choice(f"{name}{of_whom} is", value, choices)


@dataclass
class _Work:
    """What is done with each sentence, and how it is written down."""

    model: Parser | HeadAutomata
    what: str
    nbest: int
    least: float
    rules: HeadRules
    threads: int | None
    unknown_tags: Counter[str] = field(default_factory=Counter)
    tagged: int = 0

    def __post_init__(self) -> None:
        if self.nbest > 1 and self.what != "trees":
            raise OptionError(f"--nbest is for trees, not for {self.what}")

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words of the treebank."""
        from spinney.parsing.parser import Parser

        if not isinstance(self.model, Parser):
            return frozenset()
        lexicon = self.model.rules_.lexicon
        return frozenset(lexicon.rows[: lexicon.n_words])

    @cached_property
    def known_tags(self) -> frozenset[str]:
        """The tags of the treebank."""
        return frozenset(self.model.tags_)

    def done(self, batch: list[Wanted]) -> Iterator[tuple[Wanted, Any]]:
        """Each sentence with its tree, trees, brackets or CoNLL-U sentence; None with an empty one."""
        from spinney.parsing.parser import Parser

        full = [wanted for wanted in batch if wanted.words]
        if not isinstance(self.model, Parser):
            found: Iterator[Any] = self._with_heads(self.model, full)
        else:
            self._check_tags([tag for wanted in full for tag in wanted.tags or ()])
            found = self._parsed(self.model, full)
        for wanted in batch:
            yield wanted, next(found) if wanted.words else None

    def _parsed(self, parser: Parser, full: list[Wanted]) -> Iterator[Any]:
        threads = self.threads or default_threads()
        if self.what == "brackets":
            return in_order(lambda one: parser.brackets(one.words, self.least, one.tags), full, threads)
        if self.nbest > 1:
            return in_order(lambda one: parser.parse_kbest(one.words, self.nbest, one.tags), full, threads)
        tags = [one.tags or [] for one in full] if any(one.tags for one in full) else None
        trees = parser.parse([one.words for one in full], tags)
        if self.what == "trees":
            return iter(trees)
        return (self._sentence(wanted, tree) for wanted, tree in zip(full, trees))

    def _sentence(self, wanted: Wanted, tree: Tree) -> Sentence:
        """The dependencies of a tree, with the words as they are in the text."""
        from spinney.parsing.dependencies import to_dependencies

        found = to_dependencies(tree, self.rules)
        forms = wanted.forms if len(found) == len(wanted.forms) else found.forms
        return replace(found, forms=forms, comments=[f"# sent_id = {wanted.number}"])

    def _with_heads(self, model: HeadAutomata, full: list[Wanted]) -> Iterator[Sentence]:
        from spinney.corpus import Sentence

        given = [one.sentence or Sentence(one.forms) for one in full]
        for wanted, sentence in zip(full, given):
            if wanted.tags is not None:
                setattr(sentence, model.column, wanted.tags)
        check_column(given, model.column)
        self._check_tags([tag for sentence in given for tag in getattr(sentence, model.column)])

        def one(sentence: Sentence) -> Sentence:
            heads = model.predict([sentence])[0].tolist()
            return replace(
                sentence, heads=heads, deprels=["dep" if head else "root" for head in heads], deps=[]
            )

        return in_order(one, given, self.threads or default_threads())

    def _check_tags(self, tags: list[str]) -> None:
        """Count tags that the model lacks. If it has none of the first hundred sentences, they are of another kind."""
        unknown = [tag for tag in tags if tag not in self.known_tags]
        if tags and not self.tagged and len(unknown) == len(tags):
            some = ", ".join(sorted(set(unknown))[:3])
            raise InputError(
                f"none of its tags ({some} …) is one of the model's",
                remedy=f"the model has {', '.join(sorted(self.known_tags)[:8])} …",
            )
        self.tagged += len(tags)
        self.unknown_tags.update(unknown)

    def text(self, wanted: Wanted, found: Any) -> str:
        """For the output file. What has no number of its own is a line a sentence, be it empty."""
        if self.what == "conllu":
            return "" if found is None else f"{found}\n\n"
        if self.what == "brackets":
            return "".join(
                f"{wanted.number}\t{one.label}\t{one.begin + 1}\t{one.end}\t{one.probability:.4f}\t"
                f"{' '.join(wanted.words[one.begin : one.end])}\n"
                for one in found or []
            )
        if self.nbest > 1:
            return "".join(
                f"{wanted.number}\t{rank}\t{score:.4f}\t{tree}\n"
                for rank, (tree, score) in enumerate(found or [], 1)
            )
        return "\n" if found is None else f"{found}\n"

    def facts(self, wanted: Wanted, found: Any) -> dict[str, Any]:
        """For JSON, which knows no infinity."""
        facts: dict[str, Any] = {"number": wanted.number, "words": wanted.forms}
        if self.what == "brackets":
            told = [
                {"label": one.label, "first": one.begin + 1, "last": one.end, "probability": one.probability}
                for one in found or []
            ]
            return facts | {"brackets": told}
        if self.what == "conllu":
            columns = {"tags": "xpos", "heads": "heads", "relations": "deprels"}
            if hasattr(self.model, "column"):
                columns["tags"] = self.model.column
            return facts | {name: getattr(found, column, []) for name, column in columns.items()}
        if self.nbest > 1:
            pairs = [(str(tree), score if math.isfinite(score) else None) for tree, score in found or []]
            return facts | {"trees": [{"tree": tree, "score": score} for tree, score in pairs]}
        return facts | {"tree": None if found is None else str(found)}

    def warn(self, report: ReadReport) -> None:
        """Tell what was odd."""
        from spinney.progress import log

        if empty := report.empty - report.skipped:
            log.info("%d empty line%s: no tree", empty, "s" * (empty > 1))
        if report.skipped:
            log.warning("%d sentences passed over, the first: %s", report.skipped, report.errors[0])
        if self.unknown_tags:
            what = "%d of %d tags are none of the model's, and were not used: %s …"
            some = ", ".join(tag for tag, _ in self.unknown_tags.most_common(3))
            log.warning(what, self.unknown_tags.total(), self.tagged, some)
