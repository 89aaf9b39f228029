"""What workers say of themselves, and what is wrong with them."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING, Any

import spinney
from spinney.errors import OptionError

if TYPE_CHECKING:
    from distributed import Client

RETURN = 300.0  # seconds in which a worker that was lost should have come back, on a busy machine, too
_PACKAGES = ("spinney", "distributed", "numpy", "numba")


def worker_facts(client: Client, path: str | None = None) -> dict[str, dict[str, Any]]:
    """For each worker, by its address: versions, threads, memory, and whether it can read a path.

    Only functions of Python's own library are sent, since a worker may lack this package.
    """
    asked: dict[str, tuple[Any, ...]] = {
        "host": (platform.node,),
        "python": (platform.python_version,),
        "pid": (os.getpid,),
        **{name: (metadata.version, name) for name in _PACKAGES},
    }
    if path is not None and "://" not in path:
        asked["path"] = (os.access, os.path.abspath(path), os.R_OK)
    answers = {name: client.run(*call, on_error="return") for name, call in asked.items()}
    try:
        known = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:  # older versions always tell of all workers
        known = client.scheduler_info()["workers"]
    found = {}
    for address in answers["host"]:
        facts: dict[str, Any] = {"path": None}
        for name, of_workers in answers.items():
            answer = of_workers.get(address)
            if isinstance(answer, metadata.PackageNotFoundError):
                answer = None
            elif isinstance(answer, BaseException):
                facts["error"] = first_line(answer)
            facts[name] = answer
        about = known.get(address, {})
        facts["name"] = str(about.get("name", address))
        facts["threads"] = int(about.get("nthreads", 1))
        facts["memory"] = int(about.get("memory_limit") or 0)
        facts["used"] = int(about.get("metrics", {}).get("memory", 0) or 0)
        found[address] = facts
    return found


def worker_problems(facts: dict[str, dict[str, Any]], path: str | None = None) -> list[tuple[str, str]]:
    """What is wrong with workers, and the remedy.

    Examples
    --------
    >>> worker_problems({"tcp://a:1": {"spinney": None, "python": "3.12.1", "path": None}})[0][0]
    'the worker tcp://a:1 has no spinney'
    """
    problems = []
    ours = platform.python_version_tuple()[:2]
    for address, worker in facts.items():
        who = f"the worker {address}" + (f" on {worker['host']}" if worker.get("host") else "")
        if "error" in worker:
            problems.append((f"{who} does not answer: {worker['error']}", "restart it"))
        elif worker["spinney"] is None:
            problems.append((f"{who} has no spinney", f"pip install spinney=={spinney.__version__} there"))
        elif worker["spinney"] != spinney.__version__:
            remedy = f"pip install spinney=={spinney.__version__} there"
            problems.append((f"{who} has spinney {worker['spinney']}, not {spinney.__version__}", remedy))
        elif tuple(worker["python"].split(".")[:2]) != ours:
            remedy = f"start it with Python {'.'.join(ours)}"
            problems.append((f"{who} runs Python {worker['python']}, not {'.'.join(ours)}", remedy))
        elif path is not None and worker.get("path") is False:
            problems.append(
                (f"{who} cannot read {path}", "put it where all workers find it, by the same name")
            )
    return problems


def scheduler_problems(client: Client) -> list[tuple[str, str]]:
    """What is wrong with the scheduler: it reads tasks, too, and so it needs the package."""
    try:
        version = client.run_on_scheduler(metadata.version, "spinney")
    except metadata.PackageNotFoundError:
        version = None
    if version == spinney.__version__:
        return []
    what = "has no spinney" if version is None else f"has spinney {version}, not {spinney.__version__}"
    return [
        (
            f"the scheduler at {client.scheduler.address} {what}",
            f"pip install spinney=={spinney.__version__} there",
        )
    ]


def checked_workers(client: Client) -> dict[str, dict[str, Any]]:
    """What workers say of themselves; one that cannot work is an error that names it."""
    wait_for_workers(client)
    facts = worker_facts(client)
    for what, remedy in [*scheduler_problems(client), *worker_problems(facts)]:
        raise OptionError(f"{what}: {remedy}")
    return facts


def wait_for_workers(client: Client, seconds: float = 60.0) -> None:
    """Wait a while for a worker: one that was killed is started again by its nanny."""
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError:
        raise OptionError("the cluster has no workers any more: start some, and run again") from None


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
