"""Dictionary learning with tree norms, against scikit-learn, the exact prox of `optim`, and planted dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix, random_array
from sklearn.decomposition import sparse_encode

from spinney.embed.code_trees import as_code_forest, code_forest
from spinney.embed.sparse_coding import SparseCoding, State
from spinney.errors import InputError, NotFittedError, OptionError
from spinney.optim.penalties import TreeL2
from spinney.structure import Groups

QUICK = {"rounds": 1, "passes": 3, "span_passes": 3, "threads": 1}


def _matrix(words=150, contexts=60, density=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return csr_array(
        random_array((words, contexts), density=density, rng=rng, data_sampler=rng.standard_normal)
    )


def _planted(seed=0, words=600, contexts=40, atoms=8):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((atoms, contexts))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    codes = rng.standard_normal((words, atoms)) * (rng.random((words, atoms)) < 0.25) * 5
    return codes @ D, D


# -- forests ----------------------------------------------------------------------------------------------


def test_the_default_tree_has_thirteen_nodes_and_three_levels():
    parent = code_forest(4)
    assert len(parent) == 52
    roots = np.flatnonzero(parent < 0)
    assert roots.tolist() == [0, 13, 26, 39]
    assert np.bincount(parent[parent >= 0])[roots].tolist() == [4, 4, 4, 4]
    assert len(set(as_code_forest(parent).trees.tolist())) == 4


def test_branching_of_any_depth():
    assert code_forest(3, ()).tolist() == [-1, -1, -1]
    assert code_forest(1, (1, 1, 2)).tolist() == [-1, 0, 1, 2, 2]
    assert len(code_forest(2, (3, 3))) == 26


@pytest.mark.parametrize("bad", [(0, (4, 2)), (1, (4, 0))])
def test_forests_without_trees_or_branches(bad):
    with pytest.raises(OptionError, match="at least 1"):
        code_forest(*bad)


@pytest.mark.parametrize("bad", [[1, 2, 0], [0], [-2, 0], [5, -1], [], [[-1]], [0.5, -1.0]])
def test_arrays_that_are_no_forest(bad):
    with pytest.raises(OptionError):
        as_code_forest(bad)


def test_groups_make_a_forest_with_their_weights():
    groups = Groups.from_lists([[2], [0, 1, 2], [3]], n_features=4, weights=[2.0, 3.0, 5.0])
    codes = np.array([[3.0, 0.0, 4.0, 1.0]])
    assert as_code_forest(groups).value(codes) == pytest.approx(2 * 4 + 3 * 5 + 5 * 1)
    with pytest.raises(OptionError, match="in no group"):
        as_code_forest(Groups.from_lists([[0]], n_features=2))
    with pytest.raises(OptionError, match="above 0"):
        as_code_forest(Groups.from_lists([[0]], n_features=1, weights=[0.0]))


@st.composite
def parents(draw):
    n = draw(st.integers(1, 20))
    sorted_parent = [draw(st.integers(-1, v - 1)) for v in range(n)]
    order = draw(st.permutations(range(n)))
    parent = np.empty(n, np.int64)
    for v, p in enumerate(sorted_parent):
        parent[order[v]] = -1 if p < 0 else order[p]
    return parent


@given(parents(), st.integers(0, 10**6), st.floats(0.01, 2.0))
@settings(max_examples=40, deadline=None)
def test_the_prox_of_many_words_is_that_of_each(parent, seed, threshold):
    from spinney.embed._coding_kernels import tree_prox

    codes = np.random.default_rng(seed).standard_normal((len(parent), 9))
    forest = as_code_forest(parent)
    found = codes.copy()
    radius = threshold * forest.weights
    tree_prox(found, forest.node, forest.parent, radius, np.empty((len(parent), 9)))
    penalty = TreeL2(threshold, parent)
    for column, code in zip(found.T, codes.T.copy()):
        penalty.prox(code, 1.0)
        np.testing.assert_allclose(column, code, rtol=0, atol=1e-12)
    assert threshold * forest.value(codes.T) == pytest.approx(sum(penalty.value(c) for c in codes.T.copy()))


# -- codes for a dictionary -------------------------------------------------------------------------------


def _fitted(X, **options):
    return SparseCoding(**{"n_codes": 13, "lam": 0.5, **QUICK, **options}).fit(X)


@pytest.mark.parametrize("words", [1, 63, 150])
def test_codes_are_optimal(words):
    X = _matrix(words)
    model = _fitted(X, tol=1e-10)
    penalty = TreeL2(model.lam, code_forest(1))
    D = model.dictionary_
    grad = 2 * (model.codes_ @ D - X.toarray()) @ D.T
    violations = [np.abs(penalty.residual(a, g)).max() for a, g in zip(model.codes_, grad)]
    assert max(violations) < 1e-7
    assert 0 < model.nonzero_share_ < 1


def test_lasso_codes_are_those_of_scikit_learn():
    X = _matrix()
    model = _fitted(X, penalty="lasso", lam=0.7)
    # Its loss has a factor 1/2.
    peer = sparse_encode(X.toarray(), model.dictionary_, algorithm="lasso_lars", alpha=0.35, max_iter=10_000)
    np.testing.assert_allclose(model.codes_, peer, atol=1e-6)


def test_a_dimension_is_used_only_with_its_ancestors():
    parent = code_forest(2)
    codes = _fitted(_matrix(400), n_codes=26, lam=1.0).codes_
    used = codes != 0
    below = parent >= 0
    assert not np.any(used[:, below] & ~used[:, parent[below]])
    assert np.any(used[:, parent[below]] & ~used[:, below])


def test_objective_and_gap():
    X = _matrix()
    model = _fitted(X, tol=1e-10)
    penalty = TreeL2(model.lam, code_forest(1))
    loss = np.linalg.norm(X.toarray() - model.codes_ @ model.dictionary_) ** 2
    value = loss + sum(penalty.value(a) for a in model.codes_)
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert -1e-9 <= model.gap_ <= 1e-6 * model.objective_
    loose = _fitted(X, max_iter=4, rounds=0)
    tight = _fitted(X, rounds=0)
    assert loose.objective_ - tight.objective_ <= loose.gap_


def test_transform_gives_the_codes_of_the_fit():
    X = _matrix()
    model = _fitted(X)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-6)
    np.testing.assert_allclose(model.transform(X[:1]), model.codes_[:1], atol=1e-6)


# -- dictionaries -----------------------------------------------------------------------------------------


def test_the_objective_falls_and_atoms_stay_in_the_unit_ball():
    X = _matrix(800, 100)
    model = _fitted(X, rounds=3, passes=4, span_passes=6, batch_size=128)
    objectives = np.array([one["objective"] for one in model.trace_] + [model.objective_])
    assert len(objectives) == 31
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert np.linalg.norm(model.dictionary_, axis=1).max() <= 1 + 1e-12


@pytest.mark.parametrize("contexts", [7, 30], ids=["few contexts", "many contexts"])
def test_atoms_are_a_stationary_point_of_their_own_problem(contexts):
    """Against projected gradient descent on the dictionary alone."""
    rng = np.random.default_rng(3)
    codes, X = rng.standard_normal((50, 4)), rng.standard_normal((50, contexts))
    D = rng.standard_normal((contexts, 4)) / 10
    state = State(codes, D, D.T @ D, codes.T @ codes, X.T @ codes)
    state.fit_atoms(sweeps=500)
    slow = D.copy()
    step = 1 / np.linalg.norm(state.G, 2)
    for _ in range(20_000):
        slow += step * (state.H - slow @ state.G)
        slow /= np.maximum(1, np.linalg.norm(slow, axis=0))
    np.testing.assert_allclose(state.D, slow, atol=1e-8)
    np.testing.assert_allclose(state.gram, state.D.T @ state.D, atol=1e-12)


def test_a_planted_dictionary_is_found():
    X, D = _planted()
    model = SparseCoding(8, "lasso", lam=1.0, rounds=2, passes=10, span_passes=30, threads=1).fit(X)
    alike = np.abs(D @ model.dictionary_.T)
    assert alike.max(axis=1).min() > 0.99
    assert set(alike.argmax(axis=1)) == set(range(8))


def test_passes_within_the_span_do_not_leave_it():
    X = _matrix()
    before = _fitted(X, passes=5, span_passes=0)
    after = _fitted(X, passes=5, span_passes=20)
    assert after.objective_ < before.objective_


def test_unused_atoms_begin_again():
    rng = np.random.default_rng(0)
    X = _matrix().toarray()
    state = State.beginning(np.eye(60)[:, :3], 150)
    state.codes[:, 0] = 1.0
    state.count(X)
    state.revive(X, rng)
    assert np.array_equal(state.D[:, 0], np.eye(60)[0])
    np.testing.assert_allclose(np.linalg.norm(state.D, axis=0), 1)
    assert np.count_nonzero(state.D[:, 1]) > 1


# -- what goes in -----------------------------------------------------------------------------------------


def test_results_repeat_to_the_last_bit():
    X = _matrix(300)
    for threads in (1, 2):
        one, other = (_fitted(X, threads=threads, batch_size=100) for _ in range(2))
        assert np.array_equal(one.codes_, other.codes_)
        assert np.array_equal(one.dictionary_, other.dictionary_)
        assert one.objective_ == other.objective_


def test_formats_of_the_matrix():
    X = _matrix()
    reference = _fitted(X).objective_
    for other in (csr_matrix(X), csc_array(X), X.toarray()):
        assert _fitted(other).objective_ == pytest.approx(reference, rel=1e-9)


def test_empty_rows_have_empty_codes():
    X = _matrix().toarray()
    X[[3, 77]] = 0
    model = _fitted(csr_array(X))
    assert not model.codes_[[3, 77]].any()
    nothing = _fitted(csr_array((20, 30)))
    assert not nothing.codes_.any()
    assert nothing.objective_ == nothing.gap_ == 0


def test_fewer_words_or_contexts_than_atoms():
    assert _fitted(_matrix(5)).codes_.shape == (5, 13)
    assert _fitted(_matrix(50, 4)).dictionary_.shape == (13, 4)


def test_a_strong_penalty_leaves_nothing():
    X = _matrix()
    model = _fitted(X, lam=1e4)
    assert model.nonzero_share_ == 0
    assert model.objective_ == pytest.approx(X.power(2).sum())


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 0.0}, {"lam": -1.0}, {"lam": float("nan")}, {"tol": 0.0}, {"n_codes": 12}, {"n_codes": 0},
        {"penalty": "ridge"}, {"penalty": "lasso", "forest": [-1]}, {"forest": [-1, 0]}, {"passes": 0},
        {"rounds": -1}, {"batch_size": 0}, {"threads": 0}, {"max_iter": 1.5},
    ],
)  # fmt: skip
def test_bad_options(options):
    with pytest.raises(OptionError):
        _fitted(_matrix(), **options)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((0, 3)), np.full((2, 2), np.nan), csr_array((4, 0))])
def test_bad_matrices(bad):
    with pytest.raises(InputError):
        _fitted(bad)


def test_transform_needs_a_fit_and_its_contexts():
    with pytest.raises(NotFittedError):
        SparseCoding().transform(_matrix())
    with pytest.raises(InputError, match="60"):
        _fitted(_matrix()).transform(_matrix(contexts=59))
