"""Vectors as features of taggers: names with a CRF, phrases with an averaged perceptron and a CRF."""

from __future__ import annotations

import time
import warnings
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from grave_common import section, verdict
from numpy.typing import NDArray
from spectral_common import Setting, chance
from spectral_text import tagger_text

from spinney.corpus import sentence_arrays
from spinney.embed import Embedding
from spinney.evaluate import chunks, convert, error_reduction, f1_of_counts, paired_bootstrap
from spinney.files import replacing
from spinney.structure import WordVectors
from spinney.tagging.columns import Columns, read_all
from spinney.tagging.presets import PRESETS
from spinney.tagging.tagger import Tagger

DIMENSIONS = 50
#: The tutorial's error reductions, in percent; of which baseline it does not say.
PUBLISHED = {"names": 8, "phrases": 29}
_RESAMPLES = 2000

Row = tuple[str, ...]
Sentences = list[list[Row]]


class Task(NamedTuple):
    """Sentences as rows of columns, the last of them labels, and the patterns of the baseline."""

    preset: str
    train: Sentences
    test: Sentences


class Outcome(NamedTuple):
    """Counts of found, spurious and missed phrases of each test sentence, and seconds of training."""

    counts: NDArray[np.int64]
    seconds: float

    @property
    def f1(self) -> float:
        """Of all sentences, in percent."""
        return 100 * f1_of_counts(self.counts)


def tagging(setting: Setting) -> str:
    """One table: tasks and learners, without vectors, with those of words, and with those of tokens besides."""
    text = tagger_text(setting)
    embedding = Embedding("cca", DIMENSIONS, random_state=setting.seed).fit(text, reading={"lowercase": True})
    tasks = {"names": _names(setting), "phrases": _phrases(setting)}
    runs = [("names", "CRF"), ("phrases", "averaged perceptron"), ("phrases", "CRF")]
    rows, claims = [], []
    for name, learner in runs:
        outcomes = [_outcome(tasks[name], learner, embedding, kind, setting.seed) for kind in KINDS]
        baseline = outcomes[0]
        for kind, outcome in zip(KINDS, outcomes):
            cells: list[object] = [f"{name}, {learner}{kind}", f"{outcome.f1:.2f}"]
            if kind:
                test = paired_bootstrap(baseline.counts, outcome.counts, f1_of_counts, resamples=_RESAMPLES)
                reduction = 100 * error_reduction(baseline.f1, outcome.f1, 100)
                cells += [f"{reduction:+.1f} %", f"{100 * test.low:+.2f} to {100 * test.high:+.2f}"]
                cells += [chance(test.p_value)]
                claims.append(
                    (
                        f"{name}, {learner}{kind}: fewer errors (p < .05)",
                        test.difference > 0 and test.p_value < 0.05,
                    )
                )
            else:
                cells += [None, None, None]
            published = (
                PUBLISHED[name] if kind == KINDS[1] and (name == "names") == (learner == "CRF") else None
            )
            rows.append([*cells, None if published is None else f"{published} %", f"{outcome.seconds:.0f}"])
    header = ["", "F1", "error reduction", "difference of F1, 95 %", "no difference?", "tutorial", "s"]
    return section("Vectors in taggers", _note(setting, tasks, embedding), header, rows) + verdict(claims)


KINDS = ("", ", + vectors of words", ", + vectors of words and states of tokens")


def _note(setting: Setting, tasks: dict[str, Task], embedding: Embedding) -> str:
    texts = "Reuters-21578 (ApteMod), the Brown corpus and the Penn Treebank"
    texts += "" if setting.quick else ", 20 newsgroups and film reviews (IMDB)"
    facts = embedding.facts
    note = (
        f"Names: CoNLL-2003, test B, patterns of the preset `ner`, {len(tasks['names'].train):,} sentences to train "
        f"on. Phrases: CoNLL-2000, preset `chunk`, {len(tasks['phrases'].train):,} sentences. CRF: ½‖w‖²; perceptron: "
        f"10 passes. Vectors: CCA of words and contexts, {DIMENSIONS} dimensions as in the tutorial, of "
        f"{facts['tokens'] / 1e6:.1f} M lower-cased tokens, {facts['words']:,} words ({texts}); the tutorial had 63 M "
        "of RCV-1, 300,000 words. The word and its neighbours on either side each give 50 values; the state of the "
        "token (what the words around it say, projected, of length one) 50 more. Error reduction: the part of 1 − F1 "
        "of the row without vectors. The tutorial does not say of which baseline, nor with which features; its figures "
        "stand beside the learners that it names. Differences: bootstrap by sentence. The Penn Treebank text holds "
        "that of the phrase test set, unlabelled; the names are from RCV-1, which the tutorial learnt from."
    )
    return note + (
        " Quick: parts of the training sets, and two of the five texts left out." if setting.quick else ""
    )


def _names(setting: Setting) -> Task:
    parts = [_sentences(setting.data / "conll2003" / f"{name}.xz") for name in ("eng.train", "eng.testb")]
    return Task("ner", parts[0][: 4000 if setting.quick else None], parts[1])


def _phrases(setting: Setting) -> Task:
    parts = []
    with zipfile.ZipFile(setting.data / "nltk" / "conll2000.zip") as files:
        for name in ("train", "test"):
            path = setting.cache / f"conll2000-{name}.txt"
            with replacing(path) as file:
                file.write(files.read(f"conll2000/{name}.txt"))
            parts.append(_sentences(path))
    return Task("chunk", parts[0][: 4000 if setting.quick else None], parts[1])


def _sentences(path: Path) -> Sentences:
    columns = read_all(path)
    cells = [columns.strings(i) for i in range(columns.width)]
    found = []
    for start, stop in pairwise(columns.offsets.tolist()):
        *inputs, labels = (column[start:stop] for column in cells)
        found.append(list(zip(*inputs, convert(labels, "iob2"))))
    return found


def _outcome(task: Task, learner: str, embedding: Embedding, kind: str, seed: int) -> Outcome:
    """Train and test with one of the `KINDS` of features."""
    width = len(task.train[0][0])
    patterns = PRESETS[task.preset]
    vectors: dict[str, WordVectors] = {}
    if kind:
        patterns += "".join(f"Uv{at:+d}:%vector[{at},0,v]\n" for at in (-1, 0, 1))
        vectors["v"] = embedding.word_vectors()
    parts = [task.train, task.test]
    if kind == KINDS[2]:
        patterns += f"Us:%value[0,{width - 1}]\n"
        parts = [_with_states(part, embedding) for part in parts]
    train, test = map(Columns.from_sentences, parts)
    options: dict[str, Any] = {"solver": "perceptron"} if "perceptron" in learner else {"max_iter": 100}
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopped early is no news
        tagger = Tagger(patterns, vectors=vectors, random_state=seed, **options).fit_columns(train)
    seconds = time.perf_counter() - started
    gold = [[row[-1] for row in sentence] for sentence in task.test]
    found = tagger.label_columns(test.without_last())
    return Outcome(np.array([_counts(a, b) for a, b in zip(gold, found, strict=True)]), seconds)


def _with_states(sentences: Sentences, embedding: Embedding) -> Sentences:
    """The rows with the state of each token as a cell for ``%value`` before the label."""
    words = [[row[0].lower() for row in sentence] for sentence in sentences]
    states = embedding.token_states(sentence_arrays(words, vocabulary=embedding.vocabulary_))
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    states /= np.where(lengths > 0, lengths, 1)
    cells = iter(["|".join(f"{i}:{value:.4g}" for i, value in enumerate(row)) for row in states.tolist()])
    return [[(*row[:-1], next(cells), row[-1]) for row in sentence] for sentence in sentences]


def _counts(gold: Sequence[str], found: Sequence[str]) -> tuple[int, int, int]:
    wanted, got = set(chunks(gold)), set(chunks(found))
    both = len(wanted & got)
    return both, len(got) - both, len(wanted) - both
