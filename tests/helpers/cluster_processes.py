"""Schedulers and workers in processes of their own, which tests may kill; environments that lack something."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HELPERS = str(Path(__file__).parent)


def until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Wait for something to be so; whether it was, in the end."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def process(*command: str, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen]:
    """A process of Python that is killed in the end, if it still runs."""
    path = os.pathsep.join(filter(None, [HELPERS, os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, "PYTHONPATH": path, **(environment or {})}
    started = subprocess.Popen(
        [sys.executable, *command], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.send_signal(signal.SIGKILL)
            started.communicate()


@contextmanager
def scheduler(
    folder: Path, *options: str, python: tuple[str, ...] = (), **how
) -> Iterator[tuple[subprocess.Popen, str]]:
    """A ``dask scheduler``, and its address."""
    file = folder / f"scheduler-{time.monotonic_ns()}.json"
    common = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with process(*python, "-m", "distributed.cli.dask_scheduler", *common, *options, **how) as started:
        assert until(lambda: file.is_file() and file.read_text().endswith("}")), started.stderr.read()
        yield started, json.loads(file.read_text())["address"]


@contextmanager
def workers(address: str, *options: str, n: int = 1, python: tuple[str, ...] = (), **how) -> Iterator[list]:
    """``dask worker`` processes with one thread each and without nannies."""
    command = (*python, "-m", "distributed.cli.dask_worker", address)
    common = ("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
    with ExitStack() as stack:
        yield [stack.enter_context(process(*command, *common, *options, **how)) for _ in range(n)]


def without_spinney(folder: Path, version: str | None = None) -> dict[str, str]:
    """Variables of an environment for ``python -S`` that has all but Spinney, or says that it has another version."""
    import distributed

    packages = folder / "packages"
    packages.mkdir()
    for entry in Path(distributed.__file__).parent.parent.iterdir():
        if "spinney" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    if version is not None:
        (packages / f"spinney-{version}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: spinney\nVersion: {version}\n"
        (packages / f"spinney-{version}.dist-info" / "METADATA").write_text(metadata)
    return {"PYTHONPATH": str(packages)}


def certificates(folder: Path) -> dict[str, str]:
    """Variables that make Dask use TLS, with a certificate that an authority of its own has signed."""

    def made(*command: str) -> None:
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    made(*new, "-x509", "-keyout", "ca-key.pem", "-out", "ca.pem", "-subj", "/CN=authority")
    made("req", *new[1:4], "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=cluster")
    signed = ("-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "2", "-out", "cert.pem")
    made("x509", "-req", "-in", "request.pem", *signed)
    found = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(folder / "ca.pem")}
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        found[f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT"] = str(folder / "cert.pem")
        found[f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY"] = str(folder / "key.pem")
    return found
