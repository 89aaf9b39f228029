"""Sentences to parse, from text in several formats or from memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.lines import ReadReport, fields, read_blocks
from spinney.corpus.raw import read_prose
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError
from spinney.parsing.ptb import bracket_words, treebank_words

_BATCH = 100  # sentences per batch


class Wanted(NamedTuple):
    """A sentence to parse; an empty one for an empty line of the text.

    Attributes
    ----------
    number : int
        From 1, in the text.
    forms : list of str
        Its words as they are in the text.
    words : list of str
        The words as the treebank writes them.
    tags : list of str, optional
        The tags of its words, if given.
    sentence : Sentence, optional
        The sentence of a CoNLL-U file.
    """

    number: int
    forms: list[str]
    words: list[str]
    tags: list[str] | None = None
    sentence: Sentence | None = None


@dataclass(frozen=True)
class SentenceSource:
    """A text, and how sentences are read from it.

    ``data`` is a file of a ``format``, or sentences: words, or sentences of CoNLL-U. ``known`` are words of the
    treebank, which are not converted to the conventions of the Penn Treebank. A sentence of more than ``max_length``
    words is an error.
    """

    data: str | Iterable[Sequence[str] | Sentence]
    format: str
    encoding: str
    on_error: str
    max_length: int | None
    report: ReadReport
    known: Container[str] = frozenset()

    def batches(self) -> Iterator[list[Wanted]]:
        """The sentences in batches; a skipped one becomes an empty one, so that the numbering stays."""
        if not isinstance(self.data, str):
            found = self._given(self.data)
        else:
            readers = {"conllu": self._conllu, "prose": self._raw}
            found = readers.get(self.format, self._lines)(self.data)
        yield from in_batches(found, _BATCH, self.data if isinstance(self.data, str) else None)

    def _lines(self, path: str) -> Iterator[Wanted]:
        lines = (line for block in read_blocks(path, self.encoding) for line in block.each_line())
        for number, line in enumerate(lines, 1):
            forms: list[str] = []
            tags = None
            try:
                forms = fields(line.decode())
                if self.format == "tagged":
                    forms, tags = _split_tags(forms)
                self._check_length(forms)
            except InputError as error:
                self._refuse(InputError(error.what, path=path, line=number, remedy=error.remedy))
                forms, tags = [], tags and []
            self.report.read += bool(forms)
            self.report.empty += not forms
            yield Wanted(number, forms, bracket_words(forms), tags)

    def _raw(self, path: str) -> Iterator[Wanted]:
        for number, forms in enumerate(read_prose(path, **self._how), 1):
            kept = self._kept(forms, number)
            yield Wanted(number, kept, treebank_words(kept, self.known))

    def _conllu(self, path: str) -> Iterator[Wanted]:
        return self._given(read_conllu(path, **self._how))

    def _given(self, sentences: Iterable[Any]) -> Iterator[Wanted]:
        for number, one in enumerate(sentences, 1):
            sentence = one if isinstance(one, Sentence) else None
            forms = self._kept(list(one) if sentence is None else sentence.forms, number)
            words = bracket_words(forms) if sentence is None else forms
            yield Wanted(number, forms, words, sentence=sentence if forms else None)

    @property
    def _how(self) -> dict[str, Any]:
        return {"encoding": self.encoding, "on_error": self.on_error, "report": self.report}

    def _kept(self, forms: list[str], number: int) -> list[str]:
        """The words of a sentence, none of one that is too long and skipped."""
        try:
            self._check_length(forms)
        except InputError as error:
            path = self.data if isinstance(self.data, str) else None
            self._refuse(InputError(f"sentence {number}: {error.what}", path=path, remedy=error.remedy))
            return []
        return forms

    def _check_length(self, words: Sequence[str]) -> None:
        if self.max_length is not None and len(words) > self.max_length:
            raise InputError(
                f"{len(words)} words in a sentence",
                remedy="split it, raise max_length (memory grows with its square, time with its cube), "
                "or skip such sentences (on_error='skip')",
            )

    def _refuse(self, error: InputError) -> None:
        if self.on_error == "raise":
            raise error
        self.report.skip(error)


def _split_tags(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words and tags from ``word/TAG``: a word may contain slashes, a tag may not.

    Examples
    --------
    >>> _split_tags(["1/2/CD", "of/IN"])
    (['1/2', 'of'], ['CD', 'IN'])
    """
    pairs = [token.rpartition("/") for token in tokens]
    for token, (word, _, tag) in zip(tokens, pairs):
        if not word or not tag:
            raise InputError(f"{token!r} is not word/TAG", remedy="the format lines takes words without tags")
    return [word for word, _, _ in pairs], [tag for _, _, tag in pairs]
