"""Times such as 1945 or 2014-05-03 as the numbers of equal bins: decades, years, quarters, months, weeks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, OptionError

Time = int | date
#: Bins of dates by name.
Unit = Literal["week", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)
#: The width of a bin in units (years for dates), a bin of dates by name, or None for each time by itself.
Every = int | Unit | None

#: Times are counted in 64 bits: seconds since 1970, say, but not the digits of a card.
_LATEST = 10**15

_DATE = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?![\d-])")


def parse_time(text: str) -> Time:
    """A whole number, or an ISO date (what follows a date, such as a time of day, is ignored).

    Examples
    --------
    >>> parse_time("1945"), parse_time("2014-05-03 10:00")
    (1945, datetime.date(2014, 5, 3))
    """
    text = text.strip()
    try:
        found = _DATE.match(text)
        if found:
            return date(int(found[1]), int(found[2]), int(found[3] or 1))
        time = int(text)
        if abs(time) > _LATEST:
            raise ValueError
        return time
    except ValueError:
        raise InputError(
            f"{text!r} is not a time", remedy="write whole numbers, or dates such as 2014-05-03"
        ) from None


def binned(times: Sequence[Time], every: Every = None) -> NDArray[Any]:
    """The bin of each time: consecutive whole numbers or, without ``every``, dates as text.

    Examples
    --------
    >>> binned([1789, 1790, 1805], 10).tolist()
    [178, 179, 180]
    >>> dates = [date(2014, 12, 31), date(2015, 1, 1)]
    >>> [binned(dates, every).tolist() for every in ("month", "week", "year")]
    [[24179, 24180], [105085, 105085], [2014, 2015]]
    """
    dated = [isinstance(time, date) for time in times]
    if any(dated) and not all(dated):
        raise InputError("some times are dates, others numbers", remedy="write all of them in the same way")
    if not all(dated) and every in UNITS:
        raise OptionError(f"times cannot be binned by {every}: they are numbers, not dates")
    return np.array([_bin(time, every) for time in times])


def binned_again(times: NDArray[Any], every: Every) -> NDArray[Any]:
    """The bins of times that are each by itself so far, as :func:`binned` without ``every`` returns them.

    Examples
    --------
    >>> binned_again(np.array([1789, 1790, 1805]), 10).tolist()
    [178, 179, 180]
    >>> binned_again(np.array(["2014-12-31", "2015-01-01"]), "year").tolist()
    [2014, 2015]
    """
    return binned([parse_time(str(time)) for time in times.tolist()], every)


def _bin(time: Time, every: Every) -> int | str:
    if isinstance(time, date):
        if every is None:
            return time.isoformat()
        if every == "week":
            return (time.toordinal() - 1) // 7  # the first day of the calendar is a Monday
        if every == "month":
            return 12 * time.year + time.month - 1
        if every == "quarter":
            return 4 * time.year + (time.month - 1) // 3
        time = time.year
    return time // (every if isinstance(every, int) else 1)


def are_bins(steps: NDArray[Any], every: Unit) -> bool:
    """Whether these can be bins of dates.

    Examples
    --------
    >>> are_bins(np.array([24179]), "month"), are_bins(np.array(["2014-05-03"]), "month")
    (True, False)
    """
    last = _bin(date.max, every)
    return steps.dtype.kind == "i" and bool(np.all((steps >= 0) & (steps <= last)))


def bin_label(step: Any, every: Every) -> str:
    """The name of a bin: its first year or number, its month or quarter, or the Monday of its week.

    Examples
    --------
    >>> bin_label(179, 10), bin_label(24179, "month"), bin_label("2014-05-03", None)
    ('1790', '2014-12', '2014-05-03')
    >>> bin_label(8059, "quarter"), bin_label(105085, "week")
    ('2014-Q4', '2014-12-29')
    """
    if every == "week":
        return date.fromordinal(7 * int(step) + 1).isoformat()
    if every == "quarter":
        return f"{int(step) // 4}-Q{int(step) % 4 + 1}"
    if every == "month":
        return f"{int(step) // 12}-{int(step) % 12 + 1:02d}"
    return str(int(step) * every) if isinstance(every, int) and not isinstance(step, str) else str(step)
