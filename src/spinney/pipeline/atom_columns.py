"""What the tokeniser's CRF sees at an atom: columns, the patterns over them, and what a treebank says of words.

The question at each atom is what ends after it. Patterns look at the atoms around, at whether white space follows, at
how words are written elsewhere (a capital on a word that is otherwise small begins a sentence), at quotations, and at
words with spaces, such as those of several syllables in Vietnamese.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple, Self

import numpy as np

from spinney.corpus.batches import numbered
from spinney.corpus.vocabulary import Numbering
from spinney.files import ModelFile, Parts
from spinney.front_coding import smallest
from spinney.pipeline.atoms import Look, Span, look
from spinney.tagging.columns import Columns

#: The labels: the token goes on, it ends, the sentence ends with it; the last two again for multi-word tokens.
INSIDE, TOKEN, SENTENCE, MULTIWORD, MULTIWORD_SENTENCE = "I", "T", "S", "M", "MS"

_LONGEST = 8  # atoms of a token with spaces
_OPENING, _CLOSING, _EITHER = frozenset("“„«‹"), frozenset("”»›"), '"'
_FAR = 150  # atoms after which a quotation that was not closed is forgotten

COLUMNS: Final = (
    "form", "shape", "space", "coarse", "length", "case", "covered", "begun", "ended",
    "mark", "quoted",
)  # fmt: skip

#: The columns by number, below, in the order of COLUMNS.
PATTERNS: Final = r"""
# Words.
Uw-2:%lower[-2,0]
Uw-1:%lower[-1,0]
Uw:%lower[0,0]
Uw+1:%lower[1,0]
Uw+2:%lower[2,0]
Uform:%x[0,0]%x[0,2]
Uw-1w:%lower[-1,0]%x[-1,2]%lower[0,0]%x[0,2]
Uww+1:%lower[0,0]%x[0,2]%lower[1,0]%x[1,2]
Uw-1ww+1:%lower[-1,0]%x[-1,2]%lower[0,0]%x[0,2]%lower[1,0]

# Shapes.
Us-1:%x[-1,1]%x[-1,2]
Us:%x[0,1]%x[0,2]
Us+1:%x[1,1]%x[1,2]
Uss+1:%x[0,1]%x[0,2]%x[1,1]
Us-1s:%x[-1,1]%x[-1,2]%x[0,1]%x[0,2]
Us-1ss+1:%x[-1,1]%x[-1,2]%x[0,1]%x[0,2]%x[1,1]
Uss+1s+2:%x[0,1]%x[0,2]%x[1,1]%x[1,2]%x[2,1]
Us-1..s+2:%x[-1,1]%x[-1,2]%x[0,1]%x[0,2]%x[1,1]%x[1,2]%x[2,1]
Us-2..s+1:%x[-2,1]%x[-2,2]%x[-1,1]%x[-1,2]%x[0,1]%x[0,2]%x[1,1]
Usw+1:%x[0,1]%x[0,2]%lower[1,0]
Uw-1ss+1:%lower[-1,0]%x[-1,2]%x[0,1]%x[0,2]%x[1,1]
Uws+1:%lower[0,0]%x[0,2]%x[1,1]

# Coarser shapes over longer stretches, and lengths.
Uc-1c:%x[-1,3]%x[-1,2]%x[0,3]%x[0,2]
Ucc+1:%x[0,3]%x[0,2]%x[1,3]%x[1,2]
Uc-1cc+1:%x[-1,3]%x[-1,2]%x[0,3]%x[0,2]%x[1,3]
Uc-1..c+2:%x[-1,3]%x[-1,2]%x[0,3]%x[0,2]%x[1,3]%x[1,2]%x[2,3]%x[2,2]
Uc-2..c+2:%x[-2,3]%x[-2,2]%x[-1,3]%x[-1,2]%x[0,3]%x[0,2]%x[1,3]%x[1,2]%x[2,3]
Ucc+1c+2c+3:%x[0,3]%x[0,2]%x[1,3]%x[1,2]%x[2,3]%x[2,2]%x[3,3]
Un:%x[0,4]%x[0,3]%x[0,2]%x[1,3]%x[1,2]
Un-1:%x[-1,4]%x[-1,3]%x[-1,2]%x[0,3]%x[0,2]%x[1,3]
Unn+1:%x[0,4]%x[0,1]%x[0,2]%x[1,1]%x[1,4]

# Beginnings and ends of words.
Usuffix2:%suffix[0,0,2]%x[0,2]
Usuffix3:%suffix[0,0,3]%x[0,2]
Usuffix4:%suffix[0,0,4]%x[0,2]
Usuffix5:%suffix[0,0,5]%x[0,2]
Usuffix6:%suffix[0,0,6]%x[0,2]
Usuffix7:%suffix[0,0,7]%x[0,2]
Usuffix8:%suffix[0,0,8]%x[0,2]
Usuffix2s:%suffix[0,0,2]%x[0,2]%x[1,1]
Uprefix3:%prefix[0,0,3]
Uprefix3+1:%prefix[1,0,3]%x[0,2]
Usuffix2-1:%suffix[-1,0,2]%x[0,3]%x[0,2]
Usuffix3-1:%suffix[-1,0,3]%x[0,3]%x[0,2]
Usuffix4-1:%suffix[-1,0,4]%x[0,3]%x[0,2]
Usuffix5-1:%suffix[-1,0,5]%x[0,3]%x[0,2]

# How the word is written elsewhere.
Ucase+1:%x[0,3]%x[0,2]%x[1,5]
Ucase+1+2:%x[-1,3]%x[0,3]%x[0,2]%x[1,3]%x[1,5]%x[2,5]
Ucase0+1:%x[0,5]%x[0,2]%x[1,5]%x[2,3]
Ucase+2:%x[0,3]%x[0,2]%x[1,3]%x[1,2]%x[2,5]
Ucase-1+1:%x[-1,1]%x[-1,2]%x[0,3]%x[0,2]%x[1,5]

# Quotations.
Uq:%x[0,9]%x[0,10]
Uqq+1:%x[0,9]%x[0,10]%x[0,3]%x[0,2]%x[1,3]%x[1,9]
Uc-1qq+1:%x[-1,3]%x[0,9]%x[0,10]%x[0,3]%x[0,2]%x[1,3]%x[1,9]
Uqq+1c+2:%x[0,10]%x[0,3]%x[0,2]%x[1,3]%x[1,9]%x[2,3]

# Words with spaces.
Uknown:%x[0,6]%x[0,2]
Uknown3:%x[0,6]%x[0,7]%x[0,8]
Uknown+1:%x[0,6]%x[1,7]
Uknowns:%x[0,6]%x[0,1]%x[0,2]%x[1,1]
Uknown-1+1:%x[-1,6]%x[0,6]%x[1,6]

B
"""


class Stretch(NamedTuple):
    """A stretch of text with its atoms and, if it comes from a treebank, the label of each."""

    text: str
    spans: list[Span]
    labels: list[str] | None = None

    @property
    def forms(self) -> list[str]:
        """The atoms."""
        return [self.text[start:end] for start, end in self.spans]

    @property
    def spaced(self) -> list[bool]:
        """Whether white space follows each atom; it does after the last."""
        return [end < start for (_, end), (start, _) in pairwise(self.spans)] + [True] * bool(self.spans)


class Known:
    """What a treebank says of words: how each is written within sentences, and which tokens have spaces.

    Examples
    --------
    >>> known = Known(Counter({"hà nội": 2}), small=Counter({"the": 3}), capital=Counter({"anna": 1}))
    >>> known.case("The", own=False), known.case("Anna", own=False), known.case("Anna", own=True)
    ('small', 'capital', 'new')
    """

    def __init__(self, phrases: Counter[str], small: Counter[str], capital: Counter[str]) -> None:
        self.phrases, self.small, self.capital = phrases, small, capital
        self._begun = {phrase[:end] for phrase in phrases for end in range(1, len(phrase))}

    @classmethod
    def of(cls, stretches: Iterable[Stretch]) -> Self:
        """What labelled stretches say."""
        phrases: Counter[str] = Counter()
        small: Counter[str] = Counter()
        capital: Counter[str] = Counter()
        for stretch in stretches:
            looks, spaced, labels = list(map(look, stretch.forms)), stretch.spaced, stretch.labels or []
            for start, end in _tokens(labels):
                if any(spaced[start : end - 1]):
                    phrases[_joined(looks, spaced, start, end)] += 1
            for i in _within_sentences(looks, labels):
                (capital if looks[i].coarse == "A" else small)[looks[i].lower] += 1
        return cls(phrases, small, capital)

    def case(self, form: str, own: bool) -> str:
        """How a word with a capital is written within sentences; ``own`` is whether this occurrence was counted."""
        lower = look(form).lower
        small, capital = self.small[lower], self.capital[lower] - own
        if not capital:
            return "small" if small else "new"
        return "capital" if not small else "mostly small" if small > capital else "mostly capital"

    def matches(
        self, looks: Sequence[Look], spaced: Sequence[bool], labels: Sequence[str] | None
    ) -> list[Span]:
        """Where known tokens with spaces stand; one that the labels have there must have been seen elsewhere, too."""
        found: list[Span] = []
        if not self.phrases:
            return found
        own = set(_tokens(labels)) if labels else set()
        for start in range(len(looks)):
            phrase = looks[start].lower
            for end in range(start + 1, min(start + _LONGEST, len(looks))):
                if phrase not in self._begun:
                    break
                phrase += " " * spaced[end - 1] + looks[end].lower
                if self.phrases.get(phrase, 0) > ((start, end + 1) in own):
                    found.append((start, end + 1))
        return found

    def parts(self) -> Parts:
        """What a model file holds."""
        words = sorted(self.small.keys() | self.capital.keys())
        phrases = sorted(self.phrases)
        tensors = {
            "small": smallest(np.array([self.small[word] for word in words], np.int64)),
            "capital": smallest(np.array([self.capital[word] for word in words], np.int64)),
            "phrase_counts": smallest(np.array([self.phrases[phrase] for phrase in phrases], np.int64)),
        }
        return Parts({}, tensors, {"words": words, "phrases": phrases})

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """The inverse of :meth:`parts`."""
        words, phrases = file.texts("words"), file.texts("phrases")
        small, capital, counts = (file.tensor(name, low=0) for name in ("small", "capital", "phrase_counts"))
        if not len(words) == len(small) == len(capital) or len(phrases) != len(counts):
            raise file.error("damaged: words and their counts are not as many")
        return cls(
            Counter(dict(zip(phrases, counts.tolist()))),
            Counter({word: n for word, n in zip(words, small.tolist()) if n}),
            Counter({word: n for word, n in zip(words, capital.tolist()) if n}),
        )


def atom_columns(stretches: Sequence[Stretch], known: Known, pool: Numbering | None = None) -> Columns:
    """The columns of :data:`COLUMNS` for all atoms, each stretch as a sentence; labels, if there are any, come last.

    An atom of a labelled stretch does not count as evidence for itself.
    """
    pool = Numbering() if pool is None else pool
    width = len(COLUMNS) + (bool(stretches) and stretches[0].labels is not None)
    columns: list[list[str]] = [[] for _ in range(width)]
    for stretch in stretches:
        for column, values in zip(columns, _seen(stretch, known), strict=True):
            column += values
    lengths = np.fromiter((len(stretch.spans) for stretch in stretches), np.int64, len(stretches))
    symbols = np.array([numbered(column, pool) for column in columns], np.int32)
    return Columns(np.concatenate([[0], np.cumsum(lengths)]), symbols, pool)


def _seen(stretch: Stretch, known: Known) -> list[list[str]]:
    forms, spaced, labels = stretch.forms, stretch.spaced, stretch.labels
    looks = list(map(look, forms))
    shapes, coarse, lengths, _ = map(list, zip(*looks)) if looks else ([], [], [], [])
    own = set(_within_sentences(looks, labels)) if labels else ()
    case = [
        known.case(form, i in own) if kind == "A" else "-"
        for i, (form, kind) in enumerate(zip(forms, coarse))
    ]
    space = ["_" if one else "+" for one in spaced]
    columns = [forms, shapes, space, coarse, lengths, case]
    columns += [*_covered(len(forms), known.matches(looks, spaced, labels)), *_quotations(forms, spaced)]
    return columns if labels is None else [*columns, labels]


def _covered(n: int, matches: list[Span]) -> list[list[str]]:
    """At each atom, of how many atoms the longest known token is that goes on after it, begins and ends there."""
    covered, begun, ended = [0] * n, [0] * n, [0] * n
    for start, end in matches:
        size = end - start
        begun[start], ended[end - 1] = max(begun[start], size), max(ended[end - 1], size)
        for i in range(start, end - 1):
            covered[i] = max(covered[i], size)
    return [list(map(str, column)) for column in (covered, begun, ended)]


def _quotations(forms: list[str], spaced: list[bool]) -> tuple[list[str], list[str]]:
    """Which marks open (``o``) and close (``c``) a quotation, and which atoms stand within one.

    A mark that looks the same on both sides goes by the white space around it or, where that does not tell, is taken
    for the other of the pair (``O``, ``C``).
    """
    marks, quoted = ["-"] * len(forms), ["-"] * len(forms)
    opened = None
    for i, form in enumerate(forms):
        if form not in _OPENING and form not in _CLOSING and form != _EITHER:
            continue
        if opened is not None:
            _fill(quoted, opened, i)
            opened = opened if i - opened < _FAR else None
        if form == _EITHER and spaced[i] == (i == 0 or spaced[i - 1]):
            marks[i] = "O" if opened is None else "C"
        elif form == _EITHER:
            marks[i] = "c" if spaced[i] else "o"
        else:
            closes_low = form == "“" and opened is not None and forms[opened] == "„"
            marks[i] = "c" if form in _CLOSING or closes_low else "o"
        opened = i if marks[i] in "oO" else None
    if opened is not None:
        _fill(quoted, opened, len(forms))
    return marks, quoted


def _fill(quoted: list[str], start: int, end: int) -> None:
    end = min(end, start + _FAR)
    quoted[start:end] = ["q"] * (end - start)


def _tokens(labels: Sequence[str]) -> list[Span]:
    """The tokens of labelled atoms, as ranges of atoms."""
    ends = [i + 1 for i, label in enumerate(labels) if label != INSIDE]
    return list(pairwise(chain([0], ends)))


def _within_sentences(looks: Sequence[Look], labels: Sequence[str]) -> list[int]:
    """The atoms of letters that are not the first of their sentence."""
    within, first = [], True
    for i, (of, label) in enumerate(zip(looks, labels)):
        if of.coarse in ("a", "A"):
            if not first:
                within.append(i)
            first = False
        if label in (SENTENCE, MULTIWORD_SENTENCE):
            first = True
    return within


def _joined(looks: Sequence[Look], spaced: Sequence[bool], start: int, end: int) -> str:
    return "".join(looks[i].lower + " " * (spaced[i] and i < end - 1) for i in range(start, end))
