"""The parameters of a hidden Markov model out of its observable operators: π, T and O themselves.

Operators are those of the model in another basis, ``B_x = G T diag(O_x) G⁻¹``. So ``(Σ_x B_x)⁻¹ B_x`` is
``G diag(O_x) G⁻¹``: all words share the eigenvectors G, and a random combination of words tells the states apart
(Mossel and Roch 2006; Hsu, Kakade and Zhang 2009, appendix C).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spinney.embed.operators import Floats, Operators
from spinney.errors import OptionError


class HMMParameters(NamedTuple):
    """The laws of a hidden Markov model.

    Attributes
    ----------
    start : array [m]
        π.
    transition : array [m, m]
        ``T[i, j]``: from state j to state i; columns sum to 1.
    emission : array [n, m]
        ``O[x, j]``: word x in state j; columns sum to 1.
    clipped : float, or None
        The share of the laws' mass that was negative before it was clipped; a mean over the three. None if not known.
    """

    start: Floats
    transition: Floats
    emission: Floats
    clipped: float | None = None

    @property
    def shares(self) -> Floats:
        """How often the chain is in each state, in the long run.

        Examples
        --------
        >>> HMMParameters(np.array([1.0, 0.0]), np.array([[0.9, 0.3], [0.1, 0.7]]), np.eye(2)).shares.round(6)
        array([0.75, 0.25])
        """
        law = np.full(len(self.start), 1.0 / len(self.start))
        step = (np.eye(len(law)) + self.transition) / 2  # the same law, and no periods
        for _ in range(60):  # 2⁶⁰ steps
            step = step @ step
            step /= step.sum(axis=0)
        return np.asarray(step @ law)


def recover_parameters(
    operators: Operators, basis: Floats, *, tries: int = 30, floor: float = 0.0, random_state: int = 0
) -> HMMParameters:
    """π, T and O of the operators of a :class:`~spinney.embed.SpectralHMM`, up to the order of the states.

    With exact moments they are exact. With counts they are noisy, and what is negative is set to 0: a point for EM to
    begin at rather than a model. Eigenvalues of noisy operators may be complex; of ``tries`` random combinations of
    words the one is taken whose eigenvectors are best conditioned.

    Parameters
    ----------
    operators, basis
        ``operators_`` and ``basis_`` of the model.
    floor
        The share of each law that is given to the uniform one: EM never leaves a zero.

    Examples
    --------
    >>> from spinney.embed import SpectralHMM
    >>> T, O, pi = np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([[0.7, 0.1], [0.2, 0.1], [0.1, 0.8]]), [0.6, 0.4]
    >>> pairs = O @ T @ np.diag(pi) @ O.T
    >>> triples = np.stack([O @ T @ np.diag(o) @ T @ np.diag(pi) @ O.T for o in O])
    >>> model = SpectralHMM.from_moments(O @ pi, pairs, triples, 2)
    >>> found = recover_parameters(model.operators_, model.basis_)
    >>> order = np.argsort(-found.start)
    >>> found.start[order].round(6), found.emission[:, order].round(6)
    (array([0.6, 0.4]), array([[0.7, 0.1], [0.2, 0.1], [0.1, 0.8]]))
    """
    if tries < 1 or not 0 <= floor < 1:
        raise OptionError("tries is at least 1, floor at least 0 and below 1")
    ops = operators
    step = ops.total
    G = _state_basis(ops, basis, step, tries, np.random.default_rng(random_state))
    inverse = np.linalg.pinv(G)
    start, transition, emission = inverse @ ops.b0, inverse @ step @ G, ops.readout @ G
    laws = [_as_laws(law, floor) for law in (start, transition, emission)]
    return HMMParameters(laws[0][0], laws[1][0], laws[2][0], float(np.mean([lost for _, lost in laws])))


def _state_basis(ops: Operators, basis: Floats, step: Floats, tries: int, rng: np.random.Generator) -> Floats:
    """G, whose columns are the observable states of the hidden states, each with total probability 1."""
    m = len(ops.b0)
    weights = basis if ops.coordinates is None else ops.coordinates.T @ basis
    # C_j = Σ_x U[x, j] B_x: combinations of words along the directions that tell states apart.
    core = np.tensordot(weights.T, ops.matrices, 1)
    turned = np.linalg.pinv(step) @ core
    best, least = np.eye(m), np.inf
    for _ in range(tries):
        vectors = _real(*np.linalg.eig(np.tensordot(rng.standard_normal(m), turned, 1)))
        totals = ops.b_inf @ vectors
        # A state whose total is nearly 0 cannot be scaled to 1.
        sound = np.abs(totals) > 1e-9 * np.abs(vectors).max(axis=0)
        if not sound.all():
            continue
        vectors = vectors / totals
        condition = float(np.linalg.cond(vectors))
        if condition < least:
            best, least = vectors, condition
    if not np.isfinite(least):
        raise OptionError("the operators share no basis of states: ask for fewer states")
    return best


def _real(values: np.ndarray, vectors: np.ndarray) -> Floats:
    """Eigenvectors; of a conjugate pair the real and the imaginary part, which span the same plane."""
    found = vectors.real.copy()
    second = values.imag < 0
    found[:, second] = vectors.imag[:, second]
    return np.asarray(found)


def _as_laws(law: Floats, floor: float) -> tuple[Floats, float]:
    """Columns that are not negative and sum to 1, and the mean share of them that was negative."""
    positive = np.maximum(law, 0.0)
    total = positive.sum(axis=0)
    lost = float(np.mean((np.abs(law).sum(axis=0) - total) / np.maximum(np.abs(law).sum(axis=0), 1e-300)))
    even = np.full_like(positive, 1.0 / len(law))
    shares = np.divide(positive, total, out=even, where=total > 0)
    return (1.0 - floor) * shares + floor / len(law), lost
