"""Cleaning of treebank trees: removal of traces, function tags and the empty outer bracket."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from spinney.corpus.brackets import Tree, read_trees
from spinney.corpus.compressed import FilePath, content_suffix
from spinney.corpus.lines import OnError, ReadReport, check_on_error
from spinney.errors import InputError

#: The tag of empty elements: traces, zero complementisers.
EMPTY: Final = "-NONE-"
#: The label of an outer bracket around more than one tree.
TOP: Final = "TOP"

_OUTER = frozenset({"", TOP, "ROOT", "S1"})
_TREEBANK_ENDINGS = frozenset(
    {".mrg", ".ptb", ".penn", ".bracket", ".brackets", ".brk", ".tree", ".trees", ".parse", ".txt"}
)
# A category, other categories that the annotator thought possible, then function tags (-SBJ) and indices (-1, =2).
# A label that begins with one of these marks (-LRB-) is a name as it is.
_LABEL = re.compile(r"([^-=|]+)(?:\|[^-=]*)?([-=].*)?", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def plain_label(label: str, *, functions: bool = False) -> str:
    """The category of a label, without function tags and indices (unless ``functions``) and without alternatives.

    Examples
    --------
    >>> [plain_label(label) for label in ("NP-SBJ-1", "NP=2", "PRT|ADVP", "-LRB-", "PRP$", ":")]
    ['NP', 'NP', 'PRT', '-LRB-', 'PRP$', ':']
    >>> plain_label("PRT|ADVP-CLR", functions=True)
    'PRT-CLR'
    """
    match = _LABEL.fullmatch(label)
    if match is None:
        return label
    category, tags = match.groups(default="")
    return category + tags if functions else category


def clean_tree(
    tree: Tree, *, functions: bool = False, empties: bool = False, repeats: bool = False
) -> Tree | None:
    """The tree without the additions of a treebank to the constituents, or None if no word is left.

    Of alternative labels (``PRT|ADVP``) the first is taken. An outer bracket without a label, or called ``TOP``,
    ``ROOT`` or ``S1``, is removed if it contains one tree, and called ``TOP`` if it contains more.

    Parameters
    ----------
    functions
        Keep function tags and indices: ``NP-SBJ-1`` is otherwise ``NP``.
    empties
        Keep the elements tagged ``-NONE-``, and phrases of nothing else.
    repeats
        Keep a phrase whose only child has the same category; otherwise the two are merged.

    Examples
    --------
    >>> tree = Tree.parse("( (S (NP-SBJ-1 (NP (NNS dogs)) (SBAR (-NONE- *))) (VP (VBP bark))))")
    >>> print(clean_tree(tree))
    (S (NP (NNS dogs)) (VP (VBP bark)))
    >>> print(clean_tree(tree, functions=True, repeats=True))
    (S (NP-SBJ-1 (NP (NNS dogs))) (VP (VBP bark)))
    """
    done: list[
        Tree | None
    ] = []  # read from the right, a node finds its cleaned children at the end, first child last
    for node in reversed(list(tree.nodes())):
        label = plain_label(node.label, functions=functions)
        if node.word is not None:
            done.append(None if node.label == EMPTY and not empties else Tree(label, word=node.word))
            continue
        n = len(node.children)
        children = [child for child in reversed(done[-n:]) if child is not None]
        del done[-n:]
        if len(children) == 1 and not repeats and plain_label(children[0].label) == plain_label(node.label):
            done.append(Tree(label, children[0].children, children[0].word))
        else:
            done.append(Tree(label, children) if children else None)
    cleaned = done[0]
    while cleaned is not None and cleaned.label in _OUTER and len(cleaned.children) == 1:
        cleaned = cleaned.children[0]
    if cleaned is not None and cleaned.label in _OUTER and cleaned.children:
        cleaned = Tree(TOP, cleaned.children)
    return cleaned


def read_treebank(
    path: FilePath,
    *,
    clean: bool = True,
    functions: bool = False,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """The trees of a file, or of all tree files below a folder in the order of their names.

    Tree files in a folder are those that end in ``.mrg``, ``.ptb``, ``.penn``, ``.brackets``, ``.trees``, ``.parse``
    or ``.txt`` and the like (compressed or not) and do not begin with a dot. A file that is given directly may have
    any name.

    Parameters
    ----------
    clean
        Clean the trees with :func:`clean_tree`. Trees without a word are then dropped; ``report.empty`` counts
        them.
    functions
        Keep function tags and indices in cleaning.
    on_error
        ``"raise"``, or ``"skip"`` to drop trees that are not well-formed; ``report.skipped`` counts them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "b.mrg").write_text("( (S (NP-SBJ (-NONE- *))\\n     (VP (VB run))))\\n")
    >>> _ = (folder / "a.mrg").write_text("( (NP-HLN (NNS dogs)))\\n")
    >>> print(*read_treebank(folder), sep="\\n")
    (NP (NNS dogs))
    (S (VP (VB run)))
    """
    check_on_error(on_error)
    report = ReadReport() if report is None else report
    for file in _tree_files(Path(path)) if os.path.isdir(path) else [path]:
        for tree in read_trees(file, encoding=encoding, on_error=on_error, report=report):
            wanted = clean_tree(tree, functions=functions) if clean else tree
            if wanted is None:
                report.read -= 1
                report.empty += 1
            else:
                yield wanted


def _tree_files(folder: Path) -> list[Path]:
    files = [
        file
        for file in folder.rglob("*")
        if file.is_file()
        and content_suffix(file) in _TREEBANK_ENDINGS
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    if not files:
        remedy = f"names that end in {', '.join(sorted(_TREEBANK_ENDINGS))}; or give a file"
        raise InputError("no tree files in this folder", path=os.fspath(folder), remedy=remedy)
    return sorted(files)
