"""The page of all benchmarks, ``results/README.md``: made from the comparisons that they keep, never typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.comparisons import RESULTS, Comparison, Stored, load, write_text

HEAD = (
    "| task | what is compared | input | peer | peer's figure | Spinney's | ratio | same result? |\n"
    "|---|---|---|---|---:|---:|---:|---|"
)
ABOUT_EQUAL = 0.05  # ratios this near to 1 are within what a machine's moods change
PARTS = {
    "peer": (
        "Against other tools",
        "Both on the same input, on the same machine, in one process. Where there are several peers, the fastest of "
        "those that reach the same objective is the one shown; if none does, the one that comes nearest.",
    ),
    "own": (
        "Against Spinney's own plainer methods",
        "What a structured or spectral method costs or saves where no other tool has it.",
    ),
    "reference": (
        "Reference figures, measured separately",
        "The peers' figures were measured once on a machine of the same kind, not in this run: read these ratios as "
        "orders of magnitude.",
    ),
}


@dataclass
class Run:
    """What happened to the benchmarks of a run: seconds of those that ended, reasons for those that did not."""

    quick: bool
    seconds: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def keep_run(run: Run, folder: Path = RESULTS) -> None:
    """Remember the last run, so that the page can be made anew from the files alone."""
    write_text(folder / "run.json", json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n")


def last_run(folder: Path = RESULTS) -> Run:
    """The last run that was kept, or one in which nothing was run."""
    path = folder / "run.json"
    return Run(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else Run(quick=False)


def write_summary(names: Sequence[str], folder: Path = RESULTS) -> Path:
    """Write ``README.md`` into the folder of results."""
    path = folder / "README.md"
    write_text(path, summary(names, last_run(folder), folder))
    return path


def summary(names: Sequence[str], run: Run, folder: Path = RESULTS) -> str:
    """The page: figures of the run where there are any, else those that are stored, which are marked."""
    shown: list[tuple[Stored, str]] = []
    for name in names:
        if name in run.seconds:
            tries = [(run.quick, "")]
        else:
            tries = [(False, " (full run)"), (True, " (earlier quick run)")]
        found = ((load(name, quick, folder), mark) for quick, mark in tries)
        shown += [(stored, mark) for stored, mark in found if stored is not None][:1]
    parts = [_head(run)]
    for kind in PARTS:
        rows = [(row, mark) for stored, mark in shown for row in stored.rows if row.kind == kind]
        if rows:
            parts.append(_part(kind, rows))
    parts += [_not_run(run), _machine([stored for stored, mark in shown if not mark]), _repeat(run)]
    return "\n".join(part for part in parts if part)


def _head(run: Run) -> str:
    kind = "quick" if run.quick else "full"
    origin = f"Figures are those of the last run (a {kind} one)" if run.seconds else "Figures are stored ones"
    return (
        "# Benchmarks: Spinney beside its peers\n\n"
        "This page is written by `python -m benchmarks`; do not edit it.\n\n"
        f"{origin}; rows from elsewhere are marked. A ratio says how many times as fast as the peer Spinney is: above "
        "1 it is faster, below 1 slower. The last column says whether Spinney's result is as good as the peer's.\n"
    )


def _part(kind: str, rows: Sequence[tuple[Comparison, str]]) -> str:
    title, note = PARTS[kind]
    lines = [_line(row, mark) for row, mark in rows]
    return "\n".join([f"## {title}", "", note, "", HEAD, *lines, "", _losses([row for row, _ in rows]), ""])


def _line(row: Comparison, mark: str) -> str:
    answer = {"same": "yes", "better": "better", "worse": "**worse**"}[row.verdict]
    cells = [
        row.task + mark, row.what, row.input, row.peer, _figure(row.theirs, row.unit), _figure(row.ours, row.unit),
        _ratio(row.ratio), f"{answer}: {row.quality}",
    ]  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return ""
    told = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"
    if _slower(ratio):
        return f"**{told} (slower)**"
    return f"{told} (about equal)" if abs(ratio - 1) <= ABOUT_EQUAL else told


def _slower(ratio: float | None) -> bool:
    return ratio is not None and ratio < 1 - ABOUT_EQUAL


def _losses(rows: Sequence[Comparison]) -> str:
    """Where Spinney loses, in words."""
    slower = [f"{row.task} ({row.what})" for row in rows if _slower(row.ratio)]
    worse = [f"{row.task} ({row.what})" for row in rows if row.verdict == "worse"]
    said = [
        f"Spinney {verb} in {len(found)} of {len(rows)} rows" + (f": {'; '.join(found)}." if found else ".")
        for verb, found in (("is slower", slower), ("has a worse result", worse))
    ]
    return " ".join(said)


def _not_run(run: Run) -> str:
    lines = [f"| {name} | skipped | {_one_line(reason)} |" for name, reason in run.skipped.items()]
    lines += [f"| {name} | **failed** | {_one_line(reason)} |" for name, reason in run.failed.items()]
    if not lines:
        return ""
    return "\n".join(
        ["## Not measured in this run", "", "| benchmark | | why |", "|---|---|---|", *lines, ""]
    )


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _machine(stored: Sequence[Stored]) -> str:
    if not stored:
        return ""
    versions: dict[str, str] = {}
    for one in stored:
        versions.update(one.machine["versions"])
    first = stored[0].machine
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        "## Machine\n\n"
        f"{first['processors']} processors, {first['system']}, Python {first['python']}; {told}.\n"
    )


def _repeat(run: Run) -> str:
    minutes = sum(run.seconds.values()) / 60
    took = f" The last run took {minutes:.1f} minutes in all." if run.seconds else ""
    return (
        "## How to repeat this\n\n"
        "```text\n"
        "pip install -e '.[dev,bench]'\n"
        "export SPINNEY_DATA=...              # the folder of corpora\n"
        "python -m benchmarks all --quick     # smaller or fewer cases: less than 20 minutes on two cores\n"
        "python -m benchmarks all             # everything\n"
        "python -m benchmarks crf lm          # some of them\n"
        "python -m benchmarks --summary       # this page anew, from the stored figures\n"
        "```\n\n"
        f"Run it on a machine that does nothing else.{took} "
        "A full run of `NAME` writes `NAME.md`, all its tables, and `NAME.json`, the rows of this page; a quick run "
        "writes `quick/NAME.md` and `quick/NAME.json`, and never touches full results. A benchmark whose peer or "
        "corpus is missing is skipped, and said to be.\n"
    )
