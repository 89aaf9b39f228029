"""Maximum-entropy Markov models: a tagger normalised at each token (McCallum, Freitag & Pereira 2000).

    p(y|x) = Π_t exp[ Σ_{o at t} μ(o, y_t) + Σ_{b at t} λ(b, y_{t−1}, y_t) ] / Z_t(y_{t−1}, x)  (Sokolovska 2010, 2.4.2)

The parameters are those of the CRF. In training the label before is known: so each token is one example of a
multinomial logistic regression, in which a bigram observation after label y' is one more observation.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.inference.chains import Chains
from spinney.optim.base import Vector
from spinney.parallel import default_threads, map_reduce
from spinney.tagging.loss import BLOCK, even_cuts, token_kinds
from spinney.tagging.sequences import Floats, Observations, Sequences
from spinney.tagging.support import Shape

SCORES = 1 << 20  # of pairs of labels at tokens, held at once


class MEMMLoss:
    """−Σ_t weight·log p(y_t | y_{t−1}, x_t), over the tokens whose own label and the one before are known for sure.

    Parameters
    ----------
    data : Sequences
        With labels.
    n_labels : int
    start : bool
        Whether the first token of a sentence has bigram weights, from a start label.
    threads : int, optional
        By default one for each processor.

    Examples
    --------
    >>> seen = Observations(np.array([0, 1, 2]), np.array([0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2]), seen, Observations.always(2), labels=np.array([1, 0], np.int32))
    >>> loss = MEMMLoss(data, n_labels=2)
    >>> value, gradient = loss.value_and_grad(np.zeros(loss.n_params))
    >>> float(value / np.log(2)), loss.shape.lam(gradient)[0].tolist()
    (2.0, [[0.0, 0.0], [-0.5, 0.5], [0.5, -0.5]])
    """

    n_free = 0
    support = None  # every weight is there

    def __init__(
        self, data: Sequences, n_labels: int, *, start: bool = True, threads: int | None = None
    ) -> None:
        labels = data.known_labels(n_labels)
        self.threads = default_threads() if threads is None else threads
        self.shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
        before = data.labels_before(n_labels)
        used = np.flatnonzero((labels >= 0) & (before >= 0))
        weights = np.ones(len(data)) if data.weights is None else data.weights
        self.labels = labels[used]
        self.weights = np.repeat(weights, data.lengths)[used]
        self.seen = _joined(data, used, before[used], self.shape)

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.shape.n_params

    @cached_property
    def columns(self) -> Any:
        """For each row of weights the tokens that use it, with their values."""
        from scipy.sparse import csr_array

        seen = self.seen
        values = np.ones(len(seen.ids), np.int8) if seen.values is None else seen.values
        columns = csr_array((values, seen.ids, seen.ptr), shape=(seen.n_tokens, seen.n)).tocsc()
        columns.indptr = columns.indptr.astype(np.int64)
        return columns

    @cached_property
    def _residuals(self) -> Floats:
        return np.empty((len(self.labels), self.shape.labels))

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient at ``w``."""
        from spinney.tagging._crf_kernels import gather_gradient

        columns, residuals = self.columns, self._residuals
        values = np.empty(0) if self.seen.values is None else columns.data
        W, gradient = w.reshape(-1, self.shape.labels), np.empty((self.seen.n, self.shape.labels))

        bounds = np.array([0, len(residuals)])

        def gather(rows: tuple[int, int]) -> int:
            gather_gradient(*rows, columns.indptr, columns.indices, values, residuals, bounds, gradient)
            return 0

        blocks = even_cuts(self.seen.ptr, max(len(self.labels) // BLOCK, 1))
        value = map_reduce(lambda block: self._block(block, W), blocks, threads=self.threads)
        map_reduce(gather, even_cuts(columns.indptr, 4 * self.threads), threads=self.threads)
        return value, gradient.ravel()

    def _block(self, tokens: tuple[int, int], W: Floats) -> float:
        """The loss of some tokens; their residuals (expected minus seen) are written."""
        from spinney.tagging._crf_kernels import add_scores

        part, here = self.seen.part(*tokens), slice(*tokens)
        p, weights = self._residuals[here], self.weights[here]
        gold = np.arange(len(p)), self.labels[here]
        add_scores(part.ptr, part.ids, part.flat_values, W, p)
        p -= p.max(axis=1, keepdims=True)
        right = p[gold]
        np.exp(p, out=p)
        Z = p.sum(axis=1)
        p *= (weights / Z)[:, None]
        p[gold] -= weights
        return float(weights @ (np.log(Z) - right))


def memm_chains(w: Vector, shape: Shape, data: Sequences) -> Chains:
    """The model on these sentences as chains: the score of a labelling is log p(y|x).

    A normaliser Z_t(y', x) is that of the label before, so it is taken from the score of y' at token t − 1 (that of the
    start from all scores of the first token). Then tokens with the same bigram observations share a matrix, as in a
    CRF. Where the bigram observations of all tokens differ, there is one for each, T·Y² in
    all: then go through the sentences in parts (:meth:`Sequences.part`).

    Examples
    --------
    >>> from spinney.inference.decoding import marginals, path_scores
    >>> data = Sequences(np.array([0, 2]), Observations.none(2), Observations.always(2))
    >>> w = np.log([1.0, 3.0, 1.0, 1.0, 4.0, 1.0])  # from labels 0, 1 and the start
    >>> chains = memm_chains(w, Shape(0, 1, 2), data)
    >>> np.exp(path_scores(chains, [0, 1])).round(6), np.exp(marginals(chains)[1]).round(6)  # ⅘ · ¾
    (array([0.6]), array([1.]))
    """
    from spinney.tagging._crf_kernels import add_scores

    Y, T, seen = shape.labels, data.n_tokens, data.unigrams
    if len(w) != shape.n_params or (seen.n, data.bigrams.n) != (shape.unigrams, shape.bigrams):
        raise OptionError("weights, shape and observations do not match")
    kinds = token_kinds(data.bigrams)
    edges = np.zeros((kinds.n, Y + 1, Y))
    of_kinds = kinds.sums @ w[shape.n_mu :].reshape(shape.bigrams, shape.pairs)
    edges[:, : Y + shape.start] = of_kinds.reshape(kinds.n, Y + shape.start, Y)
    scores = np.empty((T, Y))
    add_scores(seen.ptr, seen.ids, seen.flat_values, shape.mu(w), scores)
    log_z = np.empty((T, Y + 1))
    step = max(SCORES // (Y * (Y + 1)), 1)
    for a, b in pairwise([*range(0, T, step), T]):
        pairs = edges[kinds.of[a:b]] + scores[a:b, None, :]
        top = pairs.max(axis=2, keepdims=True)
        pairs -= top
        log_z[a:b] = np.log(np.exp(pairs, out=pairs).sum(axis=2)) + top[:, :, 0]
    first = data.starts
    inner = np.setdiff1d(np.arange(T), first)
    scores[inner - 1] -= log_z[inner, :Y]
    scores[first] -= log_z[first, Y:]
    return Chains(data.offsets, scores, kinds.of, edges)


def _joined(
    data: Sequences, used: NDArray[np.int64], before: NDArray[np.int64], shape: Shape
) -> Observations:
    """Observations of the used tokens that number the rows of weights: of μ, then of λ, (observation, label before)."""
    u, b = data.unigrams.take(used), data.bigrams.take(used)
    rows = shape.labels + shape.start
    has_weights = np.repeat(before < rows, np.diff(b.ptr))  # not so the first token, without a start label
    u_width, b_width = np.diff(u.ptr), np.where(before < rows, np.diff(b.ptr), 0)
    ptr = np.concatenate([[0], np.cumsum(u_width + b_width)])
    is_bigram = np.repeat(np.tile([False, True], len(used)), np.stack([u_width, b_width], axis=1).ravel())

    def merged(of_u: NDArray[Any], of_b: NDArray[Any], dtype: Any) -> NDArray[Any]:
        out = np.empty(ptr[-1], dtype)
        out[~is_bigram], out[is_bigram] = of_u, of_b[has_weights]
        return out

    pairs = u.n + b.ids.astype(np.int64) * rows + np.repeat(before, np.diff(b.ptr))
    values = None
    if u.values is not None or b.values is not None:
        u_values, b_values = (np.ones(len(s.ids)) if s.values is None else s.values for s in (u, b))
        values = merged(u_values, b_values, np.float64)
    return Observations(ptr, merged(u.ids, pairs, np.int32), u.n + b.n * rows, values)
