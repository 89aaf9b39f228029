"""Predicted columns for the training sentences themselves, by models that have not seen them (jack-knifing).

A parser that is trained on true tags never learns what to make of wrong ones. So the sentences are divided into parts,
and each part gets its tags from a model that was trained on all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeVar

Item = TypeVar("Item")
Fitted = TypeVar("Fitted")
Output = TypeVar("Output")


def jackknifed(
    sentences: Sequence[Item],
    train: Callable[[list[Item]], Fitted],
    apply: Callable[[Fitted, list[Item]], Sequence[Output]],
    parts: int = 5,
    after_part: Callable[[int], None] | None = None,
) -> list[Output]:
    """What models say of the sentences that they have not seen, in the order of the sentences.

    Parts are pieces of the sequence that follow each other, so that a document is rarely in two of them; they are the
    same each time, and their sizes differ by one at most. With fewer sentences than parts, each is a part of its own.

    Parameters
    ----------
    sentences
    train
        Makes a model of sentences.
    apply
        What a model says of sentences, one output for each.
    parts
        How many there are, two at least.
    after_part
        Called with the number of parts that are done.

    Examples
    --------
    >>> jackknifed([1, 2, 3, 4], lambda rest: sum(rest), lambda total, some: [total] * len(some), parts=2)
    [7, 7, 3, 3]
    """
    if parts < 2:
        raise ValueError(f"there must be two parts at least, not {parts}")
    if len(sentences) < 2:
        raise ValueError("there must be two sentences at least")
    found: list[list[Output]] = []
    bounds = divided(len(sentences), parts)
    for number, (begin, end) in enumerate(bounds):
        model = train([*sentences[:begin], *sentences[end:]])
        said = list(apply(model, list(sentences[begin:end])))
        if len(said) != end - begin:
            raise ValueError(f"{len(said)} outputs for {end - begin} sentences")
        found.append(said)
        if after_part is not None:
            after_part(number + 1)
    return list(chain.from_iterable(found))


def divided(n: int, parts: int) -> list[tuple[int, int]]:
    """Where each of the parts of n things begins and ends.

    Examples
    --------
    >>> divided(7, 3), divided(2, 5)
    ([(0, 2), (2, 4), (4, 7)], [(0, 1), (1, 2)])
    """
    parts = min(parts, n)
    return [(n * i // parts, n * (i + 1) // parts) for i in range(parts)]
