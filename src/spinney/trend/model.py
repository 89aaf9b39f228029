"""A time-series model with the words, covariates and times that it was trained on: from text to forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.errors import InputError, OptionError
from spinney.evaluate import classification_scores, regression_scores
from spinney.files import ModelFile
from spinney.model import Applied, Contents, Model
from spinney.optim.base import Vector
from spinney.settings import Settings, settings_or
from spinney.settings.report import Report
from spinney.settings.trend import Apply, Evaluate, Explain, Inspect
from spinney.trend.covariates import Covariates
from spinney.trend.dates import UNITS, Every, are_bins, bin_label
from spinney.trend.regression import TimeSeriesClassifier, TimeSeriesRegressor
from spinney.trend.series import alpha_histogram, forecast, strongest_series
from spinney.trend.text import TimeSeriesTextModel
from spinney.trend.words import FrequentWords
from spinney.views import Views

Series = TimeSeriesRegressor | TimeSeriesClassifier | TimeSeriesTextModel
Task = Literal["regression", "classification", "text"]
_CLASSES: dict[Task, Any] = {
    "regression": TimeSeriesRegressor,
    "classification": TimeSeriesClassifier,
    "text": TimeSeriesTextModel,
}
#: The names of mean losses; lower is better.
MEASURES: dict[Task, str] = {
    "regression": "mean squared error",
    "classification": "nats per document",
    "text": "nats per word",
}


@dataclass(frozen=True)
class Documents:
    """Texts with their times, targets and covariates, row by row.

    Attributes
    ----------
    times : array, optional
        The step of each, as :func:`spinney.trend.dates.binned` returns it; without times, all are of the
        next time.
    targets : array, optional
        The numbers or classes to predict.
    columns : mapping of str to sequence of str
        Covariates of the text model, by name.
    extra : array of shape (n, E), optional
        Additional features of the linear models.
    """

    texts: Sequence[str]
    times: NDArray[Any] | None = None
    targets: NDArray[Any] | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    extra: Vector | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, which: NDArray[np.intp]) -> Documents:
        """Some of them."""
        return Documents(
            [self.texts[i] for i in which],
            None if self.times is None else self.times[which],
            None if self.targets is None else self.targets[which],
            {name: [values[i] for i in which] for name, values in self.columns.items()},
            None if self.extra is None else self.extra[which],
        )


class Strand(NamedTuple):
    """One series: its word, the covariate it belongs to, the score by which it was ranked, and the expected next value.

    Only models with the adaptive prior have the last one (and E[α], the stiffness).
    """

    word: str
    effect: str
    score: float
    values: Vector
    next: float | None
    e_alpha: float | None


class TrendModel(Model):
    """A model of dated texts that predicts numbers, classes or probabilities of words.

    Parameters
    ----------
    series : TimeSeriesRegressor, TimeSeriesClassifier or TimeSeriesTextModel
    words : FrequentWords
    covariates : sequence of str
        The columns of the text model; without any, each word has one series, relative to its frequency at all times.
    extra : sequence of str
        The names of additional features of the other models.
    every : int, "week", "month", "quarter" or "year", optional
        How times were binned (:mod:`spinney.trend.dates`); determines their names.

    Examples
    --------
    >>> texts = ["war on all fronts", "war and peace", "peace and trade", "trade for all"]
    >>> model = TrendModel(TimeSeriesTextModel("ridge-ts", lam=0.1), FrequentWords(), every=10)
    >>> model = model.fit(Documents(texts, times=np.array([194, 194, 195, 195])))
    >>> model.labels, [strand.word for strand in model.strongest(2)["(all)"]]
    (['1940', '1950'], ['trade', 'war'])
    >>> model.losses(Documents(["trade trade"])) < model.losses(Documents(["war war"]))
    array([ True])
    """

    kind = "trend/TrendModel"

    def __init__(
        self,
        series: Series,
        words: FrequentWords,
        *,
        covariates: Sequence[str] = (),
        extra: Sequence[str] = (),
        every: Every = None,
    ) -> None:
        self.series, self.words, self.every = series, words, every
        self.covariates, self.extra = Covariates(covariates), list(extra)
        self.facts: dict[str, Any] = {}
        if self.task == "text" and words.weighting != "counts":
            raise OptionError(f"a model of text needs word counts, not {words.weighting}")
        if self.task == "text" and not covariates:
            series.set_params(background="all")

    @property
    def task(self) -> Task:
        """The task."""
        return next(task for task, kind in _CLASSES.items() if isinstance(self.series, kind))

    # -- text to numbers -----------------------------------------------------------------------------------

    def learn_columns(self, documents: Documents) -> tuple[Any, Any]:
        """Learn the words and the covariates, but no coefficient; returns the data of these documents."""
        known = None
        if self.task == "text":
            known = self.covariates.fit_transform(documents.columns, len(documents))
        return self._joined(documents, self.words.fit_sparse(documents.texts), known)

    def data(self, documents: Documents) -> tuple[Any, Any]:
        """(X, y), or of the text model (counts, covariates)."""
        known = None
        if self.task == "text":
            known = self.covariates.transform(documents.columns, len(documents))
        return self._joined(documents, self.words.sparse(documents.texts), known)

    def _joined(self, documents: Documents, X: Any, known: Vector | None) -> tuple[Any, Any]:
        if self.task == "text":
            return X, known
        if self.extra:
            if documents.extra is None or documents.extra.shape[1] != len(self.extra):
                raise InputError(f"the model needs the additional features {', '.join(self.extra)}")
            X = sparse.csr_array(sparse.hstack([X, sparse.csr_array(documents.extra)], format="csr"))
        return X, documents.targets

    # -- fitting and predicting ----------------------------------------------------------------------------

    def fit(self, documents: Documents) -> Self:
        """Learn the words, then the series. An interrupt (Ctrl-C) keeps what was learned, and is raised again."""
        if documents.times is None or len(np.unique(documents.times)) < 2:
            raise InputError(
                "all documents are of the same time",
                remedy="a trend needs two times or more: use narrower bins",
            )
        data = self.learn_columns(documents)
        try:
            self.series.fit(*data, documents.times)
        finally:
            if hasattr(self.series, "n_active_"):
                self._note(documents, data[0])
        return self

    def _note(self, documents: Documents, X: Any) -> None:
        assert documents.times is not None
        T, I, F = self.coef.shape
        self.facts |= {"task": self.task, "documents": len(documents)}
        self.facts |= {"first": self.labels[0], "last": self.labels[-1], "times": T, "features": I}
        if self.task == "text":
            self.facts["covariates"] = F
        self.facts |= {"entries": int(X.nnz), "parameters": T * I * F}
        self.facts |= self.series.facts

    def predict(self, documents: Documents) -> NDArray[Any]:
        """Numbers or classes, at each document's time or at the next one."""
        return cast(NDArray[Any], self._predicting().predict(self.data(documents)[0], self._times(documents)))

    def predict_proba(self, documents: Documents) -> Vector:
        """The probability of each class."""
        series = self._predicting()
        if not isinstance(series, TimeSeriesClassifier):
            raise OptionError("a model of numbers has no classes")
        return series.predict_proba(self.data(documents)[0], self._times(documents))

    def _predicting(self) -> TimeSeriesRegressor | TimeSeriesClassifier:
        if isinstance(self.series, TimeSeriesTextModel):
            raise OptionError("a model of text predicts words: use its losses")
        return self.series

    def _times(self, documents: Documents) -> NDArray[Any] | None:
        """The times, none of them before the first of the model."""
        times, first = documents.times, self.series.times_[0]
        if times is not None and times.dtype.kind == self.series.times_.dtype.kind and np.any(times < first):
            early, known = (bin_label(time, self.every) for time in (times.min(), first))
            raise InputError(
                f"time {early} is before the first time of the model, {known}",
                remedy="train on earlier documents",
            )
        return times

    def losses(self, documents: Documents) -> Vector:
        """The squared error of each document, or −ln of the probability of its class, or of all its words."""
        return self.series.losses(*self.data(documents), self._times(documents))

    def lengths(self, documents: Documents) -> Vector:
        """The number of words of each document that the model knows."""
        return np.asarray(self.words.sparse(documents.texts).sum(axis=1)).ravel()

    def scores(self, documents: Documents) -> dict[str, Any]:
        """How well dated documents are predicted, at each time and overall, by name.

        ``not_later`` counts documents whose scores are not forecasts, since the model was trained on their
        time or a later one.
        """
        if documents.times is None:
            raise InputError("documents without times")
        losses, parts = self.losses(documents), np.ones(len(documents))
        found: dict[str, Any]
        if self.task == "text":
            parts = self.lengths(documents)
            nats = float(losses.sum()) / max(float(parts.sum()), 1.0)
            found = {"nats_per_word": nats, "perplexity": float(np.exp(nats)), "words": int(parts.sum())}
            found["documents"] = len(documents)
        elif self.task == "classification":
            truth = [str(label) for label in documents.targets]  # type: ignore[union-attr]
            found = classification_scores(truth, [str(label) for label in self.predict(documents)])
            found["log_loss"] = float(losses.mean())
        else:
            found = dict(regression_scores(documents.targets, self.predict(documents)))  # type: ignore[arg-type]
        by_time = []
        for time in np.unique(documents.times).tolist():
            rows = documents.times == time
            loss = float(losses[rows].sum()) / max(float(parts[rows].sum()), 1.0)
            by_time.append(
                {"time": bin_label(time, self.every), "documents": int(np.count_nonzero(rows)), "loss": loss}
            )
        not_later = int(np.count_nonzero(documents.times <= self.series.times_[-1]))
        return found | {"measure": MEASURES[self.task], "by_time": by_time, "not_later": not_later}

    # -- read-outs -----------------------------------------------------------------------------------------

    @property
    def labels(self) -> list[str]:
        """The names of its times."""
        return [bin_label(step, self.every) for step in self.series.times_.tolist()]

    @property
    def names(self) -> list[str]:
        """The names of the features: words, then the additional ones in brackets."""
        return [*self.words.names, *(f"({name})" for name in self.extra)]

    @property
    def effects(self) -> list[str]:
        """The covariates of a text model; for a linear model, the class that weights above 0 support, or the number."""
        if self.task == "text":
            return self.covariates.names
        return [str(self.series.classes_[1]) if self.task == "classification" else "value"]

    @property
    def coef(self) -> Vector:
        """Coefficients of shape (times, features, effects)."""
        coef: Vector = self.series.coef_
        return coef if coef.ndim == 3 else coef[:, :, None]

    @property
    def e_alpha(self) -> Vector | None:
        """E[α] of shape (features, effects), if the model has it."""
        e_alpha = getattr(self.series, "e_alpha_", None)
        if e_alpha is None:
            return None
        I, F = self.coef.shape[1:]
        shared = self.task == "text" and e_alpha.ndim == 1  # one for all words of a covariate
        return np.broadcast_to(e_alpha if shared else e_alpha.reshape(I, F), (I, F))

    def strongest(
        self, k: int = 10, *, by: Literal["norm", "change", "last"] = "norm"
    ) -> dict[str, list[Strand]]:
        """For each effect, the ``k`` series with the largest norm, change or last value."""
        place = {name: i for i, name in enumerate(self.names)}
        found = {}
        for f, effect in enumerate(self.effects):
            coef = self.coef[:, :, f]
            strands = []
            for word, score, values in strongest_series(coef, self.names, k, by=by):
                i, coming, e_alpha = place[word], None, None
                if self.e_alpha is not None:
                    e_alpha = float(self.e_alpha[i, f])
                    coming = float(forecast(values[:, None], [e_alpha])[0, 0])
                strands.append(Strand(word, effect, score, values, coming, e_alpha))
            found[effect] = strands
        return found

    def stiffness(self, bins: int = 10) -> tuple[NDArray[np.int64], Vector] | None:
        """How many series that are not zero have E[α] in each bin, and the edges; None without the adaptive prior."""
        if self.e_alpha is None:
            return None
        return alpha_histogram(self.e_alpha.ravel(), self.coef.reshape(len(self.coef), -1), bins)

    # -- what all models have --------------------------------------------------------------------------------

    def contents(self) -> Contents:
        """The contents of the model's file."""
        header = {"task": self.task, "every": self.every, "facts": self.facts}
        parts = {
            "words": self.words.parts(),
            "series": self.series.parts(),
            "covariates": self.covariates.parts(),
        }
        return Contents(header, {}, {"extra": self.extra}, parts)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The model that a file holds."""
        task, every = file.fact("task", str), file.header.get("every")
        if task not in _CLASSES or not (every in (None, *UNITS) or (type(every) is int and every > 0)):
            raise file.error("damaged: unknown task or time bins")
        series = _CLASSES[task].from_parts(file.part("series"))
        covariates = Covariates.from_parts(file.part("covariates"))
        with file.checked():
            model = cls(
                series,
                FrequentWords.from_parts(file.part("words")),
                covariates=covariates.columns,
                extra=file.texts("extra"),
                every=every,
            )
        model.covariates = covariates
        model.facts = file.fact("facts", dict)
        shape = (len(model.names), len(model.effects))
        if model.coef.shape[1:] != shape or len(set(model.names)) < len(model.names):
            raise file.error("damaged: its words and covariates do not match its coefficients")
        if every in UNITS and not are_bins(series.times_, every):
            raise file.error(f"damaged: its times are not bins by {every}")
        return model

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.trend.views import choice_notes, fit_facts

        return Views([fit_facts(self.facts), *choice_notes(self.facts)])

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: the strongest series, those that changed most, and how stiff they are."""
        from spinney.trend.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def plot_series(
        self, words: Sequence[str] | None = None, *, effect: str | None = None, top: int = 8, ax: Any = None
    ) -> Any:
        """Draw what words weigh over time, with Matplotlib (extra ``plots``).

        Parameters
        ----------
        words : sequence of str, optional
            The words, or other features, to draw; by default the ``top`` ones with the largest norm.
        effect : str, optional
            One of :attr:`effects`; by default that of the strongest series.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from spinney.trend.views import series_view

        return series_view(self, words, effect, top).plot(ax)

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """The page of the model; it shows no documents."""
        from spinney.trend.views import page_views

        if data is not None:
            raise OptionError("the page of a trend cannot show documents")
        return Views(page_views(self, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Forecasts for documents, in files or in memory: a number or class, or how surprising their words are."""
        from spinney.trend.forecasting import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """What the words of documents, in files or in memory, add to their forecasts."""
        from spinney.trend.explaining import explained

        return Views(explained(self, data, settings_or(Explain, settings, given)))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """How well dated documents, in files or in memory, are forecast."""
        from spinney.trend.forecasting import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))
