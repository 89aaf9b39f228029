"""Messages through torch against the compiled ones in double precision, and against sums over all assignments."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (the extra gpu)")

import torch
from hidden_trees import brute_force, forests_of, random_laws

from spinney.inference.forests import TokenForest
from spinney.inference.gpu.engine import Engine
from spinney.inference.gpu.layout import Sentences, laid_out
from spinney.inference.gpu.precision import PRECISIONS, in_float32, products
from spinney.inference.gpu.statistics import DeviceStatistics, classes_start
from spinney.inference.gpu.streaming import pieces
from spinney.inference.hidden import sum_product


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small products are faster so, and do not disturb other tests."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def random_text(rng, sentences, V, longest=20, kinds=1):
    lengths = rng.integers(1, longest, sentences)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    heads = []
    for n in lengths.tolist():
        order = rng.permutation(n)
        own = np.full(n, -1)
        for t in range(1, n):
            own[order[t]] = order[rng.integers(0, t)] if rng.random() > 0.05 else -1
        heads.append(own)
    n = int(offsets[-1])
    ids = rng.integers(0, V, n).astype(np.int32)
    return Sentences(
        ids, offsets, np.concatenate(heads).astype(np.int32), rng.integers(0, kinds, n).astype(np.int32)
    )


def as_chains(text):
    return text._replace(heads=None, kinds=None)


def expected(text, laws):
    """Counts by words, edges, roots and the log-likelihood, by the compiled kernels."""
    forest = TokenForest.from_heads(text.offsets, text.heads, text.kinds)
    found = sum_product(forest, text.ids[forest.tokens], laws)
    omega = np.zeros(laws.counts.shape)
    np.add.at(omega, text.ids[forest.tokens], found.nodes)
    return omega, found.edges, found.roots, found.log_likelihood


def expect(engine, text, laws, tokens=None):
    parts = [text] if tokens is None else pieces(*text, tokens=tokens)
    found = engine.expect(parts, engine.parameters(*laws))
    return *(one.numpy() for one in found[:3]), found.log_likelihood


def difference(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_small_trees_against_all_assignments(n):
    rng, engine = np.random.default_rng(n), Engine("cpu", "float64")
    for heads in forests_of(n):
        kinds, words = (rng.integers(0, top, n).astype(np.int32) for top in (2, 4))
        laws = random_laws(rng, 3, 4, kinds=2)
        log_p, nodes, edges, roots, _ = brute_force(heads, words, kinds, laws)
        text = Sentences(words, np.array([0, n]), np.array(heads, np.int32), kinds)
        found = expect(engine, text, laws)
        omega = np.zeros((4, 3))
        np.add.at(omega, words, nodes)
        assert found[3] == pytest.approx(log_p)
        for one, other in zip(found, (omega, edges, roots)):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(("C", "V", "kinds"), [(2, 3, 1), (7, 30, 3), (24, 50, 2)])
@pytest.mark.parametrize("tree", [False, True])
def test_double_precision_finds_what_compiled_kernels_find(C, V, kinds, tree):
    rng = np.random.default_rng(C)
    text = random_text(rng, 60, V, kinds=kinds)
    laws = random_laws(rng, C, V, kinds=kinds if tree else 1)
    text = text if tree else as_chains(text)
    engine = Engine("cpu", "float64")
    whole, reference = expect(engine, text, laws), expected(text, laws)
    for one, other in zip(whole, reference):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
    for one, other in zip(expect(engine, text, laws, tokens=50), whole):  # in many batches
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
    value = engine.log_likelihood(pieces(*text, tokens=50), engine.parameters(*laws))
    assert value == pytest.approx(reference[3], rel=1e-12)


@pytest.mark.parametrize(("precision", "far"), [("float32", 3e-6), ("tf32", 1e-4), ("bf16", 2e-3)])
@pytest.mark.parametrize("tree", [False, True])
def test_precisions(precision, far, tree):
    rng = np.random.default_rng(3)
    text = random_text(rng, 400, 40)
    laws = random_laws(rng, 48, 40)
    text = text._replace(kinds=None) if tree else as_chains(text)
    engine, reference = Engine("cpu", precision), expected(text, laws)
    found = expect(engine, text, laws)
    assert max(difference(one, other) for one, other in zip(found[:3], reference)) < far
    n = len(text.ids)
    assert abs(found[3] - reference[3]) / n < (1e-5 if precision != "bf16" else 1e-4)
    value = engine.log_likelihood([text], engine.parameters(*laws))
    assert abs(value - reference[3]) / n < (1e-5 if precision != "bf16" else 1e-4)


@pytest.mark.parametrize("tree", [False, True])
def test_zeros_in_the_laws(tree):
    rng = np.random.default_rng(8)
    text = random_text(rng, 50, 12)
    text = text if tree else as_chains(text)
    laws = random_laws(rng, 6, 12, zeros=0.4)
    T = laws.transition * (rng.random(laws.transition.shape) > 0.3)
    laws = laws._replace(transition=T / np.maximum(T.sum(axis=1, keepdims=True), 1e-9))
    reference = expected(text, laws)
    assert np.isfinite(reference[3])
    for one, other in zip(expect(Engine("cpu", "float64"), text, laws), reference):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)
    impossible = laws._replace(
        floor=0.0, counts=np.where(np.arange(12)[:, None] == text.ids[0], 0.0, laws.counts)
    )
    found = expect(Engine("cpu", "float64"), text, impossible)
    assert found[3] == -np.inf
    assert all(np.isfinite(one).all() for one in found[:3])


def test_sentences_of_one_word_empty_sentences_and_no_text():
    rng, engine = np.random.default_rng(5), Engine("cpu", "float64")
    laws = random_laws(rng, 4, 6)
    text = Sentences(np.array([1, 5, 2], np.int32), np.array([0, 1, 1, 2, 3]))
    for some in (text, text._replace(heads=np.full(3, -1, np.int32))):
        for one, other in zip(expect(engine, some, laws), expected(some, laws)):
            np.testing.assert_allclose(one, other, atol=1e-12)
    nothing = engine.expect([], engine.parameters(*laws))
    assert nothing.log_likelihood == 0
    assert float(nothing.words.sum()) == 0


def test_layout_of_trees_is_that_of_compiled_kernels():
    text = random_text(np.random.default_rng(2), 40, 9, kinds=3)
    forest = TokenForest.from_heads(text.offsets, text.heads, text.kinds)
    layout = laid_out(text, 3, torch.device("cpu"))
    assert layout.levels == forest.levels.tolist()
    assert layout.n_roots == forest.n_roots
    np.testing.assert_array_equal(layout.words, text.ids[forest.tokens])
    np.testing.assert_array_equal(layout.child_ptr, forest.child_ptr)
    np.testing.assert_array_equal(layout.children, forest.children)
    inner = slice(forest.n_roots, None)
    np.testing.assert_array_equal(layout.parents[inner], forest.parents[inner])
    assert [layout.runs(d) for d in range(1, len(layout.levels) - 1)] == [
        forest.runs(d) for d in range(1, len(forest.levels) - 1)
    ]


def test_heads_in_a_cycle():
    text = Sentences(np.zeros(3, np.int32), np.array([0, 3]), np.array([1, 0, -1], np.int32))
    laws = random_laws(np.random.default_rng(0), 3, 2)
    with pytest.raises(ValueError, match="2 tokens never reach a root"):
        expect(Engine("cpu", "float64"), text, laws)


def test_pieces_of_a_mapped_file(tmp_path):
    text = as_chains(random_text(np.random.default_rng(4), 30, 9))
    np.save(tmp_path / "ids.npy", text.ids)
    ids = np.load(tmp_path / "ids.npy", mmap_mode="r")
    parts = list(pieces(ids, text.offsets, tokens=40))
    assert len(parts) > 3
    np.testing.assert_array_equal(np.concatenate([part.ids for part in parts]), text.ids)
    assert sum(len(part.offsets) - 1 for part in parts) == 30


def test_device_statistics_have_the_parameters_of_those_of_the_host():
    from spinney.classes.statistics import Statistics

    rng = np.random.default_rng(6)
    tau = rng.random((3, 5, 5)) * (rng.random((3, 5, 5)) > 0.4)
    tau[1, :, 2] = 0
    host = Statistics.of(rng.random((9, 5)), tau, rng.random(5))
    device = DeviceStatistics.of(
        *(torch.tensor(one) for one in (host.omega, host.tau, host.rho)), torch.float64
    )
    laws = host.laws(1e-3, 0.2, np.float64)
    found = device.parameters(1e-3, 0.2, PRECISIONS["float64"])
    np.testing.assert_allclose(found.transition, laws.transition)
    np.testing.assert_allclose(found.root, laws.root)
    np.testing.assert_allclose(found.emissions.scale, laws.scale)
    assert found.emissions.floor == laws.floor
    device.gain = 0.5
    device.scaled(100.0)
    assert float(device.omega.sum()) == pytest.approx(100)


def test_start_from_classes():
    classes, counts = torch.tensor([0, 1, -1]), torch.tensor([4, 2, 0])
    found = classes_start(
        classes, counts, torch.ones(1, 2, 2).double(), torch.ones(2).double(), torch.float64
    )
    assert found.omega[0, 0] == 4
    assert found.omega[1, 1] == 2
    assert float(found.omega[0, 1]) < 1e-3
    assert 0.2 < float(found.omega[2, 0]) < 0.8


def test_rounding_and_products():
    tf32 = PRECISIONS["tf32"]
    x = torch.rand(1000) + 0.5
    assert float((tf32.rounded(x) / x - 1).abs().max()) <= 2**-11
    assert abs(float((tf32.rounded(x) / x - 1).mean())) < 3e-5
    torch.testing.assert_close(tf32.rounded(tf32.rounded(x)), tf32.rounded(x), rtol=0, atol=0)
    with products(tf32):
        assert in_float32(x[None].bfloat16(), x[:, None].bfloat16()).dtype == torch.float32


def test_kernels_of_triton_agree_with_plain_torch():
    """Run by Triton's interpreter, which needs no card."""
    pytest.importorskip("triton", reason="Triton is not installed")
    code = (
        "import torch, warnings; warnings.simplefilter('ignore'); torch.set_num_threads(1)\n"
        "from triton.runtime import interpreter\n"
        "from spinney.inference.gpu.fused import trial\n"
        "from spinney.inference.gpu.precision import PRECISIONS\n"
        "print(trial(PRECISIONS['tf32'], torch.device('cpu')))"
    )
    import os

    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )
    if "only 0-dimensional arrays" in ran.stderr:
        pytest.skip("this version of Triton's interpreter does not go with this version of NumPy")
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < 1e-5


def test_importing_spinney_does_not_import_torch():
    code = (
        "import sys, spinney.classes.hidden, spinney.inference.gpu; from spinney.classes.card import chosen_device; "
        "chosen_device('cpu', True), chosen_device('auto', False); print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
