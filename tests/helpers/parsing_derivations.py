"""Random toy grammars, and all derivations of short sentences under them, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinney.corpus import Tree
from spinney.parsing.forest import PackedForest
from spinney.parsing.grammar import Grammar, Layout, Rules
from spinney.parsing.lexicon import Lexicon

WORDS = ("a", "b", "c")


def toy_rules(rng: np.random.Generator, *, unaries: bool = True, density: float = 0.2) -> Rules:
    """Labels S, A (phrases), T, U (tags); A is sometimes a tag too."""
    labels = ("S", "A", "T", "U")
    binary = [(a, b, c) for a in (0, 1) for b in range(4) for c in range(4) if rng.random() < density]
    binary += [rule for rule in ((0, 2, 3), (0, 2, 0), (0, 3, 3), (1, 2, 2)) if rule not in binary]
    unary = (
        [(a, b) for a in (0, 1) for b in range(4) if a != b and rng.random() < 2 * density] if unaries else []
    )
    tags = [sorted({2, 3} if i else {2}) + ([1] if rng.random() < 0.3 else []) for i in range(3)] + [[2, 3]]
    tags = [sorted(row) for row in tags]
    lexicon = Lexicon(
        (*WORDS, "UNK*"),
        3,
        np.array([9, 9, 9, 1], np.int64),
        np.array([3, 3, 3], np.int32),
        np.cumsum([0, *map(len, tags)]).astype(np.int64),
        np.concatenate(tags).astype(np.int32),
        0,
    )
    return Rules(
        labels,
        np.array(sorted(binary), np.int32).reshape(-1, 3),
        np.array(sorted(unary), np.int32).reshape(-1, 2),
        lexicon,
    )


def toy_grammar(rules: Rules, n_states, rng: np.random.Generator, *, signed: bool = False) -> Grammar:
    """Random numbers; only S and A may be roots."""
    layout = Layout(rules, np.broadcast_to(np.asarray(n_states, np.int32), rules.n_labels).copy())
    starts = layout.state_start, layout.binary_start, layout.unary_start, layout.entry_start
    draw = rng.normal if signed else rng.uniform
    root, *others = (draw(size=int(start[-1])) for start in starts)
    root[layout.state_start[2] :] = 0.0
    return Grammar(layout, root, *others, signed=signed)


@dataclass
class Derivation:
    """A tree with the vector below its root, its items (bottom or top, label, span) and its edges."""

    tree: Tree
    vector: np.ndarray
    items: frozenset
    edges: frozenset
    weight: float = 0.0


def derivations(grammar: Grammar, words: list[str]) -> list[Derivation]:
    """All derivations of a sentence with their weights."""
    rules, n = grammar.rules, len(words)
    rows = rules.lexicon.encode(words)
    tops: dict[tuple[int, int], dict[int, list[Derivation]]] = {}
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            bottoms: dict[int, list[Derivation]] = {}
            if width == 1:
                for entry in range(rules.lexicon.start[rows[i]], rules.lexicon.start[rows[i] + 1]):
                    a = int(rules.lexicon.tag[entry])
                    tree = Tree(rules.labels[a], word=words[i])
                    items, edges = frozenset([("bottom", a, i, j)]), frozenset([("word", entry, i)])
                    bottoms.setdefault(a, []).append(Derivation(tree, grammar.vector(entry), items, edges))
            for r, (a, b, c) in enumerate(rules.binary.tolist()):
                for k in range(i + 1, j):
                    for left in tops[i, k].get(b, []):
                        for right in tops[k, j].get(c, []):
                            tree = Tree(rules.labels[a], [left.tree, right.tree])
                            vector = np.einsum("ijk,j,k->i", grammar.tensor(r), left.vector, right.vector)
                            items = left.items | right.items | frozenset([("bottom", a, i, j)])
                            edges = left.edges | right.edges | frozenset([("rule", r, i, k, j)])
                            bottoms.setdefault(a, []).append(Derivation(tree, vector, items, edges))
            here: dict[int, list[Derivation]] = {}
            same = [(a, a, -1) for a in bottoms]
            for a, b, r in same + [(a, b, r) for r, (a, b) in enumerate(rules.unary.tolist())]:
                for below in bottoms.get(b, []):
                    tree = below.tree if r < 0 else Tree(rules.labels[a], [below.tree])
                    vector = below.vector if r < 0 else grammar.matrix(r) @ below.vector
                    items = below.items | frozenset([("top", a, i, j)])
                    edges = below.edges | frozenset([("unary", r, a, i, j)])
                    here.setdefault(a, []).append(Derivation(tree, vector, items, edges))
            tops[i, j] = here
    found = []
    for a, ways in tops[0, n].items():
        root = grammar.root[grammar.layout.state_start[a] : grammar.layout.state_start[a + 1]]
        if np.any(root != 0):
            for way in ways:
                way.weight = float(root @ way.vector)
                found.append(way)
    return found


def item_names(forest: PackedForest) -> list[tuple]:
    """The items of a forest as derivations name them."""
    f = forest.arrays
    level = np.where(forest.top, "top", "bottom")
    return list(
        zip(level.tolist(), f.label.tolist(), f.begin[f.span].tolist(), f.end[f.span].tolist(), strict=True)
    )


def edge_names(forest: PackedForest) -> tuple[list[tuple], list[tuple], list[tuple]]:
    """The edges of a forest as derivations name them: binary, unary, lexical."""
    f = forest.arrays
    begin, end = f.begin[f.span], f.end[f.span]
    binary = [
        ("rule", int(r), int(begin[p]), int(end[left]), int(end[p]))
        for r, p, left in zip(forest.rule, forest.parent, f.left, strict=True)
    ]
    unary = [
        ("unary", int(r), int(f.label[p]), int(begin[p]), int(end[p]))
        for r, p in zip(f.unary_rule, f.unary_parent, strict=True)
    ]
    words = [("word", int(e), int(begin[p])) for e, p in zip(f.entry, f.lexical_parent, strict=True)]
    return binary, unary, words


def totals(ways: list[Derivation]) -> tuple[float, dict, dict]:
    """Z, and the shares of it that each item and each edge has."""
    Z = sum(way.weight for way in ways)
    items: dict = {}
    edges: dict = {}
    for way in ways:
        for shares, names in ((items, way.items), (edges, way.edges)):
            for name in names:
                shares[name] = shares.get(name, 0.0) + way.weight / Z
    return Z, items, edges
