"""A bounded number of threads and of calls that wait for one.

A thread cannot be stopped from outside. Whoever waits for a call gives up at its deadline; a call that waits for a
thread is then dropped at once, and a call that is running keeps its thread until it ends: so there are never more
computations than threads, and no thread is lost. A running call looks at its deadline between two records, so it ends
soon after.

The threads are daemons, which those of :class:`concurrent.futures.ThreadPoolExecutor` are not: a call that nobody waits
for any more must not keep the process alive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Busy(Exception):
    """All threads work, and as many calls wait as may."""


class TooLate(Exception):
    """The time of a call is over."""


class Deadline:
    """When a call must be done.

    Examples
    --------
    >>> list(Deadline(60).each("ab"))
    ['a', 'b']
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(self._end - time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise :class:`TooLate` if the time is over."""
        if time.monotonic() > self._end:
            raise TooLate

    def each(self, things: Iterable[T]) -> Iterator[T]:
        """The same things, as long as there is time."""
        for thing in things:
            self.check()
            yield thing


class Work:
    """Threads that make calls, in the order in which they came.

    Examples
    --------
    >>> Work(threads=2, waiting=1).begin(lambda: 6 * 7).result()
    42
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self.threads, self.waiting = threads, waiting
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._begun = 0
        for number in range(threads):
            threading.Thread(target=self._run, name=f"serve-{number}", daemon=True).start()

    @property
    def load(self) -> int:
        """Calls that are running or waiting."""
        return self._begun

    def begin(self, function: Callable[[], T]) -> Future[T]:
        """Call a function as soon as a thread is free; :class:`Busy` if too many calls wait already."""
        with self._lock:
            if self._begun >= self.threads + self.waiting:
                raise Busy
            self._begun += 1
        future: Future[T] = Future()
        future.add_done_callback(self._ended)  # also if it is cancelled before it has a thread
        self._jobs.put((future, function))
        return future

    def _ended(self, _: Future[Any]) -> None:
        with self._lock:
            self._begun -= 1

    def _run(self) -> None:
        while True:
            future, function = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                found = function()
            except TooLate:
                future.set_exception(
                    TooLate()
                )  # a new one: where it was raised keeps all that was computed alive
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(found)
            del future, function  # they may hold much, and the next call may come late
