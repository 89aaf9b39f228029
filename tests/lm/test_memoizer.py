"""The sequence memoizer: against the Pitman-Yor model it collapses, and fragmentation by its definition."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import read_text, sentence_arrays
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import write_model
from spinney.lm.memoizer import (
    Lengths,
    SequenceMemoizer,
    draw_discounts,
    leaving_one_out_discounts,
    node_discounts,
    sequence_memoizer,
)
from spinney.lm.model import load_language_model
from spinney.lm.pitman_yor import (
    PitmanYor,
    Restaurants,
    backoff_model,
    one_table_customers,
    pitman_yor,
    sampled_model,
)
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie

TEXT = [list(s) for s in ("abcab", "abd", "cab", "bcd", "ddab", "abcabd", "abcab")]
OTHER = [list(s) for s in ("abcabc", "bcabd", "dd", "", "cabcab", "abde")]  # "e" is not known
DISCOUNTS = np.array([0.3, 0.6, 0.8, 0.9])
texts = st.lists(st.lists(st.sampled_from("abc"), max_size=8), min_size=1, max_size=8)


def one_table(text, max_context, *, collapse, discounts=DISCOUNTS):
    """A memoizer with one table for each gram."""
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), max_context, collapse=collapse)
    customers = one_table_customers(trie).astype(float)
    return SequenceMemoizer(text.vocabulary, trie, stream.ids, customers, np.ones(trie.n_grams), discounts)


# -- the model it is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampled", [False, True])
def test_nodes_of_one_length_are_a_pitman_yor_model(sampled):
    text = sentence_arrays(TEXT)
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), 3)
    if sampled:
        fitted = sampled_model(trie, sweeps=5, discounts=DISCOUNTS, concentrations=0.0, resample=False)
        expected = backoff_model(fitted, text.vocabulary, {})
        found = SequenceMemoizer(
            text.vocabulary, trie, stream.ids, fitted.customers, fitted.tables, DISCOUNTS
        )
    else:
        expected = pitman_yor(text, 4, method="one-table", discounts=DISCOUNTS)
        found = one_table(text, 3, collapse=False)
    other = found.stream(OTHER)
    np.testing.assert_allclose(
        found.event_logprobs(other), expected.event_logprobs(other), rtol=0, atol=1e-12
    )
    assert np.array_equal(found.match_depths(other), expected.match_depths(other))
    for sentence in OTHER:
        history = found.history(sentence, start=True)
        np.testing.assert_allclose(
            found.distribution(history), expected.distribution(history), rtol=0, atol=1e-12
        )


@settings(max_examples=40, deadline=None)
@given(texts, st.sampled_from([None, 3]), st.lists(st.floats(0.05, 0.95), min_size=1, max_size=6))
def test_collapsing_keeps_one_table_at_whole_nodes(sentences, max_context, discounts):
    text = sentence_arrays([*sentences, ["a"]])
    full, collapsed = (
        one_table(text, max_context, collapse=c, discounts=np.array(discounts)) for c in (False, True)
    )
    # Every context of the training text that is the longest of its event is a whole node.
    stream = stream_of(text)
    expected, found = full.event_logprobs(stream), collapsed.event_logprobs(stream)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    longest = stream.room[stream.events]
    assert np.array_equal(collapsed.match_depths(stream), np.minimum(longest, max_context or longest.max()))


def test_collapsing_does_not_change_the_posterior():
    text = sentence_arrays([list("ab"), list("ab"), list("ab"), list("cb"), list("ba")])
    stream = stream_of(text)
    values = []
    for collapse in (False, True):
        trie = suffix_trie(stream, len(text.vocabulary), None, collapse=collapse)
        assert trie.collapsed == collapse
        discount, zero = node_discounts(trie, DISCOUNTS), np.zeros(trie.n_contexts)
        seated = Restaurants(trie, discount, zero, np.random.default_rng(0))
        samples = []
        for _ in range(10_000):
            seated.sweep(discount, zero)
            c, t = seated.customers.astype(float), seated.tables.astype(float)
            samples.append(PitmanYor(trie, c, t, discount, zero).probabilities()[0][trie.event_gram])
        means = np.array([part.mean(axis=0) for part in np.array_split(np.array(samples), 50)])
        values.append((means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(50)))
    (full, error_full), (collapsed, error_collapsed) = values
    error = np.hypot(error_full, error_collapsed)
    assert error.max() < 0.003
    assert np.all(np.abs(full - collapsed) < 4 * error)


@pytest.mark.parametrize(("d1", "d2"), [(0.5, 0.6), (0.9, 0.3), (0.05, 0.95)])
def test_fragments_against_seating_customers_one_by_one(d1, d2):
    from spinney.lm._restaurant_kernels import fragments

    theta = -d1 * d2
    tables = {1: 1.0}  # how likely is each number of tables
    for n in range(1, 9):
        expected = sum(t * p for t, p in tables.items())
        assert fragments(np.array([float(n)]), np.ones(1), d1, d2)[0] == pytest.approx(expected, rel=1e-12)
        grown = dict.fromkeys(range(1, n + 2), 0.0)
        for t, p in tables.items():
            new = (theta + d2 * t) / (theta + n)
            grown[t + 1] += p * new
            grown[t] += p * (1 - new)
        tables = grown


def test_inside_a_node():
    # "b" always has "a" before it, so b and ab are one node; of "cb" only b was seen.
    text = sentence_arrays([list(s) for s in ("abd", "yabd", "xabc", "c")])
    model = one_table(text, None, collapse=True)
    found = model.distribution(model.history(["c", "b"], start=True))
    above = model.distribution(model.history([], start=False))
    d1, d2 = DISCOUNTS[1], DISCOUNTS[2]
    two = d1 + (1 - d1) * (1 + d2 - d1 * d2) / (1 - d1 * d2)  # fragments of d's table of two customers
    customers = np.zeros(model.n_outcomes)
    customers[[text.vocabulary["d"], text.vocabulary["c"]]] = two, 1.0
    seen = customers > 0
    expected = (customers - d1 * seen + d1 * 2 * above) / (two + 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# -- probabilities ------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(texts, texts, st.sampled_from(["gibbs", "one-table"]), st.sampled_from([None, 0, 2]))
def test_events_and_distributions(sentences, others, method, max_context):
    text = sentence_arrays([*sentences, ["a", "b"]], unknown="<unk>")
    model = sequence_memoizer(text, method=method, max_context=max_context, sweeps=3)
    stream = model.stream([*others, ["c", "x", "a"]])
    logp = model.event_logprobs(stream)
    for e, i in enumerate(stream.events.tolist()):
        for history in (stream.ids[:i], stream.ids[i - stream.room[i] : i]):
            p = model.distribution(history)
            assert p.min() > 0
            assert abs(p.sum() - 1) < 1e-10
            assert np.log(p[stream.ids[i]]) == pytest.approx(logp[e], abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(texts)
def test_the_middle_of_a_sentence(sentences):
    text = sentence_arrays([*sentences, ["a", "a", "a"]])
    model = sequence_memoizer(text, method="one-table")
    for sentence in sentences:
        for i in range(len(sentence)):
            history = model.history(sentence[i:], start=False)
            expected = model.distribution(np.append(np.int32(-1), history))  # after a word that nobody knows
            assert np.array_equal(model.distribution(history), expected)


@settings(max_examples=30, deadline=None)
@given(texts, texts)
def test_depth_of_match(sentences, others):
    text = sentence_arrays([*sentences, ["a"]])
    model = sequence_memoizer(text, method="one-table")
    contexts = set()
    for sentence in [*sentences, ["a"]]:
        padded = ("<s>", *sentence)
        contexts |= {padded[i:j] for j in range(len(padded) + 1) for i in range(j + 1)}
    expected = []
    for sentence in others:
        padded = ("<s>", *sentence)
        for j in range(1, len(padded) + 1):
            expected.append(max(k for k in range(j + 1) if padded[j - k : j] in contexts))
    assert model.match_depths(model.stream(others)).tolist() == expected


def test_words_of_a_closed_vocabulary():
    model = sequence_memoizer(sentence_arrays(TEXT), sweeps=4)
    found = model.perplexity(OTHER)
    assert found.unknown == found.skipped == 1
    assert np.isfinite(found.log_likelihood)
    with pytest.raises(OptionError, match="numbers"):
        model.distribution(np.array([99], np.int32))


# -- discounts ----------------------------------------------------------------------------------------------


def test_discounts_of_nodes_are_products():
    text = sentence_arrays(TEXT)
    trie = suffix_trie(stream_of(text), len(text.vocabulary), None, collapse=True)
    found = node_discounts(trie, DISCOUNTS)
    for u in range(trie.n_contexts):
        lengths = range(trie.depth[u] - trie.length[u] + 1, trie.depth[u] + 1)
        assert found[u] == pytest.approx(np.prod([DISCOUNTS[min(n, 3)] for n in lengths]))
    lengths = Lengths(trie, 4)
    np.testing.assert_allclose(np.exp(lengths.powers @ np.log(DISCOUNTS))[lengths.group], found)


def test_leaving_one_out_discounts_are_those_of_kneser_ney():
    rng = np.random.default_rng(0)
    words = np.array(list("abcdefghij"))
    text = sentence_arrays([words[np.minimum(rng.geometric(0.3, 6), 10) - 1].tolist() for _ in range(40)])
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    customers = one_table_customers(trie)
    found = leaving_one_out_discounts(trie, customers.astype(float), 3)
    for depth in (1, 2):
        of_depth = customers[trie.depth[trie.context] == depth]
        n1, n2 = np.count_nonzero(of_depth == 1), np.count_nonzero(of_depth == 2)
        assert n1 * n2 > 0
        assert found[depth] == pytest.approx(n1 / (n1 + 2 * n2), abs=1e-4)


def test_drawn_discounts_against_the_integral():
    text = sentence_arrays(TEXT)
    trie = suffix_trie(stream_of(text), len(text.vocabulary), None, collapse=True)
    rng = np.random.default_rng(0)
    seated = Restaurants(trie, node_discounts(trie, np.array([0.7])), np.zeros(trie.n_contexts), rng)
    lengths, d, drawn = Lengths(trie, 1), np.array([0.7]), []
    for _ in range(4000):
        d = draw_discounts(seated, lengths, d, rng)
        drawn.append(d[0])
    grid = (np.arange(2000) + 0.5) / 2000
    context, size = seated.shared_tables()
    log_p = np.zeros(len(grid))
    for u in range(trie.n_contexts):
        node = grid ** trie.length[u]
        log_p += (seated.laid[u] - 1) * np.log(node)
        for n in size[context == u]:
            log_p += sum(np.log(j - node) for j in range(1, n))
    p = np.exp(log_p - log_p.max())
    means = np.array([part.mean() for part in np.array_split(np.array(drawn), 50)])
    assert abs(means.mean() - (p @ grid) / p.sum()) < 4 * means.std(ddof=1) / np.sqrt(50)


# -- the function, and files ----------------------------------------------------------------------------------


def test_a_seed_gives_one_model():
    seen = []
    one, same, other = (
        sequence_memoizer(sentence_arrays(TEXT), sweeps=6, random_state=s, callback=seen.append)
        for s in (1, 1, 2)
    )
    assert np.array_equal(one.tables, same.tables)
    assert not np.array_equal(one.discounts, other.discounts)
    assert [s.number for s in seen] == [1, 2, 3, 4, 5, 6] * 3


@pytest.mark.parametrize(
    "options",
    [
        {"method": "variational"},
        {"sweeps": 0},
        {"sweeps": 5, "burn_in": 5},
        {"max_context": -1},
        {"discounts": []},
        {"discounts": [0.5, 1.0]},
        {"discounts": [0.0]},
        {"discounts": [[0.5]]},
    ],
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        sequence_memoizer(sentence_arrays(TEXT), **options)


def test_bad_texts():
    with pytest.raises(InputError, match="no sentence"):
        sequence_memoizer(sentence_arrays([]))
    with pytest.raises(InputError, match="<s>"):
        sequence_memoizer(sentence_arrays([["a", "<s>"]]))


@pytest.mark.parametrize("max_context", [None, 0])
def test_files(tmp_path, max_context):
    model = sequence_memoizer(sentence_arrays(TEXT, unknown="<unk>"), sweeps=4, max_context=max_context)
    model.save(tmp_path / "model")
    again = load_language_model(tmp_path / "model")
    assert isinstance(again, SequenceMemoizer)
    assert again.facts == model.facts
    stream = model.stream(OTHER)
    assert np.array_equal(again.event_logprobs(stream), model.event_logprobs(stream))
    assert np.array_equal(again.distribution(stream.ids[:3]), model.distribution(stream.ids[:3]))


def _with(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("customers", lambda a: a[1:]),
        ("customers", lambda a: _with(a, 3, np.nan)),
        ("customers", lambda a: _with(a, 3, 0.5)),
        ("tables", lambda a: _with(a, 3, 0.0)),
        ("tables", lambda a: a.astype(np.float32)),
        ("discounts", lambda a: a[:0]),
        ("discounts", lambda a: _with(a, 0, 1.0)),
        ("text", lambda a: a[:5]),
        ("trie.length", lambda a: _with(a, 0, 5)),
        ("trie.length", lambda a: _with(a, -1, 254)),
        ("trie.depth", lambda a: _with(a, -1, 70)),
        ("trie.place", lambda a: _with(a, slice(None), 10**9)),
        ("trie.sizes", lambda a: _with(a, 1, 0)),
        ("trie.parent", lambda a: _with(a, 1, 5)),
        ("trie.symbol.low", lambda a: _with(a, 0, 99)),
        ("trie.symbol.low", lambda a: a[::-1].copy()),
        ("trie.count.many", lambda a: np.append(a, 300)),
    ],
)
def test_damaged_files(tmp_path, name, damage):
    model = sequence_memoizer(sentence_arrays(TEXT), sweeps=4)
    own = model.parts()
    tensors = {**own.tensors, name: damage(own.tensors[name]), "word_counts": model.vocabulary.counts}
    header = {**own.header, "facts": {}, "unknown": None}
    write_model(tmp_path / "model", "lm/SequenceMemoizer", header, tensors, {"words": model.vocabulary.words})
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(tmp_path / "model")


def test_files_of_another_vocabulary(tmp_path):
    model = sequence_memoizer(sentence_arrays(TEXT), sweeps=4)
    with pytest.raises(OptionError, match="vocabulary"):
        SequenceMemoizer(
            model.vocabulary,
            replace(model.trie, n_symbols=7),
            model.text,
            model.customers,
            model.tables,
            DISCOUNTS,
        )


@pytest.mark.slow
def test_penn_treebank():
    folder = os.environ.get("SPINNEY_DATA")
    if folder is None:
        pytest.skip("SPINNEY_DATA is not set: the Penn Treebank text is there")
    path = Path(folder) / "ptb_lm"
    train = read_text(path / "ptb.train.txt.xz")
    test = read_text(path / "ptb.test.txt.xz", vocabulary=train.vocabulary)
    assert (
        sequence_memoizer(train, sweeps=20).perplexity(test).perplexity < 140.8369
    )  # modified Kneser-Ney, order 6
