"""Entry-wise stochastic coding, against alternating minimisation of the same objective."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from spinney.embed.code_trees import as_code_forest, code_forest
from spinney.embed.sparse_coding import Coder
from spinney.embed.stochastic_coding import StochasticCoding, _blocks, _Learning, _split
from spinney.errors import InputError, OptionError


def _low_rank(seed=0, words=60, contexts=40, rank=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((words, rank)) @ rng.standard_normal((rank, contexts))


def _sparse(words=120, contexts=80, density=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return csr_array(
        random_array((words, contexts), density=density, rng=rng, data_sampler=rng.standard_normal)
    )


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
        options = {"sampling": "uniform", "prox_scale": scale, "held_out": 0.0, "steps": "plain"}
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
    options = {"sampling": "uniform", "prox_scale": "unbiased", "held_out": 0.0, "steps": "plain"}
    model = _fitted(X, n_codes=4, lam=lam, tau=tau, forest=parent, learning_rate=0.05, epochs=400, **options)
    forest = as_code_forest(parent)
    starts = [np.random.default_rng(seed).standard_normal((40, 4)) for seed in range(3)]
    assert model.objective_ <= 1.03 * min(_alternate(X, forest, lam, tau, D) for D in starts)


def test_the_objective_is_what_it_says():
    X = _sparse()
    model = _fitted(X, held_out=0.0, sampling="scaled")
    A, D, known = model.codes_, model.dictionary_, X.tocoo()
    size = np.abs(known.data)
    errors = (known.data - (A @ D)[known.row, known.col]) ** 2
    value = errors @ (size / size.mean()) + 0.1 * as_code_forest(code_forest(1)).value(A) + 0.1 * np.sum(D**2)
    assert model.objective_ == pytest.approx(value)


def test_entries_are_drawn_as_often_as_they_are_large():
    X, rng = _sparse(), np.random.default_rng(0)
    entries, _ = _split(X, 0.0, True, rng)
    settings = StochasticCoding(13, sampling="pmi")
    learning = _Learning(settings, as_code_forest(code_forest(1)), entries, X.shape, rng)
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
    assert sorted(np.concatenate([b for apart in blocks for b in apart])) == list(range(len(entries.values)))
    for apart in blocks:
        assert len(apart) == n
        for places in (entries.rows, entries.columns):
            seen = [set(places[block].tolist()) for block in apart]
            assert sum(map(len, seen)) == len(set().union(*seen))


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
        {"lam": -1.0}, {"tau": float("nan")}, {"held_out": 1.0}, {"learning_rate": 0.0}, {"n_codes": 14},
        {"penalty": "ridge"},
    ],
)  # fmt: skip
def test_bad_options(options):
    with pytest.raises(OptionError):
        _fitted(_sparse(), **options)
