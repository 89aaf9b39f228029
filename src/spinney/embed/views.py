"""What vectors, states and topics look like to a person: the words at the ends of dimensions, spectra, top words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from spinney.embed.model import EmbedModel
from spinney.settings.embed import Neighbours
from spinney.structure import WordVectors
from spinney.structure._forest import depths
from spinney.structure.vectorviews import dimension_table, dimension_views
from spinney.structure.words import known_word, largest, short
from spinney.views import Extra, Facts, Note, Series, Table, View

if TYPE_CHECKING:
    from spinney.embed.spectral_hmm import SpectralHMM
    from spinney.embed.topics import MomentTopics

#: What people see of the facts of a fit, in this order, and by what name.
NAMES = {
    "method": "method", "documents": "documents", "dropped": "documents of fewer than 3 words (left out)",
    "sentences": "sentences", "ngrams": "lines of n-grams",
    "tokens": "tokens", "words": "words", "stop_words": "stop words left out",
    "contexts": "contexts", "pairs": "word-context pairs",
    "dimensions": "dimensions", "states": "states", "recovered_states": "states recovered", "topics": "topics",
    "parameters": "parameters",
    "clipped": "negative probabilities set to 0",
    "lam": "λ", "objective": "objective", "gap": "duality gap", "held_out_error": "error on held-out pairs",
    "nonzero_share": "non-zero numbers",
    "subword_cosine": "cosine of held-out words and their letters",
    "subword_nearer": "letters nearer to their word than to another",
    "passes": "EM passes", "seconds_counting": "seconds for counting", "seconds": "seconds",
    "tokens_per_second": "tokens per second", "unknown_share": "unknown words",
    "skipped": "bad sentences or documents skipped",
}  # fmt: skip


def facts(model: EmbedModel) -> Facts:
    """How the model was learned."""
    return Facts("facts", "", model.facts, NAMES)


def dimensions(model: Any, n: int, words: int) -> list[View]:
    """The spectrum, and the words at the ends of the first dimensions; levels, where these are in trees."""
    vectors, parent = model.vectors(), getattr(model, "parent_", None)
    shown = dimension_views(vectors, n, words, parent)
    views = spectrum("singular_values", "Singular values", model.singular_values_)
    if parent is not None:
        levels = level_shares(vectors, parent)
        rows = [[row["level"], row["dimensions"], f"{row['nonzero_share']:.1%}"] for row in levels]
        header = ["level", "dimensions", "words that use a dimension"]
        views += [Table("", "Levels of the forest (0: roots)", header, rows), Extra("levels", "", levels)]
    views.append(dimension_table(shown, vectors.dimension))
    return [*views, Extra("strongest", "", [view.as_dict() for view in shown])]


def recovered(model: SpectralHMM, n: int, words: int) -> list[View]:
    """The hidden states of recovered parameters: the words of each, and the states that follow; the commonest first."""
    laws = model.parameters_
    if laws is None:
        return []
    names = [*model.vocabulary_.words, *(["(end)"] if model.operators_.end >= 0 else [])]
    shares = laws.shares
    order = np.argsort(-shares, kind="stable").tolist()
    found = [
        {
            "state": h,
            "share": float(shares[h]),
            "start": float(laws.start[h]),
            "words": [(names[i], float(laws.emission[i, h])) for i in largest(laws.emission[:, h], words)],
            "next": [(i, float(laws.transition[i, h])) for i in largest(laws.transition[:, h], 3)],
        }
        for h in order
    ]
    rows = [
        [
            one["state"], f"{one['share']:.1%}", f"{one['start']:.1%}",
            ", ".join(f"{short(word)} {p:.2g}" for word, p in one["words"] if p > 0),
            ", ".join(f"{i} {p:.2g}" for i, p in one["next"] if p > 0),
        ]
        for one in found[:n]
    ]  # fmt: skip
    title = f"The {len(rows)} commonest of {len(order)} hidden states, with probabilities of words and next states"
    header = ["state", "share", "first", "words", "next states"]
    return [Table("", title, header, rows), Extra("hidden_states", "", found)]


def topic_views(model: MomentTopics, n: int, words: int) -> list[View]:
    """The spectrum, and the most probable words of the heaviest topics."""
    shares = model.weights_ / model.weights_.sum()
    found = [model.topic_words(k, words) for k in range(min(n, len(shares)))]
    rows = [
        [k, f"{shares[k]:.1%}", ", ".join(short(word) for word, _ in some)] for k, some in enumerate(found)
    ]
    listed = [{"topic": k, "weight": float(model.weights_[k]), "words": some} for k, some in enumerate(found)]
    title = f"The {len(rows)} heaviest of {len(shares)} topics"
    return [
        *spectrum("spectrum", "Eigenvalues of the pair moments", model.spectrum_),
        Table("", title, ["topic", "share", "words"], rows),
        Extra("strongest", "", listed),
    ]


def spectrum(key: str, name: str, values: ArrayLike) -> list[View]:
    """The numbers as a line."""
    numbers = np.asarray(values, float).tolist()
    at = [str(i) for i in range(len(numbers))]
    drawn = [Series("", name, {name.lower(): numbers}, at)] if len(numbers) > 1 else []
    return [*drawn, Extra(key, "", numbers)]


def level_shares(vectors: WordVectors, parent: ArrayLike) -> list[dict[str, Any]]:
    """For each level of the forest, from the roots: how many dimensions, and for how many words one is not 0.

    Examples
    --------
    >>> vectors = WordVectors(["a", "b"], [[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    >>> level_shares(vectors, [-1, 0, 0])
    [{'level': 0, 'dimensions': 1, 'nonzero_share': 1.0}, {'level': 1, 'dimensions': 2, 'nonzero_share': 0.25}]
    """
    level = depths(np.asarray(parent))
    used = np.asarray((vectors.matrix != 0).sum(axis=0)).ravel() / max(len(vectors), 1)
    return [
        {
            "level": one,
            "dimensions": int(np.sum(level == one)),
            "nonzero_share": float(used[level == one].mean()),
        }
        for one in range(int(level.max()) + 1)
    ]


def neighbours(vectors: WordVectors, words: Sequence[str], s: Neighbours) -> list[View]:
    """A table for each word: the words most like it, by the cosine of their vectors."""
    known = dict.fromkeys(known_word(vectors, word) for word in words)
    found = {word: vectors.neighbours(word, s.top) if np.any(vectors[word]) else None for word in known}
    tables: list[View] = [
        Note(f"The vector of {word} is zero: it has no neighbours.")
        if near is None
        else Table(
            "",
            f"Neighbours of {word}",
            ["word", "cosine"],
            [[other, round(value, 4)] for other, value in near],
        )
        for word, near in found.items()
    ]
    listed = {
        word: [{"word": other, "cosine": value} for other, value in near or []]
        for word, near in found.items()
    }
    return [*tables, Extra("neighbours", "", listed)]
