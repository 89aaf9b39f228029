"""What a notebook shows of models, fits, structures, trees and lists of views."""

import re

import numpy as np
import pytest
import sklearn

from spinney.classify import (
    LinearClassifier,
    LinearRegressor,
    SemiSupervisedClassifier,
    TextFeatures,
    TextModel,
    TreeClassifier,
    path,
)
from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.optim import L1, SquaredLoss, solve
from spinney.parsing import HeadAutomata, Parser
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors
from spinney.tagging import Tagger
from spinney.trend import TimeSeriesRegressor
from spinney.views import Facts, Table, Views

HOSTILE = "<script>alert(1)</script>"
TEXTS = [f"good fun {HOSTILE}", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"]
ROWS, LABELS = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 1.0], [0.9, 1.0]]), ["no", "no", "yes", HOSTILE]
TREE = Tree.parse("(S (NN dogs) (VB bark))")


def _tagger():
    return Tagger("U:%x[0,0]\nB", lam=0.1)


def _text_model():
    return TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))


SHOWN = {
    "tagger": lambda: _tagger().fit([["the", HOSTILE]], [["D", "N"]]),
    "classifier": lambda: LinearClassifier("l1", lam=0.1).fit(ROWS, LABELS),
    "two classes": lambda: LinearClassifier("l1", lam=0.1).fit(ROWS, ["no", "no", "yes", "yes"]),
    "regressor": lambda: LinearRegressor("l1", lam=0.1).fit(ROWS, [1.0, 2.0, 3.0, 4.0]),
    "tree classifier": lambda: TreeClassifier(ClassTree.from_newick("((no,yes),x);"), 0.1).fit(
        ROWS, ["no", "yes", "x", "no"]
    ),
    "semi-supervised": lambda: SemiSupervisedClassifier().fit(ROWS, ["no", "no", "yes", "yes"]),
    "text model": lambda: _text_model().fit(*TEXTS),
    "path": lambda: path(TEXTS, points=3, penalty="l1"),
    "parser": lambda: Parser().fit([TREE] * 3),
    "tree": lambda: Tree.parse("(S (NN <script>) (VB bark))"),
    "arcs": lambda: Sentence(["dogs", HOSTILE], upos=["N", "V"], heads=[2, 0]),
    "sentence without a tree": lambda: Sentence(["dogs", HOSTILE]),
    "classes": lambda: WordClasses(["the", HOSTILE], [0, 1]),
    "vectors": lambda: WordVectors(["the", HOSTILE], [[1.0, 0.0], [0.0, 1.0]]),
    "groups": lambda: Groups.from_lists([[0, 1], [1, 2]], 3, names=["one", HOSTILE]),
    "class tree": lambda: ClassTree.from_newick("((cat, dog), oak);"),
    "solution": lambda: solve(SquaredLoss(np.eye(3), [3.0, -0.5, 1.0]), L1(0.3)),
    "view": lambda: Facts("facts", "", {"word": HOSTILE}),
    "views": lambda: Views([Table("", "", ["word"], [[HOSTILE]])]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_it_shows_itself(name):
    """Each gives HTML of views, in scoped styles, with words that are only words."""
    thing = SHOWN[name]()
    bundle = getattr(thing, "_repr_mimebundle_", None)
    shown = bundle()["text/html"] if bundle is not None else thing._repr_html_()
    assert shown.startswith('<div class="spinney"><style>.spinney')
    assert shown.count("<style>") == 1
    assert "<script" not in shown
    body = shown.partition("</style>")[2]
    assert re.search(r"<(dl|table|figure|p|svg)\b", body)
    assert " data-map=" not in body  # which only a page's script could use


@pytest.mark.parametrize(
    "make",
    [_tagger, LinearClassifier, SemiSupervisedClassifier, TimeSeriesRegressor],
    ids=lambda make: make.__name__,
)
def test_an_estimator_that_is_not_fitted_shows_its_diagram(make):
    shown = make()._repr_mimebundle_()
    assert "sk-top-container" in shown["text/html"]
    assert shown["text/plain"] == repr(make())
    with sklearn.config_context(display="text"):
        assert list(make()._repr_mimebundle_()) == ["text/plain"]


@pytest.mark.parametrize("make", [Parser, HeadAutomata, _text_model], ids=lambda make: make.__name__)
def test_a_model_that_is_not_fitted_shows_text(make):
    assert make()._repr_html_() is None


def test_the_views_win():
    """IPython asks several methods, and scikit-learn has its own."""
    formatters = pytest.importorskip("IPython.core.formatters")
    shown = formatters.DisplayFormatter().format
    for make in (_tagger, LinearClassifier):
        assert "sk-top-container" in shown(make())[0]["text/html"]
    for name in SHOWN:
        assert '<div class="spinney">' in shown(SHOWN[name]())[0]["text/html"], name


def test_a_path_leaves_the_estimator_unfitted():
    model = LinearClassifier("l1")
    model.path(ROWS, ["no", "no", "yes", "yes"], [1.0])
    assert "sk-top-container" in model._repr_html_()


def test_names_of_columns_are_shown():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS, columns=["length", "width"])
    for model in (LinearClassifier("l1", lam=0.1), SemiSupervisedClassifier(LinearClassifier("l1", lam=0.1))):
        assert "<td>length</td>" in model.fit(table, ["no", "no", "yes", "yes"])._repr_html_()


def test_what_verbs_return_shows_itself():
    model = SHOWN["text model"]()
    for found in (model.summary(), model.views(), model.report_views(), model.evaluate(TEXTS)):
        assert isinstance(found, Views)
        assert "spinney" in found._repr_html_()


def test_colours_follow_the_system_or_the_theme():
    """The same colours in both themes as on a page, and a theme is stronger than the system."""
    style = Views()._repr_html_().partition("<style>")[2].partition("</style>")[0]
    light, dark = "--paper: #fdfdfb", "--paper: #16181b"
    assert style.count(light) == style.count(dark) == 2
    system = style.index("prefers-color-scheme: dark")
    assert style.index(light) < system < style.index(dark)
    for theme, colour in (("true", light), ("false", dark)):
        rule = re.search(rf'\[data-jp-theme-light="{theme}"\][^{{]*& \{{(.*?)\}}', style, re.DOTALL)
        assert rule.start() > system
        assert colour in rule[1]
    assert style.count("{") == style.count("}")
    assert ":root" not in style
    assert "body {" not in style


def test_a_long_trace_is_thinned():
    found = solve(SquaredLoss(np.eye(3), [3.0, -0.5, 1.0]), L1(0.3))
    found.trace[:] = [found.trace[0]._replace(iteration=i, objective=float(-i)) for i in range(5000)]
    at = found.views()[1].at
    assert len(at) <= 201
    assert (at[0], at[-1]) == ("0", "4999")
