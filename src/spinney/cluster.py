"""A Dask cluster as the place where pure functions run (extra ``dask``).

:func:`on` makes a cluster the engine of :mod:`spinney.parallel`: the calls of :class:`~spinney.parallel.Pure` functions
become tasks of its workers. Three rules keep the bits and the memory the same as on threads:

- Results are asked for in the order of the shards, and only a few tasks are under way at a time.
- What is large goes to a worker directly, not through the scheduler, and within one machine by shared memory; what is
  :class:`~spinney.parallel.Kept` goes once.
- A task that a worker took with it when it died is sent again, with its data. Tasks are pure: the answer is the same.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import os
import pickle
import platform
import re
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import count, islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import spinney
from spinney.errors import OptionError, SettingError, SpinneyError
from spinney.parallel import (
    FAN_IN,
    Kept,
    Pure,
    alone,
    arguments_of,
    elsewhere,
    is_alone,
    running_on,
)
from spinney.progress import log
from spinney.settings import Settings
from spinney.shared_files import Packed, packed, shared_folder

if TYPE_CHECKING:
    from distributed import Client, Future

P = ParamSpec("P")
R = TypeVar("R")

#: The variable that names a cluster where no setting does.
VARIABLE = "SPINNEY_CLUSTER"
_LOCAL = re.compile(r"local(?::(\d{1,4}))?")
#: Bytes from which on an argument goes to a worker by itself: of a shard, and of what many calls share. Below, it goes
#: with the task, which takes less time, and which the scheduler can send again without asking.
_LARGE, _LARGE_SHARED = 1 << 22, 1 << 18
_MAPPED = 1 << 17  # bytes from which on a value goes through shared memory, if there is any
_ATTEMPTS, _PAUSE = (
    8,
    0.05,
)  # how often a task is sent before it is given up, and seconds before the second time
_TIMEOUT = "10s"  # for the first answer of a scheduler
_NEEDS = "a cluster needs the package distributed: pip install 'spinney[dask]'"
_numbers = count()


@contextmanager
def on(cluster: Any) -> Iterator[Cluster | None]:
    """Run what can run elsewhere on a cluster, inside the block.

    Parameters
    ----------
    cluster
        A ``distributed.Client``; the address of a scheduler, such as ``"tcp://host:8786"``; ``"local"`` or
        ``"local:4"`` for processes on this machine with one thread each, which end with the block; or ``None`` for the
        threads of this process. A script that asks for local processes needs ``if __name__ == "__main__":``, since
        each of them imports it.

    Examples
    --------
    >>> import spinney
    >>> text = [["the", "dog", "barks"], ["the", "cat", "sleeps"]] * 10
    >>> with spinney.on(None):  # or "local:2", or "tcp://host:8786"
    ...     model = spinney.classes.fit(text, method="brown", classes=2)
    """
    if cluster is None:
        with running_on(None):
            yield None
        return
    with ExitStack() as stack:
        client = stack.enter_context(_client(cluster))
        engine = stack.enter_context(closing(Cluster(client)))
        log.info("%s", engine.described())
        stack.enter_context(running_on(engine))
        yield engine


def check_address(address: str) -> None:
    """Refuse what cannot be a cluster, before anything is read.

    Examples
    --------
    >>> check_address("local:2")
    >>> check_address("lokal")
    Traceback (most recent call last):
    spinney.errors.OptionError: no cluster has the address lokal: give local, local:4, or a scheduler as tcp://host:8786
    """
    if not _LOCAL.fullmatch(address) and not re.fullmatch(r"[a-z]+://.+|[\w.-]+:\d+", address):
        raise OptionError(
            f"no cluster has the address {address}: give local, local:4, or a scheduler as tcp://host:8786"
        )


@contextmanager
def _client(cluster: Any) -> Iterator[Client]:
    """A client of what was given; what is started here ends with the block."""
    try:
        import distributed
    except ImportError:
        raise OptionError(_NEEDS) from None
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise OptionError(f"a cluster is a distributed.Client or an address, not {type(cluster).__name__}")
    check_address(cluster)
    local = _LOCAL.fullmatch(cluster)
    if local is not None:
        with _local(int(local[1]) if local[1] else None) as client:
            yield client
        return
    try:
        client = distributed.Client(cluster, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise OptionError(f"no scheduler answers at {cluster}: {_first_line(error)}") from None
    with closing(client):
        yield client


@contextmanager
def _local(n: int | None) -> Iterator[Client]:
    """Processes on this machine, one thread each, and a client of them."""
    import dask
    import distributed

    from spinney.parallel import default_threads

    settings = {
        # A worker that is killed has done nothing wrong; and it starts before a task has waited for long.
        "distributed.scheduler.allowed-failures": 20,
        "distributed.comm.retry.count": 3,
        # Tasks are coarse and placed evenly; moving their data would cost more than waiting.
        "distributed.scheduler.work-stealing-interval": "1s",
        # What only a dashboard shows: samples of every stack, a hundred times a second.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "2s",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=n or default_threads(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@dataclass
class Traffic:
    """What went to the workers and came back, in bytes of arrays, and in how many calls."""

    calls: int = 0
    sent: int = 0
    received: int = 0


class Cluster:
    """The workers of a Dask scheduler as an :class:`~spinney.parallel.Engine`."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.traffic = Traffic()
        self._kept: dict[str, Future] = {}
        self._loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.utils_comm")]
        for logger in self._loggers:  # it tells of workers that die, which is our business
            logger.setLevel(logging.CRITICAL)
        self.workers = checked_workers(client)
        self.direct = self._reaches_workers()
        self._stack = ExitStack()
        self.folder = self._shared_folder()

    def close(self) -> None:
        """Forget what was kept with the workers."""
        self._kept.clear()
        self._stack.close()

    def _shared_folder(self) -> str | None:
        """A folder that all workers see, if they are on this machine."""
        if {worker["host"] for worker in self.workers.values()} != {platform.node()}:
            return None
        folder = self._stack.enter_context(shared_folder())
        seen = self.client.run(os.path.isdir, folder, on_error="return")
        return folder if all(answer is True for answer in seen.values()) else None

    def described(self) -> str:
        """One line about the cluster, with the address of its dashboard."""
        threads = sum(worker["threads"] for worker in self.workers.values())
        dashboard = getattr(self.client, "dashboard_link", "") or "none"
        return (
            f"cluster: {len(self.workers)} workers with {threads} threads; "
            f"dashboard (if bokeh is installed): {dashboard}"
        )

    # -- the engine -----------------------------------------------------------------------------------

    def in_order(self, function: Pure[Any], shards: Iterable[Any]) -> Generator[Any, None, None]:
        """The results in the order of the shards, computed a little ahead of the reader."""
        return self._each(function, iter(shards), None)

    def sums(
        self, function: Pure[Any], groups: Iterable[list[Any]], reduce: Callable[[Any, Any], Any]
    ) -> Generator[Any, None, None]:
        """The sum of each group, taken by a worker."""
        return self._each(function, iter(groups), reduce, FAN_IN)

    def _each(
        self, function: Pure[Any], items: Iterator[Any], reduce: Any, size: int = 1
    ) -> Generator[Any, None, None]:
        # Two tasks for each thread, so that none waits for the next; a result waits for those before it.
        room = max(2, -(-2 * self._threads() // size) + (size > 1))
        shared = _Shared(self, function)
        waiting: deque[_Call] = deque()

        def start(n: int) -> None:
            new = [_Call(self, shared, item, reduce) for item in islice(items, n)]
            waiting.extend(new)
            self.place([argument for call in new for argument in call.own()])
            for call in new:
                call.send()
            self.traffic.calls += len(new)

        try:
            start(room)
            while waiting:
                value = waiting[0].result()
                waiting.popleft()
                start(1)
                yield value
        finally:
            with suppress(Exception):  # the scheduler may be gone, which another error says better
                for call in waiting:
                    call.drop()
            for argument in shared.arguments:
                argument.remove()

    def _threads(self) -> int:
        """The threads of all workers that are there now."""
        return sum(self.client.nthreads().values()) or 1

    # -- what is with the workers ---------------------------------------------------------------------

    def place(self, arguments: Sequence[_Argument], again: bool = False) -> None:
        """Send large arguments to workers, one after the other, all in one message."""
        away = [argument for argument in arguments if argument.travels and (again or argument.future is None)]
        if again and away:
            sound = [one.future for one in away if one.future is not None and one.future.status == "finished"]
            held = self.client.who_has(sound) if sound else {}
            away = [one for one in away if one.future is None or not held.get(one.future.key)]
            for one in away:
                one.forget()
        away = [one for one in away if not one.found()]
        if not away:
            return
        with _explained(self.client):
            futures = self.client.scatter([one.value for one in away], direct=self.direct or None, hash=False)
        for one, future in zip(away, futures):
            one.future = future
            if one.kept is not None:
                self.traffic.sent += _size(one.value, sys.maxsize)
                self._kept[one.kept.key] = future
                weakref.finalize(one.kept, self._kept.pop, one.kept.key, None)

    def kept(self, key: str) -> Future | None:
        """Where something is that was to stay with the workers."""
        return self._kept.get(key)

    def forget(self, key: str) -> None:
        """Something that was to stay is no longer there."""
        self._kept.pop(key, None)

    def _reaches_workers(self) -> bool:
        """Whether this process can talk to the workers, and need not go through the scheduler."""
        from distributed.comm import connect

        async def reached(address: str) -> bool:
            comm = await connect(address, timeout=2, **self.client.connection_args)
            await comm.close()
            return True

        with suppress(Exception):
            return bool(self.client.sync(reached, next(iter(self.workers))))
        return False


class _Argument:
    """A shard or a shared argument: its value and, if it travels by itself, where it is."""

    def __init__(self, cluster: Cluster, value: Any, large: int = _LARGE) -> None:
        self.cluster = cluster
        self.kept = value if isinstance(value, Kept) else None
        self.value = value.value if isinstance(value, Kept) else value
        self.file: Packed | None = None
        if self.kept is None and cluster.folder is not None and _size(self.value, _MAPPED) >= _MAPPED:
            self.file = packed(self.value, cluster.folder)
        if self.kept is None:
            cluster.traffic.sent += _size(self.value, sys.maxsize)
        self.travels = self.kept is not None or (self.file is None and _size(self.value, large) >= large)
        self.future: Future | None = None

    def found(self) -> bool:
        """Whether it is with a worker from earlier on."""
        if self.kept is not None and self.future is None:
            self.future = self.cluster.kept(self.kept.key)
        return self.future is not None

    def forget(self) -> None:
        """It is no longer there."""
        self.future = None
        if self.kept is not None:
            self.cluster.forget(self.kept.key)

    def sent(self) -> Any:
        """What stands for it in a task."""
        return self.future if self.travels else self.value if self.file is None else self.file

    def remove(self) -> None:
        """Nobody needs it any more."""
        if self.file is not None:
            self.file.remove()


class _Shared:
    """A pure function with the arguments that all its calls share."""

    def __init__(self, cluster: Cluster, function: Pure[Any]) -> None:
        self.function = function.function
        self.arguments = [_Argument(cluster, value, _LARGE_SHARED) for value in function.shared]
        cluster.place(self.arguments)


class _Call:
    """One call under way, which is made again if a worker takes it with it."""

    def __init__(self, cluster: Cluster, shared: _Shared, shard: Any, reduce: Any = None) -> None:
        self.cluster, self.shared, self.reduce = cluster, shared, reduce
        shards = [shard] if reduce is None else shard
        self.calls = [[_Argument(cluster, value) for value in arguments_of(one)] for one in shards]
        self.future: Any = None

    def own(self) -> list[_Argument]:
        """Its own arguments, not those that it shares with others."""
        return [argument for call in self.calls for argument in call]

    def send(self) -> None:
        """Submit the tasks: one for each shard and, where there are several, one for their sum."""
        folder = self.cluster.folder
        if self.reduce is None or len(self.calls) == 1:
            self.future = self._submitted(self.calls[0], folder)
            return
        leaves = [self._submitted(call, None) for call in self.calls]
        self.future = self.cluster.client.submit(
            fold, folder, self.reduce, *leaves, key=f"sum-{os.getpid()}-{next(_numbers)}", pure=False
        )

    def _submitted(self, own: list[_Argument], folder: str | None) -> Future:
        name = getattr(self.shared.function, "__name__", "call").strip("_<>")
        return self.cluster.client.submit(
            run, folder, self.shared.function, *(one.sent() for one in (*self.shared.arguments, *own)),
            key=f"{name}-{os.getpid()}-{next(_numbers)}", pure=False,
        )  # fmt: skip

    def result(self) -> Any:
        """What came of it; if it was lost, it is sent again."""
        client = self.cluster.client
        for attempt in range(_ATTEMPTS):
            with _explained(client, last=attempt + 1 == _ATTEMPTS) as lost:
                found = client.gather(self.future, direct=self.cluster.direct or None)
            if not lost:
                break
            time.sleep(_PAUSE * 2**attempt)  # the scheduler may learn of a death later than we do
            with _explained(client):
                _wait_for_workers(client)
                self.cluster.place([*self.shared.arguments, *self.own()], again=True)
                self.send()
        self.future = None
        for argument in self.own():
            argument.remove()
        if isinstance(found, Packed):
            self.cluster.traffic.received += sum(n for _, n in found.places)
            value = found.value()
            found.remove()
            return value
        self.cluster.traffic.received += _size(found, sys.maxsize)
        return found

    def drop(self) -> None:
        """Nobody wants it any more."""
        if self.future is not None:
            self.cluster.client.cancel([self.future], force=False)
        for argument in self.own():
            argument.remove()


def run(folder: str | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """A call, as a worker makes it: in its own thread alone, whatever the function would do here."""
    _one_blas_thread()
    with alone(), running_on(None):
        found = function(*(one.value() if isinstance(one, Packed) else one for one in arguments))
    return _by_file(found, folder)


_limited: dict[str, bool] = {}


def _one_blas_thread() -> None:
    """Keep matrix products of this worker on one thread from now on, as they are on one in the threads of a driver.

    To look for the libraries takes longer than many a task: it is done again only when one more may have come.
    """
    loaded = {
        name: name in sys.modules for name in ("numpy", "scipy.linalg", "scipy.sparse.linalg", "sklearn")
    }
    if loaded != _limited:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1, user_api="blas")
        _limited.update(loaded)


def fold(folder: str | None, reduce: Callable[[Any, Any], Any], *results: Any) -> Any:
    """The sum of results, from the left."""
    return _by_file(functools.reduce(reduce, results), folder)


def _by_file(found: Any, folder: str | None) -> Any:
    return packed(found, folder) if folder is not None and _size(found, _MAPPED) >= _MAPPED else found


def _size(value: Any, large: int = _LARGE) -> int:
    """About how many bytes a value has; counting stops where it is large for sure."""
    found, todo = 0, [value]
    while todo and found < large:
        one = todo.pop()
        if hasattr(one, "nbytes"):
            found += int(one.nbytes)
        elif isinstance(one, bytes | str):
            found += len(one)
        elif isinstance(one, list | tuple):
            todo += one[:1000]
        elif isinstance(one, dict):
            todo += one.values()
        elif hasattr(one, "__dict__"):
            todo += vars(one).values()
        else:
            found += 32
    return found


# -------------------------------------------------------------------------------------------------- errors


@contextmanager
def _explained(client: Client, last: bool = True) -> Iterator[list[Exception]]:
    """Turn what Dask raises into one line; what only a worker took with it is put into the list, unless it is the last.

    Errors of the user's input, which a task raises, go through as they are.
    """
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost: list[Exception] = []
    try:
        yield lost
    except SpinneyError:
        raise
    except (
        KilledWorker, CommClosedError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError,
    ) as error:  # fmt: skip
        if client.status != "running":
            remedy = "start it again, and go on from the checkpoint if the fit writes one"
            raise OptionError(f"the scheduler at {_address(client)} is gone: {remedy}") from None
        if last:
            what = f"a task ended its worker {_ATTEMPTS} times"
            raise OptionError(
                f"{what}: {_first_line(error)}: give workers more memory, or see their logs"
            ) from None
        lost.append(error if isinstance(error, Exception) else RuntimeError(str(error)))
    except (ImportError, AttributeError, pickle.UnpicklingError) as error:
        checked_workers(client)  # says which worker lacks what
        raise OptionError(f"a worker cannot run the task: {_first_line(error)}") from error


def _address(client: Client) -> str:
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", "its address"))


def _wait_for_workers(client: Client) -> None:
    """Wait a while for a worker: one that was killed is started again by its nanny."""
    try:
        client.wait_for_workers(1, timeout=60)
    except TimeoutError:
        raise OptionError("the cluster has no workers any more: start some, and run again") from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# ------------------------------------------------------------------------------------------------ workers

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
        asked["path"] = (os.access, path, os.R_OK)
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
                facts["error"] = _first_line(answer)
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


def checked_workers(client: Client) -> dict[str, dict[str, Any]]:
    """What workers say of themselves; one that cannot work is an error that names it."""
    _wait_for_workers(client)
    facts = worker_facts(client)
    for what, remedy in worker_problems(facts):
        raise OptionError(f"{what}: {remedy}")
    return facts


def reached(address: str, path: str | None = None) -> dict[str, Any]:
    """What ``spinney doctor`` tells of a cluster: its workers, their problems, and its dashboard."""
    with _client(address) as client:
        _wait_for_workers(client)
        facts = worker_facts(client, path)
        if path is not None and "://" in path:
            for worker, found in client.run(_reads, path, on_error="return").items():
                facts[worker]["path"] = found is True
        problems = worker_problems(facts, path)
        dashboard = getattr(client, "dashboard_link", None)
        return {"address": address, "dashboard": dashboard, "workers": facts, "problems": problems}


def _reads(path: str) -> bool:
    """Whether this process can read an address."""
    import fsspec

    with fsspec.open(path, "rb") as file:
        file.read(1)
    return True


def spread(recipe: Callable[P, R]) -> Callable[P, R]:
    """Let a recipe do its work where its setting ``cluster`` says, or the variable ``SPINNEY_CLUSTER``.

    The variable counts only where no cluster is active yet, and never inside a task of one.
    """

    @functools.wraps(recipe)
    def placed(*data: P.args, **given: P.kwargs) -> R:
        settings = next((one for one in (*data, given.get("settings")) if isinstance(one, Settings)), None)
        named: Any = given.get("cluster") if settings is None else getattr(settings, "cluster", None)
        if named is not None:
            if not isinstance(named, str):
                raise SettingError("{cluster} must be text, not {value}", value=type(named).__name__)
        elif not (elsewhere() or is_alone()):
            named = os.environ.get(VARIABLE) or None
        if named is None:
            return recipe(*data, **given)
        with on(named):
            return recipe(*data, **given)

    return placed
