"""Kneser-Ney within a bound on memory: time, memory and disk by the size of the text.

The text is sampled from a trigram model of film reviews with a vocabulary of about 10⁵ words, so that it can be as long
as wanted and yet goes on to have new n-grams. Each fit is a process of its own, ``spinney lm fit --memory 2G``: what it
takes is asked of the system. lmplz is not run; its published figures stand beside ours for reference.

``python -m benchmarks.lm_scale 3000000`` does the same for other sizes, and prints the table. A full run goes up to 10⁹
words, and takes about 30 GB of disk.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparisons import Comparison
from benchmarks.data import corpus
from benchmarks.harness import publish
from benchmarks.lm_backoff import read_ptb

_SIZES = (10_000_000, 30_000_000, 100_000_000, 300_000_000, 1_000_000_000)
_HIGH = 100_000_000  # words at most for models of order 5, whose files are five times as large
_QUICK = (300_000, 1_000_000)
_MEMORY = "2G"
_REVIEWS = 20_000
_STEP = 5_000_000  # words drawn at a time


class Cost(NamedTuple):
    """What a fit took."""

    tokens: int
    order: int
    grams: int
    seconds: float  # of the processor
    anonymous: float  # bytes of memory that only this process has
    resident: float  # the same with mapped files
    disk: float  # bytes of temporary files at most
    file: float  # bytes of the model


def main(quick: bool) -> None:
    """Fit models of growing texts, and one of the Penn Treebank in two ways."""
    costs = measured(_QUICK if quick else _SIZES)
    publish("lm_scale", [_table(costs)], [_published(costs[-1]), _in_memory()], quick)


def measured(sizes: Sequence[int]) -> list[Cost]:
    """What fits of these many words take, of order 3, and of order 5 where the disk has room."""
    with tempfile.TemporaryDirectory(prefix="spinney-scale-") as folder:
        return [
            fit_cost(path, order, folder)
            for size in sizes
            for path in [_sampled(size, Path(folder))]
            for order in (3, 5)
            if order == 3 or size <= _HIGH
        ]


def _published(cost: Cost) -> Comparison:
    """Beside what Heafield et al. (2013) report of lmplz."""
    return Comparison(
        "Language models", f"modified Kneser-Ney within {_MEMORY} of memory, order {cost.order}",
        f"{cost.tokens:,} sampled tokens", "KenLM lmplz as published (126·10⁹ tokens of web text, several threads)",
        "tokens/s", cost.tokens / cost.seconds, 126e9 / (2.8 * 24 * 3600), "same", "the same estimates", "reference",
    )  # fmt: skip


def _in_memory() -> Comparison:
    """The estimate of the Penn Treebank by passes over sorted n-grams, and from a suffix trie."""
    from spinney.lm import fit_ngram
    from spinney.lm.kneser_ney import modified_kneser_ney
    from spinney.lm.stream import stream_of
    from spinney.lm.suffixtrie import suffix_trie

    text, _ = read_ptb()
    n_words = len(text.vocabulary)
    ways: dict[str, Callable[[], Any]] = {
        "passes": lambda: fit_ngram(text, order=5),
        "trie": lambda: modified_kneser_ney(suffix_trie(stream_of(text), n_words, 4), text.vocabulary),
    }
    same = np.array_equal(ways["passes"]().logp, ways["trie"]().logp)
    best = dict.fromkeys(ways, np.inf)
    for _ in range(5):
        for name, run in ways.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return Comparison(
        "Language models", "counting and modified Kneser-Ney, order 5, in memory, processor time",
        f"Penn Treebank, {text.n_tokens:,} tokens", "Spinney, from a suffix trie", "s", best["passes"], best["trie"],
        "same" if same else "worse", "the same bits" if same else "other probabilities", "own",
    )  # fmt: skip


def _table(costs: list[Cost]) -> str:
    lines = [
        "## Modified Kneser-Ney within 2 GB of memory",
        "",
        "Text sampled from a trigram model; the whole command, reading and writing included. Heafield et al. (2013)",
        "report 2.8 days with 140 GB of memory for an unpruned model of order 5 on 126·10⁹ tokens: 1.9 µs a token, on",
        "several threads.",
        "",
        "| tokens | order | n-grams | CPU seconds | µs a token | memory, GB | with mapped files | disk, bytes a token "
        "| model, bytes an n-gram |",
        "|---:" * 9 + "|",
    ]
    for c in costs:
        lines.append(
            f"| {c.tokens:,} | {c.order} | {c.grams:,} | {c.seconds:.0f} | {1e6 * c.seconds / c.tokens:.2f} "
            f"| {c.anonymous / 1e9:.2f} | {c.resident / 1e9:.2f} | {c.disk / c.tokens:.0f} | {c.file / c.grams:.1f} |"
        )
    return "\n".join(lines) + "\n"


def fit_cost(text: Path, order: int, folder: str) -> Cost:
    """Run ``spinney lm fit`` on a text, and look at it meanwhile."""
    import json

    model, scratch = Path(folder) / "model.spinney", Path(folder) / "scratch"
    scratch.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "spinney", "lm", "fit", str(text), "--model", str(model), "--json"]
    command += ["--order", str(order), "--memory", _MEMORY, "--scratch", str(scratch)]
    environment = os.environ | {"TMPDIR": str(scratch), "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        most = _watched(process, scratch)
        output = process.communicate()[0]
        most["done"] = 1.0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise RuntimeError(f"the fit ended with {process.returncode}")
    facts = json.loads(output)
    size = model.stat().st_size
    model.unlink()
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cost = Cost(
        facts["tokens"],
        order,
        sum(facts["grams"]),
        seconds,
        most["RssAnon"],
        most["VmHWM"],
        most["disk"],
        size,
    )
    print(cost, file=sys.stderr, flush=True)
    return cost


def _watched(process: subprocess.Popen[bytes], scratch: Path) -> dict[str, float]:
    """The most that a process takes of memory and disk, looked at again and again until it is done."""
    most = {"RssAnon": 0.0, "VmHWM": 0.0, "disk": 0.0}

    def watch() -> None:
        while "done" not in most:
            try:
                rows = Path(f"/proc/{process.pid}/status").read_text().splitlines()
                found = {
                    row.split(":")[0]: float(row.split()[1]) * 1024 for row in rows if row.endswith(" kB")
                }
                most.update({name: max(most[name], found.get(name, 0.0)) for name in ("RssAnon", "VmHWM")})
                open_files = [
                    Path(f"/proc/{process.pid}/fd") / name for name in os.listdir(f"/proc/{process.pid}/fd")
                ]
                inside = {
                    file.stat().st_ino: file.stat()
                    for file in open_files
                    if str(scratch) in os.readlink(file)
                }
                named = {file.stat().st_ino: file.stat() for file in scratch.rglob("*") if file.is_file()}
                most["disk"] = max(most["disk"], sum(512.0 * s.st_blocks for s in (inside | named).values()))
            except (OSError, ValueError):
                pass  # a file, or the process, is gone
            time.sleep(0.2)

    threading.Thread(target=watch, daemon=True).start()
    return most


def _sampled(n_words: int, folder: Path) -> Path:
    """A text of ``n_words`` sampled words."""
    from benchmarks._sampling_kernels import draw_text, seed

    path = folder / "text.txt"
    print(f"sampling {n_words:,} words …", file=sys.stderr, flush=True)
    source = _source()
    buffer = np.empty(40 * (_STEP + 10_000), np.uint8)
    seed(1)
    with path.open("wb") as file:
        left = n_words
        while left > 0:
            drawn, n = draw_text(min(left, _STEP), *source, buffer)
            file.write(buffer[:n].data)
            left -= drawn
    return path


_drawn_from: list[tuple[Any, ...]] = []


def _source() -> tuple[Any, ...]:
    """What the kernel needs of a trigram model of film reviews."""
    if _drawn_from:
        return _drawn_from[0]
    from spinney.corpus import open_text, sentence_arrays
    from spinney.corpus.documents import Document
    from spinney.corpus.reading import document_sentences
    from spinney.lm.stream import stream_of
    from spinney.lm.suffixtrie import suffix_trie
    from spinney.lm.tables import trie_counts

    with open_text(corpus("imdb", "unsup.tsv.xz")) as file:
        rows = (line.rstrip("\n").split("\t")[-1] for line, _ in zip(file, range(_REVIEWS)))
        text = sentence_arrays(document_sentences(Document(row) for row in rows))
    counts = trie_counts(suffix_trie(stream_of(text), len(text.vocabulary), 2))
    table, discount = counts.table, 0.75
    kept = np.maximum(counts.count - discount, 0.0)
    kept[: table.n_symbols] = counts.count[: table.n_symbols]  # nothing is below the unigrams
    mass = np.concatenate(([0.0], np.cumsum(kept)))
    words = [word.encode() for word in text.vocabulary.words]
    letters = np.frombuffer(b"".join(words), np.uint8)
    word_ptr = np.concatenate(([0], np.cumsum([len(word) for word in words])))
    assert max(map(len, words)) < 1000
    _drawn_from.append(
        (
            table.gram_ptr, table.symbol, table.following, counts.up, counts.parent,
            counts.per_context(counts.count), mass, discount, len(words), letters, word_ptr,
        )
    )  # fmt: skip
    return _drawn_from[0]


if __name__ == "__main__":
    print(_table(measured([int(size) for size in sys.argv[1:]])))
