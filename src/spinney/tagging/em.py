"""Hidden Markov models that learn from unlabelled sentences as well, by EM from the counts of the labelled ones.

Sokolovska 2010, §4.1.2 (Alg. 6) surveys EM for generative models. Labels are hidden in the unlabelled sentences and
known in the others, whose counts are part of every M-step. EM often makes a good start worse (Merialdo 1994), so that
the number of passes is chosen on labelled sentences that are held out, and may be none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.evaluate.significance import clearly_best
from spinney.inference.decoding import viterbi
from spinney.tagging.hmm import HMM, Expected, counts_of, shares
from spinney.tagging.semisupervised import ENOUGH, PARTS, SUPERVISED
from spinney.tagging.sequences import Sequences

SMOOTHING = 0.1  # as for counts alone
MOST = 10  # passes that are tried

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Text:
    """Sentences of symbols, −1 for an unknown one, and their labels if they are known."""

    symbols: Ints
    offsets: Ints
    labels: Ints | None = None

    @classmethod
    def of(cls, data: Sequences) -> Text:
        """The text of sentences with one observation per token, or none."""
        symbols = np.full(data.n_tokens, -1, np.int64)
        symbols[np.diff(data.unigrams.ptr) == 1] = data.unigrams.ids
        return cls(symbols, data.offsets, None if data.labels is None else data.labels.astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def among(self, *others: Text) -> Text:
        """The same sentences, where symbols that none of the others has are unknown."""
        seen = np.isin(self.symbols, np.concatenate([other.symbols for other in others]))
        return replace(self, symbols=np.where(seen, self.symbols, -1))


def em(
    labelled: Text, unlabelled: Text, n_labels: int, n_symbols: int, *, weight: float = 1.0
) -> Iterator[HMM]:
    """The model that is counted in the labelled sentences, and that of each pass of EM over the unlabelled ones.

    An unlabelled sentence counts ``weight``. Symbols that only the unlabelled sentences have are unknown to the counted
    model; from the first pass on, their probabilities are those of the labels that they are expected to have. The
    others are smoothed as counts are. The probability of symbols that are still unknown is set in the first pass, to
    the share of tokens of each label whose symbol occurs nowhere else in either text. Each further pass raises the
    posterior log p(x, y) + ``weight``·log p(x') + log p(θ), where p(θ) is the Dirichlet law that smoothing stands for.

    Examples
    --------
    >>> labelled = Text(np.array([0, 1, 0, 2]), np.array([0, 2, 4]), np.array([0, 1, 0, 1]))
    >>> unlabelled = Text(np.array([0, 3, 0, 3]), np.array([0, 2, 4]))
    >>> [model.emission[:, 3].round(2).tolist() for _, model in zip(range(2), em(labelled, unlabelled, 2, 4))]
    [[0.02, 0.48], [0.0, 0.23]]
    """
    labels = _labels(labelled)
    is_known = np.bincount(labelled.symbols[labelled.symbols >= 0], minlength=n_symbols) > 0
    number = np.append(np.cumsum(is_known) - 1, -1)  # the last for symbol −1
    counted = HMM.fit(
        number[labelled.symbols], labelled.offsets, labels, n_labels, int(is_known.sum()), smoothing=SMOOTHING
    )
    known = counts_of(labelled.symbols, labelled.offsets, labels, n_labels, n_symbols)
    model, smooth = _with_new(counted, is_known), np.where(is_known, SMOOTHING, 0.0)
    unknown = None
    while True:
        yield model
        found = model.expected(unlabelled.symbols, unlabelled.offsets)
        counts = Expected(*(one + weight * more for one, more in zip(known, found)))
        if unknown is None:
            tokens = np.bincount(labels[labels >= 0], minlength=n_labels) + weight * found.tokens
            both = np.concatenate([labelled.symbols, unlabelled.symbols])
            again = np.bincount(both[both >= 0], minlength=n_symbols) > 1
            old = counts.emitted[:, again].sum(axis=1)
            unknown = shares(np.stack([np.maximum(tokens - old, 0.0), old], axis=1), SMOOTHING)[:, 0]
        model = HMM(
            shares(counts.starts, SMOOTHING),
            shares(counts.moves, SMOOTHING),
            shares(counts.emitted, smooth) * (1.0 - unknown[:, None]),
            unknown,
        )


def _with_new(model: HMM, is_known: NDArray[np.bool_]) -> HMM:
    """The model of the known symbols with all others, which share the probability of what is unknown."""
    assert model.unknown is not None
    each = model.unknown / (np.count_nonzero(~is_known) + 1)
    emission = np.tile(each[:, None], (1, len(is_known)))
    emission[:, is_known] = model.emission
    return HMM(model.initial, model.transition, emission, each)


@dataclass(frozen=True)
class Taught:
    """How many passes of EM there are, and the token errors on held-out sentences by which they were chosen."""

    unlabelled: Text
    passes: int
    weight: float
    errors: list[float]  # after 0, 1, … passes; empty if the number was given
    held_out: int = 0

    def __str__(self) -> str:
        n = "no pass" if not self.passes else f"{self.passes} pass{'es' * (self.passes > 1)}"
        what = f"{n} over {len(self.unlabelled):,} unlabelled sentences"
        if not self.errors:
            return what
        best = "" if not self.passes else f" {self.errors[self.passes]:.3f} instead of {self.errors[0]:.3f}"
        return f"{what}, of 0 to {len(self.errors) - 1}, by the token error{best} on {self.held_out} held-out sentences"

    def facts(self) -> dict[str, Any]:
        """What a model remembers of it."""
        return {
            "em": str(self),
            "em_passes": self.passes,
            "em_errors": self.errors,
            "criterion": "em" if self.passes else SUPERVISED,
        }


def taught(
    labelled: Sequences,
    unlabelled: Sequences,
    n_labels: int,
    *,
    passes: int | None,
    weight: float,
    seed: int = 0,
) -> Taught:
    """The number of passes of EM, as it is given or as it does best on labelled sentences that are held out.

    Each of five parts is held out in turn, until 300 sentences have been. Counts alone are kept unless a number of
    passes makes fewer errors, by more than the standard error of the difference.
    """
    more, n_symbols = Text.of(unlabelled), labelled.unigrams.n
    if passes is not None:
        return Taught(more, passes, weight, [])
    order = np.random.default_rng(seed).permutation(len(labelled))
    wrong: list[NDArray[np.int64]] = []
    seen = tokens = 0
    for part in np.array_split(order, min(PARTS, len(labelled))):
        rest = np.sort(np.setdiff1d(order, part))
        if seen >= ENOUGH or not len(rest):
            break
        known = Text.of(labelled.take(rest))
        held_out = Text.of(labelled.take(np.sort(part))).among(known, more)
        models = em(known, more, n_labels, n_symbols, weight=weight)
        with progress.task("trying EM", MOST + 1) as task:
            rows = []
            for _, model in zip(range(MOST + 1), models):
                rows.append(_errors(model, held_out))
                task.update(1)
        wrong.append(np.array(rows))
        seen += len(part)
        tokens += int(np.count_nonzero(_labels(held_out) >= 0))
    if not wrong:
        return Taught(more, 0, weight, [])
    errors = np.concatenate(wrong, axis=1)
    return Taught(more, clearly_best(errors), weight, (errors.sum(axis=1) / max(tokens, 1)).tolist(), seen)


def _errors(model: HMM, text: Text) -> NDArray[np.int64]:
    """Wrong labels of each sentence; tokens without a known label do not count."""
    guessed, gold = viterbi(model.chains(text.symbols, text.offsets))[0], _labels(text)
    wrong = (guessed != gold) & (gold >= 0)
    sentence = np.repeat(np.arange(len(text)), np.diff(text.offsets))
    return np.bincount(sentence[wrong], minlength=len(text))


def _labels(text: Text) -> Ints:
    assert text.labels is not None
    return text.labels
