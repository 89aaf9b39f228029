"""sklearn-crfsuite's estimator, with Spinney's training."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Self

from sklearn.base import BaseEstimator

from spinney.errors import NotFittedError, OptionError, unknown_choice
from spinney.optim import ConvergenceWarning
from spinney.tagging.classifier import CRFClassifier, Features, attribute_names
from spinney.tagging.crfsuite.metrics import flat_accuracy_score
from spinney.tagging.crfsuite.possible import Chain, Possible
from spinney.tagging.foreign.crfsuite_files import crfsuite_bytes, read_crfsuite_model, write_crfsuite_model

_TOL = 1e-3
_UNLIMITED = 1_000_000  # iterations
#: The parameters that have a meaning here, besides those of the features, for each algorithm.
_USED: dict[str, tuple[str, ...]] = {
    "lbfgs": ("c1", "c2", "max_iterations", "epsilon", "delta"),
    "l2sgd": ("c2", "max_iterations"),
    "ap": ("max_iterations",),
    "pa": ("max_iterations", "pa_type", "c", "averaging"),
}
#: Those that only tell how CRFsuite's optimisers go to the same result.
_OF_THE_WAY = (
    "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch", "calibration_eta", "calibration_rate",
    "calibration_samples", "calibration_candidates", "calibration_max_trials",
)  # fmt: skip
_WITHOUT_MEANING = (
    "pa_type",
    "c",
    "error_sensitive",
    "averaging",
    "variance",
    "gamma",
    "c1",
    "c2",
    "trainer_cls",
)


class CRF(BaseEstimator):  # type: ignore[misc]
    """sklearn-crfsuite's ``CRF``: the same parameters, methods and attributes.

    Parameters
    ----------
    algorithm : str, optional
        ``"lbfgs"`` (the default: the optimum, by L-BFGS or, with ``c1``, OWL-QN or an active set), ``"l2sgd"``,
        ``"ap"`` or ``"pa"``. Spinney has no ``"arow"``.
    min_freq : float, optional
        Drop features that occur less often.
    all_possible_states, all_possible_transitions : bool, optional
        Whether attributes have weights for labels with which they do not occur, and labels for labels that do not
        follow them. The algorithms ``"ap"`` and ``"pa"`` always have all of them.
    c1, c2 : float, optional
        The penalty is c1‖w‖₁ + c2‖w‖² (0 and 1 by default).
    max_iterations : int, optional
        By default unlimited (``"lbfgs"``), 50 passes (``"l2sgd"``) or 100 (``"ap"``, ``"pa"``). Whether a limit came
        first is told by ``model_.facts["converged"]``, without a warning.
    epsilon, delta : float, optional
        The smaller one of them is the proven relative distance from the optimum at which to stop (0.001 by default).
    pa_type, c, averaging
        The variant (1 or 2), the aggressiveness and the average of ``"pa"``.
    verbose : bool
        Whether to print what the fit did.
    model_filename : str, optional
        A model of CRFsuite: it is read where there is no other model, and written by ``fit``.
    num_memories, period, linesearch, max_linesearch, calibration_eta, calibration_rate, calibration_samples, \
calibration_candidates, calibration_max_trials, keep_tempfiles
        How CRFsuite goes about it. They change nothing here, and a warning says so.
    error_sensitive, variance, gamma, trainer_cls
        What has no counterpart here: an error says so.

    Attributes
    ----------
    model_ : CRFClassifier
        The model, to be saved, inspected and shown as any other.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, all_possible_transitions=True)
    >>> crf = crf.fit(X, [["D", "N"], ["D", "N"]])
    >>> crf.predict([[{"word": "the"}, {"word": "cat"}]]), crf.classes_
    ([['D', 'N']], ['D', 'N'])
    >>> crf.predict_marginals_single([{"word": "the"}])[0]["D"] > 0.5
    True
    >>> max(crf.transition_features_, key=crf.transition_features_.get)
    ('D', 'N')
    """

    model_: CRFClassifier

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(
        self,
        X: Iterable[Features],
        y: Iterable[Sequence[str]],
        X_dev: Iterable[Features] | None = None,
        y_dev: Iterable[Sequence[str]] | None = None,
    ) -> Self:
        """Learn from sentences of features and their labels.

        With ``X_dev`` and ``y_dev``, the accuracy there is kept as ``dev_accuracy_``; they do not change the model.
        """
        if (X_dev is None) != (y_dev is None):
            raise OptionError("X_dev and y_dev go together: give both or neither")
        model = self._chain()
        rows: Any = X  # a model of attributes takes them
        with warnings.catch_warnings():
            if self.max_iterations is not None:  # a limit that was asked for is not a surprise
                warnings.simplefilter("ignore", ConvergenceWarning)
            self.model_ = model.fit(rows, y)
        if X_dev is not None and y_dev is not None:
            self.dev_accuracy_ = self.score(X_dev, y_dev)
        if self.model_filename is not None:
            write_crfsuite_model(model, self.model_filename)
        if self.verbose:
            self._tell()
        return self

    def predict(self, X: Iterable[Features]) -> list[list[str]]:
        """The labels of sentences."""
        rows: Any = X
        return self._fitted().predict(rows)

    def predict_single(self, xseq: Features) -> list[str]:
        """The labels of one sentence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Iterable[Features]) -> list[list[dict[str, float]]]:
        """For each token of each sentence the probability of each label."""
        rows: Any = X
        labels, found = self.classes_, self._fitted().predict_marginals(rows)
        return [[dict(zip(labels, chances)) for chances in sentence.tolist()] for sentence in found]

    def predict_marginals_single(self, xseq: Features) -> list[dict[str, float]]:
        """For each token of one sentence the probability of each label."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Iterable[Features], y: Iterable[Sequence[str]]) -> float:
        """The share of tokens with the correct label."""
        return flat_accuracy_score(y, self.predict(X))

    # -- what was learned -----------------------------------------------------------------------------

    @property
    def classes_(self) -> list[str]:
        """The labels."""
        return list(self._fitted().labels_)

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have weights."""
        return attribute_names(self._fitted())

    @property
    def num_attributes_(self) -> int:
        """The number of attributes that have weights."""
        return self._fitted().extractor_.n_unigrams

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each attribute with each label, where it is not zero."""
        return self._fitted().state_features_

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each pair of a label and the next, where it is not zero."""
        return self._fitted().transition_features_

    @property
    def size_(self) -> int:
        """The size of the model as a file of CRFsuite, in bytes."""
        return len(crfsuite_bytes(self._fitted()))

    # -- parameters -----------------------------------------------------------------------------------

    def _fitted(self) -> CRFClassifier:
        if not hasattr(self, "model_"):
            if self.model_filename is None or not os.path.exists(self.model_filename):
                raise NotFittedError("this CRF has not been fitted: call fit, or give model_filename")
            self.model_ = read_crfsuite_model(self.model_filename)
        return self.model_

    def _chain(self) -> Chain:
        """The estimator with the same meaning."""
        algorithm = "lbfgs" if self.algorithm is None else self.algorithm
        if algorithm == "arow":
            raise OptionError("there is no algorithm arow here: use pa, or the optimum of lbfgs")
        if algorithm not in _USED:
            raise unknown_choice("algorithm must be", algorithm, _USED)
        self._check(algorithm)
        chain = Chain(start_label=False, **self._settings(algorithm))
        every = algorithm in ("ap", "pa")
        chain.possible = Possible(
            every or bool(self.all_possible_states),
            every or bool(self.all_possible_transitions),
            self.min_freq or 0.0,
        )
        return chain

    def _check(self, algorithm: str) -> None:
        """Refuse parameters that have no counterpart; say which ones change nothing."""
        used = _USED[algorithm]
        for name in _WITHOUT_MEANING:
            if name not in used and getattr(self, name) is not None:
                raise OptionError(f"{name} has no counterpart for the algorithm {algorithm}: leave it out")
        silent = [name for name in _OF_THE_WAY if name not in used and getattr(self, name) is not None]
        silent += ["keep_tempfiles"] * bool(self.keep_tempfiles)
        if silent:
            warnings.warn(
                f"these parameters tell how CRFsuite goes about it, and change nothing here: {', '.join(silent)}",
                stacklevel=4,
            )
        if algorithm in ("ap", "pa"):
            for name in ("all_possible_states", "all_possible_transitions", "min_freq"):
                if getattr(self, name) not in (None, True):
                    raise OptionError(
                        f"the algorithm {algorithm} learns all possible features: leave out {name}"
                    )
        for name in ("c1", "c2", "min_freq", "epsilon", "delta"):
            _check_number(name, getattr(self, name))
        _check_number("max_iterations", self.max_iterations, least=1)

    def _settings(self, algorithm: str) -> dict[str, Any]:
        most = self.max_iterations
        if algorithm == "ap":
            return {"solver": "perceptron", "passes": most or 100}
        if algorithm == "pa":
            if self.pa_type not in (None, 1, 2):
                raise OptionError(f"pa_type must be 1 or 2, not {self.pa_type!r}")
            options = {"variant": self.pa_type, "C": self.c, "average": self.averaging}
            given = {name: value for name, value in options.items() if value is not None}
            return {"solver": "pa", "passes": most or 100, "solver_options": (given,) if given else ()}
        l1, l2 = self.c1 or 0.0, 2 * (1.0 if self.c2 is None else self.c2)  # ½·l2·‖w‖² is c2‖w‖²
        if algorithm == "l2sgd":
            return {"solver": "sgd", "passes": most or 50, **_penalty(0.0, l2)}
        tol = min((one for one in (self.epsilon, self.delta) if one is not None), default=_TOL)
        # With a limit, CRFsuite's own method, so that a number of iterations means the same.
        solver = "owlqn" if l1 and most else "auto"
        return {"solver": solver, "tol": tol, "max_iter": most or _UNLIMITED, **_penalty(l1, l2)}

    def _tell(self) -> None:
        facts = self.model_.facts_
        told: dict[str, float] = {
            key: facts[key] for key in ("iterations", "objective", "active", "seconds") if key in facts
        }
        if hasattr(self, "dev_accuracy_"):
            told["dev_accuracy"] = self.dev_accuracy_
        print(", ".join(f"{key} {value:,.6g}" for key, value in told.items()))


def _penalty(l1: float, l2: float) -> dict[str, Any]:
    if l1 and l2:
        return {"penalty": "elasticnet", "lam": float(l1), "l2": float(l2)}
    if l1:
        return {"penalty": "l1", "lam": float(l1)}
    return {"penalty": "l2", "lam": float(l2)} if l2 else {"penalty": "none"}


def _check_number(name: str, value: Any, least: float = 0) -> None:
    if value is None:
        return
    try:
        sound = math.isfinite(value) and value >= least
    except TypeError:
        sound = False
    if not sound:
        raise OptionError(f"{name} must be a number of at least {least}, not {value!r}")
