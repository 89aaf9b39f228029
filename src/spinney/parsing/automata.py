"""Dependency parsing with non-deterministic split head automata (Eisner and Satta 1999; Luque et al. 2012).

Each head draws its modifiers on either side, from the nearest outward, from an automaton of its tag and that side. The
automata have hidden states, so that a modifier may depend on all before it. A tree has the product of the
probabilities of its sequences; all projective trees of a sentence are summed up in O(L³n + L²n²), and the tree whose
edges have the largest sum of marginals is found by Eisner's algorithm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.files import FilePath, ModelFile, read_model, write_model
from spinney.parallel import one_blas_thread
from spinney.parsing.automata_learning import Automata, bigram, check_learning, deterministic, em, spectral
from spinney.parsing.eisner import Heads, eisner, is_projective
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

Method = Literal["spectral", "em", "deterministic", "bigram"]
Signs = Literal["raw", "abs", "clip", "normalise"]

KIND = "parsing/automata"
_FAR = 1e200  # totals beyond this, or below its inverse, are computed anew with other factors
_ATTEMPTS = 8


@dataclass(eq=False, repr=False)
class HeadAutomata:
    """A parser of tag sequences.

    Parameters
    ----------
    states
        n, of each automaton; fewer where the statistics have a smaller rank. Deterministic automata do not ask.
    method
        ``"spectral"``: moments and an SVD an automaton; ``"em"``; and two baselines: ``"deterministic"``, a bag of
        modifiers, and ``"bigram"``, where a modifier depends on the one before.
    column
        The column of CoNLL-U with the tags: ``"upos"`` or ``"xpos"``.
    smoothing
        τ: the statistics of an automaton seen c times are mixed, with the weight τ / (c + τ), with those of all
        heads of its side; with EM, so many observations of them are its prior.
    signs
        What to do with marginals, which moments may make negative: ``"raw"`` leaves them, multiplied by the sign of
        the total; ``"abs"`` takes their magnitudes; ``"clip"`` sets negative ones to 0; ``"normalise"`` leaves those
        that are divided by the total, so that they sum to 1 in any case.
    shrinkage
        spectral: how often a head must have had a modifier for what came before that modifier to count as much as it
        does in a chain that forgets it.
    boundaries
        spectral: whether the ends of a sequence are symbols, so that short ones count in all moments.
    pseudo_count
        spectral: κ, in sequences: the scales before the SVD (see `spectral_operators`); None for none.
    cutoff
        spectral: singular values at most this times the largest are left out.
    iterations
        Of EM.
    single_root
        Whether the artificial root has one modifier only.

    Attributes
    ----------
    tags_ : list of str
        The alphabet. A tag that is not in it is read as the mean of all tags, and as a head like any head.
    automata_ : Automata
        Two for each tag, two for an unknown one, and that of the root (see `automaton_of`).
    fallback_ : Automata
        Those with one state, for sentences whose total is no positive number.
    facts_ : dict
        Sizes, seconds, and how many trees were not projective: they are learnt from like the others, since the
        modifiers on either side of a head have an order in any tree.

    Examples
    --------
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0]),
    ...         Sentence("dogs chase the cat".split(), upos="NOUN VERB DET NOUN".split(), heads=[2, 0, 4, 2])]
    >>> parser = HeadAutomata(2, smoothing=0.1).fit(text)
    >>> parser.predict([["DET", "NOUN", "VERB", "DET", "NOUN"]])
    [array([2, 3, 0, 5, 3], dtype=int32)]
    """

    states: int = 8
    method: Method = "spectral"
    _: KW_ONLY
    column: Column = "upos"
    smoothing: float = 10.0
    signs: Signs = "abs"
    shrinkage: float = 300.0
    boundaries: bool = True
    pseudo_count: float | None = 0.01
    cutoff: float = 0.05
    iterations: int = 30
    single_root: bool = True
    random_state: int = 0

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, sentences: Iterable[Sentence]) -> Self:
        """Learn from trees."""
        started = time.perf_counter()
        self._check_options()
        trees = list(sentences)
        tags = [tags_of(sentence, self.column) for sentence in trees]
        heads = [checked_heads(sentence.heads, len(sentence)) for sentence in trees]
        self.tags_: list[str] = sorted({tag for one in tags for tag in one})
        if not self.tags_:
            raise InputError("no words to learn from")
        self._number = {tag: i for i, tag in enumerate(self.tags_)}
        sequences = ModifierSequences.of([self._encode(one)[1:] for one in tags], heads, len(self.tags_))
        self.facts_: dict[str, Any] = {
            "sentences": len(trees),
            "words": int(sum(map(len, trees))),
            "tags": len(self.tags_),
            "nonprojective": sum(not is_projective(one) for one in heads),
        }
        with one_blas_thread():
            self.automata_ = self._learn(sequences)
            self.fallback_ = deterministic(sequences, max(self.smoothing, 1.0), floor=1e-6)
        self.unigram_: Floats = np.append(sequences.frequencies, 1.0) / (sequences.frequencies.sum() + 1.0)
        self.facts_["seconds"] = time.perf_counter() - started
        return self

    def _learn(self, sequences: ModifierSequences) -> Automata:
        if self.method == "spectral":
            return spectral(
                sequences, self.states, smoothing=self.smoothing, shrinkage=self.shrinkage,
                boundaries=self.boundaries, pseudo_count=self.pseudo_count, cutoff=self.cutoff,
            )  # fmt: skip
        if self.method == "em":
            automata, self.facts_["trace"] = em(
                sequences, self.states, smoothing=self.smoothing, iterations=self.iterations,
                random_state=self.random_state,
            )  # fmt: skip
            return automata
        return (deterministic if self.method == "deterministic" else bigram)(sequences, self.smoothing)

    def _check_options(self) -> None:
        check_learning(self.method, self.states, self.boundaries)
        if self.signs not in get_args(Signs):
            raise unknown_choice("signs is one of", self.signs, get_args(Signs))
        if self.column not in get_args(Column):
            raise unknown_choice("column is one of", self.column, get_args(Column))
        for name in ("smoothing", "shrinkage", "cutoff", "pseudo_count"):
            value = getattr(self, name)
            if value is None and name == "pseudo_count":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise OptionError(f"{name} is at least 0, not {value!r}")
        for name in ("iterations", "random_state"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise OptionError(f"{name} is a whole number, at least 0, not {value!r}")
        if not isinstance(self.single_root, bool):
            raise OptionError(f"single_root is True or False, not {self.single_root!r}")

    # -- parsing --------------------------------------------------------------------------------------

    def predict(self, sentences: Iterable[Sentence | Sequence[str]]) -> list[Heads]:
        """The heads of each sentence, given as tags or as CoNLL-U: the tree with the largest sum of marginals."""
        return [eisner(self.edge_marginals(one), single_root=self.single_root) for one in sentences]

    def edge_marginals(self, tags: Sentence | Sequence[str]) -> Floats:
        """``[head, modifier]``: the share of each edge in all projective trees, after ``signs``; 0 is the root.

        Without negative numbers in play each column but the first, that of the root, sums to 1.
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
        """Of a tree, which need not be projective: the product of what its automata give to their sequences.

        ``heads`` may be left out if a sentence of CoNLL-U has them.
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
        """The share of words whose head is right (unlabelled attachment)."""
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
        # Every word is drawn once, so a factor a word changes no share; with the inverse of its frequency numbers
        # stay in range, save in very long or odd sentences.
        factors = 1.0 / self.unigram_[ids]
        step = min(5.0, math.exp(400.0 / L))  # of all words together less than what is in range
        for _ in range(_ATTEMPTS):
            total = inside_outside(
                ids, factors, automata.start, automata.matrices, automata.stop, self.single_root, mu
            )
            if 1 / _FAR < abs(total) < _FAR and np.isfinite(mu).all():
                log = math.log(abs(total)) - float(np.log(factors[1:]).sum())
                return Signed(math.copysign(1.0, total), log), mu
            factors *= step if abs(total) <= 1 / _FAR else 1.0 / step
        return Signed(0.0, -math.inf), np.zeros_like(mu)

    def _tags(self, sentence: Sentence | Sequence[str]) -> Sequence[str]:
        if not hasattr(self, "automata_"):
            raise NotFittedError("this model has learnt nothing yet: call fit")
        return tags_of(sentence, self.column) if isinstance(sentence, Sentence) else sentence

    def _encode(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of the tags, the root's before them."""
        V = len(self.tags_)
        return np.array([V, *(self._number.get(tag, V) for tag in tags)], np.int32)

    # -- files ----------------------------------------------------------------------------------------

    def save(self, path: FilePath) -> None:
        """Write a model file."""
        self._tags([])
        header = {"settings": {name: getattr(self, name) for name in _SETTINGS}, "facts": self.facts_}
        tensors = {"unigram": self.unigram_}
        for prefix, automata in (("", self.automata_), ("fallback_", self.fallback_)):
            tensors |= {prefix + name: array for name, array in automata._asdict().items()}
        write_model(path, KIND, header, tensors, {"tags": self.tags_})

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what `save` wrote."""
        return cls.from_file(read_model(path, KIND))

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The automata that a file holds."""
        model = cls(**file.settings(_SETTINGS))
        with file.checked():
            model._check_options()
        model.facts_, model.tags_ = file.fact("facts", dict), file.texts("tags")
        V = len(model.tags_)
        if not V or len(set(model.tags_)) != V:
            raise file.error("damaged: its tags are not different from each other")
        model._number = {tag: i for i, tag in enumerate(model.tags_)}
        model.automata_, model.fallback_ = _read_automata(file, "", V), _read_automata(file, "fallback_", V)
        model.unigram_ = np.array(file.tensor("unigram", np.float64))
        if model.unigram_.shape != (V + 1,) or not np.all((model.unigram_ > 0) & (model.unigram_ <= 1)):
            raise file.error("damaged: its law of tags is none")
        return model


_SETTINGS = tuple(field.name for field in fields(HeadAutomata))


def _read_automata(file: ModelFile, prefix: str, n_tags: int) -> Automata:
    # Copies: kernels are compiled for arrays that can be written to.
    start, matrices, stop = (
        np.array(file.tensor(prefix + name, np.float64, ndim))
        for name, ndim in (("start", 2), ("matrices", 4), ("stop", 2))
    )
    K, n = automaton_of(n_tags + 1, LEFT) + 1, start.shape[1]
    if start.shape != (K, n) or stop.shape != (K, n) or matrices.shape != (K, n_tags + 1, n, n) or not n:
        raise file.error("damaged: its arrays do not fit together")
    if not all(np.isfinite(array).all() for array in (start, matrices, stop)):
        raise file.error("damaged: some of its numbers are not finite")
    return Automata(start, matrices, stop)
