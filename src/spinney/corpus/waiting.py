"""Batches that are never larger than memory bears, and never wait for input that nobody has written yet."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")


def in_batches(
    items: Iterable[Item],
    most: int,
    path: Any = None,
    *,
    weigh: Callable[[Item], int] | None = None,
    heaviest: int = 0,
) -> Iterator[list[Item]]:
    """At most so many items at a time, in their order.

    Items that are read from standard input (``path`` is ``"-"``) come as soon as there are no more waiting, so that
    whoever writes a line gets the answer to it before writing the next. With ``weigh``, a batch also ends when its
    items weigh ``heaviest`` together.

    Examples
    --------
    >>> list(in_batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    >>> list(in_batches(["a", "long", "one"], 9, weigh=len, heaviest=5))
    [['a', 'long'], ['one']]
    """
    rest = iter(items)
    if path != "-" and weigh is None:
        while some := list(islice(rest, most)):
            yield some
        return
    batch: list[Item] = []
    weight = 0
    for item in rest:
        batch.append(item)
        weight += 0 if weigh is None else weigh(item)
        full = len(batch) >= most or (weigh is not None and weight >= heaviest)
        if full or (path == "-" and not _more_waits()):
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _more_waits() -> bool:
    """Whether standard input can be read without waiting: there is more, or it has ended."""
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):  # text in memory
        return True
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # a system that cannot tell
        return False
