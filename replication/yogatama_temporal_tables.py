"""Rolling-origin tables in the shape of the thesis's 3.2 and 3.3: a line a test time, a column a method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from grave_common import table
from spectral_common import chance

from spinney.optim import ConvergenceWarning
from spinney.trend.rolling import RollingRow, overall, rolling_origin, signed_rank

BASELINES = ("ridge-one", "ridge-all", "ridge-ts", "lasso-one", "lasso-all")


class Rolled(NamedTuple):
    """All methods at all test times; how many of the fits stopped before they had converged."""

    rows: list[RollingRow]
    stopped: int

    def means(self, development: bool) -> dict[str, float]:
        """The mean loss of a document by method."""
        return {one.method: one.mean for one in overall(self.rows, development=development)}

    def beside(self, other: Rolled) -> Rolled:
        """With the methods of another run, on the same documents."""
        return Rolled(self.rows + other.rows, self.stopped + other.stopped)

    def ahead(self, one: str, other: str) -> bool:
        """Whether one method has less loss than another on the times that chose nothing."""
        means = self.means(development=False)
        return means[one] < means[other]


def rolled(methods: Mapping[str, Any], data: Sequence[Any], times: Any, tests: Sequence[int]) -> Rolled:
    """Run the protocol; fits that stop early are counted, not told one by one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        rows = rolling_origin(methods, data, times, tests)
    return Rolled(rows, sum(issubclass(one.category, ConvergenceWarning) for one in caught))


def losses_table(
    found: Rolled,
    against: str,
    label: Callable[[int], str],
    form: Callable[[float], str],
    *,
    sums: bool,
    published: Mapping[str, float],
) -> str:
    """Losses by time and method, all of them, with p-values against one method and the thesis's overall line.

    The losses of a time are means over documents, or ``sums``. The thesis's line and ours are set as ratios to
    ridge-one, for nothing else of them can be compared.
    """
    methods = list(dict.fromkeys(row.method for row in found.rows))
    tests = list(dict.fromkeys(row.time for row in found.rows))
    lines: list[list[object]] = []
    for test in tests:
        rows = {row.method: row for row in found.rows if row.time == test}
        values = {name: row.mean * (row.n if sums else 1) for name, row in rows.items()}
        note = " (dev)" if test == tests[0] else ""
        lines.append([label(test) + note, f"{rows[methods[0]].n:,}", *_best_in_bold(values, form)])
    for name, development in (("overall", True), ("without dev", False)):
        every = overall(found.rows, development=development)
        values = {one.method: one.total if sums else one.mean for one in every}
        lines.append([name, f"{every[0].n:,}", *_best_in_bold(values, form)])
    means = found.means(development=True)
    lines.append(
        ["overall ÷ ridge-one", None, *(f"{means[name] / means['ridge-one']:.4f}" for name in methods)]
    )
    thesis = [published.get(name) for name in methods]
    first = published["ridge-one"]
    lines.append(
        ["the same, thesis", None, *(None if one is None else f"{one / first:.4f}" for one in thesis)]
    )
    tests_against = [
        None if name == against else chance(signed_rank(found.rows, name, against, development=False))
        for name in methods
    ]
    lines.append([f"without dev, against {against}", None, *tests_against])
    report = table(["", "documents", *methods], lines)
    report += "\nChosen: " + "; ".join(
        f"{row.method} {_settings(row)}" for row in found.rows if row.time == tests[0] and row.chosen
    )
    report += f".\n{_stopped(found)}"
    return report


def _best_in_bold(values: Mapping[str, float], form: Callable[[float], str]) -> list[object]:
    least = form(min(values.values()))
    return [f"**{least}**" if form(value) == least else form(value) for value in values.values()]


def _settings(row: RollingRow) -> str:
    """The chosen settings in words."""
    return ", ".join(
        f"{_NAMES.get(name, name)} = {value:g}"
        if isinstance(value, float)
        else f"{_NAMES.get(name, name)} = {value}"
        for name, value in row.chosen.items()
    )


_NAMES = {"lam": "λ", "alpha": "α", "tau": "τ", "noise_variance": "σ²", "floor": "ε"}


def _stopped(found: Rolled) -> str:
    return f"{found.stopped} fits stopped before they had converged.\n" if found.stopped else ""
