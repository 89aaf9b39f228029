# mypy: ignore-errors
"""Compiled inside-outside over a packed forest with vectors of states, whose numbers may have any sign.

The vector of item i is ``values[start[i]:start[i + 1]]``. All items of a span share an exponent: true inside vectors
are ``inside · 2**exponent[span]``. A binary edge therefore has the factor 2**(exponent of its left span + of its right
one - of its own), in inside and outside sums alike. Then outside vectors are those of a sentence with Z = 1, up to the
last division: no logarithms, which signed numbers do not have.

A rule a → b c over a span is contracted with its tensor T once, whatever the number of splits: what the splits bring
is first summed in a matrix W[h2, h3] = Σ left[h2]·right[h3]. With ``rank[r]`` > 0 the tensor comes as three matrices,
T[h1, h2, h3] = Σ_j U[h1, j]·V[h2, j]·W[h3, j], one after another.

``f`` is a :class:`spinney.parsing.forest.ForestArrays`, ``g`` a :class:`spinney.parsing.inside.GrammarArrays`.
"""

import math

import numpy as np

from spinney.compiling import njit

FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def add_outer(scale, x, y, W):
    """W += scale·x yᵀ, W being flat."""
    m = len(y)
    for i in range(len(x)):
        s = scale * x[i]
        for j in range(m):
            W[i * m + j] += s * y[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_product(M, x, out):
    """out += M x, M being flat, a row for each number of ``out``."""
    m = len(x)
    for i in range(len(out)):
        total = 0.0
        for j in range(m):
            total += M[i * m + j] * x[j]
        out[i] += total


@njit(cache=True, nogil=True, fastmath=FAST)
def add_transposed(M, x, out):
    """out += Mᵀ x."""
    m = len(out)
    for i in range(len(x)):
        s = x[i]
        for j in range(m):
            out[j] += s * M[i * m + j]


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(x, y):
    """x · y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def add_scaled(scale, x, y):
    """y += scale·x."""
    for i in range(len(x)):
        y[i] += scale * x[i]


@njit(cache=True, nogil=True)
def clear(x):
    """x = 0."""
    for i in range(len(x)):
        x[i] = 0.0


@njit(cache=True, nogil=True)
def rescale(power, x):
    """x *= 2**power."""
    factor = math.ldexp(1.0, power)
    for i in range(len(x)):
        x[i] *= factor


@njit(cache=True, nogil=True)
def largest_exponent(x):
    """The least e with all numbers of x below 2**e; 0 if they are all 0."""
    largest = 0.0
    for i in range(len(x)):
        largest = max(largest, abs(x[i]))
    return math.frexp(largest)[1] if 0.0 < largest < np.inf else 0


@njit(cache=True, nogil=True)
def vector(values, start, item):
    """The vector of an item."""
    return values[start[item] : start[item + 1]]


@njit(cache=True, nogil=True)
def matrices(T, rank, m1, m2):
    """U, V and W of a decomposed tensor, flat."""
    return T[: m1 * rank], T[m1 * rank : (m1 + m2) * rank], T[(m1 + m2) * rank :]


@njit(cache=True, nogil=True)
def project(V, x, W, y, Vx, Wy):
    """Vᵀ x and Wᵀ y."""
    clear(Vx)
    clear(Wy)
    add_transposed(V, x, Vx)
    add_transposed(W, y, Wy)


@njit(cache=True, nogil=True)
def rule_inside(T, rank, lefts, rights, scale, start, inside, up, room):
    """What one rule makes of a span: up[h1] += Σ_{h2,h3} T[h1, h2, h3] Σ_edges scale·left[h2]·right[h3].

    With factors: up += U Σ_edges scale·(Vᵀ left)∘(Wᵀ right).
    """
    m2, m3 = len(vector(inside, start, lefts[0])), len(vector(inside, start, rights[0]))
    if rank == 0:
        total = room[0, : m2 * m3]
        clear(total)
        for e in range(len(lefts)):
            add_outer(scale[e], vector(inside, start, lefts[e]), vector(inside, start, rights[e]), total)
        add_product(T, total, up)
        return
    U, V, W = matrices(T, rank, len(up), m2)
    total, x, y = room[0, :rank], room[1, :rank], room[2, :rank]
    clear(total)
    for e in range(len(lefts)):
        project(V, vector(inside, start, lefts[e]), W, vector(inside, start, rights[e]), x, y)
        for j in range(rank):
            total[j] += scale[e] * x[j] * y[j]
    add_product(U, total, up)


@njit(cache=True, nogil=True)
def rule_outside(T, rank, lefts, rights, scale, start, inside, out, outside, posterior, room):
    """With D[h2, h3] = Σ_h1 out[h1] T[h1, h2, h3], left children gain scale·D right, right ones scale·Dᵀ left.

    With factors and d = Uᵀ out: left children gain scale·V (d∘Wᵀ right), right ones scale·W (d∘Vᵀ left).
    """
    m2, m3 = len(vector(inside, start, lefts[0])), len(vector(inside, start, rights[0]))
    if rank == 0:
        D, gain = room[0, : m2 * m3], room[1, :m2]
        clear(D)
        add_transposed(T, out, D)
        for e in range(len(lefts)):
            left, out_left = vector(inside, start, lefts[e]), vector(outside, start, lefts[e])
            clear(gain)
            add_product(D, vector(inside, start, rights[e]), gain)
            posterior[e] = scale[e] * dot(left, gain)
            for h in range(m2):
                out_left[h] += scale[e] * gain[h]
                gain[h] = scale[e] * left[h]
            add_transposed(D, gain, vector(outside, start, rights[e]))
        return
    U, V, W = matrices(T, rank, len(out), m2)
    d, x, y = room[0, :rank], room[1, :rank], room[2, :rank]
    clear(d)
    add_transposed(U, out, d)
    for e in range(len(lefts)):
        project(V, vector(inside, start, lefts[e]), W, vector(inside, start, rights[e]), x, y)
        total = 0.0
        for j in range(rank):
            weight = scale[e] * d[j]
            total += weight * x[j] * y[j]
            x[j], y[j] = weight * y[j], weight * x[j]
        posterior[e] = total
        add_product(V, x, vector(outside, start, lefts[e]))
        add_product(W, y, vector(outside, start, rights[e]))


@njit(cache=True, nogil=True)
def inside_pass(f, g, start, inside, exponent, scale, room):
    """Inside vectors of all items, and the factor of each binary edge; returns Z over 2**exponent[last span]."""
    clear(inside)
    k = u = w = 0
    for s in range(len(f.begin)):
        past = f.item_start[s + 1]
        first, own = k, -(2**30)
        while k < len(f.group_rule) and f.group_parent[k] < past:
            for e in range(f.group_start[k], f.group_start[k + 1]):
                own = max(own, exponent[f.span[f.left[e]]] + exponent[f.span[f.right[e]]])
            k += 1
        own = own if k > first else 0
        for i in range(first, k):
            begin, end, rule = f.group_start[i], f.group_start[i + 1], f.group_rule[i]
            for e in range(begin, end):
                power = exponent[f.span[f.left[e]]] + exponent[f.span[f.right[e]]] - own
                scale[e] = math.ldexp(1.0, max(power, -1100))
            T, up = vector(g.binary, g.binary_start, rule), vector(inside, start, f.group_parent[i])
            rule_inside(
                T,
                g.rank[rule],
                f.left[begin:end],
                f.right[begin:end],
                scale[begin:end],
                start,
                inside,
                up,
                room,
            )
        while w < len(f.entry) and f.lexical_parent[w] < past:
            add_scaled(
                1.0, vector(g.lexical, g.entry_start, f.entry[w]), vector(inside, start, f.lexical_parent[w])
            )
            w += 1
        while u < len(f.unary_rule) and f.unary_parent[u] < past:
            below, above = vector(inside, start, f.unary_child[u]), vector(inside, start, f.unary_parent[u])
            if f.unary_rule[u] < 0:
                add_scaled(1.0, below, above)
            else:
                add_product(vector(g.unary, g.unary_start, f.unary_rule[u]), below, above)
            u += 1
        here = inside[start[f.item_start[s]] : start[past]]
        shift = largest_exponent(here)
        exponent[s] = own + shift
        rescale(-shift, here)
        rescale(-shift, scale[f.group_start[first] : f.group_start[k]])
    Z = 0.0
    for i in f.root:
        Z += dot(vector(g.root, g.state_start, f.label[i]), vector(inside, start, i))
    return Z


@njit(cache=True, nogil=True)
def outside_pass(f, g, start, inside, exponent, scale, Z, outside, items, binary, unary, lexical, room):
    """Outside vectors of all items, divided by Z, and the posteriors of items and edges."""
    clear(outside)
    for i in f.root:
        add_scaled(1.0 / Z, vector(g.root, g.state_start, f.label[i]), vector(outside, start, i))
    k, u, w = len(f.group_rule), len(f.unary_rule), len(f.entry)
    for s in range(len(f.begin) - 1, -1, -1):
        first = f.item_start[s]
        while u > 0 and f.unary_parent[u - 1] >= first:
            u -= 1
            below, out = f.unary_child[u], vector(outside, start, f.unary_parent[u])
            gain = room[0, : start[below + 1] - start[below]]
            clear(gain)
            if f.unary_rule[u] < 0:
                add_scaled(1.0, out, gain)
            else:
                add_transposed(vector(g.unary, g.unary_start, f.unary_rule[u]), out, gain)
            unary[u] = dot(gain, vector(inside, start, below))
            add_scaled(1.0, gain, vector(outside, start, below))
        while w > 0 and f.lexical_parent[w - 1] >= first:
            w -= 1
            weight = dot(
                vector(outside, start, f.lexical_parent[w]), vector(g.lexical, g.entry_start, f.entry[w])
            )
            lexical[w] = math.ldexp(weight, -exponent[s])
        while k > 0 and f.group_parent[k - 1] >= first:
            k -= 1
            begin, end, rule = f.group_start[k], f.group_start[k + 1], f.group_rule[k]
            T, out = vector(g.binary, g.binary_start, rule), vector(outside, start, f.group_parent[k])
            rule_outside(
                T, g.rank[rule], f.left[begin:end], f.right[begin:end], scale[begin:end],
                start, inside, out, outside, binary[begin:end], room,
            )  # fmt: skip
    for i in range(len(f.label)):
        items[i] = dot(vector(outside, start, i), vector(inside, start, i))
