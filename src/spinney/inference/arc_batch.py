"""The arrays of a batch of sentences with candidate arcs, as the kernels take them, and what is checked of them.

What they hold is told in :mod:`spinney.inference.arcs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Heads = NDArray[np.int32]
Batch = tuple[NDArray[Any], ...]


def scored(
    words: ArrayLike,
    ptr: ArrayLike,
    head: ArrayLike,
    score: ArrayLike,
    sib_ptr: ArrayLike | None = None,
    sib: ArrayLike | None = None,
    sib_score: ArrayLike | None = None,
) -> tuple[Batch, bool]:
    """The arrays of a batch as the kernels take them, and whether it is of second order; checked in their sizes."""
    given = [sib_ptr is not None, sib is not None, sib_score is not None]
    if any(given) and not all(given):
        raise OptionError("give all of sib_ptr, sib and sib_score, or none")
    second = all(given)
    arrays = [words, ptr, head, score, *((sib_ptr, sib, sib_score) if second else ([0], [], []))]
    batch = tuple(
        read_only(of, dtype) for of, dtype in zip(arrays, ("i8", "i8", "i4", "f8", "i8", "i4", "f8"))
    )
    check_offsets(*batch[:3])
    if len(batch[3]) != len(batch[2]):
        raise OptionError(f"score must have the length of head, {len(batch[2])}, not {len(batch[3])}")
    if second:
        if len(batch[4]) != len(batch[2]) + 1 or batch[4][0] != 0 or batch[4][-1] != len(batch[5]):
            raise OptionError("sib_ptr must lead from 0 to the number of parts, one step for each arc")
        if len(batch[6]) != len(batch[5]):
            raise OptionError(f"sib_score must have the length of sib, {len(batch[5])}, not {len(batch[6])}")
    return batch, second


def read_only(array: Any, dtype: str) -> NDArray[Any]:
    """A view that cannot be written to: the kernels, which are compiled for one type of array, see no other."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def check_offsets(words: NDArray[Any], ptr: NDArray[Any], head: NDArray[Any]) -> None:
    """Whether the arrays fit together at their ends; the kernels check what is between."""
    for name, offsets, size, of in (("words", words, len(ptr) - 1, "words"), ("ptr", ptr, len(head), "arcs")):
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != size:
            raise OptionError(f"{name} must lead from 0 to the number of {of}, {size}")


def check_out(**arrays: tuple[NDArray[Any] | None, int] | None) -> None:
    """Whether arrays that are written into have the sizes that they need."""
    for name, pair in arrays.items():
        if pair is not None and (pair[0] is None or pair[0].shape != (pair[1],)):
            raise OptionError(f"the array for {name} must have the length {pair[1]}")


def check_sentence(wrong: int) -> None:
    """Tell which sentence the kernels refused."""
    if wrong >= 0:
        raise OptionError(
            f"the arcs of sentence {wrong} are not well formed: heads must ascend for each word, lie within the "
            "sentence and differ from the word; siblings must have the same head and stand between the two"
        )


def sentence_range(start: int, stop: int | None, n_sentences: int) -> tuple[int, int]:
    """The range of sentences, checked."""
    last = n_sentences if stop is None else stop
    if not 0 <= start <= last <= n_sentences:
        raise OptionError(f"start and stop must lie between 0 and the number of sentences, {n_sentences}")
    return start, last


def write_heads(heads: Heads, arcs: Numbers, batch: Batch, start: int, stop: int) -> None:
    """Look up the heads of the chosen arcs of a range of sentences; −1 stays −1."""
    range_of_words = slice(int(batch[0][start]), int(batch[0][stop])) if stop > start else slice(0, 0)
    chosen = arcs[range_of_words]
    if len(chosen):
        heads[range_of_words] = (
            np.where(chosen >= 0, batch[2][np.maximum(chosen, 0)], -1) if len(batch[2]) else -1
        )
