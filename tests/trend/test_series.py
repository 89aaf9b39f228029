"""Read-outs of fitted series."""

import numpy as np
import pytest

from spinney.errors import InputError, OptionError
from spinney.trend import alpha_histogram, forecast, strongest_series


def test_strongest():
    coef = np.array([[1.0, 5.0, 0.0, -2.0], [3.0, 5.0, 0.0, -7.0]])
    assert [one.name for one in strongest_series(coef, list("abcd"))] == ["d", "b", "a"]
    assert [one.name for one in strongest_series(coef, by="change", k=2)] == ["3", "0"]
    assert strongest_series(coef, by="last")[0].values.tolist() == [-2.0, -7.0]
    with pytest.raises(InputError):
        strongest_series(coef, ["a"])
    with pytest.raises(OptionError):
        strongest_series(coef, by="beauty")


def test_forecasts_are_conditional_means():
    """Against the joint precision matrix of past and future."""
    rng = np.random.default_rng(0)
    past, alpha, T, ahead = rng.standard_normal((4, 3)), np.array([-0.45, -0.1, -0.3]), 4, 3
    found = forecast(past, alpha, steps=ahead)
    for i in range(3):
        A = np.eye(T + ahead) + alpha[i] * (np.eye(T + ahead, k=1) + np.eye(T + ahead, k=-1))
        expected = -np.linalg.solve(A[T:, T:], A[T:, :T] @ past[:, i])
        assert found[:, i] == pytest.approx(expected)
    with pytest.raises(OptionError):
        forecast(past, alpha, steps=0)


def test_histogram_of_those_that_learnt():
    counts, edges = alpha_histogram([-0.45, -0.05, -0.25], np.array([[1.0, 0.0, 2.0]]), bins=5)
    assert counts.tolist() == [1, 0, 1, 0, 0]
    assert len(edges) == 6
