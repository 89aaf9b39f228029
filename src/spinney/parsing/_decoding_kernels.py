# mypy: ignore-errors
"""Compiled search for the best derivation in a packed forest."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def best_edges(f, binary, unary, lexical, score, chosen):
    """The best score of each item, and the edge that gives it: the first of several; -1 where nothing is possible."""
    score[:] = -np.inf
    chosen[:] = -1
    k = u = w = 0
    for s in range(len(f.begin)):
        past = f.item_start[s + 1]
        while w < len(f.entry) and f.lexical_parent[w] < past:
            parent = f.lexical_parent[w]
            if lexical[w] > score[parent]:
                score[parent], chosen[parent] = lexical[w], w
            w += 1
        while k < len(f.group_rule) and f.group_parent[k] < past:
            parent = f.group_parent[k]
            for e in range(f.group_start[k], f.group_start[k + 1]):
                value = binary[e] + score[f.left[e]] + score[f.right[e]]
                if value > score[parent]:
                    score[parent], chosen[parent] = value, e
            k += 1
        while u < len(f.unary_rule) and f.unary_parent[u] < past:
            parent = f.unary_parent[u]
            value = unary[u] + score[f.unary_child[u]]
            if value > score[parent]:
                score[parent], chosen[parent] = value, u
            u += 1
