"""A page for each task of the command line, written from the commands themselves before the pages are read."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from spinney.cli.main import command as command_line

#: What every verb has; said once, on the page that leads to the others.
COMMON = {"--help", "--json", "--quiet", "--seed", "--threads"}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx) -> None:
    """Write ``generated/commands/TASK.md``; what would not change stays, so that Sphinx need not read it again."""
    folder = Path(app.srcdir) / "generated" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    pages = dict(task_pages())
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def task_pages():
    """The names and texts of all pages."""
    for name, command in sorted(command_line().commands.items()):
        verbs = getattr(command, "commands", None)
        if verbs is None:
            yield name, f"# spinney {name}\n\n" + about(f"spinney {name}", command)
            continue
        parts = [f"# spinney {name}\n", paragraphs(command.help)]
        for verb, each in verbs.items():
            parts += [f"## {name} {verb}\n", about(f"spinney {name} {verb}", each)]
        yield name, "\n".join(parts)


def about(path, command) -> str:
    """Usage, help, arguments and options of a command."""
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option" and not COMMON & set(p.opts)]
    usage = " ".join([path, *map(argument_usage, arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"```text\n{usage}\n```\n", paragraphs(command.help)]
    if arguments or options:
        lines += ["| | | default |", "|---|---|---|"]
        lines += [row(f"`{argument_name(p)}`", p) for p in arguments]
        lines += [row(option_names(p), p) for p in options]
    return "\n".join(lines) + "\n"


def argument_name(argument) -> str:
    name = argument.metavar or argument.name
    return re.sub(r"[\[\]{}.]", "", name).upper() if " " not in name else name


def argument_usage(argument) -> str:
    name = argument_name(argument) + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def option_names(option) -> str:
    names = sorted(option.opts, key=len, reverse=True) + option.secondary_opts
    value = f" {option.metavar}" if option.metavar else ""
    return ", ".join(f"`{name}{value if name == names[0] else ''}`" for name in names)


def row(name, parameter) -> str:
    default = parameter.default
    if callable(default) or default is None or default is False or default == () or default == []:
        default = "required" if parameter.required else ""
    elif default is True:
        default = f"`{max(parameter.opts, key=len)}`"
    else:
        default = f"`{default}`"
    return f"| {name} | {cell(parameter.help or '')} | {default} |"


def cell(text: str) -> str:
    """Help as text of a table: nothing in it is markup but options, which are code."""
    text = re.sub(r"([\\|*_<>`\[\]$#])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![\w-])(--[a-z][a-z0-9-]*)", r"`\1`", text)


def paragraphs(text: str | None) -> str:
    return "\n\n".join(cell(part) for part in (text or "").split("\n\n")) + "\n"
