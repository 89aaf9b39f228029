"""Dependency trees of sentences as arcs above their words."""

from __future__ import annotations

from collections.abc import Sequence

from spinney.report.page import Html, escape

_LETTER = 8.0  # approximate, of a word
_GAP = 18  # between words
_LEVEL, _HIGHEST = 18, 200  # from arc to arc, and in total: very many arcs are closer together
_LONGEST = 20  # maximum letters of a word


def drawn_arcs(
    words: Sequence[str], tags: Sequence[str], heads: Sequence[int], gold: Sequence[int] | None = None
) -> Html:
    """Arcs from heads to their modifiers; heads count from 1, and 0 is the root, drawn as a line from above.

    Parameters
    ----------
    words, tags
        Words and tags of the sentence; without tags, give empty strings.
    heads
        The heads to draw.
    gold
        The correct heads, if known: wrong arcs are highlighted, and the correct ones are dashed.

    Examples
    --------
    >>> drawing = drawn_arcs(["the", "dog", "barks"], ["DT", "NN", "VBZ"], [2, 3, 0], [2, 0, 2])
    >>> drawing.count("<path"), drawing.count("arc wrong"), drawing.count("arc missed")
    (5, 2, 2)
    """
    shown = [word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…" for word in words]
    tagged = [tag if len(tag) <= _LONGEST else tag[: _LONGEST - 1] + "…" for tag in tags] or [""] * len(shown)
    widths = [_LETTER * max(len(word), len(tag), 1) for word, tag in zip(shown, tagged, strict=True)]
    middle, x = [], 10.0
    for width in widths:
        middle.append(x + width / 2)
        x += width + _GAP
    wrong = [gold is not None and head != gold[i] for i, head in enumerate(heads)]
    arcs = [(head, i + 1, " wrong" if wrong[i] else "") for i, head in enumerate(heads)]
    arcs += [(gold[i], i + 1, " missed") for i in range(len(words)) if wrong[i] and gold is not None]
    levels = arc_levels([(min(h, m), max(h, m)) for h, m, _ in arcs if h])
    highest = max(levels.values(), default=0)
    level = min(_LEVEL, _HIGHEST / max(highest, 1))
    base = level * highest + 26
    drawn = []
    for head, modifier, style in sorted(arcs, key=lambda arc: arc[2] != " missed"):  # drawn arcs are on top
        end = middle[modifier - 1]
        if not head:
            path = f"M{end:g} 2V{base - 5:g}"
            note = f"root: {words[modifier - 1]}"
        else:
            # Arcs to the left and to the right leave a word at different points.
            start = middle[head - 1] + (5 if modifier > head else -5)
            top = base - level * levels[min(head, modifier), max(head, modifier)] - 8
            r = min(8.0, abs(end - start) / 2)
            turn = r if end > start else -r
            path = (
                f"M{start:g} {base:g}V{top + r:g}Q{start:g} {top:g} {start + turn:g} {top:g}"
                f"H{end - turn:g}Q{end:g} {top:g} {end:g} {top + r:g}V{base - 5:g}"
            )
            note = f"{words[head - 1]} → {words[modifier - 1]}"
        note += {" wrong": " (wrong)", " missed": " (right, but missed)"}.get(style, "")
        path += "m-3 -4l3 5l3 -5"
        drawn.append(f'<path class="arc{style}" d="{path}"><title>{escape(note)}</title></path>')
    texts = [
        f'<text x="{at:g}" y="{base + 16:g}" text-anchor="middle">{escape(word)}</text>'
        f'<text class="faint" x="{at:g}" y="{base + 32:g}" text-anchor="middle">{escape(tag)}</text>'
        for at, word, tag in zip(middle, shown, tagged)
    ]
    about = ", ".join(f"{words[i]} ← {words[head - 1] if head else 'root'}" for i, head in enumerate(heads))
    return Html(
        f'<figure class="arcs"><div class="wide"><svg width="{x:.0f}" viewBox="0 0 {x:.0f} {base + 38:.0f}" role="img" '
        f'aria-label="{escape(about)}">\n{"".join(drawn)}\n{"".join(texts)}\n</svg></div></figure>\n'
    )


def arc_levels(spans: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The level of each span, above all spans inside it."""
    level: dict[tuple[int, int], int] = {}
    for low, high in sorted(set(spans), key=lambda span: span[1] - span[0]):
        inside = [of for (a, b), of in level.items() if low <= a and b <= high]
        level[low, high] = 1 + max(inside, default=0)
    return level
