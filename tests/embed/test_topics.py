"""Topics by moments against brute force, exact moments, samples of known models, and scikit-learn's conventions."""

import itertools
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.embed.document_moments import DocumentMoments, topics_from_moments
from spinney.embed.topics import MomentTopics, completion_score, split_words
from spinney.errors import InputError, ModelFileError, OptionError


class InTens(MomentTopics):
    """The checks fit uniform random numbers, whose rows are too short: each number is taken for tens of words."""

    def _checked(self, X, reset=False):
        return 10 * super()._checked(X, reset)


@pytest.mark.filterwarnings("ignore:only .* eigenvalues")
@parametrize_with_checks([InTens(2), InTens(2, alpha0=1.0, polish=2)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# -- moments ----------------------------------------------------------------------------------------------


def dense_moments(X, alpha0):
    """A and T of full size, from every ordered pair and triple of words of every document."""
    V = X.shape[1]
    mean, pairs, triples = np.zeros(V), np.zeros((V, V)), np.zeros((V, V, V))
    documents = [np.repeat(np.arange(V), row) for row in X if row.sum() >= 3]
    for words in documents:
        l, n = len(words), len(documents)
        for i in range(l):
            mean[words[i]] += 1 / (n * l)
        for i, j in itertools.permutations(range(l), 2):
            pairs[words[i], words[j]] += 1 / (n * l * (l - 1))
        for i, j, k in itertools.permutations(range(l), 3):
            triples[words[i], words[j], words[k]] += 1 / (n * l * (l - 1) * (l - 2))
    v = mean
    A = pairs - alpha0 / (alpha0 + 1) * np.outer(v, v)
    crossed = (
        np.einsum("ij,k->ijk", pairs, v) + np.einsum("ik,j->ijk", pairs, v) + np.einsum("jk,i->ijk", pairs, v)
    )
    T = triples - alpha0 / (alpha0 + 2) * crossed
    return A, T + 2 * alpha0**2 / ((alpha0 + 2) * (alpha0 + 1)) * np.einsum("i,j,k", v, v, v)


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.3, 2.0]), st.integers(1, 2))
@settings(max_examples=30, deadline=None)
def test_whitened_moments_are_those_of_full_size(seed, alpha0, threads):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (12, 5))
    X[0, 0] += 3
    W = rng.standard_normal((5, 3))
    A, T = dense_moments(X, alpha0)
    moments = DocumentMoments(sparse.csr_array(X.astype(float)), alpha0, threads=threads)
    np.testing.assert_allclose(moments.pairs() @ np.eye(5), A, atol=1e-12)
    np.testing.assert_allclose(moments.pairs() @ W[:, 0], A @ W[:, 0], atol=1e-12)
    np.testing.assert_allclose(moments.triples(W), np.einsum("abc,ai,bj,ck", T, W, W, W), atol=1e-11)
    assert moments.dropped == np.sum(X.sum(axis=1) < 3)


def test_shards_and_threads_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    X, W = sparse.csr_array(rng.poisson(1.0, (300, 40)).astype(float)), rng.standard_normal((40, 4))
    whole = DocumentMoments(X, 1.0).triples(W)
    monkeypatch.setattr("spinney.embed.document_moments._SHARD", 17)
    one, two = (DocumentMoments(X, 1.0, threads=threads).triples(W) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, whole, rtol=1e-9, atol=1e-12)


def exact_moments(topics, alpha, alpha0):
    """Of one topic a document (alpha0 = 0, weights alpha) or, by the moments of θ, of latent Dirichlet allocation."""
    if not alpha0:
        return np.einsum("h,ha,hb", alpha, topics, topics), np.einsum(
            "h,ha,hb,hc", alpha, topics, topics, topics
        )
    K = len(alpha)
    E2, E3 = np.zeros((K, K)), np.zeros((K, K, K))
    for i, j in itertools.product(range(K), repeat=2):
        E2[i, j] = alpha[i] * (alpha[j] + (i == j)) / (alpha0 * (alpha0 + 1))
        for k in range(K):
            E3[i, j, k] = E2[i, j] * (alpha[k] + (i == k) + (j == k)) / (alpha0 + 2)
    v = alpha / alpha0 @ topics
    pairs = topics.T @ E2 @ topics
    A = pairs - alpha0 / (alpha0 + 1) * np.outer(v, v)
    T = np.einsum("hij,ha,ib,jc->abc", E3, topics, topics, topics, optimize=True)
    crossed = (
        np.einsum("ij,k->ijk", pairs, v) + np.einsum("ik,j->ijk", pairs, v) + np.einsum("jk,i->ijk", pairs, v)
    )
    return A, T - alpha0 / (alpha0 + 2) * crossed + 2 * alpha0**2 / ((alpha0 + 2) * (alpha0 + 1)) * np.einsum(
        "i,j,k", v, v, v
    )


@pytest.mark.parametrize("alpha0", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_exact_moments_give_exact_topics(seed, alpha0):
    rng = np.random.default_rng(seed)
    topics, shares = rng.dirichlet(np.full(20, 0.2), 5), rng.dirichlet(np.full(5, 4.0))
    A, T = exact_moments(topics, shares * (alpha0 or 1), alpha0)
    found = topics_from_moments(A, lambda W: np.einsum("abc,ai,bj,ck", T, W, W, W, optimize=True), 5, alpha0)
    order = np.argsort(-shares)
    np.testing.assert_allclose(found.shares, shares[order], atol=1e-8)
    np.testing.assert_allclose(found.topics, topics[order], atol=1e-8)


# -- samples ----------------------------------------------------------------------------------------------


def documents(topics, alpha, n, length, rng, one_topic=False):
    theta = np.eye(len(alpha))[rng.choice(len(alpha), n, p=alpha)] if one_topic else rng.dirichlet(alpha, n)
    return sparse.csr_array(rng.multinomial(length, theta @ topics).astype(float)), theta


def distance(found, true):
    """The mean ℓ1 distance of topics, matched as well as possible; and the match."""
    costs = np.abs(found[:, None] - true[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(costs)
    return costs[rows, columns].mean(), rows[np.argsort(columns)]


@pytest.mark.parametrize("alpha0", [None, 1.0])
def test_error_falls_with_the_number_of_documents(alpha0):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), 4)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    errors = []
    for n in (300, 30_000):
        X, _ = documents(topics, weights, n, 30, rng, one_topic=alpha0 is None)
        model = MomentTopics(4, alpha0=alpha0, smoothing=0).fit(X)
        error, order = distance(model.components_, topics)
        errors.append(error)
    assert errors[1] < errors[0] / 4
    assert errors[1] < 0.06
    np.testing.assert_allclose(model.weights_[order], weights, atol=0.05)


def test_proportions_are_recovered():
    rng = np.random.default_rng(1)
    topics, alpha = rng.dirichlet(np.full(200, 0.1), 3), np.array([0.5, 0.3, 0.2])
    X, theta = documents(topics, alpha, 4000, 200, rng)
    model = MomentTopics(3, alpha0=1.0).fit(X)
    order = distance(model.components_, topics)[1]
    assert np.abs(model.transform(X)[:, order] - theta).mean() < 0.03
    X, theta = documents(topics, alpha, 4000, 50, rng, one_topic=True)
    model = MomentTopics(3).fit(X)
    order = distance(model.components_, topics)[1]
    assert np.mean(model.transform(X)[:, order].argmax(axis=1) == theta.argmax(axis=1)) > 0.99


@pytest.mark.parametrize("alpha0", [None, 1.0])
def test_polish_climbs_and_helps(alpha0):
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(50, 0.1), 4)
    X, _ = documents(topics, np.full(4, 0.25), 400, 40, rng, one_topic=alpha0 is None)
    new, _ = documents(topics, np.full(4, 0.25), 400, 40, rng, one_topic=alpha0 is None)
    plain = MomentTopics(4, alpha0=alpha0).fit(X)
    polished = MomentTopics(4, alpha0=alpha0, polish=30).fit(X)
    assert plain.trace_ == []
    assert len(polished.trace_) == 31
    assert np.all(np.diff(polished.trace_) >= -1e-9 * abs(polished.trace_[-1]))
    assert distance(polished.components_, topics)[0] < distance(plain.components_, topics)[0]
    assert polished.score(new) > plain.score(new)
    best = completion_score(
        polished.transform(split_words(new)[0]), polished.components_, split_words(new)[1]
    )
    assert polished.score(new) == best
    assert polished.perplexity(new) == pytest.approx(np.exp(-best))


def test_fold_in_finds_the_mode_of_the_posterior():
    from scipy.optimize import minimize
    from scipy.special import softmax

    rng = np.random.default_rng(3)
    X, _ = documents(rng.dirichlet(np.ones(8), 3), np.ones(3), 200, 20, rng)
    model = MomentTopics(3, alpha0=1.5).fit(X)
    for row, theta in zip(X[:5].toarray(), model.transform(X[:5])):

        def criterion(u, row=row):
            p = softmax(u)
            return -(row @ np.log(p @ model.components_) + model.weights_ @ np.log(p))

        best = minimize(criterion, np.zeros(3), tol=1e-12)
        np.testing.assert_allclose(theta, softmax(best.x), atol=1e-4)
        assert criterion(np.log(theta)) <= best.fun + 1e-8


def test_one_topic_is_the_average_document():
    X = np.array([[2, 1, 1], [0, 3, 1]])
    model = MomentTopics(1, smoothing=0).fit(X)
    assert model.weights_.tolist() == [1]
    np.testing.assert_allclose(model.transform(X), 1)
    assert model.score(X) < 0


def test_scores_of_words_never_seen():
    X = np.repeat([[3, 3, 0, 0], [0, 0, 3, 0]], 5, axis=0)
    new = np.array([[3, 0, 0, 20]])
    assert MomentTopics(2, smoothing=0).fit(X).perplexity(new) == np.inf
    assert np.isfinite(MomentTopics(2).fit(X).perplexity(new))
    assert MomentTopics(2).fit(X).score(np.zeros((1, 4))) == 0.0


@pytest.mark.parametrize("alpha0", [None, 1.0])
def test_threads_and_seeds(alpha0):
    rng = np.random.default_rng(4)
    X, _ = documents(rng.dirichlet(np.ones(30), 3), np.ones(3) / 3, 500, 20, rng)
    fits = [MomentTopics(3, alpha0=alpha0, polish=3, threads=t).fit(X) for t in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)
    np.testing.assert_allclose(fits[0].components_, fits[2].components_, atol=1e-12)
    np.testing.assert_allclose(fits[0].transform(X.toarray()), fits[2].transform(X), atol=1e-9)


# -- reading, files, errors -------------------------------------------------------------------------------


@pytest.fixture
def model():
    X = np.repeat([[4, 2, 1, 0, 0], [0, 0, 1, 3, 3]], [5, 7], axis=0)
    return MomentTopics(2, alpha0=0.5, polish=2).fit(X, words=["ball", "game", "new", "law", "vote"])


def test_what_a_person_reads(model, tmp_path):
    assert [[word for word, _ in model.topic_words(k, 2)] for k in range(2)] == [
        ["law", "vote"],
        ["ball", "game"],
    ]
    groups = model.topic_groups(3)
    assert [groups[g].tolist() for g in range(2)] == [[2, 3, 4], [0, 1, 2]]
    assert groups.n_features == 5
    model.write_table(tmp_path / "topics.tsv", words=2)
    head, *lines = (tmp_path / "topics.tsv").read_text().splitlines()
    assert head.split("\t") == ["topic", "word", "probability"]
    assert [line.split("\t")[:2] for line in lines] == [
        ["0", "law"],
        ["0", "vote"],
        ["1", "ball"],
        ["1", "game"],
    ]
    model.write_table(tmp_path / "topics.tsv")
    rows = [line.split("\t") for line in (tmp_path / "topics.tsv").read_text().splitlines()[1:]]
    assert len(rows) == 10
    assert sum(float(p) for _, _, p in rows) == pytest.approx(2)
    assert [path.name for path in tmp_path.iterdir()] == ["topics.tsv"]
    with pytest.raises(OptionError, match="no topic 2"):
        model.topic_words(2)
    with pytest.raises(OptionError, match="at least 1"):
        model.topic_groups(0)
    model.words_[0] = "a\tb"
    with pytest.raises(InputError, match="tab"):
        model.write_table(tmp_path / "topics.tsv")


def test_words_may_come_from_column_names():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame([[4, 0], [0, 4], [3, 1]] * 3, columns=["ball", "law"])
    assert MomentTopics(2).fit(X).words_ == ["ball", "law"]
    assert MomentTopics(2).fit(X.to_numpy()).words_ == ["0", "1"]


def test_files_bring_the_model_back(model, tmp_path):
    model.save(tmp_path / "m.spinney")
    again = MomentTopics.load(tmp_path / "m.spinney")
    assert again.get_params() == model.get_params()
    X = np.array([[1, 2, 0, 1, 0]])
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.topic_words(0) == model.topic_words(0)
    assert again.trace_ == model.trace_
    for name, value in [
        ("weights_", np.array([9.0, 9.0])),
        ("components_", model.components_ * 2),
        ("components_", model.components_[:, :3]),
        ("clipped_", np.zeros(5)),
        ("trace_", ["x"]),
        ("polish", -1),
    ]:
        broken = MomentTopics.load(tmp_path / "m.spinney")
        setattr(broken, name, value)
        broken.save(tmp_path / "broken.spinney")
        with pytest.raises(ModelFileError, match="damaged"):
            MomentTopics.load(tmp_path / "broken.spinney")


@pytest.mark.parametrize(
    "options",
    [
        {"n_topics": 0},
        {"n_topics": 2.5},
        {"n_topics": 9},
        {"n_topics": 5},
        {"alpha0": -1.0},
        {"alpha0": np.inf},
        {"alpha0": "a"},
        {"smoothing": -1},
        {"polish": -1},
        {"restarts": 0},
        {"threads": 0},
    ],
)
def test_bad_options(options):
    X = np.random.default_rng(0).poisson(3.0, (4, 6))
    with pytest.raises(OptionError):
        MomentTopics(**{"n_topics": 2, **options}).fit(X)


def test_bad_documents():
    X = np.random.default_rng(0).poisson(3.0, (10, 6))
    with pytest.raises(InputError, match="Negative"):
        MomentTopics(2).fit(-X)
    with pytest.raises(InputError, match="fewer than 3 words"):
        MomentTopics(2).fit(np.eye(6))
    with pytest.raises(OptionError, match="documents of at least 3 words"):
        MomentTopics(2).fit(np.vstack([X[:1], np.eye(6)]))
    with pytest.raises(OptionError, match="3 words but 6 columns"):
        MomentTopics(2).fit(X, words=list("abc"))


def test_more_topics_than_the_pairs_show():
    X = np.repeat([[3, 3, 3, 0, 0, 0], [0, 0, 0, 3, 3, 3]], 20, axis=0)
    with pytest.warns(UserWarning, match="positive"):
        model = MomentTopics(4).fit(X)
    assert model.components_.shape == (2, 6)
    assert (model.n_documents_, model.n_dropped_) == (40, 0)


# -- real documents ---------------------------------------------------------------------------------------

AP = Path(os.environ.get("SPINNEY_DATA", "")) / "ap_blei"


@pytest.mark.slow
@pytest.mark.skipif(not AP.is_dir(), reason="needs ap_blei in the folder that SPINNEY_DATA names")
def test_associated_press():
    words = (AP / "vocab.txt").read_text().split("\n")[:-1]
    with lzma.open(AP / "ap.dat.xz", "rt") as file:
        rows = [[pair.split(":") for pair in line.split()[1:]] for line in file]
    indptr = np.cumsum([0, *map(len, rows)])
    entries = np.array([pair for row in rows for pair in row], dtype=float)
    X = sparse.csr_array((entries[:, 1], entries[:, 0].astype(int), indptr), shape=(len(rows), len(words)))
    model = MomentTopics(20, alpha0=1.0, polish=20).fit(X[200:], words=words)
    tops = [{word for word, _ in model.topic_words(k, 10)} for k in range(20)]
    for together in ("court judge trial", "soviet gorbachev", "oil prices", "shares stock", "bush dukakis"):
        assert any(set(together.split()) <= top for top in tops), together
    assert model.perplexity(X[:200]) < 3300  # that of the frequencies of words alone is 4,600
