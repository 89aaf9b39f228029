"""Words and their possible tags: known words, and classes of unknown ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.signatures import signature
from spinney.parsing.treearrays import TreeArrays

#: The row of an unknown word whose signature no rare word had.
ANY = "UNK*"


@dataclass(frozen=True)
class Lexicon:
    """Rows of words and of signatures; the entries of a row are the tags that it may have.

    A *rare* word (at most ``rare`` tokens) may have every tag that some rare word of its signature had, in addition to
    its own: with so few tokens, an unseen tag is not surprising.

    Attributes
    ----------
    rows : tuple of str
        The known words, then the signatures, of which the last is :data:`ANY`.
    n_words : int
        The number of rows that are words.
    count : int64 array [rows]
        Tokens of each word; tokens of rare words of each signature.
    signature_row : int32 array [words]
        The row of the signature of each word.
    start : int64 array [rows + 1]
        Where the entries of each row begin.
    tag : int32 array [entries]
        The label of each entry, increasing within a row.
    rare : int
    """

    rows: tuple[str, ...]
    n_words: int
    count: NDArray[np.int64]
    signature_row: NDArray[np.int32]
    start: NDArray[np.int64]
    tag: NDArray[np.int32]
    rare: int
    _row: dict[str, int] = field(init=False, repr=False, compare=False)
    _signature: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_row", {row: i for i, row in enumerate(self.rows[: self.n_words])})
        later = enumerate(self.rows[self.n_words :], self.n_words)
        object.__setattr__(self, "_signature", {row: i for i, row in later})

    @classmethod
    def of(cls, trees: TreeArrays, rare: int = 5) -> Lexicon:
        """The lexicon of some trees."""
        words = {word: i for i, word in enumerate(dict.fromkeys(trees.tokens))}
        ids = np.array([words[word] for word in trees.tokens], np.int64)
        counts = np.bincount(ids, minlength=len(words))
        tags = trees.label[trees.leaves].astype(np.int64)

        tokens = np.flatnonzero(counts[ids] <= rare)
        first = np.zeros(len(ids), bool)
        first[trees.token_start[:-1]] = True
        names = [signature(trees.tokens[i], bool(first[i])) for i in tokens.tolist()]
        own = [signature(word, False) for word in words]
        signatures = {name: len(words) + i for i, name in enumerate(dict.fromkeys(names))}
        signatures[ANY] = len(words) + len(signatures)
        any_row = signatures[ANY]
        classes = np.array([signatures[name] for name in names], np.int64)
        signature_row = np.array([signatures.get(name, any_row) for name in own], np.int32)

        L, n_rows = len(trees.labels), any_row + 1
        open_tags = tags[tokens] if len(tokens) else tags  # without rare words an unknown one may be anything
        seen = [ids * L + tags, classes * L + tags[tokens], any_row * L + open_tags]
        of_signature = np.unique(np.concatenate(seen[1:]))
        for word in np.flatnonzero(counts <= rare).tolist():
            low, high = np.searchsorted(of_signature, signature_row[word] * L + np.array([0, L]))
            seen.append(of_signature[low:high] % L + word * L)
        pairs = np.unique(np.concatenate(seen))
        row_counts = np.concatenate([counts, np.bincount(classes - len(words), minlength=len(signatures))])
        row_counts[any_row] = len(open_tags)
        return cls(
            (*words, *signatures),
            len(words),
            row_counts.astype(np.int64),
            signature_row,
            np.searchsorted(pairs // L, np.arange(n_rows + 1)).astype(np.int64),
            (pairs % L).astype(np.int32),
            rare,
        )

    @property
    def entry_row(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.start))

    def encode(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The row of each word of a sentence: its own if it is known, otherwise that of its signature."""
        return np.array([self.row(word, i == 0) for i, word in enumerate(words)], np.int32)

    def row(self, word: str, first: bool) -> int:
        """The row of a word, possibly at the beginning of a sentence, where a capital may be ignored."""
        known = self._row.get(word)
        if known is None and first:
            known = self._row.get(word[:1].lower() + word[1:])
        return self.unknown_row(word, first) if known is None else known

    def unknown_row(self, word: str, first: bool) -> int:
        """The row that a word has if it is unknown."""
        return self._signature.get(signature(word, first), len(self.rows) - 1)

    def entries(self, rows: NDArray[np.integer], tags: NDArray[np.integer]) -> NDArray[np.int32]:
        """The entry of each row with a tag; -1 where the lexicon has none."""
        L = int(max(self.tag.max(initial=0), tags.max(initial=0))) + 1
        pairs = self.entry_row * L + self.tag
        wanted = rows.astype(np.int64) * L + tags
        place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        return np.where(pairs[place] == wanted, place, -1).astype(np.int32)

    def token_entries(self, trees: TreeArrays) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The entries of each token of some trees: of its word, and of its signature if it is rare (otherwise -1)."""
        tags = trees.label[trees.leaves]
        first = np.zeros(len(tags), bool)
        first[trees.token_start[:-1]] = True
        rows = np.array(
            [self.row(word, f) for word, f in zip(trees.tokens, first.tolist(), strict=True)], np.int64
        )
        unknown = np.full(len(rows), -1, np.int64)
        for i in np.flatnonzero((rows < self.n_words) & (self.count[rows] <= self.rare)).tolist():
            unknown[i] = self.unknown_row(trees.tokens[i], bool(first[i]))
        found = self.entries(np.maximum(unknown, 0), tags)
        return self.entries(rows, tags), np.where(unknown < 0, -1, found).astype(np.int32)
