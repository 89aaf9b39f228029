"""Fused Lasso: total variation along sequences, with optional ℓ1 and ℓ2² terms."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import for_kernels, soft_threshold


class Fused(Penalty):
    """λ Σ|w_{i+1} − w_i| + l1‖w‖₁ + ½·l2·‖w‖²: piecewise constant (and, with ``l1``, sparse) sequences.

    Parameters
    ----------
    lam : float
    l1, l2 : float
    chains : array of int, optional
        Offsets of independent sequences: chain c is ``w[chains[c]:chains[c+1]]`` and no difference is taken across
        chains. One chain by default. For the series of n features over T times: ``np.arange(n + 1) * T``.

    Examples
    --------
    >>> w = np.array([0.0, 4.0, 4.0, 10.0])
    >>> Fused(1.0).prox(w, step=1.0)
    >>> w.tolist()
    [1.0, 4.0, 4.0, 9.0]
    >>> w = np.array([0.0, 4.0, 4.0, 10.0])
    >>> Fused(1.0, chains=[0, 2, 4]).prox(w, step=1.0)
    >>> w.tolist()
    [1.0, 3.0, 5.0, 9.0]
    """

    name: ClassVar[str] = "fused"
    key: ClassVar[str] = "fused"
    knobs: ClassVar[tuple[str, ...]] = ("lam", "l1", "l2")
    clips_to_nonnegative: ClassVar[bool] = False  # clipping changes the differences

    def __init__(self, lam: float, l1: float = 0.0, l2: float = 0.0, chains: ArrayLike | None = None) -> None:
        self.lam = checked_strength("lam", lam)
        self.l1 = checked_strength("l1", l1)
        self.l2 = checked_strength("l2", l2)
        self.chains = None if chains is None else for_kernels(chains, np.int64)
        if self.chains is not None and (
            self.chains.size == 0 or self.chains[0] != 0 or np.any(np.diff(self.chains) < 0)
        ):
            raise OptionError("chains must rise from 0 to the number of coordinates")

    def _ptr(self, n: int) -> NDArray[np.int64]:
        if self.chains is None:
            return np.array([0, n], dtype=np.int64)
        if self.chains[-1] != n:
            raise OptionError(f"chains end at {self.chains[-1]} where there are {n} coordinates")
        return self.chains

    def _differences(self, w: Vector) -> Vector:
        """w_{i+1} − w_i, 0 across chains; one fewer than coordinates."""
        differences = np.diff(w)
        borders = self._ptr(w.size)[1:-1]
        differences[borders[(borders > 0) & (borders < w.size)] - 1] = 0.0
        return differences

    def value(self, w: Vector) -> float:
        return (
            self.lam * float(np.abs(self._differences(w)).sum())
            + self.l1 * float(np.abs(w).sum())
            + 0.5 * self.l2 * float(w @ w)
        )

    def prox(self, w: Vector, step: float) -> None:
        """Total variation first, then the coordinatewise terms (Friedman et al. 2007)."""
        from spinney.optim.penalties._kernels import tv_prox

        tv_prox(w, self._ptr(w.size), step * self.lam)
        w[:] = soft_threshold(w, step * self.l1) / (1.0 + step * self.l2)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """−prox(−grad) of the directional derivative at ``w``: a fused norm on each run of equal values.

        Values are in one run when they are exactly equal, as they are after the prox.
        """
        from spinney.optim.penalties._kernels import tv_prox

        jumps = self.lam * np.sign(self._differences(w))
        rest = grad + self.l2 * w + self.l1 * np.sign(w)
        rest[1:] += jumps
        rest[:-1] -= jumps
        starts_run = np.zeros(w.size + 1, dtype=bool)
        starts_run[self._ptr(w.size)] = True
        starts_run[1:-1] |= w[1:] != w[:-1]
        tv_prox(rest, np.flatnonzero(starts_run), self.lam)
        return np.where(w == 0, soft_threshold(rest, self.l1), rest)

    def lambda_max(self, grad: Vector) -> float:
        """The smallest λ from which on every chain is constant, and 0 where ``l1`` can hold it there.

        A constant costs nothing but ``l1``: where the mean gradient of a chain exceeds it, no λ makes w = 0 optimal.
        The excess is then taken as fitted and removed, as the gradient of any unpenalised coordinate is.
        """
        from spinney.optim.penalties._kernels import tv_dual_norm

        return float(tv_dual_norm(np.ascontiguousarray(grad), self._ptr(grad.size), self.l1))

    def describe(self) -> str:
        more = "".join(f", {name} = {value:g}" for name, value in (("ℓ1", self.l1), ("ℓ2", self.l2)) if value)
        return f"{self.name}, λ = {self.lam:g}{more}"

    @property
    def own_structure(self) -> str:
        return "" if self.chains is None else "chains"
