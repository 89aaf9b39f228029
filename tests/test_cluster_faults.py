"""What happens when a part of a cluster fails: the same bits, or one line that says what to do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from cluster_processes import certificates, process, scheduler, until, without_spinney, workers
from cluster_tasks import of_kept, slow, suicide, uneven
from same_models import same_model

import spinney
from spinney import cluster as clusters
from spinney.cli.main import run
from spinney.errors import InputError, OptionError
from spinney.parallel import Kept, Pure, Visit, in_order, map_reduce
from spinney.shared_files import shared_folder

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A scheduler with two workers, each a process of its own."""
    with scheduler(tmp_path_factory.mktemp("scheduler")) as (_, made), workers(made, n=2):
        yield made


@pytest.fixture(scope="module")
def client(address):
    with distributed.Client(address, set_as_default=False) as made:
        made.wait_for_workers(2, timeout=60)
        yield made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(f"w{x}" for x in rng.zipf(1.3, 15) % 200) for _ in range(300)) + "\n")
    return path


def fit_of(corpus: Path, folder: Path, name: str, *options: str) -> list[str]:
    """A fit of many passes, which takes a second or more on a cluster."""
    fit = [
        "classes",
        "fit",
        str(corpus),
        "--method",
        "hmm",
        "--classes",
        "4",
        "--em",
        "batch",
        "--init",
        "random",
    ]
    return [*fit, "--passes", "25", "--seed", "3", "--model", str(folder / f"{name}.spinney"), *options]


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    """The model of a fit that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run([*fit_of(corpus, folder, "model"), "--quiet"]) == 0
    return spinney.load(folder / "model.spinney")


def test_tasks_of_dask_have_the_same_bits(client):
    """The other tests of clusters call the workers of one machine directly; this is how a network is used."""
    kept = [Kept(np.arange(100_000.0) + i) for i in range(5)]
    expected = map_reduce(Pure(uneven, 3.0), range(19), threads=2)
    with spinney.on(client) as engine:
        assert engine.lines is None
        np.testing.assert_array_equal(map_reduce(Pure(uneven, 3.0), range(19), threads=1), expected)
        for factor in (2.0, 3.0):
            visits = (Visit(one, np.full(100_000, factor)) for one in kept)
            for i, found in enumerate(in_order(Pure(of_kept), visits, 1)):
                np.testing.assert_array_equal(found, (np.arange(100_000.0) + i) * factor)


def test_workers_of_a_network_die(address):
    """Without shared memory, as if they were on other machines; nobody starts them again."""
    expected = map_reduce(Pure(slow), range(24), threads=2)
    kept = [Kept(np.full(1000, float(i))) for i in range(16)]
    with (
        distributed.Client(address, set_as_default=False) as client,
        workers(address, "--name", "victim") as (own,),
    ):
        assert until(lambda: len(client.nthreads()) == 3)
        with pytest.MonkeyPatch.context() as patch, spinney.on(None):
            patch.setattr(clusters.Cluster, "_shared_folder", lambda _: None)
            with spinney.on(client):
                assert map_reduce(Pure(np.sum), kept, threads=1) == 120_000
                threading.Timer(0.3, own.kill).start()
                np.testing.assert_array_equal(map_reduce(Pure(slow), range(24), threads=2), expected)
                assert own.wait(30) == -signal.SIGKILL
                assert map_reduce(Pure(np.sum), kept, threads=1) == 120_000  # a part of them was lost


def test_the_scheduler_is_lost(corpus, undisturbed, address, tmp_path, capsys):
    half, model = tmp_path / "half.spinney", tmp_path / "model.spinney"
    with scheduler(tmp_path) as (own, lost), workers(lost):
        killer = threading.Thread(target=lambda: until(half.is_file) and own.kill(), daemon=True)
        killer.start()
        assert run(fit_of(corpus, tmp_path, "model", "--checkpoint", str(half), "--cluster", lost)) == 2
        last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith(f"spinney: the scheduler at {lost} is gone: ")
    assert "checkpoint" in last
    assert not model.exists()
    saved = half.read_bytes()
    for where in ([], ["--cluster", address]):
        half.write_bytes(saved)
        assert (
            run(fit_of(corpus, tmp_path, "model", "--checkpoint", str(half), "--resume", "--quiet", *where))
            == 0
        )
        assert same_model(spinney.load(model), undisturbed, tmp_path)


def test_the_driver_is_lost(corpus, undisturbed, address, client, tmp_path):
    half = tmp_path / "half.spinney"
    fit = fit_of(corpus, tmp_path, "model", "--checkpoint", str(half), "--cluster", address)
    with process("-m", "spinney", *fit) as driver:
        assert until(half.is_file)
        driver.kill()
        driver.wait()
    assert until(lambda: client.run_on_scheduler(_tasks) == 0)  # nothing of it is left there
    assert until(lambda: not any(client.run(_data).values()))
    assert run([*fit, "--resume", "--quiet"]) == 0
    assert same_model(spinney.load(tmp_path / "model.spinney"), undisturbed, tmp_path)


def _tasks(dask_scheduler) -> int:
    return len(dask_scheduler.tasks)


def _data(dask_worker) -> int:
    return len(dask_worker.data)


def test_the_driver_of_local_processes_is_lost(corpus, undisturbed, tmp_path):
    import psutil

    half = tmp_path / "half.spinney"
    fit = fit_of(corpus, tmp_path, "model", "--checkpoint", str(half))
    with process("-m", "spinney", *fit, "--cluster", "local:1") as driver:
        assert until(half.is_file)
        children = psutil.Process(driver.pid).children(recursive=True)
        folders = _shared_folders_of(driver.pid)
        driver.kill()
        driver.wait()
    assert len(children) >= 1
    assert len(folders) == 2
    assert psutil.wait_procs(children, timeout=30)[1] == []
    with shared_folder():  # as the next driver would make one
        assert not any(map(os.path.exists, folders))
    assert run([*fit, "--resume", "--quiet"]) == 0
    assert same_model(spinney.load(tmp_path / "model.spinney"), undisturbed, tmp_path)


def _shared_folders_of(pid: int) -> list[str]:
    """The folders whose lock a process holds."""
    import psutil

    opened = [file.path for file in psutil.Process(pid).open_files()]
    return [os.path.dirname(path) for path in opened if "spinney-shared-" in path and path.endswith("/lock")]


def test_a_worker_without_the_package(tmp_path, capsys):
    version = spinney.__version__
    with scheduler(tmp_path) as (_, made):
        for found, problem in ((None, "has no spinney"), ("9.9.9", f"has spinney 9.9.9, not {version}")):
            folder = tmp_path / str(found)
            folder.mkdir()
            with workers(made, python=("-S",), environment=without_spinney(folder, found)):
                there = spinney.on(made)
                with (
                    pytest.raises(OptionError, match=r"^the worker tcp://.* on .*: pip install") as error,
                    there,
                ):
                    pass
                assert f"{problem}: pip install spinney=={version} there" in str(error.value)
                assert run(["doctor", "--cluster", made, "--path", str(tmp_path), "--json"]) == 1
                told = json.loads(capsys.readouterr().out)["problems"]
                assert any(problem in one["what"] for one in told)


def test_a_scheduler_without_the_package(tmp_path):
    with (
        scheduler(tmp_path, python=("-S",), environment=without_spinney(tmp_path)) as (_, made),
        workers(made),
    ):
        there = spinney.on(made)
        with (
            pytest.raises(
                OptionError, match=r"^the scheduler at tcp://.* has no spinney: pip install spinney=="
            ),
            there,
        ):
            pass


def test_a_worker_without_access_to_a_file(client, corpus, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://here/only.txt", "wb") as file:  # of this process alone
        file.write(corpus.read_bytes())
    message = r"^memory://here/only.txt: no such file, says the worker .* \(put it where"
    with spinney.on(client), pytest.raises(InputError, match=message):
        spinney.classes.fit("memory://here/only.txt", method="brown", classes=4)


def test_names_of_files_are_those_of_the_driver(client, corpus, monkeypatch, tmp_path):
    monkeypatch.chdir(corpus.parent)
    here = spinney.classes.fit("text.txt", method="brown", classes=4)
    with spinney.on(client):  # whose workers run in another folder
        assert same_model(here, spinney.classes.fit("text.txt", method="brown", classes=4), tmp_path)


@pytest.mark.parametrize("where", ["lines", "dask"])
def test_a_task_that_a_worker_cannot_open(client, where, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("class Shard:\n    pass\n\n\ndef identity(x):\n    return x\n")
    with clusters.local_client(1) as local:  # before the module is there to be found
        monkeypatch.syspath_prepend(tmp_path)
        import only_here

        with spinney.on(local if where == "lines" else client):
            for function, shard in ((only_here.identity, 1), (len, [only_here.Shard()])):
                with pytest.raises(
                    OptionError, match=r"^a worker cannot run the task: .*only_here.*: install"
                ):
                    list(in_order(Pure(function), [shard], 1))
            large = Kept([only_here.Shard(), np.ones(10_000)])
            with pytest.raises(OptionError, match="a worker cannot run the task"):
                list(in_order(Pure(len), [large], 1))
            assert list(in_order(Pure(len), [[1, 2]], 1)) == [2]  # it still works


def test_a_task_that_ends_every_worker(monkeypatch):
    monkeypatch.setattr("spinney.cluster.lines.ATTEMPTS", 2)
    message = r"^a task ended its worker .* times: .* give workers more memory"
    with clusters.local_client(1) as client, spinney.on(client), pytest.raises(OptionError, match=message):
        list(in_order(Pure(suicide), [0], 1))


LIMIT, SHARD = 400 << 20, 32 << 20


@pytest.mark.parametrize("where", ["lines", "dask"])
def test_data_of_a_worker_spill(where):
    shards = [Kept(np.full(SHARD // 8, float(i))) for i in range(LIMIT // SHARD + 2)]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(
            cluster if where == "lines" else cluster.scheduler_address, set_as_default=False
        ) as client,
        spinney.on(client) as engine,
    ):
        assert (engine.lines is None) == (where == "dask")
        before = client.run(os.getpid)
        for _ in range(2):
            assert [*in_order(Pure(np.sum), shards, 1)] == [i * SHARD / 8.0 for i in range(len(shards))]
        assert client.run(os.getpid) == before  # it was not ended by its nanny


def test_tls(corpus, tmp_path, capsys):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    tls, how = certificates(tmp_path), ("--protocol", "tls")
    fit = ["classes", "fit", str(corpus), "--method", "brown", "--classes", "4", "--quiet", "--model"]
    with scheduler(tmp_path, *how, environment=tls) as (_, made), workers(made, *how, environment=tls):
        assert made.startswith("tls://")
        with process(
            "-m", "spinney", *fit, str(tmp_path / "there.spinney"), "--cluster", made, environment=tls
        ) as there:
            assert there.wait(180) == 0
        assert run([*fit, str(tmp_path / "here.spinney")]) == 0
        models = [spinney.load(tmp_path / f"{name}.spinney") for name in ("here", "there")]
        assert same_model(*models, tmp_path)
        capsys.readouterr()
        assert run([*fit, str(tmp_path / "none.spinney"), "--cluster", made]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(
            f"spinney: {made} needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE and"
        )
