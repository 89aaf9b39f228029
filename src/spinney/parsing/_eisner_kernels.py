# mypy: ignore-errors
"""Kernel of projective decoding: Eisner's dynamic programme over half trees."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def best_projective(scores, single_root, heads):
    """Write the heads of the best tree into ``heads[1:]``; return its score.

    Spans run over the places 0 (the artificial root) to n. ``complete[i, j]``: the best half tree with head i that
    reaches to j, on the right if j > i, on the left if j < i. ``linked[h, m]``: the same that ends with the edge from h
    to m, before m has got the modifiers on its far side. Both are split in one place each, ``complete_at`` and
    ``linked_at``. With one root, place 0 takes no part until the end, where it has one modifier whose two halves
    cover the sentence.
    """
    n = len(scores) - 1
    first = 1 if single_root else 0
    complete = np.full((n + 1, n + 1), -np.inf)
    linked = np.full((n + 1, n + 1), -np.inf)
    complete_at = np.full((n + 1, n + 1), -1, np.int32)
    linked_at = np.full((n + 1, n + 1), -1, np.int32)
    for i in range(n + 1):
        complete[i, i] = 0.0
    for width in range(1, n + 1 - first):
        for i in range(first, n + 1 - width):
            j = i + width
            best, at = -np.inf, i
            for k in range(i, j):
                value = complete[i, k] + complete[j, k + 1]
                if value > best:
                    best, at = value, k
            linked[i, j], linked_at[i, j] = best + scores[i, j], at
            if i > 0:
                linked[j, i], linked_at[j, i] = best + scores[j, i], at
            for m in range(i + 1, j + 1):
                value = linked[i, m] + complete[m, j]
                if value > complete[i, j]:
                    complete[i, j], complete_at[i, j] = value, m
            if i > 0:
                for m in range(i, j):
                    value = linked[j, m] + complete[m, i]
                    if value > complete[j, i]:
                        complete[j, i], complete_at[j, i] = value, m

    # Each entry of the stack is a complete half tree: its head, and where it ends.
    stack = np.empty((2 * n + 2, 2), np.int32)
    top = 0
    total = complete[0, n]
    if single_root:
        total, root = -np.inf, 0
        for m in range(1, n + 1):
            value = scores[0, m] + complete[m, 1] + complete[m, n]
            if value > total:
                total, root = value, m
        if root > 0:
            heads[root] = 0
            stack[0, 0], stack[0, 1], stack[1, 0], stack[1, 1] = root, 1, root, n
            top = 2
    elif total > -np.inf:
        stack[0, 0], stack[0, 1] = 0, n
        top = 1
    while top > 0:
        top -= 1
        h, end = stack[top, 0], stack[top, 1]
        if h == end:
            continue
        m = complete_at[h, end]
        heads[m] = h
        k = linked_at[h, m]
        near, far = (k, k + 1) if h < m else (k + 1, k)
        stack[top, 0], stack[top, 1] = m, end
        stack[top + 1, 0], stack[top + 1, 1] = h, near
        stack[top + 2, 0], stack[top + 2, 1] = m, far
        top += 3
    return total
