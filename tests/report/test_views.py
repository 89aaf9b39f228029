"""Every kind of view is drawn in a page, in a terminal and as JSON, whatever it holds."""

import dataclasses
import json
import math

import pytest

from spinney.report.html import DRAWN, html, view_page
from spinney.report.terminal import SHOWN, show_views
from spinney.views import (
    Arcs,
    Bars,
    Columns,
    Explorer,
    Extra,
    Facts,
    Folded,
    HeatMap,
    Lines,
    Mark,
    MarkedText,
    Node,
    Note,
    Outline,
    PhraseTree,
    Point,
    ScoredLines,
    Section,
    Series,
    Share,
    Spark,
    Table,
    Token,
    Tokens,
    View,
    WordMap,
    as_json,
    every,
    grown,
)

BAD = '<img src=x onerror="alert(1)">&[bold]'
TREE = grown([2, 2, -1], [Node("cat", BAD), Node(BAD)], range(3))
VIEWS = [
    Facts("facts", BAD, {"active": 3, BAD: BAD, "list": [1], "skipped": 0, "unknown_share": 0.5}),
    Facts("scores", "", {"f1": math.nan}),
    Table("rows", BAD, ["a", "b", "c"], [[BAD, Share(0.5), Spark([0.0, 1.0])]], ["a", "b", "c"], note=BAD),
    Table("marked", "", ["a"], [[MarkedText("", "", BAD, [Mark(0, 4, note=BAD)])]]),
    Lines("lines", BAD, [BAD]),
    Extra("extra", "", {"x": math.inf}),
    Note(BAD),
    Note(BAD, faint=True),
    Bars("bars", BAD, [(BAD, 0.5), ("other", -1.0), ("none", math.nan)], colours=[0, 1, 9]),
    Series("series", BAD, {BAD: [1.0, math.nan, 2.0]}, [BAD, "2", "3"], caption=BAD),
    HeatMap("heat", BAD, [[1.0, -2.0]], [BAD], [BAD, "b"], caption=BAD),
    WordMap(
        "map", BAD, [Point(BAD, 0.0, 0.5, near=[(BAD, 0.9)], note=BAD), Point("b", 1.0, 0.5)], caption=BAD
    ),
    Outline("tree", BAD, TREE, leaves=BAD),
    PhraseTree("parse", BAD, "(S (NP (NN <img>)) (VB bark))", [False, True], BAD),
    Arcs("arcs", BAD, [BAD, "bark"], ["NN", BAD], [2, 0], [0, 1]),
    Arcs("untagged", "", ["dogs", "bark"], [], [2, 0]),
    MarkedText("text", BAD, BAD, [Mark(0, 4), Mark(2, 6), Mark(5, 8, 1, 3, True, BAD)]),
    ScoredLines("scored", BAD, [(BAD, 0.5), (MarkedText("", "", BAD), None)]),
    Tokens("tokens", BAD, [Token(BAD, BAD, 1, BAD, unsure=True), Token("a", "X", right=BAD)], more=7),
    Tokens("shades", "", [Token(BAD, note=BAD, shade=4, faint=True)]),
    Explorer("next", BAD, [BAD], [[[], [0], [[0.5]]]]),
    Section(BAD, [Note(BAD), Section(BAD, [Bars("inner", "", [("a", 1.0)])])]),
    Columns([Note(BAD), Bars("", BAD, [(BAD, 1.0)])]),
    Columns([PhraseTree("", "a", "(A a)"), PhraseTree("", "b", "(A a)")]),
    Folded(BAD, [Note(BAD)]),
]


def test_every_kind_of_view_is_here():
    kinds = {cls for cls in every_subclass(View) if not cls.__name__.startswith("_")}
    assert kinds == set(DRAWN) == {type(view) for view in VIEWS}


def every_subclass(cls):
    return {inner for direct in cls.__subclasses__() for inner in {direct, *every_subclass(direct)}}


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: type(view).__name__)
def test_no_text_becomes_markup(view, capsys):
    drawn = html([view])
    assert "<img" not in drawn
    assert "<img" not in view_page(BAD, [view]).html().partition("<main>")[2]
    show_views([view], BAD)
    out = capsys.readouterr().out
    if type(view) in SHOWN:
        assert "[bold]" in out or BAD not in json.dumps(as_json([view]))  # the console's own markup neither


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: type(view).__name__)
def test_a_view_is_json(view):
    def refuse(name):
        raise AssertionError(name)

    json.loads(json.dumps(as_json([view])), parse_constant=refuse)
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.title = "other"


def test_json_by_keys():
    found = as_json(VIEWS)
    assert found["active"] == 3
    assert found["scores"] == {"f1": None}
    assert found["rows"] == [{"a": BAD, "b": 0.5, "c": [0.0, 1.0]}]
    assert found["inner"] == {"a": 1.0}
    assert found["tree"][0]["children"][0] == {"name": "cat", "note": BAD}
    assert found["tokens"][1] == {"word": "a", "label": "X", "right": BAD}
    assert "" not in found


def test_views_inside_others():
    assert [
        type(view).__name__ for view in every([Section("", [Columns([Note("a"), Folded("", [Note("b")])])])])
    ] == [
        "Note",
        "Note",
    ]


def test_a_page_of_views():
    views = [
        Note("About."),
        Facts("facts", "", {"words": 7}),
        Facts("", "", {"more": 1}),
        Table("t", "Words", ["w"], [["a"]]),
        Note("Of the words."),
        Section("Rest", [Note("There."), Table("e", "Empty", ["w"], [])]),
    ]
    page = view_page("m", views)
    assert (page.about, page.known) == ("About.", {"words": 7, "more": 1})
    assert [section.title for section in page.sections] == ["Words", "Rest"]
    text = page.html()
    assert "Of the words." in text
    assert "Empty" not in text  # no heading without anything below it
    assert view_page("m", [Note("About."), Note("Lost?")]).sections[0].title == "Model"


def test_what_a_terminal_shows(capsys):
    show_views(
        [
            Section("One", [Bars("", "Bars", [("a", 2.0), ("b", 1.0)]), Folded("hidden", [Note("unseen")])]),
            Columns([Note("left"), Note("right")]),
            Facts("", "", {"x": 1}),
            HeatMap("", "Wide", [[0.0] * 99], ["r"], ["c"] * 99),
        ],
        "Title",
    )
    out = capsys.readouterr().out
    for shown in ("One", "Bars", "█" * 24, "left", "right", "Title"):
        assert shown in out
    assert "unseen" not in out
    assert "Wide" not in out


def test_a_notebook_shows_the_views():
    from spinney.corpus import sentence_arrays
    from spinney.lm.smoothing import fit_ngram

    model = fit_ngram(
        sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>"), "witten-bell", order=2
    )
    shown = model._repr_html_()
    assert "Size by order" in shown
    assert shown.count("<style>") == 1
    assert ":root" not in shown  # the notebook's own style stays
