"""All small trees, random models of hidden classes, and what follows from the definitions by sums over all classes."""

from __future__ import annotations

from itertools import product

import numpy as np

from spinney.inference.hidden import Laws


def forests_of(n):
    """The heads of all trees, and of all forests, of n nodes."""
    for heads in product(range(-1, n), repeat=n):
        if all(_reaches_root(heads, k) for k in range(n)):
            yield heads


def _reaches_root(heads, k):
    for _ in heads:
        if k == -1:
            return True
        k = heads[k]
    return k == -1


def random_laws(rng, C, V, kinds=1, dtype=np.float64, zeros=0.0):
    counts = rng.random((V, C)) * (rng.random((V, C)) >= zeros) + 1e-3 * (zeros == 0)
    T = rng.random((kinds, C, C)) ** 2
    T /= T.sum(axis=1, keepdims=True)
    root = rng.random(C)
    scale = 1 / np.maximum(counts.sum(axis=0), 1e-9)
    return Laws(
        *(a.astype(dtype) for a in (counts, scale)), 1e-4, T.astype(dtype), (root / root.sum()).astype(dtype)
    )


def brute_force(heads, words, kinds, laws):
    """Likelihood, posteriors of nodes, expected edges and roots, best classes: by their definitions."""
    n, C = len(heads), laws.n_classes
    O = laws.counts.astype(np.float64) * laws.scale + laws.floor
    c = np.array(list(product(range(C), repeat=n)))
    p = np.ones(len(c))
    for k, head in enumerate(heads):
        p *= O[words[k], c[:, k]]
        p *= laws.root[c[:, k]] if head < 0 else laws.transition[kinds[k]][c[:, k], c[:, head]]
    total = p.sum()
    nodes = np.array([np.bincount(c[:, k], p, C) for k in range(n)]) / total
    edges, roots = np.zeros(laws.transition.shape), np.zeros(C)
    for k, head in enumerate(heads):
        if head < 0:
            roots += nodes[k]
        else:
            np.add.at(edges[kinds[k]], (c[:, k], c[:, head]), p / total)
    return np.log(total), nodes, edges, roots, dict(zip(map(tuple, c.tolist()), np.log(p)))
