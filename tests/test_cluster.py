"""Work on a Dask cluster: the same bits as on threads, whatever happens to the workers."""

from __future__ import annotations

import json
import operator
import os
import signal

import numpy as np
import pytest
from cluster_tasks import bad_line, of_kept, slow, uneven
from same_models import same_model

import spinney
from spinney import cluster as clusters
from spinney.errors import InputError, OptionError
from spinney.parallel import FAN_IN, Kept, Pure, Visit, elsewhere, in_order, map_reduce

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def client():
    """Two processes, for all tests."""
    with clusters.local_client(2) as made:
        yield made


def test_sums_by_eights_are_the_same_everywhere(client):
    for n in (1, FAN_IN, FAN_IN + 1, 67):
        job = Pure(uneven, 3.0)
        expected = [map_reduce(job, range(n), threads=threads) for threads in (1, 2, 3)]
        with spinney.on(client):
            found = map_reduce(job, range(n), threads=1)
        for one in expected:
            np.testing.assert_array_equal(one, found)


def test_results_come_in_order_and_data_stay(client):
    kept = [Kept(np.arange(100_000.0) + i) for i in range(5)]
    with spinney.on(client):
        for factor in (2.0, 3.0):
            visits = (Visit(one, np.full(100_000, factor)) for one in kept)
            for i, found in enumerate(in_order(Pure(of_kept), visits, 1)):
                np.testing.assert_array_equal(found, (np.arange(100_000.0) + i) * factor)
    assert not elsewhere()


def test_functions_that_are_not_pure_stay_here(client):
    with spinney.on(client):
        assert map_reduce(lambda _: {os.getpid()}, range(3), threads=2, reduce=operator.or_) == {os.getpid()}
        assert elsewhere()


def test_a_worker_is_killed_in_the_middle_of_a_pass(client):
    expected = map_reduce(Pure(slow), range(40), threads=2)
    pids = client.run(os.getpid)
    with spinney.on(client):
        found = in_order(Pure(slow), range(40), 2)
        results = [next(found) for _ in range(3)]
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        results += found
    np.testing.assert_array_equal(
        np.concatenate(results), np.concatenate([uneven(1.0, i) for i in range(40)])
    )
    with spinney.on(client):
        kept = [Kept(np.full(1000, float(i))) for i in range(16)]
        assert map_reduce(Pure(np.sum), kept, threads=1) == 120_000
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)  # with half of the data
        assert map_reduce(Pure(np.sum), kept, threads=1) == 120_000
        np.testing.assert_array_equal(map_reduce(Pure(slow), range(40), threads=2), expected)


def test_errors_of_tasks_are_those_of_the_user(client, tmp_path):
    with spinney.on(client), pytest.raises(InputError, match=r"^train.txt:7: 3 columns .* \(add the missing"):
        list(in_order(Pure(bad_line), [7], 1))


def test_addresses_that_are_none(monkeypatch):
    with pytest.raises(OptionError, match="no cluster has the address lokal"), spinney.on("lokal"):
        pass
    monkeypatch.setattr("spinney.cluster.clients.TIMEOUT", "1s")
    nowhere = spinney.on("tcp://127.0.0.1:1")
    with pytest.raises(OptionError, match="no scheduler answers at tcp:"), nowhere:
        pass
    with pytest.raises(OptionError, match="an address, not int"), spinney.on(3):
        pass


def test_workers_that_cannot_work():
    facts = {"host": "n1", "spinney": "0.0.1", "python": "3.11.1", "path": None}
    ((what, remedy),) = clusters.worker_problems({"tcp://a:1": facts})
    assert what == f"the worker tcp://a:1 on n1 has spinney 0.0.1, not {spinney.__version__}"
    assert remedy == f"pip install spinney=={spinney.__version__} there"
    good = facts | {"spinney": spinney.__version__, "python": "2.7.1"}
    assert "runs Python 2.7.1" in clusters.worker_problems({"tcp://a:1": good})[0][0]


def test_a_worker_without_a_file(client, tmp_path):
    facts = clusters.worker_facts(client, str(tmp_path / "missing.txt"))
    problems = clusters.worker_problems(facts, "missing.txt")
    assert len(problems) == 2
    assert "cannot read missing.txt" in problems[0][0]


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    return [[f"w{int(x)}" for x in rng.zipf(1.3, 18) % 300] for _ in range(1500)]


@pytest.mark.parametrize(
    "how",
    [
        {"method": "hmm", "classes": 8, "passes": 1},
        {"method": "hmm", "classes": 8, "passes": 1, "em": "batch", "init": "random"},
        {"method": "brown", "classes": 8},
    ],
    ids=["online", "batch", "brown"],
)
def test_classes_have_the_same_bits(client, text, how, tmp_path):
    models = [spinney.classes.fit(text, threads=threads, **how) for threads in (1, 2)]
    with spinney.on(client):
        models.append(spinney.classes.fit(text, **how))
    assert same_model(models[0], models[1], tmp_path)
    assert same_model(models[0], models[2], tmp_path)


def test_taggers_have_the_same_bits(client, text, tmp_path, monkeypatch):
    monkeypatch.setattr("spinney.tagging.loss.AWAY", 0)
    patterns = tmp_path / "patterns.txt"
    patterns.write_text("U:%x[0,0]\nU1:%x[-1,0]\nB\n")
    sentences, labels = text[:200], [[word[-1] for word in sentence] for sentence in text[:200]]
    for penalty in ("l2", "elasticnet"):
        how = {"patterns": str(patterns), "penalty": penalty, "lam": 0.1, "max_iter": 8}
        data = [[*zip(s, y)] for s, y in zip(sentences, labels)]
        path = tmp_path / "train.txt"
        path.write_text("\n".join("".join(f"{w} {t}\n" for w, t in sentence) for sentence in data))
        models = [spinney.tagging.fit(str(path), threads=threads, **how) for threads in (1, 2)]
        with spinney.on(client):
            models.append(spinney.tagging.fit(str(path), **how))
        assert same_model(models[0], models[1], tmp_path)
        assert same_model(models[0], models[2], tmp_path)


@pytest.mark.parametrize(
    "how", [{"order": 3}, {"order": 3, "memory": "100K"}, {"order": 2, "method": "ad"}], ids=str
)
def test_language_models_have_the_same_bits(client, text, how, tmp_path, monkeypatch):
    monkeypatch.setattr("spinney.lm.runs._AWAY", 5000)
    here = spinney.lm.fit(text, **how)
    with spinney.on(client):
        there = spinney.lm.fit(text, **how)
    assert same_model(here, there, tmp_path)


@pytest.mark.parametrize("method", ["pmi", "cca"])
def test_vectors_have_the_same_bits(client, text, method, tmp_path):
    models = [spinney.embed.fit(text, method=method, dimensions=5, threads=threads) for threads in (1, 2)]
    with spinney.on(client):
        models.append(spinney.embed.fit(text, method=method, dimensions=5, threads=2))
    assert same_model(models[0], models[1], tmp_path)
    assert same_model(models[0], models[2], tmp_path)


def test_folds_and_grids_have_the_same_bits(client):
    from spinney.classify import LinearClassifier, LinearClassifierCV, tune

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(300) > 0).astype(int)
    space = {"penalty": ["l1", "l2"], "lam": [0.1, 1.0, 10.0]}
    found = []
    for where in (None, client):
        with spinney.on(where):
            folds = LinearClassifierCV(cv=4).fit(X, y)
            tuned = tune(LinearClassifier(), space, X[:200], y[:200], X[200:], y[200:])
        found.append((folds.coef_, folds.lam_, tuned.best_params, tuned.estimator.coef_, len(tuned.trials)))
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_text_is_read_where_it_lies(client, text, tmp_path, monkeypatch):
    from spinney.corpus import ReadReport, ranges
    from spinney.corpus.reading import read_text

    monkeypatch.setattr(ranges, "RANGE", 1000)
    lines = [" ".join(sentence) for sentence in text[:300]]
    (tmp_path / "a.txt").write_text(
        "\ufeff" + "\r\n".join(lines[:120]), newline=""
    )  # no end of line at the end
    (tmp_path / "b.txt").write_text("\n\n".join(lines[120:]) + "\n")
    how = {"method": "brown", "classes": 5, "min_count": 2}
    here = spinney.classes.fit([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], **how)
    with spinney.on(client):
        there = spinney.classes.fit(str(tmp_path / "*.txt"), **how)
    there.facts["train"] = here.facts["train"]
    assert same_model(here, there, tmp_path)
    (tmp_path / "c.txt").write_bytes(b"a b\n" * 700 + b"\xff\n" + b"c\n")
    with pytest.raises(InputError, match=r"c.txt:701: not UTF-8"), spinney.on(client):
        read_text(str(tmp_path / "c.txt"))
    reports = []
    for where in (None, client):
        reports.append(ReadReport())
        with spinney.on(where):
            read_text(str(tmp_path / "c.txt"), on_error="skip", report=reports[-1])
    assert reports[0] == reports[1]
    with pytest.raises(InputError, match="no such file"), spinney.on(client):
        read_text(str(tmp_path / "none.txt"))


def test_addresses_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    for i in range(3):
        with fsspec.open(f"memory://texts/{i}.txt.gz", "wt", compression="gzip") as file:
            file.write("a rose is a rose\n" * (i + 1))
    model = spinney.lm.fit("memory://texts/*.txt.gz", order=2)
    assert model.facts["sentences"] == 6
    with pytest.raises(InputError, match=r"memory://texts/none\.txt: no such file"):
        spinney.lm.fit("memory://texts/none.txt", order=2)
    with pytest.raises(InputError, match="Protocol not known"):
        spinney.lm.fit("nowhere://a/b.txt", order=2)


def test_the_command_line(client, text, tmp_path, capsys, monkeypatch):
    from spinney.cli.main import run

    path, model = tmp_path / "text.txt", tmp_path / "m.spinney"
    path.write_text("\n".join(" ".join(sentence) for sentence in text[:200]))
    address = client.scheduler.address
    fit = [
        "classes",
        "fit",
        str(path),
        "--method",
        "brown",
        "--classes",
        "4",
        "--model",
        str(model),
        "--json",
    ]
    assert run([*fit, "--cluster", address]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["classes"] == 4
    assert said.err.count("cluster: 2 workers with 2 threads; dashboard") == 1
    assert b'\\"cluster\\"' not in model.read_bytes()
    monkeypatch.setenv("SPINNEY_CLUSTER", address)
    assert run(fit) == 0
    assert "cluster: 2 workers" in capsys.readouterr().err
    monkeypatch.delenv("SPINNEY_CLUSTER")
    assert run([*fit, "--cluster", "lokal"]) == 2
    assert "no cluster has the address lokal" in capsys.readouterr().err


def test_doctor_of_a_cluster(client, tmp_path, capsys):
    from spinney.cli.main import run

    address = client.scheduler.address
    assert run(["doctor", "--cluster", address, "--path", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["cluster"]
    assert {worker["spinney"] for worker in found["workers"].values()} == {spinney.__version__}
    assert all(worker["path"] for worker in found["workers"].values())
    assert run(["doctor", "--cluster", address, "--path", str(tmp_path / "none"), "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert sum("cannot read" in problem["what"] for problem in problems) == 2
    assert run(["doctor", "--path", str(tmp_path)]) == 2
    assert "give --cluster" in capsys.readouterr().err
