"""Small sentences with chunk labels, for tests of taggers."""

import numpy as np


def make_sentences(n=40, seed=0):
    """Words and chunk labels: nouns begin or go on in a phrase, verbs are outside."""
    rng = np.random.default_rng(seed)
    nouns, verbs, dets = ["cat", "dog", "tree", "bird"], ["runs", "sleeps", "sings"], ["the", "a", "every"]
    X, y = [], []
    for _ in range(n):
        words, labels = [], []
        for _ in range(rng.integers(1, 4)):
            words += [str(rng.choice(dets)), str(rng.choice(nouns)), str(rng.choice(verbs))]
            labels += ["B-NP", "I-NP", "O"]
            if rng.random() < 0.3:
                words.append(str(rng.choice(nouns)))
                labels.append("B-NP")
        X.append(words)
        y.append(labels)
    return X, y
