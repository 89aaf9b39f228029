"""Bracketed trees: the Penn Treebank's ``( (S (NP (NN dog)) ...))`` and the Stanford Sentiment Treebank's
``(3 (2 a) (4 joy))``.

Nothing here is recursive: a tree may be as deep as memory allows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import Block, OnError, ReadReport, parse_blocks, read_blocks, regrouped
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError
from spinney.views import PhraseTree

# White space is ASCII's, as in every reader: a word may hold \x85 or a no-break space.
_SPACE = r"[\t-\r\x1c-\x20]"
_ATOM = r"[^()\t-\r\x1c-\x20]++"
_PIECE = re.compile(
    rf"\({_SPACE}*+({_ATOM}){_SPACE}++({_ATOM}){_SPACE}*+\)"  # (label word)
    rf"|\({_SPACE}*+((?:{_ATOM})?)"  # (label
    rf"|\)|({_ATOM})"
)


class Tree:
    """A node: a label with either subtrees or one word below it.

    Parameters
    ----------
    label : str
        May be empty, as at the root of a Penn Treebank tree.
    children : sequence of Tree
        The subtrees, left to right.
    word : str, optional
        The word below a node that has no subtrees.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> tree.label, tree.leaves()
    ('S', ['the', 'dog', 'barks'])
    >>> [node.label for node in tree.nodes() if node.word is None]
    ['S', 'NP', 'VP']
    >>> str(tree)
    '(S (NP (DT the) (NN dog)) (VP (VBZ barks)))'
    """

    __slots__ = ("children", "label", "word")

    def __init__(self, label: str, children: Sequence[Tree] = (), word: str | None = None) -> None:
        if bool(children) == (word is not None):
            raise OptionError("a tree has either children or a word")
        self.label = label
        self.children = tuple(children)
        self.word = word

    @classmethod
    def parse(cls, text: str) -> Tree:
        """The one tree that ``text`` spells."""
        trees = list(_trees(Block(text.encode(), 1, "<text>")))
        if len(trees) != 1:
            raise InputError(f"{len(trees)} trees where one is expected")
        return trees[0]

    def nodes(self) -> Iterator[Tree]:
        """This node and all below it, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def view(self) -> PhraseTree:
        """The tree as people see it."""
        return PhraseTree("tree", "", str(self))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.view()._repr_html_()

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree with Matplotlib (extra ``plots``), into ``ax`` if it is given; returns the axes."""
        return self.view().plot(ax)

    def leaves(self) -> list[str]:
        """The words, left to right."""
        return [node.word for node in self.nodes() if node.word is not None]

    def tags(self) -> list[str]:
        """The labels right above the words, left to right."""
        return [node.label for node in self.nodes() if node.word is not None]

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """The label of each node, in the order of :meth:`nodes`, and its words: ``start`` to ``stop - 1``.

        Examples
        --------
        >>> list(Tree.parse("(S (NP (NN dogs)) (VB bark))").spans())
        [('S', 0, 2), ('NP', 0, 1), ('NN', 0, 1), ('VB', 1, 2)]
        """
        nodes = list(self.nodes())
        width: dict[int, int] = {}
        for node in reversed(nodes):
            width[id(node)] = 1 if node.word is not None else sum(width[id(child)] for child in node.children)
        start = 0
        for node in nodes:
            yield node.label, start, start + width[id(node)]
            start += node.word is not None

    def __str__(self) -> str:
        parts: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
                continue
            separator = " " if parts else ""
            if node.word is not None:
                parts.append(f"{separator}({node.label} {node.word})")
            else:
                parts.append(f"{separator}({node.label}")
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(parts)

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(
            a is not None
            and b is not None
            and (a.label, a.word, len(a.children)) == (b.label, b.word, len(b.children))
            for a, b in zip_longest(self.nodes(), other.nodes())
        )

    def __hash__(self) -> int:
        return hash(str(self))


def read_trees(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """The trees of a file, one or more lines each.

    A tree begins at the start of a line or after another tree; its further lines are indented. So a bracket
    that is never closed is found at the next tree, and with ``on_error="skip"`` only its own tree is dropped.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "sst.txt")
    >>> write_trees(path, [Tree.parse("(3 (2 a) (4 joy))")])
    >>> [(tree.label, tree.leaves()) for tree in read_trees(path)]
    [('3', ['a', 'joy'])]
    """
    report = ReadReport() if report is None else report
    blocks = read_blocks(path, encoding)
    begins = "bracket at the start of a line"
    blocks = regrouped(blocks, lambda text: max((b"\n" + text).rfind(b"\n("), 0), begins)
    for trees in parse_blocks(blocks, _all_trees, _parts, on_error, report):
        report.read += len(trees)
        yield from trees


def write_trees(path: FilePath, trees: Iterable[Tree]) -> None:
    """Write trees, one per line."""
    with writing(path) as file:
        for tree in trees:
            for node in tree.nodes():
                texts = [node.label, node.word] if node.word is not None else [node.label or "-"]
                for text in texts:
                    if not re.fullmatch(_ATOM, text):
                        raise InputError(f"{text!r} cannot be written in brackets", path=os.fspath(path))
            file.write(f"{tree}\n")


def _parts(block: Block) -> Iterator[Block]:
    """The lines from one that begins with a bracket up to the next such."""
    line = block.line
    for text in re.split(rb"(?<=\n)(?=\()", block.text):
        yield replace(block, text=text, line=line)
        line += text.count(b"\n")


def _all_trees(block: Block) -> list[Tree]:
    return [tree for part in _parts(block) for tree in _trees(part)]


def _trees(block: Block) -> Iterator[Tree]:
    text = block.decode()
    stack: list[tuple[str, list[Tree]]] = []  # brackets that are not closed yet: label and children

    def error(what: str) -> InputError:
        return block.error(what, text.count("\n", 0, match.start()))

    for match in _PIECE.finditer(text):
        label, word, opened, stray = match.groups()
        if label is not None:
            tree = Tree(label, word=word)
        elif opened is not None:
            stack.append((opened, []))
            continue
        elif stray is not None:
            raise error(
                "a word next to other words or brackets" if stack else f"text outside brackets: {stray!r}"
            )
        elif not stack:
            raise error("a closing bracket without an opening one")
        else:
            label, children = stack.pop()
            if not children:
                raise error("an empty pair of brackets")
            tree = Tree(label, children)
        if stack:
            stack[-1][1].append(tree)
        else:
            yield tree
    if stack:
        remedy = "or the continuation lines of a tree are not indented"
        raise block.error(f"{len(stack)} brackets are not closed before the next tree", remedy=remedy)
