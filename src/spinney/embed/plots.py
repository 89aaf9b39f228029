"""Pictures of word vectors: words in the plane by t-SNE, and their numbers as a heat map (Yogatama 2015, §4.4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney import progress
from spinney.corpus import writing
from spinney.errors import InputError, SettingError, about
from spinney.settings import Settings, settings_or
from spinney.settings.embed import Plot
from spinney.structure import WordVectors
from spinney.structure.classviews import Floats
from spinney.structure.pictures import has_plots, new_figure, plot_words, write_figure
from spinney.structure.reading import word_vectors
from spinney.structure.words import known_word
from spinney.views import Facts, View

_WORDS = 60
_NEIGHBOURS = 30.0  # perplexity of t-SNE, where there are words enough


def plot(model: str | WordVectors, output: str, settings: Settings | None = None, **given: Any) -> list[View]:
    """Draw words in the plane, or their numbers as a heat map.

    Parameters
    ----------
    model
        A model of ``spinney embed``, the vectors of another file, or vectors.
    output
        A .png, .svg or .pdf file; places in the plane can also be a .tsv file.
    settings
        A :class:`spinney.settings.embed.Plot`, or its settings by name.
    """
    s = settings_or(Plot, settings, given)
    with about(str(model)):
        vectors = word_vectors(model)
    words = _chosen(vectors, s.words)
    rows = _dense(vectors, words)
    facts: dict[str, Any] = {"output": output, "words": words}
    if s.what == "heatmap":
        _plot_heatmap(output, words, rows)
        return [Facts("facts", f"Wrote {output}", facts, {})]
    places, divergence = tsne_map(rows, runs=s.runs, random_state=s.seed)
    facts |= {"map": [[word, x, y] for word, (x, y) in zip(words, places.tolist())]}
    facts |= {"runs": s.runs, "divergence": divergence}
    if has_plots() and not output.endswith(".tsv"):
        plot_words(output, words, places, ["C0"] * len(words))
    else:
        if not output.endswith(".tsv"):
            progress.log.warning(
                "%s contains numbers, not a plot (for plots: pip install 'spinney[plots]')", output
            )
        with writing(output) as file:
            file.writelines(f"{word}\t{x:.4f}\t{y:.4f}\n" for word, x, y in facts["map"])
    return [Facts("facts", f"Wrote {output}", facts, {})]


def _chosen(vectors: WordVectors, chosen: Sequence[str] | None) -> list[str]:
    """The words as the model has them; by default, the first ones whose vectors are not 0."""
    if chosen is None:
        some = list(vectors.words[: 2 * _WORDS])
        words = [word for word, row in zip(some, _dense(vectors, some)) if row.any()][:_WORDS]
    else:
        words = list(dict.fromkeys(known_word(vectors, word) for word in chosen if word))
    if len(words) < 3:
        raise SettingError("at least three words are needed: give more {words}")
    return words


def _dense(vectors: WordVectors, words: Sequence[str]) -> Floats:
    rows = vectors.rows(list(words))
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def tsne_map(rows: Floats, *, runs: int = 10, random_state: int = 0) -> tuple[Floats, float]:
    """Places of vectors in the plane by t-SNE on cosine distances, the best of several runs; and its divergence.

    Runs start from different random places, and the one with the smallest Kullback-Leibler divergence is kept, as in
    the thesis. The perplexity is 30, or a third of the other vectors where these are few.

    Examples
    --------
    >>> rows = np.repeat([[1.0, 0.0], [0.0, 1.0]], 4, axis=0) + 0.01 * np.arange(8)[:, None]
    >>> places, divergence = tsne_map(rows, runs=2)
    >>> places.shape, divergence < 1
    ((8, 2), True)
    """
    from sklearn.manifold import TSNE

    if not np.all(rows.any(axis=1)):
        raise InputError("a vector of zeros has no direction", remedy="leave out the words without numbers")
    best: tuple[float, Floats] | None = None
    with progress.task("t-SNE", runs) as bar:
        for run in range(runs):
            model = TSNE(
                2,
                perplexity=min(_NEIGHBOURS, (len(rows) - 1) / 3),
                metric="cosine",
                init="random",
                random_state=random_state + run,
            )
            places = np.asarray(model.fit_transform(rows), dtype=np.float64)
            divergence = float(model.kl_divergence_)
            if best is None or divergence < best[0]:
                best = divergence, places
            bar.update(1)
    assert best is not None
    return best[1], best[0]


def _plot_heatmap(path: str, words: Sequence[str], rows: Floats) -> None:
    """Draw the numbers of each word, with white for 0."""
    figure, axes = new_figure(9, max(2.0, 0.2 * len(words) + 1.0))
    most = float(np.abs(rows).max()) or 1.0
    shown = axes.imshow(rows, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    figure.colorbar(shown, ax=axes)
    plain = [word.replace("$", r"\$") for word in words]  # no mathematics
    axes.set_yticks(range(len(words)), plain, fontsize=8)
    axes.set_xlabel("dimension")
    write_figure(figure, path)
