"""Five seconds of each group of harnesses; ``make fuzz`` runs them for longer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OTHERS = [pytest.param(group, marks=pytest.mark.slow) for group in ("model/any", "command", "run")]


@pytest.mark.parametrize("group", ["read", *OTHERS])
def test_five_seconds(group):
    command = [
        sys.executable,
        str(Path(__file__).parent),
        "--minutes",
        str(5 / 60),
        "--processes",
        "1",
        "--only",
        group,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
