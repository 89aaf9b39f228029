"""From what names a cluster to a client of it: the address of a scheduler, or processes that are started here."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from spinney.cluster.workers import first_line
from spinney.errors import OptionError

if TYPE_CHECKING:
    from distributed import Client

TIMEOUT = "10s"  # for the first answer of a scheduler
_LOCAL = re.compile(r"local(?::(\d{1,4}))?")
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_CERTIFICATES = ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY")
_NEEDS = "a cluster needs the package distributed: pip install 'spinney[dask]'"


def check_address(address: str) -> None:
    """Refuse what cannot be a cluster, before anything is read.

    Examples
    --------
    >>> check_address("local:2")
    >>> check_address("lokal")
    Traceback (most recent call last):
    spinney.errors.OptionError: no cluster has the address lokal: give local, local:4, or a scheduler as tcp://host:8786
    """
    if not _LOCAL.fullmatch(address) and not re.fullmatch(r"[a-z]+://.+|[\w.-]+:\d+", address):
        raise OptionError(
            f"no cluster has the address {address}: give local, local:4, or a scheduler as tcp://host:8786"
        )


@contextmanager
def client_of(cluster: Any) -> Iterator[Client]:
    """A client of what was given; what is started here ends with the block."""
    try:
        import distributed
    except ImportError:
        raise OptionError(_NEEDS) from None
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise OptionError(f"a cluster is a distributed.Client or an address, not {type(cluster).__name__}")
    check_address(cluster)
    local = _LOCAL.fullmatch(cluster)
    if local is not None:
        with local_client(int(local[1]) if local[1] else None) as client:
            yield client
        return
    if cluster.startswith("tls://"):
        _check_certificates(cluster, distributed.Security())
    try:
        client = distributed.Client(cluster, timeout=TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise OptionError(f"no scheduler answers at {cluster}: {first_line(error)}") from None
    with closing(client):
        yield client


def _check_certificates(address: str, security: Any) -> None:
    """Refuse a connection that cannot be made: Dask says so with a traceback, and half a minute later."""
    try:
        found = security.get_connection_args("client").get("ssl_context")
    except (OSError, ValueError) as error:
        raise OptionError(f"the certificates for {address} cannot be read: {first_line(error)}") from None
    if found is None:
        variables = " and ".join(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in _CERTIFICATES)
        raise OptionError(f"{address} needs certificates: set {variables}")


@contextmanager
def local_client(n: int | None) -> Iterator[Client]:
    """Processes on this machine, one thread each, and a client of them."""
    import dask
    import distributed

    from spinney.parallel import default_threads

    settings = {
        # A worker that is killed has done nothing wrong; and it starts before a task has waited for long.
        "distributed.scheduler.allowed-failures": 20,
        "distributed.comm.retry.count": 3,
        # Tasks are coarse and placed evenly; moving their data would cost more than waiting.
        "distributed.scheduler.work-stealing-interval": "1s",
        # What only a dashboard shows: samples of every stack, a hundred times a second, and the ticks of event loops.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "2s",
        "distributed.admin.tick.interval": "500ms",
        # Not Dask's MALLOC_TRIM_THRESHOLD_: with it, all arrays of every task are made of new pages.
        "distributed.nanny.pre-spawn-environ": dict.fromkeys(_ONE_THREAD, 1),
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=n or default_threads(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
