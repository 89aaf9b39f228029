"""From text and settings to vectors, states or topics, and what else can be made of them."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney.cluster import spread
from spinney.corpus import NgramCounts, ReadReport, TokenArrays, read_ngrams
from spinney.corpus.ngrams import looks_like_ngrams
from spinney.corpus.text import Reading, training_arrays, training_files, training_sources
from spinney.embed.documents import document_words, learn_bags
from spinney.embed.embedding import Embedding
from spinney.embed.model import EmbedModel
from spinney.embed.scoring import evaluated, load_any
from spinney.embed.spectral_hmm import SpectralHMM
from spinney.embed.topics import MomentTopics
from spinney.embed.views import neighbours as neighbour_views
from spinney.errors import InputError, OptionError, SettingError, about
from spinney.formats import guess_format
from spinney.kinds import load_task
from spinney.settings import Settings, choose, settings_of, settings_or
from spinney.settings import embed as embed_settings
from spinney.structure import WordClasses, WordVectors
from spinney.structure.reading import word_vectors
from spinney.views import Facts, Lines, Views


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> EmbedModel:
    """Learn word vectors, a spectral hidden Markov model, or topics.

    Parameters
    ----------
    train
        Files or folders of text; a data frame; a list of sentences (for topics: of documents), each a list of words;
        :class:`~spinney.corpus.TokenArrays`; or, with ``ngrams=True``, files of n-gram counts.
    settings
        Settings of :mod:`spinney.settings.embed`; or give them by name, ``method`` among them.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences
    >>> model = fit(sample_sentences(), method="cca", dimensions=20, lowercase=True)
    >>> model.vectors().dimension, model.facts["method"]
    (20, 'cca')
    """
    s: Any = settings or choose(embed_settings.FIT, given)
    report = ReadReport()
    files = training_files(train)
    with about(", ".join(files) if files else "the text"):
        model = _topics(train, s, report) if s.method == "topics" else _of_words(train, s, report)
    model.facts["skipped"] = report.skipped
    kept = model.contents().tensors.values()
    model.facts["parameters"] = sum(array.size for array in kept if array.dtype.kind == "f")
    if files is not None:
        model.facts["train"] = files
    model.settings = s
    return model


def _of_words(train: Any, s: Any, report: ReadReport) -> EmbedModel:
    tree = getattr(s, "tree", False)
    reading = Reading(
        s.words, s.lowercase, s.unknown or None, tree, tree and s.typed > 0, max_length=s.max_length,
        parser=s.parser, head_rules=getattr(s, "head_rules", None), tokens=s.tokens,
    )  # fmt: skip
    reading.check_parser()
    common = {"random_state": s.seed, "threads": s.threads}
    model: Embedding | SpectralHMM
    if s.method == "hmm":
        model = SpectralHMM(s.states, **_own(s, embed_settings.SpectralSettings), **common)
    else:
        model = Embedding(**_own(s, embed_settings.VECTORS[s.method]), **common)
    if getattr(s, "ngrams", False):
        ngrams = _ngrams(train, s, report)
        _refuse_few_words(ngrams)
        assert isinstance(model, Embedding)
        model.fit(ngrams, reading=reading.facts())
        model.facts["unknown_share"] = report.unknown / max(report.tokens, 1)
        return model
    _warn_of_ngrams(train, s)
    text = document_words(train, s, report) if getattr(s, "reset", "sentence") == "document" else train
    with training_arrays(text, s, reading, report) as arrays:
        _refuse_few_words(arrays)
        model.fit(arrays, reading=reading.facts())
        model.facts |= {
            "tokens_per_second": arrays.n_tokens / max(model.facts["seconds"], 1e-9),
            "unknown_share": report.unknown / max(report.tokens, 1),
        }
    return model


def _ngrams(train: Any, s: Any, report: ReadReport) -> NgramCounts:
    """Files of n-gram counts, about the word that has the whole window in the n-gram."""
    files = training_sources(train)
    if files is None or not all(isinstance(file, str) for file in files):
        raise SettingError("{ngrams} are read from files: give their names")
    before, after = s.sides
    return read_ngrams(
        files, lowercase=s.lowercase, min_count=s.min_count, max_size=s.max_words, unknown=s.unknown or None,
        encoding=s.encoding, on_error=s.on_error, report=report, place=before, after=after,
    )  # fmt: skip


def _warn_of_ngrams(train: Any, s: Any) -> None:
    """Say so when files of n-gram counts are read as text, in which counts are words."""
    files = [file for file in training_sources(train) or () if isinstance(file, str) and os.path.isfile(file)]
    lines = (file for file in files if guess_format(file) == "lines")
    if wrong := next((file for file in lines if looks_like_ngrams(file, s.encoding)), None):
        warnings.warn(
            f"{wrong} seems to hold n-grams with their counts, but is read as text, so that the counts are words: "
            "set ngrams=True",
            stacklevel=3,
        )


def _own(s: Any, cls: type[Settings]) -> dict[str, Any]:
    """The settings of a method without those of its text."""
    return {setting.name: getattr(s, setting.name) for setting in settings_of(cls)}


def _refuse_few_words(arrays: TokenArrays | NgramCounts) -> None:
    """Vectors say how words differ: of one word there is nothing to say."""
    words = [word for word in arrays.vocabulary if word != arrays.vocabulary.unknown]
    if len(words) < 2:
        what = f"{len(words) or 'no'} word{'' if len(words) == 1 else 's'} to learn vectors for"
        raise InputError(what, remedy="give more text, or lower min_count")


def _topics(train: Any, s: Any, report: ReadReport) -> MomentTopics:
    bags = learn_bags(train, s, report)
    names = ("alpha0", "smoothing", "polish", "restarts", "iterations", "threads")
    how = {name: getattr(s, name) for name in names}
    started = time.perf_counter()
    reading = Reading(lowercase=s.lowercase, unknown=None).facts()
    model = MomentTopics(s.topics, random_state=s.seed, **how)
    model.fit(bags.counts, words=bags.words, reading=reading)
    seconds = time.perf_counter() - started
    tokens = int(bags.counts.sum())
    model.facts |= {
        "method": "topics",
        "documents": model.n_documents_,
        "dropped": model.n_dropped_,
        "tokens": tokens,
        "words": len(bags.words),
        "stop_words": s.stop_words,
        "topics": len(model.weights_),
        "passes": model.polish or None,
        "objective": model.trace_[-1] if model.trace_ else None,
        "seconds": seconds,
        "tokens_per_second": tokens / max(seconds, 1e-9),
    }
    return model


# ------------------------------------------------------------------------------------------ other verbs


def evaluate(model: str, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
    """Measure the model of a file, or the vectors of a word2vec file."""
    return Views(evaluated(load_any(model), data, settings_or(embed_settings.Evaluate, settings, given)))


def neighbours(
    model: str | WordVectors, words: Sequence[str], settings: Settings | None = None, **given: Any
) -> Views:
    """The words most similar to each given word, in the vectors of a model or a word2vec file."""
    s = settings_or(embed_settings.Neighbours, settings, given)
    with about(str(model)):
        return Views(neighbour_views(word_vectors(model), words, s))


def export(model: str | EmbedModel, output: str, settings: Settings | None = None) -> Views:
    """Write vectors as word2vec text, or topics as a table of topic, word and probability."""
    fitted: EmbedModel = load_task(model, "embed") if isinstance(model, str) else model
    with about(output):
        written = fitted.export(output)
    if output == "-":
        return Views([])
    return Views(
        [
            Facts("facts", "", {"output": output, **written}, {}),
            Lines("", "", [f"Wrote {output}: {written['words']:,} words"]),
        ]
    )


def cluster(model: str | WordVectors, settings: Settings | None = None, **given: Any) -> WordClasses:
    """Classes of words by k-means on their vectors, for other models to use."""
    s = settings_or(embed_settings.Cluster, settings, given)
    vectors = word_vectors(model)
    if s.classes > len(vectors):
        raise OptionError(f"{s.classes} classes cannot be made of {len(vectors):,} words")
    found = vectors.kmeans(s.classes, random_state=s.seed)
    used = int(np.count_nonzero(np.bincount(found.ids, minlength=s.classes)))
    if used < s.classes:
        from spinney import progress

        progress.log.warning("%d of %d classes have words", used, s.classes)
    return found
