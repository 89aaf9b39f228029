"""Refinement HMMs: exact with exact moments, E-steps by enumeration, relative frequencies with one state."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import spinney
from spinney.cli.main import run
from spinney.errors import InputError, ModelFileError, SettingError
from spinney.tagging import fit
from spinney.tagging.refinement import RefinementTagger, em, spectral
from spinney.tagging.refinement.em import Laws, expected, fit_em
from spinney.tagging.refinement.places import numbered
from spinney.tagging.refinement.spectral import PlaceFeatures, context_features, fit_spectral
from spinney.views import as_json

TAGS, WORDS, M = ("A", "B"), ("x", "y", "z"), 2


def tiny_model(seed):
    """A model of two tags with two refinements each; ``pairs`` are (tag, refinement)."""
    rng = np.random.default_rng(seed)
    n = len(TAGS) * M
    start = rng.dirichlet(np.ones(n))
    emit = 0.7 * np.eye(3)[rng.integers(0, 3, n)] + 0.3 * rng.dirichlet(np.ones(3), n)
    # To the next pair, or to the end.
    move = 0.5 * np.eye(n + 1)[rng.permutation(n)] + 0.5 * rng.dirichlet(np.ones(n + 1), n)
    return start, emit, move


def all_sentences(longest):
    for k in range(1, longest + 1):
        yield from product(product(WORDS, repeat=k), product(TAGS, repeat=k))


def bounded(seed, longest):
    """The law of a model whose sentences have at most ``longest`` words, so that all moments are finite sums.

    A refinement is the place in the sentence and a hidden coin, which words, tags and the next coin depend on.
    """
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(4)).reshape(2, 2)  # tag, coin
    emit = rng.dirichlet(np.ones(3), (longest, 2, 2))  # place, tag, coin: word
    move = rng.dirichlet(np.ones(5), (longest, 2, 2))  # place, tag, coin: stop, or tag and coin
    move[-1] = np.eye(5)[0]

    def p(words, tags):
        numbers = [TAGS.index(tag) for tag in tags]
        f = start[numbers[0]]
        for i, (x, a) in enumerate(zip(words, numbers)):
            f = f * emit[i, a, :, WORDS.index(x)]
            if i + 1 < len(words):
                f = f @ move[i, a, :, 1:].reshape(2, 2, 2)[:, numbers[i + 1]]
        return float(f @ move[len(words) - 1, numbers[-1], :, 0])

    return p


def whole_context(words, tags, i):
    """The whole past and the whole future: as many features as there are, so every rank is found."""
    past, future = (tuple(words[:i]), tuple(tags[:i])), (tuple(words[i + 1 :]), tuple(tags[i + 1 :]))
    return PlaceFeatures([("x", words[i], future)], [past], [future], [("x", words[i], past)])


@pytest.fixture(scope="module", params=[0, 1])
def exact(request):
    """A bounded model, and the operators of all its sentences with their probabilities."""
    p = bounded(request.param, 3)
    sentences = list(all_sentences(3))
    weights = np.array([p(*sentence) for sentence in sentences])
    assert weights.sum() == pytest.approx(1.0)
    places, symbols, labels = numbered(sentences, 0, weights)
    assert labels == list(TAGS)
    how = {"features": whole_context, "smoothing": 0.0, "kappa": 0.0}
    found = fit_spectral(sentences, places, len(symbols), 6, cutoff=1e-9, **how)
    few = fit_spectral(sentences, places, len(symbols), 2, **how)
    return found, few, symbols, sentences, weights


def probability(operators, symbols, words, tags):
    sign, log = operators.log_probability(symbols.encode(words), [TAGS.index(tag) for tag in tags])
    return sign * np.exp(log)


def test_exact_moments_give_exact_probabilities(exact):
    found, few, symbols, sentences, weights = exact
    np.testing.assert_allclose([probability(found, symbols, *one) for one in sentences], weights, atol=1e-10)
    assert np.abs([probability(few, symbols, *one) for one in sentences] - weights).sum() > 1e-3


@pytest.mark.parametrize("signs", ["abs", "clip", "normalise"])
def test_forward_and_backward_give_the_marginals_of_enumeration(exact, signs):
    found, _, symbols, sentences, weights = exact
    for words in product(WORDS, repeat=3):
        expected = np.zeros((3, 2))
        for (other, tags), weight in zip(sentences, weights):
            if other == words:
                for i, tag in enumerate(tags):
                    expected[i, TAGS.index(tag)] += weight
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.marginals(symbols.encode(words), signs), expected, atol=1e-8)


def drawn_sentences(size, seed=0):
    rng, (start, emit, move) = np.random.default_rng(seed), tiny_model(seed)
    sentences = []
    for _ in range(size):
        pair, words, tags = rng.choice(4, p=start), [], []
        while pair < 4:
            words.append(WORDS[rng.choice(3, p=emit[pair])])
            tags.append(TAGS[pair // M])
            pair = rng.choice(5, p=move[pair])
        sentences.append((words, tags))
    return sentences


@pytest.mark.parametrize("method", ["refinement", "refinement-em"])
def test_one_state_is_the_supervised_hmm(method):
    sentences = drawn_sentences(60)
    tagger = RefinementTagger.train(sentences, method=method, states=1, rare=0, smoothing=0.0)
    starts = Counter(tags[0] for _, tags in sentences)
    tags = Counter(tag for _, tags in sentences for tag in tags)
    emitted = Counter(pair for sentence in sentences for pair in zip(*sentence))
    moved = Counter(pair for _, tags in sentences for pair in zip(tags, [*tags[1:], "stop"]))
    for words, labels in sentences[:20]:
        wanted = starts[labels[0]] / len(sentences)
        for x, a, b in zip(words, labels, [*labels[1:], "stop"]):
            wanted *= emitted[x, a] / tags[a] * moved[a, b] / tags[a]
        assert tagger.log_probability(words, labels) == (1.0, pytest.approx(np.log(wanted)))


def random_laws(pairs, A, m, rng):
    """Laws of A labels with m states each: moves and the end have the mass 1 together."""
    rows = rng.dirichlet(np.ones(A * m + 1), (A, m))
    emit = rng.uniform(0.1, 1.0, (len(pairs.label), m))
    start = rng.dirichlet(np.ones(A * m)).reshape(A, m)
    return Laws(start, rows[..., :-1].reshape(A, m, A, m).transpose(0, 2, 1, 3), rows[..., -1], emit)


def test_an_e_step_is_that_of_enumeration():
    sentences = [s for s in drawn_sentences(40) if len(s[0]) <= 5][:12]
    places, symbols, labels = numbered(sentences, 0)
    pairs, m = em._pairs(places), 2
    laws = random_laws(pairs, len(labels), m, np.random.default_rng(1))
    found = expected(places, pairs, laws)
    place = {(x, a): k for k, (x, a) in enumerate(zip(pairs.symbol.tolist(), pairs.label.tolist()))}
    start, move, stop, emit = (np.zeros_like(one) for one in laws)
    total = 0.0
    for words, tags in sentences:
        xs, ys = symbols.encode(words), [labels.index(tag) for tag in tags]
        ways = []
        for hs in product(range(m), repeat=len(xs)):
            p = laws.start[ys[0], hs[0]] * laws.stop[ys[-1], hs[-1]]
            p *= np.prod([laws.emit[place[x, y], h] for x, y, h in zip(xs, ys, hs)])
            p *= np.prod([laws.move[a, b, g, h] for a, b, g, h in zip(ys, ys[1:], hs, hs[1:])])
            ways.append((hs, p))
        z = sum(p for _, p in ways)
        total += np.log(z)
        for hs, p in ways:
            start[ys[0], hs[0]] += p / z
            stop[ys[-1], hs[-1]] += p / z
            for x, y, h in zip(xs, ys, hs):
                emit[place[x, y], h] += p / z
            for a, b, g, h in zip(ys, ys[1:], hs, hs[1:]):
                move[a, b, g, h] += p / z
    for name, wanted in (("start", start), ("move", move), ("stop", stop), ("emit", emit)):
        np.testing.assert_allclose(getattr(found, name), wanted, atol=1e-10)
    assert found.log_likelihood == pytest.approx(total)


def test_em_never_makes_the_sentences_less_likely():
    places, symbols, _ = numbered(drawn_sentences(300), 0)
    trace = []
    fit_em(places, len(symbols), 2, iterations=15, smoothing=0.0, watch=trace.append)
    assert np.all(np.diff(trace) > -1e-8)
    assert trace[-1] > trace[0] + 1


@pytest.mark.parametrize("method", ["refinement", "refinement-em"])
def test_states_find_what_labels_do_not_say(method):
    sentences, score = drawn_sentences(4000, 5), {}
    for m in (1, 2):
        tagger = RefinementTagger.train(sentences[:3000], method=method, states=m, rare=0, smoothing=1.0)
        score[m] = np.mean([tagger.log_probability(*sentence)[1] for sentence in sentences[3000:]])
    assert score[2] > score[1] + 0.01


def test_scaling_of_features_and_signs_of_vectors_change_nothing(monkeypatch):
    from spinney.linalg import SVD

    sentences = drawn_sentences(200)
    options = {"method": "refinement", "states": 2, "rare": 0, "smoothing": 0.0, "cutoff": 0.0}
    before = RefinementTagger.train(sentences, **options)

    def doubled(rows, weight, kappa, plain=spectral._indicators):
        return 2.5 * plain(rows, weight, kappa)

    plain_svd = spectral.truncated_svd

    def flipped(A, k, **kwargs):
        U, s, V = plain_svd(A, k, **kwargs)
        return SVD(-U, s, -V)

    monkeypatch.setattr(spectral, "_indicators", doubled)
    monkeypatch.setattr(spectral, "truncated_svd", flipped)
    after = RefinementTagger.train(sentences, **options)
    for words, tags in sentences[:20]:
        sign, log = before.log_probability(words, tags)
        assert after.log_probability(words, tags) == (sign, pytest.approx(log, abs=1e-8))


@pytest.mark.parametrize(
    "how", [{"signs": "abs"}, {"signs": "clip"}, {"signs": "normalise"}, {"max_iter": 3}]
)
@pytest.mark.parametrize("m", [1, 2, 40])
def test_any_sentence_gets_labels(how, m):
    method = "refinement-em" if "max_iter" in how else "refinement"
    sentences = [*drawn_sentences(30), ([], []), (["q"], ["C"])]
    tagger = RefinementTagger.train(sentences, method=method, states=m, rare=1, **how)
    assert tagger.labels_ == ["A", "B", "C"]
    new = [[], ["x"], ["never"], ["q", "x", "never", "y"], ["x"] * 300]
    assert [len(labels) for labels in tagger.predict(new)] == [0, 1, 1, 4, 300]
    for words in new:
        mu = tagger.marginals(words)
        assert np.isfinite(mu).all()
        np.testing.assert_allclose(mu.sum(axis=1), 1.0, atol=1e-9)
    assert tagger.log_probability(["x"], ["D"]) == (0.0, -np.inf)


def test_words_that_were_never_unknown_in_training():
    tagger = RefinementTagger.train([(["x", "y"], ["A", "B"])], states=1, rare=0, smoothing=0.0)
    assert tagger.predict([["x", "new"]]) == [["A", "B"]]


TEXT = [
    ("the dog was barking .", "D N V V ."), ("a cat was sleeping .", "D N V V ."), ("dogs see the cat .", "N V D N ."),
    ("the cat was running .", "D N V V ."), ("a dog was eating .", "D N V V ."), ("cats see a dog .", "N V D N ."),
]  # fmt: skip
PAIRS = [(words.split(), labels.split()) for words, labels in TEXT]


@pytest.mark.parametrize("method", ["refinement", "refinement-em"])
def test_unknown_words_are_known_by_their_spelling(method):
    tagger = RefinementTagger.train(PAIRS, method=method, states=2)
    assert "UNK-LC-ing" in tagger.symbols.classes
    assert tagger.predict([["the", "dog", "was", "swimming", "."]]) == [["D", "N", "V", "V", "."]]
    assert tagger.symbols.encode(["swimming", "Ünknown"])[1] == 0


@pytest.fixture
def files(tmp_path):
    lines = ["\n".join(f"{x}\t{a}" for x, a in zip(*pair)) for pair in PAIRS]
    (tmp_path / "train.col").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "new.txt").write_text("the cat was swimming .\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("method", ["refinement", "refinement-em"])
def test_commands(files, method, capsys):
    train, model, new = str(files / "train.col"), str(files / "m.spinney"), str(files / "new.txt")
    assert run(["tag", "fit", train, "--method", method, "--states", "2", "--model", model]) == 0
    assert "hidden states per label" in capsys.readouterr().out
    assert run(["tag", "apply", model, new, "--format", "lines", "--proba", "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[3].startswith("swimming\tV\t")
    assert run(["tag", "eval", model, train]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert run(["tag", "inspect", model]) == 0
    assert (
        "Hidden states" if method == "refinement-em" else "ends of the directions"
    ) in capsys.readouterr().out
    assert run(["tag", "explain", model, new, "--format", "lines", "--json"]) == 0
    assert "UNK-LC-ing" in capsys.readouterr().out
    assert run(["tag", "apply", model, new, "--format", "lines", "--nbest", "2"]) == 2
    assert "--nbest is not for a refinement model" in capsys.readouterr().err
    again = fit(train, method=method, states=2)
    loaded = spinney.load(model)
    for name, tensor in again.contents().tensors.items():
        np.testing.assert_array_equal(tensor, loaded.contents().tensors[name])
    sentences, labels = zip(*PAIRS)
    in_memory = fit((sentences, labels), method=method, states=2)
    assert (
        as_json(in_memory.evaluate((sentences, labels)))["accuracy"]
        == as_json(loaded.evaluate(train))["accuracy"]
    )


def test_states_after_em_are_told_in_words():
    """Nouns that follow an article and nouns that begin a sentence differ in their words."""
    tagger = RefinementTagger.train(PAIRS * 20, method="refinement-em", states=2, smoothing=0.1)
    found = as_json(tagger.views())["states"]
    nouns = [set(one["words"]) for one in found if one["label"] == "N"]
    assert sorted(map(sorted, nouns)) == [["cat", "dog"], ["cats", "dogs"]]
    assert sum(one["share"] for one in found if one["label"] == "N") == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("S", lambda v: np.full_like(v, np.inf), "'S'"),
        ("S", lambda v: v[1:], "fit together"),
        ("D", lambda v: v[:, :1], "fit together"),
        ("D_label", lambda v: v + 9, "D_label"),
        ("D_ptr", lambda v: v[::-1].copy(), "D_ptr"),
    ],
)
def test_damaged_files_are_refused(name, change, said, tmp_path):
    tagger = RefinementTagger.train(drawn_sentences(20), states=2)
    tagger.operators = tagger.operators._replace(**{name: change(getattr(tagger.operators, name))})
    tagger.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=said):
        spinney.load(tmp_path / "m")


def test_what_is_refused():
    for options in ({"states": 0}, {"signs": "up"}, {"smoothing": -1}, {"rare": -1}, {"max_iter": 3}):
        with pytest.raises(SettingError, match=next(iter(options))):
            RefinementTagger.train(PAIRS, **options)
    with pytest.raises(InputError, match="no words"):
        RefinementTagger.train([])
    with pytest.raises(InputError, match="sentence 1 has 1 words but 2 labels"):
        RefinementTagger.train([(["x"], ["A", "B"])])
    with pytest.raises(InputError, match="as many labels"):
        RefinementTagger.train(PAIRS).log_probability(["x"], [])


def test_features_of_the_ends():
    found = context_features(["a"], ["A"], 0)
    assert ("-a", "") in list(found.past_before)
    assert ("+a", "") in list(found.future_after)
