from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError
from spinney.evaluate import (
    PTB_PUNCTUATION,
    Attachment,
    attachment,
    attachment_counts,
    las_of_counts,
    uas_of_counts,
)

FORMS = ["``", "Dogs", "bark", "$", "--", "."]
TAGS = ["``", "NNS", "VBP", "$", ":", "."]
GOLD = Sentence(FORMS, xpos=TAGS, heads=[3, 3, 0, 3, 3, 3], deprels=["p", "subj", "root", "obj", "p", "p"])


def test_by_hand():
    guess = Sentence(FORMS, heads=[2, 3, 0, 3, 1, 3], deprels=["p", "subj", "root", "subj", "p", "q"])
    # Backquotes and the dollar are symbols to Unicode, so that four words are left: `` Dogs bark $
    assert attachment([GOLD], [guess]) == Attachment(3 / 4, 2 / 4, 0, 1, 4, 1)
    # By tags three are left: Dogs bark $
    assert attachment([GOLD], [guess], punctuation_tags=PTB_PUNCTUATION) == Attachment(1, 2 / 3, 1, 1, 3, 1)
    assert attachment([GOLD], [guess], punctuation=True) == Attachment(4 / 6, 2 / 6, 0, 1, 6, 1)
    counts = attachment_counts([GOLD, GOLD], [guess, GOLD])
    assert counts.tolist() == [[4, 3, 2, 0, 1], [4, 4, 4, 1, 1]]
    assert (uas_of_counts(counts), las_of_counts(counts)) == (7 / 8, 6 / 8)


def test_roots():
    gold = Sentence(["a", "b", "."], heads=[2, 0, 2])
    assert attachment([gold], [Sentence(["a", "b", "."], heads=[2, 3, 0])]).root == 0
    assert attachment([gold], [Sentence(["a", "b", "."], heads=[0, 0, 2])]).root == 0
    assert attachment([gold], [Sentence(["a", "b", "."], heads=[2, 0, 1])]).root == 1


def test_relations_may_be_missing():
    bare = Sentence(FORMS, heads=GOLD.heads)
    assert attachment([bare], [bare]).las == 1
    assert attachment([GOLD], [bare])[:2] == (1, 0)


def test_punctuation_of_other_scripts():
    gold = Sentence(["犬", "。", "«", "¿?", "a.", "…"], heads=[0, 1, 1, 1, 1, 1])
    assert attachment([gold], [gold]).words == 2


def test_nothing_to_score():
    assert attachment([], []) == Attachment(0, 0, 0, 0, 0, 0)
    stop = Sentence(["."], heads=[0])
    assert attachment([stop], [stop]) == Attachment(0, 0, 1, 1, 0, 1)


@pytest.mark.parametrize(
    ("guess", "what"),
    [
        ([Sentence(["a"], heads=[0])], "2 sentences of the treebank, but 1 of the parser"),
        (
            [Sentence(["a"], heads=[0]), Sentence(["b"], heads=[0])],
            "sentence 2 has 2 words, its parse 1",
        ),
        (
            [Sentence(["a"], heads=[0]), Sentence(["b", "d"], heads=[0, 1])],
            "word 2 of sentence 2 is 'c', in its parse 'd'",
        ),
        (
            [Sentence(["a"], heads=[0]), Sentence(["b", "c"])],
            "sentence 2 of the parser has 0 heads for 2 words",
        ),
        (
            [Sentence(["a"], heads=[0]), Sentence(["b", "c"], heads=[0, 1], deprels=["x"])],
            "sentence 2 of the parser has 1 relations for 2 words",
        ),
    ],
)
def test_what_is_refused(guess, what):
    gold = [Sentence(["a"], heads=[0]), Sentence(["b", "c"], heads=[0, 1])]
    with pytest.raises(InputError, match=what):
        attachment(gold, guess)


def test_tags_are_needed_where_they_decide():
    gold = [Sentence(["a"], heads=[0])]
    with pytest.raises(InputError, match="sentence 1 of the treebank has no tags"):
        attachment(gold, gold, punctuation_tags=PTB_PUNCTUATION)


@st.composite
def pairs(draw) -> tuple[Sentence, Sentence]:
    n = draw(st.integers(1, 6))
    forms = draw(st.lists(st.sampled_from(["a", "b", "."]), min_size=n, max_size=n))
    two = []
    for _ in range(2):
        heads = draw(st.lists(st.integers(0, n), min_size=n, max_size=n))
        two.append(
            Sentence(
                forms, heads=heads, deprels=draw(st.lists(st.sampled_from("xy"), min_size=n, max_size=n))
            )
        )
    return two[0], two[1]


@settings(deadline=None)
@given(st.lists(pairs(), min_size=1, max_size=4), st.booleans())
def test_brute_force_and_invariants(drawn, punctuation):
    gold, guess = (list(side) for side in zip(*drawn))
    rows = [
        (a.heads[i] == b.heads[i], a.heads[i] == b.heads[i] and a.deprels[i] == b.deprels[i])
        for a, b in drawn
        for i in range(len(a))
        if punctuation or a.forms[i] != "."
    ]
    scores = attachment(gold, guess, punctuation=punctuation)
    assert scores.words == len(rows)
    if rows:
        assert (scores.uas, scores.las) == tuple(np.mean(rows, axis=0))
    assert scores == attachment(guess, gold, punctuation=punctuation)
    assert attachment(gold, gold)[2:4] == (1, 1)
