"""The workers of a Dask scheduler as the place where pure functions run."""

from __future__ import annotations

import functools
import logging
import os
import platform
import sys
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from spinney.cluster.arguments import Argument, Sealed, size_of
from spinney.cluster.calls import Call, Shared
from spinney.cluster.explaining import insisted
from spinney.cluster.lines import Lines, can_listen
from spinney.cluster.workers import checked_workers
from spinney.parallel import FAN_IN, Pure
from spinney.shared_files import shared_folder

if TYPE_CHECKING:
    from distributed import Client, Future


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
        self.lines = self._own_lines()

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

    def _own_lines(self) -> Lines | None:
        """Lines to the workers, if they were started by this process, and for it alone."""
        from distributed import LocalCluster

        if (
            self.folder is None
            or not isinstance(self.client.cluster, LocalCluster)
            or not can_listen(self.folder)
        ):
            return None
        lines = Lines(self.client, self.folder, self.workers, self.traffic)
        self._stack.callback(lines.close)
        return lines

    def described(self) -> str:
        """One line about the cluster, with the address of its dashboard."""
        threads = sum(worker["threads"] for worker in self.workers.values())
        dashboard = getattr(self.client, "dashboard_link", "") or "none"
        return (
            f"cluster: {_several(len(self.workers), 'worker')} with {_several(threads, 'thread')}; "
            f"dashboard (if bokeh is installed): {dashboard}"
        )

    # -- the engine -----------------------------------------------------------------------------------

    def in_order(self, function: Pure[Any], shards: Iterable[Any]) -> Generator[Any, None, None]:
        """The results in the order of the shards, computed a little ahead of the reader."""
        if self.lines is not None:
            return self.lines.each(function, iter(shards))
        return self._each(function, iter(shards), None)

    def sums(
        self, function: Pure[Any], groups: Iterable[list[Any]], reduce: Callable[[Any, Any], Any]
    ) -> Generator[Any, None, None]:
        """The sum of each group, taken by a worker, or here if the workers are."""
        if self.lines is not None:
            return _folded(self.lines, function, groups, reduce)
        return self._each(function, iter(groups), reduce, FAN_IN)

    def _each(
        self, function: Pure[Any], items: Iterator[Any], reduce: Any, size: int = 1
    ) -> Generator[Any, None, None]:
        # Two tasks for each thread, so that none waits for the next; a result waits for those before it.
        room = max(2, -(-2 * self._threads() // size) + (size > 1))
        shared = Shared(self, function)
        waiting: deque[Call] = deque()

        def start(n: int) -> None:
            new = [Call(self, shared, item, reduce) for item in islice(items, n)]
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
        return sum(insisted(self.client, self.client.nthreads).values()) or 1

    # -- what is with the workers ---------------------------------------------------------------------

    def place(self, arguments: Sequence[Argument], again: bool = False) -> None:
        """Send large arguments to workers, one after the other, all in one message."""
        away = [argument for argument in arguments if argument.travels and (again or argument.future is None)]
        if again and away:
            sound = [one.future for one in away if one.future is not None and one.future.status == "finished"]
            held = insisted(self.client, lambda: self.client.who_has(sound)) if sound else {}
            away = [one for one in away if one.future is None or not held.get(one.future.key)]
            for one in away:
                one.forget()
        away = [one for one in away if not one.found()]
        if not away:
            return
        values = [Sealed(one.value) for one in away]
        futures = insisted(
            self.client, lambda: self.client.scatter(values, direct=self.direct or None, hash=False)
        )
        for one, future in zip(away, futures):
            one.future = future
            if one.kept is not None:
                self.traffic.sent += size_of(one.value, sys.maxsize)
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


def _folded(
    lines: Lines, function: Pure[Any], groups: Iterable[list[Any]], reduce: Callable[[Any, Any], Any]
) -> Generator[Any, None, None]:
    """The sums of groups whose results all come here: within one machine, that costs no more than elsewhere."""
    sizes: deque[int] = deque()

    def shards() -> Iterator[Any]:
        for group in groups:
            sizes.append(len(group))
            yield from group

    with closing(lines.each(function, shards())) as results:
        for first in results:
            yield functools.reduce(reduce, islice(results, sizes.popleft() - 1), first)


def _several(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
