# mypy: ignore-errors
"""Sums, scaling, splitting and merging of the numbers of a grammar.

The numbers of rule r are ``values[start[r]:start[r + 1]]``: a row for each state of its label, ``label[r]``. A row
holds what that state may become: a vector, a matrix or one number.
"""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def add_row_sums(values, start, label, state_start, mass):
    """mass[a, h1] += the sum of the row h1 of each rule of a."""
    for r in range(len(label)):
        first, m = state_start[label[r]], state_start[label[r] + 1] - state_start[label[r]]
        size = (start[r + 1] - start[r]) // m
        for h in range(m):
            total = 0.0
            for i in range(start[r] + h * size, start[r] + (h + 1) * size):
                total += values[i]
            mass[first + h] += total


@njit(cache=True, nogil=True)
def scale_rows(values, start, label, state_start, factor, alpha, out):
    """out = factor[a, h1] · values, each row then moved by a share alpha towards the mean row of its rule."""
    for r in range(len(label)):
        first, m = state_start[label[r]], state_start[label[r] + 1] - state_start[label[r]]
        size = (start[r + 1] - start[r]) // m
        for i in range(size):
            mean = 0.0
            for h in range(m):
                at = start[r] + h * size + i
                out[at] = factor[first + h] * values[at]
                mean += out[at]
            mean *= alpha / m
            for h in range(m):
                at = start[r] + h * size + i
                out[at] = (1.0 - alpha) * out[at] + mean


@njit(cache=True, nogil=True)
def split_numbers(rules, values, start, state_start, source, new_state_start, copies, noise, new_start, out):
    """Each number goes to all copies of its states, in equal parts but for noise.

    ``source[s]`` is the old state (in its label) that the new state s is a copy of, ``copies[s]`` how many there are.
    ``rules`` holds 1, 2 or 3 labels a rule; missing ones count as one state.
    """
    width = rules.shape[1]
    for r in range(len(rules)):
        a, b, c = rules[r, 0], rules[r, min(1, width - 1)], rules[r, width - 1]
        mb = state_start[b + 1] - state_start[b] if width > 1 else 1
        mc = state_start[c + 1] - state_start[c] if width > 2 else 1
        nb = new_state_start[b + 1] - new_state_start[b] if width > 1 else 1
        nc = new_state_start[c + 1] - new_state_start[c] if width > 2 else 1
        at = new_start[r]
        for h1 in range(new_state_start[a + 1] - new_state_start[a]):
            s1 = new_state_start[a] + h1
            for h2 in range(nb):
                s2 = new_state_start[b] + h2
                o2, n2 = (source[s2], copies[s2]) if width > 1 else (0, 1)
                for h3 in range(nc):
                    s3 = new_state_start[c] + h3
                    o3, n3 = (source[s3], copies[s3]) if width > 2 else (0, 1)
                    old = values[start[r] + (source[s1] * mb + o2) * mc + o3]
                    parts = copies[s1] * n2 * n3
                    out[at] = old / parts * (1.0 + noise * np.random.uniform(-1.0, 1.0))
                    at += 1


@njit(cache=True, nogil=True)
def seed_noise(seed):
    """Seed the noise of this thread."""
    np.random.seed(seed)


@njit(cache=True, nogil=True)
def merge_numbers(rules, values, start, state_start, target, new_state_start, new_start, out):
    """Numbers of states with the same target (a state of the label) are added up."""
    width = rules.shape[1]
    for r in range(len(rules)):
        a, b, c = rules[r, 0], rules[r, min(1, width - 1)], rules[r, width - 1]
        mb = state_start[b + 1] - state_start[b] if width > 1 else 1
        mc = state_start[c + 1] - state_start[c] if width > 2 else 1
        nb = new_state_start[b + 1] - new_state_start[b] if width > 1 else 1
        nc = new_state_start[c + 1] - new_state_start[c] if width > 2 else 1
        at = start[r]
        for h1 in range(state_start[a + 1] - state_start[a]):
            t1 = target[state_start[a] + h1]
            for h2 in range(mb):
                t2 = target[state_start[b] + h2] if width > 1 else 0
                for h3 in range(mc):
                    t3 = target[state_start[c] + h3] if width > 2 else 0
                    out[new_start[r] + (t1 * nb + t2) * nc + t3] += values[at]
                    at += 1
