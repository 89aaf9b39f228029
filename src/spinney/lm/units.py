"""What a language model predicts, one after the other: words, characters, or pieces of words (byte-pair encoding).

Text is read as words in any case. Characters and pieces are made of each word by itself, and ``▁`` stands for the space
before it, so that units can be joined to text again. Pieces are learned and found by the library ``tokenizers`` (extra
``bpe``).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.lm.diskcolumns import Column, scratch_folder
from spinney.lm.stream import END, START

#: The space before a word.
SPACE: Final = "▁"

NAMES = ("word", "char", "bpe")
_INSTALL = "pip install 'spinney[bpe]'"
_STEP = 1 << 22  # words divided at a time
_LARGEST = 10_000_000  # occurrences of words from which pieces are learned
_REPEATED = 1000  # of them in one string


@dataclass(frozen=True)
class Units:
    """The units of a model, and how words are divided into them.

    Parameters
    ----------
    name
        ``"word"``, ``"char"`` or ``"bpe"``.
    unknown
        The unknown word, which is never divided.
    tokenizer
        Of ``"bpe"``: the JSON text of the library ``tokenizers``, of which only the pieces and merges are used.

    Examples
    --------
    >>> units = Units("char")
    >>> units.split(["a", "rose"])
    ['▁', 'a', '▁', 'r', 'o', 's', 'e']
    >>> units.text(["▁", "a", "▁", "r", "o", "s", "e"])
    'a rose'
    """

    name: str = "word"
    unknown: str | None = None
    tokenizer: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise unknown_choice("units must be", self.name, NAMES)
        if (self.name == "bpe") != (self.tokenizer is not None):
            raise OptionError("a tokenizer is for pieces of words, and these need one")

    @property
    def are_words(self) -> bool:
        """Whether nothing is divided."""
        return self.name == "word"

    def split(self, words: Sequence[str]) -> list[str]:
        """The units of a sentence of words."""
        return [unit for units in self.of_words(words) for unit in units]

    def of_words(self, words: Sequence[str]) -> list[list[str]]:
        """The units of each word."""
        if self.are_words:
            return [[word] for word in words]
        found = self._found
        new = [word for word in dict.fromkeys(words) if word not in found]
        if len(found) + len(new) > _STEP:  # a text without end
            found.clear()
            new = list(dict.fromkeys(words))
        found.update(zip(new, self._divided(new)))
        return [found[word] for word in words]

    @cached_property
    def _found(self) -> dict[str, list[str]]:
        return {}

    def _divided(self, words: list[str]) -> Iterable[list[str]]:
        if self.name == "char":
            found = ([SPACE, *characters(word)] for word in words)
        else:
            found = (one.tokens for one in (self._pieces.encode_batch(words) if words else ()))
        return ([SPACE, word] if word == self.unknown else units for word, units in zip(words, found))

    @property
    def pieces(self) -> list[str]:
        """All pieces of ``"bpe"``, whether a text has them or not."""
        return sorted(self._pieces.get_vocab(with_added_tokens=False))

    @cached_property
    def _pieces(self) -> Any:
        """The tokenizer, made anew from its pieces and merges: whatever else the text asks for is not done."""
        try:
            model = json.loads(str(self.tokenizer))["model"]
            merges = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in model["merges"]]
            vocabulary = {str(piece): int(number) for piece, number in model["vocab"].items()}
            return _tokenizer(vocabulary, merges, self.unknown)
        except InputError:
            raise
        except Exception as error:  # the library raises bare exceptions
            raise InputError("damaged: the tokenizer is not one of byte-pair encoding") from error

    def text(self, units: Iterable[str]) -> str:
        """Units joined to text.

        Examples
        --------
        >>> Units().text(["a", "rose"])
        'a rose'
        """
        return " ".join(units) if self.are_words else "".join(units).replace(SPACE, " ").strip(" ")

    @property
    def note(self) -> str:
        """What to say of n-grams of these units in a file of another program."""
        what = {"char": "characters", "bpe": "pieces of words (byte-pair encoding)"}
        return "" if self.are_words else f"n-grams of {what[self.name]}; {SPACE} is the space before a word"


def characters(word: str) -> list[str]:
    """The characters of a word; a combining mark stays with the one before it, or becomes one with it.

    Examples
    --------
    >>> characters("cafe\\u0301")
    ['c', 'a', 'f', 'é']
    """
    letters = unicodedata.normalize("NFC", word)
    if letters.isascii() or not any(map(unicodedata.combining, letters)):
        return list(letters)
    found: list[str] = []
    for letter in letters:
        if unicodedata.combining(letter) and found:
            found[-1] += letter
        else:
            found.append(letter)
    return found


# ------------------------------------------------------------------------------------------------ pieces


def learned_pieces(counts: Mapping[str, int], size: int, unknown: str | None) -> Units:
    """Pieces of words by byte-pair encoding: at most ``size`` of them, or all characters if there are more of these.

    Examples
    --------
    >>> import pytest; _ = pytest.importorskip("tokenizers")
    >>> units = learned_pieces({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 20, "<unk>")
    >>> units.split(["lowest", "low"])
    ['▁low', 'est', '▁low']
    """
    trainers = _library().trainers
    tokenizer = _tokenizer({}, [], unknown)
    special = [] if unknown is None else [unknown]
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(_repeated({w: n for w, n in counts.items() if w != unknown}), trainer)
    text: str = tokenizer.to_str()
    for mark in (START, END):
        if tokenizer.token_to_id(mark) is not None:
            raise InputError(f"{mark} is part of a word", remedy="remove it from the text")
    return Units("bpe", unknown, text)


def _repeated(counts: Mapping[str, int]) -> Iterator[str]:
    """Each word as often as it comes; of a large text, in proportion, but once at least."""
    share = min(1.0, _LARGEST / max(1, sum(counts.values())))
    for word, count in counts.items():
        left = max(1, round(share * count))
        while left > 0:
            yield " ".join([word] * min(left, _REPEATED))
            left -= _REPEATED


def _tokenizer(vocabulary: dict[str, int], merges: list[Any], unknown: str | None) -> Any:
    library = _library()
    tokenizer = library.Tokenizer(library.models.BPE(vocabulary, merges, unk_token=unknown))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")
    if unknown is not None and unknown in vocabulary:
        tokenizer.add_special_tokens([unknown])
    return tokenizer


def _library() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise InputError("pieces of words need the package tokenizers", remedy=_INSTALL) from error
    return tokenizers


# ------------------------------------------------------------------------------------------------ a text


def unit_arrays(
    text: TokenArrays,
    units: Units,
    vocabulary: Vocabulary | None = None,
    *,
    min_count: int = 1,
    max_size: int | None = None,
) -> TokenArrays:
    """A text in words as one in units; on disk if the text is there.

    Parameters
    ----------
    vocabulary
        The units to use, which know what to do with others; None: those of the text, cut as ``min_count`` and
        ``max_size`` say.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = unit_arrays(sentence_arrays([["a", "rose"], ["a"]]), Units("char"))
    >>> [arrays.vocabulary.decode(sentence) for sentence in arrays]
    [['▁', 'a', '▁', 'r', 'o', 's', 'e'], ['▁', 'a']]
    """
    of_words = units.of_words(text.vocabulary.words)
    sizes = np.array([len(one) for one in of_words], np.int64)
    flat = [unit for one in of_words for unit in one]
    if vocabulary is None:
        occurrences = np.zeros(len(of_words), np.int64)
        for start in range(0, text.n_tokens, _STEP):
            occurrences += np.bincount(text.ids[start : start + _STEP], minlength=len(of_words))
        counts: dict[str, int] = {}
        for one, n in zip(of_words, occurrences.tolist()):
            for unit in one if n else ():
                counts[unit] = counts.get(unit, 0) + n
        cut: dict[str, Any] = {"min_count": min_count, "max_size": max_size, "unknown": units.unknown}
        vocabulary = Vocabulary.from_counts(counts, **cut)
        if units.tokenizer is not None and min_count == 1 and max_size is None:
            vocabulary = _with_unseen(vocabulary, units)
    numbers = vocabulary.encode(flat, missing=0)  # words of no sentence may have other units
    ends = np.cumsum(sizes)
    ids, offsets = _divided(text, numbers, ends - sizes, sizes)
    return TokenArrays(ids, offsets, vocabulary)


def _with_unseen(vocabulary: Vocabulary, units: Units) -> Vocabulary:
    """With all pieces: some came to be part of larger ones wherever they were seen, but not in every new word."""
    seen = set(vocabulary.words)
    unseen = [piece for piece in units.pieces if piece not in seen]
    counts = np.append(vocabulary.counts, np.zeros(len(unseen), np.int64))
    return Vocabulary((*vocabulary.words, *unseen), counts, vocabulary.unknown)


def _divided(
    text: TokenArrays, numbers: NDArray[np.int32], first: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The units of all words in their order, and where the sentences begin."""
    parts = text.shards(1 + text.n_tokens // _STEP)
    with scratch_folder(None) as folder:
        ids, offsets = Column(folder, "ids", np.int32), Column(folder, "offsets", np.int64)
        offsets.append(np.zeros(1))
        for part in parts:
            n = sizes[part.ids]
            ends = np.cumsum(n)
            before = ends - n
            place = np.arange(ends[-1] if len(ends) else 0) - np.repeat(before, n)
            sums = np.append(0, ends)
            offsets.append(len(ids) + sums[part.offsets[1:]])
            ids.append(numbers[np.repeat(first[part.ids], n) + place])
        found = ids.mapped(), offsets.mapped()
        for column in (ids, offsets):
            column.close()
    return found if isinstance(text.ids, np.memmap) else (np.array(found[0]), np.array(found[1]))
