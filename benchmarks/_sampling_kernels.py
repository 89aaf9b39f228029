# mypy: ignore-errors
"""Words drawn from counts with absolute discounting, fast enough for 10⁹ of them."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def seed(number):
    """Begin a series of random numbers."""
    np.random.seed(number)


@njit(cache=True, nogil=True)
def draw_text(
    n_words, gram_ptr, symbol, following, up, parent, total, mass, discount, end, text, word_ptr, buffer
):
    """Sentences of about ``n_words`` in all, one on each line, as bytes in ``buffer``; returns (words, bytes).

    ``mass`` is the running sum of discounted counts over all grams; ``text`` and ``word_ptr`` hold the words.
    """
    drawn, at = 0, 0
    context, before = following[end + 1], end + 1
    while drawn < n_words or before != end + 1:
        c = context
        gram = -1
        while True:  # with the mass that the discounts leave, go to the shorter context
            first, last = gram_ptr[c], gram_ptr[c + 1]
            own = mass[last] - mass[first]
            u = np.random.random() * (own if c == 0 else total[c])
            if u < own:
                gram = (
                    min(
                        np.searchsorted(mass[first : last + 1], mass[first] + u, side="right") - 1,
                        last - first - 1,
                    )
                    + first
                )
                break
            c = parent[c]
        y = symbol[gram]
        if y == end:
            buffer[at - 1 if at else 0] = 10
            context, before = following[end + 1], end + 1
            continue
        for i in range(word_ptr[y], word_ptr[y + 1]):
            buffer[at] = text[i]
            at += 1
        buffer[at] = 32
        at += 1
        drawn += 1
        # The context of what comes next: the two last words, if they were ever seen together, or the last.
        pair = gram
        while pair >= 0 and gram_ptr[1] <= up[pair]:
            pair = up[pair]
        if c == 0:
            owner = following[before]
            first, last = gram_ptr[owner], gram_ptr[owner + 1]
            place = first + np.searchsorted(symbol[first:last], y)
            pair = place if place < last and symbol[place] == y else -1
        context = following[pair] if pair >= 0 and following[pair] >= 0 else following[y]
        before = y
    return drawn, at
