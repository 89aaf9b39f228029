"""``spinney lm apply``: the log-probability of each word of a text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from spinney.cli.inputs import about
from spinney.cli.lm_text import load_model
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import (
    Format,
    Header,
    Parser,
    Reading,
    Source,
    TextColumn,
    Tokens,
    WordsLike,
    token_batches,
)
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.corpus import ReadReport
    from spinney.lm.model import LanguageModel

_LOG10 = math.log(10.0)


class _Scored(NamedTuple):
    """A sentence: its words, and of each and of its end log10 p and the length of the matched context, if known."""

    words: list[str]
    log10: list[float]
    depths: list[int] | None

    @property
    def total(self) -> float:
        return sum(self.log10)

    @property
    def perplexity(self) -> float:
        exponent = -self.total / len(self.log10)
        return 10.0**exponent if exponent < 300 else math.inf


def apply(
    model: Annotated[str, typer.Argument(help="A model file that fit wrote.")],
    data: Annotated[str, typer.Argument(help="Text; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    sentences: Annotated[
        bool, typer.Option("--sentences", help="One line a sentence: number, log10 total, words, perplexity.")
    ] = False,
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
    """One word a line: sentence, place, word, log10 probability, length of the matched context; ends too."""
    begin(quiet)
    if as_json and output != "-":
        raise OptionError("--json goes to standard output: leave out --output")
    from spinney import progress
    from spinney.corpus import ReadReport, writing

    fitted, reading = load_model(model, words, parser)
    source, report = Source([data], format, encoding, on_error, text, header), ReadReport()
    batches = _scored_batches(fitted, source, reading, report)
    if as_json:
        with about(data):
            found = [_as_dict(scored, sentences) for batch in batches for scored in batch]
        emit(True, {"sentences": found, "skipped": report.skipped}, lambda: None)
        return
    number = 0
    with about(data), writing(output) as file:
        for batch in batches:
            for scored in batch:
                number += 1
                file.write(_line(number, scored) if sentences else _lines(number, scored))
            file.flush()
    if report.skipped:
        progress.log.warning("%d sentences passed over, the first: %s", report.skipped, report.errors[0])


def _scored_batches(
    model: LanguageModel, source: Source, reading: Reading, report: ReadReport
) -> Iterator[list[_Scored]]:
    """Sentences with their scores, some at a time; all at once for a model that remembers the text so far."""
    batches: Iterator[list[Tokens]] = (
        _unmarked(batch, source, report) for batch in token_batches(source, reading, report)
    )
    if _remembers(model):
        batches = iter([[tokens for batch in batches for tokens in batch]])
    for batch in batches:
        yield list(_scored(model, batch))


def read_sentences(source: Source, reading: Reading) -> list[list[str]]:
    """The words of all sentences of a text."""
    from spinney.corpus import ReadReport

    report = ReadReport()
    with about(source.name):
        batches = [_unmarked(batch, source, report) for batch in token_batches(source, reading, report)]
    return [tokens.words for batch in batches for tokens in batch]


def _unmarked(batch: list[Tokens], source: Source, report: ReadReport) -> list[Tokens]:
    from spinney.lm.stream import END, START

    marked = [tokens for tokens in batch if START in tokens.words or END in tokens.words]
    if not marked:
        return batch
    what = f"{START} or {END} is a word of: {' '.join(marked[0].words)[:60]}"
    if source.on_error == "raise":
        raise InputError(what, remedy="remove it, or pass over such sentences with --on-error skip")
    report.skipped += len(marked)
    report.errors.append(what)
    return [tokens for tokens in batch if not any(tokens is bad for bad in marked)]


def _remembers(model: LanguageModel) -> bool:
    """Whether what was said in other sentences matters."""
    from spinney.lm.cache import CacheModel

    return isinstance(model, CacheModel) or any(map(_remembers, model.components().values()))


def _scored(model: LanguageModel, batch: list[Tokens]) -> Iterator[_Scored]:
    from spinney.errors import OptionError

    if not batch:
        return
    stream = model.stream([tokens.words for tokens in batch])
    logs = (model.event_logprobs(stream) / _LOG10).tolist()
    try:
        depths = model.match_depths(stream).tolist()
    except OptionError:
        depths = None
    start = 0
    for tokens in batch:
        stop = start + len(tokens.words) + 1
        yield _Scored(tokens.words, logs[start:stop], None if depths is None else depths[start:stop])
        start = stop


def _lines(number: int, scored: _Scored) -> str:
    from spinney.lm.stream import END

    rows = []
    for place, (word, log10) in enumerate(zip([*scored.words, END], scored.log10), 1):
        depth = "" if scored.depths is None else f"\t{scored.depths[place - 1]}"
        rows.append(f"{number}\t{place}\t{word}\t{log10:.6g}{depth}\n")
    return "".join(rows)


def _line(number: int, scored: _Scored) -> str:
    return f"{number}\t{scored.total:.6g}\t{len(scored.words)}\t{scored.perplexity:.6g}\n"


def _as_dict(scored: _Scored, brief: bool) -> dict[str, Any]:
    """For JSON, which knows no infinity."""
    if brief:
        total, perplexity = (_finite(value) for value in (scored.total, scored.perplexity))
        return {"log10": total, "words": len(scored.words), "perplexity": perplexity}
    facts = {"words": scored.words, "log10": [_finite(value) for value in scored.log10]}
    return facts if scored.depths is None else facts | {"depth": scored.depths}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
