"""Classification along a tree of classes: one small regression per node (Nelakanti 2014, §4.3).

P(y|x) is the product of the decisions on the path from the root to y. A binary tree makes log₂K decisions where a flat
model scores K classes, and its nodes are fitted independently, since the path to a known class is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from spinney import progress
from spinney.checking import validated
from spinney.classify.choice import Fold, choose
from spinney.classify.class_trees import class_tree_for, restricted
from spinney.classify.class_weight import ClassWeight, class_weights
from spinney.classify.nodes import NodeSamples, Rows, counted_samples
from spinney.classify.penalty import Penalised
from spinney.corpus.sparse_tables import sparse_throughout
from spinney.errors import InputError, OptionError, did_you_mean, unknown_choice
from spinney.model import ShownEstimator
from spinney.optim import Penalty, Solution, path, solve, warn_unless_converged
from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.parallel import in_order, one_blas_thread
from spinney.structure import ClassTree
from spinney.views import Views

Policy = Literal["single", "indep", "gamma"]
_ALTERNATIONS = 50  # alternations of regressions and strengths, policy "gamma"
_SETTLED = 1e-4  # relative change of a strength at which they stop
_BATCH = 4096  # rows whose probabilities at all nodes are in memory at a time


@dataclass(eq=False, repr=False)
class TreeClassifier(ShownEstimator, Penalised, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A regression for each inner node of a tree of classes: logistic for two branches, multinomial for more.

    Parameters
    ----------
    tree : ClassTree or str, optional
        Its names are the labels, as strings. Classes without data are removed from it. By default, a balanced
        binary tree over the sorted classes. A name of :data:`spinney.settings.classify.CLASS_TREES` (``"spec"``,
        ``"huffman"``, …) makes or learns a tree in :meth:`fit`; any other text is the file of a tree.
    lam : float
        The strength λ of the penalty, in the units of the sum of losses of a node.
    policy : {"single", "indep", "gamma"}
        The strengths of nodes: ``"single"``, λ for all; ``"indep"``, each by cross-validated log-loss;
        ``"gamma"``, each with a Gamma prior, alternating with the weights of its node (penalty ``"l2"`` only).
    gamma : pair of floats
        policy gamma: the shape a > 1 and the rate b > 0 of the prior. In the thesis's convention, where the penalty is
        λ‖w‖² and its prior has no normaliser, λ = (a − 1)/(b + ‖w‖²); here, where it is ½λ‖w‖², twice that.
    lams : sequence of floats, optional
        policy indep: the grid; by default the path of :class:`~spinney.classify.LinearClassifierCV`, which goes on
        until the best is not at its edge.
    tied : mapping, optional
        policy indep: further strengths that are multiples of λ at each node: ``{"l2": 1.0}``.
    folds : int
        policy indep: number of folds of cross-validation. A node with a branch of fewer than two samples uses λ itself.
    penalty, l1, l2, groups
        As in :class:`~spinney.classify.LinearClassifier`, the same at each node.
    greedy : bool
        Whether prediction follows the best branch at each node, so that an early error is final. Otherwise it finds the
        most probable class: the greedy path first, then every node that could still lead to a better class.
    solver, fit_intercept, tol, max_iter
        As in :class:`~spinney.classify.LinearClassifier`.
    threads : int
        Nodes that are fitted at the same time.
    random_state : int
        For trees that are learned in :meth:`fit`.
    class_weight : mapping or "balanced", optional
        The weight of the examples of each class at every node on its path, as in
        :class:`~spinney.classify.LinearClassifier`.

    Attributes
    ----------
    classes_ : the classes, sorted.
    tree_ : ClassTree
        The tree over them; its leaves are in their order, its inner nodes are numbered from the root down.
    coef_, intercept_ : arrays [rows, p] and [rows]
        The weights of all inner nodes, one after the other: one row for two branches, otherwise one row per branch.
    lams_ : array
        λ of each inner node.
    objective_, gap_, violation_, n_iter_, n_active_, converged_ : facts about the fits: sums, or the worst value.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]]).repeat(3, axis=0)
    >>> y = np.array(["cat", "dog", "oak", "elm"]).repeat(3)
    >>> model = TreeClassifier(ClassTree.from_newick("((cat,dog),(oak,elm));"), lam=0.01).fit(X, y)
    >>> model.predict([[4.0, 1.0]]).tolist(), model.dot_products([[4.0, 1.0]]).tolist()
    (['elm'], [2])
    """

    tree: ClassTree | str | None = None
    lam: float = 1.0
    _: KW_ONLY
    policy: Policy = "single"
    gamma: tuple[float, float] = (2.0, 1.0)
    lams: Sequence[float] | None = None
    tied: Mapping[str, float] | None = None
    folds: int = 3
    greedy: bool = False
    threads: int = 1
    class_weight: ClassWeight | str | None = None
    random_state: int = 0

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the nodes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        """
        X, y = validated(self, sparse_throughout(X), y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        weights = (
            np.ones(len(y))
            if sample_weight is None
            else _check_sample_weight(sample_weight, X, dtype=np.float64)
        )
        if self.class_weight is not None:
            weights = weights * class_weights(self.class_weight, classes, codes, weights)[codes]
        order = np.argsort(codes, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(codes))])

        def samples(below: Rows, branches: Rows, arity: int) -> NodeSamples:
            rows = np.concatenate([order[ptr[c] : ptr[c + 1]] for c in below])
            targets = np.repeat(branches, ptr[below + 1] - ptr[below])
            return NodeSamples(X[rows], targets, weights[rows], arity)

        tree = class_tree_for(self.tree, X, y, self.random_state) if isinstance(self.tree, str) else self.tree
        return self._fit(classes, samples, tree)

    def fit_counts(self, X: Any, counts: Any, classes: ArrayLike | None = None) -> Self:
        """Fit the nodes to samples that repeat: row ``i`` of ``X`` was seen ``counts[i, k]`` times with class ``k``.

        The same as :meth:`fit` with each pair written out and weighted by its count, at a fraction of the cost
        where rows have many classes: X may be the vectors of words, and the classes the words that follow.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        counts : array or sparse matrix of shape (n, K)
        classes : array of shape (K,), optional
            The labels; by default 0 to K − 1. Those without a count are dropped.
        """
        X = validated(self, sparse_throughout(X), accept_sparse="csr", dtype=np.float64)
        C = sparse.csc_array(counts, dtype=np.float64)
        labels = np.arange(C.shape[1]) if classes is None else np.asarray(classes)
        if C.shape != (X.shape[0], len(labels)):
            raise InputError(
                f"{X.shape[0]} rows and {len(labels)} classes, but counts have the shape {C.shape}"
            )
        if np.any(C.data < 0) or not np.isfinite(C.data).all():
            raise InputError("counts must be finite numbers ≥ 0")
        seen = np.flatnonzero(np.asarray(C.sum(axis=0)).ravel())
        seen = seen[np.argsort(labels[seen], kind="stable")]
        C = C[:, seen]
        if self.class_weight is not None and len(seen):
            totals = np.asarray(C.sum(axis=0)).ravel()
            C = C * class_weights(self.class_weight, labels[seen], np.arange(len(seen)), totals)

        def samples(below: Rows, branches: Rows, arity: int) -> NodeSamples:
            to_branch = sparse.csr_array(
                (np.ones(len(below)), (np.arange(len(below)), branches)), shape=(len(below), arity)
            )
            table = (C[:, below] @ to_branch).tocsr()
            rows = np.flatnonzero(np.diff(table.indptr))
            return counted_samples(X[rows], table[rows].toarray())

        if isinstance(self.tree, str):
            raise OptionError(
                f"fit_counts needs a tree, not the name of one ({self.tree!r}): give a ClassTree"
            )
        return self._fit(labels[seen], samples, self.tree)

    def _fit(self, classes: NDArray[Any], samples: Any, tree: ClassTree | None) -> Self:
        """Fit every node; ``samples`` gives those of some classes, with the branch that each class takes."""
        self._check_options()
        if len(classes) < 2:
            raise InputError(
                f"Classifier can't train when only one class is present: {', '.join(map(str, classes))}",
                remedy="give examples of at least two classes",
            )
        self.groups_ = self.built_groups()
        names = [str(label) for label in classes]
        tree = ClassTree.balanced(names) if tree is None else tree
        self.classes_, self.tree_ = classes, restricted(tree, names)
        codes = self.tree_.paths()
        order = np.argsort(codes.nodes, kind="stable")
        ptr = np.searchsorted(codes.nodes[order], np.arange(len(codes.arity) + 1))
        class_of = np.repeat(np.arange(len(classes)), np.diff(codes.ptr))

        def fitted(v: int) -> tuple[LinearLoss, Solution, float]:
            there = order[ptr[v] : ptr[v + 1]]
            return self._fit_node(samples(class_of[there], codes.branches[there], int(codes.arity[v])))

        coefs, intercepts, lams, solutions = [], [], [], []
        # One large regression may use all BLAS threads; many small ones would only wait for them.
        alone = nullcontext() if len(codes.arity) == 1 else one_blas_thread()
        with alone, progress.task("fitting nodes", len(codes.arity)) as fitting:
            for loss, solution, lam in in_order(fitted, range(len(codes.arity)), self.threads):
                W = solution.w.reshape(-1, loss.n_outputs)
                coefs.append(W[: loss.p].T)
                free = W[loss.p] if loss.intercept else np.zeros(loss.n_outputs)
                intercepts.append(free - free.mean() if loss.n_outputs > 1 else free)
                lams.append(lam)
                solutions.append(solution)
                fitting.update()
        self.coef_, self.intercept_, self.lams_ = np.vstack(coefs), np.concatenate(intercepts), np.array(lams)
        worst = max(solutions, key=lambda solution: solution.violation)
        warn_unless_converged(worst, self.tol)
        self.objective_ = float(sum(solution.objective for solution in solutions))
        gaps = [solution.proven_gap for solution in solutions]
        self.gap_ = max(gap for gap in gaps if gap is not None) if None not in gaps else None
        self.violation_ = worst.violation
        self.n_iter_ = max(1, *(solution.n_iter for solution in solutions))
        self.n_active_ = int(np.count_nonzero(self.coef_))
        self.converged_ = all(solution.converged for solution in solutions)
        return self

    def _check_options(self) -> None:
        if self.policy not in get_args(Policy):
            raise unknown_choice("policy must be one of", self.policy, get_args(Policy))
        if self.policy == "gamma":
            a, b = self.gamma
            if not (a > 1 and b > 0):
                raise OptionError(f"gamma must be a shape above 1 and a rate above 0, not {a:g} and {b:g}")
            if self.penalty != "l2":
                raise OptionError("the policy gamma needs the penalty l2")
        if self.policy != "single" and not isinstance(self.penalty, str):
            raise OptionError(f"the policy {self.policy} needs the name of a penalty, not an object")
        if self.folds < 2:
            raise OptionError(f"folds must be at least 2, not {self.folds}")

    def _fit_node(self, samples: NodeSamples) -> tuple[LinearLoss, Solution, float]:
        """The loss of a node, its solution, and λ."""
        loss = samples.loss(self.fit_intercept)
        lam = self._best_lam(samples) if self.policy == "indep" else self.lam
        solution = self._solved(loss, lam)
        if self.policy == "gamma":
            a, b = self.gamma
            n_weights = loss.n_params - loss.n_free
            for _ in range(_ALTERNATIONS):
                before, lam = lam, 2.0 * (a - 1.0) / (b + float(np.sum(solution.w[:n_weights] ** 2)))
                solution = self._solved(loss, lam, solution.w)
                if abs(lam - before) <= _SETTLED * lam:
                    break
        return loss, solution, lam

    def _solved(self, loss: LinearLoss, lam: float, w0: Vector | None = None) -> Solution:
        how: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "w0": w0}
        solution = solve(loss, self._penalty(loss, lam), self.solver, **how)
        if solution.interrupted:
            raise KeyboardInterrupt
        return solution

    def _penalty(self, loss: LinearLoss, lam: float) -> Penalty:
        made = self.made_penalty(loss.X, loss.n_outputs, lam, groups=self.groups_)
        return made.tied(**self.tied) if self.tied else made

    def _best_lam(self, samples: NodeSamples) -> float:
        """The λ with the smallest held-out loss; among equals, the largest."""
        parts = [
            [samples.loss(self.fit_intercept, rows) for rows in pair] for pair in samples.folds(self.folds)
        ]
        how: dict[str, Any] = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter}
        if not parts:
            return self.lam
        if self.lams is None:
            folds = [Fold(train, held_out, lambda margins: 0.0) for train, held_out in parts]
            return choose(folds, self._penalty(folds[0].train, self.lam), **how).best.lam
        grid = sorted(self.lams, reverse=True)
        totals = np.zeros(len(grid))
        for loss, held_out in parts:
            for i, (_, solution) in enumerate(path(loss, self._penalty(loss, grid[0]), grid, **how)):
                totals[i] += held_out.value_and_grad(solution.w)[0]
        return float(grid[int(np.argmin(totals))])

    # -- predicting -------------------------------------------------------------------------------------

    def views(self) -> Views:
        """What a notebook shows of the fitted model: facts, and the tree."""
        from spinney.classify.estimator_views import tree_classifier_views

        check_is_fitted(self)
        return tree_classifier_views(self)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each example, or the end of the greedy path."""
        codes, _ = self._search(self._checked(X))
        return np.asarray(self.classes_[codes])

    def dot_products(self, X: Any) -> NDArray[np.int64]:
        """The number of products of a weight vector with the example that :meth:`predict` needs.

        A node of two branches costs one product, a node of more one for each branch.
        """
        return self._search(self._checked(X))[1]

    def decision_path(self, X: Any) -> Any:
        """The nodes of :attr:`tree_` on the path to the predicted class: a sparse 0/1 matrix of examples × nodes."""
        codes = self._search(self._checked(X))[0]
        n_nodes = len(self.tree_.parent)
        onward = self.tree_.paths()
        last = np.arange(len(self.classes_))
        nodes = [np.append(onward.nodes[onward.ptr[c] : onward.ptr[c + 1]] + len(last), c) for c in last]
        ptr = np.concatenate([[0], np.cumsum([len(nodes[c]) for c in codes])])
        indices = np.concatenate([nodes[c] for c in codes]) if len(codes) else np.empty(0, dtype=np.int64)
        return sparse.csr_array(
            (np.ones(len(indices), dtype=np.int64), indices, ptr), shape=(len(codes), n_nodes)
        )

    def predict_log_proba(self, X: Any) -> Vector:
        """The logarithm of the probability of each class, with one row per example."""
        X = self._checked(X)
        nodes, n_classes = self._nodes(), len(self.classes_)
        out = np.empty((X.shape[0], n_classes))
        for start in range(0, X.shape[0], _BATCH):
            batch = X[start : start + _BATCH]
            below = np.zeros((batch.shape[0], len(self.tree_.parent)))
            for node in nodes:
                below[:, node.children] = below[:, [node.id]] + self._branches(node, batch)
            out[start : start + _BATCH] = below[:, :n_classes]
        return out

    def predict_proba(self, X: Any) -> Vector:
        """The probability of each class, with one row per example."""
        return np.exp(self.predict_log_proba(X))

    def log_likelihood(self, X: Any, y: ArrayLike) -> Vector:
        """The logarithm of the probability of the class of each example; only the nodes on its path are evaluated."""
        X = self._checked(X)
        labels = np.asarray(y)
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        if len(labels) != X.shape[0]:
            raise InputError(f"{X.shape[0]} examples, but {len(labels)} labels")
        if np.any(self.classes_[codes] != labels):
            unknown = labels[self.classes_[codes] != labels][0]
            meant = did_you_mean(unknown, map(str, self.classes_))
            raise InputError(f"the class {unknown!s} was not seen in training", remedy=meant)
        found, there = np.zeros(len(codes)), codes.copy()
        for node in reversed(self._nodes()):  # from the leaves up: children are done before their parent
            rows = np.flatnonzero(self.tree_.parent[there] == node.id)
            if len(rows):
                branch = self.tree_.branch[there[rows]]
                found[rows] += self._branches(node, X[rows])[np.arange(len(rows)), branch]
                there[rows] = node.id
        return found

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validated(self, sparse_throughout(X), accept_sparse="csr", dtype=np.float64, reset=False)

    def _nodes(self) -> list[_Node]:
        """Inner nodes from the root down."""
        ptr, nodes = self.tree_.children()
        found, used = [], 0
        for v in range(len(self.classes_), len(self.tree_.parent)):
            children = nodes[ptr[v] : ptr[v + 1]]
            cost = 1 if len(children) == 2 else len(children)
            found.append(_Node(v, children, cost, slice(used, used + cost)))
            used += cost
        return found

    def _branches(self, node: _Node, X: Any) -> Vector:
        """The logarithm of the probability of each branch of a node."""
        M = np.asarray(X @ self.coef_[node.rows].T + self.intercept_[node.rows])
        if node.cost == 1:
            M = -np.logaddexp(0.0, np.hstack([M, -M]))
        else:
            M -= logsumexp(M, axis=1, keepdims=True)
        return M

    def _search(self, X: Any) -> tuple[Rows, NDArray[np.int64]]:
        """The class of each example and what it cost to find."""
        n, nodes, root = X.shape[0], self._nodes(), len(self.classes_)
        best, cost = np.zeros(n), np.zeros(n, dtype=np.int64)
        there = np.full(n, root)  # the node of each example on the greedy path
        asked = {}
        for node in nodes:
            rows = asked[node.id] = np.flatnonzero(there == node.id)
            if len(rows):
                L = self._branches(node, X[rows])
                best[rows] += L.max(axis=1)
                there[rows] = node.children[L.argmax(axis=1)]
                cost[rows] += node.cost
        if self.greedy:
            return there, cost
        # Only nodes whose path is more probable than the best class so far can lead to a better one.
        waiting = {root: (np.arange(n), np.zeros(n))}
        for node in nodes:
            rows, so_far = waiting.pop(node.id, (np.empty(0, dtype=np.intp), np.empty(0)))
            hopeful = so_far > best[rows]
            rows, so_far = rows[hopeful], so_far[hopeful]
            if not len(rows):
                continue
            L = so_far[:, None] + self._branches(node, X[rows])
            cost[np.setdiff1d(rows, asked[node.id], assume_unique=True)] += node.cost
            leaves = np.flatnonzero(node.children < root)
            if len(leaves):
                at = leaves[L[:, leaves].argmax(axis=1)]
                score = L[np.arange(len(rows)), at]
                better = score > best[rows]
                best[rows[better]], there[rows[better]] = score[better], node.children[at[better]]
            waiting |= {int(node.children[i]): (rows, L[:, i]) for i in np.flatnonzero(node.children >= root)}
        return there, cost

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Node(NamedTuple):
    """An inner node: its number in the tree, its children, the dot products it costs, its rows of weights."""

    id: int
    children: Rows
    cost: int
    rows: slice
