"""Latent dependency trees: exact with exact moments, by sums over all assignments of states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spinney
from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, ModelFileError, NotFittedError, OptionError, SettingError
from spinney.parsing import HeadAutomata, fit
from spinney.parsing.close_trees import close_trees
from spinney.parsing.latent_trees import LatentTrees, Observations, TreeOperators, tree_operators

TREES = [[0], [2, 0], [0, 1, 1], [2, 3, 0], [3, 3, 0, 3], [2, 0, 4, 2, 4], [2, 0, 2, 2, 2], [3, 4, 0, 3]]


class Model:
    """π, T_d, the law o of symbols (tag, left, right) up to ``valence``, and the geometric tails q."""

    def __init__(self, m, n_tags, valence, seed):
        rng = np.random.default_rng(seed)
        self.m, self.n_tags, self.valence, W = m, n_tags, valence, valence + 1
        self.S = n_tags * W * W
        left, right = np.divmod(np.arange(self.S) % (W * W), W)
        self.told = np.stack([left, right], axis=1)  # modifiers on either side, as far as the symbol tells
        few = np.where(self.told.sum(axis=1) == 0, 8.0, np.where(self.told.sum(axis=1) == 1, 1.0, 0.15))
        self.o = few[:, None] * rng.gamma(0.5, size=(self.S, m)) + 1e-3 * few[:, None]
        self.o /= self.o.sum(axis=0)
        self.T = np.stack(
            [0.6 * np.eye(m)[rng.permutation(m)] + 0.4 * rng.dirichlet(np.ones(m), m).T for _ in range(2)]
        )
        self.pi = 0.3 / m + 0.7 * rng.dirichlet(np.ones(m))
        self.q = np.array([0.2, 0.1])

    @property
    def is_finite(self):
        """Whether the expected number of words is finite."""
        return max(abs(np.linalg.eigvals(self._below()))) < 0.95

    def _mean(self):
        return self.told + (self.told == self.valence) * (self.q / (1 - self.q))  # [S, 2]

    def _below(self):
        means = self.o.T @ self._mean()  # [m, 2]
        return sum(self.T[d] * means[:, d] for d in range(2))

    def observations(self):
        """Every possible word and edge, with the expected number of them in a tree."""
        S, m = self.S, self.m
        n = np.linalg.solve(np.eye(m) - self._below(), self.pi)  # expected words in each state
        states = np.zeros((2 * S + 1, m))  # [outside, state]
        states[2 * S] = self.pi
        for x, d in product(range(S), range(2)):
            states[2 * x + d] = self.T[d] @ (n * self.o[x]) * self._mean()[x, d]
        words = states @ self.o.T  # [outside, symbol]
        z, x = (a.ravel() for a in np.indices(words.shape))
        edges = []
        for d in range(2):
            own = self.o * (self.told[:, d] > 0)[:, None]
            weight = np.einsum("zh,yh,vh->zyv", states, own, self.o @ self.T[d])
            where = np.indices(weight.shape).reshape(3, -1)
            edges.append((where[1], where[2], where[0], np.full(weight.size, d), weight.ravel()))
        return Observations(x, z, words.ravel(), *(np.concatenate(column) for column in zip(*edges)))

    def fitted(self, operators):
        model = LatentTrees(self.m, valence=self.valence)
        model.tags_ = [*map(str, range(self.n_tags - 1)), "<unknown>"]
        model._number = {str(i): i for i in range(self.n_tags - 1)}
        model.more_, model.operators_ = self.q, operators
        return model

    def probability(self, tags, heads):
        """The sum over all assignments of states."""
        W, words = self.valence + 1, range(1, len(tags) + 1)
        counts = [
            [
                sum(h == i and m < i for m, h in enumerate(heads, 1)),
                sum(h == i and m > i for m, h in enumerate(heads, 1)),
            ]
            for i in words
        ]
        p = 1.0
        for number, d in product(range(len(tags)), range(2)):
            beyond = counts[number][d] - self.valence
            p *= self.q[d] ** beyond * (1 - self.q[d]) if beyond >= 0 else 1.0
        symbols = [
            (tag * W + min(left, self.valence)) * W + min(right, self.valence)
            for tag, (left, right) in zip(tags, counts)
        ]
        total = 0.0
        for h in product(range(self.m), repeat=len(tags)):
            term = np.prod([self.o[x, s] for x, s in zip(symbols, h)])
            for i, above in enumerate(heads):
                term *= self.T[int(i + 1 > above)][h[i], h[above - 1]] if above else self.pi[h[i]]
            total += term
        return p * total


def value(signed):
    return signed.sign * np.exp(signed.log_magnitude)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 3), st.integers(2, 3), st.integers(1, 2), st.integers(0, 10_000))
def test_exact_moments_give_exact_probabilities(m, n_tags, valence, seed):
    truth = Model(m, n_tags, valence, seed)
    if not truth.is_finite:
        return
    model = truth.fitted(tree_operators(truth.observations(), truth.S, m, cutoff=1e-12))
    rng = np.random.default_rng(seed)
    for heads in TREES:
        tags = rng.integers(0, n_tags, len(heads))
        expected = truth.probability(tags, heads)
        assert value(model.score([str(t) for t in tags], heads)) == pytest.approx(
            expected, rel=1e-5, abs=1e-10
        )


def test_the_basis_makes_no_difference():
    truth = Model(3, 3, 1, 4)
    ops = tree_operators(truth.observations(), truth.S, 3)
    H = np.random.default_rng(0).standard_normal((3, 3))
    inverse = np.linalg.inv(H)
    modifiers = np.einsum("ij,djab->diab", inverse, inverse @ ops.modifiers @ H)
    turned = TreeOperators(ops.symbols @ H, modifiers, inverse @ ops.root)
    for heads in TREES:
        tags = [str(i % 3) for i in range(len(heads))]
        one, other = (truth.fitted(found).score(tags, heads) for found in (ops, turned))
        assert one == pytest.approx(other, rel=1e-7)


def sentences(n, seed):
    """Trees of a little grammar: a verb with a noun on its left and perhaps one on its right; nouns with articles."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        tags, heads, nouns = [], [], []
        for side in range(1 + int(rng.integers(2))):
            if side:
                tags.append("V")
                heads.append(0)
            if rng.random() < 0.5:
                tags.append("D")
                heads.append(len(tags) + 1)
            tags.append("N")
            heads.append(-1)
            nouns.append(len(tags) - 1)
        if "V" not in tags:
            tags.append("V")
            heads.append(0)
        for noun in nouns:
            heads[noun] = tags.index("V") + 1
        found.append(Sentence(["w"] * len(tags), upos=tags, heads=heads))
    return found


@pytest.mark.parametrize("method", ["spectral", "em"])
def test_the_right_tree_of_some(method):
    model = LatentTrees(3, method, iterations=20).fit(sentences(200, 0))
    tags, right = ["D", "N", "V", "D", "N"], [2, 3, 0, 5, 3]
    wrong = [[3, 3, 0, 3, 3], [2, 3, 0, 3, 3], [2, 0, 2, 5, 3], [5, 5, 5, 5, 0]]
    np.testing.assert_array_equal(model.rerank(tags, [*wrong, right]), right)
    scores = [0.0, 1e6, 0.0, 0.0, 0.0]
    np.testing.assert_array_equal(model.rerank(tags, [*wrong, right], scores), wrong[1])
    np.testing.assert_array_equal(model.rerank(tags, [right, *wrong], scores, weight=0.0), wrong[0])
    assert np.isfinite(model.score(["D", "never", "V"], [2, 3, 0]).log_magnitude)
    deep = model.score(["N"] * 300, list(range(300)))
    assert not np.isnan(deep.log_magnitude)


def test_em_gains_and_its_operators_score_as_its_states():
    text = sentences(40, 1)
    models = [LatentTrees(2, "em", iterations=k).fit(text) for k in (6, 7)]
    assert models[1].trace_[:6] == models[0].trace_
    assert models[1].trace_[6] > models[1].trace_[0]
    model = models[0]
    tails = 0.0  # how many modifiers there are beyond what symbols tell: sum-product does not know
    for sentence in text:
        for i in range(1, len(sentence) + 1):
            for d, number in enumerate(
                (sum(h == i and m < i for m, h in enumerate(sentence.heads, 1)),
                 sum(h == i and m > i for m, h in enumerate(sentence.heads, 1)))
            ):  # fmt: skip
                if number >= model.valence:
                    tails += (number - model.valence) * np.log(model.more_[d]) + np.log1p(-model.more_[d])
    total = sum(model.score(sentence).log_magnitude for sentence in text)
    assert total - tails == pytest.approx(models[1].trace_[6])


@pytest.mark.parametrize("method", ["automata", "automata-em", "automata-bigram"])
def test_head_automata_whose_trees_are_re_ranked(method, tmp_path):
    """The tree is the best of the close ones by both scores, whatever its place among them."""
    text = sentences(60, 0)
    model = fit(text, method=method, rerank=5, rerank_states=2, rerank_weight=0.7)
    plain = fit(text, method=method)
    assert plain.latent_ is None
    for sentence in sentences(20, 1):
        tags = sentence.upos
        scores = np.log(np.maximum(np.abs(plain.edge_marginals(tags)), 1e-12))
        both = {}
        for heads in close_trees(scores, 5):
            own = sum(scores[h, i] for i, h in enumerate(heads, start=1))
            both[tuple(heads)] = own + 0.7 * model.latent_.score(tags, heads).log_magnitude
        found = tuple(model.predict([tags])[0])
        assert both[found] == pytest.approx(max(both.values()))
    model.save(tmp_path / "m.spinney")
    again = spinney.load(tmp_path / "m.spinney")
    for sentence in sentences(10, 2):
        np.testing.assert_array_equal(again.predict([sentence])[0], model.predict([sentence])[0])
    assert model.latent_.method == ("em" if method == "automata-em" else "spectral")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"root": lambda v: v[:-1]}, "fit together"),
        ({"more": lambda v: v + 2}, "further modifiers"),
        ({"symbols": lambda v: np.full_like(v, np.inf)}, "symbols"),
    ],
)
def test_damaged_files_are_refused(change, message, tmp_path):
    model = HeadAutomata(rerank=3, rerank_states=2).fit(sentences(30, 0))
    latent = model.latent_
    for name, way in change.items():
        if name == "more":
            latent.more_ = way(latent.more_)
        else:
            latent.operators_ = latent.operators_._replace(**{name: way(getattr(latent.operators_, name))})
    model.save(tmp_path / "m.spinney")
    with pytest.raises(ModelFileError, match=message):
        spinney.load(tmp_path / "m.spinney")


def test_what_is_refused():
    with pytest.raises(NotFittedError):
        LatentTrees().score(["A"], [0])
    with pytest.raises(SettingError, match="rerank_weight"):
        HeadAutomata(rerank_weight=1.0)
    with pytest.raises(SettingError, match="one root"):
        HeadAutomata(rerank=3, single_root=False)
    with pytest.raises(InputError, match="no words"):
        LatentTrees().fit([])
    model = LatentTrees(2).fit(sentences(5, 0))
    with pytest.raises(InputError, match="one root"):
        model.score(["N", "V"], [0, 0])
    with pytest.raises(InputError, match="candidates"):
        model.rerank(["N"], [])
    with pytest.raises(OptionError, match="2 candidates but 1"):
        model.rerank(["N", "V"], [[0, 1], [2, 0]], [1.0])
    for options in ({"states": 0}, {"method": "x"}, {"column": "form"}, {"valence": -1}, {"smoothing": 1.0}):
        with pytest.raises(OptionError, match=next(iter(options))):
            LatentTrees(**options).fit(sentences(3, 0))
