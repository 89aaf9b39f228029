"""Refinement HMMs: exact with exact moments, relative frequencies with one refinement, sound on any text."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from methods.refinement import PlaceFeatures, RefinementHMM, context_features

from spinney.corpus import Labels, TokenArrays, Vocabulary, sentence_arrays
from spinney.errors import InputError, ModelFileError, NotFittedError, OptionError

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
    """A bounded model, and the tagger learnt from all its sentences with their probabilities."""
    p = bounded(request.param, 3)
    sentences = list(all_sentences(3))
    weights = np.array([p(*sentence) for sentence in sentences])
    assert weights.sum() == pytest.approx(1.0)
    tagger = RefinementHMM(
        6, features=whole_context, smoothing=0.0, rare=0, pseudo_count=0.0, cutoff=1e-9, signs="signed"
    )
    return tagger.fit(sentences, sample_weight=weights), sentences, weights


def test_exact_moments_give_exact_probabilities(exact):
    tagger, sentences, weights = exact
    found = [tagger.log_probability(*sentence) for sentence in sentences]
    np.testing.assert_allclose([sign * np.exp(log) for sign, log in found], weights, atol=1e-10)


@pytest.mark.parametrize("signs", ["abs", "clip", "signed"])
def test_forward_and_backward_give_the_marginals_of_enumeration(exact, signs):
    tagger, sentences, weights = exact
    tagger.signs = signs
    for words in product(WORDS, repeat=3):
        expected = np.zeros((3, 2))
        for (other, tags), weight in zip(sentences, weights):
            if other == words:
                for i, tag in enumerate(tags):
                    expected[i, TAGS.index(tag)] += weight
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(tagger.marginals(words), expected, atol=1e-8)
        assert tagger.predict([words]) == [[TAGS[a] for a in expected.argmax(axis=1)]]


def test_too_few_refinements_are_not_exact(exact):
    _, sentences, weights = exact
    tagger = RefinementHMM(2, features=whole_context, smoothing=0.0, rare=0, pseudo_count=0.0)
    tagger.fit(sentences, sample_weight=weights)
    found = [np.exp(tagger.log_probability(*sentence)[1]) for sentence in sentences]
    assert np.abs(found - weights).sum() > 1e-3


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


def test_one_refinement_is_the_supervised_hmm():
    sentences = drawn_sentences(60)
    tagger = RefinementHMM(1, rare=0).fit(sentences)
    starts = Counter(tags[0] for _, tags in sentences)
    tags = Counter(tag for _, tags in sentences for tag in tags)
    emitted = Counter(pair for sentence in sentences for pair in zip(*sentence))
    moved = Counter(pair for _, tags in sentences for pair in zip(tags, [*tags[1:], "stop"]))
    for words, labels in sentences[:20]:
        expected = starts[labels[0]] / len(sentences)
        for x, a, b in zip(words, labels, [*labels[1:], "stop"]):
            expected *= emitted[x, a] / tags[a] * moved[a, b] / tags[a]
        assert tagger.log_probability(words, labels) == (1.0, pytest.approx(np.log(expected)))


def test_refinements_find_what_tags_do_not_say():
    sentences = drawn_sentences(4000, 5)
    score = {}
    for m in (1, 2):
        tagger = RefinementHMM(m, rare=0, smoothing=1.0).fit(sentences[:3000])
        score[m] = np.mean([tagger.log_probability(*sentence)[1] for sentence in sentences[3000:]])
    assert score[2] > score[1] + 0.01


def test_scaling_of_features_and_signs_of_vectors_change_nothing(monkeypatch):
    from methods import refinement

    from spinney.linalg import SVD

    sentences = drawn_sentences(200)
    options = {"rare": 0, "smoothing": 0.0, "cutoff": 0.0}
    before = RefinementHMM(2, **options).fit(sentences)

    def doubled(rows, weight, pseudo_count, plain=refinement._indicators):
        return 2.5 * plain(rows, weight, pseudo_count)

    plain_svd = refinement.truncated_svd

    def flipped(A, k, **kwargs):
        U, s, V = plain_svd(A, k, **kwargs)
        return SVD(-U, s, -V)

    monkeypatch.setattr(refinement, "_indicators", doubled)
    monkeypatch.setattr(refinement, "truncated_svd", flipped)
    after = RefinementHMM(2, **options).fit(sentences)
    for words, tags in sentences[:20]:
        sign, log = before.log_probability(words, tags)
        assert after.log_probability(words, tags) == (sign, pytest.approx(log, abs=1e-8))


@pytest.mark.parametrize("signs", ["abs", "clip", "signed"])
@pytest.mark.parametrize("m", [1, 2, 40])
def test_any_sentence_gets_tags(signs, m):
    sentences = [*drawn_sentences(30), ([], []), (["q"], ["C"])]
    tagger = RefinementHMM(m, signs=signs, rare=1).fit(sentences)
    assert tagger.tags_ == ["A", "B", "C"]
    new = [[], ["x"], ["never"], ["q", "x", "never", "y"], ["x"] * 300]
    found = tagger.predict(new)
    assert [len(tags) for tags in found] == [0, 1, 1, 4, 300]
    for words in new:
        mu = tagger.marginals(words)
        assert np.isfinite(mu).all()
        np.testing.assert_allclose(mu.sum(axis=1), 1.0, atol=1e-9)
    assert tagger.log_probability(["x"], ["D"]) == (0.0, -np.inf)


def test_words_that_were_never_unknown_in_training():
    tagger = RefinementHMM(1, rare=0).fit([(["x", "y"], ["A", "B"])])
    assert tagger.predict([["x", "new"]]) == [["A", "B"]]


def test_arrays_with_a_label_column():
    sentences = drawn_sentences(40)
    arrays = sentence_arrays([words for words, _ in sentences])
    ids = np.array([TAGS.index(tag) for _, tags in sentences for tag in tags], np.int32)
    labels = {"upos": Labels(ids, Vocabulary(TAGS, [1, 1]))}
    arrays = TokenArrays(arrays.ids, arrays.offsets, arrays.vocabulary, None, labels)
    tagger = RefinementHMM(2).fit(arrays, column="upos")
    other = RefinementHMM(2).fit(sentences)
    np.testing.assert_array_equal(tagger.S_, other.S_)
    assert tagger.predict(arrays) == other.predict([words for words, _ in sentences])
    assert tagger.score(arrays, column="upos") == other.score(sentences) > 0.6
    with pytest.raises(OptionError, match="label column"):
        tagger.fit(arrays)


def test_files(tmp_path):
    sentences = drawn_sentences(40)
    tagger = RefinementHMM(2).fit(sentences)
    tagger.save(tmp_path / "m")
    again = RefinementHMM.load(tmp_path / "m")
    assert again.score(sentences) == tagger.score(sentences)
    assert again.log_probability(*sentences[0]) == tagger.log_probability(*sentences[0])


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("S_", lambda v: v * np.nan, "finite"),
        ("S_", lambda v: v[1:], "fit together"),
        ("D_tag_", lambda v: v + 9, "none of its tags"),
        ("D_ptr_", lambda v: v[::-1].copy(), "fit together"),
        ("signs", lambda v: "up", "signs"),
        ("tags_", lambda v: v[:1], "fit together"),
    ],
)
def test_damaged_files_are_refused(name, change, said, tmp_path):
    tagger = RefinementHMM(2).fit(drawn_sentences(20))
    setattr(tagger, name, change(getattr(tagger, name)))
    tagger.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=said):
        RefinementHMM.load(tmp_path / "m")


def test_what_is_refused():
    for options in ({"n_refinements": 0}, {"signs": "up"}, {"smoothing": -1}, {"rare": float("nan")}):
        with pytest.raises(OptionError, match=next(iter(options))):
            RefinementHMM(**options).fit(drawn_sentences(2))
    with pytest.raises(InputError, match="no words"):
        RefinementHMM(2).fit([])
    with pytest.raises(InputError, match="sentence 1 has 1 words but 2 tags"):
        RefinementHMM(2).fit([(["x"], ["A", "B"])])
    with pytest.raises(OptionError, match="sample_weight"):
        RefinementHMM(2).fit(drawn_sentences(2), sample_weight=[1.0])
    with pytest.raises(NotFittedError):
        RefinementHMM(2).predict([["x"]])
    with pytest.raises(InputError, match="as many tags"):
        RefinementHMM(1).fit(drawn_sentences(5)).log_probability(["x"], [])


def test_features_of_the_ends():
    found = context_features(["a"], ["A"], 0)
    assert ("-a", "") in list(found.past_before)
    assert ("+a", "") in list(found.future_after)
