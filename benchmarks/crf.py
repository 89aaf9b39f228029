"""Chunking of CoNLL-2000 by a CRF, against CRFsuite: training to the same objective, and labelling from text.

The problem is that of the CRF++ template: 19 unigram patterns and label bigrams, 22 labels, ½‖w‖² (CRFsuite's c2 = .5).
CRFsuite runs its 60 L-BFGS iterations; Spinney is stopped as soon as its objective is as low. Under ℓ1, each runs to
its own end, Spinney for as long as CRFsuite at most, and Spinney is also timed to the objective at which
CRFsuite stops. Both read nothing: their input is the
sentences in memory, as strings (CRFsuite: feature strings, made beforehand; Spinney makes its own).
"""

from __future__ import annotations

import io
import lzma
import os
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison, Verdict, judge
from benchmarks.data import corpus
from benchmarks.harness import publish

ITERATIONS = 60
QUICK = 1500  # sentences
STRENGTHS = (1.0, 0.5, 0.1)  # of ℓ1
LONGEST = 1.0  # times as long as the peer: by then a race is lost, or won and only its proof is missing
WINDOWS: list[tuple[str, tuple[int, ...]]] = [("w", (o,)) for o in (-2, -1, 0, 1, 2)] + [
    ("w", (-1, 0)),
    ("w", (0, 1)),
]
WINDOWS += [("p", (o,)) for o in (-2, -1, 0, 1, 2)]
WINDOWS += [("p", o) for o in ((-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))]

Sentence = list[tuple[str, str, str]]


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: the first sentences only, and none of what has no peer."""
    train, test = (list(_sentences(name)) for name in ("train", "test"))
    if quick:
        train = train[:QUICK]
    text = f"CoNLL-2000, {len(train):,} sentences, {sum(map(len, train)):,} tokens"
    sections = [
        f"{text}. Time to the objective that CRFsuite "
        f"has after {ITERATIONS} iterations of L-BFGS, one thread each unless said; "
        "training runs once each, the rest is the best of several rounds.\n"
    ]
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        for title, observed in (("All features", False), ("Observed features only", True)):
            model = os.path.join(folder, f"{observed}.crfsuite")
            peer = _crfsuite(train, observed, model)
            section, row = _race(title, text, train, observed, *peer)
            sections.append(section)
            comparisons.append(row)
        section, row = _labelling(train, test, os.path.join(folder, "False.crfsuite"))
        sections.append(section)
        comparisons.append(row)
        section, rows = _files(text, train, test, folder)
    sections.append(section)
    comparisons += rows
    for corpus_name, sentences in (("CoNLL-2000", train), ("CoNLL-2003", list(_entities()))):
        section, rows = _sparse_race(corpus_name, sentences[:QUICK] if quick else sentences)
        sections.append(section)
        comparisons += rows
    if not quick:
        sections += [_passes(train), _memory(train)]
    publish("crf", sections, comparisons, quick)


def _race(
    title: str, text: str, train: list[Sentence], observed: bool, objective: float, seconds: float
) -> tuple[str, Comparison]:
    _spinney(train[:200], observed, 0.0, 1, 3)  # compile
    rows = [f"### {title}", "", "| | threads | seconds | ratio | objective |", "|---|---:|---:|---:|---:|"]
    times, objectives = [], []
    for threads in (1, 2):
        reached, spent = _spinney(train, observed, objective, threads)
        times.append(spent)
        objectives.append(reached)
        rows.append(f"| Spinney | {threads} | {spent:.2f} | {seconds / spent:.1f} | {reached:.1f} |")
    rows.append(f"| CRFsuite | 1 | {seconds:.1f} | 1 | {objective:.1f} |")
    rows.append(f"\nTwo threads against one: {times[0] / times[1]:.2f} times as fast.\n")
    # It stops as soon as it is as low: lower is no merit, and higher means that it never got there.
    verdict: Verdict = "same" if objectives[0] <= objective else "worse"
    row = Comparison(
        "Tagging", f"training a CRF to the same objective, {title[0].lower()}{title[1:]}, one thread", text, "CRFsuite",
        "s", times[0], seconds, verdict, f"objective {objectives[0]:.1f}, the peer's {objective:.1f}",
    )  # fmt: skip
    return "\n".join(rows), row


def _spinney(
    train: list[Sentence], observed: bool, target: float, threads: int, max_iter: int = 1000
) -> tuple[float, float]:
    """The objective reached and the seconds it took, feature extraction included."""
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns
    from spinney.tagging.training import Plan
    from spinney.tagging.training import train as fit

    columns = Columns.from_sentences(train)
    tagger = Tagger("chunk", weights="observed" if observed else "all", start_label=False, threads=threads)
    reached: list[tuple[float, float]] = []
    started = time.perf_counter()

    def watch(step: Any, w: Any) -> bool:
        reached.append((step.objective, time.perf_counter() - started))
        return bool(step.objective <= target)

    problem = tagger.problem(columns)
    loss, penalty = problem.loss, problem.penalty
    fit(loss, penalty, Plan(tol=0.0, max_iter=max_iter), watch=watch)
    return reached[-1]


def _crfsuite(train: list[Sentence], observed: bool, model: str) -> tuple[float, float]:
    """CRFsuite's objective after its iterations, and the seconds of ``train``."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in train:
        trainer.append(_features(sentence), [label for _, _, label in sentence])
    trainer.select("lbfgs")
    trainer.set_params(
        {
            "c2": 0.5,
            "max_iterations": ITERATIONS,
            "feature.possible_states": not observed,
            "feature.possible_transitions": not observed,
        }
    )
    print(f"CRFsuite, {'observed' if observed else 'all'} features …", file=sys.stderr, flush=True)
    started = time.perf_counter()
    trainer.train(model)
    return float(trainer.logparser.last_iteration["loss"]), time.perf_counter() - started


def _sparse_race(corpus_name: str, train: list[Sentence]) -> tuple[str, list[Comparison]]:
    """ℓ1, observed features, one thread: CRFsuite to its own end, and Spinney to that objective and to its own."""
    text = f"{corpus_name}, {len(train):,} sentences, {sum(map(len, train)):,} tokens"
    rows = [
        f"### ℓ1, observed features: {text}",
        "",
        f"CPU seconds, one thread each. CRFsuite stops by its own rule, Spinney at a proof to 1 % or, with +, after "
        f"{LONGEST:g} times CRFsuite's seconds.",
        "",
    ]
    rows += [
        "| λ | CRFsuite | its objective | Spinney as low | ratio | Spinney's end | objective | proven gap |"
    ]
    rows += ["|---:|---:|---:|---:|---:|---:|---:|---:|"]
    comparisons = []
    _sparse_spinney(train[:100], 1.0, 0.0)  # compile
    for lam in STRENGTHS:
        theirs, peer_seconds = _sparse_crfsuite(train, lam)
        reached, solution, ended = _sparse_spinney(train, lam, theirs, LONGEST * peer_seconds)
        there = reached if reached is not None else ended
        cut = "+" if ended > LONGEST * peer_seconds else ""
        rows.append(
            f"| {lam:g} | {peer_seconds:.1f} | {theirs:.2f} | {there:.1f} | {peer_seconds / there:.1f} "
            f"| {ended:.1f}{cut} | {solution.objective:.2f} | {solution.gap:.1e} |"
        )
        verdict: Verdict = "same" if reached is not None else "worse"
        quality = (
            f"objective {solution.objective:.2f} {'when stopped' if cut else 'at its own end'}, after {ended:.0f} s; "
            f"the peer's {theirs:.2f}"
        )
        row = Comparison(
            "Tagging", f"ℓ1, λ = {lam:g}, to CRFsuite's final objective, observed features, one thread", text,
            "CRFsuite", "s", there, peer_seconds, verdict, quality,
        )  # fmt: skip
        comparisons.append(row)
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows) + "\n", comparisons


def _sparse_spinney(
    train: list[Sentence], lam: float, target: float, longest: float = np.inf
) -> tuple[float | None, Any, float]:
    """CPU seconds to the target (None if never), the solution, and CPU seconds to its end; extraction included."""
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns
    from spinney.tagging.methods import plan_of
    from spinney.tagging.training import train as fit

    columns, reached = Columns.from_sentences(train), []
    started = time.process_time()

    def watch(step: Any, w: Any) -> bool:
        if step.objective <= target:
            reached.append(time.process_time() - started)
        return time.process_time() - started > longest

    tagger = Tagger("chunk", weights="observed", start_label=False, threads=1, penalty="l1", lam=lam)
    problem = tagger.problem(columns)
    solution = fit(problem.loss, problem.penalty, plan_of(tagger), watch=watch)
    return (reached[0] if reached else None), solution, time.process_time() - started


def _sparse_crfsuite(train: list[Sentence], lam: float) -> tuple[float, float]:
    """CRFsuite's objective when it stops by itself, and its CPU seconds."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in train:
        trainer.append(_features(sentence), [label for _, _, label in sentence])
    trainer.select("lbfgs")
    trainer.set_params({"c1": lam, "c2": 0.0, "max_iterations": 10_000})
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        trainer.train(os.path.join(folder, "model"))
        return float(trainer.logparser.last_iteration["loss"]), time.process_time() - started


def _labelling(train: list[Sentence], test: list[Sentence], model: str) -> tuple[str, Comparison]:
    """Tokens a second from text to labels, each with its own model of the same size."""
    import pycrfsuite

    from spinney.corpus.vocabulary import Numbering
    from spinney.tagging import Tagger
    from spinney.tagging.columns import read_column_batches

    text = "".join("".join(f"{w} {p} {y}\n" for w, p, y in sentence) + "\n" for sentence in test)
    tokens = sum(map(len, test))
    tagger = Tagger("chunk", start_label=False, tol=1e-2, threads=1).fit(
        [[row[:2] for row in s] for s in train], [[row[2] for row in s] for s in train]
    )
    peer = pycrfsuite.Tagger()
    peer.open(model)

    def ours() -> list[list[str]]:
        batches = read_column_batches(path, Numbering())
        return [labels for batch in batches for labels in tagger.label_columns(batch)]

    def theirs() -> list[list[str]]:
        return [peer.tag(_features(sentence)) for sentence in _parse(io.StringIO(open(path).read()))]

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test.txt")
        with open(path, "w") as file:
            file.write(text)
        times, correct = {}, {}
        for name, run in (("Spinney", ours), ("CRFsuite", theirs)):
            found = run()
            right = sum(y == label for s, labels in zip(test, found) for (_, _, y), label in zip(s, labels))
            correct[name] = right / tokens
            rounds = []
            for _ in range(3):
                started = time.perf_counter()
                run()
                rounds.append(time.perf_counter() - started)
            times[name] = min(rounds)
    rows = [
        "### Labelling, from a file of columns to labels",
        "",
        "| | tokens a second | ratio | correct labels |",
        "|---|---:|---:|---:|",
    ]
    for name, seconds in times.items():
        rate, ratio = tokens / seconds, times["CRFsuite"] / seconds
        rows.append(f"| {name} | {rate:,.0f} | {ratio:.1f} | {correct[name]:.2%} |")
    row = Comparison(
        "Tagging", "labelling, from a file of columns to labels, one thread", f"CoNLL-2000 test, {tokens:,} tokens",
        "CRFsuite", "tokens/s", tokens / times["Spinney"], tokens / times["CRFsuite"],
        judge(correct["Spinney"], correct["CRFsuite"], higher=True, tolerance=2e-3),
        f"{correct['Spinney']:.2%} of labels correct, the peer {correct['CRFsuite']:.2%}",
    )  # fmt: skip
    return "\n".join(rows) + "\n", row


def _files(
    text: str, train: list[Sentence], test: list[Sentence], folder: str
) -> tuple[str, list[Comparison]]:
    """The size of a default model of the same features and strength, and the time until it has labelled a sentence.

    CRFsuite's is that of observed features, which are its default; Spinney's has small weights dropped by default.
    """
    import pycrfsuite

    import spinney
    from spinney.evaluate import tagging_scores

    rows = [[row[:2] for row in s] for s in train], [[row[2] for row in s] for s in train]
    model = spinney.tagging.fit(rows, patterns="chunk", lam=1.0, start_label=False, threads=1)
    paths = {
        "Spinney": os.path.join(folder, "chunk.spinney"),
        "CRFsuite": os.path.join(folder, "True.crfsuite"),
    }
    model.save(paths["Spinney"])
    words, features = [[row[:2] for row in s] for s in test], [_features(s) for s in test]

    def ours() -> list[list[str]]:
        return spinney.load(paths["Spinney"]).predict(words[:1])

    def theirs() -> list[list[str]]:
        peer = pycrfsuite.Tagger()
        peer.open(paths["CRFsuite"])
        return [peer.tag(features[0])]

    runs: dict[str, Callable[[], Any]] = {"Spinney": ours, "CRFsuite": theirs}
    opened, peer = spinney.load(paths["Spinney"]), pycrfsuite.Tagger()
    peer.open(paths["CRFsuite"])
    found = {"Spinney": opened.predict(words), "CRFsuite": [peer.tag(sentence) for sentence in features]}
    if found["Spinney"] != model.predict(words):
        raise RuntimeError("a model that was saved and loaded gives other labels")
    sizes = {name: os.path.getsize(path) / 1e6 for name, path in paths.items()}
    loads, firsts, correct = {}, {}, {}
    gold = [[row[2] for row in s] for s in test]
    for name, run in runs.items():
        correct[name] = tagging_scores(gold, found[name])["f1"]
        firsts[name] = min(_seconds(run) for _ in range(5))
    loads["Spinney"] = min(_seconds(lambda: spinney.load(paths["Spinney"])) for _ in range(5))
    loads["CRFsuite"] = min(_seconds(lambda: pycrfsuite.Tagger().open(paths["CRFsuite"])) for _ in range(5))
    table = [
        "### Model files",
        "",
        "The same features and strength (½‖w‖²). Processor time, best of five, after another model was loaded.",
        "",
        "| | MB | load, ms | load and label a sentence, ms | F1 |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in paths:
        times = f"{1000 * loads[name]:.1f} | {1000 * firsts[name]:.1f}"
        table.append(f"| {name} | {sizes[name]:.2f} | {times} | {100 * correct[name]:.2f} |")
    table += ["", f"Dropped: {model.facts.get('pruned', 'nothing')}.", ""]
    verdict = judge(correct["Spinney"], correct["CRFsuite"], higher=True, tolerance=2e-3)
    quality = f"F1 {100 * correct['Spinney']:.2f}, the peer {100 * correct['CRFsuite']:.2f}"
    size = Comparison(
        "Tagging", "size of a CRF's model file, the same features", text, "CRFsuite", "MB",
        sizes["Spinney"], sizes["CRFsuite"], verdict, quality,
    )  # fmt: skip
    load = Comparison(
        "Tagging", "loading a CRF and labelling one sentence", text, "CRFsuite", "s",
        firsts["Spinney"], firsts["CRFsuite"], verdict, quality,
    )  # fmt: skip
    return "\n".join(table), [size, load]


def _seconds(run: Callable[[], Any]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def _passes(train: list[Sentence]) -> str:
    """One evaluation of the loss and its gradient, all features, on one thread and on two."""
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns

    columns, best = Columns.from_sentences(train), []
    for threads in (1, 2):
        loss = Tagger("chunk", start_label=False, threads=threads).problem(columns).loss
        w = np.zeros(loss.n_params)
        loss.value_and_grad(w)
        rounds = []
        for _ in range(7):
            started = time.perf_counter()
            loss.value_and_grad(w)
            rounds.append(time.perf_counter() - started)
        best.append(min(rounds))
    return (
        f"### One pass\n\nLoss and gradient of all weights over all sentences: {best[0]:.3f} s on one thread, "
        f"{best[1]:.3f} s on two, {best[0] / best[1]:.2f} times as fast. The stochastic start of a fit runs on one.\n"
    )


def _memory(train: list[Sentence]) -> str:
    """The most memory that training took beyond its data, in doubles a parameter."""
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns
    from spinney.tagging.merging import merge
    from spinney.tagging.training import Plan
    from spinney.tagging.training import train as fit

    problem = Tagger("chunk", start_label=False, threads=1).problem(Columns.from_sentences(train))
    loss, penalty = problem.loss, problem.penalty
    loss.shards, loss.columns, loss.gold_pairs  # noqa: B018 (the data in the form that the loss wants)
    tracemalloc.start()
    fit(loss, penalty, Plan(tol=0.0, max_iter=8))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Data, in the form that the solver wants: the merged observations by token and by observation, and what each token
    # leaves unexplained.
    seen = merge(loss.data.unigrams).observations
    data = (
        2 * len(seen.ids) * (4 + 8)
        + 8 * (seen.n_tokens + seen.n)
        + 8 * loss.data.n_tokens * loss.shape.labels
    )
    return (
        f"### Memory\n\nℓ2 training held at most {peak / 2**20:,.0f} MiB beyond the observations it was given: "
        f"{data / 2**20:,.0f} MiB of data in the form that it works on, and {(peak - data) / 8 / loss.n_params:.1f} "
        f"doubles for each of {loss.n_params:,} parameters.\n"
    )


def _sentences(part: str) -> Iterator[Sentence]:
    with zipfile.ZipFile(corpus("nltk", "conll2000.zip")) as archive:
        yield from _parse(io.StringIO(archive.read(f"conll2000/{part}.txt").decode("latin-1")))


def _entities() -> Iterator[Sentence]:
    """The training sentences of CoNLL-2003: word, part of speech, entity."""
    sentence: Sentence = []
    with lzma.open(corpus("conll2003", "eng.train.xz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            cells = line.split()
            if cells and cells[0] != "-DOCSTART-":
                sentence.append((cells[0], cells[1], cells[-1]))
            elif sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def _parse(lines: Any) -> Iterator[Sentence]:
    sentence: Sentence = []
    for line in lines:
        if cells := line.split():
            sentence.append((cells[0], cells[1], cells[2]))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _features(sentence: Sentence) -> list[list[str]]:
    """The strings that the template makes, written as plainly as a user of CRFsuite would."""
    n = len(sentence)
    columns = {"w": [row[0] for row in sentence], "p": [row[1] for row in sentence]}

    def at(kind: str, t: int) -> str:
        return columns[kind][t] if 0 <= t < n else f"_B{t if t < 0 else t - n + 1:+d}"

    return [
        [f"{i}:" + "/".join(at(kind, t + o) for o in window) for i, (kind, window) in enumerate(WINDOWS)]
        for t in range(n)
    ]
