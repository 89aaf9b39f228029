"""Pictures of words, by Matplotlib (the extra ``plots``): figures, words in the plane, and files."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from spinney.corpus import writing_bytes
from spinney.errors import OptionError
from spinney.structure.classviews import Floats


def has_plots() -> bool:
    """Whether Matplotlib is there."""
    return find_spec("matplotlib") is not None


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure of this size in inches, and its axes."""
    if not has_plots():
        raise OptionError("plots need the package matplotlib: pip install 'spinney[plots]'")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def write_figure(figure: Any, path: str) -> None:
    """Write a .png, .svg or .pdf file."""
    ending = path.rpartition(".")[2].lower()
    if ending not in ("png", "svg", "pdf"):
        raise OptionError(f"a plot must be a .png, .svg or .pdf file, not {path!r}")
    with writing_bytes(path) as file:
        figure.savefig(file, format=ending, dpi=150)


def plot_words(path: str, words: Sequence[str], places: Floats, colours: Sequence[str]) -> None:
    """Draw words where they are."""
    figure, axes = new_figure(9, 7)
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
    write_figure(figure, path)
