"""Dependency parsing with non-deterministic split head automata (Eisner and Satta 1999; Luque et al. 2012).

Each head generates its modifiers on either side, from the nearest outwards, by an automaton for its tag and that side.
The automata have hidden states, so that a modifier may depend on all modifiers before it. The probability of a tree is
the product of those of its sequences; the sum over all projective trees of a sentence takes O(L³n + L²n²), and Eisner's
algorithm finds the tree whose edges have the largest sum of marginals.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, NotFittedError
from spinney.files import ModelFile
from spinney.model import Applied, Contents, Model
from spinney.parallel import Kept, Pure, one_blas_thread
from spinney.parsing.automata_learning import Automata, bigram, deterministic, em, spectral
from spinney.parsing.choosing import Attempt, choose_each
from spinney.parsing.close_trees import close_trees
from spinney.parsing.eisner import Heads, eisner, is_projective
from spinney.parsing.latent_trees import LatentTrees, Method
from spinney.parsing.modifiers import (
    LEFT,
    Column,
    Floats,
    ModifierSequences,
    automaton_of,
    checked_heads,
    tags_of,
)
from spinney.parsing.signed import Signed
from spinney.settings import Settings, choose, settings_or
from spinney.settings.parse import AUTOMATA, Apply, Evaluate, Explain, Inspect, Signs
from spinney.settings.report import Report
from spinney.views import Arcs, Views

_FAR = 1e200  # totals above this, or below its inverse, are computed again with other factors
_ATTEMPTS = 8

#: Strengths of moments: without held-out trees, and what is tried with them.
_STRENGTHS = {"shrinkage": 300.0, "cutoff": 0.05}
_TRIED = {"shrinkage": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0), "cutoff": (0.01, 0.05, 0.1)}


class HeadAutomata(Model):
    """A parser of tag sequences.

    Parameters
    ----------
    method
        ``"spectral"``: moments and one SVD per automaton; ``"em"``; and two baselines: ``"deterministic"``, a bag of
        modifiers, and ``"bigram"``, where a modifier depends on the one before.
    settings, given
        Settings of the method ``automata``, ``automata-em``, … (:mod:`spinney.settings.parse`), as one object or by
        name. The statistics of an automaton seen c times are mixed, with the weight τ / (c + τ), τ = ``smoothing``,
        with those of all heads of its side; with EM, as many observations of them are its prior. Marginals, which
        moments may make negative, are left as they are but for the sign of the total (``signs="raw"``), become their
        magnitudes (``"abs"``), become 0 (``"clip"``), or are divided by the total, so that they sum to 1 in any case
        (``"normalise"``).

    Attributes
    ----------
    tags_ : list of str
        The alphabet. A tag that is not in it counts as the mean of all tags and, as a head, as any head.
    automata_ : Automata
        Two for each tag, two for unknown tags, and one for the root (see `automaton_of`).
    fallback_ : Automata
        Automata with one state, for sentences whose total is not a positive number.
    latent_ : LatentTrees or None
        What chooses among the best trees, with ``rerank``.
    facts : dict
        Sizes, seconds, and how many trees were not projective: these are used as well, since the
        modifiers on either side of a head have an order in any tree.

    Examples
    --------
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0]),
    ...         Sentence("dogs chase the cat".split(), upos="NOUN VERB DET NOUN".split(), heads=[2, 0, 4, 2])]
    >>> parser = HeadAutomata(states=2, smoothing=0.1).fit(text)
    >>> parser.predict([["DET", "NOUN", "VERB", "DET", "NOUN"]])
    [array([2, 3, 0, 5, 3], dtype=int32)]
    """

    kind = "parsing/HeadAutomata"
    settings: Any
    latent_: LatentTrees | None = None

    def __init__(self, method: str = "spectral", *, settings: Settings | None = None, **given: Any) -> None:
        full = "automata" if method == "spectral" else f"automata-{method}"
        self.settings = settings or choose(AUTOMATA, {"method": full, **given})
        self.signs: Signs = getattr(self.settings, "signs", "abs")
        self.column: Column = self.settings.column
        self.threads = self.settings.threads

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, sentences: Iterable[Sentence], *, dev: Sequence[Sentence] | None = None) -> Self:
        """Learn from trees; ``dev``, held-out ones, choose the strengths of moments that settings leave open."""
        started = time.perf_counter()
        trees = list(sentences)
        tags = [tags_of(sentence, self.column) for sentence in trees]
        heads = [checked_heads(sentence.heads, len(sentence)) for sentence in trees]
        self.tags_: list[str] = sorted({tag for one in tags for tag in one})
        if not self.tags_:
            raise InputError("no words to learn from")
        self._number = {tag: i for i, tag in enumerate(self.tags_)}
        sequences = ModifierSequences.of([self._encode(one)[1:] for one in tags], heads, len(self.tags_))
        self.facts = {
            "method": self.settings.method,
            "sentences": len(trees),
            "tokens": int(sum(map(len, trees))),
            "tags": len(self.tags_),
            "nonprojective": sum(not is_projective(one) for one in heads),
        }
        self.unigram_: Floats = np.append(sequences.frequencies, 1.0) / (sequences.frequencies.sum() + 1.0)
        with one_blas_thread():
            self.fallback_ = deterministic(sequences, max(self.settings.smoothing, 1.0), floor=1e-6)
            self.latent_ = None
            self.automata_ = self._learn(sequences, dev)
        if self.settings.rerank:
            by: Method = "em" if self.settings.method == "automata-em" else "spectral"
            how = {"column": self.column, "random_state": self.settings.seed}
            self.latent_ = LatentTrees(self.settings.rerank_states, by, **how).fit(trees)
        latent = () if self.latent_ is None else self.latent_.operators_
        seconds = time.perf_counter() - started
        self.facts |= {
            "states": self.automata_.start.shape[1],
            "parameters": sum(part.size for part in (*self.automata_, *latent)),
            "rerank": self.settings.rerank or None,
            "seconds": seconds,
            "tokens_per_second": self.facts["tokens"] / max(seconds, 1e-9),
        }
        return self

    def _learn(self, sequences: ModifierSequences, dev: Sequence[Sentence] | None) -> Automata:
        s = self.settings
        if s.method == "automata":
            return self._by_moments(sequences, dev)
        if s.method == "automata-em":
            automata, self.facts["trace"] = em(
                sequences, s.states, smoothing=s.smoothing, iterations=s.max_iter, random_state=s.seed
            )
            return automata
        return (deterministic if s.method == "automata-deterministic" else bigram)(sequences, s.smoothing)

    def _by_moments(self, sequences: ModifierSequences, dev: Sequence[Sentence] | None) -> Automata:
        s = self.settings

        given = {name: getattr(s, name) for name in _STRENGTHS}
        values = {name: usual if given[name] is None else given[name] for name, usual in _STRENGTHS.items()}
        opened = {name: _TRIED[name] for name in values if dev and given[name] is None}
        if not opened:
            return self.by_strengths(sequences, values)
        chosen = choose_each(values, opened, Pure(_attempt, Kept((copy.copy(self), sequences, dev))))
        self.facts |= {"chosen": {name: chosen.values[name] for name in opened}, "trials": chosen.trace}
        return chosen.model

    def by_strengths(self, sequences: ModifierSequences, values: dict[str, float]) -> Automata:
        """Automata by moments, with these strengths."""
        s = self.settings
        return spectral(
            sequences,
            s.states,
            smoothing=s.smoothing,
            boundaries=s.boundaries,
            pseudo_count=s.pseudo_count,
            **values,
        )

    # -- parsing --------------------------------------------------------------------------------------

    def predict(self, sentences: Iterable[Sentence | Sequence[str]]) -> list[Heads]:
        """The heads of each sentence, given as tags or as CoNLL-U: the tree with the largest sum of marginals.

        With ``rerank``, the best of several trees by the product of its marginals and its probability in latent trees.
        """
        return [self._best(one) for one in sentences]

    def _best(self, sentence: Sentence | Sequence[str]) -> Heads:
        mu, s = self.edge_marginals(sentence), self.settings
        if self.latent_ is None or len(mu) < 3:  # one word has one tree
            return eisner(mu, single_root=s.single_root)
        # Dhillon et al. 2012: a law of whole trees chooses among the best trees of a parser.
        scores = np.log(np.maximum(np.abs(mu), 1e-12))
        trees = close_trees(scores, s.rerank)
        own = [sum(scores[head, i] for i, head in enumerate(tree, start=1)) for tree in trees]
        return self.latent_.rerank(self._tags(sentence), trees, own, weight=s.rerank_weight)

    def edge_marginals(self, tags: Sentence | Sequence[str]) -> Floats:
        """``[head, modifier]``: the share of each edge in all projective trees, after ``signs``; 0 is the root.

        Without negative numbers, each column except that of the root sums to 1.
        """
        ids = self._encode(self._tags(tags))
        total, mu = self._inside_outside(self.automata_, ids)
        # Magnitudes need no sign of the total.
        usable = total.sign != 0 if self.signs in ("abs", "raw") else total.sign > 0
        if not usable:
            return self._inside_outside(self.fallback_, ids)[1]
        if self.signs == "abs":
            return np.abs(mu)
        if self.signs == "clip":
            return np.maximum(mu, 0.0)
        return mu * total.sign if self.signs == "raw" else mu

    def log_total(self, tags: Sentence | Sequence[str]) -> Signed:
        """Z, the sum of all projective trees of the sentence."""
        return self._inside_outside(self.automata_, self._encode(self._tags(tags)))[0]

    def log_probability(self, tags: Sentence | Sequence[str], heads: ArrayLike | None = None) -> Signed:
        """The log-probability of a tree, projective or not: the product of the probabilities of its sequences.

        ``heads`` may be omitted if a CoNLL-U sentence has them.
        """
        if heads is None:
            heads = tags.heads if isinstance(tags, Sentence) else []
        ids = self._encode(self._tags(tags))
        above = checked_heads(heads, len(ids) - 1)
        one = ModifierSequences.of([ids[1:]], [above], len(self.tags_))
        sign, log = 1.0, 0.0
        for k in range(one.n_automata):
            for s in range(one.owners[k], one.owners[k + 1]):
                state = self.automata_.start[k]
                for m in one.modifiers[one.offsets[s] : one.offsets[s + 1]]:
                    state = self.automata_.matrices[k, m] @ state
                    scale = float(np.abs(state).max())
                    log += one.counts[s] * math.log(scale) if scale else -math.inf
                    state = state / (scale or 1.0)
                p = float(self.automata_.stop[k] @ state)
                sign *= float(np.sign(p)) ** one.counts[s]
                log += one.counts[s] * math.log(abs(p)) if p else -math.inf
        return Signed(sign, log)

    def score(self, sentences: Iterable[Sentence]) -> float:
        """The share of words with the correct head (unlabelled attachment score)."""
        right = total = 0
        for sentence in sentences:
            heads = checked_heads(sentence.heads, len(sentence))
            right += int((self.predict([sentence])[0] == heads).sum())
            total += len(sentence)
        return right / max(total, 1)

    def _inside_outside(self, automata: Automata, ids: NDArray[np.int32]) -> tuple[Signed, Floats]:
        """The total, and the marginals divided by it."""
        from spinney.parsing._automata_kernels import inside_outside

        L = len(ids) - 1
        mu = np.zeros((L + 1, L + 1))
        if not L:
            return Signed(1.0, 0.0), mu
        # Every word is generated once, so a factor per word cancels; with the inverse of its frequency, numbers
        # stay in range except in very long or unusual sentences.
        factors = 1.0 / self.unigram_[ids]
        step = min(5.0, math.exp(400.0 / L))  # of all words together less than what is in range
        for _ in range(_ATTEMPTS):
            total = inside_outside(
                ids, factors, automata.start, automata.matrices, automata.stop, self.settings.single_root, mu
            )
            if 1 / _FAR < abs(total) < _FAR and np.isfinite(mu).all():
                log = math.log(abs(total)) - float(np.log(factors[1:]).sum())
                return Signed(math.copysign(1.0, total), log), mu
            factors *= step if abs(total) <= 1 / _FAR else 1.0 / step
        return Signed(0.0, -math.inf), np.zeros_like(mu)

    def _tags(self, sentence: Sentence | Sequence[str]) -> Sequence[str]:
        if not hasattr(self, "automata_"):
            raise NotFittedError("this model has not been fitted: call fit")
        return tags_of(sentence, self.column) if isinstance(sentence, Sentence) else sentence

    def _encode(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of the tags, preceded by that of the root."""
        V = len(self.tags_)
        return np.array([V, *(self._number.get(tag, V) for tag in tags)], np.int32)

    # -- what all models have -------------------------------------------------------------------------

    def contents(self) -> Contents:
        """The contents of the model's file."""
        self._tags([])
        tensors = {"unigram": self.unigram_}
        for prefix, automata in (("", self.automata_), ("fallback_", self.fallback_)):
            tensors |= {prefix + name: array for name, array in automata._asdict().items()}
        parts = {} if self.latent_ is None else {"latent": self.latent_.parts()}
        return Contents({"facts": self.facts}, tensors, {"tags": self.tags_}, parts)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The automata that a file holds."""
        with file.checked():
            model = cls(settings=choose(AUTOMATA, file.fact("fit", dict)))
        model.facts, model.tags_ = file.fact("facts", dict), file.texts("tags")
        V = len(model.tags_)
        if not V or len(set(model.tags_)) != V:
            raise file.error("damaged: its tags are not distinct")
        model._number = {tag: i for i, tag in enumerate(model.tags_)}
        model.automata_, model.fallback_ = _read_automata(file, "", V), _read_automata(file, "fallback_", V)
        model.unigram_ = np.array(file.tensor("unigram", np.float64))
        if model.unigram_.shape != (V + 1,) or not np.all((model.unigram_ > 0) & (model.unigram_ <= 1)):
            raise file.error("damaged: its distribution of tags is not a distribution")
        model.latent_ = LatentTrees.from_part(file.part("latent")) if model.settings.rerank else None
        return model

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.parsing.views import fit_facts

        return Views([fit_facts(self.facts)])

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: the modifiers of each tag."""
        from spinney.parsing.views import automata_views

        return Views(automata_views(self, settings_or(Inspect, settings, given)))

    def plot_arcs(self, sentence: Sentence | Sequence[str], ax: Any = None) -> Any:
        """Draw the tree of a sentence, given as tags or as CoNLL-U, with Matplotlib (extra ``plots``).

        Where a sentence of CoNLL-U has heads, wrong arcs are red, and the right ones are dashed. Returns the axes.
        """
        tags = self._tags(sentence)
        heads = [int(head) for head in self.predict([sentence])[0]]
        known = sentence if isinstance(sentence, Sentence) else Sentence(list(tags))
        return Arcs("", "", known.forms, tags if known is sentence else [], heads, known.heads or None).plot(
            ax
        )

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """The page of the model, with data if given."""
        from spinney.parsing.page import automata_page

        return Views(automata_page(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Heads for the sentences of a file, or for sentences of CoNLL-U in memory."""
        from spinney.parsing.applying import apply_automata

        return apply_automata(self, data, settings_or(Apply, settings, given))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why sentences have their trees: the arcs of each, with log-probabilities that add up."""
        from spinney.parsing.explaining import explain_automata

        return Views(explain_automata(self, data, settings_or(Explain, settings, given)))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Scores on a treebank, in files or in memory: the share of correct heads."""
        from spinney.parsing.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))


def _attempt(
    held: tuple[HeadAutomata, ModifierSequences, Sequence[Sentence]], values: dict[str, float]
) -> Attempt[Automata]:
    """Automata with some strengths, and their score on held-out sentences: a pure function."""
    parser, sequences, dev = held
    parser = copy.copy(parser)
    parser.automata_ = parser.by_strengths(sequences, values)
    return Attempt(parser.automata_, parser.score(dev))


def _read_automata(file: ModelFile, prefix: str, n_tags: int) -> Automata:
    # Copies: kernels are compiled for arrays that can be written to.
    start, matrices, stop = (
        np.array(file.tensor(prefix + name, np.float64, ndim))
        for name, ndim in (("start", 2), ("matrices", 4), ("stop", 2))
    )
    K, n = automaton_of(n_tags + 1, LEFT) + 1, start.shape[1]
    if start.shape != (K, n) or stop.shape != (K, n) or matrices.shape != (K, n_tags + 1, n, n) or not n:
        raise file.error("damaged: its arrays do not match")
    return Automata(start, matrices, stop)
