"""``spinney embed apply``: vectors or states of tokens, probabilities of sentences, topics of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.embed_documents import read_bags
from spinney.cli.embed_models import load_model
from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import (
    Format,
    Header,
    Reading,
    Source,
    TextColumn,
    Tokens,
    batch_arrays,
    token_batches,
)
from spinney.errors import OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.corpus import TokenArrays
    from spinney.embed import Embedding, MomentTopics, SpectralHMM

_WHAT = ("auto", "states")

#: What is said of each sentence of some: a row of numbers a token, or one number.
Said = Callable[[Sequence[Tokens]], Iterator[Any]]


def apply(
    model: Annotated[str, typer.Argument(help="A model file that fit wrote.")],
    data: Annotated[str, typer.Argument(help="Text; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", "--out", "-o", help="Where to write; - is standard output.")
    ] = "-",
    what: Annotated[
        str,
        typer.Option(
            help="auto (vectors of words; hmm: probabilities of sentences; topics: proportions) or states (what the "
            "words around each token say; hmm: all words up to it)."
        ),
    ] = "auto",
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
    """A token a line with its vector, a blank line after each sentence; hmm: a sentence a line with its log
    probability; topics: a document a line with its proportions."""
    begin(quiet)
    if what not in _WHAT:
        raise unknown_choice("--what is", what, _WHAT)
    states = what == "states"
    from spinney import progress
    from spinney.corpus import ReadReport
    from spinney.embed import MomentTopics

    fitted = load_model(model)
    reading = Reading.of(fitted.facts_)
    source, report = Source([data], format, encoding, on_error, text, header), ReadReport()
    if isinstance(fitted, MomentTopics):
        if states:
            raise OptionError("--what states: topics have proportions of documents, and no states of tokens")
        _topics(fitted, source, reading, report, output, as_json)
    else:
        fitted.threads = threads
        key, said = _said(fitted, reading, states)
        batches = token_batches(source, reading, report)
        with about(data):
            if as_json:
                found = [
                    {"words": tokens.words, key: _listed(one)}
                    for batch in batches
                    for tokens, one in zip(batch, said(batch))
                ]
                emit(True, {"sentences": found, "skipped": report.skipped}, lambda: None)
            else:
                _write_sentences(output, batches, said)
    if report.skipped and not as_json:
        progress.log.warning("%d passed over, the first: %s", report.skipped, report.errors[0])


def _said(model: Embedding | SpectralHMM, reading: Reading, states: bool) -> tuple[str, Said]:
    """What is said of sentences, and by what name."""
    import numpy as np

    from spinney.embed import Embedding

    def of_tokens(numbers: Callable[[TokenArrays], Any]) -> Said:
        def said(batch: Sequence[Tokens]) -> Iterator[Any]:
            arrays = batch_arrays(batch, model.vocabulary_, reading)
            yield from np.split(numbers(arrays), arrays.offsets[1:-1])

        return said

    if isinstance(model, Embedding):
        if states and not model.states_:
            raise OptionError(f"--what states: {model.method} has vectors of words, and no states of tokens")
        return ("states", of_tokens(model.token_states)) if states else (
            "vectors",
            of_tokens(model.token_vectors),
        )  # fmt: skip
    if states:
        return "states", of_tokens(model.filter)

    def log_probabilities(batch: Sequence[Tokens]) -> Iterator[float]:
        arrays = batch_arrays(batch, model.vocabulary_, reading)
        for number, tokens in enumerate(batch):
            # The end of a sentence is predicted, too.
            yield -(len(tokens.words) + 1) * float(np.log(model.perplexity(arrays.part(number, number + 1))))

    return "log_probability", log_probabilities


def _write_sentences(output: str, batches: Iterator[list[Tokens]], said: Said) -> None:
    from spinney.corpus import writing

    with writing(output) as file:
        for batch in batches:
            for tokens, one in zip(batch, said(batch)):
                if isinstance(one, float):
                    file.write(f"{one:.6f}\t{' '.join(tokens.words)}\n")
                    continue
                line = _row_format(one)
                lines = [f"{word}\t{line % tuple(row)}\n" for word, row in zip(tokens.words, one.tolist())]
                file.write("".join(lines) + "\n")
            file.flush()


def _topics(
    model: MomentTopics, source: Source, reading: Reading, report: Any, output: str, as_json: bool
) -> None:
    from spinney.corpus import writing

    bags = read_bags(source, reading.lowercase, report, model.words_)
    shares = model.transform(bags.counts)
    if as_json:
        found = [{"id": name, "topics": row} for name, row in zip(bags.names, shares.tolist())]
        emit(True, {"documents": found, "skipped": report.skipped}, lambda: None)
        return
    line = "\t".join(["%.6g"] * shares.shape[1])
    with writing(output) as file:
        file.writelines(f"{name}\t{line % tuple(row)}\n" for name, row in zip(bags.names, shares.tolist()))


def _row_format(rows: Any) -> str:
    """Enough digits to read the same single-precision numbers back."""
    return "\t".join(["%.9g"] * rows.shape[1])


def _listed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
