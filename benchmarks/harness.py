"""A race: several solvers of one problem, in one process, interleaved, each timed to the same objective.

Every contestant has a ladder of settings from loose to tight. The loosest setting whose objective is within the asked
accuracy of the best known optimum is the one that is timed, so nobody is paid for stopping early or charged for
stopping late. Times are the best of several rounds; rounds go around all contestants, so that a slow minute of
the machine hits everybody.
"""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison, Stored, machine, place, store, write_text


@dataclass
class Contestant:
    """A solver: ``run(setting)`` returns a solution, for settings from loose to tight.

    A ``slow`` one runs once at each setting: no warm-up, no rounds.
    """

    name: str
    run: Callable[[Any], Any]
    settings: Sequence[Any]
    slow: bool = False


@dataclass
class Row:
    """What came out for one contestant."""

    name: str
    setting: Any
    seconds: float
    excess: float
    size: int


def race(
    contestants: Sequence[Contestant],
    objective: Callable[[Any], float],
    *,
    accuracy: float = 1e-6,
    rounds: int = 3,
    size: Callable[[Any], int] = np.count_nonzero,
) -> list[Row]:
    """Time every contestant to within ``accuracy`` (relative) of the best objective that any of them reaches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _race(contestants, objective, accuracy, rounds, size)


def _race(
    contestants: Sequence[Contestant],
    objective: Callable[[Any], float],
    accuracy: float,
    rounds: int,
    size: Callable[[Any], int],
) -> list[Row]:
    for contestant in contestants:
        if not contestant.slow:
            contestant.run(contestant.settings[0])  # compile, load, touch
    optimum = objective(contestants[0].run(contestants[0].settings[-1]))
    chosen: list[tuple[Any, float, int]] = []
    best = [np.inf] * len(contestants)
    for i, contestant in enumerate(contestants):
        for setting in contestant.settings:
            print(f"{contestant.name} at {setting} …", file=sys.stderr, flush=True)
            started = time.perf_counter()
            solution = contestant.run(setting)
            if contestant.slow:
                best[i] = time.perf_counter() - started
            excess = (objective(solution) - optimum) / abs(optimum)
            if excess <= accuracy:
                break
        chosen.append((setting, excess, size(solution)))
    for _ in range(rounds):
        for i, contestant in enumerate(contestants):
            if contestant.slow:
                continue
            gc.collect()
            started = time.perf_counter()
            contestant.run(chosen[i][0])
            best[i] = min(best[i], time.perf_counter() - started)
    return [
        Row(contestant.name, setting, best[i], excess, active)
        for i, (contestant, (setting, excess, active)) in enumerate(zip(contestants, chosen))
    ]


def table(title: str, rows: Sequence[Row], accuracy: float = 1e-6) -> str:
    """A Markdown table; the ratio is a contestant's time over that of the first row."""
    lines = [
        f"### {title}",
        "",
        "| solver | setting | seconds | ratio to Spinney | relative excess | non-zero |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        missed = "" if row.excess <= accuracy else " (not reached)"
        lines.append(
            f"| {row.name} | {row.setting} | {row.seconds:.4f} | {row.seconds / rows[0].seconds:.2f} | "
            f"{row.excess:.1e}{missed} | {row.size:,} |"
        )
    return "\n".join(lines) + "\n"


def publish(
    name: str,
    sections: Sequence[str],
    comparisons: Sequence[Comparison],
    quick: bool,
    how: str = "best of several interleaved rounds",
) -> None:
    """Print the sections, and keep them and the comparisons in ``benchmarks/results``, those of quick runs apart."""
    here = machine()
    versions = ", ".join(f"{package} {version}" for package, version in here["versions"].items())
    title = f"# Benchmark: {name}" + (" (quick: smaller or fewer cases)" if quick else "")
    head = f"{title}\n\nPython {here['python']}, {versions}; {here['processors']} processors; {how}.\n"
    text = "\n".join([head, *sections]).rstrip("\n") + "\n"
    write_text(place(name, quick, ".md"), text)
    store(Stored(name, quick, here, tuple(comparisons)))
    print(text)
