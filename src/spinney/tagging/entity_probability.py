"""The probability of a phrase: of all labellings of its sentence that have exactly this phrase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.evaluate.chunks import Chunk, boundary, chunks
from spinney.inference.chains import Chains
from spinney.inference.decoding import marginals, viterbi
from spinney.tagging.columns import Sentence

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger

# What the label of a token of a phrase, or of the token after it, must do; these are places among the edges.
_BEGIN, _GO_ON, _END = range(3)


class Entity(NamedTuple):
    """A phrase of that kind from token ``start`` up to and without token ``stop``, and its probability."""

    kind: str
    start: int
    stop: int
    probability: float


def entities(tagger: Tagger, sentences: Iterable[Sentence]) -> Iterator[list[Entity]]:
    """The phrases of the best labelling of each sentence, each with its probability.

    It is the sum over all labellings in which this phrase is one: with the same first token, the same last token and
    the same kind, whatever the other tokens are. It is no product of the probabilities of its tokens.

    Examples
    --------
    >>> from spinney.tagging import Tagger
    >>> X, y = [["Ada", "King", "slept"], ["Bob", "slept"]], [["B-PER", "I-PER", "O"], ["B-PER", "O"]]
    >>> tagger = Tagger("U:%x[0,0]\\nB", lam=0.1).fit(X, y)
    >>> [[entity]] = entities(tagger, [["Ada", "slept"]])
    >>> entity.kind, entity.start, entity.stop, 0.5 < entity.probability < 1
    ('PER', 0, 1, True)
    """
    for chains in tagger._chains(tagger.columns(sentences)):
        numbers = viterbi(chains, threads=tagger.threads)[0]
        names = [tagger.labels_[number] for number in numbers.tolist()]
        found = [chunks(names[a:b]) for a, b in pairwise(chains.offsets.tolist())]
        chances = iter(phrase_probabilities(chains, tagger.labels_, found).tolist())
        for phrases in found:
            yield [Entity(*phrase, next(chances)) for phrase in phrases]


def phrase_probabilities(
    chains: Chains, labels: Sequence[str], found: Sequence[Sequence[Chunk]]
) -> NDArray[np.float64]:
    """The probabilities of phrases of each sentence, one after the other: Z of the labellings with the phrase, over Z.

    The chain of a sentence is repeated for each of its phrases, with edges that allow only what keeps the phrase.
    """
    phrases = [(i, phrase) for i, some in enumerate(found) for phrase in some]
    if not phrases:
        return np.empty(0)
    kinds = sorted({phrase.kind for _, phrase in phrases})
    K, place = len(chains.edges), {kind: 1 + 3 * k for k, kind in enumerate(kinds)}
    edges = [chains.edges]
    for kind in kinds:
        edges += [np.where(mask, chains.edges, -np.inf) for mask in _masks(labels, kind)]
    tokens, which, lengths = [], [], []
    for i, (kind, start, stop) in phrases:
        a, b = chains.offsets[i : i + 2].tolist()
        role = np.zeros(b - a, np.int32)
        role[start] = place[kind] + _BEGIN
        role[start + 1 : stop] = place[kind] + _GO_ON
        role[stop : stop + 1] = place[kind] + _END
        tokens.append(np.arange(a, b))
        which.append(chains.kinds[a:b] + K * role)
        lengths.append(b - a)
    rows = np.concatenate(tokens)
    constrained = replace(
        chains,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        scores=chains.scores[rows],
        kinds=np.concatenate(which),
        edges=np.concatenate(edges),
    )
    log_with, log_z = marginals(constrained)[1], marginals(chains)[1]
    of = np.array([i for i, _ in phrases])
    chances: NDArray[np.float64] = np.minimum(np.exp(log_with - log_z[of]), 1.0)
    return chances


def _masks(labels: Sequence[str], kind: str) -> list[NDArray[np.bool_]]:
    """Which pairs (label before, label here) begin a phrase of a kind, go on with it, and end what was before."""
    masks = [np.zeros((len(labels) + 1, len(labels)), np.bool_) for _ in range(3)]
    for i, before in enumerate([*labels, "O"]):  # the last row is the start of a sentence
        for j, here in enumerate(labels):
            ends, starts, of_kind = boundary(before, here)
            masks[_BEGIN][i, j] = starts and of_kind == kind
            masks[_GO_ON][i, j] = not ends and not starts and of_kind == kind
            masks[_END][i, j] = ends
    return masks
