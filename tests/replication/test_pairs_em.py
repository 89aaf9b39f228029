"""Mixtures over pairs of words against EM written out, against each other, and against known tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.pairs_em import AggregateBigram, PairMixture
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from spinney.errors import InputError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore:EM stopped:sklearn.exceptions.ConvergenceWarning")
BOTH = pytest.mark.parametrize("model", [PairMixture, AggregateBigram])


def table(seed, shape=(6, 7)):
    return np.random.default_rng(seed).poisson(1.5, shape).astype(float)


def brute_force(N, p_h, p_x, p_y, steps):
    """EM for naive Bayes over pairs, over the full table of (x, y, h)."""
    trace = []
    while True:
        joint = p_h * p_x[:, None, :] * p_y[None, :, :]
        total = joint.sum(axis=2)
        trace.append(np.sum(N[N > 0] * np.log(total[N > 0])))
        if len(trace) == steps:
            return p_h, p_x, p_y, trace
        q = N[:, :, None] * joint / np.where(total > 0, total, 1)[:, :, None]
        mass = q.sum(axis=(0, 1))
        p_h, p_x, p_y = mass / mass.sum(), q.sum(axis=1) / mass, q.sum(axis=0) / mass


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_is_em_written_out(seed, classes, threads):
    N = table(seed)
    options = {"n_init": 1, "tol": 0.0, "random_state": seed, "threads": threads}
    first = PairMixture(classes, max_iter=1, **options).fit(N)  # the start itself
    found = PairMixture(classes, max_iter=12, **options).fit(sparse.csr_matrix(N))
    p_h, p_x, p_y, trace = brute_force(N, first.weights_, first.first_, first.second_, found.n_iter_)
    np.testing.assert_allclose(found.trace_, trace, rtol=1e-10)
    np.testing.assert_allclose(found.weights_, p_h, atol=1e-9)
    np.testing.assert_allclose(found.first_, p_x, atol=1e-8)
    np.testing.assert_allclose(found.second_, p_y, atol=1e-8)


@BOTH
@given(seed=st.integers(0, 1000), classes=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_every_step_raises_the_likelihood(model, seed, classes):
    found = model(classes, n_init=2, max_iter=40, tol=0.0, random_state=seed).fit(table(seed))
    assert np.all(np.diff(found.trace_) >= -1e-9 * abs(found.log_likelihood_))
    vectors = found.word_vectors([f"w{i}" for i in range(6)]).matrix
    seen = table(seed).sum(axis=1) > 0
    np.testing.assert_allclose(vectors[seen].sum(axis=1), 1)
    assert np.all(vectors[~seen] == 0)


def test_the_two_models_are_one():
    """p(x, y) = p(x) p(y | x), and p(x) is the frequency of x: from one start both take the same way."""
    N = table(3)
    options = {"n_init": 1, "max_iter": 30, "tol": 0.0}
    joint, conditional = PairMixture(3, **options).fit(N), AggregateBigram(3, **options).fit(N)
    p_x = N.sum(axis=1) / N.sum()
    of_first = np.sum(N.sum(axis=1) * np.log(np.where(p_x > 0, p_x, 1)))
    np.testing.assert_allclose(joint.trace_, np.array(conditional.trace_) + of_first, rtol=1e-10)
    words = list("abcdef")
    np.testing.assert_allclose(
        joint.word_vectors(words).matrix, conditional.word_vectors(words).matrix, atol=1e-9
    )


def test_one_class_is_independence():
    N = table(0)
    p_x, p_y = N.sum(axis=1) / N.sum(), N.sum(axis=0) / N.sum()
    found = PairMixture(1).fit(N)
    np.testing.assert_allclose(found.first_[:, 0], p_x)
    np.testing.assert_allclose(found.second_[:, 0], p_y)
    assert found.score(N) == pytest.approx(np.sum(N * np.log(np.outer(p_x, p_y))) / N.sum())
    assert found.perplexity(N) == pytest.approx(np.exp(-found.score(N)))
    assert AggregateBigram(1).fit(N).score(N) == pytest.approx(np.sum(N * np.log(p_y)) / N.sum())


@BOTH
def test_enough_classes_give_the_table_itself(model):
    N = table(1, (4, 4)) + 1
    found = model(4, n_init=10, max_iter=20_000, tol=1e-13).fit(N)
    given_x = N / N.sum(axis=1, keepdims=True)
    p = N / N.sum() if model is PairMixture else given_x
    assert found.score(N) == pytest.approx(np.sum(N * np.log(p)) / N.sum(), abs=1e-4)


@BOTH
def test_blocks_are_found(model):
    rng = np.random.default_rng(0)
    rows, columns = np.arange(30) % 3, np.arange(24) % 3
    N = rng.poisson(2.0, (30, 24)) * (rows[:, None] == columns)
    vectors = model(3, n_init=10).fit(N).word_vectors([str(i) for i in range(30)]).matrix
    classes = vectors.argmax(axis=1)
    assert all(len(set(classes[rows == c])) == 1 for c in range(3))
    assert len(set(classes)) == 3


@BOTH
def test_threads_and_seeds(model):
    N = table(5, (40, 30))
    options = {"n_classes": 4, "max_iter": 30}
    one, again, two = (model(threads=t, **options).fit(N) for t in (1, 1, 2))
    assert one.trace_ == again.trace_
    np.testing.assert_allclose(one.trace_, two.trace_, rtol=1e-12)
    assert clone(one).get_params() == one.get_params()


@BOTH
def test_pairs_never_seen(model):
    found = model(2).fit(np.array([[1, 0], [0, 1], [0, 0]]))
    assert np.isfinite(found.log_likelihood_)
    assert found.score(np.array([[0, 0], [0, 0], [1, 0]])) == -np.inf


@BOTH
def test_bad_input_and_early_stops_are_told(model):
    N = table(0)
    with pytest.raises(InputError, match="no pairs"):
        model(2).fit(np.zeros((3, 3)))
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="negative or no number"):
            model(2).fit(np.array([[1.0, bad]]))
    for options in ({"n_classes": 0}, {"max_iter": 0}, {"n_init": 0}, {"tol": -1.0}):
        with pytest.raises(OptionError, match="at least"):
            model(**options).fit(N)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        found = model(3, max_iter=2).fit(N)
    with pytest.raises(OptionError, match="model of"):
        found.score(N[:, :3])
