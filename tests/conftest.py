"""The order of the tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pages of the documentation first: each is one long test, and nobody should wait for it at the end."""
    items.sort(key=lambda item: "test_docs" not in item.nodeid)
