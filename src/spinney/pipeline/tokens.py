"""A tokeniser and sentence splitter that is learned from a treebank, and segments text of any size."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import surface_tokens
from spinney.errors import InputError
from spinney.files import ModelFile, Parts
from spinney.front_coding import smallest
from spinney.model import FACTS, Contents, Model
from spinney.pipeline.atom_columns import (
    INSIDE,
    MULTIWORD,
    MULTIWORD_SENTENCE,
    PATTERNS,
    SENTENCE,
    TOKEN,
    Known,
    Stretch,
    atom_columns,
)
from spinney.pipeline.atoms import atoms
from spinney.pipeline.multiwords import Expansions, expansions_of
from spinney.pipeline.nesting import nested
from spinney.pipeline.paragraphs import read_paragraphs
from spinney.pipeline.segmented import Segmented
from spinney.pipeline.treebank_text import closed_up, ends_within_letters, stretch_of, treebank_texts
from spinney.settings import Settings
from spinney.tagging import Tagger
from spinney.views import Extra, Facts, Table, Views

#: What each label of an atom says.
LABELS = {
    INSIDE: "the token goes on",
    TOKEN: "a token ends",
    SENTENCE: "a sentence ends",
    MULTIWORD: "a multi-word token ends",
    MULTIWORD_SENTENCE: "a sentence ends, with a multi-word token",
}

_UNSPACED = 0.01  # share of tokens that end within letters, from which every letter is an atom
_SPACED = 0.01  # share of tokens with spaces, from which the weights are not sparse
_BATCH = 50_000  # letters segmented at once
_MARGIN = 100  # atoms at the end of a part of a paragraph, about which the next part may say more
_HUGE = 1_000_000  # letters held, at most, for want of a place to end


class Tokeniser(Model):
    """Splits text into sentences, tokens and words as a treebank does.

    A CRF labels each atom of the text (:mod:`spinney.pipeline.atoms`): the token goes on, it ends, or the sentence ends
    with it, and whether the token is a multi-word token. Multi-word tokens get the words that they had in the treebank,
    or those that the rule of a similar one gives (:mod:`spinney.pipeline.multiwords`).

    Attributes
    ----------
    tagger : Tagger
        The CRF.
    known : Known
        How words are written within sentences, and which tokens have spaces.
    expansions : Expansions
        The words of multi-word tokens.
    abbreviations : Counter
        The tokens of the treebank with letters and a point at their end.
    letters : bool
        Whether every letter is an atom, as in a script without spaces.

    Examples
    --------
    >>> dogs = Sentence(["Dogs", "bark", "."], misc=["_", "SpaceAfter=No", "_"])
    >>> cats = Sentence(["Cats", "sleep", "."], misc=["_", "SpaceAfter=No", "_"])
    >>> tokeniser = Tokeniser.train([dogs, cats] * 10)
    >>> [sentence.forms for sentence in tokeniser.segment("Cats bark. Dogs sleep.")]
    [['Cats', 'bark', '.'], ['Dogs', 'sleep', '.']]
    """

    kind = "pipeline/Tokeniser"

    def __init__(
        self,
        tagger: Tagger,
        known: Known,
        expansions: Expansions,
        abbreviations: Counter[str],
        letters: bool = False,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.tagger, self.known, self.expansions = tagger, known, expansions
        self.abbreviations, self.letters = abbreviations, letters
        self.facts = dict(facts or {})

    # -- learning -------------------------------------------------------------------------------------

    @classmethod
    def train(cls, sentences: Sequence[Sentence], *, lam: float | None = None, seed: int = 0) -> Self:
        """Learn from the sentences of a treebank, in their order.

        Their text is rebuilt by ``SpaceAfter=No``; ``# newpar`` and ``# newdoc`` begin paragraphs. From a treebank
        with a space after every token, which nobody writes, the tokeniser learns twice: from the text as it is, and
        with punctuation closed up. An interrupt keeps what was learned.

        Parameters
        ----------
        sentences
            The treebank.
        lam
            The strength of the penalty: by default 0.5 of an elastic net or, for a language with spaces within words,
            in which very many pairs of syllables say a little each, 1 of a ridge.
        """
        if not sentences:
            raise InputError("no sentences to learn from")
        started = time.perf_counter()
        texts = list(treebank_texts(sentences))
        n = sum(map(len, texts))
        letters = sum(map(ends_within_letters, texts)) > _UNSPACED * n
        stretches = [stretch_of(text, letters) for text in texts]
        known = Known.of(stretches)
        copies = 1
        if all(token.spaced for text in texts for token in text):
            stretches += [stretch_of(closed_up(text), letters) for text in texts]
            copies = 2
        many_spaces = sum(known.phrases.values()) > _SPACED * n
        settings: dict[str, Any] = {"penalty": "elasticnet", "lam": 0.5, "l2": 0.01}
        if many_spaces:
            settings = {"penalty": "l2", "lam": 1.0, "min_count": 2 * copies}
        if lam is not None:
            settings["lam"] = lam
        tagger = Tagger(PATTERNS, tol=0.05, random_state=seed, **settings)
        interrupted = False
        try:
            tagger.fit_columns(atom_columns(stretches, known))
        except KeyboardInterrupt:
            if not hasattr(tagger, "weights_"):
                raise
            interrupted = True
        multiword = [
            (token.form, sentence.forms[token.start : token.stop])
            for sentence in sentences
            for token in surface_tokens(sentence)
            if token.multiword
        ]
        forms = (token.form for text in texts for token in text)
        abbreviations = Counter(form for form in forms if form.endswith(".") and any(map(str.isalpha, form)))
        facts = {
            name: tagger.facts[name]
            for name in ("parameters", "active", "penalty", "objective", "gap", "converged")
        }
        facts |= {"sentences": len(sentences), "tokens": n, "multiword_tokens": len(multiword)}
        facts |= {"interrupted": interrupted, "seconds": time.perf_counter() - started}
        return cls(tagger, known, expansions_of(multiword), abbreviations, letters, facts)

    # -- segmenting -----------------------------------------------------------------------------------

    def segment(self, text: str | Iterable[str]) -> Iterator[Sentence]:
        """The sentences of a text, which may come in pieces, such as the lines of an open file.

        No character is lost or changed: :func:`spinney.corpus.surface.original_text` gives the text back. An empty line
        ends a paragraph, and a sentence with it; so do a thousand words without any end. Memory is bounded, even in a
        paragraph without end.

        Examples
        --------
        >>> one = Sentence(["No", "!"], misc=["SpaceAfter=No", "_"])
        >>> for sentence in Tokeniser.train([one] * 20).segment("No!\\n\\nNo! "):
        ...     print(sentence)
        # newpar
        # sent_id = 1
        # text = No!
        1	No	_	_	_	_	_	_	_	SpaceAfter=No
        2	!	_	_	_	_	_	_	_	SpacesAfter=\\n\\n
        # newpar
        # sent_id = 2
        # text = No!
        1	No	_	_	_	_	_	_	_	SpaceAfter=No
        2	!	_	_	_	_	_	_	_	_
        """
        number = 0
        for part in self._parts([text] if isinstance(text, str) else text):
            for sentence in part.sentences(self.expansions):
                number += 1
                sentence.comments.insert(-1, f"# sent_id = {number}")
                yield sentence

    def _parts(self, pieces: Iterable[str]) -> Iterator[Segmented]:
        """The text in parts with labelled atoms: whole paragraphs, many at once, and parts of long ones."""
        waiting: list[str] = []
        size = 0
        rest, within = "", False  # of a long paragraph: what is not segmented yet, whether something is
        for text, ends in read_paragraphs(pieces):
            if ends and not rest:
                waiting.append(text)
                size += len(text)
                if size > _BATCH:
                    yield from self._labelled(waiting)
                    waiting, size = [], 0
                continue
            yield from self._labelled(waiting)
            waiting, size = [], 0
            text = rest + text
            stop = len(text) if ends else 0
            (part,) = self._labelled([text])
            if not ends:
                part, stop = _cut(part)
            if stop:
                yield Segmented(part.text, part.spans, part.labels, newpar=not within)
            rest, within = text[stop:], not ends and (within or stop > 0)
        yield from self._labelled(waiting)

    def _labelled(self, texts: list[str]) -> Iterator[Segmented]:
        """Texts with the labels of their atoms, without those that are all white space."""
        stretches = [Stretch(text, spans) for text in texts if (spans := atoms(text, letters=self.letters))]
        columns = atom_columns(stretches, self.known)
        for (text, spans, _), labels in zip(stretches, self.tagger.label_columns(columns)):
            yield Segmented(text, spans, _ended(labels), newpar=True)

    # -- the contract of models -----------------------------------------------------------------------

    def contents(self) -> Contents:
        """What the tokeniser keeps in its file."""
        abbreviations = sorted(self.abbreviations)
        counts = smallest(np.array([self.abbreviations[form] for form in abbreviations], np.int64))
        parts: dict[str, Parts] = nested("crf", self.tagger.contents())
        parts |= {"known": self.known.parts(), "multiwords": self.expansions.parts()}
        header = {"letters": self.letters, "facts": self.facts}
        return Contents(header, {"abbreviation_counts": counts}, {"abbreviations": abbreviations}, parts)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The tokeniser that a file, or a part of one, holds."""
        tagger = Tagger.from_file(file.part("crf"))
        if not set(tagger.labels_) <= set(LABELS) or tagger.encoding_ is not None:
            raise file.error("damaged: the labels are not those of a tokeniser")
        forms, counts = file.texts("abbreviations"), file.tensor("abbreviation_counts", low=1)
        if len(forms) != len(counts):
            raise file.error("damaged: abbreviations and their counts are not as many")
        return cls(
            tagger,
            Known.from_parts(file.part("known")),
            Expansions.from_parts(file.part("multiwords")),
            Counter(dict(zip(forms, counts.tolist()))),
            file.fact("letters", bool),
            file.fact("facts", dict),
        )

    def views(self, settings: Settings | None = None, *, top: int = 10) -> Views:
        """What a person sees of it: abbreviations, multi-word tokens, and the strongest observations of each label."""
        names = {"sentences", "tokens", "parameters", "active", "gap", "seconds"}
        shown = {name: called for name, called in FACTS.items() if name in names}
        strongest = {LABELS[label]: rows for label, rows in self.tagger.strongest(top).items()}
        rows = [
            [label, "  ".join(f"{name} {weight:+.2f}" for name, weight in found)]
            for label, found in strongest.items()
        ]
        views = Views(
            [
                Facts("facts", "Tokeniser", self.facts, shown | {"multiword_tokens": "multi-word tokens"}),
                Table("", "Strongest observations", ["after the atom", "observations (weight)"], rows),
                Extra("strongest", "", strongest),
            ]
        )
        if self.abbreviations:
            most = self.abbreviations.most_common(2 * top)
            views.append(Table("abbreviations", "Tokens that end with a point", ["token", "count"], most))
        if self.expansions.counts:
            views += [self.expansions.view(top), self.expansions.rules_view(top)]
        return views


def _cut(part: Segmented) -> tuple[Segmented, int]:
    """What of a part is certain before more of its paragraph is known, and where it ends in the text.

    It is never all of it: the white space after the last token is not known yet, either.
    """
    certain = part.labels[: max(len(part.labels) - _MARGIN, 0)]
    ends = [i for i, label in enumerate(certain) if label in (SENTENCE, MULTIWORD_SENTENCE)]
    tokens = ends or [i for i, label in enumerate(certain) if label != INSIDE]
    if tokens:
        n = tokens[-1] + 1
        labels = _ended(part.labels[:n])
        stop = part.spans[n][0]
        return Segmented(part.text[:stop], part.spans[:n], labels, part.newpar), stop
    if len(part.text) < _HUGE:
        return part, 0
    stop = len(part.text.rstrip()) - 1  # in the middle of a word without end
    spans = atoms(part.text[:stop])
    return Segmented(part.text[:stop], spans, _ended([INSIDE] * len(spans)), part.newpar), stop


def _ended(labels: list[str]) -> list[str]:
    """The labels of atoms, the last of which ends a sentence."""
    last = MULTIWORD_SENTENCE if labels[-1] in (MULTIWORD, MULTIWORD_SENTENCE) else SENTENCE
    return [*labels[:-1], last]
