"""Mixtures of language models: weighted sums and weighted products of their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import InputError, OptionError
from spinney.files import ModelFile, Parts
from spinney.lm.model import LanguageModel, Vector, component_of
from spinney.lm.stream import Ids, Stream

Text = TokenArrays | Iterable[Sequence[str]]
Matrix = NDArray[np.float64]

# The smallest log-probability in a product: zero to a small power would still be zero.
_FLOOR = float(np.log(np.finfo(float).tiny))
_ROOM = 1 << 28  # bytes of distributions kept while the exponents of a product are fitted


class _Mixture(LanguageModel):
    """What has components."""

    def __init__(self, components: Mapping[str, LanguageModel]) -> None:
        self._components = dict(components)
        if not components:
            raise OptionError("a mixture needs components")
        for name in components:
            if not name or "/" in name:
                raise OptionError(f"{name!r} cannot be the name of a component")
        first, *others = components.values()
        for other in others:
            if other.vocabulary is not first.vocabulary and (
                other.vocabulary.words != first.vocabulary.words
                or other.vocabulary.unknown != first.vocabulary.unknown
            ):
                raise OptionError("the components of a mixture must have the same vocabulary")
        self.vocabulary = first.vocabulary
        self.facts = {}

    def components(self) -> Mapping[str, LanguageModel]:
        return self._components

    def match_depths(self, stream: Stream) -> Ids:
        """Those of the first component that has them."""
        return self._components[depth_component(self._components)].match_depths(stream)


class LinearMixture(_Mixture):
    """p(y | x) = Σ_i w_{b(x) i} p_i(y | x), with weights for each bucket b of histories.

    Parameters
    ----------
    components
        Models with the same vocabulary, by name.
    weights
        [buckets, components]: each row sums to one.
    edges
        Bucket b holds the histories whose depth of match is at least ``edges[b - 1]`` and below ``edges[b]``.
    depth_of
        The component whose :meth:`~spinney.lm.model.LanguageModel.match_depths` are meant; needed if there are edges.

    Examples
    --------
    >>> from spinney.lm.cache import CacheModel
    >>> words = Vocabulary(("a", "rose", "is"), [2, 2, 1])
    >>> components = {"words": CacheModel(words, decay=1.0), "pairs": CacheModel(words, decay=1.0, order=2)}
    >>> model = LinearMixture(components, [[0.25, 0.75]])
    >>> model.next_words("a rose is a".split(), 1)
    [('rose', 0.53125)]
    """

    kind: ClassVar[str] = "lm/LinearMixture"

    def __init__(
        self,
        components: Mapping[str, LanguageModel],
        weights: ArrayLike,
        edges: ArrayLike = (),
        *,
        depth_of: str | None = None,
    ) -> None:
        super().__init__(components)
        self.weights: Matrix = np.asarray(weights, float)
        self.edges: NDArray[np.int64] = np.asarray(edges, np.int64)
        self.depth_of = depth_of
        if self.edges.ndim != 1 or self.weights.shape != (len(self.edges) + 1, len(components)):
            raise OptionError(
                "a mixture needs a row of weights for each bucket, and a column for each component"
            )
        if not (np.all(self.weights >= 0) and np.allclose(self.weights.sum(axis=1), 1.0, rtol=0, atol=1e-9)):
            raise OptionError("the weights of each bucket must be at least 0 and sum to 1")
        if np.any(np.diff(self.edges) <= 0):
            raise OptionError("the edges of the buckets must increase")
        if self.edges.size and depth_of not in components:
            raise OptionError("the buckets need depth_of, the component whose depths they use")

    def _buckets(self, stream: Stream) -> NDArray[np.int64]:
        if not self.edges.size or self.depth_of is None:
            return np.zeros(np.count_nonzero(stream.room), np.int64)
        return np.searchsorted(self.edges, self._components[self.depth_of].match_depths(stream), side="right")

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)[self._buckets(stream)]
        total = np.full(len(log_weights), -np.inf)
        for i, component in enumerate(self._components.values()):
            if np.any(self.weights[:, i]):
                np.logaddexp(total, log_weights[:, i] + component.event_logprobs(stream), out=total)
        return total

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end."""
        after = self._buckets(stream_after(history, self.vocabulary))
        bucket = int(after[-1]) if after.size else 0  # before anything was said no context matches
        p = np.zeros(self.n_outcomes)
        for weight, component in zip(self.weights[bucket], self._components.values()):
            if weight:
                p += weight * component.distribution(history)
        return p

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        header = {"names": list(self._components), "depth_of": self.depth_of}
        return Parts(header, {"weights": self.weights, "edges": self.edges}, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        components = _components_of(file, vocabulary)
        depth_of = None if file.header.get("depth_of") is None else file.fact("depth_of", str)
        weights, edges = (
            file.tensor("weights", np.float64, 2, low=0, high=1 + 1e-9),
            file.tensor("edges", np.int64),
        )
        with file.checked():
            return cls(components, weights, edges, depth_of=depth_of)


class LogLinearMixture(_Mixture):
    """p(y | x) ∝ Π_i p_i(y | x)^λ_i, normalised over the vocabulary.

    A whole distribution is needed for each event, which takes time; where components agree, the product is surer
    than any of them. A word that has no probability under a component has next to none here.

    Parameters
    ----------
    components
        Models with the same vocabulary, by name.
    exponents
        λ_i ≥ 0 for each.

    Examples
    --------
    >>> from spinney.lm.cache import CacheModel
    >>> words = Vocabulary(("a", "rose", "is"), [2, 2, 1])
    >>> components = {"words": CacheModel(words, decay=1.0), "pairs": CacheModel(words, decay=1.0, order=2)}
    >>> model = LogLinearMixture(components, [0.5, 1.0])
    >>> model.next_words("a rose is a".split(), 1)
    [('rose', 0.5879...)]
    """

    kind: ClassVar[str] = "lm/LogLinearMixture"

    def __init__(self, components: Mapping[str, LanguageModel], exponents: ArrayLike) -> None:
        super().__init__(components)
        self.exponents: Vector = np.asarray(exponents, float)
        if self.exponents.shape != (len(components),) or not np.all(
            (self.exponents >= 0) & (self.exponents < np.inf)
        ):
            raise OptionError("a product needs an exponent of at least 0 for each component")

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event: one whole distribution for each."""
        from spinney.progress import task

        values = np.full(np.count_nonzero(stream.room), -np.inf)
        with task("scoring", total=len(values)) as scoring:
            for e, place in enumerate(stream.events.tolist()):
                if stream.ids[place] >= 0:
                    values[e] = self._log_distribution(stream.ids[:place])[stream.ids[place]]
                scoring.update()
        return values

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end."""
        p: Vector = np.exp(self._log_distribution(history))
        return p

    def _log_distribution(self, history: Ids) -> Vector:
        scores = self.exponents @ log_distributions(self._components.values(), history)
        scores -= scores.max()
        scores -= np.log(np.exp(scores).sum())
        return scores

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        return Parts({"names": list(self._components)}, {"exponents": self.exponents}, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        components, exponents = _components_of(file, vocabulary), file.tensor("exponents", np.float64)
        with file.checked():
            return cls(components, exponents)


# ---------------------------------------------------------------------------------------------- fitting


def fit_linear(
    components: Mapping[str, LanguageModel],
    held_out: Text,
    by: Literal["all", "depth", "rule"] = "all",
    *,
    depth_of: str | None = None,
    min_events: int = 500,
    max_iter: int = 200,
    tol: float = 1e-7,
) -> LinearMixture:
    """Fit a weighted sum of models whose weights maximise the likelihood of held-out text.

    Parameters
    ----------
    components
        Models with the same vocabulary, by name.
    held_out
        Sentences, or arrays read with the vocabulary of the models.
    by
        ``"all"``: the same weights everywhere. ``"depth"``: weights for each depth of match of the history in
        training. ``"rule"``: one component alone up to a depth, and another beyond it (Nelakanti 2014).
    depth_of
        The component whose depths count; None: the first that has any.
    min_events
        Neighbouring depths share their weights until they have at least this many held-out events.
    max_iter, tol
        EM ends after ``max_iter`` iterations, or when the mean log-likelihood grows by less than ``tol``.

    Examples
    --------
    >>> from spinney.lm.cache import CacheModel
    >>> words = Vocabulary(("a", "rose", "is"), [2, 2, 1])
    >>> components = {"words": CacheModel(words, decay=1.0), "pairs": CacheModel(words, decay=1.0, order=2)}
    >>> model = fit_linear(components, ["a rose is a rose is a rose".split()])
    >>> model.weights.round(1)
    array([[0., 1.]])
    """
    if by not in ("all", "depth", "rule"):
        raise OptionError(
            f"by must be all, depth or rule, not {by!r}", given=by, known=("all", "depth", "rule")
        )
    stream = LinearMixture(components, _even(1, len(components))).stream(held_out)
    logprobs = np.stack([component.event_logprobs(stream) for component in components.values()], axis=1)
    possible = logprobs.max(axis=1) > -np.inf
    if not possible.any():
        raise InputError("the held-out text has no event that a component can predict")
    if by == "all":
        return LinearMixture(components, em_weights(logprobs[possible], max_iter=max_iter, tol=tol))
    depth_of = depth_component(components) if depth_of is None else depth_of
    if depth_of not in components:
        raise OptionError(f"no component is called {depth_of!r}", given=depth_of, known=components)
    depths = components[depth_of].match_depths(stream)[possible]
    if by == "rule":
        weights, edges = best_rule(logprobs[possible], depths)
    else:
        edges = tied_edges(depths, min_events)
        buckets = np.searchsorted(edges, depths, side="right")
        weights = em_weights(logprobs[possible], buckets, len(edges) + 1, max_iter=max_iter, tol=tol)
    return LinearMixture(components, weights, edges, depth_of=depth_of)


def em_weights(
    logprobs: Matrix,
    buckets: NDArray[np.int64] | None = None,
    n_buckets: int = 1,
    *,
    max_iter: int = 200,
    tol: float = 1e-7,
    trace: list[float] | None = None,
) -> Matrix:
    """Weights [buckets, components] that maximise Σ_e log Σ_i w_{b_e i} p_{e i}, by EM.

    ``trace`` is given the mean log-likelihood before each iteration; it never falls.
    """
    n, n_components = logprobs.shape
    buckets = np.zeros(n, np.int64) if buckets is None else buckets
    top = logprobs.max(axis=1, keepdims=True)
    p = np.exp(logprobs - top)  # only their proportions matter, and the largest is 1
    weights = _even(n_buckets, n_components)
    seen = np.bincount(buckets, minlength=n_buckets)[:, None]
    last = -np.inf
    for _ in range(max_iter):
        shares = weights[buckets] * p
        sums = shares.sum(axis=1)
        value = float(np.mean(np.log(sums) + top[:, 0]))
        if trace is not None:
            trace.append(value)
        if value - last < tol:
            break
        last = value
        shares /= sums[:, None]
        total = np.stack([np.bincount(buckets, shares[:, i], n_buckets) for i in range(n_components)], axis=1)
        weights = np.where(seen > 0, total / np.maximum(seen, 1), weights)
        weights /= weights.sum(axis=1, keepdims=True)
    return weights


def tied_edges(depths: Ids, min_events: int) -> NDArray[np.int64]:
    """Edges of buckets of neighbouring depths that have at least ``min_events`` events each.

    Examples
    --------
    >>> tied_edges(np.repeat([0, 1, 2, 3, 4], [5, 1, 5, 6, 2]).astype(np.int32), 6)
    array([2])
    """
    counts = np.bincount(depths)
    edges, held = [], 0
    for depth, count in enumerate(counts.tolist()):
        held += count
        if held >= min_events and counts[depth + 1 :].sum() >= max(1, min_events):
            edges.append(depth + 1)
            held = 0
    return np.array(edges, np.int64)


def best_rule(logprobs: Matrix, depths: Ids) -> tuple[Matrix, NDArray[np.int64]]:
    """The two components, and the depth up to which the first is used alone, that make the events likeliest."""
    n_components = logprobs.shape[1]
    by_depth = np.stack([_sums(logprobs[:, i], depths) for i in range(n_components)])
    # The first is used below the cut; at 0 never.
    below = np.concatenate((np.zeros((n_components, 1)), np.cumsum(by_depth, axis=1)[:, :-1]), axis=1)
    above = np.cumsum(by_depth[:, ::-1], axis=1)[:, ::-1]
    values = below[:, None, :] + above[None, :, :]
    low, high, cut = np.unravel_index(int(np.argmax(values)), values.shape)
    one = np.eye(n_components)
    if low == high or cut == 0:
        return one[[high]], np.empty(0, np.int64)
    return one[[low, high]], np.array([cut])


def _sums(values: Vector, depths: Ids) -> Vector:
    """Sums by depth, where nothing is worse than impossible."""
    impossible = np.isneginf(values)
    sums = np.bincount(depths, np.where(impossible, 0.0, values)).astype(float)
    sums[depths[impossible]] = -np.inf
    return sums


def fit_log_linear(
    components: Mapping[str, LanguageModel], held_out: Text, *, max_events: int = 2000, random_state: int = 0
) -> LogLinearMixture:
    """Fit a weighted product of models whose exponents maximise the likelihood of held-out text (convex; by L-BFGS).

    Parameters
    ----------
    components
        Models with the same vocabulary, by name.
    held_out
        Sentences, or arrays read with the vocabulary of the models.
    max_events
        The exponents are fitted to at most this many randomly drawn events, and to fewer if the vocabulary is large.
    random_state
        The seed of the draw.

    Examples
    --------
    >>> from spinney.lm.cache import CacheModel
    >>> words = Vocabulary(("a", "rose", "is"), [2, 2, 1])
    >>> components = {"words": CacheModel(words, decay=1.0), "pairs": CacheModel(words, decay=1.0, order=2)}
    >>> fit_log_linear(components, ["a rose is a rose is a rose".split()]).exponents.shape
    (2,)
    """
    from scipy.optimize import minimize

    if max_events < 1:
        raise OptionError(f"max_events must be at least 1, not {max_events}")
    even = LogLinearMixture(components, np.full(len(components), 1.0 / max(1, len(components))))
    stream = even.stream(held_out)
    places = stream.events[stream.ids[stream.events] >= 0]
    if not places.size:
        raise InputError("the held-out text has no event that a component can predict")
    n = min(max_events, max(1, _ROOM // (4 * even.n_outcomes * len(components))))
    if n < len(places):
        places = np.sort(np.random.default_rng(random_state).choice(places, n, replace=False))
    dense = np.empty((len(components), len(places), even.n_outcomes), np.float32)
    for e, place in enumerate(places.tolist()):
        dense[:, e] = log_distributions(components.values(), stream.ids[:place])
    observed = dense[:, np.arange(len(places)), stream.ids[places]].mean(axis=1, dtype=float)

    def value_and_grad(exponents: Vector) -> tuple[float, Vector]:
        normalisers, expected = 0.0, np.zeros(len(exponents))
        for e in range(0, len(places), 64):
            block = dense[:, e : e + 64].astype(float)
            scores = np.tensordot(exponents, block, 1)
            top = scores.max(axis=1, keepdims=True)
            p = np.exp(scores - top)
            sums = p.sum(axis=1, keepdims=True)
            normalisers += float(np.sum(np.log(sums) + top))
            expected += np.einsum("iev,ev->i", block, p / sums)
        value = normalisers / len(places) - float(exponents @ observed)
        return value, expected / len(places) - observed

    found = minimize(
        value_and_grad, even.exponents, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(components)
    )
    return LogLinearMixture(components, found.x)


# ---------------------------------------------------------------------------------------------- helpers


def log_distributions(components: Iterable[LanguageModel], history: Ids) -> Matrix:
    """The logarithms [components, outcomes] of the distributions after a history, none below a floor."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.stack([component.distribution(history) for component in components]))
    return np.maximum(logs, _FLOOR)


def depth_component(components: Mapping[str, LanguageModel]) -> str:
    """The name of the first component that has depths of match."""
    for name, component in components.items():
        try:
            component.match_depths(Stream(np.empty(0, np.int32), np.empty(0, np.int32)))
        except OptionError:
            continue
        return name
    raise OptionError("no component has a match depth")


def stream_after(history: Ids, vocabulary: Vocabulary) -> Stream:
    """The sentence that a history ends with, as a stream whose last event comes after it."""
    n_words = len(vocabulary)
    starts = np.flatnonzero(history == n_words + 1)
    sentence = history[starts[-1] :] if starts.size else history
    ids = np.append(sentence, n_words).astype(np.int32)
    return Stream(ids, np.arange(len(ids), dtype=np.int32))


def _even(n_rows: int, n_columns: int) -> Matrix:
    return np.full((n_rows, n_columns), 1.0 / max(1, n_columns))


def _components_of(file: ModelFile, vocabulary: Vocabulary) -> dict[str, LanguageModel]:
    names = file.fact("names", list)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise file.error("damaged: the names of the components are not valid")
    return {name: component_of(file, name, vocabulary) for name in names}
