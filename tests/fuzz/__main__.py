"""``make fuzz``: attacks on every reader, on model files of every kind, and by command lines.

    python tests/fuzz --minutes 20

Prints a table of how the inputs ended, and how to repeat each input that did not end clean; exits with 1 if there
is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import command_lines
import model_files
import readers
from running import FOLDER, Count, Harness, Plan, attempt_one, batches, numbers, run_together, table


def harnesses() -> list[Harness]:
    """All harnesses; a group is named by what comes before the slash."""
    return [*readers.HARNESSES, *model_files.HARNESSES, *command_lines.HARNESSES]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="for all harnesses together (default: 20)"
    )
    parser.add_argument("--only", default="", help="a harness, or a group of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--case", type=int, help="repeat one input of the harness, and show what it raises")
    given = parser.parse_args()
    chosen = [h for h in harnesses() if given.only in ("", h.name, h.name.partition("/")[0])]
    if not chosen:
        parser.error(f"no harness {given.only!r}; there are {', '.join(h.name for h in harnesses())}")
    if given.case is not None:
        return repeat(chosen[0], given.seed, given.case)
    share = given.minutes * 60 * given.processes / sum(h.share for h in chosen)
    plans = [Plan(h, share * h.share) for h in sorted(chosen, key=lambda h: -h.share)]
    with ThreadPoolExecutor(given.processes) as pool:
        found = pool.map(lambda some: tell(run_together(some, given.seed)), batches(plans))
        counts = [count for some in found for count in some]
    counts.sort(key=lambda count: [h.name for h in chosen].index(count.name))
    print(table(counts))
    for count in counts:
        for case, how, what in count.failures[:3]:
            print(f"\n{how}: python tests/fuzz --only {count.name} --seed {given.seed} --case {case}\n{what}")
    return 1 if any(count.failures for count in counts) else 0


def tell(counts: list[Count]) -> list[Count]:
    """Say on standard error that harnesses are through."""
    for count in counts:
        failed = count.inputs - count.ended["clean"]
        print(f"{count.name}: {count.inputs:,} inputs, {failed} failed", file=sys.stderr, flush=True)
    return counts


def repeat(harness: Harness, seed: int, case: int) -> int:
    """Try one input again."""
    with tempfile.TemporaryDirectory(prefix="spinney-fuzz-", dir=FOLDER) as folder:
        how, what = attempt_one(harness.prepare(Path(folder)), numbers(seed, harness.name, case))
    print(f"{how}\n{what}".rstrip())
    return 0 if how == "clean" else 1


if __name__ == "__main__":
    sys.exit(main())
