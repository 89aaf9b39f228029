"""Second derivatives of the CRF loss against differences of its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from methods.curvature import approximate_second_derivatives, exact_second_derivative

from spinney.errors import OptionError
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.support import Support


def random_loss(seed, *, labels=3, start=True, valued=False, weighted=False, distinct=False, support=False):
    """Six sentences of up to five tokens with two observations each, of six; ``distinct``: one each, no repeats."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, 6)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if distinct:
        ids, width = np.concatenate([rng.permutation(6)[:n] for n in lengths]), 1
    else:
        ids, width = rng.integers(0, 6, 2 * offsets[-1]), 2
    ptr = np.arange(0, len(ids) + 1, width)
    seen = Observations(ptr, ids.astype(np.int32), 6, rng.normal(size=len(ids)) if valued else None)
    data = Sequences(
        offsets,
        seen,
        seen,
        labels=rng.integers(0, labels, offsets[-1]).astype(np.int32),
        weights=rng.random(6) * 2 if weighted else None,
    )
    loss = CRFLoss(data, labels, start=start, threads=1)
    if support:
        chosen = np.sort(rng.permutation(loss.n_params)[:30])
        loss = loss.restricted(Support.of(chosen, loss.shape))
    return loss, rng.normal(size=loss.n_params)


def difference(loss, w, k, step=1e-5):
    """The second derivative by differences of the gradient."""
    e = np.zeros(len(w))
    e[k] = step
    return (loss.value_and_grad(w + e)[1][k] - loss.value_and_grad(w - e)[1][k]) / (2 * step)


@pytest.mark.parametrize(
    "how", [{}, {"start": False}, {"valued": True}, {"weighted": True}, {"support": True}], ids=str
)
def test_exact_is_the_derivative_of_the_gradient(how):
    loss, w = random_loss(0, **how)
    for k in np.random.default_rng(1).permutation(len(w))[:15]:
        assert exact_second_derivative(loss, w, k) == pytest.approx(
            difference(loss, w, k), rel=1e-6, abs=1e-7
        )


@pytest.mark.parametrize("how", [{}, {"start": False}, {"valued": True, "weighted": True}], ids=str)
def test_both_agree_where_a_feature_fires_once_a_sentence(how):
    loss, w = random_loss(2, distinct=True, **how)
    approximate = approximate_second_derivatives(loss, w)
    for k in np.random.default_rng(3).permutation(len(w))[:25]:
        assert approximate[k] == pytest.approx(exact_second_derivative(loss, w, k), rel=1e-10, abs=1e-13)


def test_approximation_sums_over_positions():
    """Without bigram weights positions are independent: exact for μ, though a feature fires often in a sentence."""
    loss, w = random_loss(4)
    w[loss.n_mu :] = 0.0
    approximate = approximate_second_derivatives(loss, w)
    for k in range(loss.n_mu):
        assert approximate[k] == pytest.approx(exact_second_derivative(loss, w, k), rel=1e-10)


def test_approximation_differs_where_a_symbol_recurs():
    loss, w = random_loss(5)
    exact = np.array([exact_second_derivative(loss, w, k) for k in range(loss.n_mu)])
    approximate = approximate_second_derivatives(loss, w)[: loss.n_mu]
    assert not np.allclose(exact, approximate, rtol=1e-3)
    assert np.allclose(exact, approximate, rtol=1.0)


def test_approximation_with_a_support_is_the_same_where_there_are_weights():
    loss, w = random_loss(6, support=True)
    full = CRFLoss(loss.data, loss.shape.labels, threads=1)
    places = loss.support.places(loss.shape)
    w_full = np.zeros(full.n_params)
    w_full[places] = w
    expected = approximate_second_derivatives(full, w_full)[places]
    np.testing.assert_allclose(approximate_second_derivatives(loss, w), expected, rtol=1e-12)


def test_partial_labels_are_refused():
    loss, w = random_loss(7)
    loss.data.labels[0] = -1
    for function in (
        lambda: exact_second_derivative(loss, w, 0),
        lambda: approximate_second_derivatives(loss, w),
    ):
        with pytest.raises(OptionError, match="label for every token"):
            function()
