# mypy: ignore-errors
"""Alignment lattices of words: letter i of m takes 0, 1 or 2 of the n phonemes; state (i, j) has used j of them.

``emit[letter, e]`` is the probability of emission ``e``: 0 is silence, ``1 + p`` the phoneme ``p``, and
``1 + P + p * P + q`` the phonemes ``p q``. After i letters, j lies between ``n - most * (m - i)`` and ``most * i``:
outside that band a state cannot be reached or cannot end well.
"""

import math

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def longest(ptr):
    """The length of the longest of some sequences."""
    most = 0
    for i in range(len(ptr) - 1):
        most = max(most, ptr[i + 1] - ptr[i])
    return most


@njit(cache=True, nogil=True)
def emission(phonemes, j, k, n_symbols):
    """The number of the emission of the ``k`` phonemes from ``j`` on."""
    if k == 0:
        return 0
    if k == 1:
        return 1 + phonemes[j]
    return 1 + n_symbols + phonemes[j] * n_symbols + phonemes[j + 1]


@njit(cache=True, nogil=True)
def expected_counts(letters, letter_ptr, phonemes, phoneme_ptr, emit, n_symbols, most, counts):
    """Add each word's expected emissions to ``counts``; give the log-likelihood of all words.

    Forward rows are scaled to sum to 1, backward rows by the same factors, so that an edge's posterior is
    alpha · emit · beta / scale, and the likelihood is the product of the scales; −∞ if a row underflows.
    """
    longest_word, longest_sound = longest(letter_ptr), longest(phoneme_ptr)
    alpha = np.zeros((longest_word + 1, longest_sound + 1))
    beta = np.zeros((longest_word + 1, longest_sound + 1))
    scale = np.ones(longest_word + 1)
    log_likelihood = 0.0
    for w in range(len(letter_ptr) - 1):
        word = letters[letter_ptr[w] : letter_ptr[w + 1]]
        sound = phonemes[phoneme_ptr[w] : phoneme_ptr[w + 1]]
        m, n = len(word), len(sound)
        alpha[: m + 1, : n + 1] = 0.0
        beta[: m + 1, : n + 1] = 0.0
        alpha[0, 0] = 1.0
        for i in range(m):
            total = 0.0
            for j in range(max(0, n - most * (m - i - 1)), min(n, most * (i + 1)) + 1):
                for k in range(min(most, j) + 1):
                    e = emission(sound, j - k, k, n_symbols)
                    alpha[i + 1, j] += alpha[i, j - k] * emit[word[i], e]
                total += alpha[i + 1, j]
            if total == 0.0:
                return -np.inf
            for j in range(n + 1):
                alpha[i + 1, j] /= total
            scale[i + 1] = total
            log_likelihood += math.log(total)
        beta[m, n] = 1.0
        for i in range(m - 1, -1, -1):
            for j in range(max(0, n - most * (m - i)), min(n, most * i) + 1):
                for k in range(min(most, n - j) + 1):
                    e = emission(sound, j, k, n_symbols)
                    rest = emit[word[i], e] * beta[i + 1, j + k] / scale[i + 1]
                    beta[i, j] += rest
                    counts[word[i], e] += alpha[i, j] * rest
    return log_likelihood


@njit(cache=True, nogil=True)
def best_alignments(letters, letter_ptr, phonemes, phoneme_ptr, score, n_symbols, most, taken):
    """How many phonemes each letter takes in the best alignment (Viterbi, scores are logarithms)."""
    longest_word, longest_sound = longest(letter_ptr), longest(phoneme_ptr)
    best = np.zeros((longest_word + 1, longest_sound + 1))
    back = np.zeros((longest_word + 1, longest_sound + 1), np.int8)
    for w in range(len(letter_ptr) - 1):
        word = letters[letter_ptr[w] : letter_ptr[w + 1]]
        sound = phonemes[phoneme_ptr[w] : phoneme_ptr[w + 1]]
        m, n = len(word), len(sound)
        best[: m + 1, : n + 1] = -np.inf
        best[0, 0] = 0.0
        for i in range(m):
            for j in range(max(0, n - most * (m - i - 1)), min(n, most * (i + 1)) + 1):
                for k in range(min(most, j) + 1):
                    e = emission(sound, j - k, k, n_symbols)
                    new = best[i, j - k] + score[word[i], e]
                    if new > best[i + 1, j]:
                        best[i + 1, j] = new
                        back[i + 1, j] = k
        j = n
        for i in range(m, 0, -1):
            taken[letter_ptr[w] + i - 1] = back[i, j]
            j -= back[i, j]
