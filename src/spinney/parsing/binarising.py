"""Reversible binarisation: trees with at most two children per node.

A grammar label is one or more plain labels with their context::

    NP           a phrase
    NP^VP^S      below a VP, itself below an S                (vertical=3)
    S+VP         an S with a VP as its only child
    @NP^VP|PP    part of an NP below a VP, up to its PP       (horizontal=1)

A mark ``@ + ^ |`` within a plain label is preceded by a backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from spinney.corpus.brackets import Tree
from spinney.errors import OptionError
from spinney.parsing.headrules import COLLINS, HeadRules

_MARK = re.compile(r"[\\@+^|]")
_PLAIN = re.compile(r"(?:[^\\+^|]|\\.|\\\Z)*", re.DOTALL)  # up to the next mark
_NOTHING = r"\0"  # an empty label, escaped: a grammar label is never empty
_CACHED = 1 << 16


@dataclass(frozen=True)
class Binarisation:
    """How trees become binary, and back.

    Parameters
    ----------
    horizontal
        The number of siblings in the label of a partial phrase, for phrases with more than two children: those
        generated last, from the head outwards; None for all.
    vertical
        1: labels of phrases are unchanged; 2: phrases and their parts include the parent (``NP^S``); 3: also the
        grandparent, and so on. Tags never do.
    unaries
        How phrases with a single child are represented. ``"one"``: at most one unary rule above a binary node or a tag:
        A -> B -> C -> D E becomes ``A+B`` -> C -> D E. ``"collapse"``: no unary rules: ``A+B+C`` -> D E, and ``NP+NN``
        is a tag.
    branching
        Which children of a phrase are joined first: from the head outwards, those to its right before those to
        its left (``"head"``, Klein and Manning 2003), from the first (``"left"``) or from the last (``"right"``).
    heads
        Finds the head for ``branching="head"``.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (NNS dogs)) (VP (VBP bark) (ADVP (RB today)) (PP (IN at) (NP (NNS cats)))) (. .))")
    >>> binary = Binarisation().binarise(tree)
    >>> print(binary)
    (S (NP (NNS dogs)) (@S|. (VP (@VP|ADVP (VBP bark) (ADVP (RB today))) (PP (IN at) (NP (NNS cats)))) (. .)))
    >>> print(Binarisation(horizontal=0, vertical=2, unaries="collapse").binarise(tree))
    (S (NP+NNS dogs) (@S (VP^S (@VP^S (VBP bark) (ADVP+RB today)) (PP^VP (IN at) (NP+NNS cats))) (. .)))
    >>> Binarisation().restore(binary) == tree
    True
    """

    horizontal: int | None = 1
    vertical: int = 1
    unaries: Literal["one", "collapse"] = "one"
    branching: Literal["head", "left", "right"] = "head"
    heads: HeadRules = COLLINS

    def __post_init__(self) -> None:
        whole = isinstance(self.vertical, int) and isinstance(self.horizontal, int | None)
        if not whole:
            raise OptionError(
                f"horizontal and vertical must be whole numbers, not {self.horizontal!r}, {self.vertical!r}"
            )
        if self.horizontal is not None and self.horizontal < 0:
            raise OptionError(f"horizontal must be 0 or more, or None, not {self.horizontal}")
        if self.vertical < 1:
            raise OptionError(f"vertical must be at least 1, not {self.vertical}")
        if self.unaries not in ("one", "collapse"):
            raise OptionError(
                f"unaries must be 'one' or 'collapse', not {self.unaries!r}",
                given=self.unaries,
                known=("one", "collapse"),
            )
        if self.branching not in ("head", "left", "right"):
            raise OptionError(
                f"branching must be 'head', 'left' or 'right', not {self.branching!r}",
                given=self.branching,
                known=("head", "left", "right"),
            )

    def binarise(self, tree: Tree) -> Tree:
        """The binary tree of a tree of plain labels."""
        chains: list[tuple[list[str], Tree, tuple[str, ...]]] = []  # parents before children
        stack: list[tuple[Tree, tuple[str, ...]]] = [(tree, ())]  # with the labels above, the nearest first
        remembered = self.vertical - 1
        while stack:
            node, above = stack.pop()
            chain = [node.label]
            while len(node.children) == 1:
                node = node.children[0]
                chain.append(node.label)
            chains.append((chain, node, above))
            if remembered:
                above = (*chain[: -remembered - 1 : -1], *above)[:remembered]
            stack += [(child, above) for child in reversed(node.children)]

        done: list[Tree] = []  # finished nodes without their parent, the leftmost last
        for chain, node, above in reversed(chains):
            n = len(node.children)
            children = done[: -n - 1 : -1] if n else []
            if n:
                del done[-n:]
            done.append(self._node(chain, node, children, above))
        return done[0]

    def restore(self, tree: Tree) -> Tree:
        """The original of a binary tree, whatever settings it was made with.

        Every tree of grammar labels has one: the children of a partial phrase go to the phrase above, and a partial
        phrase without one above becomes the phrase.

        Examples
        --------
        >>> print(Binarisation().restore(Tree.parse("(@NP|NN (NP+QP (CD two)) (@NP (NNS dogs) (NN x)))")))
        (NP (NP (QP (CD two))) (NNS dogs) (NN x))
        """
        phrases: list[tuple[Tree, int]] = []  # parents before children, with their number of children
        stack = [tree]
        while stack:
            node = stack.pop()
            children = _opened(node.children)
            phrases.append((node, len(children)))
            stack += reversed(children)

        done: list[Tree] = []  # finished nodes without their parent, the leftmost last
        for node, n in reversed(phrases):
            _, chain = label_parts(node.label)
            if n:
                restored = Tree(chain[-1], done[: -n - 1 : -1])
                del done[-n:]
            else:
                restored = Tree(chain[-1], word=node.word)
            for label in chain[-2::-1]:
                restored = Tree(label, [restored])
            done.append(restored)
        return done[0]

    def _node(self, chain: list[str], node: Tree, children: list[Tree], above: tuple[str, ...]) -> Tree:
        """The binary nodes of a phrase or tag, and of the unary chain above it."""
        outer = chain[:-1] if self.unaries == "one" else []
        inner = chain[len(outer) :]
        near = (*outer[::-1], *above)[: self.vertical - 1]
        if node.word is not None:
            inside = Tree(_joined(inner), word=node.word)
        elif len(children) == 2:
            inside = Tree(_joined(inner) + _annotation(near), children)
        else:
            inside = self._split(inner, node, children, near)
        return Tree(_joined(outer) + _annotation(above), [inside]) if outer else inside

    def _split(self, chain: list[str], node: Tree, children: list[Tree], above: tuple[str, ...]) -> Tree:
        """A phrase of three or more children, as binary nodes from its head outwards."""
        labels = [child.label for child in node.children]
        if self.branching == "head":
            head = self.heads.head_child(node.label, labels)
        else:
            head = 0 if self.branching == "left" else len(labels) - 1
        inner_above = (*chain[-2::-1], *above)[: self.vertical - 1]
        part = "@" + _escaped(node.label) + _annotation(inner_above)
        generated = [*range(head + 1, len(labels)), *range(head - 1, -1, -1)]
        names = [_escaped(labels[i]) for i in generated]
        built = children[head]
        for step, i in enumerate(generated, start=1):
            if step == len(generated):
                label = _joined(chain) + _annotation(above)
            else:
                first = 0 if self.horizontal is None else max(step - self.horizontal, 0)
                label = "|".join([part, *names[first:step][::-1]])
            built = Tree(label, [built, children[i]] if i > head else [children[i], built])
        return built


def to_phrase(label: str) -> str:
    """The plain label or labels of a grammar label.

    Examples
    --------
    >>> [to_phrase(label) for label in ("NP", "NP^S", "@NP^VP|PP", "S+VP^SBAR", r"PRT\\|ADVP")]
    ['NP', 'NP', 'NP', 'S+VP', 'PRT|ADVP']
    """
    return "+".join(label_parts(label)[1])


@lru_cache(maxsize=_CACHED)
def label_parts(label: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a grammar label is that of a part of a phrase, and its plain labels, the upper first.

    Examples
    --------
    >>> label_parts("@NP^VP|PP"), label_parts("S+VP^SBAR")
    ((True, ('NP',)), (False, ('S', 'VP')))
    """
    part = label.startswith("@")
    end = int(part) - 1
    chain: list[str] = []
    while not chain or label[end : end + 1] == "+":
        match = _PLAIN.match(label, end + 1)
        assert match is not None  # it matches the empty string
        chain.append("" if match[0] == _NOTHING else re.sub(r"\\(.)", r"\1", match[0], flags=re.DOTALL))
        end = match.end()
    return part, tuple(chain)


def _opened(children: tuple[Tree, ...]) -> tuple[Tree, ...] | list[Tree]:
    """Children, with partial phrases replaced by their children."""
    if not any(child.children and label_parts(child.label)[0] for child in children):
        return children
    opened: list[Tree] = []
    stack = list(reversed(children))
    while stack:
        node = stack.pop()
        if node.children and label_parts(node.label)[0]:
            stack += reversed(node.children)
        else:
            opened.append(node)
    return opened


@lru_cache(maxsize=_CACHED)
def _escaped(label: str) -> str:
    return _MARK.sub(r"\\\g<0>", label) if label else _NOTHING


def _joined(labels: list[str]) -> str:
    return "+".join([_escaped(label) for label in labels])


def _annotation(above: tuple[str, ...]) -> str:
    return "".join(["^" + _escaped(label) for label in above])
