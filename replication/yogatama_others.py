"""Methods beside those of the main table: hierarchical softmax, GloVe and non-negative sparse embedding."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from grave_common import section, short, table, verdict
from methods.glove import fit_glove, harmonic_counts
from methods.nnse import NNSE
from numpy.typing import NDArray
from spectral_common import Setting
from yogatama_learners import Learnt, luck, material, tried, word2vec

from spinney.linalg import truncated_svd

CBOW_HS, SG_HS, GLOVE, NON_NEGATIVE = "CBOW-HS", "SG-HS", "GloVe", "NNSE"
LOWER_CEILING = "GloVe, full weight from 10"
SIZE = 52
TASKS = ("similarity", "syntactic", "semantic", "sentiment")
#: The two in which the thesis has FOREST ahead of all these methods.
LED = ("similarity", "sentiment")
#: Similarity, syntactic and semantic analogies, sentiment of the thesis, at this size.
PUBLISHED = {
    CBOW_HS: (0.38, 19.50, 5.31, 68.92),
    SG_HS: (0.47, 24.87, 14.77, 71.72),
    GLOVE: (0.43, 27.40, 26.23, 72.60),
    NON_NEGATIVE: (0.04, 0.10, 0.01, 61.12),
}
_EPOCHS = 50
_STRENGTH = 0.1
_SINGULAR = 300
_SINGULAR_STRENGTHS = (_STRENGTH, 0.01)


def others(
    setting: Setting,
    system: str,
    known: dict[str, Learnt | None],
    published: dict[str, tuple[float, float, float, float]],
    rounds: int,
) -> str:
    """The methods of this module beside some others, ``system`` among them, with what the thesis has for each."""
    system_learnt = known[system]
    assert system_learnt is not None
    found = {
        SG_HS: word2vec(setting, SIZE, True, 5, hierarchical=True),
        CBOW_HS: word2vec(setting, SIZE, False, 5, hierarchical=True),
        GLOVE: glove(setting, 100.0),
        LOWER_CEILING: glove(setting, 10.0),
        NON_NEGATIVE: non_negative(setting, rounds, _STRENGTH, singular=False),
    }
    for lam in _SINGULAR_STRENGTHS:
        found[f"NNSE, singular vectors, λ = {lam:g}"] = non_negative(setting, rounds, lam, singular=True)
    rows = [_row(name, one, (published | PUBLISHED).get(name)) for name, one in (known | found).items()]
    header = ["method", "mean ρ", "pooled ρ", "thesis", "syntactic %", "thesis", "semantic %", "thesis"]
    header += ["SST %", "thesis", "non-zero %", "s of processors"]
    report = section("Other methods", _note(setting), header, rows)
    claims: list[tuple[str, bool]] = []
    intervals: list[list[object]] = []
    for name, one in found.items():
        if one is None or np.isnan(one.similarity):  # a code of zeros has no cosine: nothing to compare with
            continue
        ahead = {task: getattr(system_learnt, task) > getattr(one, task) for task in LED}
        claims += [(f"{system} is ahead of {name} ({task})", holds) for task, holds in ahead.items()]
        differences = luck(one, system_learnt, material(setting).tests, 300 if setting.quick else 1000)
        cells = [f"{low:+.3f} to {high:+.3f}" for low, high in differences.values()]
        intervals.append([f"{system} − {name}", *cells])
    report += "\n95 % intervals of differences, by paired bootstrap of pairs, questions and sentences:\n\n"
    return report + table(["", "mean ρ", *TASKS[1:3], "SST"], intervals) + verdict(claims)


def _note(setting: Setting) -> str:
    return (
        f"Text, words, size (M = {SIZE}) and scores are those of the first section, whose rows are repeated. SG-HS and "
        "CBOW-HS: gensim as for SG and CBOW, but hierarchical softmax on a Huffman tree instead of negative samples. "
        "GloVe: our own, after the authors' program: pairs of words up to five apart count as 1/distance; weights "
        f"(count/100)^¾, at most 1; AdaGrad with step 0.05, {_EPOCHS} epochs, one thread; the sum of word and context "
        "vectors. A row more: full weight from a count of 10 on, as in the script that the program has for a text of "
        f"17 M tokens. NNSE: ‖X − AD‖² + λ‖A‖₁ with A ≥ 0 and λ = {_STRENGTH}, on the matrix of FOREST and SC, with as "
        f"many rounds and passes. Two rows more: on the {_SINGULAR} left singular vectors of positive PMI, whose rows "
        f"are so short that λ = {_STRENGTH} leaves next to no number, and with a smaller λ (a dash: some set of pairs "
        "has codes of zeros only). The thesis trained NNSE by SPAMS and found that it “performed very poorly”; neither "
        "the matrix nor λ is told. RNN and NCE of its main table are left out: they come from other "
        "programs (rnnlm, and one of its author's own) that are not at hand."
    )


def _row(name: str, one: Learnt | None, published: tuple[float, float, float, float] | None) -> list[object]:
    thesis: list[object] = [short(published[0]), *published[1:]] if published else [None] * 4
    if one is None:
        scores: list[object] = ["gensim is not installed", None, None, None, None]
        cost: list[object] = [None, None]
    else:
        shares = [f"{100 * getattr(one, task):.1f}" for task in TASKS[1:]]
        coefficients = [
            None if np.isnan(number) else short(number) for number in (one.similarity, one.pooled)
        ]
        scores = [*coefficients, *shares]
        cost = [f"{100 * one.nonzero:.0f}", f"{one.of_processors:.0f}"]
    mean, pooled, *rest = scores
    return [name, mean, pooled, thesis[0], *(cell for pair in zip(rest, thesis[1:]) for cell in pair), *cost]


# ---------------------------------------------------------------------------------------------- learners


@cache
def glove(setting: Setting, ceiling: float) -> Learnt:
    """GloVe with the full weight for counts from ``ceiling`` on."""

    def learn() -> NDArray[Any]:
        counts = harmonic_counts(material(setting).text, 5, threads=1)
        return fit_glove(counts, SIZE, epochs=_EPOCHS, ceiling=ceiling, random_state=setting.seed).vectors

    return tried(setting, f"glove-{ceiling:g}", learn)


@cache
def non_negative(setting: Setting, rounds: int, lam: float, singular: bool) -> Learnt:
    """NNSE of the matrix that FOREST codes, or of the left singular vectors of its positive part."""

    def learn() -> NDArray[Any]:
        X = material(setting).X
        if singular:
            X = truncated_svd(X.maximum(0), _SINGULAR, random_state=setting.seed).U
        model = NNSE(SIZE, lam=lam, rounds=rounds, threads=1, random_state=setting.seed)
        return model.fit(X).codes_

    return tried(setting, f"nnse-{lam:g}-{rounds}{'-singular' if singular else ''}", learn)
