"""Charts for a page, drawn as SVG from numbers: lines over time, and heat maps."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from spinney.errors import OptionError
from spinney.report.page import N_COLOURS, Html, colour, escape, shown, table

_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 28  # margins of a line chart
_CELL = 40  # the side of a cell of a heat map; in large maps, half of that without a number
_NUMBERED = 24  # maximum rows and columns of cells with numbers
_NAME = 26  # maximum letters of the name of a row or column
_SPARK = (96, 22)  # the width and height of a small line
_DASHES = ("", "6 3", "2 3", "8 3 2 3")  # dashes of lines 9 to 16, 17 to 24 and 25 to 32


def line_chart(
    series: Mapping[str, Sequence[float]], x_labels: Sequence[object], *, caption: str = ""
) -> Html:
    """A line chart that shows the values at the pointer (or arrow keys), with all values in a table.

    Lines have gaps where numbers are not finite.

    Examples
    --------
    >>> chart = line_chart({"oil": [0.5, 1.5, float("nan")], "tax": [1.0, 0.0, -1.0]}, [1996, 1997, 1998])
    >>> chart.count('<path class="line" d="M64'), chart.count("1997")
    (2, 3)
    """
    for name, values in series.items():
        if len(values) != len(x_labels):
            raise OptionError(f"series {name!r} has {len(values)} numbers for {len(x_labels)} places")
    numbers = {name: [float(v) for v in values] for name, values in series.items()}
    finite = [v for values in numbers.values() for v in values if math.isfinite(v)]
    ticks = nice_ticks(min(finite, default=0.0), max(finite, default=1.0))
    inner = _WIDTH - _LEFT - _RIGHT
    at = [
        round(_LEFT + (i * inner / (len(x_labels) - 1) if len(x_labels) > 1 else inner / 2), 2)
        for i in range(len(x_labels))
    ]

    def height(value: float) -> float:
        share = (value - ticks[0]) / (ticks[-1] - ticks[0])
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 2)

    lines = "".join(
        f'<g class="{colour(k)}">{_line(values, at, [height(v) if math.isfinite(v) else v for v in values], k)}</g>\n'
        for k, values in enumerate(numbers.values())
    )
    legend = "".join(
        f'<li><svg class="{colour(k)}" viewBox="0 0 26 10" aria-hidden="true"><path class="line" d="M0 5H26"'
        f"{_dash(k)}/></svg>{escape(name)} <b></b></li>"
        for k, name in enumerate(numbers)
    )
    rounded = [[float(f"{v:.6g}") if math.isfinite(v) else None for v in row] for row in numbers.values()]
    data = json.dumps({"x": [str(x) for x in x_labels], "at": at, "series": rounded}, ensure_ascii=False)
    numbered = [[str(x), *(row[i] for row in numbers.values())] for i, x in enumerate(x_labels)]
    return Html(
        f'<figure class="chart" data-chart="{escape(data)}">\n<div class="wide"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" tabindex="0" aria-label="{escape(caption or ", ".join(numbers))}">\n'
        f"{_grid(ticks, height)}{_x_axis(x_labels, at)}"
        f'<line class="cursor" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>\n{lines}</svg></div>\n'
        f'<p class="readout"></p><ul class="legend">{legend}</ul>\n'
        f"{f'<figcaption>{escape(caption)}</figcaption>' if caption else ''}"
        f"<details><summary>Numbers</summary>{table(['', *numbers], numbered)}</details></figure>\n"
    )


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About ``n`` round numbers that enclose both ends.

    Examples
    --------
    >>> nice_ticks(0.13, 0.97)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high - low > max(
        1e-12 * max(abs(low), abs(high)), 1e-300
    ):  # all equal: leave some space around them
        room = abs(low) / 2 or 1.0
        low, high = low - room, high + room
    rough = high / n - low / n
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(m for m in (1, 2, 5, 10) if m * unit >= 0.999 * rough)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def _line(values: Sequence[float], at: Sequence[float], heights: Sequence[float], k: int) -> str:
    """A path for each run of numbers, and a dot for an isolated number."""
    path, dots = "", ""
    for start, stop in _runs(values):
        points = [f"{at[i]:g} {heights[i]:g}" for i in range(start, stop)]
        path += "M" + "L".join(points)
        if stop - start == 1:
            dots += f'<circle class="dot" cx="{at[start]:g}" cy="{heights[start]:g}" r="3"/>'
    return (f'<path class="line" d="{path}"{_dash(k)}/>' if path else "") + dots


def _runs(values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """The runs of finite numbers."""
    start = 0
    for i, value in enumerate([*values, math.nan]):
        if not math.isfinite(value):
            if i > start:
                yield start, i
            start = i + 1


def _dash(k: int) -> str:
    dash = _DASHES[k // N_COLOURS % len(_DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _grid(ticks: Sequence[float], height: Callable[[float], float]) -> str:
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height(t):g}" y2="{height(t):g}"/>'
        f'<text class="faint" x="{_LEFT - 8}" y="{height(t) + 4:g}" text-anchor="end">{shown(t)}</text>\n'
        for t in ticks
    )


def _x_axis(labels: Sequence[object], at: Sequence[float]) -> str:
    step = max(1, math.ceil(len(labels) / 8))
    return "".join(
        f'<text class="faint{" odd" * (i % 2)}" x="{x:g}" y="{_HEIGHT - 8}" text-anchor="{_anchor(x)}">'
        f"{escape(_cut(label, 12))}</text>\n"
        for i, (x, label) in enumerate(
            list(zip(at, labels))[::step]
        )  # on small screens, every other is hidden
    )


def _anchor(x: float) -> str:
    """A label at the right edge ends there, so that it is not cut off."""
    return "middle" if x < _WIDTH - _RIGHT - 20 else "end"


def heat_map(
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    shades: Sequence[Sequence[float]] | None = None,
    caption: str = "",
) -> Html:
    """A matrix in shades of one colour (of another below 0), with the value of the cell at the pointer or arrow keys.

    ``shades`` are between 0 and 1; by default they are the numbers relative to the largest. In small maps, the cells
    show their numbers.

    Examples
    --------
    >>> print(heat_map([[3, 1]], ["true"], ["a", "b"]).count("<rect"))
    2
    """
    if shades is None:
        most = max((abs(v) for row in values for v in row if math.isfinite(v)), default=0.0) or 1.0
        shades = [[abs(v) / most for v in row] for row in values]
    numbered = max(len(rows), len(columns)) <= _NUMBERED
    side = _CELL if numbered else _CELL // 2
    longest = max((len(_cut(column, _NAME)) for column in columns), default=0)
    left, top = 14 + 8 * max((len(_cut(row, _NAME)) for row in rows), default=0), 14 + 6 * longest
    width, height = left + side * len(columns) + 6 * longest, top + side * len(rows) + 4
    names = [
        f'<text x="{left - 8}" y="{top + (i + 0.5) * side + 4:g}" text-anchor="end">{escape(_cut(row, _NAME))}</text>'
        for i, row in enumerate(rows)
    ] + [
        f'<text transform="translate({left + (j + 0.5) * side + 4:g} {top - 8}) rotate(-45)">'
        f"{escape(_cut(column, _NAME))}</text>"
        for j, column in enumerate(columns)
    ]
    cells = [
        _cell(values[i][j], shades[i][j], left + j * side, top + i * side, side, numbered)
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    drawn = "\n".join([*names, *filter(None, cells)])
    data = {
        "rows": list(rows), "columns": list(columns), "left": left, "top": top, "side": side,
        "values": [[float(f"{v:.4g}") if math.isfinite(v) else None for v in row] for row in values],
    }  # fmt: skip
    return Html(
        f'<figure class="heat" data-heat="{escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")))}">'
        f'<div class="wide"><svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'tabindex="0" aria-label="{escape(caption or "heat map")}">\n'
        f'<path class="ground" d="M{left} {top}h{side * len(columns)}v{side * len(rows)}H{left}Z"/>\n{drawn}\n'
        f'<path class="frame" d="M0 0h{side - 1}v{side - 1}H0Z"/></svg></div>'
        f'<p class="readout" aria-live="polite"></p>{below}</figure>\n'
    )


def _cell(value: float, shade: float, x: int, y: int, side: int, numbered: bool) -> str:
    shade = min(max(shade, 0.0), 1.0) if math.isfinite(shade) else 0.0
    if shade < 0.004 and not numbered:  # would be invisible
        return ""
    style = "cell minus" if value < 0 else "cell"
    drawn = f'<rect class="{style}" x="{x}" y="{y}" width="{side - 1}" height="{side - 1}" fill-opacity="{shade:.3g}"/>'
    if not numbered:
        return drawn
    place = f'x="{x + side / 2:g}" y="{y + side / 2 + 4:g}" text-anchor="middle"'
    return f"{drawn}<text {place}>{_brief(value)}</text>"


def _brief(value: float) -> str:
    """A short form of a number, for a cell.

    Examples
    --------
    >>> _brief(0.12345), _brief(1234), _brief(-0.0001), _brief(0.0)
    ('.12', '1234', '·', '·')
    """
    if not math.isfinite(value):
        return "–"
    if value and value == int(value) and abs(value) < 1e5:
        return f"{int(value)}".replace("-", "−")
    if abs(value) < 0.005:
        return "·"
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.3g}"
    return text.replace("-", "−").replace("0.", ".", 1) if abs(value) < 1 else text.replace("-", "−")


def _cut(text: object, n: int = 18) -> str:
    text = str(text)
    return text if len(text) <= n else text[: n - 1] + "…"


def spark(values: Sequence[float]) -> Html:
    """A series as a small line, with a zero line behind it.

    Examples
    --------
    >>> spark([0.0, 1.0, 0.5]).count("L")
    2
    """
    width, height = _SPARK
    finite = [value for value in values if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return height - 2 - (height - 4) * (value - low) / span

    step = width / max(len(values) - 1, 1)
    points = "L".join(f"{i * step:.4g} {y(v):.4g}" for i, v in enumerate(values) if math.isfinite(v))
    return Html(
        f'<svg class="spark c0" viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true">'
        f'<line class="grid" x1="0" x2="{width}" y1="{y(0.0):.4g}" y2="{y(0.0):.4g}"/>'
        f'<path class="line" d="M{points or "0 0"}"/></svg>'
    )
