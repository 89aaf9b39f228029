# mypy: ignore-errors
"""Lattices of composed labels: scores by parts, pruning, forward-backward, training and decoding.

A token has the score Σ_o Σ_{p of y} w[o, p] for label y, over its observations o and the parts p of the label. The few
best labels of each token are its candidates. Two adjacent candidates have the sum, over their facets, of an entry of
that facet's table of transitions.

Arrays that belong together come as tuples: ``seen`` (the observations of tokens: ptr, ids, values), ``rows`` (the
parts for which an observation has weights: ptr, parts), ``shape`` (the parts and facets of labels, and where the table
of each facet begins: ptr, parts, facets, offsets, sizes), ``room`` (what kernels work in; :func:`~.lattices.room`).
"""

import numpy as np

from spinney.compiling import njit

#: Labels that are less probable than this add nothing to the gradient of a token by itself.
NEGLIGIBLE = 1e-4


@njit(cache=True, nogil=True)
def gather(offsets, types, where, ptr, ids, values, n_types):
    """The observations of each token: those of the word ``where[r]`` words away in role r, for all roles."""
    n, roles = len(types), len(where)
    out_ptr = np.zeros(n + 1, np.int64)
    for write in range(2):
        out = np.empty(out_ptr[n] if write else 0, np.int32)
        out_values = np.empty(out_ptr[n] if write else 0, np.float32)
        place = 0
        for s in range(len(offsets) - 1):
            for t in range(offsets[s], offsets[s + 1]):
                for r in range(roles):
                    u = t + where[r]
                    k = r * n_types + (types[u] if offsets[s] <= u < offsets[s + 1] else 0)
                    if write:
                        for e in range(ptr[k], ptr[k + 1]):
                            out[place], out_values[place] = ids[e], values[e]
                            place += 1
                    else:
                        place += ptr[k + 1] - ptr[k]
                out_ptr[t + 1] = place
    return out_ptr, out, out_values


@njit(cache=True, nogil=True)
def averaged(G, S, begin, end, l1, l2, eta, W):
    """Weights from the sums of their gradients and of their squares: dual averaging with steps of AdaGrad.

    Xiao 2010; Duchi, Hazan and Singer 2011, eq. 24.
    """
    for j in range(begin, end):
        g = G[j]
        if g > l1:
            W[j] = -(g - l1) / (np.sqrt(S[j]) / eta + l2)
        elif g < -l1:
            W[j] = (-g - l1) / (np.sqrt(S[j]) / eta + l2)
        else:
            W[j] = 0.0


@njit(cache=True, nogil=True)
def refresh(first, end, seen, rows, G, S, l1, l2, eta, W, now, stamp):
    """The current weights of what tokens show, each once: ``stamp`` says when they were last computed."""
    for e in range(seen[0][first], seen[0][end]):
        o = seen[1][e]
        if stamp[o] != now:
            stamp[o] = now
            averaged(G, S, rows[0][o], rows[0][o + 1], l1, l2, eta, W)


@njit(cache=True, nogil=True)
def refresh_pairs(n, shape, G, S, l1, l2, eta, W, room):
    """The current weights of the transitions of a lattice."""
    _, _, _, chosen, _, count, _, _, _, _ = room
    for t in range(n + 1):
        for a in range(count[t - 1] if t else 1):
            before = chosen[t - 1, a] if t else -1
            for b in range(count[t]):
                for j in range(len(shape[4])):
                    place = place_of(j, before, chosen[t, b], shape)
                    averaged(G, S, place, place + 1, l1, l2, eta, W)


@njit(cache=True, nogil=True)
def label_scores(t, seen, rows, W, shape, of_part, of_label):
    """The score of every label at token t."""
    ptr, ids, values = seen
    row_ptr, row_part = rows
    of_part[:] = 0.0
    for e in range(ptr[t], ptr[t + 1]):
        o, value = ids[e], values[e]
        for j in range(row_ptr[o], row_ptr[o + 1]):
            of_part[row_part[j]] += value * W[j]
    part_ptr, part_ids = shape[0], shape[1]
    for y in range(len(of_label)):
        total = 0.0
        for i in range(part_ptr[y], part_ptr[y + 1]):
            total += of_part[part_ids[i]]
        of_label[y] = total


@njit(cache=True, nogil=True)
def best_candidates(of_label, margin, gold, chosen, score):
    """The best labels within ``margin`` of the best, as many as ``chosen`` has room for, and the true label if any."""
    K, n = len(chosen), 0
    lowest = of_label.max() - margin
    for y in range(len(of_label)):
        s = of_label[y]
        if s < lowest or (n == K and s <= score[K - 1]):
            continue
        if n < K:
            n += 1
        i = n - 1
        while i > 0 and score[i - 1] < s:
            score[i], chosen[i] = score[i - 1], chosen[i - 1]
            i -= 1
        score[i], chosen[i] = s, y
    if gold >= 0:
        for i in range(n):
            if chosen[i] == gold:
                return n
        if n < K:
            n += 1
        score[n - 1], chosen[n - 1] = of_label[gold], gold
    return n


@njit(cache=True, nogil=True)
def fill_candidates(first, end, seen, rows, W, shape, margin, gold, room):
    """The candidates of the tokens of a sentence, and after them its end, which is called label −1."""
    of_part, of_label, _, chosen, score, count, _, _, _, _ = room
    n = end - first
    for t in range(n):
        label_scores(first + t, seen, rows, W, shape, of_part, of_label)
        true = gold[first + t] if len(gold) else -1
        count[t] = best_candidates(of_label, margin, true, chosen[t], score[t])
    count[n], chosen[n, 0], score[n, 0] = 1, -1, 0.0


@njit(cache=True, nogil=True)
def place_of(j, before, here, shape):
    """Where the transition between two labels is in the table of facet j; −1 stands for no word."""
    _, _, facets, offsets, sizes = shape
    a = sizes[j] if before < 0 else facets[before, j]
    b = sizes[j] if here < 0 else facets[here, j]
    return offsets[j] + a * (sizes[j] + 1) + b


@njit(cache=True, nogil=True)
def transition(before, here, shape, T):
    """The score of two labels that follow each other."""
    total = 0.0
    for j in range(len(shape[4])):
        total += T[place_of(j, before, here, shape)]
    return total


@njit(cache=True, nogil=True)
def fill_transitions(n, shape, T, room):
    """The scores of all pairs of adjacent candidates."""
    _, _, _, chosen, _, count, M, _, _, _ = room
    for t in range(n + 1):
        for a in range(count[t - 1] if t else 1):
            before = chosen[t - 1, a] if t else -1
            for b in range(count[t]):
                M[t, a, b] = transition(before, chosen[t, b], shape, T)


@njit(cache=True, nogil=True)
def forward_backward(n, count, score, M, alpha, beta, mu):
    """Marginals of candidates from their scores and those of their pairs, M[t, a, b]; token n is the end.

    M holds the marginals of the pairs afterwards. Gives log Z.
    """
    log_z = 0.0
    for t in range(n + 1):
        high = -np.inf
        for a in range(count[t - 1] if t else 1):
            for b in range(count[t]):
                M[t, a, b] += score[t, b]
                high = max(high, M[t, a, b])
        for b in range(count[t]):
            alpha[t, b] = 0.0
        for a in range(count[t - 1] if t else 1):
            before = alpha[t - 1, a] if t else 1.0
            for b in range(count[t]):
                M[t, a, b] = np.exp(M[t, a, b] - high)
                alpha[t, b] += before * M[t, a, b]
        total = 0.0
        for b in range(count[t]):
            total += alpha[t, b]
        for b in range(count[t]):
            alpha[t, b] /= total
        beta[t, 0] = total  # kept here until the way back
        log_z += high + np.log(total)
    scale = beta[n, 0]
    beta[n, 0] = 1.0
    for t in range(n, -1, -1):
        total_here = scale
        if t:
            scale = beta[t - 1, 0]
        for a in range(count[t - 1] if t else 1):
            total = 0.0
            for b in range(count[t]):
                flow = M[t, a, b] * beta[t, b] / total_here
                total += flow
                M[t, a, b] = flow * (alpha[t - 1, a] if t else 1.0)
            if t:
                beta[t - 1, a] = total
                mu[t - 1, a] = total * alpha[t - 1, a]
    return log_z


@njit(cache=True, nogil=True)
def add_node_gradient(t, seen, rows, shape, count, chosen, p, gold, of_part, G, S):
    """Add the gradient of a token, whose labels have the probabilities p, to sums of gradients and of squares."""
    ptr, ids, values = seen
    row_ptr, row_part = rows
    part_ptr, part_ids = shape[0], shape[1]
    of_part[:] = 0.0
    for i in range(part_ptr[gold], part_ptr[gold + 1]):
        of_part[part_ids[i]] -= 1.0
    for k in range(count):
        for i in range(part_ptr[chosen[k]], part_ptr[chosen[k] + 1]):
            of_part[part_ids[i]] += p[k]
    for e in range(ptr[t], ptr[t + 1]):
        o, value = ids[e], values[e]
        for j in range(row_ptr[o], row_ptr[o + 1]):
            g = value * of_part[row_part[j]]
            if g != 0.0:
                G[j] += g
                S[j] += g * g


@njit(cache=True, nogil=True)
def add_pair_gradient(first, n, gold, shape, G, S, room):
    """The same for the transitions of a sentence, whose pairs have the marginals M."""
    _, _, _, chosen, _, count, M, _, _, _ = room
    for t in range(n + 1):
        was = gold[first + t - 1] if t else -1
        now = gold[first + t] if t < n else -1
        for a in range(count[t - 1] if t else 1):
            before = chosen[t - 1, a] if t else -1
            for b in range(count[t]):
                g = M[t, a, b]
                if before == was and chosen[t, b] == now:
                    g -= 1.0
                if g != 0.0:
                    for j in range(len(shape[4])):
                        place = place_of(j, before, chosen[t, b], shape)
                        G[place] += g
                        S[place] += g * g


@njit(cache=True, nogil=True)
def add_tokens(first, end, seen, gold, rows, W, shape, room, G, S):
    """The loss of the tokens of a sentence, each by itself over all labels; adds its gradient to G, squares to S."""
    of_part, of_label, every, _, _, _, _, _, _, _ = room
    loss = 0.0
    for t in range(first, end):
        label_scores(t, seen, rows, W, shape, of_part, of_label)
        high = of_label.max()
        loss -= of_label[gold[t]] - high
        total = 0.0
        for y in range(len(of_label)):
            of_label[y] = np.exp(of_label[y] - high)
            total += of_label[y]
        loss += np.log(total)
        live = 0
        for y in range(len(of_label)):
            p = of_label[y] / total
            if p > NEGLIGIBLE:
                every[live], of_label[live] = y, p
                live += 1
        add_node_gradient(t, seen, rows, shape, live, every, of_label, gold[t], of_part, G, S)
    return loss


@njit(cache=True, nogil=True)
def add_chain(first, end, seen, gold, rows, shape, TW, room, G, S, TG, TS):
    """The loss of a sentence over the lattice of its candidates; adds its gradient to G and TG, squares to S and TS."""
    of_part, _, _, chosen, score, count, M, alpha, beta, mu = room
    n = end - first
    fill_transitions(n, shape, TW, room)
    loss = 0.0
    for t in range(n + 1):
        now = gold[first + t] if t < n else -1
        loss -= transition(gold[first + t - 1] if t else -1, now, shape, TW)
        for b in range(count[t]):
            if chosen[t, b] == now:
                loss -= score[t, b]
    loss += forward_backward(n, count, score, M, alpha, beta, mu)
    for t in range(n):
        add_node_gradient(
            first + t, seen, rows, shape, count[t], chosen[t], mu[t], gold[first + t], of_part, G, S
        )
    add_pair_gradient(first, n, gold, shape, TG, TS, room)
    return loss


@njit(cache=True, nogil=True)
def train_pass(
    order, offsets, seen, gold, rows, shape, W, G, S, TW, TG, TS, state, stamp, l1, l2, margin, chained, room
):  # fmt: skip
    """One pass over the sentences in this order; without ``chained``, each token by itself. Gives the sum of losses.

    ``state`` holds the number of sentences seen so far, and the step.
    """
    loss, eta = 0.0, state[1]
    for i in order:
        first, end = offsets[i], offsets[i + 1]
        if first == end:
            continue
        k = state[0] / (len(offsets) - 1)
        refresh(first, end, seen, rows, G, S, k * l1, k * l2, eta, W, state[0] + 1.0, stamp)
        if chained:
            fill_candidates(first, end, seen, rows, W, shape, margin, gold, room)
            refresh_pairs(end - first, shape, TG, TS, k * l1, k * l2, eta, TW, room)
            loss += add_chain(first, end, seen, gold, rows, shape, TW, room, G, S, TG, TS)
        else:
            loss += add_tokens(first, end, seen, gold, rows, W, shape, room, G, S)
        state[0] += 1.0
    return loss


@njit(cache=True, nogil=True)
def loss_and_gradient(offsets, seen, gold, rows, shape, W, G, S, TW, TG, TS, margin, chained, room):
    """The loss of all sentences at fixed weights; adds its gradient to G and TG."""
    loss = 0.0
    for i in range(len(offsets) - 1):
        first, end = offsets[i], offsets[i + 1]
        if chained:
            fill_candidates(first, end, seen, rows, W, shape, margin, gold, room)
            loss += add_chain(first, end, seen, gold, rows, shape, TW, room, G, S, TG, TS)
        else:
            loss += add_tokens(first, end, seen, gold, rows, W, shape, room, G, S)
    return loss


@njit(cache=True, nogil=True)
def marginals(offsets, seen, rows, shape, W, TW, margin, room, out_count, out_chosen, out_mu):
    """The candidates of every token and their marginal probabilities."""
    _, _, _, chosen, score, count, M, alpha, beta, mu = room
    nothing = np.empty(0, np.int32)
    for i in range(len(offsets) - 1):
        first, end = offsets[i], offsets[i + 1]
        n = end - first
        fill_candidates(first, end, seen, rows, W, shape, margin, nothing, room)
        fill_transitions(n, shape, TW, room)
        forward_backward(n, count, score, M, alpha, beta, mu)
        for t in range(n):
            out_count[first + t] = count[t]
            for k in range(count[t]):
                out_chosen[first + t, k] = chosen[t, k]
                out_mu[first + t, k] = mu[t, k]


@njit(cache=True, nogil=True)
def best_in_best_value(count, chosen, mu, column, total, out):
    """For each token the most probable value of a column, and the most probable label that has it."""
    for t in range(len(count)):
        for k in range(count[t]):
            total[column[chosen[t, k]]] = 0.0
        for k in range(count[t]):
            total[column[chosen[t, k]]] += mu[t, k]
        best = 0
        for k in range(1, count[t]):
            ahead = total[column[chosen[t, k]]] - total[column[chosen[t, best]]]
            if ahead > 0.0 or (ahead == 0.0 and mu[t, k] > mu[t, best]):
                best = k
        out[t] = chosen[t, best]
