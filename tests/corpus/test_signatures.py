from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus.signatures import signature


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("dogs", "UNK-LC-s"),
        ("glass", "UNK-LC"),
        ("basis", "UNK-LC"),
        ("status", "UNK-LC"),
        ("walked", "UNK-LC-ed"),
        ("walking", "UNK-LC-ing"),
        ("station", "UNK-LC-ion"),
        ("walker", "UNK-LC-er"),
        ("fastest", "UNK-LC-est"),
        ("quickly", "UNK-LC-ly"),
        ("density", "UNK-LC-ity"),
        ("cloudy", "UNK-LC-y"),
        ("global", "UNK-LC-al"),
        ("king", "UNK-LC"),  # too short for an ending
        ("Smith", "UNK-INITC"),
        ("Kennedy", "UNK-INITC"),
        ("Greens", "UNK-INITC-s"),
        ("famous", "UNK-LC-ous"),
        ("edible", "UNK-LC-ble"),
        ("IBM", "UNK-CAPS"),
        ("I", "UNK-INITC"),
        ("A.", "UNK-INITC"),
        ("iPod", "UNK-MIXED"),
        ("'em", "UNK-LC"),
        ("1,000", "UNK-NUM"),
        ("-40", "UNK-NUM"),
        ("1980s", "UNK-LC-NUM-s"),
        ("30-year", "UNK-LC-NUM-DASH"),
        ("B-52", "UNK-INITC-NUM-DASH"),
        ("well-founded", "UNK-LC-DASH"),
        ("mid-Atlantic", "UNK-MIXED-DASH"),
        ("--", "UNK-PUNCT"),
        ("", "UNK-PUNCT"),
        ("東京", "UNK"),
        ("собаки", "UNK-LC"),
        ("Москва", "UNK-INITC"),
        ("ΝΑΤΟ", "UNK-CAPS"),
        ("٣٤", "UNK-NUM"),
    ],
)
def test_classes(word, name):
    assert signature(word, False) == name


def test_the_first_word():
    assert signature("Walking", True) == "UNK-FIRSTC-ing"
    assert signature("IBM", True) == "UNK-CAPS"
    assert signature("walking", True) == "UNK-LC-ing"


ENDINGS = ["ate", "ble", "est", "ing", "ion", "ity", "ive", "ize", "ous"]
ENDINGS += ["al", "ed", "en", "er", "ic", "ly", "y"]
EXTRAS = ["", "-NUM", "-DASH", "-NUM-DASH"]
ALL = {
    "UNK-PUNCT",
    *(f"UNK{capitals}{extra}" for capitals in ("", "-CAPS", "-MIXED") for extra in EXTRAS),
    *(f"UNK-{c}{extra}{s}" for c in ("LC", "FIRSTC", "INITC") for extra in EXTRAS for s in ("", "-s")),
    *(f"UNK-{c}-{ending}" for c in ("LC", "FIRSTC") for ending in ENDINGS),
}


@given(st.one_of(st.text(), st.text("aAbB1-.sedingy")), st.booleans())
@settings(deadline=None, max_examples=300)
def test_every_word_has_one_of_few(word, first):
    assert len(ALL) == 69
    assert signature(word, first) in ALL
    assert signature(word, first) == signature(word, first)
