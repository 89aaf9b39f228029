from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def data() -> Path:
    """The folder of evaluation sets, or a skip that says why."""
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA is not set: no evaluation sets")
    return Path(folder)
