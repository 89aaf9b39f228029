"""What Dask raises, as one line that says what happened and what to do."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from spinney.cluster.workers import checked_workers, first_line
from spinney.errors import OptionError, SpinneyError

if TYPE_CHECKING:
    from distributed import Client

ATTEMPTS = 8  # how often a task is sent before it is given up
_PAUSE = 0.05  # seconds before it is sent for the second time
_NOTICE = 3.0  # seconds in which a client notices that its scheduler is gone
R = TypeVar("R")


@contextmanager
def explained(client: Client, last: bool = True) -> Iterator[list[Exception]]:
    """Turn what Dask raises into one line; what only a worker took with it is put into the list, unless it is the last.

    Errors of the user's input, which a task raises, go through as they are.
    """
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost: list[Exception] = []
    try:
        yield lost
    except SpinneyError:
        raise
    except (
        KilledWorker, CommClosedError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError,
    ) as error:  # fmt: skip
        if _is_gone(client, _NOTICE if last else 0.0):
            raise _gone(client) from None
        if last:
            raise given_up(first_line(error)) from None
        lost.append(error if isinstance(error, Exception) else RuntimeError(str(error)))
    except (ImportError, pickle.UnpicklingError) as error:
        checked_workers(client)  # says which worker lacks what
        remedy = "install there what is installed here"
        raise OptionError(f"a worker cannot run the task: {first_line(error)}: {remedy}") from error
    except Exception:
        if _is_gone(client):
            raise _gone(client) from None
        raise


def insisted(client: Client, asked: Callable[[], R]) -> R:
    """An answer of the cluster, even if a worker dies in between."""
    for attempt in range(ATTEMPTS):
        with explained(client, last=attempt + 1 == ATTEMPTS):
            return asked()
        pause(attempt)
    raise AssertionError


def pause(attempt: int) -> None:
    """Wait before the next attempt, and longer each time: the scheduler may learn of a death later than we do."""
    time.sleep(_PAUSE * 2**attempt)


def _is_gone(client: Client, patience: float = 0.0) -> bool:
    """Whether the scheduler is gone; its client may take a moment to notice."""
    end = time.monotonic() + patience
    while client.status == "running" and time.monotonic() < end:
        time.sleep(0.01)
    return bool(client.status != "running")


def _gone(client: Client) -> OptionError:
    remedy = "start it again, and go on from the checkpoint if the fit writes one"
    return OptionError(f"the scheduler at {_address_of(client)} is gone: {remedy}")


def given_up(why: str) -> OptionError:
    """A task that no worker can bear."""
    return OptionError(
        f"a task ended its worker {ATTEMPTS} times: {why}: give workers more memory, or see their logs"
    )


def _address_of(client: Client) -> str:
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", "its address"))
