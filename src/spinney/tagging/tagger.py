"""A tagger: patterns, a chain model and a penalty, in one estimator and one file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, OptionError
from spinney.estimator import Estimator as Parametrised
from spinney.evaluate import plot_confusion
from spinney.files import ModelFile
from spinney.model import Applied, Contents, Model, ShownEstimator
from spinney.optim import warn_unless_converged
from spinney.optim.base import Penalty, Solution, Vector
from spinney.optim.paths import how_chosen, plot_choice
from spinney.settings import Settings, choose, settings_class, settings_of, settings_or, takes
from spinney.settings.report import Report
from spinney.settings.tag import FIT, UNPENALISED, Apply, Estimator, Evaluate, Explain, Inspect
from spinney.tagging import summary as learned
from spinney.tagging.carrying import carried_over
from spinney.tagging.columns import Columns, Sentence
from spinney.tagging.counting import taught_by
from spinney.tagging.decoding import Labelling
from spinney.tagging.methods import METHODS, ends_by_itself, plan_of, tolerance_of
from spinney.tagging.paths import PathPoint, path_points
from spinney.tagging.problem import Problem, stated
from spinney.tagging.pruning import pruned
from spinney.tagging.selection import threshold
from spinney.tagging.semisupervised import chosen_use, facts_of, report_use
from spinney.tagging.sequences import Sequences
from spinney.tagging.stopping import DevSet
from spinney.tagging.storing import contents_of, restore
from spinney.tagging.weights import ChainWeights
from spinney.views import Views

_DEFAULTS = {setting.name: setting.default for setting in settings_of(Estimator)}


@takes(Estimator, "patterns")
class Tagger(ShownEstimator, Labelling, Model, Parametrised):
    """Labels the tokens of sentences with a linear-chain conditional random field or a simpler chain model.

    Parameters
    ----------
    patterns : str or sequence of Pattern
        The features of the model: the name of a built-in set (``"chunk"``, ``"ner"``, ``"pos"``, ``"g2p"``; by default
        ``"pos"``), the text of a template (Wapiti's and CRF++'s syntax and Spinney's own), or the path of its file.
    classes, vectors : mapping of names to WordClasses and WordVectors, or to their files
        The structures that patterns such as ``%class[0,0,brown]`` refer to; a built-in set uses all of them.
    method : str
        ``"crf"``, ``"memm"`` (each label given the one before, normalised locally) or ``"hmm"`` (counts; it has
        one unigram pattern, and no penalty).
    penalty : str, PenaltySpec or Penalty
        A name in :data:`spinney.optim.PENALTIES` that is over single weights (``"l2"``, ``"l1"``, ``"elasticnet"``,
        ``"none"``, …), over a grouping (``"group:pattern"``, ``"group:symbol"``, ``"group:label"``, ``"group:class"``;
        also ``"group-linf:label"`` and so on), or over the tree in which bigrams come after their unigrams
        (``"tree-l2"``, ``"tree-linf"``); or any penalty of :mod:`spinney.optim`. The grouping ``class`` is by the first
        word classes. ``"group-pattern"`` is short for ``"group:pattern"``, ``"tree"`` for ``"tree-l2"``.
    lam, l1, l2 : float
        Strengths. The loss is the **sum** over sentences.
    solver : str
        ``"auto"``, ``"lbfgs"``, ``"owlqn"``, ``"active-set"``, ``"sgd"``, ``"adagrad"``, ``"sbcd"``, ``"cd"``,
        ``"fista"``, ``"perceptron"`` or ``"pa"`` (passive-aggressive; these two take no penalty).
    solver_options : mapping
        Additional options of the solver, such as ``{"kappa2": 1.2}`` for ``"sbcd"``.
    tol : float, optional
        Stop when the objective is proven to be within this of the optimum, relative to the objective (0.01: 1 %, the
        default for penalties that make weights zero; 0.001 for others); where no bound is known, when the optimality
        conditions are violated by no more than this times λ (:func:`spinney.optim.solve`).
    max_iter, passes : int, optional
        Maximum number of iterations (500 by default); passes of stochastic solvers (10 by default), or of the EM of the
        method ``"hmm"`` over unlabelled sentences (by default chosen on labelled sentences that are held out).
    weights : str
        ``"all"``: every observation has a weight for every label; ``"observed"``: only for labels that it occurs with.
    select, select_top : str and int, optional
        Keep only so many weights, those with the highest mutual information (``"mi"``), or so many observations, those
        with the highest information gain (``"gain"``), both counted in the training sentences before the fit.
    start_label : bool
        Whether the first token has bigram weights, from a start label.
    min_count : int
        Drop observations with fewer occurrences.
    partial : bool
        Whether ``_`` is an unknown label and ``A|B`` one of several, which training sums over.
    criterion : str, optional
        How unlabelled sentences are used: ``"weighted"``, ``"shift"``, ``"entropy"`` or ``"self-training"``; see
        :func:`spinney.tagging.semisupervised.train_with_unlabelled`. By default all are tried, and the best on held-out
        sentences is used if it is clearly better than none: see :func:`spinney.tagging.semisupervised.chosen_use`.
    criterion_strength : float, optional
        The power of weights or ratios (0 to 1), the cost of a nat of entropy, or the least probability of sentences
        that self-training adds. By default it is chosen on held-out sentences, too.
    unlabelled_weight : float
        What an unlabelled sentence counts in the EM of the method ``"hmm"`` (1 by default).
    clusters : int, optional
        The number of clusters of similar sentences for the criterion ``"weighted"`` (10 by default).
    scheme : str, optional
        ``"iob1"``, ``"iob2"`` or ``"bioes"``: give only valid label sequences, in this scheme. Labels that were learned
        in another scheme are converted.
    encode : str, optional
        Learn phrase labels in this scheme, whatever that of the data; predicted labels are in the scheme of the data.
        The learned labels are those of ``labels_``, ``predict_marginals`` and the numbers that ``predict_kbest`` gives.
    decoding : str
        ``"viterbi"`` (the best labelling), ``"posterior"`` (the best label of each token) or ``"f1"`` (the phrases with
        the best F1 to expect: :func:`spinney.inference.phrases.f1_choice`).
    min_weight : float, optional
        Drop weights of at most this size after training. None is the default of :func:`spinney.tagging.fit`: 0.02 for
        a model of 65,536 weights or more whose penalty makes no zeros (less where the objective would rise by more
        than 1 %), and 0 for any other.
    precision : str
        ``"half"``, ``"single"`` or ``"double"``: the weights are rounded to so many bits (16, 32 or 64) when training
        ends, so that a model gives the same labels before and after it is saved.
    patience : int, optional
        Checks on a dev set without improvement before training stops (5 by default).

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

    kind = "tagging/Tagger"
    facts_: dict[str, Any]

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
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences (lists of words, or of rows of columns) and their labels.

        With ``dev`` = (sentences, labels), training stops when the token error there stops falling; ``init`` is a
        fitted tagger to start from: its weights for the same observations and labels are taken over. ``unlabelled``
        sentences are used as ``criterion`` says. ``sentence_weight`` is what each sentence counts, 1 by default;
        ``sample_weight`` is scikit-learn's name for it.
        """
        if sample_weight is not None:
            if sentence_weight is not None:
                raise OptionError("sentence_weight and sample_weight are the same: give only one of them")
            sentence_weight = sample_weight
        columns = self.columns(X, y)
        held_out = None if dev is None else self.columns(*dev, columns)
        more = None if unlabelled is None else self.columns(unlabelled, None, columns)
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
        """Learn from columns, the last of which holds the labels; ``unlabelled`` columns need not have them.

        An interrupt keeps what was learned, and is raised again.
        """
        started = time.perf_counter()
        s: Any = self.checked(dev=dev, init=init, unlabelled=unlabelled)
        if unlabelled is not None and not unlabelled.n_tokens:
            raise InputError("no unlabelled sentences")
        problem = self.problem(columns, s, sentence_weight, unlabelled)
        watch = None if dev is None else self._watch(dev, problem)
        w0, told = None, {}
        more: Any = None  # how unlabelled sentences are used, as the method takes it
        if init is not None:
            init.check_fitted()
            w0 = carried_over(init.weights_, init.extractor_, init.labels_, problem)
        if problem.unlabelled is not None:
            more = taught_by(problem, s)
            told = more.facts()
        elif unlabelled is not None:
            sentences = Sequences(unlabelled.offsets, *problem.extractor.observe(unlabelled))
            use, tried = chosen_use(
                problem.loss, problem.penalty, plan_of(s), sentences, criterion=s.criterion,
                strength=s.criterion_strength, clusters=s.clusters, dev=None if watch is None else watch.labelled,
            )  # fmt: skip
            report_use(use, tried, len(problem.data))
            more, told = (sentences, use), facts_of(use, tried)
        solution = METHODS[s.method].learn(problem, s, w0=w0, watch=watch, unlabelled=more)
        best = None if watch is None else watch.best
        w = solution.w if best is None else best
        less = None if solution.interrupted else pruned(problem, w, s)
        if less is not None:
            best = less.w
        self.keep(problem, problem.penalty, solution, time.perf_counter() - started, best)
        self.settings = s
        if less is not None and less.dropped:
            self.facts_ |= {"pruned": str(less), "threshold": less.threshold, "rise": less.rise}
        self.facts_ |= told
        if watch is not None and watch.best is not None:
            self.facts_["dev_token_error"] = watch.lowest
        if solution.interrupted or (less is not None and less.interrupted):
            raise KeyboardInterrupt
        if ends_by_itself(s) and not (watch and watch.stopped):
            warn_unless_converged(solution, tolerance_of(s))
        return self

    def checked(self, **data: Any) -> Settings:
        """The parameters as settings of the method; what came with the sentences, such as ``dev``, is among them."""
        own = {setting.name for setting in settings_of(settings_class(FIT, self.method))}
        given = {name: getattr(self, name) for name in _DEFAULTS if name != "decoding"}
        given = {name: value for name, value in given.items() if name in own or value != _DEFAULTS[name]}
        if given.get("lam") == _DEFAULTS["lam"] and (self.penalty == "none" or self.solver in UNPENALISED):
            del given["lam"]  # its default has no effect there
        return choose(FIT, given | {name: value for name, value in data.items() if value is not None})

    def problem(
        self,
        columns: Columns,
        settings: Settings | None = None,
        sentence_weight: Sequence[float] | None = None,
        unlabelled: Columns | None = None,
    ) -> Problem:
        """The problem to minimise over these sentences: the loss, the penalty, and what the weights stand for."""
        s: Any = self.checked() if settings is None else settings
        method = METHODS[s.method]
        return stated(columns, s, method.loss, sentence_weight, unlabelled if method.is_of_text else None)

    def _watch(self, dev: Columns, problem: Problem) -> DevSet:
        loss, chains = problem.loss, METHODS[self.method].chains
        return DevSet(
            dev if problem.encoding is None else problem.encoding.encoded(dev),
            problem.extractor,
            problem.labels,
            lambda w, data: chains(ChainWeights(loss.shape, w, loss.support), data),
            patience=5 if self.patience is None else self.patience,
            threads=self.threads,
        )

    def path(
        self,
        columns: Columns,
        lams: Sequence[float] | None = None,
        *,
        dev: Columns | None = None,
        n: int = 10,
        ratio: float | None = None,
    ) -> Iterator[PathPoint]:
        """Models along a decreasing grid of ``lam``, each started from the one before, and scored on ``dev`` if given.

        The grid has ``n`` strengths, down to ``ratio`` times the first; by default to a hundredth of it, or to 0.5 if
        that is less: the strongest λ grows with the text, and the best hardly does.

        During the iteration, the tagger itself is the model of the current point: it can be saved or used.
        """
        return path_points(self, columns, lams, dev, n, ratio)

    def keep(
        self,
        problem: Problem,
        penalty: Penalty,
        solution: Solution,
        seconds: float,
        best: Vector | None = None,
    ) -> None:
        """Become the model that a solver found, or the ``best`` on the way to it."""
        self.labels_, self.encoding_ = problem.labels, problem.encoding
        weights = problem.weights(solution.w if best is None else best)
        self._keep(weights.rounded(self.precision), problem)
        data, labels = problem.data, problem.data.labels
        assert labels is not None
        counts = np.bincount(labels[labels >= 0], minlength=len(self.labels_))
        self.facts_ = {
            "method": self.method,
            "sentences": len(data),
            "tokens": data.n_tokens,
            "labels": len(self.labels_),
            "label_counts": dict(zip(self.labels_, counts.tolist())),
            "label_scheme": problem.scheme,
            "observations": data.unigrams.n + data.bigrams.n,
            "observations_by_pattern": problem.seen,
            "selected": problem.selected,
            "parameters": problem.loss.n_params,
            "active": self.weights_.n_active,
            "penalty": "none" if solution.solver in ("perceptron", "pa") else penalty.describe(),
            "solver": solution.solver,
            "iterations": solution.n_iter,
            "objective": solution.objective,
            "gap": solution.proven_gap,
            "violation": solution.violation,
            "converged": solution.converged,
            "interrupted": solution.interrupted,
            "seconds": seconds,
            "tokens_per_second": data.n_tokens / max(seconds, 1e-9),
        }

    def _keep(self, weights: ChainWeights, of: Problem | None = None) -> None:
        """Keep these weights, and only the observations that have any."""
        extractor = self.extractor_ if of is None else of.extractor
        used = weights.used()
        if not all(mask.all() for mask in used):
            extractor, weights = extractor.keep(*used), weights.kept(*used)
        self.extractor_, self.weights_ = extractor, weights

    def prune(self, tau: float, rule: Literal["interval", "positive"] = "interval") -> Self:
        """Set all weights within ±tau (``"positive"``: below tau) to zero permanently, without retraining."""
        self.check_fitted()
        self._keep(ChainWeights.of(threshold(self.weights_.full(), tau, rule), self.weights_.shape))
        self.facts_["active"] = self.weights_.n_active
        return self

    # -- reading --------------------------------------------------------------------------------------

    def strongest(
        self, k: int = 10, by: str = "label", *, against: bool = False
    ) -> dict[str, list[tuple[str, float]]]:
        """The ``k`` observations with the largest weights for each label, or for each pattern (``by="pattern"``).

        With ``against``, those that speak against each label: the lowest weights, below 0, the lowest first.
        """
        self.check_fitted()
        return learned.strongest(self.weights_, self.extractor_, self.labels_, k, by, against)

    def transitions(self, k: int = 10) -> tuple[list[learned.Transition], list[learned.Transition]]:
        """The pairs of labels with the largest and the smallest bigram weights: observation, before, label, weight."""
        self.check_fitted()
        return learned.transitions(self.weights_, self.extractor_, self.labels_, k)

    def active_by_pattern(self) -> dict[str, tuple[int, int]]:
        """For each pattern, the numbers of non-zero unigram and bigram weights."""
        self.check_fitted()
        return learned.active_by_pattern(self.weights_, self.extractor_)

    def orphans(self) -> tuple[int, int]:
        """Active bigram weights λ(y', y, x) that have a unigram μ(y, x) beside them; those of them where it is zero."""
        self.check_fitted()
        return learned.orphans(self.weights_, self.extractor_)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels as they are given, sorted: what scikit-learn calls the classes of a classifier."""
        return np.array(sorted(self.written_labels), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.target_tags.required = True
        return tags

    # -- the contract of models -----------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The facts about the fit."""
        self.check_fitted()
        return self.facts_

    def contents(self) -> Contents:
        """What the tagger keeps in its file."""
        self.check_fitted()
        return contents_of(self)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The tagger that a file holds."""
        tagger = cls()
        restore(tagger, file)
        return tagger

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.tagging.views import summary_views

        return Views(summary_views(self))

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, the strongest observations and transitions, and active weights by pattern."""
        from spinney.tagging.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What the page of the tagger shows; with data, sentences that it labels, and scores if they are labelled."""
        from spinney.tagging.report import report

        self.check_fitted()
        return Views(report(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Labels for the sentences of a file, or for sentences in memory."""
        from spinney.tagging.scoring import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def plot_confusion(
        self, data: Any, settings: Settings | None = None, *, ax: Any = None, **given: Any
    ) -> Any:
        """Draw which labels of tokens are taken for which, with Matplotlib (extra ``plots``).

        Takes what :meth:`evaluate` takes, and returns the axes.
        """
        from spinney.tagging.scoring import confusion

        return plot_confusion(confusion(self, data, settings_or(Evaluate, settings, given)), ax)

    def plot_path(self, ax: Any = None) -> Any:
        """Draw the score at each strength that ``fit`` tried, with Matplotlib (extra ``plots``); returns the axes.

        For the weights along a path, see :meth:`spinney.tagging.TaggerPath.plot_path`.
        """
        self.check_fitted()
        return plot_choice(how_chosen(self.facts_.get("tried"), chosen=self.lam), ax)

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Errors and phrase scores on labelled sentences: files, or (sentences, labels)."""
        from spinney.tagging.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why tokens have their labels: what speaks for each, and what for the next best label."""
        from spinney.tagging.explaining import explained

        self.check_fitted()
        return Views(explained(self, data, settings_or(Explain, settings, given)))
