from __future__ import annotations

import numpy as np
import pytest
from methods.hellinger import HellingerClassifier, hellinger_rows
from scipy import sparse
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.errors import InputError, OptionError


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # some checks allow few iterations
# Two fits of one problem agree to the tolerance they were given: the checks want a small one.
@parametrize_with_checks(
    [HellingerClassifier(tol=1e-8, max_iter=100_000, loss=loss) for loss in ("hinge", "squared_hinge")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def kernel(P, Q, widths):
    """Σ over blocks of Σ √(p q), of rows normalised block by block, one pair at a time."""
    K = np.zeros((len(P), len(Q)))
    ends = np.cumsum(widths)
    for start, stop in zip(ends - widths, ends):
        for i, p in enumerate(P[:, start:stop]):
            for j, q in enumerate(Q[:, start:stop]):
                K[i, j] += np.sqrt(p / p.sum() * (q / q.sum())).sum()
    return K


def problem(n=40, widths=(4, 6), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    blocks = [
        rng.dirichlet(np.where(np.arange(w) % 2, 1.0, 2.0), n) + 0.3 * y[:, None] * np.eye(w)[0]
        for w in widths
    ]
    return np.hstack(blocks) * rng.uniform(0.5, 20, (n, 1)), y


@pytest.mark.parametrize("widths", [(10,), (4, 6)])
def test_is_the_kernel_machine(widths):
    X, y = problem()
    new, _ = problem(seed=1)
    machine = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(kernel(X, X, widths), y)
    # The kernel machine leaves its intercept free; with a column of 100 the penalty on it is next to nothing.
    model = HellingerClassifier(
        loss="hinge", C=2.0, blocks=widths, intercept_scaling=100.0, tol=1e-8, max_iter=10_000_000
    ).fit(X, y)
    expected = machine.decision_function(kernel(new, X, widths))
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(model.decision_function(new), expected, atol=2e-3)


def test_rows_sum_to_one_by_block():
    X = np.random.default_rng(0).gamma(1.0, size=(5, 7))
    X[2, 3:] = 0
    roots = hellinger_rows(X, [3, 4])
    np.testing.assert_allclose((roots[:, :3] ** 2).sum(axis=1), 1)
    np.testing.assert_allclose((roots[:, 3:] ** 2).sum(axis=1), [1, 1, 0, 1, 1])


def test_sparse_is_dense():
    X, y = problem(widths=(3, 7))
    X[X < 0.5] = 0
    X[0] = 0
    wide = hellinger_rows(X, [3, 7])
    thin = hellinger_rows(sparse.csr_matrix(X), [3, 7])
    assert sparse.issparse(thin)
    np.testing.assert_allclose(thin.toarray(), wide, rtol=1e-14)
    labels = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
    dense = HellingerClassifier(blocks=[3, 7]).fit(X, labels)
    few = HellingerClassifier(blocks=[3, 7]).fit(sparse.csr_matrix(X), labels)
    np.testing.assert_allclose(few.decision_function(X), dense.decision_function(X), atol=1e-6)


def test_one_hot_rows_keep_their_scale():
    """A class or a word as a column of ones and zeros is a distribution already."""
    one_hot = np.eye(4)[[0, 1, 2, 3, 1]]
    np.testing.assert_array_equal(hellinger_rows(one_hot), one_hot)


def test_input_is_left_as_it_was():
    X, y = problem()
    before = X.copy()
    HellingerClassifier().fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before)
    rows = sparse.csr_matrix(X)
    HellingerClassifier().fit(rows, y).predict(rows)
    np.testing.assert_array_equal(rows.toarray(), before)


def test_errors():
    X, y = problem()
    for blocks in ([4, 5], [0, 10], [12, -2], []):
        with pytest.raises(OptionError, match="sum to 10 columns"):
            HellingerClassifier(blocks=blocks).fit(X, y)
    with pytest.raises(InputError, match="Negative values"):
        HellingerClassifier().fit(-X, y)
