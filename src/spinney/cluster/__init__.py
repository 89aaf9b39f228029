"""A Dask cluster as the place where pure functions run (extra ``dask``).

:func:`on` makes a cluster the engine of :mod:`spinney.parallel`: the calls of :class:`~spinney.parallel.Pure` functions
become tasks of its workers (``calls``) or, where the workers are processes that were started here, go to them directly
(``lines``, and ``answering`` at the other end). Three rules keep the bits and the memory the same as on threads:

- Results are asked for in the order of the shards, and only a few calls are under way at a time.
- What is large goes to a worker directly, not through the scheduler, and within one machine by shared memory; what is
  :class:`~spinney.parallel.Kept` goes once.
- A call that a worker took with it when it died is made again, with its data. Functions are pure: the answer is the
  same.
"""

from __future__ import annotations

from spinney.cluster.choosing import VARIABLE, on, spread
from spinney.cluster.clients import check_address, local_client
from spinney.cluster.engine import Cluster, Traffic
from spinney.cluster.reach import reached
from spinney.cluster.workers import checked_workers, worker_facts, worker_problems

__all__ = [
    "VARIABLE", "Cluster", "Traffic", "check_address", "checked_workers", "local_client", "on", "reached", "spread",
    "worker_facts", "worker_problems",
]  # fmt: skip
