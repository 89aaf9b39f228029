"""Settings of trends: models of dated text whose weights change over time."""

from __future__ import annotations

from typing import Annotated, Literal

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
    Common,
    File,
    OneOf,
    Settings,
    Spread,
    methods,
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import Decoding

Method = Literal["adaptive", "sparse", "ridge-ts", "ridge-one", "ridge-all", "lasso-one", "lasso-all"]
Start = Literal["ridge-ts", "ridge-one", "ridge-all", "lasso-one", "lasso-all"]
#: Formats whose documents can have times.
DATED = (*giving("rows"), "folder")
Weighting = Literal["binary", "counts", "tfidf"]
#: The width of a time bin in units (years for dates), or a bin of dates by name.
Resolution = int | Literal["week", "month", "quarter", "year"]


# -------------------------------------------------------------------------------------------- the data


@dataclass(frozen=True, kw_only=True)
class _Dated(Decoding):
    """Dated documents, and what to model in them."""

    panel = DATA
    value: Annotated[str | None, "Column of the number to predict."] = None
    label: Annotated[str | None, "Column of the class to predict (one of two)."] = None
    classes: Annotated[tuple[str, ...], "Keep only documents of these two classes."] = ()
    covariates: Annotated[
        tuple[str, ...], "Covariates of word use, as COLUMN or NAME=COLUMN: party,growth."
    ] = ()
    extra: Annotated[tuple[str, ...], "Columns of numbers as additional features: volatility."] = ()
    text: Annotated[str, "Column of the text; without a header, its number, counted from 0."] = "text"
    time: Annotated[str, "Column of times: whole numbers, or dates such as 2014-05-03."] = "time"
    every: Annotated[
        tuple[Resolution, ...] | None,
        AtLeast(1),
        COUNT,
        "Width of time bins: 10 turns years into decades; fit takes the best of several.",
    ] = None
    format: Annotated[str, OneOf(("auto", *DATED)), "Format; auto chooses by the file name."] = "auto"
    header: Annotated[bool, "Whether the first line of a table names its columns."] = True

    @property
    def task(self) -> Literal["regression", "classification", "text"]:
        """Whether numbers, classes or words are modelled."""
        if self.value is not None:
            return "regression"
        return "text" if self.label is None else "classification"

    @property
    def resolutions(self) -> tuple[Resolution | None, ...]:
        """The widths of time bins to choose from, each once; None is each time by itself."""
        return tuple(dict.fromkeys(self.every or (None,)))

    @property
    def resolution(self) -> Resolution | None:
        """The width of time bins; None, that is each time by itself, as long as there are several to choose from."""
        return self.resolutions[0] if len(self.resolutions) == 1 else None

    def check(self) -> None:
        super().check()
        named_columns("covariates", self.covariates)
        named_columns("extra", self.extra)
        if self.value is not None and self.label is not None:
            raise SettingError("{value} is for numbers, {label} for classes: give only one of them")
        if self.classes and self.label is None:
            raise SettingError("{classes} needs {label}, the column that holds them")
        if self.task == "text" and self.extra:
            raise SettingError("{extra} needs something to predict: {value} or {label}")
        if self.task != "text" and self.covariates:
            raise SettingError(
                "{covariates} are for models of words: with {value} or {label}, give {extra} instead"
            )


def named_columns(setting: str, columns: tuple[str, ...]) -> dict[str, str]:
    """``COLUMN`` and ``NAME=COLUMN`` as names and their columns.

    Examples
    --------
    >>> named_columns("covariates", ("party", "growth=3"))
    {'party': 'party', 'growth': '3'}
    """
    found: dict[str, str] = {}
    for part in columns:
        name, _, column = part.strip().partition("=")
        if not name or name in found:
            raise SettingError(
                f"{{{setting}}} must be columns such as COLUMN or NAME=COLUMN, each once, not {{columns}}",
                columns=repr(",".join(columns)),
            )
        found[name] = column or name
    return found


@dataclass(frozen=True, kw_only=True)
class _Words(_Dated):
    """Words as features."""

    panel = FEATURES
    features: Annotated[Weighting | None, "Weighting of words (default: binary; for text, counts)."] = None
    min_count: Annotated[int, AtLeast(1), COUNT, "Drop words that fewer documents contain."] = 2
    skip_top: Annotated[int, AtLeast(0), COUNT, "Drop this many of the most frequent words."] = 0
    max_features: Annotated[
        int, AtLeast(1), COUNT, "Keep this many of the most frequent words that remain."
    ] = 5000
    ngrams: Annotated[int, AtLeast(1), AtMost(100), "Maximum length of word n-grams."] = 1
    lowercase: Annotated[bool, "Fold words to lower case."] = True

    @property
    def weighting(self) -> Weighting:
        """The weighting of words, which suits the task by default."""
        return self.features or ("counts" if self.task == "text" else "binary")

    def check(self) -> None:
        super().check()
        if self.task == "text" and self.weighting != "counts":
            raise SettingError(
                "{features}: a model of text needs counts of words, not {kind}", kind=self.features
            )


# ------------------------------------------------------------------------------------------ the series


@dataclass(frozen=True, kw_only=True)
class _Strength(Settings):
    panel = PENALTY
    lam: Annotated[
        float | None,
        AtLeast(0),
        AtMost(1e12),
        "Strength λ, also of the initial fit (default: chosen by forecasts).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Stopping(_Strength):
    panel = TRAINING
    tol: Annotated[float, AtLeast(0), AMOUNT, "Violation of optimality at which to stop."] = 1e-4
    max_iter: Annotated[int, AtLeast(1), ROUNDS, "Maximum number of iterations."] = 500


@dataclass(frozen=True, kw_only=True)
class _Stiffness(_Stopping):
    panel = PENALTY
    alpha: Annotated[
        float | None,
        AtLeast(0),
        AtMost(1e12),
        "Stiffness α of ridge-ts (default: chosen by forecasts; of an initial fit, 1).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Prior(_Stiffness):
    """The sparse, adaptive prior."""

    panel = PENALTY
    tau: Annotated[float, AtLeast(0), AtMost(1e12), "How strongly the prior favours stiff series."] = 1.0
    logdet: Annotated[Literal["jensen", "quadrature"], "How the normaliser of the prior is computed."] = (
        "jensen"
    )
    kappa_sign: Annotated[Literal["any", "positive"], "Whether neighbouring times may repel each other."] = (
        "any"
    )
    floor: Annotated[
        float | None,
        Above(0),
        AMOUNT,
        "Floor ε of the prior, as a fraction of the initial fit (default: chosen by forecasts).",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Started(_Prior):
    panel = TRAINING
    init: Annotated[Start | None, "Method of the initial fit (default: chosen by forecasts)."] = None


@dataclass(frozen=True, kw_only=True)
class _Alternating(_Started):
    panel = TRAINING
    solver: Annotated[Literal["alternating", "lbfgs"], "Solver."] = "alternating"
    prune: Annotated[bool, "Set series to zero once they are below the floor."] = True
    l1: Annotated[
        float,
        AtLeast(0),
        AtMost(1e12),
        "Strength of an ℓ1 penalty on the weight of each single time; both are then fitted by OWL-QN.",
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class Series(_Alternating):
    """What every estimator of series takes: the settings of all methods, for whichever it uses."""

    method: Annotated[Method, "Method."] = "adaptive"
    alpha: Annotated[float, AtLeast(0), AtMost(1e12), "Stiffness α of ridge-ts."] = 1.0
    init: Annotated[Start, "Method of the initial fit."] = "ridge-ts"


@dataclass(frozen=True, kw_only=True)
class LinearSeries(Series):
    """What estimators of classes take."""

    fit_intercept: Annotated[bool, "Give each time an intercept."] = True


@dataclass(frozen=True, kw_only=True)
class NumberSeries(LinearSeries):
    """What estimators of numbers take."""

    noise_variance: Annotated[
        float | Literal["residual"], AtLeast(1e-9), AMOUNT, "Variance σ² of the noise."
    ] = 0.5


@dataclass(frozen=True, kw_only=True)
class WordSeries(Series):
    """What estimators of text take."""

    shared: Annotated[bool, "Whether all words of a covariate share a strength and a stiffness."] = False
    background: Annotated[Literal["time", "all"], "Background frequencies: per time, or over all times."] = (
        "time"
    )
    smoothing: Annotated[float, AtLeast(0), AMOUNT, "Pseudo-count of the background."] = 0.5


# ----------------------------------------------------------------------------------------------- verbs


@dataclass(frozen=True, kw_only=True)
class _Noisy(_Words):
    panel = PENALTY
    noise_variance: Annotated[
        float | Literal["residual"] | None,
        AtLeast(1e-9),
        AMOUNT,
        "Noise variance σ² (default: the squared error of the initial fit on held-out times).",
    ] = None
    shared: Annotated[bool, "Whether all words of a covariate share a strength and a stiffness."] = False

    def check(self) -> None:
        super().check()
        if self.shared and self.task != "text":
            raise SettingError("{shared} is for models of words: leave out {value} and {label}")
        if self.noise_variance is not None and self.value is None:
            raise SettingError("{noise_variance} needs {value}: only numbers have noise")


@dataclass(frozen=True, kw_only=True)
class Adaptive(_Noisy, _Alternating, Spread):
    """The sparse, adaptive prior: every series has its own strength and stiffness."""

    panel = TRAINING
    method: Annotated[Literal["adaptive"], "Method."] = "adaptive"

    def check(self) -> None:
        super().check()
        if self.init != "ridge-ts":
            self.no_effect("alpha", when="unless {init} or {method} is ridge-ts")


@dataclass(frozen=True, kw_only=True)
class Sparse(_Noisy, _Started, Spread):
    """The same prior with exact zeros."""

    panel = TRAINING
    method: Annotated[Literal["sparse"], "Method."] = "sparse"

    def check(self) -> None:
        super().check()
        if self.init != "ridge-ts":
            self.no_effect("alpha", when="unless {init} or {method} is ridge-ts")


@dataclass(frozen=True, kw_only=True)
class RidgeTs(_Words, _Stiffness, Spread):
    """One strength and one stiffness for all series."""

    panel = TRAINING
    method: Annotated[Literal["ridge-ts"], "Method."] = "ridge-ts"


@dataclass(frozen=True, kw_only=True)
class Baseline(_Words, _Stopping, Spread):
    """One copy of the weights, from the last time or from all."""

    panel = TRAINING
    method: Annotated[Literal["ridge-one", "ridge-all", "lasso-one", "lasso-all"], "Method."] = "ridge-one"


FIT = methods(Adaptive, Sparse, RidgeTs, Baseline)


@dataclass(frozen=True, kw_only=True)
class _Again(Decoding):
    """Documents for a fitted model, read as the training documents were unless these settings say otherwise."""

    panel = DATA
    covariates: Annotated[tuple[str, ...], "Covariates of word use, if not those of fit."] = ()
    extra: Annotated[tuple[str, ...], "Columns of additional features, if not those of fit."] = ()
    text: Annotated[str | None, "Column of the text, if not that of fit."] = None
    time: Annotated[str | None, "Column of times."] = None
    format: Annotated[str, OneOf(("auto", *DATED, "lines")), "Format; auto chooses by the file name."] = (
        "auto"
    )
    header: Annotated[bool | None, "Whether the first line of a table names its columns."] = None


@dataclass(frozen=True, kw_only=True)
class Apply(_Again, Common):
    """``apply``: forecasts."""

    panel = OUTPUT
    proba: Annotated[bool, "Add the probability of each class."] = False
    at: Annotated[str | None, "Time of all documents (default: the last time of the model)."] = None

    def check(self) -> None:
        super().check()
        if self.time is not None and self.at is not None:
            raise SettingError("{time} names a column, {at} a time: give only one of them")


@dataclass(frozen=True, kw_only=True)
class Explain(_Again, Explained, Common):
    """``explain``: what words add to forecasts."""

    panel = OUTPUT
    at: Annotated[str | None, "Time of all documents (default: the last time of the model)."] = None

    def check(self) -> None:
        super().check()
        if self.time is not None and self.at is not None:
            raise SettingError("{time} names a column, {at} a time: give only one of them")


@dataclass(frozen=True, kw_only=True)
class Evaluate(_Again, Common):
    """``eval``: the forecasts of a model on later documents."""

    panel = DATA
    target: Annotated[str | None, "Column to predict, if not that of fit."] = None
    classes: Annotated[tuple[str, ...], "Keep only documents of these two classes."] = ()


@dataclass(frozen=True, kw_only=True)
class Compare(_Noisy, _Alternating, Spread):
    """``compare``: methods by rolling origin."""

    panel = TRAINING
    methods: Annotated[tuple[Method, ...], "Methods to compare; the first is tested against the others."] = (
        "adaptive",
        "ridge-ts",
        "lasso-one",
        "lasso-all",
    )
    start: Annotated[
        str | None, "First test time, which also chooses settings (default: the fourth last)."
    ] = None
    window: Annotated[int | None, AtLeast(1), COUNT, "Train on at most this many preceding times."] = None
    space: Annotated[
        str | None, File, 'Settings to try, as JSON or a JSON file: {"adaptive": {"tau": [0.1, 1]}}.'
    ] = None

    def check(self) -> None:
        super().check()
        if len(set(self.methods)) < len(self.methods):
            raise SettingError(
                "{methods} must not repeat a method: {several}", several=",".join(self.methods)
            )
        if len(self.resolutions) > 1:
            raise SettingError(
                "{every} must be a single resolution, not {several}: methods are compared at the same times",
                several=",".join(map(str, self.resolutions)),
            )


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: the series of a model."""

    panel = OUTPUT
    top: Annotated[int, AtLeast(1), COUNT, "Number of series of each kind to show."] = 10
    words: Annotated[tuple[str, ...], "Show the series of these words: oil,war."] = ()
