"""The page of a parser: its labels and rules, what their states stand for, and the trees of some sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.corpus.labelled import guess_format
from spinney.corpus.lines import ReadReport, fields, read_lines
from spinney.errors import OptionError
from spinney.evaluate.attachment import attachment
from spinney.evaluate.parseval import Parseval, bracket_counts, bracket_f1, parseval
from spinney.evaluate.wrong_nodes import wrong_nodes
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.automata_reading import describe_heads
from spinney.parsing.parser import Parser
from spinney.parsing.ptb import bracket_words
from spinney.parsing.reading import LabelReading, Reader, StateReading
from spinney.parsing.reading import Share as NamedShare
from spinney.parsing.treebanks import dependency_trees, paths_of, phrase_trees
from spinney.parsing.views import fit_facts
from spinney.settings.report import Report
from spinney.structure.words import short
from spinney.views import Arcs, Columns, Facts, Folded, Note, PhraseTree, Section, Share, Table, View

_RULES = 300
_LABELS = 400  # labels whose states are described
#: Maximum number of words of a drawn sentence.
LONGEST = 40

_AXES = 4  # directions of a label
_ARCS = 25  # words of a sentence with arcs
_EXAMPLES = 6  # sentences, if none are given

_ABOUT = "A parser: a probabilistic grammar that gives every sentence a tree of phrases."
_LABELS_TEXT = (
    "Labels of the grammar. Trees are binarised: @NP is part of an NP, S+VP an S with a VP as its only child, NP^S "
    "an NP below an S."
)
_STATES_TEXT = (
    "Every label has latent states that training found. The states of a tag are described by their words, those of a "
    "phrase by their rules. What is typical of a state is more frequent in it than in the label as a whole."
)
_SIGNED_TEXT = (
    "This grammar was learned from moments, so its states are coordinates in an arbitrary basis and have no meaning of "
    "their own. The tables show the words and rules of each label with their total probabilities and, for tags, the "
    "words at the two ends of the leading directions."
)


def parser_page(parser: Parser, data: Any, s: Report) -> list[View]:
    """The views of the page; with data, also parses of the trees of a treebank or of lines of words."""
    reader = Reader(parser)
    rows = reader.table()
    views: list[View] = [Note(_ABOUT), fit_facts({**parser.facts, "decoder": parser.decoder})]
    if data is not None:
        views += _tried(parser, data, s)
    elif examples := _examples(parser.facts.get("examples")):
        about = "Some short sentences of the training treebank, as this parser parses them."
        trees = [PhraseTree("", "", str(tree)) for tree in parser.parse(examples)]
        views.append(Section("Trees", [Note(about), Columns(trees)]))
    cells = [
        [
            row.label, f"part of {row.phrase}" if row.part else row.phrase, row.share, row.states, row.rules, row.words
        ]
        for row in rows
    ]  # fmt: skip
    header = ["label", "stands for", "share of nodes", "states", "rules", "words"]
    views.append(Section("Labels", [Note(_LABELS_TEXT), Table("", "", header, cells)]))
    readings = [reader.label(row.label, s.top) for row in rows[:_LABELS]]
    views.append(Section("Labels in words", _labels(readings, len(rows), parser)))
    rules = [
        [f"{rule.label} → {rule.becomes}", rule.probability, rule.share] for rule in reader.rules(_RULES)
    ]
    about = f"The {len(rules):,} rules that are used most, with their probabilities given the label."
    header = ["rule", "probability", "share of nodes"]
    return [*views, Section("Rules", [Note(about), Table("", "", header, rules)])]


def automata_page(model: HeadAutomata, data: Any, s: Report) -> list[View]:
    """The views of the page of head automata; with data, also parses of the sentences of a treebank."""
    about = "Head automata: every word generates the words that depend on it."
    views: list[View] = [Note(about), fit_facts(model.facts)]
    if data is not None:
        gold = dependency_trees(data, s, ReadReport(), column=model.column)
        heads = [found.tolist() for found in model.predict(gold)]
        scores = attachment(gold, [replace(one, heads=of, deprels=[]) for one, of in zip(gold, heads)])
        values = {
            "uas": Share(scores.uas), "exact": Share(scores.exact), "root": Share(scores.root),
            "tokens": scores.words, "sentences": scores.sentences,
        }  # fmt: skip
        names = {
            "uas": "correct heads", "exact": "sentences with all heads correct", "root": "correct roots",
            "tokens": "words", "sentences": "sentences",
        }  # fmt: skip
        views.append(Section("Scores", [Facts("scores", "", values, names)]))
        views.append(Section("Sentences", _arcs(model, gold, heads, s.documents)))
    rows = [
        [
            f"{side.head}, {side.side}",
            "  ·  ".join(f"{modifier.tag} {modifier.expected:.2f}" for modifier in side.modifiers)
            or "(none)",
            side.mean,
            side.none,
            side.states,
        ]
        for side in describe_heads(model, s.top)
    ]
    about = (
        "The dependents of each tag, on either side: the mean number of modifiers with each tag, their total, and how "
        "often there is no modifier. For models learned from moments, these values may be slightly off."
    )
    header = ["head and side", "modifiers (mean number)", "modifiers in total", "none", "states"]
    return [*views, Section("Heads", [Note(about), Table("", "", header, rows)])]


def _arcs(
    model: HeadAutomata, gold: Sequence[Sentence], heads: Sequence[list[int]], documents: int
) -> list[View]:
    chosen = [i for i, one in enumerate(gold) if len(one.forms) <= _ARCS][:documents]
    about = (
        f"{len(chosen):,} of {len(gold):,} sentences, none with more than {_ARCS} words. Arcs go from a head to "
        "its dependents; wrong arcs are highlighted, and the correct ones are dashed."
    )
    drawn = [
        Arcs("", "", gold[i].forms, getattr(gold[i], model.column), heads[i], gold[i].heads) for i in chosen
    ]
    return [Note(about), *drawn]


# ---------------------------------------------------------------------------------------------- labels


def _labels(readings: Sequence[LabelReading], of: int, parser: Parser) -> list[View]:
    about = _SIGNED_TEXT if parser.grammars_[0].signed else _STATES_TEXT
    if len(parser.grammars_) > 1:
        about += f" This is the first of {len(parser.grammars_)} grammars."
    if len(readings) < of:
        about += f" The {len(readings)} most frequent labels are described."
    return [Note(about), *(Folded(_summary(one), _reading(one)) for one in readings)]


def _summary(reading: LabelReading) -> str:
    states = "one state" if reading.n_states == 1 else f"{reading.n_states} states"
    return f"{reading.label} · {reading.share:.2%} of nodes · {states}"


def _reading(reading: LabelReading) -> list[View]:
    if reading.signed or reading.n_states == 1:
        whole = {"words": reading.words, "rules": reading.rules, "below": reading.parents}
        rows = [[name, _listed(found)] for name, found in whole.items() if found]
        axes = [[axis.number + 1, _named(axis.high), _named(axis.low)] for axis in reading.directions[:_AXES]]
        return [
            Table("", "", ["", "most probable"], rows),
            Table("", "", ["direction", "one end", "other end"], axes),
        ]
    header = ["state", "share", "most probable", "typical", "below"]
    return [
        Table(
            "", "", header, [[f"{reading.label}-{state.number}", *_state(state)] for state in reading.states]
        )
    ]


def _state(state: StateReading) -> list[object]:
    # A state may have typical words and rules: a label can be both a tag and a phrase.
    probable = " · ".join(filter(None, (_listed(state.words), _listed(state.rules))))
    typical = [*state.typical_words, *state.typical_rules]
    return [state.share, probable, _named(share.name for share in typical), _listed(state.parents[:4])]


def _listed(shares: Iterable[NamedShare]) -> str:
    return " · ".join(f"{short(share.name)} {share.probability:.1%}" for share in shares)


def _named(names: Iterable[str]) -> str:
    return " · ".join(short(name) for name in names)


# ----------------------------------------------------------------------------------------------- trees


def _tried(parser: Parser, data: Any, s: Report) -> list[View]:
    """Parses of trees, with scores, or of sentences without trees."""
    sentences = _sentences(data, s)
    if sentences is not None:
        fitting = (words for words in map(bracket_words, sentences) if 0 < len(words) <= LONGEST)
        # Only the sentences that are shown are parsed.
        return [Section("Trees", _trees(parser.parse(islice(fitting, s.documents)), None, s.documents))]
    how = {"clean": parser.settings.clean, "functions": parser.settings.keep_functions}
    gold = phrase_trees(data, s, ReadReport(), **how)
    guess = parser.parse(tree.leaves() for tree in gold)
    return [_scores(parseval(gold, guess)), Section("Trees", _trees(guess, gold, s.documents))]


def _sentences(data: Any, s: Report) -> Iterable[list[str]] | None:
    """The words of sentences without trees; None if there are trees."""
    files = paths_of(data)
    if files is None:
        return None if all(isinstance(one, Tree) for one in data) else data
    format = guess_format(files[0]) if s.format == "auto" else s.format
    if format not in ("trees", "folder", "lines"):
        raise OptionError("the page of a parser needs trees, a folder of trees, or lines of words")
    if format != "lines":
        return None
    return (fields(line) for file in files for _, line in read_lines(file, s.encoding))


def _scores(scores: Parseval) -> Section:
    values = {
        "f1": Share(scores.f1), "precision": Share(scores.precision), "recall": Share(scores.recall),
        "exact": Share(scores.exact), "tagging_accuracy": Share(scores.tagging), "sentences": scores.sentences,
    }  # fmt: skip
    names = {"f1": "F1", "precision": "precision", "recall": "recall", "exact": "exact trees"}
    names |= {"tagging_accuracy": "correct tags", "sentences": "sentences"}
    rows = [
        [label, counts.gold, counts.guessed, counts.precision, counts.recall, counts.f1]
        for label, counts in scores.labels.items()
    ]
    header = ["label", "in the treebank", "in the parses", "precision", "recall", "F1"]
    return Section("Scores", [Facts("scores", "", values, names), Table("", "", header, rows)])


def _trees(guesses: Sequence[Tree], golds: Sequence[Tree] | None, documents: int) -> list[View]:
    lengths = [len(tree.leaves()) for tree in guesses]
    chosen = [i for i, n in enumerate(lengths) if n <= LONGEST][:documents]
    about = f"{len(chosen):,} of {len(lengths):,} sentences, none with more than {LONGEST} words."
    if golds is None:
        return [Note(about), *(PhraseTree("", f"Sentence {i + 1}", str(guesses[i])) for i in chosen)]
    about += " Phrases and tags that the other tree does not have are underlined; punctuation is not counted."
    views: list[View] = [Note(about)]
    for i in chosen:
        gold, guess = golds[i], guesses[i]
        missed, wrong = wrong_nodes(gold, guess)
        pair = [PhraseTree("", "both", str(guess))]
        if any(wrong) or any(missed):
            pair = [
                PhraseTree("", "the treebank", str(gold), missed, "missed"),
                PhraseTree("", "the parser", str(guess), wrong),
            ]
        f1 = bracket_f1(bracket_counts([gold], [guess]))
        views.append(Section(f"Sentence {i + 1}: F1 {f1:.1%}", [Columns(pair)]))
    return views


def _examples(found: object) -> list[list[str]]:
    """The sentences in a file, which may contain anything."""
    sentences = (
        [words for words in found if isinstance(words, list) and words] if isinstance(found, list) else []
    )
    sound = [
        words for words in sentences if len(words) <= LONGEST and all(isinstance(word, str) for word in words)
    ]
    return sound[:_EXAMPLES]
