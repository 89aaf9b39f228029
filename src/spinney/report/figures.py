"""Views as figures of Matplotlib, on request; the extra ``plots`` installs it.

Every function draws into the axes that it is given, or into a new figure, and returns the axes. Words of the data are
drawn as they are: ``$`` starts no formula, and characters that the usual font lacks come from another one, if the
system has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import OptionError
from spinney.report.page import showable
from spinney.report.parse_arcs import arc_levels
from spinney.report.parse_trees import node_places
from spinney.structure.maps import label
from spinney.views import Arcs, Bars, HeatMap, PhraseTree, Series, View, WordMap

_NUMBERED = 12  # up to this many columns, a heat map has its numbers in its cells
_FEW = 30  # up to this many labels of a map are all drawn; of more, those that do not lie on others
_LETTERS = 60  # of the names below a chart of series; more would overlap
_SMALL = 8  # the size of labels on a map, in points
_LETTER = 0.105  # inches, approximately, of a word


def plot(view: View, ax: Any = None) -> Any:
    """Draw a view with Matplotlib.

    Parameters
    ----------
    view
        A :class:`~spinney.views.Series`, :class:`~spinney.views.HeatMap`, :class:`~spinney.views.WordMap`,
        :class:`~spinney.views.Bars`, :class:`~spinney.views.Arcs` or :class:`~spinney.views.PhraseTree`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure, which a notebook shows.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> axes = plot(Series("", "Prices", {"oil": [0.5, 1.5]}, ["1996", "1997"]))
    >>> axes.get_title(), axes.lines[0].get_ydata().tolist()
    ('Prices', [0.5, 1.5])
    """
    if type(view) not in PLOTTED:
        raise OptionError(f"there is no figure of {type(view).__name__}")
    return PLOTTED[type(view)](view, ax)


def _axes(ax: Any, width: float = 7.0, height: float = 4.5) -> Any:
    """The axes to draw into: those given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise OptionError("figures need the package matplotlib: pip install 'spinney[plots]'") from None
    # By pyplot, which is how notebooks know that there is a figure to show.
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


# ------------------------------------------------------------------------------------------------- charts


def _series(view: Series, ax: Any) -> Any:
    own = ax is None
    ax = _axes(ax)
    drawn = []
    for number, values in enumerate(view.lines.values()):
        known = [value if math.isfinite(value) else math.nan for value in values]
        style = ("-", "--", ":", "-.")[number // 10 % 4]  # there are ten colours
        marker = "." if len(known) < 30 else ""
        drawn += ax.plot(range(len(known)), known, color=f"C{number % 10}", linestyle=style, marker=marker)
    longest = max((len(_shown(name)) for name in view.at), default=1)
    step = max(1, math.ceil(len(view.at) * (longest + 2) / _LETTERS))
    places = range(0, len(view.at), step)
    names = [_shown(view.at[i]) for i in places]
    ax.set_xticks(list(places), names, **_style(names))
    _entitle(ax, view.title or view.caption)
    if len(view.lines) > 1:
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if own else {"loc": "best"}
        # A legend leaves out names that begin with an underscore, so words come after it was made.
        legend = ax.legend(
            drawn, [str(i) for i in range(len(drawn))], fontsize="small", frameon=False, **place
        )
        names = [_shown(name) for name in view.lines]
        for text, name in zip(legend.get_texts(), names):
            text.set(text=name, **_style(names))
    return ax


def _bars(view: Bars, ax: Any) -> Any:
    ax = _axes(ax, height=1.0 + 0.25 * len(view.rows))
    colours = [view.colours] * len(view.rows) if isinstance(view.colours, int) else view.colours
    values = [value if math.isfinite(value) else 0.0 for _, value in view.rows]
    ax.barh(range(len(values)), values, color=[f"C{number % 10}" for number in colours])
    names = [_shown(name) for name, _ in view.rows]
    ax.set_yticks(range(len(names)), names, **_style(names))
    ax.invert_yaxis()
    _entitle(ax, view.title)
    return ax


def _heat_map(view: HeatMap, ax: Any) -> Any:
    values = np.asarray(view.values, np.float64).reshape(len(view.rows), len(view.columns))
    longest = max((len(_shown(name)) for name in (*view.rows, *view.columns)), default=1)
    size = 0.8 + 0.34 * max(values.shape) + 0.8 * _LETTER * longest
    ax = _axes(ax, max(size + 0.4, 3.4), max(size, 3.0))
    signed = bool(values.size and np.nanmin(values) < 0)
    if signed:
        most = float(np.nanmax(np.abs(values)))
        shown, look = values, {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    else:
        most = float(np.nanmax(values, initial=0.0)) or 1.0
        shown = values / most if view.shades is None else np.asarray(view.shades, np.float64)
        look = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0}
    if values.size:
        ax.imshow(shown.reshape(values.shape), interpolation="nearest", aspect="auto", **look)
    for axis, names in ((ax.xaxis, view.columns), (ax.yaxis, view.rows)):
        said = [_shown(name) for name in names]
        axis.set_ticks(range(len(said)), said, **_style(said))
    ax.tick_params(axis="x", rotation=90)
    if len(view.columns) <= _NUMBERED:
        dark = np.abs(shown) > (0.6 * most if signed else 0.6)
        for (i, j), value in np.ndenumerate(values):
            colour = "white" if dark[i, j] else "black"
            number = f"{value:,.0f}" if value.is_integer() else f"{value:.3g}"
            ax.text(j, i, number, ha="center", va="center", color=colour, fontsize="small")
    _entitle(ax, view.title or view.caption)
    return ax


# --------------------------------------------------------------------------------------------------- maps


def _word_map(view: WordMap, ax: Any) -> Any:
    ax = _axes(ax, 8.5, 6.5)
    colours = [f"C{point.group % 10}" for point in view.points]
    places = [(point.x, -point.y) for point in view.points]  # on a page, y grows downwards
    ax.scatter([x for x, _ in places], [y for _, y in places], s=10, c=colours)
    together: dict[tuple[float, float], list[int]] = {}  # words in one place have one label
    for i, point in enumerate(view.points):
        together.setdefault((round(point.x, 3), round(point.y, 3)), []).append(i)
    names = [label(", ".join(_shown(view.points[i].word) for i in some)) for some in together.values()]
    ax.set(xlim=(-0.05, 1.1), ylim=(-1.05, 0.05))
    # Labels are measured in points, which needs the place of every dot on the paper.
    points = ax.transData.transform([places[first] for first, *_ in together.values()]) * 72 / ax.figure.dpi
    style = _style(names)
    for name, (first, *_), shift in zip(names, together.values(), _label_shifts(points.tolist(), names)):
        if shift is not None:
            look = {"color": colours[first], "fontsize": _SMALL, "textcoords": "offset points"}
            ax.annotate(name, places[first], shift, annotation_clip=False, **look, **style)
    ax.set_axis_off()
    _entitle(ax, view.title)
    return ax


def _label_shifts(
    points: Sequence[Sequence[float]], names: Sequence[str]
) -> list[tuple[float, float] | None]:
    """Where labels stand beside their dots, such that they cover neither dots nor other labels.

    Earlier words come first. A label without room is left out, unless there are few.
    """
    taken = [(x - 2, y - 2, x + 2, y + 2) for x, y in points]
    shifts: list[tuple[float, float] | None] = []
    for (x, y), name in zip(points, names):
        wide, high = 0.64 * _SMALL * len(name), 1.1 * _SMALL
        sides = ((4, -3), (-wide - 4, -3), (-wide / 2, 4), (-wide / 2, -high - 3), (3, 3), (3, -high - 2))
        for left, low in (*sides, (-wide - 3, 3), (-wide - 3, -high - 2)):
            a, b, c, d = x + left, y + low, x + left + wide, y + low + high
            if not any(a < s and p < c and b < t and q < d for p, q, s, t in taken):
                taken.append((a, b, c, d))
                shifts.append((left, low))
                break
        else:
            shifts.append(sides[0] if len(names) <= _FEW else None)
    return shifts


# -------------------------------------------------------------------------------------------------- trees


def _arcs(view: Arcs, ax: Any) -> Any:
    from_words = [_shown(word) for word in view.words]
    tags = [_shown(tag) for tag in view.tags] or [""] * len(from_words)
    middle, x = [], 0.0
    for word, tag in zip(from_words, tags, strict=True):
        width = max(len(word), len(tag), 1)
        middle.append(x + width / 2)
        x += width + 2
    wrong = [view.gold is not None and head != view.gold[i] for i, head in enumerate(view.heads)]
    arcs = [(head, i + 1, "C3" if wrong[i] else "0.5", "-") for i, head in enumerate(view.heads)]
    if view.gold is not None:
        arcs += [(view.gold[i], i + 1, "C2", "--") for i in range(len(wrong)) if wrong[i]]
    levels = arc_levels([(min(h, m), max(h, m)) for h, m, *_ in arcs if h])
    highest = max(levels.values(), default=0) + 1.0
    ax = _axes(ax, max(3.0, _LETTER * x), min(0.9 + 0.32 * highest, 6.0))
    for head, modifier, colour, line in arcs:
        end = middle[modifier - 1]
        if head:
            start = middle[head - 1] + (0.6 if modifier > head else -0.6)
            _arrow(ax, start, end, levels[min(head, modifier), max(head, modifier)], colour, line)
        else:
            _arrow(ax, end, end, highest, colour, line)
    style = _style([*from_words, *tags])
    for at, word, tag in zip(middle, from_words, tags):
        ax.annotate(word, (at, 0), (0, -4), textcoords="offset points", ha="center", va="top", **style)
        below = {
            "textcoords": "offset points",
            "ha": "center",
            "va": "top",
            "fontsize": "small",
            "color": "0.5",
        }
        ax.annotate(tag, (at, 0), (0, -19), **below, **style)
    ax.set_xlim(-1, max(x - 1, 1))
    ax.set_ylim(0, highest + 0.3)
    ax.set_axis_off()
    _entitle(ax, view.title)
    return ax


def _arrow(ax: Any, start: float, end: float, top: float, colour: str, line: str) -> None:
    """An arrow up, across and down; one without a start comes straight from above."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    if start == end:
        path = Path([(end, top), (end, 0.0)])
    else:
        turn = math.copysign(min(0.8, abs(end - start) / 2), end - start)
        corners = [(start, 0), (start, top - 0.4), (start, top), (start + turn, top)]
        corners += [(end - turn, top), (end, top), (end, top - 0.4), (end, 0)]
        M, L, C = Path.MOVETO, Path.LINETO, Path.CURVE3
        path = Path(corners, [M, L, C, C, L, C, C, L])
    look: dict[str, Any] = {"color": colour, "linestyle": line, "linewidth": 1.2, "fill": False}
    ax.add_patch(FancyArrowPatch(path=path, arrowstyle="->", mutation_scale=8, **look))


def _phrase_tree(view: PhraseTree, ax: Any) -> Any:
    nodes = list(Tree.parse(view.tree).nodes())
    depth, children = node_places(nodes)
    labels = [_shown(node.label) if node.label else "" for node in nodes]
    words = [None if node.word is None else _shown(node.word) for node in nodes]
    x, place = [0.0] * len(nodes), 0.0
    for i, word in enumerate(words):
        if word is not None:
            width = max(len(word), len(labels[i]), 2)
            x[i] = place + width / 2
            place += width + 2
    for i in reversed(range(len(nodes))):  # children before parents
        if children[i]:
            x[i] = (x[children[i][0]] + x[children[i][-1]]) / 2
    lowest = max(depth)
    y = [float(lowest - d if word is None else 0) for d, word in zip(depth, words)]
    ax = _axes(ax, max(3.0, _LETTER * place), 0.9 + 0.45 * lowest)
    style = _style([*labels, *(word for word in words if word is not None)])
    # What is behind a label is hidden by the colour of the ground.
    ground = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.0}
    for i, below in enumerate(children):
        for child in below:
            ax.plot([x[i], x[child]], [y[i], y[child]], color="0.7", linewidth=1, zorder=1)
    for i, name in enumerate(labels):
        marked = i < len(view.marked) and view.marked[i]
        look = {"color": "C3", "fontweight": "bold"} if marked else {}
        ax.text(x[i], y[i], name, ha="center", va="center", bbox=ground, fontsize="small", **look, **style)
        if words[i] is not None:
            ax.annotate(
                words[i], (x[i], y[i]), (0, -8), textcoords="offset points", ha="center", va="top", **style
            )
    ax.set_xlim(-1, max(place - 1, 1))
    ax.set_ylim(-0.6, lowest + 0.3)
    ax.set_axis_off()
    _entitle(ax, view.title)
    return ax


#: How each kind of view is drawn.
PLOTTED: dict[type[View], Callable[[Any, Any], Any]] = {
    Series: _series,
    Bars: _bars,
    HeatMap: _heat_map,
    WordMap: _word_map,
    Arcs: _arcs,
    PhraseTree: _phrase_tree,
}


# -------------------------------------------------------------------------------------------------- words


def _shown(word: str) -> str:
    """A word as a label, without what no font can draw."""
    return label(showable(word))


def _entitle(ax: Any, title: str) -> None:
    if title:
        title = showable(title).replace("\n", " ")
        ax.set_title(title, fontsize="medium", wrap=True, **_style([title]))


def _style(texts: Iterable[str]) -> dict[str, Any]:
    """How Matplotlib is to take words: never as formulas, in fonts that have their characters."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    usual = rcParams["font.family"]
    missing = {ord(c) for text in texts for c in text} - _characters(findfont(FontProperties()))
    return {"parse_math": False, "usetex": False, "fontfamily": [*usual, *_fonts_for(frozenset(missing))]}


@cache
def _fonts_for(missing: frozenset[int]) -> Sequence[str]:
    """The names of fonts that have these characters, as far as any has them."""
    from matplotlib.font_manager import fontManager

    left, found = set(missing), []
    for font in fontManager.ttflist if left else ():
        if font.style != "normal" or font.weight not in (400, "normal", "regular", "book"):
            continue
        here = left & _characters(font.fname)
        if here:
            found.append(font.name)
            left -= here
        if not left:
            break
    return found


@cache
def _characters(path: str) -> frozenset[int]:
    """The characters of a font; none, if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
