"""How a setting is declared, and what follows from its declaration: its checks, and how text becomes its value."""

from __future__ import annotations

import math
import numbers
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import date
from functools import cache
from inspect import Parameter, Signature
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from spinney.errors import SettingError, did_you_mean, listed, shown

#: The panels of help, in the order in which they are shown.
DATA, FEATURES, PENALTY, TRAINING, OUTPUT, COMMON = (
    "Data",
    "Features and structure",
    "Penalty",
    "Training",
    "Output",
    "Every command",
)
#: The default of a setting that must be given.
REQUIRED: Any = object()
PANELS = (DATA, FEATURES, PENALTY, TRAINING, OUTPUT, COMMON)


S = TypeVar("S", bound="Settings")


@dataclass(frozen=True)
class AtLeast:
    """The smallest value that a number may have."""

    bound: float

    def holds(self, value: float) -> bool:
        """Whether a number keeps the bound."""
        return value >= self.bound

    def __str__(self) -> str:
        return f"at least {_number(self.bound)}"


@dataclass(frozen=True)
class AtMost(AtLeast):
    """The largest value that a number may have."""

    def holds(self, value: float) -> bool:
        return value <= self.bound

    def __str__(self) -> str:
        return f"at most {_number(self.bound)}"


@dataclass(frozen=True)
class Above(AtLeast):
    """What a number must be greater than."""

    def holds(self, value: float) -> bool:
        return value > self.bound

    def __str__(self) -> str:
        return f"greater than {_number(self.bound)}"


@dataclass(frozen=True)
class Below(AtLeast):
    """What a number must be less than."""

    def holds(self, value: float) -> bool:
        return value < self.bound

    def __str__(self) -> str:
        return f"less than {_number(self.bound)}"


#: Upper bounds that many settings share, far above every use: of what is counted (it fits into 32 bits), of iterations,
#: and of strengths and pseudo-counts (their squares and their products with counts are still finite).
COUNT, ROUNDS, AMOUNT = AtMost(10**9), AtMost(10**9), AtMost(1e30)


def _number(value: float) -> str:
    """A number in a message: short, and digits in groups where it is whole."""
    if isinstance(value, int):
        digits = value.bit_length() * 0.30103
        return f"{value:,}" if digits < 20 else f"a number of about {digits:.0f} digits"
    return f"{value:g}"


class OneOf:
    """The choices of a setting, where they are the keys of a table rather than a ``Literal``."""

    def __init__(self, names: Iterable[str], *, open: bool = False, shown: Iterable[str] = ()) -> None:
        self.names, self.open = tuple(names), open
        self.shown = tuple(shown)  # those that help lists, where all would be too many


class Repeated:
    """Marks a setting of several values that is given once for each on the command line, not as one list."""


class File:
    """Marks a setting that names a file; in Python it may also be the object that the file would hold."""


class Hidden:
    """Marks an option that help only names, without a line of its own: help is no manual."""


class Passing:
    """Marks a setting that changes nothing about a model, such as where it is computed: it is not kept with it."""


@dataclass(frozen=True)
class Setting:
    """One field of a settings class, as its annotation describes it."""

    name: str
    kind: type  # bool, int, float, str, or object where anything goes
    choices: tuple[str, ...]
    open: bool  # whether other values of the kind go besides the choices
    optional: bool
    several: bool
    repeated: bool
    file: bool
    hidden: bool
    bounds: tuple[AtLeast, ...]
    help: str
    panel: str
    default: Any  # REQUIRED if it must be given
    shown: tuple[str, ...] = ()  # the choices that help lists; all, if empty
    number: bool = False  # whether a file may also be a number
    passing: bool = False  # whether it is not kept with a model

    def check(self, value: Any) -> Any:
        """The value as the field keeps it, or a :class:`~spinney.errors.SettingError`."""
        if value is None and self.optional:
            return None
        if self.several:
            if isinstance(value, str | bytes) or not isinstance(value, Sequence):
                value = (value,)
            return tuple(self._check_one(item) for item in value)
        return self._check_one(value)

    def _check_one(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.choices:
            return value
        if self.choices and not self.open:
            raise self._wrong(value, self.choices)
        if self.file:
            return self._check_file(value)
        if self.kind is object:
            return value
        if self.kind in (bool, str):
            if not isinstance(value, self.kind):
                raise self._wrong(value)
            return value
        abstract = numbers.Integral if self.kind is int else numbers.Real
        if not isinstance(value, abstract) or isinstance(value, bool):
            raise self._wrong(value)
        given = value
        try:
            value = self.kind(value)
        except OverflowError:
            value = math.inf
        if self.kind is float and not math.isfinite(value):
            what = f"{{{self.name}}} must be a finite number, not {{value}}"
            raise SettingError(what, value=_number(given) if isinstance(given, int) else value)
        for bound in self.bounds:
            if not bound.holds(value):
                raise SettingError(f"{{{self.name}}} must be {bound}, not {{value}}", value=_number(value))
        return value

    def _check_file(self, value: Any) -> Any:
        """The name of a file as text, or the object that the file would hold."""
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, str):
            if not value or "\0" in value:
                what = "has a NUL in its name" if value else "is empty"
                raise SettingError(f"{{{self.name}}} {what}: name a file, or leave it out")
        elif (isinstance(value, numbers.Number | date) and not self.number) or (
            self.kind is str and isinstance(value, list | dict)  # as a configuration may have them
        ):
            raise SettingError(f"{{{self.name}}} must name a file, not {{value}}", value=shown(value))
        elif isinstance(value, numbers.Number) and not math.isfinite(value):  # type: ignore[arg-type]
            raise SettingError(f"{{{self.name}}} must be a finite number, not {{value}}", value=value)
        return value

    def parse(self, text: str) -> Any:
        """The value that a text on the command line means; several values are separated by commas."""
        if self.several and not self.repeated:
            return self.check([self._parse_one(part.strip()) for part in text.split(",")])
        return self.check(self._parse_one(text))

    def _parse_one(self, text: str) -> Any:
        if text in self.choices or self.kind not in (int, float):
            return text
        try:
            return self.kind(text)
        except ValueError:
            raise self._wrong(text) from None

    def _wrong(self, value: Any, known: Sequence[str] = ()) -> SettingError:
        of_kind = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        wanted = [*self.choices, *([of_kind[self.kind]] if self.kind in of_kind and self.open else [])]
        meant = did_you_mean(value, self.choices) if isinstance(value, str) else ""
        several = " (or several, separated by commas)" * (self.several and not self.repeated)
        what = f"{{{self.name}}} must be {{wanted}}{several}, not {{value}}" + " ({meant})" * bool(meant)
        return SettingError(what, wanted=listed(wanted, "or"), value=shown(value), meant=meant)

    @property
    def metavar(self) -> str:
        """What stands for the value in help: ``N``, ``X``, ``FILE`` or the like."""
        names = {int: "N", float: "X", str: "TEXT", object: "VALUE"}
        one = "FILE" if self.file else names.get(self.kind, "")
        return f"{one},…" if self.several and not self.repeated else one


class _Signature:
    """The parameters of a settings class, for ``help`` and for tools that ask."""

    def __get__(self, settings: object, cls: Any) -> Signature:
        found = []
        for one in fields(cls):
            default = Parameter.empty if one.default is MISSING else one.default
            found.append(Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=one.type))
        return Signature(found)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def settings_dataclass(*, frozen: Literal[True], kw_only: Literal[True]) -> Callable[[type[S]], type[S]]:
    """``dataclasses.dataclass`` for settings, whose methods :class:`Settings` has for all.

    Python would write and compile five methods for each of two hundred classes: that takes longer than all else that a
    command does before it begins.
    """
    return dataclass(frozen=frozen, kw_only=kw_only, init=False, repr=False, eq=False)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Settings:
    """The base of all settings: they check themselves, and go to a mapping and back."""

    panel: ClassVar[str] = TRAINING
    __signature__ = _Signature()

    def __init__(self, **given: Any) -> None:
        for one in fields(self):
            if one.name not in given and one.default is MISSING:
                raise TypeError(f"{type(self).__name__} needs {one.name}")
            object.__setattr__(self, one.name, given.pop(one.name, one.default))
        if given:
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {next(iter(given))!r}")
        self.__post_init__()

    def __repr__(self) -> str:
        values = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))
        return f"{type(self).__qualname__}({', '.join(values)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(self))

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, one.name) for one in fields(self)))

    def __post_init__(self) -> None:
        for setting in settings_of(type(self)):
            object.__setattr__(self, setting.name, setting.check(getattr(self, setting.name)))
        self.check()

    def check(self) -> None:
        """Raise a :class:`~spinney.errors.SettingError` where two settings do not go together."""

    def no_effect(self, *names: str, when: str) -> None:
        """Refuse these settings, where they are not as by default, because they have no effect ``when``."""
        for setting in settings_of(type(self)):
            if setting.name in names and getattr(self, setting.name) != setting.default:
                raise SettingError(f"{{{setting.name}}} has no effect {when}: leave it out")

    def need_names(self, *names: str) -> None:
        """Refuse a structure without a name in these settings: each is NAME=FILE, or in Python a mapping."""
        for name in names:
            for pair in getattr(self, name):
                if not isinstance(pair, Mapping) and not all(str(pair).partition("=")):
                    raise SettingError(f"{{{name}}} must be NAME=FILE, not {{pair}}", pair=repr(pair))

    def replace(self, **changes: Any) -> Self:
        """The same settings but for these."""
        return type(self).of(self.values() | changes)

    def values(self) -> dict[str, Any]:
        """All settings by name, as they are."""
        return {setting.name: getattr(self, setting.name) for setting in settings_of(type(self))}

    def lasting(self) -> dict[str, Any]:
        """Those that a model keeps: all but where it was computed."""
        passing = {setting.name for setting in settings_of(type(self)) if setting.passing}
        return {name: value for name, value in self.values().items() if name not in passing}

    def as_dict(self) -> dict[str, Any]:
        """All settings as JSON has them; an object of Python, and what only says where to compute, is left out.

        Examples
        --------
        >>> from spinney.settings import Common
        >>> Common(seed=3).as_dict()
        {'threads': None, 'seed': 3}
        """
        found = {}
        for name, value in self.lasting().items():
            value = list(value) if isinstance(value, tuple) else value
            if is_plain(value):
                found[name] = value
        return found

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Settings from a mapping; a name that does not exist is an error."""
        known = {setting.name for setting in settings_of(cls)}
        for name in given:
            if name not in known:
                raise no_such_setting(name, known)
        return cls(**given)


def is_plain(value: Any) -> bool:
    """Whether a value is one that JSON has, not an object of Python.

    Examples
    --------
    >>> is_plain(["a", 1, None]), is_plain([object()])
    (True, False)
    """
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, str | bool | int | float | None)


def settings_or(cls: type[S], settings: Settings | None, given: Mapping[str, Any]) -> S:
    """The settings that were given as an object, or those that were given by name.

    Examples
    --------
    >>> settings_or(Common, None, {"seed": 2}).seed
    2
    """
    if settings is None:
        return cls.of(given)
    if not isinstance(settings, cls) or given:
        raise TypeError(f"give {cls.__name__} settings, or settings by name")
    return settings


@settings_dataclass(frozen=True, kw_only=True)
class Common(Settings):
    """What every command takes."""

    panel = COMMON
    threads: Annotated[int | None, AtLeast(1), AtMost(4096), "Threads (default: all processors)."] = None
    seed: Annotated[int, AtLeast(0), AtMost(2**32 - 1), "Seed of everything random."] = 0


@settings_dataclass(frozen=True, kw_only=True)
class Spread(Common):
    """What commands take that read much text or fit many models: their work can be spread over a cluster."""

    panel = COMMON
    cluster: Annotated[str | None, Passing, "Dask scheduler, or local[:N] (or SPINNEY_CLUSTER)."] = None


def settings_of(cls: type[Settings]) -> tuple[Setting, ...]:
    """The fields of a settings class, by panels, each in the order of its declaration."""
    found: tuple[Setting, ...] = _declared(cls)  # type: ignore[arg-type]  # a class can be hashed
    return found


@cache
def _declared(cls: Any) -> tuple[Setting, ...]:
    hints = get_type_hints(cls, include_extras=True)
    found = [_setting(cls, field.name, hints[field.name], field.default) for field in fields(cls)]
    return tuple(sorted(found, key=lambda setting: PANELS.index(setting.panel)))


def _setting(cls: type[Settings], name: str, hint: Any, default: Any) -> Setting:
    base, *marks = get_args(hint) if get_origin(hint) is Annotated else [hint]
    kinds, choices, optional, several = _taken_apart(base)
    said = [mark for mark in marks if isinstance(mark, str)]
    assert said, f"{cls.__name__}.{name} has no line of help"
    marked = [mark if isinstance(mark, type) else type(mark) for mark in marks]
    kind = kinds[0] if len(kinds) == 1 else object if kinds else str
    table = next((mark for mark in marks if isinstance(mark, OneOf)), None)
    return Setting(
        name=name,
        kind=kind,
        choices=choices if table is None else table.names,
        open=bool(kinds) if table is None else table.open,
        shown=() if table is None else table.shown,
        optional=optional,
        several=several,
        repeated=Repeated in marked,
        file=File in marked,
        hidden=Hidden in marked,
        passing=Passing in marked,
        number=float in kinds,
        bounds=tuple(mark for mark in marks if isinstance(mark, AtLeast)),
        help=said[0],
        panel=TRAINING
        if name == "method"
        else next(
            getattr(c, "panel", TRAINING)
            for c in reversed(cls.__mro__)
            if name in getattr(c, "__annotations__", {})
        ),
        default=REQUIRED if default is MISSING else default,
    )


def _taken_apart(hint: Any) -> tuple[list[type], tuple[str, ...], bool, bool]:
    """The plain kinds of a type, its literal choices, whether it may be None, and whether there may be several."""
    if get_origin(hint) is tuple:
        kinds, choices, _, _ = _taken_apart(get_args(hint)[0])
        return kinds, choices, False, True
    if get_origin(hint) is Literal:
        return [], get_args(hint), False, False
    if get_origin(hint) in (Union, types.UnionType):
        parts = [_taken_apart(part) for part in get_args(hint) if part is not type(None)]
        return (
            [kind for part in parts for kind in part[0]],
            tuple(choice for part in parts for choice in part[1]),
            type(None) in get_args(hint),
            any(part[3] for part in parts),
        )
    return [hint if hint in (bool, int, float, str) else object], (), False, False


def no_such_setting(name: str, known: set[str]) -> SettingError:
    """The error for a setting that does not exist, with the one that was probably meant."""
    meant = did_you_mean(name, sorted(known))
    return SettingError("there is no setting {name}" + " ({meant})" * bool(meant), name=name, meant=meant)
