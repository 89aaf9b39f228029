"""Each job on two threads and on two processes of a local cluster: seconds, bytes, and whether the bits are the same.

Jobs that are done are kept in ``results/cluster_jobs.json`` (``results/quick`` for quick runs), so an interrupted run
goes on where it was; delete the file to start anew. The processes are started before the clock, as those of a cluster
would be, and each job is run once before, so that nothing is compiled while it is timed.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import spinney
from benchmarks.cluster_simulator import checked, prediction
from benchmarks.comparisons import Comparison, place
from benchmarks.data import corpus, review_sentences
from benchmarks.harness import publish


class Work(NamedTuple):
    """A job: what it is called, the command, and the fit."""

    name: str
    command: str
    fit: Callable[..., Any]
    settings: dict[str, Any]
    data: str


def main(quick: bool) -> None:
    """Time all jobs, and write the table."""
    kept = place("cluster_jobs", quick, ".json")
    rows: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.is_file() else {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for work in _jobs(Path(folder), quick):
            if work.name not in rows:
                rows[work.name] = _timed(work, Path(folder), rounds=1 if quick else 3)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(rows, indent=1))
    publish("cluster", [_table(rows), checked(quick), prediction()], _comparisons(rows), quick)


def _jobs(folder: Path, quick: bool) -> list[Work]:
    reviews = folder / "reviews.txt"
    n = 20_000 if quick else 200_000
    with open(reviews, "w", encoding="utf-8") as file:
        file.writelines(" ".join(sentence) + "\n" for sentence in islice(review_sentences(), n))
    chunks = folder / "chunks.txt"
    with zipfile.ZipFile(corpus("nltk", "conll2000.zip")) as archive:
        text = archive.read("conll2000/train.txt").decode()
    chunks.write_text("\n\n".join(text.split("\n\n")[: 1500 if quick else None]) + "\n", encoding="utf-8")
    labelled = folder / "labelled.tsv"
    with open(labelled, "w", encoding="utf-8") as file:
        file.write("label\ttext\n")
        for i, sentence in enumerate(islice(review_sentences(), 2000 if quick else 10_000)):
            file.write(f"{'long' if len(sentence) > 20 else 'short'}{i % 2}\t{' '.join(sentence)}\n")
    hmm = {"method": "hmm", "classes": 64 if quick else 512, "passes": 1, "init": "random", "min_count": 2}
    texts, taggers = ("classes fit", spinney.classes.fit), ("tag fit", spinney.tagging.fit)
    return [
        _work("HMM, batch", *texts, reviews, {**hmm, "em": "batch", "passes": 2}),
        _work("HMM, batch, exact", *texts, reviews, {**hmm, "em": "batch", "k_best": "none"}),
        _work("HMM, online", *texts, reviews, {**hmm, "batch_tokens": 65536}),
        _work("CRF", *taggers, chunks, {"preset": "chunk", "lam": 1.0, "max_iter": 30}),
        _work("n-grams", "lm fit", spinney.lm.fit, reviews, {"order": 5, "min_count": 2}),
        _work("pairs of words", *texts, reviews, {"method": "brown", "classes": 50, "min_count": 20}),
        _work(
            "windows",
            "embed fit",
            spinney.embed.fit,
            reviews,
            {"method": "pmi", "dimensions": 50, "min_count": 20},
        ),
        _work("four folds", "classify fit", spinney.classify.fit, labelled, {"format": "tsv", "cv": 4}),
    ]


def _work(name: str, verb: str, fit: Callable[..., Any], data: Path, settings: dict[str, Any]) -> Work:
    options = " ".join(f"--{key.replace('_', '-')} {value:g}" if isinstance(value, float) else
                       f"--{key.replace('_', '-')} {value}" for key, value in settings.items())  # fmt: skip
    return Work(name, f"{verb} {data.name} {options}", fit, settings, str(data))


def _timed(work: Work, folder: Path, rounds: int) -> dict[str, Any]:
    """The best seconds of each place, in turn, and the bits of each model."""
    print(f"{work.name} …", file=sys.stderr, flush=True)
    seconds, bits, traffic = {"threads": float("inf"), "cluster": float("inf")}, {}, None
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with spinney.on("local:2") as engine:
        assert engine is not None
        for turn in range(rounds + 1):
            for where in ("threads", "cluster"):
                engine.traffic.calls = engine.traffic.sent = engine.traffic.received = 0
                started = time.perf_counter()
                with spinney.on(None if where == "threads" else engine.client) as own:
                    model = work.fit(work.data, threads=2, **work.settings)
                if turn:
                    seconds[where] = min(seconds[where], time.perf_counter() - started)
                traffic = own.traffic if own is not None else traffic
                bits[where] = model_bits(model, folder / "model.spinney")
    assert traffic is not None
    row = {"command": work.command, **seconds, "same": bits["threads"] == bits["cluster"]}
    row |= {"calls": traffic.calls, "sent": traffic.sent, "received": traffic.received}
    print(row, file=sys.stderr, flush=True)
    return row


def model_bits(model: Any, path: Path) -> str:
    """A digest of a model file, its times aside."""
    model.save(path)
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.dumps(_without_times(json.loads(raw[8 : 8 + n])), sort_keys=True)
    return hashlib.sha256(header.encode() + raw[8 + n :]).hexdigest()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: v for key, v in value.items() if "second" not in key and key not in ("threads", "crc32")}
        return {key: _without_times(v) for key, v in kept.items()}
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _without_times(json.loads(value))
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def _table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [
        "### Two threads, and two processes with a thread each",
        "",
        "| job | command: spinney … | threads, s | cluster, s | ratio | same bits | calls | bytes out a call | back |",
        "|---|---|---:|---:|---:|---|---:|---:|---:|",
    ]
    for name, row in rows.items():
        calls = max(row["calls"], 1)
        lines.append(
            f"| {name} | `{row['command']}` | {row['threads']:.2f} | {row['cluster']:.2f} | "
            f"{row['cluster'] / row['threads']:.2f} | {'yes' if row['same'] else 'NO'} | {row['calls']} | "
            f"{row['sent'] / calls:,.0f} | {row['received'] / calls:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def _comparisons(rows: dict[str, dict[str, Any]]) -> list[Comparison]:
    return [
        Comparison(
            "Cluster", name, "two processes", "two threads", "s", row["cluster"], row["threads"],
            "same" if row["same"] else "worse", "the same bits" if row["same"] else "other bits", "own",
        )
        for name, row in rows.items()
    ]  # fmt: skip
