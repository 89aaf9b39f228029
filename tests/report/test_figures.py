"""Figures by Matplotlib: they hold the numbers of their views, and any word can be drawn."""

import sys
import warnings
from io import BytesIO

import numpy as np
import pytest

from spinney import classes, classify, embed, tagging, trend
from spinney.classify import LinearClassifier
from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, OptionError
from spinney.evaluate import confusion_map
from spinney.parsing import HeadAutomata, Parser
from spinney.structure import WordClasses, WordVectors
from spinney.tagging import Tagger
from spinney.views import Arcs, Bars, HeatMap, Note, PhraseTree, Point, Series, WordMap

pyplot = pytest.importorskip("matplotlib.pyplot")
pyplot.switch_backend("agg")

# Formulas that Matplotlib would refuse, names that its legends leave out, and what no font has.
WORDS = ["$x_", r"$\frac$", "_hidden", "a\nb", "\ud800", "\x07", "", "日本", "<b>", "%d", "{x}"]


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def _drawn(ax):
    """Lay the figure out; a warning is an error, but for characters that no font of this system has."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        ax.figure.draw_without_rendering()
    return True


def _ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_series():
    view = Series("", "Prices", {word: [i, np.inf, i + 1] for i, word in enumerate(WORDS)}, ["a$", "b$", "c"])
    ax = view.plot()
    assert [line.get_ydata()[2] for line in ax.lines] == list(range(1, len(WORDS) + 1))
    assert np.isnan(ax.lines[0].get_ydata()[1])
    assert [text.get_text() for text in ax.get_legend().get_texts()][:3] == WORDS[:3]
    assert _ticks(ax.xaxis) == ["a$", "b$", "c"]
    assert ax.get_title() == "Prices"
    assert _drawn(ax)
    ax.figure.savefig(file := BytesIO(), dpi=50)
    assert file.getvalue()[:4] == b"\x89PNG"
    many = Series("", "", {"one": range(500)}, [f"place {i}" for i in range(500)]).plot()
    assert len(_ticks(many.xaxis)) < 12
    assert _drawn(many)


def test_bars():
    ax = Bars("", "$", [(word, float(i)) for i, word in enumerate(WORDS)], colours=1).plot()
    assert [bar.get_width() for bar in ax.patches] == list(range(len(WORDS)))
    assert _drawn(ax)


def test_heat_maps():
    counts = np.arange(len(WORDS) ** 2).reshape(len(WORDS), -1)
    ax = HeatMap("", "", counts.tolist(), WORDS, WORDS).plot()
    np.testing.assert_allclose(ax.images[0].get_array(), counts / counts.max())
    assert len(ax.texts) == counts.size
    assert _drawn(ax)
    signed = HeatMap("", "", [[-2.0, 1.0]], ["a"], ["b", "c"]).plot()
    assert signed.images[0].get_clim() == (-2.0, 2.0)
    assert not HeatMap("", "", [], [], []).plot().images


def test_maps():
    points = [Point(word, i / len(WORDS), i % 3 / 3, i) for i, word in enumerate(WORDS)]
    ax = WordMap("", "", [*points, points[0]]).plot()
    np.testing.assert_allclose(ax.collections[0].get_offsets()[1], [points[1].x, -points[1].y])
    names = [text.get_text() for text in ax.texts]
    assert names.count("$x_, $x_") == 1  # two words in one place


def test_labels_of_a_map_do_not_lie_on_each_other():
    rng = np.random.default_rng(0)
    ax = WordMap("", "", [Point(f"word{i}", *rng.random(2)) for i in range(150)]).plot()
    assert _drawn(ax)
    boxes = [text.get_window_extent().padded(-1) for text in ax.texts]
    assert 30 < len(boxes) < 150
    assert all(one.count_overlaps(boxes) == 1 for one in boxes)
    assert _drawn(ax)


def test_arcs():
    heads = [2, 3, 0, 3, *[4] * (len(WORDS) - 4)]
    wrong = [3, *heads[1:]]
    ax = Arcs("", "", WORDS, ["$t"] * len(WORDS), heads, wrong).plot()
    assert len(ax.patches) == len(WORDS) + 1  # and the arc that was missed
    assert [arc.get_linestyle() for arc in ax.patches].count("--") == 1
    assert _drawn(ax)


def test_trees():
    ax = PhraseTree("", "", "(S ($a (NN $b_) (VB _c)) (X d))", marked=[False, True]).plot()
    assert len(ax.lines) == 4
    assert [text.get_text() for text in ax.texts].count("$b_") == 1
    root, leaf = ax.texts[0], ax.texts[2]
    assert root.get_position()[1] > leaf.get_position()[1]
    assert _drawn(ax)
    assert _drawn(Tree.parse("(A (B (C word)))").plot())


def test_axes_are_used_and_returned():
    for view in (
        Series("", "", {"a": [1.0], "b": [2.0]}, ["1"]),
        Arcs("", "", ["a"], [], [0]),
        Bars("", "", []),
    ):
        _, mine = pyplot.subplots()
        assert view.plot(mine) is mine
    assert len(pyplot.get_fignums()) == 3


def test_what_cannot_be_drawn():
    with pytest.raises(OptionError, match="no figure of Note"):
        Note("text").plot()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"pip install 'spinney\[plots\]'"):
        Series("", "", {"a": [1.0]}, ["1"]).plot()


def test_confusions_are_those_of_scikit_learn():
    from sklearn.metrics import confusion_matrix

    rng = np.random.default_rng(0)
    truth, guess = rng.choice(list("abcd"), (2, 200)).tolist()
    found = confusion_map(truth, guess)
    assert found.values == confusion_matrix(truth, guess).tolist()
    np.testing.assert_allclose(found.shades, confusion_matrix(truth, guess, normalize="true"))
    fewer = confusion_map([*truth, "e"], [*guess, "a"], most=4)
    assert list(fewer.rows) == list("abcd")
    assert fewer.caption.endswith("The 4 most frequent of 5.")


TEXTS = (
    [
        "good $x_ fun",
        "great $x_ fun",
        "dull and bad",
        "dull and slow",
        "good great fun",
        "slow bad dull",
    ],
    ["+$", "+$", "-", "-", "+$", "-"],
)


def test_classifiers():
    model = classify.fit(TEXTS, penalty="l1", min_count=1, lam=0.1)
    ax = model.plot_confusion(TEXTS)
    assert np.asarray(ax.images[0].get_array()).tolist() == [[1, 0], [0, 1]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted class", "true class")
    assert _drawn(ax)
    with pytest.raises(OptionError, match="path"):
        model.plot_path()
    tried = [{"lam": 1.0, "score": 0.5}, {"lam": 0.1, "score": 0.75}]
    model.facts["choice"] = {"tried": tried}
    assert model.plot_path().lines[0].get_ydata().tolist() == [0.5, 0.75]


def test_paths_of_classifiers():
    found = classify.path(TEXTS, dev=TEXTS, points=4, penalty="l1", min_count=1)
    ax = found.plot_path()
    assert len(ax.lines) == len(found.path.weights) + 1  # and the best λ
    assert ax.lines[-1].get_xdata()[0] == found.path.best
    assert found.plot_path("active").lines[0].get_ydata().tolist() == found.path.active
    assert {text.get_text() for text in found.plot_path("scores").get_legend().get_texts()} == {
        "dev accuracy",
        "training accuracy",
    }
    with pytest.raises(OptionError, match="what must be"):
        found.plot_path("all")
    assert _drawn(ax)


def test_estimators():
    X, y = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 1.0], [0.9, 1.0]]), [0, 0, 1, 1]
    model = LinearClassifier("l1", lam=0.1)
    ax = model.plot_path(X, y, [1.0, 0.1], names=["$a_", "b"])
    points = model.path(X, y, [1.0, 0.1])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [point.coef[0, 0] for point in points])
    with pytest.raises(OptionError, match="2 features"):
        model.plot_path(X, y, names=["one"])
    assert _drawn(model.fit(X, y).plot_confusion(X, y))


def test_taggers():
    X, y = [["the", "dog"], ["a", "cat"]], [["D$", "N"], ["D$", "N"]]
    found = tagging.path((X, y), patterns="U:%x[0,0]\nB", penalty="l1", lams=[0.1, 5.0])
    assert _drawn(found.plot_path())
    tagger = Tagger("U:%x[0,0]\nB", lam=0.1).fit(X, y)
    ax = tagger.plot_confusion((X, [["D$", "N"], ["N", "N"]]))
    assert [text.get_text() for text in ax.texts] == ["1", "0", "1", "2"]  # one N is taken for a D$
    assert _drawn(ax)
    with pytest.raises(OptionError):
        tagger.plot_path()


def test_maps_of_structures():
    words = [f"word{i}" for i in range(200)]
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(200, 2)))
    assert len(vectors.plot_map().collections[0].get_offsets()) == 100
    assert len(vectors.plot_map(words[:3]).texts) == 3
    with pytest.raises(InputError, match="did you mean word1"):
        vectors.plot_map(["word1", "wrod1"])
    with pytest.raises(OptionError, match="two words"):
        vectors.plot_map(["word1"])
    ax = WordClasses(["a", "b", "c", "d"], [0, 0, 7, 7]).plot_map()
    assert len({tuple(colour) for colour in ax.collections[0].get_facecolors()}) == 2
    model = classes.fit(
        [["the", "dog"], ["the", "cat"], ["a", "dog"], ["a", "cat"]] * 3, classes=2, min_count=1
    )
    found = model.word_classes()
    for text in model.plot_map().texts:  # words of one class are in one place
        assert len({found[word] for word in text.get_text().split(", ")}) == 1
    sentences = [["the", "dog", "$x_"], ["the", "cat", "barks"], ["a", "dog", "sleeps"]] * 4
    vectors_of_text = embed.fit(sentences, dimensions=2, min_count=2)
    assert "<unk>" in vectors_of_text.vectors()
    names = {text.get_text() for text in vectors_of_text.plot_map().texts}
    assert "dog" in names
    assert "<unk>" not in names


def test_trends():
    texts = ["war on $x_", "war and peace", "peace and trade", "trade for all"]
    documents = trend.Documents(texts, times=np.array([194, 194, 195, 195]))
    model = trend.fit(documents, method="ridge-ts", lam=0.1, every=10, min_count=1)
    ax = model.plot_series(["war", "trade"])
    place = model.names.index("war")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.coef[:, place, 0])
    assert _ticks(ax.xaxis) == ["1940", "1950"]
    assert len(model.plot_series(top=3).lines) == 3
    with pytest.raises(InputError, match="did you mean war"):
        model.plot_series(["wor"])
    with pytest.raises(OptionError, match="effect must be"):
        model.plot_series(effect="other")
    assert _drawn(ax)


def test_parsers():
    text = [
        Sentence(["the", "dog", "barks"], upos=["DET", "NOUN", "VERB"], heads=[2, 3, 0]),
        Sentence(["dogs", "chase", "the", "cat"], upos=["NOUN", "VERB", "DET", "NOUN"], heads=[2, 0, 4, 2]),
    ]
    model = HeadAutomata(states=2, smoothing=0.1).fit(text)
    assert len(model.plot_arcs(text[0]).patches) == 3
    assert [text.get_text() for text in model.plot_arcs(["DET", "NOUN"]).texts][::2] == ["DET", "NOUN"]
    assert len(text[0].plot_arcs().patches) == 3
    with pytest.raises(OptionError, match="no tree"):
        Sentence(["dogs"]).plot_arcs()
    tree = Tree.parse("(S (NN dogs) (VB bark))")
    assert _drawn(Parser().fit([tree] * 3).plot_tree(["dogs", "bark"]))
