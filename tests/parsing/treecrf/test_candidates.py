"""Candidate arcs: trees made projective, pairs of siblings in trees, and the rough model that leaves few arcs."""

from dataclasses import replace

import numpy as np
import pytest
from dependency_trees import all_trees, crosses, previous_sibling
from dependency_trees import is_tree as is_one
from hypothesis import given
from hypothesis import strategies as st
from made_up_treebank import treebank
from tree_crfs import odd_sentences, trees

from spinney.corpus.conllu import Sentence
from spinney.inference.arcs import projective_marginals, sibling_parts
from spinney.parsing.treecrf.candidates import (
    Candidates,
    every_arc,
    is_tree,
    pairs_in_trees,
    projective,
    sibling_places,
)
from spinney.parsing.treecrf.nodes import NodeReader
from spinney.parsing.treecrf.preparing import Programs, gold_heads
from spinney.parsing.treecrf.pruning import Pruner
from spinney.parsing.treecrf.templates import read_templates

# ----------------------------------------------------------------------------------- projective trees


@given(trees(max_size=10))
def test_trees_made_projective(heads):
    lifted = projective(heads)
    assert is_one(lifted)
    assert not crosses(lifted)
    if not crosses(heads):
        assert lifted == heads
    assert [m for m, h in enumerate(lifted) if h == 0] == [m for m, h in enumerate(heads) if h == 0]
    for m, head in enumerate(lifted, start=1):  # arcs are lifted to what was above them
        above = heads[m - 1]
        while above != head:
            above = heads[above - 1]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_trees_are_told_from_what_is_none(n):
    every = np.indices((n + 1,) * n).reshape(n, -1).T.tolist()
    assert [heads for heads in every if is_tree(heads)] == all_trees(n, False)[0].tolist()
    assert not is_tree([n + 1] + [0] * (n - 1))
    assert not is_tree([-1] + [0] * (n - 1))


# ------------------------------------------------------------------------------------------- siblings


@given(st.lists(trees(max_size=7), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_pairs_of_siblings_in_trees(several, random):
    """Each word's arc with that of its previous sibling, among some candidates that have the trees."""
    several = [projective(heads) for heads in several]
    words = np.cumsum([0, *map(len, several)])
    every = every_arc(words)
    heads = np.concatenate(several).astype(np.int32)
    own = every.place(heads)
    keep = np.array([random.random() < 0.5 for _ in every.head])
    keep[own] = True
    arcs = every.only(keep)
    place = arcs.place(heads)
    assert arcs.head[place].tolist() == heads.tolist()
    sib_ptr, sib = sibling_parts(*arcs)
    pairs = pairs_in_trees(arcs, place, sib_ptr, sib)
    told = sibling_places(arcs, sib_ptr, sib).place[pairs].tolist()
    truth = [
        [head, m, previous_sibling(one, m) or -1] for one in several for m, head in enumerate(one, start=1)
    ]
    assert told == truth


def test_places_of_heads_that_are_no_candidates():
    arcs = Candidates(np.array([0, 2]), np.array([0, 1, 3]), np.array([0, 0, 1], np.int32))
    assert arcs.place(np.array([2, 1], np.int32)).tolist() == [-1, 2]
    assert arcs.place(np.array([-1, 0], np.int32)).tolist() == [-1, 1]


# -------------------------------------------------------------------------------------- the rough model

BANK = treebank(40, 1)
TEMPLATES = read_templates(
    "prune: h.upos m.upos distance\nprune: m.lower\nprune: h.upos m.upos\narc: m.upos\nlabel: m.upos"
)
PROGRAMS = Programs.compiled(TEMPLATES)


@pytest.fixture(scope="module")
def pruner():
    nodes = NodeReader(PROGRAMS.columns).read(BANK)
    return Pruner.train(nodes, gold_heads(BANK, lifted=True), PROGRAMS.of["prune"])


@given(
    st.lists(odd_sentences(), min_size=1, max_size=3),
    st.sampled_from([(1.0, 1), (0.5, 2), (1e-2, 8)]),
    st.data(),
)
def test_what_must_stay_stays_and_there_is_a_tree(pruner, sentences, how, data):
    share, most = how
    pruner = replace(pruner, share=share, most=most)
    nodes = NodeReader(PROGRAMS.columns).read(sentences)
    n = int(nodes.words[-1])
    must = np.full(n, -1, np.int32)
    for s, sentence in enumerate(sentences):
        heads = data.draw(trees(max_size=len(sentence)))
        for m, head in enumerate(projective(heads), start=1):
            if data.draw(st.booleans()):
                must[nodes.words[s] + m - 1] = head
    arcs, _ = pruner.prune(nodes, must)
    given_place = arcs.place(must)
    assert np.all((given_place >= 0) == (must >= 0))
    # At most `most` and the arc of the best tree; where heads are given, also these and the arcs of a tree with them.
    assert np.diff(pruner.prune(nodes)[0].ptr).max() <= most + 1
    assert np.diff(arcs.ptr).max() <= most + 3
    log_z, _, _ = projective_marginals(*arcs, np.zeros(len(arcs.head)))
    assert np.all(log_z > -np.inf)
    only = np.where((must[np.repeat(np.arange(n), np.diff(arcs.ptr))] == arcs.head), 0.0, -np.inf)
    free = must[np.repeat(np.arange(n), np.diff(arcs.ptr))] < 0
    log_z, _, _ = projective_marginals(*arcs, np.where(free, 0.0, only))
    longer = [
        s for s, one in enumerate(sentences) if _has_tree(must[nodes.words[s] : nodes.words[s + 1]], len(one))
    ]
    assert np.all(log_z[longer] > -np.inf)


def _has_tree(must, n):
    """Whether any projective tree has the given heads."""
    heads, _ = all_trees(n, True) if n <= 5 else (np.empty((0, n), int), None)
    return bool(np.any(np.all((heads == must) | (must < 0), axis=1)))


def test_unknown_words_have_few_candidates_and_the_nearest(pruner):
    """Where nothing is known of words, all arcs score alike: memory must not grow with the cube of the length."""
    n = 60
    nodes = NodeReader(PROGRAMS.columns).read([Sentence(["?"] * n, upos=["?"] * n)])
    pruner = replace(pruner, w=np.zeros_like(pruner.w))
    arcs, _ = pruner.prune(nodes)
    assert np.diff(arcs.ptr).max() <= pruner.most + 1
    middle = arcs.head[arcs.ptr[30] : arcs.ptr[31]]
    assert {29, 30, 32, 33} <= set(middle.tolist())


def test_given_heads_across_others_leave_a_tree_of_all(pruner):
    nodes = NodeReader(PROGRAMS.columns).read([BANK[0]])
    n = len(BANK[0])
    must = np.full(n, -1, np.int32)
    must[0], must[1] = 3, 4  # 3 → 1 and 4 → 2 cross
    from spinney.inference.spanning import matrix_tree_marginals

    arcs, _ = replace(pruner, share=1.0, most=1).prune(nodes, must, projective=False)
    wanted = np.repeat(must, np.diff(arcs.ptr))
    score = np.where((wanted < 0) | (wanted == arcs.head), 0.0, -np.inf)
    assert matrix_tree_marginals(*arcs, score)[0][0] > -np.inf


def test_the_rough_model_keeps_the_right_heads(pruner):
    new = treebank(40, 9)
    nodes = NodeReader(PROGRAMS.columns).read(new)
    arcs, _ = pruner.prune(nodes)
    assert np.mean(arcs.place(gold_heads(new, lifted=True)) >= 0) > 0.97
    assert len(arcs.head) / arcs.n_words <= pruner.most
