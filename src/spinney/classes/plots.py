"""Pictures of word classes, by Matplotlib: maps and dendrograms of words, and the transitions between classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney import progress
from spinney.classes.incontext import TokenInContext, tokens_in_context
from spinney.classes.model import WordClassModel
from spinney.classes.views import class_order, class_views, relation_transitions
from spinney.corpus import writing
from spinney.errors import OptionError, SettingError
from spinney.kinds import load_task
from spinney.settings import Settings, settings_or
from spinney.settings.classes import Plot
from spinney.structure import WordVectors
from spinney.structure.classviews import Floats
from spinney.structure.pictures import has_plots, new_figure, plot_words, write_figure
from spinney.structure.words import known_word
from spinney.views import Facts, Table, View


def plot(
    model: str | WordClassModel, output: str, settings: Settings | None = None, **given: Any
) -> list[View]:
    """Draw a map or a dendrogram of words, or the transitions between classes.

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
        facts["map"], drawn = _map(fitted, output, s)
        if drawn:
            return [Facts("facts", f"Wrote {output}", facts, {}), _token_table(fitted, drawn)]
    elif s.what == "dendrogram":
        facts["words"] = _dendrogram(fitted, output, s)
    else:
        matrix = fitted.transitions() if s.relation is None else relation_transitions(fitted, s.relation)
        if matrix is None:
            raise OptionError("this model has no transitions between classes")
        _plot_transitions(output, matrix, class_order(fitted, matrix), fitted.is_tree)
    return [Facts("facts", f"Wrote {output}", facts, {})]


def _map(
    model: WordClassModel, target: str, s: Plot
) -> tuple[list[list[Any]], list[tuple[str, TokenInContext]]]:
    """Write a map of words, and of tokens if there are any; what is on it with its place, and the tokens by name."""
    vectors = model.comparable_vectors()
    words = _chosen(model, vectors, s.words)
    tokens: list[tuple[str, TokenInContext]] = []
    if s.context is not None:
        of_words = [known_word(vectors, word) for word in s.tokens or () if word]
        seen: Counter[str] = Counter()
        for one in tokens_in_context(model, s.context, of_words, s.top, s):
            seen[one.word] += 1
            tokens.append((f"{one.word} {seen[one.word]}", one))
    rows = vectors.rows(words)
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    places = root_map(np.vstack([rows, *(one.posterior for _, one in tokens)]))
    names = [*words, *(name for name, _ in tokens)]
    listed = [[name, x, y] for name, (x, y) in zip(names, places.tolist())]
    if has_plots() and not target.endswith(".tsv"):
        if tokens:
            colours = ["C3"] * len(words) + ["C0"] * len(tokens)  # as in the thesis: red, and blue in context
        else:
            colours = _class_colours([model.classes_of_word(word)[0][0] for word in words])
        plot_words(target, names, places, colours)
        return listed, tokens
    if not target.endswith(".tsv"):
        progress.log.warning(
            "%s contains numbers, not a plot (for plots: pip install 'spinney[plots]')", target
        )
    contexts = [""] * len(words) + [f"\t{one.shown()}" for _, one in tokens]
    with writing(target) as file:
        file.writelines(f"{name}\t{x:.4f}\t{y:.4f}{end}\n" for (name, x, y), end in zip(listed, contexts))
    return listed, tokens


def _token_table(model: WordClassModel, tokens: Sequence[tuple[str, TokenInContext]]) -> Table:
    """Which token is which, and the class that it most likely has."""
    best = [int(one.posterior.argmax()) for _, one in tokens]
    named = {view.number: view.named(3) for view in class_views(model, sorted(set(best)), 4)}
    rows = [[name, one.shown(), f"{one.posterior[c]:.0%} {named[c]}"] for (name, one), c in zip(tokens, best)]
    return Table("tokens", "Tokens in context", ["token", "context", "likeliest class"], rows)


def _chosen(model: WordClassModel, vectors: WordVectors, chosen: Sequence[str] | None) -> list[str]:
    """The words to draw, as the model has them."""
    if chosen is None:
        return [word for word in vectors.words if word != model.vocabulary.unknown][:60]
    words = list(dict.fromkeys(known_word(vectors, word) for word in chosen if word))
    if len(words) < 3:
        raise SettingError("at least three words are needed: give more {words}")
    return words


def _dendrogram(model: WordClassModel, target: str, s: Plot) -> list[str]:
    """Draw how words are put together, nearest first; the words from one end to the other."""
    from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage
    from scipy.spatial.distance import squareform

    from spinney.evaluate import distances

    vectors = model.comparable_vectors()
    words = _chosen(model, vectors, s.words)
    apart = distances(vectors.rows(words), measure="hellinger")
    tree = linkage(squareform(apart, checks=False), method=s.linkage)
    figure, axes = new_figure(7, max(3.0, 0.18 * len(words)))
    plain = [word.replace("$", r"\$") for word in words]  # no mathematics
    dendrogram(tree, ax=axes, labels=plain, orientation="left", leaf_font_size=8)
    axes.set_xlabel("Hellinger distance")
    write_figure(figure, target)
    return [words[i] for i in leaves_list(tree).tolist()]


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
    rows = vectors.rows(list(words))
    return root_map(rows.toarray() if hasattr(rows, "toarray") else rows)


def root_map(rows: Floats) -> Floats:
    """Places of distributions in the plane, by the classical scaling of their Hellinger distances.

    Examples
    --------
    >>> np.abs(root_map(np.array([[1.0, 0.0], [0.0, 1.0]]))).round(3).tolist()
    [[0.707, 0.0], [0.707, 0.0]]
    """
    from spinney.evaluate import l1_normalised

    roots = np.sqrt(l1_normalised(rows))
    left, sizes, _ = np.linalg.svd(roots - roots.mean(axis=0), full_matrices=False)
    places = np.zeros((len(roots), 2))
    axes = min(2, len(sizes))
    places[:, :axes] = left[:, :axes] * sizes[:axes]
    return places


def _class_colours(classes: Sequence[int]) -> list[str]:
    """A colour for each class, the same for the same class."""
    number = {c: i for i, c in enumerate(dict.fromkeys(classes))}
    return [f"C{number[c] % 10}" for c in classes]


def _plot_transitions(path: str, matrix: Floats, order: Sequence[int], tree: bool) -> None:
    """Draw a matrix of transitions as a heat map, its classes in this order."""
    figure, axes = new_figure(8, 7)
    shown = axes.imshow(np.sqrt(matrix[np.ix_(order, order)]), cmap="magma_r", interpolation="nearest")
    figure.colorbar(shown, ax=axes, label="√ probability")
    axes.set_xlabel("class of the head" if tree else "class of the word before")
    axes.set_ylabel("class")
    ticks = range(len(order)) if len(order) <= 80 else []  # more numbers could not be read
    axes.set_xticks(ticks, [order[i] for i in ticks], rotation=90, fontsize=6)
    axes.set_yticks(ticks, [order[i] for i in ticks], fontsize=6)
    write_figure(figure, path)
