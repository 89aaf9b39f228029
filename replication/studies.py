"""A replication is a few studies, each a section of tables: run one after the other, kept as far as they have come."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import spinney
from spinney.errors import SpinneyError
from spinney.files import replacing

Setting = TypeVar("Setting")


def run_studies(
    studies: Mapping[str, Callable[[Setting], str]],
    setting: Callable[[bool, int, Path], Setting],
    *,
    title: str,
    ending: str,
    name: str,
    about: str,
    quick: str,
    told: str = "",
) -> None:
    """Read the command line, run the studies that it names, print their tables and keep them.

    Parameters
    ----------
    studies
        The section that each study gives.
    setting
        What studies are given, made of: whether the run is a quick one, the seed, and a folder to keep things in.
    title, told, ending
        Of the report: its head line, what to know before the tables, and what to know after them.
    name
        Of the report's file in ``results``.
    about, quick
        For the help of the command: what it does, and what a quick run leaves out.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--only", nargs="+", choices=studies, metavar="NAME", help=", ".join(studies))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cache", type=Path, help="where to keep texts and models; by default for this run only"
    )
    parser.add_argument("--out", type=Path, help="where to keep the tables")
    parser.add_argument("--cluster", help="where its fits run: a Dask scheduler, or local[:N]")
    arguments = parser.parse_args()
    out = arguments.out
    if out is None and arguments.only is None:
        out = Path(__file__).parent / "results" / f"{name}.md"
    how = "A quick run: each table says what was cut." if arguments.quick else "The full run."
    text = f"# {title}\n\n{how} Seed {arguments.seed}. {told}".rstrip() + "\n"
    print(text)
    begun = _clocks()
    try:
        with tempfile.TemporaryDirectory() as folder, spinney.on(arguments.cluster):
            cache = arguments.cache or Path(folder)
            cache.mkdir(parents=True, exist_ok=True)
            given = setting(arguments.quick, arguments.seed, cache)
            for study in arguments.only or studies:
                started = _clocks()
                part = f"{studies[study](given)}\n{_spent(started)} for this study.\n"
                print(part, flush=True)
                text += "\n" + part
                keep(text, out)
    except SpinneyError as error:
        raise SystemExit(str(error)) from None
    last = f"\n{ending}\n{_spent(begun)} in all.\n"
    print(last)
    keep(text + last, out)


def keep(text: str, out: Path | None) -> None:
    """Write a report as far as it has come, if there is a place for it."""
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as file:
            file.write(text.encode())


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _spent(since: tuple[float, float]) -> str:
    seconds, of_processors = (now - then for now, then in zip(_clocks(), since))
    return f"{seconds:.0f} s ({of_processors:.0f} s of processors)"
