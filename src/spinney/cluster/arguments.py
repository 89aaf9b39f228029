"""Arguments of calls: which travel by themselves, through a file or with the task, and where they are."""

from __future__ import annotations

import pickle
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spinney.cluster.messages import dumps
from spinney.parallel import Kept
from spinney.shared_files import Packed, packed

if TYPE_CHECKING:
    from distributed import Future

    from spinney.cluster.engine import Cluster

#: Bytes from which on an argument goes to a worker by itself: of a shard, and of what many calls share. Below, it goes
#: with the task, which takes less time, and which the scheduler can send again without asking.
LARGE, LARGE_SHARED = 1 << 22, 1 << 18
MAPPED = 1 << 17  # bytes from which on a value goes through shared memory, if there is any


class Sealed:
    """A value in pickled form, which is opened by the task that needs it.

    Dask opens what it gets while it reads from a connection, and if that fails, the worker hears no more: the error
    must come inside a task. And Dask knows how large a sealed value is, and can put it on disk, opened or not.

    Examples
    --------
    >>> import numpy as np
    >>> Sealed({"a": np.arange(2)}).value
    {'a': array([0, 1])}
    """

    def __init__(self, value: Any) -> None:
        import numpy as np

        buffers: list[pickle.PickleBuffer] = []
        pickled = dumps(value, buffers.append)
        frames = [memoryview(pickled), *(one.raw() for one in buffers)]
        self.frames = [np.frombuffer(frame, np.uint8) for frame in frames]

    @cached_property
    def value(self) -> Any:
        """The value; it stays open as long as there is memory."""
        return pickle.loads(self.frames[0].data, buffers=self.frames[1:])

    def __sizeof__(self) -> int:
        return sum(frame.nbytes for frame in self.frames)

    def __getstate__(self) -> dict[str, Any]:
        return {"frames": self.frames}


class Argument:
    """A shard or a shared argument: its value and, if it travels by itself, where it is."""

    def __init__(self, cluster: Cluster, value: Any, large: int = LARGE) -> None:
        self.cluster = cluster
        self.kept = value if isinstance(value, Kept) else None
        self.value = value.value if isinstance(value, Kept) else value
        self.file: Packed | None = None
        if self.kept is None and cluster.folder is not None and size_of(self.value, MAPPED) >= MAPPED:
            self.file = packed(self.value, cluster.folder)
        if self.kept is None:
            cluster.traffic.sent += size_of(self.value, sys.maxsize)
        self.travels = self.kept is not None or (self.file is None and size_of(self.value, large) >= large)
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
        """What stands for it in a task, unless it travels by itself."""
        return self.value if self.file is None else self.file

    def remove(self) -> None:
        """Nobody needs it any more."""
        if self.file is not None:
            self.file.remove()


def by_file(found: Any, folder: str | None) -> Any:
    """A result, or the file that it was put into."""
    return packed(found, folder) if folder is not None and size_of(found, MAPPED) >= MAPPED else found


def size_of(value: Any, large: int = LARGE) -> int:
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
