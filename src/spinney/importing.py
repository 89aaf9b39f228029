"""Names of functions and classes in tables, which are imported only when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def imported(name: str) -> Any:
    """What ``"module:name"`` is.

    Examples
    --------
    >>> imported("math:pi")
    3.14...
    """
    module, _, inner = name.partition(":")
    return getattr(import_module(module), inner)
