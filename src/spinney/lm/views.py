"""What a language model holds, for a person: its size by order, its strongest contexts, what comes after contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.pitman_yor import PitmanYor
from spinney.lm.suffixtrie import SuffixTrie
from spinney.lm.tables import GramTable
from spinney.lm.text import context_words, reading_of
from spinney.structure import ClassTree
from spinney.structure.words import largest, short
from spinney.views import Extra, Facts, Section, Table, View

#: The kinds of models, in words.
KINDS = {
    "lm/BackoffModel": "back-off model",
    "lm/FlatModel": "n-gram model of a single order",
    "lm/SequenceMemoizer": "sequence memoizer",
    "lm/LogLinearModel": "log-linear model on a suffix trie",
    "lm/HierarchicalModel": "log-linear model with a tree of words",
    "lm/ClassModel": "class model",
    "lm/ClassTargetModel": "class model with word contexts",
    "lm/CacheModel": "cache",
    "lm/LinearMixture": "mixture",
    "lm/LogLinearMixture": "log-linear mixture",
}

#: The labels of facts.
NAMES = {
    "kind": "kind",
    "method": "method",
    "order": "order",
    "vocabulary": "vocabulary",
    "sentences": "sentences",
    "tokens": "tokens",
    "words": "words",
    "unknown_share": "unknown words",
    "units": "units",
    "skipped": "sentences skipped",
    "long": "long sentences truncated",
    "classes": "classes",
    "penalty": "penalty",
    "lam": "λ",
    "alpha": "α",
    "solver": "solver",
    "collapsed": "contexts that occur together share a weight",
    "tree": "tree",
    "decisions_per_token": "decisions per token",
    "by": "weights by",
    "parameters": "parameters",
    "active": "active",
    "objective": "objective",
    "gap": "gap",
    "violation": "violation",
    "iterations": "iterations",
    "seconds": "seconds",
    "tokens_per_second": "tokens per second",
    "dev_perplexity": "held-out perplexity",
}

_LONGEST = 12  # higher orders are shown together
_STEP = 1 << 22  # numbers looked at at a time
_CONTEXT = 12  # symbols of a context that are shown


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
        return [
            OrderSize(
                order,
                int(table.levels[order] - table.levels[order - 1]),
                _n_finite(model.logp[table.grams_of(order)]),
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


def _n_finite(values: Vector) -> int:
    """How many are finite, a part at a time: they may be on disk."""
    parts = (values[start : start + _STEP] for start in range(0, len(values), _STEP))
    return sum(int(np.count_nonzero(np.isfinite(part))) for part in parts)


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
        tried = model.facts.get("parameters")  # including pruned ones, if the file records them
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


def size_view(model: LanguageModel) -> Table | None:
    """Contexts, grams and discounts by order; very long contexts are shown together."""
    sizes = order_sizes(model)
    if not sizes:
        return None
    discounts = _discounts(model.facts.get("discounts"), len(sizes))
    shown = sizes if len(sizes) == _LONGEST + 1 else sizes[:_LONGEST]
    rows: list[list[Any]] = [
        [str(size.order), size.contexts, size.grams, *([text] if discounts else [])]
        for size, text in zip(shown, discounts or [""] * len(shown))
    ]
    if len(sizes) > len(shown):
        rest = sizes[len(shown) :]
        last: list[Any] = [f"{rest[0].order} to {rest[-1].order}"]
        last += [sum(size.contexts for size in rest), sum(size.grams for size in rest)]
        rows.append([*last, *([""] if discounts else [])])
    what = "classes in a row" if isinstance(model, ClassModel) else "words in an n-gram"
    return Table(
        "sizes", "Size by order", [what, "contexts", "grams", *(["discounts"] if discounts else [])], rows
    )


def _discounts(found: Any, n_orders: int) -> list[str]:
    """The discounts of each order as text: one number, or several if they differ; a file may hold anything."""
    if not isinstance(found, list) or not found:
        return []
    written = []
    for order in range(n_orders):
        value = found[min(order, len(found) - 1)]
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(number, int | float) for number in values):
            return []
        values = values[:1] if len(set(values)) == 1 else values
        written.append("  ".join(f"{number:.3f}" for number in values))
    return written


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


def strongest(model: LanguageModel, top: int = 10) -> list[Table]:
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


def _sure_contexts(model: BackoffModel | FlatModel, table: GramTable, left: NDArray[Any], top: int) -> Table:
    """Contexts that leave least to words that were not seen after them."""
    contexts, rows = Contexts(model), []
    for context in (1 + i for i in largest(-left[1:], top)):
        grams = slice(int(table.gram_ptr[context]), int(table.gram_ptr[context + 1]))
        if not left[context] < 1 or grams.start == grams.stop:
            continue
        best = grams.start + int(np.argmax(model.logp[grams]))
        word, p = model.word(int(table.symbol[best])), float(np.exp(model.logp[best]))
        rows.append([contexts.text(context), float(left[context]), grams.stop - grams.start, word, p])
    left_to = "back-off weight" if isinstance(model, BackoffModel) else "left to unseen words"
    return Table(
        "strongest",
        "Contexts with the surest predictions",
        ["context", left_to, "continuations", "likeliest", "probability"],
        rows,
    )


def _sure_restaurants(model: SequenceMemoizer, top: int) -> Table:
    trie, contexts = model.trie, Contexts(model)
    d = node_discounts(trie, model.discounts)
    own, weight = PitmanYor(trie, model.customers, model.tables, d, np.zeros(trie.n_contexts)).interpolation()
    rows = []
    sure = np.where(
        trie.occurrences > 1, -weight, -np.inf
    )  # a context seen only once gives no sure prediction
    for context in (1 + i for i in largest(sure[1:], top)):
        if np.isinf(sure[context]):
            break
        grams = slice(int(trie.gram_ptr[context]), int(trie.gram_ptr[context + 1]))
        best = grams.start + int(np.argmax(own[grams]))
        seen, word = int(trie.occurrences[context]), model.word(int(trie.symbol[best]))
        rows.append([contexts.text(context), float(weight[context]), seen, word, float(own[best])])
    return Table(
        "strongest",
        "Contexts with the surest predictions",
        ["context", "left to shorter contexts", "seen", "likeliest", "of its own"],
        rows,
    )


def _largest_weights(model: LogLinearModel, top: int) -> Table:
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
    return Table("strongest", "Largest weights", ["context", "word", "θ", "seen"], rows)


def _largest_decisions(model: HierarchicalModel, top: int) -> Table:
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
            examples = ", ".join(short(model.word(i)) for i in words) + (", …" if len(leaves) > 4 else "")
            rows.append([contexts.text(context), examples, float(model.theta[gram]), int(trie.count[gram])])
    return Table("strongest", "Largest weights of decisions", ["context", "for", "θ", "seen"], rows)


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


def _largest_classes(model: ClassModel | ClassTargetModel, top: int) -> Table:
    counts = model.vocabulary.counts.astype(np.float64)
    totals = np.bincount(model.class_of, counts, model.n_classes).astype(np.float64)
    rows = []
    for number in largest(totals, top):
        members = np.flatnonzero(model.class_of == number)
        words = members[np.argsort(-model.log_emission[members], kind="stable")[:8]]
        examples = ", ".join(short(model.word(i)) for i in words.tolist())
        rows.append([number, float(totals[number] / max(totals.sum(), 1.0)), len(members), examples])
    return Table("strongest", "Largest classes", ["class", "share", "words", "the likeliest"], rows)


def weight_view(model: LinearMixture | LogLinearMixture) -> Table:
    """The weights of a mixture, by the length of the matched context where they differ."""
    names = list(model.components())
    if isinstance(model, LogLinearMixture):
        return Table("strongest", "Exponents", names, [model.exponents.tolist()])
    if not model.edges.size:
        return Table("strongest", "Weights", names, model.weights.tolist())
    bounds = [0, *model.edges.tolist()]
    spans = [str(low) if high - low == 1 else f"{low} to {high - 1}" for low, high in pairwise(bounds)]
    rows = [
        [span, *weights] for span, weights in zip([*spans, f"{bounds[-1]} and more"], model.weights.tolist())
    ]
    return Table(
        "strongest", "Weights by matched context", [f"symbols matched by {model.depth_of}", *names], rows
    )


# ---------------------------------------------------------------------------------------------- a model


def model_facts(model: LanguageModel) -> dict[str, Any]:
    """What is known of a model: what fit noted, and its kind and size.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> facts = model_facts(fit_ngram(sentence_arrays([["a", "rose"]]), "witten-bell", order=2))
    >>> facts["kind"], facts["vocabulary"], facts["parameters"]
    ('back-off model', 'closed', 6)
    """
    parameters, active = n_parameters(model)
    unknown = model.vocabulary.unknown
    facts = {
        **{name: value for name, value in model.facts.items() if _is_sound(name, value)},
        "kind": KINDS[model.kind],
        "vocabulary": "closed" if unknown is None else f"open, with {unknown}",
        "words": len(model.vocabulary),
        "parameters": parameters,
        "active": active,
    }
    if isinstance(model, HierarchicalModel):
        facts["tree"] = f"{len(model.tree):,} leaves, at most {model.tree.depth} decisions"
    return facts


_TEXTS = ("method", "penalty", "solver", "by", "units")


def _is_sound(name: str, value: Any) -> bool:
    """Whether a fact that is shown is of its kind: a file may hold anything."""
    if name not in NAMES or value is None:
        return True
    if name in _TEXTS:
        return isinstance(value, str)
    return isinstance(value, int | float) or (name == "order" and value == "unbounded")


def summary(model: LanguageModel, title: str = "") -> list[View]:
    """What ``fit`` prints: facts, size by order, and what was tried on held-out text."""
    if isinstance(model, LinearMixture | LogLinearMixture):
        return _mixture_summary(model)
    size = size_view(model)
    tried = model.facts.get("tuning")
    views: list[View] = [Facts("facts", title, model_facts(model), NAMES)]
    views += [] if size is None else [size]
    if isinstance(tried, list) and tried:
        keys = ["lam", "alpha", "perplexity", "parameters", "seconds"]
        rows = [[row.get(key, "") for key in keys] for row in tried]
        views.append(
            Table("", "Settings tried on held-out text", ["λ", "α", "perplexity", "active", "seconds"], rows)
        )
    return [*views, *_pruning_view(model.facts.get("pruning"))]


def _pruning_view(found: Any) -> list[View]:
    """What a model was before it was made smaller, and is now; a file may hold anything."""
    if not isinstance(found, dict):
        return []
    before, after = found.get("grams_before"), found.get("grams")
    rows: list[list[Any]] = []
    if isinstance(before, list) and isinstance(after, list):
        now = [*after, *[0] * (len(before) - len(after))]
        rows += [[f"{k}-grams", was, n] for k, (was, n) in enumerate(zip(before, now), 1)]
    for name, key in (("bytes", "bytes"), ("perplexity", "perplexity")):
        if key in found:
            rows.append([name, found.get(f"{key}_before"), found[key]])
    increase = found.get("estimated_increase")
    if isinstance(increase, int | float):
        rows.append(["estimated increase of the perplexity", "", f"{100 * increase:.3g} %"])
    return [Table("", "What the model lost", ["", "before", "now"], rows)] if rows else []


def _mixture_summary(mixture: LinearMixture | LogLinearMixture) -> list[View]:
    """Perplexities alone and together, and the weights."""
    parts = mixture.facts.get("parts")
    rows: list[list[Any]] = [
        [name, part.get("dev_perplexity")]
        for name, part in (parts.items() if isinstance(parts, dict) else ())
        if isinstance(part, dict)
    ]
    rows.append(["mixture", mixture.facts.get("dev_perplexity")])
    return [
        Facts("facts", "", mixture.facts, {}),
        Table("", "Perplexity on held-out text", ["model", "perplexity"], rows),
        replace(weight_view(mixture), key="weights"),
    ]


def inspection(model: LanguageModel, top: int = 10) -> list[View]:
    """What ``inspect`` shows: facts, size by order, what matters most, and the models inside."""
    size, strong, parts = size_view(model), strongest(model, top), dict(model.components())
    views: list[View] = [Facts("facts", "", model_facts(model), NAMES), size or Extra("sizes", "", [])]
    views += [Table("", table.title, table.header, table.rows) for table in strong]
    views.append(Extra("strongest", "", {table.title: table.data() for table in strong}))
    for name, part in parts.items():
        inner = size_view(part)
        sizes = [] if inner is None else [replace(inner, key="")]
        views.append(Section(f"Part: {name}", [Facts("", "", model_facts(part), NAMES), *sizes]))
    brief = {name: model_facts(part) for name, part in parts.items()}
    wanted = ("kind", "parameters", "active")
    views.append(
        Extra("parts", "", {name: {key: facts[key] for key in wanted} for name, facts in brief.items()})
    )
    return views


def continuations(model: LanguageModel, context: str, top: int) -> list[View]:
    """What comes after some words; ``<s>`` before them is the start of a sentence."""
    words, start = context_words(context, reading_of(model))
    words = model.units.split(words)
    following = model.next_words(words, top, start=start)
    title = f"After: {context or '(nothing)'}"
    return [
        Extra("context", "", words),
        Extra("start", "", start),
        Table("next", title, ["word", "probability"], following),
    ]
