"""The strength of a tagger's penalty, where none is given: chosen by the error on held-out sentences.

Several folds are several fits at each strength, which a cluster does side by side; threads share the work of each fit.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.errors import SettingError
from spinney.evaluate.significance import clearly_fewer
from spinney.inference.decoding import marginals
from spinney.optim import lambda_max
from spinney.optim.base import Vector
from spinney.parallel import Kept, Pure, Visit, in_order
from spinney.tagging.columns import Columns
from spinney.tagging.methods import tolerance_of
from spinney.tagging.paths import path_point
from spinney.tagging.problem import Problem
from spinney.tagging.tagger import Tagger

FALL = 10**-0.5  # from one strength to the next
RIDGE = 10.0  # the first strength of a ridge,
SHARE = 0.03  # and that of other penalties, as a share of the one for which the model is empty
WORSE = 2  # strengths in a row that are not chosen before the search ends
MOST = 12  # strengths tried
#: Of the sentences, at least and at most: what is not learned from can be tested on.
HELD_OUT = 0.2, 1 / 3
#: Sentences are cut into so many runs of neighbours, which are held out whole. A sentence by itself would have others
#: of its own text among those that are learned from, with the same names: then learning by heart pays, and strengths
#: that are too weak win.
RUNS = 100
#: Of fewer sentences, a fifth says too little: all of them are held out in turn, in so many parts.
FEW, FOLDS = 300, 5
SLIGHTLY = 0.02  # so many more errors, as a share, are worth a stronger penalty
LEAST = 1e-10  # a probability counts as no less than this
LEARN_FROM, TEST_ON = 2000, 4000  # sentences at most
#: How well a model is solved for its score: proven to 20 %, the objective of a sparse one is some 0.01 % above the
#: optimum; a ridge proves what it has.
ROUGHLY = {"l1": 0.2, "elasticnet": 0.2, "l2": 0.05}


class Choice(NamedTuple):
    """The chosen strength, what was tried, and on how many sentences."""

    lam: float
    tried: list[dict[str, Any]]
    learned_from: int
    tested_on: int
    folds: int = 1
    l2: float | None = None  # of an elastic net, where it was chosen, too

    def __str__(self) -> str:
        found, strengths = f"λ = {self.lam:.3g}", ", ".join(f"{row['lam']:.3g}" for row in self.tried)
        if self.l2 is not None:
            found += f" and l2 = {self.l2:.3g}"
            strengths = f"{len(self.tried)} pairs with l2 of " + ", ".join(
                f"{l2:.3g}" for l2 in dict.fromkeys(row["l2"] for row in self.tried)
            )
        how = f"on {self.tested_on} held-out sentences after training on {self.learned_from}"
        if self.folds > 1:
            how = f"of {self.folds}-fold cross-validation on {self.tested_on} sentences"
        return f"{found}, of {strengths}, by the token error {how}"


class _Fold(NamedTuple):
    train: Columns
    test: Columns


class _Row(NamedTuple):
    """A strength that was tried: what there is to tell of it, and the number of errors in each sentence."""

    told: dict[str, Any]
    errors: NDArray[np.int64]


def choose_strength(
    tagger: Tagger,
    columns: Columns,
    dev: Columns | None = None,
    cv: int | None = None,
    *,
    lam: float | None = None,
    l2s: Sequence[float] = (),
) -> Choice | None:
    """The strength with the lowest token error on held-out sentences; None for too few sentences.

    Of those that err about as often, it is the one with the lowest loss. About as often is within a standard error of
    the difference, or a fiftieth more: a few tokens more or less are chance, and weak strengths take long.

    Strengths fall by half powers of ten until two in a row have no lower error, or are not chosen; where the first is
    the best, they rise. Sentences that are held out are those of ``dev`` or, in turn, each of ``cv`` parts, made of
    runs of neighbouring sentences, which mostly come from one text. By default, a fifth to a third is held out once;
    fewer than 300 sentences are cross-validated in five parts. At most 2,000 sentences are learned from: with a loss
    summed over sentences, the best strength hardly depends on their number.

    With ``l2s``, this is done for each of these strengths of the ridge, and the best pair is taken (Sokolovska's ρ₁ and
    ρ₂ are ``lam`` and ``l2``); a ``lam`` that is given stays as it is.

    Examples
    --------
    >>> rows = [[("the", "D"), ("dog", "N"), ("barks", "V")], [("a", "D"), ("cat", "N"), ("sleeps", "V")]] * 10
    >>> choice = choose_strength(Tagger(patterns="U:%x[0,0]\\nB"), Columns.from_sentences(rows))
    >>> choice.folds, choice.learned_from, choice.tested_on
    (5, 16, 20)
    """
    folds = _folds(columns, dev, cv)
    if not folds:
        return None
    tried: list[_Row] = []
    with progress.task("choosing the strength", MOST * max(len(l2s), 1)) as task:
        for l2 in l2s or (None,):
            one = tagger if l2 is None else Tagger(**tagger.get_params(deep=False) | {"l2": l2})
            rows = _searched(one, folds, lam, task)
            tried += rows if l2 is None else [_Row(row.told | {"l2": l2}, row.errors) for row in rows]
    if not tried:
        return None
    best = tried[_best(tried)].told
    lam = float(f"{best['lam']:.3g}") if lam is None else lam  # a number that can be read, and given again
    tested = sum(len(fold.test) for fold in folds)
    told = [row.told for row in tried]
    return Choice(lam, told, len(folds[0].train), tested, len(folds), best["l2"] if l2s else None)


def _searched(tagger: Tagger, folds: list[_Fold], lam: float | None, task: Any) -> list[_Row]:
    """The strengths that were tried, the largest first; nothing if even the weakest penalty empties the model."""
    if lam is not None:
        return list(_points(tagger, folds, [lam], task))
    first = RIDGE
    if tagger.penalty != "l2":
        problem = tagger.problem(folds[0].train)
        first = SHARE * lambda_max(problem.loss, problem.penalty)
        if not first > 0:
            return []
    tried: list[_Row] = []
    for row in _points(tagger, folds, [first * FALL**k for k in range(MOST)], task):
        tried.append(row)
        before = len(tried) - WORSE
        if before > 0 and (_best(tried) < before or _lowest(tried[:before]) <= _lowest(tried[before:])):
            break
    while _best(tried) == 0 and len(tried) < MOST:
        (row,) = _points(tagger, folds, [tried[0].told["lam"] / FALL], task)
        tried.insert(0, row)
    return tried


def _folds(columns: Columns, dev: Columns | None, cv: int | None) -> list[_Fold]:
    """The sentences to learn from and those to test on, once or several times; nothing if there are too few."""
    n, rng = len(columns), np.random.default_rng(0)
    if dev is not None:
        test = taken(dev, np.arange(min(len(dev), TEST_ON)))
        return [_Fold(taken(columns, rng.permutation(n)[:LEARN_FROM]), test)]
    if cv is None and n < FEW:
        cv = min(FOLDS, n)
    if cv is not None and cv > n:
        raise SettingError("{cv} parts of {n} sentences: give fewer", n=n)
    if n < 3:
        return []
    runs = np.array_split(np.arange(n), min(max(RUNS, RUNS // 10 * (cv or 0)), n))
    order = rng.permutation(len(runs))
    share = float(np.clip(1 - LEARN_FROM / n, *HELD_OUT))
    folds = []
    for mine in np.array_split(order, cv) if cv else [order[: round(share * len(runs))]]:
        others = np.delete(np.arange(n), np.concatenate([runs[i] for i in mine]))
        held_out = np.concatenate([_middle(runs[i], max(1, TEST_ON // len(mine))) for i in mine])
        folds.append(_Fold(taken(columns, rng.permutation(others)[:LEARN_FROM]), taken(columns, held_out)))
    return folds


def _middle(run: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """So many sentences of a run at most, those that are farthest from its neighbours."""
    start = max(0, (len(run) - most) // 2)
    return run[start : start + most]


def _points(tagger: Tagger, folds: list[_Fold], lams: list[float], task: Any) -> Iterator[_Row]:
    """The strengths one by one, with the error and the loss over the tokens of all folds."""
    alone: dict[str, Any] = {"patience": None, "criterion": None, "criterion_strength": None}
    if isinstance(tagger.penalty, str) and tagger.penalty in ROUGHLY:
        alone["tol"] = max(tolerance_of(tagger), ROUGHLY[tagger.penalty])
    own = Tagger(**tagger.get_params(deep=False) | alone)
    kept = [Kept((own, own.problem(fold.train), fold.test)) for fold in folds]
    weights = [np.zeros(one.value[1].loss.n_params) for one in kept]
    n_tokens = np.array([fold.test.n_tokens for fold in folds])
    for lam in lams:
        visits = [Visit(one, w) for one, w in zip(kept, weights)]
        step = Pure(_step, lam)
        # The work of one fit by itself is shared in other ways, on a cluster, too.
        found = list(in_order(step, visits, 1) if len(folds) > 1 else map(step, visits))
        task.update(1)
        rows, weights = [one.row.told for one in found], [one.w for one in found]
        errors = np.concatenate([one.row.errors for one in found])
        over_tokens = {
            name: float(n_tokens @ [row[name] for row in rows] / n_tokens.sum())
            for name in ("token_error", "loss")
        }
        yield _Row(rows[0] | over_tokens if len(folds) > 1 else rows[0], errors)
        if any(one.interrupted for one in found):
            return


class _Tried(NamedTuple):
    """A fold at one strength: its row, and where the next strength starts."""

    row: _Row
    w: Vector
    interrupted: bool


def _step(lam: float, fold: tuple[Tagger, Problem, Columns], w: Vector) -> _Tried:
    """One more strength of a fold: a pure function."""
    tagger, problem, test = fold
    point, solution = path_point(copy.copy(tagger), problem, lam, w, test)
    row = point.row() | {"loss": token_loss(point.tagger, test)}
    return _Tried(_Row(row, sentence_errors(point.tagger, test)), solution.w, solution.interrupted)


def _best(tried: list[_Row]) -> int:
    """The number of the lowest loss among the strengths that err about as seldom as the best."""
    errors = np.array([row.errors for row in tried])
    fewest = int(np.argmin(errors.sum(axis=1)))
    enough = (1 + SLIGHTLY) * errors[fewest].sum()
    good = [i for i in range(len(tried)) if errors[i].sum() <= enough or not clearly_fewer(errors, i)[fewest]]
    return min(good, key=lambda i: (tried[i].told["loss"], tried[i].told["token_error"]))


def _lowest(tried: list[_Row]) -> float:
    return min(float(row.told["token_error"]) for row in tried)


def sentence_errors(tagger: Tagger, columns: Columns) -> NDArray[np.int64]:
    """The number of wrong labels in each sentence.

    Examples
    --------
    >>> rows = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "V")]]
    >>> tagger = Tagger("U:%x[0,0]\\nB").fit([[("the",), ("dog",), ("cat",)]], [["D", "N", "N"]])
    >>> sentence_errors(tagger, Columns.from_sentences(rows)).tolist()
    [0, 1]
    """
    texts = np.array(list(columns.pool), dtype=object)
    gold = texts[columns.symbols[-1]]
    found = tagger.in_scheme_of(columns, tagger.label_columns(columns.without_last()))
    bounds = columns.offsets.tolist()
    wrong = (
        np.count_nonzero(gold[a:b] != np.array(labels, dtype=object))
        for (a, b), labels in zip(pairwise(bounds), found)
    )
    return np.fromiter(wrong, np.int64, len(columns))


def token_loss(tagger: Tagger, columns: Columns) -> float:
    """The mean of −log p(label) over the tokens whose label the tagger knows, by its marginal probabilities."""
    if tagger.encoding_ is not None:
        columns = tagger.encoding_.encoded(columns)
    number = {name: i for i, name in enumerate(tagger.labels_)}
    gold = np.array([number.get(text, -1) for text in columns.pool])[columns.symbols[-1]]
    found = [
        marginals(chains, threads=tagger.threads)[0] for chains in tagger.chains_of(columns.without_last())
    ]
    known = np.flatnonzero(gold >= 0)
    if not known.size:
        return 0.0
    return float(-np.mean(np.log(np.maximum(np.concatenate(found)[known, gold[known]], LEAST))))


def taken(columns: Columns, sentences: NDArray[np.int64]) -> Columns:
    """Some of the sentences, in this order.

    Examples
    --------
    >>> columns = Columns.from_sentences([[("a",), ("b",)], [("c",)]])
    >>> taken(columns, np.array([1])).strings(0)
    ['c']
    """
    lengths = np.diff(columns.offsets)[sentences]
    ends = np.cumsum(lengths)
    tokens = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        columns.offsets[sentences] - ends + lengths, lengths
    )
    return Columns(np.concatenate([[0], ends]), columns.symbols[:, tokens], columns.pool)
