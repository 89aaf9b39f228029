"""Model files of time-series models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from spinney.errors import InputError
from spinney.files import FilePath, ModelFile, Parts, csr_tensors
from spinney.model import Contents, Model, ShownEstimator
from spinney.settings.trend import Series

FACTS = (
    "objective_",
    "violation_",
    "converged_",
    "n_iter_",
    "n_active_",
    "lam_",
    "floor_",
    "noise_variance_",
)
#: What the adaptive prior learns of each series, and its range; E[1/λ] of a series of zeros has no bound.
ADAPTED = {"kappa_": (-np.inf, np.inf), "e_alpha_": (None, None), "shrinkage_": (0.0, np.inf)}


class SeriesModel(ShownEstimator, Model, BaseEstimator):  # type: ignore[misc]
    """The shared part of the estimators of series: their settings, facts about a fit, and files."""

    takes: ClassVar[type[Series]]
    names_: list[str] | None = None

    def _settings(self) -> Any:
        """Its parameters, checked."""
        return self.takes.of(self.get_params())

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The facts about the fit, by the names that all models use."""
        found = {name: getattr(self, attribute, None) for name, attribute in _NAMED_FACTS.items()}
        return {"method": self.method, **found}

    def save(self, path: FilePath, names: Sequence[str] | None = None) -> None:
        """Write a model file, with the names of the features or words if they are given."""
        self.names_ = self.names_ if names is None else list(names)
        super().save(path)

    def contents(self) -> Contents:
        """The contents of the model's file."""
        return Contents(*self.parts(self.names_))

    def parts(self, names: Sequence[str] | None = None) -> Parts:
        """For a model file, or for a part of one."""
        raise NotImplementedError

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """The model that a file holds, or a part of it; names of features are ``names_`` (None without)."""
        raise NotImplementedError

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The model that a file holds."""
        return cls.from_parts(file)


_NAMED_FACTS = {
    "lam": "lam_",
    "objective": "objective_",
    "violation": "violation_",
    "converged": "converged_",
    "iterations": "n_iter_",
    "active": "n_active_",
}


def linear_parts(model: Any, names: Sequence[str] | None) -> Parts:
    """The parts of a file for a `TimeSeriesRegressor` or `TimeSeriesClassifier`."""
    header, tensors, strings = common_parts(model, names, model.coef_.shape[1])
    tensors |= {"intercept": np.array(model.intercept_), **csr_tensors("coef", csr_array(model.coef_))}
    if hasattr(model, "classes_"):
        header["classes"] = pack_labels(model.classes_, strings, "classes")
    return Parts(header, tensors, strings)


def linear_from_parts(cls: Any, file: ModelFile) -> Any:
    """The model from the parts of `linear_parts`."""
    model = rebuilt(cls, file)
    coef, intercept = file.csr("coef").toarray(), np.array(file.tensor("intercept", np.float64))
    if not len(coef) == len(intercept) == len(model.times_) or not len(coef):
        raise file.error("damaged: the coefficients do not match the times")
    model.coef_, model.intercept_, model.n_features_in_ = coef, intercept, coef.shape[1]
    check_names(file, model, coef.shape[1])
    for name in ADAPTED:
        if hasattr(model, name) and getattr(model, name).shape != (coef.shape[1],):
            raise file.error(f"damaged: {name[:-1]} does not match the coefficients")
    if "classes" in file.header:
        model.classes_ = unpack_labels(file, "classes", file.fact("classes", str))
        if len(model.classes_) != 2:
            raise file.error("damaged: it does not have two classes")
    elif cls.__name__ == "TimeSeriesClassifier":
        raise file.error("damaged: it has no classes")
    return model


def common_parts(
    model: Any, names: Sequence[str] | None, width: int
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Sequence[str]]]:
    """Header, tensors and strings that all time-series models have."""
    if names is not None and len(names) != width:
        raise InputError(
            f"{len(names)} names for {width} coefficients", remedy="give one name per coefficient"
        )
    strings: dict[str, Sequence[str]] = {} if names is None else {"names": list(names)}
    header = {
        "parameters": model.get_params(),
        "facts": {name: getattr(model, name) for name in FACTS if hasattr(model, name)},
        "times": pack_labels(model.times_, strings, "times"),
        "named": names is not None,
    }
    tensors = {name: np.array(getattr(model, name)) for name in ADAPTED if hasattr(model, name)}
    return header, tensors, strings


def rebuilt(cls: Any, file: ModelFile) -> Any:
    """A model with the parameters, facts, times and names of a file."""
    parameters = file.fact("parameters", dict)
    if set(parameters) != set(cls().get_params()):
        raise file.error("damaged: it does not have the parameters of such a model")
    model = cls(**parameters)
    with file.checked(TypeError):
        model._settings()
    facts = file.fact("facts", dict)
    for name in FACTS:
        if name in facts:
            value = facts[name]
            if not (value is None or isinstance(value, int | float)):
                raise file.error(f"damaged: {name[:-1]} is not a number")
            setattr(model, name, value)
    for name, (low, high) in ADAPTED.items():
        if name in file.tensors:
            ndim = file.tensors[name].ndim
            setattr(model, name, np.array(file.tensor(name, np.float64, ndim, low=low, high=high)))
    model.times_ = unpack_labels(file, "times", file.fact("times", str))
    if len(model.times_) > 1 and not np.all(model.times_[1:] > model.times_[:-1]):
        raise file.error("damaged: its times are not in order")
    model.names_ = file.texts("names") if file.fact("named", bool) else None
    return model


def check_names(file: ModelFile, model: Any, width: int) -> None:
    """Check that there is one name per coefficient."""
    if model.names_ is not None and len(model.names_) != width:
        raise file.error("damaged: the names do not match the coefficients")


def pack_labels(labels: NDArray[Any], strings: dict[str, Sequence[str]], name: str) -> str:
    """Put labels among the strings; returns their type."""
    strings[name] = [str(label) for label in labels]
    return {"i": "int64", "u": "int64", "f": "float64", "M": str(labels.dtype), "b": "bool"}.get(
        labels.dtype.kind, "str"
    )


def unpack_labels(file: ModelFile, name: str, kind: str) -> NDArray[Any]:
    """Labels from their strings."""
    texts = file.texts(name)
    if kind == "bool":
        return np.array([text == "True" for text in texts])
    if kind not in ("int64", "float64", "str") and not kind.startswith("datetime64["):
        raise file.error(f"damaged: unknown type of labels: {kind!r}")
    try:
        return np.array(texts) if kind == "str" else np.array(texts, dtype=kind)
    except (ValueError, TypeError):
        raise file.error(f"damaged: some of its {name} are not of type {kind}") from None
