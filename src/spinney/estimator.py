"""What scikit-learn asks of an estimator, without importing it: that takes longer than labelling a text does.

scikit-learn knows estimators by their methods, not by their class: ``clone``, pipelines and searches ask for
``get_params``, ``set_params`` and ``__sklearn_tags__``. The last needs scikit-learn, which is there whenever it is asked.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, Self


class Estimator:
    """An estimator whose parameters are those of ``__init__``, each kept under its name.

    Examples
    --------
    >>> class Threshold(Estimator):
    ...     def __init__(self, at=0.5, strict=False):
    ...         self.at, self.strict = at, strict
    >>> Threshold().set_params(at=0.7)
    Threshold(at=0.7)
    >>> from sklearn.base import clone
    >>> clone(Threshold(strict=True)).get_params()
    {'at': 0.5, 'strict': True}
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters with their defaults, in the order of their names."""
        own = [one for one in signature(cls).parameters.values() if one.kind is not one.VAR_KEYWORD]
        return {one.name: one.default for one in sorted(own, key=lambda one: one.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep``: with those of parameters that are estimators themselves."""
        found = {}
        for name in self._defaults():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": one for inner, one in value.get_params().items()}
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``name__inner`` is a parameter of the estimator that the parameter ``name`` is."""
        known, nested = self._defaults(), dict[str, dict[str, Any]]()
        for key, value in params.items():
            name, inside, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {list(known)!r}."
                )
            if inside:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            getattr(self, name).set_params(**values)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        defaults, values = self._defaults(), self.get_params(deep=False)
        changed = (
            f"{name}={value!r}" for name, value in values.items() if repr(value) != repr(defaults[name])
        )
        return f"{type(self).__name__}({', '.join(changed)})"
