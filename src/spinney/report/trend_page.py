"""The page of a trend model: the series of words as lines over time, what is expected of them, how stiff they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spinney.report.charts import line_chart, spark
from spinney.report.page import Html, Page, Section, bars, heading, paragraph, table
from spinney.report.trend import fact_names
from spinney.trend import Strand, TrendModel

_LINES = 8  # in a chart: as many as there are colours
_RANKED = {"norm": "largest norms", "steps": "largest steps from time to time"}
_EFFECTS = 12  # covariates that are shown, those with the strongest series

_ABOUT = {
    "regression": "A trend: the number that each word adds, over time.",
    "classification": "A trend: what each word adds to the log-odds of a class, over time.",
    "text": "A trend: how the use of words changes over time.",
}


def trend_page(model: TrendModel, title: str, *, top: int = 20) -> Page:
    """The whole page.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.trend import Documents, FrequentWords, TimeSeriesTextModel
    >>> model = TrendModel(TimeSeriesTextModel("ridge-ts", lam=0.1), FrequentWords(), every=10)
    >>> model = model.fit(Documents(["war war", "war peace", "peace"], times=np.array([193, 194, 195])))
    >>> text = trend_page(model, "speeches").html()
    >>> "<h2>Strongest series</h2>" in text, "1930" in text
    (True, True)
    """
    sections = [
        Section("Strongest series", _charts(model, model.strongest(top), "norm")),
        Section("Series that changed most", _charts(model, model.strongest(top, by="change"), "steps")),
    ]
    found = model.stiffness(20)
    if found is not None:
        counts, edges = found
        rows = [
            (f"{low:.3f} to {high:.3f}".replace("-", "−"), float(count))
            for count, low, high in zip(counts, edges, edges[1:])
        ]
        about = (
            "Series that are not zero, by E[α]: near −0.5 neighbouring times are tied closely, near 0 hardly."
        )
        sections.append(Section("Stiffness", [paragraph(about), bars(rows)]))
    return Page(title, _ABOUT[model.task], fact_names(model.facts), sections)


def _charts(model: TrendModel, by_effect: Mapping[str, Sequence[Strand]], ranked: str) -> list[Html]:
    """For each effect a chart of the foremost series and a table of more."""
    full = sorted((e for e, of in by_effect.items() if of), key=lambda effect: -by_effect[effect][0].score)
    if not full:
        return [paragraph("None: all weights are 0.")]
    blocks = []
    for effect in full[:_EFFECTS]:
        strands = by_effect[effect]
        series = {strand.word: strand.values.tolist() for strand in strands[:_LINES]}
        if len(by_effect) > 1:
            blocks.append(heading(effect))
        caption = f"{_speaks_for(model, effect)}; the series with the {_RANKED[ranked]}"
        blocks.append(line_chart(series, model.labels, caption=caption))
        blocks.append(_table(strands, ranked))
    if len(full) > _EFFECTS:
        blocks.append(paragraph(f"{len(full) - _EFFECTS:,} more covariates are not shown.", faint=True))
    return blocks


def _speaks_for(model: TrendModel, effect: str) -> str:
    if model.task == "regression":
        return "Weights of features"
    if model.task == "classification":
        return f"Weights of features; above 0 they speak for {effect}"
    if not model.covariates.columns:
        return "Logarithm of a word's frequency, less that of all times"
    return f"Logarithm of a word's frequency with {effect}, less that of its time"


def _table(strands: Sequence[Strand], ranked: str) -> Html:
    expected = any(strand.next is not None for strand in strands)
    header = ["word", "series", "first", "last", *(["expected next", "E[α]"] if expected else []), ranked]
    rows: list[list[object]] = []
    for strand in strands:
        row: list[object] = [
            strand.word,
            spark(strand.values.tolist()),
            float(strand.values[0]),
            float(strand.values[-1]),
        ]
        rows.append([*row, *([strand.next, strand.e_alpha] if expected else []), strand.score])
    return table(header, rows)
