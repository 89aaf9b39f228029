"""The strengths of a penalty: defaults for groups, search spaces, and the search on held-out documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from spinney.classify.documents import Data
from spinney.classify.tuning import Trial, Tuned, tune
from spinney.errors import SettingError
from spinney.optim.vocabulary import kind_named
from spinney.settings.classify import group_alternatives
from spinney.structure import Groups

_TRIALS = 30
#: Values to try for word counts; they are rescaled for tf-idf, whose values are about a tenth of counts.
_VALUES = {
    "lam": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0],
    "l1": [0.03, 0.1, 0.3, 1.0],
    "l2": [0.1, 1.0, 10.0],
}
#: For overlapping groups: targets of λ times the total weight of the groups of a word, averaged over words.
#: For tf-idf the largest is too strong, and slow.
_BURDENS = [0.005, 0.05, 0.5, 5.0]
#: Where a search chooses among families of groups: λ as a share of the λ that empties the model.
_RATIOS = [0.3, 0.1, 0.03, 0.01]
#: Default strengths of a penalty on overlapping groups.
_ASSUMED = {"lam": 0.05, "l1": 0.3, "l2": 1.0}

_KEPT = 1000  # trials stored in a model file
_TRIAL_TOL = 1e-3  # tolerance that suffices for comparing fits
_TRIAL_STEPS = 15  # of coordinate descent with overlapping groups


def _scale(penalty: str, strength: str, weighting: str | None) -> float:
    """Weights of tf-idf are about ten times those of counts, so norms need a tenth, and squares a hundredth."""
    if weighting != "tfidf":
        return 1.0
    return 0.01 if strength == "l2" or penalty == "l2" else 0.1


def _burden(groups: Groups | None) -> float:
    """The total weight of the groups of a word, averaged over the words that are in any group."""
    if groups is None:
        return 1.0
    return float(groups.weights @ groups.sizes) / max(int((groups.overlap_counts > 0).sum()), 1) or 1.0


def default_penalty(grouped: bool) -> str:
    """The penalty where none is named: an elastic net, or overlapping groups."""
    return "overlap" if grouped else "elasticnet"


def ties(penalty: Any, named: bool, data: Data, given: Mapping[str, float | None]) -> dict[str, float]:
    """Further strengths that nobody gave, as multiples of λ.

    The ridge of an elastic net is λ times the root mean square norm of the rows (1 for tf-idf): under x → s·x, λ goes
    with s and a ridge with s². Those of overlapping groups keep their proportions, unless the penalty is ``named``
    or λ is given.
    """
    if penalty == "elasticnet":
        found = {"l2": _root_mean_square(data.X)}
    elif penalty == "sparse-group":
        found = {"l1": 1.0}
    elif penalty == "overlap" and not named and data.groups is not None:
        values = {name: value * _scale("overlap", name, data.weighting) for name, value in _ASSUMED.items()}
        # A λ that was given leaves the others where they are: many small groups would make multiples of it huge.
        usual = values.pop("lam") / _burden(data.groups)
        lam = given.get("lam") or usual
        found = {name: value / lam for name, value in values.items()}
    else:
        found = {}
    return {name: times for name, times in found.items() if given.get(name) is None}


def _root_mean_square(X: Any) -> float:
    """The root of the mean squared norm of the rows."""
    squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.square(X).sum()
    return float(np.sqrt(squares / max(X.shape[0], 1))) or 1.0


def default_space(
    penalty: str, weighting: str | None, groups: Groups | None, search: str
) -> dict[str, Sequence[float]]:
    """The search space: the values of a grid or, for the other searches, the range that they span."""
    space: dict[str, Sequence[float]] = {}
    for name in _knobs(penalty):
        if name not in _VALUES:
            continue
        values = _VALUES[name]
        if (penalty, name) == ("overlap", "lam"):
            burdens = _BURDENS[:-1] if weighting == "tfidf" else _BURDENS
            values = [burden / _burden(groups) for burden in burdens]
        scaled = [_rounded(value * _scale(penalty, name, weighting)) for value in values]
        space[name] = scaled if search == "grid" else (scaled[0], scaled[-1])
    return space


def _knobs(penalty: Any) -> tuple[str, ...]:
    kind = kind_named(penalty) if isinstance(penalty, str) else None
    return () if kind is None else kind.knobs


def _rounded(value: float) -> float:
    return float(f"{value:.1g}")


def parsed_space(spec: str) -> dict[str, Sequence[float]]:
    """The values or ranges of a text such as ``lam=0.01,0.1;l2=1..10``; groups are left out.

    Examples
    --------
    >>> parsed_space("lam=0.01,0.1;l2=1..10")
    {'lam': [0.01, 0.1], 'l2': (1.0, 10.0)}
    """
    space: dict[str, Sequence[float]] = {}
    names: set[str] = set()
    for part in spec.split(";"):
        name, equals, values = (piece.strip() for piece in part.partition("="))
        if name in names:
            raise SettingError("{space} contains {name} twice", name=name)
        names.add(name)
        if name == "groups" and equals:
            if not all(group_alternatives(spec)):
                raise SettingError(
                    "{space}: groups must be families separated by |, as in groups=sentence|lda:50"
                )
            continue
        if name not in ("lam", "lam_ratio", "l1", "l2", "rho") or not equals:
            what = "{space}: {part} must be NAME=VALUES, where NAME is lam, lam_ratio, l1, l2, rho or groups"
            raise SettingError(what, part=repr(part.strip()))
        ranged = ".." in values
        try:
            numbers = [float(value) for value in values.split(".." if ranged else ",")]
        except ValueError:
            raise SettingError(
                "{space}: {part} must be numbers separated by commas, or a range such as 0.01..10",
                part=f"{name}={values}",
            ) from None
        space[name] = tuple(numbers) if ranged else numbers
    if "lam" in space and "lam_ratio" in space:
        raise SettingError("{space}: lam and lam_ratio both determine λ: give only one of them")
    return space


@dataclass(frozen=True)
class Search:
    """How to choose strengths and groups: the search method, the number of trials, and the strengths to try."""

    method: str
    trials: int | None
    space: Mapping[str, Sequence[float]] | None

    @classmethod
    def of(cls, s: Any) -> Self | None:
        """The search that settings ask for; None where λ alone is chosen, along the path."""
        several = s.groups is not None and (s.penalty is None or len(_knobs(s.penalty)) > 1)
        asked = any(value is not None for value in (s.tune, s.trials, s.space))
        if s.dev is None or not (several or asked):
            return None
        method = s.tune or "grid"
        trials = None if method == "grid" else s.trials or _TRIALS
        return cls(method, trials, (parsed_space(s.space) or None) if s.space is not None else None)

    def space_for(
        self, penalty: str, data: Data, given: Mapping[str, float | None]
    ) -> dict[str, Sequence[Any]]:
        """The search space of a penalty, without the strengths that the user gave."""
        choices = {"groups": list(data.alternatives.values())} if data.alternatives else {}
        fixed = [name for name, value in given.items() if value is not None]
        if self.space is not None:
            for name in fixed:
                if name in self.space:
                    raise SettingError(
                        f"{{{name}}} and {{space}} both set {name}: give only one of them", name=name
                    )
            return {**choices, **self.space}
        fixed += ["lam"] if "lam_ratio" in fixed else []
        space = default_space(penalty, data.weighting, data.groups, self.method)
        if choices:  # families differ in how many groups hold a word: λ means the same only as a share
            lam = _RATIOS if self.method == "grid" else (_RATIOS[-1], _RATIOS[0])
            fixed += ["lam_ratio"] if "lam" in fixed else ["lam"]
            space = {**space, "lam_ratio": lam}
        left = {name: values for name, values in space.items() if name not in fixed}
        if not left:
            what = "the penalty {name} has no strengths left to tune: give {space}, or leave out {dev}"
            raise SettingError(what, name=penalty)
        return {**choices, **left}

    def run(
        self, estimator: Any, space: Mapping[str, Sequence[Any]], data: Data, *, threads: int, seed: int
    ) -> Tuned:
        """Run the search; the best fit on the development set, ties going to the sparsest.

        Fits are only as precise as the choice needs; the chosen one has still to be completed.
        """
        rough = {"tol": max(estimator.tol, _TRIAL_TOL), "threads": 1}
        if estimator.penalty == "overlap" and estimator.solver in ("auto", "cd"):
            rough["max_iter"] = min(estimator.max_iter, _TRIAL_STEPS)
        exact = {name: getattr(estimator, name) for name in rough}
        tuned = tune(
            estimator.set_params(**rough),
            space,
            data.X,
            data.y,
            data.dev_X,
            data.dev_y,
            search=self.method,
            n_trials=self.trials,
            path="lam_ratio" if "lam_ratio" in space else "lam",
            threads=threads,
            random_state=seed,
        )
        tuned.estimator.set_params(**exact, warm_start=True)
        return _with_names(tuned, data.alternatives)


def _with_names(tuned: Tuned, alternatives: Mapping[str, Groups]) -> Tuned:
    """The outcome with groups by their names."""
    called = {id(groups): name for name, groups in alternatives.items()}

    def named(trial: Trial) -> Trial:
        params = {name: called.get(id(value), value) for name, value in trial.params.items()}
        return trial._replace(params=params)

    return replace(tuned, best=named(tuned.best), trials=[named(trial) for trial in tuned.trials])


def tuning_facts(search: Search, tuned: Tuned, data: Data) -> dict[str, Any]:
    """The facts about the search for a model file, and the score of the completed fit."""
    return {
        "search": search.method,
        "trials": len(tuned.trials),
        "chosen": dict(tuned.best_params),
        "dev_documents": len(data.dev_y),
        "dev_score": float(tuned.estimator.score(data.dev_X, data.dev_y)),
        "tried": [
            {**trial.params, "score": trial.score, "active": trial.active} for trial in tuned.trials[:_KEPT]
        ],
    }
