"""States as labels: what a PCFG allows can then be done with states, such as the k best derivations, states and all."""

from __future__ import annotations

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import OptionError
from spinney.parsing.forest import Floats, Ints
from spinney.parsing.grammar import Grammar, Layout, Rules
from spinney.parsing.inside import Longs
from spinney.parsing.lexicon import Lexicon


def unfolded(grammar: Grammar) -> Grammar:
    """A grammar whose labels are the states of another: ``NP~0``, ``NP~1``, …, with one state each.

    So what a PCFG allows can be done with states: the best derivation, states and all, and the k best ones. It has a
    rule for each positive number: for small grammars.

    Examples
    --------
    >>> from spinney.parsing.grammar import pcfg_counts
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))")])
    >>> layout = Layout(rules := Rules.of(trees), np.array([1, 1, 2], np.int32))
    >>> one = unfolded(Grammar(layout, np.ones(4), np.ones(2), np.ones(0), np.ones(layout.entry_start[-1])))
    >>> one.rules.labels
    ('V~0', 'N~0', 'S~0', 'S~1')
    """
    if grammar.signed:
        raise OptionError("the states of a signed grammar have no meaning of their own")
    layout, rules = grammar.layout, grammar.rules
    names = [
        f"{label}~{h}"
        for label, m in zip(rules.labels, layout.n_states.tolist(), strict=True)
        for h in range(m)
    ]
    binary, p_binary = _unfolded_rules(layout, rules.binary, layout.binary_start, grammar.binary)
    unary, p_unary = _unfolded_rules(layout, rules.unary, layout.unary_start, grammar.unary)
    old = rules.lexicon
    lexicon = Lexicon(
        old.rows, old.n_words, old.count, old.signature_row,
        layout.entry_start[old.start], _states(layout, old.tag[:, None], layout.entry_start)[:, 0], old.rare,
    )  # fmt: skip
    new = Layout.uniform(Rules(tuple(names), binary, unary, lexicon), 1)
    return Grammar(new, grammar.root, p_binary, p_unary, grammar.lexical)


def folded(tree: Tree) -> Tree:
    """A tree of an unfolded grammar without the states of its labels.

    Examples
    --------
    >>> str(folded(Tree.parse("(S~1 (N~0 dogs) (V~0 bark))")))
    '(S (N dogs) (V bark))'
    """
    done: list[Tree] = []
    for node in reversed(list(tree.nodes())):  # children before parents, the leftmost last
        below = [done.pop() for _ in node.children]
        done.append(Tree(node.label.rpartition("~")[0], below, node.word))
    return done[0]


def _unfolded_rules(layout: Layout, rules: Ints, start: Longs, values: Floats) -> tuple[Ints, Floats]:
    """A rule for each positive number of some rules, in rising order."""
    states = _states(layout, rules, start)[values > 0]
    order = np.lexsort(states.T[::-1])
    return states[order], values[values > 0][order]


def _states(layout: Layout, rules: Ints, start: Longs) -> Ints:
    """The states that each number of some rules belongs to, one for each label of the rule."""
    which = np.repeat(np.arange(len(rules)), np.diff(start))
    rest = np.arange(len(which)) - start[which]
    states = np.empty((len(which), rules.shape[1]), np.int32)
    for column in reversed(range(rules.shape[1])):
        label = rules[which, column]
        states[:, column] = layout.state_start[label] + rest % layout.n_states[label]
        rest //= layout.n_states[label]
    return states
