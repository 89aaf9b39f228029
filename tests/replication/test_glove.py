"""GloVe: its counts, its slopes and its steps."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from methods.glove import fit_glove, harmonic_counts, visit_pairs
from scipy.sparse import csr_array

from spinney.corpus import sentence_arrays
from spinney.errors import OptionError


def test_counts_against_brute_force() -> None:
    rng = np.random.default_rng(0)
    sentences = [[f"w{i}" for i in rng.integers(0, 6, length)] for length in rng.integers(1, 12, 30)]
    text = sentence_arrays(sentences)
    expected = np.zeros((6, 6))
    for sentence in text:
        for (i, first), (j, second) in combinations(enumerate(sentence), 2):
            if j - i <= 5:
                expected[first, second] += 1 / (j - i)
                expected[second, first] += 1 / (j - i)
    np.testing.assert_allclose(harmonic_counts(text, 5).toarray(), expected, rtol=1e-6)


def _start(M: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Vectors and biases of three words and two contexts, and the sums of squares that AdaGrad begins with."""
    rng = np.random.default_rng(seed)
    W, C = rng.standard_normal((3, M + 1)), rng.standard_normal((2, M + 1))
    return W, C, np.ones_like(W), np.ones_like(C)


def test_first_step_goes_down_the_slope() -> None:
    """With sums of squares of 1, the first step of a pair is -step·slope of half its term."""
    log, weight, step, h = 1.3, 0.4, 0.05, 1e-6
    W, C, *squares = _start(4)

    def term(w: np.ndarray, c: np.ndarray) -> float:
        return 0.5 * weight * (w[:-1] @ c[:-1] + w[-1] + c[-1] - log) ** 2

    w, c = W[2].copy(), C[1].copy()
    total = visit_pairs(
        np.array([2]), np.array([1]), np.array([log]), np.array([weight]), W, C, *squares, step
    )
    assert total == pytest.approx(2 * term(w, c))
    for i, along in enumerate(np.eye(5)):
        of_w = (term(w + h * along, c) - term(w - h * along, c)) / (2 * h)
        of_c = (term(w, c + h * along) - term(w, c - h * along)) / (2 * h)
        assert (W[2] - w)[i] == pytest.approx(-step * of_w, abs=1e-9)
        assert (C[1] - c)[i] == pytest.approx(-step * of_c, abs=1e-9)


def test_steps_by_hand() -> None:
    """Three visits, of which two share a word and two a context: the later ones see what the first have changed."""
    rows, columns = np.array([0, 0, 2]), np.array([0, 1, 1])
    logs, weights, step = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, 0.7]), 0.1
    W, C, squares_w, squares_c = _start(3)
    w, c, sum_w, sum_c = W.copy(), C.copy(), squares_w.copy(), squares_c.copy()
    expected = 0.0
    for i, j, log, weight in zip(rows, columns, logs, weights):
        error = w[i, :3] @ c[j, :3] + w[i, 3] + c[j, 3] - log
        expected += weight * error**2
        of_w = step * weight * error * np.append(c[j, :3], 1.0)
        of_c = step * weight * error * np.append(w[i, :3], 1.0)
        w[i] -= of_w / np.sqrt(sum_w[i])
        c[j] -= of_c / np.sqrt(sum_c[j])
        sum_w[i] += of_w**2
        sum_c[j] += of_c**2
    total = visit_pairs(rows, columns, logs, weights, W, C, squares_w, squares_c, step)
    assert total == pytest.approx(expected)
    for found, by_hand in ((W, w), (C, c), (squares_w, sum_w), (squares_c, sum_c)):
        np.testing.assert_allclose(found, by_hand, rtol=1e-12)


def test_fit() -> None:
    rng = np.random.default_rng(0)
    counts = csr_array(rng.integers(0, 4, (20, 20)).astype(np.float32))
    model = fit_glove(counts, 3, epochs=30, ceiling=2.0)
    assert np.all(np.diff(model.losses) < 0)
    # What is left after the last epoch, from the definition: pairs that were never seen are not in it.
    seen = counts.toarray()
    logs = np.log(np.where(seen > 0, seen, 1.0))
    errors = model.words @ model.contexts.T + model.word_biases[:, None] + model.context_biases - logs
    left = float((np.minimum(1.0, (seen / 2.0) ** 0.75) * errors**2).sum())
    assert 0.8 * model.losses[-1] < left < model.losses[-1]  # a term is counted before its step
    np.testing.assert_array_equal(model.vectors, model.words + model.contexts)
    again = fit_glove(counts, 3, epochs=30, ceiling=2.0)
    np.testing.assert_array_equal(again.words, model.words)
    assert not np.array_equal(fit_glove(counts, 3, epochs=30, random_state=1).words, model.words)


def test_errors() -> None:
    counts = csr_array(np.ones((2, 2)))
    for wrong in ({"M": 0}, {"M": 1, "epochs": 0}, {"M": 1, "step": 0.0}, {"M": 1, "ceiling": -1.0}):
        with pytest.raises(OptionError, match="must be"):
            fit_glove(counts, **wrong)
