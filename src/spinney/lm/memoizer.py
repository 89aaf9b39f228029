"""The sequence memoizer: a Pitman-Yor model whose contexts are as long as the sentence (Wood et al. 2009).

The restaurants have concentration 0, and a discount δ_n for each length n of contexts. Then a chain of contexts that
all stand for the same events can be integrated out: if G₁ ~ PY(δ₁, 0, G₀) and G₂ ~ PY(δ₂, 0, G₁), then
G₂ ~ PY(δ₁δ₂, 0, G₀). So the model lives on the collapsed trie, and the discount of a node is the product of those of
the lengths that it stands for.

**Contexts inside a node.** A history may share with a node only some of the symbols it stands for. The restaurant of
that shorter context is got by fragmentation: with d₁ and d₂ the products of the discounts up to there and from there
on, each table of the node falls apart by a draw of PY(d₂, -d₁d₂), and its fragments are the customers that the node
sent to one table of the shorter context (Pitman 1999). This model takes the **expected number of fragments**, of
tables whose size is the mean of their gram's. The shorter context then has as many tables as the node, and its
probabilities sum to one.

**One table.** If every gram has one table, the probabilities at the whole of a node are those of the trie that is not
collapsed: c - d₂ + d₂(1 - d₁) = c - d₁d₂. Inside a node they are not: there every gram would have one customer, where
fragmentation gives it more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spinney.checking import random_numbers
from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.files import ModelFile, Parts
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.pitman_yor import (
    Method,
    PitmanYor,
    Restaurants,
    Sweep,
    check_sweeps,
    one_table_customers,
    sampled_means,
)
from spinney.lm.storedtrie import stored_trie, trie_header, trie_tensors
from spinney.lm.stream import Ids, Stream, refuse_marks, stream_of
from spinney.lm.suffixtrie import SuffixTrie, suffix_trie
from spinney.lm.tables import check_ids

_BOUND = 1e-6  # discounts stay this far from 0 and 1


class SequenceMemoizer(LanguageModel):
    """A language model with contexts of any length; made by :func:`sequence_memoizer`.

    Parameters
    ----------
    vocabulary
        The words.
    trie
        The contexts, collapsed or not.
    text
        The symbols of the training stream, in which the nodes of a collapsed trie are read.
    customers, tables : float64 [grams]
        Of each gram.
    discounts
        Those of contexts of 0, 1, … symbols; the last is for all longer ones.
    facts
        How the model was made.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "nose", "is", "a", "nose"]])
    >>> model = sequence_memoizer(text, method="one-table")
    >>> model
    SequenceMemoizer(16 nodes, contexts of up to 6 symbols)
    >>> model.match_depths(model.stream([["a", "rose", "is", "is"]]))
    array([1, 2, 3, 4, 1], dtype=int32)
    """

    kind: ClassVar[str] = "lm/SequenceMemoizer"

    def __init__(
        self,
        vocabulary: Vocabulary,
        trie: SuffixTrie,
        text: Ids,
        customers: Vector,
        tables: Vector,
        discounts: Vector,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        if (trie.n_outcomes, trie.n_symbols) != (len(vocabulary) + 1, len(vocabulary) + 2):
            raise OptionError("the trie does not match the vocabulary")
        self.vocabulary, self.trie, self.text = vocabulary, trie, text
        self.customers, self.tables, self.discounts = customers, tables, discounts
        self.facts = dict(facts or {})

    def __repr__(self) -> str:
        longest = int(self.trie.depth.max())
        return f"SequenceMemoizer({self.trie.n_contexts:,} nodes, contexts of up to {longest} symbols)"

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event of a stream."""
        with np.errstate(divide="ignore"):  # words that are not in a closed vocabulary
            return np.log(self._scored(stream)[0])

    def match_depths(self, stream: Stream) -> Ids:
        """How many symbols before each event were ever seen together in training, before anything."""
        return self._scored(stream)[1]

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end, after a history."""
        from spinney.lm._restaurant_kernels import follow, split

        history = np.ascontiguousarray(history, np.int32)
        check_ids(history, self.trie.n_symbols)
        starts = np.flatnonzero(history == self.start)
        room = len(history) - int(starts[-1]) if len(starts) else len(history)
        path = np.empty(self._longest_path, np.int32)
        ptr, _, _, own, weight = self._grams
        n, matched = follow(
            history, len(history), room, self._nodes, *self.trie.context_table, self.trie.n_symbols, path
        )
        p = np.full(self.n_outcomes, 1.0 / self.n_outcomes)
        for node in path[:n].tolist():
            grams = slice(ptr[node], ptr[node + 1])
            symbols = self.trie.symbol[grams]
            if matched >= self.trie.depth[node]:
                p *= weight[node]
                p[symbols] += own[grams]
            else:
                parts, d1 = split(node, matched, self._nodes, ptr, self.customers, self.tables, self._fall)
                p *= d1 * self.tables[grams].sum() / parts.sum()
                p[symbols] += (parts - d1 * self.tables[grams]) / parts.sum()
        return p

    def _scored(self, stream: Stream) -> tuple[Vector, Ids]:
        from spinney.lm._restaurant_kernels import memoizer_scores

        check_ids(stream.ids, self.trie.n_symbols)
        trie = self.trie
        sizes = (trie.n_outcomes, trie.n_symbols, self._longest_path)
        p, depths = memoizer_scores(
            np.ascontiguousarray(stream.ids),
            np.ascontiguousarray(stream.room),
            stream.events,
            self._nodes,
            self._grams,
            trie.context_table,
            trie.gram_table,
            self._fall,
            sizes,
        )
        return p, depths

    @cached_property
    def _nodes(self) -> tuple[Ids, Ids, NDArray[np.int64], Ids]:
        # What was read from a file cannot be written to, and kernels are compiled for arrays that can.
        depth, length = (
            np.require(values, requirements="W") for values in (self.trie.depth, self.trie.length)
        )
        return depth, length, np.require(self.trie.place, requirements="W"), self.text

    @cached_property
    def _grams(self) -> tuple[NDArray[np.int64], Vector, Vector, Vector, Vector]:
        discount = node_discounts(self.trie, self.discounts)
        whole = PitmanYor(self.trie, self.customers, self.tables, discount, np.zeros(self.trie.n_contexts))
        ptr = np.require(self.trie.gram_ptr, requirements="W")
        return ptr, self.customers, self.tables, *whole.interpolation()

    @cached_property
    def _fall(self) -> Vector:
        return _fall(self.trie, self.discounts)

    @cached_property
    def _longest_path(self) -> int:
        return int(self.trie.depth.max()) + 2

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""
        tensors = {
            **trie_tensors(self.trie),
            "text": self.text if self.trie.collapsed else self.text[:0],
            "customers": self.customers,
            "tables": self.tables,
            "discounts": self.discounts,
        }
        return Parts(trie_header(self.trie), tensors, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model in a file."""
        # Copies: kernels are compiled for arrays that can be written to.
        text = np.array(file.tensor("text", np.int32))
        trie = stored_trie(file, text)
        customers, tables, discounts = (
            np.array(file.tensor(name, np.float64)) for name in ("customers", "tables", "discounts")
        )
        if (trie.n_outcomes, trie.n_symbols) != (len(vocabulary) + 1, len(vocabulary) + 2):
            raise file.error("damaged: the contexts do not match the vocabulary")
        if np.any(np.diff(trie.gram_ptr) < 1) or np.any(trie.depth < trie.length - 1):
            raise file.error("damaged: a context has no n-grams, or is longer than its length")
        if not len(customers) == len(tables) == trie.n_grams:
            raise file.error("damaged: some n-grams have no number of customers or tables")
        if not np.all((tables > 0) & (customers >= tables) & np.isfinite(customers)):
            raise file.error("damaged: there are customers without tables")
        if not len(discounts) or not np.all((discounts > 0) & (discounts < 1)):
            raise file.error("damaged: a discount is not between 0 and 1")
        return cls(vocabulary, trie, text, customers, tables, discounts)


def sequence_memoizer(
    text: TokenArrays,
    *,
    method: Method = "gibbs",
    max_context: int | None = None,
    sweeps: int = 50,
    burn_in: int | None = None,
    discounts: Sequence[float] | None = None,
    resample: bool = True,
    random_state: int = 0,
    callback: Callable[[Sweep], object] | None = None,
) -> SequenceMemoizer:
    """Fit a sequence memoizer.

    Parameters
    ----------
    text
        The training text.
    method
        ``"gibbs"`` samples the seating; ``"one-table"`` gives each gram one table.
    max_context
        The longest contexts; None: as long as the sentence.
    sweeps, burn_in
        Number of times that all customers are seated anew, and how many of these sweeps are discarded at the beginning
        (default: half). The model is that of the mean numbers of customers and tables, and the mean discounts.
    discounts
        Those of contexts of 0, 1, … symbols, where sampling begins; the last is for all longer ones.
        For one table the default is the maximum of the leaving-one-out likelihood, as n₁/(n₁ + 2n₂) for Kneser-Ney.
    resample
        Whether Gibbs sampling draws the discounts too, by slice sampling with a uniform prior.
    random_state
        Seeds the sampler.
    callback
        Called after each sweep.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "nose", "is", "a", "nose"]])
    >>> model = sequence_memoizer(text, sweeps=10)
    >>> round(float(model.distribution(model.history(["a", "rose", "is"], start=True)).sum()), 12)
    1.0
    """
    refuse_marks(text)
    if not len(text):
        raise InputError("there are no sentences to learn from")
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), max_context, collapse=True)
    given = np.array(_FIRST_DISCOUNTS if discounts is None else discounts, np.float64)
    if given.ndim != 1 or not len(given) or not np.all((given > 0) & (given < 1)):
        raise OptionError("discounts must be between 0 and 1, and at least one is needed")
    interrupted = False
    if method == "one-table":
        customers, tables = one_table_customers(trie).astype(np.float64), np.ones(trie.n_grams)
        d = leaving_one_out_discounts(trie, customers, len(given)) if discounts is None else given
    elif method == "gibbs":
        rng = random_numbers(random_state)
        lengths, zero = Lengths(trie, len(given)), np.zeros(trie.n_contexts)
        seated = Restaurants(trie, node_discounts(trie, given), zero, rng)
        (customers, tables, d, _), interrupted = sampled_means(
            seated,
            (given, np.zeros(len(given))),
            at_nodes=lambda d, _: (node_discounts(trie, d), zero),
            draw=(lambda d, theta: (draw_discounts(seated, lengths, d, rng), theta)) if resample else None,
            sweeps=sweeps,
            burn_in=check_sweeps(sweeps, burn_in),
            callback=callback,
        )
    else:
        raise unknown_choice("method must be", method, ("gibbs", "one-table"))
    facts: dict[str, Any] = {"method": f"sequence memoizer ({method})", "discounts": d.tolist()}
    if method == "gibbs":
        facts |= {"sweeps": sweeps, "random_state": random_state, "interrupted": interrupted}
    return SequenceMemoizer(text.vocabulary, trie, stream.ids, customers, tables, d, facts)


_FIRST_DISCOUNTS = (0.75, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9)


def _fall(trie: SuffixTrie, discounts: Vector) -> Vector:
    """The logarithms of the discounts of 0, 1, … symbols, summed."""
    length = np.minimum(np.arange(int(trie.depth.max()) + 1), len(discounts) - 1)
    return np.concatenate(([0.0], np.cumsum(np.log(discounts[length]))))


def node_discounts(trie: SuffixTrie, discounts: Vector) -> Vector:
    """The discount of each node: the product of those of the lengths of contexts it stands for."""
    fall = _fall(trie, discounts)
    d: Vector = np.exp(fall[trie.depth + 1] - fall[trie.depth - trie.length + 1])
    return d


class Lengths:
    """The lengths of contexts that nodes stand for: nodes with the same are one group, with one discount."""

    def __init__(self, trie: SuffixTrie, n_discounts: int) -> None:
        last = n_discounts - 1
        first = trie.depth - trie.length + 1
        pairs, self.group = np.unique(
            first.astype(np.int64) * (int(trie.depth.max()) + 1) + trie.depth, return_inverse=True
        )
        first, longest = np.divmod(pairs, int(trie.depth.max()) + 1)
        #: How often each discount is a factor of that of each group.
        self.powers = np.zeros((len(pairs), n_discounts))
        for n in range(last):
            self.powers[:, n] = (first <= n) & (n <= longest)
        self.powers[:, last] = np.maximum(0, longest - np.maximum(first, last) + 1)

    @property
    def n_groups(self) -> int:
        """Different discounts of nodes."""
        return len(self.powers)


def draw_discounts(seated: Restaurants, lengths: Lengths, d: Vector, rng: np.random.Generator) -> Vector:
    """Each discount in turn from its posterior given the seating, by slice sampling (Neal 2003).

    The discounts D of groups enter by D^(t - 1) for each restaurant and Γ(n - D) / Γ(1 - D) for each table.
    """
    from scipy.special import gammaln

    context, size = seated.shared_tables()
    shape = (lengths.n_groups, int(size.max(initial=1)) + 1)
    keys, tables = np.unique(lengths.group[context] * shape[1] + size, return_counts=True)
    group, size = np.divmod(keys, shape[1])
    spare = np.bincount(lengths.group, seated.laid - 1, lengths.n_groups) @ lengths.powers

    def log_posterior(d: Vector) -> float:
        log_d = np.log(d)
        of_group = np.exp(lengths.powers @ log_d)[group]
        return float(spare @ log_d + tables @ (gammaln(size - of_group) - gammaln(1.0 - of_group)))

    d = d.copy()
    for n in range(len(d)):
        height = log_posterior(d) - rng.exponential()
        low, high, now = _BOUND, 1.0 - _BOUND, d[n]
        while True:
            d[n] = rng.uniform(low, high)
            if log_posterior(d) >= height:
                break
            low, high = (d[n], high) if d[n] < now else (low, d[n])
    return d


def leaving_one_out_discounts(trie: SuffixTrie, customers: Vector, n_discounts: int) -> Vector:
    """The discounts with which Σ n₁ log D + 2 n₂ log(1 - D) is largest, D the discounts of nodes (Ney et al. 1994).

    n₁ and n₂ are the numbers of grams with one and two customers. If each node stands for one length and has one
    discount of its own, that is n₁/(n₁ + 2n₂).
    """
    from scipy.optimize import minimize

    lengths = Lengths(trie, n_discounts)
    group = lengths.group[trie.context]
    n1, n2 = (np.bincount(group[customers == n], minlength=lengths.n_groups) for n in (1, 2))

    def loss(log_d: Vector) -> tuple[float, Vector]:
        log_node = lengths.powers @ log_d
        node = np.minimum(np.exp(log_node), 1.0 - _BOUND)
        value = n1 @ log_node + 2.0 * n2 @ np.log1p(-node)
        gradient = (n1 - 2.0 * n2 * node / (1.0 - node)) @ lengths.powers
        return -float(value), -gradient

    bounds = [(np.log(0.05), np.log1p(-_BOUND))] * n_discounts
    best = minimize(loss, np.full(n_discounts, np.log(0.8)), jac=True, method="L-BFGS-B", bounds=bounds)
    d: Vector = np.exp(best.x)
    return d
