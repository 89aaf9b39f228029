"""Values whose arrays lie in a file that is mapped, here and wherever they arrive: text that is visited in every pass.

A worker of a cluster that receives such a value writes its arrays into a file of its own local folder, and maps them.
So they stay with it without taking its memory: pages of the file are read when they are looked at, and dropped when
memory is scarce. The file has no name once it is mapped: it ends with the value, or with the process, whatever happens.
"""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from spinney.shared_files import packed

Value = TypeVar("Value")


class Mapped(Generic[Value]):
    """A value (tuples, lists, arrays: whatever can be pickled) whose arrays are maps of a file.

    Parameters
    ----------
    value
        Its arrays are copied into the file.
    folder
        Where the file is made; by default among temporary files.

    Examples
    --------
    >>> import numpy as np
    >>> import pickle
    >>> words = Mapped([np.arange(3), np.arange(2)])
    >>> pickle.loads(pickle.dumps(words)).value
    [array([0, 1, 2]), array([0, 1])]
    """

    def __init__(self, value: Value, folder: str | None = None) -> None:
        with TemporaryDirectory(prefix="spinney-", dir=folder, ignore_cleanup_errors=True) as inside:
            self.value: Value = packed(value, inside).value()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _arrived, (self.value,)


def _arrived(value: Value) -> Mapped[Value]:
    return Mapped(value, _local_folder())


def _local_folder() -> str | None:
    """The folder of the worker that this process is, if it is one."""
    module = sys.modules.get("distributed.worker")
    workers = list(getattr(getattr(module, "Worker", None), "_instances", ()))
    return str(workers[0].local_directory) if workers else None
