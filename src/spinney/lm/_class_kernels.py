# mypy: ignore-errors
"""Classes of next words, looked up after words."""

from __future__ import annotations

from spinney.compiling import njit
from spinney.lm._trie_kernels import find


@njit(cache=True, nogil=True)
def class_scores(
    ids, events, room, outcomes, n_symbols, n_outcomes, contexts, context_places, grams, gram_places, logp, backoff,
    unseen, scores, depths,
):  # fmt: skip
    """Fill log p of each event's class and how many symbols before it match: from the empty context to longer ones.

    A longer context replaces the probability if it has seen the class, and scales it by its back-off weight if not.
    """
    for i in range(events.size):
        y = outcomes[i]
        g = find(y, grams, gram_places)
        p = logp[g] if g >= 0 else unseen
        u, depth = 0, 0
        while depth < room[i] and ids[events[i] - depth - 1] >= 0:
            u = find(u * n_symbols + ids[events[i] - depth - 1], contexts, context_places)
            if u < 0:
                break
            depth += 1
            if g >= 0:
                g = find(u * n_outcomes + y, grams, gram_places)
            p = logp[g] if g >= 0 else p + backoff[u]
        scores[i] = p
        depths[i] = depth
