"""Words and their numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_lines
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError


class Numbering(dict[str, int]):
    """A dictionary that gives each new word the next number: the inner loop of every reader of arrays.

    Examples
    --------
    >>> number = Numbering()
    >>> [number[word] for word in "a rose is a rose".split()]
    [0, 1, 2, 0, 1]
    """

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class Folding(dict[str, int]):
    """Gives a word the number that what it is folded to has elsewhere; each distinct word is folded once.

    Examples
    --------
    >>> number = Folding(str.lower, Numbering())
    >>> [number[word] for word in "The rose is the Rose".split()]
    [0, 1, 2, 0, 1]
    """

    def __init__(self, fold: Callable[[str], str], number: Mapping[str, int]) -> None:
        super().__init__()
        self.fold, self.number = fold, number

    def __missing__(self, word: str) -> int:
        self[word] = number = self.number[self.fold(word)]
        return number


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Words with their counts, numbered from 0 by decreasing count and then by first occurrence; immutable.

    Build one with :meth:`from_counts` or :meth:`from_tokens`, which sort and cut; the constructor takes words
    in the order they are given.

    Parameters
    ----------
    words : tuple of str
        Distinct words; the number of a word is its place.
    counts : array of int
        How often each was seen.
    unknown : str, optional
        The word, one of ``words``, that stands for all others.

    Examples
    --------
    >>> tokens = "a rose is a rose is a thorn".split()
    >>> vocabulary = Vocabulary.from_tokens(tokens, min_count=2, unknown="<unk>")
    >>> vocabulary
    Vocabulary(4 words, 8 tokens, unknown='<unk>')
    >>> vocabulary.words, vocabulary.counts
    (('<unk>', 'a', 'rose', 'is'), array([1, 3, 2, 2]))
    >>> vocabulary.encode(["a", "thorn"])
    array([1, 0], dtype=int32)
    >>> vocabulary["rose"], "thorn" in vocabulary
    (2, False)
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]
    unknown: str | None = None

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "counts", counts)
        if counts.shape != (len(self.words),):
            raise OptionError(f"{len(self.words)} words, but {counts.size} counts")
        if self.unknown is not None and self.unknown not in self.words:
            raise OptionError(f"the unknown symbol {self.unknown!r} is not one of the words")

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = None,
    ) -> Self:
        """The words of a table of counts, the frequent ones first.

        Words seen fewer than ``min_count`` times, and the rarest words beyond ``max_size``, are removed.
        If there is an ``unknown`` symbol, it is number 0, counts as a word, and inherits the counts of
        the removed words.
        """
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise OptionError("min_count and max_size must be at least 1")
        kept = sorted((item for item in counts.items() if item[1] >= min_count), key=lambda item: -item[1])
        if unknown is None:
            kept = kept[:max_size]
        else:
            known = [item for item in kept if item[0] != unknown][
                : None if max_size is None else max_size - 1
            ]
            rest = sum(counts.values()) - sum(count for _, count in known)
            kept = [(unknown, rest), *known]
        return cls(tuple(word for word, _ in kept), np.array([count for _, count in kept], np.int64), unknown)

    @classmethod
    def from_tokens(
        cls,
        tokens: Iterable[str],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = None,
    ) -> Self:
        """Count a stream of tokens; see :meth:`from_counts`."""
        return cls.from_counts(Counter(tokens), min_count=min_count, max_size=max_size, unknown=unknown)

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = None,
    ) -> Self:
        """Count the tokens of a stream of sentences; see :meth:`from_counts`."""
        tokens = chain.from_iterable(sentences)
        return cls.from_tokens(tokens, min_count=min_count, max_size=max_size, unknown=unknown)

    def encode(self, tokens: Iterable[str], *, missing: int | None = None) -> NDArray[np.int32]:
        """The numbers of the tokens.

        A token that is not here gets the number of the unknown symbol, or ``missing`` if there is no such
        symbol, or else is an :class:`~spinney.errors.InputError`.
        """
        if self.unknown is None and missing is not None:
            index, default = self._index, missing
            return np.fromiter((index.get(token, default) for token in tokens), np.int32)
        return np.fromiter(map(self._index.__getitem__, tokens), np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words with these numbers."""
        words = self.words
        return [words[i] for i in ids]

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __getitem__(self, word: str) -> int:
        """The number of a word, as :meth:`encode` gives it."""
        return self._index[word]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocabulary)
            and (self.words, self.unknown) == (other.words, other.unknown)
            and np.array_equal(self.counts, other.counts)
        )

    def __hash__(self) -> int:
        return hash((self.words, self.unknown))

    def __repr__(self) -> str:
        symbol = "" if self.unknown is None else f", unknown={self.unknown!r}"
        return f"Vocabulary({len(self):,} words, {int(self.counts.sum()):,} tokens{symbol})"

    def numbering(self) -> Mapping[str, int]:
        """The dictionary behind :meth:`encode`, for bulk work; a word it lacks is looked up all the same."""
        return self._index

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The vocabulary as three flat arrays, for a model file; :meth:`from_arrays` reads them back.

        ``words`` holds UTF-8 bytes, ``ends`` where each word ends in them, ``counts`` the counts. The unknown
        symbol is for the caller to keep.
        """
        encoded = [word.encode("utf-8", "surrogatepass") for word in self.words]
        return {
            "words": np.frombuffer(b"".join(encoded), np.uint8),
            "ends": np.cumsum([len(word) for word in encoded], dtype=np.int64),
            "counts": self.counts,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], unknown: str | None = None) -> Self:
        """The inverse of :meth:`to_arrays`; other arrays raise an InputError."""
        try:
            text = np.asarray(arrays["words"], np.uint8).tobytes()
            ends = [0, *np.asarray(arrays["ends"], np.int64).tolist()]
            words = [text[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(ends)]
            if ends[-1] != len(text) or ends != sorted(ends) or len(set(words)) != len(words):
                raise ValueError
            return cls(tuple(words), np.asarray(arrays["counts"], np.int64), unknown)
        except (KeyError, ValueError, TypeError, OptionError):
            raise InputError("the arrays do not contain a vocabulary") from None

    def save(self, path: FilePath) -> None:
        """Write lines ``word TAB count``."""
        with writing(path) as file:
            for word, count in zip(self.words, self.counts.tolist()):
                if "\t" in word or "\n" in word:
                    raise InputError(
                        f"the word {word!r} contains a tab or a line break", path=os.fspath(path)
                    )
                file.write(f"{word}\t{count}\n")

    @classmethod
    def load(cls, path: FilePath, unknown: str | None = None, encoding: str = "utf-8") -> Self:
        """Read lines ``word TAB count``, in the order of the file."""
        counts: dict[str, int] = {}
        for number, line in read_lines(path, encoding):
            word, tab, count = line.rpartition("\t")
            if not (tab and count.isascii() and count.isdigit() and len(count) < 19):  # int64
                raise InputError("not a word, a tab and a count", path=os.fspath(path), line=number)
            if word in counts:
                raise InputError(f"the word {word!r} appears twice", path=os.fspath(path), line=number)
            counts[word] = int(count)
        if unknown is not None and unknown not in counts:
            raise InputError(f"the unknown symbol {unknown!r} is not in this file", path=os.fspath(path))
        return cls(tuple(counts), np.array(list(counts.values()), np.int64), unknown)

    @cached_property
    def _index(self) -> _Index:
        return _Index(self.words, self.unknown)


class _Index(dict[str, int]):
    """Word to number; a word that is not there is the unknown symbol or an error, and is never added."""

    def __init__(self, words: Sequence[str], unknown: str | None) -> None:
        super().__init__(zip(words, range(len(words))))
        self.unknown = None if unknown is None else self[unknown]

    def __missing__(self, word: str) -> int:
        if self.unknown is None:
            raise InputError(f"{word!r} is not in the vocabulary")
        return self.unknown
