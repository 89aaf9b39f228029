"""Settings as TOML, for configuration files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spinney.settings.declared import Settings, settings_of


def toml_lines(values: Mapping[str, Any], cls: type[Settings] | None = None) -> Iterator[str]:
    """Values as lines of a TOML file, below their panels and with their help where they are settings.

    What has no value (None) is written as a comment, because TOML has no word for nothing.

    Examples
    --------
    >>> from spinney.settings import Common
    >>> print("\\n".join(toml_lines({"train": ["a.txt"], "seed": 0}, Common)))
    train = ["a.txt"]
    <BLANKLINE>
    # Every command
    seed = 0  # Seed of everything random.
    """
    known = {} if cls is None else {setting.name: setting for setting in settings_of(cls)}
    yield from (f"{name} = {_toml(value)}" for name, value in values.items() if name not in known)
    panel = None
    for name, setting in known.items():
        if name not in values:
            continue
        if setting.panel != panel:
            yield from ("", f"# {setting.panel}")
            panel = setting.panel
        written = f"# {name} =" if values[name] is None else f"{name} = {_toml(values[name])}"
        yield f"{written}  # {setting.help}"


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_escaped(letter) for letter in value) + '"'
    return repr(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"
