"""Topics: how much each word belongs to each of them."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np

from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError, OptionError
from spinney.files import FilePath


class Topics(NamedTuple):
    """The weights of words in topics."""

    weights: Any  # array or sparse matrix (topics, words)
    words: list[str]


_WEIGHTED = re.compile(r"(.+):((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)", re.DOTALL)


def read_topics(path: FilePath) -> Topics:
    """Read topics, one per line: words separated by white space, all with weights as in ``orbit:0.03`` or all without.

    Words without weights are in the order of their probability; their weights are 1, 1/2, 1/3 and so on. Blank lines
    are skipped.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "topics.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("space:0.5 orbit:0.25\\ngame team\\n")
    >>> topics = read_topics(path)
    >>> topics.words, topics.weights.toarray().tolist()
    (['space', 'orbit', 'game', 'team'], [[0.5, 0.25, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5]])
    """
    from scipy.sparse import csr_array

    place: dict[str, int] = {}
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for line, text in read_lines(path):
        if not (items := fields(text)):
            continue
        try:
            topic = _topic(items)
        except OptionError as error:
            raise InputError(str(error), path=os.fspath(path), line=line) from None
        columns += [place.setdefault(word, len(place)) for word in topic]
        values += topic.values()
        ends.append(len(columns))
    if len(ends) == 1:
        raise InputError("no topics", path=os.fspath(path), remedy="write one topic per line")
    table = csr_array(
        (np.array(values), np.array(columns), np.array(ends)), shape=(len(ends) - 1, len(place))
    )
    return Topics(table, list(place))


def _topic(items: list[str]) -> dict[str, float]:
    """Words and weights, from what stands on a line."""
    found = [_WEIGHTED.fullmatch(item) for item in items]
    weighted = [match for match in found if match]
    if weighted and len(weighted) < len(items):
        bare = next(item for item, match in zip(items, found) if not match)
        raise OptionError(
            f"{weighted[0][0]!r} has a weight and {bare!r} has none: give weights to all words or to none"
        )
    if weighted:
        pairs = [(match[1], float(match[2])) for match in weighted]
    else:
        pairs = [(item, 1 / (i + 1)) for i, item in enumerate(items)]
    topic = dict(pairs)
    if len(topic) < len(pairs):
        twice = next(word for i, (word, _) in enumerate(pairs) if word in dict(pairs[:i]))
        raise OptionError(f"the word {twice!r} appears twice in one topic")
    infinite = [word for word, weight in pairs if weight == np.inf]
    if infinite:
        raise OptionError(f"the weight of {infinite[0]!r} is too large")
    return topic
