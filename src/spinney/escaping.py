"""Text for terminals and JSON, without control characters: words and file names may hold any."""

from __future__ import annotations

import json
from typing import Any

#: A picture for each control character but tab and line end, as many characters as before: marks stay in their places.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_PICTURES |= {127: 0x2421} | dict.fromkeys(range(128, 160), 0xFFFD)
_IN_JSON = {code: f"\\u{code:04x}" for code in range(127, 160)}  # json escapes the others


def printable(text: str) -> str:
    """Text whose control characters, but for tabs and line ends, are pictures, which a terminal does not obey.

    Examples
    --------
    >>> printable("\\x1b[2Jred")
    '␛[2Jred'
    """
    return text if text.isprintable() else text.translate(_PICTURES)


def json_line(value: Any) -> str:
    """A value as strict JSON on one line: no NaN, and no control character.

    Examples
    --------
    >>> json_line({"word": "é\\x9b"})
    '{"word": "é\\\\u009b"}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_IN_JSON)
