"""The output of parsers for sentences: trees, brackets with probabilities, dependencies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError, OptionError, SettingError, listed
from spinney.model import Applied
from spinney.parallel import default_threads, in_order
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.dependencies import to_dependencies
from spinney.parsing.headrules import head_rules
from spinney.parsing.parser import Bracket, Parser
from spinney.parsing.sentences import SentenceSource, Wanted
from spinney.parsing.text import known_words
from spinney.parsing.treebanks import check_column
from spinney.progress import log
from spinney.settings.parse import Apply

LONGEST = 200  # words of a sentence, where nothing else is said


@dataclass(frozen=True)
class Parsed:
    """A sentence with its tree, with several trees and their scores, with brackets, or with heads; None if empty."""

    number: int
    words: list[str]
    leaves: list[str]  # the words as the treebank writes them
    found: Any
    column: str = "xpos"

    def _asdict(self) -> dict[str, Any]:
        """The record for JSON, which has no infinity."""
        facts: dict[str, Any] = {"number": self.number, "words": self.words}
        if isinstance(self.found, Sentence):
            columns = {"tags": self.column, "heads": "heads", "relations": "deprels"}
            return facts | {name: getattr(self.found, column) for name, column in columns.items()}
        if isinstance(self.found, Tree):
            return facts | {"tree": str(self.found)}
        return {**facts, **self.found}


def with_decoder(parser: Parser, s: Any) -> Parser:
    """The parser with the decoder, the pruning and the threads of some settings."""
    if s.decoder == "viterbi" and parser.settings.method != "pcfg":
        raise SettingError("{decoder} viterbi needs a grammar without states: fit with {method} pcfg")
    parser = copy(parser)
    parser.decoder, parser.threads = s.decoder or parser.decoder, s.threads or parser.threads
    if (prune := getattr(s, "prune", None)) is not None:
        parser.prune(prune)
    return parser


def refuse_for_automata(s: Any) -> None:
    """Refuse what only grammars have."""
    if s.decoder is not None:
        raise SettingError("{decoder} is not for head automata, which have only one decoder: leave it out")
    if s.prune is not None:
        raise SettingError("{prune} is not for head automata, which are not pruned: leave it out")


def apply_parser(parser: Parser, data: Any, s: Apply) -> Applied:
    """Trees, brackets with probabilities, or dependencies of sentences, as the settings ask."""
    what = s.what or "trees"
    _choice("format", s.format, ("lines", "prose", "tagged"))
    _refuse_proba(s)
    parser = with_decoder(parser, s)
    if s.nbest > 1 and parser.decoder == "free":
        raise OptionError("the decoder 'free' gives one tree per sentence: choose another for several trees")
    tags, rules, threads = _Tags(parser.tags_), head_rules(s.head_rules), parser.threads or default_threads()

    def brackets(one: Wanted) -> list[Bracket]:
        return [] if _long(one, s) else parser.brackets(one.words, s.least, one.tags)

    def several(one: Wanted) -> list[tuple[Tree, float]]:
        if _long(one, s):
            return [(parser.flat_tree(one.words, one.tags), -math.inf)]
        return parser.parse_kbest(one.words, s.nbest, one.tags)

    def trees(full: list[Wanted]) -> Iterator[Any]:
        tags.check([tag for one in full for tag in one.tags or ()])
        if what == "brackets":
            return in_order(brackets, full, threads)
        if s.nbest > 1:
            return in_order(several, full, threads)
        given = [one.tags or [] for one in full] if any(one.tags for one in full) else None
        found = parser.parse([one.words for one in full], given, longest=_longest(s))
        if what == "trees":
            return iter(found)
        return (_sentence(wanted, to_dependencies(tree, rules)) for wanted, tree in zip(full, found))

    def record(wanted: Wanted, found: Any) -> Parsed:
        if what == "brackets":
            found = {"brackets": [
                {"label": one.label, "first": one.begin + 1, "last": one.end, "probability": one.probability}
                for one in found or []
            ]}  # fmt: skip
        elif s.nbest > 1:
            found = {"trees": [
                {"tree": str(tree), "score": score if math.isfinite(score) else None} for tree, score in found or []
            ]}  # fmt: skip
        elif found is None:
            found = Sentence([]) if what == "conllu" else {"tree": None}
        return Parsed(wanted.number, wanted.forms, wanted.words, found)

    write = {"brackets": _brackets, "conllu": _conllu}.get(what, _ranked if s.nbest > 1 else _line)
    return _applied(data, s, s.format or "lines", trees, record, write, tags, known_words(parser))


def apply_automata(model: HeadAutomata, data: Any, s: Apply) -> Applied:
    """The heads of sentences whose tags are known."""
    _choice("format", s.format, ("conllu", "tagged"))
    _choice("what", s.what, ("conllu",))
    _refuse_proba(s)
    refuse_for_automata(s)
    if s.nbest > 1:
        raise SettingError("{nbest} is not for head automata, which give one tree per sentence: leave it out")
    tags = _Tags(frozenset(model.tags_))

    def one(sentence: Sentence) -> Sentence:
        if len(sentence) > _longest(s):
            heads = [0] + [1] * (len(sentence) - 1)  # a flat tree: all words depend on the first
        else:
            heads = model.predict([sentence])[0].tolist()
        return replace(sentence, heads=heads, deprels=["dep" if head else "root" for head in heads], deps=[])

    def heads(full: list[Wanted]) -> Iterator[Sentence]:
        given = [one.sentence or Sentence(one.forms) for one in full]
        for wanted, sentence in zip(full, given):
            if wanted.tags is not None:
                setattr(sentence, model.column, wanted.tags)
        check_column(given, model.column)
        tags.check([tag for sentence in given for tag in getattr(sentence, model.column)])
        return in_order(one, given, s.threads or default_threads())

    def record(wanted: Wanted, found: Any) -> Parsed:
        found = Sentence([]) if found is None else found
        return Parsed(wanted.number, wanted.forms, wanted.words, found, model.column)

    return _applied(data, s, s.format or "conllu", heads, record, _conllu, tags)


def _applied(
    data: Any,
    s: Apply,
    format: str,
    parse: Callable[[list[Wanted]], Iterator[Any]],
    record: Callable[[Wanted, Any], Parsed],
    write: Callable[[Parsed], str],
    tags: _Tags,
    known: frozenset[str] = frozenset(),
) -> Applied:
    report, facts = ReadReport(), dict[str, Any]()
    source = SentenceSource(data, format, s.encoding, s.on_error, None, report, known)

    def records() -> Iterator[Parsed]:
        flat: list[Wanted] = []
        for batch in source.batches():
            found = parse([wanted for wanted in batch if wanted.words])
            flat += [wanted for wanted in batch if _long(wanted, s)]
            for wanted in batch:
                yield record(wanted, next(found) if wanted.words else None)
        facts.update(empty=report.empty, skipped=report.skipped, flat=len(flat))
        if flat:
            what = "%d sentence%s longer than max_length=%d and got a flat tree; the first: number %d, with %d words"
            verb = "s are" if len(flat) > 1 else " is"
            log.warning(what, len(flat), verb, _longest(s), flat[0].number, len(flat[0].words))
        if empty := report.empty - report.skipped:
            log.info("%d empty line%s without a tree", empty, "s" * (empty > 1))
        if report.skipped:
            log.warning("%d sentences were skipped; the first: %s", report.skipped, report.errors[0])
        tags.warn()

    return Applied("sentences", records(), write, facts)


def _long(wanted: Wanted, s: Apply) -> bool:
    return len(wanted.words) > _longest(s)


def _longest(s: Apply) -> int:
    return LONGEST if s.max_length is None else s.max_length


def _choice(name: str, value: str | None, known: Sequence[str]) -> None:
    """Refuse a choice that only the other kind of parser has."""
    if value is not None and value not in known:
        raise SettingError(
            f"{{{name}}} must be {{known}} for this kind of parser, not {{value}}",
            known=listed(known, "or"), value=repr(value),
        )  # fmt: skip


def _refuse_proba(s: Apply) -> None:
    if s.proba:
        raise SettingError("{proba} is for tree CRFs: leave it out, or fit with {method} tree-crf")


@dataclass
class _Tags:
    """The tags of a treebank, and the tags of the text that it does not have."""

    known: frozenset[str]
    seen: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    def check(self, tags: list[str]) -> None:
        """Count unknown tags. If no tag of the first hundred sentences is known, they are from another tag set."""
        unknown = [tag for tag in tags if tag not in self.known]
        if tags and not self.seen and len(unknown) == len(tags):
            some = ", ".join(sorted(set(unknown))[:3])
            raise InputError(
                f"the model knows none of the tags ({some} …)",
                remedy=f"the model has {', '.join(sorted(self.known)[:8])} …",
            )
        self.seen += len(tags)
        self.unknown.update(unknown)

    def warn(self) -> None:
        """Warn of the number of unknown tags."""
        if self.unknown:
            what = "%d of %d tags are unknown to the model and were ignored: %s …"
            some = ", ".join(tag for tag, _ in self.unknown.most_common(3))
            log.warning(what, self.unknown.total(), self.seen, some)


# ------------------------------------------------------------------------------------------- as text


def _sentence(wanted: Wanted, found: Sentence) -> Sentence:
    """Dependencies with the words as they are in the text."""
    forms = wanted.forms if len(found) == len(wanted.forms) else found.forms
    return replace(found, forms=forms, comments=[f"# sent_id = {wanted.number}"])


def _line(record: Parsed) -> str:
    return f"{record.found}\n" if isinstance(record.found, Tree) else "\n"


def _conllu(record: Parsed) -> str:
    return f"{record.found}\n\n" if record.found.forms else ""


def _ranked(record: Parsed) -> str:
    rows = enumerate(record.found["trees"], 1)
    return "".join(
        f"{record.number}\t{rank}\t{-math.inf if one['score'] is None else one['score']:.4f}\t{one['tree']}\n"
        for rank, one in rows
    )


def _brackets(record: Parsed) -> str:
    return "".join(
        f"{record.number}\t{one['label']}\t{one['first']}\t{one['last']}\t{one['probability']:.4f}\t"
        f"{' '.join(record.leaves[one['first'] - 1 : one['last']])}\n"
        for one in record.found["brackets"]
    )
