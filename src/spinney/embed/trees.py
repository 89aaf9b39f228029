"""Neighbours in dependency trees as contexts: the head of a word and its dependents, instead of a window.

A context is a word, and may also say which of the two it is, and by which relation (Levy and Goldberg 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.embed.counts import ContextCounts
from spinney.errors import OptionError
from spinney.parallel import Pure, default_threads, in_order

_PIECE = 1 << 20  # tokens counted at a time


@dataclass(frozen=True)
class TreeContexts:
    """Which neighbours in a tree share columns.

    Attributes
    ----------
    directed
        Whether the head has other columns than dependents.
    relations
        The relations with columns of their own; all others share one block.
    """

    directed: bool = False
    relations: tuple[str, ...] = ()

    @property
    def n_blocks(self) -> int:
        """How many times over the columns list the words."""
        return (1 + len(self.relations)) * (1 + self.directed)

    def places(
        self, text: TokenArrays, n_contexts: int, edges: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The token and the column of each context in a text.

        An edge of a tree is seen from both ends: its head is a context of the dependent, and the dependent is one of
        the head. With ``edges``, the root of a sentence has a context of its own in place of a head.
        """
        self.check(text)
        ids, heads = np.asarray(text.ids, np.int64), np.asarray(text.heads, np.int64)
        starts = np.repeat(text.offsets[:-1], np.diff(text.offsets))
        lower = np.flatnonzero(heads >= 0)
        upper = (starts + heads)[lower]
        up = self._kinds(text)[lower] * (1 + self.directed)
        down = up + self.directed
        tokens, words = np.concatenate([lower, upper]), ids[np.concatenate([upper, lower])]
        known = words < n_contexts
        columns = np.concatenate([up, down]) * (n_contexts + edges) + words
        tokens, columns = tokens[known], columns[known]
        if edges:
            roots = np.flatnonzero(heads < 0)
            tokens = np.concatenate([tokens, roots])
            columns = np.concatenate([columns, np.full(len(roots), n_contexts)])
        return tokens, columns

    def _kinds(self, text: TokenArrays) -> NDArray[np.int64]:
        """The block of each token's relation to its head: 0 is that of the relations without a name."""
        if not self.relations:
            return np.zeros(text.n_tokens, np.int64)
        column = text.labels["deprel"]
        number = {relation: i for i, relation in enumerate(self.relations, start=1)}
        return np.array([number.get(name, 0) for name in column.vocabulary.words], np.int64)[column.ids]

    def check(self, text: TokenArrays) -> None:
        """Refuse text without trees."""
        if text.heads is None:
            raise OptionError("contexts in trees need heads: give CoNLL-U, or a parser")
        if self.relations and "deprel" not in text.labels:
            raise OptionError("contexts by relation need relations: read CoNLL-U with relations")


def frequent_relations(text: TokenArrays, n: int) -> tuple[str, ...]:
    """The ``n`` most frequent relations between the words of a text."""
    if not n:
        return ()
    if text.heads is None or "deprel" not in text.labels:
        raise OptionError("contexts by relation need heads and relations: give CoNLL-U, or a parser")
    column = text.labels["deprel"]
    counts = np.bincount(column.ids[np.asarray(text.heads) >= 0], minlength=len(column.vocabulary))
    return tuple(column.vocabulary.words[i] for i in np.argsort(-counts, kind="stable")[:n] if counts[i])


def count_trees(
    text: TokenArrays,
    contexts: TreeContexts,
    *,
    n_contexts: int | None = None,
    edges: bool = False,
    threads: int | None = None,
) -> ContextCounts:
    """Count the heads and the dependents of each word.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["dogs", "chase", "cats"]])
    >>> text = replace(text, heads=np.array([1, -1, 1], np.int32))
    >>> counts = count_trees(text, TreeContexts(directed=True))
    >>> words = text.vocabulary.words
    >>> [(words[i], "↑" if j < 3 else "↓", words[j % 3]) for i, j in zip(*counts.matrix.nonzero())]
    [('dogs', '↑', 'chase'), ('chase', '↓', 'dogs'), ('chase', '↓', 'cats'), ('cats', '↑', 'chase')]
    """
    import scipy.sparse

    contexts.check(text)
    size = len(text.vocabulary)
    n_contexts = min(n_contexts or size, size)
    shape = (size, contexts.n_blocks * (n_contexts + edges))
    pieces = text.shards(1 + text.n_tokens // _PIECE) if text.n_tokens else []
    matrix: Any = scipy.sparse.csr_array(shape)
    for part in in_order(
        Pure(_counted, contexts, n_contexts, edges, shape), pieces, threads or default_threads()
    ):
        matrix = matrix + part
    matrix.sort_indices()
    words = np.bincount(text.ids, minlength=size).astype(float)
    return ContextCounts(matrix.astype(np.float32), words, n_contexts, contexts.n_blocks, edges)


def _counted(
    contexts: TreeContexts, n_contexts: int, edges: bool, shape: tuple[int, int], piece: TokenArrays
) -> Any:
    """The counts of a piece: a pure function. Sums of whole numbers do not depend on their order."""
    from scipy.sparse import csr_array

    tokens, columns = contexts.places(piece, n_contexts, edges)
    return csr_array((np.ones(len(tokens)), (piece.ids[tokens], columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class TreeStates:
    """The state of a token is the sum of the projections of its head and its dependents.

    Attributes
    ----------
    projection : array of float32 [columns, dimensions]
        A row for each column of the counts that it was learned from.
    """

    contexts: TreeContexts
    projection: NDArray[np.float32]
    n_contexts: int
    edges: bool = False

    @property
    def dimension(self) -> int:
        """The length of a state."""
        return int(self.projection.shape[1])

    def __call__(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, dimension]``"""
        from scipy.sparse import csr_array

        tokens, columns = self.contexts.places(text, self.n_contexts, self.edges)
        ones = np.ones(len(tokens), np.float32)
        places = csr_array((ones, (tokens, columns)), shape=(text.n_tokens, len(self.projection)))
        return np.asarray(places @ self.projection)
