"""Sentences as flat arrays, in memory or memory-mapped from a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.batches import ColumnName
from spinney.corpus.compressed import FilePath
from spinney.corpus.opening import writing_folder
from spinney.corpus.vocabulary import Vocabulary
from spinney.errors import InputError, OptionError, shown

#: The file that marks a folder of token arrays, and its version.
INDEX = "arrays.json"
_VERSION = 1


class Labels(NamedTuple):
    """A column beside the words: the number of each token's label, and the labels."""

    ids: NDArray[np.int32]
    vocabulary: Vocabulary


@dataclass(frozen=True, eq=False)
class TokenArrays:
    """Sentences as flat arrays; :func:`~spinney.corpus.read_arrays` makes them from files.

    Attributes
    ----------
    ids : array of int32 [tokens]
        The number of each token in ``vocabulary``.
    offsets : array of int64 [sentences + 1]
        Sentence ``s`` is ``ids[offsets[s]:offsets[s + 1]]``.
    heads : array of int32 [tokens], optional
        The place of each token's head in its sentence, **from 0**; -1 at the root.
    labels : dict of column to Labels
        Further columns of the file, such as ``"upos"``.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([["a", "rose"], ["is", "a", "rose"]])
    >>> arrays
    TokenArrays(2 sentences, 5 tokens, 3 words)
    >>> arrays.ids, arrays.offsets
    (array([0, 1, 2, 0, 1], dtype=int32), array([0, 2, 5]))
    >>> [arrays.vocabulary.decode(sentence) for sentence in arrays]
    [['a', 'rose'], ['is', 'a', 'rose']]
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    vocabulary: Vocabulary
    heads: NDArray[np.int32] | None = None
    labels: Mapping[ColumnName, Labels] = field(default_factory=dict)

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return len(self.ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, sentence: int) -> NDArray[np.int32]:
        """The tokens of a sentence."""
        if not -len(self) <= sentence < len(self):
            raise IndexError(f"sentence {sentence} of {len(self)}")
        sentence %= len(self)
        return self.ids[self.offsets[sentence] : self.offsets[sentence + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        for start, stop in pairwise(self.offsets.tolist()):
            yield self.ids[start:stop]

    def __repr__(self) -> str:
        return (
            f"TokenArrays({len(self):,} sentences, {self.n_tokens:,} tokens, {len(self.vocabulary):,} words)"
        )

    def part(self, start: int, stop: int) -> Self:
        """Sentences ``start`` to ``stop - 1``; the tokens are views of the same memory."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        tokens = slice(self.offsets[start], self.offsets[stop])
        return type(self)(
            self.ids[tokens],
            self.offsets[start : stop + 1] - self.offsets[start],
            self.vocabulary,
            None if self.heads is None else self.heads[tokens],
            {name: Labels(column.ids[tokens], column.vocabulary) for name, column in self.labels.items()},
        )

    def take(self, sentences: NDArray[np.int64]) -> Self:
        """Some sentences in the order that is given, as copies.

        Examples
        --------
        >>> from spinney.corpus import sentence_arrays
        >>> arrays = sentence_arrays([["a", "rose"], ["is"], ["a"]])
        >>> [arrays.vocabulary.decode(sentence) for sentence in arrays.take(np.array([2, 0]))]
        [['a'], ['a', 'rose']]
        """
        starts = self.offsets[sentences]
        lengths = self.offsets[sentences + 1] - starts
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        tokens = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return type(self)(
            self.ids[tokens],
            offsets,
            self.vocabulary,
            None if self.heads is None else self.heads[tokens],
            {name: Labels(column.ids[tokens], column.vocabulary) for name, column in self.labels.items()},
        )

    def shards(self, n: int) -> list[Self]:
        """At most ``n`` parts, none empty, with about the same number of tokens each: work for ``n`` threads.

        Examples
        --------
        >>> from spinney.corpus import sentence_arrays
        >>> arrays = sentence_arrays([["a"] * 5, ["b"] * 2, ["c"], ["d"] * 2])
        >>> [len(shard) for shard in arrays.shards(2)]
        [1, 3]
        """
        if n < 1:
            raise OptionError(f"the number of shards must be at least 1, not {n}")
        goals = np.arange(1, n) * (self.n_tokens / n)
        after = np.maximum(np.searchsorted(self.offsets, goals), 1)
        nearer = goals - self.offsets[after - 1] < self.offsets[after] - goals
        cuts = np.unique([0, *(after - nearer).tolist(), len(self)]).tolist()
        return [self.part(start, stop) for start, stop in pairwise(cuts)]

    def save(self, folder: FilePath) -> None:
        """Write the arrays into a folder; an existing folder of arrays with that name is replaced."""
        with writing_folder(folder, INDEX) as temporary:
            np.save(os.path.join(temporary, "ids.npy"), self.ids)
            np.save(os.path.join(temporary, "offsets.npy"), self.offsets)
            if self.heads is not None:
                np.save(os.path.join(temporary, "heads.npy"), self.heads)
            for i, column in enumerate(self.labels.values()):
                np.save(os.path.join(temporary, f"label{i}.npy"), column.ids)
            self.save_words(temporary)

    def save_words(self, folder: str) -> None:
        """Write everything but the flat arrays into a folder that already contains those."""
        np.savez(os.path.join(folder, "vocabulary.npz"), **self.vocabulary.to_arrays())  # type: ignore[arg-type]
        for i, column in enumerate(self.labels.values()):
            np.savez(os.path.join(folder, f"label{i}.npz"), **column.vocabulary.to_arrays())  # type: ignore[arg-type]
        index = {
            "version": _VERSION,
            "unknown": self.vocabulary.unknown,
            "heads": self.heads is not None,
            "labels": [[name, column.vocabulary.unknown] for name, column in self.labels.items()],
        }
        with open(os.path.join(folder, INDEX), "w", encoding="utf-8") as file:
            json.dump(index, file)

    @classmethod
    def load(cls, folder: FilePath, *, mmap: bool = True) -> Self:
        """Read arrays from a folder; by default memory-mapped, so that they need not fit into memory."""
        mode: Literal["r"] | None = "r" if mmap else None

        def array(name: str) -> NDArray[Any]:
            return np.asanyarray(np.load(os.path.join(folder, name), mmap_mode=mode, allow_pickle=False))

        def vocabulary(name: str, unknown: str | None) -> Vocabulary:
            with np.load(os.path.join(folder, name), allow_pickle=False) as arrays:
                return Vocabulary.from_arrays(arrays, unknown)

        try:
            with open(os.path.join(folder, INDEX), encoding="utf-8") as file:
                index = json.load(file)
            if index["version"] != _VERSION:
                raise ValueError
            words = vocabulary("vocabulary.npz", index["unknown"])
            heads = array("heads.npy") if index["heads"] else None
            labels: dict[ColumnName, Labels] = {}
            for i, (name, unknown) in enumerate(index["labels"]):
                labels[name] = Labels(array(f"label{i}.npy"), vocabulary(f"label{i}.npz", unknown))
            arrays = cls(array("ids.npy"), array("offsets.npy"), words, heads, labels)
            if not arrays._is_sound():
                raise ValueError
        except (
            Exception
        ):  # NumPy reads the headers of arrays with Python's tokenizer, and lets its errors through
            what = "not a folder of token arrays, or damaged"
            remedy = "delete it, and make it again from the text"
            raise InputError(what, path=os.fspath(folder), remedy=remedy) from None
        return arrays

    def _is_sound(self) -> bool:
        """Whether every number is in its range: kernels do not look."""
        per_token = [self.ids, *(column.ids for column in self.labels.values())]
        per_token += [] if self.heads is None else [self.heads]
        if any(array.dtype != np.int32 or array.shape != self.ids.shape for array in per_token):
            return False
        if self.offsets.dtype != np.int64 or self.offsets.ndim != 1 or self.offsets[:1].tolist() != [0]:
            return False
        if self.offsets[-1] != len(self.ids) or np.any(np.diff(self.offsets) < 0):
            return False
        return all(part._is_in_range() for part in self.shards(1 + self.n_tokens // (1 << 22)))

    def _is_in_range(self) -> bool:
        lengths = np.diff(self.offsets)
        columns = [Labels(self.ids, self.vocabulary), *self.labels.values()]
        ranged = [(column.ids, len(column.vocabulary)) for column in columns]
        if any(np.any((array < 0) | (array >= size)) for array, size in ranged):
            return False
        heads = self.heads
        return heads is None or not np.any((heads < -1) | (heads >= np.repeat(lengths, lengths)))


def checked_text(text: Any) -> TokenArrays:
    """Text as a learner takes it, or an error that says how to make it.

    Examples
    --------
    >>> checked_text([["a", "b"]])
    Traceback (most recent call last):
    spinney.errors.InputError: text must be TokenArrays, not [['a', 'b']] (make them with sentence_arrays)
    """
    if not isinstance(text, TokenArrays):
        raise InputError(
            f"text must be TokenArrays, not {shown(text)}", remedy="make them with sentence_arrays"
        )
    return text
