# mypy: ignore-errors
"""The Hessian of a chain's log-likelihood over some weights, and quadratic models under an elastic net."""

import numpy as np

from spinney.compiling import njit

DEPTH = 5  # sweeps from which the limit is extrapolated


@njit(cache=True, nogil=True)
def chain_hessian(
    offsets,
    kinds,
    psi,
    M,
    ptr,
    which,
    label,
    value,
    pair_ptr,
    pair_which,
    before,
    here,
    pair_value,
    weights,
    tiny,
    fade,
    H,
):
    """Add to H the covariances of the features of all sentences under the model: H + H' is their matrix.

    Given x, the labels are a Markov chain. Its transitions P_t(y | y') = ψ_t(y) M_t(y', y) β_t(y) / Σ come out of one
    backward pass, and P(y_u = c | y_t = b) is a product of them. A feature is an *event*: a label at a token, or a pair
    of labels there. The covariance of two events at t < u is

        P(event at t) · [P(event at u | y_t = b) − P(event at u)],    b the label with which the first event ends.

    Events of a probability below ``tiny`` are left out, and u goes on until what y_t says about y_u has faded to
    ``fade``. Token t has the weights which[ptr[t]:ptr[t+1]] with their labels and values, and pairs likewise.
    """
    Y = psi.shape[1]
    longest, most = 0, 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    for t in range(len(ptr) - 1):
        most = max(most, ptr[t + 1] - ptr[t] + pair_ptr[t + 1] - pair_ptr[t])
    P = np.zeros((longest, Y + 1, Y))
    p = np.zeros((longest, Y))
    beta, total = np.zeros(Y), np.zeros(Y)
    event = np.empty((longest, most), np.int64)  # its weight,
    end = np.empty((longest, most), np.int64)  # its label,
    begin = np.empty((longest, most), np.int64)  # the label before it, or −1,
    prob = np.empty((longest, most))
    size = np.empty((longest, most))  # and its value
    count = np.zeros(longest, np.int64)
    ahead, further = np.zeros((Y, Y)), np.zeros((Y, Y))
    for i in range(len(offsets) - 1):
        a, T, c = offsets[i], offsets[i + 1] - offsets[i], weights[i]
        if c == 0.0:
            continue
        beta[:] = 1.0
        for t in range(T - 1, -1, -1):
            m = M[kinds[a + t]]
            first, last = (0, Y) if t > 0 else (Y, Y + 1)
            highest = 0.0
            for x in range(first, last):
                z = 0.0
                for y in range(Y):
                    P[t, x, y] = psi[a + t, y] * m[x, y] * beta[y]
                    z += P[t, x, y]
                if z > 0.0:
                    for y in range(Y):
                        P[t, x, y] /= z
                if t > 0:
                    total[x] = z
                    highest = max(highest, z)
            if t > 0 and highest > 0.0:
                for y in range(Y):
                    beta[y] = total[y] / highest
        for t in range(T):
            for y in range(Y):
                p[t, y] = P[0, Y, y]
                if t > 0:
                    p[t, y] = 0.0
                    for x in range(Y):
                        p[t, y] += p[t - 1, x] * P[t, x, y]
            k = 0
            for e in range(ptr[a + t], ptr[a + t + 1]):
                y = label[e]
                if p[t, y] > tiny:
                    event[t, k], end[t, k], begin[t, k] = which[e], y, -1
                    prob[t, k], size[t, k] = p[t, y], value[e]
                    k += 1
            for e in range(pair_ptr[a + t], pair_ptr[a + t + 1]):
                x, y = before[e], here[e]
                if (x == Y) != (t == 0):
                    continue
                q = P[0, Y, y] if t == 0 else p[t - 1, x] * P[t, x, y]
                if q > tiny:
                    event[t, k], end[t, k], begin[t, k] = pair_which[e], y, x
                    prob[t, k], size[t, k] = q, pair_value[e]
                    k += 1
            count[t] = k
        for t in range(T):
            for j in range(count[t]):
                for k in range(j + 1):  # unigrams come first, so only j can be a pair where k is none
                    both = 0.0
                    if end[t, j] == end[t, k] and (begin[t, k] < 0 or begin[t, k] == begin[t, j]):
                        both = prob[t, j]
                    cov = c * size[t, j] * size[t, k] * (both - prob[t, j] * prob[t, k])
                    H[event[t, j], event[t, k]] += cov if j != k else 0.5 * cov
            if count[t] == 0:
                continue
            for x in range(Y):
                for y in range(Y):
                    ahead[x, y] = 1.0 if x == y else 0.0
            for u in range(t + 1, T):
                known = 0.0  # what y_t still says about y_u
                for b in range(Y):
                    if p[t, b] <= tiny:
                        continue
                    for y in range(Y):
                        further[b, y] = 0.0
                    for x in range(Y):
                        if ahead[b, x] > 1e-9:
                            for y in range(Y):
                                further[b, y] += ahead[b, x] * P[u, x, y]
                    for y in range(Y):
                        known = max(known, p[t, b] * abs(further[b, y] - p[u, y]))
                for j in range(count[t]):
                    b = end[t, j]
                    at_t = c * size[t, j] * prob[t, j]
                    for k in range(count[u]):
                        y = end[u, k]
                        if begin[u, k] < 0:
                            given = further[b, y]
                        else:
                            given = ahead[b, begin[u, k]] * P[u, begin[u, k], y]
                        cov = at_t * size[u, k] * (given - prob[u, k])
                        H[event[t, j], event[u, k]] += cov
                if known < fade:
                    break
                for b in range(Y):
                    for y in range(Y):
                        ahead[b, y] = further[b, y]


@njit(cache=True, nogil=True)
def minimise_model(H, g, w, l1, l2, damping, new, tol, sweeps):
    """Coordinate descent on g·d + ½d'(H + damping·I)d + Σ l1_j|w_j + d_j| + ½l2‖w + d‖², with w + d in ``new``.

    Ends when no coordinate of a full sweep moves by more than ``tol``, in the units of the gradient. Between full
    sweeps only the coordinates that are not 0 are visited. After some sweeps the last iterates are extrapolated
    (Anderson acceleration: Bertrand and Massias 2021), where that leads lower. Returns the number of sweeps.
    """
    k = len(g)
    q = g + H @ (new - w)
    points, slopes = np.empty((DEPTH + 1, k)), np.empty((DEPTH + 1, k))
    points[0], slopes[0] = new, q
    kept = 1
    whole = True
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(k):
            if not whole and new[j] == 0.0:
                continue
            h = H[j, j] + damping
            x = h * new[j] - q[j] - damping * (new[j] - w[j])
            z = 0.0
            if x > l1[j]:
                z = (x - l1[j]) / (h + l2)
            elif x < -l1[j]:
                z = (x + l1[j]) / (h + l2)
            delta = z - new[j]
            if delta != 0.0:
                worst = max(worst, abs(delta) * (h + l2))
                new[j] = z
                row = H[j]
                for m in range(k):
                    q[m] += delta * row[m]
        if worst <= tol:
            if whole:
                return sweep + 1
            whole = True
        else:
            whole = sweep % 10 == 9
        points[kept], slopes[kept] = new, q
        kept += 1
        if kept > DEPTH:
            _extrapolate(points, slopes, g, w, l1, l2, damping, new, q)
            points[0], slopes[0] = new, q
            kept = 1
    return sweeps


@njit(cache=True, nogil=True)
def _extrapolate(points, slopes, g, w, l1, l2, damping, new, q):
    """Replace ``new`` and ``q`` by the combination of points that Anderson's method takes for their limit, if lower.

    The slopes g + H(x − w) are linear in x, so that they combine as the points do.
    """
    steps = points[1:] - points[:-1]
    n = len(steps)
    products = steps @ steps.T
    trace = 0.0
    for i in range(n):
        trace += products[i, i]
    if trace == 0.0 or not np.isfinite(trace):
        return
    for i in range(n):
        products[i, i] += 1e-10 * trace
    share = np.linalg.solve(products, np.ones(n))
    share /= share.sum()
    there, slope = share @ points[1:], share @ slopes[1:]
    if _model_value(there, slope, g, w, l1, l2, damping) < _model_value(new, q, g, w, l1, l2, damping):
        new[:], q[:] = there, slope


@njit(cache=True, nogil=True)
def _model_value(x, q, g, w, l1, l2, damping):
    total = 0.0
    for j in range(len(x)):
        d = x[j] - w[j]
        total += 0.5 * (g[j] + q[j]) * d + 0.5 * damping * d * d + l1[j] * abs(x[j]) + 0.5 * l2 * x[j] * x[j]
    return total
