"""Trees for other tasks: over the words of the text, flat where it is long, and counted."""

from __future__ import annotations

import pytest

from spinney.corpus import ReadReport, Tree, read_text
from spinney.parsing import HeadRules, Parser, dependency_parser, to_dependencies, trees_of

TREES = [
    "(S (NP (D the) (N dog)) (VP (V bites)))",
    "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
    "(S (NP (NP (D a) (N dog)) (P -LRB-) (NP (N Rex)) (P -RRB-)) (VP (V sleeps)))",
]


@pytest.fixture(scope="module")
def parser():
    return Parser("pcfg").fit([Tree.parse(tree) for tree in TREES])


def test_trees_have_the_words_of_the_text(parser):
    sentences = [["a", "cat", "(", "Rex", ")", "bites"], ["the", "dog", "sees"]]
    trees = list(trees_of(parser, sentences))
    assert [tree.leaves() for tree in trees] == sentences
    written = parser.parse([["a", "cat", "-LRB-", "Rex", "-RRB-", "bites"]])[0]
    assert [node.label for node in trees[0].nodes()] == [node.label for node in written.nodes()]


def test_empty_sentences_are_passed_over(parser):
    assert [tree.leaves() for tree in trees_of(parser, [[], ["the", "dog", "bites"], []])] == [
        ["the", "dog", "bites"]
    ]


def test_more_sentences_than_are_parsed_at_once(parser):
    sentences = [["the", "dog", "bites"], ["a", "cat", "sees", "the", "dog"]] * 150
    assert [tree.leaves() for tree in trees_of(parser, iter(sentences))] == sentences


def test_long_sentences_are_flat_and_counted(parser):
    long, short = ["the", "dog", "bites", "a", "cat"], ["the", "dog", "bites"]
    tree, other = trees_of(parser, [long, short], longest=3)
    assert all(child.word is not None for child in tree.children)
    assert any(child.word is None for child in other.children)
    report = ReadReport()
    sentences = list(dependency_parser(parser, longest=3)(iter([long, short, long]), report))
    assert report.flat == 2
    assert [sentence.forms for sentence in sentences] == [long, short, long]
    root = sentences[0].heads.index(0) + 1
    assert {head for head in sentences[0].heads if head} == {root}


def test_dependencies_are_those_of_the_trees(parser):
    rules = HeadRules.rightmost()
    words = ["a", "cat", "sees", "the", "dog"]
    (found,) = dependency_parser(parser, rules)(iter([words]), ReadReport())
    assert found == to_dependencies(parser.parse([words])[0], rules)


def test_text_is_read_with_trees(parser, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("the dog bites\n\na cat sees the dog\n")
    report = ReadReport()
    text = read_text(path, tree=True, parser=dependency_parser(parser), report=report)
    assert len(text) == 2
    assert report.flat == 0
    expected = next(to_dependencies(tree).heads for tree in trees_of(parser, [["the", "dog", "bites"]]))
    heads = text.heads[: text.offsets[1]]
    assert [head + 1 for head in heads.tolist()] == expected
