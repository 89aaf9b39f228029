"""How well logistic regression can do, with and without unlabelled data, where the truth is known.

Sokolovska 2010, Theorem 4.1, Corollary 4.2, Proposition 4.3 and Appendix A: inputs from a finite set with law q and
conditional law η of the classes, a model g(k|x; θ) that need not contain η. All risks are exact sums over the inputs.
Classes are free but for the last, whose θ is 0; parameters are ordered by feature, then by class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from spinney.errors import InputError, OptionError

Vector = NDArray[np.float64]


class Asymptotics(NamedTuple):
    """The best model θ* and how estimators from n labelled examples spread around it.

    √n(θ̂ − θ*) is asymptotically normal with covariance J⁻¹IJ⁻¹ for the supervised estimator (under covariate shift:
    Shimodaira's) and J⁻¹HJ⁻¹ for the weighted one, which is efficient. ``mse`` is the trace of it, the limit of
    n·E‖θ̂ − θ*‖²; ``excess`` the limit of n·E(risk(θ̂) − risk(θ*)).
    """

    theta: Vector  # θ*, [d, K-1]
    H: Vector  # E_q V_η[∇ℓ | X], [d(K-1), d(K-1)]
    I: Vector  # E_π[∇ℓ ∇ℓᵀ]
    J: Vector  # E_π[∇²ℓ]
    mse_supervised: float  # trace J⁻¹IJ⁻¹
    mse_weighted: float  # trace J⁻¹HJ⁻¹
    excess_supervised: float  # ½ trace IJ⁻¹
    excess_weighted: float  # ½ trace HJ⁻¹
    risk: float  # E_π[-log g(Y|X; θ*)]
    error: float  # the probability that the model θ* is wrong
    bayes_error: float  # the least probability of error of any rule


def asymptotics(
    features: ArrayLike, q: ArrayLike, eta: ArrayLike, q_train: ArrayLike | None = None
) -> Asymptotics:
    """θ*, the matrices H, I, J there, and the errors that they predict.

    Parameters
    ----------
    features : array of shape (m, d)
        The inputs, one row each (with a column of ones where the model shall have an intercept).
    q : array of shape (m,)
        Their law, where the model will be used.
    eta : array of shape (m, K) or (m,)
        The law of the classes given the input; of two classes the probability of the first is enough.
    q_train : array of shape (m,), optional
        The law of the labelled inputs, where it is not q (covariate shift): H and I are then H₀₁ and I₀₁. The
        unweighted estimator tends to another point, the θ* of ``asymptotics(features, q_train, eta)``.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> found = asymptotics(X, [0.2, 0.5, 0.3], [0.1, 0.8, 0.3])  # no line fits these
    >>> bool(found.mse_weighted < found.mse_supervised), round(found.bayes_error, 2), round(found.error, 2)
    (True, 0.21, 0.33)
    """
    X, q, eta = _checked(features, q, eta)
    shift = np.ones(len(q)) if q_train is None else _ratio(q, np.asarray(q_train, dtype=np.float64))
    theta = best_fit(X, q, eta)
    g, e = np.exp(log_model(theta, X))[:, :-1], eta[:, :-1]
    bias = g - e  # E_η[∇ℓ | x] = x ⊗ (g - η)
    J = _kronecker(X, q, _multinomial_covariance(g))
    H = _kronecker(X, q * shift, _multinomial_covariance(e))
    I = H + _kronecker(X, q * shift, bias[:, :, None] * bias[:, None, :])
    J_inv = _inverse(J)
    return Asymptotics(
        theta,
        H,
        I,
        J,
        float(np.trace(J_inv @ I @ J_inv)),
        float(np.trace(J_inv @ H @ J_inv)),
        0.5 * float(np.trace(I @ J_inv)),
        0.5 * float(np.trace(H @ J_inv)),
        exact_risk(theta, X, q, eta),
        exact_error(theta, X, q, eta),
        bayes_error(q, eta),
    )


def best_fit(
    features: ArrayLike, q: ArrayLike, eta: ArrayLike, *, ridge: float = 0.0, max_iter: int = 200
) -> Vector:
    """θ* = argmin E_π[-log g(Y|X; θ)] + ½·ridge‖θ‖², [d, K-1], by Newton's method with halved steps.

    The laws need not be normalised: weighted counts in their place give the estimators themselves.

    Examples
    --------
    >>> best_fit([[1.0]], [1.0], [0.75]).round(6).tolist()  # log odds of 3
    [[1.098612]]
    """
    X, q, eta = _checked(features, q, eta)
    theta = np.zeros((X.shape[1], eta.shape[1] - 1))

    def criterion(theta: Vector) -> float:
        return exact_risk(theta, X, q, eta) + 0.5 * ridge * float(np.sum(theta**2))

    value = criterion(theta)
    for _ in range(max_iter):
        g = np.exp(log_model(theta, X))[:, :-1]
        grad = X.T @ (q[:, None] * (g - eta[:, :-1])) + ridge * theta
        J = _kronecker(X, q, _multinomial_covariance(g)) + ridge * np.eye(theta.size)
        step = -(_inverse(J) @ grad.ravel()).reshape(theta.shape)
        decrement = -float(np.sum(step * grad))
        if decrement <= 1e-20 * (1.0 + abs(value)):
            return theta + step
        t, nearer = 1.0, criterion(theta + step)
        # Near the optimum the criterion is flat to rounding: a full step is then safe and exact.
        while nearer > value - 1e-4 * t * decrement and decrement > 1e-12 * (1.0 + abs(value)):
            t *= 0.5
            nearer = criterion(theta + t * step)
        theta, value = theta + t * step, nearer
    raise InputError(
        f"no finite best model within {max_iter} Newton steps", remedy="classes are separable: give ridge > 0"
    )


def log_model(theta: ArrayLike, features: ArrayLike) -> Vector:
    """log g(k|x; θ), [m, K], where θ is [d, K-1] (or [d], of two classes) and the last class has the margin 0."""
    X = np.asarray(features, dtype=np.float64)
    M = X @ np.reshape(np.asarray(theta, dtype=np.float64), (X.shape[1], -1))
    M = np.column_stack([M, np.zeros(len(X))])
    return np.asarray(M - logsumexp(M, axis=1, keepdims=True))


def exact_risk(theta: ArrayLike, features: ArrayLike, q: ArrayLike, eta: ArrayLike) -> float:
    """E_π[-log g(Y|X; θ)].

    Examples
    --------
    >>> round(exact_risk([0.0], [[1.0]], [1.0], [0.75]), 4)
    0.6931
    """
    X, q, eta = _checked(features, q, eta)
    return -float(q @ (eta * log_model(theta, X)).sum(axis=1))


def exact_error(theta: ArrayLike, features: ArrayLike, q: ArrayLike, eta: ArrayLike) -> float:
    """The probability that the most probable class under the model is not the true one.

    Examples
    --------
    >>> exact_error([1.0], [[1.0], [-1.0]], [0.5, 0.5], [0.75, 0.5])
    0.375
    """
    X, q, eta = _checked(features, q, eta)
    chosen = log_model(theta, X).argmax(axis=1)
    return float(q @ (1.0 - eta[np.arange(len(q)), chosen]))


def bayes_error(q: ArrayLike, eta: ArrayLike) -> float:
    """The least probability of error that any rule can have.

    Examples
    --------
    >>> bayes_error([0.5, 0.5], [0.75, 0.5])
    0.375
    """
    eta = _as_table(eta)
    return float(np.asarray(q, dtype=np.float64) @ (1.0 - eta.max(axis=1)))


def _multinomial_covariance(p: Vector) -> Vector:
    """p_k 1{k=l} - p_k p_l over the free classes, [m, K-1, K-1]."""
    return np.asarray(p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :])


def _kronecker(X: Vector, q: Vector, M: Vector) -> Vector:
    """Σ_x q(x) xxᵀ ⊗ M(x), [d(K-1), d(K-1)]."""
    d, k = X.shape[1], M.shape[1]
    # Matrix products, one a pair of classes, are far faster than one einsum over four indices.
    blocks = np.empty((d, k, d, k))
    for a in range(k):
        for b in range(k):
            blocks[:, a, :, b] = X.T @ ((q * M[:, a, b])[:, None] * X)
    return blocks.reshape(d * k, d * k)


def _inverse(J: Vector) -> Vector:
    try:
        return np.asarray(np.linalg.inv(J))
    except np.linalg.LinAlgError:
        raise InputError(
            "the Hessian is singular", remedy="drop features that others determine, or inputs with q = 0"
        ) from None


def _ratio(q: Vector, q_train: Vector) -> Vector:
    if q_train.shape != q.shape or not np.all(q_train[q > 0] > 0):
        raise OptionError("q_train must have the shape of q, and be > 0 wherever q is")
    return np.divide(q, q_train, out=np.zeros_like(q), where=q > 0)


def _as_table(eta: ArrayLike) -> Vector:
    table = np.asarray(eta, dtype=np.float64)
    return np.column_stack([table, 1.0 - table]) if table.ndim == 1 else table


def _checked(features: ArrayLike, q: ArrayLike, eta: ArrayLike) -> tuple[Vector, Vector, Vector]:
    X, q, eta = np.asarray(features, dtype=np.float64), np.asarray(q, dtype=np.float64), _as_table(eta)
    if X.ndim != 2 or q.shape != (len(X),) or eta.shape[:1] != q.shape or eta.shape[1] < 2:
        raise OptionError(f"features {X.shape}, q {q.shape} and eta {eta.shape} do not go together")
    if np.any(q < 0) or np.any(eta < 0) or not np.allclose(eta.sum(axis=1), 1.0):
        raise OptionError("q must be ≥ 0, and the rows of eta laws: ≥ 0 and of sum 1")
    return X, q, eta


def shimodaira_weights(strata: ArrayLike, q_test: ArrayLike, q_train: ArrayLike) -> Vector:
    """The weight q_test(xᵢ)/q_train(xᵢ) of each labelled example (Shimodaira 2000).

    :func:`~spinney.inference.strata.stratum_weights` tends to these (over n) without knowing ``q_train``, and its
    estimator varies less.

    Parameters
    ----------
    strata : int array of shape (n,)
        The stratum of each labelled example.
    q_test, q_train : arrays of shape (m,)
        The shares of the strata where the model will be used, and where the examples come from.

    Examples
    --------
    >>> shimodaira_weights([0, 1, 1], q_test=[0.2, 0.8], q_train=[0.5, 0.5]).tolist()
    [0.4, 1.6, 1.6]
    """
    q1, q0, x = np.asarray(q_test, np.float64), np.asarray(q_train, np.float64), np.asarray(strata)
    if len(q1) != len(q0):
        raise OptionError(f"q_test has {len(q1)} strata, q_train {len(q0)}")
    if not np.all(q0[x] > 0):
        raise InputError(f"an example lies in stratum {int(x[np.argmin(q0[x])])}, where q_train is 0")
    return np.asarray(q1[x] / q0[x])
