"""Smaller models: against sums over the whole vocabulary, and against definitions written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spinney.corpus import sample_sentences, sentence_arrays
from spinney.errors import InputError, OptionError, SettingError
from spinney.lm.deploying import prune, stored_bytes
from spinney.lm.discounts import counts_of_counts, modified_discounts
from spinney.lm.model import load_language_model
from spinney.lm.pruning import (
    context_probabilities,
    prune_counts,
    prune_entropy,
    quantised,
    removal_costs,
    without,
)
from spinney.lm.recipes import fit
from spinney.lm.smoothing import fit_ngram
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie
from spinney.lm.tables import trie_counts

pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")

TINY = [["a", "b", "a", "c"], ["b", "a", "b"], ["a", "b", "c", "a", "b"], ["c"], ["a", "a", "b", "a"]]


@pytest.fixture(scope="module")
def text():
    return sentence_arrays(sample_sentences(), min_count=2, unknown="<unk>")


@pytest.fixture(scope="module")
def model(text):
    return fit_ngram(text, order=3)


def grams_of(model):
    """All grams by string."""
    table = model.table
    found = {}
    for order in range(1, table.order + 1):
        place = range(table.n_grams)[table.grams_of(order)]
        found |= {tuple(s): g for s, g in zip(table.strings(order).tolist(), place)}
    return found


def histories(model, length):
    """All strings of symbols that may stand before a word, with or without the start of a sentence."""
    words = range(len(model.vocabulary))
    for n in range(length + 1):
        yield from product(words, repeat=n)
        yield from ((model.start, *rest) for rest in product(words, repeat=n))


@pytest.mark.parametrize("method", ["modified-kneser-ney", "witten-bell", "katz"])
def test_costs_are_relative_entropies(method):
    """D(p‖p') of the distribution after a context of full length, summed over the vocabulary, gram by gram."""
    model = fit_ngram(sentence_arrays(TINY, unknown="<unk>"), method, order=3)
    table = model.table
    costs, marginal = removal_costs(model), context_probabilities(model)
    assert np.all(np.isinf(costs[: table.n_symbols]))
    for string, g in grams_of(model).items():
        if len(string) < 3:
            continue
        kept = np.ones(table.n_grams, bool)
        kept[g] = False
        history = np.array(string[:2], np.int32)
        p, q = model.distribution(history), without(model, kept).distribution(history)
        assert q.sum() == pytest.approx(1.0, abs=1e-12)
        seen = p > 0
        wanted = marginal[table.context[g]] * np.sum(p[seen] * np.log(p[seen] / q[seen]))
        assert costs[g] == pytest.approx(wanted, rel=1e-7, abs=1e-14)


@pytest.mark.parametrize("method", ["modified-kneser-ney", "witten-bell", "katz"])
def test_contexts_are_as_probable_as_in_text_of_the_model(method, monkeypatch):
    """The stationary distribution of the chain of the last two symbols, by its whole matrix."""
    monkeypatch.setattr("spinney.lm.pruning._STILL", 1e-13)
    monkeypatch.setattr("spinney.lm.pruning._ROUNDS", 10_000)
    model = fit_ngram(sentence_arrays(TINY, unknown="<unk>"), method, order=3)
    n, start = len(model.vocabulary), model.start
    states = [(start,), *product([*range(n), start], range(n))]
    number = {state: i for i, state in enumerate(states)}
    chain = np.zeros((len(states), len(states)))
    for state, i in number.items():
        for y, p in enumerate(model.distribution(np.array(state, np.int32))):
            chain[i, number[(start,) if y == n else (*state, y)[-2:]]] += p
    stationary = np.linalg.matrix_power(0.5 * (chain + np.eye(len(states))), 1 << 14)[0]
    found = context_probabilities(model)
    assert found[0] == pytest.approx(1.0)
    for string, g in grams_of(model).items():
        if (context := model.table.following[g]) >= 0:
            wanted = sum(p for state, p in zip(states, stationary) if state[-len(string) :] == string)
            assert found[context] == pytest.approx(wanted, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("method", ["modified-kneser-ney", "witten-bell", "katz"])
@pytest.mark.parametrize("threshold", [4e-3, 1e-2, 10.0])
def test_pruned_models_are_distributions(method, threshold):
    model = fit_ngram(sentence_arrays(TINY, unknown="<unk>"), method, order=3)
    small, divergence = prune_entropy(model, threshold)
    assert small.table.is_sound()
    assert divergence >= 0
    assert small.table.n_grams < model.table.n_grams
    assert (small.order == 1) == (threshold == 10.0)
    for history in histories(model, 2):
        assert small.distribution(np.array(history, np.int32)).sum() == pytest.approx(1.0, abs=1e-12)
    before, after = grams_of(model), grams_of(small)
    assert set(after) <= set(before)
    costs = removal_costs(model)
    longer = {g[:-1] for g in after} | {g[1:] for g in after}
    for gram, place in before.items():  # what is left is what costs more, and what that needs
        assert (gram in after) == (gram in longer or not np.expm1(costs[place]) < threshold)


def test_a_threshold_of_nothing_removes_nothing(model):
    small, divergence = prune_entropy(model, 0.0)
    assert (small.table.n_grams, divergence) == (model.table.n_grams, 0.0)
    with pytest.raises(OptionError, match="threshold"):
        prune_entropy(model, -1.0)


def test_more_pruning_is_smaller_and_worse(model, text):
    sizes, losses = [], []
    for threshold in (1e-7, 1e-6, 1e-5, 1e-4):
        small, divergence = prune_entropy(model, threshold)
        sizes.append(stored_bytes(small))
        losses.append(divergence)
    assert sizes == sorted(sizes, reverse=True)
    assert losses == sorted(losses)


# ------------------------------------------------------------------------------------------------- counts


def lmplz(text, order, thresholds):
    """p(y | x) by the definition of lmplz --prune, over all strings: discounts of all counts, removed counts to γ."""
    stream = stream_of(text)
    n, start = len(text.vocabulary) + 1, len(text.vocabulary) + 1
    raw: dict[tuple[int, ...], int] = {}
    for i in stream.events:
        for k in range(1, min(order, stream.room[i] + 1) + 1):
            gram = tuple(stream.ids[i - k + 1 : i + 1].tolist())
            raw[gram] = raw.get(gram, 0) + 1
    adjusted = {}
    for gram, count in raw.items():
        if len(gram) == order or gram[0] == start:
            adjusted[gram] = count
        else:
            adjusted[gram] = len({g[0] for g in raw if g[1:] == gram})
    discounts = [
        (
            0.0,
            *modified_discounts(
                counts_of_counts(np.array([c for g, c in adjusted.items() if len(g) == k]), 4), k
            ),
        )
        for k in range(1, order + 1)
    ]
    limit = [thresholds[min(k, len(thresholds) - 1)] for k in range(order)]
    kept = {gram for gram, count in raw.items() if count > limit[len(gram) - 1]}

    def p(x, y):
        after = {g: c for g, c in adjusted.items() if g[:-1] == x}
        low = p(x[1:], y) if x else 1.0 / n
        if not after:
            return low
        total, d = sum(after.values()), discounts[len(x)]
        gamma = sum(d[min(c, 3)] if g in kept else c for g, c in after.items()) / total
        own = adjusted[(*x, y)] - d[min(adjusted[(*x, y)], 3)] if (*x, y) in kept else 0.0
        return own / total + gamma * low

    return p


@pytest.mark.parametrize("thresholds", [(0,), (0, 0, 1), (0, 1), (0, 1, 2)])
def test_count_pruning_is_that_of_lmplz(thresholds):
    text = sentence_arrays(TINY, unknown="<unk>")
    p = lmplz(text, 3, thresholds)
    model = fit_ngram(text, order=3, prune_counts=thresholds)
    assert model.table.is_sound()
    for history in histories(model, 2):
        if len(history) > 2:
            continue
        found = model.distribution(np.array(history, np.int32))
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(found, [p(history, y) for y in range(model.n_outcomes)], rtol=1e-10)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("kneser-ney", {}), ("kneser-ney", {"backoff": True}), ("absolute", {}), ("witten-bell", {}),
        ("jelinek-mercer", {}), ("katz", {}),
    ],
)  # fmt: skip
def test_count_pruning_of_other_methods(text, method, options):
    whole = fit_ngram(text, method, order=3, **options)
    small = fit_ngram(text, method, order=3, prune_counts=(0, 1, 1), **options)
    assert small.table.n_grams < whole.table.n_grams
    for words in ([], ["the"], ["of", "the"], ["<unk>", "is"], ["nowhere"]):
        for start in (True, False):
            assert small.distribution(small.history(words, start=start)).sum() == pytest.approx(1.0, abs=1e-9)
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    seen = trie_counts(trie).count
    wanted = np.count_nonzero(seen[whole.table.n_symbols :] > 1) + whole.table.n_symbols
    assert small.table.n_grams == wanted


@pytest.mark.parametrize("thresholds", [(), (1,), (0, 2, 1)])
def test_thresholds_that_make_no_sense(model, thresholds):
    with pytest.raises(OptionError, match="begin with 0"):
        prune_counts(model, np.ones(model.table.n_grams, np.int64), thresholds)


def test_only_back_off_models_are_pruned(text):
    with pytest.raises(OptionError, match="back-off"):
        fit_ngram(text, "additive", order=2, prune_counts=(0, 1))
    with pytest.raises(SettingError, match="shorter contexts"):
        fit([["a"]], method="additive", prune_counts=(0, 1))
    with pytest.raises(SettingError, match="begin with 0"):
        fit([["a"]], prune_counts=(1, 1))
    with pytest.raises(InputError, match="only back-off models"):
        prune(fit_ngram(text, "additive", order=2), entropy=1e-7)


# ---------------------------------------------------------------------------------------------- quantising


def test_quantised_values_are_the_means_of_equal_bins(model, tmp_path):
    small = quantised(model, 4)
    for order in (2, 3):
        grams = model.table.grams_of(order)
        values, codes = model.logp[grams], small.logp[grams]
        levels = np.unique(codes)
        assert len(levels) == 16
        for level in levels:
            assert values[codes == level].mean() == pytest.approx(level, rel=1e-12)
        sizes = [np.count_nonzero(codes == level) for level in levels]
        assert max(sizes) - min(sizes) <= 1
    first = model.table.n_symbols
    np.testing.assert_array_equal(small.logp[:first], model.logp[:first])
    path = tmp_path / "q.spinney"
    small.save(path)
    again = load_language_model(path)
    np.testing.assert_allclose(again.logp, small.logp[_order(small, again)], rtol=1e-7)
    assert stored_bytes(small) < 0.6 * stored_bytes(model)


def _order(model, again):
    """The grams of one model in the order of another."""
    place = grams_of(model)
    return [place[string] for string in grams_of(again)]


def test_more_bits_lose_less(model, text):
    losses = [abs(quantised(model, bits).perplexity(text).perplexity - model.perplexity(text).perplexity)
              for bits in (2, 4, 8)]  # fmt: skip
    assert losses[0] > losses[1] > losses[2]
    with pytest.raises(OptionError, match="bits"):
        quantised(model, 9)


def test_a_damaged_book_is_refused(model, tmp_path):
    from spinney.errors import ModelFileError
    from spinney.files import read_model, write_model

    quantised(model, 8).save(tmp_path / "q.spinney")
    file = read_model(tmp_path / "q.spinney")
    for name, change in [
        ("log10p.code", lambda a: a[1:]),
        ("log10p.book", lambda a: a[1:]),
        ("log10p.book", lambda a: a + np.float32(99)),
        ("log10p.single", lambda a: a[1:]),
        ("log10_backoff.code", lambda a: a.astype(np.int32)),
    ]:
        changed = {**file.tensors, name: change(np.array(file.tensors[name]))}
        write_model(tmp_path / "bad.spinney", file.kind, file.header, changed, {"words": file.texts("words")})
        with pytest.raises(ModelFileError, match="damaged"):
            load_language_model(tmp_path / "bad.spinney")


# ----------------------------------------------------------------------------------------------- the command


def test_prune_says_what_is_lost(tmp_path, model, text):
    large = fit(list(sample_sentences()), order=3, min_count=2)
    large.save(tmp_path / "large.spinney")
    held_out = [list(words) for words in list(sample_sentences())[:50]]
    (tmp_path / "dev.txt").write_text("\n".join(" ".join(words) for words in held_out))
    small = prune(str(tmp_path / "large.spinney"), entropy=1e-5, quantise=8, dev=str(tmp_path / "dev.txt"))
    found = small.facts["pruning"]
    assert found["grams_before"] == large.facts["grams"]
    assert found["grams"] == small.facts["grams"]
    assert sum(found["grams"]) < sum(found["grams_before"])
    assert found["bytes"] < found["bytes_before"]
    assert found["perplexity"] == small.perplexity(held_out).perplexity
    assert found["perplexity_before"] == pytest.approx(large.perplexity(held_out).perplexity, rel=1e-6)
    assert 0 < found["estimated_increase"] < 1
    titles = [view.title for view in small.summary()]
    assert "What the model lost" in titles
    with pytest.raises(SettingError, match="nothing to do"):
        prune(large)
