"""Maps of words: similar words stand near each other, and each tells its neighbours when it is pointed at."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.report.page import Html, colour, escape
from spinney.structure import WordVectors
from spinney.structure.words import short
from spinney.structure.wordvectors import Metric

Floats = NDArray[np.float64]

#: How many words a map shows, and among how many their neighbours are looked for.
SHOWN, COMPARED = 400, 10_000
_NEAR = 8  # neighbours that are told
_FEW = 12  # so many words or fewer are placed by their principal axes alone
_AXES = 50  # principal axes that the places are found from
_STEPS = 500
_PUSHES, _ROOM = (
    60,
    np.array([0.03, 0.022]),
)  # how words that are too near are moved apart, and how far they are to be
_WIDTH, _HEIGHT, _PAD = 720, 480, 30  # of the map before the script knows how much room there is
_LETTER, _LINE = 6.6, 15  # about the size of a letter, to tell which labels would lie on others


@dataclass(frozen=True)
class Point:
    """A word on a map: its place (from 0 to 1), the colour of its group, what is known of it, and its neighbours."""

    word: str
    x: float
    y: float
    group: int = 0
    note: str = ""
    near: Sequence[tuple[str, float]] = field(default=())


def word_map(points: Sequence[Point], *, caption: str = "") -> Html:
    """A map of words that can be searched, zoomed and pointed at. Words that come first get their labels first.

    Examples
    --------
    >>> drawn = word_map([Point("tea", 0, 0.5, near=[("coffee", 0.9)]), Point("coffee", 0, 0.5), Point("car", 1, 0.5)])
    >>> drawn.count("<circle"), drawn.count('class="mute"')  # one label would lie on another
    (3, 1)
    """
    at = [(_PAD + p.x * (_WIDTH - 2 * _PAD), _PAD + p.y * (_HEIGHT - 2 * _PAD)) for p in points]
    names = [label(point.word) for point in points]
    clear = _clear_labels(at, names)
    dots = "".join(
        f'<circle class="{colour(point.group)}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>\n'
        for point, (x, y) in zip(points, at)
    )
    # Names lie on all dots, not only on those before them.
    texts = "".join(
        f'<text x="{x + 6:.1f}" y="{y + 4:.1f}"{"" if seen else _MUTE}>{escape(name)}</text>\n'
        for (x, y), name, seen in zip(at, names, clear)
    )
    drawn = f'<g class="dots">\n{dots}</g>\n<g class="names">\n{texts}</g>\n'
    data = {
        "at": [[round(point.x, 4), round(point.y, 4)] for point in points],
        "words": [point.word for point in points],
        "notes": [point.note for point in points],
        "near": [[[word, round(float(s), 3)] for word, s in point.near] for point in points],
    }
    about = f"A map of {len(points)} words: the arrow keys go from word to word, + and - zoom"
    return Html(
        f'<figure class="map" data-map="{escape(json.dumps(data, ensure_ascii=False))}">\n{_TOOLS.format(len(points))}'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" tabindex="0" aria-label="{about}">\n{drawn}</svg>\n'
        '<div class="card" aria-live="polite"></div>\n'
        f"{f'<figcaption>{escape(caption)}</figcaption>' if caption else ''}</figure>\n"
    )


_MUTE = ' class="mute"'
# Shown by the script: without it, they would do nothing.
_TOOLS = (
    '<div class="tools" hidden><input type="search" placeholder="Find a word" aria-label="Find a word on the map">'
    '<output class="faint">{} words</output><span class="zoom"><button type="button" aria-label="Zoom in">+</button>'
    '<button type="button" aria-label="Zoom out">−</button><button type="button">Whole map</button></span></div>\n'
)


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


def _clear_labels(at: Sequence[tuple[float, float]], names: Sequence[str]) -> list[bool]:
    """Which labels lie on no other that comes before them."""
    taken: list[tuple[float, float, float, float]] = []
    clear = []
    for (x, y), name in zip(at, names):
        box = (x, y - _LINE / 2, x + 8 + _LETTER * len(name), y + _LINE / 2)
        free = not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
        clear.append(free)
        taken += [box] if free else []
    return clear


# --------------------------------------------------------------------------------------------- places


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
    if not spread > 1e-9:  # all alike: a spiral, as the seeds of a sunflower
        turn, far = np.arange(len(rows)) * 2.4, np.sqrt(np.arange(len(rows)))
        return _to_unit(np.column_stack([far * np.cos(turn), far * np.sin(turn)]))
    places = axes[:, :2]
    if len(rows) > _FEW and rows.shape[1] > 2:
        places = _tsne(axes, places / spread)
    return _parted(_to_unit(principal_axes(places, 2)))


def _parted(places: Floats) -> Floats:
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

    # Equal rows that begin at one place would never part.
    start = 1e-4 * (start + 0.1 * np.random.default_rng(0).standard_normal(start.shape))
    perplexity = min(20.0, (len(rows) - 1) / 4)
    # One thread: several would add in any order, and for so few words they are no faster.
    with threadpool_limits(1):
        found: Any = TSNE(
            init=start.astype(np.float32), perplexity=perplexity, max_iter=_STEPS, random_state=0, n_jobs=1
        ).fit_transform(rows)
    return np.asarray(found, np.float64)


def principal_axes(rows: Floats, n: int) -> Floats:
    """The coordinates of rows on their first ``n`` principal axes, at least two, zeros if there are fewer.

    The sign of an axis is such that its largest coordinate is positive.
    """
    left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
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
