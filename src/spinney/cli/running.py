"""The verbs that all tasks share: each calls the library with parsed settings, and prints what comes back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

from spinney.cli.verbs import INTERRUPTED, Call, as_flags
from spinney.errors import InputError, OptionError, SettingError
from spinney.escaping import json_line, printable


def fit(call: Call) -> int:
    """``fit``: learn a model from data, write it, and print what happened."""
    begin(call)
    path = target(call)
    model = call.library()(call.arguments["train"], call.settings)
    model.save(path)
    emit(call, model.summary(), first={"model": path}, title=f"Wrote {path}")
    return INTERRUPTED if model.facts.get("interrupted") else 0


def apply(call: Call) -> int:
    """``apply``: write the model's output for each sentence, document or word."""
    begin(call)
    output = call.output["output"]
    if call.json and output != "-":
        raise SettingError("JSON is written to standard output: leave out {output}")
    from spinney.corpus import writing
    from spinney.errors import about

    model = load(call)
    data = call.arguments["data"]
    applied = model.apply(data, call.settings)
    with about(named(data)):
        if call.json:
            records = list(applied)
            print_json({applied.key: records, **applied.facts})
            return 0
        with writing(output) as file:
            shown = printable if output == "-" and file.isatty() else str
            header = applied.header  # comes with the first record: data that cannot be read give no output
            for record in applied:
                file.write(header + shown(applied.text(record)))
                header = ""
                if data == "-":  # whoever writes line by line waits for the answer to each
                    file.flush()
            file.write(header)
    return 0


def evaluate(call: Call) -> int:
    """``eval``: measure the model on data."""
    begin(call)
    from spinney.errors import about

    model = load(call)
    data = call.arguments.get("data")
    with about(named(data)):
        title = f"{call.arguments['model']} on {named(data)}" if data else call.arguments["model"]
        emit(call, model.evaluate(data, call.settings), title=title)
    return 0


def explain(call: Call) -> int:
    """``explain``: show why the model says what it says of data."""
    begin(call)
    from spinney.errors import about

    model = load(call)
    data = call.arguments["data"]
    with about(named(data)):
        title = f"{call.arguments['model']} on {named(data)}"
        emit(call, model.explain(data, call.settings), title=title)
    return 0


def inspect(call: Call) -> int:
    """``inspect``: show what the model learned."""
    begin(call)
    emit(call, load(call).views(call.settings), title=call.arguments["model"])
    return 0


def show(call: Call) -> int:
    """Any other verb that shows something: a function of the library with the arguments and the settings."""
    begin(call)
    output = call.arguments.get("output")
    if output == "-" and call.json:
        raise OptionError("JSON and the output cannot both go to standard output: name a file for the output")
    report = call.output.get("report")
    for target_file in (output, report):
        if target_file not in (None, "-"):
            check_target(target_file)
    views = list(call.library()(*call.arguments.values(), call.settings))
    if report is not None:
        write_page(report, named(next(iter(call.arguments.values()))), views)
    emit(call, views, first={} if report is None else {"report": report})
    return 0


def convert(call: Call) -> int:
    """A verb that writes files in another format: a function of the library with the files, the output and settings."""
    begin(call)
    files, output = call.arguments["files"], call.output["output"]
    if output == "-" and call.json:
        raise SettingError("JSON and the text cannot both go to standard output: name a file as {output}")
    if output != "-":
        check_target(output)
    views = call.library()(files, output, call.settings)
    if output != "-":
        emit(call, views, first={"output": output}, title=f"Wrote {output}")
    return 0


def write_page(path: str, title: str, views: Iterable[Any]) -> None:
    """Write views as a page of HTML."""
    from spinney.corpus import writing
    from spinney.report.html import view_page

    with writing(path) as file:
        file.write(view_page(title, views).html())


def path(call: Call) -> int:
    """``path``: models at decreasing strengths of the penalty; optionally save the best one, and write a page."""
    begin(call)
    written = {name: file for name, file in call.output.items() if file is not None}
    if "model" in written and call.settings.dev is None:
        raise SettingError("{model} is for the model that is best on held-out data: give {dev}")
    for file in written.values():
        check_target(file)
    found = call.library()(call.arguments["train"], call.settings)
    if "model" in written:
        found.best.save(written["model"])
    if "report" in written:
        write_page(written["report"], f"Path of {named(call.arguments['train'])}", found.report_views())
    emit(call, found.views(), first=written)
    return 0


def smaller(call: Call) -> int:
    """A verb that shows what becomes of a model, and writes what is left of it where a file is named."""
    begin(call)
    written = {name: file for name, file in call.output.items() if file is not None}
    for file in written.values():
        check_target(file)
    found = call.library()(*call.arguments.values(), call.settings)
    if "model" in written:
        found.model.save(written["model"])
    emit(call, found.views(), first=written, title=call.arguments["large"])
    return 0


# ------------------------------------------------------------------------------------------------ common


def begin(call: Call) -> None:
    """Set up standard error: notes, warnings as single lines, progress bars."""
    from spinney import progress

    progress.configure(quiet=call.quiet, wording=as_flags)
    warnings.showwarning = lambda message, *_, **__: progress.log.warning(" ".join(str(message).split()))


def load(call: Call) -> Any:
    """The model of a call, which must belong to the task."""
    from spinney.kinds import load_task

    return load_task(call.arguments["model"], call.verb.uses)


def named(data: Any) -> str:
    """File names, for titles and messages."""
    return data if isinstance(data, str) else ", ".join(data or ())


def emit(call: Call, views: Iterable[Any], first: dict[str, Any] | None = None, title: str = "") -> None:
    """Print views as one JSON object, or as text."""
    from spinney.views import as_json

    views = list(views)
    if call.json:
        print_json({**(first or {}), **as_json(views)})
        return
    from spinney.report.terminal import show_views

    show_views(views, title)


def print_json(value: Any) -> None:
    """One JSON object on a line of its own."""
    from spinney.views import finite

    print(json_line(finite(value)))


def check_target(path: str) -> None:
    """Check that a file can be written, before hours of work."""
    if path == "-":
        raise OptionError("a model cannot be written to standard output: name a file")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise InputError("no such folder", path=folder, remedy="create it first")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise InputError("cannot be written", path=path)


def make(call: Call) -> int:
    """Another verb that makes a model: a function of the library with the arguments and the settings."""
    begin(call)
    path = target(call)
    model = call.library()(*call.arguments.values(), call.settings)
    model.save(path)
    emit(call, model.summary(), first={"model": path}, title=f"Wrote {path}")
    return 0


def target(call: Call) -> str:
    """Where to write the model, checked before hours of work."""
    path: str | None = call.output["model"]
    if path is None:
        raise SettingError("{model} is missing: give the file to write the model to")
    check_target(path)
    return path
