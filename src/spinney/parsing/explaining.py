"""Why a parser gives a sentence its tree: the rules of the tree, or its arcs, with log-probabilities that add up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError
from spinney.parsing.applying import with_decoder
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.grammar import Floats, Grammar
from spinney.parsing.modifiers import LEFT, RIGHT, automaton_of
from spinney.parsing.parser import Parser
from spinney.parsing.sentences import SentenceSource, Wanted
from spinney.parsing.text import known_words
from spinney.parsing.treearrays import TreeArrays
from spinney.parsing.treebanks import check_column
from spinney.settings.parse import Explain
from spinney.views import Arcs, Extra, Note, PhraseTree, Table, View

_STATES = (
    "A rule of a label with states counts what it multiplies the probability of the trees below it by, their states "
    "being as probable as those trees make them: the sum is the log-probability of the tree over all states."
)
_PLAIN = "The rules are those of the PCFG without states: the numbers of this grammar may be negative or compressed."


class RuleUse(NamedTuple):
    """A rule of a tree, the words below it, and its log-probability (natural)."""

    rule: str
    words: str
    logp: float


def rule_uses(parser: Parser, tree: Tree) -> list[RuleUse]:
    """The rules of a tree from the root down, with log-probabilities that add up to that of the tree.

    Rules are those of binary trees, which the grammar has; a rule that it does not have is -inf.

    Examples
    --------
    >>> parser = Parser("pcfg", rare=0).fit([Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N cats) (V bark))")])
    >>> [(use.rule, round(use.logp, 3)) for use in rule_uses(parser, Tree.parse("(S (N dogs) (V bark))"))]
    [('S', 0.0), ('S → N V', 0.0), ('N → dogs', -0.693), ('V → bark', 0.0)]
    """
    grammar = explaining_grammar(parser)
    rules = grammar.rules
    trees = TreeArrays.of([parser.binarisation.binarise(tree)], rules.labels)
    uses, names = rules.used(trees).rule, trees.labels
    words = trees.tokens
    states: list[Floats] = []  # the states of each node, as shares of the probability of the tree below it
    found: list[RuleUse] = []
    for node, (label, left, right, rule) in enumerate(
        zip(trees.label.tolist(), trees.left.tolist(), trees.right.tolist(), uses.tolist())
    ):
        below = " ".join(words[trees.begin[node] : trees.end[node]])
        size = int(grammar.layout.n_states[label]) if label < rules.n_labels else 1
        inside = np.zeros(size)
        if left < 0:
            name = f"{names[label]} → {below}"
            inside = grammar.vector(rule) if rule >= 0 else inside
        elif right < 0:
            name = f"{names[label]} → {names[trees.label[left]]}"
            inside = grammar.matrix(rule) @ states[left] if rule >= 0 else inside
        else:
            name = f"{names[label]} → {names[trees.label[left]]} {names[trees.label[right]]}"
            if rule >= 0:
                inside = np.einsum("abc,b,c->a", grammar.tensor(rule), states[left], states[right])
        total = float(inside.sum())
        states.append(inside / total if total > 0 else np.full(size, 1.0 / size))
        found.append(RuleUse(name, below, _log(total)))
    top, start = int(trees.label[-1]), grammar.layout.state_start
    chance = 0.0
    if top < rules.n_labels:
        chance = float(grammar.root[start[top] : start[top + 1]] @ states[-1])
    return [RuleUse(names[top], " ".join(words), _log(chance)), *reversed(found)]


def explaining_grammar(parser: Parser) -> Grammar:
    """The grammar whose rules explain a tree: the first, or the PCFG where its numbers are signed or compressed."""
    first = parser.grammars_[0]
    return first if isinstance(first, Grammar) and not first.signed else parser.coarse_


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def explain_parser(parser: Parser, data: Any, s: Explain) -> list[View]:
    """The tree of each sentence, and the rules that make it most improbable."""
    parser = with_decoder(parser, s)
    grammar = explaining_grammar(parser)
    said = _STATES if grammar.layout.n_states.max(initial=1) > 1 else ""
    if grammar is not parser.grammars_[0]:
        said = _PLAIN
    views: list[View] = [Note(said)] if said else []
    found = []
    for one in _sentences(data, s, s.format or "lines", known_words(parser)):
        tree = parser.parse([one.words], None if one.tags is None else [one.tags])[0]
        uses = rule_uses(parser, tree)
        total = sum(use.logp for use in uses)
        costly = sorted(uses, key=lambda use: use.logp)
        rows: list[list[Any]] = [list(use) for use in costly[: s.top]]
        if len(costly) > s.top:
            rows.append([f"({len(costly) - s.top:,} more)", "", sum(use.logp for use in costly[s.top :])])
        title = f"Sentence {one.number}: the most improbable of {len(uses):,} rules"
        views += [PhraseTree("", f"Sentence {one.number}", str(tree))]
        views.append(Table("", title, ["rule", "words", "log p"], [*rows, ["sum", "", total]]))
        found.append({"number": one.number, "tree": str(tree), "log_probability": total, "rules": uses})
    return _some(views, found)


class ArcUse(NamedTuple):
    """A word, its head (0: the root), the probability of the arc, and its log-probability given its inner siblings."""

    word: str
    tag: str
    head: int
    probability: float
    logp: float


def arc_uses(model: HeadAutomata, tags: Sequence[str], heads: Sequence[int]) -> tuple[list[float], float]:
    """The log-probability of each arc of a tree, and that of all sequences of modifiers ending where they end.

    Together they are :meth:`HeadAutomata.log_probability` of the tree. An automaton may have negative numbers: then
    these are the logarithms of magnitudes.
    """
    ids = model._encode(tags)
    automata, V = model.automata_, len(model.tags_)
    logs, ends = [0.0] * len(tags), 0.0
    for head in range(len(tags) + 1):
        below = [m for m in range(1, len(tags) + 1) if heads[m - 1] == head]
        sides = [(LEFT, [m for m in reversed(below) if m < head]), (RIGHT, [m for m in below if m > head])]
        if head == 0:
            sides = [(LEFT, below)]
        for direction, modifiers in sides:
            k = automaton_of(V + 1 if head == 0 else int(ids[head]), direction)
            A, stop = automata.matrices[k], automata.stop[k]
            # The mass of all that may follow a state: σ = stop + Σ Aₘᵀ σ.
            size = len(stop)
            mass = np.linalg.lstsq(np.eye(size) - A.sum(axis=0).T, stop, rcond=None)[0]
            state = automata.start[k]
            before = float(mass @ state)
            ends += _magnitude(before)
            for m in modifiers:
                state = A[int(ids[m])] @ state
                after = float(mass @ state)
                logs[m - 1] += _magnitude(after) - _magnitude(before)
                before = after
            ends += _magnitude(float(stop @ state)) - _magnitude(before)
    return logs, ends


def _magnitude(value: float) -> float:
    return math.log(abs(value)) if value else -math.inf


def explain_automata(model: HeadAutomata, data: Any, s: Explain) -> list[View]:
    """The heads of each sentence, and how probable each arc is."""
    views: list[View] = [
        Note(
            "The probability of an arc is its share of all trees; log p is that of a word after its inner siblings."
        )
    ]
    found = []
    for one in _sentences(data, s, s.format or "conllu"):
        sentence = one.sentence or Sentence(one.forms)
        if one.tags is not None:
            setattr(sentence, model.column, one.tags)
        check_column([sentence], model.column)
        tags = list(getattr(sentence, model.column))
        heads = model.predict([sentence])[0].tolist()
        marginals = model.edge_marginals(sentence)
        logs, ends = arc_uses(model, tags, heads)
        arcs = [
            ArcUse(word, tag, head, float(marginals[head, m]), log)
            for m, (word, tag, head, log) in enumerate(zip(one.forms, tags, heads, logs), start=1)
        ]
        rows: list[list[Any]] = [list(arc) for arc in arcs]
        rows += [["(ends of sequences)", "", "", "", ends], ["sum", "", "", "", sum(logs) + ends]]
        views.append(Arcs("", f"Sentence {one.number}", one.forms, tags, heads))
        header = ["word", "tag", "head", "probability", "log p"]
        views.append(Table("", f"Sentence {one.number}: arcs", header, rows))
        found.append({"number": one.number, "log_probability": sum(logs) + ends, "ends": ends, "arcs": arcs})
    return _some(views, found)


def _sentences(data: Any, s: Explain, format: str, known: frozenset[str] = frozenset()) -> Iterator[Wanted]:
    """The first sentences that have any words."""
    source = SentenceSource(data, format, s.encoding, s.on_error, s.max_length, ReadReport(), known)
    left = s.documents
    for batch in source.batches():
        for one in batch:
            if one.words:
                yield one
                left -= 1
                if not left:
                    return


def _some(views: list[View], found: list[dict[str, Any]]) -> list[View]:
    if not found:
        raise InputError("no sentences to explain")
    return [*views, Extra("explained", "", found)]
