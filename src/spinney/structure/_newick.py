"""Newick notation for trees, ``((cat,dog),'potted plant');``: read and written without recursion."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NoReturn

from spinney.errors import InputError
from spinney.files import FilePath

if TYPE_CHECKING:
    from spinney.structure.classtree import ClassTree

_TOKEN = re.compile(
    r"""(?P<space> \s+ | \[ [^\]]* \] )
      | (?P<mark> [(),;] )
      | (?P<length> : \s* [-+0-9.eE]+ )
      | (?P<quoted> ' [^']*+ (?: '' [^']*+ )*+ ' )
      | (?P<plain> [^\s()\[\],:;']+ )
    """,
    re.VERBOSE,
)
_UNREADABLE = {"'": "a quote without its end", "[": "a comment without its end", ":": "':' without a length"}
_PLAIN = re.compile(r"[^\s()\[\],:;'_]+")  # other programs read an unquoted _ as a space
_BEFORE_NODE = ("", "(", ",")


def parse(text: str, path: FilePath) -> tuple[list[str], list[int], list[int]]:
    """The names of the leaves, and the parent and branch of all nodes: leaves first, then the root."""
    return _Parser(text, path).tree()


class _Parser:
    """Reads token by token; ``previous`` is the last mark, or "name" or "length"."""

    def __init__(self, text: str, path: FilePath) -> None:
        self.text, self.path = text, os.fspath(path)
        self.position = 0
        self.previous = ""
        self.names: list[str] = []
        self.leaves: list[tuple[int, int]] = []  # parent and branch; inner nodes count from 0 meanwhile
        self.inners: list[tuple[int, int]] = []
        self.arity: list[int] = []
        self.open: list[int] = []

    def tree(self) -> tuple[list[str], list[int], list[int]]:
        while self.position < len(self.text):
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                self.refuse(_UNREADABLE.get(self.text[self.position], "']' without its '['"))
            self.take(str(match.lastgroup), match[0])
            self.position = match.end()
        if self.previous != ";":
            self.refuse("no ';' at the end of the tree")
        nodes, first = self.leaves + self.inners, len(self.leaves)
        parent = [first + above if above >= 0 else -1 for above, _ in nodes]
        return self.names, parent, [branch for _, branch in nodes]

    def take(self, kind: str, token: str) -> None:
        if kind == "space":
            return
        if self.previous == ";":
            self.refuse("there is text after the end of the tree")
        if kind == "mark":
            self.mark(token)
        elif kind == "length":
            if self.previous not in ("name", ")"):
                self.refuse("a length without a node")
            self.previous = "length"
        else:
            self.name(token if kind == "plain" else token[1:-1].replace("''", "'"))

    def mark(self, mark: str) -> None:
        if mark == "(":
            if self.previous not in _BEFORE_NODE:
                self.refuse("'(' where ',' or ')' is needed")
            self.inners.append(self.place())
            self.arity.append(0)
            self.open.append(len(self.inners) - 1)
        elif self.previous in _BEFORE_NODE:
            self.refuse("a leaf without a name")
        elif mark == ";":
            if self.open:
                self.refuse(f"the tree ends, but {len(self.open)} '(' are not closed")
        elif not self.open:
            self.refuse(f"{mark!r} outside of parentheses")
        elif mark == ")":
            self.open.pop()
        self.previous = mark

    def name(self, name: str) -> None:
        if self.previous in _BEFORE_NODE:
            self.leaves.append(self.place())
            self.names.append(name)
        elif self.previous != ")":  # after ')' it is the name of an inner node
            self.refuse(f"the name {name!r} where ',' or ')' is needed; put names with spaces in quotes")
        self.previous = "name"

    def place(self) -> tuple[int, int]:
        """Where a new node hangs."""
        if not self.open:
            return -1, 0
        above = self.open[-1]
        self.arity[above] += 1
        return above, self.arity[above] - 1

    def refuse(self, what: str) -> NoReturn:
        line = self.text.count("\n", 0, self.position) + 1
        column = self.position - self.text.rfind("\n", 0, self.position)
        raise InputError(f"column {column}: {what}", path=self.path, line=line)


def format_tree(tree: ClassTree) -> str:
    """The tree as a string."""
    ptr, nodes = tree.children()
    pieces: list[str] = []
    todo: list[int | str] = [int(nodes[0])]  # nodes to write and marks between them; the root sorts first
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif item < len(tree):
            name = tree.names[item]
            pieces.append(name if _PLAIN.fullmatch(name) else "'" + name.replace("'", "''") + "'")
        else:
            pieces.append("(")
            todo.append(")")
            for i, child in enumerate(reversed(nodes[ptr[item] : ptr[item + 1]].tolist())):
                todo += [child] if i == 0 else [",", child]
    return "".join(pieces) + ";"
