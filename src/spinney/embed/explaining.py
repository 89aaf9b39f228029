"""What the vector of a word, or the topics of a document, come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from spinney.corpus import ReadReport
from spinney.corpus.text import first_sentences
from spinney.embed.documents import bag_batches
from spinney.embed.model import EmbedModel
from spinney.errors import InputError
from spinney.settings.embed import Explain
from spinney.views import Extra, Note, Table, View

if TYPE_CHECKING:
    from spinney.embed.topics import MomentTopics


def explained_words(model: EmbedModel, data: Any, s: Explain) -> list[View]:
    """A table for each sentence: the words whose vectors are nearest to that of each token."""
    reading, vectors = model.reading_of_words(s), model.vectors()
    sentences = [one.words for one in first_sentences(data, s, reading, s.documents) if one.words]
    if not sentences:
        raise InputError("no sentences to explain")
    views: list[View] = [Note("The words whose vectors are nearest to that of each word, by the cosine.")]
    found = []
    for number, words in enumerate(sentences, start=1):
        near = {
            word: vectors.neighbours(word, s.top) if vectors.gives(word) else []
            for word in dict.fromkeys(words)
        }
        shown = [
            [word, " · ".join(f"{other} {value:.3f}" for other, value in near[word]) or "(unknown)"]
            for word in words
        ]
        views.append(Table("", f"Sentence {number}", ["token", "nearest words (cosine)"], shown))
        found.append([{"word": word, "nearest": near[word]} for word in words])
    return [*views, Extra("explained", "", found)]


class TopicShare(NamedTuple):
    """A topic of a document: its share, and the words that it explains, with the expected number of tokens of each."""

    topic: int
    share: float
    words: list[tuple[str, float]]


def topic_shares(model: MomentTopics, counts: Any) -> list[list[TopicShare]]:
    """For each row of counts, its topics, the largest first.

    A token of word w is of topic k with probability θ_k φ_k(w) / Σ_j θ_j φ_j(w); over the topics, the expected
    numbers of the tokens of a word add up to its count.
    """
    X, found = csr_array(counts), []
    for d, theta in enumerate(model.transform(X)):
        columns, seen = X.indices[X.indptr[d] : X.indptr[d + 1]], X.data[X.indptr[d] : X.indptr[d + 1]]
        joint = theta[:, None] * model.components_[:, columns]
        expected = seen * joint / np.maximum(joint.sum(axis=0), np.finfo(float).tiny)
        rows = []
        for k in np.argsort(-theta, kind="stable").tolist():
            order = [i for i in np.argsort(-expected[k], kind="stable").tolist() if expected[k, i] > 0]
            words = [(model.words_[columns[i]], float(expected[k, i])) for i in order]
            rows.append(TopicShare(k, float(theta[k]), words))
        found.append(rows)
    return found


def explained_topics(model: MomentTopics, data: Any, s: Explain) -> list[View]:
    """A table for each document: its topics, and the words that they explain."""
    views: list[View] = [
        Note(
            "Words of a document with the number of their tokens that each topic explains, as far as can be expected."
        )
    ]
    found: list[Any] = []
    for bags in bag_batches(data, s, model.reading().lowercase, ReadReport(), model.words_):
        for name, topics in zip(bags.names, topic_shares(model, bags.counts)):
            some = [one for one in topics if one.share >= 0.01][: s.top]
            rows = [
                [
                    one.topic,
                    f"{one.share:.1%}",
                    " · ".join(f"{word} {n:.3g}" for word, n in one.words[: s.top]),
                ]
                for one in some
            ]
            views.append(Table("", f"Document {name}", ["topic", "share", "words (tokens)"], rows))
            found.append({"id": name, "topics": [one._replace(words=one.words[: s.top]) for one in some]})
            if len(found) == s.documents:
                return [*views, Extra("explained", "", found)]
    if not found:
        raise InputError("no documents to explain")
    return [*views, Extra("explained", "", found)]
