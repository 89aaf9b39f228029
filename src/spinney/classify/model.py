"""A linear model with the features it was trained on, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from spinney.classify.crossval import LinearClassifierCV, LinearRegressorCV
from spinney.classify.features import TextFeatures
from spinney.classify.linear import LinearClassifier, LinearRegressor
from spinney.classify.selection import family_counts, foremost, selection
from spinney.errors import InputError
from spinney.files import FilePath, ModelFile, csr_tensors, read_model, write_model
from spinney.structure import Groups

Estimator = LinearClassifier | LinearRegressor
FACTS = ("lam_", "objective_", "violation_", "n_iter_", "n_active_", "solver_", "converged_")

MOST_MEMBERSHIPS = 2_000_000  # of groups that a model file holds all of
MOST_GROUPS = 10_000  # selected ones, and as many removed ones, that it holds where there are more


class TextModel:
    """Text in, labels (or numbers) out.

    Parameters
    ----------
    estimator : LinearClassifier or LinearRegressor (or their CV forms)
    features : TextFeatures, optional
        Absent for data that are a matrix already (svmlight files).

    Examples
    --------
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> model.predict(["so much fun"]).tolist()
    ['+']
    >>> model.strongest(1)
    {'+': [('fun', ...)], '-': [('dull', ...)]}
    """

    def __init__(self, estimator: Estimator, features: TextFeatures | None = None) -> None:
        self.estimator = estimator
        self.features = features
        self.facts: dict[str, Any] = {}

    def fit(self, inputs: Any, targets: Sequence[Any]) -> Self:
        """Learn from texts (or a matrix, without ``features``) and their labels or numbers."""
        X = self.features.fit_transform(inputs) if self.features else inputs
        return self.fit_matrix(X, targets)

    def fit_matrix(self, X: Any, targets: Sequence[Any], init: TextModel | None = None) -> Self:
        """Learn from the matrix that the features gave, starting from the weights of ``init`` if given.

        Interrupted (Ctrl-C), the model keeps what was learnt so far and raises ``KeyboardInterrupt``.
        """
        if init is not None:
            self._start_from(init, X.shape[1], targets)
        try:
            self.estimator.fit(X, np.asarray(targets))
        finally:
            if hasattr(self.estimator, "objective_"):
                self.note_facts(X)
        return self

    def note_facts(self, X: Any) -> None:
        """Note in :attr:`facts` what the estimator did, if it was fitted on the matrix ``X`` elsewhere."""
        self.facts = {"documents": int(X.shape[0]), "features": int(X.shape[1]), "entries": int(X.nnz)}
        self.facts |= {"outputs": len(self.outputs), "parameters": self.coef.size}
        self.facts |= {name.rstrip("_"): getattr(self.estimator, name) for name in FACTS}
        self.facts["penalty"] = self.estimator.penalty_.describe()
        if isinstance(self.estimator.groups, Groups):
            self.facts["groups"] = _counted(self.estimator.groups, self.coef)

    def _start_from(self, init: TextModel, width: int, targets: Sequence[Any]) -> None:
        """Carry over the weights of all features and classes that the two models share, by their names."""
        outputs = sorted({str(label) for label in targets}) if self.is_classifier else ["value"]
        if init.is_classifier != self.is_classifier or sorted(init.outputs) != outputs:
            raise InputError(
                f"the model to start from has the classes {', '.join(init.outputs)}, not those of the data"
            )
        place = {name: j for j, name in enumerate(init.names)}
        columns = np.array([place.get(name, -1) for name in self.names_of(width)])
        coef = np.where(columns >= 0, init.coef[:, columns], 0.0)
        self.estimator.set_params(warm_start=True)
        self.estimator._store(coef, np.atleast_1d(init.estimator.intercept_))

    def matrix(self, inputs: Any) -> Any:
        """The matrix of texts; a matrix passes through once its width fits."""
        if self.features:
            return self.features.transform(inputs)
        width = self.coef.shape[1]
        if inputs.shape[1] != width:
            raise InputError(f"{inputs.shape[1]} features where the model has {width}")
        return inputs

    def predict(self, inputs: Any) -> Any:
        """Labels or numbers."""
        return self.estimator.predict(self.matrix(inputs))

    def predict_proba(self, inputs: Any) -> Any:
        """Class probabilities (classifiers only)."""
        if not self.is_classifier:
            raise InputError("a regression model has no class probabilities")
        return self.estimator.predict_proba(self.matrix(inputs))

    @property
    def is_classifier(self) -> bool:
        """Whether this predicts classes rather than numbers."""
        return isinstance(self.estimator, LinearClassifier)

    @property
    def coef(self) -> Any:
        """Weights, one row an output."""
        return np.atleast_2d(self.estimator.coef_)

    @property
    def names(self) -> Sequence[str]:
        """What the columns are called."""
        return self.names_of(self.coef.shape[1])

    def names_of(self, width: int) -> Sequence[str]:
        """What the columns of a matrix of this width are called: words, or numbers from 1 as in svmlight files."""
        return self.features.names if self.features else [str(j + 1) for j in range(width)]

    @property
    def outputs(self) -> list[str]:
        """What the rows of the weights speak for: classes, or the number predicted."""
        return [str(label) for label in self.estimator.classes_] if self.is_classifier else ["value"]

    def strongest(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """For each class the ``k`` features that speak most for it (a number: most for or against)."""
        rows, names = self.coef, self.names
        if self.is_classifier and len(rows) == 1:
            rows = np.vstack([-rows[0], rows[0]])
        found = {}
        for output, row in zip(self.outputs, rows):
            size = row if self.is_classifier else np.abs(row)
            order = np.argsort(-size, kind="stable")[:k]
            found[output] = [(names[j], float(row[j])) for j in order if size[j] > 0]
        return found

    def save(self, path: FilePath) -> None:
        """Write the model file.

        It holds all groups as long as they have at most 2,000,000 members together. Of more it holds 10,000 selected
        ones with the largest norms and 10,000 removed ones with the largest weights; ``facts["groups"]`` tells
        how many there were in all and, as ``stored``, how many are left.
        """
        from scipy.sparse import csr_array

        estimator = self.estimator
        plain = str | int | float | None
        parameters = {
            name: value for name, value in estimator.get_params().items() if isinstance(value, plain)
        }
        facts, groups = self.facts, estimator.groups
        if isinstance(groups, Groups) and len(groups.members) > MOST_MEMBERSHIPS:
            counts = facts.get("groups") or _counted(groups, self.coef)
            groups = _foremost(groups, self.coef)
            facts = {**facts, "groups": {**counts, "stored": len(groups)}}
        header = {"parameters": parameters, "facts": facts, "text": self.features is not None}
        tensors = {
            "intercept": np.atleast_1d(estimator.intercept_),
            **csr_tensors("coef", csr_array(self.coef)),
        }
        strings = {}
        if self.is_classifier:
            kind = {"i": "int", "u": "int", "f": "float", "b": "bool"}.get(
                estimator.classes_.dtype.kind, "str"
            )
            header["class_type"] = kind
            strings["classes"] = [str(label) for label in estimator.classes_]
        parts = {"features": self.features.parts()} if self.features else {}
        if isinstance(groups, Groups):
            parts["groups"] = groups.parts()
        name = "LinearClassifier" if self.is_classifier else "LinearRegressor"
        write_model(path, f"classify/{name}", header, tensors, strings, parts)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what :meth:`save` wrote."""
        file = read_model(path, "classify")
        features = TextFeatures.from_parts(file.part("features")) if file.fact("text", bool) else None
        model = cls(_rebuilt_estimator(file), features)
        width = model.coef.shape[1]
        if features and len(features.names) != width:
            raise file.error("damaged: as many weights as features are needed")
        model.facts = _checked_facts(file)
        if "groups" in file.part_headers:
            groups = Groups.from_parts(file.part("groups"))
            if groups.n_features != width:
                raise file.error(f"damaged: groups over {groups.n_features} features, but {width} weights")
            model.estimator.set_params(groups=groups)
        return model


def _counted(groups: Groups, coef: Any) -> dict[str, Any]:
    """How many groups there are, of how many members, and how many of each family are selected and removed."""
    kept = selection(coef, groups).kept
    selected = int(kept.sum())
    families = {family: list(pair) for family, pair in family_counts(groups.names or (), kept).items()}
    return {
        "total": len(groups),
        "memberships": len(groups.members),
        "n_selected": selected,
        "n_removed": len(groups) - selected,
        "families": families,
    }


def _foremost(groups: Groups, coef: Any) -> Groups:
    """The groups that a file holds where there are too many."""
    first, last = foremost(groups, selection(coef, groups), MOST_GROUPS)
    kept = np.zeros(len(groups), dtype=bool)
    kept[first + last] = True
    return groups.subset(kept)


def _checked_facts(file: ModelFile) -> dict[str, Any]:
    """Facts, of which those that others count on are what they should be."""
    facts = file.fact("facts", dict)
    counts = facts.get("groups", {})
    if not isinstance(counts, dict) or (counts and not _are_counts(counts)):
        raise file.error("damaged: the counts of groups are no counts")
    return facts


def _are_counts(counts: dict[str, Any]) -> bool:
    names = ("total", "memberships", "n_selected", "n_removed")
    numbers = [counts.get("stored", 0), *(counts.get(name) for name in names)]
    families = counts.get("families")
    if not isinstance(families, dict):
        return False
    for pair in families.values():
        numbers += pair if isinstance(pair, list) and len(pair) == 2 else [None]
    return all(isinstance(number, int) for number in numbers)


def _rebuilt_estimator(file: ModelFile) -> Estimator:
    coef = file.csr("coef").toarray()
    intercept = np.array(file.tensor("intercept", np.float64))
    if len(coef) != len(intercept) or not len(coef):
        raise file.error("damaged: as many intercepts as rows of weights are needed")
    parameters = file.fact("parameters", dict)
    classifier = file.kind == "classify/LinearClassifier"
    estimator_class: Any = LinearClassifier if classifier else LinearRegressor
    if "cv" in parameters:
        estimator_class = LinearClassifierCV if classifier else LinearRegressorCV
    known = set(estimator_class._get_param_names())
    estimator = estimator_class(**{name: value for name, value in parameters.items() if name in known})
    if classifier:
        estimator.classes_ = _labels(file)
        if len(estimator.classes_) != (2 if len(coef) == 1 else len(coef)):
            raise file.error("damaged: as many classes as rows of weights are needed")
    estimator._store(coef, intercept)
    estimator.n_features_in_ = coef.shape[1]
    for name in FACTS:
        setattr(estimator, name, file.fact("facts", dict).get(name.rstrip("_")))
    return estimator  # type: ignore[no-any-return]


def _labels(file: ModelFile) -> Any:
    texts = file.texts("classes")
    kind = file.fact("class_type", str)
    if kind == "bool":
        return np.array([text == "True" for text in texts])
    if kind not in ("int", "float", "str"):
        raise file.error(f"damaged: no such class type: {kind!r}")
    try:
        return (
            np.array(texts)
            if kind == "str"
            else np.array(texts, dtype=float if kind == "float" else np.int64)
        )
    except ValueError:
        raise file.error("damaged: the class labels are not numbers") from None
