"""Settings: what a person can choose about a method, declared once.

The settings of a method are one frozen dataclass. Its annotations say everything that anyone needs to know about a
field: the type, the choices (``Literal``), the range (``AtLeast(0)``), and a line of help. Checks, the parameters of
recipes and estimators, model files, configuration files, command-line options, help and shell completion are all
derived from it.

>>> from dataclasses import dataclass
>>> from typing import Annotated, Literal
>>> @dataclass(frozen=True, kw_only=True)
... class Smoothing(Settings):
...     panel = TRAINING
...     method: Annotated[Literal["kn", "ad"], "Smoothing method."] = "kn"
...     order: Annotated[int, AtLeast(1), "Length of the longest n-gram, in words."] = 5
>>> Smoothing(order=3)
Smoothing(method='kn', order=3)
>>> Smoothing(order=0)
Traceback (most recent call last):
spinney.errors.SettingError: order must be at least 1, not 0
"""

from spinney.settings.bymethod import Methods, choose, methods, not_of_method, settings_class
from spinney.settings.declared import (
    AMOUNT,
    COMMON,
    COUNT,
    DATA,
    FEATURES,
    OUTPUT,
    PANELS,
    PENALTY,
    REQUIRED,
    ROUNDS,
    TRAINING,
    Above,
    AtLeast,
    AtMost,
    Below,
    Common,
    File,
    Hidden,
    OneOf,
    Passing,
    Repeated,
    Setting,
    Settings,
    Spread,
    is_plain,
    no_such_setting,
    settings_of,
    settings_or,
)
from spinney.settings.estimators import takes
from spinney.settings.toml import toml_lines

__all__ = [
    "AMOUNT",
    "COMMON",
    "COUNT",
    "DATA",
    "FEATURES",
    "OUTPUT",
    "PANELS",
    "PENALTY",
    "REQUIRED",
    "ROUNDS",
    "TRAINING",
    "Above",
    "AtLeast",
    "AtMost",
    "Below",
    "Common",
    "File",
    "Hidden",
    "Methods",
    "OneOf",
    "Passing",
    "Repeated",
    "Setting",
    "Settings",
    "Spread",
    "choose",
    "is_plain",
    "methods",
    "no_such_setting",
    "not_of_method",
    "settings_class",
    "settings_of",
    "settings_or",
    "takes",
    "toml_lines",
]
