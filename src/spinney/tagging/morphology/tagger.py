"""A morphological tagger: UPOS, XPOS and FEATS of CoNLL-U in one go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError
from spinney.files import ModelFile
from spinney.model import Applied, Contents, Model
from spinney.settings import Settings, settings_or
from spinney.settings.report import Report
from spinney.settings.tag import Apply, Evaluate, Explain, Inspect, Morph
from spinney.structure.reading import word_classes, word_vectors
from spinney.tagging.morphology.labels import EMPTY, Label, Labels
from spinney.tagging.morphology.lattices import Marginals, best_labels, marginals
from spinney.tagging.morphology.observations import Observer
from spinney.tagging.morphology.storing import contents_of, stored
from spinney.tagging.morphology.training import Treebank, offsets_of, train
from spinney.tagging.morphology.weights import Weights
from spinney.views import Views

#: The strength of the ℓ1 part of the elastic net, unless it is chosen: good on held-out parts of eight treebanks.
L1 = 0.2
_BATCH = 2000  # sentences that are tagged together


class MorphTagger(Model):
    """Gives words their UPOS, XPOS and FEATS, which are one composed label, learned by its parts.

    A conditional random field over lattices: the score of a label is a sum over its parts (UPOS, XPOS, each attribute
    with its value, by itself and with the UPOS, and the whole label), that of two adjacent labels a sum over their
    facets (MarMoT: Müller, Schmid and Schütze 2013). Only the labels of the training sentences are ever given.

    Attributes
    ----------
    labels : Labels
    observer : Observer
        What is seen of words.
    weights : Weights
    words : frozenset of str
        The words of the training sentences.
    facts : dict

    Examples
    --------
    >>> text = [Sentence(["dogs", "bark"], upos=["NOUN", "VERB"], feats=["Number=Plur", "_"]),
    ...         Sentence(["cats", "bark"], upos=["NOUN", "VERB"], feats=["Number=Plur", "_"])]
    >>> tagger = MorphTagger.train(text, l1=0.0, min_count=1)
    >>> tagger.tag([["dogs", "bark"]])
    [[('NOUN', '_', 'Number=Plur'), ('VERB', '_', '_')]]
    """

    kind = "tagging/MorphTagger"
    settings: Any

    def __init__(
        self,
        labels: Labels,
        observer: Observer,
        weights: Weights,
        words: frozenset[str],
        facts: dict[str, Any],
    ) -> None:
        self.labels, self.observer, self.weights, self.words, self.facts = (
            labels,
            observer,
            weights,
            words,
            facts,
        )
        self._upos = labels.columns()[0][1]

    # -- learning -------------------------------------------------------------------------------------

    @classmethod
    def train(cls, sentences: Sequence[Sentence], settings: Settings | None = None, **given: Any) -> Self:
        """Learn from tagged sentences; ``settings`` are of :class:`spinney.settings.tag.Morph`, or given by name.

        An interrupt ends the training with what was learned so far: the fact ``interrupted`` says so.
        """
        s = settings_or(Morph, settings, given)
        l1 = L1 if s.l1 is None else s.l1
        started = time.perf_counter()
        forms = [sentence.forms for sentence in sentences]
        tagged = [labels_of(sentence) for sentence in sentences]
        labels = Labels.of(label for one in tagged for label in one)
        if not len(labels):
            raise InputError("no words to learn from")
        observer = Observer.learn(
            forms, s.min_count, _named(s.classes, word_classes), _named(s.vectors, word_vectors)
        )
        gold = np.array([labels.number[label] for one in tagged for label in one], np.int32)
        data = Treebank(offsets_of(forms), observer.observe(forms), gold)
        weights = Weights.zeros(data.seen, gold, labels, observer.is_beside)
        found = train(data, labels, weights, l1=l1, l2=s.l2, passes=s.passes, seed=s.seed)
        weights, used = found.weights.compact()
        seconds = time.perf_counter() - started
        facts = {
            "method": "morph",
            "sentences": len(forms),
            "tokens": len(gold),
            "labels": len(labels),
            "parts": len(labels.parts),
            "observations": int(used.sum()),
            "parameters": len(found.weights.w) + len(weights.transitions),
            "active": weights.n_active,
            "penalty": f"elastic net (l1 {l1:g}, l2 {s.l2:g})",
            "solver": "dual averaging",
            "iterations": found.passes,
            "objective": found.objective,
            "violation": found.violation,
            "interrupted": found.interrupted,
            "seconds": seconds,
            "tokens_per_second": len(gold) / max(seconds, 1e-9),
        }
        words = frozenset(form for one in forms for form in one)
        tagger = cls(labels, observer.keep(used), weights, words, facts)
        tagger.settings = s
        return tagger

    # -- tagging --------------------------------------------------------------------------------------

    def tag(self, forms: Sequence[Sequence[str]]) -> list[list[Label]]:
        """UPOS, XPOS and FEATS of the words of each sentence."""
        found: list[list[Label]] = []
        every = self.labels.all
        for start in range(0, len(forms), _BATCH):
            some = forms[start : start + _BATCH]
            numbers = best_labels(self.marginals(some), self._upos).tolist()
            each = iter(numbers)
            found += [[every[next(each)] for _ in one] for one in some]
        return found

    def marginals(self, forms: Sequence[Sequence[str]]) -> Marginals:
        """The candidates of each word, and their probabilities."""
        return marginals(offsets_of(forms), self.observer.observe(forms), self.labels, self.weights)

    def accuracy(self, sentences: Sequence[Sentence]) -> float:
        """The share of words whose UPOS, XPOS and FEATS are all right."""
        found = self.tag([sentence.forms for sentence in sentences])
        right = [x == y for one, s in zip(found, sentences) for x, y in zip(one, labels_of(s))]
        return sum(right) / max(len(right), 1)

    # -- the contract of models -----------------------------------------------------------------------

    def contents(self) -> Contents:
        """What the tagger keeps in its file."""
        return contents_of(self)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The tagger that a file holds."""
        return cls(*stored(file))

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.tagging.morphology.views import facts_view

        return Views([facts_view(self)])

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, and the strongest observations of each part of labels."""
        from spinney.tagging.morphology.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """CoNLL-U with UPOS, XPOS and FEATS filled in, for a file or for sentences in memory."""
        from spinney.tagging.morphology.scoring import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Accuracy of each column and of all together, for known and unknown words."""
        from spinney.tagging.morphology.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why words have their tags: what speaks for them, and what for the next best ones."""
        from spinney.tagging.morphology.explaining import explained
        from spinney.tagging.morphology.scoring import first_forms

        s = settings_or(Explain, settings, given)
        return Views(explained(self, first_forms(data, s), s.top))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What the page of the tagger shows; with tagged sentences, its accuracy on them."""
        from spinney.tagging.morphology.scoring import page

        return Views(page(self, data, settings_or(Report, settings, given)))


def labels_of(sentence: Sentence) -> list[Label]:
    """The composed labels of a sentence; an absent column is empty.

    Examples
    --------
    >>> labels_of(Sentence(["a"], upos=["DET"]))
    [('DET', '_', '_')]
    """
    blank = [EMPTY] * len(sentence)
    return list(zip(sentence.upos or blank, sentence.xpos or blank, sentence.feats or blank))


def _named(given: Sequence[Any], read: Any) -> dict[str, Any]:
    """Structures by name, from pairs NAME=FILE or from mappings of names to structures."""
    found: dict[str, Any] = {}
    for one in given:
        pairs = dict([one.split("=", 1)]) if isinstance(one, str) else one
        found |= {name: read(structure) for name, structure in pairs.items()}
    return found
