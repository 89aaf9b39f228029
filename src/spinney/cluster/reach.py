"""What ``spinney doctor`` asks of a cluster."""

from __future__ import annotations

from typing import Any

from spinney.cluster.clients import client_of
from spinney.cluster.workers import scheduler_problems, wait_for_workers, worker_facts, worker_problems


def reached(address: str, path: str | None = None) -> dict[str, Any]:
    """What ``spinney doctor`` tells of a cluster: its workers, their problems, and its dashboard."""
    with client_of(address) as client:
        wait_for_workers(client)
        facts = worker_facts(client, path)
        if path is not None and "://" in path:
            for worker, found in client.run(_reads, path, on_error="return").items():
                facts[worker]["path"] = found is True
        problems = [*scheduler_problems(client), *worker_problems(facts, path)]
        dashboard = getattr(client, "dashboard_link", None)
        return {"address": address, "dashboard": dashboard, "workers": facts, "problems": problems}


def _reads(path: str) -> bool:
    """Whether this process can read an address."""
    import fsspec

    with fsspec.open(path, "rb") as file:
        file.read(1)
    return True
