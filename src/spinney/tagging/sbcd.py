"""Coordinate and blockwise coordinate descent for CRFs with an elastic net (SBCD; Sokolovska 2010, ch. 6 and 7).

A block is all weights of one input symbol: those of its unigram observation with every label and of its bigram
observation with every pair of labels. One forward-backward pass over the sentences that contain the symbol gives the
gradient and (positions taken as independent) the second derivatives of them all. While few pairs of labels have
weights, the recursion costs as many operations as there are such pairs, not Y² (exact, not an approximation).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem
from spinney.tagging.loss import EDGES, CRFLoss, token_kinds
from spinney.tagging.sequences import Floats, Observations

Ints = NDArray[np.int64]
Mode = Literal["joint", "alternate", "full-hessian", "coordinate"]
Stabiliser = Literal["coordinate", "block", "none"]
Pairs = Sequence[tuple[int, int]] | NDArray[np.integer[Any]]
Blocks = Literal["symbol", "observation"] | Pairs

SHARE = 0.1  # share of the label pairs: with more weights the dense recursion is faster
FEW_LABELS = 12  # with fewer labels the dense recursion is always faster
WHOLE_HESSIAN = 1000  # maximum number of weights of a block for its full Hessian
ROUNDING = 1e-11  # a relative increase of the objective below this is rounding

# The numbers of the kernels.
_MODES: dict[str, int] = {"joint": 0, "alternate": 1, "full-hessian": 2, "coordinate": 3}
_RULES: dict[str, int] = {"none": 0, "coordinate": 1, "block": 2}


def sbcd(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    blocks: Blocks = "symbol",
    sweeps: int | None = None,
    stabiliser: Stabiliser | None = None,
    kappa1: float = 1.0,
    kappa2: float = 2.0,
    kappa: float = 1.5,
    mode: Mode = "joint",
    revisit: bool = True,
    guard: bool = True,
    sparse: bool | Literal["auto"] = "auto",
) -> Vector:
    """Minimise a CRF's loss + Σ l1_j|w_j| + ½l2‖w‖² block by block; a solver for :func:`spinney.optim.solve`.

    Parameters
    ----------
    blocks : {"symbol", "observation"} or pairs of numbers
        What is updated together. ``symbol``: a bigram observation and the unigram observation that is seen at the same
        tokens, which is what a ``*`` pattern sees, or a ``U`` and a ``B`` pattern that look at the same; all others are
        blocks of their own. ``observation``: every observation is a block of its own. Pairs: the unigram and the bigram
        observation of each block, -1 for none; observations left out are blocks of their own.
    sweeps : int, optional
        Stop after this many sweeps over all blocks, unless the monitor stops earlier.
    stabiliser : {"coordinate", "block", "none"}, optional
        How the second derivatives h are increased, since the weights of a block move together: each by its own factor
        κ2·max(κ1, ``|g/h|``) (eq. 7.4), the default; all of a block by κ·max(1, max ``|g/h|``); or not at all, which
        is the default of mode "coordinate" and may diverge in the others.
    kappa1, kappa2, kappa : float
        The constants of the stabiliser. The thesis uses κ2 = 1.2 and 2, κ = 1.5.
    mode : {"joint", "alternate", "full-hessian", "coordinate"}
        All weights of a block at once; unigram weights, then bigram weights, with a pass for each (slower, more
        robust); at once with the full Hessian of the block (few labels only); or one weight at a time (Algorithm 8;
        small problems).
    revisit : bool
        If false, a weight that is 0 after a visit is never visited again, which is faster but misses the optimum
        slightly.
    guard : bool
        If the objective increases over a sweep, go back and double κ2 and κ ("none" becomes "coordinate" first).
    sparse : bool or "auto"
        Whether recursions visit only the pairs of labels with weights; "auto": where that is faster.

    Examples
    --------
    >>> from spinney.optim import ElasticNet, solve
    >>> from spinney.tagging.sequences import Sequences
    >>> seen = Observations(np.arange(5), np.array([0, 1, 0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2, 4]), seen, seen, labels=np.array([1, 0, 1, 1], np.int32))
    >>> solution = solve(CRFLoss(data, n_labels=2, threads=1), ElasticNet(0.1, l2=0.1), sbcd)
    >>> solution.converged, solution.gap <= 1e-6
    (True, True)
    """
    loss, (l1, l2) = _checked(problem, mode, stabiliser)
    stabiliser = stabiliser or ("none" if mode == "coordinate" else "coordinate")
    state = State(loss, w, blocks=blocks, sparse=sparse, l1=l1, whole_hessian=mode == "full-hessian")
    strength = 1.0
    value, grad = loss.value_and_grad(w)
    objective = value + problem.penalty.value(w)
    done = 0
    while not monitor(w, value, grad) and done != sweeps:
        done += 1
        how = _How(
            l2=float(l2),
            mode=_MODES[mode],
            rule=_RULES[stabiliser],
            kappa1=float(kappa1),
            kappa2=strength * float(kappa if stabiliser == "block" else kappa2),
            revisit=bool(revisit),
        )
        before = state.live.copy()
        state.sweep(how)
        new = state.weights()
        new_value, new_grad = _evaluated(loss, new)
        new_objective = new_value + problem.penalty.value(new)
        if not guard and not np.isfinite(new_objective):
            raise OptionError(
                "blockwise descent diverged: set guard, a stabiliser, or a larger kappa2 or kappa"
            )
        if guard and not new_objective <= objective + ROUNDING * abs(objective):
            if stabiliser == "none":
                stabiliser = "coordinate"
            else:
                strength *= 2.0
            state.live[:] = before
            state.put(w)
            continue
        if np.array_equal(new, w):
            break
        w, value, grad, objective = new, new_value, new_grad, new_objective
        state.put(w)
    return w


def _checked(problem: Problem, mode: str, stabiliser: str | None) -> tuple[CRFLoss, tuple[Any, float]]:
    """The loss and the strengths of the penalty, checked."""
    loss, penalty = problem.loss, problem.inner
    if mode not in _MODES:
        raise unknown_choice("mode must be one of", mode, _MODES)
    if stabiliser is not None and stabiliser not in _RULES:
        raise unknown_choice("stabiliser must be one of", stabiliser, _RULES)
    if not isinstance(loss, CRFLoss):
        raise OptionError("the solver sbcd is for CRFs only: use cd for linear models")
    if not hasattr(penalty, "l1_l2"):
        raise OptionError(f"the solver sbcd needs an elastic-net penalty: use fista for {penalty.describe()}")
    n = loss.shape.labels * (1 + loss.shape.labels + loss.shape.start)
    if mode == "full-hessian" and n > WHOLE_HESSIAN:
        raise OptionError(f"a block of {n} weights is too large for mode 'full-hessian': use 'joint'")
    return loss, penalty.l1_l2(loss.n_params)


def _evaluated(loss: CRFLoss, w: Vector) -> tuple[float, Vector]:
    """The loss and its gradient, infinite where the weights are so large that potentials underflow."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            value, grad = loss.value_and_grad(w)
    except ZeroDivisionError:
        return np.inf, w
    return (value if np.isfinite(value) else np.inf), grad


class _How(NamedTuple):
    l2: float
    mode: int
    rule: int
    kappa1: float
    kappa2: float
    revisit: bool


class _Chains(NamedTuple):
    offsets: Ints
    sentence: Ints  # of each token
    kinds: NDArray[np.int32]  # of each token
    labels: NDArray[np.int32]
    weights: Floats  # of sentences


class _Blocks(NamedTuple):
    """Block j is observations unigram[j] and bigram[j]; its tokens, in order, are those ptr[j]..ptr[j+1]."""

    unigram: Ints
    bigram: Ints
    ptr: Ints
    tokens: Ints
    unigram_values: Floats  # 0 where the token has the bigram observation only
    bigram_values: Floats

    @classmethod
    def of(cls, pairs: Ints, unigrams: Observations, bigrams: Observations) -> _Blocks:
        u, b = _columns(unigrams), _columns(bigrams)
        tokens, values, pair_values = [np.empty(0, np.int64)], [np.empty(0)], [np.empty(0)]
        for o, p in pairs.tolist():
            of_u = slice(u.indptr[o], u.indptr[o + 1]) if o >= 0 else slice(0, 0)
            of_b = slice(b.indptr[p], b.indptr[p + 1]) if p >= 0 else slice(0, 0)
            both = np.union1d(u.indices[of_u], b.indices[of_b])
            for columns, of, out in ((u, of_u, values), (b, of_b, pair_values)):
                out.append(np.zeros(len(both)))
                out[-1][np.searchsorted(both, columns.indices[of])] = columns.data[of]
            tokens.append(both.astype(np.int64))
        ptr = np.cumsum([len(part) for part in tokens], dtype=np.int64)
        joined = np.concatenate(tokens), np.concatenate(values), np.concatenate(pair_values)
        return cls(pairs[:, 0].copy(), pairs[:, 1].copy(), ptr, *joined)


class _Edges(NamedTuple):
    """Potentials M[kind, y', y] of adjacent labels; row Y is the start of a sentence.

    The bigram observations of kind k are ids[ptr[k]:ptr[k+1]]; the kinds that hold observation b are
    holders[holder_ptr[b]:holder_ptr[b+1]]. A kind with active[k] >= 0 has potentials 1 + excess[k, e] at the pairs
    (before[k, e], here[k, e]), e < active[k], and 1 elsewhere.
    """

    ptr: Ints
    ids: Ints
    values: Floats
    holder_ptr: Ints
    holders: Ints
    M: Floats
    before: NDArray[np.int32]
    here: NDArray[np.int32]
    excess: Floats
    active: Ints


class _Model(NamedTuple):
    """Views of the full vectors of weights, of which weights to visit (truth values), and of ℓ1 strengths."""

    mu: Floats
    lam: Floats
    live_mu: NDArray[Any]
    live_lam: NDArray[Any]
    l1_mu: Floats
    l1_lam: Floats


class _Block(NamedTuple):
    """One block at work: its weights, μ then λ, and what is summed for them; H is empty where it is not wanted."""

    w: Floats
    g: Floats
    h: Floats
    live: NDArray[np.bool_]
    l1: Floats
    H: Floats


class _Room(NamedTuple):
    alpha: Floats  # [longest, Y + 1]: the last column holds the scale
    b: Floats
    v: Floats
    u: Floats
    q: Floats


class State:
    """The data of a loss in the shape that the kernels take, with scores and potentials at the current weights."""

    def __init__(
        self,
        loss: CRFLoss,
        w: Vector,
        *,
        blocks: Blocks = "symbol",
        sparse: bool | Literal["auto"] = "auto",
        l1: float | Vector = 0.0,
        whole_hessian: bool = False,
    ) -> None:
        data, shape = loss.data, loss.shape
        assert data.labels is not None
        if np.any(data.labels < 0):
            raise OptionError(
                "blockwise descent needs a label for every token: use lbfgs or owlqn for partial labels"
            )
        Y, T = shape.labels, data.n_tokens
        self.loss = loss
        self.places = slice(None) if loss.support is None else loss.support.places(shape)
        self.full, self.live = np.zeros(shape.n_params), np.zeros(shape.n_params, np.bool_)
        self.live[self.places] = True
        full_l1 = np.zeros(shape.n_params)
        full_l1[self.places] = l1
        live: Any = self.live  # in the shape of weights
        self.model = _Model(
            shape.mu(self.full),
            shape.lam(self.full),
            shape.mu(live),
            shape.lam(live),
            shape.mu(full_l1),
            shape.lam(full_l1),
        )
        weights = np.ones(len(data)) if data.weights is None else np.asarray(data.weights, np.float64)
        kinds = token_kinds(data.bigrams)
        sentence = np.repeat(np.arange(len(data)), data.lengths)
        self.chains = _Chains(np.asarray(data.offsets, np.int64), sentence, kinds.of, data.labels, weights)
        self.blocks = _Blocks.of(block_pairs(loss, blocks), data.unigrams, data.bigrams)
        self.edges = _edges(kinds.sums, Y, sparse)
        self.scores, self.psi = np.empty((T, Y)), np.empty((T, Y))
        n = Y + shape.pairs
        H = np.empty((n, n) if whole_hessian else (0, 0))
        self.block = _Block(np.zeros(n), np.empty(n), np.empty(n), np.zeros(n, np.bool_), np.zeros(n), H)
        longest = int(data.lengths.max(initial=1))
        self.room = _Room(np.empty((longest, Y + 1)), np.empty(Y), np.empty(Y), np.empty(Y), np.empty(len(H)))
        self.put(w)

    def sweep(self, how: _How) -> None:
        """Visit every block once."""
        from spinney.tagging._sbcd_kernels import sweep

        data = self.blocks, self.chains, self.edges, self.scores, self.psi
        sweep(*data, self.model, self.block, how, self.room)

    def second_derivatives(self) -> Vector:
        """Those of all weights of the loss, positions taken as independent."""
        from spinney.tagging._sbcd_kernels import all_second_derivatives

        h = np.zeros_like(self.full)
        parts = self.loss.shape.mu(h), self.loss.shape.lam(h)
        data = self.blocks, self.chains, self.edges, self.psi
        all_second_derivatives(*data, self.block, self.room, *parts)
        return np.array(h[self.places])

    def weights(self) -> Vector:
        """The weights of the loss, a copy."""
        return np.array(self.full[self.places])

    def put(self, w: Vector) -> None:
        """Set the weights, and recompute all scores and potentials."""
        from spinney.tagging._crf_kernels import add_scores
        from spinney.tagging._sbcd_kernels import refresh_kinds

        self.full[self.places] = w
        seen = self.loss.data.unigrams
        add_scores(seen.ptr, seen.ids, seen.flat_values, self.model.mu, self.scores)
        np.subtract(self.scores, self.scores.max(axis=1, keepdims=True), out=self.psi)
        np.exp(self.psi, out=self.psi)
        refresh_kinds(self.model.lam, self.edges)


def block_pairs(loss: CRFLoss, blocks: Blocks = "symbol") -> Ints:
    """Every block as (unigram observation, bigram observation), -1 for none; see :func:`sbcd`."""
    U, B = loss.shape.unigrams, loss.shape.bigrams
    found: Any = blocks
    if isinstance(blocks, str):
        if blocks not in ("symbol", "observation"):
            raise unknown_choice("blocks must be", blocks, ("symbol", "observation"))
        found = _seen_together(loss.data.unigrams, loss.data.bigrams) if blocks == "symbol" else []
    given = np.asarray(found, np.int64).reshape(-1, 2)
    for used, n in zip(given.T, (U, B)):
        used = used[used != -1]
        if len(used) and not 0 <= used.min() <= used.max() < n:
            raise OptionError(f"blocks must contain observation numbers below {n}, or -1")
        if len(np.unique(used)) < len(used):
            raise OptionError("an observation is in two blocks")
    alone = [np.setdiff1d(np.arange(n), used) for used, n in zip(given.T, (U, B))]
    rest = [np.full((len(alone[0]), 2), -1), np.full((len(alone[1]), 2), -1)]
    rest[0][:, 0], rest[1][:, 1] = alone
    return np.ascontiguousarray(np.concatenate([given, *rest]), np.int64)


def _seen_together(unigrams: Observations, bigrams: Observations) -> list[tuple[int, int]]:
    """The pairs of observations that are seen at the same tokens with the same values: the same symbol x of μ and λ.

    The block of a symbol is all μ(y, x) and λ(y', y, x) (Sokolovska 2010, §7.1.2). Of several unigram observations
    that are always seen together, the first is taken for the first such bigram observation, and so on.
    """
    number: dict[tuple[bytes, bytes], list[int]] = {}
    u, b = _columns(unigrams), _columns(bigrams)
    for i, key in enumerate(_contents(u)):
        number.setdefault(key, []).append(i)
    found = []
    for j, key in enumerate(_contents(b)):
        if number.get(key):
            found.append((number[key].pop(0), j))
    return sorted(found)


def _contents(columns: Any) -> Iterator[tuple[bytes, bytes]]:
    """The tokens of each observation, and its values there."""
    for a, b in pairwise(columns.indptr.tolist()):
        yield columns.indices[a:b].tobytes(), columns.data[a:b].tobytes()


def _columns(seen: Observations) -> Any:
    """For each observation, its tokens with their values; one that occurs twice at a token counts double."""
    from scipy.sparse import csr_array

    values = np.ones(len(seen.ids)) if seen.values is None else seen.values
    columns = csr_array((values, seen.ids, seen.ptr), shape=(seen.n_tokens, seen.n)).tocsc()
    columns.sum_duplicates()
    return columns


def _edges(sums: Any, Y: int, sparse: bool | Literal["auto"]) -> _Edges:
    """Memory for the potentials of all kinds of tokens."""
    n_kinds = sums.shape[0]
    if n_kinds * (Y + 1) * Y > EDGES:
        raise OptionError(
            f"{n_kinds} kinds of tokens with {Y} labels are too many for blockwise descent: use owlqn"
        )
    if sparse == "auto":
        room = int(SHARE * Y * Y) if Y >= FEW_LABELS else 0
    else:
        room = Y * Y if sparse else 0
    holders = sums.tocsc()
    holders.sum_duplicates()
    return _Edges(
        sums.indptr.astype(np.int64),
        sums.indices.astype(np.int64),
        np.asarray(sums.data, np.float64),
        holders.indptr.astype(np.int64),
        holders.indices.astype(np.int64),
        np.empty((n_kinds, Y + 1, Y)),
        np.empty((n_kinds, room), np.int32),
        np.empty((n_kinds, room), np.int32),
        np.empty((n_kinds, room)),
        np.empty(n_kinds, np.int64),
    )
