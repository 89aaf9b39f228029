from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.pipeline.multiwords import Expansions, Rule, expansions_of

SEEN = Expansions(
    Counter(
        {
            ("στο", ("σ", "το")): 9,
            ("roedd", ("yr", "oedd")): 4,
            ("iddi", ("i", "hi")): 3,
            ("iddi", ("iddi", "x")): 1,
            ("padukum", ("paduk", "um")): 2,
            ("Does", ("Nid", "oes")): 1,
        }
    )
)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("στο", ["σ", "το"]),
        ("Στο", ["Σ", "το"]),
        ("ΣΤΟ", ["Σ", "ΤΟ"]),
        ("iddi", ["i", "hi"]),  # as most often
        ("does", ["nid", "oes"]),
        ("rydym", ["yr", "ydym"]),
        ("kodukum", ["koduk", "um"]),
        ("ganddi", ["gan", "hi"]),
        ("xyz", ["xyz"]),
        ("um", ["um"]),  # the rule would leave nothing of it
        ("ddi", ["ddi"]),
    ],
)
def test_words(form, words):
    assert SEEN.words(form) == words


def test_the_most_similar_token_decides():
    rules = expansions_of([("abum", ["ab", "um"]), ("cdum", ["cdu", "m"]), ("xyum", ["xy", "um"])])
    assert rules.words("kabum") == ["kab", "um"]
    assert rules.words("kcdum") == ["kcdu", "m"]
    assert rules.words("kkum") == ["kk", "um"]  # as more of them do


def test_answers_are_not_shared():
    SEEN.words("στο").append("!")
    assert SEEN.words("στο") == ["σ", "το"]


@given(
    st.text("abc", min_size=1, max_size=8),
    st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=4),
)
def test_a_rule_gives_its_own_words_back(form, words):
    assert Rule.of(form, words).applied(form) == words
    assert expansions_of([(form, words)]).words(form) == words


@given(st.text(min_size=1, max_size=8))
def test_any_token_has_words(form):
    assert all(SEEN.words(form))


def test_views():
    assert SEEN.view(1).data() == [{"token": "στο", "words": "σ το", "count": 9}]
    assert ["…ddi", "… hi", 1, "iddi"] in SEEN.rules_view().rows
