# mypy: ignore-errors
"""Inside and outside vectors of the nodes of given trees, and what they say of each rule.

A node's vectors stand in a row of ``inside`` and ``outside`` [nodes, most states]. An inside vector is divided by its
largest entry, which is kept in ``scale``; an outside vector is scaled so that the posterior of state h at node n is
``inside[n, h] * outside[n, h]``. ``states[n]`` is the number of states of the node's label.
"""

import numpy as np

from spinney.compiling import njit

FAST = {"reassoc", "contract", "nsz"}  # sums in any order, so that they go several at a time


@njit(cache=True, nogil=True, fastmath=FAST)
def trees_inside_outside(
    first_tree,
    last_tree,
    tree_start,
    label,
    left,
    right,
    rule,
    n_states,
    root_start,
    root,
    binary_start,
    binary,
    unary_start,
    unary,
    entry_start,
    lexical,
    inside,
    outside,
    scale,
    log_probability,
):
    """Fill the rows of the nodes of some trees; the log probability of each tree."""
    most = inside.shape[1]
    D = np.empty((most, most))
    for t in range(first_tree, last_tree):
        begin, end = tree_start[t], tree_start[t + 1]
        total = 0.0
        for n in range(begin, end):  # children come before parents
            m = n_states[label[n]]
            if rule[n] < 0:
                inside[n, :m] = 0.0
            elif left[n] < 0:
                at = entry_start[rule[n]]
                for h in range(m):
                    inside[n, h] = lexical[at + h]
            elif right[n] < 0:
                b, mb, at = left[n], n_states[label[left[n]]], unary_start[rule[n]]
                for h in range(m):
                    value = 0.0
                    for h2 in range(mb):
                        value += unary[at + h * mb + h2] * inside[b, h2]
                    inside[n, h] = value
            else:
                b, c, at = left[n], right[n], binary_start[rule[n]]
                mb, mc = n_states[label[b]], n_states[label[c]]
                for h in range(m):
                    value = 0.0
                    for h2 in range(mb):
                        row = 0.0
                        for h3 in range(mc):
                            row += binary[at + h3] * inside[c, h3]
                        value += row * inside[b, h2]
                        at += mc
                    inside[n, h] = value
            scale[n] = _scaled(inside[n, :m])
            total += np.log(scale[n])
        top = end - 1
        at, m = root_start[label[top]], n_states[label[top]]
        value = 0.0
        for h in range(m):
            outside[top, h] = root[at + h]
            value += root[at + h] * inside[top, h]
        log_probability[t] = total + np.log(value) if value > 0 else -np.inf
        for n in range(end - 1, begin - 1, -1):
            m = n_states[label[n]]
            _paired(inside[n, :m], outside[n, :m])
            if left[n] < 0:
                continue
            if rule[n] < 0:
                outside[left[n]] = 0.0
                if right[n] >= 0:
                    outside[right[n]] = 0.0
            elif right[n] < 0:
                b, mb, at = left[n], n_states[label[left[n]]], unary_start[rule[n]]
                for h2 in range(mb):
                    outside[b, h2] = 0.0
                for h in range(m):
                    for h2 in range(mb):
                        outside[b, h2] += outside[n, h] * unary[at + h * mb + h2]
            else:
                b, c, at = left[n], right[n], binary_start[rule[n]]
                mb, mc = n_states[label[b]], n_states[label[c]]
                D[:mb, :mc] = 0.0
                for h in range(m):
                    for h2 in range(mb):
                        for h3 in range(mc):
                            D[h2, h3] += outside[n, h] * binary[at + h3]
                        at += mc
                outside[c, :mc] = 0.0
                for h2 in range(mb):
                    row = 0.0
                    for h3 in range(mc):
                        row += D[h2, h3] * inside[c, h3]
                        outside[c, h3] += D[h2, h3] * inside[b, h2]
                    outside[b, h2] = row


@njit(cache=True, nogil=True)
def _scaled(row):
    """Divide by the largest entry, and return it; 1 for a row of zeros."""
    largest = 0.0
    for h in range(len(row)):
        largest = max(largest, row[h])
    if largest == 0.0:
        return 1.0
    for h in range(len(row)):
        row[h] /= largest
    return largest


@njit(cache=True, nogil=True)
def _paired(inside, outside):
    """Scale the outside vector so that its product with the inside vector is 1."""
    total = 0.0
    for h in range(len(inside)):
        total += inside[h] * outside[h]
    if total > 0.0:
        for h in range(len(inside)):
            outside[h] /= total


@njit(cache=True, nogil=True, fastmath=FAST)
def expected_binary(
    first, last, use_start, nodes, left, right, states, start, binary, inside, outside, scale, counts
):
    """Counts of the binary rules first to last - 1: posteriors of (h1, h2, h3), summed over the nodes of a rule.

    At a node the posterior is outside[h1] · rule[h1, h2, h3] · inside_b[h2] · inside_c[h3]; the rule is the same at all
    its nodes, so it is multiplied in at the end.
    """
    for r in range(first, last):
        if use_start[r] == use_start[r + 1]:
            continue
        some = nodes[use_start[r]]
        m, mb, mc = states[some], states[left[some]], states[right[some]]
        tensor = binary[start[r] : start[r + 1]].reshape(m, mb, mc)
        moment = np.zeros((m, mb, mc))
        for i in range(use_start[r], use_start[r + 1]):
            n = nodes[i]
            b, c = left[n], right[n]
            for h1 in range(m):
                for h2 in range(mb):
                    weight = outside[n, h1] * inside[b, h2] / scale[n]
                    for h3 in range(mc):
                        moment[h1, h2, h3] += weight * inside[c, h3]
        counts[start[r] : start[r + 1]] = (tensor * moment).reshape(-1)


@njit(cache=True, nogil=True)
def expected_unary(use_start, nodes, left, states, start, unary, inside, outside, scale, counts):
    """Counts of the unary rules: posteriors of (h1, h2)."""
    for r in range(len(use_start) - 1):
        for i in range(use_start[r], use_start[r + 1]):
            n = nodes[i]
            b, at = left[n], start[r]
            for h1 in range(states[n]):
                for h2 in range(states[b]):
                    counts[at] += outside[n, h1] * unary[at] * inside[b, h2] / scale[n]
                    at += 1
