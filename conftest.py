"""Modules that need a package which is not installed: their examples are not run."""

from __future__ import annotations

from importlib.util import find_spec

_GPU = "src/spinney/inference/gpu/"
collect_ignore_glob = [
    *([f"{_GPU}*.py"] if find_spec("torch") is None else []),
    *([f"{_GPU}fused.py"] if find_spec("triton") is None else []),
]
