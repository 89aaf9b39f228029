"""Expected counts that stay on a device between the steps of EM, and the parameters that they give.

The same formulas as in :mod:`spinney.classes.statistics`, which works in the memory of the host.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from spinney.inference.gpu.messages import Found, Parameters
from spinney.inference.gpu.plain import Emissions
from spinney.inference.gpu.precision import Precision

_SMALL_GAIN = 1e-10
_TINY = 2.2250738585072014e-308


@dataclass
class DeviceStatistics:
    """Pseudo-counts. ``omega`` and ``mass`` are scaled lazily: the counts are ``gain * omega``.

    Attributes
    ----------
    omega : tensor [V, C]
        Words by classes.
    mass : float64 tensor [C]
        The sums of its columns.
    tau : float64 tensor [K, C, C]
        Edges by kind, class of the child, class of the father.
    rho : float64 tensor [C]
        Classes of roots.
    gain : float
    """

    omega: torch.Tensor
    mass: torch.Tensor
    tau: torch.Tensor
    rho: torch.Tensor
    gain: float = 1.0

    @classmethod
    def of(
        cls, omega: torch.Tensor, tau: torch.Tensor, rho: torch.Tensor, work: torch.dtype
    ) -> DeviceStatistics:
        """Statistics with these counts of words, edges and roots."""
        return cls(omega.to(work), omega.sum(0, dtype=torch.float64), tau.double(), rho.double())

    def parameters(self, smoothing: float, backoff: float, precision: Precision) -> Parameters:
        """The M-step: columns scaled to sum 1, then a share ``smoothing`` of each taken for a uniform law."""
        V, C = self.omega.shape
        K = len(self.tau)
        rho = torch.where(self.rho.sum() > 0, self.rho / self.rho.sum(), 1.0 / C)
        scale = (1.0 - smoothing) / self.mass.clamp(min=_TINY)
        emissions = Emissions(self.omega, scale.to(self.omega.dtype), smoothing / V)
        mean = self.tau.sum() / (K * C)
        shared = _columns(self.tau.sum(0), torch.full_like(self.tau[0], 1.0 / C))
        own = self.tau + backoff * mean * shared if K > 1 else self.tau
        laws = (1.0 - smoothing) * _columns(own, shared) + smoothing / C
        return Parameters.of(emissions, laws, (1.0 - smoothing) * rho + smoothing / C, precision)

    def step(
        self, words: torch.Tensor, nodes: torch.Tensor, found: Found, edges: torch.Tensor, alpha: float
    ) -> None:
        """Online EM: (1 - α) of what there was, and α of the batch (Cappé & Moulines 2009)."""
        self.gain *= 1.0 - alpha
        if self.gain < _SMALL_GAIN:  # before anything is divided by it: a first step may be 1
            self.fold()
        weight = alpha / self.gain
        self.omega.index_add_(0, words, nodes, alpha=weight)
        self.mass += weight * nodes.sum(0, dtype=torch.float64)
        self.tau.mul_(1.0 - alpha).add_(edges, alpha=alpha)
        self.rho.mul_(1.0 - alpha).add_(found.roots, alpha=alpha)

    def fold(self) -> None:
        """Multiply the gain into the counts."""
        if self.gain != 1.0:
            self.omega *= self.gain
            self.mass *= self.gain
            self.gain = 1.0

    def scaled(self, tokens: float) -> None:
        """The same counts, of ``tokens`` in all: so that a start weighs as much as a batch."""
        self.fold()
        factor = tokens / max(float(self.mass.sum()), _TINY)
        for one in (self.omega, self.mass, self.tau, self.rho):
            one *= factor


def _columns(counts: torch.Tensor, otherwise: torch.Tensor) -> torch.Tensor:
    """Columns scaled to sum 1; one of zeros becomes that of ``otherwise``."""
    total = counts.sum(-2, keepdim=True)
    return torch.where(total > 0, counts / torch.where(total > 0, total, 1.0), otherwise)


def classes_start(
    classes: torch.Tensor, counts: torch.Tensor, edges: torch.Tensor, roots: torch.Tensor, work: torch.dtype
) -> DeviceStatistics:
    """From one class a word (Grave 2014, §2.2.4), as :func:`spinney.classes.statistics.classes_start`.

    Parameters
    ----------
    classes : int64 tensor [V]
        The class of each word, -1 for a word without.
    counts : tensor [V]
        How often each word was seen.
    edges : float64 tensor [K, C, C]
        How often a child of class i hangs on a father of class j.
    roots : float64 tensor [C]
    """
    C, floor = len(roots), 1e-5
    seen = counts.clamp(min=1).to(work)
    made = torch.Generator(classes.device).manual_seed(0)
    noise = torch.rand((len(seen), C), generator=made, device=classes.device, dtype=work) + 0.5
    omega = floor * noise * seen[:, None]
    known = torch.nonzero(classes >= 0)[:, 0]
    omega[known, classes[known]] = seen[known]
    omega[classes < 0] /= floor * C
    tau = torch.maximum(edges, floor * edges.amax(2, keepdim=True))
    tau = tau.clamp(min=floor * max(float(edges.max()), 1.0) / C)
    return DeviceStatistics.of(omega, tau, roots.clamp(min=floor * max(float(roots.max()), 1.0)), work)
