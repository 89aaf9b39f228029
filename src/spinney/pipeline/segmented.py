"""From labelled atoms to sentences of CoNLL-U."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import spacing
from spinney.pipeline.atom_columns import INSIDE, MULTIWORD, MULTIWORD_SENTENCE, SENTENCE
from spinney.pipeline.atoms import Span
from spinney.pipeline.multiwords import Expansions

LONGEST = 1000  # tokens of a sentence: whatever reads it further is not to be asked for more
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Segmented:
    """A part of a text, with its atoms and the label of each; the last atom ends a sentence.

    A sentence that has a thousand words is ended there.

    Examples
    --------
    >>> from collections import Counter
    >>> seen = Expansions(Counter({("al", ("a", "el")): 1}))
    >>> (sentence,) = Segmented("al mar", [(0, 2), (3, 6)], ["M", "S"], newpar=False).sentences(seen)
    >>> print(sentence)
    # text = al mar
    1-2	al	_	_	_	_	_	_	_	_
    1	a	_	_	_	_	_	_	_	_
    2	el	_	_	_	_	_	_	_	_
    3	mar	_	_	_	_	_	_	_	SpaceAfter=No
    """

    text: str
    spans: list[Span]
    labels: list[str]
    newpar: bool

    def sentences(self, expansions: Expansions) -> Iterator[Sentence]:
        """The sentences, with their text and, if a paragraph begins, a comment that says so."""
        text, spans = self.text, self.spans
        starts = [start for start, _ in spans[1:]] + [len(text)]  # of what follows each atom
        comments = ["# newpar"] if self.newpar else []
        before = text[: spans[0][0]] if spans else ""
        sentence, begin, first = _Growing(), -1, 0
        for (start, end), label, following in zip(spans, self.labels, starts):
            begin = start if begin < 0 else begin
            if label == INSIDE:
                continue
            words = expansions.words if label in (MULTIWORD, MULTIWORD_SENTENCE) else None
            form = text[begin:end]
            plain = _plain(form)
            sentence.add(
                plain,
                spacing(text[end:following], before, form if plain != form else ""),
                [plain] if words is None else words(plain),
            )
            before, begin = "", -1
            if label in (SENTENCE, MULTIWORD_SENTENCE) or len(sentence.forms) >= LONGEST:
                shown = _SPACE.sub(" ", text[first:end].strip())
                yield sentence.done([*comments, f"# text = {shown}"])
                sentence, comments, first = _Growing(), [], following


def _plain(form: str) -> str:
    """A token with one space where it has white space; a single space of another kind, such as no-break, stays."""
    if form.isprintable() and " " not in form:
        return form
    return _SPACE.sub(lambda space: space[0] if _is_space(space[0]) else " ", form)


def _is_space(text: str) -> bool:
    return len(text) == 1 and unicodedata.category(text) == "Zs"


@dataclass
class _Growing:
    """A sentence of which more tokens come."""

    forms: list[str] = field(default_factory=list)
    misc: list[str] = field(default_factory=list)
    extras: list[tuple[int, str]] = field(default_factory=list)

    def add(self, form: str, misc: str, words: list[str]) -> None:
        """A token and its words."""
        n = len(self.forms)
        if len(words) > 1:
            self.extras.append((n, "\t".join([f"{n + 1}-{n + len(words)}", form, *"_______", misc])))
            self.misc += ["_"] * len(words)
        else:
            words = [form]
            self.misc.append(misc)
        self.forms += words

    def done(self, comments: list[str]) -> Sentence:
        """The whole sentence."""
        return Sentence(self.forms, misc=self.misc, comments=comments, extras=self.extras)
