"""How a command ends: at once, but only after everything that was registered for the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

_MAIN = """
import atexit, sys, threading, time
{before}
from spinney.__main__ import main
sys.argv[1:] = {arguments!r}
main()
"""


def ended(before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, after some lines of Python."""
    code = _MAIN.format(before=before, arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("arguments", "code"), [(("--version",), 0), (("tag", "aply"), 2)])
def test_what_is_registered_for_the_end_is_done_and_the_code_stays(arguments, code) -> None:
    done = ended("atexit.register(print, 'at the very end')", *arguments)
    assert done.returncode == code
    assert done.stdout.endswith("at the very end\n")


def test_threads_that_are_still_at_work_are_waited_for() -> None:
    late = "threading.Thread(target=lambda: (time.sleep(0.5), print('late'))).start()"
    done = ended(late, "--version")
    assert done.returncode == 0
    assert done.stdout.endswith("late\n")
