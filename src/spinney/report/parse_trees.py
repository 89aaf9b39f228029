"""Phrase-structure trees, drawn on a page or as lines in a terminal, with errors marked."""

from __future__ import annotations

from collections.abc import Sequence

from spinney.corpus.brackets import Tree
from spinney.report.page import Html, escape

_ROW = 19  # pixels from word to word
_LETTER = 8.2  # approximate, of a label
_BEFORE, _AFTER = 4, 4  # the space on either side of a fork
_LONGEST = 32  # maximum letters of a word


def drawn_tree(tree: Tree, marked: Sequence[bool] = (), note: str = "wrong") -> Html:
    """A tree drawn sideways, with one word per line, so that long sentences are tall rather than wide.

    Parameters
    ----------
    tree
        Of any depth.
    marked
        Which nodes are highlighted, in the order of ``tree.nodes()``.
    note
        The tooltip of these nodes.

    Examples
    --------
    >>> drawing = drawn_tree(Tree.parse("(S (NP (NN dogs)) (VB bark))"), [False, True, False, False])
    >>> drawing.count("<text"), drawing.count('class="wrong"')
    (6, 1)
    """
    nodes = list(tree.nodes())
    depth, children = node_places(nodes)
    row = [0.0] * len(nodes)
    leaves = [i for i, node in enumerate(nodes) if node.word is not None]
    for place, i in enumerate(leaves):
        row[i] = place
    for i in reversed(range(len(nodes))):  # children before parents
        if children[i]:
            row[i] = (row[children[i][0]] + row[children[i][-1]]) / 2

    widths = [0.0] * (max(depth) + 1)
    for i, node in enumerate(nodes):
        if node.word is None:
            widths[depth[i]] = max(widths[depth[i]], _width(node.label))
    left = [4.0]
    for width in widths:
        left.append(left[-1] + (width + _AFTER + _BEFORE + 2 * _AFTER if width else 0.0))
    tags = left[-1]
    words = tags + max(_width(nodes[i].label) for i in leaves) + 8
    x = [tags if node.word is not None else left[d] for node, d in zip(nodes, depth)]

    def y(i: int) -> float:
        return (row[i] + 0.5) * _ROW

    lines = []
    for i, below in enumerate(children):
        if below:
            fork = left[depth[i]] + widths[depth[i]] + _AFTER + _BEFORE
            path = f"M{x[i] + _width(nodes[i].label):g} {y(i):g}H{fork:g}M{fork:g} {y(below[0]):g}V{y(below[-1]):g}"
            path += "".join(f"M{fork:g} {y(child):g}H{x[child] - _AFTER:g}" for child in below)
            lines.append(f'<path class="grid" fill="none" d="{path}"/>')
    texts = [_label(node, x[i], y(i), i < len(marked) and marked[i], note) for i, node in enumerate(nodes)]
    texts += [f'<text x="{words:g}" y="{y(i) + 4:g}">{escape(_cut(nodes[i].word))}</text>' for i in leaves]
    longest = max(len(_cut(nodes[i].word)) for i in leaves)
    width, height = words + _LETTER * longest + 4, _ROW * len(leaves)
    about = str(tree) if len(nodes) < 200 else "a tree"
    return Html(
        f'<div class="wide"><svg width="{width:.0f}" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="{escape(about)}">\n{"".join(lines)}\n{"".join(texts)}\n</svg></div>\n'
    )


def phrase_lines(tree: Tree) -> list[tuple[str, str]]:
    """One line per phrase of more than one word: its label, indented by depth, and its words.

    Examples
    --------
    >>> for label, words in phrase_lines(Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB here))))")):
    ...     print(f"{label:6}{words}")
    S     the dog barks here
      NP  the dog
      VP  barks here
    """
    lines = []
    stack = [(tree, 0)]
    while stack:
        node, indent = stack.pop()
        words = node.leaves()
        if len(words) > 1:
            lines.append(("  " * indent + node.label, " ".join(words)))
            stack += [(child, indent + 1) for child in reversed(node.children)]
    return lines


def node_places(nodes: Sequence[Tree]) -> tuple[list[int], list[list[int]]]:
    """The depth of each node, parents first, and the numbers of its children."""
    depth, children = [0] * len(nodes), [[] for _ in nodes]  # type: tuple[list[int], list[list[int]]]
    waiting: list[int] = []  # nodes whose children are not all found, the innermost last
    for i, node in enumerate(nodes):
        while waiting and len(children[waiting[-1]]) == len(nodes[waiting[-1]].children):
            waiting.pop()
        if waiting:
            children[waiting[-1]].append(i)
            depth[i] = depth[waiting[-1]] + 1
        if node.children:
            waiting.append(i)
    return depth, children


def _label(node: Tree, x: float, y: float, marked: bool, note: str) -> str:
    style = ' class="wrong"' if marked else ' class="faint"' if node.word is not None else ""
    title = f"<title>{escape(note)}</title>" if marked else ""
    return f'<text{style} x="{x:g}" y="{y + 4:g}">{title}{escape(_cut(node.label))}</text>'


def _width(label: str) -> float:
    return round(_LETTER * len(_cut(label)), 1)


def _cut(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
