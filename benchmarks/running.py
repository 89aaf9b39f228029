"""One benchmark at a time, each in a process of its own; what is not there is skipped."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Literal

from benchmarks.data import Missing

OWN = ("spinney", "benchmarks", "replication")  # what is missing here is no peer

Outcome = tuple[Literal["done", "skipped", "failed"], str]


def in_a_process(name: str, quick: bool) -> Outcome:
    """In a new process: neither what the last one left in memory nor a crash reaches the next one."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "outcome.json"
        command = [sys.executable, "-m", "benchmarks.running", name, "quick" if quick else "full", str(told)]
        status = subprocess.run(command, check=False).returncode
        if told.is_file():
            state, reason = json.loads(told.read_text(encoding="utf-8"))
            return state, reason
    return "failed", f"its process ended with status {status}" + " (out of memory, perhaps)" * (status == -9)


def run_one(name: str, quick: bool) -> Outcome:
    """Run a benchmark; a peer or a corpus that is not there is no failure."""
    print(f"== {name} ==", file=sys.stderr, flush=True)
    try:
        importlib.import_module(f"benchmarks.{name}").main(quick)
    except Missing as missing:
        return "skipped", str(missing)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package and package not in OWN:
            return "skipped", f"the package {package} is not installed (pip install 'spinney[dev,bench]')"
        return _failed(missing)
    except (Exception, SystemExit) as error:
        return _failed(error)
    return "done", ""


def _failed(error: BaseException) -> Outcome:
    traceback.print_exception(error)
    return "failed", f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps(run_one(sys.argv[1], sys.argv[2] == "quick")), encoding="utf-8")
