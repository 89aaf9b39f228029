"""Is one system better than another, or was it luck? Paired tests on the items both were tried on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError
from spinney.parallel import Kept, Pure, elsewhere, in_order

Statistic = Callable[[NDArray[Any]], float]

#: Items drawn, in all, from which on resamples go to a cluster, and those of one task: half a second of F1.
_AWAY, _TASK = 10_000_000, 10_000_000


class BootstrapResult(NamedTuple):
    """What :func:`paired_bootstrap` found.

    Attributes
    ----------
    baseline, system : float
        The statistic of either.
    difference : float
        System less baseline.
    low, high : float
        The ends of the percentile interval of the difference.
    p_value : float
        Two-sided, of no difference.
    """

    baseline: float
    system: float
    difference: float
    low: float
    high: float
    p_value: float


class McNemarResult(NamedTuple):
    """Items that only the baseline or only the system got right, and the exact two-sided p-value."""

    only_baseline: int
    only_system: int
    p_value: float


def accuracy(items: NDArray[Any]) -> float:
    """The mean of items, such as whether each was right: a statistic for :func:`paired_bootstrap`.

    Examples
    --------
    >>> accuracy(np.array([True, True, False, True]))
    0.75
    """
    return float(items.mean())


def f1_of_counts(items: NDArray[Any]) -> float:
    """F1 = 2 tp / (2 tp + fp + fn) of the sums of columns tp, fp and fn; 0 if nothing was found or due.

    Examples
    --------
    >>> f1_of_counts(np.array([[2, 0, 0], [1, 1, 1]]))
    0.75
    """
    tp, fp, fn = (float(total) for total in items.sum(axis=0))
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


def spearman_of_pairs(items: NDArray[Any]) -> float:
    """Spearman's coefficient of two columns, such as similarities and people's scores of pairs of words.

    Not a number where a column has only one value.

    Examples
    --------
    >>> spearman_of_pairs(np.array([[0.1, 1], [0.2, 5], [0.9, 4]]))
    0.5
    """
    ranks = np.column_stack([_ranks(column) for column in items.T])
    ranks -= ranks.mean(axis=0)
    spread = np.sqrt(np.prod((ranks**2).sum(axis=0)))
    return float(ranks[:, 0] @ ranks[:, 1] / spread) if spread > 0 else float("nan")


def pearson_of_pairs(items: NDArray[Any]) -> float:
    """Pearson's coefficient of two columns; not a number where a column has only one value.

    Examples
    --------
    >>> round(pearson_of_pairs(np.array([[0.1, 1], [0.2, 5], [0.9, 4]])), 3)
    0.386
    """
    centred = items - items.mean(axis=0)
    spread = np.sqrt(np.prod((centred**2).sum(axis=0)))
    return float(centred[:, 0] @ centred[:, 1] / spread) if spread > 0 else float("nan")


def welch_t(items: NDArray[Any]) -> float:
    """Welch's t of a column of scores: those whose second column is above 0, less the others.

    Not a number where either group has fewer than two, or none of the scores differ.

    Examples
    --------
    >>> round(welch_t(np.array([[0.1, 1], [0.2, 1], [0.15, 1], [0.4, 0], [0.5, 0], [0.6, 0], [0.5, 0]])), 2)
    -7.0
    """
    groups = [items[items[:, 1] > 0, 0], items[items[:, 1] <= 0, 0]]
    if min(map(len, groups)) < 2:
        return float("nan")
    one, two = groups
    spread = float(np.sqrt(one.var(ddof=1) / len(one) + two.var(ddof=1) / len(two)))
    return float(one.mean() - two.mean()) / spread if spread > 0 else float("nan")


def paired_bootstrap(
    baseline: ArrayLike,
    system: ArrayLike,
    statistic: Statistic = accuracy,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    random_state: int = 0,
) -> BootstrapResult:
    """How sure the difference between two systems is, by drawing their common items again, with repetition.

    The interval holds the middle of the differences drawn (percentile bootstrap, Efron 1979), and the p-value goes
    with it: twice the smaller share of draws on either side of zero, zero itself on both, with the observed
    difference counted as one draw on either side.
    Draws for which the statistic is not a number are left out.

    Parameters
    ----------
    baseline, system
        What the statistic is computed from, one row per item (a question, a sentence, a pair of words); the same
        items in both.
    statistic
        From rows to a number: :func:`accuracy`, :func:`f1_of_counts`, :func:`spearman_of_pairs` or any other
        function.
    resamples
        Number of resamples.
    level
        How much of them the interval holds.

    Examples
    --------
    Two taggers, by whether each of 100 sentences was right:

    >>> baseline, system = np.arange(100) < 70, np.arange(100) < 80
    >>> result = paired_bootstrap(baseline, system)
    >>> round(result.difference, 2), round(result.low, 2), round(result.high, 2), result.p_value < 0.001
    (0.1, 0.05, 0.16, True)
    """
    a, b = np.asarray(baseline), np.asarray(system)
    if a.shape != b.shape or not a.ndim or not len(a):
        raise OptionError(f"both systems need scores for the same items, not {_shape(a)} and {_shape(b)}")
    if resamples < 1:
        raise OptionError(f"resamples must be at least 1, not {resamples}")
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, not {level}")
    of_a, of_b = statistic(a), statistic(b)
    if np.isnan(of_a) or np.isnan(of_b):
        raise InputError("the statistic is not a number: are there too few items, or all equal?")
    rng = np.random.default_rng(random_state)
    if elsewhere() and len(a) * resamples >= _AWAY:
        differences = _drawn_elsewhere(rng, statistic, a, b, resamples)
    else:
        differences = _drawn(statistic, (a, b), (rng, resamples))
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        raise InputError("the statistic is not a number for any of the resamples: there are too few items")
    return _result(of_a, of_b, differences, level)


def _drawn(
    statistic: Statistic, both: tuple[NDArray[Any], NDArray[Any]], draws: tuple[np.random.Generator, int]
) -> NDArray[np.float64]:
    """The differences of the statistics of two systems in so many resamples."""
    (a, b), (rng, n) = both, draws
    found = np.empty(n)
    for i in range(n):
        drawn = rng.integers(len(a), size=len(a))
        found[i] = statistic(b[drawn]) - statistic(a[drawn])
    return found


def _drawn_elsewhere(
    rng: np.random.Generator, statistic: Statistic, a: NDArray[Any], b: NDArray[Any], n: int
) -> NDArray[np.float64]:
    """The same resamples, some to a task of a cluster.

    A task gets the generator as it is by then. Here the draws are made as well, and dropped: that takes a tenth of the
    time of a statistic such as F1, and less of others.
    """
    each = max(1, _TASK // len(a))

    def tasks() -> Iterator[tuple[np.random.Generator, int]]:
        for start in range(0, n, each):
            some = min(each, n - start)
            yield copy.deepcopy(rng), some
            for _ in range(some):
                rng.integers(len(a), size=len(a))

    return np.concatenate(list(in_order(Pure(_drawn, statistic, Kept((a, b))), tasks(), 1)))


def paired_bootstrap_f1(
    baseline: ArrayLike,
    system: ArrayLike,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    random_state: int = 0,
) -> list[BootstrapResult]:
    """As :func:`paired_bootstrap` with :func:`f1_of_counts`, for many metrics of the same items, with the same draws.

    Drawing once for all of them, and adding up by one product of matrices, makes it many times as fast.

    Parameters
    ----------
    baseline, system
        Counts [items, metrics, 3]: true and false positives and false negatives.

    Examples
    --------
    >>> tp = np.arange(50) % 3
    >>> worse, better = np.stack([tp, 2 - tp, 2 - tp], axis=1), np.stack([tp + 1, 1 - tp // 2, 1 - tp // 2], axis=1)
    >>> paired_bootstrap_f1(worse[:, None], better[:, None]) == [paired_bootstrap(worse, better, f1_of_counts)]
    True
    """
    a, b = np.asarray(baseline), np.asarray(system)
    if a.shape != b.shape or a.ndim != 3 or a.shape[2] != 3 or not len(a):
        raise OptionError(f"both systems need counts of the same items, not {_shape(a)} and {_shape(b)}")
    n, k, _ = a.shape
    counts = np.concatenate([a.reshape(n, -1), b.reshape(n, -1)], axis=1).astype(np.float64)
    rng = np.random.default_rng(random_state)
    drawn = np.empty((resamples, 2, k))
    step = max(1, 4_000_000 // n)
    for start in range(0, resamples, step):
        some = range(start, min(start + step, resamples))
        times = np.stack([np.bincount(rng.integers(n, size=n), minlength=n) for _ in some]).astype(np.float64)
        drawn[start : some.stop] = _f1((times @ counts).reshape(len(some), 2, k, 3))
    of_a, of_b = _f1(counts.sum(axis=0).reshape(2, k, 3)).tolist()
    differences = drawn[:, 1] - drawn[:, 0]
    return [_result(of_a[i], of_b[i], differences[:, i], level) for i in range(k)]


def _f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 of counts of true and false positives and false negatives, along the last axis."""
    tp = counts[..., 0]
    found: NDArray[np.float64] = 2 * tp / np.where(tp > 0, 2 * tp + counts[..., 1] + counts[..., 2], 1.0)
    return found


def _result(of_a: float, of_b: float, differences: NDArray[np.float64], level: float) -> BootstrapResult:
    """The interval of differences, and the p-value that goes with it."""
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    side = 1 + int(min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0)))
    p_value = min(1.0, 2 * side / (len(differences) + 1))
    return BootstrapResult(of_a, of_b, of_b - of_a, float(low), float(high), p_value)


def mcnemar(baseline: ArrayLike, system: ArrayLike) -> McNemarResult:
    """McNemar's exact test: among the items that only one of two systems got right, is it as often either?

    Parameters
    ----------
    baseline, system
        Whether each item was right; the same items in both.

    Examples
    --------
    >>> mcnemar([True] * 70 + [False] * 30, [True] * 79 + [False] * 21)
    McNemarResult(only_baseline=0, only_system=9, p_value=0.00390625)
    """
    from scipy.stats import binomtest

    a, b = np.asarray(baseline, dtype=bool), np.asarray(system, dtype=bool)
    if a.ndim != 1 or a.shape != b.shape:
        raise OptionError(f"both systems need scores for the same items, not {_shape(a)} and {_shape(b)}")
    only_a, only_b = int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))
    p_value = float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
    return McNemarResult(only_a, only_b, p_value)


def clearly_fewer(errors: NDArray[Any], than: int) -> NDArray[np.bool_]:
    """Which rows of errors (columns: documents, sentences) have fewer than that row, by more than a standard error.

    Examples
    --------
    >>> clearly_fewer(np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1]]), 0)
    array([False,  True, False])
    """
    gains = errors[than].astype(float) - errors
    n = errors.shape[1]
    spread = gains.std(axis=1, ddof=1) * np.sqrt(n) if n > 1 else np.full(len(errors), np.inf)
    # One error fewer has a standard error of one: which of the two is larger is not for rounding to say.
    return np.asarray(gains.sum(axis=1) > spread * (1.0 + 1e-9))


def clearly_best(errors: NDArray[Any]) -> int:
    """The row with the fewest errors, or row 0 unless that one is better by a standard error.

    Examples
    --------
    >>> clearly_best(np.array([[2, 2, 1, 3], [2, 1, 1, 3], [1, 1, 0, 2]]))
    2
    >>> clearly_best(np.array([[2, 2, 1, 3], [5, 0, 0, 2]]))
    0
    """
    totals = errors.sum(axis=1)
    return int(np.argmin(np.where(clearly_fewer(errors, 0), totals, totals[0])))


def error_reduction(baseline: float, system: float, perfect: float = 1.0) -> float:
    """The share of the baseline's errors that the system does not make; negative if it makes more.

    That is (system − baseline) / (perfect − baseline): the errors of the *baseline* are the denominator.

    Parameters
    ----------
    baseline, system
        Scores of which more is better, such as accuracy or F1.
    perfect
        The score without errors; 100 if scores are in percent.

    Examples
    --------
    >>> round(error_reduction(93.6, 95.2, perfect=100), 4)
    0.25
    """
    if not max(baseline, system) <= perfect:
        raise OptionError(f"scores of {baseline} and {system} where {perfect} is perfect")
    if baseline == perfect:
        raise OptionError("the baseline makes no errors: there is nothing to reduce")
    return (system - baseline) / (perfect - baseline)


def _ranks(column: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 1, those of equals averaged; a third of the time of SciPy's, which counts in ten thousand draws."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place], dtype=np.float64)


def _shape(array: NDArray[Any]) -> str:
    return " × ".join(map(str, array.shape)) or "a number"
