"""The E-step on some sentences as a task of its own: the rows of the words that are there go in, and come back counted.

A task never sees the whole table of words by classes. Its words are numbered anew, and it gets the rows of these
alone, which is what online EM can afford to send to another process for each batch, and what keeps the rows of a task
in the cache on a thread. What it finds is one row for each of its words, however many tokens there are.

On a cluster, the tokens of a batch pass go to a worker once, and stay there as a file that it maps; in every pass the
rows of their words go to them. Those of online EM go with their rows, beside which they are small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.inference.hidden import Beliefs, Laws
from spinney.mapped import Mapped
from spinney.parallel import Kept, Pure, Visit, elsewhere, in_order

if TYPE_CHECKING:
    from spinney.classes.learning import Corpus, Messages, Trees
    from spinney.corpus import TokenArrays

#: A pass over the whole text is cut into about this many tasks of at most this many pieces: so few that what is sent
#: counts little, and enough for many workers. The cut depends on the text alone, and so do the sums.
_TASKS, _MOST_PIECES = 64, 32


class Sentences(NamedTuple):
    """A task: pieces of text whose words are numbers of ``rows``, the counts of these words by classes."""

    rows: NDArray[Any]
    pieces: list[Trees]


def grouped(pieces: Sequence[TokenArrays]) -> list[list[TokenArrays]]:
    """The pieces of a text, a few to a task.

    Examples
    --------
    >>> [len(grouped(range(n))) for n in (3, 100, 640, 100_000)]
    [3, 100, 64, 3125]
    """
    each = max(1, min(_MOST_PIECES, len(pieces) // _TASKS))
    return [list(pieces[first : first + each]) for first in range(0, len(pieces), each)]


class Shard(NamedTuple):
    """A task that is done in every pass: its words, and its sentences, which stay with whoever works on them."""

    words: NDArray[np.int32]
    kept: Kept[Mapped[list[Trees]]]


def shards(corpus: Corpus) -> list[Shard]:
    """The whole text in tasks that stay with the workers of a cluster."""
    numbered = (_numbered(corpus, group) for group in grouped(corpus.pieces()))
    return [Shard(words, Kept(Mapped(pieces))) for words, pieces in numbered]


def _numbered(corpus: Corpus, group: Sequence[TokenArrays]) -> tuple[NDArray[np.int32], list[Trees]]:
    """The distinct words of some pieces, and their sentences, with the words numbered anew."""
    trees = [corpus.trees(piece) for piece in group]
    words, places = np.unique(np.concatenate([one.ids for one in trees]), return_inverse=True)
    ends = np.cumsum([len(one.ids) for one in trees])[:-1]
    numbers = np.split(places.astype(np.int32), ends)
    return words, [one._replace(ids=own) for one, own in zip(trees, numbers)]


def expectations(
    messages: Messages, corpus: Corpus, groups: Iterable[Sequence[TokenArrays]], laws: Laws, threads: int
) -> Iterator[tuple[NDArray[np.int32], Beliefs]]:
    """For each group of pieces, its words and what was found of them, in the order of the groups."""
    of_groups: list[NDArray[np.int32]] = []

    def tasks() -> Iterator[Sentences]:
        for group in groups:
            words, pieces = _numbered(corpus, group)
            of_groups.append(words)
            yield Sentences(laws.counts[words], pieces)

    step = Pure(expected, messages, laws.scale, laws.floor, laws.transition, laws.root)
    for i, found in enumerate(in_order(step, tasks(), threads)):
        yield of_groups[i], found
        of_groups[i] = of_groups[i][:0]  # no longer needed


def expectations_of_text(
    messages: Messages, corpus: Corpus, laws: Laws, threads: int
) -> Iterator[tuple[NDArray[np.int32], Beliefs]]:
    """The same of the whole text, in tasks of several pieces."""
    if not elsewhere():
        yield from expectations(messages, corpus, grouped(corpus.pieces()), laws, threads)
        return
    step = Pure(expected_there, messages, laws.scale, laws.floor, laws.transition, laws.root)
    visits = (Visit(shard.kept, laws.counts[shard.words]) for shard in corpus.kept_shards)
    for shard, found in zip(corpus.kept_shards, in_order(step, visits, threads)):
        yield shard.words, found


def expected_there(
    messages: Messages,
    scale: NDArray[Any],
    floor: float,
    transition: NDArray[Any],
    root: NDArray[Any],
    pieces: Mapped[list[Trees]],
    rows: NDArray[Any],
) -> Beliefs:
    """What :func:`expected` finds in sentences that have stayed here."""
    return expected(messages, scale, floor, transition, root, Sentences(rows, pieces.value))


def expected(
    messages: Messages,
    scale: NDArray[Any],
    floor: float,
    transition: NDArray[Any],
    root: NDArray[Any],
    task: Sentences,
) -> Beliefs:
    """What the words of a task are found to be; its ``nodes`` have one row for each word.

    Sums are taken in double precision, and come back in that of the parameters.
    """
    from spinney.classes._statistics_kernels import add_rows

    laws = Laws(task.rows, scale, floor, transition, root)
    dtype, C = task.rows.dtype, laws.n_classes
    table, edges = np.zeros(task.rows.shape), np.zeros(transition.shape)
    roots, classes = np.zeros(C), np.zeros(C)
    total, kept, sent = 0.0, 0.0, 0
    for trees in task.pieces:
        _, words, found = messages.beliefs(trees, laws)
        add_rows(words, found.nodes, dtype.type(1.0), table)
        edges += found.edges
        roots += found.roots
        classes += found.classes
        total += found.log_likelihood
        kept, sent = kept + found.support[0], sent + found.support[1]
    return Beliefs(table.astype(dtype), edges.astype(dtype), roots, classes, total, (kept, sent))
