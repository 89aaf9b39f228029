"""What scikit-learn asks of an estimator, without importing it: that takes longer than labelling a text does.

scikit-learn knows estimators by their methods, not by their class: ``clone``, pipelines and searches ask for
``get_params``, ``set_params`` and ``__sklearn_tags__``. What needs scikit-learn itself is taken from it when it is
asked for.
"""

from __future__ import annotations

from functools import cache
from inspect import getattr_static, signature
from typing import TYPE_CHECKING, Any, Self


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

    if TYPE_CHECKING:  # the parameters are written by `spinney.settings.takes`

        def __init__(self, *parameters: Any, **named: Any) -> None: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        """What scikit-learn makes for the routing of sample weights, from the methods of the class."""
        if "request" not in name and name != "get_metadata_routing":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        twin = _with_routing(type(self))  # type: ignore[arg-type]  # a class can be hashed
        return getattr_static(twin, name).__get__(self, twin)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, sorted."""
        return list(cls._defaults())

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters with their defaults, in the order of their names."""
        own = [one for one in signature(cls).parameters.values() if one.kind is not one.VAR_KEYWORD]
        return {one.name: one.default for one in sorted(own, key=lambda one: one.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep``: with those of parameters that are estimators themselves."""
        found: dict[str, Any] = {}
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


@cache
def _with_routing(cls: Any) -> Any:
    """The class with scikit-learn's base, which adds methods such as ``set_fit_request``."""
    from sklearn.base import BaseEstimator

    return type(cls.__name__, (cls, BaseEstimator), {})
