"""What a language model holds, for a person: its size by order, its strongest contexts, what comes after contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.lm.backoff import BackoffModel
from spinney.lm.cache import CacheModel
from spinney.lm.classbased import ClassModel, ClassTargetModel
from spinney.lm.flat import FlatModel
from spinney.lm.hierarchical import HierarchicalModel
from spinney.lm.loglinear import LogLinearModel
from spinney.lm.memoizer import SequenceMemoizer, node_discounts
from spinney.lm.mixture import LinearMixture, LogLinearMixture
from spinney.lm.model import LanguageModel
from spinney.lm.pitman_yor import PitmanYor
from spinney.lm.suffixtrie import SuffixTrie
from spinney.lm.tables import GramTable
from spinney.report.words import largest, short
from spinney.structure import ClassTree

#: Models in words; how they are told to a person.
KINDS = {
    "BackoffModel": "back-off model",
    "FlatModel": "n-gram model of one order",
    "SequenceMemoizer": "sequence memoizer",
    "LogLinearModel": "log-linear model on a suffix trie",
    "HierarchicalModel": "log-linear model with a tree of words",
    "ClassModel": "class model",
    "ClassTargetModel": "model of classes after words",
    "CacheModel": "cache",
    "LinearMixture": "mixture",
    "LogLinearMixture": "log-linear mixture",
}

_LONGEST = 12  # orders above are told together
_CONTEXT = 12  # symbols of a context that are shown


@dataclass(frozen=True)
class View:
    """A table with a title: for a terminal, a page or JSON."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def as_dicts(self) -> list[dict[str, Any]]:
        """A row as an object with the names of the columns."""
        return [dict(zip(self.header, row)) for row in self.rows]


class OrderSize(NamedTuple):
    """How many contexts and grams there are of an order, the words of a gram."""

    order: int
    contexts: int
    grams: int


# ----------------------------------------------------------------------------------------------- size


def order_sizes(model: LanguageModel) -> list[OrderSize]:
    """Contexts and grams by order; those of the classes in a class model, none of mixtures and caches.

    A node of a collapsed trie, which stands for contexts of several lengths, counts as its shortest.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> order_sizes(fit_ngram(text, "witten-bell", order=2))
    [OrderSize(order=1, contexts=1, grams=5), OrderSize(order=2, contexts=4, grams=5)]
    """
    if isinstance(model, BackoffModel | FlatModel):
        table = model.table
        found = np.isfinite(model.logp)
        return [
            OrderSize(
                order,
                int(table.levels[order] - table.levels[order - 1]),
                int(np.count_nonzero(found[table.grams_of(order)])),
            )
            for order in range(1, table.order + 1)
        ]
    if isinstance(model, ClassModel):
        return order_sizes(model.class_model)
    trie = _trie_of(model)
    if trie is None:
        return []
    shortest = np.where(trie.parent < 0, 0, trie.depth - trie.length + 1)
    contexts = np.bincount(shortest)
    grams = np.bincount(shortest[trie.context], minlength=len(contexts))
    return [OrderSize(k + 1, int(contexts[k]), int(grams[k])) for k in range(len(contexts))]


def n_parameters(model: LanguageModel) -> tuple[int, int]:
    """Parameters, and those of them that are not zero: n-grams, weights, words in classes; of a mixture, of all parts.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.loglinear import fit_loglinear
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"]])
    >>> n_parameters(fit_loglinear(text, 2, lam=0.5))
    (12, 8)
    """
    if isinstance(model, LogLinearModel | HierarchicalModel):
        tried = model.facts.get("parameters")  # with those that are gone, if the file tells
        return tried if isinstance(tried, int) else len(model.theta), model.n_parameters
    if isinstance(model, LinearMixture | LogLinearMixture):
        sizes = np.array([n_parameters(part) for part in model.components().values()])
        own = model.weights.size if isinstance(model, LinearMixture) else model.exponents.size
        return int(sizes[:, 0].sum()) + own, int(sizes[:, 1].sum()) + own
    if isinstance(model, CacheModel):
        return 0, 0
    n = sum(size.grams for size in order_sizes(model))
    if isinstance(model, ClassModel | ClassTargetModel):
        n += len(model.vocabulary)
    return n, n


def size_view(model: LanguageModel) -> View | None:
    """Contexts, grams and discounts by order; very long contexts are told together."""
    sizes = order_sizes(model)
    if not sizes:
        return None
    discounts = _discounts(model.facts.get("discounts"), len(sizes))
    shown = sizes if len(sizes) == _LONGEST + 1 else sizes[:_LONGEST]
    rows: list[list[Any]] = [
        [str(size.order), size.contexts, size.grams, *([told] if discounts else [])]
        for size, told in zip(shown, discounts or [""] * len(shown))
    ]
    if len(sizes) > len(shown):
        rest = sizes[len(shown) :]
        last: list[Any] = [f"{rest[0].order} to {rest[-1].order}"]
        last += [sum(size.contexts for size in rest), sum(size.grams for size in rest)]
        rows.append([*last, *([""] if discounts else [])])
    what = "classes in a row" if isinstance(model, ClassModel) else "words of a gram"
    return View("Size by order", [what, "contexts", "grams", *(["discounts"] if discounts else [])], rows)


def _discounts(found: Any, n_orders: int) -> list[str]:
    """The discounts of each order as text: one number, or several if they differ; a file may hold anything."""
    if not isinstance(found, list) or not found:
        return []
    told = []
    for order in range(n_orders):
        value = found[min(order, len(found) - 1)]
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(number, int | float) for number in values):
            return []
        values = values[:1] if len(set(values)) == 1 else values
        told.append("  ".join(f"{number:.3f}" for number in values))
    return told


def _trie_of(model: LanguageModel) -> SuffixTrie | None:
    if isinstance(model, LogLinearModel | HierarchicalModel | SequenceMemoizer | ClassTargetModel):
        return model.trie
    return None


# ------------------------------------------------------------------------------------------- contexts


class Contexts:
    """The contexts of a model: their symbols in reading order, and how much they matter."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._table = model.table if isinstance(model, BackoffModel | FlatModel) else None
        self._trie = _trie_of(model)

    def symbols(self, context: int) -> list[int]:
        """What stands before, oldest first; of a collapsed node, its longest context."""
        if self._table is not None:
            return _of_table(self._table, context)
        assert self._trie is not None
        text = getattr(self._model, "text", np.empty(0, np.int32))
        if self._trie.collapsed:
            place, depth = int(self._trie.place[context]), int(self._trie.depth[context])
            return [int(i) for i in text[place - depth : place]]
        found = []
        while self._trie.parent[context] >= 0:
            found.append(int(self._trie.older[context]))
            context = int(self._trie.parent[context])
        return found

    def text(self, context: int) -> str:
        """The words of a context, the last ones if they are many."""
        return in_words(self._model, self.symbols(context))


def in_words(model: LanguageModel, symbols: Sequence[int]) -> str:
    """A context as text, the last words if they are many."""
    words = " ".join(short(model.word(i)) if i >= 0 else "?" for i in symbols[-_CONTEXT:])
    return "… " + words if len(symbols) > _CONTEXT else words


def _of_table(table: GramTable, context: int) -> list[int]:
    found = []
    while context > 0:
        gram = int(table.owner[context])
        found.append(int(table.symbol[gram]))
        context = int(table.context[gram])
    return found[::-1]


def frequent_contexts(model: LanguageModel, n: int) -> list[list[int]]:
    """The symbols of contexts that occur most often, the start of a sentence first.

    Back-off models do not keep counts: there it is those that the most different words follow. Class models and caches
    have no contexts of words of their own: single words, by their frequency.
    """
    start = [[model.start]]
    if isinstance(model, LinearMixture | LogLinearMixture):
        parts = [part for part in model.components().values() if not isinstance(part, CacheModel)]
        return frequent_contexts(parts[0], n) if parts else start
    weight: NDArray[Any]
    if isinstance(model, BackoffModel | FlatModel):
        weight = np.diff(model.table.gram_ptr).astype(np.float64)
        first = 1
    elif (trie := _trie_of(model)) is not None:
        weight, first = trie.occurrences.astype(np.float64), int(np.count_nonzero(trie.parent < 0))
        if isinstance(model, HierarchicalModel):
            # Each inner node of the tree has contexts of its own: those of the top are the text's.
            root = int(np.flatnonzero(model.tree.parent < 0)[0]) - len(model.tree)
            weight = np.where(_roots(trie) == root, weight, -1.0)
    else:
        return start + [[i] for i in largest(model.vocabulary.counts.astype(np.float64), n - 1)]
    contexts = Contexts(model)
    best = [first + i for i in largest(weight[first:], n) if weight[first + i] > 0]
    found = [contexts.symbols(context) for context in best]
    return [*start, *(symbols for symbols in found if symbols != start[0])][:n]


def _roots(trie: SuffixTrie) -> NDArray[np.int32]:
    """The root of each context; parents come before children, level by level."""
    root = np.where(trie.parent < 0, np.arange(trie.n_contexts), trie.parent)
    while np.any(root != root[root]):
        root = root[root]
    return root.astype(np.int32)


def explored(model: LanguageModel, n: int, k: int) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Frequent contexts, each with its likeliest continuations."""
    for symbols in frequent_contexts(model, n):
        p = model.distribution(np.array(symbols, np.int32))
        yield in_words(model, symbols), [(model.word(i), float(p[i])) for i in largest(p, k)]


# ------------------------------------------------------------------------------------------ strongest


def strongest(model: LanguageModel, top: int = 10) -> list[View]:
    """What matters most in a model: contexts, weights, classes, by its kind.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.loglinear import fit_loglinear
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"]])
    >>> strongest(fit_loglinear(text, 2, lam=0.1), 1)[0].rows
    [['a', 'rose', 4.52..., 3]]
    """
    if isinstance(model, BackoffModel):
        return [_sure_contexts(model, model.table, np.exp(model.backoff), top)]
    if isinstance(model, FlatModel):
        unseen = model.n_outcomes - np.diff(model.table.gram_ptr)
        return [_sure_contexts(model, model.table, np.exp(model.floor) * unseen, top)]
    if isinstance(model, SequenceMemoizer):
        return [_sure_restaurants(model, top)]
    if isinstance(model, LogLinearModel):
        return [_largest_weights(model, top)]
    if isinstance(model, HierarchicalModel):
        return [_largest_decisions(model, top)]
    if isinstance(model, ClassModel | ClassTargetModel):
        return [_largest_classes(model, top)]
    if isinstance(model, LinearMixture | LogLinearMixture):
        return [weight_view(model)]
    return []


def _sure_contexts(model: BackoffModel | FlatModel, table: GramTable, left: NDArray[Any], top: int) -> View:
    """Contexts that leave least to words that were not seen after them."""
    contexts, rows = Contexts(model), []
    for context in (1 + i for i in largest(-left[1:], top)):
        grams = slice(int(table.gram_ptr[context]), int(table.gram_ptr[context + 1]))
        if not left[context] < 1 or grams.start == grams.stop:
            continue
        best = grams.start + int(np.argmax(model.logp[grams]))
        word, p = model.word(int(table.symbol[best])), float(np.exp(model.logp[best]))
        rows.append([contexts.text(context), float(left[context]), grams.stop - grams.start, word, p])
    left_to = "back-off weight" if isinstance(model, BackoffModel) else "left to the unseen"
    return View("Surest contexts", ["context", left_to, "continuations", "likeliest", "probability"], rows)


def _sure_restaurants(model: SequenceMemoizer, top: int) -> View:
    trie, contexts = model.trie, Contexts(model)
    d = node_discounts(trie, model.discounts)
    own, weight = PitmanYor(trie, model.customers, model.tables, d, np.zeros(trie.n_contexts)).interpolation()
    rows = []
    sure = np.where(trie.occurrences > 1, -weight, -np.inf)  # what happened once is sure of nothing
    for context in (1 + i for i in largest(sure[1:], top)):
        if np.isinf(sure[context]):
            break
        grams = slice(int(trie.gram_ptr[context]), int(trie.gram_ptr[context + 1]))
        best = grams.start + int(np.argmax(own[grams]))
        seen, word = int(trie.occurrences[context]), model.word(int(trie.symbol[best]))
        rows.append([contexts.text(context), float(weight[context]), seen, word, float(own[best])])
    return View(
        "Surest contexts", ["context", "left to shorter ones", "seen", "likeliest", "of its own"], rows
    )


def _largest_weights(model: LogLinearModel, top: int) -> View:
    """Grams with the largest scores; those without context only tell which words are frequent."""
    trie, contexts = model.trie, Contexts(model)
    inner = np.flatnonzero(trie.parent[trie.context] >= 0)
    rows = [
        [
            contexts.text(int(trie.context[gram])),
            model.word(int(trie.symbol[gram])),
            float(model.theta[gram]),
            int(trie.count[gram]),
        ]
        for gram in (int(inner[i]) for i in largest(model.theta[inner], top))
        if model.theta[gram]
    ]
    return View("Largest weights", ["context", "word", "θ", "seen"], rows)


def _largest_decisions(model: HierarchicalModel, top: int) -> View:
    trie, contexts, tree = model.trie, Contexts(model), model.tree
    inner = np.flatnonzero(trie.parent[trie.context] >= 0)
    roots = _roots(trie)
    ptr, children = tree.children()
    counts = np.append(model.vocabulary.counts, 0)
    rows = []
    for gram in (int(inner[i]) for i in largest(model.theta[inner], top)):
        if model.theta[gram]:
            context = int(trie.context[gram])
            leaves = _leaves(tree, int(children[ptr[len(tree) + roots[context]] + trie.symbol[gram]]))
            words = sorted(leaves, key=lambda i: -counts[i])[:4]
            told = ", ".join(short(model.word(i)) for i in words) + (", …" if len(leaves) > 4 else "")
            rows.append([contexts.text(context), told, float(model.theta[gram]), int(trie.count[gram])])
    return View("Largest weights of decisions", ["context", "for", "θ", "seen"], rows)


def _leaves(tree: ClassTree, node: int) -> list[int]:
    ptr, children = tree.children()
    found, waiting = [], [node]
    while waiting:
        v = waiting.pop()
        if v < len(tree):
            found.append(v)
        else:
            waiting += children[ptr[v] : ptr[v + 1]].tolist()
    return found


def _largest_classes(model: ClassModel | ClassTargetModel, top: int) -> View:
    counts = model.vocabulary.counts.astype(np.float64)
    totals = np.bincount(model.class_of, counts, model.n_classes).astype(np.float64)
    rows = []
    for number in largest(totals, top):
        members = np.flatnonzero(model.class_of == number)
        words = members[np.argsort(-model.log_emission[members], kind="stable")[:8]]
        told = ", ".join(short(model.word(i)) for i in words.tolist())
        rows.append([number, float(totals[number] / max(totals.sum(), 1.0)), len(members), told])
    return View("Largest classes", ["class", "share", "words", "the likeliest"], rows)


def weight_view(model: LinearMixture | LogLinearMixture) -> View:
    """The weights of a mixture, by the length of the matched context where they differ."""
    names = list(model.components())
    if isinstance(model, LogLinearMixture):
        return View("Exponents", names, [model.exponents.tolist()])
    if not model.edges.size:
        return View("Weights", names, model.weights.tolist())
    bounds = [0, *model.edges.tolist()]
    spans = [str(low) if high - low == 1 else f"{low} to {high - 1}" for low, high in pairwise(bounds)]
    rows = [
        [span, *weights] for span, weights in zip([*spans, f"{bounds[-1]} and more"], model.weights.tolist())
    ]
    return View("Weights by matched context", [f"symbols that {model.depth_of} knows", *names], rows)
