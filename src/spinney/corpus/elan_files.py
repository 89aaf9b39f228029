"""ELAN's annotation files (``.eaf``): tiers of annotations, in time or below one another.

An annotation is aligned with the recording by two time slots, or refers to an annotation of the tier above its own.
Nothing of the XML but that is looked at; a document type, which could define entities, is refused.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from xml.etree.ElementTree import ParseError, XMLParser

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_blocks
from spinney.errors import InputError, did_you_mean

_SAVE = "open the file in ELAN and save it again"
_DEEPEST = 50  # tiers below one another
_SHOWN = 12  # tiers that a message names


@dataclass(slots=True, eq=False)
class Annotation:
    """An annotation: its text, and its slots in time or the annotation above it and the one before it."""

    id: str
    tier: str
    value: str = ""
    slots: tuple[str, str] | None = None
    above: str | None = None
    before: str | None = None

    def __str__(self) -> str:
        return f"the annotation {self.id} ({self.value[:40]!r}, tier {self.tier})"


@dataclass(slots=True, eq=False)
class Tier:
    """A tier: its type, the name of the tier above it, who speaks, and its annotations in the order of the file."""

    name: str
    type: str = ""
    above: str | None = None
    speaker: str = ""
    annotations: list[Annotation] = field(default_factory=list)


class ElanFile:
    """The tiers of a file, by name.

    Attributes
    ----------
    tiers : dict of str to Tier
        In the order of the file.
    """

    def __init__(self, path: FilePath, tiers: dict[str, Tier], times: dict[str, float]) -> None:
        self.path, self.tiers, self._times = os.fspath(path), tiers, times
        self._by_id = {one.id: one for tier in tiers.values() for one in tier.annotations}
        self._in_time: dict[str, tuple[list[float], list[Annotation]]] = {}

    @classmethod
    def read(cls, path: FilePath, encoding: str = "utf-8") -> ElanFile:
        """The tiers of a file; what is not ELAN's XML is an error."""
        collector = _Collector(os.fspath(path))
        parser = XMLParser(target=collector, encoding="utf-8")
        try:
            for block in read_blocks(path, encoding, exact=True):
                parser.feed(block.decode().encode())
            parser.close()
        except ParseError as error:
            line, _ = error.position
            what = str(error).partition(": line")[0]
            raise InputError(
                f"not XML: {what}", path=collector.path, line=max(line, 1), remedy=_SAVE
            ) from None
        return cls(path, collector.tiers, _complete(collector.times))

    # -- tiers ----------------------------------------------------------------------------------------

    def chosen(self, name: str) -> list[Tier]:
        """The tiers of a name, of a type, or whose names match a pattern such as ``words@*``; at least one."""
        found = [tier for tier in self.tiers.values() if tier.name == name]
        found = found or [tier for tier in self.tiers.values() if tier.type == name]
        found = found or [tier for tier in self.tiers.values() if fnmatchcase(tier.name, name)]
        if not found:
            types = sorted({tier.type for tier in self.tiers.values()})
            meant = did_you_mean(name, [*self.tiers, *types])
            remedy = f"{meant} {self.described()}".strip()
            raise self.error(f"no tier or type of tiers is called {name!r}", remedy)
        return found

    def described(self) -> str:
        """The tiers in words."""
        if not self.tiers:
            return "the file has no tiers"
        shown = [f"{tier.name} ({len(tier.annotations)})" for tier in list(self.tiers.values())[:_SHOWN]]
        more = ", …" if len(self.tiers) > _SHOWN else ""
        return f"its tiers and their numbers of annotations: {', '.join(shown)}{more}"

    def above(self, tier: Tier) -> Tier | None:
        """The tier above another one."""
        if tier.above is None:
            return None
        if tier.above not in self.tiers:
            raise self.error(f"the tier {tier.name} is below {tier.above!r}, which is not there", _SAVE)
        return self.tiers[tier.above]

    def lineage(self, tier: Tier) -> list[Tier]:
        """The tier, the one above it, and so on."""
        found = [tier]
        while (up := self.above(found[-1])) is not None:
            if up in found or len(found) == _DEEPEST:
                raise self.error(f"the tier {up.name} is above itself, or above too many others", _SAVE)
            found.append(up)
        return found

    def ordered(self, tier: Tier) -> list[Annotation]:
        """The annotations of a tier as they follow each other: in time or, below others, as those do."""
        up = self.above(tier)
        if up is None or all(one.slots is not None for one in tier.annotations):
            return sorted(tier.annotations, key=lambda one: self.span(one)[0])
        below: dict[str, list[Annotation]] = {}
        for one in tier.annotations:
            parent = self.parent(one)
            below.setdefault("" if parent is None else parent.id, []).append(one)
        return [one for parent in self.ordered(up) for one in self._in_chain(below.get(parent.id, []))]

    def _in_chain(self, siblings: list[Annotation]) -> list[Annotation]:
        """Annotations below the same one, each after the one that it names as the one before it."""
        if len(siblings) < 2 or all(one.before is None for one in siblings):
            return siblings
        ids = {one.id for one in siblings}
        after: dict[str | None, list[Annotation]] = {}
        for one in siblings:
            after.setdefault(one.before if one.before in ids else None, []).append(one)
        found: list[Annotation] = []
        stack = after.get(None, [])[::-1]
        while stack:
            one = stack.pop()
            found.append(one)
            stack += after.get(one.id, [])[::-1]
        if len(found) < len(siblings):
            lost = next(one for one in siblings if one not in found)
            raise self.error(f"{lost} comes after itself", _SAVE)
        return found

    # -- annotations ----------------------------------------------------------------------------------

    def keep_placed(self, tiers: Iterable[Tier], drop: Callable[[InputError], None]) -> None:
        """Forget the annotations of some tiers, and of those above them, that have no time or none above them.

        What ``drop`` does with the error of each, such as raising it, is its own matter.
        """
        lineages = sorted(map(self.lineage, tiers), key=len)
        for tier in dict.fromkeys(tier for lineage in lineages for tier in reversed(lineage)):
            lost = []
            for one in tier.annotations:
                try:
                    self.span(one)
                    self.parent(one)
                except InputError as error:
                    drop(error)
                    lost.append(one)
            for one in lost:
                del self._by_id[one.id]
            tier.annotations = [one for one in tier.annotations if one.id in self._by_id]

    def span(self, annotation: Annotation) -> tuple[float, float]:
        """When an annotation begins and ends, in milliseconds; one that refers to another has the time of that."""
        one, steps = annotation, 0
        while one.slots is None:
            up = self._by_id.get(one.above or "")
            if up is None or steps > len(self.tiers):
                raise self._lost(annotation)
            one, steps = up, steps + 1
        try:
            start, end = (self._times[slot] for slot in one.slots)
        except KeyError as missing:
            raise self.error(f"{one} is at the time slot {missing}, which is not there", _SAVE) from None
        return start, max(start, end)

    def parent(self, annotation: Annotation) -> Annotation | None:
        """The annotation that another one refers to, or that it lies in; None in a tier that is below no other."""
        up = self.above(self.tiers[annotation.tier])
        if up is None:
            return None
        if annotation.above is not None:
            found = self._by_id.get(annotation.above)
        else:
            start, end = self.span(annotation)
            found = self.around(up, (start + end) / 2)
        if found is None or found.tier != up.name:
            raise self._lost(annotation)
        return found

    def around(self, tier: Tier, time: float) -> Annotation | None:
        """The annotation of a tier in which a time lies."""
        if tier.name not in self._in_time:
            pairs = sorted(((self.span(one)[0], one) for one in tier.annotations), key=lambda pair: pair[0])
            self._in_time[tier.name] = [start for start, _ in pairs], [one for _, one in pairs]
        starts, annotations = self._in_time[tier.name]
        place = bisect_right(starts, time) - 1
        return annotations[place] if place >= 0 and time <= self.span(annotations[place])[1] else None

    def ancestors(self, annotation: Annotation) -> Iterator[Annotation]:
        """The annotation, the one above it, and so on."""
        one: Annotation | None = annotation
        while one is not None:
            yield one
            one = self.parent(one)

    def _lost(self, annotation: Annotation) -> InputError:
        tier = self.tiers[annotation.tier]
        if annotation.above is not None:
            what = f"{annotation} refers to {annotation.above!r}, which is no annotation of the tier {tier.above}"
            return self.error(what, _SAVE)
        remedy = "move it or delete it in ELAN"
        return self.error(f"{annotation} lies in no annotation of the tier {tier.above}", remedy)

    def error(self, what: str, remedy: str | None = None) -> InputError:
        """An error of this file."""
        return InputError(what, path=self.path, remedy=remedy)


class _Collector:
    """What an XML parser calls; it keeps time slots, tiers and annotations."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.times: dict[str, float | None] = {}
        self.tiers: dict[str, Tier] = {}
        self._ids: set[str] = set()
        self._tier: Tier | None = None
        self._annotation: Annotation | None = None
        self._value: list[str] | None = None
        self._begun = False

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise self._error("a document type (<!DOCTYPE>), which ELAN never writes", _SAVE)

    def start(self, tag: str, given: dict[str, str]) -> None:
        if not self._begun and tag != "ANNOTATION_DOCUMENT":
            raise self._error(f"not a file of ELAN: it begins with <{tag[:40]}>", "give .eaf files")
        self._begun = True
        if tag == "TIME_SLOT":
            self._slot(given)
        elif tag == "TIER":
            name = self._needed(tag, given, "TIER_ID")
            if name in self.tiers:
                raise self._error(f"two tiers are called {name!r}", _SAVE)
            speaker, above = given.get("PARTICIPANT", ""), given.get("PARENT_REF")
            self._tier = Tier(name, given.get("LINGUISTIC_TYPE_REF", ""), above, speaker.strip())
            self.tiers[name] = self._tier
        elif tag in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            self._begin(tag, given)
        elif tag == "ANNOTATION_VALUE":
            self._value = []

    def _slot(self, given: dict[str, str]) -> None:
        name, value = self._needed("TIME_SLOT", given, "TIME_SLOT_ID"), given.get("TIME_VALUE")
        if value is not None and not (value.isascii() and value.isdigit() and len(value) < 16):
            raise self._error(f"the time slot {name} has the time {value[:40]!r}", "times are milliseconds")
        self.times[name] = None if value is None else float(value)

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if self._tier is None:
            raise self._error("an annotation outside of any tier", _SAVE)
        name = self._needed(tag, given, "ANNOTATION_ID")
        if name in self._ids:
            raise self._error(f"two annotations are called {name!r}", _SAVE)
        self._ids.add(name)
        one = Annotation(name, self._tier.name)
        if tag == "REF_ANNOTATION":
            one.above, one.before = (
                self._needed(tag, given, "ANNOTATION_REF"),
                given.get("PREVIOUS_ANNOTATION"),
            )
        else:
            start, end = (self._needed(tag, given, f"TIME_SLOT_REF{i}") for i in (1, 2))
            one.slots = start, end
        self._tier.annotations.append(one)
        self._annotation = one

    def end(self, tag: str) -> None:
        if tag == "ANNOTATION_VALUE":
            if self._annotation is not None and self._value is not None:
                self._annotation.value = " ".join("".join(self._value).split())
            self._value = None
        elif tag == "TIER":
            self._tier = None
        elif tag in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            self._annotation = None

    def data(self, text: str) -> None:
        if self._value is not None:
            self._value.append(text)

    def close(self) -> None:
        """Nothing is left to do."""

    def _needed(self, tag: str, given: dict[str, str], name: str) -> str:
        if name not in given:
            raise self._error(f"<{tag}> has no {name}", _SAVE)
        return given[name]

    def _error(self, what: str, remedy: str) -> InputError:
        return InputError(what, path=self.path, remedy=remedy)


def _complete(times: dict[str, float | None]) -> dict[str, float]:
    """The times of all slots; those that have none lie evenly between their neighbours in the file.

    Examples
    --------
    >>> _complete({"ts1": 0.0, "ts2": None, "ts3": None, "ts4": 300.0, "ts5": None})
    {'ts1': 0.0, 'ts2': 100.0, 'ts3': 200.0, 'ts4': 300.0, 'ts5': 300.0}
    """
    found: dict[str, float] = {}
    waiting: list[str] = []
    last = 0.0
    for name, time in times.items():
        if time is None:
            waiting.append(name)
            continue
        step = (time - last) / (len(waiting) + 1)
        found |= {one: last + step * i for i, one in enumerate(waiting, start=1)}
        found[name] = last = time
        waiting = []
    return found | dict.fromkeys(waiting, last)
