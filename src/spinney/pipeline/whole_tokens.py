"""Sentences of words as tokens of their text, for programs that split no contraction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import spelling, surface_tokens


class Whole(NamedTuple):
    """A token of a text, or white space other than one space after a token.

    Attributes
    ----------
    text : str
    spaced : bool
        Whether a space follows.
    begins : bool
        Whether a sentence begins with it.
    words : tuple of str
        Of a multi-word token; of any other none.
    """

    text: str
    spaced: bool
    begins: bool
    words: tuple[str, ...] = ()


def whole_tokens(sentences: Iterable[Sentence]) -> Iterator[Whole]:
    """The tokens of segmented text, with all white space: their texts, and spaces where one follows, are that text.

    Examples
    --------
    >>> whole = (0, "1-2\\tστο" + "\\t_" * 8)
    >>> one = Sentence(["σε", "το", "σπίτι"], misc=["_", "_", "SpacesAfter=\\\\n"], extras=[whole])
    >>> for token in whole_tokens([one]):
    ...     print(token)
    Whole(text='στο', spaced=True, begins=True, words=('σε', 'το'))
    Whole(text='σπίτι', spaced=False, begins=False, words=())
    Whole(text='\\n', spaced=False, begins=False, words=())
    """
    for sentence in sentences:
        begins = True
        for token in surface_tokens(sentence):
            before, form, after = spelling(token)
            if before:
                yield Whole(before, False, begins)
                begins = False
            words = tuple(sentence.forms[token.start : token.stop]) if token.multiword else ()
            yield Whole(form, after[:1] == " ", begins, words)
            begins = False
            if after[1:] or after[:1] not in ("", " "):
                yield Whole(after.removeprefix(" "), False, False)


class Collapsed(NamedTuple):
    """A token of a sentence: its word that is nearest to the root, counted from 0, and the token that is its head.

    Heads are counted from 1, 0 is the root, and -1 stands for no tree.
    """

    word: int
    head: int
    words: range


def collapsed(sentence: Sentence) -> list[Collapsed]:
    """The tokens of a sentence with heads among tokens; where the words have a tree, so have the tokens.

    Examples
    --------
    >>> one = Sentence(["σε", "το", "σπίτι"], heads=[3, 3, 0], extras=[(0, "1-2\\tστο" + "\\t_" * 8)])
    >>> [(token.word, token.head) for token in collapsed(one)]
    [(0, 2), (2, 0)]
    """
    tokens = surface_tokens(sentence)
    token_of = [i for i, token in enumerate(tokens) for _ in range(token.start, token.stop)]
    heads = sentence.heads
    depth = _depths(heads) if heads else [0] * len(sentence)
    found = []
    for token in tokens:
        words = range(token.start, token.stop)
        top = min(words, key=lambda word: depth[word])
        head = -1 if not heads else 0 if not heads[top] else token_of[heads[top] - 1] + 1
        found.append(Collapsed(top, head, words))
    return found


def _depths(heads: list[int]) -> list[int]:
    """How many arcs each word is below the root."""
    depth = [-1] * len(heads)
    for word in range(len(heads)):
        path = []
        at = word
        while depth[at] < 0:
            path.append(at)
            if not heads[at]:
                break
            at = heads[at] - 1
        known = depth[at]
        for one in reversed(path):
            known += 1
            depth[one] = known
    return depth
