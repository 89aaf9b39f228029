"""Tree proximal operators: time from 10⁴ to 10⁷ nodes, and against SPAMS on 10⁶."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison
from benchmarks.harness import publish
from spinney.optim import TreeL2, TreeLinf
from spinney.optim.penalties._kernels import preorder

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
ROUNDS = 5


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: not the largest trees of those that have no peer."""
    scaling = _scaling(SIZES[:-1] if quick else SIZES)
    section, comparisons = _against_spams()
    publish("prox", [scaling, section], comparisons, quick)


def random_tree(n: int, rng: np.random.Generator) -> Any:
    """Each node hangs from any earlier one: depth about 2·log n."""
    return np.concatenate([[-1], (rng.random(n - 1) * np.arange(1, n)).astype(np.int32)]).astype(np.int32)


def tall_tree(n: int, rng: np.random.Generator) -> Any:
    """Mostly non-branching paths, as in suffix tries: nine nodes in ten continue the one before."""
    parent = random_tree(n, rng)
    follow = rng.random(n) < 0.9
    follow[0] = False
    parent[follow] = np.flatnonzero(follow) - 1
    return parent


def bushy_tree(n: int, rng: np.random.Generator) -> Any:
    """A hundred children a node."""
    return np.concatenate([[-1], (np.arange(1, n) - 1) // 100]).astype(np.int32)


def depth_first(parent: Any) -> Any:
    """The same tree with its nodes, and so its weights, in an order in which each subtree is a run."""
    order = preorder(parent)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    above = parent[order]
    return np.where(above >= 0, rank[above], np.int32(-1))


SHAPES: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "random": random_tree,
    "tall": tall_tree,
    "bushy": bushy_tree,
}


def _seconds(run: Callable[[], object]) -> float:
    best = np.inf
    for _ in range(ROUNDS):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def _scaling(sizes: tuple[int, ...]) -> str:
    rng = np.random.default_rng(0)
    lines = [
        "### Nanoseconds a node",
        "",
        "| penalty | tree | " + " | ".join(f"{n:,}" for n in sizes) + " | growth exponent |",
        "|---|---|" + "---:|" * (len(sizes) + 1),
    ]
    shapes = SHAPES | {"random, numbered depth first": lambda n, rng: depth_first(random_tree(n, rng))}
    for penalty_class in (TreeL2, TreeLinf):
        for shape, make in shapes.items():
            times = []
            for n in sizes:
                penalty = penalty_class(0.1, make(n, rng))
                v = rng.standard_normal(n)
                times.append(_seconds(lambda penalty=penalty, v=v: penalty.prox(v.copy(), 1.0)))  # type: ignore[misc]
            exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            cells = " | ".join(f"{1e9 * t / n:.0f}" for t, n in zip(times, sizes))
            lines.append(f"| {penalty_class.__name__} | {shape} | {cells} | {exponent:.2f} |")
    return "\n".join(lines) + "\n"


def _spams_tree(parent: Any) -> tuple[dict[str, Any], Any]:
    """SPAMS wants depth-first numbering and the groups as a sparse matrix; returns it and our order in theirs."""
    import scipy.sparse as sp

    n = len(parent)
    order = np.empty(n, np.int64)
    children = np.argsort(parent, kind="stable")[1:]
    first = np.searchsorted(parent[children], np.arange(n + 1))
    stack, count = [0], 0
    while stack:
        node = stack.pop()
        order[count] = node
        count += 1
        stack.extend(children[first[node] : first[node + 1]][::-1].tolist())
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    parents = place[parent[order][1:]]
    groups = sp.csc_matrix((np.ones(n - 1, dtype=bool), (np.arange(1, n), parents)), shape=(n, n))
    tree = {
        "eta_g": np.ones(n),
        "groups": groups,
        "own_variables": np.arange(n, dtype=np.int32),
        "N_own_variables": np.ones(n, dtype=np.int32),
    }
    return tree, order


def _against_spams(n: int = 1_000_000) -> tuple[str, list[Comparison]]:
    """The table, and of each norm the shape of tree that suits Spinney least."""
    import spams

    rng = np.random.default_rng(0)
    lines = [
        f"### Against SPAMS proximalTree, {n:,} nodes",
        "",
        "| penalty | tree | Spinney s | SPAMS s | Spinney / SPAMS | largest difference |",
        "|---|---|---:|---:|---:|---:|",
    ]
    comparisons = []
    for penalty_class, name in ((TreeL2, "tree-l2"), (TreeLinf, "tree-linf")):
        measured = []
        for shape, make in SHAPES.items():
            parent = make(n, rng)
            penalty = penalty_class(0.1, parent)
            v = rng.standard_normal(n)
            tree, order = _spams_tree(parent)
            U = np.asfortranarray(v[order][:, None])
            ours, theirs = np.inf, np.inf
            for _ in range(ROUNDS):
                w = v.copy()
                started = time.perf_counter()
                penalty.prox(w, 1.0)
                ours = min(ours, time.perf_counter() - started)
                started = time.perf_counter()
                out = spams.proximalTree(U, tree, regul=name, lambda1=0.1, numThreads=1)
                theirs = min(theirs, time.perf_counter() - started)
            gap = float(np.max(np.abs(w[order] - np.ravel(out))))
            lines.append(
                f"| {name} | {shape} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} | {gap:.1e} |"
            )
            measured.append((theirs / ours, ours, theirs, gap, shape))
        _, ours, theirs, gap, shape = min(measured)
        comparisons.append(
            Comparison(
                "Tree norms", f"proximal operator of {name}, the least favourable of {len(SHAPES)} shapes of tree",
                f"{shape} tree, {n:,} nodes", "SPAMS proximalTree", "s", ours, theirs,
                "same" if gap < 1e-9 else "worse", f"largest difference {gap:.0e}",
            )
        )  # fmt: skip
    return "\n".join(lines) + "\n", comparisons
