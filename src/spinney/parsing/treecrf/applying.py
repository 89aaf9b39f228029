"""Trees for the sentences of files: CoNLL-U in, CoNLL-U out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.lines import ReadReport
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError, SettingError, shown
from spinney.model import Applied
from spinney.progress import log

if TYPE_CHECKING:
    from spinney.parsing.treecrf.parser import TreeParser

_BATCH = 200  # sentences
GIVEN = "Head="  # in MISC: an arc that must stay
_PROBABILITIES = ("ArcProbability=", "RelationProbability=")  # in MISC


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence with its tree, or with several."""

    number: int
    trees: list[Sentence]
    probability: list[float]
    log_probability: list[float]

    def _asdict(self) -> dict[str, Any]:
        """The record for JSON."""
        one = self.trees[0]
        facts: dict[str, Any] = {"number": self.number, "words": one.forms, "tags": one.upos}
        if self.log_probability:
            found = [
                {"heads": tree.heads, "relations": tree.deprels, "log_probability": score}
                for tree, score in zip(self.trees, self.log_probability)
            ]
            return facts | {"trees": found}
        return facts | {"heads": one.heads, "relations": one.deprels, "probability": self.probability}


def conllu_sentences(data: Any, s: Any, report: ReadReport) -> Iterator[Sentence]:
    """The sentences of CoNLL-U files, or those that are given."""
    alone = isinstance(data, str | os.PathLike)
    given = [data] if alone or not isinstance(data, Iterable) else data
    for one in given:
        if isinstance(one, Sentence):
            yield one
        elif isinstance(one, str | os.PathLike):
            yield from read_conllu(one, encoding=s.encoding, on_error=s.on_error, report=report)
        else:
            raise InputError(f"data must be CoNLL-U files or sentences of CoNLL-U, not {shown(one)}")


def refuse_for_tree_crfs(s: Any) -> None:
    """Refuse what only grammars have, and text without tags."""
    for name in ("decoder", "prune", "head_rules"):
        if getattr(s, name, None) is not None:
            raise SettingError(f"{{{name}}} is not for tree CRFs: leave it out")
    for name in ("format", "what"):
        if (value := getattr(s, name, None)) not in (None, "conllu"):
            raise SettingError(
                f"{{{name}}} must be conllu for a tree CRF, which reads tagged words, not {{value}}: for raw text, "
                "use a model of pipeline fit",
                value=repr(value),
            )


def applied(parser: TreeParser, data: Any, s: Any) -> Applied:
    """The sentences with their trees, as the settings ask."""
    refuse_for_tree_crfs(s)
    if s.nbest > 1 and s.proba:
        raise SettingError("{proba} is for one tree per sentence: leave out {proba} or {nbest}")
    report, facts = ReadReport(), dict[str, Any]()

    def records() -> Iterator[ParsedSentence]:
        done, tagged = 0, not parser.needs_tags
        for some in in_batches(conllu_sentences(data, s, report), _BATCH, data):
            tagged = tagged or any(set(one.upos) - {"_"} for one in some)
            if not tagged:
                raise InputError(
                    "no tags in the column upos", remedy="tag the text first, or use a model of pipeline fit"
                )
            yield from _batch(parser, some, done + 1, s)
            done += len(some)
        facts.update(empty=report.empty, skipped=report.skipped)
        if report.skipped:
            log.warning("%d sentences were skipped; the first: %s", report.skipped, report.errors[0])

    return Applied("sentences", records(), _text, facts)


def _batch(parser: TreeParser, sentences: Sequence[Sentence], first: int, s: Any) -> Iterator[ParsedSentence]:
    given = [given_heads(one, number) for number, one in enumerate(sentences, first)]
    if s.nbest > 1:
        for number, (sentence, heads) in enumerate(zip(sentences, given), first):
            found = parser.kbest(sentence, s.nbest, given=_held(heads), number=number)
            yield ParsedSentence(number, [tree for tree, _ in found], [], [score for _, score in found])
        return
    held = given if any(map(_held, given)) else None
    parsed = parser.probable(sentences, given=held, threads=s.threads, longest=s.max_length, first=first)
    for number, (tree, arcs, relations) in enumerate(parsed, first):
        both = [a * b for a, b in zip(arcs, relations)]
        shown = with_probabilities(tree, arcs, relations) if s.proba else tree
        yield ParsedSentence(number, [shown], both, [])


def _held(heads: Sequence[int]) -> Sequence[int] | None:
    """Given heads, or None if none is given."""
    return heads if any(head >= 0 for head in heads) else None


def given_heads(sentence: Sentence, number: int | None = None) -> list[int]:
    """The heads that MISC asks for (``Head=3``), -1 where it does not; messages name the sentence by its number.

    Examples
    --------
    >>> given_heads(Sentence(["Dogs", "bark"], misc=["Head=2", "SpaceAfter=No"]))
    [2, -1]
    """
    heads: list[int] = []
    for field in sentence.misc or ["_"] * len(sentence):
        value = next((one[len(GIVEN) :] for one in field.split("|") if one.startswith(GIVEN)), "")
        ok = value.isascii() and value.isdigit() and len(value) < 7 and int(value) <= len(sentence)
        if value and (not ok or int(value) == len(heads) + 1):
            where = "" if number is None else f"sentence {number}: "
            raise InputError(
                f"{where}{GIVEN}{value} is not the number of another word of the sentence, or 0",
                remedy="correct the column MISC, or leave it out",
            )
        heads.append(int(value) if value else -1)
    return heads


def with_probabilities(tree: Sentence, arcs: Sequence[float], relations: Sequence[float]) -> Sentence:
    """The tree with the probabilities of its arcs, and of relations given arcs, in MISC.

    Examples
    --------
    >>> with_probabilities(Sentence(["Stop"], heads=[0]), [1.0], [0.9]).misc
    ['ArcProbability=1.000|RelationProbability=0.900']
    """
    misc = []
    for field, arc, relation in zip(tree.misc or ["_"] * len(tree), arcs, relations):
        others = [one for one in field.split("|") if one != "_" and not one.startswith(_PROBABILITIES)]
        told = [f"{name}{chance:.3f}" for name, chance in zip(_PROBABILITIES, (arc, relation))]
        misc.append("|".join([*others, *told]))
    return replace(tree, misc=misc)


def _text(record: ParsedSentence) -> str:
    lines = []
    for rank, tree in enumerate(record.trees, start=1):
        told = []
        if record.log_probability:
            told = [f"# rank = {rank}", f"# log_probability = {record.log_probability[rank - 1]:.4f}"]
        lines.append(f"{replace(tree, comments=[*tree.comments, *told])}\n\n")
    return "".join(lines)
