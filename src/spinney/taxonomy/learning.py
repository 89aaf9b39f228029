"""Taxonomies learned from data (Nelakanti 2014, ch. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError, unknown_choice
from spinney.parallel import one_blas_thread
from spinney.structure import ClassTree
from spinney.taxonomy import pairing, splitting
from spinney.taxonomy.growing import bottom_up, top_down
from spinney.taxonomy.proximity import Form, checked_delta
from spinney.taxonomy.sources import Classes, CountedSamples, Moments, ResidualSource, Samples
from spinney.taxonomy.splitting import Sides

Method = Literal["spec", "canonical", "diff", "obyo", "hung", "conf", "rand", "flat"]
METHODS: tuple[str, ...] = get_args(Method)
_HELD_OUT = 3  # one third of the samples shows what the surrogate classifier of CONF confuses


def learn_taxonomy(
    X: Any,
    y: ArrayLike,
    method: Method = "spec",
    *,
    depth: int | None = None,
    delta: float = 1.0,
    exact: bool = True,
    names: Sequence[str] | None = None,
    random_state: int = 0,
    form: Form = "auto",
    rank: int | None = None,
) -> ClassTree:
    """A tree over the classes of some samples, in which classes that are hard to tell apart are near each other.

    Parameters
    ----------
    X : array or sparse matrix [n, d]
        Samples; they are centred here.
    y : array [n]
        The class of each.
    method
        From the top down: ``"spec"`` (eigenvector of the residuals), ``"canonical"`` (the same, a class weighted by its
        samples: for classes of very different sizes, and for very many), ``"diff"`` (discriminative clustering),
        ``"conf"`` (what a ridge classifier confuses in a held-out third), ``"rand"`` (by lot). From the bottom up:
        ``"obyo"`` (nearest pair first), ``"hung"`` (all pairs at once). ``"flat"``: no tree.
    depth
        Levels of splits or merges; what is left together hangs under one node. All of them by default; 0 is flat. The
        depth of the tree itself is at most one more, but for ``"obyo"``, where a level is as many merges as leave half
        of the classes.
    delta
        The ridge δ of the residuals.
    exact
        From the top down: whether residuals are taken anew from the samples of each node. Otherwise they are the
        sub-matrix of the first ones, which is quicker, and worse the more classes there are.
    names
        Of the classes, in sorted order; by default the labels themselves.
    random_state
        For ``"diff"``, ``"conf"`` and ``"rand"``.
    form, rank
        How residuals are computed: see :func:`~spinney.taxonomy.residual_matrix`.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]]).repeat(3, axis=0)
    >>> y = np.array(["cat", "dog", "oak", "elm"]).repeat(3)
    >>> learn_taxonomy(X, y).to_newick()
    '((cat,dog),(elm,oak));'
    """
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    names = [str(label) for label in labels] if names is None else list(names)
    if len(names) != len(labels):
        raise OptionError(f"{len(labels)} classes but {len(names)} names")
    source = Samples(X, codes, checked_delta(delta), form, rank)
    if method == "conf":
        _checked(method, depth)
        confusion = held_out_confusion(X, codes, delta=delta, random_state=random_state)
        return taxonomy_from_confusion(confusion, names, depth=depth, random_state=random_state)
    return _learn(source, names, method, depth, exact, random_state)


def word_taxonomy(
    vectors: ArrayLike,
    counts: Any,
    words: Sequence[str],
    method: Method = "diff",
    *,
    depth: int | None = None,
    delta: float = 1.0,
    exact: bool = True,
    random_state: int = 0,
) -> ClassTree:
    """A tree over words: a word is a class, its samples are the vectors of the words before it.

    The samples are never written out: XᵀX is a sum over the vectors, each as often as it was seen. So millions of
    tokens cost no more than thousands, and nodes are exact. From the bottom up a K×K matrix is needed; ``"spec"``,
    ``"diff"`` and ``"canonical"`` need none, and take ten thousand words.

    Parameters
    ----------
    vectors : array [P, d]
        Of the contexts, such as the previous word.
    counts : sparse matrix [P, K]
        How often each word came after each context.
    words
        The K words.
    method, depth, delta, exact, random_state
        As in :func:`learn_taxonomy`; not ``"conf"``, for which there is :func:`taxonomy_from_confusion`.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [0.0, 1.0]]  # of "the" and "to"
    >>> word_taxonomy(vectors, [[9, 8, 0, 1], [0, 1, 7, 9]], ["cat", "dog", "run", "eat"]).to_newick()
    '((cat,dog),(run,eat));'
    """
    source = CountedSamples(vectors, counts, delta)
    if len(words) != len(source.sizes):
        raise OptionError(f"{len(words)} words but {len(source.sizes)} columns of counts")
    return _learn(source, words, method, depth, exact, random_state)


def learn_taxonomy_from_moments(
    S: ArrayLike,
    B: ArrayLike,
    sizes: ArrayLike,
    names: Sequence[str],
    method: Method = "spec",
    *,
    depth: int | None = None,
    delta: float = 1.0,
    exact: bool = True,
    random_state: int = 0,
) -> ClassTree:
    """A tree over classes of which only moments are known.

    Parameters
    ----------
    S : array [d, d] or [K, d, d]
        XᵀX, of all samples or of each class. With the former, ``exact`` splits are exact only if all classes have one
        covariance: the scatter within the classes of a node is taken to be its share of the whole, that between
        them is known. Merges are exact.
    B : array [d, K]
        XᵀY, the sum of the samples of each class. Neither need be centred.
    sizes : array [K]
        The number of samples of each class.
    names, method, depth, delta, exact, random_state
        As in :func:`learn_taxonomy`; not ``"conf"``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]]).repeat(3, axis=0)
    >>> Y = np.eye(4).repeat(3, axis=0)
    >>> learn_taxonomy_from_moments(X.T @ X, X.T @ Y, Y.sum(axis=0), ["cat", "dog", "oak", "elm"]).to_newick()
    '((cat,dog),(oak,elm));'
    """
    source = Moments(S, B, sizes, delta)
    if len(names) != len(source.sizes):
        raise OptionError(f"{len(names)} names but {len(source.sizes)} classes")
    return _learn(source, names, method, depth, exact, random_state)


def taxonomy_from_confusion(
    confusion: ArrayLike, names: Sequence[str], *, depth: int | None = None, random_state: int = 0
) -> ClassTree:
    """A tree over classes by how often a classifier takes one for the other (Bengio et al. 2010).

    Parameters
    ----------
    confusion : array [K, K]
        Entry (i, j): how often a sample of class i was taken for class j.
    names, depth, random_state
        As in :func:`learn_taxonomy`.

    Examples
    --------
    >>> taxonomy_from_confusion([[9, 3, 0], [2, 9, 1], [0, 0, 9]], ["cat", "dog", "oak"]).to_newick()
    '((cat,dog),oak);'
    """
    _checked("conf", depth)
    C = np.asarray(confusion, dtype=np.float64)
    if C.shape != (len(names), len(names)):
        raise OptionError(f"{len(names)} names but a confusion matrix of shape {C.shape}")
    if not np.all((C >= 0) & np.isfinite(C)):
        raise OptionError("a confusion matrix must contain finite numbers ≥ 0")
    rng = np.random.default_rng(random_state)
    return top_down(names, lambda classes: splitting.conf(C[np.ix_(classes, classes)], rng), depth)


def held_out_confusion(
    X: Any, codes: NDArray[np.intp], *, delta: float = 1.0, random_state: int = 0
) -> NDArray[np.float64]:
    """What a ridge classifier trained on two thirds of the samples of each class confuses in the others.

    Classes of one or two samples stay with the training part, and are then never held out.
    """
    from sklearn.linear_model import RidgeClassifier

    n_classes = int(codes.max()) + 1
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes, minlength=n_classes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its class
    held_out = order[rank % _HELD_OUT == _HELD_OUT - 1]
    kept = order[rank % _HELD_OUT != _HELD_OUT - 1]
    C = np.zeros((n_classes, n_classes))
    if len(held_out) and n_classes > 1:
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        surrogate = RidgeClassifier(alpha=delta).fit(X[kept], codes[kept])
        np.add.at(C, (codes[held_out], surrogate.predict(X[held_out])), 1.0)
    return C


def _learn(
    source: ResidualSource,
    names: Sequence[str],
    method: str,
    depth: int | None,
    exact: bool,
    random_state: int,
) -> ClassTree:
    _checked(method, depth)
    if len(names) == 0:
        raise InputError("there are no classes")
    if method == "conf":
        raise OptionError("the method conf needs samples, or a confusion matrix: see taxonomy_from_confusion")
    rng = np.random.default_rng(random_state)
    if method in ("flat", "rand"):
        return top_down(names, lambda z: splitting.rand(len(z), rng), 0 if method == "flat" else depth)
    with one_blas_thread():  # the matrices are many and small: threads would wait for each other
        everything = source.residual(np.arange(len(names)))
        if method in ("obyo", "hung"):
            level = pairing.obyo if method == "obyo" else pairing.hung
            return bottom_up(names, everything.matrix(), level, depth)

        def split(classes: Classes) -> Sides:
            renew = exact and len(classes) < len(names)
            residual = source.residual(classes) if renew else everything.of(classes)
            if method == "diff":
                return splitting.diff(residual, rng)
            return splitting.spec(residual) if method == "spec" else splitting.canonical(residual)

        return top_down(names, split, depth)


def _checked(method: str, depth: int | None) -> None:
    if method not in METHODS:
        raise unknown_choice("method must be", method, METHODS)
    if depth is not None and depth < 0:
        raise OptionError(f"depth must be at least 0, not {depth}")
