"""Pipelines from one treebank each: Spinney beside UDPipe 1.

Eight small treebanks of Universal Dependencies. Both learn from the same training files and choose on
the same dev files; scores are those of the CoNLL 2018 shared task on the test files, from the treebank's tokens and
from its raw text. UDPipe has its defaults, with all three stages. Seconds are CPU seconds on one thread; ours are
those of the bare command, with the start of Python.

What was learned stays in a work folder (``$SPINNEY_WORK``, by default ``spinney-benchmarks`` among temporary files),
and is not learned again: a run that was interrupted goes on, and UDPipe, which takes two hours, is trained once.
"""

from __future__ import annotations

import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison, judge
from benchmarks.data import corpus
from benchmarks.harness import publish
from benchmarks.pipeline_peers import udpipe
from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.surface import raw_text
from spinney.evaluate.conll18 import Scores, conll18
from spinney.evaluate.significance import f1_of_counts, paired_bootstrap

TREEBANKS = {
    "Afrikaans-AfriBooms": "ud_small/af_afribooms-ud",
    "Greek-GDT": "ud_small/el_gdt-ud",
    "Hungarian-Szeged": "ud_small/hu_szeged-ud",
    "Maltese-MUDT": "ud_small/mt_mudt-ud",
    "Tamil-TTB": "ud_small/ta_ttb-ud",
    "Uyghur-UDT": "ud_small/ug_udt-ud",
    "Vietnamese-VTB": "ud_small/vi_vtb-ud",
    "Welsh-CCG": "ud_small/cy_ccg-ud",
}
METRICS = ("UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX")
FROM_TEXT = ("Tokens", "Sentences", "Words", "UPOS", "LAS")


def main(quick: bool) -> None:
    """Run all treebanks and write the tables; ``quick``: two of them."""
    work = work_folder()
    names = ["Tamil-TTB", "Maltese-MUDT"] if quick else list(TREEBANKS)
    rows = [treebank(name, TREEBANKS[name], work) for name in names]
    sections = [_gold(rows), _text(rows), _costs(rows)]
    publish("pipeline", sections, _comparisons(rows), quick, how="one run each, one thread; CPU seconds")


def work_folder() -> Path:
    """Where models and outputs are kept."""
    work = Path(os.environ.get("SPINNEY_WORK") or Path(tempfile.gettempdir()) / "spinney-benchmarks")
    work.mkdir(parents=True, exist_ok=True)
    return work


# ------------------------------------------------------------------------------------------ one treebank


def files_of(stem: str, work: Path) -> dict[str, Path]:
    """The parts of a treebank, unpacked: peers do not read compressed files."""
    files = {}
    for part in ("train", "dev", "test"):
        packed = corpus(*f"{stem}-{part}.conllu.xz".split("/"))
        files[part] = work / packed.name.removesuffix(".xz")
        if not files[part].exists():
            files[part].write_bytes(lzma.decompress(packed.read_bytes()))
    return files


def treebank(name: str, stem: str, work: Path, peer: bool = True) -> dict[str, Any]:
    """What Spinney and UDPipe learn from a treebank, and their scores."""
    files = files_of(stem, work)
    gold = list(read_conllu(files["test"]))
    ours = spinney_pipeline(files, work / f"{stem.rpartition('/')[2]}.spinney", gold)
    row = {"name": name, "sentences": _count(files["train"]), "test": sum(map(len, gold)), "ours": ours}
    if peer:
        row["udpipe"] = scored(udpipe(files, work, stem.rpartition("/")[2]), gold)
    return row


def _count(path: Path) -> int:
    return sum(1 for _ in read_conllu(path))


def spinney_pipeline(
    files: dict[str, Path], model: Path, gold: list[Sentence], *options: str
) -> dict[str, Any]:
    """CPU seconds, bytes, tokens a second and scores of the bare command."""
    import spinney

    told = model.with_suffix(".json")
    if not model.exists() or not told.exists():
        print(f"pipeline fit {files['train'].name} {' '.join(options)}", file=sys.stderr, flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            sys.executable,
            "-m",
            "spinney",
            "pipeline",
            "fit",
            str(files["train"]),
            "--dev",
            str(files["dev"]),
        ]
        command += ["--model", str(model), "--threads", "1", "--json", "--quiet", *options]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told.write_text(
            json.dumps({"seconds": seconds, "parts": json.loads(done.stdout).get("seconds_by_part")})
        )
    pipeline = spinney.load(model)
    bare = [Sentence(one.forms, misc=one.misc, comments=one.comments, extras=_ranges(one)) for one in gold]
    pipeline.annotate(bare[:20], threads=1)  # compile
    started = time.process_time()
    found = pipeline.annotate(bare, threads=1)
    seconds = time.process_time() - started
    from_text = pipeline.annotate(list(pipeline.segment([raw_text(gold)])), threads=1)
    facts = {"seconds": json.loads(told.read_text())["seconds"], "bytes": model.stat().st_size}
    facts |= {"tokens_per_second": sum(map(len, gold)) / seconds, "tokens": found, "text": from_text}
    return scored(facts, gold)


def _ranges(sentence: Sentence) -> list[tuple[int, str]]:
    return [(before, line) for before, line in sentence.extras if "-" in line.partition("\t")[0]]


def scored(facts: dict[str, Any], gold: list[Sentence]) -> dict[str, Any]:
    """The facts of a system with the scores of its output in place of the output."""
    scored = {key: value for key, value in facts.items() if key not in ("tokens", "text")}
    scored["gold"] = conll18(gold, facts["tokens"])
    if facts.get("text"):
        scored["raw"] = conll18(gold, facts["text"])
    return scored


# ------------------------------------------------------------------------------------------------ tables


def f1(scores: Scores, metric: str) -> float:
    return 100 * scores[metric].f1


def _gold(rows: Sequence[dict[str, Any]]) -> str:
    """Scores from the treebank's tokens, UDPipe's in brackets, and the interval of the difference in LAS."""
    lines = ["### From the treebank's tokens: F1 on the test files (UDPipe 1 in brackets)\n"]
    lines += ["| treebank | " + " | ".join(METRICS) + " | LAS − UDPipe's, 95 % interval |"]
    lines += ["|---|" + "---:|" * (len(METRICS) + 1)]
    for row in rows:
        ours, theirs = row["ours"]["gold"], row["udpipe"]["gold"]
        cells = [f"{f1(ours, metric):.2f} ({f1(theirs, metric):.2f})" for metric in METRICS]
        one = paired_bootstrap(theirs.items_of("LAS"), ours.items_of("LAS"), f1_of_counts, random_state=0)
        cells.append(f"{100 * one.difference:+.2f} [{100 * one.low:+.2f}, {100 * one.high:+.2f}]")
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    means = [
        (_mean(rows, "ours", "gold", metric), _mean(rows, "udpipe", "gold", metric)) for metric in METRICS
    ]
    cells = [f"**{a:.2f} ({b:.2f})**" for a, b in means] + [f"**{means[5][0] - means[5][1]:+.2f}**"]
    return "\n".join([*lines, "| **mean** | " + " | ".join(cells) + " |"]) + "\n"


def _mean(rows: Sequence[dict[str, Any]], who: str, start: str, metric: str) -> float:
    return float(np.mean([f1(row[who][start], metric) for row in rows]))


def _text(rows: Sequence[dict[str, Any]]) -> str:
    """Scores from raw text."""
    lines = ["### From raw text: F1 on the test files (UDPipe 1 in brackets)\n"]
    lines += ["| treebank | " + " | ".join(FROM_TEXT) + " |", "|---|" + "---:|" * len(FROM_TEXT)]
    for row in rows:
        cells = [f"{f1(row['ours']['raw'], m):.2f} ({f1(row['udpipe']['raw'], m):.2f})" for m in FROM_TEXT]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    means = [(_mean(rows, "ours", "raw", m), _mean(rows, "udpipe", "raw", m)) for m in FROM_TEXT]
    return (
        "\n".join([*lines, "| **mean** | " + " | ".join(f"**{a:.2f} ({b:.2f})**" for a, b in means) + " |"])
        + "\n"
    )


def _costs(rows: Sequence[dict[str, Any]]) -> str:
    """CPU seconds of training, megabytes, tokens a second."""
    lines = ["### What it takes (UDPipe 1 in brackets)\n"]
    lines += [
        "| treebank | training sentences | test words | CPU seconds of training | MB | tokens a second |"
    ]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        ours, theirs = row["ours"], row["udpipe"]
        lines.append(
            f"| {row['name']} | {row['sentences']:,} | {row['test']:,} | "
            f"{ours['seconds']:.0f} ({theirs['seconds']:.0f}) | "
            f"{ours['bytes'] / 1e6:.1f} ({theirs['bytes'] / 1e6:.1f}) | {ours['tokens_per_second']:,.0f} "
            f"({theirs['tokens_per_second']:,.0f}) |"
        )
    return "\n".join(lines) + "\n"


def _comparisons(rows: Sequence[dict[str, Any]]) -> list[Comparison]:
    """Rows for the page of all benchmarks: the means."""
    n = f"{len(rows)} UD treebanks"
    las = [_mean(rows, who, "gold", "LAS") for who in ("ours", "udpipe")]
    told = f"LAS {las[0]:.1f} against {las[1]:.1f}"
    verdict = judge(*las, higher=True, tolerance=0.002)
    made = []
    for what, unit, key, scale in (
        ("training", "s", "seconds", 1.0),
        ("model file", "MB", "bytes", 1e-6),
        ("application", "tokens/s", "tokens_per_second", 1.0),
    ):
        ours, theirs = (float(np.mean([scale * row[who][key] for row in rows])) for who in ("ours", "udpipe"))
        made.append(Comparison("pipelines", what, n, "UDPipe 1", unit, ours, theirs, verdict, told))
    return made
