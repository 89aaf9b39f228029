"""What vectors of words look like to a person: the words at the ends of dimensions, and a map of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spinney.structure._forest import depths
from spinney.structure.maps import COMPARED, SHOWN, by_count, map_points
from spinney.structure.words import largest, short
from spinney.structure.wordvectors import Metric, WordVectors
from spinney.views import Note, Section, Share, Table, View, WordMap

Weighted = list[tuple[str, float]]

_DIMENSIONS = 200  # on a page


@dataclass(frozen=True)
class DimensionView:
    """A dimension: the words with its largest numbers and those with its smallest, strongest first.

    ``share`` is that of the words whose number is not 0, ``level`` the depth of the dimension in its tree, if it is in
    one.
    """

    number: int
    high: Weighted
    low: Weighted
    share: float | None = None
    level: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        facts: dict[str, Any] = {"dimension": self.number, "high": self.high, "low": self.low}
        facts |= {} if self.share is None else {"nonzero_share": self.share}
        return facts if self.level is None else facts | {"level": self.level}


def dimension_views(
    vectors: WordVectors, n: int = 10, words: int = 8, parent: ArrayLike | None = None
) -> list[DimensionView]:
    """The first ``n`` dimensions with the strongest words at both ends.

    Dense vectors are first made of length one, so that long ones do not fill every list. ``parent`` is the forest of
    the dimensions.

    Examples
    --------
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[2.0, 0.2], [1.0, -0.1], [-1.0, 0.5]])
    >>> [(view.high, view.low) for view in dimension_views(vectors, 1, words=1)]
    [([('tea', 0.995...)], [('car', -0.894...)])]
    """
    if not len(vectors):
        return []
    matrix = vectors.matrix.tocsc() if vectors.is_sparse else vectors.normalised()
    level = None if parent is None else depths(np.asarray(parent))
    found = []
    for number in range(min(n, vectors.dimension)):
        column = matrix[:, [number]].toarray()[:, 0] if vectors.is_sparse else matrix[:, number]
        column = np.asarray(column, np.float64)
        high = [(vectors.words[i], float(column[i])) for i in largest(column, words) if column[i] > 0]
        low = [(vectors.words[i], float(column[i])) for i in largest(-column, words) if column[i] < 0]
        share = float(np.mean(column != 0)) if vectors.is_sparse else None
        found.append(DimensionView(number, high, low, share, None if level is None else int(level[number])))
    return found


def dimension_table(shown: Sequence[DimensionView], of: int) -> Table:
    """A line for each dimension: the words at its two ends; in trees, deeper dimensions are set to the right."""
    rows = [
        [
            "  " * (view.level or 0) + str(view.number),
            *([f"{view.share:.1%}"] if view.share is not None else []),
            ", ".join(short(word) for word, _ in view.high) or "(none)",
            ", ".join(short(word) for word, _ in view.low) or "(none)",
        ]
        for view in shown
    ]
    shared = any(view.share is not None for view in shown)
    title = "Dimensions" if len(shown) == of else f"{len(shown)} of {of} dimensions"
    header = ["dimension", *(["words"] if shared else []), "most", "least"]
    return Table("", f"{title} with the words at either end", header, rows)


def dimension_sections(
    vectors: WordVectors, ends: int, title: str = "Dimensions", about: str | None = None
) -> list[View]:
    """The strongest words of each dimension, as a page shows them."""
    shown = dimension_views(vectors, _DIMENSIONS, ends)
    if not shown:
        return []
    shared, low = any(view.share is not None for view in shown), any(view.low for view in shown)
    rows = [
        [
            view.number,
            *([] if view.share is None else [Share(view.share)]),
            weighted(view.high),
            *([weighted(view.low)] if low else []),
        ]
        for view in shown
    ]
    header = ["dimension", *(["share of words"] if shared else []), "most", *(["least"] if low else [])]
    if about is None:
        about = "The words with the largest and those with the smallest values"
        about += "." if shared else " after scaling all vectors to unit length."
    if len(shown) < vectors.dimension:
        about += f" The first {len(shown)} of {vectors.dimension:,} dimensions."
    return [Section(title, [Note(about), Table("dimensions", "", header, rows)])]


def weighted(words: Sequence[tuple[str, float]]) -> str:
    """Words in a cell."""
    return "  ·  ".join(short(word) for word, _ in words) or "(none)"


def map_sections(
    vectors: WordVectors,
    counts: Any = None,
    unknown: str | None = None,
    *,
    metric: Metric = "cosine",
    groups: Sequence[int] | None = None,
    group_names: Sequence[str] = (),
) -> list[View]:
    """The map of the most frequent words, or the first; ``groups`` are those of all words, with their names."""
    chosen = by_count(vectors.words, counts, SHOWN, unknown)
    words = [vectors.words[i] for i in chosen]
    if len(words) < 2:
        return []
    notes = []
    for i in chosen:
        seen = [] if counts is None else [f"seen {int(counts[i]):,} times"]
        notes.append(" · ".join([*seen, *([] if groups is None else [group_names[groups[i]]])]))
    of_words = None if groups is None else [groups[i] for i in chosen]
    points = map_points(vectors, words, groups=of_words, notes=notes, metric=metric)
    which = "most frequent" if counts is not None else "first"
    about = (
        f"{these_words(len(words), len(vectors), which)} Words close together have similar vectors; large distances "
        "and the axes have no meaning. "
        f"Neighbours are found by the {'Bhattacharyya coefficient' if metric == 'hellinger' else 'cosine'}"
    )
    about += f", among the {COMPARED:,} {which} words." if len(vectors) > COMPARED else "."
    return [Section("Map of words", [Note(about), WordMap("map", "", points)])]


def these_words(shown: int, of: int, which: str = "most frequent") -> str:
    """How many words a map shows.

    Examples
    --------
    >>> these_words(400, 7000)
    'The 400 most frequent of 7,000 words.'
    """
    return f"All {of:,} words." if shown >= of else f"The {shown:,} {which} of {of:,} words."
