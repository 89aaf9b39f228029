from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example may import or compile, and a machine may be busy: time is no property of these tests.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture
def data() -> Path:
    """The folder of real corpora, or a skip that says why."""
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA is not set: no real corpora")
    return Path(folder)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Write a file (text as UTF-8, or bytes) and give its path."""

    def write(content: str | bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
