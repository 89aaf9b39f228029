"""Parameters of hidden Markov models out of their moments."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.recovery import recover_parameters

from spinney.corpus import sentence_arrays
from spinney.embed.spectral_hmm import SpectralHMM
from spinney.errors import NotFittedError, OptionError


def random_hmm(m, extra, seed):
    rng = np.random.default_rng(seed)
    n = m + extra
    T = 0.5 * np.eye(m)[rng.permutation(m)] + 0.5 * rng.dirichlet(np.ones(m), m).T
    O = 0.6 * np.eye(n)[rng.permutation(n)[:m]].T + 0.4 * rng.dirichlet(np.ones(n), m).T
    return 0.5 / m + 0.5 * rng.dirichlet(np.ones(m)), T, O


def moments(pi, T, O):
    pairs = O @ T @ np.diag(pi) @ O.T
    return O @ pi, pairs, np.stack([O @ T @ np.diag(o) @ T @ np.diag(pi) @ O.T for o in O])


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 10_000),
    st.sampled_from(["full", "reduced"]),
    st.sampled_from(["none", "sqrt"]),
)
def test_exact_moments_give_the_parameters_up_to_the_order_of_states(m, extra, seed, variant, scaling):
    pi, T, O = random_hmm(m, extra, seed)
    found = recover_parameters(
        SpectralHMM.from_moments(*moments(pi, T, O), m, variant, scaling=scaling), random_state=seed
    )
    order = list(min(permutations(range(m)), key=lambda p: np.abs(found.emission[:, list(p)] - O).sum()))
    np.testing.assert_allclose(found.emission[:, order], O, atol=1e-6)
    np.testing.assert_allclose(found.transition[np.ix_(order, order)], T, atol=1e-6)
    np.testing.assert_allclose(found.start[order], pi, atol=1e-6)
    assert found.clipped < 1e-6


@pytest.mark.parametrize("variant", ["full", "reduced"])
def test_counts_give_laws(variant):
    rng = np.random.default_rng(0)
    text = sentence_arrays([[f"w{x}" for x in rng.integers(0, 9, 6)] for _ in range(60)])
    model = SpectralHMM(6, variant, pseudo=1.0).fit(text)
    found = recover_parameters(model, floor=0.01)
    for law in (found.start, found.transition, found.emission):
        np.testing.assert_allclose(law.sum(axis=0), 1.0, atol=1e-12)
        assert law.min() > 0
    assert found.emission.shape == (10, 6)  # nine words and the end mark
    assert 0 < found.clipped < 1


def test_a_sample_gives_nearly_the_parameters():
    """The chain: after a and b always the other, then the end; c alone."""
    text = sentence_arrays([["a", "b"], ["b", "a"], ["c"], ["a", "b", "a"]] * 50)
    model = SpectralHMM(4, pseudo=0.0, shrinkage=0.0, interpolation=0.0).fit(text)
    found = recover_parameters(model)
    assert np.isfinite(found.emission).all()
    assert abs(found.start.sum() - 1) < 1e-12


def test_what_is_refused():
    with pytest.raises(NotFittedError):
        recover_parameters(SpectralHMM(2))
    model = SpectralHMM.from_moments(*moments(*random_hmm(2, 1, 0)), 2)
    with pytest.raises(OptionError, match="tries"):
        recover_parameters(model, tries=0)
