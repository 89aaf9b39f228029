"""Composed labels of words, (UPOS, XPOS, FEATS), and the parts that they are made of.

A label is never learned as one indivisible thing: its score is the sum of the scores of its parts, so that a rare label
(a plural in a rare case) shares what is known of its number and of its case with all labels that have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: UPOS, XPOS and FEATS of a word, as they are in the columns of CoNLL-U.
Label = tuple[str, str, str]
Ints = NDArray[np.int32]

#: What an empty column holds.
EMPTY = "_"


def attributes(feats: str) -> list[str]:
    """The attributes of a FEATS column, each with its value.

    Examples
    --------
    >>> attributes("Case=Nom|Number=Sing"), attributes("_")
    (['Case=Nom', 'Number=Sing'], [])
    """
    return [] if feats in (EMPTY, "") else feats.split("|")


def parts_of(label: Label) -> list[str]:
    """The parts of a label, as people read them.

    Examples
    --------
    >>> parts_of(("NOUN", "_", "Case=Nom|Number=Sing"))
    ['NOUN', 'Case=Nom', 'NOUN Case=Nom', 'Number=Sing', 'NOUN Number=Sing', 'NOUN _ Case=Nom|Number=Sing']
    >>> parts_of(("X", "_", "_")), parts_of(("PUNCT", ",", "_"))
    (['X'], ['PUNCT', 'XPOS=,'])
    """
    upos, xpos, feats = label
    found = [upos]
    if xpos not in (EMPTY, upos):
        found.append(f"XPOS={xpos}")
    for attribute in attributes(feats):
        found += [attribute, f"{upos} {attribute}"]
    if len(found) > 2:  # else the label is no more than these
        found.append(" ".join(label))
    return found


class Composed:
    """Labels that are made of parts, numbered, as flat arrays; the base of :class:`Labels`.

    Parameters
    ----------
    rows
        The parts of each label.
    facets
        How labels look from several sides, of which each has its own table of transitions.

    Attributes
    ----------
    parts : list of str
        All parts, in the order of their first label.
    part_ptr, part_ids : int arrays
        Label y has the parts ``part_ids[part_ptr[y]:part_ptr[y + 1]]``.
    """

    def __init__(self, rows: Sequence[Sequence[str]], facets: Facets) -> None:
        number: dict[str, int] = {}
        found = [[number.setdefault(part, len(number)) for part in dict.fromkeys(row)] for row in rows]
        self.parts = list(number)
        self.part_ptr = np.cumsum([0, *map(len, found)], dtype=np.int64)
        self.part_ids: Ints = np.array([part for row in found for part in row], np.int32)
        self.facets = facets

    @property
    def is_joint(self) -> NDArray[np.bool_]:
        """Which parts are made of others: they have a space in their names."""
        return np.array([" " in part for part in self.parts], np.bool_)

    def __len__(self) -> int:
        return len(self.part_ptr) - 1


class Labels(Composed):
    """The composed labels of a treebank.

    Examples
    --------
    >>> labels = Labels.of([("NOUN", "_", "Number=Sing"), ("VERB", "_", "Number=Sing"), ("NOUN", "_", "Number=Sing")])
    >>> labels.all, [labels.parts[p] for p in labels.part_ids[: labels.part_ptr[1]]]
    ([('NOUN', '_', 'Number=Sing'), ('VERB', '_', 'Number=Sing')], ['NOUN', 'Number=Sing', 'NOUN Number=Sing', \
'NOUN _ Number=Sing'])
    """

    def __init__(self, every: list[Label]) -> None:
        super().__init__([parts_of(label) for label in every], Facets.of(every))
        self.all = every
        self.number = {label: i for i, label in enumerate(every)}

    @classmethod
    def of(cls, seen: Iterable[Label]) -> Labels:
        """The labels that occur, by their number of occurrences and then by name: the first is the most frequent."""
        counts = Counter(seen)
        return cls(sorted(counts, key=lambda label: (-counts[label], label)))

    def columns(self) -> list[tuple[list[str], Ints]]:
        """For each column, its distinct values and the value of each label."""
        found = []
        for column in zip(*self.all) if self.all else ([], [], []):
            values = sorted(set(column))
            number = {value: i for i, value in enumerate(values)}
            found.append((values, np.array([number[value] for value in column], np.int32)))
        return found


@dataclass(frozen=True, eq=False)
class Facets:
    """Facets of labels: the whole label, its UPOS, its XPOS, and its value of each attribute (none is a value too).

    Attributes
    ----------
    names : list of str
    values : list of list of str
        The values of each facet.
    of_label : int array [labels, facets]
        The value of each facet of each label, by number.
    offsets : int array [facets + 1]
        The table of facet j is ``offsets[j]`` to ``offsets[j + 1]`` of a flat array: a square matrix with a row and a
        column more than values, for what comes before the first word and after the last.
    """

    names: list[str]
    values: list[list[str]]
    of_label: Ints
    offsets: NDArray[np.int64]

    @classmethod
    def none(cls, n_labels: int) -> Facets:
        """No facets: labels that follow each other have nothing to do with each other."""
        return cls([], [], np.zeros((n_labels, 0), np.int32), np.zeros(1, np.int64))

    @classmethod
    def of(cls, labels: Sequence[Label]) -> Facets:
        """The facets of some labels; one that says no more than another is left out."""
        columns: dict[str, list[str]] = {"UPOS": [label[0] for label in labels]}
        columns["XPOS"] = [label[1] for label in labels]
        given = [_by_name(feats) for _, _, feats in labels]
        for name in sorted({name for one in given for name in one}):
            columns[name] = [one.get(name, EMPTY) for one in given]
        columns["label"] = [" ".join(label) for label in labels]
        names: list[str] = []
        values: list[list[str]] = []
        rows: list[list[int]] = []
        partitions = set()
        for name, column in columns.items():
            distinct = sorted(set(column))
            number = {value: i for i, value in enumerate(distinct)}
            row = [number[value] for value in column]
            first: dict[int, int] = {}
            partition = tuple(first.setdefault(value, len(first)) for value in row)
            if partition in partitions or (len(distinct) < 2 and names):
                continue
            partitions.add(partition)
            names.append(name)
            values.append(distinct)
            rows.append(row)
        sizes = [(len(distinct) + 1) ** 2 for distinct in values]
        of_label = np.array(rows, np.int32).reshape(len(names), len(labels)).T.copy()
        return cls(names, values, of_label, np.cumsum([0, *sizes], dtype=np.int64))


def _by_name(feats: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in attributes(feats))
    return {name: value for name, _, value in pairs}
