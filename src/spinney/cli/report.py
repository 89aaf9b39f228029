"""``spinney report``: one HTML page for any model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spinney.cli.running import begin, check_target, print_json
from spinney.cli.verbs import Call
from spinney.errors import OptionError, SettingError
from spinney.escaping import printable

if TYPE_CHECKING:
    from spinney.report.page import Page
    from spinney.settings.report import Report


def report(call: Call) -> int:
    """Write a page that shows what a model learned, and needs neither a network nor any other file."""
    begin(call)
    model, data, output = call.arguments["model"], call.output["data"], call.output["output"]
    if output == "-" and call.json:
        raise SettingError("the page and JSON cannot both go to standard output: name a file as {output}")
    if output != "-":
        check_target(output)
    from spinney.corpus import writing

    page, facts = page_of(model, data, call.settings)
    with writing(output) as file:
        file.write(page.html())
    if call.json:
        print_json({"report": output, **facts})
    elif output != "-":
        print(printable(f"Wrote {output}"))
    return 0


def page_of(model: str, data: str | None, settings: Report) -> tuple[Page, dict[str, Any]]:
    """The page of a model file, with data if given, and facts about the data: their number and the scores."""
    from spinney.files import read_model
    from spinney.kinds import KINDS, load
    from spinney.report.html import view_page
    from spinney.views import as_json, every

    title, kind = os.path.basename(model), read_model(model).kind
    if kind in KINDS:
        views = load(model).report_views(data, settings)
    elif data is None:
        from spinney.report.model_file import file_views

        views = file_views(read_model(model))
    else:
        raise OptionError(f"{model} is a model of the unknown kind {kind}, whose page cannot show data")
    known = as_json(view for view in every(views) if view.key in _ABOUT_DATA)
    return view_page(title, views), {"kind": kind, **known}


#: The facts about the data that JSON output has.
_ABOUT_DATA = ("documents", "sentences", "scores")
