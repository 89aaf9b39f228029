"""``make kill``: fits of every task, stopped at random moments and run under hard conditions.

    python tests/fuzz/interruptions.py --moments 34

After kill -9, SIGTERM or Ctrl-C the model file must be the old one to the last byte, or a whole new one; SIGTERM must
end in 143 and Ctrl-C in 130 with one line, unless the fit was through. Under a condition (a full disk, little memory, a
home that is read-only, four processes without compiled kernels at once, a closed pipe, closed streams, ``LC_ALL=C``) a
command must do its work, or end with 1 or 2 and one line. Nothing may end in a traceback or by a signal of its own, and
no temporary file may outlive the next fit. Prints two tables, and exits with 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import spinney
from spinney.errors import SpinneyError

#: A fit of every task, of two seconds or so.
FITS = {
    "tag": "tag fit code-test.col --preset pos --lam 1",
    "classify": "classify fit modules-train --penalty l1",
    "classes": "classes fit manual.txt --method hmm --classes 20 --passes 3",
    "embed": "embed fit manual.txt",
    "lm": "lm fit manual.txt --method memoizer --sweeps 30",
    "parse": "parse fit code-test.mrg",
    "trend": "trend fit notes --lam 1",
}
#: Those that are run without compiled kernels, which takes minutes.
COLD = ("lm",)
SIGNALS = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}
_LINE = re.compile(r"spinney: .+\n")


def start(command: Iterable[str], **how: object) -> subprocess.Popen[str]:
    """Start Spinney, with Ctrl-C as in a terminal even if this program ignores it."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **how.pop("environment", {})}  # type: ignore[dict-item]
    limit: Callable[[], None] = how.pop("limit", lambda: None)  # type: ignore[assignment]

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        limit()

    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(
        [sys.executable, "-m", "spinney", *command],
        text=True,
        preexec_fn=prepare,
        env=environment,
        **how,  # type: ignore[call-overload]
    )


def fault(code: int, said: str, allowed: Iterable[int]) -> str:
    """What is wrong with how a command ended; empty if nothing is."""
    if "Traceback" in said or "Exception ignored" in said:
        return f"a traceback (exit code {code}): {said.strip().splitlines()[-1]}"
    if code not in allowed:
        return f"exit code {code}: {said.strip()[-200:]}"
    if code and len(_LINE.findall(said)) != 1:
        return f"exit code {code} without one line: {said[-200:]!r}"
    return ""


def intact(model: Path, old: bytes) -> str:
    """What is wrong with a model file that was to be replaced; empty if it is the old one, or whole."""
    if not model.exists():
        return "the model is gone"
    if model.read_bytes() != old:
        try:
            spinney.load(model)
        except SpinneyError as error:
            return f"a broken model: {error}"
    return ""


class Fit:
    """One fit in a folder of its own, with the time that it takes and the model that it makes."""

    def __init__(self, texts: Path, folder: Path, command: str) -> None:
        self.texts, self.model = texts, folder / "model.spinney"
        folder.mkdir()
        self.command = [*command.split(), "--threads", "1", "--quiet", "--model", str(self.model)]
        self.wait()  # compiles
        began = time.monotonic()
        self.wait()
        self.seconds = time.monotonic() - began
        self.old = self.model.read_bytes()

    def wait(self) -> None:
        """Run it to its end."""
        process = start(self.command, cwd=self.texts)
        said = process.communicate()[1]
        assert process.returncode == 0, said

    def stopped(self, number: signal.Signals, after: float) -> tuple[str, str]:
        """Send a signal after some seconds: how the fit ended, and what is wrong with that."""
        self.model.write_bytes(self.old)
        process = start(self.command, cwd=self.texts)
        time.sleep(after)
        process.send_signal(number)
        try:
            said = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return "hang", "still running a minute after the signal"
        saved = self.model.exists() and self.model.read_bytes() != self.old
        how = "through" if process.returncode == 0 else "saved" if saved else "old"
        # A signal that comes before our first line runs ends the process by itself, which shells show as the same code,
        # or with code 1, and perhaps with a traceback of Python's own start.
        if process.returncode in (-number, 1) and "spinney" not in said:
            return how, intact(self.model, self.old)
        allowed = (0, CODES.get(number, 0))
        wrong = intact(self.model, self.old) or fault(process.returncode, said, allowed)
        if not wrong and process.returncode == CODES.get(number) and self.left():
            wrong = "temporary files stay"
        return how, wrong

    def left(self) -> list[str]:
        """What is in the folder besides the model."""
        return [name for name in os.listdir(self.model.parent) if name != self.model.name]


def stop_at_random(name: str, fit: Fit, moments: int, seed: int) -> tuple[list[list[str]], list[str]]:
    """Rows of the table for one fit, a row for each signal, and what went wrong."""
    rows, faults = [], []
    rng = random.Random(f"{seed} {name}")
    for shown, number in SIGNALS.items():
        ended: Counter[str] = Counter()
        for _ in range(moments):
            after = rng.uniform(0.0, 1.05 * fit.seconds)
            how, wrong = fit.stopped(number, after)
            ended["wrong" if wrong else how] += 1
            if wrong:
                faults.append(f"{name}, {shown} after {after:.3f} s: {wrong}")
                print(faults[-1], file=sys.stderr, flush=True)
        fit.wait()  # removes what a killed process left behind
        if fit.left():
            ended["wrong"] += 1
            faults.append(f"{name}, {shown}: temporary files outlive the next fit: {fit.left()}")
        rows.append(
            [name, shown, str(moments), *(str(ended[how]) for how in ("old", "saved", "through", "wrong"))]
        )
        print(f"{name}: {shown}: {dict(ended)}", file=sys.stderr, flush=True)
    return rows, faults


# ------------------------------------------------------------------------------------------------ conditions


def under_conditions(name: str, fit: Fit, folder: Path) -> tuple[dict[str, Counter[str]], list[str]]:
    """How one fit ended under every condition, and what went wrong."""
    ended, faults = {}, []
    for condition, run in CONDITIONS.items():
        ended[condition] = Counter[str]()
        if run in (read_only_home, four_cold) and name not in COLD:
            continue
        for outcome, wrong in run(fit, folder):
            ended[condition]["wrong" if wrong else outcome] += 1
            if wrong:
                faults.append(f"{name}, {condition}: {wrong}")
                print(faults[-1], file=sys.stderr, flush=True)
    print(f"{name}: conditions done", file=sys.stderr, flush=True)
    return ended, faults


Outcomes = Iterable[tuple[str, str]]


def once(fit: Fit, allowed: Iterable[int] = (0, 1, 2), **how: object) -> tuple[str, str]:
    """Run a fit under a condition: whether it was done or refused, and what is wrong."""
    fit.model.write_bytes(fit.old)
    process = start(fit.command, cwd=fit.texts, **how)
    said = process.communicate()[1] or ""
    wrong = fault(process.returncode, said, allowed) or intact(fit.model, fit.old)
    if not wrong and fit.left():
        wrong = f"temporary files stay: {fit.left()}"
    return ("done" if process.returncode == 0 else "refused"), wrong


def full_disk(fit: Fit, folder: Path) -> Outcomes:
    """No file may grow beyond some size: that of the model, of compiled kernels, and of temporary files."""
    for size in (0, 1000, len(fit.old) // 2, len(fit.old) + 4096):
        yield once(fit, limit=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))  # type: ignore[misc]


def full_output(fit: Fit, folder: Path) -> Outcomes:
    """Standard output is on a full disk."""
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            yield once(fit, allowed=(2,), stdout=full)


def little_memory(fit: Fit, folder: Path) -> Outcomes:
    """A limit on the address space."""
    for megabytes in (200, 400, 600, 800, 1200):
        limit = megabytes << 20
        yield once(fit, limit=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))  # type: ignore[misc]


def read_only_home(fit: Fit, folder: Path) -> Outcomes:
    """Compiled kernels can be kept nowhere; a file where a folder is needed stops root as well."""
    package = Path(spinney.__file__).parent
    copy, blocked = folder / "copy" / "spinney", folder / "blocked"
    if not copy.exists():
        copy.parent.mkdir(parents=True)
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for place in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
            (place / "__pycache__").write_text("")
        blocked.write_text("")
    home = {"HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "NUMBA_CACHE_DIR": str(blocked / "kernels")}
    yield once(fit, allowed=(0,), environment={**home, "PYTHONPATH": str(copy.parent)})


def four_cold(fit: Fit, folder: Path) -> Outcomes:
    """Four processes compile into one empty cache, and write one model."""
    folder.mkdir(exist_ok=True)
    cache = tempfile.mkdtemp(dir=folder)
    processes = [start(fit.command, cwd=fit.texts, environment={"NUMBA_CACHE_DIR": cache}) for _ in range(4)]
    for process in processes:
        said = process.communicate()[1]
        yield "done", fault(process.returncode, said, (0,))
    yield "done", intact(fit.model, fit.old) or f"temporary files stay: {fit.left()}" * bool(fit.left())
    yield once(
        fit, allowed=(0,), environment={"NUMBA_CACHE_DIR": cache}
    )  # the kernels that they kept are good
    shutil.rmtree(cache)


def closed_pipe(fit: Fit, folder: Path) -> Outcomes:
    """The reader of the output has left before it began."""
    reading, writing = os.pipe()
    os.close(reading)
    yield once(fit, allowed=(0,), stdout=writing)
    os.close(writing)


def closed_streams(fit: Fit, folder: Path) -> Outcomes:
    """Standard output is closed, then standard input and output."""
    yield once(fit, allowed=(2,), limit=lambda: os.close(1))
    yield once(fit, allowed=(2,), limit=lambda: (os.close(0), os.close(1)))  # type: ignore[arg-type, return-value]


def plain_locale(fit: Fit, folder: Path) -> Outcomes:
    """A locale and an encoding without umlauts."""
    yield once(fit, allowed=(0,), environment={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})


CONDITIONS: dict[str, Callable[[Fit, Path], Outcomes]] = {
    "full disk (RLIMIT_FSIZE)": full_disk,
    "full standard output": full_output,
    "memory limit (RLIMIT_AS)": little_memory,
    "read-only home": read_only_home,
    "four cold processes": four_cold,
    "closed pipe": closed_pipe,
    "closed streams": closed_streams,
    "LC_ALL=C": plain_locale,
}


def table(head: list[str], rows: list[list[str]]) -> str:
    """Rows below a head, in columns."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in [head, *rows]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--moments", type=int, default=34, help="of each fit for each of three signals (default: 34)"
    )
    parser.add_argument("--only", help="one of the fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spinney-kill-") as place:
        folder = Path(place)
        process = start(["demo", "--texts", str(folder / "texts"), "--quiet"])
        assert process.wait() == 0
        chosen = {name: command for name, command in FITS.items() if given.only in (None, name)}

        def attack(name: str) -> tuple[list[list[str]], dict[str, Counter[str]], list[str]]:
            own = folder / name.replace(" ", "-")
            fit = Fit(folder / "texts", own, chosen[name])
            rows, faults = stop_at_random(name, fit, given.moments, given.seed)
            ended, more = under_conditions(name, fit, own.with_suffix(".conditions"))
            return rows, ended, faults + more

        with ThreadPoolExecutor(given.processes) as pool:
            found = list(pool.map(attack, chosen))
    head = ["fit", "signal", "moments", "old model", "saved", "was through", "wrong"]
    print(table(head, [row for rows, _, _ in found for row in rows]))
    outcomes = ("done", "refused", "wrong")
    totals = {
        condition: sum((ended[condition] for _, ended, _ in found), Counter[str]())
        for condition in CONDITIONS
    }
    rows = [
        [name, str(total.total()), *(str(total[how]) for how in outcomes)] for name, total in totals.items()
    ]
    print("\n" + table(["condition", "runs", *outcomes], rows))
    faults = [fault for _, _, some in found for fault in some]
    print("\n".join(["", *faults]) if faults else "\nNothing went wrong.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
