"""The strength of a tagger's penalty, where none is given: chosen by the error on held-out sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.inference.decoding import marginals
from spinney.optim import lambda_max
from spinney.tagging.columns import Columns
from spinney.tagging.tagger import Tagger

FALL = 10**-0.5  # from one strength to the next
RIDGE = 10.0  # the first strength of a ridge,
SHARE = 0.03  # and that of other penalties, as a share of the one for which the model is empty
WORSE = 2  # strengths in a row without a lower error before the search ends
MOST = 12  # strengths tried
HELD_OUT = 0.1  # of the sentences
LEAST = 1e-10  # a probability counts as no less than this
LEARN_FROM, TEST_ON = 2000, 1000  # sentences at most


class Choice(NamedTuple):
    """The chosen strength, what was tried, and on how many sentences."""

    lam: float
    tried: list[dict[str, Any]]
    learned_from: int
    tested_on: int

    def __str__(self) -> str:
        strengths = ", ".join(f"{row['lam']:.3g}" for row in self.tried)
        return (
            f"λ = {self.lam:.3g}, of {strengths}, by the token error on {self.tested_on} held-out sentences after "
            f"training on {self.learned_from}"
        )


def choose_strength(tagger: Tagger, columns: Columns, dev: Columns | None = None) -> Choice | None:
    """The strength with the lowest token error on held-out sentences; of equals, the lowest loss. None for too few.

    Strengths fall by half powers of ten until the error has not fallen twice in a row; where the first is the best,
    they rise. Without ``dev``, a tenth of the sentences is held out. At most 2,000 sentences are learned from: with a
    loss summed over sentences, the best strength hardly depends on their number.

    Examples
    --------
    >>> rows = [[("the", "D"), ("dog", "N"), ("barks", "V")], [("a", "D"), ("cat", "N"), ("sleeps", "V")]] * 10
    >>> choice = choose_strength(Tagger(patterns="U:%x[0,0]\\nB"), Columns.from_sentences(rows))
    >>> choice.learned_from, choice.tested_on
    (18, 2)
    """
    order = np.random.default_rng(0).permutation(len(columns))
    if dev is None:
        held = max(int(HELD_OUT * len(columns)), 1)
        if len(columns) < 2 * held + 1:
            return None
        dev, columns = taken(columns, order[:held]), taken(columns, order[held:])
        order = np.arange(len(columns))
    columns = taken(columns, order[:LEARN_FROM])
    dev = taken(dev, np.arange(min(len(dev), TEST_ON)))
    first = RIDGE
    if tagger.penalty != "l2":
        problem = tagger.problem(columns)
        first = SHARE * lambda_max(problem.loss, problem.penalty)
        if not first > 0:
            return None
    tried: list[dict[str, Any]] = []
    with progress.task("choosing the strength", MOST) as task:
        for row in _points(tagger, columns, dev, [first * FALL**k for k in range(MOST)], task):
            tried.append(row)
            if len(tried) > WORSE and _lowest(tried[:-WORSE]) <= _lowest(tried[-WORSE:]):
                break
        while _best(tried) == 0 and len(tried) < MOST:
            (row,) = _points(tagger, columns, dev, [tried[0]["lam"] / FALL], task)
            tried.insert(0, row)
    lam = float(f"{tried[_best(tried)]['lam']:.3g}")  # a number that can be read, and given again
    return Choice(lam, tried, len(columns), len(dev))


def _points(
    tagger: Tagger, columns: Columns, dev: Columns, lams: list[float], task: Any
) -> Iterator[dict[str, Any]]:
    learner = Tagger(
        **tagger.get_params(deep=False) | {"patience": None, "criterion": None, "criterion_strength": None}
    )
    for point in learner.path(columns, lams, dev=dev):
        task.update(1)
        yield point.row() | {"loss": token_loss(point.tagger, dev)}


def _best(tried: list[dict[str, Any]]) -> int:
    """The number of the lowest token error; of equals, the lowest loss."""
    return min(range(len(tried)), key=lambda i: (tried[i]["token_error"], tried[i]["loss"]))


def _lowest(tried: list[dict[str, Any]]) -> float:
    return min(float(row["token_error"]) for row in tried)


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
