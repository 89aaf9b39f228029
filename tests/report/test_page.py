"""Pages: valid, self-contained, the same for the same contents, and no text becomes markup."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.classify import LinearClassifier, LinearRegressor, TextFeatures, TextModel
from spinney.classify.readout import group_status, model_size, sentence_log_odds
from spinney.classify.report import evidence, page_views
from spinney.classify.views import DocumentViews, group_views
from spinney.errors import OptionError
from spinney.files import read_model, write_model
from spinney.report.charts import heat_map, line_chart, nice_ticks
from spinney.report.html import view_page
from spinney.report.maps import word_map
from spinney.report.model_file import file_views
from spinney.report.outline import outline
from spinney.report.page import (
    Html,
    Mark,
    Page,
    Section,
    Share,
    bars,
    combined_page,
    escape,
    facts,
    heading,
    marked,
    paragraph,
    scored_lines,
    table,
)
from spinney.report.terminal import show_views
from spinney.structure import Groups
from spinney.views import Node, Point, grown

HOSTILE = '</script></style></title><img src=x onerror="alert(1)">\'"&<!--\x00\ud800'
VOID = {"meta", "input", "br", "hr", "img", "link"}
SHAPES = {"rect", "line", "path", "circle"}


class Tree(HTMLParser):
    """Reads a page as a browser would, complaining of tags that do not pair."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in SHAPES
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


def everything(text, number=0.5):
    """Each block of the kit, with this text wherever text goes."""
    return [
        paragraph(text),
        facts({text: text, "n": number}),
        table([text, "n"], [[text, number]] * 12),
        bars([(text, number), (text, -number)]),
        scored_lines([(text, number), (marked(text, [Mark(0, 3, note=text)]), None)]),
        heat_map([[number]], [text], [text], caption=text),
        line_chart({text: [number, 1.0]}, [text, 2], caption=text),
        word_map([Point(text, 0.5, 0.5, 1, text, [(text, 0.5)])], caption=text),
        outline(grown([2, 2, -1], [Node(text, text), Node("b")], range(3)), leaves=text),
    ]


def test_a_page_is_valid_and_stands_alone():
    text = Page("Title", "About", {"n": 1}, [Section("One", everything("words")), Section("Two", [])]).html()
    tree = Tree(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert tree.tags.count("h1") == 1
    assert tree.tags.count("h2") == 2
    assert not {"link", "img", "iframe", "object", "base"} & set(tree.tags)
    assert tree.values("src") == []
    assert set(tree.values("href")) == {"#s0", "#s1"}
    assert set(tree.values("id")) == {"top", "s0", "s1"}
    assert "http" not in text.replace("http-equiv", "")
    assert "@import" not in text
    assert "url(" not in text
    assert "width=device-width" in text
    assert "prefers-color-scheme: dark" in text
    assert tree.values("style") == []


def test_the_policy_knows_style_and_script_by_their_hashes():
    text = Page("Title", "", {}, []).html()
    policy = Tree(text).values("content")[0]
    for tag in ("style", "script"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_hostile_text_stays_text():
    plain = Page("T", "", {"x": "x"}, [Section("S", everything("x"))]).html()
    text = Page(HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, [Section(HOSTILE, everything(HOSTILE))]).html()
    tree = Tree(text)
    assert sorted(tree.tags) == sorted(Tree(plain).tags)
    assert "onerror" not in [name for name, _ in tree.attributes]
    assert "\x00" not in text
    text.encode()
    assert HOSTILE[:-2] + "\ufffd\ufffd" in tree.text


@given(st.text())
@settings(max_examples=150, deadline=None)
def test_any_text_comes_back(text):
    parsed = Tree(f'<p title="{escape(text)}">{escape(text)}</p>')
    clean = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    assert parsed.values("title") == [clean]
    assert "".join(parsed.text) == clean


def test_equal_contents_give_equal_pages():
    first, second = (Page("T", "a", {"n": 1.5}, [Section("S", everything("x"))]).html() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 0.0, 1e308, -1e-308])
def test_any_number_can_be_drawn(number):
    tree = Tree(Page("T", "", {}, [Section("S", everything("x", number))]).html())
    for name in ("width", "height", "x", "y", "x1", "y1", "d", "fill-opacity", "data-value", "cx", "cy"):
        assert not [value for value in tree.values(name) if value and re.search("nan|inf", value)]


def test_several_pages_as_one():
    pages = [Page(HOSTILE, HOSTILE, {"n": 1}, [Section(HOSTILE, [heading("x"), *everything(HOSTILE)])])] * 2
    text = combined_page(HOSTILE, HOSTILE, pages)
    tree = Tree(text)
    assert text == combined_page(HOSTILE, HOSTILE, pages)
    assert "img" not in tree.tags
    assert [tree.tags.count(f"h{level}") for level in (1, 2, 3, 4)] == [1, 2, 2, 2]
    ids = tree.values("id")
    assert sorted(ids) == ["m0", "m0s0", "m1", "m1s0", "top"]
    assert {link[1:] for link in tree.values("href")} == set(ids)
    Tree(combined_page("nothing", "", []))


def test_long_texts_go_below_their_rows_on_narrow_screens():
    assert 'class="stacked"' not in table(["w"], [["short"]])
    text = table(["w", "n"], [["long " * 20, Share(0.125)], ["short", Share(0.5)]])
    assert text.count('class="long"') == 2
    assert 'data-value="0.125">12.50%<' in text
    Tree(text)


def test_heat_maps_hold_their_numbers():
    tree = Tree(heat_map([[0.12345678, -2.0], [math.nan, 0.0]], ["a", "b"], ["c", "d"]))
    data = json.loads(tree.values("data-heat")[0])
    assert data["values"] == [[0.1235, -2.0], [None, 0.0]]
    assert tree.values("class").count("cell minus") == 1
    assert [text for text in tree.text if text.strip() and text not in "abcd"] == [".12", "−2", "–", "·"]
    large = heat_map([[float(i == j) for j in range(60)] for i in range(60)], ["name"] * 60, ["name"] * 60)
    assert large.count("<rect") == 60  # what cannot be seen is not drawn
    assert len(large) < 60_000
    Tree(heat_map([], [], []))


def test_markup_is_not_escaped_twice():
    assert escape(Html("<b>")) == "<b>"
    assert marked("a<b c", [Mark(0, 3), Mark(1, 2), Mark(4, 5)]).count("<mark") == 2


def test_tables_say_what_their_numbers_are_and_when_to_filter():
    text = table(["w", "n", "mixed"], [["a", 1234.5, 1], ["b", -2, "x"]])
    assert 'data-value="1234.5">1234<' in text
    assert 'data-value="-2">−2<' in text
    assert text.count('class="number"') == 3  # a head and two cells
    assert "input" not in text
    assert "input" in table(["n"], [[n] for n in range(12)])
    Tree(table(["a", "b"], []))


def test_bars_start_left_or_in_the_middle():
    assert re.findall('x="(.*?)" width="(.*?)"', bars([("a", 4.0), ("b", 1.0)])) == [
        ("0%", "100%"),
        ("0%", "25%"),
    ]
    signed = re.findall('x="(.*?)" width="(.*?)"', bars([("a", 4.0), ("b", -1.0)]))
    assert signed == [("50%", "50%"), ("37.5%", "12.5%")]
    assert re.findall('width="(.*?)"', bars([("a", 0.0)])) == ["0%"]


def test_line_charts_hold_their_numbers_and_gaps():
    series = {"a": [1.0, math.nan, 2.0, 3.0], "b": [0.1234567, 0.0, 0.0, 0.0]}
    tree = Tree(line_chart(series, ["w", "x", "y", "z"]))
    data = json.loads(tree.values("data-chart")[0])
    assert data["x"] == ["w", "x", "y", "z"]
    assert data["series"] == [[1.0, None, 2.0, 3.0], [0.123457, 0.0, 0.0, 0.0]]
    assert data["at"] == sorted(data["at"])
    lines = [d for d in tree.values("d") if d != "M0 5H26"]
    assert [line.count("M") for line in lines] == [2, 1]
    assert tree.tags.count("circle") == 1  # the number that stands alone
    with pytest.raises(OptionError, match="series 'a' has 1 numbers for 2 places"):
        line_chart({"a": [1.0]}, [1, 2])
    Tree(line_chart({}, []))
    many = line_chart({str(k): [0.0, 1.0] for k in range(9)}, [1, 2])
    assert many.count("stroke-dasharray") == 2  # the ninth, and its place in the legend


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
@settings(deadline=None)
def test_ticks_enclose_the_numbers(a, b):
    low, high = min(a, b), max(a, b)
    ticks = nice_ticks(low, high)
    room = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks[0] <= low + room
    assert high - room <= ticks[-1]
    assert ticks == sorted(set(ticks))
    assert 2 <= len(ticks) <= 12


# ---------------------------------------------------------------------------------------- models


TEXTS = ["Good fun. A plain film.", "great fun indeed", "dull film", "bad and dull", HOSTILE + " fun"]
TRUTH = ["pos", "pos", "neg", "neg", "pos"]


def grouped(labels):
    features = TextFeatures("counts")
    X = features.fit_transform(TEXTS)
    names = [f"initial: {name[0]}{HOSTILE[:-2]}" for name in features.names]
    initials = sorted(set(names))
    groups = Groups.from_labels([initials.index(name) for name in names], names=initials)
    estimator = LinearClassifier("group", lam=0.1, groups=groups, solver="fista")
    return TextModel(estimator, features).fit_matrix(X, labels)


def classify_page(model, title, tried=None, **shown):
    return view_page(title, page_views(model, tried, **shown))


@pytest.mark.parametrize("labels", [TRUTH, ["a", "b", "<b>", "<b>", "a"]])
def test_the_page_of_a_classifier(labels):
    model = grouped(labels)
    tried = evidence(model, TEXTS, [f"doc {HOSTILE}{i}" for i in range(5)], labels)
    text = classify_page(model, HOSTILE, tried).html()
    tree = Tree(text)
    assert {"script", "style"} <= set(tree.tags)
    assert tree.tags.count("script") == 1
    assert "img" not in tree.tags
    shown = " ".join(tree.text)
    status = group_status(model.coef, model.estimator.groups, model.names, model.outputs)
    assert status.n_selected
    assert status.n_removed
    assert f"{status.n_selected} groups selected, {status.n_removed} removed." in shown
    size = model_size(model)
    assert f"{size.active} of {size.parameters} weights are non-zero ({size.share:.2%})" in shown
    for title in ("Training and size", "Words", "Groups", "Scores", "Confusions", "Documents"):
        assert title in tree.text
    assert text == classify_page(model, HOSTILE, tried).html()


def test_the_page_without_labels_and_without_documents():
    model = grouped(TRUTH)
    text = classify_page(model, "m", evidence(model, TEXTS, list("12345"), None), documents=2).html()
    assert "<h2>Scores</h2>" not in text
    assert text.count('<ol class="lines">') == 2
    assert "<h2>Documents</h2>" not in classify_page(model, "m").html()


def test_the_page_of_a_regressor():
    model = TextModel(LinearRegressor("l2", solver="lbfgs"), TextFeatures()).fit(
        TEXTS, [1.0, 2.0, 3.0, 4.0, 5.0]
    )
    tried = evidence(model, TEXTS[:1], ["1"], ["1.5"])
    assert tried.scores["r2"] is None  # of one number there is none
    tree = Tree(classify_page(model, "m", tried).html())
    assert any("the true value is 1.5" in text for text in tree.text)


def test_very_many_classes_have_a_table_of_confusions():
    labels = [f"class {i % 45}" for i in range(90)]
    texts = [f"word{i % 45} text" for i in range(90)]
    model = TextModel(LinearClassifier("l2", lam=0.01, solver="lbfgs"), TextFeatures("counts")).fit(
        texts, labels
    )
    tried = evidence(model, texts, labels, labels[1:] + labels[:1])
    text = classify_page(model, "m", tried, documents=0).html()
    Tree(text)
    assert "true class" in text
    assert 'class="heat"' not in text


def test_a_page_for_any_model_file(tmp_path):
    header = {
        "lam": 0.5,
        HOSTILE[:-2]: HOSTILE[:-2],
        "deep": {"a": {"b": {"c": {"d": 1}}}},
        "list": list(range(50)),
    }
    write_model(tmp_path / "m", "lm/Toy", header, {"w": np.zeros((2, 3))}, {"words": ["a", HOSTILE[:-2]] * 9})
    tree = Tree(view_page("m", file_views(read_model(tmp_path / "m"))).html())
    assert "img" not in tree.tags
    assert "2 × 3" in tree.text
    assert "deep · a · b" in tree.text
    assert "0, 1, 2, 3, 4, 5, 6, 7, …" in tree.text


# -------------------------------------------------------------------------------------- terminal


def test_the_terminal_shows_groups_and_documents(capsys):
    model = grouped(TRUTH)
    status = group_status(model.coef, model.estimator.groups, model.names, model.outputs)
    odds = sentence_log_odds(model, "A [bold]dull[/bold] film. I saw it.")
    show_views([*group_views(model, status), DocumentViews(model).view("doc", odds)])
    out = capsys.readouterr().out
    assert f"{status.n_selected} groups selected, {status.n_removed} removed" in out
    assert "initial" in out
    assert "neg: dull" in out
    assert "A [bold]dull[/bold] film." in out
    assert f"{odds.scores[0]:+.3f}" in out
    assert "█" in out
