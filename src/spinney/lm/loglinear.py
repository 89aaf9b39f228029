"""Log-linear language models on the suffix trie, with tree norms (Nelakanti 2014, chapters 2 and 3).

P(v | x) ∝ exp Σ_k β(k) w_v[x_k] over the suffixes x_k of the context x, with w ≥ 0: a weight for each gram. Every
back-off model is such a model (θ = log p(gram) − log bow(context) − log p(parent gram), and Z(x) = Z(x')/bow(x)), so
training starts from Kneser-Ney and only has to improve on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import OptionError, unknown_choice
from spinney.files import ModelFile, Parts
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.storedtrie import stored_trie, trie_header, trie_tensors
from spinney.lm.stream import Ids, Stream, refuse_marks, stream_of
from spinney.lm.suffixloss import SuffixTrieLoss, normalise, silent_symbols, word_scale
from spinney.lm.suffixtrie import Counts, SuffixTrie, suffix_trie
from spinney.lm.trie_kneser_ney import trie_kneser_ney
from spinney.lm.triepenalty import COLLAPSIBLE, trie_penalty, trie_spec
from spinney.optim import NonNegative, Penalty, PenaltySpec, Solution, solve, warn_unless_converged

_LARGEST_SCORE = 600.0  # its exponential is still finite
_LOOK = 10  # iterations between two checks of the certificate, each of which costs a gradient

SolverName = Literal["words", "fista", "ista", "sage"]
Law = Literal["power", "linear", "log"]
Start = Literal["kneser-ney", "zero"]


class TrieScores:
    """The scores θ of the grams of a trie, ready for queries: normalisers and hash tables are computed once.

    Parameters
    ----------
    trie
        Without grams that do not matter.
    theta
        By how much each gram raises the score of its symbol.
    text
        The stream in which the symbols of collapsed nodes are read; may be empty without such nodes.
    root_sizes
        How many symbols each root chooses from.
    """

    def __init__(self, trie: SuffixTrie, theta: Vector, text: Ids, root_sizes: Ids | None = None) -> None:
        self.trie, self.theta, self.text = trie, theta, text
        self.root_sizes = root_sizes
        self.e, self.Z = np.empty(trie.n_grams), np.empty(trie.n_contexts)
        self.silent_e = normalise(trie, theta, silent_symbols(trie, root_sizes), self.e, self.Z)

    def logprobs(self, ids: Ids, position: Counts, room: Ids, root: Ids, outcome: Ids) -> tuple[Vector, Ids]:
        """The log-probability of each event, and the length of the context that it matches."""
        from spinney.lm._loglinear_kernels import event_scores

        t = self.trie
        logs, matches = np.empty(len(position)), np.empty(len(position), np.int32)
        event_scores(
            ids, position, room, root, outcome, t.parent, t.depth, t.length, t.place, self.text, t.gram_ptr, t.up,
            self.theta, self.e, self.Z, self.silent_e, *t.context_table, *t.gram_table, t.n_symbols, t.n_outcomes,
            logs, matches,
        )  # fmt: skip
        return logs, matches

    def way(self, history: Ids, room: int, root: int = 0) -> tuple[list[int], int]:
        """The contexts that the last ``room`` symbols of a history match, the empty one first; how much of the last.

        The last may be a collapsed node, of whose symbols the history matches only some.
        """
        from spinney.lm._loglinear_kernels import match

        t = self.trie
        u, matched = match(
            history, len(history), room, np.int32(root), t.length, t.place, self.text,
            *t.context_table, t.n_symbols,
        )  # fmt: skip
        way = [int(u)]
        while t.parent[way[-1]] >= 0:
            way.append(int(t.parent[way[-1]]))
        return way[::-1], int(matched)

    def distribution(self, history: Ids, room: int, root: int = 0) -> Vector:
        """The probability of each outcome after the last ``room`` symbols of a history."""
        t = self.trie
        way, matched = self.way(history, room, root)
        u = way[-1]
        size = t.n_outcomes if self.root_sizes is None else int(self.root_sizes[root])
        scores = np.full(size, self.silent_e[root])
        for node in way:
            grams = slice(t.gram_ptr[node], t.gram_ptr[node + 1])
            if node == u and matched < t.length[u]:
                share = matched / t.length[u]
                scores[t.symbol[grams]] = self.e[t.up[grams]] * np.exp(self.theta[grams] * share)
            else:
                scores[t.symbol[grams]] = self.e[grams]
        return np.asarray(scores / scores.sum())


@dataclass(repr=False, eq=False)
class LogLinearModel(LanguageModel):
    """A fitted log-linear model; :func:`fit_loglinear` makes one.

    Attributes
    ----------
    trie : SuffixTrie
        Contexts and grams with a weight, and those on the way to them.
    theta : array [grams]
        By how much each gram raises the score of its word.
    """

    kind: ClassVar[str] = "lm/LogLinearModel"

    vocabulary: Vocabulary
    trie: SuffixTrie
    theta: Vector
    text: Ids
    order: int | None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def n_parameters(self) -> int:
        """Grams with a weight."""
        return int(np.count_nonzero(self.theta))

    @cached_property
    def _scores(self) -> TrieScores:
        return TrieScores(self.trie, self.theta, self.text)

    def event_logprobs(self, stream: Stream) -> Vector:
        return self._asked(stream)[0]

    def match_depths(self, stream: Stream) -> Ids:
        return self._asked(stream)[1]

    def _asked(self, stream: Stream) -> tuple[Vector, Ids]:
        events = stream.events
        nought = np.zeros(len(events), np.int32)
        return self._scores.logprobs(stream.ids, events, stream.room[events], nought, stream.ids[events])

    def distribution(self, history: Ids) -> Vector:
        return self._scores.distribution(*sentence_so_far(history, self.start))

    def active_scores(self, history: Ids, word: int) -> Iterator[tuple[int, float]]:
        """By how much each suffix of a history raises the score of a word: its length in symbols, and the score."""
        t = self.trie
        way, matched = self._scores.way(*sentence_so_far(history, self.start))
        for node in way:
            grams = slice(int(t.gram_ptr[node]), int(t.gram_ptr[node + 1]))
            here = np.flatnonzero(t.symbol[grams] == word)
            length = int(t.length[node])
            partly = node == way[-1] and matched < length
            score = (
                float(self.theta[grams][here[0]]) * (matched / length if partly else 1.0)
                if len(here)
                else 0.0
            )
            if score:
                depth = int(t.depth[node])
                yield depth - (length - matched) if partly else depth, score

    def parts(self) -> Parts:
        header = {**trie_header(self.trie), "order": self.order}
        return Parts(header, {**trie_tensors(self.trie), "theta": single(self.theta), "text": self.text}, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        trie, theta, text = stored_scores(file)
        if (
            trie.n_outcomes != len(vocabulary) + 1
            or trie.n_symbols != len(vocabulary) + 2
            or trie.parent[1:].min(initial=0) < 0
        ):
            raise file.error("damaged: the contexts do not match the vocabulary")
        order = file.header.get("order")
        return cls(vocabulary, trie, theta, text, order if isinstance(order, int) else None)


def stored_scores(file: ModelFile) -> tuple[SuffixTrie, Vector, Ids]:
    """The trie, the scores of its grams, and the text of its collapsed nodes, out of a file."""
    from spinney.lm._loglinear_kernels import sums_from_ancestors

    text, kept = file.tensor("text", np.int32).copy(), file.tensor("theta")
    if kept.dtype not in (np.float32, np.float64):  # those of earlier versions are in double precision
        raise file.error("damaged: the weights are not numbers")
    theta = kept.astype(np.float64)
    trie = stored_trie(file, text)
    if len(theta) != trie.n_grams or not np.all((theta >= 0) & (theta < _LARGEST_SCORE)):
        raise file.error("damaged: the weights do not match the contexts")
    total = theta.copy()
    sums_from_ancestors(total, trie.up)
    if np.any(total > _LARGEST_SCORE):
        raise file.error("damaged: a weight is too large")
    return trie, theta, text


def single(theta: Vector) -> NDArray[np.float32]:
    """The scores as a file keeps them: half the bytes, and a perplexity that differs by less than 1e-6 of itself."""
    return theta.astype(np.float32)


def sentence_so_far(history: Ids, start: int) -> tuple[Ids, int]:
    """A history, and how many of its last symbols belong to the sentence."""
    history = np.ascontiguousarray(history, np.int32)
    starts = np.flatnonzero(history == start)
    return history, len(history) - int(starts[-1]) if starts.size else len(history)


class Plan(NamedTuple):
    """What to train: the trie, the loss, the weights of the groups, and where to start."""

    trie: SuffixTrie
    loss: SuffixTrieLoss
    group_weight: Vector
    w0: Vector

    def penalty(self, spec: PenaltySpec) -> Penalty:
        """The penalty on the grams."""
        return trie_penalty(spec, self.trie, self.group_weight)


def fit_loglinear(
    text: TokenArrays,
    order: int | None = 5,
    *,
    penalty: str | PenaltySpec | Callable[[SuffixTrie], Penalty] = "tree-l2",
    lam: float = 0.7,
    alpha: float = 1.1,
    law: Law = "power",
    group_factor: float = 1.0,
    solver: SolverName | None = None,
    collapse: bool | None = None,
    start: Start = "kneser-ney",
    tol: float = 1e-4,
    max_iter: int = 5000,
    **options: Any,
) -> LogLinearModel:
    """Learn a log-linear model from text.

    Parameters
    ----------
    text
        Sentences.
    order
        Maximum number of words in a gram; None for contexts as long as the sentence (needs a penalty that can be
        collapsed and ``alpha=1``, unless the text is small).
    penalty
        A name in :data:`spinney.optim.PENALTIES` for single weights (``"l1"``, ``"l2"``, ``"none"``, …) or for a tree
        of them (``"tree-l2"``, ``"tree-linf"``); or a function that makes any penalty of :mod:`spinney.optim` for the
        weights of the grams of a trie, with a strength of its own (then ``lam`` and ``group_factor`` do not matter).
        In any case w ≥ 0.
    lam
        Its strength, for the sum of the losses of all events; Nelakanti (2014) divides both by their number.
    alpha, law
        A context of k symbols is a feature of value β(k): see :func:`feature_values`.
    group_factor
        The group of a gram of k symbols before its word is weighted by ``group_factor ** k``.
    solver
        ``"words"`` (FISTA with a step for each word; the default wherever the penalty has a prox for it), or as in the
        thesis ``"fista"``, ``"ista"`` and ``"sage"``.
    collapse
        Whether contexts that always occur together share a weight (Nelakanti's M_v). By default where that loses
        nothing: for ``tree-linf``, ``l1`` and ``l2`` with ``alpha=1`` and the solver ``words``.
    start
        Where training begins. The problem is convex, so the optimum is the same; a fit that is stopped early is not.
    tol, max_iter
        When to stop: see :func:`spinney.optim.solve`. The violation of ``"words"`` is that of each gram over √D of its
        word (:func:`spinney.lm.suffixloss.word_scale`), relative to the largest at w = 0.
    **options
        For the solvers of :mod:`spinney.optim`, such as ``batch`` of ``sage``.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"]])
    >>> model = fit_loglinear(text, 3, lam=0.1)
    >>> [(word, round(p, 2)) for word, p in model.next_words(["a"], 2)]
    [('rose', 0.92), ('a', 0.03)]
    """
    by_name = isinstance(penalty, str | PenaltySpec)
    spec = trie_spec(penalty, lam) if by_name else None  # type: ignore[arg-type]
    together = collapses(spec.name if spec else "", alpha, group_factor, collapse, solver)
    plan = _plan(text, order, alpha, law, group_factor, together, start)
    made = plan.penalty(spec) if spec else NonNegative(penalty(plan.trie))  # type: ignore[operator]
    solution = solved(plan, made, solver, tol, max_iter, plan.w0, options)
    warn_unless_converged(solution, tol)
    settings = {
        "penalty": spec.name if spec else made.describe(), "lam": made.lam, "alpha": alpha, "law": law,
        "group_factor": group_factor, "solver": solution.solver,
    }  # fmt: skip
    return _model(text, order, plan, solution, settings)


def fit_loglinear_path(
    text: TokenArrays,
    held_out: TokenArrays,
    order: int | None = 5,
    *,
    lams: Sequence[float] = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35),
    alphas: Sequence[float] = (1.1,),
    penalty: str | PenaltySpec = "tree-l2",
    law: Law = "power",
    group_factor: float = 1.0,
    solver: SolverName | None = None,
    collapse: bool | None = None,
    start: Start = "kneser-ney",
    tol: float = 1e-4,
    max_iter: int = 5000,
    **options: Any,
) -> tuple[LogLinearModel, list[dict[str, float]]]:
    """Try strengths from the strongest down, each starting from the last solution, and keep the best on held-out text.

    Returns the model and a row for each point: ``lam``, ``alpha``, ``perplexity``, ``parameters``, ``seconds``. For
    each ``alpha`` the path ends when two consecutive strengths bring no improvement.
    """
    if not lams or not alphas:
        raise OptionError("a path needs at least one strength and one α")
    spec = trie_spec(penalty, lams[0])
    best: LogLinearModel | None = None
    of_best: Solution | None = None
    table: list[dict[str, float]] = []
    lowest = np.inf
    for alpha in alphas:
        together = collapses(spec.name, alpha, group_factor, collapse, solver)
        plan = _plan(text, order, alpha, law, group_factor, together, start)
        w, worse, before = plan.w0, 0, np.inf
        for lam in sorted(lams, reverse=True):
            solution = solved(plan, plan.penalty(replace(spec, lam=lam)), solver, tol, max_iter, w, options)
            w = solution.w
            settings = {
                "penalty": spec.name, "lam": lam, "alpha": alpha, "law": law,
                "group_factor": group_factor, "solver": solution.solver,
            }  # fmt: skip
            model = _model(text, order, plan, solution, settings)
            perplexity = model.perplexity(held_out).perplexity
            table.append(
                {"lam": lam, "alpha": alpha, "perplexity": perplexity, "parameters": model.n_parameters,
                 "seconds": solution.seconds}
            )  # fmt: skip
            if best is None or perplexity < lowest:
                best, of_best, lowest = model, solution, perplexity
            if solution.interrupted:
                best.facts["interrupted"] = True
                return best, table
            worse = worse + 1 if perplexity > before else 0
            before = min(before, perplexity)
            if worse == 2:
                break
    assert best is not None
    assert of_best is not None
    warn_unless_converged(of_best, tol)
    best.facts["held_out_perplexity"] = lowest
    return best, table


def _plan(
    text: TokenArrays,
    order: int | None,
    alpha: float,
    law: Law,
    group_factor: float,
    collapse: bool,
    start: Start,
) -> Plan:
    if order is not None and order < 1:
        raise OptionError(f"the order must be at least 1, not {order}")
    refuse_marks(text)
    stream = stream_of(text)
    max_context = None if order is None else order - 1
    trie = suffix_trie(stream, len(text.vocabulary), max_context, collapse=collapse)
    return planned(trie, alpha, law, group_factor, start)


def collapses(
    penalty: str, alpha: float, group_factor: float, collapse: bool | None, solver: SolverName | None
) -> bool:
    """Whether contexts that always occur together share a weight."""
    if not alpha > 0 or not group_factor > 0:
        raise OptionError("alpha and group_factor must be above 0")
    fits = penalty in COLLAPSIBLE and alpha == 1 and group_factor == 1
    if collapse and not fits:
        raise OptionError(
            f"contexts cannot share a weight under {penalty} with alpha = {alpha:g} and group_factor = "
            f"{group_factor:g}: their features or groups differ"
        )
    return (fits and solver in (None, "words")) if collapse is None else collapse


def feature_values(k: Vector, alpha: float, law: Law = "power") -> Vector:
    """β(k), the value of a context of k symbols as a feature (Nelakanti 2014, 3.5.4).

    ``"power"`` is the thesis's α^k. It names a linear and a shifted logarithmic law as well, without a formula; here
    they are 1 + (α − 1)·k and 1 + (α − 1)·ln(1 + k). With α = 1 all contexts count the same.

    Examples
    --------
    >>> for law in ("power", "linear", "log"):
    ...     print(law, feature_values(np.arange(4.0), 1.5, law).round(2))
    power [1.   1.5  2.25 3.38]
    linear [1.  1.5 2.  2.5]
    log [1.   1.35 1.55 1.69]
    """
    if law not in get_args(Law):
        raise unknown_choice("law must be", law, get_args(Law))
    with np.errstate(over="ignore"):
        if law == "power":
            values = alpha**k
        else:
            values = 1 + (alpha - 1) * (k if law == "linear" else np.log1p(k))
    if values.size and not (values.min() > 1e-30 and values.max() < 1e30):
        longest = int(k.max())
        raise OptionError(
            f"alpha = {alpha:g} is too far from 1: with the law {law}, contexts of up to {longest} symbols would have "
            f"values from {values.min():.3g} to {values.max():.3g}"
        )
    return values


def planned(
    trie: SuffixTrie,
    alpha: float,
    law: Law,
    group_factor: float,
    start: Start,
    root_sizes: Ids | None = None,
) -> Plan:
    """What to train on a trie."""
    if start not in get_args(Start):
        raise unknown_choice("start must be", start, get_args(Start))
    depth = trie.depth[trie.context].astype(np.float64)
    # nodes are only collapsed if α is 1
    feature = trie.length[trie.context] * feature_values(depth, alpha, law)
    loss = SuffixTrieLoss(trie, feature, root_sizes)
    w0 = np.zeros(trie.n_grams) if start == "zero" else starting_scores(trie, root_sizes) / feature
    return Plan(trie, loss, group_factor**depth, w0)


def starting_scores(trie: SuffixTrie, root_sizes: Ids | None = None) -> Vector:
    """θ of modified Kneser-Ney on a trie: the log-linear model that it is."""
    smoothed = trie_kneser_ney(trie, root_sizes, warn=False)
    # Discounts may be 0 where the text is tiny: then nothing is left for what was not seen.
    kept_back = np.maximum(smoothed.weight, 1e-3)[trie.context]
    return np.maximum(np.log(smoothed.p / (kept_back * smoothed.lower)), 0.0)


def solved(
    plan: Plan,
    penalty: Penalty,
    solver: SolverName | None,
    tol: float,
    max_iter: int,
    w0: Vector,
    options: Mapping[str, Any],
) -> Solution:
    """The weights of the grams, by the solver of that name."""
    name = solver or ("words" if penalty.takes_metric else "fista")
    how: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "w0": w0, **options}
    copies = plan.trie.length[plan.trie.context].astype(np.float64)
    if name == "words":
        of_word = word_scale(plan.loss)
        unit = copies * np.sqrt(of_word)  # for the residual of one context of each gram
        # Of the gradient at w = 0 only what pushes upwards counts: weights cannot fall below.
        rising = np.maximum(-plan.loss.value_and_grad(np.zeros(plan.loss.n_params))[1], 0.0)
        scale = max(float(np.max(rising / unit, initial=0.0)), 1e-300)
        how |= {"metric": of_word * copies, "unit": unit, "scale": scale, "check_every": _LOOK}
        return replace(solve(plan.loss, penalty, "fista", **how), solver="words")
    if np.any(copies != 1):
        raise OptionError(f"the solver {name} needs the whole trie, not a collapsed one: give collapse=False")
    if name == "sage":
        how.setdefault("lipschitz", 0.1 * plan.loss.lipschitz_bound())
    return solve(plan.loss, penalty, name, **how)


def _model(
    text: TokenArrays, order: int | None, plan: Plan, solution: Solution, settings: dict[str, Any]
) -> LogLinearModel:
    trie, theta, labels = pruned(text, plan, solution)
    return LogLinearModel(
        text.vocabulary, trie, theta, labels, order, training_facts(text, order, plan, solution, settings)
    )


def pruned(text: TokenArrays, plan: Plan, solution: Solution) -> tuple[SuffixTrie, Vector, Ids]:
    """What a model keeps: the grams with a weight, their scores, and the text if collapsed nodes are read in it.

    Scores have the precision that a file has, so that a model that was saved and loaded is the same.
    """
    theta = single(plan.loss.feature * solution.w).astype(np.float64)
    trie, grams = plan.trie.kept(theta != 0)
    labels = stream_of(text).ids if trie.collapsed else np.empty(0, np.int32)
    return trie, theta[grams], labels


def training_facts(
    text: TokenArrays, order: int | None, plan: Plan, solution: Solution, settings: dict[str, Any]
) -> dict[str, Any]:
    """What a table of the fit shows."""
    return {
        **settings,
        "order": order,
        "sentences": len(text),
        "tokens": text.n_tokens,
        "words": len(text.vocabulary),
        "parameters": plan.trie.n_grams,
        "active": int(np.count_nonzero(solution.w)),
        "collapsed": plan.trie.collapsed,
        "objective": solution.objective,
        "gap": solution.proven_gap,
        "violation": solution.violation,
        "iterations": solution.n_iter,
        "converged": solution.converged,
        "interrupted": solution.interrupted,
        "seconds": solution.seconds,
    }
