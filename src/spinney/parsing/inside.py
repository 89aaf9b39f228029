"""Inside-outside of a grammar with latent states over a forest.

With states summed out, everything is also defined for spectral grammars, whose numbers have any sign: the unknown
changes of basis cancel (Cohen et al. 2012). But sampling error may then make a marginal, or even the total Z of a
sentence, negative; see :data:`~spinney.parsing.decoding.SIGNS` for remedies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.parsing.forest import Floats, Ints, PackedForest, read_only
from spinney.parsing.grammar import Grammar

if TYPE_CHECKING:
    from spinney.parsing.compression import CompressedGrammar

Longs = NDArray[np.int64]


class GrammarArrays(NamedTuple):
    """The numbers of a grammar, as kernels take them."""

    state_start: Longs
    root: Floats
    binary_start: Longs
    binary: Floats
    rank: Ints
    unary_start: Longs
    unary: Floats
    entry_start: Longs
    lexical: Floats

    @classmethod
    def of(cls, grammar: Grammar | CompressedGrammar) -> GrammarArrays:
        """The arrays of a grammar, whose tensors may be decomposed."""
        layout = grammar.layout
        if isinstance(grammar, Grammar):
            binary_start, rank = layout.binary_start, np.zeros(len(layout.rules.binary), np.int32)
        else:
            binary_start, rank = grammar.binary_start, grammar.rank
        longs = layout.state_start, binary_start, layout.unary_start, layout.entry_start
        state, binary, unary, entry = (read_only(array, np.int64) for array in longs)
        floats = grammar.root, grammar.binary, grammar.unary, grammar.lexical
        root, tensors, matrices, lexical = (read_only(array, np.float64) for array in floats)
        return cls(state, root, binary, tensors, read_only(rank, np.int32), unary, matrices, entry, lexical)


@dataclass(frozen=True, eq=False)
class Marginals:
    """The results of inside-outside, divided by Z, the total of all derivations.

    With probabilities these are posterior probabilities; with signed numbers they may lie anywhere, and still sum to 1
    where posteriors do.

    Attributes
    ----------
    sign : int
        The sign of Z; 0 if no derivation has any weight (then all other numbers are 0).
    log_z : float
        log |Z|, the log-likelihood of the sentence.
    items, binary, unary, lexical : float64 arrays
        Of the items and edges of the forest.
    """

    forest: PackedForest
    sign: int
    log_z: float
    items: Floats
    binary: Floats
    unary: Floats
    lexical: Floats


def inside_outside(grammar: Grammar | CompressedGrammar, forest: PackedForest) -> Marginals:
    """Sum over all derivations in a forest and all their states.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> from spinney.parsing.coarse import Pruner
    >>> from spinney.parsing.grammar import Rules, pcfg_counts
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> texts = "(S (N dogs) (V bark))", "(S (N dogs) (S (N cats) (V bark)))"
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> grammar = pcfg_counts(trees, Rules.of(trees, rare=0)).grammar()
    >>> forest = Pruner(grammar).forest(["cats", "dogs", "bark"])
    >>> marginals = inside_outside(grammar, forest)
    >>> marginals.items  # only one tree is possible
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    >>> float(np.exp(marginals.log_z))  # N V, N S and the words
    0.0493...
    """
    from spinney.parsing._forest_kernels import inside_pass, outside_pass

    if grammar.layout.rules is not forest.rules:
        raise OptionError(
            "the grammar and the forest have different rules: use the same Rules for the coarse and the fine grammar"
        )
    f, g = forest.arrays, GrammarArrays.of(grammar)
    n_states = grammar.layout.n_states
    start = np.concatenate([[0], np.cumsum(n_states[f.label], dtype=np.int64)])
    most = int(n_states.max(initial=1))
    room = np.empty((3, max(most * most, int(g.rank.max(initial=0)))))
    inside, outside = np.empty(start[-1]), np.empty(start[-1])
    exponent = np.zeros(len(f.begin), np.int64)
    scale = np.empty(len(f.left))
    Z = inside_pass(f, g, start, inside, exponent, scale, room)
    sizes = len(f.label), len(f.left), len(f.unary_rule), len(f.entry)
    items, binary, unary, lexical = (np.zeros(size) for size in sizes)
    if Z == 0 or not np.isfinite(Z):
        return Marginals(forest, 0, -np.inf, items, binary, unary, lexical)
    outside_pass(f, g, start, inside, exponent, scale, Z, outside, items, binary, unary, lexical, room)
    log_z = float(np.log(abs(Z)) + exponent[-1] * np.log(2.0))
    return Marginals(forest, int(np.sign(Z)), log_z, items, binary, unary, lexical)
