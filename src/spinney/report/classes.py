"""What word classes look like to a person: their words, what follows them, words of several classes, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.classes import Clustering, HiddenMarkov
from spinney.errors import OptionError
from spinney.structure import WordClasses, WordVectors
from spinney.structure.words import largest, short
from spinney.structure.wordvectors import Metric

WordModel = Clustering | HiddenMarkov
Floats = NDArray[np.float64]

_COLUMNS = 64  # classes looked at at a time


@dataclass(frozen=True)
class ClassView:
    """A class: its share of all tokens, and its words with their probabilities in it, the first ones first."""

    number: int
    share: float
    words: list[tuple[str, float]]
    path: str | None = None
    unknown: str | None = None

    def named(self, n: int = 3) -> str:
        """Its first words, the unknown symbol left out: a name for what has none.

        Examples
        --------
        >>> ClassView(4, 0.1, [("win", 0.5), ("play", 0.3), ("lose", 0.1), ("beat", 0.1)]).named()
        'win, play, lose'
        """
        known = [word for word, _ in self.words if word != self.unknown]
        return ", ".join(map(short, known[:n])) or str(self.unknown)

    def listed(self) -> str:
        """All its words that are here."""
        return ", ".join(short(word) for word, _ in self.words)


@dataclass(frozen=True)
class Homonym:
    """A word that is of several classes: how often it was seen, and the share of each class in that."""

    word: str
    count: int
    classes: list[tuple[int, float]]


def class_shares(model: WordModel) -> Floats:
    """The share of each class in all tokens.

    Examples
    --------
    >>> from spinney.classes import brown, pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b, "."] for a in ("the", "a") for b in ("dog", "cat")])
    >>> class_shares(brown(pair_counts(arrays), arrays.vocabulary, 3, root=True)).round(2)
    array([0.33, 0.33, 0.33])
    """
    mass: NDArray[Any] = np.zeros(0)
    if isinstance(model, HiddenMarkov):
        mass = model.statistics_.mass
    else:
        mass = np.bincount(model.classes.ids, _counts(model.classes), minlength=model.classes.n_classes)
    return np.asarray(mass / max(mass.sum(), np.finfo(np.float64).tiny))


def class_views(model: WordModel, numbers: Sequence[int] | None = None, top: int = 10) -> list[ClassView]:
    """Classes with their ``top`` words: those with these numbers, or all by falling share.

    Examples
    --------
    >>> from spinney.classes import brown, pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "the", "a") for b in ("dog", "cat")])
    >>> [view.words for view in class_views(brown(pair_counts(arrays), arrays.vocabulary, 2, root=True))]
    [[('the', 0.66...), ('a', 0.33...)], [('dog', 0.5), ('cat', 0.5)]]
    """
    shares = class_shares(model)
    if numbers is None:
        numbers = np.argsort(-shares, kind="stable").tolist()
    for number in numbers:
        if not 0 <= number < len(shares):
            raise OptionError(f"no class {number}: there are {len(shares)}, from 0")
    if isinstance(model, HiddenMarkov):
        words, paths, unknown = _emitted(model, numbers, top), None, model.vocabulary_.unknown
    else:
        words, paths = [_members(model.classes, number, top) for number in numbers], model.classes.paths
        unknown = unknown_symbol(model)
    return [
        ClassView(number, float(shares[number]), some, None if paths is None else paths[number], unknown)
        for number, some in zip(numbers, words)
    ]


def unknown_symbol(model: WordModel) -> str | None:
    """What stands for all unknown words, if something does."""
    if isinstance(model, HiddenMarkov):
        return model.vocabulary_.unknown
    reading = model.facts.get("reading")  # of a file that anyone may have written
    symbol = reading.get("unknown") if isinstance(reading, dict) else None
    return symbol if isinstance(symbol, str) else None


def _emitted(model: HiddenMarkov, numbers: Sequence[int], top: int) -> list[list[tuple[str, float]]]:
    """The words that each class emits most often."""
    statistics, words = model.statistics_, model.vocabulary_.words
    found = []
    for first in range(0, len(numbers), _COLUMNS):
        some = list(numbers[first : first + _COLUMNS])
        block = np.asarray(statistics.omega[:, some].T, np.float64)  # in one sweep through the file
        for number, weights in zip(some, block):
            total = max(float(statistics.mass[number]), np.finfo(np.float64).tiny)
            best = [i for i in largest(weights, top) if weights[i] > 0]
            found.append([(words[i], float(weights[i]) / total) for i in best])
    return found


def _members(classes: WordClasses, number: int, top: int) -> list[tuple[str, float]]:
    """The most frequent words of a class."""
    members = np.flatnonzero(classes.ids == number)
    counts = _counts(classes)[members]
    total = max(float(counts.sum()), np.finfo(np.float64).tiny)
    return [(classes.words[int(members[i])], float(counts[i]) / total) for i in largest(counts, top)]


def _counts(classes: WordClasses) -> Floats:
    """How often each word was seen; once if that is not known."""
    return np.ones(len(classes)) if classes.counts is None else classes.counts.astype(np.float64)


def transitions(model: WordModel) -> Floats:
    """``[child, parent]``: how likely each class is after (in a tree: below) each other; columns sum to 1.

    Examples
    --------
    >>> from spinney.classes import brown, pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")])
    >>> transitions(brown(pair_counts(arrays), arrays.vocabulary, 2, root=True))
    array([[0., 0.],
           [1., 0.]])
    """
    if isinstance(model, HiddenMarkov):
        return model.shared_transition_
    counts = model.class_pairs.T.astype(np.float64)
    total = counts.sum(axis=0)
    return counts / np.where(total > 0, total, 1.0)


def likeliest(matrix: Floats, parent: int, top: int = 3) -> list[tuple[int, float]]:
    """The likeliest children of a class, with their probabilities; none that never occur."""
    column = np.ascontiguousarray(matrix[:, parent])
    return [(i, float(column[i])) for i in largest(column, top) if column[i] > 0]


def children(
    model: WordModel, parents: Sequence[ClassView], top: int = 3
) -> list[tuple[ClassView, list[tuple[ClassView, float]]]]:
    """Classes, each with the likeliest below or after it."""
    matrix = transitions(model)
    below = {view.number: likeliest(matrix, view.number, top) for view in parents}
    numbers = sorted({number for row in below.values() for number, _ in row})
    view_of = {view.number: view for view in class_views(model, numbers, 4)} if numbers else {}
    return [
        (parent, [(view_of[number], chance) for number, chance in below[parent.number]]) for parent in parents
    ]


def homonyms(model: HiddenMarkov, top: int = 20, least: int = 20, share: float = 0.2) -> list[Homonym]:
    """Words that are of several classes: the frequent ones first whose classes are most evenly mixed.

    A word counts if it was seen at least ``least`` times, two of its classes or more have at least ``share`` of its
    tokens, and such classes have four fifths of them in all: of other words the model is unsure. They are sorted by
    the entropy over these classes, times the logarithm of the count.
    """
    omega, counts = model.statistics_.omega, model.vocabulary_.counts
    unknown = model.vocabulary_.unknown
    frequent = [i for i in np.flatnonzero(counts >= least).tolist() if model.vocabulary_.words[i] != unknown]
    found: list[tuple[float, Homonym]] = []
    for i in frequent:
        row = np.asarray(omega[i], np.float64)
        shares = row / max(row.sum(), np.finfo(np.float64).tiny)
        clear = [int(c) for c in np.argsort(-shares, kind="stable")[: int(1 / share)] if shares[c] >= share]
        parts = shares[clear]
        if len(clear) > 1 and parts.sum() >= 0.8:
            score = float(-(parts * np.log(parts)).sum() * np.log(counts[i]))
            classes = list(zip(clear, parts.tolist()))
            found.append((score, Homonym(model.vocabulary_.words[i], int(counts[i]), classes)))
    found.sort(key=lambda pair: -pair[0])
    return [homonym for _, homonym in found[:top]]


def classes_of_word(model: WordModel, word: str, least: float = 0.01) -> list[tuple[int, float]]:
    """The classes of a word with the share of each in its tokens, largest first."""
    if isinstance(model, Clustering):
        return [(model.classes[word], 1.0)]
    row = np.asarray(model.statistics_.omega[model.vocabulary_[word]], np.float64)
    shares = row / max(row.sum(), np.finfo(np.float64).tiny)
    return [(i, float(shares[i])) for i in largest(shares, 10) if shares[i] >= least]


# ----------------------------------------------------------------------------------- vectors and neighbours


def model_vectors(model: WordModel) -> WordVectors:
    """A vector for each word, so that words can be compared.

    That of a hidden Markov model is P(class | word). In a clustering it marks the nodes of the tree of classes that
    the word hangs below: the similarity of two words, by Hellinger and by cosine alike, is then the length of the
    path that they share, divided by the geometric mean of the lengths of both. In flat classes, it is 1 or 0.

    Examples
    --------
    >>> from spinney.classes import Clustering
    >>> classes = WordClasses(["dog", "cat", "the"], [0, 1, 2], paths=["00", "01", "1"])
    >>> vectors = model_vectors(Clustering(classes, np.zeros((3, 3), int), np.zeros(3, int)))
    >>> [(word, round(similarity, 2)) for word, similarity in vectors.neighbours("dog", 2, "hellinger")]
    [('cat', 0.5), ('the', 0.0)]
    """
    if isinstance(model, HiddenMarkov):
        return model.word_vectors()
    from scipy.sparse import csr_array

    classes = model.classes
    paths = classes.paths or [str(i) for i in range(classes.n_classes)]
    nodes: dict[str, int] = {}
    lengths, columns = [], []
    for path in paths:
        prefixes = [path[:n] for n in range(1, len(path) + 1)] if classes.paths else [path]
        lengths.append(len(prefixes))
        columns += [nodes.setdefault(prefix, len(nodes)) for prefix in prefixes]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(paths), max(len(nodes), 1))
    of_classes = csr_array((np.ones(len(columns)), np.array(columns, np.int64), ends), shape=shape)
    return WordVectors(classes.words, of_classes[classes.ids], lowercase=classes.lowercase)


def frequent(model: WordModel, vectors: WordVectors, least: int, beside: str) -> WordVectors:
    """The vectors of words seen at least ``least`` times, and that of one word in any case."""
    if least <= 1:
        return vectors
    words, counts = _counted(model)
    count_of = dict(zip(words, counts.tolist()))
    kept = [word for word in vectors.words if count_of[word] >= least or word == beside]
    return WordVectors(kept, vectors.rows(kept))


def _counted(model: WordModel) -> tuple[Sequence[str], NDArray[Any]]:
    if isinstance(model, HiddenMarkov):
        return model.vocabulary_.words, model.vocabulary_.counts
    return model.classes.words, _counts(model.classes)


def nearest(
    vectors: WordVectors, word: str, top: int = 10, measure: str = "hellinger"
) -> tuple[str, list[tuple[str, float]]]:
    """The words most like a word, and whether the numbers beside them are similarities or distances.

    The similarity of ``hellinger`` and ``bhattacharyya`` is the Bhattacharyya coefficient Σ √(p q).

    Examples
    --------
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> nearest(vectors, "tea", 1, "chi2")
    ('distance', [('coffee', 0.039...)])
    """
    metrics: dict[str, Metric] = {"hellinger": "hellinger", "bhattacharyya": "hellinger", "cosine": "cosine"}
    if measure in metrics:
        return "similarity", vectors.neighbours(word, top, metrics[measure])
    from spinney.evaluate import distances

    apart = distances(vectors.rows([word]), vectors.matrix, measure)[0]  # type: ignore[arg-type]
    order = [i for i in np.argsort(apart, kind="stable").tolist() if vectors.words[i] != word]
    return "distance", [(vectors.words[i], float(apart[i])) for i in order[:top]]


def word_map(vectors: WordVectors, words: Sequence[str]) -> Floats:
    """Places of words in the plane: classical multidimensional scaling of their Hellinger distances.

    These are squared distances between square roots of distributions, so the scaling is the projection of the roots
    on their two principal axes.

    Examples
    --------
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> places = word_map(vectors, ["tea", "coffee", "car"])
    >>> bool(np.linalg.norm(places[0] - places[1]) < np.linalg.norm(places[0] - places[2]))
    True
    """
    from spinney.evaluate import l1_normalised

    rows = l1_normalised(vectors.rows(list(words)))
    roots = np.sqrt(rows.toarray() if hasattr(rows, "toarray") else rows)
    left, sizes, _ = np.linalg.svd(roots - roots.mean(axis=0), full_matrices=False)
    places = np.zeros((len(roots), 2))
    axes = min(2, len(sizes))
    places[:, :axes] = left[:, :axes] * sizes[:axes]
    return places


def class_order(model: WordModel) -> list[int]:
    """The classes such that similar ones stand together: by their paths, or by clustering what follows them."""
    matrix = transitions(model)
    if isinstance(model, Clustering) and model.classes.paths is not None:
        paths = model.classes.paths
        return sorted(range(len(paths)), key=paths.__getitem__)
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(matrix) < 3:
        return list(range(len(matrix)))
    roots = np.sqrt(np.hstack([matrix.T, matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)]))
    return [int(i) for i in leaves_list(linkage(roots, "average", optimal_ordering=len(matrix) <= 512))]


# ---------------------------------------------------------------------------------------------- plots


def plot_map(path: str, words: Sequence[str], places: Floats, classes: Sequence[int]) -> None:
    """Draw words where they are, in a colour for each class."""
    figure, axes = _figure(9, 7)
    number = {c: i for i, c in enumerate(dict.fromkeys(classes))}
    colours = [f"C{number[c] % 10}" for c in classes]
    axes.scatter(places[:, 0], places[:, 1], s=8, c=colours)
    for word, (x, y), colour in zip(words, places.tolist(), colours):
        axes.annotate(word, (x, y), xytext=(3, 2), textcoords="offset points", color=colour, fontsize=9)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    _write(figure, path)


def plot_transitions(path: str, matrix: Floats, order: Sequence[int], structure: str) -> None:
    """Draw a matrix of transitions as a heat map, its classes in this order."""
    figure, axes = _figure(8, 7)
    shown = axes.imshow(np.sqrt(matrix[np.ix_(order, order)]), cmap="magma_r", interpolation="nearest")
    figure.colorbar(shown, ax=axes, label="√ probability")
    axes.set_xlabel("class of the head" if structure == "tree" else "class of the word before")
    axes.set_ylabel("class")
    ticks = range(len(order)) if len(order) <= 80 else []  # more numbers could not be read
    axes.set_xticks(ticks, [order[i] for i in ticks], rotation=90, fontsize=6)
    axes.set_yticks(ticks, [order[i] for i in ticks], fontsize=6)
    _write(figure, path)


def has_plots() -> bool:
    """Whether Matplotlib is there."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def _figure(width: float, height: float) -> tuple[Any, Any]:
    if not has_plots():
        raise OptionError("plots need the package matplotlib: pip install 'spinney[plots]'")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _write(figure: Any, path: str) -> None:
    from spinney.corpus import writing_bytes

    ending = path.rpartition(".")[2].lower()
    if ending not in ("png", "svg", "pdf"):
        raise OptionError(f"plots are written as .png, .svg or .pdf, not as {path!r}")
    with writing_bytes(path) as file:
        figure.savefig(file, format=ending, dpi=150)


# ------------------------------------------------------------------------------------------- terminal


#: What a person is told of a fit, in this order, and by what name.
_FACTS = {
    "method": "method", "structure": "structure", "sentences": "sentences", "tokens": "tokens", "words": "words",
    "placed": "placed", "classes": "classes", "kinds_of_edges": "kinds of edges", "parameters": "parameters",
    "passes": "passes", "log_likelihood": "log-likelihood a token", "perplexity": "perplexity",
    "dev_log_likelihood": "held-out log-likelihood a token", "dev_perplexity": "held-out perplexity",
    "ami": "mutual information, nats a pair", "gamma": "gamma", "seconds": "seconds",
    "tokens_per_second": "tokens per second", "unknown_share": "unknown words", "skipped": "bad sentences skipped",
    "long": "long sentences cut or left out", "joined": "parses of several roots joined",
    "revived": "dead classes revived",
}  # fmt: skip


def fit_facts(model: WordModel) -> dict[str, Any]:
    """What a person is told of a fit."""
    from spinney.report.tables import told

    return told(model.facts_ if isinstance(model, HiddenMarkov) else model.facts, _FACTS)


def show_fit(title: str, facts: Mapping[str, Any]) -> None:
    """What a fit did, as far as it is known."""
    from spinney.report.tables import tell

    tell(title, facts, _FACTS)


def show_word(word: str, shares: Sequence[tuple[int, float]], views: Sequence[ClassView]) -> None:
    """A line for each class that a word is of."""
    from spinney.report.tables import show_rows

    rows = [[number, f"{share:.0%}", view.listed()] for (number, share), view in zip(shares, views)]
    show_rows(f"Classes of {word}", ["class", "share", "words"], rows)


def show_classes(title: str, views: Sequence[ClassView]) -> None:
    """A line a class: number, share, path if it has one, words."""
    from spinney.report.tables import show_rows

    with_paths = any(view.path is not None for view in views)
    rows = [
        [view.number, f"{view.share:.1%}", *([view.path] if with_paths else []), view.listed()]
        for view in views
    ]
    header = ["class", "share", *(["path"] if with_paths else []), "words"]
    show_rows(title, header, rows)


def show_children(
    rows: Sequence[tuple[ClassView, Sequence[tuple[ClassView, float]]]], structure: str
) -> None:
    """A line a class: its words, and those of the likeliest classes below or after it."""
    from spinney.report.tables import show_rows

    link = "below it, most likely" if structure == "tree" else "after it, most likely"
    cells = [
        [
            parent.named(4),
            " / ".join(f"{child.named(3)} {chance:.0%}" for child, chance in children) or "(nothing)",
        ]
        for parent, children in rows
    ]
    show_rows("Transitions", ["class", link], cells)


def show_homonyms(found: Sequence[Homonym], names: dict[int, str]) -> None:
    """A line a word: the classes that it is of."""
    from spinney.report.tables import show_rows

    rows = [
        [one.word, one.count, " / ".join(f"{share:.0%} {names[number]}" for number, share in one.classes)]
        for one in found
    ]
    show_rows("Words of several classes", ["word", "count", "classes"], rows)
