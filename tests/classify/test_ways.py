"""Ways of documents down a tree of classes."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier, TextFeatures, TextModel, TreeClassifier
from spinney.classify.ways import tree_ways
from spinney.errors import InputError
from spinney.structure import ClassTree

TEXTS = ["fur meow", "fur purr", "fur bark", "bark bone", "leaf acorn", "leaf hard", "leaf soft", "seed leaf"]
LABELS = ["cat", "cat", "dog", "dog", "oak", "oak", "elm", "elm"]


@pytest.mark.parametrize("tree", ["((cat,dog),(oak,elm));", "(cat,dog,(oak,elm));", "(((cat,dog),oak),elm);"])
def test_ways_multiply_to_the_probability_of_the_class(tree):
    model = TextModel(TreeClassifier(ClassTree.from_newick(tree), lam=0.05), TextFeatures("counts"))
    model.fit(TEXTS, LABELS)
    proba = model.estimator.predict_proba(model.matrix(TEXTS))
    for ways, words in ((tree_ways(model, TEXTS), 8), (tree_ways(model, TEXTS, 1), 1)):
        for way, p, text in zip(ways, proba, TEXTS):
            assert way.label == model.outputs[int(p.argmax())]
            assert way.probability == pytest.approx(p.max())
            assert way.steps[0].node == 0
            assert way.steps[-1].classes == [way.label]
            assert all(way.label in step.classes for step in way.steps)
            assert all(len(step.words) <= words for step in way.steps)
            assert {word for step in way.steps for word, _ in step.words} <= set(text.split())


def test_words_add_up_to_the_odds_of_two_branches():
    model = TextModel(
        TreeClassifier(ClassTree.from_newick("((cat,dog),(oak,elm));"), lam=0.05), TextFeatures("counts")
    )
    model.fit(TEXTS, LABELS)
    way = tree_ways(model, ["fur bark leaf"], 10)[0]
    root = way.steps[0]
    odds = np.log(root.probability / (1 - root.probability))
    intercept = float(model.estimator.intercept_[0])  # it speaks for the second branch
    total = sum(added for _, added in root.words)
    assert np.isclose(odds, total + intercept) or np.isclose(odds, total - intercept)


def test_other_models_have_no_ways():
    model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts")).fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="only a classifier along a class tree"):
        tree_ways(model, TEXTS)
