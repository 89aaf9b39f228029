"""Words as the Penn Treebank writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import Tree
from spinney.parsing.ptb import bracket_words, treebank_words

WORDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ('He said " yes " .', "He said `` yes '' ."),
        ('" One " and " two "', "`` One '' and `` two ''"),
        ('" And then', "`` And then"),  # closed by a later sentence
        ('It is over . "', "It is over . ''"),  # opened by an earlier one
        ('over , " he said , " and out . "', "over , '' he said , `` and out . ''"),
        ("“ ‘ a ’ ”", "`` ` a ' ''"),
        ("do n’t [ it ’s ] – {", "do n't -LSB- it 's -RSB- -- -LCB-"),
        ('"', "``"),
    ],
)
def test_quotes_and_brackets(words, written):
    assert treebank_words(words.split()) == written.split()


def test_the_treebank_knows_better():
    assert treebank_words(['"', "[", "’s", "("], known={'"', "[", "("}) == ['"', "[", "'s", "-LRB-"]
    assert treebank_words([]) == []


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_what_is_written_can_stand_in_a_tree(words):
    for written in (bracket_words(words), treebank_words(words)):
        assert len(written) == len(words)
        tree = Tree("S", [Tree("X", word=word) for word in written])
        assert Tree.parse(str(tree)) == tree
