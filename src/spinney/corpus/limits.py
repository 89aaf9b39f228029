"""Bounds on what a text file may hold, so that a damaged or hostile one cannot fill the memory.

They hold for every reader of every format, many of which have no settings of their own, and never change a result:
so they are environment variables, and not settings that a model would keep.
"""

from __future__ import annotations

import math
import os
import re

from spinney.errors import OptionError

#: The longest line, sentence or tree, in bytes: a year of a newspaper on one line is shorter.
LINE = "SPINNEY_MAX_LINE"
_LINE = 64 << 20
#: How many times its size a compressed file may grow; plain text grows three to ten times.
EXPANSION = "SPINNEY_MAX_EXPANSION"
_EXPANSION = 500.0
#: Bytes that any compressed file may hold, however small it is.
FREE = 256 << 20

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,15})([KMG]?)", re.ASCII)


def max_line() -> int:
    """The most bytes that a line, or the lines of one sentence or tree, may have.

    Examples
    --------
    >>> max_line()
    67108864
    """
    given = os.environ.get(LINE, "").strip()
    if not given:
        return _LINE
    found = _SIZE.fullmatch(given.upper())
    if not found or not int(found[1]):
        raise OptionError(f"{LINE} must be a number of bytes, such as 64M or 1G, not {given!r}")
    return int(found[1]) * _UNITS[found[2]]


def max_expansion() -> float:
    """How many times its own size a compressed file may hold.

    Examples
    --------
    >>> max_expansion()
    500.0
    """
    given = os.environ.get(EXPANSION, "").strip()
    try:
        found = float(given or _EXPANSION)
    except ValueError:
        found = math.nan
    if not found >= 1:
        raise OptionError(f"{EXPANSION} must be a number of at least 1, not {given!r}")
    return found


def size(n: int) -> str:
    """A number of bytes, for messages.

    Examples
    --------
    >>> size(64 << 20), size(1000)
    ('64 MB', '1000 bytes')
    """
    for unit, name in ((30, "GB"), (20, "MB"), (10, "kB")):
        if n >= 1 << unit:
            return f"{n / (1 << unit):.3g} {name}"
    return f"{n} bytes"
