"""What a tagger sees of a word: its form, its letters from both ends, its shape, and the words around it.

A word in its place shows the observations of five words: its own, and less of the two words before and after. What a
word shows in each of these roles depends on the word alone, so it is found once for each distinct word; a sentence is
then put together from numbers.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.structure import WordClasses, WordVectors

#: What stands before the first word of a sentence and after its last.
EDGE = "\x02"
#: Where the words are, relative to the word itself, of whose observations it shows some.
OFFSETS = (0, -1, 1, -2, 2)
LONGEST = 10  # letters of the longest prefix and suffix
_PATHS = (4, 6, 10)  # lengths of prefixes of paths of word classes
_MOST_KNOWN = 1 << 18  # words whose observations are remembered

#: A word, and whether it is the first of its sentence: on that depends what a capital letter means.
Key = tuple[str, bool]
_Row = tuple[list[int], list[float]]


class Seen(NamedTuple):
    """The observations of tokens: those of token t are ``ids[ptr[t]:ptr[t + 1]]``, with their ``values``."""

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32]


def shape(form: str) -> str:
    """The kinds of characters of a word, each run of a kind once.

    Examples
    --------
    >>> shape("McDonald's"), shape("1,000"), shape("COVID-19"), shape("தமிழ்")
    ('AaAa.a', '0.0', 'A.0', 'o')
    """
    kinds: list[str] = []
    for letter in form:
        category = unicodedata.category(letter)
        if category in ("Lu", "Lt"):
            kind = "A"
        elif category == "Ll":
            kind = "a"
        elif category[0] in "LM":
            kind = "o"
        elif category[0] == "N":
            kind = "0"
        elif category[0] in "ZC":
            kind = " "
        else:
            kind = "."
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return "".join(kinds)


def own(form: str, first: bool) -> list[str]:
    """What a word shows of itself.

    Examples
    --------
    >>> own("Ab", False)
    ['', 'w=ab', 'c=Ab', 'p1=a', 'p2=ab', 's1=b', 's2=ab', 'h=Aa', 'n=2']
    """
    lower = form.lower()
    found = ["", f"w={lower}"]
    if lower != form:
        found.append(f"c={form}")
    found += [f"p{k}={lower[:k]}" for k in range(1, min(len(lower), LONGEST) + 1)]
    found += _suffixes(lower)
    if (bare := without_marks(lower)) != lower:
        found = list(dict.fromkeys(found + _suffixes(bare)))
    seen = shape(form)
    found.append(f"{'H' if first else 'h'}={seen}")
    found.append(f"n={min(len(form), 12)}")
    return found


def _suffixes(text: str) -> list[str]:
    return [f"s{k}={text[-k:]}" for k in range(1, min(len(text), LONGEST) + 1)]


def without_marks(text: str) -> str:
    """Letters without accents and other marks: endings that differ in nothing else are also seen as the same.

    Examples
    --------
    >>> without_marks("házból"), without_marks("οδός"), without_marks("walked")
    ('hazbol', 'οδος', 'walked')
    """
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def beside(form: str, offset: int) -> list[str]:
    """What a word shows to another that is ``offset`` words before it (or after it, where that is negative).

    Examples
    --------
    >>> beside("cats", -1), beside("cats", 2), beside(EDGE, 1)
    (['-1w=cats', '-1s1=s', '-1s2=ts', '-1s3=ats', '-1h=a'], ['+2w=cats'], ['+1w=\\x02'])
    """
    if form == EDGE:
        return [f"{offset:+d}w={EDGE}"]
    lower = form.lower()
    found = [f"{offset:+d}w={lower}"]
    if abs(offset) == 1:
        found += [f"{offset:+d}s{k}={lower[-k:]}" for k in range(1, 1 + min(len(lower), 3))]
        found.append(f"{offset:+d}h={shape(form)}")
    return found


class Observer:
    """Turns sentences into the numbers of their observations.

    Parameters
    ----------
    number
        The number of each known observation.
    classes, vectors
        Structures of raw text, by name. A word shows the beginnings of the path of its class, also to the words beside
        it, and the numbers of its vector, scaled to length 1.
    """

    def __init__(
        self,
        number: Mapping[str, int],
        classes: Mapping[str, WordClasses] | None = None,
        vectors: Mapping[str, WordVectors] | None = None,
    ) -> None:
        self.number = number
        self.classes = dict(classes or {})
        self.vectors = dict(vectors or {})
        self._rows: dict[Key, list[_Row]] = {}

    @classmethod
    def learn(
        cls,
        sentences: Iterable[Sequence[str]],
        min_count: int = 2,
        classes: Mapping[str, WordClasses] | None = None,
        vectors: Mapping[str, WordVectors] | None = None,
    ) -> Observer:
        """An observer that knows what occurs at least ``min_count`` times in these sentences.

        Examples
        --------
        >>> observer = Observer.learn([["a", "b"], ["a", "c"]])
        >>> sorted(observer.number)[:4]
        ['', '+1h=a', '+1s1=a', '+1w=\\x02']
        """
        observer = cls({}, classes, vectors)
        keys: Counter[Key] = Counter()
        for sentence in sentences:
            keys.update((form, i == 0) for i, form in enumerate(sentence))
            keys[EDGE, False] += 1
        counts: Counter[str] = Counter()
        for key, count in keys.items():
            for names in observer._names(key):
                for name in names:
                    counts[name] += count
        known = [name for name, count in counts.items() if count >= min_count]
        observer.number = {name: i for i, name in enumerate(known)}
        return observer

    @property
    def is_beside(self) -> NDArray[np.bool_]:
        """Which observations are of other words than the word itself."""
        return np.array([name[:1] in ("+", "-") and name[1:2].isdigit() for name in self.number], np.bool_)

    def keep(self, used: NDArray[np.bool_]) -> Observer:
        """An observer that knows only some of the observations, in the same order."""
        known = [name for name, keep in zip(self.number, used.tolist()) if keep]
        return Observer({name: i for i, name in enumerate(known)}, self.classes, self.vectors)

    def _names(self, key: Key) -> list[dict[str, float]]:
        """What a word shows in each role of :data:`OFFSETS`, with values."""
        form, first = key
        shown = [[] if form == EDGE else own(form, first), *(beside(form, offset) for offset in OFFSETS[1:])]
        names = [dict.fromkeys(one, 1.0) for one in shown]
        for of, classes in self.classes.items():
            prefixes = _prefixes(classes, form)
            for role, offset in enumerate(OFFSETS):
                at = f"{offset:+d}" if offset else ""
                names[role].update(dict.fromkeys([f"{at}{of}={prefix}" for prefix in prefixes], 1.0))
        for of, vectors in self.vectors.items():
            if form != EDGE and vectors.gives(form):
                names[0].update(_numbers_of(vectors, form, of))
        return names

    def _row(self, key: Key) -> list[_Row]:
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= _MOST_KNOWN:
                self._rows.clear()
            number = self.number
            row = []
            for names in self._names(key):
                known = [(number[name], value) for name, value in names.items() if name in number]
                row.append(([i for i, _ in known], [value for _, value in known]))
            self._rows[key] = row
        return row

    def observe(self, sentences: Sequence[Sequence[str]]) -> Seen:
        """The observations of the tokens of all sentences, one after the other."""
        from spinney.tagging.morphology._lattice_kernels import gather

        index: dict[Key, int] = {(EDGE, False): 0}
        types: list[int] = []
        offsets = [0]
        for sentence in sentences:
            types += [index.setdefault((form, i == 0), len(index)) for i, form in enumerate(sentence)]
            offsets.append(len(types))
        rows = [self._row(key) for key in index]
        ptr = [0]
        ids: list[int] = []
        values: list[float] = []
        for role in range(len(OFFSETS)):
            for row in rows:
                ids += row[role][0]
                values += row[role][1]
                ptr.append(len(ids))
        return Seen(
            *gather(
                np.array(offsets, np.int64),
                np.array(types, np.int32),
                np.array(OFFSETS, np.int64),
                np.array(ptr, np.int64),
                np.array(ids, np.int32),
                np.array(values, np.float32),
                len(rows),
            )
        )


def _prefixes(classes: WordClasses, form: str) -> list[str]:
    """The beginnings of the path of a word's class; its number, if classes have no paths; nothing for other words."""
    number = None if form == EDGE else classes.get(form)
    if number is None:
        return []
    path = str(number) if classes.paths is None else classes.paths[number]
    return [path[:length] for length in _PATHS if length < len(path)] * (classes.paths is not None) + [
        f"{path}."
    ]


def _numbers_of(vectors: WordVectors, form: str, name: str) -> dict[str, float]:
    row = np.asarray(vectors[form], np.float64)
    length = float(np.sqrt(row @ row))
    return {f"{name}:{d}": float(x) for d, x in enumerate(row / length) if x} if length > 0 else {}
