# mypy: ignore-errors
"""Compiled loops of the penalties: passes over trees, mergeable heaps, sequences and overlapping groups.

A forest is a ``parent`` array sorted so that every parent comes before its children (-1 for a root): a loop
from the last node to the first goes from the leaves up, the opposite loop from the roots down. ``node[i]`` is
the node of coordinate ``i``, or -1 when no group holds it.
"""

import numpy as np

from spinney.compiling import njit

# ---------------------------------------------------------------------------------------------- trees


@njit(cache=True, nogil=True)
def preorder(parent):
    """The nodes with every parent before its children, each subtree contiguous; shorter than ``parent`` on a cycle."""
    n = parent.size
    first = np.full(n, -1, np.int32)  # first child
    following = np.full(n, -1, np.int32)  # next sibling
    stack = np.empty(n, np.int32)
    depth = 0
    for v in range(n - 1, -1, -1):
        p = parent[v]
        if p >= 0:
            following[v] = first[p]
            first[p] = v
    for v in range(n - 1, -1, -1):
        if parent[v] < 0:
            stack[depth] = v
            depth += 1
    order = np.empty(n, np.int32)
    found = 0
    while depth > 0:
        depth -= 1
        v = stack[depth]
        order[found] = v
        found += 1
        if following[v] >= 0:
            stack[depth] = following[v]
            depth += 1
        if first[v] >= 0:
            stack[depth] = first[v]
            depth += 1
    return order[:found]


@njit(cache=True, nogil=True)
def subtree_sums(x, node, parent):
    """Sum of ``x`` over the subtree of each node."""
    total = np.zeros(parent.size)
    for i in range(x.size):
        if node[i] >= 0:
            total[node[i]] += x[i]
    for v in range(parent.size - 1, -1, -1):
        if parent[v] >= 0:
            total[parent[v]] += total[v]
    return total


@njit(cache=True, nogil=True)
def subtree_maxima(x, node, parent):
    """Largest element of ``x`` ≥ 0 in the subtree of each node; 0 where there is none."""
    largest = np.zeros(parent.size)
    for i in range(x.size):
        if node[i] >= 0:
            largest[node[i]] = max(largest[node[i]], x[i])
    for v in range(parent.size - 1, -1, -1):
        if parent[v] >= 0:
            largest[parent[v]] = max(largest[parent[v]], largest[v])
    return largest


@njit(cache=True, nogil=True)
def sums_to_root(x, parent):
    """Replace each ``x[v]`` by the sum of ``x`` over v and its ancestors."""
    for v in range(parent.size):
        if parent[v] >= 0:
            x[v] += x[parent[v]]


@njit(cache=True, nogil=True)
def tree_l2_prox(w, node, parent, radius):
    """Prox of Σ_v radius_v ‖w_subtree(v)‖₂ in place: two passes (Nelakanti 2014, Alg. 6)."""
    gamma = np.zeros(parent.size)  # squared norm of the subtree once its own nodes are shrunk
    for i in range(w.size):
        if node[i] >= 0:
            gamma[node[i]] += w[i] * w[i]
    for v in range(parent.size - 1, -1, -1):
        norm = np.sqrt(gamma[v])
        eta = 1.0 - radius[v] / norm if norm > radius[v] else 0.0
        if parent[v] >= 0:
            gamma[parent[v]] += gamma[v] * eta * eta
        gamma[v] = eta
    for v in range(parent.size):
        if parent[v] >= 0:
            gamma[v] *= gamma[parent[v]]
            if gamma[v] < 1e-150:  # deep down a long chain: subnormal numbers would be ten times as slow
                gamma[v] = 0.0
    for i in range(w.size):
        if node[i] >= 0:
            w[i] = w[i] * gamma[node[i]] + 0.0  # no negative zeros


@njit(cache=True, nogil=True)
def tree_l2_residual(w, grad, node, parent, radius):
    """The smallest element of ``grad`` + ∂Ω(w) for Ω = Σ_v radius_v‖w_subtree(v)‖₂.

    A group that is not zero has the gradient radius_v·w/‖w_subtree(v)‖; below those that are, what is left is the prox.
    """
    rate = subtree_sums(w * w, node, parent)
    left = np.zeros(parent.size)
    for v in range(parent.size):
        if rate[v] > 0:
            rate[v] = radius[v] / np.sqrt(rate[v])
        else:
            left[v] = radius[v]
    sums_to_root(rate, parent)
    rest = grad.copy()
    for i in range(w.size):
        if node[i] >= 0:
            rest[i] += rate[node[i]] * w[i]
    tree_l2_prox(rest, node, parent, left)
    return rest


@njit(cache=True, nogil=True)
def tree_l2_dual(squares, node, parent, weights, lam):
    """How far w = 0 is from optimal at λ, and the slope of that in λ (see ``tree_dual_norm``).

    f_v(λ) = [√(g_v² + Σ_children f_c²) − λω_v]_+ is the norm left in the subtree of v by the prox of the gradient:
    convex and decreasing in λ, 0 when λ is large. The answer is for the worst of the topmost penalised nodes.
    """
    f2 = np.zeros(parent.size)
    f_df = np.zeros(parent.size)  # Σ f_c f_c′
    covered = np.zeros(parent.size, np.bool_)
    for v in range(parent.size):
        covered[v] = weights[v] > 0 or (parent[v] >= 0 and covered[parent[v]])
    for i in range(squares.size):
        if node[i] >= 0 and covered[node[i]]:
            f2[node[i]] += squares[i]
    worst, slope = -np.inf, -1.0
    for v in range(parent.size - 1, -1, -1):
        if not covered[v]:
            continue
        norm = np.sqrt(f2[v])
        f = norm - lam * weights[v]
        df = (f_df[v] / norm if norm > 0 else 0.0) - weights[v]
        p = parent[v]
        if p < 0 or not covered[p]:
            if f > worst:
                worst, slope = f, df
        elif f > 0:
            f2[p] += f * f
            f_df[p] += f * df
    return worst, slope


@njit(cache=True, nogil=True)
def tree_linf_dual(sizes, node, parent, weights, lam):
    """As :func:`tree_l2_dual` for ℓ∞ groups, where f_v(λ) = [|g_v| + Σ_children f_c − λω_v]_+ is piecewise linear."""
    f_sum = np.zeros(parent.size)
    df_sum = np.zeros(parent.size)
    covered = np.zeros(parent.size, np.bool_)
    for v in range(parent.size):
        covered[v] = weights[v] > 0 or (parent[v] >= 0 and covered[parent[v]])
    for i in range(sizes.size):
        if node[i] >= 0 and covered[node[i]]:
            f_sum[node[i]] += sizes[i]
    worst, slope = -np.inf, -1.0
    for v in range(parent.size - 1, -1, -1):
        if not covered[v]:
            continue
        f = f_sum[v] - lam * weights[v]
        df = df_sum[v] - weights[v]
        p = parent[v]
        if p < 0 or not covered[p]:
            if f > worst:
                worst, slope = f, df
        elif f > 0:
            f_sum[p] += f
            df_sum[p] += df
    return worst, slope


@njit(cache=True, nogil=True)
def tree_linf_caps(x, copies, node, parent, radius, lowest):
    """For each node, the least cap that its group and those of its ancestors put on the values of ``x``.

    The prox of Σ_v radius_v max(x_subtree(v)) is min(x_i, caps[node_i]). Going up, each node melds the heaps of its
    children and levels its largest values until ``radius_v`` is taken away in all (Nelakanti 2014, Alg. 8). Values
    levelled together stay tied in every later step, so they go on as one entry: no more than 2n entries are ever
    popped. ``copies[v]`` says how many times each value of node v stands; caps do not go under ``lowest[v]``
    (0 for a norm, where x = |w|; -inf for a maximum of signed values). One more cap, infinite, serves node -1.

    Pairing heaps with the largest key on top, -1 for an empty one. Melds are written out where they are needed:
    Numba counts references at each call that takes an array, which would cost six times the work itself.
    """
    key = x.copy()
    count = np.empty(x.size)
    child = np.full(x.size, -1, np.int32)
    sibling = np.full(x.size, -1, np.int32)
    heap_of = np.full(parent.size, -1, np.int32)
    caps = np.full(parent.size + 1, np.inf)
    for i in range(x.size):
        v = node[i]
        if v < 0:
            continue
        count[i] = copies[v]
        top = heap_of[v]
        if top < 0 or key[top] < key[i]:
            child[i] = top
            heap_of[v] = i
        else:
            sibling[i] = child[top]
            child[top] = i
    for v in range(parent.size - 1, -1, -1):
        top = heap_of[v]
        mass = -radius[v]  # of the values popped, less what the group takes away
        total = 0.0  # how many they are
        block = -1
        while top >= 0 and key[top] * total > mass:
            mass += key[top] * count[top]
            total += count[top]
            block = top
            # Remove the top: meld its children in pairs, then the pairs from the last to the first.
            pairs = -1
            c = child[top]
            while c >= 0:
                a, b = c, sibling[c]
                c = -1
                if b >= 0:
                    c = sibling[b]
                    if key[a] < key[b]:
                        a, b = b, a
                    sibling[b] = child[a]
                    child[a] = b
                sibling[a] = pairs
                pairs = a
            top = pairs
            pairs = sibling[pairs] if pairs >= 0 else -1
            while pairs >= 0:
                a, b = top, pairs
                pairs = sibling[pairs]
                if key[a] < key[b]:
                    a, b = b, a
                sibling[b] = child[a]
                child[a] = b
                top = a
        if block >= 0:
            caps[v] = max(mass / total, lowest[v])
            key[block] = caps[v]
            count[block] = total
            child[block] = top
            if top >= 0:
                sibling[top] = -1
            top = block
        p = parent[v]
        if p >= 0 and top >= 0:
            a, b = heap_of[p], top
            if a < 0 or key[a] < key[b]:
                a, b = b, a
            if b >= 0:
                sibling[b] = child[a]
                child[a] = b
            heap_of[p] = a
    for v in range(parent.size):
        if parent[v] >= 0:
            caps[v] = min(caps[v], caps[parent[v]])
    return caps


# ------------------------------------------------------------------------------------------ sequences


@njit(cache=True, nogil=True)
def tv_prox(w, ptr, lam):
    """Prox of lam·Σ|w_{i+1} − w_i| on each sequence ``w[ptr[c]:ptr[c+1]]``, in place, in linear time.

    Dynamic programming of Johnson (2013): the derivative of the cost of the best start that ends at value b is
    piecewise linear and increasing in b, kept as knots in a double-ended queue (``x`` where it bends, ``a`` and ``b``
    by how much). Each step cuts it off at ±lam, at the knots ``low`` and ``high``, and adds b − w_k.
    """
    longest = 0
    for c in range(ptr.size - 1):
        longest = max(longest, ptr[c + 1] - ptr[c])
    x = np.empty(2 * longest)
    a = np.empty(2 * longest)
    b = np.empty(2 * longest)
    low = np.empty(longest)
    high = np.empty(longest)
    for c in range(ptr.size - 1):
        y = w[ptr[c] : ptr[c + 1]]
        n = y.size
        if n < 2 or lam == 0.0:
            continue
        left, right = n, n - 1  # the queue is x[left:right+1]
        for k in range(n):
            bound = lam if k < n - 1 else 0.0  # the last step looks for the minimum itself
            previous = lam if k > 0 else 0.0
            a_low, b_low = 1.0, -y[k] - previous
            while left <= right and a_low * x[left] + b_low <= -bound:
                a_low += a[left]
                b_low += b[left]
                left += 1
            if k == n - 1:
                y[k] = -b_low / a_low
                break
            a_high, b_high = -1.0, y[k] - previous
            while right >= left and -a_high * x[right] - b_high >= bound:
                a_high += a[right]
                b_high += b[right]
                right -= 1
            low[k] = (-bound - b_low) / a_low
            high[k] = (bound + b_high) / -a_high
            left -= 1
            x[left], a[left], b[left] = low[k], a_low, b_low + bound
            right += 1
            x[right], a[right], b[right] = high[k], a_high, b_high + bound
        for k in range(n - 2, -1, -1):
            y[k] = min(max(y[k + 1], low[k]), high[k])


@njit(cache=True, nogil=True)
def tv_dual_norm(grad, ptr, l1):
    """The least λ with ``grad`` = Dᵀz + l1·s, |z| ≤ λ, |s| ≤ 1, D the differences along each sequence.

    z is a path from 0 to 0 whose increments lie in [grad_i − l1, grad_i + l1]. A difference system of this kind is
    feasible unless some stretch is too steep: one that touches an end must not rise (or fall) by more than λ,
    one in the middle by more than 2λ. Where even the whole sequence is too steep (its mean exceeds l1), constants
    are worth fitting whatever λ is; the excess is taken off first.
    """
    lam = 0.0
    for c in range(ptr.size - 1):
        g = grad[ptr[c] : ptr[c + 1]]
        n = g.size
        if n < 2:
            continue
        mean = g.sum() / n
        excess = max(abs(mean) - l1, 0.0) * np.sign(mean)
        for sign in (1.0, -1.0):
            prefix, inner, total = 0.0, 0.0, 0.0
            for i in range(n):
                total += sign * (g[i] - excess) - l1
            for i in range(n - 1):
                steep = sign * (g[i] - excess) - l1
                prefix += steep
                lam = max(lam, prefix, total - prefix)  # from the start; to the end
                if i > 0:
                    inner = max(inner, 0.0) + steep
                    lam = max(lam, inner / 2.0)
    return lam


# ------------------------------------------------------------------------------------- overlapping groups


# Both kernels minimise ½‖w − Σ_g parts_g‖² over the parts, one for each group, in place. Either ‖parts_g‖ ≤ radius_g
# (the dual of Σ radius_g‖u_g‖, with u = w − Σ parts_g) or, when ``latent``, radius_g‖parts_g‖ is added to that.


# ------------------------------------------------------------------------------------ pairwise elastic net


@njit(cache=True, nogil=True)
def nonnegative_quadratic(x, product, target, matrix, kappa, tol, max_sweeps):
    """Minimise ½‖x − target‖² + kappa·xᵀ matrix x over x ≥ 0 by coordinate descent; ``product`` is matrix @ x."""
    for _ in range(max_sweeps):
        moved = 0.0
        for i in range(x.size):
            others = product[i] - matrix[i, i] * x[i]
            new = max(target[i] - 2.0 * kappa * others, 0.0) / (1.0 + 2.0 * kappa * matrix[i, i])
            change = new - x[i]
            if change != 0.0:
                for j in range(x.size):
                    product[j] += change * matrix[i, j]
                x[i] = new
                moved = max(moved, abs(change))
        if moved <= tol:
            break
