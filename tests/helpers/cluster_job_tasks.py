"""Tasks for tests of jobs on a cluster, in a module that worker processes can import."""

from __future__ import annotations

import mmap
import os

from spinney.mapped import Mapped


def where_it_lies(value: Mapped) -> tuple[int, bool, float]:
    """The process, whether the first array of a value is a map of a file in the worker's folder, and its sum."""
    from distributed import get_worker

    array = value.value[0]
    base = array
    while getattr(base, "base", None) is not None:
        base = base.base
    of_file = isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)
    with open("/proc/self/maps") as file:
        mapped = any(get_worker().local_directory in line for line in file)
    return os.getpid(), of_file and mapped, float(array.sum())
