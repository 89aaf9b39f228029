"""A call of a pure function as a task of Dask, which is sent again if it was lost; and what a worker does with it."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from spinney.cluster.arguments import LARGE_SHARED, Argument, by_file, size_of
from spinney.cluster.explaining import ATTEMPTS, explained
from spinney.cluster.workers import wait_for_workers
from spinney.cluster.working import called
from spinney.parallel import Pure, arguments_of
from spinney.shared_files import Packed

if TYPE_CHECKING:
    from distributed import Future

    from spinney.cluster.engine import Cluster

_PAUSE = 0.05  # seconds before a task is sent for the second time
_numbers = count()


class Shared:
    """A pure function with the arguments that all its calls share."""

    def __init__(self, cluster: Cluster, function: Pure[Any]) -> None:
        self.function = function.function
        self.arguments = [Argument(cluster, value, LARGE_SHARED) for value in function.shared]
        cluster.place(self.arguments)


class Call:
    """One call under way, which is made again if a worker takes it with it."""

    def __init__(self, cluster: Cluster, shared: Shared, shard: Any, reduce: Any = None) -> None:
        self.cluster, self.shared, self.reduce = cluster, shared, reduce
        shards = [shard] if reduce is None else shard
        self.calls = [[Argument(cluster, value) for value in arguments_of(one)] for one in shards]
        self.future: Any = None

    def own(self) -> list[Argument]:
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

    def _submitted(self, own: list[Argument], folder: str | None) -> Future:
        name = getattr(self.shared.function, "__name__", "call").strip("_<>")
        return self.cluster.client.submit(
            run, folder, self.shared.function, *(one.sent() for one in (*self.shared.arguments, *own)),
            key=f"{name}-{os.getpid()}-{next(_numbers)}", pure=False,
        )  # fmt: skip

    def result(self) -> Any:
        """What came of it; if it was lost, it is sent again."""
        client = self.cluster.client
        for attempt in range(ATTEMPTS):
            with explained(client, last=attempt + 1 == ATTEMPTS) as lost:
                found = client.gather(self.future, direct=self.cluster.direct or None)
            if not lost:
                break
            time.sleep(_PAUSE * 2**attempt)  # the scheduler may learn of a death later than we do
            with explained(client):
                wait_for_workers(client)
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
        self.cluster.traffic.received += size_of(found, sys.maxsize)
        return found

    def drop(self) -> None:
        """Nobody wants it any more."""
        if self.future is not None:
            self.cluster.client.cancel([self.future], force=False)
        for argument in self.own():
            argument.remove()


def run(folder: str | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """A call, as a worker makes it."""
    return by_file(
        called(function, [one.value() if isinstance(one, Packed) else one for one in arguments]), folder
    )


def fold(folder: str | None, reduce: Callable[[Any, Any], Any], *results: Any) -> Any:
    """The sum of results, from the left."""
    return by_file(functools.reduce(reduce, results), folder)
