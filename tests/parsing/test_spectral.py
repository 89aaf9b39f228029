"""Spectral estimation: exact where moments are exact, invariant where the algebra says so, consistent on samples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spinney.corpus import Tree
from spinney.errors import OptionError
from spinney.parsing.coarse import Pruner
from spinney.parsing.em import Sample, tree_log_probabilities
from spinney.parsing.features import FeatureSet, node_features
from spinney.parsing.grammar import Grammar, Layout, RuleCounts, Rules, pcfg_counts
from spinney.parsing.inside import inside_outside
from spinney.parsing.moments import Backoff, grammar_of_moments
from spinney.parsing.projection import Projection, project
from spinney.parsing.spectral import fit_spectral
from spinney.parsing.treearrays import TreeArrays

EXACT = Backoff(0.0, 0.0, 0.0)


def every_tree() -> list[Tree]:
    """All trees of a small grammar without recursion, with tags, unary and binary rules."""
    words = {tag: [Tree(tag, word=f"{tag}{i}") for i in range(3)] for tag in ("X", "Y")}
    A = [
        Tree("A", [left, right])
        for left, right in (*product(words["X"], words["Y"]), *product(words["Y"], words["X"]))
    ]
    A += [Tree("A", [x]) for x in words["X"]]
    B = [Tree("B", [a, x]) for a, x in (*product(A, words["X"]), *product(words["Y"], words["Y"]))]
    return [Tree("S", [left, right]) for left, right in (*product(A, B), *product(A, A))]


@pytest.fixture(scope="module")
def world() -> tuple[TreeArrays, Rules, Grammar, np.ndarray]:
    """Trees, rules, a random grammar with two states a label, and the probabilities of the trees."""
    trees = TreeArrays.of(every_tree())
    rules = Rules.of(trees, rare=0)
    grammar = random_grammar(rules, 2, np.random.default_rng(3))
    p = np.exp(tree_log_probabilities(trees, grammar))
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    return trees, rules, grammar, p


def random_grammar(rules: Rules, states: int, rng: np.random.Generator) -> Grammar:
    counts = RuleCounts.zeros(Layout.uniform(rules, states))
    for numbers in (counts.root, counts.binary, counts.unary, counts.lexical):
        numbers[:] = rng.gamma(0.3, size=len(numbers))
    counts.root[np.arange(len(counts.root)) // states != rules.labels.index("S")] = 0
    return counts.grammar(own=0)


def tree_values(trees: TreeArrays, grammar: Grammar) -> np.ndarray:
    """The value of each tree under a grammar whose numbers may be negative, written as the definition reads."""
    uses = grammar.rules.used(trees)
    inside: list[np.ndarray] = []
    for n, rule in enumerate(uses.rule.tolist()):
        left, right = trees.left[n], trees.right[n]
        if left < 0:
            inside.append(grammar.vector(rule))
        elif right < 0:
            inside.append(grammar.matrix(rule) @ inside[left])
        else:
            inside.append(np.einsum("ijk,j,k->i", grammar.tensor(rule), inside[left], inside[right]))
    start = grammar.layout.state_start
    return np.array(
        [grammar.root[start[trees.label[n]] : start[trees.label[n] + 1]] @ inside[n] for n in trees.roots]
    )


@pytest.mark.parametrize("kappa", [5.0, 0.0, None])
def test_exact_moments_give_exact_probabilities(world, kappa):
    trees, rules, _, p = world
    fit = fit_spectral(trees, rules, 2, kappa=kappa, cutoff=1e-9, backoff=EXACT, weight=p)
    assert fit.grammar.signed
    states = dict(zip(rules.labels, fit.grammar.layout.n_states.tolist()))
    assert states == {
        "S": 1,
        "A": 2,
        "B": 2,
        "X": 2,
        "Y": 2,
    }  # nothing outside the root tells its states apart
    np.testing.assert_allclose(tree_values(trees, fit.grammar), p, rtol=0, atol=1e-13)
    np.testing.assert_allclose(tree_values(trees, fit.grammar), p, rtol=1e-8)


def test_exact_moments_give_exact_posteriors(world):
    """Of every label over every span, and every rule there: the chart of the grammar itself, whatever the basis."""
    trees, rules, grammar, p = world
    fit = fit_spectral(trees, rules, 2, cutoff=1e-9, backoff=EXACT, weight=p)
    pruner = Pruner(pcfg_counts(trees, rules).grammar(), threshold=0.0)
    for number in (0, 40, 99, 200, 350):
        words = trees.tokens[trees.token_start[number] : trees.token_start[number + 1]]
        forest = pruner.forest(words)
        assert forest is not None
        true, found = inside_outside(grammar, forest), inside_outside(fit.grammar, forest)
        assert found.sign == 1
        assert found.log_z == pytest.approx(true.log_z, abs=1e-8)
        for kind in ("items", "binary", "unary", "lexical"):
            np.testing.assert_allclose(getattr(found, kind), getattr(true, kind), atol=1e-8)


def test_exact_moments_give_exact_sums_over_trees(world):
    """The sum over the trees of each sentence: hidden states and structure summed out."""
    trees, rules, _, p = world
    fit = fit_spectral(trees, rules, 2, cutoff=1e-9, backoff=EXACT, weight=p)
    sentences = [" ".join(trees.tokens[a:b]) for a, b in zip(trees.token_start, trees.token_start[1:])]
    number = np.unique(sentences, return_inverse=True)[1]
    assert number.max() + 1 < len(sentences)
    np.testing.assert_allclose(
        np.bincount(number, tree_values(trees, fit.grammar)), np.bincount(number, p), atol=1e-13
    )


def test_too_few_states_are_not_exact(world):
    trees, rules, _, p = world
    fit = fit_spectral(trees, rules, 1, backoff=EXACT, weight=p)
    assert np.abs(tree_values(trees, fit.grammar) - p).max() > 1e-5


def errors_by_size(world, backoff: Backoff) -> np.ndarray:
    """The L1 distance of the grammars of samples from the truth, over all trees, a hundred times as many each time."""
    trees, rules, _, p = world
    rng = np.random.default_rng(0)

    def error(size: int) -> float:
        found = []
        for _ in range(4):
            weight = rng.multinomial(size, p).astype(float)
            fit = fit_spectral(trees, rules, 2, backoff=backoff, weight=weight)
            found.append(np.abs(tree_values(trees, fit.grammar) - p).sum())
        return float(np.mean(found))

    return np.array([error(size) for size in (10**4, 10**6, 10**8)])


def test_error_falls_with_the_root_of_the_sample(world):
    errors = errors_by_size(world, EXACT)
    np.testing.assert_allclose(errors[:-1] / errors[1:], 10, rtol=0.6)


def test_default_smoothing_is_consistent(world):
    """All of it fades with the sample: the error is not held up by a share of the mean that never goes away."""
    errors = errors_by_size(world, Backoff())
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 0.002


def test_words_back_off_to_their_tag(world):
    """A word seen n times with a tag: √n / (C + √n) of its own mean, the rest of the mean of the tag."""
    trees, rules, _, p = world
    sample = Sample.of(trees, rules)
    weight = np.round(p * 1e4) + 1
    found = project(node_features(trees), 2, weight=weight[trees.tree])
    grammar = grammar_of_moments(sample, found, Backoff(0.0, 3.0, 0.0), weight=weight)
    w = weight[trees.tree]
    for entry, tag in enumerate(rules.lexicon.tag.tolist()):
        nodes = trees.leaves[sample.uses.rule[trees.leaves] == entry]
        if not len(nodes):
            continue
        same = np.flatnonzero(trees.label == tag)
        n, m = w[nodes].sum(), found.n_states[tag]
        own, mean = (np.average(found.outside[x], axis=0, weights=w[x]) for x in (nodes, same))
        lam = np.sqrt(n) / (3.0 + np.sqrt(n))
        expected = n / w[same].sum() * (lam * own + (1 - lam) * mean)[:m]
        np.testing.assert_allclose(grammar.vector(entry), expected, rtol=1e-9, atol=1e-12)


def test_inside_and_outside_vectors_are_each_others_inverse(world):
    trees, *_ = world
    rng = np.random.default_rng(1)
    for weight in (None, rng.random(len(trees.label))):
        found = project(node_features(trees), 3, weight=weight, cutoff=1e-8)
        for a, m in enumerate(found.n_states):
            here = trees.label == a
            w = np.ones(here.sum()) if weight is None else weight[here]
            moment = found.outside[here].T @ (found.inside[here] * w[:, None]) / w.sum()
            np.testing.assert_allclose(moment[:m, :m], np.eye(m), atol=1e-9)
            assert not moment[m:].any()


def test_another_basis_changes_nothing(world):
    """Signs of singular pairs, scales of features: Y becomes G Y and Z becomes G⁻ᵀ Z; also smoothed moments agree."""
    trees, rules, _, p = world
    sample = Sample.of(trees, rules)
    found = project(node_features(trees), 2, weight=p[trees.tree])
    plain = tree_values(trees, grammar_of_moments(sample, found, weight=p))
    scale = np.random.default_rng(2).uniform(1, 1e4, (len(rules.labels), 2)) * [1, -1]
    changed = Projection(
        found.n_states,
        found.inside * scale[trees.label],
        found.outside / scale[trees.label],
        found.singular_values,
    )
    moved = tree_values(trees, grammar_of_moments(sample, changed, weight=p))
    np.testing.assert_allclose(moved, plain, rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("C", [0.0, 30.0])
def test_one_state_and_a_constant_feature_are_the_pcfg(C):
    texts = (
        "(S (NP (N dogs)) (VP (V chase) (NP (N cats))))",
        "(S (NP (D the) (N dogs)) (VP (V sleep)))",
        "(S (NP (D the) (N cats)) (VP (V chase) (NP (D the) (N dogs))))",
    )
    trees = TreeArrays.of([Tree.parse(text) for text in texts])
    rules = Rules.of(trees, rare=1)
    constant = FeatureSet(("constant",), ("constant",))
    fit = fit_spectral(trees, rules, 1, features=constant, backoff=Backoff(C))
    pcfg = pcfg_counts(trees, rules).grammar()
    values = np.log(tree_values(trees, fit.grammar))
    np.testing.assert_allclose(values, tree_log_probabilities(trees, pcfg), rtol=1e-12)
    # A basis of one dimension is one factor a label.
    Y = np.array([fit.projection.inside[trees.label == a, 0].mean() for a in range(rules.n_labels)])
    a, b, c = rules.binary.T
    np.testing.assert_allclose(fit.grammar.binary * Y[a] / (Y[b] * Y[c]), pcfg.binary)
    np.testing.assert_allclose(fit.grammar.lexical * Y[rules.lexicon.tag], pcfg.lexical)


def test_smoothed_tensors_are_what_the_chain_says(world):
    trees, rules, _, p = world
    sample = Sample.of(trees, rules)
    weight = np.round(p * 1e4) + 1
    found = project(node_features(trees), 2, weight=weight[trees.tree])
    grammar = grammar_of_moments(sample, found, Backoff(7.0), weight=weight)
    w, Y, Z = weight[trees.tree], found.inside, found.outside

    def mean(X, nodes):
        return np.tensordot(w[nodes], X, 1) / w[nodes].sum()

    for r, (a, b, c) in enumerate(rules.binary):
        nodes = np.flatnonzero((trees.right >= 0) & (sample.uses.rule == r))
        n = w[nodes].sum()
        z, y2, y3 = Z[nodes], Y[trees.left[nodes]], Y[trees.right[nodes]]
        E3 = mean(np.einsum("ni,nj,nk->nijk", z, y2, y3), nodes)
        Ez, E_2, E_3 = mean(z, nodes), mean(y2, nodes), mean(y3, nodes)
        Ez2, Ez3, E23 = (mean(np.einsum("ni,nj->nij", x, y), nodes) for x, y in ((z, y2), (z, y3), (y2, y3)))
        E2 = (
            np.einsum("ij,k->ijk", Ez2, E_3)
            + np.einsum("ik,j->ijk", Ez3, E_2)
            + np.einsum("jk,i->ijk", E23, Ez)
        )
        E1 = np.einsum("i,j,k->ijk", Ez, E_2, E_3)
        of_label = [np.flatnonzero(trees.label == x) for x in (a, b, c)]
        H, Fb, Fc = (
            mean(Z[of_label[0]], of_label[0]),
            mean(Y[of_label[1]], of_label[1]),
            mean(Y[of_label[2]], of_label[2]),
        )
        E0 = np.einsum("i,j,k->ijk", H, Fb, Fc)
        lam = np.sqrt(n) / (7.0 + np.sqrt(n))
        E = lam * E3 + (1 - lam) * (lam * E2 / 3 + (1 - lam) * (lam * E1 + (1 - lam) * E0))
        m = found.n_states
        expected = n / w[of_label[0]].sum() * E[: m[a], : m[b], : m[c]]
        np.testing.assert_allclose(grammar.tensor(r), expected, rtol=1e-9, atol=1e-12)


def test_threads_change_nothing(world):
    trees, rules, _, p = world
    one, two = (fit_spectral(trees, rules, 2, weight=p, threads=t).grammar for t in (1, 2))
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_bad_options(world):
    trees, rules, _, _ = world
    with pytest.raises(OptionError, match="at least one state"):
        fit_spectral(trees, rules, 0)
    with pytest.raises(OptionError, match="kappa"):
        fit_spectral(trees, rules, 2, kappa=-1)
    with pytest.raises(OptionError, match="smoothing"):
        fit_spectral(trees, rules, 2, backoff=Backoff(-1))
    with pytest.raises(OptionError, match="smoothing"):
        fit_spectral(trees, rules, 2, backoff=Backoff(words=-1))
    with pytest.raises(OptionError, match="no feature set"):
        fit_spectral(trees, rules, 2, features="everything")
    with pytest.raises(OptionError, match="no inside feature"):
        FeatureSet(("above",), ("above",))
