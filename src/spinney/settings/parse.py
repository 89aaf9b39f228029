"""Settings of parsers: grammars with latent states, products of them, head automata, and tree CRFs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from spinney.errors import SettingError
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
    OneOf,
    Repeated,
    Settings,
    Spread,
    methods,
    settings_of,
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import Decoding

Signs = Literal["abs", "raw", "normalise", "clip"]
Decoder = Literal["max-rule", "mbr", "free", "viterbi"]
METHOD = "Method, or several grammars joined by plus signs."
STATES = "Maximum number of latent states per label; spectral: auto is what is best for each on dev."


@dataclass(frozen=True, kw_only=True)
class _HeldOut(Decoding):
    panel = DATA
    dev: Annotated[
        tuple[str, ...], Repeated, File, "Held-out trees, to choose the best iteration, cycle or smoothing."
    ] = ()


# ------------------------------------------------------------------------------------------- grammars


@dataclass(frozen=True, kw_only=True)
class _Trees(_HeldOut):
    """How trees are read."""

    panel = DATA
    clean: Annotated[bool, "Remove traces, function tags and outer brackets from trees."] = True
    keep_functions: Annotated[bool, "Keep function tags: NP-SBJ is a label of its own."] = False

    def check(self) -> None:
        super().check()
        if self.keep_functions and not self.clean:
            raise SettingError("without {clean} trees are kept whole: leave out {keep_functions}")


@dataclass(frozen=True, kw_only=True)
class _Labels(_Trees):
    """What the labels of a grammar are."""

    panel = FEATURES
    horizontal: Annotated[
        int | Literal["all", "auto"],
        AtLeast(0),
        AtMost(1000),
        "Horizontal Markov order: siblings in the label of a partial phrase (auto: 0; pcfg: 1).",
    ] = "auto"
    vertical: Annotated[
        int,
        AtLeast(1),
        AtMost(1000),
        "Vertical Markov order: 1 is the phrase itself, 2 adds its parent, and so on.",
    ] = 1
    unaries: Annotated[
        Literal["one", "collapse"], "Unary rules: one per span, or none, with chains collapsed into labels."
    ] = "one"
    branching: Annotated[
        Literal["auto", "head", "left", "right"],
        "Where binarisation of a long phrase starts (auto: left; pcfg: head).",
    ] = "auto"
    rare: Annotated[int, AtLeast(0), COUNT, "Words with at most this many tokens model unknown words."] = 5


@dataclass(frozen=True, kw_only=True)
class _Grammar(_Labels):
    """How a grammar parses."""

    panel = TRAINING
    decoder: Annotated[Decoder, "Decoding criterion."] = "max-rule"
    prune: Annotated[float, AtLeast(0), Below(1), "Prune labels and rules less probable in the PCFG."] = 1e-4


@dataclass(frozen=True, kw_only=True)
class _States(_Grammar):
    """What all grammars with latent states share."""

    panel = TRAINING
    states: Annotated[int, AtLeast(1), AtMost(4096), STATES] = 16
    grammars: Annotated[
        int,
        AtLeast(1),
        AtMost(1000),
        "Number of grammars per method, from different seeds, that are combined.",
    ] = 1
    compress: Annotated[
        float | None, Above(0), Below(1), "Relative error to which rule tensors are compressed."
    ] = None

    def check(self) -> None:
        super().check()
        if self.decoder == "viterbi":
            raise SettingError("{decoder} viterbi needs a grammar without states: use {method} pcfg")


@dataclass(frozen=True, kw_only=True)
class _Nodes(Settings):
    """Features of tree nodes."""

    panel = FEATURES
    features: Annotated[Literal["full", "rule", "fragments"], "Features of tree nodes."] = "full"
    kappa: Annotated[float, AtLeast(0), AMOUNT, "Pseudo-count in the scaling of features."] = 5.0


@dataclass(frozen=True, kw_only=True)
class _Moments(_Nodes):
    """How moments are smoothed."""

    panel = TRAINING
    rule_smoothing: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "C: the moment of a rule seen n times has the weight √n/(C+√n), those of lower order the rest "
        "(default: 10, or chosen on dev; clustering: 3).",
    ] = None
    word_smoothing: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "The same C for words (default: 2, or chosen on dev; clustering: 1).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Cutoff(Settings):
    panel = TRAINING
    cutoff: Annotated[
        float | None,
        AtLeast(0),
        Below(1),
        "Drop singular values up to this fraction of the largest (default: 1e-6, or chosen on dev).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Signed(Settings):
    panel = TRAINING
    signs: Annotated[Signs, "How to handle negative marginals."] = "abs"


@dataclass(frozen=True, kw_only=True)
class _Iterated(Settings):
    panel = TRAINING
    max_iter: Annotated[int, AtLeast(1), ROUNDS, "Maximum number of EM iterations."] = 60


@dataclass(frozen=True, kw_only=True)
class _Polished(Settings):
    panel = TRAINING
    polish: Annotated[
        int | None,
        AtLeast(0),
        ROUNDS,
        "EM iterations afterwards (default: 5; spectral, and clustering of under 3000 trees without dev: 0).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class Pcfg(_Grammar, Spread):
    """A probabilistic grammar without states."""

    panel = TRAINING
    method: Annotated[Literal["pcfg"], METHOD] = "pcfg"


@dataclass(frozen=True, kw_only=True)
class SplitMerge(_States, Spread):
    """States that are split and merged again between runs of EM; their number is rounded up to a power of two."""

    panel = TRAINING
    method: Annotated[Literal["split-merge"], METHOD] = "split-merge"


@dataclass(frozen=True, kw_only=True)
class Em(_Iterated, _States, Spread):
    """EM from a random start, with the same number of states for every label."""

    panel = TRAINING
    method: Annotated[Literal["em"], METHOD] = "em"


@dataclass(frozen=True, kw_only=True)
class Spectral(_Moments, _Cutoff, _Signed, _Polished, _States, Spread):
    """Spectral moments, without iterations unless EM is asked for."""

    panel = TRAINING
    method: Annotated[Literal["spectral"], METHOD] = "spectral"
    states: Annotated[int | Literal["auto"], AtLeast(1), AtMost(4096), STATES] = 16  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class Clustering(_Moments, _Polished, _States, Spread):
    """Clusters of spectral vectors as states, then a little EM."""

    panel = TRAINING
    method: Annotated[Literal["clustering"], METHOD] = "clustering"


@dataclass(frozen=True, kw_only=True)
class Pivots(_Polished, _States, Spread):
    """States from pivot features, then a little EM."""

    panel = TRAINING
    method: Annotated[Literal["pivots"], METHOD] = "pivots"


@dataclass(frozen=True, kw_only=True)
class Product(_Moments, _Cutoff, _Signed, _Iterated, _Polished, _States, Spread):
    """A product of grammars of several methods."""

    panel = TRAINING
    method: Annotated[str, "Methods of grammars, joined by plus signs."] = "spectral+clustering"

    def check(self) -> None:
        super().check()
        if not is_product(self.method):
            known, wrong = ", ".join(GRAMMARS), repr(self.method)
            raise SettingError(
                "{method} must be several of {known}, joined by +, not {wrong}", known=known, wrong=wrong
            )
        taken = {s.name for part in self.method.split("+") for s in settings_of(GRAMMARS[part])}
        for setting in settings_of(type(self)):
            if setting.name not in taken and getattr(self, setting.name) != setting.default:
                raise SettingError(
                    f"{{{setting.name}}} is not a setting of the methods {{several}}", several=self.method
                )


def is_product(method: object) -> bool:
    """Whether a method names several methods of grammars, joined by plus signs.

    Examples
    --------
    >>> is_product("spectral+clustering"), is_product("spectral"), is_product("spectral+magic")
    (True, False, False)
    """
    parts = method.split("+") if isinstance(method, str) else []
    return len(parts) > 1 and all(part in GRAMMARS for part in parts)


class _Methods(dict[str, type[Settings]]):
    """All methods by name, and products of grammars, whose names are joined by plus signs."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or is_product(name)

    def __missing__(self, name: str) -> type[Settings]:
        return Product


#: Methods of learning a grammar; the first is the default.
GRAMMARS = _Methods(methods(Clustering, Spectral, SplitMerge, Em, Pivots, Pcfg))

# -------------------------------------------------------------------------------------- head automata


@dataclass(frozen=True, kw_only=True)
class AnyAutomata(_HeldOut, Spread):
    """What all head automata share."""

    panel = TRAINING
    column: Annotated[Literal["upos", "xpos"], "Column of CoNLL-U that holds the tags."] = "upos"
    smoothing: Annotated[float, AtLeast(0), AMOUNT, "Weight of statistics pooled over all heads."] = 10.0
    single_root: Annotated[bool, "Give every sentence exactly one root."] = True
    rerank: Annotated[
        int,
        AtLeast(0),
        AtMost(1000),
        "Choose among this many trees by latent states of whole trees (0: do not).",
    ] = 0
    rerank_states: Annotated[int, AtLeast(1), AtMost(64), "Latent states of words in them."] = 8
    rerank_weight: Annotated[float, Above(0), AMOUNT, "Weight of their log-probability."] = 0.5

    def check(self) -> None:
        super().check()
        if not self.rerank:
            self.no_effect("rerank_states", "rerank_weight", when="without {rerank}")
        elif not self.single_root:
            raise SettingError("{rerank} is for trees with one root: leave out {single_root}")


@dataclass(frozen=True, kw_only=True)
class _AutomatonStates(AnyAutomata):
    panel = TRAINING
    states: Annotated[int, AtLeast(1), AtMost(4096), "Maximum number of states per automaton."] = 8


@dataclass(frozen=True, kw_only=True)
class Automata(_Signed, _AutomatonStates):
    """Head automata with hidden states, from spectral moments."""

    panel = TRAINING
    method: Annotated[Literal["automata"], "Method."] = "automata"
    shrinkage: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Tokens of a modifier at which half of its history counts (default: 300, or chosen on dev).",
    ] = None
    boundaries: Annotated[bool, "Treat the ends of a sequence of modifiers as symbols."] = True
    pseudo_count: Annotated[
        float | None, AtLeast(0), AMOUNT, "Pseudo-count in the scaling before the SVD."
    ] = 0.01
    cutoff: Annotated[
        float | None,
        AtLeast(0),
        Below(1),
        "Drop singular values up to this fraction of the largest (default: 0.05, or chosen on dev).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class AutomataEm(_AutomatonStates):
    """Head automata with hidden states, by EM."""

    panel = TRAINING
    method: Annotated[Literal["automata-em"], "Method."] = "automata-em"
    max_iter: Annotated[int, AtLeast(0), ROUNDS, "Number of EM iterations."] = 30


@dataclass(frozen=True, kw_only=True)
class AutomataBaseline(AnyAutomata):
    """Head automata that condition on the previous modifier, or on none."""

    panel = TRAINING
    method: Annotated[Literal["automata-bigram", "automata-deterministic"], "Method."] = "automata-bigram"


AUTOMATA = methods(Automata, AutomataEm, AutomataBaseline)

# ------------------------------------------------------------------------------------------ tree CRFs


@dataclass(frozen=True, kw_only=True)
class _ArcFeatures(_HeldOut):
    """What a tree CRF sees of arcs."""

    panel = FEATURES
    templates: Annotated[str | None, File, "Feature templates (default: built in)."] = None
    rich: Annotated[bool | None, "More of the built-in templates (default: from 5,000 sentences on)."] = None
    classes: Annotated[tuple[Any, ...], Repeated, File, "Word classes as features: NAME=FILE."] = ()
    vectors: Annotated[
        tuple[Any, ...],
        Repeated,
        File,
        "Word vectors as features, by the signs of their dimensions: NAME=FILE.",
    ] = ()
    rough: Annotated[
        float,
        AtLeast(0),
        Below(1),
        AMOUNT,
        "Share of the rough model in the scores of arcs; with 0 it only chooses candidates.",
    ] = 0.15

    def check(self) -> None:
        super().check()
        self.need_names("classes", "vectors")
        if self.templates is not None:
            self.no_effect("rich", when="with {templates}, which has all there are")


@dataclass(frozen=True, kw_only=True)
class _TreePenalty(Settings):
    panel = PENALTY
    penalty: Annotated[
        str, OneOf(["elasticnet", "l1", "l2", "none", "group:template"], open=True), "Penalty on the weights."
    ] = "elasticnet"
    lam: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Strength λ of the penalty (default: chosen on dev; without dev 0.5, and 3 for l2).",
    ] = None
    l2: Annotated[float, AtLeast(0), AMOUNT, "Strength of the ridge part of elasticnet and groups."] = 0.5


@dataclass(frozen=True, kw_only=True)
class TreeCrf(_TreePenalty, _ArcFeatures, Spread):
    """A log-linear model of whole dependency trees with their relations."""

    panel = TRAINING
    method: Annotated[Literal["tree-crf"], "Method."] = "tree-crf"
    order: Annotated[
        int, AtLeast(1), AtMost(2), "1: arcs by themselves; 2: with the sibling before them."
    ] = 2
    trees: Annotated[Literal["projective", "all"], "Trees that are possible; all needs order 1."] = (
        "projective"
    )
    solver: Annotated[
        str,
        OneOf(["auto", "adagrad", "pa", "lbfgs", "owlqn", "fista"]),
        "Solver; auto is adagrad, then an exact solver.",
    ] = "auto"
    passes: Annotated[int, AtLeast(1), ROUNDS, "Passes of adagrad and pa."] = 10
    tol: Annotated[float, AtLeast(0), AMOUNT, "Distance from the optimum at which to stop (0.01: 1 %)."] = (
        0.01
    )
    max_iter: Annotated[int, AtLeast(1), ROUNDS, "Maximum number of iterations of the exact solver."] = 100

    def check(self) -> None:
        super().check()
        if self.trees == "all" and self.order == 2:
            raise SettingError("{trees} all needs {order} 1: siblings are for projective trees")
        if self.solver == "pa":
            self.no_effect("lam", "l2", when="with {solver} pa, which has no penalty")
            self.no_effect("rough", when="with {solver} pa, whose scores are no probabilities")
        if self.penalty == "none":
            self.no_effect("lam", when="with {penalty} none")
        if self.penalty in ("none", "l1", "l2"):
            self.no_effect("l2", when=f"with {{penalty}} {self.penalty}")
        if self.solver in ("adagrad", "pa"):
            self.no_effect("tol", "max_iter", when=f"with {{solver}} {self.solver}")


FIT = _Methods({**GRAMMARS, **AUTOMATA, **methods(TreeCrf)})


# ---------------------------------------------------------------------------------------- other verbs


@dataclass(frozen=True, kw_only=True)
class _Use(Decoding):
    """How a parser is used."""

    panel = TRAINING
    decoder: Annotated[Decoder | None, "Decoding criterion, if not that of fit."] = None
    prune: Annotated[
        float | None,
        AtLeast(0),
        Below(1),
        "Prune labels and rules less probable in the PCFG, if not as fit says.",
    ] = None
    head_rules: Annotated[
        str | None, File, "Rules that find the head of a phrase (default: those of Collins)."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Apply(_Use, Common):
    """``apply``: trees for sentences."""

    panel = OUTPUT
    format: Annotated[
        Literal["lines", "prose", "tagged", "conllu"] | None,
        "Format; tagged is word/TAG (default: lines; for dependencies conllu).",
    ] = None
    what: Annotated[
        Literal["trees", "conllu", "brackets"] | None,
        "Output: trees, dependencies, or labels with probabilities (default: trees).",
    ] = None
    nbest: Annotated[
        int, AtLeast(1), AtMost(100_000), "Number of trees per sentence, each with rank and score."
    ] = 1
    proba: Annotated[bool, "Add the probabilities of arcs and relations (tree CRFs)."] = False
    least: Annotated[float, AtLeast(0), AtMost(1), "Minimum probability of brackets."] = 0.01
    max_length: Annotated[
        int | None,
        AtLeast(1),
        COUNT,
        "Maximum number of words; a longer sentence gets a flat tree (default: 200; for tree CRFs 1,000).",
    ] = None

    def check(self) -> None:
        super().check()
        if self.nbest > 1 and self.what not in (None, "trees"):
            raise SettingError("{nbest} is for trees, not for {kind}", kind=self.what)
        if self.what != "brackets":
            self.no_effect("least", when="unless {what} is brackets")


@dataclass(frozen=True, kw_only=True)
class Explain(Decoding, Explained, Common):
    """``explain``: the rules or arcs of trees, with their probabilities."""

    panel = OUTPUT
    decoder: Annotated[Decoder | None, "Decoding criterion, if not that of fit."] = None
    format: Annotated[
        Literal["lines", "prose", "tagged", "conllu"] | None,
        "Format; tagged is word/TAG (default: lines; for dependencies conllu).",
    ] = None
    max_length: Annotated[int, AtLeast(1), COUNT, "Maximum number of words per sentence."] = 200


@dataclass(frozen=True, kw_only=True)
class Evaluate(_Use, Spread):
    """``eval``: a parser against a treebank."""

    panel = OUTPUT
    gold_tags: Annotated[bool, "Give the parser the tags of the treebank as well as the words."] = False
    max_length: Annotated[
        int | None, AtLeast(1), COUNT, "Score only sentences of at most this many words."
    ] = None
    punctuation: Annotated[bool, "Count punctuation in UAS and LAS."] = False
    against: Annotated[
        tuple[str, ...], Repeated, File, "Another model to compare with, by a significance test."
    ] = ()


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: the labels of a grammar and their states, or what depends on each tag."""

    panel = OUTPUT
    label: Annotated[
        tuple[str, ...], Repeated, "Describe this label, such as NP, tag of head automata, or relation."
    ] = ()
    labels: Annotated[int, AtLeast(1), COUNT, "Number of labels to show, most frequent first."] = 15
    top: Annotated[int, AtLeast(1), COUNT, "Number of words, rules and parents to show for each."] = 8
    states: Annotated[int, AtLeast(1), COUNT, "Number of states to show per label."] = 8
    grammar: Annotated[int, AtLeast(1), COUNT, "Which of several grammars to show, counted from 1."] = 1
