"""``python -m benchmarks cluster_faults``: 100 shards on 7 workers, of which one is killed twice: the same bits.

More workers than processors, so that tasks wait, and the one that is killed always holds some. The job is two passes of
batch EM, whose statistics are sums of floating-point numbers: any other order would show. It is done twice: over the
lines that local processes have, and as tasks of Dask, as on a network. ``--quick`` has a smaller model. It fails if
bits differ, or if nobody was killed in time. Other faults are in ``tests/test_cluster_faults.py``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

import spinney
from benchmarks.harness import publish
from spinney.classes.hidden import HiddenMarkov
from spinney.corpus import TokenArrays, sentence_arrays

WORKERS, SHARDS = 7, 100
#: How many calls have begun when a worker is killed, of two passes with as many calls as there are shards.
KILLS = (SHARDS // 2, SHARDS + SHARDS // 2)


def main(quick: bool) -> None:
    """Fit here and there, and compare."""
    import distributed

    text = _text(quick)
    classes = 16 if quick else 128

    def fitted() -> HiddenMarkov:
        return HiddenMarkov(classes, em="batch", passes=2, random_state=1, threads=2).fit(text)

    here, rows, failed = fitted(), [], False
    with (
        spinney.cluster.local_client(WORKERS) as local,
        distributed.Client(local.scheduler.address, set_as_default=False) as network,
    ):
        for how, client in (("lines to local processes", local), ("tasks of Dask", network)):
            there, calls, seconds, killed = _disturbed(fitted, client)
            same = _same(here, there)
            failed |= not same or killed < len(KILLS)
            rows.append(f"| {how} | {calls} | {seconds:.1f} | {killed} | {'yes' if same else 'NO'} |")
    head = [
        f"### {SHARDS} shards on {WORKERS} workers, one killed twice ({classes} classes)",
        "",
        "| calls by | calls | seconds | killed | same bits |",
        "|---|---:|---:|---:|---|",
    ]
    publish("cluster_faults", ["\n".join([*head, *rows]) + "\n"], [], quick, how="one run")
    if failed:
        raise SystemExit("other bits, or nobody was killed in time")


def _disturbed(fitted: Any, client: Any) -> tuple[HiddenMarkov, int, float, int]:
    """A fit on a cluster while workers are killed: the model, calls, seconds, and how many were killed."""
    killed: list[int] = []
    with spinney.on(client) as engine:
        assert engine is not None
        ended = threading.Event()
        killer = threading.Thread(target=_kill, args=(engine, client, killed, ended), daemon=True)
        killer.start()
        began = time.perf_counter()
        model = fitted()
        seconds = time.perf_counter() - began
        ended.set()
        killer.join()
        return model, engine.traffic.calls, seconds, len(killed)


def _kill(engine: Any, client: Any, killed: list[int], ended: threading.Event) -> None:
    """Kill the first worker whenever so many calls have begun; by then another has the place of the last."""
    for calls in KILLS:
        while engine.traffic.calls < calls:
            if ended.wait(0.005):
                return
        pid = next(pid for pid in client.run(os.getpid, on_error="return").values() if isinstance(pid, int))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)


def _same(one: HiddenMarkov, other: HiddenMarkov) -> bool:
    return all(
        np.array_equal(getattr(one.statistics_, name), getattr(other.statistics_, name))
        for name in ("omega", "mass", "tau", "rho")
    )


def _text(quick: bool) -> TokenArrays:
    """Zipf's words: one piece of 4,096 tokens for each shard."""
    rng = np.random.default_rng(0)
    n = SHARDS * 4096 // 20
    words = rng.zipf(1.3, (n, 20)) % (2000 if quick else 20_000)
    return sentence_arrays([[f"w{word}" for word in sentence] for sentence in words.tolist()])


if __name__ == "__main__":
    main("--quick" in sys.argv)
