"""Every kind of report page in a browser: it loads clean, in light and dark, and fits a desk and a telephone."""

from functools import cache

import numpy as np
import pytest

from spinney.corpus import Tree, sample_documents, sample_sentences, sentence_arrays
from spinney.corpus.conllu import Sentence
from spinney.files import read_model
from spinney.report.html import view_page
from spinney.report.page import combined_page
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors

WIDE, NARROW = 1280, 390
READING = {"unknown": "<unk>", "lowercase": True}


@cache
def text():
    """Some of Python's manual, rare words left out."""
    sentences = [[word.lower() for word in words] for words in sample_sentences()[:500]]
    return sentence_arrays(sentences, unknown="<unk>", min_count=8)


def sentences(n=4):
    return [[word.lower() for word in words] for words in sample_sentences()[:n]]


# -------------------------------------------------------------------------------------------- the pages


@cache
def clustering():
    from spinney.classes import brown, pair_counts

    return brown(pair_counts(text()), text().vocabulary, 24).noting(READING)


@cache
def brown_page():
    return view_page("brown.spinney", clustering().report_views(sentences()))


def hidden_page():
    from spinney.classes import HiddenMarkov

    model = HiddenMarkov(30, passes=2, random_state=1).fit(text(), reading=READING)
    return view_page("hidden.spinney", model.report_views(sentences()))


@cache
def vectors():
    from spinney.embed import Embedding

    return Embedding("cca", dimensions=20).fit(text(), reading=READING)


@cache
def vectors_page():
    return view_page("vectors.spinney", vectors().report_views())


def codes_page():
    from spinney.embed import Embedding

    model = Embedding("sparse", dimensions=26).fit(text(), reading=READING)
    return view_page("codes.spinney", model.report_views())


def spectral_page():
    from spinney.embed import SpectralHMM

    return view_page("states.spinney", SpectralHMM(12).fit(text()).report_views())


def topics_page():
    from sklearn.feature_extraction.text import CountVectorizer

    from spinney.embed import MomentTopics

    texts = [document.text for document in sample_documents()]
    counter = CountVectorizer(min_df=3, max_df=0.4)
    X = counter.fit_transform(texts)
    model = MomentTopics(6).fit(X, words=counter.get_feature_names_out().tolist())
    return view_page(
        "topics.spinney", model.report_views([counter.build_analyzer()(one) for one in texts[:3]])
    )


def word_classes_page():
    old = clustering().classes
    classes = WordClasses(old.words, old.ids, counts=old.counts)
    return view_page("classes.spinney", classes.report_views())


def word_vectors_page():
    some = WordVectors(vectors().vocabulary_.words, vectors().vectors_[:, :4])
    return view_page("vectors.spinney", some.report_views())


def groups_page():
    groups = Groups.from_prefixes(clustering().classes, clustering().classes.words)
    return view_page("groups.spinney", groups.report_views())


def class_tree_page():
    return view_page("tree.spinney", ClassTree.balanced(text().vocabulary.words[:300]).report_views())


def classify_page():
    from spinney.classify import LinearClassifier, TextFeatures, TextModel

    documents = sample_documents()
    texts, labels = [d.text[:800] for d in documents], [d.label for d in documents]
    model = TextModel(LinearClassifier("l1", lam=0.3), TextFeatures("counts")).fit(texts, labels)
    return view_page("themes.spinney", model.report_views((texts[:6], labels[:6])))


def trend_page():
    from spinney.trend import Documents, FrequentWords, TimeSeriesTextModel, TrendModel

    documents = [d.text[:600] for d in sample_documents()[:40]]
    model = TrendModel(TimeSeriesTextModel("ridge-ts", lam=0.1), FrequentWords(), every=1)
    model.fit(Documents(documents, times=2000 + np.arange(40) % 10))
    return view_page("years.spinney", model.report_views())


@cache
def language_page():
    from spinney.lm.smoothing import fit_ngram

    model = fit_ngram(text(), "witten-bell", order=3)
    return view_page("words.spinney", model.report_views(sentences()))


TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (DT a) (JJ old) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))))",
    "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PP (IN in) (NP (DT a) (NN wood)))))",
]


def parse_page():
    from spinney.parsing.parser import Parser

    trees = [Tree.parse(tree) for tree in TREES]
    parser = Parser("pcfg", rare=0).fit(trees * 3)
    return view_page("parser.spinney", parser.report_views(trees))


def automata_page():
    from spinney.parsing.automata import HeadAutomata

    some = [
        Sentence(["the", "dog", "barks"], upos=["DET", "NOUN", "VERB"], heads=[2, 3, 0]),
        Sentence(["dogs", "see", "cats"], upos=["NOUN", "VERB", "NOUN"], heads=[2, 0, 2]),
    ]
    return view_page("heads.spinney", HeadAutomata("bigram").fit(some * 3).report_views())


def tag_page():
    from spinney.tagging import Tagger

    words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "cat", "sees", "a", "dog"]] * 3
    labels = [["DET", "N", "V"], ["DET", "N", "V"], ["DET", "ADJ", "N", "V", "DET", "N"]] * 3
    tagger = Tagger("U:%x[0,0]\nU:%x[-1,0]\nB", lam=0.1).fit(words, labels)
    return view_page("tags.spinney", tagger.report_views())


def path_page():
    from spinney.classify import LinearRegressor
    from spinney.classify.views import weight_path
    from spinney.views import Note

    X = np.random.default_rng(0).normal(size=(40, 6))
    points = LinearRegressor("l1").path(X, X @ [3.0, -2.0, 1.0, 0.5, 0.0, 0.0], n=12)
    scores = {"training R²": [i / 12 for i in range(len(points))]}
    path = weight_path(points, list("abcdef"), ["value"], scores)
    return view_page("path", [Note("A path."), *path.views()])


def any_page(tmp_path):
    from spinney.report.model_file import file_views

    clustering().classes.save(tmp_path / "m")
    return view_page("any.spinney", file_views(read_model(tmp_path / "m")))


PAGES = {
    "brown": brown_page, "hidden": hidden_page, "vectors": vectors_page, "codes": codes_page,
    "spectral": spectral_page, "topics": topics_page, "word-classes": word_classes_page,
    "word-vectors": word_vectors_page, "groups": groups_page, "class-tree": class_tree_page,
    "classify": classify_page, "trend": trend_page, "language": language_page, "parse": parse_page,
    "automata": automata_page, "tag": tag_page, "path": path_page,
}  # fmt: skip


# -------------------------------------------------------------------------------------------- the tests


def look(opened, screenshots, name, html):
    """A page in light and dark, wide and narrow: it must fit, and all its text be legible."""
    with opened(html) as page:
        assert page.locator("h1").count() == 1
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CONTRAST) == [], scheme
            for width in (WIDE, NARROW):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (scheme, width)
                if screenshots is not None:
                    page.screenshot(path=screenshots / f"{name}-{scheme}-{width}.png", full_page=True)


# The contrast (WCAG 2) of all text with what is behind it, where it is below 4.5 to 1.
CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const colour = (...layers) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const layer of layers) { canvas.fillStyle = layer; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = new Map(), ratios = new Map(), faults = new Map();
  const behind = element => {
    if (!element) return "white";
    if (!grounds.has(element)) {
      const own = getComputedStyle(element).backgroundColor, below = behind(element.parentElement);
      grounds.set(element, own === "rgba(0, 0, 0, 0)" ? below : below + ";" + own);
    }
    return grounds.get(element);
  };
  const ratio = (ground, ink) => {
    const key = ground + "|" + ink, layers = ground.split(";");
    if (!ratios.has(key)) {
      const [high, low] = [light(colour(...layers)), light(colour(...layers, ink))].sort((a, b) => b - a);
      ratios.set(key, (high + 0.05) / (low + 0.05));
    }
    return ratios.get(key);
  };
  for (const element of document.querySelectorAll("body, body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("script, style, template")) continue;
    const style = getComputedStyle(element), ink = element.closest("svg") ? style.fill : style.color;
    const found = ratio(behind(element), ink);
    if (found < 4.5) faults.set(element.tagName + "." + element.getAttribute("class"), found.toFixed(2));
  }
  return [...faults].map(fault => fault.join(" "));
}"""


@pytest.mark.parametrize("name", PAGES)
def test_every_kind_of_page(opened, screenshots, name):
    look(opened, screenshots, name, PAGES[name]().html())


def test_a_page_for_any_file(opened, screenshots, tmp_path):
    look(opened, screenshots, "any", any_page(tmp_path).html())


def test_several_pages_as_one(opened, screenshots):
    html = combined_page("A tour", "What it learnt.", [brown_page(), vectors_page(), language_page()])
    look(opened, screenshots, "combined", html)
    with opened(html, width=NARROW) as page:
        page.get_by_role("link", name="vectors.spinney").click()
        assert page.evaluate("location.hash") == "#m1"
        assert abs(page.locator("#m1").bounding_box()["y"]) < 1
        page.locator("#m1 > p > a").click()
        assert page.evaluate("scrollY") == 0
