"""Labels for sentences, by a fitted chain model: the best ones, the k best, and their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.checking import finite
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.evaluate import allowed_ends, allowed_transitions, convert, tagging_scores
from spinney.evaluate.chunks import Scheme
from spinney.inference.chains import Chains
from spinney.inference.decoding import (
    Path,
    kbest,
    marginals,
    margins,
    posterior_decode,
    viterbi,
)
from spinney.tagging.columns import Columns, Sentence, labelled_columns, unlabelled_columns
from spinney.tagging.encoding import SCHEMES, Encoding, scheme_of, sentences_in
from spinney.tagging.extract import Extractor
from spinney.tagging.labelling import allowed_labels
from spinney.tagging.methods import METHODS
from spinney.tagging.phrases import Phrase, best_by_f1, phrases_of, probable_phrases, spelled
from spinney.tagging.sequences import Sequences
from spinney.tagging.weights import ChainWeights

BATCH = 20_000  # tokens labelled in one batch
DECODINGS = ("viterbi", "posterior", "f1")


class Answer(NamedTuple):
    """What a tagger says of a sentence: labels and, where they were asked for, their probabilities and phrases."""

    labels: list[str]
    probabilities: list[float]
    phrases: list[Phrase]


class Labelling:
    """Labelling with a fitted tagger: the part of :class:`spinney.tagging.Tagger` that does not learn."""

    extractor_: Extractor
    weights_: ChainWeights
    labels_: list[str]
    encoding_: Encoding | None
    method: str
    scheme: Any
    decoding: str
    threads: int | None
    facts_: dict[str, Any]

    def check_fitted(self) -> None:
        """Raise an error unless the tagger is fitted."""
        if not hasattr(self, "weights_"):
            raise NotFittedError("this tagger has not been fitted: call fit, or load a model file")

    def columns(
        self, X: Iterable[Any], y: Iterable[Sequence[str]] | None = None, like: Columns | None = None
    ) -> Columns:
        """Sentences as columns, the labels last if there are any; the pool of strings of ``like`` is shared."""
        return unlabelled_columns(X, like) if y is None else labelled_columns(X, y, like)

    def predict(self, X: Iterable[Sentence]) -> list[list[str]]:
        """The labels of sentences."""
        return list(self.label_columns(self.columns(X)))

    def label_columns(
        self, columns: Columns, allowed: NDArray[np.bool_] | None = None
    ) -> Iterator[list[str]]:
        """The labels of each sentence; ``allowed`` (tokens × labels) forbids some."""
        for chains in self.chains_of(columns, allowed):
            yield from map(self._written, self._decoded(chains))

    def answers(
        self,
        columns: Columns,
        allowed: NDArray[np.bool_] | None = None,
        *,
        proba: bool = False,
        phrases: bool = False,
        threshold: float = 0.0,
    ) -> Iterator[Answer]:
        """The labels of each sentence with, on request, their probabilities and its phrases.

        A phrase less probable than ``threshold`` is left out: its labels become ``O``.
        """
        for chains in self.chains_of(columns, allowed):
            decoded = self._decoded(chains)
            found: list[list[Phrase]] = [[] for _ in decoded]
            if phrases or threshold > 0:
                every = phrases_of(chains, self.labels_, decoded, self.threads)
                found = [[phrase for phrase in some if phrase.probability >= threshold] for some in every]
                decoded = [
                    names if len(kept) == len(some) else self._spelled(kept, len(names))
                    for names, some, kept in zip(decoded, every, found)
                ]
            chances = np.split(self._chances(chains, decoded), chains.offsets[1:-1]) if proba else None
            for i, (names, kept) in enumerate(zip(decoded, found)):
                yield Answer(self._written(names), [] if chances is None else chances[i].tolist(), kept)

    def _decoded(self, chains: Chains) -> list[list[str]]:
        """The labels of each sentence as they were learned."""
        if self.decoding == "f1":
            found = best_by_f1(chains, self.labels_, self.threads)
            lengths = np.diff(chains.offsets).tolist()
            return [self._spelled(phrases, n) for phrases, n in zip(found, lengths)]
        if self.decoding == "posterior":
            numbers = posterior_decode(chains, threads=self.threads)
        elif self.decoding == "viterbi":
            numbers = viterbi(chains, threads=self.threads)[0]
        else:
            raise unknown_choice("decoding is", self.decoding, DECODINGS)
        names = [self.labels_[number] for number in numbers.tolist()]
        return [names[a:b] for a, b in pairwise(chains.offsets.tolist())]

    def _spelled(self, phrases: Iterable[Phrase], n: int) -> list[str]:
        """The labels of a sentence with these phrases, in the scheme that was learned."""
        names, learned = spelled(phrases, n), self.learned_scheme
        return names if learned is None else convert(names, learned)

    def names_of(self, numbers: Iterable[int]) -> list[str]:
        """The labels of a sentence, given as numbers into ``labels_``, as the training data write them."""
        return self._written([self.labels_[number] for number in numbers])

    def _written(self, names: list[str]) -> list[str]:
        if self.encoding_ is not None:
            return self.encoding_.decoded(names, self.scheme)
        return names if self.scheme in (None, self.learned_scheme) else convert(names, self.scheme)

    @property
    def learned_scheme(self) -> Scheme | None:
        """The scheme of the learned labels, if they are those of phrases; else the ``scheme`` that was asked for."""
        if self.encoding_ is not None:
            return self.encoding_.inner
        learned: Scheme | None = self.facts_.get("label_scheme")
        return learned if learned in SCHEMES else self.scheme

    @property
    def written_scheme(self) -> Scheme | None:
        """The scheme of the labels that are given: ``scheme``, or that of the training data."""
        written: Scheme | None = self.learned_scheme if self.encoding_ is None else self.encoding_.own
        return self.scheme or written

    @property
    def written_labels(self) -> list[str]:
        """The labels of the training data as they are written there: ``labels_``, unless ``encode`` rewrites them."""
        self.check_fitted()
        return self.labels_ if self.encoding_ is None else list(self.encoding_.labels)

    def label_columns_with_probabilities(
        self, columns: Columns, allowed: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[list[str], list[float]]]:
        """The labels of each sentence, each with its marginal probability.

        With ``encode``, if the written form of labels depends on their neighbours, it is the probability of the learned
        label.
        """
        for answer in self.answers(columns, allowed, proba=True):
            yield answer.labels, answer.probabilities

    def _chances(self, chains: Chains, decoded: Iterable[Sequence[str]]) -> NDArray[np.float64]:
        """The probabilities of the labels of all tokens."""
        number = {name: y for y, name in enumerate(self.labels_)}
        # F1 may ask for a label that was never learned, such as IOB1's B-X: then its probability is 0.
        labels = np.array([number.get(name, -1) for names in decoded for name in names], np.int32)
        chances, same = marginals(chains, threads=self.threads)[0], self._same_in_writing()
        if same is None:
            found = chances[np.arange(len(labels)), labels]
        else:
            found = np.sum(chances, axis=1, where=same[labels])
        return np.where(labels < 0, 0.0, found)

    def predict_phrases(self, X: Iterable[Sentence], threshold: float = 0.0) -> list[list[Phrase]]:
        """The phrases of the predicted labels of each sentence, with their probabilities.

        A phrase is ``(start, end, type, probability)``: the tokens from ``start`` up to and without ``end``. Its
        probability is that of all labellings with exactly this phrase, so it tells how far to trust the phrase, where
        the probabilities of its labels, one by one, do not. Those below ``threshold`` are left out.
        """
        finite("threshold", threshold, 0)
        found = self.answers(self.columns(X), phrases=True, threshold=threshold)
        return [answer.phrases for answer in found]

    def predict_candidates(self, X: Iterable[Sentence], least: float = 0.01) -> list[list[Phrase]]:
        """All phrases of each sentence whose probability is at least ``least``; they may overlap."""
        finite("least", least, 0)
        found = []
        for chains in self.chains_of(self.columns(X)):
            found += probable_phrases(chains, self.labels_, least, self.threads)
        return found

    def _same_in_writing(self) -> NDArray[np.bool_] | None:
        """Which learned labels have the same written form, if the two differ and each learned label has one form."""
        self.check_fitted()
        if self.encoding_ is None:
            return None
        meanings = self.encoding_.meanings(self.labels_, self.scheme)
        return None if meanings is None else np.array([[a == b for b in meanings] for a in meanings])

    def kbest_columns(
        self, columns: Columns, k: int, allowed: NDArray[np.bool_] | None = None
    ) -> Iterator[list[Path]]:
        """The k best labellings of each sentence, best first."""
        for chains in self.chains_of(columns, allowed):
            yield from kbest(chains, k, threads=self.threads)

    def predict_marginals(self, X: Iterable[Sentence]) -> list[NDArray[np.float64]]:
        """For each sentence the probabilities of the labels (columns, in the order of ``labels_``) of its tokens."""
        found = []
        for chains in self.chains_of(self.columns(X)):
            probabilities = marginals(chains, threads=self.threads)[0]
            found += np.split(probabilities, chains.offsets[1:-1]) if len(chains) else []
        return found

    def predict_kbest(self, X: Iterable[Sentence], k: int) -> list[list[Path]]:
        """For each sentence its k best labellings: label numbers, score and probability, best first."""
        return list(self.kbest_columns(self.columns(X), k))

    def predict_margins(self, X: Iterable[Sentence]) -> NDArray[np.float64]:
        """The margin of the best labelling of each sentence over the next: small where the tagger is unsure."""
        parts = [margins(chains, threads=self.threads) for chains in self.chains_of(self.columns(X))]
        return np.concatenate([np.empty(0), *parts])

    def force(self, columns: Columns) -> tuple[Columns, NDArray[np.bool_]]:
        """Take the last column as constraints on the labels: ``_`` allows any, ``A|B`` one of two, ``A`` only A."""
        self.check_fitted()
        inputs, names = columns.without_last(), self.labels_
        if self.encoding_ is not None:
            own = self.encoding_.meanings(names)
            if own is None:
                what = f"{self.encoding_.own} labels depend on their neighbours in {self.encoding_.inner}"
                raise OptionError(
                    f"{what}: use force with a tagger trained on iob2 labels, or without encode"
                )
            names = own
        return inputs, allowed_labels(columns.symbols[-1], columns.pool, names)

    def chains_of(self, columns: Columns, allowed: NDArray[np.bool_] | None = None) -> Iterator[Chains]:
        """The model on the sentences, in batches."""
        self.check_fitted()
        transitions = ends = None
        if self.encoding_ is not None:
            if self.scheme not in (None, *SCHEMES):
                raise unknown_choice("scheme is", self.scheme, SCHEMES)
            transitions, ends = self.encoding_.allowed(self.labels_)
        elif self.scheme is not None:
            learned = self.learned_scheme
            assert learned is not None
            transitions = allowed_transitions(self.labels_, learned)
            ends = allowed_ends(self.labels_, learned)
        offsets = columns.offsets
        start = 0
        while start < len(columns):
            stop = int(np.searchsorted(offsets, offsets[start] + BATCH, side="right")) - 1
            stop = min(max(stop, start + 1), len(columns))
            a, b = int(offsets[start]), int(offsets[stop])
            part = Columns(offsets[start : stop + 1] - a, columns.symbols[:, a:b], columns.pool)
            chains = self.chains(Sequences(part.offsets, *self.extractor_.observe(part)))
            if allowed is not None or transitions is not None:
                chains = chains.constrained(None if allowed is None else allowed[a:b], transitions, ends)
            yield replace(chains, first=start)
            start = stop

    def chains(self, data: Sequences) -> Chains:
        """The scores of all labellings."""
        return METHODS[self.method].chains(self.weights_, data)

    def score_columns(self, columns: Columns) -> dict[str, Any]:
        """Token error, phrase scores and sequence error against the last column."""
        if not columns.n_tokens:
            raise InputError("no sentences to score")
        inputs = columns.without_last()
        texts = list(columns.pool)
        gold = [texts[symbol] for symbol in columns.symbols[-1].tolist()]
        bounds = columns.offsets.tolist()
        sentences = (gold[a:b] for a, b in pairwise(bounds))
        return tagging_scores(sentences, self.in_scheme_of(columns, self.label_columns(inputs)))

    def in_scheme_of(self, columns: Columns, labels: Iterable[list[str]]) -> Iterable[list[str]]:
        """Predicted labels in the scheme of those in the last column, so that both can be compared token by token."""
        given, fitting = self.written_scheme, sentences_in(columns)
        found = scheme_of(columns)
        if given is None or found is None or fitting[found] <= fitting[given]:
            return labels
        return (convert(sentence, found) for sentence in labels)

    def score(
        self, X: Iterable[Sentence], y: Iterable[Sequence[str]], sample_weight: Sequence[float] | None = None
    ) -> float:
        """The share of tokens labelled correctly; with weights of sentences, a token counts as its sentence does."""
        columns = self.columns(X, y)
        if sample_weight is None:
            return float(self.score_columns(columns)["accuracy"])
        weights = np.asarray(sample_weight, np.float64)
        if weights.shape != (len(columns),) or not np.all((weights >= 0) & np.isfinite(weights)):
            raise InputError(
                f"sample_weight must be {len(columns)} finite numbers ≥ 0, one for each sentence"
            )
        texts, bounds = list(columns.pool), columns.offsets.tolist()
        gold = [texts[symbol] for symbol in columns.symbols[-1].tolist()]
        found = self.in_scheme_of(columns, self.label_columns(columns.without_last()))
        right = [
            sum(one == other for one, other in zip(gold[a:b], labels))
            for (a, b), labels in zip(pairwise(bounds), found)
        ]
        total = float(weights @ np.diff(columns.offsets))
        if not total:
            raise InputError("no sentences to score")
        return float(weights @ np.array(right, np.float64)) / total
