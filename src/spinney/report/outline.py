"""Trees on a page: collapsible branches, and a filter for leaves."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from spinney.report.page import Html, escape
from spinney.views import Node

#: Maximum number of leaves and branches before branches are summarised in one line.
DRAWN = 1500
_DEEP = 40  # levels; deeper leaves are summarised in one line, as their nesting could not be seen
_OPEN = 3  # levels that are open at the start


def outline(roots: Sequence[Node], *, leaves: str = "leaves") -> Html:
    """Trees as nested lists with collapsible branches and a box that filters the leaves.

    In large trees, the largest branches are drawn, and the others are summarised in one line.

    Examples
    --------
    >>> from spinney.views import grown
    >>> print(outline(grown([2, 2, -1], [Node("cat", "12 times"), Node("dog")], range(3))))
    <div class="outline"><div class="tools" hidden><input type="search" placeholder="Filter"
    aria-label="Filter the leaves of this tree"><output class="faint">2 leaves</output><button
    type="button">Open all</button></div>
    <ul>
    <li><details open><summary>2 leaves <span class="faint">cat, dog</span></summary><ul>
    <li class="leaf">cat <span class="faint">12 times</span></li>
    <li class="leaf">dog</li>
    </ul></details></li>
    </ul></div>
    """
    opened = _opened(roots)
    parts: list[str] = []
    todo: list[tuple[Node | str, int]] = [(root, 0) for root in reversed(roots)]
    while todo:
        node, depth = todo.pop()
        if isinstance(node, str):
            parts.append(node)
        elif not node.children:
            parts.append(f'<li class="leaf">{_named(node.name, node.note)}</li>\n')
        elif id(node) not in opened:
            parts.append(
                f'<li class="leaf">{_named(node.name or f"{node.size:,} {leaves}", _some(node))}</li>\n'
            )
        else:
            title = _named(node.name or f"{node.size:,} {leaves}", node.note or _some(node))
            style = ' class="named"' if node.name else ""
            parts.append(f"<li{style}><details{' open' * (depth < _OPEN)}><summary>{title}</summary><ul>\n")
            todo.append(("</ul></details></li>\n", depth))
            shown = node.children[: opened[id(node)]]
            if len(shown) < len(node.children):
                todo.append((f"<li>… {len(node.children) - len(shown):,} more</li>\n", depth))
            todo += [(child, depth + 1) for child in reversed(shown)]
    total = f"{sum(root.size for root in roots):,} {escape(leaves)}"
    return Html(
        '<div class="outline"><div class="tools" hidden><input type="search" placeholder="Filter" '
        f'aria-label="Filter the leaves of this tree"><output class="faint">{total}</output>'
        f'<button type="button">Open all</button></div>\n<ul>\n{"".join(parts)}</ul></div>\n'
    )


def _opened(roots: Sequence[Node]) -> dict[int, int]:
    """The branches to draw, each with the number of its drawn children: largest first, up to the limit."""
    opened: dict[int, int] = {}
    drawn = 0
    heap = [(-root.size, i, 0, root) for i, root in enumerate(roots) if root.children]
    heapq.heapify(heap)
    tie = len(roots)
    while heap and drawn < DRAWN:
        _, _, depth, node = heapq.heappop(heap)
        if depth >= _DEEP:
            continue
        opened[id(node)] = min(len(node.children), DRAWN - drawn)
        drawn += opened[id(node)]
        for child in node.children[: opened[id(node)]]:
            if child.children:
                heapq.heappush(heap, (-child.size, tie, depth + 1, child))
                tie += 1
    return opened


def _named(name: str, note: str) -> str:
    return f'{escape(name)} <span class="faint">{escape(note)}</span>' if note else escape(name)


def _some(node: Node) -> str:
    """Some leaves of a branch."""
    return ", ".join(node.examples) + (", …" if len(node.examples) < node.size else "")
