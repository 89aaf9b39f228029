"""Why tokens have their classes: the two parts of the log-odds, against messages from the context alone."""

import numpy as np
import pytest

from spinney.classes.explaining import token_classes
from spinney.classes.recipes import fit
from spinney.corpus.text import first_sentences
from spinney.settings import settings_or
from spinney.settings.classes import Explain
from spinney.views import as_json

TEXT = [s.split() for s in ["the dog runs", "a cat sleeps", "the cat runs fast", "a dog sleeps"] * 5]


def test_the_parts_are_those_of_the_word_and_of_its_context():
    model = fit(TEXT, method="hmm", classes=3, passes=3, min_count=1)
    s = settings_or(Explain, None, {})
    reading = model.reading()
    sentences = first_sentences([["the", "cat", "sleeps"]], s, reading, 1)
    [found] = token_classes(model, sentences, reading)
    emission, A, start = model.emission(), model.shared_transition_, model.root_
    ids = [model.vocabulary_[word] for word in ("the", "cat", "sleeps")]
    for t, one in enumerate(found):
        # By enumeration of the classes of all three tokens, with and without what token t emits.
        joint, context = np.zeros(3), np.zeros(3)
        for classes in np.ndindex(3, 3, 3):
            p = start[classes[0]] * A[classes[1], classes[0]] * A[classes[2], classes[1]]
            others = np.prod([emission[ids[j], classes[j]] for j in range(3) if j != t])
            joint[classes[t]] += p * others * emission[ids[t], classes[t]]
            context[classes[t]] += p * others
        assert one.number == joint.argmax()
        assert one.probability == pytest.approx(max(joint) / joint.sum(), rel=1e-4)
        assert one.log_odds == pytest.approx(np.log(joint[one.number] / joint[one.rival]), rel=1e-3)
        assert one.from_context == pytest.approx(np.log(context[one.number] / context[one.rival]), abs=2e-3)
        assert one.from_word + one.from_context == pytest.approx(one.log_odds)


def test_a_word_without_context_has_the_words_of_its_class():
    model = fit(TEXT, classes=3, min_count=1)
    [[first, *_]] = as_json(model.explain([["the", "unheard"]]))["explained"]
    assert first["number"] == model.word_classes()["the"]
    assert first["path"]
    assert "the" not in first["words"]
