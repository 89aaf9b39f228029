"""What a hidden Markov model says of a token, as numbers for another model (Grave 2014, chapters 2 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.errors import OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.classes.hidden import HiddenMarkov

Representation = Literal["viterbi", "posterior", "type", "both"]


def token_rows(
    model: HiddenMarkov,
    text: TokenArrays,
    what: Representation = "both",
    *,
    at: NDArray[np.int64] | None = None,
    roots: bool = False,
) -> NDArray[np.float64]:
    """A row of numbers for each token of a text.

    Parameters
    ----------
    model
        A fitted model.
    text
        Sentences that were read with the model's vocabulary, in trees if it is one of trees.
    what
        ``"viterbi"``: 1 at the token's class in the likeliest assignment; ``"posterior"``: P(class | sentence),
        Posterior-Token; ``"type"``: P(class | word), Posterior-Type; ``"both"``: these two beside each other.
    at
        The tokens whose rows are wanted, by their numbers in the text; by default all.
    roots
        Square roots: scalar products are then Hellinger kernels Σ √(p q), and with ``"both"`` the sum of two.

    Examples
    --------
    A support vector machine with a Hellinger kernel on the classes of tokens in their contexts:

    >>> from spinney.classes import HiddenMarkov
    >>> from spinney.classify import LinearClassifier
    >>> from spinney.corpus import sentence_arrays
    >>> lines = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 25
    >>> text = sentence_arrays(line.split() for line in lines)
    >>> model = HiddenMarkov(3, em="batch", passes=30, random_state=1).fit(text)
    >>> X = token_rows(model, text, "both", roots=True)
    >>> X.shape, (X**2).sum(axis=1).round(4).tolist()[:2]
    ((300, 6), [2.0, 2.0])
    >>> labels = ["DET", "NOUN", "VERB"] * 100
    >>> machine = LinearClassifier(loss="squared-hinge", lam=1.0).fit(X[:30], labels[:30])
    >>> float(machine.score(X, labels))
    1.0
    """
    if what not in get_args(Representation):
        raise unknown_choice("what must be", what, get_args(Representation))
    if text.vocabulary.words != model.vocabulary.words:
        raise OptionError("this text was read with another vocabulary")
    chosen = np.arange(text.n_tokens) if at is None else np.asarray(at, np.int64)
    blocks = []
    if what == "viterbi":
        blocks.append(np.eye(model.laws_.n_classes)[model.predict(text)[chosen]])
    if what in ("posterior", "both"):
        blocks.append(np.asarray(model.posteriors(text)[chosen], np.float64))
    if what in ("type", "both"):
        counts = np.asarray(model.statistics_.omega[np.asarray(text.ids)[chosen]], np.float64)
        blocks.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
    rows = np.hstack(blocks)
    return np.sqrt(rows) if roots else rows


def cell(row: NDArray[np.float64], top: int, *, prefix: str = "", roots: bool = False) -> str:
    """The likeliest classes with their probabilities, as the tagger's pattern ``%value`` reads them.

    Examples
    --------
    >>> cell(np.array([0.05, 0.0, 0.94, 0.01]), 2)
    '2:0.94|0:0.05'
    >>> cell(np.array([0.09, 0.0, 0.91]), 2, prefix="w", roots=True)
    'w2:0.954|w0:0.3'
    """
    top = min(top, len(row))
    best = np.argpartition(-row, top - 1)[:top]
    best = best[np.argsort(-row[best], kind="stable")]
    kept = [(i, float(row[i])) for i in best.tolist() if row[i] >= 5e-4]
    return "|".join(f"{prefix}{i}:{np.sqrt(p) if roots else p:.3g}" for i, p in kept) or "|"
