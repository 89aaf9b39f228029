"""Estimators whose parameters are settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from spinney.settings.declared import REQUIRED, Settings, no_such_setting, settings_of

E = TypeVar("E", bound=type)


def takes(cls: type[Settings], *first: str, without: Iterable[str] = ()) -> Callable[[E], E]:
    """Give an estimator a constructor whose parameters are these settings, stored as attributes of their names.

    That is what scikit-learn expects of an estimator: ``__init__`` stores, and ``fit`` checks (by ``cls.of``). The
    setting ``seed`` is called ``random_state``, as everywhere in scikit-learn. The parameters that are named ``first``
    may also be given by position; those ``without`` are left out.

    Examples
    --------
    >>> from spinney.settings import Common
    >>> @takes(Common, "threads")
    ... class Estimator: ...
    >>> made = Estimator(2, random_state=4)
    >>> made.threads, made.random_state, made.seed
    (2, 4, 4)
    """
    from inspect import Parameter, Signature

    found = {s.name: s.default for s in settings_of(cls) if s.default is not REQUIRED}
    if "seed" in found:
        found["random_state"] = found.pop("seed")
    names = [*first, *(name for name in found if name not in first)]
    own = [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD if name in first else Parameter.KEYWORD_ONLY,
            default=found[name],
        )
        for name in names
        if name not in without
    ]

    known = {parameter.name for parameter in own}

    def __init__(self: Any, *values: Any, **given: Any) -> None:
        for name in given:
            if name not in known:
                raise no_such_setting(name, known)
        bound = signature.bind(self, *values, **given)
        bound.apply_defaults()
        for parameter in own:
            setattr(self, parameter.name, bound.arguments[parameter.name])

    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own])
    __init__.__signature__ = signature  # type: ignore[attr-defined]

    def decorate(estimator: E) -> E:
        estimator.__init__ = __init__  # type: ignore[misc]
        estimator.seed = property(lambda self: self.random_state)  # type: ignore[attr-defined]
        return estimator

    return decorate
