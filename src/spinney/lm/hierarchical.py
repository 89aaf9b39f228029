"""A log-linear language model with a hierarchical softmax: a decision at each inner node of a tree over the words.

P(y | x) is the product of the decisions on the way to y. Each inner node is a log-linear model on its own suffix trie,
trained on the events that pass it, so that a word costs as many decisions as its leaf is deep: log V in a balanced
tree, less in a Huffman tree. The thesis (Nelakanti 2014) has the two halves, tree norms on contexts and taxonomies of
classes, and leaves their union to future work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import OptionError
from spinney.files import ModelFile, Parts
from spinney.lm.loglinear import (
    Law,
    Plan,
    SolverName,
    Start,
    TrieScores,
    collapses,
    planned,
    pruned,
    sentence_so_far,
    single,
    solved,
    stored_scores,
    training_facts,
)
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.storedtrie import trie_header, trie_tensors
from spinney.lm.stream import Ids, Stream, refuse_marks, stream_of
from spinney.lm.suffixtrie import Counts, SuffixTrie, trie_of_events
from spinney.lm.triepenalty import trie_spec
from spinney.lm.wordtree import fitting, huffman_tree
from spinney.optim import PenaltySpec, warn_unless_converged
from spinney.structure import ClassTree


@dataclass(repr=False, eq=False)
class HierarchicalModel(LanguageModel):
    """A fitted model; :func:`fit_hierarchical` makes one."""

    kind: ClassVar[str] = "lm/HierarchicalModel"

    vocabulary: Vocabulary
    tree: ClassTree
    trie: SuffixTrie
    theta: Vector
    text: Ids
    order: int | None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def n_parameters(self) -> int:
        """Grams of decisions with a weight."""
        return int(np.count_nonzero(self.theta))

    @cached_property
    def _codes(self) -> Any:
        return self.tree.paths()

    @cached_property
    def _scores(self) -> TrieScores:
        return TrieScores(self.trie, self.theta, self.text, self._codes.arity)

    def event_logprobs(self, stream: Stream) -> Vector:
        events = stream.events
        outcome = stream.ids[events]
        known = np.flatnonzero(outcome >= 0)
        of, root, branch = decisions(self.tree, outcome[known])
        place = events[known][of]
        logs, _ = self._scores.logprobs(stream.ids, place, stream.room[place], root, branch)
        found = np.full(len(events), -np.inf)
        found[known] = np.bincount(of, logs, minlength=len(known))
        return found

    def match_depths(self, stream: Stream) -> Ids:
        """The length of the context that the first decision matches."""
        events = stream.events
        top = np.full(len(events), self._root, np.int32)
        nought = np.zeros(len(events), np.int32)
        return self._scores.logprobs(stream.ids, events, stream.room[events], top, nought)[1]

    @cached_property
    def _root(self) -> int:
        return int(np.flatnonzero(self.tree.parent < 0)[0]) - len(self.tree)

    def distribution(self, history: Ids) -> Vector:
        history, room = sentence_so_far(history, self.start)
        codes = self._codes
        first = np.concatenate(([0], np.cumsum(codes.arity)))  # all branches of all nodes, once
        root = np.repeat(np.arange(len(codes.arity), dtype=np.int32), codes.arity)
        branch = (np.arange(first[-1]) - first[root]).astype(np.int32)
        place, rooms = np.full(len(root), len(history)), np.full(len(root), room, np.int32)
        logs, _ = self._scores.logprobs(history, place, rooms, root, branch)
        way = logs[first[codes.nodes] + codes.branches]
        of = np.repeat(np.arange(self.n_outcomes), np.diff(codes.ptr))
        return np.exp(np.bincount(of, way, minlength=self.n_outcomes))

    def parts(self) -> Parts:
        tree = self.tree.parts()
        tensors = {**trie_tensors(self.trie), "theta": single(self.theta), "text": self.text}
        tensors |= {f"tree.{name}": array for name, array in tree.tensors.items()}
        return Parts({**trie_header(self.trie), "order": self.order}, tensors, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        from spinney.lm.stream import END

        trie, theta, text = stored_scores(file)
        parent, branch = file.tensor("tree.parent", np.int32), file.tensor("tree.branch", np.int32)
        with file.checked():
            tree = ClassTree([*vocabulary.words, END], parent, branch)
        arity = tree.paths().arity
        n_roots = np.count_nonzero(trie.parent < 0)
        if (
            n_roots != len(arity)
            or trie.n_outcomes != arity.max(initial=1)
            or trie.n_symbols != len(vocabulary) + 2
        ):
            raise file.error("damaged: the decisions do not match the tree")
        at_roots = slice(0, trie.gram_ptr[n_roots])
        if np.any(trie.symbol[at_roots] >= arity[trie.context[at_roots]]):
            raise file.error("damaged: the decisions do not match the tree")
        order = file.header.get("order")
        return cls(vocabulary, tree, trie, theta, text, order if isinstance(order, int) else None)


def decisions(tree: ClassTree, outcome: Ids) -> tuple[Counts, Ids, Ids]:
    """The decisions on the way to each outcome: which outcome they belong to, at which inner node, which branch."""
    codes = tree.paths()
    lengths = np.diff(codes.ptr)[outcome]
    of = np.repeat(np.arange(len(outcome)), lengths)
    step = np.arange(len(of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = codes.ptr[outcome][of] + step
    return of, codes.nodes[place], codes.branches[place]


def fit_hierarchical(
    text: TokenArrays,
    order: int | None = 3,
    *,
    tree: ClassTree | None = None,
    penalty: str | PenaltySpec = "tree-l2",
    lam: float = 0.7,
    alpha: float = 1.1,
    law: Law = "power",
    group_factor: float = 1.0,
    solver: SolverName | None = None,
    collapse: bool | None = None,
    start: Start = "kneser-ney",
    tol: float = 1e-4,
    max_iter: int = 5000,
    **options: Any,
) -> HierarchicalModel:
    """Learn a hierarchical log-linear model from text.

    Parameters
    ----------
    tree
        A tree whose leaves are the words of the vocabulary and ``</s>``; by default their Huffman tree. Trees of word
        classes come from :func:`spinney.lm.tree_of_classes`, learned ones from :mod:`spinney.taxonomy`.
    order, penalty, lam, alpha, law, group_factor, solver, collapse, start, tol, max_iter
        As for :func:`spinney.lm.fit_loglinear`.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"]])
    >>> model = fit_hierarchical(text, 3, lam=0.1)
    >>> [(word, round(p, 2)) for word, p in model.next_words(["a"], 1)]
    [('rose', 0.85)]
    """
    refuse_marks(text)
    if order is not None and order < 1:
        raise OptionError(f"the order must be at least 1, not {order}")
    tree = huffman_tree(text.vocabulary, len(text)) if tree is None else fitting(tree, text.vocabulary)
    spec = trie_spec(penalty, lam)
    together = collapses(spec.name, alpha, group_factor, collapse, solver)
    plan, depth = _plan(text, tree, order, alpha, law, group_factor, together, start)
    solution = solved(plan, plan.penalty(spec), solver, tol, max_iter, plan.w0, options)
    warn_unless_converged(solution, tol)
    settings = {
        "penalty": spec.name, "lam": spec.lam, "alpha": alpha, "law": law, "group_factor": group_factor,
        "solver": solution.solver, "decisions_per_token": depth,
    }  # fmt: skip
    facts = training_facts(text, order, plan, solution, settings)
    return HierarchicalModel(text.vocabulary, tree, *pruned(text, plan, solution), order, facts)


def _plan(
    text: TokenArrays,
    tree: ClassTree,
    order: int | None,
    alpha: float,
    law: Law,
    group_factor: float,
    collapse: bool,
    start: Start,
) -> tuple[Plan, float]:
    stream = stream_of(text)
    events = stream.events
    of, root, branch = decisions(tree, stream.ids[events])
    arity = tree.paths().arity
    place = events[of]
    trie = trie_of_events(
        stream.ids,
        place,
        stream.room[place],
        root,
        branch,
        int(arity.max(initial=1)),
        len(text.vocabulary) + 2,
        None if order is None else order - 1,
        n_roots=len(arity),
        collapse=collapse,
    )
    return planned(trie, alpha, law, group_factor, start, arity), len(of) / len(events)
