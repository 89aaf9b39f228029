"""What language models look like in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spinney.lm.hierarchical import HierarchicalModel
from spinney.lm.model import LanguageModel
from spinney.report.lm_views import KINDS, View, n_parameters, size_view
from spinney.report.tables import show_facts, show_rows, tell

_NAMES = {
    "kind": "kind",
    "method": "method",
    "order": "order",
    "vocabulary": "vocabulary",
    "sentences": "sentences",
    "tokens": "tokens",
    "words": "words",
    "unknown_share": "unknown words",
    "skipped": "sentences passed over",
    "long": "long sentences cut",
    "classes": "classes",
    "penalty": "penalty",
    "lam": "λ",
    "alpha": "α",
    "solver": "solver",
    "collapsed": "contexts that come together share a weight",
    "tree": "tree",
    "decisions_a_token": "decisions a token",
    "by": "weights by",
    "parameters": "parameters",
    "active": "active",
    "objective": "objective",
    "violation": "violation",
    "iterations": "iterations",
    "seconds": "seconds",
    "tokens_per_second": "tokens a second",
    "dev_perplexity": "perplexity on --dev",
}


def model_facts(model: LanguageModel) -> dict[str, Any]:
    """What is known of a model: what fit noted, and its kind and size.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> facts = model_facts(fit_ngram(sentence_arrays([["a", "rose"]]), "witten-bell", order=2))
    >>> facts["kind"], facts["vocabulary"], facts["parameters"]
    ('back-off model', 'closed', 6)
    """
    parameters, active = n_parameters(model)
    unknown = model.vocabulary.unknown
    facts = {
        **{name: value for name, value in model.facts.items() if _is_sound(name, value)},
        "kind": KINDS[model.kind],
        "vocabulary": "closed" if unknown is None else f"open, with {unknown}",
        "words": len(model.vocabulary),
        "parameters": parameters,
        "active": active,
    }
    if isinstance(model, HierarchicalModel):
        facts["tree"] = f"{len(model.tree):,} leaves, at most {model.tree.depth} decisions"
    return facts


_TEXTS = ("method", "penalty", "solver", "by")


def _is_sound(name: str, value: Any) -> bool:
    """Whether a fact that is shown is of its kind: a file may hold anything."""
    if name not in _NAMES or value is None:
        return True
    if name in _TEXTS:
        return isinstance(value, str)
    return isinstance(value, int | float) or (name == "order" and value == "unbounded")


def told_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts by the names that a person reads, in their order."""
    return {name: facts[key] for key, name in _NAMES.items() if facts.get(key) is not None}


def show_model(title: str, model: LanguageModel) -> None:
    """The table of what is known of a model, and its size by order."""
    tell(title, model_facts(model), _NAMES)
    show_view(size_view(model))


def show_view(view: View | None) -> None:
    """A table."""
    if view is not None and view.rows:
        show_rows(view.title, view.header, view.rows)


def show_tuning(rows: Sequence[Mapping[str, Any]]) -> None:
    """The points that were tried on held-out text."""
    if rows:
        header = {
            "lam": "λ",
            "alpha": "α",
            "perplexity": "perplexity",
            "parameters": "active",
            "seconds": "seconds",
        }
        cells = [[row.get(key, "") for key in header] for row in rows]
        show_rows("Tried on --dev", list(header.values()), cells)


def show_next(context: str, words: Sequence[tuple[str, float]]) -> None:
    """The likeliest words after a context."""
    show_rows(f"After: {context or '(nothing)'}", ["word", "probability"], words)


def show_scores(title: str, facts: Mapping[str, Any], convention: str) -> None:
    """A perplexity, with what it counts."""
    names = {
        "perplexity": "perplexity",
        "perplexity_without_ends": "  without ends",
        "perplexity_without_unknown": "  without unknown words",
        "log10_probability": "log10 probability",
        "scored": "scored",
        "ends": "  of them ends",
        "unknown": "unknown words",
        "skipped": "words not scored",
        "sentences": "sentences",
        "skipped_sentences": "sentences passed over",
        "parameters": "parameters",
        "active": "active",
    }
    silent = [key for key in ("skipped", "skipped_sentences") if not facts.get(key)]
    told = {
        name: _exact(facts[key])
        for key, name in names.items()
        if facts.get(key) is not None and key not in silent
    }
    show_facts(title, {"convention": convention} | told)


def _exact(value: Any) -> Any:
    return f"{value:,.2f}" if isinstance(value, float) else value
