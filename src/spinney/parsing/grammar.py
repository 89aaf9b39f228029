"""Grammars with latent states: rules, the layout of their numbers, and how counts become probabilities.

A label *a* has ``m_a`` states. A binary rule a → b c has a number for each ``(h1, h2, h3)``, a unary rule a → b for
each ``(h1, h2)``, an entry of the lexicon a → x for each ``h``; all of them are in flat arrays, one rule after
another, in this order of indices. With one state per label this is a PCFG. With numbers from EM or clusters they are
probabilities; from spectral moments they may have any sign, and only sums over all states mean something.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.memory import check_memory
from spinney.parsing.lexicon import Lexicon
from spinney.parsing.treearrays import TreeArrays

Floats = NDArray[np.float64]

#: Arrays of the size of a grammar that learning holds at a time: the old and the new numbers, and counts.
_COPIES = 3


@dataclass(frozen=True)
class Rules:
    """The rules of a grammar, regardless of states.

    Attributes
    ----------
    labels : tuple of str
    binary : int32 array [rules, 3]
        a, b, c of each rule a → b c, in increasing order.
    unary : int32 array [rules, 2]
        a, b of each rule a → b, in increasing order.
    lexicon : Lexicon
    """

    labels: tuple[str, ...]
    binary: NDArray[np.int32]
    unary: NDArray[np.int32]
    lexicon: Lexicon

    @classmethod
    def of(cls, trees: TreeArrays, rare: int = 5) -> Rules:
        """The rules that some trees use."""
        binary, unary = _rules_at(trees)
        return cls(
            trees.labels,
            np.unique(binary, axis=0).astype(np.int32),
            np.unique(unary, axis=0).astype(np.int32),
            Lexicon.of(trees, rare),
        )

    @property
    def n_labels(self) -> int:
        """L."""
        return len(self.labels)

    def used(self, trees: TreeArrays) -> Uses:
        """The rule at each node of some trees, whose labels begin with these."""
        L = max(self.n_labels, len(trees.labels))
        rule = np.full(len(trees.label), -1, np.int32)
        rare = np.full(len(trees.label), -1, np.int32)
        binary, unary = _rules_at(trees)
        rule[trees.right >= 0] = _found(_key(self.binary, L), _key(binary, L))
        rule[(trees.left >= 0) & (trees.right < 0)] = _found(_key(self.unary, L), _key(unary, L))
        leaves = trees.leaves
        rule[leaves], rare[leaves] = self.lexicon.token_entries(trees)
        return Uses(rule, rare)


@dataclass(frozen=True)
class Uses:
    """The number of the rule at each node: binary, unary or entry of the lexicon, depending on the node; -1 for none.

    ``rare`` holds, at the leaf of a rare word, the entry of its signature as well, and -1 elsewhere.
    """

    rule: NDArray[np.int32]
    rare: NDArray[np.int32]


@dataclass(frozen=True)
class Layout:
    """The positions of the numbers of each label and rule, given the number of states per label."""

    rules: Rules
    n_states: NDArray[np.int32]  # [labels]

    @classmethod
    def uniform(cls, rules: Rules, states: int) -> Layout:
        """The same number of states for each label."""
        return cls(rules, np.full(rules.n_labels, states, np.int32))

    @cached_property
    def state_start(self) -> NDArray[np.int64]:
        """Where the states of each label begin: [labels + 1]."""
        return _starts(self.n_states)

    @cached_property
    def binary_start(self) -> NDArray[np.int64]:
        """Where the tensor of each binary rule begins: [rules + 1]."""
        return _starts(self.n_states.astype(np.int64)[self.rules.binary].prod(axis=1))

    @cached_property
    def unary_start(self) -> NDArray[np.int64]:
        """Where the matrix of each unary rule begins: [rules + 1]."""
        return _starts(self.n_states.astype(np.int64)[self.rules.unary].prod(axis=1))

    @cached_property
    def entry_start(self) -> NDArray[np.int64]:
        """Where the vector of each entry of the lexicon begins: [entries + 1]."""
        return _starts(self.n_states[self.rules.lexicon.tag])

    def entry_label(self) -> NDArray[np.int64]:
        """The entry of the lexicon that each of its numbers belongs to."""
        return np.repeat(np.arange(len(self.entry_start) - 1), np.diff(self.entry_start))


def check_states(layout: Layout, nodes: int = 0) -> None:
    """Refuse more states than memory can hold: a tensor for each rule, and vectors of states for each node."""
    states = layout.n_states.astype(np.float64)
    tensors = states[layout.rules.binary].prod(axis=1).sum() + states[layout.rules.unary].prod(axis=1).sum()
    most = int(states.max(initial=1))
    what = "{states} {most} with {rules} rules of two children"
    rules = f"{len(layout.rules.binary):,}"
    check_memory(
        8.0 * (_COPIES * tensors + 2 * nodes * most), what, "ask for fewer {states}", most=most, rules=rules
    )


@dataclass
class Numbers:
    """A number for everything in a layout: counts, or what they become."""

    layout: Layout
    root: Floats
    binary: Floats
    unary: Floats
    lexical: Floats

    @classmethod
    def zeros(cls, layout: Layout) -> Self:
        """All counts zero."""
        starts = layout.state_start, layout.binary_start, layout.unary_start, layout.entry_start
        return cls(layout, *(np.zeros(start[-1]) for start in starts))

    def tensor(self, rule: int) -> Floats:
        """``[h1, h2, h3]`` of a binary rule (a view)."""
        start, layout = self.layout.binary_start, self.layout
        shape = layout.n_states[layout.rules.binary[rule]]
        return self.binary[start[rule] : start[rule + 1]].reshape(shape)

    def matrix(self, rule: int) -> Floats:
        """``[h1, h2]`` of a unary rule (a view)."""
        start, layout = self.layout.unary_start, self.layout
        shape = layout.n_states[layout.rules.unary[rule]]
        return self.unary[start[rule] : start[rule + 1]].reshape(shape)

    def vector(self, entry: int) -> Floats:
        """``[h]`` of an entry of the lexicon (a view)."""
        start = self.layout.entry_start
        return self.lexical[start[entry] : start[entry + 1]]


@dataclass
class RuleCounts(Numbers):
    """How often each rule was used: whole numbers, expectations, or moments.

    ``lexical`` holds the tokens of each word with each tag and, apart from them, those of rare words in the rows of
    their signatures (:class:`~spinney.parsing.lexicon.Lexicon`); :data:`~spinney.parsing.lexicon.ANY` stays empty.
    """

    def mass(self) -> Floats:
        """How often each state occurred: [states]."""
        from spinney.parsing._grammar_kernels import add_row_sums

        layout, lexicon = self.layout, self.layout.rules.lexicon
        mass = np.zeros(layout.state_start[-1])
        tokens = int(
            lexicon.start[lexicon.n_words]
        )  # entries of words: signatures count the same tokens again
        parts = (
            (self.binary, layout.binary_start, layout.rules.binary[:, 0].copy()),
            (self.unary, layout.unary_start, layout.rules.unary[:, 0].copy()),
            (self.lexical, layout.entry_start[: tokens + 1], lexicon.tag[:tokens]),
        )
        for values, start, label in parts:
            add_row_sums(values, start, label, layout.state_start, mass)
        return mass

    def grammar(
        self,
        mass: Floats | None = None,
        *,
        own: float = 1.0,
        alpha: tuple[float, float] = (0.0, 0.0),
        signed: bool = False,
    ) -> Grammar:
        """Relative frequencies, with the laws of rare and of unknown words smoothed by their signatures.

        Parameters
        ----------
        mass
            The divisor of the numbers of each state; by default the count of the state.
        own
            The number of tokens of its signature that are added to a rare word, and of all rare words to a signature.
        alpha
            How far the law of a state, over rules and over words, is moved to the mean of its label's states
            (Petrov et al. 2006).
        signed
            Whether these are moments, which may be negative.
        """
        from spinney.parsing._grammar_kernels import scale_rows

        layout, rules = self.layout, self.layout.rules
        mass = self.mass() if mass is None else mass
        factor = 1.0 / np.where(mass == 0, 1.0, mass)
        roots = float(self.root.sum())
        root = self.root if signed or roots == 0 else self.root / roots
        binary, unary, lexical = (np.empty_like(one) for one in (self.binary, self.unary, self.lexical))
        words = smoothed_words(self, own)
        parts = (
            (self.binary, layout.binary_start, rules.binary[:, 0].copy(), alpha[0], binary),
            (self.unary, layout.unary_start, rules.unary[:, 0].copy(), alpha[0], unary),
            (words, layout.entry_start, rules.lexicon.tag, alpha[1], lexical),
        )
        for values, start, label, share, out in parts:
            scale_rows(values, start, label, layout.state_start, factor, share, out)
        return Grammar(layout, root, binary, unary, lexical, signed)


@dataclass
class Grammar(Numbers):
    """The numbers of a grammar, ready for inference."""

    signed: bool = False

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.layout.rules

    @property
    def n_parameters(self) -> int:
        """The total number of parameters."""
        return sum(len(one) for one in (self.root, self.binary, self.unary, self.lexical))


def smoothed_words(counts: RuleCounts, own: float) -> Floats:
    """Counts of words and classes of words, where rare words are smoothed.

    A rare word w with signature s counts ``(c(w, ·) + own·p(· | s)) · c(w) / (c(w) + own)``: the same total, but
    partly distributed as its signature suggests. The row of a signature holds ``p(· | s)``, itself smoothed by
    the distribution of all rare words, so an unknown word weighs as much as one token.
    """
    layout, lexicon = counts.layout, counts.layout.rules.lexicon
    row, n, start = lexicon.entry_row, lexicon.n_words, layout.entry_start
    entry_of = layout.entry_label()
    values = counts.lexical.copy()
    any_row = len(lexicon.rows) - 1

    def addressed(
        rows: NDArray[np.integer], entries: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of some entries, and those of the entries of given rows with the same tags."""
        other = lexicon.entries(rows, lexicon.tag[entries])
        entries, other = entries[other >= 0], other[other >= 0]
        sizes = layout.n_states[lexicon.tag[entries]]
        inner = _within(sizes)
        return np.repeat(start[entries], sizes) + inner, np.repeat(start[other], sizes) + inner

    signatures = np.flatnonzero((row >= n) & (row < any_row))
    # Without rare words, unknown words are treated like any word.
    examples = signatures if len(signatures) else np.flatnonzero(row < n)
    here, there = addressed(np.full(len(examples), any_row), examples)
    np.add.at(values, there, values[here])
    total = np.maximum(lexicon.count.astype(np.float64), 1.0)
    values[start[lexicon.start[any_row]] :] /= total[any_row]

    here, there = addressed(np.full(len(signatures), any_row), signatures)
    count = total[row[entry_of[here]]]
    values[here] = (values[here] + own * values[there]) / (count + own)

    rare = np.flatnonzero((row < n) & (lexicon.count[row] <= lexicon.rare))
    here, there = addressed(lexicon.signature_row[row[rare]], rare)
    count = total[row[entry_of[here]]]
    values[here] = (values[here] + own * values[there]) * count / (count + own)
    return values


def pcfg_counts(trees: TreeArrays, rules: Rules, uses: Uses | None = None) -> RuleCounts:
    """The count of each rule in some trees, with one state per label.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> texts = "(S (N dogs) (V bark))", "(S (N dogs) (S (N cats) (V meow)))"
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> grammar = pcfg_counts(trees, rules := Rules.of(trees)).grammar()
    >>> for (a, b, c), p in zip(rules.binary.tolist(), grammar.binary.tolist()):
    ...     print(rules.labels[a], "->", rules.labels[b], rules.labels[c], round(p, 3))
    S -> N V 0.667
    S -> N S 0.333
    """
    uses = rules.used(trees) if uses is None else uses
    layout = Layout.uniform(rules, 1)
    counts = RuleCounts.zeros(layout)
    binary, leaf = trees.right >= 0, trees.left < 0

    def counted(of: NDArray[np.int32], size: int) -> Floats:
        return np.bincount(of[of >= 0], minlength=size).astype(np.float64)

    return replace(
        counts,
        root=counted(trees.label[trees.roots], rules.n_labels),
        binary=counted(uses.rule[binary], len(rules.binary)),
        unary=counted(uses.rule[~binary & ~leaf], len(rules.unary)),
        lexical=counted(uses.rule[leaf], len(counts.lexical)) + counted(uses.rare[leaf], len(counts.lexical)),
    )


def _rules_at(trees: TreeArrays) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """a, b, c at the binary nodes; a, b at the unary ones."""
    label = trees.label.astype(np.int64)
    two, one = np.flatnonzero(trees.right >= 0), np.flatnonzero((trees.left >= 0) & (trees.right < 0))
    binary = np.stack([label[two], label[trees.left[two]], label[trees.right[two]]], axis=1)
    return binary, np.stack([label[one], label[trees.left[one]]], axis=1)


def _key(rules: NDArray[np.integer], L: int) -> NDArray[np.int64]:
    """One number for each rule, in the order of the rules."""
    key = np.zeros(len(rules), np.int64)
    for column in rules.T:
        key = key * L + column
    return key


def _found(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int32]:
    """The positions of numbers among increasing keys; -1 where they are missing."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int32)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1).astype(np.int32)


def _starts(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _within(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """0, 1, … for each size: [0, 1, 0, 1, 2] for 2, 3."""
    return np.arange(int(sizes.sum())) - np.repeat(_starts(sizes)[:-1], sizes)
