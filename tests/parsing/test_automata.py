"""Head automata: exact with exact moments, totals and marginals as all projective trees give them."""

from __future__ import annotations

import os
import zipfile
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, ModelFileError, NotFittedError, OptionError
from spinney.files import read_model, write_model
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.automata_learning import Automata, Operators, em, padded, spectral_operators
from spinney.parsing.modifiers import LEFT, RIGHT, ModifierSequences, automaton_of, checked_heads

TAGS = ["A", "B", "C"]


def all_trees(n, single_root=True):
    """The projective trees of n words: every assignment of heads where what is between has the head above it."""

    def nested(m, h, heads):
        for word in range(min(h, m) + 1, max(h, m)):
            for _ in range(n):
                word = heads[word - 1] if word not in (0, h) else word
            if word != h:
                return False
        return True

    for heads in product(range(n + 1), repeat=n):
        if single_root and heads.count(0) != 1:
            continue
        try:
            checked_heads(heads, n)
        except InputError:
            continue
        if all(nested(m, h, heads) for m, h in enumerate(heads, 1)):
            yield heads


def random_automaton(V, n, seed):
    """Start, matrices [V, n, n] with the law of (modifier, next state), stop: a proper one, well conditioned."""
    rng = np.random.default_rng(seed)
    stop = 0.3 + 0.3 * rng.random(n)
    emission = 0.7 * np.eye(V)[:, :n] + 0.3 * rng.dirichlet(np.ones(V), n).T
    move = 0.5 * np.eye(n)[rng.permutation(n)] + 0.5 * rng.dirichlet(np.ones(n), n).T
    matrices = emission[:, None, :] * move * (1 - stop)
    return Operators(0.2 / n + 0.8 * rng.dirichlet(np.ones(n)), matrices, stop)


def exact_tables(a):
    """Expected numbers of pairs and triples, ends included, by the expected number of visits to each state."""
    V, n = len(a.matrices), len(a.start)
    visits = np.linalg.solve(np.eye(n) - a.matrices.sum(axis=0), a.start)
    after = np.column_stack(
        [*(A @ visits for A in a.matrices), a.start]
    )  # [n, V + 1]: states after each symbol
    ahead = np.vstack([*(A.sum(axis=0) for A in a.matrices), a.stop])  # [V + 1, n]: the next symbol
    return ahead @ after, np.stack([ahead @ A @ after for A in a.matrices]), V


def probability(a, sequence):
    state = a.start
    for m in sequence:
        state = a.matrices[m] @ state
    return a.stop @ state


@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("pseudo_count", [None, 0.0, 1.0])
@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 10_000))
def test_exact_moments_give_exact_probabilities(boundaries, pseudo_count, n, extra, seed):
    truth = random_automaton(n + extra, n, seed)
    pairs, triples, V = exact_tables(truth)
    first, last = pairs[:, V], pairs[V]
    if not boundaries:
        pairs, triples, first, last = pairs[:V, :V], triples[:, :V, :V], first[:V], last[:V]
    found = spectral_operators(pairs, triples, first, last, n, pseudo_count=pseudo_count)
    for length in range(5):
        for sequence in product(range(min(V, 3)), repeat=length):
            assert probability(found, sequence) == pytest.approx(probability(truth, sequence), abs=1e-10)


def test_counts_approach_the_truth():
    truth = random_automaton(4, 2, 3)
    rng = np.random.default_rng(0)
    errors = []
    pairs, triples, V = exact_tables(truth)
    for N in (1e3, 1e5):
        noisy = [table + rng.standard_normal(table.shape) * np.sqrt(table / N) for table in (pairs, triples)]
        found = spectral_operators(*noisy, noisy[0][:, V], noisy[0][V], 2)
        errors.append(
            sum(abs(probability(found, s) - probability(truth, s)) for s in product(range(4), repeat=2))
        )
    assert errors[1] < 0.3 * errors[0]


def model_of(automata, single_root=True, signs="normalise"):
    """A fitted parser with given automata."""
    words = [Sentence(["w"], upos=[tag], heads=[0]) for tag in TAGS]
    model = HeadAutomata(method="deterministic", single_root=single_root).fit(words)
    model.automata_, model.signs = automata, signs
    return model


def random_automata(n, seed):
    K = automaton_of(len(TAGS) + 1, LEFT) + 1
    return padded([random_automaton(len(TAGS), n, seed * 1000 + k) for k in range(K)])


def signed_automata(n, seed):
    """Arrays of any sign: sums over trees do not ask."""
    rng = np.random.default_rng(seed)
    like = random_automata(n, seed)
    return Automata(*(rng.standard_normal(array.shape) for array in like))


def value(signed):
    return signed.sign * np.exp(signed.log_magnitude)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("draw", [random_automata, signed_automata])
@settings(max_examples=12, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 1000))
def test_total_and_marginals_are_those_of_all_trees(single_root, draw, length, n, seed):
    tags = [TAGS[i] for i in np.random.default_rng(seed).integers(0, len(TAGS), length)]
    model = model_of(draw(n, seed), single_root, "normalise")
    total, expected = 0.0, np.zeros((length + 1, length + 1))
    for heads in all_trees(length, single_root):
        p = value(model.log_probability(tags, heads))
        total += p
        for m, h in enumerate(heads, 1):
            expected[h, m] += p
    assert value(model.log_total(tags)) == pytest.approx(total, rel=1e-8, abs=1e-12)
    if abs(total) > 1e-6:
        _, mu = model._inside_outside(model.automata_, model._encode(tags))
        np.testing.assert_allclose(mu, expected / total, atol=1e-7 * max(1.0, 1 / abs(total)))
        np.testing.assert_allclose(mu[:, 1:].sum(axis=0), 1.0, rtol=1e-7, atol=1e-8)


def test_the_basis_makes_no_difference():
    rng = np.random.default_rng(0)
    automata = random_automata(3, 5)
    G = rng.standard_normal((len(automata.start), 3, 3))
    inverse = np.linalg.inv(G)
    turned = Automata(
        np.einsum("kab,kb->ka", G, automata.start),
        G[:, None] @ automata.matrices @ inverse[:, None],
        np.einsum("kb,kba->ka", automata.stop, inverse),
    )
    tags = ["A", "C", "B", "A", "B", "C"]
    one, other = model_of(automata), model_of(turned)
    np.testing.assert_allclose(one.edge_marginals(tags), other.edge_marginals(tags), atol=1e-8)
    assert one.log_total(tags).log_magnitude == pytest.approx(other.log_total(tags).log_magnitude)
    heads = [2, 0, 2, 3, 4, 2]
    assert one.log_probability(tags, heads) == pytest.approx(other.log_probability(tags, heads))


def test_all_sequences_of_an_em_automaton_have_probability_one():
    sequences = ModifierSequences.of(*_random_trees(30, 0), 3)
    automata, trace = em(sequences, 3, smoothing=0.0, iterations=12, random_state=1)
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(trace))  # EM never loses
    laws = automata.matrices[:, :3].sum(axis=(1, 2)) + automata.stop
    np.testing.assert_allclose(laws, 1.0)
    np.testing.assert_allclose(automata.start.sum(axis=1), 1.0)


def _random_trees(n, seed):
    rng = np.random.default_rng(seed)
    trees = {length: list(all_trees(length)) for length in (2, 3, 4)}
    tags, heads = [], []
    for _ in range(n):
        length = int(rng.integers(2, 5))
        tags.append(rng.integers(0, 3, length))
        heads.append(np.array(trees[length][rng.integers(len(trees[length]))]))
    return tags, heads


def treebank(n, seed):
    """Trees in which tags tell heads: A hangs on the next word that is no A, others on the first B, the root."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        tags = [TAGS[i] for i in rng.integers(0, 3, int(rng.integers(1, 8)))] + ["B"]
        root = tags.index("B") + 1
        heads = [next(j for j, t in enumerate(tags[i:], i + 1) if t != "A") if tag == "A" else root
                 for i, tag in enumerate(tags)]  # fmt: skip
        heads[root - 1] = 0
        found.append(Sentence(["w"] * len(tags), upos=tags, heads=heads))
    return found


@pytest.mark.parametrize("method", ["spectral", "em", "deterministic", "bigram"])
def test_methods_learn(method):
    how = {"spectral": {"states": 4, "shrinkage": 10.0}, "em": {"states": 4}}.get(method, {})
    model = HeadAutomata(method, smoothing=0.1, **how).fit(treebank(300, 0))
    flat, chain = (
        model.log_probability(["B", "B", "B"], heads).log_magnitude for heads in ([0, 1, 1], [0, 1, 2])
    )
    if method == "deterministic":  # a bag of modifiers does not tell who has how many of them
        assert flat == pytest.approx(chain)
    else:
        assert flat > chain
        assert model.score(treebank(50, 1)) > 0.9
    again = HeadAutomata(method, smoothing=0.1, **how).fit(treebank(300, 0))
    assert all(np.array_equal(a, b) for a, b in zip(model.automata_, again.automata_))


def test_one_state_is_a_bag_of_modifiers():
    sentences = treebank(40, 2)
    model = HeadAutomata(method="deterministic", smoothing=0.0).fit(sentences)
    V, start = len(model.tags_), automaton_of(model.tags_.index("B"), LEFT)
    drawn = [
        [s.upos[m] for m in range(i) if s.heads[m] == i + 1]
        for s in sentences for i in range(len(s)) if s.upos[i] == "B"
    ]  # fmt: skip
    events = sum(len(one) + 1 for one in drawn)
    expected = [sum(one.count(tag) for one in drawn) / events for tag in model.tags_]
    np.testing.assert_allclose(model.automata_.matrices[start, :V, 0, 0], expected)
    assert model.automata_.stop[start, 0] == pytest.approx(len(drawn) / events)


def test_modifiers_from_the_nearest_outward():
    tags, heads = [np.array([0, 1, 2, 0, 1])], [np.array([3, 3, 0, 3, 3])]
    found = ModifierSequences.of(tags, heads, 3)
    at = {k: found.modifiers[found.offsets[found.owners[k]] :][:2] for k in (4, 5)}
    np.testing.assert_array_equal(at[automaton_of(2, LEFT)], [1, 0])
    np.testing.assert_array_equal(at[automaton_of(2, RIGHT)], [0, 1])
    assert found.total(found.root) == 1
    left = found.tables(automaton_of(2, LEFT)).pairs
    assert left[1, 3] == left[0, 1] == left[3, 0] == 1  # begin → 1 → 0 → end
    assert left.sum() == 3
    np.testing.assert_array_equal(found.frequencies, [2, 2, 1])


def test_trees_that_cross_are_counted_and_learnt_from():
    crossing = Sentence(list("wxyz"), upos=["A", "B", "C", "A"], heads=[3, 4, 0, 3])
    model = HeadAutomata(states=2).fit([crossing, *treebank(5, 0)])
    assert model.facts["nonprojective"] == 1
    assert np.isfinite(model.log_probability(crossing).log_magnitude)


@pytest.mark.parametrize("signs", ["raw", "abs", "clip", "normalise"])
def test_signs(signs):
    automata = signed_automata(2, 7)
    model = model_of(automata, signs=signs)
    for tags in (["A", "B"], ["B", "C", "A"], ["C", "A", "B", "C"]):
        total, mu = model._inside_outside(automata, model._encode(tags))
        found = model.edge_marginals(tags)
        if signs == "abs":
            np.testing.assert_array_equal(found, np.abs(mu))
        elif signs == "raw":
            np.testing.assert_array_equal(found, mu * total.sign)
        elif total.sign > 0:
            np.testing.assert_array_equal(found, mu if signs == "normalise" else np.maximum(mu, 0))
        else:
            assert found.min() >= 0  # those of one state


def test_an_impossible_sentence_falls_back():
    automata = random_automata(2, 1)
    model = model_of(Automata(automata.start, 0 * automata.matrices, automata.stop))
    assert model.log_total(["A", "B"]) == (0.0, -np.inf)
    np.testing.assert_allclose(model.edge_marginals(["A", "B"])[:, 1:].sum(axis=0), 1.0)
    assert model.log_probability(["A", "B"], [2, 0]).sign == 0


@pytest.mark.parametrize("factor", [0.02, 50.0])
def test_numbers_out_of_range(factor):
    """A factor for each modifier drawn changes the total by its power, far beyond what a float holds."""
    tags = [["A", "B", "C"][i % 3] for i in range(300)]
    model = HeadAutomata(states=4).fit(treebank(100, 0))
    total, marginals = model.log_total(tags), model.edge_marginals(tags)
    start, matrices, stop = model.automata_
    model.automata_ = Automata(start, matrices * factor, stop)
    again = model.log_total(tags)
    assert again.sign == total.sign
    assert again.log_magnitude == pytest.approx(total.log_magnitude + 300 * np.log(factor))
    np.testing.assert_allclose(model.edge_marginals(tags), marginals, rtol=1e-6, atol=1e-9)


def test_unknown_tags_and_no_words():
    model = HeadAutomata(states=4).fit(treebank(100, 0))
    heads = model.predict([["A", "never", "B"], []])
    assert [len(one) for one in heads] == [3, 0]
    assert np.isfinite(model.log_total(["never"]).log_magnitude)


def test_files(tmp_path):
    model = HeadAutomata(states=3, smoothing=1.0).fit(treebank(60, 0))
    path = tmp_path / "m.spinney"
    model.save(path)
    again = HeadAutomata.load(path)
    assert again.facts == model.facts
    tags = ["A", "B", "C", "A", "B"]
    np.testing.assert_array_equal(again.edge_marginals(tags), model.edge_marginals(tags))

    file = read_model(path, HeadAutomata.kind)
    good = {name: np.array(array) for name, array in file.tensors.items() if ":" not in name}
    nan, negative = good["stop"] * np.nan, good["unigram"] * -1.0
    settings = file.header["fit"]
    damages = [
        (file.header, good | {"stop": nan}, ["A", "B", "C"], "not finite"),
        (file.header, good | {"unigram": negative}, ["A", "B", "C"], "distribution of tags"),
        (file.header, good | {"start": good["start"][:-1]}, ["A", "B", "C"], "do not match"),
        (file.header, good, ["A", "B", "B"], "not distinct"),
        (file.header | {"fit": settings | {"signs": "odd"}}, good, ["A", "B", "C"], "signs"),
        (file.header | {"fit": None}, good, ["A", "B", "C"], "fit"),
        (
            file.header,
            {k: v for k, v in good.items() if k != "fallback_stop"},
            ["A", "B", "C"],
            "fallback_stop",
        ),
    ]
    for header, tensors, tags, message in damages:
        write_model(path, HeadAutomata.kind, header, tensors, {"tags": tags})
        with pytest.raises(ModelFileError, match=message):
            HeadAutomata.load(path)


def test_what_is_refused():
    with pytest.raises(NotFittedError):
        HeadAutomata().predict([["A"]])
    with pytest.raises(InputError, match="no words"):
        HeadAutomata().fit([])
    with pytest.raises(InputError, match="heads"):
        HeadAutomata().fit([Sentence(["a"], upos=["A"])])
    with pytest.raises(InputError, match="column xpos"):
        HeadAutomata(column="xpos").fit([Sentence(["a"], upos=["A"], heads=[0])])
    with pytest.raises(InputError, match="cycle"):
        HeadAutomata().fit([Sentence(["a", "b"], upos=["A", "B"], heads=[2, 1])])
    for options in (
        {"states": 0}, {"method": "magic"}, {"signs": "odd"}, {"column": "form"}, {"smoothing": -1.0},
        {"method": "em", "max_iter": 1.5}, {"boundaries": 1}, {"single_root": None}, {"cutoff": float("nan")},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=list(options)[-1]):
            HeadAutomata(**options).fit(treebank(3, 0))


@pytest.mark.slow
@pytest.mark.skipif("SPINNEY_DATA" not in os.environ, reason="SPINNEY_DATA is unset")
def test_hidden_states_help_on_a_treebank():
    archive = zipfile.ZipFile(Path(os.environ["SPINNEY_DATA"]) / "nltk" / "dependency_treebank.zip")
    names = sorted(name for name in archive.namelist() if name.endswith(".dp"))
    parts = [
        [s for name in half for s in _read_dp(archive.read(name))] for half in (names[:159], names[159:179])
    ]
    scores = {
        method: HeadAutomata(method, column="xpos").fit(parts[0]).score(parts[1])
        for method in ("deterministic", "bigram", "em", "spectral")
    }
    assert scores["deterministic"] < scores["bigram"] < scores["spectral"]
    assert abs(scores["spectral"] - scores["em"]) < 0.02
    assert scores["spectral"] > 0.77


def _read_dp(text):
    for stanza in text.decode("latin-1").split("\n\n"):
        rows = [line.split("\t") for line in stanza.split("\n") if line.strip()]
        if rows:
            words, tags, heads = zip(*rows)
            yield Sentence(list(words), xpos=list(tags), heads=[int(head) for head in heads])
