"""A call of a pure function as a task of Dask, which is sent again if it was lost; and what a worker does with it."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from itertools import count
from typing import TYPE_CHECKING, Any

from spinney.cluster.arguments import LARGE_SHARED, Argument, Sealed, by_file, size_of
from spinney.cluster.explaining import ATTEMPTS, explained, insisted, pause
from spinney.cluster.messages import dumps
from spinney.cluster.workers import RETURN, wait_for_workers
from spinney.cluster.working import called, opening
from spinney.parallel import Pure, arguments_of
from spinney.shared_files import Packed

if TYPE_CHECKING:
    from distributed import Future

    from spinney.cluster.engine import Cluster

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
        with explained(self.cluster.client):
            self.future = self._all_submitted(self.cluster.folder)

    def _all_submitted(self, folder: str | None) -> Future:
        if self.reduce is None or len(self.calls) == 1:
            return self._submitted(self.calls[0], folder)
        leaves = [self._submitted(call, None) for call in self.calls]
        key = f"sum-{os.getpid()}-{next(_numbers)}"
        return self.cluster.client.submit(fold, folder, dumps(self.reduce), *leaves, key=key, pure=False)

    def _submitted(self, own: list[Argument], folder: str | None) -> Future:
        arguments = [*self.shared.arguments, *own]
        sent = dumps((self.shared.function, [None if one.travels else one.sent() for one in arguments]))
        away = {i: one.future for i, one in enumerate(arguments) if one.travels}
        name = getattr(self.shared.function, "__name__", "call").strip("_<>")
        key = f"{name}-{os.getpid()}-{next(_numbers)}"
        return self.cluster.client.submit(run, folder, sent, list(away), *away.values(), key=key, pure=False)

    def result(self) -> Any:
        """What came of it; if it was lost, it is sent again."""
        client = self.cluster.client
        for attempt in range(ATTEMPTS):
            with explained(client, last=attempt + 1 == ATTEMPTS) as lost:
                found = client.gather(self.future, direct=self.cluster.direct or None)
            if not lost:
                break
            pause(attempt)
            insisted(client, lambda: wait_for_workers(client, RETURN))
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


def run(folder: str | None, sent: bytes, places: list[int], *away: Any) -> Any:
    """A call, as a worker makes it: the function with the arguments that came along, and those that were there."""
    with opening():
        function, arguments = pickle.loads(sent)
        for place, value in zip(places, away):
            arguments[place] = value
        arguments = [_opened(one) for one in arguments]
    return by_file(called(function, arguments), folder)


def _opened(argument: Any) -> Any:
    if isinstance(argument, Sealed):
        return argument.value
    return argument.value() if isinstance(argument, Packed) else argument


def fold(folder: str | None, reduce: bytes, *results: Any) -> Any:
    """The sum of results, from the left."""
    with opening():
        function = pickle.loads(reduce)
    return by_file(functools.reduce(function, results), folder)
