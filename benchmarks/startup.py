"""How long a process takes from its start to its answer: CPU seconds of whole processes, ours and a peer's in turn."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from benchmarks.comparisons import Comparison
from benchmarks.harness import publish

_CRFSUITE = """
import sys, sklearn_crfsuite, joblib
def features(line):
    words = line.split()
    return [{"word": w, "before": words[i - 1] if i else "", "suffix": w[-3:]} for i, w in enumerate(words)]
model = joblib.load(sys.argv[1])
print(model.predict([features(line) for line in open(sys.argv[2])]))
"""
_FIT_CRFSUITE = """
import sys, sklearn_crfsuite, joblib
def features(words):
    return [{"word": w, "before": words[i - 1] if i else "", "suffix": w[-3:]} for i, w in enumerate(words)]
text = open(sys.argv[1]).read().strip()
blocks = [[line.split() for line in block.split(chr(10))] for block in text.split(chr(10) * 2)]
model = sklearn_crfsuite.CRF(max_iterations=20)
model.fit([features([w for w, _ in b]) for b in blocks], [[t for _, t in b] for b in blocks])
joblib.dump(model, sys.argv[2])
"""


#: The first commands that a newcomer types, on the sample texts of ``spinney demo --texts``.
_FIRST = (
    "tag fit code-train.col --preset pos --model tag.spinney",
    "tag apply tag.spinney code-test.col",
    "classify fit modules-train --model doc.spinney",
    "classify apply doc.spinney modules-test",
    "classes fit manual.txt --model brown.spinney",
    "classes fit manual.txt --method hmm --classes 16 --model hmm.spinney",
    "embed fit manual.txt --model vectors.spinney",
    "lm fit manual.txt --model lm.spinney",
    "lm fit few.txt --method loglinear --model loglinear.spinney",
    "parse fit code-train.mrg --model grammar.spinney",
    "parse apply grammar.spinney few.txt",
    "trend fit notes --model trend.spinney",
)


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: fewer rounds, and nothing compiled anew."""
    for peer in ("sklearn_crfsuite", "kenlm", "gensim"):
        import_module(peer)
    rounds = 3 if quick else 7
    rows = [
        _tagging(rounds),
        _importing("spinney.lm", "kenlm", rounds),
        _importing("spinney.embed", "gensim", rounds),
    ]
    lines = [
        "## Start-up",
        "",
        "CPU seconds of a process, the best of several, with warm caches; both take turns.",
        "",
        "| | Spinney | the other |",
        "|---|---:|---:|",
        *(f"| {row.what} | {row.ours:.2f} | {row.theirs:.2f} ({row.peer}) |" for row in rows),
        "",
    ]
    sections = ["\n".join(lines)]
    if not quick:
        sections.append(_compiling())
    publish("startup", sections, rows, quick)


def _compiling() -> str:
    """CPU seconds of first commands with an empty cache of kernels, and with the cache that they leave."""
    lines = [
        "## First compilation",
        "",
        "CPU seconds of a command that finds no compiled kernel at all, and of the same command again; one run each.",
        "",
        "| command | first | again | compiling |",
        "|---|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _seconds([sys.executable, "-m", "spinney", "demo", "--texts", name, "--quiet"], folder)
        few = (folder / "code.txt").read_text("utf-8").splitlines(keepends=True)[:50]
        (folder / "few.txt").write_text("".join(few), "utf-8")
        for number, command in enumerate(_FIRST):
            cache = {"NUMBA_CACHE_DIR": str(folder / f"cache{number}")}
            words = [sys.executable, "-m", "spinney", *command.split(), "--quiet"]
            first, again = (_seconds(words, folder, cache) for _ in range(2))
            lines.append(f"| `{command}` | {first:.1f} | {again:.1f} | {first - again:.1f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join([*lines, ""])


def _tagging(rounds: int) -> Comparison:
    from spinney.corpus import sample_sentences

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sentences = [words for words in sample_sentences()[:200] if words]
        blocks = ("\n".join(f"{word} {'AB'[len(word) % 2]}" for word in words) for words in sentences)
        (folder / "train.txt").write_text("\n\n".join(blocks) + "\n", "utf-8")
        (folder / "ten.txt").write_text(
            "\n".join(" ".join(words) for words in sentences[:10]) + "\n", "utf-8"
        )
        columns = "\n\n".join("\n".join(words) for words in sentences[:10]) + "\n"
        (folder / "ten.col").write_text(columns, "utf-8")
        (folder / "apply.py").write_text(_CRFSUITE, "utf-8")
        (folder / "fit.py").write_text(_FIT_CRFSUITE, "utf-8")
        python, spinney = [sys.executable], [sys.executable, "-m", "spinney"]
        _seconds(
            [
                *spinney,
                "tag",
                "fit",
                "train.txt",
                "--preset",
                "pos",
                "--max-iter",
                "20",
                "--model",
                "m",
                "--quiet",
            ],
            folder,
        )
        _seconds([*python, "fit.py", "train.txt", "crf"], folder)
        ours, theirs = _in_turn(
            [*spinney, "tag", "apply", "m", "ten.col"],
            [*python, "apply.py", "crf", "ten.txt"],
            folder,
            rounds,
        )
    return Comparison(
        "Start-up", "labelling ten sentences in a new process", "ten sentences of Python's manual",
        "sklearn-crfsuite", "s", ours, theirs, "same",
        "every sentence is labelled; the peer sees fewer features, labels are not compared",
    )  # fmt: skip


def _importing(ours: str, peer: str, rounds: int) -> Comparison:
    commands = ([sys.executable, "-c", f"import {name}"] for name in (ours, peer))
    seconds = _in_turn(*commands, Path(), rounds)
    return Comparison(
        "Start-up",
        f"import {ours}",
        "a new process",
        f"import {peer}",
        "s",
        *seconds,
        "same",
        "imported; no model is loaded",
    )


def _in_turn(ours: list[str], theirs: list[str], folder: Path, rounds: int) -> tuple[float, float]:
    """The fewest CPU seconds of each of two commands; the first round, which may compile, does not count."""
    found = [(_seconds(ours, folder), _seconds(theirs, folder)) for _ in range(rounds + 1)][1:]
    return min(one for one, _ in found), min(other for _, other in found)


def _seconds(command: list[str], folder: Path, also: Mapping[str, str] = MappingProxyType({})) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    threads = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        command, cwd=folder, capture_output=True, check=True, env={**environment, **threads, **also}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
