"""Each job on two threads and on two processes of a local cluster: seconds, bytes, and whether the bits are the same.

Jobs that are done are kept in ``results/cluster_jobs.json`` (``results/quick`` for quick runs), so an interrupted run
goes on where it was; delete the file to start anew. The processes are started before the clock, as those of a cluster
would be, and each job is run once before, so that nothing is compiled while it is timed.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import spinney
from benchmarks.cluster_simulator import checked, prediction
from benchmarks.comparisons import Comparison, place
from benchmarks.data import REVIEWS, corpus, review_sentences
from benchmarks.harness import publish
from spinney.lm import trieshards
from spinney.optim import losses
from spinney.parsing import em
from spinney.views import Views, as_json


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
                rows[work.name] = _timed(work, Path(folder), rounds=1 if quick else 2)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(rows, indent=1))
    publish("cluster", [_table(rows), checked(quick), prediction()], _comparisons(rows), quick)


def _jobs(folder: Path, quick: bool) -> list[Work]:
    reviews = folder / "reviews.txt"
    n = 20_000 if quick else 60_000
    with open(reviews, "w", encoding="utf-8") as file:
        file.writelines(" ".join(sentence) + "\n" for sentence in islice(review_sentences(), n))
    many = folder / "many.txt"
    with open(many, "w", encoding="utf-8") as file:
        file.writelines(" ".join(one) + "\n" for one in islice(review_sentences(), n if quick else 300_000))
    few = folder / "few.txt"
    with open(reviews, encoding="utf-8") as file:
        few.write_text("".join(islice(file, 2000 if quick else 20_000)), encoding="utf-8")
    bigrams, trigrams = folder / "bigrams.spinney", folder / "trigrams.spinney"
    for order, path in enumerate((bigrams, trigrams), 2):
        spinney.lm.fit(str(few), order=order, min_count=2).save(path)
    chunks = folder / "chunks.txt"
    with zipfile.ZipFile(corpus("nltk", "conll2000.zip")) as archive:
        text = archive.read("conll2000/train.txt").decode()
    chunks.write_text("\n\n".join(text.split("\n\n")[: 1500 if quick else None]) + "\n", encoding="utf-8")
    fewer = folder / "fewer_chunks.txt"
    fewer.write_text("\n\n".join(text.split("\n\n")[: 150 if quick else 400]) + "\n", encoding="utf-8")
    labelled = folder / "labelled.tsv"
    with open(labelled, "w", encoding="utf-8") as file:
        file.write("label\ttext\n")
        for i, sentence in enumerate(islice(review_sentences(), 2000 if quick else 10_000)):
            file.write(f"{'long' if len(sentence) > 20 else 'short'}{i % 2}\t{' '.join(sentence)}\n")
    documents = folder / "documents.tsv"
    with open(documents, "w", encoding="utf-8") as file:
        file.write("label\ttext\n")
        for review in islice(_reviews(), 2000 if quick else None):
            file.write(f"{'long' if len(review) > 1000 else 'short'}\t{review}\n")
    parsed = folder / "parsed.conllu"
    with lzma.open(corpus("parsed", "brown.conllu.xz"), "rt", encoding="utf-8") as packed:
        parsed.write_text("".join(_blocks(packed, 5000 if quick else 20_000)), encoding="utf-8")
    trees, dev = folder / "trees.mrg", folder / "dev.mrg"
    with zipfile.ZipFile(corpus("nltk", "treebank.zip")) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".mrg"))
        for path, part in ((trees, names[: 20 if quick else 160]), (dev, names[160:170])):
            path.write_text(
                "\n".join(archive.read(name).decode("latin-1") for name in part), encoding="utf-8"
            )
    if quick:  # so that small inputs are cut, too
        losses.SHARD, losses.PER_WEIGHT, trieshards.SHARD, em.SHARD = 1 << 16, 0, 1 << 16, 1 << 12
    hmm = {"method": "hmm", "classes": 64 if quick else 512, "passes": 1, "init": "random", "min_count": 2}
    texts, taggers = ("classes fit", spinney.classes.fit), ("tag fit", spinney.tagging.fit)
    parsers = "parse fit", spinney.parsing.fit
    return [
        _work("HMM, batch", *texts, reviews, {**hmm, "em": "batch", "passes": 2}),
        _work("HMM, online", *texts, reviews, hmm),
        _work("HMM, online, larger batches", *texts, reviews, {**hmm, "batch_tokens": 65536}),
        _work("HMM of trees, batch", *texts, parsed, {**hmm, "em": "batch", "tree": True, "k_best": "none"}),
        _work("HMM of trees, online", *texts, parsed, {**hmm, "tree": True, "batch_tokens": 65536}),
        _work("CRF", *taggers, chunks, {"preset": "chunk", "lam": 1.0, "max_iter": 30}),
        _work("n-grams", "lm fit", spinney.lm.fit, many, {"order": 5, "min_count": 2}),
        _work("pairs of words", *texts, reviews, {"method": "brown", "classes": 50, "min_count": 20}),
        _work(
            "windows",
            "embed fit",
            spinney.embed.fit,
            reviews,
            {"method": "pmi", "dimensions": 50, "min_count": 20},
        ),
        _work("four folds", "classify fit", spinney.classify.fit, labelled, {"format": "tsv", "cv": 4}),
        _work(
            "linear loss",
            "classify fit",
            spinney.classify.fit,
            documents,
            {"format": "tsv", "penalty": "l2", "lam": 1.0, "min_count": 20},
        ),
        _work(
            "log-linear language model",
            "lm fit",
            spinney.lm.fit,
            many,
            {"method": "loglinear", "order": 4, "min_count": 2, "max_iter": 20},
        ),
        _work("grammar, EM", *parsers, trees, {"method": "em", "states": 8, "max_iter": 10}),
        _work("grammar, split-merge", *parsers, trees, {"method": "split-merge", "states": 4}),
        _work("choice of smoothing", *parsers, trees, {"method": "spectral", "states": 8, "dev": str(dev)}),
        _work("four folds of a tagger", *taggers, fewer, {"preset": "chunk", "cv": 4, "max_iter": 30}),
        _work(
            "resamples",
            "lm eval bigrams.spinney",
            partial(_compared, str(bigrams)),
            few,
            {"against": str(trigrams)},
        ),
    ]


def _reviews() -> Iterator[str]:
    """The film reviews of IMDB, one a line."""
    for part in REVIEWS:
        with lzma.open(corpus("imdb", f"{part}.tsv.xz"), "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield line.rstrip("\n").split("\t")[3].replace("<br />", " ")


def _blocks(lines: Iterable[str], n: int) -> Iterator[str]:
    """The first sentences of CoNLL-U."""
    for line in lines:
        n -= line == "\n"
        yield line
        if not n:
            return


def _compared(model: str, text: str, against: str, threads: int) -> Any:
    """Two language models on some text, with the resamples that tell whether they differ."""
    return spinney.load(model).evaluate([text], against=[against], threads=threads)


def _work(name: str, verb: str, fit: Callable[..., Any], data: Path, settings: dict[str, Any]) -> Work:
    options = " ".join(f"--{key.replace('_', '-')}{_shown(value)}" for key, value in settings.items())
    return Work(name, f"{verb} {data.name} {options}", fit, settings, str(data))


def _shown(value: Any) -> str:
    if value is True:
        return ""
    return f" {value:g}" if isinstance(value, float) else f" {os.path.basename(str(value))}"


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
    """A digest of a model file, or of views, their times aside."""
    if isinstance(model, Views):
        return hashlib.sha256(json.dumps(_without_times(as_json(model)), sort_keys=True).encode()).hexdigest()
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
