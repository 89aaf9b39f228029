"""What a model makes of a text, for people: the records of ``apply`` as views, and what decided.

A record is drawn by what it holds, not by the model that it comes from: labels and classes below words, probabilities
as bars, trees and arcs as pictures, log-probabilities as shades. A record of a new kind is a row of a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

from spinney.errors import SpinneyError
from spinney.serve.inputs import Given, data_for
from spinney.serve.models import Served
from spinney.serve.work import Deadline
from spinney.structure.words import short
from spinney.views import (
    Arcs,
    Bars,
    Facts,
    Folded,
    Note,
    PhraseTree,
    Table,
    Token,
    Tokens,
    View,
    as_json,
)

Record = Mapping[str, Any]

_RECORDS = 20  # drawn at a time
_TOKENS = 200  # of a sentence
_LONGEST = 60  # words of a sentence with a tree or arcs
_BARS = 10
_COMPARED = 6  # words with their neighbours
_NEXT = 10  # words that may come next
_BITS = (2, 5, 8, 12)  # where the shades of losses change
_SHADES = ("below 2 bits", "2 to 5", "5 to 8", "8 to 12", "12 and more")
_UNSURE = 0.7


def text_views(served: Served, one: Given, deadline: Deadline) -> list[View]:
    """Everything that the page shows for a text."""
    _, every_record = served.applied(one, deadline)
    records = list(islice(every_record, _RECORDS))
    more = sum(1 for _ in every_record)
    views = drawn(served.model, records)
    if more:
        views.append(Note(f"{more:,} more are not shown.", faint=True))
    deadline.check()
    if "context" in _fields(served, "Inspect"):
        views += _next_words(served, records)
    if "neighbours" in served.can:
        views += _neighbours(served, records)
    deadline.check()
    return [*views, *_decided(served, one)]


def drawn(model: Any, records: Sequence[Record]) -> list[View]:
    """Records as views.

    Examples
    --------
    >>> note, bars = drawn(None, [{"id": "1", "label": "+", "proba": {"-": 0.1, "+": 0.9}}])
    >>> note.text, bars.rows
    ('Predicted: +', [('+', 0.9), ('-', 0.1)])
    """
    drawer = next((draw for field, draw in _DRAWN.items() if records and field in records[0]), None)
    return _plain(records) if drawer is None else drawer(model, records)


def _plain(records: Sequence[Record]) -> list[View]:
    """Any records as a table of what is no list."""
    names = [
        name for name in (records[0] if records else {}) if not isinstance(records[0][name], list | dict)
    ]
    rows = [[record.get(name) for name in names] for record in records]
    return [Table("", "", [name.replace("_", " ") for name in names], rows)] if names else []


# ------------------------------------------------------------------------------------------------- sentences


def _labels(model: Any, records: Sequence[Record]) -> list[View]:
    names = getattr(model, "labels_", None) or [label for record in records for label in record["labels"]]
    colours = _colours(map(str, names))
    views: list[View] = []
    for i, record in enumerate(records, 1):
        words = record["columns"][0] if record.get("columns") else []
        chances = record.get("probabilities") or [None] * len(words)
        tokens = [
            Token(
                word,
                label,
                colours.get(label),
                _chance(word, label, chance),
                chance is not None and chance < _UNSURE,
            )
            for word, label, chance in zip(words, record["labels"], chances)
        ]
        views.append(_line(i, records, tokens))
    if any(record.get("probabilities") for record in records):
        views.append(
            Note("Point at a word to see the probability of its label; dotted ones are unsure.", faint=True)
        )
    return views


def _chance(word: str, label: str, chance: float | None) -> str:
    return "" if chance is None else f"{word}: {label}, probability {chance:.3f}"


def _colours(labels: Iterable[str]) -> dict[str, int | None]:
    """One colour for each kind of phrase (shared by B-NP and I-NP) or for each label; none for O."""
    kinds = {label: label[2:] if label[1:2] == "-" and label[0] in "BIOESLUMW" else label for label in labels}
    numbers = {kind: number for number, kind in enumerate(sorted({*kinds.values()} - {"O"}))}
    return {label: numbers.get(kind) for label, kind in kinds.items()}


def _classes(field: str) -> Callable[[Any, Sequence[Record]], list[View]]:
    def draw(model: Any, records: Sequence[Record]) -> list[View]:
        numbers = sorted({int(cell) for record in records for cell in record[field] if cell.isdigit()})
        known = model.class_words(numbers, 5) if field != "path" and hasattr(model, "class_words") else []
        said = {str(n): ", ".join(short(word) for word, _ in words) for n, words in zip(numbers, known)}
        views: list[View] = []
        for i, record in enumerate(records, 1):
            tokens = []
            for word, cell in zip(record["words"], record[field]):
                note = f"class {cell}: {said[cell]}" if cell in said else "" if cell != "_" else "no class"
                colour = int(cell) if cell in said else None
                tokens.append(Token(word, cell if cell != "_" else "–", colour, note))
            views.append(_line(i, records, tokens))
        return (
            [*views, Note("Point at a word to see other words of its class.", faint=True)] if said else views
        )

    return draw


def _line(number: int, records: Sequence[Record], tokens: Sequence[Token]) -> Tokens:
    title = f"{number:,}" if len(records) > 1 else ""
    return Tokens("", title, tokens[:_TOKENS], more=max(len(tokens) - _TOKENS, 0))


def _losses(model: Any, records: Sequence[Record]) -> list[View]:
    """Sentences whose words are shaded by their loss, and the log-probability of the text."""
    if not isinstance(records[0]["log10"], list):  # the sums of sentences
        return _plain(records)
    legend = Tokens("", "", [Token(name, shade=i) for i, name in enumerate(_SHADES)])
    views: list[View] = [legend]
    total, n = 0.0, 0
    for i, record in enumerate(records, 1):
        tokens = []
        for word, log10 in zip([*record["words"], "</s>"], record["log10"]):
            bits = math.inf if log10 is None else -log10 * math.log2(10)
            total, n = total + bits, n + 1
            said = f"{bits:.1f} bits, probability {2.0**-bits:.3g}" if math.isfinite(bits) else "impossible"
            shade = sum(bits >= bound for bound in _BITS)
            tokens.append(Token(word, note=f"{word}: {said}", shade=shade, faint=word == "</s>"))
        views.append(_line(i, records, tokens))
    known = math.isfinite(total)
    facts = {
        "log10 probability": -total / math.log2(10) if known else "−∞ (a word is impossible)",
        "perplexity": 2 ** (total / max(n, 1)) if known and total / max(n, 1) < 1000 else None,
    }
    return [Facts("", "", facts), *views]


def _trees(model: Any, records: Sequence[Record]) -> list[View]:
    views: list[View] = []
    for i, record in enumerate(records, 1):
        if record["tree"] is None:
            continue
        title = f"Sentence {i}" if len(records) > 1 else ""
        if len(record["words"]) <= _LONGEST:
            views.append(PhraseTree("", title, record["tree"]))
        else:
            views.append(Note(record["tree"]))
    return views


def _arcs(model: Any, records: Sequence[Record]) -> list[View]:
    return [
        Arcs(
            "", f"Sentence {i}" if len(records) > 1 else "", record["words"], record["tags"], record["heads"]
        )
        for i, record in enumerate(records, 1)
        if 0 < len(record["words"]) <= _LONGEST
    ]


def _annotated(model: Any, records: Sequence[Record]) -> list[View]:
    """Sentences of CoNLL-U: their arcs, or their words with their tags; and all columns, on request."""
    views: list[View] = []
    for i, record in enumerate(records, 1):
        forms, tags, heads = record["forms"], record.get("upos") or [], record.get("heads") or []
        if heads and len(forms) <= _LONGEST:
            views.append(Arcs("", f"Sentence {i}" if len(records) > 1 else "", forms, tags, heads))
        else:
            colours = _colours(tags)
            pairs = zip_longest(forms, tags, fillvalue="")
            views.append(_line(i, records, [Token(word, tag, colours.get(tag)) for word, tag in pairs]))
        columns = [name for name in _COLUMNS if any(cell != "_" for cell in record.get(name) or ())]
        rows = list(zip(range(1, len(forms) + 1), *(record[name] for name in columns)))
        table = Table("", "", ["", *(_COLUMNS[name] for name in columns)], rows[:_TOKENS])
        views.append(Folded("Words", [table]))
    return views


_COLUMNS = {
    "forms": "word", "lemmas": "lemma", "upos": "UPOS", "xpos": "XPOS", "feats": "features", "heads": "head",
    "deprels": "relation", "misc": "more",
}  # fmt: skip


# ------------------------------------------------------------------------------------------------- documents


def _chances(model: Any, records: Sequence[Record]) -> list[View]:
    views: list[View] = []
    for record in records:
        order = {label: number for number, label in enumerate(sorted(record["proba"]))}
        best = sorted(record["proba"].items(), key=lambda pair: -pair[1])[:_BARS]
        of_text = "" if len(records) == 1 else f" for text {record['id']}"
        views.append(Note(f"Predicted{of_text}: {record['label']}"))
        views.append(Bars("", "", best, colours=[order[label] for label, _ in best]))
    return views


def _topics(model: Any, records: Sequence[Record]) -> list[View]:
    views: list[View] = []
    for record in records:
        best = sorted(enumerate(record["topics"]), key=lambda pair: -pair[1])[:_BARS]
        rows = [(_topic(model, k), share) for k, share in best if share >= 0.001]
        title = f"Text {record['id']}" if len(records) > 1 else "Topics"
        views.append(Bars("", title, rows, colours=[k for k, _ in best][: len(rows)]))
    return views


def _topic(model: Any, number: int) -> str:
    words = model.topic_words(number, 3) if hasattr(model, "topic_words") else []
    return f"topic {number}" + (f": {', '.join(short(word) for word, _ in words)}" if words else "")


#: How records are drawn that have a field; the first that fits.
_DRAWN: dict[str, Callable[[Any, Sequence[Record]], list[View]]] = {
    "labels": _labels,
    "forms": _annotated,
    "tree": _trees,
    "heads": _arcs,
    "log10": _losses,
    "proba": _chances,
    "topics": _topics,
    **{field: _classes(field) for field in ("class", "viterbi", "path")},
}


# ------------------------------------------------------------------------------------------ beside the records


def _fields(served: Served, verb: str) -> Iterable[str]:
    settings = served.settings(verb)
    return () if settings is None else settings.__dataclass_fields__


def _next_words(served: Served, records: Sequence[Record]) -> list[View]:
    """What may come after the last sentence of the text."""
    words = (
        list(records[-1].get("words", ())) if records and isinstance(records[-1].get("words"), list) else []
    )
    found = as_json(served.model.views(context=" ".join(["<s>", *words]), top=_NEXT)).get("next", [])
    rows = [(row["word"], row["probability"]) for row in found]
    after = " ".join(words[-5:])
    title = f"Next after “{'… ' * (len(words) > 5)}{after}”" if words else "First words"
    return [Bars("next", title, rows)] if rows else []


def _neighbours(served: Served, records: Sequence[Record]) -> list[View]:
    """The nearest words of the first few different words of a text."""
    words = list(dict.fromkeys(word for record in records for word in record.get("words", ())))
    rows: list[list[Any]] = []
    for word in words[:_COMPARED]:
        try:
            found = served.neighbours(word, {"top": "6"})
        except SpinneyError:  # a word that the model does not know
            continue
        near = _named(as_json(found).get("neighbours"))
        if near:
            rows.append([word, ", ".join(short(name) for name in near)])
    return [Table("", "Similar words", ["word", "most similar"], rows)] if rows else []


def _named(found: Any) -> list[str]:
    """The words of rows, or of the rows of the only word that was asked for."""
    rows = next(iter(found.values()), []) if isinstance(found, dict) else found or []
    return [str(row["word"] if isinstance(row, dict) else row[0]) for row in rows]


def _decided(served: Served, one: Given) -> list[View]:
    """The words and sentences that decided; the reasons of other models are long, and shown on request."""
    try:
        if "explain" in served.can:
            reasons = served.model.explain(data_for(served.model, one))
            return list(reasons) if served.task == "classify" else [Folded("Why", reasons)]
    except SpinneyError:  # a model that has no reasons to show
        pass
    return []
