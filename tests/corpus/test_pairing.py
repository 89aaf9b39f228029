from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus.pairing import Pairing
from spinney.corpus.vocabulary import Folding, Numbering

BATCHES = st.lists(
    st.lists(st.tuples(st.sampled_from("aAbBcC?"), st.sampled_from("xyz")), max_size=9), max_size=5
)


@given(BATCHES)
def test_pairs_are_numbered_as_they_come(batches):
    """Batch by batch, while both columns go on growing, as one pass over strings would number them."""
    first, second, numbers, expected = Numbering(), Numbering(), Numbering(), Numbering()
    folded = Folding(str.lower, first)
    pairing = Pairing(first, second, numbers, unknown="?")
    for batch in batches:
        ids = np.array([[folded[a], second[b]] for a, b in batch], np.int32).reshape(-1, 2)
        words = ["?" if a == "?" else f"{a.lower()}|{b}" for a, b in batch]
        assert pairing(ids[:, 0], ids[:, 1]).tolist() == [expected[word] for word in words]
    assert list(numbers) == list(expected)
