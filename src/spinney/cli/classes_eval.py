"""``spinney classes eval``: what word classes are worth, beside what people say of words, and on other text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import (
    Format,
    Header,
    Parser,
    Reading,
    Source,
    TextColumn,
    WordsLike,
    vocabulary_of,
    warn_of_unknown,
)
from spinney.cli.vector_scores import category_scores, plain, show_vector_scores, similarity_scores
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.classes import Clustering, HiddenMarkov
    from spinney.structure import WordVectors


def eval(
    model: Annotated[str, typer.Argument(help="A model file that fit wrote.")],
    similarity: Annotated[
        list[str] | None,
        typer.Option(help="Pairs of words with the scores that people gave them; may be repeated."),
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(help="A CSV file of words with their categories; may be repeated.")
    ] = None,
    level: Annotated[
        int | None, typer.Option(min=0, help="Which part of categories such as communication-cognition.")
    ] = None,
    bless: Annotated[str | None, typer.Option(help="Concepts, words and their relations: BLESS.")] = None,
    composition: Annotated[
        list[str] | None, typer.Option(help="Pairs of clauses with scores: ELLDIS, ELLSIM; may be repeated.")
    ] = None,
    held_out: Annotated[str | None, typer.Option(help="Held-out text: its likelihood.")] = None,
    measure: Annotated[
        str,
        typer.Option(
            help="hellinger, bhattacharyya, jensen_shannon, chi2, kl, cosine, dot or euclidean (similarity only)."
        ),
    ] = "hellinger",
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
    """Word similarity, categorisation, BLESS, composition, held-out likelihood: what is asked for."""
    begin(quiet)
    if not (similarity or categories or bless or composition or held_out):
        raise OptionError(
            "say what to evaluate: --similarity, --categories, --bless, --composition or --held-out"
        )
    from spinney.classes import load_word_model
    from spinney.report.classes import model_vectors

    fitted = load_word_model(model)
    measure = measure.replace("-", "_")
    scores: dict[str, Any] = {}
    if similarity or categories or bless or composition:
        vectors = model_vectors(fitted)
    if similarity:
        scores["similarity"] = {file: similarity_scores(vectors, file, measure) for file in similarity}
    if categories:
        scores["categories"] = {file: category_scores(vectors, file, measure, level) for file in categories}
    if bless:
        scores["bless"] = _bless(fitted, vectors, bless, measure)
    if composition:
        scores["composition"] = {file: _composition(fitted, vectors, file, measure) for file in composition}
    if held_out:
        source = Source([held_out], format, encoding, on_error, text, header)
        scores |= _likelihood(fitted, source, words, parser, threads)
    emit(as_json, plain(scores), lambda: _show(scores))


def _bless(model: Clustering | HiddenMarkov, vectors: WordVectors, file: str, measure: Any) -> dict[str, Any]:
    """As they are, and with words of other parts of speech moved into the classes of their heads, if that can be."""
    from spinney.classes import HiddenMarkov
    from spinney.evaluate import bless_boxes, bless_precision_recall, cross_pos, read_bless

    transforms: dict[str, Any] = {"plain": None}
    if isinstance(model, HiddenMarkov):
        transforms["transformed"] = cross_pos(model.shared_transition_, model.structure)
    found: dict[str, Any] = {}
    with about(file):
        pairs = read_bless(file)
        for name, transform in transforms.items():
            boxes = bless_boxes(vectors, pairs, measure, transform)
            curve = bless_precision_recall(vectors, pairs, measure, transform)
            found[name] = {
                "average_precision": curve["average_precision"],
                "recall": curve["recall"],
                "precision": curve["precision"],
                "quartiles": boxes["quartiles"],
            }
            found |= {key: boxes[key] for key in ("concepts", "pairs", "coverage")}
    return found


def _composition(
    model: Clustering | HiddenMarkov, vectors: WordVectors, file: str, measure: Any
) -> dict[str, Any]:
    """All operators. Clauses that differ in their verbs alone are compared with the bare second verb."""
    from spinney.classes import HiddenMarkov
    from spinney.evaluate import composition_correlation, read_composition

    hidden = isinstance(model, HiddenMarkov)
    operators = ["baseline", "add", "mult", *(["t-add", "t-mult"] if hidden else [])]
    how: dict[str, Any] = {"measure": measure}
    if isinstance(model, HiddenMarkov):
        how |= {"T": model.shared_transition_, "structure": model.structure}
    with about(file):
        items = read_composition(file)
        same = all(one._replace(verb="") == two._replace(verb="") for one, two, *_ in items)
        how["second"] = "bare" if same else "composed"
        found = {name: composition_correlation(vectors, items, operator=name, **how) for name in operators}  # type: ignore[arg-type]
    return {"second": how["second"], **found}


def _likelihood(
    model: Clustering | HiddenMarkov,
    source: Source,
    words: str | None,
    parser: str | None,
    threads: int | None,
) -> dict[str, Any]:
    """The log-likelihood a token of a text: exact, or that of the bigram model of a clustering's classes."""
    from dataclasses import replace

    from spinney.classes import HiddenMarkov, average_mutual_information, pair_counts
    from spinney.classes.bigrams import bigram_log_likelihood
    from spinney.corpus import ReadReport

    facts = model.facts_ if isinstance(model, HiddenMarkov) else model.facts
    reading = Reading.of(facts, words, parser)
    tree = facts.get("structure", "chain") == "tree"
    relations = isinstance(model, HiddenMarkov) and len(model.relations_) > 1
    reading = replace(reading, tree=tree, relations=relations)
    vocabulary, report = vocabulary_of(model, reading), ReadReport()
    with about(source.name):
        arrays = source.read(reading, report, vocabulary=vocabulary)
        warn_of_unknown(source.name, report, vocabulary)
        found: dict[str, Any] = {}
        if isinstance(model, HiddenMarkov):
            model.threads = threads
            total = model.log_likelihood(arrays)
        else:
            pairs = pair_counts(arrays, tree=tree, threads=threads)
            total = bigram_log_likelihood(model, pairs)
            n = model.classes.n_classes
            found["ami"] = average_mutual_information(pairs.of_classes(model.classes.ids, n))
    value = total / arrays.n_tokens
    return {
        "log_likelihood": value,
        "perplexity": math.exp(-value),
        **found,
        "sentences": len(arrays),
        "tokens": arrays.n_tokens,
        "unknown_share": report.unknown / max(report.tokens, 1),
        "skipped": report.skipped,
        "long": report.long,
    }


def _show(scores: dict[str, Any]) -> None:
    from os.path import basename

    from spinney.report.tables import show_facts, show_rows

    show_vector_scores(scores)
    if "bless" in scores:
        bless = scores["bless"]
        kinds = [name for name in ("plain", "transformed") if name in bless]
        title = f"BLESS: {bless['concepts']} concepts, coverage {bless['coverage']:.0%}; medians by relation"
        relations = list(bless["plain"]["quartiles"])
        rows = [[name, *(bless[kind]["quartiles"][name][2] for kind in kinds)] for name in relations]
        rows.append(["average precision", *(bless[kind]["average_precision"] for kind in kinds)])
        show_rows(title, ["relation", *kinds], rows)
    for file, found in scores.get("composition", {}).items():
        rows = [
            [name, row["pearson"], row["spearman"], row["n"], row["items"]]
            for name, row in found.items()
            if name != "second"
        ]
        title = f"Composition: {basename(file)}, the second verb {found['second']}"
        show_rows(title, ["operator", "pearson", "spearman", "n", "items"], rows)
    nested = ("similarity", "categories", "bless", "composition")
    plain = {name.replace("_", " "): value for name, value in scores.items() if name not in nested}
    if plain:
        show_facts("Held-out text", plain)
