"""The words of sentences as numbers: one 64-bit hash for each value of each column.

Hashes stand for the strings everywhere, so that a parser needs no vocabulary. They do not depend on the process,
and with 64 bits two of some millions of strings are the same with a probability below one in a million.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.conllu import Sentence
from spinney.structure import WordClasses

Hashes = NDArray[np.uint64]


def hashed(text: str) -> int:
    """The 64-bit hash of a string.

    Examples
    --------
    >>> hashed("dog") == hashed("dog"), hashed("dog") == hashed("dogs"), hashed("dog") < 2**64
    (True, False, True)
    """
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


#: What is seen beyond the ends of a sentence, and at its root.
BEFORE, AFTER, ROOT = hashed("<before>"), hashed("<after>"), hashed("<root>")
NO_SIBLING = hashed("<none>")
_MOST_KNOWN: Final = 1 << 18  # forms, and FEATS, whose hashes are remembered


@dataclass(frozen=True)
class Nodes:
    """The nodes of some sentences: in each, the root and then its words.

    Attributes
    ----------
    words : array [sentences + 1]
        Offsets of words; the nodes of sentence s begin at ``words[s] + s``.
    columns : array [columns, nodes]
        Hashes.
    feat_ptr, feat_attribute, feat_value : arrays
        The attributes of node i are ``feat_ptr[i]`` to ``feat_ptr[i + 1]``.
    """

    words: NDArray[np.int64]
    columns: Hashes
    feat_ptr: NDArray[np.int64]
    feat_attribute: Hashes
    feat_value: Hashes

    def __len__(self) -> int:
        return len(self.words) - 1


class _Cache(dict[str, int]):
    """Hashes of strings, each computed once."""

    def __missing__(self, text: str) -> int:
        if len(self) > 1 << 20:
            self.clear()
        value = self[text] = hashed(text)
        return value


class NodeReader:
    """Makes nodes of sentences, with the columns that some templates look at."""

    def __init__(self, columns: Sequence[str], classes: Mapping[str, WordClasses] | None = None) -> None:
        self.columns = list(columns)
        self.classes = dict(classes or {})
        self._cache = _Cache()
        self._of_form: dict[str, list[int]] = {}
        self._feats: dict[str, tuple[list[int], list[int]]] = {"_": ([], [])}
        self._form_columns = [name for name in self.columns if name not in _TAGS]

    def read(self, sentences: Sequence[Sentence]) -> Nodes:
        """The nodes of sentences."""
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        words = np.concatenate([[0], np.cumsum(lengths)])
        n = int(words[-1]) + len(sentences)
        roots = words[:-1] + np.arange(len(sentences))
        is_word = np.ones(n, np.bool_)
        is_word[roots] = False
        columns = np.full((len(self.columns), n), ROOT, np.uint64)
        by_form = self._by_form([form for sentence in sentences for form in sentence.forms])
        for row, name in enumerate(self.columns):
            if name in _TAGS:
                values = [value for sentence in sentences for value in _TAGS[name](sentence)]
                columns[row, is_word] = self._hashes(values)
            else:
                columns[row, is_word] = by_form[:, self._form_columns.index(name)]
        return Nodes(words, columns, *self._attributes(sentences))

    def seen(self, sentence: Sentence, word: int, column: str) -> str:
        """What a column has for a word of a sentence, counted from 0."""
        if column in _TAGS:
            return _TAGS[column](sentence)[word]
        return self._seen(sentence.forms[word], column)

    def _hashes(self, values: list[str]) -> Hashes:
        return np.fromiter(map(self._cache.__getitem__, values), np.uint64, len(values))

    def _by_form(self, forms: list[str]) -> Hashes:
        if len(self._of_form) > _MOST_KNOWN:
            self._of_form = {}
        known = self._of_form  # threads share a reader: another may begin anew meanwhile
        for form in forms:
            if form not in known:
                known[form] = [self._cache[self._seen(form, name)] for name in self._form_columns]
        flat = [known[form] for form in forms]
        return np.array(flat, np.uint64).reshape(len(forms), len(self._form_columns))

    def _seen(self, form: str, name: str) -> str:
        """What a column that depends on the form alone has for it."""
        if name in _FORMS:
            return _FORMS[name](form)
        of, _, prefix = name.partition(":")
        classes = self.classes[of]
        number = classes.get(form, classes.get(form.lower(), -1))
        if number is None or number < 0:
            return "<unknown>"
        path = classes.paths[number] if classes.paths is not None else str(number)
        return path[: int(prefix)] if prefix and classes.paths is not None else path

    def _attributes(self, sentences: Sequence[Sentence]) -> tuple[NDArray[np.int64], Hashes, Hashes]:
        counts: list[int] = []
        attributes: list[int] = []
        values: list[int] = []
        if len(self._feats) > _MOST_KNOWN:
            self._feats = {"_": ([], [])}
        known = self._feats
        for sentence in sentences:
            counts.append(0)
            for feats in sentence.feats or ["_"] * len(sentence):
                if feats not in known:
                    pairs = [pair.partition("=") for pair in feats.split("|")]
                    known[feats] = (
                        [self._cache[name] for name, _, _ in pairs],
                        [self._cache["=".join((name, value))] for name, _, value in pairs],
                    )
                own = known[feats]
                counts.append(len(own[0]))
                attributes += own[0]
                values += own[1]
        ptr = np.concatenate([[0], np.cumsum(np.array(counts, np.int64))])
        return ptr, np.array(attributes, np.uint64), np.array(values, np.uint64)


def _shape(form: str) -> str:
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else "-" for c in form[:8]]
    return "".join(kind for i, kind in enumerate(kinds) if not i or kinds[i - 1] != kind)


_FORMS: Final[dict[str, Callable[[str], str]]] = {
    "form": lambda form: form,
    "lower": lambda form: form.lower(),
    "suffix2": lambda form: form.lower()[-2:],
    "suffix3": lambda form: form.lower()[-3:],
    "prefix3": lambda form: form.lower()[:3],
    "shape": _shape,
}
_TAGS: Final[dict[str, Callable[[Sentence], list[str]]]] = {
    "lemma": lambda s: s.lemmas or ["_"] * len(s),
    "upos": lambda s: s.upos or ["_"] * len(s),
    "xpos": lambda s: s.xpos or ["_"] * len(s),
    "feats": lambda s: s.feats or ["_"] * len(s),
}
