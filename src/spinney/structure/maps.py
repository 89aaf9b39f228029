"""Positions of words on a map: similar words are close together, and each has its neighbours."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.structure.words import known_word, short
from spinney.structure.wordvectors import Metric, WordVectors
from spinney.views import Point, WordMap

Floats = NDArray[np.float64]

#: How many words a map shows, and among how many their neighbours are looked for.
SHOWN, COMPARED = 400, 10_000
_NEAR = 8  # neighbours that are shown
_FEW = 12  # this many words or fewer are placed by their principal axes alone
_AXES = 50  # principal axes that the places are found from
_STEPS = 500
_PUSHES, _ROOM = 60, np.array([0.03, 0.022])  # how words that are too near are moved apart, and how far


def map_points(
    vectors: WordVectors,
    words: Sequence[str],
    *,
    groups: Sequence[int] | None = None,
    notes: Sequence[str] | None = None,
    metric: Metric = "cosine",
) -> list[Point]:
    """Words with their places and neighbours by their vectors; neighbours are some of the first ten thousand words.

    Examples
    --------
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> [(point.word, point.near[0][0]) for point in map_points(vectors, ["tea", "car"])]
    [('tea', 'coffee'), ('car', 'coffee')]
    """
    if not words:
        return []
    rows = vectors.rows(list(words))
    rows = np.asarray(rows.toarray() if vectors.is_sparse else rows, np.float64)
    if metric == "hellinger":
        rows = np.sqrt(np.maximum(rows, 0.0))
    places = word_places(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))
    compared = _frequent(vectors, words)
    near = [near for _, near in compared.thesaurus(_NEAR, metric, words)]
    none = [""] * len(words)
    return [
        Point(word, float(x), float(y), group, note, some)
        for word, (x, y), group, note, some in zip(
            words, places, groups or [0] * len(words), notes or none, near
        )
    ]


#: Words of a figure, where none can be pointed at.
PLOTTED = 100


def plot_words(
    vectors: WordVectors,
    words: Sequence[str],
    *,
    class_of: Callable[[str], int] | None = None,
    metric: Metric = "cosine",
    ax: Any = None,
) -> Any:
    """Draw a map of words with Matplotlib, in a colour for each class if there are classes; returns the axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> sorted(text.get_text() for text in plot_words(vectors, ["tea", "car"]).texts)
    ['car', 'tea']
    """
    chosen = [known_word(vectors, word) for word in dict.fromkeys(words)]
    if len(chosen) < 2:
        raise OptionError("a map needs at least two words")
    # Classes are numbered as they come, so that few of them have the same colour.
    number: dict[int, int] = {}
    groups = None
    if class_of is not None:
        groups = [number.setdefault(class_of(word), len(number)) for word in chosen]
    return WordMap("map", "", map_points(vectors, chosen, groups=groups, metric=metric)).plot(ax)


def _frequent(vectors: WordVectors, words: Sequence[str]) -> WordVectors:
    """The vectors of the first words, and of those that are shown."""
    if len(vectors) <= COMPARED:
        return vectors
    kept = list(dict.fromkeys([*vectors.words[:COMPARED], *words]))
    return WordVectors(kept, vectors.rows(kept))


def word_places(rows: Floats) -> Floats:
    """Places in the plane, each number from 0 to 1, such that rows that are near each other stay so.

    By t-SNE (van der Maaten and Hinton 2008) from the two principal axes; a few rows, or rows of two numbers, by these
    axes alone. The same rows always give the same places.

    Examples
    --------
    >>> word_places(np.array([[0.0, 0.0], [3.0, 0.0], [6.0, 1.0]])).round(1).tolist()
    [[0.0, 0.0], [0.5, 1.0], [1.0, 0.0]]
    """
    if len(rows) < 2:
        return np.full((len(rows), 2), 0.5)
    axes = principal_axes(rows, _AXES)
    spread = axes[:, 0].std()
    if not spread > 1e-9:  # all rows are equal: a spiral, like the seeds of a sunflower
        turn, far = np.arange(len(rows)) * 2.4, np.sqrt(np.arange(len(rows)))
        return _to_unit(np.column_stack([far * np.cos(turn), far * np.sin(turn)]))
    places = axes[:, :2]
    if len(rows) > _FEW and rows.shape[1] > 2:
        places = _tsne(axes, places / spread)
    return _spread(_to_unit(principal_axes(places, 2)))


def _spread(places: Floats) -> Floats:
    """The places evened out: half way to their ranks, and no two so near that one dot would lie on the other."""
    if len(places) <= _FEW:
        return places
    ranks = places.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") / (len(places) - 1)
    places = 0.5 * places + 0.5 * ranks
    for _ in range(_PUSHES):
        beside, above = (np.abs(axis[:, None] - axis) < room for axis, room in zip(places.T, _ROOM))
        first, second = np.nonzero(np.triu(beside & above, 1))
        if not len(first):
            break
        apart = places[first] - places[second]
        overlap = (_ROOM - np.abs(apart)) / _ROOM
        # Along the way that is shorter, each of the two by a part of it.
        way = np.eye(2)[overlap.argmin(axis=1)]
        push = 0.3 * _ROOM * overlap * np.where(apart < 0, -1.0, 1.0) * way
        np.add.at(places, first, push)
        np.subtract.at(places, second, push)
    return _to_unit(places)


def _tsne(rows: Floats, start: Floats) -> Floats:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    # Equal rows that begin at the same place would never separate.
    start = 1e-4 * (start + 0.1 * np.random.default_rng(0).standard_normal(start.shape))
    perplexity = min(20.0, (len(rows) - 1) / 4)
    # One thread: several would add in varying order, and for so few words they are no faster.
    with threadpool_limits(1):
        found: Any = TSNE(
            init=start.astype(np.float32), perplexity=perplexity, max_iter=_STEPS, random_state=0, n_jobs=1
        ).fit_transform(rows)
    return np.asarray(found, np.float64)


def principal_axes(rows: Floats, n: int) -> Floats:
    """The coordinates of rows on their first ``n`` principal axes, at least two, zeros if there are fewer.

    The sign of an axis is such that its largest coordinate is positive.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centred = rows - rows.mean(axis=0)
    if not np.all(np.isfinite(centred)):  # numbers so large that their mean is not finite: no map is right
        return np.zeros((len(rows), max(min(n, *rows.shape), 2)))
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    n = min(n, len(sizes))
    found = np.zeros((len(rows), max(n, 2)))
    found[:, :n] = left[:, :n] * sizes[:n]
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    return found * np.where(signs == 0, 1.0, signs)


def _to_unit(places: Floats) -> Floats:
    low, high = places.min(axis=0), places.max(axis=0)
    wide = high - low > 1e-9 * max(1.0, float(np.abs(places).max()))
    return np.where(wide, (places - low) / np.where(wide, high - low, 1.0), 0.5)


def by_count(words: Sequence[str], counts: Iterable[float] | None, n: int, without: str | None) -> list[int]:
    """The places of the ``n`` most frequent words, or of the first ones if nobody counted; not the unknown symbol.

    Examples
    --------
    >>> by_count(["a", "<unk>", "b", "c"], [1, 9, 3, 1], 2, "<unk>")
    [2, 0]
    """
    order: Iterable[int] = range(len(words))
    if counts is not None:
        order = np.argsort(-np.asarray(list(counts), np.float64), kind="stable").tolist()
    return [i for i in order if words[i] != without][:n]


def label(word: str) -> str:
    """A word as a label: cut to fit, and one of accents alone with a circle to carry them.

    Examples
    --------
    >>> label("tea"), label("\\u0301"), label(" ")
    ('tea', '◌́', '␣')
    """
    if not word.strip():
        return "␣"
    return short("◌" + word if all(unicodedata.category(c).startswith("M") for c in word) else word)
