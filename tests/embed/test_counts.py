"""Counts over windows against loops over every token."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from spinney.corpus import TokenArrays, Vocabulary, sentence_arrays
from spinney.embed import counts as module
from spinney.embed.counts import WEIGHTINGS, ContextCounts, Window, count_contexts, window
from spinney.errors import OptionError

SLIDE = [["I", "ate", "ham"], ["You", "ate", "cheese"], ["You", "ate"]]


def as_arrays(sentences, size):
    """Sentences of numbers below ``size``, some of them perhaps empty or never used."""
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(size)), np.ones(size, np.int64))
    ids = np.array([w for sentence in sentences for w in sentence], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    return TokenArrays(ids, offsets, vocabulary)


def brute_force(sentences, around, n_words, n_contexts, edges=False, row_offset=0):
    """The definition: for each token, for each place of its window."""
    block = n_contexts + edges
    counts = np.zeros((n_words, around.n_blocks * block))
    for sentence in sentences:
        for t in range(len(sentence)):
            r = t + row_offset
            if not 0 <= r < len(sentence) or sentence[r] >= n_words:
                continue
            for offset, b, weight in zip(*around):
                p = t + offset
                if 0 <= p < len(sentence):
                    if sentence[p] < n_contexts:
                        counts[sentence[r], b * block + sentence[p]] += weight
                elif edges:
                    counts[sentence[r], b * block + n_contexts] += weight
    return counts


def assert_counts(found, expected):
    matrix = found.matrix
    assert sparse.issparse(matrix)
    assert matrix.format == "csr"
    assert matrix.dtype == np.float32
    assert matrix.shape == expected.shape
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-6)
    assert matrix.nnz == np.count_nonzero(expected)  # nothing stored that is zero
    for start, stop in zip(matrix.indptr, matrix.indptr[1:]):
        assert np.all(np.diff(matrix.indices[start:stop]) > 0)
    np.testing.assert_allclose(found.context_counts, expected.sum(axis=0), rtol=1e-6)


texts = st.integers(1, 6).flatmap(
    lambda size: st.tuples(
        st.just(size), st.lists(st.lists(st.integers(0, size - 1), max_size=7), max_size=6)
    )
)


@given(
    texts,
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any),
    st.booleans(),
    st.sampled_from(WEIGHTINGS),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(1, 7) | st.none(),
    st.integers(1, 7) | st.none(),
)
@settings(max_examples=200, deadline=None)
@example((1, []), (1, 1), True, "flat", True, 0, None, None)
@example((2, [[], []]), (1, 1), True, "flat", True, 0, None, None)
def test_counts_are_those_of_the_definition(
    text, reach, positional, weighting, edges, row_offset, n_words, n_contexts
):
    size, sentences = text
    around = window(*reach, positional=positional, weighting=weighting)
    how = {"n_words": n_words, "n_contexts": n_contexts, "edges": edges, "row_offset": row_offset}
    found = count_contexts(as_arrays(sentences, size), around, threads=1, **how)
    n_words, n_contexts = min(n_words or size, size), min(n_contexts or size, size)
    assert_counts(found, brute_force(sentences, around, n_words, n_contexts, edges, row_offset))
    words = np.bincount([w for s in sentences for w in s], minlength=size)[:n_words]
    np.testing.assert_array_equal(found.word_counts, words)
    assert (found.n_contexts, found.n_blocks, found.edges) == (n_contexts, around.n_blocks, edges)


def zipfian(seed, n_sentences, size):
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, size + 1)
    return [rng.choice(size, rng.integers(0, 15), p=p / p.sum()).tolist() for _ in range(n_sentences)]


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("positional", [False, True])
def test_frequent_and_rare_words(edges, positional):
    """Rows of a few contexts are sorted, long ones are read off a map of bits: both in one text."""
    size = 700
    sentences = zipfian(0, 400, size)
    around = window(2, 3, positional=positional, weighting="harmonic")
    found = count_contexts(as_arrays(sentences, size), around, edges=edges)
    n_columns = found.matrix.shape[1]
    few = found.word_counts * 5 <= (n_columns + 63) // 64
    assert few[found.word_counts > 0].any()
    assert not few.all()
    assert_counts(found, brute_force(sentences, around, size, size, edges))


def same(one: ContextCounts, other: ContextCounts):
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one.matrix, name), getattr(other.matrix, name))
    np.testing.assert_array_equal(one.word_counts, other.word_counts)


@pytest.mark.parametrize("weighting", ["flat", "linear"])
def test_pieces_slices_and_threads_change_nothing(monkeypatch, weighting):
    arrays = as_arrays(zipfian(1, 300, 200), 200)
    around = window(2, weighting=weighting)  # halves: their sums are exact
    whole = count_contexts(arrays, around, edges=True, threads=1)
    same(count_contexts(arrays, around, edges=True, threads=2), whole)
    monkeypatch.setattr(module, "_SLICE", 50)
    assert len(module._row_slices(np.full(200, 20))) > 20
    for threads in (1, 2):
        same(count_contexts(arrays, around, edges=True, threads=threads), whole)
    monkeypatch.setattr(module, "_PIECE", 100)
    assert len(list(module._pieces(arrays))) > 10
    for threads in (1, 2):
        found = count_contexts(arrays, around, edges=True, threads=threads)
        same(found, whole)
        assert found.matrix.has_sorted_indices


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_slices_of_rows_are_all_rows_in_order(bounds, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SLICE", most)
        spans = module._row_slices(np.array(bounds, np.int64))
    assert [row for span in spans for row in range(*span)] == list(range(len(bounds)))
    for start, stop in spans:  # one row may be longer than the rest together
        assert sum(bounds[start:stop]) < most + max(bounds, default=0) + 1


def test_a_memory_mapped_text(tmp_path):
    sentence_arrays(SLIDE).save(tmp_path / "arrays")
    same(
        count_contexts(TokenArrays.load(tmp_path / "arrays"), window(2), edges=True),
        count_contexts(sentence_arrays(SLIDE), window(2), edges=True),
    )


def test_a_part_of_a_text_counts_alone():
    arrays = sentence_arrays(SLIDE)
    parts = [count_contexts(arrays.part(i, i + 1), window(1), edges=True).matrix for i in range(3)]
    whole = count_contexts(arrays, window(1), edges=True).matrix
    np.testing.assert_array_equal(sum(parts[1:], start=parts[0]).toarray(), whole.toarray())


def test_the_bigrams_of_the_slides():
    arrays = sentence_arrays(SLIDE)
    words = arrays.vocabulary.words
    matrix = count_contexts(arrays, window(0, 1)).matrix.tocoo()
    found = {(words[i], words[j]): n for i, j, n in zip(*matrix.coords, matrix.data)}
    assert found == {("ate", "cheese"): 1, ("ate", "ham"): 1, ("I", "ate"): 1, ("You", "ate"): 2}


def test_left_against_right_contexts():
    """With a row offset the rows are words before the token and the columns words after it: skip-grams."""
    sentences = zipfian(2, 30, 9)
    found = count_contexts(as_arrays(sentences, 9), window(0, 1), row_offset=-1).matrix.toarray()
    skips = np.zeros((9, 9))
    for s in sentences:
        for a, b in zip(s, s[2:]):
            skips[a, b] += 1
    np.testing.assert_array_equal(found, skips)


def test_a_window_without_weights_is_symmetric():
    found = count_contexts(as_arrays(zipfian(3, 50, 20), 20), window(3, weighting="linear")).matrix
    np.testing.assert_array_equal(found.toarray(), found.toarray().T)


def test_no_text():
    empty = as_arrays([], 4)
    found = count_contexts(empty, window(2, positional=True), n_words=3, n_contexts=2, edges=True)
    assert_counts(found, np.zeros((3, 4 * 3)))
    np.testing.assert_array_equal(found.word_counts, np.zeros(3))
    assert_counts(count_contexts(as_arrays([[], []], 2), window(1)), np.zeros((2, 2)))


def test_sums_of_columns_are_exact():
    """Single precision stops counting at 2²⁴: 16 million and one are 16 million."""
    column = np.ones((5000, 1), np.float32)
    column[0] = 1 << 24
    found = ContextCounts(sparse.csr_array(column), np.ones(5000), 1)
    assert found.context_counts.tolist() == [(1 << 24) + 4999]


# -- windows ----------------------------------------------------------------------------------------------


@given(st.integers(0, 6), st.integers(0, 6), st.booleans(), st.sampled_from(WEIGHTINGS))
def test_windows(left, right, positional, weighting):
    if left + right == 0:
        with pytest.raises(OptionError, match="at least 1 in all"):
            window(left, right)
        return
    around = window(left, right, positional=positional, weighting=weighting)
    assert around.offsets.tolist() == [o for o in range(-left, right + 1) if o]
    assert around.n_blocks == (left + right if positional else 1)
    assert around.blocks.tolist() == (list(range(left + right)) if positional else [0] * (left + right))
    for offset, weight in zip(around.offsets, around.weights):
        d, D = abs(offset), left if offset < 0 else right
        expected = {"flat": 1, "harmonic": 1 / d, "linear": (D - d + 1) / D}[weighting]
        assert weight == pytest.approx(expected)
        if weighting == "linear":  # the mean over windows of a length drawn from 1 to D
            assert weight == pytest.approx(np.mean([length >= d for length in range(1, D + 1)]))


def test_window_options():
    assert isinstance(window(1), Window)
    assert window(2).offsets.tolist() == window(2, 2).offsets.tolist()
    for sides in ((0, 0), (-1, 2), (2, -1), (0,)):
        with pytest.raises(OptionError, match="at least 1 in all"):
            window(*sides)
    with pytest.raises(OptionError, match="flat, harmonic or linear, not 'steep'"):
        window(1, weighting="steep")
