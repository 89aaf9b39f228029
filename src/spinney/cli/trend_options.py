"""The options of ``spinney trend``, and the model that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.trend_inputs import Reading, named_columns
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.trend import FrequentWords, TrendModel
    from spinney.trend.dates import Every as Bins

Value = Annotated[str | None, typer.Option(help="The column of the number to predict.")]
Label = Annotated[str | None, typer.Option(help="The column of the class to predict; there are two.")]
Classes = Annotated[
    str | None, typer.Option(help="Keep only documents of these two classes: Democratic,Republican.")
]
Covariates = Annotated[
    str | None,
    typer.Option(help="Columns that words depend on, COLUMN or NAME=COLUMN, with commas: party,growth."),
]
Extra = Annotated[
    str | None, typer.Option(help="Columns of numbers that are further features, likewise: volatility.")
]
Text = Annotated[
    str, typer.Option(help="The column of the text (its name, or its number from 0 with --no-header).")
]
Time = Annotated[str, typer.Option(help="The column of times: whole numbers, or dates such as 2014-05-03.")]
Every = Annotated[
    str | None, typer.Option(help="Bin times: 10 makes decades of years (1, years of dates), or month.")
]
Format = Annotated[str, typer.Option(help="auto, csv, tsv, folder or (apply) lines.")]
Header = Annotated[bool, typer.Option(help="Whether tables have a line of column names.")]
Features = Annotated[
    str | None,
    typer.Option(help="binary, counts or tfidf.  [default: binary; counts for a model of text]"),
]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out words in fewer documents.")]
SkipTop = Annotated[int, typer.Option(min=0, help="Leave out so many of the most frequent words.")]
MaxFeatures = Annotated[int, typer.Option(min=1, help="Keep so many of the most frequent words after them.")]
Ngrams = Annotated[int, typer.Option(min=1, help="The longest n-gram of words.")]
Lowercase = Annotated[bool, typer.Option(help="Whether to fold case.")]
Tau = Annotated[
    float | None,
    typer.Option(help="Of the adaptive prior: the pull to stiff series.  [default: 1]"),
]
Lam = Annotated[
    float | None, typer.Option(help="The strength λ of the others, and of the start.  [default: by the data]")
]
Alpha = Annotated[float | None, typer.Option(help="The stiffness α of ridge-ts.  [default: 1]")]
NoiseVariance = Annotated[
    str | None,
    typer.Option(help="Of numbers under the adaptive prior: σ², or residual.  [default: residual]"),
]
LogDetName = Annotated[str | None, typer.Option(help="jensen or quadrature.  [default: jensen]")]
SolverName = Annotated[str | None, typer.Option(help="alternating or lbfgs.  [default: alternating]")]
Init = Annotated[
    str | None,
    typer.Option(
        help="Where adaptive and sparse start: one of the others.  [default: lasso-one; classes: lasso-all]"
    ),
]
Tol = Annotated[
    float | None, typer.Option(help="Largest violation at which a fit counts as done.  [default: 1e-4]")
]
MaxIter = Annotated[int | None, typer.Option(help="Iterations at most.  [default: 500]")]


@dataclass(frozen=True)
class Settings:
    """What is to be modelled, as the user said it."""

    value: str | None
    label: str | None
    class_names: str | None
    covariate_names: str | None
    extra_names: str | None
    every_text: str | None

    def __post_init__(self) -> None:
        if self.value is not None and self.label is not None:
            raise OptionError("--value is for numbers, --label for classes: give one")
        if self.class_names is not None and self.label is None:
            raise OptionError("--classes needs --label, the column that holds them")
        if self.task == "text" and self.extra_names is not None:
            raise OptionError("--extra needs something to predict: --value or --label")
        if self.task != "text" and self.covariate_names is not None:
            raise OptionError("--covariates explain words: they go without --value and --label (see --extra)")

    @property
    def task(self) -> str:
        """Numbers, classes or words."""
        return (
            "regression" if self.value is not None else "classification" if self.label is not None else "text"
        )

    @property
    def classes(self) -> list[str] | None:
        """The two classes to keep."""
        return None if self.class_names is None else [name.strip() for name in self.class_names.split(",")]

    @property
    def every(self) -> Bins:
        """How times are binned."""
        from spinney.trend.dates import parse_every

        return parse_every(self.every_text)

    def reading(self, text: str, time: str, header: bool) -> Reading:
        """How tables are read."""
        target = self.value if self.value is not None else self.label
        covariates, extra = named_columns(self.covariate_names), named_columns(self.extra_names)
        return Reading(text, time, target, covariates or {}, extra or {}, header)

    def series(self, **options: Any) -> Any:
        """The estimator, with those options that are given."""
        from spinney.trend import TimeSeriesClassifier, TimeSeriesRegressor, TimeSeriesTextModel

        given = {name: value for name, value in options.items() if value is not None}
        defaults: dict[str, Any] = {"noise_variance": "residual"}
        if self.task != "regression":
            if "noise_variance" in given:
                raise OptionError("--noise-variance needs --value: only numbers have noise")
            defaults = {} if self.task == "text" else {"init": "lasso-all"}
        if given.get("noise_variance", "residual") != "residual":
            given["noise_variance"] = _number("--noise-variance", given["noise_variance"])
        kinds: dict[str, Any] = {
            "regression": TimeSeriesRegressor,
            "classification": TimeSeriesClassifier,
            "text": TimeSeriesTextModel,
        }
        series = kinds[self.task](**{**defaults, **given})
        series._settings()  # tells of bad options before text is read
        return series

    def words(
        self,
        features: str | None,
        min_count: int,
        skip_top: int,
        max_features: int,
        ngrams: int,
        lowercase: bool,
    ) -> FrequentWords:
        """How text becomes columns."""
        from spinney.trend import FrequentWords

        weighting: Any = features or ("counts" if self.task == "text" else "binary")
        return FrequentWords(
            weighting,
            min_count=min_count,
            skip_top=skip_top,
            max_features=max_features,
            ngrams=ngrams,
            lowercase=lowercase,
        )

    def model(self, series: Any, words: FrequentWords) -> TrendModel:
        """The model, not fitted."""
        from spinney.trend import TrendModel

        covariates, extra = named_columns(self.covariate_names), named_columns(self.extra_names)
        return TrendModel(
            series, words, covariates=list(covariates or {}), extra=list(extra or {}), every=self.every
        )


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{option} is a number or residual, not {text!r}") from None
