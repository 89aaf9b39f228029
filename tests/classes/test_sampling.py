"""Text drawn from a model has the model's laws."""

from dataclasses import replace

import numpy as np
import pytest

from spinney.classes import HiddenMarkov, sample
from spinney.corpus import Labels, Vocabulary, sentence_arrays


def shape(sentences, tree):
    """Sentences of six words of a vocabulary of eight; in trees of three levels with two relations."""
    words = [f"w{i}" for i in range(8)]
    text = sentence_arrays([[words[(s + i) % 8] for i in range(6)] for s in range(sentences)])
    if not tree:
        return text
    heads = np.tile(np.array([1, -1, 1, 2, 2, 1], np.int32), sentences)
    labels = np.tile(np.array([0, 0, 1, 0, 1, 1], np.int32), sentences)
    return replace(text, heads=heads, labels={"deprel": Labels(labels, Vocabulary(("a", "b"), [1, 1]))})


@pytest.mark.parametrize(("structure", "typed"), [("chain", 0), ("tree", 0), ("tree", {"b": "b"})])
def test_frequencies_are_the_probabilities(structure, typed):
    text = shape(4000, structure == "tree")
    model = HiddenMarkov(3, structure, typed=typed, em="batch", passes=1).fit(text.part(0, 40))
    rng = np.random.default_rng(0)
    model.statistics_.omega[:] = rng.random((8, 3)) ** 3
    model.statistics_.mass[:] = model.statistics_.omega.sum(axis=0)
    model.statistics_.tau[:] = rng.random(model.statistics_.tau.shape) ** 3
    model.statistics_.rho[:] = [1, 2, 5]
    drawn, classes = sample(model, text, random_state=1)
    trees = model.trees(text)
    start = np.repeat(text.offsets[:-1], 6)
    heads = np.arange(-1, len(classes) - 1) if trees.heads is None else trees.heads + start
    roots = text.offsets[:-1] if trees.heads is None else np.flatnonzero(trees.heads < 0)
    below = np.setdiff1d(np.arange(len(classes)), roots)
    kinds = np.zeros(len(classes), int) if trees.kinds is None else trees.kinds
    np.testing.assert_allclose(np.bincount(classes[roots]) / len(roots), model.root_, atol=0.03)
    for kind, law in enumerate(model.transition_):
        edges = below[kinds[below] == kind]
        counts = np.zeros((3, 3))
        np.add.at(counts, (classes[edges], classes[heads[edges]]), 1)
        np.testing.assert_allclose(counts / counts.sum(axis=0), law, atol=0.05)
    counts = np.zeros((8, 3))
    np.add.at(counts, (drawn.ids, classes), 1)
    np.testing.assert_allclose(counts / counts.sum(axis=0), model.emission(), atol=0.03)


def test_the_same_seed_draws_the_same_text():
    text = shape(5, False)
    model = HiddenMarkov(3, passes=1).fit(text)
    one, two, other = (sample(model, text, random_state=seed)[0].ids.tolist() for seed in (1, 1, 2))
    assert one == two != other
