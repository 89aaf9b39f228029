"""Verbs as commands: their options, help and checks are derived from the settings that a verb declares.

A :class:`Verb` names its positional arguments, its settings class (or, where it has methods, one class for each) and
the function that runs it. Nothing about an option is written twice: :mod:`spinney.settings` knows its type, range,
choices, help and panel. Values are parsed and checked there, too; Click only takes the command line apart.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import click

from spinney.errors import InputError, OptionError, did_you_mean, did_you_mean_file
from spinney.settings import (
    OUTPUT,
    REQUIRED,
    Common,
    Methods,
    Setting,
    Settings,
    choose,
    not_of_method,
    settings_class,
    settings_of,
)


@dataclass(frozen=True)
class Argument:
    """A positional argument."""

    name: str
    help: str
    several: bool = False
    default: Any = REQUIRED

    @property
    def metavar(self) -> str:
        """What stands for it in help."""
        name = f"{self.name.upper()}…" if self.several else self.name.upper()
        return name if self.default is REQUIRED else f"[{name}]"


@dataclass(frozen=True)
class Verb:
    """A verb of a task: what it takes, and ``"module:function"``, which is imported and called with a :class:`Call`.

    ``output`` are options that only the command line has, such as ``--model`` of ``fit``; ``uses`` is the function of
    the library that a general verb such as ``fit`` calls.
    """

    help: str
    run: str
    settings: type[Settings] | Methods = Common
    arguments: tuple[Argument, ...] = ()
    output: tuple[Setting, ...] = ()
    uses: str = ""

    def settings_for(self, method: Any = None) -> type[Settings]:
        """The settings class of a method, or the only one."""
        return self.settings if isinstance(self.settings, type) else settings_class(self.settings, method)


@dataclass(frozen=True)
class Call:
    """A command that was given: its arguments and its settings, checked."""

    verb: Verb
    arguments: Mapping[str, Any]
    settings: Any
    json: bool
    quiet: bool
    output: Mapping[str, Any] = field(default_factory=dict)

    def library(self) -> Any:
        """The function of the library that the verb uses."""
        return imported(self.verb.uses)


def imported(name: str) -> Any:
    """What ``"module:name"`` is."""
    module, _, inner = name.partition(":")
    return getattr(import_module(module), inner)


def option(name: str, help: str, *, file: bool = True, default: Any = None) -> Setting:
    """An option that only the command line has, for :attr:`Verb.output`."""
    return Setting(
        name=name, kind=str, choices=(), open=True, optional=True, several=False, repeated=False, file=file,
        hidden=False, bounds=(), help=help, panel=OUTPUT, default=default,
    )  # fmt: skip


SHORT = {"output": "-o", "quiet": "-q", "number": "-n"}
JSON = "One JSON object on standard output, and nothing else."
QUIET = "No progress and no notes on standard error."
CONFIG = "Settings from a TOML file; options override it."


class Command(click.Command):
    """A verb, for the method that the command line or its configuration names."""

    def __init__(self, name: str, verb: Verb, words: Sequence[str] = ()) -> None:
        self.verb = verb
        self.config = _config(_value(words, "--config"))
        self.method = _value(words, "--method") or self.config.get("method")
        self.settings = settings_of(verb.settings_for(self.method))
        super().__init__(name, params=list(self._parameters()), help=verb.help)
        self.context_settings = {"help_option_names": ["-h", "--help"]}

    def _parameters(self) -> Any:
        for argument in self.verb.arguments:
            yield click.Argument([argument.name], required=False, nargs=-1 if argument.several else 1)
        for setting in (*self.verb.output, *self.settings):
            if not setting.hidden:
                yield click.Option(
                    _names(setting),
                    default=None,
                    multiple=setting.repeated,
                    help=setting.help,
                    **_flag(setting),
                )
        yield click.Option(["--config"], default=None, help=CONFIG)
        yield click.Option(["--json", "as_json"], is_flag=True, help=JSON)
        yield click.Option(["--quiet", "-q"], is_flag=True, help=QUIET)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help in panels."""
        from spinney.cli.help import verb_help

        formatter.write(verb_help(ctx.command_path, self.verb, self.settings, self.method))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            if not isinstance(self.verb.settings, type):
                others = {s.name for cls in self.verb.settings.values() for s in settings_of(cls)}
                if (name := name if name in others else name.removeprefix("no_")) in others:
                    raise not_of_method(self.verb.settings, name, self.method) from None
            known = [
                name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)
            ]
            meant = did_you_mean(error.option_name, [name for name in known if name.startswith("--")])
            said = f"there is no option {error.option_name}" + (f" ({meant})" if meant else "")
            raise OptionError(f"{said} (see {ctx.command_path} --help)") from None

    def invoke(self, ctx: click.Context) -> Any:
        """Check everything that was given, and run the verb."""
        given = {name: value for name, value in ctx.params.items() if value not in (None, ())}
        config = {name: value for name, value in self.config.items() if name not in given}
        arguments = {a.name: _argument(a, given | config, ctx.command_path) for a in self.verb.arguments}
        output = {s.name: _parsed(s, given, config) for s in self.verb.output}
        own = {
            s.name: _parsed(s, given, config) for s in self.settings if s.name in given or s.name in config
        }
        spent = {*arguments, *output, *own, "task", "verb"}
        if isinstance(self.verb.settings, type):
            settings: Settings = self.verb.settings.of(own | _left(config, spent))
        else:
            settings = choose(self.verb.settings, own | _left(config, spent) | _method(self.method))
        call = Call(
            self.verb, arguments, settings, given.get("as_json", False), given.get("quiet", False), output
        )
        try:
            return imported(self.verb.run)(call)
        except KeyboardInterrupt:  # of which Click would make more words
            return 130


def _left(config: Mapping[str, Any], spent: set[str]) -> dict[str, Any]:
    """What a configuration holds besides: settings that do not exist, which the settings class refuses."""
    return {name: value for name, value in config.items() if name not in spent}


def _method(name: str | None) -> dict[str, str]:
    return {} if name is None else {"method": name}


def _names(setting: Setting) -> list[str]:
    flag = "--" + setting.name.replace("_", "-")
    if setting.kind is bool and setting.default is not False:
        flag = f"{flag}/--no-{flag[2:]}"
    return [flag, *([SHORT[setting.name]] if setting.name in SHORT else []), setting.name]


def _flag(setting: Setting) -> dict[str, Any]:
    return {"is_flag": True} if setting.kind is bool else {"type": str}


def _parsed(setting: Setting, given: Mapping[str, Any], config: Mapping[str, Any]) -> Any:
    if setting.name in config:
        return setting.check(config[setting.name])
    if setting.name not in given:
        return setting.default
    value = given[setting.name]
    if setting.repeated:
        return tuple(setting.parse(one)[0] for one in value)
    return setting.parse(value) if isinstance(value, str) else setting.check(value)


def _argument(argument: Argument, given: Mapping[str, Any], command: str) -> Any:
    value = given.get(argument.name, argument.default)
    if value is REQUIRED:
        raise OptionError(f"{argument.name.upper()} is missing (see {command} --help)")
    if argument.several:
        return [value] if isinstance(value, str) else list(value)
    return value


def _value(words: Sequence[str], name: str) -> str | None:
    """The value of an option on a command line that was not taken apart yet."""
    found = None
    for i, word in enumerate(words):
        if word == "--":
            break
        if word == name and i + 1 < len(words):
            found = words[i + 1]
        elif word.startswith(f"{name}="):
            found = word[len(name) + 1 :]
    return found


def _config(path: str | None) -> dict[str, Any]:
    """The settings of a configuration file."""
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(error.strerror or str(error), path=path, remedy=did_you_mean_file(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", path=path) from None
