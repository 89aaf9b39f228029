"""The hierarchical Pitman-Yor language model (Teh 2006).

Each context u has a distribution G_u ~ PY(d, θ, G_parent) with the discount and concentration of its length, and the
root's base is uniform. Integrated out, that is a Chinese restaurant for every context: c_uw customers of symbol w at
t_uw tables, each table a customer in the restaurant of the parent, and

    p(w | u) = (c_uw - d t_uw) / (θ + c_u.) + (θ + d t_u.) / (θ + c_u.) p(w | parent of u),

which has the form of a back-off model. With a single table for every gram and θ = 0 it is interpolated Kneser-Ney:
what the children send up are continuation counts. A context that begins with the start of a sentence has no longer
ones, so its customers are the events themselves, and each of its tables counts as one customer in its parent, like
those of any other context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.checking import random_numbers, whole
from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.lm.stream import refuse_marks, stream_of
from spinney.lm.suffixtrie import SuffixTrie, suffix_trie

if TYPE_CHECKING:
    from spinney.lm.backoff import BackoffModel

Vector = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["gibbs", "one-table"]

_TINY = 1e-12  # a discount never reaches 0 or 1


class Sweep(NamedTuple):
    """How the sampler stands after a sweep."""

    #: Sweeps done.
    number: int
    #: d and θ of the contexts of 0, 1, … symbols.
    discounts: Vector
    concentrations: Vector
    #: Tables in all restaurants.
    tables: int


@dataclass(frozen=True, eq=False)
class PitmanYor:
    """Restaurants on a trie; means over several seatings need not be whole numbers.

    Attributes
    ----------
    trie : SuffixTrie
    customers, tables : float64 [grams]
        c and t.
    discount, concentration : float64 [contexts]
        d and θ.
    """

    trie: SuffixTrie
    customers: Vector
    tables: Vector
    discount: Vector
    concentration: Vector
    #: Whether Ctrl-C ended the sweeps.
    interrupted: bool = False

    def interpolation(self) -> tuple[Vector, Vector]:
        """(c - dt) / (θ + c.) of each gram, and (θ + d t.) / (θ + c.) of each context."""
        context = self.trie.context
        guests, laid = (
            np.bincount(context, values, self.trie.n_contexts) for values in (self.customers, self.tables)
        )
        whole = self.concentration + guests
        own = (self.customers - self.discount[context] * self.tables) / whole[context]
        return own, (self.concentration + self.discount * laid) / whole

    def probabilities(self) -> tuple[Vector, Vector]:
        """p(w | u) of each gram, and the back-off weight of each context."""
        from spinney.lm._restaurant_kernels import interpolated

        own, weight = self.interpolation()
        return interpolated(self.trie.up, self.trie.context, own, weight, 1.0 / self.trie.n_outcomes), weight


def one_table_customers(trie: SuffixTrie) -> Ints:
    """The customers of each gram if every gram has one table: its own events, and one for each of its children."""
    return np.bincount(trie.event_gram, minlength=trie.n_grams) + trie.n_extensions


class Restaurants:
    """A seating of all events of a trie that can be sampled anew.

    The size of every table is kept: a gram never has more tables than events, which is the room it gets in one flat
    array. So sampling is exact and needs no Stirling numbers (which Gasthaus and Teh 2010 take to save this memory).
    """

    def __init__(
        self, trie: SuffixTrie, discount: Vector, concentration: Vector, rng: np.random.Generator
    ) -> None:
        self.trie = trie
        self._rng = rng
        self._pool = np.cumsum(trie.count) - trie.count
        self._sizes = np.zeros(int(trie.count.sum()), np.int32)
        self.customers, self.tables = np.zeros((2, trie.n_grams), np.int32)
        self.guests, self.laid = np.zeros((2, trie.n_contexts), np.int32)  # by restaurant
        # A gram seen once has one customer alone at one table, up to an ancestor seen more often: its seating is fixed.
        entry = np.where((trie.count == 1) & (trie.up >= 0), trie.up, np.arange(trie.n_grams))
        while np.any(entry[entry] != entry):
            entry = entry[entry]
        # In the order of the trie, the restaurants that two customers visit in turn are mostly the same.
        self._entries = np.sort(entry[trie.event_gram]).astype(np.int32)
        self._seat(np.sort(trie.event_gram), False, discount, concentration)

    def sweep(self, discount: Vector, concentration: Vector) -> None:
        """Every customer leaves and comes back (Gibbs sampling); the parameters are those of each context."""
        self._seat(self._entries, True, discount, concentration)

    def _seat(self, grams: NDArray[np.int32], again: bool, discount: Vector, concentration: Vector) -> None:
        from spinney.lm._restaurant_kernels import seat_all

        trie = self.trie
        seat_all(
            grams,
            again,
            (trie.up, trie.context, self._pool),
            (self.customers, self.tables, self._sizes, self.guests, self.laid),
            (discount, concentration, 1.0 / trie.n_outcomes),
            self._rng,
            int(trie.depth.max(initial=0)) + 1,
        )

    def shared_tables(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The context and the number of customers of every table that has more than one."""
        grams = np.flatnonzero(self.customers > self.tables)
        tables = self.tables[grams]
        first = np.repeat(self._pool[grams] - (np.cumsum(tables) - tables), tables)
        sizes = self._sizes[first + np.arange(len(first))]
        shared = sizes > 1
        return np.repeat(self.trie.context[grams], tables)[shared], sizes[shared]


class Average:
    """The mean of seatings and parameters that a sampler went through."""

    def __init__(self) -> None:
        self.n = 0
        self._sums: list[Vector] = []

    def add(self, *values: NDArray[np.int32] | Vector) -> None:
        """Take one sample in."""
        sums = self._sums or [np.zeros(value.shape) for value in values]
        # Both together, so that an interruption leaves sums and number consistent.
        self._sums, self.n = [total + value for total, value in zip(sums, values)], self.n + 1

    def means(self) -> list[Vector]:
        """The means so far."""
        return [total / self.n for total in self._sums]


def pitman_yor(
    text: TokenArrays,
    order: int = 5,
    *,
    method: Method = "gibbs",
    sweeps: int = 50,
    burn_in: int | None = None,
    discounts: float | Sequence[float] | None = None,
    concentrations: float | Sequence[float] | None = None,
    resample: bool = True,
    random_state: int = 0,
    callback: Callable[[Sweep], object] | None = None,
) -> BackoffModel:
    """Fit a hierarchical Pitman-Yor language model.

    Parameters
    ----------
    text
        The training text.
    order
        The longest n-grams: contexts have up to ``order - 1`` symbols.
    method
        ``"gibbs"`` samples the seating; ``"one-table"`` gives each gram one table, which with the concentrations 0
        that are its default is interpolated Kneser-Ney with one discount for each order.
    sweeps, burn_in
        Number of times that all customers are seated anew, and how many of these sweeps are discarded at the beginning
        (default: half). The model is that of the mean numbers of customers and tables, discounts and concentrations.
    discounts, concentrations
        One for all contexts, or for those of 0, 1, …, ``order - 1`` symbols. Gibbs sampling begins with them
        (defaults 0.8 and 1); for one table the default discounts are n₁/(n₁ + 2n₂), the concentrations 0.
    resample
        Whether Gibbs sampling draws the parameters too, after each sweep, from their posterior with the priors
        Beta(1, 1) and Gamma(1, 1) (Teh 2006).
    random_state
        Seeds the sampler.
    callback
        Called after each sweep.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "nose", "is", "a", "nose"]])
    >>> model = pitman_yor(text, 3, sweeps=10)
    >>> round(float(model.distribution(model.history(["is"], start=False)).sum()), 12)
    1.0
    """
    refuse_marks(text)
    whole("order", order, 1)
    if not len(text):
        raise InputError("there are no sentences to learn from")
    trie = suffix_trie(stream_of(text), len(text.vocabulary), order - 1)
    if method == "one-table":
        fitted = one_table_model(trie, discounts, concentrations)
    elif method == "gibbs":
        fitted = sampled_model(
            trie,
            sweeps=sweeps,
            burn_in=burn_in,
            discounts=discounts,
            concentrations=concentrations,
            resample=resample,
            random_state=random_state,
            callback=callback,
        )
    else:
        raise unknown_choice("method must be", method, ("gibbs", "one-table"))
    facts: dict[str, object] = {"method": f"pitman-yor ({method})", "order": order}
    if method == "gibbs":
        facts |= {"sweeps": sweeps, "random_state": random_state, "interrupted": fitted.interrupted}
    return backoff_model(fitted, text.vocabulary, facts)


def backoff_model(fitted: PitmanYor, vocabulary: Vocabulary, facts: Mapping[str, object]) -> BackoffModel:
    """The predictive rule as a table of probabilities and back-off weights."""
    from spinney.lm.backoff import BackoffModel
    from spinney.lm.tables import trie_counts

    trie = fitted.trie
    p, weight = fitted.probabilities()
    seen = int(trie.gram_ptr[1])
    unigrams = np.full(
        trie.n_symbols, weight[0] / trie.n_outcomes
    )  # what was never seen has its share of the base
    unigrams[trie.symbol[:seen]] = p[:seen]
    unigrams[-1] = 0.0  # the start of a sentence is not predicted
    with np.errstate(divide="ignore"):
        logp, backoff = np.log(np.concatenate((unigrams, p[seen:]))), np.log(weight)
    first = trie.levels()[:-1]
    parameters = {
        "discounts": fitted.discount[first].tolist(),
        "concentrations": fitted.concentration[first].tolist(),
    }
    return BackoffModel(vocabulary, trie_counts(trie).table, logp, backoff, {**facts, **parameters})


def one_table_model(
    trie: SuffixTrie,
    discounts: float | Sequence[float] | None = None,
    concentrations: float | Sequence[float] | None = None,
) -> PitmanYor:
    """One table for every gram; see :func:`pitman_yor`."""
    customers = one_table_customers(trie)
    if discounts is None:
        discounts = kneser_ney_discounts(customers, trie)
    d, theta = (
        _by_depth(values, trie, default) for values, default in ((discounts, 0.0), (concentrations, 0.0))
    )
    _check(d, theta)
    return PitmanYor(
        trie, customers.astype(np.float64), np.ones(trie.n_grams), d[trie.depth], theta[trie.depth]
    )


def kneser_ney_discounts(customers: Ints, trie: SuffixTrie) -> list[float]:
    """n₁/(n₁ + 2n₂) for each length of contexts, where n₁ and n₂ grams have one and two customers.

    In a text so small that either is 0, both are taken for one more.
    """
    depth = trie.depth[trie.context]
    n1, n2 = (np.bincount(depth[customers == n], minlength=int(depth.max()) + 1) for n in (1, 2))
    few = (n1 == 0) | (n2 == 0)
    d: list[float] = ((n1 + few) / (n1 + few + 2 * (n2 + few))).tolist()
    return d


def sampled_model(
    trie: SuffixTrie,
    *,
    sweeps: int = 50,
    burn_in: int | None = None,
    discounts: float | Sequence[float] | None = None,
    concentrations: float | Sequence[float] | None = None,
    resample: bool = True,
    random_state: int = 0,
    callback: Callable[[Sweep], object] | None = None,
) -> PitmanYor:
    """The mean of sampled seatings; see :func:`pitman_yor`."""
    burn_in = check_sweeps(sweeps, burn_in)
    d, theta = _by_depth(discounts, trie, 0.8), _by_depth(concentrations, trie, 1.0)
    _check(d, theta)
    rng = random_numbers(random_state)
    seated = Restaurants(trie, d[trie.depth], theta[trie.depth], rng)
    (customers, tables, d, theta), interrupted = sampled_means(
        seated,
        (d, theta),
        at_nodes=lambda d, theta: (d[trie.depth], theta[trie.depth]),
        draw=(lambda d, theta: draw_parameters(seated, d, theta, rng)) if resample else None,
        sweeps=sweeps,
        burn_in=burn_in,
        callback=callback,
    )
    return PitmanYor(trie, customers, tables, d[trie.depth], theta[trie.depth], interrupted)


def sampled_means(
    seated: Restaurants,
    parameters: tuple[Vector, Vector],
    *,
    at_nodes: Callable[[Vector, Vector], tuple[Vector, Vector]],
    draw: Callable[[Vector, Vector], tuple[Vector, Vector]] | None,
    sweeps: int,
    burn_in: int,
    callback: Callable[[Sweep], object] | None,
) -> tuple[list[Vector], bool]:
    """Seat all customers anew, sweep after sweep, and draw the parameters.

    Parameters
    ----------
    parameters
        Discounts and concentrations by the length of contexts.
    at_nodes
        The discount and the concentration of each node, given the parameters.
    draw
        New parameters, given the old ones; without it they stay as they are.

    Returns
    -------
    means, interrupted
        The mean customers, tables, discounts and concentrations; and whether Ctrl-C ended the sweeps.
    """
    mean, interrupted = Average(), False
    with progress.task("seating", sweeps) as bar:
        try:
            for number in range(1, sweeps + 1):
                seated.sweep(*at_nodes(*parameters))
                if draw is not None:
                    parameters = draw(*parameters)
                if number > burn_in:
                    mean.add(seated.customers, seated.tables, *parameters)
                bar.update()
                if callback is not None:
                    callback(Sweep(number, *parameters, int(seated.laid.sum())))
        except KeyboardInterrupt:  # what was sampled so far is also a model
            interrupted = True
    if not mean.n:
        mean.add(seated.customers, seated.tables, *parameters)
    return mean.means(), interrupted


def draw_parameters(
    seated: Restaurants, d: Vector, theta: Vector, rng: np.random.Generator
) -> tuple[Vector, Vector]:
    """Discounts and concentrations of each depth from their posterior, by auxiliary variables (Teh 2006, appendix C).

    The seating of a restaurant has the probability Π_{i<t} (θ + di) · Γ(θ+1)/Γ(θ+c) · Π_tables Π_{j<n} (j - d), i and j
    from 1. There x, drawn from Beta(θ + 1, c - 1), makes the second factor x^θ, y tells whether θ or di is meant in
    each of the first, z whether 1 - d or j - 1 in each of the third. The y and z of restaurants and tables that are
    alike are drawn together, as binomials.
    """
    trie = seated.trie
    context, size = seated.shared_tables()
    d, theta = d.copy(), theta.copy()
    for depth, (here, below) in enumerate(pairwise(trie.levels())):
        guests, laid = seated.guests[here:below], seated.laid[here:below]
        log_x = np.log(rng.beta(theta[depth] + 1.0, guests[guests > 1] - 1.0)).sum()
        more = _how_many_more(laid)  # restaurants with more than i tables, i = 1, 2, …
        i = np.arange(1, len(more) + 1)
        y = rng.binomial(more, theta[depth] / (theta[depth] + d[depth] * i)).sum()
        larger = _how_many_more(size[(context >= here) & (context < below)])  # tables of more than j
        j = np.arange(1, len(larger) + 1)
        not_z = rng.binomial(larger, (1.0 - d[depth]) / (j - d[depth])).sum()
        d[depth] = np.clip(rng.beta(1.0 + more.sum() - y, 1.0 + not_z), _TINY, 1.0 - _TINY)
        theta[depth] = rng.gamma(1.0 + y, 1.0 / (1.0 - log_x))
    return d, theta


def _how_many_more(values: NDArray[np.generic]) -> Ints:
    """How many of the values, positive numbers, are above 1, 2, …"""
    return len(values) - np.cumsum(np.bincount(values)[1:])[:-1]


def check_sweeps(sweeps: int, burn_in: int | None) -> int:
    """How many of the sweeps do not count."""
    burn_in = sweeps // 2 if burn_in is None else burn_in
    if not 0 <= burn_in < sweeps:
        raise OptionError(f"of {sweeps} sweeps at least one must come after the burn-in of {burn_in}")
    return burn_in


def _by_depth(values: float | Sequence[float] | None, trie: SuffixTrie, default: float) -> Vector:
    n = int(trie.depth.max()) + 1
    try:
        return np.broadcast_to(np.asarray(default if values is None else values, np.float64), n).copy()
    except ValueError:
        raise OptionError(
            f"give one discount or concentration for all contexts, or {n}, one for each length from 0"
        ) from None


def _check(d: Vector, theta: Vector) -> None:
    if not np.all((d >= 0) & (d < 1)):
        raise OptionError("discounts must be at least 0 and below 1")
    if not np.all((theta >= 0) & np.isfinite(theta)):
        raise OptionError("concentrations must be at least 0")
    if np.any((d == 0) & (theta == 0)):
        raise OptionError("a discount or a concentration must be above 0, or unseen words get no probability")
