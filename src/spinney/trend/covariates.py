"""Covariates of documents: columns of names or numbers as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from spinney.errors import InputError
from spinney.files import ModelFile, Parts
from spinney.optim.base import Vector

CONSTANT = "(all)"  # the only covariate of documents without columns


class Covariates:
    """Columns as covariates: numbers are standardised, and each name has an indicator.

    Without columns there is one covariate, always 1. A name that was not seen in training has no indicator, so its
    document is predicted by the background alone.

    Parameters
    ----------
    columns : sequence of str

    Examples
    --------
    >>> known = Covariates(["party", "growth"])
    >>> known.fit_transform({"party": ["D", "R"], "growth": ["2", "4"]}, 2).tolist(), known.names
    ([[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]], ['party=D', 'party=R', 'growth'])
    >>> known.transform({"party": ["Whig"], "growth": ["3"]}, 1).tolist()
    [[0.0, 0.0, 0.0]]
    """

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self.columns = list(columns)
        self._levels: list[list[str]] = []  # names of each column; empty for a column of numbers
        self._places: list[tuple[float, float]] = []  # mean and deviation of each column

    @property
    def names(self) -> list[str]:
        """The names of the covariates."""
        if not self.columns:
            return [CONSTANT]
        return [
            name
            for column, levels in zip(self.columns, self._levels)
            for name in ([f"{column}={level}" for level in levels] or [column])
        ]

    def fit_transform(self, values: Mapping[str, Sequence[str]], n: int) -> Vector:
        """Learn the names and the means, and return the matrix of these ``n`` documents."""
        self._levels, self._places = [], []
        for column in self.columns:
            numbers = _numbers(values[column])
            self._levels.append(sorted(set(values[column])) if numbers is None else [])
            mean, deviation = (0.0, 1.0) if numbers is None else (float(numbers.mean()), float(numbers.std()))
            self._places.append((mean, deviation or 1.0))
        return self.transform(values, n)

    def transform(self, values: Mapping[str, Sequence[str]], n: int) -> Vector:
        """The matrix of ``n`` documents."""
        if not self.columns:
            return np.ones((n, 1))
        blocks = []
        for column, levels, (mean, deviation) in zip(self.columns, self._levels, self._places):
            if levels:
                blocks.append(np.array(values[column])[:, None] == np.array(levels))
                continue
            numbers = _numbers(values[column])
            if numbers is None:
                raise InputError(f"the covariate {column} must have only numbers, as in training")
            blocks.append((numbers[:, None] - mean) / deviation)
        return np.hstack(blocks).astype(np.float64)

    def parts(self) -> Parts:
        """For a model file."""
        levels = {f"levels {i}": levels for i, levels in enumerate(self._levels)}
        places = np.array(self._places, dtype=np.float64).reshape(-1, 2)
        return Parts({}, {"places": places}, {"columns": self.columns, **levels})

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """The covariates from a model file."""
        known = cls(file.texts("columns"))
        known._levels = [file.texts(f"levels {i}") for i in range(len(known.columns))]
        places = file.tensor("places", np.float64, ndim=2)
        if places.shape != (len(known.columns), 2) or np.any(places[:, 1] <= 0):
            raise file.error("damaged: its covariates do not match")
        known._places = [(mean, deviation) for mean, deviation in places.tolist()]
        return known


def _numbers(values: Sequence[str]) -> Vector | None:
    """The values as numbers, if all are numbers."""
    try:
        numbers: Any = np.array([float(value) for value in values])
    except ValueError:
        return None
    return numbers if np.all(np.isfinite(numbers)) else None
