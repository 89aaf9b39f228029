"""A page for each task of the command line, written from the declared settings before the pages are read."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from spinney.cli.help import option_help, option_name
from spinney.cli.tasks import COMMANDS, TASKS
from spinney.settings import COMMON, settings_of


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
    for name, task in sorted(TASKS.items()):
        parts = [f"# spinney {name}\n", cell(task.help) + "\n"]
        for verb, declared in task.verbs.items():
            parts += [f"## {name} {verb}\n", *about(f"spinney {name} {verb}", declared)]
        yield name, "\n".join(parts)
    for name, verb in COMMANDS.items():
        yield name, "\n".join([f"# spinney {name}\n", *about(f"spinney {name}", verb)])


def about(path, verb):
    """Usage, help, arguments and options of a verb; those that not all of its methods have come by method."""
    usage = " ".join([path, *(argument.metavar for argument in verb.arguments), "[OPTIONS]"])
    yield f"```text\n{usage}\n```\n"
    yield cell(verb.help) + "\n"
    rows = [f"| `{argument.metavar}` | {cell(argument.help)} |" for argument in verb.arguments]
    if isinstance(verb.settings, type):
        yield table([*rows, *map(row, [*verb.output, *own(verb.settings)])])
        return
    classes = dict.fromkeys(verb.settings.values())
    names = [{setting.name for setting in settings_of(cls)} for cls in classes]
    common = set.intersection(*names) - {"method"}
    first = next(iter(classes))
    yield f"Methods: {', '.join(f'`{method}`' for method in verb.settings)}.\n"
    yield table([*rows, *map(row, [*verb.output, *(s for s in own(first) if s.name in common)])])
    for cls in classes:
        further = [setting for setting in own(cls) if setting.name not in common | {"method"}]
        if further:
            named = ", ".join(f"`--method {method}`" for method, one in verb.settings.items() if one is cls)
            yield f"{named}: {cell((cls.__doc__ or '').partition(chr(10))[0])}\n"
            yield table(map(row, further))


def own(cls):
    """The settings of a class but for those of every command, which the page that leads here tells once."""
    return [setting for setting in settings_of(cls) if setting.panel != COMMON and not setting.hidden]


def table(rows) -> str:
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def row(setting) -> str:
    return f"| `{option_name(setting)}` | {cell(option_help(setting))} |"


def cell(text: str) -> str:
    """Help as text of a table: nothing in it is markup but options, which are code."""
    text = re.sub(r"([\\|*_<>`\[\]$#])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![\w-])(--[a-z][a-z0-9-]*)", r"`\1`", text)
