"""What the pages of vectors, spectral hidden Markov models and topics show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus import ReadReport
from spinney.embed.documents import first_documents, table_of
from spinney.embed.views import facts, level_shares, recovered, spectrum
from spinney.errors import InputError, about
from spinney.structure import WordVectors
from spinney.structure.maps import by_count
from spinney.structure.vectorviews import DimensionView, dimension_sections, dimension_views, map_sections
from spinney.structure.words import largest, short
from spinney.views import (
    Bars,
    Columns,
    Extra,
    HeatMap,
    Mark,
    MarkedText,
    Node,
    Note,
    Outline,
    Section,
    Share,
    Table,
    View,
    grown,
)

if TYPE_CHECKING:
    from spinney.embed.embedding import Embedding
    from spinney.embed.spectral_hmm import SpectralHMM
    from spinney.embed.topics import MomentTopics

_NEXT = 24  # words of the heat map of what comes next
_TOKENS = 250  # of a document

_ABOUT = {
    "cca": "Word vectors by canonical correlation with the words around them.",
    "tscca": "Word vectors by canonical correlation with the words around them, in two steps.",
    "lrmvl": "Word vectors by canonical correlation with smoothed contexts.",
    "svd": "Word vectors: singular vectors of the counts of neighbours.",
    "rescaled": "Word vectors: singular vectors of rescaled counts of neighbours.",
    "pmi": "Word vectors: singular vectors of pointwise mutual information.",
    "sparse": "Sparse codes of words, in which a dimension is used only with its parent.",
    "lasso": "Sparse codes of words.",
}


def vectors_report(model: Embedding, s: Any) -> list[View]:
    """The page of vectors."""
    vectors, vocabulary = model.vectors(), model.vocabulary_
    ends = max(s.top // 2, 1)
    views: list[View] = [Note(_ABOUT.get(model.method, "Word vectors.")), facts(model)]
    views += map_sections(vectors, vocabulary.counts, vocabulary.unknown)
    views += _forest(vectors, model.parent_, ends) if model.parent_ is not None else []
    views += dimension_sections(vectors, ends)
    values = model.singular_values_
    # If counts were transformed or weighted, singular values are not correlations.
    correlations = model.method in ("cca", "tscca", "lrmvl") and bool(np.all(values <= 1 + 1e-6))
    return [*views, *_spectrum("Canonical correlations" if correlations else "Singular values", values)]


def states_report(model: SpectralHMM, s: Any) -> list[View]:
    """The page of a spectral hidden Markov model."""
    vectors, vocabulary = model.vectors(), model.vocabulary_
    ends = max(s.top // 2, 1)
    return [
        Note("A hidden Markov model learned from counts of two and three consecutive words."),
        facts(model),
        *_next_words(model, ends),
        *map_sections(vectors, vocabulary.counts, vocabulary.unknown),
        *_hidden_states(model, s.top),
        *dimension_sections(vectors, ends, "States in words", _STATES),
        *_spectrum("Singular values", model.singular_values_),
    ]


def _hidden_states(model: SpectralHMM, top: int) -> list[View]:
    """The states whose probabilities were recovered."""
    if model.parameters_ is None:
        return []
    said = "States of a hidden Markov model, recovered from the moments: noisy, and no part of predictions."
    states = len(model.parameters_.start)
    return [Section("Hidden states", [Note(said), *recovered(model, states, top)])]


_STATES = (
    "States are coordinates in a basis that the moments choose: no single one stands for a hidden class. Shown are "
    "the words after which the state lies furthest in either direction."
)


def _spectrum(name: str, values: ArrayLike) -> list[View]:
    drawn = spectrum("spectrum", name, values)
    return [Section(name, [replace(drawn[0], title="")])] if len(drawn) > 1 else []


def _forest(vectors: WordVectors, parent: ArrayLike, ends: int) -> list[View]:
    """The dimensions as they hang below each other."""
    parents = np.asarray(parent, np.int64).tolist()
    shown = dimension_views(vectors, len(parents), ends, parent)
    nodes = [Node(f"dimension {view.number}", _dimension_note(view)) for view in shown]
    rows = [
        [one["level"], one["dimensions"], Share(one["nonzero_share"])]
        for one in level_shares(vectors, parents)
    ]
    said = "A word uses a dimension only with the one above it: roots are general, lower dimensions more specific."
    roots = grown(parents, nodes, range(len(parents)))
    blocks: list[View] = [
        Note(said),
        Table("levels", "", ["level", "dimensions", "share of words that use one"], rows),
        Outline("forest", "", roots, "lowest dimensions"),
    ]
    return [Section("Forest of dimensions", blocks)]


def _dimension_note(view: DimensionView) -> str:
    share = "" if view.share is None else f"{view.share:.0%} of words: "
    return share + ", ".join(short(word) for word, _ in [*view.high, *view.low][:8])


def _next_words(model: SpectralHMM, ends: int) -> list[View]:
    """What the model expects after frequent words, whatever came before them."""
    vocabulary = model.vocabulary_
    chosen = by_count(vocabulary.words, vocabulary.counts, 300, vocabulary.unknown)
    if not chosen:
        return []
    words = [vocabulary.words[i] for i in chosen]
    law = model.predict_next(np.asarray(model.vectors().rows(words), np.float64))
    names = [*vocabulary.words, *(["(end)"] if law.shape[1] > len(vocabulary) else [])]
    rows = [
        [
            word,
            int(vocabulary.counts[i]),
            "  ·  ".join(f"{short(names[j])} {row[j]:.1%}" for j in largest(row, ends)),
        ]
        for word, i, row in zip(words, chosen, law)
    ]
    n = min(_NEXT, len(chosen))
    after = law[:n][:, chosen[:n]]
    caption = (
        f"The probability of each word (column) directly after each other word (row), for the {n} most frequent words. "
        "The shade is the square root of the probability."
    )
    said = f"The likeliest words after each of the {len(words)} most frequent words, whatever came before it."
    blocks: list[View] = [
        HeatMap("heat", "", after.tolist(), words[:n], words[:n], np.sqrt(after).tolist(), caption),
        Note(said),
        Table("next", "", ["after", "count", "likeliest next"], rows),
    ]
    return [Section("What comes next", blocks)]


# --------------------------------------------------------------------------------------------- topics


def topics_report(model: MomentTopics, data: Any, s: Any) -> list[View]:
    """The page of topics.

    Examples
    --------
    >>> from spinney.embed import MomentTopics
    >>> from spinney.settings.report import Report
    >>> X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 5, axis=0)
    >>> model = MomentTopics(2).fit(X, words=["ball", "game", "vote", "law"])
    >>> [view.title for view in topics_report(model, None, Report()) if isinstance(view, Section)]
    ['Topics', 'Words of topics', 'Map of words', 'Eigenvalues of pairs']
    """
    shares = model.weights_ / model.weights_.sum()
    n = len(shares)
    words = [model.topic_words(k, s.top) for k in range(n)]
    names = [f"topic {k}: {', '.join(short(word) for word, _ in words[k][:3])}" for k in range(n)]
    rows = [[k, Share(shares[k]), ", ".join(short(word) for word, _ in words[k])] for k in range(n)]
    views: list[View] = [
        Note(
            "A topic model: each topic is a distribution over words, and each document a mixture of topics."
        ),
        facts(model),
    ]
    if data is not None:
        views.append(Section("Documents", _documents(model, data, s, names)))
    drawn = [
        Bars("", f"Topic {k}", [(short(word), p) for word, p in words[k][:10]], colours=k)
        for k in range(min(n, 60))
    ]
    said = f"The {n} topics with their shares and most probable words."
    views += [
        Section("Topics", [Note(said), Table("", "", ["topic", "share", "words"], rows)]),
        Section("Words of topics", [Columns(drawn)]),
    ]
    vectors = model.vectors()
    groups = np.asarray(vectors.matrix).argmax(axis=1).tolist()
    views += map_sections(vectors, metric="hellinger", groups=groups, group_names=names)
    return [*views, *_spectrum("Eigenvalues of pairs", model.spectrum_)]


def _documents(model: MomentTopics, data: Any, s: Any, names: Sequence[str]) -> list[View]:
    with about(str(data)):
        some = first_documents(data, s, model.reading().lowercase, s.documents, ReadReport())
        if not some and s.documents:
            raise InputError("no documents", path=str(data))
    place = {word: i for i, word in enumerate(model.words_)}
    thetas: Any = model.transform(table_of([words for _, words in some], model.words_)) if some else []
    plural = "s" * (len(some) != 1)
    said = (
        f"{len(some):,} document{plural} with their topics. A word has the colour of its most likely "
        "topic; words that the model does not know have no colour."
    )
    views: list[View] = [Note(said)]
    for (name, words), theta in zip(some, thetas):
        foremost = [k for k in largest(np.asarray(theta, float), 3) if theta[k] > 0.01]
        views.append(Bars("", name, [(names[k], float(theta[k])) for k in foremost], colours=foremost))
        views.append(_marked(model, words, theta, place, names))
    return [*views, Extra("documents", "", len(some))]


def _marked(
    model: MomentTopics,
    words: Sequence[str],
    theta: NDArray[np.float64],
    place: dict[str, int],
    names: Sequence[str],
) -> MarkedText:
    """The words of a document, each marked with its topic."""
    text, marks = "", []
    for word in words[:_TOKENS]:
        known = place.get(word)
        if known is not None:
            k = int((theta * model.components_[:, known]).argmax())
            marks.append(Mark(len(text), len(text) + len(word), k, note=names[k]))
        text += word + " "
    return MarkedText("", "", text + ("…" if len(words) > _TOKENS else ""), marks)
