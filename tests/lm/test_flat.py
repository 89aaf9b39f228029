"""Models of one order, against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import sentence_arrays
from spinney.lm.discounts import simple_good_turing
from spinney.lm.smoothing import fit_ngram

pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")

S, E = "<s>", "</s>"
corpora = st.lists(st.lists(st.sampled_from("aaabbc"), max_size=6), min_size=1, max_size=8)


def counted(sentences, m):
    c = Counter()
    for s in sentences:
        seq = [S, *s, E]
        for i in range(1, len(seq)):
            for k in range(min(i, m) + 1):
                c[tuple(seq[i - k : i]), seq[i]] += 1
    return c


def check(sentences, order, method, p, **options):
    model = fit_ngram(sentence_arrays(sentences, unknown="<unk>"), method, order=order, **options)
    names = [*model.vocabulary.words, E]
    histories = [[], ["a"], ["b", "a"], ["a", "a", "a"], ["<unk>", "a"], ["b", "b", "b", "b", "a"]]
    for words in histories:
        if any(w not in names for w in words):
            continue
        for start in (True, False):
            x = ([S] * start + words)[max(0, len(words) + start - order + 1) :]
            got = model.distribution(model.history(words, start=start))
            assert got.sum() == pytest.approx(1, abs=1e-10)
            np.testing.assert_allclose(got, [p(tuple(x), y, names) for y in names], rtol=1e-10)
    for s in [*sentences, ["a", "zzz", "b", "a"]]:
        seq = [S, *[w if w in names else "<unk>" for w in s], E]
        wanted = [p(tuple(seq[max(0, i - order + 1) : i]), seq[i], names) for i in range(1, len(seq))]
        np.testing.assert_allclose(np.exp(model.logprob(s)), wanted, rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(corpora, st.integers(1, 4), st.sampled_from([1.0, 0.5, 0.01]))
def test_additive(sentences, order, d):
    c = counted(sentences, order - 1)

    def p(x, y, names):
        return (c[x, y] + d) / (sum(c[x, v] for v in names) + d * len(names))

    check(sentences, order, "additive", p, d=d)


@settings(max_examples=40, deadline=None)
@given(corpora, st.integers(1, 4))
def test_good_turing(sentences, order):
    c = counted(sentences, order - 1)

    def p(x, y, names):
        pairs = {z: n for z, n in c.items() if len(z[0]) == len(x)}
        contexts = {z for z, _ in pairs}
        if x not in contexts:
            return 1 / len(names)
        estimate = simple_good_turing(np.array(list(pairs.values())), 1)
        star = dict(zip(estimate.seen.tolist(), estimate.smoothed.tolist()))
        star[0] = estimate.unseen / max(1, len(contexts) * len(names) - len(pairs))
        shares = {v: star[pairs.get((x, v), 0)] for v in names}
        return shares[y] / sum(shares.values())

    check(sentences, order, "good-turing", p)


def test_good_turing_keeps_the_unigram_mass():
    # Σ r* n_r + n_1 = N where r* is Turing's own: the unseen get the share of those seen once.
    sentences = [[f"w{i}"] for i in range(60)] + [[f"v{i}"] for i in range(10)] * 2
    model = fit_ngram(sentence_arrays(sentences, unknown="<unk>"), "good-turing", order=1)
    p = dict(model.next_words([], 100))
    assert p["<unk>"] > p["w0"]  # one unseen word has all of what 60 were seen once for
    assert p["v0"] > p["w0"]
