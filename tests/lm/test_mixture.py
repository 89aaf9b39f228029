"""Mixtures: their sums, their fits against other optimisers, impossible events, files."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from spinney.corpus import Vocabulary, read_text, sentence_arrays
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import Parts
from spinney.lm import model as model_module
from spinney.lm.cache import CacheModel
from spinney.lm.mixture import (
    LinearMixture,
    LogLinearMixture,
    best_rule,
    em_weights,
    fit_linear,
    fit_log_linear,
    tied_edges,
)
from spinney.lm.model import LanguageModel, load_language_model
from spinney.lm.smoothing import fit_ngram

VOCABULARY = Vocabulary(tuple("abc"), [1] * 3)
EMPTY = np.empty(0, np.int32)


class Table(LanguageModel):
    """Probabilities by the symbol before; the depth of match is the number of symbols before, at most 3."""

    kind = "Table"

    def __init__(self, table, vocabulary=VOCABULARY):
        self.table, self.vocabulary, self.facts = np.asarray(table, float), vocabulary, {}

    def event_logprobs(self, stream):
        events = stream.events
        rows = self.table[stream.ids[events - 1]]
        with np.errstate(divide="ignore"):
            logs = np.log(rows[np.arange(len(events)), stream.ids[events]])
        return np.where(stream.ids[events] < 0, -np.inf, logs)

    def distribution(self, history):
        return self.table[history[-1] if len(history) else self.start]

    def match_depths(self, stream):
        return np.minimum(stream.room[stream.events], 3).astype(np.int32)

    def parts(self):
        return Parts({}, {"table": self.table}, {})

    @classmethod
    def from_parts(cls, file, vocabulary):
        return cls(file.tensor("table", np.float64, 2), vocabulary)


def random_table(seed, zeros=False):
    table = np.random.default_rng(seed).dirichlet(np.ones(4), size=5)
    if zeros:
        table[:, 1] = 0.0
        table /= table.sum(axis=1, keepdims=True)
    return Table(table)


def random_text(seed, n=60, letters="abc"):
    rng = np.random.default_rng(seed)
    return [rng.choice(list(letters), size=size).tolist() for size in rng.integers(0, 8, n)]


def three():
    return {
        "one": random_table(1),
        "two": random_table(2, zeros=True),
        "cache": CacheModel(VOCABULARY, window=20),
    }


def linear_by_depth():
    return LinearMixture(three(), [[0.2, 0.5, 0.3], [1, 0, 0], [0.0, 0.4, 0.6]], [1, 3], depth_of="two")


def nested():
    return LinearMixture(
        {"inner": linear_by_depth(), "other": random_table(5)},
        [[0.7, 0.3], [0.1, 0.9]],
        [2],
        depth_of="inner",
    )


@pytest.mark.parametrize(
    "make",
    [
        linear_by_depth,
        lambda: LogLinearMixture(three(), [0.5, 0.0, 0.8]),
        lambda: LogLinearMixture(three(), [0.5, 0.2, 0.8]),
        nested,
    ],
)
def test_events_are_entries_of_distributions_that_sum_to_one(make):
    model = make()
    stream = model.stream(random_text(0, 20, "abcd"))  # "d" is not known
    logprobs = model.event_logprobs(stream)
    for event, logprob in zip(stream.events, logprobs):
        p = model.distribution(stream.ids[:event])
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        predicted = stream.ids[event]
        np.testing.assert_allclose(
            np.exp(logprob), p[predicted] if predicted >= 0 else 0.0, rtol=1e-10, atol=1e-300
        )
    assert model.distribution(EMPTY).sum() == pytest.approx(1.0)


def test_depths_choose_the_weights():
    model = linear_by_depth()
    history = model.history(["a", "b"], start=True)
    p = [component.distribution(history) for component in model.components().values()]
    np.testing.assert_allclose(model.distribution(history), 0.4 * p[1] + 0.6 * p[2])
    np.testing.assert_allclose(model.distribution(history[:2]), p_of(model, "one", history[:2]))
    np.testing.assert_array_equal(model.match_depths(model.stream([["a", "b", "c"]])), [1, 2, 3, 3])


def p_of(model, name, history):
    return model.components()[name].distribution(history)


def test_depths_of_a_smoothed_model():
    text = sentence_arrays(random_text(1, 40), vocabulary=VOCABULARY)
    components = {"cache": CacheModel(VOCABULARY), "words": fit_ngram(text, "witten-bell", order=4)}
    model = fit_linear(components, random_text(2, 100), "depth", min_events=20)
    assert (model.depth_of, len(model.edges)) == ("words", 2)
    stream = model.stream(random_text(3, 20))
    for event, logprob in zip(stream.events, model.event_logprobs(stream)):
        assert np.exp(logprob) == pytest.approx(
            model.distribution(stream.ids[:event])[stream.ids[event]], rel=1e-10
        )
    for n in range(5):  # in the middle of a sentence
        history = np.arange(n, dtype=np.int32) % 3
        depth = min(n, 3)
        weights = model.weights[np.searchsorted(model.edges, depth, side="right")]
        wanted = sum(w * p_of(model, name, history) for w, name in zip(weights, components))
        np.testing.assert_allclose(model.distribution(history), wanted)


def test_a_product_is_the_normalised_product():
    model = LogLinearMixture({"one": random_table(1), "other": random_table(3)}, [0.7, 0.6])
    history = model.history("a", start=False)
    product = p_of(model, "one", history) ** 0.7 * p_of(model, "other", history) ** 0.6
    np.testing.assert_allclose(model.distribution(history), product / product.sum())


def test_components_that_exclude_each_other_still_make_a_distribution():
    one, other = np.zeros((5, 4)), np.zeros((5, 4))
    one[:, 0] = other[:, 1] = 1.0
    model = LogLinearMixture({"one": Table(one), "other": Table(other)}, [1.0, 1.0])
    np.testing.assert_allclose(model.distribution(EMPTY), [0.5, 0.5, 0, 0], atol=1e-200)


# -- EM ---------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3))
def test_em_climbs_and_stays_on_the_simplex(seed, n_components, n_buckets):
    rng = np.random.default_rng(seed)
    logprobs = np.log(rng.random((40, n_components))) * rng.choice([1, 300], (40, 1))
    logprobs[rng.random(logprobs.shape) < 0.2] = -np.inf
    logprobs = logprobs[logprobs.max(axis=1) > -np.inf]
    trace: list[float] = []
    buckets = rng.integers(0, n_buckets, len(logprobs))
    weights = em_weights(logprobs, buckets, n_buckets, max_iter=30, tol=-1.0, trace=trace)
    assert np.all(np.diff(trace) >= -1e-12 * np.abs(trace[:-1]))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(weights >= 0)


def test_em_finds_the_optimum_of_another_optimiser():
    rng = np.random.default_rng(0)
    p = rng.random((500, 3)) ** [1, 2, 0.5]
    found = em_weights(np.log(p), max_iter=20_000, tol=1e-15)[0]
    best = minimize(
        lambda w: -np.mean(np.log(p @ w)),
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert -np.mean(np.log(p @ found)) <= best.fun + 1e-9
    np.testing.assert_allclose(found, best.x, atol=1e-3)


def test_fits_by_depth_are_at_least_as_good_as_by_all():
    components, text = three(), random_text(7, 200)
    by_all, by_depth = (
        fit_linear(components, text, by, min_events=50, tol=1e-10, max_iter=5000) for by in ("all", "depth")
    )
    one = LinearMixture(components, [[1, 0, 0]])
    values = [model.perplexity(text).log_likelihood for model in (by_depth, by_all, one)]
    assert values[0] >= values[1] - 1e-6
    assert values[1] >= values[2] - 1e-6
    assert by_all.edges.size == 0
    assert by_depth.depth_of == "one"
    assert by_depth.weights.shape == (3, 3)  # depth 0 never comes: the first bucket is that of depths 0 and 1


@pytest.mark.parametrize("min_events", [0, 1, 3, 10**6])
def test_tied_buckets_have_enough_events(min_events):
    depths = np.random.default_rng(0).geometric(0.4, 100).astype(np.int32)
    edges = tied_edges(depths, min_events)
    sizes = np.bincount(np.searchsorted(edges, depths, side="right"))
    assert sizes.min() >= min(min_events, 100)


def test_the_rule_is_the_best_pair_and_cut():
    rng = np.random.default_rng(3)
    logprobs = np.log(rng.random((300, 3)))
    logprobs[5, 2] = -np.inf
    depths = rng.integers(0, 5, 300).astype(np.int32)
    weights, edges = best_rule(logprobs, depths)
    chosen = weights.argmax(axis=1)[np.searchsorted(edges, depths, side="right")]
    value = logprobs[np.arange(300), chosen].sum()
    every = [
        np.where(depths < cut, logprobs[:, low], logprobs[:, high]).sum()
        for cut in range(6) for low in range(3) for high in range(3)
    ]  # fmt: skip
    assert value == pytest.approx(max(every))


def test_the_rule_finds_who_is_better_where():
    text = random_text(11, 300)
    good = np.full((5, 4), 0.25)
    components = {"bad": random_table(1), "good": Table(good)}
    model = fit_linear(components, text, "rule")
    np.testing.assert_array_equal(fit_linear({"one": components["bad"]}, text, "rule").weights, [[1.0]])
    assert set(model.weights.ravel().tolist()) == {0.0, 1.0}
    assert model.perplexity(text).perplexity <= min(
        c.perplexity(text).perplexity for c in components.values()
    )


def test_impossible_events_do_not_spoil_the_fit():
    components = {"none": random_table(1, zeros=True), "some": random_table(2)}
    model = fit_linear(components, random_text(5, 50, "abcd"))  # "b" impossible for one, "d" for both
    assert np.isfinite(model.perplexity(random_text(6, 50, "abcd")).perplexity)


# -- products ---------------------------------------------------------------------------------------------


def test_exponents_are_those_of_another_optimiser():
    components, text = {"one": random_table(1), "two": random_table(2)}, random_text(2, 40)

    def loss(exponents):
        return -LogLinearMixture(components, exponents).perplexity(text).log_likelihood

    found = fit_log_linear(components, text).exponents
    best = minimize(loss, [0.5, 0.5], bounds=[(0, None)] * 2)
    assert loss(found) <= best.fun + 1e-4
    np.testing.assert_allclose(found, best.x, atol=1e-2)


def test_a_sample_of_events_will_do():
    components, text = three(), random_text(2, 200)
    all_of_them, some = (fit_log_linear(components, text, max_events=n) for n in (10**6, 300))
    assert some.perplexity(text).perplexity == pytest.approx(
        all_of_them.perplexity(text).perplexity, rel=0.03
    )


# -- options and files ------------------------------------------------------------------------------------


def test_bad_options():
    one = random_table(1)
    for components, weights, edges, depth_of in [
        ({}, np.empty((1, 0)), (), None),
        ({"one": one}, [[0.5]], (), None),
        ({"one": one}, [1.0], (), None),
        ({"one": one, "two": one}, [[1.5, -0.5]], (), None),
        ({"one": one}, [[1.0], [1.0]], [1], None),
        ({"one": one}, [[1.0]] * 3, [2, 1], "one"),
        ({"a/b": one}, [[1.0]], (), None),
        ({"one": one, "two": CacheModel(Vocabulary(("x",), [1]))}, [[0.5, 0.5]], (), None),
    ]:
        with pytest.raises(OptionError):
            LinearMixture(components, weights, edges, depth_of=depth_of)
    with pytest.raises(OptionError):
        LogLinearMixture({"one": one}, [-1.0])
    with pytest.raises(OptionError, match="match depth"):
        fit_linear({"cache": CacheModel(VOCABULARY)}, [["a"]], "depth")
    with pytest.raises(OptionError, match="by must be all"):
        fit_linear({"one": one}, [["a"]], "length")
    with pytest.raises(OptionError, match="called"):
        fit_linear({"one": one}, [["a"]], "depth", depth_of="two")
    for fit in (fit_linear, fit_log_linear):
        with pytest.raises(InputError, match="no event"):
            fit({"one": one}, [])


@pytest.fixture
def tables_in_files(monkeypatch):
    wanted = model_module.class_of
    monkeypatch.setattr(
        model_module, "class_of", lambda kind, file: Table if kind == "Table" else wanted(kind, file)
    )


@pytest.mark.usefixtures("tables_in_files")
@pytest.mark.parametrize(
    "make", [nested, lambda: LogLinearMixture({"n": nested(), "cache": CacheModel(VOCABULARY)}, [0.5, 0.4])]
)
def test_files(tmp_path, make):
    model, text = make(), random_text(3, 20)
    model.save(tmp_path / "m")
    loaded = load_language_model(tmp_path / "m")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(
        loaded.event_logprobs(loaded.stream(text)), model.event_logprobs(model.stream(text))
    )


@pytest.mark.usefixtures("tables_in_files")
@pytest.mark.parametrize(
    "damage",
    [("names", ["one", "one"]), ("names", 3), ("names", ["one"]), ("depth_of", "none"), ("depth_of", 1)],
)
def test_damaged_files(tmp_path, monkeypatch, damage):
    model = linear_by_depth()
    own = model.parts()
    monkeypatch.setattr(model, "parts", lambda: own._replace(header={**own.header, damage[0]: damage[1]}))
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(tmp_path / "m")


@pytest.mark.slow
def test_a_cache_helps_as_published():
    """Mikolov (2012): a Kneser-Ney 5-gram with a cache of words, 125.7 on the test part of the Penn Treebank."""
    folder = os.environ.get("SPINNEY_DATA")
    if folder is None:
        pytest.skip("SPINNEY_DATA is not set")
    train = read_text(f"{folder}/ptb_lm/ptb.train.txt.xz")
    held_out, test = (
        read_text(f"{folder}/ptb_lm/ptb.{part}.txt.xz", vocabulary=train.vocabulary)
        for part in ("valid", "test")
    )
    model = fit_linear({"words": fit_ngram(train), "cache": CacheModel(train.vocabulary)}, held_out)
    assert model.perplexity(test).perplexity == pytest.approx(125.7, abs=0.5)
