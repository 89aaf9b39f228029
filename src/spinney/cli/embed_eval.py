"""``spinney embed eval``: what vectors, states and topics are worth, alone or beside others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.embed_documents import read_bags
from spinney.cli.embed_models import load_any
from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.textfiles import Format, Header, Reading, Source, TextColumn, warn_of_unknown
from spinney.cli.vector_scores import category_scores, plain, similarity_scores
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.cli.embed_models import EmbedModel
    from spinney.evaluate import BootstrapResult
    from spinney.structure import WordVectors

_RESAMPLES = 2000  # draws of the bootstrap: p-values down to 0.001
_ASKED = "--similarity, --similarity-folder, --analogies, --categories, --sentiment or --held-out"


def eval(
    model: Annotated[
        str, typer.Argument(help="A model file that fit wrote, or a file of vectors (word2vec).")
    ],
    similarity: Annotated[
        list[str] | None,
        typer.Option(help="Pairs of words with the scores that people gave them; may be repeated."),
    ] = None,
    similarity_folder: Annotated[
        str | None, typer.Option(help="A folder of such files: all that are in it.")
    ] = None,
    analogies: Annotated[
        str | None, typer.Option(help="Questions: a is to b as c is to d (questions-words.txt, or CSV).")
    ] = None,
    method: Annotated[str, typer.Option(help="analogies: 3cosadd or 3cosmul.")] = "3cosadd",
    categories: Annotated[
        list[str] | None, typer.Option(help="A CSV file of words with their categories; may be repeated.")
    ] = None,
    level: Annotated[
        int | None, typer.Option(min=0, help="Which part of categories such as communication-cognition.")
    ] = None,
    sentiment: Annotated[
        tuple[str, str, str] | None,
        typer.Option(
            help="Sentences with labels to learn from, to tune on and to test on: a label and words a line, or trees.",
            metavar="TRAIN DEV TEST",
        ),
    ] = None,
    held_out: Annotated[
        str | None, typer.Option(help="hmm, topics: held-out text, for its perplexity.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Another model: its scores, and how sure the difference is.")
    ] = None,
    measure: Annotated[
        str, typer.Option(help="How vectors are compared: cosine, dot, euclidean, hellinger, …")
    ] = "cosine",
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
    """Word similarity, analogies, categorisation, sentiment, held-out perplexity: what is asked for."""
    begin(quiet)
    pairs = [*(similarity or []), *(_inside(similarity_folder) if similarity_folder else [])]
    if not (pairs or analogies or categories or sentiment or held_out):
        raise OptionError(f"say what to evaluate: {_ASKED}")
    measure = measure.replace("-", "_")
    source = Source([held_out], format, encoding, on_error, text, header) if held_out else None
    tests = _Tests(
        _named(pairs), analogies, method, _named(categories or []), level, sentiment, measure, source
    )
    scores, items = tests.run(model)
    if against is not None:
        scores["baseline"], others = tests.run(against)
        scores["baseline"] = {"path": against, **scores["baseline"]}
        scores["significance"] = _significance(others, items, seed)
    emit(as_json, plain(scores), lambda: _show(scores))


def _inside(folder: str) -> list[str]:
    """The files of a folder, by name."""
    if not os.path.isdir(folder):
        raise InputError("no such folder", path=folder)
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    files = [path for name in names if os.path.isfile(path := os.path.join(folder, name))]
    if not files:
        raise InputError("no files of pairs in this folder", path=folder)
    return files


def _named(files: Sequence[str]) -> dict[str, str]:
    """Files by what comes before the first full stop of their names; by their paths where that is not enough."""
    names = [os.path.basename(file).partition(".")[0] for file in files]
    return {name if name and names.count(name) == 1 else file: file for name, file in zip(names, files)}


@dataclass(frozen=True)
class _Tests:
    """What a model is put to."""

    pairs: dict[str, str]
    analogies: str | None
    method: Any
    categories: dict[str, str]
    level: int | None
    sentiment: tuple[str, str, str] | None
    measure: Any
    source: Source | None

    def __post_init__(self) -> None:
        if self.method not in ("3cosadd", "3cosmul"):
            raise unknown_choice("--method is", self.method, ("3cosadd", "3cosmul"))

    def run(self, path: str) -> tuple[dict[str, Any], dict[tuple[str, ...], Any]]:
        """The scores of a model, and what they come from, item by item, for comparisons."""
        from spinney.report.embed import model_vectors
        from spinney.structure import WordVectors

        model = load_any(path)
        scores: dict[str, Any] = {}
        items: dict[tuple[str, ...], Any] = {}
        if self.pairs or self.analogies or self.categories or self.sentiment:
            vectors = model if isinstance(model, WordVectors) else model_vectors(model)
            if self.pairs:
                self._similarity(vectors, scores, items)
            if self.analogies:
                self._analogies(vectors, scores, items)
            if self.categories:
                found = {
                    name: category_scores(vectors, file, self.measure, self.level)
                    for name, file in self.categories.items()
                }
                scores["categories"] = found
            if self.sentiment:
                self._sentiment(vectors, scores, items)
        if self.source is not None:
            if isinstance(model, WordVectors):
                raise OptionError(
                    "--held-out is for hmm and topics: vectors of words give text no probability"
                )
            scores |= _held_out(model, path, self.source)
        return scores, items

    def _similarity(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any]
    ) -> None:
        import numpy as np

        found = {}
        for name, file in self.pairs.items():
            row = similarity_scores(vectors, file, self.measure)
            found[name] = {key: row[key] for key in ("spearman", "pearson", "pairs", "coverage")}
            found[name]["known"] = row["n"]
            items["similarity", name] = _pair_items(vectors, file, self.measure)
        if not any(row["known"] for row in found.values()):
            what = "not one pair has vectors for both of its words"
            raise InputError(what, path=", ".join(self.pairs.values()))
        known = [row["spearman"] for row in found.values() if not np.isnan(row["spearman"])]
        scores["similarity"] = found
        scores["mean_spearman"] = float(np.mean(known)) if known else float("nan")

    def _analogies(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any]
    ) -> None:
        import numpy as np

        from spinney.evaluate import analogies, read_analogies

        assert self.analogies is not None
        found = analogies(vectors, read_analogies(self.analogies), self.method)
        if not found.total.known:
            raise InputError("not one question has vectors for all of its words", path=self.analogies)
        scores["analogies"] = {"method": self.method, **found.as_dict()}
        answered = np.array([answer is not None for answer in found.answers])
        items["analogies",] = (answered, found.correct)

    def _sentiment(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any]
    ) -> None:
        from spinney.evaluate import sentiment_accuracy

        assert self.sentiment is not None
        with about(self.sentiment[0]):
            found = sentiment_accuracy(vectors, *[_labelled(file) for file in self.sentiment])
        scores["sentiment"] = {
            "accuracy": found.accuracy,
            "dev_accuracy": found.dev_accuracy,
            "strength": found.strength,
            "coverage": found.coverage,
            "sentences": len(found.correct),
        }
        items["sentiment",] = (found.correct | True, found.correct)


def _pair_items(vectors: WordVectors, file: str, measure: Any) -> tuple[Any, Any]:
    """Of each pair of a file whether both words are known, and its similarity beside the score of people."""
    import numpy as np

    from spinney.evaluate import lookup, read_word_pairs
    from spinney.evaluate import similarity as similarity_of

    find = lookup(vectors)
    pairs = [(find(first), find(second), score) for first, second, score in read_word_pairs(file)]
    known = np.array([None not in (first, second) for first, second, _ in pairs])
    # A word that is not known has a vector of zeros; such pairs are left out of comparisons.
    left = vectors.rows([first or "" for first, _, _ in pairs])
    right = vectors.rows([second or "" for _, second, _ in pairs])
    return known, np.column_stack([similarity_of(left, right, measure), [score for _, _, score in pairs]])


def _labelled(file: str) -> Any:
    """Labelled sentences, of which trees begin with a bracket."""
    from spinney.corpus import read_lines
    from spinney.evaluate import read_labelled_sentences, read_sentiment_trees

    first = next((text.strip() for _, text in read_lines(file) if text.strip()), "")
    return read_sentiment_trees(file) if first.startswith("(") else read_labelled_sentences(file)


def _held_out(model: EmbedModel, path: str, source: Source) -> dict[str, Any]:
    """The perplexity of a text, and what it consists of."""
    from spinney.corpus import ReadReport
    from spinney.embed import Embedding, MomentTopics

    if isinstance(model, Embedding):
        raise OptionError("--held-out is for hmm and topics: vectors of words give text no probability")
    reading, report = Reading.of(model.facts_), ReadReport()
    found: dict[str, Any]
    with about(source.name):
        if isinstance(model, MomentTopics):
            bags = read_bags(source, reading.lowercase, report, model.words_)
            found = {"perplexity": model.perplexity(bags.counts), "documents": len(bags.names)}
        else:
            arrays = source.read(reading, report, vocabulary=model.vocabulary_)
            warn_of_unknown(source.name, report, model.vocabulary_)
            found = {"perplexity": model.perplexity(arrays), "sentences": len(arrays)}
    share = report.unknown / max(report.tokens, 1)
    return {**found, "tokens": report.tokens, "unknown_share": share, "skipped": report.skipped}


def _significance(
    baseline: dict[tuple[str, ...], Any], system: dict[tuple[str, ...], Any], seed: int
) -> dict[str, Any]:
    """A paired bootstrap on the items that both models know, test by test; none where these are too few."""
    from spinney.evaluate import accuracy, paired_bootstrap, spearman_of_pairs

    found: dict[str, Any] = {}
    for key, (known, values) in system.items():
        both = known & baseline[key][0]
        statistic = spearman_of_pairs if key[0] == "similarity" else accuracy
        result: BootstrapResult | None = None
        if both.any():
            try:
                result = paired_bootstrap(
                    baseline[key][1][both], values[both], statistic, resamples=_RESAMPLES, random_state=seed
                )
            except InputError:
                result = None
        row = {"n": int(both.sum()), **(result._asdict() if result else {})}
        if key[0] == "similarity":
            found.setdefault("similarity", {})[key[1]] = row
        else:
            found[key[0]] = row
    return found


# ------------------------------------------------------------------------------------------- terminal


def _show(scores: dict[str, Any]) -> None:
    from spinney.report.tables import show_facts, show_rows, tell

    other, sure = scores.get("baseline", {}), scores.get("significance", {})
    if "similarity" in scores:
        rows = []
        for name, row in scores["similarity"].items():
            cells = [
                name,
                row["spearman"],
                row["pearson"],
                row["known"],
                row["pairs"],
                f"{row['coverage']:.0%}",
            ]
            rows.append([*cells, *_beside(other, sure, "similarity", name, key="spearman")])
        header = ["set", "Spearman", "Pearson", "known", "pairs", "coverage", *_BESIDE[: 3 * bool(other)]]
        show_rows("Word similarity", header, rows)
        beside = f" (baseline {other['mean_spearman']:.4f})" if other else ""
        print(f"  mean Spearman {scores['mean_spearman']:.4f}{beside}")
    if "analogies" in scores:
        found = scores["analogies"]
        rows = [
            [name, row["accuracy"], row["accuracy_of_all"], row["known"], row["asked"]]
            for name, row in (("all", found), *((name, found[name]) for name in ("semantic", "syntactic")))
        ]
        title = f"Analogies by {found['method']}"
        show_rows(title, ["questions", "accuracy", "of all", "known", "asked"], rows)
        _show_sure(other, sure, "analogies")
    if "categories" in scores:
        parts = ("purity", "entropy", "clusters", "n", "words")
        rows = [[name, *(row[key] for key in parts)] for name, row in scores["categories"].items()]
        if other:
            for cells, row in zip(rows, other["categories"].values()):
                cells.append(row["purity"])
        show_rows("Categorisation", ["set", *parts, *(["baseline's purity"] if other else [])], rows)
    if "sentiment" in scores:
        show_facts(
            "Sentiment", {name.replace("_", " "): value for name, value in scores["sentiment"].items()}
        )
        _show_sure(other, sure, "sentiment")
    if "perplexity" in scores:
        perplexities = scores | ({"of_baseline": other["perplexity"]} if other else {})
        tell("Held-out text", perplexities, _HELD_OUT)


_HELD_OUT = {
    "perplexity": "perplexity", "of_baseline": "baseline's perplexity", "documents": "documents",
    "sentences": "sentences", "tokens": "tokens", "unknown_share": "words left out or unknown",
    "skipped": "bad sentences or documents skipped",
}  # fmt: skip
_BESIDE = ("baseline", "difference", "p")


def _beside(other: dict[str, Any], sure: dict[str, Any], *path: str, key: str) -> list[Any]:
    """The cells of a comparison: the baseline's score, the difference on common items, its p-value."""
    if not other:
        return []
    row, found = other, sure
    for name in path:
        row, found = row[name], found[name]
    if "difference" not in found:
        return [row[key], "", ""]
    return [row[key], f"{found['difference']:+.4f}", f"{found['p_value']:.3f}"]


def _show_sure(other: dict[str, Any], sure: dict[str, Any], name: str) -> None:
    cells = _beside(other, sure, name, key="accuracy")
    if cells:
        print(
            f"  baseline {cells[0]:.4f}, difference {cells[1] or '?'} on {sure[name]['n']:,}, p {cells[2] or '?'}"
        )
