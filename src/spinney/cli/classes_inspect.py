"""``spinney classes inspect``, ``neighbours`` and ``export``: what a model of word classes holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about, check_target
from spinney.cli.options import Json, Quiet, Seed, Threads, begin, emit
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.classes import Clustering, HiddenMarkov
    from spinney.report.classes import ClassView
    from spinney.structure import WordClasses

ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]


def inspect(
    model: ModelIn,
    top: Annotated[int, typer.Option(min=1, help="How many words a class.")] = 10,
    classes: Annotated[int, typer.Option(min=1, help="How many classes, the largest.")] = 20,
    class_id: Annotated[int | None, typer.Option("--class", min=0, help="This class only.")] = None,
    word: Annotated[str | None, typer.Option(help="The classes of this word only.")] = None,
    homonyms: Annotated[bool, typer.Option("--homonyms", help="Words that are of several classes.")] = False,
    map: Annotated[
        str | None,
        typer.Option(help="Draw --words by their distances: a .png, .svg or .pdf file, or .tsv for numbers."),
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="Words for --map, parted by commas (default: the 60 most frequent).")
    ] = None,
    transitions: Annotated[
        str | None, typer.Option(help="Draw the transitions between classes: a .png, .svg or .pdf file.")
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Classes with their words, what follows them, words of several classes; maps of words and classes."""
    begin(quiet)
    from spinney.classes import HiddenMarkov, load_word_model
    from spinney.report import classes as views
    from spinney.structure.words import known_word

    for target in (map, transitions):
        if target is not None:
            check_target(target)
    fitted = load_word_model(model)
    structure = _facts(fitted).get("structure", "chain")
    if homonyms and not isinstance(fitted, HiddenMarkov):
        raise OptionError("--homonyms: a clustering has one class a word; fit with --method hmm")
    if word is not None:
        word = known_word(views.model_vectors(fitted), word)
        of_word = views.classes_of_word(fitted, word)
        chosen: list[int] | None = [number for number, _ in of_word]
    else:
        chosen = None if class_id is None else [class_id]
    shares = views.class_shares(fitted)
    shown = views.class_views(fitted, chosen or _largest(shares, classes), top)
    below = views.children(fitted, shown)
    facts: dict[str, Any] = {
        **{name: value for name, value in _facts(fitted).items() if name != "trace"},
        "largest_classes": [_class_facts(view) for view in shown],
        "transitions": {str(view.number): [[child.number, p] for child, p in rows] for view, rows in below},
    }
    if word is not None:
        facts["word"] = {"word": word, "classes": of_word}
    if isinstance(fitted, HiddenMarkov) and homonyms:
        found = views.homonyms(fitted, top=20)
        facts["homonyms"] = [{"word": h.word, "count": h.count, "classes": h.classes} for h in found]
    if map is not None:
        facts["map"] = _map(fitted, map, words)
    if transitions is not None:
        views.plot_transitions(transitions, views.transitions(fitted), views.class_order(fitted), structure)

    def show() -> None:
        if word is None and class_id is None:
            views.show_fit(model, facts)
        if word is not None:
            views.show_word(word, of_word, shown)
        else:
            all_shown = len(shown) in (1, len(shares))
            views.show_classes(
                "Classes" if all_shown else f"The {len(shown)} largest of {len(shares)} classes", shown
            )
        views.show_children(below, structure)
        if "homonyms" in facts:
            numbers = sorted({number for h in found for number, _ in h.classes})
            names = {view.number: view.named(3) for view in views.class_views(fitted, numbers, 4)}
            views.show_homonyms(found, names)
        for target in (map, transitions):
            if target is not None:
                print(f"Wrote {target}")

    emit(as_json, facts, show)


def neighbours(
    model: ModelIn,
    word: Annotated[str, typer.Argument(help="A word.")],
    top: Annotated[int, typer.Option(min=1, help="How many words.")] = 10,
    min_count: Annotated[int, typer.Option(min=1, help="Words seen at least so often only.")] = 1,
    measure: Annotated[
        str, typer.Option(help="hellinger, bhattacharyya, cosine, jensen_shannon, chi2, kl or euclidean.")
    ] = "hellinger",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The words most like a word: 1 is the same, 0 has nothing in common (or by their distance)."""
    begin(quiet)
    from spinney.classes import load_word_model
    from spinney.report import classes as views
    from spinney.structure.words import known_word

    fitted = load_word_model(model)
    vectors = views.model_vectors(fitted)
    with about(model):
        word = known_word(vectors, word)
    measure = measure.replace("-", "_")
    kind, found = views.nearest(views.frequent(fitted, vectors, min_count, word), word, top, measure)
    rows = [{"word": other, kind: value} for other, value in found]

    def show() -> None:
        from spinney.report.tables import show_rows

        of_word = views.classes_of_word(fitted, word)[:3]
        views.show_word(word, of_word, views.class_views(fitted, [number for number, _ in of_word], 8))
        show_rows("Neighbours", ["word", kind], [[other, round(value, 4)] for other, value in found])

    emit(as_json, {"word": word, "measure": measure, "neighbours": rows}, show)


def export(
    model: ModelIn,
    output: Annotated[str, typer.Argument(help="Where to write.")],
    to: Annotated[
        str,
        typer.Option(
            help="paths (Brown), word2vec (text), json, or classes (a file of Spinney's structures)."
        ),
    ] = "paths",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the classes or vectors of a model in a format of the world's."""
    begin(quiet)
    from spinney.classes import HiddenMarkov, load_vectors, load_word_model

    if to not in ("paths", "word2vec", "json", "classes"):
        raise unknown_choice("--to is", to, ("paths", "word2vec", "json", "classes"))
    if output != "-":
        check_target(output)
    if to == "word2vec":
        vectors = load_vectors(model)
        vectors.write_word2vec(output)
        facts = {"path": output, "words": len(vectors), "dimension": vectors.dimension}
    else:
        fitted = load_word_model(model)
        found = fitted.word_classes() if isinstance(fitted, HiddenMarkov) else fitted.classes
        if to == "paths":
            _with_paths(fitted, found, model).write_paths(output)
        elif to == "json":
            found.write_json(output)
        else:
            found.save(output)
        facts = {"path": output, "words": len(found), "classes": found.n_classes}
    if output != "-":
        emit(as_json, facts, lambda: print(f"Wrote {output}: {facts['words']:,} words"))


def _with_paths(model: Clustering | HiddenMarkov, classes: WordClasses, path: str) -> WordClasses:
    """Classes with a hierarchy: their own, or that of merging the classes of a hidden Markov model."""
    from spinney.classes import HiddenMarkov
    from spinney.classes.bigrams import class_paths
    from spinney.structure import WordClasses

    if isinstance(model, HiddenMarkov):
        paths = class_paths(model)
        return WordClasses(classes.words, classes.ids, paths=paths, counts=classes.counts)
    if classes.paths is None:
        raise InputError("these classes have no paths", path=path, remedy="export them --to json or classes")
    return classes


def _facts(model: Clustering | HiddenMarkov) -> dict[str, Any]:
    from spinney.classes import HiddenMarkov

    return dict(model.facts_ if isinstance(model, HiddenMarkov) else model.facts)


def _largest(shares: Any, n: int) -> list[int]:
    return [int(i) for i in (-shares).argsort(kind="stable")[:n]]


def _class_facts(view: ClassView) -> dict[str, Any]:
    facts = {"class": view.number, "share": view.share, "words": view.words}
    return facts if view.path is None else facts | {"path": view.path}


def _map(model: Clustering | HiddenMarkov, target: str, chosen: str | None) -> list[list[Any]]:
    """Write a map of words; its words with their places."""
    from spinney import progress
    from spinney.corpus import writing
    from spinney.report import classes as views
    from spinney.structure.words import known_word

    vectors = views.model_vectors(model)
    if chosen is None:
        words = [word for word in vectors.words if word != _facts(model).get("reading", {}).get("unknown")][
            :60
        ]
    else:
        words = [known_word(vectors, word.strip()) for word in chosen.split(",") if word.strip()]
    if len(words) < 3:
        raise OptionError("a map needs at least three words: give --words a,b,c")
    places = views.word_map(vectors, words)
    rows = [[word, x, y] for word, (x, y) in zip(words, places.tolist())]
    if views.has_plots() and not target.endswith(".tsv"):
        views.plot_map(target, words, places, [views.classes_of_word(model, word)[0][0] for word in words])
        return rows
    if not target.endswith(".tsv"):
        progress.log.warning("%s holds numbers, not a plot: for plots, pip install 'spinney[plots]'", target)
    with writing(target) as file:
        file.writelines(f"{word}\t{x:.4f}\t{y:.4f}\n" for word, x, y in rows)
    return rows
