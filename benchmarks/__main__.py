"""``python -m benchmarks NAME … | all [--quick]``: each benchmark in a process of its own, then the page of all."""

from __future__ import annotations

import argparse
import sys
import time
from difflib import get_close_matches

from benchmarks.running import in_a_process
from benchmarks.summary import Run, keep_run, write_summary

NAMES = (
    "linear",
    "groups",
    "structured",
    "prox",
    "crf",
    "brown",
    "hmm",
    "embed",
    "embed_coding",
    "embed_hmm",
    "embed_topics",
    "lm",
    "lm_scale",
    "parsing",
    "pipeline",
    "pipeline_more",
    "methods",
    "serve",
    "startup",
    "threads",
    "growth",
    "cluster",
    "cluster_faults",
)


def main(arguments: list[str]) -> int:
    """Run the named benchmarks; 1 if one of them failed, 2 for a wrong name."""
    options = _parser().parse_args(arguments)
    run = Run(options.quick)
    for name in [] if options.summary else _names(options.names):
        started = time.perf_counter()
        state, reason = in_a_process(name, options.quick)
        if state == "done":
            run.seconds[name] = time.perf_counter() - started
        else:
            told = run.skipped if state == "skipped" else run.failed
            told[name] = reason
            print(f"{name} {state}: {reason}", file=sys.stderr, flush=True)
        keep_run(run)  # after each, so that an interrupted run has a page, too
        write_summary(NAMES)
    print(f"Summary of all benchmarks: {write_summary(NAMES)}")
    return 1 if run.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time Spinney and its peers on the same input, and write benchmarks/results.",
        epilog=f"NAME is one of {', '.join(NAMES)}, or all. Those on real text read it under $SPINNEY_DATA.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="the benchmarks to run, or all")
    parser.add_argument(
        "--quick", action="store_true", help="smaller or fewer cases; kept apart, in results/quick"
    )
    parser.add_argument(
        "--summary", action="store_true", help="only write results/README.md anew, from what is stored"
    )
    return parser


def _names(given: list[str]) -> list[str]:
    """The benchmarks that are meant, in the order given; or an exit that says what is wrong."""
    parser = _parser()
    if not given:
        parser.error("name a benchmark, or all")
    if "all" in given:
        return list(NAMES)
    for name in given:
        if name not in NAMES:
            near = get_close_matches(name, [*NAMES, "all"], 1)
            parser.error(
                f"no benchmark {name!r}: "
                + (f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}")
            )
    return list(dict.fromkeys(given))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
