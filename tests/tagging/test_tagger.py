"""The tagger as its users meet it: learning, labelling, files, options and bad input."""

from __future__ import annotations

import itertools
import threading
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from chunked_sentences import make_sentences
from sklearn.base import clone

from spinney.errors import InputError, ModelFileError, NotFittedError, OptionError
from spinney.inference.decoding import path_scores
from spinney.optim import (
    L1,
    L2,
    ConvergenceWarning,
    ElasticNet,
    FlatGroups,
    GroupL2,
    PenaltySpec,
    gradient_scale,
)
from spinney.structure import WordClasses, WordVectors
from spinney.tagging import CRFClassifier, Tagger, labelled_columns
from spinney.tagging.carrying import carried_over
from spinney.tagging.columns import Columns, read_all
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Sequences

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%suffix[0,0,2]\nB"


X, Y = make_sentences()


@pytest.fixture(scope="module")
def tagger():
    return Tagger(TEMPLATE, lam=0.3, tol=1e-6).fit(X, Y)


# ----------------------------------------------------------------------------------------- labelling


def test_learns_what_is_there_to_be_learnt(tagger):
    assert tagger.score(X, Y) == 1.0
    assert tagger.labels_ == ["B-NP", "I-NP", "O"]
    assert tagger.predict([["every", "zebra", "sings"]]) == [["B-NP", "I-NP", "O"]]
    facts = tagger.facts_
    assert facts["converged"]
    assert facts["violation"] <= 1e-6
    assert facts["solver"] == "lbfgs"
    assert facts["sentences"] == 40
    assert facts["tokens"] == sum(map(len, X))


def brute_force(tagger, sentence):
    """The probabilities of all labellings of a sentence, by the definition of the model."""
    columns = Columns.from_sentences([[(word,) for word in sentence]])
    u, b = tagger.extractor_.observe(columns)
    shape, w = tagger.weights_.shape, tagger.weights_.full()
    mu, lam = shape.mu(w), shape.lam(w)
    scores = {}
    for labels in itertools.product(range(shape.labels), repeat=len(sentence)):
        total = 0.0
        for t, y in enumerate(labels):
            before = labels[t - 1] if t else shape.labels
            total += mu[u.ids[u.ptr[t] : u.ptr[t + 1]], y].sum()
            if t or shape.start:
                total += lam[b.ids[b.ptr[t] : b.ptr[t + 1]], before, y].sum()
        scores[labels] = total
    log_z = np.logaddexp.reduce(list(scores.values()))
    return {labels: np.exp(score - log_z) for labels, score in scores.items()}


@pytest.mark.parametrize(
    "options", [{}, {"start_label": False}, {"penalty": "l1", "lam": 0.5}, {"weights": "observed"}]
)
def test_decoding_by_brute_force(options):
    tagger = Tagger("U0:%x[0,0]\nB0:%x[0,0]\nB", **({"lam": 2.0} | options)).fit(X, Y)
    for sentence in (["the", "cat", "dog", "sings"], ["zebra"], ["zebra", "a", "runs"]):
        p = brute_force(tagger, sentence)
        ranked = sorted(p, key=p.get, reverse=True)
        names = [tagger.labels_[i] for i in ranked[0]]
        assert tagger.predict([sentence]) == [names]
        [paths] = tagger.predict_kbest([sentence], 4)
        np.testing.assert_allclose([path.probability for path in paths], [p[r] for r in ranked[: len(paths)]])
        assert len(paths) == min(4, len(p))
        expected = np.zeros((len(sentence), 3))
        for labels, chance in p.items():
            expected[np.arange(len(sentence)), labels] += chance
        [marginals] = tagger.predict_marginals([sentence])
        np.testing.assert_allclose(marginals, expected, atol=1e-10)
        posterior = clone(tagger).set_params(decoding="posterior")
        vars(posterior).update({k: v for k, v in vars(tagger).items() if k.endswith("_")})
        assert posterior.predict([sentence]) == [[tagger.labels_[i] for i in expected.argmax(axis=1)]]


def test_known_labels_are_kept(tagger):
    known = [("the", "_"), ("cat", "O"), ("sings", "B-NP|I-NP")]
    inputs, allowed = tagger.force(Columns.from_sentences([known]))
    assert allowed.tolist() == [[True] * 3, [False, False, True], [True, True, False]]
    [labels] = tagger.label_columns(inputs, allowed)
    p = brute_force(tagger, [word for word, _ in known])
    possible = {k: v for k, v in p.items() if k[1] == 2 and k[2] in (0, 1)}
    assert labels == [tagger.labels_[i] for i in max(possible, key=possible.get)]
    with pytest.raises(InputError, match="'X' was never seen"):
        tagger.force(Columns.from_sentences([[("the", "X")]]))


@pytest.mark.parametrize("scheme", ["iob1", "iob2"])
def test_schemes_give_valid_labels_only(scheme):
    rng = np.random.default_rng(0)
    gold = [[str(rng.choice(["O", "B-NP", "I-NP", "B-VP", "I-VP"])) for _ in words] for words in X]
    free, bound = (Tagger("U0:%x[0,0]", lam=0.1, scheme=s).fit(X, gold) for s in (None, scheme))
    words = [list(np.random.default_rng(i).permutation(sentence)) for i, sentence in enumerate(X)]

    def valid(labels):
        for before, label in zip(["O", *labels], labels):
            if scheme == "iob2" and label[0] == "I" and before[1:] != label[1:]:
                return False
            if scheme == "iob1" and label[0] == "B" and before[1:] != label[1:]:
                return False
        return True

    assert not all(map(valid, free.predict(words)))
    assert all(map(valid, bound.predict(words)))


def test_odd_sentences(tagger):
    assert tagger.predict([]) == []
    assert tagger.predict([[], ["the"], []]) == [[], ["B-NP"], []]
    assert tagger.predict([[], []]) == [[], []]
    assert [p.shape for p in tagger.predict_marginals([[], ["the", "cat"], []])] == [(0, 3), (2, 3), (0, 3)]
    assert [len(paths[0].labels) for paths in tagger.predict_kbest([[], ["the"]], 2)] == [0, 1]
    [labels] = tagger.predict([["the", "cat", "runs"] * 33_334])
    assert labels == ["B-NP", "I-NP", "O"] * 33_334
    fitted = Tagger(TEMPLATE, lam=0.3).fit([[], *X, []], [[], *Y, []])
    assert fitted.predict(X) == tagger.predict(X)


def test_batches_change_nothing(tagger, monkeypatch):
    expected = tagger.predict([[], *X, []])
    marginals = tagger.predict_marginals(X)
    monkeypatch.setattr("spinney.tagging.decoding.BATCH", 7)
    assert tagger.predict([[], *X, []]) == expected
    for one, other in zip(tagger.predict_marginals(X), marginals, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_one_label_only():
    tagger = Tagger(TEMPLATE).fit([["a", "b"], ["c"]], [["O", "O"], ["O"]])
    assert tagger.predict([["a", "z"], []]) == [["O", "O"], []]
    np.testing.assert_allclose(tagger.predict_marginals([["a"]])[0], 1.0)
    sparse = Tagger(TEMPLATE, penalty="l1").fit([["a", "b"], ["c"]], [["O", "O"], ["O"]])
    assert sparse.predict([["a"]]) == [["O"]]
    assert sparse.facts_["active"] == 0


def test_no_weights_at_all(tmp_path):
    tagger = Tagger(TEMPLATE, penalty="l1", lam=1e5).fit(X, Y)
    assert tagger.weights_.n_active == 0
    assert tagger.predict([["the"]]) == [["B-NP"]]
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict([["the"]]) == [["B-NP"]]


def test_unseen_labels_are_errors(tagger):
    assert tagger.score([["the", "cat", "runs"]], [["B-NP", "I-NP", "NEW"]]) == pytest.approx(2 / 3)
    scores = tagger.score_columns(labelled_columns([["the", "cat", "runs"]], [["B-NP", "I-NP", "NEW"]]))
    assert scores["accuracy"] == pytest.approx(2 / 3)


# ------------------------------------------------------------------------------------------- training


def test_min_count():
    tagger = Tagger(TEMPLATE, min_count=30).fit(X, Y)
    counts = {}
    for sentence in X:
        for word in sentence:
            counts[f"U0:{word}"] = counts.get(f"U0:{word}", 0) + 1
    names = {name for name in tagger.extractor_.names("u") if name.startswith("U0")}
    assert names == {name for name, n in counts.items() if n >= 30} != set(counts)
    assert tagger.extractor_.names("b") == ["B"]
    assert tagger.score(X, Y) > 0.9


def test_observed_labels_have_weights_where_they_were_seen():
    every, seen = (
        Tagger("U0:%x[0,0]\nB", lam=0.1, weights=labels).fit(X, Y) for labels in ("all", "observed")
    )
    assert seen.facts_["parameters"] < every.facts_["parameters"]
    pairs = {(f"U0:{word}", label) for sentence, gold in zip(X, Y) for word, label in zip(sentence, gold)}
    mu = seen.weights_.shape.mu(seen.weights_.full())
    for o, name in enumerate(seen.extractor_.names("u")):
        assert {(name, seen.labels_[y]) for y in np.flatnonzero(mu[o])} <= pairs
    assert seen.score(X, Y) > 0.95
    sparse = Tagger("U0:%x[0,0]\nB", penalty="l1", lam=0.1, weights="observed", tol=1e-5).fit(X, Y)
    assert sparse.facts_["converged"]
    assert sparse.score(X, Y) > 0.95


def test_half_known_labels():
    """Without any label of a word its place between known ones tells what it is."""
    hidden = [["_" if word == "dog" else "I-NP|O" if word == "sings" else label for word, label in zip(s, g)]
              for s, g in zip(X, Y)]  # fmt: skip
    tagger = Tagger("U0:%x[0,0]\nB", lam=0.1, partial=True).fit(X, hidden)
    assert tagger.labels_ == ["B-NP", "I-NP", "O"]
    assert tagger.score(X, Y) > 0.95
    assert tagger.predict([["the", "dog", "sings"]]) == [["B-NP", "I-NP", "O"]]
    literal = Tagger("U0:%x[0,0]\nB", lam=0.1).fit(X, hidden)
    assert literal.labels_ == ["B-NP", "I-NP", "I-NP|O", "O", "_"]
    with pytest.raises(InputError, match="no label is known"):
        Tagger(TEMPLATE, partial=True).fit([["a"]], [["_"]])
    with pytest.raises(InputError, match="empty alternative"):
        Tagger(TEMPLATE, partial=True).fit([["a", "b"]], [["A|", "A"]])


def test_sentence_weights_count_like_repetitions():
    options = {"lam": 0.3, "tol": 1e-7}
    twice = Tagger(TEMPLATE, **options).fit(X + X[:5], Y + Y[:5])
    weighted = Tagger(TEMPLATE, **options).fit(X, Y, sentence_weight=[2.0] * 5 + [1.0] * (len(X) - 5))
    np.testing.assert_allclose(weighted.weights_.full(), twice.weights_.full(), atol=1e-4)
    with pytest.raises(InputError, match="one weight per sentence"):
        Tagger(TEMPLATE).fit(X, Y, sentence_weight=[1.0])
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="finite numbers ≥ 0"):
            Tagger(TEMPLATE).fit(X, Y, sentence_weight=[weight] * len(X))


def noisy(seed):
    rng = np.random.default_rng(seed)
    words, gold = make_sentences(60, seed)
    return words, [[str(rng.choice(["O", "B-NP"])) if rng.random() < 0.3 else y for y in g] for g in gold]


@pytest.mark.parametrize(
    "options", [{"solver": "lbfgs"}, {"solver": "sgd", "passes": 200}, {"penalty": "l1", "solver": "owlqn"}]
)
def test_training_stops_when_held_out_sentences_say_so(options):
    words, gold = noisy(1)
    dev = noisy(2)
    template = "U0:%x[0,0]/%x[-1,0]/%x[1,0]\nU1:%x[0,0]\nB"
    tagger = Tagger(template, lam=1e-4, tol=1e-9, patience=2, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        tagger.fit(words, gold, dev=dev)
    assert tagger.facts_["dev_token_error"] == pytest.approx(1 - tagger.score(*dev))
    assert tagger.facts_["iterations"] < 200


def test_starting_from_another_tagger(tmp_path, tagger):
    """What it knows of the same observations and labels is taken over: so there is nothing left to do."""
    path = tmp_path / "model"
    tagger.save(path)
    loaded = Tagger.load(path)
    again = Tagger(TEMPLATE, lam=0.3, tol=1e-4).fit(X, Y, init=loaded)
    assert again.facts_["iterations"] == 0
    np.testing.assert_allclose(again.weights_.full(), tagger.weights_.full(), atol=1e-9)

    more = [["the", "unicorn", "dreams", "alone"], *X], [["B-NP", "I-NP", "O", "ADV"], *Y]
    columns = labelled_columns(*more)
    fresh = Tagger("U0:%x[0,0]\nU9:%x[1,0]\nB", lam=0.3)
    problem = fresh.problem(columns)
    w = carried_over(loaded.weights_, loaded.extractor_, loaded.labels_, problem)
    mu, lam = problem.loss.shape.mu(w), problem.loss.shape.lam(w)
    old_mu = tagger.weights_.shape.mu(tagger.weights_.full())
    old_lam = tagger.weights_.shape.lam(tagger.weights_.full())
    assert problem.labels == ["ADV", "B-NP", "I-NP", "O"]
    names = {name: o for o, name in enumerate(problem.extractor.names("u"))}
    olds = {name: o for o, name in enumerate(tagger.extractor_.names("u"))}
    np.testing.assert_array_equal(mu[names["U0:cat"], 1:], old_mu[olds["U0:cat"]])
    assert not mu[names["U0:unicorn"]].any()
    assert not mu[names["U9:cat"]].any()
    assert not mu[:, 0].any()
    np.testing.assert_array_equal(lam[0, 1:4, 1:], old_lam[0, :3])
    np.testing.assert_array_equal(lam[0, 4, 1:], old_lam[0, 3])  # the start
    assert not lam[0, 0].any()
    assert not lam[0, :, 0].any()
    fitted = fresh.fit(*more, init=loaded)
    assert fitted.score(*more) == 1.0
    for options in ({"weights": "observed"}, {"start_label": False}, {"penalty": "l1", "lam": 0.1}):
        assert Tagger(TEMPLATE, **options).fit(*more, init=loaded).score(*more) > 0.98


def test_an_interrupt_keeps_the_model(monkeypatch):
    from spinney.tagging import tagger as module

    for solver in ("lbfgs", "sgd"):
        calls = []

        class Watch(module.DevSet):
            def __call__(self, step, w, calls=calls):
                calls.append(step)
                if len(calls) == 4:
                    raise KeyboardInterrupt
                return super().__call__(step, w)

        monkeypatch.setattr(module, "DevSet", Watch)
        tagger = Tagger(TEMPLATE, lam=1e-3, tol=1e-12, solver=solver)
        with pytest.raises(KeyboardInterrupt):
            tagger.fit(X, Y, dev=(X, Y))
        assert len(calls) == 4
        assert tagger.score(X, Y) > 0.9


def test_the_path_falls_and_grows():
    columns = labelled_columns(X, Y)
    tagger = Tagger("U0:%x[0,0]\nU1:%x[-1,0]\nB:%x[0,0]", penalty="elasticnet", l2=1e-3, tol=1e-5)
    points = list(tagger.path(columns, n=6, ratio=1e-2, dev=labelled_columns(*make_sentences(20, 5))))
    lams = [point.lam for point in points]
    assert lams == sorted(lams, reverse=True)
    assert len(lams) == 6
    active = [point.active for point in points]
    assert active[0] <= 3
    assert active[-1] > 5
    assert active == sorted(active)
    objectives = [point.objective for point in points]
    assert objectives == sorted(objectives, reverse=True)
    assert all(point.violation * point.lam <= 1e-5 * lams[0] for point in points)
    assert points[-1].scores["accuracy"] > points[0].scores["accuracy"]
    assert tagger.lam == lams[-1]
    assert tagger.weights_.n_active == active[-1]
    alone = Tagger(tagger.patterns, penalty="elasticnet", l2=1e-3, tol=1e-5, lam=lams[2]).fit(X, Y)
    assert alone.facts_["objective"] == pytest.approx(points[2].objective, rel=1e-4)
    explicit = list(
        Tagger(TEMPLATE).path(columns, [0.1, 10.0, 1.0])
    )  # ℓ2 has no largest λ, but may have a list
    assert [point.lam for point in explicit] == [10.0, 1.0, 0.1]


def test_groups_trees_and_orphans():
    template = "U0:%x[0,0]\nB0:%x[0,0]\nU1:%suffix[0,0,1]\nB"
    options = {"lam": 1.0, "tol": 1e-5, "max_iter": 20000}
    dropped = (
        Tagger(template, penalty="group-pattern", **options | {"lam": 4.0}).fit(X, Y).active_by_pattern()
    )
    assert len(dropped) < 4
    tree = Tagger("U0:%x[0,0]\nB0:%x[0,0]", penalty="tree", **options | {"lam": 0.5}).fit(X, Y)
    tied = Tagger("U:%x[0,0]\nB:%x[0,0]", penalty="tree", **options | {"lam": 0.5}).fit(X, Y)
    assert tree.orphans() == tied.orphans()
    assert tied.orphans()[0] > 0
    assert tied.orphans()[1] == 0
    loose = Tagger("U:%x[0,0]\nB:%x[0,0]", penalty="l1", **options).fit(X, Y)
    shape, w = loose.weights_.shape, loose.weights_.full()
    mu = {name[1:]: row for name, row in zip(loose.extractor_.names("u"), shape.mu(w))}
    expected = np.zeros(2, int)
    for name, matrix in zip(loose.extractor_.names("b"), shape.lam(w)):
        active = np.count_nonzero(matrix, axis=0)
        expected += active.sum(), active[mu.get(name[1:], np.zeros(3)) == 0].sum()
    assert loose.orphans() == tuple(expected)
    assert expected[1] > 0


def test_fits_in_parallel_threads():
    alone = [Tagger(TEMPLATE, lam=lam, threads=1, tol=1e-6).fit(X, Y) for lam in (0.1, 1.0, 10.0)]
    together = [Tagger(TEMPLATE, lam=lam, threads=2, tol=1e-6) for lam in (0.1, 1.0, 10.0)]
    workers = [threading.Thread(target=tagger.fit, args=(X, Y)) for tagger in together]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for one, other in zip(alone, together):
        np.testing.assert_allclose(one.weights_.full(), other.weights_.full(), atol=1e-5)


def test_the_optimum_is_that_of_the_whole_problem(tagger):
    columns = labelled_columns(X, Y)
    fresh = Tagger(TEMPLATE, lam=0.3)
    loss = fresh.problem(columns).loss
    assert isinstance(loss, CRFLoss)
    assert loss.n_params == len(tagger.weights_.full())
    value, gradient = loss.value_and_grad(tagger.weights_.full())
    assert L2(0.3).violation(tagger.weights_.full(), gradient) <= 1e-6 * gradient_scale(loss)
    assert value + L2(0.3).value(tagger.weights_.full()) == pytest.approx(tagger.facts_["objective"])
    # What the decoder says of the labels seen is what the loss says of them.
    inputs = replace(columns, symbols=columns.symbols[:-1])
    chains = tagger.chains(Sequences(columns.offsets, *tagger.extractor_.observe(inputs)))
    from spinney.inference.decoding import marginals

    log_z = marginals(chains)[1]
    assert (log_z - path_scores(chains, loss.data.labels)).sum() == pytest.approx(value)


def test_memm_and_hmm(tmp_path):
    for method, options in (("memm", {"lam": 0.1}), ("hmm", {})):
        tagger = Tagger("U0:%x[0,0]\nB", method=method, **options).fit(X, Y)
        assert tagger.score(X, Y) > 0.9
        tagger.save(tmp_path / method)
        assert Tagger.load(tmp_path / method).predict(X) == tagger.predict(X)
    sparse = Tagger("U0:%x[0,0]\nB", method="memm", penalty="l1", lam=0.3).fit(X, Y)
    assert sparse.score(X, Y) > 0.9
    assert sparse.facts_["active"] < sparse.facts_["parameters"] / 2


# -------------------------------------------------------------------------------------- files and input


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"penalty": "l1", "lam": 0.5},
        {"start_label": False},
        {"scheme": "iob2"},
        {"decoding": "posterior"},
    ],
)
def test_files_keep_everything(tmp_path, options):
    tagger = Tagger(TEMPLATE, **({"lam": 0.3} | options)).fit(X, Y)
    path = tmp_path / "model"
    tagger.save(path)
    loaded = Tagger.load(path)
    words = [list(np.random.default_rng(i).permutation(sentence)) for i, sentence in enumerate(X)]
    assert loaded.predict(words) == tagger.predict(words)
    for one, other in zip(loaded.predict_marginals(words), tagger.predict_marginals(words), strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded.facts_ == tagger.facts_
    assert loaded.labels_ == tagger.labels_
    assert {k: v for k, v in loaded.get_params().items() if k not in ("patterns", "classes", "vectors")} == {
        k: v for k, v in tagger.get_params().items() if k not in ("patterns", "classes", "vectors")
    }
    loaded.save(tmp_path / "again")
    Tagger.load(tmp_path / "again").save(path)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert loaded.fit(X, Y).predict(words) == tagger.predict(words)
    assert not zipfile.is_zipfile(path)
    assert b"numpy" not in path.read_bytes()


def test_structures_are_in_the_file(tmp_path):
    words = sorted({word for sentence in X for word in sentence})
    classes = WordClasses([*words, "unicorn"], [*[len(w) % 3 for w in words], len("unicorn") % 3])
    vectors = WordVectors([*words, "unicorn"], np.random.default_rng(0).normal(size=(len(words) + 1, 4)))
    template = "U0:%class[0,0,k]\nU1:%vector[0,0,v]\nU2:%class[-1,0,k]\nB"
    tagger = Tagger(template, classes={"k": classes}, vectors={"v": vectors}, lam=0.1).fit(X, Y)
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    unseen = [["a", "unicorn", "sings"], ["unicorn"]]
    assert loaded.predict(unseen + X) == tagger.predict(unseen + X)
    for one, other in zip(loaded.predict_marginals(unseen), tagger.predict_marginals(unseen)):
        np.testing.assert_array_equal(one, other)
    assert (
        loaded.predict_marginals([["unicorn"]])[0].tolist()
        != loaded.predict_marginals([["zebra"]])[0].tolist()
    )


def test_damaged_files(tmp_path, tagger):
    tagger.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    bad = tmp_path / "bad"
    for length in [*range(0, len(whole), max(len(whole) // 60, 1)), len(whole) - 1]:
        bad.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            Tagger.load(bad)
    bad.write_bytes(b"PK\x03\x04" + whole)
    with pytest.raises(ModelFileError):
        Tagger.load(bad)
    with pytest.raises((ModelFileError, InputError)):
        Tagger.load(tmp_path / "none")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_column_files(tmp_path, newline):
    lines = []
    for i, (sentence, gold) in enumerate(zip(X, Y)):
        lines += [
            f"{word}{[' ', chr(9), '  '][(i + j) % 3]}X {label}"
            for j, (word, label) in enumerate(zip(sentence, gold))
        ]
        lines += [""] * (1 + i % 2)
    path = tmp_path / "train.txt"
    path.write_bytes(newline.join(lines).encode())
    columns = read_all(path)
    assert columns.width == 3
    assert len(columns) == len(X)
    tagger = Tagger(TEMPLATE, lam=0.3, tol=1e-6).fit_columns(columns)
    same = Tagger(TEMPLATE, lam=0.3, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(tagger.weights_.full(), same.weights_.full(), atol=1e-5)
    assert tagger.score_columns(columns)["accuracy"] == 1.0


def test_too_few_columns():
    tagger = Tagger("U0:%x[0,0]\nU7:%x[0,1]\nB").fit([[("the", "D"), ("cat", "N")]], [["B-NP", "I-NP"]])
    with pytest.raises(InputError, match=r"needs column 1, but the data have 1 column") as error:
        tagger.predict([["the"]])
    assert "pattern U7" in str(error.value)


def test_bad_input():
    for words, labels, message in (
        (X, Y[:-1], "40 sentences"),
        ([["a", "b"]], [["O"]], "sentence 0 has 2 tokens, but 1"),
        ([], [], "no sentences"),
        ([[]], [[]], "no sentences"),
        ([[("a", "b"), ("c",)]], [["O", "O"]], "token 1"),
    ):
        with pytest.raises(InputError, match=message):
            Tagger(TEMPLATE).fit(words, labels)
    for dev in (([], []), ([[]], [[]])):
        with pytest.raises(InputError, match="no held-out sentences"):
            Tagger(TEMPLATE).fit(X, Y, dev=dev)
    with pytest.raises(InputError, match="no sentences to score"):
        Tagger(TEMPLATE).fit(X, Y).score([], [])
    with pytest.raises(NotFittedError):
        Tagger(TEMPLATE).predict(X)
    with pytest.raises(NotFittedError):
        Tagger(TEMPLATE).save("nowhere")


@pytest.mark.parametrize(
    "options",
    [
        {"patterns": "no-such-set"},
        {"method": "svm"},
        {"penalty": "l3"},
        {"solver": "magic"},
        {"weights": "some"},
        {"lam": -1.0},
        {"lam": float("nan")},
        {"penalty": "elasticnet", "l2": -1.0},
        {"scheme": "biology"},
        {"decoding": "guess"},
        {"threads": 0},
        {"weights": "observed", "penalty": "tree"},
        {"weights": "observed", "penalty": "group-symbol"},
        {"weights": "observed", "solver": "perceptron"},
        {"penalty": "l1", "solver": "lbfgs"},
        {"method": "memm", "weights": "observed"},
        {"method": "memm", "solver": "sgd"},
        {"solver": "sgd", "step": 0.0},
        {"solver": "sgd", "step": -1.0},
    ],
    ids=str,
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        Tagger(**({"patterns": TEMPLATE} | options)).fit(X, Y).predict(X)


def test_an_estimator_of_scikit_learn(tagger):
    copy = clone(tagger)
    assert not hasattr(copy, "weights_")
    assert copy.get_params() == tagger.get_params()
    copy.set_params(lam=5.0)
    assert copy.fit(X, Y).facts_["penalty"] != tagger.facts_["penalty"]
    with pytest.raises(ValueError):
        copy.set_params(lamda=1)


def test_reading_the_weights(tagger):
    strongest = tagger.strongest(3)
    assert set(strongest) == {"B-NP", "I-NP", "O"}
    mu = tagger.weights_.shape.mu(tagger.weights_.full())
    assert strongest["O"][0][1] == mu[:, 2].max()
    assert tagger.strongest(2, by="pattern")
    with pytest.raises(OptionError):
        tagger.strongest(2, by="magic")
    high, low = tagger.transitions(4)
    assert high[0][3] == tagger.weights_.shape.lam(tagger.weights_.full()).max()
    assert low[0][3] < 0
    assert sum(map(sum, tagger.active_by_pattern().values())) == tagger.weights_.n_active


def test_what_speaks_against_a_label(tagger):
    against = tagger.strongest(4, against=True)
    mu, names = tagger.weights_.shape.mu(tagger.weights_.full()), tagger.extractor_.names("u")
    for y, label in enumerate(tagger.labels_):
        below = sorted((weight, o) for o, weight in enumerate(mu[:, y].tolist()) if weight < 0)
        assert against[label] == [(names[o], weight) for weight, o in below[:4]]
    assert any(against.values())
    shown = {view.key: view.data() for view in tagger.views(top=4)}
    assert shown["strongest_against"] == against
    assert "strongest_against" not in {view.key for view in tagger.views(top=4, by="pattern")}
    with pytest.raises(OptionError, match="leave out against"):
        tagger.strongest(4, by="pattern", against=True)


def test_prune_and_margins():
    X = [["the", "dog"], ["a", "cat"], ["the", "cat"]]
    tagger = Tagger("U:%x[0,0]\nB", lam=0.1).fit(X, [["D", "N"]] * 3)
    best, second = tagger.predict_kbest([["a", "dog"]], 2)[0]
    assert tagger.predict_margins([["a", "dog"], ["the", "dog"]])[0] == pytest.approx(
        best.score - second.score
    )
    w = tagger.weights_.full()
    tau = float(np.median(np.abs(w)))
    tagger.prune(tau)
    assert tagger.weights_.n_active == tagger.facts_["active"] == np.count_nonzero(np.abs(w) > tau)
    assert tagger.predict([["a", "dog"]]) == [["D", "N"]]


@pytest.mark.parametrize(
    "penalty", [L1(0.2), ElasticNet(0.2, l2=0.1), PenaltySpec("group", 0.2, l1=0.05, grouping="pattern")]
)
def test_a_penalty_object_comes_back_as_what_it_was(penalty, tmp_path):
    sentences, labels = [["the", "cat"], ["the", "dog"]], [["D", "N"], ["D", "N"]]
    tagger = Tagger("U:%x[0,0]\nB", penalty=penalty).fit(sentences, labels)
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.penalty == PenaltySpec.of(penalty)
    again.fit(sentences, labels)
    assert again.facts_["penalty"] == tagger.facts_["penalty"]
    assert again.facts_["objective"] == tagger.facts_["objective"]


def test_a_penalty_with_groups_of_its_own_comes_back_by_name_and_is_not_replaced(tmp_path):
    sentences, labels = [["the", "cat"], ["the", "dog"]], [["D", "N"], ["D", "N"]]
    groups = FlatGroups.of([list(range(6))], n_features=12)
    tagger = Tagger("U:%x[0,0]\nB", penalty=GroupL2(0.2, groups)).fit(sentences, labels)
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.penalty == PenaltySpec("group", 0.2, own="groups")
    assert again.predict([["the", "dog"]]) == [["D", "N"]]
    with pytest.raises(OptionError, match="groups, which are not stored: give it again"):
        again.fit(sentences, labels)


def test_margins_of_features_from_elsewhere():
    """They are those of the dictionaries, not of their keys."""
    X = [[{"word": "the"}, {"word": "dog", "short": True}], [{"word": "a"}, {"word": "cat", "short": True}]]
    crf = CRFClassifier(lam=0.1).fit(X, [["D", "N"], ["D", "N"]])
    other = [[{"word": "the"}, {"word": "dog"}], [{"word": "fox"}]]
    by_hand = [best.score - next_best.score for best, next_best in crf.predict_kbest(other, 2)]
    np.testing.assert_allclose(crf.predict_margins(other), by_hand)
    assert crf.predict_margins(other)[0] != pytest.approx(crf.predict_margins(X)[0])
