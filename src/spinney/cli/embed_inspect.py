"""``spinney embed inspect``, ``neighbours``, ``export``, ``cluster``: what a model holds, for people and programs."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.embed_models import load_model
from spinney.cli.inputs import about, check_target
from spinney.cli.options import Json, Quiet, Seed, Threads, begin, emit
from spinney.cli.structures import word_vectors
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.embed import MomentTopics

ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]
VectorsIn = Annotated[
    str, typer.Argument(help="A model file that fit wrote, or a file of vectors (word2vec).")
]


def inspect(
    model: ModelIn,
    dimensions: Annotated[int, typer.Option(min=1, help="How many dimensions or topics, the first.")] = 10,
    top: Annotated[int, typer.Option(min=1, help="How many words for each.")] = 8,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """How it was learnt, its spectrum, and the strongest words of dimensions or topics."""
    begin(quiet)
    from spinney.embed import Embedding, MomentTopics
    from spinney.report import embed as views

    fitted = load_model(model)
    facts = dict(fitted.facts_)
    if isinstance(fitted, MomentTopics):
        _inspect_topics(model, fitted, facts, dimensions, top, as_json)
        return
    parent = fitted.parent_ if isinstance(fitted, Embedding) else None
    vectors = views.model_vectors(fitted)
    shown = views.dimension_views(vectors, dimensions, top, parent)
    spectrum = fitted.singular_values_
    found: dict[str, Any] = facts | {
        "singular_values": spectrum.tolist(),
        "strongest": [view.as_dict() for view in shown],
    }
    if parent is not None:
        found["levels"] = views.level_shares(vectors, parent)

    def show() -> None:
        views.show_fit(model, facts)
        views.show_spectrum("singular values", spectrum)
        if parent is not None:
            views.show_levels(found["levels"])
        title = (
            "Dimensions"
            if len(shown) == vectors.dimension
            else f"{len(shown)} of {vectors.dimension} dimensions"
        )
        views.show_dimensions(f"{title} with the words at their ends", shown)

    emit(as_json, found, show)


def _inspect_topics(
    path: str, model: MomentTopics, facts: dict[str, Any], n: int, words: int, as_json: bool
) -> None:
    from spinney.report import embed as views

    topics = [
        {"topic": k, "weight": float(model.weights_[k]), "words": model.topic_words(k, words)}
        for k in range(min(n, len(model.weights_)))
    ]

    def show() -> None:
        views.show_fit(path, facts)
        views.show_spectrum("eigenvalues of pairs", model.spectrum_)
        views.show_topics(model, n, words)

    emit(as_json, facts | {"spectrum": model.spectrum_.tolist(), "strongest": topics}, show)


def neighbours(
    model: VectorsIn,
    words: Annotated[list[str], typer.Argument(help="Words.")],
    top: Annotated[int, typer.Option(min=1, help="How many neighbours.")] = 10,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The words most like each of some words, by the cosine of their vectors."""
    begin(quiet)
    from spinney.structure.words import known_word

    vectors = word_vectors(model)
    with about(model):
        known = [known_word(vectors, word) for word in words]
    found = {word: vectors.neighbours(word, top) for word in dict.fromkeys(known)}

    def show() -> None:
        from spinney.report.tables import show_rows

        for word, near in found.items():
            show_rows(
                f"Neighbours of {word}",
                ["word", "cosine"],
                [[other, round(value, 4)] for other, value in near],
            )

    as_rows = {
        word: [{"word": other, "cosine": value} for other, value in near] for word, near in found.items()
    }
    emit(as_json, {"neighbours": as_rows}, show)


def export(
    model: ModelIn,
    output: Annotated[
        str, typer.Argument(help="Where to write: .txt or .vec, compressed as .gz, .xz, .bz2.")
    ],
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write vectors as word2vec text, or topics as a table of topic, word and probability."""
    begin(quiet)
    from spinney.embed import MomentTopics
    from spinney.report.embed import model_vectors

    if output == "-" and as_json:
        raise OptionError("--json and what is exported cannot both go to standard output")
    if output != "-":
        check_target(output)
    fitted = load_model(model)
    with about(output):
        if isinstance(fitted, MomentTopics):
            _write_topics(fitted, output)
            facts = {"path": output, "words": len(fitted.words_), "topics": len(fitted.weights_)}
        else:
            vectors = model_vectors(fitted)
            vectors.write_word2vec(output)
            facts = {"path": output, "words": len(vectors), "dimensions": vectors.dimension}
    if output != "-":
        emit(as_json, facts, lambda: print(f"Wrote {output}: {facts['words']:,} words"))


def _write_topics(model: MomentTopics, output: str) -> None:
    """Their table, compressed as the name says, or to standard output."""
    from spinney.corpus import writing_bytes

    with tempfile.TemporaryDirectory(prefix="spinney-") as folder:
        passing = os.path.join(folder, "topics.tsv")
        model.write_table(passing)
        with open(passing, "rb") as table, writing_bytes(output) as file:
            shutil.copyfileobj(table, file)


def cluster(
    model: VectorsIn,
    output: Annotated[str, typer.Option("--output", "--out", "-o", help="Where to write the classes.")],
    classes: Annotated[int, typer.Option(min=1, help="How many classes.")] = 256,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Classes of words by k-means on their vectors, as tag fit --classes takes them."""
    begin(quiet)
    import numpy as np

    check_target(output)
    vectors = word_vectors(model)
    if classes > len(vectors):
        raise OptionError(f"--classes {classes}: there are {len(vectors):,} words")
    found = vectors.kmeans(classes, random_state=seed)
    found.save(output)
    used = int(np.count_nonzero(np.bincount(found.ids, minlength=classes)))
    facts = {"path": output, "words": len(found), "classes": classes, "used": used}
    emit(as_json, facts, lambda: print(f"Wrote {output}: {facts['words']:,} words in {used:,} classes"))
