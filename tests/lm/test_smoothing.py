"""Every estimator against dictionaries and the formulas of the books; real text against KenLM's figures."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from spinney.corpus import read_text, sentence_arrays
from spinney.errors import InputError, OptionError
from spinney.lm.discounts import DiscountWarning, counts_of_counts, modified_discounts
from spinney.lm.kneser_ney import _discounted
from spinney.lm.smoothing import METHODS, fit_ngram
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie
from spinney.lm.tables import trie_counts

pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")

S, E = "<s>", "</s>"
corpora = st.lists(st.lists(st.sampled_from("aaabbc"), max_size=6), min_size=1, max_size=8)
orders = st.integers(1, 4)
moderate = settings(max_examples=40, deadline=None)


class Brute:
    """Counts in a dictionary, and p(y | x) by recursion."""

    def __init__(self, sentences, order):
        self.m = order - 1
        self.V = [*sorted({w for s in sentences for w in s}), "<unk>", E]
        self.c = Counter()
        for s in sentences:
            seq = [S, *s, E]
            for i in range(1, len(seq)):
                for k in range(min(i, self.m) + 1):
                    self.c[tuple(seq[i - k : i]), seq[i]] += 1
        self.contexts = {x for x, _ in self.c}
        self.depth = max((len(x) for x in self.contexts), default=0)

    def adjusted(self):
        """Continuation counts where there are any."""
        ways = Counter((x[1:], y) for x, y in self.c if x)
        return {
            (x, y): n if len(x) == self.m or (x and x[0] == S) else ways[x, y] for (x, y), n in self.c.items()
        }

    def after(self, c, x):
        return {y: n for (z, y), n in c.items() if z == x}

    def n_r(self, c, depth, r):
        return sum(n == r for (x, _), n in c.items() if len(x) == depth)

    def low(self, p, x, y):
        return p(x[1:], y) if x else 1 / len(self.V)


def one_discount(b, c, depth):
    n1, n2 = b.n_r(c, depth, 1), b.n_r(c, depth, 2)
    return n1 / (n1 + 2 * n2) if n1 and n2 else 0.5


def three_discounts(b, c, depth):
    n = [b.n_r(c, depth, r) for r in range(5)]
    if n[1] and n[2] and n[3]:
        Y = n[1] / (n[1] + 2 * n[2])
        D = [1 - 2 * Y * n[2] / n[1], 2 - 3 * Y * n[3] / n[2], 3 - 4 * Y * n[4] / n[3]]
        if 0 < D[0] <= 1 and 0 < D[1] <= 2 and 0 < D[2] <= 3:
            return D
    return [0.5, 1.0, 1.5]


def interpolated(b, c, discounts):
    """``discounts(depth)``: what is taken from counts of 1, 2, and more."""

    def p(x, y):
        seen = b.after(c, x)
        if not seen:
            return b.low(p, x, y)
        D = discounts(len(x))
        total = sum(seen.values())
        gamma = sum(D[min(n, 3) - 1] for n in seen.values()) / total
        own = seen[y] - D[min(seen[y], 3) - 1] if y in seen else 0
        return own / total + gamma * b.low(p, x, y)

    return p


def backing_off(b, star):
    """``star(x)``: the discounted probabilities of what counts as seen after x, None for an unseen context."""

    def p(x, y):
        own = star(x)
        if own is None:
            return b.low(p, x, y)
        free = sum(b.low(p, x, v) for v in b.V if v not in own)
        if free == 0:
            return own[y] / sum(own.values()) if y in own else 0.0
        return own[y] if y in own else (1 - sum(own.values())) / free * b.low(p, x, y)

    return p


def histories(b):
    """All contexts that were seen, and some that were not."""
    return [*sorted(b.contexts), ("c", "c"), ("<unk>",), ("a", "<unk>", "b"), (S, "c", "c", "b", "a")]


def check(sentences, order, method, p, **options):
    b = Brute(sentences, order)
    text = sentence_arrays(sentences, unknown="<unk>")
    model = fit_ngram(text, method, order=order, **options)
    assert model.table.is_sound()
    names = [*model.vocabulary.words, E]
    assert sorted(names) == sorted(b.V)
    for x in histories(b):
        if any(w not in (*b.V, S) for w in x):
            continue
        start = x[:1] == (S,)
        got = model.distribution(model.history(x[start:], start=start))
        assert got.sum() == pytest.approx(1, abs=1e-10)
        recent = tuple(x[max(0, len(x) - order + 1) :])
        np.testing.assert_allclose(got, [p(recent, y) for y in names], rtol=1e-10, atol=1e-13)
    # Whole sentences go through the other kernel.
    for s in [*sentences[:3], ["c", "zzz", "a", "b"]]:
        known = [w if w in b.V else "<unk>" for w in s]
        seq = [S, *known, E]
        wanted = [p(tuple(seq[max(0, i - order + 1) : i]), seq[i]) for i in range(1, len(seq))]
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(model.logprob(s), np.log(wanted), atol=1e-10)
    return model


@moderate
@given(corpora, orders)
def test_modified_kneser_ney(sentences, order):
    b = Brute(sentences, order)
    c = b.adjusted()
    check(sentences, order, "modified-kneser-ney", interpolated(b, c, lambda d: three_discounts(b, c, d)))


@moderate
@given(corpora, orders, st.sampled_from([None, 0.3, 0.75, (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)]))
def test_kneser_ney(sentences, order, discount):
    b = Brute(sentences, order)
    c = b.adjusted()
    several = discount if isinstance(discount, tuple) else [discount] * order
    p = interpolated(b, c, lambda d: [several[d] or one_discount(b, c, d)] * 3)
    check(sentences, order, "kneser-ney", p, discount=discount)


@moderate
@given(corpora, orders)
def test_kneser_ney_backing_off(sentences, order):
    b = Brute(sentences, order)
    c = b.adjusted()

    def star(x):
        seen = b.after(c, x)
        delta = one_discount(b, c, len(x))
        return {y: (n - delta) / sum(seen.values()) for y, n in seen.items()} or None

    check(sentences, order, "kneser-ney", backing_off(b, star), backoff=True)


@moderate
@given(corpora, orders)
def test_absolute_discounting(sentences, order):
    b = Brute(sentences, order)
    check(sentences, order, "absolute", interpolated(b, b.c, lambda d: [one_discount(b, b.c, d)] * 3))


@moderate
@given(corpora, orders)
def test_witten_bell(sentences, order):
    b = Brute(sentences, order)

    def p(x, y):
        seen = b.after(b.c, x)
        if not seen:
            return b.low(p, x, y)
        return (seen.get(y, 0) + len(seen) * b.low(p, x, y)) / (sum(seen.values()) + len(seen))

    check(sentences, order, "witten-bell", p)


@moderate
@given(corpora, orders, st.sampled_from([0, 1, 3, 5]), st.sampled_from([0, 1]))
def test_katz(sentences, order, k, tau):
    b = Brute(sentences, order)

    def factors(depth):
        n = [b.n_r(b.c, depth, r) for r in range(k + 3)]
        for kk in range(k, 0, -1):
            if not all(n[1 : kk + 2]) or (kk + 1) * n[kk + 1] == n[1]:
                continue
            A = (kk + 1) * n[kk + 1] / n[1]
            d = {r: ((r + 1) * n[r + 1] / (r * n[r]) - A) / (1 - A) for r in range(1, kk + 1)}
            if all(0 < v < 1 for v in d.values()):
                return d
        return {}

    def star(x):
        seen = b.after(b.c, x)
        if not seen:
            return None
        d = factors(len(x))
        total = sum(seen.values())
        kept = {y: n * d.get(n, 1.0) for y, n in seen.items() if n > tau}
        if kept == seen:  # nothing is left for others
            total += 1
        return {y: n / total for y, n in kept.items()}

    check(sentences, order, "katz", backing_off(b, star), k=k, tau=tau)


def mixture(b, weights):
    def p(x, y):
        seen = b.after(b.c, x)
        total = sum(seen.values())
        if not total:
            return b.low(p, x, y)
        gamma = weights[len(x)][total.bit_length() - 1]
        return gamma * seen.get(y, 0) / total + (1 - gamma) * b.low(p, x, y)

    return p


@settings(max_examples=15, deadline=None)
@given(corpora, orders, corpora)
def test_jelinek_mercer(sentences, order, heldout):
    b = Brute(sentences, order)
    text = sentence_arrays(sentences, unknown="<unk>")
    other = sentence_arrays(heldout, vocabulary=text.vocabulary)
    for option in ("deleted", other):
        model = fit_ngram(text, "jelinek-mercer", order=order, heldout=option)
        check(sentences, order, "jelinek-mercer", mixture(b, model.facts["weights"]), heldout=option)


@settings(max_examples=15, deadline=None)
@given(corpora, orders, corpora, st.booleans())
def test_weights_are_the_best_of_each_order(sentences, order, heldout, deleted):
    b = Brute(sentences, order)
    text = sentence_arrays(sentences, unknown="<unk>")
    option = "deleted" if deleted else sentence_arrays(heldout, vocabulary=text.vocabulary)
    weights = fit_ngram(text, "jelinek-mercer", order=order, heldout=option).facts["weights"]
    events = []
    for s in sentences if deleted else heldout:
        seq = [S, *[w if w in b.V else "<unk>" for w in s], E]
        events += [(tuple(seq[max(0, i - b.m) : i]), seq[i]) for i in range(1, len(seq))]
    less = int(deleted)  # an event is not among the counts that predict it
    p = [1 / len(b.V)] * len(events)
    for depth in range(len(weights)):
        buckets = {}
        for e, (x, y) in enumerate(events):
            z = x[len(x) - depth :]
            total = sum(b.after(b.c, z).values()) - less if len(x) >= depth else 0
            if total > 0:
                ml = max(0, b.c[z, y] - less) / total
                buckets.setdefault(total.bit_length() - 1, []).append((e, ml, p[e]))
        for bucket, rows in buckets.items():
            _, high, low = np.array(rows).T

            def loss(g, high=high, low=low):
                return -np.log(g * high + (1 - g) * low).sum()

            best = minimize_scalar(loss, bounds=(1e-4, 1 - 1e-4), method="bounded", options={"xatol": 1e-9})
            gamma = weights[depth][bucket]
            assert loss(gamma) <= best.fun + 1e-6
            for e, h, lo in rows:
                p[e] = gamma * h + (1 - gamma) * lo


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize(
    "sentences",
    [[], [[]], [["a"]], [["a"] * 5], [["a", "b", "c"]], [["a", "b"]] * 4, [["b"], [], ["a", "b", "a"]]],
    ids=["no text", "empty sentence", "one word", "one type", "all once", "all four times", "mixed"],
)
@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_tiny_texts(method, order, sentences, unknown):
    text = sentence_arrays(sentences, unknown=unknown)
    model = fit_ngram(text, method, order=order)
    words = list(text.vocabulary.words)[:1]
    for context in ([], words, words * 2, words * 6):
        for start in (True, False):
            p = model.distribution(model.history(context, start=start))
            assert p.shape == (len(text.vocabulary) + 1,)
            assert p.min() >= 0
            assert p.sum() == pytest.approx(1, abs=1e-10)
    values = model.logprob(["a", "never"])
    if unknown is None:
        assert values[1] == -np.inf
        assert np.isfinite(values[2])
        assert model.perplexity([["a", "never"]]).skipped >= 1
    else:
        assert np.isfinite(values).all()


@pytest.mark.parametrize("method", METHODS)
def test_events_and_distributions_agree(method):
    rng = np.random.default_rng(1)
    sentences = [
        rng.choice(list("abcdefg"), rng.integers(1, 9), p=rng.dirichlet(np.ones(7))).tolist()
        for _ in range(60)
    ]
    model = fit_ngram(sentence_arrays(sentences, min_count=2, unknown="<unk>"), method, order=3)
    for s in [*sentences[:10], ["x", "a", "y"]]:
        stream = model.stream([s])
        wanted = [model.distribution(stream.ids[:i])[stream.ids[i]] for i in range(1, len(stream.ids))]
        np.testing.assert_allclose(np.exp(model.event_logprobs(stream)), wanted, rtol=1e-12)


def test_closed_vocabulary_gives_unknown_words_nothing():
    model = fit_ngram(sentence_arrays([["a", "b"], ["b"]]), order=2)
    values = model.logprob(["a", "x", "b"])
    assert values[1] == -np.inf
    assert np.isfinite(values[[0, 2, 3]]).all()
    # After an unknown word nothing is known.
    assert values[2] == model.event_logprobs(model.stream([["x", "b"]]))[1]


def test_options_are_checked():
    text = sentence_arrays([["a", "b"]])
    with pytest.raises(OptionError, match="method must be"):
        fit_ngram(text, "nonsense")
    with pytest.raises(OptionError, match="order must be a whole number of at least 1"):
        fit_ngram(text, order=0)
    with pytest.raises(OptionError, match="discount must be"):
        fit_ngram(text, "kneser-ney", discount=1.5)
    with pytest.raises(OptionError, match="discount has 2 values for 3 orders"):
        fit_ngram(text, "kneser-ney", order=3, discount=(0.5, 0.6))
    with pytest.raises(OptionError, match="k and tau"):
        fit_ngram(text, "katz", tau=-1)
    with pytest.raises(OptionError, match="d must be"):
        fit_ngram(text, "additive", d=0)
    with pytest.raises(OptionError, match="held-out text"):
        fit_ngram(text, "jelinek-mercer", heldout=sentence_arrays([["c"]]))
    with pytest.raises(OptionError, match="'deleted'"):
        fit_ngram(text, "jelinek-mercer", heldout="else")
    with pytest.raises(InputError, match="<s> is a word in sentence 2"):
        fit_ngram(sentence_arrays([["a"], ["<s>"]]))


def test_collapsed_tries_are_refused():
    text = sentence_arrays([["a", "b", "c", "d"], ["a", "b"]])
    trie = suffix_trie(stream_of(text), 4, None, collapse=True)
    with pytest.raises(OptionError, match="not collapsed"):
        METHODS["witten-bell"](trie, text.vocabulary)


def test_warnings_name_the_order():
    with pytest.warns(DiscountWarning, match="order 2: .* are used"):
        fit_ngram(sentence_arrays([["a", "b"]]), order=2)


# -- real text: figures of KenLM's lmplz on the Penn Treebank ---------------------------------------------


@pytest.fixture(scope="module")
def ptb():
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA does not name the folder of corpora")
    path = Path(folder) / "ptb_lm"
    train = read_text(path / "ptb.train.txt.xz", unknown="<oov>")
    return train, *(
        read_text(path / f"ptb.{part}.txt.xz", vocabulary=train.vocabulary) for part in ("valid", "test")
    )


def _fitted(train, order):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiscountWarning)
        return fit_ngram(train, order=order)


def _as_kenlm(train, order):
    """KenLM takes the last word of its vocabulary, in the order in which words are met, with its count instead of its
    continuation count into the counts of counts: it has 656 unigrams with count 4, where 657 are preceded in four ways.
    """
    counts = trie_counts(suffix_trie(stream_of(train), len(train.vocabulary), order - 1))
    adjusted = counts.continuations()
    n = [counts_of_counts(adjusted[counts.table.grams_of(k)], 4) for k in range(1, order + 1)]
    assert n[0].tolist() == [0, 176, 255, 388, 657]
    n[0][4] = 656
    discounts = np.array([modified_discounts(n_k, k) for k, n_k in enumerate(n, 1)])
    return discounts, _discounted(counts, adjusted, discounts, train.vocabulary)


def _perplexity(model, text, scored):
    measured = model.perplexity(text)
    assert measured.scored == scored
    return round(measured.perplexity, 4)


def test_penn_treebank(ptb):
    train, valid, test = ptb
    model = _fitted(train, 3)
    assert _perplexity(model, test, 82430) == 148.2815
    sizes = [model.table.grams_of(k) for k in (1, 2, 3)]
    assert [s.stop - s.start for s in sizes] == [10002, 264990, 586558]
    discounts, peer = _as_kenlm(train, 3)
    wanted = [[0.25656, 0.82888, 1.26492], [0.727802, 1.09876, 1.4713], [0.84696, 1.22512, 1.38578]]
    np.testing.assert_allclose(discounts, wanted, rtol=5e-6)
    assert _perplexity(peer, valid, 73760) == 157.7653
    assert _perplexity(peer, test, 82430) == 148.2815


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "of_test", "of_valid"),
    [(2, 185.7049, 199.0181), (4, 142.7156, 149.8956), (5, 141.1862, 148.0074), (6, 140.8369, 147.3567)],
)
def test_penn_treebank_other_orders(ptb, order, of_test, of_valid):
    train, valid, test = ptb
    assert _perplexity(_fitted(train, order), test, 82430) == of_test
    assert _perplexity(_as_kenlm(train, order)[1], valid, 73760) == of_valid
