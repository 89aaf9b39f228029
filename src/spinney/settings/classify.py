"""Settings of document classifiers and regressors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from spinney.errors import SettingError, listed
from spinney.settings import (
    AMOUNT,
    COUNT,
    DATA,
    FEATURES,
    OUTPUT,
    PENALTY,
    ROUNDS,
    TRAINING,
    Above,
    AtLeast,
    AtMost,
    Below,
    Common,
    File,
    Hidden,
    OneOf,
    Settings,
    Spread,
    methods,
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.optim import PENALTIES, SOLVERS
from spinney.settings.text import Documents, LabelledDocuments
from spinney.settings.unlabelled import Unlabelled

#: Families of groups of words, in the order in which help lists them.
FAMILIES = ("sentence", "document", "parse", "brown", "lda", "tomotopy", "moments", "topics", "neighbours")

#: Trees of classes that are learned from the features of the training documents, and those that need no features.
LEARNED_TREES = ("spec", "canonical", "diff", "obyo", "hung", "conf", "rand")
CLASS_TREES = (*LEARNED_TREES, "huffman", "balanced")

#: What help lists of the many penalties, families of groups and solvers.
_PENALTIES = ("l1", "l2", "group", "overlap")
_FAMILIES = ("sentence", "parse", "brown", "lda", "neighbours")
_SOLVERS = ("auto", "cd", "lbfgs", "fista", "admm")


@dataclass(frozen=True, kw_only=True)
class Words(Settings):
    """Words as features."""

    panel = FEATURES
    features: Annotated[
        Literal["tfidf", "counts", "binary", "values"],
        OneOf(("tfidf", "counts", "binary", "values"), shown=("tfidf", "counts", "values")),
        "Weighting of words.",
    ] = "tfidf"
    tokens: Annotated[
        str | None, OneOf(("words", "all", "spaces", "spacy:en"), open=True), "Kind of tokens."
    ] = None
    ngrams: Annotated[int, AtLeast(1), AtMost(100), "Maximum length of word n-grams."] = 1
    min_count: Annotated[int, AtLeast(1), COUNT, "Drop words that fewer documents contain."] = 1
    lowercase: Annotated[bool, "Fold words to lower case."] = True
    stop_words: Annotated[Literal["english"] | None, "Drop function words."] = None

    def check(self) -> None:
        super().check()
        if self.features == "values":
            self.no_effect("tokens", "ngrams", "lowercase", "stop_words", when="with {features} values")
        known = ("words", "all", "spaces", "spacy:NAME")
        if self.tokens is not None and self.tokens not in known and not self.tokens.startswith("spacy:"):
            choices = listed(known, "or")
            raise SettingError(
                "{tokens} must be {choices}, not {given}", choices=choices, given=repr(self.tokens)
            )


@dataclass(frozen=True, kw_only=True)
class Grouping(Settings):
    """Groups of words, for the penalties that select groups."""

    panel = FEATURES
    groups: Annotated[
        str | Any | None,
        OneOf(FAMILIES, open=True, shown=_FAMILIES),
        "Groups of words (lda:50,brown:FILE), or a JSON file.",
    ] = None
    group_features: Annotated[
        str | Any | None,
        OneOf(FAMILIES, open=True, shown=_FAMILIES),
        Hidden,
        "A further feature for each group of words, instead of groups.",
    ] = None
    most_words: Annotated[
        int | None,
        AtLeast(2),
        Hidden,
        COUNT,
        "For group_features: drop larger groups (default: 49 for brown).",
    ] = None
    group_weights: Annotated[
        Literal["sqrt", "unit"] | None, Hidden, "Group weights (default: sqrt of the size)."
    ] = None
    strengths: Annotated[str | None, Hidden, "Factors per family of groups: sentence=1,brown=0.5."] = None
    neighbours: Annotated[
        int | None, AtLeast(1), Hidden, COUNT, "Size of a group of neighbours (default: 10)."
    ] = None
    topic_words: Annotated[
        int | None, AtLeast(2), Hidden, COUNT, "For groups of topics: words of a group (default: 10)."
    ] = None
    topic_passes: Annotated[
        int | None,
        AtLeast(1),
        Hidden,
        ROUNDS,
        "For groups lda and tomotopy: passes (default: to convergence, 100).",
    ] = None
    function_words: Annotated[
        bool, Hidden, "For groups of topics: leave function words and very common words in."
    ] = False
    keep: Annotated[tuple[str, ...] | None, "For groups parse: keep constituents with these labels."] = None
    parses: Annotated[str | Any | None, File, "For groups parse: bracketed trees of the sentences."] = None
    parser: Annotated[str | Any | None, File, "For groups parse: a model of parse or pipeline fit."] = None

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The groups among which a search is to choose."""
        return group_alternatives(getattr(self, "space", None))

    def check(self) -> None:
        super().check()
        for name in ("groups", "group_features", "strengths") if self.alternatives else ():
            if getattr(self, name) is not None:
                raise SettingError(f"{{space}} chooses among groups: leave out {{{name}}}")
        if self.groups is not None and self.group_features is not None:
            raise SettingError(
                "{groups} and {group_features} use the same structure in two ways: give only one of them"
            )
        if self.most_words is not None and self.group_features is None:
            raise SettingError("{most_words} needs {group_features}")
        kinds = _kinds(self.groups).union(*map(_kinds, self.alternatives))
        either = kinds | _kinds(self.group_features)
        for name, kind in _NEEDS.items():
            if getattr(self, name) is not None and kind not in either:
                raise SettingError(f"{{{name}}} needs {{groups}} {kind}")
        for name, of in _TOPICS.items():
            if getattr(self, name) not in (None, False) and not either & set(of):
                raise SettingError(f"{{{name}}} needs {{groups}} of topics: {listed(of, 'or')}")
        for name in ("group_weights", "strengths"):
            if getattr(self, name) is not None and not kinds:
                raise SettingError(f"{{{name}}} needs {{groups}} made from the text")
        if self.parses is not None and self.parser is not None:
            raise SettingError("{parses} and {parser} both provide the trees: give only one of them")


def group_alternatives(space: str | None) -> tuple[str, ...]:
    """The families of groups among which a search space lets a search choose.

    Examples
    --------
    >>> group_alternatives("groups=sentence|lda:50,brown; lam=0.1,1")
    ('sentence', 'lda:50,brown')
    """
    for part in (space or "").split(";"):
        name, _, values = part.partition("=")
        if name.strip() == "groups":
            return tuple(value.strip() for value in values.split("|"))
    return ()


def _kinds(families: Any) -> set[str]:
    """The families that a setting names."""
    parts = families.split(",") if isinstance(families, str) else []
    return {part.strip().partition(":")[0] for part in parts}


#: Settings of topics, and the families that they are for.
_TOPICS = {
    "topic_words": ("lda", "tomotopy", "moments", "topics"),
    "topic_passes": ("lda", "tomotopy"),
    "function_words": ("lda", "tomotopy", "moments"),
}
_NEEDS = {"neighbours": "neighbours", "keep": "parse", "parses": "parse", "parser": "parse"}


@dataclass(frozen=True, kw_only=True)
class Penalised(Settings):
    """The penalty, and its further strengths."""

    panel = PENALTY
    penalty: Annotated[
        str | Any | None,
        OneOf(PENALTIES, open=True, shown=_PENALTIES),
        "Penalty (default: elasticnet).",
    ] = None
    l1: Annotated[float | None, AtLeast(0), AMOUNT, "The ℓ1 part of group penalties."] = None
    l2: Annotated[
        float | None, AtLeast(0), AMOUNT, "Ridge part of elasticnet (default: as λ) and groups."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Related(Penalised):
    """A tree of classes, for the penalty on it."""

    panel = TRAINING
    class_tree: Annotated[
        str | Any | None,
        OneOf(CLASS_TREES, open=True),
        File,
        Hidden,
        "For the penalty tree-output: class tree, or a file that holds one.",
    ] = None

    def check(self) -> None:
        super().check()
        grouped = self.penalty == "tree-output"
        if self.class_tree is not None and not grouped:
            raise SettingError("{class_tree} needs the penalty tree-output, or the method tree")
        if grouped and self.class_tree is None:
            raise SettingError("{penalty} tree-output needs a tree of classes: give {class_tree}")


@dataclass(frozen=True, kw_only=True)
class Strength(Penalised):
    """The strength of the penalty."""

    panel = PENALTY
    lam: Annotated[float | None, AtLeast(0), AMOUNT, "Strength λ (default: chosen; see cv and dev)."] = None


@dataclass(frozen=True, kw_only=True)
class Choosing(Strength):
    """How the strengths are chosen."""

    panel = PENALTY
    lam_ratio: Annotated[
        float | None, Above(0), AtMost(1), "λ as a fraction of the λ that empties the model."
    ] = None
    cv: Annotated[
        int | None, AtLeast(2), COUNT, "Folds of the cross-validation that chooses λ (default: 5)."
    ] = None
    dev: Annotated[
        str | float | Any | None, File, "Documents to choose strengths on, or a fraction: 0.2."
    ] = None
    tune: Annotated[Literal["grid", "random", "optuna"] | None, "Search method (default: grid)."] = None
    trials: Annotated[
        int | None, AtLeast(1), ROUNDS, "Number of trials of random and optuna (default: 30)."
    ] = None
    space: Annotated[str | None, 'Search space: "lam=0.1,1;l2=0.1..1;groups=lda|brown".'] = None

    def as_dict(self) -> dict[str, Any]:
        found = super().as_dict()
        return found if isinstance(self.dev, str | float | None) else {**found, "dev": "(in memory)"}

    def check(self) -> None:
        super().check()
        if sum(value is not None for value in (self.lam, self.lam_ratio, self.cv)) > 1:
            raise SettingError("{lam}, {lam_ratio} and {cv} each determine λ: give only one of them")
        if self.dev is None:
            for name in ("tune", "trials", "space"):
                if getattr(self, name) is not None:
                    raise SettingError(
                        f"{{{name}}} needs held-out documents to choose on: give {{dev}}, a file or a fraction "
                        "such as 0.2"
                    )
        elif self.cv is not None:
            raise SettingError("{cv} and {dev} both choose λ: give only one of them")
        if self.dev is not None and self.tune in (None, "grid") and self.trials is not None:
            raise SettingError("{tune} grid tries every combination: {trials} is only for random and optuna")


@dataclass(frozen=True, kw_only=True)
class Solving(Settings):
    """The solver."""

    panel = TRAINING
    solver: Annotated[Any, OneOf(SOLVERS, shown=_SOLVERS), "Solver."] = "auto"
    tol: Annotated[float, Above(0), AMOUNT, "Distance from the optimum to stop at."] = 1e-5
    max_iter: Annotated[int, AtLeast(1), ROUNDS, "Maximum number of iterations."] = 1000


@dataclass(frozen=True, kw_only=True)
class _Method(Settings):
    panel = TRAINING
    method: Annotated[Literal["linear", "tree"], "Kind of model."] = "linear"


@dataclass(frozen=True, kw_only=True)
class _Weighted(Settings):
    panel = TRAINING
    class_weight: Annotated[Literal["balanced"] | None, "Weights of classes."] = None


@dataclass(frozen=True, kw_only=True)
class _Linear(_Weighted):
    panel = TRAINING
    loss: Annotated[Literal["log", "squared-hinge"] | None, "Loss of a classifier (default: log)."] = None
    regression: Annotated[bool, "Labels are numbers: fit a regressor."] = False
    rho: Annotated[
        float | None, Above(0), AMOUNT, Hidden, "For admm: penalty parameter (default: adapted)."
    ] = None
    change_tol: Annotated[
        float | None,
        Above(0),
        Below(1),
        Hidden,
        "For admm: also stop when w changes by less than this share.",
    ] = None


@dataclass(frozen=True, kw_only=True)
class Linear(
    Unlabelled, Related, Choosing, Grouping, Words, LabelledDocuments, _Linear, Solving, _Method, Spread
):
    """Linear classifiers and regressors."""

    panel = TRAINING
    method: Annotated[Literal["linear"], "Kind of model."] = "linear"
    init: Annotated[str | Any | None, File, "Model to start from."] = None
    unlabelled: Annotated[Any | None, File, "Unlabelled documents to learn from as well."] = None
    criterion: Annotated[
        Literal["weighted", "shift", "entropy", "self-training"] | None,
        OneOf(["weighted", "shift", "entropy", "self-training"], shown=["weighted"]),
        "Use of unlabelled data (default: the best).",
    ] = None
    criterion_strength: Annotated[
        float | None,
        AtLeast(0),
        Hidden,
        AMOUNT,
        "Exponent of weights, weight of the entropy, or least confidence.",
    ] = None

    def check(self) -> None:
        super().check()
        alone = self.tune is None and self.space is None and self.groups is None and self.unlabelled is None
        for name in ("lam", "lam_ratio"):
            if alone and self.dev is not None and getattr(self, name) is not None:
                raise SettingError(f"{{{name}}} and {{dev}} both determine λ: give only one of them")
        if self.penalty == "none":
            self.no_effect("lam", "lam_ratio", "cv", "l1", "l2", when="with {penalty} none")
        if self.dev is not None and self.init is not None:
            raise SettingError("{init} cannot be combined with {dev}, which fits every trial from scratch")
        for name in ("rho", "change_tol"):
            if self.cv is not None and getattr(self, name) is not None:
                raise SettingError(f"{{{name}}} cannot be combined with {{cv}}: choose λ with {{dev}}")
        if self.regression and self.loss is not None:
            raise SettingError("{regression} has the squared loss: leave out {loss}")
        for name in ("class_weight", "class_tree"):
            if self.regression and getattr(self, name) is not None:
                raise SettingError(f"{{regression}} has no classes: leave out {{{name}}}")
        if self.unlabelled is not None:
            for name, given in (("regression", self.regression), ("init", self.init is not None)):
                if given:
                    raise SettingError(f"{{unlabelled}} cannot be combined with {{{name}}}")
            if self.loss == "squared-hinge":
                raise SettingError("{unlabelled} needs probabilities: leave out {loss} squared-hinge")


@dataclass(frozen=True, kw_only=True)
class ClassTree(Strength, Grouping, Words, LabelledDocuments, _Weighted, Solving, _Method, Spread):
    """Classifiers along a tree of classes, with a small model at each node."""

    panel = TRAINING
    method: Annotated[Literal["tree"], "Kind of model."] = "tree"
    class_tree: Annotated[
        str | Any, OneOf(CLASS_TREES, open=True), File, "Class tree, or a file that holds one."
    ] = "spec"
    depth: Annotated[int | None, AtLeast(0), COUNT, "Levels of a learned tree (default: all)."] = None
    delta: Annotated[float, Above(0), AMOUNT, "Ridge of the regressions that a tree is learned from."] = 1.0
    exact: Annotated[bool, "Fit these regressions anew to the samples of each node."] = True
    policy: Annotated[
        Literal["single", "indep", "gamma"] | None,
        "Strengths of nodes: one λ, one each, or a prior (default: indep unless lam or dev is given).",
    ] = None
    cv: Annotated[int | None, AtLeast(2), COUNT, "Folds by which each node chooses its λ (default: 3)."] = (
        None
    )
    dev: Annotated[str | float | Any | None, File, "Documents to choose one λ on, or a fraction: 0.2."] = None

    def as_dict(self) -> dict[str, Any]:
        found = super().as_dict()
        return found if isinstance(self.dev, str | float | None) else {**found, "dev": "(in memory)"}

    def check(self) -> None:
        super().check()
        if sum(value is not None for value in (self.lam, self.cv, self.dev)) > 1:
            raise SettingError("{lam}, {cv} and {dev} each determine λ: give only one of them")
        if self.policy == "single" and self.lam is None and self.dev is None:
            raise SettingError(
                "{policy} single needs a λ for all nodes: give {lam}, or {dev} to choose it on"
            )
        if self.policy in ("indep", "gamma") and self.dev is not None:
            raise SettingError(f"{{dev}} chooses one λ for all nodes: leave out {{policy}} {self.policy}")
        if self.policy == "indep" and self.lam is not None:
            raise SettingError("{policy} indep chooses the λ of each node: leave out {lam}")
        if self.penalty == "tree-output":
            raise SettingError(
                "{penalty} tree-output is for one model of all classes: leave out {method} tree"
            )
        if self.policy == "gamma":
            self.no_effect("cv", when="with {policy} gamma")
        if not isinstance(self.class_tree, str) or self.class_tree not in LEARNED_TREES:
            self.no_effect("depth", "delta", "exact", when="unless {class_tree} is learned")


FIT = methods(Linear, ClassTree)


@dataclass(frozen=True, kw_only=True)
class Abstaining(Settings):
    """When a model had better give no answer."""

    panel = OUTPUT
    abstain: Annotated[
        float | None, AtLeast(0), AtMost(1), "Give no label (_) where its probability is lower."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Apply(Documents, Abstaining, Common):
    """``apply``: the label of each document."""

    panel = OUTPUT
    proba: Annotated[bool, "Add the probability of each class."] = False


@dataclass(frozen=True, kw_only=True)
class Evaluate(LabelledDocuments, Abstaining, Common):
    """``eval``: scores on labelled documents."""


@dataclass(frozen=True, kw_only=True)
class Explain(Documents, Explained, Common):
    """``explain``: why documents have their labels."""


@dataclass(frozen=True, kw_only=True)
class _Shown(Settings):
    panel = DATA
    data: Annotated[str | Any | None, File, "Documents to explain sentence by sentence."] = None
    documents: Annotated[int | None, AtLeast(1), COUNT, "Number of documents to explain (default: 3)."] = None

    def check(self) -> None:
        super().check()
        if self.data is None and self.documents is not None:
            raise SettingError("{documents} needs {data}")


@dataclass(frozen=True, kw_only=True)
class Inspect(Documents, _Shown, Common):
    """``inspect``: what a model learned, and how it judges documents."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of words per class, groups or nodes to show."] = 10


@dataclass(frozen=True, kw_only=True)
class Path(Related, Grouping, Words, LabelledDocuments, _Linear, Solving, Spread):
    """``path``: models at decreasing strengths of the penalty."""

    panel = TRAINING
    dev: Annotated[
        str | float | Any | None, File, "Documents to score each model on, or a fraction: 0.2."
    ] = None
    points: Annotated[int, AtLeast(2), AtMost(10_000), "Number of strengths."] = 20
    ratio: Annotated[float, Above(0), Below(1), "Last strength as a fraction of the first."] = 1e-2
    tol: Annotated[float, Above(0), AMOUNT, "Distance from the optimum at which to stop."] = 1e-4
