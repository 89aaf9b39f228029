"""Composition: the vector of a word together with its dependents, and how plausible the pair is.

The operators of Grave 2014, chapter 3, make one vector of a head u and its dependents v:

============  ===========================
``baseline``  u
``add``       u + v
``mult``      u ⊙ v
``t-add``     u + M v
``t-mult``    u ⊙ M v
============  ===========================

M moves a dependent into the classes of heads. T[i, j] is the probability of class i below (in a chain, after)
class j. In a tree M is Tᵀ. In a chain it is T for a dependent that precedes its head (adjective, noun modifier,
subject) and Tᵀ for one that follows (object). Where relations have transitions of their own, each dependent is moved by
those of its relation. Several dependents are all added, or all multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.evaluate.expressions import Compared, Dependent
from spinney.evaluate.measures import Measure, l1_normalised, similarity
from spinney.evaluate.wordsim import correlations, lookup
from spinney.structure import WordVectors

Operator = Literal["baseline", "add", "mult", "t-add", "t-mult"]
Structure = Literal["tree", "chain"]


def head_space(T: ArrayLike, structure: Structure = "tree", *, precedes: bool = True) -> NDArray[np.float64]:
    """The matrix M such that M v is a dependent's vector v in the classes of its head.

    Parameters
    ----------
    T
        C × C, ``T[child, parent]`` (in a chain ``T[next, previous]``): columns are distributions.
    structure
        What T was learned on.
    precedes
        Whether the dependent precedes its head; this matters only for a chain.

    Examples
    --------
    >>> T = [[0.9, 0.2], [0.1, 0.8]]
    >>> head_space(T) @ [1.0, 0.0], head_space(T, "chain") @ [1.0, 0.0]
    (array([0.9, 0.2]), array([0.9, 0.1]))
    """
    if structure not in get_args(Structure):
        raise OptionError(
            f"structure must be 'tree' or 'chain', not {structure!r}",
            given=structure,
            known=("tree", "chain"),
        )
    matrix = np.asarray(T, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise OptionError("the transitions must be a square matrix with one row and one column per class")
    return matrix if structure == "chain" and precedes else matrix.T


def compose(
    head: ArrayLike,
    before: Sequence[ArrayLike] = (),
    after: Sequence[ArrayLike] = (),
    *,
    T: ArrayLike | None = None,
    operator: Operator = "t-mult",
    structure: Structure = "tree",
) -> NDArray[np.float64]:
    """The vector of a head with its dependents, divided by the sum of its absolute values.

    Vectors are used as they are: give distributions. A product may be zero everywhere, as that of words
    that share no class; it stays zero, and measures treat it as least similar.

    Parameters
    ----------
    head
        A vector, or a matrix with a row for each of many heads.
    before, after
        Dependents that precede the head (adjective, noun modifier, subject) and that follow it (object), each
        of the shape of ``head``.
    T, structure
        Transitions, for ``t-add`` and ``t-mult``; see :func:`head_space`. One matrix, or a stack of one for each
        dependent, those before the head first.

    Examples
    --------
    >>> compose([0.5, 0.5, 0.0], [[0.2, 0.6, 0.2]], operator="mult")
    array([0.25, 0.75, 0.  ])
    >>> T = [[0.9, 0.2], [0.1, 0.8]]
    >>> compose([0.5, 0.5], before=[[1.0, 0.0]], after=[[0.0, 1.0]], T=T).round(3)
    array([0.36, 0.64])
    """
    if operator not in get_args(Operator):
        raise unknown_choice("operator must be", operator, get_args(Operator))
    u = np.asarray(head, dtype=np.float64)
    result = np.atleast_2d(u).copy()
    placed = [(v, True) for v in before] + [(v, False) for v in after]
    matrices = _each(T, len(placed))
    for (vector, precedes), matrix in zip(placed, matrices) if operator != "baseline" else []:
        v = np.atleast_2d(np.asarray(vector, dtype=np.float64))
        if v.shape != result.shape:
            raise OptionError("heads and dependents must be equally many vectors of the same length")
        if operator in ("t-add", "t-mult"):
            v = _moved(v, matrix, structure, precedes)
        if operator in ("add", "t-add"):
            result += v
        else:
            result *= v
    normalised: NDArray[np.float64] = l1_normalised(result)
    return normalised.reshape(u.shape)


def deviance(
    noun: ArrayLike, adjective: ArrayLike, T: ArrayLike, structure: Structure = "tree"
) -> NDArray[np.float64]:
    """How plausible an adjective v is with a noun u: vᵀ T u, in a chain uᵀ T v; low is deviant.

    Takes two vectors, or two matrices of as many rows.

    Examples
    --------
    >>> T = [[0.9, 0.2], [0.1, 0.8]]
    >>> float(deviance([0.0, 1.0], [1.0, 0.0], T)), float(deviance([0.0, 1.0], [1.0, 0.0], T, "chain"))
    (0.2, 0.1)
    """
    u = np.asarray(noun, dtype=np.float64)
    v = _moved(np.asarray(adjective, dtype=np.float64), T, structure, precedes=True)
    if u.shape != v.shape:
        raise OptionError("nouns and adjectives must be equally many vectors of the same length")
    return np.asarray((u * v).sum(axis=-1))


def deviance_test(deviant: ArrayLike, acceptable: ArrayLike) -> dict[str, float]:
    """Welch's t-test on two sets of scores; t is negative where the deviant ones are lower.

    Examples
    --------
    >>> test = deviance_test([0.1, 0.2, 0.15], [0.4, 0.5, 0.6, 0.5])
    >>> round(test["t"], 2), round(test["p"], 3)
    (-7.0, 0.001)
    """
    from scipy.stats import ttest_ind

    result = ttest_ind(deviant, acceptable, equal_var=False)
    return {"t": float(result.statistic), "p": float(result.pvalue), "df": float(result.df)}


def composition_correlation(
    vectors: WordVectors,
    comparisons: Iterable[Compared],
    T: ArrayLike | Mapping[str, ArrayLike] | None = None,
    operator: Operator = "t-mult",
    structure: Structure = "tree",
    measure: Measure = "hellinger",
    *,
    second: Literal["composed", "bare"] = "composed",
) -> dict[str, Any]:
    """How well similarities of composed expressions follow the mean scores of people.

    In clauses verbs are heads; subjects (the other subject too, where a clause has one) precede and objects follow
    them. Words are looked up by the part of speech of their role, see :func:`lookup`. A comparison enters if all its
    words have vectors, whichever the operator, so that operators can be compared.

    Parameters
    ----------
    vectors
        Vectors of words.
    comparisons
        Two clauses or phrases and their score each, as :func:`read_comparisons` gives them.
    T, operator, structure
        See :func:`compose`. Transitions may be given by relation: ``nsubj``, ``obj``, ``amod`` and ``compound``.
    measure
        One of :data:`~spinney.evaluate.MEASURES`.
    second
        Whether the second expression is composed like the first, as it must be where both differ in all
        words, or stands for its head alone: a landmark for the sense of the first verb in its context.

    Returns
    -------
    dict
        ``pearson``, ``spearman``, ``n`` (the comparisons that entered), ``items`` (all), ``coverage`` (n / items).

    Examples
    --------
    >>> from spinney.evaluate.ellipsis import Clause, ClausePair
    >>> words = ["user", "software", "write", "spell", "code"]
    >>> vectors = WordVectors(words, [[0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.1, 0.9], [0.9, 0.1]])
    >>> write = Clause("user", "write", "software")
    >>> comparisons = [ClausePair(write, write._replace(verb="spell"), 2.0),
    ...                ClausePair(write, write._replace(verb="code"), 6.0),
    ...                ClausePair(write, write._replace(verb="print"), 6.0)]
    >>> scores = composition_correlation(vectors, comparisons, operator="mult", second="bare")
    >>> round(scores["pearson"], 3), scores["n"], scores["items"]
    (1.0, 2, 3)
    """
    known, rows = composition_items(vectors, comparisons, T, operator, structure, measure, second=second)
    return {
        **correlations(*rows[known].T),
        "n": int(known.sum()),
        "items": len(known),
        "coverage": float(known.mean()) if len(known) else 0.0,
    }


def composition_items(
    vectors: WordVectors,
    comparisons: Iterable[Compared],
    T: ArrayLike | Mapping[str, ArrayLike] | None = None,
    operator: Operator = "t-mult",
    structure: Structure = "tree",
    measure: Measure = "hellinger",
    *,
    second: Literal["composed", "bare"] = "composed",
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """What :func:`composition_correlation` correlates: whether all words are known, and similarity beside score.

    Examples
    --------
    >>> from spinney.evaluate.phrases import Phrase, PhrasePair
    >>> vectors = WordVectors(["law", "new", "rule"], [[0.9, 0.1], [0.5, 0.5], [0.9, 0.1]])
    >>> law, rule, odd = (Phrase("adjective-noun", noun, "new") for noun in ("law", "rule", "quark"))
    >>> pairs = [PhrasePair(law, odd, 2.0), PhrasePair(law, rule, 6.0)]
    >>> known, rows = composition_items(vectors, pairs, operator="add", measure="cosine")
    >>> known.tolist(), rows.round(6).tolist()
    ([False, True], [[0.0, 2.0], [1.0, 6.0]])
    """
    if second not in ("composed", "bare"):
        raise OptionError(
            f"second must be 'composed' or 'bare', not {second!r}",
            given=second,
            known=("composed", "bare"),
        )
    comparisons = list(comparisons)
    finders = {pos: lookup(vectors, pos) for pos in ("NOUN", "VERB", "ADJ")}
    operators = (operator, operator if second == "composed" else "baseline")
    sides: list[list[NDArray[np.float64]]] = [[], []]
    known = np.zeros(len(comparisons), bool)
    for i, compared in enumerate(comparisons):
        both = (compared.first, compared.second)
        words = [[one.head_word, *((d.word, d.pos) for d in one.dependents)] for one in both]
        found = [[finders[pos](word) for word, pos in some] for some in words]
        if None in found[0] + found[1]:
            continue
        known[i] = True
        for side, one, keys, how in zip(sides, both, found, operators):
            side.append(_composed(_distributions(vectors, keys), one.dependents, T, how, structure))
    first, last = (np.reshape(side, (int(known.sum()), vectors.dimension)) for side in sides)
    rows = np.zeros((len(comparisons), 2))
    rows[known, 0] = similarity(first, last, measure)
    rows[:, 1] = [compared.score for compared in comparisons]
    return known, rows


def _composed(
    rows: Sequence[NDArray[np.float64]],
    dependents: Sequence[Dependent],
    T: ArrayLike | Mapping[str, ArrayLike] | None,
    operator: Operator,
    structure: Structure,
) -> NDArray[np.float64]:
    """A head with its dependents, moved by the transitions of their relations where these are given."""
    head, *others = rows
    if isinstance(T, Mapping):
        missing = [one.relation for one in dependents if one.relation not in T]
        if missing:
            raise OptionError(f"no transitions of {missing[0]!r}: give T for it")
        T = np.stack([np.asarray(T[one.relation], np.float64) for one in dependents])
    before = [v for v, one in zip(others, dependents) if one.precedes]
    after = [v for v, one in zip(others, dependents) if not one.precedes]
    return compose(head, before, after, T=T, operator=operator, structure=structure)


def _each(T: ArrayLike | None, n: int) -> Sequence[ArrayLike | None]:
    """The transitions of each of n dependents."""
    if T is None or np.ndim(T) < 3:
        return [T] * n
    stack = np.asarray(T)
    if len(stack) != n:
        raise OptionError(f"transitions of {len(stack)} relations for {n} dependents")
    return list(stack)


def _moved(
    v: NDArray[np.float64], T: ArrayLike | None, structure: Structure, precedes: bool
) -> NDArray[np.float64]:
    if T is None:
        raise OptionError("'t-add' and 't-mult' need transitions: give T")
    matrix = head_space(T, structure, precedes=precedes)
    if matrix.shape[1] != v.shape[-1]:
        raise OptionError(
            f"transitions between {matrix.shape[1]} classes, but vectors of {v.shape[-1]} numbers"
        )
    return v @ matrix.T


def _distributions(vectors: WordVectors, keys: Sequence[str | None]) -> list[NDArray[np.float64]]:
    rows = l1_normalised(vectors.rows(cast(list[str], keys)))
    return list(rows.toarray() if vectors.is_sparse else rows)
