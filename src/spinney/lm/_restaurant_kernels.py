# mypy: ignore-errors
"""Chinese restaurants on the contexts of a trie: customers who come and go, and what the seating predicts.

Every context is a restaurant, every gram a dish in it. ``trie`` is (up, context, pool): the tables of gram ``g`` have
the sizes ``sizes[pool[g] : pool[g] + tables[g]]``, and each of them is a customer at the parent gram, ``up[g]``.
``seating`` is (customers, tables, sizes) by gram and (guests, laid), customers and tables by context.
``prior`` is (discount, concentration), by context, and the base probability.
"""

from __future__ import annotations

import math

import numpy as np

from spinney.compiling import njit
from spinney.lm._trie_kernels import find


@njit(cache=True, nogil=True)
def leave(gram, trie, seating, rng):
    """A customer of a gram leaves; if that empties a table, the customer it had sent to the parent leaves too."""
    up, context, pool = trie
    customers, tables, sizes, guests, laid = seating
    while gram >= 0:
        here, k = pool[gram], 0
        if tables[gram] > 1:
            seat = np.int64(rng.random() * customers[gram])
            while seat >= sizes[here + k]:
                seat -= sizes[here + k]
                k += 1
        customers[gram] -= 1
        guests[context[gram]] -= 1
        sizes[here + k] -= 1
        if sizes[here + k] > 0:
            return
        tables[gram] -= 1
        laid[context[gram]] -= 1
        sizes[here + k] = sizes[here + tables[gram]]
        gram = up[gram]


@njit(cache=True, nogil=True)
def enter(gram, trie, seating, prior, rng, path, p):
    """A customer comes to a gram and joins a table of n with weight n - d, or opens one and sends it to the parent."""
    up, context, pool = trie
    customers, tables, sizes, guests, laid = seating
    discount, concentration, base = prior
    n = 0
    while gram >= 0:
        path[n] = gram
        gram = up[gram]
        n += 1
    above = base
    for k in range(n - 1, -1, -1):
        p[k] = above  # what the parent of path[k] predicts
        g, u = path[k], context[path[k]]
        if guests[u] > 0:
            d, theta = discount[u], concentration[u]
            above = (customers[g] - d * tables[g] + (theta + d * laid[u]) * above) / (theta + guests[u])
    for k in range(n):
        g, u = path[k], context[path[k]]
        d, here, open_tables = discount[u], pool[g], tables[g]
        old = customers[g] - d * open_tables
        new = (concentration[u] + d * laid[u]) * p[k]
        customers[g] += 1
        guests[u] += 1
        if open_tables > 0:
            spot = rng.random() * (old + new) - new
            if spot >= 0:
                j = 0
                while j < open_tables - 1 and spot >= sizes[here + j] - d:
                    spot -= sizes[here + j] - d
                    j += 1
                sizes[here + j] += 1
                return
        sizes[here + open_tables] = 1
        tables[g] += 1
        laid[u] += 1


@njit(cache=True, nogil=True)
def seat_all(grams, again, trie, seating, prior, rng, longest_path):
    """Seat a customer at each of the grams in turn; ``again``: one of that gram leaves before."""
    path = np.empty(longest_path, np.int32)
    p = np.empty(longest_path)
    for i in range(grams.size):
        if again:
            leave(grams[i], trie, seating, rng)
        enter(grams[i], trie, seating, prior, rng, path, p)


@njit(cache=True, nogil=True)
def interpolated(up, context, own, weight, base):
    """p of every gram, parents first: its own share, and the weight of its context times p of its parent."""
    p = np.empty(up.size)
    for g in range(up.size):
        p[g] = own[g] + weight[context[g]] * (p[up[g]] if up[g] >= 0 else base)
    return p


@njit(cache=True, nogil=True)
def follow(ids, i, room, nodes, keys, places, n_symbols, path):
    """The nodes of a collapsed trie that the ``room`` symbols before ``ids[i]`` lead to, the root first.

    ``nodes`` is (depth, length, place, text). Returns how many nodes, and how many symbols they share with the text;
    that may be fewer than the last node has.
    """
    depth, _, place, text = nodes
    path[0] = 0
    n, matched = 1, 0
    while matched < room and ids[i - 1 - matched] >= 0:
        node = find(np.int64(path[n - 1]) * n_symbols + ids[i - 1 - matched], keys, places)
        if node < 0:
            break
        path[n] = node
        n += 1
        longest = min(room, depth[node])
        matched += 1
        while matched < longest and ids[i - 1 - matched] == text[place[node] - 1 - matched]:
            matched += 1
        if matched < depth[node]:
            break
    return n, matched


@njit(cache=True, nogil=True)
def fragments(customers, tables, d1, d2):
    """Into how many tables those of PY(d1 d2, 0) fall apart, on average, by PY(d2, -d1 d2) (Pitman 1999).

    Tables of n customers give d1 + (1 - d1) Π_{i=1}^{n-1} (i + d2 - d1 d2) / (i - d1 d2) each; the customers of a gram
    are shared out evenly among its tables, for only their numbers are kept.
    """
    found = tables.copy()
    d = d1 * d2
    for k in range(tables.size):
        n = customers[k] / tables[k]
        if n > 1.0:
            ratio = (
                math.lgamma(n + d2 - d)
                - math.lgamma(1.0 + d2 - d)
                + math.lgamma(1.0 - d)
                - math.lgamma(n - d)
            )
            found[k] *= d1 + (1.0 - d1) * math.exp(ratio)
    return found


@njit(cache=True, nogil=True)
def split(node, matched, nodes, gram_ptr, customers, tables, fall):
    """The restaurant of a context inside a node: its customers by gram, and its discount.

    ``fall[n]`` is the sum of the logarithms of the discounts of the first n lengths.
    """
    depth, length = nodes[0][node], nodes[1][node]
    d1 = math.exp(fall[matched + 1] - fall[depth - length + 1])
    d2 = math.exp(fall[depth + 1] - fall[matched + 1])
    grams = slice(gram_ptr[node], gram_ptr[node + 1])
    return fragments(customers[grams], tables[grams], d1, d2), d1


@njit(cache=True, nogil=True)
def memoizer_scores(ids, room, events, nodes, grams, context_table, gram_table, fall, sizes):
    """The probability of each event, and how many symbols before it were followed.

    ``grams`` is (gram_ptr, customers, tables, own, weight), the last two for whole nodes.
    """
    gram_ptr, customers, tables, own, weight = grams
    n_outcomes, n_symbols, longest_path = sizes
    path = np.empty(longest_path, np.int32)
    p = np.zeros(events.size)
    depths = np.empty(events.size, np.int32)
    for e in range(events.size):
        i = events[e]
        n, depths[e] = follow(ids, i, room[i], nodes, context_table[0], context_table[1], n_symbols, path)
        if ids[i] < 0:
            continue
        p[e] = 1.0 / n_outcomes
        g = np.int32(0)
        for k in range(n):
            u = path[k]
            if g >= 0:  # what a context has not seen, longer ones have not either
                g = find(np.int64(u) * n_outcomes + ids[i], gram_table[0], gram_table[1])
            if depths[e] >= nodes[0][u]:
                p[e] = weight[u] * p[e] + (own[g] if g >= 0 else 0.0)
            else:
                parts, d1 = split(u, depths[e], nodes, gram_ptr, customers, tables, fall)
                laid = tables[gram_ptr[u] : gram_ptr[u + 1]].sum()
                p[e] *= d1 * laid
                if g >= 0:
                    p[e] += parts[g - gram_ptr[u]] - d1 * tables[g]
                p[e] /= parts.sum()
    return p, depths
