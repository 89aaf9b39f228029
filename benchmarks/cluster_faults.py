"""``python -m benchmarks.cluster_faults``: 100 shards on 7 workers, of which one is killed twice: the same bits.

More workers than processors, so that tasks wait, and the one that is killed always holds some. The job is a pass of
batch EM, whose statistics are sums of floating-point numbers: any other order would show. ``--quick`` has a smaller
model. Exit code 0 if the bits are the same.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np

import spinney
from spinney.classes.hidden import HiddenMarkov
from spinney.corpus import TokenArrays, sentence_arrays

WORKERS, SHARDS, KILLS = 7, 100, 2


def main(quick: bool) -> int:
    """Fit here and there, and compare."""
    text = _text(quick)
    classes = 16 if quick else 128

    def fitted() -> HiddenMarkov:
        model = HiddenMarkov(classes, em="batch", passes=2, random_state=1, threads=2)
        return model.fit(text)

    here = fitted()
    with spinney.on(f"local:{WORKERS}") as engine:
        assert engine is not None
        killer = threading.Thread(target=_kill, args=(engine.client,), daemon=True)
        killer.start()
        started = time.perf_counter()
        there = fitted()
        print(f"{engine.traffic.calls} calls in {time.perf_counter() - started:.1f} s on {WORKERS} workers")
        killer.join(60)
    same = all(
        np.array_equal(getattr(here.statistics_, name), getattr(there.statistics_, name))
        for name in ("omega", "mass", "tau", "rho")
    )
    print("the same bits" if same else "OTHER BITS")
    return 0 if same else 1


def _text(quick: bool) -> TokenArrays:
    """Zipf's words: one piece of 4,096 tokens for each shard."""
    rng = np.random.default_rng(0)
    n = SHARDS * 4096 // 20
    words = rng.zipf(1.3, (n, 20)) % (2000 if quick else 20_000)
    return sentence_arrays([[f"w{word}" for word in sentence] for sentence in words.tolist()])


def _kill(client: object) -> None:
    """Kill the first worker, wait until another has its place, and kill that one."""
    for _ in range(KILLS):
        time.sleep(1.0)
        address, pid = next(iter(client.run(os.getpid).items()))  # type: ignore[attr-defined]
        os.kill(pid, signal.SIGKILL)
        print(f"killed {address}", flush=True)


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
