"""The page of a parser: its labels and rules, what their states stand for, and the trees of some sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.evaluate.attachment import Attachment, attachment
from spinney.evaluate.parseval import Parseval, bracket_counts, bracket_f1, parseval
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.automata_reading import describe_heads
from spinney.parsing.parser import Parser
from spinney.parsing.reading import LabelReading, Reader, Share, StateReading
from spinney.report.page import Html, Page, Section, escape, facts, heading, paragraph, table
from spinney.report.parse_arcs import drawn_arcs
from spinney.report.parse_trees import drawn_tree, wrong_nodes
from spinney.structure.words import short

_RULES = 300
_LABELS = 400  # whose states are told
#: The most words of a sentence that is drawn.
LONGEST = 40

_AXES = 4  # directions of a label
_ARCS = 25  # words of a sentence with arcs
_EXAMPLES = 6  # sentences, where none are given

_FACTS = {
    "method": "method", "decoder": "decoder", "trees": "trees", "sentences": "sentences", "words": "words",
    "labels": "labels", "tags": "tags", "known_words": "known words", "binary_rules": "binary rules",
    "unary_rules": "unary rules", "grammars": "grammars", "states": "states", "parameters": "parameters",
    "nonprojective": "trees that are not projective", "seconds": "seconds",
}  # fmt: skip


@dataclass(frozen=True)
class Tried:
    """Trees that a parser gave to sentences, and those of a treebank if there are any."""

    guess: Sequence[Tree]
    gold: Sequence[Tree] | None = None

    @classmethod
    def of(cls, parser: Parser, gold: Sequence[Tree]) -> Tried:
        """Parse the sentences of a treebank."""
        return cls(parser.parse(tree.leaves() for tree in gold), gold)

    @cached_property
    def scores(self) -> Parseval | None:
        """Of the parser's trees."""
        return None if self.gold is None else parseval(self.gold, self.guess)


def parse_page(
    parser: Parser, title: str, tried: Tried | None = None, *, documents: int = 10, top: int = 10
) -> Page:
    """The whole page.

    Parameters
    ----------
    parser
        A fitted one.
    title
        Of the page.
    tried
        Trees to show.
    documents
        How many of them.
    top
        How many words and rules a state.

    Examples
    --------
    >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")] * 3
    >>> parser = Parser("pcfg", rare=0).fit(trees)
    >>> page = parse_page(parser, "dogs", Tried.of(parser, trees)).html()
    >>> "<h2>Labels</h2>" in page, "<h2>Trees</h2>" in page
    (True, True)
    """
    reader = Reader(parser)
    rows = reader.table()
    cells = [
        [row.label, _phrase(row.phrase, row.part), row.share, row.states, row.rules, row.words]
        for row in rows
    ]
    sections = []
    if tried is not None:
        sections += _scores(tried.scores) if tried.scores is not None else []
        sections.append(Section("Trees", _trees(tried, documents)))
    elif examples := _examples(parser.facts_.get("examples")):
        sections.append(Section("Trees", _example_trees(parser.parse(examples))))
    header = ["label", "stands for", "share of nodes", "states", "rules", "words"]
    sections.append(Section("Labels", [paragraph(_LABELS_TEXT), table(header, cells)]))
    told = [reader.label(row.label, top) for row in rows[:_LABELS]]
    sections.append(Section("Labels in words", _labels(told, len(rows), parser)))
    rules = [
        [f"{rule.label} → {rule.becomes}", rule.probability, rule.share] for rule in reader.rules(_RULES)
    ]
    about = f"The {len(rules):,} rules that are used most, with their probability given the label."
    sections.append(
        Section("Rules", [paragraph(about), table(["rule", "probability", "share of nodes"], rules)])
    )
    known = _known(
        {**parser.facts_, "method": parser.method, "decoder": parser.decoder, "grammars": parser.grammars}
    )
    return Page(title, _ABOUT, known, sections)


_ABOUT = "A parser: a probabilistic grammar that gives every sentence a tree of phrases."
_LABELS_TEXT = (
    "Labels of the grammar. Trees were made binary: @NP is a part of an NP, S+VP an S that holds but a VP, NP^S an NP "
    "below an S."
)
_STATES_TEXT = (
    "Every label has latent states that training found. A tag's states are read by their words, a phrase's by their "
    "rules; what tells a state apart is frequent in it and rarer in the label as a whole."
)
_SIGNED_TEXT = (
    "This grammar was learnt from moments: its states are coordinates in an unknown basis and mean nothing one by one. "
    "Shown are the words and rules of the labels with their total probabilities and, for tags, the words at the two "
    "ends of the leading directions."
)


@dataclass(frozen=True)
class Attached:
    """Sentences with the heads of a treebank and those that head automata gave."""

    gold: Sequence[Sentence]
    heads: Sequence[list[int]]

    @classmethod
    def of(cls, model: HeadAutomata, gold: Sequence[Sentence]) -> Attached:
        """Parse the sentences of a treebank."""
        return cls(gold, [heads.tolist() for heads in model.predict(gold)])

    @cached_property
    def scores(self) -> Attachment:
        """Of the heads that were given."""
        found = zip(self.gold, self.heads, strict=True)
        return attachment(self.gold, [replace(one, heads=heads, deprels=[]) for one, heads in found])


def automata_page(
    model: HeadAutomata, title: str, tried: Attached | None = None, *, documents: int = 10, top: int = 10
) -> Page:
    """The page of head automata.

    Parameters
    ----------
    model
        A fitted one.
    title
        Of the page.
    tried
        Sentences to show it on.
    documents
        How many of them.
    top
        How many modifiers a head.

    Examples
    --------
    >>> from spinney.corpus.conllu import Sentence
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0])] * 3
    >>> "<h2>Heads</h2>" in automata_page(HeadAutomata(method="bigram").fit(text), "dogs").html()
    True
    """
    sections = []
    if tried is not None:
        scores = tried.scores
        told = {
            "right heads": f"{scores.uas:.1%}", "sentences with all heads right": f"{scores.exact:.1%}",
            "right roots": f"{scores.root:.1%}", "words": scores.words, "sentences": scores.sentences,
        }  # fmt: skip
        sections.append(Section("Scores", [facts(told)]))
        sections.append(Section("Sentences", _arcs(model, tried, documents)))
    rows = [
        [
            f"{side.head}, {side.side}",
            "  ·  ".join(f"{modifier.tag} {modifier.expected:.2f}" for modifier in side.modifiers)
            or "(none)",
            side.mean,
            side.none,
            side.states,
        ]
        for side in describe_heads(model, top)
    ]
    about = (
        "What hangs on each tag, on either side: how many modifiers of each tag there are on average, how many in all, "
        "and how often there is none. From moments, these sums may be a little off."
    )
    header = ["head and side", "modifiers, each with its mean number", "modifiers in all", "none", "states"]
    sections.append(Section("Heads", [paragraph(about), table(header, rows)]))
    known = _known({**model.facts_, "method": model.method, "states": model.states})
    return Page(title, "Head automata: every word draws the words that depend on it.", known, sections)


def _arcs(model: HeadAutomata, tried: Attached, documents: int) -> list[Html]:
    chosen = [i for i, one in enumerate(tried.gold) if len(one.forms) <= _ARCS][:documents]
    about = (
        f"{len(chosen):,} of {len(tried.gold):,} sentences, none with more than {_ARCS} words. Arcs go from a head to "
        "what depends on it; wrong ones are set off, with the right ones dashed."
    )
    blocks = [paragraph(about)]
    for i in chosen:
        one = tried.gold[i]
        blocks.append(drawn_arcs(one.forms, getattr(one, model.column), tried.heads[i], one.heads))
    return blocks


def _known(values: Mapping[str, Any]) -> dict[str, object]:
    """Facts by the names that a person reads; a file may hold anything, so only plain values."""
    told: dict[str, object] = {}
    for key, name in _FACTS.items():
        value = values.get(key)
        if isinstance(value, list) and value and all(isinstance(one, int) for one in value):
            value = sum(value)
        if isinstance(value, int | float | str):
            told[name] = value
    return told


def _phrase(phrase: str, part: bool) -> str:
    return f"part of {phrase}" if part else phrase


# ---------------------------------------------------------------------------------------------- labels


def _labels(readings: Sequence[LabelReading], of: int, parser: Parser) -> list[Html]:
    about = _SIGNED_TEXT if parser.grammars_[0].signed else _STATES_TEXT
    if len(parser.grammars_) > 1:
        about += f" Of {len(parser.grammars_)} grammars, this is the first."
    if len(readings) < of:
        about += f" The {len(readings)} most frequent labels are told."
    return [paragraph(about), *(_folded(_summary(one), _reading(one)) for one in readings)]


def _summary(reading: LabelReading) -> str:
    states = "one state" if reading.n_states == 1 else f"{reading.n_states} states"
    return f"{reading.label} · {reading.share:.2%} of nodes · {states}"


def _reading(reading: LabelReading) -> list[Html]:
    if reading.signed or reading.n_states == 1:
        whole = {"words": reading.words, "rules": reading.rules, "below": reading.parents}
        blocks = [
            table(["", "most probable"], [[name, _listed(found)] for name, found in whole.items() if found])
        ]
        axes = [[axis.number + 1, _named(axis.high), _named(axis.low)] for axis in reading.directions[:_AXES]]
        return [*blocks, table(["direction", "one end", "other end"], axes)] if axes else blocks
    header = ["state", "share", "most probable", "tells it apart", "below"]
    return [table(header, [[f"{reading.label}-{state.number}", *_state(state)] for state in reading.states])]


def _state(state: StateReading) -> list[object]:
    # What tells a state apart may be words and rules: a label can be a tag and a phrase.
    probable = " · ".join(filter(None, (_listed(state.words), _listed(state.rules))))
    typical = [*state.typical_words, *state.typical_rules]
    return [state.share, probable, _named(share.name for share in typical), _listed(state.parents[:4])]


def _listed(shares: Iterable[Share]) -> str:
    return " · ".join(f"{short(share.name)} {share.probability:.1%}" for share in shares)


def _named(names: Iterable[str]) -> str:
    return " · ".join(short(name) for name in names)


def _folded(summary: str, blocks: Iterable[Html]) -> Html:
    return Html(f"<details><summary>{escape(summary)}</summary>\n{''.join(blocks)}</details>\n")


# ----------------------------------------------------------------------------------------------- trees


def _scores(scores: Parseval) -> list[Section]:
    told = {
        "F1": f"{scores.f1:.1%}", "precision": f"{scores.precision:.1%}", "recall": f"{scores.recall:.1%}",
        "exact trees": f"{scores.exact:.1%}", "right tags": f"{scores.tagging:.1%}", "sentences": scores.sentences,
    }  # fmt: skip
    rows = [
        [label, counts.gold, counts.guessed, counts.precision, counts.recall, counts.f1]
        for label, counts in scores.labels.items()
    ]
    header = ["label", "in the treebank", "in the parses", "precision", "recall", "F1"]
    return [Section("Scores", [facts(told), table(header, rows)])]


def _trees(tried: Tried, documents: int) -> list[Html]:
    lengths = [len(tree.leaves()) for tree in tried.guess]
    chosen = [i for i, n in enumerate(lengths) if n <= LONGEST][:documents]
    about = f"{len(chosen):,} of {len(lengths):,} sentences, none with more than {LONGEST} words."
    if tried.gold is None:
        drawings = [_drawn(f"Sentence {i + 1}", drawn_tree(tried.guess[i])) for i in chosen]
        return [paragraph(about), *drawings]
    about += " Underlined: phrases and tags that the other tree lacks; punctuation does not count."
    blocks = [paragraph(about)]
    for i in chosen:
        gold, guess = tried.gold[i], tried.guess[i]
        missed, wrong = wrong_nodes(gold, guess)
        f1 = bracket_f1(bracket_counts([gold], [guess]))
        blocks.append(heading(f"Sentence {i + 1}: F1 {f1:.1%}"))
        if any(wrong) or any(missed):
            sides = [
                ("the treebank", drawn_tree(gold, missed, "missed")),
                ("the parser", drawn_tree(guess, wrong)),
            ]
            pair = "".join(_drawn(name, drawing) for name, drawing in sides)
            blocks.append(Html(f'<div class="trees">{pair}</div>\n'))
        else:
            blocks.append(_drawn("both", drawn_tree(guess)))
    return blocks


def _examples(found: object) -> list[list[str]]:
    """Sentences that a file may hold; it may hold anything."""
    sentences = (
        [words for words in found if isinstance(words, list) and words] if isinstance(found, list) else []
    )
    sound = [
        words for words in sentences if len(words) <= LONGEST and all(isinstance(word, str) for word in words)
    ]
    return sound[:_EXAMPLES]


def _example_trees(trees: Sequence[Tree]) -> list[Html]:
    about = "Some short sentences of the treebank that it was trained on, as this parser parses them."
    drawings = "".join(f"<figure>{drawn_tree(tree)}</figure>\n" for tree in trees)
    return [paragraph(about), Html(f'<div class="trees">{drawings}</div>\n')]


def _drawn(name: str, drawing: Html) -> Html:
    return Html(f"<figure><figcaption>{escape(name)}</figcaption>\n{drawing}</figure>\n")
