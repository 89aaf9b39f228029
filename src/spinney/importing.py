"""Names of functions and classes in tables, which are imported only when they are needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
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


def lazy(package: str, exports: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package that imports the names of its modules when they are first used.

    A name must not be that of a module of the package: once the module is imported, it would hide the other.

    Examples
    --------
    >>> get = lazy("spinney.lm", {"spinney.lm.arpa": ("read_arpa",)})
    >>> get("read_arpa").__module__
    'spinney.lm.arpa'
    >>> get("nothing")
    Traceback (most recent call last):
    AttributeError: module 'spinney.lm' has no attribute 'nothing'
    """
    module_of = {name: module for module, names in exports.items() for name in names}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, found)  # the next time it is there
        return found

    return get
