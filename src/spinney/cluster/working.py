"""How a worker makes a call, however it came to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from spinney.parallel import alone, running_on

_limited: dict[str, bool] = {}


def called(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The result of a function in this thread alone, whatever the function would do in a driver."""
    _one_blas_thread()
    with alone(), running_on(None):
        return function(*arguments)


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
