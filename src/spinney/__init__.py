"""Spinney: small, sparse, readable models of text, and the structure that makes them so.

``spinney.load(path)`` opens a model file of any task, and ``with spinney.on(cluster):`` works on a Dask cluster. The
packages are there after ``import spinney``, each imported when it is first used: ``spinney.tagging``, ``classify``,
``classes``, ``embed``, ``lm``, ``parsing`` and ``trend`` for tasks, ``spinney.pipeline`` for all of the way from text
to trees, ``spinney.structure`` for what they exchange, ``spinney.optim`` for losses, penalties and solvers.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, which takes milliseconds to import: a Ctrl-C then shows a traceback
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_PACKAGES = (
    "classes", "classify", "cluster", "corpus", "embed", "evaluate", "inference", "lm", "optim", "parsing", "pipeline",
    "report", "serve", "structure", "tagging", "taxonomy", "trend",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import names and packages only when they are asked for, so that the command line starts without NumPy."""
    if name == "load":
        from spinney.kinds import load

        return load
    if name == "on":
        from spinney.cluster import on

        return on
    if name in _PACKAGES:
        from importlib import import_module

        return import_module(f"spinney.{name}")
    raise AttributeError(f"module 'spinney' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "load", "on", *_PACKAGES]
