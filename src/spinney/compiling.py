"""Numba's compiler, with a message if compiling takes long.

Modules of kernels import ``njit`` from here. A kernel is compiled when it is first called and kept in a cache on the
disk, so that each machine waits once; ``spinney doctor`` shows where.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from numba import typeof
from numba.core.event import Event, Listener, register

from spinney import progress
from spinney.interrupts import uninterrupted
from spinney.kernel_cache import cached_njit as njit

__all__ = ["bound", "njit"]


def bound(kernel: Any, arguments: Sequence[Any], example: Sequence[Any]) -> Callable[..., Any]:
    """A kernel with its first arguments given, for calls that are to cost next to nothing.

    Numba looks at the types of all arguments in every call, which takes longer than a short kernel. Here it looks
    once: all further arguments must be of the types of the ``example``.
    """
    kernel(*arguments, *example)
    versions = getattr(kernel, "overloads", {})  # none where kernels are not compiled
    version = versions.get(tuple(map(typeof, (*arguments, *example))))
    return partial(kernel if version is None else version.entry_point, *arguments)


class Waiting(Listener):  # type: ignore[misc]
    """Says once that Spinney's kernels are being compiled, after ``patience`` seconds in all."""

    def __init__(self, patience: float = 1.0) -> None:
        self.patience = patience
        self._lock = threading.RLock()
        self._depth = 0  # a kernel that calls another waits for it to be compiled
        self._began = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Event) -> None:
        if not _ours(event):
            return
        with self._lock:
            self._depth += 1
            if self._depth == 1 and self.patience < float("inf"):
                self._began = time.monotonic()
                self._timer = threading.Timer(self.patience, self._tell)
                self._timer.daemon = True
                with uninterrupted():  # inside `start`, it could leave the thread waiting for ever
                    self._timer.start()

    def on_end(self, event: Event) -> None:
        if not _ours(event):
            return
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self.patience = max(self.patience - (time.monotonic() - self._began), 0.0)

    def _tell(self) -> None:
        with self._lock:
            self.patience, self._timer = float("inf"), None
        progress.say("compiling kernels (once for this machine) …")


def _ours(event: Event) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("spinney.")


register("numba:compile", Waiting())  # type: ignore[no-untyped-call]
