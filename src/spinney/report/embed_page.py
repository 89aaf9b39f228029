"""The pages of vectors, spectral hidden Markov models and topics: a map of words, dimensions in words, spectra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.embed import Embedding, MomentTopics, SpectralHMM
from spinney.report import embed as views
from spinney.report.charts import heat_map, line_chart
from spinney.report.embed import DimensionView, EmbedModel
from spinney.report.maps import COMPARED, SHOWN, by_count, map_points, word_map
from spinney.report.outline import Node, grown, outline
from spinney.report.page import (
    Html,
    Mark,
    Page,
    Section,
    Share,
    bars,
    columns,
    heading,
    joined,
    marked,
    paragraph,
    table,
)
from spinney.structure import WordVectors
from spinney.structure.words import largest, short
from spinney.structure.wordvectors import Metric

Floats = NDArray[np.float64]

_DIMENSIONS = 200  # that are told
_ENDS = 10  # words at each end of a dimension
_NEXT = 24  # words of the heat map of what comes next
_TOKENS = 250  # of a document

_ABOUT = {
    "cca": "Vectors of words by canonical correlation with the words around them.",
    "tscca": "Vectors of words by canonical correlation with the words around them, in two steps.",
    "lrmvl": "Vectors of words by canonical correlation with smoothed contexts.",
    "svd": "Vectors of words: singular vectors of the counts of neighbours.",
    "rescaled": "Vectors of words: singular vectors of rescaled counts of neighbours.",
    "pmi": "Vectors of words: singular vectors of pointwise mutual information.",
    "sparse": "Sparse codes of words, in which a dimension is used only below its parent.",
    "lasso": "Sparse codes of words.",
}


@dataclass(frozen=True)
class Topical:
    """Documents in words, each with its name, and the proportions of the topics in it."""

    names: Sequence[str]
    words: Sequence[Sequence[str]]
    proportions: Floats


def embed_page(
    model: EmbedModel, title: str, tried: Topical | None = None, *, documents: int = 10, top: int = 20
) -> Page:
    """The whole page.

    Parameters
    ----------
    model
        Vectors, a spectral hidden Markov model, or topics.
    title
        Of the page.
    tried
        Documents to show topics in.
    documents
        How many of them.
    top
        How many words a topic, and half as many at each end of a dimension.

    Examples
    --------
    >>> X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 5, axis=0)
    >>> text = embed_page(MomentTopics(2).fit(X, words=["ball", "game", "vote", "law"]), "news").html()
    >>> "<h2>Topics</h2>" in text, "<h2>Map of words</h2>" in text
    (True, True)
    """
    if isinstance(model, MomentTopics):
        return _topics_page(model, title, tried, documents, top)
    vectors = views.model_vectors(model)
    counts = model.vocabulary_.counts
    ends = max(top // 2, 1)
    if isinstance(model, SpectralHMM):
        sections = [
            *_next_words(model, ends),
            *map_sections(vectors, counts, model.vocabulary_.unknown),
            *_directions(vectors, ends),
        ]
        about = "A hidden Markov model learnt from counts of two and three words in a row."
    else:
        sections = map_sections(vectors, counts, model.vocabulary_.unknown)
        sections += _forest(vectors, model.parent_, ends) if model.parent_ is not None else []
        sections += dimension_sections(vectors, ends)
        about = _ABOUT.get(model.method, "Vectors of words.")
    what = "Canonical correlations" if _correlations(model) else "Singular values"
    sections += _spectrum(what, model.singular_values_)
    return Page(title, about, views.fit_facts(model), sections)


def _correlations(model: EmbedModel) -> bool:
    """Whether singular values are correlations: not so of counts that were transformed or weighted."""
    family = isinstance(model, Embedding) and model.method in ("cca", "tscca", "lrmvl")
    return family and bool(np.all(model.singular_values_ <= 1 + 1e-6))


def map_sections(
    vectors: WordVectors,
    counts: Any = None,
    unknown: str | None = None,
    *,
    metric: Metric = "cosine",
    groups: Sequence[int] | None = None,
    group_names: Sequence[str] = (),
) -> list[Section]:
    """The map of the most frequent words, or the first; ``groups`` are those of all words, told by their names."""
    chosen = by_count(vectors.words, counts, SHOWN, unknown)
    words = [vectors.words[i] for i in chosen]
    if len(words) < 2:
        return []
    notes = []
    for i in chosen:
        told = [] if counts is None else [f"seen {int(counts[i]):,} times"]
        notes.append(" · ".join([*told, *([] if groups is None else [group_names[groups[i]]])]))
    of_words = None if groups is None else [groups[i] for i in chosen]
    points = map_points(vectors, words, groups=of_words, notes=notes, metric=metric)
    which = "most frequent" if counts is not None else "first"
    some = (
        f"All {len(words):,} words."
        if len(words) == len(vectors)
        else f"The {len(words):,} {which} of {len(vectors):,} words."
    )
    about = (
        f"{some} Words that stand together have similar vectors; what is far apart, and the axes, mean nothing. "
        f"Neighbours are by the {'Bhattacharyya coefficient' if metric == 'hellinger' else 'cosine'}"
    )
    about += f", among the {COMPARED:,} {which} words." if len(vectors) > COMPARED else "."
    return [Section("Map of words", [paragraph(about), word_map(points)])]


def dimension_sections(vectors: WordVectors, ends: int = _ENDS) -> list[Section]:
    """The strongest words of each dimension."""
    shown = views.dimension_views(vectors, _DIMENSIONS, ends)
    if not shown:
        return []
    shared = any(view.share is not None for view in shown)
    low = any(view.low for view in shown)
    rows = [
        [
            view.number,
            *([] if view.share is None else [Share(view.share)]),
            _weighted(view.high),
            *([_weighted(view.low)] if low else []),
        ]
        for view in shown
    ]
    header = ["dimension", *(["share of words"] if shared else []), "most", *(["least"] if low else [])]
    about = "The words with the largest numbers, and those with the smallest"
    about += "." if shared else ", when all vectors have length one."
    if len(shown) < vectors.dimension:
        about += f" The first {len(shown)} of {vectors.dimension:,} dimensions."
    return [Section("Dimensions", [paragraph(about), table(header, rows)])]


def _weighted(words: Sequence[tuple[str, float]]) -> str:
    return "  ·  ".join(short(word) for word, _ in words) or "(none)"


def _spectrum(name: str, values: ArrayLike) -> list[Section]:
    numbers = np.asarray(values, float).tolist()
    if len(numbers) < 2:
        return []
    return [Section(name, [line_chart({name.lower(): numbers}, [str(i) for i in range(len(numbers))])])]


# ---------------------------------------------------------------------------------------- sparse codes


def _forest(vectors: WordVectors, parent: ArrayLike, ends: int) -> list[Section]:
    """The dimensions as they hang below each other."""
    parents = np.asarray(parent, np.int64).tolist()
    shown = views.dimension_views(vectors, len(parents), ends, parent)
    nodes = [Node(f"dimension {view.number}", _dimension_note(view)) for view in shown]
    rows = [
        [one["level"], one["dimensions"], Share(one["nonzero_share"])]
        for one in views.level_shares(vectors, parents)
    ]
    about = "A word uses a dimension only if it uses the one above: roots are common, what hangs below is more special."
    blocks = [
        paragraph(about),
        table(["level", "dimensions", "share of words that use one"], rows),
        outline(grown(parents, nodes, range(len(parents))), leaves="lowest dimensions"),
    ]
    return [Section("Forest of dimensions", blocks)]


def _dimension_note(view: DimensionView) -> str:
    share = "" if view.share is None else f"{view.share:.0%} of words: "
    return share + ", ".join(short(word) for word, _ in [*view.high, *view.low][:8])


# --------------------------------------------------------------------------------------- spectral HMM


def _next_words(model: SpectralHMM, ends: int) -> list[Section]:
    """What the model expects after frequent words, whatever came before them."""
    chosen = by_count(model.vocabulary_.words, model.vocabulary_.counts, 300, model.vocabulary_.unknown)
    if not chosen:
        return []
    words = [model.vocabulary_.words[i] for i in chosen]
    states = np.asarray(views.model_vectors(model).rows(words), np.float64)
    law = model.predict_next(states)
    names = [*model.vocabulary_.words, *(["(end)"] if law.shape[1] > len(model.vocabulary_) else [])]
    rows = [
        [
            word,
            int(model.vocabulary_.counts[i]),
            "  ·  ".join(f"{short(names[j])} {row[j]:.1%}" for j in largest(row, ends)),
        ]
        for word, i, row in zip(words, chosen, law)
    ]
    n = min(_NEXT, len(chosen))
    after = law[:n][:, chosen[:n]]
    caption = (
        f"The probability of each word (column) right after each other (row), the {n} most frequent words. "
        "The shade is the root of the number."
    )
    drawn = heat_map(after.tolist(), words[:n], words[:n], shades=np.sqrt(after).tolist(), caption=caption)
    about = f"The likeliest words after each of the {len(words)} most frequent words, whatever came before."
    return [
        Section(
            "What comes next", [drawn, paragraph(about), table(["after", "count", "likeliest next"], rows)]
        )
    ]


def _directions(vectors: WordVectors, ends: int) -> list[Section]:
    found = dimension_sections(vectors, ends)
    about = (
        "States are coordinates in a basis that the moments choose: no single one stands for a hidden class. Shown are "
        "the words after which the state lies furthest in either direction."
    )
    return [Section("States in words", [paragraph(about), *section.blocks[1:]]) for section in found]


# --------------------------------------------------------------------------------------------- topics


def _topics_page(model: MomentTopics, title: str, tried: Topical | None, documents: int, top: int) -> Page:
    shares = model.weights_ / model.weights_.sum()
    n = len(shares)
    words = [model.topic_words(k, top) for k in range(n)]
    names = [f"topic {k}: {', '.join(short(word) for word, _ in words[k][:3])}" for k in range(n)]
    rows = [[k, Share(shares[k]), ", ".join(short(word) for word, _ in words[k])] for k in range(n)]
    sections = []
    if tried is not None:
        sections.append(Section("Documents", _documents(model, tried, names, documents)))
    drawn = [
        joined([heading(f"Topic {k}"), bars([(short(word), p) for word, p in words[k][:10]], colour_of=k)])
        for k in range(min(n, 60))
    ]
    about = f"The {n} topics with their shares and most probable words."
    sections.append(Section("Topics", [paragraph(about), table(["topic", "share", "words"], rows)]))
    sections.append(Section("Words of topics", [columns(drawn)]))
    vectors = views.model_vectors(model)
    groups = np.asarray(vectors.matrix).argmax(axis=1).tolist()
    sections += map_sections(vectors, metric="hellinger", groups=groups, group_names=names)
    sections += _spectrum("Eigenvalues of pairs", model.spectrum_)
    return Page(
        title, "Topics: documents mix them, and each is a law of words.", views.fit_facts(model), sections
    )


def _documents(model: MomentTopics, tried: Topical, names: Sequence[str], documents: int) -> list[Html]:
    place = {word: i for i, word in enumerate(model.words_)}
    n = min(documents, len(tried.names))
    about = (
        f"{n:,} of {len(tried.names):,} documents with their topics. A word has the colour of the topic that most "
        "likely gave it; words that the model does not know have none."
    )
    blocks = [paragraph(about)]
    for name, words, theta in list(zip(tried.names, tried.words, tried.proportions))[:n]:
        foremost = largest(np.asarray(theta, float), 3)
        shares = [(names[k], float(theta[k])) for k in foremost if theta[k] > 0.01]
        blocks.append(heading(name))
        blocks.append(bars(shares, colour_of=[k for k in foremost if theta[k] > 0.01]))
        blocks.append(paragraph(_marked(model, words, theta, place, names)))
    return blocks


def _marked(
    model: MomentTopics, words: Sequence[str], theta: Floats, place: dict[str, int], names: Sequence[str]
) -> Html:
    """The words of a document, each marked with its topic."""
    text, marks = "", []
    for word in words[:_TOKENS]:
        known = place.get(word)
        if known is not None:
            k = int((theta * model.components_[:, known]).argmax())
            marks.append(Mark(len(text), len(text) + len(word), k, note=names[k]))
        text += word + " "
    return marked(text + ("…" if len(words) > _TOKENS else ""), marks)
