"""What vectors, states and topics look like to a person: the words at the ends of dimensions, spectra, top words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.embed import Embedding, MomentTopics, SpectralHMM
from spinney.structure import WordVectors
from spinney.structure.words import largest, short

EmbedModel = Embedding | SpectralHMM | MomentTopics
Weighted = list[tuple[str, float]]

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 50  # numbers that a sparkline shows at most


def model_vectors(model: EmbedModel) -> WordVectors:
    """A vector for each word.

    That of an embedding is its own; that of a spectral HMM is the state after the word, whatever came before; that of
    topics is P(topic | word).

    Examples
    --------
    >>> X = np.repeat([[4, 4, 1, 0], [0, 1, 4, 4]], 5, axis=0)
    >>> vectors = model_vectors(MomentTopics(2).fit(X, words=["ball", "game", "vote", "law"]))
    >>> vectors.neighbours("ball", 1)[0][0]
    'game'
    """
    vectors: WordVectors = model.structures()["vectors"]
    return vectors


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
        """As a report in JSON has it."""
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
    depths = None if parent is None else levels(parent)
    found = []
    for number in range(min(n, vectors.dimension)):
        column = matrix[:, [number]].toarray()[:, 0] if vectors.is_sparse else matrix[:, number]
        column = np.asarray(column, np.float64)
        high = [(vectors.words[i], float(column[i])) for i in largest(column, words) if column[i] > 0]
        low = [(vectors.words[i], float(column[i])) for i in largest(-column, words) if column[i] < 0]
        share = float(np.mean(column != 0)) if vectors.is_sparse else None
        found.append(DimensionView(number, high, low, share, None if depths is None else int(depths[number])))
    return found


def levels(parent: ArrayLike) -> NDArray[np.int64]:
    """The depth of each node of a forest, 0 for a root.

    Examples
    --------
    >>> levels([-1, 0, 1, 1, -1])
    array([0, 1, 2, 2, 0])
    """
    parents = np.asarray(parent, np.int64)
    depth, above = np.zeros(len(parents), np.int64), parents
    for _ in range(len(parents)):
        if not np.any(above >= 0):
            break
        depth += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    return depth


def level_shares(vectors: WordVectors, parent: ArrayLike) -> list[dict[str, Any]]:
    """For each level of the forest, from the roots: how many dimensions, and for how many words one is not 0.

    Examples
    --------
    >>> vectors = WordVectors(["a", "b"], [[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    >>> level_shares(vectors, [-1, 0, 0])
    [{'level': 0, 'dimensions': 1, 'nonzero_share': 1.0}, {'level': 1, 'dimensions': 2, 'nonzero_share': 0.25}]
    """
    depths = levels(parent)
    used = np.asarray((vectors.matrix != 0).sum(axis=0)).ravel() / max(len(vectors), 1)
    return [
        {
            "level": level,
            "dimensions": int(np.sum(depths == level)),
            "nonzero_share": float(used[depths == level].mean()),
        }
        for level in range(int(depths.max()) + 1)
    ]


def sparkline(values: ArrayLike) -> str:
    """Numbers as a row of bars, the largest the highest; at most fifty, evenly picked.

    Examples
    --------
    >>> sparkline([4.0, 2.0, 1.0, 0.0])
    '█▄▂▁'
    """
    numbers = np.asarray(values, float)
    if not len(numbers):
        return ""
    numbers = numbers[np.linspace(0, len(numbers) - 1, min(len(numbers), _WIDTH)).round().astype(int)]
    heights = np.ceil(len(_BARS) * np.maximum(numbers, 0) / max(numbers.max(), 1e-300)).astype(int)
    return "".join(_BARS[max(height, 1) - 1] for height in heights)


# ------------------------------------------------------------------------------------------- terminal


#: What a person is told of a fit, in this order, and by what name.
_FACTS = {
    "method": "method", "documents": "documents", "dropped": "documents of fewer than 3 words, left out",
    "sentences": "sentences", "tokens": "tokens", "words": "words", "stop_words": "stop words left out",
    "pairs": "pairs of word and context", "dimensions": "dimensions", "states": "states", "topics": "topics",
    "lam": "lambda", "objective": "objective", "gap": "duality gap", "nonzero_share": "numbers that are not 0",
    "passes": "passes of EM", "seconds_counting": "seconds of counting", "seconds": "seconds",
    "tokens_per_second": "tokens per second", "unknown_share": "unknown words",
    "skipped": "bad sentences or documents skipped",
}  # fmt: skip


def fit_facts(model: EmbedModel) -> dict[str, Any]:
    """What a person is told of a fit."""
    from spinney.report.tables import told

    return told(model.facts_, _FACTS)


def show_fit(title: str, facts: Mapping[str, Any]) -> None:
    """What a fit did, as far as it is known."""
    from spinney.report.tables import tell

    tell(title, facts, _FACTS)


def show_spectrum(name: str, values: ArrayLike) -> None:
    """A line with bars, and the first and last of the numbers."""
    numbers = np.asarray(values, float).tolist()
    if not numbers:
        return
    ends = numbers if len(numbers) <= 6 else [*numbers[:4], None, *numbers[-2:]]
    told = ", ".join("…" if value is None else f"{value:.3g}" for value in ends)
    print(f"{name}: {sparkline(numbers)}  {told}")


def show_dimensions(title: str, views: Sequence[DimensionView]) -> None:
    """A line a dimension: the words at its two ends; in trees, deeper dimensions are set to the right."""
    from spinney.report.tables import show_rows

    shared = any(view.share is not None for view in views)
    rows = [
        [
            "  " * (view.level or 0) + str(view.number),
            *([f"{view.share:.1%}"] if view.share is not None else []),
            ", ".join(short(word) for word, _ in view.high) or "(none)",
            ", ".join(short(word) for word, _ in view.low) or "(none)",
        ]
        for view in views
    ]
    show_rows(title, ["dimension", *(["words"] if shared else []), "most", "least"], rows)


def show_levels(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line a level of the trees of a code."""
    from spinney.report.tables import show_rows

    cells = [[row["level"], row["dimensions"], f"{row['nonzero_share']:.1%}"] for row in rows]
    show_rows("Levels: 0 are the roots", ["level", "dimensions", "words that use one"], cells)


def show_topics(model: MomentTopics, n: int, words: int) -> None:
    """A line a topic: its share and its most probable words."""
    from spinney.report.tables import show_rows

    shares = model.weights_ / model.weights_.sum()
    rows = [
        [k, f"{shares[k]:.1%}", ", ".join(short(word) for word, _ in model.topic_words(k, words))]
        for k in range(min(n, len(shares)))
    ]
    show_rows(f"The {len(rows)} heaviest of {len(shares)} topics", ["topic", "share", "words"], rows)
