"""The suffix trie against dictionaries of all n-grams."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import sentence_arrays
from spinney.errors import OptionError
from spinney.lm.stream import refuse_marks, stream_of
from spinney.lm.suffixtrie import suffix_trie, trie_of_events

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=6)


def histories(stream):
    """(context, newest symbol last; outcome) of each event, by hand."""
    for i in stream.events.tolist():
        yield tuple(stream.ids[i - stream.room[i] : i].tolist()), int(stream.ids[i])


def counted(stream, max_context):
    """All grams with their counts."""
    grams = Counter()
    for history, outcome in histories(stream):
        for k in range(min(len(history), max_context) + 1):
            grams[history[len(history) - k :], outcome] += 1
    return grams


def context_words(trie, ids, u):
    """The symbols of a context, oldest first, as the text has them."""
    return tuple(ids[trie.place[u] - trie.depth[u] : trie.place[u]].tolist())


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(0, 4))
def test_grams_are_those_of_a_dictionary(sentences, m):
    text = sentence_arrays(sentences)
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), m)
    found = {
        (context_words(trie, stream.ids, u), int(trie.symbol[g])): int(trie.count[g])
        for u in range(trie.n_contexts)
        for g in range(trie.gram_ptr[u], trie.gram_ptr[u + 1])
    }
    assert found == counted(stream, m)


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(0, 4))
def test_parents_drop_the_oldest_symbol(sentences, m):
    text = sentence_arrays(sentences)
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), m)
    words = [context_words(trie, stream.ids, u) for u in range(trie.n_contexts)]
    for u in range(1, trie.n_contexts):
        assert words[trie.parent[u]] == words[u][1:]
        assert trie.older[u] == words[u][0]
        assert trie.parent[u] < u
    for g in range(trie.n_grams):
        if trie.up[g] >= 0:
            assert trie.symbol[trie.up[g]] == trie.symbol[g]
            assert trie.context[trie.up[g]] == trie.parent[trie.context[g]]
    longest = [history[max(0, len(history) - m) :] for history, _ in histories(stream)]
    assert [words[u] for u in trie.event_context.tolist()] == longest
    assert trie.ends.tolist() == [longest.count(context) for context in words]


@settings(max_examples=100, deadline=None)
@given(SENTENCES, st.one_of(st.none(), st.integers(0, 5)))
def test_a_collapsed_trie_stands_for_the_whole(sentences, m):
    """Each node's contexts are those that stand before the same events, and together they are all contexts."""
    text = sentence_arrays(sentences)
    stream = stream_of(text)
    whole = suffix_trie(stream, len(text.vocabulary), m)
    collapsed = suffix_trie(stream, len(text.vocabulary), m, collapse=True)
    assert collapsed.length.sum() == whole.n_contexts
    places = defaultdict(set)
    for i, (history, _) in enumerate(histories(stream)):
        for k in range(min(len(history), 99 if m is None else m) + 1):
            places[history[len(history) - k :]].add(i)
    seen = set()
    for u in range(collapsed.n_contexts):
        words = context_words(collapsed, stream.ids, u)
        members = [words[k:] for k in range(int(collapsed.length[u]))]
        assert len({frozenset(places[member]) for member in members}) == 1
        assert collapsed.occurrences[u] == len(places[words])
        seen.update(members)
    assert seen == set(places)
    above = collapsed.parent[1:]
    merged = collapsed.occurrences[1:] == collapsed.occurrences[above]
    assert not np.any(merged & (above > 0))  # nothing is left to merge, except into the root


def coacac():
    ids = np.array(["aco".index(letter) for letter in "coacac"], np.int32)
    return ids, np.arange(6), np.arange(6, dtype=np.int32), np.zeros(6, np.int32)


def test_coacac_has_54_17_and_10_parameters():
    """The worked example of Nelakanti (2014): contexts of the text × letters, seen pairs, and collapsed pairs."""
    ids, position, room, root = coacac()
    # Its suffix trie also holds the contexts at the very end, which nothing follows: an end makes them seen.
    after = trie_of_events(ids, np.arange(7), np.arange(7, dtype=np.int32), np.zeros(7, np.int32),
                           np.append(ids, 3).astype(np.int32), 4, 3, None)  # fmt: skip
    whole = trie_of_events(ids, position, room, root, ids, 3, 3, None)
    collapsed = trie_of_events(ids, position, room, root, ids, 3, 3, None, collapse=True)
    assert after.n_contexts * 3 == 54
    assert whole.n_grams == 17
    assert np.bincount(whole.symbol).tolist() == [7, 8, 2]
    assert collapsed.n_grams == 10
    assert np.bincount(collapsed.symbol).tolist() == [4, 4, 2]


def test_what_is_kept_leads_to_what_is_wanted():
    text = sentence_arrays([["a", "b", "c", "a", "b"], ["b", "c", "a"]])
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), 3)
    wanted = np.zeros(trie.n_grams, bool)
    deepest = int(np.argmax(trie.depth[trie.context]))
    wanted[deepest] = True
    small, grams = trie.kept(wanted)
    assert small.n_grams == grams.sum() == trie.depth[trie.context[deepest]] + 1
    assert set(small.symbol.tolist()) == {int(trie.symbol[deepest])}
    assert small.depth.tolist() == list(range(small.n_contexts))
    assert small.up.tolist() == list(range(-1, small.n_grams - 1))


def test_a_negative_length_is_refused():
    stream = stream_of(sentence_arrays([["a"]]))
    with pytest.raises(OptionError, match="at least 0"):
        suffix_trie(stream, 1, -1)


def test_a_sentence_mark_in_the_text_is_refused():
    text = sentence_arrays([["a"], ["a", "</s>", "b"]])
    with pytest.raises(Exception, match="sentence 2"):
        refuse_marks(text)


def test_empty_sentences_are_an_end_alone():
    stream = stream_of(sentence_arrays([[], ["a"]]))
    assert stream.ids.tolist() == [2, 1, 2, 0, 1]
    assert stream.events.tolist() == [1, 3, 4]
