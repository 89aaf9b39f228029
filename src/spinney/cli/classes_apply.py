"""``spinney classes apply``: the class of each token of a text, or how likely each class is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    Tokens,
    WordsLike,
    batch_arrays,
    token_batches,
    vocabulary_of,
)
from spinney.errors import OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.classes import Clustering, HiddenMarkov
    from spinney.structure import WordClasses

#: A word without a class.
NONE = "_"
Cells = Callable[[Sequence[Tokens]], list[str]]


def apply(
    model: Annotated[str, typer.Argument(help="A model file that fit wrote.")],
    data: Annotated[str, typer.Argument(help="Text; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    what: Annotated[
        str | None,
        typer.Option(
            help="class (of the word), path, viterbi or posterior (of the token in its sentence); by default viterbi "
            "of a hidden Markov model, class of a clustering.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="posterior: so many classes a token at most.")] = 16,
    before_label: Annotated[
        bool, typer.Option("--before-label", help="Put the new column before the last one.")
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
    """One token a line, with its class in a column more; a blank line after each sentence."""
    begin(quiet)
    from spinney import progress
    from spinney.classes import HiddenMarkov, load_word_model
    from spinney.corpus import ReadReport, writing

    fitted = load_word_model(model)
    hidden = isinstance(fitted, HiddenMarkov)
    what = what or ("viterbi" if hidden else "class")
    reading = Reading.of(fitted.facts_ if isinstance(fitted, HiddenMarkov) else fitted.facts, words, parser)
    reading, cells = _cells(fitted, reading, what, top, threads)
    source, report = Source([data], format, encoding, on_error, text, header), ReadReport()
    batches = token_batches(source, reading, report)
    if as_json:
        found = []
        with about(data):
            for batch in batches:
                column = iter(cells(batch))
                found += [
                    {"words": tokens.words, what: [next(column) for _ in tokens.words]} for tokens in batch
                ]
        emit(True, {"sentences": found, "skipped": report.skipped}, lambda: None)
        return
    place = -1 if before_label else None
    with about(data), writing(output) as file:
        for batch in batches:
            column = iter(cells(batch))
            for tokens in batch:
                lines = []
                for row in tokens.rows:
                    row = list(row)
                    lines.append("\t".join([*row[:place], next(column), *(row[place:] if place else [])]))
                file.write("\n".join(lines) + "\n\n")
            file.flush()
    if report.skipped:
        progress.log.warning("%d sentences passed over, the first: %s", report.skipped, report.errors[0])


def _cells(
    model: Clustering | HiddenMarkov, reading: Reading, what: str, top: int, threads: int | None
) -> tuple[Reading, Cells]:
    """What gives the new column of some sentences, and how these are to be read."""
    from dataclasses import replace

    from spinney.classes import HiddenMarkov
    from spinney.classes.bigrams import class_paths

    if what not in ("class", "path", "viterbi", "posterior"):
        raise unknown_choice("--what is", what, ("class", "path", "viterbi", "posterior"))
    hidden = model if isinstance(model, HiddenMarkov) else None
    if what in ("class", "path"):
        classes = model.word_classes() if isinstance(model, HiddenMarkov) else model.classes
        names = [str(i) for i in range(classes.n_classes)]
        if what == "path":
            paths = classes.paths if hidden is None else class_paths(hidden)
            if paths is None:
                raise OptionError("--what path: these classes are flat, they have no paths")
            names = paths
        return replace(reading, tree=False, relations=False), lambda batch: _of_words(batch, classes, names)
    if hidden is None:
        raise OptionError(f"--what {what}: a clustering has one class a word; ask for class or path")
    hidden.threads = threads
    reading = replace(reading, tree=hidden.structure == "tree", relations=len(hidden.relations_) > 1)
    vocabulary = vocabulary_of(hidden, reading)

    def of_tokens(batch: Sequence[Tokens]) -> list[str]:
        arrays = batch_arrays(batch, vocabulary, reading)
        if what == "viterbi":
            return [str(i) for i in hidden.predict(arrays).tolist()]
        return [posterior_cell(row, top) for row in hidden.posteriors(arrays)]

    return reading, of_tokens


def _of_words(batch: Sequence[Tokens], classes: WordClasses, names: Sequence[str]) -> list[str]:
    ids = classes.encode([word for tokens in batch for word in tokens.words])
    return [NONE if i < 0 else names[i] for i in ids.tolist()]


def posterior_cell(row: Any, top: int) -> str:
    """The likeliest classes with their probabilities, as the tagger's pattern ``%value`` reads them.

    Examples
    --------
    >>> import numpy as np
    >>> posterior_cell(np.array([0.05, 0.0, 0.94, 0.01]), 2)
    '2:0.94|0:0.05'
    """
    import numpy as np

    top = min(top, len(row))
    best = np.argpartition(-row, top - 1)[:top]
    best = best[np.argsort(-row[best], kind="stable")]
    return "|".join(f"{i}:{row[i]:.3g}" for i in best.tolist() if row[i] >= 5e-4) or "|"
