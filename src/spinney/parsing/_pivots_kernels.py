# mypy: ignore-errors
"""EM for rules whose nodes have known laws of what is seen below and above, given the states.

``inside[n, h]`` is the probability of what is seen below node n if its state is h, ``outside[n, h]`` that of what is
seen around it. Numbers of a rule are probabilities of its states together; each step replaces them by their counts.
"""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def binary_step(first, last, use_start, nodes, label, left, right, n_states, inside, outside, start, numbers):
    """One step for the binary rules first to last - 1, in place."""
    for r in range(first, last):
        if use_start[r] == use_start[r + 1]:
            continue
        some = nodes[use_start[r]]
        m, mb, mc = n_states[label[some]], n_states[label[left[some]]], n_states[label[right[some]]]
        T = numbers[start[r] : start[r + 1]].reshape(m, mb, mc)
        moment = np.zeros((m, mb, mc))
        for i in range(use_start[r], use_start[r + 1]):
            out, b, c = outside[nodes[i]], inside[left[nodes[i]]], inside[right[nodes[i]]]
            total = 0.0
            for h1 in range(m):
                for h2 in range(mb):
                    row = 0.0
                    for h3 in range(mc):
                        row += T[h1, h2, h3] * c[h3]
                    total += out[h1] * b[h2] * row
            if total <= 0.0:
                continue
            for h1 in range(m):
                for h2 in range(mb):
                    x = out[h1] * b[h2] / total
                    for h3 in range(mc):
                        moment[h1, h2, h3] += x * c[h3]
        T *= moment


@njit(cache=True, nogil=True)
def unary_step(use_start, nodes, label, left, n_states, inside, outside, start, numbers):
    """One step for all unary rules, in place."""
    for r in range(len(use_start) - 1):
        if use_start[r] == use_start[r + 1]:
            continue
        some = nodes[use_start[r]]
        m, mb = n_states[label[some]], n_states[label[left[some]]]
        T = numbers[start[r] : start[r + 1]].reshape(m, mb)
        moment = np.zeros((m, mb))
        for i in range(use_start[r], use_start[r + 1]):
            out, b = outside[nodes[i]], inside[left[nodes[i]]]
            total = 0.0
            for h1 in range(m):
                for h2 in range(mb):
                    total += out[h1] * T[h1, h2] * b[h2]
            if total > 0.0:
                for h1 in range(m):
                    for h2 in range(mb):
                        moment[h1, h2] += out[h1] * b[h2] / total
        T *= moment
