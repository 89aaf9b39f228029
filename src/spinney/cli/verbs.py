"""Verbs as commands: their options, help and checks are derived from the settings that a verb declares.

A :class:`Verb` names its positional arguments, its settings class (or, where it has methods, one class for each) and
the function that runs it. Nothing about an option is written twice: :mod:`spinney.settings` knows its type, range,
choices, help and panel. Values are parsed and checked there as well; Click only splits the command line.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import click

from spinney.cli.limits import check_address_space
from spinney.errors import InputError, OptionError, SettingError, did_you_mean, shown, unknown_choice
from spinney.importing import imported
from spinney.settings import (
    OUTPUT,
    REQUIRED,
    Common,
    Methods,
    Setting,
    Settings,
    choose,
    no_such_setting,
    not_of_method,
    settings_class,
    settings_of,
)

#: What messages of the library say of parameters outside of braces, and how they are given on the command line.
_AS_FLAGS = [
    (re.compile(said), given)
    for said, given in (
        (r"\b(raise|lower|wider) (lam|floor|every)\b", r"\1 --\2"),
        (r"\bset ngrams=True", "give --ngrams"),
        (r"\bsearch '(\w+)'", r"--tune \1"),
    )
]
#: A name in two or more words, perhaps with a value, that is not a part of a path, of code or of a quotation.
_NAME = re.compile(
    r"(?<![\w./'\"=-])(?P<name>[a-z]+(?:_[a-z]+)+)(?:=(?P<mark>'?)(?P<value>[\w.]*\w)(?P=mark))?(?![\w/'\"=(:]|\.\w)"
)


def as_flags(line: str) -> str:
    """A message of the library as the command line says it.

    Examples
    --------
    >>> as_flags("stopped after 10 iterations: raise max_iter")
    'stopped after 10 iterations: raise --max-iter'
    >>> as_flags("max_words.txt: longer than max_length=10 (skip it with on_error='skip', or lower lam)")
    'max_words.txt: longer than --max-length 10 (skip it with --on-error skip, or lower --lam)'
    """
    for said, given in _AS_FLAGS:
        line = said.sub(given, line)
    return _NAME.sub(_as_flag, line) if _NAME.search(line) else line


def _as_flag(found: re.Match[str]) -> str:
    """The option of a setting, with its value; what is no setting stays as it is."""
    name, value = found["name"], found["value"]
    if name not in _setting_names():
        return found[0]
    no = "no-" if value == "False" else ""
    return f"--{no}{name.replace('_', '-')}" + (f" {value}" if value not in (None, "True", "False") else "")


@cache
def _setting_names() -> frozenset[str]:
    """The names of the settings of all commands."""
    from spinney.cli.tasks import every_verb

    return frozenset(setting.name for verb in every_verb().values() for setting in verb.every_setting())


@dataclass(frozen=True)
class Argument:
    """A positional argument."""

    name: str
    help: str
    several: bool = False
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()

    @property
    def metavar(self) -> str:
        """Its placeholder in help."""
        name = f"{self.name.upper()}…" if self.several else self.name.upper()
        return name if self.default is REQUIRED else f"[{name}]"

    def check(self, value: Any) -> Any:
        """The value from a configuration file, checked; a list of one file counts as that file."""
        if isinstance(value, list) and len(value) == 1 and not self.several:
            (value,) = value
        values = value if isinstance(value, list) and self.several else [value]
        if not all(isinstance(one, str) for one in values):
            raise SettingError(f"{{{self.name}}} must be text, not {{value}}", value=repr(value))
        return value


@dataclass(frozen=True)
class Verb:
    """A verb of a task: what it takes, and ``"module:function"``, which is imported and called with a :class:`Call`.

    ``output`` holds options that only the command line has, such as ``--model`` of ``fit``; ``uses`` names the library
    function that a general verb such as ``fit`` calls.
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

    def every_setting(self) -> list[Setting]:
        """The settings of all methods, those of the first one first."""
        classes = [self.settings] if isinstance(self.settings, type) else self.settings.values()
        found = {setting.name: setting for cls in classes for setting in settings_of(cls)}
        return list(found.values())


@dataclass(frozen=True)
class Call:
    """A parsed command: its arguments and its settings, checked."""

    verb: Verb
    arguments: Mapping[str, Any]
    settings: Any
    json: bool
    quiet: bool
    output: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None

    def library(self) -> Any:
        """The library function that the verb uses."""
        return imported(self.verb.uses)


def option(
    name: str, help: str, *, choices: Sequence[str] = (), default: Any = None, panel: str = OUTPUT
) -> Setting:
    """An option that only the command line has, for :attr:`Verb.output`: a file, or one of some choices."""
    return Setting(
        name=name, kind=str, choices=tuple(choices), open=not choices, optional=True, several=False, repeated=False,
        file=not choices, hidden=False, bounds=(), help=help, panel=panel, default=default,
    )  # fmt: skip


#: What a verb returns if it was interrupted; :func:`spinney.interrupts.exit_code` knows by which signal.
INTERRUPTED = 130
SHORT = {"output": "-o", "quiet": "-q", "number": "-n"}
JSON = "One JSON object on standard output, nothing else."
QUIET = "Show no progress and no notes on standard error."
CONFIG = "Read settings from a TOML file; options override it."


class Command(click.Command):
    """A verb, for the method that the command line or its configuration names; without words, for all methods."""

    def __init__(self, name: str, verb: Verb, words: Sequence[str] | None = ()) -> None:
        self.verb = verb
        self.config_path = _value(words or (), "--config")
        self.config = _config(self.config_path)
        self.method = _value(words or (), "--method") or self.config.get("method")
        self.settings = (
            verb.every_setting() if words is None else list(settings_of(verb.settings_for(self.method)))
        )
        super().__init__(name, params=list(self._parameters()), help=verb.help)
        self.context_settings = {"help_option_names": ["-h", "--help"]}

    def _parameters(self) -> Any:
        for argument in self.verb.arguments:
            yield click.Argument([argument.name], required=False, nargs=-1 if argument.several else 1)
        for setting in (*self.verb.output, *self.settings):
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
        config = self._checked_config(given)
        arguments = {a.name: _argument(a, given | config, ctx.command_path) for a in self.verb.arguments}
        found = {s.name: _parsed(s, given) for s in (*self.verb.output, *self.settings) if s.name in given}
        output = {s.name: (config | found).get(s.name, s.default) for s in self.verb.output}
        own = {s.name: (config | found)[s.name] for s in self.settings if s.name in found or s.name in config}
        if isinstance(self.verb.settings, type):
            settings: Settings = self.verb.settings.of(own)
        else:
            settings = choose(self.verb.settings, own | ({"method": self.method} if self.method else {}))
        as_json, quiet = given.get("as_json", False), given.get("quiet", False)
        call = Call(self.verb, arguments, settings, as_json, quiet, output, self.config_path)
        imported("spinney.cli.targets:check_targets")(call)
        check_address_space()
        try:
            return imported(self.verb.run)(call)
        except KeyboardInterrupt:  # Click would print more than one line
            return INTERRUPTED

    def _checked_config(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of the configuration file, without those given as options; an error names the file."""
        known = {setting.name: setting for setting in (*self.verb.output, *self.settings)}
        arguments = {argument.name: argument for argument in self.verb.arguments}
        found = {}
        try:
            for name, value in self.config.items():
                if name in given:
                    continue
                if name in known:
                    if not _is_value(value):
                        what = f"{{{name}}} must be text, a number or a list of them, not {{value}}"
                        raise SettingError(what, value=shown(value))
                    found[name] = known[name].check(value)
                elif name in arguments:
                    found[name] = arguments[name].check(value)
                elif isinstance(self.verb.settings, type):
                    raise no_such_setting(name, {*known, *arguments})
                else:
                    raise not_of_method(self.verb.settings, name, self.method)
        except SettingError as error:
            raise InputError(str(error), path=self.config_path) from None
        return found


def _is_value(value: Any) -> bool:
    """Whether what TOML holds can be a setting: no table, and nothing infinite."""
    if isinstance(value, list):
        return all(map(_is_value, value))
    return not isinstance(value, dict) and (not isinstance(value, float) or math.isfinite(value))


def names_of(setting: Setting) -> list[str]:
    """The names of an option on the command line.

    Examples
    --------
    >>> names_of(option("output", "Where to write."))
    ['--output', '-o']
    """
    flag = "--" + setting.name.replace("_", "-")
    opposite = [f"--no-{flag[2:]}"] if setting.kind is bool and setting.default is not False else []
    return [flag, *opposite, *([SHORT[setting.name]] if setting.name in SHORT else [])]


def _names(setting: Setting) -> list[str]:
    """The names as Click expects them: an option and its opposite together, and the parameter last."""
    flag, *more = names_of(setting)
    opposite = [f"{flag}/{name}" for name in more if name.startswith("--no-")]
    return [*(opposite or [flag]), *(name for name in more if not name.startswith("--no-")), setting.name]


def _flag(setting: Setting) -> dict[str, Any]:
    return {"is_flag": True} if setting.kind is bool else {"type": str}


def _parsed(setting: Setting, given: Mapping[str, Any]) -> Any:
    value = given[setting.name]
    if setting.repeated:
        return tuple(setting.parse(one)[0] for one in value)
    return setting.parse(value) if isinstance(value, str) else setting.check(value)


def _argument(argument: Argument, given: Mapping[str, Any], command: str) -> Any:
    value = given.get(argument.name, argument.default)
    if value is REQUIRED:
        raise OptionError(f"{argument.name.upper()} is missing (see {command} --help)")
    if argument.choices and value is not None and value not in argument.choices:
        raise unknown_choice(f"{argument.name.upper()} is", value, argument.choices)
    if argument.several:
        return [value] if isinstance(value, str) else list(value)
    return value


def _value(words: Sequence[str], name: str) -> str | None:
    """The value of an option on a command line that is not parsed yet."""
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
    from spinney.corpus.opening import open_text

    with open_text(path) as file:
        text = file.read()
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError("not TOML: brackets are nested too deeply", path=path) from None
    except ValueError as error:  # among them numbers of thousands of digits
        raise InputError(f"not TOML: {error}", path=path) from None
