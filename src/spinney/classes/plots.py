"""Pictures of word classes, by Matplotlib: a map of words, and the transitions between classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney import progress
from spinney.classes.model import WordClassModel
from spinney.classes.views import class_order, relation_transitions
from spinney.corpus import writing, writing_bytes
from spinney.errors import OptionError, SettingError
from spinney.kinds import load_task
from spinney.settings import Settings, settings_or
from spinney.settings.classes import Plot
from spinney.structure import WordVectors
from spinney.structure.classviews import Floats
from spinney.structure.words import known_word
from spinney.views import Facts, View


def plot(
    model: str | WordClassModel, output: str, settings: Settings | None = None, **given: Any
) -> list[View]:
    """Draw a map of words, or the transitions between classes.

    Parameters
    ----------
    model
        A model of word classes, or its file.
    output
        A .png, .svg or .pdf file; a map can also be a .tsv file of numbers.
    settings
        A :class:`spinney.settings.classes.Plot`, or its settings by name.
    """
    s = settings_or(Plot, settings, given)
    fitted: WordClassModel = load_task(model, "classes") if isinstance(model, str) else model
    facts: dict[str, Any] = {"output": output}
    if s.what == "map":
        facts["map"] = _map(fitted, output, s.words)
    else:
        matrix = fitted.transitions() if s.relation is None else relation_transitions(fitted, s.relation)
        if matrix is None:
            raise OptionError("this model has no transitions between classes")
        _plot_transitions(output, matrix, class_order(fitted, matrix), fitted.is_tree)
    return [Facts("facts", f"Wrote {output}", facts, {})]


def _map(model: WordClassModel, target: str, chosen: Sequence[str] | None) -> list[list[Any]]:
    """Write a map of words; its words with their places."""
    vectors = model.comparable_vectors()
    if chosen is None:
        words = [word for word in vectors.words if word != model.vocabulary.unknown][:60]
    else:
        words = [known_word(vectors, word) for word in chosen if word]
    if len(words) < 3:
        raise SettingError("a map needs at least three words: give more {words}")
    places = word_map(vectors, words)
    rows = [[word, x, y] for word, (x, y) in zip(words, places.tolist())]
    if has_plots() and not target.endswith(".tsv"):
        _plot_map(target, words, places, [model.classes_of_word(word)[0][0] for word in words])
        return rows
    if not target.endswith(".tsv"):
        progress.log.warning(
            "%s contains numbers, not a plot (for plots: pip install 'spinney[plots]')", target
        )
    with writing(target) as file:
        file.writelines(f"{word}\t{x:.4f}\t{y:.4f}\n" for word, x, y in rows)
    return rows


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


def _plot_map(path: str, words: Sequence[str], places: Floats, classes: Sequence[int]) -> None:
    """Draw words where they are, in a colour for each class."""
    figure, axes = _figure(9, 7)
    number = {c: i for i, c in enumerate(dict.fromkeys(classes))}
    colours = [f"C{number[c] % 10}" for c in classes]
    axes.scatter(places[:, 0], places[:, 1], s=8, c=colours)
    for word, (x, y), colour in zip(words, places.tolist(), colours):
        axes.annotate(
            word,
            (x, y),
            xytext=(3, 2),
            textcoords="offset points",
            color=colour,
            fontsize=9,
            parse_math=False,
        )
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    _write(figure, path)


def _plot_transitions(path: str, matrix: Floats, order: Sequence[int], tree: bool) -> None:
    """Draw a matrix of transitions as a heat map, its classes in this order."""
    figure, axes = _figure(8, 7)
    shown = axes.imshow(np.sqrt(matrix[np.ix_(order, order)]), cmap="magma_r", interpolation="nearest")
    figure.colorbar(shown, ax=axes, label="√ probability")
    axes.set_xlabel("class of the head" if tree else "class of the word before")
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
    ending = path.rpartition(".")[2].lower()
    if ending not in ("png", "svg", "pdf"):
        raise OptionError(f"a plot must be a .png, .svg or .pdf file, not {path!r}")
    with writing_bytes(path) as file:
        figure.savefig(file, format=ending, dpi=150)
