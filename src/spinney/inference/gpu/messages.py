"""Sum-product over the levels of a batch: a level is one matrix product (Grave 2014, §2.2)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import torch

from spinney.inference.gpu.layout import Layout
from spinney.inference.gpu.plain import Emissions, Target
from spinney.inference.gpu.precision import Precision, in_float32

#: Nodes whose edges one product adds up. A matrix unit cuts its sums off rather than rounding them, at each addition;
#: longer sums would lose too much, so the rest is added in double precision.
EDGES = 4096
_STACK = 1 << 29  # bytes of such sums at a time


class Parameters(NamedTuple):
    """The parameters of a model on a device.

    Attributes
    ----------
    emissions : Emissions
    transition : tensor [K, C, C]
        ``transition[kind, i, j]``: class i at a node whose father has class j.
    rounded : tensor [K, C, C]
        The same numbers as products take them.
    rest : tensor [K, C, C], optional
        What rounding took away, rounded in its turn; the two together have twice as many bits.
    root : tensor [C]
    """

    emissions: Emissions
    transition: torch.Tensor
    rounded: torch.Tensor
    rest: torch.Tensor | None
    root: torch.Tensor

    @classmethod
    def of(
        cls, emissions: Emissions, transition: torch.Tensor, root: torch.Tensor, p: Precision
    ) -> Parameters:
        """Parameters for products of a precision."""
        transition = transition.to(p.work)
        rounded = p.rounded(transition)
        rest = p.rounded(transition - rounded) if p.name in ("tf32", "bf16") else None
        return cls(emissions, transition, rounded, rest, root.to(p.work))

    def lift(self, up: torch.Tensor, kind: int, careful: bool, out: torch.Tensor) -> None:
        """μ = Tᵀ u of some nodes, into ``out``; carefully: with all bits of T."""
        torch.mm(up, self.rounded[kind], out=out)
        if careful and self.rest is not None:
            out.addmm_(up, self.rest[kind])


class Found(NamedTuple):
    """Sums over the nodes of a batch, on the device.

    Attributes
    ----------
    pairs : float64 tensor [K, C, C]
        Σ u_c v_cᵀ: times the transition probabilities these are the expected edges.
    roots : float64 tensor [C]
    log_likelihood : float64 tensor []
    """

    pairs: torch.Tensor
    roots: torch.Tensor
    log_likelihood: torch.Tensor

    def edges(self, parameters: Parameters) -> torch.Tensor:
        """The expected number of edges by kind, class of the child and class of the father."""
        return self.pairs * parameters.transition


class Workspace:
    """Arrays that batches use one after the other, as large as the largest so far."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._arrays: dict[tuple[str, torch.dtype, int], torch.Tensor] = {}

    def rows(self, name: str, n: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
        """An array [n, columns] with anything in it."""
        key = name, dtype, columns
        array = self._arrays.get(key)
        if array is None or len(array) < n:
            self._arrays.pop(key, None)
            del array
            array = torch.empty((n + n // 16, columns), dtype=dtype, device=self.device)
            self._arrays[key] = array
        return array[:n]

    def clear(self) -> None:
        """Give the memory back."""
        self._arrays.clear()


def sum_product(
    layout: Layout,
    parameters: Parameters,
    steps: Any,
    space: Workspace,
    target: Target,
    counting: bool = True,
) -> Found:
    """Exact messages over all levels of a batch.

    Parameters
    ----------
    layout
        The nodes.
    parameters
        The model.
    steps : Plain or Fused
        What happens at the nodes of a level, and in which precision.
    space
        Room for messages.
    target
        Where the posteriors of the nodes go.
    counting
        Whether anything but the likelihood is wanted.
    """
    tree = layout.children is not None
    pass_up, pass_down = (_tree_up, _tree_down) if tree else (_up, _down)
    n, C, precision = len(layout), len(parameters.root), steps.precision
    # A word without children sends the same message each time, with the same errors, and many meet at its father:
    # trees take all bits of T on the way up. In chains errors of messages cancel, and a sum corrects the likelihood.
    careful = not counting or (tree and precision.name == "tf32")
    up = space.rows("up", n, C, precision.stored)
    logs = space.rows("logs", n, 1, precision.work)[:, 0]
    message = pass_up(layout, parameters, steps, space, up, logs, careful)
    roots = up[: layout.n_roots].to(precision.work) * parameters.root
    chance = roots.sum(1)
    log_likelihood = logs.sum(dtype=torch.float64) + chance.log().sum(dtype=torch.float64)
    pairs = torch.zeros_like(parameters.transition, dtype=torch.float64)
    if not counting:
        return Found(pairs, torch.zeros(C, dtype=torch.float64, device=up.device), log_likelihood)
    context = space.rows("context", n, C, precision.stored)
    pass_down(layout, parameters, steps, space, up, logs, message, context, target)
    _add_pairs(layout, up, context, pairs)
    if parameters.rest is not None and not careful:
        # To first order, for d log P / d T_ij is Σ u_c(i) v_c(j).
        log_likelihood += (pairs * (parameters.transition.double() - parameters.rounded.double())).sum()
    roots *= torch.where(chance > 0, 1.0 / chance, 0.0)[:, None]
    return Found(pairs, roots.sum(0, dtype=torch.float64), log_likelihood)


# -------------------------------------------------------------------------------------------------- chains


def _up(
    layout: Layout,
    parameters: Parameters,
    steps: Any,
    space: Workspace,
    up: torch.Tensor,
    logs: torch.Tensor,
    careful: bool,
) -> torch.Tensor:
    levels = layout.levels
    message = space.rows("message", layout.n_roots, up.shape[1], up.dtype)
    below = 0
    for d in range(len(levels) - 2, -1, -1):
        first, end = levels[d], levels[d + 1]
        steps.chain_up(layout.words, parameters.emissions, message, up, logs, first, end - first, below)
        if d:
            parameters.lift(up[first:end], 0, careful, message[: end - first])
        below = end - first
    return message


def _down(
    layout: Layout,
    parameters: Parameters,
    steps: Any,
    space: Workspace,
    up: torch.Tensor,
    logs: torch.Tensor,
    message: torch.Tensor,
    context: torch.Tensor,
    target: Target,
) -> None:
    levels, T = layout.levels, parameters.rounded[0].t()
    down, words, emissions = parameters.root, layout.words, parameters.emissions
    for d in range(len(levels) - 1):
        first, end = levels[d], levels[d + 1]
        below = levels[d + 2] - end if d + 2 < len(levels) else 0
        if d:
            down = message[: end - first]  # the messages up are no longer needed
            torch.mm(context[first:end], T, out=down)  # down = T v
        steps.chain_down(words, emissions, up, down, logs, context, target, first, end - first, below)


# --------------------------------------------------------------------------------------------------- trees


def _tree_up(
    layout: Layout,
    parameters: Parameters,
    steps: Any,
    space: Workspace,
    up: torch.Tensor,
    logs: torch.Tensor,
    careful: bool,
) -> torch.Tensor:
    levels = layout.levels
    message = space.rows("message", len(layout), up.shape[1], up.dtype)
    for d in range(len(levels) - 2, -1, -1):
        steps.tree_up(layout, parameters.emissions, message, up, logs, levels[d], levels[d + 1])
        if d:
            for a, b, kind in layout.runs(d):
                parameters.lift(up[a:b], kind, careful, message[a:b])
    return message


def _tree_down(
    layout: Layout,
    parameters: Parameters,
    steps: Any,
    space: Workspace,
    up: torch.Tensor,
    logs: torch.Tensor,
    message: torch.Tensor,
    context: torch.Tensor,
    target: Target,
) -> None:
    levels = layout.levels
    widest = max((end - first for first, end in pairwise(levels)), default=0)
    room = space.rows("down", widest, up.shape[1], up.dtype)
    down = parameters.root
    for d in range(len(levels) - 1):
        first, end = levels[d], levels[d + 1]
        if d:
            down = room[: end - first]
            for a, b, kind in layout.runs(d):
                torch.mm(context[a:b], parameters.rounded[kind].t(), out=down[a - first : b - first])
        steps.tree_down(layout, parameters.emissions, up, down, message, context, target, first, end)


# --------------------------------------------------------------------------------------------------- edges


def _add_pairs(layout: Layout, up: torch.Tensor, context: torch.Tensor, pairs: torch.Tensor) -> None:
    """Σ u_c v_cᵀ over the nodes with edges of each kind."""
    if layout.n_kinds == 1:
        _add_products(up[layout.n_roots :], context[layout.n_roots :], pairs[0])
        return
    runs = [run for d in range(1, len(layout.levels) - 1) for run in layout.runs(d)]
    for kind in range(layout.n_kinds):
        own = [(a, b) for a, b, k in runs if k == kind]
        if own:
            _add_products(
                torch.cat([up[a:b] for a, b in own]), torch.cat([context[a:b] for a, b in own]), pairs[kind]
            )


def _add_products(u: torch.Tensor, v: torch.Tensor, total: torch.Tensor) -> None:
    """Add uᵀv to the total, many stretches of nodes at a time."""
    n, C = u.shape
    whole, each = n // EDGES, max(1, _STACK // (4 * C * C))
    for first in range(0, whole, each):
        some = slice(first * EDGES, min(first + each, whole) * EDGES)
        left, right = (x[some].view(-1, EDGES, C) for x in (u, v))
        total += in_float32(left.transpose(1, 2), right).sum(0, dtype=torch.float64)
    if whole * EDGES < n:
        total += in_float32(u[whole * EDGES :].t(), v[whole * EDGES :])
