"""The methods of each task, as a user runs them: bare commands, with their seconds, the size of the file and the score.

Strengths are chosen, and the seconds include that choice, the start of Python and the reading of files; everything else
is left to the defaults. Only the sparse tagger has a given strength and a loose tolerance: to choose a strength and to
prove a sparse optimum takes it minutes. The peers get their usual settings in one line. ``docs/which-method.md`` shows
the tables.
"""

from __future__ import annotations

import csv
import itertools
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.data import corpus
from benchmarks.harness import publish


class Run(NamedTuple):
    """One row: what was run, CPU seconds of learning, megabytes of the model, and the score."""

    what: str
    seconds: float
    megabytes: float
    score: str


def main(quick: bool) -> None:
    """Run all tasks and write the tables; ``quick``: on less text."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sections = [_tagging(400 if quick else 1000), _classifying(1000 if quick else None)]
        sections += [_language_models(quick), _classes(quick)]
    publish("methods", sections, [], quick, how="one run each, one thread; CPU seconds with start-up")


def _spinney(*arguments: str) -> tuple[dict[str, Any], float]:
    """What a command tells as JSON, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "spinney", *arguments, "--json", "--quiet", "--threads", "1"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _measured(
    task: str, train: str, test: str, small: str, ways: Iterable[Sequence[str]], score: str, percent: bool
) -> list[Run]:
    runs = []
    for way in ways:
        print(f"{task} fit {' '.join(way)}", file=sys.stderr, flush=True)
        _spinney(task, "fit", small, "--model", "m", *way)  # compile
        _, seconds = _spinney(task, "fit", train, "--model", "m", *way)
        scores, _ = _spinney(task, "eval", "m", test)
        value = scores[score]
        shown = f"{100 * value:.1f}" if percent else f"{value:.1f}"
        runs.append(
            Run("`" + (" ".join(way) or "(bare)") + "`", seconds, Path("m").stat().st_size / 1e6, shown)
        )
        print(f"    {runs[-1]}", file=sys.stderr, flush=True)
    return runs


def _table(title: str, score: str, runs: Sequence[Run]) -> str:
    lines = [f"### {title}\n", f"| | seconds | MB | {score} |", "|---|---:|---:|---:|"]
    lines += [f"| {run.what} | {run.seconds:.1f} | {run.megabytes:.2g} | {run.score} |" for run in runs]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------- tagging


def _tagging(n: int) -> str:
    with zipfile.ZipFile(corpus("nltk", "conll2000.zip")) as archive:
        parts = {name: archive.read(f"conll2000/{name}.txt").decode() for name in ("train", "test")}
    sentences = [sentence for sentence in parts["train"].split("\n\n") if sentence.strip()][:n]
    Path("train.col").write_text("\n\n".join(sentences) + "\n")
    Path("small.col").write_text("\n\n".join(sentences[:20]) + "\n")
    Path("test.col").write_text(parts["test"])
    preset = ["--preset", "chunk"]
    ways = [
        preset,
        [*preset, *["--penalty", "elasticnet", "--lam", "0.5", "--l2", "0.01", "--tol", "0.02"]],
        [*preset, "--method", "memm"],
        [*preset, "--solver", "pa"],
        ["--method", "hmm"],
    ]
    runs = _measured("tag", "train.col", "test.col", "small.col", ways, "f1", True)
    runs.append(_crfsuite(sentences, parts["test"]))
    return _table(f"Tagging: phrases of CoNLL-2000, {n:,} training sentences, 2,012 to test on", "F1", runs)


def _crfsuite(train: list[str], test: str) -> Run:
    import pycrfsuite

    from benchmarks.crf import _features
    from spinney.evaluate import tagging_scores

    def rows(sentence: str) -> list[tuple[str, ...]]:
        return [tuple(line.split()) for line in sentence.split("\n") if line.strip()]

    started = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in map(rows, train):
        trainer.append(_features(sentence), [row[-1] for row in sentence])
    trainer.train("crfsuite.model")
    seconds = time.process_time() - started
    tagger = pycrfsuite.Tagger()
    tagger.open("crfsuite.model")
    gold = [rows(sentence) for sentence in test.split("\n\n") if sentence.strip()]
    found = [tagger.tag(_features(sentence)) for sentence in gold]
    scores = tagging_scores([[row[-1] for row in sentence] for sentence in gold], found)
    size = Path("crfsuite.model").stat().st_size / 1e6
    return Run(
        "python-crfsuite, its defaults, CRF++'s chunking template", seconds, size, f"{100 * scores['f1']:.1f}"
    )


# ------------------------------------------------------------------------------------ classifying


def _classifying(n: int | None) -> str:
    for part in ("train", "test"):
        with lzma.open(
            corpus("sentence_classification", f"TREC.{part}.all.xz"), "rt", encoding="latin-1"
        ) as file:
            rows = [line.rstrip("\n").split(" ", 1)[::-1] for line in file if " " in line]
        with open(f"{part}.csv", "w", newline="") as out:
            csv.writer(out).writerows([["text", "label"], *(rows[:n] if part == "train" else rows)])
        if part == "train":
            with open("small.csv", "w", newline="") as out:
                csv.writer(out).writerows([["text", "label"], *rows[:60]])
    ways = [[], ["--penalty", "l1"], ["--penalty", "l2"], ["--loss", "squared-hinge"], ["--method", "tree"]]
    runs = _measured("classify", "train.csv", "test.csv", "small.csv", ways, "accuracy", True)
    runs.append(_logistic())
    count = 5452 if n is None else n
    return _table(
        f"Classifying: questions of TREC, {count:,} to learn from, 500 to test on", "accuracy", runs
    )


def _logistic() -> Run:
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def read(path: str) -> tuple[list[str], list[str]]:
        with open(path, newline="") as file:
            texts, labels = zip(*itertools.islice(csv.reader(file), 1, None))
        return list(texts), list(labels)

    started = time.process_time()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(*read("train.csv"))
    seconds = time.process_time() - started
    joblib.dump(model, "sk.joblib")
    accuracy = 100 * model.score(*read("test.csv"))
    return Run(
        "scikit-learn, tf-idf and LogisticRegression()",
        seconds,
        Path("sk.joblib").stat().st_size / 1e6,
        f"{accuracy:.1f}",
    )


# ------------------------------------------------------------------------- language models, classes


def _text(quick: bool) -> tuple[str, int]:
    for part in ("train", "test"):
        with lzma.open(corpus("ptb_lm", f"ptb.{part}.txt.xz"), "rt") as file:
            lines = file.read().splitlines()
        lines = lines[:5000] if quick and part == "train" else lines
        Path(f"{part}.txt").write_text("\n".join(lines) + "\n")
        if part == "train":
            Path("small.txt").write_text("\n".join(lines[:300]) + "\n")
            n_words = sum(len(line.split()) for line in lines)
    return "train.txt", n_words


def _language_models(quick: bool) -> str:
    train, n = _text(quick)
    ways = [["--method", name] for name in ("mkn", "wb", "memoizer", "pitman-yor")]
    if not quick:
        ways.append(["--method", "loglinear"])
    runs = _measured("lm", train, "test.txt", "small.txt", ways, "perplexity", False)
    return _table(f"Language models: Penn Treebank, {n:,} words", "perplexity", runs)


def _classes(quick: bool) -> str:
    train, n = _text(quick)
    ways = [["--method", name] for name in ("brown", "exchange", "hmm")]
    runs = _measured("classes", train, "test.txt", "small.txt", ways, "perplexity", False)
    return _table(
        f"Word classes: Penn Treebank, {n:,} words; perplexity of class bigrams", "perplexity", runs
    )
