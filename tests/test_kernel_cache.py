"""The cache of compiled kernels: it may be unwritable or damaged, and several processes may fill it at once."""

import os
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
    import numpy as np
    from spinney import progress
    from spinney.compiling import njit
    progress.configure()

    @njit(cache=True, nogil=True)
    def twice(x):
        return x + x

    print(twice(np.arange(3)).tolist(), twice(1.5))
"""


@pytest.fixture
def script(tmp_path):
    """A module with one kernel for two types, and how to run it."""
    path = tmp_path / "kernels_of_a_test.py"
    path.write_text(textwrap.dedent(SCRIPT))

    def run(cache, **more):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **more.pop("environment", {})}
        return subprocess.Popen(
            [sys.executable, str(path)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    return run


RIGHT = "[0, 2, 4] 3.0\n"


def test_kernels_are_kept(script, tmp_path):
    assert script(tmp_path / "kept").communicate() == (RIGHT, "")
    found = {path.suffix for path in (tmp_path / "kept").rglob("*")}
    assert {".nbi", ".nbc"} <= found
    assert script(tmp_path / "kept").communicate() == (RIGHT, "")


def test_where_nothing_can_be_kept_the_work_goes_on(script, tmp_path):
    for name in ("file", "__pycache__"):  # a file where a folder is needed stops root as well
        (tmp_path / name).write_text("")
    home = {"HOME": str(tmp_path / "file"), "XDG_CACHE_HOME": str(tmp_path / "file")}
    out, err = script(tmp_path / "file" / "kernels", environment=home).communicate()
    assert out == RIGHT
    assert err.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in err


def test_a_full_disk_is_told_once_and_the_work_goes_on(script, tmp_path):
    resource = pytest.importorskip("resource")
    run = script(tmp_path / "full", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    out, err = run.communicate()
    assert out == RIGHT
    assert err.count("\n") == 1
    assert "cannot be kept" in err


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_what_is_damaged_is_compiled_again(script, tmp_path, suffix):
    script(tmp_path / "kept").communicate()
    for path in (tmp_path / "kept").rglob("*" + suffix):
        path.write_bytes(path.read_bytes()[:-20])
    assert script(tmp_path / "kept").communicate() == (RIGHT, "")


def test_processes_at_once_keep_each_others_kernels(script, tmp_path):
    runs = [script(tmp_path / "kept") for _ in range(4)]
    assert [run.communicate() for run in runs] == [(RIGHT, "")] * 4
    assert script(tmp_path / "kept").communicate() == (RIGHT, "")
    assert not list((tmp_path / "kept").rglob("*.tmp.*"))
