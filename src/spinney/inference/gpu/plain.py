"""What happens at the nodes of one level, in plain torch: on any device, and the measure of the fused kernels.

Class i of a node emits word w with probability ``counts[w, i]·scale[i] + floor``. Messages up are scaled to sum 1, and
the logarithms of their sums are kept. A message down goes out as a *context*: v_c(j) = O[w_k, j] down_k(j)
∏_{siblings c' ≠ c} μ_{c'→k}(j) for a child c of node k, scaled such that Σ_i u_c(i) (T v_c)(i) = 1; expected edges are
then sums of u_c v_cᵀ, entry by entry times T (Grave 2014, §2.2). Nothing is divided by an entry of a message, which may
be zero.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from spinney.inference.gpu.layout import Layout
from spinney.inference.gpu.precision import Precision

#: Totals below this have no meaning in single precision: what they would be divided into is left out.
LEAST = 1e-30
LEAST_LOG = -80.0


class Emissions(NamedTuple):
    """What classes emit.

    Attributes
    ----------
    counts : tensor [V, C]
    scale : tensor [C]
    floor : float
    """

    counts: torch.Tensor
    scale: torch.Tensor
    floor: float

    def of(self, words: torch.Tensor) -> torch.Tensor:
        """O[w_k, i] of some nodes."""
        return self.counts.index_select(0, words) * self.scale + self.floor


class Target(NamedTuple):
    """Where posteriors go: they are added to the rows of their words (``omega``), or kept by node (``nodes``)."""

    omega: torch.Tensor | None = None
    nodes: torch.Tensor | None = None


class Plain:
    """The steps at one level."""

    def __init__(self, precision: Precision) -> None:
        self.precision = precision

    def chain_up(
        self,
        words: torch.Tensor,
        emissions: Emissions,
        message: torch.Tensor,
        up: torch.Tensor,
        logs: torch.Tensor,
        first: int,
        rows: int,
        below: int,
    ) -> None:
        """u = O μ at the nodes ``first`` to ``first + rows - 1``, of which the first ``below`` have a child."""
        u = emissions.of(words[first : first + rows])
        u[:below] *= message[:below]
        u, total = _scaled(u)
        up[first : first + rows] = self.precision.rounded(u)
        logs[first : first + rows] = total.log()

    def chain_down(
        self,
        words: torch.Tensor,
        emissions: Emissions,
        up: torch.Tensor,
        down: torch.Tensor,
        logs: torch.Tensor,
        context: torch.Tensor,
        target: Target,
        first: int,
        rows: int,
        below: int,
    ) -> None:
        """Posteriors of these nodes, and the contexts of their children, which are the nodes of the next level.

        ``down`` has a row for each node, or is the one row of all roots.
        """
        end = first + rows
        down = _rows(down, rows, self.precision.work)
        inverse = self._count(words, up[first:end], down, target, first, end)[:below]
        known = logs[first : first + below]
        factor = torch.where(known > LEAST_LOG, inverse * torch.exp(-known), 0.0)
        v = emissions.of(words[first : first + below]) * down[:below]
        context[end : end + below] = self.precision.rounded(v * factor[:, None])

    def tree_up(
        self,
        layout: Layout,
        emissions: Emissions,
        message: torch.Tensor,
        up: torch.Tensor,
        logs: torch.Tensor,
        first: int,
        end: int,
    ) -> None:
        """u_k = O[w_k] ∏ μ_{c→k} at the nodes of a level."""
        u, total = _scaled(emissions.of(layout.words[first:end]))
        log = total.log()
        for fathers, kids in _by_rank(layout, first, end):
            u[fathers], total = _scaled(u[fathers] * message[kids])
            log[fathers] += total.log()
        up[first:end] = self.precision.rounded(u)
        logs[first:end] = log

    def tree_down(
        self,
        layout: Layout,
        emissions: Emissions,
        up: torch.Tensor,
        down: torch.Tensor,
        message: torch.Tensor,
        context: torch.Tensor,
        target: Target,
        first: int,
        end: int,
    ) -> None:
        """Posteriors of the nodes of a level, and the contexts of all of their children."""
        work = self.precision.work
        down = _rows(down, end - first, work)
        emitted = emissions.of(layout.words[first:end])
        ranks = _by_rank(layout, first, end)
        # A word without children has the same u each time: its posteriors are made of what was not rounded.
        u, _ = _scaled(emitted)
        if ranks:
            u[ranks[0][0]] = up[first:end][ranks[0][0]].to(work)
        self._count(layout.words, u, down, target, first, end)
        rest, _ = _scaled(emitted * down)
        before = []
        for fathers, kids in ranks:  # what is at the father, and the siblings before
            before.append(rest[fathers])
            rest[fathers] = _scaled(rest[fathers] * message[kids])[0]
        rest = torch.ones_like(rest)
        for (fathers, kids), v in zip(reversed(ranks), reversed(before)):  # the siblings after
            mu = message[kids].to(work)
            v, _ = _scaled(v * rest[fathers])
            total = (v * mu).sum(1)
            context[kids] = self.precision.rounded(v * _inverse(total)[:, None])
            rest[fathers] = _scaled(rest[fathers] * mu)[0]

    def _count(
        self, words: torch.Tensor, up: torch.Tensor, down: torch.Tensor, target: Target, first: int, end: int
    ) -> torch.Tensor:
        """Posteriors ∝ u·down of some nodes go to their target; returns the inverses of their sums."""
        p = up * down
        inverse = _inverse(p.sum(1))
        p *= inverse[:, None]
        if target.nodes is not None:
            target.nodes[first:end] = p
        if target.omega is not None:
            target.omega.index_add_(0, words[first:end], p)
        return inverse


def _rows(down: torch.Tensor, n: int, work: torch.dtype) -> torch.Tensor:
    down = down.to(work)
    return down.expand(n, -1) if down.dim() == 1 else down[:n]


def _scaled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows scaled to sum 1, and their sums; a row of zeros becomes uniform."""
    total = x.sum(1)
    scaled = x / torch.where(total > 0, total, 1.0)[:, None]
    return torch.where((total > 0)[:, None], scaled, 1.0 / x.shape[1]), total


def _inverse(total: torch.Tensor) -> torch.Tensor:
    return torch.where(total > LEAST, 1.0 / total, 0.0)


def _by_rank(layout: Layout, first: int, end: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The first children of the nodes of a level with their fathers (counted from ``first``), the second children, …"""
    assert layout.child_ptr is not None
    assert layout.children is not None
    assert layout.parents is not None
    a, b = int(layout.child_ptr[first]), int(layout.child_ptr[end])
    kids = layout.children[a:b].long()
    fathers = layout.parents[kids].long()
    rank = torch.arange(a, b, device=kids.device) - layout.child_ptr[fathers]
    most = int(rank.max()) + 1 if b > a else 0
    chosen = [rank == r for r in range(most)]
    return [(fathers[some] - first, kids[some]) for some in chosen]
