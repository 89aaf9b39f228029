"""What is read out of head automata is what their sequences sum to, in any basis."""

from itertools import product

import numpy as np
import pytest

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, NotFittedError
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.automata_reading import ROOT, describe_head, describe_heads

TEXT = [
    Sentence(["a", "b", "a"], upos=["A", "B", "A"], heads=[2, 0, 2]),
    Sentence(["b", "a", "b"], upos=["B", "A", "B"], heads=[2, 0, 2]),
    Sentence(["b", "b"], upos=["B", "B"], heads=[0, 1]),
]


def random_model(seed=0):
    """Automata of probabilities: each state ends, or draws a tag and moves on."""
    model = HeadAutomata("em", states=2, smoothing=1.0, max_iter=1).fit(TEXT)
    rng = np.random.default_rng(seed)
    K, m, n, _ = model.automata_.matrices.shape
    moves = rng.gamma(1.0, size=(K, m, n, n))
    moves[:, -1] = 0
    stop = rng.gamma(5.0, size=(K, n))
    total = moves.sum(axis=(1, 2)) + stop
    start = rng.dirichlet(np.ones(n), K)
    model.automata_ = type(model.automata_)(start, moves / total[:, None, None], stop / total)
    return model


def test_sums_over_all_sequences():
    model = random_model()
    reading = describe_head(model, "A")[0]
    start, matrices, stop = (part[0] for part in model.automata_)
    total, none, expected, nearest = 0.0, 0.0, np.zeros(2), np.zeros(2)
    for length in range(13):
        for sequence in product(range(2), repeat=length):
            state = start
            for m in sequence:
                state = matrices[m] @ state
            p = stop @ state
            total += p
            none += p * (length == 0)
            expected += p * np.bincount(sequence, minlength=2)
            nearest += p * np.bincount(sequence[:1], minlength=2)
    assert reading.total == pytest.approx(1.0)
    assert total == pytest.approx(1.0, abs=1e-3)
    assert reading.none == pytest.approx(none)
    assert reading.mean == pytest.approx(expected.sum(), rel=2e-2)
    found = {modifier.tag: modifier for modifier in reading.modifiers}
    assert [found[tag].expected for tag in "AB"] == pytest.approx(expected, rel=2e-2)
    assert [found[tag].nearest for tag in "AB"] == pytest.approx(nearest, rel=2e-2)


def test_the_basis_does_not_matter():
    model = random_model(1)
    before = describe_heads(model)
    G = np.array([[2.0, 1.0], [-1.0, 0.5]])
    start, matrices, stop = model.automata_
    model.automata_ = type(model.automata_)(
        start @ G.T, G @ matrices @ np.linalg.inv(G), stop @ np.linalg.inv(G)
    )
    for one, other in zip(before, describe_heads(model), strict=True):
        assert other[:3] == one[:3]
        assert other[3:6] == pytest.approx(one[3:6])
        assert [m.tag for m in other.modifiers] == [m.tag for m in one.modifiers]


@pytest.mark.parametrize("method", ["spectral", "em", "deterministic", "bigram"])
def test_every_method_is_read(method):
    model = HeadAutomata(method, smoothing=0.1).fit(TEXT)
    sides = describe_heads(model, 1)
    assert [(side.head, side.side) for side in sides[-1:]] == [(ROOT, "right")]
    assert len(sides) == 5
    assert all(len(side.modifiers) <= 1 for side in sides)
    assert all(side.states >= 1 for side in sides)


def test_means_of_a_bag_are_those_of_the_trees():
    model = HeadAutomata(method="deterministic", smoothing=0.0).fit(TEXT)
    left, right = describe_head(model, "B")
    assert left.mean == pytest.approx(1 / 5)  # five B, one of them with an A before it
    assert right.mean == pytest.approx(2 / 5)
    assert describe_head(model, ROOT)[0].mean == pytest.approx(1.0)


def test_mistakes():
    with pytest.raises(InputError, match="no tag 'C'"):
        describe_head(HeadAutomata(method="bigram").fit(TEXT), "C")
    with pytest.raises(NotFittedError):
        describe_heads(HeadAutomata())
