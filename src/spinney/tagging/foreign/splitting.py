"""Observations of other programs, which are strings, as patterns with what their fields see.

Another program keeps the string ``U02:1/2/x`` and does not know whether ``%x[-1,0]/%x[0,0]`` saw ``1`` and ``2/x`` or
``1/2`` and ``x``: either is labelled alike. So a string becomes an observation for each way in which it can come about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from spinney.tagging.extract import Which
from spinney.tagging.foreign.assembling import Seen, Weighed
from spinney.tagging.patterns import Field, Pattern

_MOST_WAYS = 1000  # to read one string
#: What a field may have seen, as Spinney calls it, where the other program calls it by this text.
Names = Callable[[Field, str], Sequence[str]]


def expanded(
    patterns: Sequence[Pattern],
    which: Which,
    texts: Sequence[str],
    weights: tuple[Any, Any, Any],
    names: Names = lambda field, text: [text],
) -> Weighed:
    """Weights of strings (rows), labels or pairs of labels (columns) and values, as weights of observations.

    ValueError says which string no pattern makes.
    """
    first: dict[
        tuple[str, ...], int
    ] = {}  # patterns with the same text between their fields share observations
    for p, pattern in enumerate(patterns):
        if pattern.kind in (which, "*"):
            first.setdefault(pattern.literals, p)
    rows, columns, values = (np.asarray(part) for part in weights)
    seen: list[Seen] = []
    ways: dict[int, range] = {}
    for row in np.unique(rows).tolist():
        start = len(seen)
        seen.extend(_ways(patterns, first, texts[row], names))
        ways[row] = range(start, len(seen))
        if not ways[row]:
            raise ValueError(f"damaged: no pattern makes the observation {texts[row]!r}")
    lengths = np.array([len(ways[row]) for row in rows.tolist()], np.int64)
    places = np.array([place for row in rows.tolist() for place in ways[row]], np.int64)
    return Weighed(seen, places, np.repeat(columns, lengths), np.repeat(values, lengths))


def _ways(
    patterns: Sequence[Pattern], first: dict[tuple[str, ...], int], text: str, names: Names
) -> Iterator[Seen]:
    """All observations that are this string."""
    found: dict[Seen, None] = {}
    for literals, p in first.items():
        fields = patterns[p].fields
        if not text.startswith(literals[0]):
            continue
        split = islice(_splits(text, literals), _MOST_WAYS + 1)
        for parts in split:
            choices = [names(field, part) for field, part in zip(fields, parts)]
            found |= dict.fromkeys((p, choice) for choice in islice(product(*choices), _MOST_WAYS))
            if len(found) > _MOST_WAYS:
                raise ValueError(f"the observation {text!r} can be read in more than {_MOST_WAYS} ways")
    return iter(found)


def _splits(text: str, literals: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What may stand in the fields between these literals, so that the whole is the text.

    Examples
    --------
    >>> list(_splits("U:1/2/x", ("U:", "/", "")))
    [('1', '2/x'), ('1/2', 'x')]
    """
    if not text.startswith(literals[0]):
        return
    rest = text[len(literals[0]) :]
    if len(literals) == 1:
        if not rest:
            yield ()
    elif len(literals) == 2:
        if rest.endswith(literals[1]):
            yield (rest[: len(rest) - len(literals[1])],)
    else:
        at = rest.find(literals[1])
        while at >= 0:
            for others in _splits(rest[at:], literals[1:]):
                yield (rest[:at], *others)
            at = rest.find(literals[1], at + 1)
