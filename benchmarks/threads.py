"""What a second processor brings a user: whole commands on one thread and on two, by the clock."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from itertools import islice
from pathlib import Path

from benchmarks.comparisons import Comparison
from benchmarks.data import corpus, review_sentences
from benchmarks.harness import publish

_SOME = 2_000  # sentences where a fit of all would take minutes
_QUICK = 300
_REVIEWS = 100_000  # sentences

#: What is run, on which file.
_COMMANDS = (
    ("tag fit --preset chunk --lam 1", "all.col"),
    ("tag fit --preset chunk --penalty l1 --lam 1", "some.col"),
    ("tag fit --preset chunk", "some.col"),
    ("classes fit --method hmm --classes 64 --passes 2", "reviews.txt"),
    ("embed fit", "reviews.txt"),
)


def main(quick: bool) -> None:
    """Run every command on one thread and on two, and write the table; ``quick``: on less text."""
    rows, lines = [], [
        "### Whole commands, by the clock",
        "",
        "Kernels are compiled beforehand; one run each.",
        "",
        "| command | input | one thread, s | two threads, s | times as fast |",
        "|---|---|---:|---:|---:|",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = _inputs(folder, quick)
        for command, file in _COMMANDS:
            _seconds(command, folder / f"few{Path(file).suffix}", 2)  # compile
            one, two = (_seconds(command, folder / file, threads) for threads in (1, 2))
            lines.append(f"| `{command}` | {inputs[file]} | {one:.1f} | {two:.1f} | {one / two:.2f} |")
            print(lines[-1], file=sys.stderr, flush=True)
            rows.append(
                Comparison(
                    "Threads", f"`{command}`, two threads; the other on one", inputs[file], "Spinney on one thread",
                    "s", two, one, "same", "the same model", "own",
                )
            )  # fmt: skip
    publish("threads", ["\n".join([*lines, ""])], rows, quick, "whole processes, one run each")


def _inputs(folder: Path, quick: bool) -> dict[str, str]:
    """Write the files, and say what is in them."""
    with zipfile.ZipFile(corpus("nltk", "conll2000.zip")) as archive:
        blocks = archive.read("conll2000/train.txt").decode("latin-1").strip().split("\n\n")
    sizes = {
        "all.col": _QUICK if quick else len(blocks),
        "some.col": _QUICK if quick else _SOME,
        "few.col": 50,
    }
    for name, n in sizes.items():
        (folder / name).write_text("\n\n".join(blocks[:n]) + "\n", "utf-8")
    told = {name: f"CoNLL-2000, {n:,} sentences" for name, n in sizes.items()}
    n = _REVIEWS // 20 if quick else _REVIEWS
    text = [" ".join(words) + "\n" for words in islice(review_sentences(), n)]
    (folder / "reviews.txt").write_text("".join(text), "utf-8")
    (folder / "few.txt").write_text("".join(text[:200]), "utf-8")
    return told | {"reviews.txt": f"film reviews, {n:,} sentences"}


def _seconds(command: str, text: Path, threads: int) -> float:
    task, verb, *options = command.split()
    words = [sys.executable, "-m", "spinney", task, verb, str(text), *options, "--threads", str(threads)]
    words += ["--model", str(text.with_name("model.spinney")), "--quiet"]
    started = time.perf_counter()
    subprocess.run(
        words, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    )
    return time.perf_counter() - started
