"""What a benchmark says in one line: the same work by Spinney and by a peer, and whether the results are as good.

Benchmarks keep their comparisons as JSON beside their tables; ``summary`` makes the page of all from these files.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from benchmarks.harness import Row

RESULTS = Path(__file__).parent / "results"
PACKAGES = {  # as they are installed, and as they are imported
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "scikit-learn": "sklearn",
    "celer": "celer",
    "skglm": "skglm",
    "group-lasso": "group_lasso",
    "spams-bin": "spams",
    "python-crfsuite": "pycrfsuite",
    "hmmlearn": "hmmlearn",
    "gensim": "gensim",
    "kenlm": "kenlm",
    "nltk": "nltk",
}

Verdict = Literal["same", "better", "worse"]
# A peer timed in the same process; a plainer method of Spinney's own; a tool that was measured separately.
Kind = Literal["peer", "own", "reference"]


@dataclass(frozen=True)
class Comparison:
    """One row of the page: ``unit`` is ``s``, ``MB`` or something a second; without figures, results are compared."""

    task: str
    what: str
    input: str
    peer: str
    unit: str
    ours: float | None
    theirs: float | None
    verdict: Verdict
    quality: str
    kind: Kind = "peer"

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the peer Spinney is, or how many times as small its file."""
        if self.ours is None or self.theirs is None:
            return None
        return self.theirs / self.ours if self.unit in ("s", "MB") else self.ours / self.theirs


@dataclass(frozen=True)
class Stored:
    """The comparisons of one benchmark, and the machine they were made on."""

    name: str
    quick: bool
    machine: dict[str, Any]
    rows: tuple[Comparison, ...]


def judge(ours: float, theirs: float, *, higher: bool, tolerance: float) -> Verdict:
    """Whether our result is as good as theirs, up to a relative tolerance."""
    gain = (ours - theirs if higher else theirs - ours) / abs(theirs)
    if abs(gain) <= tolerance:
        return "same"
    return "better" if gain > 0 else "worse"


def fastest_peer(rows: Sequence[Row], accuracy: float, task: str, what: str, input: str) -> Comparison:
    """A race as one comparison: the first row is ours, and the quickest peer that got there stands for all.

    Where no peer got there, it is the one that came nearest.
    """
    ours, *others = rows
    peers = [row for row in others if not row.name.startswith("Spinney")]
    there = [row for row in peers if row.excess <= accuracy]
    peer = min(there, key=lambda row: row.seconds) if there else min(peers, key=lambda row: row.excess)
    reached = ours.excess <= accuracy
    verdict: Verdict = "same" if reached == bool(there) else "better" if reached else "worse"
    if verdict == "same" and reached:
        quality = f"objectives within {accuracy:g} of the best"
    else:
        quality = (
            f"above the best objective by {max(ours.excess, 0):.0e}, the peer by {max(peer.excess, 0):.0e}"
        )
    name = peer.name.partition(" (")[0]
    told = f"{name}, the fastest of {len(there)}" if len(there) > 1 else name
    return Comparison(task, what, input, told, "s", ours.seconds, peer.seconds, verdict, quality)


def machine() -> dict[str, Any]:
    """The processors, Python, and the versions of what has been imported."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = {name: metadata.version(name) for name, module in PACKAGES.items() if module in sys.modules}
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processors": processors,
        "python": platform.python_version(),
        "versions": versions,
    }


def place(name: str, quick: bool, suffix: str, folder: Path = RESULTS) -> Path:
    """Where a benchmark's results are: those of quick runs apart, so that they never replace full ones."""
    return (folder / "quick" if quick else folder) / f"{name}{suffix}"


def store(stored: Stored, folder: Path = RESULTS) -> None:
    """Keep comparisons as JSON; the ratio is there for other readers, and is never read back."""
    path = place(stored.name, stored.quick, ".json", folder)
    rows = [{**asdict(row), "ratio": row.ratio} for row in stored.rows]
    content = {"name": stored.name, "quick": stored.quick, "machine": stored.machine, "rows": rows}
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def load(name: str, quick: bool, folder: Path = RESULTS) -> Stored | None:
    """The comparisons that were kept, if any were."""
    path = place(name, quick, ".json", folder)
    if not path.is_file():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        Comparison(**{key: value for key, value in row.items() if key != "ratio"}) for row in content["rows"]
    ]
    return Stored(content["name"], content["quick"], content["machine"], tuple(rows))


def write_text(path: Path, text: str) -> None:
    """Write beside the target and rename into place, so that an interrupted run leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
