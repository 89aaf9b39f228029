"""How a worker makes a call, however it came to it."""

from __future__ import annotations

import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from spinney.errors import InputError
from spinney.parallel import alone, running_on

_limited: dict[str, bool] = {}


@contextmanager
def opening() -> Iterator[None]:
    """Whatever goes wrong while a task is unpickled, it says so: this worker lacks something that the driver has."""
    try:
        yield
    except Exception as error:
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error


def called(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The result of a function in this thread alone, whatever the function would do in a driver."""
    _one_blas_thread()
    try:
        with alone(), running_on(None):
            return function(*arguments)
    except InputError as error:
        if error.path is None or not isinstance(error.__context__, OSError):
            raise
        what = f"{error.what}, says the worker with process {os.getpid()} on {platform.node()}"
        remedy = "put it where all workers find it, by the same name"
        raise InputError(what, path=error.path, remedy=remedy) from None


def _one_blas_thread() -> None:
    """Keep matrix products of this worker on one thread from now on, as they are on one in the threads of a driver.

    To look for the libraries takes longer than many a task: it is done again only when one more may have come.
    """
    loaded = {
        name: name in sys.modules for name in ("numpy", "scipy.linalg", "scipy.sparse.linalg", "sklearn")
    }
    if loaded != _limited:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1, user_api="blas")
        _limited.update(loaded)
