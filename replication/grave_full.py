"""Grave (2014), part I, at the thesis's sizes: up to 1,024 classes, from Brown clusters and from chance.

    python replication/grave_full.py --cache FOLDER [--device cuda] [--lanes 3] [--cores 12] [--only parsed-tree]
    python replication/grave_full.py --cache FOLDER --report

The first line makes the pieces that the cache does not have yet (texts, Brown clusters, models, scores), several at a
time: ``--lanes`` models on the card, ``--cores`` others. A run that was interrupted goes on. With ``--seconds`` no
piece begins later than that. The second writes the tables (``results/grave_full.md``) from what there is; it
needs the small files of the cache alone (``*.json``), so models may be learned on another machine. Runs with other
seeds go to the same cache, and the tables have their mean; so do runs with other ``--passes``, which have a table of
their own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Semaphore

from grave_full_models import Full
from grave_full_tables import report
from grave_semcor import data_folder
from studies import keep

from spinney.errors import SpinneyError


@dataclass
class Run:
    """Pieces, each made by a process of its own as soon as those that it needs are there."""

    full: Full
    lanes: Semaphore
    cores: Semaphore
    until: float
    only: tuple[str, ...]
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(200))
    pieces: dict[tuple[str, ...], Future[bool]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def everything(self) -> bool:
        """All pieces; whether they are all there now."""
        found = [self.scored(model) for model in self.full.models if str(model).startswith(self.only)]
        return all(one.result() for some in found for one in some)

    def scored(self, model: tuple[object, ...]) -> list[Future[bool]]:
        """The pieces of a model that others do not need."""
        name, structure, n, start = map(str, model)
        words = self.piece("text", name)
        clusters = self.piece("brown", name, structure, n, needs=[words])
        fitted = self.piece(
            "fit", name, structure, n, start, needs=[words] if start == "uniform" else [clusters]
        )
        kinds = {"parsed": ["words", "senses"], "forms": ["names"], "reviews": ["words"]}[name]
        needs = [fitted, clusters] + ([self.piece("trees", "conll")] if name == "forms" else [])
        return [self.piece(kind, name, structure, n, start, needs=needs) for kind in kinds]

    def piece(self, *name: str, needs: list[Future[bool]] | None = None) -> Future[bool]:
        """A piece that is made, or waits to be."""
        with self.lock:
            if name not in self.pieces:
                self.pieces[name] = self.pool.submit(self._made, name, needs or [])
            return self.pieces[name]

    def _made(self, name: tuple[str, ...], needs: list[Future[bool]]) -> bool:
        if self._is_there(name):
            return True
        if not all(one.result() for one in needs):
            return False
        with self.lanes if name[0] == "fit" else self.cores:
            began = time.perf_counter()
            if time.time() > self.until:
                return False
            environment = dict(os.environ)
            for library in ("OPENBLAS", "OMP", "MKL", "NUMBA"):
                environment[f"{library}_NUM_THREADS"] = "2"
            full = self.full
            given = [str(full.cache), *name, "--seed", str(full.seed), "--device", full.device]
            given += ["--quick"] if full.quick else []
            given += ["--passes", str(full.more)] if full.more else []
            script = Path(__file__).with_name("grave_full_models.py")
            done = subprocess.run(
                [sys.executable, str(script), *given], env=environment, stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            told = "" if not done.returncode else f", exit code {done.returncode}: {done.stdout[-800:]}"
            print(f"{' '.join(name)}: {time.perf_counter() - began:.0f} s{told}", flush=True)
        return self._is_there(name)

    def _is_there(self, name: tuple[str, ...]) -> bool:
        return self.full.file(name[0], "-".join(name[1:])).exists()


def main() -> None:
    """Make pieces, or the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="where pieces are kept")
    parser.add_argument("--quick", action="store_true", help="one corpus, 8 and 16 classes: to try it out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto", help="what passes messages: cpu, cuda, cuda:1")
    parser.add_argument("--lanes", type=int, default=1, help="models that learn at a time")
    parser.add_argument("--cores", type=int, default=1, help="other pieces at a time")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="models by how their names begin: parsed-tree-512"
    )
    parser.add_argument("--passes", type=int, help="of online EM, where they are not ten")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to begin no more pieces")
    parser.add_argument("--report", action="store_true", help="write the tables, make nothing")
    parser.add_argument("--told", default="", help="what the report is to tell of the run")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "grave_full.md")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    try:
        full = Full(given.quick, given.seed, data_folder(), given.cache, given.device, given.passes)
        if given.report:
            keep(report(full, given.told), given.out)
            return
        slots = Semaphore(given.lanes), Semaphore(given.cores)
        if not Run(full, *slots, time.time() + given.seconds, tuple(given.only)).everything():
            raise SystemExit("some pieces are missing: run this again")
    except SpinneyError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
