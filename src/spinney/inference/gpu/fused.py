# mypy: ignore-errors
"""The steps of :mod:`spinney.inference.gpu.plain` as Triton kernels: each reads and writes its rows once.

A program has one row of C classes of a tree, or a few rows of a chain. Posteriors are added to the rows of their words
by atomic additions, in no fixed order: the last bits of counts differ from run to run.
"""

import torch
import triton
import triton.language as tl

from spinney.inference.gpu.layout import Layout, Sentences, laid_out
from spinney.inference.gpu.plain import LEAST, LEAST_LOG, Emissions, Plain, Target
from spinney.inference.gpu.precision import Precision

_LEAST, _LEAST_LOG = tl.constexpr(LEAST), tl.constexpr(LEAST_LOG)


@triton.jit
def _rounded(x, TF32: tl.constexpr):
    """The nearest TF32 number, ties to even."""
    if TF32:
        bits = x.to(tl.int32, bitcast=True)
        bits = (bits + 4095 + ((bits >> 13) & 1)) & -8192
        x = bits.to(tl.float32, bitcast=True)
    return x


@triton.jit(do_not_specialize=["floor", "first", "rows", "below"])
def _chain_up(
    words, counts, scale, floor, message, up, logs, first, rows, below,
    C: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, TF32: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, WIDTH)
    column = i < C
    live = r < rows
    both = live[:, None] & column[None, :]
    place = r[:, None].to(tl.int64) * C + i[None, :]
    w = tl.load(words + first + r, mask=live, other=0).to(tl.int64)
    o = tl.load(counts + w[:, None] * C + i[None, :], mask=both, other=0.0)
    s = tl.load(scale + i, mask=column, other=0.0)
    u = tl.where(both, o * s[None, :] + floor, 0.0)
    u *= tl.load(message + place, mask=both & (r < below)[:, None], other=1.0).to(tl.float32)
    total = tl.sum(u, 1)
    some = total > 0
    u = tl.where(some[:, None], u / tl.where(some, total, 1.0)[:, None], 1.0 / C)
    start = first.to(tl.int64) * C
    tl.store(up + start + place, _rounded(u, TF32).to(up.dtype.element_ty), mask=both)
    tl.store(logs + first + r, tl.log(total), mask=live)


@triton.jit(do_not_specialize=["floor", "stride", "first", "rows", "below"])
def _chain_down(
    words, counts, scale, floor, up, down, stride, logs, context, target, first, rows, below,
    C: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, TF32: tl.constexpr, WORDS: tl.constexpr,
    NODES: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, WIDTH)
    column = i < C
    live = r < rows
    both = live[:, None] & column[None, :]
    place = r[:, None].to(tl.int64) * C + i[None, :]
    start = first.to(tl.int64) * C
    w = tl.load(words + first + r, mask=live, other=0).to(tl.int64)
    row = w[:, None] * C + i[None, :]
    u = tl.load(up + start + place, mask=both, other=0.0).to(tl.float32)
    d = tl.load(down + r[:, None].to(tl.int64) * stride + i[None, :], mask=both, other=0.0).to(tl.float32)
    p = u * d
    total = tl.sum(p, 1)
    some = total > _LEAST
    inverse = tl.where(some, 1.0 / tl.where(some, total, 1.0), 0.0)
    p *= inverse[:, None]
    if WORDS:
        tl.atomic_add(target + row, p, mask=both, sem="relaxed")
    if NODES:
        tl.store(target + start + place, p, mask=both)
    has = r < below
    inner = both & has[:, None]
    o = tl.load(counts + row, mask=inner, other=0.0)
    s = tl.load(scale + i, mask=column, other=0.0)
    log = tl.load(logs + first + r, mask=has, other=0.0)
    fit = log > _LEAST_LOG
    factor = tl.where(fit, inverse * tl.exp(-tl.where(fit, log, 0.0)), 0.0)
    v = (o * s[None, :] + floor) * d * factor[:, None]
    after = (first + rows).to(tl.int64) * C
    tl.store(context + after + place, _rounded(v, TF32).to(context.dtype.element_ty), mask=inner)


@triton.jit(do_not_specialize=["floor", "first"])
def _tree_up(
    words, counts, scale, floor, child_ptr, children, message, up, logs, first,
    C: tl.constexpr, WIDTH: tl.constexpr, TF32: tl.constexpr,
):  # fmt: skip
    k = (first + tl.program_id(0)).to(tl.int64)
    i = tl.arange(0, WIDTH)
    column = i < C
    w = tl.load(words + k).to(tl.int64)
    u = (
        tl.load(counts + w * C + i, mask=column, other=0.0) * tl.load(scale + i, mask=column, other=0.0)
        + floor
    )
    u = tl.where(column, u, 0.0)
    total = tl.sum(u, 0)
    log = tl.log(total)
    u = tl.where(total > 0, u / tl.where(total > 0, total, 1.0), 1.0 / C)
    a = tl.load(child_ptr + k)
    b = tl.load(child_ptr + k + 1)
    for e in range(a, b):
        c = tl.load(children + e).to(tl.int64)
        u *= tl.load(message + c * C + i, mask=column, other=0.0).to(tl.float32)
        total = tl.sum(u, 0)
        log += tl.log(total)
        u = tl.where(total > 0, u / tl.where(total > 0, total, 1.0), 1.0 / C)
        u = tl.where(column, u, 0.0)
    tl.store(up + k * C + i, _rounded(u, TF32).to(up.dtype.element_ty), mask=column)
    tl.store(logs + k, log)


@triton.jit
def _unit(x, column, C: tl.constexpr):
    """x scaled to sum 1, uniform if that is 0."""
    total = tl.sum(x, 0)
    x = tl.where(total > 0, x / tl.where(total > 0, total, 1.0), 1.0 / C)
    return tl.where(column, x, 0.0)


@triton.jit
def _normal(v, mu, column, C: tl.constexpr):
    """v scaled such that v·μ is 1."""
    v = _unit(v, column, C)
    total = tl.sum(v * mu, 0)
    return tl.where(total > _LEAST, v / tl.where(total > _LEAST, total, 1.0), 0.0)


@triton.jit(do_not_specialize=["floor", "stride", "first"])
def _tree_down(
    words, counts, scale, floor, child_ptr, children, up, down, stride, message, context, before, target, first,
    C: tl.constexpr, WIDTH: tl.constexpr, TF32: tl.constexpr, WORDS: tl.constexpr, NODES: tl.constexpr,
):  # fmt: skip
    local = tl.program_id(0).to(tl.int64)
    k = first + local
    i = tl.arange(0, WIDTH)
    column = i < C
    w = tl.load(words + k).to(tl.int64)
    a = tl.load(child_ptr + k)
    b = tl.load(child_ptr + k + 1)
    d = tl.load(down + local * stride + i, mask=column, other=0.0).to(tl.float32)
    o = (
        tl.load(counts + w * C + i, mask=column, other=0.0) * tl.load(scale + i, mask=column, other=0.0)
        + floor
    )
    o = tl.where(column, o, 0.0)
    u = _unit(o, column, C)
    if b > a:  # without children it is the same each time, so that it is better not to take what was rounded
        u = tl.load(up + k * C + i, mask=column, other=0.0).to(tl.float32)
    p = u * d
    total = tl.sum(p, 0)
    p = tl.where(total > _LEAST, p / tl.where(total > _LEAST, total, 1.0), 0.0)
    if WORDS:
        tl.atomic_add(target + w * C + i, p, mask=column, sem="relaxed")
    if NODES:
        tl.store(target + k * C + i, p, mask=column)
    if b > a:
        rest = _unit(o * d, column, C)
        for e in range(a, b - 1):  # from the left: what is at k, and the siblings before
            c = tl.load(children + e).to(tl.int64)
            tl.store(before + c * C + i, rest.to(before.dtype.element_ty), mask=column)
            mu = tl.load(message + c * C + i, mask=column, other=0.0).to(tl.float32)
            rest = _unit(rest * mu, column, C)
        c = tl.load(children + b - 1).to(tl.int64)
        mu = tl.load(message + c * C + i, mask=column, other=0.0).to(tl.float32)
        v = _rounded(_normal(rest, mu, column, C), TF32)
        tl.store(context + c * C + i, v.to(context.dtype.element_ty), mask=column)
        rest = _unit(mu, column, C)
        tl.debug_barrier()  # what was stored above is read below
        for j in range(b - 1 - a):  # from the right: the siblings after
            c = tl.load(children + b - 2 - j).to(tl.int64)
            mu = tl.load(message + c * C + i, mask=column, other=0.0).to(tl.float32)
            v = tl.load(before + c * C + i, mask=column, other=0.0).to(tl.float32)
            v = _rounded(_normal(v * rest, mu, column, C), TF32)
            tl.store(context + c * C + i, v.to(context.dtype.element_ty), mask=column)
            rest = _unit(rest * mu, column, C)


class Fused:
    """The steps at one level, as :class:`spinney.inference.gpu.plain.Plain` has them."""

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self._tf32 = precision.name == "tf32"

    def chain_up(self, words, emissions, message, up, logs, first, rows, below):
        """u = O μ at the nodes of a level of chains."""
        if rows:
            C, width, each, warps = _tile(up)
            _chain_up[(triton.cdiv(rows, each),)](
                words, emissions.counts, emissions.scale, emissions.floor, message, up, logs, first, rows, below,
                C=C, WIDTH=width, ROWS=each, TF32=self._tf32, num_warps=warps,
            )  # fmt: skip

    def chain_down(self, words, emissions, up, down, logs, context, target, first, rows, below):
        """Posteriors of a level of chains, and the contexts of the next."""
        if rows:
            C, width, each, warps = _tile(up)
            where, by_word, by_node = _target(target, up)
            _chain_down[(triton.cdiv(rows, each),)](
                words, emissions.counts, emissions.scale, emissions.floor, up, down, C if down.dim() == 2 else 0, logs,
                context, where, first, rows, below,
                C=C, WIDTH=width, ROWS=each, TF32=self._tf32, WORDS=by_word, NODES=by_node, num_warps=warps,
            )  # fmt: skip

    def tree_up(self, layout, emissions, message, up, logs, first, end):
        """u at the nodes of a level of trees."""
        if end > first:
            C, width, warps = _row(up)
            _tree_up[(end - first,)](
                layout.words, emissions.counts, emissions.scale, emissions.floor, layout.child_ptr, layout.children,
                message, up, logs, first, C=C, WIDTH=width, TF32=self._tf32, num_warps=warps,
            )  # fmt: skip

    def tree_down(self, layout, emissions, up, down, message, context, target, first, end):
        """Posteriors of a level of trees, and the contexts of all children."""
        if end > first:
            C, width, warps = _row(up)
            where, by_word, by_node = _target(target, up)
            _tree_down[(end - first,)](
                layout.words, emissions.counts, emissions.scale, emissions.floor, layout.child_ptr, layout.children,
                up, down, C if down.dim() == 2 else 0, message, context, context, where, first,
                C=C, WIDTH=width, TF32=self._tf32, WORDS=by_word, NODES=by_node, num_warps=warps,
            )  # fmt: skip


def _target(target: Target, otherwise: torch.Tensor):
    if target.omega is not None:
        return target.omega, True, False
    return (otherwise, False, False) if target.nodes is None else (target.nodes, False, True)


def _tile(up: torch.Tensor):
    """Classes, the power of two that holds them, rows of a program, and its warps."""
    C = up.shape[1]
    width = max(16, triton.next_power_of_2(C))
    rows = max(1, 1024 // width)
    return C, width, rows, min(8, max(4, width * rows // 512))


def _row(up: torch.Tensor):
    C = up.shape[1]
    width = max(32, triton.next_power_of_2(C))
    return C, width, min(8, max(1, width // 512))


# ---------------------------------------------------------------------------------------------- a trial


def trial(precision: Precision, device: torch.device) -> float:
    """Run all kernels on a few small sentences; an error if they fail or differ from plain torch.

    Returns
    -------
    float
        The largest difference between messages, contexts and posteriors.
    """
    from spinney.inference.gpu.messages import Parameters, Workspace, sum_product

    made = torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=made).to(device)

    C, V = 24, 7
    T = drawn(1, C, C) ** 3
    emissions = Emissions(drawn(V, C) ** 4, drawn(C), 1e-4)
    parameters = Parameters.of(emissions, T / T.sum(1, keepdim=True), drawn(C), precision)
    worst = 0.0
    for layout in _examples(device):
        found = []
        for steps in (Plain(precision), Fused(precision)):
            omega, space = torch.zeros(V, C, device=device), Workspace(device)
            nodes = torch.zeros(len(layout), C, device=device)
            sums = sum_product(layout, parameters, steps, space, Target(omega=omega))
            sum_product(layout, parameters, steps, space, Target(nodes=nodes))
            found.append([omega.double(), nodes.double(), sums.edges(parameters), sums.log_likelihood])
        for a, b in zip(*found):
            worst = max(worst, float((a - b).norm() / b.norm()))
    if not worst < (0.02 if precision.name == "bf16" else 1e-3):
        raise RuntimeError(f"the kernels differ from plain torch by {worst:.2g}")
    return worst


def _examples(device: torch.device) -> list[Layout]:
    import numpy as np

    rng = np.random.default_rng(1)
    offsets = np.cumsum([0, 1, 5, 9, 2, 1])
    n = int(offsets[-1])
    ids = rng.integers(0, 7, n).astype(np.int32)
    local = np.arange(n) - np.repeat(offsets[:-1], np.diff(offsets))
    heads = np.array([-1 if t == 0 else rng.integers(max(0, t - 12), t) for t in local], np.int32)
    chains, trees = Sentences(ids, offsets), Sentences(ids, offsets, heads)
    return [laid_out(chains, 1, device), laid_out(trees, 1, device)]
