"""Views: what a person sees of a model or a result, independently of where it is shown.

A command, a report and a notebook show the same views: a terminal by :mod:`spinney.report.terminal`, a page and a
notebook by :mod:`spinney.report.html`, and JSON by :func:`as_json`. A view holds plain values; it knows its ``key`` in
JSON (an empty one: for people only) and its ``title`` (an empty one: none), and nothing about how it is drawn.

- values: :class:`Facts`, :class:`Table`, :class:`Lines`, :class:`Note`, :class:`Extra` (for JSON alone);
- numbers as pictures: :class:`Bars`, :class:`Series`, :class:`HeatMap`, :class:`WordMap`;
- trees: :class:`Outline`, :class:`PhraseTree`, :class:`Arcs`;
- text: :class:`MarkedText`, :class:`ScoredLines`, :class:`Tokens`, :class:`Explorer`;
- other views together: :class:`Section`, :class:`Columns`, :class:`Folded`; a list of views is :class:`Views`;
- cells of a table, besides plain values: :class:`Share`, :class:`Spark`, :class:`MarkedText`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from spinney.importing import imported


@dataclass(frozen=True)
class View:
    """Something to show; with an empty ``key`` it is for people only."""

    key: str
    title: str

    def data(self) -> Any:
        """The view as JSON has it."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:
        """Draw the view with Matplotlib (extra ``plots``); see :func:`spinney.report.figures.plot`."""
        return imported("spinney.report.figures:plot")(self, ax)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html([self])


class Views(list[View]):
    """A list of views, which a notebook shows one below the other.

    Examples
    --------
    >>> shown = Views([Facts("facts", "Fit", {"active": 3})])
    >>> shown[0].title, "<h3>Fit</h3>" in shown._repr_html_()
    ('Fit', True)
    """

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self)


def notebook_html(views: Iterable[View]) -> str:
    """Views as HTML for a notebook; see :func:`spinney.report.notebook.html`."""
    html: str = imported("spinney.report.notebook:html")(views)
    return html


# --------------------------------------------------------------------------------------------- values


class Share(float):
    """A part of a whole, which people read in per cent."""

    __slots__ = ()


#: Facts that people see only if something happened, and those that are shares.
_EVENTS = ("skipped", "long", "joined", "revived", "dropped", "interrupted")
_SHARES = ("unknown_share", "nonzero_share", "clipped")


@dataclass(frozen=True)
class Facts(View):
    """Named values; people see only those in ``names``, under the labels given there.

    In JSON, those with the key ``facts`` stand at the top level, others below their key.

    Examples
    --------
    >>> Facts("facts", "Fit", {"active": 3, "lam": 0.5}, {"lam": "λ"}).shown()
    {'λ': 0.5}
    """

    values: Mapping[str, Any]
    names: Mapping[str, str] | None = None

    def data(self) -> dict[str, Any]:
        return dict(self.values)

    def shown(self) -> dict[str, Any]:
        """What people see: plain values by the names for people, in their order."""
        names = {key: key.replace("_", " ") for key in self.values} if self.names is None else self.names
        found = {key: self.values.get(key) for key in names}
        return {
            names[key]: _for_people(key, value)
            for key, value in found.items()
            if isinstance(value, int | float | str) and not (key in _EVENTS and not value)
        }


def _for_people(key: str, value: Any) -> Any:
    if key in _SHARES and not isinstance(value, str):
        return Share(value)
    return round(value) if key.endswith("_per_second") and isinstance(value, float) else value


_DEEP, _LONG = 3, 300  # how deep facts may lie in others and still be shown, and how many characters of one


def flat_facts(header: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, object]]:
    """Facts, including nested facts, by name; long values are truncated.

    Examples
    --------
    >>> list(flat_facts({"lam": 0.5, "reading": {"lowercase": True}}))
    [('lam', 0.5), ('reading · lowercase', True)]
    """
    for name, value in header.items():
        called = before + name.replace("_", " ")
        if isinstance(value, dict) and depth < _DEEP:
            yield from flat_facts(value, f"{called} · ", depth + 1)
        elif isinstance(value, list):
            plain = [_cut(item, 24) for item in value[:8] if not isinstance(item, list | dict)]
            yield called, ", ".join([*plain, *(["…"] if len(plain) < len(value) else [])])
        elif isinstance(value, dict):
            yield called, "…"
        else:
            yield called, _cut(value, _LONG) if isinstance(value, str) else value


def _cut(value: object, n: int) -> str:
    text = str(value)
    return text if len(text) <= n else text[: n - 1] + "…"


@dataclass(frozen=True)
class Table(View):
    """Rows of values below a header; ``keys`` are the names of the columns in JSON, where they differ from it.

    A cell is a plain value, a :class:`Share`, a :class:`Spark` or a :class:`MarkedText`.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    keys: Sequence[str] | None = None
    note: str = ""

    def data(self) -> list[dict[str, Any]]:
        keys = self.header if self.keys is None else self.keys
        return [dict(zip(keys, row)) for row in self.rows]


@dataclass(frozen=True)
class Lines(View):
    """Lines of text; ``values`` is what JSON has in their place."""

    lines: Sequence[str]
    values: Any = field(default=None)

    def data(self) -> Any:
        return list(self.lines) if self.values is None else self.values


@dataclass(frozen=True)
class Extra(View):
    """A value for JSON alone: people see it elsewhere, or not at all."""

    value: Any = None

    def data(self) -> Any:
        return self.value


@dataclass(frozen=True)
class Note(View):
    """A paragraph for people, which JSON does not have.

    Examples
    --------
    >>> Note("The best score is somewhat too good.").text
    'The best score is somewhat too good.'
    """

    key: str = field(default="", init=False)
    title: str = field(default="", init=False)
    text: str
    faint: bool = field(default=False, kw_only=True)

    def data(self) -> str:
        return self.text


def summed_rows(parts: Sequence[tuple[str, float]], top: int) -> list[list[Any]]:
    """The first ``top`` parts of a sum, what the others come to, and the sum: rows of a table.

    Examples
    --------
    >>> summed_rows([("fun", 2.0), ("dull", -1.0), ("film", 0.5)], 1)
    [['fun', 2.0], ['(2 more)', -0.5], ['sum', 1.5]]
    """
    rows: list[list[Any]] = [[name, value] for name, value in parts[:top]]
    if len(parts) > top:
        rows.append([f"({len(parts) - top:,} more)", sum(value for _, value in parts[top:])])
    return [*rows, ["sum", sum(value for _, value in parts)]]


# ------------------------------------------------------------------------------------ numbers as pictures


@dataclass(frozen=True)
class Bars(View):
    """Names with numbers, and a bar for each; ``colours`` is a number of a colour for all bars, or for each its own.

    Examples
    --------
    >>> Bars("words", "Words", [("fun", 0.5), ("dull", -0.25)], colours=[0, 1]).data()
    {'fun': 0.5, 'dull': -0.25}
    """

    rows: Sequence[tuple[str, float]]
    colours: int | Sequence[int] = 0

    def data(self) -> dict[str, float]:
        return dict(self.rows)


@dataclass(frozen=True)
class Series(View):
    """Numbers over common places, such as years or values of λ; a number that is not finite is a gap.

    Examples
    --------
    >>> Series("series", "Strongest series", {"oil": [0.5, 1.5]}, ["1996", "1997"]).data()
    {'at': ['1996', '1997'], 'lines': {'oil': [0.5, 1.5]}}
    """

    lines: Mapping[str, Sequence[float]]
    at: Sequence[str]
    caption: str = ""

    def data(self) -> dict[str, Any]:
        return {"at": list(self.at), "lines": {name: list(values) for name, values in self.lines.items()}}


@dataclass(frozen=True)
class Spark:
    """A series as a small line in a table cell."""

    values: Sequence[float]

    def data(self) -> list[float]:
        """The numbers."""
        return list(self.values)


@dataclass(frozen=True)
class HeatMap(View):
    """A matrix of numbers with named rows and columns.

    ``shades`` lie between 0 and 1; by default they are the numbers as shares of the largest.

    Examples
    --------
    >>> HeatMap("confusions", "Confusions", [[3, 1]], rows=["true"], columns=["a", "b"]).data()
    {'rows': ['true'], 'columns': ['a', 'b'], 'values': [[3, 1]]}
    """

    values: Sequence[Sequence[float]]
    rows: Sequence[str]
    columns: Sequence[str]
    shades: Sequence[Sequence[float]] | None = None
    caption: str = ""

    def data(self) -> dict[str, Any]:
        values = [list(row) for row in self.values]
        return {"rows": list(self.rows), "columns": list(self.columns), "values": values}


@dataclass(frozen=True)
class Point:
    """A word on a map: its place (from 0 to 1), the colour of its group, what is known of it, and its neighbours."""

    word: str
    x: float
    y: float
    group: int = 0
    note: str = ""
    near: Sequence[tuple[str, float]] = field(default=())


@dataclass(frozen=True)
class WordMap(View):
    """Words in the plane, with their neighbours; :func:`spinney.structure.maps.map_points` places them.

    Examples
    --------
    >>> WordMap("map", "Map of words", [Point("tea", 0, 0.5, near=[("coffee", 0.9)])]).data()
    [{'word': 'tea', 'x': 0, 'y': 0.5, 'group': 0, 'note': '', 'near': [('coffee', 0.9)]}]
    """

    points: Sequence[Point]
    caption: str = ""

    def data(self) -> list[dict[str, Any]]:
        return [vars(point) for point in self.points]


# ---------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True)
class Node:
    """A leaf, or a branch with others below it; ``size`` is its number of leaves, ``examples`` names some of these."""

    name: str
    note: str = ""
    children: Sequence[Node] = ()
    size: int = 1
    examples: Sequence[str] = ()


_TOLD = 6  # leaves that say what is in a branch


def grown(parent: Sequence[int], nodes: Sequence[Node], order: Iterable[int]) -> list[Node]:
    """The trees of a forest, from the parent of each node (-1 for a root); siblings stand in the given order.

    ``nodes`` are the first nodes, as they would be without children; the others have no names.

    Examples
    --------
    >>> root = grown([3, 3, 4, 4, -1], [Node("cat"), Node("dog"), Node("oak")], range(5))[0]
    >>> root.size, root.examples, [node.name for node in root.children], root.children[1].children[0].name
    (3, ('oak', 'cat', 'dog'), ['oak', ''], 'cat')
    """
    below: dict[int, list[int]] = {}
    for node in order:
        below.setdefault(parent[node], []).append(node)
    made: dict[int, Node] = {}
    todo = list(below.get(-1, []))
    while todo:
        node = todo[-1]
        missing = [child for child in below.get(node, []) if child not in made]
        if missing:
            todo += missing
            continue
        todo.pop()
        children = [made[child] for child in below.get(node, [])]
        bare = nodes[node] if node < len(nodes) else Node("")
        made[node] = (
            branch(bare, children) if children else replace(bare, examples=bare.examples or (bare.name,))
        )
    return [made[node] for node in below.get(-1, [])]


def branch(bare: Node, children: Sequence[Node]) -> Node:
    """A node with others below it, described by some of their leaves from left to right."""
    names = [name for child in children for name in child.examples]
    n = min(len(names), _TOLD)
    examples = tuple(names[i * len(names) // n] for i in range(n))
    return replace(bare, children=children, size=sum(child.size for child in children), examples=examples)


@dataclass(frozen=True)
class Outline(View):
    """Trees whose branches fold, made by :func:`grown`; ``leaves`` is what their leaves are called.

    Examples
    --------
    >>> Outline("tree", "Tree", grown([2, 2, -1], [Node("cat"), Node("dog")], range(3))).data()
    [{'name': '', 'note': '', 'children': [{'name': 'cat', 'note': ''}, {'name': 'dog', 'note': ''}]}]
    """

    roots: Sequence[Node]
    leaves: str = "leaves"

    def data(self) -> list[dict[str, Any]]:
        found: dict[str, Any] = {"children": []}
        todo = [(root, found) for root in reversed(self.roots)]
        while todo:  # trees may be deeper than Python's stack
            node, above = todo.pop()
            made = {"name": node.name, "note": node.note}
            above.setdefault("children", []).append(made)
            todo += [(child, made) for child in reversed(node.children)]
        children: list[dict[str, Any]] = found["children"]
        return children


@dataclass(frozen=True)
class PhraseTree(View):
    """The tree of a sentence in brackets; ``marked`` are nodes, parents first, of which ``note`` is true.

    Examples
    --------
    >>> PhraseTree("tree", "", "(S (NN dogs) (VB bark))", marked=[False, True, False], note="wrong").data()
    '(S (NN dogs) (VB bark))'
    """

    tree: str
    marked: Sequence[bool] = ()
    note: str = "wrong"

    def data(self) -> str:
        return self.tree


@dataclass(frozen=True)
class Arcs(View):
    """The dependencies of a sentence: the heads of its words, which count from 1 (0: the root).

    Without tags, give none. Where ``gold`` has the right heads, wrong arcs are set off from them.

    Examples
    --------
    >>> Arcs("tree", "", ["dogs", "bark"], ["NN", "VB"], [2, 0]).data()
    {'words': ['dogs', 'bark'], 'tags': ['NN', 'VB'], 'heads': [2, 0]}
    """

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    gold: Sequence[int] | None = None

    def data(self) -> dict[str, Any]:
        found = {"words": list(self.words), "tags": list(self.tags), "heads": list(self.heads)}
        return found if self.gold is None else found | {"gold": list(self.gold)}


# ----------------------------------------------------------------------------------------------- text


class Mark(NamedTuple):
    """A span of text to mark: its colour, how strongly (1 to 3), whether it is negative evidence, and a note."""

    start: int
    stop: int
    colour: int = 0
    strength: int = 1
    against: bool = False
    note: str = ""


@dataclass(frozen=True)
class MarkedText(View):
    """Text with marked spans; a span that begins inside another is left out. It may also be a table cell.

    Examples
    --------
    >>> MarkedText("", "", "great fun", [Mark(6, 9, note="+2")]).data()
    'great fun'
    """

    text: str
    marks: Sequence[Mark] = ()

    def data(self) -> str:
        return self.text


@dataclass(frozen=True)
class ScoredLines(View):
    """Sentences with a signed number for each; None shows no number.

    ``colours`` are those of positive and of negative numbers.

    Examples
    --------
    >>> ScoredLines("sentences", "", [("Great fun.", 0.5), ("All in all.", None)]).data()
    [{'text': 'Great fun.', 'score': 0.5}, {'text': 'All in all.', 'score': None}]
    """

    lines: Sequence[tuple[str | MarkedText, float | None]]
    colours: tuple[int, int] = (0, 1)

    def data(self) -> list[dict[str, Any]]:
        return [{"text": text, "score": score} for text, score in self.lines]


@dataclass(frozen=True)
class Token:
    """A word of a sentence with what stands below it, or a shade behind it (0 to 4).

    A token without a colour or shade is faint, and so is a shaded one that is ``faint``. An ``unsure`` one is set off;
    where ``right`` is another label, the token is wrong and has both.
    """

    word: str
    label: str = ""
    colour: int | None = None
    note: str = ""
    unsure: bool = False
    right: str = ""
    shade: int | None = None
    faint: bool = False


@dataclass(frozen=True)
class Tokens(View):
    """A sentence, word by word, with labels below or shades behind its words; the title stands before it.

    Examples
    --------
    >>> Tokens("", "1", [Token("the", "DT", 0), Token("dog", "VB", 1, right="NN")], more=7).data()
    [{'word': 'the', 'label': 'DT'}, {'word': 'dog', 'label': 'VB', 'right': 'NN'}]
    """

    tokens: Sequence[Token]
    more: int = 0  # tokens that are not shown

    def data(self) -> list[dict[str, Any]]:
        names = ("word", "label", "right", "shade")
        every_one = [{name: vars(token)[name] for name in names} for token in self.tokens]
        return [{name: value for name, value in one.items() if value not in ("", None)} for one in every_one]


@dataclass(frozen=True)
class Explorer(View):
    """Contexts of a language model with what comes next, to type into.

    ``words`` are those that occur. Each of ``contexts`` is the numbers of its words, the numbers of some likely next
    words, and for each of these its probabilities after none of the context's words, the last one, … and all.

    Examples
    --------
    >>> Explorer("", "", ["rose"], [[[], [0], [[0.5]]]]).data()["words"]
    ['rose']
    """

    words: Sequence[str]
    contexts: Sequence[Sequence[Any]]
    lowercase: bool = False

    def data(self) -> dict[str, Any]:
        return {"words": self.words, "contexts": self.contexts, "lowercase": self.lowercase}


# ---------------------------------------------------------------------------------- other views together


@dataclass(frozen=True)
class _Together(View):
    """Several views; JSON has each of them by its own key."""

    key: str = field(default="", init=False)
    title: str
    views: Sequence[View]

    def data(self) -> dict[str, Any]:
        return as_json(self.views)


@dataclass(frozen=True)
class Section(_Together):
    """A part of a page, under a heading that the contents of the page list.

    Examples
    --------
    >>> as_json([Section("Words", [Note("All of them."), Bars("words", "", [("fun", 0.5)])])])
    {'words': {'fun': 0.5}}
    """


@dataclass(frozen=True)
class Folded(_Together):
    """Views that a page shows when their title is clicked; a terminal leaves them out."""


@dataclass(frozen=True)
class Columns(_Together):
    """Views side by side where there is room: ``Columns([one, another])``."""

    title: str = field(default="", init=False)


# ----------------------------------------------------------------------------------------------- JSON


def every(views: Iterable[View]) -> Iterator[View]:
    """All views; a view that contains others is replaced by its contents.

    Examples
    --------
    >>> [view.title for view in every([Section("Words", [Bars("", "One", []), Bars("", "Other", [])])])]
    ['One', 'Other']
    """
    for view in views:
        if isinstance(view, _Together):
            yield from every(view.views)
        else:
            yield view


def as_json(views: Iterable[View]) -> dict[str, Any]:
    """All views as one JSON object; a number that is not finite becomes null, because JSON cannot express it.

    Examples
    --------
    >>> as_json([Facts("facts", "Fit", {"active": 3}), Table("words", "Words", ["word", "p"], [["a", math.inf]])])
    {'active': 3, 'words': [{'word': 'a', 'p': None}]}
    """
    found: dict[str, Any] = {}
    for view in every(views):
        if isinstance(view, Facts) and view.key == "facts":
            found |= view.data()
        elif view.key:
            found[view.key] = view.data()
    cleaned: dict[str, Any] = finite(found)
    return cleaned


def finite(value: Any) -> Any:
    """A value of plain Python types, without NumPy's, and with None for numbers that are not finite."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, View | Spark):
        return finite(value.data())
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return finite(value._asdict())
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
