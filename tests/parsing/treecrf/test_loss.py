"""The loss of tree CRFs against every labelled tree, and its gradient against finite differences."""

import numpy as np
import pytest
from made_up_treebank import treebank
from tree_crfs import enumerated, problem

from spinney.corpus.conllu import Sentence
from spinney.parsing.treecrf.loss import TreeWeights, marginals
from spinney.parsing.treecrf.nodes import NodeReader
from spinney.parsing.treecrf.preparing import Programs
from spinney.parsing.treecrf.scorer import TreeScorer

TAGS = {"the": "DET", "dog": "NOUN", "dogs": "NOUN", "sees": "VERB", "barks": "VERB", "now": "ADV"}


def _sentence(text, heads, relations):
    words = text.split()
    feats = ["Number=Plur" if word.endswith("s") else "_" for word in words]
    return Sentence(
        words, upos=[TAGS[word] for word in words], feats=feats, heads=heads, deprels=relations.split()
    )


SHORT = [
    _sentence("barks", [0], "root"),
    _sentence("dogs sees", [2, 0], "nsubj root"),
    _sentence("the dog barks", [2, 3, 0], "det nsubj root"),
    _sentence("dogs sees the dog", [2, 0, 4, 2], "nsubj root det obj"),
    _sentence("the dog sees dogs now", [2, 3, 0, 3, 3], "det nsubj root obj obj"),
]
#: The last tree has an arc across the root's.
CROSSING = [*SHORT, _sentence("the dog barks now", [2, 3, 0, 2], "det nsubj root obj")]
MODELS = [(True, True), (True, False), (False, False)]
NAMES = ["siblings", "projective", "all trees"]


@pytest.mark.parametrize(("projective", "second"), MODELS, ids=NAMES)
def test_the_loss_is_that_of_every_labelled_tree(projective, second):
    bank = CROSSING if not projective else SHORT
    loss, known, relations, templates = problem(bank, projective=projective, second=second)
    w = np.random.default_rng(0).normal(scale=0.7, size=loss.n_params)
    reader = NodeReader([])
    total = 0.0
    for one in bank:
        trees = enumerated(one, templates, known, w, len(relations), reader, projective)
        total -= trees.log_p(one.heads, [relations.index(name) for name in one.deprels])
    assert loss.value_and_grad(w)[0] == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(("projective", "second"), MODELS, ids=NAMES)
def test_probabilities_are_sums_over_trees(projective, second):
    loss, known, relations, templates = problem(SHORT, projective=projective, second=second)
    w = np.random.default_rng(1).normal(size=loss.n_params)
    scores = TreeWeights(w, known.sizes, known.relations).potentials(loss.data)
    log_z, arc_p, _ = marginals(loss.data, scores, projective)
    arcs = loss.data.arcs
    for s, one in enumerate(SHORT):
        trees = enumerated(one, templates, known, w, len(relations), NodeReader([]), projective)
        assert log_z[s] == pytest.approx(trees.log_z, abs=1e-9)
        for word in range(arcs.words[s], arcs.words[s + 1]):
            here = slice(arcs.ptr[word], arcs.ptr[word + 1])
            truth = trees.arc_p[arcs.head[here], word - arcs.words[s]]
            np.testing.assert_allclose(arc_p[here], truth, atol=1e-10)


@pytest.mark.parametrize(("projective", "second"), MODELS, ids=NAMES)
def test_scores_found_by_hashes_are_those_of_numbered_features(projective, second):
    """A fitted parser looks weights up by hash; training numbers features first: the same sums, to the bit."""
    loss, known, _, templates = problem(SHORT, projective=projective, second=second)
    programs = Programs.compiled(templates)
    w = np.random.default_rng(3).normal(size=loss.n_params)
    nodes = NodeReader(programs.columns).read(SHORT)
    found = TreeScorer(known, w, programs).potentials(loss.data, nodes)
    for one, other in zip(
        found, TreeWeights(w, known.sizes, known.relations).potentials(loss.data), strict=True
    ):
        assert one.size or not second
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("projective", "second"), MODELS, ids=NAMES)
def test_the_gradient_is_that_of_the_loss(projective, second):
    loss, *_ = problem(CROSSING if not projective else SHORT, projective=projective, second=second)
    rng = np.random.default_rng(2)
    w = rng.normal(scale=0.5, size=loss.n_params)
    grad = loss.value_and_grad(w)[1]
    step = 1e-5
    each = np.empty(loss.n_params)
    for i in range(loss.n_params):
        ahead, behind = w.copy(), w.copy()
        ahead[i] += step
        behind[i] -= step
        each[i] = (loss.value_and_grad(ahead)[0] - loss.value_and_grad(behind)[0]) / (2 * step)
    np.testing.assert_allclose(grad, each, atol=2e-7, rtol=1e-6)
    sizes = loss.sizes
    parts = np.split(grad, [sizes.arcs, sizes.arcs + sizes.relations])
    assert all(part.any() for part in parts[: 3 if second else 2])


@pytest.mark.parametrize(("projective", "second"), MODELS, ids=NAMES)
def test_gradients_of_longer_sentences_along_random_directions(projective, second):
    bank = treebank(12, 3, crossing=True)
    loss, *_ = problem(bank, projective=projective, second=second)
    rng = np.random.default_rng(3)
    w = rng.normal(scale=0.3, size=loss.n_params)
    grad = loss.value_and_grad(w)[1]
    for _ in range(5):
        direction = rng.normal(size=len(w))
        direction /= np.linalg.norm(direction)
        ahead, behind = (loss.value_and_grad(w + sign * 1e-4 * direction)[0] for sign in (1, -1))
        assert float(grad @ direction) == pytest.approx((ahead - behind) / 2e-4, rel=1e-5, abs=1e-6)


def test_shards_and_threads_give_the_same_bits():
    bank = treebank(30, 4)
    one, *_ = problem(bank, threads=1)
    three, *_ = problem(bank, threads=3)
    w = np.random.default_rng(4).normal(size=one.n_params)
    value, grad = one.value_and_grad(w)
    again, other = three.value_and_grad(w)
    assert value == again
    assert grad.tobytes() == other.tobytes()


def test_the_gradient_of_some_sentences_is_their_part():
    """What passes over few sentences add: the sum is the gradient of all, and the places touched are those."""
    loss, *_ = problem(SHORT)
    w = np.random.default_rng(5).normal(size=loss.n_params)
    value, grad = loss.value_and_grad(w)
    g, touched, total = np.zeros_like(w), np.empty(len(w), np.int64), 0.0
    for start in range(len(SHORT)):
        before = g.copy()
        part, n = loss.add(w, start, start + 1, g, touched)
        total += part
        changed = set(np.flatnonzero(g != before))
        fresh = {place for place in changed if before[place] == 0.0}
        assert fresh <= set(touched[:n].tolist())
    assert total == pytest.approx(value)
    np.testing.assert_allclose(g, grad, atol=1e-12)
