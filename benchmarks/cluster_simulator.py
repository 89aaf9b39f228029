"""How long a pass takes on many workers, and what is busy all the time: a simulation of the driver and its workers.

A pass is a row of equal tasks. The driver prepares a task and puts it on its wire; a worker does it; the result comes
back over the wire of the driver, which adds it up, all in the order of the tasks and with two tasks for each worker
under way, as :mod:`spinney.cluster` does it. Four things can be full: the driver's processor, its wire in each
direction, and the workers.

``python -m benchmarks.cluster_simulator`` prints the prediction for a hidden Markov model; ``--check`` also measures a
job on 1, 2 and 4 processes here and simulates it from what one process took, with ``--cores`` for all of them.
"""

from __future__ import annotations

import argparse
import heapq
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import spinney
from spinney.parallel import Pure, in_order


@dataclass(frozen=True)
class Job:
    """A pass: seconds and bytes of each of its tasks.

    ``prepare`` and ``reduce`` are seconds of the driver; ``sharded`` says how many processes share the work of the
    driver, each with its own wire and a part of the parameters and statistics.
    """

    tasks: int
    work: float
    sent: float
    received: float
    prepare: float = 0.0
    reduce: float = 0.0
    sharded: int = 1


@dataclass(frozen=True)
class Network:
    """Bytes a second of each wire, and seconds from one end to the other, the scheduler's part included."""

    bandwidth: float = 1.25e9  # ten gigabits
    latency: float = 0.01


#: Tasks for each worker that are under way.
WINDOW = 2


class Outcome(NamedTuple):
    """Seconds of a pass, the share of them in which each part was busy, and the part that was busiest."""

    seconds: float
    busy: dict[str, float]

    @property
    def first(self) -> str:
        """What is full first."""
        return max(self.busy, key=self.busy.__getitem__)


def simulated(job: Job, workers: int, network: Network = Network(), cores: int | None = None) -> Outcome:
    """A pass on so many workers. If all of them and the driver are on one machine, they share its ``cores``.

    Examples
    --------
    >>> job = Job(tasks=100, work=1.0, sent=0.0, received=0.0)
    >>> round(simulated(job, 10, Network(latency=0.0)).seconds, 3), simulated(job, 10).first
    (10.0, 'workers')
    >>> near = Network(latency=0.0)
    >>> [round(simulated(job, workers, near, cores=2).seconds) for workers in (1, 2, 4)]
    [100, 50, 50]
    """
    found, slower = _pass(job, workers, network), 1.0
    for _ in range(20 if cores else 0):
        # Whoever is busy shares the cores evenly: all take longer by the same factor, which changes who is busy.
        busy = found.busy["driver"] * job.sharded + found.busy["workers"] * workers
        new = max(1.0, busy / cores) if cores else 1.0
        if abs(new - slower) < 1e-3 * slower:
            break
        slower = new
        own = {"work": job.work * slower, "prepare": job.prepare * slower, "reduce": job.reduce * slower}
        found = _pass(replace(job, **own), workers, network)
    return found


def _pass(job: Job, workers: int, network: Network) -> Outcome:
    work = job.work
    out, back = (size / network.bandwidth / job.sharded for size in (job.sent, job.received))
    prepare, add = job.prepare / job.sharded, job.reduce / job.sharded
    driver = wire_out = wire_back = 0.0
    idle = [0.0] * workers
    heapq.heapify(idle)
    ready: list[float] = []  # when the result of each task is at its worker, in their order
    used = {"driver": 0.0, "wire out": 0.0, "wire back": 0.0, "workers": 0.0}

    def start() -> None:
        nonlocal driver, wire_out
        driver += prepare
        wire_out = max(wire_out, driver) + out
        began = max(heapq.heappop(idle), wire_out + network.latency)
        heapq.heappush(idle, began + work)
        ready.append(began + work)
        used["driver"] += prepare
        used["wire out"] += out
        used["workers"] += work / workers

    window = min(job.tasks, max(2, WINDOW * workers))
    for _ in range(window):
        start()
    for done in range(job.tasks):
        wire_back = max(wire_back, ready[done] + network.latency) + back
        driver = max(driver, wire_back) + add
        used["wire back"] += back
        used["driver"] += add
        if done + window < job.tasks:
            start()
    seconds = max(driver, 1e-12)
    return Outcome(seconds, {name: value / seconds for name, value in used.items()})


def hidden_markov(words: int, classes: int, tokens: float, how: str, speed: float = 15_000.0) -> Job:
    """A pass of batch EM, by how the statistics travel.

    ``"dense"``: the whole table of words by classes goes out and comes back with each task. ``"sparse"``: the rows of
    the words of a task only, as Spinney does it. ``"sharded"``: the same, with 16 processes that hold the table between
    them. ``speed`` is in tokens a second of one core, at 512 classes.
    """
    in_task = 131_072.0
    distinct = min(words, 9.0 * in_task**0.62)  # of running text (Heaps' law)
    rows = words if how == "dense" else distinct
    size, tables = rows * classes * 4.0, classes * classes * 4.0
    touch = (size + tables) / 4e9  # one sweep through memory
    return Job(
        tasks=max(1, round(tokens / in_task)), work=in_task / speed * classes / 512, sent=size + tables,
        received=size + tables, prepare=touch, reduce=2 * touch, sharded=16 if how == "sharded" else 1,
    )  # fmt: skip


def prediction(words: int = 1_000_000, classes: int = 512, tokens: float = 1e9) -> str:
    """A table of workers by how statistics travel."""
    lines = [
        f"### Predicted: a pass of batch EM, {words:,} words, {classes} classes, {tokens:.0e} tokens, 10 gigabits",
        "",
        "| workers | dense, s | full first | sparse, s | full first | sparse and sharded by 16, s | full first |",
        "|---:|---:|---|---:|---|---:|---|",
    ]
    for workers in (8, 32, 100, 316, 1000):
        cells = []
        for how in ("dense", "sparse", "sharded"):
            found = simulated(hidden_markov(words, classes, tokens, how), workers)
            cells.append(f"{found.seconds:,.0f} | {found.first} {100 * found.busy[found.first]:.0f} %")
        lines.append(f"| {workers:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spin(n: int, size: int, shard: np.ndarray) -> np.ndarray:
    """Work that takes a while, with a result of some size."""
    value = float(shard[0])
    for i in range(n):
        value = (value * 1.0000001 + i) % 7.0
    return np.full(size, value)


def checked(quick: bool = True, cores: int | None = None) -> str:
    """A job on 1, 2 and 4 processes, and what the simulation says of it, from what it took with one."""
    tasks, n, size = (24, 2_000_000, 250_000) if quick else (60, 6_000_000, 1_000_000)
    cores = cores or spinney.parallel.default_threads()
    lines = [
        "### The simulation and the clock: equal tasks on processes here",
        "",
        f"{tasks} tasks, {8 * size / 1e6:g} MB each way, {cores} cores. From one process: ",
        "",
        "| processes | measured, s | simulated, s | ratio | full first |",
        "|---:|---:|---:|---:|---|",
    ]
    job: Job | None = None
    for workers in (1, 2, 4):
        with spinney.on(f"local:{workers}"):
            seconds, driver = min(
                _measured(Pure(spin, n, size), size, tasks) for _ in range(1 if quick else 3)
            )
        if job is None:  # what goes over no network is part of the driver's time and of the worker's
            job = Job(tasks, seconds / tasks, 0.0, 0.0, prepare=driver / 2, reduce=driver / 2)
            lines[2] += (
                f"{1000 * job.work:.0f} ms of a worker and {1000 * driver:.1f} ms of the driver for a task."
            )
        found = simulated(job, workers, Network(latency=0.0), cores)
        lines.append(
            f"| {workers} | {seconds:.2f} | {found.seconds:.2f} | {found.seconds / seconds:.2f} | {found.first} |"
        )
    return "\n".join(lines) + "\n"


def _measured(run: Pure[np.ndarray], size: int, tasks: int) -> tuple[float, float]:
    """Seconds of a pass, and seconds of the driver's processor for a task, once everything is warm."""
    shards = [np.full(size, float(i)) for i in range(tasks)]
    for _ in in_order(run, shards[:8], 1):
        pass
    began, used = time.perf_counter(), time.process_time()
    for _ in in_order(run, shards, 1):
        pass
    return time.perf_counter() - began, (time.process_time() - used) / tasks


def main() -> None:
    """Print the prediction, after the check if it is asked for."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.cluster_simulator", description=main.__doc__)
    options.add_argument(
        "--check", action="store_true", help="run a job on 1, 2 and 4 processes here, and compare"
    )
    options.add_argument("--quick", action="store_true", help="a smaller job for the check")
    options.add_argument("--cores", type=int, help="cores of this machine that are free (default: all)")
    given = options.parse_args()
    if given.check:
        print(checked(given.quick, given.cores))
    print(prediction())


if __name__ == "__main__":
    main()
