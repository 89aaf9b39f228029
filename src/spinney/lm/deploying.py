"""Smaller models for deployment, and what they lose."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.corpus import ReadReport
from spinney.corpus.text import Source
from spinney.errors import InputError, about
from spinney.lm.backoff import BackoffModel
from spinney.lm.model import LanguageModel, load_language_model
from spinney.lm.pruning import prune_entropy, quantised
from spinney.lm.text import held_out_text, reading_of
from spinney.lm.views import KINDS, n_parameters, order_sizes
from spinney.settings import Settings
from spinney.settings import lm as lm_settings


def prune(model: str | LanguageModel, settings: Settings | None = None, **given: Any) -> BackoffModel:
    """A back-off model with fewer grams, or with fewer bits for each number.

    Parameters
    ----------
    model
        A model, or the file of one.
    settings
        Those of :class:`spinney.settings.lm.Prune`; or give them by name.

    Examples
    --------
    >>> from spinney.lm import fit
    >>> model = fit([["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"]] * 9, method="wb", order=3)
    >>> small = prune(model, entropy=0.01, quantise=8)
    >>> small.facts["pruning"]["grams_before"], small.facts["pruning"]["grams"]
    ([6, 7, 7], [6, 7])
    """
    s: Any = settings or lm_settings.Prune.of(given)
    large = load_language_model(model) if isinstance(model, str) else model
    if not isinstance(large, BackoffModel):
        raise InputError(
            f"only back-off models can be pruned, not this kind of model: {KINDS[large.kind]}",
            path=model if isinstance(model, str) else None,
            remedy="fit the model with mkn, kn, wb, ad, jm, katz or pitman-yor",
        )
    small, divergence = (large, None) if s.entropy is None else prune_entropy(large, s.entropy)
    if s.quantise is not None:
        small = quantised(small, s.quantise)
    found: dict[str, Any] = {
        "entropy": s.entropy,
        "quantise": s.quantise,
        "grams_before": _grams(large),
        "grams": _grams(small),
        "bytes_before": stored_bytes(large),
        "bytes": stored_bytes(small),
        "estimated_increase": None if divergence is None else float(np.expm1(divergence)),
    }
    if s.dev is not None:
        read = held_out_text(s.dev, s, reading_of(large), ReadReport(), large.reading_vocabulary)
        with about(Source.of(s.dev, s).name):
            found["perplexity_before"] = large.perplexity(read).perplexity
            found["perplexity"] = small.perplexity(read).perplexity
    parameters, active = n_parameters(small)
    facts = {
        **large.facts,
        "grams": found["grams"],
        "parameters": parameters,
        "active": active,
        "pruning": found,
    }
    if s.dev is not None:
        facts["dev_perplexity"] = found["perplexity"]
    made = BackoffModel(small.vocabulary, small.table, small.logp, small.backoff, facts)
    made.settings = large.settings
    return made


def stored_bytes(model: BackoffModel) -> int:
    """What the arrays of a model take in its file, its words not counted."""
    return sum(array.nbytes for array in model.parts().tensors.values())


def _grams(model: BackoffModel) -> list[int]:
    return [size.grams for size in order_sizes(model)]
