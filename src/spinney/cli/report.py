"""``spinney report``: one HTML page for any model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spinney.cli.running import begin, check_target, print_json
from spinney.cli.verbs import Call, imported
from spinney.errors import OptionError, SettingError

if TYPE_CHECKING:
    from spinney.report.page import Page
    from spinney.settings.report import Report


def report(call: Call) -> int:
    """Write what a model learnt on a page that needs nothing else: no network, no other file."""
    begin(call)
    model, data, output = call.arguments["model"], call.output["data"], call.output["output"]
    if output == "-" and call.json:
        raise SettingError("{output} - and JSON both write to standard output: give a file for the page")
    if output != "-":
        check_target(output)
        for source in (model, data):
            if source and os.path.exists(output) and os.path.realpath(source) == os.path.realpath(output):
                raise SettingError("{output} {path} would replace what is to be read", path=output)
    from spinney.corpus import writing

    page, facts = page_of(model, data, call.settings)
    with writing(output) as file:
        file.write(page.html())
    if call.json:
        print_json({"report": output, **facts})
    elif output != "-":
        print(f"Wrote {output}")
    return 0


def page_of(model: str, data: str | None, settings: Report) -> tuple[Page, dict[str, Any]]:
    """The page of a model file, perhaps shown on data, and what is known of these: their number and the scores."""
    from spinney.files import read_model
    from spinney.model import KINDS, load
    from spinney.report.html import view_page
    from spinney.views import Extra, Facts, as_json, every

    title, kind = os.path.basename(model), read_model(model).kind
    if kind in OLD:  # deleted with the last task that is not made of views
        page, known = imported(OLD[kind])(_wanted(model, data, settings))
        return page, {"kind": kind, **known}
    if kind in KINDS:
        views = load(model).report_views(data, settings)
    elif data is None:
        from spinney.report.model_file import file_views

        views = file_views(read_model(model))
    else:
        raise OptionError(f"{model} is a model of the unknown kind {kind}, whose page shows no data")
    known = [view for view in every(views) if isinstance(view, Facts | Extra) and view.key != "facts"]
    return view_page(title, views), {"kind": kind, **as_json(known)}


# --------------------------------------------------------- pages of tasks that are not made of views yet

OLD = {
    "classes/Clustering": "spinney.cli.classes_report:report_page",
    "classes/HiddenMarkov": "spinney.cli.classes_report:report_page",
    "embed/Embedding": "spinney.cli.embed_report:report_page",
    "embed/SpectralHMM": "spinney.cli.embed_report:report_page",
    "embed/MomentTopics": "spinney.cli.embed_report:report_page",
    "structure/WordClasses": "spinney.cli.classes_report:structure_report_page",
    "structure/WordVectors": "spinney.cli.embed_report:structure_report_page",
    "structure/Groups": "spinney.cli.embed_report:structure_report_page",
    "structure/ClassTree": "spinney.cli.embed_report:structure_report_page",
}


def _wanted(model: str, data: str | None, s: Report) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(**(s.values() | {"model": model, "data": data, "text": s.text or "text"}))
