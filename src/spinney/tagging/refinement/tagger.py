"""A tagger whose labels have hidden refinements: a refinement hidden Markov model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError
from spinney.files import ModelFile
from spinney.memory import check_memory
from spinney.model import Applied, Contents, Model
from spinney.settings import Settings, choose, settings_or
from spinney.settings.tag import REFINEMENTS, Apply, Evaluate, Explain, Inspect
from spinney.tagging.columns import Columns, labelled_columns, unlabelled_columns
from spinney.tagging.decoding import Answer
from spinney.tagging.refinement.em import fit_em
from spinney.tagging.refinement.operators import Floats, Operators, Signs
from spinney.tagging.refinement.places import Labelled, Symbols, numbered
from spinney.tagging.refinement.spectral import fit_spectral
from spinney.views import Views


class RefinementTagger(Model):
    """Gives words the labels of a hidden Markov model whose labels have hidden refinements (Stratos et al. 2013).

    Attributes
    ----------
    symbols : Symbols
        The words, and classes of rare words by their spelling.
    labels_ : list of str
    operators : Operators
    signs : str
        What is done with negative marginals, which moments may give.
    facts : dict

    Examples
    --------
    >>> text = [("the dog barks".split(), "D N V".split()), ("a cat sleeps".split(), "D N V".split())]
    >>> tagger = RefinementTagger.train(text, states=2, rare=0)
    >>> tagger.predict([["the", "cat", "barks"]])
    [['D', 'N', 'V']]
    """

    kind = "tagging/RefinementTagger"
    settings: Any

    def __init__(
        self,
        symbols: Symbols,
        labels: list[str],
        operators: Operators,
        signs: Signs,
        facts: dict[str, Any],
    ) -> None:
        self.symbols, self.labels_, self.operators = symbols, labels, operators
        self.signs: Signs = signs
        self.facts = facts

    # -- learning -------------------------------------------------------------------------------------

    @classmethod
    def train(cls, sentences: Iterable[Labelled], settings: Settings | None = None, **given: Any) -> Self:
        """Learn from pairs of words and labels; ``settings`` are of the methods ``refinement`` or ``refinement-em``."""
        s: Any = settings or choose(REFINEMENTS, given)
        started = time.perf_counter()
        full = [(words, labels) for words, labels in _paired(sentences) if len(words)]
        if not full:
            raise InputError("no words to learn from")
        places, symbols, labels = numbered(full, s.rare)
        A, m = len(labels), s.states
        pairs = len(np.unique(places.symbol * A + places.label))
        check_memory(
            8.0 * (3 * (A * m) ** 2 + 3 * pairs * m * m + 8 * len(places.label) * m),
            "{states} {most} for {labels} labels", "ask for fewer {states}", most=m, labels=A,
        )  # fmt: skip
        trace: list[float] = []
        if s.method == "refinement":
            how = {"smoothing": s.smoothing, "kappa": s.kappa, "cutoff": s.cutoff, "random_state": s.seed}
            operators = fit_spectral(full, places, len(symbols), m, **how)
        else:
            operators = fit_em(
                places, len(symbols), m, iterations=s.max_iter, smoothing=s.smoothing, random_state=s.seed,
                watch=trace.append,
            )  # fmt: skip
        seconds = time.perf_counter() - started
        facts = {
            "method": s.method,
            "sentences": len(full),
            "tokens": len(places.label),
            "labels": A,
            "states": m,
            "words": len(symbols.words),
            "classes": len(symbols.classes),
            "parameters": sum(operator.size for operator in operators[:4]),
            "iterations": len(trace) if trace else None,
            "log_likelihood": trace[-1] if trace else None,
            "interrupted": bool(trace) and len(trace) < s.max_iter,
            "seconds": seconds,
            "tokens_per_second": len(places.label) / max(seconds, 1e-9),
        }
        tagger = cls(symbols, labels, operators, getattr(s, "signs", "abs"), facts)
        tagger.settings = s
        return tagger

    # -- labelling ------------------------------------------------------------------------------------

    def marginals(self, words: Sequence[str]) -> Floats:
        """``[token, label]``: the probability of each label at each token; rows sum to 1."""
        return self.operators.marginals(self.symbols.encode(words), self.signs)

    def log_probability(self, words: Sequence[str], labels: Sequence[str]) -> tuple[float, float]:
        """The sign of p(words, labels), which moments may make negative, and the logarithm of its magnitude."""
        if len(words) != len(labels) or not words:
            raise InputError("a sentence must have words, and as many labels")
        if not set(labels) <= set(self.labels_):
            return 0.0, -np.inf
        numbers = [self.labels_.index(label) for label in labels]
        return self.operators.log_probability(self.symbols.encode(words), numbers)

    def predict(self, sentences: Iterable[Sequence[str]]) -> list[list[str]]:
        """The labels of each sentence, each the best for its token (minimum Bayes risk)."""
        return [self._answer(words).labels for words in sentences]

    def _answer(self, words: Sequence[str]) -> Answer:
        mu = self.marginals(words)
        best = mu.argmax(axis=1) if len(mu) else np.empty(0, np.int64)
        return Answer([self.labels_[a] for a in best], mu[np.arange(len(mu)), best].tolist(), [])

    # -- what files of labelled sentences need ---------------------------------------------------------

    @property
    def written_labels(self) -> list[str]:
        """The labels as they are written."""
        return self.labels_

    written_scheme = None

    def columns(
        self, X: Iterable[Any], y: Iterable[Sequence[str]] | None = None, like: Columns | None = None
    ) -> Columns:
        """Sentences as columns, the labels last if there are any."""
        return unlabelled_columns(X, like) if y is None else labelled_columns(X, y, like)

    def answers(
        self, columns: Columns, allowed: NDArray[np.bool_] | None = None, **_: Any
    ) -> Iterator[Answer]:
        """The labels of each sentence of columns, the first of which has the words."""
        words = columns.strings(0)
        for a, b in pairwise(columns.offsets.tolist()):
            yield self._answer(words[a:b])

    def in_scheme_of(self, columns: Columns, labels: Iterable[list[str]]) -> Iterable[list[str]]:
        """Predicted labels as they are: a model of parts of speech has no schemes."""
        return labels

    # -- the contract of models -----------------------------------------------------------------------

    def contents(self) -> Contents:
        """What the tagger keeps in its file."""
        strings = {"words": self.symbols.words, "classes": self.symbols.classes, "labels": self.labels_}
        return Contents({"facts": self.facts, "signs": self.signs}, self.operators._asdict(), strings)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The tagger that a file holds."""
        symbols, labels = Symbols(file.texts("words"), file.texts("classes")), file.texts("labels")
        if len({*symbols.words}) < len(symbols.words) or len({*labels}) < len(labels) or not labels:
            raise file.error("damaged: its words or labels are not distinct")
        signs: Any = file.fact("signs", str)
        if signs not in ("clip", "abs", "normalise"):
            raise file.error(f"damaged: signs are {signs!r}")
        return cls(symbols, labels, _stored(file, len(symbols), len(labels)), signs, file.fact("facts", dict))

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.tagging.refinement.views import facts_view

        return Views([facts_view(self)])

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: the hidden states of each label, in words."""
        from spinney.tagging.refinement.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Labels for the sentences of a file, or for sentences in memory."""
        from spinney.tagging.refinement.views import refuse_other
        from spinney.tagging.scoring import labelled_by

        s = settings_or(Apply, settings, given)
        refuse_other(s)
        return labelled_by(self, data, s)

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Errors on labelled sentences: files, or (sentences, labels)."""
        from spinney.tagging.refinement.views import refuse_other
        from spinney.tagging.scoring import judged_by

        s = settings_or(Evaluate, settings, given)
        refuse_other(s)
        return Views(judged_by(self, data, s))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why words have their labels: what the word alone says, and what its sentence makes of it."""
        from spinney.tagging.refinement.views import explained

        return Views(explained(self, data, settings_or(Explain, settings, given)))


def _paired(sentences: Iterable[Labelled]) -> Iterator[Labelled]:
    for i, (words, labels) in enumerate(sentences, start=1):
        if len(words) != len(labels):
            raise InputError(f"sentence {i} has {len(words)} words but {len(labels)} labels")
        yield words, labels


def _stored(file: ModelFile, V: int, A: int) -> Operators:
    start, stop, before, after = (
        file.tensor(name, np.float64, 2) for name in ("start", "stop", "before", "after")
    )
    S, shares = file.tensor("S", np.float64, 2), file.tensor("shares", np.float64, low=0)
    label = file.tensor("D_label", np.int32, low=0, high=A - 1)
    ptr = file.offsets("D_ptr", len(label))
    D = file.tensor("D", np.float64, file.tensors["D"].ndim if "D" in file.tensors else 2)
    m = start.shape[1]
    fits = {array.shape for array in (start, stop, before, after)} == {(A, m)} and len(ptr) == V + 1
    if not fits or not m or S.shape != (A * m, A * m) or shares.shape != (A,):
        raise file.error("damaged: its arrays do not fit together")
    if D.shape not in ((len(label), m), (len(label), m, m)):
        raise file.error("damaged: its arrays do not fit together")
    return Operators(start, stop, S, D, label, ptr, before, after, shares)
