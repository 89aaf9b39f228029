"""Runs fuzzing harnesses in processes of their own, and counts how their inputs end.

A harness makes inputs from random numbers and gives each to Spinney. An input ends *clean* if Spinney takes it, or
refuses it with one of its own errors on one line; as a *crash* if anything else is raised, if the process dies or if
it needs more memory than :data:`MEMORY`; as a *hang* if it takes too long; and as a *silent change* if the harness
finds a wrong result that nobody was told of. The numbers of an input come from the seed, the name of the harness and
the number of the input alone, so that any input can be made again.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spinney.errors import SpinneyError

#: What one process may use beyond its libraries, in bytes.
MEMORY = 4 << 30
#: The inputs that a harness gets even if its preparation took all of its time.
LEAST = 20
KINDS = ("clean", "crash", "hang", "silent change")
#: A process runs harnesses for at least as many seconds: to start takes it a few.
TOGETHER = 60.0
#: Files in memory, where the system has some, so that inputs are written fast.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

Attempt = Callable[[np.random.Generator], None]


class SilentChange(Exception):
    """A result that is wrong although nothing was said."""


class Harness(NamedTuple):
    """``prepare`` gets an empty folder and gives the function that makes and tries one input."""

    name: str
    prepare: Callable[[Path], Attempt]
    share: float = 1.0  # of the time, relative to the other harnesses
    patience: float = 20.0  # seconds for one input


class Plan(NamedTuple):
    """A harness, and for how many seconds it runs; its preparation counts, but it always gets to its first input."""

    harness: Harness
    seconds: float


@dataclass
class Count:
    """How the inputs of a harness ended."""

    name: str
    inputs: int = 0
    ended: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    seconds: float = 0.0
    failures: list[tuple[int, str, str]] = field(default_factory=list)  # input, how it ended, what was raised


def numbers(seed: int, name: str, case: int) -> np.random.Generator:
    """The random numbers of one input."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), case])


def attempt_one(attempt: Attempt, rng: np.random.Generator) -> tuple[str, str]:
    """How an input ended, and what was raised if it did not end clean."""
    try:
        attempt(rng)
    except SpinneyError as error:
        if "\n" in str(error) or not str(error):
            return "crash", f"not one line: {error!r}"
        return "clean", ""
    except SilentChange as change:
        return "silent change", str(change)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "crash", traceback.format_exc()
    return "clean", ""


def batches(plans: Sequence[Plan]) -> list[list[Plan]]:
    """The plans of each process: harnesses that run for a short time share one."""
    found: list[list[Plan]] = []
    for plan in plans:
        if not found or sum(other.seconds for other in found[-1]) >= TOGETHER:
            found.append([])
        found[-1].append(plan)
    return found


class _State:
    """What a process tells of itself in shared memory: where it is, and how the inputs of each harness ended."""

    def __init__(self, processes: Any, n: int) -> None:
        self.now = processes.Array("d", 3)  # number of the harness and of the input, and when the input began
        self.ended = processes.Array("q", n * len(KINDS))
        self.seconds = processes.Array("d", n)


def _work(plans: Sequence[Plan], seed: int, start: tuple[int, int], state: _State, results: Any) -> None:
    """What a process does: harness after harness, and input after input until the time of each is up."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory(prefix="spinney-fuzz-", dir=FOLDER) as folder:
        for place in range(start[0], len(plans)):
            (harness, seconds), first = plans[place], start[1] if place == start[0] else 0
            case = first
            before, began = state.seconds[place], time.monotonic()
            state.now[:] = [place, case, 0.0]
            inside = Path(folder) / str(place)
            inside.mkdir()
            try:
                attempt = harness.prepare(inside)
            except Exception:
                results.put((place, case, "crash", traceback.format_exc()))
                state.ended[place * len(KINDS) + 1] += 1
                continue
            while True:
                state.now[:] = [place, case, time.monotonic()]
                how, what = attempt_one(attempt, numbers(seed, harness.name, case))
                state.now[2] = 0.0
                state.ended[place * len(KINDS) + KINDS.index(how)] += 1
                state.seconds[place] = before + time.monotonic() - began
                if how != "clean":
                    results.put((place, case, how, what))
                case += 1
                if state.seconds[place] >= seconds and case - first >= LEAST:
                    break
    results.put(None)


def run_together(plans: Sequence[Plan], seed: int) -> list[Count]:
    """Run harnesses one after the other in one process; if it dies, another goes on with the next input."""
    processes = multiprocessing.get_context("spawn")
    counts = [Count(plan.harness.name) for plan in plans]
    state = _State(processes, len(plans))
    start, done = (0, 0), False
    while not done:
        results = processes.SimpleQueue()
        worker = processes.Process(target=_work, args=(plans, seed, start, state, results))
        worker.start()
        hung = False
        while worker.is_alive() and not done:
            worker.join(0.05)
            done = _collect(results, counts)
            place, _, began = state.now[:]  # read at once: the input may end meanwhile
            patience = plans[int(place)].harness.patience
            hung = began > 0 and time.monotonic() - began > patience
            if hung:
                worker.kill()
                worker.join()
        worker.join()
        done = _collect(results, counts) or done
        if not done:
            place, case = int(state.now[0]), int(state.now[1])
            how = "hang" if hung else "crash"
            what = f"after {patience:g} s" if hung else f"the process died with {worker.exitcode}"
            state.ended[place * len(KINDS) + KINDS.index(how)] += 1
            state.seconds[place] += patience if hung else 0.0
            counts[place].failures.append((case, how, what))
            start = (place, case + 1)
            if state.seconds[place] >= plans[place].seconds:
                start = (place + 1, 0)
                done = start[0] == len(plans)
    for place, count in enumerate(counts):
        count.ended = dict(zip(KINDS, state.ended[place * len(KINDS) : (place + 1) * len(KINDS)]))
        count.inputs = sum(count.ended.values())
        count.seconds = state.seconds[place]
    return counts


def run_harness(harness: Harness, seconds: float, seed: int) -> Count:
    """Give one harness some seconds, in a process of its own."""
    return run_together([Plan(harness, seconds)], seed)[0]


def _collect(results: Any, counts: list[Count]) -> bool:
    """Take what a process has reported; whether it has ended as it should."""
    while not results.empty():
        found = results.get()
        if found is None:
            return True
        place, *failure = found
        counts[place].failures.append(tuple(failure))
    return False


def table(counts: list[Count]) -> str:
    """The counts as a table, with a total."""
    head = ["harness", "inputs", *KINDS, "inputs/s"]
    rows = [[c.name, c.inputs, *c.ended.values(), round(c.inputs / max(c.seconds, 1e-9))] for c in counts]
    total = [sum(row[column] for row in rows) for column in range(1, 2 + len(KINDS))]
    cells = [head, *([str(row[0]), *(f"{n:,}" for n in row[1:])] for row in rows)]
    cells.append(["total", *(f"{n:,}" for n in total), ""])
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        )
        for row in cells
    )
