"""Multi-word tokens: which words a token such as Greek «στο» stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from spinney.files import ModelFile, Parts
from spinney.front_coding import smallest
from spinney.views import Table

_BETWEEN = "\t"  # no form has one
_REMEMBERED = 1 << 16  # forms whose words are kept at hand


class Rule(NamedTuple):
    """How a token becomes words: what it begins and ends with is replaced, and between words stands a tab.

    Examples
    --------
    >>> Rule.of("iddi", ["i", "hi"])
    Rule(begin='', put_first='', end='ddi', put_last='\\thi')
    >>> Rule.of("roedd", ["yr", "oedd"]).applied("rydym")
    ['yr', 'ydym']
    """

    begin: str
    put_first: str
    end: str
    put_last: str

    @classmethod
    def of(cls, form: str, words: Sequence[str]) -> Self:
        """The rule that keeps the longest stretch of letters that the token and its words have in common."""
        target = _BETWEEN.join(words)
        start, at, size = _common(form, target)
        return cls(form[:start], target[:at], form[start + size :], target[at + size :])

    def applied(self, form: str) -> list[str] | None:
        """The words of a token; None if the rule does not fit it."""
        begin, put_first, end, put_last = self
        if not (form.startswith(begin) and form.endswith(end)) or len(form) < len(begin) + len(end):
            return None
        words = (put_first + form[len(begin) : len(form) - len(end)] + put_last).split(_BETWEEN)
        return words if all(words) else None

    def likeness(self, form: str, example: str) -> int:
        """How many letters two tokens share at the ends that the rule changes."""
        first = _shared(form, example) if self.begin or self.put_first else 0
        return first + (_shared(form[::-1], example[::-1]) if self.end or self.put_last else 0)


class Expansions:
    """The words of multi-word tokens: those seen in the treebank, and for others the rule of the most similar one.

    Examples
    --------
    >>> seen = Expansions(Counter({("στο", ("σ", "το")): 5, ("iddi", ("i", "hi")): 2}))
    >>> seen.words("Στο"), seen.words("arddi"), seen.words("zz")
    (['Σ', 'το'], ['ar', 'hi'], ['zz'])
    """

    def __init__(self, counts: Counter[tuple[str, tuple[str, ...]]]) -> None:
        self.counts = counts
        self.lexicon: dict[str, tuple[str, ...]] = {}
        self.rules: dict[Rule, list[str]] = {}  # with the tokens that show them
        for (form, words), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            self.lexicon.setdefault(form, words)
        for form, words in self.lexicon.items():
            self.rules.setdefault(Rule.of(form, words), []).append(form)
        self._found: dict[str, list[str]] = {}

    def words(self, form: str) -> list[str]:
        """The words of a token that is said to have several; itself alone if nothing like it was seen."""
        found = self._found.get(form)
        if found is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            found = self._found[form] = self._seen(form) or self._by_rule(form) or [form]
        return list(found)

    def _seen(self, form: str) -> list[str] | None:
        """As in the treebank, perhaps in other letter case."""
        if form in self.lexicon:
            return list(self.lexicon[form])
        for other in (form.lower(), form.capitalize()):
            if other in self.lexicon:
                words = self.lexicon[other]
                if len(form) > 1 and form.isupper():
                    return [word.upper() for word in words]
                first = words[0][0].upper() if form[0].isupper() else words[0][0].lower()
                return [first + words[0][1:], *words[1:]]
        return None

    def _by_rule(self, form: str) -> list[str] | None:
        best, found = (1, 0), None  # one letter alike is the least
        for rule, examples in self.rules.items():
            words = rule.applied(form)
            if words is None:
                continue
            likeness = max(rule.likeness(form, example) for example in examples)
            if (likeness, len(examples)) > best:
                best, found = (likeness, len(examples)), words
        return found

    def view(self, top: int = 20) -> Table:
        """The most frequent multi-word tokens and their words."""
        most = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:top]
        rows = [[form, " ".join(words), count] for (form, words), count in most]
        return Table("multiword_tokens", "Multi-word tokens", ["token", "words", "count"], rows)

    def rules_view(self, top: int = 20) -> Table:
        """The rules for tokens that were not seen, with how many tokens of the treebank follow each."""
        most = sorted(self.rules.items(), key=lambda item: (-len(item[1]), item[0]))[:top]
        rows = [[*_in_words(rule), len(examples), examples[0]] for rule, examples in most]
        header = ["token", "words", "tokens of this kind", "such as"]
        return Table("multiword_rules", "Rules for other multi-word tokens", header, rows)

    def parts(self) -> Parts:
        """What a model file holds."""
        entries = sorted(self.counts.items())
        counts = smallest(np.array([count for _, count in entries], np.int64))
        strings = {
            "forms": [form for (form, _), _ in entries],
            "words": [_BETWEEN.join(words) for (_, words), _ in entries],
        }
        return Parts({}, {"counts": counts}, strings)

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """The inverse of :meth:`parts`."""
        forms, words, counts = file.texts("forms"), file.texts("words"), file.tensor("counts", low=1)
        if not len(forms) == len(words) == len(counts):
            raise file.error("damaged: multi-word tokens and their words are not as many")
        expansions = [tuple(text.split(_BETWEEN)) for text in words]
        if not all(forms) or not all(map(all, expansions)):
            raise file.error("damaged: a multi-word token or one of its words is empty")
        return cls(Counter(dict(zip(zip(forms, expansions), counts.tolist()))))


def expansions_of(tokens: Iterable[tuple[str, Sequence[str]]]) -> Expansions:
    """What multi-word tokens and their words, one by one, teach."""
    return Expansions(Counter((form, tuple(words)) for form, words in tokens))


def _common(a: str, b: str) -> tuple[int, int, int]:
    """The longest common substring: where it begins in either, and how long it is; the first of equals."""
    best = (0, 0, 0)
    before = [0] * (len(b) + 1)  # lengths of common substrings that end one letter earlier in a
    for i, letter in enumerate(a):
        here = [0] * (len(b) + 1)
        for j, other in enumerate(b):
            if letter == other:
                here[j + 1] = size = before[j] + 1
                if size > best[2]:
                    best = (i + 1 - size, j + 1 - size, size)
        before = here
    return best


def _shared(a: str, b: str) -> int:
    """How many letters two strings begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _in_words(rule: Rule) -> tuple[str, str]:
    token = f"{rule.begin}…{rule.end}"
    return token, f"{rule.put_first}…{rule.put_last}".replace(_BETWEEN, " ")
