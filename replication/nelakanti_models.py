"""The models that the studies of Nelakanti (2014), part A, compare."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from nelakanti_text import Subset, subsets, tuning
from spectral_common import Setting

from spinney.classes import exchange, pair_counts
from spinney.lm import LanguageModel, LogLinearModel, fit_class_model, fit_linear, fit_loglinear, fit_ngram

CORPORA: Final = ("ptb", "brown", "reuters", "sotu")
ORDER: Final = 7

#: λ for the mean loss, and α of the weighted features, as the thesis found them.
THESIS: Final[dict[str, tuple[float, float]]] = {
    "l2": (5.3e-6, 0.5),
    "l1": (8.5e-6, 0.7),
    "tree-l2": (7.1e-6, 1.1),
    "tree-linf": (5.6e-6, 0.8),
}
NAMES: Final = {"l2": "ℓ2²", "l1": "ℓ1", "tree-l2": "ℓT2", "tree-linf": "ℓT∞"}


def iterations(setting: Setting) -> int:
    """How long a fit may take."""
    return 150 if setting.quick else 600


def perplexity(model: LanguageModel, text: Any) -> float:
    """The thesis's convention: ends of sentences are not scored; the unknown word is a word."""
    return model.perplexity(text, ends=False).perplexity


@lru_cache(maxsize=8)
def parts(corpus: str) -> list[Subset]:
    """The four subsets of a corpus."""
    return subsets(corpus)


@lru_cache(maxsize=8)
def tuned(setting: Setting, corpus: str, penalty: str, weighted: bool) -> tuple[float, float]:
    """λ (for the sum of 100,000 losses, of the size that the thesis has) and α, chosen on 30,000 and 10,000 words."""
    data = tuning(corpus)
    lam, alpha = THESIS[penalty]
    lams = [lam * 1e5 * factor for factor in (0.7, 1.0, 1.5, 2.2)]
    alphas = [alpha, 0.5 * (1 + alpha), *([1.2] if alpha > 1 else [])] if weighted else [1.0]
    rows = [
        (perplexity(fitted(setting, data, penalty, ORDER, lam, alpha, 80), data.held_out), lam, alpha)
        for lam in lams
        for alpha in alphas
    ]
    return min(rows)[1:]


def fitted(
    setting: Setting,
    data: Subset,
    penalty: str,
    order: int,
    lam: float,
    alpha: float,
    max_iter: int | None = None,
) -> LogLinearModel:
    """A log-linear model of a subset."""
    name: Any = penalty
    limit = iterations(setting) if max_iter is None else max_iter
    return fit_loglinear(data.train, order, penalty=name, lam=lam, alpha=alpha, max_iter=limit)


@lru_cache(maxsize=64)
def weighted_tree(setting: Setting, corpus: str, i: int) -> LogLinearModel:
    """wℓT2 of order 7 on the i-th subset."""
    return fitted(setting, parts(corpus)[i], "tree-l2", ORDER, *tuned(setting, corpus, "tree-l2", True))


@lru_cache(maxsize=256)
def kneser_ney(corpus: str, i: int, order: int = ORDER, method: str = "kneser-ney") -> LanguageModel:
    """The baseline of the thesis, interpolated and not modified; or another."""
    return fit_ngram(parts(corpus)[i].train, method, order=order)


def mixed(setting: Setting, corpus: str, i: int, by: Any = "depth") -> LanguageModel:
    """wℓT2 and Kneser-Ney, weighted by the length of the matched context on held-out text."""
    components = {"kneser-ney": kneser_ney(corpus, i), "log-linear": weighted_tree(setting, corpus, i)}
    return fit_linear(components, parts(corpus)[i].held_out, by=by)


def mixed_with_classes(setting: Setting, corpus: str, i: int) -> LanguageModel:
    """The same two and a 4-gram model of 64 word classes, learnt from the same words."""
    data = parts(corpus)[i]
    classes = exchange(pair_counts(data.train), data.train.vocabulary, 64, random_state=setting.seed).classes
    components = {
        "kneser-ney": kneser_ney(corpus, i),
        "log-linear": weighted_tree(setting, corpus, i),
        "classes": fit_class_model(data.train, classes, order=4),
    }
    return fit_linear(components, data.held_out, by="depth")
