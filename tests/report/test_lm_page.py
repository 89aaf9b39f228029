"""The page of a language model, and what is said of models and scores."""

import html
import json
import re

import numpy as np
import pytest

from spinney.corpus import sentence_arrays
from spinney.lm.cache import CacheModel
from spinney.lm.classbased import fit_class_targets
from spinney.lm.explorer import explorer
from spinney.lm.loglinear import fit_loglinear
from spinney.lm.mixture import LinearMixture
from spinney.lm.report import ReadText
from spinney.lm.scores import TextScores
from spinney.lm.smoothing import fit_ngram
from spinney.lm.views import (
    Contexts,
    explored,
    frequent_contexts,
    n_parameters,
    order_sizes,
    size_view,
    strongest,
    weight_view,
)
from spinney.report.html import html as drawn
from spinney.report.html import view_page
from spinney.structure import WordClasses

HOSTILE = "</script><img src=x onerror=alert(1)>"
TEXT = [["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"], ["is", HOSTILE, "red"]]


def lm_page(model, title, data=None, **given):
    return view_page(title, model.report_views(data, **given))


@pytest.fixture(scope="module")
def text():
    return sentence_arrays(TEXT, unknown="<unk>")


@pytest.fixture(scope="module")
def model(text):
    return fit_ngram(text, "witten-bell", order=3)


def test_page(model):
    page = lm_page(model, HOSTILE).html()
    assert page == lm_page(model, HOSTILE).html()
    assert "<img" not in page
    assert page.count("<script") == 1
    for name in (
        "Size by order",
        "Contexts with the surest predictions",
        "What comes next",
        "a rose",
        "&lt;/s&gt;",
        'type="search"',
    ):
        assert name in page


def test_page_of_a_mixture_and_of_nothing(text, model):
    mixture = LinearMixture({"words": model, "cache": CacheModel(text.vocabulary)}, [[0.5, 0.5]])
    page = lm_page(mixture, "both").html()
    assert "words: back-off model" in page
    assert "<h2>Weights</h2>" in page
    empty = fit_loglinear(text, 2, lam=1e9)
    assert strongest(empty)[0].rows == []
    assert "What comes next" in lm_page(empty, "nothing").html()
    assert "What comes next" in lm_page(CacheModel(text.vocabulary), "cache").html()


def test_contexts_are_read_in_order(text, model):
    """Every context of a table or trie, collapsed or not, is a stretch of the text."""
    windows = {" ".join(["<s>", *words])[: len(" ".join(["<s>", *words]))] for words in TEXT}
    models = [model, fit_loglinear(text, 3, lam=0.0, max_iter=1)]
    models.append(fit_loglinear(text, None, lam=0.0, penalty="l1", alpha=1.0, max_iter=1))
    for each in models:
        contexts = Contexts(each)
        n = each.table.n_contexts if hasattr(each, "table") else each.trie.n_contexts
        for context in range(1, n):
            words = " ".join(each.word(i) for i in contexts.symbols(context))
            assert any(f" {words} " in f" {window} " for window in windows), words
    assert models[-1].trie.collapsed


def test_sizes(text, model):
    # Counted by hand: distinct grams of the stream, and for <unk> a unigram.
    grams = {k: set() for k in (1, 2, 3)}
    for words in TEXT:
        whole = ["<s>", *words, "</s>"]
        for k in grams:
            grams[k] |= {tuple(whole[i - k + 1 : i + 1]) for i in range(max(k - 1, 1), len(whole))}
    assert [size.grams for size in order_sizes(model)] == [len(grams[1]) + 1, len(grams[2]), len(grams[3])]
    assert n_parameters(model) == (sum(map(len, grams.values())) + 1,) * 2
    assert size_view(CacheModel(text.vocabulary)) is None
    targets = fit_class_targets(text, WordClasses(["a", "rose", "is", "red"], [0, 1, 2, 1]), order=2)
    assert n_parameters(targets)[0] > len(text.vocabulary)


def test_long_contexts_are_told_together():
    long = sentence_arrays([[str(i % 7) for i in range(20)], [str(i % 7) for i in range(1, 20)]])
    view = size_view(fit_ngram(long, "witten-bell", order=18))
    assert view.rows[-1][0] == "13 to 18"
    assert len(view.rows) == 13


def test_discounts_from_a_strange_file(model):
    model.facts["discounts"] = [["x"], None]
    assert "discounts" not in size_view(model).header
    model.facts["discounts"] = [[0.5, 0.5, 0.5], [0.25, 0.5], 0.125]
    assert [row[3] for row in size_view(model).rows] == ["0.500", "0.250  0.500", "0.125"]
    del model.facts["discounts"]


def test_the_explorer_gives_probabilities_of_the_model(model):
    found = list(explored(model, 5, 2))
    assert found[0][0] == "<s>"
    for context, words in found:
        symbols = context.split()
        start = symbols[0] == "<s>"
        assert model.next_words(symbols[start:], 2, start=start) == words
    assert len(frequent_contexts(model, 5)) == 5


def test_weights_by_depth(text, model):
    cache = CacheModel(text.vocabulary)
    mixture = LinearMixture(
        {"w": model, "c": cache}, [[1, 0], [0.5, 0.5], [0.25, 0.75]], [1, 3], depth_of="w"
    )
    assert [row[0] for row in weight_view(mixture).rows] == ["0", "1 to 2", "3 and more"]


def test_scores_agree_with_the_library(text, model):
    new = sentence_arrays([["a", "thorn"], ["is", "red"]], vocabulary=text.vocabulary)
    for ends in (True, False):
        for unknown in (True, False):
            ours = TextScores.of(model, new, ends=ends, unknown=unknown)
            theirs = model.perplexity(new, ends=ends, unknown=unknown)
            facts = ours.facts()
            assert (facts["perplexity"], facts["scored"]) == (theirs.perplexity, theirs.scored)
            assert int(ours.counted.sum()) == theirs.scored
            assert np.exp(-ours.logprobs[ours.counted].mean()) == pytest.approx(theirs.perplexity)
            assert (facts["skipped"], facts["unknown"]) == (theirs.skipped, theirs.unknown)
    assert ours.sentence.tolist() == [0, 0, 0, 1, 1, 1]
    foreign = TextScores.of(model, sentence_arrays([["thorn"]], vocabulary=text.vocabulary))
    assert foreign.facts()["perplexity_without_unknown"] is not None  # the end is left


# ---------------------------------------------------------------------------------- the explorer, and a text


def test_what_the_explorer_holds_is_what_the_model_says(model):
    found = explorer(model, 3)
    words = found.words
    assert len(set(words)) == len(words)
    assert found.contexts[0][0] == []  # what any context falls back to
    assert [words[i] for i in found.contexts[1][0]] == ["<s>"]
    for context, following, chances in found.contexts:
        symbols = [words[i] for i in context]
        for start in range(len(symbols) + 1):  # the whole of it, then fewer words, then none
            some = symbols[start:]
            begins = some[:1] == ["<s>"]
            p = model.distribution(model.history(some[begins:], start=begins))
            for word, by_length in zip(following, chances):
                number = len(p) - 1 if words[word] == "</s>" else model.vocabulary[words[word]]
                assert by_length[len(some)] == pytest.approx(p[number], rel=5e-3)
        assert [of[-1] for of in chances] == sorted((of[-1] for of in chances), reverse=True)


def test_the_explorer_of_a_hostile_text(model):
    model.facts["reading"] = {"lowercase": True}
    block = drawn([explorer(model)])
    del model.facts["reading"]
    assert "<img" not in block
    found = json.loads(html.unescape(re.search('data-explorer="([^"]*)"', block)[1]))
    assert found["lowercase"] is True
    assert len(found["contexts"]) > 5


def test_a_text_on_the_page(text, model):
    sentences = [["a", "rose", "is", HOSTILE], ["a", "thorn"]]
    read = ReadText.of(model, sentences)
    page = lm_page(model, "roses", sentences)
    whole = page.html()
    assert "<img" not in whole
    assert [section.title for section in page.sections[:2]] == ["Text", "Losses"]
    assert page.known["perplexity of the text"] == model.perplexity(sentences).perplexity
    bits, depths = read.losses(1)
    np.testing.assert_allclose(bits, -model.logprob(["a", "thorn"]) / np.log(2))
    assert depths == model.match_depths(model.stream([["a", "thorn"]])).tolist()
    assert "matched context: &lt;s&gt; a&quot;" in whole.replace('"', "&quot;")
    assert whole.count('class="losses"') == 3  # with the legend
    assert lm_page(model, "roses", sentences, documents=1).html().count('class="losses"') == 2


def test_a_text_for_models_without_depth_or_counts(text, model):
    cache = CacheModel(text.vocabulary)
    read = ReadText.of(cache, [["a", "rose", "a"]])
    assert read.depths is None
    assert "<h2>Losses</h2>" in lm_page(cache, "cache", [["a", "rose", "a"]]).html()
    closed = fit_ngram(sentence_arrays(TEXT), "witten-bell", order=2)
    page = lm_page(closed, "closed", [["a", "thorn"]]).html()
    assert "impossible" in page


def test_the_choice_of_a_strength_is_shown(text):
    fitted = fit_loglinear(text, 2, lam=0.5)
    fitted.facts["tuning"] = [{"lam": lam, "alpha": 1.0, "perplexity": 9.0 / lam} for lam in (0.5, 1.0)]
    page = lm_page(fitted, "roses")
    assert "How λ was chosen" in [section.title for section in page.sections]
