"""The best tree of a forest by several criteria.

Every criterion is a score for each edge of the forest; the best tree is the one whose edges have the largest sum. So
all criteria share one search (and k-best lists), and grammars are combined by adding their scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.errors import OptionError
from spinney.parsing.forest import Floats, PackedForest
from spinney.parsing.grammar import Grammar
from spinney.parsing.inside import Marginals

#: How to handle signed marginals. They are divided by |Z|; then ``"raw"`` leaves them as they are, even if Z is
#: negative and the best tree becomes the worst; ``"abs"`` takes absolute values (Cohen et al. 2013); ``"normalise"``
#: divides by the sign of Z as well; ``"clip"`` does too, and sets what is still negative to 0. Probabilities are the
#: same with all of them.
Signs = Literal["raw", "abs", "normalise", "clip"]


@dataclass(frozen=True, eq=False)
class EdgeScores:
    """A number for each edge and each root of a forest; -inf for those that are not allowed."""

    forest: PackedForest
    binary: Floats
    unary: Floats
    lexical: Floats
    root: Floats

    @classmethod
    def sum(cls, scores: Sequence[EdgeScores]) -> EdgeScores:
        """Several criteria on one forest added up: with max-rule scores, a product of grammars (Petrov 2010)."""
        forest = scores[0].forest
        if any(one.forest is not forest for one in scores):
            raise OptionError("scores of different forests cannot be added")
        kinds = zip(*((one.binary, one.unary, one.lexical, one.root) for one in scores), strict=True)
        return cls(forest, *(np.sum(kind, axis=0) for kind in kinds))


def with_signs(values: Floats, sign: int, signs: Signs) -> Floats:
    """Marginals over Z, the sign of which is given, after a policy.

    Examples
    --------
    >>> for signs in "raw", "abs", "normalise", "clip":
    ...     print(signs, with_signs(np.array([0.75, -0.25]), -1, signs))
    raw [-0.75  0.25]
    abs [0.75 0.25]
    normalise [ 0.75 -0.25]
    clip [0.75 0.  ]
    """
    if signs == "raw":
        return values * sign
    if signs == "abs":
        return np.abs(values)
    if signs == "normalise":
        return values
    if signs == "clip":
        return np.maximum(values, 0.0)
    raise OptionError(
        f"signs={signs!r}: must be one of {', '.join(get_args(Signs))}", given=signs, known=get_args(Signs)
    )


def max_rule_scores(
    marginals: Marginals, signs: Signs = "abs", *, combine: Literal["product", "sum"] = "product"
) -> EdgeScores:
    """Posterior probabilities of the rules at their places: the best tree has the largest product, or sum, of them.

    The product is the criterion of Petrov and Klein (2007). The absence of a unary rule over a span is a decision
    with a posterior, too, so all trees of a sentence have the same number of factors. An edge whose posterior is not
    positive is not allowed in a product.
    """
    f = marginals.forest.arrays
    kinds = marginals.binary, marginals.unary, marginals.lexical, marginals.items[f.root]
    values = [_signed(kind, marginals, signs) for kind in kinds]
    if combine == "product":
        values = [_log(kind) for kind in values]
    return EdgeScores(marginals.forest, *values)


def mbr_scores(marginals: Marginals, signs: Signs = "abs") -> EdgeScores:
    """Posteriors of items: the best tree has the largest expected number of correct ones (Goodman 1996).

    Each span of a tree counts twice, with its label below a unary rule and with that above, which are the same where
    there is no such rule. If unary nodes counted as additional labels, trees would be full of them.
    """
    forest, f = marginals.forest, marginals.forest.arrays
    mu = _signed(marginals.items, marginals, signs)
    return EdgeScores(
        forest, mu[forest.parent], mu[f.unary_parent], mu[f.lexical_parent], np.zeros(len(f.root))
    )


def viterbi_scores(grammar: Grammar, forest: PackedForest) -> EdgeScores:
    """Log-probabilities of rules, of a grammar with one state per label: the best tree is the most probable one."""
    if grammar.layout.n_states.max(initial=1) > 1 or grammar.signed:
        raise OptionError(
            "Viterbi needs one state per label, and probabilities: see kbest.unfolded, or use max-rule decoding"
        )
    f = forest.arrays
    unary = np.where(f.unary_rule < 0, 0.0, _log(np.append(grammar.unary, 0.0))[f.unary_rule])
    binary, lexical, root = _log(grammar.binary), _log(grammar.lexical), _log(grammar.root)
    return EdgeScores(forest, binary[forest.rule], unary, lexical[f.entry], root[f.label[f.root]])


def best_tree(scores: EdgeScores) -> Tree | None:
    """The tree with the largest score; ties are broken deterministically. None if there is no tree.

    Examples
    --------
    >>> from spinney.parsing.coarse import Pruner
    >>> from spinney.parsing.grammar import Rules, pcfg_counts
    >>> from spinney.parsing.inside import inside_outside
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> texts = "(S (N dogs) (V bark))", "(S (N dogs) (S (N cats) (V bark)))"
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> grammar = pcfg_counts(trees, Rules.of(trees, rare=0)).grammar()
    >>> marginals = inside_outside(grammar, Pruner(grammar).forest(["cats", "dogs", "bark"]))
    >>> str(best_tree(max_rule_scores(marginals)))
    '(S (N cats) (S (N dogs) (V bark)))'
    """
    from spinney.parsing._decoding_kernels import best_edges

    forest = scores.forest
    value, chosen = np.empty(forest.n_items), np.empty(forest.n_items, np.int64)
    best_edges(forest.arrays, scores.binary, scores.unary, scores.lexical, value, chosen)
    root = value[forest.arrays.root] + scores.root
    if not root.max() > -np.inf:
        return None
    return forest.tree(int(forest.arrays.root[root.argmax()]), chosen)


def free_tree(marginals: Marginals, signs: Signs = "abs") -> Tree:
    """The brackets with the largest expected number of correct items, regardless of the rules (Goodman 1996).

    Each span takes its most probable bottom and its most probable top: two nodes if their labels differ. A span in
    which no label has a positive marginal gets no node: its parts hang on the span above it.
    """
    forest, f = marginals.forest, marginals.forest.arrays
    n = len(forest.words)
    mu = with_signs(marginals.items, marginals.sign, signs)
    level = forest.top.astype(int)
    gain, label = np.zeros((2, n + 1, n + 1)), np.full((2, n + 1, n + 1), -1, np.int64)
    best = np.argsort(-mu, kind="stable")
    place = level[best], f.begin[f.span[best]], f.end[f.span[best]]
    _, first = np.unique(np.ravel_multi_index(place, gain.shape), return_index=True)
    first = first[(mu[best[first]] > 0) | (place[2] - place[1] == 1)[first]]
    where = tuple(index[first] for index in place)
    gain[where], label[where] = mu[best[first]], f.label[best[first]]
    if label[0, 0, n] < 0 and label[1, 0, n] < 0:
        label[1, 0, n] = f.label[f.root[0]]
    return _bracketed(forest, label, _best_splits(gain.sum(axis=0)))


def _best_splits(gain: Floats) -> NDArray[np.int64]:
    """The split of each span in the best binary bracketing."""
    n = len(gain) - 1
    best, split = gain.copy(), np.zeros((n + 1, n + 1), np.int64)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            sums = best[i, i + 1 : j] + best[i + 1 : j, j]
            k = int(sums.argmax())
            split[i, j] = i + 1 + k
            best[i, j] += sums[k]
    return split


def _bracketed(forest: PackedForest, label: NDArray[np.int64], split: NDArray[np.int64]) -> Tree:
    """The tree of labels, bottom and top, over the spans that best splits make; -1 for none."""
    names = forest.rules.labels
    pieces: list[list[Tree]] = []
    stack = [(0, len(forest.words), False)]
    while stack:
        i, j, ready = stack.pop()
        below, above = label[:, i, j].tolist()
        if j - i == 1:
            pieces.append([Tree(names[below], word=forest.words[i])])
        elif not ready:
            k = int(split[i, j])
            stack += [(i, j, True), (k, j, False), (i, k, False)]
            continue
        else:
            right = pieces.pop()
            pieces[-1] += right
            if below >= 0:
                pieces[-1] = [Tree(names[below], pieces[-1])]
        if above not in (below, -1):
            pieces[-1] = [Tree(names[above], pieces[-1])]
    return pieces[0][0]


def _signed(values: Floats, marginals: Marginals, signs: Signs) -> Floats:
    """After the policy; -inf for everything if no derivation has any weight."""
    return with_signs(values, marginals.sign, signs) if marginals.sign else np.full_like(values, -np.inf)


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log(values), -np.inf)
