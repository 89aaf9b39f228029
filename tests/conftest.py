"""What tests of several packages use, and the order of the tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example may import or compile, and a machine may be busy: time is no property of these tests.
settings.register_profile("unhurried", deadline=None, max_examples=50)
settings.load_profile("unhurried")


#: Long pages about several models at a time, and the methods of the studies: for ``make test-all``.
SLOW = ("test_page[docs/flows/", "test_page[docs/howto/few-labels]", "tests/replication/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pages of the documentation first: each is one long test, and nobody should wait for it at the end."""
    items.sort(key=lambda item: "test_docs" not in item.nodeid)
    for item in items:
        if any(part in item.nodeid for part in SLOW):
            item.add_marker(pytest.mark.slow)


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
