"""A small world whose coefficients drift."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse


class World(NamedTuple):
    X: Any
    y: Any
    steps: Any
    W: Any


def world_of(
    T: int = 5, I: int = 40, N: int = 400, active: int = 6, noise: float = 0.3, seed: int = 0
) -> World:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((N, I), density=0.2, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    W = np.zeros((T, I))
    w = rng.standard_normal(active)
    for t in range(T):
        W[t, :active] = w
        w = w + 0.2 * rng.standard_normal(active)
    steps = np.sort(rng.integers(0, T, N))
    y = np.array([X[[n]] @ W[t] for n, t in enumerate(steps)]).ravel() - 3.0 + noise * rng.standard_normal(N)
    return World(X, y, steps, W)


@pytest.fixture(scope="session")
def make_world():
    return world_of


@pytest.fixture
def world() -> World:
    return world_of()
