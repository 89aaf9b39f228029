"""``spinney lm``: language models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli import lm_apply, lm_eval, lm_fit, lm_inspect
from spinney.cli.inputs import about, check_target
from spinney.cli.lm_inspect import ModelIn, context_words
from spinney.cli.lm_text import held_out_text, load_model
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import Format, Header, Reading, Source, TextColumn
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.lm.mixture import LinearMixture, LogLinearMixture
    from spinney.lm.model import LanguageModel

app = typer.Typer(
    help="Language models: smoothed n-grams, Pitman-Yor, log-linear on suffix tries, classes, mixtures.",
    no_args_is_help=True,
)

ModelOut = Annotated[str, typer.Option("--model", help="Where to write the model.")]

app.command()(lm_fit.fit)
app.command()(lm_apply.apply)
app.command()(lm_eval.eval)
app.command()(lm_inspect.inspect)


@app.command()
def mix(
    models: Annotated[list[str], typer.Argument(help="Model files of the same vocabulary.")],
    dev: Annotated[str, typer.Option(help="Held-out text that the weights are fitted to.")],
    model: ModelOut,
    by: Annotated[
        str,
        typer.Option(
            help="Weights for all, for each depth of matched context, or a rule: one up to a depth, then another."
        ),
    ] = "all",
    log_linear: Annotated[
        bool, typer.Option("--log-linear", help="A weighted product rather than a sum: slow, and normalised.")
    ] = False,
    cache: Annotated[
        int | None,
        typer.Option("--cache-words", min=1, help="Mix in a cache of the last so many words of the text."),
    ] = None,
    cache_decay: Annotated[
        float | None, typer.Option(help="How much less a word weighs than the next one (default: 0.995).")
    ] = None,
    cache_order: Annotated[
        int | None, typer.Option(min=1, max=3, help="1: words (default), 2: also pairs, 3: also triples.")
    ] = None,
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
    """Several models as one, with the weights that make --dev likeliest (by EM)."""
    begin(quiet)
    check_target(model)
    if by not in ("all", "depth", "rule"):
        raise unknown_choice("--by is", by, ("all", "depth", "rule"))
    if log_linear and by != "all":
        raise OptionError(f"--log-linear has one exponent a model: --by {by} is for sums")
    if cache is None and (cache_decay is not None or cache_order is not None):
        raise OptionError("--cache-decay and --cache-order go with --cache-words")
    if len(models) + (cache is not None) < 2:
        raise OptionError("a mixture needs two models, or one and --cache-words")
    from spinney.corpus import ReadReport
    from spinney.lm.cache import CacheModel
    from spinney.lm.mixture import fit_linear, fit_log_linear

    parts, reading = _parts(models)
    first = next(iter(parts.values()))
    if cache is not None:
        decay = 0.995 if cache_decay is None else cache_decay
        parts["cache"] = CacheModel(first.vocabulary, window=cache, decay=decay, order=cache_order or 1)
    source = Source([dev], format, encoding, on_error, text, header)
    held_out = held_out_text(source, reading, ReadReport(), first.reading_vocabulary)
    mixture: LinearMixture | LogLinearMixture
    with about(dev):
        if log_linear:
            mixture = fit_log_linear(parts, held_out, random_state=seed)
        else:
            mixture = fit_linear(parts, held_out, by)  # type: ignore[arg-type]
        alone = {name: part.perplexity(held_out).perplexity for name, part in parts.items()}
        together = mixture.perplexity(held_out).perplexity
    _finish(mixture, parts, alone, together, reading, by)
    mixture.save(model)
    _tell_mixture(as_json, model, mixture, alone, together)


def _parts(paths: list[str]) -> tuple[dict[str, LanguageModel], Reading]:
    """The models by the names of their files; all of one vocabulary."""
    parts: dict[str, LanguageModel] = {}
    readings: list[Reading] = []
    for path in paths:
        part, reading = load_model(path)
        stem = name = os.path.basename(path).partition(".")[0] or "model"
        number = 1
        while name in parts or name == "cache":
            number += 1
            name = f"{stem}-{number}"
        first = next(iter(parts.values()), part).vocabulary
        if (part.vocabulary.words, part.vocabulary.unknown) != (first.words, first.unknown):
            raise InputError(
                f"other words than {paths[0]}, so the two cannot be mixed",
                path=path,
                remedy=f"fit it again with --vocabulary {paths[0]}",
            )
        parts[name] = part
        readings.append(reading)
    return parts, readings[0]


def _finish(
    mixture: LinearMixture | LogLinearMixture,
    parts: dict[str, LanguageModel],
    alone: dict[str, float],
    together: float,
    reading: Reading,
    by: str,
) -> None:
    from spinney.report.lm_views import n_parameters

    parameters, active = n_parameters(mixture)
    mixture.facts |= {
        "method": "mixture",
        "by": by,
        "words": len(mixture.vocabulary),
        "parameters": parameters,
        "active": active,
        "dev_perplexity": together,
        "parts": {
            name: {"kind": part.kind, "method": part.facts.get("method"), "dev_perplexity": alone[name]}
            for name, part in parts.items()
        },
        "reading": reading.facts(),
    }


def _tell_mixture(
    as_json: bool,
    path: str,
    mixture: LinearMixture | LogLinearMixture,
    alone: dict[str, float],
    together: float,
) -> None:
    from spinney.report.lm import show_view
    from spinney.report.lm_views import weight_view
    from spinney.report.tables import show_rows

    weights = weight_view(mixture)

    def show() -> None:
        rows = [[name, float(value)] for name, value in [*alone.items(), ("mixture", together)]]
        show_rows(f"Wrote {path}: perplexity on --dev", ["model", "perplexity"], rows)
        show_view(weights)

    facts: dict[str, Any] = {"path": path, **mixture.facts, "weights": weights.as_dicts()}
    emit(as_json, facts, show)


@app.command()
def sample(
    model: ModelIn,
    n: Annotated[int, typer.Option("--number", "-n", min=1, help="How many sentences.")] = 5,
    context: Annotated[str, typer.Option(help="The first words of each.")] = "",
    temperature: Annotated[
        float, typer.Option(help="Below 1 likely words are likelier, above 1 the draw is wilder.")
    ] = 1.0,
    max_words: Annotated[int, typer.Option(min=1, help="Words of a sentence at most.")] = 100,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw sentences from the model, one a line."""
    begin(quiet)
    fitted, reading = load_model(model)
    words, _ = context_words(context, reading)
    drawn = fitted.sample(n, context=words, max_words=max_words, temperature=temperature, random_state=seed)
    emit(as_json, {"sentences": drawn}, lambda: print("\n".join(map(" ".join, drawn))))


@app.command()
def export(
    model: ModelIn,
    output: Annotated[str, typer.Argument(help="Where to write: OUT.arpa, or OUT.arpa.gz.")],
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write an ARPA file, which KenLM, SRILM and others read; of back-off models only."""
    begin(quiet)
    if output == "-" and as_json:
        raise OptionError(
            "--json and the ARPA file cannot both go to standard output: write the file elsewhere"
        )
    if output != "-":
        check_target(output)
    from spinney.lm.arpa import write_arpa
    from spinney.lm.backoff import BackoffModel
    from spinney.report.lm_views import KINDS, order_sizes

    fitted, _ = load_model(model)
    if not isinstance(fitted, BackoffModel):
        raise InputError(
            f"a {KINDS[fitted.kind]} is no back-off model, and ARPA files hold no other",
            path=model,
            remedy="score text with apply or eval; fit with mkn, kn, wb, ad, jm, katz or pitman-yor for an ARPA file",
        )
    write_arpa(fitted, output)
    if output != "-":
        grams = [size.grams for size in order_sizes(fitted)]
        told = ", ".join(f"{n:,}" for n in grams)
        emit(as_json, {"path": output, "grams": grams}, lambda: print(f"Wrote {output}: {told} grams"))


@app.command(name="import")
def import_(
    arpa: Annotated[str, typer.Argument(help="An ARPA file, compressed or not.")],
    model: ModelOut,
    unknown: Annotated[str, typer.Option(help="The word of the file that stands for all others.")] = "<unk>",
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Text that the model is to see is put into lower case.")
    ] = False,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read an ARPA file of KenLM, SRILM or another program."""
    begin(quiet)
    check_target(model)
    from spinney.lm.arpa import read_arpa
    from spinney.report.lm import show_model
    from spinney.report.lm_views import n_parameters, order_sizes

    fitted = read_arpa(arpa, unknown=unknown, encoding=encoding)
    parameters, active = n_parameters(fitted)
    fitted.facts |= {
        "words": len(fitted.vocabulary),
        "grams": [size.grams for size in order_sizes(fitted)],
        "parameters": parameters,
        "active": active,
        "reading": Reading(lowercase=lowercase, unknown=fitted.vocabulary.unknown).facts(),
    }
    fitted.save(model)
    emit(as_json, {"path": model, **fitted.facts}, lambda: show_model(f"Wrote {model}", fitted))
