"""Help in panels: one box per group of settings, a line or two per option."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinney.settings import COMMON, OUTPUT, PANELS, REQUIRED, Setting

if TYPE_CHECKING:
    from spinney.cli.verbs import Verb


def verb_help(path: str, verb: Verb, settings: Sequence[Setting], method: str | None) -> str:
    """The help of a verb: its usage, what it does, its arguments, and its options by panels."""
    from spinney.cli.verbs import CONFIG, JSON, QUIET

    usage = f"Usage: {path} {' '.join(argument.metavar for argument in verb.arguments)} [OPTIONS]"
    about = verb.help
    methods = () if isinstance(verb.settings, type) else tuple(verb.settings)
    if methods:
        chosen = method or methods[0]
        about += f"\nOptions of --method {chosen} are shown; other methods have others."
    panels: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *PANELS)}
    for argument in verb.arguments:
        panels["Arguments"].append((argument.metavar, argument.help))
    for setting in (*verb.output, *settings):
        if not setting.hidden:
            said = option_help(setting, methods if setting.name == "method" else ())
            panels[setting.panel].append((option_name(setting), said))
    for panel, names in _only_named(settings).items():
        panels[panel].append(("seldom needed", ", ".join(names)))
    panels[OUTPUT if panels[OUTPUT] else COMMON].append(("--config FILE", CONFIG))
    panels[COMMON] += [("--json", JSON), ("-q, --quiet", QUIET)]
    return _rendered(usage, about, panels)


def _only_named(settings: Sequence[Setting]) -> dict[str, list[str]]:
    """The options that help does not describe, by panels; ``init-config`` tells what they are."""
    found: dict[str, list[str]] = {}
    for setting in settings:
        if setting.hidden:
            found.setdefault(setting.panel, []).append(option_name(setting))
    return found


def group_help(path: str, about: str, panels: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """The help of a task, or of the whole command: the commands that it has."""
    return _rendered(f"Usage: {path} COMMAND …", about, {name: list(rows) for name, rows in panels.items()})


def option_name(setting: Setting) -> str:
    """An option as help shows it, with a placeholder for its value."""
    from spinney.cli.verbs import SHORT

    flag = "--" + setting.name.replace("_", "-")
    if setting.kind is bool:
        flag = flag if setting.default is False else f"--[no-]{flag[2:]}"
    elif not (setting.choices and not setting.open):
        flag += f" {setting.metavar}"
    return f"{SHORT[setting.name]}, {flag}" if setting.name in SHORT else flag


def option_help(setting: Setting, methods: tuple[str, ...] = ()) -> str:
    """The help of an option: its description, its choices (all methods for ``--method``), and its default."""
    said, choices = setting.help, methods or ((*setting.shown, "…") if setting.shown else setting.choices)
    default = methods[0] if methods else setting.default
    if choices and choices != (default,):
        said += (
            f" [{', '.join(f'{choice} (default)' if choice == default else choice for choice in choices)}]"
        )
        if default in choices:
            return said
    if setting.default is REQUIRED:
        return f"{said} (required)"
    plain = setting.default not in (None, (), "", False) and setting.kind is not bool
    if not plain or "default" in setting.help:
        return said
    return f"{said} (default: {_text(setting.default)})"


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rendered(usage: str, about: str, panels: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    width = min(120, max(60, shutil.get_terminal_size((80, 24)).columns))
    console = Console(file=StringIO(), width=width, highlight=False, force_terminal=False)
    console.print(Padding(Text(usage), (0, 1)))
    console.print(Padding(Text(about), (1, 1, 0, 1)))
    longest = max((len(name) for rows in panels.values() for name, _ in rows), default=0)
    column = min(longest, 24)
    for title, rows in panels.items():
        if not rows:
            continue
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(width=column, overflow="fold")
        table.add_column(ratio=1)
        for name, said in rows:
            table.add_row(Text(name), Text(said))
        console.print(Panel(table, title=title, title_align="left", expand=True))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text
