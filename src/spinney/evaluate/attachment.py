"""Attachment scores: how many words a dependency parser attaches to the right head, and with the right relation."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError

ATTACHMENT_COLUMNS = ("words", "heads", "labelled", "exact", "root")
PTB_PUNCTUATION = frozenset({"``", "''", ",", ".", ":"})


class Attachment(NamedTuple):
    """What :func:`attachment` found; all rates are from 0 to 1.

    Attributes
    ----------
    uas, las : float
        The share of words with the right head, and with the right head and relation.
    exact : float
        The share of sentences in which every such word has the right head.
    root : float
        The share of sentences with the right root, be it punctuation or not.
    words, sentences : int
        How many these are shares of.
    """

    uas: float
    las: float
    exact: float
    root: float
    words: int
    sentences: int


def attachment(
    gold: Sequence[Sentence],
    guess: Sequence[Sentence],
    *,
    punctuation: bool = False,
    punctuation_tags: Collection[str] | None = None,
) -> Attachment:
    """The scores of a parser's heads and relations against those of a treebank.

    Parameters
    ----------
    gold, guess
        The same sentences, with the treebank's heads and with the parser's. A relation that is missing is ``_``.
    punctuation
        Whether punctuation counts. By the rule of CoNLL-X (Buchholz and Marsi 2006) a word is punctuation if each of
        its characters is in Unicode's category P; a Penn Treebank's ````` `` ````` is not.
    punctuation_tags
        Use the treebank's tags (``xpos``) instead of that rule: :data:`PTB_PUNCTUATION` for the Penn Treebank.

    Examples
    --------
    >>> gold = Sentence(["Dogs", "bark", "."], heads=[2, 0, 2], deprels=["nsubj", "root", "punct"])
    >>> guess = Sentence(["Dogs", "bark", "."], heads=[2, 0, 1], deprels=["obj", "root", "punct"])
    >>> attachment([gold], [guess])
    Attachment(uas=1.0, las=0.5, exact=1.0, root=1.0, words=2, sentences=1)
    >>> round(attachment([gold], [guess], punctuation=True).uas, 3)
    0.667
    """
    counts = attachment_counts(gold, guess, punctuation=punctuation, punctuation_tags=punctuation_tags)
    words, heads, labelled, exact, root = counts.sum(axis=0).tolist()
    return Attachment(
        uas=_rate(heads, words),
        las=_rate(labelled, words),
        exact=_rate(exact, len(counts)),
        root=_rate(root, len(counts)),
        words=words,
        sentences=len(counts),
    )


def attachment_counts(
    gold: Sequence[Sentence],
    guess: Sequence[Sentence],
    *,
    punctuation: bool = False,
    punctuation_tags: Collection[str] | None = None,
) -> NDArray[np.int64]:
    """The counts of each sentence: one row per sentence, with the columns :data:`ATTACHMENT_COLUMNS`.

    Words, those with the right head, those with the right relation too; whether all heads are right, and the root.
    Two parsers are compared by :func:`~spinney.evaluate.paired_bootstrap` with :func:`uas_of_counts` or
    :func:`las_of_counts`.

    Examples
    --------
    >>> from spinney.evaluate.significance import paired_bootstrap
    >>> gold, wrong = Sentence(["Dogs", "bark"], heads=[2, 0]), Sentence(["Dogs", "bark"], heads=[0, 1])
    >>> one, other = attachment_counts([gold, gold], [gold, wrong]), attachment_counts([gold, gold], [gold, gold])
    >>> one
    array([[2, 2, 2, 1, 1],
           [2, 0, 0, 0, 0]])
    >>> paired_bootstrap(one, other, uas_of_counts).difference
    0.5
    """
    tags = None if punctuation_tags is None else frozenset(punctuation_tags)
    rows = []
    for number, truth, answer in _paired(gold, guess):
        counts = [True] * len(truth) if punctuation else _no_punctuation(number, truth, tags)
        right_heads = [a == b and c for a, b, c in zip(truth.heads, answer.heads, counts)]
        relations = zip(_relations(truth), _relations(answer))
        labelled = sum(right and a == b for right, (a, b) in zip(right_heads, relations))
        words, heads = sum(counts), sum(right_heads)
        rows.append((words, heads, labelled, words == heads, _roots(truth) == _roots(answer)))
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(ATTACHMENT_COLUMNS))


def uas_of_counts(items: NDArray[Any]) -> float:
    """The share of words with the right head, of rows of :func:`attachment_counts`.

    Examples
    --------
    >>> uas_of_counts(np.array([[2, 2, 1, 1, 1], [2, 0, 0, 0, 0]]))
    0.5
    """
    return _rate(int(items[:, 1].sum()), int(items[:, 0].sum()))


def las_of_counts(items: NDArray[Any]) -> float:
    """The share of words with the right head and relation, of rows of :func:`attachment_counts`.

    Examples
    --------
    >>> las_of_counts(np.array([[2, 2, 1, 1, 1], [2, 0, 0, 0, 0]]))
    0.25
    """
    return _rate(int(items[:, 2].sum()), int(items[:, 0].sum()))


def _paired(gold: Sequence[Sentence], guess: Sequence[Sentence]) -> Iterator[tuple[int, Sentence, Sentence]]:
    if len(gold) != len(guess):
        raise InputError(f"{len(gold)} sentences of the treebank, but {len(guess)} of the parser")
    for number, (truth, answer) in enumerate(zip(gold, guess), start=1):
        if len(truth) != len(answer):
            raise InputError(f"sentence {number} has {len(truth)} words, its parse {len(answer)}")
        if truth.forms != answer.forms:
            i = next(i for i, (a, b) in enumerate(zip(truth.forms, answer.forms)) if a != b)
            raise InputError(
                f"word {i + 1} of sentence {number} is {truth.forms[i]!r}, in its parse {answer.forms[i]!r}"
            )
        for sentence, whose in ((truth, "treebank"), (answer, "parser")):
            if len(sentence.heads) != len(sentence):
                raise InputError(
                    f"sentence {number} of the {whose} has {len(sentence.heads)} heads for {len(sentence)} words"
                )
            if len(sentence.deprels) not in (0, len(sentence)):
                raise InputError(
                    f"sentence {number} of the {whose} has {len(sentence.deprels)} relations for {len(sentence)} words"
                )
        yield number, truth, answer


def _no_punctuation(number: int, sentence: Sentence, tags: frozenset[str] | None) -> list[bool]:
    if tags is None:
        return [not _is_punctuation(form) for form in sentence.forms]
    if len(sentence.xpos) != len(sentence):
        raise InputError(
            f"sentence {number} of the treebank has no tags, so punctuation cannot be recognised",
            remedy="fill xpos, or leave punctuation_tags out",
        )
    return [tag not in tags for tag in sentence.xpos]


@lru_cache(maxsize=1 << 16)
def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in form)


def _relations(sentence: Sentence) -> list[str]:
    return sentence.deprels or ["_"] * len(sentence)


def _roots(sentence: Sentence) -> list[int]:
    return [i for i, head in enumerate(sentence.heads) if head == 0]


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
