"""Text sampled from a hidden Markov model, to see what it has learned and to test learners."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spinney.checking import random_numbers
from spinney.classes.hidden import HiddenMarkov
from spinney.corpus import TokenArrays
from spinney.inference.forests import TokenForest


def sample(
    model: HiddenMarkov, shape: TokenArrays, *, random_state: int = 0
) -> tuple[TokenArrays, NDArray[np.int32]]:
    """New words for the sentences of a text, with its lengths and trees, and the class of each.

    Parameters
    ----------
    model
        A fitted model.
    shape
        Sentences read with the model's vocabulary; their words do not matter.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["the", "dog", "barks"], ["the", "cat", "sleeps"]] * 50)
    >>> model = HiddenMarkov(3, em="batch", passes=60).fit(text)
    >>> drawn, classes = sample(model, text.part(0, 4), random_state=2)
    >>> [" ".join(drawn.vocabulary.decode(sentence)) for sentence in drawn]
    ['the dog barks', 'the cat sleeps', 'the dog sleeps', 'the cat sleeps']
    """
    rng, trees = random_numbers(random_state), model.trees(shape)
    forest, transition = TokenForest.from_heads(*trees[1:]), model.transition_
    classes = np.empty(len(forest), np.int32)
    classes[: forest.n_roots] = _draw(model.root_[:, None], np.zeros(forest.n_roots, np.intp), rng)
    for level in range(1, len(forest.levels) - 1):
        for first, end, kind in forest.runs(level):
            fathers = classes[forest.parents[first:end]]
            classes[first:end] = _draw(transition[kind], fathers, rng)
    in_order = np.empty_like(classes)
    in_order[forest.tokens] = classes
    words = np.empty(len(forest), np.int32)
    emission = model.emission()
    for i in np.unique(in_order).tolist():
        tokens = np.flatnonzero(in_order == i)
        words[tokens] = _draw(emission[:, i : i + 1], np.zeros(len(tokens), np.intp), rng)
    return replace(shape, ids=words), in_order


def _draw(
    laws: NDArray[np.float64], columns: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int32]:
    """One outcome for each of the chosen columns of a matrix of probabilities."""
    drawn = np.empty(len(columns), np.int32)
    for j in np.unique(columns).tolist():
        chosen = np.flatnonzero(columns == j)
        steps = np.cumsum(laws[:, j])
        drawn[chosen] = np.searchsorted(steps, rng.random(len(chosen)) * steps[-1], side="right")
    return drawn
