"""Spinney: small, sparse, readable models of text, and the structure that makes them so.

``spinney.load(path)`` opens a model file of any task.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import ``load`` only when it is asked for, so that the command line starts without NumPy."""
    if name == "load":
        from spinney.kinds import load

        return load
    raise AttributeError(f"module 'spinney' has no attribute {name!r}")
