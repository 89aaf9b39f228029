"""PARSEVAL: how many brackets of a parser's trees are those of the treebank, as ``evalb`` counts them.

The conventions are those of Sekine and Collins's program (1997; Ellis's version of 2006), and for every sentence
that it counts so are the numbers. It drops a sentence without a parse, or with other words than the treebank's;
here such a sentence counts as one without brackets, unless the conventions say otherwise, for a parser must not
gain by giving up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.evaluate.significance import paired_bootstrap

COLUMNS = ("gold", "guessed", "matched", "crossing", "words", "tags", "status")
SCORED, MISMATCHED, FAILED = 0, 1, 2  # the statuses of evalb


@dataclass(frozen=True)
class Conventions:
    """What counts as a bracket, and what becomes of sentences that cannot be compared.

    Attributes
    ----------
    deleted : frozenset of str
        Words with such a tag are taken out before spans are numbered, and with them brackets that hold no other
        words; of brackets with such a label only the bracket is taken out. A bracket without a label, as around the
        trees of the Penn Treebank, is always taken out.
    empty : frozenset of str
        The tags of traces, which are not words at all. They must be among the deleted.
    equal : tuple of (str, str)
        Labels, and the labels that they count as.
    labelled : bool
        Whether a bracket must have the right label too.
    failures : {"count", "skip"}
        A sentence without a parse or with other words counts as one without brackets, or is left out as by evalb.
    mistagged : {"keep", "fail"}
        Words that only one of the two trees would delete, as where a possessive is taken for a quote, are kept in
        both, or make the sentence one that cannot be compared. Evalb keeps those that are a quote or stroke if its
        parameters name the tags (``new.prm``), and with ``COLLINS.prm`` none.

    Examples
    --------
    Evalb's own treatment of failures, and the root's label of the Stanford tools:

    >>> from dataclasses import replace
    >>> strict = replace(COLLINS, failures="skip", mistagged="fail", deleted=COLLINS.deleted | {"ROOT"})
    >>> strict.labelled, sorted(strict.deleted - COLLINS.deleted)
    (True, ['ROOT'])
    """

    deleted: frozenset[str] = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
    empty: frozenset[str] = frozenset({"-NONE-"})
    equal: tuple[tuple[str, str], ...] = (("PRT", "ADVP"),)
    labelled: bool = True
    failures: Literal["count", "skip"] = "count"
    mistagged: Literal["keep", "fail"] = "keep"

    def __post_init__(self) -> None:
        if self.failures not in ("count", "skip"):
            raise unknown_choice("failures must be", self.failures, ("count", "skip"))
        if self.mistagged not in ("keep", "fail"):
            raise unknown_choice("mistagged must be", self.mistagged, ("keep", "fail"))
        if not self.empty <= self.deleted:
            raise OptionError(f"empty, but not deleted: {', '.join(sorted(self.empty - self.deleted))}")


COLLINS = Conventions()


class LabelCounts(NamedTuple):
    """The brackets of one label in the treebank, in the parser's trees, and in both."""

    gold: int
    guessed: int
    matched: int

    @property
    def precision(self) -> float:
        """The share of the parser's that are right."""
        return _rate(self.matched, self.guessed)

    @property
    def recall(self) -> float:
        """The share of the treebank's that were found."""
        return _rate(self.matched, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return _rate(2 * self.matched, self.gold + self.guessed)


class Parseval(NamedTuple):
    """What :func:`parseval` found; all rates are from 0 to 1.

    Attributes
    ----------
    precision, recall, f1 : float
        Of all brackets together.
    exact : float
        The share of sentences with the right brackets and no others.
    tagging : float
        The share of words with the right tag, of words that are not deleted.
    crossing : float
        How many of the parser's brackets of a sentence overlap one of the treebank's, neither within the other.
    no_crossing, few_crossing : float
        The share of sentences with no such bracket, and with at most two.
    sentences, counted : int
        How many there are, and how many of them the rates are of.
    failed : tuple of int
        The numbers, from 1, of sentences without a parse, or without words in it that are not deleted.
    mismatched : tuple of int
        The numbers of sentences whose parse has other words.
    labels : dict of str to LabelCounts
        The brackets of each label, the commonest first; under their common name those that count as equal.
    """

    precision: float
    recall: float
    f1: float
    exact: float
    tagging: float
    crossing: float
    no_crossing: float
    few_crossing: float
    sentences: int
    counted: int
    failed: tuple[int, ...]
    mismatched: tuple[int, ...]
    labels: Mapping[str, LabelCounts]


def parseval(
    gold: Sequence[Tree], guess: Sequence[Tree | None], conventions: Conventions = COLLINS
) -> Parseval:
    """The scores of a parser's trees against those of a treebank.

    Brackets are a multiset, so that ``(NP (NP ...))`` is two; tags are not brackets; function tags and indices, all
    from the first ``-`` or ``=`` of a label, are ignored.

    Parameters
    ----------
    gold
        The trees of the treebank, with or without traces.
    guess
        The parser's tree of each, or ``None`` where it found none.

    Examples
    --------
    >>> gold = Tree.parse("( (S (NP-SBJ (PRP I)) (VP (VBD saw) (NP (NNS stars)) (PP (IN at) (NP (NN night)))) (. .)))")
    >>> guess = Tree.parse("(S (NP (PRP I)) (VP (VBD saw) (NP (NNS stars) (PP (IN at) (NP (NN night))))) (. .))")
    >>> scores = parseval([gold, gold], [guess, None])
    >>> round(scores.precision, 3), round(scores.recall, 3), scores.exact, scores.failed
    (0.833, 0.417, 0.0, (2,))
    >>> scores.labels["NP"]
    LabelCounts(gold=6, guessed=3, matched=2)
    """
    rows = []
    in_gold: Counter[str] = Counter()
    in_guess: Counter[str] = Counter()
    in_both: Counter[str] = Counter()
    for row, gold_brackets, guess_brackets in _judged(gold, guess, conventions):
        rows.append(row)
        in_gold.update(label for label, _, _ in gold_brackets)
        in_guess.update(label for label, _, _ in guess_brackets)
        in_both.update(label for label, _, _ in _common(gold_brackets, guess_brackets).elements())
    counts = _table(rows)
    n_gold, n_guess, n_both, crossing, words, tags, status = counts.T
    # Words alone say which sentences count: one that is skipped, or that is nothing but punctuation, has none.
    parsed = (words > 0) & (status == SCORED)
    counted = int((words > 0).sum())
    total = LabelCounts(*counts[:, :3].sum(axis=0).tolist())
    labels = sorted(in_gold.keys() | in_guess.keys(), key=lambda label: (-in_gold[label], label))
    return Parseval(
        precision=total.precision,
        recall=total.recall,
        f1=total.f1,
        exact=_rate(int((parsed & (n_gold == n_both) & (n_guess == n_both)).sum()), counted),
        tagging=_rate(int(tags.sum()), int(words.sum())),
        crossing=_rate(int(crossing.sum()), counted),
        no_crossing=_rate(int((parsed & (crossing == 0)).sum()), counted),
        few_crossing=_rate(int((parsed & (crossing <= 2)).sum()), counted),
        sentences=len(counts),
        counted=counted,
        failed=tuple((1 + np.flatnonzero(status == FAILED)).tolist()),
        mismatched=tuple((1 + np.flatnonzero(status == MISMATCHED)).tolist()),
        labels={label: LabelCounts(in_gold[label], in_guess[label], in_both[label]) for label in labels},
    )


def bracket_counts(
    gold: Sequence[Tree], guess: Sequence[Tree | None], conventions: Conventions = COLLINS
) -> NDArray[np.int64]:
    """The counts of each sentence, as evalb lists them: one row per sentence, with the columns :data:`COLUMNS`.

    These are brackets of the treebank, of the parser and of both, the parser's that cross one of the treebank's,
    words, words with the right tag, and the status: 0 scored, 1 other words, 2 no parse. Two parsers are compared
    by :func:`~spinney.evaluate.paired_bootstrap` with :func:`bracket_f1`.

    Examples
    --------
    >>> gold = [Tree.parse("(S (NP (NN dogs)) (VP (VBP bark)))"), Tree.parse("(S (VP (VB go)))")]
    >>> flat, full = [Tree.parse("(S (NN dogs) (NN bark))"), None], gold
    >>> bracket_counts(gold, flat)
    array([[3, 1, 1, 0, 2, 1, 0],
           [2, 0, 0, 0, 1, 0, 2]])
    >>> result = paired_bootstrap(bracket_counts(gold, flat), bracket_counts(gold, full), bracket_f1)
    >>> round(result.baseline, 3), result.system
    (0.333, 1.0)
    """
    return _table([row for row, _, _ in _judged(gold, guess, conventions)])


def bracket_f1(items: NDArray[Any]) -> float:
    """F1 of rows of :func:`bracket_counts`: a statistic for :func:`~spinney.evaluate.paired_bootstrap`.

    Examples
    --------
    >>> bracket_f1(np.array([[4, 4, 3, 0, 4, 4, 0], [4, 0, 0, 0, 4, 0, 2]]))
    0.5
    """
    in_gold, in_guess, in_both = items[:, :3].sum(axis=0).tolist()
    return _rate(2 * in_both, in_gold + in_guess)


def f1_interval(
    counts: NDArray[np.int64], *, level: float = 0.95, resamples: int = 10_000, random_state: int = 0
) -> tuple[float, float]:
    """The ends of the percentile bootstrap interval of F1, by drawing sentences again, with repetition.

    Parameters
    ----------
    counts
        What :func:`bracket_counts` gave.
    level
        How much of the draws the interval holds.

    Examples
    --------
    >>> right, wrong = [4, 4, 4, 0, 4, 4, 0], [4, 4, 2, 0, 4, 4, 0]
    >>> low, high = f1_interval(np.array([right, wrong] * 50))
    >>> round(low, 2), round(high, 2)
    (0.7, 0.8)
    """
    # F1 of a parser that finds nothing is zero in every draw: the difference from it is F1 itself.
    nothing = np.zeros_like(counts)
    found = paired_bootstrap(
        nothing, counts, bracket_f1, level=level, resamples=resamples, random_state=random_state
    )
    return found.low, found.high


Bracket = tuple[str, int, int]


class _Parse(NamedTuple):
    """A tree as it is compared: words, their tags, and brackets from ``start`` to ``stop - 1``."""

    words: list[str]
    tags: list[str]
    brackets: list[Bracket]

    def are_not(self, tags: frozenset[str]) -> NDArray[np.bool_]:
        """Which words have none of these tags."""
        return np.array([tag not in tags for tag in self.tags], dtype=bool)

    def only(self, kept: NDArray[np.bool_]) -> _Parse:
        """Without the other words, and without brackets that are left with none."""
        place = np.concatenate([[0], np.cumsum(kept)]).tolist()
        moved = ((label, place[start], place[stop]) for label, start, stop in self.brackets)
        indices = np.flatnonzero(kept).tolist()
        return _Parse(
            [self.words[i] for i in indices],
            [self.tags[i] for i in indices],
            [bracket for bracket in moved if bracket[1] < bracket[2]],
        )


_NOTHING = _Parse([], [], [])


def _judged(
    gold: Sequence[Tree], guess: Sequence[Tree | None], conventions: Conventions
) -> Iterator[tuple[tuple[int, ...], list[Bracket], list[Bracket]]]:
    """The row of each sentence, and the brackets that the row counts."""
    if len(gold) != len(guess):
        raise InputError(
            f"{len(gold)} trees of the treebank, but {len(guess)} of the parser",
            remedy="give None for a sentence without a parse",
        )
    same = dict(conventions.equal)
    for truth, answer in zip(gold, guess):
        right = _parse(truth, conventions, same)
        found = _NOTHING if answer is None else _parse(answer, conventions, same)
        status, right, found = _aligned(right, found, conventions)
        if status != SCORED and conventions.failures == "skip":
            right = _NOTHING
        row = (
            len(right.brackets),
            len(found.brackets),
            _common(right.brackets, found.brackets).total(),
            _crossing(right.brackets, found.brackets),
            len(right.words),
            sum(same.get(a, a) == same.get(b, b) for a, b in zip(right.tags, found.tags)),
            status,
        )
        yield row, right.brackets, found.brackets


def _parse(tree: Tree, conventions: Conventions, same: Mapping[str, str]) -> _Parse:
    words, tags, brackets = [], [], []
    for node, (label, start, stop) in zip(tree.nodes(), tree.spans()):
        if node.word is not None:
            words.append(node.word)
            tags.append(label)
        elif label:
            label = re.split("[-=]", label, maxsplit=1)[0]
            label = same.get(label, label)
            if label not in conventions.deleted:
                brackets.append((label if conventions.labelled else "", start, stop))
    return _Parse(words, tags, brackets)


def _aligned(right: _Parse, found: _Parse, conventions: Conventions) -> tuple[int, _Parse, _Parse]:
    """The status of a sentence, and both trees over the same words; the parser's is bare if it is of no use."""
    deleted, empty = conventions.deleted, conventions.empty
    right_left, found_left = right.only(right.are_not(deleted)), found.only(found.are_not(deleted))
    if not found_left.words:
        return FAILED, right_left, _NOTHING
    if right_left.words == found_left.words:
        return SCORED, right_left, found_left
    if conventions.mistagged == "keep":
        right, found = right.only(right.are_not(empty)), found.only(found.are_not(empty))
        if right.words == found.words:
            kept = right.are_not(deleted) | found.are_not(deleted)
            return SCORED, right.only(kept), found.only(kept)
    return MISMATCHED, right_left, _NOTHING


def _common(gold: Sequence[Bracket], guess: Sequence[Bracket]) -> Counter[Bracket]:
    return Counter(gold) & Counter(guess)


def _crossing(gold: Sequence[Bracket], guess: Sequence[Bracket]) -> int:
    """How many of the guessed brackets overlap a gold one, neither within the other."""
    if not gold or not guess:
        return 0
    spans = Counter(bracket[1:] for bracket in guess)
    start, stop = np.array(list(spans)).T
    gold_start, gold_stop = np.array(list({bracket[1:] for bracket in gold})).T[:, :, np.newaxis]
    from_left = (gold_start < start) & (start < gold_stop) & (gold_stop < stop)
    from_right = (start < gold_start) & (gold_start < stop) & (stop < gold_stop)
    return int((from_left | from_right).any(axis=0) @ np.array(list(spans.values())))


def _table(rows: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(COLUMNS))


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
