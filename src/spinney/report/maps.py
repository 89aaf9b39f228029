"""Interactive word maps on a page, with search and zoom."""

from __future__ import annotations

import json
from collections.abc import Sequence

from spinney.report.page import Html, colour, escape
from spinney.structure.maps import label
from spinney.views import Point

_WIDTH, _HEIGHT, _PAD = 720, 480, 30  # of the map before the script knows the available space
_LETTER, _LINE = 6.6, 15  # approximate size of a letter, to detect overlapping labels


def word_map(points: Sequence[Point], *, caption: str = "") -> Html:
    """A word map with search and zoom. Earlier words have priority for labels.

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
    # Names are drawn above all dots.
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


def _clear_labels(at: Sequence[tuple[float, float]], names: Sequence[str]) -> list[bool]:
    """Which labels do not overlap an earlier one."""
    taken: list[tuple[float, float, float, float]] = []
    clear = []
    for (x, y), name in zip(at, names):
        box = (x, y - _LINE / 2, x + 8 + _LETTER * len(name), y + _LINE / 2)
        free = not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
        clear.append(free)
        taken += [box] if free else []
    return clear
