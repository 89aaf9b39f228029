"""Trees of a fitted parser against all trees: probabilities, k best, minimum risk, given arcs; and odd sentences."""

import time
import tracemalloc
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from dependency_trees import all_trees, crosses, is_tree, log_sum
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_treebank import treebank
from tree_crfs import enumeration, odd_sentences, trees, unpruned

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, OptionError
from spinney.parsing.treecrf import TreeParser
from spinney.parsing.treecrf.candidates import every_arc, projective
from spinney.parsing.treecrf.explaining import ArcReader
from spinney.parsing.treecrf.parser import LONGEST

BANK = treebank(40, 1, crossing=True)
#: Words of the treebank in other orders: the parser is not sure of them.
UNSURE = [
    Sentence(
        words.split(),
        upos=tags.split(),
        feats=["Number=Sing" if tag == "NOUN" else "_" for tag in tags.split()],
    )
    for words, tags in (
        ("dog", "NOUN"),
        ("dog sees", "NOUN VERB"),
        ("of sees dog", "ADP VERB NOUN"),
        ("sees dog cat with", "VERB NOUN NOUN ADP"),
        ("cat dog the sees storm", "NOUN NOUN DET VERB NOUN"),
    )
]
KINDS = {"siblings": {}, "first order": {"order": 1}, "all trees": {"order": 1, "trees": "all"}}


@pytest.fixture(scope="module", params=KINDS)
def parser(request):
    """A parser of each kind, with strong weights, all arcs being candidates."""
    found = unpruned(TreeParser.train(BANK, lam=0.05, solver="adagrad", threads=1, **KINDS[request.param]))
    found.w *= 1.5
    return found


@pytest.fixture(scope="module")
def usual():
    return TreeParser.train(BANK, threads=1)


@pytest.fixture(scope="module")
def every_tree():
    return TreeParser.train(BANK, order=1, trees="all", threads=1)


def test_the_rough_model_has_its_share(usual):
    """Features of an arc that are told in words, those of the rough model among them, add up to its score."""
    whole, bare = usual, copy(usual)
    bare.rough = 0.0
    arcs = every_arc(np.array([0, len(UNSURE[3])]))
    assert whole.rough == 0.15
    for of in (whole, bare):
        reader = ArcReader(of)
        told = [
            sum(weight for _, weight in reader.features(UNSURE[3], head, modifier))
            for head, modifier in zip(arcs.head.tolist(), arcs.modifier.tolist())
        ]
        nodes = whole._reader.read(UNSURE[3:4])
        parts = arcs.parts()
        own = whole._scorer._scores("arc", parts, nodes)[:, 0]
        rough = whole.pruner._weighed.scores(parts, nodes, whole.pruner.program)[:, 0]
        np.testing.assert_allclose(told, (1 - of.rough) * own + of.rough * rough, atol=1e-12)


# ------------------------------------------------------------------------------------- all trees, by hand


def test_probabilities_of_heads(parser):
    for sentence in UNSURE:
        truth = enumeration(parser, sentence).arc_p
        found = parser.head_probabilities(sentence)
        for m, heads in enumerate(found):
            assert set(heads) == set(range(len(sentence) + 1)) - {m + 1}
            assert sum(heads.values()) == pytest.approx(1.0)
            for head, chance in heads.items():
                assert chance == pytest.approx(truth[head, m], abs=1e-9)


def test_k_best_trees_are_the_first_of_all(parser):
    for sentence in UNSURE:
        every = enumeration(parser, sentence)
        log_p = every.scores - log_sum(every.scores)
        flat = np.array([not crosses(heads) for heads in every.heads.tolist()])
        found = parser.kbest(sentence, 10_000)
        assert len(found) == flat.sum()
        np.testing.assert_allclose([score for _, score in found], np.sort(log_p[flat])[::-1], atol=1e-9)
        by_heads = dict(zip(map(tuple, every.heads.tolist()), log_p))
        for tree, score in found:
            assert score == pytest.approx(by_heads[tuple(tree.heads)], abs=1e-9)
        total = sum(np.exp(score) for _, score in found)
        assert total == pytest.approx(1.0 if parser.projective else np.exp(log_p[flat]).sum())
        assert [score for _, score in parser.kbest(sentence, 3)] == [score for _, score in found[:3]]


def test_the_most_probable_tree_and_its_relations(parser):
    for sentence in UNSURE:
        every = enumeration(parser, sentence)
        best = int(np.argmax(every.scores))
        (tree,) = parser.parse([sentence], decoding="best")
        assert tree.heads == every.heads[best].tolist()
        assert tree.deprels == [parser.relations[i] for i in every.labelled[best].argmax(axis=1)]


def test_the_tree_of_minimum_risk_and_probabilities_of_arcs(parser):
    for sentence in UNSURE:
        every = enumeration(parser, sentence)
        n = len(sentence)
        right = every.arc_p[every.heads, np.arange(n)].sum(axis=1)
        ((tree, arcs, relations),) = parser.probable([sentence])
        assert every.arc_p[tree.heads, np.arange(n)].sum() == pytest.approx(right.max(), abs=1e-9)
        np.testing.assert_allclose(arcs, every.arc_p[tree.heads, np.arange(n)], atol=1e-9)
        (own,) = np.flatnonzero(np.all(every.heads == tree.heads, axis=1))
        chances = np.exp(every.labelled[own] - np.logaddexp.reduce(every.labelled[own], axis=1)[:, None])
        np.testing.assert_allclose(relations, chances.max(axis=1), atol=1e-9)
        assert tree.deprels == [parser.relations[i] for i in chances.argmax(axis=1)]


def test_decoders_differ_and_others_are_refused(parser):
    with pytest.raises(
        OptionError, match=r"decoding must be risk or best, not 'bets' \(did you mean best\?\)"
    ):
        parser.parse(UNSURE, decoding="bets")


def test_given_arcs_by_hand(parser):
    """Of the trees that have the given arcs, the best; and probabilities are shares of these trees."""
    sentence = UNSURE[3]
    every = enumeration(parser, sentence)
    for heads in ([2, -1, -1, -1], [-1, -1, 0, -1], [3, -1, -1, 3], [-1, 4, 4, -1]):
        agrees = np.all((every.heads == heads) | (np.array(heads) < 0), axis=1)
        assert agrees.any()
        scores = np.where(agrees, every.scores, -np.inf)
        (tree,) = parser.parse([sentence], given=[heads], decoding="best")
        assert tree.heads == every.heads[np.argmax(scores)].tolist()
        found = parser.head_probabilities(sentence, given=heads)
        p = np.exp(scores - np.logaddexp.reduce(scores[agrees]))
        for m, chances in enumerate(found):
            assert heads[m] < 0 or list(chances) == [heads[m]]
            for head, chance in chances.items():
                assert chance == pytest.approx(p[every.heads[:, m] == head].sum(), abs=1e-9)
        best = parser.kbest(sentence, 1000, given=heads)
        flat = [not crosses(one) for one in every.heads[agrees].tolist()]
        assert len(best) == sum(flat)
        if parser.projective:
            assert sum(np.exp(score) for _, score in best) == pytest.approx(1.0)


# ------------------------------------------------------------------------------------------ given arcs


@settings(max_examples=30)
@given(trees(max_size=6), st.data())
def test_given_arcs_are_kept(usual, heads, data):
    """Also by a parser with few candidates, whichever arcs of a tree are given."""
    heads = projective(heads)
    keep = data.draw(st.lists(st.booleans(), min_size=len(heads), max_size=len(heads)))
    held = [head if kept else -1 for head, kept in zip(heads, keep)]
    words = [data.draw(st.sampled_from(["dog", "sees", "the", "of", "?"])) for _ in heads]
    tags = {"dog": "NOUN", "sees": "VERB", "the": "DET", "of": "ADP", "?": "ZZZ"}
    sentence = Sentence(words, upos=[tags[word] for word in words])
    for decoding in ("risk", "best"):
        (tree,) = usual.parse([sentence], given=[held], decoding=decoding)
        assert is_tree(tree.heads)
        assert not crosses(tree.heads)
        assert all(head in (-1, found) for head, found in zip(held, tree.heads))
    (best, _), *_ = usual.kbest(sentence, 2, given=held)
    assert all(head in (-1, found) for head, found in zip(held, best.heads))


@pytest.mark.parametrize(
    "held", [[0, 0, -1, -1], [2, 1, -1, -1], [3, 4, -1, -1], [2, 3, 1, -1], [-1, 4, 0, -1]]
)
def test_arcs_that_no_tree_has(usual, held):
    """Two roots, circles, arcs that cross each other or the root's."""
    sentence, other = UNSURE[3], UNSURE[4]
    told = r"sentence 2: no projective tree with one root has all the arcs that are given \(give fewer, or none that"
    with pytest.raises(InputError, match=told):
        usual.parse([other, sentence], given=[[-1] * 5, held])
    with pytest.raises(InputError, match="sentence 12: no projective"):
        list(usual.probable([other, sentence], given=[[-1] * 5, held], first=11))
    with pytest.raises(InputError, match="sentence 5: no projective"):
        usual.kbest(sentence, 3, given=held, number=5)


def test_arcs_that_only_trees_with_crossing_arcs_have(every_tree):
    parser = every_tree
    assert parser.parse([UNSURE[3]], given=[[3, 4, -1, -1]])[0].heads[:2] == [3, 4]
    with pytest.raises(InputError, match=r"sentence 1: no tree with one root .* \(give fewer\)"):
        parser.parse([UNSURE[3]], given=[[2, 1, -1, -1]])


@pytest.mark.parametrize("held", [[5, -1, -1, -1], [1, -1, -1, -1], [-2, -1, -1, -1], [-1, -1], [-1] * 5])
def test_given_heads_that_are_none(usual, held):
    with pytest.raises(OptionError, match="the given heads of sentence 1 must be one for each word"):
        usual.parse([UNSURE[3]], given=[held])
    with pytest.raises(OptionError, match="given must have the heads of 1 sentences, not of 2"):
        usual.parse([UNSURE[3]], given=[held, held])


# ------------------------------------------------------------------------------------------- odd input


@settings(max_examples=30)
@given(st.lists(odd_sentences(max_size=9), max_size=5))
def test_any_sentence_gets_a_tree(usual, sentences):
    found = list(usual.probable(sentences))
    assert len(found) == len(sentences)
    for sentence, (tree, arcs, relations) in zip(sentences, found):
        assert is_tree(tree.heads)
        assert not crosses(tree.heads)
        assert (tree.forms, tree.upos, tree.feats) == (sentence.forms, sentence.upos, sentence.feats)
        assert set(tree.deprels) <= set(usual.relations)
        assert all(0 <= chance <= 1 + 1e-9 for chance in [*arcs, *relations])


def test_sentences_do_not_depend_on_those_beside_them(usual):
    some = [*treebank(30, 5), *UNSURE]
    together = usual.parse(some, threads=2)
    assert together == [usual.parse([one])[0] for one in some]


@pytest.mark.parametrize("known", [True, False], ids=["known words", "unknown words"])
def test_500_words_in_bounded_time_and_memory(usual, every_tree, known):
    words = [row for one in BANK * 3 for row in zip(one.forms, one.upos, one.feats)][:500]
    forms, upos, feats = map(list, zip(*words))
    sentence = Sentence(forms, upos=upos, feats=feats) if known else Sentence(forms, upos=["?"] * 500)
    for parser in (usual, every_tree):
        parser.parse([BANK[0]])
        tracemalloc.start()
        started = time.process_time()
        (tree,) = parser.parse([sentence], threads=1)
        seconds = time.process_time() - started
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert is_tree(tree.heads)
        assert seconds < 5
        assert peak < 300 << 20


def test_a_sentence_that_is_too_long_gets_a_flat_tree(usual, caplog):
    n = LONGEST + 1
    long = Sentence(["dog"] * n, upos=["NOUN"] * n)
    some = [BANK[0], long, BANK[1]]
    found = list(usual.probable(some))
    assert found[1][0].heads == [0] + [1] * (n - 1)
    assert found[1][0].deprels == ["root"] + ["dep"] * (n - 1)
    assert [found[0][0], found[2][0]] == usual.parse([BANK[0], BANK[1]])
    assert "1 sentence is longer than 1000 words and got a flat tree; the first: number 2" in caplog.text
    (short,) = usual.probable([BANK[0]], longest=3)
    assert short[0].heads == [0] + [1] * (len(BANK[0]) - 1)
    with pytest.raises(InputError, match=r"sentence 1 has 1,001 words, too many for several trees"):
        usual.kbest(long, 2)


def test_one_word(usual):
    (tree,) = usual.parse([Sentence(["Stop"], upos=["VERB"])])
    assert (tree.heads, tree.deprels) == ([0], ["root"])
    ((again, score),) = usual.kbest(Sentence(["Stop"], upos=["VERB"]), 5)
    assert again.heads == [0]
    assert score == pytest.approx(0.0, abs=1e-12)
    assert usual.head_probabilities(Sentence(["Stop"], upos=["VERB"])) == [{0: pytest.approx(1.0)}]


def test_right_to_left_scripts_and_spaces_in_words():
    """Orders are those of the text: what is learned of one script is learned of another. Spaces are letters as well."""
    hebrew = str.maketrans({chr(97 + i): chr(0x5D0 + i) for i in range(26)})

    def other(one, letters):
        return replace(one, forms=[form.translate(letters) for form in one.forms], lemmas=[])

    new = treebank(10, 6)
    found = []
    for letters in ({}, hebrew, {ord("o"): " "}):
        parser = TreeParser.train([other(one, letters) for one in BANK], threads=1)
        found.append([tree.heads for tree in parser.parse([other(one, letters) for one in new])])
    assert found[0] == found[1] == found[2]


def test_columns_of_the_input_are_kept(usual):
    sentence = replace(
        BANK[0], comments=["# text = x"], extras=[(0, "1-2\tx" + "\t_" * 8)], misc=["A=b"] * len(BANK[0])
    )
    (tree,) = usual.parse([sentence])
    assert replace(tree, heads=[], deprels=[]) == replace(sentence, heads=[], deprels=[], deps=[])


def test_the_score_is_that_of_heads_and_universal_relations(usual):
    gold = [replace(one, deprels=[f"{name}:sub" for name in one.deprels]) for one in BANK]
    assert usual.score(gold) == usual.score(BANK) > 0.9
    assert usual.score([]) == 0.0


def test_all_trees_has_the_trees_that_were_used_here():
    assert len(all_trees(5, True)[0]) == 143  # with one word below the root
