"""Hidden Markov chains and trees: classes of words that depend on their context (Grave 2014, ch. 2)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.checking import seed, whole
from spinney.classes.card import CardLearner, chosen_device, device_name, engine
from spinney.classes.em import Done, EMTraining, beginning
from spinney.classes.learning import Corpus, Half, Learner, Messages, Trees
from spinney.classes.model import Cells, EdgeKind, Homonym, InClasses, WordClassModel
from spinney.classes.relations import REST, kind_by_name, kind_numbers, kinds_of
from spinney.classes.representations import Representation, cell, token_rows
from spinney.classes.statistics import Statistics
from spinney.classes.stepsize import GAMMAS
from spinney.corpus import TokenArrays, Vocabulary
from spinney.corpus.arrays import checked_text
from spinney.corpus.text import Reading, Tokens, batch_arrays
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.files import FilePath, ModelFile
from spinney.inference.forests import check_heads, sentence_trees
from spinney.inference.hidden import Laws, max_product
from spinney.model import Contents, Structures
from spinney.parallel import default_threads, in_order, one_blas_thread
from spinney.settings import settings_of
from spinney.settings.classes import HiddenMarkovSettings
from spinney.structure import WordClasses, WordVectors
from spinney.structure.classviews import normalised
from spinney.structure.words import largest

Structure = Literal["chain", "tree"]

#: From this many classes on `k_best="auto"` keeps this many entries; below, matrix products are faster.
_MANY_CLASSES, _FEW_ENTRIES = 256, 16
_COLUMNS = 64  # classes whose words are looked for at a time


class HiddenMarkov(WordClassModel):
    """Every token has a hidden class, which depends on the class of the word before it or of its head.

    Parameters
    ----------
    n_classes
        How many classes, C.
    structure
        ``"chain"``: the class of a word depends on that of the word before; ``"tree"``: on that of its head.
    typed
        For trees: 0 for one transition matrix for all relations; n for one each for the n most frequent relations and
        one for the rest; or a mapping of relations to the names of groups that share a matrix.
    threads, random_state
        Threads (by default all), and the seed of everything random.
    **how
        How it learns: the settings of :class:`spinney.settings.classes.HiddenMarkovSettings`. ``em`` is ``"online"``
        (Cappé and Moulines 2009) or ``"batch"``; ``passes`` are made over the text after the last split. ``k_best``
        keeps the k largest entries of each message, ``epsilon`` those that have all but ε of its mass, both together
        the fewer. Steps of online EM are α_t = 1 / (delay + t)^gamma; ``gamma="search"`` tries the six of the thesis
        on part of the text and keeps the one with the best likelihood of held-out sentences. ``finish`` ends with one
        pass of batch EM, so that rare words are counted over the whole text. ``start`` begins with fewer classes and
        splits all of them, repeatedly, until there are ``n_classes``. ``smoothing`` is the share of each distribution
        that is given to the uniform one: with 0, a text with a word that was never seen has likelihood 0. With
        ``typed``, ``backoff`` is the weight of the shared matrix in each, in masses of a mean column. ``device`` is
        what passes messages while it learns: ``"cpu"``, a card (``"cuda"``, ``"cuda:1"``), whose messages are exact
        and whose matrix products have some ``precision``, or ``"auto"``: a card if there is one and torch is installed.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 25
    >>> model = HiddenMarkov(3, em="batch", passes=30, random_state=1)
    >>> model = model.fit(sentence_arrays(line.split() for line in text))
    >>> classes = model.word_classes()
    >>> classes["dog"] == classes["cat"], classes["dog"] == classes["the"]
    (True, False)
    """

    kind = "classes/HiddenMarkov"
    _card: str | None = None  # the device of torch that passes messages, while the model learns
    _best: Statistics | None = None  # while it learns: the best on held-out text, if a later pass was worse
    _row = -1  # the row of the trace that tells of its statistics

    def __init__(
        self,
        n_classes: int = 128,
        structure: Structure = "chain",
        *,
        typed: int | Mapping[str, str] = 0,
        threads: int | None = None,
        random_state: int = 0,
        **how: Any,
    ) -> None:
        self.n_classes = n_classes
        self.structure = structure
        self.typed = typed
        self.threads = threads
        self.random_state = random_state
        self.how = HiddenMarkovSettings.of(how)

    # -- learning -------------------------------------------------------------------------------------

    def fit(
        self,
        text: TokenArrays,
        *,
        dev: TokenArrays | None = None,
        init: WordClasses | HiddenMarkov | Literal["random", "uniform"] | None = None,
        checkpoint: FilePath | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> Self:
        """Learn from text.

        Parameters
        ----------
        text
            Sentences; for trees with heads, for typed trees with the relations as labels ``"deprel"``.
        dev
            Held-out sentences with the same vocabulary, whose exact likelihood is reported after each pass.
        init
            Word classes to start from, such as Brown clusters (as the thesis advises), or a model. A model whose
            training was interrupted (a checkpoint) continues as if it had not been, within a pass of online EM if
            need be, and its facts tell of all passes; any other is trained further, and if it has fewer classes,
            these are split. ``"uniform"`` is the random start of the thesis, and ``"random"``, the default, one that
            EM leaves sooner.
        checkpoint
            A model file to write after each pass; give it as ``init`` to continue.
        reading
            How the text was read, to be kept with the model (in ``facts["reading"]``), so that other text can be
            read in the same way.
        """
        started = time.perf_counter()
        self._check()
        card = chosen_device(
            self.how.device, self.how.k_best in ("auto", "none") and self.how.epsilon is None
        )
        if isinstance(init, str) and init not in ("random", "uniform"):
            raise unknown_choice("init must be", init, ("random", "uniform"))
        if not checked_text(text).n_tokens:
            raise InputError("there are no words to learn from")
        if self.n_classes > len(text.vocabulary):
            raise OptionError(
                f"{self.n_classes} classes for {len(text.vocabulary)} words: ask for at most {len(text.vocabulary)}"
            )
        if isinstance(init, HiddenMarkov):
            self._check_origin(init, text)
        self.vocabulary_: Vocabulary = text.vocabulary
        origin = init if isinstance(init, HiddenMarkov) else None
        self.relations_: dict[str, list[str]] = origin.relations_ if origin else kinds_of(text, self.typed)
        corpus = self._corpus(text)
        held_out = None if dev is None else self._corpus(dev)
        if held_out is not None and not held_out.arrays.n_tokens:
            raise InputError("the held-out text has no words")
        self.facts: dict[str, Any] = {"reading": dict(reading or {}), "revived": 0, "trace": []}
        self.statistics_: Statistics = beginning(self, corpus, init)
        self.gamma_ = GAMMAS[0] if self.how.gamma == "search" else float(self.how.gamma)
        self._done, self._half, self._best, self._row, searched = Done(), Half(), None, -1, False
        if isinstance(init, HiddenMarkov) and init.n_classes == self.n_classes:
            self._done = Done(steps=init._done.steps)
            if not init._done.finished:
                searched = self._go_on(init)
        if not self._half.batches:
            self.statistics_.fold()
        earlier = self._half.seconds + sum(row["seconds"] for row in self.facts["trace"])
        training = EMTraining(self, corpus, held_out, checkpoint)
        with one_blas_thread():
            try:
                self._card = card
                if self.how.gamma == "search" and self.how.em == "online" and not searched:
                    training.search_gamma()
                training.run()
            finally:
                if not self._half.batches:
                    self.statistics_.fold()
                self._card = None
                if card is not None:
                    engine(card, self._precision).clear()
                self._note_facts(corpus, card, earlier + time.perf_counter() - started)
        return self

    def _go_on(self, init: HiddenMarkov) -> bool:
        """Take over how far an interrupted training had come; whether it had found its γ."""
        self._done = init._done
        self.facts["trace"], self.facts["revived"] = list(init.facts["trace"]), init.facts.get("revived", 0)
        if init._best is not None:
            self._best = init._best.copy()
        order = [(one.how.batch_tokens, one.how.shuffle, one.random_state) for one in (init, self)]
        if order[0] == order[1]:
            self._half = init._half  # the same batches in the same order
        if self.how.gamma != init.how.gamma or (self.how.gamma == "search" and "gammas" not in init.facts):
            return False
        self.gamma_ = init.gamma_
        self.facts |= {name: init.facts[name] for name in ("gammas",) if name in init.facts}
        return True

    def _check(self) -> None:
        """Refuse what cannot be learned."""
        whole("n_classes", self.n_classes, 2)
        seed(self.random_state)
        if self.threads is not None and not _is_whole(self.threads, 1):
            raise OptionError(f"threads must be at least 1, not {self.threads!r}")
        if self.structure not in get_args(Structure):
            raise unknown_choice("structure must be", self.structure, get_args(Structure))
        typed = self.typed
        if isinstance(typed, Mapping):
            sound = all(isinstance(one, str) for pair in typed.items() for one in pair)
        else:
            sound = _is_whole(typed, 0)
        if not sound:
            raise OptionError(f"typed must be a whole number or map relations to groups, not {typed!r}")
        if typed and self.structure == "chain":
            raise OptionError("typed is for trees: the edges of a chain have no types")
        if self.how.start is not None and self.how.start > self.n_classes:
            raise OptionError(f"start must be from 2 to {self.n_classes}, not {self.how.start}")

    @property
    def _messages(self) -> Messages:
        k, epsilon = self.how.k_best, self.how.epsilon
        if k == "auto" and epsilon is None:
            k = _FEW_ENTRIES if self.statistics_.n_classes >= _MANY_CLASSES else "none"
        return Messages(None if k in ("auto", "none") else int(k), epsilon)

    @property
    def _learner(self) -> Learner:
        how = (
            self._messages,
            self.how.smoothing,
            self.how.backoff,
            np.dtype(self.how.dtype),
            self.threads or default_threads(),
            self.how.noise,
        )
        return (
            Learner(*how)
            if self._card is None
            else CardLearner(*how, engine=engine(self._card, self._precision))
        )

    @property
    def _precision(self) -> str:
        """In which numbers a card takes products."""
        return "float64" if self.how.dtype == "float64" else self.how.precision

    def _check_origin(self, init: HiddenMarkov, text: TokenArrays) -> None:
        init._check_fitted()
        if init.vocabulary_.words != text.vocabulary.words:
            raise OptionError("the initial model has another vocabulary: read the text with that vocabulary")
        if init.structure != self.structure:
            raise OptionError(f"the initial model is a {init.structure}, but this one is a {self.structure}")
        if init.typed != self.typed:
            raise OptionError(f"the initial model has typed={init.typed}, but this one {self.typed}")
        if init.statistics_.n_classes > self.n_classes:
            raise OptionError(
                f"the initial model has {init.statistics_.n_classes} classes, more than {self.n_classes}"
            )

    def _corpus(self, text: TokenArrays) -> Corpus:
        if text.vocabulary.words != self.vocabulary_.words:
            raise OptionError("this text was read with another vocabulary")
        if self.structure == "chain":
            return Corpus(text)
        if text.heads is None:
            raise OptionError("a tree model needs heads: read CoNLL-U with heads")
        first = 0
        for piece in Corpus(text).pieces(1 << 20):
            check_heads(piece.offsets, np.asarray(piece.heads), first)
            first += len(piece)
        if len(self.relations_) == 1:
            return Corpus(text, True)
        return Corpus(text, True, kind_numbers(text, self.relations_))

    def _note_facts(self, corpus: Corpus, card: str | None, seconds: float) -> None:
        trace = self.facts["trace"]
        V, C = self.statistics_.omega.shape
        self.facts |= {
            "method": "hmm",
            "structure": self.structure,
            "sentences": len(corpus.arrays),
            "tokens": corpus.arrays.n_tokens,
            "words": V,
            "classes": C,
            "kinds_of_edges": len(self.relations_),
            "parameters": V * C + len(self.relations_) * C * C + C,
            "gamma": self.gamma_ if self.how.em == "online" else None,
            "passes": sum(1 for _ in trace),
            "log_likelihood": trace[self._row]["log_likelihood"] if trace else None,
            "dev_log_likelihood": trace[self._row].get("dev") if trace else None,
            "device": None if card is None else device_name(card),
            "precision": None if card is None else self._precision,
            "seconds": seconds,
            "tokens_per_second": corpus.arrays.n_tokens
            * len(trace)
            / max(sum(r["seconds"] for r in trace), 1e-9),
        }

    # -- what was learned ------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "statistics_"):
            raise NotFittedError("this model is not fitted yet: call fit")

    @property
    def laws_(self) -> Laws:
        """The parameters, as inference wants them."""
        self._check_fitted()
        return self._learner.laws(self.statistics_)

    @property
    def transition_(self) -> NDArray[np.float64]:
        """``[kind, child, parent]``: columns sum to 1."""
        return self.statistics_.laws(self.how.smoothing, self.how.backoff, np.float64).transition

    @property
    def root_(self) -> NDArray[np.float64]:
        """The probability of each class at a root."""
        return np.asarray(self.statistics_.laws(self.how.smoothing, self.how.backoff, np.float64).root)

    @property
    def shared_transition_(self) -> NDArray[np.float64]:
        """``[child, parent]`` whatever the kind of edge."""
        tau = self.statistics_.tau.sum(axis=0, keepdims=True)
        one = Statistics(self.statistics_.omega, self.statistics_.mass, tau, self.statistics_.rho)
        return np.asarray(one.laws(self.how.smoothing, 0.0, np.float64).transition[0])

    def emission(self, words: Sequence[str] | None = None) -> NDArray[np.float64]:
        """``[word, class]``: the probability of each word (by default all) in each class."""
        laws, vocabulary = self.laws_, self.vocabulary_
        rows = slice(None) if words is None else vocabulary.encode(words)
        return laws.counts[rows].astype(np.float64) * laws.scale + laws.floor

    def log_likelihood(self, text: TokenArrays) -> float:
        """The log-likelihood of a text, by exact inference."""
        self._check_fitted()
        with one_blas_thread():
            return self._learner.log_likelihood(self._corpus(text), self.laws_)

    def trees(self, text: TokenArrays) -> Trees:
        """The sentences of a text as inference takes them: chains or trees, with the kinds of their edges."""
        self._check_fitted()
        return self._corpus(text).trees(text)

    def posteriors(self, text: TokenArrays) -> NDArray[Any]:
        """``[token, class]``: P(class | the words of the sentence), the representation Posterior-Token."""
        laws, corpus = self.laws_, self._corpus(text)
        nothing = np.empty((0, laws.n_classes), laws.counts.dtype)

        def found(piece: TokenArrays) -> NDArray[Any]:
            tokens, _, beliefs = Messages().beliefs(corpus.trees(piece), laws)
            nodes = np.empty_like(beliefs.nodes)
            nodes[tokens] = beliefs.nodes
            return nodes

        with one_blas_thread():
            return np.concatenate([nothing, *self._on_threads(found, corpus)])

    def predict(self, text: TokenArrays) -> NDArray[np.int32]:
        """The classes of the most probable joint assignment of each sentence (Viterbi)."""
        laws, corpus = self.laws_, self._corpus(text)

        def found(piece: TokenArrays) -> NDArray[np.int32]:
            trees = corpus.trees(piece)
            laid = sentence_trees(*trees[1:])
            classes = np.empty(len(trees.ids), np.int32)
            classes[laid.tokens] = max_product(laid, trees.ids[laid.tokens], laws)[0]
            return classes

        return np.concatenate([np.empty(0, np.int32), *self._on_threads(found, corpus)])

    def _on_threads(self, function: Any, corpus: Corpus) -> Iterator[NDArray[Any]]:
        return in_order(function, corpus.pieces(), self.threads or default_threads())

    def word_vectors(self) -> WordVectors:
        """P(class | word), averaged over the text: the representation Posterior-Type, a row for each word."""
        self._check_fitted()
        omega = self.statistics_.omega
        mass = omega.sum(axis=1, dtype=np.float64)
        seen = np.flatnonzero(mass > 0)
        rows = (omega[seen] / mass[seen, None]).astype(np.float32)
        words = [self.vocabulary_.words[i] for i in seen.tolist()]
        return WordVectors(words, rows, lowercase=self._lowercase)

    def word_classes(self) -> WordClasses:
        """The class that each word has most often; unknown words have none if there were none in the text."""
        self._check_fitted()
        ids = self.statistics_.omega.argmax(axis=1).astype(np.int32)
        counts, unknown = self.vocabulary_.counts, self.vocabulary_.unknown
        place = None if unknown is None else self.vocabulary_[unknown]
        return WordClasses(
            self.vocabulary_.words,
            ids,
            counts=counts,
            unknown=None if place is None or not counts[place] else int(ids[place]),
            n_classes=self.statistics_.n_classes,
            lowercase=self._lowercase,
        )

    # -- what it knows beyond the class of each word -----------------------------------------------------

    contextual = True

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it knows."""
        return self.vocabulary_

    def structures(self) -> Structures:
        """What other models can use: the likeliest class of each word, and P(class | word) as its vector."""
        return Structures(classes=self.word_classes, vectors=self.word_vectors)

    def comparable_vectors(self) -> WordVectors:
        """P(class | word)."""
        return self.word_vectors()

    def class_shares(self) -> NDArray[np.float64]:
        """The share of each class in all tokens."""
        return normalised(self.statistics_.mass)

    def class_words(self, numbers: Sequence[int], top: int) -> list[list[tuple[str, float]]]:
        """The words that each class emits most often, with their probabilities."""
        statistics, words = self.statistics_, self.vocabulary_.words
        found = []
        for first in range(0, len(numbers), _COLUMNS):
            some = list(numbers[first : first + _COLUMNS])
            block = np.asarray(statistics.omega[:, some].T, np.float64)  # in one sweep through the file
            for number, weights in zip(some, block):
                total = max(float(statistics.mass[number]), np.finfo(np.float64).tiny)
                best = [i for i in largest(weights, top) if weights[i] > 0]
                found.append([(words[i], float(weights[i]) / total) for i in best])
        return found

    def classes_of_word(self, word: str, least: float = 0.01) -> list[tuple[int, float]]:
        """The classes of a word with the share of each in its tokens, largest first."""
        shares = normalised(np.asarray(self.statistics_.omega[self.vocabulary_[word]], np.float64))
        return [(i, float(shares[i])) for i in largest(shares, 10) if shares[i] >= least]

    def homonyms(self, top: int = 20, least: int = 20, share: float = 0.2) -> list[Homonym]:
        """Words with several classes, those first that are frequent and have the most evenly mixed classes.

        A word counts if it was seen at least ``least`` times, two of its classes or more have at least ``share`` of its
        tokens, and such classes have four fifths of them in all: of other words the model is unsure. They are sorted by
        the entropy over these classes, times the logarithm of the count.
        """
        omega, counts = self.statistics_.omega, self.vocabulary_.counts
        unknown = self.vocabulary_.unknown
        frequent = [
            i for i in np.flatnonzero(counts >= least).tolist() if self.vocabulary_.words[i] != unknown
        ]
        found: list[tuple[float, Homonym]] = []
        for i in frequent:
            row = np.asarray(omega[i], np.float64)
            shares = row / max(row.sum(), np.finfo(np.float64).tiny)
            clear = [
                int(c) for c in np.argsort(-shares, kind="stable")[: int(1 / share)] if shares[c] >= share
            ]
            parts = shares[clear]
            if len(clear) > 1 and parts.sum() >= 0.8:
                score = float(-(parts * np.log(parts)).sum() * np.log(counts[i]))
                classes = list(zip(clear, parts.tolist()))
                found.append((score, Homonym(self.vocabulary_.words[i], int(counts[i]), classes)))
        found.sort(key=lambda pair: -pair[0])
        return [homonym for _, homonym in found[:top]]

    def class_paths(self) -> list[str]:
        """The path of each class in the tree that Brown's merging of the classes gives."""
        from spinney.classes.bigrams import class_paths

        return class_paths(self)

    def transitions(self) -> NDArray[np.float64]:
        """``[child, parent]``, whatever the kind of edge."""
        return self.shared_transition_

    def head_transitions(self, *relations: str) -> NDArray[np.float64]:
        """``[child, parent]`` in edges of these relations, or kinds of relations, taken together.

        Names that the model does not know are left out; if it knows none of them, the relations that have no
        transitions of their own count. Without names, and in a model with one kind of edge, all edges count.
        """
        if not relations or len(self.relations_) == 1:
            return self.shared_transition_
        number = kind_by_name(self.relations_)
        chosen = sorted({number[name] for name in relations if name in number} or {number[REST]})
        laws = self.transition_[chosen]
        # P(child | parent, one of these kinds): each kind weighs as much as the parent has children of it.
        weights = self.statistics_.tau[chosen].sum(axis=1)
        weights = np.where(weights.sum(axis=0) > 0, weights, 1.0)
        return np.asarray((laws * (weights / weights.sum(axis=0))[:, None, :]).sum(axis=0))

    def edge_kinds(self) -> dict[str, EdgeKind]:
        """The kinds of edges, with their relations and how often classes meet in them, if there are several kinds."""
        self._check_fitted()
        if len(self.relations_) == 1:
            return {}
        kinds = zip(self.relations_.items(), self.statistics_.tau)
        return {name: EdgeKind(relations, counts) for (name, relations), counts in kinds}

    def reading(self, words: str | None = None, parser: str | None = None) -> Reading:
        """How text is read for it."""
        reading = super().reading(words, parser)
        return replace(reading, tree=self.structure == "tree", relations=len(self.relations_) > 1)

    def cells(self, what: str, top: int, reading: Reading, roots: bool = False) -> Cells:
        """What writes the class of each token: the likeliest, or the probabilities of several."""
        if what not in get_args(Representation):
            return super().cells(what, top, reading)

        def of_tokens(batch: Sequence[Tokens]) -> list[str]:
            arrays = batch_arrays(batch, self.vocabulary_, reading)
            if what == "viterbi":
                return [str(i) for i in self.predict(arrays).tolist()]
            blocks: dict[Representation, str] = {"posterior": "", "type": "w" if what == "both" else ""}
            columns = [
                [cell(row, top, prefix=prefix, roots=roots) for row in token_rows(self, arrays, block)]
                for block, prefix in blocks.items()
                if what in (block, "both")
            ]
            return ["|".join(one for one in parts if one != "|") or "|" for parts in zip(*columns)]

        return of_tokens

    def sentence_classes(self, sentences: Sequence[Tokens], reading: Reading) -> InClasses:
        """The class of each token in its sentence, with its probability."""
        if not sentences:
            return [], []
        arrays = batch_arrays(sentences, self.vocabulary_, reading)
        classes = self.predict(arrays)
        chances = np.asarray(self.posteriors(arrays), float)[np.arange(len(classes)), classes]
        ends = arrays.offsets[1:-1]
        return [one.tolist() for one in np.split(classes, ends)], [
            one.tolist() for one in np.split(chances, ends)
        ]

    def held_out(self, text: TokenArrays, threads: int | None = None) -> dict[str, float]:
        """The log-likelihood of a text, by exact inference."""
        self.threads = threads
        return {"log_likelihood": self.log_likelihood(text)}

    @property
    def _lowercase(self) -> bool:
        return self.facts["reading"].get("lowercase") is True

    # -- files ----------------------------------------------------------------------------------------

    def contents(self) -> Contents:
        """What the model keeps in its file. Its statistics are there, too, so learning can go on from it."""
        self._check_fitted()
        statistics = self.statistics_
        half = {"gain": statistics.gain, **self._half._asdict()} if self._half.batches else None
        if half is None:
            statistics.fold()
        header = {
            "settings": {name: getattr(self, name) for name in _SETTINGS} | self.how.as_dict(),
            "facts": self.facts,
            **self._done._asdict(),
            **({} if half is None else {"half": half}),
            "gamma": self.gamma_,
            "relations": self.relations_,
            "unknown": self.vocabulary_.unknown,
        }
        tensors = {
            "omega": statistics.omega,
            "mass": statistics.mass,
            "tau": statistics.tau,
            "rho": statistics.rho,
            "counts": self.vocabulary_.counts,
        }
        if self._best is not None:
            tensors |= {f"best_{name}": getattr(self._best, name) for name in ("omega", "mass", "tau", "rho")}
        return Contents(header, tensors, {"words": self.vocabulary_.words})

    @classmethod
    def from_file(cls, model: ModelFile) -> Self:
        """The model that a file holds."""
        relations, facts = model.fact("relations", dict), model.fact("facts", dict)
        how = {setting.name for setting in settings_of(HiddenMarkovSettings)}
        with model.checked():
            fitted = cls(**model.settings({*_SETTINGS, *how}, before={"shuffle": "pieces"}))
            fitted._check()
        counts, words = model.tensor("counts", np.int64, low=0), model.texts("words")
        statistics = _read_statistics(model, fitted, len(words), len(relations))
        if "best_omega" in model.tensors:
            fitted._best = _read_statistics(model, fitted, len(words), len(relations), "best_")
            if fitted._best.n_classes != statistics.n_classes:
                raise model.error("damaged: its best pass has another number of classes")
        with model.checked():
            fitted.vocabulary_ = Vocabulary(tuple(words), counts, model.header.get("unknown"))
        fitted.relations_ = _read_relations(model, relations)
        done = Done(model.fact("passes", int), model.fact("steps", int), model.fact("finished", bool))
        if min(done) < 0:
            raise model.error("damaged: its number of passes is negative")
        fitted._done = done
        if not isinstance(facts.get("reading"), dict) or not _is_trace(facts.get("trace")):
            raise model.error("damaged: it does not record how its text was read")
        fitted.facts, fitted.gamma_ = facts, model.fact("gamma", float)
        fitted._half, gain = _read_half(model)
        fitted.statistics_ = replace(statistics, gain=gain)
        return fitted


_SETTINGS = ("n_classes", "structure", "typed", "random_state")


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_trace(rows: object) -> bool:
    return isinstance(rows, list) and all(
        isinstance(row, dict)
        and isinstance(row.get("classes"), int)
        and all(isinstance(row.get(name, 0.0), int | float) for name in ("seconds", "dev", "log_likelihood"))
        and {"seconds", "log_likelihood"} <= set(row)
        for row in rows
    )


def _read_statistics(
    model: ModelFile, fitted: HiddenMarkov, n_words: int, n_kinds: int, prefix: str = ""
) -> Statistics:
    """Counts from a file, if they fit each other."""
    # Copies: training may go on from here, and kernels are compiled for arrays that can be written to.
    omega = np.array(model.tensor(f"{prefix}omega", fitted.how.dtype, ndim=2, low=0))
    mass, rho = (np.array(model.tensor(prefix + name, np.float64, low=0)) for name in ("mass", "rho"))
    tau = np.array(model.tensor(f"{prefix}tau", np.float64, ndim=3, low=0))
    V, C = omega.shape
    with model.checked():
        if not 2 <= C <= fitted.n_classes or n_words != V:
            raise OptionError("its sizes do not match")
        if (mass.shape, tau.shape, rho.shape) != ((C,), (n_kinds, C, C), (C,)):
            raise OptionError("the shapes of its arrays do not match")
        if not np.allclose(mass, omega.sum(axis=0, dtype=np.float64), rtol=1e-3, atol=1e-3 * mass.mean()):
            raise OptionError("its totals do not match its counts")
    return Statistics(omega, mass, tau, rho)


def _read_half(model: ModelFile) -> tuple[Half, float]:
    """The part of a pass that an interrupted training had made, and the factor of its counts."""
    found = model.header.get("half")
    if found is None:
        return Half(), 1.0
    names = ("gain", *Half._fields)
    sound = isinstance(found, dict) and set(found) == set(names)
    if not sound or not all(
        isinstance(found[name], type(value)) for name, value in zip(names, (1.0, *Half()))
    ):
        raise model.error("damaged: it does not tell how far its training had come")
    gain = found.pop("gain")
    half = Half(**found)
    if not 0 < gain <= 1 or min(half.batches, half.kept, half.sent, half.revived, half.seconds) < 0:
        raise model.error("damaged: it does not tell how far its training had come")
    return half, gain


def _read_relations(model: ModelFile, relations: dict[str, Any]) -> dict[str, list[str]]:
    for members in relations.values():
        if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
            raise model.error("damaged: its kinds of edges are not lists of relations")
    if next(iter(relations), None) != REST:
        raise model.error("damaged: its kinds of edges do not begin with the default kind")
    return relations
