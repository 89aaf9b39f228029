"""The head of a phrase: its head child and its head word (Magerman 1995; Collins 1999, appendix A)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, cast

from spinney.corpus.brackets import Tree
from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_lines
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError
from spinney.parsing.cleaning import plain_label

Side = Literal["left", "right"]

#: The tags of the Penn Treebank that are punctuation.
PUNCTUATION: Final = frozenset({"``", "''", ",", ".", ":", "-LRB-", "-RRB-"})

_ANY = "*"  # in a file, the phrases without a rule of their own
_SETS = ("conjunctions", "punctuation")
_NAME = re.compile(r"[^()\s]+")
_REMEDY = "the format is LABEL left|right A B (C D)"
_CACHED = 1 << 16


class HeadRule(NamedTuple):
    """Where to look for the head of a phrase.

    Attributes
    ----------
    label : str
        The phrase.
    start : ``"left"`` or ``"right"``
        Where the search begins.
    wanted : tuple of tuple of str
        Labels of children, best first; among labels in the same group, the first one found.
    """

    label: str
    start: Side
    wanted: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        groups = [group[0] if len(group) == 1 else f"({' '.join(group)})" for group in self.wanted]
        return " ".join([self.label, self.start, *groups])


@dataclass(frozen=True)
class HeadRules:
    """Rules that find the head among the children of a phrase.

    The rules of a phrase are tried in order. If no child has one of their labels, the head is the first child from
    where the last rule starts, ignoring punctuation. Then coordination is handled: a head directly after a conjunction
    is replaced by the child before that conjunction. Function tags and indices of labels are ignored.

    Parameters
    ----------
    rules
        The rules, those of one phrase in the order of trial.
    default
        Where the search starts in phrases without a rule.
    conjunctions
        The labels of conjunctions.
    punctuation
        The tags of punctuation, which is a head only if there is nothing else.

    Examples
    --------
    >>> COLLINS.head_child("NP", ["DT", "NN", "NN", "PP"])
    2
    >>> COLLINS.head_child("NP", ["NP", ",", "NP", "CC", "NP"])
    0
    >>> COLLINS.head_child("S", ["NP", ",", "ADVP", "VP", "."])
    3
    >>> HeadRules.rightmost().head_child("NP", ["DT", "NN", "PP"])
    2
    """

    rules: tuple[HeadRule, ...] = ()
    default: Side = "left"
    conjunctions: frozenset[str] = frozenset()
    punctuation: frozenset[str] = PUNCTUATION
    _found: dict[tuple[str, tuple[str, ...]], int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        phrases = [rule.label for rule in self.rules]
        children = [label for rule in self.rules for group in rule.wanted for label in group]
        for label in [*phrases, *children, *self.conjunctions, *self.punctuation]:
            if not _NAME.fullmatch(label):
                raise OptionError(
                    f"{label!r} cannot be used in head rules: it must not contain brackets or white space"
                )
        for label in phrases:
            if label == _ANY or label.startswith("#"):
                raise OptionError(f"a head rule for {label!r}, which has a special meaning in a file")
        for side in [self.default, *(rule.start for rule in self.rules)]:
            if side not in ("left", "right"):
                raise OptionError(f"a search must start at the left or at the right, not at {side!r}")

    @classmethod
    def leftmost(cls) -> HeadRules:
        """The first child, whatever the phrase; for a treebank without rules."""
        return cls(default="left")

    @classmethod
    def rightmost(cls) -> HeadRules:
        """The last child, whatever the phrase; for a treebank without rules."""
        return cls(default="right")

    @classmethod
    def read(cls, path: FilePath) -> HeadRules:
        """The rules of a file, one per line: ``LABEL left|right A B (C D)``.

        Labels in brackets have the same rank. Several lines for one label are tried in order. The label ``*`` says
        where the search starts in phrases without a line; ``* conjunctions CC`` and ``* punctuation , .`` name the
        labels of conjunctions (otherwise none) and the tags of punctuation (otherwise the Penn Treebank's). Blank
        lines and lines that begin with ``#`` are skipped.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "rules.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("# French\\nNP left (NC NPP) NP\\nNP right ADJ\\n* right\\n* conjunctions CC\\n")
        >>> rules = HeadRules.read(path)
        >>> rules.head_child("NP", ["NP", "NPP", "NC"]), rules.head_child("NP", ["ADJ", "PP"])
        (1, 0)
        """
        rules: list[HeadRule] = []
        default: Side = "left"
        sets: dict[str, frozenset[str]] = {}
        for number, line in read_lines(path):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                label, start, wanted = _parsed(line)
                if label != _ANY:
                    rules.append(HeadRule(label, start, wanted))
                elif start in _SETS:
                    sets[start] = frozenset(label for group in wanted for label in group)
                elif wanted:
                    raise InputError("the rule for all other phrases takes no labels")
                else:
                    default = start
            except InputError as error:
                raise InputError(error.what, path=os.fspath(path), line=number, remedy=_REMEDY) from None
        return cls(tuple(rules), default, **sets)

    def write(self, path: FilePath) -> None:
        """Write the rules as :meth:`read` reads them."""
        with writing(path) as file:
            for rule in self.rules:
                print(rule, file=file)
            print(_ANY, self.default, file=file)
            print(_ANY, "conjunctions", *sorted(self.conjunctions), file=file)
            print(_ANY, "punctuation", *sorted(self.punctuation), file=file)

    def head_child(self, label: str, children: Sequence[str]) -> int:
        """Which child is the head, from 0.

        Parameters
        ----------
        label
            The label of the phrase.
        children
            The labels of its children, one or more.
        """
        key = (label, tuple(children))
        found = self._found.get(key)
        if found is None:
            if not children:
                raise OptionError("a phrase without children has no head")
            if len(self._found) >= _CACHED:
                self._found.clear()
            found = self._found[key] = self._search(
                plain_label(label), [plain_label(child) for child in children]
            )
        return found

    def head_words(self, tree: Tree) -> list[int]:
        """The number of the head word of each node, in the order of ``tree.nodes()``; words count from 0.

        Examples
        --------
        >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
        >>> COLLINS.head_words(tree)
        [2, 1, 0, 1, 2, 2]
        """
        heads: list[int] = []
        pending: list[int] = []  # heads of finished nodes without their parent, the leftmost last
        nodes = list(tree.nodes())
        word = sum(node.word is not None for node in nodes)
        for node in reversed(nodes):
            if node.word is not None:
                word -= 1
                head = word
            else:
                n = len(node.children)
                child = 0 if n == 1 else self.head_child(node.label, [child.label for child in node.children])
                head = pending[-1 - child]
                del pending[-n:]
            pending.append(head)
            heads.append(head)
        heads.reverse()
        return heads

    def _search(self, label: str, children: list[str]) -> int:
        head = self._wanted(label, children)
        before = head - 2
        if before >= 0 and children[head - 1] in self.conjunctions:
            while before >= 0 and children[before] in self.punctuation:
                before -= 1
            if before >= 0:
                head = before
        return head

    def _wanted(self, label: str, children: list[str]) -> int:
        order = range(len(children)) if self.default == "left" else range(len(children) - 1, -1, -1)
        for rule in self.rules:
            if rule.label != label:
                continue
            order = range(len(children)) if rule.start == "left" else range(len(children) - 1, -1, -1)
            for group in rule.wanted:
                for i in order:
                    if children[i] in group:
                        return i
        return next((i for i in order if children[i] not in self.punctuation), order[0])


def _parsed(line: str) -> tuple[str, Side, tuple[tuple[str, ...], ...]]:
    label, start, wanted = [*line.split(maxsplit=2), "", ""][:3]
    if not _NAME.fullmatch(label):
        raise InputError(f"{label!r} where the label of a phrase is expected")
    allowed = ("left", "right", *_SETS) if label == _ANY else ("left", "right")
    if start not in allowed:
        raise InputError(f"{start!r} where left or right is expected")
    groups = re.findall(r"\(([^()]*)\)|([^()\s]+)|(.)", wanted)
    if any(stray.strip() for _, _, stray in groups):
        raise InputError("an unmatched bracket")
    found = [tuple(several.split()) or (one,) for several, one, stray in groups if not stray]
    if ("",) in found:
        raise InputError("brackets without a label")
    return label, cast(Side, start), tuple(found)


def _table(text: str) -> Iterable[HeadRule]:
    return (HeadRule(*_parsed(line)) for line in text.strip().splitlines())


# Collins (1999), table A.1, and his rules for NP, which also serve NX. An NP that ends in a possessive marker needs
# no rule of its own: the search from the right finds it first.
_COLLINS = """
ADJP left NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP right CC RB IN
FRAG right
INTJ left
LST right LS :
NAC left NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NP right (NN NNP NNPS NNS NX POS JJR)
NP left NP
NP right ($ ADJP PRN) CD (JJ JJS RB QP)
NX right (NN NNP NNPS NNS NX POS JJR)
NX left NP
NX right ($ ADJP PRN) CD (JJ JJS RB QP)
PP right IN TO VBG VBN RP FW
PRN left
PRT right RP
QP left $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC right VP NP ADVP ADJP PP
S left TO IN VP S SBAR ADJP UCP NP
SBAR left WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ left SQ S SINV SBARQ FRAG
SINV left VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ left VBZ VBD VBP VB MD VP SQ
UCP right
VP left TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP left CC WRB JJ ADJP
WHADVP right CC WRB
WHNP left WDT WP WP$ WHADJP WHPP WHNP
WHPP right IN TO FW
"""

#: Collins' rules for the Penn Treebank.
COLLINS: Final = HeadRules(tuple(_table(_COLLINS)), "right", frozenset({"CC", "CONJP"}))


def head_rules(rules: FilePath | HeadRules | None) -> HeadRules:
    """The rules of a file, or Collins' if there is none.

    Examples
    --------
    >>> head_rules(None) is COLLINS
    True
    """
    if isinstance(rules, HeadRules):
        return rules
    return COLLINS if rules is None else HeadRules.read(rules)
