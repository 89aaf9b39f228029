"""What a language model says of a text: the probability of each word, and perplexities."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from spinney import progress
from spinney.cluster import spread
from spinney.corpus import ReadReport
from spinney.corpus.text import Source, Tokens, sentence_batches, warn_of_skipped
from spinney.errors import InputError, OptionError, SettingError, about
from spinney.lm.cache import CacheModel
from spinney.lm.model import LanguageModel, load_language_model
from spinney.lm.scores import TextScores
from spinney.lm.stream import END, START
from spinney.lm.text import Size, held_out_text, reading_of, size_of
from spinney.lm.views import n_parameters
from spinney.model import Applied
from spinney.views import Facts, Table, View

_LOG10 = math.log(10.0)


class _Scored(NamedTuple):
    """A sentence: its words, and of each and of its end log10 p and the length of the matched context, if known."""

    number: int
    words: list[str]
    log10: Any  # arrays: lists of numbers take four times the memory
    depths: Any

    @property
    def total(self) -> float:
        return float(sum(self.log10.tolist()))

    @property
    def perplexity(self) -> float:
        exponent = -self.total / len(self.log10)
        return 10.0**exponent if exponent < 300 else math.inf


def applied(model: LanguageModel, data: Any, s: Any) -> Applied:
    """The log10 probability of each word and of the end of each sentence, a record for each sentence."""
    report = ReadReport()
    facts: dict[str, Any] = {}
    scored = _scored_sentences(model, data, s, report)

    def records() -> Iterator[dict[str, Any]]:
        for sentence in scored:
            yield _brief(sentence) if s.sentences else _whole(sentence)
        facts["skipped"] = report.skipped
        warn_of_skipped(report)

    return Applied("sentences", records(), _line if s.sentences else _lines, facts)


def _scored_sentences(model: LanguageModel, data: Any, s: Any, report: ReadReport) -> Iterator[_Scored]:
    """Sentences with their scores; of a model that remembers the text so far, all are scored at once."""
    read = sentence_batches(data, s, reading_of(model, s.words, s.parser), report)
    batches = (_unmarked(batch, s.on_error, report) for batch in read)
    if _remembers(model):
        batches = iter([[tokens for batch in batches for tokens in batch]])  # type: ignore[assignment]
    number = 0
    for batch in batches:
        for scored in _scored(model, batch):
            number += 1
            yield scored._replace(number=number)


def read_sentences(data: Any, s: Any, reading: Any) -> list[list[str]]:
    """The words of all sentences of a file or a list."""
    report = ReadReport()
    with about(Source.of(data, s).name):
        batches = [
            _unmarked(batch, s.on_error, report) for batch in sentence_batches(data, s, reading, report)
        ]
    return [tokens.words for batch in batches for tokens in batch]


def _unmarked(batch: list[Tokens], on_error: str, report: ReadReport) -> list[Tokens]:
    marked = [tokens for tokens in batch if START in tokens.words or END in tokens.words]
    if not marked:
        return batch
    what = f"{START} or {END} is a word in: {' '.join(marked[0].words)[:60]}"
    if on_error == "raise":
        raise InputError(what, remedy="remove it, or skip such sentences with on_error='skip'")
    report.skipped += len(marked)
    report.errors.append(what)
    return [tokens for tokens in batch if not any(tokens is bad for bad in marked)]


def _remembers(model: LanguageModel) -> bool:
    """Whether what was said in other sentences matters."""
    return isinstance(model, CacheModel) or any(map(_remembers, model.components().values()))


def _scored(model: LanguageModel, batch: list[Tokens]) -> Iterator[_Scored]:
    if not batch:
        return
    if not model.units.are_words:
        yield from _scored_in_units(model, batch)
        return
    stream = model.stream([tokens.words for tokens in batch])
    logs = model.event_logprobs(stream) / _LOG10
    try:
        depths = model.match_depths(stream)
    except OptionError:
        depths = None
    start = 0
    for tokens in batch:
        stop = start + len(tokens.words) + 1
        yield _Scored(0, tokens.words, logs[start:stop], None if depths is None else depths[start:stop])
        start = stop


def _scored_in_units(model: LanguageModel, batch: list[Tokens]) -> Iterator[_Scored]:
    """The probability of a word is the product of those of its units."""
    import numpy as np

    divided = [model.units.of_words(tokens.words) for tokens in batch]
    logs = model.event_logprobs(model.stream([[unit for one in words for unit in one] for words in divided]))
    start = 0
    for tokens, words in zip(batch, divided):
        sizes = [*map(len, words), 1]  # and the end
        stop = start + sum(sizes)
        sums = np.add.reduceat(logs[start:stop], np.cumsum([0, *sizes[:-1]])) / _LOG10
        yield _Scored(0, tokens.words, sums, None)
        start = stop


def _whole(scored: _Scored) -> dict[str, Any]:
    found = {"number": scored.number, "words": scored.words, "log10": scored.log10.tolist()}
    return found if scored.depths is None else found | {"depth": scored.depths.tolist()}


def _brief(scored: _Scored) -> dict[str, Any]:
    found = {"number": scored.number, "log10": scored.total, "words": len(scored.words)}
    return found | {"perplexity": scored.perplexity}


def _lines(record: dict[str, Any]) -> str:
    text = io.StringIO()  # a list of all rows would be larger than the text that they make
    for place, (word, log10) in enumerate(zip(chain(record["words"], (END,)), record["log10"]), 1):
        depth = f"\t{record['depth'][place - 1]}" if "depth" in record else ""
        text.write(f"{record['number']}\t{place}\t{word}\t{log10:.6g}{depth}\n")
    return text.getvalue()


def _line(record: dict[str, Any]) -> str:
    return f"{record['number']}\t{record['log10']:.6g}\t{record['words']}\t{record['perplexity']:.6g}\n"


# ---------------------------------------------------------------------------------------------- perplexity

_NAMES = {
    "convention": "convention",
    "units": "units",
    "perplexity": "perplexity",
    "perplexity_without_ends": "  without ends",
    "perplexity_without_unknown": "  without unknown words",
    "perplexity_per_word": "  per word",
    "bits_per_character": "bits per character",
    "log10_probability": "log10 probability",
    "scored": "scored",
    "ends": "  of which ends",
    "unknown": "unknown words",
    "skipped": "words not scored",
    "sentences": "sentences",
    "skipped_sentences": "sentences skipped",
    "parameters": "parameters",
    "active": "active",
}


@spread
def evaluated(model: LanguageModel, data: Any, s: Any) -> list[View]:
    """The perplexity of files of text, or of a list of sentences, and comparisons with other models."""
    if s.against and "-" in data:
        raise SettingError("{against} needs to read the text twice: give a file rather than standard input")
    scores, facts = _scores(model, data, s)
    facts["convention"] = (
        f"{'words and ends' if s.ends else 'words'}, {'unknown ones too' if s.unknown else 'known ones'}"
    )
    views: list[View] = [Facts("facts", "", facts, _NAMES)]
    if s.breakdown == "depth":
        views.append(scores.by_depth(model.match_depths(scores.stream)))
    elif s.breakdown == "frequency":
        views.append(scores.by_frequency())
    compared = []
    for path in s.against:
        other, of_other = _scores(load_language_model(path), data, s)
        if set(scores.vocabulary.words) != set(other.vocabulary.words):
            what = "%s has another vocabulary: perplexities with different vocabularies are hardly comparable"
            progress.log.warning(what, path)
        found, n = scores.against(other, s.seed)
        compared.append([path, of_other["perplexity"], n, *found])
    if compared:
        keys = ["model", "own_perplexity", "scored", *found._fields]
        header = [_COMPARED.get(key, key) for key in keys]
        title = "Perplexity on the words that both models score, with 95 % bootstrap intervals over sentences"
        views.append(Table("against", title, header, compared, keys))
    return views


_COMPARED = {
    "model": "against", "own_perplexity": "its own", "baseline": "its perplexity", "system": "ours", "low": "from",
    "high": "to", "p_value": "p",
}  # fmt: skip


def _scores(model: LanguageModel, data: Any, s: Any) -> tuple[TextScores, dict[str, Any]]:
    report = ReadReport()
    reading, units = reading_of(model, s.words, s.parser), model.units
    read = held_out_text(data, s, reading, report, model.reading_vocabulary, units)
    with about(Source.of(data, s).name):
        scores = TextScores.of(model, read, ends=s.ends, unknown=s.unknown)
        facts = scores.facts()
    found = _by_length(facts, size_of(read, units), ends=s.ends)
    facts["bits_per_character"] = found["bits_per_character"]
    if not units.are_words:
        facts |= found | {"units": units.name}
    parameters, active = n_parameters(model)
    return scores, facts | {"parameters": parameters, "active": active, "skipped_sentences": report.skipped}


def _by_length(facts: dict[str, Any], size: Size | None, *, ends: bool) -> dict[str, Any]:
    """What can be compared between models of other units: by words, and by characters with their spaces and ends."""
    if size is None or facts["skipped"]:
        return {"bits_per_character": None}
    n_words = size.words + (size.sentences if ends else 0)
    n_characters = size.characters - (0 if ends else size.sentences)
    exponent = -facts["log10_probability"] / n_words
    bits = -facts["log10_probability"] * math.log2(10.0) / max(n_characters, 1)
    return {
        "perplexity_per_word": 10.0**exponent if exponent < 300 else math.inf,
        "bits_per_character": bits,
    }
