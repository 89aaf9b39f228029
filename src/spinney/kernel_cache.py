# mypy: disable-error-code="no-untyped-call"
"""Compiled kernels on the disk: a cache that several processes may fill at once, and that is never in the way.

Numba's own cache ends the program where it cannot write (a full disk, a home that is read-only) or cannot read (a
damaged file), and two processes that compile the same kernel for different types at the same time can take one file
for the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba import njit
from numba.core import typeinfer
from numba.core.caching import FunctionCache, IndexDataCacheFile

from spinney import progress

_REMEDY = "set NUMBA_CACHE_DIR to a writable folder, so that they need not be compiled each time"
_told = False


def cached_njit(*signatures: Any, cache: bool = True, **options: Any) -> Callable[[Any], Any]:
    """``numba.njit`` with this cache."""

    def compiled(function: Any) -> Any:
        # Kernels are called from Python or by each other, never as C callbacks: a wrapper less to compile for each.
        kernel = njit(**{"no_cfunc_wrapper": True, **options})(function)
        if cache and hasattr(kernel, "_cache"):  # not where NUMBA_DISABLE_JIT is set
            kernel._cache = _cache_of(function) or kernel._cache
        if signatures and hasattr(kernel, "_cache"):  # as Numba's decorator does
            with typeinfer.register_dispatcher(kernel):
                for signature in signatures:
                    kernel.compile(signature)
                kernel.disable_compile()
        return kernel

    return compiled


def _cache_of(function: Any) -> KernelCache | None:
    try:
        return KernelCache(function)
    except (RuntimeError, OSError):  # Numba found no folder that it may write to
        _tell("compiled kernels cannot be kept: there is no writable folder for them")
        return None


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel, whose failures cost a compilation and no more."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        old = self._cache_file
        self._cache_file = _DataFirst(self._cache_path, self._impl.filename_base, old._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (
            Exception
        ):  # whatever a damaged file gives: the kernel is compiled again, and the file replaced
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell(f"compiled kernels cannot be kept in {self.cache_path}: {error.strerror or error}")


class _DataFirst(IndexDataCacheFile):  # type: ignore[misc]
    """An index that is changed by one process at a time, and never names a file that is not yet complete."""

    def save(self, key: Any, data: Any) -> None:
        with _locked(os.path.join(self._cache_path, ".kernels.lock")):
            overloads = self._load_index()
            taken = set(overloads.values())
            name = overloads.get(key) or next(
                name for i in range(1, len(taken) + 2) if (name := self._data_name(i)) not in taken
            )
            self._save_data(name, data)
            self._save_index({**overloads, key: name})


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold a lock between processes, where the system has one."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path, "wb") as file:
        with suppress(OSError):  # some network folders have no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _tell(what: str) -> None:
    """Say once what is wrong, and what can be done."""
    global _told
    if not _told:
        _told = True
        progress.log.warning("%s; %s", what, _REMEDY)
