"""Sokolovska (2010), Tables 3.6, 6.1, 6.2 and 7.3 to 7.4: sparse models for chunks and names."""

from __future__ import annotations

import zipfile
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sokolovska_common import data_folder, fitted, markdown, thresholded

from spinney.tagging.columns import Columns, read_all
from spinney.tagging.tagger import Tagger

FAMILIES = {"*w:%x[0,0]": "word", "*p:%x[0,1]": "POS", "*c:%x[0,2]": "chunk"}
TAU = (None, 0.25, 0.5, 1.0, 2.0, 3.0)
Published = tuple[int | None, float | None, float | None]  # active weights, token error, F1


class Task(NamedTuple):
    """A data set, its strengths (1/σ² and ρ₁) and what the thesis has for each row and test set."""

    title: str
    train: Columns
    tests: dict[str, Columns]
    families: int
    rho_2: float
    rho_1: float
    quick: int  # sentences to train on in a quick run
    published: dict[str, list[Published]]


def conll2000() -> tuple[Columns, Columns]:
    """Training and test sentences: word, part of speech, chunk."""
    with TemporaryDirectory() as folder, zipfile.ZipFile(data_folder() / "nltk" / "conll2000.zip") as archive:
        files = [archive.extract(f"conll2000/{name}.txt", folder) for name in ("train", "test")]
        return read_all(files[0]), read_all(files[1])


def first(columns: Columns, n: int, start: int = 0) -> Columns:
    """``n`` sentences from the ``start``-th on."""
    offsets = columns.offsets[start : start + n + 1]
    return Columns(offsets - offsets[0], columns.symbols[:, offsets[0] : offsets[-1]], columns.pool)


def chunking() -> Task:
    """CoNLL-2000. The cut models' numbers are those of Table 6.1, the sparse one's those of Table 7.3.

    The text says of ±3 that 310 unigrams are left, 95 of words and 215 of parts of speech, and that they are about as
    good as the baseline of the shared task, F1 77.07.
    """
    train, test = conll2000()
    published: list[Published] = [
        (9_266_269, 5.57, 91.16), (26_986, 5.58, 91.18), (12_127, 5.65, 90.97), (2_079, 6.98, 88.53),
        (None, None, None), (None, None, 77.07), (16_572, None, None),
    ]  # fmt: skip
    return Task("CoNLL-2000", train, {"test": test}, 2, 1.0, 0.5, 4000, {"test": published})


def names() -> Task:
    """CoNLL-2003: Tables 6.2 and 7.4."""
    parts = {
        part: read_all(data_folder() / "conll2003" / f"eng.{part}.xz") for part in ("train", "testa", "testb")
    }
    a: list[Published] = [
        (1_611_832, 3.04, 83.04), (62_563, 3.19, 82.23), (38_520, 3.33, 81.47), (19_244, 3.82, 80.31),
        (None, None, None), (None, None, None), (25_090, None, None),
    ]  # fmt: skip
    b: list[Published] = [
        (1_611_832, 5.31, 73.15), (62_563, 5.45, 72.72), (38_520, 5.55, 72.41), (19_244, 6.0, 71.58),
        (None, None, None), (None, None, None), (25_090, None, None),
    ]  # fmt: skip
    tests = {"A": parts["testa"], "B": parts["testb"]}
    return Task("CoNLL-2003", parts["train"], tests, 3, 0.02, 0.1, len(parts["train"]), {"A": a, "B": b})


def _rows(task: Task, tagger: Tagger, name: str, place: int, seconds: float | None) -> list[list[Any]]:
    """One row a test set."""
    counts = tagger.active_by_pattern()
    families = ", ".join(
        f"{family} {counts.get(text, (0, 0))[0]:,}+{counts.get(text, (0, 0))[1]:,}"
        for text, family in list(FAMILIES.items())[: task.families]
    )
    rows = []
    for part, columns in task.tests.items():
        scores = tagger.score_columns(columns)
        theirs = task.published[part][place]
        ours = tagger.weights_.n_active, 100.0 * scores["token_error"], 100.0 * scores["f1"]
        pairs = [cell for pair in zip(theirs, ours) for cell in pair]
        rows.append([name, part, *pairs, families, seconds])
        seconds, families = None, "(the same)"
    return rows


def _distance(tagger: Tagger) -> str:
    """The gap of a fit, and whether it is what was asked for."""
    facts = tagger.facts_
    known = "unknown" if facts["gap"] is None else f"{facts['gap']:.2%}"
    return known + ("" if facts["converged"] else f", after {facts['iterations']} iterations")


def sparsity(task: Task, quick: bool) -> str:
    """The model with an ℓ2 penalty, cut at several sizes of weights; and the elastic net."""
    train = first(task.train, task.quick) if quick else task.train
    patterns = "\n".join(list(FAMILIES)[: task.families])
    how: dict[str, Any] = {"tol": 1e-3, "max_iter": 100 if quick else 500}
    full = fitted(train, patterns, lam=task.rho_2, **how)
    rows = []
    for place, tau in enumerate(TAU):
        tagger = full if tau is None else thresholded(full, tau)
        name = f"ℓ2, 1/σ² = {task.rho_2:g}" if tau is None else f"the same, ±{tau} zeroed"
        seconds = None if tau else full.facts_["seconds"]
        rows += _rows(task, tagger, name, place, seconds)
    how = {
        "tol": 1e-2,
        "max_iter": 100 if quick else 500,
        "penalty": "elasticnet",
        "lam": task.rho_1,
        "l2": 1e-5,
    }
    sparse = fitted(train, patterns, **how)
    rows += _rows(task, sparse, f"elastic net, ρ₁ = {task.rho_1:g}", len(TAU), sparse.facts_["seconds"])
    note = (
        f"Features (y,·) and (y',y,·) of each column, superposed; {len(train):,} of {len(task.train):,} sentences to "
        "train on, all sentences of the test sets. The elastic net (ρ₂ = 1e-5) is solved by active sets, not by 30 "
        f"sweeps of blockwise descent. Proven distance from the optimum: at most {_distance(full)} (ℓ2), "
        f"{_distance(sparse)} (elastic net). Active weights by family: unigrams + bigrams."
    )
    header = ["model", "set", "active, thesis", "ours", "error %, thesis", "ours", "F1, thesis", "ours"]
    return markdown(f"{task.title}: sparse models", note, [*header, "active by family", "s"], rows)
