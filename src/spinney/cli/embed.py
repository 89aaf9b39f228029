"""``spinney embed``: vectors of words, spectral models of sentences, topics of documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli import embed_apply, embed_eval, embed_inspect
from spinney.cli.embed_documents import learn_bags
from spinney.cli.inputs import about, check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import Format, Header, Reading, Source, TextColumn, numbered
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.corpus import ReadReport, TokenArrays
    from spinney.embed import Embedding, SpectralHMM

app = typer.Typer(
    help="Embeddings: eigenwords and their kin, sparse codes, spectral HMMs, topics by moments.",
    no_args_is_help=True,
)

CODES = ("sparse", "lasso")
COUNTED = ("cca", "tscca", "svd", "rescaled", "pmi", *CODES)
SPECTRAL = ("cca", "tscca", "lrmvl", "svd", "rescaled", "pmi")
VECTORS = (*SPECTRAL, *CODES)
METHODS = (*VECTORS, "hmm", "topics")
#: The methods that an option is for.
METHODS_OF: dict[str, tuple[str, ...]] = {
    "dimensions": VECTORS, "window": COUNTED, "weighting": COUNTED, "contexts": COUNTED,
    "positional": ("cca", "svd", "rescaled", "pmi", *CODES), "edges": ("cca", "svd", "rescaled", "pmi", *CODES),
    "transform": ("cca", "tscca"), "pseudo": ("cca", "tscca", "hmm"), "center": ("cca",),
    "context_exponent": ("cca", "pmi", *CODES), "floor": ("pmi", *CODES), "shift": ("pmi", *CODES),
    "min_pair": ("pmi", *CODES), "exponent": SPECTRAL, "rows": SPECTRAL, "whitening": ("tscca",),
    "variant": ("lrmvl", "hmm"), "rates": ("lrmvl",), "passes": ("lrmvl", *CODES), "lam": CODES,
    "branching": ("sparse",), "coding": CODES,
    "svd": ("cca", "tscca", "svd", "rescaled", "pmi"), "power": ("cca", "tscca", "svd", "rescaled", "pmi", "hmm"),
    "states": ("hmm",), "topics": ("topics",), "alpha0": ("topics",), "polish": ("topics",),
    "stop_words": ("topics",), "cache": (*VECTORS, "hmm"),
}  # fmt: skip
CHOICES = {
    "weighting": ("flat", "harmonic", "linear"), "transform": ("raw", "sqrt", "log", "two-thirds"),
    "rows": ("unit", "canonical", "plain"), "coding": ("dictionary", "stochastic"), "whitening": ("diagonal", "full"),
    "svd": ("auto", "exact", "lanczos", "randomized"),
}  # fmt: skip
#: The parameter that an option is, where their names differ.
_NAMES = {"contexts": "n_contexts", "states": "n_states", "topics": "n_topics"}


@app.command()
def fit(
    train: Annotated[list[str], typer.Argument(help="Files of text, or folders; - is standard input.")],
    model: Annotated[str, typer.Option("--model", help="Where to write the model.")],
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.")] = "cca",
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1, help="The length of a vector (default: 100; sparse and lasso 52).", show_default=False
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            help="Words on each side that are the context, N, or before and after, N,M "
            "(default: 5; svd and rescaled 0,1).",
            show_default=False,
        ),
    ] = None,
    weighting: Annotated[
        str | None,
        typer.Option(
            help="The weight of a context: flat, harmonic (1/distance) or linear "
            "(default: harmonic for cca and tscca).",
            show_default=False,
        ),
    ] = None,
    positional: Annotated[
        bool, typer.Option("--positional", help="Each place of the window has contexts of its own.")
    ] = False,
    edges: Annotated[
        bool, typer.Option("--edges", help="The ends of a sentence are contexts like words.")
    ] = False,
    contexts: Annotated[
        int | None, typer.Option(min=1, help="So many words, the most frequent, are contexts (default: all).")
    ] = None,
    transform: Annotated[
        str | None, typer.Option(help="cca, tscca: counts as raw, sqrt (default), log or two-thirds.")
    ] = None,
    pseudo: Annotated[
        float | None,
        typer.Option(min=0, help="cca, tscca, hmm: added to the counts that divide (default: 0; hmm 400)."),
    ] = None,
    context_exponent: Annotated[
        float | None,
        typer.Option(help="cca, pmi, sparse, lasso: counts of contexts to this power (default: 1)."),
    ] = None,
    center: Annotated[bool, typer.Option("--center", help="cca: take the means off.")] = False,
    floor: Annotated[
        float | None,
        typer.Option(help="pmi, sparse, lasso: smaller PMI is 0 (default: 0 for pmi, none for codes)."),
    ] = None,
    shift: Annotated[
        float | None, typer.Option(help="pmi, sparse, lasso: taken off PMI (default: 0).")
    ] = None,
    min_pair: Annotated[
        float | None,
        typer.Option(min=0, help="pmi, sparse, lasso: pairs seen less are left out (default: 0)."),
    ] = None,
    exponent: Annotated[
        float | None, typer.Option(help="Of the singular values in the vectors U·s^p (default: 0.25).")
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="Vectors of unit length (default), canonical, or plain.")
    ] = None,
    whitening: Annotated[
        str | None, typer.Option(help="tscca: of states, diagonal (default) or full.")
    ] = None,
    variant: Annotated[
        str | None, typer.Option(help="lrmvl: I or II (default). hmm: full (default) or reduced.")
    ] = None,
    rates: Annotated[
        str | None, typer.Option(help="lrmvl: how fast contexts fade (default: 0.1,0.5,0.9).")
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1, help="lrmvl: passes (default: 6). --coding stochastic: visits of each entry (20)."
        ),
    ] = None,
    lam: Annotated[
        float | None, typer.Option(help="sparse, lasso: the strength of the penalty (default: 0.1).")
    ] = None,
    branching: Annotated[
        str | None, typer.Option(help="sparse: children of a root, of each of these, … (default: 4,2).")
    ] = None,
    coding: Annotated[
        str | None,
        typer.Option(help="sparse, lasso: dictionary (default) or stochastic, entry by entry."),
    ] = None,
    svd: Annotated[
        str | None, typer.Option(help="auto (default), exact, lanczos or randomized decomposition.")
    ] = None,
    power: Annotated[
        int | None, typer.Option(min=1, help="Passes of the randomized SVD (default: 8; hmm 5).")
    ] = None,
    states: Annotated[int | None, typer.Option(min=1, help="hmm: how many states (default: 32).")] = None,
    topics: Annotated[int | None, typer.Option(min=1, help="topics: how many (default: 10).")] = None,
    alpha0: Annotated[
        float | None,
        typer.Option(
            min=0, help="topics: 0 for one topic a document (default), else the sum of Dirichlet's α."
        ),
    ] = None,
    polish: Annotated[
        int | None, typer.Option(min=0, help="topics: passes of EM at the end (default: 0).")
    ] = None,
    stop_words: Annotated[
        int | None, typer.Option(min=0, help="topics: leave out so many words, the commonest (default: 100).")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Take The for the.")] = False,
    min_count: Annotated[int, typer.Option(min=1, help="Words seen fewer times become --unknown.")] = 5,
    max_words: Annotated[
        int | None, typer.Option(min=2, help="Keep the most frequent words only, so many with --unknown.")
    ] = None,
    unknown: Annotated[
        str, typer.Option(help="The word that stands for all others (topics pass over them).")
    ] = "<unk>",
    cache: Annotated[
        str | None, typer.Option(help="A folder to keep the numbered text in, for the next run.")
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
    """Learn vectors, states or topics from text and write them to --model."""
    begin(quiet)
    check_target(model)
    from spinney.corpus import ReadReport
    from spinney.report.embed import show_fit

    given = {
        "dimensions": dimensions, "window": window, "weighting": weighting, "positional": positional or None,
        "edges": edges or None, "contexts": contexts, "transform": transform, "pseudo": pseudo,
        "context_exponent": context_exponent, "center": center or None, "floor": floor, "shift": shift,
        "min_pair": min_pair, "exponent": exponent, "rows": rows, "whitening": whitening, "variant": variant,
        "rates": rates, "passes": passes, "lam": lam, "branching": branching,
        "coding": coding, "svd": svd, "power": power,
        "states": states, "topics": topics, "alpha0": alpha0, "polish": polish, "stop_words": stop_words,
        "cache": cache,
    }  # fmt: skip
    settings = _settings(method, given) | {"random_state": seed, "threads": threads}
    source, report = Source(train, format, encoding, on_error, text, header), ReadReport()
    if method == "topics":
        cut = {"min_count": min_count, "max_words": max_words}
        facts = _fit_topics(source, lowercase, report, settings, model, cut)
    else:
        reading = Reading(lowercase=lowercase, unknown=unknown or None)
        with numbered(source, reading, report, cache, min_count=min_count, max_size=max_words) as arrays:
            _refuse_few_words(arrays, source.name)
            with about(source.name):
                fitted = _fit_words(method, settings, arrays, reading, report)
        fitted.save(model)
        facts = fitted.facts_
    emit(as_json, {"path": model, **facts}, lambda: show_fit(f"Wrote {model}", facts))


app.command()(embed_apply.apply)
app.command()(embed_eval.eval)
app.command()(embed_inspect.inspect)
app.command()(embed_inspect.neighbours)
app.command()(embed_inspect.export)
app.command()(embed_inspect.cluster)


# ------------------------------------------------------------------------------------------- options


def _settings(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the model: what is given, which must be for this method; the rest keeps its default."""
    if method not in METHODS:
        raise unknown_choice("--method is", method, METHODS)
    chosen = {name: value for name, value in given.items() if value is not None}
    variants = {"variant": ("full", "reduced") if method == "hmm" else ("I", "II")}
    for name, value in chosen.items():
        option = f"--{name.replace('_', '-')}"
        if method not in METHODS_OF[name]:
            raise OptionError(f"{option} is not for --method {method}: it is for {_listed(METHODS_OF[name])}")
        known = (CHOICES | variants).get(name)
        if known is not None and value not in known:
            raise unknown_choice(f"{option} is", value, known)
    for name, kind in (("window", int), ("rates", float), ("branching", int)):
        if name in chosen:
            chosen[name] = _numbers(chosen[name], kind, f"--{name}")
    if "window" in chosen:
        if len(chosen["window"]) > 2:
            raise OptionError("--window is N, or N,M: words before and after")
        chosen["window"] = (
            chosen["window"] if len(chosen["window"]) == 2 else (chosen["window"][0], chosen["window"][0])
        )
    if "passes" in chosen and method in CODES:
        if chosen.get("coding") != "stochastic":
            raise OptionError("--passes is for --coding stochastic")
        chosen["epochs"] = chosen.pop("passes")
    chosen.pop("cache", None)
    if method == "hmm" and "pseudo" in chosen:
        chosen["pseudo_count"] = chosen.pop("pseudo")
    return {_NAMES.get(name, name): value for name, value in chosen.items()}


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else names[0]


def _numbers(text: str, kind: type[int] | type[float], name: str) -> tuple[Any, ...]:
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise OptionError(f"{name} is {what} between commas, not {text!r}") from None


# ------------------------------------------------------------------------------------------- learning


def _refuse_few_words(arrays: TokenArrays, name: str) -> None:
    """Vectors say how words differ: of one word there is nothing to say."""
    words = [word for word in arrays.vocabulary if word != arrays.vocabulary.unknown]
    if len(words) < 2:
        what = f"{len(words) or 'no'} word{'' if len(words) == 1 else 's'} to learn vectors of"
        raise InputError(what, path=name, remedy="give more text, or lower --min-count")


def _fit_words(
    method: str, settings: dict[str, Any], arrays: TokenArrays, reading: Reading, report: ReadReport
) -> Embedding | SpectralHMM:
    """A fitted model whose facts say what was read, too."""
    from spinney.embed import Embedding, SpectralHMM

    fitted: Embedding | SpectralHMM
    if method == "hmm":
        fitted = SpectralHMM(**settings).fit(arrays)
        fitted.facts_ |= {"method": "hmm", "reading": reading.facts()}
    else:
        fitted = Embedding(method, **settings).fit(arrays, reading=reading.facts())  # type: ignore[arg-type]
    fitted.facts_ |= {
        "tokens_per_second": arrays.n_tokens / max(fitted.facts_["seconds"], 1e-9),
        "unknown_share": report.unknown / max(report.tokens, 1),
        "skipped": report.skipped,
    }
    return fitted


def _fit_topics(
    source: Source,
    lowercase: bool,
    report: ReadReport,
    settings: dict[str, Any],
    target: str,
    cut: dict[str, Any],
) -> dict[str, Any]:
    """Learn topics and write them; what was read and done."""
    from spinney.embed import MomentTopics

    stop_words = settings.pop("stop_words", 100)
    bags = learn_bags(source, lowercase, report, stop_words=stop_words, **cut)
    started = time.perf_counter()
    with about(source.name):
        reading = Reading(lowercase=lowercase, unknown=None).facts()
        fitted = MomentTopics(**settings).fit(bags.counts, words=bags.words, reading=reading)
    seconds = time.perf_counter() - started
    tokens = int(bags.counts.sum())
    fitted.facts_ |= {
        "method": "topics",
        "documents": fitted.n_documents_,
        "dropped": fitted.n_dropped_,
        "tokens": tokens,
        "words": len(bags.words),
        "stop_words": stop_words,
        "topics": len(fitted.weights_),
        "passes": fitted.polish or None,
        "objective": fitted.trace_[-1] if fitted.trace_ else None,
        "seconds": seconds,
        "tokens_per_second": tokens / max(seconds, 1e-9),
        "skipped": report.skipped,
    }
    fitted.save(target)
    return fitted.facts_
