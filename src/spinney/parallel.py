"""Work on shards of a corpus: pure functions on threads, their results added up in a fixed order."""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from spinney.checking import whole
from spinney.interrupts import uninterrupted

Shard = TypeVar("Shard")
Statistics = TypeVar("Statistics")


def default_threads() -> int:
    """The number of processors that this process may run on."""
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

    The results are reduced in the order of the shards, whichever ends first, so the sum is the same to the
    last bit in every run. No more than ``2 * threads`` results wait at a time, and shards are drawn only when
    needed, so they may come from a generator. The first error in the order of the shards is raised, and calls
    that have not started are dropped.

    Parameters
    ----------
    function
        A pure function of a shard; it should spend its time without the GIL (NumPy, ``nogil`` kernels).
    shards
        At least one; without any there is nothing to reduce, and that is a ``TypeError``.
    threads
        How many calls run at once; 1 runs all in the calling thread. Default: `default_threads`.
    reduce
        Joins two results; ``operator.iadd`` adds into the first array and saves its copies.

    Examples
    --------
    >>> import numpy as np
    >>> map_reduce(lambda shard: np.bincount(shard, minlength=3), [[0, 1], [1, 2], [1, 1]], threads=2)
    array([1, 4, 1])
    """
    if threads is None:
        threads = default_threads()
    whole("threads", threads, 1)
    with closing(in_order(function, shards, threads)) as results:
        return functools.reduce(reduce, results)


def in_order(
    function: Callable[[Shard], Statistics], shards: Iterable[Shard], threads: int
) -> Generator[Statistics, None, None]:
    """The results of ``function`` in the order of the shards, computed on threads a little ahead of the reader."""
    if whole("threads", threads, 1) == 1:
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
