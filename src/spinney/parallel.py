"""Work on shards of a corpus: pure functions on threads, their results added up in a fixed order.

A function that is marked as :class:`Pure` depends on nothing but its arguments, so it may also run in another process,
on another machine: where an *engine* is active (:func:`spinney.on` sets one), its calls go there, and their results are
added up in the same order as here. Everything else stays on the threads of this process.
"""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import islice
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from spinney.checking import whole
from spinney.interrupts import uninterrupted

Shard = TypeVar("Shard")
Statistics = TypeVar("Statistics")
Value = TypeVar("Value")

#: How many results of a pure function are added up together, before their sum is added to other sums.
FAN_IN = 8


class Kept(Generic[Value]):
    """Data that stay with the process that works on them: sent once, whatever the number of passes.

    An engine knows them by their content. They are forgotten there when the last reference to this object is gone.

    Examples
    --------
    >>> import numpy as np
    >>> kept = Kept(np.arange(3))
    >>> kept.value.sum(), kept.key == Kept(np.arange(3)).key
    (np.int64(3), True)
    """

    def __init__(self, value: Value) -> None:
        self.value = value

    @cached_property
    def key(self) -> str:
        """A name that only the same content has."""
        from hashlib import blake2b
        from pickle import PickleBuffer, dumps

        digest = blake2b(digest_size=16)
        buffers: list[PickleBuffer] = []
        digest.update(dumps(self.value, protocol=5, buffer_callback=buffers.append))
        for buffer in buffers:
            digest.update(buffer.raw())
        return digest.hexdigest()


class Visit(NamedTuple):
    """A shard in two arguments: data that stay with a worker, and what comes to them in this pass."""

    kept: Kept[Any]
    value: Any


class Pure(Generic[Statistics]):
    """A function of a shard that may run in any process: it reads its arguments only, changes none, and keeps nothing.

    Parameters
    ----------
    function
        A function of a module, which other processes can import; it is called with ``shared`` and then the shard.
    *shared
        What all shards have in common: the parameters of a model, for example. Like a shard, each may be
        :class:`Kept`; the function then gets its value.

    Examples
    --------
    >>> from operator import mul
    >>> map_reduce(Pure(mul, 10), [1, 2, 3], threads=2)
    60
    """

    def __init__(self, function: Callable[..., Statistics], *shared: Any) -> None:
        self.function, self.shared = function, shared

    def __call__(self, shard: Any) -> Statistics:
        return self.function(*map(_opened, self.shared), *map(_opened, arguments_of(shard)))


def arguments_of(shard: Any) -> tuple[Any, ...]:
    """The arguments that a shard stands for: two of a :class:`Visit`, and else itself."""
    return tuple(shard) if isinstance(shard, Visit) else (shard,)


def _opened(value: Any) -> Any:
    return value.value if isinstance(value, Kept) else value


class Engine(Protocol):
    """Where pure functions run instead of on threads; :mod:`spinney.cluster` has the one there is."""

    def in_order(self, function: Pure[Any], shards: Iterable[Any]) -> Generator[Any, None, None]:
        """The results in the order of the shards."""

    def sums(
        self, function: Pure[Any], groups: Iterable[list[Any]], reduce: Callable[[Any, Any], Any]
    ) -> Generator[Any, None, None]:
        """The results of each group of shards, reduced from the left, in the order of the groups."""


_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)
_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def running_on(engine: Engine | None) -> Iterator[None]:
    """Send pure functions to an engine inside the block; ``None``: to the threads of this process."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


@contextmanager
def alone() -> Iterator[None]:
    """Do all work of the block in its own thread: other processes share this machine with it."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def is_alone() -> bool:
    """Whether this is a task that was sent here: its work is not spread again."""
    return _alone.get()


def elsewhere() -> bool:
    """Whether pure functions go to an engine, so that data are best cut for it."""
    return _engine.get() is not None


def engine_for(function: Any) -> Engine | None:
    """The engine that a function goes to: none unless it is pure."""
    return _engine.get() if isinstance(function, Pure) else None


def default_threads() -> int:
    """The number of processors that this process may run on."""
    if _alone.get():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_reduce(
    function: Callable[[Shard], Statistics],
    shards: Iterable[Shard],
    *,
    threads: int | None = None,
    reduce: Callable[[Statistics, Statistics], Statistics] = operator.add,
) -> Statistics:
    """``reduce(…reduce(reduce(f(s₀), f(s₁)), f(s₂))…)``, the calls of ``f`` on threads.

    The results are reduced in the order of the shards, whichever ends first, so the sum is the same to the last bit in
    every run. Those of a :class:`Pure` function are reduced by eights, the sums of eights by eights again, and so on,
    here and elsewhere: so a cluster can send the sums of eights instead of all results. No more than ``2 * threads``
    results wait at a time, and shards are drawn only when needed, so they may come from a generator. The first error in
    the order of the shards is raised, and calls that have not started are dropped.

    Parameters
    ----------
    function
        A pure function of a shard; it should spend its time without the GIL (NumPy, ``nogil`` kernels). Marked as
        :class:`Pure`, it may run on a cluster.
    shards
        At least one; without any there is nothing to reduce, and that is a ``TypeError``.
    threads
        How many calls run at once; 1 runs all in the calling thread. Default: `default_threads`.
    reduce
        Joins two results; ``operator.iadd`` adds into the first array and saves its copies (not for a pure function,
        whose results may be asked for twice).

    Examples
    --------
    >>> import numpy as np
    >>> map_reduce(lambda shard: np.bincount(shard, minlength=3), [[0, 1], [1, 2], [1, 1]], threads=2)
    array([1, 4, 1])
    """
    if threads is None:
        threads = default_threads()
    whole("threads", threads, 1)
    if not isinstance(function, Pure):
        with closing(in_order(function, shards, threads)) as results:
            return functools.reduce(reduce, results)
    engine = engine_for(function)
    groups = _groups(shards)
    if engine is None:
        found: Generator[Statistics, None, None] = in_order(function, shards, threads)
        with closing(found):
            return _tree(_sums(found, reduce), reduce)
    sums: Generator[Statistics, None, None] = engine.sums(function, groups, reduce)
    with closing(sums):
        return _tree(sums, reduce)


def _groups(items: Iterable[Value]) -> Iterator[list[Value]]:
    """Eight at a time."""
    items = iter(items)
    while group := list(islice(items, FAN_IN)):
        yield group


def _sums(results: Iterable[Value], reduce: Callable[[Value, Value], Value]) -> Iterator[Value]:
    """The sums of eights; no more than a sum and a result are held at a time."""
    results = iter(results)
    for first in results:
        yield functools.reduce(reduce, islice(results, FAN_IN - 1), first)


def _tree(sums: Iterable[Statistics], reduce: Callable[[Statistics, Statistics], Statistics]) -> Statistics:
    """The sum of sums, by eights, of which few are held at a time; what is left over joins the level above."""
    levels: list[list[Statistics]] = [[]]
    for total in sums:
        levels[0].append(total)
        level = 0
        while len(levels[level]) == FAN_IN:
            if level + 1 == len(levels):
                levels.append([])
            levels[level + 1].append(functools.reduce(reduce, levels[level]))
            levels[level].clear()
            level += 1
    rest: list[Statistics] = []
    for held in levels:
        rest = [functools.reduce(reduce, held + rest)] if held or rest else []
    return functools.reduce(reduce, rest)


def in_order(
    function: Callable[[Shard], Statistics], shards: Iterable[Shard], threads: int
) -> Generator[Statistics, None, None]:
    """The results of ``function`` in the order of the shards, computed a little ahead of the reader."""
    engine = engine_for(function)
    if engine is not None and isinstance(function, Pure):
        yield from engine.in_order(function, shards)
        return
    if whole("threads", threads, 1) == 1 or _alone.get():
        yield from map(function, shards)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="spinney")
    waiting: deque[SimpleQueue[Future[Statistics]]] = deque()
    try:
        for shard in shards:
            waiting.append(submit(pool, function, shard))
            if len(waiting) == 2 * threads:
                yield waiting.popleft().get().result()
        while waiting:
            yield waiting.popleft().get().result()
    finally:
        pool.shutdown(cancel_futures=True)


def submit(
    pool: ThreadPoolExecutor, function: Callable[[Shard], Statistics], shard: Shard
) -> SimpleQueue[Future[Statistics]]:
    """Start a call in a pool; a queue that gets its future when it is done.

    Waiting for the queue can be interrupted. Within ``Future.result`` or ``submit``, an interrupt may come between
    taking a lock and knowing of it: the lock stays taken, and the thread that needs it waits for ever.
    """
    done: SimpleQueue[Future[Statistics]] = SimpleQueue()
    with uninterrupted():
        pool.submit(function, shard).add_done_callback(done.put)
    return done


_blas_lock = threading.Lock()
_blas_users: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run each matrix product inside the block on one thread, because Spinney's own threads already share the work.

    Several threads may be inside at a time: the first to enter sets the limit, and the last to leave removes it.
    """
    from threadpoolctl import threadpool_limits

    with _blas_lock:
        _blas_users.append(threadpool_limits(1, user_api="blas") if not _blas_users else None)
    try:
        yield
    finally:
        with _blas_lock:
            limit = _blas_users[0]
            _blas_users.pop()
            if not _blas_users:
                limit.restore_original_limits()
