"""Iteratively reweighted least squares (the η-trick) for the Lasso and the trace Lasso.

A norm is the smallest of the quadratics that touch it. Each iteration takes the one that touches it at the current
weights (smoothed by μ, so that it exists where weights are 0), solves the ridge regression that is left, and lets
μ fall (Grave 2014, §6.5.2 and §7.3.1). The plain iteration is slow where a weight is small or on its way to 0; mixing
the last few iterates after Anderson takes about five times fewer. The thesis has a squared loss; any other loss of one
margin an example, such as the logistic, is replaced by its quadratic model, again and again: a proximal Newton method
whose inner problems are weighted least squares.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector
from spinney.optim.losses import LinearLoss, SquaredLoss
from spinney.optim.penalties import TraceLasso
from spinney.optim.problem import Monitor, Problem

Mask = NDArray[np.bool_]

# μ is in units of the square of the largest weight.
COLD, WARM = 1.0, 1e-4  # where it starts
SMALLEST_MU = 10 * np.finfo(np.float64).eps  # where it ends (Grave 2014, §7.3.1)
TINIEST_MU = 1e-24  # where it goes once the weights that are clearly 0 have been removed
NEARLY_ZERO = 10.0  # in units of √μ: what ends at 0 comes out as √μ·t/√(1 − t²), t < 1 its share of the bound
FALLEN, SMALL = 0.1, 1e-6  # what then falls to this share of itself or of the unit, and still falls, is 0 too
MOST_TIDYING, MOST_ATTEMPTS = 300, 4  # iterations near μ = 0, and how often to try
MOST_SETTLING, TIDYING = 300, 50  # iterations with a quadratic model of another loss, and near μ = 0
TINY = 1e-5  # of the largest weight: what may be 0 for all that the tolerance shows
ROUGHLY = 0.1  # how accurately the residual is needed, as a share of the tolerance
INEXACT, SLOW = (
    0.1,
    0.5,
)  # models are solved to this share of the violation; a step that leaves more of it is slow
FLATTEST, SHORTEST = 1e-6, 1e-10  # least curvature of a model, as a share of the largest; shortest step
FIRST_CHECK = 10
LARGEST_FALL = 0.1  # a mixed iterate keeps this share of each weight: from 0, none comes back soon


def irls(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    decay: float = 0.1,
    memory: int = 10,
    check_every: int | None = None,
) -> Vector:
    """Minimise a loss of one margin an example with an ℓ1, elastic-net or trace-Lasso penalty.

    Starts from ``w`` with a small μ if ``w`` is not 0, else from ridge regression with a large one: at a tiny μ, w = 0
    is almost a fixed point. When the smoothed problem is solved, what is nearly 0 is removed, for only exact zeros can
    have a certificate. Iterations are ridge regressions, those that tell small weights from zeros included.

    Parameters
    ----------
    decay : float
        What μ is multiplied by after each iteration.
    memory : int
        How many earlier iterates are mixed in; 0 for the plain iteration of the thesis.
    check_every : int, optional
        For a squared loss: how often to take the certificate, which costs more than an iteration. By default at the
        start, after 10, 20, 40, 80, … iterations, and whenever the smoothed problem is solved. With other losses it is
        taken after each Newton step.
    """
    how, loss = How(decay, memory), problem.loss
    assert isinstance(loss, LinearLoss)
    if isinstance(loss, SquaredLoss):
        w = _least_squares(problem, loss, w, monitor, how, check_every)
    else:
        w = _newton(problem, loss, w, monitor, how)
    return _pruned(problem, w, monitor) if monitor.converged else w


class How(NamedTuple):
    """How to iterate: by how much μ falls, and how many iterates are mixed."""

    decay: float
    memory: int


def _least_squares(
    problem: Problem, loss: SquaredLoss, w: Vector, monitor: Monitor, how: How, check_every: int | None
) -> Vector:
    norm, fit = _norm_of(problem), LeastSquares.centred(loss)
    start, mu, unit = _start(fit, w[: problem.n_penalised])
    iterates = _iterate(fit, norm, start, mu, SMALLEST_MU * unit, how)
    settled, attempts, tidying = monitor.absolute_tol, 0, 0
    for i, (image, slope, smoothest) in enumerate(iterates):
        at_rest = smoothest and float(np.max(np.abs(slope), initial=0.0)) <= settled
        if at_rest or is_due(i, check_every) or i + tidying >= monitor.max_iter:
            tidy = image
            if at_rest:
                kept = _kept(norm, image, unit, attempts)
                most = min(MOST_TIDYING, monitor.max_iter - i - tidying)
                tidy, more = _tidied(fit, norm, image, kept, TINIEST_MU * unit, settled, how.memory, most)
                settled, attempts, tidying = 0.1 * settled, attempts + 1, tidying + more
            w = fit.with_intercept(tidy) if loss.intercept else tidy
            done = report(problem, monitor, w, *loss.value_and_grad(w), i + tidying)
            if done or attempts == MOST_ATTEMPTS or i + tidying >= monitor.max_iter:
                break
    return w


def _newton(problem: Problem, loss: LinearLoss, w: Vector, monitor: Monitor, how: How) -> Vector:
    """Proximal Newton steps: the quadratic model of the loss, with the norm, by IRLS; then a line search.

    The models are solved to a tenth of the violation. Where a step no longer lowers it, the tenth of that, and at
    last, after some attempts, the answer is what was found: it has not converged, and says so.
    """
    norm, k, penalty = _norm_of(problem), problem.n_penalised, problem.penalty
    value, grad = loss.value_and_grad(w)
    spent, attempts, exactness, best = 0, 0, INEXACT, np.inf
    while not report(problem, monitor, w, value, grad, spent) and attempts < MOST_ATTEMPTS:
        if monitor.violation > SLOW * best:
            attempts, exactness = attempts + 1, INEXACT * exactness
        best = min(best, monitor.violation)
        fit = LeastSquares.centred(quadratic_model(loss, w))
        settled = exactness * max(min(monitor.violation, monitor.scale), monitor.absolute_tol)
        image, more = _settled(fit, norm, w[:k], settled, how, monitor.max_iter - spent, attempts)
        spent += more
        target = fit.with_intercept(image) if loss.intercept else image
        w, value, grad = _line_search(loss, penalty, w, target, value, grad)
    return w


def _pruned(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """The solution without its tiniest weights, if that is as good a solution: then they were zeros."""
    size = np.abs(w[: problem.n_penalised])
    tiny = (size > 0) & (size <= TINY * np.max(size, initial=0.0))
    if not tiny.any():
        return w
    iteration, pruned = monitor.trace[-1].iteration, w.copy()
    pruned[: len(tiny)][tiny] = 0.0
    report(problem, monitor, pruned, *problem.loss.value_and_grad(pruned), iteration)
    if monitor.converged:
        return pruned
    report(problem, monitor, w, *problem.loss.value_and_grad(w), iteration)
    return w


def report(problem: Problem, monitor: Monitor, w: Vector, value: float, grad: Vector, iteration: int) -> bool:
    """Tell the monitor; the residual of the trace Lasso, dearer than many iterations, no better than needed."""
    k, inner = problem.n_penalised, problem.inner
    if not isinstance(inner, TraceLasso) or not monitor.wants_residuals:
        return monitor(w, value, grad, iteration=iteration)
    held = inner.residual(w[:k], grad[:k], ROUGHLY * monitor.absolute_tol)
    return monitor(w, value, grad, np.append(held, grad[k:]), iteration)


def quadratic_model(loss: LinearLoss, w: Vector) -> SquaredLoss:
    """The squared loss with the value (but for a constant), the slope and the curvature of ``loss`` at ``w``.

    Examples
    --------
    >>> from spinney.optim import LogisticLoss
    >>> loss, w = LogisticLoss([[1.0], [2.0]], [1, -1], intercept=False), np.array([0.3])
    >>> bool(np.allclose(quadratic_model(loss, w).value_and_grad(w)[1], loss.value_and_grad(w)[1]))
    True
    """
    m = loss.margins(w)
    _, slope = loss.pointwise(m, loss.y, loss.sample_weight)
    # Where an example is almost sure the loss is flat, and its model would lead far away: it is bent a little.
    curvature = np.maximum(loss.curvature(m), FLATTEST * loss.max_curvature * loss.sample_weight)
    away = np.divide(slope, curvature, out=np.zeros_like(m), where=curvature > 0)
    return SquaredLoss(loss.X, m - away, curvature, loss.intercept)


def _line_search(
    loss: LinearLoss, penalty: Penalty, w: Vector, target: Vector, value: float, grad: Vector
) -> tuple[Vector, float, Vector]:
    """The first of w + t(target − w), t = 1, ½, ¼ …, that lowers the objective enough; with its loss and gradient."""
    objective, step = value + penalty.value(w), 1.0
    promised = float(grad @ (target - w)) + penalty.value(target) - penalty.value(w)
    while True:
        new = target if step == 1.0 else w + step * (target - w)
        value, grad = loss.value_and_grad(new)
        reached = value + penalty.value(new) <= objective + 1e-4 * step * promised + 1e-12 * abs(objective)
        if reached or step < SHORTEST:
            return new, value, grad
        step /= 2


def _start(fit: LeastSquares, given: Vector) -> tuple[Vector, float, float]:
    """Where to start, with which μ, and the unit of μ."""
    ridge = fit.ridge(np.full(len(given), max(fit.mean_curvature, 1e-12)))
    unit = float(np.max(ridge**2, initial=0.0)) or 1.0
    return (given, WARM * unit, unit) if np.any(given) else (ridge, COLD * unit, unit)


def _kept(norm: Reweighted, image: Vector, unit: float, attempts: int) -> Mask:
    """What may not be 0; at every other attempt all, for the first look may have been wrong."""
    return np.ones(len(image), dtype=bool) if attempts % 2 else norm.support(image, SMALLEST_MU * unit)


def _settled(
    fit: LeastSquares, norm: Reweighted, given: Vector, settled: float, how: How, most: int, attempts: int
) -> tuple[Vector, int]:
    """The solution of a least-squares problem, with exact zeros, and the number of iterations that it took."""
    start, mu, unit = _start(fit, given)
    spent = 0
    for image, slope, smoothest in _iterate(fit, norm, start, mu, SMALLEST_MU * unit, how):
        w, spent = image, spent + 1
        at_rest = smoothest and float(np.max(np.abs(slope), initial=0.0)) <= settled
        if at_rest or spent >= min(most, MOST_SETTLING):
            break
    left = min((1 + attempts) * TIDYING, most - spent)
    kept = _kept(norm, w, unit, attempts)
    tidy, more = _tidied(fit, norm, w, kept, TINIEST_MU * unit, settled, how.memory, left)
    return tidy, spent + more


def is_due(iteration: int, check_every: int | None) -> bool:
    """Whether the certificate is to be taken after this iteration: after 0, 10, 20, 40, … if nothing else is asked."""
    if check_every is not None:
        return iteration % check_every == 0
    return iteration == 0 or (iteration % FIRST_CHECK == 0 and (iteration // FIRST_CHECK).bit_count() == 1)


class Iterate(NamedTuple):
    image: Vector  # where the plain iteration leads
    slope: Vector  # gradient of the smoothed problem where it comes from
    smoothest: bool  # whether μ has reached its end


def _iterate(
    fit: LeastSquares,
    norm: Reweighted,
    here: Vector,
    mu: float,
    smallest_mu: float,
    how: How,
) -> Iterator[Iterate]:
    """The mixed iteration, without end."""
    decay, memory = how
    mixer = Mixer(memory)
    recent: deque[float] = deque(maxlen=max(memory, 1))
    image = here
    while True:
        D, size = norm.weights(here, mu)
        objective = fit.value(here) + size
        if here is not image and objective > max(recent):  # uphill, where the plain iteration never leads
            mixer = Mixer(memory)
            here = image
            D, size = norm.weights(here, mu)
            objective = fit.value(here) + size
        recent.append(objective)
        image = fit.ridge(D)
        yield Iterate(image, fit.gradient(here) + D * here, mu == smallest_mu)
        here = mixer.mix(here, image)
        mu = max(decay * mu, smallest_mu)


def _tidied(
    fit: LeastSquares, norm: Reweighted, w: Vector, kept: Mask, mu: float, tol: float, memory: int, most: int
) -> tuple[Vector, int]:
    """The kept weights iterated on, so near to μ = 0 that what is small and what is 0 part company."""
    tidy = np.zeros(len(w))
    if not kept.any() or most < 1:
        tidy[kept] = w[kept]
        return tidy, 0
    fit, norm = fit.on(kept), norm.on(kept)
    iterates = islice(_iterate(fit, norm, w[kept], mu, mu, How(1.0, memory)), most)
    spent = 0
    for image, slope, _ in iterates:
        spent += 1
        restless = np.abs(slope) > 0.1 * tol
        gone = np.abs(image) <= NEARLY_ZERO * np.sqrt(mu)
        if not np.any(restless & ~gone):
            break
    gone |= restless & (
        np.abs(image) <= np.maximum(FALLEN * np.abs(w[kept]), SMALL * np.sqrt(mu / TINIEST_MU))
    )
    tidy[kept] = np.where(gone, 0.0, image)
    return tidy, spent


class LeastSquares:
    """½‖y − Xw‖², with sample weights and the intercept worked into X and y."""

    def __init__(self, X: Vector, y: Vector, x_mean: Vector, y_mean: float) -> None:
        self.X, self.y, self.x_mean, self.y_mean = X, y, x_mean, y_mean
        n, p = X.shape
        self.gram = X.T @ X if p <= n else None
        self.mean_curvature = float(np.mean(np.einsum("ij,ij->j", X, X)))

    @classmethod
    def centred(cls, loss: SquaredLoss) -> LeastSquares:
        """That of a loss."""
        return cls(*loss.centred())

    def on(self, kept: Mask) -> LeastSquares:
        """The problem over some of the weights."""
        return LeastSquares(self.X[:, kept], self.y, self.x_mean[kept], self.y_mean)

    def with_intercept(self, w: Vector) -> Vector:
        """The weights and the intercept that is best for them."""
        return np.append(w, self.y_mean - self.x_mean @ w)

    def value(self, w: Vector) -> float:
        r = self.X @ w - self.y
        return 0.5 * float(r @ r)

    def gradient(self, w: Vector) -> Vector:
        return np.asarray(self.X.T @ (self.X @ w - self.y))

    def ridge(self, D: Vector) -> Vector:
        """argmin ½‖y − Xw‖² + ½ Σ D_j w_j², through the smaller of the two Gram matrices."""
        if self.gram is not None or not np.all(D > 0):
            gram = self.X.T @ self.X if self.gram is None else self.gram
            return np.asarray(scipy.linalg.solve(gram + np.diag(D), self.X.T @ self.y, assume_a="pos"))
        XD = self.X / D  # Woodbury: w = D⁻¹Xᵀ(XD⁻¹Xᵀ + I)⁻¹y
        return np.asarray(
            XD.T @ scipy.linalg.solve(XD @ self.X.T + np.eye(len(self.y)), self.y, assume_a="pos")
        )


class Reweighted(Protocol):
    """A norm, seen as the smallest of the quadratics ½ Σ D_j w_j² + constant that touch it."""

    def weights(self, w: Vector, mu: float) -> tuple[Vector, float]:
        """The D that touches at ``w``, and the smoothed norm there."""
        ...

    def support(self, w: Vector, mu: float) -> Mask:
        """Which weights of a solution of the problem smoothed by ``mu`` may not be 0 without smoothing."""
        ...

    def on(self, kept: Mask) -> Reweighted:
        """The norm of some of the weights when the others are 0."""
        ...


class Lasso:
    """Σ l1_j|w_j| + ½ l2‖w‖²."""

    def __init__(self, l1: Vector, l2: float) -> None:
        self.l1, self.l2 = l1, l2

    def weights(self, w: Vector, mu: float) -> tuple[Vector, float]:
        root = np.sqrt(w**2 + mu)
        return self.l1 / root + self.l2, float(self.l1 @ root) + 0.5 * self.l2 * float(w @ w)

    def support(self, w: Vector, mu: float) -> Mask:
        return np.asarray((np.abs(w) > NEARLY_ZERO * np.sqrt(mu)) | (self.l1 == 0))

    def on(self, kept: Mask) -> Lasso:
        return Lasso(self.l1[kept], self.l2)


class Trace:
    """λ‖P Diag(w)‖_*: D = λ·diag(PᵀS⁻¹P) with S = (P Diag(w)²Pᵀ + μI)^½."""

    def __init__(self, lam: float, P: Vector) -> None:
        self.lam, self.P = lam, smallest_root(P)

    def weights(self, w: Vector, mu: float) -> tuple[Vector, float]:
        U, s = left_singular(self.P * w, mu)
        roots = np.sqrt(s**2 + mu)
        return self.lam * ((self.P.T @ U) ** 2 @ (1.0 / roots)), self.lam * float(roots.sum())

    def support(self, w: Vector, mu: float) -> Mask:
        """All where P Diag(w) has full rank: the norm is smooth there, and nothing draws weights to 0."""
        M, least = self.P * w, NEARLY_ZERO * np.sqrt(mu)
        smooth = np.linalg.svd(M, compute_uv=False)[-1] > least
        return np.asarray((np.linalg.norm(M, axis=0) > least) | smooth)

    def on(self, kept: Mask) -> Trace:
        return Trace(self.lam, self.P[:, kept])


def left_singular(M: Vector, mu: float) -> tuple[Vector, Vector]:
    """All left singular vectors and singular values of a wide M, good enough for (MMᵀ + μI)^½."""
    if mu > 1e-8 * float(np.sum(M**2)):
        squares, U = np.linalg.eigh(M @ M.T)
        return U, np.sqrt(np.maximum(squares, 0.0))
    # The squares would lose half of the digits, and with them every small weight.
    U, s, _ = np.linalg.svd(np.asarray(np.linalg.qr(M.T, mode="r")).T)
    return U, s


def smallest_root(P: Vector) -> Vector:
    """P, or a matrix with fewer rows and the same Gram matrix, which is all that matters (Grave 2014, Prop. 3)."""
    return np.asarray(np.linalg.qr(P, mode="r")) if P.shape[0] > P.shape[1] else P


class Mixer:
    """Anderson mixing: the combination of the last images whose steps cancel best."""

    def __init__(self, memory: int) -> None:
        self.images: deque[Vector] = deque(maxlen=memory + 1)
        self.steps: deque[Vector] = deque(maxlen=memory + 1)

    def mix(self, point: Vector, image: Vector) -> Vector:
        """Where to go on from, given that the iteration leads from ``point`` to ``image``."""
        self.images.append(image)
        self.steps.append(image - point)
        if len(self.steps) < 2:
            return image
        turns, moves = np.diff(np.array(self.steps), axis=0).T, np.diff(np.array(self.images), axis=0).T
        mixed = image - moves @ np.linalg.lstsq(turns, self.steps[-1], rcond=1e-10)[0]
        least = LARGEST_FALL * np.abs(image)
        return np.where(np.abs(mixed) < least, np.copysign(least, image), mixed)


def _norm_of(problem: Problem) -> Reweighted:
    k = problem.n_penalised
    if isinstance(problem.inner, TraceLasso):
        return Trace(problem.inner.lam, checked_factor(problem.inner, k))
    inner: Any = problem.inner
    l1, l2 = inner.l1_l2(k)
    return Lasso(np.broadcast_to(l1, k), float(l2))


def checked_factor(penalty: TraceLasso, n: int) -> Vector:
    """P, if it has a column for each of the ``n`` penalised weights."""
    if penalty.P.shape[1] != n:
        raise OptionError(f"P has {penalty.P.shape[1]} columns where the problem has {n} penalised weights")
    return penalty.P
