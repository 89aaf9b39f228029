"""``spinney lm eval``: the perplexity of a text, by a stated convention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.lm_text import held_out_text, load_model
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import Format, Header, Parser, Source, TextColumn, WordsLike
from spinney.errors import OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.report.lm_views import View


def eval(
    model: Annotated[str, typer.Argument(help="A model file that fit wrote.")],
    data: Annotated[list[str], typer.Argument(help="Files of text; - is standard input.")],
    ends: Annotated[bool, typer.Option(help="Whether the ends of sentences are scored.")] = True,
    unknown: Annotated[
        bool, typer.Option(help="Whether unknown words are scored, as the unknown symbol.")
    ] = True,
    breakdown: Annotated[
        str | None,
        typer.Option(help="Mean losses by depth (of the matched context) or frequency (in training)."),
    ] = None,
    against: Annotated[
        list[str] | None, typer.Option(help="Another model: the difference, tested; may be repeated.")
    ] = None,
    words: WordsLike = None,
    parser: Parser = None,
    format: Format = "auto",
    text: TextColumn = None,
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Perplexity; by default all words and the ends of sentences are scored, as KenLM does."""
    begin(quiet)
    if breakdown not in (None, "depth", "frequency"):
        raise unknown_choice("--breakdown is", breakdown, ("depth", "frequency"))
    from spinney.corpus import ReadReport
    from spinney.report.lm_scores import TextScores
    from spinney.report.lm_views import n_parameters

    source = Source(data, format, encoding, on_error, text, header)
    if against and "-" in data:
        raise OptionError("--against reads the text again: give a file rather than standard input")

    def scores_of(path: str) -> tuple[TextScores, dict[str, Any], View | None]:
        fitted, reading = load_model(path, words, parser)
        report = ReadReport()
        read = held_out_text(source, reading, report, fitted.reading_vocabulary)
        with about(source.name):
            scores = TextScores.of(fitted, read, ends=ends, unknown=unknown)
            facts = scores.facts()
        view = None
        if path == model and breakdown == "depth":
            view = scores.by_depth(fitted.match_depths(scores.stream))
        elif path == model and breakdown == "frequency":
            view = scores.by_frequency()
        parameters, active = n_parameters(fitted)
        sizes = {"parameters": parameters, "active": active, "skipped_sentences": report.skipped}
        return scores, facts | sizes, view

    scores, facts, view = scores_of(model)
    convention = f"{'words and ends' if ends else 'words'}, {'unknown ones too' if unknown else 'known ones'}"
    facts["convention"] = convention
    if view is not None:
        facts["breakdown"] = view.as_dicts()
    compared: list[dict[str, Any]] = []
    for path in against or []:
        other, of_other, _ = scores_of(path)
        _warn_of_vocabularies(scores, other, path)
        found, n = scores.against(other, seed)
        compared.append(
            {"model": path, "own_perplexity": of_other["perplexity"], "scored": n, **found._asdict()}
        )
    if compared:
        facts["against"] = compared

    def show() -> None:
        from spinney.report.lm import show_scores, show_view
        from spinney.report.tables import show_rows

        show_scores(f"{model} on {source.name}", facts, convention)
        show_view(view)
        if compared:
            names = ["model", "baseline", "system", "difference", "low", "high", "p_value"]
            rows = [[row[name] for name in names] for row in compared]
            head = ["against", "its perplexity", "ours", "difference", "from", "to", "p"]
            show_rows("Perplexity on what both score; 95 % interval, bootstrap over sentences", head, rows)

    emit(as_json, _plain(facts), show)


def _warn_of_vocabularies(scores: Any, other: Any, path: str) -> None:
    from spinney import progress

    if set(scores.vocabulary.words) != set(other.vocabulary.words):
        what = "%s has other words: perplexities of different vocabularies are hardly comparable"
        progress.log.warning(what, path)


def _plain(value: Any) -> Any:
    """For JSON, which knows no infinity."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
