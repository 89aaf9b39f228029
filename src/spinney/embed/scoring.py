"""Vectors, states and topics applied to text, and evaluated, alone or against another model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from spinney.cluster import spread
from spinney.corpus import ReadReport, read_lines
from spinney.corpus.text import sentence_batches, warn_of_skipped
from spinney.embed.model import EmbedModel
from spinney.errors import InputError, OptionError, SettingError, about
from spinney.evaluate import (
    accuracy,
    analogies,
    read_analogies,
    read_completions,
    read_labelled_sentences,
    read_sentiment_trees,
    sentence_completion,
    sentiment_accuracy,
    spearman_of_pairs,
)
from spinney.evaluate.wordtests import category_scores, pair_items, paired_difference, similarity_scores
from spinney.files import read_model
from spinney.kinds import load
from spinney.model import Applied
from spinney.settings.embed import Apply, Evaluate
from spinney.structure import WordVectors
from spinney.structure.reading import is_model, word_vectors
from spinney.views import Extra, Facts, Table, View

# -------------------------------------------------------------------------------------------- apply


def applied(model: Any, data: Any, s: Apply) -> Applied:
    """A record for each sentence: the numbers of its tokens, or its own."""
    model.threads = s.threads
    states, report = s.what == "states", ReadReport()
    reading = model.reading(s.words, s.parser) if states else model.reading_of_words(s)
    key, said = model.said(s.what, reading)
    facts: dict[str, Any] = {}
    batches = sentence_batches(data, s, reading, report)

    def records() -> Iterator[dict[str, Any]]:
        for batch in batches:
            for tokens, one in zip(batch, said(batch)):
                yield {"words": tokens.words, key: one}
        facts["skipped"] = report.skipped
        warn_of_skipped(report)

    def lines(record: dict[str, Any]) -> str:
        one = record[key]
        if isinstance(one, float):
            return f"{one:.6f}\t{' '.join(record['words'])}\n"
        line = "\t".join(["%.9g"] * one.shape[1])  # enough digits for the same single-precision numbers
        rows = [f"{word}\t{line % tuple(row)}\n" for word, row in zip(record["words"], one.tolist())]
        return "".join(rows) + "\n"

    return Applied("sentences", records(), lines, facts)


# --------------------------------------------------------------------------------------------- eval


def load_any(path: str) -> EmbedModel | WordVectors:
    """A model of ``spinney embed``, or the vectors of any other file that has some."""
    if is_model(path) and read_model(path).kind.startswith("embed/"):
        found: EmbedModel = load(path)
        return found
    return word_vectors(path)


@spread
def evaluated(model: EmbedModel | WordVectors, data: Any, s: Evaluate) -> list[View]:
    """Word similarity, analogies, categories, completion, sentiment, held-out perplexity: what is asked for."""
    pairs = [*s.similarity, *(_inside(s.similarity_folder) if s.similarity_folder else [])]
    if data is None and not (pairs or s.analogies or s.categories or s.completion or s.sentiment):
        raise SettingError(
            "say what to evaluate: {similarity}, {similarity_folder}, {analogies}, {categories}, {completion}, "
            "{sentiment}, or held-out text"
        )
    tests = _Tests(s, _named(pairs), _named(s.categories), data)
    scores, items = tests.run(model)
    if s.against is not None:
        scores["baseline"], others = tests.run(load_any(s.against))
        scores["baseline"] = {"model": s.against, **scores["baseline"]}
        scores["significance"] = _significance(others, items, s.seed)
    return _views(scores)


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


class _Tests:
    """What a model is put to."""

    def __init__(self, s: Evaluate, pairs: dict[str, str], categories: dict[str, str], data: Any) -> None:
        self.s, self.pairs, self.categories, self.data = s, pairs, categories, data
        self.measure: Any = s.measure.replace("-", "_")

    def run(self, model: EmbedModel | WordVectors) -> tuple[dict[str, Any], dict[tuple[str, ...], Any]]:
        """The scores of a model, and what they come from, item by item, for comparisons."""
        s = self.s
        scores: dict[str, Any] = {}
        items: dict[tuple[str, ...], Any] = {}
        if self.pairs or s.analogies or self.categories or s.completion or s.sentiment:
            vectors = model if isinstance(model, WordVectors) else model.vectors()
            if self.pairs:
                self._similarity(vectors, scores, items)
            if s.analogies:
                self._analogies(vectors, scores, items, s.analogies)
            if self.categories:
                scores["categories"] = {
                    name: category_scores(vectors, file, self.measure, s.level, s.pos, s.linkage)
                    for name, file in self.categories.items()
                }
            if s.completion:
                self._completion(vectors, scores, items, s.completion)
            if s.sentiment:
                self._sentiment(vectors, scores, items)
        if self.data is not None:
            if isinstance(model, WordVectors):
                raise OptionError("word vectors give no probability to a text: leave out the held-out text")
            with about(str(self.data)):
                scores |= model.held_out(self.data, s)
        return scores, items

    def _similarity(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any]
    ) -> None:
        found = {}
        for name, file in self.pairs.items():
            row = similarity_scores(vectors, file, self.measure)
            found[name] = {key: row[key] for key in ("spearman", "pearson", "pairs", "coverage")}
            found[name]["known"] = row["n"]
            items["similarity", name] = pair_items(vectors, file, self.measure)
        if not any(row["known"] for row in found.values()):
            what = "no pair has vectors for both of its words"
            raise InputError(what, path=", ".join(self.pairs.values()))
        known = [row["spearman"] for row in found.values() if not np.isnan(row["spearman"])]
        scores["similarity"] = found
        scores["mean_spearman"] = float(np.mean(known)) if known else float("nan")

    def _analogies(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any], file: str
    ) -> None:
        found = analogies(vectors, read_analogies(file), self.s.method)
        if not found.total.known:
            raise InputError("no question has vectors for all of its words", path=file)
        scores["analogies"] = {"method": self.s.method, **found.as_dict()}
        answered = np.array([answer is not None for answer in found.answers])
        items["analogies",] = (answered, found.correct)

    def _completion(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any], file: str
    ) -> None:
        sentences = read_completions(file)
        found = sentence_completion(vectors, sentences, self.measure)
        if not found.known.any():
            what = "no sentence has vectors for all of its candidates and another word"
            raise InputError(what, path=file)
        scores["completion"] = {
            "accuracy": found.accuracy,
            "accuracy_of_all": found.accuracy_of_all,
            "known": int(found.known.sum()),
            "sentences": len(sentences),
            "chance": float(np.mean([1 / (1 + len(one.others)) for one in sentences])),
        }
        items["completion",] = (found.known, found.correct)

    def _sentiment(
        self, vectors: WordVectors, scores: dict[str, Any], items: dict[tuple[str, ...], Any]
    ) -> None:
        files = self.s.sentiment
        with about(files[0]):
            train, dev, test = map(_labelled, files)
            found = sentiment_accuracy(vectors, train, dev, test)
        scores["sentiment"] = {
            "accuracy": found.accuracy,
            "dev_accuracy": found.dev_accuracy,
            "strength": found.strength,
            "coverage": found.coverage,
            "sentences": len(found.correct),
        }
        items["sentiment",] = (found.correct | True, found.correct)


def _labelled(file: str) -> Any:
    """Labelled sentences, of which trees begin with a bracket."""
    first = next((text.strip() for _, text in read_lines(file) if text.strip()), "")
    return read_sentiment_trees(file) if first.startswith("(") else read_labelled_sentences(file)


def _significance(
    baseline: dict[tuple[str, ...], Any], system: dict[tuple[str, ...], Any], seed: int
) -> dict[str, Any]:
    """A paired bootstrap on the items that both models know, test by test; none where these are too few."""
    found: dict[str, Any] = {}
    for key, items in system.items():
        statistic = spearman_of_pairs if key[0] == "similarity" else accuracy
        row = paired_difference(baseline[key], items, statistic, seed)
        if key[0] == "similarity":
            found.setdefault("similarity", {})[key[1]] = row
        else:
            found[key[0]] = row
    return found


# ------------------------------------------------------------------------------------------ the views

_BESIDE = ("baseline", "difference", "p")
_HELD_OUT = {
    "perplexity": "perplexity", "of_baseline": "perplexity of the baseline", "documents": "documents",
    "sentences": "sentences", "tokens": "tokens", "unknown_share": "words left out or unknown",
    "skipped": "bad sentences or documents skipped",
}  # fmt: skip


def _views(scores: dict[str, Any]) -> list[View]:
    """Tables for people; JSON has the scores as they are."""
    other, sure = scores.get("baseline", {}), scores.get("significance", {})
    views: list[View] = []
    if "similarity" in scores:
        rows = [
            [
                name, row["spearman"], row["pearson"], row["known"], row["pairs"], f"{row['coverage']:.0%}",
                *_beside(other, sure, "similarity", name, key="spearman"),
            ]
            for name, row in scores["similarity"].items()
        ]  # fmt: skip
        header = ["set", "Spearman", "Pearson", "known", "pairs", "coverage", *_BESIDE[: 3 * bool(other)]]
        beside = f" (baseline {other['mean_spearman']:.4f})" if other else ""
        note = f"  mean Spearman {scores['mean_spearman']:.4f}{beside}"
        views.append(Table("", "Word similarity", header, rows, note=note))
    if "analogies" in scores:
        found = scores["analogies"]
        rows = [
            [name, row["accuracy"], row["accuracy_of_all"], row["known"], row["asked"]]
            for name, row in (("all", found), *((name, found[name]) for name in ("semantic", "syntactic")))
        ]
        header = ["questions", "accuracy", "of all", "known", "asked"]
        note = _sure(other, sure, "analogies")
        views.append(Table("", f"Analogies by {found['method']}", header, rows, note=note))
    if "categories" in scores:
        parts = ("purity", "entropy", "clusters", "n", "words")
        rows = [[name, *(row[key] for key in parts)] for name, row in scores["categories"].items()]
        if other:
            for cells, row in zip(rows, other["categories"].values()):
                cells.append(row["purity"])
        views.append(Table("", "Categorisation", ["set", *parts, *(["baseline"] if other else [])], rows))
    for name in ("completion", "sentiment"):
        if name in scores:
            rows = [[key.replace("_", " "), value] for key, value in scores[name].items()]
            title = {"completion": "Sentence completion", "sentiment": "Sentiment"}[name]
            views.append(Table("", title, ["", ""], rows, note=_sure(other, sure, name)))
    plain = {key: value for key, value in scores.items() if not isinstance(value, dict)}
    if "perplexity" in scores:
        shown = plain | ({"of_baseline": other["perplexity"]} if other else {})
        views.append(Facts("", "Held-out text", shown, _HELD_OUT))
    return [*views, *(Extra(key, "", value) for key, value in scores.items())]


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


def _sure(other: dict[str, Any], sure: dict[str, Any], name: str) -> str:
    cells = _beside(other, sure, name, key="accuracy")
    if not cells:
        return ""
    return (
        f"  baseline {cells[0]:.4f}, difference {cells[1] or '?'} on {sure[name]['n']:,}, p {cells[2] or '?'}"
    )
