"""``spinney classify inspect``: what a model learnt, and what it makes of documents."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.classify_options import Format, Header, ModelIn, Text
from spinney.cli.inputs import InputOptions, check_kind, labels_of, read_inputs
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.classify import TextModel
    from spinney.classify.readout import GroupStatus, SentenceLogOdds
    from spinney.classify.ways import Way
    from spinney.structure import ClassTree

_SENTENCES = 200  # sentences of a document that are looked at


def inspect(
    model: ModelIn,
    top: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many features a class, selected and removed groups, and nodes of a tree of classes.",
        ),
    ] = 10,
    data: Annotated[
        str | None,
        typer.Option(
            help="Documents whose sentences to look at: a folder, a CSV or TSV file, trees, or lines."
        ),
    ] = None,
    documents: Annotated[
        int | None, typer.Option(min=1, help="How many documents of --data, from the first.  [default: 3]")
    ] = None,
    format: Format = "auto",
    text: Text = "text",
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What a model learnt: its size, the words for each class, the groups that it selected and removed.

    With --data, how much each sentence of a document speaks for the class that is predicted: log p(class | document)
    − log p(class | document without the sentence).

    Of a tree of classes, the tree and the words for each branch of its first nodes, from the root down; with --data,
    the way of each document down the tree.
    """
    begin(quiet)
    if data is None and documents is not None:
        raise OptionError("--documents goes with --data")
    from spinney.classify import TextModel
    from spinney.classify.readout import model_groups, model_size

    fitted = TextModel.load(model)
    how = InputOptions(format, text, header=header, encoding=encoding, on_error=on_error)
    if fitted.tree is not None:
        ways = [] if data is None else _ways(fitted, model, data, documents or 3, how)
        _inspect_tree(fitted, fitted.tree, model, top, as_json, ways)
        return
    tried = [] if data is None else _log_odds(fitted, model, data, documents or 3, how)
    size, status = model_size(fitted), model_groups(fitted, top=top)
    strongest = fitted.strongest(top)
    facts: dict[str, Any] = {**fitted.facts, "strongest": strongest}
    facts["size"] = {**asdict(size), "share": size.share}
    if status is not None:
        facts["groups"] = {**fitted.facts.get("groups", {}), **_group_facts(status)}
    if data is not None:
        facts["log_odds"] = [_odds_facts(fitted, id, odds) for id, odds in tried]

    def show() -> None:
        from spinney.report.classify import show_size
        from spinney.report.tables import show_facts, show_words

        show_facts(model, told_facts(fitted))
        show_size(size)
        show_words(strongest)
        if status is not None:
            _show_groups(fitted, status)
        _show_documents(fitted, tried)

    emit(as_json, facts, show)


def _ways(fitted: TextModel, model: str, data: str, n: int, how: InputOptions) -> list[tuple[str, Way]]:
    """The first documents, by their ids, and their ways down the tree."""
    from spinney.classify.ways import tree_ways

    read = read_inputs(data, how, need_labels=False)
    check_kind(fitted, read, model, data)
    return list(zip(read.ids[:n], tree_ways(fitted, read.inputs[:n])))


def _inspect_tree(
    fitted: TextModel, tree: ClassTree, model: str, top: int, as_json: bool, ways: list[tuple[str, Way]]
) -> None:
    from spinney.report.classify_tree import show_tree, show_way, tree_size

    size, by_node = tree_size(fitted), fitted.words_by_node(top, nodes=top)
    facts: dict[str, Any] = {**fitted.facts, "newick": tree.to_newick()}
    facts["nodes"] = [
        {"node": found.node, "branches": [branch._asdict() for branch in found.branches]} for found in by_node
    ]
    facts["strongest"] = fitted.strongest(top)
    facts["size"] = {**asdict(size), "share": size.share}
    if ways:
        facts["ways"] = [
            {
                "id": id,
                "label": way.label,
                "probability": way.probability,
                "steps": [step._asdict() for step in way.steps],
            }
            for id, way in ways
        ]

    def show() -> None:
        from spinney.report.classify import show_size
        from spinney.report.tables import show_facts

        show_facts(model, told_facts(fitted))
        show_size(size)
        show_tree(tree, by_node)
        for id, way in ways:
            show_way(id, way)

    emit(as_json, facts, show)


def told_facts(fitted: TextModel) -> dict[str, Any]:
    """The facts of a model for people."""
    from spinney.views import flat_facts

    told: dict[str, Any] = {}
    for name, value in fitted.facts.items():
        if name == "groups" and value:
            told[name] = f"{value['total']:,} with {value['memberships']:,} members"
            for family, (selected, removed) in value["families"].items():
                told[f"groups · {family}"] = f"{selected:,} selected, {removed:,} removed"
        elif name in ("tuning", "cross_validation") and isinstance(value, dict):
            told[name] = {key: item for key, item in value.items() if key != "tried"}  # for the page
        elif name == "labels":
            told[name] = ", ".join(f"{old}={new}" for old, new in labels_of(fitted).items())
        else:
            told[name] = value
    return dict(flat_facts(told))


def _log_odds(
    fitted: TextModel, model: str, data: str, n: int, how: InputOptions
) -> list[tuple[str, SentenceLogOdds]]:
    """The first documents, by their ids, and how much each of their sentences says."""
    from spinney.classify import sentence_log_odds

    read = read_inputs(data, how, need_labels=False)
    check_kind(fitted, read, model, data)
    return [
        (id, sentence_log_odds(fitted, text, limit=_SENTENCES))
        for id, text in zip(read.ids[:n], read.inputs[:n])
    ]


def _group_facts(status: GroupStatus) -> dict[str, Any]:
    return {
        "n_selected": status.n_selected,
        "n_removed": status.n_removed,
        "families": {family: list(pair) for family, pair in status.families.items()},
        "selected": [_view_facts(view) for view in status.selected],
        "removed": [_view_facts(view) for view in status.removed],
    }


def _view_facts(view: Any) -> dict[str, Any]:
    words = [word._asdict() for word in view.words]
    return {**asdict(view), "words": words}


def _odds_facts(fitted: TextModel, id: str, odds: SentenceLogOdds) -> dict[str, Any]:
    """Of a regressor, ``value`` is the number predicted; of a classifier, the probability is that of the class."""
    if fitted.is_classifier:
        told: dict[str, Any] = {"id": id, "label": odds.label, "probability": math.exp(odds.outcome)}
    else:
        told = {"id": id, "value": odds.outcome}
    scores = zip(odds.sentences, odds.scores.tolist())
    return {**told, "sentences": [{"text": text, "score": score} for text, score in scores]}


def _show_groups(fitted: TextModel, status: GroupStatus) -> None:
    from spinney.report.classify import show_groups

    show_groups(status, fitted.outputs)
    counts = fitted.facts.get("groups", {})
    if "stored" in counts:
        print(
            f"Of {counts['total']:,} groups the file holds {counts['stored']:,}: "
            "the selected ones with the largest norms and the removed ones with the largest weights."
        )


def _show_documents(fitted: TextModel, tried: list[tuple[str, SentenceLogOdds]]) -> None:
    from spinney.classify.readout import active_words, words_in
    from spinney.report.classify import show_document

    active = active_words(fitted) if tried else {}
    for id, odds in tried:
        if fitted.is_classifier:
            said = f"{odds.label}, with probability {math.exp(odds.outcome):.3f}"
        else:
            said = f"{odds.outcome:.4g}"
        spans = [words_in(sentence, fitted, active) for sentence in odds.sentences]
        show_document(f"Document {id}: {said}", odds, spans, fitted.outputs)
