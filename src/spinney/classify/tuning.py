"""Parameters of linear models chosen on a development set: by a grid, at random, or by Optuna.

The rule is that of Yogatama 2015, ch. 5: the best score on the development set, ties going to the model with the
fewest nonzero weights.
"""

from __future__ import annotations

import copy
import itertools
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names

from spinney import progress
from spinney.classify.linear import LinearClassifier, LinearRegressor
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.optim.solve import ConvergenceWarning
from spinney.parallel import Kept, Pure, elsewhere, in_order, one_blas_thread, submit

Estimator = LinearClassifier | LinearRegressor
Params = dict[str, Any]
Numbered = tuple[int, Params]  # the position of a trial in the search, and its parameters
Try = Callable[[list[Params]], list["Trial"]]

SEARCHES = ("grid", "random", "optuna")
BATCH = 4  # trials per batch of Optuna: constant, so that the search does not depend on the threads


@dataclass(frozen=True)
class Grid:
    """Values to try for each parameter.

    Parameters
    ----------
    values : mapping of parameter names
        To a list of values, or to a tuple ``(low, high)``: a range that random search and Optuna draw from,
        uniform in the logarithm.

    Examples
    --------
    >>> grid = Grid({"penalty": ["l1", "l2"], "lam": [0.1, 1.0, 10.0]})
    >>> len(grid), next(grid.cells())
    (6, {'penalty': 'l1', 'lam': 0.1})
    >>> [cell["lam"] < 10 for cell in Grid({"lam": (0.1, 10.0)}).sample(2, seed=0)]
    [True, True]
    """

    values: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        if not self.values:
            raise OptionError("the grid is empty: give a parameter and its values")
        object.__setattr__(self, "values", {name: _checked(name, v) for name, v in self.values.items()})

    def __len__(self) -> int:
        """The number of cells."""
        for name in self.ranges:
            raise OptionError(f"{name} is a range: give a list of values, or use search 'random' or 'optuna'")
        return math.prod(map(len, self.values.values()))

    @property
    def ranges(self) -> list[str]:
        """The parameters that have a range rather than values."""
        return [name for name, values in self.values.items() if isinstance(values, tuple)]

    def cells(self) -> Iterator[Params]:
        """Every combination; the last parameter changes fastest."""
        len(self)
        return (dict(zip(self.values, cell)) for cell in itertools.product(*self.values.values()))

    def sample(self, n: int, seed: int) -> list[Params]:
        """Draw ``n`` cells; without ranges, they are all different (and all cells, if there are fewer)."""
        rng = np.random.default_rng(seed)
        if not self.ranges:
            shape = [len(values) for values in self.values.values()]
            chosen = rng.choice(len(self), min(n, len(self)), replace=False)
            places = zip(*np.unravel_index(chosen, shape))
            return [{name: self.values[name][i] for name, i in zip(self.values, at)} for at in places]
        return [{name: _drawn(values, rng) for name, values in self.values.items()} for _ in range(n)]


def _checked(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, tuple):
        if len(values) != 2 or not _numeric(values) or not 0 < values[0] < values[1] < math.inf:
            raise OptionError(f"the range of {name} must be (low, high) with 0 < low < high, not {values!r}")
        return float(values[0]), float(values[1])
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise OptionError(f"the values of {name} must be a list, or a tuple (low, high), not {values!r}")
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not listed:
        raise OptionError(f"the grid is empty: give at least one value of {name}")
    return listed


def _numeric(values: Iterable[Any]) -> bool:
    return all(isinstance(v, Real) and not isinstance(v, bool) for v in values)


def _drawn(values: Sequence[Any], rng: np.random.Generator) -> Any:
    if isinstance(values, tuple):
        low, high = values
        return float(np.clip(math.exp(rng.uniform(math.log(low), math.log(high))), low, high))
    return values[int(rng.integers(len(values)))]


_DECADES = [1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]
# The thesis writes the ridge λ‖w‖², Spinney ½λ‖w‖²: the same penalty has twice the λ here.
_RIDGE_DECADES = [2 * lam for lam in _DECADES]
_STRUCTURED: dict[str, Sequence[Any]] = {
    "penalty": ["overlap"],
    "rho": _DECADES,
    "l1": _DECADES,
    "lam": _DECADES,
}

#: The grids of Yogatama 2015, ch. 5, by the names of its regularisers, in Spinney's parameters: ``lam`` is λ_las of
#: the Lasso and the elastic net, 2λ_rid of the ridge and λ_glas of the structured ones; ``l1`` is their λ_las and
#: ``l2`` is 2λ_rid of the elastic net. The structured grids need an estimator with ``groups``.
THESIS_GRIDS: dict[str, Grid] = {
    "lasso": Grid({"penalty": ["l1"], "lam": _DECADES}),
    "ridge": Grid({"penalty": ["l2"], "lam": _RIDGE_DECADES}),
    "elastic": Grid({"penalty": ["elasticnet"], "l2": _RIDGE_DECADES, "lam": _DECADES}),
    "sentence": Grid(_STRUCTURED),
    "lda": Grid(_STRUCTURED),
    "brown": Grid(_STRUCTURED),
    "parse": Grid({**_STRUCTURED, "lam": [1e-4, 1e-3, 1e-2, 1e-1, 1e1]}),  # as printed: without 1
}


class Trial(NamedTuple):
    """One fit: its parameters, its score on the development set, and how it went."""

    params: Params
    score: float
    active: int
    seconds: float
    violation: float
    converged: bool


@dataclass(frozen=True)
class Tuned:
    """What a search found.

    Attributes
    ----------
    best : Trial
    estimator : LinearClassifier or LinearRegressor
        The model fitted in that trial.
    trials : list of Trial
        All completed trials, in the order of the grid or of the search.
    interrupted : bool
        Whether the search was interrupted (Ctrl-C).
    """

    best: Trial
    estimator: Estimator
    trials: list[Trial]
    interrupted: bool = False

    @property
    def best_params(self) -> Params:
        """The parameters of the best trial."""
        return self.best.params

    @property
    def best_score(self) -> float:
        """The score of the best trial on the development set."""
        return self.best.score


def tune(
    estimator: Estimator,
    space: str | Grid | Mapping[str, Sequence[Any]],
    X: Any,
    y: Any,
    X_dev: Any,
    y_dev: Any,
    *,
    scoring: str | Callable[..., float] | None = None,
    search: str = "grid",
    n_trials: int | None = None,
    path: str = "lam",
    warm_start: bool = True,
    early_stop: int | None = None,
    min_active: int = 1,
    threads: int = 1,
    random_state: int = 0,
) -> Tuned:
    """Fit with many parameters, and keep the fit that does best on the development set.

    Ties go to the fewest nonzero weights, then to the largest ``path`` parameter, then to the earlier trial.
    Trials that differ only in the ``path`` parameter form one chain, solved from its largest value to its smallest,
    each fit starting from the one before. Chains run in parallel; the result does not depend on ``threads``.
    Fits that stop before reaching their tolerance take part as well; one warning at the end counts them.

    Parameters
    ----------
    estimator : LinearClassifier or LinearRegressor
        The parameters that are not tuned; it is not changed.
    space : str, Grid or mapping
        A name in :data:`THESIS_GRIDS`, or values of parameters as in :class:`Grid`.
    X, y, X_dev, y_dev
        The training set and the development set.
    scoring : str or callable, optional
        A scikit-learn scorer. Default: accuracy, or R² of a regressor.
    search : {"grid", "random", "optuna"}
        Every cell; ``n_trials`` cells at random; or ``n_trials`` that Optuna's TPE sampler proposes.
    n_trials : int, optional
        For ``random`` and ``optuna``.
    path : str
        The parameter that is the strength of the penalty: ``lam``, or ``lam_ratio``.
    warm_start : bool
        Without it, every fit starts from zero, as in the thesis. This matters where the maximum number of iterations of
        ADMM ends the fits.
    early_stop : int, optional
        The number of consecutive trials without improvement after which a chain (or, with ``optuna``, the search)
        ends. Empty models do not count.
    min_active : int
        A model with fewer nonzero weights loses every tie against one with as many; 0 is the rule of the thesis,
        by which the empty model wins ties.
    threads : int
        Chains that run in parallel.
    random_state : int
        Seed of ``random`` and ``optuna``.

    Returns
    -------
    Tuned
        If interrupted (Ctrl-C) after the first trial, the best so far. With several threads, running fits are
        completed first.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> tuned = tune(LinearClassifier(), "lasso", X[:400], y[:400], X[400:], y[400:])
    >>> tuned.best_params, len(tuned.trials), tuned.estimator.n_active_
    ({'penalty': 'l1', 'lam': 100.0}, 6, 2)
    >>> [(trial.params["lam"], trial.active) for trial in tuned.trials if trial.score == tuned.best_score]
    [(1.0, 15), (10.0, 7), (100.0, 2)]
    """
    grid = _grid(space, estimator, path)
    _check_options(search, n_trials, warm_start, early_stop, min_active, threads)
    _check_data(estimator, X, y, X_dev, y_dev)
    scorer = _scorer(estimator, scoring)
    budget = n_trials or 0  # checked above; a grid has none
    cells: list[Params] = []
    if search != "optuna":
        cells = list(grid.cells()) if search == "grid" else grid.sample(budget, random_state)
    rules = _Rules(path, warm_start, None if search == "optuna" else early_stop, min_active)
    interrupted = False
    with (
        progress.task("tuning", len(cells) or budget) as bar,
        one_blas_thread(),
        warnings.catch_warnings(),  # for the whole search at once, since threads share warning filters
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        trials = _Trials(estimator, (X, y, X_dev, y_dev), scorer, rules, threads, bar)
        try:
            if search == "optuna":
                _by_optuna(trials.run, grid, budget, early_stop, random_state)
            else:
                trials.run(cells)
        except KeyboardInterrupt:
            if trials.best is None:
                raise
            interrupted = True
    return trials.outcome(interrupted)


class _Rules(NamedTuple):
    """How chains are formed and stopped, and how ties are broken."""

    path: str
    warm_start: bool
    early_stop: int | None
    min_active: int

    def rank(self, number: int, trial: Trial) -> tuple[float, ...]:
        """Larger is better, and no two trials are equal."""
        score = -math.inf if math.isnan(trial.score) else trial.score
        strength = trial.params.get(self.path, 0.0)
        return score, trial.active >= self.min_active, -trial.active, strength, -number

    def chains(self, cells: list[Numbered]) -> list[list[Numbered]]:
        """Trials that differ only in the path parameter, strongest first; other trials are chains of one."""
        if not self.warm_start:
            return [[cell] for cell in cells]
        chains: dict[tuple[int, ...], list[Numbered]] = {}
        for number, params in cells:
            # By identity, since values may be arrays; the cells of a grid share their objects.
            others = tuple(id(value) for name, value in params.items() if name != self.path)
            chains.setdefault(others if self.path in params else (number,), []).append((number, params))
        for chain in chains.values():
            chain.sort(key=lambda cell: -cell[1].get(self.path, 0.0))
        return list(chains.values())


class _Patience:
    """Ends when ``limit`` trials in a row, not counting empty models, were no better than the best before them."""

    def __init__(self, limit: int | None) -> None:
        self.limit, self.best, self.idle = limit, -math.inf, 0

    def ends_after(self, trial: Trial) -> bool:
        if trial.active > 0:
            better = trial.score > self.best
            self.best = trial.score if better else self.best
            self.idle = 0 if better else self.idle + 1
        return self.limit is not None and self.idle >= self.limit


class _Trials:
    """Runs trials, and keeps their results and the best model; several threads may report at the same time."""

    def __init__(
        self,
        estimator: Estimator,
        data: tuple[Any, Any, Any, Any],
        scorer: Callable[..., float],
        rules: _Rules,
        threads: int,
        bar: progress.Task,
    ) -> None:
        self.estimator, self.data, self.scorer, self.rules = estimator, data, scorer, rules
        self.threads, self.bar = threads, bar
        self.done: dict[int, Trial] = {}
        self.started = 0
        self.best: tuple[tuple[float, ...], Trial, Estimator] | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def run(self, cells: list[Params]) -> list[Trial]:
        """Try the cells, one chain per thread; the completed trials, in order."""
        numbered = list(enumerate(cells, self.started))
        self.started += len(cells)
        chains = self.rules.chains(numbered)
        if elsewhere():
            self._elsewhere(chains)
        elif self.threads == 1:
            for chain in chains:
                self._follow(chain)
        else:
            self._on_threads(chains)
        return [self.done[number] for number, _ in numbered if number in self.done]

    def _on_threads(self, chains: list[list[Numbered]]) -> None:
        # Not parallel.in_order: an interrupt must reach the chains before their threads are joined.
        with ThreadPoolExecutor(self.threads, thread_name_prefix="spinney") as pool:
            try:
                for chain in [submit(pool, self._follow, chain) for chain in chains]:
                    chain.get().result()
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _elsewhere(self, chains: list[list[Numbered]]) -> None:
        """On a cluster, where the data go once; of each chain, all trials come back, and the best model."""
        data = tuple(map(Kept, self.data))
        for chain, found in zip(
            chains, in_order(Pure(_best_of_chain, self.estimator, self.scorer, self.rules, *data), chains, 1)
        ):
            for number, trial, model in found:
                self._note(number, trial, model)
            self.bar.update(len(chain) - len(found))

    def _follow(self, chain: list[Numbered]) -> None:
        n = 0
        for number, trial, model in _followed(self.estimator, self.data, self.scorer, self.rules, chain):
            self._note(number, trial, model)
            n += 1
            if self._stop.is_set():
                return
        self.bar.update(len(chain) - n)

    def _note(self, number: int, trial: Trial, model: Estimator | None) -> None:
        with self._lock:
            self.done[number] = trial
            rank = self.rules.rank(number, trial)
            if model is not None and (self.best is None or rank > self.best[0]):
                self.best = rank, trial, model
            self.bar.update(1, note=f"best {self.best[1].score:.4g}" if self.best else "")

    def outcome(self, interrupted: bool) -> Tuned:
        """All trials and the best of them; one warning for all fits that did not converge."""
        assert self.best is not None
        _, best, model = self.best
        own = self.estimator.get_params(deep=False)
        if "warm_start" in own and "warm_start" not in best.params:
            model.set_params(warm_start=own["warm_start"])
        trials = [trial for _, trial in sorted(self.done.items())]
        short = [trial.violation for trial in trials if not trial.converged]
        if short:
            warnings.warn(
                f"{len(short)} of {len(trials)} fits stopped before reaching their tolerance (violation up to "
                f"{max(short):.2g}); the best is {'not ' if best.converged else ''}among them: raise max_iter, "
                "or choose another solver",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Tuned(best, model, trials, interrupted)


def _followed(
    estimator: Estimator,
    data: tuple[Any, ...],
    scorer: Callable[..., float],
    rules: _Rules,
    chain: list[Numbered],
) -> Iterator[tuple[int, Trial, Estimator]]:
    """The trials of a chain, each starting from the model before, until patience ends."""
    model, patience = estimator, _Patience(rules.early_stop)
    for number, params in chain:
        trial, model = _attempted(estimator, data, scorer, params, model)
        yield number, trial, model
        if patience.ends_after(trial):
            return


def _attempted(
    estimator: Estimator,
    data: tuple[Any, ...],
    scorer: Callable[..., float],
    params: Params,
    start: Estimator,
) -> tuple[Trial, Estimator]:
    """Fit one cell. The model is a new one, though it starts from the weights of ``start``."""
    X, y, X_dev, y_dev = data
    model = copy.copy(start).set_params(**params)
    if start is not estimator and "warm_start" in model.get_params(deep=False):
        model.set_params(warm_start=True)
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    score = float(scorer(model, X_dev, y_dev))
    return Trial(params, score, model.n_active_, seconds, model.violation_, model.converged_), model


def _best_of_chain(
    estimator: Estimator, scorer: Callable[..., float], rules: _Rules, X: Any, y: Any, X_dev: Any, y_dev: Any,
    chain: list[Numbered],
) -> list[tuple[int, Trial, Estimator | None]]:  # fmt: skip
    """All trials of a chain, with the model of the best one only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = list(_followed(estimator, (X, y, X_dev, y_dev), scorer, rules, chain))
    best = max(found, key=lambda one: rules.rank(one[0], one[1]), default=(-1,))[0]
    return [(number, trial, model if number == best else None) for number, trial, model in found]


def _by_optuna(run: Try, grid: Grid, n_trials: int, early_stop: int | None, seed: int) -> None:
    """Trials proposed by the TPE sampler, in batches."""
    try:
        import optuna  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise OptionError(
            "search 'optuna' needs the package optuna: pip install 'spinney[tune]', or use search 'random'"
        ) from None
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # The constant liar keeps the trials of one batch apart.
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        patience = _Patience(early_stop)
        for first in range(0, n_trials, BATCH):
            asked = [study.ask() for _ in range(min(BATCH, n_trials - first))]
            for proposal, trial in zip(asked, run([_proposed(proposal, grid) for proposal in asked])):
                failed = optuna.trial.TrialState.FAIL if math.isnan(trial.score) else None
                study.tell(proposal, None if failed else trial.score, state=failed)
                if patience.ends_after(trial):
                    return
    finally:
        optuna.logging.set_verbosity(before)


def _proposed(proposal: Any, grid: Grid) -> Params:
    params: Params = {}
    for name, values in grid.values.items():
        if isinstance(values, tuple):
            params[name] = proposal.suggest_float(name, *values, log=True)
        elif _numeric(values):  # positions in a sorted list: neighbours are similar
            params[name] = sorted(values)[proposal.suggest_int(name, 0, len(values) - 1)]
        else:
            params[name] = values[proposal.suggest_categorical(name, range(len(values)))]
    return params


def _grid(space: str | Grid | Mapping[str, Sequence[Any]], estimator: Estimator, path: str) -> Grid:
    if not isinstance(estimator, Estimator):
        raise OptionError(
            f"tune is for LinearClassifier and LinearRegressor, not for {type(estimator).__name__}"
        )
    if isinstance(space, str) and space not in THESIS_GRIDS:
        raise unknown_choice("space must be one of", space, THESIS_GRIDS)
    grid = (
        THESIS_GRIDS[space] if isinstance(space, str) else space if isinstance(space, Grid) else Grid(space)
    )
    known = estimator.get_params(deep=False)
    for name in [*grid.values, path]:
        if name not in known:
            raise OptionError(
                f"{type(estimator).__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}",
                given=name,
                known=known,
            )
    if not _numeric(grid.values.get(path, [])):
        raise OptionError(f"the values of {path} must be numbers, since warm starts follow it")
    return grid


def _check_options(
    search: str,
    n_trials: int | None,
    warm_start: bool,
    early_stop: int | None,
    min_active: int,
    threads: int,
) -> None:
    if search not in SEARCHES:
        raise unknown_choice("search must be", search, SEARCHES)
    if search == "grid" and n_trials is not None:
        raise OptionError("search 'grid' tries every combination: n_trials is only for 'random' and 'optuna'")
    if search != "grid" and (n_trials is None or n_trials < 1):
        raise OptionError(f"search {search!r} needs n_trials of at least 1")
    if early_stop is not None and early_stop < 1:
        raise OptionError(f"early_stop must be at least 1, not {early_stop}")
    if early_stop is not None and search != "optuna" and not warm_start:
        raise OptionError("early_stop ends chains of warm starts: set warm_start")
    if min_active < 0:
        raise OptionError(f"min_active must be at least 0, not {min_active}")
    if threads < 1:
        raise OptionError(f"threads must be at least 1, not {threads}")


def _check_data(estimator: Estimator, X: Any, y: Any, X_dev: Any, y_dev: Any) -> None:
    for name, matrix, targets in [("training", X, y), ("development", X_dev, y_dev)]:
        if len(np.shape(matrix)) != 2 or np.shape(matrix)[0] != len(targets):
            raise InputError(
                f"the {name} set has a matrix of shape {np.shape(matrix)} and {len(targets)} targets",
                remedy="give one row per target",
            )
    if np.shape(X)[1] != np.shape(X_dev)[1]:
        raise InputError(
            f"the development set has {np.shape(X_dev)[1]} features, but the training set has {np.shape(X)[1]}",
            remedy="make both with the same features",
        )
    if isinstance(estimator, LinearClassifier):
        both = set(np.asarray(y).tolist()) & set(np.asarray(y_dev).tolist())
        if len(both) < 2:
            raise InputError(
                f"the development set has only {len(both)} of the classes of the training set",
                remedy="give examples of at least two classes",
            )


def _scorer(estimator: Estimator, scoring: str | Callable[..., float] | None) -> Callable[..., float]:
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise OptionError(f"there is no scoring {scoring!r}: see sklearn.metrics.get_scorer_names()")
    scorer: Callable[..., float] = check_scoring(estimator, scoring)
    return scorer
