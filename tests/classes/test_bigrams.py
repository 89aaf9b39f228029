"""Bigrams of classes: the likelihood word by word, and the hierarchy of a hidden Markov model's classes."""

import numpy as np
import pytest

from spinney.classes import Clustering, HiddenMarkov, exchange, pair_counts
from spinney.classes.bigrams import bigram_log_likelihood, class_paths
from spinney.corpus import sentence_arrays
from spinney.errors import OptionError
from spinney.structure import WordClasses


def drawn(seed, n=60):
    """Sentences of words a0 … d4, whose letters follow each other in pairs: ab and cd."""
    rng = np.random.default_rng(seed)
    letters = {"a": "bbbc", "b": "aaac", "c": "ddda", "d": "cccb"}
    sentences = []
    for _ in range(n):
        letter, words = str(rng.choice(list("abcd"))), []
        for _ in range(int(rng.integers(2, 9))):
            words.append(f"{letter}{rng.integers(5)}")
            letter = str(rng.choice(list(letters[letter])))
        sentences.append(words)
    return sentences


def test_the_likelihood_is_that_of_each_word_in_turn():
    train = sentence_arrays(drawn(1), min_count=3, unknown="?")
    text = drawn(2, 10)
    clustering = exchange(pair_counts(train), train.vocabulary, 4, root=True)
    classes, counts = clustering.classes, clustering.class_pairs
    roots, seen = clustering.class_roots, np.maximum(classes.counts, 1)
    prior = (counts.sum(axis=0) + roots + 1) / (counts.sum() + roots.sum() + 4)
    total = 0.0
    for words in text:
        before = None
        for word in words:
            known = word if word in train.vocabulary else "?"
            row = roots if before is None else counts[before]
            after = classes.ids[classes.words.index(known)]
            total += np.log((row[after] + prior[after]) / (row.sum() + 1))
            total += np.log(seen[classes.words.index(known)] / seen[classes.ids == after].sum())
            before = after
    pairs = pair_counts(sentence_arrays(text, vocabulary=train.vocabulary))
    assert bigram_log_likelihood(clustering, pairs) == pytest.approx(total, rel=1e-12)


def test_the_laws_sum_to_one():
    """The likelihoods of all sentences of two words add up to 1."""
    classes = WordClasses(["a", "b", "c"], [0, 1, 1], counts=[4, 3, 0])
    clustering = Clustering(classes, np.array([[2, 1], [0, 1]]), np.array([3, 0]))
    vocabulary = sentence_arrays([["a", "b", "c"]]).vocabulary
    texts = [sentence_arrays([[x, y]], vocabulary=vocabulary) for x in "abc" for y in "abc"]
    chances = [np.exp(bigram_log_likelihood(clustering, pair_counts(text))) for text in texts]
    assert sum(chances) == pytest.approx(1, rel=1e-12)


def test_other_words_are_refused():
    train = sentence_arrays(drawn(1))
    clustering = exchange(pair_counts(train), train.vocabulary, 4)
    with pytest.raises(OptionError, match="the clustering has 20"):
        bigram_log_likelihood(clustering, pair_counts(sentence_arrays([["a0", "b1"]])))


def test_the_classes_of_a_hidden_markov_model_get_a_hierarchy():
    text = sentence_arrays(drawn(1, 400))
    model = HiddenMarkov(4, em="batch", passes=30, random_state=3, threads=1).fit(text)
    paths = class_paths(model)
    assert sum(2.0 ** -len(path) for path in paths) == 1.0
    assert not any(a != b and b.startswith(a) for a in paths for b in paths)
