"""Tree norms against the naive composition of group proxes, on forests of all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import OptionError
from spinney.optim.penalties import OverlappingGroups, TreeL2, TreeLinf

# Nelakanti 2014, Fig. 2.1: 3 → 4 → {6 → 6 → {5, 7}, 7 → 7}.
EIGHT_PARENT = [-1, 0, 1, 2, 3, 3, 1, 6]
EIGHT_VALUES = np.array([3.0, 4, 6, 6, 5, 7, 7, 7])


def l2_prox(x: np.ndarray, kappa: float) -> np.ndarray:
    norm = np.linalg.norm(x)
    return x * (1 - kappa / norm) if norm > kappa else 0 * x


def linf_prox(x: np.ndarray, kappa: float) -> np.ndarray:
    """x less its projection on the ℓ1 ball, by sorting (Duchi et al. 2008)."""
    if np.abs(x).sum() <= kappa:
        return 0 * x
    ordered = np.sort(np.abs(x))[::-1]
    thresholds = (np.cumsum(ordered) - kappa) / np.arange(1, x.size + 1)
    r = thresholds[np.flatnonzero(ordered >= thresholds)[-1]]
    return np.sign(x) * np.minimum(np.abs(x), r)


def subtree_groups(parent: np.ndarray, node_of: np.ndarray) -> list[np.ndarray]:
    """For each node, the coordinates of it and its descendants."""
    groups: list[list[int]] = [[] for _ in parent]
    for i, v in enumerate(node_of):
        while v >= 0:
            groups[v].append(i)
            v = parent[v]
    return [np.array(g, dtype=int) for g in groups]


def depths(parent: np.ndarray) -> list[int]:
    out = []
    for v in range(len(parent)):
        d = 0
        while parent[v] >= 0:
            v, d = parent[v], d + 1
        out.append(d)
    return out


def composed(prox: Any, w: np.ndarray, parent: Any, node_of: Any, kappa: np.ndarray) -> np.ndarray:
    """The group proxes one after the other, deepest nodes first."""
    u = w.copy()
    groups = subtree_groups(parent, node_of)
    for v in np.argsort(depths(parent), kind="stable")[::-1]:
        if groups[v].size:
            u[groups[v]] = prox(u[groups[v]], kappa[v])
    return u


def proxed(penalty: Any, w: np.ndarray, step: float = 1.0) -> np.ndarray:
    u = w.copy()
    penalty.prox(u, step)
    return u


@st.composite
def forests(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(parent in any order, node_of, weights, w), with ties, zeros, empty nodes and free coordinates."""
    n = draw(st.integers(1, 12))
    parent = np.array([draw(st.integers(-1, v - 1)) for v in range(n)])
    order = np.array(draw(st.permutations(range(n))))
    shuffled = np.empty(n, dtype=int)
    shuffled[order] = np.where(parent < 0, -1, order[parent])
    p = draw(st.integers(1, 16))
    node_of = np.array(draw(st.lists(st.integers(-1, n - 1), min_size=p, max_size=p)))
    weights = np.array(draw(st.lists(st.sampled_from([0.0, 0.3, 1.0, 1.0, 2.5]), min_size=n, max_size=n)))
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(-3, 3))
    w = np.array(draw(st.lists(values, min_size=p, max_size=p)))
    return shuffled, node_of, weights, w


def test_the_eight_node_example() -> None:
    np.testing.assert_allclose(
        proxed(TreeL2(0.8, EIGHT_PARENT), EIGHT_VALUES),
        [2.8180, 3.5370, 4.9069, 4.4978, 3.1484, 4.6477, 5.6602, 5.0133],
        atol=5e-5,
    )
    np.testing.assert_allclose(
        proxed(TreeLinf(0.8, EIGHT_PARENT), EIGHT_VALUES),
        [3, 4, 5.48, 5.48, 4.2, 5.48, 5.48, 5.48],
        atol=1e-12,
    )


@settings(max_examples=200, deadline=None)
@given(forests(), st.sampled_from([0.05, 0.4, 1.5]))
def test_prox_is_the_composition(forest: Any, kappa: float) -> None:
    parent, node_of, weights, w = forest
    expected = composed(l2_prox, w, parent, node_of, kappa * weights)
    np.testing.assert_allclose(proxed(TreeL2(kappa, parent, node_of, weights), w), expected, atol=1e-12)
    expected = composed(linf_prox, w, parent, node_of, kappa * weights)
    np.testing.assert_allclose(proxed(TreeLinf(kappa, parent, node_of, weights), w), expected, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(forests())
def test_value_is_the_sum_over_subtrees(forest: Any) -> None:
    parent, node_of, weights, w = forest
    groups = subtree_groups(parent, node_of)
    l2 = sum(o * np.linalg.norm(w[g]) for o, g in zip(weights, groups))
    linf = sum(o * np.max(np.abs(w[g]), initial=0.0) for o, g in zip(weights, groups))
    assert TreeL2(2.0, parent, node_of, weights).value(w) == pytest.approx(2 * l2, abs=1e-12)
    assert TreeLinf(2.0, parent, node_of, weights).value(w) == pytest.approx(2 * linf, abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(forests(), st.integers(0, 2**32 - 1), st.booleans())
def test_residual_is_the_smallest_of_the_subdifferential(forest: Any, seed: int, at_prox: bool) -> None:
    """It is grad plus a subgradient, and a direction of steepest descent: together, the smallest."""
    parent, node_of, weights, w = forest
    rng = np.random.default_rng(seed)
    grad = np.round(rng.standard_normal(w.size), 1)
    for penalty in (TreeL2(0.5, parent, node_of, weights), TreeLinf(0.5, parent, node_of, weights)):
        u = proxed(penalty, w) if at_prox else np.round(w, 1)
        r = penalty.residual(u, grad)
        value = penalty.value(u)
        for x in u + np.array([[1e-4], [0.1], [3.0]])[:, :, None] * rng.standard_normal((1, 8, w.size)):
            for y in x:
                assert penalty.value(y) >= value + (r - grad) @ (y - u) - 1e-10
        t = 1e-7
        slope = -(grad @ r) + (penalty.value(u - t * r) - value) / t
        # Near 0 the ℓ2 norms are curved; maxima change hands where two sizes are nearly, but not quite, the same.
        apart = np.diff(np.unique(np.append(np.abs(u), 0.0)))
        if apart.min(initial=1.0) > 1e-3:
            assert slope == pytest.approx(-(r @ r), abs=1e-3)


@settings(max_examples=100, deadline=None)
@given(forests())
def test_lambda_max_is_the_dual_norm(forest: Any) -> None:
    parent, node_of, weights, grad = forest
    covered = np.zeros(grad.size, dtype=bool)
    for o, g in zip(weights, subtree_groups(parent, node_of)):
        covered[g] |= o > 0
    grad = np.where(covered, grad, 0.0)
    for make, prox in ((TreeL2, l2_prox), (TreeLinf, linf_prox)):
        lam = make(1.0, parent, node_of, weights).lambda_max(grad)
        if not np.any(np.abs(grad) > 1e-3):
            assert lam <= 1e-2
            continue
        above = composed(prox, grad, parent, node_of, lam * (1 + 1e-9) * weights)
        below = composed(prox, grad, parent, node_of, lam * (1 - 1e-6) * weights)
        assert np.abs(above).max() <= 1e-7
        assert np.abs(below).max() > 0


@settings(max_examples=100, deadline=None)
@given(forests(), st.data())
def test_collapsed_trees_are_expanded_trees(forest: Any, data: Any) -> None:
    """A node of multiplicity c is a path of c nodes with equal coordinates."""
    parent, node_of, weights, w = forest
    copies = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(parent), max_size=len(parent))))
    first = np.concatenate([[0], np.cumsum(copies)])[:-1]  # top of the path of v
    big_parent: list[int] = []
    for v in range(len(parent)):
        top = -1 if parent[v] < 0 else first[parent[v]] + copies[parent[v]] - 1
        big_parent += [top, *range(first[v], first[v] + copies[v] - 1)]
    big_node, source = [], []
    for i, v in enumerate(node_of):
        for k in range(copies[v] if v >= 0 else 1):
            big_node.append(first[v] + k if v >= 0 else -1)
            source.append(i)
    small = TreeLinf(0.4, parent, node_of, weights, multiplicity=copies)
    big = TreeLinf(0.4, big_parent, big_node, np.repeat(weights, copies))
    assert small.value(w) == pytest.approx(big.value(w[source]), abs=1e-12)
    u = proxed(small, w)
    np.testing.assert_allclose(u[source], proxed(big, w[source]), atol=1e-12)
    grad = np.round(np.random.default_rng(0).standard_normal(w.size), 1)
    times = np.where(
        np.asarray(node_of) < 0, 1, copies[node_of]
    )  # the gradient of a shared value is that of all
    np.testing.assert_allclose(
        (small.residual(u, times * grad) / times)[source], big.residual(u[source], grad[source]), atol=1e-12
    )
    assert small.lambda_max(times * grad) == pytest.approx(big.lambda_max(grad[source]), abs=1e-12)


def random_parents(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.array([-1, *(int(rng.integers(0, v)) for v in range(1, n))])


def test_constant_paths_stay_constant() -> None:
    """Prop. 1 of Nelakanti 2014, §3.3: for ℓT∞, and not for ℓT2."""
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(50):
        parent = random_parents(rng, 15)
        w = rng.standard_normal(15)
        only_child = [v for v in range(1, 15) if np.sum(parent == parent[v]) == 1]
        for v in only_child:
            w[v] = w[parent[v]]
        linf, l2 = proxed(TreeLinf(0.3, parent), w), proxed(TreeL2(0.3, parent), w)
        for v in only_child:
            assert linf[v] == pytest.approx(linf[parent[v]], abs=1e-13)
            broken += abs(l2[v] - l2[parent[v]]) > 1e-3
    assert broken > 0


def test_a_constant_path_is_one_stronger_group() -> None:
    """Prop. 2: |P| proxes along a constant path are one prox with |P|κ on its top group."""
    rng = np.random.default_rng(0)
    for length in (2, 3, 5):
        below = rng.standard_normal(6)
        path_parent = [-1, *range(length - 1), *([length - 1] * 6)]
        w = np.concatenate([np.full(length, 1.3), below])
        weights = np.concatenate([np.ones(length), np.zeros(6)])
        once = linf_prox(w, 0.4 * length)
        np.testing.assert_allclose(proxed(TreeLinf(0.4, path_parent, weights=weights), w), once, atol=1e-12)


def test_agrees_with_spams() -> None:
    spams = pytest.importorskip("spams")
    from scipy import sparse

    rng = np.random.default_rng(0)
    n = 300
    parent = np.array([-1, *(max(0, v - int(rng.integers(1, 4))) for v in range(1, n))])
    # SPAMS wants nodes in depth-first order, which is that of the ranks of the paths from the root.
    paths = []
    for v in range(n):
        path = [v]
        while parent[path[-1]] >= 0:
            path.append(parent[path[-1]])
        paths.append(path[::-1])
    order = sorted(range(n), key=lambda v: paths[v])
    rank = np.empty(n, dtype=int)
    rank[order] = np.arange(n)
    sorted_parent = np.array([-1 if parent[v] < 0 else rank[parent[v]] for v in order])
    tree = {
        "eta_g": rng.uniform(0.5, 2, n),
        "groups": sparse.csc_matrix((np.ones(n - 1, bool), (np.arange(1, n), sorted_parent[1:])), (n, n)),
        "own_variables": np.arange(n, dtype=np.int32),
        "N_own_variables": np.ones(n, dtype=np.int32),
    }
    w = rng.standard_normal(n)
    for name, penalty in (("tree-l2", TreeL2), ("tree-linf", TreeLinf)):
        theirs = spams.proximalTree(
            np.asfortranarray(w[:, None]), tree, numThreads=1, lambda1=0.1, regul=name
        )[:, 0]
        ours = proxed(penalty(0.1, sorted_parent, weights=tree["eta_g"]), w)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("shape", ["chain", "reversed chain", "star", "caterpillar"])
def test_deep_and_wide_trees(shape: str) -> None:
    """No recursion, whatever the depth; checked by the optimality of the result."""
    n = 100_000
    parent = {
        "chain": np.arange(n) - 1,
        "reversed chain": np.append(np.arange(1, n), -1),
        "star": np.append(-1, np.zeros(n - 1, dtype=int)),
        "caterpillar": np.where(np.arange(n) % 2 == 0, np.arange(n) - 2, np.arange(n) - 1).clip(-1),
    }[shape]
    w = np.random.default_rng(0).standard_normal(n)
    for penalty in (TreeL2(1e-3, parent), TreeLinf(1e-3, parent)):
        u = proxed(penalty, w)
        assert np.count_nonzero(u) > 0
        assert penalty.violation(u, u - w) < 1e-9


def test_bad_forests_are_refused() -> None:
    for make in (TreeL2, TreeLinf):
        with pytest.raises(OptionError, match="cycle: node 1"):
            make(1.0, [-1, 2, 1])
        with pytest.raises(OptionError, match="cycle"):
            make(1.0, [0])
        with pytest.raises(OptionError, match="nodes from 0 to 1"):
            make(1.0, [-1, 2])
        with pytest.raises(OptionError, match="nodes from 0 to 1"):
            make(1.0, [-1, 0], node_of=[0, 2])
        with pytest.raises(OptionError, match="-1"):
            make(1.0, [-2])
        with pytest.raises(OptionError, match="whole numbers"):
            make(1.0, [0.5])
        with pytest.raises(OptionError, match="weights"):
            make(1.0, [-1, 0], weights=[1.0])
    with pytest.raises(OptionError, match="multiplicity"):
        TreeLinf(1.0, [-1, 0], multiplicity=[1, 0])


def test_from_nested_groups() -> None:
    class Nested:
        weights = np.array([1.0, 2.0])

        def to_forest(self) -> tuple[np.ndarray, np.ndarray]:
            return np.array([-1, 0]), np.array([0, 1, -1])

    w = np.array([3.0, 4.0, 9.0])
    assert TreeL2.from_groups(1.0, Nested()).value(w) == 5.0 + 2 * 4.0
    assert TreeLinf.from_groups(1.0, Nested()).value(w) == 4.0 + 2 * 4.0
    assert TreeL2.from_groups(1.0, Nested()).describe() == "tree ℓ2, 2 nodes, λ = 1"


def test_an_empty_forest_penalises_nothing() -> None:
    for make in (TreeL2, TreeLinf):
        penalty = make(1.0, np.empty(0, dtype=int), node_of=[-1, -1])
        w = np.array([1.0, -2.0])
        assert penalty.value(w) == 0.0
        np.testing.assert_array_equal(proxed(penalty, w), w)
        np.testing.assert_array_equal(penalty.residual(w, w), w)
        assert penalty.lambda_max(w) == 0.0


def test_groups_of_the_structure_package() -> None:
    """Their arrays are frozen; kernels must not be compiled a second time for that."""
    from spinney.optim.penalties import _kernels, _overlap_kernels
    from spinney.structure import Groups

    groups = Groups.from_lists([[0, 1, 2, 3], [1, 2], [3]], n_features=5, weights=np.ones(3))
    w = np.array([3.0, 1.0, -2.0, 0.5, 9.0])
    same = TreeL2(0.3, [-1, 0, 0], [0, 1, 1, 2, -1])
    np.testing.assert_allclose(proxed(TreeL2.from_groups(0.3, groups), w), proxed(same, w), atol=1e-14)
    np.testing.assert_allclose(proxed(OverlappingGroups(0.3, groups), w), proxed(same, w), atol=1e-12)
    assert len(_kernels.tree_l2_prox.signatures) == 1
    assert len(_overlap_kernels.group_sweeps.signatures) == 1
