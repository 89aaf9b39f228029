"""The features of a tree CRF, as a readable file of templates.

A line is a kind of part and what is seen of it, joined into one feature::

    arc: h.upos m.upos distance            # an arc from a head h to a modifier m
    label: h.upos m.form direction         # the same, with the relation
    sibling: h.upos s.upos m.upos          # m, and the modifier s of the same head before it, nearer to the head
    prune: h.upos m.upos distance          # of the first, rough model, which leaves few arcs for the others

``h``, ``m`` and ``s`` are words, ``h+1`` and ``m-1`` their neighbours; after the dot comes a column of
:data:`COLUMNS` or a prefix of a word class (``h.brown:4``; ``h.brown`` is the whole path). ``direction`` is the
side on which the modifier stands, ``distance`` the direction and how far, ``gap`` how far a modifier is from its
sibling. What has several values makes a feature of each: ``between.upos`` (the tags between the two words),
``h.feat`` (each attribute of the head), ``agreement`` (each attribute that both words have, with its two values).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from spinney.errors import InputError, did_you_mean, listed

#: What a template can look at in a word.
COLUMNS: Final = (
    "form", "lower", "lemma", "upos", "xpos", "feats", "suffix2", "suffix3", "prefix3", "shape",
)  # fmt: skip
KINDS: Final = ("prune", "arc", "label", "sibling")
_SUCH = "write a kind, a colon and what is seen: arc: h.upos m.upos"
ROLES: Final = ("h", "m", "s")

#: Atoms without a word: their codes in the kernels.
DIRECTION, DISTANCE, GAP, BETWEEN, FEAT, AGREEMENT, WORD = range(7)
_BARE: Final = {"direction": DIRECTION, "distance": DISTANCE, "gap": GAP, "agreement": AGREEMENT}
_SEVERAL: Final = (BETWEEN, FEAT, AGREEMENT)
#: What word classes may be called, so that templates can name them.
CLASS_NAME: Final = re.compile(r"[A-Za-z][\w-]*")
_COLUMN = rf"({CLASS_NAME.pattern}(?::[1-9]\d*)?)"
_WORD = re.compile(rf"([hms])([+-][1-9])?\.{_COLUMN}")
_BETWEEN = re.compile(rf"between\.{_COLUMN}")


class Atom(NamedTuple):
    """One thing that a template looks at: a code, and for words the role, the offset and the column."""

    code: int
    role: int = 0
    offset: int = 0
    column: str = ""

    @property
    def several(self) -> bool:
        """Whether it has several values, each of which makes a feature."""
        return self.code in _SEVERAL


@dataclass(frozen=True)
class Template:
    """A kind of part, and what is seen of it."""

    kind: str
    atoms: tuple[Atom, ...]
    text: str


def read_templates(text: str, path: str | None = None, classes: Sequence[str] = ()) -> list[Template]:
    """The templates of a text, each line of which is one; ``#`` begins a comment.

    Examples
    --------
    >>> template, *_ = read_templates("arc: h.upos m-1.form  distance  # three atoms\\nlabel: m.upos\\nprune: m.upos")
    >>> template.kind, template.text, [atom.column for atom in template.atoms]
    ('arc', 'h.upos m-1.form distance', ['upos', 'form', ''])
    """
    templates: list[Template] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if content := line.partition("#")[0].strip():
            try:
                template = _template(content, classes)
                if template in templates:
                    raise InputError(f"{content!r} is there twice", remedy="leave one of them out")
            except InputError as error:
                raise InputError(error.what, path=path, line=number, remedy=error.remedy) from None
            templates.append(template)
    for kind in ("prune", "arc", "label"):
        if not any(template.kind == kind for template in templates):
            raise InputError(
                f"no template of the kind {kind}",
                path=path,
                remedy=f"add a line such as {kind}: h.upos m.upos",
            )
    return templates


def _template(line: str, classes: Sequence[str]) -> Template:
    kind, colon, rest = line.partition(":")
    kind = kind.strip()
    if not colon or kind not in KINDS:
        raise InputError(
            f"{line!r} does not begin with {listed([f'{kind}:' for kind in KINDS], 'or')}", remedy=_SUCH
        )
    atoms = tuple(_atom(word, kind, classes) for word in rest.split())
    if not atoms:
        raise InputError("a template without anything to look at", remedy=_SUCH)
    if sum(atom.several for atom in atoms) > 1:
        raise InputError(
            "only one of between, feat and agreement can stand in a template",
            remedy="write a line for each of them",
        )
    if len(set(atoms)) < len(atoms):
        raise InputError("a template names the same thing twice", remedy="name it once")
    return Template(kind, atoms, " ".join(rest.split()))


def _atom(word: str, kind: str, classes: Sequence[str]) -> Atom:
    if word in _BARE:
        if word == "gap" and kind != "sibling":
            raise InputError("gap is for siblings only", remedy="for arcs, write distance")
        return Atom(_BARE[word])
    if match := _BETWEEN.fullmatch(word):
        return Atom(BETWEEN, column=_column(match[1], classes))
    if not (match := _WORD.fullmatch(word)):
        raise InputError(
            f"{word!r} is nothing that a template can look at",
            remedy="write a word with a column (h.upos, m-1.form), direction, distance, gap, between.upos or agreement",
        )
    role = ROLES.index(match[1])
    if match[1] == "s" and kind != "sibling":
        raise InputError(
            f"{word!r}: there is a sibling (s) in templates of that kind only", remedy="begin with sibling:"
        )
    if match[3] == "feat":
        if match[2]:
            raise InputError(
                f"{word!r}: feat is for h, m and s themselves, not for their neighbours", remedy="use feats"
            )
        return Atom(FEAT, role)
    return Atom(WORD, role, int(match[2] or 0), _column(match[3], classes))


def _column(name: str, classes: Sequence[str]) -> str:
    if name not in COLUMNS and name.partition(":")[0] not in classes:
        known = [*COLUMNS, *classes]
        meant = did_you_mean(name, known) or f"there are {listed(known, 'and')}"
        raise InputError(f"no column {name!r}", remedy=meant)
    return name


_PRUNE = """
h.upos m.upos distance
h.upos direction
m.upos distance
h.upos m.lower direction
h.lower m.upos direction
h.lower m.lower
h.xpos m.xpos direction
h.upos m.upos m-1.upos m+1.upos
h.upos m.upos h-1.upos h+1.upos
h.upos h+1.upos m-1.upos m.upos direction
h.feats m.feats direction
h.upos m.feats direction
h.suffix3 m.upos direction
between.upos h.upos m.upos
"""

_ARC = """
h.lower direction
h.lower h.upos direction
h.upos distance
m.lower direction
m.lower m.upos distance
m.upos distance
h.lower h.upos m.lower m.upos direction
h.lower m.lower
h.upos m.lower distance
h.lower m.upos distance
h.lower m.lower m.upos
h.lower h.upos m.upos direction
h.upos m.lower m.upos direction
h.upos m.upos distance
h.upos m.upos direction
h.lemma m.lemma direction
h.lemma m.upos direction
h.upos m.lemma direction
h.xpos m.xpos distance
h.xpos m.upos direction
h.upos m.xpos direction
h.upos h+1.upos m-1.upos m.upos direction
h-1.upos h.upos m-1.upos m.upos direction
h.upos h+1.upos m.upos m+1.upos direction
h-1.upos h.upos m.upos m+1.upos direction
h.upos m-1.upos m.upos direction
h.upos m.upos m+1.upos direction
h-1.upos h.upos m.upos direction
h.upos h+1.upos m.upos direction
h.upos m-1.lower m.upos direction
h.lower m-1.lower m.upos
h.upos m.upos m+1.lower direction
h.upos h-1.lower m.upos direction
m-1.upos m.upos m+1.upos distance
h.upos m-2.upos m-1.upos m.upos
h.upos m.upos m+1.upos m+2.upos
between.upos h.upos m.upos direction
between.upos m.lower
h.upos m.feat direction
h.feat m.upos direction
h.lower m.feat
h.feat m.lower
agreement h.upos m.upos
h.feats m.feats direction
h.feats m.upos distance
h.upos m.feats distance
h.suffix3 m.upos direction
h.upos m.suffix3 direction
h.suffix3 m.suffix3
h.suffix2 m.suffix2 direction
h.lower m.lower distance
h.upos m+1.lower m.upos
h+1.lower h.upos m.upos direction
h.lemma m-1.lower m.upos
h.upos m-1.lower m.lower
h.upos m.lower m+1.lower
between.lower h.upos m.upos
m-1.lower m.lower direction
h.upos m-1.xpos m.xpos m+1.xpos direction
h.xpos m-1.xpos m.xpos direction
h.xpos m.xpos m+1.xpos direction
h.prefix3 m.upos direction
h.shape m.shape distance
h.suffix3 m.suffix2 direction
"""

_LABEL = """
direction
h.upos m.upos direction
h.upos m.upos distance
m.lower
m.lower m.upos direction
h.lower m.upos direction
h.upos m.lower direction
h.lower m.lower
h.lemma m.lemma
m.lemma h.upos
h.lemma m.upos
h.xpos m.xpos direction
m.xpos direction
m-1.upos m.upos h.upos
m.upos m+1.upos h.upos
m-1.lower m.upos h.upos
m.upos m+1.lower h.upos
m-1.lower m.upos
m-1.upos m.upos m+1.upos direction
m.feats direction
m.feats h.upos direction
m.feat h.upos direction
m.feats h.feats
m.feats h.lower
agreement m.upos h.upos
m.suffix3 direction
m.suffix2 h.upos
m.suffix3 m.upos h.upos
m.prefix3 m.upos
m-2.upos m-1.upos m.upos
between.upos m.upos h.upos
h.upos m.upos m+1.upos m-1.upos
h-1.upos h.upos m.upos
h.upos h+1.upos m.upos
h.upos m+1.lower m.lower
h.suffix3 m.upos direction
h.lower m.upos m-1.lower
m.shape m.upos h.upos
m-1.xpos m.xpos m+1.xpos
h.lemma m.upos m-1.upos direction
"""

_SIBLING = """
h.upos s.upos m.upos direction
s.upos m.upos direction
s.lower m.lower
s.lower m.upos direction
s.upos m.lower direction
h.lower s.upos m.upos
h.upos s.lower m.upos
h.upos s.upos m.lower
h.upos s.upos m.upos gap
h.upos s.xpos m.xpos
h.upos s.feats m.feats direction
h.feats s.upos m.upos
s.feats m.feats
h.lower s.lower m.lower
h.upos s.upos m.upos s.lower
h.lemma s.upos m.upos
h.upos s.lemma m.lemma
h.xpos s.xpos m.xpos direction
h.upos s.upos m.upos m-1.upos
h.upos s.upos m.upos m+1.upos
"""

# What long treebanks can teach besides, at the price of time and room.
_RICH = """
arc: h-1.upos h.upos h+1.upos m.upos direction
arc: h.upos h+1.upos h+2.upos m.upos direction
arc: h-2.upos h-1.upos h.upos m.upos direction
arc: h.lower h+1.upos m.upos direction
arc: h.lower m.upos m+1.upos direction
arc: h.lower m-1.upos m.upos direction
arc: h.upos m.lower m+1.upos direction
arc: h.upos m-1.upos m.lower direction
arc: h.xpos h+1.xpos m-1.xpos m.xpos direction
arc: h-1.lower h.upos m-1.lower m.upos
arc: h.lemma m.lemma distance
arc: between.upos h.upos m.upos distance
arc: between.lower h.lower
label: m-1.lower m.lower
label: m.lower m+1.lower
label: between.lower m.upos h.upos
label: h.lower m-1.upos m.upos direction
label: m.upos m+1.upos m+2.upos
label: h.xpos m-1.xpos m.xpos
label: h.upos m.upos m-1.lower direction
label: h.lower m.lower direction
sibling: s.upos m.upos gap
sibling: h.upos s.upos m.upos distance
sibling: h.upos s.upos s+1.upos m.upos
sibling: h.lower s.lower m.upos
sibling: h.lower s.upos m.lower
sibling: h.upos s.upos m.upos s-1.upos
sibling: h.lower s.upos m.upos gap
"""

_CLASSES = """
arc: h.{c}:4 m.{c}:4 distance
arc: h.{c}:6 m.{c}:6 direction
arc: h.{c} m.{c} direction
arc: h.upos m.{c}:6 direction
arc: h.{c}:6 m.upos direction
arc: h.upos m.{c} direction
arc: h.{c} m.upos direction
arc: h.lower m.{c}:6
arc: h.{c}:6 m.lower
label: m.{c}:4 direction
label: m.{c}:6 h.upos direction
label: m.{c} h.upos direction
label: h.{c}:6 m.upos direction
label: h.{c}:4 m.{c}:4 direction
label: h.{c}:6 m.{c}:6
label: m-1.{c}:6 m.upos
sibling: h.{c}:4 s.{c}:4 m.{c}:4 direction
sibling: s.{c}:6 m.{c}:6 direction
"""


def default_templates(classes: Sequence[str] = (), order: int = 2, rich: bool = False) -> str:
    """The text of the built-in templates, with those of word classes by these names; ``rich`` has more of them.

    Examples
    --------
    >>> text = default_templates(["brown"], order=1)
    >>> "arc: h.brown:4 m.brown:4 distance" in text, "sibling:" in text
    (True, False)
    """
    sets: Mapping[str, str] = {"prune": _PRUNE, "arc": _ARC, "label": _LABEL, "sibling": _SIBLING}
    lines = [f"{kind}: {line}" for kind, some in sets.items() for line in some.split("\n") if line]
    lines += [line for line in _RICH.split("\n") if line and rich]
    lines += [line.format(c=name) for name in classes for line in _CLASSES.split("\n") if line]
    return "\n".join(line for line in lines if order == 2 or not line.startswith("sibling:")) + "\n"
