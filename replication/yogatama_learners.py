"""Text, learners and scores of the Yogatama replication; each is made once in a run."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spectral_common import Setting
from spectral_scores import PAIRS, Scores, Tests, read_tests, scored
from spectral_text import reviews

from spinney.corpus import TokenArrays, sentence_arrays
from spinney.embed import count_contexts, window
from spinney.embed.code_trees import code_forest
from spinney.embed.sparse_coding import SparseCoding, equalised
from spinney.embed.stochastic_coding import ProxScale, StochasticCoding
from spinney.embed.weighting import pmi
from spinney.evaluate import paired_bootstrap, spearman_of_pairs, word_similarity
from spinney.evaluate.significance import accuracy
from spinney.files import replacing
from spinney.linalg import truncated_svd
from spinney.structure import WordVectors

RARE, NUMBER = "#rare#", "#number#"
TREE = 13  # the nodes of each tree, in every shape
#: Shapes of trees of 13 nodes; the norm of single nodes is the ℓ1 norm, the thesis's SC.
SHAPES: dict[str, tuple[int, ...] | None] = {
    "4, 2": (4, 2),
    "3, 3": (3, 3),
    "star": (12,),
    "binary": None,
    "chain": (1,) * 12,
    "lasso": (),
}
MIN_PAIR = 5
#: All pairs, those seen MIN_PAIR times or more, those of positive PMI, or those with the most frequent contexts.
Pairs = Literal["all", "often", "positive", "few"]
_FEW_CONTEXTS = 500
_QUICK_TOKENS, _QUICK_WORDS = 4_500_000, 10_000
_NOT_IN_THESIS = ("SimVerb-3500", "VERB-143")
TEN_SETS = [i for i, name in enumerate(PAIRS) if name not in _NOT_IN_THESIS]


class Material(NamedTuple):
    """The text, its word × context matrix, and what vectors are tried on."""

    text: TokenArrays
    X: Any  # CSR [words, contexts], signed PMI
    X_often: Any  # of the pairs seen MIN_PAIR times or more
    tests: Tests
    seconds: float  # counting and PMI


@dataclass(frozen=True, eq=False)
class Learnt:
    """Vectors, what they reached and what they cost."""

    matrix: NDArray[Any]  # [words, M]
    scores: Scores
    seconds: float
    of_processors: float

    @property
    def similarity(self) -> float:
        """Spearman's coefficient, averaged over the thesis's ten sets."""
        return mean_of_sets(self.scores.cosines)

    @property
    def pooled(self) -> float:
        """Spearman's coefficient of the pairs of the ten sets together, scores as shares of the set's highest."""
        return spearman_of_pairs(np.vstack([_of_set(self.scores.cosines, i) for i in TEN_SETS]))

    @property
    def syntactic(self) -> float:
        """The share of right analogies of word forms."""
        return self.scores.google.syntactic.accuracy

    @property
    def semantic(self) -> float:
        """The share of right analogies of meaning."""
        return self.scores.google.semantic.accuracy

    @property
    def sentiment(self) -> float:
        """The share of sentences that are told right."""
        return self.scores.sentiment.accuracy

    @property
    def nonzero(self) -> float:
        """The share of numbers that are not zero."""
        return float(np.count_nonzero(self.matrix) / self.matrix.size)


@cache
def material(setting: Setting) -> Material:
    """Film reviews, prepared as in the thesis, a part of them when quick."""
    sentences = _prepared(setting)
    text = sentence_arrays(
        sentences, min_count=10, max_size=_QUICK_WORDS if setting.quick else None, unknown=RARE
    )
    started = time.perf_counter()
    counts = count_contexts(text, window(5)).matrix
    X = pmi(counts, floor=None)
    seconds = time.perf_counter() - started
    # Neither Microsoft's analogies nor categories are in the thesis.
    tests = dataclasses.replace(read_tests(setting), msr=[], categories={})
    return Material(text, X, pmi(counts, floor=None, min_count=MIN_PAIR), tests, seconds)


def _prepared(setting: Setting) -> Iterator[list[str]]:
    left = _QUICK_TOKENS if setting.quick else np.inf
    for sentence in reviews(setting.data / "imdb"):
        left -= len(sentence)
        if left < 0:
            return
        yield [NUMBER if token.isdecimal() else token for token in sentence]


# ---------------------------------------------------------------------------------------------- learners


@cache
def principal(setting: Setting, M: int, how: Literal["thesis", "library"], which: Pairs = "all") -> Learnt:
    """Truncated SVD: U·s of signed PMI, or U·s^¼ of positive PMI with rows of length one."""

    def learn() -> NDArray[Any]:
        X = _matrix(setting, "positive" if how == "library" else which)
        found = truncated_svd(X, M, random_state=setting.seed)
        if how == "thesis":
            return found.U * found.s
        rows = found.U * found.s**0.25
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

    return tried(setting, f"svd-{how}-{M}" + ("" if which == "all" else f"-{which}"), learn)


@cache
def coded(
    setting: Setting,
    M: int,
    lam: float,
    shape: str,
    rounds: int,
    which: Pairs = "all",
    start: int = 0,
    briefly: bool = False,
) -> Learnt:
    """Algorithm A: dictionary learning, with trees of some shape or ℓ1; of all pairs, or of some.

    Briefly, it ends after five passes over the words, before the dictionary has the basis of the least norm.
    """

    def learn() -> NDArray[Any]:
        options: dict[str, Any] = {"penalty": "lasso"} if shape == "lasso" else {"forest": parents(M, shape)}
        options |= {"rounds": 1, "span_passes": 0} if briefly else {"rounds": rounds}
        model = SparseCoding(M, lam=lam, random_state=setting.seed + start, **options)
        return model.fit(_matrix(setting, which)).codes_

    name = f"codes-{shape}-{M}-{lam:.6g}-{'brief' if briefly else rounds}-{which}-{start}"
    return tried(setting, name, learn)


@cache
def by_entries(
    setting: Setting,
    M: int,
    prox_scale: ProxScale,
    epochs: int,
    which: Pairs,
    lam: float = 0.1,
    zeros: float = 1.0,
    bias: bool = True,
    start: int = 0,
    threads: int | None = None,
) -> Learnt:
    """Algorithm B: stochastic steps on single entries; the thesis has neither zeros nor biases."""

    def learn() -> NDArray[Any]:
        model = StochasticCoding(
            M,
            lam=lam,
            prox_scale=prox_scale,
            epochs=epochs,
            zeros=zeros,
            bias=bias,
            threads=threads,
            random_state=setting.seed + start,
        )
        return model.fit(_matrix(setting, which)).codes_

    how = f"{prox_scale}-{epochs}-{which}-{lam:g}-{zeros:g}-{bias}-{start}-{threads}"
    return tried(setting, f"entries-{M}-{how}", learn)


def _matrix(setting: Setting, which: Pairs) -> Any:
    if which == "few":
        return material(setting).X[:, :_FEW_CONTEXTS]
    if which == "positive":
        return material(setting).X.maximum(0)
    return material(setting).X_often if which == "often" else material(setting).X


@cache
def word2vec(
    setting: Setting, M: int, skip_gram: bool, epochs: int, hierarchical: bool = False
) -> Learnt | None:
    """Gensim's vectors of the same text, by negative samples or by hierarchical softmax; None where it is missing."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        return None
    text = material(setting).text

    def learn() -> NDArray[Any]:
        model = Word2Vec(
            _Sentences(text), vector_size=M, window=5, sg=int(skip_gram), hs=int(hierarchical),
            negative=0 if hierarchical else 5, min_count=1, epochs=epochs, workers=1, seed=setting.seed,
        )  # fmt: skip
        found = np.zeros((len(text.vocabulary), M), np.float32)
        for i, word in enumerate(text.vocabulary.words):
            if word in model.wv:
                found[i] = model.wv[word]
        return found

    how = f"{'hs' if hierarchical else 'ns'}-{M}-{epochs}"
    return tried(setting, f"{'sg' if skip_gram else 'cbow'}-{how}", learn)


class _Sentences:
    """The words of each sentence, as often as they are asked for."""

    def __init__(self, text: TokenArrays) -> None:
        self.text = text

    def __iter__(self) -> Iterator[list[str]]:
        words = self.text.vocabulary.words
        for sentence in self.text:
            yield [words[i] for i in sentence.tolist()]


def parents(M: int, shape: str) -> NDArray[np.int32]:
    """The parent of each of M dimensions (-1 for a root) in trees of 13 nodes of some shape."""
    branching = SHAPES[shape]
    if branching == ():
        return code_forest(M, ())
    if branching is not None:
        return code_forest(M // TREE, branching)
    node = np.arange(M, dtype=np.int32) % TREE  # as full as a binary tree of 13 nodes can be
    above = (node - 1) // 2
    return np.where(node == 0, np.int32(-1), np.arange(M, dtype=np.int32) - node + above)


def levels(parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """The depth of each dimension, 0 for roots; parents come before children."""
    depth = np.zeros(len(parent), np.int64)
    for i, above in enumerate(parent.tolist()):
        if above >= 0:
            depth[i] = depth[above] + 1
    return depth


# ------------------------------------------------------------------------------------------------ scores


def tried(setting: Setting, name: str, learn: Callable[[], NDArray[Any]]) -> Learnt:
    """What learning gives, its scores and its seconds; the vectors are kept in the cache under a name."""
    text, tests = material(setting).text, material(setting).tests
    path = setting.cache / f"{setting.size}-{setting.seed}-{name.replace(', ', 'x')}.npz"
    if not path.is_file():
        started, started_cpu = time.perf_counter(), time.process_time()
        matrix = learn().astype(np.float32)
        costs = time.perf_counter() - started, time.process_time() - started_cpu
        with replacing(path) as file:
            np.savez(file, matrix=matrix, costs=costs)
    with np.load(path) as kept:
        matrix, costs = kept["matrix"], kept["costs"].tolist()
    return Learnt(matrix, scored(WordVectors(text.vocabulary.words, matrix, lowercase=True), tests), *costs)


def scaled(setting: Setting, one: Learnt) -> Learnt:
    """The same vectors where each dimension is divided by its root mean square, so that all weigh alike in cosines."""
    text, tests = material(setting).text, material(setting).tests
    rows = equalised(one.matrix.astype(np.float64)).astype(np.float32)
    found = scored(WordVectors(text.vocabulary.words, rows, lowercase=True), tests)
    return dataclasses.replace(one, matrix=rows, scores=found)


def centred_similarity(setting: Setting, one: Learnt) -> float:
    """The mean coefficient of the ten sets after the mean of all codes is subtracted from each."""
    text, tests = material(setting).text, material(setting).tests
    rows = (one.matrix - one.matrix.mean(axis=0)).astype(np.float32)
    found = WordVectors(text.vocabulary.words, rows, lowercase=True)
    sets = [pairs for i, pairs in enumerate(tests.pairs.values()) if i in TEN_SETS]
    return float(np.mean([word_similarity(found, pairs, "cosine")["spearman"] for pairs in sets]))


def mean_of_sets(cosines: NDArray[Any]) -> float:
    """Spearman's coefficient, averaged over the ten sets; rows are set number, cosine, people's score."""
    return float(np.mean([spearman_of_pairs(_of_set(cosines, i)) for i in TEN_SETS]))


def _of_set(cosines: NDArray[Any], number: int) -> NDArray[np.float64]:
    rows = cosines[cosines[:, 0] == number, 1:]
    return rows / [1.0, np.max(rows[:, 1], initial=1e-12)]


def luck(baseline: Learnt, system: Learnt, tests: Tests, resamples: int) -> dict[str, tuple[float, float]]:
    """The 95 % interval of system − baseline for each task, by paired bootstraps."""
    syntactic = np.array([question.syntactic for question in tests.google])
    known = np.array([answer is not None for answer in baseline.scores.google.answers])
    found = {}
    for name, items, statistic in (
        ("similarity", [one.scores.cosines for one in (baseline, system)], mean_of_sets),
        ("syntactic", [one.scores.google.correct[known & syntactic] for one in (baseline, system)], accuracy),
        ("semantic", [one.scores.google.correct[known & ~syntactic] for one in (baseline, system)], accuracy),
        ("sentiment", [one.scores.sentiment.correct for one in (baseline, system)], accuracy),
    ):
        test = paired_bootstrap(*items, statistic, resamples=resamples)
        found[name] = (test.low, test.high)
    return found
