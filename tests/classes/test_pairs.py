from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.classes.pairs import fixed_point, pair_counts
from spinney.corpus import TokenArrays, Vocabulary, sentence_arrays
from spinney.errors import InputError, OptionError

sentences = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=6), min_size=1, max_size=8)


def with_random_heads(arrays: TokenArrays, seed: int) -> TokenArrays:
    """Heads anywhere in the sentence, or none."""
    rng = np.random.default_rng(seed)
    lengths = np.diff(arrays.offsets)
    heads = np.concatenate([rng.integers(-1, n, size=n) for n in lengths.tolist()])
    return dataclasses.replace(arrays, heads=heads.astype(np.int32))


def as_counter(pairs, by_child: bool = False) -> Counter:
    rows = pairs.parents if by_child else pairs.children
    found = Counter()
    for w in range(pairs.n_words):
        for k in range(rows.indptr[w], rows.indptr[w + 1]):
            other = int(rows.indices[k])
            found[(other, w) if by_child else (w, other)] += int(rows.counts[k])
    return found


@settings(max_examples=60, deadline=None)
@given(sentences, st.booleans(), st.integers(1, 40), st.sampled_from([1, 2]), st.integers(0, 99))
def test_counts_are_those_of_a_plain_loop_whatever_the_blocks(text, tree, block, threads, seed):
    arrays = with_random_heads(sentence_arrays(text), seed)
    pairs = pair_counts(arrays, tree=tree, max_pairs_in_memory=block, threads=threads)
    expected, roots = Counter(), Counter()
    for s, ids in enumerate(arrays):
        heads = arrays.heads[arrays.offsets[s] : arrays.offsets[s + 1]]
        for i, child in enumerate(ids.tolist()):
            parent = int(heads[i]) if tree else i - 1
            if parent < 0:
                roots[child] += 1
            else:
                expected[int(ids[parent]), child] += 1
    assert as_counter(pairs) == as_counter(pairs, by_child=True) == expected
    assert pairs.roots.tolist() == [roots[w] for w in range(pairs.n_words)]
    assert pairs.counts.tolist() == arrays.vocabulary.counts.tolist()
    assert pairs.n_pairs == expected.total()
    assert pairs.n_distinct == len(expected)
    assert [a.dtype for a in pairs.children] == [np.int64, np.int32, np.int64]


def test_empty_sentences_and_memory_mapped_arrays(tmp_path):
    arrays = sentence_arrays([["a", "b"], ["c"], ["a", "b", "c"]])
    arrays = dataclasses.replace(arrays, offsets=np.array([0, 0, 2, 2, 3, 6, 6]))
    arrays.save(tmp_path / "arrays")
    mapped = pair_counts(TokenArrays.load(tmp_path / "arrays"), max_pairs_in_memory=2)
    a, b, c = arrays.vocabulary.encode("abc").tolist()
    assert as_counter(mapped) == {(a, b): 2, (b, c): 1}
    assert mapped.roots[[a, b, c]].tolist() == [2, 0, 1]


def test_pairs_of_classes():
    arrays = sentence_arrays([["a", "b", "c", "a"]])
    pairs = pair_counts(arrays)
    ids = np.zeros(3, np.int32)
    ids[arrays.vocabulary["b"]] = 1
    assert pairs.of_classes(ids, 2).tolist() == [[1, 1], [1, 0]]
    ids[arrays.vocabulary["c"]] = -1
    assert pairs.of_classes(ids, 2).tolist() == [[0, 1], [0, 0]]


def test_refusals():
    arrays = sentence_arrays([["a", "b"]])
    with pytest.raises(OptionError, match="heads"):
        pair_counts(arrays, tree=True)
    with pytest.raises(OptionError, match="at least 1"):
        pair_counts(arrays, max_pairs_in_memory=0)
    empty = TokenArrays(np.zeros(0, np.int32), np.zeros(1, np.int64), Vocabulary(("a",), np.array([0])))
    with pytest.raises(InputError, match="no words"):
        pair_counts(empty)


@pytest.mark.parametrize("total", [1, 1000, 10**6, 10**9, 10**12])
def test_fixed_point_is_as_fine_as_int64_allows(total):
    from spinney.classes._pairs_kernels import phi

    table, scale = fixed_point(total)
    largest = phi(total, table, scale)
    assert 0 <= 16 * int(largest) < 2**63
    assert scale == 2.0**40 or 16 * int(largest) >= 2**60
    for x in (0, 1, 2, total // 3, total):
        exact = x * math.log(x) if x else 0.0
        assert phi(x, table, scale) / scale == pytest.approx(exact, abs=1 / scale, rel=1e-15)
