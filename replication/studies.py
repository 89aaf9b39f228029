"""A replication is a few studies, each a section of tables, run in any order and in as many goes as it takes.

A report keeps the section of each study as it was last run. So a replication that takes hours can be run in pieces
(``--only``), goes on where it was stopped (``--missing``), and says of every section whether it is of a quick run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import spinney
from spinney.errors import SpinneyError
from spinney.files import replacing

Setting = TypeVar("Setting")

RESULTS = Path(__file__).parent / "results"
_MARK = re.compile(r"^<!-- (quick|full) study: (.+) -->\n", re.MULTILINE)
_END = "<!-- end of the studies -->\n"


class Section(NamedTuple):
    """What a study gave, and whether that was in a quick run."""

    quick: bool
    text: str


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
    """Read the command line, run the studies that it names, print their tables and keep them in the report.

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
    parser.add_argument(
        "--missing", action="store_true", help="leave out studies that the report has in full"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cache", type=Path, help="where to keep texts and models; by default for this run only"
    )
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.md", help="the report")
    parser.add_argument("--cluster", help="where its fits run: a Dask scheduler, or local[:N]")
    arguments = parser.parse_args()
    wanted = arguments.only or list(studies)
    if arguments.missing:
        known = sections(arguments.out)
        wanted = [study for study in wanted if study not in known or known[study].quick]
    try:
        with tempfile.TemporaryDirectory() as folder, spinney.on(arguments.cluster):
            cache = arguments.cache or Path(folder)
            cache.mkdir(parents=True, exist_ok=True)
            given = setting(arguments.quick, arguments.seed, cache)
            for study in wanted:
                started = _clocks()
                text = studies[study](given).rstrip("\n")
                how = "A quick run" if arguments.quick else "A full run"
                text += f"\n\n{how}, seed {arguments.seed}: {_spent(started)} for this study.\n"
                print(text, flush=True)
                new = {study: Section(arguments.quick, text)}
                # Read again: another process may have kept other studies meanwhile.
                keep(
                    report(title, told, ending, studies, merged(sections(arguments.out), new)), arguments.out
                )
    except SpinneyError as error:
        raise SystemExit(str(error)) from None


def merged(known: Mapping[str, Section], new: Mapping[str, Section]) -> dict[str, Section]:
    """The sections of a report with new ones; a quick run never takes the place of a full one."""
    found = dict(known)
    for study, section in new.items():
        if section.quick and study in known and not known[study].quick:
            print(f"{study}: the report keeps its full run", file=sys.stderr)
        else:
            found[study] = section
    return found


def report(title: str, told: str, ending: str, order: Iterable[str], found: Mapping[str, Section]) -> str:
    """The report of all sections there are, in the order of the studies."""
    parts = [f"# {title}\n", f"{told}\n"] if told else [f"# {title}\n"]
    for study in order:
        if study in found:
            kind = "quick" if found[study].quick else "full"
            parts.append(f"<!-- {kind} study: {study} -->\n{found[study].text}")
    return "\n".join([*parts, _END + ending])


def sections(path: Path) -> dict[str, Section]:
    """The sections of a report, by the names of their studies; none where there is no report."""
    if not path.is_file():
        return {}
    _, *marked = _MARK.split(path.read_text(encoding="utf-8").partition(_END)[0])
    return {
        study: Section(kind == "quick", text.rstrip("\n") + "\n")
        for kind, study, text in zip(marked[::3], marked[1::3], marked[2::3])
    }


def keep(text: str, out: Path) -> None:
    """Write a report."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as file:
        file.write(text.encode())


class Kept:
    """Values by key, each found once, and kept in a JSON file if one is named, so that a stopped run goes on."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known = json.loads(path.read_text()) if path is not None and path.is_file() else {}

    def get(self, key: str, find: Callable[[], Any]) -> Any:
        """What is known, or found now."""
        if key not in self.known:
            self.known[key] = find()
            if self.path is not None:
                with replacing(self.path) as file:
                    file.write(json.dumps(self.known, indent=0).encode())
        return self.known[key]


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _spent(since: tuple[float, float]) -> str:
    seconds, of_processors = (now - then for now, then in zip(_clocks(), since))
    return f"{seconds:.0f} s ({of_processors:.0f} s of processors)"
