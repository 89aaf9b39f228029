"""Builders of trees: valid for any data, right where the right tree is known, and against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spinney.errors import OptionError
from spinney.structure import ClassTree
from spinney.taxonomy import (
    METHODS,
    learn_taxonomy,
    learn_taxonomy_from_moments,
    merged,
    residual_matrix,
    splitting,
    taxonomy_from_confusion,
    word_taxonomy,
)
from spinney.taxonomy.pairing import hung, obyo
from spinney.taxonomy.proximity import Residual
from spinney.taxonomy.splitting import by_sign, smallest_vector, spec

TREES = [method for method in METHODS if method != "flat"]


def clades(tree):
    """The sets of classes under inner nodes."""
    ptr, nodes = tree.children()
    below = {v: frozenset([tree.names[v]]) for v in range(len(tree))}

    def under(v):
        if v not in below:
            below[v] = frozenset().union(*(under(int(c)) for c in nodes[ptr[v] : ptr[v + 1]]))
        return below[v]

    return {under(v) for v in range(len(tree), len(tree.parent))}


@st.composite
def samples(draw):
    n_classes = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    sizes = rng.integers(1, draw(st.sampled_from([2, 6])), n_classes)
    y = np.repeat(np.arange(n_classes), sizes)
    d = draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["normal", "whole", "constant", "large"]))
    X = {
        "normal": rng.standard_normal((len(y), d)),
        "whole": rng.integers(0, 2, (len(y), d)).astype(float),
        "constant": np.full((len(y), d), 7.0),
        "large": 1e8 * rng.standard_normal((len(y), d)) + 1e9,
    }[kind]
    return X, y


@settings(max_examples=60, deadline=None)
@given(samples(), st.sampled_from(METHODS), st.sampled_from([None, 0, 1, 2, 3]), st.booleans())
def test_any_data_give_a_tree_over_all_classes(data, method, depth, exact):
    X, y = data
    tree = learn_taxonomy(X, y, method, depth=depth, exact=exact)
    assert isinstance(tree, ClassTree)  # whose constructor checks that it is one
    assert tree.names == [str(k) for k in range(y.max() + 1)]
    n_classes = len(tree)
    if n_classes == 1:
        assert tree.depth == 0
        return
    arity = tree.paths().arity
    assert arity.min() >= 2
    if method == "flat" or depth == 0:
        assert tree.depth == 1
    elif depth is None:
        assert arity.max() == 2
    elif method != "obyo":
        assert tree.depth <= depth + 1
    again = learn_taxonomy(sparse.csr_array(X), y, method, depth=depth, exact=exact)
    assert again.names == tree.names
    assert learn_taxonomy(X, y, method, depth=depth, exact=exact).to_newick() == tree.to_newick()


@pytest.mark.parametrize("method", ["spec", "canonical", "diff", "obyo", "hung"])
def test_the_tree_of_nested_clusters_is_found(method):
    # Three levels of pairs, each half as far apart as the one above.
    rng = np.random.default_rng(0)
    bits = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    means = np.zeros((8, 7))
    means[:, 0] = 8 * bits[:, 0]
    means[np.arange(8), 1 + np.arange(8) // 4] = 4 * bits[:, 1]
    means[np.arange(8), 3 + np.arange(8) // 2] = 2 * bits[:, 2]
    y = np.repeat(np.arange(8), 150)
    found = clades(learn_taxonomy(means[y] + rng.standard_normal((len(y), 7)), y, method))
    pairs = {frozenset([str(2 * k), str(2 * k + 1)]) for k in range(4)}
    fours = {frozenset("0123"), frozenset("4567")}
    assert pairs | (fours if method != "obyo" else set()) <= found


def test_words_of_one_kind_come_together():
    rng = np.random.default_rng(0)
    V = np.eye(4) + 0.1 * rng.standard_normal((4, 4))
    shares = np.array(
        [[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7], [0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]]
    )
    C = np.array([rng.multinomial(size, share) for size, share in zip([9000, 3000, 500, 80], shares)]).T
    for method in TREES:
        if method in ("conf", "rand"):
            continue
        found = clades(word_taxonomy(V, sparse.csr_array(C), list("abcd"), method))
        if method in ("canonical", "diff"):  # sizes differ by a hundred: the others look at the largest first
            assert found == {frozenset("abcd"), frozenset("ac"), frozenset("bd")}
    with pytest.raises(OptionError, match="needs samples"):
        word_taxonomy(V, C, list("abcd"), "conf")


def test_moments_give_the_tree_of_the_samples():
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(9), 50)
    X = 3 * rng.standard_normal((9, 5))[y] + rng.standard_normal((len(y), 5))
    Y = np.eye(9)[y]
    S = np.array([X[y == k].T @ X[y == k] for k in range(9)])
    names = [str(k) for k in range(9)]
    for method in ("spec", "canonical", "diff", "obyo", "hung"):
        expected = clades(learn_taxonomy(X, y, method))
        assert clades(learn_taxonomy_from_moments(S, X.T @ Y, Y.sum(axis=0), names, method)) == expected
        pooled = learn_taxonomy_from_moments(S.sum(axis=0), X.T @ Y, Y.sum(axis=0), names, method)
        assert clades(pooled) == expected


def test_obyo_is_the_greedy_merge():
    rng = np.random.default_rng(0)
    for n in range(2, 10):
        A = rng.standard_normal((n, n))
        Q = A + A.T
        expected, nodes, left = [], [frozenset([k]) for k in range(n)], Q
        for _ in range(n // 2):
            pairs = list(itertools.combinations(range(len(left)), 2))
            p, q = min(pairs, key=lambda pair: left[pair])
            expected.append((nodes[p], nodes[q]))
            left = merged(left, p, q)
            nodes[p] = nodes[p] | nodes.pop(q)
        sets = [frozenset([k]) for k in range(n)]
        for (p, q), (one, other) in zip(obyo(Q), expected, strict=True):
            assert {sets[p], sets[q]} == {one, other}
            sets.append(sets[p] | sets[q])


def matchings(nodes):
    """All ways to pair an even number of nodes."""
    if not nodes:
        yield []
    for k in range(1, len(nodes)):
        rest = nodes[1:k] + nodes[k + 1 :]
        yield from ([(nodes[0], nodes[k]), *others] for others in matchings(rest))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 7), st.integers(0, 100_000))
def test_hung_pairs_are_the_cheapest(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    Q = A + A.T
    pairs = hung(Q)
    used = [place for pair in pairs for place in pair]
    assert len(set(used)) == len(used)
    assert len(pairs) >= n // 3
    cost = sum(Q[pair] for pair in pairs)
    if 2 * len(pairs) == n:  # no odd cycle
        assert cost == pytest.approx(
            min(sum(Q[pair] for pair in pairing) for pairing in matchings(list(range(n))))
        )
    else:  # then the cheapest among those who are paired
        assert cost == pytest.approx(
            min(sum(Q[pair] for pair in pairing) for pairing in matchings(sorted(used)))
        )


def test_diff_is_near_the_best_cut():
    rng = np.random.default_rng(0)
    for trial in range(20):
        n = 8
        F = rng.standard_normal((4, n))
        F -= F.mean(axis=1, keepdims=True)
        residual = Residual(np.full(n, 5.0), F)
        M = residual.matrix() / residual.sizes.sum() + 1.0 / n**2

        values = [z @ M @ z for z in map(np.array, itertools.product([-1.0, 1.0], repeat=n))]
        z = np.where(splitting.diff(residual, np.random.default_rng(trial)), 1.0, -1.0)
        assert z @ M @ z <= min(values) + 0.25 * (max(values) - min(values))


@pytest.mark.parametrize("seed", range(6))
def test_diff_solves_its_relaxation(seed):
    """The dual of the relaxation, a diagonal y with M + diag(y) ⪰ 0, bounds it from below: here they meet."""
    rng = np.random.default_rng(seed)
    n = 12
    F = rng.standard_normal((3, n)) * [[3.0], [1.0], [0.5]]
    f = F.T / np.sqrt(n)
    M = -f @ f.T + 1.0 / n**2
    L = rng.standard_normal((n, 5))
    L /= np.linalg.norm(L, axis=1, keepdims=True)
    for _ in range(3000):
        for i in range(n):
            g = M[i] @ L - M[i, i] * L[i]
            L[i] = -g / np.linalg.norm(g)
    multipliers = -np.sum((M @ L) * L, axis=1)
    assert np.linalg.eigvalsh(M + np.diag(multipliers)).min() > -1e-8
    u = np.linalg.svd(L)[0][:, 0]
    for other in range(4):
        sides = splitting.diff(Residual(np.ones(n), F), np.random.default_rng(other))
        assert np.array_equal(sides == sides[0], (u > 0) == (u[0] > 0))


def test_spec_and_canonical_are_eigenvectors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    y = np.concatenate([np.arange(9), rng.choice(9, 71, p=np.arange(1, 10) / 45)])
    Q, sizes = residual_matrix(X, y), np.bincount(y)
    from scipy.linalg import eigh

    for method, D in (("spec", np.eye(9)), ("canonical", np.diag(sizes))):
        z = eigh(Q, D)[1][:, 0]
        one = frozenset(str(k) for k in np.flatnonzero(z > 0))
        assert one in clades(learn_taxonomy(X, y, method, depth=1)) | {
            frozenset(str(k) for k in range(9)) - one
        }
        assert clades(learn_taxonomy(X, y, method, depth=1)) <= {
            frozenset(str(k) for k in range(9)),
            one,
            frozenset(str(k) for k in range(9)) - one,
        }


def test_confusions():
    C = np.zeros((6, 6))
    C[:3, :3], C[3:, 3:], C[2, 3] = 5, 5, 1
    assert frozenset("abc") in clades(taxonomy_from_confusion(C, list("abcdef")))
    # Without confusions splits are by lot, and balanced.
    tree = taxonomy_from_confusion(np.diag([5.0] * 8), list("abcdefgh"))
    assert tree.depth == 3
    assert (
        tree.to_newick() != taxonomy_from_confusion(np.eye(8), list("abcdefgh"), random_state=1).to_newick()
    )
    with pytest.raises(OptionError):
        taxonomy_from_confusion(-C, list("abcdef"))


def test_splits_always_have_two_sides():
    assert splitting.by_sign(np.zeros(5)).sum() == 2
    assert splitting.by_sign(np.array([1.0, 2.0, 3.0])).tolist() == [False, False, True]
    assert splitting.by_sign(np.array([-1.0, -2.0])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "other"}, "method must be"),
        ({"depth": -1}, "depth must be at least 0"),
        ({"delta": -1.0}, "delta must be above 0"),
        ({"names": ["a"]}, "2 classes but 1 names"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        learn_taxonomy(np.eye(4), [0, 0, 1, 1], **options)


def test_names():
    tree = learn_taxonomy(np.eye(3), [2, 1, 3], names=["x", "y", "z"])
    assert tree.names == ["x", "y", "z"]


def test_spec_of_many_classes_is_that_of_the_whole_matrix():
    rng = np.random.default_rng(4)
    n_classes, n_dimensions = 260, 12
    sizes = np.maximum(1.0, np.round(3000 / np.arange(1, n_classes + 1)))
    B = rng.standard_normal((n_dimensions, n_classes)) * np.sqrt(sizes)
    scale = np.linalg.eigvalsh((B / sizes) @ B.T)[-1]
    for share in (0.1, 0.5, 0.99):  # of the variance of classes that the features explain
        residual = Residual(sizes, B * np.sqrt(share / scale))
        found = smallest_vector(residual)
        expected = np.linalg.eigh(residual.matrix())[1][:, 0]
        if found is not None:
            np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-8)
    assert found is not None
    sides = spec(residual)
    assert tuple(by_sign(expected)) in (tuple(sides), tuple(~sides))
    # Features that tell nothing of the rarest class: its own vector is the smallest, and the matrix has to say so.
    assert smallest_vector(Residual(np.array([1.0, 5.0, 6.0]), np.array([[0.0, 1.0, 1.0]]))) is None
