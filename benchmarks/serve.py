"""Serving: requests a second, and how long they take, at 1, 8 and 64 clients, against bare endpoints around a peer.

Every server is a process of its own, and listens on a loopback address; the clients are in this process, keep their
connections, and ask without a pause. Every answer is compared with the one that the model gives in this process: an
answer that is not the same is wrong, and a request without an answer is lost. The peers are Starlette endpoints of a
few lines around CRFsuite and scikit-learn (``serve_peers.py``): without limits, checks or a queue.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison, Verdict
from benchmarks.crf import Sentence, _crfsuite, _sentences
from benchmarks.data import newsgroup_texts
from benchmarks.harness import publish

CLIENTS = (1, 8, 64)
ROUNDS = 2
GROUPS = ("rec.autos", "sci.space")
SENTENCES, REQUESTS = 2000, 200
LONGEST = 4000  # letters of a post


@dataclass
class Load:
    """What came of a number of clients: seconds of each request, and what went wrong."""

    times: list[float] = field(default_factory=list)
    wrong: int = 0
    lost: int = 0
    seconds: float = 0.0
    processor: float = 0.0  # seconds of the server

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.times) / self.seconds

    def at(self, share: float) -> float:
        """The milliseconds within which this share of the requests was answered."""
        return 1000 * float(np.quantile(self.times, share))


@dataclass(frozen=True)
class Served:
    """A server to ask: the command that starts it, its path, the requests and the right answers."""

    name: str
    command: Sequence[str]
    path: str
    bodies: Sequence[bytes]
    answers: Sequence[Any]


def main(quick: bool) -> None:
    """Run all loads and write the tables; ``quick``: shorter loads."""
    seconds = 0.5 if quick else 1.25
    sections = [
        f"Each load lasts {seconds:g} s, and is the better of {ROUNDS}. The server and its clients share the "
        "processors of this machine, one client sends its next request as soon as it has an answer, and all answers "
        "are compared with those of the model in another process. The time that a server's process itself needs for a "
        "request depends least on what else the machine does.\n"
    ]
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        for title, text, servers in (_tagging(Path(folder)), _classifying(Path(folder))):
            section, row = _compared(title, text, servers, seconds)
            sections.append(section)
            comparisons.append(row)
    publish("serve", sections, comparisons, quick, how="interleaved rounds")


def _compared(title: str, text: str, servers: Sequence[Served], seconds: float) -> tuple[str, Comparison]:
    rows = [f"### {title}", "", text, ""]
    rows += [
        "| clients | server | requests a second | p50, ms | p99, ms | processor ms a request | wrong | lost |"
    ]
    rows += ["|---:|---|---:|---:|---:|---:|---:|---:|"]
    needed: dict[str, float] = {}
    failed = 0
    with ExitStack() as stack:
        there = [stack.enter_context(_started(server)) for server in servers]
        for server, (port, _) in zip(servers, there):
            asyncio.run(_loaded(server, port, 2, 0.3))  # warm
        for clients in CLIENTS:
            loads: list[list[Load]] = [[] for _ in servers]
            for _ in range(ROUNDS):
                for server, (port, process), found in zip(servers, there, loads):
                    print(f"{server.name}, {clients} clients …", file=sys.stderr, flush=True)
                    before = _processor_seconds(process)
                    found.append(asyncio.run(_loaded(server, port, clients, seconds)))
                    found[-1].processor = _processor_seconds(process) - before
            for server, found in zip(servers, loads):
                best = max(found, key=lambda load: load.rate)
                wrong, lost = sum(load.wrong for load in found), sum(load.lost for load in found)
                rows.append(
                    f"| {clients} | {server.name} | {best.rate:,.0f} | {best.at(0.5):.1f} | {best.at(0.99):.1f} | "
                    f"{1000 * best.processor / len(best.times):.2f} | {wrong} | {lost} |"
                )
                if clients == 8:
                    needed[server.name] = best.processor / len(best.times)
                failed += (wrong + lost) * (server is servers[0])
    ours, peer = servers[0].name, servers[1].name
    verdict: Verdict = "same" if not failed else "worse"
    said = "no answer is wrong or lost" if not failed else f"{failed} answers are wrong or lost"
    what = f"{title[0].lower()}{title[1:]}: processor time a request, 8 clients"
    row = Comparison("Serving", what, text.rstrip("."), peer, "s", needed[ours], needed[peer], verdict, said)
    return "\n".join(rows) + "\n", row


# ---------------------------------------------------------------------------------------------- what is served


def _tagging(folder: Path) -> tuple[str, str, list[Served]]:
    """Chunks of CoNLL-2000: sentences in columns, labels back."""
    from spinney.tagging import Tagger

    train, test = (list(_sentences(name)) for name in ("train", "test"))
    train, test = train[:SENTENCES], test[:REQUESTS]
    tagger = Tagger("chunk", max_iter=40)
    tagger.fit([[row[:2] for row in s] for s in train], [[row[2] for row in s] for s in train])
    tagger.save(folder / "chunks.spinney")
    peer = str(folder / "chunks.crfsuite")
    _crfsuite(train, True, peer)
    tokens = [[[list(row[:2]) for row in sentence]] for sentence in test]
    bodies = [json.dumps({"tokens": one, "settings": {}}).encode() for one in tokens]
    right = [[record["labels"] for record in tagger.apply(one, threads=1)] for one in tokens]
    text = f"One sentence of CoNLL-2000 a request, {sum(map(len, test)) / len(test):.0f} tokens on average."
    ours = Served("Spinney", _spinney(folder / "chunks.spinney"), "/models/chunks/apply", bodies, right)
    theirs = Served(
        "CRFsuite in Starlette", _peer("crfsuite", peer), "/", bodies, _crfsuite_answers(peer, test)
    )
    return "Tagging by a CRF", text, [ours, theirs]


def _classifying(folder: Path) -> tuple[str, str, list[Served]]:
    """Posts of two newsgroups: texts, labels with probabilities back."""
    import pickle

    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from spinney.classify import LinearClassifier, TextModel
    from spinney.corpus.text_features import TextFeatures

    texts, labels = newsgroup_texts("train", GROUPS)
    test = [text for text in newsgroup_texts("test", GROUPS)[0] if len(text) < LONGEST][:REQUESTS]
    model = TextModel(LinearClassifier("l1", lam=1.0), TextFeatures("tfidf")).fit(texts, labels)
    model.save(folder / "posts.spinney")
    # The peer's own file: made here, and read by a process that we start.
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    (folder / "posts.pickle").write_bytes(pickle.dumps(pipeline))
    bodies = [json.dumps({"text": text}).encode() for text in test]
    right = [[one["proba"] for one in model.apply([text], proba=True, threads=1)] for text in test]
    chances = [pipeline.predict_proba([text])[0].tolist() for text in test]
    others = [[{str(label): p for label, p in zip(pipeline.classes_, row)}] for row in chances]
    size = sum(map(len, test)) / len(test)
    said = f"One post of 20 Newsgroups (two groups) a request, {size:,.0f} letters on average, with probabilities."
    ours = Served("Spinney", _spinney(folder / "posts.spinney"), "/models/posts/apply", bodies, right)
    theirs = Served(
        "scikit-learn in Starlette", _peer("sklearn", str(folder / "posts.pickle")), "/", bodies, others
    )
    return "Classifying text", said, [ours, theirs]


def _crfsuite_answers(model: str, test: Sequence[Sentence]) -> list[Any]:
    from benchmarks.serve_peers import crfsuite_labels

    label: Callable[[Any], list[str]] = crfsuite_labels(model)
    return [[label(sentence)] for sentence in test]


def _spinney(model: Path) -> list[str]:
    return [sys.executable, "-m", "spinney", "serve", str(model), "--port", "0", "--json", "--quiet"]


def _peer(kind: str, model: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.serve_peers", kind, model]


@contextmanager
def _started(server: Served) -> Iterator[tuple[int, int]]:
    """A server in a process of its own; its port, and the number of the process."""
    process = subprocess.Popen(server.command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(json.loads(process.stdout.readline())["url"].rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(timeout=20)


def _processor_seconds(process: int) -> float:
    """What a process has used so far, which other work on the machine changes little."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --------------------------------------------------------------------------------------------------- the clients


async def _loaded(server: Served, port: int, clients: int, seconds: float) -> Load:
    """Ask as many clients as there are, for some seconds."""
    load, numbers = Load(), count()
    started = time.perf_counter()
    await asyncio.gather(*(_client(server, port, load, numbers, started + seconds) for _ in range(clients)))
    load.seconds = time.perf_counter() - started
    return load


async def _client(server: Served, port: int, load: Load, numbers: Iterator[int], end: float) -> None:
    """One connection, on which a request follows each answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while time.perf_counter() < end:
            i = next(numbers) % len(server.bodies)
            began = time.perf_counter()
            try:
                status, body = await _answer(reader, writer, server.path, server.bodies[i])
            except (OSError, asyncio.IncompleteReadError):
                load.lost += 1
                return
            load.times.append(time.perf_counter() - began)
            if status != 200:
                load.lost += 1
            elif _found(json.loads(body)) != server.answers[i]:
                load.wrong += 1
    finally:
        writer.close()


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes
) -> tuple[int, bytes]:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
    return int(lines[0].split()[1]), await reader.readexactly(length)


def _found(answer: Any) -> Any:
    """The labels or probabilities of an answer."""
    records = answer.get("sentences") or answer.get("predictions")
    return [record.get("labels") or record["proba"] for record in records]
