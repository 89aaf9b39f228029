"""The tree-guided group Lasso: its prox against a generic solver, its certificate, its weights of nodes."""

import numpy as np
import pytest
from scipy.optimize import minimize

from spinney.errors import OptionError
from spinney.optim import MultinomialLoss, OutputTree, Structure, Tree, lambda_max, penalty, solve
from spinney.optim.penalties.output_tree import node_weights

#: Four outputs: ((0, 1), (2, 3)), and a tree of three levels with an output at the root's side.
TREES = [([4, 4, 5, 5, 6, 6, -1], [0, 1, 2, 3]), ([4, 4, 5, 6, 5, 6, -1], [0, 1, 2, 3])]


def subtrees(parent, node_of):
    """The outputs below each node, by climbing from every output."""
    below = [[] for _ in parent]
    for output, node in enumerate(node_of):
        while node >= 0:
            below[node].append(output)
            node = parent[node]
    return below


def written_out(W, parent, node_of, weights):
    return sum(
        weight * np.linalg.norm(row[outputs])
        for row in W
        for weight, outputs in zip(weights, subtrees(parent, node_of))
    )


@pytest.mark.parametrize(("parent", "node_of"), TREES)
def test_value_and_prox_are_those_of_the_definition(parent, node_of):
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.2, 1.0, len(parent))
    made = OutputTree(0.7, parent, node_of, weights, n_features=3)
    W = rng.standard_normal((3, 4)) * [[2.0], [0.5], [1.0]]
    assert made.value(W.ravel()) == pytest.approx(0.7 * written_out(W, parent, node_of, weights))
    found = W.ravel().copy()
    made.prox(found, 0.6)
    # Norms with smoothed corners, which a generic solver can minimise.
    groups = [(i, outputs) for i in range(3) for outputs in subtrees(parent, node_of)]
    factors = np.tile(weights, 3) * 0.7 * 0.6

    def smoothed(v):
        V = v.reshape(3, 4)
        gradient, total = V - W, 0.5 * np.sum((V - W) ** 2)
        for factor, (i, outputs) in zip(factors, groups):
            norm = np.sqrt(V[i, outputs] @ V[i, outputs] + 1e-12)
            total += factor * norm
            gradient[i, outputs] += factor * V[i, outputs] / norm
        return total, gradient.ravel()

    generic = minimize(
        smoothed, W.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15}
    )
    np.testing.assert_allclose(found, generic.x, atol=2e-4)


@pytest.mark.parametrize(("parent", "node_of"), TREES)
def test_the_residual_is_what_the_definition_leaves(parent, node_of):
    rng = np.random.default_rng(1)
    made = OutputTree(0.5, parent, node_of, n_features=2)
    w, grad = rng.standard_normal(8), rng.standard_normal(8)  # no weight is 0: the norm has a gradient
    step = 1e-6
    slopes = [(made.value(w + step * e) - made.value(w - step * e)) / (2 * step) for e in np.eye(8)]
    np.testing.assert_allclose(made.residual(w, grad), grad + slopes, atol=1e-7)


def test_classes_of_a_node_lose_a_feature_together_and_the_gap_proves_it():
    rng = np.random.default_rng(2)
    W = np.zeros((12, 4))
    W[0, :2], W[1, 2:], W[2, 0] = 2.0, 2.0, 2.0
    X = rng.standard_normal((300, 12))
    y = (X @ W + rng.gumbel(size=(300, 4))).argmax(axis=1)
    loss = MultinomialLoss(X, y)
    made = OutputTree(1.0, *TREES[0], n_features=12)
    largest = lambda_max(loss, made)
    for share, empty in ((1.001, True), (0.99, False)):
        assert (not solve(loss, made.with_lam(share * largest)).w[:48].any()) == empty
    solution = solve(loss, made.with_lam(0.4 * largest), tol=1e-8)
    assert solution.converged
    assert solution.gap < 1e-8
    found = solution.w[:48].reshape(12, 4)
    assert found[2, 0] > 0
    assert not found[2, 2:].any()
    assert np.count_nonzero(found.any(axis=1)) < 12
    # No random step is better: the certificate's word for it is checked against the objective itself.
    value = loss.value_and_grad(solution.w)[0] + made.with_lam(0.4 * largest).value(solution.w[:48])
    for _ in range(200):
        near = solution.w + 1e-2 * rng.standard_normal(solution.w.size)
        assert value <= loss.value_and_grad(near)[0] + made.with_lam(0.4 * largest).value(near[:48])


def test_weights_of_nodes_add_up_to_one_on_the_way_to_each_output():
    rng = np.random.default_rng(3)
    for _ in range(20):
        parent = [-1, *(int(rng.integers(0, v)) for v in range(1, 12))]
        weights = node_weights(parent)
        for leaf in set(range(12)) - set(parent):
            total, v = 0.0, leaf
            while v >= 0:
                total, v = total + weights[v], parent[v]
            assert total == pytest.approx(1.0)


def test_what_is_refused():
    with pytest.raises(OptionError, match="node_of must be nodes from 0 to 2"):
        OutputTree(1.0, [2, 2, -1], [0, 3], n_features=2)
    with pytest.raises(OptionError, match="too large"):
        OutputTree(1.0, [2, 2, -1], [0, 1], n_features=2**30)
    tree = Structure(output_tree=lambda: Tree([2, 2, -1], [0, 1]), n_features=3, n_outputs=2)
    told = "tree of outputs, 3 nodes for each of 3 features, λ = 2"
    assert penalty("tree-output", tree, lam=2.0).describe() == told
