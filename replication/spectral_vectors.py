"""Word vectors: the methods of the spectral family side by side, their size, and transforms of the counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from grave_common import section, table, verdict
from spectral_common import Setting, figure
from spectral_scores import PAIRS, SUMMARY, Scores, Tests, compared, read_tests, scored
from spectral_text import UNKNOWN, words_text

from spinney.corpus import TokenArrays
from spinney.embed import Embedding, count_contexts, window
from spinney.embed.eigenwords import Decomposition, Learned, one_step_cca
from spinney.embed.weighting import Transform
from spinney.parallel import default_threads
from spinney.structure import WordVectors

#: Rows of the table, and how each is learnt.
METHODS: dict[str, dict[str, Any]] = {
    "cca": {"method": "cca"},
    "cca, raw": {"method": "cca", "transform": "raw"},
    "tscca": {"method": "tscca"},
    "tscca, raw": {"method": "tscca", "transform": "raw"},
    "lrmvl I": {"method": "lrmvl", "variant": "I", "transform": "sqrt"},
    "lrmvl I, raw": {"method": "lrmvl", "variant": "I", "transform": "raw"},
    "lrmvl II": {"method": "lrmvl", "variant": "II", "transform": "sqrt"},
    "lrmvl II, raw": {"method": "lrmvl", "variant": "II", "transform": "raw"},
    "bigram svd": {"method": "svd"},
    "bigram rescaled": {"method": "rescaled"},
    "bigram rescaled, no pseudo-count": {"method": "rescaled", "pseudo": 0.0},
    "pmi": {"method": "pmi"},
}
PEER = "gensim skip-gram"
#: Of gensim's vectors of the whole text of reviews, five epochs, measured apart from this run.
REFERENCE = {
    "MC-30": ".604", "MEN": ".545", "MTurk-287": ".498", "MTurk-771": ".467", "RG-65": ".451", "RW": ".481",
    "SimVerb": ".237", "Verb-143": ".317", "WS-353": ".540", "WS-rel": ".441", "WS-sim": ".608", "YP-130": ".356",
    "mean": ".462",
}  # fmt: skip
SIZES = (30, 50, 100, 200)
TRANSFORMS: tuple[Transform, ...] = ("raw", "sqrt", "log", "two-thirds")
_EPOCHS = 5
_MISSING = "gensim is not installed"


class Result(NamedTuple):
    """Scores of vectors and what they cost."""

    scores: Scores
    seconds: float
    of_processors: float


def methods(setting: Setting) -> str:
    """All methods and gensim's skip-gram on the same text."""
    text, tests = words_text(setting), read_tests(setting)
    results: dict[str, Result] = {}
    for name, options in METHODS.items():
        embedding = Embedding(dimensions=100, random_state=setting.seed, **options)
        results[name] = _timed(lambda embedding=embedding: _of_embedding(embedding, text), tests)
    peer = _peer(text, setting.seed)
    if peer is not None:
        results[PEER] = _timed(peer, tests)
    rows: list[list[object]] = [
        [name, f"{result.seconds:.0f}", f"{result.of_processors:.0f}", *result.scores.summary()]
        for name, result in results.items()
    ]
    if peer is None:
        rows.append([PEER, _MISSING, *[None] * (len(SUMMARY) + 1)])
    note = _note(setting, text, results["cca"].scores)
    report = section("Word vectors", note, ["method", "s", "s of processors", *SUMMARY], rows)
    report += "\nSpearman's coefficient by set:\n\n" + _by_set(results, setting)
    best = max(METHODS, key=lambda name: results[name].scores.mean)
    if PEER in results:
        report += "\nThe default, and the best of ours by similarity (by these very numbers, so a little flattered), "
        report += "against gensim, by paired bootstrap of pairs, questions and sentences:\n"
        for name in dict.fromkeys(["cca", best]):
            header = ["", PEER, name, "difference, 95 %", "no difference?"]
            report += "\n" + table(header, compared(results[PEER].scores, results[name].scores, tests))
    return report + verdict(_claims({name: results[name].scores for name in METHODS}))


def sizes(setting: Setting) -> str:
    """One-step CCA with fewer and more dimensions, and with counts transformed in other ways."""
    text, tests = words_text(setting), read_tests(setting)
    places = window(5, weighting="harmonic")
    counts = count_contexts(text, places)
    scores: dict[tuple[Transform, int], Scores] = {}
    for transform in TRANSFORMS:
        k = max(SIZES) if transform == "sqrt" else 100
        decomposition = Decomposition(k, random_state=setting.seed)
        learnt = one_step_cca(counts, places, decomposition, transform=transform)
        for size in SIZES if transform == "sqrt" else (k,):
            scores[transform, size] = scored(_first(learnt, size, text), tests)
    note = (
        "One-step CCA as above, each number of dimensions the first so many of 200 (randomised decompositions of 100 "
        "and of 200 agree but for near ties); below, 100 dimensions of counts (and their sums) as they are, their "
        "square roots, logarithms (of 1 + count) and powers of 2/3. The tutorial: 30 to 50 dimensions are used; square "
        "roots are recommended in the literature."
    )
    rows: list[list[object]] = [[f"{k} dimensions, sqrt", *scores["sqrt", k].summary()] for k in SIZES]
    rows += [[f"{how}, 100 dimensions", *scores[how, 100].summary()] for how in TRANSFORMS]
    means = {key: one.mean for key, one in scores.items()}
    claims = [
        (
            "square roots are the best transform by similarity",
            means["sqrt", 100] == max(means[how, 100] for how in TRANSFORMS),
        ),
        ("raw counts are the worst", means["raw", 100] == min(means[how, 100] for how in TRANSFORMS)),
        ("50 dimensions reach 90 % of the similarity of 200", means["sqrt", 50] >= 0.9 * means["sqrt", 200]),
    ]
    return section("Dimensions and transforms", note, ["", *SUMMARY], rows) + verdict(claims)


def _timed(learn: Any, tests: Tests) -> Result:
    started, started_cpu = time.perf_counter(), time.process_time()
    vectors = learn()
    seconds, of_processors = time.perf_counter() - started, time.process_time() - started_cpu
    return Result(scored(vectors, tests), seconds, of_processors)


def _of_embedding(embedding: Embedding, text: TokenArrays) -> WordVectors:
    return embedding.fit(text, reading={"lowercase": True}).word_vectors()


def _first(learnt: Learned, size: int, text: TokenArrays) -> WordVectors:
    """Vectors of the first dimensions alone: those of a smaller decomposition are the same."""
    fewer = Learned(learnt.U[:, :size], learnt.s[:size], learnt.whitening, ())
    return WordVectors(text.vocabulary.words, fewer.vectors("unit", 0.25), lowercase=True)


def _peer(text: TokenArrays, seed: int) -> Any:
    """A function that learns gensim's vectors, or None where there is no gensim."""
    try:
        from gensim.models import Word2Vec  # type: ignore[import-untyped]
    except ImportError:
        return None

    def learn() -> WordVectors:
        model = Word2Vec(
            _Sentences(text), vector_size=100, window=5, sg=1, negative=5, min_count=1, epochs=_EPOCHS, seed=seed,
            workers=default_threads(),
        )  # fmt: skip
        return WordVectors(list(model.wv.index_to_key), model.wv.vectors, lowercase=True)

    return learn


class _Sentences:
    """The words of each sentence without the unknown ones, as often as they are asked for."""

    def __init__(self, text: TokenArrays) -> None:
        self.text = text

    def __iter__(self) -> Iterator[list[str]]:
        words = self.text.vocabulary.words
        for sentence in self.text:
            yield [words[i] for i in sentence.tolist() if words[i] != UNKNOWN]


def _note(setting: Setting, text: TokenArrays, scores: Scores) -> str:
    source = "IMDB film reviews"
    if setting.quick:
        source = "the first 2 M tokens of the IMDB film reviews, the Brown corpus and the Penn Treebank"
    syntactic, semantic, msr = scores.google.syntactic, scores.google.semantic, scores.msr.total
    note = (
        f"{text.n_tokens / 1e6:.2f} M lower-cased tokens ({source}), {len(text.vocabulary) - 1:,} words seen ten times "
        "or more; 100 dimensions. Windows of five words on either side weighted 1/distance (cca, tscca, lrmvl I), 1 "
        "(pmi: positive PMI), the next word alone (bigram); contexts of lrmvl II fade at rates .1, .5, .9; lrmvl has "
        "6 passes. Counts are square roots unless “raw” (lrmvl II: those that whiten words); bigrams are raw, rescaled "
        "with a pseudo-count of 400. Vectors are rows of U·s^¼ of length one. Similarity: Spearman's "
        f"coefficient of cosines, mean of the 12 sets ({len(scores.cosines):,} pairs are known). Analogies: 3CosAdd, "
        f"{syntactic.known:,}, {semantic.known:,} and {msr.known:,} questions whose words are known. AP to ESSLLI: "
        "purity of clusters (cosine, complete linkage). SST: logistic regression on mean vectors, positive against "
        f"negative sentences. gensim: window 5, 5 negatives, {_EPOCHS} epochs. All use as many threads as there are "
        "processors, with which gensim gives other vectors each time. The tutorial has pictures of neighbours and no "
        "numbers: nothing published stands beside these rows."
    )
    if setting.quick:
        note += " Quick: a seventh of the text."
    return note


def _by_set(results: dict[str, Result], setting: Setting) -> str:
    rows: list[list[object]] = []
    for name, result in results.items():
        scores = result.scores
        rows.append([name, *map(figure, scores.by_set), figure(scores.mean)])
    whole = "gensim, 26.83 M tokens, measured apart" if setting.quick else "gensim, measured apart"
    rows.append([whole, *REFERENCE.values()])
    pairs = results["cca"].scores.cosines[:, 0]
    known = np.bincount(pairs.astype(int), minlength=len(PAIRS))
    return table(["", *PAIRS.values(), "mean"], [["pairs known", *known.tolist(), None], *rows])


def _claims(scores: dict[str, Scores]) -> list[tuple[str, bool]]:
    means = {name: one.mean for name, one in scores.items()}
    return [
        ("rescaling betters the bigram matrix (similarity)", means["bigram rescaled"] > means["bigram svd"]),
        (
            "CCA is ahead of both bigram matrices",
            means["cca"] > max(means["bigram rescaled"], means["bigram svd"]),
        ),
        *(
            (f"{first} is ahead of {second} ({how})", means[first + mark] > means[second + mark])
            for how, mark in (("square roots", ""), ("raw", ", raw"))
            for first, second in (
                ("tscca", "cca"),
                ("lrmvl II", "lrmvl I"),
                ("lrmvl I", "cca"),
                ("lrmvl II", "cca"),
            )
        ),
    ]
