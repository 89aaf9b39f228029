"""A report as one self-contained HTML page: nothing is loaded, and text is always escaped.

A page is a title, some facts and sections; a section has blocks. Each function here returns one block of safe markup,
:class:`Html`; any other string is escaped. The page's security policy allows only its own style and script, identified
by their hashes. Equal contents give identical pages.
"""

from __future__ import annotations

import html
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import spinney
from spinney.views import Mark, Share

N_COLOURS = 8
FILTERED = 12  # rows from which a table has a filter box

# Not allowed in HTML: control characters, and lone surrogates, which have no UTF-8.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Html(str):
    """Markup, which goes into a page unescaped."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Escaped text; markup is returned unchanged.

    Examples
    --------
    >>> escape('</script> & "so on"')
    '&lt;/script&gt; &amp; &quot;so on&quot;'
    """
    return text if isinstance(text, Html) else Html(html.escape(showable(str(text))))


def showable(text: str) -> str:
    """Text in which a question mark stands for each character that cannot be shown."""
    return _UNSHOWABLE.sub("\ufffd", text)


def shown(value: object) -> Html:
    """A value as text for people.

    Examples
    --------
    >>> shown(1234567), shown(0.123456789), shown(Share(0.125)), shown(True), shown(None)
    ('1,234,567', '0.1235', '12.50%', 'yes', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Html("–")
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    if isinstance(value, int):
        return Html(f"{value:,}".replace("-", "−"))
    if isinstance(value, Share) and math.isfinite(value):
        return Html(f"{value:.2%}".replace("-", "−"))
    if isinstance(value, float):
        return Html(f"{value:.4g}".replace("-", "−"))
    return escape(value)


def signed(value: float) -> str:
    """A number with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-0.25)
    ('+0.25', '−0.25')
    """
    return f"{value:+.3g}".replace("-", "−")


def joined(parts: Iterable[object], between: str = "") -> Html:
    """Several pieces of text or markup as one."""
    return Html(escape(between).join(escape(part) for part in parts))


def colour(number: int) -> str:
    """The name of the style for a colour; there are eight, which repeat.

    Examples
    --------
    >>> colour(9)
    'c1'
    """
    return f"c{number % N_COLOURS}"


# --------------------------------------------------------------------------------------------- blocks


def paragraph(text: object, *, faint: bool = False) -> Html:
    """A paragraph."""
    style = ' class="faint"' if faint else ""
    return Html(f"<p{style}>{escape(text)}</p>\n")


def heading(text: object) -> Html:
    """A heading inside a section."""
    return Html(f"<h3>{escape(text)}</h3>\n")


def columns(blocks: Iterable[Html]) -> Html:
    """Blocks side by side if there is space."""
    return Html(f'<div class="columns">\n{"".join(f"<div>{block}</div>" for block in blocks)}\n</div>\n')


def facts(values: Mapping[str, object]) -> Html:
    """Names with their values.

    Examples
    --------
    >>> print(facts({"documents": 1200}))
    <dl class="facts"><div><dt>documents</dt><dd>1,200</dd></div></dl>
    """
    rows = [f"<div><dt>{escape(name)}</dt><dd>{shown(value)}</dd></div>" for name, value in values.items()]
    return Html(f'<dl class="facts">{"".join(rows)}</dl>\n')


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table that can be sorted by its headings and, if it is long, filtered; columns of numbers are right-aligned.

    Examples
    --------
    >>> print(table(["word", "weight"], [["fun", 0.5]]))
    <div class="table"><div class="wide"><table>
    <thead><tr><th scope="col"><button type="button">word</button></th><th scope="col" class="number"><button
    type="button">weight</button></th></tr></thead>
    <tbody>
    <tr><td>fun</td><td class="number" data-value="0.5">0.5</td></tr>
    </tbody></table></div></div>
    """
    listed = [list(row) for row in rows]
    numeric = [bool(listed) and all(_is_number(row[i]) for row in listed) for i in range(len(header))]
    heads = "".join(
        f'<th scope="col"{_NUMBER * n}><button type="button">{escape(name)}</button></th>'
        for name, n in zip(header, numeric)
    )
    # On a narrow screen, a long text goes below the rest of its row.
    long = [any(_is_long(row[i]) for row in listed) for i in range(len(header))]
    body = "".join(
        f"<tr>{''.join(_cell(value, n, wide) for value, n, wide in zip(row, numeric, long))}</tr>\n"
        for row in listed
    )
    tools = _FILTER.format(len(listed)) if len(listed) >= FILTERED else ""
    return Html(
        f'<div class="table">{tools}<div class="wide"><table{_STACKED * any(long)}>\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table></div></div>\n"
    )


_NUMBER, _STACKED = ' class="number"', ' class="stacked"'
_LONG = 40  # letters
# Shown by the script: without it, a box would do nothing.
_FILTER = (
    '<div class="tools" hidden><input type="search" placeholder="Filter" aria-label="Filter the rows of this table">'
    '<output class="faint">{} rows</output><button type="button" hidden>Show all</button></div>'
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Html) and len(value) > _LONG


def _cell(value: Any, numeric: bool, long: bool) -> str:
    if not numeric:
        return f'<td class="long">{shown(value)}</td>' if long else f"<td>{shown(value)}</td>"
    exact = float(value) if isinstance(value, Share) else value
    exact = exact if math.isfinite(exact) else ""
    return f'<td class="number" data-value="{exact}">{shown(value)}</td>'


def bars(rows: Sequence[tuple[object, float]], *, colour_of: int | Sequence[int] = 0) -> Html:
    """Names with numbers, and a bar for each: from the left, or from the middle if some are negative.

    ``colour_of`` is one colour for all rows, or one per row.

    Examples
    --------
    >>> print(bars([("fun", 0.5)]))
    <table class="bars"><tbody>
    <tr><td>fun</td><td><svg class="bar c0" aria-hidden="true"><rect x="0%" width="100%" height="100%"
    fill="currentColor"/></svg></td><td class="number">0.5</td></tr>
    </tbody></table>
    """
    colours = [colour_of] * len(rows) if isinstance(colour_of, int) else colour_of
    most = _largest(value for _, value in rows)
    signed = any(value < 0 for _, value in rows)
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{bar(value, most, number, signed=signed)}</td>"
        f'<td class="number">{shown(float(value))}</td></tr>\n'
        for (name, value), number in zip(rows, colours)
    )
    return Html(f'<table class="bars"><tbody>\n{cells}</tbody></table>\n')


def bar(value: float, most: float, number: int = 0, *, signed: bool = False) -> Html:
    """One bar whose length is ``value`` relative to ``most``; a signed one starts in the middle."""
    share = min(abs(value) / most, 1.0) if math.isfinite(value) and most > 0 else 0.0
    width = 100 * share / (2 if signed else 1)
    start = 50 - (width if value < 0 else 0) if signed else 0
    axis = '<line x1="50%" x2="50%" y1="0" y2="100%" class="axis"/>' if signed else ""
    return Html(
        f'<svg class="bar {colour(number)}" aria-hidden="true"><rect x="{start:.4g}%" width="{width:.4g}%" '
        f'height="100%" fill="currentColor"/>{axis}</svg>'
    )


def _largest(values: Iterable[float]) -> float:
    return max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def marked(text: str, marks: Iterable[Mark]) -> Html:
    """Text with marked spans; a span that begins inside another is ignored.

    Examples
    --------
    >>> marked("<Great> fun", [Mark(8, 11, note="+2")])
    '&lt;Great&gt; <mark class="c0 s1" title="+2">fun</mark>'
    """
    pieces: list[str] = []
    done = 0
    for mark in sorted(marks, key=lambda mark: mark[:2]):
        if mark.start < done:
            continue
        style = f"{colour(mark.colour)} s{mark.strength}{' against' * mark.against}"
        title = f' title="{escape(mark.note)}"' if mark.note else ""
        pieces.append(escape(text[done : mark.start]))
        pieces.append(f'<mark class="{style}"{title}>{escape(text[mark.start : mark.stop])}</mark>')
        done = mark.stop
    return Html("".join([*pieces, escape(text[done:])]))


def scored_lines(lines: Sequence[tuple[object, float | None]], *, colours: tuple[int, int] = (0, 1)) -> Html:
    """Lines of text with a signed number and a bar before each; None shows neither.

    ``colours`` are those of positive and negative numbers.

    Examples
    --------
    >>> print(scored_lines([("All in all, fun.", None)]))
    <ol class="lines">
    <li><span></span><span class="number"></span><span class="text">All in all, fun.</span></li>
    </ol>
    """
    most = _largest(score for _, score in lines if score is not None)
    rows = []
    for text, score in lines:
        drawn = number = ""
        if score is not None:
            drawn = bar(score, most, colours[score < 0], signed=True)
            number = f"{score:+.3f}".replace("-", "−")  # aligned, with the same number of decimals
        rows.append(
            f'<li><span>{drawn}</span><span class="number">{number}</span>'
            f'<span class="text">{escape(text)}</span></li>\n'
        )
    return Html(f'<ol class="lines">\n{"".join(rows)}</ol>\n')


# ----------------------------------------------------------------------------------------------- page


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    blocks: Sequence[Html]


@dataclass(frozen=True)
class Page:
    """A report: a title, a line about it, the facts at its head, and sections.

    Examples
    --------
    >>> one = Page("A model", "What it learned", {"words": 7}, [Section("Words", [paragraph("None.")])])
    >>> text = one.html()
    >>> text.startswith("<!DOCTYPE html>"), "<h2>Words</h2>" in text
    (True, True)
    """

    title: str
    about: str
    known: Mapping[str, object]
    sections: Sequence[Section]

    def html(self) -> str:
        """The whole page."""
        links = _links(self.sections, "s")
        parts = "".join(
            f'<section id="s{i}">\n<h2>{escape(section.title)}</h2>\n{"".join(section.blocks)}</section>\n'
            for i, section in enumerate(self.sections)
        )
        head = f"{paragraph(self.about, faint=True)}{facts(self.known)}<nav>\n{links}</nav>\n"
        return document(self.title, head, parts)


def combined_page(title: str, about: str, pages: Sequence[Page]) -> str:
    """Several reports as one page, each under its own heading, with a table of contents.

    Examples
    --------
    >>> words = Page("Words", "What it learned", {"words": 7}, [Section("Classes", [heading("One")])])
    >>> text = combined_page("A tour", "What it learned.", [words, words])
    >>> text.count("<h2>Words</h2>"), text.count("<h3>Classes</h3>"), text.count('<a href="#m1s0">Classes</a>')
    (2, 2, 1)
    """
    contents = "".join(
        f'<li><a href="#m{k}">{escape(page.title)}</a>\n<div>{_links(page.sections, f"m{k}s")}</div></li>\n'
        for k, page in enumerate(pages)
    )
    head = f'{paragraph(about, faint=True)}<nav class="contents" aria-label="Contents"><ol>\n{contents}</ol></nav>\n'
    return document(title, head, "".join(_part(page, f"m{k}") for k, page in enumerate(pages)))


def _part(page: Page, name: str) -> str:
    """A report within a combined page, with its headings one level lower."""
    sections = "".join(
        f'<section id="{name}s{i}">\n<h3>{escape(section.title)}</h3>\n{_lowered(section.blocks)}</section>\n'
        for i, section in enumerate(page.sections)
    )
    return (
        f'<article id="{name}">\n<h2>{escape(page.title)}</h2>\n{paragraph(page.about, faint=True)}'
        f'{facts(page.known)}{sections}<p><a href="#top">Contents</a></p></article>\n'
    )


def _lowered(blocks: Sequence[Html]) -> str:
    # Text is escaped, so anything that looks like a heading is one.
    return "".join(blocks).replace("<h3>", "<h4>").replace("</h3>", "</h4>")


def _links(sections: Sequence[Section], name: str) -> str:
    return "".join(
        f'<a href="#{name}{i}">{escape(section.title)}</a>\n' for i, section in enumerate(sections)
    )


def document(
    title: str, head: str, parts: str, *, style: str = "", script: str = "", connect: str = "'none'"
) -> str:
    """The whole document: the parts with policy, style, heading and script.

    ``style`` and ``script`` are added to those of all pages; ``connect`` says with whom the script may talk.
    """
    style, script = asset("page.css") + style, asset("page.js") + asset("map.js") + script
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    policy += f"; connect-src {connect}" if connect != "'none'" else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body id="top">\n'
        f"<header>\n<h1>{escape(title)}</h1>\n{head}</header>\n<main>\n{parts}</main>\n"
        f"<footer>Spinney {escape(spinney.__version__)}</footer>\n<script>{script}</script>\n</body>\n</html>\n"
    )


@cache
def asset(name: str, package: str = "spinney.report") -> str:
    """A style or script that lies beside the code."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
