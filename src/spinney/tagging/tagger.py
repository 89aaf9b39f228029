"""A tagger: patterns, a chain model, a penalty, in one estimator and one file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.evaluate import allowed_ends, allowed_transitions, tagging_scores
from spinney.files import FilePath, read_model, write_model
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
from spinney.optim import PENALTIES, PenaltySpec, lambda_grid, lambda_max, warn_unless_converged
from spinney.optim.base import Penalty, Solution, Vector
from spinney.structure import WordClasses, WordVectors
from spinney.tagging import summary
from spinney.tagging.columns import Columns
from spinney.tagging.encoding import SCHEMES, Encoding
from spinney.tagging.extract import Extractor
from spinney.tagging.hmm import HMM
from spinney.tagging.labelling import allowed_labels, encode_labels
from spinney.tagging.loss import CRFLoss
from spinney.tagging.memm import MEMMLoss, memm_chains
from spinney.tagging.patterns import Pattern, parse_patterns, read_patterns
from spinney.tagging.penalty import make_penalty, penalty_spec
from spinney.tagging.presets import PRESETS, kind_of, preset
from spinney.tagging.selection import threshold
from spinney.tagging.semisupervised import train_with_unlabelled
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.stopping import DevSet
from spinney.tagging.support import Shape, observed_support
from spinney.tagging.training import Plan, train
from spinney.tagging.weights import ChainWeights

HMM_FLOOR = -50.0  # the logarithm of what was never seen
BATCH = 20_000  # tokens labelled at a time
Sentence = Sequence[Sequence[str]] | Sequence[str]


@dataclass(frozen=True)
class PathPoint:
    """One model of a regularisation path."""

    lam: float
    objective: float
    violation: float
    seconds: float
    weights: ChainWeights
    scores: dict[str, Any]

    @property
    def n_active(self) -> int:
        """Weights that are not zero."""
        return self.weights.n_active


class Tagger(BaseEstimator):  # type: ignore[misc]
    """Labels for the tokens of sentences, by a linear-chain conditional random field.

    Parameters
    ----------
    patterns : str or sequence of Pattern
        What the model looks at: the name of a built-in set (``"chunk"``, ``"ner"``, ``"pos"``, ``"g2p"``), the text of
        a template (Wapiti's and CRF++'s syntax and Spinney's own), or the path of a template file.
    structures : mapping of names to WordClasses or WordVectors, optional
        What patterns such as ``%class[0,0,brown]`` refer to; a built-in set looks at all of them by itself.
    model : str
        ``"crf"``, ``"memm"`` (each label given the one before, normalised locally) or ``"hmm"`` (counts; looks at one
        unigram pattern, and takes no penalty).
    penalty : str, PenaltySpec or Penalty
        A name in :data:`spinney.optim.PENALTIES` that is over single weights (``"l2"``, ``"l1"``, ``"elasticnet"``,
        ``"none"``, …), over a grouping (``"group:pattern"``, ``"group:symbol"``, ``"group:label"``, ``"group:class"``;
        also ``"group-linf:label"`` and so on), or over the tree in which bigrams come after their unigrams
        (``"tree-l2"``, ``"tree-linf"``); or any penalty of :mod:`spinney.optim`. The grouping ``class`` is by the first
        word classes of ``structures``. ``"group-pattern"`` is short for ``"group:pattern"``, ``"tree"`` for
        ``"tree-l2"``.
    lam, l1, l2 : float
        Strengths. The loss is the **sum** over sentences.
    solver : str
        ``"auto"``, ``"lbfgs"``, ``"owlqn"``, ``"active-set"``, ``"sgd"``, ``"adagrad"``, ``"sbcd"``, ``"cd"``,
        ``"fista"``, ``"perceptron"`` or ``"pa"`` (passive-aggressive; these two take no penalty).
    solver_options : dict, optional
        Passed on, such as ``{"kappa2": 1.2}`` for ``"sbcd"``.
    tol : float
        Largest violation of optimality, relative to the gradient of the empty model.
    max_iter, passes : int
        Iterations at most; passes of stochastic solvers.
    labels : str
        ``"all"``: every observation has a weight for every label; ``"observed"``: for those it was seen with.
    start : bool
        Whether the first token has bigram weights, from a start label.
    min_count : int
        Leave out observations made fewer times.
    partial : bool
        Whether ``_`` is an unknown label and ``A|B`` one of several, which training sums over.
    criterion : str
        What to do with unlabelled sentences: ``"weighted"``, ``"shift"``, ``"entropy"`` (at ``rho`` a nat) or
        ``"self-training"`` (on those labelled with probability ``threshold``); see
        :func:`spinney.tagging.semisupervised.train_with_unlabelled`.
    rho, threshold : float
    scheme : str, optional
        ``"iob1"``, ``"iob2"`` or ``"bioes"``: label only validly. With ``encode``, the scheme that labels come back in.
    encode : str, optional
        Learn phrase labels in this scheme, whichever they are written in; they come back as they were written. The
        learnt labels are those of ``labels_``, ``predict_marginals`` and the numbers that ``predict_kbest`` gives.
    decoding : str
        ``"viterbi"`` (the best labelling) or ``"posterior"`` (the best label of each token).
    patience : int
        Checks on a dev set without progress after which training stops.
    threads : int, optional
    random_state : int

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["a", "dog", "sleeps"], ["the", "cat", "sleeps"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> tagger = Tagger("U:%x[0,0]\\nB", lam=0.1).fit(X, y)
    >>> tagger.predict([["a", "cat", "barks"]])
    [['D', 'N', 'V']]
    >>> [round(float(p), 2) for p in tagger.predict_kbest([["a", "cat"]], 1)[0][0].labels]
    [0.0, 1.0]
    """

    extractor_: Extractor
    weights_: ChainWeights
    labels_: list[str]
    encoding_: Encoding | None
    facts_: dict[str, Any]

    def __init__(
        self,
        patterns: str | Sequence[Pattern] = "pos",
        *,
        structures: Mapping[str, WordClasses | WordVectors] | None = None,
        model: str = "crf",
        penalty: str | PenaltySpec | Penalty = "l2",
        lam: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = 500,
        passes: int = 10,
        step: float | None = None,
        labels: str = "all",
        start: bool = True,
        min_count: int = 1,
        partial: bool = False,
        criterion: str = "weighted",
        rho: float = 1e-3,
        threshold: float = 0.9,
        scheme: str | None = None,
        encode: str | None = None,
        decoding: str = "viterbi",
        patience: int = 5,
        threads: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.patterns = patterns
        self.structures = structures
        self.model = model
        self.penalty = penalty
        self.lam = lam
        self.l1 = l1
        self.l2 = l2
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.passes = passes
        self.step = step
        self.labels = labels
        self.start = start
        self.min_count = min_count
        self.partial = partial
        self.criterion = criterion
        self.rho = rho
        self.threshold = threshold
        self.scheme = scheme
        self.encode = encode
        self.decoding = decoding
        self.patience = patience
        self.threads = threads
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Sentence],
        y: Iterable[Sequence[str]],
        *,
        dev: tuple[Iterable[Sentence], Iterable[Sequence[str]]] | None = None,
        init: Tagger | None = None,
        unlabelled: Iterable[Sentence] | None = None,
        sentence_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences (lists of words, or of rows of columns) and their labels.

        With ``dev`` = (sentences, labels), training stops when the token error there stops falling; ``init`` is a
        fitted tagger to start from: what it knows of the same observations and labels is taken over. Sentences that are
        ``unlabelled`` are used as ``criterion`` says.
        """
        columns = labelled_columns(X, y)
        held_out = labelled_columns(*dev, columns) if dev is not None else None
        more = None if unlabelled is None else Columns.from_sentences(map(_rows, unlabelled), columns.pool)
        return self.fit_columns(
            columns, dev=held_out, init=init, unlabelled=more, sentence_weight=sentence_weight
        )

    def fit_columns(
        self,
        columns: Columns,
        *,
        dev: Columns | None = None,
        init: Tagger | None = None,
        unlabelled: Columns | None = None,
        sentence_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from columns, the last of which holds the labels; ``unlabelled`` columns need not have it."""
        started = time.perf_counter()
        data, loss, penalty = self._prepared(columns, sentence_weight)
        if self.model == "hmm":
            return self._count(data, loss, started)
        plan = self._plan()
        watch = self._watch(dev, loss) if dev is not None else None
        w0 = init._carried_over(self.extractor_, self.labels_, loss) if init is not None else None
        if unlabelled is None:
            solution = train(loss, penalty, plan, w0, watch)
        else:
            solution = self._train_with(unlabelled, loss, penalty, plan, w0, watch)
        w = watch.best if watch is not None and watch.best is not None else solution.w
        self._store(w, loss)
        self._note_facts(data, loss, penalty, solution, time.perf_counter() - started)
        if watch is not None:
            self.facts_["dev_token_error"] = watch.lowest
        if solution.interrupted:
            raise KeyboardInterrupt
        if plan.solver not in ("sgd", "adagrad", "perceptron", "pa") and not (watch and watch.stopped):
            warn_unless_converged(solution, plan.tol)
        return self

    def _watch(self, dev: Columns, loss: CRFLoss) -> DevSet:
        if self.encoding_ is not None:
            dev = self.encoding_.encoded(dev)

        def chains(w: Vector, data: Sequences) -> Chains:
            if self.model == "memm":
                return memm_chains(w, loss.shape, data)
            return ChainWeights(loss.shape, w, loss.support).chains(data)

        return DevSet(
            dev, self.extractor_, self.labels_, chains, patience=self.patience, threads=self.threads
        )

    def _train_with(
        self,
        unlabelled: Columns,
        loss: CRFLoss,
        penalty: Penalty,
        plan: Plan,
        w0: Vector | None,
        watch: DevSet | None,
    ) -> Solution:
        if self.model != "crf":
            raise OptionError("unlabelled sentences help to train a crf only")
        if not unlabelled.n_tokens:
            raise InputError("no unlabelled sentences")
        more = Sequences(unlabelled.offsets, *self.extractor_.observe(unlabelled))
        return train_with_unlabelled(
            self.criterion,
            loss,
            penalty,
            plan,
            more,
            rho=self.rho,
            threshold=self.threshold,
            w0=w0,
            watch=watch,
        )

    def _count(self, data: Sequences, loss: CRFLoss, started: float) -> Self:
        """A hidden Markov model as a chain model: its log probabilities are the weights.

        A token without observation (an unknown word) must get log p(unknown|y). So that is in the weights of label
        pairs, which every token has, and is taken off the weights of the words.
        """
        seen, shape = data.unigrams, loss.shape
        if seen.values is not None or np.any(np.diff(seen.ptr) > 1) or shape.bigrams != 1 or not shape.start:
            raise OptionError(
                "the model hmm looks at one thing: patterns such as U:%x[0,0] and B, with a start label"
            )
        symbols = np.full(data.n_tokens, -1, np.int32)
        symbols[np.diff(seen.ptr) == 1] = seen.ids
        assert data.labels is not None
        hmm = HMM.fit(symbols, data.offsets, data.labels, shape.labels, seen.n)
        w = np.zeros(shape.n_params)
        assert hmm.unknown is not None
        with np.errstate(divide="ignore"):
            unknown = np.maximum(np.log(hmm.unknown), HMM_FLOOR)
            shape.mu(w)[:] = np.maximum(np.log(hmm.emission.T), HMM_FLOOR) - unknown
            shape.lam(w)[0] = (
                np.maximum(np.log(np.vstack([hmm.transition, hmm.initial])), HMM_FLOOR) + unknown
            )
        self._keep(ChainWeights.of(w, shape))
        penalty = make_penalty(
            "none", 0.0, 0.0, 0.0, shape, (np.empty(0, np.int32),) * 2, np.empty(0, np.int64)
        )
        value, grad = loss.value_and_grad(w)
        solution = Solution(w, value, np.nan, True, 0, "counts", time.perf_counter() - started, grad)
        self._note_facts(data, loss, penalty, solution, time.perf_counter() - started)
        return self

    def path(
        self,
        columns: Columns,
        lams: Sequence[float] | None = None,
        *,
        dev: Columns | None = None,
        n: int = 10,
        ratio: float = 1e-2,
    ) -> Iterator[PathPoint]:
        """Models along a falling grid of ``lam``, each started at the one before; scored on ``dev`` if given.

        While a point is being looked at, the tagger itself is that model: it may be saved or used.
        """
        if self.model == "hmm":
            raise OptionError("an hmm is counted, without a penalty: it has no path")
        data, loss, penalty = self._prepared(columns)
        plan = self._plan()
        if lams is None:
            lams = lambda_grid(lambda_max(loss, penalty), n, ratio).tolist()
        w: Vector | None = np.zeros(loss.n_params)
        extractor = self.extractor_
        for lam in sorted(map(float, lams), reverse=True):
            started = time.perf_counter()
            at = penalty.with_lam(lam)
            solution = train(loss, at, plan, w)
            w = solution.w
            seconds = time.perf_counter() - started
            self.extractor_ = extractor
            self._store(w, loss)
            self.lam = lam
            self._note_facts(data, loss, at, solution, seconds)
            scores = self.score_columns(dev) if dev is not None else {}
            yield PathPoint(lam, solution.objective, solution.violation, seconds, self.weights_, scores)
            if solution.interrupted:
                return

    def _plan(self) -> Plan:
        return Plan(
            self.solver,
            self.tol,
            self.max_iter,
            self.passes,
            self.step,
            self.random_state,
            self.solver_options,
        )

    def _prepared(
        self, columns: Columns, sentence_weight: Sequence[float] | None = None
    ) -> tuple[Sequences, CRFLoss, Penalty]:
        """Read the patterns, number observations and labels, and state the problem."""
        if self.model not in ("crf", "memm", "hmm"):
            raise unknown_choice("model is", self.model, ("crf", "memm", "hmm"))
        if self.labels not in ("all", "observed"):
            raise unknown_choice("labels is", self.labels, ("all", "observed"))
        spec = penalty_spec(self.penalty, self.lam, self.l1, self.l2)
        if columns.width < 1 or not columns.n_tokens:
            raise InputError("no sentences to learn from")
        columns = self._encoded(columns)
        inputs = columns.without_last()
        self.extractor_ = Extractor(self._patterns(), self.structures)
        unigrams, bigrams = self.extractor_.learn(inputs)
        unigrams, bigrams = self._cut(unigrams, bigrams)
        self._seen_by_pattern = summary.observations_by_pattern(self.extractor_)
        labels, sets, self.labels_ = encode_labels(
            columns.symbols[-1],
            columns.pool,
            partial=self.partial,
            known=() if self.encoding_ is None else ("O",),  # so that each sentence has a valid labelling
        )
        weights = None if sentence_weight is None else np.asarray(sentence_weight, np.float64)
        if weights is not None and not np.all((weights >= 0) & np.isfinite(weights)):
            raise InputError("the weights of sentences must be finite numbers ≥ 0")
        data = Sequences(columns.offsets, unigrams, bigrams, labels, sets, weights)
        n = len(self.labels_)
        loss: Any
        if self.model == "memm":
            if self.labels == "observed":
                raise OptionError("a memm has weights for all labels; use labels='all'")
            loss = MEMMLoss(data, n, start=self.start, threads=self.threads)
        else:
            loss = CRFLoss(data, n, start=self.start, threads=self.threads)
            if self.labels == "observed":
                if not isinstance(self.penalty, Penalty) and PENALTIES[spec.name].needs:
                    name = self.penalty if isinstance(self.penalty, str) else spec.name
                    raise OptionError(f"{name} groups the weights of all labels; use labels='all'")
                loss = loss.restricted(observed_support(data, loss.shape))
        penalty = make_penalty(
            self.penalty, self.lam, self.l1, self.l2, loss.shape,
            (self.extractor_.pattern_of("u"), self.extractor_.pattern_of("b")), summary.partners(self.extractor_),
            lambda: self.extractor_.class_of("u"),
        )  # fmt: skip
        return data, loss, penalty

    def _encoded(self, columns: Columns) -> Columns:
        """The columns with the labels to learn."""
        self.encoding_ = None
        if self.encode is None:
            return columns
        if self.encode not in SCHEMES:
            raise unknown_choice("encode is", self.encode, SCHEMES)
        if self.partial:
            raise OptionError(
                "half-known labels cannot be written in another scheme: leave out encode or partial"
            )
        self.encoding_ = Encoding.of(columns, self.encode)  # type: ignore[arg-type]
        return self.encoding_.encoded(columns)

    def _patterns(self) -> tuple[Pattern, ...]:
        if not isinstance(self.patterns, str):
            return tuple(self.patterns)
        if self.patterns in PRESETS:
            kinds = {name: kind_of(structure) for name, structure in (self.structures or {}).items()}
            return parse_patterns(preset(self.patterns, kinds), f"preset {self.patterns}")
        if "\n" in self.patterns or "%" in self.patterns or self.patterns in ("B", "b"):
            return parse_patterns(self.patterns)
        if not os.path.exists(self.patterns):
            raise OptionError(
                f"patterns: {self.patterns!r} is no file and no built-in set ({', '.join(PRESETS)})"
            )
        return read_patterns(self.patterns)

    def _cut(self, unigrams: Observations, bigrams: Observations) -> tuple[Observations, Observations]:
        """Leave out rare observations."""
        if self.min_count <= 1:
            return unigrams, bigrams
        kept = [seen.counts() >= self.min_count for seen in (unigrams, bigrams)]
        self.extractor_ = self.extractor_.keep(*kept)
        return unigrams.keep(kept[0]), bigrams.keep(kept[1])

    def _carried_over(self, extractor: Extractor, labels: list[str], loss: CRFLoss) -> Vector:
        """The weights of this fitted tagger in the places of another model."""
        self._check_fitted()
        old, new = self.weights_.shape, loss.shape
        label = {name: i for i, name in enumerate(self.labels_)}
        from_label = np.array([label.get(name, -1) for name in labels])
        w = np.zeros(new.n_params)
        full = self.weights_.full()
        rows = [_places(self.extractor_.names(which), extractor.names(which)) for which in ("u", "b")]
        mu = np.pad(old.mu(full), ((0, 1), (0, 1)))  # the last row and column are those of what is not known
        new.mu(w)[:] = mu[np.ix_(rows[0], from_label)]
        lam = np.zeros((old.bigrams + 1, old.labels + 2, old.labels + 1))
        lam[:-1, : old.labels, :-1] = old.lam(full)[:, : old.labels]
        if old.start and new.start:
            lam[:-1, old.labels, :-1] = old.lam(full)[:, old.labels]
        before = np.append(from_label, old.labels) if new.start else from_label
        new.lam(w)[:] = lam[np.ix_(rows[1], before, from_label)]
        return w if loss.support is None else w[loss.support.places(new)]

    def _store(self, w: Vector, loss: CRFLoss) -> None:
        """Keep the weights, and only those observations that have any."""
        if loss.support is not None:
            full = np.zeros(loss.shape.n_params)
            full[loss.support.places(loss.shape)] = w
            w = full
        self._keep(ChainWeights.of(w, loss.shape))

    def _keep(self, weights: ChainWeights) -> None:
        used = weights.used()
        if not all(mask.all() for mask in used):
            self.extractor_ = self.extractor_.keep(*used)
            weights = weights.kept(*used)
        self.weights_ = weights

    def _note_facts(
        self, data: Sequences, loss: CRFLoss, penalty: Penalty, solution: Solution, seconds: float
    ) -> None:
        self.facts_ = {
            "model": self.model,
            "sentences": len(data),
            "tokens": data.n_tokens,
            "labels": len(self.labels_),
            "label_counts": self._label_counts(data),
            "observations": data.unigrams.n + data.bigrams.n,
            "observations_by_pattern": self._seen_by_pattern,
            "parameters": loss.n_params,
            "active": self.weights_.n_active,
            "penalty": "none" if solution.solver in ("perceptron", "pa") else penalty.describe(),
            "solver": solution.solver,
            "iterations": solution.n_iter,
            "objective": solution.objective,
            "violation": solution.violation,
            "converged": solution.converged,
            "seconds": seconds,
            "tokens_per_second": data.n_tokens / max(seconds, 1e-9),
        }

    def _label_counts(self, data: Sequences) -> dict[str, int]:
        """Tokens of each label, where it is known for sure."""
        assert data.labels is not None
        counts = np.bincount(data.labels[data.labels >= 0], minlength=len(self.labels_))
        return dict(zip(self.labels_, counts.tolist()))

    # -- labelling ------------------------------------------------------------------------------------

    def predict(self, X: Iterable[Sentence]) -> list[list[str]]:
        """The labels of sentences."""
        columns = Columns.from_sentences([_rows(sentence) for sentence in X])
        return list(self.label_columns(columns))

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
        if self.encoding_ is None:
            return names
        return self.encoding_.decoded(names, self.scheme)  # type: ignore[arg-type]

    @property
    def written_labels(self) -> list[str]:
        """The labels of the training data as they are written there: ``labels_``, unless ``encode`` rewrites them."""
        self._check_fitted()
        return self.labels_ if self.encoding_ is None else list(self.encoding_.labels)

    def label_columns_with_probabilities(
        self, columns: Columns, allowed: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[list[str], list[float]]]:
        """The labels of each sentence, each with its marginal probability.

        Where ``encode`` learns labels whose writing depends on their neighbours, it is that of the learnt label.
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
        """Which learnt labels are written alike, if others are learnt than written and each has one writing."""
        self._check_fitted()
        if self.encoding_ is None:
            return None
        meanings = self.encoding_.meanings(self.labels_, self.scheme)  # type: ignore[arg-type]
        return None if meanings is None else np.array([[a == b for b in meanings] for a in meanings])

    def kbest_columns(
        self, columns: Columns, k: int, allowed: NDArray[np.bool_] | None = None
    ) -> Iterator[list[Path]]:
        """The k best labellings of each sentence, best first."""
        for chains in self._chains(columns, allowed):
            yield from kbest(chains, k, threads=self.threads)

    def predict_marginals(self, X: Iterable[Sentence]) -> list[NDArray[np.float64]]:
        """For each sentence the probabilities of the labels (columns, in the order of ``labels_``) of its tokens."""
        columns = Columns.from_sentences([_rows(sentence) for sentence in X])
        found = []
        for chains in self._chains(columns):
            probabilities = marginals(chains, threads=self.threads)[0]
            found += np.split(probabilities, chains.offsets[1:-1]) if len(chains) else []
        return found

    def predict_kbest(self, X: Iterable[Sentence], k: int) -> list[list[Path]]:
        """For each sentence its k best labellings: label numbers, score and probability, best first."""
        columns = Columns.from_sentences([_rows(sentence) for sentence in X])
        return list(self.kbest_columns(columns, k))

    def predict_margins(self, X: Iterable[Sentence]) -> NDArray[np.float64]:
        """By how much the best labelling of each sentence beats the next: small where the tagger is in doubt."""
        columns = Columns.from_sentences([_rows(sentence) for sentence in X])
        parts = [margins(chains, threads=self.threads) for chains in self._chains(columns)]
        return np.concatenate([np.empty(0), *parts])

    def force(self, columns: Columns) -> tuple[Columns, NDArray[np.bool_]]:
        """Take the last column as what is known of the labels: ``_`` nothing, ``A|B`` one of two, ``A`` all."""
        self._check_fitted()
        inputs, names = columns.without_last(), self.labels_
        if self.encoding_ is not None:
            own = self.encoding_.meanings(names)
            if own is None:
                what = f"labels in {self.encoding_.own} depend on their neighbours in {self.encoding_.inner}"
                raise OptionError(
                    f"{what}: force them on a tagger that was trained on iob2, or without encode"
                )
            names = own
        return inputs, allowed_labels(columns.symbols[-1], columns.pool, names)

    def _chains(self, columns: Columns, allowed: NDArray[np.bool_] | None = None) -> Iterator[Chains]:
        """The model on the sentences, a batch at a time."""
        self._check_fitted()
        transitions = ends = None
        if self.encoding_ is not None:
            if self.scheme not in (None, *SCHEMES):
                raise unknown_choice("scheme is", self.scheme, SCHEMES)
            transitions, ends = self.encoding_.allowed(self.labels_)
        elif self.scheme is not None:
            transitions = allowed_transitions(self.labels_, self.scheme)  # type: ignore[arg-type]
            ends = allowed_ends(self.labels_, self.scheme)  # type: ignore[arg-type]
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
        if self.model == "memm":
            return memm_chains(self.weights_.full(), self.weights_.shape, data)
        return self.weights_.chains(data)

    def score_columns(self, columns: Columns) -> dict[str, Any]:
        """Token error, phrase scores and sequence error against the last column."""
        if not columns.n_tokens:
            raise InputError("no sentences to score")
        inputs = columns.without_last()
        texts = list(columns.pool)
        gold = [texts[symbol] for symbol in columns.symbols[-1].tolist()]
        bounds = columns.offsets.tolist()
        sentences = (gold[a:b] for a, b in pairwise(bounds))
        return tagging_scores(sentences, self.label_columns(inputs))

    def score(self, X: Iterable[Sentence], y: Iterable[Sequence[str]]) -> float:
        """The share of tokens labelled right."""
        return float(self.score_columns(labelled_columns(X, y))["accuracy"])

    # -- reading and files ----------------------------------------------------------------------------

    def strongest(self, k: int = 10, by: str = "label") -> dict[str, list[tuple[str, float]]]:
        """The ``k`` observations with the largest weights for each label, or for each pattern (``by="pattern"``)."""
        self._check_fitted()
        return summary.strongest(self.weights_, self.extractor_, self.labels_, k, by)

    def transitions(self, k: int = 10) -> tuple[list[summary.Transition], list[summary.Transition]]:
        """The pairs of labels with the largest and the smallest bigram weights: observation, before, label, weight."""
        self._check_fitted()
        return summary.transitions(self.weights_, self.extractor_, self.labels_, k)

    def active_by_pattern(self) -> dict[str, tuple[int, int]]:
        """For each pattern how many unigram and bigram weights are not zero."""
        self._check_fitted()
        return summary.active_by_pattern(self.weights_, self.extractor_)

    def orphans(self) -> tuple[int, int]:
        """Active bigram weights λ(y', y, x) that have a unigram μ(y, x) beside them; those of them where it is zero."""
        self._check_fitted()
        return summary.orphans(self.weights_, self.extractor_)

    def prune(self, tau: float, rule: Literal["interval", "positive"] = "interval") -> Self:
        """Set all weights within ±tau (``"positive"``: below tau) to zero, for good, without training again."""
        self._check_fitted()
        self._keep(ChainWeights.of(threshold(self.weights_.full(), tau, rule), self.weights_.shape))
        self.facts_["active"] = self.weights_.n_active
        return self

    def save(self, path: FilePath) -> None:
        """Write the model file."""
        self._check_fitted()
        weights, plain = self.weights_, str | int | float | None
        parameters = {name: value for name, value in self.get_params().items() if isinstance(value, plain)}
        parameters["penalty"] = PenaltySpec.stored(self.penalty)
        header = {
            "parameters": parameters,
            "facts": self.facts_,
            "start": weights.shape.start,
            "model": self.model,
        }
        tensors = {"places": weights.places, "values": weights.values}
        if weights.support is None:
            del tensors["places"]
        parts = {"extractor": self.extractor_.parts()}
        if self.encoding_ is not None:
            parts["encoding"] = self.encoding_.parts()
        write_model(path, "tagging/Tagger", header, tensors, {"labels": self.labels_}, parts)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what :meth:`save` wrote."""
        file = read_model(path, "tagging/Tagger")
        known = set(cls._get_param_names())
        parameters = {k: v for k, v in file.fact("parameters", dict).items() if k in known}
        with file.checked():
            parameters["penalty"] = PenaltySpec.restored(parameters.get("penalty", "l2"))
        tagger = cls(**parameters)
        tagger.extractor_ = Extractor.from_parts(file.part("extractor"))
        tagger.patterns, tagger.structures = tagger.extractor_.patterns, tagger.extractor_.structures
        tagger.labels_ = list(file.texts("labels"))
        tagger.facts_ = file.fact("facts", dict)
        tagger.model = file.fact("model", str)
        encoded = "encoding" in file.part_headers
        tagger.encoding_ = Encoding.from_parts(file.part("encoding")) if encoded else None
        shape = Shape(
            tagger.extractor_.n_unigrams,
            tagger.extractor_.n_bigrams,
            len(tagger.labels_),
            file.fact("start", bool),
        )
        values = np.array(file.tensor("values", np.float64, 1))
        if "places" in file.tensors:
            places = np.array(file.tensor("places", np.int64, 1))
            in_order = len(places) == len(values) and bool(np.all(np.diff(places) > 0))
            if not in_order or (len(places) and not 0 <= places[0] <= places[-1] < shape.n_params):
                raise file.error("damaged: the weights have no proper places")
            w = np.zeros(shape.n_params)
            w[places] = values
            values = w
        if len(values) != shape.n_params:
            raise file.error("damaged: as many weights as observations and labels ask for are needed")
        tagger.weights_ = ChainWeights.of(values, shape)
        return tagger

    def _check_fitted(self) -> None:
        if not hasattr(self, "weights_"):
            raise NotFittedError("this tagger has not been fitted: call fit, or load a model file")


def labelled_columns(
    X: Iterable[Sentence], y: Iterable[Sequence[str]], like: Columns | None = None
) -> Columns:
    """Sentences and their labels as columns, the labels last; ``like`` lends its pool of strings."""
    X, y, sentences = list(X), list(y), []
    if len(X) != len(y):
        raise InputError(f"{len(X)} sentences but labels for {len(y)}")
    for i, (sentence, labels) in enumerate(zip(X, y)):
        if len(sentence) != len(labels):
            raise InputError(f"sentence {i} has {len(sentence)} tokens but {len(labels)} labels")
        sentences.append([(*row, label) for row, label in zip(_rows(sentence), labels)])
    return Columns.from_sentences(sentences, None if like is None else like.pool)


def _rows(sentence: Sentence) -> list[tuple[str, ...]]:
    """The tokens of a sentence as rows; a plain word is a row of one column."""
    return [(token,) if isinstance(token, str) else tuple(token) for token in sentence]


def _places(known: list[str], wanted: list[str]) -> NDArray[np.int64]:
    place = {name: i for i, name in enumerate(known)}
    return np.array([place.get(name, -1) for name in wanted], np.int64)
