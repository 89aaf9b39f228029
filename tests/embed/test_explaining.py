"""What the vectors of words and the topics of documents come from."""

import numpy as np
import pytest

from spinney.embed import MomentTopics, recipes
from spinney.embed.explaining import topic_shares
from spinney.views import as_json


def test_the_tokens_that_topics_explain_add_up_to_the_words_of_the_document():
    X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 5, axis=0)
    model = MomentTopics(2).fit(X)
    for row, topics in zip(X, topic_shares(model, X)):
        assert sum(one.share for one in topics) == pytest.approx(1)
        assert topics[0].share == max(one.share for one in topics)
        found = dict.fromkeys(model.words_, 0.0)
        for one in topics:
            for word, n in one.words:
                found[word] += n
        assert list(found.values()) == pytest.approx(row.tolist())


def test_the_nearest_words_are_those_of_neighbours():
    text = [s.split() for s in ["the dog runs", "a cat sleeps", "the cat runs", "a dog sleeps"] * 5]
    model = recipes.fit(text, dimensions=2, min_count=1)
    [[dog, unheard]] = as_json(model.explain([["dog", "unheard"]], top=2))["explained"]
    wanted = [[word, pytest.approx(value)] for word, value in model.vectors().neighbours("dog", 2)]
    assert dog["nearest"] == wanted
    assert unheard["word"] == "unheard"
