"""Entry-wise stochastic coding, against alternating minimisation of the same objective."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from spinney.embed.code_trees import as_code_forest, code_forest
from spinney.embed.sparse_coding import Coder
from spinney.embed.stochastic_coding import StochasticCoding, Unseen, _blocks, _Learning, _split
from spinney.errors import InputError, OptionError


def _low_rank(seed=0, words=60, contexts=40, rank=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((words, rank)) @ rng.standard_normal((rank, contexts))


def _sparse(words=120, contexts=80, density=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return csr_array(
        random_array((words, contexts), density=density, rng=rng, data_sampler=rng.standard_normal)
    )


THESIS = {"zeros": 0.0, "bias": False}


def _fitted(X, **options):
    return StochasticCoding(**{"n_codes": 13, "epochs": 3, "threads": 1, **options}).fit(X)


def _alternate(X, forest, lam, tau, D, passes=400):
    """Codes to the optimum, then the dictionary by ridge regression, and so on."""
    coder, A = Coder(forest, lam, threads=1), np.zeros((len(X), forest.n_codes))
    for _ in range(passes):
        loss, _ = coder.solve(X, A, D, D.T @ D, 1e-9, 5000)
        D = np.linalg.solve(A.T @ A + tau * np.eye(A.shape[1]), A.T @ X).T
    loss = np.linalg.norm(X - A @ D.T) ** 2
    return loss + lam * forest.value(A) + tau * np.sum(D**2)


def test_unbiased_steps_minimise_the_objective_of_one_dimension():
    """With one dimension there is one optimum, and only the unbiased scale leads there."""
    X, lam, tau = _low_rank(rank=1) + 0.1 * np.random.default_rng(9).standard_normal((60, 40)), 2.0, 1.0
    found = {}
    for scale in ("unbiased", "step"):
        options = {"sampling": "uniform", "prox_scale": scale, "held_out": 0.0, "steps": "plain", **THESIS}
        model = _fitted(
            X, n_codes=1, penalty="lasso", lam=lam, tau=tau, learning_rate=0.02, epochs=300, **options
        )
        found[scale] = model.objective_
    D = np.random.default_rng(0).standard_normal((40, 1))
    best = _alternate(X, as_code_forest([-1]), lam, tau, D)
    assert best * (1 - 1e-9) <= found["unbiased"] <= 1.005 * best
    assert found["step"] > 1.5 * best


def test_unbiased_steps_come_near_the_optima_of_a_forest():
    X, lam, tau = _low_rank() + 0.1 * np.random.default_rng(9).standard_normal((60, 40)), 1.0, 1.0
    parent = code_forest(1, (3,))
    options = {"sampling": "uniform", "prox_scale": "unbiased", "held_out": 0.0, "steps": "plain", **THESIS}
    model = _fitted(X, n_codes=4, lam=lam, tau=tau, forest=parent, learning_rate=0.05, epochs=400, **options)
    forest = as_code_forest(parent)
    starts = [np.random.default_rng(seed).standard_normal((40, 4)) for seed in range(3)]
    assert model.objective_ <= 1.03 * min(_alternate(X, forest, lam, tau, D) for D in starts)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("zeros", [0.0, 0.5, 50.0])
def test_the_objective_is_what_it_says(bias, zeros):
    X = _sparse().toarray()
    X[7], X[:, 3] = 0.0, 0.0  # neither has a code, and no pair with them counts
    model = _fitted(csr_array(X), held_out=0.0, sampling="scaled", bias=bias, zeros=zeros)
    A, D = model.codes_, model.dictionary_
    fitted = A @ D + model.word_bias_[:, None] + model.context_bias_
    size, seen = np.abs(X), X != 0
    unseen = ~seen & seen.any(axis=1, keepdims=True) & seen.any(axis=0)
    errors = np.sum((size / size[seen].mean() * (X - fitted) ** 2)[seen])
    errors += min(1.0, zeros * seen.sum() / unseen.sum()) * np.sum(fitted[unseen] ** 2)
    value = errors + 0.1 * as_code_forest(code_forest(1)).value(A) + 0.1 * np.sum(D**2)
    assert model.objective_ == pytest.approx(value)
    assert bias or not (model.word_bias_.any() or model.context_bias_.any())


@pytest.mark.parametrize("adaptive", [False, True])
def test_steps_against_a_plain_loop(adaptive):
    """Algorithm B as the thesis prints it, with biases, a root with two leaves, and the prox from the leaves up."""
    from spinney.embed._coding_kernels import visit_entries

    rng = np.random.default_rng(3)
    V, C, M, eta, n = 6, 5, 3, 0.05, 60
    forest = as_code_forest(code_forest(1, (2,)))
    A, D, of_word, of_context = (rng.standard_normal(shape) for shape in ((V, M), (C, M), V, C))
    rows, columns = rng.integers(0, V, n), rng.integers(0, C, n)
    values, scales = rng.standard_normal(n), rng.random(n)
    strength, tau = rng.random(V), rng.random(C)
    a, d, b, c = A.copy(), D.copy(), of_word.copy(), of_context.copy()
    past = {name: np.full(size, 1e-12) for name, size in (("a", V), ("d", C), ("b", V), ("c", C))}

    def step(name, row, gradient):
        if not adaptive:
            return eta
        past[name][row] += np.mean(np.square(gradient))
        return eta / np.sqrt(past[name][row])

    total = 0.0
    for i, j, x, w in zip(rows, columns, values, scales):
        r = x - a[i] @ d[j] - b[i] - c[j]
        total += w * r * r
        g = 2 * (w * r * a[i] - tau[j] * d[j])
        d[j] += step("d", j, g) * g
        c[j] += step("c", j, 2 * w * r) * 2 * w * r
        r = x - a[i] @ d[j] - b[i] - c[j]
        g = 2 * w * r * d[j]
        length = step("a", i, g)
        a[i] += length * g
        b[i] += step("b", i, 2 * w * r) * 2 * w * r
        threshold = strength[i] * length
        for group in ([1], [2], [0, 1, 2]):
            norm = np.linalg.norm(a[i][group])
            a[i][group] *= max(0.0, 1 - threshold / norm) if norm > 0 else 0.0
    seen = [np.full(size, 1e-12) for size in (V, C, V, C)]
    found = visit_entries(
        rows, columns, values, scales, A, D, of_word, of_context, *seen, eta, adaptive, True, strength, True, tau,
        forest.node, forest.parent, forest.weights,
    )  # fmt: skip
    assert found == pytest.approx(total)
    for ours, reference in ((A, a), (D, d), (of_word, b), (of_context, c)):
        np.testing.assert_allclose(ours, reference, atol=1e-12)


def test_unseen_pairs_are_drawn_uniformly_and_seen_ones_never():
    X, rng = _sparse(words=12, contexts=9), np.random.default_rng(0)
    entries, _ = _split(X, 0.0, True, rng)
    unseen = Unseen(X, entries)
    dense = X.toarray() != 0
    assert unseen.number == np.sum(~dense & dense.any(axis=1, keepdims=True) & dense.any(axis=0))
    [[block]] = _blocks(entries, X.shape, 1, rng)
    rows, columns = unseen.draw(200_000, block.rows, block.columns, rng)
    drawn = np.zeros(X.shape)
    np.add.at(drawn, (rows, columns), 1)
    assert not np.any(drawn[dense])
    expected = 200_000 / (len(block.rows) * len(block.columns))
    np.testing.assert_allclose(drawn[drawn > 0], expected, rtol=0.15)
    assert np.sum(drawn > 0) == unseen.number


def test_zeros_hold_unseen_pairs_down_and_biases_take_what_is_common():
    """Entries around 3: without both, codes share a direction that says so, of unseen pairs too."""
    X = _sparse(words=150, density=0.2)
    X.data = 3 + 0.5 * X.data
    plain, held, biased = (
        _fitted(X, penalty="lasso", sampling="uniform", epochs=20, learning_rate=0.3, **options)
        for options in (THESIS, {"zeros": 1.0, "bias": False}, {"zeros": 0.0, "bias": True})
    )
    unseen = X.toarray() == 0

    def pull(model):
        return float(np.mean((model.codes_ @ model.dictionary_)[unseen] ** 2))

    def shared(model):
        return np.linalg.norm(model.codes_.mean(axis=0)) ** 2 / np.mean(np.sum(model.codes_**2, axis=1))

    assert pull(held) < 0.5 * pull(plain)
    assert shared(plain) > 0.3
    assert shared(biased) < 0.5 * shared(plain)


def test_entries_are_drawn_as_often_as_they_are_large():
    X, rng = _sparse(), np.random.default_rng(0)
    entries, _ = _split(X, 0.0, True, rng)
    settings = StochasticCoding(13, sampling="pmi")
    learning = _Learning(settings, as_code_forest(code_forest(1)), entries, X, rng)
    block = np.arange(0, len(entries.values), 2)
    draws = [np.bincount(learning._draw(block, rng), minlength=len(block)) for _ in range(2000)]
    due = entries.scales[block]
    assert all(np.all((drawn == np.floor(due)) | (drawn == np.ceil(due))) for drawn in draws)
    np.testing.assert_allclose(np.mean(draws, axis=0), due, atol=0.06)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_blocks_of_one_time_share_no_word_and_no_context(n):
    X, rng = _sparse(), np.random.default_rng(0)
    entries, watched = _split(X, 0.1, True, rng)
    assert len(entries.values) + len(watched.values) == X.nnz
    blocks = _blocks(entries, X.shape, n, rng)
    places = np.concatenate([block.entries for apart in blocks for block in apart])
    assert sorted(places) == list(range(len(entries.values)))
    for apart in blocks:
        assert len(apart) == n
        for numbers, own in ((entries.rows, "rows"), (entries.columns, "columns")):
            groups = [set(getattr(block, own).tolist()) for block in apart]
            assert sum(map(len, groups)) == len(set().union(*groups))
            assert all(set(numbers[block.entries].tolist()) <= group for block, group in zip(apart, groups))


@pytest.mark.parametrize("sampling", ["pmi", "scaled", "uniform"])
@pytest.mark.parametrize("steps", ["adagrad", "plain"])
def test_held_out_entries_are_foretold(sampling, steps):
    X = _low_rank(words=80, contexts=60)
    rate = 0.3 if steps == "adagrad" else 0.01
    options = {"sampling": sampling, "steps": steps, "learning_rate": rate, "tau": 0.01, "held_out": 0.05}
    model = _fitted(X, n_codes=3, penalty="lasso", epochs=30, threads=2, **options)
    held_out = [one["held_out"] for one in model.trace_]
    assert held_out[-1] < 0.05 * np.mean(X**2)
    assert held_out[-1] < held_out[0]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_repeat_to_the_last_bit(threads):
    one, other = (_fitted(_sparse(), threads=threads, sampling="pmi") for _ in range(2))
    assert np.array_equal(one.codes_, other.codes_)
    assert np.array_equal(one.dictionary_, other.dictionary_)


def test_the_scale_of_the_prox():
    share = {
        scale: _fitted(_sparse(), prox_scale=scale, lam=0.5, epochs=10).nonzero_share_
        for scale in ("paper", "step", "unbiased")
    }
    assert share["paper"] < share["step"] <= share["unbiased"]


def test_a_dimension_is_used_only_with_its_ancestors():
    parent = code_forest(1)
    used = _fitted(_sparse(), prox_scale="step", lam=3.0, epochs=10).codes_ != 0
    below = parent >= 0
    assert not np.any(used[:, below] & ~used[:, parent[below]])
    assert np.any(~used)


def test_dead_trees_begin_again():
    model = _fitted(_sparse(), prox_scale="paper", lam=1e6, tau=1.0)
    assert not model.codes_.any()
    assert np.all(np.any(model.dictionary_ != 0, axis=1))


def test_empty_rows_have_empty_codes():
    X = _sparse().toarray()
    X[5] = 0
    assert not _fitted(csr_array(X)).codes_[5].any()
    with pytest.raises(InputError, match="zero"):
        _fitted(csr_array((4, 5)))


def test_divergence_is_told():
    with pytest.raises(OptionError, match="lower learning_rate"), np.errstate(all="raise"):
        _fitted(10 * _low_rank(), steps="plain", learning_rate=1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"sampling": "all"}, {"prox_scale": "none"}, {"steps": "adam"}, {"epochs": 0}, {"threads": 0},
        {"lam": -1.0}, {"zeros": -1.0}, {"tau": float("nan")}, {"held_out": 1.0}, {"learning_rate": 0.0},
        {"n_codes": 14},
        {"penalty": "ridge"},
    ],
)  # fmt: skip
def test_bad_options(options):
    with pytest.raises(OptionError):
        _fitted(_sparse(), **options)
