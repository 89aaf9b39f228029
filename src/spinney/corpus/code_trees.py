"""Trees that every Python has on its disk: the syntax of statements of its own library.

Statements of a programming language are sentences with perfect trees. The labels are the classes of Python's
:mod:`ast`, the words are tokens, their tags the kinds of tokens.
"""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Final, NamedTuple

from spinney.corpus.brackets import Tree

#: Modules in pure Python that have long been in the library and have many authors.
MODULES: Final = (
    "argparse", "calendar", "configparser", "difflib", "doctest", "fractions", "optparse", "pdb", "statistics",
    "textwrap",
)  # fmt: skip

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert, ast.Delete, ast.Expr)
_KINDS = {tokenize.NAME: "NAME", tokenize.NUMBER: "NUMBER", tokenize.STRING: "STRING", tokenize.OP: "OP"}
_BRACKETS = {"(": "-LRB-", ")": "-RRB-"}  # a tree's own brackets, as the Penn Treebank writes them
_TEXT = "'...'"  # whatever a string says


class _Token(NamedTuple):
    start: tuple[int, int]
    tag: str
    word: str


def sample_trees(modules: Sequence[str] = MODULES, *, shortest: int = 4, longest: int = 25) -> list[Tree]:
    """The trees of simple statements (assignments, calls, returns and so on) of Python's library, each once.

    The library is that of the running Python, so that numbers differ a little between versions. A module that it lacks
    is skipped; so are strings with expressions inside, whose tokens differ from version to version.

    Parameters
    ----------
    modules
        Where to look for statements.
    shortest, longest
        Tokens of a statement.

    Examples
    --------
    >>> len(sample_trees(["textwrap"])) > 30
    True
    """
    found: dict[str, Tree] = {}
    for name in modules:
        for tree in code_trees(module_source(name)):
            if shortest <= len(tree.leaves()) <= longest:
                found.setdefault(str(tree), tree)
    return list(found.values())


def code_trees(source: str) -> Iterator[Tree]:
    """The trees of the simple statements of a Python source.

    Examples
    --------
    >>> print(*code_trees("x = f(1)"))
    (Assign (Name (NAME x)) (OP =) (Call (Name (NAME f)) (OP -LRB-) (Constant (NUMBER 1)) (OP -RRB-)))
    """
    if not source.isascii():  # ast counts bytes, tokenize counts characters
        return
    tokens = list(_tokens(source))
    starts = [token.start for token in tokens]
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, _STATEMENTS) and not _passed_over(statement):
            yield _tree(statement, tokens, starts)


def module_source(module: str) -> str:
    """The source of a module of the running Python; nothing for one that it lacks.

    Examples
    --------
    >>> "def wrap(" in module_source("textwrap")
    True
    """
    spec = find_spec(module)
    read = getattr(spec and spec.loader, "get_source", None)  # the library may be in an archive
    return (read(module) or "") if read else ""


def _tokens(source: str) -> Iterator[_Token]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        tag = _KINDS.get(token.type)
        if tag is not None and token.string:
            if tag == "NAME" and keyword.iskeyword(token.string):
                tag = "KEYWORD"
            word = _TEXT if tag == "STRING" else _BRACKETS.get(token.string, token.string)
            yield _Token(token.start, tag, word)


def _passed_over(statement: ast.stmt) -> bool:
    """Documentation, and strings with expressions inside."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return True
    return any(isinstance(node, ast.JoinedStr) for node in ast.walk(statement))


def _tree(statement: ast.stmt, tokens: Sequence[_Token], starts: Sequence[tuple[int, int]]) -> Tree:
    """The tree of a statement: what a node's children leave of its tokens hangs on the node itself."""
    opened: list[tuple[ast.AST, int, int]] = []  # nodes with their tokens, parents before children
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        opened.append((node, *_span(node, starts)))
        stack += _placed_children(node)
    made: dict[int, tuple[int, Tree]] = {}  # by their first token: where they end, and what they are
    # Children before parents: where several begin together, the last made holds the others.
    for node, first, last in reversed(opened):
        made[first] = last, Tree(type(node).__name__, list(_below(first, last, tokens, made)))
    return made[bisect_left(starts, _place(statement))][1]


def _below(
    first: int, last: int, tokens: Sequence[_Token], made: dict[int, tuple[int, Tree]]
) -> Iterator[Tree]:
    at = first
    while at < last:
        if at in made:
            at, tree = made[at]
            yield tree
        else:
            yield Tree(tokens[at].tag, word=tokens[at].word)
            at += 1


def _placed_children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node that stand somewhere: operators do not, and argument lists only as their parts."""
    found: list[ast.AST] = []
    stack = list(ast.iter_child_nodes(node))
    while stack:
        child = stack.pop()
        if hasattr(child, "lineno"):
            found.append(child)
        else:
            stack += ast.iter_child_nodes(child)
    return found


def _place(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _span(node: ast.AST, starts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
    return bisect_left(starts, _place(node)), bisect_left(starts, end)
