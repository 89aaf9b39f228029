"""Settings of taggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from spinney.errors import SettingError
from spinney.formats import giving
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
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import Decoding
from spinney.settings.unlabelled import Criterion, Unlabelled

LABELLED = giving("tagged")
Preset = Literal["chunk", "ner", "pos", "g2p"]
Scheme = Literal["iob1", "iob2", "bioes"]
Precision = Literal["half", "single", "double"]
#: Solvers that run for a number of passes over the sentences, and those among them that have no penalty.
BY_PASSES = ("sgd", "adagrad", "perceptron", "pa")
UNPENALISED = ("perceptron", "pa")
#: Penalties that help suggests; a tagger accepts every other penalty of :mod:`spinney.optim` that suits it, too.
PENALTIES = (
    "l2", "l1", "elasticnet", "none", "slope", "group:pattern", "group:symbol", "group:label", "group:class", "tree-l2",
)  # fmt: skip


KIND = "Kind of model."
_SOUNDS = "in the format cmudict, _ is a silent letter and K|S two sounds, and every letter has its label"


@dataclass(frozen=True, kw_only=True)
class Kind(Settings):
    """The method."""

    panel = TRAINING
    method: Annotated[str, KIND] = "crf"


@dataclass(frozen=True, kw_only=True)
class Sentences(Decoding):
    """Files of sentences."""

    panel = DATA
    format: Annotated[
        str, OneOf(("auto", *LABELLED, "lines", "letters")), "Format; auto: by its name, or columns."
    ] = "auto"
    label: Annotated[str | None, "Label in spaCy files: ner, tag or pos (default: ner)."] = None
    docstart: Annotated[Literal["drop", "keep"], "What to do with -DOCSTART-."] = "drop"

    def check(self) -> None:
        super().check()
        if self.docstart == "keep" and self.format not in ("auto", "columns"):
            raise SettingError(
                "{docstart} is only for the format columns, not for {given}", given=self.format
            )


@dataclass(frozen=True, kw_only=True)
class Labelled(Sentences):
    """Files of labelled sentences: labels are in the last column, or where the format has them."""

    format: Annotated[str, OneOf(("auto", *LABELLED)), "Format; auto: by its name, or columns."] = "auto"


@dataclass(frozen=True, kw_only=True)
class Features(Settings):
    """The features of a tagger, and its labels."""

    panel = FEATURES
    patterns: Annotated[str | Any | None, File, "Template file, as in Wapiti or CRF++."] = None
    classes: Annotated[tuple[Any, ...], Repeated, File, "Word classes as features: NAME=FILE."] = ()
    vectors: Annotated[tuple[Any, ...], Repeated, File, "Word vectors as features: NAME=FILE."] = ()
    min_count: Annotated[int, AtLeast(1), COUNT, "Drop rarer observations."] = 1
    scheme: Annotated[Scheme | None, "Give only valid label sequences, in this scheme."] = None
    encode: Annotated[Scheme | None, "Label scheme used internally."] = None

    def check(self) -> None:
        super().check()
        self.need_names("classes", "vectors")


@dataclass(frozen=True, kw_only=True)
class Stored(Settings):
    """How weights are kept."""

    panel = OUTPUT
    precision: Annotated[Precision, "Weights in 16, 32 or 64 bits."] = "single"


@dataclass(frozen=True, kw_only=True)
class PartialLabels(Settings):
    """Partial labels."""

    panel = DATA
    partial: Annotated[bool, "Labels are partial: _ is unknown, A|B is A or B."] = False


@dataclass(frozen=True, kw_only=True)
class Training(Labelled, Features, Stored, PartialLabels):
    """What every method takes."""

    panel = FEATURES
    preset: Annotated[Preset | None, "Built-in patterns (default: chosen by format)."] = None

    def check(self) -> None:
        super().check()
        if self.preset is not None and self.patterns is not None:
            raise SettingError("{preset} and {patterns} both choose the features: give only one of them")
        if self.partial and self.format == "cmudict":
            raise SettingError("{partial}: " + _SOUNDS)
        if self.partial and self.encode is not None:
            raise SettingError(
                "partial labels cannot be converted to another scheme: leave out {encode} or {partial}"
            )


@dataclass(frozen=True, kw_only=True)
class Penalised(Settings):
    """The penalty of a trained tagger."""

    panel = PENALTY
    penalty: Annotated[
        str | Any, OneOf(PENALTIES, open=True), "Penalty on single weights, groups or a tree."
    ] = "l2"
    l1: Annotated[float, AtLeast(0), AMOUNT, "Strength of the ℓ1 part of group penalties."] = 0.0
    l2: Annotated[float, AtLeast(0), AMOUNT, "Ridge strength of elasticnet and group penalties."] = 0.0


@dataclass(frozen=True, kw_only=True)
class Strength(Settings):
    """The strength of the penalty."""

    panel = PENALTY
    lam: Annotated[
        float | None, AtLeast(0), AMOUNT, "Strength λ of the penalty (default: chosen on held-out sentences)."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Choosing(Strength):
    """How the strength is chosen."""

    panel = PENALTY
    cv: Annotated[
        int | None,
        AtLeast(2),
        AtMost(1000),
        "Choose λ by cross-validation in this many parts (default, for few sentences: 5).",
    ] = None

    l2s: Annotated[
        tuple[float, ...] | None, AtLeast(0), AMOUNT, "Ridges of elasticnet to choose from, along with λ."
    ] = None

    def check(self) -> None:
        super().check()
        if self.cv is not None and self.lam is not None and self.l2s is None:
            raise SettingError("{lam} and {cv} each determine λ: give only one of them")
        if self.l2s is None:
            return
        penalty: Any = getattr(self, "penalty", None)
        if penalty != "elasticnet":
            raise SettingError("{l2s} are for {penalty} elasticnet, not for {given}", given=penalty)
        if not self.l2s:
            raise SettingError("{l2s} are missing: give at least one, such as 0.001,0.01,0.1")
        if getattr(self, "l2", 0.0):
            raise SettingError("{l2} and {l2s} both determine the ridge: give only one of them")


@dataclass(frozen=True, kw_only=True)
class Pruning(Settings):
    """What is dropped after training."""

    panel = PENALTY
    min_weight: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Drop weights up to this size at the end (default: 0.02 in large l2 models).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class HeldOut(Settings):
    """Early stopping, and the initial model."""

    panel = TRAINING
    dev: Annotated[Any | None, File, "Stop when the error on these sentences stops falling."] = None
    patience: Annotated[int | None, AtLeast(1), ROUNDS, "Checks on dev without improvement (default: 5)."] = (
        None
    )
    init: Annotated[Any | None, File, "Model to start from."] = None

    def check(self) -> None:
        super().check()
        if self.patience is not None and self.dev is None:
            raise SettingError("{patience} needs {dev}")
        if self.dev is not None and getattr(self, "cv", None) is not None:
            raise SettingError("{cv} and {dev} both choose λ: give only one of them")


@dataclass(frozen=True, kw_only=True)
class Bigrams(Settings):
    """What precedes the first label."""

    panel = FEATURES
    start_label: Annotated[bool, "Add a start label before the first label."] = True


@dataclass(frozen=True, kw_only=True)
class Solving(Settings):
    """How the weights are found."""

    panel = TRAINING
    solver: Annotated[
        str, OneOf(["auto", "lbfgs", "owlqn", "fista"]), "Solver; auto chooses by the penalty."
    ] = "auto"
    solver_options: Annotated[tuple[Any, ...], Repeated, "Option of the solver, such as kappa2=1.2."] = ()
    tol: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Distance from the optimum at which to stop (default: 0.01 for sparse penalties, else 0.001).",
    ] = None
    max_iter: Annotated[int | None, AtLeast(1), ROUNDS, "Maximum number of iterations (default: 500)."] = None

    def check(self) -> None:
        super().check()
        for pair in self.solver_options:
            if not isinstance(pair, Mapping) and not all(str(pair).partition("=")[:2]):
                raise SettingError("{solver_options} must be NAME=VALUE, not {pair}", pair=repr(pair))


@dataclass(frozen=True, kw_only=True)
class Support(Settings):
    """The weights that a model has."""

    panel = FEATURES
    weights: Annotated[Literal["all", "observed"], "Weights for all labels, or for observed ones."] = "all"
    select: Annotated[
        Literal["mi", "gain"] | None, "Choose weights or observations by what they tell first."
    ] = None
    select_top: Annotated[int | None, AtLeast(1), COUNT, "How many of them to keep."] = None

    def check(self) -> None:
        super().check()
        if self.select is not None and self.select_top is None:
            raise SettingError(
                "{select} needs {select_top}: how many weights (mi) or observations (gain) to keep"
            )
        if self.select_top is not None and self.select is None:
            raise SettingError("{select_top} needs {select} mi or gain")
        if self.select == "mi" and self.weights == "observed":
            raise SettingError(
                "{weights} observed and {select} mi both choose the weights: give only one of them"
            )


@dataclass(frozen=True, kw_only=True)
class SolvingCrf(Solving):
    """The solvers of conditional random fields."""

    panel = TRAINING
    solver: Annotated[
        str,
        OneOf(["auto", "lbfgs", "owlqn", "active-set", *BY_PASSES[:2], "sbcd", "cd", "fista", *UNPENALISED]),
        "Solver; auto chooses by the penalty.",
    ] = "auto"  # fmt: skip
    passes: Annotated[int | None, AtLeast(1), ROUNDS, "Passes of stochastic solvers (default: 10)."] = None
    step: Annotated[float | None, Above(0), AMOUNT, "Initial step size of stochastic descent."] = None

    def check(self) -> None:
        super().check()
        if self.passes is not None and self.solver not in BY_PASSES:
            raise SettingError("{passes} is only for the solvers {known}", known=", ".join(BY_PASSES))
        if self.max_iter is not None and self.solver in BY_PASSES:
            raise SettingError(
                "the solver {name} is limited by {passes}: leave out {max_iter}", name=self.solver
            )
        if self.step is not None and self.solver not in ("auto", "lbfgs", "sgd", "adagrad"):
            raise SettingError("the solver {name} takes no {step}", name=self.solver)


@dataclass(frozen=True, kw_only=True)
class Crf(
    Unlabelled, HeldOut, SolvingCrf, Choosing, Pruning, Penalised, Support, Bigrams, Training, Kind, Spread
):
    """Conditional random fields."""

    method: Annotated[Literal["crf"], KIND] = "crf"

    def check(self) -> None:
        super().check()
        given = self.lam is not None or (self.l1, self.l2) != (0.0, 0.0) or self.penalty not in ("l2", "none")
        if self.solver in UNPENALISED and given:
            raise SettingError(
                "the solver {name} has no penalty: leave out {penalty} and its strengths", name=self.solver
            )
        if self.penalty == "none":
            self.no_effect("lam", "cv", when="with {penalty} none")
        if self.solver in BY_PASSES:
            self.no_effect("cv", "l2s", when=f"with {{solver}} {self.solver}, which has a fixed strength")
        if self.solver == "auto" and self.penalty not in ("l2", "none"):
            self.no_effect("step", when="with {penalty} unless {solver} is sgd or adagrad")


@dataclass(frozen=True, kw_only=True)
class Memm(HeldOut, Solving, Choosing, Pruning, Penalised, Bigrams, Training, Kind, Spread):
    """Maximum-entropy Markov models: each label given the one before."""

    method: Annotated[Literal["memm"], KIND] = "memm"

    def check(self) -> None:
        super().check()
        if self.penalty == "none":
            self.no_effect("lam", "cv", when="with {penalty} none")


@dataclass(frozen=True, kw_only=True)
class UnlabelledWeight(Settings):
    """What unlabelled sentences count in EM."""

    panel = TRAINING
    unlabelled_weight: Annotated[float, Above(0), AMOUNT, "What an unlabelled sentence counts in EM."] = 1.0


@dataclass(frozen=True, kw_only=True)
class Hmm(UnlabelledWeight, Training, Kind, Spread):
    """Hidden Markov models: counts of one observation per token, without a penalty, and EM over unlabelled text."""

    panel = TRAINING
    method: Annotated[Literal["hmm"], KIND] = "hmm"
    unlabelled: Annotated[Any | None, File, "Unlabelled data of the same format to learn from."] = None
    passes: Annotated[
        int | None, AtLeast(1), ROUNDS, "Passes of EM over unlabelled data (default: chosen, 0 to 10)."
    ] = None

    def check(self) -> None:
        super().check()
        if self.unlabelled is None:
            self.no_effect("passes", "unlabelled_weight", when="without {unlabelled}")


@dataclass(frozen=True, kw_only=True)
class Morph(Decoding, Kind, Spread):
    """Morphological taggers: UPOS, XPOS and FEATS of CoNLL-U in one go."""

    panel = TRAINING
    method: Annotated[Literal["morph"], KIND] = "morph"
    passes: Annotated[int, AtLeast(1), ROUNDS, "Passes over the sentences."] = 12
    l1: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Strength of the ℓ1 part of the elastic net (default: 0.2, or chosen on dev).",
    ] = None
    l2: Annotated[float, AtLeast(0), AMOUNT, "Strength of its ridge part."] = 0.1
    dev: Annotated[Any | None, File, "Tagged sentences on which to choose the strength."] = None
    min_count: Annotated[int, AtLeast(1), COUNT, "Drop rarer observations."] = 1
    classes: Annotated[tuple[Any, ...], Repeated, File, "Word classes as features: NAME=FILE."] = ()
    vectors: Annotated[tuple[Any, ...], Repeated, File, "Word vectors as features: NAME=FILE."] = ()

    def check(self) -> None:
        super().check()
        self.need_names("classes", "vectors")
        if self.dev is not None and self.l1 is not None:
            raise SettingError("{l1} and {dev} each determine the strength: give only one of them")


@dataclass(frozen=True, kw_only=True)
class _Refined(Labelled, Kind, Spread):
    """Hidden Markov models whose labels have hidden states."""

    panel = TRAINING
    states: Annotated[int, AtLeast(1), AtMost(256), "Maximum number of hidden states per label."] = 8
    rare: Annotated[int, AtLeast(0), COUNT, "Words with at most this many tokens model unknown words."] = 1
    smoothing: Annotated[
        float,
        AtLeast(0),
        AMOUNT,
        "Count at which half of a statistic comes from the label without its states.",
    ] = 10.0


@dataclass(frozen=True, kw_only=True)
class Refinement(_Refined):
    """Refinement hidden Markov models, from spectral moments."""

    panel = TRAINING
    method: Annotated[Literal["refinement"], KIND] = "refinement"
    kappa: Annotated[float, AtLeast(0), AMOUNT, "Pseudo-count in the scaling of features before the SVD."] = (
        5.0
    )
    cutoff: Annotated[
        float, AtLeast(0), Below(1), "Drop singular values up to this fraction of the largest."
    ] = 1e-3
    signs: Annotated[Literal["clip", "abs", "normalise"], "How to handle negative marginals."] = "clip"


@dataclass(frozen=True, kw_only=True)
class RefinementEm(_Refined):
    """Refinement hidden Markov models, by EM."""

    panel = TRAINING
    method: Annotated[Literal["refinement-em"], KIND] = "refinement-em"
    max_iter: Annotated[int, AtLeast(1), ROUNDS, "Number of EM iterations."] = 20


#: The methods of refinement models.
REFINEMENTS = methods(Refinement, RefinementEm)
FIT = methods(Crf, Memm, Hmm, Morph) | REFINEMENTS


@dataclass(frozen=True, kw_only=True)
class Decoded(Settings):
    """How the labels of a sentence are chosen."""

    panel = OUTPUT
    decoding: Annotated[
        Literal["viterbi", "posterior", "f1"],
        "Best label sequence, best label of each token, or best expected F1 of phrases.",
    ] = "viterbi"


@dataclass(frozen=True, kw_only=True)
class Estimator(
    Decoded,
    UnlabelledWeight,
    Criterion,
    SolvingCrf,
    Strength,
    Pruning,
    Penalised,
    Support,
    Bigrams,
    Features,
    Stored,
    PartialLabels,
    Kind,
    Common,
):
    """The parameters of :class:`spinney.tagging.Tagger`: everything that does not come with the sentences."""

    panel = TRAINING
    lam: Annotated[float, AtLeast(0), AMOUNT, "Strength λ, for a loss summed over sentences."] = 1.0  # type: ignore[assignment]
    min_weight: Annotated[float | None, AtLeast(0), AMOUNT, "Drop weights up to this size at the end."] = 0.0
    patience: Annotated[
        int | None, AtLeast(1), ROUNDS, "Checks on dev without improvement before stopping."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Labelling(Decoded):
    """How a fitted tagger gives labels."""

    panel = OUTPUT
    scheme: Annotated[
        Scheme | None, "Give only valid label sequences, in this scheme (default: as in fit)."
    ] = None
    threshold: Annotated[
        float | None, AtLeast(0), AtMost(1), "Leave out phrases less probable than this."
    ] = None
    abstain: Annotated[
        float | None, AtLeast(0), AtMost(1), "Give no label (_) where its probability is lower."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Apply(Sentences, Labelling, Common):
    """``apply``: labels for sentences."""

    panel = OUTPUT
    phrases: Annotated[bool, "Write a table of phrases with their probabilities instead."] = False
    proba: Annotated[bool, "Add the probability of each predicted label."] = False
    nbest: Annotated[
        int, AtLeast(1), AtMost(100_000), "Number of label sequences per sentence, best first."
    ] = 1
    force: Annotated[bool, "The last column restricts the labels: A, A|B, or _ for any."] = False

    def check(self) -> None:
        super().check()
        if self.force and self.format in ("lines", "letters"):
            raise SettingError(
                "{force} needs a column of labels, which the format {given} lacks", given=self.format
            )
        if self.force and self.format == "cmudict":
            raise SettingError("{force}: " + _SOUNDS)
        if self.nbest > 1 and self.proba:
            raise SettingError("{nbest} gives the probability of whole label sequences: leave out {proba}")
        if self.nbest > 1 and self.decoding != "viterbi":
            raise SettingError("{nbest} gives the best label sequences: leave out {decoding}")
        if self.nbest > 1:
            for name in ("phrases", "threshold", "abstain"):
                if getattr(self, name) not in (None, False):
                    raise SettingError(f"{{nbest}} gives whole label sequences: leave out {{{name}}}")
        if self.phrases:
            for name in ("proba", "abstain"):
                if getattr(self, name) not in (None, False):
                    raise SettingError(f"{{phrases}} has a probability per phrase: leave out {{{name}}}")


@dataclass(frozen=True, kw_only=True)
class Evaluate(Labelled, Labelling, Common):
    """``eval``: errors and phrase scores on labelled sentences."""

    panel = OUTPUT
    conlleval: Annotated[bool, "Print the scores as conlleval does."] = False


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: what a tagger learned."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of observations to show per label or pattern."] = 8
    by: Annotated[Literal["label", "pattern"], "Strongest observations by label or by pattern."] = "label"


@dataclass(frozen=True, kw_only=True)
class Explain(Sentences, Explained, Common):
    """``explain``: why tokens have their labels."""


@dataclass(frozen=True, kw_only=True)
class Path(SolvingCrf, Penalised, Support, Bigrams, Training, Spread):
    """``path``: conditional random fields at decreasing strengths of the penalty."""

    panel = TRAINING
    penalty: Annotated[
        str | Any, OneOf(PENALTIES, open=True), "Penalty on single weights, groups or a tree."
    ] = "elasticnet"
    l2: Annotated[float | None, AtLeast(0), AMOUNT, "Ridge strength (default: 0.01 for elasticnet)."] = None  # type: ignore[assignment]
    lams: Annotated[
        tuple[float, ...] | None, AtLeast(0), AMOUNT, "Strengths (default: a grid down from the largest)."
    ] = None
    points: Annotated[
        int | None, AtLeast(2), AtMost(10_000), "Number of strengths in the grid (default: 10)."
    ] = None
    ratio: Annotated[
        float | None,
        Above(0),
        Below(1),
        "Last strength as a fraction of the first (default: 0.01, or what leads down to 0.5).",
        Above(0),
        Below(1),
        "Last strength as a fraction of the first (default: 0.01, and lower if that is above 0.5).",
    ] = None
    dev: Annotated[Any | None, File, "Sentences to score each model on."] = None

    def check(self) -> None:
        super().check()
        if self.lams is not None and (self.points is not None or self.ratio is not None):
            raise SettingError("{lams} lists the strengths: leave out {points} and {ratio}")


@dataclass(frozen=True, kw_only=True)
class Prune(Labelled, Common):
    """``prune``: a tagger without its small weights, at several thresholds."""

    panel = OUTPUT
    thresholds: Annotated[
        tuple[float, ...], AtLeast(0), AMOUNT, "Sizes up to which weights become 0; the last one counts."
    ] = (0.0, 0.25, 0.5, 0.75, 1.0)
    rule: Annotated[
        Literal["interval", "positive"], "Drop by size, or all weights that are not above the threshold."
    ] = "interval"
    margin: Annotated[
        float, AtLeast(0), AMOUNT, "List sentences whose wrong labelling leads by more than this."
    ] = 0.0
    top: Annotated[int, AtLeast(1), COUNT, "Number of sentences and of confusions to show."] = 10

    def check(self) -> None:
        super().check()
        if not self.thresholds:
            raise SettingError("{thresholds} are missing: give at least one")


@dataclass(frozen=True, kw_only=True)
class Import(Common):
    """``import``: a model of another program."""

    panel = DATA
    format: Annotated[
        Literal["crfsuite", "wapiti", "crfpp"] | None,
        "Program of the model (default: recognised by its content).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class Export(Common):
    """``export``: a model for another program."""

    panel = OUTPUT
    format: Annotated[Literal["crfsuite"], "Program that will use the model."] = "crfsuite"
