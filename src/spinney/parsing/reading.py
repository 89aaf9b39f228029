"""Descriptions of a parser: its labels, and what their latent states stand for.

A state of a tag is described by its words, a state of a phrase by its rules, and both by the labels above them. The
frequencies of states follow from the grammar itself: each round of a sum goes one level down the trees.

The states of a spectral grammar are coordinates in an unknown basis, and its numbers are not probabilities. Its labels
are described by the relative frequencies of their rules and words, and its directions by the words at their ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, OptionError, did_you_mean
from spinney.parsing.binarising import label_parts, to_phrase
from spinney.parsing.grammar import Floats, Grammar
from spinney.parsing.parser import Parser

#: The parent of the root of a tree.
ROOT = "(root)"

_LEVELS = 2000  # of trees: rounds of the sum of expectations
_REST = 1e-9  # share of nodes below the last level
_FAR = 1e12  # nodes of a level: a file may hold a grammar whose trees never end
_HALF = 0.5 - 1e-4  # a token, in single precision
_SEEN = 5.0  # minimum expected tokens of a word at the end of a direction


class LabelRow(NamedTuple):
    """A label of the grammar.

    Attributes
    ----------
    label : str
        In the form of the grammar (:mod:`spinney.parsing.binarising`).
    phrase : str
        The corresponding plain label.
    part : bool
        Whether it is a partial phrase, which only binary trees have.
    share : float
        Of all nodes of binary trees.
    states : int
    rules, words : int
        The number of its rules and words; only words with at least half a token count, since smoothing gives rare words
        additional tags.
    """

    label: str
    phrase: str
    part: bool
    share: float
    states: int
    rules: int
    words: int


class Share(NamedTuple):
    """A word, the right side of a rule or a parent label: its probability, and the ratio to that of the label."""

    name: str
    probability: float
    lift: float


class RuleRow(NamedTuple):
    """A rule: the label, its right side, its probability, and its share of all nodes."""

    label: str
    becomes: str
    probability: float
    share: float


class StateReading(NamedTuple):
    """A latent state of a label.

    Attributes
    ----------
    number : int
    share : float
        Of the nodes of the label.
    words, rules, parents : list of Share
        The most probable: what the state is rewritten as, and the labels above it.
    typical_words, typical_rules, typical_parents : list of Share
        Those that distinguish it from the label as a whole: with the largest ``p log(lift)``, so that they are neither
        rare nor common to all states. None if the label has one state.
    """

    number: int
    share: float
    words: list[Share]
    rules: list[Share]
    parents: list[Share]
    typical_words: list[Share]
    typical_rules: list[Share]
    typical_parents: list[Share]


class Direction(NamedTuple):
    """A coordinate of the vectors of a label's words in a spectral grammar: the words at its two ends."""

    number: int
    high: list[str]
    low: list[str]


class LabelReading(NamedTuple):
    """The description of a label of a grammar.

    Attributes
    ----------
    label, phrase : str
    share : float
        Of all nodes of binary trees.
    signed : bool
        Whether the grammar is spectral: then ``states`` is empty, since they have no meaning of their own.
    n_states : int
    words, rules, parents : list of Share
        The most probable, whatever the state.
    states : list of StateReading
        Most frequent first.
    directions : list of Direction
        Of tags in spectral grammars.
    """

    label: str
    phrase: str
    share: float
    signed: bool
    n_states: int
    words: list[Share]
    rules: list[Share]
    parents: list[Share]
    states: list[StateReading]
    directions: list[Direction]


def label_table(parser: Parser, *, grammar: int = 0) -> list[LabelRow]:
    """The labels of a parser, most frequent first.

    Parameters
    ----------
    parser
        A fitted parser.
    grammar
        The number of the grammar, if there are several.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")] * 3
    >>> [(row.label, round(row.share, 3)) for row in label_table(Parser("pcfg", rare=0).fit(trees))][:2]
    [('VBZ', 0.167), ('VP', 0.167)]
    """
    return Reader(parser, grammar).table()


def describe_label(parser: Parser, label: str, n: int = 10, *, grammar: int = 0) -> LabelReading:
    """Describe a label.

    Parameters
    ----------
    parser
        A fitted parser.
    label
        A grammar label or, if there is none, a plain label, for which the most frequent grammar label is taken.
    n
        Number of words, rules and parents.
    grammar
        The number of the grammar, if there are several.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> trees = [Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N cats) (V bark))")]
    >>> reading = describe_label(Parser("pcfg", rare=0).fit(trees), "N")
    >>> reading.words
    [Share(name='dogs', probability=0.5, lift=1.0), Share(name='cats', probability=0.5, lift=1.0)]
    >>> reading.parents
    [Share(name='S', probability=1.0, lift=1.0)]
    """
    return Reader(parser, grammar).label(label, n)


class Reader:
    """Reads one grammar of a parser; faster than the functions if there are many labels to read.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> trees = [Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N cats) (V bark))")]
    >>> reader = Reader(Parser("pcfg", rare=0).fit(trees))
    >>> [reader.label(row.label).rules for row in reader.table() if row.rules]
    [[Share(name='N V', probability=1.0, lift=1.0)]]
    """

    def __init__(self, parser: Parser, grammar: int = 0) -> None:
        parser._check_fitted()
        if not 0 <= grammar < len(parser.grammars_):
            raise OptionError(f"grammar must be between 0 and {len(parser.grammars_) - 1}, not {grammar}")
        found = parser.grammars_[grammar]
        self._grammar = found if isinstance(found, Grammar) else found.expanded()
        self.signed = self._grammar.signed
        self._rules = parser.rules_
        trees = parser.facts.get("sentences")
        self._trees = trees if isinstance(trees, int) else 0  # a file may contain anything
        self._coarse = _Law(parser.coarse_)
        # Only sums over the states of a signed grammar are meaningful, and the PCFG has these.
        self._fine = self._coarse if self.signed else _Law(self._grammar)

    def table(self) -> list[LabelRow]:
        """The labels, the most frequent first (:func:`label_table`)."""
        rules, L = self._rules, self._rules.n_labels
        sides = np.concatenate([rules.binary[:, 0], rules.unary[:, 0]])
        n_rules = np.bincount(sides, minlength=L)
        known = int(rules.lexicon.start[rules.lexicon.n_words])
        tag, tokens = rules.lexicon.tag[:known], self._coarse.grammar.lexical[:known] * self._trees
        n_words = np.bincount(tag[tokens * self._coarse.mass[tag] >= _HALF], minlength=L)
        shares = self._label_shares
        return [
            LabelRow(
                rules.labels[a],
                to_phrase(rules.labels[a]),
                label_parts(rules.labels[a])[0],
                float(shares[a]),
                int(self._grammar.layout.n_states[a]),
                int(n_rules[a]),
                int(n_words[a]),
            )
            for a in np.argsort(-shares, kind="stable").tolist()
        ]

    def label(self, label: str, n: int = 10) -> LabelReading:
        """A label in words (:func:`describe_label`)."""
        if n < 1:
            raise OptionError(f"n must be at least 1, not {n}")
        a = self._number(label)
        law = self._fine
        mass = law.mass[law.states(a)]
        weight = mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))
        kinds = [self._seen_words(a), law.rewrites(a), law.parents(a)]
        totals = [weight @ table.p for table in kinds]
        words, rules, parents = (
            _most_probable(table.names, total, total, n) for table, total in zip(kinds, totals, strict=True)
        )
        states = []
        for h in [] if self.signed else np.argsort(-weight, kind="stable").tolist():
            top = [_most_probable(t.names, t.p[h], total, n) for t, total in zip(kinds, totals, strict=True)]
            typical = [
                _most_typical(t.names, t.p[h], total, n) for t, total in zip(kinds, totals, strict=True)
            ]
            states.append(StateReading(h, float(weight[h]), *top, *typical))
        return LabelReading(
            self._rules.labels[a],
            to_phrase(self._rules.labels[a]),
            float(self._label_shares[a]),
            self.signed,
            int(self._grammar.layout.n_states[a]),
            words,
            rules,
            parents,
            states,
            self._directions(a, n) if self.signed else [],
        )

    def rules(self, n: int = 100) -> list[RuleRow]:
        """The rules that are used most, whatever the states."""
        rules, law = self._rules, self._coarse
        sides = [*rules.binary.tolist(), *rules.unary.tolist()]
        p = np.concatenate([law.grammar.binary, law.grammar.unary])
        shares = p * self._label_shares[[side[0] for side in sides]]
        order = np.argsort(-shares, kind="stable")[:n].tolist()
        named = [[rules.labels[a] for a in sides[r]] for r in order]
        return [
            RuleRow(label, " ".join(below), float(p[r]), float(shares[r]))
            for r, (label, *below) in zip(order, named, strict=True)
        ]

    def _seen_words(self, a: int) -> _Table:
        """The words of a label, without those that have it only by smoothing."""
        names, p = self._fine.words(a)
        tokens = self._coarse.words(a).p[0] * self._coarse.mass[a] * self._trees
        kept = np.flatnonzero(tokens >= _HALF) if self._trees else np.arange(len(names))
        return _Table([names[i] for i in kept.tolist()], p[:, kept])

    @cached_property
    def _label_shares(self) -> Floats:
        # With one state per label, the PCFG's states are its labels.
        mass = self._coarse.mass
        return np.asarray(mass / max(mass.sum(), 1e-300))

    def _number(self, label: str) -> int:
        """Of a label, or of the most frequent that stands for a plain one."""
        labels = self._rules.labels
        if label in labels:
            return labels.index(label)
        plain = [a for a, name in enumerate(labels) if to_phrase(name) == label]
        if plain:
            return max(plain, key=lambda a: (not label_parts(labels[a])[0], float(self._label_shares[a])))
        raise InputError(f"the grammar has no label {label!r}", remedy=did_you_mean(label, labels, most=3))

    def _directions(self, a: int, n: int) -> list[Direction]:
        """The words at the ends of each singular direction, by the mean of their outside vectors."""
        names, p = self._coarse.words(a)
        expected = p[0] * self._coarse.mass[a] * self._trees
        kept = np.flatnonzero(expected >= _SEEN)
        if len(kept) < 2:
            return []
        _, vectors = _Law(self._grammar).words(a)
        means = vectors[:, kept] / p[0, kept]
        found = []
        for number, values in enumerate(means):
            order = np.argsort(-values, kind="stable")
            size = min(n, len(order) // 2)
            ends = order[:size], order[::-1][:size]
            high, low = ([names[kept[i]] for i in end.tolist()] for end in ends)
            found.append(Direction(number, high, low))
        return found


class _Table(NamedTuple):
    """Distributions over the same names, one per state."""

    names: Sequence[str]
    p: Floats  # [states, names]


class _Law:
    """Sums of the numbers of a grammar: what its states are rewritten as, and what is above them."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar

    def states(self, a: int) -> slice:
        """The positions of the states of a label among all states."""
        start = self.grammar.layout.state_start
        return slice(int(start[a]), int(start[a + 1]))

    @cached_property
    def children(self) -> dict[tuple[int, int], Floats]:
        """``[a, b][h1, h2]``: the mean number of children b in state h2 of a node a in state h1."""
        grammar, rules = self.grammar, self.grammar.rules
        found: dict[tuple[int, int], Floats] = {}

        def add(a: int, b: int, values: Floats) -> None:
            if (a, b) in found:
                found[a, b] += values
            else:
                found[a, b] = values.copy()

        for r, (a, b, c) in enumerate(rules.binary.tolist()):
            tensor = grammar.tensor(r)
            add(a, b, tensor.sum(axis=2))
            add(a, c, tensor.sum(axis=1))
        for r, (a, b) in enumerate(rules.unary.tolist()):
            add(a, b, grammar.matrix(r))
        return found

    @cached_property
    def mass(self) -> Floats:
        """How often each state is expected in a tree: roots, their children, the children of these, and so on.

        For a grammar of relative frequencies, these are the frequencies themselves, apart from smoothing (Chi and Geman
        1998).
        """
        from scipy.sparse import coo_array

        start = self.grammar.layout.state_start
        size = int(start[-1])
        blocks = list(self.children.items())
        shape = (size, size)
        if blocks:
            rows = [
                np.repeat(np.arange(start[a], start[a + 1]), start[b + 1] - start[b]) for (a, b), _ in blocks
            ]
            columns = [
                np.tile(np.arange(start[b], start[b + 1]), start[a + 1] - start[a]) for (a, b), _ in blocks
            ]
            values = np.concatenate([block.ravel() for _, block in blocks])
            step = coo_array((values, (np.concatenate(rows), np.concatenate(columns))), shape).T.tocsr()
        else:
            step = coo_array(shape).tocsr()
        level = self.grammar.root
        total = level.copy()
        for _ in range(_LEVELS):
            level = step @ level
            total += level
            if not _REST * total.sum() < level.sum() < _FAR:
                break
        return np.asarray(total)

    def words(self, a: int) -> _Table:
        """The known words of a label."""
        lexicon, layout = self.grammar.rules.lexicon, self.grammar.layout
        known = int(lexicon.start[lexicon.n_words])
        entries = np.flatnonzero(lexicon.tag[:known] == a)
        at = layout.entry_start[entries][:, None] + np.arange(layout.n_states[a])
        rows = lexicon.entry_row[entries]
        return _Table([lexicon.rows[i] for i in rows.tolist()], self.grammar.lexical[at].T)

    def rewrites(self, a: int) -> _Table:
        """The right sides of a label's rules."""
        grammar, rules = self.grammar, self.grammar.rules
        binary, unary = (np.flatnonzero(one[:, 0] == a).tolist() for one in (rules.binary, rules.unary))
        sides = [rules.binary[r, 1:] for r in binary] + [rules.unary[r, 1:] for r in unary]
        names = [" ".join(rules.labels[b] for b in side.tolist()) for side in sides]
        laws = [grammar.tensor(r).sum(axis=(1, 2)) for r in binary] + [
            grammar.matrix(r).sum(axis=1) for r in unary
        ]
        return _Table(names, self._stacked(laws, a))

    def parents(self, a: int) -> _Table:
        """The labels above a label, :data:`ROOT` above the root."""
        above = sorted(parent for parent, child in self.children if child == a)
        flows = [self.mass[self.states(parent)] @ self.children[parent, a] for parent in above]
        flow = self._stacked([*flows, self.grammar.root[self.states(a)]], a)
        total = flow.sum(axis=1, keepdims=True)
        names = [*(self.grammar.rules.labels[parent] for parent in above), ROOT]
        return _Table(names, flow / np.where(total > 0, total, 1.0))

    def _stacked(self, laws: list[Floats], a: int) -> Floats:
        return np.stack(laws, axis=1) if laws else np.zeros((int(self.grammar.layout.n_states[a]), 0))


def _most_probable(names: Sequence[str], p: Floats, total: Floats, n: int) -> list[Share]:
    return _chosen(names, p, total, p, n)


def _most_typical(names: Sequence[str], p: Floats, total: Floats, n: int) -> list[Share]:
    """By their part in the divergence of the state from its label."""
    seen = (p > 0) & (total > 0)
    score = np.zeros(len(p))
    score[seen] = p[seen] * np.log(p[seen] / total[seen])
    return _chosen(names, p, total, np.where(score > 1e-9, score, 0.0), n)


def _chosen(
    names: Sequence[str], p: Floats, total: Floats, score: NDArray[np.float64], n: int
) -> list[Share]:
    """The names with the largest scores, if these are positive."""
    order = [i for i in np.argsort(-score, kind="stable")[:n].tolist() if score[i] > 0]
    return [Share(names[i], float(p[i]), float(p[i] / total[i])) for i in order]
