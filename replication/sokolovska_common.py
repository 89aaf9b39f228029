"""What the tables of the Sokolovska replication share: data, models cut after training, Markdown."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spinney.errors import InputError
from spinney.tagging.columns import Columns
from spinney.tagging.selection import threshold
from spinney.tagging.tagger import Tagger
from spinney.tagging.weights import ChainWeights

Row = Sequence[Any]


def data_folder() -> Path:
    """Where the data sets are."""
    if "SPINNEY_DATA" not in os.environ:
        raise InputError(
            "this study needs data", remedy="set SPINNEY_DATA to the folder with nettalk, conll2003 and nltk"
        )
    return Path(os.environ["SPINNEY_DATA"])


def fitted(columns: Columns, patterns: str, **options: Any) -> Tagger:
    """A tagger trained for as long as the table says: that this is not to the optimum is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Tagger(patterns, **options).fit_columns(columns)


def thresholded(tagger: Tagger, tau: float) -> Tagger:
    """The same tagger without its weights in [−τ, τ]."""
    cut = copy.copy(tagger)
    cut.weights_ = ChainWeights.of(threshold(tagger.weights_.full(), tau), tagger.weights_.shape)
    return cut


def error(tagger: Tagger, columns: Columns) -> float:
    """Percentage of tokens with a wrong label."""
    return 100.0 * float(tagger.score_columns(columns)["token_error"])


def active(tagger: Tagger) -> tuple[int, int]:
    """Unigram and bigram weights that are not zero."""
    pairs = tagger.active_by_pattern().values()
    return sum(u for u, _ in pairs), sum(b for _, b in pairs)


def markdown(title: str, note: str, header: Row, rows: Sequence[Row]) -> str:
    """A section with a table; None is set as a dash, numbers are set flush right."""
    numeric = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(header))]
    lines = [
        f"## {title}\n",
        f"{note}\n",
        "| " + " | ".join(map(str, header)) + " |",
        "|" + "|".join("---:" if right else "---" for right in numeric) + "|",
    ]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.1f}" if value >= 0.05 or value == 0 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
