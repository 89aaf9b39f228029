"""What is read out of grammars is what the training trees say."""

from collections import Counter

import numpy as np
import pytest
from parsing_toys import TEXTS, random_numbers, toy_trees

from spinney.corpus import Tree
from spinney.errors import InputError, NotFittedError, OptionError
from spinney.parsing.em import Sample, beliefs, expected_counts
from spinney.parsing.grammar import Rules
from spinney.parsing.parser import Parser
from spinney.parsing.reading import ROOT, Reader, _Law, describe_label, label_table

TREES = [Tree.parse(text) for text in TEXTS]


@pytest.fixture(scope="module", params=["pcfg", "em", "split-merge", "clustering"])
def parser(request):
    how = {"em": {"states": 2, "max_iter": 3}, "pcfg": {}}.get(request.param, {"states": 2})
    return Parser(request.param, rare=0, **how).fit(TREES)


def test_states_occur_as_often_as_in_the_e_step():
    # Relative frequencies give the frequencies back (Chi and Geman 1998), states included.
    trees = toy_trees()
    sample = Sample.of(trees, rules := Rules.of(trees, rare=0))
    rng = np.random.default_rng(0)
    grammar = random_numbers(rules, rng.integers(1, 4, rules.n_labels), rng)
    counts = expected_counts(sample, grammar, beliefs(sample, grammar))
    found = _Law(counts.grammar()).mass
    np.testing.assert_allclose(found * trees.n_trees, counts.mass(), rtol=1e-6)


def test_shares_of_labels_are_those_of_the_trees(parser):
    binary = [parser.binarisation.binarise(tree) for tree in TREES]
    seen = Counter(node.label for tree in binary for node in tree.nodes())
    words = {(node.label, node.word) for tree in binary for node in tree.nodes() if node.word is not None}
    rules = {
        (node.label, *(child.label for child in node.children))
        for tree in binary
        for node in tree.nodes()
        if node.children
    }
    table = label_table(parser)
    assert [row.share for row in table] == sorted((row.share for row in table), reverse=True)
    assert {row.label for row in table} == set(seen)
    for row in table:
        assert row.share == pytest.approx(seen[row.label] / seen.total(), rel=1e-4)
        assert row.words == sum(tag == row.label for tag, _ in words)
        assert row.rules == sum(rule[0] == row.label for rule in rules)
        assert row.part == row.label.startswith("@")


def test_states_are_laws_and_sum_to_their_label(parser):
    for row in label_table(parser):
        reading = describe_label(parser, row.label, 100)
        assert not reading.signed
        assert len(reading.states) == reading.n_states == row.states
        assert sum(state.share for state in reading.states) == pytest.approx(1.0)
        assert sum(p for _, p, _ in reading.parents) == pytest.approx(1.0)
        for kind in ("words", "rules", "parents"):
            whole = {share.name: share.probability for share in getattr(reading, kind)}
            summed = Counter()
            for state in reading.states:
                for share in getattr(state, kind):
                    summed[share.name] += state.share * share.probability
                    assert share.lift == pytest.approx(share.probability / whole[share.name])
                typical = getattr(state, f"typical_{kind}")
                assert all(share.lift > 1 for share in typical)
                assert {share.name for share in typical} <= whole.keys()
            assert summed == pytest.approx(whole)


def test_a_label_as_counted_by_hand():
    parser = Parser("pcfg", rare=0).fit(TREES)
    reading = describe_label(parser, "VP")
    assert [share[:2] for share in reading.rules] == [
        ("V NP", pytest.approx(3 / 4)),
        ("V", pytest.approx(1 / 4)),
    ]
    assert [share[:2] for share in reading.parents] == [("S", pytest.approx(1.0))]
    assert describe_label(parser, "S").parents[0].name == ROOT
    words = {share.name: share.probability for share in describe_label(parser, "V").words}
    assert words == {"saw": pytest.approx(3 / 5), "bark": pytest.approx(2 / 5)}
    assert describe_label(parser, "V", 1).words[0].name == "saw"
    rules = Reader(parser).rules(2)
    assert len(rules) == 2
    assert rules[0].share >= rules[1].share


def test_spectral_states_are_not_told_as_if_they_were_classes():
    trees = [Tree.parse(text) for text in TEXTS for _ in range(6)]
    spectral, plain = Parser("spectral", states=2, rare=0).fit(trees), Parser("pcfg", rare=0).fit(trees)
    for row in label_table(spectral):
        reading = describe_label(spectral, row.label)
        assert reading.signed
        assert reading.states == []
        assert (reading.words, reading.rules) == describe_label(plain, row.label)[5:7]
    nouns = describe_label(spectral, "N")
    assert len(nouns.directions) == nouns.n_states == 2
    for direction in nouns.directions:
        assert not set(direction.high) & set(direction.low)


def test_plain_labels_find_the_grammars_and_others_are_refused():
    parser = Parser("pcfg", rare=0, vertical=2).fit(TREES)
    assert describe_label(parser, "NP").label == "NP^S"
    with pytest.raises(InputError, match=r"no label 'NPP'.*did you mean"):
        describe_label(parser, "NPP")
    with pytest.raises(OptionError):
        describe_label(parser, "NP", 0)
    with pytest.raises(OptionError, match="grammar must be between"):
        label_table(parser, grammar=1)
    with pytest.raises(NotFittedError):
        label_table(Parser())


def test_one_of_several_grammars():
    parser = Parser("em", states=2, grammars=2, rare=0, max_iter=3).fit(TREES)
    first, second = (describe_label(parser, "NP", grammar=i) for i in (0, 1))
    assert first.share == second.share
    assert first.states != second.states
    assert describe_label(parser, "NP") == first


def test_after_a_file(tmp_path, parser):
    parser.save(tmp_path / "p.spinney")
    loaded = Parser.load(tmp_path / "p.spinney")
    before, after = (describe_label(one, "NP", 3) for one in (parser, loaded))
    assert [state.share for state in after.states] == pytest.approx([state.share for state in before.states])
