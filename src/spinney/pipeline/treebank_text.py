"""The text of a treebank, with where its tokens and sentences end: what a tokeniser learns from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import paragraphs, space_after, surface_tokens
from spinney.pipeline.atom_columns import INSIDE, MULTIWORD, MULTIWORD_SENTENCE, SENTENCE, TOKEN, Stretch
from spinney.pipeline.atoms import atoms

_RUN = 30  # sentences in one text; where a text ends, a sentence ends, and that must not be all there is to learn
_OPENING, _CLOSING = frozenset("([{“«‘"), frozenset(".,;:!?…%)]}”»’")


class Ended(NamedTuple):
    """A token of the text, with what ends after it: a label of :mod:`spinney.pipeline.atom_columns`."""

    form: str
    label: str
    spaced: bool


def treebank_texts(sentences: Iterable[Sentence], run: int = _RUN) -> Iterator[list[Ended]]:
    """The tokens of paragraphs; a long paragraph comes in several runs of sentences.

    Examples
    --------
    >>> one = Sentence(["No", "!"], misc=["SpaceAfter=No", "_"])
    >>> next(treebank_texts([one]))
    [Ended(form='No', label='T', spaced=False), Ended(form='!', label='S', spaced=True)]
    """
    for paragraph in paragraphs(sentences):
        for start in range(0, len(paragraph), run):
            yield [token for sentence in paragraph[start : start + run] for token in _ended(sentence)]


def _ended(sentence: Sentence) -> Iterator[Ended]:
    tokens = surface_tokens(sentence)
    for i, token in enumerate(tokens, start=1):
        if i == len(tokens):
            label = MULTIWORD_SENTENCE if token.multiword else SENTENCE
        else:
            label = MULTIWORD if token.multiword else TOKEN
        yield Ended(token.form, label, bool(space_after(token.misc)))


def stretch_of(tokens: list[Ended], letters: bool = False) -> Stretch:
    """The text of tokens, with the label of each of its atoms.

    Examples
    --------
    >>> stretch_of([Ended("1.", "T", True), Ended("No", "T", False), Ended("!", "S", True)])
    Stretch(text='1. No! ', spans=[(0, 1), (1, 2), (3, 5), (5, 6)], labels=['I', 'T', 'T', 'S'])
    """
    ends, at = {}, 0
    for token in tokens:
        ends[at + len(token.form)] = token.label
        at += len(token.form) + token.spaced
    text = "".join(token.form + " " * token.spaced for token in tokens)
    spans = atoms(text, letters=letters)
    return Stretch(text, spans, [ends.get(end, INSIDE) for _, end in spans])


def ends_within_letters(tokens: list[Ended]) -> int:
    """After how many tokens another follows at once, in the same run of letters."""
    joined = (one.form[-1] + other.form[0] for one, other in pairwise(tokens) if not one.spaced)
    return sum(len(atoms(pair)) == 1 for pair in joined)


def closed_up(tokens: list[Ended]) -> list[Ended]:
    """The tokens with punctuation as it is written, for a treebank that has a space after every token.

    Examples
    --------
    >>> spread = [Ended(form, "T", True) for form in '" No " , she said .'.split()]
    >>> "".join(token.form + " " * token.spaced for token in closed_up(spread))
    '"No", she said. '
    """
    found: list[Ended] = []
    quoted = False
    for token in tokens:
        if token.form == '"':
            quoted = not quoted
        closes = token.form in _CLOSING or (token.form == '"' and not quoted)
        if found and closes:
            found[-1] = found[-1]._replace(spaced=False)
        opens = token.form in _OPENING or (token.form == '"' and quoted)
        found.append(token._replace(spaced=not opens))
    return found
