"""Labels for sentences, by a fitted chain model: the best ones, the k best, and their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    token_probabilities_of,
    viterbi,
)
from spinney.tagging.columns import Columns, Sentence, labelled_columns, unlabelled_columns
from spinney.tagging.encoding import SCHEMES, Encoding, scheme_of, sentences_in
from spinney.tagging.extract import Extractor
from spinney.tagging.labelling import allowed_labels
from spinney.tagging.methods import METHODS
from spinney.tagging.sequences import Sequences
from spinney.tagging.weights import ChainWeights

BATCH = 20_000  # tokens labelled in one batch


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
        for chains in self._chains(columns, allowed):
            yield from self._named(self._decoded(chains), chains)

    def _decoded(self, chains: Chains) -> NDArray[np.int32]:
        if self.decoding == "posterior":
            return posterior_decode(chains, threads=self.threads)
        if self.decoding == "viterbi":
            return viterbi(chains, threads=self.threads)[0]
        raise unknown_choice("decoding is", self.decoding, ("viterbi", "posterior"))

    def _named(self, numbers: NDArray[np.int32], chains: Chains) -> Iterator[list[str]]:
        return (self.names_of(numbers[a:b].tolist()) for a, b in pairwise(chains.offsets.tolist()))

    def names_of(self, numbers: Iterable[int]) -> list[str]:
        """The labels of a sentence, given as numbers into ``labels_``, as the training data write them."""
        names = [self.labels_[number] for number in numbers]
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
        same = self._same_in_writing()
        for chains in self._chains(columns, allowed):
            numbers = self._decoded(chains)
            if same is None:
                chances = token_probabilities_of(chains, numbers, threads=self.threads)
            else:
                chances = np.sum(marginals(chains, threads=self.threads)[0], axis=1, where=same[numbers])
            pieces = np.split(chances, chains.offsets[1:-1])
            yield from (
                (labels, piece.tolist()) for labels, piece in zip(self._named(numbers, chains), pieces)
            )

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
        for chains in self._chains(columns, allowed):
            yield from kbest(chains, k, threads=self.threads)

    def predict_marginals(self, X: Iterable[Sentence]) -> list[NDArray[np.float64]]:
        """For each sentence the probabilities of the labels (columns, in the order of ``labels_``) of its tokens."""
        found = []
        for chains in self._chains(self.columns(X)):
            probabilities = marginals(chains, threads=self.threads)[0]
            found += np.split(probabilities, chains.offsets[1:-1]) if len(chains) else []
        return found

    def predict_kbest(self, X: Iterable[Sentence], k: int) -> list[list[Path]]:
        """For each sentence its k best labellings: label numbers, score and probability, best first."""
        return list(self.kbest_columns(self.columns(X), k))

    def predict_margins(self, X: Iterable[Sentence]) -> NDArray[np.float64]:
        """The margin of the best labelling of each sentence over the next: small where the tagger is unsure."""
        parts = [margins(chains, threads=self.threads) for chains in self._chains(self.columns(X))]
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

    def _chains(self, columns: Columns, allowed: NDArray[np.bool_] | None = None) -> Iterator[Chains]:
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
