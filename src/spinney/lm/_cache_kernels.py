# mypy: ignore-errors
"""A running count of the recent past."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def cache_logprobs(event, grams, contexts, before, window, decay, base, n_outcomes, n_grams, n_contexts):
    """Log-probabilities of events under the cache of what came before each of them.

    ``grams[k, j]`` and ``contexts[k, j]`` number the gram of k + 1 words that ends with cached word j and its context
    (-1 where the text has not begun yet); ``before[k, e]`` is the context of event e, and ``event[e]`` the cached word
    that it is (-1: a symbol that is never cached, -2: one that is impossible). Counts are kept as they were when last
    touched (``*_time``), and decay when looked at.
    """
    order = grams.shape[0]
    gram_weight, gram_time = np.zeros(n_grams), np.zeros(n_grams, np.int64)
    latest = np.full(n_grams, np.int64(-1))  # the last cached word that made this gram
    weight, types, time = np.zeros(n_contexts), np.zeros(n_contexts), np.zeros(n_contexts, np.int64)
    kept = np.zeros(n_contexts, np.int64)  # counted exactly, so that an empty context has weight 0, not 1e-17
    logprob = np.empty(event.size)
    now = 0  # words in the cache so far: the newest is now - 1
    for e in range(event.size):
        j = event[e]
        p = 1.0 / n_outcomes
        for k in range(order):
            u = before[k, e]
            if u < 0 or kept[u] == 0:
                continue
            aged = decay ** (now - time[u])
            count = 0.0
            if j >= 0 and grams[k, j] >= 0 and latest[grams[k, j]] >= max(0, now - window):
                g = grams[k, j]
                count = gram_weight[g] * decay ** (now - gram_time[g])
            rest = base if k == 0 else types[u] * aged
            if not rest > 0.0:  # all of it so long ago that its weight is nothing
                continue
            p = (count + rest * p) / (weight[u] * aged + rest)
        logprob[e] = -np.inf if j == -2 else np.log(p)
        if j < 0:
            continue
        now += 1
        for k in range(order):
            old = now - 1 - window
            for place, sign in ((now - 1, 1), (old, -1)):
                if place < 0 or grams[k, place] < 0:
                    continue
                g, u = grams[k, place], contexts[k, place]
                aged = decay ** (now - time[u])
                of_this = decay ** (now - 1 - place)
                gram_weight[g] = gram_weight[g] * decay ** (now - gram_time[g]) + sign * of_this
                weight[u] = weight[u] * aged + sign * of_this
                types[u] *= aged
                if sign > 0:
                    if latest[g] >= max(0, old):  # until the line below takes it out, ``old`` counts
                        types[u] -= decay ** (now - 1 - latest[g])
                    else:
                        gram_weight[g] = of_this
                    types[u] += 1.0
                    latest[g] = place
                elif latest[g] == place:
                    types[u] -= of_this
                gram_time[g] = time[u] = now
                kept[u] += sign
                if kept[u] == 0:
                    weight[u] = types[u] = 0.0
    return logprob
