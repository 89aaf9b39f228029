"""Trees of sentences for people: drawn on a page, as lines in a terminal, with what is wrong marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from spinney.corpus.brackets import Tree
from spinney.evaluate.parseval import COLLINS, Conventions
from spinney.report.page import Html, escape

_ROW = 19  # pixels from word to word
_LETTER = 8.2  # of a label, about
_BEFORE, _AFTER = 4, 4  # the room on either side of a fork
_LONGEST = 32  # letters of a word that are drawn


def drawn_tree(tree: Tree, marked: Sequence[bool] = (), note: str = "wrong") -> Html:
    """A tree that lies on its side, its words one below the other: as high as the sentence is long, and not wide.

    Parameters
    ----------
    tree
        Of any depth.
    marked
        Which nodes are set off, in the order of ``tree.nodes()``.
    note
        What is said of them at the pointer.

    Examples
    --------
    >>> drawing = drawn_tree(Tree.parse("(S (NP (NN dogs)) (VB bark))"), [False, True, False, False])
    >>> drawing.count("<text"), drawing.count('class="wrong"')
    (6, 1)
    """
    nodes = list(tree.nodes())
    depth, children = _places(nodes)
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
    """A line for each phrase of more than one word: its label, further to the right than that above, and its words.

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


def wrong_nodes(gold: Tree, guess: Tree, conventions: Conventions = COLLINS) -> tuple[list[bool], list[bool]]:
    """Which nodes of each tree the other lacks, in the order of ``nodes()``.

    Brackets are compared as :func:`~spinney.evaluate.parseval.parseval` does, so that punctuation does not count; tags
    as they are.

    Examples
    --------
    >>> gold = Tree.parse("(S (NP (NNS dogs)) (VP (VBP bark)) (. .))")
    >>> guess = Tree.parse("(S (NP (NNS dogs) (NN bark)) (. .))")
    >>> gold_wrong, guess_wrong = wrong_nodes(gold, guess)
    >>> [node.label for node, wrong in zip(gold.nodes(), gold_wrong) if wrong]
    ['NP', 'VP', 'VBP']
    >>> [node.label for node, wrong in zip(guess.nodes(), guess_wrong) if wrong]
    ['NP', 'NN']
    """
    tags = list(zip(gold.tags(), guess.tags(), strict=True))
    place = [0]  # of each word, and of the end, among those that count
    for pair in tags:
        place.append(place[-1] + (not conventions.deleted.issuperset(pair)))
    found = [_brackets(tree, place, conventions) for tree in (gold, guess)]
    both = Counter(filter(None, found[0])) & Counter(filter(None, found[1]))
    marks = []
    for tree, brackets in zip((gold, guess), found):
        left = both.copy()
        differ = iter([a != b for a, b in tags])
        wrong = []
        for node, bracket in zip(tree.nodes(), brackets):
            if bracket is None:
                wrong.append(node.word is not None and next(differ))
            else:
                wrong.append(not left[bracket])
                left[bracket] -= bool(left[bracket])
        marks.append(wrong)
    return marks[0], marks[1]


def _brackets(
    tree: Tree, place: Sequence[int], conventions: Conventions
) -> list[tuple[str, int, int] | None]:
    """The bracket of each node; None for words and for what does not count."""
    same = dict(conventions.equal)
    found: list[tuple[str, int, int] | None] = []
    for node, (label, start, stop) in zip(tree.nodes(), tree.spans()):
        label = re.split("[-=]", label, maxsplit=1)[0]
        counts = (
            node.word is None and label and label not in conventions.deleted and place[start] < place[stop]
        )
        found.append((same.get(label, label), place[start], place[stop]) if counts else None)
    return found


def _places(nodes: Sequence[Tree]) -> tuple[list[int], list[list[int]]]:
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
