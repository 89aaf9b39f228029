"""Jobs on a cluster have the bits that they have on threads; what stays with the workers goes to them once."""

from __future__ import annotations

import os
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from cluster_job_tasks import where_it_lies
from made_up_treebank import treebank
from parsing_toys import TEXTS
from same_models import model_bits
from scipy import sparse

import spinney
from spinney import cluster as clusters
from spinney.corpus import Tree, sentence_arrays
from spinney.mapped import Mapped
from spinney.optim import losses
from spinney.parallel import Kept, Pure, Visit, in_order, running_on

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def client():
    """Two processes, for all tests."""
    with clusters.local_client(2) as made:
        yield made


@pytest.fixture
def fit_everywhere(client, tmp_path):
    """Fit on one thread, on two, and on the cluster; the bits must be the same, and are returned with the model."""

    def fitted(fit, *data, **how):
        models = [fit(*data, threads=threads, **how) for threads in (1, 2)]
        with spinney.on(client) as engine:
            models.append(fit(*data, threads=1, **how))
            assert engine.traffic.calls > 0, "nothing went to the cluster"
        one, two, there = (model_bits(model, tmp_path) for model in models)
        assert one == two
        assert one == there
        return models[0], one

    return fitted


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    return [[f"w{int(x)}" for x in rng.zipf(1.3, 12) % 200] for _ in range(400)]


@pytest.fixture(scope="module")
def trees():
    rng = np.random.default_rng(0)
    nouns, verbs = [f"n{i}" for i in range(12)], [f"v{i}" for i in range(6)]

    def shuffled(text: str) -> str:
        words = {
            "dog": nouns,
            "cat": nouns,
            "dogs": nouns,
            "cats": nouns,
            "parks": nouns,
            "saw": verbs,
            "bark": verbs,
        }
        for word, others in words.items():
            text = text.replace(f" {word})", f" {rng.choice(others)})")
        return text

    return [Tree.parse(shuffled(TEXTS[i % len(TEXTS)])) for i in range(120)]


# ------------------------------------------------------------------------------------------- linear losses


def design(rng, n=300, p=40):
    X = sparse.random(n, p, 0.2, "csr", random_state=1)
    X = sparse.vstack([X[:5], X[:1] * 0, X[6:-1], X[:1] * 0], "csr")  # with empty rows
    X.eliminate_zeros()
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n)


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(losses, "SHARD", 250)
    monkeypatch.setattr(losses, "PER_WEIGHT", 0)


def made(kind: str, X, y, weight):
    if kind == "squared":
        return losses.SquaredLoss(X, y, weight)
    if kind in ("multinomial", "one-versus-rest"):
        of = losses.MultinomialLoss if kind == "multinomial" else losses.OneVsRestLoss
        return of(X, np.digitize(y, [-1, 1]), weight)
    return (losses.LogisticLoss if kind == "logistic" else losses.SquaredHingeLoss)(X, np.sign(y), weight)


@pytest.mark.parametrize("kind", ["squared", "logistic", "squared hinge", "multinomial", "one-versus-rest"])
def test_losses_over_shards_are_those_of_all_rows(kind, small_shards, client, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = design(rng)
    weight = rng.random(len(y))
    loss = made(kind, X, y, weight)
    monkeypatch.setattr(losses, "SHARD", X.nnz * loss.n_outputs // 9)
    assert len(loss.shards) > 8  # so that sums of eights are added up
    rows = [shard.rows for shard in loss.shards]
    assert rows[0].start == 0
    assert rows[-1].stop == len(y)
    assert all(a.stop == b.start for a, b in pairwise(rows))
    w, v = rng.standard_normal((2, loss.n_params))
    whole = made(kind, X.toarray(), y, weight)
    assert not whole.shards
    assert not made(kind, X.tocsc(), y, weight).shards
    here = loss.value_and_grad(w), loss.margins(w), loss.hess_vec(w)(v)
    dense = whole.value_and_grad(w), whole.margins(w), whole.hess_vec(w)(v)
    np.testing.assert_allclose(here[0][0], dense[0][0], rtol=1e-13)
    for one, other in zip((here[0][1], *here[1:]), (dense[0][1], *dense[1:])):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)
    with spinney.on(client) as engine:
        there = loss.value_and_grad(w), loss.margins(w), loss.hess_vec(w)(v)
        sent = engine.traffic.sent
        loss.value_and_grad(w)
        assert (
            engine.traffic.sent - sent <= 2 * w.nbytes
        )  # the rows are there; weights go with a task or by themselves
    assert here[0][0] == there[0][0]
    for one, other in zip((here[0][1], *here[1:]), (there[0][1], *there[1:])):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("solver", ["lbfgs", "fista", "cd"])
@pytest.mark.filterwarnings("ignore:solver .* stopped after 4 iterations")
def test_classifiers_have_the_same_bits(solver, small_shards, client, monkeypatch):
    from spinney.classify import LinearClassifier

    monkeypatch.setattr(losses, "SHARD", 2000)
    X, y = design(np.random.default_rng(0))
    found = []
    for where in (None, client):
        with spinney.on(where) as engine:
            how = {"penalty": "l2" if solver == "lbfgs" else "l1", "solver": solver, "max_iter": 4}
            model = LinearClassifier(lam=0.5, **how).fit(X, np.digitize(y, [-1, 1]))
            found.append((model.coef_, model.intercept_))
    assert engine.traffic.calls > 0
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_gradients_of_folds_stay_with_the_folds(small_shards, client, monkeypatch):
    from spinney.classify import LinearClassifierCV

    monkeypatch.setattr(losses, "SHARD", 40)
    X, y = design(np.random.default_rng(0))
    found = []
    for where in (None, client):
        with spinney.on(where):
            model = LinearClassifierCV(cv=2, penalty="l1", tol=0.3).fit(X[:120, :6], y[:120] > 0)
            found.append((model.coef_, model.lam_))
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_designs_in_column_order_let_their_shards_go(small_shards):
    X, y = design(np.random.default_rng(0))
    loss = losses.SquaredLoss(X, y)
    assert loss.shards
    assert len(loss.__getstate__()["X"].data) == X.nnz
    assert loss.__getstate__()["_cut"] is None
    loss.X = loss.X.tocsc()
    assert not loss.shards


# -------------------------------------------------------------------------------- language models, grammars


@pytest.mark.parametrize("order", [4, None], ids=["order 4", "collapsed"])
def test_losses_over_subtrees_are_those_of_the_trie(order, text, client, monkeypatch):
    from spinney.lm import trieshards
    from spinney.lm.stream import stream_of
    from spinney.lm.suffixloss import SuffixTrieLoss
    from spinney.lm.suffixtrie import suffix_trie

    arrays = sentence_arrays(text)
    trie = suffix_trie(
        stream_of(arrays),
        len(arrays.vocabulary),
        None if order is None else order - 1,
        collapse=order is None,
    )
    rng = np.random.default_rng(0)
    feature, w = 1.0 + rng.random(trie.n_grams), rng.random(trie.n_grams) * (rng.random(trie.n_grams) < 0.5)
    whole = SuffixTrieLoss(trie, feature)
    assert not whole.shards
    monkeypatch.setattr(trieshards, "SHARD", trie.n_grams // 11)
    loss = SuffixTrieLoss(trie, feature)
    assert len(loss.shards) > 3
    value, gradient = loss.value_and_grad(w)
    assert value == loss.value(w)
    expected, of_whole = whole.value_and_grad(w)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, of_whole, rtol=1e-9, atol=1e-10)
    with spinney.on(client):
        found = loss.value_and_grad(w)
        assert (found[0], loss.value(w)) == (value, value)
    np.testing.assert_array_equal(found[1], gradient)


@pytest.mark.parametrize(
    "how", [{"method": "loglinear"}, {"method": "hierarchical"}], ids=["words", "tree of words"]
)
def test_log_linear_models_have_the_same_bits(how, text, fit_everywhere, monkeypatch):
    monkeypatch.setattr("spinney.lm.trieshards.SHARD", 400)
    with pytest.warns(UserWarning, match="stopped after 3 iterations"):
        fit_everywhere(spinney.lm.fit, text[:100], order=3, max_iter=3, **how)


@pytest.mark.parametrize(
    "how", [{"method": "em", "max_iter": 3}, {"method": "split-merge"}], ids=["em", "split-merge"]
)
def test_grammars_have_the_same_bits(how, trees, fit_everywhere, monkeypatch):
    monkeypatch.setattr("spinney.parsing.em.SHARD", 120)
    fit_everywhere(spinney.parsing.fit, trees, states=2, **how)


def test_expectations_over_shards_are_those_of_all_trees(trees, monkeypatch):
    from spinney.parsing import em
    from spinney.parsing.binarising import Binarisation
    from spinney.parsing.methods import TrainingTrees

    training = TrainingTrees.of(trees, Binarisation(), 2)
    grammar = em.random_grammar(training.rules, training.pcfg, 3, np.random.default_rng(0))
    monkeypatch.setattr(em, "SHARD", 100)
    sample = em.Sample(training.sample.trees, training.sample.uses, training.rules)
    assert len(sample.shards) > 8
    assert len(training.sample.shards) > 8
    counts, log_likelihood = em.expectations(sample, grammar)
    found = em.beliefs(sample, grammar)
    expected = em.expected_counts(sample, grammar, found)
    assert log_likelihood == pytest.approx(found.log_probability.sum(), rel=1e-13)
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(counts, name), getattr(expected, name), rtol=1e-11, atol=1e-12)


def test_choices_of_parsers_have_the_same_bits(trees, fit_everywhere):
    model, _ = fit_everywhere(spinney.parsing.fit, trees, dev=trees[:20], method="spectral", states=2)
    assert len(model.facts["learning"][0]["trace"]) == 7
    sentences = treebank(60)
    model, _ = fit_everywhere(spinney.parsing.fit, sentences, dev=sentences[:10], method="automata", states=2)
    assert len(model.facts["trials"]) == 8


# --------------------------------------------------------------------------------------- hidden Markov models


@pytest.fixture(scope="module")
def parsed_text(tmp_path_factory):
    from spinney.corpus.conllu import write_conllu

    path = tmp_path_factory.mktemp("trees") / "trees.conllu"
    write_conllu(path, treebank(700))
    return str(path)


@pytest.mark.parametrize(
    "how",
    [{}, {"em": "batch", "init": "random"}, {"em": "batch", "typed": 2}],
    ids=["online", "batch", "typed"],
)
def test_tree_models_have_the_same_bits(how, parsed_text, fit_everywhere):
    model, _ = fit_everywhere(
        spinney.classes.fit, parsed_text, method="hmm", tree=True, classes=6, passes=2, dev=parsed_text, **how
    )
    assert model.facts["structure"] == "tree"


class Watching:
    """An engine that runs everything here, and keeps what it was given."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    def in_order(self, function, shards):
        for shard in shards:
            assert isinstance(shard, Visit)
            self.kept.append(shard.kept)
            yield function(shard)

    def sums(self, function, groups, reduce):
        raise AssertionError


def test_tokens_of_batch_em_stay_where_they_are(text):
    from spinney.classes.learning import Corpus, Learner, Messages
    from spinney.classes.statistics import random_start
    from spinney.progress import task

    arrays = sentence_arrays(text * 10)
    corpus, learner = Corpus(arrays), Learner(Messages(), 1e-5, 0.1, np.float32, 1, 0.5)
    statistics = random_start(arrays.vocabulary.counts, 4, 1, np.random.default_rng(0), np.dtype(np.float32))
    with task("") as work:
        here, _ = learner.batch_pass(corpus, statistics, work)
        engine = Watching()
        with running_on(engine):
            there = [learner.batch_pass(corpus, statistics, work)[0] for _ in range(2)]
    n = len(engine.kept) // 2
    assert n > 3
    assert engine.kept[:n] == engine.kept[n:]  # the very same objects, which an engine sends once
    for other in there:
        np.testing.assert_array_equal(here.omega, other.omega)
        np.testing.assert_array_equal(here.tau, other.tau)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_what_stays_lies_in_a_file_of_the_worker(client):
    value = Mapped([np.arange(100_000.0), np.arange(5)])
    with spinney.on(client):
        ((pid, mapped, total),) = in_order(Pure(where_it_lies), [Kept(value)], 1)
    assert pid != os.getpid()
    assert mapped
    assert total == value.value[0].sum()


# ----------------------------------------------------------------------------------------- independent tasks


@pytest.mark.filterwarnings("ignore:solver .* stopped")
def test_folds_of_taggers_have_the_same_bits(text, fit_everywhere):
    sentences = text[:45]
    labels = [["AB"[int(word[1:]) % 2] for word in sentence] for sentence in sentences]
    how = {"patterns": "U:%x[0,0]\nU1:%x[-1,0]\nB", "cv": 3, "max_iter": 20}
    model, _ = fit_everywhere(spinney.tagging.fit, (sentences, labels), penalty="l2", **how)
    assert "3-fold" in model.facts["chosen"]


def test_resamples_are_the_same_everywhere(client, monkeypatch):
    from spinney.evaluate import f1_of_counts, paired_bootstrap, significance

    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=(2, 50, 3))
    again = partial(paired_bootstrap, a, b, f1_of_counts, resamples=70)
    here = again()
    monkeypatch.setattr(significance, "_AWAY", 0)
    monkeypatch.setattr(significance, "_TASK", 50 * 8)
    with spinney.on(client) as engine:
        assert again() == here
        assert engine.traffic.calls == 9


def test_commands_that_take_a_cluster():
    from spinney.cli.tasks import TASKS
    from spinney.settings import settings_of

    takes = {
        (task, verb)
        for task, of in TASKS.items()
        for verb, one in of.verbs.items()
        for cls in (one.settings.values() if isinstance(one.settings, dict) else [one.settings])
        if isinstance(cls, type) and any(setting.name == "cluster" for setting in settings_of(cls))
    }
    fits = {(task, "fit") for task in TASKS}
    evals = {(task, "eval") for task in ("classes", "embed", "lm", "parse")}
    others = {("classes", "place"), ("classify", "path"), ("tag", "path"), ("trend", "compare")}
    assert takes == fits | evals | others


def test_eval_on_a_cluster(client, text, tmp_path, capsys, monkeypatch):
    from spinney.cli.main import run

    monkeypatch.setattr("spinney.evaluate.significance._AWAY", 0)
    monkeypatch.setattr("spinney.evaluate.significance._TASK", 1_000_000)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(sentence) for sentence in text))
    for order in (2, 3):
        spinney.lm.fit(str(path), order=order).save(tmp_path / f"{order}.spinney")
    args = [
        "lm",
        "eval",
        str(tmp_path / "3.spinney"),
        str(path),
        "--against",
        str(tmp_path / "2.spinney"),
        "--json",
    ]
    assert run(args) == 0
    here = capsys.readouterr().out
    assert run([*args, "--cluster", client.scheduler.address]) == 0
    said = capsys.readouterr()
    assert said.out == here
    assert "cluster: 2 workers" in said.err
