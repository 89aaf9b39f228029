"""Taxonomies of the words of a text."""

import numpy as np
import pytest

from spinney.corpus import sentence_arrays
from spinney.errors import InputError, OptionError
from spinney.taxonomy.text import _neighbours, text_taxonomy


def test_neighbours_are_within_sentences():
    before, after = _neighbours(sentence_arrays([["a", "b"], [], ["c"]]))
    assert list(zip(before.tolist(), after.tolist())) == [(3, 0), (0, 1), (1, 3), (3, 3), (3, 2), (2, 3)]


def test_words_that_follow_alike_are_near():
    text = sentence_arrays(
        [[a, b, c] for a in ("the", "a") for b in ("dog", "cat", "bird") for c in ("ran", "sat")] * 3
    )
    tree = text_taxonomy(text, n_dimensions=4)
    assert sorted(tree.names) == sorted([*text.vocabulary.words, "</s>"])
    newick = tree.to_newick()
    groups = [{"dog", "cat", "bird"}, {"ran", "sat"}, {"the", "a"}]
    depth = {frozenset(group): _smallest_clade(tree, group) for group in groups}
    assert all(size == len(group) for group, size in depth.items()), newick


def _smallest_clade(tree, names):
    """How many leaves hang under the lowest node that has all of them."""

    def above(leaf):
        way = [leaf]
        while tree.parent[way[-1]] >= 0:
            way.append(int(tree.parent[way[-1]]))
        return way

    ways = [above(tree.names.index(name)) for name in names]
    lowest = next(node for node in ways[0] if all(node in way for way in ways))
    return sum(lowest in above(leaf) for leaf in range(len(tree)))


def test_tiny_and_empty_text():
    assert sorted(text_taxonomy(sentence_arrays([["a"]])).names) == ["</s>", "a"]
    with pytest.raises(InputError, match="no words"):
        text_taxonomy(sentence_arrays([[]]))
    with pytest.raises(OptionError, match="dimension"):
        text_taxonomy(sentence_arrays([["a"]]), n_dimensions=0)


def test_the_same_seed_gives_the_same_tree():
    rng = np.random.default_rng(0)
    text = sentence_arrays([[f"w{i}" for i in rng.integers(0, 20, 8)] for _ in range(50)])
    assert text_taxonomy(text).to_newick() == text_taxonomy(text).to_newick()
