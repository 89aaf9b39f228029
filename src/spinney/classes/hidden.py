"""Hidden Markov chains and trees: classes of words that depend on their context (Grave 2014, ch. 2)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from spinney.classes import relations as edge_kinds
from spinney.classes.learning import Corpus, Learner, Messages, Pass, shuffled_batches, step_sizes
from spinney.classes.statistics import Statistics, classes_start, random_start, split
from spinney.classes.stepsize import gamma_scores
from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import InputError, OptionError
from spinney.files import FilePath, ModelFile, read_model, write_model
from spinney.inference.forests import sentence_trees
from spinney.inference.hidden import Laws, max_product
from spinney.parallel import default_threads, in_order
from spinney.progress import log, task
from spinney.structure import WordClasses, WordVectors

Structure = Literal["chain", "tree"]
Method = Literal["online", "batch"]

KIND = "classes/HiddenMarkov"
#: From so many classes on, `k_best="auto"` projects messages: below, matrix products are as fast (see the benchmark).
_MANY_CLASSES = 1024


class HiddenMarkov:
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
    method
        ``"online"`` EM (Cappé & Moulines 2009) or ``"batch"`` EM.
    passes
        Passes over the text, after the last split.
    k_best
        Keep the k largest entries of each message; None for exact messages; ``"auto"`` for what is faster.
    epsilon
        Or keep the largest entries that have all but ε of its mass.
    batch_tokens, gamma, delay
        Online EM: the size of a batch, and steps α_t = 1 / (delay + t)^gamma. ``gamma="search"`` tries the thesis's
        six on part of the text and keeps the one with the best likelihood of held-out sentences.
    finish
        Online EM: end with one pass of batch EM, so that rare words are counted over the whole text.
    start
        Begin with so many classes, and split all of them, again and again, until there are ``n_classes``; None to begin
        with all of them.
    split_passes, noise
        Passes before each split; how much the emissions of two halves differ.
    smoothing
        The share of each probability law that is given to the uniform one.
    backoff
        With ``typed``: the weight of the shared matrix in each, in masses of a mean column.
    patience
        With held-out text: stop after so many passes in a row that do not raise its likelihood.
    dtype
        ``"float32"`` or ``"float64"``.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 25
    >>> model = HiddenMarkov(3, method="batch", passes=30, random_state=1)
    >>> model = model.fit(sentence_arrays(line.split() for line in text))
    >>> classes = model.word_classes()
    >>> classes["dog"] == classes["cat"], classes["dog"] == classes["the"]
    (True, False)
    """

    def __init__(
        self,
        n_classes: int = 128,
        structure: Structure = "chain",
        *,
        typed: int | Mapping[str, str] = 0,
        method: Method = "online",
        passes: int = 5,
        k_best: int | Literal["auto"] | None = "auto",
        epsilon: float | None = None,
        batch_tokens: int = 8192,
        gamma: float | Literal["search"] = 0.6,
        delay: float = 4.0,
        finish: bool = True,
        start: int | None = None,
        split_passes: int = 1,
        noise: float = 0.5,
        smoothing: float = 1e-5,
        backoff: float = 0.1,
        patience: int | None = None,
        dtype: Literal["float32", "float64"] = "float32",
        threads: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_classes = n_classes
        self.structure = structure
        self.typed = typed
        self.method = method
        self.passes = passes
        self.k_best = k_best
        self.epsilon = epsilon
        self.batch_tokens = batch_tokens
        self.gamma = gamma
        self.delay = delay
        self.finish = finish
        self.start = start
        self.split_passes = split_passes
        self.noise = noise
        self.smoothing = smoothing
        self.backoff = backoff
        self.patience = patience
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------------

    def fit(
        self,
        text: TokenArrays,
        *,
        dev: TokenArrays | None = None,
        init: WordClasses | HiddenMarkov | None = None,
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
            Where to begin: word classes, such as Brown clusters, which the thesis advises; or a model: with fewer
            classes, which are split; with as many, to make the passes that it lacks, or if it lacks none, all
            passes anew from where it is.
        checkpoint
            A model file to write after each pass; give it as ``init`` to go on.
        reading
            How the text was read, to be kept with the model (in ``facts_["reading"]``), so that other text can be
            read alike.
        """
        started = time.perf_counter()
        self._check(text)
        self.vocabulary_: Vocabulary = text.vocabulary
        self.statistics_: Statistics
        self.relations_ = edge_kinds.kinds_of(text, self.typed if self.structure == "tree" else 0)
        if isinstance(init, HiddenMarkov):
            self._check_origin(init)
            self.relations_ = init.relations_
        corpus = self._corpus(text)
        held_out = None if dev is None else self._corpus(dev)
        self.facts_: dict[str, Any] = {"reading": dict(reading or {}), "revived": 0, "trace": []}
        self._done: dict[str, int] = {"passes": 0, "steps": 0}
        if isinstance(init, HiddenMarkov) and init.statistics_.n_classes == self.n_classes:
            interrupted = init._done["passes"] < init.passes
            self._done = {"passes": init._done["passes"] if interrupted else 0, "steps": init._done["steps"]}
        self.statistics_ = self._beginning(corpus, init)
        self.gamma_ = self._step_size(corpus)
        self._stages = _stages(self.statistics_.n_classes, self.n_classes)
        with one_blas_thread():
            try:
                self._learn(corpus, held_out, checkpoint)
            finally:
                self.statistics_.fold()
                self._fitted(corpus, time.perf_counter() - started)
        return self

    def _learn(self, corpus: Corpus, held_out: Corpus | None, checkpoint: FilePath | None) -> None:
        for size in self._stages[:-1]:
            for _ in range(self.split_passes):
                self._pass(corpus, held_out)
            log.info("%d classes, to be split", size)
            following = self._stages[self._stages.index(size) + 1]
            self.statistics_ = split(self.statistics_, following, self._rng(size), self.noise)
            self._done = {"passes": 0, "steps": 0}
        best, waited = -math.inf, 0
        while self._done["passes"] < self.passes:
            value = self._pass(corpus, held_out)
            if checkpoint is not None:
                self.save(checkpoint)
            if held_out is not None and self.patience is not None:
                best, waited = (value, 0) if value > best else (best, waited + 1)
                if waited >= self.patience:
                    self.facts_["stopped_early"] = True
                    break
        if self.method == "online" and self.finish:
            self._pass(corpus, held_out, batch=True)

    def _pass(self, corpus: Corpus, held_out: Corpus | None, batch: bool = False) -> float:
        """One pass over the text; returns the log-likelihood a token: of held-out text if there is some."""
        batch = batch or self.method == "batch"
        done, n, C = self._done["passes"], corpus.arrays.n_tokens, self.statistics_.n_classes
        name = f"{'batch' if batch else 'online'} EM, {C} classes, pass {done + 1}"
        started = time.perf_counter()
        with task(name, total=n) as work:
            if batch:
                self.statistics_, found = self._learner.batch_pass(corpus, self.statistics_, work)
                revived = self.statistics_.revive(self._rng(done, 1), self.noise)
                found = found._replace(revived=revived)
            else:
                found = self._online_pass(corpus, work)
                self.statistics_.fold()  # so that a checkpoint holds exactly what goes on
        self._done["passes"] = done + 1
        self.facts_["revived"] += found.revived
        row = {
            "classes": C,
            "pass": done + 1,
            "log_likelihood": found.log_likelihood / n,
            "support": found.support,
            "seconds": time.perf_counter() - started,
        }
        if held_out is not None:
            row["dev"] = self._learner.log_likelihood(held_out, self.laws_) / held_out.arrays.n_tokens
        self.facts_["trace"].append(row)
        told = f", held out {row['dev']:.4f}" if "dev" in row else ""
        log.info(
            "%s: log-likelihood a token %.4f%s, %.1f s", name, row["log_likelihood"], told, row["seconds"]
        )
        return float(row.get("dev", row["log_likelihood"]))

    def _online_pass(self, corpus: Corpus, work: Any) -> Pass:
        rng = self._rng(self._done["passes"], self.statistics_.n_classes)
        batches = shuffled_batches(corpus, self.batch_tokens, rng)
        self.statistics_.scaled(corpus.arrays.n_tokens / len(batches))

        def watch(t: int) -> None:
            self._done["steps"] = t

        alpha = step_sizes(self.gamma_, self.delay)
        return self._learner.online_pass(
            corpus, self.statistics_, batches, alpha, self._done["steps"], rng, work, watch
        )

    def _step_size(self, corpus: Corpus) -> float:
        if self.gamma != "search":
            return float(self.gamma)
        with one_blas_thread():
            found = gamma_scores(
                corpus, self.statistics_, self._learner, self.batch_tokens, self.delay, self.random_state
            )
        self.facts_["gammas"] = {str(gamma): value for gamma, value in found.items()}
        return max(found, key=found.__getitem__)

    def _rng(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.random_state, *stream])

    @property
    def _messages(self) -> Messages:
        if self.epsilon is not None:
            return Messages(None, self.epsilon)
        if self.k_best == "auto":
            return Messages(16 if self.n_classes >= _MANY_CLASSES else None)
        return Messages(self.k_best)

    @property
    def _learner(self) -> Learner:
        return Learner(
            self._messages,
            self.smoothing,
            self.backoff,
            np.dtype(self.dtype),
            self.threads or default_threads(),
            self.noise,
        )

    def _beginning(self, corpus: Corpus, init: WordClasses | HiddenMarkov | None) -> Statistics:
        dtype, kinds = np.dtype(self.dtype), len(self.relations_)
        if isinstance(init, HiddenMarkov):
            old = init.statistics_
            return Statistics(old.omega.astype(dtype), old.mass.copy(), old.tau.copy(), old.rho.copy())
        if init is None:
            size = self.n_classes if self.start is None else self.start
            return random_start(self.vocabulary_.counts, size, kinds, self._rng(0), dtype)
        if init.n_classes > self.n_classes:
            raise OptionError(f"{init.n_classes} classes to begin with, but {self.n_classes} are wanted")
        classes = init.encode(list(self.vocabulary_.words))
        edges, roots = edge_kinds.class_edges(corpus, classes, init.n_classes, kinds)
        return classes_start(classes, self.vocabulary_.counts, edges, roots, dtype)

    def _check(self, text: TokenArrays) -> None:
        V = len(text.vocabulary)
        if self.structure not in ("chain", "tree") or self.method not in ("online", "batch"):
            raise OptionError("structure is chain or tree, method is online or batch")
        if not text.n_tokens:
            raise InputError("no words to learn from")
        if not 2 <= self.n_classes <= V:
            raise OptionError(f"{self.n_classes} classes of {V} words: at least 2, and no more than words")
        if self.start is not None and not 2 <= self.start <= self.n_classes:
            raise OptionError(f"start with 2 to {self.n_classes} classes, not {self.start}")
        if self.structure == "tree" and text.heads is None:
            raise OptionError("a tree model needs heads: read CoNLL-U with heads")
        if (isinstance(self.k_best, int) and self.k_best < 1) or self.passes < 1 or self.batch_tokens < 1:
            raise OptionError("k_best, passes and batch_tokens are at least 1")
        if not 0 <= self.smoothing < 1 or not (self.epsilon is None or 0 <= self.epsilon < 1):
            raise OptionError("smoothing and epsilon lie between 0 and 1")
        if self.gamma != "search" and not 0 < self.gamma <= 1:
            raise OptionError(f"gamma lies between 0 and 1, not {self.gamma}")

    def _check_origin(self, init: HiddenMarkov) -> None:
        if init.vocabulary_.words != self.vocabulary_.words:
            raise OptionError("the model to begin with has another vocabulary: read the text with its own")
        if init.structure != self.structure:
            raise OptionError(f"the model to begin with is a {init.structure}, this one a {self.structure}")
        if init.statistics_.n_classes > self.n_classes:
            raise OptionError(
                f"the model to begin with has {init.statistics_.n_classes} classes, more than {self.n_classes}"
            )

    def _corpus(self, text: TokenArrays) -> Corpus:
        if text.vocabulary.words != self.vocabulary_.words:
            raise OptionError("this text was read with another vocabulary")
        if self.structure == "chain":
            return Corpus(text)
        if text.heads is None:
            raise OptionError("a tree model needs heads: read CoNLL-U with heads")
        if len(self.relations_) == 1:
            return Corpus(text, True)
        return Corpus(text, True, edge_kinds.numbers(text, self.relations_))

    def _fitted(self, corpus: Corpus, seconds: float) -> None:
        trace = self.facts_["trace"]
        V, C = self.statistics_.omega.shape
        self.facts_ |= {
            "method": "hmm",
            "structure": self.structure,
            "sentences": len(corpus.arrays),
            "tokens": corpus.arrays.n_tokens,
            "words": V,
            "classes": C,
            "kinds_of_edges": len(self.relations_),
            "parameters": V * C + len(self.relations_) * C * C + C,
            "gamma": self.gamma_ if self.method == "online" else None,
            "passes": sum(1 for _ in trace),
            "log_likelihood": trace[-1]["log_likelihood"] if trace else None,
            "dev_log_likelihood": trace[-1].get("dev") if trace else None,
            "seconds": seconds,
            "tokens_per_second": corpus.arrays.n_tokens
            * len(trace)
            / max(sum(r["seconds"] for r in trace), 1e-9),
        }

    # -- what was learnt ------------------------------------------------------------------------------

    @property
    def laws_(self) -> Laws:
        """The parameters, as inference wants them."""
        return self._learner.laws(self.statistics_)

    @property
    def transition_(self) -> NDArray[np.float64]:
        """``[kind, child, parent]``: columns sum to 1."""
        return self.statistics_.laws(self.smoothing, self.backoff, np.float64).transition

    @property
    def shared_transition_(self) -> NDArray[np.float64]:
        """``[child, parent]`` whatever the kind of edge."""
        tau = self.statistics_.tau.sum(axis=0, keepdims=True)
        one = Statistics(self.statistics_.omega, self.statistics_.mass, tau, self.statistics_.rho)
        return np.asarray(one.laws(self.smoothing, 0.0, np.float64).transition[0])

    def emission(self, words: Sequence[str] | None = None) -> NDArray[np.float64]:
        """``[word, class]``: the probability of each word (by default all) in each class."""
        laws, vocabulary = self.laws_, self.vocabulary_
        rows = slice(None) if words is None else vocabulary.encode(words)
        return laws.counts[rows].astype(np.float64) * laws.scale + laws.floor

    def log_likelihood(self, text: TokenArrays) -> float:
        """Of all words of a text, by exact inference."""
        with one_blas_thread():
            return self._learner.log_likelihood(self._corpus(text), self.laws_)

    def posteriors(self, text: TokenArrays) -> NDArray[Any]:
        """``[token, class]``: P(class | the words of the sentence), the representation Posterior-Token."""
        corpus, laws = self._corpus(text), self.laws_

        def found(piece: TokenArrays) -> NDArray[Any]:
            tokens, _, beliefs = Messages().beliefs(corpus.trees(piece), laws)
            nodes = np.empty_like(beliefs.nodes)
            nodes[tokens] = beliefs.nodes
            return nodes

        with one_blas_thread():
            return np.concatenate(list(in_order(found, corpus.pieces(), self.threads or default_threads())))

    def predict(self, text: TokenArrays) -> NDArray[np.int32]:
        """The classes of the most probable joint assignment of each sentence (Viterbi)."""
        corpus, laws = self._corpus(text), self.laws_

        def found(piece: TokenArrays) -> NDArray[np.int32]:
            trees = corpus.trees(piece)
            laid = sentence_trees(*trees[1:])
            classes = np.empty(len(trees.ids), np.int32)
            classes[laid.tokens] = max_product(laid, trees.ids[laid.tokens], laws)[0]
            return classes

        return np.concatenate(list(in_order(found, corpus.pieces(), self.threads or default_threads())))

    def word_vectors(self) -> WordVectors:
        """P(class | word), averaged over the text: the representation Posterior-Type, a row a word."""
        omega = self.statistics_.omega
        mass = omega.sum(axis=1, dtype=np.float64)
        seen = np.flatnonzero(mass > 0)
        rows = (omega[seen] / mass[seen, None]).astype(np.float32)
        words = [self.vocabulary_.words[i] for i in seen.tolist()]
        return WordVectors(words, rows, lowercase=self._lowercase)

    def word_classes(self) -> WordClasses:
        """The class that each word has most often; unknown words have none if there were none in the text."""
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

    @property
    def _lowercase(self) -> bool:
        return self.facts_["reading"].get("lowercase") is True

    # -- files ----------------------------------------------------------------------------------------

    def save(self, path: FilePath) -> None:
        """Write a model file. Its statistics are there too, so learning can go on from it."""
        statistics = self.statistics_
        statistics.fold()
        settings = {name: getattr(self, name) for name in _SETTINGS}
        header = {
            "settings": settings,
            "facts": self.facts_,
            "done": self._done,
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
        write_model(path, KIND, header, tensors, {"words": self.vocabulary_.words})

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what `save` wrote."""
        return cls._from_file(read_model(path, KIND))

    @classmethod
    def _from_file(cls, model: ModelFile) -> Self:
        settings = model.fact("settings", dict)
        if set(settings) != set(_SETTINGS):
            raise model.error("damaged: it has other settings than a hidden Markov model")
        words, counts = model.texts("words"), model.tensor("counts", np.int64)
        omega, tau = model.tensor("omega", ndim=2), model.tensor("tau", np.float64, ndim=3)
        rho, mass = model.tensor("rho", np.float64), model.tensor("mass", np.float64)
        relations = model.fact("relations", dict)
        C = len(rho)
        shapes = omega.shape, tau.shape[1:], mass.shape, counts.shape
        if shapes != ((len(words), C), (C, C), (C,), (len(words),)):
            raise model.error("damaged: its arrays do not fit together")
        fitted = cls(**settings)
        try:
            fitted.vocabulary_ = Vocabulary(tuple(words), counts, model.header.get("unknown"))
        except OptionError as error:
            raise model.error(f"damaged: {error}") from None
        fitted.relations_ = {str(name): [str(one) for one in members] for name, members in relations.items()}
        if len(fitted.relations_) != len(tau):
            raise model.error("damaged: its arrays do not fit together")
        fitted.facts_ = model.fact("facts", dict)
        fitted._done = model.fact("done", dict)
        fitted.gamma_ = model.fact("gamma", float)
        fitted.statistics_ = Statistics(omega, mass, tau, rho)
        return fitted


_SETTINGS = (
    "n_classes", "structure", "typed", "method", "passes", "k_best", "epsilon", "batch_tokens", "gamma", "delay",
    "finish", "start", "split_passes", "noise", "smoothing", "backoff", "patience", "dtype", "random_state",
)  # fmt: skip


def _stages(first: int, last: int) -> list[int]:
    """Sizes from the first to the last, each at most twice the one before.

    Examples
    --------
    >>> _stages(32, 200)
    [32, 64, 128, 200]
    """
    sizes = [first]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    return sizes


def one_blas_thread() -> Any:
    """Within it matrix products run on one thread each: the threads of Spinney have pieces of their own."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
