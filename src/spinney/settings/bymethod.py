"""Methods of a task, each with its settings class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spinney.errors import SettingError, did_you_mean, listed
from spinney.settings.declared import Setting, Settings, no_such_setting, settings_of

#: The methods of a task by name; several may share their settings.
Methods = Mapping[str, type[Settings]]


def methods(*classes: type[Settings]) -> dict[str, type[Settings]]:
    """The methods that some settings classes are for: the choices of their setting ``method``."""
    return {choice: cls for cls in classes for choice in _named(cls, "method").choices}


def choose(known: Methods, given: Mapping[str, Any], default: str | None = None) -> Settings:
    """The settings of the method that is given, or of the default one, which is the first if none is named.

    Examples
    --------
    >>> from spinney.settings.lm import FIT
    >>> choose(FIT, {"method": "memoizer", "sweeps": 3}).sweeps
    3
    >>> choose(FIT, {"sweeps": 3})
    Traceback (most recent call last):
    spinney.errors.SettingError: sweeps is a setting of the methods pitman-yor and memoizer, not of mkn
    """
    cls = settings_class(known, given.get("method", default))
    for name in given:
        if all(setting.name != name for setting in settings_of(cls)):
            raise not_of_method(known, name, given.get("method", default))
    return cls.of({**given, "method": given.get("method", default or next(iter(known)))})


def settings_class(known: Methods, method: Any) -> type[Settings]:
    """The settings class of a method, of the first one if none is named."""
    name = next(iter(known)) if method is None else method
    if not isinstance(name, str) or name not in known:
        meant = did_you_mean(name, known)
        raise SettingError(
            "{method} must be one of {known}, not {name}" + " ({meant})" * bool(meant),
            known=", ".join(known), name=repr(name), meant=meant,
        )  # fmt: skip
    return known[name]


def not_of_method(known: Methods, name: str, method: str | None) -> SettingError:
    """The error for a setting that the method does not have, though another may."""
    others = [
        other for other, cls in known.items() if any(setting.name == name for setting in settings_of(cls))
    ]
    method = method or next(iter(known))
    if not others:
        return no_such_setting(name, {setting.name for setting in settings_of(settings_class(known, method))})
    plural = "s" * (len(others) > 1)
    what = f"{{{name}}} is a setting of the method{plural} {{others}}, not of {{method_name}}"
    return SettingError(what, others=listed(others, "and"), method_name=method)


def _named(cls: type[Settings], name: str) -> Setting:
    return next(setting for setting in settings_of(cls) if setting.name == name)
