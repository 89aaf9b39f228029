"""What Dask raises, as one line that says what happened and what to do."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spinney.cluster.workers import checked_workers, first_line
from spinney.errors import OptionError, SpinneyError

if TYPE_CHECKING:
    from distributed import Client

ATTEMPTS = 8  # how often a task is sent before it is given up


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
        if client.status != "running":
            remedy = "start it again, and go on from the checkpoint if the fit writes one"
            raise OptionError(f"the scheduler at {address_of(client)} is gone: {remedy}") from None
        if last:
            raise given_up(first_line(error)) from None
        lost.append(error if isinstance(error, Exception) else RuntimeError(str(error)))
    except (ImportError, AttributeError, pickle.UnpicklingError) as error:
        checked_workers(client)  # says which worker lacks what
        raise OptionError(f"a worker cannot run the task: {first_line(error)}") from error


def given_up(why: str) -> OptionError:
    """A task that no worker can bear."""
    return OptionError(
        f"a task ended its worker {ATTEMPTS} times: {why}: give workers more memory, or see their logs"
    )


def address_of(client: Client) -> str:
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", "its address"))
