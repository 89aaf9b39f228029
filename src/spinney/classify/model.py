"""A linear model together with its features, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np

from spinney.classify.crossval import LinearClassifierCV, LinearRegressorCV
from spinney.classify.group_features import extended, group_column_names
from spinney.classify.group_rules import groups_in_fit
from spinney.classify.hierarchical import TreeClassifier
from spinney.classify.linear import LinearClassifier, LinearRegressor
from spinney.classify.selection import family_counts, foremost, selection
from spinney.classify.tuning import Tuned
from spinney.corpus.text_features import TextFeatures
from spinney.errors import InputError
from spinney.evaluate import plot_confusion
from spinney.files import FilePath, ModelFile, csr_tensors
from spinney.kinds import load_task
from spinney.model import Applied, Contents, Model, Structures
from spinney.optim import PenaltySpec
from spinney.optim.paths import plot_choice
from spinney.settings import Settings, settings_or
from spinney.settings.classify import Apply, Evaluate, Explain, Inspect
from spinney.settings.report import Report
from spinney.structure import ClassTree, Groups
from spinney.views import Views

Estimator = LinearClassifier | LinearRegressor | TreeClassifier
#: Facts and the corresponding attributes of estimators: those of all estimators, and those of linear models.
TREE_FACTS = {
    "objective": "objective_", "gap": "gap_", "violation": "violation_", "iterations": "n_iter_", "active": "n_active_",
    "converged": "converged_",
}  # fmt: skip
FACTS = {"lam": "lam_", "solver": "solver_", **TREE_FACTS}

MOST_MEMBERSHIPS = 2_000_000  # up to this many members, a model file stores all groups
MOST_GROUPS = 10_000  # otherwise, this many selected and as many removed ones


class Branch(NamedTuple):
    """A branch of a node: the classes below it, and the features with the strongest evidence for it."""

    classes: list[str]
    words: list[tuple[str, float]]


class NodeWords(NamedTuple):
    """An inner node of a tree of classes, numbered from 0, the root, and its branches."""

    node: int
    branches: list[Branch]


class TextModel(Model):
    """A model that predicts labels or numbers from text.

    Parameters
    ----------
    estimator : LinearClassifier, LinearRegressor (or their CV forms) or TreeClassifier
    features : TextFeatures, optional
        None for data that are already a matrix (svmlight files).
    added : Groups, optional
        Groups of these features that are features, too: see :mod:`spinney.classify.group_features`.

    Examples
    --------
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> model.predict(["so much fun"]).tolist()
    ['+']
    >>> model.strongest(1)
    {'+': [('fun', ...)], '-': [('dull', ...)]}
    """

    def __init__(
        self, estimator: Estimator, features: TextFeatures | None = None, added: Groups | None = None
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.added = added
        self.facts: dict[str, Any] = {}
        #: The trials of a search for strengths; not stored in files.
        self.tuned: Tuned | None = None
        #: What ``fit`` has to say about its choices; not stored in files.
        self.notes: list[str] = []

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The task and the kind of estimator."""
        if isinstance(self.estimator, TreeClassifier):
            return "classify/TreeClassifier"
        return "classify/LinearClassifier" if self.is_classifier else "classify/LinearRegressor"

    def fit(self, inputs: Any, targets: Sequence[Any]) -> Self:
        """Learn from texts (or a matrix, without ``features``) and their labels or numbers."""
        X = self.features.fit_sparse(inputs) if self.features else inputs
        return self.fit_matrix(extended(X, self.features, self.added), targets)

    def fit_matrix(self, X: Any, targets: Sequence[Any], init: TextModel | None = None) -> Self:
        """Learn from a feature matrix, starting from the weights of ``init`` if given.

        An interrupt (Ctrl-C) keeps what was learned, and is raised again.
        """
        if init is not None:
            self._start_from(init, X.shape[1], targets)
        rule = self.estimator.groups
        if rule is not None and not isinstance(rule, Groups):
            names = self.names_of(X.shape[1])
            self.estimator.set_params(groups=groups_in_fit(rule, names, self.estimator.penalty))
        try:
            self.estimator.fit(X, np.asarray(targets))
        finally:
            if hasattr(self.estimator, "objective_"):
                self.note_facts(X)
        return self

    def note_facts(self, X: Any) -> None:
        """Store the facts about the estimator in :attr:`facts`, if it was fitted on the matrix ``X`` elsewhere."""
        self.facts = {"documents": int(X.shape[0]), "features": int(X.shape[1]), "entries": int(X.nnz)}
        self.facts |= {"outputs": len(self.outputs), "parameters": self.coef.size}
        if isinstance(self.estimator, TreeClassifier):
            self.facts |= _tree_facts(self.estimator, X)
        else:
            self.facts |= {name: getattr(self.estimator, attribute) for name, attribute in FACTS.items()}
            self.facts["penalty"] = self.estimator.penalty_.describe()
        if isinstance(self.estimator.groups, Groups):
            self.facts["groups"] = _counted(self.estimator.groups, self.coef, self.copy_norms)

    def _start_from(self, init: TextModel, width: int, targets: Sequence[Any]) -> None:
        """Carry over the weights of all features and classes that the two models share, by their names."""
        for model in (self, init):
            if isinstance(model.estimator, TreeClassifier):
                raise InputError(
                    "classifiers along a class tree cannot start from a model, nor serve as one to start from"
                )
        outputs = sorted({str(label) for label in targets}) if self.is_classifier else ["value"]
        if init.is_classifier != self.is_classifier or sorted(init.outputs) != outputs:
            raise InputError(
                f"the model to start from has the classes {', '.join(init.outputs)}, not those of the data"
            )
        place = {name: j for j, name in enumerate(init.names)}
        columns = np.array([place.get(name, -1) for name in self.names_of(width)])
        coef = np.where(columns >= 0, init.coef[:, columns], 0.0)
        self.estimator.set_params(warm_start=True)
        self.estimator._store(coef, np.atleast_1d(init.estimator.intercept_))

    def matrix(self, inputs: Any) -> Any:
        """The feature matrix of texts; a matrix is returned as it is if its width matches."""
        if self.features:
            return extended(self.features.sparse(inputs), self.features, self.added)
        width = self.coef.shape[1] - (0 if self.added is None else len(self.added))
        if inputs.shape[1] != width:
            raise InputError(f"{inputs.shape[1]} features, but the model has {width}")
        return extended(inputs, None, self.added)

    def predict(self, inputs: Any) -> Any:
        """Labels or numbers."""
        return self.estimator.predict(self.matrix(inputs))

    def predict_proba(self, inputs: Any) -> Any:
        """Class probabilities (classifiers only)."""
        self.check_probabilities()
        return self.estimator.predict_proba(self.matrix(inputs))

    def check_probabilities(self) -> None:
        """Refuse to go on if the model has no class probabilities."""
        if not self.is_classifier:
            raise InputError("a regression model has no class probabilities")
        if not self.has_probabilities:
            raise InputError("a model fitted with the squared hinge has no class probabilities")

    @property
    def has_probabilities(self) -> bool:
        """Whether it gives class probabilities: a classifier that was not fitted with the squared hinge."""
        return self.is_classifier and getattr(self.estimator, "loss", None) != "squared-hinge"

    @property
    def is_classifier(self) -> bool:
        """Whether this predicts classes rather than numbers."""
        return isinstance(self.estimator, LinearClassifier | TreeClassifier)

    @property
    def tree(self) -> ClassTree | None:
        """The tree of classes, if the estimator has one."""
        return self.estimator.tree_ if isinstance(self.estimator, TreeClassifier) else None

    @property
    def output_tree(self) -> ClassTree | None:
        """The tree of classes by which the penalty of a linear classifier groups the weights of each feature."""
        return getattr(self.estimator, "class_tree_", None)

    @property
    def coef(self) -> Any:
        """Weights, with one row per output; along a tree, see :attr:`TreeClassifier.coef_`."""
        return np.atleast_2d(self.estimator.coef_)

    @property
    def copy_norms(self) -> Any:
        """The norms of the copies v_g of each group, of a model that was fitted by ADMM; else None."""
        return getattr(self.estimator, "copy_norms_", None)

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.names_of(self.coef.shape[1])

    def names_of(self, width: int) -> Sequence[str]:
        """The names of the columns of a matrix of this width: words (or numbers, as in svmlight files), and groups."""
        more = [] if self.added is None else group_column_names(self.added)
        names = self.features.names if self.features else [str(j + 1) for j in range(width - len(more))]
        return [*names, *more] if more else names

    @property
    def outputs(self) -> list[str]:
        """The outputs: classes, or the number. Except for trees, these are the rows of the weights."""
        return [str(label) for label in self.estimator.classes_] if self.is_classifier else ["value"]

    def strongest(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """For each class, the ``k`` features with the strongest evidence for it (for a number: for or against).

        Along a tree, the evidence is that of the last decision on its path, between it and its siblings.
        """
        names = self.names
        return {
            output: _strongest(row, names, k, signed=self.is_classifier)
            for output, row in zip(self.outputs, self._output_rows())
        }

    def _output_rows(self) -> Iterator[Any]:
        """The weights for each output."""
        if isinstance(self.estimator, TreeClassifier):
            tree, inner = self.estimator.tree_, self.estimator._nodes()
            for leaf in range(len(tree)):
                node = inner[tree.parent[leaf] - len(tree)]
                yield branch_rows(self.coef[node.rows])[tree.branch[leaf]]
        elif self.is_classifier:
            yield from branch_rows(self.coef)
        else:
            yield from self.coef

    def words_by_node(self, k: int = 10, nodes: int | None = None) -> list[NodeWords]:
        """For each branch of the first ``nodes`` inner nodes of a tree, the ``k`` features with the strongest evidence.

        Nodes are ordered from the root down. Other models have none.

        Examples
        --------
        >>> model = TextModel(TreeClassifier(ClassTree.from_newick("((cat,dog),oak);"), 0.1), TextFeatures("counts"))
        >>> _ = model.fit(["meow purr fur", "bark fur", "leaf", "leaf leaf"], ["cat", "dog", "oak", "oak"])
        >>> [[(branch.classes, branch.words[0][0]) for branch in node.branches] for node in model.words_by_node(1)]
        [[(['cat', 'dog'], 'fur'), (['oak'], 'leaf')], [(['cat'], 'meow'), (['dog'], 'bark')]]
        """
        if not isinstance(self.estimator, TreeClassifier):
            return []
        names, outputs, codes = self.names, self.outputs, self.estimator.tree_.paths()
        class_of = np.repeat(np.arange(len(outputs)), np.diff(codes.ptr))
        found = []
        for v, node in enumerate(self.estimator._nodes()[:nodes]):
            there = np.flatnonzero(codes.nodes == v)
            branches = []
            for b, row in enumerate(branch_rows(self.coef[node.rows])):
                classes = class_of[there[codes.branches[there] == b]].tolist()
                branches.append(Branch([outputs[c] for c in classes], _strongest(row, names, k)))
            found.append(NodeWords(v, branches))
        return found

    def contents(self) -> Contents:
        """The contents of the model's file.

        All groups are stored as long as they have at most 2,000,000 members in total. If there are more, the file has
        the 10,000 selected ones with the largest norms and the 10,000 removed ones with the largest weights;
        ``facts["groups"]`` has the total number and, as ``stored``, the number in the file.
        """
        from scipy.sparse import csr_array

        estimator = self.estimator
        plain = str | int | float | None
        parameters: dict[str, Any] = {
            name: value for name, value in estimator.get_params().items() if isinstance(value, plain)
        }
        parameters["penalty"] = PenaltySpec.stored(estimator.penalty)
        if isinstance(estimator.class_weight, Mapping):
            parameters["class_weight"] = {str(key): float(of) for key, of in estimator.class_weight.items()}
        facts, groups, copy_norms = self.facts, estimator.groups, self.copy_norms
        if isinstance(groups, Groups) and len(groups.members) > MOST_MEMBERSHIPS:
            counts = facts.get("groups") or _counted(groups, self.coef, copy_norms)
            kept = _foremost(groups, self.coef, copy_norms)
            groups, copy_norms = groups.subset(kept), None if copy_norms is None else copy_norms[kept]
            facts = {**facts, "groups": {**counts, "stored": len(groups)}}
        header = {"parameters": parameters, "facts": facts, "text": self.features is not None}
        tensors = {
            "intercept": np.atleast_1d(estimator.intercept_),
            **csr_tensors("coef", csr_array(self.coef)),
        }
        strings = {}
        if self.is_classifier:
            kind = {"i": "int", "u": "int", "f": "float", "b": "bool"}.get(
                estimator.classes_.dtype.kind, "str"
            )
            header["class_type"] = kind
            strings["classes"] = [str(label) for label in estimator.classes_]
        parts = {"features": self.features.parts()} if self.features else {}
        if isinstance(groups, Groups):
            parts["groups"] = groups.parts()
            tensors |= {} if copy_norms is None else {"copy_norms": copy_norms}
        if self.added is not None:
            parts["added"] = self.added.parts()
        if isinstance(estimator, TreeClassifier):
            tensors["lams"] = estimator.lams_
            parts["tree"] = estimator.tree_.parts()
        elif self.output_tree is not None:
            parts["tree"] = self.output_tree.parts()
        return Contents(header, tensors, strings, parts)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read a model file of any of the three kinds."""
        return cast(Self, load_task(path, "classify"))

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The model that a file holds."""
        features = TextFeatures.from_parts(file.part("features")) if file.fact("text", bool) else None
        added = Groups.from_parts(file.part("added")) if "added" in file.part_headers else None
        model = cls(_rebuilt_estimator(file), features, added)
        width = model.coef.shape[1]
        own = width if added is None else width - len(added)
        if (features and len(features.names) != own) or (added is not None and added.n_features != own):
            raise file.error("damaged: the number of weights does not match the features")
        model.facts = _checked_facts(file)
        if "groups" in file.part_headers:
            groups = Groups.from_parts(file.part("groups"))
            if groups.n_features != width:
                raise file.error(f"damaged: groups over {groups.n_features} features, but {width} weights")
            model.estimator.set_params(groups=groups)
            if "copy_norms" in file.tensors:
                norms = np.array(file.tensor("copy_norms", np.float64, low=0.0))
                if len(norms) != len(groups):
                    raise file.error("damaged: the number of copies does not match the groups")
                model.estimator.copy_norms_ = norms
        return model

    # -- the contract of models -----------------------------------------------------------------------

    def structures(self) -> Structures:
        """The structures for other models: its groups of features and its tree of classes, if it has them."""
        found: dict[str, Any] = {}
        if isinstance(self.estimator.groups, Groups):
            found["groups"] = lambda: self.estimator.groups
        if (tree := self.tree or self.output_tree) is not None:
            found["tree"] = lambda: tree
        return Structures(**found)

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.classify import views

        return Views(views.summary(self))

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, size, words, groups or the tree, and how the model judges documents."""
        from spinney.classify.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What the page of the model shows; see :func:`spinney.classify.report.report`."""
        from spinney.classify.report import report

        return Views(report(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """The label (or number) of each document: of a file or folder, of texts, or of the rows of a matrix."""
        from spinney.classify.scoring import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def plot_confusion(
        self, data: Any, settings: Settings | None = None, *, ax: Any = None, **given: Any
    ) -> Any:
        """Draw which classes of labelled documents are taken for which, with Matplotlib (extra ``plots``).

        Takes what :meth:`evaluate` takes, and returns the axes.
        """
        from spinney.classify.scoring import confusion

        return plot_confusion(confusion(self, data, settings_or(Evaluate, settings, given)), ax, of="class")

    def plot_path(self, ax: Any = None) -> Any:
        """Draw the score at each strength that ``fit`` tried, with Matplotlib (extra ``plots``); returns the axes.

        For the weights along a path, see :func:`spinney.classify.recipes.path`.
        """
        from spinney.classify.report import choice_views

        return plot_choice(choice_views(self), ax)

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Scores on labelled documents: of a file or folder, or a pair of texts (or a matrix) and labels."""
        from spinney.classify.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why documents have their labels: what words, groups and sentences add, or the path down a tree."""
        from spinney.classify.explaining import explained

        return Views(explained(self, data, settings_or(Explain, settings, given)))


def _strongest(row: Any, names: Sequence[str], k: int, signed: bool = True) -> list[tuple[str, float]]:
    """The features with the ``k`` largest weights, those above 0; with ``signed=False``, by magnitude."""
    size = row if signed else np.abs(row)
    # Words of one document alone have equal weights, but for the rounding of the solver: they keep their own order.
    alike = np.round(size / max(float(np.max(np.abs(row), initial=0.0)), 1e-300), 4)
    order = np.argsort(-alike, kind="stable")[:k]
    return [(names[j], float(row[j])) for j in order if size[j] > 0]


def branch_rows(coef: Any) -> Any:
    """The weights of each alternative, also where two share them."""
    return np.vstack([-coef, coef]) if len(coef) == 1 else coef


def _tree_facts(estimator: TreeClassifier, X: Any) -> dict[str, Any]:
    """Facts about the fits of all nodes, and the number of dot products per document of ``X``."""
    least, most = float(estimator.lams_.min()), float(estimator.lams_.max())
    strengths = {"lam": least} if least == most else {"lam_least": least, "lam_most": most}
    penalty = estimator.penalty
    said = [penalty if isinstance(penalty, str) else penalty.describe()]
    said += [f"{name} = {value:g}" for name, value in (("ℓ1", estimator.l1), ("ℓ2", estimator.l2)) if value]
    return {
        **strengths,
        **{name: getattr(estimator, attribute) for name, attribute in TREE_FACTS.items()},
        "solver": estimator.solver,
        "penalty": ", ".join(said) + ", at each node",
        "tree_depth": estimator.tree_.depth,
        "tree_nodes": len(estimator.lams_),
        "dot_products": float(estimator.dot_products(X).mean()),
    }


def _counted(groups: Groups, coef: Any, copy_norms: Any) -> dict[str, Any]:
    """The numbers of groups and members, and for each family how many groups are selected and removed.

    Where the copies of ADMM decide, also how many groups have a weight.
    """
    found = selection(coef, groups, copy_norms)
    kept, selected = found.kept, int(found.kept.sum())
    weighty = {} if copy_norms is None else {"n_weighty": int(np.count_nonzero(found.active))}
    families = {family: list(pair) for family, pair in family_counts(groups.names or (), kept).items()}
    return {
        "total": len(groups),
        "memberships": len(groups.members),
        "n_selected": selected,
        "n_removed": len(groups) - selected,
        **weighty,
        "families": families,
    }


def _foremost(groups: Groups, coef: Any, copy_norms: Any) -> Any:
    """Which groups a file stores if there are too many."""
    first, last = foremost(groups, selection(coef, groups, copy_norms), MOST_GROUPS)
    kept = np.zeros(len(groups), dtype=bool)
    kept[first + last] = True
    return kept


def _checked_facts(file: ModelFile) -> dict[str, Any]:
    """Facts, after checking those that other code relies on."""
    facts = file.fact("facts", dict)
    counts = facts.get("groups", {})
    if not isinstance(counts, dict) or (counts and not _are_counts(counts)):
        raise file.error("damaged: the group counts are not counts")
    return facts


def _are_counts(counts: dict[str, Any]) -> bool:
    names = ("total", "memberships", "n_selected", "n_removed")
    numbers = [counts.get("stored", 0), counts.get("n_weighty", 0), *(counts.get(name) for name in names)]
    families = counts.get("families")
    if not isinstance(families, dict):
        return False
    for pair in families.values():
        numbers += pair if isinstance(pair, list) and len(pair) == 2 else [None]
    return all(isinstance(number, int) for number in numbers)


def _rebuilt_estimator(file: ModelFile) -> Estimator:
    try:
        coef = file.csr("coef").toarray()
    except MemoryError:
        raise file.error("damaged: more weights than fit into memory") from None
    intercept = np.array(file.tensor("intercept", np.float64))
    if len(coef) != len(intercept) or not len(coef):
        raise file.error("damaged: the number of intercepts does not match the weights")
    parameters = file.fact("parameters", dict)
    with file.checked():
        parameters["penalty"] = PenaltySpec.restored(parameters.get("penalty", "l2"))
    if file.kind == "classify/TreeClassifier":
        return _rebuilt_tree(file, parameters, coef, intercept)
    classifier = file.kind == "classify/LinearClassifier"
    estimator_class: Any = LinearClassifier if classifier else LinearRegressor
    if "cv" in parameters:
        estimator_class = LinearClassifierCV if classifier else LinearRegressorCV
    known = set(estimator_class._get_param_names()) - {"groups", "class_tree"}
    estimator = estimator_class(**{name: value for name, value in parameters.items() if name in known})
    if classifier:
        estimator.classes_ = _labels(file)
        if len(estimator.classes_) != (2 if len(coef) == 1 else len(coef)):
            raise file.error("damaged: the number of classes does not match the weights")
        if "tree" in file.part_headers:
            tree = ClassTree.from_parts(file.part("tree"))
            if tree.names != [str(label) for label in estimator.classes_]:
                raise file.error("damaged: the tree does not match the classes")
            estimator.set_params(class_tree=tree)
            estimator.class_tree_ = tree
    estimator._store(coef, intercept)
    estimator.n_features_in_ = coef.shape[1]
    for name, attribute in FACTS.items():
        setattr(estimator, attribute, file.fact("facts", dict).get(name))
    return estimator  # type: ignore[no-any-return]


def _rebuilt_tree(file: ModelFile, parameters: dict[str, Any], coef: Any, intercept: Any) -> TreeClassifier:
    tree, classes = ClassTree.from_parts(file.part("tree")), _labels(file)
    n, inner = len(classes), tree.parent[len(tree) :]
    if tree.names != [str(label) for label in classes] or n < 2 or not np.all(classes[1:] > classes[:-1]):
        raise file.error(
            "damaged: the tree does not match the classes, which must be sorted and at least two"
        )
    if inner[0] != -1 or np.any(inner[1:] >= np.arange(n + 1, n + len(inner))):
        raise file.error("damaged: the nodes of the tree are not numbered from the root down")
    arity = tree.paths().arity
    if arity.min() < 2:
        raise file.error("damaged: a node of the tree has a single branch")
    if len(coef) != int(np.where(arity == 2, 1, arity).sum()):
        raise file.error("damaged: the weights do not match the nodes of the tree")
    lams = np.array(file.tensor("lams", np.float64))
    if len(lams) != len(arity):
        raise file.error("damaged: the number of strengths does not match the nodes")
    known = set(TreeClassifier._get_param_names()) - {"groups", "tree"}
    estimator = TreeClassifier(**{name: value for name, value in parameters.items() if name in known})
    estimator.set_params(tree=tree)
    estimator.classes_, estimator.tree_, estimator.lams_ = classes, tree, lams
    estimator.coef_, estimator.intercept_, estimator.n_features_in_ = coef, intercept, coef.shape[1]
    for name, attribute in TREE_FACTS.items():
        setattr(estimator, attribute, file.fact("facts", dict).get(name))
    return estimator


def _labels(file: ModelFile) -> Any:
    texts = file.texts("classes")
    kind = file.fact("class_type", str)
    if kind == "bool":
        return np.array([text == "True" for text in texts])
    if kind not in ("int", "float", "str"):
        raise file.error(f"damaged: unknown type of class labels: {kind!r}")
    try:
        return (
            np.array(texts)
            if kind == "str"
            else np.array(texts, dtype=float if kind == "float" else np.int64)
        )
    except (ValueError, OverflowError):
        raise file.error("damaged: the class labels are not numbers") from None
